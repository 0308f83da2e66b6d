//! What `PTXRUN_*` variables do. Each test runs itself once more, with the variables set.

mod common;

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::*;

/// Set in the process that does the work.
const INSIDE: &str = "PTXRUN_KEEP";

/// What these tests need: the variables are this driver's.
const THIS_DRIVER: &str = "this driver";

fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs a test of this file once more with variables.
fn again(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    command.envs(variables.iter().copied()).output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn memory_is_limited() {
    if inside() {
        context();
        let (mut free, mut total) = (0u64, 0u64);
        ok("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]);
        assert_eq!(total, 64 << 20);
        let mut pointer = 0u64;
        assert_eq!(call("cuMemAlloc_v2", &[at(&mut pointer), 65 << 20]), 2);
        assert_eq!(call("cuMemAllocManaged", &[at(&mut pointer), 65 << 20, 1]), 2);
        ok("cuMemAlloc_v2", &[at(&mut pointer), 60 << 20]);
        assert_eq!(call("cuMemAlloc_v2", &[at(&mut pointer), 60 << 20]), 2);
        return;
    }
    let out = again("memory_is_limited", &[("PTXRUN_MEMORY", "64M")]);
    assert!(out.status.success(), "{}", said(&out));
}

fn memory_fits_the_host_by_default() {
    if inside() {
        context();
        let (mut free, mut total) = (0u64, 0u64);
        ok("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]);
        assert!(total <= environment::host::memory() / 4 * 3, "{total}");
        return;
    }
    let out = again("memory_fits_the_host_by_default", &[("PTXRUN_MEMORY", "")]);
    assert!(out.status.success(), "{}", said(&out));
}

const ENDLESS: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
    .reg .u32 %r<2>;
    .reg .pred %p;
    mov.u32 %r1, 1;
loop:
    setp.ne.u32 %p, %r1, 0;
    @%p bra loop;
    ret;
}
\0";

/// `redux` of floats was never recorded.
const GREATEST: &str = "\
.version 8.6
.target sm_100a
.address_size 64
.visible .entry greatest(.param .u64 at) {
    .reg .f32 %f<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [at];
    ld.global.f32 %f1, [%rd1];
    redux.sync.max.f32 %f1, %f1, -1;
    st.global.f32 [%rd1], %f1;
    ret;
}
\0";

fn kernels_are_told_of_once() {
    if inside() {
        context();
        let kernel = function(module(GREATEST), "greatest\0");
        let mut data = 0u64;
        ok("cuMemAlloc_v2", &[at(&mut data), 4]);
        for _ in 0..3 {
            assert_eq!(launch(kernel, [1; 3], [32, 1, 1], 0, &[data]), 0);
        }
        ok("cuCtxSynchronize", &[]);
        return;
    }
    let told = |verbose| {
        let variables = [("PTXRUN_VERBOSE", verbose), ("PTXRUN_DEVICE", "sm_100a")];
        let out = again("kernels_are_told_of_once", &variables);
        assert!(out.status.success(), "{}", said(&out));
        said(&out)
    };
    let line = "ptxrun: greatest: interpreted; 5 instructions, 4 exact, 1 by the manual (redux.sync.max.f32); executed \
                by lanes: 160, of which 32 by the manual; no branch depends on them\n";
    assert_eq!(told("1").matches("ptxrun:").count(), 1, "{}", told("1"));
    assert!(told("1").contains(line), "{}", told("1"));
    assert!(!told("0").contains("ptxrun: greatest"));
}

fn launches_end_in_time() {
    if inside() {
        context();
        let kernel = function(module(ENDLESS), "k\0");
        let start = Instant::now();
        assert_eq!(launch(kernel, [1; 3], [32, 1, 1], 0, &[]), 0);
        assert_eq!(call("cuCtxSynchronize", &[]), 702);
        assert!(start.elapsed() < Duration::from_millis(1300), "{:?}", start.elapsed());
        return;
    }
    for backend in ["interp", "jit"] {
        let set = [("PTXRUN_TIMEOUT", "300ms"), ("PTXRUN_BACKEND", backend)];
        let out = again("launches_end_in_time", &set);
        assert!(out.status.success(), "{backend}: {}", said(&out));
    }
}

fn junk_is_named() {
    if inside() {
        println!("code {}", call("cuInit", &[0]));
        return;
    }
    let code = |variables: &[(&str, &str)]| {
        let out = again("junk_is_named", variables);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let code = text.lines().find_map(|l| l.split("code ").nth(1)?.parse::<u32>().ok());
        (code.expect("a code"), said(&out))
    };
    let (unknown, text) = code(&[("PTXRUN_DEVISE", "H200")]);
    assert!(unknown == 0 && text.contains("PTXRUN_DEVISE"), "{text}");
    for (name, value) in [
        ("PTXRUN_MEMORY", "lots"),
        ("PTXRUN_TIMEOUT", "0"),
        ("PTXRUN_BACKEND", "gpu"),
        ("PTXRUN_DEVICE", "no such device"),
        ("PTXRUN_JIT_BITS", "100"),
    ] {
        let (refused, text) = code(&[(name, value)]);
        assert!(refused == 100 && text.contains(name), "{name}={value}: {refused} {text}");
    }
}

golden::tests! {
    memory_is_limited: condition(THIS_DRIVER, own()),
    memory_fits_the_host_by_default: condition(THIS_DRIVER, own()),
    kernels_are_told_of_once: condition(THIS_DRIVER, own()),
    launches_end_in_time: condition(THIS_DRIVER, own()),
    junk_is_named: condition(THIS_DRIVER, own()),
}
