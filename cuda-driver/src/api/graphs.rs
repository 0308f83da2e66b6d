//! Graphs.

use std::sync::Arc;

use super::copies::{self, Copy3};
use super::launches::{parameters, prepare};
use super::symbol::functions;
use crate::context::{self, Context};
use crate::error::{Error, Result};
use crate::event::{self, Event};
use crate::graph::{AUTO_FREE, EXECS, Exec, GRAPHS, Graph, NODES};
use crate::launch::KernelLaunch;
use crate::module;
use crate::stream;
use crate::work::{Fill, Work};
use c_border::plain_struct;
use c_border::{In, Out, Raw};

plain_struct! {
    /// `CUDA_KERNEL_NODE_PARAMS` of version 1.
    KernelNode {
        function: usize, grid: [u32; 3], block: [u32; 3], shared: u32, params: In<Raw>, extra: In<usize>,
    }
    /// `CUDA_KERNEL_NODE_PARAMS` of version 2.
    KernelNode2 { base: KernelNode, kernel: usize, context: usize }
    /// `CUDA_MEMSET_NODE_PARAMS`.
    FillNode { at: u64, pitch: usize, value: u32, element: u32, width: usize, height: usize }
    /// `CUDA_HOST_NODE_PARAMS`.
    HostNode { function: usize, data: Raw }
}

pub(super) fn graph(handle: usize) -> Result<Arc<Graph>> {
    crate::driver::get()?;
    GRAPHS.get(handle).ok_or(Error::InvalidValue)
}

pub(super) fn exec(handle: usize) -> Result<Arc<Exec>> {
    crate::driver::get()?;
    EXECS.get(handle).ok_or(Error::InvalidValue)
}

/// An event that a node is made with.
pub(super) fn graph_event(handle: usize) -> Result<Arc<Event>> {
    event::get(handle).map_err(|_| Error::InvalidValue)
}

pub(super) fn node_graph(handle: usize) -> Result<Arc<Graph>> {
    crate::driver::get()?;
    NODES.get(handle).and_then(|graph| graph.upgrade()).ok_or(Error::InvalidValue)
}

fn kernel(p: &KernelNode, handle: usize) -> Result<Work> {
    let function = module::function(handle)?;
    let context = function.context()?;
    let params = parameters(&function, p.params, p.extra)?;
    let (grid, block, shared) = (p.grid, p.block, p.shared);
    let launch =
        KernelLaunch { function, grid, block, cluster: [0; 3], shared, params, cooperative: false };
    Ok(Work::Kernel(prepare(&context, launch)?))
}

pub(super) fn kernel2(p: &KernelNode2) -> Result<Work> {
    kernel(&p.base, if p.base.function != 0 { p.base.function } else { p.kernel })
}

fn node_context(handle: usize) -> Result<Arc<Context>> {
    if handle == 0 { context::current() } else { context::get(handle) }
}

pub(super) fn copy(p: &Copy3, context: usize) -> Result<Work> {
    let context = node_context(context)?;
    let copy = copies::describe(&context, p)?;
    copy.check(&context, true)?;
    Ok(Work::Copy(Box::new(copy)))
}

pub(super) fn fill(p: &FillNode, context: usize) -> Result<Work> {
    let context = node_context(context)?;
    let (pitch, width, height) = (p.pitch as u64, p.width as u64, p.height as u64);
    let fill = Fill { address: p.at, pitch, value: p.value, element: p.element, width, height };
    Ok(Work::Fill(copies::fill(&context, fill, true)?))
}

pub(super) fn host(p: &HostNode) -> Result<Work> {
    match c_border::callback::host_fn(p.function) {
        None => Err(Error::InvalidValue),
        f => Ok(Work::Host(f, p.data)),
    }
}

pub(super) fn add(
    out: Out<usize>,
    handle: usize,
    after: In<usize>,
    count: usize,
    work: Work,
) -> Result {
    out.required()?;
    Ok(out.set(graph(handle)?.add(work, &after.list(count)?)?)?)
}

/// `CUgraphInstantiate_flags` beside [`AUTO_FREE`]: upload, launch from the device, priorities.
const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const NODE_PRIORITY: u64 = 8;

fn instantiate(out: Out<usize>, handle: usize, flags: u64) -> Result {
    out.required()?;
    let both = AUTO_FREE | DEVICE_LAUNCH;
    if flags & !(both | UPLOAD | NODE_PRIORITY) != 0 || flags & both == both {
        return Err(Error::InvalidValue);
    }
    Ok(out.set(EXECS.give(graph(handle)?.instantiate(flags)?))?)
}

