//! Work whose panics are an answer: the caller turns one into a refusal, and nothing is printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; `None` if it panics. The process's panic hook hears nothing of it.
pub fn attempt<R>(work: impl FnOnce() -> R) -> Option<R> {
    static HOOK: Once = Once::new();
    // Other threads' panics, and this one's outside of here, go to the hook that was there.
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    QUIET.set(outer);
    result
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn only_the_attempt_is_quiet() {
        static HEARD: AtomicU32 = AtomicU32::new(0);
        set_hook(Box::new(|_| {
            HEARD.fetch_add(1, Ordering::Relaxed);
        }));
        assert_eq!((attempt(|| 3), attempt(|| -> i32 { panic!("unheard") })), (Some(3), None));
        assert_eq!(HEARD.load(Ordering::Relaxed), 0);
        let loud = catch_unwind(|| panic!("heard"));
        assert!(loud.is_err());
        assert_eq!(HEARD.load(Ordering::Relaxed), 1);
        let _ = take_hook();
    }
}
