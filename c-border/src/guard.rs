//! The body of an exported function: nothing unwinds into the caller, and the thread does not end inside.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an exported function; `panicked` is its result if it panics, which the panic hook has reported.
/// A thread that is cancelled meanwhile (`pthread_cancel`) ends behind it: to end inside would unwind through Rust, which
/// ends the process.
pub fn guarded<R>(body: impl FnOnce() -> R, panicked: R) -> R {
    let _stays = uncancelled();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(panicked)
}

/// While it lives, this thread is not cancelled.
#[cfg(unix)]
pub fn uncancelled() -> impl Drop {
    use std::ffi::c_int;

    const DISABLE: c_int = if cfg!(target_vendor = "apple") { 0 } else { 1 };
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    struct Before(c_int);
    impl Drop for Before {
        fn drop(&mut self) {
            let mut ours = 0;
            // SAFETY: the state that this thread had.
            unsafe { pthread_setcancelstate(self.0, &raw mut ours) };
        }
    }
    let mut before = 0;
    // SAFETY: a state that there is, and a place for the other.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
    Before(before)
}
#[cfg(not(unix))]
pub fn uncancelled() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let code = guarded(|| panic!("as intended"), 7);
        std::panic::set_hook(hook);
        assert_eq!((code, guarded(|| 3, 7)), (7, 3));
    }
}
