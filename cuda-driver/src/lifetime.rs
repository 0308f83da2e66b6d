//! Making and ending contexts, and the primary one. This knows everything that lives in a context.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::{CONTEXTS, Context};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::event::EVENTS;
use crate::pool::Pool;
use crate::stream::{self, STREAMS};
use crate::{memory, module, pool, texture, virtual_memory};

/// A context under `handle`.
pub fn create(
    driver: &'static Driver,
    handle: usize,
    flags: u32,
    primary: bool,
) -> Result<Arc<Context>> {
    let context = Context::new(driver, handle, flags, primary)?;
    stream::add_legacy(&context);
    let pool = Pool::create(&context);
    *context.pools.lock().unwrap_or_else(PoisonError::into_inner) = [pool; 2];
    CONTEXTS.bind(handle, Arc::clone(&context));
    virtual_memory::attach(&context)?;
    Ok(context)
}

/// Ends a context: its work, then everything in it.
pub fn destroy(context: &Arc<Context>) {
    if context.set_destroyed() {
        return;
    }
    context.synchronize();
    CONTEXTS.remove(context.handle);
    STREAMS.remove_if(|s| std::ptr::eq(s.context.as_ptr(), Arc::as_ptr(context)));
    EVENTS.remove_if(|e| std::ptr::eq(e.context.as_ptr(), Arc::as_ptr(context)));
    module::forget(context);
    texture::forget(context);
    pool::forget(context);
    context.device.check_leaks();
    let all = std::mem::take(&mut *context.allocations());
    for (address, allocation) in all {
        memory::release(context, address, &allocation);
    }
}

struct Primary {
    /// The handle stays the same for the life of the process.
    handle: usize,
    users: u32,
    flags: u32,
}

static PRIMARY: Mutex<Primary> = Mutex::new(Primary { handle: 0, users: 0, flags: 0 });

fn primary() -> MutexGuard<'static, Primary> {
    PRIMARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One more user of the primary context.
pub fn retain(driver: &'static Driver) -> Result<Arc<Context>> {
    let mut primary = primary();
    if primary.handle == 0 {
        primary.handle = CONTEXTS.reserve();
    }
    let context = match CONTEXTS.get(primary.handle) {
        Some(context) => context,
        None => create(driver, primary.handle, primary.flags, true)?,
    };
    primary.users += 1;
    Ok(context)
}

/// One user less; the last one ends the context.
pub fn release() -> Result {
    let mut primary = primary();
    if primary.users == 0 {
        return Err(Error::InvalidContext);
    }
    primary.users -= 1;
    if primary.users == 0
        && let Some(context) = CONTEXTS.get(primary.handle)
    {
        destroy(&context);
    }
    Ok(())
}

/// Ends the primary context whoever uses it.
pub fn reset() {
    let mut primary = primary();
    primary.users = 0;
    if let Some(context) = CONTEXTS.get(primary.handle) {
        destroy(&context);
    }
}

/// Flags of the primary context, and whether it is there.
pub fn state() -> (u32, bool) {
    let primary = primary();
    (primary.flags, CONTEXTS.get(primary.handle).is_some())
}

/// Sets the flags of the primary context.
pub fn set_flags(flags: u32) {
    let mut primary = primary();
    primary.flags = flags;
    if let Some(context) = CONTEXTS.get(primary.handle) {
        context.set_flags(flags);
    }
}
