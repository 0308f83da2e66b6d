//! Loops in which threads wait for others, swap until nobody comes between, or only look as if they waited.

mod common;

use common::{Case, module};
use ptx_jit::Stop;

const REGISTERS: &str =
    ".reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>; .shared .align 4 .b32 s[64];
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n";

fn case(target: &str, body: &str, grid: u32, block: u32) -> Case {
    let text = module(target, ".param .u64 a", &format!("{REGISTERS}{body} ret;"));
    let mut case = Case::new(&text, "k", [grid, 1, 1], [block, 1, 1]).unwrap();
    case.words((0..1024).map(|n| n % 7));
    case
}

/// Runs in both engines; lanes of the compiled code.
fn run(body: &str, grid: u32, block: u32) -> u32 {
    let case = case("sm_70", body, grid, block);
    let kernel = case.compile().unwrap_or_else(|e| panic!("{e}: {body}"));
    case.compare_with(&kernel).unwrap_or_else(|e| panic!("{e}: {body}"));
    kernel.stats.lanes
}

/// Whether compiled code takes the loop for one that may wait: then it is refused below sm_70.
fn waits(body: &str) -> bool {
    match case("sm_60", body, 1, 64).compile() {
        Ok(_) => false,
        Err(e) => {
            assert!(e.why.contains("may wait"), "{e}: {body}");
            true
        }
    }
}

/// Runs in both engines what does not wait.
fn run_without_waiting(body: &str, grid: u32, block: u32) {
    assert!(!waits(body), "{body}");
    run(body, grid, block);
}

/// Multiplies one of four numbers by 3, by swapping with what was seen last: `seen` says how it is seen.
fn swapping(first: &str, again: &str) -> String {
    format!(
        "and.b32 %r5, %r4, 3; mul.wide.u32 %rd4, %r5, 4; add.s64 %rd5, %rd1, %rd4; {first}
        L: {again} mul.lo.u32 %r8, %r6, 3; add.u32 %r8, %r8, 1; atom.global.cas.b32 %r7, [%rd5], %r6, %r8;
        setp.ne.s32 %p1, %r7, %r6; mov.u32 %r9, %r6; mov.u32 %r6, %r7; @%p1 bra L;"
    )
}

#[test]
fn swaps_that_are_tried_again_do_not_wait() {
    let once = swapping("ld.global.u32 %r6, [%rd5];", "");
    run_without_waiting(&once, 3, 96);
    let volatile = swapping("ld.volatile.global.u32 %r6, [%rd5];", "");
    run_without_waiting(&volatile, 3, 96);
    let reloading = swapping("", "ld.volatile.global.u32 %r6, [%rd5];");
    run_without_waiting(&reloading, 2, 64);
    // The greatest number of all: the loop also ends where the number is no greater.
    let most = "ld.global.u32 %r6, [%rd1];
        L: setp.ge.u32 %p2, %r6, %r4; @%p2 bra D; mov.u32 %r7, %r6;
        atom.global.cas.b32 %r6, [%rd1], %r7, %r4; setp.ne.u32 %p1, %r6, %r7; @%p1 bra L; D:";
    run_without_waiting(most, 3, 96);
    // Shared memory, 64 bits.
    let wide =
        "mov.u64 %rd4, 0; L: add.s64 %rd5, %rd4, 3; atom.global.cas.b64 %rd6, [%rd1], %rd4, %rd5;
        setp.ne.s64 %p1, %rd6, %rd4; mov.u64 %rd4, %rd6; @%p1 bra L;";
    run_without_waiting(wide, 2, 64);
    let shared = "mov.u32 %r5, s; setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [%r5], 5; bar.sync 0;
        ld.shared.u32 %r6, [%r5]; L: add.u32 %r8, %r6, 7; atom.shared.cas.b32 %r7, [%r5], %r6, %r8;
        setp.ne.s32 %p1, %r7, %r6; mov.u32 %r6, %r7; @%p1 bra L;
        bar.sync 0; ld.shared.u32 %r9, [%r5]; st.global.u32 [%rd3], %r9;";
    run_without_waiting(shared, 2, 64);
}

/// A number that only the holder of a lock touches.
const LOCKED: &str = "add.s64 %rd4, %rd1, 4000;
    L: atom.global.acquire.gpu.cas.b32 %r5, [%rd1], 0, 1; setp.ne.s32 %p1, %r5, 0; @%p1 bra L;
    ld.volatile.global.u32 %r6, [%rd4]; mad.lo.u32 %r6, %r6, 2, 1; and.b32 %r6, %r6, 0xffff;
    st.volatile.global.u32 [%rd4], %r6;
    atom.global.release.gpu.exch.b32 %r7, [%rd1], 0;";

