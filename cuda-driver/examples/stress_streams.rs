//! Stress: host threads that launch and copy at random in many streams, results checked.
//!
//! `cargo run --release -p cuda-driver --example stress_streams -- SECONDS [THREADS] [STREAMS]`

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::*;

/// `data[i] = data[i] * a + b` for `n` elements.
const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 data, .param .u64 a, .param .u64 b, .param .u64 n) {
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<6>;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.u32 %r4, %r1, %r2, %r3;
ld.param.u32 %r5, [n]; setp.ge.u32 %p1, %r4, %r5; @%p1 ret;
ld.param.u64 %rd1, [data]; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2;
ld.param.u32 %r6, [a]; ld.param.u32 %r7, [b];
ld.global.u32 %r5, [%rd3]; mad.lo.u32 %r5, %r5, %r6, %r7; st.global.u32 [%rd3], %r5;
ret; }
\0";

/// A generator of numbers without a pattern (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

/// A stream with a buffer, what the buffer must hold, and pinned memory to copy through.
struct Lane {
    stream: u64,
    buffer: u64,
    pinned: u64,
    expected: Vec<u32>,
}

const MOST: u64 = 3000;

fn thread(number: u64, context: u64, lanes: usize, until: Instant, done: &AtomicU64) {
    ok("cuCtxSetCurrent", &[context]);
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ number << 32);
    let m = module(PTX);
    let step = function(m, "step\0");
    let mut all: Vec<Lane> = (0..lanes)
        .map(|_| {
            let (mut stream, mut pinned) = (0u64, 0u64);
            ok("cuStreamCreate", &[at(&mut stream), random.next(2)]);
            ok("cuMemHostAlloc", &[at(&mut pinned), 4 * MOST, 0]);
            let buffer = alloc(4 * MOST);
            ok("cuMemsetD32Async", &[buffer, 0, MOST, stream]);
            Lane { stream, buffer, pinned, expected: vec![0; MOST as usize] }
        })
        .collect();
    let mut events = [0u64; 4];
    events.iter_mut().for_each(|e| ok("cuEventCreate", &[at(e), 0]));
    while Instant::now() < until {
        let which = random.next(lanes as u64) as usize;
        let n = 1 + random.next(MOST);
        let (a, b) = (random.next(1 << 32), random.next(1 << 32));
        match random.next(10) {
            0..=4 => {
                let lane = &mut all[which];
                let grid = [n.div_ceil(128) as u32, 1, 1];
                assert_eq!(
                    launch(step, grid, [128, 1, 1], lane.stream, &[lane.buffer, a, b, n]),
                    0
                );
                for v in &mut lane.expected[..n as usize] {
                    *v = v.wrapping_mul(a as u32).wrapping_add(b as u32);
                }
            }
            5 => {
                // Pageable memory: read before the call returns.
                let lane = &mut all[which];
                let mut data: Vec<u32> = (0..n as u32).map(|i| i ^ a as u32).collect();
                let from = at(&mut data[..]);
                ok("cuMemcpyHtoDAsync_v2", &[lane.buffer, from, 4 * n, lane.stream]);
                lane.expected[..n as usize].copy_from_slice(&data);
                data.fill(0);
            }
            6 => {
                let lane = &mut all[which];
                ok("cuMemsetD32Async", &[lane.buffer, a, n, lane.stream]);
                lane.expected[..n as usize].fill(a as u32);
            }
            7 => {
                // From one stream's buffer to another's, ordered by events.
                let from = random.next(lanes as u64) as usize;
                if from != which {
                    let e = events[random.next(4) as usize];
                    ok("cuEventRecord", &[e, all[from].stream]);
                    ok("cuStreamWaitEvent", &[all[which].stream, e, 0]);
                    let (to, source) = (all[which].buffer, all[from].buffer);
                    ok("cuMemcpyDtoDAsync_v2", &[to, source, 4 * n, all[which].stream]);
                    // Later work on the source must wait for the copy.
                    ok("cuEventRecord", &[e, all[which].stream]);
                    ok("cuStreamWaitEvent", &[all[from].stream, e, 0]);
                    let copied = all[from].expected[..n as usize].to_vec();
                    all[which].expected[..n as usize].copy_from_slice(&copied);
                }
            }
            8 => {
                // Memory and streams come and go.
                let lane = &mut all[which];
                let fresh = alloc(4 * MOST);
                ok("cuMemcpyDtoDAsync_v2", &[fresh, lane.buffer, 4 * MOST, lane.stream]);
                ok("cuMemFree_v2", &[lane.buffer]);
                lane.buffer = fresh;
                let mut stream = 0u64;
                ok("cuStreamSynchronize", &[lane.stream]);
                ok("cuStreamDestroy_v2", &[lane.stream]);
                ok("cuStreamCreate", &[at(&mut stream), random.next(2)]);
                lane.stream = stream;
            }
            _ => {
                let lane = &all[which];
                ok("cuMemcpyDtoHAsync_v2", &[lane.pinned, lane.buffer, 4 * MOST, lane.stream]);
                ok("cuStreamSynchronize", &[lane.stream]);
                // SAFETY: pinned memory of this size, whose copy is done.
                let got =
                    unsafe { std::slice::from_raw_parts(lane.pinned as *const u32, MOST as usize) };
                assert_eq!(got, lane.expected, "thread {number}, stream {which}");
            }
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    for lane in &all {
        let mut got = vec![0u32; MOST as usize];
        ok("cuStreamSynchronize", &[lane.stream]);
        ok("cuMemcpyDtoH_v2", &[at(&mut got[..]), lane.buffer, 4 * MOST]);
        assert_eq!(got, lane.expected);
        ok("cuMemFree_v2", &[lane.buffer]);
        ok("cuMemFreeHost", &[lane.pinned]);
        ok("cuStreamDestroy_v2", &[lane.stream]);
    }
    events.iter().for_each(|e| ok("cuEventDestroy_v2", &[*e]));
    ok("cuModuleUnload", &[m]);
}

fn main() {
    let number =
        |i, standard| std::env::args().nth(i).map_or(standard, |a| a.parse().expect("a number"));
    let (seconds, threads, streams) = (number(1, 10), number(2, 8), number(3, 64));
    let context = context();
    let done = AtomicU64::new(0);
    let until = Instant::now() + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        for t in 0..threads {
            let done = &done;
            let lanes = (streams / threads).max(1) as usize;
            scope.spawn(move || thread(t, context, lanes, until, done));
        }
    });
    let (mut free, mut total) = (0u64, 0u64);
    ok("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]);
    assert_eq!(free, total, "device memory is left");
    ok("cuCtxDestroy_v2", &[context]);
    let n = done.load(Ordering::Relaxed);
    println!(
        "{threads} threads, {streams} streams, {seconds} s: {n} operations, all results right, all memory freed"
    );
}
