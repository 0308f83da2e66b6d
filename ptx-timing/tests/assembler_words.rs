//! What the model makes of parts of words and of words put together, beside what ptxas 13.5 makes of the same text for
//! sm_90.

#[path = "common/small.rs"]
mod small;

use ptx_isa::Class;
use ptx_timing::event::AccessKind;
use small::{count, kernel};

/// A value that was computed before is not computed again, but where the way there may not have led past it.
#[test]
fn values_are_computed_once() {
    let body = "mul.lo.u32 %r60, %r1, %r2; st.global.u32 [%rd4+64], %r60; mul.lo.u32 %r62, %r1, %r2; \
                mul.lo.u32 %r65, %r62, %r62; cvt.rn.f32.u32 %f1, %r65;";
    assert_eq!(count(body, Class::IntMul), 2);
    let other = body.replace("%r62, %r1, %r2", "%r62, %r1, %r3");
    assert_eq!(count(&other, Class::IntMul), 3);
    let first = "mul.lo.u32 %r60, %r1, %r2; st.global.u32 [%rd4+64], %r60; bar.sync 0; red.shared.add.u32 [%r5], 1;";
    let skipped = format!(
        "setp.lt.u32 %p1, %r1, %r2; @%p1 bra L; {first}\nL: mul.lo.u32 %r62, %r1, %r2; st.global.u32 [%rd4], %r62;"
    );
    assert_eq!(count(&skipped, Class::IntMul), 2);
}

/// Arithmetic on halves takes one half of each operand, or both, in any order; other readers need a move.
#[test]
fn halves_of_words_are_operands() {
    let of = |body: &str| {
        let body = format!(
            ".reg .b16 %h<9>; .reg .b32 %q<9>; ld.global.b32 %q0, [%rd4+64]; ld.global.b32 %q1, [%rd4+128];\n{body}"
        );
        count(&body, Class::Move) + count(&body, Class::Logic)
    };
    let plain = of("");
    let arithmetic = "mov.b32 {%h0, %h1}, %q0; mov.b32 {%h2, %h3}, %q1; mul.f16 %h4, %h0, %h3; mul.f16 %h5, %h1, %h0;
                      mov.b32 %q2, {%h1, %h1}; mul.f16x2 %q3, %q2, %q1; mov.b32 {%h6, %h7}, %q3;
                      add.f16 %h4, %h4, %h6; add.f16 %h4, %h4, %h5; cvt.f32.f16 %f1, %h4;";
    assert_eq!(of(arithmetic), plain);
    let stored = "mov.b32 {%h0, %h1}, %q0; st.global.b16 [%rd4+2], %h1;";
    assert_eq!(of(stored), plain + 1);
}

/// The same with the lower and the upper halves is one instruction if only its whole result is read.
#[test]
fn arithmetic_on_both_halves_is_one() {
    let of = |high: &str, also: &str| {
        let body = format!(
            ".reg .b16 %h<9>; .reg .b32 %q<9>; ld.global.b32 %q0, [%rd4+64]; ld.global.b32 %q1, [%rd4+128];\n\
             mov.b32 {{%h0, %h1}}, %q0; mov.b32 {{%h2, %h3}}, %q1; mul.f16 %h4, %h0, %h2; mul.f16 %h5, {high};\n\
             mov.b32 %q2, {{%h4, %h5}}; st.global.b32 [%rd4+4], %q2; {also}"
        );
        (count(&body, Class::F16), count(&body, Class::F16Single))
    };
    assert_eq!(of("%h1, %h3", ""), (1, 0));
    assert_eq!(of("%h1, %h2", ""), (1, 0));
    assert_eq!(of("%h0, %h3", "st.global.b16 [%rd4+8], %h4;"), (0, 2));
}

