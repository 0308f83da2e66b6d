//! What checks find of buffers: accesses that their flags exclude.

// The macros are there to call unsafe functions.
#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use c_border::{In, Out};
use common::*;
use opencl_icd::api::{contexts, kernels, memory};
use opencl_icd::cl;

const SOURCE: &str = "
__kernel void both(__global int *from, __global int *to) { to[get_global_id(0)] = from[get_global_id(0)]; }";

#[test]
fn flags_of_buffers() {
    let report = std::env::temp_dir().join(format!("ptxrun-flags-{}", std::process::id()));
    let _ = std::fs::remove_file(&report);
    // SAFETY: the only test of this process; no other thread runs yet.
    unsafe {
        std::env::set_var("PTXRUN_CHECK", "memory");
        std::env::set_var("PTXRUN_CHECK_REPORT", &report);
    }
    let context = context();
    let queue = queue(context, 0);
    let program = source_program(context, SOURCE);
    assert_eq!(build(program, ""), 0);
    let kernel = kernel(program, "both");
    let new = |flags| make!(memory::clCreateBuffer(context, flags, 64, c_border::Raw::none()));
    let (read, write) = (new(cl::MEM_READ_ONLY), new(cl::MEM_WRITE_ONLY));
    let run = |from: usize, to: usize| {
        set(kernel, 0, from);
        set(kernel, 1, to);
        let size = [16usize];
        ok!(kernels::clEnqueueNDRangeKernel(
            queue,
            kernel,
            1,
            In::none(),
            In::of(&size),
            In::none(),
            0,
            In::none(),
            Out::none()
        ));
        ok!(contexts::clFinish(queue));
        std::fs::read_to_string(&report).unwrap_or_default()
    };
    assert_eq!(run(read, write), "");
    let wrong = run(write, read);
    for part in ["\"write-only\"", "\"read-only\"", "CL_MEM_WRITE_ONLY"] {
        assert!(wrong.contains(part), "{part} is not in {wrong}");
    }
    let _ = std::fs::remove_file(&report);
}
