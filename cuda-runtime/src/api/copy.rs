//! Copies and fills.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::array::{element_bytes, row_bytes};
use super::forward;
use crate::driver::Driver;
use crate::error::{Error, INVALID_DIRECTION, INVALID_VALUE, Result};
use crate::registry;
use crate::state::{done, enter};
use crate::types::*;

/// `cudaMemcpyKind`.
const HOST_TO_HOST: i32 = 0;
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;
const DEFAULT: i32 = 4;

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// Where the source and the destination of a copy are.
fn sides(kind: i32) -> Result<(u32, u32)> {
    Ok(match kind {
        HOST_TO_HOST => (HOST, HOST),
        HOST_TO_DEVICE => (HOST, DEVICE),
        DEVICE_TO_HOST => (DEVICE, HOST),
        DEVICE_TO_DEVICE => (DEVICE, DEVICE),
        DEFAULT => (UNIFIED, UNIFIED),
        _ => return Err(INVALID_DIRECTION),
    })
}

forward! {
    cudaMemset(pointer: Pointer, value: i32, bytes: usize) => cuMemsetD8_v2(pointer, value as u8, bytes);
    cudaMemsetAsync(pointer: Pointer, value: i32, bytes: usize, stream: Handle) => cuMemsetD8Async(pointer, value as u8, bytes, stream);
    cudaMemset2D(pointer: Pointer, pitch: usize, value: i32, width: usize, height: usize) => cuMemsetD2D8_v2(pointer, pitch, value as u8, width, height);
    cudaMemset2DAsync(pointer: Pointer, pitch: usize, value: i32, width: usize, height: usize, stream: Handle) => cuMemsetD2D8Async(pointer, pitch, value as u8, width, height, stream);
}

