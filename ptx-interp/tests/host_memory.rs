//! Small kernels that touch host memory in every way (atomics, waits, shared and local memory, copies, what lies outside),
//! on one and two host threads; no kernel here races by itself. Made for tools that see every access.

mod common;

use common::*;
use ptx_interp::{FaultKind, Isa};

const REGS: &str = "
    .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<12>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
";

fn text(body: &str) -> String {
    module("sm_90", ".param .u64 out", &format!("{REGS}{body} ret;"))
}

fn bench(grid: u32, block: u32, threads: usize) -> Bench {
    let mut b = Bench::new(grid, block);
    b.params.threads = threads;
    // Some tools are slower than any limit.
    b.params.timeout = None;
    b
}

fn decoded(body: &str) -> ptx_interp::Kernel {
    kernel_named(&text(body), "k", Isa::Baseline)
}

#[test]
fn atomics_of_blocks() {
    let k = decoded(
        "atom.global.add.u32 %r3, [%rd1], 1; red.global.max.s32 [%rd1+4], %r1; atom.global.inc.u32 %r3, [%rd1+8], 4;
         atom.global.add.u64 %rd4, [%rd1+16], 3; mov.b64 %rd5, 5; red.global.xor.b64 [%rd1+24], %rd5;
         mov.f32 %f1, 0f3f800000; atom.global.add.f32 %f2, [%rd1+32], %f1;
         mov.b16 %h1, 0; mov.b16 %h2, 7; atom.global.cas.b16 %h3, [%rd1+38], %h1, %h2;
         atom.global.exch.b32 %r4, [%rd1+40], 9; atom.global.cas.b64 %rd6, [%rd1+48], 0, 1;
         atom.acq_rel.gpu.global.min.u32 %r4, [%rd1+56], %r2;",
    );
    for threads in [1, 2] {
        let mut b = bench(4, 5, threads);
        let at = b.buffer(&[0; 16]);
        b.run(&k);
        let found = b.words(at, 16);
        assert_eq!(found, [20, 4, 0, 0, 60, 0, 0, 0, 0x41a0_0000, 7 << 16, 9, 0, 1, 0, 0, 0]);
    }
}

#[test]
fn a_block_waits_for_another() {
    // Block 0 writes and says so; block 1 waits and reads.
    let k = decoded(
        "setp.ne.u32 %p1, %r2, 0; @%p1 bra wait;
         st.global.u32 [%rd3+16], %r1; fence.acq_rel.gpu; bar.sync 0;
         setp.ne.u32 %p2, %r1, 0; @%p2 ret; st.release.gpu.global.u32 [%rd1], 1; ret;
         wait: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra wait;
         ld.global.u32 %r4, [%rd3+16]; st.global.u32 [%rd3+32], %r4;",
    );
    for threads in [1, 2] {
        let mut b = bench(2, 4, threads);
        let at = b.buffer(&[0; 12]);
        b.run(&k);
        assert_eq!(b.words(at, 12), [1, 0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3]);
    }
}

#[test]
fn shared_and_local_memory() {
    let k = decoded(
        ".shared .align 16 .b8 s[64]; .local .align 16 .b8 own[32];
         mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r1; bar.sync 0;
         atom.shared.add.u32 %r5, [s+60], 1; mov.u32 %r6, s; ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];
         add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10;
         mov.u64 %rd4, own; and.b64 %rd5, %rd2, 31; add.u64 %rd4, %rd4, %rd5; st.local.u32 [%rd4], %r7;
         cvta.local.u64 %rd6, %rd4; ld.u8 %h1, [%rd6]; st.local.u16 [%rd4+2], %h1; ld.local.u32 %r8, [%rd4];
         st.global.u32 [%rd3], %r8; bar.sync 0; ld.shared.u32 %r9, [s+60]; st.global.u32 [%rd1+16], %r9;",
    );
    for threads in [1, 2] {
        let mut b = bench(1, 4, threads);
        let at = b.buffer(&[0; 5]);
        b.run(&k);
        assert_eq!(b.words(at, 5), [0x0006_0006, 0x0006_0006, 0x0006_0006, 0x0006_0006, 4]);
    }
}

#[test]
fn copies_and_elements() {
    let k = decoded(
        ".shared .align 16 .b8 s[32]; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
         cp.async.ca.shared.global [s], [%rd1], 16; cp.async.wait_all; ld.shared.v2.b64 {%rd4, %rd5}, [s];
         st.global.v2.b64 [%rd1+16], {%rd4, %rd5}; ld.global.s8 %r3, [%rd1+3]; st.global.u16 [%rd1+34], %r3;
         ld.global.u8 %r4, [%rd1+17]; st.global.u8 [%rd1+33], %r4;",
    );
    let mut b = bench(1, 2, 1);
    let at = b.buffer(&[0x8000_ff00, 2, 3, 4, 0, 0, 0, 0, 0]);
    b.run(&k);
    let found = b.words(at, 9);
    assert_eq!(found, [0x8000_ff00, 2, 3, 4, 0x8000_ff00, 2, 3, 4, 0xff80_ff00]);
}

#[test]
fn what_is_outside_faults() {
    for (body, kind) in [
        ("st.global.u32 [%rd1+16], %r1;", FaultKind::OutOfBounds),
        ("ld.global.v2.u32 {%r3, %r4}, [%rd1+4];", FaultKind::Misaligned),
        ("atom.global.add.u32 %r3, [%rd1+4096], 1;", FaultKind::OutOfBounds),
        (".local .b32 own; ld.local.u32 %r3, [own+4096];", FaultKind::OutOfBounds),
        (".shared .b32 s; st.shared.u32 [s+262144], %r1;", FaultKind::OutOfBounds),
    ] {
        let k = decoded(body);
        let mut b = bench(1, 2, 1);
        b.buffer(&[0; 4]);
        b.fault(&k, kind);
    }
}
