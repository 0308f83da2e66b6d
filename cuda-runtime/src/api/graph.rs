//! Graphs: nodes, edges, clones, user objects.

use std::ffi::c_void;

use super::copy::{boxes, line};
use super::forward;
use crate::driver::Driver;
use crate::error::{Error, INVALID_VALUE, Result};
use crate::registry::function;
use crate::state::{done, enter};
use crate::types::*;

forward! {
    cudaGraphClone(clone: *mut Handle, graph: Handle) => cuGraphClone(clone, graph);
    cudaGraphInstantiateWithParams(exec: *mut Handle, graph: Handle, params: Pointer) => cuGraphInstantiateWithParams(exec, graph, params);
    cudaGraphUpload(exec: Handle, stream: Handle) => cuGraphUpload(exec, stream);
    cudaGraphExecUpdate(exec: Handle, graph: Handle, info: Pointer) => cuGraphExecUpdate_v2(exec, graph, info);
    cudaGraphExecGetFlags(exec: Handle, flags: *mut u64) => cuGraphExecGetFlags(exec, flags);
    cudaGraphDestroyNode(node: Handle) => cuGraphDestroyNode(node);
    cudaGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) => cuGraphGetRootNodes(graph, nodes, count);
    cudaGraphNodeGetType(node: Handle, kind: *mut i32) => cuGraphNodeGetType(node, kind);
    cudaGraphNodeFindInClone(node: *mut Handle, original: Handle, clone: Handle) => cuGraphNodeFindInClone(node, original, clone);
    cudaGraphNodeSetEnabled(exec: Handle, node: Handle, on: u32) => cuGraphNodeSetEnabled(exec, node, on);
    cudaGraphNodeGetEnabled(exec: Handle, node: Handle, on: *mut u32) => cuGraphNodeGetEnabled(exec, node, on);

    cudaGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) => cuGraphAddEmptyNode(node, graph, after, count);
    cudaGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle) => cuGraphAddChildGraphNode(node, graph, after, count, child);
    cudaGraphChildGraphNodeGetGraph(node: Handle, graph: *mut Handle) => cuGraphChildGraphNodeGetGraph(node, graph);
    cudaGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) => cuGraphAddEventRecordNode(node, graph, after, count, event);
    cudaGraphAddEventWaitNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) => cuGraphAddEventWaitNode(node, graph, after, count, event);
    cudaGraphEventRecordNodeGetEvent(node: Handle, event: *mut Handle) => cuGraphEventRecordNodeGetEvent(node, event);
    cudaGraphEventRecordNodeSetEvent(node: Handle, event: Handle) => cuGraphEventRecordNodeSetEvent(node, event);
    cudaGraphEventWaitNodeGetEvent(node: Handle, event: *mut Handle) => cuGraphEventWaitNodeGetEvent(node, event);
    cudaGraphEventWaitNodeSetEvent(node: Handle, event: Handle) => cuGraphEventWaitNodeSetEvent(node, event);
    cudaGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event: Handle) => cuGraphExecEventRecordNodeSetEvent(exec, node, event);
    cudaGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event: Handle) => cuGraphExecEventWaitNodeSetEvent(exec, node, event);

    // cudaHostNodeParams and cudaMemsetParams are the driver's structures.
    cudaGraphAddHostNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const c_void) => cuGraphAddHostNode(node, graph, after, count, params);
    cudaGraphHostNodeGetParams(node: Handle, params: *mut c_void) => cuGraphHostNodeGetParams(node, params);
    cudaGraphHostNodeSetParams(node: Handle, params: *const c_void) => cuGraphHostNodeSetParams(node, params);
    cudaGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: *const c_void) => cuGraphExecHostNodeSetParams(exec, node, params);
    cudaGraphAddMemsetNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const c_void) => cuGraphAddMemsetNode(node, graph, after, count, params, 0);
    cudaGraphMemsetNodeGetParams(node: Handle, params: *mut c_void) => cuGraphMemsetNodeGetParams(node, params);
    cudaGraphMemsetNodeSetParams(node: Handle, params: *const c_void) => cuGraphMemsetNodeSetParams(node, params);
    cudaGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const c_void) => cuGraphExecMemsetNodeSetParams(exec, node, params, 0);

    // cudaMemAllocNodeParams is the driver's structure.
    cudaGraphAddMemAllocNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut c_void) => cuGraphAddMemAllocNode(node, graph, after, count, params);
    cudaGraphMemAllocNodeGetParams(node: Handle, params: *mut c_void) => cuGraphMemAllocNodeGetParams(node, params);
    cudaGraphAddMemFreeNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, pointer: Pointer) => cuGraphAddMemFreeNode(node, graph, after, count, pointer);
    cudaGraphMemFreeNodeGetParams(node: Handle, pointer: *mut Pointer) => cuGraphMemFreeNodeGetParams(node, pointer);
    cudaDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: *mut c_void) => cuDeviceGetGraphMemAttribute(device, attribute, value);
    cudaDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: *mut c_void) => cuDeviceSetGraphMemAttribute(device, attribute, value);
    cudaDeviceGraphMemTrim(device: i32) => cuDeviceGraphMemTrim(device);

    cudaUserObjectCreate(object: *mut Handle, data: Pointer, destroy: HostFunction, count: u32, flags: u32) => cuUserObjectCreate(object, data, destroy, count, flags);
    cudaUserObjectRetain(object: Handle, count: u32) => cuUserObjectRetain(object, count);
    cudaUserObjectRelease(object: Handle, count: u32) => cuUserObjectRelease(object, count);
    cudaGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) => cuGraphRetainUserObject(graph, object, count, flags);
    cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: u32) => cuGraphReleaseUserObject(graph, object, count);
}

