//! Making and ending contexts, and the primary one; what is left in them. This knows everything that lives in a context.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use c_border::ending;
use ptx_runtime::check::{self, Left};

use crate::context::{CONTEXTS, Context};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::event::EVENTS;
use crate::graph::{EXECS, GRAPHS};
use crate::handles::Handles;
use crate::module::MODULES;
use crate::pool::{POOLS, Pool};
use crate::stream::{self, STREAMS};
use crate::texture::{ARRAYS, MIPMAPS};
use crate::{graph_memory, interprocess, memory, module, pool, texture, virtual_memory};

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
    match primary {
        true => CONTEXTS.bind(handle, Arc::clone(&context)),
        false => CONTEXTS.give_as(handle, Arc::clone(&context)),
    }
    if context.device.is_checked() {
        ending::at_end(end);
    }
    virtual_memory::attach(&context)?;
    Ok(context)
}

/// Ends a context: its work, then everything in it.
pub fn destroy(context: &Arc<Context>) {
    if context.set_destroyed() {
        return;
    }
    context.synchronize();
    check_leaks(context);
    CONTEXTS.remove(context.handle);
    STREAMS.remove_if(|s| std::ptr::eq(s.context.as_ptr(), Arc::as_ptr(context)));
    EVENTS.remove_if(|e| std::ptr::eq(e.context.as_ptr(), Arc::as_ptr(context)));
    module::forget(context);
    texture::forget(context);
    pool::forget(context);
    graph_memory::forget(context);
    let all = std::mem::take(&mut *context.allocations());
    for (address, allocation) in all {
        memory::release(context, address, &allocation);
    }
    interprocess::memory::forget(context);
}

/// Objects that the program has not ended, those of a context.
fn left(context: &Arc<Context>) -> Vec<Left> {
    fn add<T>(
        to: &mut Vec<Left>,
        (kind, ender): (&'static str, &'static str),
        all: &Handles<T>,
        of: impl Fn(&T) -> bool,
    ) {
        to.extend(all.makers(of).into_iter().map(|maker| Left { kind, maker, ender }));
    }
    let here = |c: &Weak<Context>| std::ptr::eq(c.as_ptr(), Arc::as_ptr(context));
    let mut all = Vec::new();
    add(&mut all, ("stream", "cuStreamDestroy"), &STREAMS, |s| here(&s.context));
    add(&mut all, ("event", "cuEventDestroy"), &EVENTS, |e| here(&e.context));
    add(&mut all, ("module", "cuModuleUnload"), &MODULES, |m| here(&m.context));
    add(&mut all, ("array", "cuArrayDestroy"), &ARRAYS, |a| here(&a.context));
    add(&mut all, ("mipmapped array", "cuMipmappedArrayDestroy"), &MIPMAPS, |m| here(&m.context));
    add(&mut all, ("memory pool", "cuMemPoolDestroy"), &POOLS, |p| here(&p.context));
    all.extend(context.objects().values().map(|maker| match *maker {
        "cuSurfObjectCreate" => {
            Left { kind: "surface object", maker, ender: "cuSurfObjectDestroy" }
        }
        _ => Left { kind: "texture object", maker, ender: "cuTexObjectDestroy" },
    }));
    all
}

/// Looks for what the program and its kernels have left in a context.
fn check_leaks(context: &Arc<Context>) {
    if context.device.is_checked() {
        context.device.check_leaks_and(&left(context));
    }
}

/// The process ends: looks for what is left in contexts that live, and for what lives in none.
fn end() {
    if crate::driver::get().is_err() {
        return;
    }
    let all = |kind, ender, makers: Vec<&'static str>| {
        makers.into_iter().map(move |maker| Left { kind, maker, ender })
    };
    let contexts = all("context", "cuCtxDestroy", CONTEXTS.makers(|_| true));
    let graphs = all("graph", "cuGraphDestroy", GRAPHS.makers(|_| true));
    let executables = all("executable graph", "cuGraphExecDestroy", EXECS.makers(|_| true));
    let outside: Vec<Left> = contexts.chain(graphs).chain(executables).collect();
    for (_, context) in CONTEXTS.all() {
        check_leaks(&context);
    }
    check::report_left(&outside);
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
