//! Events: what they were last recorded for, and when that was reached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::schedule::{self, Ticket};

/// All events.
pub static EVENTS: Handles<Event> = Handles::new(3);

/// An event.
pub struct Event {
    /// Its context.
    pub context: Weak<Context>,
    /// Flags it was made with.
    pub flags: u32,
    recorded: Mutex<Option<Recorded>>,
    /// Where it was last recorded in a capture.
    captured: Mutex<Option<Captured>>,
}

/// A place in a capture. It does not keep the capture, which ends when its streams say so.
#[derive(Clone)]
pub struct Captured {
    /// The capture's number.
    pub capture: u64,
    /// Nodes that are reached there.
    pub tail: Vec<usize>,
    /// Ends the capture in error, while it goes on.
    pub invalid: Weak<AtomicBool>,
}

/// A record of an event.
#[derive(Clone)]
struct Recorded {
    ticket: Ticket,
    time: Arc<OnceLock<Instant>>,
}

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: u32 = 2;

impl Event {
    /// An event that was never recorded.
    pub fn new(context: &Arc<Context>, flags: u32) -> Event {
        Event {
            context: Arc::downgrade(context),
            flags,
            recorded: Mutex::default(),
            captured: Mutex::default(),
        }
    }

    fn recorded(&self) -> Option<Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn context(&self) -> Result<Arc<Context>> {
        self.context.upgrade().filter(|c| !c.is_destroyed()).ok_or(Error::ContextIsDestroyed)
    }

    /// Notes a record: done with the ticket, at the time.
    pub fn set(&self, ticket: Ticket, time: Arc<OnceLock<Instant>>) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Recorded { ticket, time });
    }

    /// Records it at `now`: as a node of a graph that runs.
    pub fn stamp(&self, now: Instant) {
        let time = Arc::new(OnceLock::new());
        let _ = time.set(now);
        self.set(Ticket::DONE, time);
    }

    /// What a stream that waits for it has to wait for.
    pub fn ticket(&self) -> Ticket {
        self.recorded().map_or(Ticket::DONE, |r| r.ticket)
    }

    /// Where it was last recorded, if that was in a capture.
    pub fn captured(&self) -> MutexGuard<'_, Option<Captured>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if it was last recorded in a capture, which ends in error then.
    fn not_captured(&self) -> Result {
        match &*self.captured() {
            Some(at) => match at.invalid.upgrade() {
                Some(invalid) => {
                    invalid.store(true, Ordering::Relaxed);
                    Err(Error::CapturedEvent)
                }
                // As an H200 answers (driver 580.159.04).
                None => Err(Error::InvalidValue),
            },
            None => Ok(()),
        }
    }

    /// Whether what was recorded has been reached.
    pub fn query(&self) -> Result {
        self.not_captured()?;
        let context = self.context()?;
        context.check()?;
        match self.recorded() {
            Some(r) if !schedule::done(r.ticket) => Err(Error::NotReady),
            _ => context.check(),
        }
    }

    /// Waits for what was recorded.
    pub fn synchronize(&self) -> Result {
        self.not_captured()?;
        let context = self.context()?;
        schedule::wait(self.ticket());
        context.check()
    }

    /// Milliseconds from one event to another.
    pub fn elapsed(from: &Event, to: &Event) -> Result<f32> {
        for e in [from, to] {
            e.not_captured()?;
            e.context()?.check()?;
        }
        let (Some(a), Some(b)) = (from.recorded(), to.recorded()) else {
            return Err(Error::InvalidHandle);
        };
        if (from.flags | to.flags) & NO_TIMING != 0 {
            return Err(Error::InvalidHandle);
        }
        if !schedule::done(a.ticket) || !schedule::done(b.ticket) {
            return Err(Error::NotReady);
        }
        let (Some(a), Some(b)) = (a.time.get(), b.time.get()) else {
            return Err(Error::NotReady);
        };
        let seconds = match b.checked_duration_since(*a) {
            Some(after) => after.as_secs_f64(),
            None => -a.duration_since(*b).as_secs_f64(),
        };
        Ok((seconds * 1e3) as f32)
    }
}

/// An event by handle.
pub fn get(handle: usize) -> Result<Arc<Event>> {
    crate::driver::get()?;
    EVENTS.get(handle).ok_or(Error::InvalidHandle)
}
