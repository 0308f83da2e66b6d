//! Ctrl-C while kernels run: the look at what the program has set for it is a call of the system, made once for kernels
//! that a thread runs one after the other.

#[cfg(unix)]
mod watch {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use c_border::interrupt::Watch;

    thread_local! {
        static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    }

    /// What ends a kernel that this thread runs now. The thread calls [`rest`] before it does anything else for long.
    pub fn cancel() -> Option<Arc<AtomicBool>> {
        // A thread at its end has no such place any more: its kernel runs to the end.
        let watch = |watch: &RefCell<Option<Watch>>| {
            watch.borrow_mut().get_or_insert_with(|| Watch::new(true)).cancel()
        };
        WATCH.try_with(watch).ok()
    }

    /// This thread runs no more kernels for now.
    pub fn rest() {
        let _ = WATCH.try_with(|watch| drop(watch.take()));
    }
}
#[cfg(not(unix))]
mod watch {
    /// Nothing ends a kernel.
    pub fn cancel() -> Option<std::sync::Arc<std::sync::atomic::AtomicBool>> {
        None
    }
    /// Nothing to give back.
    pub fn rest() {}
}

pub use watch::{cancel, rest};
