//! Functions that a CUDA runtime exports and this one does not implement: each says so by name, once, and returns
//! `cudaErrorNotSupported`.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::error::NOT_SUPPORTED;
use crate::state::done;

fn refuse(name: &'static str) -> i32 {
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        let _ = writeln!(std::io::stderr(), "libcudart.so of ptxrun: {name} is not supported");
    }
    done(Err(NOT_SUPPORTED))
}

/// The functions take whatever the caller passes, which the C calling conventions allow: the caller cleans up.
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> i32 {
            refuse(stringify!($name))
        }
    )*};
}

unsupported! {
    __cudaRegisterHostVar __cudaRegisterUnifiedTable cudaArrayGetMemoryRequirements cudaArrayGetPlane
    cudaArrayGetSparseProperties cudaCtxResetPersistingL2Cache cudaDestroyExternalMemory
    cudaDestroyExternalSemaphore cudaDeviceFlushGPUDirectRDMAWrites
    cudaDeviceGetNvSciSyncAttributes cudaDeviceGetTexture1DLinearMaxWidth
    cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification
    cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame cudaEGLStreamProducerReturnFrame
    cudaEventCreateFromEGLSync cudaExternalMemoryGetMappedBuffer cudaExternalMemoryGetMappedMipmappedArray
    cudaGLGetDevices cudaGLMapBufferObject cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject
    cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync
    cudaGLUnregisterBufferObject cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
    cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol
    cudaGraphAddNode cudaGraphConditionalHandleCreate cudaGraphDebugDotPrint cudaGraphExecChildGraphNodeSetParams
    cudaGraphExecExternalSemaphoresSignalNodeSetParams cudaGraphExecExternalSemaphoresWaitNodeSetParams
    cudaGraphExecMemcpyNodeSetParamsFromSymbol cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams
    cudaGraphKernelNodeCopyAttributes cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams
    cudaGraphKernelNodeSetAttribute
    cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol
    cudaGraphNodeSetParams cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage
    cudaGraphicsMapResources cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray
    cudaGraphicsUnmapResources cudaGraphicsUnregisterResource cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface cudaImportExternalMemory cudaImportExternalSemaphore
    cudaLibraryGetUnifiedFunction cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle cudaMemPoolGetAccess
    cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer cudaMemPoolSetAccess cudaMemRangeGetAttributes
    cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
    cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds
    cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz
    cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
}

#[cfg(not(cuda12))]
unsupported! {
    __cudaGetProcAddress cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount
    cudaDeviceGetDevResource cudaDeviceGetExecutionCtx cudaDeviceGetHostAtomicCapabilities
    cudaDeviceGetP2PAtomicCapabilities cudaExecutionCtxDestroy cudaExecutionCtxGetDevResource
    cudaExecutionCtxGetDevice cudaExecutionCtxGetId cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate
    cudaExecutionCtxSynchronize cudaExecutionCtxWaitEvent cudaFuncGetParamCount cudaGraphConditionalHandleCreate_v2
    cudaGraphExecGetId cudaGraphGetId cudaGraphNodeGetContainingGraph cudaGraphNodeGetLocalId cudaGraphNodeGetParams
    cudaGraphNodeGetToolsId cudaGreenCtxCreate cudaLaunchHostFunc_v2 cudaLaunchHostFunc_v2_ptsz cudaLogsCurrent
    cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz cudaMemDiscardBatchAsync
    cudaMemDiscardBatchAsync_ptsz cudaMemGetDefaultMemPool cudaMemGetLocationInfo cudaMemGetMemPool
    cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz cudaMemSetMemPool cudaMemcpy3DWithAttributesAsync
    cudaMemcpy3DWithAttributesAsync_ptsz cudaMemcpyWithAttributesAsync cudaMemcpyWithAttributesAsync_ptsz
    cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz cudaStreamGetDevResource
    cudaStreamGetDevResource_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate cudaSubgridWorksetCreate
}

#[cfg(cuda12)]
unsupported! {
    cudaGraphAddNode_v2 cudaLaunchCooperativeKernelMultiDevice cudaSetDoubleForDevice cudaSetDoubleForHost
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz cudaThreadExit
    cudaThreadGetCacheConfig cudaThreadGetLimit cudaThreadSetCacheConfig cudaThreadSetLimit
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
}
