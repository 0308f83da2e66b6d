//! Many threads use one context at once: streams, events of one another, memory, graphs, callbacks. Every result must
//! be right. `fuzz/sanitize thread` runs this under ThreadSanitizer, which sees accesses that nothing orders.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data) {
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r4, [%rd1];
    add.u32 %r4, %r4, %r4;
    st.global.u32 [%rd1], %r4;
    ret;
}
.visible .entry count(.param .u64 counter) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [counter];
    atom.global.add.u32 %r1, [%rd1], 1;
    ret;
}
\0";

const THREADS: u32 = 8;
const TURNS: u32 = 12;
const WORDS: usize = 512;

/// What all threads share.
struct World {
    context: u64,
    twice: u64,
    count: u64,
    /// In device memory: how many threads of `count` there were.
    counter: u64,
    /// Events that somebody recorded.
    events: Mutex<Vec<u64>>,
    called: AtomicU64,
}

extern "C" fn called(to: &AtomicU64) {
    to.fetch_add(1, Ordering::Relaxed);
}

/// Doubles `words` three times in a stream of its own.
fn turn(world: &World, turn: u32, words: &mut [u32]) {
    let (mut stream, mut event, mut data, bytes) = (0u64, 0u64, 0u64, 4 * WORDS as u64);
    ok("cuStreamCreate", &[at(&mut stream), 1]);
    ok("cuEventCreate", &[at(&mut event), 0]);
    if turn.is_multiple_of(2) {
        ok("cuMemAllocAsync", &[at(&mut data), bytes, stream]);
    } else {
        data = alloc(bytes);
    }
    ok("cuMemcpyHtoDAsync_v2", &[data, at(words), bytes, stream]);
    let blocks = [WORDS as u32 / 64, 1, 1];
    let (mut graph, mut ready) = (0u64, 0u64);
    if turn.is_multiple_of(3) {
        // Calls of this thread alone may not break the capture.
        ok("cuStreamBeginCapture_v2", &[stream, 1]);
        for _ in 0..3 {
            assert_eq!(launch(world.twice, blocks, [64, 1, 1], stream, &[data]), 0);
        }
        ok("cuStreamEndCapture", &[stream, at(&mut graph)]);
        ok("cuGraphInstantiateWithFlags", &[at(&mut ready), graph, 0]);
        ok("cuGraphLaunch", &[ready, stream]);
    } else {
        for _ in 0..3 {
            assert_eq!(launch(world.twice, blocks, [64, 1, 1], stream, &[data]), 0);
        }
    }
    // After whatever another thread did last.
    let other = world.events.lock().unwrap().last().copied();
    if let Some(other) = other {
        ok("cuStreamWaitEvent", &[stream, other, 0]);
    }
    assert_eq!(launch(world.count, [2, 1, 1], [32, 1, 1], stream, &[world.counter]), 0);
    let to = (&raw const world.called).addr() as u64;
    ok("cuLaunchHostFunc", &[stream, called as *const () as u64, to]);
    ok("cuMemcpyDtoHAsync_v2", &[at(words), data, bytes, stream]);
    ok("cuEventRecord", &[event, stream]);
    world.events.lock().unwrap().push(event);
    match turn % 4 {
        0 => ok("cuStreamSynchronize", &[stream]),
        1 => ok("cuEventSynchronize", &[event]),
        2 => ok("cuCtxSynchronize", &[]),
        _ => {
            while call("cuEventQuery", &[event]) != 0 {
                std::thread::yield_now();
            }
        }
    }
    if turn.is_multiple_of(2) {
        ok("cuMemFreeAsync", &[data, stream]);
    } else {
        ok("cuMemFree_v2", &[data]);
    }
    if graph != 0 {
        ok("cuGraphExecDestroy", &[ready]);
        ok("cuGraphDestroy", &[graph]);
    }
    ok("cuStreamDestroy_v2", &[stream]);
}

/// In the shared context, and now and then in one of its own that nobody else knows.
fn work(world: &World, thread: u32) {
    for n in 0..TURNS {
        let first = |i: usize| i as u32 * 3 + n + thread * 1000;
        let mut words: Vec<u32> = (0..WORDS).map(first).collect();
        if n == thread {
            let own = context();
            let kernel = function(module(PTX), "twice\0");
            let (data, bytes) = (alloc(4 * WORDS as u64), 4 * WORDS as u64);
            ok("cuMemcpyHtoD_v2", &[data, at(&mut words[..]), bytes]);
            for _ in 0..3 {
                assert_eq!(launch(kernel, [8, 1, 1], [64, 1, 1], 0, &[data]), 0);
            }
            ok("cuMemcpyDtoH_v2", &[at(&mut words[..]), data, bytes]);
            ok("cuCtxDestroy_v2", &[own]);
        } else {
            ok("cuCtxSetCurrent", &[world.context]);
            turn(world, n, &mut words);
        }
        let wrong = (0..WORDS).find(|i| words[*i] != first(*i) * 8);
        assert_eq!(wrong, None, "thread {thread}, turn {n}");
    }
}

#[test]
fn threads_share_a_context() {
    let context = context();
    let module = module(PTX);
    let (twice, count) = (function(module, "twice\0"), function(module, "count\0"));
    let counter = alloc(4);
    ok("cuMemsetD32_v2", &[counter, 0, 1]);
    // Streams of the threads do not wait for the one of this.
    ok("cuCtxSynchronize", &[]);
    let events = Mutex::default();
    let world = World { context, twice, count, counter, events, called: AtomicU64::new(0) };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let world = &world;
            scope.spawn(move || work(world, thread));
        }
    });
    let turns = THREADS * (TURNS - 1);
    let mut counted = 0u32;
    ok("cuMemcpyDtoH_v2", &[at(&mut counted), counter, 4]);
    assert_eq!(counted, turns * 64);
    assert_eq!(world.called.load(Ordering::Relaxed), u64::from(turns));
    for event in world.events.into_inner().unwrap() {
        ok("cuEventDestroy_v2", &[event]);
    }
    ok("cuCtxDestroy_v2", &[context]);
}
