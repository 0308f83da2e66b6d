//! The end of the process, when the host program's own end is over.
//!
//! What a program registers with `atexit`, and its destructors of global objects, still call the drivers. Functions of
//! this module's callers therefore run with the destructors of the library, which come after those of the program.

use std::sync::{Mutex, PoisonError};

/// What is called at the end of a process.
struct Last {
    functions: Vec<fn()>,
    process: u32,
}

static LAST: Mutex<Last> = Mutex::new(Last { functions: Vec::new(), process: 0 });

/// Calls `f` at the end of this process, once; not in processes that are forked off it, and on Linux only.
pub fn at_end(f: fn()) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.functions.iter().any(|known| std::ptr::fn_addr_eq(*known, f)) {
        return;
    }
    last.functions.push(f);
    last.process = std::process::id();
}

#[cfg(target_os = "linux")]
extern "C" fn end() {
    // Nobody can wait at the end: who still holds this has been stopped.
    let Ok(mut last) = LAST.try_lock() else { return };
    let (all, process) = (std::mem::take(&mut last.functions), last.process);
    drop(last);
    if process == std::process::id() {
        for f in all {
            crate::guarded(f, ());
        }
    }
}

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds functions without arguments that are called when the library goes; this is one, and it
// asks nothing that may have gone before it: its variables need no destructor.
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
