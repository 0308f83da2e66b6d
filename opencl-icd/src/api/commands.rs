//! Commands on buffers: reads, writes, copies, fills, maps.

use std::sync::Arc;

use super::{calls, creates};
use crate::cl::{self, Error, Result};
use crate::memory::Mem;
use crate::queue::{Ask, Queue};
use crate::region::{Rect, Rows};
use crate::registry;
use c_border::{In, Out, Raw};

/// A marker or barrier.
///
/// # Errors
/// When queue or wait list are wrong.
pub fn synchronise(
    queue: usize,
    command: u32,
    count: u32,
    events: In<usize>,
    event: Out<usize>,
    barrier: bool,
) -> Result {
    let queue: Arc<Queue> = registry::get(queue)?;
    let ask = Ask::new(&queue, count, events, event)?;
    queue.synchronise(command, ask, barrier)
}

/// A memory object of the queue's context.
///
/// # Errors
/// When it is none.
pub fn object(queue: &Queue, handle: usize) -> Result<Arc<Mem>> {
    let mem: Arc<Mem> = registry::get(handle)?;
    let same = Arc::ptr_eq(&mem.context, &queue.context);
    if same { Ok(mem) } else { Err(Error::INVALID_CONTEXT) }
}

fn buffer(queue: &Queue, handle: usize) -> Result<Arc<Mem>> {
    let mem = object(queue, handle)?;
    mem.as_buffer()?;
    Ok(mem)
}

