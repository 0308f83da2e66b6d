//! Streams, events, capture and graphs.

use std::ffi::c_void;

use super::forward;
use crate::types::*;

forward! {
    cudaStreamCreate(stream: *mut Handle) => cuStreamCreate(stream, 0);
    cudaStreamCreateWithFlags(stream: *mut Handle, flags: u32) => cuStreamCreate(stream, flags);
    cudaStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) => cuStreamCreateWithPriority(stream, flags, priority);
    cudaStreamDestroy(stream: Handle) => cuStreamDestroy_v2(stream);
    cudaStreamSynchronize(stream: Handle) => cuStreamSynchronize(stream);
    cudaStreamQuery(stream: Handle) => cuStreamQuery(stream);
    cudaStreamWaitEvent(stream: Handle, event: Handle, flags: u32) => cuStreamWaitEvent(stream, event, flags);
    cudaStreamAddCallback(stream: Handle, callback: StreamCallback, data: Pointer, flags: u32) => cuStreamAddCallback(stream, callback, data, flags);
    cudaStreamGetFlags(stream: Handle, flags: *mut u32) => cuStreamGetFlags(stream, flags);
    cudaStreamGetPriority(stream: Handle, priority: *mut i32) => cuStreamGetPriority(stream, priority);
    cudaStreamGetId(stream: Handle, id: *mut u64) => cuStreamGetId(stream, id);
    cudaStreamGetDevice(stream: Handle, device: *mut i32) => cuStreamGetDevice(stream, device);
    cudaStreamAttachMemAsync(stream: Handle, pointer: Pointer, bytes: usize, flags: u32) => cuStreamAttachMemAsync(stream, pointer, bytes, flags);
    cudaStreamBeginCapture(stream: Handle, mode: i32) => cuStreamBeginCapture_v2(stream, mode);
    cudaStreamEndCapture(stream: Handle, graph: *mut Handle) => cuStreamEndCapture(stream, graph);
    cudaStreamIsCapturing(stream: Handle, status: *mut i32) => cuStreamIsCapturing(stream, status);
    cudaStreamSetAttribute(stream: Handle, id: i32, value: *const c_void) => cuStreamSetAttribute(stream, id, value);
    cudaStreamGetAttribute(stream: Handle, id: i32, value: *mut c_void) => cuStreamGetAttribute(stream, id, value);
    cudaStreamCopyAttributes(to: Handle, from: Handle) => cuStreamCopyAttributes(to, from);
    cudaStreamBeginCaptureToGraph(stream: Handle, graph: Handle, nodes: *const Handle, edges: *const c_void, count: usize, mode: i32) => cuStreamBeginCaptureToGraph(stream, graph, nodes, edges, count, mode);
    cudaThreadExchangeStreamCaptureMode(mode: *mut i32) => cuThreadExchangeStreamCaptureMode(mode);
    cudaLaunchHostFunc(stream: Handle, function: HostFunction, data: Pointer) => cuLaunchHostFunc(stream, function, data);

    cudaEventCreate(event: *mut Handle) => cuEventCreate(event, 0);
    cudaEventCreateWithFlags(event: *mut Handle, flags: u32) => cuEventCreate(event, flags);
    cudaEventRecord(event: Handle, stream: Handle) => cuEventRecord(event, stream);
    cudaEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) => cuEventRecordWithFlags(event, stream, flags);
    cudaEventQuery(event: Handle) => cuEventQuery(event);
    cudaEventSynchronize(event: Handle) => cuEventSynchronize(event);
    cudaEventDestroy(event: Handle) => cuEventDestroy_v2(event);
    cudaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) => cuEventElapsedTime(milliseconds, start, end);

    cudaGraphCreate(graph: *mut Handle, flags: u32) => cuGraphCreate(graph, flags);
    cudaGraphDestroy(graph: Handle) => cuGraphDestroy(graph);
    cudaGraphInstantiate(exec: *mut Handle, graph: Handle, flags: u64) => cuGraphInstantiateWithFlags(exec, graph, flags);
    cudaGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64) => cuGraphInstantiateWithFlags(exec, graph, flags);
    cudaGraphLaunch(exec: Handle, stream: Handle) => cuGraphLaunch(exec, stream);
    cudaGraphExecDestroy(exec: Handle) => cuGraphExecDestroy(exec);
    cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) => cuGraphGetNodes(graph, nodes, count);

    cudaProfilerStart() => cuProfilerStart();
    cudaProfilerStop() => cuProfilerStop();

    cudaMallocAsync(pointer: *mut Pointer, bytes: usize, stream: Handle) => cuMemAllocAsync(pointer, bytes, stream);
    cudaMallocFromPoolAsync(pointer: *mut Pointer, bytes: usize, pool: Handle, stream: Handle) => cuMemAllocFromPoolAsync(pointer, bytes, pool, stream);
    cudaFreeAsync(pointer: Pointer, stream: Handle) => cuMemFreeAsync(pointer, stream);
    cudaMemPoolCreate(pool: *mut Handle, properties: *const c_void) => cuMemPoolCreate(pool, properties);
    cudaMemPoolDestroy(pool: Handle) => cuMemPoolDestroy(pool);
    cudaMemPoolTrimTo(pool: Handle, bytes: usize) => cuMemPoolTrimTo(pool, bytes);
    cudaMemPoolSetAttribute(pool: Handle, attribute: i32, value: *mut c_void) => cuMemPoolSetAttribute(pool, attribute, value);
    cudaMemPoolGetAttribute(pool: Handle, attribute: i32, value: *mut c_void) => cuMemPoolGetAttribute(pool, attribute, value);
}
