//! The driver library: loaded once, its functions by name.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use crate::error::{Error, INSUFFICIENT_DRIVER, Result};
use crate::types::*;

/// What a driver lacks answers that it is not supported. The caller cleans up the arguments in the C calling
/// conventions of Unix systems, so that one function serves all of them.
unsafe extern "C" fn missing() -> i32 {
    801
}

macro_rules! driver {
    ($($name:ident($($arg:ty),*);)*) => {
        /// The functions of the driver that the runtime calls.
        #[allow(non_snake_case)]
        pub struct Driver {
            $(pub $name: unsafe extern "C" fn($($arg),*) -> i32,)*
        }

        impl Driver {
            // One of the functions has the type of `missing` itself.
            #[allow(clippy::useless_transmute)]
            fn of(library: &libloading::Library) -> Driver {
                Driver {
                    $($name: {
                        type Function = unsafe extern "C" fn($($arg),*) -> i32;
                        // SAFETY: the CUDA headers declare the function with these arguments.
                        let found = unsafe { library.get::<Function>(stringify!($name).as_bytes()) };
                        match found {
                            Ok(function) => *function,
                            // SAFETY: `missing` uses no argument.
                            Err(_) => unsafe {
                                std::mem::transmute::<unsafe extern "C" fn() -> i32, Function>(missing)
                            },
                        }
                    },)*
                }
            }
        }
    };
}