/// A sum takes in a rotation or a shift to the right by a constant (LEA.HI), unless the shifted one is taken from
/// another.
#[test]
fn sums_take_in_shifts_to_the_right() {
    let sum = |body: &str| {
        let body = format!("mov.u32 %r70, %laneid; {body} cvt.rn.f32.u32 %f1, %r61;");
        (count(&body, Class::Shift), count(&body, Class::IntAdd3))
    };
    let (_, plain) = sum("mov.u32 %r61, %r70;");
    for (body, alone) in [
        ("shf.l.wrap.b32 %r60, %r1, %r5, 7; add.u32 %r61, %r60, %r2;", false),
        (
            "shl.b32 %r60, %r1, 7; shr.u32 %r62, %r1, 25; or.b32 %r63, %r60, %r62; add.u32 %r61, %r63, %r2;",
            false,
        ),
        ("mov.u32 %r62, 7; shf.l.wrap.b32 %r60, %r1, %r1, %r62; add.u32 %r61, %r60, %r2;", false),
        ("shr.u32 %r60, %r1, 7; add.u32 %r61, %r60, %r70;", false),
        ("shr.u32 %r60, %r1, 7; sub.u32 %r61, %r60, %r70;", false),
        ("shr.u32 %r60, %r1, 7; sub.u32 %r61, %r70, %r60;", true),
        ("shf.l.wrap.b32 %r60, %r1, %r5, %r70; add.u32 %r61, %r60, %r2;", true),
    ] {
        let (shifts, sums) = sum(body);
        assert_eq!((shifts > 0, sums > plain), (alone, !alone), "{body}");
    }
}

/// A word whose bits another has not is added to it, and the sum takes in its shift (LEA).
#[test]
fn words_with_other_bits_are_added() {
    let or = |distance: u32| {
        let body = format!(
            "ld.global.u8 %r71, [%rd4+64]; shl.b32 %r60, %r1, {distance}; or.b32 %r61, %r60, %r71; \
             cvt.rn.f32.u32 %f1, %r61;"
        );
        (count(&body, Class::Logic), count(&body, Class::IntAdd3) - count("", Class::IntAdd3))
    };
    assert_eq!(or(8), (0, 1));
    assert_eq!(or(7), (1, 0));
}

/// A word put above another is the other register of a pair.
#[test]
fn words_above_others_are_registers_of_a_pair() {
    let body = "cvt.u64.u32 %rd20, %r1; cvt.u64.u32 %rd21, %r2; bfi.b64 %rd22, %rd21, %rd20, 32, 32; \
                st.global.u64 [%rd4+8], %rd22;";
    assert_eq!(count(body, Class::Bitfield), 0);
    assert_eq!(count(&body.replace("32, 32", "31, 32"), Class::Bitfield), 1);
}

/// Two doubles that lie side by side in shared memory are loaded together where they are aligned.
#[test]
fn doubles_are_loaded_in_pairs() {
    let body = ".shared .align 16 .b8 z[256]; .reg .f64 %g<9>; st.shared.u32 [%r5], %r1; bar.sync 0;\n\
                ld.shared.f64 %g0, [z]; ld.shared.f64 %g1, [z+8]; ld.shared.f64 %g2, [z+24]; \
                ld.shared.f64 %g3, [z+32];\n\
                add.f64 %g0, %g0, %g1; add.f64 %g2, %g2, %g3; add.f64 %g0, %g0, %g2; st.global.f64 [%rd4], %g0;";
    assert_eq!(count(body, Class::LoadShared), 3);
}

/// An atomic whose result nobody reads is a reduction, unless it acquires or exchanges.
#[test]
fn atomics_without_readers_are_reductions() {
    let reductions = |body: &str| {
        let (_, code) = kernel(body);
        code.code.instructions.iter().filter(|i| i.kind == AccessKind::Reduction).count()
    };
    assert_eq!(reductions("atom.global.add.u32 %r60, [%rd4+64], %r1;"), 1);
    assert_eq!(reductions("atom.shared.max.u32 %r60, [%r5], %r1;"), 1);
    assert_eq!(
        reductions("atom.global.add.u32 %r60, [%rd4+64], %r1; st.global.u32 [%rd4], %r60;"),
        0
    );
    assert_eq!(reductions("atom.acquire.gpu.global.add.u32 %r60, [%rd4+64], %r1;"), 0);
    assert_eq!(reductions("atom.global.exch.b32 %r60, [%rd4+64], %r1;"), 0);
}

/// A quotient takes more instructions than a remainder: 18 and 17, with signs 25 and 23.
#[test]
fn quotients_take_more_than_remainders() {
    let profile = ptx_timing::Catalog::embedded().unwrap().get("H200").unwrap();
    let instructions = |operation: &str| {
        let (_, code) = kernel(&format!(
            "ld.global.u32 %r70, [%rd4+64]; ld.global.u32 %r71, [%rd4+128]; {operation} %r61, %r70, %r71; \
             cvt.rn.f32.u32 %f1, %r61;"
        ));
        let divides = |class| matches!(class, Class::IntDiv | Class::IntDivSigned);
        let i = code.code.instructions.iter().find(|i| divides(i.class)).unwrap();
        profile.timing_of(i.class).unwrap().instructions + i.extra_slots
    };
    let all = ["rem.u32", "div.u32", "rem.s32", "div.s32"].map(instructions);
    assert_eq!(all, [17, 18, 23, 25]);
}

