//! Barriers, lanes that wait for one another, system calls, clusters, limits.

mod common;

use common::*;
use ptx_interp::FaultKind;

const REGS: &str = "
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid;
    mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
";

fn run(target: &str, body: &str, grid: u32, block: u32) -> Vec<u32> {
    let k = kernel(&module(target, ".param .u64 out", &format!("{REGS} {body}")));
    let mut b = Bench::new(grid, block);
    let out = b.buffer(&vec![0; 1024]);
    b.run(&k);
    b.words(out, 1024)
}

fn fault(target: &str, body: &str, block: u32, kind: FaultKind) -> Box<ptx_interp::Report> {
    let k = kernel(&module(target, ".param .u64 out", &format!("{REGS} {body}")));
    let mut b = Bench::new(1, block);
    b.buffer(&vec![0; 1024]);
    b.params.step_limit = Some(1 << 22);
    b.fault(&k, kind)
}

#[test]
fn early_exit_and_ragged_blocks_do_not_hold_up_barriers() {
    let body = ".shared .b32 n;
        setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [n], 7;
        setp.gt.u32 %p2, %r1, 69; @%p2 exit;
        bar.sync 0; ld.shared.u32 %r3, [n]; st.global.u32 [%rd3], %r3; ret;";
    for target in ["sm_60", "sm_80"] {
        let out = run(target, body, 1, 100);
        assert!((0..70).all(|t| out[t] == 7) && out[70..100].iter().all(|v| *v == 0));
    }
}

#[test]
fn named_and_counted_barriers() {
    // Warp 0 produces, warp 1 consumes; warp 2 is not part of it.
    let body = ".shared .b32 s[32];
        shr.u32 %r3, %r1, 5; shl.b32 %r4, %r2, 2; mov.u32 %r5, s; add.u32 %r6, %r5, %r4;
        setp.eq.u32 %p1, %r3, 0; @%p1 bra $produce;
        setp.eq.u32 %p1, %r3, 1; @%p1 bra $consume; ret;
        $produce: add.u32 %r7, %r2, 100; st.shared.u32 [%r6], %r7; bar.arrive 3, 64; ret;
        $consume: bar.sync 3, 64; ld.shared.u32 %r7, [%r6]; st.global.u32 [%rd3], %r7; ret;";
    let out = run("sm_80", body, 1, 96);
    assert!((0..32).all(|l| out[32 + l] == 100 + l as u32));
}

#[test]
fn barrier_reductions() {
    let body = "and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0;
        barrier.red.popc.u32 %r4, 0, %p1; barrier.red.and.pred %p2, 1, %p1;
        barrier.red.or.pred %p3, 0, %p1;
        selp.u32 %r5, 1000, 0, %p2; selp.u32 %r6, 2000, 0, %p3;
        add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; st.global.u32 [%rd3], %r4; ret;";
    let out = run("sm_80", body, 1, 80);
    assert!((0..80).all(|t| out[t] == 2020), "{:?}", &out[..80]);
}

#[test]
fn diverged_lanes_meet_at_sync_instructions() {
    // Both sides of a branch shuffle with all lanes, through the same instruction reached apart.
    let body = "setp.lt.u32 %p1, %r2, 16; mov.u32 %r3, 0; @%p1 bra $a;
        mov.u32 %r4, 500; bra $b;
        $a: mov.u32 %r4, 300;
        $b: add.u32 %r4, %r4, %r2; shfl.sync.idx.b32 %r5, %r4, 20, 31, -1;
        @%p1 bra $c; bar.warp.sync -1; bra $d; $c: bar.warp.sync -1; $d:
        vote.sync.ballot.b32 %r6, %p1, -1; xor.b32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; ret;";
    let out = run("sm_80", body, 1, 32);
    assert!(out[..32].iter().all(|v| *v == 520 ^ 0xffff), "{:?}", &out[..32]);
}

#[test]
fn a_lane_waits_for_another_lane_of_its_warp() {
    // Lane 5 sets a flag that the others poll; polling stands first in the text.
    let body = ".shared .b32 flag;
        setp.eq.u32 %p1, %r2, 5; mov.u32 %r3, 0;
        @%p1 bra $set;
        $poll: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra $poll;
        bra $end;
        $set: mov.u32 %r3, 9; st.volatile.shared.u32 [flag], %r3;
        $end: st.global.u32 [%rd3], %r3; ret;";
    let out = run("sm_70", body, 1, 64);
    assert!(out[..64].iter().all(|v| *v == 9));
}

