//! The body of an exported function: nothing unwinds into the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an exported function; `panicked` is its result if it panics, which the panic hook has reported.
pub fn guarded<R>(body: impl FnOnce() -> R, panicked: R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(panicked)
}

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
