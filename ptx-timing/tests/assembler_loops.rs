//! What the model makes of loops, beside what ptxas 13.5 makes of the same text for sm_90.

#[path = "common/small.rs"]
mod small;

use ptx_isa::Class;
use ptx_timing::Catalog;
use ptx_timing::code::KernelCode;
use small::{chain, count, kernel};

/// Where lanes may have left a loop, a vote looks for them, once in a block; where none can, and for one that all lanes
/// leave together, it does not.
#[test]
fn votes_look_for_lanes_that_may_be_absent() {
    let vote = "vote.sync.ballot.b32 %r7, %p2, -1; vote.sync.any.pred %p3, %p2, -1;";
    let looks = |body: &str| {
        let (_, code) =
            kernel(&format!("setp.lt.f32 %p2, %f1, %f2;\n{body}\nst.global.u32 [%rd5+4], %r7;"));
        let votes = code.code.instructions.iter().filter(|i| i.class == Class::Vote);
        votes.map(|i| (i.splits, i.extra_slots)).collect::<Vec<_>>()
    };
    let turns = |from: &str, step: u32| {
        looks(&format!(
            "mov.u32 %r8, {from};\nL: {vote}\nbar.warp.sync -1; add.u32 %r8, %r8, {step};\n\
             setp.lt.u32 %p1, %r8, %r2; @%p1 bra L;"
        ))
    };
    assert_eq!(turns("%tid.x", 32), [(true, 1), (true, 0)]);
    // Such a loop is repeated, too: the text's turn, one under a predicate, four, and two.
    assert_eq!(turns("%ctaid.x", 32), [(false, 0); 2 * 8]);
    assert_eq!(looks(vote), [(false, 0), (false, 0)]);
}

/// How many turns besides the text's the machine code of a loop has. `bound` is what the counter is compared with;
/// `more` stands in the loop behind so many multiply-adds.
fn turns(size: usize, test: &str, bound: &str, more: &str) -> usize {
    steps(size, &format!("{test}.u32"), (1, bound), more)
}

/// The same of a loop that counts in steps.
fn steps(size: usize, test: &str, (step, bound): (u32, &str), more: &str) -> usize {
    let body = format!(
        "mov.u32 %r50, 0;\nL:\n{}{more}\nadd.u32 %r50, %r50, {step};\nsetp.{test} %p2, %r50, {bound};\n@%p2 bra L;",
        chain(size)
    );
    let (_, code) = kernel(&body);
    let all = code.code.instructions.iter().filter(|i| i.class == Class::F32Fma).count();
    all / size - 1
}

/// Instructions of the machine code of a loop's turns that load one word, two and four from shared memory. `start` sets
/// `%r51`, the address; `more` is in each turn.
fn shared_loads(start: &str, step: i32, turns: &str, more: &str) -> [usize; 3] {
    let (_, code) = kernel(&format!(
        "shl.b32 %r52, %r1, 7; add.u32 %r51, %r52, %r4;\n{start}\nmov.u32 %r50, 0;\nL:\n{more}\n\
         add.u32 %r51, %r51, {step}; add.u32 %r50, %r50, 1; setp.ne.u32 %p2, %r50, {turns};\n@%p2 bra L;"
    ));
    // The text's loop comes first.
    let list = &code.code.instructions;
    let store = list.iter().position(|i| i.class == Class::StoreGlobal).unwrap();
    let loads = list[store..].iter().filter(|i| i.class == Class::LoadShared);
    let words: Vec<usize> = loads.map(|i| i.writes.len()).collect();
    [1, 2, 4].map(|n| words.iter().filter(|w| **w == n).count())
}

