//! Launches, attributes of kernels, occupancy.

use std::ffi::{CStr, c_char, c_void};

use super::put;
use crate::driver::driver;
use crate::error::{Error, INVALID_VALUE, MISSING_CONFIGURATION, NOT_SUPPORTED, Result};
use crate::registry::{self, function};
use crate::state::{Configuration, done, enter, pop, push};
use crate::types::*;

#[unsafe(no_mangle)]
pub(super) extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
) -> u32 {
    push(Configuration { grid, block, shared, stream });
    0
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut Handle,
) -> i32 {
    done(pop().ok_or(MISSING_CONFIGURATION).and_then(|c| {
        // SAFETY: the caller's places for the results.
        unsafe {
            put(grid, c.grid)?;
            put(block, c.block)?;
            put(shared, c.shared)?;
            put(stream, c.stream)
        }
    }))
}

/// The handle of a kernel is its host function here: it stays valid when a device is reset, and where the kernel
/// cannot be loaded the launch says so.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __cudaGetKernel(kernel: *mut Handle, host: *const c_void) -> i32 {
    // SAFETY: the caller's place for the result.
    done(unsafe { put(kernel, host.expose_provenance()) })
}

fn launch(kernel: usize, c: Configuration, args: *const Pointer, cooperative: bool) -> Result {
    let (function, d) = (function(kernel)?, enter()?);
    let shared = u32::try_from(c.shared).map_err(|_| INVALID_VALUE)?;
    let (g, b, none) = (c.grid, c.block, std::ptr::null());
    // SAFETY: the caller's arguments, one pointer per parameter.
    Error::check(unsafe {
        if cooperative {
            (d.cuLaunchCooperativeKernel)(
                function, g.x, g.y, g.z, b.x, b.y, b.z, shared, c.stream, args,
            )
        } else {
            (d.cuLaunchKernel)(function, g.x, g.y, g.z, b.x, b.y, b.z, shared, c.stream, args, none)
        }
    })
}

/// Functions that launch: the kernel's type and address, and whether all blocks make progress together.
macro_rules! launches {
    ($($name:ident($kernel:ident: $ty:ty) => $address:expr, $cooperative:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(
            $kernel: $ty,
            grid: Dim3,
            block: Dim3,
            args: *const Pointer,
            shared: usize,
            stream: Handle,
        ) -> i32 {
            done(launch($address, Configuration { grid, block, shared, stream }, args, $cooperative))
        }
    )*};
}
launches! {
    cudaLaunchKernel(host: *const c_void) => host.addr(), false;
    __cudaLaunchKernel(kernel: Handle) => kernel, false;
    cudaLaunchCooperativeKernel(host: *const c_void) => host.addr(), true;
}

