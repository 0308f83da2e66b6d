//! Operations over the warp where lanes may be absent, and calls, against what ptxas 13.5 makes of the same kernels.

#[path = "common/small.rs"]
mod small;

use ptx_isa::Class;
use small::{kernel, translate};

fn list(count: usize, of: &dyn Fn(usize) -> String) -> String {
    (0..count).map(of).collect()
}

/// A kernel with this inside, and so many words that live through it.
fn around(functions: &str, values: usize, inside: &str) -> String {
    let loads = list(values, &|i| format!("ld.global.u32 %r{}, [%rd5+{}];\n", 100 + i, 256 * i));
    let stores =
        list(values, &|i| format!("st.global.u32 [%rd5+{}], %r{};\n", 256 * i + 65540, 100 + i));
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n{functions}\
         .visible .entry k(.param .u64 p, .param .u32 n) {{\n\
         .reg .u64 %rd<99>; .reg .u32 %r<400>; .reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n\
         mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd2, %rd4;\n{loads}{inside}{stores}ret; }}\n"
    )
}

/// Five exchanges between lanes behind a branch that all lanes take or not, or some.
fn exchanges(values: usize, bound: &str) -> String {
    let steps = list(5, &|i| {
        format!(
            "shfl.sync.bfly.b32 %r{0}, %r50, {1}, 31, -1; add.s32 %r50, %r50, %r{0};\n",
            60 + i,
            1 << i
        )
    });
    let inside = format!(
        "ld.global.u32 %r50, [%rd5+65536]; setp.gt.u32 %p1, {bound}, 77; @%p1 bra E;\n{steps}\
         st.global.u32 [%rd5+1000000], %r50;\nE: bar.sync 0; st.global.u32 [%rd5+2000000], %r50;\n"
    );
    around("", values, &inside)
}

/// Where some lanes may be absent, other code for the five needs registers of its own; by ptxas 16, 20, 24 and 28, and
/// 2 more each.
#[test]
fn other_code_takes_registers() {
    let registers = |bound| [2, 4, 6, 8].map(|values| translate(&exchanges(values, bound)).0);
    assert_eq!(registers("%r1"), [12, 16, 20, 24]);
    assert_eq!(registers("%r2"), [16, 20, 24, 28]);
}

/// It comes back behind the last of them.
#[test]
fn nothing_moves_across_the_ends_of_other_code() {
    let ends = |bound| {
        let (_, code) = translate(&exchanges(2, bound));
        let over = code.code.instructions.iter().filter(|i| i.class == Class::Shuffle);
        over.map(|i| (i.splits, i.extra_slots)).collect::<Vec<_>>()
    };
    assert_eq!(ends("%r1"), [(false, 0); 5]);
    assert_eq!(ends("%r2"), [(true, 1), (false, 0), (false, 0), (false, 0), (true, 0)]);
}

