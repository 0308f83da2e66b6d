//! Devices: which there are, their properties, limits and peers.

use std::ffi::c_char;

use super::{forward, put};
use crate::driver::{Driver, driver};
use crate::error::{Error, INVALID_DEVICE, INVALID_VALUE, Result};
use crate::state::{self, device_count, done, enter};
use crate::types::*;

/// CUDA version of the interface: 1000 * major + 10 * minor.
#[cfg(not(cuda12))]
pub(super) const RUNTIME_VERSION: i32 = 13050;
/// CUDA version of the interface.
#[cfg(cuda12)]
pub(super) const RUNTIME_VERSION: i32 = 12090;

forward! {
    cudaDeviceSynchronize() => cuCtxSynchronize();
    cudaDeviceSetLimit(limit: i32, value: usize) => cuCtxSetLimit(limit, value);
    cudaDeviceGetLimit(value: *mut usize, limit: i32) => cuCtxGetLimit(value, limit);
    cudaDeviceGetCacheConfig(config: *mut i32) => cuCtxGetCacheConfig(config);
    cudaDeviceSetCacheConfig(config: i32) => cuCtxSetCacheConfig(config);
    cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) => cuCtxGetStreamPriorityRange(least, greatest);
    cudaDeviceGetPCIBusId(text: *mut c_char, size: i32, device: i32) => cuDeviceGetPCIBusId(text, size, device);
    cudaDeviceGetByPCIBusId(device: *mut i32, text: *const c_char) => cuDeviceGetByPCIBusId(device, text);
    cudaDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) => cuDeviceCanAccessPeer(can, device, peer);
    cudaDeviceGetP2PAttribute(value: *mut i32, attribute: i32, from: i32, to: i32) => cuDeviceGetP2PAttribute(value, attribute, from, to);
    cudaDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) => cuDeviceGetDefaultMemPool(pool, device);
    cudaDeviceGetMemPool(pool: *mut Handle, device: i32) => cuDeviceGetMemPool(pool, device);
    cudaDeviceSetMemPool(device: i32, pool: Handle) => cuDeviceSetMemPool(device, pool);
}

fn check_device(d: &Driver, device: i32) -> Result {
    if (0..device_count(d)?).contains(&device) { Ok(()) } else { Err(INVALID_DEVICE) }
}

