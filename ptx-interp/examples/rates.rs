//! Prints the interpreter's speed per class of code, in thread-instructions per second.
//!
//! `cargo run --release -p ptx-interp --example rates [-- THREADS [FILTER]]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_interp::{Access, Isa, Kernel, LaunchParams, Memory, launch};

const HEAD: &str = "
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .b64 %rd<16>; .reg .f64 %fd<8>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4; mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    cvt.rn.f32.u32 %f1, %r5; mov.f32 %f2, 0f3F800001; mov.f32 %f3, 0f3A83126F; mov.u32 %r10, %r5;
    mov.f32 %f4, %f1; mov.f32 %f5, %f2;
";

/// Name, trips (`n`), body.
const KERNELS: &[(&str, u32, &str)] = &[
    (
        "converged FMA and integer mix",
        400,
        "$L: fma.rn.f32 %f1, %f1, %f2, %f3; add.u32 %r10, %r10, %r5; fma.rn.f32 %f4, %f4, %f2, %f3;
         xor.b32 %r11, %r10, %r5; fma.rn.f32 %f5, %f5, %f2, %f1; shl.b32 %r12, %r11, 3;
         fma.rn.f32 %f6, %f5, %f3, %f4; add.u32 %r10, %r12, %r11;
         sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $L;
         add.f32 %f1, %f1, %f6; st.global.f32 [%rd4], %f1; st.global.u32 [%rd5], %r10; ret;",
    ),
    (
        "load, FMA, branch loop (naive matmul)",
        512,
        "and.b32 %r6, %r4, 15; mul.wide.u32 %rd6, %r6, 4; add.s64 %rd7, %rd2, %rd6;
         shr.u32 %r7, %r4, 4; mul.wide.u32 %rd8, %r7, 4; add.s64 %rd9, %rd1, %rd8; mov.u32 %r8, 0;
         $L: ld.global.f32 %f6, [%rd9]; ld.global.f32 %f7, [%rd7]; fma.rn.f32 %f1, %f6, %f7, %f1;
         add.s64 %rd9, %rd9, 4; add.s64 %rd7, %rd7, 64; add.u32 %r8, %r8, 1;
         setp.lt.u32 %p1, %r8, %r1; @%p1 bra $L;
         st.global.f32 [%rd4], %f1; ret;",
    ),
    (
        "tiled matmul step (shared memory)",
        200,
        ".shared .align 16 .b8 s[8192];
         mov.u32 %r6, s; shl.b32 %r7, %r4, 2; add.u32 %r8, %r6, %r7; and.b32 %r9, %r4, 15;
         shl.b32 %r9, %r9, 2; add.u32 %r9, %r9, %r6;
         $L: ld.global.f32 %f6, [%rd4]; st.shared.f32 [%r8], %f6; bar.sync 0;
         ld.shared.f32 %f7, [%r9]; ld.shared.f32 %f8, [%r8+4]; fma.rn.f32 %f1, %f7, %f8, %f1;
         ld.shared.f32 %f7, [%r9+64]; ld.shared.f32 %f8, [%r8+8]; fma.rn.f32 %f1, %f7, %f8, %f1;
         ld.shared.f32 %f7, [%r9+128]; ld.shared.f32 %f8, [%r8+12]; fma.rn.f32 %f1, %f7, %f8, %f1;
         bar.sync 0; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $L;
         st.global.f32 [%rd4], %f1; ret;",
    ),
    (
        "divergent Mandelbrot",
        200,
        "and.b32 %r6, %r5, 63; cvt.rn.f32.u32 %f6, %r6; fma.rn.f32 %f6, %f6, 0f3D400000, 0fC0000000;
         shr.u32 %r7, %r5, 6; and.b32 %r7, %r7, 63; cvt.rn.f32.u32 %f7, %r7;
         fma.rn.f32 %f7, %f7, 0f3D000000, 0fBF800000;
         mov.f32 %f8, 0f00000000; mov.f32 %f9, 0f00000000; mov.u32 %r8, 0;
         $L: mul.f32 %f10, %f8, %f8; mul.f32 %f11, %f9, %f9; add.f32 %f12, %f10, %f11;
         setp.gt.f32 %p1, %f12, 0f40800000; @%p1 bra $D;
         sub.f32 %f10, %f10, %f11; add.f32 %f10, %f10, %f6; mul.f32 %f9, %f8, %f9;
         fma.rn.f32 %f9, %f9, 0f40000000, %f7; mov.f32 %f8, %f10;
         add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, %r1; @%p2 bra $L;
         $D: st.global.u32 [%rd4], %r8; ret;",
    ),
    (
        "divergent if/else in a loop",
        300,
        "mov.u32 %r8, %r5;
         $L: and.b32 %r6, %r8, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra $E;
         mad.lo.u32 %r8, %r8, 3, 1; xor.b32 %r9, %r8, %r10; add.u32 %r10, %r10, %r9; bra $N;
         $E: shr.u32 %r8, %r8, 1; add.u32 %r10, %r10, 7;
         $N: add.u32 %r8, %r8, %r5; sub.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra $L;
         st.global.u32 [%rd4], %r10; ret;",
    ),
    (
        "guarded instructions",
        300,
        "and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0;
         $L: add.u32 %r8, %r8, %r5; @%p1 add.u32 %r10, %r10, 7; @!%p1 add.u32 %r10, %r10, 3;
         @%p1 fma.rn.f32 %f1, %f1, %f2, %f3;
         sub.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra $L;
         st.global.u32 [%rd4], %r10; ret;",
    ),
    (
        "streaming saxpy",
        1,
        "ld.global.f32 %f6, [%rd4]; ld.global.f32 %f7, [%rd5]; fma.rn.f32 %f6, %f6, %f2, %f7;
         st.global.f32 [%rd5], %f6; ret;",
    ),
    (
        "gather loads",
        200,
        "$L: mad.lo.u32 %r10, %r10, 1664525, 1013904223; and.b32 %r6, %r10, 16383;
         mul.wide.u32 %rd6, %r6, 4; add.s64 %rd7, %rd1, %rd6; ld.global.f32 %f6, [%rd7];
         add.f32 %f1, %f1, %f6; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $L;
         st.global.f32 [%rd4], %f1; ret;",
    ),
    (
        "f64 FMA",
        300,
        "cvt.rn.f64.u32 %fd1, %r5; mov.f64 %fd2, 0d3FF0000000000001;
         $L: fma.rn.f64 %fd1, %fd1, %fd2, %fd2; fma.rn.f64 %fd3, %fd1, %fd2, %fd3;
         sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $L;
         cvt.rn.f32.f64 %f1, %fd3; st.global.f32 [%rd4], %f1; ret;",
    ),
    (
        "shuffle reduction",
        100,
        "$L: shfl.sync.bfly.b32 %r6, %r10, 16, 31, -1; add.u32 %r10, %r10, %r6;
         shfl.sync.bfly.b32 %r6, %r10, 8, 31, -1; add.u32 %r10, %r10, %r6;
         sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $L;
         st.global.u32 [%rd4], %r10; ret;",
    ),
    (
        "global atomics",
        50,
        "and.b32 %r6, %r5, 255; mul.wide.u32 %rd6, %r6, 4; add.s64 %rd7, %rd2, %rd6;
         $L: red.global.add.u32 [%rd7], %r5; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0;
         @%p1 bra $L; ret;",
    ),
];

