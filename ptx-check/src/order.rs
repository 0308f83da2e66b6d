//! What a piece of work of a stream comes after.
//!
//! Drivers say it of the work that they run: every queue is an actor with a clock that counts its work, and a piece of
//! work knows which of all queues came before it: by order in its own, by events, and by what the host had waited for
//! when it asked for the work.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Up to which of its work each queue is known to have come.
pub type Known = BTreeMap<u64, u64>;

/// A piece of work and what it comes after.
#[derive(Clone, Debug)]
pub struct Past {
    /// Its queue.
    pub queue: u64,
    /// Its number there, from 1.
    pub number: u64,
    /// What came before it.
    pub known: Arc<Known>,
}

impl Past {
    /// Whether `other` comes before this.
    pub(crate) fn follows(&self, other: &Past) -> bool {
        self.queue == other.queue && self.number >= other.number
            || self.known.get(&other.queue).is_some_and(|n| *n >= other.number)
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Past>> = const { RefCell::new(None) };
}

/// Somebody orders work by means that are not followed.
static UNKNOWN: AtomicBool = AtomicBool::new(false);

/// Runs a piece of work.
pub fn during<R>(past: Past, work: impl FnOnce() -> R) -> R {
    /// Work that panics must not stay current.
    struct Back(Option<Past>);
    impl Drop for Back {
        fn drop(&mut self) {
            let before = self.0.take();
            CURRENT.with(|c| *c.borrow_mut() = before);
        }
    }
    let _back = Back(CURRENT.with(|c| c.borrow_mut().replace(past)));
    work()
}

/// From now on nothing is said of order between queues: the program makes some that drivers do not follow.
pub fn give_up() {
    UNKNOWN.store(true, Ordering::Relaxed);
}

/// Streams that the program has made, and the first of them.
static MADE: AtomicU64 = AtomicU64::new(0);
static FIRST: AtomicU64 = AtomicU64::new(0);

/// The program has made a stream, whose queue this is.
pub fn stream_made(queue: u64) {
    if MADE.fetch_add(1, Ordering::Relaxed) == 0 {
        FIRST.store(queue, Ordering::Relaxed);
    }
}

/// Whether all work so far was that of one queue, which this work is of too: no other stream was made.
pub(crate) fn is_alone(past: &Past) -> bool {
    match MADE.load(Ordering::Relaxed) {
        0 => true,
        1 => FIRST.load(Ordering::Relaxed) == past.queue,
        _ => false,
    }
}

/// The work that runs on this thread, where its order is known.
pub fn current() -> Option<Past> {
    if UNKNOWN.load(Ordering::Relaxed) {
        return None;
    }
    // A program's last functions may free memory when this thread's variables are gone.
    CURRENT.try_with(|c| c.borrow().clone()).ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Known, Past, current, during};

    static ASKED: AtomicBool = AtomicBool::new(false);

    /// Asks when its thread ends, as a program's last functions do.
    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            ASKED.store(current().is_none(), Ordering::Relaxed);
        }
    }

    #[test]
    fn a_thread_that_ends_does_no_work_of_a_queue() {
        thread_local! {
            static LAST: Last = const { Last };
        }
        let thread = std::thread::spawn(|| {
            // Variables of a thread end in the opposite order of their first use.
            LAST.with(|_| ());
            let past = Past { queue: 1, number: 1, known: Arc::new(Known::new()) };
            during(past, || assert!(current().is_some(), "the work is current"));
        });
        assert!(thread.join().is_ok(), "the thread ends");
        assert!(ASKED.load(Ordering::Relaxed), "it was asked, and no work was current");
    }
}
