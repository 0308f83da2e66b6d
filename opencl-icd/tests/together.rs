//! Commands of a queue in order that nobody can ask for: they run as one, and nobody can tell.

// The macros are there to call unsafe functions.
#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use c_border::{In, Out};
use common::*;
use opencl_icd::api::{commands, contexts, events, kernels};
use opencl_icd::cl;

const SOURCE: &str = "
kernel void step(global int *a, int n) { a[0] = a[0] * 3 + n; }
kernel void far(global int *a) { a[1 << 28] = 1; }";

/// A launch of one work-item that waits for `waits`; its event, if that is wanted.
fn launch(queue: usize, kernel: usize, waits: &[usize], wanted: bool) -> usize {
    let mut event = 0;
    let list = if waits.is_empty() { In::none() } else { In::of(waits) };
    let to = if wanted { Out::to(&mut event) } else { Out::none() };
    let (one, count) = ([1], waits.len() as u32);
    let (none, size) = (In::none(), In::of(&one));
    ok!(kernels::clEnqueueNDRangeKernel(queue, kernel, 1, none, size, none, count, list, to));
    event
}

fn first(queue: usize, buffer: usize) -> i32 {
    let mut out = [0i32];
    let to = raw_slice(&mut out);
    ok!(commands::clEnqueueReadBuffer(queue, buffer, 1, 0, 4, to, 0, In::none(), Out::none()));
    out[0]
}

#[test]
fn commands_keep_their_order_and_their_arguments() {
    let context = context();
    let program = source_program(context, SOURCE);
    assert_eq!(build(program, ""), 0);
    let (data, step) = (buffer(context, 64), kernel(program, "step"));
    set(step, 0, data);
    for properties in [0, cl::QUEUE_PROFILING_ENABLE] {
        let queue = queue(context, properties);
        let mut wanted = first(queue, data);
        let mut events = Vec::new();
        for n in 0..300 {
            set(step, 1, n);
            wanted = wanted.wrapping_mul(3).wrapping_add(n);
            match n % 50 {
                // Those before run when somebody waits for this one, and those behind it after it.
                7 => events.push(launch(queue, step, &[], true)),
                8 => drop(launch(queue, step, &events[events.len() - 1..], false)),
                20 => {
                    launch(queue, step, &[], false);
                    ok!(contexts::clFlush(queue));
                }
                30 => {
                    launch(queue, step, &[], false);
                    ok!(events::clWaitForEvents(1, In::of(&events[events.len() - 1..])));
                }
                40 => {
                    launch(queue, step, &[], false);
                    assert_eq!(first(queue, data), wanted);
                }
                _ => drop(launch(queue, step, &[], false)),
            }
        }
        ok!(contexts::clFinish(queue));
        assert_eq!(first(queue, data), wanted);
        ok!(contexts::clReleaseCommandQueue(queue));
    }
}

#[test]
fn what_comes_after_a_fault_runs() {
    let context = context();
    let queue = queue(context, 0);
    let program = source_program(context, SOURCE);
    assert_eq!(build(program, ""), 0);
    let (data, step, far) = (buffer(context, 64), kernel(program, "step"), kernel(program, "far"));
    set(step, 0, data);
    set(step, 1, 7);
    set(far, 0, data);
    for kernel in [step, far, step] {
        launch(queue, kernel, &[], false);
    }
    let last = launch(queue, step, &[], true);
    launch(queue, far, &[], false);
    assert_eq!(call!(contexts::clFinish(queue)), -5);
    assert_eq!(first(queue, data), (7 * 3 + 7) * 3 + 7);
    let (mut status, name) = (99i32, cl::EVENT_COMMAND_EXECUTION_STATUS);
    ok!(events::clGetEventInfo(last, name, 4, raw(&mut status), Out::none()));
    assert_eq!(status, cl::COMPLETE, "neither the one before nor the one behind is its own");
    ok!(contexts::clFinish(queue));
}
