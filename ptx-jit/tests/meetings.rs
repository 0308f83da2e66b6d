//! Kernels whose threads run one by one and meet: barriers of any number and count, operations of lanes that went
//! different ways, irregular control flow. What they leave in memory is what the interpreter leaves.

mod common;

use common::{Case, module};
use ptx_jit::Stop;

const REGISTERS: &str =
    ".reg .b32 %r<24>; .reg .b64 %rd<8>; .reg .pred %p<8>; .shared .align 4 .b32 s[256];
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
    and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5; ld.global.u32 %r5, [%rd3];\n";

fn case(target: &str, body: &str, grid: u32, block: u32) -> Case {
    let body = format!("{REGISTERS}{body} st.global.u32 [%rd3], %r5; ret;");
    let text = module(target, ".param .u64 a", &body);
    let mut case = Case::new(&text, "k", [grid, 1, 1], [block, 1, 1]).unwrap();
    case.words((0..1024).map(|n| n * 7 % 13));
    case
}

/// Runs in both engines, one thread at a time.
fn run(body: &str, grid: u32, block: u32) {
    let case = case("sm_90", body, grid, block);
    let kernel = case.compile().unwrap_or_else(|e| panic!("{e}: {body}"));
    assert_eq!(kernel.stats.lanes, 1, "{body}");
    case.compare_with(&kernel).unwrap_or_else(|e| panic!("{e}: {body}"));
}

/// Below sm_70 lanes of a warp go one way after the other: such kernels stay in the interpreter.
fn refused(target: &str, body: &str) -> String {
    match case(target, body, 1, 64).compile() {
        Ok(_) => panic!("compiled: {body}"),
        Err(e) => e.to_string(),
    }
}

/// The even warps wait for the odd ones behind them at a barrier of their own.
const PAIRS: &str = "shr.u32 %r6, %r21, 1; add.u32 %r6, %r6, 1; and.b32 %r7, %r21, 1;
    mul.wide.u32 %rd4, %r1, 4; cvta.shared.u64 %rd5, s; setp.eq.u32 %p1, %r7, 0;
    shl.b32 %r8, %r1, 2; mov.u32 %r9, s; add.u32 %r9, %r9, %r8; @%p1 bra TAKE;
    add.u32 %r5, %r5, 3; st.shared.u32 [%r9+-128], %r5; bar.arrive %r6, 64; bra OVER;
    TAKE: bar.sync %r6, 64; ld.shared.u32 %r10, [%r9]; add.u32 %r5, %r5, %r10; OVER:";

#[test]
fn barriers_with_numbers_and_counts() {
    run(PAIRS, 3, 256);
    run(PAIRS, 1, 64);
    // All numbers, one after the other, and two that take turns.
    run(
        "mov.u32 %r6, 0; L: bar.sync %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 16; @%p1 bra L; bar.sync 1;",
        2,
        70,
    );
    // Under a predicate that is the same in a warp.
    run(
        "setp.lt.u32 %p1, %r21, 2; @%p1 bar.sync 2, 64; @!%p1 bar.sync 3, 64; add.u32 %r5, %r5, 1;",
        2,
        128,
    );
}

#[test]
fn barriers_that_lanes_reach_at_different_places() {
    let apart = "setp.lt.u32 %p1, %r20, 7; @%p1 bra A; barrier.sync 0; add.u32 %r5, %r5, 1; bra B;
        A: add.u32 %r5, %r5, 2; barrier.sync 0; B: barrier.sync 0;";
    run(apart, 2, 96);
    run(apart, 1, 33);
    let votes = "and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0; setp.lt.u32 %p2, %r20, 9; @%p2 bra A;
        barrier.red.popc.u32 %r7, 0, %p1; bra B; A: barrier.red.popc.u32 %r7, 0, !%p1; B: add.u32 %r5, %r5, %r7;
        barrier.red.and.pred %p3, 1, %p1; barrier.red.or.pred %p4, 1, %p1; selp.u32 %r8, 100, 200, %p3;
        selp.u32 %r9, 1000, 2000, %p4; add.u32 %r5, %r5, %r8; add.u32 %r5, %r5, %r9;";
    run(votes, 2, 96);
    // Lanes that have ended are not waited for.
    let ended = "setp.gt.u32 %p1, %r20, 20; @%p1 exit; setp.lt.u32 %p2, %r20, 7; @%p2 bra A; barrier.sync 0; bra B;
        A: barrier.sync 0; add.u32 %r5, %r5, 2; B:";
    run(ended, 2, 96);
    assert!(refused("sm_60", apart).contains("divergent"));
}

