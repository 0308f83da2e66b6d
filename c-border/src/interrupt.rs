//! Ctrl-C while a kernel runs. A program's handler often only notes the signal until the library returns (Python's
//! does), so launches look for it themselves: while one is under way, a handler of ours stands before the program's.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// How often the signal came.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Whether it came, and whether it came again; what launches look at.
static CAME: LazyLock<[Arc<AtomicBool>; 2]> = LazyLock::new(Default::default);
/// Launches under way that end when it has come again.
static PATIENT: AtomicU32 = AtomicU32::new(0);
#[cfg(target_os = "linux")]
const AGAIN: &[u8] = b"ptxrun: a kernel runs; Ctrl-C once more ends it\n";

/// The handler before ours.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// How many launches are under way, and what was set for the signal before the first.
static UNDER_WAY: Mutex<(usize, Option<libc::sigaction>)> = Mutex::new((0, None));

extern "C" fn came(signal: c_int, about: *mut libc::siginfo_t, state: *mut c_void) {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    CAME[count.min(1) as usize].store(true, Ordering::Relaxed);
    #[cfg(target_os = "linux")]
    if count == 0 && PATIENT.load(Ordering::Relaxed) > 0 {
        // SAFETY: bytes that live as long as the process. What becomes of them is not looked at, except that the
        // program's `errno` stays.
        unsafe {
            let errno = *libc::__errno_location();
            libc::write(2, AGAIN.as_ptr().cast(), AGAIN.len());
            *libc::__errno_location() = errno;
        }
    }
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
pub struct Watch {
    again: bool,
}

impl Watch {
    /// Puts our handler before the one that is there. A program without one wants nothing of the signal, or ends by it.
    /// `again`: the first signal is for the program alone, as where a device runs the kernel, and one more ends the
    /// launch.
    pub fn new(again: bool) -> Watch {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 += 1;
        if under_way.0 == 1 {
            // Nobody may look at it for the first time in a handler.
            CAME.iter().for_each(|came| came.store(false, Ordering::Relaxed));
            COUNT.store(0, Ordering::Relaxed);
            let handled =
                |a: &libc::sigaction| ![libc::SIG_DFL, libc::SIG_IGN].contains(&a.sa_sigaction);
            under_way.1 = current().filter(handled);
            if let Some(before) = &under_way.1 {
                BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
                let flags = before.sa_flags | libc::SA_SIGINFO;
                set(&libc::sigaction { sa_sigaction: ours(), sa_flags: flags, ..*before });
            }
        }
        PATIENT.fetch_add(u32::from(again), Ordering::Relaxed);
        Watch { again }
    }

    /// True when the launch is to end.
    pub fn cancel(&self) -> Arc<AtomicBool> {
        Arc::clone(&CAME[usize::from(self.again)])
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 -= 1;
        PATIENT.fetch_sub(u32::from(self.again), Ordering::Relaxed);
        if under_way.0 == 0
            && let Some(before) = under_way.1.take()
            // The program may have set another one meanwhile.
            && current().is_some_and(|now| now.sa_sigaction == ours())
        {
            set(&before);
        }
    }
}