#[test]
fn locks_are_taken_one_thread_after_the_other() {
    assert_eq!(run(LOCKED, 3, 70), 1);
    // The same with a flag in place of a jump out of the loop.
    let flag = LOCKED.replace("@%p1 bra L;", "@%p1 bra N;").replace(
        "exch.b32 %r7, [%rd1], 0;",
        "exch.b32 %r7, [%rd1], 0; mov.u32 %r8, 1; N: setp.eq.u32 %p2, %r8, 0; @%p2 bra L;",
    );
    let flag = format!("mov.u32 %r8, 0; {flag}");
    assert_eq!(run(&flag, 2, 40), 1);
}

#[test]
fn the_first_thread_waits_for_the_last() {
    // Each waits for the one behind it; the last one begins.
    let chain = "mov.u32 %r5, s; shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], 0; bar.sync 0;
        sub.u32 %r7, %r3, 1; setp.eq.u32 %p1, %r1, %r7; @%p1 bra D;
        L: ld.volatile.shared.u32 %r8, [%r6+4]; setp.eq.u32 %p2, %r8, 0; @%p2 bra L;
        D: @%p1 mov.u32 %r8, 5; add.u32 %r8, %r8, 3; st.volatile.shared.u32 [%r6], %r8;
        bar.sync 0; ld.shared.u32 %r9, [s]; add.u32 %r9, %r9, %r8; st.global.u32 [%rd3], %r9;";
    assert_eq!(run(chain, 2, 40), 1);
}

#[test]
fn who_waits_keeps_its_numbers() {
    // However often the loop turns, the sum of two numbers that it counts up and down stays.
    let body = "mov.u32 %r5, s; @!%p0 st.shared.u32 [%r5], 0; bar.sync 0; setp.eq.u32 %p1, %r1, 63;
        mov.u32 %r6, 1000; mad.lo.u32 %r7, %r4, 3, 50; mul.wide.u32 %rd4, %r4, 7; @%p1 bra D;
        L: add.u32 %r6, %r6, 1; sub.u32 %r7, %r7, 1; add.s64 %rd4, %rd4, 1;
        ld.volatile.shared.u32 %r8, [%r5]; setp.eq.u32 %p2, %r8, 0; @%p2 bra L;
        D: @%p1 st.volatile.shared.u32 [%r5], 1; add.u32 %r9, %r6, %r7; cvt.u32.u64 %r10, %rd4; sub.u32 %r10, %r10, %r6;
        xor.b32 %r9, %r9, %r10; st.global.u32 [%rd3], %r9;";
    assert_eq!(run(&body.replace("@!%p0 ", ""), 2, 64), 1);
}

#[test]
fn a_thread_waits_while_others_are_at_barriers() {
    // Thread 0 waits for what thread 33 does only after many turns; all others are at the barrier meanwhile, which
    // they must not pass before.
    let body = "mov.u32 %r5, s; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r5], 0; @%p1 st.shared.u32 [%r5+4], 0; bar.sync 0;
        @%p1 bra W; setp.ne.u32 %p2, %r1, 33; @%p2 bra B;
        mov.u32 %r6, 0; C: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 1000; @%p3 bra C;
        st.volatile.shared.u32 [%r5], %r6; bra B;
        W: ld.volatile.shared.u32 %r7, [%r5]; setp.eq.u32 %p3, %r7, 0; @%p3 bra W;
        st.volatile.shared.u32 [%r5+4], 77;
        B: bar.sync 0; ld.volatile.shared.u32 %r8, [%r5+4]; st.global.u32 [%rd3], %r8; bar.sync 0;";
    assert_eq!(run(body, 2, 64), 1);
}

/// Thread 0 of each block goes on when the block behind it has left a number: the last one begins.
fn in_turn(poll: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra D; mov.u32 %r12, %nctaid.x; sub.u32 %r12, %r12, 1;
        mov.u32 %r6, 7; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd5, %rd5, 2048;
        setp.eq.u32 %p2, %r2, %r12; @%p2 bra S;
        L: {poll} setp.lt.u32 %p3, %r6, 1000; @%p3 bra L;
        S: add.u32 %r6, %r6, 1000; st.release.gpu.global.u32 [%rd5], %r6; D:"
    )
}

