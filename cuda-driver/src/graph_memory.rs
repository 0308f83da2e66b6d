//! Memory that graphs allocate and free: its address is known when the node is made, and it is there from where a
//! launch reaches the node until something frees it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use c_border::Raw;

use crate::allocation::{Allocation, Kind};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::memory;
use crate::pages::{self, Range};

/// What an allocation node allocates.
pub struct GraphMemory {
    context: Weak<Context>,
    range: Range,
    bytes: u64,
}

/// By address: the bytes of all nodes, and those whose memory is there behind what has been queued.
#[derive(Default)]
struct State {
    all: BTreeMap<u64, u64>,
    owed: BTreeMap<u64, Arc<GraphMemory>>,
}

static STATE: Mutex<State> = Mutex::new(State { all: BTreeMap::new(), owed: BTreeMap::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that are there now, and the most so far.
static USED: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

/// Bytes that are there now.
pub fn used() -> u64 {
    USED.load(Ordering::Relaxed)
}

/// The most bytes that were there since the last [`reset_most`].
pub fn most() -> u64 {
    MOST.load(Ordering::Relaxed)
}

/// Counts the most bytes anew.
pub fn reset_most() {
    MOST.store(used(), Ordering::Relaxed);
}

impl GraphMemory {
    /// Addresses for `bytes` bytes.
    pub fn reserve(context: &Arc<Context>, bytes: u64) -> Result<Arc<GraphMemory>> {
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        if bytes > context.driver.memory() {
            return Err(Error::OutOfMemory);
        }
        let size = (bytes as usize).next_multiple_of(pages::SIZE);
        let range = Range::reserve(size, pages::LARGE).map_err(|_| Error::OutOfMemory)?;
        let made = Arc::new(GraphMemory { context: Arc::downgrade(context), range, bytes });
        state().all.insert(made.address(), bytes);
        Ok(made)
    }

    /// First address.
    pub fn address(&self) -> u64 {
        self.range.start()
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A launch has reached the node.
    pub fn appear(&self, context: &Context) -> Result {
        if context.allocations().contains_key(&self.address()) {
            return Ok(());
        }
        let host = Raw::new(self.address() as usize);
        let given = host.lend(context.device.memory(), self.bytes, "a node of a graph")?;
        context.allocations().insert(given, Allocation::new(self.bytes, Kind::Graph, 0));
        let now = USED.fetch_add(self.bytes, Ordering::Relaxed) + self.bytes;
        MOST.fetch_max(now, Ordering::Relaxed);
        Ok(())
    }

    /// It is freed.
    pub fn vanish(&self, context: &Context) {
        let graph = |kind| kind == Kind::Graph;
        if let Some(allocation) = memory::take(context, self.address(), graph) {
            memory::release(context, self.address(), &allocation);
            USED.fetch_sub(self.bytes, Ordering::Relaxed);
            // Its pages go back to the host. They may stay where that fails: what they hold is undefined.
            let _ = self.range.show(self.address(), self.range.bytes(), None);
        }
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        state().all.remove(&self.address());
    }
}

/// What a launch of these nodes leaves behind it, with the memory that is freed first: what the last launch left, if
/// that is allowed.
pub fn launch(
    allocated: &[Arc<GraphMemory>],
    freed: &[Arc<GraphMemory>],
    auto_free: bool,
) -> Result<Vec<Arc<GraphMemory>>> {
    let mut state = state();
    let left: Vec<_> =
        allocated.iter().filter(|m| state.owed.contains_key(&m.address())).cloned().collect();
    if !left.is_empty() && !auto_free {
        return Err(Error::InvalidValue);
    }
    for memory in allocated {
        let freed = freed.iter().any(|f| Arc::ptr_eq(f, memory));
        if freed {
            state.owed.remove(&memory.address());
        } else {
            state.owed.insert(memory.address(), Arc::clone(memory));
        }
    }
    Ok(left)
}

/// Takes the memory at an address that a launch left, to be freed.
pub fn take(context: &Arc<Context>, address: u64) -> Option<Arc<GraphMemory>> {
    let mut state = state();
    let of = |m: &Arc<GraphMemory>| std::ptr::eq(m.context.as_ptr(), Arc::as_ptr(context));
    state.owed.get(&address).filter(|m| of(m))?;
    state.owed.remove(&address)
}

/// Start and size of what holds an address behind all that was queued; with `recorded`, of what holds it when a graph
/// that is being made runs.
pub fn extent(context: &Context, address: u64, recorded: bool) -> Option<(u64, u64)> {
    if let Some(found) = context.device.memory().find(address) {
        return Some((found.start, found.size));
    }
    let state = state();
    let (at, bytes) = state.all.range(..=address).next_back()?;
    let there = recorded || state.owed.contains_key(at);
    (there && address - at < *bytes).then_some((*at, *bytes))
}

/// A context ends: what its graphs have left goes with it.
pub fn forget(context: &Arc<Context>) {
    let of = |m: &GraphMemory| std::ptr::eq(m.context.as_ptr(), Arc::as_ptr(context));
    let gone: Vec<_> = {
        let mut state = state();
        let keys: Vec<u64> = state.owed.iter().filter(|(_, m)| of(m)).map(|(at, _)| *at).collect();
        keys.iter().filter_map(|at| state.owed.remove(at)).collect()
    };
    // The end of the last user takes the lock.
    gone.iter().for_each(|memory| memory.vanish(context));
}