/// Of 64 bits of which nobody reads the upper half there is none; the product of two values without one is a wide one
/// (IMAD.WIDE), whose upper half ptxas adds to nothing (IADD3).
#[test]
fn upper_halves_that_nobody_needs() {
    let profile = ptx_timing::Catalog::embedded().unwrap().get("H200").unwrap();
    let issued = |body: &str| {
        let body = format!(
            "ld.global.u64 %rd10, [%rd4+64]; ld.global.u64 %rd11, [%rd4+128]; ld.global.u64 %rd12, [%rd4+256];\n\
             ld.global.u32 %r10, [%rd4+512];\n{body} st.global.u64 [%rd4], %rd20;"
        );
        let list = kernel(&body).1.code.instructions;
        let each = list.iter().filter(|i| !i.class.is_memory());
        each.map(|i| profile.timing_of(i.class).map_or(1, |t| t.instructions) + i.extra_slots)
            .sum::<u32>()
    };
    let none = issued("mov.u64 %rd20, %rd10;");
    let mask = "4294967295";
    for (body, more) in [
        (format!("and.b64 %rd13, %rd10, {mask}; and.b64 %rd14, %rd11, {mask}; mul.lo.s64 %rd20, %rd13, %rd14;"), 2),
        ("cvt.u64.u32 %rd13, %r10; mul.lo.s64 %rd20, %rd13, 2147483649;".to_owned(), 2),
        (
            format!(
                "and.b64 %rd13, %rd10, {mask}; mul.lo.s64 %rd15, %rd13, 2147483649; add.s64 %rd16, %rd15, %rd12;
                 shr.u64 %rd20, %rd16, 32;"
            ),
            2,
        ),
        ("mul.lo.s64 %rd20, %rd10, %rd11;".to_owned(), 4),
        (format!("mul.lo.s64 %rd13, %rd10, %rd11; and.b64 %rd20, %rd13, {mask};"), 1),
        (format!("add.s64 %rd13, %rd10, %rd11; and.b64 %rd20, %rd13, {mask};"), 1),
        (format!("shl.b64 %rd13, %rd10, 7; and.b64 %rd20, %rd13, {mask};"), 1),
        (format!("xor.b64 %rd13, %rd10, %rd11; and.b64 %rd20, %rd13, {mask};"), 1),
        (format!("mul.lo.s64 %rd13, %rd10, %rd11; add.s64 %rd14, %rd13, %rd12; and.b64 %rd20, %rd14, {mask};"), 1),
        (format!("mul.wide.u32 %rd13, %r1, %r10; add.s64 %rd14, %rd13, %rd12; and.b64 %rd20, %rd14, {mask};"), 1),
        ("xor.b64 %rd13, %rd10, %rd11; cvt.u32.u64 %r12, %rd13; mul.wide.u32 %rd20, %r12, %r10;".to_owned(), 2),
    ] {
        assert_eq!(issued(&body) - none, more, "{body}");
    }
}

/// The sign of a word that 64 bits are made of is an instruction where shifts or several sums read it; one sum makes it
/// itself, of one operand.
#[test]
fn signs_of_words_are_made_once() {
    let signs = |body: &str| {
        let body =
            format!("ld.global.s32 %r10, [%rd4+64]; ld.global.s32 %r11, [%rd4+128];\n{body}");
        count(&body, Class::Shift)
    };
    let none = signs("");
    let sign = "cvt.s64.s32 %rd10, %r10;";
    let load = |address: &str| format!("ld.global.f32 %f3, [{address}]; add.f32 %f1, %f1, %f3;");
    for (body, made) in [
        (format!("{sign} add.s64 %rd11, %rd2, %rd10; {}", load("%rd11")), 0),
        (
            format!(
                "{sign} shl.b64 %rd11, %rd10, 2; add.s64 %rd12, %rd2, %rd11; {}",
                load("%rd12")
            ),
            1,
        ),
        (
            format!(
                "{sign} add.s64 %rd11, %rd2, %rd10; {} add.s64 %rd12, %rd1, %rd10; {}",
                load("%rd11"),
                load("%rd12")
            ),
            1,
        ),
        (
            format!(
                "{sign} shl.b64 %rd11, %rd10, 1; add.s64 %rd12, %rd2, %rd11; {} shl.b64 %rd13, %rd10, 2;\n\
                 add.s64 %rd14, %rd1, %rd13; {}",
                load("%rd12"),
                load("%rd14")
            ),
            1,
        ),
        (
            format!(
                "{sign} cvt.s64.s32 %rd11, %r11; add.s64 %rd12, %rd10, %rd11; shl.b64 %rd13, %rd12, 2;\n\
                 add.s64 %rd14, %rd1, %rd13; {}",
                load("%rd14")
            ),
            1,
        ),
    ] {
        assert_eq!(signs(&body) - none, made, "{body}");
    }
}

