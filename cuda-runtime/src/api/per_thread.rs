//! The functions for programs whose stream 0 is the thread's own (`nvcc -default-stream per-thread`): each does what
//! the one without suffix does, with the driver's functions of that kind.

use std::ffi::{c_char, c_void};

use super::{copy, graph, launch, stream};
use crate::state::with_own_stream;
use crate::types::*;

macro_rules! per_thread {
    ($($own:ident = $module:ident::$name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $own($($arg: $ty),*) -> i32 {
            // SAFETY: the caller promises what the other function asks for.
            with_own_stream(|| unsafe { $module::$name($($arg),*) })
        }
    )*};
}

per_thread! {
    __cudaLaunchKernel_ptsz = launch::__cudaLaunchKernel(kernel: Handle, grid: Dim3, block: Dim3, args: *const Pointer, shared: usize, stream: Handle);
    cudaEventRecordWithFlags_ptsz = stream::cudaEventRecordWithFlags(event: Handle, stream: Handle, flags: u32);
    cudaEventRecord_ptsz = stream::cudaEventRecord(event: Handle, stream: Handle);
    cudaFreeAsync_ptsz = stream::cudaFreeAsync(pointer: Pointer, stream: Handle);
    cudaGetDriverEntryPointByVersion_ptsz = launch::cudaGetDriverEntryPointByVersion(name: *const c_char, function: *mut *mut c_void, version: u32, flags: u64, status: *mut i32);
    cudaGetDriverEntryPoint_ptsz = launch::cudaGetDriverEntryPoint(name: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut i32);
    cudaGraphInstantiateWithParams_ptsz = graph::cudaGraphInstantiateWithParams(exec: *mut Handle, graph: Handle, params: Pointer);
    cudaGraphLaunch_ptsz = stream::cudaGraphLaunch(exec: Handle, stream: Handle);
    cudaGraphUpload_ptsz = graph::cudaGraphUpload(exec: Handle, stream: Handle);
    cudaLaunchCooperativeKernel_ptsz = launch::cudaLaunchCooperativeKernel(host: *const c_void, grid: Dim3, block: Dim3, args: *const Pointer, shared: usize, stream: Handle);
    cudaLaunchHostFunc_ptsz = stream::cudaLaunchHostFunc(stream: Handle, function: HostFunction, data: Pointer);
    cudaLaunchKernelExC_ptsz = launch::cudaLaunchKernelExC(config: *const LaunchConfig, host: *const c_void, args: *const Pointer);
    cudaLaunchKernel_ptsz = launch::cudaLaunchKernel(host: *const c_void, grid: Dim3, block: Dim3, args: *const Pointer, shared: usize, stream: Handle);
    cudaMallocAsync_ptsz = stream::cudaMallocAsync(pointer: *mut Pointer, bytes: usize, stream: Handle);
    cudaMallocFromPoolAsync_ptsz = stream::cudaMallocFromPoolAsync(pointer: *mut Pointer, bytes: usize, pool: Handle, stream: Handle);
    cudaMemcpy2DArrayToArray_ptds = copy::cudaMemcpy2DArrayToArray(to: Handle, to_x: usize, to_y: usize, from: Handle, from_x: usize, from_y: usize, width: usize, height: usize, _kind: i32);
    cudaMemcpy2DAsync_ptsz = copy::cudaMemcpy2DAsync(to: Pointer, to_pitch: usize, from: Pointer, from_pitch: usize, width: usize, height: usize, kind: i32, stream: Handle);
    cudaMemcpy2DFromArrayAsync_ptsz = copy::cudaMemcpy2DFromArrayAsync(to: Pointer, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize, kind: i32, stream: Handle);
    cudaMemcpy2DFromArray_ptds = copy::cudaMemcpy2DFromArray(to: Pointer, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize, kind: i32);
    cudaMemcpy2DToArrayAsync_ptsz = copy::cudaMemcpy2DToArrayAsync(to: Handle, x: usize, y: usize, from: Pointer, pitch: usize, width: usize, height: usize, kind: i32, stream: Handle);
    cudaMemcpy2DToArray_ptds = copy::cudaMemcpy2DToArray(to: Handle, x: usize, y: usize, from: Pointer, pitch: usize, width: usize, height: usize, kind: i32);
    cudaMemcpy2D_ptds = copy::cudaMemcpy2D(to: Pointer, to_pitch: usize, from: Pointer, from_pitch: usize, width: usize, height: usize, kind: i32);
    cudaMemcpy3DAsync_ptsz = copy::cudaMemcpy3DAsync(params: *const Copy3D, stream: Handle);
    cudaMemcpy3D_ptds = copy::cudaMemcpy3D(params: *const Copy3D);
    cudaMemcpyAsync_ptsz = copy::cudaMemcpyAsync(to: Pointer, from: Pointer, count: usize, kind: i32, stream: Handle);
    cudaMemcpyFromArrayAsync_ptsz = copy::cudaMemcpyFromArrayAsync(to: Pointer, from: Handle, x: usize, y: usize, count: usize, kind: i32, stream: Handle);
    cudaMemcpyFromArray_ptds = copy::cudaMemcpyFromArray(to: Pointer, from: Handle, x: usize, y: usize, count: usize, kind: i32);
    cudaMemcpyFromSymbolAsync_ptsz = copy::cudaMemcpyFromSymbolAsync(to: Pointer, symbol: *const c_void, count: usize, offset: usize, kind: i32, stream: Handle);
    cudaMemcpyFromSymbol_ptds = copy::cudaMemcpyFromSymbol(to: Pointer, symbol: *const c_void, count: usize, offset: usize, kind: i32);
    cudaMemcpyToArrayAsync_ptsz = copy::cudaMemcpyToArrayAsync(to: Handle, x: usize, y: usize, from: Pointer, count: usize, kind: i32, stream: Handle);
    cudaMemcpyToArray_ptds = copy::cudaMemcpyToArray(to: Handle, x: usize, y: usize, from: Pointer, count: usize, kind: i32);
    cudaMemcpyToSymbolAsync_ptsz = copy::cudaMemcpyToSymbolAsync(symbol: *const c_void, from: Pointer, count: usize, offset: usize, kind: i32, stream: Handle);
    cudaMemcpyToSymbol_ptds = copy::cudaMemcpyToSymbol(symbol: *const c_void, from: Pointer, count: usize, offset: usize, kind: i32);
    cudaMemcpy_ptds = copy::cudaMemcpy(to: Pointer, from: Pointer, count: usize, kind: i32);
    cudaMemset2DAsync_ptsz = copy::cudaMemset2DAsync(pointer: Pointer, pitch: usize, value: i32, width: usize, height: usize, stream: Handle);
    cudaMemset2D_ptds = copy::cudaMemset2D(pointer: Pointer, pitch: usize, value: i32, width: usize, height: usize);
    cudaMemset3DAsync_ptsz = copy::cudaMemset3DAsync(pitched: PitchedPtr, value: i32, extent: Extent, stream: Handle);
    cudaMemset3D_ptds = copy::cudaMemset3D(pitched: PitchedPtr, value: i32, extent: Extent);
    cudaMemsetAsync_ptsz = copy::cudaMemsetAsync(pointer: Pointer, value: i32, bytes: usize, stream: Handle);
    cudaMemset_ptds = copy::cudaMemset(pointer: Pointer, value: i32, bytes: usize);
    cudaStreamAddCallback_ptsz = stream::cudaStreamAddCallback(stream: Handle, callback: StreamCallback, data: Pointer, flags: u32);
    cudaStreamAttachMemAsync_ptsz = stream::cudaStreamAttachMemAsync(stream: Handle, pointer: Pointer, bytes: usize, flags: u32);
    cudaStreamBeginCaptureToGraph_ptsz = stream::cudaStreamBeginCaptureToGraph(stream: Handle, graph: Handle, nodes: *const Handle, edges: *const c_void, count: usize, mode: i32);
    cudaStreamBeginCapture_ptsz = stream::cudaStreamBeginCapture(stream: Handle, mode: i32);
    cudaStreamCopyAttributes_ptsz = stream::cudaStreamCopyAttributes(to: Handle, from: Handle);
    cudaStreamEndCapture_ptsz = stream::cudaStreamEndCapture(stream: Handle, graph: *mut Handle);
    cudaStreamGetAttribute_ptsz = stream::cudaStreamGetAttribute(stream: Handle, id: i32, value: *mut c_void);
    cudaStreamGetDevice_ptsz = stream::cudaStreamGetDevice(stream: Handle, device: *mut i32);
    cudaStreamGetFlags_ptsz = stream::cudaStreamGetFlags(stream: Handle, flags: *mut u32);
    cudaStreamGetId_ptsz = stream::cudaStreamGetId(stream: Handle, id: *mut u64);
    cudaStreamGetPriority_ptsz = stream::cudaStreamGetPriority(stream: Handle, priority: *mut i32);
    cudaStreamIsCapturing_ptsz = stream::cudaStreamIsCapturing(stream: Handle, status: *mut i32);
    cudaStreamQuery_ptsz = stream::cudaStreamQuery(stream: Handle);
    cudaStreamSetAttribute_ptsz = stream::cudaStreamSetAttribute(stream: Handle, id: i32, value: *const c_void);
    cudaStreamSynchronize_ptsz = stream::cudaStreamSynchronize(stream: Handle);
    cudaStreamWaitEvent_ptsz = stream::cudaStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
}