/// Refuses a range that is empty or goes over the end.
fn range(mem: &Mem, offset: usize, size: usize) -> Result {
    let inside = offset.checked_add(size).is_some_and(|end| end <= mem.size);
    if size > 0 && inside { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// What the host passes for a transfer.
#[derive(Clone, Copy)]
struct Transfer {
    offset: usize,
    size: usize,
    pointer: Raw,
    blocking: u32,
}

fn transfer(
    queue: usize,
    mem: usize,
    t: Transfer,
    (count, events, event): (u32, In<usize>, Out<usize>),
    write: bool,
) -> Result {
    let queue: Arc<Queue> = registry::get(queue)?;
    let mem = buffer(&queue, mem)?;
    range(&mem, t.offset, t.size)?;
    if t.pointer.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    mem.host_access(!write, write)?;
    let ask = Ask::new(&queue, count, events, event)?.blocking(t.blocking);
    let command = if write { cl::COMMAND_WRITE_BUFFER } else { cl::COMMAND_READ_BUFFER };
    let time = queue.device.transfer_ns(t.size);
    let work = move || {
        let own = Rows::line(mem.host.offset(t.offset), t.size);
        let host = Rows::line(t.pointer, t.size);
        match write {
            true => mem.put(own, host, [t.size, 1, 1]),
            false => mem.give(own, host, [t.size, 1, 1]),
        }
        Ok(time)
    };
    queue.enqueue(command, ask, Box::new(work))
}

/// Pitches of a rectangle in a buffer and of one in host memory.
#[derive(Clone, Copy)]
struct Pitches {
    row: usize,
    slice: usize,
}

type Triple = In<[usize; 3]>;

fn rect(origin: Triple, region: Triple, p: Pitches) -> Result<Rect> {
    let origin = origin.get()?;
    let region = region.get()?;
    Rect::new(origin, region, p.row, p.slice)
}

#[allow(clippy::too_many_arguments)]
fn transfer_rect(
    queue: usize,
    mem: usize,
    (inside, outside, region): (Triple, Triple, Triple),
    (own, host): (Pitches, Pitches),
    pointer: Raw,
    blocking: u32,
    (count, events, event): (u32, In<usize>, Out<usize>),
    write: bool,
) -> Result {
    let queue: Arc<Queue> = registry::get(queue)?;
    let mem = buffer(&queue, mem)?;
    let inside = rect(inside, region, own)?;
    let outside = rect(outside, region, host)?;
    inside.within(mem.size)?;
    if pointer.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    mem.host_access(!write, write)?;
    let ask = Ask::new(&queue, count, events, event)?.blocking(blocking);
    let command = if write { cl::COMMAND_WRITE_BUFFER_RECT } else { cl::COMMAND_READ_BUFFER_RECT };
    let time = queue.device.transfer_ns(inside.bytes());
    let work = move || {
        let (own, host) = (inside.rows(mem.host), outside.rows(pointer));
        match write {
            true => mem.put(own, host, inside.region),
            false => mem.give(own, host, inside.region),
        }
        Ok(time)
    };
    queue.enqueue(command, ask, Box::new(work))
}

const MAP_FLAGS: u64 = cl::MAP_READ | cl::MAP_WRITE | cl::MAP_WRITE_INVALIDATE_REGION;

/// Refuses map flags that are unknown or exclude each other.
///
/// # Errors
/// As said.
pub fn map_flags_of(flags: u64) -> Result {
    let invalidates = flags & cl::MAP_WRITE_INVALIDATE_REGION != 0;
    let others = flags & (cl::MAP_READ | cl::MAP_WRITE) != 0;
    if flags & !MAP_FLAGS != 0 || invalidates && others {
        return Err(Error::INVALID_VALUE);
    }
    Ok(())
}

/// Refuses map flags that are unknown, exclude each other, or that the object's flags rule out.
///
/// # Errors
/// As said.
pub fn map_flags(mem: &Mem, flags: u64) -> Result {
    map_flags_of(flags)?;
    mem.host_access(flags & cl::MAP_READ != 0, flags & !cl::MAP_READ != 0)
}

calls! {
    clEnqueueReadBuffer(
        queue: usize, mem: usize, blocking: u32, offset: usize, size: usize, pointer: Raw, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        transfer(queue, mem, Transfer { offset, size, pointer, blocking }, (count, events, event), false)
    }

    clEnqueueWriteBuffer(
        queue: usize, mem: usize, blocking: u32, offset: usize, size: usize, pointer: Raw, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        transfer(queue, mem, Transfer { offset, size, pointer, blocking }, (count, events, event), true)
    }

    clEnqueueReadBufferRect(
        queue: usize, mem: usize, blocking: u32, inside: Triple, outside: Triple, region: Triple, row: usize,
        slice: usize, host_row: usize, host_slice: usize, pointer: Raw, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let pitches = (Pitches { row, slice }, Pitches { row: host_row, slice: host_slice });
        let ask = (count, events, event);
        transfer_rect(queue, mem, (inside, outside, region), pitches, pointer, blocking, ask, false)
    }

    clEnqueueWriteBufferRect(
        queue: usize, mem: usize, blocking: u32, inside: Triple, outside: Triple, region: Triple, row: usize,
        slice: usize, host_row: usize, host_slice: usize, pointer: Raw, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let pitches = (Pitches { row, slice }, Pitches { row: host_row, slice: host_slice });
        let ask = (count, events, event);
        transfer_rect(queue, mem, (inside, outside, region), pitches, pointer, blocking, ask, true)
    }

    clEnqueueCopyBuffer(
        queue: usize, from: usize, to: usize, from_offset: usize, to_offset: usize, size: usize, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let (from, to) = (buffer(&queue, from)?, buffer(&queue, to)?);
        range(&from, from_offset, size)?;
        range(&to, to_offset, size)?;
        let (a, b) = (from.address + from_offset as u64, to.address + to_offset as u64);
        if a.abs_diff(b) < size as u64 {
            return Err(Error::MEM_COPY_OVERLAP);
        }
        let ask = Ask::new(&queue, count, events, event)?;
        let time = queue.device.copy_ns(size);
        let work = move || {
            let [target, source] = [(&to, to_offset), (&from, from_offset)]
                .map(|(mem, offset)| Rows::line(mem.host.offset(offset), size));
            to.put_from(target, &from, source, [size, 1, 1]);
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_COPY_BUFFER, ask, Box::new(work))
    }

    clEnqueueCopyBufferRect(
        queue: usize, from: usize, to: usize, from_origin: Triple, to_origin: Triple, region: Triple,
        from_row: usize, from_slice: usize, to_row: usize, to_slice: usize, count: u32, events: In<usize>,
        event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let (from, to) = (buffer(&queue, from)?, buffer(&queue, to)?);
        let source = rect(from_origin, region, Pitches { row: from_row, slice: from_slice })?;
        let target = rect(to_origin, region, Pitches { row: to_row, slice: to_slice })?;
        source.within(from.size)?;
        target.within(to.size)?;
        if Arc::ptr_eq(&from, &to) {
            if source.row != target.row || source.slice != target.slice {
                return Err(Error::INVALID_VALUE);
            }
            if source.overlaps(&target) {
                return Err(Error::MEM_COPY_OVERLAP);
            }
        } else if from.shares(&to) {
            // Parts of one buffer: compared in it.
            let shift = |r: &Rect, m: &Mem| r.offset().map(|o| (o + m.offset, r.extent().unwrap_or(0)));
            if let (Some((a, n)), Some((b, m))) = (shift(&source, &from), shift(&target, &to))
                && a < b + m
                && b < a + n
            {
                return Err(Error::MEM_COPY_OVERLAP);
            }
        }
        let ask = Ask::new(&queue, count, events, event)?;
        let time = queue.device.copy_ns(source.bytes());
        let work = move || {
            to.put_from(target.rows(to.host), &from, source.rows(from.host), source.region);
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_COPY_BUFFER_RECT, ask, Box::new(work))
    }

    clEnqueueFillBuffer(
        queue: usize, mem: usize, pattern: Raw, pattern_size: usize, offset: usize, size: usize, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let mem = buffer(&queue, mem)?;
        let power = pattern_size.is_power_of_two() && pattern_size <= 128;
        if pattern.is_null() || !power {
            return Err(Error::INVALID_VALUE);
        }
        if !offset.is_multiple_of(pattern_size) || !size.is_multiple_of(pattern_size) {
            return Err(Error::INVALID_VALUE);
        }
        range(&mem, offset, size)?;
        let ask = Ask::new(&queue, count, events, event)?;
        let pattern = pattern.bytes(0, pattern_size)?;
        let time = queue.device.copy_ns(size);
        let work = move || {
            mem.fill(Rows::line(mem.host.offset(offset), size), &pattern, [size, 1, 1]);
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_FILL_BUFFER, ask, Box::new(work))
    }

    clEnqueueUnmapMemObject(
        queue: usize, mem: usize, pointer: Raw, count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let mem = object(&queue, mem)?;
        let ask = Ask::new(&queue, count, events, event)?;
        mem.unmap(pointer)?;
        let work = move || {
            mem.take_back();
            Ok(None)
        };
        queue.enqueue(cl::COMMAND_UNMAP_MEM_OBJECT, ask, Box::new(work))
    }

    clEnqueueMigrateMemObjects(
        queue: usize, mems: u32, list: In<usize>, flags: u64, count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        if mems == 0 || list.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        for handle in list.list(mems as usize)? {
            object(&queue, handle)?;
        }
        if flags & !(cl::MIGRATE_MEM_OBJECT_HOST | cl::MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let ask = Ask::new(&queue, count, events, event)?;
        // The memory of a context is one.
        queue.enqueue(cl::COMMAND_MIGRATE_MEM_OBJECTS, ask, Box::new(|| Ok(None)))
    }
}

creates! {
    clEnqueueMapBuffer(
        queue: usize, mem: usize, blocking: u32, flags: u64, offset: usize, size: usize, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let mem = buffer(&queue, mem)?;
        range(&mem, offset, size)?;
        map_flags(&mem, flags)?;
        let ask = Ask::new(&queue, count, events, event)?.blocking(blocking);
        let pointer = mem.map(offset);
        let shown = Arc::clone(&mem);
        let work = move || {
            shown.reveal();
            shown.is_mapped(offset, size, flags);
            Ok(None)
        };
        let done = queue.enqueue(cl::COMMAND_MAP_BUFFER, ask, Box::new(work));
        if done.is_err() {
            mem.unmap(pointer)?;
        }
        done.map(|()| pointer.address())
    }
}