/// Of a wide product whose addend is a word with zeros above it: moves that make an aligned pair of registers of that.
/// A sum of two such words needs none; the word that two products add is moved once.
#[test]
fn addends_of_wide_products_are_pairs() {
    let moves = |body: &str| -> u32 {
        let (_, code) = small::kernel(&format!("ld.global.u64 %rd9, [%rd5+64]; {body}"));
        let wide = code.code.instructions.iter().filter(|i| i.class == Class::IntMulWide);
        wide.map(|i| i.extra_slots).sum()
    };
    let product = "mul.wide.u32 %rd10, %r1, %r2;";
    let store = "st.global.u64 [%rd5+128], %rd12;";
    let word = "ld.global.u32 %r60, [%rd5+72]; cvt.u64.u32 %rd11, %r60;";
    assert_eq!(moves(&format!("{product} {word} add.s64 %rd12, %rd10, %rd11; {store}")), 1);
    let half = "shr.u64 %rd11, %rd9, 32;";
    assert_eq!(moves(&format!("{product} {half} add.s64 %rd12, %rd10, %rd11; {store}")), 2);
    assert_eq!(moves(&format!("{product} add.s64 %rd12, %rd10, %rd9; {store}")), 0);
    let two = "mul.wide.u32 %rd13, %r1, %r3; add.s64 %rd14, %rd13, %rd11; st.global.u64 [%rd5+256], %rd14;";
    assert_eq!(moves(&format!("{product} {word} add.s64 %rd12, %rd10, %rd11; {store} {two}")), 1);
}

/// Of a comparison of 64 bits that goes into a predicate with another one the lower half stays.
#[test]
fn comparisons_of_64_bits_have_two_halves() {
    let slots = |ty: &str, a: &str, b: &str| -> u32 {
        let body = format!(
            "ld.global.u64 %rd9, [%rd5+64]; ld.global.u64 %rd10, [%rd5+72]; ld.global.u32 %r60, [%rd5+80];\n\
             setp.lt.{ty} %p1, {a}, {b}; setp.gt.u32 %p2, %r60, 5; and.pred %p3, %p1, %p2;\n\
             selp.f32 %f1, %f1, %f2, %p3;"
        );
        let (_, code) = small::kernel(&body);
        let compares = code.code.instructions.iter().filter(|i| i.class == Class::Compare);
        compares.map(|i| 1 + i.extra_slots).sum()
    };
    assert_eq!(slots("u32", "%r1", "%r60"), 2);
    assert_eq!(slots("u64", "%rd9", "%rd10"), 3);
}

/// Logic of 64 bits with a constant that leaves the upper half alone, or makes a constant of it, is one instruction.
#[test]
fn logic_with_constants_has_one_half() {
    let slots = |op: &str, constant: &str| -> u32 {
        let body = format!(
            "ld.global.u64 %rd9, [%rd5+64]; {op}.b64 %rd10, %rd9, {constant}; st.global.u64 [%rd5+72], %rd10;"
        );
        let (_, code) = small::kernel(&body);
        let logic = code.code.instructions.iter().filter(|i| i.class == Class::Logic);
        logic.map(|i| 1 + i.extra_slots).sum()
    };
    for (op, constant) in
        [("xor", "4"), ("or", "4"), ("and", "-8"), ("and", "4294967288"), ("or", "-4")]
    {
        assert_eq!(slots(op, constant), 1, "{op} {constant}");
    }
    for (op, constant) in [("xor", "-4"), ("xor", "4294967300"), ("and", "4294967300")] {
        assert_eq!(slots(op, constant), 2, "{op} {constant}");
    }
}
