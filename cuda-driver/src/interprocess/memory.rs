//! Device memory of one process in another one.
//!
//! Memory that nobody shares lies in private pages. The first time that a program asks for a name, the pages of the
//! allocation become those of a file, at the same addresses and with the bytes that they held.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use c_border::Raw;

use super::{MEMORY, Name};
use crate::allocation::{Allocation, Kind};
use crate::context::{self, Context};
use crate::error::{Error, Result};
use crate::memory;
use crate::pages::{self, Exported, Range};

fn named(exported: &Exported) -> Result<Name> {
    let (file, offset, bytes) = exported.place();
    Name::of(MEMORY, file, offset, bytes, 0).map_err(|_| Error::OperatingSystem)
}

/// The name of the memory that `pointer` leads into, which `cuMemAlloc` made in this context.
pub fn name(pointer: u64) -> Result<Name> {
    let context = context::current()?;
    let (start, found) = context.allocation_at(pointer).ok_or(Error::InvalidValue)?;
    if found.kind != Kind::Device {
        return Err(Error::InvalidValue);
    }
    let span = context.device.memory().host_span(start).ok_or(Error::InvalidValue)?;
    let (host, bytes) = (span.host.expose_provenance(), found.size as usize);
    let still = pages::hold();
    let mut all = context.allocations();
    // It may have been freed meanwhile, and another one made there.
    let allocation = all.get_mut(&start).filter(|a| a.id == found.id).ok_or(Error::InvalidValue)?;
    if let Some(exported) = &allocation.exported {
        return named(exported);
    }
    // SAFETY: the host memory of an allocation of the device.
    let exported = unsafe { Exported::new(&still, host, bytes) };
    let exported = Arc::new(exported.map_err(|_| Error::OutOfMemory)?);
    allocation.exported = Some(Arc::clone(&exported));
    named(&exported)
}

/// Memory of another process that a context has opened.
struct Opened {
    /// Where it is shown; ends with this.
    _range: Range,
    address: u64,
    /// Calls of `cuIpcOpenMemHandle` until it ends.
    users: u64,
}

/// By context and file.
static OPENED: Mutex<BTreeMap<(u64, u64), Opened>> = Mutex::new(BTreeMap::new());

fn opened() -> MutexGuard<'static, BTreeMap<(u64, u64), Opened>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, which must be given.
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

/// The address of another process's memory in the current context. Memory that is open already stays where it is.
pub fn open(name: &Name, flags: u32) -> Result<u64> {
    let context = context::current()?;
    if flags != LAZY_ENABLE_PEER_ACCESS {
        return Err(Error::InvalidValue);
    }
    if name.kind == MEMORY && name.is_own() {
        return Err(Error::InvalidContext);
    }
    let mut all = opened();
    if name.kind == MEMORY
        && let Some(known) = all.get_mut(&(context.id, name.inode))
    {
        known.users += 1;
        return Ok(known.address);
    }
    let file = name.open(MEMORY).map_err(|_| Error::InvalidValue)?;
    let length = file.metadata().map_err(|_| Error::InvalidValue)?.len();
    let size = usize::try_from(length).map_err(|_| Error::OutOfMemory)?;
    let range = Range::reserve(size, pages::LARGE).map_err(|_| Error::OutOfMemory)?;
    range.show(range.start(), length, Some((&file, 0))).map_err(|_| Error::OutOfMemory)?;
    let host = Raw::new((range.start() + name.offset) as usize);
    let address = host.lend(context.device.memory(), name.bytes, "cuIpcOpenMemHandle")?;
    context.allocations().insert(address, Allocation::new(name.bytes, Kind::Imported, 0));
    all.insert((context.id, name.inode), Opened { _range: range, address, users: 1 });
    Ok(address)
}

/// One user less of memory that was opened at an address.
pub fn close(address: u64) -> Result {
    let context = context::current()?;
    let mut all = opened();
    let of = |(key, known): (&(u64, u64), &mut Opened)| {
        (key.0 == context.id && known.address == address).then(|| {
            known.users -= 1;
            (*key, known.users)
        })
    };
    let (key, users) = all.iter_mut().find_map(of).ok_or(Error::InvalidValue)?;
    if users == 0 {
        // Work that uses it may still be on its way.
        context.synchronize();
        if let Some(allocation) = memory::take(&context, address, |kind| kind == Kind::Imported) {
            memory::release(&context, address, &allocation);
        }
        all.remove(&key);
    }
    Ok(())
}

/// Ends what a context has opened; its allocations have gone.
pub fn forget(context: &Context) {
    opened().retain(|(owner, _), _| *owner != context.id);
}