/// What ptxas 13.5 makes of such loops.
#[test]
fn words_of_several_turns_are_loaded_together() {
    const ONE: &str = "ld.shared.f32 %f3, [%r51]; fma.rn.f32 %f1, %f1, %f2, %f3;";
    const TWO: &str = "ld.shared.f32 %f3, [%r51]; ld.shared.f32 %f4, [%r51+4];\n\
        fma.rn.f32 %f1, %f1, %f3, %f4;";
    assert_eq!(shared_loads("", 4, "8", ONE), [0, 0, 2]);
    assert_eq!(shared_loads("", 4, "6", ONE), [0, 1, 1]);
    let from = |offset: i32| ONE.replace("[%r51]", &format!("[%r51+{offset}]"));
    assert_eq!(shared_loads("", 4, "8", &from(8)), [0, 2, 1]);
    assert_eq!(shared_loads("add.u32 %r51, %r51, 64;", -4, "8", &from(-4)), [0, 0, 2]);
    assert_eq!(shared_loads("", 8, "8", TWO), [0, 0, 4]);
    // They are no neighbours, may lie at any word, or may have been written.
    assert_eq!(shared_loads("", 8, "8", ONE), [8, 0, 0]);
    assert_eq!(shared_loads("mov.u32 %r51, %r5;", 4, "8", ONE), [8, 0, 0]);
    let store = format!("{ONE} st.shared.f32 [%r5+2048], %f1;");
    assert_eq!(shared_loads("", 4, "8", &store), [8, 0, 0]);
    // The address is computed in each turn.
    let computed = "shl.b32 %r53, %r50, 2; add.u32 %r54, %r55, %r53; ld.shared.f32 %f3, [%r54];\n\
        fma.rn.f32 %f1, %f1, %f2, %f3;";
    assert_eq!(shared_loads("add.u32 %r55, %r52, %r4;", 4, "8", computed), [0, 0, 2]);
}

/// A loop of known turns inside another one is written out on devices before compute capability 9.0.
#[test]
fn inner_loops_are_written_out_for_their_loads() {
    let text = include_str!("../../golden/data/timing/sgemm.ptx");
    let (module, _) = ptx_parse::parse_and_verify(text, "sgemm.ptx");
    let module = module.unwrap();
    let index = ptx_parse::lower::entry_index(&module, "squares").unwrap();
    let program = ptx_parse::lower::lower(&module, index).unwrap();
    let catalog = Catalog::embedded().unwrap();
    // Multiply-adds of the loop and the end in the text, and 512 of eight turns.
    for (device, all, wide) in [("A6000", 64 + 64 + 512, 32), ("H200", 64 + 64, 0)] {
        let code = KernelCode::new(&program, &catalog.get(device).unwrap().assembler);
        let list = code.code.instructions;
        let products = list.iter().filter(|i| i.class == Class::F32Fma).count();
        let loads = list.iter().rev().take_while(|i| i.class != Class::StoreGlobal);
        let loads = loads.filter(|i| i.class == Class::LoadShared && i.writes.len() == 4).count();
        assert_eq!((products, loads), (all, wide), "{device}");
    }
}

/// Turns that the text tells: all are written out, or some with those that are left over.
#[test]
fn loops_of_known_turns_are_written_out() {
    for (size, known, copies) in [
        (8, 128, 128),
        (16, 48, 48),
        (16, 64, 16),
        (12, 128, 25 + 3),
        (24, 64, 10 + 4),
        (48, 8, 8),
        (48, 10, 5),
        (96, 4, 4),
        (96, 5, 0),
        (74, 64, 0),
    ] {
        assert_eq!(turns(size, "ne", &known.to_string(), ""), copies, "{size} x {known}");
        assert_eq!(turns(size, "lt", &known.to_string(), ""), copies, "{size} x {known}");
    }
    let nounroll = chain(8) + "mov.u32 %r50, 0;\n.pragma \"nounroll\";\nL:\n";
    let (_, code) = kernel(&format!(
        "{nounroll}{}add.u32 %r50, %r50, 1;\nsetp.ne.u32 %p2, %r50, 4;\n@%p2 bra L;",
        chain(8)
    ));
    assert_eq!(code.code.instructions.iter().filter(|i| i.class == Class::F32Fma).count(), 16);
}

