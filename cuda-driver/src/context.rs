//! Contexts: their memory, state and limits. What a program makes in them stands above: streams, modules, pools.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ptx_runtime::DeviceOptions;

use crate::allocation::{Allocation, Kind};
use crate::driver::{self, Driver};
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::schedule::{self, Ticket};

/// All contexts that live.
pub static CONTEXTS: Handles<Context> = Handles::new(1);

/// A context.
pub struct Context {
    /// Its handle.
    pub handle: usize,
    /// A number that no other context of the process has.
    pub id: u64,
    /// Whether it is the device's primary context.
    pub primary: bool,
    /// The device that it is on.
    pub driver: &'static Driver,
    /// Memory and texture objects.
    pub device: ptx_runtime::Context,
    /// The default memory pool, and the one that is set.
    pub pools: Mutex<[usize; 2]>,
    flags: AtomicU32,
    error: AtomicU32,
    destroyed: AtomicBool,
    /// How often it was made or attached and not detached.
    pub uses: AtomicU32,
    limits: Mutex<BTreeMap<u32, u64>>,
    /// What lives in memory by address.
    allocations: Mutex<BTreeMap<u64, Allocation>>,
    legacy: OnceLock<Arc<dyn Member>>,
    streams: Mutex<Vec<Weak<dyn Member>>>,
    /// Work of streams that are destroyed, and whether the legacy stream waits for it.
    left: Mutex<Vec<(Ticket, bool)>>,
    /// Texture and surface objects that the program has, and the functions that made them.
    objects: Mutex<BTreeMap<u64, &'static str>>,
    range: AddressRange,
}

/// A stream as its context knows it.
pub trait Member: Any + Send + Sync {
    /// Its queue.
    fn queue(&self) -> u64;
}

/// A range of addresses of its own for each context that lives.
struct AddressRange(u64);

static RANGES: Mutex<Vec<bool>> = Mutex::new(Vec::new());
/// Addresses from context to context.
const RANGE_BYTES: u64 = 1 << 40;

impl AddressRange {
    fn take() -> AddressRange {
        let mut ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
        let free = ranges.iter().position(|used| !used).unwrap_or(ranges.len());
        if free == ranges.len() {
            ranges.push(true);
        }
        ranges[free] = true;
        AddressRange(free as u64)
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        RANGES.lock().unwrap_or_else(PoisonError::into_inner)[self.0 as usize] = false;
    }
}

thread_local! {
    /// The handle on top of the thread's stack of contexts, or 0. It needs no destructor, so that the destructors of
    /// the program's own variables may still use the driver.
    static TOP: Cell<usize> = const { Cell::new(0) };
    /// The handles below it.
    static BELOW: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Changes the handles below the top; of a thread that is ending there are none any more.
fn below<R: Default>(change: impl FnOnce(&mut Vec<usize>) -> R) -> R {
    BELOW.try_with(|b| change(&mut b.borrow_mut())).unwrap_or_default()
}

/// The handle on top of the calling thread's stack; 0 where there is none.
pub fn current_handle() -> usize {
    TOP.get()
}

/// The calling thread's context, whatever its state.
pub fn current_any() -> Result<Arc<Context>> {
    driver::get()?;
    match current_handle() {
        0 => Err(Error::InvalidContext),
        handle => CONTEXTS.get(handle).ok_or(Error::ContextIsDestroyed),
    }
}

/// The calling thread's context; an error if a kernel has faulted in it.
pub fn current() -> Result<Arc<Context>> {
    let context = current_any()?;
    context.check()?;
    Ok(context)
}

/// Replaces the top of the stack (`cuCtxSetCurrent`).
pub fn set_current(handle: usize) {
    if handle == 0 {
        pop();
    } else {
        TOP.set(handle);
    }
}

/// Pushes onto the stack.
pub fn push(handle: usize) {
    let old = TOP.replace(handle);
    if old != 0 {
        below(|b| b.push(old));
    }
}

/// Pops off the stack.
pub fn pop() -> Option<usize> {
    let top = TOP.get();
    if top == 0 {
        return None;
    }
    TOP.set(below(Vec::pop).unwrap_or(0));
    Some(top)
}

/// A context by handle.
pub fn get(handle: usize) -> Result<Arc<Context>> {
    driver::get()?;
    CONTEXTS.get(handle).ok_or(Error::InvalidContext)
}

/// Whether this process has a context.
pub fn any() -> bool {
    !CONTEXTS.all().is_empty()
}

/// Ranges of addresses that are taken: those of contexts that live, and of ended ones that something still holds.
pub fn ranges() -> usize {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|used| **used).count()
}

