//! Shared virtual memory.

use std::sync::Arc;

use super::calls;
use super::commands::map_flags_of;
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::queue::{Ask, Queue};
use crate::registry;
use c_border::callback::{FreeFn, call_free};
use c_border::{In, Out, Raw, guarded};

/// `clSVMAlloc`
///
/// # Safety
/// None is needed; it has the type of its neighbours.
#[allow(non_snake_case)]
pub unsafe extern "C" fn clSVMAlloc(context: usize, flags: u64, size: usize, align: u32) -> usize {
    let alloc = || {
        let context: Arc<Context> = registry::get(context).ok()?;
        context.svm.alloc(&context.machine, flags, size, align as usize, context.max_alloc())
    };
    guarded(alloc, None).unwrap_or(0)
}

/// `clSVMFree`
///
/// # Safety
/// No kernel may use the memory any more.
#[allow(non_snake_case)]
pub unsafe extern "C" fn clSVMFree(context: usize, pointer: Raw) {
    let free = || {
        if let Ok(context) = registry::get::<Context>(context) {
            context.svm.free(&context.machine, pointer.address());
        }
    };
    guarded(free, ());
}

/// Refuses memory of which this process has none.
fn there(queue: &Queue, pointer: Raw, size: usize) -> Result {
    let known = queue.context.svm.holds(pointer.address(), size);
    if known || pointer.is_mapped(size) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

calls! {
    clEnqueueSVMFree(
        queue: usize, number: u32, pointers: In<usize>, function: FreeFn, data: Raw, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        if (number == 0) != pointers.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let mut list = pointers.list(number as usize)?;
        let ask = Ask::new(&queue, count, events, event)?;
        let owner = Arc::clone(&queue);
        let work = move || {
            if function.is_some() {
                call_free(function, owner.handle.get(), &mut list, data);
            } else {
                let context = &owner.context;
                list.iter().for_each(|p| {
                    context.svm.free(&context.machine, *p);
                });
            }
            Ok(None)
        };
        queue.enqueue(cl::COMMAND_SVM_FREE, ask, Box::new(work))
    }

    clEnqueueSVMMemcpy(
        queue: usize, blocking: u32, to: Raw, from: Raw, size: usize, count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        if to.is_null() || from.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if size > 0 && to.address().abs_diff(from.address()) < size {
            return Err(Error::MEM_COPY_OVERLAP);
        }
        there(&queue, to, size)?;
        there(&queue, from, size)?;
        let ask = Ask::new(&queue, count, events, event)?.blocking(blocking);
        let time = queue.device.copy_ns(size);
        let work = move || {
            to.copy_from(from, size);
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_SVM_MEMCPY, ask, Box::new(work))
    }

    clEnqueueSVMMemFill(
        queue: usize, to: Raw, pattern: Raw, pattern_size: usize, size: usize, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let power = pattern_size.is_power_of_two() && pattern_size <= 128;
        if to.is_null() || pattern.is_null() || !power {
            return Err(Error::INVALID_VALUE);
        }
        if !to.address().is_multiple_of(pattern_size) || !size.is_multiple_of(pattern_size) {
            return Err(Error::INVALID_VALUE);
        }
        there(&queue, to, size)?;
        let ask = Ask::new(&queue, count, events, event)?;
        let pattern = pattern.bytes(0, pattern_size)?;
        let time = queue.device.copy_ns(size);
        let work = move || {
            to.fill(&pattern, size / pattern.len());
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_SVM_MEMFILL, ask, Box::new(work))
    }

    clEnqueueSVMMap(
        queue: usize, blocking: u32, flags: u64, pointer: Raw, size: usize, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        if pointer.is_null() || size == 0 {
            return Err(Error::INVALID_VALUE);
        }
        map_flags_of(flags)?;
        let ask = Ask::new(&queue, count, events, event)?.blocking(blocking);
        // Host and kernels see the same bytes at any time.
        queue.enqueue(cl::COMMAND_SVM_MAP, ask, Box::new(|| Ok(None)))
    }

    clEnqueueSVMUnmap(queue: usize, pointer: Raw, count: u32, events: In<usize>, event: Out<usize>) {
        let queue: Arc<Queue> = registry::get(queue)?;
        if pointer.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let ask = Ask::new(&queue, count, events, event)?;
        queue.enqueue(cl::COMMAND_SVM_UNMAP, ask, Box::new(|| Ok(None)))
    }

    clEnqueueSVMMigrateMem(
        queue: usize, number: u32, pointers: In<usize>, sizes: In<usize>, flags: u64, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        if number == 0 || pointers.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let list = pointers.list(number as usize)?;
        let bytes = if sizes.is_null() { vec![0; list.len()] } else { sizes.list(number as usize)? };
        let known = list.iter().zip(&bytes).all(|(p, n)| queue.context.svm.holds(*p, (*n).max(1)));
        if !known || flags & !(cl::MIGRATE_MEM_OBJECT_HOST | cl::MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let ask = Ask::new(&queue, count, events, event)?;
        // The memory of a context is one.
        queue.enqueue(cl::COMMAND_SVM_MIGRATE_MEM, ask, Box::new(|| Ok(None)))
    }
}
