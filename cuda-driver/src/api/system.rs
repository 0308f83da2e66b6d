//! Initialisation, versions, errors, look-up of functions, profiler.

use std::sync::Once;

use super::symbol::functions;
use super::{Found, look_up};
use crate::driver;
use crate::error::{Error, describe};
use c_border::{Out, Raw, Text};

/// The table that NVIDIA's CUDA runtime asks for first and cannot do without.
const RUNTIME_TABLE: [u8; 16] = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

const RUNTIME_REFUSED: &str = "libcuda.so.1 of ptxrun: this program contains NVIDIA's CUDA runtime, which works with NVIDIA's driver only.\n\
    Build it with `nvcc -cudart shared` and PTX (`-arch=compute_90 -code=compute_90`), so that it uses the libcudart.so of ptxrun.";

functions! {
    cuInit [2000 => cuInit] (flags: u32) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        driver::init()
    }

    cuDriverGetVersion [2020 => cuDriverGetVersion] (version: Out<i32>) {
        Ok(version.set(ptx_runtime::CUDA_VERSION as i32)?)
    }

    cuGetErrorName [6000 => cuGetErrorName] (error: u32, text: Out<usize>) {
        let found = describe(error);
        text.set(found.map_or(0, |(name, _)| name.as_ptr() as usize))?;
        found.map(|_| ()).ok_or(Error::InvalidValue)
    }

    cuGetErrorString [6000 => cuGetErrorString] (error: u32, text: Out<usize>) {
        let found = describe(error);
        text.set(found.map_or(0, |(_, text)| text.as_ptr() as usize))?;
        found.map(|_| ()).ok_or(Error::InvalidValue)
    }

    // Tables of internal functions: there are none here. NVRTC goes on without, NVIDIA's runtime does not.
    cuGetExportTable [3000 => cuGetExportTable] (table: Out<usize>, id: Raw) {
        table.put(0);
        if id.bytes(0, 16).is_ok_and(|id| id == RUNTIME_TABLE) {
            static SAID: Once = Once::new();
            SAID.call_once(|| environment::sayln!("{RUNTIME_REFUSED}"));
        }
        Err(Error::NotFound)
    }

    cuGetProcAddress [11030 => cuGetProcAddress] (name: Text, function: Out<usize>, version: i32, flags: u64) {
        function.required()?;
        match find(name, version, flags)? {
            Found::Symbol(entry) => Ok(function.set(entry.address.0 as usize)?),
            _ => {
                function.put(0);
                Err(Error::NotFound)
            }
        }
    }

    cuGetProcAddress [12000 => cuGetProcAddress_v2]
    (name: Text, function: Out<usize>, version: i32, flags: u64, status: Out<u32>) {
        function.required()?;
        let found = find(name, version, flags)?;
        // CUdriverProcAddressQueryResult
        let (address, result) = match found {
            Found::Symbol(entry) => (entry.address.0 as usize, 0),
            Found::Nothing => (0, 1),
            Found::Newer => (0, 2),
        };
        function.put(address);
        status.put(result);
        if address == 0 && status.is_null() {
            return Err(Error::NotFound);
        }
        Ok(())
    }

    cuProfilerStart [4000 => cuProfilerStart] () {
        crate::context::current().map(|_| ())
    }

    cuProfilerStop [4000 => cuProfilerStop] () {
        crate::context::current().map(|_| ())
    }

    cuProfilerInitialize [4000 => cuProfilerInitialize] (config: Text, output: Text, mode: i32) {
        Err(Error::NotSupported)
    }

    cuFlushGPUDirectRDMAWrites [11030 => cuFlushGPUDirectRDMAWrites] (target: u32, scope: u32) {
        Err(Error::NotSupported)
    }
}

fn find(name: Text, version: i32, flags: u64) -> crate::error::Result<Found> {
    const LEGACY: u64 = 1;
    const PER_THREAD: u64 = 2;
    let name = name.get()?;
    if flags & !(LEGACY | PER_THREAD) != 0 || flags == LEGACY | PER_THREAD {
        return Err(Error::InvalidValue);
    }
    Ok(look_up(&name, u32::try_from(version).unwrap_or(0), flags & PER_THREAD != 0))
}
