//! Kernels in the interpreter and compiled: equal memory afterwards.

mod common;

use common::{Case, module};

const GUARDED: &str = include_str!("../../ptx-interp/tests/kernels/vector_add.ptx");

#[test]
fn vector_addition_with_a_ragged_end() {
    let text =
        module("sm_70", ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n", GUARDED);
    for (n, grid, block) in
        [(1000usize, 8, 128), (100, 1, 100), (7, 1, 32), (5000, 79, 64), (33, 3, 11)]
    {
        let mut case = Case::new(&text, "k", [grid, 1, 1], [block, 1, 1]).unwrap();
        case.words((0..n).map(|i| (i as f32).to_bits()));
        // NaNs, infinities and subnormals among the numbers.
        case.words((0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
        case.words(vec![0; n]);
        case.arg(&(n as u32).to_le_bytes());
        case.compare().unwrap_or_else(|e| panic!("{n} {grid} {block}: {e}"));
    }
}

/// Loops that lanes leave at different times: start, turns, and the registers that each thread writes.
const LOOPS: [(&str, &str, &str); 4] = [
    (
        "Collatz",
        "add.u32 %r2, %r1, 1; mov.u32 %r3, 0;
        $loop: setp.le.u32 %p1, %r2, 1; @%p1 bra $done;
        and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra $even;
        mad.lo.u32 %r2, %r2, 3, 1; bra $next;
        $even: shr.u32 %r2, %r2, 1;
        $next: add.u32 %r3, %r3, 1; bra $loop;",
        "{%r3, %r2}",
    ),
    // Some lanes start the next turn early, while others use what they computed in this one.
    (
        "two ways back",
        "mov.u32 %r2, 0; mov.u32 %r3, 0;
        $loop: add.u32 %r2, %r2, 1; setp.gt.u32 %p1, %r2, 9; @%p1 bra $done;
        mad.lo.u32 %r4, %r2, 7, %r1; and.b32 %r5, %r4, 3; setp.eq.u32 %p2, %r5, 0;
        @%p2 bra $loop;
        mad.lo.u32 %r3, %r3, 3, %r4; bra $loop;",
        "{%r3, %r2}",
    ),
    // Lanes go back to the head before they meet the others, who go back to it together later.
    (
        "a way back within a turn",
        "mov.u32 %r2, 0; mov.u32 %r3, 0; add.u32 %r4, %r1, 3;
        $loop: add.u32 %r2, %r2, 1; mad.lo.u32 %r4, %r4, 1664525, 1013904223;
        shr.u32 %r5, %r4, 13; and.b32 %r6, %r5, 3; setp.ne.u32 %p1, %r6, 0;
        @%p1 bra $loop;
        mad.lo.u32 %r3, %r3, 31, %r5; add.u32 %r3, %r3, %r2; setp.lt.u32 %p2, %r2, 20;
        @%p2 bra $loop;",
        "{%r3, %r2}",
    ),
    // Both ways out bring the same counter, but lanes leave in different turns.
    (
        "two ways out",
        "mov.u32 %r2, 0; mov.u32 %r3, %r1;
        $loop: setp.gt.u32 %p1, %r2, 20; @%p1 bra $done;
        setp.gt.u32 %p2, %r3, 400; @%p2 bra $done;
        mad.lo.u32 %r3, %r3, 2, %r1; add.u32 %r2, %r2, 1; bra $loop;",
        "{%r2, %r3}",
    ),
];

#[test]
fn divergent_loops() {
    for (name, turns, results) in LOOPS {
        let body = format!(
            ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;
            {turns}
            $done:
            mul.wide.u32 %rd2, %r1, 8; add.u64 %rd3, %rd1, %rd2;
            st.global.v2.u32 [%rd3], {results};
            ret;"
        );
        let text = module("sm_70", ".param .u64 out", &body);
        for block in [1, 4, 31, 50, 64, 70] {
            let mut case = Case::new(&text, "k", [1; 3], [block, 1, 1]).unwrap();
            case.words(vec![0; 140]);
            case.compare().unwrap_or_else(|e| panic!("{name}, {block}: {e}"));
        }
    }
}

/// Vectors of two and four words, read and written by all threads or by some.
#[test]
fn vectors_of_words() {
    let text = module(
        "sm_70",
        ".param .u64 in, .param .u64 four, .param .u64 two, .param .u32 n",
        "
        .reg .pred %p<2>; .reg .b32 %r<10>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [four]; ld.param.u64 %rd3, [two];
        ld.param.u32 %r8, [n]; mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, %r8; @%p1 bra $end;
        mul.wide.u32 %rd4, %r1, 16; add.u64 %rd5, %rd1, %rd4;
        ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5];
        add.u32 %r2, %r2, %r1;
        add.u64 %rd6, %rd2, %rd4; st.global.v4.u32 [%rd6], {%r5, %r2, %r3, %r4};
        mul.wide.u32 %rd7, %r1, 8; add.u64 %rd8, %rd1, %rd7;
        ld.global.v2.u32 {%r6, %r7}, [%rd8];
        add.u64 %rd8, %rd3, %rd7; st.global.v2.u32 [%rd8], {%r7, %r6};
        $end: ret;",
    );
    for n in [64u32, 41] {
        let mut case = Case::new(&text, "k", [1; 3], [64, 1, 1]).unwrap();
        case.words((0..256u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
        case.words(vec![0; 256]);
        case.words(vec![0; 128]);
        case.arg(&n.to_le_bytes());
        case.compare().unwrap_or_else(|e| panic!("{n}: {e}"));
    }
}

/// Lanes gather through loops of their own length: threads run one by one.
#[test]
fn sparse_rows() {
    let text = module(
        "sm_70",
        ".param .u64 start, .param .u64 column, .param .u64 x, .param .u64 y, .param .u32 rows",
        "
        .reg .pred %p<3>; .reg .b32 %r<8>; .reg .f64 %fd<4>; .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [start]; ld.param.u64 %rd2, [column]; ld.param.u64 %rd3, [x];
        ld.param.u64 %rd4, [y]; ld.param.u32 %r1, [rows];
        mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r2, %r2, %r3, %r4;
        setp.ge.s32 %p1, %r2, %r1; @%p1 bra $end;
        mul.wide.s32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5;
        ld.global.u32 %r5, [%rd6]; ld.global.u32 %r6, [%rd6+4];
        mov.f64 %fd1, 0d0000000000000000;
        setp.ge.s32 %p2, %r5, %r6; @%p2 bra $store;
        $loop: mul.wide.s32 %rd7, %r5, 4; add.s64 %rd8, %rd2, %rd7; ld.global.s32 %r7, [%rd8];
        mul.wide.s32 %rd9, %r7, 8; add.s64 %rd10, %rd3, %rd9; ld.global.f64 %fd2, [%rd10];
        fma.rn.f64 %fd1, %fd2, %fd2, %fd1;
        add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r6; @%p2 bra $loop;
        $store: mul.wide.s32 %rd11, %r2, 8; add.s64 %rd11, %rd4, %rd11; st.global.f64 [%rd11], %fd1;
        $end: ret;",
    );
    let rows = 100u32;
    let starts: Vec<u32> = (0..=rows).map(|r| r * r % 7 + 7 * r).collect();
    let entries = *starts.last().unwrap();
    let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
    case.words(starts);
    case.words((0..entries).map(|i| i * 31 % 64));
    // Numbers, infinities and NaNs of all kinds.
    case.words((0..128u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
    case.words(vec![0; 2 * rows as usize]);
    case.arg(&rows.to_le_bytes());
    let kernel = case.compile().unwrap();
    assert_eq!(kernel.stats.lanes, 1);
    case.compare().unwrap();
}

/// Lanes that part in a block without a mask meet in one that has a mask because of another branch.
/// The index that an address was computed from is not read again where the address is: behind a barrier, and behind a
/// loop that lanes leave at different times.
const FORMER_INDICES: [(&str, &str); 2] = [
    (
        "barrier",
        "mul.lo.u32 %r3, %r2, %r2; and.b32 %r3, %r3, 511; mul.wide.u32 %rd6, %r3, 4;
        $next: mul.wide.u32 %rd3, %r3, 8; add.u64 %rd4, %rd1, %rd3; ld.global.u64 %rd5, [%rd4];
        bar.sync 0;
        add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r5, [%rd7];",
    ),
    (
        "loop",
        "mov.u32 %r3, %r1;
        $loop: mad.lo.u32 %r3, %r3, 5, 7; and.b32 %r4, %r3, 127; mul.wide.u32 %rd6, %r4, 4;
        add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r6, [%rd7]; and.b32 %r6, %r6, 7;
        setp.eq.u32 %p1, %r6, 1; @%p1 bra $next; st.global.u32 [%rd9+2048], %r4;
        $next: setp.ne.u32 %p1, %r6, 0; @%p1 bra $loop;
        ld.global.u32 %r5, [%rd7+4];",
    ),
];

#[test]
fn addresses_outlive_their_indices() {
    for (name, load) in FORMER_INDICES {
        let body = format!(
            ".reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<12>;
            ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
            mov.u32 %r1, %tid.x; mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ntid.x; mad.lo.u32 %r2, %r7, %r8, %r1;
            mul.wide.u32 %rd8, %r2, 4; add.u64 %rd9, %rd2, %rd8;
            {load}
            st.global.u32 [%rd9], %r5;
            ret;"
        );
        let text = module("sm_70", ".param .u64 in, .param .u64 out", &body);
        for block in [1, 4, 50, 250, 256] {
            let mut case = Case::new(&text, "k", [2, 1, 1], [block, 1, 1]).unwrap();
            case.words((0..1200).map(|i: u32| i.wrapping_mul(0x9e37_79b9) >> 7));
            case.words(vec![0; 1024]);
            case.compare().unwrap_or_else(|e| panic!("{name}, {block}: {e}"));
        }
    }
}

#[test]
fn ways_that_meet_under_a_mask_of_another_branch() {
    let text = module(
        "sm_70",
        ".param .u64 out, .param .u32 n",
        "
        .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out]; ld.param.u32 %r2, [n];
        mov.u32 %r1, %tid.x; mov.u32 %r3, %r1; and.b32 %r4, %r1, 1;
        setp.ne.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r4, 0; setp.gt.u32 %p3, %r1, 5;
        @%p1 bra $other;
        @%p2 bra $join;
        add.u32 %r3, %r3, 100; bra $meet;
        $other: @%p3 bra $meet;
        add.u32 %r3, %r3, 200;
        $meet: mul.lo.u32 %r3, %r3, 3;
        $join:
        mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r3;
        ret;",
    );
    for n in [0u32, 1] {
        let mut case = Case::new(&text, "k", [1; 3], [50, 1, 1]).unwrap();
        case.words(vec![0; 64]);
        case.arg(&n.to_le_bytes());
        case.compare().unwrap_or_else(|e| panic!("{n}: {e}"));
    }
}

/// Both sides of a divergent branch lead into a loop with barriers, with the same count.
#[test]
fn barriers_behind_a_divergent_branch() {
    let text = module(
        "sm_70",
        ".param .u64 out",
        "
        .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
        .shared .align 4 .b8 s[512];
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2;
        st.shared.u32 [%r4], %r1; and.b32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, 1; @%p1 bra $a;
        mov.u32 %r6, 3; bra $loop;
        $a: st.shared.u32 [%r4], 77; mov.u32 %r6, 3;
        $loop: bar.sync 0; xor.b32 %r7, %r2, 4; add.u32 %r7, %r7, %r3; ld.shared.u32 %r8, [%r7];
        bar.sync 0; add.u32 %r8, %r8, %r6; st.shared.u32 [%r4], %r8;
        sub.u32 %r6, %r6, 1; setp.ne.u32 %p2, %r6, 0; @%p2 bra $loop;
        ld.shared.u32 %r8, [%r4];
        mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r8;
        ret;",
    );
    let mut case = Case::new(&text, "k", [1; 3], [128, 1, 1]).unwrap();
    case.words(vec![0; 128]);
    case.compare().unwrap();
}

#[test]
fn reduction_in_shared_memory() {
    let text = module(
        "sm_50",
        ".param .u64 in, .param .u64 out",
        include_str!("../../ptx-interp/tests/kernels/reduce_shared.ptx"),
    );
    let mut case = Case::new(&text, "k", [3, 1, 1], [256, 1, 1]).unwrap();
    case.words((0..768).map(|i| i * i + 7));
    case.words(vec![0; 3]);
    case.compare().unwrap();
}

#[test]
fn shuffles_votes_and_loops_of_their_own_length() {
    let text = module(
        "sm_70",
        ".param .u64 in, .param .u64 out",
        "
        .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
        ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3;
        ld.global.u32 %r5, [%rd4];
        shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1; add.u32 %r5, %r5, %r6;
        shfl.sync.bfly.b32 %r6, %r5, 8, 31, -1; add.u32 %r5, %r5, %r6;
        shfl.sync.down.b32 %r7|%p1, %r5, 3, 31, -1;
        selp.b32 %r8, %r7, 0, %p1;
        setp.gt.u32 %p2, %r8, 1000; vote.sync.ballot.b32 %r9, %p2, -1;
        mov.u32 %r10, %lanemask_lt; and.b32 %r11, %r9, %r10; popc.b32 %r12, %r11;
        add.u32 %r13, %r12, %r8;
        add.u64 %rd5, %rd2, %rd3; st.global.u32 [%rd5], %r13;
        ret;",
    );
    let mut case = Case::new(&text, "k", [1; 3], [96, 1, 1]).unwrap();
    case.words((0..96).map(|i: u32| i.wrapping_mul(2654435761) >> 20));
    case.words(vec![0; 96]);
    case.compare().unwrap();
}

/// The first warp alone sums up what all warps left in shared memory.
#[test]
fn shuffles_of_the_first_warp_are_compiled() {
    let text = module(
        "sm_70",
        ".param .u64 in, .param .u64 out",
        "
        .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
        .shared .align 4 .b8 s[128];
        ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3;
        ld.global.u32 %r5, [%rd4];
        shfl.sync.down.b32 %r6, %r5, 16, 31, -1; add.u32 %r5, %r5, %r6;
        shfl.sync.down.b32 %r6, %r5, 8, 31, -1; add.u32 %r5, %r5, %r6;
        and.b32 %r7, %r1, 31; shr.u32 %r8, %r1, 5; mov.u32 %r9, s;
        setp.ne.u32 %p1, %r7, 0; @%p1 bra $wait;
        shl.b32 %r10, %r8, 2; add.u32 %r10, %r9, %r10; st.shared.u32 [%r10], %r5;
        $wait: bar.sync 0;
        setp.gt.u32 %p2, %r1, 31; @%p2 bra $end;
        mov.u32 %r11, 0; setp.gt.u32 %p3, %r1, 3; @%p3 bra $sum;
        shl.b32 %r12, %r1, 2; add.u32 %r12, %r9, %r12; ld.shared.u32 %r11, [%r12];
        $sum: shfl.sync.bfly.b32 %r13, %r11, 2, 31, -1; add.u32 %r11, %r11, %r13;
        shfl.sync.bfly.b32 %r13, %r11, 1, 31, -1; add.u32 %r11, %r11, %r13;
        add.u64 %rd5, %rd2, %rd3; st.global.u32 [%rd5], %r11;
        $end: ret;",
    );
    let mut case = Case::new(&text, "k", [1; 3], [128, 1, 1]).unwrap();
    case.words((0..128u32).map(|i| i * 3 + 1));
    case.words(vec![0; 128]);
    case.compare().unwrap();
}

/// Loops that count: the counter's start, what a turn adds, and the test that stays in the loop. `%r3` is the end, `%rd6` an
/// address that moves by 4 bytes and `%rd8` one that moves by `%rd9`.
const COUNTS: [(&str, &str, &str); 5] = [
    ("less", "mov.u32 %r4, 0;", "add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r3;"),
    ("no more, by twos", "mov.u32 %r4, 1;", "add.s32 %r4, %r4, 2; setp.le.u32 %p1, %r4, %r3;"),
    (
        "not greater or equal",
        "mov.u32 %r4, -3;",
        "add.s32 %r4, %r4, 4; setp.ge.s32 %p2, %r4, %r3; not.pred %p1, %p2;",
    ),
    ("up to", "mov.u32 %r4, 0;", "add.s32 %r4, %r4, 1; setp.ne.s32 %p1, %r4, %r3;"),
    (
        "down to",
        "add.s32 %r4, %r3, 0; mov.u32 %r3, 0;",
        "add.s32 %r4, %r4, -1; setp.ne.s32 %p1, %r4, %r3;",
    ),
];

/// Accesses that move by a step each turn, inside and beyond their buffers.
#[test]
fn counted_loops() {
    for (name, start, turn) in COUNTS {
        let body = format!(
            ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<14>;
            ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.s32 %r3, [turns];
            ld.param.s64 %rd9, [step];
            mov.u32 %r1, %tid.x; mov.u32 %r5, 7;
            mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; add.u64 %rd6, %rd1, %rd3; mov.u64 %rd8, %rd1;
            {start}
            $loop: ld.global.u32 %r6, [%rd6]; ld.global.u32 %r7, [%rd8+8]; ld.global.u32 %r8, [%rd1+4];
            mad.lo.u32 %r5, %r5, 31, %r6; xor.b32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8;
            st.global.u32 [%rd4], %r5;
            add.u64 %rd6, %rd6, 4; add.u64 %rd8, %rd8, %rd9;
            {turn}
            @%p1 bra $loop;
            ret;"
        );
        let params = ".param .u64 in, .param .u64 out, .param .s32 turns, .param .s64 step";
        let text = module("sm_70", params, &body);
        for block in [1, 32, 50] {
            // The buffer has 256 words: 200 turns from thread 49 on stay inside.
            for (turns, step) in [
                (1, 4),
                (3, 4),
                (4, 4),
                (5, 4),
                (200, 4),
                (200, 0),
                (20, -4),
                (300, 4),
                (40, 32),
                (6, 2),
            ] {
                let mut case = Case::new(&text, "k", [3, 1, 1], [block, 1, 1]).unwrap();
                case.words((0..256).map(|i: u32| i.wrapping_mul(0x9e37_79b9)));
                case.words(vec![0; 64]);
                case.arg(&i32::to_le_bytes(turns)).arg(&i64::to_le_bytes(step));
                match case.interpret() {
                    Ok(()) => case
                        .compare()
                        .unwrap_or_else(|e| panic!("{name}, {block}, {turns}, {step}: {e}")),
                    Err(told) => {
                        let kernel = case.compile().unwrap();
                        let stop = case.run_compiled(&kernel);
                        assert!(
                            matches!(stop, Err(ptx_jit::Stop::Fault { .. })),
                            "{name}, {block}, {turns}, {step}: {stop:?}, interpreted {told}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn faults_are_found() {
    let text =
        module("sm_70", ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n", GUARDED);
    let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
    case.words(vec![1; 128]);
    case.words(vec![1; 100]);
    case.words(vec![1; 128]);
    case.arg(&128u32.to_le_bytes());
    let kernel = case.compile().unwrap();
    let stop = case.run_compiled(&kernel).unwrap_err();
    let ptx_jit::Stop::Fault { fault, block, thread, span, .. } = stop else { panic!("{stop:?}") };
    assert!(
        matches!(fault, ptx_isa::effect::Fault::OutOfBounds { write: false, bytes: 4, .. }),
        "{fault:?}"
    );
    assert_eq!((block, thread), ([1, 0, 0], [36, 0, 0]));
    assert!(text[span.start as usize..span.end as usize].starts_with("ld.global.f32 %f1"));
}

#[test]
fn an_endless_loop_ends() {
    let text = module("sm_70", ".param .u64 a", "$l: bra $l;");
    let mut case = Case::new(&text, "k", [1; 3], [32, 1, 1]).unwrap();
    case.words([0]);
    let kernel = case.compile().unwrap();
    assert_eq!(case.run_compiled(&kernel), Err(ptx_jit::Stop::Device));
}

/// Rows that the lanes write backwards and far apart: places that are known, before and behind the first lane's.
#[test]
fn backwards() {
    for (step, offset) in [(-4i32, 508), (-12, 1524), (-8, 1016), (8, 0), (20, 0)] {
        let ty = if step % 8 == 0 { "b64" } else { "b32" };
        let (r, bytes) = if ty == "b64" { ("%rd6", 8) } else { ("%r3", 4) };
        let body = format!(
            "{{ .reg .b32 %r<8>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [c]; mov.u32 %r1, %tid.x;
            mul.wide.s32 %rd3, %r1, {step}; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
            ld.global.{ty} {r}, [%rd4+{offset}]; st.global.{ty} [%rd5+{offset}], {r}; ret; }}"
        );
        let text = module("sm_70", ".param .u64 a, .param .u64 c", &body);
        let mut case = Case::new(&text, "k", [1, 1, 1], [128, 1, 1]).unwrap();
        case.words((0..1024u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> (bytes & 4)));
        case.words(vec![0; 1024]);
        case.compare().unwrap_or_else(|e| panic!("{step}: {e}"));
    }
}

/// The same once more with vectors of 128 bits, where the processor would have 512.
#[test]
fn with_short_vectors() {
    common::again_with_short_vectors("with_short_vectors", &[]);
}
