//! What `libcudart.so.12` has otherwise than `libcudart.so.13`: older forms of functions, and `cudaDeviceProp` with the
//! fields that CUDA 13 took out.

use std::ffi::c_char;
use std::mem::offset_of;

use super::device::{attribute, properties};
use super::{forward, put};
use crate::driver::driver;
use crate::error::{INVALID_VALUE, Result};
use crate::state::done;
use crate::types::*;

/// A place as CUDA 12 gives it: a device, or -1 for the host.
fn location(device: i32) -> MemLocation {
    const DEVICE: i32 = 1;
    const HOST: i32 = 2;
    MemLocation { kind: if device < 0 { HOST } else { DEVICE }, id: device.max(0) }
}

forward! {
    cudaMemPrefetchAsync(pointer: Pointer, bytes: usize, device: i32, stream: Handle) => cuMemPrefetchAsync_v2(pointer, bytes, location(device), 0, stream);
    cudaMemPrefetchAsync_v2(pointer: Pointer, bytes: usize, place: MemLocation, flags: u32, stream: Handle) => cuMemPrefetchAsync_v2(pointer, bytes, place, flags, stream);
    cudaMemAdvise(pointer: Pointer, bytes: usize, advice: i32, device: i32) => cuMemAdvise_v2(pointer, bytes, advice, location(device));
    cudaMemAdvise_v2(pointer: Pointer, bytes: usize, advice: i32, place: MemLocation) => cuMemAdvise_v2(pointer, bytes, advice, place);
    cudaEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) => cuEventElapsedTime(milliseconds, start, end);
    cudaThreadSynchronize() => cuCtxSynchronize();
}

/// `cudaDeviceProp` of CUDA 12; names as in [`DeviceProp`], with the fields that are gone.
#[repr(C)]
#[derive(Copy, Clone)]
pub(super) struct DeviceProp12 {
    name: [c_char; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: u32,
    global_memory: usize,
    shared_per_block: usize,
    registers_per_block: i32,
    warp_size: i32,
    pitch: usize,
    max_threads_per_block: i32,
    max_threads: [i32; 3],
    max_grid: [i32; 3],
    clock_rate: i32,
    const_memory: usize,
    major: i32,
    minor: i32,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    device_overlap: i32,
    multiprocessors: i32,
    timeout: i32,
    integrated: i32,
    map_host: i32,
    compute_mode: i32,
    texture_limits: [i32; 40],
    surface_alignment: usize,
    features: [i32; 16],
    shared_per_multiprocessor: usize,
    more: [i32; 12],
    shared_optin: usize,
    paging: [i32; 4],
    reserved_shared: usize,
    /// `hostRegisterSupported` to `unifiedFunctionPointers`.
    rest: [i32; 13],
    reserved: [i32; 63],
}

/// As a C++ compiler finds them in the headers of CUDA 12.9.
const _: () = {
    assert!(size_of::<DeviceProp12>() == 1032);
    assert!(offset_of!(DeviceProp12, surface_alignment) == 568);
    assert!(offset_of!(DeviceProp12, rest) == 728);
};

/// `CUdevice_attribute` of fields that CUDA 13 has not: their places in the lists, and numbers.
const LINEAR_TEXTURE: (usize, i32) = (2, 69);
const MEMORY_CLOCK: (usize, i32) = (8, 36);
const SINGLE_TO_DOUBLE: (usize, i32) = (5, 87);
const MULTI_DEVICE: (usize, i32) = (11, 96);

/// A list with one number more.
fn with<const N: usize>(list: &[i32], at: usize, value: i32) -> [i32; N] {
    let old = |i: usize| list.get(i).copied().unwrap_or(0);
    std::array::from_fn(|i| match i.cmp(&at) {
        std::cmp::Ordering::Less => old(i),
        std::cmp::Ordering::Equal => value,
        std::cmp::Ordering::Greater => old(i - 1),
    })
}

fn properties12(device: i32) -> Result<DeviceProp12> {
    let (p, d) = (properties(device)?, driver()?);
    let get = |n: i32| attribute(d, n, device).unwrap_or(0);
    let more: [i32; 11] = with(&p.more, SINGLE_TO_DOUBLE.0, get(SINGLE_TO_DOUBLE.1));
    Ok(DeviceProp12 {
        name: p.name,
        uuid: p.uuid,
        luid: p.luid,
        luid_mask: p.luid_mask,
        global_memory: p.global_memory,
        shared_per_block: p.shared_per_block,
        registers_per_block: p.registers_per_block,
        warp_size: p.warp_size,
        pitch: p.pitch,
        max_threads_per_block: p.max_threads_per_block,
        max_threads: p.max_threads,
        max_grid: p.max_grid,
        clock_rate: get(13),
        const_memory: p.const_memory,
        major: p.major,
        minor: p.minor,
        texture_alignment: p.texture_alignment,
        texture_pitch_alignment: p.texture_pitch_alignment,
        device_overlap: get(15),
        multiprocessors: p.multiprocessors,
        timeout: get(17),
        integrated: p.integrated,
        map_host: p.map_host,
        compute_mode: get(20),
        texture_limits: with(&p.texture_limits, LINEAR_TEXTURE.0, get(LINEAR_TEXTURE.1)),
        surface_alignment: p.surface_alignment,
        features: with(&p.features, MEMORY_CLOCK.0, get(MEMORY_CLOCK.1)),
        shared_per_multiprocessor: p.shared_per_multiprocessor,
        more: with(&more, MULTI_DEVICE.0, get(MULTI_DEVICE.1)),
        shared_optin: p.shared_optin,
        paging: p.paging,
        reserved_shared: p.reserved_shared,
        rest: std::array::from_fn(|i| p.rest[i]),
        reserved: [0; 63],
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDeviceProperties_v2(
    to: *mut DeviceProp12,
    device: i32,
) -> i32 {
    // SAFETY: the caller's place for the result.
    done(properties12(device).and_then(|p| unsafe { put(to, p) }))
}

/// The form of before CUDA 12, whose structure ends where [`DeviceProp12::rest`] begins.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDeviceProperties(to: *mut u8, device: i32) -> i32 {
    done(properties12(device).and_then(|p| {
        if to.is_null() {
            return Err(INVALID_VALUE);
        }
        let from: *const DeviceProp12 = &p;
        // SAFETY: not null, and the caller's structure is that long.
        unsafe {
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, offset_of!(DeviceProp12, rest))
        };
        Ok(())
    }))
}