// Edges have data in CUDA 13; all of them are plain ones here.
#[cfg(not(cuda12))]
forward! {
    cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, data: Pointer, count: *mut usize) => cuGraphGetEdges_v2(graph, from, to, data, count);
    cudaGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, data: Pointer, count: *mut usize) => cuGraphNodeGetDependencies_v2(node, nodes, data, count);
    cudaGraphNodeGetDependentNodes(node: Handle, nodes: *mut Handle, data: Pointer, count: *mut usize) => cuGraphNodeGetDependentNodes_v2(node, nodes, data, count);
    cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, _data: Pointer, count: usize) => cuGraphAddDependencies(graph, from, to, count);
    cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, _data: Pointer, count: usize) => cuGraphRemoveDependencies(graph, from, to, count);
    cudaStreamGetCaptureInfo(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: *mut Pointer, edges: *mut Pointer, count: *mut usize) => cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
    cudaStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, edges: *const c_void, count: usize, flags: u32) => cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags);
}
#[cfg(cuda12)]
forward! {
    cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) => cuGraphGetEdges(graph, from, to, count);
    cudaGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: Pointer, count: *mut usize) => cuGraphGetEdges_v2(graph, from, to, data, count);
    cudaGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) => cuGraphNodeGetDependencies(node, nodes, count);
    cudaGraphNodeGetDependencies_v2(node: Handle, nodes: *mut Handle, data: Pointer, count: *mut usize) => cuGraphNodeGetDependencies_v2(node, nodes, data, count);
    cudaGraphNodeGetDependentNodes(node: Handle, nodes: *mut Handle, count: *mut usize) => cuGraphNodeGetDependentNodes(node, nodes, count);
    cudaGraphNodeGetDependentNodes_v2(node: Handle, nodes: *mut Handle, data: Pointer, count: *mut usize) => cuGraphNodeGetDependentNodes_v2(node, nodes, data, count);
    cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) => cuGraphAddDependencies(graph, from, to, count);
    cudaGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, _data: Pointer, count: usize) => cuGraphAddDependencies(graph, from, to, count);
    cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) => cuGraphRemoveDependencies(graph, from, to, count);
    cudaGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, _data: Pointer, count: usize) => cuGraphRemoveDependencies(graph, from, to, count);
    cudaStreamGetCaptureInfo(stream: Handle, status: *mut i32, id: *mut u64) => cuStreamGetCaptureInfo(stream, status, id);
    cudaStreamGetCaptureInfo_v2(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: *mut Pointer, count: *mut usize) => cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
    cudaStreamGetCaptureInfo_v3(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: *mut Pointer, edges: *mut Pointer, count: *mut usize) => cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
    cudaStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, count: usize, flags: u32) => cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
    cudaStreamUpdateCaptureDependencies_v2(stream: Handle, nodes: *const Handle, edges: *const c_void, count: usize, flags: u32) => cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags);
}