#[test]
fn blocks_may_wait_for_later_blocks_when_resident_together() {
    // Every block waits until all have come (a grid barrier by atomics).
    let body = "setp.ne.u32 %p1, %r1, 0; @%p1 bra $end;
        atom.global.add.u32 %r3, [%rd1+2048], 1; mov.u32 %r4, %nctaid.x;
        $poll: ld.relaxed.gpu.global.u32 %r3, [%rd1+2048]; setp.lt.u32 %p2, %r3, %r4;
        @%p2 bra $poll;
        mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd5, %rd1, %rd4;
        st.global.u32 [%rd5], %r3;
        $end: ret;";
    let out = run("sm_80", body, 40, 64);
    assert!(out[..40].iter().all(|v| *v == 40));
}

#[test]
fn divergent_tables_and_indirect_calls() {
    let text = "
.version 8.4
.target sm_80
.address_size 64
.func (.reg .b32 r) one(.reg .b32 n) { add.u32 r, n, 1; ret; }
.func (.reg .b32 r) two(.reg .b32 n) { mul.lo.u32 r, n, 2; ret; }
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;
    mov.u64 %rd4, one; mov.u64 %rd5, two; selp.b64 %rd6, %rd4, %rd5, %p1;
    proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
    call (%r3), %rd6, (%r1), proto;
    activemask.b32 %r4; setp.ne.u32 %p2, %r4, -1; @%p2 trap;
    and.b32 %r5, %r1, 3;
    table: .branchtargets $a, $b, $c, $d;
    brx.idx %r5, table;
    $a: add.u32 %r3, %r3, 1000; bra $e;
    $b: add.u32 %r3, %r3, 2000; bra $e;
    $c: add.u32 %r3, %r3, 3000; bra $e;
    $d: add.u32 %r3, %r3, 4000;
    $e: activemask.b32 %r4; setp.ne.u32 %p2, %r4, -1; @%p2 trap;
    st.global.u32 [%rd3], %r3; ret;
}";
    let k = kernel(text);
    let mut b = Bench::new(1, 64);
    let out = b.buffer(&[0; 64]);
    b.run(&k);
    for (t, v) in b.words(out, 64).into_iter().enumerate() {
        let t = t as u32;
        let f = if t.is_multiple_of(2) { t + 1 } else { 2 * t };
        assert_eq!(v, f + 1000 * (t % 4 + 1));
    }
}

#[test]
fn faults_of_control_and_barriers() {
    let half =
        "setp.lt.u32 %p1, %r2, 16; @%p1 bra $a; barrier.sync 1; ret; $a: barrier.sync 2; ret;";
    let r = fault("sm_80", half, 32, FaultKind::DivergentBarrier);
    assert_eq!(r.warps.len(), 2, "{r}");
    let one = "setp.lt.u32 %p1, %r1, 32; @%p1 bra $a; bar.sync 1; ret; $a: bar.sync 2; ret;";
    let r = fault("sm_80", one, 64, FaultKind::Deadlock);
    assert!(r.to_string().contains("waits at barrier 2"), "{r}");
    let r = fault("sm_80", "trap; ret;", 32, FaultKind::Trap);
    assert_eq!(r.place.as_ref().unwrap().text, "trap;");
    fault("sm_80", "brkpt; ret;", 32, FaultKind::Breakpoint);
    fault("sm_80", "mov.u32 %r9, 16; bar.sync %r9; ret;", 32, FaultKind::Operand);
    fault("sm_80", "$l: bra $l;", 32, FaultKind::StepLimit);
    let r = fault(
        "sm_80",
        "t: .branchtargets $a; brx.idx %r1, t; $a: ret;",
        32,
        FaultKind::BranchIndex,
    );
    assert_eq!((r.thread, r.registers[0].value), ([1, 0, 0], 1), "{r}");
    fault(
        "sm_80",
        "mov.u64 %rd4, 4660; p: .callprototype _ (); call %rd4, (), p; ret;",
        32,
        FaultKind::CallTarget,
    );
}

#[test]
fn faults_of_memory() {
    let r = fault(
        "sm_80",
        "mad.wide.u32 %rd3, %r1, 256, %rd1; st.global.u32 [%rd3+4], %r1; ret;",
        32,
        FaultKind::OutOfBounds,
    );
    let access = r.access.as_ref().unwrap();
    assert_eq!(
        (r.thread[0], access.nearest.as_ref().unwrap().1, access.write),
        (16, 5, true),
        "{r}"
    );
    assert_eq!(access.nearest.as_ref().unwrap().0.name.as_ref(), "argument 0");
    let r = fault("sm_80", "ld.global.u32 %r3, [%rd3+2]; ret;", 32, FaultKind::Misaligned);
    assert_eq!(r.thread[0], 0);
    fault("sm_80", "mov.u64 %rd4, 0; ld.u32 %r3, [%rd4]; ret;", 1, FaultKind::NullPointer);
    fault(
        "sm_80",
        ".shared .b32 s[4]; mov.u32 %r3, s; st.shared.u32 [%r3+16], %r1; ret;",
        1,
        FaultKind::OutOfBounds,
    );
    fault(
        "sm_80",
        ".local .b32 s[4]; mov.u64 %rd4, s; st.local.u32 [%rd4+16], %r1; ret;",
        1,
        FaultKind::OutOfBounds,
    );
    fault(
        "sm_80",
        "add.u64 %rd4, %rd1, 2; atom.global.add.u32 %r3, [%rd4], 1; ret;",
        1,
        FaultKind::Misaligned,
    );
}

