//! The C interface, called as a C program would.

use std::ffi::{CString, c_void};
use std::process::Command;

use gpuocelot::ptx_run;

/// `d[i] = 2^a[i] * scale + bias` over doubles, through shared memory and a module variable.
const KERNEL: &str = ".version 7.8\n.target sm_35\n.address_size 64\n\
    .global .align 8 .f64 bias = 0d3fe0000000000000;\n\
    .visible .entry f(.param .u64 d, .param .u64 a, .param .s32 scale)\n{\n\
    .reg .b64 %rd<8>; .reg .b32 %r<4>; .reg .f64 %f<8>;\n\
    .shared .align 8 .b8 tile[512];\n\
    ld.param.u64 %rd1, [d]; ld.param.u64 %rd2, [a]; ld.param.s32 %r1, [scale];\n\
    mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 8;\n\
    add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n\
    ld.global.f64 %f1, [%rd2]; ex2.approx.f64 %f2, %f1; cvt.rn.f64.s32 %f3, %r1;\n\
    mov.u64 %rd4, tile; add.s64 %rd4, %rd4, %rd3;\n\
    mul.rn.f64 %f4, %f2, %f3; st.shared.f64 [%rd4], %f4; ld.shared.f64 %f5, [%rd4];\n\
    ld.global.f64 %f6, [bias]; add.rn.f64 %f7, %f5, %f6;\n\
    st.global.f64 [%rd1], %f7; ret;\n}\n";

fn call(text: &str, args: &[*const c_void], block: i32) {
    let text = CString::new(text).unwrap();
    // SAFETY: the text ends with a zero; the kernels of these tests stay in their buffers, or the test
    // is about what happens when they do not.
    unsafe { ptx_run(text.as_ptr(), args.len() as i32, args.as_ptr(), block, 1, 1, 1, 1, 1, 0) }
}

#[test]
fn a_kernel_works_on_host_memory() {
    let a: Vec<f64> = (0..40).map(|i| f64::from(i) / 4.0).collect();
    for scale in [3, -7] {
        let mut d = vec![0f64; 40];
        let args =
            [d.as_mut_ptr() as *const c_void, a.as_ptr().cast(), scale as isize as *const c_void];
        call(KERNEL, &args, 40);
        for (x, y) in a.iter().zip(&d) {
            let want = x.exp2() * f64::from(scale) + 0.5;
            assert!((y - want).abs() <= want.abs() * 4e-16, "2^{x} * {scale}: {y}, not {want}");
        }
    }
}

/// What must end the process runs in a second one: this test, with the case in the environment.
#[test]
fn errors_end_the_process_with_a_report() {
    const CASE: &str = "GPUOCELOT_TEST_CASE";
    let bad = KERNEL.replace("cvt.rn.f64.s32", "cvt.f64.s32");
    let null = std::ptr::null();
    let two = KERNEL.to_owned() + ".visible .entry g() { ret; }\n";
    let endless = ".version 7.8\n.target sm_35\n.address_size 64\n.visible .entry f() {\n\
        .reg .pred %p; .reg .b32 %r<2>; mov.u32 %r1, 1;\n\
        l: setp.ne.u32 %p, %r1, 0; @%p bra l; ret;\n}\n";
    let cases: [(&str, &str, &[*const c_void], i32, &str); 6] = [
        ("endless", endless, &[], 1, "exceeds its time limit of 300ms"),
        ("invalid", &bad, &[null; 3], 1, "the PTX is not valid"),
        ("count", KERNEL, &[null; 2], 1, "takes 3 arguments, 2 given"),
        ("null", KERNEL, &[null; 3], 1, "null pointer: read of 8 bytes"),
        ("block", KERNEL, &[null; 3], 0, "block [0, 1, 1] is not possible"),
        ("two", &two, &[], 1, "the text has 2 kernels"),
    ];
    if let Ok(case) = std::env::var(CASE) {
        let (_, text, args, block, _) = cases.into_iter().find(|c| c.0 == case).unwrap();
        call(text, args, block);
        println!("went on");
        return;
    }
    for (case, .., want) in cases {
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["errors_end_the_process_with_a_report", "--exact", "--nocapture"])
            .env(CASE, case)
            .env("PTXRUN_TIMEOUT", if case == "endless" { "300ms" } else { "" })
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(text.contains(want), "{case}: {text}");
        assert_eq!(out.status.code(), Some(1), "{case}");
        assert!(!String::from_utf8_lossy(&out.stdout).contains("went on"), "{case}");
    }
}