/// A loop that is entered in its middle, `A` of `B A B A`: what comes ahead is written out with the turns that are left
/// over, and of all of them if there are few. Counts are those of ptxas 13.5.
#[test]
fn loops_entered_in_their_middle_are_rotated() {
    let all = |size: usize, start: &str, test: &str| {
        let half = chain(size);
        let body = format!(
            "mov.u32 %r50, {start};\nbra.uni A;\nB:\n{half}\nA:\n{half}add.s32 %r50, %r50, -1;\n{test}\nC:\n"
        );
        let (_, code) = kernel(&body);
        let all = code.code.instructions.iter().filter(|i| i.class == Class::F32Fma).count();
        // Without the text's own.
        all / size - 2
    };
    let leaves = "setp.eq.s32 %p2, %r50, 0;\n@%p2 bra C;\nbra.uni B;";
    let goes_on = "setp.ne.s32 %p2, %r50, 0;\n@%p2 bra B;";
    for test in [leaves, goes_on] {
        for size in [4, 10, 20] {
            assert_eq!(all(size, "5", test), 1 + 4 * 2, "{size} {test}");
        }
        assert_eq!(all(20, "20", test), (1 + 2) + 6 * 2, "{test}");
        assert_eq!(all(4, "%r2", test), (4 + 2) * 2, "{test}");
        assert_eq!(all(10, "%r2", test), 0, "{test}");
    }
    // What goes on with a branch of its own stays as it is where it is entered at its start.
    let (_, code) = kernel(&format!(
        "mov.u32 %r50, 5;\nB:\n{}add.s32 %r50, %r50, -1;\n{leaves}\nC:\n",
        chain(8)
    ));
    assert_eq!(code.code.instructions.iter().filter(|i| i.class == Class::F32Fma).count(), 8);
}

/// Turns that nobody knows: four at once, and two of those that are left over, up to a size that grows with loads.
#[test]
fn loops_of_unknown_turns_are_repeated() {
    let global =
        |n| (0..n).map(|i| format!("ld.global.f32 %f{}, [%rd4+{}];", 60 + i, 4 * i)).collect();
    let shared =
        |n| (0..n).map(|i| format!("ld.shared.f32 %f{}, [%r5+{}];", 60 + i, 4 * i)).collect();
    let stores = |n| (0..n).map(|i| format!("st.global.f32 [%rd5+{}], %f1;", 4 * i)).collect();
    let cases: [(String, usize); 7] = [
        (String::new(), 18),
        (global(1), 44),
        (global(4), 38),
        (shared(1), 21),
        (shared(4), 30),
        (stores(4), 10),
        ("shfl.sync.bfly.b32 %r60, %r60, 1, 31, -1; bar.sync 0;".to_owned(), 16),
    ];
    for (more, most) in cases {
        assert_eq!(steps(most, "ne.s32", (1, "%r2"), &more), 4 + 2, "{more}");
        assert_eq!(steps(most, "ne.s32", (4, "%r2"), &more), 4 + 2, "{more}");
        assert_eq!(steps(most, "lt.s32", (1, "%r2"), &more), 4 + 2, "{more}");
        // Of numbers without a sign there is one more, for a counter that starts beyond the end. It is never executed:
        // where it is too long for a predicate, a branch goes around it.
        assert_eq!(turns(most, "lt", "%r2", &more), 4 + 2, "{more}");
        assert_eq!(turns(most, "ne", "%r2", &more), 4 + 2, "{more}");
        assert_eq!(turns(most + 1, "ne", "%r2", &more), 0, "{more}");
    }
    // Two and one that are left over of short loops go under predicates, in one block.
    assert_eq!(turns(3, "lt", "%r2", ""), 1 + 4 + 3 + 2);
    assert_eq!(turns(4, "lt", "%r2", ""), 1 + 4 + 2);
    assert_eq!(turns(3, "lt", "%r2", "st.global.f32 [%rd5], %f1;"), 1 + 4 + 2);
    // Where lanes leave one by one, what they do together stays.
    assert_eq!(turns(8, "ne", "%r1", ""), 4 + 2);
    assert_eq!(turns(8, "ne", "%r1", "bar.sync 0;"), 0);
    assert_eq!(turns(8, "ne", "8", "bar.sync 0;"), 8);
}