/// A copy of bytes; with a stream it is asynchronous.
fn bytes(to: Pointer, from: Pointer, bytes: usize, kind: i32, stream: Option<Handle>) -> Result {
    let d = enter()?;
    if bytes == 0 {
        return sides(kind).map(|_| ());
    }
    // SAFETY: the driver judges device addresses; host ones are the caller's promise.
    Error::check(unsafe {
        match (kind, stream) {
            (HOST_TO_DEVICE, None) => (d.cuMemcpyHtoD_v2)(to, from, bytes),
            (HOST_TO_DEVICE, Some(s)) => (d.cuMemcpyHtoDAsync_v2)(to, from, bytes, s),
            (DEVICE_TO_HOST, None) => (d.cuMemcpyDtoH_v2)(to, from, bytes),
            (DEVICE_TO_HOST, Some(s)) => (d.cuMemcpyDtoHAsync_v2)(to, from, bytes, s),
            (DEVICE_TO_DEVICE, None) => (d.cuMemcpyDtoD_v2)(to, from, bytes),
            (DEVICE_TO_DEVICE, Some(s)) => (d.cuMemcpyDtoDAsync_v2)(to, from, bytes, s),
            (HOST_TO_HOST | DEFAULT, None) => (d.cuMemcpy)(to, from, bytes),
            (HOST_TO_HOST | DEFAULT, Some(s)) => (d.cuMemcpyAsync)(to, from, bytes, s),
            _ => return Err(INVALID_DIRECTION),
        }
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpy(
    to: Pointer,
    from: Pointer,
    count: usize,
    kind: i32,
) -> i32 {
    done(bytes(to, from, count, kind, None))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyAsync(
    to: Pointer,
    from: Pointer,
    count: usize,
    kind: i32,
    stream: Handle,
) -> i32 {
    done(bytes(to, from, count, kind, Some(stream)))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyPeer(
    to: Pointer,
    _to_device: i32,
    from: Pointer,
    _from_device: i32,
    count: usize,
) -> i32 {
    done(bytes(to, from, count, DEVICE_TO_DEVICE, None))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyPeerAsync(
    to: Pointer,
    _to_device: i32,
    from: Pointer,
    _from_device: i32,
    count: usize,
    stream: Handle,
) -> i32 {
    done(bytes(to, from, count, DEVICE_TO_DEVICE, Some(stream)))
}

/// The address of `count` bytes at `offset` in a variable.
fn place(symbol: *const c_void, count: usize, offset: usize) -> Result<Pointer> {
    let (address, size) = registry::variable(symbol.addr())?;
    match offset.checked_add(count) {
        Some(end) if end <= size => Ok(address.wrapping_byte_add(offset)),
        _ => Err(INVALID_VALUE),
    }
}

fn to_symbol(
    symbol: *const c_void,
    from: Pointer,
    count: usize,
    offset: usize,
    kind: i32,
    stream: Option<Handle>,
) -> Result {
    if !matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEFAULT) {
        return Err(INVALID_DIRECTION);
    }
    bytes(place(symbol, count, offset)?, from, count, kind, stream)
}

fn from_symbol(
    to: Pointer,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: i32,
    stream: Option<Handle>,
) -> Result {
    if !matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEFAULT) {
        return Err(INVALID_DIRECTION);
    }
    bytes(to, place(symbol, count, offset)?, count, kind, stream)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    from: Pointer,
    count: usize,
    offset: usize,
    kind: i32,
) -> i32 {
    done(to_symbol(symbol, from, count, offset, kind, None))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    from: Pointer,
    count: usize,
    offset: usize,
    kind: i32,
    stream: Handle,
) -> i32 {
    done(to_symbol(symbol, from, count, offset, kind, Some(stream)))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyFromSymbol(
    to: Pointer,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: i32,
) -> i32 {
    done(from_symbol(to, symbol, count, offset, kind, None))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyFromSymbolAsync(
    to: Pointer,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: i32,
    stream: Handle,
) -> i32 {
    done(from_symbol(to, symbol, count, offset, kind, Some(stream)))
}

/// One side of a copy of several rows.
#[derive(Copy, Clone)]
pub(super) enum Side {
    /// Address, bytes per row, rows per slice.
    Memory(Pointer, usize, usize),
    Array(Handle),
}

/// A copy of boxes: positions in bytes, rows and slices.
pub(super) struct Copy {
    pub from: Side,
    pub from_at: Extent,
    pub to: Side,
    pub to_at: Extent,
    /// Bytes, rows, slices.
    pub size: Extent,
    pub kind: i32,
    pub stream: Option<Handle>,
}

impl Copy {
    /// The driver's form of it.
    pub(super) fn describe(&self) -> Result<DriverCopy> {
        let (from_type, to_type) = sides(self.kind)?;
        let Extent { width, height, depth } = self.size;
        let parts = |side: Side, memory: u32| match side {
            Side::Memory(p, pitch, rows) if memory == HOST => (HOST, p, null_mut(), 0, pitch, rows),
            Side::Memory(p, pitch, rows) => (memory, null_mut(), p, 0, pitch, rows),
            Side::Array(handle) => (ARRAY, null_mut(), null_mut(), handle, 0, 0),
        };
        let from = parts(self.from, from_type);
        let to = parts(self.to, to_type);
        Ok(DriverCopy {
            src_x_bytes: self.from_at.width,
            src_y: self.from_at.height,
            src_z: self.from_at.depth,
            src_lod: 0,
            src_type: from.0,
            src_host: from.1,
            src_device: from.2,
            src_array: from.3,
            reserved0: 0,
            src_pitch: from.4,
            src_height: from.5,
            dst_x_bytes: self.to_at.width,
            dst_y: self.to_at.height,
            dst_z: self.to_at.depth,
            dst_lod: 0,
            dst_type: to.0,
            dst_host: to.1,
            dst_device: to.2,
            dst_array: to.3,
            reserved1: 0,
            dst_pitch: to.4,
            dst_height: to.5,
            width_bytes: width,
            height,
            depth,
        })
    }

    pub(super) fn run(&self, d: &Driver) -> Result {
        let copy = self.describe()?;
        if copy.width_bytes == 0 || copy.height == 0 || copy.depth == 0 {
            return Ok(());
        }
        // SAFETY: the driver judges device addresses and arrays; host addresses are the caller's promise.
        Error::check(unsafe {
            match self.stream {
                None => (d.cuMemcpy3D_v2)(&copy),
                Some(stream) => (d.cuMemcpy3DAsync_v2)(&copy, stream),
            }
        })
    }
}

/// A copy of `height` rows of `width` bytes.
fn rows(
    (to, to_at): (Side, (usize, usize)),
    (from, from_at): (Side, (usize, usize)),
    (width, height): (usize, usize),
    kind: i32,
    stream: Option<Handle>,
) -> i32 {
    let at = |(x, y)| Extent { width: x, height: y, depth: 0 };
    let size = Extent { width, height, depth: 1 };
    let copy = Copy { from, from_at: at(from_at), to, to_at: at(to_at), size, kind, stream };
    done(enter().and_then(|d| copy.run(d)))
}

/// The two-dimensional copies, each with and without a stream.
macro_rules! copies {
    ($($name:ident $name_async:ident($($arg:ident: $ty:ty),*) => $to:expr, $from:expr, $size:expr, $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            rows($to, $from, $size, $kind, None)
        }
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name_async($($arg: $ty,)* stream: Handle) -> i32 {
            rows($to, $from, $size, $kind, Some(stream))
        }
    )*};
}
copies! {
    cudaMemcpy2D cudaMemcpy2DAsync(to: Pointer, to_pitch: usize, from: Pointer, from_pitch: usize, width: usize, height: usize, kind: i32)
        => (Side::Memory(to, to_pitch, height), (0, 0)), (Side::Memory(from, from_pitch, height), (0, 0)), (width, height), kind;
    cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync(to: Handle, x: usize, y: usize, from: Pointer, pitch: usize, width: usize, height: usize, kind: i32)
        => (Side::Array(to), (x, y)), (Side::Memory(from, pitch, height), (0, 0)), (width, height), kind;
    cudaMemcpy2DFromArray cudaMemcpy2DFromArrayAsync(to: Pointer, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize, kind: i32)
        => (Side::Memory(to, pitch, height), (0, 0)), (Side::Array(from), (x, y)), (width, height), kind;
}

/// A copy between memory and an array from a place on: to the end of its row, then from the start of the next one. The
/// rows of memory lie one behind the other.
struct Linear {
    memory: Pointer,
    array: Handle,
    at: (usize, usize),
    count: usize,
    kind: i32,
    into_array: bool,
    stream: Option<Handle>,
}

impl Linear {
    fn run(&self) -> Result {
        let Linear { memory, array, at: (x, y), count, kind, into_array, stream } = *self;
        let d = enter()?;
        let row = row_bytes(d, array)?;
        if count == 0 {
            return sides(kind).map(|_| ());
        }
        if x >= row {
            return Err(INVALID_VALUE);
        }
        let first = count.min(row - x);
        let (whole, last) = ((count - first) / row, (count - first) % row);
        // Place in the array, bytes of a row, rows.
        let parts = [((x, y), first, 1), ((0, y + 1), row, whole), ((0, y + 1 + whole), last, 1)];
        let mut behind = memory;
        for ((x, y), width, height) in parts {
            let position = |width, height| Extent { width, height, depth: 0 };
            let outside = (Side::Memory(behind, width, height), position(0, 0));
            let inside = (Side::Array(array), position(x, y));
            let ((to, to_at), (from, from_at)) =
                if into_array { (inside, outside) } else { (outside, inside) };
            let size = Extent { width, height, depth: 1 };
            Copy { from, from_at, to, to_at, size, kind, stream }.run(d)?;
            behind = behind.wrapping_byte_add(width * height);
        }
        Ok(())
    }
}

/// The linear copies, each with and without a stream.
macro_rules! linear {
    ($($name:ident $name_async:ident($($arg:ident: $ty:ty),*) => $memory:ident, $array:ident, ($x:ident, $y:ident), $count:ident, $kind:ident, $into_array:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            let (memory, array, at, count, kind) = ($memory, $array, ($x, $y), $count, $kind);
            done(Linear { memory, array, at, count, kind, into_array: $into_array, stream: None }.run())
        }
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name_async($($arg: $ty,)* stream: Handle) -> i32 {
            let (memory, array, at, count, kind) = ($memory, $array, ($x, $y), $count, $kind);
            done(Linear { memory, array, at, count, kind, into_array: $into_array, stream: Some(stream) }.run())
        }
    )*};
}
linear! {
    cudaMemcpyToArray cudaMemcpyToArrayAsync(to: Handle, x: usize, y: usize, from: Pointer, count: usize, kind: i32)
        => from, to, (x, y), count, kind, true;
    cudaMemcpyFromArray cudaMemcpyFromArrayAsync(to: Pointer, from: Handle, x: usize, y: usize, count: usize, kind: i32)
        => to, from, (x, y), count, kind, false;
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpy2DArrayToArray(
    to: Handle,
    to_x: usize,
    to_y: usize,
    from: Handle,
    from_x: usize,
    from_y: usize,
    width: usize,
    height: usize,
    _kind: i32,
) -> i32 {
    let (to, from) = ((Side::Array(to), (to_x, to_y)), (Side::Array(from), (from_x, from_y)));
    rows(to, from, (width, height), DEVICE_TO_DEVICE, None)
}

/// A copy of `count` bytes, for graphs.
pub(super) fn line(to: Pointer, from: Pointer, count: usize, kind: i32) -> Copy {
    let (at, size) = (Extent::default(), Extent { width: count, height: 1, depth: 1 });
    let (from, to) = (Side::Memory(from, count, 1), Side::Memory(to, count, 1));
    Copy { from, from_at: at, to, to_at: at, size, kind, stream: None }
}

/// `cudaMemcpy3DParms` counts in elements where an array takes part.
///
/// # Safety
/// `params` is null or points to parameters.
pub(super) unsafe fn boxes(params: *const Copy3D, stream: Option<Handle>) -> Result<Copy> {
    // SAFETY: as the caller says.
    let p = unsafe { params.as_ref() }.ok_or(INVALID_VALUE)?;
    let d = enter()?;
    let side = |array: Handle, pointer: PitchedPtr| -> Result<(Side, usize)> {
        match (array, pointer.ptr.is_null()) {
            (0, false) => Ok((Side::Memory(pointer.ptr, pointer.pitch, pointer.ysize), 1)),
            (0, true) => Err(INVALID_VALUE),
            (array, true) => Ok((Side::Array(array), element_bytes(d, array)?)),
            _ => Err(INVALID_VALUE),
        }
    };
    let (from, from_bytes) = side(p.src_array, p.src_ptr)?;
    let (to, to_bytes) = side(p.dst_array, p.dst_ptr)?;
    let scaled = |e: Extent, n: usize| Extent { width: e.width * n, ..e };
    let element = from_bytes.max(to_bytes);
    Ok(Copy {
        from,
        from_at: scaled(p.src_pos, from_bytes),
        to,
        to_at: scaled(p.dst_pos, to_bytes),
        size: scaled(p.extent, element),
        kind: p.kind,
        stream,
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpy3D(params: *const Copy3D) -> i32 {
    // SAFETY: the caller's parameters.
    done(unsafe { boxes(params, None) }.and_then(|copy| copy.run(enter()?)))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpy3DAsync(params: *const Copy3D, stream: Handle) -> i32 {
    // SAFETY: the caller's parameters.
    done(unsafe { boxes(params, Some(stream)) }.and_then(|copy| copy.run(enter()?)))
}

/// Fills a box of pitched memory, slice by slice.
fn fill(pitched: PitchedPtr, value: i32, extent: Extent, stream: Option<Handle>) -> Result {
    let d = enter()?;
    let Extent { width, height, depth } = extent;
    if width == 0 || height == 0 {
        return Ok(());
    }
    for slice in 0..depth {
        let at = pitched.ptr.wrapping_byte_add(slice * pitched.pitch * pitched.ysize);
        // SAFETY: the driver judges the addresses.
        Error::check(unsafe {
            match stream {
                None => (d.cuMemsetD2D8_v2)(at, pitched.pitch, value as u8, width, height),
                Some(s) => (d.cuMemsetD2D8Async)(at, pitched.pitch, value as u8, width, height, s),
            }
        })?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemset3D(
    pitched: PitchedPtr,
    value: i32,
    extent: Extent,
) -> i32 {
    done(fill(pitched, value, extent, None))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemset3DAsync(
    pitched: PitchedPtr,
    value: i32,
    extent: Extent,
    stream: Handle,
) -> i32 {
    done(fill(pitched, value, extent, Some(stream)))
}
