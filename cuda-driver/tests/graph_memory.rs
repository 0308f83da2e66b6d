//! Memory nodes of graphs. The codes are an H200's (driver 580.159.04), recorded call by call; what is said to be own
//! is this driver's.

mod common;

use common::*;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone)]
struct Allocation {
    kind: u32,
    handles: u32,
    location: [u32; 2],
    security: usize,
    most: usize,
    rest: [u8; 56],
    access: usize,
    count: usize,
    bytes: usize,
    address: u64,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
struct Fill {
    at: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

/// Memory that is pinned on the device.
fn of(bytes: usize) -> Allocation {
    let rest = [0; 56];
    Allocation {
        kind: 1,
        handles: 0,
        location: [1, 0],
        security: 0,
        most: 0,
        rest,
        access: 0,
        count: 0,
        bytes,
        address: 0,
    }
}

fn graph() -> u64 {
    let mut graph = 0u64;
    ok("cuGraphCreate", &[at(&mut graph), 0]);
    graph
}

/// A node that allocates, and the address.
fn allocate(graph: u64, bytes: usize) -> (u64, u64) {
    let (mut node, mut params) = (0u64, of(bytes));
    ok("cuGraphAddMemAllocNode", &[at(&mut node), graph, 0, 0, at(&mut params)]);
    assert_ne!(params.address, 0);
    (node, params.address)
}

/// A node that fills 64 words behind another one.
fn fill(graph: u64, mut after: u64, at_address: u64, value: u32) -> u64 {
    let mut node = 0u64;
    let mut fill = Fill { at: at_address, pitch: 0, value, element: 4, width: 64, height: 1 };
    let count = u64::from(after != 0);
    let args = [at(&mut node), graph, at(&mut after), count, at(&mut fill), 0];
    ok("cuGraphAddMemsetNode", &args);
    node
}

fn instantiate(graph: u64, flags: u64) -> (u32, u64) {
    let mut exec = 0u64;
    (call("cuGraphInstantiateWithFlags", &[at(&mut exec), graph, flags]), exec)
}

fn word(address: u64) -> Result<u32, u32> {
    let mut value = 0u32;
    match call("cuMemcpyDtoH_v2", &[at(&mut value), address, 4]) {
        0 => Ok(value),
        code => Err(code),
    }
}

fn attribute(which: u64) -> u64 {
    let mut value = 0u64;
    ok("cuDeviceGetGraphMemAttribute", &[0, which, at(&mut value)]);
    value
}

/// One test: what is used is a matter of the process.
#[test]
fn memory_is_there_from_a_launch_until_it_is_freed() {
    context();
    let mut stream = 0u64;
    ok("cuStreamCreate", &[at(&mut stream), 1]);
    what_is_refused();
    until_it_is_freed(stream);
    a_graph_that_frees(stream);
    freed_by_the_next_launch(stream);
    beside_other_memory(stream);
    captured(stream);
    assert_eq!(attribute(0), 0);
    assert_eq!(attribute(1), 1 << 20, "the most at once");
    let mut zero = 0u64;
    ok("cuDeviceSetGraphMemAttribute", &[0, 1, at(&mut zero)]);
    assert_eq!(attribute(1), 0);
    let mut five = 5u64;
    assert_eq!(call("cuDeviceSetGraphMemAttribute", &[0, 1, at(&mut five)]), 1);
    assert_eq!(call("cuDeviceSetGraphMemAttribute", &[0, 0, at(&mut zero)]), 1);
    assert_eq!(call("cuDeviceGetGraphMemAttribute", &[0, 9, at(&mut zero)]), 1);
    ok("cuDeviceGraphMemTrim", &[0]);
    assert_eq!(call("cuDeviceGraphMemTrim", &[5]), 101);
    ok("cuCtxSynchronize", &[]);
    a_context_takes_it_along();
    assert_eq!(attribute(0), 0);
}

fn what_is_refused() {
    let graph = graph();
    let mut node = 0u64;
    let mut add = |mut params: Allocation| {
        call("cuGraphAddMemAllocNode", &[at(&mut node), graph, 0, 0, at(&mut params)])
    };
    assert_eq!(add(of(0)), 1);
    assert_eq!(add(Allocation { kind: 0, ..of(64) }), 1);
    assert_eq!(add(Allocation { location: [1, 7], ..of(64) }), 1);
    assert_eq!(add(Allocation { handles: 1, ..of(64) }), 801);
    let mut good = of(64);
    assert_eq!(call("cuGraphAddMemAllocNode", &[0, graph, 0, 0, at(&mut good)]), 1);
    assert_eq!(call("cuGraphAddMemAllocNode", &[at(&mut node), graph, 0, 0, 0]), 1);
    assert_eq!(call("cuGraphAddMemAllocNode", &[at(&mut node), 0, 0, 0, at(&mut good)]), 1);
    ok("cuGraphDestroy", &[graph]);
}

fn until_it_is_freed(stream: u64) {
    let graph = graph();
    let (node, memory) = allocate(graph, 1 << 20);
    assert_eq!(memory % (2 << 20), 0);
    // Not yet.
    let (mut base, mut size, mut kind) = (0u64, 0u64, 0u32);
    assert_eq!(word(memory), Err(1));
    assert_eq!(call("cuPointerGetAttribute", &[at(&mut kind), 2, memory]), 1);
    assert_eq!(call("cuMemGetAddressRange_v2", &[at(&mut base), at(&mut size), memory]), 500);
    assert_eq!(call("cuMemFree_v2", &[memory]), 1);
    let behind = fill(graph, node, memory, 77);

    let (mut params, mut freed, mut ty) = (of(0), 0u64, 0u32);
    ok("cuGraphMemAllocNodeGetParams", &[node, at(&mut params)]);
    assert_eq!((params.bytes, params.address), (1 << 20, memory));
    assert_eq!(call("cuGraphMemAllocNodeGetParams", &[behind, at(&mut params)]), 1);
    assert_eq!(call("cuGraphMemFreeNodeGetParams", &[node, at(&mut freed)]), 1);
    ok("cuGraphNodeGetType", &[node, at(&mut ty)]);
    assert_eq!(ty, 10);

    // Such nodes stay, and such graphs are not copied and are instantiated once.
    let (mut clone, parent) = (0u64, self::graph());
    assert_eq!(call("cuGraphDestroyNode", &[node]), 801);
    assert_eq!(call("cuGraphClone", &[at(&mut clone), graph]), 801);
    assert_eq!(call("cuGraphAddChildGraphNode", &[at(&mut clone), parent, 0, 0, graph]), 801);
    let (code, exec) = instantiate(graph, 0);
    assert_eq!(code, 0);
    assert_eq!(instantiate(graph, 0).0, 801);
    assert_eq!(call("cuGraphNodeSetEnabled", &[exec, node, 0]), 1);
    assert_eq!(attribute(0), 0);

    ok("cuGraphLaunch", &[exec, stream]);
    // What is queued next may use it, though the launch may not have begun.
    let mut value = 0u32;
    ok("cuMemcpyDtoHAsync_v2", &[at(&mut value), memory, 4, stream]);
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!((value, word(memory)), (77, Ok(77)));
    assert_eq!(attribute(0), 1 << 20);
    ok("cuMemGetAddressRange_v2", &[at(&mut base), at(&mut size), memory + 5]);
    assert_eq!((base, size), (memory, 1 << 20));
    assert_eq!(call("cuGraphLaunch", &[exec, stream]), 1, "it is there");
    ok("cuMemFreeAsync", &[memory, stream]);
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!(call("cuMemFreeAsync", &[memory, stream]), 1);
    assert_eq!(call("cuMemFree_v2", &[memory]), 1);
    assert_eq!(word(memory), Err(1));

    ok("cuGraphLaunch", &[exec, stream]);
    ok("cuMemFree_v2", &[memory]);
    ok("cuGraphLaunch", &[exec, stream]);
    // It outlives what it came from.
    ok("cuGraphExecDestroy", &[exec]);
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!(word(memory), Ok(77));
    let (code, exec) = instantiate(graph, 0);
    assert_eq!(code, 0);
    assert_eq!(call("cuGraphLaunch", &[exec, stream]), 1);
    ok("cuGraphExecDestroy", &[exec]);
    ok("cuGraphDestroy", &[graph]);
    assert_eq!(word(memory), Ok(77));
    ok("cuMemFree_v2", &[memory]);
    assert_eq!(call("cuMemFree_v2", &[memory]), 1);
    ok("cuGraphDestroy", &[parent]);
}

fn a_graph_that_frees(stream: u64) {
    let graph = graph();
    let (node, memory) = allocate(graph, 4096);
    let mut last = fill(graph, node, memory, 5);
    let mut free = |pointer: u64| {
        let mut node = 0u64;
        let args = [at(&mut node), graph, at(&mut last), 1, pointer];
        (call("cuGraphAddMemFreeNode", &args), node)
    };
    for pointer in [memory + 8, 4096, 0] {
        assert_eq!(free(pointer).0, 1);
    }
    let (code, freeing) = free(memory);
    assert_eq!(code, 0);
    assert_eq!(free(memory).0, 1, "once");
    let (mut freed, mut ty) = (0u64, 0u32);
    ok("cuGraphMemFreeNodeGetParams", &[freeing, at(&mut freed)]);
    ok("cuGraphNodeGetType", &[freeing, at(&mut ty)]);
    assert_eq!((freed, ty), (memory, 11));
    assert_eq!(call("cuGraphDestroyNode", &[freeing]), 801);
    let (_, exec) = instantiate(graph, 0);
    for _ in 0..2 {
        ok("cuGraphLaunch", &[exec, stream]);
    }
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!(word(memory), Err(1));
    assert_eq!(call("cuMemFree_v2", &[memory]), 1);
    ok("cuGraphExecDestroy", &[exec]);
    ok("cuGraphDestroy", &[graph]);
}

fn freed_by_the_next_launch(stream: u64) {
    const AUTO_FREE: u64 = 1;
    let graph = graph();
    let (node, memory) = allocate(graph, 4096);
    fill(graph, node, memory, 9);
    let (code, exec) = instantiate(graph, AUTO_FREE);
    assert_eq!(code, 0);
    for _ in 0..3 {
        ok("cuGraphLaunch", &[exec, stream]);
    }
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!((word(memory), attribute(0)), (Ok(9), 4096));
    ok("cuGraphDestroy", &[graph]);
    ok("cuGraphExecDestroy", &[exec]);
    assert_eq!(word(memory), Ok(9));
    ok("cuMemFree_v2", &[memory]);
}

/// A node is made for memory that is not there yet, while other memory of a graph is there, below and above it.
fn beside_other_memory(stream: u64) {
    let graphs: Vec<(u64, u64, u64)> = (0..3)
        .map(|_| {
            let graph = graph();
            let (node, memory) = allocate(graph, 4096);
            (memory, graph, node)
        })
        .collect();
    let middle =
        graphs.iter().map(|(memory, ..)| *memory).collect::<std::collections::BTreeSet<_>>();
    let middle = *middle.iter().nth(1).unwrap();
    let others = graphs.iter().filter(|(memory, ..)| *memory != middle);
    for (_, graph, _) in others.clone() {
        let (_, exec) = instantiate(*graph, 0);
        ok("cuGraphLaunch", &[exec, stream]);
        ok("cuGraphExecDestroy", &[exec]);
    }
    let (memory, graph, node) = graphs.iter().find(|(memory, ..)| *memory == middle).unwrap();
    fill(*graph, *node, *memory, 12);
    let (_, exec) = instantiate(*graph, 0);
    // Own: a graph that allocates is not launched into a capture, as it is no child of another one.
    let mut captured = 0u64;
    ok("cuStreamBeginCapture_v2", &[stream, 0]);
    assert_eq!(call("cuGraphLaunch", &[exec, stream]), 801);
    ok("cuStreamEndCapture", &[stream, at(&mut captured)]);
    ok("cuGraphDestroy", &[captured]);
    ok("cuGraphLaunch", &[exec, stream]);
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!(word(middle), Ok(12));
    ok("cuGraphExecDestroy", &[exec]);
    for (memory, graph, _) in &graphs {
        ok("cuMemFree_v2", &[*memory]);
        ok("cuGraphDestroy", &[*graph]);
    }
}

fn captured(stream: u64) {
    let (mut own, mut left, mut graph, mut outside) = (0u64, 0u64, 0u64, 0u64);
    ok("cuMemAllocAsync", &[at(&mut outside), 4096, stream]);
    ok("cuStreamBeginCapture_v2", &[stream, 0]);
    ok("cuMemAllocAsync", &[at(&mut own), 4096, stream]);
    ok("cuMemsetD32Async", &[own, 3, 1024, stream]);
    ok("cuMemFreeAsync", &[own, stream]);
    assert_eq!(call("cuMemFreeAsync", &[own, stream]), 1);
    // The capture goes on.
    assert_eq!(call("cuMemFreeAsync", &[outside, stream]), 1);
    ok("cuMemAllocAsync", &[at(&mut left), 64, stream]);
    ok("cuMemsetD32Async", &[left, 6, 16, stream]);
    ok("cuStreamEndCapture", &[stream, at(&mut graph)]);
    let mut count = 0u64;
    ok("cuGraphGetNodes", &[graph, 0, at(&mut count)]);
    assert_eq!(count, 5);
    let (_, exec) = instantiate(graph, 0);
    ok("cuGraphLaunch", &[exec, stream]);
    ok("cuStreamSynchronize", &[stream]);
    assert_eq!((word(left), word(own)), (Ok(6), Err(1)));
    ok("cuMemFree_v2", &[left]);
    ok("cuMemFreeAsync", &[outside, stream]);
    ok("cuGraphExecDestroy", &[exec]);
    ok("cuGraphDestroy", &[graph]);
}

/// Contexts end with what their graphs have left.
fn a_context_takes_it_along() {
    let mine = context();
    let graph = graph();
    let (_, memory) = allocate(graph, 4096);
    let (_, exec) = instantiate(graph, 0);
    ok("cuGraphLaunch", &[exec, 0]);
    ok("cuCtxSynchronize", &[]);
    assert_eq!(word(memory), Ok(0));
    ok("cuCtxDestroy_v2", &[mine]);
    context();
    assert_eq!(word(memory), Err(1));
    assert_eq!(call("cuMemFree_v2", &[memory]), 1);
}