/// The driver's form of a configuration.
///
/// # Safety
/// `config` is null or points to a configuration.
unsafe fn configuration(config: *const LaunchConfig) -> Result<DriverLaunchConfig> {
    // SAFETY: as the caller says.
    let c = unsafe { config.as_ref() }.ok_or(INVALID_VALUE)?;
    Ok(DriverLaunchConfig {
        grid: c.grid,
        block: c.block,
        shared: u32::try_from(c.shared).map_err(|_| INVALID_VALUE)?,
        stream: c.stream,
        attributes: c.attributes,
        count: c.count,
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const LaunchConfig,
    host: *const c_void,
    args: *const Pointer,
) -> i32 {
    let start = || -> Result {
        let (d, function) = (enter()?, function(host.addr())?);
        // SAFETY: the caller's configuration and arguments.
        Error::check(unsafe {
            (d.cuLaunchKernelEx)(&configuration(config)?, function, args, std::ptr::null())
        })
    };
    done(start())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaFuncGetAttributes(
    attributes: *mut FuncAttributes,
    host: *const c_void,
) -> i32 {
    let read = || -> Result {
        let (d, function) = (enter()?, function(host.addr())?);
        let get = |n: i32| {
            let mut value = 0;
            // SAFETY: a number is written.
            Error::check(unsafe { (d.cuFuncGetAttribute)(&mut value, n, function) }).map(|()| value)
        };
        // What a driver does not know is zero; the first five every driver knows.
        let known = |n: i32| get(n).unwrap_or(0);
        let found = FuncAttributes {
            shared_bytes: get(1)? as usize,
            const_bytes: get(2)? as usize,
            local_bytes: get(3)? as usize,
            max_threads: get(0)?,
            registers: get(4)?,
            ptx_version: known(5),
            binary_version: known(6),
            cache_mode: known(7),
            max_dynamic_shared: known(8),
            carveout: known(9),
            cluster: [known(10), known(11), known(12), known(13)],
            cluster_policy: known(15),
            non_portable_cluster: known(14),
            node_update: known(16),
            shared_mode: known(17),
            reserved: [0; 14],
        };
        // SAFETY: the caller's place for the result.
        unsafe { put(attributes, found) }
    };
    done(read())
}

/// Functions about a kernel that pass on to the driver's.
macro_rules! about {
    ($($name:ident($host:ident, $($arg:ident: $ty:ty),*) => |$d:ident, $f:ident| $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            let ask = || -> Result {
                let ($d, $f) = (enter()?, function($host.addr())?);
                // SAFETY: the caller promises the same to this function as this one to the driver's.
                Error::check(unsafe { $call })
            };
            done(ask())
        }
    )*};
}
about! {
    cudaFuncSetAttribute(host, host: *const c_void, attribute: i32, value: i32)
        => |d, f| (d.cuFuncSetAttribute)(f, attribute, value);
    cudaFuncSetCacheConfig(host, host: *const c_void, config: i32)
        => |d, f| (d.cuFuncSetCacheConfig)(f, config);
    cudaFuncGetName(host, name: *mut *const c_char, host: *const c_void)
        => |d, f| (d.cuFuncGetName)(name, f);
    cudaFuncGetParamInfo(host, host: *const c_void, index: usize, offset: *mut usize, size: *mut usize)
        => |d, f| (d.cuFuncGetParamInfo)(f, index, offset, size);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(host, blocks: *mut i32, host: *const c_void, threads: i32, shared: usize)
        => |d, f| (d.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, f, threads, shared, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(host, blocks: *mut i32, host: *const c_void, threads: i32, shared: usize, flags: u32)
        => |d, f| (d.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, f, threads, shared, flags);
    cudaOccupancyAvailableDynamicSMemPerBlock(host, shared: *mut usize, host: *const c_void, blocks: i32, threads: i32)
        => |d, f| (d.cuOccupancyAvailableDynamicSMemPerBlock)(shared, f, blocks, threads);
    cudaOccupancyMaxPotentialClusterSize(host, size: *mut i32, host: *const c_void, config: *const LaunchConfig)
        => |d, f| (d.cuOccupancyMaxPotentialClusterSize)(size, f, &configuration(config)?);
    cudaOccupancyMaxActiveClusters(host, clusters: *mut i32, host: *const c_void, config: *const LaunchConfig)
        => |d, f| (d.cuOccupancyMaxActiveClusters)(clusters, f, &configuration(config)?);
}

/// Bank size is no choice on devices since compute capability 5.0; the call succeeds as there.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaFuncSetSharedMemConfig(
    host: *const c_void,
    _config: i32,
) -> i32 {
    done(function(host.addr()).map(|_| ()))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetFuncBySymbol(to: *mut Handle, host: *const c_void) -> i32 {
    // SAFETY: the caller's place for the result.
    done(function(host.addr()).and_then(|f| unsafe { put(to, f) }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetKernel(to: *mut Handle, host: *const c_void) -> i32 {
    // SAFETY: the caller's place for the result.
    done(registry::kernel(host.addr()).and_then(|k| unsafe { put(to, k) }))
}

super::forward! {
    cudaLibraryLoadData(library: *mut Handle, code: *const c_void, keys: *const i32, values: *const Pointer, count: u32, library_keys: *const i32, library_values: *const Pointer, library_count: u32)
        => cuLibraryLoadData(library, code, keys, values, count, library_keys, library_values, library_count);
    cudaLibraryLoadFromFile(library: *mut Handle, file: *const c_char, keys: *const i32, values: *const Pointer, count: u32, library_keys: *const i32, library_values: *const Pointer, library_count: u32)
        => cuLibraryLoadFromFile(library, file, keys, values, count, library_keys, library_values, library_count);
    cudaLibraryUnload(library: Handle) => cuLibraryUnload(library);
    cudaLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char) => cuLibraryGetKernel(kernel, library, name);
    cudaLibraryGetGlobal(pointer: *mut Pointer, bytes: *mut usize, library: Handle, name: *const c_char) => cuLibraryGetGlobal(pointer, bytes, library, name);
    cudaLibraryGetManaged(pointer: *mut Pointer, bytes: *mut usize, library: Handle, name: *const c_char) => cuLibraryGetManaged(pointer, bytes, library, name);
    cudaLibraryGetKernelCount(count: *mut u32, library: Handle) => cuLibraryGetKernelCount(count, library);
    cudaLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle) => cuLibraryEnumerateKernels(kernels, count, library);
    cudaKernelSetAttributeForDevice(kernel: Handle, attribute: i32, value: i32, device: i32) => cuKernelSetAttribute(attribute, value, kernel, device);
}

/// What `cudaGetDriverEntryPoint` says about a name.
const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;

/// # Safety
/// `name` is a string, the others are null or may be written.
unsafe fn entry_point(
    name: *const c_char,
    function: *mut *mut c_void,
    version: i32,
    flags: u64,
    status: *mut i32,
) -> Result {
    if name.is_null() || function.is_null() {
        return Err(INVALID_VALUE);
    }
    let (mut found, mut unused) = (std::ptr::null_mut(), 0);
    // SAFETY: the caller's string; both results are written.
    let code =
        unsafe { (driver()?.cuGetProcAddress_v2)(name, &mut found, version, flags, &mut unused) };
    let known = code == 0 && !found.is_null();
    // SAFETY: as the caller says.
    unsafe {
        function.write(found);
        if !status.is_null() {
            status.write(if known { FOUND } else { NOT_FOUND });
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDriverEntryPointByVersion(
    name: *const c_char,
    function: *mut *mut c_void,
    version: u32,
    flags: u64,
    status: *mut i32,
) -> i32 {
    // SAFETY: the caller's pointers.
    done(unsafe { entry_point(name, function, version as i32, flags, status) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDriverEntryPoint(
    name: *const c_char,
    function: *mut *mut c_void,
    flags: u64,
    status: *mut i32,
) -> i32 {
    // SAFETY: the caller's pointers.
    done(unsafe { entry_point(name, function, super::device::RUNTIME_VERSION, flags, status) })
}

/// The tables are the interface between NVIDIA's own libraries; there are none here.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetExportTable(
    table: *mut *const c_void,
    _id: *const c_void,
) -> i32 {
    // SAFETY: the caller's place for the result.
    let _ = unsafe { put(table, std::ptr::null()) };
    done(Err(NOT_SUPPORTED))
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaGetLastError() -> i32 {
    crate::state::clear_error()
}
#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaPeekAtLastError() -> i32 {
    crate::state::last_error()
}
fn pointer(text: &'static CStr) -> *const c_char {
    text.as_ptr()
}
#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaGetErrorName(code: i32) -> *const c_char {
    pointer(crate::error::name(code))
}
#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaGetErrorString(code: i32) -> *const c_char {
    pointer(crate::error::text(code))
}
