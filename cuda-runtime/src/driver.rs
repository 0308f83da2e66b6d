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
        // Some serve the interface of one CUDA version only.
        #[allow(non_snake_case, dead_code)]
        pub struct Driver {
            $(pub $name: unsafe extern "C" fn($($arg),*) -> i32,)*
        }

        impl Driver {
            // One of the functions has the type of `missing` itself.
            #[allow(clippy::useless_transmute)]
            fn of(library: &libloading::Library, suffixes: &[&str]) -> Driver {
                Driver {
                    $($name: {
                        type Function = unsafe extern "C" fn($($arg),*) -> i32;
                        let found = suffixes.iter().find_map(|suffix| {
                            let symbol = format!("{}{suffix}", stringify!($name));
                            // SAFETY: the CUDA headers declare the function with these arguments.
                            unsafe { library.get::<Function>(symbol.as_bytes()) }.ok()
                        });
                        match found {
                            Some(function) => *function,
                            // SAFETY: `missing` uses no argument.
                            None => unsafe {
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
    cuIpcGetMemHandle(*mut InterprocessName, Pointer);
    cuIpcOpenMemHandle_v2(*mut Pointer, InterprocessName, u32);
    cuIpcCloseMemHandle(Pointer);
    cuIpcGetEventHandle(*mut InterprocessName, Handle);
    cuIpcOpenEventHandle(*mut Handle, InterprocessName);
    cuMipmappedArrayCreate(*mut Handle, *const DriverArray, u32);
    cuMipmappedArrayGetLevel(*mut Handle, Handle, u32);
    cuMipmappedArrayDestroy(Handle);
    cuStreamCreate(*mut Handle, u32);
    cuStreamSetAttribute(Handle, i32, *const c_void);
    cuStreamGetAttribute(Handle, i32, *mut c_void);
    cuStreamCopyAttributes(Handle, Handle);
    cuStreamBeginCaptureToGraph(Handle, Handle, *const Handle, *const c_void, usize, i32);
    cuStreamGetCaptureInfo(Handle, *mut i32, *mut u64);
    cuStreamGetCaptureInfo_v2(Handle, *mut i32, *mut u64, *mut Handle, *mut Pointer, *mut usize);
    cuStreamGetCaptureInfo_v3(Handle, *mut i32, *mut u64, *mut Handle, *mut Pointer, *mut Pointer, *mut usize);
    cuStreamUpdateCaptureDependencies(Handle, *const Handle, usize, u32);
    cuStreamUpdateCaptureDependencies_v2(Handle, *const Handle, *const c_void, usize, u32);
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
    cuGraphInstantiateWithParams(*mut Handle, Handle, Pointer);
    cuGraphClone(*mut Handle, Handle);
    cuGraphUpload(Handle, Handle);
    cuGraphExecUpdate_v2(Handle, Handle, Pointer);
    cuGraphExecGetFlags(Handle, *mut u64);
    cuGraphDestroyNode(Handle);
    cuGraphGetRootNodes(Handle, *mut Handle, *mut usize);
    cuGraphGetEdges(Handle, *mut Handle, *mut Handle, *mut usize);
    cuGraphGetEdges_v2(Handle, *mut Handle, *mut Handle, Pointer, *mut usize);
    cuGraphNodeGetType(Handle, *mut i32);
    cuGraphNodeGetDependencies(Handle, *mut Handle, *mut usize);
    cuGraphNodeGetDependencies_v2(Handle, *mut Handle, Pointer, *mut usize);
    cuGraphNodeGetDependentNodes(Handle, *mut Handle, *mut usize);
    cuGraphNodeGetDependentNodes_v2(Handle, *mut Handle, Pointer, *mut usize);
    cuGraphNodeFindInClone(*mut Handle, Handle, Handle);
    cuGraphNodeSetEnabled(Handle, Handle, u32);
    cuGraphNodeGetEnabled(Handle, Handle, *mut u32);
    cuGraphAddDependencies(Handle, *const Handle, *const Handle, usize);
    cuGraphRemoveDependencies(Handle, *const Handle, *const Handle, usize);
    cuGraphAddEmptyNode(*mut Handle, Handle, *const Handle, usize);
    cuGraphAddChildGraphNode(*mut Handle, Handle, *const Handle, usize, Handle);
    cuGraphChildGraphNodeGetGraph(Handle, *mut Handle);
    cuGraphAddEventRecordNode(*mut Handle, Handle, *const Handle, usize, Handle);
    cuGraphAddEventWaitNode(*mut Handle, Handle, *const Handle, usize, Handle);
    cuGraphEventRecordNodeGetEvent(Handle, *mut Handle);
    cuGraphEventRecordNodeSetEvent(Handle, Handle);
    cuGraphEventWaitNodeGetEvent(Handle, *mut Handle);
    cuGraphEventWaitNodeSetEvent(Handle, Handle);
    cuGraphExecEventRecordNodeSetEvent(Handle, Handle, Handle);
    cuGraphExecEventWaitNodeSetEvent(Handle, Handle, Handle);
    cuGraphAddHostNode(*mut Handle, Handle, *const Handle, usize, *const c_void);
    cuGraphHostNodeGetParams(Handle, *mut c_void);
    cuGraphHostNodeSetParams(Handle, *const c_void);
    cuGraphExecHostNodeSetParams(Handle, Handle, *const c_void);
    cuGraphAddMemsetNode(*mut Handle, Handle, *const Handle, usize, *const c_void, Handle);
    cuGraphMemsetNodeGetParams(Handle, *mut c_void);
    cuGraphMemsetNodeSetParams(Handle, *const c_void);
    cuGraphExecMemsetNodeSetParams(Handle, Handle, *const c_void, Handle);
    cuGraphAddMemcpyNode(*mut Handle, Handle, *const Handle, usize, *const DriverCopy, Handle);
    cuGraphMemcpyNodeSetParams(Handle, *const DriverCopy);
    cuGraphExecMemcpyNodeSetParams(Handle, Handle, *const DriverCopy, Handle);
    cuGraphAddKernelNode(*mut Handle, Handle, *const Handle, usize, *const KernelNode);
    cuGraphKernelNodeSetParams(Handle, *const KernelNode);
    cuGraphExecKernelNodeSetParams(Handle, Handle, *const KernelNode);
    cuGraphAddMemAllocNode(*mut Handle, Handle, *const Handle, usize, *mut c_void);
    cuGraphMemAllocNodeGetParams(Handle, *mut c_void);
    cuGraphAddMemFreeNode(*mut Handle, Handle, *const Handle, usize, Pointer);
    cuGraphMemFreeNodeGetParams(Handle, *mut Pointer);
    cuDeviceGetGraphMemAttribute(i32, u32, *mut c_void);
    cuDeviceSetGraphMemAttribute(i32, u32, *mut c_void);
    cuDeviceGraphMemTrim(i32);
    cuUserObjectCreate(*mut Handle, Pointer, HostFunction, u32, u32);
    cuUserObjectRetain(Handle, u32);
    cuUserObjectRelease(Handle, u32);
    cuGraphRetainUserObject(Handle, Handle, u32, u32);
    cuGraphReleaseUserObject(Handle, Handle, u32);
    cuProfilerStart();
    cuProfilerStop();
}

/// The driver, initialised.
///
/// # Errors
/// When there is none, or it does not start.
pub fn driver() -> Result<&'static Driver> {
    /// The functions whose stream 0 is the legacy one, and those whose stream 0 is the thread's own.
    static DRIVER: OnceLock<Result<[Driver; 2]>> = OnceLock::new();
    let loaded = DRIVER.get_or_init(|| {
        // SAFETY: the driver's initialisers have no conditions.
        let Ok(library) = (unsafe { libloading::Library::new("libcuda.so.1") }) else {
            return Err(INSUFFICIENT_DRIVER);
        };
        let driver = Driver::of(&library, &[""]);
        let own = Driver::of(&library, &["_ptsz", "_ptds", ""]);
        // The functions must stay to the end of the process.
        std::mem::forget(library);
        // SAFETY: takes a number.
        Error::check(unsafe { (driver.cuInit)(0) })?;
        Ok([driver, own])
    });
    match loaded {
        Ok(both) => Ok(&both[usize::from(crate::state::own_stream())]),
        Err(error) => Err(*error),
    }
}