/// Atomics that may be made for the warp, or in a loop, weigh more than others: how many multiply-adds fit into a turn
/// beside one, two and three of them, to two, by ptxas.
#[test]
fn atomics_weigh_by_what_they_are() {
    let own =
        "ld.global.u32 %rV, [%rd4+O]; shl.b32 %rA, %rV, 2; atom.shared.add.u32 %rX, [%rA], 1;";
    let largest =
        "ld.global.u32 %rV, [%rd4+O]; shl.b32 %rA, %rV, 2; atom.shared.max.u32 %rX, [%rA], %rV;";
    let sums = "ld.global.u32 %rV, [%rd4+O]; red.global.add.f32 [%rd5+O], %f2;";
    let swaps = "ld.global.u32 %rV, [%rd4+O]; atom.shared.exch.b32 %rX, [%r5+O], %rV; xor.b32 %r3, %r3, %rX;";
    for (unit, most) in
        [(own, [32, 20, 6]), (largest, [32, 20, 6]), (sums, [42, 38, 34]), (swaps, [40, 36, 32])]
    {
        for (count, most) in (1..).zip(most) {
            let one = |i: usize| {
                let number = |base: usize| (base + i).to_string();
                let unit = unit.replace('V', &number(60)).replace('A', &number(70));
                unit.replace('X', &number(80)).replace('O', &(4 * i).to_string())
            };
            let more: String = (0..count).map(one).collect();
            assert!(turns(most, "ne", "%r2", &more) >= 4 + 2, "{most}: {more}");
            assert_eq!(turns(most + 3, "ne", "%r2", &more), 0, "{}: {more}", most + 3);
        }
    }
}

/// How many multiply-adds fit into a turn beside one and two of each, by ptxas: it counts before it knows what machine
/// code makes of them.
#[test]
fn instructions_weigh_what_they_do_in_the_text() {
    for (unit, most) in [
        ("mul.lo.u64 %rd20, %rd20, %rd21;", [43, 42]),
        ("min.s64 %rd20, %rd20, %rd21;", [43, 42]),
        ("shl.b64 %rd20, %rd20, %r60;", [42, 40]),
        ("clz.b32 %r61, %r61;", [42, 40]),
        ("bfe.u32 %r61, %r61, %r60, 7;", [42, 40]),
        ("add.f16x2 %h0, %h0, %h1;", [42, 40]),
        ("sqrt.approx.f32 %f60, %f60;", [38, 32]),
        ("rcp.approx.f32 %f60, %f60;", [37, 30]),
        ("div.approx.f32 %f60, %f60, %f2;", [37, 30]),
        ("div.approx.ftz.f32 %f60, %f60, %f2;", [42, 40]),
        ("div.full.f32 %f60, %f60, %f2;", [32, 20]),
        ("div.full.ftz.f32 %f60, %f60, %f2;", [36, 28]),
        ("div.u32 %r61, %r61, %r60;", [23, 2]),
        ("rem.u32 %r61, %r61, %r60;", [25, 6]),
        ("div.s32 %r61, %r61, %r60;", [17, 0]),
        ("rem.s32 %r61, %r61, %r60;", [20, 0]),
        ("div.u32 %r61, %r61, 7;", [26, 8]),
        ("div.s32 %r61, %r61, 7;", [21, 0]),
        ("rem.u32 %r61, %r61, 7;", [28, 12]),
        ("rem.s32 %r61, %r61, 7;", [24, 4]),
    ] {
        for (count, most) in (1..).zip(most).filter(|(_, most)| *most > 0) {
            let turns = |size: usize| {
                let (_, code) = kernel(&format!(
                    "ld.global.u64 %rd20, [%rd4]; ld.global.u64 %rd21, [%rd4+8]; ld.global.u32 %r61, [%rd4+16];\n\
                     .reg .b32 %h<2>; ld.global.b32 %h0, [%rd4+24]; ld.global.b32 %h1, [%rd4+28];\n\
                     ld.global.f32 %f60, [%rd4+20]; mov.u32 %r50, 0;\nL:\nld.global.u32 %r60, [%rd4];{}{}\n\
                     add.u32 %r50, %r50, 1; setp.ne.u32 %p2, %r50, %r2;\n@%p2 bra L;\n\
                     st.global.u64 [%rd5+8], %rd20; st.global.u32 [%rd5+16], %r61; st.global.f32 [%rd5+20], %f60;\n\
                     st.global.b32 [%rd5+24], %h0;",
                    chain(size),
                    unit.repeat(count)
                ));
                let list = code.code.instructions.iter();
                list.filter(|i| i.class == Class::F32Fma).count() / size - 1
            };
            assert!(turns(most) >= 4 + 2, "{most}: {count} of {unit}");
            assert_eq!(turns(most + 1), 0, "{}: {count} of {unit}", most + 1);
        }
    }
}