/// Gives the caller's list its elements, or only their number.
fn list(values: &[usize], out: Out<usize>, count: Out<usize>) -> Result {
    count.required()?;
    if out.is_null() {
        return Ok(count.set(values.len())?);
    }
    let room = count.get()?;
    let n = room.min(values.len());
    out.put_all(&values[..n]);
    for i in n..room {
        out.at(i).put(0);
    }
    Ok(count.set(n)?)
}

fn edges(handle: usize, from: Out<usize>, to: Out<usize>, count: Out<usize>) -> Result {
    let found = graph(handle)?;
    let pairs: Vec<(usize, usize)> = found
        .nodes()
        .iter()
        .flat_map(|n| n.after.iter().map(|a| (*a, n.handle)).collect::<Vec<_>>())
        .collect();
    count.required()?;
    if from.is_null() && to.is_null() {
        return Ok(count.set(pairs.len())?);
    }
    let n = count.get()?.min(pairs.len());
    for (i, (a, b)) in pairs.iter().take(n).enumerate() {
        from.at(i).set(*a)?;
        to.at(i).set(*b)?;
    }
    Ok(count.set(n)?)
}

fn depend(handle: usize, from: In<usize>, to: In<usize>, count: usize, on: bool) -> Result {
    let found = graph(handle)?;
    for i in 0..count {
        let (a, b) = (from.at(i)?, to.at(i)?);
        found.with(a, |_| ())?;
        if on && (a == b || found.reaches(b, &[a])) {
            return Err(Error::InvalidValue);
        }
        found.with(b, |node| {
            let known = node.after.contains(&a);
            match (on, known) {
                (true, false) => node.after.push(a),
                (false, true) => node.after.retain(|h| *h != a),
                _ => return Err(Error::InvalidValue),
            }
            Ok(())
        })??;
    }
    Ok(())
}

/// Replaces the work of a node by work of the same kind.
pub(super) fn replace(handle: usize, work: Work) -> Result {
    node_graph(handle)?.with(handle, |node| exchange(&mut node.work, work))?
}

pub(super) fn exchange(old: &mut Work, new: Work) -> Result {
    if old.node_type() != new.node_type() {
        return Err(Error::InvalidValue);
    }
    *old = new;
    Ok(())
}