/// All ways to look at the word at `%rd5 + 4`.
const POLLS: [&str; 13] = [
    "ld.acquire.gpu.global.u32 %r6, [%rd5+4];",
    "ld.relaxed.gpu.global.u32 %r6, [%rd5+4];",
    "ld.volatile.global.u32 %r6, [%rd5+4];",
    "ld.volatile.u32 %r6, [%rd5+4];",
    "ld.global.u32 %r6, [%rd5+4];",
    "nanosleep.u32 20; fence.acq_rel.gpu; ld.global.u32 %r6, [%rd5+4];",
    "atom.global.cas.b32 %r6, [%rd5+4], 5555, 5555;",
    "mov.u32 %r7, %r6; atom.global.cas.b32 %r6, [%rd5+4], %r7, %r7;",
    "atom.global.or.b32 %r6, [%rd5+4], 0;",
    "atom.global.add.u32 %r6, [%rd5+4], 0;",
    "atom.relaxed.sys.global.max.u32 %r6, [%rd5+4], 0;",
    "atom.global.exch.b32 %r6, [%rd5+4], 3;",
    "red.global.add.u32 [%rd5+4], 0; ld.relaxed.gpu.global.u32 %r6, [%rd5+4];",
];

#[test]
fn blocks_wait_for_later_blocks() {
    for poll in POLLS {
        assert_eq!(run(&in_turn(poll), 9, 32), 1, "{poll}");
    }
}

#[test]
fn all_blocks_wait_for_all() {
    // Twice: each block waits until all have come, behind barriers of the block.
    let round = |n: u32, label: &str| {
        format!(
            "bar.sync 0; @%p1 bra {label}_D; atom.release.gpu.global.add.u32 %r6, [%rd1+2048], 1;
            {label}: ld.acquire.gpu.global.u32 %r7, [%rd1+2048]; setp.lt.u32 %p2, %r7, {n}; @%p2 bra {label};
            {label}_D: bar.sync 0; add.u32 %r8, %r8, %r4; st.global.u32 [%rd3], %r8;"
        )
    };
    let start = "setp.ne.u32 %p1, %r1, 0; mov.u32 %r8, 9;";
    let body = format!("{start} {} {}", round(2007, "A"), round(2014, "B"));
    let mut case = case("sm_70", &body, 7, 32);
    let at = case.buffers[0];
    case.memory.write(at + 2048, &2000u32.to_le_bytes()).unwrap();
    case.copies.spans[0].1[256] = 2000 | case.copies.spans[0].1[256] >> 32 << 32;
    let kernel = case.compile().unwrap();
    case.compare_with(&kernel).unwrap();
}

#[test]
fn who_takes_tickets_does_not_wait() {
    let tickets = "mov.u32 %r6, 0; L: add.u32 %r6, %r6, 1; atom.global.add.u32 %r5, [%rd1], 1;
        red.global.max.u32 [%rd1+8], %r5; setp.lt.u32 %p1, %r5, 500; @%p1 bra L;";
    run_without_waiting(tickets, 2, 64);
    // Who may find that somebody took its ticket back waits.
    assert!(waits(&tickets.replace("max.u32 [%rd1+8], %r5", "add.u32 [%rd1], -1")));
    // Nobody raises the word when a thread only looks at it now and then.
    assert!(waits(&tickets.replace("atom.global.add.u32 %r5", "@!%p1 atom.global.add.u32 %r5")));
    // Search in a list: each turn looks elsewhere.
    let search = "mov.u64 %rd4, %rd3; L: ld.global.u32 %r5, [%rd4]; add.s64 %rd4, %rd4, 4;
        setp.ne.u32 %p1, %r5, 3; @%p1 bra L; st.global.u32 [%rd1+4000], %r5;";
    run_without_waiting(search, 1, 64);
    // Threads of a block that go from barrier to barrier until one says stop.
    let rounds = "mov.u32 %r5, s; mov.u32 %r6, 0; st.shared.u32 [%r5], 0;
        L: bar.sync 0; add.u32 %r6, %r6, 1; setp.ne.u32 %p2, %r6, 9; @%p2 bra N; st.shared.u32 [%r5], 1; N:
        bar.sync 0; ld.shared.u32 %r7, [%r5]; setp.eq.u32 %p1, %r7, 0; @%p1 bra L; st.global.u32 [%rd3], %r6;";
    run_without_waiting(rounds, 2, 64);
}

