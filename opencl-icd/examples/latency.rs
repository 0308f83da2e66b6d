//! Host cost of the driver: an empty kernel, a build from PTX, copies.
//! `cargo run --release -p opencl-icd --example latency`

// The macros are there to call unsafe functions.
#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

use std::time::Instant;

use c_border::{In, Out, Raw, Text};
use opencl_icd::api::{commands, contexts, kernels, memory, programs};
use opencl_icd::cl;

#[path = "../tests/common/mod.rs"]
mod common;
use common::{raw, raw_slice};

/// Median of the microseconds that a call takes.
fn median(turns: usize, mut call: impl FnMut()) -> f64 {
    let mut all: Vec<f64> = (0..turns)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[turns / 2]
}

fn main() {
    let (mut platform, mut device) = (0, 0);
    ok!(contexts::clGetPlatformIDs(1, Out::to(&mut platform), Out::none()));
    let all = cl::DEVICE_TYPE_ALL;
    ok!(contexts::clGetDeviceIDs(platform, all, 1, Out::to(&mut device), Out::none()));
    let devices = [device];
    let context =
        make!(contexts::clCreateContext(In::none(), 1, In::of(&devices), None, Raw::none()));
    let queue = make!(contexts::clCreateCommandQueue(context, device, 0));
    let source = [Text::of(c"kernel void nothing() {}")];
    let program =
        make!(programs::clCreateProgramWithSource(context, 1, In::of(&source), In::none()));
    let build = |program| {
        ok!(programs::clBuildProgram(program, 0, In::none(), Text::none(), None, Raw::none()));
    };
    build(program);
    let kernel = make!(kernels::clCreateKernel(program, Text::of(c"nothing")));
    let (global, local) = ([32usize], [32usize]);
    let empty = median(5000, || {
        ok!(kernels::clEnqueueNDRangeKernel(
            queue,
            kernel,
            1,
            In::none(),
            In::of(&global),
            In::of(&local),
            0,
            In::none(),
            Out::none()
        ));
        ok!(contexts::clFinish(queue));
    });
    println!("enqueue and finish of an empty kernel: {empty:.1} us");
    let mut size = 0usize;
    let place = raw(&mut size);
    ok!(programs::clGetProgramInfo(program, cl::PROGRAM_BINARY_SIZES, 8, place, Out::none()));
    let mut bytes = vec![0u8; size];
    let mut list = [bytes.as_mut_ptr()];
    let place = raw_slice(&mut list);
    ok!(programs::clGetProgramInfo(program, cl::PROGRAM_BINARIES, 8, place, Out::none()));
    let lengths = [size];
    let binaries = [raw_slice(&mut bytes)];
    let cached = median(1000, || {
        let program = make!(programs::clCreateProgramWithBinary(
            context,
            1,
            In::of(&devices),
            In::of(&lengths),
            In::of(&binaries),
            Out::none()
        ));
        build(program);
        ok!(programs::clReleaseProgram(program));
    });
    println!("program from PTX that was built before: {cached:.1} us");
    const BYTES: usize = 64 << 20;
    let mut host = vec![1u8; BYTES];
    let mut other = vec![2u8; BYTES];
    let place = raw_slice(&mut host);
    let buffer = make!(memory::clCreateBuffer(context, cl::MEM_COPY_HOST_PTR, BYTES, place));
    let rate = |us: f64| BYTES as f64 / us / 1e3;
    let copy = rate(median(15, || std::hint::black_box(&mut other).copy_from_slice(&host)));
    let place = raw_slice(&mut host);
    let read = rate(median(15, || {
        ok!(commands::clEnqueueReadBuffer(
            queue,
            buffer,
            1,
            0,
            BYTES,
            place,
            0,
            In::none(),
            Out::none()
        ));
    }));
    let write = rate(median(15, || {
        ok!(commands::clEnqueueWriteBuffer(
            queue,
            buffer,
            1,
            0,
            BYTES,
            place,
            0,
            In::none(),
            Out::none()
        ));
    }));
    println!("64 MiB: memcpy {copy:.1} GB/s, read {read:.1}, write {write:.1}");
}
