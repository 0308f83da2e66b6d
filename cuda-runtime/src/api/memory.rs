//! Allocations, host memory, and what a pointer is.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::{forward, put};
use crate::error::{Error, INVALID_VALUE, Result};
use crate::registry;
use crate::state::{device, done, enter};
use crate::types::*;

/// `CU_MEMHOSTALLOC_PORTABLE` etc. have the runtime's values.
const ELEMENT: u32 = 4;

forward! {
    cudaMallocManaged(pointer: *mut Pointer, bytes: usize, flags: u32) => cuMemAllocManaged(pointer, bytes, flags);
    cudaHostAlloc(pointer: *mut Pointer, bytes: usize, flags: u32) => cuMemHostAlloc(pointer, bytes, flags);
    cudaMallocHost(pointer: *mut Pointer, bytes: usize) => cuMemHostAlloc(pointer, bytes, 0);
    cudaHostRegister(pointer: Pointer, bytes: usize, flags: u32) => cuMemHostRegister_v2(pointer, bytes, flags);
    cudaHostUnregister(pointer: Pointer) => cuMemHostUnregister(pointer);
    cudaHostGetDevicePointer(device: *mut Pointer, host: Pointer, flags: u32) => cuMemHostGetDevicePointer_v2(device, host, flags);
    cudaHostGetFlags(flags: *mut u32, host: Pointer) => cuMemHostGetFlags(flags, host);
    cudaMemGetInfo(free: *mut usize, total: *mut usize) => cuMemGetInfo_v2(free, total);
    cudaIpcGetMemHandle(name: *mut InterprocessName, pointer: Pointer) => cuIpcGetMemHandle(name, pointer);
    cudaIpcOpenMemHandle(pointer: *mut Pointer, name: InterprocessName, flags: u32) => cuIpcOpenMemHandle_v2(pointer, name, flags);
    cudaIpcCloseMemHandle(pointer: Pointer) => cuIpcCloseMemHandle(pointer);
    cudaIpcGetEventHandle(name: *mut InterprocessName, event: Handle) => cuIpcGetEventHandle(name, event);
    cudaIpcOpenEventHandle(event: *mut Handle, name: InterprocessName) => cuIpcOpenEventHandle(event, name);
    cudaMemRangeGetAttribute(data: *mut c_void, size: usize, attribute: i32, pointer: Pointer, bytes: usize) => cuMemRangeGetAttribute(data, size, attribute, pointer, bytes);
}

#[cfg(not(cuda12))]
forward! {
    cudaMemPrefetchAsync(pointer: Pointer, bytes: usize, location: MemLocation, flags: u32, stream: Handle) => cuMemPrefetchAsync_v2(pointer, bytes, location, flags, stream);
    cudaMemAdvise(pointer: Pointer, bytes: usize, advice: i32, location: MemLocation) => cuMemAdvise_v2(pointer, bytes, advice, location);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMalloc(pointer: *mut Pointer, bytes: usize) -> i32 {
    done(enter().and_then(|d| {
        let mut address = null_mut();
        if bytes > 0 {
            // SAFETY: an address is written.
            Error::check(unsafe { (d.cuMemAlloc_v2)(&mut address, bytes) })?;
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(pointer, address) }
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaFree(pointer: Pointer) -> i32 {
    done(enter().and_then(|d| {
        if pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the driver judges the pointer.
        Error::check(unsafe { (d.cuMemFree_v2)(pointer) })
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaFreeHost(pointer: Pointer) -> i32 {
    done(enter().and_then(|d| {
        if pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the driver judges the pointer.
        Error::check(unsafe { (d.cuMemFreeHost)(pointer) })
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMallocPitch(
    pointer: *mut Pointer,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> i32 {
    done(enter().and_then(|d| {
        let (mut address, mut bytes) = (null_mut(), 0);
        if width > 0 && height > 0 {
            // SAFETY: both are written.
            Error::check(unsafe {
                (d.cuMemAllocPitch_v2)(&mut address, &mut bytes, width, height, ELEMENT)
            })?;
        }
        // SAFETY: the caller's places for the results.
        unsafe { put(pitch, bytes).and_then(|()| put(pointer, address)) }
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMalloc3D(pitched: *mut PitchedPtr, extent: Extent) -> i32 {
    done(enter().and_then(|d| {
        let Extent { width, height, depth } = extent;
        let (mut ptr, mut pitch) = (null_mut(), 0);
        let rows = height.checked_mul(depth).ok_or(INVALID_VALUE)?;
        if width > 0 && rows > 0 {
            // SAFETY: both are written.
            Error::check(unsafe {
                (d.cuMemAllocPitch_v2)(&mut ptr, &mut pitch, width, rows, ELEMENT)
            })?;
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(pitched, PitchedPtr { ptr, pitch, xsize: width, ysize: height }) }
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetSymbolAddress(
    pointer: *mut Pointer,
    symbol: *const c_void,
) -> i32 {
    done(registry::variable(symbol.addr()).and_then(|(address, _)| {
        // SAFETY: the caller's place for the result.
        unsafe { put(pointer, address) }
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetSymbolSize(size: *mut usize, symbol: *const c_void) -> i32 {
    done(registry::variable(symbol.addr()).and_then(|(_, bytes)| {
        // SAFETY: the caller's place for the result.
        unsafe { put(size, bytes) }
    }))
}

/// `CU_POINTER_ATTRIBUTE_*`.
const MEMORY_TYPE: i32 = 2;
const DEVICE_POINTER: i32 = 3;
const HOST_POINTER: i32 = 4;
const IS_MANAGED: i32 = 8;
const DEVICE_ORDINAL: i32 = 9;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaPointerGetAttributes(
    attributes: *mut PointerAttributes,
    pointer: Pointer,
) -> i32 {
    let read = || -> Result {
        let d = enter()?;
        let number = |attribute| {
            let mut value = 0u32;
            // SAFETY: this attribute is a 32-bit number.
            let code =
                unsafe { (d.cuPointerGetAttribute)((&raw mut value).cast(), attribute, pointer) };
            Error::check(code).map(|()| value)
        };
        let address = |attribute| {
            let mut value: Pointer = null_mut();
            // SAFETY: this attribute is an address.
            let code =
                unsafe { (d.cuPointerGetAttribute)((&raw mut value).cast(), attribute, pointer) };
            if code == 0 { value } else { null_mut() }
        };
        let mut found = PointerAttributes {
            kind: 0,
            device: -2,
            device_pointer: null_mut(),
            host_pointer: pointer,
            reserved: [0; 8],
        };
        if let Ok(kind) = number(MEMORY_TYPE) {
            // `CU_POINTER_ATTRIBUTE_IS_MANAGED` is a byte; little-endian, so the low one.
            let managed = number(IS_MANAGED).is_ok_and(|m| m & 0xff != 0);
            found.kind = if managed { 3 } else { kind as i32 };
            found.device = number(DEVICE_ORDINAL).map_or(device(), |n| n as i32);
            found.device_pointer = address(DEVICE_POINTER);
            found.host_pointer = address(HOST_POINTER);
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(attributes, found) }
    };
    done(read())
}