#[test]
fn loops_that_count_do_not_wait() {
    let volatile = "mov.u32 %r5, 0; mov.u32 %r6, 0;
        L: ld.volatile.global.u32 %r7, [%rd3]; add.u32 %r6, %r6, %r7; st.volatile.global.u32 [%rd3], %r6;
        add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 9; @%p1 bra L;";
    run_without_waiting(volatile, 2, 64);
    let exchange = "mov.u32 %r5, 0; L: atom.global.exch.b32 %r7, [%rd3], %r5;
        add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r1; @%p1 bra L;";
    run_without_waiting(exchange, 2, 64);
    // A branch on what others write that does not decide when the loop ends, and one that does.
    let inner = "mov.u32 %r5, 0; mov.u32 %r6, 0;
        L: ld.volatile.global.u32 %r7, [%rd3]; setp.eq.u32 %p2, %r7, 3; @%p2 bra N; add.u32 %r6, %r6, %r7; N:
        add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 9; @%p1 bra L; st.global.u32 [%rd3], %r6;";
    run_without_waiting(inner, 2, 64);
    assert!(waits(&inner.replace("add.u32 %r6, %r6, %r7;", "mov.u32 %r5, 9;")));
    assert!(waits(&inner.replace("setp.lt.u32 %p1, %r5, 9;", "setp.lt.u32 %p1, %r7, 9;")));
}

#[test]
fn loops_that_count_to_an_end_read_anew_do_not_wait() {
    // Each turn asks in one word and learns the end from another.
    let to_end = "mov.u32 %r5, 0; add.s64 %rd4, %rd1, 4000; mov.u32 %r8, 0;
        L: atom.global.add.u32 %r7, [%rd3], %r5; setp.ne.u32 %p2, %r7, 4; @%p2 bra N; add.u32 %r8, %r8, 3; N:
        add.u32 %r5, %r5, 1; ld.global.u32 %r6, [%rd4]; setp.lt.u32 %p1, %r5, %r6; @%p1 bra L;
        st.global.u32 [%rd3], %r8;";
    run_without_waiting(to_end, 2, 64);
    let before = to_end
        .replace("add.u32 %r5, %r5, 1;", "")
        .replace("setp.lt.u32 %p1, %r5, %r6;", "setp.lt.s32 %p1, %r5, %r6; add.u32 %r5, 1, %r5;");
    run_without_waiting(&before, 2, 64);
    let down = to_end
        .replace("mov.u32 %r5, 0;", "mov.u32 %r5, 9;")
        .replace("%r5, %r5, 1;", "%r5, %r5, -1;");
    run_without_waiting(
        &down.replace("setp.lt.u32 %p1, %r5, %r6; @%p1", "setp.le.s32 %p1, %r5, %r6; @!%p1"),
        2,
        64,
    );
    // Where it stays below an end it may pass it, or never reach it, or not count in each turn.
    assert!(waits(&to_end.replace("setp.lt.u32 %p1, %r5, %r6;", "setp.le.u32 %p1, %r5, %r6;")));
    assert!(waits(&to_end.replace("%r5, %r5, 1;", "%r5, %r5, 2;")));
    assert!(waits(&to_end.replace("%r5, %r5, 1;", "%r5, %r5, %r6;")));
    assert!(waits(&to_end.replace("setp.lt.u32 %p1, %r5, %r6;", "setp.ne.u32 %p1, %r5, %r6;")));
    assert!(waits(&to_end.replace("add.u32 %r5, %r5, 1;", "@%p2 add.u32 %r5, %r5, 1;")));
    assert!(waits(&down));
}

#[test]
fn who_waits_for_ever_is_stopped() {
    let body = "L: atom.global.cas.b32 %r5, [%rd1], 99, 98; setp.ne.u32 %p1, %r5, 99; @%p1 bra L;";
    let case = case("sm_70", body, 1, 64);
    let kernel = case.compile().unwrap();
    assert_eq!(case.run_compiled(&kernel), Err(Stop::Device));
}

#[test]
fn refused_where_warps_run_in_lock_step() {
    let locked = LOCKED.replace(".acquire.gpu", "").replace(".release.gpu", "");
    assert!(waits(&locked));
}

#[test]
fn threads_that_wait_meet_the_others_of_their_warp() {
    let vote = format!("{LOCKED} vote.sync.any.pred %p2, %p1, -1; bar.sync 0;");
    assert_eq!(run(&vote, 2, 64), 1);
}

#[test]
fn again_with_short_vectors() {
    common::again_with_short_vectors("again_with_short_vectors", &[]);
}
