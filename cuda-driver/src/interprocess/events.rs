//! Events that several processes record and wait for.
//!
//! Such an event is a place in memory that its processes share: how often it was recorded, and the latest record that
//! was reached. The process that makes an event has the memory; a place is used again when nobody has the event.

use std::fs::File;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{EVENT, Name};
use crate::error::{Error, Result};
use crate::pages::{self, Range};

/// A place in shared memory. All zeros is one that nobody uses.
#[repr(C)]
struct Place {
    /// Events of all processes that are this one.
    users: AtomicU32,
    /// The process that recorded it last.
    process: AtomicU32,
    /// Records so far.
    recorded: AtomicU64,
    /// The latest record that was reached.
    reached: AtomicU64,
    /// Events that had this place, with this one: a name is of one of them.
    turn: AtomicU64,
}

/// Users of a place that is made ready for another event: nobody opens it.
const NOT_YET: u32 = u32::MAX;

/// Bytes of a place.
const PLACE: u64 = size_of::<Place>() as u64;
/// Bytes of a file of places: 2,048 events take one descriptor.
const FILE: u64 = 64 << 10;

/// Places of one process, shown here.
struct Places {
    file: File,
    range: Range,
}

impl Places {
    fn show(file: File) -> std::io::Result<Places> {
        let range = Range::reserve(FILE as usize, pages::SIZE)?;
        range.show(range.start(), FILE, Some((&file, 0)))?;
        Ok(Places { file, range })
    }

    fn at(&self, offset: u64) -> &Place {
        // SAFETY: callers pass offsets of whole places inside the file; the range lives as long as `self`, all bit
        // patterns are numbers, and they are only reached as atomics.
        unsafe { &*std::ptr::with_exposed_provenance((self.range.start() + offset) as usize) }
    }
}

/// An event of several processes.
pub struct Shared {
    places: Arc<Places>,
    offset: u64,
    /// Whether it was opened by name.
    opened: bool,
}

/// A record of such an event.
#[derive(Clone)]
pub struct Record {
    shared: Arc<Shared>,
    number: u64,
}

/// Files of places of this process. They stay: other processes may have them.
static OWN: Mutex<Vec<Arc<Places>>> = Mutex::new(Vec::new());

impl Shared {
    /// A new one, never recorded.
    pub fn new() -> Result<Shared> {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let take = |places: &Arc<Places>| {
            let mut offsets = (0..FILE / PLACE).map(|i| i * PLACE);
            let offset = offsets.find(|offset| {
                let users = &places.at(*offset).users;
                users.compare_exchange(0, NOT_YET, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            })?;
            let place = places.at(offset);
            place.recorded.store(0, Ordering::Release);
            place.reached.store(0, Ordering::Release);
            place.turn.fetch_add(1, Ordering::AcqRel);
            place.users.store(1, Ordering::Release);
            Some(Shared { places: Arc::clone(places), offset, opened: false })
        };
        if let Some(found) = own.iter().rev().find_map(take) {
            return Ok(found);
        }
        let file = pages::memory(FILE).map_err(|_| Error::OutOfMemory)?;
        let places = Arc::new(Places::show(file).map_err(|_| Error::OutOfMemory)?);
        let made = take(&places).ok_or(Error::OutOfMemory)?;
        own.push(places);
        Ok(made)
    }

    /// The one that another process has named.
    pub fn open(name: &Name) -> Result<Shared> {
        if name.kind == EVENT && name.is_own() {
            return Err(Error::InvalidContext);
        }
        let file = name.open(EVENT).map_err(|_| Error::MapFailed)?;
        let whole = name.bytes == PLACE && name.offset.is_multiple_of(PLACE);
        if !whole || file.metadata().map_err(|_| Error::MapFailed)?.len() != FILE {
            return Err(Error::MapFailed);
        }
        let places = Places::show(file).map_err(|_| Error::MapFailed)?;
        let more = |users: u32| (1..NOT_YET).contains(&users).then(|| users + 1);
        let place = places.at(name.offset);
        // Its maker has ended it meanwhile, and nobody has it.
        place
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, more)
            .map_err(|_| Error::MapFailed)?;
        let shared = Shared { places: Arc::new(places), offset: name.offset, opened: true };
        // Or another event has its place by now.
        let same = shared.place().turn.load(Ordering::Acquire) == name.turn;
        if same { Ok(shared) } else { Err(Error::MapFailed) }
    }

    fn place(&self) -> &Place {
        self.places.at(self.offset)
    }

    /// Its name for other processes, which only its maker gives.
    pub fn name(&self) -> Result<Name> {
        if self.opened {
            return Err(Error::InvalidHandle);
        }
        let turn = self.place().turn.load(Ordering::Acquire);
        Name::of(EVENT, &self.places.file, self.offset, PLACE, turn)
            .map_err(|_| Error::OperatingSystem)
    }

    /// Notes that it is recorded now.
    pub fn record(self: &Arc<Self>) -> Record {
        let place = self.place();
        place.process.store(std::process::id(), Ordering::Release);
        let number = place.recorded.fetch_add(1, Ordering::AcqRel) + 1;
        Record { shared: Arc::clone(self), number }
    }

    /// The latest record of any process.
    pub fn latest(self: &Arc<Self>) -> Record {
        let number = self.place().recorded.load(Ordering::Acquire);
        Record { shared: Arc::clone(self), number }
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && self.number == other.number
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.place().users.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Record {
    /// The record is reached.
    pub fn reach(&self) {
        self.shared.place().reached.fetch_max(self.number, Ordering::AcqRel);
    }

    /// Whether it is reached, or never will be because its process has ended.
    pub fn is_reached(&self) -> bool {
        let place = self.shared.place();
        place.reached.load(Ordering::Acquire) >= self.number
            || !pages::is_alive(place.process.load(Ordering::Acquire))
    }

    /// Waits until it is reached, as long as `go_on` agrees.
    ///
    /// # Errors
    /// What `go_on` answers.
    pub fn wait(&self, go_on: impl Fn() -> Result) -> Result {
        while !self.is_reached() {
            go_on()?;
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }
}