/// Indices of several turns differ by a constant, but not the addresses that a product of 64 bits makes of them: 32
/// bits may go around. Each turn computes its own, beside the text's turn, four, two, and what comes behind.
#[test]
fn wide_addresses_are_computed_in_each_turn() {
    let products = |load: &str| {
        let body = format!(
            "mov.u32 %r50, %r1;\nL: {load} ld.global.f32 %f3, [%rd21]; add.f32 %f1, %f1, %f3;\n\
             add.u32 %r50, %r50, 8; setp.lt.s32 %p2, %r50, %r2; @%p2 bra L;"
        );
        count(&body, Class::IntMulWide) - count("", Class::IntMulWide)
    };
    for ty in ["u32", "s32"] {
        let load = format!("mul.wide.{ty} %rd20, %r50, 4; add.s64 %rd21, %rd1, %rd20;");
        assert_eq!(products(&load), 1 + 4 + 2, "{ty}");
    }
    assert_eq!(products("mul.wide.u32 %rd20, %r3, 12; add.s64 %rd21, %rd2, %rd20;"), 1 + 1 + 1);
}

/// What machine code asks ahead of four turns and of two: a difference, a comparison and a branch. A counter without a
/// sign is compared once more; where lanes leave one by one, they are kept track of.
#[test]
fn turns_are_asked_for() {
    let asks = |ty: &str, bound: &str| {
        let body = format!(
            "mov.u32 %r50, 0;\nL:\n{}add.u32 %r50, %r50, 1; setp.lt.{ty} %p2, %r50, {bound}; @%p2 bra L;",
            chain(16)
        );
        let (_, code) = kernel(&body);
        let own = code.code.instructions.iter().filter(|i| i.class == Class::Compare);
        let mut found: Vec<u32> = own.map(|i| i.extra_slots).filter(|n| *n > 0).collect();
        found.truncate(3);
        found
    };
    assert_eq!(asks("s32", "%r2"), [1, 1, 1]);
    assert_eq!(asks("u32", "%r2"), [2, 2, 1]);
    assert_eq!(asks("s32", "%r1"), [3, 3, 1]);
    assert_eq!(asks("u32", "%r1"), [4, 4, 1]);
}

/// An argument that the text loads in a loop is there ahead of it, but for a wide multiply-add.
#[test]
fn arguments_are_loaded_ahead_of_loops() {
    let turns = |body: &str| {
        let text = format!(
            "mov.u32 %r60, 0;\nL: {body}\nadd.u32 %r60, %r60, 1; setp.lt.u32 %p1, %r60, %r2; @%p1 bra L;"
        );
        count(&text, Class::LoadParam) - count("", Class::LoadParam)
    };
    let sum = "ld.param.u32 %r61, [n]; xor.b32 %r62, %r60, %r61; cvt.rn.f32.u32 %f3, %r62; add.f32 %f1, %f1, %f3;";
    assert_eq!(turns(sum), 0);
    let wide = "ld.param.u64 %rd20, [a]; mul.wide.u32 %rd21, %r60, 4; add.s64 %rd22, %rd20, %rd21; \
                ld.global.f32 %f3, [%rd22]; add.f32 %f1, %f1, %f3;";
    assert!(turns(wide) > 0);
}