pub(super) fn attribute(d: &Driver, number: i32, device: i32) -> Result<i32> {
    let mut value = 0;
    // SAFETY: a number is written.
    Error::check(unsafe { (d.cuDeviceGetAttribute)(&mut value, number, device) })?;
    Ok(value)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDeviceCount(count: *mut i32) -> i32 {
    // SAFETY: the caller's place for the result.
    done(driver().and_then(device_count).and_then(|n| unsafe { put(count, n) }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDeviceGetAttribute(
    value: *mut i32,
    number: i32,
    device: i32,
) -> i32 {
    let ask = || -> Result {
        let d = driver()?;
        check_device(d, device)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(value, attribute(d, number, device)?) }
    };
    done(ask())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDevice(device: *mut i32) -> i32 {
    let ask = || -> Result {
        let d = driver()?;
        let (mut context, mut current) = (0, state::device());
        // SAFETY: a handle and a number are written.
        unsafe {
            if (d.cuCtxGetCurrent)(&mut context) == 0 && context != 0 {
                (d.cuCtxGetDevice)(&mut current);
            }
            put(device, current)
        }
    };
    done(ask())
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaSetDevice(device: i32) -> i32 {
    done(state::set_device(device))
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) -> i32 {
    done(driver().and_then(|d| check_device(d, device)))
}

/// All devices are valid and of one kind: the first of the list is taken.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaSetValidDevices(devices: *const i32, count: i32) -> i32 {
    let set = || -> Result {
        let d = driver()?;
        for n in 0..count.max(0) as usize {
            // SAFETY: the caller's list.
            check_device(d, unsafe { *devices.add(n) })?;
        }
        Ok(())
    };
    done(set())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaChooseDevice(
    device: *mut i32,
    wanted: *const DeviceProp,
) -> i32 {
    if wanted.is_null() {
        return done(Err(INVALID_VALUE));
    }
    // SAFETY: the caller's place for the result. There is one kind of device.
    done(unsafe { put(device, 0) })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaSetDeviceFlags(flags: u32) -> i32 {
    done(driver().and_then(|d| {
        // SAFETY: takes numbers.
        Error::check(unsafe { (d.cuDevicePrimaryCtxSetFlags_v2)(state::device(), flags) })
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDeviceFlags(flags: *mut u32) -> i32 {
    let ask = || -> Result {
        let d = driver()?;
        let (mut found, mut active) = (0, 0);
        // SAFETY: both are written.
        Error::check(unsafe {
            (d.cuDevicePrimaryCtxGetState)(state::device(), &mut found, &mut active)
        })?;
        // SAFETY: the caller's place for the result.
        unsafe { put(flags, found) }
    };
    done(ask())
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDeviceReset() -> i32 {
    let reset = || -> Result {
        let d = enter()?;
        // SAFETY: a number and a null handle.
        unsafe {
            (d.cuCtxSetCurrent)(0);
            Error::check((d.cuDevicePrimaryCtxReset_v2)(state::device()))?;
        }
        state::was_reset();
        Ok(())
    };
    done(reset())
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) -> i32 {
    let enable = || -> Result {
        let d = enter()?;
        check_device(d, peer)?;
        let mut context = 0;
        // SAFETY: a handle is written, then used.
        unsafe {
            Error::check((d.cuDevicePrimaryCtxRetain)(&mut context, peer))?;
            Error::check((d.cuCtxEnablePeerAccess)(context, flags))
        }
    };
    done(enable())
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDeviceDisablePeerAccess(peer: i32) -> i32 {
    let disable = || -> Result {
        let d = enter()?;
        check_device(d, peer)?;
        let mut context = 0;
        // SAFETY: a handle is written, then used.
        unsafe {
            Error::check((d.cuDevicePrimaryCtxRetain)(&mut context, peer))?;
            Error::check((d.cuCtxDisablePeerAccess)(context))
        }
    };
    done(disable())
}

/// Four bytes, the only size of banks since compute capability 5.0 (`cudaSharedMemBankSizeFourByte`).
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDeviceGetSharedMemConfig(config: *mut i32) -> i32 {
    // SAFETY: the caller's place for the result.
    done(unsafe { put(config, 1) })
}
#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDeviceSetSharedMemConfig(_config: i32) -> i32 {
    done(enter().map(|_| ()))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDriverGetVersion(version: *mut i32) -> i32 {
    let ask = || -> Result {
        let mut found = 0;
        if let Ok(d) = driver() {
            // SAFETY: a number is written.
            Error::check(unsafe { (d.cuDriverGetVersion)(&mut found) })?;
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(version, found) }
    };
    done(ask())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaRuntimeGetVersion(version: *mut i32) -> i32 {
    // SAFETY: the caller's place for the result.
    done(unsafe { put(version, RUNTIME_VERSION) })
}

/// `CUdevice_attribute` of the fields of [`DeviceProp`], in their order.
const TEXTURE_LIMITS: [i32; 39] = [
    21, 77, 22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53,
    54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68,
];
const FEATURES: [i32; 15] = [31, 32, 33, 34, 50, 35, 40, 41, 37, 38, 108, 39, 78, 79, 80];
const MORE: [i32; 10] = [82, 83, 84, 85, 86, 88, 89, 90, 91, 95];
const PAGING: [i32; 4] = [100, 101, 106, 109];
const REST: [i32; 20] = [
    99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129, 130, 131, 133, 134, 139, 140,
    143,
];

pub(super) fn properties(device: i32) -> Result<DeviceProp> {
    let d = driver()?;
    check_device(d, device)?;
    // An attribute that the driver does not know is a feature that the device lacks.
    let get = |n: i32| attribute(d, n, device).unwrap_or(0);
    let size = |n: i32| get(n) as usize;
    let (mut name, mut uuid, mut memory) = ([0 as c_char; 256], [0; 16], 0);
    // SAFETY: each is written within its size.
    unsafe {
        Error::check((d.cuDeviceGetName)(name.as_mut_ptr(), 256, device))?;
        Error::check((d.cuDeviceGetUuid_v2)(&mut uuid, device))?;
        Error::check((d.cuDeviceTotalMem_v2)(&mut memory, device))?;
    }
    Ok(DeviceProp {
        name,
        uuid,
        luid: [0; 8],
        luid_mask: 0,
        global_memory: memory,
        shared_per_block: size(8),
        registers_per_block: get(12),
        warp_size: get(10),
        pitch: size(11),
        max_threads_per_block: get(1),
        max_threads: [get(2), get(3), get(4)],
        max_grid: [get(5), get(6), get(7)],
        const_memory: size(9),
        major: get(75),
        minor: get(76),
        texture_alignment: size(14),
        texture_pitch_alignment: size(51),
        multiprocessors: get(16),
        integrated: get(18),
        map_host: get(19),
        texture_limits: TEXTURE_LIMITS.map(get),
        surface_alignment: size(30),
        features: FEATURES.map(get),
        shared_per_multiprocessor: size(81),
        more: MORE.map(get),
        shared_optin: size(97),
        paging: PAGING.map(get),
        reserved_shared: size(111),
        rest: REST.map(get),
        reserved: [0; 56],
    })
}

#[cfg(not(cuda12))]
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDeviceProperties(to: *mut DeviceProp, device: i32) -> i32 {
    // SAFETY: the caller's place for the result.
    done(properties(device).and_then(|p| unsafe { put(to, p) }))
}