functions! {
    cuGraphCreate [10000 => cuGraphCreate] (out: Out<usize>, flags: u32) {
        crate::driver::get()?;
        out.required()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        Ok(out.set(GRAPHS.give(Arc::new(Graph::default())))?)
    }

    cuGraphDestroy [10000 => cuGraphDestroy] (handle: usize) {
        graph(handle)?.clear();
        GRAPHS.remove(handle);
        Ok(())
    }

    cuGraphClone [10000 => cuGraphClone] (out: Out<usize>, original: usize) {
        out.required()?;
        let original = graph(original)?;
        original.has_no_memory()?;
        Ok(out.set(GRAPHS.give(original.copy().0))?)
    }

    cuGraphAddEmptyNode [10000 => cuGraphAddEmptyNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize) {
        add(out, graph, after, count, Work::Nothing)
    }

    cuGraphAddKernelNode [10000 => cuGraphAddKernelNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<KernelNode>) {
        let p = params.get()?;
        add(out, graph, after, count, kernel(&p, p.function)?)
    }

    cuGraphAddKernelNode [12000 => cuGraphAddKernelNode_v2]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<KernelNode2>) {
        add(out, graph, after, count, kernel2(&params.get()?)?)
    }

    cuGraphKernelNodeSetParams [10000 => cuGraphKernelNodeSetParams] (node: usize, params: In<KernelNode>) {
        let p = params.get()?;
        replace(node, kernel(&p, p.function)?)
    }

    cuGraphKernelNodeSetParams [12000 => cuGraphKernelNodeSetParams_v2] (node: usize, params: In<KernelNode2>) {
        replace(node, kernel2(&params.get()?)?)
    }

    cuGraphExecKernelNodeSetParams [10010 => cuGraphExecKernelNodeSetParams]
    (executable: usize, node: usize, params: In<KernelNode>) {
        let found = exec(executable)?;
        let p = params.get()?;
        let work = kernel(&p, p.function)?;
        found.with(node, |n| exchange(&mut n.work, work))?
    }

    cuGraphExecKernelNodeSetParams [12000 => cuGraphExecKernelNodeSetParams_v2]
    (executable: usize, node: usize, params: In<KernelNode2>) {
        let found = exec(executable)?;
        let work = kernel2(&params.get()?)?;
        found.with(node, |n| exchange(&mut n.work, work))?
    }

    cuGraphAddMemcpyNode [10000 => cuGraphAddMemcpyNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<Copy3>, context: usize) {
        add(out, graph, after, count, copy(&params.get()?, context)?)
    }

    cuGraphMemcpyNodeSetParams [10000 => cuGraphMemcpyNodeSetParams] (node: usize, params: In<Copy3>) {
        replace(node, copy(&params.get()?, 0)?)
    }

    cuGraphExecMemcpyNodeSetParams [10020 => cuGraphExecMemcpyNodeSetParams]
    (executable: usize, node: usize, params: In<Copy3>, context: usize) {
        let found = exec(executable)?;
        let work = copy(&params.get()?, context)?;
        found.with(node, |n| exchange(&mut n.work, work))?
    }

    cuGraphAddMemsetNode [10000 => cuGraphAddMemsetNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<FillNode>, context: usize) {
        add(out, graph, after, count, fill(&params.get()?, context)?)
    }

    cuGraphMemsetNodeSetParams [10000 => cuGraphMemsetNodeSetParams] (node: usize, params: In<FillNode>) {
        replace(node, fill(&params.get()?, 0)?)
    }

    cuGraphExecMemsetNodeSetParams [10020 => cuGraphExecMemsetNodeSetParams]
    (executable: usize, node: usize, params: In<FillNode>, context: usize) {
        let found = exec(executable)?;
        let work = fill(&params.get()?, context)?;
        found.with(node, |n| exchange(&mut n.work, work))?
    }

    cuGraphAddHostNode [10000 => cuGraphAddHostNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<HostNode>) {
        add(out, graph, after, count, host(&params.get()?)?)
    }

    cuGraphHostNodeSetParams [10000 => cuGraphHostNodeSetParams] (node: usize, params: In<HostNode>) {
        replace(node, host(&params.get()?)?)
    }

    cuGraphExecHostNodeSetParams [10020 => cuGraphExecHostNodeSetParams]
    (executable: usize, node: usize, params: In<HostNode>) {
        let found = exec(executable)?;
        let work = host(&params.get()?)?;
        found.with(node, |n| exchange(&mut n.work, work))?
    }

    cuGraphAddChildGraphNode [10000 => cuGraphAddChildGraphNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, child: usize) {
        out.required()?;
        Ok(out.set(self::graph(graph)?.add_child(&*self::graph(child)?, &after.list(count)?)?)?)
    }

    cuGraphAddEventRecordNode [11010 => cuGraphAddEventRecordNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, event: usize) {
        add(out, graph, after, count, Work::Record(graph_event(event)?))
    }

    cuGraphAddEventWaitNode [11010 => cuGraphAddEventWaitNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, event: usize) {
        add(out, graph, after, count, Work::Await(graph_event(event)?))
    }

    cuGraphDestroyNode [10000 => cuGraphDestroyNode] (node: usize) {
        node_graph(node)?.remove(node)
    }

    cuGraphNodeGetType [10000 => cuGraphNodeGetType] (node: usize, kind: Out<u32>) {
        let found = node_graph(node)?.with(node, |n| if n.child != 0 { 4 } else { n.work.node_type() })?;
        Ok(kind.set(found)?)
    }

    cuGraphGetNodes [10000 => cuGraphGetNodes] (handle: usize, nodes: Out<usize>, count: Out<usize>) {
        let all: Vec<usize> = graph(handle)?.nodes().iter().map(|n| n.handle).collect();
        list(&all, nodes, count)
    }

    cuGraphGetRootNodes [10000 => cuGraphGetRootNodes] (handle: usize, nodes: Out<usize>, count: Out<usize>) {
        let found = graph(handle)?;
        let roots: Vec<usize> =
            found.nodes().iter().filter(|n| n.after.is_empty()).map(|n| n.handle).collect();
        list(&roots, nodes, count)
    }

    cuGraphGetEdges [10000 => cuGraphGetEdges]
    (handle: usize, from: Out<usize>, to: Out<usize>, count: Out<usize>) {
        edges(handle, from, to, count)
    }

    cuGraphGetEdges [12030 => cuGraphGetEdges_v2]
    (handle: usize, from: Out<usize>, to: Out<usize>, data: Out<u64>, count: Out<usize>) {
        edges(handle, from, to, count)?;
        if !data.is_null() {
            (0..count.get()?).for_each(|i| data.at(i).put(0));
        }
        Ok(())
    }

    cuGraphNodeGetDependencies [10000 => cuGraphNodeGetDependencies]
    (node: usize, nodes: Out<usize>, count: Out<usize>) {
        let after = node_graph(node)?.with(node, |n| n.after.clone())?;
        list(&after, nodes, count)
    }

    cuGraphNodeGetDependencies [12030 => cuGraphNodeGetDependencies_v2]
    (node: usize, nodes: Out<usize>, data: Out<u64>, count: Out<usize>) {
        let after = node_graph(node)?.with(node, |n| n.after.clone())?;
        list(&after, nodes, count)
    }

    cuGraphNodeGetDependentNodes [10000 => cuGraphNodeGetDependentNodes]
    (node: usize, nodes: Out<usize>, count: Out<usize>) {
        let found = node_graph(node)?;
        let next: Vec<usize> =
            found.nodes().iter().filter(|n| n.after.contains(&node)).map(|n| n.handle).collect();
        list(&next, nodes, count)
    }

    cuGraphNodeGetDependentNodes [12030 => cuGraphNodeGetDependentNodes_v2]
    (node: usize, nodes: Out<usize>, data: Out<u64>, count: Out<usize>) {
        let found = node_graph(node)?;
        let next: Vec<usize> =
            found.nodes().iter().filter(|n| n.after.contains(&node)).map(|n| n.handle).collect();
        list(&next, nodes, count)
    }

    cuGraphAddDependencies [10000 => cuGraphAddDependencies]
    (graph: usize, from: In<usize>, to: In<usize>, count: usize) {
        depend(graph, from, to, count, true)
    }

    cuGraphAddDependencies [12030 => cuGraphAddDependencies_v2]
    (graph: usize, from: In<usize>, to: In<usize>, data: Raw, count: usize) {
        depend(graph, from, to, count, true)
    }

    cuGraphRemoveDependencies [10000 => cuGraphRemoveDependencies]
    (graph: usize, from: In<usize>, to: In<usize>, count: usize) {
        depend(graph, from, to, count, false)
    }

    cuGraphRemoveDependencies [12030 => cuGraphRemoveDependencies_v2]
    (graph: usize, from: In<usize>, to: In<usize>, data: Raw, count: usize) {
        depend(graph, from, to, count, false)
    }

    cuGraphInstantiate [10000 => cuGraphInstantiate, 11000 => cuGraphInstantiate_v2]
    (out: Out<usize>, graph: usize, bad: Out<usize>, log: Raw, size: usize) {
        bad.put(0);
        instantiate(out, graph, 0)
    }

    cuGraphInstantiateWithFlags [11040 => cuGraphInstantiateWithFlags] (out: Out<usize>, graph: usize, flags: u64) {
        // There is no stream to upload in.
        if flags & UPLOAD != 0 {
            return Err(Error::InvalidValue);
        }
        instantiate(out, graph, flags)
    }

    cuGraphInstantiateWithParams [12000 => cuGraphInstantiateWithParams; 12000 => cuGraphInstantiateWithParams_ptsz]
    (out: Out<usize>, graph: usize, params: Out<[u64; 4]>) {
        // Flags, stream to upload in (there is nothing to upload), bad node, result (CU_GRAPH_INSTANTIATE_ERROR is 1).
        let [flags, stream, ..] = params.get()?;
        let made = instantiate(out, graph, flags);
        params.put([flags, stream, 0, u64::from(made.is_err())]);
        made
    }

    cuGraphLaunch [10000 => cuGraphLaunch; 10000 => cuGraphLaunch_ptsz] (executable: usize, stream: usize) {
        let found = exec(executable)?;
        let stream = stream::get(stream)?;
        let works = found.launch(stream.capture().is_some())?;
        stream.enqueue(Work::Graph(Arc::new(works))).map(|_| ())
    }

    cuGraphUpload [11010 => cuGraphUpload; 11010 => cuGraphUpload_ptsz] (executable: usize, stream: usize) {
        exec(executable)?;
        stream::get(stream).map(|_| ())
    }

    cuGraphExecDestroy [10000 => cuGraphExecDestroy] (executable: usize) {
        exec(executable)?;
        EXECS.remove(executable);
        Ok(())
    }

    cuGraphExecUpdate [10020 => cuGraphExecUpdate]
    (executable: usize, graph: usize, bad: Out<usize>, result: Out<u32>) {
        let updated = exec(executable)?.update(&*self::graph(graph)?);
        bad.put(0);
        result.put(if updated.is_ok() { 0 } else { 2 });
        updated
    }

    cuGraphExecUpdate [12000 => cuGraphExecUpdate_v2] (executable: usize, graph: usize, info: Out<[u64; 3]>) {
        let updated = exec(executable)?.update(&*self::graph(graph)?);
        info.put([if updated.is_ok() { 0 } else { 2 }, 0, 0]);
        updated
    }

    cuGraphExecGetFlags [12000 => cuGraphExecGetFlags] (executable: usize, flags: Out<u64>) {
        Ok(flags.set(exec(executable)?.flags)?)
    }

    cuGraphNodeSetEnabled [11060 => cuGraphNodeSetEnabled] (executable: usize, node: usize, on: u32) {
        exec(executable)?.enable(node, on != 0)
    }

    cuGraphNodeGetEnabled [11060 => cuGraphNodeGetEnabled] (executable: usize, node: usize, on: Out<u32>) {
        Ok(on.set(u32::from(exec(executable)?.enabled(node)?))?)
    }
}
