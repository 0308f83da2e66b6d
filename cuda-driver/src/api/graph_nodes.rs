//! Graph nodes of any kind by one structure, what nodes hold, and user objects.

use std::sync::Arc;

use super::copies::Copy3;
use super::graphs::{
    FillNode, HostNode, KernelNode, KernelNode2, add, copy, exchange, exec, fill, graph,
    graph_event, host, kernel2, node_graph, replace,
};
use super::pools::{self, Props};
use super::symbol::functions;
use crate::context;
use crate::error::{Error, Result};
use crate::event::{EVENTS, Event};
use crate::graph::{GRAPHS, Graph};
use crate::graph_memory::GraphMemory;
use crate::user_object::{Held, OBJECTS, UserObject};
use crate::work::Work;
use c_border::callback::HostFn;
use c_border::plain_struct;
use c_border::{In, Out, Raw};

plain_struct! {
    /// The head of `CUgraphNodeParams`; what follows depends on the kind.
    Head { kind: u32, reserved: [u32; 3] }
    /// `CUDA_MEMCPY_NODE_PARAMS`.
    CopyNode { flags: i32, reserved: i32, context: usize, copy: Copy3 }
    /// `CUDA_MEMSET_NODE_PARAMS_v2`.
    FillNode2 { base: FillNode, context: usize }
    /// `CUDA_MEM_ALLOC_NODE_PARAMS`.
    AllocationNode { pool: Props, access: usize, count: usize, bytes: usize, address: u64 }
}

/// What a node of some kind is made from.
enum Made {
    Work(Work),
    Child(Arc<Graph>),
    /// The parameters of memory that it allocates.
    Allocation(Raw),
    /// The address of memory that it frees.
    Deallocation(u64),
}

fn made(params: Raw) -> Result<Made> {
    let body = params.address() + size_of::<Head>();
    let one = || In::<usize>::from(Raw::new(body)).get();
    Ok(Made::Work(match In::<Head>::from(params).get()?.kind {
        0 => kernel2(&In::<KernelNode2>::from(Raw::new(body)).get()?)?,
        1 => {
            let p = In::<CopyNode>::from(Raw::new(body)).get()?;
            copy(&p.copy, p.context)?
        }
        2 => {
            let p = In::<FillNode2>::from(Raw::new(body)).get()?;
            fill(&p.base, p.context)?
        }
        3 => host(&In::<HostNode>::from(Raw::new(body)).get()?)?,
        4 => return Ok(Made::Child(graph(one()?)?)),
        5 => Work::Nothing,
        6 => Work::Await(graph_event(one()?)?),
        7 => Work::Record(graph_event(one()?)?),
        10 => return Ok(Made::Allocation(Raw::new(body))),
        11 => return Ok(Made::Deallocation(In::<u64>::from(Raw::new(body)).get()?)),
        // Semaphores of other APIs, batches of memory operations, conditions.
        8 | 9 | 12 | 13 => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidValue),
    }))
}

fn allocation(
    out: Out<usize>,
    handle: usize,
    after: In<usize>,
    count: usize,
    params: Raw,
) -> Result {
    let to = Out::<AllocationNode>::new(params.address());
    let mut p = In::<AllocationNode>::from(params).get()?;
    let (graph, context) = (graph(handle)?, context::current()?);
    out.required()?;
    pools::judge(&p.pool)?;
    let made = GraphMemory::reserve(&context, p.bytes as u64)?;
    p.address = made.address();
    out.set(graph.add(Work::Allocate(made), &after.list(count)?)?)?;
    Ok(to.set(p)?)
}

fn deallocation(out: Out<usize>, handle: usize, after: In<usize>, count: usize, at: u64) -> Result {
    let work = graph(handle)?.freeing(at)?;
    add(out, handle, after, count, work)
}

fn add_any(out: Out<usize>, handle: usize, after: In<usize>, count: usize, params: Raw) -> Result {
    match made(params)? {
        Made::Work(work) => add(out, handle, after, count, work),
        Made::Child(child) => {
            out.required()?;
            Ok(out.set(graph(handle)?.add_child(&child, &after.list(count)?)?)?)
        }
        Made::Allocation(params) => allocation(out, handle, after, count, params),
        Made::Deallocation(at) => deallocation(out, handle, after, count, at),
    }
}

/// New work for a node; child graphs and memory are not exchanged.
fn work(params: Raw) -> Result<Work> {
    match made(params)? {
        Made::Work(work) => Ok(work),
        Made::Child(_) => Err(Error::NotSupported),
        // Such nodes stay as they are.
        Made::Allocation(_) | Made::Deallocation(_) => Err(Error::InvalidValue),
    }
}

