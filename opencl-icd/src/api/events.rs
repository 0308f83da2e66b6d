//! Events.

use std::sync::Arc;

use super::{calls, counted, creates};
use crate::cl::{self, Error};
use crate::context::Context;
use crate::event::Event;
use crate::{callbacks, registry, schedule};
use c_border::ParamValue;
use c_border::callback::EventFn;
use c_border::{In, Out, Raw};

counted! {
    Event: clRetainEvent clReleaseEvent;
}

creates! {
    clCreateUserEvent(context: usize) {
        let context: Arc<Context> = registry::get(context)?;
        Ok(registry::publish(Arc::new(Event::user(&context))))
    }
}

calls! {
    clWaitForEvents(count: u32, events: In<usize>) {
        if count == 0 || events.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let mut all: Vec<Arc<Event>> = Vec::new();
        for handle in events.list(count as usize)? {
            all.push(registry::get(handle)?);
        }
        if all.iter().any(|e| !Arc::ptr_eq(&e.context, &all[0].context)) {
            return Err(Error::INVALID_CONTEXT);
        }
        // What this thread does not do itself may start elsewhere.
        let several = all.len() > 1;
        for event in &all {
            if several
                && let Some(queue) = &event.queue
            {
                queue.flush();
            }
        }
        let mut failed = false;
        for event in &all {
            failed |= schedule::wait(event) < 0;
        }
        if failed { Err(Error::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) } else { Ok(()) }
    }

    clGetEventInfo(event: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Event>(event)?.info(name, ParamValue { size, value, size_ret })
    }

    clGetEventProfilingInfo(event: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Event>(event)?.profiling(name, ParamValue { size, value, size_ret })
    }

    clSetUserEventStatus(event: usize, status: i32) {
        let event: Arc<Event> = registry::get(event)?;
        if event.command != cl::COMMAND_USER {
            return Err(Error::INVALID_EVENT);
        }
        if status > cl::COMPLETE {
            return Err(Error::INVALID_VALUE);
        }
        if schedule::signal(&event, status) { Ok(()) } else { Err(Error::INVALID_OPERATION) }
    }

    clSetEventCallback(event: usize, at: i32, function: EventFn, data: Raw) {
        let event: Arc<Event> = registry::get(event)?;
        if function.is_none() || !(cl::COMPLETE..=cl::SUBMITTED).contains(&at) {
            return Err(Error::INVALID_VALUE);
        }
        callbacks::ready()?;
        event.on(at, function, data);
        if let Some(queue) = &event.queue {
            queue.flush();
        }
        Ok(())
    }
}
