//! Copies and fills.

use std::sync::Arc;

use super::symbol::functions;
use crate::allocation::Kind;
use crate::context::{self, Context};
use crate::copy::{Copy3d, Endpoint, Side, resolve};
use crate::error::{Error, Result};
use crate::graph_memory;
use crate::stream::{self, Stream};
use crate::texture;
use crate::work::{Fill, Work};
use c_border::plain_struct;
use c_border::{In, Raw};

plain_struct! {
    /// `CUDA_MEMCPY2D`.
    Copy2 {
        src_x: usize, src_y: usize, src_type: u64, src_host: Raw, src_device: u64, src_array: usize, src_pitch: usize,
        dst_x: usize, dst_y: usize, dst_type: u64, dst_host: Raw, dst_device: u64, dst_array: usize, dst_pitch: usize,
        width: usize, height: usize,
    }

    /// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER` where the reserved fields are contexts.
    Copy3 {
        src_x: usize, src_y: usize, src_z: usize, src_lod: usize, src_type: u64, src_host: Raw, src_device: u64,
        src_array: usize, src_context: usize, src_pitch: usize, src_height: usize,
        dst_x: usize, dst_y: usize, dst_z: usize, dst_lod: usize, dst_type: u64, dst_host: Raw, dst_device: u64,
        dst_array: usize, dst_context: usize, dst_pitch: usize, dst_height: usize,
        width: usize, height: usize, depth: usize,
    }
}

/// The copy that a structure describes.
pub fn describe(context: &Context, c: &Copy3) -> Result<Copy3d> {
    // The field is an enumeration of 4 bytes with padding after it.
    let side = |kind: u64, host: Raw, device: u64, array: usize| -> Result<Side> {
        Ok(match kind as u32 {
            1 => match resolve(context, host.address()) {
                Side::Device(at) => Side::Device(at),
                _ => Side::Host(host),
            },
            2 => Side::Device(device),
            3 => Side::Array(texture::array(array)?),
            4 => resolve(context, device as usize),
            _ => return Err(Error::InvalidValue),
        })
    };
    let width = c.width as u64;
    let place = |side: Side, at: [usize; 3], pitch: usize, height: usize| {
        let at = at.map(|n| n as u64);
        // A pitch of 0 means rows without gaps.
        let pitch = if pitch == 0 { width + at[0] } else { pitch as u64 };
        let height = if height == 0 { c.height as u64 } else { height as u64 };
        Endpoint { side, at, pitch, height }
    };
    if c.src_lod != 0 || c.dst_lod != 0 {
        return Err(Error::InvalidValue);
    }
    let from = side(c.src_type, c.src_host, c.src_device, c.src_array)?;
    let to = side(c.dst_type, c.dst_host, c.dst_device, c.dst_array)?;
    Ok(Copy3d {
        from: place(from, [c.src_x, c.src_y, c.src_z], c.src_pitch, c.src_height),
        to: place(to, [c.dst_x, c.dst_y, c.dst_z], c.dst_pitch, c.dst_height),
        size: [width, c.height as u64, c.depth as u64],
    })
}

fn three(c: &Copy2) -> Copy3 {
    Copy3 {
        src_x: c.src_x,
        src_y: c.src_y,
        src_z: 0,
        src_lod: 0,
        src_type: c.src_type,
        src_host: c.src_host,
        src_device: c.src_device,
        src_array: c.src_array,
        src_context: 0,
        src_pitch: c.src_pitch,
        src_height: 0,
        dst_x: c.dst_x,
        dst_y: c.dst_y,
        dst_z: 0,
        dst_lod: 0,
        dst_type: c.dst_type,
        dst_host: c.dst_host,
        dst_device: c.dst_device,
        dst_array: c.dst_array,
        dst_context: 0,
        dst_pitch: c.dst_pitch,
        dst_height: 0,
        width: c.width,
        height: c.height,
        depth: 1,
    }
}

