//! Functions that a driver exports and this one does not implement: each says so by name, once, and returns
//! `CUDA_ERROR_NOT_SUPPORTED`. Among them are graphics, external memory, and the forms
//! of before CUDA 3.2 with addresses of 32 bits.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Refuses a call.
fn refuse(symbol: &'static str) -> Result {
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    crate::driver::get()?;
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(symbol) {
        environment::sayln!("libcuda.so.1 of ptxrun: {symbol} is not supported");
    }
    Err(Error::NotSupported)
}

/// `name [version => symbol, …; version => symbol that takes stream 0 for the thread's own, …];` The functions take
/// whatever the caller passes, which the C calling conventions allow: the caller cleans up.
macro_rules! unsupported {
    ($($name:ident [$($since:literal => $symbol:ident),+ $(; $($own_since:literal => $own:ident),+)?];)*) => {
        super::symbol::functions! {
            $($name [$($since => $symbol),+ $(; $($own_since => $own),+)?] () { refuse(stringify!($name)) })*
        }
    };
}

unsupported! {
    cuArray3DCreate [2000 => cuArray3DCreate];
    cuArray3DGetDescriptor [2000 => cuArray3DGetDescriptor];
    cuArrayCreate [2000 => cuArrayCreate];
    cuArrayGetDescriptor [2000 => cuArrayGetDescriptor];
    cuArrayGetMemoryRequirements [11060 => cuArrayGetMemoryRequirements];
    cuCheckpointOperationComplete [13040 => cuCheckpointOperationComplete];
    cuCheckpointProcessCheckpoint [12080 => cuCheckpointProcessCheckpoint];
    cuCheckpointProcessGetRestoreThreadId [12080 => cuCheckpointProcessGetRestoreThreadId];
    cuCheckpointProcessGetState [12080 => cuCheckpointProcessGetState];
    cuCheckpointProcessLock [12080 => cuCheckpointProcessLock];
    cuCheckpointProcessRestore [12080 => cuCheckpointProcessRestore];
    cuCheckpointProcessUnlock [12080 => cuCheckpointProcessUnlock];
    cuCoredumpDeregisterCompleteCallback [13020 => cuCoredumpDeregisterCompleteCallback];
    cuCoredumpDeregisterStartCallback [13020 => cuCoredumpDeregisterStartCallback];
    cuCoredumpGetAttribute [12010 => cuCoredumpGetAttribute];
    cuCoredumpGetAttributeGlobal [12010 => cuCoredumpGetAttributeGlobal];
    cuCoredumpRegisterCompleteCallback [13020 => cuCoredumpRegisterCompleteCallback];
    cuCoredumpRegisterStartCallback [13020 => cuCoredumpRegisterStartCallback];
    cuCoredumpSetAttribute [12010 => cuCoredumpSetAttribute];
    cuCoredumpSetAttributeGlobal [12010 => cuCoredumpSetAttributeGlobal];
    cuCtxCreate [2000 => cuCtxCreate];
    cuCtxFromGreenCtx [12040 => cuCtxFromGreenCtx];
    cuCtxGetDevResource [12040 => cuCtxGetDevResource];
    cuDestroyExternalMemory [10000 => cuDestroyExternalMemory];
    cuDestroyExternalSemaphore [10000 => cuDestroyExternalSemaphore];
    cuDevResourceGenerateDesc [12040 => cuDevResourceGenerateDesc];
    cuDevSmResourceSplit [13010 => cuDevSmResourceSplit];
    cuDevSmResourceSplitByCount [12040 => cuDevSmResourceSplitByCount];
    cuDeviceGetCliqueCount [13040 => cuDeviceGetCliqueCount];
    cuDeviceGetCliqueInfo [13040 => cuDeviceGetCliqueInfo];
    cuDeviceGetDevResource [12040 => cuDeviceGetDevResource];
    cuDeviceGetFabricClusterUuid [13040 => cuDeviceGetFabricClusterUuid];
    cuDeviceGetHostAtomicCapabilities [13000 => cuDeviceGetHostAtomicCapabilities];
    cuDeviceGetNvSciSyncAttributes [10020 => cuDeviceGetNvSciSyncAttributes];
    cuDeviceGetP2PAtomicCapabilities [13000 => cuDeviceGetP2PAtomicCapabilities];
    cuDeviceRegisterAsyncNotification [12040 => cuDeviceRegisterAsyncNotification];
    cuDeviceTotalMem [2000 => cuDeviceTotalMem];
    cuDeviceUnregisterAsyncNotification [12040 => cuDeviceUnregisterAsyncNotification];
    cuEGLStreamConsumerAcquireFrame [7000 => cuEGLStreamConsumerAcquireFrame];
    cuEGLStreamConsumerConnect [7000 => cuEGLStreamConsumerConnect];
    cuEGLStreamConsumerConnectWithFlags [8000 => cuEGLStreamConsumerConnectWithFlags];
    cuEGLStreamConsumerDisconnect [7000 => cuEGLStreamConsumerDisconnect];
    cuEGLStreamConsumerReleaseFrame [7000 => cuEGLStreamConsumerReleaseFrame];
    cuEGLStreamProducerConnect [7000 => cuEGLStreamProducerConnect];
    cuEGLStreamProducerDisconnect [7000 => cuEGLStreamProducerDisconnect];
    cuEGLStreamProducerPresentFrame [7000 => cuEGLStreamProducerPresentFrame];
    cuEGLStreamProducerReturnFrame [7000 => cuEGLStreamProducerReturnFrame];
    cuEventCreateFromEGLSync [9000 => cuEventCreateFromEGLSync];
    cuExternalMemoryGetMappedBuffer [10000 => cuExternalMemoryGetMappedBuffer];
    cuExternalMemoryGetMappedMipmappedArray [10000 => cuExternalMemoryGetMappedMipmappedArray];
    cuFabricCpyBatchAsync [13050 => cuFabricCpyBatchAsync; 13050 => cuFabricCpyBatchAsync_ptsz];
    cuGLCtxCreate [2000 => cuGLCtxCreate];
    cuGLGetDevices [4010 => cuGLGetDevices];
    cuGLInit [2000 => cuGLInit];
    cuGLMapBufferObject [2000 => cuGLMapBufferObject, 3020 => cuGLMapBufferObject_v2; 7000 => cuGLMapBufferObject_ptds];
    cuGLMapBufferObjectAsync [2030 => cuGLMapBufferObjectAsync, 3020 => cuGLMapBufferObjectAsync_v2; 7000 => cuGLMapBufferObjectAsync_ptsz];
    cuGLRegisterBufferObject [2000 => cuGLRegisterBufferObject];
    cuGLSetBufferObjectMapFlags [2030 => cuGLSetBufferObjectMapFlags];
    cuGLUnmapBufferObject [2000 => cuGLUnmapBufferObject];
    cuGLUnmapBufferObjectAsync [2030 => cuGLUnmapBufferObjectAsync];
    cuGLUnregisterBufferObject [2000 => cuGLUnregisterBufferObject];
    cuGraphAddBatchMemOpNode [11070 => cuGraphAddBatchMemOpNode];
    cuGraphAddExternalSemaphoresSignalNode [11020 => cuGraphAddExternalSemaphoresSignalNode];
    cuGraphAddExternalSemaphoresWaitNode [11020 => cuGraphAddExternalSemaphoresWaitNode];
    cuGraphAddNode [13040 => cuGraphAddNode_v3];
    cuGraphBatchMemOpNodeGetParams [11070 => cuGraphBatchMemOpNodeGetParams];
    cuGraphBatchMemOpNodeSetParams [11070 => cuGraphBatchMemOpNodeSetParams];
    cuGraphConditionalHandleCreate [12030 => cuGraphConditionalHandleCreate];
    cuGraphDebugDotPrint [11030 => cuGraphDebugDotPrint];
    cuGraphExecBatchMemOpNodeSetParams [11070 => cuGraphExecBatchMemOpNodeSetParams];
    cuGraphExecChildGraphNodeSetParams [11010 => cuGraphExecChildGraphNodeSetParams];
    cuGraphExecExternalSemaphoresSignalNodeSetParams [11020 => cuGraphExecExternalSemaphoresSignalNodeSetParams];
    cuGraphExecExternalSemaphoresWaitNodeSetParams [11020 => cuGraphExecExternalSemaphoresWaitNodeSetParams];
    cuGraphExecGetId [13010 => cuGraphExecGetId];
    cuGraphExternalSemaphoresSignalNodeGetParams [11020 => cuGraphExternalSemaphoresSignalNodeGetParams];
    cuGraphExternalSemaphoresSignalNodeSetParams [11020 => cuGraphExternalSemaphoresSignalNodeSetParams];
    cuGraphExternalSemaphoresWaitNodeGetParams [11020 => cuGraphExternalSemaphoresWaitNodeGetParams];
    cuGraphExternalSemaphoresWaitNodeSetParams [11020 => cuGraphExternalSemaphoresWaitNodeSetParams];
    cuGraphGetId [13010 => cuGraphGetId];
    cuGraphKernelNodeCopyAttributes [11000 => cuGraphKernelNodeCopyAttributes];
    cuGraphKernelNodeGetAttribute [11000 => cuGraphKernelNodeGetAttribute];
    cuGraphKernelNodeSetAttribute [11000 => cuGraphKernelNodeSetAttribute];
    cuGraphMemcpyNodeGetParams [10000 => cuGraphMemcpyNodeGetParams];
    cuGraphNodeGetContainingGraph [13010 => cuGraphNodeGetContainingGraph];
    cuGraphNodeGetLocalId [13010 => cuGraphNodeGetLocalId];
    cuGraphNodeGetParams [13020 => cuGraphNodeGetParams];
    cuGraphNodeGetToolsId [13010 => cuGraphNodeGetToolsId];
    cuGraphNodeSetParams [13040 => cuGraphNodeSetParams_v2];
    cuGraphicsEGLRegisterImage [7000 => cuGraphicsEGLRegisterImage];
    cuGraphicsGLRegisterBuffer [3000 => cuGraphicsGLRegisterBuffer];
    cuGraphicsGLRegisterImage [3000 => cuGraphicsGLRegisterImage];
    cuGraphicsMapResources [3000 => cuGraphicsMapResources; 7000 => cuGraphicsMapResources_ptsz];
    cuGraphicsResourceGetMappedEglFrame [7000 => cuGraphicsResourceGetMappedEglFrame];
    cuGraphicsResourceGetMappedMipmappedArray [5000 => cuGraphicsResourceGetMappedMipmappedArray];
    cuGraphicsResourceGetMappedPointer [3000 => cuGraphicsResourceGetMappedPointer, 3020 => cuGraphicsResourceGetMappedPointer_v2];
    cuGraphicsResourceSetMapFlags [3000 => cuGraphicsResourceSetMapFlags, 6050 => cuGraphicsResourceSetMapFlags_v2];
    cuGraphicsSubResourceGetMappedArray [3000 => cuGraphicsSubResourceGetMappedArray];
    cuGraphicsUnmapResources [3000 => cuGraphicsUnmapResources; 7000 => cuGraphicsUnmapResources_ptsz];
    cuGraphicsUnregisterResource [3000 => cuGraphicsUnregisterResource];
    cuGraphicsVDPAURegisterOutputSurface [3010 => cuGraphicsVDPAURegisterOutputSurface];
    cuGraphicsVDPAURegisterVideoSurface [3010 => cuGraphicsVDPAURegisterVideoSurface];
    cuGreenCtxCreate [12040 => cuGreenCtxCreate];
    cuGreenCtxDestroy [12040 => cuGreenCtxDestroy];
    cuGreenCtxGetDevResource [12040 => cuGreenCtxGetDevResource];
    cuGreenCtxGetId [12090 => cuGreenCtxGetId];
    cuGreenCtxRecordEvent [12040 => cuGreenCtxRecordEvent];
    cuGreenCtxStreamCreate [12050 => cuGreenCtxStreamCreate];
    cuGreenCtxWaitEvent [12040 => cuGreenCtxWaitEvent];
    cuImportExternalMemory [10000 => cuImportExternalMemory];
    cuImportExternalSemaphore [10000 => cuImportExternalSemaphore];
    cuLaunchCooperativeKernelMultiDevice [9000 => cuLaunchCooperativeKernelMultiDevice];
    cuLaunchHostFunc [13010 => cuLaunchHostFunc_v2; 13010 => cuLaunchHostFunc_v2_ptsz];
    cuLogicalEndpointAddDevice [13030 => cuLogicalEndpointAddDevice];
    cuLogicalEndpointBindAddr [13030 => cuLogicalEndpointBindAddr];
    cuLogicalEndpointBindMem [13030 => cuLogicalEndpointBindMem];
    cuLogicalEndpointCreate [13030 => cuLogicalEndpointCreate];
    cuLogicalEndpointDestroy [13030 => cuLogicalEndpointDestroy];
    cuLogicalEndpointExport [13030 => cuLogicalEndpointExport];
    cuLogicalEndpointGetLimits [13030 => cuLogicalEndpointGetLimits];
    cuLogicalEndpointIdRelease [13030 => cuLogicalEndpointIdRelease];
    cuLogicalEndpointIdReserve [13030 => cuLogicalEndpointIdReserve];
    cuLogicalEndpointImport [13030 => cuLogicalEndpointImport];
    cuLogicalEndpointQuery [13030 => cuLogicalEndpointQuery];
    cuLogicalEndpointUnbind [13030 => cuLogicalEndpointUnbind];
    cuMemAlloc [2000 => cuMemAlloc];
    cuMemAllocHost [2000 => cuMemAllocHost];
    cuMemAllocPitch [2000 => cuMemAllocPitch];
    cuMemBatchDecompressAsync [12060 => cuMemBatchDecompressAsync; 12060 => cuMemBatchDecompressAsync_ptsz];
    cuMemDiscardAndPrefetchBatchAsync [13000 => cuMemDiscardAndPrefetchBatchAsync; 13000 => cuMemDiscardAndPrefetchBatchAsync_ptsz];
    cuMemDiscardBatchAsync [13000 => cuMemDiscardBatchAsync; 13000 => cuMemDiscardBatchAsync_ptsz];
    cuMemFree [2000 => cuMemFree];
    cuMemGetAddressRange [2000 => cuMemGetAddressRange];
    cuMemGetDefaultMemPool [13000 => cuMemGetDefaultMemPool];
    cuMemGetHandleForAddressRange [11070 => cuMemGetHandleForAddressRange];
    cuMemGetInfo [2000 => cuMemGetInfo];
    cuMemGetLocationInfo [13040 => cuMemGetLocationInfo];
    cuMemGetMemPool [13000 => cuMemGetMemPool];
    cuMemHostGetDevicePointer [2020 => cuMemHostGetDevicePointer];
    cuMemMapArrayAsync [11010 => cuMemMapArrayAsync; 11010 => cuMemMapArrayAsync_ptsz];
    cuMemPoolExportPointer [11020 => cuMemPoolExportPointer];
    cuMemPoolExportToShareableHandle [11020 => cuMemPoolExportToShareableHandle];
    cuMemPoolImportFromShareableHandle [11020 => cuMemPoolImportFromShareableHandle];
    cuMemPoolImportPointer [11020 => cuMemPoolImportPointer];
    cuMemPrefetchBatchAsync [13000 => cuMemPrefetchBatchAsync; 13000 => cuMemPrefetchBatchAsync_ptsz];
    cuMemRangeGetAttributes [8000 => cuMemRangeGetAttributes];
    cuMemSetMemPool [13000 => cuMemSetMemPool];
    cuMemcpy2D [2000 => cuMemcpy2D];
    cuMemcpy2DAsync [2000 => cuMemcpy2DAsync];
    cuMemcpy2DUnaligned [2000 => cuMemcpy2DUnaligned];
    cuMemcpy3D [2000 => cuMemcpy3D];
    cuMemcpy3DAsync [2000 => cuMemcpy3DAsync];
    cuMemcpy3DBatchAsync [12080 => cuMemcpy3DBatchAsync, 13000 => cuMemcpy3DBatchAsync_v2; 12080 => cuMemcpy3DBatchAsync_ptsz, 13000 => cuMemcpy3DBatchAsync_v2_ptsz];
    cuMemcpy3DWithAttributesAsync [13020 => cuMemcpy3DWithAttributesAsync; 13020 => cuMemcpy3DWithAttributesAsync_ptsz];
    cuMemcpyAtoA [2000 => cuMemcpyAtoA];
    cuMemcpyAtoD [2000 => cuMemcpyAtoD];
    cuMemcpyAtoH [2000 => cuMemcpyAtoH];
    cuMemcpyAtoHAsync [2000 => cuMemcpyAtoHAsync];
    cuMemcpyBatchAsync [12080 => cuMemcpyBatchAsync, 13000 => cuMemcpyBatchAsync_v2; 12080 => cuMemcpyBatchAsync_ptsz, 13000 => cuMemcpyBatchAsync_v2_ptsz];
    cuMemcpyDtoA [2000 => cuMemcpyDtoA];
    cuMemcpyDtoD [2000 => cuMemcpyDtoD];
    cuMemcpyDtoDAsync [3000 => cuMemcpyDtoDAsync];
    cuMemcpyDtoH [2000 => cuMemcpyDtoH];
    cuMemcpyDtoHAsync [2000 => cuMemcpyDtoHAsync];
    cuMemcpyHtoA [2000 => cuMemcpyHtoA];
    cuMemcpyHtoAAsync [2000 => cuMemcpyHtoAAsync];
    cuMemcpyHtoD [2000 => cuMemcpyHtoD];
    cuMemcpyHtoDAsync [2000 => cuMemcpyHtoDAsync];
    cuMemcpyWithAttributesAsync [13020 => cuMemcpyWithAttributesAsync; 13020 => cuMemcpyWithAttributesAsync_ptsz];
    cuMemsetD16 [2000 => cuMemsetD16];
    cuMemsetD2D16 [2000 => cuMemsetD2D16];
    cuMemsetD2D32 [2000 => cuMemsetD2D32];
    cuMemsetD2D8 [2000 => cuMemsetD2D8];
    cuMemsetD32 [2000 => cuMemsetD32];
    cuMemsetD8 [2000 => cuMemsetD8];
    cuMipmappedArrayGetMemoryRequirements [11060 => cuMipmappedArrayGetMemoryRequirements];
    cuMipmappedArrayGetSparseProperties [11010 => cuMipmappedArrayGetSparseProperties];
    cuModuleGetGlobal [2000 => cuModuleGetGlobal];
    cuMulticastAddDevice [12010 => cuMulticastAddDevice];
    cuMulticastBindAddr [12010 => cuMulticastBindAddr, 13010 => cuMulticastBindAddr_v2];
    cuMulticastBindMem [12010 => cuMulticastBindMem, 13010 => cuMulticastBindMem_v2];
    cuMulticastCreate [12010 => cuMulticastCreate];
    cuMulticastGetGranularity [12010 => cuMulticastGetGranularity];
    cuMulticastUnbind [12010 => cuMulticastUnbind];
    cuParamSetTexRef [2000 => cuParamSetTexRef];
    cuSignalExternalSemaphoresAsync [10000 => cuSignalExternalSemaphoresAsync; 10000 => cuSignalExternalSemaphoresAsync_ptsz];
    cuStreamBeginCaptureToCig [13010 => cuStreamBeginCaptureToCig; 13010 => cuStreamBeginCaptureToCig_ptsz];
    cuStreamBeginRecaptureToGraph [13030 => cuStreamBeginRecaptureToGraph; 13030 => cuStreamBeginRecaptureToGraph_ptsz];
    cuStreamEndCaptureToCig [13010 => cuStreamEndCaptureToCig; 13010 => cuStreamEndCaptureToCig_ptsz];
    cuStreamGetDevResource [13010 => cuStreamGetDevResource; 13010 => cuStreamGetDevResource_ptsz];
    cuStreamGetGreenCtx [12040 => cuStreamGetGreenCtx];
    cuTensorMapSetAllocationClass [13050 => cuTensorMapSetAllocationClass];
    cuTexRefGetAddress [2000 => cuTexRefGetAddress];
    cuTexRefGetBorderColor [8000 => cuTexRefGetBorderColor];
    cuTexRefGetMaxAnisotropy [5000 => cuTexRefGetMaxAnisotropy];
    cuTexRefGetMipmapFilterMode [5000 => cuTexRefGetMipmapFilterMode];
    cuTexRefGetMipmapLevelBias [5000 => cuTexRefGetMipmapLevelBias];
    cuTexRefGetMipmapLevelClamp [5000 => cuTexRefGetMipmapLevelClamp];
    cuTexRefGetMipmappedArray [5000 => cuTexRefGetMipmappedArray];
    cuTexRefSetAddress [2000 => cuTexRefSetAddress];
    cuTexRefSetAddress2D [2020 => cuTexRefSetAddress2D, 3020 => cuTexRefSetAddress2D_v2];
    cuTexRefSetBorderColor [8000 => cuTexRefSetBorderColor];
    cuTexRefSetMaxAnisotropy [5000 => cuTexRefSetMaxAnisotropy];
    cuTexRefSetMipmapFilterMode [5000 => cuTexRefSetMipmapFilterMode];
    cuTexRefSetMipmapLevelBias [5000 => cuTexRefSetMipmapLevelBias];
    cuTexRefSetMipmapLevelClamp [5000 => cuTexRefSetMipmapLevelClamp];
    cuTexRefSetMipmappedArray [5000 => cuTexRefSetMipmappedArray];
    cuVDPAUCtxCreate [3010 => cuVDPAUCtxCreate];
    cuVDPAUGetDevice [3010 => cuVDPAUGetDevice];
    cuWGLGetDevice [2020 => cuWGLGetDevice];
    cuWaitExternalSemaphoresAsync [10000 => cuWaitExternalSemaphoresAsync; 10000 => cuWaitExternalSemaphoresAsync_ptsz];
}
