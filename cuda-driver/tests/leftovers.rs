//! Contexts end whole: what a program left in its handles keeps none of their memory or addresses.

mod common;

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
\0";

/// Bytes of addresses that the process has.
fn addresses() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

fn stream() -> u64 {
    let mut stream = 0u64;
    ok("cuStreamCreate", &[at(&mut stream), 1]);
    stream
}

/// A capture with a kernel in it.
fn capturing(kernel: u64) -> u64 {
    let stream = stream();
    ok("cuStreamBeginCapture_v2", &[stream, 2]);
    assert_eq!(launch(kernel, [1; 3], [1; 3], stream, &[]), 0);
    stream
}

fn captured(kernel: u64) -> u64 {
    let (stream, mut graph) = (capturing(kernel), 0u64);
    ok("cuStreamEndCapture", &[stream, at(&mut graph)]);
    graph
}

fn instantiated(graph: u64) -> u64 {
    let mut exec = 0u64;
    ok("cuGraphInstantiateWithFlags", &[at(&mut exec), graph, 0]);
    exec
}

/// What each leaves behind, and what it gives to call afterwards.
type Leaves = fn(u64) -> u64;

const WAYS: [(&str, Leaves); 7] = [
    ("a capture that never ended", capturing),
    ("a capture that failed", |kernel| {
        let (first, second, mut event, mut graph) = (capturing(kernel), stream(), 0u64, 0u64);
        ok("cuEventCreate", &[at(&mut event), 0]);
        ok("cuEventRecord", &[event, first]);
        ok("cuStreamWaitEvent", &[second, event, 0]);
        assert_eq!(launch(kernel, [1; 3], [1; 3], second, &[]), 0);
        // CUDA_ERROR_STREAM_CAPTURE_UNJOINED.
        assert_eq!(call("cuStreamEndCapture", &[first, at(&mut graph)]), 904);
        first
    }),
    ("a stream of a capture that was destroyed", |kernel| {
        let stream = capturing(kernel);
        call("cuStreamDestroy_v2", &[stream]);
        stream
    }),
    ("a graph", captured),
    ("a graph in a graph", |kernel| {
        let (mut outer, mut node, inner) = (0u64, 0u64, captured(kernel));
        ok("cuGraphCreate", &[at(&mut outer), 0]);
        ok("cuGraphAddChildGraphNode", &[at(&mut node), outer, 0, 0, inner]);
        instantiated(outer)
    }),
    ("an instantiated graph", |kernel| {
        let exec = instantiated(captured(kernel));
        ok("cuGraphLaunch", &[exec, 0]);
        exec
    }),
    ("a copy of a graph", |kernel| {
        let (mut copy, graph) = (0u64, captured(kernel));
        ok("cuGraphClone", &[at(&mut copy), graph]);
        copy
    }),
];

fn what_a_program_left_keeps_no_context() {
    for (what, leave) in WAYS {
        let mut before = 0;
        for turn in 0..4 {
            let context = context();
            let kernel = function(module(PTX), "nothing\0");
            leave(kernel);
            if turn == 0 {
                // A context's own addresses are many times what the process needs beside them.
                before = addresses();
            }
            ok("cuCtxDestroy_v2", &[context]);
        }
        assert!(addresses() < before, "{what}: {} and {before} bytes", addresses());
    }
}

fn graphs_of_an_ended_context_say_so() {
    let first = context();
    let exec = instantiated(captured(function(module(PTX), "nothing\0")));
    ok("cuCtxDestroy_v2", &[first]);
    let second = context();
    let launched = call("cuGraphLaunch", &[exec, 0]);
    let waited = call("cuCtxSynchronize", &[]);
    assert!(
        [launched, waited].contains(&709),
        "{launched}, {waited}: CUDA_ERROR_CONTEXT_IS_DESTROYED"
    );
    ok("cuGraphExecDestroy", &[exec]);
    call("cuCtxDestroy_v2", &[second]);
}

fn main() {
    if cfg!(target_os = "linux") {
        what_a_program_left_keeps_no_context();
    }
    graphs_of_an_ended_context_say_so();
}