#[test]
fn lanes_that_went_different_ways_talk() {
    let sums = "mov.u32 %r6, 0xffffffff; mov.u32 %r7, 0x11111111; and.b32 %r8, %r20, 3;
        L: redux.sync.add.u32 %r9, %r5, %r6; shfl.sync.bfly.b32 %r10, %r5, 4, 0x1f, %r6; add.u32 %r5, %r9, %r10;
        setp.eq.u32 %p1, %r8, 0; @%p1 bra D; sub.u32 %r8, %r8, 1; not.b32 %r11, %r7; and.b32 %r6, %r6, %r11;
        shl.b32 %r7, %r7, 1; bra L; D:";
    run(sums, 2, 64);
    // Both sides of a branch come to the same place apart, or to two places that name each other.
    let sides =
        "setp.lt.u32 %p1, %r20, 16; @%p1 bra A; vote.sync.ballot.b32 %r6, %p1, 0xffff0000; bra B;
        A: setp.gt.u32 %p2, %r5, 5; vote.sync.ballot.b32 %r6, %p2, 0xffff; B: add.u32 %r5, %r5, %r6;
        @%p1 bra C; bar.warp.sync 0xffffffff; bra D; C: bar.warp.sync 0xffffffff; D:";
    run(sides, 2, 64);
    // Under a predicate; what others have is kept.
    run("setp.lt.u32 %p1, %r20, 16; @%p1 shfl.sync.idx.b32 %r5, %r5, 3, 0x1f, 0xffff;", 2, 64);
    let elected = "setp.lt.u32 %p1, %r20, 8; @%p1 bra A; bra B;
        A: elect.sync %r6|%p2, 0xff; @%p2 add.u32 %r5, %r5, 77; match.any.sync.b32 %r7, %r5, 0xff;
        add.u32 %r5, %r5, %r7; B:";
    run(elected, 1, 64);
    assert!(
        refused("sm_90", "setp.lt.u32 %p1, %r20, 16; @%p1 bra A; activemask.b32 %r5; A:")
            .contains("activemask")
    );
}

#[test]
fn a_lane_waits_for_another_one_of_its_warp() {
    let flag = "mov.u32 %r9, s; setp.ne.u32 %p1, %r1, 0; @%p1 bra A; st.shared.u32 [%r9], 0; A: bar.sync 0;
        setp.eq.u32 %p2, %r20, 3; @%p2 bra W; setp.ne.u32 %p3, %r1, 9; @%p3 bra M; st.release.cta.shared.u32 [%r9], 5;
        bra M; W: ld.acquire.cta.shared.u32 %r10, [%r9]; setp.eq.u32 %p4, %r10, 0; @%p4 bra W;
        M: bar.warp.sync 0xffffffff; shfl.sync.idx.b32 %r11, %r10, 3, 0x1f, 0xffffffff; mov.u32 %r5, %r11;";
    run(flag, 3, 64);
}

#[test]
fn ways_into_the_midst_of_a_loop() {
    let midst = "mov.u32 %r6, 0; and.b32 %r7, %r5, 1; setp.eq.u32 %p1, %r7, 0; @%p1 bra IN;
        L: add.u32 %r5, %r5, 3; IN: add.u32 %r6, %r6, 1; add.u32 %r5, %r5, %r6; setp.lt.u32 %p2, %r6, 9; @%p2 bra L;";
    run(midst, 2, 64);
    run(
        &format!(
            "{midst} bar.sync 0; vote.sync.ballot.b32 %r8, %p1, 0xffffffff; add.u32 %r5, %r5, %r8;"
        ),
        2,
        64,
    );
}

#[test]
fn threads_that_never_meet_stop() {
    let stuck =
        "setp.lt.u32 %p1, %r21, 1; @%p1 bra A; barrier.sync 1; bra B; A: barrier.sync 2; B:";
    let case = case("sm_90", stuck, 1, 64);
    let kernel = case.compile().unwrap();
    assert_eq!(case.run_compiled(&kernel), Err(Stop::Stuck));
}
