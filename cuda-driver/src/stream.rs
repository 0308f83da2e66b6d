//! Streams: queues of work, or parts of a capture.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ptx_runtime::check::order;

use crate::capture::{self, Capturing};
use crate::context::{self, CONTEXTS, Context, Member};
use crate::entry;
use crate::error::{Error, Result};
use crate::event::{Captured, Event, Latest};
use crate::handles::Handles;
use crate::schedule::{self, Ticket};
use crate::work::Work;

/// All streams that were created.
pub static STREAMS: Handles<Stream> = Handles::new(2);

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

impl Member for Stream {
    fn queue(&self) -> u64 {
        self.queue
    }
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
            for stream in all(context) {
                if stream.flags & NON_BLOCKING == 0 && stream.queue != self.queue {
                    stream.no_implicit_capture()?;
                    after.push(schedule::last(stream.queue));
                }
            }
            let left = context.left().into_iter().filter(|(_, blocking)| *blocking);
            after.extend(left.map(|(ticket, _)| ticket));
        } else if self.flags & NON_BLOCKING == 0 {
            after.extend(context.legacy().map(|legacy| schedule::last(legacy.queue())));
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

    /// Records an event.
    pub fn record(&self, event: &Event) -> Result {
        let context = self.context()?;
        context.check()?;
        if !std::ptr::eq(event.context.as_ptr(), Arc::as_ptr(&context)) {
            return Err(Error::InvalidHandle);
        }
        if let Some(capturing) = &*self.capture() {
            capturing.capture.check()?;
            *event.captured() = Some(capturing.place());
            return Ok(());
        }
        *event.captured() = None;
        self.record_outside(event, &context)
    }

    /// Records an event; the stream is not capturing.
    pub fn record_outside(&self, event: &Event, context: &Arc<Context>) -> Result {
        let time = Arc::new(OnceLock::new());
        let shown = event.show();
        // An event of several processes has no time.
        let work = shown.clone().map_or_else(|| Work::Stamp(Arc::clone(&time)), Work::Reach);
        let ticket = self.submit(context, work, Vec::new())?;
        event.set(ticket, time, shown);
        Ok(())
    }

    /// Waits for an event.
    pub fn wait_for(&self, event: &Event) -> Result {
        let context = self.context()?;
        context.check()?;
        let captured: Option<Captured> = event.captured().clone();
        let mut capture = self.capture();
        match (captured, &mut *capture) {
            (Some(from), Some(own)) => own.join(&from),
            (Some(from), none) => {
                // Nothing can join a capture that has ended.
                let found = capture::find(from.capture).ok_or(Error::InvalidValue)?;
                if self.legacy {
                    found.invalidate();
                    return Err(Error::StreamCaptureImplicit);
                }
                found.check()?;
                *none = Some(Capturing::fork(&found, &from.tail, self.queue));
                Ok(())
            }
            // An event recorded outside may not be waited for inside.
            (None, Some(own)) => {
                own.capture.invalidate();
                Err(Error::StreamCaptureIsolation)
            }
            (None, None) => {
                drop(capture);
                match event.latest() {
                    Latest::Here(ticket) => self.submit(&context, Work::Nothing, vec![ticket])?,
                    Latest::Elsewhere(record) => {
                        self.submit(&context, Work::AwaitRecord(record), Vec::new())?
                    }
                };
                Ok(())
            }
        }
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
        0 if entry::per_thread() => Ok(own(&context::current()?)),
        PER_THREAD => Ok(own(&context::current()?)),
        0 | LEGACY => legacy(&*context::current()?),
        _ => {
            crate::driver::get()?;
            let stream = STREAMS.get(handle).ok_or(Error::InvalidHandle)?;
            stream.context()?.check()?;
            Ok(stream)
        }
    }
}

thread_local! {
    static OWN: RefCell<HashMap<usize, Arc<Stream>>> = RefCell::new(HashMap::new());
}

/// The stream that a context knows as one of its own.
fn known(member: Arc<dyn Member>) -> Option<Arc<Stream>> {
    (member as Arc<dyn Any + Send + Sync>).downcast().ok()
}

/// All streams of a context.
pub fn all(context: &Context) -> Vec<Arc<Stream>> {
    context.streams().into_iter().filter_map(known).collect()
}

/// Gives a new context its legacy default stream.
pub fn add_legacy(context: &Arc<Context>) {
    let mut stream = Stream::new(Arc::downgrade(context), 0, 0);
    stream.legacy = true;
    context.set_legacy(Arc::new(stream));
}

/// The legacy default stream of a context.
pub fn legacy(context: &Context) -> Result<Arc<Stream>> {
    context.legacy().cloned().and_then(known).ok_or(Error::InvalidContext)
}

/// Makes a stream; its context knows it.
pub fn create(context: &Arc<Context>, flags: u32, priority: i32) -> Arc<Stream> {
    let stream = Arc::new(Stream::new(Arc::downgrade(context), flags, priority));
    order::stream_made(stream.queue);
    context.adopt(&(Arc::clone(&stream) as Arc<dyn Member>));
    stream
}

/// The calling thread's own default stream of a context.
pub fn own(context: &Arc<Context>) -> Arc<Stream> {
    let find = |streams: &mut HashMap<usize, Arc<Stream>>| {
        streams.retain(|handle, _| CONTEXTS.get(*handle).is_some());
        let of = |s: &Arc<Stream>| std::ptr::eq(s.context.as_ptr(), Arc::as_ptr(context));
        // A context may have the handle of one that has gone.
        if let Some(stream) = streams.get(&context.handle).filter(|s| of(s)) {
            return Arc::clone(stream);
        }
        let stream = create(context, 0, 0);
        streams.insert(context.handle, Arc::clone(&stream));
        stream
    };
    // A thread that is ending keeps nothing.
    OWN.try_with(|streams| find(&mut streams.borrow_mut()))
        .unwrap_or_else(|_| create(context, 0, 0))
}

/// A number for a stream that no other of the process has.
pub fn id(stream: &Stream) -> u64 {
    stream.queue
}
