//! Command queues.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::Device;
use crate::event::{Event, WeakEvent};
use crate::registry::{self, Handle};
use crate::schedule::Work;
use crate::{event, object, schedule};
use c_border::ParamValue;
use c_border::{In, Out};

/// A command queue.
pub struct Queue {
    pub(crate) handle: Handle<Queue>,
    /// Its context.
    pub context: Arc<Context>,
    /// Its device.
    pub device: Arc<Device>,
    properties: u64,
    /// The list of properties that it was made with, with the zero at the end.
    list: Vec<u64>,
    state: Mutex<State>,
    /// A command failed by itself since `clFinish` said so last.
    failed: AtomicBool,
}
object!(Queue, INVALID_COMMAND_QUEUE);

#[derive(Default)]
struct State {
    /// Commands that nobody has asked for yet.
    unflushed: Vec<Arc<Event>>,
    /// The last of `unflushed` takes more work.
    open: bool,
    /// In order: the last command. Out of order: the last barrier.
    last: WeakEvent,
    /// Out of order: commands since the last barrier that were not done when this was last looked through.
    active: Vec<WeakEvent>,
    /// Length of `active` at which it is looked through again.
    prune_at: usize,
}

/// What a command waits for and who asks.
pub struct Ask {
    /// The wait list.
    pub events: Vec<Arc<Event>>,
    /// The call returns when it is done.
    pub blocking: bool,
    /// Where its event goes.
    pub event: Out<usize>,
}

impl Ask {
    /// From the last three parameters of an enqueue function.
    ///
    /// # Errors
    /// When the wait list is wrong.
    pub fn new(queue: &Queue, count: u32, list: In<usize>, event: Out<usize>) -> Result<Ask> {
        let events = event::wait_list(count, list, &queue.context)?;
        Ok(Ask { events, blocking: false, event })
    }

    /// The same for a command that may be waited for.
    pub fn blocking(self, blocking: u32) -> Ask {
        Ask { blocking: blocking != 0, ..self }
    }
}

impl Queue {
    /// `clCreateCommandQueue`
    ///
    /// # Errors
    /// When the device is not of the context, or a property is unknown.
    pub fn new(
        context: &Arc<Context>,
        device: &Arc<Device>,
        properties: u64,
        list: Vec<u64>,
    ) -> Result<Queue> {
        if !context.devices.iter().any(|d| Arc::ptr_eq(d, device)) {
            return Err(Error::INVALID_DEVICE);
        }
        let known = cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::QUEUE_PROFILING_ENABLE;
        let on_device = cl::QUEUE_ON_DEVICE | cl::QUEUE_ON_DEVICE_DEFAULT;
        if properties & !(known | on_device) != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if properties & on_device != 0 {
            return Err(Error::INVALID_QUEUE_PROPERTIES);
        }
        Ok(Queue {
            handle: Handle::default(),
            context: Arc::clone(context),
            device: Arc::clone(device),
            properties,
            list,
            state: Mutex::default(),
            failed: AtomicBool::new(false),
        })
    }

    /// `CL_QUEUE_PROPERTIES`
    pub fn properties(&self) -> u64 {
        self.properties
    }