fn main() {
    let mut args = std::env::args().skip(1);
    let threads: Option<usize> = args.next().and_then(|a| a.parse().ok());
    let filter = args.next().unwrap_or_default();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or(": unknown");
    println!("{} · {:?}", cpu.trim_start_matches(['\t', ':', ' ']), Isa::detect());
    println!(
        "{:42} {:>10} {:>10} {:>8}",
        "10^9 thread-instructions/s", "1 thread", "2 threads", "ratio"
    );
    for (name, n, body) in KERNELS.iter().filter(|k| k.0.contains(&filter)) {
        let one = rate(*n, body, 1);
        let more = threads.unwrap_or(2);
        let two = if more > 1 { rate(*n, body, more) } else { one };
        println!("{name:42} {:10.2} {:10.2} {:8.2}", one / 1e9, two / 1e9, two / one);
    }
}

fn rate(n: u32, body: &str, threads: usize) -> f64 {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{ {HEAD} {body} }}\n"
    );
    let (module, diags) = ptx_parse::parse_and_verify(&text, "bench.ptx");
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let program = ptx_parse::lower::lower(&module, 0).unwrap_or_else(|e| panic!("{e}"));
    let kernel = Kernel::decode(Arc::new(program));
    let blocks = if n == 1 { 1024 } else { 64 };
    let memory = Memory::new(1 << 26).expect("memory");
    let size = blocks as u64 * 256 * 4 + 65536;
    let mut params = Vec::new();
    for name in ["a", "b"] {
        let at = memory.alloc(size, 256, name, Access::ReadWrite).expect("memory");
        params.extend_from_slice(&at.to_le_bytes());
    }
    params.extend_from_slice(&n.to_le_bytes());
    let launch_params = LaunchParams {
        grid: [blocks, 1, 1],
        block: [256, 1, 1],
        params,
        threads,
        ..LaunchParams::default()
    };
    let mut best = 0f64;
    let end = Instant::now() + Duration::from_millis(700);
    while Instant::now() < end {
        let start = Instant::now();
        let stats = launch(&kernel, &memory, &launch_params).unwrap_or_else(|e| panic!("{e}"));
        best = best.max(stats.thread_instructions as f64 / start.elapsed().as_secs_f64());
    }
    best
}
