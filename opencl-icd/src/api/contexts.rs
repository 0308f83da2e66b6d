//! Platform, devices, contexts, queues.

use std::sync::Arc;

use super::{calls, counted, creates};
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::Device;
use crate::platform::{self, Platform};
use crate::queue::Queue;
use crate::{callbacks, event, left, registry};
use c_border::ParamValue;
use c_border::callback::{ContextFn, ObjectFn};
use c_border::ending;
use c_border::{In, Out, OutList, Raw};

/// The devices of a list.
///
/// # Errors
/// When the list and its length do not fit, or something in it is no device.
pub fn device_list(count: u32, list: In<usize>) -> Result<Vec<Arc<Device>>> {
    if (count == 0) != list.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    list.list(count as usize)?.into_iter().map(registry::get).collect()
}

/// Gives the program a context.
fn published(context: Context) -> usize {
    if context.machine.is_checked() {
        ending::at_end(left::report);
    }
    registry::publish(Arc::new(context))
}

/// Checks a property list; as it was given, with the zero at the end.
///
/// # Errors
/// When a property is unknown, twice, or its value wrong.
fn context_properties(list: In<isize>) -> Result<Vec<isize>> {
    let mut seen = Vec::new();
    for [name, value] in list.pairs() {
        if seen.contains(&name) {
            return Err(Error::INVALID_PROPERTY);
        }
        seen.push(name);
        match name as u32 {
            cl::CONTEXT_PLATFORM => {
                registry::get::<Platform>(value as usize)?;
            }
            cl::CONTEXT_INTEROP_USER_SYNC if value == 0 || value == 1 => {}
            _ => return Err(Error::INVALID_PROPERTY),
        }
    }
    Ok(match list.is_null() {
        true => Vec::new(),
        false => list.pairs().into_iter().flatten().chain([0]).collect(),
    })
}

/// The pairs of a property list, and the list with the zero at its end; both are empty for no list.
pub fn property_list(list: In<u64>) -> (Vec<[u64; 2]>, Vec<u64>) {
    let pairs = list.pairs();
    let whole = match list.is_null() {
        true => Vec::new(),
        false => pairs.iter().copied().flatten().chain([0]).collect(),
    };
    (pairs, whole)
}

fn platform_of(handle: usize) -> Result<Arc<Platform>> {
    if handle == 0 { platform::get() } else { registry::get(handle) }
}

fn platform_list(entries: u32, platforms: Out<usize>, count: Out<u32>) -> Result {
    let list = OutList { list: platforms, capacity: entries as usize, count }.wanted()?;
    list.put(&[platform::get()?.handle.get()]);
    Ok(())
}

calls! {
    clGetPlatformIDs(entries: u32, platforms: Out<usize>, count: Out<u32>) {
        platform_list(entries, platforms, count)
    }

    clIcdGetPlatformIDsKHR(entries: u32, platforms: Out<usize>, count: Out<u32>) {
        platform_list(entries, platforms, count)
    }

    clGetPlatformInfo(platform: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        platform_of(platform)?.info(name, ParamValue { size, value, size_ret })
    }

    clGetDeviceIDs(platform: usize, kind: u64, entries: u32, devices: Out<usize>, count: Out<u32>) {
        let platform = platform_of(platform)?;
        let list = OutList { list: devices, capacity: entries as usize, count }.wanted()?;
        let all: Vec<usize> = platform.devices_of(kind)?.iter().map(|d| d.handle.get()).collect();
        list.put(&all);
        Ok(())
    }

    clGetDeviceInfo(device: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        let device: Arc<Device> = registry::get(device)?;
        platform::device_info(&device, name, ParamValue { size, value, size_ret })
    }

    clCreateSubDevices(device: usize, properties: In<isize>, entries: u32, devices: Out<usize>, count: Out<u32>) {
        let device: Arc<Device> = registry::get(device)?;
        let parts = device.parts(properties)?;
        count.put(parts.len() as u32);
        if devices.is_null() {
            return Ok(());
        }
        if parts.len() > entries as usize {
            return Err(Error::INVALID_VALUE);
        }
        let all: Vec<usize> = parts.into_iter().map(|part| registry::publish(Arc::new(part))).collect();
        devices.put_all(&all);
        Ok(())
    }

    // Root devices are not counted.
    clRetainDevice(device: usize) {
        if registry::get::<Device>(device)?.is_part() { registry::retain::<Device>(device) } else { Ok(()) }
    }

    clReleaseDevice(device: usize) {
        if registry::get::<Device>(device)?.is_part() { registry::release::<Device>(device) } else { Ok(()) }
    }

    clGetContextInfo(context: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Context>(context)?.info(name, ParamValue { size, value, size_ret })
    }

    clSetContextDestructorCallback(context: usize, function: ObjectFn, data: Raw) {
        let context: Arc<Context> = registry::get(context)?;
        if function.is_none() {
            return Err(Error::INVALID_VALUE);
        }
        callbacks::ready()?;
        context.on_destruction(function, data);
        Ok(())
    }

    clGetDeviceAndHostTimer(device: usize, of_device: Out<u64>, of_host: Out<u64>) {
        registry::get::<Device>(device)?;
        if of_device.is_null() || of_host.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // One clock: that of the times of events.
        let now = event::now();
        of_device.put(now);
        of_host.put(now);
        Ok(())
    }

    clGetHostTimer(device: usize, of_host: Out<u64>) {
        registry::get::<Device>(device)?;
        of_host.required()?.put(event::now());
        Ok(())
    }

    clSetDefaultDeviceCommandQueue(context: usize, device: usize, queue: usize) {
        registry::get::<Context>(context)?;
        registry::get::<Device>(device)?;
        if queue != 0 {
            registry::get::<Queue>(queue)?;
        }
        // No device has queues of its own (CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES).
        Err(Error::INVALID_OPERATION)
    }

    clRetainCommandQueue(queue: usize) { registry::retain::<Queue>(queue) }

    clReleaseCommandQueue(queue: usize) {
        registry::get::<Queue>(queue)?.flush();
        registry::release::<Queue>(queue)
    }

    clGetCommandQueueInfo(queue: usize, name: u32, size: usize, value: Raw, size_ret: Out<usize>) {
        registry::get::<Queue>(queue)?.info(name, ParamValue { size, value, size_ret })
    }

    // Of OpenCL 1.0; properties are fixed since.
    clSetCommandQueueProperty(queue: usize, _properties: u64, _enable: u32, _old: Out<u64>) {
        registry::get::<Queue>(queue)?;
        Err(Error::INVALID_OPERATION)
    }
}