/// Where lanes leave one by one, loops with atomics are not repeated, nor those that store what they have loaded from
/// the same memory, or where that says, but for stores whose address a constant is added to.
#[test]
fn stores_of_what_was_loaded_are_not_repeated() {
    let repeated = |from: &str, body: &str| {
        let text = format!(
            "mov.u32 %r50, {from};\nL: mul.wide.u32 %rd9, %r50, 4; add.s64 %rd10, %rd5, %rd9; shl.b32 %r80, %r50, 2;\n\
             add.u32 %r81, %r4, %r80; {body} fma.rn.f32 %f1, %f1, %f2, %f2;\n\
             add.u32 %r50, %r50, 32; setp.lt.u32 %p2, %r50, %r2; @%p2 bra L;"
        );
        count(&text, Class::F32Fma) > 1
    };
    for (body, alone) in [
        ("red.global.add.u32 [%rd4+64], %r1;", false),
        ("red.shared.add.u32 [%r5], %r1;", false),
        ("atom.shared.add.u32 %r61, [%r5], %r1; xor.b32 %r71, %r71, %r61;", false),
        ("ld.global.u32 %r61, [%rd10]; st.global.u32 [%rd10], %r61;", false),
        ("ld.global.u32 %r61, [%rd10]; st.global.u32 [%rd4], %r61;", false),
        (
            "ld.global.u32 %r61, [%rd10]; mul.wide.u32 %rd12, %r61, 4; add.s64 %rd13, %rd4, %rd12; \
          st.global.u32 [%rd13], %r1;",
            false,
        ),
        ("ld.shared.u32 %r61, [%r81]; add.u32 %r61, %r61, %r1; st.shared.u32 [%r81], %r61;", false),
        (
            "ld.global.u32 %r61, [%rd10]; st.global.u32 [%rd5], %r61; add.s64 %rd5, %rd5, %rd2;",
            false,
        ),
        ("ld.global.u32 %r61, [%rd10]; st.global.u32 [%rd5], %r61; add.s64 %rd5, %rd5, 64;", true),
        ("ld.shared.u32 %r61, [%r81]; st.shared.u32 [%r5], %r61; add.u32 %r5, %r5, 64;", true),
        ("ld.global.u32 %r61, [%rd10]; st.shared.u32 [%r81], %r61;", true),
        ("ld.shared.u32 %r61, [%r81]; st.global.u32 [%rd10], %r61;", true),
        ("ld.global.f32 %f61, [%rd10]; st.global.u32 [%rd10], %r1; add.f32 %f1, %f1, %f61;", true),
    ] {
        assert_eq!(repeated("%tid.x", body), alone, "{body}");
        assert!(repeated("%ctaid.x", body), "{body}");
    }
}

/// What keeps track of lanes stands around the loop that they leave, not in it.
#[test]
fn lanes_leave_a_loop_at_no_cost_in_it() {
    let (_, code) = kernel(
        "mov.u32 %r60, %r1;\nL: ld.global.u32 %r61, [%rd4+64]; add.s64 %rd4, %rd4, 4; setp.eq.u32 %p1, %r61, %r1;\n\
         @%p1 bra M;\nadd.u32 %r60, %r60, 32; setp.lt.u32 %p2, %r60, %r2; @%p2 bra L;\nM: cvt.rn.f32.u32 %f1, %r60;",
    );
    let list = &code.code.instructions;
    let branches = list.iter().enumerate().filter(|(_, i)| i.class == Class::Branch);
    let branches: Vec<usize> = branches.map(|(pc, _)| pc).collect();
    let load = list.iter().rposition(|i| i.class == Class::LoadGlobal).unwrap();
    assert!(list[load..=branches[1]].iter().all(|i| i.extra_slots == 0));
    assert_eq!(list[load - 1].extra_slots, 2);
}

