//! Functions of the host program that the drivers call.

use std::ffi::{CStr, c_char, c_void};

use crate::raw::Raw;

/// A function of the host program that a stream calls (`CUhostFn`).
pub type HostFn = Option<unsafe extern "C" fn(*mut c_void)>;
/// A stream callback: stream, status, user data (`CUstreamCallback`).
pub type StreamFn = Option<unsafe extern "C" fn(usize, u32, *mut c_void)>;
/// Dynamic shared memory for a block size (`CUoccupancyB2DSize`).
pub type BlockFn = Option<extern "C" fn(i32) -> usize>;
/// `pfn_notify` of contexts: what, private data and its size, user data.
pub type ContextFn = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
/// Callbacks of programs and memory objects: handle, user data.
pub type ObjectFn = Option<unsafe extern "C" fn(usize, *mut c_void)>;
/// Callbacks of events: handle, status, user data.
pub type EventFn = Option<unsafe extern "C" fn(usize, i32, *mut c_void)>;

/// A function that frees shared virtual memory: queue, number of pointers, pointers, user data.
pub type FreeFn = Option<unsafe extern "C" fn(usize, u32, *mut usize, *mut c_void)>;

/// Calls a function that frees memory.
pub fn call_free(f: FreeFn, queue: usize, pointers: &mut [usize], data: Raw) {
    if let Some(f) = f {
        // SAFETY: the host program registered it for this call with this argument; the list lives until it returns.
        unsafe { f(queue, pointers.len() as u32, pointers.as_mut_ptr(), data.pointer()) }
    }
}

/// A function that gets the messages of the log: data, level, message, its bytes (`CUlogsCallback`).
pub type LogFn = Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize)>;

/// Calls a function that gets messages.
pub fn call_log(f: LogFn, data: Raw, level: u32, message: &CStr) {
    if let Some(f) = f {
        // SAFETY: the host program registered it for this call with this argument.
        unsafe { f(data.pointer(), level, message.as_ptr(), message.count_bytes()) }
    }
}

/// Calls a host function.
pub fn call_host(f: HostFn, data: Raw) {
    if let Some(f) = f {
        // SAFETY: the host program registered it for this call with this argument.
        unsafe { f(data.pointer()) }
    }
}

/// Calls a stream callback.
pub fn call_stream(f: StreamFn, stream: usize, status: u32, data: Raw) {
    if let Some(f) = f {
        // SAFETY: as above.
        unsafe { f(stream, status, data.pointer()) }
    }
}

/// Calls a context's function.
pub fn call_context(f: ContextFn, what: &CStr, data: Raw) {
    if let Some(f) = f {
        // SAFETY: as above.
        unsafe { f(what.as_ptr(), std::ptr::null(), 0, data.pointer()) }
    }
}

/// Calls a program's or memory object's function.
pub fn call_object(f: ObjectFn, handle: usize, data: Raw) {
    if let Some(f) = f {
        // SAFETY: as above.
        unsafe { f(handle, data.pointer()) }
    }
}

/// Calls an event's function.
pub fn call_event(f: EventFn, handle: usize, status: i32, data: Raw) {
    if let Some(f) = f {
        // SAFETY: as above.
        unsafe { f(handle, status, data.pointer()) }
    }
}

/// The function at an address that the host program put into a structure.
pub fn host_fn(address: usize) -> HostFn {
    // SAFETY: null is `None`; anything else is the function that the caller's structure must hold there.
    unsafe { std::mem::transmute::<usize, HostFn>(address) }
}

/// Calls `f` in processes that are forked off this one.
pub fn at_fork(f: extern "C" fn()) {
    // SAFETY: the function stays, and may do what a signal handler may: it writes an atomic variable.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(f)) };
}

/// Calls `before` in a process that is about to be forked, afterwards `parent` in it and `child` in the new one, all in
/// the thread that forks.
pub fn around_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: the functions stay. What they may do in a child is little: they give a lock back, which is an atomic
    // variable and a call of the system, and write an atomic variable.
    let _ = unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
}