driver! {
    cuInit(u32);
    cuDriverGetVersion(*mut i32);
    cuGetProcAddress_v2(*const c_char, *mut *mut c_void, i32, u64, *mut i32);
    cuDeviceGetCount(*mut i32);
    cuDeviceGetName(*mut c_char, i32, i32);
    cuDeviceGetUuid_v2(*mut [u8; 16], i32);
    cuDeviceTotalMem_v2(*mut usize, i32);
    cuDeviceGetAttribute(*mut i32, i32, i32);
    cuDeviceGetPCIBusId(*mut c_char, i32, i32);
    cuDeviceGetByPCIBusId(*mut i32, *const c_char);
    cuDeviceCanAccessPeer(*mut i32, i32, i32);
    cuDeviceGetP2PAttribute(*mut i32, i32, i32, i32);
    cuDeviceGetDefaultMemPool(*mut Handle, i32);
    cuDeviceGetMemPool(*mut Handle, i32);
    cuDeviceSetMemPool(i32, Handle);
    cuDevicePrimaryCtxRetain(*mut Handle, i32);
    cuDevicePrimaryCtxReset_v2(i32);
    cuDevicePrimaryCtxSetFlags_v2(i32, u32);
    cuDevicePrimaryCtxGetState(i32, *mut u32, *mut i32);
    cuCtxGetCurrent(*mut Handle);
    cuCtxSetCurrent(Handle);
    cuCtxGetDevice(*mut i32);
    cuCtxSynchronize();
    cuCtxSetLimit(i32, usize);
    cuCtxGetLimit(*mut usize, i32);
    cuCtxGetCacheConfig(*mut i32);
    cuCtxSetCacheConfig(i32);
    cuCtxGetStreamPriorityRange(*mut i32, *mut i32);
    cuCtxEnablePeerAccess(Handle, u32);
    cuCtxDisablePeerAccess(Handle);
    cuLibraryLoadData(*mut Handle, *const c_void, *const i32, *const Pointer, u32, *const i32, *const Pointer, u32);
    cuLibraryLoadFromFile(*mut Handle, *const c_char, *const i32, *const Pointer, u32, *const i32, *const Pointer, u32);
    cuLibraryUnload(Handle);
    cuLibraryGetKernel(*mut Handle, Handle, *const c_char);
    cuLibraryGetGlobal(*mut Pointer, *mut usize, Handle, *const c_char);
    cuLibraryGetManaged(*mut Pointer, *mut usize, Handle, *const c_char);
    cuLibraryGetKernelCount(*mut u32, Handle);
    cuLibraryEnumerateKernels(*mut Handle, u32, Handle);
    cuKernelGetFunction(*mut Handle, Handle);
    cuKernelSetAttribute(i32, i32, Handle, i32);
    cuLinkCreate_v2(u32, *const i32, *const Pointer, *mut Handle);
    cuLinkAddData_v2(Handle, i32, Pointer, usize, *const c_char, u32, *const i32, *const Pointer);
    cuLinkComplete(Handle, *mut Pointer, *mut usize);
    cuLinkDestroy(Handle);
    cuFuncGetAttribute(*mut i32, i32, Handle);
    cuFuncSetAttribute(Handle, i32, i32);
    cuFuncSetCacheConfig(Handle, i32);
    cuFuncGetName(*mut *const c_char, Handle);
    cuFuncGetParamInfo(Handle, usize, *mut usize, *mut usize);
    cuLaunchKernel(Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *const Pointer, *const Pointer);
    cuLaunchKernelEx(*const DriverLaunchConfig, Handle, *const Pointer, *const Pointer);
    cuLaunchCooperativeKernel(Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *const Pointer);
    cuLaunchHostFunc(Handle, HostFunction, Pointer);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(*mut i32, Handle, i32, usize, u32);
    cuOccupancyAvailableDynamicSMemPerBlock(*mut usize, Handle, i32, i32);
    cuOccupancyMaxPotentialClusterSize(*mut i32, Handle, *const DriverLaunchConfig);
    cuOccupancyMaxActiveClusters(*mut i32, Handle, *const DriverLaunchConfig);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut Pointer, usize);
    cuMemAllocPitch_v2(*mut Pointer, *mut usize, usize, usize, u32);
    cuMemAllocManaged(*mut Pointer, usize, u32);
    cuMemFree_v2(Pointer);
    cuMemHostAlloc(*mut Pointer, usize, u32);
    cuMemFreeHost(Pointer);
    cuMemHostRegister_v2(Pointer, usize, u32);
    cuMemHostUnregister(Pointer);
    cuMemHostGetDevicePointer_v2(*mut Pointer, Pointer, u32);
    cuMemHostGetFlags(*mut u32, Pointer);
    cuMemAllocAsync(*mut Pointer, usize, Handle);
    cuMemAllocFromPoolAsync(*mut Pointer, usize, Handle, Handle);
    cuMemFreeAsync(Pointer, Handle);
    cuMemPoolCreate(*mut Handle, *const c_void);
    cuMemPoolDestroy(Handle);
    cuMemPoolTrimTo(Handle, usize);
    cuMemPoolSetAttribute(Handle, i32, *mut c_void);
    cuMemPoolGetAttribute(Handle, i32, *mut c_void);
    cuMemcpy(Pointer, Pointer, usize);
    cuMemcpyAsync(Pointer, Pointer, usize, Handle);
    cuMemcpyHtoD_v2(Pointer, Pointer, usize);
    cuMemcpyDtoH_v2(Pointer, Pointer, usize);
    cuMemcpyDtoD_v2(Pointer, Pointer, usize);
    cuMemcpyHtoDAsync_v2(Pointer, Pointer, usize, Handle);
    cuMemcpyDtoHAsync_v2(Pointer, Pointer, usize, Handle);
    cuMemcpyDtoDAsync_v2(Pointer, Pointer, usize, Handle);
    cuMemcpy3D_v2(*const DriverCopy);
    cuMemcpy3DAsync_v2(*const DriverCopy, Handle);
    cuMemsetD8_v2(Pointer, u8, usize);
    cuMemsetD8Async(Pointer, u8, usize, Handle);
    cuMemsetD2D8_v2(Pointer, usize, u8, usize, usize);
    cuMemsetD2D8Async(Pointer, usize, u8, usize, usize, Handle);
    cuMemPrefetchAsync_v2(Pointer, usize, MemLocation, u32, Handle);
    cuMemAdvise_v2(Pointer, usize, i32, MemLocation);
    cuMemRangeGetAttribute(*mut c_void, usize, i32, Pointer, usize);
    cuPointerGetAttribute(*mut c_void, i32, Pointer);
    cuArray3DCreate_v2(*mut Handle, *const DriverArray);
    cuArray3DGetDescriptor_v2(*mut DriverArray, Handle);
    cuArrayDestroy(Handle);
    cuTexObjectCreate(*mut u64, *const DriverResource, *const DriverTexture, *const ResourceView);
    cuTexObjectDestroy(u64);
    cuTexObjectGetResourceViewDesc(*mut ResourceView, u64);
    cuSurfObjectCreate(*mut u64, *const DriverResource);
    cuSurfObjectDestroy(u64);
    cuStreamCreate(*mut Handle, u32);
    cuStreamCreateWithPriority(*mut Handle, u32, i32);
    cuStreamDestroy_v2(Handle);
    cuStreamSynchronize(Handle);
    cuStreamQuery(Handle);
    cuStreamWaitEvent(Handle, Handle, u32);
    cuStreamAddCallback(Handle, StreamCallback, Pointer, u32);
    cuStreamGetFlags(Handle, *mut u32);
    cuStreamGetPriority(Handle, *mut i32);
    cuStreamGetId(Handle, *mut u64);
    cuStreamGetDevice(Handle, *mut i32);
    cuStreamAttachMemAsync(Handle, Pointer, usize, u32);
    cuStreamBeginCapture_v2(Handle, i32);
    cuStreamEndCapture(Handle, *mut Handle);
    cuStreamIsCapturing(Handle, *mut i32);
    cuThreadExchangeStreamCaptureMode(*mut i32);
    cuEventCreate(*mut Handle, u32);
    cuEventRecord(Handle, Handle);
    cuEventRecordWithFlags(Handle, Handle, u32);
    cuEventQuery(Handle);
    cuEventSynchronize(Handle);
    cuEventDestroy_v2(Handle);
    cuEventElapsedTime(*mut f32, Handle, Handle);
    cuGraphCreate(*mut Handle, u32);
    cuGraphDestroy(Handle);
    cuGraphInstantiateWithFlags(*mut Handle, Handle, u64);
    cuGraphLaunch(Handle, Handle);
    cuGraphExecDestroy(Handle);
    cuGraphGetNodes(Handle, *mut Handle, *mut usize);
    cuProfilerStart();
    cuProfilerStop();
}

/// The driver, initialised.
///
/// # Errors
/// When there is none, or it does not start.
pub fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();
    let loaded = DRIVER.get_or_init(|| {
        // SAFETY: the driver's initialisers have no conditions.
        let Ok(library) = (unsafe { libloading::Library::new("libcuda.so.1") }) else {
            return Err(INSUFFICIENT_DRIVER);
        };
        let driver = Driver::of(&library);
        // The functions must stay to the end of the process.
        std::mem::forget(library);
        // SAFETY: takes a number.
        Error::check(unsafe { (driver.cuInit)(0) })?;
        Ok(driver)
    });
    loaded.as_ref().map_err(|e| *e)
}
