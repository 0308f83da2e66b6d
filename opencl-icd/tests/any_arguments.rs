//! Every function of the dispatch table with every kind of handle, with null pointers and lists of zeros, with zero,
//! one, too many and absurdly many of everything: it returns. What it returns is the matter of `bad_arguments.rs`.

#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use common::*;
use opencl_icd::dispatch::TABLE;

/// A function as every one can be called: up to 14 integers or pointers.
type Any = unsafe extern "C" fn(
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
) -> u64;

const SOURCES: [&str; 9] = [
    include_str!("../src/api/commands.rs"),
    include_str!("../src/api/contexts.rs"),
    include_str!("../src/api/events.rs"),
    include_str!("../src/api/images.rs"),
    include_str!("../src/api/kernels.rs"),
    include_str!("../src/api/memory.rs"),
    include_str!("../src/api/programs.rs"),
    include_str!("../src/api/refused.rs"),
    include_str!("../src/api/svm.rs"),
];

/// Types of a function's arguments, from where it is declared.
fn arguments(name: &str) -> Vec<String> {
    let declared = |text: &'static str| {
        let at = text.match_indices(&format!("{name}(")).find(|(at, _)| {
            // Declared in a macro, as an ordinary function, or to count references.
            let line = text[..*at].rsplit('\n').next().unwrap_or("");
            line.trim().is_empty() || line.ends_with("fn ")
        })?;
        let inside = text[at.0 + name.len() + 1..].split([')', '{']).next()?;
        Some(inside)
    };
    let Some(inside) = SOURCES.iter().find_map(|text| declared(text)) else {
        // Retaining and releasing take a handle.
        return vec!["usize".into()];
    };
    let types = inside.split(',').filter_map(|a| a.split_once(':'));
    types.map(|(_, ty)| ty.trim().to_owned()).collect()
}

fn is_number(ty: &str) -> bool {
    matches!(ty, "usize" | "isize" | "u32" | "u64" | "i32")
}

#[test]
fn every_function_returns_whatever_it_is_called_with() {
    let w = World::new();
    let handles = [
        0,
        w.platform,
        w.device,
        w.context,
        w.queue,
        w.buffer,
        w.image,
        w.sampler,
        w.program,
        w.add,
        w.user,
        w.other_event,
    ];
    // Zeros, more than any list here is long, which a test may leave behind.
    let scratch: &'static mut [u64] = vec![0u64; 16384].leak();
    let place = scratch.as_mut_ptr().expose_provenance() as u64;
    let mut calls = 0usize;
    for (name, function) in TABLE.functions() {
        // SAFETY: integers and pointers are passed alike; what a function does not take is ignored.
        let function: Any = unsafe { std::mem::transmute(function.address()) };
        let types = arguments(name);
        let takes_handle = |i: usize| types.get(i).is_some_and(|t| t == "usize");
        // What ends an object is called with none; what answers late is called with an event that nobody signals.
        let ends = name.contains("Release") || name.contains("SetUserEventStatus");
        let waits = name == "clWaitForEvents";
        let choices =
            |i: usize| if takes_handle(i) && !ends { &handles[..] } else { &handles[..1] };
        for first in choices(0) {
            for second in choices(1) {
                for number in [0, 1, 5000, u64::MAX] {
                    for pointer in [0, place] {
                        // Lists hold no absurd number of zeros.
                        if pointer != 0 && (number == u64::MAX || waits) {
                            continue;
                        }
                        let mut all = [0u64; 14];
                        for (i, ty) in types.iter().enumerate() {
                            all[i] = match (i, &**ty) {
                                (0, "usize") => *first as u64,
                                (1, "usize") if *second != 0 => *second as u64,
                                (_, ty) if is_number(ty) => number,
                                (_, "ObjectFn" | "ContextFn" | "EventFn" | "FreeFn") => 0,
                                _ => pointer,
                            };
                        }
                        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = all;
                        // Reads of before may still write there.
                        call!(opencl_icd::api::contexts::clFinish(w.queue));
                        call!(opencl_icd::api::contexts::clFinish(w.other_queue));
                        scratch.fill(0);
                        // SAFETY: pointers are null or to more zeros than the numbers say.
                        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n) };
                        calls += 1;
                    }
                }
            }
        }
    }
    assert!(calls > 20_000, "{calls}");
    // The objects still work.
    set(w.add, 0, w.buffer);
    set(w.add, 1, 1u32);
}
