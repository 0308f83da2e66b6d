//! Contexts: memory, streams and everything that a program makes in them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ptx_runtime::DeviceOptions;

use crate::block::{Block, Kind};
use crate::driver::{self, Driver};
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::pool::Pool;
use crate::schedule;
use crate::stream::{self, STREAMS, Stream};

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
    /// The legacy default stream.
    pub legacy: Arc<Stream>,
    /// The default memory pool, and the one that is set.
    pub pools: Mutex<[usize; 2]>,
    flags: AtomicU32,
    error: AtomicU32,
    destroyed: AtomicBool,
    limits: Mutex<BTreeMap<u32, u64>>,
    /// What lives in memory by address.
    blocks: Mutex<BTreeMap<u64, Block>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    slot: Slot,
}

/// A range of addresses of its own for each context that lives.
struct Slot(u64);

static SLOTS: Mutex<Vec<bool>> = Mutex::new(Vec::new());
/// Addresses from context to context.
const SLOT_BYTES: u64 = 1 << 40;

impl Slot {
    fn take() -> Slot {
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        let free = slots.iter().position(|used| !used).unwrap_or(slots.len());
        if free == slots.len() {
            slots.push(true);
        }
        slots[free] = true;
        Slot(free as u64)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        SLOTS.lock().unwrap_or_else(PoisonError::into_inner)[self.0 as usize] = false;
    }
}

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static OWN_STREAMS: RefCell<HashMap<usize, Arc<Stream>>> = RefCell::new(HashMap::new());
}

/// The handle on top of the calling thread's stack; 0 where there is none.
pub fn current_handle() -> usize {
    STACK.with_borrow(|s| s.last().copied().unwrap_or(0))
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
    STACK.with_borrow_mut(|s| {
        s.pop();
        if handle != 0 {
            s.push(handle);
        }
    });
}

/// Pushes onto the stack.
pub fn push(handle: usize) {
    STACK.with_borrow_mut(|s| s.push(handle));
}

/// Pops off the stack.
pub fn pop() -> Option<usize> {
    STACK.with_borrow_mut(Vec::pop)
}

/// A context by handle.
pub fn get(handle: usize) -> Result<Arc<Context>> {
    driver::get()?;
    CONTEXTS.get(handle).ok_or(Error::InvalidContext)
}

impl Context {
    /// A context under `handle`.
    pub fn new(
        driver: &'static Driver,
        handle: usize,
        flags: u32,
        primary: bool,
    ) -> Result<Arc<Context>> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let slot = Slot::take();
        let options = DeviceOptions { memory: driver.memory(), base: slot.0 * SLOT_BYTES };
        let device = ptx_runtime::Context::new(&options)?;
        let context = Arc::new_cyclic(|weak| Context {
            handle,
            id: IDS.fetch_add(1, Ordering::Relaxed),
            primary,
            driver,
            device,
            legacy: Arc::new(Stream::legacy(weak.clone())),
            pools: Mutex::new([0; 2]),
            flags: AtomicU32::new(flags),
            error: AtomicU32::new(0),
            destroyed: AtomicBool::new(false),
            limits: Mutex::default(),
            blocks: Mutex::default(),
            streams: Mutex::default(),
            slot,
        });
        context.adopt(&context.legacy);
        let pool = Pool::create(&context);
        *context.pools.lock().unwrap_or_else(PoisonError::into_inner) = [pool; 2];
        CONTEXTS.bind(handle, Arc::clone(&context));
        Ok(context)
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
    pub fn slot(&self) -> u64 {
        self.slot.0
    }

    /// Limits that were set.
    pub fn limits(&self) -> MutexGuard<'_, BTreeMap<u32, u64>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What lives in memory.
    pub fn blocks(&self) -> MutexGuard<'_, BTreeMap<u64, Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a stream among its own.
    pub fn adopt(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// Its streams.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    /// The calling thread's own default stream.
    pub fn own_stream(self: &Arc<Self>) -> Arc<Stream> {
        OWN_STREAMS.with_borrow_mut(|streams| {
            streams.retain(|handle, _| CONTEXTS.get(*handle).is_some());
            let made = streams
                .entry(self.handle)
                .or_insert_with(|| Arc::new(Stream::new(Arc::downgrade(self), 0, 0)));
            if !std::ptr::eq(made.context.as_ptr(), Arc::as_ptr(self)) {
                // A context of the same handle that has gone.
                *made = Arc::new(Stream::new(Arc::downgrade(self), 0, 0));
            }
            self.adopt(made);
            Arc::clone(made)
        })
    }

    /// Waits for everything that was submitted.
    pub fn synchronize(&self) {
        for stream in self.streams() {
            schedule::wait(schedule::last(stream.queue));
        }
    }

    /// Ends the context: its work, then everything in it.
    pub fn destroy(self: &Arc<Self>) {
        if self.destroyed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.synchronize();
        CONTEXTS.remove(self.handle);
        STREAMS.remove_if(|s| std::ptr::eq(s.context.as_ptr(), Arc::as_ptr(self)));
        stream::EVENTS.remove_if(|e| std::ptr::eq(e.context.as_ptr(), Arc::as_ptr(self)));
        crate::module::forget(self);
        crate::texture::forget(self);
        crate::pool::forget(self);
        let blocks = std::mem::take(&mut *self.blocks());
        for (address, block) in blocks {
            crate::block::release(self, address, &block);
        }
    }

    /// The block that holds an address.
    pub fn block_at(&self, address: u64) -> Option<(u64, Block)> {
        let blocks = self.blocks();
        let (start, block) = blocks.range(..=address).next_back()?;
        (address - start < block.size.max(1)).then(|| (*start, block.clone()))
    }

    /// Whether the bytes at a host address are ones that this library keeps in place: copies from and to them
    /// need not finish before a call returns.
    pub fn is_pinned(&self, host: usize, bytes: u64) -> bool {
        let inside = |at: u64, b: &Block| {
            let at = b.host.map_or(at, |h| h as u64);
            let host = host as u64;
            matches!(b.kind, Kind::Host | Kind::Registered | Kind::Managed)
                && host >= at
                && host - at <= b.size
                && bytes <= b.size - (host - at)
        };
        self.blocks().iter().any(|(at, b)| inside(*at, b))
    }
}
