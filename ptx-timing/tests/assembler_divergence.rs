//! What brings lanes together again that a branch has parted, against what ptxas 13.5 makes of the same kernels and
//! what an H200 counted.

#[path = "common/small.rs"]
mod small;

use ptx_isa::Class;
use ptx_timing::event::Arrives;
use small::{chain, kernel};

/// How lanes that part at each branch with a predicate come to where they meet.
fn arrives(body: &str) -> Vec<Arrives> {
    let (_, code) = kernel(body);
    let all = code.code.instructions.iter();
    all.filter(|i| i.class == Class::Branch && i.guard.is_some()).map(|i| i.arrives).collect()
}

/// Each side of an if comes by itself, and so do lanes that leave a loop; where all that lead to a place branch there,
/// those that wait go along with them. Nothing brings lanes together where they end, nor those that agree.
#[test]
fn lanes_that_part_come_one_by_one() {
    let long = chain(12);
    let part = "setp.lt.u32 %p1, %r1, 7;";
    assert_eq!(arrives(&format!("{part} @%p1 bra J; {long}\nJ:")), [Arrives::Apart]);
    let sides = format!("{part} @%p1 bra A; {long} bra.uni J;\nA: {long}\nJ:");
    assert_eq!(arrives(&sides), [Arrives::Apart]);
    let turns = format!(
        "mov.u32 %r60, %r1;\n.pragma \"nounroll\";\nL: {long} add.u32 %r60, %r60, 32;\n\
         setp.lt.u32 %p1, %r60, 999; @%p1 bra L;\n\
         add.f32 %f1, %f1, %f2;"
    );
    assert_eq!(arrives(&turns), [Arrives::Apart]);
    let agree = turns.replace("mov.u32 %r60, %r1", "mov.u32 %r60, %r2");
    assert_eq!(arrives(&agree), [Arrives::Nowhere]);
    let left = format!(
        "mov.u32 %r60, %r1;\nL: add.u32 %r60, %r60, 32; setp.gt.u32 %p1, %r60, 999; @%p1 bra J;\n\
         {long} bra.uni L;\nJ: add.f32 %f1, %f1, %f2;"
    );
    assert_eq!(arrives(&left), [Arrives::Taken]);
}

/// Of lanes that take a branch to where all meet, the larger part goes on first.
#[test]
fn the_larger_side_goes_first() {
    assert!(Arrives::Taken.alone(17, 15) && !Arrives::Taken.alone(16, 16));
    assert!(Arrives::Apart.alone(1, 31) && !Arrives::Nowhere.alone(31, 1));
}

/// A value that its own old one is made of is made under the predicate, too, and a move takes the place of the
/// selection (`collatz` of the recorded kernels).
#[test]
fn selections_of_a_variables_own_next_value() {
    let body = "mov.u32 %r60, %r1;\nL: and.b32 %r61, %r60, 1; setp.eq.b32 %p1, %r61, 1; mad.lo.s32 %r62, %r60, 3, 1;\n\
                shr.u32 %r63, %r60, 1; selp.b32 %r60, %r62, %r63, %p1; setp.ne.s32 %p2, %r60, 1; @%p2 bra L;\n\
                st.global.u32 [%rd5+64], %r60;";
    let (_, code) = kernel(body);
    let of = |class| code.code.instructions.iter().filter(move |i| i.class == class);
    assert_eq!(of(Class::Select).count(), 0);
    assert!(of(Class::Shift).any(|i| i.extra_slots == 1));
}
