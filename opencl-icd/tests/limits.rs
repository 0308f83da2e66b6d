//! What a process with this driver takes: time and memory.

#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use c_border::{In, Out};
use common::*;
use opencl_icd::api::{contexts, kernels};
use opencl_icd::cl::Error;

/// Set in the process that is looked at: variables are read once.
const INSIDE: &str = "PTXRUN_KEEP";

/// Runs a test of this file in a process of its own.
fn again(test: &str, variables: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    let out = command.envs(variables.iter().copied()).output().expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_kernel_that_never_ends_is_ended() {
    if std::env::var_os(INSIDE).is_none() {
        return again("a_kernel_that_never_ends_is_ended", &[("PTXRUN_TIMEOUT", "1")]);
    }
    let context = context();
    let queue = queue(context, 0);
    let source = "__kernel void k(__global volatile int *a) { while (a[0] == 0) a[1]++; }";
    let program = source_program(context, source);
    assert_eq!(build(program, ""), 0);
    let kernel = kernel(program, "k");
    set(kernel, 0, buffer(context, 64));
    let start = Instant::now();
    let work = [64usize];
    ok!(kernels::clEnqueueNDRangeKernel(
        queue,
        kernel,
        1,
        In::none(),
        In::of(&work),
        In::none(),
        0,
        In::none(),
        Out::none()
    ));
    assert_ne!(call!(contexts::clFinish(queue)), 0);
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Functions that call each other deeper than any stack, built from a thread that has nearly none of its own.
#[test]
fn calls_deeper_than_any_stack_are_refused() {
    const DEEP: usize = 20_000;
    let calls: String =
        (0..DEEP).map(|n| format!("int f{n}(int x) {{ return f{}(x); }}\n", n + 1)).collect();
    let heads: String = (0..=DEEP).map(|n| format!("int f{n}(int x);\n")).collect();
    let source = format!("{heads}{calls}kernel void k(global int *a) {{ a[0] = f0(1); }}");
    let build = move || build(source_program(context(), &source), "");
    let small = std::thread::Builder::new().stack_size(64 << 10).spawn(build).expect("a thread");
    assert_eq!(small.join().expect("a code"), Error::BUILD_PROGRAM_FAILURE.0);
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_context_is_small() {
    if std::env::var_os(INSIDE).is_none() {
        return again("an_idle_context_is_small", &[]);
    }
    let _queue = queue(context(), 0);
    let pages = std::fs::read_to_string("/proc/self/statm").expect("what the kernel knows");
    let resident: u64 =
        pages.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number of pages");
    assert!(resident * 4096 < 50_000_000, "{resident} pages");
}