/// The next value of a variable is made where it is read first, so that the last one needs no other register.
#[test]
fn next_values_of_variables_are_made_late() {
    let moves = |late: &str| {
        let body = format!(
            "mov.u32 %r60, 0; mov.u32 %r62, %r1; mov.u32 %r65, 0;\n\
             L: add.s32 %r61, %r62, 3; shl.b32 %r63, %r62, 2; xor.b32 %r64, %r63, %r5; add.u32 %r65, %r65, %r64;\n\
             bar.sync 0; setp.gt.u32 %p2, %r65, 77; @%p2 bra M;\n\
             {late} mov.u32 %r62, %r61; add.u32 %r60, %r60, 1; setp.lt.u32 %p1, %r60, %r67; @%p1 bra L;\n\
             M: cvt.rn.f32.u32 %f1, %r65;"
        );
        let (_, code) = kernel(&body);
        let first = code.code.instructions.iter().position(|i| i.class == Class::Barrier).unwrap();
        let behind = &code.code.instructions[first..];
        behind.iter().filter(|i| i.class == Class::Move).count()
    };
    assert_eq!(moves("add.u32 %r66, %r61, %r65; shr.u32 %r67, %r66, 3;"), 0);
    assert_eq!(
        moves("add.u32 %r66, %r61, %r65; shr.u32 %r67, %r66, 3; xor.b32 %r67, %r67, %r2;"),
        0
    );
    // The last value is read behind the next one.
    assert_eq!(moves("add.u32 %r66, %r61, %r62; add.u32 %r67, %r66, %r62;"), 1);
    // The next value is made of others, and the last one is read behind it in the text.
    let (_, code) = kernel(
        "mov.u32 %r60, 0; mov.f32 %f10, 0f00000000; mov.f32 %f13, %f10; mov.f32 %f14, %f10; mov.f32 %f15, %f10;\n\
         L: sub.f32 %f16, %f13, %f14; add.f32 %f11, %f2, %f16; add.f32 %f12, %f10, %f10;\n\
         fma.rn.f32 %f15, %f12, %f15, %f1; add.s32 %r60, %r60, 1; setp.lt.u32 %p1, %r60, %r2;\n\
         mul.f32 %f13, %f11, %f11; mul.f32 %f14, %f15, %f15; add.f32 %f17, %f13, %f14;\n\
         setp.lt.f32 %p2, %f17, 0f40800000; and.pred %p3, %p1, %p2; mov.f32 %f10, %f11; @%p3 bra L;\n\
         st.global.f32 [%rd4], %f17;",
    );
    let list = &code.code.instructions;
    let first = list.iter().position(|i| i.class == Class::F32Fma).unwrap();
    assert!(list[first..].iter().all(|i| i.class != Class::Move));
}

