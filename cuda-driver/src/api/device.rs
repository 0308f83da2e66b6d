//! Devices.

use super::symbol::functions;
use crate::attributes::attribute;
use crate::context::{self, CONTEXTS};
use crate::driver::{self, BUS_ID};
use crate::error::{Error, Result};
use crate::lifetime;
use c_border::plain_struct;
use c_border::{Out, OutText, Raw, Text};

plain_struct! {
    /// `CUdevprop`.
    Properties {
        max_threads_per_block: i32, max_threads_dim: [i32; 3], max_grid_size: [i32; 3],
        shared_mem_per_block: i32, total_constant_memory: i32, simd_width: i32, mem_pitch: i32,
        regs_per_block: i32, clock_rate: i32, texture_align: i32,
    }
}

/// Copies a string into a buffer of `size` bytes, cut to fit, with a zero.
fn put_text(buffer: Raw, size: i32, text: &str) -> Result {
    let size = usize::try_from(size).ok().filter(|n| *n > 0).ok_or(Error::InvalidValue)?;
    let written = OutText { buffer, size }.put(text);
    if written > 0 { Ok(()) } else { Err(Error::InvalidValue) }
}

functions! {
    cuDeviceGet [2000 => cuDeviceGet] (device: Out<i32>, ordinal: i32) {
        device.required()?;
        driver::device(ordinal)?;
        Ok(device.set(ordinal)?)
    }

    cuDeviceGetCount [2000 => cuDeviceGetCount] (count: Out<i32>) {
        driver::get()?;
        Ok(count.set(1)?)
    }

    cuDeviceGetName [2000 => cuDeviceGetName] (text: Raw, size: i32, device: i32) {
        put_text(text, size, &driver::device(device)?.name())
    }

    cuDeviceGetUuid [9020 => cuDeviceGetUuid, 11040 => cuDeviceGetUuid_v2] (uuid: Out<[u8; 16]>, device: i32) {
        Ok(uuid.set(driver::device(device)?.uuid())?)
    }

    cuDeviceTotalMem [3020 => cuDeviceTotalMem_v2] (bytes: Out<usize>, device: i32) {
        bytes.required()?;
        Ok(bytes.set(driver::device(device)?.memory() as usize)?)
    }

    cuDeviceGetAttribute [2000 => cuDeviceGetAttribute] (value: Out<i32>, id: u32, device: i32) {
        value.required()?;
        let driver = driver::device(device)?;
        Ok(value.set(attribute(&driver.profile, id).ok_or(Error::InvalidValue)?)?)
    }

    cuDeviceComputeCapability [2000 => cuDeviceComputeCapability] (major: Out<i32>, minor: Out<i32>, device: i32) {
        let cc = driver::device(device)?.profile.device.compute_capability;
        major.set(i32::from(cc.major))?;
        Ok(minor.set(i32::from(cc.minor))?)
    }

    cuDeviceGetProperties [2000 => cuDeviceGetProperties] (out: Out<Properties>, device: i32) {
        let p = &driver::device(device)?.profile;
        let a = |id| attribute(p, id).unwrap_or(0);
        Ok(out.set(Properties {
            max_threads_per_block: a(1),
            max_threads_dim: [a(2), a(3), a(4)],
            max_grid_size: [a(5), a(6), a(7)],
            shared_mem_per_block: a(8),
            total_constant_memory: a(9),
            simd_width: a(10),
            mem_pitch: a(11),
            regs_per_block: a(12),
            clock_rate: a(13),
            texture_align: a(14),
        })?)
    }

    cuDeviceGetPCIBusId [4010 => cuDeviceGetPCIBusId] (text: Raw, size: i32, device: i32) {
        driver::device(device)?;
        put_text(text, size, BUS_ID)
    }

    cuDeviceGetByPCIBusId [4010 => cuDeviceGetByPCIBusId] (device: Out<i32>, text: Text) {
        driver::get()?;
        device.required()?;
        if text.get()?.eq_ignore_ascii_case(BUS_ID) { Ok(device.set(0)?) } else { Err(Error::InvalidDevice) }
    }

    cuDeviceGetLuid [10000 => cuDeviceGetLuid] (luid: Raw, mask: Out<u32>, device: i32) {
        driver::device(device)?;
        Err(Error::NotSupported)
    }

    cuDeviceCanAccessPeer [4000 => cuDeviceCanAccessPeer] (can: Out<i32>, device: i32, peer: i32) {
        driver::device(device)?;
        driver::device(peer)?;
        Ok(can.set(0)?)
    }

    cuDeviceGetP2PAttribute [8000 => cuDeviceGetP2PAttribute]
    (value: Out<i32>, attribute: u32, from: i32, to: i32) {
        driver::device(from)?;
        driver::device(to)?;
        // A device is no peer of itself.
        Err(Error::InvalidDevice)
    }

    cuDeviceGetTexture1DLinearMaxWidth [11010 => cuDeviceGetTexture1DLinearMaxWidth]
    (texels: Out<usize>, format: u32, channels: u32, device: i32) {
        driver::device(device)?;
        crate::texture::channel(format)?;
        Ok(texels.set(1 << 28)?)
    }

    cuDeviceGetExecAffinitySupport [11040 => cuDeviceGetExecAffinitySupport]
    (supported: Out<i32>, kind: u32, device: i32) {
        driver::device(device)?;
        Ok(supported.set(0)?)
    }

    cuDevicePrimaryCtxRetain [7000 => cuDevicePrimaryCtxRetain] (context: Out<usize>, device: i32) {
        context.required()?;
        Ok(context.set(lifetime::retain(driver::device(device)?)?.handle)?)
    }

    cuDevicePrimaryCtxRelease [7000 => cuDevicePrimaryCtxRelease, 11000 => cuDevicePrimaryCtxRelease_v2] (device: i32) {
        driver::device(device)?;
        lifetime::release()
    }

    cuDevicePrimaryCtxReset [7000 => cuDevicePrimaryCtxReset, 11000 => cuDevicePrimaryCtxReset_v2] (device: i32) {
        driver::device(device)?;
        lifetime::reset();
        Ok(())
    }

    cuDevicePrimaryCtxSetFlags [7000 => cuDevicePrimaryCtxSetFlags, 11000 => cuDevicePrimaryCtxSetFlags_v2]
    (device: i32, flags: u32) {
        driver::device(device)?;
        lifetime::set_flags(flags);
        Ok(())
    }

    cuDevicePrimaryCtxGetState [7000 => cuDevicePrimaryCtxGetState]
    (device: i32, flags: Out<u32>, active: Out<i32>) {
        driver::device(device)?;
        let (value, on) = lifetime::state();
        flags.set(value)?;
        Ok(active.set(i32::from(on))?)
    }

    cuCtxGetDevice [2000 => cuCtxGetDevice] (device: Out<i32>) {
        context::current_any()?;
        Ok(device.set(0)?)
    }

    cuCtxGetDevice [13000 => cuCtxGetDevice_v2] (device: Out<i32>, handle: usize) {
        if handle == 0 {
            context::current_any()?;
        } else {
            CONTEXTS.get(handle).ok_or(Error::InvalidContext)?;
        }
        Ok(device.set(0)?)
    }
}