#[cfg(not(cuda12))]
use super::memory;
#[cfg(not(cuda12))]
per_thread! {
    cudaMemPrefetchAsync_ptsz = memory::cudaMemPrefetchAsync(pointer: Pointer, bytes: usize, location: MemLocation, flags: u32, stream: Handle);
    cudaStreamGetCaptureInfo_ptsz = graph::cudaStreamGetCaptureInfo(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: *mut Pointer, edges: *mut Pointer, count: *mut usize);
    cudaStreamUpdateCaptureDependencies_ptsz = graph::cudaStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, edges: *const c_void, count: usize, flags: u32);
}

#[cfg(cuda12)]
use super::cuda12;
#[cfg(cuda12)]
per_thread! {
    cudaMemPrefetchAsync_ptsz = cuda12::cudaMemPrefetchAsync(pointer: Pointer, bytes: usize, device: i32, stream: Handle);
    cudaMemPrefetchAsync_v2_ptsz = cuda12::cudaMemPrefetchAsync_v2(pointer: Pointer, bytes: usize, place: MemLocation, flags: u32, stream: Handle);
    cudaStreamGetCaptureInfo_ptsz = graph::cudaStreamGetCaptureInfo(stream: Handle, status: *mut i32, id: *mut u64);
    cudaStreamGetCaptureInfo_v2_ptsz = graph::cudaStreamGetCaptureInfo_v2(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: *mut Pointer, count: *mut usize);
    cudaStreamGetCaptureInfo_v3_ptsz = graph::cudaStreamGetCaptureInfo_v3(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: *mut Pointer, edges: *mut Pointer, count: *mut usize);
    cudaStreamUpdateCaptureDependencies_ptsz = graph::cudaStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, count: usize, flags: u32);
    cudaStreamUpdateCaptureDependencies_v2_ptsz = graph::cudaStreamUpdateCaptureDependencies_v2(stream: Handle, nodes: *const Handle, edges: *const c_void, count: usize, flags: u32);
}
