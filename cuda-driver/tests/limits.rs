//! Modules and kernels that want more than there is: an error, and the process goes on.

mod common;

use common::*;

fn text_of(body: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}\0")
}

/// `.global` arrays: one that no device has room for is refused, one that is never touched costs nothing.
fn module_variables() {
    let context = context();
    let mut module = 0u64;
    let huge = text_of(".visible .global .b8 a[600000000000];\n.visible .entry k() { ret; }\n");
    assert_eq!(call("cuModuleLoadData", &[at(&mut module), text(&huge)]), 2);
    let before = resident();
    let large = text_of(".visible .global .b8 a[1000000000];\n.visible .global .u64 b = a;\n");
    ok("cuModuleLoadData", &[at(&mut module), text(&large)]);
    assert!(resident() < before + (64 << 20), "{before} to {}", resident());
    let (mut a, mut b, mut bytes, mut value) = (0u64, 0u64, 0u64, 0u64);
    ok("cuModuleGetGlobal_v2", &[at(&mut a), at(&mut bytes), module, text("a\0")]);
    assert_eq!(bytes, 1_000_000_000);
    ok("cuModuleGetGlobal_v2", &[at(&mut b), at(&mut bytes), module, text("b\0")]);
    ok("cuMemcpyDtoH_v2", &[at(&mut value), b, 8]);
    assert_eq!(value, a);
    ok("cuMemcpyDtoH_v2", &[at(&mut value), a + 999_999_992, 8]);
    assert_eq!(value, 0);
    ok("cuCtxDestroy_v2", &[context]);
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// A thread has 512 KB of local memory at most.
fn local_memory() {
    for (bytes, code) in
        [(524_288u64, 0), (524_304, 701), (2_000_000_000, 701), (5_000_000_000, 701)]
    {
        let body = format!(
            ".visible .entry k(.param .u64 p) {{ .local .align 16 .b8 a[{bytes}]; .reg .u64 %rd<3>; \
             mov.u64 %rd1, a; ld.param.u64 %rd2, [p]; add.u64 %rd1, %rd1, %rd2; st.local.u64 [%rd1], %rd2; ret; }}\n"
        );
        let context = context();
        let kernel = function(module(&text_of(&body)), "k\0");
        assert_eq!(launch(kernel, [1; 3], [32, 1, 1], 0, &[8]), code, "{bytes}");
        ok("cuCtxSynchronize", &[]);
        ok("cuCtxDestroy_v2", &[context]);
    }
}

/// `malloc` in a kernel has 8 MB, or what `cuCtxSetLimit` gives it.
fn device_heap() {
    let context = context();
    let kernel = function(
        module(&text_of(
            ".extern .func (.param .b64 r) malloc(.param .b64 n);\n\
             .visible .entry k(.param .u64 p, .param .u64 n) {\n.reg .u64 %rd<4>;\n\
             ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [n];\n\
             { .param .b64 n; .param .b64 r; st.param.b64 [n], %rd2; call.uni (r), malloc, (n); ld.param.b64 %rd3, [r]; }\n\
             st.global.u64 [%rd1], %rd3; ret; }\n",
        )),
        "k\0",
    );
    let out = alloc(8);
    let gives = |bytes: u64| {
        let mut pointer = 0u64;
        assert_eq!(launch(kernel, [1; 3], [1; 3], 0, &[out, bytes]), 0);
        ok("cuMemcpyDtoH_v2", &[at(&mut pointer), out, 8]);
        pointer != 0
    };
    assert!(gives(5 << 20) && !gives(5 << 20) && !gives(u64::MAX));
    ok("cuCtxSetLimit", &[2, 64 << 20]);
    assert!(gives(50 << 20));
    ok("cuCtxDestroy_v2", &[context]);
}

/// Stacks that run over and jumps to nowhere end as on an H200.
fn faults() {
    for (kernel, code) in [
        (include_str!("../../tests/ptx/faults/stack_overflow.ptx"), 700),
        (include_str!("../../tests/ptx/faults/call_target.ptx"), 715),
        (include_str!("../../tests/ptx/faults/branch_index.ptx"), 715),
    ] {
        let context = context();
        let name = kernel.split(".entry ").nth(1).unwrap().split(['(', ' ', '\n']).next().unwrap();
        let function = function(module(&format!("{kernel}\0")), &format!("{name}\0"));
        let out = alloc(4096);
        assert_eq!(launch(function, [1; 3], [32, 1, 1], 0, &[out, 0, 0, 0]), 0, "{kernel}");
        assert_eq!(call("cuCtxSynchronize", &[]), code, "{kernel}");
        ok("cuCtxDestroy_v2", &[context]);
    }
}

/// A process with a context that does nothing: one of its own, as other tests take memory.
fn idle_context() {
    const INSIDE: &str = "PTXRUN_KEEP";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "idle_context", "--nocapture"]).env(INSIDE, "1");
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        return;
    }
    let context = context();
    let now = resident();
    assert!(now < 50_000_000, "{now} bytes");
    ok("cuCtxDestroy_v2", &[context]);
}

golden::tests! {
    idle_context: condition("this driver", own()),
    module_variables: condition("this driver", own()),
    local_memory: condition("this driver", own()),
    device_heap: condition("this driver", own()),
    faults: condition("this driver", own()),
}
