//! Virtual memory management: reserved addresses, memory without addresses, and what is mapped where.
//!
//! Addresses are the host's own ([`Range`]), so that the same memory may be mapped several times, and still holds what it
//! held when it is mapped again. Neighbours that may be accessed are one allocation of the device: a copy or a kernel may
//! cross from one into the next.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use c_border::{Raw, plain_struct};

use crate::allocation::{Allocation, Kind};
use crate::context::{self, CONTEXTS, Context};
use crate::error::{Error, Result};
use crate::graph_memory;
use crate::memory;
use crate::pages::{self, Range};

/// Sizes, offsets and addresses are multiples of this, as on an H200.
pub const GRANULARITY: u64 = 2 << 20;

plain_struct! {
    /// `CUmemLocation`.
    Location { kind: u32, id: i32 }
    /// `CUmemAllocationProp`.
    Properties { kind: u32, handles: u32, location: Location, meta: usize, flags: [u8; 8] }
    /// `CUmemAccessDesc`.
    AccessDescription { location: Location, flags: u32 }
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: u32 = 1;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub const DESCRIPTOR: u32 = 1;
/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: u32 = 1;
/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const READ_WRITE: u32 = 3;

/// Bytes of memory that was made here and lives.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Memory without addresses.
struct Physical {
    bytes: u64,
    file: File,
    properties: Properties,
    /// Bytes that it takes of the device: none if it was made by another process.
    charged: u64,
}

impl Drop for Physical {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.charged, Ordering::Relaxed);
    }
}

struct Handle {
    physical: Arc<Physical>,
    /// Calls of `cuMemRelease` until the handle ends.
    users: u64,
}

/// Memory that is mapped.
struct Piece {
    bytes: u64,
    handle: u64,
    /// The memory lives while it is mapped.
    physical: Arc<Physical>,
    accessible: bool,
}

struct Reservation {
    range: Range,
    /// By address.
    pieces: BTreeMap<u64, Piece>,
}

