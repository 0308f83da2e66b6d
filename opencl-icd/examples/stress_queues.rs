//! Many threads, out-of-order queues and random graphs of events; every result is checked, and so is the process's
//! memory. `cargo run --release -p opencl-icd --example stress_queues -- SECONDS [THREADS]`

// The macros are there to call unsafe functions.
#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

use std::ffi::CString;
use std::time::{Duration, Instant};

use c_border::{In, Out, Raw, Text};
use opencl_icd::api::{commands, contexts, events, kernels, memory, programs};
use opencl_icd::cl;

#[path = "../tests/common/mod.rs"]
mod common;
use common::{raw, raw_slice};

const SOURCE: &str = "kernel void step(global uint *a, uint m, uint n) {
    a[get_global_id(0)] = a[get_global_id(0)] * m + n;
}";

struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Rounds of one thread: chains of steps over several buffers, spread over two queues, tied by events only.
fn work(context: usize, device: usize, program: usize, seed: u64, until: Instant) -> u64 {
    const WORDS: usize = 64;
    let mut random = Random(seed * 2 + 1);
    let mut commands_done = 0;
    while Instant::now() < until {
        let order = cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        let queues = [
            make!(contexts::clCreateCommandQueue(context, device, order)),
            make!(contexts::clCreateCommandQueue(context, device, order)),
        ];
        let name = CString::new("step").unwrap();
        let kernel = make!(kernels::clCreateKernel(program, Text::of(&name)));
        let mut start: Vec<u32> = (0..WORDS as u32).collect();
        let flags = cl::MEM_COPY_HOST_PTR;
        let size = WORDS * 4;
        let place = raw_slice(&mut start);
        let mut buffers: Vec<(usize, u32, usize)> = (0..4)
            .map(|_| (make!(memory::clCreateBuffer(context, flags, size, place)), 0, 0))
            .collect();
        let mut expected: Vec<Vec<u32>> = vec![start.clone(); buffers.len()];
        let gate = make!(events::clCreateUserEvent(context));
        let mut all = vec![gate];
        for b in &mut buffers {
            b.2 = gate;
        }
        for _ in 0..40 {
            let queue = queues[random.below(2)];
            let i = random.below(buffers.len());
            let j = random.below(buffers.len());
            let mut event = 0;
            if i != j && random.below(3) == 0 {
                let waits = [buffers[i].2, buffers[j].2];
                let (from, to) = (buffers[i].0, buffers[j].0);
                ok!(commands::clEnqueueCopyBuffer(
                    queue,
                    from,
                    to,
                    0,
                    0,
                    size,
                    2,
                    In::of(&waits),
                    Out::to(&mut event)
                ));
                expected[j] = expected[i].clone();
                // Who writes the source next must wait for the copy.
                buffers[i].2 = event;
                buffers[j].2 = event;
            } else {
                let (mut m, mut n) = (random.below(1000) as u32 * 2 + 1, random.below(1000) as u32);
                ok!(kernels::clSetKernelArg(kernel, 0, 8, raw(&mut buffers[i].0)));
                ok!(kernels::clSetKernelArg(kernel, 1, 4, raw(&mut m)));
                ok!(kernels::clSetKernelArg(kernel, 2, 4, raw(&mut n)));
                let waits = [buffers[i].2];
                let global = [WORDS];
                ok!(kernels::clEnqueueNDRangeKernel(
                    queue,
                    kernel,
                    1,
                    In::none(),
                    In::of(&global),
                    In::none(),
                    1,
                    In::of(&waits),
                    Out::to(&mut event)
                ));
                for v in &mut expected[i] {
                    *v = v.wrapping_mul(m).wrapping_add(n);
                }
                buffers[i].2 = event;
            }
            all.push(event);
            if random.below(8) == 0 {
                ok!(contexts::clFlush(queue));
            }
        }
        ok!(events::clSetUserEventStatus(gate, 0));
        for (b, expected) in buffers.iter().zip(&expected) {
            let mut out = vec![0u32; WORDS];
            let place = Raw::new(out.as_mut_ptr().expose_provenance());
            let waits = [b.2];
            ok!(commands::clEnqueueReadBuffer(
                queues[0],
                b.0,
                1,
                0,
                size,
                place,
                1,
                In::of(&waits),
                Out::none()
            ));
            assert_eq!(&out, expected);
            ok!(memory::clReleaseMemObject(b.0));
        }
        commands_done += all.len() as u64;
        for queue in queues {
            ok!(contexts::clFinish(queue));
            ok!(contexts::clReleaseCommandQueue(queue));
        }
        all.into_iter().for_each(|e| ok!(events::clReleaseEvent(e)));
        ok!(kernels::clReleaseKernel(kernel));
    }
    commands_done
}

/// Pages of the process that are in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0) * 4096
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds = args.next().and_then(|a| a.parse().ok()).unwrap_or(10);
    let threads: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(8);
    let (mut platform, mut device) = (0, 0);
    ok!(contexts::clGetPlatformIDs(1, Out::to(&mut platform), Out::none()));
    let all = cl::DEVICE_TYPE_ALL;
    ok!(contexts::clGetDeviceIDs(platform, all, 1, Out::to(&mut device), Out::none()));
    let devices = [device];
    let context =
        make!(contexts::clCreateContext(In::none(), 1, In::of(&devices), None, Raw::none()));
    let text = CString::new(SOURCE).unwrap();
    let program = make!(programs::clCreateProgramWithSource(
        context,
        1,
        In::of(&[Text::of(&text)]),
        In::none()
    ));
    ok!(programs::clBuildProgram(program, 0, In::none(), Text::none(), None, Raw::none()));
    let start = Instant::now();
    let until = start + Duration::from_secs(seconds);
    // What the first tenth leaves is what the rest may use.
    let early = start + Duration::from_secs(seconds) / 10;
    let round = |until| -> u64 {
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads)
                .map(|seed| scope.spawn(move || work(context, device, program, seed + 1, until)))
                .collect();
            all.into_iter().map(|t| t.join().expect("a thread failed")).sum()
        })
    };
    let mut done = round(early);
    let before = resident();
    done += round(until);
    let after = resident();
    println!(
        "{threads} threads, {:.0} s: {done} commands, {:.0} per second; memory {:.1} MiB, then {:.1} MiB",
        start.elapsed().as_secs_f64(),
        done as f64 / start.elapsed().as_secs_f64(),
        before as f64 / f64::from(1 << 20),
        after as f64 / f64::from(1 << 20)
    );
    assert!(after < before + before / 4 + (16 << 20), "memory grows");
    ok!(programs::clReleaseProgram(program));
    ok!(contexts::clReleaseContext(context));
}