/// A counter with a bound beside another test: what compares it is there as long as the square of a turn's
/// instructions, times the turns, is over a number; ptxas writes the others out. Turns at most with 8, 16, 32 and 48
/// multiply-adds: 166, 58, 19 and 9.
#[test]
fn loops_with_a_bound_are_written_out() {
    let compares = |products: usize, turns: usize| {
        let body = format!(
            "mov.u32 %r60, 0;\nL: {}\nsetp.lt.f32 %p1, %f1, %f2; add.s32 %r60, %r60, 1;
             setp.lt.u32 %p2, %r60, {turns}; and.pred %p3, %p1, %p2; @%p3 bra L;
             st.global.u32 [%rd5+4], %r60;",
            chain(products)
        );
        count(&body, Class::Compare)
    };
    for (products, turns) in [(8, 166), (16, 58), (32, 19), (48, 9)] {
        assert_eq!(compares(products, turns * 8 / 10), 1, "{products}");
        assert_eq!(compares(products, turns * 12 / 10), 2, "{products}");
    }
    // Lanes leave in the middle, too.
    let leaves = |products: usize, turns: usize, more: &str, last: &str| {
        let body = format!(
            "mov.u32 %r60, 0;\nL: {}\nsetp.gt.f32 %p1, %f1, %f2; @%p1 bra E; add.s32 %r60, %r60, 1;\n\
             setp.lt.u32 %p2, %r60, {turns}; {more}@{last} bra L;\nE: st.global.f32 [%rd5+4], %f1;",
            chain(products)
        );
        let (_, code) = kernel(&body);
        let of = |class| code.code.instructions.iter().filter(|i| i.class == class).count();
        (of(Class::Compare), of(Class::IntAdd))
    };
    for (products, turns) in [(8, 170), (16, 59), (32, 19), (48, 9)] {
        assert_eq!(leaves(products, turns * 8 / 10, "", "%p2"), (1, 0), "{products}");
        assert_eq!(leaves(products, turns * 13 / 10, "", "%p2"), (2, 1), "{products}");
    }
    let both = "setp.neu.f32 %p4, %f1, %f2; and.pred %p3, %p4, %p2; ";
    for (products, turns) in [(8, 124), (16, 49), (32, 16)] {
        assert_eq!(leaves(products, turns * 8 / 10, both, "%p3"), (2, 0), "{products}");
        assert_eq!(leaves(products, turns * 12 / 10, both, "%p3"), (3, 1), "{products}");
    }
    // Not with a third test, nor with a vote or a fence in a turn.
    let of = |more: &str, join: &str| {
        let body = format!(
            "mov.u32 %r60, 0;\nL: {more}\nsetp.lt.f32 %p1, %f1, %f2; add.s32 %r60, %r60, 1; {join}\n\
             setp.lt.u32 %p2, %r60, 16; and.pred %p3, %p1, %p2; @%p3 bra L; st.global.u32 [%rd5+4], %r60;"
        );
        count(&body, Class::Compare)
    };
    let third = "setp.gt.f32 %p5, %f1, 0f3F800000; and.pred %p1, %p1, %p5;";
    assert_eq!([of("", ""), of("membar.gl;", ""), of("", third)], [1, 2, 3]);
}

/// A branch that is taken where two predicates hold takes both; where one of two does, or where not both do, a
/// comparison takes in the other one first.
#[test]
fn branches_take_two_predicates() {
    let of = |joins: &str, branch: &str| {
        let (_, code) = kernel(&format!(
            "setp.lt.f32 %p2, %f1, %f2; setp.lt.u32 %p3, %r1, %r2; {joins}.pred %p1, %p2, %p3;\n\
             {branch} bra M;\n{}\nM:",
            chain(40)
        ));
        let list = &code.code.instructions;
        let branch = list.iter().find(|i| i.class == Class::Branch && i.guard.is_some()).unwrap();
        let made = list.iter().filter(|i| i.writes.iter().any(|w| branch.guard == Some(*w)));
        (branch.reads.len(), made.map(|i| i.reads.len()).max().unwrap())
    };
    assert_eq!(of("and", "@%p1"), (1, 2));
    assert_eq!(of("and", "@!%p1"), (0, 3));
    assert_eq!(of("or", "@%p1"), (0, 3));
}

/// The next value of a variable takes the variable's register: what reads the last one comes first, though the text has
/// it behind.
#[test]
fn next_values_are_made_behind_readers_of_the_last() {
    let (_, code) = kernel(
        "L: sub.f32 %f21, %f5, %f4; add.f32 %f9, %f21, 0fBF4CCCCD; add.f32 %f22, %f7, %f7;\n\
         fma.rn.f32 %f6, %f22, %f6, %f3; mul.f32 %f5, %f9, %f9; mul.f32 %f4, %f6, %f6;\n\
         add.f32 %f8, %f5, %f4; setp.lt.f32 %p2, %f8, 0f40800000; mov.f32 %f7, %f9; @%p2 bra L;\n\
         st.global.f32 [%rd5+4], %f6;",
    );
    let list = &code.code.instructions;
    let product = list.iter().position(|i| i.class == Class::F32Fma).unwrap();
    let makes = |w: u32| list[..product].iter().rposition(|i| i.writes[..] == [w]);
    let doubled = list[product].reads.iter().find_map(|r| makes(*r)).unwrap();
    let variable = list[doubled].reads[0];
    let next = list.iter().position(|i| i.class == Class::F32Add && i.writes[..] == [variable]);
    assert!(next.unwrap() > doubled, "{list:?}");
}