#[derive(Default)]
struct State {
    last: u64,
    handles: BTreeMap<u64, Handle>,
    reservations: BTreeMap<u64, Reservation>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// The state, which begins empty.
struct Held(MutexGuard<'static, Option<State>>);

fn state() -> Held {
    Held(STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Held {
    fn get(&mut self) -> &mut State {
        self.0.get_or_insert_default()
    }
}

/// Bytes of the device that are in use, by contexts, by memory without addresses and by graphs.
pub fn device_bytes() -> u64 {
    context::used_bytes() + BYTES.load(Ordering::Relaxed) + graph_memory::used()
}

/// Multiples of the granularity, and not nothing.
fn whole(bytes: u64) -> Result<u64> {
    if bytes > 0 && bytes.is_multiple_of(GRANULARITY) {
        Ok(bytes)
    } else {
        Err(Error::InvalidValue)
    }
}

/// Memory is on the device, or on the host, which is the same here.
fn judge_location(location: Location) -> Result {
    match (location.kind, location.id) {
        (DEVICE, 0) | (2..=4, _) => Ok(()),
        (DEVICE, _) => Err(Error::InvalidDevice),
        _ => Err(Error::InvalidValue),
    }
}

/// Refuses properties that no memory can have.
pub fn judge(properties: &Properties) -> Result {
    if properties.kind != PINNED {
        return Err(Error::InvalidValue);
    }
    if properties.handles & !DESCRIPTOR != 0 {
        return Err(Error::NotSupported);
    }
    judge_location(properties.location)
}

impl State {
    fn add(&mut self, physical: Physical) -> u64 {
        self.last += 1;
        // Like the other handles, not an address that could be anything's.
        let number = self.last << 8 | 0x60;
        self.handles.insert(number, Handle { physical: Arc::new(physical), users: 1 });
        number
    }

    fn physical(&self, handle: u64) -> Result<&Arc<Physical>> {
        self.handles.get(&handle).map(|h| &h.physical).ok_or(Error::InvalidValue)
    }

    /// The reservation that holds all of a range.
    fn around(&mut self, address: u64, bytes: u64) -> Result<&mut Reservation> {
        let (_, found) =
            self.reservations.range_mut(..=address).next_back().ok_or(Error::InvalidValue)?;
        let offset = address - found.range.start();
        let inside = offset <= found.range.bytes() && bytes <= found.range.bytes() - offset;
        if inside { Ok(found) } else { Err(Error::InvalidValue) }
    }
}

impl Reservation {
    /// The pieces that fill a range, without gaps and none in part.
    fn filling(&self, address: u64, bytes: u64) -> Result<Vec<u64>> {
        let mut next = address;
        let mut found = Vec::new();
        for (at, piece) in self.pieces.range(address..address + bytes) {
            if *at != next {
                return Err(Error::InvalidValue);
            }
            next = at + piece.bytes;
            found.push(*at);
        }
        if next == address + bytes { Ok(found) } else { Err(Error::InvalidValue) }
    }

    /// Neighbours that may be accessed, as address and bytes.
    fn runs(&self) -> BTreeMap<u64, u64> {
        let mut runs: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, piece) in self.pieces.iter().filter(|(_, piece)| piece.accessible) {
            match runs.last_entry() {
                Some(mut run) if run.key() + run.get() == *at => *run.get_mut() += piece.bytes,
                _ => {
                    runs.insert(*at, piece.bytes);
                }
            }
        }
        runs
    }

    /// Changes what is mapped or accessible, and tells every context.
    fn change(&mut self, change: impl FnOnce(&mut Reservation) -> Result) -> Result {
        let before = self.runs();
        let changed = change(self);
        let after = self.runs();
        let gone: Vec<_> =
            before.iter().filter(|(at, bytes)| after.get(at) != Some(bytes)).collect();
        let contexts: Vec<Arc<Context>> =
            CONTEXTS.all().into_iter().map(|(_, context)| context).collect();
        if !gone.is_empty() {
            // Work that uses them may still be on its way.
            contexts.iter().for_each(|context| context.synchronize());
        }
        for context in &contexts {
            for (at, _) in &gone {
                withdraw(context, **at);
            }
            for (at, bytes) in after.iter().filter(|(at, bytes)| before.get(at) != Some(bytes)) {
                lend(context, *at, *bytes)?;
            }
        }
        changed
    }
}

fn lend(context: &Context, address: u64, bytes: u64) -> Result {
    let given = Raw::new(address as usize).lend(context.device.memory(), bytes, "cuMemMap")?;
    context.allocations().insert(given, Allocation::new(bytes, Kind::Mapped, 0));
    // Host addresses lie outside the device's own, so that they are the device's addresses as well.
    if given == address { Ok(()) } else { Err(Error::OutOfMemory) }
}

fn withdraw(context: &Context, address: u64) {
    if let Some(allocation) = memory::take(context, address, |kind| kind == Kind::Mapped) {
        memory::release(context, address, &allocation);
    }
}

/// What is mapped already is there in a new context too.
pub fn attach(context: &Context) -> Result {
    for reservation in state().get().reservations.values() {
        for (at, bytes) in reservation.runs() {
            lend(context, at, bytes)?;
        }
    }
    Ok(())
}

/// Reserves addresses.
pub fn reserve(bytes: u64, align: u64) -> Result<u64> {
    whole(bytes)?;
    if align != 0 && !align.is_power_of_two() {
        return Err(Error::InvalidValue);
    }
    let sizes = (usize::try_from(bytes), usize::try_from(align.max(GRANULARITY)));
    let (Ok(bytes), Ok(align)) = sizes else { return Err(Error::OutOfMemory) };
    let range = Range::reserve(bytes, align).map_err(|_| Error::OutOfMemory)?;
    let start = range.start();
    state().get().reservations.insert(start, Reservation { range, pieces: BTreeMap::new() });
    Ok(start)
}

/// Gives addresses back, all that were reserved together, once nothing is mapped there.
pub fn give_back(address: u64, bytes: u64) -> Result {
    let mut held = state();
    let reservations = &mut held.get().reservations;
    let found =
        reservations.get(&address).filter(|r| r.range.bytes() == bytes && r.pieces.is_empty());
    found.ok_or(Error::InvalidValue)?;
    // A kernel may still run that began while something was mapped.
    CONTEXTS.all().iter().for_each(|(_, context)| context.synchronize());
    reservations.remove(&address);
    Ok(())
}

/// Makes memory; its handle.
pub fn create(bytes: u64, properties: Properties) -> Result<u64> {
    whole(bytes)?;
    judge(&properties)?;
    let file = pages::memory(bytes).map_err(|_| Error::OutOfMemory)?;
    BYTES.fetch_add(bytes, Ordering::Relaxed);
    Ok(state().get().add(Physical { bytes, file, properties, charged: bytes }))
}

/// One user of a handle less. The memory ends with its last mapping.
pub fn release(handle: u64) -> Result {
    let mut held = state();
    let state = held.get();
    let found = state.handles.get_mut(&handle).ok_or(Error::InvalidValue)?;
    found.users -= 1;
    if found.users == 0 {
        state.handles.remove(&handle);
    }
    Ok(())
}

/// The handle of what is mapped at an address, with one user more.
pub fn retain(address: u64) -> Result<u64> {
    let mut held = state();
    let state = held.get();
    let reservation = state.around(address, 1)?;
    let (at, piece) =
        reservation.pieces.range(..=address).next_back().ok_or(Error::InvalidValue)?;
    if address - at >= piece.bytes {
        return Err(Error::InvalidValue);
    }
    let (handle, physical) = (piece.handle, Arc::clone(&piece.physical));
    state.handles.entry(handle).or_insert(Handle { physical, users: 0 }).users += 1;
    Ok(handle)
}

/// What a handle's memory was made with.
pub fn properties(handle: u64) -> Result<Properties> {
    Ok(state().get().physical(handle)?.properties)
}

/// Maps memory from an offset on; nobody may access it yet.
pub fn map(address: u64, bytes: u64, offset: u64, handle: u64) -> Result {
    whole(bytes)?;
    if !address.is_multiple_of(GRANULARITY) || !offset.is_multiple_of(GRANULARITY) {
        return Err(Error::InvalidValue);
    }
    let mut held = state();
    let state = held.get();
    let physical = Arc::clone(state.physical(handle)?);
    if offset > physical.bytes || bytes > physical.bytes - offset {
        return Err(Error::InvalidValue);
    }
    let reservation = state.around(address, bytes)?;
    let below = reservation.pieces.range(..address + bytes).next_back();
    if below.is_some_and(|(at, piece)| at + piece.bytes > address) {
        return Err(Error::InvalidValue);
    }
    let shown = reservation.range.show(address, bytes, Some((&physical.file, offset)));
    shown.map_err(|_| Error::OutOfMemory)?;
    reservation.pieces.insert(address, Piece { bytes, handle, physical, accessible: false });
    Ok(())
}

/// Takes mappings back, whole ones.
pub fn unmap(address: u64, bytes: u64) -> Result {
    whole(bytes)?;
    let mut held = state();
    let reservation = held.get().around(address, bytes)?;
    let pieces = reservation.filling(address, bytes)?;
    reservation.change(|r| {
        r.pieces.retain(|at, _| !pieces.contains(at));
        Ok(())
    })?;
    reservation.range.show(address, bytes, None).map_err(|_| Error::OutOfMemory)
}

/// Lets the device access mappings, or forbids it.
pub fn set_access(address: u64, bytes: u64, list: &[AccessDescription]) -> Result {
    whole(bytes)?;
    let mut wanted = None;
    for one in list {
        judge_location(one.location)?;
        let accessible = match one.flags {
            0 => false,
            READ_WRITE => true,
            // Memory that kernels may only read.
            1 => return Err(Error::NotSupported),
            _ => return Err(Error::InvalidValue),
        };
        if one.location.kind == DEVICE {
            wanted = Some(accessible);
        }
    }
    let mut held = state();
    let reservation = held.get().around(address, bytes)?;
    let pieces = reservation.filling(address, bytes)?;
    // The host may access everything as it is.
    let Some(accessible) = wanted else { return Ok(()) };
    reservation.change(|r| {
        r.pieces
            .iter_mut()
            .filter(|(at, _)| pieces.contains(at))
            .for_each(|(_, p)| p.accessible = accessible);
        Ok(())
    })
}

/// `CU_MEM_ACCESS_FLAGS_…` of an address for a place.
pub fn access(location: Location, address: u64) -> Result<u64> {
    judge_location(location)?;
    let mut held = state();
    let reservation = held.get().around(address, 1)?;
    let found = reservation.pieces.range(..=address).next_back();
    let (_, piece) =
        found.filter(|(at, piece)| address - **at < piece.bytes).ok_or(Error::InvalidValue)?;
    let open = piece.accessible || location.kind != DEVICE;
    Ok(if open { u64::from(READ_WRITE) } else { 0 })
}

/// A descriptor of a handle's memory for another process.
pub fn export(handle: u64) -> Result<i32> {
    let mut held = state();
    let physical = held.get().physical(handle)?;
    if physical.properties.handles & DESCRIPTOR == 0 {
        return Err(Error::InvalidValue);
    }
    pages::export(&physical.file).map_err(|_| Error::OutOfMemory)
}

/// Memory that another process has exported; its handle.
pub fn import(descriptor: i32) -> Result<u64> {
    let file = pages::import(descriptor).map_err(|_| Error::InvalidValue)?;
    let bytes = file.metadata().map_err(|_| Error::InvalidValue)?.len();
    whole(bytes)?;
    let location = Location { kind: DEVICE, id: 0 };
    let properties =
        Properties { kind: PINNED, handles: DESCRIPTOR, location, meta: 0, flags: [0; 8] };
    Ok(state().get().add(Physical { bytes, file, properties, charged: 0 }))
}
