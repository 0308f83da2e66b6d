//! Arrays and the formats of their elements.

use super::put;
use crate::driver::Driver;
use crate::error::{Error, INVALID_CHANNELS, INVALID_VALUE, Result};
use crate::state::{done, enter};
use crate::types::*;

/// `cudaChannelFormatKind`.
const SIGNED: i32 = 0;
const UNSIGNED: i32 = 1;
const FLOAT: i32 = 2;

/// `CUarray_format` of kind and bits.
const FORMATS: &[(i32, i32, u32)] = &[
    (UNSIGNED, 8, 0x01),
    (UNSIGNED, 16, 0x02),
    (UNSIGNED, 32, 0x03),
    (SIGNED, 8, 0x08),
    (SIGNED, 16, 0x09),
    (SIGNED, 32, 0x0a),
    (FLOAT, 16, 0x10),
    (FLOAT, 32, 0x20),
];

/// The driver's format and number of channels.
pub(super) fn format(channels: &Channels) -> Result<(u32, u32)> {
    let Channels { x, y, z, w, kind } = *channels;
    let count = [x, y, z, w].iter().take_while(|bits| **bits != 0).count();
    let given = [x, y, z, w];
    if count == 0
        || given[..count].iter().any(|b| *b != x)
        || given[count..].iter().any(|b| *b != 0)
    {
        return Err(INVALID_CHANNELS);
    }
    let found = FORMATS.iter().find(|f| (f.0, f.1) == (kind, x)).ok_or(INVALID_CHANNELS)?;
    match count {
        3 => Err(INVALID_CHANNELS),
        n => Ok((found.2, n as u32)),
    }
}

/// The runtime's description of the driver's format.
pub(super) fn channels(format: u32, count: u32) -> Result<Channels> {
    let found = FORMATS.iter().find(|f| f.2 == format).ok_or(INVALID_CHANNELS)?;
    let bits = |n: u32| if n < count { found.1 } else { 0 };
    Ok(Channels { x: bits(0), y: bits(1), z: bits(2), w: bits(3), kind: found.0 })
}

fn descriptor(d: &Driver, array: Handle) -> Result<DriverArray> {
    let mut found = DriverArray::default();
    // SAFETY: a descriptor is written.
    Error::check(unsafe { (d.cuArray3DGetDescriptor_v2)(&mut found, array) })?;
    Ok(found)
}

/// Bytes of one element.
pub(super) fn element_bytes(d: &Driver, array: Handle) -> Result<usize> {
    let found = descriptor(d, array)?;
    let Channels { x, y, z, w, .. } = channels(found.format, found.channels)?;
    Ok((x + y + z + w) as usize / 8)
}

/// Bytes of a row.
pub(super) fn row_bytes(d: &Driver, array: Handle) -> Result<usize> {
    Ok(descriptor(d, array)?.width * element_bytes(d, array)?)
}

/// # Safety
/// `array` may be null or written, `described` null or read.
unsafe fn create(
    array: *mut Handle,
    described: *const Channels,
    extent: Extent,
    flags: u32,
) -> Result {
    // SAFETY: as the caller says.
    let (format, channels) = format(unsafe { described.as_ref() }.ok_or(INVALID_VALUE)?)?;
    let Extent { width, height, depth } = extent;
    let descriptor = DriverArray { width, height, depth, format, channels, flags };
    let mut made = 0;
    // SAFETY: a handle is written.
    Error::check(unsafe { (enter()?.cuArray3DCreate_v2)(&mut made, &descriptor) })?;
    // SAFETY: as the caller says.
    unsafe { put(array, made) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMallocArray(
    array: *mut Handle,
    described: *const Channels,
    width: usize,
    height: usize,
    flags: u32,
) -> i32 {
    // SAFETY: the caller's pointers.
    done(unsafe { create(array, described, Extent { width, height, depth: 0 }, flags) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMalloc3DArray(
    array: *mut Handle,
    described: *const Channels,
    extent: Extent,
    flags: u32,
) -> i32 {
    // SAFETY: the caller's pointers.
    done(unsafe { create(array, described, extent, flags) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaFreeArray(array: Handle) -> i32 {
    if array == 0 {
        return 0;
    }
    // SAFETY: the driver judges the handle.
    done(enter().and_then(|d| Error::check(unsafe { (d.cuArrayDestroy)(array) })))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMallocMipmappedArray(
    array: *mut Handle,
    described: *const Channels,
    extent: Extent,
    levels: u32,
    flags: u32,
) -> i32 {
    let make = || -> Result {
        // SAFETY: null or the caller's description.
        let (format, channels) = format(unsafe { described.as_ref() }.ok_or(INVALID_VALUE)?)?;
        let Extent { width, height, depth } = extent;
        let descriptor = DriverArray { width, height, depth, format, channels, flags };
        let mut made = 0;
        // SAFETY: a handle is written.
        Error::check(unsafe { (enter()?.cuMipmappedArrayCreate)(&mut made, &descriptor, levels) })?;
        // SAFETY: the caller's place for the result.
        unsafe { put(array, made) }
    };
    done(make())
}

super::forward! {
    cudaGetMipmappedArrayLevel(array: *mut Handle, mipmapped: Handle, level: u32) => cuMipmappedArrayGetLevel(array, mipmapped, level);
    cudaFreeMipmappedArray(mipmapped: Handle) => cuMipmappedArrayDestroy(mipmapped);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaArrayGetInfo(
    described: *mut Channels,
    extent: *mut Extent,
    flags: *mut u32,
    array: Handle,
) -> i32 {
    let read = || -> Result {
        let found = descriptor(enter()?, array)?;
        let size = Extent { width: found.width, height: found.height, depth: found.depth };
        // SAFETY: each is null or the caller's place for the result.
        unsafe {
            if !described.is_null() {
                described.write(channels(found.format, found.channels)?);
            }
            if !extent.is_null() {
                extent.write(size);
            }
            if !flags.is_null() {
                flags.write(found.flags);
            }
        }
        Ok(())
    };
    done(read())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetChannelDesc(described: *mut Channels, array: Handle) -> i32 {
    let read = || -> Result {
        let found = descriptor(enter()?, array)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(described, channels(found.format, found.channels)?) }
    };
    done(read())
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: i32,
) -> Channels {
    Channels { x, y, z, w, kind }
}
