//! Streams and events.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use crate::capture::Capturing;
use crate::context::{self, Context};
use crate::error::{Error, Result};
use crate::ffi;
use crate::handles::Handles;
use crate::schedule::{self, Ticket};
use crate::work::Work;

/// All streams that were created.
pub static STREAMS: Handles<Stream> = Handles::new(2);
/// All events.
pub static EVENTS: Handles<Event> = Handles::new(3);

/// `CU_STREAM_NON_BLOCKING`.
pub const NON_BLOCKING: u32 = 1;

/// A stream.
pub struct Stream {
    /// Its context.
    pub context: Weak<Context>,
    /// Its queue.
    pub queue: u64,
    /// Flags it was made with.
    pub flags: u32,
    /// Its priority.
    pub priority: i32,
    legacy: bool,
    /// Attributes that were set; kept for queries.
    pub attributes: Mutex<std::collections::BTreeMap<u32, [u8; 64]>>,
    capture: Mutex<Option<Capturing>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        schedule::close(self.queue);
    }
}

impl Stream {
    /// A stream.
    pub fn new(context: Weak<Context>, flags: u32, priority: i32) -> Stream {
        let attributes = Mutex::default();
        let capture = Mutex::default();
        let queue = schedule::open();
        Stream { context, queue, flags, priority, legacy: false, attributes, capture }
    }

    /// The legacy default stream of a context.
    pub fn legacy(context: Weak<Context>) -> Stream {
        let mut stream = Stream::new(context, 0, 0);
        stream.legacy = true;
        stream
    }

    /// Whether it is the legacy default stream.
    pub fn is_legacy(&self) -> bool {
        self.legacy
    }

    /// Its context, if that lives.
    pub fn context(&self) -> Result<Arc<Context>> {
        self.context.upgrade().filter(|c| !c.is_destroyed()).ok_or(Error::ContextIsDestroyed)
    }

    /// The capture that it takes part in.
    pub fn capture(&self) -> MutexGuard<'_, Option<Capturing>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails while the stream is capturing; that ends the capture in error.
    pub fn not_capturing(&self) -> Result {
        match &*self.capture() {
            Some(capturing) => {
                capturing.capture.invalidate();
                Err(Error::StreamCaptureUnsupported)
            }
            None => Ok(()),
        }
    }

    /// Gives the stream work: into the graph that is captured, else into its queue.
    pub fn enqueue(&self, work: Work) -> Result<Ticket> {
        let context = self.context()?;
        context.check()?;
        if let Some(capturing) = &mut *self.capture() {
            capturing.add(work)?;
            return Ok(Ticket::DONE);
        }
        self.submit(&context, work, Vec::new())
    }

    /// Queues work to run after `after` too.
    pub fn submit(
        &self,
        context: &Arc<Context>,
        work: Work,
        mut after: Vec<Ticket>,
    ) -> Result<Ticket> {
        // Legacy default stream (CUDA C++ Programming Guide, default stream): it waits for all
        // blocking streams of the context, and they wait for it.
        if self.legacy {
            for stream in context.streams() {
                if stream.flags & NON_BLOCKING == 0 && stream.queue != self.queue {
                    stream.no_implicit_capture()?;
                    after.push(schedule::last(stream.queue));
                }
            }
        } else if self.flags & NON_BLOCKING == 0 {
            after.push(schedule::last(context.legacy.queue));
        }
        let own = Arc::clone(context);
        let run = move || {
            // After a fault nothing more runs in the context.
            if (own.check().is_ok() || work.runs_after_faults())
                && let Err(error) = work.run(&own)
            {
                own.fail(error);
            }
        };
        Ok(schedule::submit(self.queue, after, Box::new(run)))
    }

    /// Work on the legacy stream would make it depend on a capture.
    fn no_implicit_capture(&self) -> Result {
        match &*self.capture() {
            Some(c) if !c.capture.is_relaxed() => {
                c.capture.invalidate();
                Err(Error::StreamCaptureImplicit)
            }
            _ => Ok(()),
        }
    }

    /// Gives the stream work and waits for its end.
    pub fn execute(&self, work: Work) -> Result {
        self.not_capturing()?;
        let context = self.context()?;
        context.check()?;
        let ticket = self.submit(&context, work, Vec::new())?;
        schedule::wait(ticket);
        context.check()
    }