    fn out_of_order(&self) -> bool {
        self.properties() & cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command.
    ///
    /// # Errors
    /// When it is waited for and fails.
    pub fn enqueue(self: &Arc<Self>, command: u32, ask: Ask, work: Work) -> Result {
        self.add(command, ask, false, work)
    }

    /// Adds a barrier: what comes later waits for it. It and a marker wait for everything before, if nothing is
    /// named to wait for.
    ///
    /// # Errors
    /// When it is waited for and fails.
    pub fn synchronise(self: &Arc<Self>, command: u32, ask: Ask, barrier: bool) -> Result {
        let everything = ask.events.is_empty();
        let mut state = self.state();
        let after = if everything { state.everything() } else { Vec::new() };
        drop(state.put(self, command, &ask, &after, barrier, Box::new(|| Ok(None))));
        Ok(())
    }

    fn add(self: &Arc<Self>, command: u32, ask: Ask, barrier: bool, work: Work) -> Result {
        // Commands in order that nobody can ask for are one: each would cost as much as a small kernel.
        let together = !self.out_of_order()
            && !self.device.timed
            && !ask.blocking
            && ask.events.is_empty()
            && ask.event.is_null();
        let mut state = self.state();
        let work = match state.unflushed.last().filter(|_| together && state.open) {
            Some(last) => match schedule::append(&**last, work) {
                Ok(()) => return Ok(()),
                Err(work) => work,
            },
            None => work,
        };
        let event = state.put(self, command, &ask, &[], barrier, work);
        state.open = together;
        drop(state);
        if !ask.blocking {
            return Ok(());
        }
        self.submit(false);
        match schedule::wait(&event) {
            cl::COMPLETE => Ok(()),
            code => Err(Error(code)),
        }
    }

    fn submit(&self, wake: bool) {
        let unflushed = std::mem::take(&mut self.state().unflushed);
        if !unflushed.is_empty() {
            schedule::flush(unflushed.into_iter(), wake);
        }
    }

    /// `clFlush`
    pub fn flush(&self) {
        self.submit(true);
    }

    /// Notes that a command failed by itself: no other call may have told.
    pub fn note_failure(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// `clFinish`
    ///
    /// # Errors
    /// When a command has failed by itself since the last call.
    pub fn finish(&self) -> Result {
        // In order there is one thing to do at a time, and this thread does it.
        self.submit(self.out_of_order());
        let all = self.state().everything();
        for event in all {
            schedule::wait(&event);
        }
        let failed = self.failed.swap(false, Ordering::Relaxed);
        if failed { Err(Error::OUT_OF_RESOURCES) } else { Ok(()) }
    }

    /// `clGetCommandQueueInfo`
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::QUEUE_CONTEXT => to.put(self.context.handle.get()),
            cl::QUEUE_DEVICE => to.put(self.device.handle.get()),
            cl::QUEUE_REFERENCE_COUNT => to.put(registry::users(self)),
            cl::QUEUE_PROPERTIES => to.put(self.properties()),
            cl::QUEUE_PROPERTIES_ARRAY => to.put(&self.list[..]),
            // Only queues on the device have a size.
            cl::QUEUE_SIZE => Err(Error::INVALID_COMMAND_QUEUE),
            cl::QUEUE_DEVICE_DEFAULT => to.put(0usize),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

impl State {
    /// All commands that are not done.
    fn everything(&mut self) -> Vec<Arc<Event>> {
        let all = self.active.iter().filter_map(WeakEvent::upgrade);
        all.chain(self.last.upgrade()).filter(|e| !e.is_done()).collect()
    }

    fn put(
        &mut self,
        queue: &Arc<Queue>,
        command: u32,
        ask: &Ask,
        after: &[Arc<Event>],
        barrier: bool,
        work: Work,
    ) -> Arc<Event> {
        let event = Arc::new(Event::command(queue, command));
        let last: Vec<Arc<Event>> = self.last.upgrade().into_iter().collect();
        let after = if after.is_empty() { &last } else { after };
        schedule::submit(&event, work, &ask.events, after);
        if queue.out_of_order() && !barrier {
            if self.active.len() >= self.prune_at.max(64) {
                self.active.retain(|e| e.upgrade().is_some_and(|e| !e.is_done()));
                self.prune_at = self.active.len() * 2;
            }
            self.active.push(Arc::downgrade(&event));
        } else if barrier && !ask.events.is_empty() {
            // It waits for its list only; what was there before is still to be waited for.
            let old = std::mem::replace(&mut self.last, Arc::downgrade(&event));
            self.active.push(old);
        } else {
            self.last = Arc::downgrade(&event);
            self.active.clear();
        }
        self.unflushed.push(Arc::clone(&event));
        self.open = false;
        if !ask.event.is_null() {
            ask.event.put(registry::publish(Arc::clone(&event)));
        }
        event
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.flush();
    }
}