/// Bytes of the device that contexts use.
pub fn used_bytes() -> u64 {
    CONTEXTS.all().iter().map(|(_, c)| c.device.memory().used()).sum()
}

impl Context {
    /// A context for `handle`, without what lives in every context.
    pub fn new(
        driver: &'static Driver,
        handle: usize,
        flags: u32,
        primary: bool,
    ) -> Result<Arc<Context>> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let range = AddressRange::take();
        let options = DeviceOptions {
            memory: driver.memory(),
            base: range.0 * RANGE_BYTES,
            ..DeviceOptions::default()
        };
        let device = ptx_runtime::Context::new(&options)?;
        Ok(Arc::new(Context {
            handle,
            id: IDS.fetch_add(1, Ordering::Relaxed),
            primary,
            driver,
            device,
            pools: Mutex::new([0; 2]),
            flags: AtomicU32::new(flags),
            error: AtomicU32::new(0),
            destroyed: AtomicBool::new(false),
            uses: AtomicU32::new(1),
            limits: Mutex::default(),
            allocations: Mutex::default(),
            legacy: OnceLock::new(),
            streams: Mutex::default(),
            left: Mutex::default(),
            objects: Mutex::default(),
            range,
        }))
    }

    /// The error that a faulted kernel has left, if one has.
    pub fn check(&self) -> Result {
        match self.error.load(Ordering::Relaxed) {
            0 => Ok(()),
            code => Err(Error(code)),
        }
    }

    /// Marks the context: every later call fails with this error.
    pub fn fail(&self, error: Error) {
        let _ = self.error.compare_exchange(0, error.0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it has ended.
    pub fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Relaxed)
    }

    /// Flags it was made with.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Replaces the flags.
    pub fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// Position of its address range among those of other contexts.
    pub fn range(&self) -> u64 {
        self.range.0
    }

    /// Limits that were set.
    pub fn limits(&self) -> MutexGuard<'_, BTreeMap<u32, u64>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What lives in memory.
    pub fn allocations(&self) -> MutexGuard<'_, BTreeMap<u64, Allocation>> {
        self.allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the legacy default stream, once.
    pub fn set_legacy(&self, stream: Arc<dyn Member>) {
        self.adopt(&stream);
        // The first one stays.
        let _ = self.legacy.set(stream);
    }

    /// The legacy default stream.
    pub fn legacy(&self) -> Option<&Arc<dyn Member>> {
        self.legacy.get()
    }

    /// Counts a stream among its own.
    pub fn adopt(&self, stream: &Arc<dyn Member>) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// Its streams.
    pub fn streams(&self) -> Vec<Arc<dyn Member>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    /// Waits for everything that was submitted.
    pub fn synchronize(&self) {
        for stream in self.streams() {
            schedule::wait(schedule::last(stream.queue()));
        }
        for (ticket, _) in self.left() {
            schedule::wait(ticket);
        }
    }

    /// A stream is destroyed; its work, up to `last`, goes on. `blocking`: the legacy stream waits for it.
    pub fn leave(&self, last: Ticket, blocking: bool) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|(ticket, _)| !schedule::done(*ticket));
        left.push((last, blocking));
    }

    /// Work of destroyed streams that may not have ended.
    pub fn left(&self) -> Vec<(Ticket, bool)> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Marks it as ended; whether it was already.
    pub fn set_destroyed(&self) -> bool {
        self.destroyed.swap(true, Ordering::Relaxed)
    }

    /// Texture and surface objects that the program has, and the functions that made them.
    pub fn objects(&self) -> MutexGuard<'_, BTreeMap<u64, &'static str>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The allocation that holds an address.
    pub fn allocation_at(&self, address: u64) -> Option<(u64, Allocation)> {
        let all = self.allocations();
        let (start, found) = all.range(..=address).next_back()?;
        (address - start < found.size.max(1)).then(|| (*start, found.clone()))
    }

    /// Whether the bytes at a host address are ones that this library keeps in place: copies from and to them
    /// need not finish before a call returns.
    pub fn is_pinned(&self, host: usize, bytes: u64) -> bool {
        let inside = |at: u64, b: &Allocation| {
            let at = b.host.map_or(at, |h| h as u64);
            let host = host as u64;
            matches!(b.kind, Kind::Host | Kind::Registered | Kind::Managed)
                && host >= at
                && host - at <= b.size
                && bytes <= b.size - (host - at)
        };
        self.allocations().iter().any(|(at, b)| inside(*at, b))
    }
}
