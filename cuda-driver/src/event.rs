//! Events: what they were last recorded for, and when that was reached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::interprocess::Name;
use crate::interprocess::events::{Record, Shared};
use crate::schedule::{self, Ticket};

/// All events.
pub static EVENTS: Handles<Event> = Handles::new(3);

/// An event.
pub struct Event {
    /// Its context.
    pub context: Weak<Context>,
    /// Flags it was made with.
    pub flags: u32,
    /// Where other processes see it.
    shared: Option<Arc<Shared>>,
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

/// The latest record of an event.
pub enum Latest {
    /// Of this process, or none.
    Here(Ticket),
    /// Of another one.
    Elsewhere(Record),
}

/// A record of an event.
#[derive(Clone)]
struct Recorded {
    ticket: Ticket,
    time: Arc<OnceLock<Instant>>,
    /// The record as other processes see it.
    shown: Option<Record>,
}

/// `CU_EVENT_BLOCKING_SYNC`.
pub const BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub const NO_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`.
pub const INTERPROCESS: u32 = 4;

impl Event {
    /// An event that was never recorded.
    pub fn new(context: &Arc<Context>, flags: u32) -> Result<Event> {
        let shared = if flags & INTERPROCESS != 0 { Some(Shared::new()?) } else { None };
        Ok(Event::with(context, flags, shared))
    }

    /// The event that another process has named.
    pub fn open(context: &Arc<Context>, name: &Name) -> Result<Event> {
        Ok(Event::with(context, NO_TIMING | INTERPROCESS, Some(Shared::open(name)?)))
    }

    fn with(context: &Arc<Context>, flags: u32, shared: Option<Shared>) -> Event {
        Event {
            context: Arc::downgrade(context),
            flags,
            shared: shared.map(Arc::new),
            recorded: Mutex::default(),
            captured: Mutex::default(),
        }
    }

    /// Its name for other processes.
    pub fn name(&self) -> Result<Name> {
        self.shared.as_ref().ok_or(Error::InvalidHandle)?.name()
    }

    fn recorded(&self) -> Option<Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn context(&self) -> Result<Arc<Context>> {
        self.context.upgrade().filter(|c| !c.is_destroyed()).ok_or(Error::ContextIsDestroyed)
    }

    /// Tells other processes that it is recorded now.
    pub fn show(&self) -> Option<Record> {
        self.shared.as_ref().map(Shared::record)
    }

    /// Notes a record: done with the ticket, at the time; `shown` as it is.
    pub fn set(&self, ticket: Ticket, time: Arc<OnceLock<Instant>>, shown: Option<Record>) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Recorded { ticket, time, shown });
    }

    /// Records it at `now`: as a node of a graph that runs.
    pub fn stamp(&self, now: Instant) {
        let time = Arc::new(OnceLock::new());
        let _ = time.set(now);
        let shown = self.show();
        shown.iter().for_each(Record::reach);
        self.set(Ticket::DONE, time, shown);
    }

    /// What to wait for who waits for it now.
    pub fn latest(&self) -> Latest {
        let recorded = self.recorded();
        if let Some(shared) = &self.shared {
            let latest = shared.latest();
            if recorded.as_ref().and_then(|r| r.shown.as_ref()) != Some(&latest) {
                return Latest::Elsewhere(latest);
            }
        }
        Latest::Here(recorded.map_or(Ticket::DONE, |r| r.ticket))
    }

    /// Waits for the latest record, in whatever process, as long as `go_on` agrees.
    pub fn wait(&self, go_on: impl Fn() -> Result) -> Result {
        match self.latest() {
            Latest::Here(ticket) => schedule::wait(ticket),
            Latest::Elsewhere(record) => record.wait(go_on)?,
        }
        Ok(())
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
        let reached = match self.latest() {
            Latest::Here(ticket) => schedule::done(ticket),
            Latest::Elsewhere(record) => record.is_reached(),
        };
        if reached { context.check() } else { Err(Error::NotReady) }
    }

    /// Waits for what was recorded.
    pub fn synchronize(&self) -> Result {
        self.not_captured()?;
        let context = self.context()?;
        self.wait(|| context.check())?;
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