#[test]
fn recursion_without_end_overflows_the_stack() {
    let text = "
.version 8.4
.target sm_80
.address_size 64
.func f() { .local .b32 x[16]; call f, (); ret; }
.visible .entry k() { call f, (); ret; }";
    let k = kernel(text);
    let r = Bench::new(1, 32).fault(&k, FaultKind::StackOverflow);
    assert!(!r.calls.is_empty(), "{r}");
}

#[test]
fn printf_comes_in_block_order_and_malloc_gives_memory() {
    let text = "
.version 8.4
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.global .align 1 .b8 text[16] = {98, 108, 111, 99, 107, 32, 37, 100, 32, 37, 46, 49, 102, 10, 0, 0};
.visible .entry k()
{
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f64 %fd<4>;
    .local .align 8 .b8 args[16];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    { .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n); ld.param.b64 %rd4, [r]; }
    st.u32 [%rd4+60], %r1; ld.u32 %r1, [%rd4+60];
    { .param .b64 p; st.param.b64 [p], %rd4; call.uni free, (p); }
    mov.u64 %rd1, args; cvta.local.u64 %rd2, %rd1;
    cvt.rn.f64.u32 %fd1, %r2; st.local.u32 [%rd1], %r1; st.local.f64 [%rd1+8], %fd1;
    mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3;
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;
      call.uni (r), vprintf, (f, a); ld.param.b32 %r3, [r]; }
    setp.ne.u32 %p1, %r3, 2; @%p1 trap;
    ret;
}";
    let k = kernel(text);
    for threads in [1, 3] {
        let mut b = Bench::new(50, 2);
        b.params.threads = threads;
        let at = b.memory.alloc(16, 1, "text", ptx_interp::Access::ReadOnly).unwrap();
        b.memory.write(at, b"block %d %.1f\n\0\0").unwrap();
        b.params.symbols = vec![at];
        b.run(&k);
        let expected: String = (0..50).map(|n| format!("block {n} 0.0\nblock {n} 1.0\n")).collect();
        assert_eq!(b.printed(), expected);
        assert_eq!(b.memory.used(), 16);
    }
}

#[test]
fn clusters_share_memory_and_barriers() {
    let body = ".shared .b32 mine;
        mov.u32 %r3, %cluster_ctarank; mov.u32 %r4, mine;
        setp.eq.u32 %p1, %r1, 0; add.u32 %r5, %r3, 40; @%p1 st.shared.u32 [%r4], %r5;
        barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r6, %r3, 1; mapa.shared::cluster.u32 %r7, %r4, %r6;
        ld.shared::cluster.u32 %r8, [%r7];
        mov.u32 %r9, %ctaid.x; shl.b32 %r9, %r9, 5; add.u32 %r9, %r9, %r1;
        mul.wide.u32 %rd4, %r9, 4; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r8;
        barrier.cluster.arrive; barrier.cluster.wait; ret;";
    let k = kernel(&module("sm_90", ".param .u64 out", &format!("{REGS} {body}")));
    let mut b = Bench::new(4, 32);
    b.params.cluster = [2, 1, 1];
    let out = b.buffer(&[0; 128]);
    b.run(&k);
    let got = b.words(out, 128);
    for (n, v) in got.into_iter().enumerate() {
        assert_eq!(v, 40 + (n as u32 / 32 % 2 ^ 1), "thread {n}");
    }
}

#[test]
fn results_do_not_depend_on_host_threads() {
    let body = "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r1;
        mul.lo.u32 %r6, %r5, 2654435761; shr.u32 %r6, %r6, 22; mul.wide.u32 %rd4, %r6, 4;
        add.u64 %rd5, %rd1, %rd4; red.global.add.u32 [%rd5], %r5; red.global.max.u32 [%rd5+4096], %r5; ret;";
    let k = kernel(&module("sm_80", ".param .u64 out", &format!("{REGS} {body}")));
    let results: Vec<_> = [1, 2, 5]
        .iter()
        .map(|threads| {
            let mut b = Bench::new(100, 128);
            b.params.threads = *threads;
            // Sums, then maxima: the two do not commute on one word.
            let out = b.buffer(&[0; 2048]);
            b.run(&k);
            b.words(out, 2048)
        })
        .collect();
    assert!(results[0].iter().any(|v| *v > 12800));
    assert!(results.iter().all(|r| *r == results[0]));
}