counted! {
    Context: clRetainContext clReleaseContext;
}

creates! {
    clCreateContext(properties: In<isize>, count: u32, devices: In<usize>, notify: ContextFn, data: Raw) {
        let properties = context_properties(properties)?;
        if count == 0 || devices.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let mut all = device_list(count, devices)?;
        let mut seen = Vec::new();
        all.retain(|d| {
            let new = !seen.contains(&d.handle.get());
            seen.push(d.handle.get());
            new
        });
        Ok(published(Context::new(all, properties, notify, data)?))
    }

    clCreateContextFromType(properties: In<isize>, kind: u64, notify: ContextFn, data: Raw) {
        let properties = context_properties(properties)?;
        if notify.is_none() && !data.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let devices = platform::get()?.devices_of(kind)?;
        Ok(published(Context::new(devices, properties, notify, data)?))
    }

    clCreateCommandQueue(context: usize, device: usize, properties: u64) {
        let context: Arc<Context> = registry::get(context)?;
        let device: Arc<Device> = registry::get(device)?;
        Ok(registry::publish(Arc::new(Queue::new(&context, &device, properties, Vec::new())?)))
    }

    clCreateCommandQueueWithProperties(context: usize, device: usize, properties: In<u64>) {
        let context: Arc<Context> = registry::get(context)?;
        let device: Arc<Device> = registry::get(device)?;
        let (pairs, list) = property_list(properties);
        let mut flags = None;
        for [name, value] in pairs {
            match u32::try_from(name) {
                Ok(cl::QUEUE_PROPERTIES) if flags.is_none() => flags = Some(value),
                // Only queues on the device have a size.
                Ok(cl::QUEUE_SIZE) => return Err(Error::INVALID_QUEUE_PROPERTIES),
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        Ok(registry::publish(Arc::new(Queue::new(&context, &device, flags.unwrap_or(0), list)?)))
    }
}

calls! {
    clFlush(queue: usize) {
        registry::get::<Queue>(queue)?.flush();
        Ok(())
    }

    clFinish(queue: usize) {
        registry::get::<Queue>(queue)?.finish()
    }

    clEnqueueMarkerWithWaitList(queue: usize, count: u32, events: In<usize>, event: Out<usize>) {
        super::commands::synchronise(queue, cl::COMMAND_MARKER, count, events, event, false)
    }

    clEnqueueBarrierWithWaitList(queue: usize, count: u32, events: In<usize>, event: Out<usize>) {
        super::commands::synchronise(queue, cl::COMMAND_BARRIER, count, events, event, true)
    }

    clEnqueueMarker(queue: usize, event: Out<usize>) {
        registry::get::<Queue>(queue)?;
        if event.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        super::commands::synchronise(queue, cl::COMMAND_MARKER, 0, In::none(), event, false)
    }

    clEnqueueBarrier(queue: usize) {
        super::commands::synchronise(queue, cl::COMMAND_BARRIER, 0, In::none(), Out::none(), true)
    }

    clEnqueueWaitForEvents(queue: usize, count: u32, events: In<usize>) {
        registry::get::<Queue>(queue)?;
        if count == 0 || events.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let done = super::commands::synchronise(queue, cl::COMMAND_BARRIER, count, events, Out::none(), true);
        done.map_err(|e| if e == Error::INVALID_EVENT_WAIT_LIST { Error::INVALID_EVENT } else { e })
    }
}
