//! Commands on images.

use std::sync::Arc;

use super::commands::{map_flags, object};
use super::{calls, creates};
use crate::cl::{self, Error, Result};
use crate::image::Image;
use crate::memory::Mem;
use crate::queue::{Ask, Queue};
use crate::region::Rows;
use crate::registry;
use c_border::{In, Out, Raw};

type Triple = In<[usize; 3]>;

fn image(queue: &Queue, handle: usize) -> Result<(Arc<Mem>, Image)> {
    let mem = object(queue, handle)?;
    let image = mem.as_image()?.clone();
    Ok((mem, image))
}

fn triple(list: Triple) -> Result<[usize; 3]> {
    Ok(list.get()?)
}

/// The caller's side of a transfer.
#[derive(Clone, Copy)]
struct Outside {
    pointer: Raw,
    row: usize,
    slice: usize,
    blocking: u32,
}

fn transfer(
    queue: usize,
    mem: usize,
    (origin, region): (Triple, Triple),
    outside: Outside,
    (count, events, event): (u32, In<usize>, Out<usize>),
    write: bool,
) -> Result {
    let queue: Arc<Queue> = registry::get(queue)?;
    let (mem, image) = image(&queue, mem)?;
    let (origin, region) = (triple(origin)?, triple(region)?);
    image.check(origin, region)?;
    if outside.pointer.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let host = image.outside(outside.pointer, region, outside.row, outside.slice)?;
    mem.host_access(!write, write)?;
    let ask = Ask::new(&queue, count, events, event)?.blocking(outside.blocking);
    let span = image.span(region);
    let time = queue.device.transfer_ns(span.iter().product());
    let command = if write { cl::COMMAND_WRITE_IMAGE } else { cl::COMMAND_READ_IMAGE };
    let work = move || {
        let own = image.rows(mem.host, origin);
        match write {
            true => mem.put(own, host, span),
            false => mem.give(own, host, span),
        }
        Ok(time)
    };
    queue.enqueue(command, ask, Box::new(work))
}

/// A region of an image and as many bytes of a buffer.
#[allow(clippy::too_many_arguments)]
fn with_buffer(
    queue: usize,
    image_handle: usize,
    buffer: usize,
    (origin, region): (Triple, Triple),
    offset: usize,
    (count, events, event): (u32, In<usize>, Out<usize>),
    command: u32,
) -> Result {
    let queue: Arc<Queue> = registry::get(queue)?;
    let (mem, image) = image(&queue, image_handle)?;
    let buffer = object(&queue, buffer)?;
    buffer.as_buffer()?;
    let (origin, region) = (triple(origin)?, triple(region)?);
    image.check(origin, region)?;
    let span = image.span(region);
    let bytes: usize = span.iter().product();
    if offset.checked_add(bytes).is_none_or(|end| end > buffer.size) {
        return Err(Error::INVALID_VALUE);
    }
    let ask = Ask::new(&queue, count, events, event)?;
    let time = queue.device.copy_ns(bytes);
    let work = move || {
        let start = buffer.host.offset(offset);
        let flat = Rows { start, row: span[0], slice: span[0] * span[1] };
        let own = image.rows(mem.host, origin);
        let to_image = command == cl::COMMAND_COPY_BUFFER_TO_IMAGE;
        match to_image {
            true => mem.put_from(own, &buffer, flat, span),
            false => buffer.put_from(flat, &mem, own, span),
        }
        Ok(time)
    };
    queue.enqueue(command, ask, Box::new(work))
}