/// Queues a copy; waits for it where the caller's memory would not keep it.
fn start(stream: &Stream, mut copy: Copy3d) -> Result {
    let context = stream.context()?;
    // A graph reads the memory when it is launched.
    let captures = stream.capture().is_some();
    copy.check(&context, captures)?;
    if copy.is_empty() {
        return context.check();
    }
    let wait = !captures && copy.detach(&context)?;
    let ticket = stream.enqueue(Work::Copy(Box::new(copy)))?;
    if wait {
        crate::schedule::wait(ticket);
        context.check()?;
    }
    Ok(())
}

/// Copies and waits.
fn finish(stream: &Stream, copy: Copy3d) -> Result {
    let context = stream.context()?;
    copy.check(&context, false)?;
    if copy.is_empty() {
        return context.check();
    }
    stream.execute(Work::Copy(Box::new(copy)))
}

/// A pointer that should be the host's; one into device memory means that (unified addressing).
fn host(context: &Context, at: Raw) -> Side {
    resolve(context, at.address())
}

fn own() -> Result<(Arc<Context>, Arc<Stream>)> {
    let stream = stream::get(0)?;
    Ok((stream.context()?, stream))
}

fn to_array(array: usize, offset: usize, from: Side, bytes: usize) -> Result<Copy3d> {
    let mut copy = Copy3d::line(Side::Array(texture::array(array)?), from, bytes as u64);
    copy.to.at[0] = offset as u64;
    Ok(copy)
}

fn from_array(to: Side, array: usize, offset: usize, bytes: usize) -> Result<Copy3d> {
    let mut copy = Copy3d::line(to, Side::Array(texture::array(array)?), bytes as u64);
    copy.from.at[0] = offset as u64;
    Ok(copy)
}

/// A fill, checked; `recorded`: for a graph, as in [`Copy3d::check`].
pub fn fill(context: &Context, fill: Fill, recorded: bool) -> Result<Fill> {
    if fill.width == 0 || fill.height == 0 {
        return Ok(fill);
    }
    let element = u64::from(fill.element);
    let row = fill.width.checked_mul(element).ok_or(Error::InvalidValue)?;
    if !matches!(element, 1 | 2 | 4)
        || !fill.address.is_multiple_of(element)
        || fill.height > 1 && (fill.pitch < row || !fill.pitch.is_multiple_of(element))
    {
        return Err(Error::InvalidValue);
    }
    let span = (fill.height - 1).checked_mul(fill.pitch).and_then(|n| n.checked_add(row));
    let span = span.ok_or(Error::InvalidValue)?;
    let found = graph_memory::extent(context, fill.address, recorded);
    let (block, bytes) = found.ok_or(Error::InvalidValue)?;
    if span > bytes - (fill.address - block) {
        return Err(Error::InvalidValue);
    }
    Ok(fill)
}

/// Fills. The forms without a stream are asynchronous to the host too, except where the host can see the bytes (CUDA
/// driver API, API synchronisation behaviour).
fn set(
    at: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
    asynchronous: Option<usize>,
) -> Result {
    let stream = stream::get(asynchronous.unwrap_or(0))?;
    let context = stream.context()?;
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    let captures = stream.capture().is_some();
    let wanted = Fill { address: at, pitch, value, element, width, height };
    let fill = fill(&context, wanted, captures)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let kind = context.allocation_at(at).map(|(_, block)| block.kind);
    if asynchronous.is_none() && matches!(kind, Some(Kind::Host | Kind::Registered | Kind::Managed))
    {
        return stream.execute(Work::Fill(fill));
    }
    stream.enqueue(Work::Fill(fill)).map(|_| ())
}