/// Functions that hand the driver its form of what the caller described.
macro_rules! described {
    ($($name:ident($($arg:ident: $ty:ty),*) [$made:ident = $make:expr] => $to:ident($($value:expr),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            let call = |d: &Driver| -> Result {
                // SAFETY: null or the caller's structure.
                let $made = unsafe { $make }?;
                // SAFETY: the caller promises the same to this function as this one to the driver's.
                Error::check(unsafe { (d.$to)($($value),*) })
            };
            done(enter().and_then(call))
        }
    )*};
}

/// # Safety
/// `params` is null or points to a description.
unsafe fn kernel(params: *const KernelNode) -> Result<KernelNode> {
    // SAFETY: as the caller says.
    let p = unsafe { params.as_ref() }.ok_or(INVALID_VALUE)?;
    Ok(KernelNode { function: function(p.function)?, ..*p })
}

/// # Safety
/// `params` is null or points to a description.
unsafe fn copy(params: *const Copy3D) -> Result<DriverCopy> {
    // SAFETY: as the caller says.
    unsafe { boxes(params, None) }?.describe()
}

/// # Safety
/// None is needed; the other two have one.
unsafe fn plain(to: Pointer, from: Pointer, bytes: usize, kind: i32) -> Result<DriverCopy> {
    line(to, from, bytes, kind).describe()
}

described! {
    cudaGraphAddKernelNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNode)
        [k = kernel(params)] => cuGraphAddKernelNode(node, graph, after, count, &k);
    cudaGraphKernelNodeSetParams(node: Handle, params: *const KernelNode)
        [k = kernel(params)] => cuGraphKernelNodeSetParams(node, &k);
    cudaGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const KernelNode)
        [k = kernel(params)] => cuGraphExecKernelNodeSetParams(exec, node, &k);
    cudaGraphAddMemcpyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const Copy3D)
        [c = copy(params)] => cuGraphAddMemcpyNode(node, graph, after, count, &c, 0);
    cudaGraphMemcpyNodeSetParams(node: Handle, params: *const Copy3D)
        [c = copy(params)] => cuGraphMemcpyNodeSetParams(node, &c);
    cudaGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, params: *const Copy3D)
        [c = copy(params)] => cuGraphExecMemcpyNodeSetParams(exec, node, &c, 0);
}

// The same for plain copies, of which nothing in the caller's memory is read.
described! {
    cudaGraphAddMemcpyNode1D(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, to: Pointer, from: Pointer, bytes: usize, kind: i32)
        [c = plain(to, from, bytes, kind)] => cuGraphAddMemcpyNode(node, graph, after, count, &c, 0);
    cudaGraphMemcpyNodeSetParams1D(node: Handle, to: Pointer, from: Pointer, bytes: usize, kind: i32)
        [c = plain(to, from, bytes, kind)] => cuGraphMemcpyNodeSetParams(node, &c);
    cudaGraphExecMemcpyNodeSetParams1D(exec: Handle, node: Handle, to: Pointer, from: Pointer, bytes: usize, kind: i32)
        [c = plain(to, from, bytes, kind)] => cuGraphExecMemcpyNodeSetParams(exec, node, &c, 0);
}