/// A function that loads so many words, called where others live.
fn calls(words: usize, values: usize, more: usize) -> String {
    let loads = list(words, &|i| format!("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 64 * i));
    let sums = list(words, &|i| format!("mad.lo.s32 %r1, %r1, %r1, %r{};\n", 10 + i));
    let function = format!(
        ".func (.param .b32 r) f(.param .b64 a) {{\n.reg .b64 %rd<9>; .reg .b32 %r<99>; ld.param.b64 %rd1, [a];\n\
         {loads}mov.u32 %r1, 0;\n{sums}st.param.b32 [r], %r1; ret; }}\n"
    );
    let others =
        list(more, &|i| format!("ld.global.u32 %r{}, [%rd5+{}];\n", 200 + i, 256 * i + 128));
    let added = list(more, &|i| format!("mad.lo.s32 %r3, %r3, %r3, %r{};\n", 200 + i));
    let inside = format!(
        "{others}mov.u32 %r3, 0;\n{added}st.global.u32 [%rd5+900000], %r3;\n{{ .param .b64 a; .param .b32 r;\n\
         st.param.b64 [a], %rd5; call.uni (r), f, (a); ld.param.b32 %r3, [r]; }}\nst.global.u32 [%rd5+900004], %r3;\n"
    );
    around(&function, values, &inside)
}

/// What lives behind the call lives besides what the function needs: words that it loads, words that live, and the
/// registers of ptxas.
#[test]
fn calls_keep_what_lives() {
    for (words, values, registers) in
        [(4, 4, 18), (8, 4, 19), (12, 4, 22), (4, 8, 26), (4, 12, 32), (8, 8, 26), (12, 12, 32)]
    {
        let estimate = translate(&calls(words, values, 4)).0;
        assert!(estimate.abs_diff(registers) <= 1, "{words} {values}: {estimate}, {registers}");
    }
    // What the caller has in use elsewhere comes not on top.
    assert!(translate(&calls(12, 4, 20)).0 <= 32);
}

/// Branches with a predicate, and those among them with what keeps track of lanes.
fn branches(body: &str) -> (usize, usize) {
    let (_, code) = kernel(body);
    let all = code.code.instructions.iter();
    let all = all.filter(|i| i.class == Class::Branch && i.guard.is_some());
    let list: Vec<u32> = all.map(|i| i.extra_slots).collect();
    (list.len(), list.iter().filter(|n| **n == 2).count())
}

/// An if at the end of a side that machine code puts ahead of another stays a branch: there is more between it and its
/// end. Where the other side comes first in the text, too, it becomes a predicate.
#[test]
fn ifs_that_lead_past_another_side_stay_branches() {
    let outer = "setp.lt.u32 %p1, %r1, %r2;";
    let side = "A: max.f32 %f1, %f1, %f2; bra.uni J;";
    let inner = "B: setp.gt.u32 %p2, %r1, %r3; @%p2 bra J; min.f32 %f1, %f1, %f2; J:";
    let first = format!("{outer} @%p1 bra A; bra.uni B; {side} {inner}");
    assert_eq!(branches(&first).0, 2);
    let second = format!("{outer} @!%p1 bra B; {side} {inner}");
    assert_eq!(branches(&second).0, 1);
    let own_end = inner.replace("bra J", "bra K").replace("J:", "K: add.f32 %f1, %f1, %f2; J:");
    assert_eq!(branches(&format!("{outer} @%p1 bra A; bra.uni B; {side} {own_end}")).0, 1);
}

/// A number that only some lanes have changed differs between lanes, though both are constants.
#[test]
fn what_some_lanes_changed_differs() {
    let long = small::chain(12);
    let body = |changed: &str| {
        format!(
            "mov.u32 %r60, 0; setp.lt.u32 %p1, %r1, %r2; @%p1 bra A; {long} mov.u32 %r60, {changed};\nA:\n\
             mov.u32 %r61, %r60; setp.eq.u32 %p2, %r61, 0; @%p2 bra B; {long} st.global.u32 [%rd5+64], %r60;\nB:"
        )
    };
    assert_eq!(branches(&body("1")), (2, 2));
}

/// Text that leads back into a loop's own blocks ahead of where it is entered is no other loop: a branch inside keeps
/// track of its lanes itself.
#[test]
fn blocks_ahead_of_a_loop_are_not_another_one() {
    let long = small::chain(12);
    let body = format!(
        "mov.u32 %r60, 0; bra.uni H;\nS: {long} bra.uni J;\nH: add.u32 %r61, %r1, %r60;\n\
         setp.lt.u32 %p1, %r61, %r2; @%p1 bra J; {long} setp.lt.u32 %p2, %r61, 77; @%p2 bra S; {long}\n\
         J: add.u32 %r60, %r60, 1; setp.lt.u32 %p3, %r60, %r2; @%p3 bra H;"
    );
    assert_eq!(branches(&body).1, 1);
}