calls! {
    clEnqueueReadImage(
        queue: usize, mem: usize, blocking: u32, origin: Triple, region: Triple, row: usize, slice: usize,
        pointer: Raw, count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let outside = Outside { pointer, row, slice, blocking };
        transfer(queue, mem, (origin, region), outside, (count, events, event), false)
    }

    clEnqueueWriteImage(
        queue: usize, mem: usize, blocking: u32, origin: Triple, region: Triple, row: usize, slice: usize,
        pointer: Raw, count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let outside = Outside { pointer, row, slice, blocking };
        transfer(queue, mem, (origin, region), outside, (count, events, event), true)
    }

    clEnqueueCopyImage(
        queue: usize, from: usize, to: usize, from_origin: Triple, to_origin: Triple, region: Triple, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let ((from, source), (to, target)) = (image(&queue, from)?, image(&queue, to)?);
        let (a, b, region) = (triple(from_origin)?, triple(to_origin)?, triple(region)?);
        if source.format != target.format {
            return Err(Error::IMAGE_FORMAT_MISMATCH);
        }
        source.check(a, region)?;
        target.check(b, region)?;
        let near = |d: usize| a[d].abs_diff(b[d]) < region[d];
        if Arc::ptr_eq(&from, &to) && (0..3).all(near) {
            return Err(Error::MEM_COPY_OVERLAP);
        }
        let ask = Ask::new(&queue, count, events, event)?;
        let span = source.span(region);
        let time = queue.device.copy_ns(span.iter().product());
        let work = move || {
            to.put_from(target.rows(to.host, b), &from, source.rows(from.host, a), span);
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_COPY_IMAGE, ask, Box::new(work))
    }

    clEnqueueCopyImageToBuffer(
        queue: usize, from: usize, to: usize, origin: Triple, region: Triple, offset: usize, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let command = cl::COMMAND_COPY_IMAGE_TO_BUFFER;
        with_buffer(queue, from, to, (origin, region), offset, (count, events, event), command)
    }

    clEnqueueCopyBufferToImage(
        queue: usize, from: usize, to: usize, offset: usize, origin: Triple, region: Triple, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let command = cl::COMMAND_COPY_BUFFER_TO_IMAGE;
        with_buffer(queue, to, from, (origin, region), offset, (count, events, event), command)
    }

    clEnqueueFillImage(
        queue: usize, mem: usize, colour: In<[u32; 4]>, origin: Triple, region: Triple, count: u32,
        events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let (mem, image) = image(&queue, mem)?;
        let colour = colour.get()?;
        let (origin, region) = (triple(origin)?, triple(region)?);
        image.check(origin, region)?;
        let ask = Ask::new(&queue, count, events, event)?;
        let texel = image.format.texel(colour);
        let time = queue.device.copy_ns(image.span(region).iter().product());
        let work = move || {
            mem.fill(image.rows(mem.host, origin), &texel, image.span(region));
            Ok(time)
        };
        queue.enqueue(cl::COMMAND_FILL_IMAGE, ask, Box::new(work))
    }
}

creates! {
    clEnqueueMapImage(
        queue: usize, mem: usize, blocking: u32, flags: u64, origin: Triple, region: Triple, row: Out<usize>,
        slice: Out<usize>, count: u32, events: In<usize>, event: Out<usize>,
    ) {
        let queue: Arc<Queue> = registry::get(queue)?;
        let (mem, image) = image(&queue, mem)?;
        let (origin, region) = (triple(origin)?, triple(region)?);
        image.check(origin, region)?;
        if row.is_null() || slice.is_null() && image.has_slices() {
            return Err(Error::INVALID_VALUE);
        }
        map_flags(&mem, flags)?;
        let ask = Ask::new(&queue, count, events, event)?.blocking(blocking);
        row.put(image.row);
        slice.put(image.slice_pitch());
        let pointer = mem.map(image.offset(origin));
        let shown = Arc::clone(&mem);
        let work = move || {
            shown.reveal();
            shown.is_mapped(0, shown.size, flags);
            Ok(None)
        };
        let done = queue.enqueue(cl::COMMAND_MAP_IMAGE, ask, Box::new(work));
        if done.is_err() {
            mem.unmap(pointer)?;
        }
        done.map(|()| pointer.address())
    }
}