functions! {
    cuMemcpy [4000 => cuMemcpy; 7000 => cuMemcpy_ptds] (to: Raw, from: Raw, bytes: usize) {
        let (context, stream) = own()?;
        finish(&stream, Copy3d::line(host(&context, to), host(&context, from), bytes as u64))
    }
    cuMemcpyAsync [4000 => cuMemcpyAsync; 7000 => cuMemcpyAsync_ptsz]
    (to: Raw, from: Raw, bytes: usize, stream: usize) {
        let stream = stream::get(stream)?;
        let context = stream.context()?;
        start(&stream, Copy3d::line(host(&context, to), host(&context, from), bytes as u64))
    }

    cuMemcpyHtoD [3020 => cuMemcpyHtoD_v2; 7000 => cuMemcpyHtoD_v2_ptds]
    (to: u64, from: Raw, bytes: usize) {
        let (context, stream) = own()?;
        finish(&stream, Copy3d::line(Side::Device(to), host(&context, from), bytes as u64))
    }
    cuMemcpyHtoDAsync [3020 => cuMemcpyHtoDAsync_v2; 7000 => cuMemcpyHtoDAsync_v2_ptsz]
    (to: u64, from: Raw, bytes: usize, stream: usize) {
        let stream = stream::get(stream)?;
        let from = host(&*stream.context()?, from);
        start(&stream, Copy3d::line(Side::Device(to), from, bytes as u64))
    }

    cuMemcpyDtoH [3020 => cuMemcpyDtoH_v2; 7000 => cuMemcpyDtoH_v2_ptds]
    (to: Raw, from: u64, bytes: usize) {
        let (context, stream) = own()?;
        finish(&stream, Copy3d::line(host(&context, to), Side::Device(from), bytes as u64))
    }
    cuMemcpyDtoHAsync [3020 => cuMemcpyDtoHAsync_v2; 7000 => cuMemcpyDtoHAsync_v2_ptsz]
    (to: Raw, from: u64, bytes: usize, stream: usize) {
        let stream = stream::get(stream)?;
        let to = host(&*stream.context()?, to);
        start(&stream, Copy3d::line(to, Side::Device(from), bytes as u64))
    }

    cuMemcpyDtoD [3020 => cuMemcpyDtoD_v2; 7000 => cuMemcpyDtoD_v2_ptds]
    (to: u64, from: u64, bytes: usize) {
        let (_, stream) = own()?;
        finish(&stream, Copy3d::line(Side::Device(to), Side::Device(from), bytes as u64))
    }
    cuMemcpyDtoDAsync [3020 => cuMemcpyDtoDAsync_v2; 7000 => cuMemcpyDtoDAsync_v2_ptsz]
    (to: u64, from: u64, bytes: usize, stream: usize) {
        start(&*stream::get(stream)?, Copy3d::line(Side::Device(to), Side::Device(from), bytes as u64))
    }

    cuMemcpyPeer [4000 => cuMemcpyPeer; 7000 => cuMemcpyPeer_ptds]
    (to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize) {
        peer(to, to_context, from, from_context, bytes)
    }
    cuMemcpyPeerAsync [4000 => cuMemcpyPeerAsync; 7000 => cuMemcpyPeerAsync_ptsz]
    (to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize, stream: usize) {
        let stream = stream::get(stream)?;
        if to_context == from_context && stream.context()?.handle == to_context {
            return start(&stream, Copy3d::line(Side::Device(to), Side::Device(from), bytes as u64));
        }
        stream.synchronize()?;
        peer(to, to_context, from, from_context, bytes)
    }

    cuMemcpyHtoA [3020 => cuMemcpyHtoA_v2; 7000 => cuMemcpyHtoA_v2_ptds]
    (array: usize, offset: usize, from: Raw, bytes: usize) {
        let (context, stream) = own()?;
        finish(&stream, to_array(array, offset, host(&context, from), bytes)?)
    }
    cuMemcpyHtoAAsync [3020 => cuMemcpyHtoAAsync_v2; 7000 => cuMemcpyHtoAAsync_v2_ptsz]
    (array: usize, offset: usize, from: Raw, bytes: usize, stream: usize) {
        let stream = stream::get(stream)?;
        let context = stream.context()?;
        start(&stream, to_array(array, offset, host(&context, from), bytes)?)
    }
    cuMemcpyAtoH [3020 => cuMemcpyAtoH_v2; 7000 => cuMemcpyAtoH_v2_ptds]
    (to: Raw, array: usize, offset: usize, bytes: usize) {
        let (context, stream) = own()?;
        finish(&stream, from_array(host(&context, to), array, offset, bytes)?)
    }
    cuMemcpyAtoHAsync [3020 => cuMemcpyAtoHAsync_v2; 7000 => cuMemcpyAtoHAsync_v2_ptsz]
    (to: Raw, array: usize, offset: usize, bytes: usize, stream: usize) {
        let stream = stream::get(stream)?;
        let to = host(&*stream.context()?, to);
        start(&stream, from_array(to, array, offset, bytes)?)
    }
    cuMemcpyDtoA [3020 => cuMemcpyDtoA_v2; 7000 => cuMemcpyDtoA_v2_ptds]
    (array: usize, offset: usize, from: u64, bytes: usize) {
        let (context, stream) = own()?;
        finish(&stream, to_array(array, offset, Side::Device(from), bytes)?)
    }
    cuMemcpyAtoD [3020 => cuMemcpyAtoD_v2; 7000 => cuMemcpyAtoD_v2_ptds]
    (to: u64, array: usize, offset: usize, bytes: usize) {
        let (_, stream) = own()?;
        finish(&stream, from_array(Side::Device(to), array, offset, bytes)?)
    }
    cuMemcpyAtoA [3020 => cuMemcpyAtoA_v2; 7000 => cuMemcpyAtoA_v2_ptds]
    (to: usize, to_offset: usize, from: usize, from_offset: usize, bytes: usize) {
        let (context, stream) = own()?;
        let mut copy = to_array(to, to_offset, Side::Array(texture::array(from)?), bytes)?;
        copy.from.at[0] = from_offset as u64;
        finish(&stream, copy)
    }

    cuMemcpy2D [3020 => cuMemcpy2D_v2; 7000 => cuMemcpy2D_v2_ptds] (copy: In<Copy2>) {
        let (context, stream) = own()?;
        finish(&stream, describe(&context, &three(&copy.get()?))?)
    }
    cuMemcpy2DUnaligned [3020 => cuMemcpy2DUnaligned_v2; 7000 => cuMemcpy2DUnaligned_v2_ptds] (copy: In<Copy2>) {
        let (context, stream) = own()?;
        finish(&stream, describe(&context, &three(&copy.get()?))?)
    }
    cuMemcpy2DAsync [3020 => cuMemcpy2DAsync_v2; 7000 => cuMemcpy2DAsync_v2_ptsz]
    (copy: In<Copy2>, stream: usize) {
        let stream = stream::get(stream)?;
        let copy = describe(&*stream.context()?, &three(&copy.get()?))?;
        start(&stream, copy)
    }
    cuMemcpy3D [3020 => cuMemcpy3D_v2; 7000 => cuMemcpy3D_v2_ptds] (copy: In<Copy3>) {
        let (context, stream) = own()?;
        finish(&stream, describe(&context, &copy.get()?)?)
    }
    cuMemcpy3DAsync [3020 => cuMemcpy3DAsync_v2; 7000 => cuMemcpy3DAsync_v2_ptsz]
    (copy: In<Copy3>, stream: usize) {
        let stream = stream::get(stream)?;
        let copy = describe(&*stream.context()?, &copy.get()?)?;
        start(&stream, copy)
    }
    cuMemcpy3DPeer [4000 => cuMemcpy3DPeer; 7000 => cuMemcpy3DPeer_ptds] (copy: In<Copy3>) {
        let (context, stream) = own()?;
        let copy = copy.get()?;
        own_contexts(&context, &copy)?;
        finish(&stream, describe(&context, &copy)?)
    }
    cuMemcpy3DPeerAsync [4000 => cuMemcpy3DPeerAsync; 7000 => cuMemcpy3DPeerAsync_ptsz]
    (copy: In<Copy3>, stream: usize) {
        let stream = stream::get(stream)?;
        let context = stream.context()?;
        let copy = copy.get()?;
        own_contexts(&context, &copy)?;
        start(&stream, describe(&context, &copy)?)
    }

    cuMemsetD8 [3020 => cuMemsetD8_v2; 7000 => cuMemsetD8_v2_ptds] (at: u64, value: u8, count: usize) {
        set(at, 0, u32::from(value), 1, count, 1, None)
    }
    cuMemsetD16 [3020 => cuMemsetD16_v2; 7000 => cuMemsetD16_v2_ptds] (at: u64, value: u16, count: usize) {
        set(at, 0, u32::from(value), 2, count, 1, None)
    }
    cuMemsetD32 [3020 => cuMemsetD32_v2; 7000 => cuMemsetD32_v2_ptds] (at: u64, value: u32, count: usize) {
        set(at, 0, value, 4, count, 1, None)
    }
    cuMemsetD2D8 [3020 => cuMemsetD2D8_v2; 7000 => cuMemsetD2D8_v2_ptds]
    (at: u64, pitch: usize, value: u8, width: usize, height: usize) {
        set(at, pitch, u32::from(value), 1, width, height, None)
    }
    cuMemsetD2D16 [3020 => cuMemsetD2D16_v2; 7000 => cuMemsetD2D16_v2_ptds]
    (at: u64, pitch: usize, value: u16, width: usize, height: usize) {
        set(at, pitch, u32::from(value), 2, width, height, None)
    }
    cuMemsetD2D32 [3020 => cuMemsetD2D32_v2; 7000 => cuMemsetD2D32_v2_ptds]
    (at: u64, pitch: usize, value: u32, width: usize, height: usize) {
        set(at, pitch, value, 4, width, height, None)
    }
    cuMemsetD8Async [3020 => cuMemsetD8Async; 7000 => cuMemsetD8Async_ptsz]
    (at: u64, value: u8, count: usize, stream: usize) {
        set(at, 0, u32::from(value), 1, count, 1, Some(stream))
    }
    cuMemsetD16Async [3020 => cuMemsetD16Async; 7000 => cuMemsetD16Async_ptsz]
    (at: u64, value: u16, count: usize, stream: usize) {
        set(at, 0, u32::from(value), 2, count, 1, Some(stream))
    }
    cuMemsetD32Async [3020 => cuMemsetD32Async; 7000 => cuMemsetD32Async_ptsz]
    (at: u64, value: u32, count: usize, stream: usize) {
        set(at, 0, value, 4, count, 1, Some(stream))
    }
    cuMemsetD2D8Async [3020 => cuMemsetD2D8Async; 7000 => cuMemsetD2D8Async_ptsz]
    (at: u64, pitch: usize, value: u8, width: usize, height: usize, stream: usize) {
        set(at, pitch, u32::from(value), 1, width, height, Some(stream))
    }
    cuMemsetD2D16Async [3020 => cuMemsetD2D16Async; 7000 => cuMemsetD2D16Async_ptsz]
    (at: u64, pitch: usize, value: u16, width: usize, height: usize, stream: usize) {
        set(at, pitch, u32::from(value), 2, width, height, Some(stream))
    }
    cuMemsetD2D32Async [3020 => cuMemsetD2D32Async; 7000 => cuMemsetD2D32Async_ptsz]
    (at: u64, pitch: usize, value: u32, width: usize, height: usize, stream: usize) {
        set(at, pitch, value, 4, width, height, Some(stream))
    }
}

/// Copies between contexts (or inside one) after everything in both is done.
fn peer(to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize) -> Result {
    let (to_context, from_context) = (context::get(to_context)?, context::get(from_context)?);
    to_context.check()?;
    from_context.check()?;
    from_context.synchronize();
    to_context.synchronize();
    let (source, target) = (from_context.device.memory(), to_context.device.memory());
    let mut block = vec![0; bytes.min(1 << 20)];
    let mut done = 0;
    while done < bytes {
        let n = (bytes - done).min(block.len());
        source.read(from + done as u64, &mut block[..n])?;
        target.write(to + done as u64, &block[..n])?;
        done += n;
    }
    Ok(())
}

/// Both contexts of a peer copy must be the current one: arrays and pitches of another are not reached.
fn own_contexts(context: &Context, copy: &Copy3) -> Result {
    for handle in [copy.src_context, copy.dst_context] {
        if handle != 0 && context::get(handle)?.handle != context.handle {
            return Err(Error::NotSupported);
        }
    }
    Ok(())
}
