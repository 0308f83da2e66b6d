//! Every exported function with every kind of handle, with null pointers, with zero, one, too many and absurdly many of
//! everything: it returns. What it returns is the matter of `bad_calls.rs`.

mod common;

use common::*;
use cuda_driver::api;

const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 g[4];
.visible .entry st(.param .u64 p) { ret; }
\0";

/// Functions that would end an object which later calls use, wait for somebody, or turn a stream into a capturing one.
const WITHOUT_HANDLES: &[&str] = &[
    "Destroy",
    "Free",
    "Unload",
    "Release",
    "Reset",
    "Detach",
    "Unregister",
    "Pop",
    "Capture",
    "WaitValue",
    "BatchMemOp",
];

fn is_number(ty: &str) -> bool {
    matches!(ty, "usize" | "u32" | "u64" | "i32" | "u8" | "u16" | "f32")
}

fn every_function_returns_whatever_it_is_called_with() {
    let context = context();
    let made = |symbol: &str, rest: &[u64]| {
        let mut handle = 0u64;
        ok(symbol, &[&[at(&mut handle)], rest].concat());
        handle
    };
    let module = module(PTX);
    let graph = made("cuGraphCreate", &[0]);
    let node = made("cuGraphAddEmptyNode", &[graph, 0, 0]);
    let handles = [
        0,
        context,
        module,
        function(module, "st\0"),
        made("cuStreamCreate", &[0]),
        made("cuEventCreate", &[0]),
        graph,
        node,
        made("cuGraphInstantiateWithFlags", &[graph, 0]),
        alloc(64 << 10),
    ];
    let mut calls = 0usize;
    for entry in api::entries() {
        let takes_handle = |i: usize| {
            let ty = entry.arguments.get(i);
            ty.is_some_and(|t| *t == "usize" || *t == "u64")
        };
        let alone = WITHOUT_HANDLES.iter().any(|part| entry.symbol.contains(part));
        let choices =
            |i: usize| if takes_handle(i) && !alone { &handles[..] } else { &handles[..1] };
        for first in choices(0) {
            for second in choices(1) {
                for number in [0, 1, 5000, u64::MAX] {
                    let mut all = [0u64; 16];
                    for (i, ty) in entry.arguments.iter().enumerate() {
                        all[i] = match (i, *ty) {
                            (0, "usize" | "u64") => *first,
                            (1, "usize" | "u64") if *second != 0 => *second,
                            (_, ty) if is_number(ty) => number,
                            // Pointers and functions.
                            _ => 0,
                        };
                    }
                    ok("cuCtxSetCurrent", &[context]);
                    call(entry.symbol, &all);
                    if entry.symbol.contains("BeginCapture") {
                        // The thread's own stream may capture now.
                        let mut captured = 0u64;
                        call("cuStreamEndCapture_ptsz", &[0, at(&mut captured)]);
                    }
                    calls += 1;
                }
            }
        }
    }
    assert!(calls > 10_000, "{calls}");
    ok("cuCtxSetCurrent", &[context]);
    ok("cuMemFree_v2", &[alloc(64)]);
}

golden::tests! {
    every_function_returns_whatever_it_is_called_with:
        condition("this driver", own()),
}
