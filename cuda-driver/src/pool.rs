//! Memory pools of stream-ordered allocation.
//!
//! An allocation has its address at once and may be used in stream order; a free takes effect in stream order.
//! What is freed goes back to the device, so a pool never holds more than is in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handles::Handles;

/// All pools.
pub static POOLS: Handles<Pool> = Handles::new(9);

/// A pool.
pub struct Pool {
    /// Where it allocates.
    pub context: Weak<Context>,
    /// Most bytes; 0: no limit of its own.
    pub limit: u64,
    state: Mutex<State>,
}

struct State {
    /// Attributes 1 to 4.
    settings: HashMap<u32, u64>,
    used: u64,
    high: u64,
}

impl Pool {
    /// The default pool of a context.
    pub fn create(context: &Arc<Context>) -> usize {
        POOLS.add(Pool::new(context, 0))
    }

    /// A pool of at most `limit` bytes; 0: no limit of its own.
    pub fn new(context: &Arc<Context>, limit: u64) -> Arc<Pool> {
        let settings = HashMap::from([(1, 1), (2, 1), (3, 1), (4, 0)]);
        let state = Mutex::new(State { settings, used: 0, high: 0 });
        Arc::new(Pool { context: Arc::downgrade(context), limit, state })
    }

    /// Accounts for an allocation that is to be made.
    pub fn take(&self, bytes: u64) -> Result {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let used =
            state.used.checked_add(bytes).filter(|used| self.limit == 0 || *used <= self.limit);
        state.used = used.ok_or(Error::OutOfMemory)?;
        Ok(())
    }

    /// The allocation was made.
    pub fn made(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.high = state.high.max(state.used);
    }

    /// Attribute as `CUmemPool_attribute` numbers them.
    pub fn get(&self, attribute: u32) -> Result<u64> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match attribute {
            1..=4 => Ok(state.settings.get(&attribute).copied().unwrap_or(0)),
            5 | 7 => Ok(state.used),
            6 | 8 => Ok(state.high),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Sets an attribute. High-water marks can only be reset.
    pub fn set(&self, attribute: u32, value: u64) -> Result {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match attribute {
            1..=4 => {
                state.settings.insert(attribute, value);
                Ok(())
            }
            6 | 8 if value == 0 => {
                state.high = state.used;
                Ok(())
            }
            _ => Err(Error::InvalidValue),
        }
    }
}

/// An allocation of the pool was freed.
pub fn gave_back(pool: usize, bytes: u64) {
    if let Some(pool) = POOLS.get(pool) {
        let mut state = pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.used = state.used.saturating_sub(bytes);
    }
}

/// Ends the pools of a context.
pub fn forget(context: &Arc<Context>) {
    POOLS.remove_if(|p| std::ptr::eq(p.context.as_ptr(), Arc::as_ptr(context)));
}
