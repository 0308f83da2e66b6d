//! Where lanes that part meet again: as on devices, lanes that leave a loop or end keep nobody waiting in its turns.

mod common;

use std::ops::ControlFlow;

use common::*;
use ptx_interp::observer::{Action, Observer, WarpEvent};
use ptx_interp::{Moment, launch_observed};

/// Lanes and the word that each store writes to, counted from the first lane's.
#[derive(Default)]
struct Stores(Vec<(u32, u64)>);

impl Observer for Stores {
    fn warp(&mut self, _: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        if let WarpEvent::Access(a) = event
            && a.action == Action::Write
        {
            let lane = a.lanes.trailing_zeros() as usize & 31;
            self.0.push((a.lanes, a.addresses[lane] - 4 * lane as u64));
        }
        ControlFlow::Continue(())
    }
}

/// Stores of one warp: lanes, and the number of the 32 words that they write to.
fn stores(body: &str) -> Vec<(u32, u64)> {
    let text = format!(
        ".reg .pred %p<9>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
         {body}"
    );
    let k = kernel(&module("sm_90", ".param .u64 out", &text));
    let mut b = Bench::new(1, 32);
    let out = b.buffer(&vec![0; 1024]);
    let (result, found) = launch_observed(&k, &b.memory, &b.params, &Stores::default);
    result.unwrap_or_else(|e| panic!("{e}"));
    found.into_iter().flat_map(|s| s.0).map(|(lanes, at)| (lanes, (at - out) / 128)).collect()
}

/// A turn that some lanes leave early, by going on with the next one, or leave for good: the others meet in each turn.
#[test]
fn lanes_meet_in_each_turn_of_a_loop() {
    let found = stores(
        "mov.u32 %r2, 0;
         L: xor.b32 %r3, %r1, %r2; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra NEXT;
         st.global.u32 [%rd3+128], %r2; setp.le.u32 %p2, %r1, %r2; @%p2 bra END;
         NEXT: st.global.u32 [%rd3+256], %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 6; @%p3 bra L;
         END: st.global.u32 [%rd3], %r2; ret;",
    );
    let mut stay = u32::MAX;
    let mut expected = Vec::new();
    for turn in 0..6 {
        let work = (0..32).filter(|l| (l ^ turn) & 1 == 0).map(|l| 1 << l).sum::<u32>() & stay;
        let leave = (0..=turn).map(|l| 1 << l).sum::<u32>() & work;
        expected.push((work, 1));
        stay &= !leave;
        expected.push((stay, 2));
    }
    expected.push((u32::MAX, 0));
    assert_eq!(found, expected);
}

/// Lanes that leave two loops at once, and such that leave the inner one only.
#[test]
fn lanes_leave_loops_in_loops() {
    let found = stores(
        "mov.u32 %r2, 0;
         OUTER: mov.u32 %r4, 0;
         INNER: and.b32 %r5, %r1, 3; setp.eq.u32 %p1, %r5, %r4; @%p1 bra SKIP;
         add.u32 %r6, %r2, %r4; setp.eq.u32 %p2, %r1, %r6; @%p2 bra END;
         setp.gt.u32 %p3, %r4, %r5; @%p3 bra BEHIND;
         SKIP: add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 5; @%p4 bra INNER;
         BEHIND: st.global.u32 [%rd3+128], %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p5, %r2, 3; @%p5 bra OUTER;
         END: st.global.u32 [%rd3], %r2; ret;",
    );
    // All that are left store together behind the inner loop, and all together at the end.
    let behind: Vec<u32> = found.iter().filter(|s| s.1 == 1).map(|s| s.0).collect();
    assert_eq!(behind.len(), 3, "{found:x?}");
    assert!(behind.windows(2).all(|w| w[1] & !w[0] == 0 && w[1] != 0), "{found:x?}");
    assert_eq!(found.last(), Some(&(u32::MAX, 0)));
    assert_eq!(found.len(), 4);
}

/// Lanes that end inside a branch keep nobody waiting behind it.
#[test]
fn lanes_that_end_are_not_waited_for() {
    let found = stores(
        "setp.lt.u32 %p1, %r1, 16; @!%p1 bra OTHER;
         st.global.u32 [%rd3+128], %r1; setp.lt.u32 %p2, %r1, 4; @%p2 bra END;
         st.global.u32 [%rd3+256], %r1;
         OTHER: st.global.u32 [%rd3], %r1;
         END: ret;",
    );
    assert_eq!(found, [(0xffff, 1), (0xfff0, 2), (0xffff_fff0, 0)]);
}

/// Lanes that leave a loop of a function by returning.
#[test]
fn lanes_return_from_loops_of_functions() {
    let text = ".version 8.3\n.target sm_90\n.address_size 64\n
         .func (.reg .b32 %out) f(.reg .b32 %in) {
         .reg .pred %p<4>; .reg .b32 %r<8>;
         mov.u32 %r1, 0;
         L: xor.b32 %r2, %in, %r1; and.b32 %r2, %r2, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra NEXT;
         setp.le.u32 %p2, %in, %r1; mov.u32 %out, %r1; @%p2 ret;
         NEXT: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 40; @%p3 bra L;
         ret; }
         .visible .entry k(.param .u64 out) {
         .reg .b32 %r<8>; .reg .b64 %rd<8>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
         call (%r2), f, (%r1); st.global.u32 [%rd3], %r2; ret; }";
    let k = kernel(text);
    let mut b = Bench::new(1, 32);
    let out = b.buffer(&vec![0; 128]);
    let (result, found) = launch_observed(&k, &b.memory, &b.params, &Stores::default);
    result.unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<_> = found.into_iter().flat_map(|s| s.0).collect();
    assert_eq!(found, [(u32::MAX, out)]);
}

/// A lane that polls for other blocks keeps its processor for short turns, whether the others of its warp have ended or
/// wait for it.
#[test]
fn lanes_that_poll_have_short_turns() {
    let steps = |end: &str| {
        let text = format!(
            ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
             ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
             atom.global.add.u32 %r2, [%rd1], 1; mov.u32 %r3, %nctaid.x;
             POLL: ld.relaxed.gpu.global.u32 %r2, [%rd1]; setp.lt.u32 %p2, %r2, %r3; @%p2 bra POLL;
             END: {end} ret;"
        );
        let k = kernel(&module("sm_80", ".param .u64 out", &text));
        let mut b = Bench::new(8, 32);
        b.buffer(&[0; 2]);
        b.run(&k).warp_instructions
    };
    let (ended, waiting) = (steps(""), steps("st.global.u32 [%rd1+4], %r1;"));
    assert!(ended <= 2 * waiting, "{ended} {waiting}");
}