    /// Waits for everything it was given.
    pub fn synchronize(&self) -> Result {
        self.not_capturing()?;
        let context = self.context()?;
        schedule::wait(schedule::last(self.queue));
        context.check()
    }
}

/// The stream that a handle means for the calling thread.
pub fn get(handle: usize) -> Result<Arc<Stream>> {
    const LEGACY: usize = 1;
    const PER_THREAD: usize = 2;
    match handle {
        0 if ffi::per_thread() => Ok(context::current()?.own_stream()),
        PER_THREAD => Ok(context::current()?.own_stream()),
        0 | LEGACY => Ok(Arc::clone(&context::current()?.legacy)),
        _ => {
            crate::driver::get()?;
            let stream = STREAMS.get(handle).ok_or(Error::InvalidHandle)?;
            stream.context()?.check()?;
            Ok(stream)
        }
    }
}

/// An event.
pub struct Event {
    /// Its context.
    pub context: Weak<Context>,
    /// Flags it was made with.
    pub flags: u32,
    recorded: Mutex<Option<Recorded>>,
    /// Where it was last recorded in a capture.
    pub captured: Mutex<Option<Capturing>>,
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

    /// Records it in a stream.
    pub fn record(self: &Arc<Self>, stream: &Stream) -> Result {
        let context = stream.context()?;
        context.check()?;
        if !std::ptr::eq(self.context.as_ptr(), Arc::as_ptr(&context)) {
            return Err(Error::InvalidHandle);
        }
        if let Some(capturing) = &*stream.capture() {
            capturing.capture.check()?;
            *self.captured.lock().unwrap_or_else(PoisonError::into_inner) = Some(capturing.clone());
            return Ok(());
        }
        *self.captured.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.record_after(stream, &context)
    }

    /// Records it in a stream that is not capturing.
    pub fn record_after(&self, stream: &Stream, context: &Arc<Context>) -> Result {
        let time = Arc::new(OnceLock::new());
        let ticket = stream.submit(context, Work::Stamp(Arc::clone(&time)), Vec::new())?;
        self.set(ticket, time);
        Ok(())
    }

    fn set(&self, ticket: Ticket, time: Arc<OnceLock<Instant>>) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Recorded { ticket, time });
    }

    /// Records it now: as a node of a graph that runs.
    pub fn stamp(&self) {
        let time = Arc::new(OnceLock::new());
        let _ = time.set(Instant::now());
        self.set(Ticket::DONE, time);
    }

    /// What a stream that waits for it has to wait for.
    pub fn ticket(&self) -> Ticket {
        self.recorded().map_or(Ticket::DONE, |r| r.ticket)
    }

    /// Fails if it was last recorded in a capture.
    fn not_captured(&self) -> Result {
        match &*self.captured.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(c) => {
                c.capture.invalidate();
                Err(Error::CapturedEvent)
            }
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
pub fn event(handle: usize) -> Result<Arc<Event>> {
    crate::driver::get()?;
    EVENTS.get(handle).ok_or(Error::InvalidHandle)
}

/// Makes a stream wait for an event.
pub fn wait_event(stream: &Stream, event: &Event) -> Result {
    let context = stream.context()?;
    context.check()?;
    let captured = event.captured.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut capture = stream.capture();
    match (captured, &mut *capture) {
        (Some(from), Some(own)) => own.join(&from),
        (Some(from), none) => {
            if stream.is_legacy() {
                from.capture.invalidate();
                return Err(Error::StreamCaptureImplicit);
            }
            from.capture.check()?;
            *none = Some(from.fork(stream.queue));
            Ok(())
        }
        // An event recorded outside may not be waited for inside.
        (None, Some(own)) => {
            own.capture.invalidate();
            Err(Error::StreamCaptureIsolation)
        }
        (None, None) => {
            drop(capture);
            stream.submit(&context, Work::Nothing, vec![event.ticket()])?;
            Ok(())
        }
    }
}

/// A number for a stream that no other of the process has.
pub fn id(stream: &Stream) -> u64 {
    stream.queue
}

/// The next number for captures.
pub fn next_number() -> u32 {
    static NUMBERS: AtomicU32 = AtomicU32::new(1);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}