/// What `read` makes of a node's work.
fn read<T>(node: usize, read: impl FnOnce(&Work) -> Option<T>) -> Result<T> {
    node_graph(node)?.with(node, |n| read(&n.work))?.ok_or(Error::InvalidValue)
}

fn kernel_params(node: usize) -> Result<KernelNode> {
    node_graph(node)?.with(node, |n| {
        let Work::Kernel(launch) = &n.work else { return Err(Error::InvalidValue) };
        let launch = launch.clone();
        let params = n.arguments(&launch.function.resources()?.params);
        Ok(KernelNode {
            function: launch.function.handle,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            params: In::from(Raw::new(params)),
            extra: In::none(),
        })
    })?
}

fn handle_of(event: &Arc<Event>) -> Option<usize> {
    EVENTS.all().into_iter().find(|(_, e)| Arc::ptr_eq(e, event)).map(|(handle, _)| handle)
}

fn object(handle: usize) -> Result<Arc<UserObject>> {
    crate::driver::get()?;
    OBJECTS.get(handle).ok_or(Error::InvalidValue)
}

functions! {
    cuGraphAddNode [12020 => cuGraphAddNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: Raw) {
        add_any(out, graph, after, count, params)
    }

    cuGraphAddNode [12030 => cuGraphAddNode_v2]
    (out: Out<usize>, graph: usize, after: In<usize>, edges: Raw, count: usize, params: Raw) {
        add_any(out, graph, after, count, params)
    }

    cuGraphNodeSetParams [12020 => cuGraphNodeSetParams] (node: usize, params: Raw) {
        replace(node, work(params)?)
    }

    cuGraphExecNodeSetParams [12020 => cuGraphExecNodeSetParams] (executable: usize, node: usize, params: Raw) {
        let (found, work) = (exec(executable)?, work(params)?);
        found.with(node, |n| exchange(&mut n.work, work))?
    }

    cuGraphKernelNodeGetParams [10000 => cuGraphKernelNodeGetParams] (node: usize, params: Out<KernelNode>) {
        params.required()?;
        Ok(params.set(kernel_params(node)?)?)
    }

    cuGraphKernelNodeGetParams [12000 => cuGraphKernelNodeGetParams_v2] (node: usize, params: Out<KernelNode2>) {
        params.required()?;
        Ok(params.set(KernelNode2 { base: kernel_params(node)?, kernel: 0, context: 0 })?)
    }

    cuGraphMemsetNodeGetParams [10000 => cuGraphMemsetNodeGetParams] (node: usize, params: Out<FillNode>) {
        Ok(params.set(read(node, |work| match work {
            Work::Fill(f) => Some(FillNode {
                at: f.address,
                pitch: f.pitch as usize,
                value: f.value,
                element: f.element,
                width: f.width as usize,
                height: f.height as usize,
            }),
            _ => None,
        })?)?)
    }

    cuGraphHostNodeGetParams [10000 => cuGraphHostNodeGetParams] (node: usize, params: Out<HostNode>) {
        Ok(params.set(read(node, |work| match work {
            Work::Host(f, data) => Some(HostNode { function: f.map_or(0, |f| f as usize), data: *data }),
            _ => None,
        })?)?)
    }

    cuGraphAddMemAllocNode [11040 => cuGraphAddMemAllocNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, params: Raw) {
        allocation(out, graph, after, count, params)
    }

    cuGraphAddMemFreeNode [11040 => cuGraphAddMemFreeNode]
    (out: Out<usize>, graph: usize, after: In<usize>, count: usize, pointer: u64) {
        deallocation(out, graph, after, count, pointer)
    }

    cuGraphMemAllocNodeGetParams [11040 => cuGraphMemAllocNodeGetParams] (node: usize, params: Out<AllocationNode>) {
        Ok(params.set(read(node, |work| match work {
            Work::Allocate(m) => Some(AllocationNode {
                pool: Props::of_device(),
                access: 0,
                count: 0,
                bytes: m.bytes() as usize,
                address: m.address(),
            }),
            _ => None,
        })?)?)
    }

    cuGraphMemFreeNodeGetParams [11040 => cuGraphMemFreeNodeGetParams] (node: usize, pointer: Out<u64>) {
        Ok(pointer.set(read(node, |work| match work {
            Work::Deallocate(m) => Some(m.address()),
            _ => None,
        })?)?)
    }

    cuGraphEventRecordNodeGetEvent [11010 => cuGraphEventRecordNodeGetEvent] (node: usize, event: Out<usize>) {
        Ok(event.set(read(node, |work| match work {
            Work::Record(e) => handle_of(e),
            _ => None,
        })?)?)
    }

    cuGraphEventWaitNodeGetEvent [11010 => cuGraphEventWaitNodeGetEvent] (node: usize, event: Out<usize>) {
        Ok(event.set(read(node, |work| match work {
            Work::Await(e) => handle_of(e),
            _ => None,
        })?)?)
    }

    cuGraphEventRecordNodeSetEvent [11010 => cuGraphEventRecordNodeSetEvent] (node: usize, event: usize) {
        replace(node, Work::Record(graph_event(event)?))
    }

    cuGraphEventWaitNodeSetEvent [11010 => cuGraphEventWaitNodeSetEvent] (node: usize, event: usize) {
        replace(node, Work::Await(graph_event(event)?))
    }

    cuGraphExecEventRecordNodeSetEvent [11010 => cuGraphExecEventRecordNodeSetEvent]
    (executable: usize, node: usize, event: usize) {
        let (found, event) = (exec(executable)?, graph_event(event)?);
        found.with(node, |n| exchange(&mut n.work, Work::Record(event)))?
    }

    cuGraphExecEventWaitNodeSetEvent [11010 => cuGraphExecEventWaitNodeSetEvent]
    (executable: usize, node: usize, event: usize) {
        let (found, event) = (exec(executable)?, graph_event(event)?);
        found.with(node, |n| exchange(&mut n.work, Work::Await(event)))?
    }

    cuGraphChildGraphNodeGetGraph [10000 => cuGraphChildGraphNodeGetGraph] (node: usize, graph: Out<usize>) {
        let child = node_graph(node)?.with(node, |n| n.child)?;
        if GRAPHS.get(child).is_none() {
            return Err(Error::InvalidValue);
        }
        Ok(graph.set(child)?)
    }

    cuGraphNodeFindInClone [10000 => cuGraphNodeFindInClone] (node: Out<usize>, original: usize, clone: usize) {
        node.required()?;
        Ok(node.set(graph(clone)?.clone_of(original).ok_or(Error::InvalidValue)?)?)
    }

    cuUserObjectCreate [11030 => cuUserObjectCreate]
    (object: Out<usize>, data: Raw, destroy: HostFn, count: u32, flags: u32) {
        crate::driver::get()?;
        object.required()?;
        // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC is asked for.
        if destroy.is_none() || count == 0 || count > i32::MAX as u32 || flags != 1 {
            return Err(Error::InvalidValue);
        }
        Ok(object.set(UserObject::create(destroy, data, count as usize))?)
    }

    cuUserObjectRetain [11030 => cuUserObjectRetain] (object: usize, count: u32) {
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        self::object(object)?.retain(count as usize);
        Ok(())
    }

    cuUserObjectRelease [11030 => cuUserObjectRelease] (object: usize, count: u32) {
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        self::object(object)?.release(count as usize)
    }

    cuGraphRetainUserObject [11030 => cuGraphRetainUserObject]
    (graph: usize, object: usize, count: u32, flags: u32) {
        const MOVE: u32 = 1;
        let (graph, object) = (self::graph(graph)?, self::object(object)?);
        if count == 0 || flags & !MOVE != 0 {
            return Err(Error::InvalidValue);
        }
        if flags & MOVE == 0 {
            object.retain(count as usize);
        }
        graph.held().push(Held::moved(object, count as usize));
        Ok(())
    }

    cuGraphReleaseUserObject [11030 => cuGraphReleaseUserObject] (graph: usize, object: usize, count: u32) {
        let (graph, object) = (self::graph(graph)?, self::object(object)?);
        let mut gone = Vec::new();
        let mut held = graph.held();
        let of = |h: &Held| Arc::ptr_eq(&h.object, &object);
        let mut left = count as usize;
        if left == 0 {
            return Err(Error::InvalidValue);
        }
        // More than is held: what is held, as a real driver answers.
        for h in held.iter_mut().filter(|h| of(h)) {
            let n = h.count.min(left);
            h.count -= n;
            left -= n;
            gone.push(Held::moved(Arc::clone(&object), n));
        }
        held.retain(|h| h.count > 0);
        // The program's function may call back.
        drop(held);
        drop(gone);
        Ok(())
    }
}
