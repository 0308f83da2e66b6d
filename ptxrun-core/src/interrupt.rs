//! Ctrl-C while a kernel runs. Python's handler only notes the signal until this library returns, so a launch looks for
//! it itself: while one is under way, a handler of ours stands before Python's, and ends it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Whether the signal came; what launches look at.
static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The handler before ours.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// How many launches are under way, and what was set for the signal before the first.
static UNDER_WAY: Mutex<(usize, Option<libc::sigaction>)> = Mutex::new((0, None));

extern "C" fn came(signal: c_int, about: *mut libc::siginfo_t, state: *mut c_void) {
    CAME.store(true, Ordering::Relaxed);
    let before = BEFORE.load(Ordering::Relaxed);
    if before != 0 {
        // SAFETY: a handler for signals with their arguments; one that takes only the first ignores the others.
        let before: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(before) };
        before(signal, about, state);
    }
}

/// What is set for the signal now.
fn current() -> Option<libc::sigaction> {
    let mut now = std::mem::MaybeUninit::uninit();
    // SAFETY: a place for the answer, which is there if the call went well.
    unsafe {
        let code = libc::sigaction(libc::SIGINT, std::ptr::null(), now.as_mut_ptr());
        (code == 0).then(|| now.assume_init())
    }
}

/// Sets something for the signal.
fn set(action: &libc::sigaction) {
    // SAFETY: `came` does nothing but store and call what was there; anything else was set before.
    unsafe { libc::sigaction(libc::SIGINT, action, std::ptr::null_mut()) };
}

fn ours() -> usize {
    came as *const () as usize
}

/// A launch under way.
pub(crate) struct Watch(());

impl Watch {
    /// Puts our handler before the one that is there. A program without one wants nothing of the signal, or ends by it.
    pub(crate) fn new() -> Watch {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 += 1;
        if under_way.0 == 1 {
            // Nobody may look at it for the first time in a handler.
            CAME.store(false, Ordering::Relaxed);
            let handled =
                |a: &libc::sigaction| ![libc::SIG_DFL, libc::SIG_IGN].contains(&a.sa_sigaction);
            under_way.1 = current().filter(handled);
            if let Some(before) = &under_way.1 {
                BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
                let flags = before.sa_flags | libc::SA_SIGINFO;
                set(&libc::sigaction { sa_sigaction: ours(), sa_flags: flags, ..*before });
            }
        }
        Watch(())
    }

    /// True when the signal has come.
    pub(crate) fn cancel(&self) -> Arc<AtomicBool> {
        Arc::clone(&CAME)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 -= 1;
        if under_way.0 == 0
            && let Some(before) = under_way.1.take()
            // The program may have set another one meanwhile.
            && current().is_some_and(|now| now.sa_sigaction == ours())
        {
            set(&before);
        }
    }
}
