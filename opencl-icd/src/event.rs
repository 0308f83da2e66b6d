//! Events: commands, and what user programs signal.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::Instant;

use crate::callbacks::later;
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::object;
use crate::queue::Queue;
use crate::registry::{self, Handle};
use crate::schedule::{Command, Node};
use c_border::ParamValue;
use c_border::Raw;
use c_border::callback::{EventFn, call_event};

/// A command, or a user event.
pub struct Event {
    pub(crate) handle: Handle<Event>,
    /// Its context.
    pub context: Arc<Context>,
    /// Its queue; user events have none.
    pub queue: Option<Arc<Queue>>,
    /// `cl_command_type`
    pub command: u32,
    status: AtomicI32,
    /// Whether somebody may ask for its times.
    timed: bool,
    /// Queued, submitted, started, ended.
    times: [AtomicU64; 4],
    node: Mutex<Node>,
    callbacks: Mutex<Vec<Callback>>,
}
object!(Event, INVALID_EVENT);

struct Callback {
    at: i32,
    function: EventFn,
    data: Raw,
}

/// Nanoseconds since the driver was first used.
pub fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64 + 1
}

/// Whether a queue's events tell when they happened.
fn is_timed(queue: &Queue) -> bool {
    queue.properties() & cl::QUEUE_PROFILING_ENABLE != 0
}

impl Event {
    /// A command of a queue.
    pub fn command(queue: &Arc<Queue>, command: u32) -> Event {
        Event::new(&queue.context, Some(Arc::clone(queue)), command, cl::QUEUED)
    }

    /// A user event.
    pub fn user(context: &Arc<Context>) -> Event {
        Event::new(context, None, cl::COMMAND_USER, cl::SUBMITTED)
    }

    fn new(context: &Arc<Context>, queue: Option<Arc<Queue>>, command: u32, status: i32) -> Event {
        let timed = queue.as_ref().is_some_and(|q| is_timed(q) || q.device.timed);
        let times: [AtomicU64; 4] = Default::default();
        if timed {
            times[0].store(now(), Ordering::Relaxed);
        }
        Event {
            handle: Handle::default(),
            context: Arc::clone(context),
            queue,
            command,
            status: AtomicI32::new(status),
            timed,
            times,
            node: Mutex::default(),
            callbacks: Mutex::default(),
        }
    }

    /// `CL_EVENT_COMMAND_EXECUTION_STATUS`
    pub fn status(&self) -> i32 {
        self.status.load(Ordering::Acquire)
    }

    /// Whether it has ended, well or badly.
    pub fn is_done(&self) -> bool {
        self.status() <= cl::COMPLETE
    }

    fn call(self: &Arc<Self>, callback: &Callback, status: i32) {
        let status = if status < 0 { status } else { callback.at };
        let (event, function, data) = (Arc::clone(self), callback.function, callback.data);
        later(Box::new(move || call_event(function, event.handle.get(), status, data)));
    }

    /// Calls `function` when it reaches the status `at`.
    pub fn on(self: &Arc<Self>, at: i32, function: EventFn, data: Raw) {
        let callback = Callback { at, function, data };
        let mut callbacks = self.callbacks.lock().unwrap_or_else(|e| e.into_inner());
        let status = self.status();
        if status <= at {
            drop(callbacks);
            self.call(&callback, status);
        } else {
            callbacks.push(callback);
        }
    }

    /// `clGetEventInfo`
    pub fn info(self: &Arc<Self>, name: u32, to: ParamValue) -> Result {
        match name {
            cl::EVENT_COMMAND_QUEUE => to.put(self.queue.as_ref().map_or(0, |q| q.handle.get())),
            cl::EVENT_CONTEXT => to.put(self.context.handle.get()),
            cl::EVENT_COMMAND_TYPE => to.put(self.command),
            cl::EVENT_COMMAND_EXECUTION_STATUS => {
                // Programs poll it without a flush.
                if let Some(queue) = &self.queue {
                    queue.flush();
                }
                to.put(self.status())
            }
            cl::EVENT_REFERENCE_COUNT => to.put(registry::users(&**self)),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// `clGetEventProfilingInfo`
    pub fn profiling(&self, name: u32, to: ParamValue) -> Result {
        let timed = self.queue.as_ref().is_some_and(|q| is_timed(q));
        if !(cl::PROFILING_COMMAND_QUEUED..=cl::PROFILING_COMMAND_COMPLETE).contains(&name) {
            return Err(Error::INVALID_VALUE);
        }
        if !timed || self.status() != cl::COMPLETE {
            return Err(Error::PROFILING_INFO_NOT_AVAILABLE);
        }
        // No command enqueues others, so all are complete at their end.
        let name = name.min(cl::PROFILING_COMMAND_END);
        let index = (name - cl::PROFILING_COMMAND_QUEUED) as usize;
        to.put(self.times[index].load(Ordering::Relaxed))
    }
}

impl Command for Event {
    fn node(&self) -> &Mutex<Node> {
        &self.node
    }

    fn status(&self) -> i32 {
        Event::status(self)
    }

    /// Reaches a status and calls who waits for it.
    fn reach(self: Arc<Self>, status: i32) {
        let time = match status {
            cl::SUBMITTED => 1,
            cl::RUNNING => 2,
            _ => 3,
        };
        if self.timed {
            let at = now();
            // An earlier time that was never noted is this one.
            for t in &self.times[1..=time] {
                let _ = t.compare_exchange(0, at, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        let by_itself = status != Error::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0;
        if status < 0
            && by_itself
            && let Some(queue) = &self.queue
        {
            queue.note_failure();
        }
        let mut callbacks = self.callbacks.lock().unwrap_or_else(|e| e.into_inner());
        self.status.store(status, Ordering::Release);
        if callbacks.is_empty() {
            return;
        }
        let (now, later): (Vec<_>, Vec<_>) = callbacks.drain(..).partition(|c| c.at >= status);
        *callbacks = later;
        drop(callbacks);
        for c in now {
            self.call(&c, status);
        }
    }

    fn took(&self, ns: u64) {
        if let Some(queue) = &self.queue {
            let queued = self.times[0].load(Ordering::Relaxed);
            let (start, end) = queue.device.occupy(queued, ns);
            self.times[2].store(start, Ordering::Relaxed);
            self.times[3].store(end, Ordering::Relaxed);
        }
    }
}

/// Events of a wait list.
///
/// # Errors
/// When the list and its length do not fit, or something in it is no event of the context.
pub fn wait_list(
    count: u32,
    list: c_border::In<usize>,
    context: &Arc<Context>,
) -> Result<Vec<Arc<Event>>> {
    if (count == 0) != list.is_null() {
        return Err(Error::INVALID_EVENT_WAIT_LIST);
    }
    let mut events = Vec::with_capacity(count as usize);
    for i in 0..count as usize {
        let handle = list.at(i).unwrap_or(0);
        let event: Arc<Event> =
            registry::get(handle).map_err(|_| Error::INVALID_EVENT_WAIT_LIST)?;
        if !Arc::ptr_eq(&event.context, context) {
            return Err(Error::INVALID_CONTEXT);
        }
        events.push(event);
    }
    Ok(events)
}

/// Events that may have gone.
pub type WeakEvent = Weak<Event>;
