//! What the model makes of small kernels, beside what ptxas 13.5 makes of the same text for sm_90.

#[path = "common/small.rs"]
mod small;

use ptx_isa::Class;
use small::{chain, count, kernel};

/// Loads, each with one that takes the result.
fn sums(count: usize) -> String {
    let load = |i| {
        format!(
            "ld.global.f32 %f{0}, [%rd4+{1}];\nadd.f32 %f1, %f1, %f{0};\n",
            60 + i,
            9000 + 256 * i
        )
    };
    (0..count).map(load).collect()
}

const DIVERGES: &str = "setp.lt.u32 %p1, %r1, %r2;";
const AGREES: &str = "mov.u32 %r9, %ctaid.x; setp.lt.u32 %p1, %r9, %r2;";

/// Whether a branch is left of an if with this body.
fn branches(condition: &str, body: &str) -> bool {
    let (_, code) = kernel(&format!("{condition}\n@!%p1 bra L;\n{body}\nL:"));
    code.code.instructions.iter().any(|i| i.class == Class::Branch && i.guard.is_some())
}

/// 8 instructions, 6 where all lanes go the same way, 20 where one loads from memory that is not shared.
#[test]
fn bodies_become_predicated_up_to_a_size() {
    for (condition, most) in [(DIVERGES, 8), (AGREES, 6)] {
        assert!(!branches(condition, &chain(most)), "{condition} {most}");
        assert!(branches(condition, &chain(most + 1)), "{condition} {most}");
        assert!(!branches(condition, &sums(10)), "{condition}");
        assert!(branches(condition, &sums(11)), "{condition}");
    }
    let shared =
        |count| format!("ld.shared.f32 %f50, [%r5];\nadd.f32 %f1, %f1, %f50;\n{}", chain(count));
    assert!(!branches(DIVERGES, &shared(6)) && branches(DIVERGES, &shared(7)));
    let store = "st.global.f32 [%rd5], %f1;";
    assert!(!branches(DIVERGES, &format!("{}{store}", sums(1))));
    assert!(branches(DIVERGES, &format!("{store}{}", sums(1))));
    assert!(branches(DIVERGES, "red.shared.add.u32 [%r5], 1;"));
}

/// The way around the second side counts with the first.
#[test]
fn both_sides_of_an_if_become_predicated() {
    let branches = |first: usize, second: usize| {
        let (first, second) = (chain(first), chain(second));
        let body = format!("{DIVERGES}\n@!%p1 bra N;\n{first}bra M;\nN:\n{second}M:");
        let (_, code) = kernel(&body);
        code.code.instructions.iter().any(|i| i.class == Class::Branch && i.guard.is_some())
    };
    assert!(!branches(7, 8));
    assert!(branches(8, 8) && branches(7, 9));
}

/// The same with a jump behind the branch, to the side that stands second, as nvcc writes it; a load goes behind the
/// other side's move to its register.
#[test]
fn sides_that_are_jumped_to_become_predicated() {
    let found = |first: &str| {
        let body = format!(
            "{DIVERGES}\n@%p1 bra N;\nbra.uni M;\nN: {first} bra.uni O;\nM: mul.f32 %f3, %f2, %f2;\n\
             O: add.f32 %f1, %f1, %f3;"
        );
        kernel(&body).1.code.instructions
    };
    for (first, writes) in [("ld.global.f32 %f3, [%rd5];", 0), ("add.f32 %f3, %f2, %f1;", 1)] {
        let code = found(first);
        let branch =
            |i: &&ptx_timing::event::Instruction| i.class == Class::Branch && i.guard.is_some();
        assert!(!code.iter().any(|i| branch(&i)), "{first}");
        let other = code.iter().find(|i| i.class == Class::F32Mul).unwrap();
        assert!(other.guard.is_some() && other.writes.len() == writes, "{first}");
    }
}

/// Sums of loaded words, or of products of them, in a loop beside values that live through it: registers of ptxas.
#[test]
fn a_few_loads_are_under_way_whatever_they_cost() {
    let sum = |pairs: bool, words: usize, live: usize| {
        let mut body = String::from("mov.u32 %r8, 0;\n");
        (0..live).for_each(|i| {
            body += &format!("ld.volatile.global.f32 %f{}, [%rd5+{}];\n", 800 + i, 4 * i)
        });
        body += "L:\n";
        let count = if words == 1 { 40 } else { 16 };
        for i in 0..count {
            let mut load = |first: usize, base: &str| {
                let names: Vec<String> = (first..first + words).map(|f| format!("%f{f}")).collect();
                let (vector, list) = match words {
                    1 => (String::new(), names[0].clone()),
                    _ => (format!(".v{words}"), format!("{{{}}}", names.join(", "))),
                };
                body += &format!("ld.global{vector}.f32 {list}, [{base}+{}];\n", 4 * words * i);
                names
            };
            let first = 3 + 2 * words * i;
            let a = load(first, "%rd4");
            if pairs {
                let b = load(first + words, "%rd5");
                a.iter()
                    .zip(&b)
                    .for_each(|(a, b)| body += &format!("fma.rn.f32 %f1, {a}, {b}, %f1;\n"));
            } else {
                a.iter().for_each(|a| body += &format!("add.f32 %f1, %f1, {a};\n"));
            }
        }
        (0..live).for_each(|i| body += &format!("add.f32 %f{0}, %f{0}, %f1;\n", 800 + i));
        body += "add.s64 %rd4, %rd4, 4096; add.s64 %rd5, %rd5, 4096; add.s32 %r8, %r8, 1;\n\
                 setp.lt.u32 %p1, %r8, 1000; @%p1 bra L;\n";
        (0..live).for_each(|i| {
            body += &format!("st.volatile.global.f32 [%rd5+{}], %f{};\n", 4 * i, 800 + i)
        });
        kernel(&body).0
    };
    // Whether products, words of a load, values besides: registers.
    let ptxas = [
        (false, 1, 0, 30),
        (false, 1, 16, 32),
        (false, 1, 24, 40),
        (false, 1, 32, 48),
        (false, 4, 0, 30),
        (false, 4, 16, 40),
        (false, 4, 24, 48),
        (false, 4, 32, 56),
        (true, 1, 0, 30),
        (true, 1, 16, 40),
        (true, 1, 24, 40),
        (true, 1, 32, 56),
        (true, 4, 0, 34),
        (true, 4, 16, 48),
        (true, 4, 24, 56),
        (true, 4, 32, 64),
    ];
    let mut near = 0;
    for (pairs, words, live, real) in ptxas {
        let estimate = sum(pairs, words, live);
        println!("{pairs} {words} {live}: {estimate}, ptxas {real}");
        near += usize::from(estimate.abs_diff(real) <= 4);
    }
    assert!(near >= 14, "{near} of {} within 4", ptxas.len());
}

/// A power of two is scaled, unless it flushes subnormal numbers or its exponent cannot be so small.
#[test]
fn powers_of_two_are_scaled() {
    let classes = |body: &str| -> Vec<Class> {
        let (_, code) = kernel(body);
        let powers = [Class::F32Ex2, Class::F32Scaled];
        code.code.instructions.iter().map(|i| i.class).filter(|c| powers.contains(c)).collect()
    };
    let twice = "ex2.approx.f32 %f3, %f1; ex2.approx.f32 %f1, %f3;";
    assert_eq!(classes("ex2.approx.f32 %f1, %f1;"), [Class::F32Scaled]);
    assert_eq!(classes("ex2.approx.ftz.f32 %f1, %f1;"), [Class::F32Ex2]);
    assert_eq!(classes(twice), [Class::F32Scaled, Class::F32Ex2]);
    for (function, power) in [
        ("add.sat.f32 %f3, %f1, %f2;", Class::F32Ex2),
        ("sin.approx.f32 %f3, %f1;", Class::F32Ex2),
        ("abs.f32 %f3, %f1;", Class::F32Ex2),
        ("sqrt.approx.ftz.f32 %f3, %f1;", Class::F32Scaled),
        ("rsqrt.approx.ftz.f32 %f3, %f1;", Class::F32Scaled),
        ("max.f32 %f3, %f1, 0f00000000;", Class::F32Scaled),
    ] {
        assert_eq!(classes(&format!("{function} ex2.approx.f32 %f1, %f3;")), [power], "{function}");
    }
}

/// Constants whose lower half is not zero take two moves to uniform registers, once in a block; operations on 64 bits
/// take more than those on 32.
#[test]
fn halves_of_64_bits_cost() {
    let more = |body: &str, class: Class| -> Vec<u32> {
        let (_, code) = kernel(body);
        let own = code.code.instructions.iter().filter(|i| i.class == class);
        own.map(|i| i.extra_slots).collect()
    };
    let sums = ".reg .f64 %d<9>; cvt.f64.f32 %d1, %f1; fma.rn.f64 %d2, %d1, %d1, 0d3FE0000000000000;\n\
                fma.rn.f64 %d3, %d2, %d1, 0d3FB999999999999A; fma.rn.f64 %d4, %d3, %d1, 0d3FB999999999999A;\n\
                cvt.rn.f32.f64 %f1, %d4;";
    assert_eq!(more(sums, Class::F64Fma), [0, 2, 0]);
    let used = "cvt.u32.u64 %r70, %rd20; cvt.rn.f32.u32 %f1, %r70;";
    assert_eq!(more(&format!("min.s64 %rd20, %rd3, %rd4; {used}"), Class::IntMinMax), [3]);
    assert_eq!(more("popc.b64 %r70, %rd3; cvt.rn.f32.u32 %f1, %r70;", Class::BitCount), [2]);
    assert_eq!(more("popc.b32 %r70, %r3; cvt.rn.f32.u32 %f1, %r70;", Class::BitCount), [0]);
    // Comparisons and selections, of both halves.
    let chosen = "setp.lt.u64 %p1, %rd3, %rd4; selp.b64 %rd20, %rd4, %rd3, %p1; st.global.u64 [%rd5+8], %rd20;";
    assert_eq!(more(chosen, Class::Compare), [1]);
    assert_eq!(more(chosen, Class::Select), [1]);
}

/// Addresses of shared and of constant memory have room for the base of an array, unless lanes may be absent where it
/// is made.
#[test]
fn accesses_add_the_base_of_an_array() {
    let load = "add.u32 %r61, %r60, %r62; ld.shared.f32 %f1, [%r61]; ld.shared.f32 %f3, [%r61+8]; \
                add.f32 %f1, %f1, %f3;";
    let index = "and.b32 %r62, %r1, 124; ";
    let sums = |body: &str| count(body, Class::IntAdd);
    assert_eq!(sums(&format!("mov.u32 %r60, s; {index}{load}")), 0);
    assert_eq!(
        sums(&format!(
            "{index}setp.lt.u32 %p1, %r1, %r2; @%p1 bra L; mov.u32 %r60, s; {load}\n{}L:",
            chain(12)
        )),
        1
    );
    let scaled = "shl.b32 %r62, %r1, 2; add.u32 %r61, %r60, %r62; ld.shared.f32 %f1, [%r61];";
    assert_eq!(count(&format!("mov.u32 %r60, s; {scaled}"), Class::IntAdd3), 2);
}

/// The base may have a constant with it: the access adds that, too.
#[test]
fn accesses_add_a_place_in_an_array() {
    let place = "and.b32 %r60, %r2, 1020; add.s32 %r61, %r4, 2048; add.s32 %r62, %r61, %r60;";
    let sums = |body: &str| count(body, Class::IntAdd) + count(body, Class::IntAdd3);
    let none = sums("ld.shared.f32 %f1, [%r4];");
    let place = format!(
        "{place} add.s32 %r64, %r61, %r2; ld.shared.f32 %f3, [%r64]; add.f32 %f2, %f2, %f3;"
    );
    assert_eq!(sums(&format!("{place} ld.shared.f32 %f1, [%r62];")), none);
    let kept = format!("{place} ld.shared.f32 %f1, [%r62]; st.global.u32 [%rd4], %r62;");
    assert!(sums(&kept) > none);
}

/// The address of a shared array is computed where the text names it, unless that was done on every way there or is
/// done ahead of an innermost loop. Places are those of ptxas 13.5.
#[test]
fn bases_of_arrays_are_computed() {
    let issued = |body: &str| -> u32 {
        let (_, code) = kernel(body);
        let special = code.code.instructions.iter().filter(|i| i.class == Class::SpecialRegister);
        special.map(|i| 1 + i.extra_slots).sum()
    };
    let plain = issued("");
    let load = "mov.u32 %r60, t; mad.lo.u32 %r61, %r62, 4, %r60; ld.shared.u32 %r62, [%r61];\n";
    let turns = |body: &str| {
        format!(
            "mov.u32 %r62, %r1;\n.pragma \"nounroll\";\nL:\n{body}setp.ne.u32 %p1, %r62, 0;\n@%p1 bra L;\n"
        )
    };
    let some = format!("and.b32 %r63, %r62, 1; setp.eq.u32 %p2, %r63, 0; @%p2 bra M;\n{load}M:\n");
    // The window of the block is there, as `s` is: a sum and a shift.
    assert_eq!(issued(load), plain + 2);
    assert_eq!(issued(&format!("{load}{load}")), plain + 2);
    assert_eq!(issued(&turns(load)), plain, "ahead of the loop");
    assert_eq!(issued(&turns(&some)), plain + 2, "in some turns");
    assert_eq!(issued(&format!("{load}{}", turns(&some))), plain + 2, "ahead on every way");
    let inner = "N:\nadd.u32 %r62, %r62, 3; setp.lt.u32 %p3, %r62, %r2; @%p3 bra N;\n";
    assert_eq!(
        issued(&turns(&format!("{load}{inner}"))),
        plain + 2,
        "in each turn of an outer loop"
    );
}

/// A shift or a product is made again by each sum that reads it, logic by other logic; two shifts that make one word
/// are a funnel shift; distances modulo 32 cost nothing.
#[test]
fn operands_are_made_where_they_are_read() {
    let plain = count("", Class::IntAdd3);
    let shifts = "mov.u32 %r70, %laneid; shl.b32 %r60, %r1, 5; add.u32 %r61, %r60, %r2; sub.u32 %r62, %r60, %r70; \
                  xor.b32 %r63, %r61, %r62; cvt.rn.f32.u32 %f1, %r63;";
    assert_eq!(count(shifts, Class::IntAdd3) - plain, 2);
    assert_eq!(count(shifts, Class::Shift) + count(shifts, Class::ShiftLeft), 0);
    let second = shifts.replace("%r60, %r70", "%r70, %r60");
    assert_eq!(count(&second, Class::Shift) + count(&second, Class::ShiftLeft), 1);
    let products = "mov.u32 %r70, %laneid; mul.lo.u32 %r60, %r1, %r2; add.u32 %r61, %r60, 7; add.u32 %r62, %r60, %r70; \
                    xor.b32 %r63, %r61, %r62; cvt.rn.f32.u32 %f1, %r63;";
    assert_eq!((count(products, Class::IntMul), count(products, Class::IntAdd)), (2, 0));
    let funnel = "shl.b32 %r60, %r1, 7; shr.u32 %r61, %r3, 25; or.b32 %r62, %r60, %r61; cvt.rn.f32.u32 %f1, %r62;";
    let apart = funnel.replace("25", "24");
    assert_eq!((count(funnel, Class::Shift), count(funnel, Class::Logic)), (1, 0));
    assert_eq!(count(&apart, Class::Logic), 1);
    let logic = "xor.b32 %r60, %r1, %r2; and.b32 %r61, %r60, %r3; xor.b32 %r62, %r60, %r3; \
                 add.u32 %r63, %r61, %r62; cvt.rn.f32.u32 %f1, %r63;";
    assert_eq!(count(logic, Class::Logic), 2);
    let distance = "and.b32 %r60, %r1, 31; shl.b32 %r61, %r3, %r60; cvt.rn.f32.u32 %f1, %r61;";
    assert_eq!(count(distance, Class::Logic), 0);
    assert_eq!(count(&distance.replace("31", "15"), Class::Logic), 1);
}

/// Both halves of a product are one, also where signs and the order of factors differ.
#[test]
fn both_halves_of_a_product() {
    let body = "mov.u32 %r60, -845247145; mul.hi.u32 %r61, %r60, %r1; mul.lo.s32 %r62, %r1, -845247145; \
                xor.b32 %r63, %r61, %r62; cvt.rn.f32.u32 %f1, %r63;";
    assert_eq!((count(body, Class::IntMulHi), count(body, Class::IntMul)), (0, 0));
    let other = body.replace("%r1, -845247145", "%r1, 7");
    assert_eq!((count(&other, Class::IntMulHi), count(&other, Class::IntMul)), (1, 1));
}

/// What makes a value for a selection alone is under the predicate, where nothing reads the other value behind it: no
/// selection is left. Not so sums of three, values of 64 bits, halves, and constants.
#[test]
fn selections_become_guarded_instructions() {
    let words = "ld.global.u32 %r70, [%rd4+64]; ld.global.u32 %r71, [%rd4+128]; ld.global.u32 %r72, [%rd4+192]; \
                 ld.global.u32 %r73, [%rd4+256]; setp.lt.u32 %p1, %r72, %r2; shr.u32 %r60, %r70, 1;";
    let selections =
        |body: &str| count(&format!("{words} {body} cvt.rn.f32.u32 %f1, %r61;"), Class::Select);
    for (body, left) in [
        ("xor.b32 %r62, %r60, 7; selp.b32 %r61, %r62, %r60, %p1;", 0),
        ("xor.b32 %r62, %r60, 7; selp.b32 %r61, %r60, %r62, %p1;", 0),
        ("mad.lo.u32 %r62, %r60, %r71, %r73; selp.b32 %r61, %r62, %r73, %p1;", 0),
        ("xor.b32 %r62, %r72, %r71; shr.u32 %r63, %r73, 2; selp.b32 %r61, %r62, %r63, %p1;", 0),
        (
            "add.u32 %r62, %r60, %r71; selp.b32 %r63, %r62, %r60, %p1; xor.b32 %r64, %r63, %r71; \
          selp.b32 %r61, %r64, %r63, %p1;",
            0,
        ),
        (
            "xor.b32 %r62, %r60, %r71; add.u32 %r64, %r60, 7; selp.b32 %r61, %r62, %r60, %p1; \
          xor.b32 %r61, %r61, %r64;",
            0,
        ),
        ("add.u32 %r62, %r60, 1; selp.b32 %r61, %r60, %r62, %p1;", 0),
        ("add.u32 %r62, %r70, 1; selp.b32 %r70, %r62, %r70, %p1; mov.u32 %r61, %r70;", 0),
        ("add.u32 %r62, %r70, 1; selp.b32 %r70, %r62, %r70, %p1; xor.b32 %r61, %r70, %r60;", 0),
        ("add.u32 %r62, %r60, 1; setp.lt.u32 %p1, %r62, %r2; selp.b32 %r61, %r60, %r62, %p1;", 1),
        ("xor.b32 %r62, %r60, %r71; selp.b32 %r63, %r62, %r60, %p1; add.u32 %r61, %r63, %r60;", 1),
        ("add.u32 %r62, %r60, %r71; add.u32 %r63, %r62, %r73; selp.b32 %r61, %r63, %r71, %p1;", 1),
        ("xor.b32 %r62, %r60, %r71; selp.b32 %r61, %r62, -1, %p1;", 1),
        ("shfl.sync.down.b32 %r62, %r60, 1, 31, -1; selp.b32 %r61, %r62, %r60, %p1;", 1),
    ] {
        assert_eq!(selections(body), left, "{body}");
    }
    let long = "ld.global.u64 %rd20, [%rd4+512]; ld.global.u64 %rd21, [%rd4+1024]; add.s64 %rd22, %rd20, %rd21; \
                selp.b64 %rd23, %rd22, %rd20, %p1; cvt.u32.u64 %r61, %rd23;";
    assert!(selections(long) > 0);
}

/// Sums with 1 or 0: the sum with 1, and a guarded move that takes it back. Other selections stay.
#[test]
fn counted_sums_are_taken_back_by_moves() {
    let plain = count("", Class::Move);
    let moves = |body: &str| (count(body, Class::Move) - plain, count(body, Class::Select));
    let counts = "setp.lt.u32 %p1, %r1, %r2; selp.u32 %r60, 1, 0, %p1; add.u32 %r61, %r60, %r1; \
                  cvt.rn.f32.u32 %f1, %r61;";
    assert_eq!(moves(counts), (1, 0));
    assert_eq!(moves(&counts.replace("1, 0, %p1", "3, 0, %p1")), (0, 1));
}

/// `I2FP` of what a load has filled up, with a `PRMT` for each byte of a vector; `I2F.U8` of a mask of the lowest byte.
#[test]
fn bytes_become_floats() {
    let of = |body: &str| {
        let (_, code) = kernel(body);
        let list = code.code.instructions.iter();
        let plain: Vec<u32> = list
            .clone()
            .filter(|i| i.class == Class::ConvertFromInt)
            .map(|i| i.extra_slots)
            .collect();
        (plain, list.filter(|i| i.class == Class::Convert).count(), count(body, Class::Logic))
    };
    let logic = count("", Class::Logic);
    let one = ".reg .u16 %h<4>; ld.global.u8 %h0, [%rd4+64]; cvt.rn.f32.u16 %f1, %h0;";
    assert_eq!(of(one), (vec![0], 0, logic));
    let four = ".reg .u16 %h<4>; ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%rd4+64]; cvt.rn.f32.u16 %f1, %h2;";
    assert_eq!(of(four), (vec![1], 0, logic));
    let made = ".reg .u16 %h<4>; cvt.u16.u32 %h0, %r1; cvt.rn.f32.u16 %f1, %h0;";
    assert_eq!(of(made), (vec![], 1, logic));
    let mask = "and.b32 %r60, %r1, 255; cvt.rn.f32.u32 %f1, %r60;";
    assert_eq!(of(mask), (vec![], 1, logic));
    let second = "shr.u32 %r61, %r1, 8; and.b32 %r60, %r61, 255; cvt.rn.f32.u32 %f1, %r60;";
    assert_eq!(of(second), (vec![0], 0, logic + 1));
}

/// `__float2half2_rn` of a constant is a constant.
#[test]
fn constants_are_computed_by_the_assembler() {
    let half = ".reg .b32 %h<3>; mov.f32 %f3, 0f3F000000;\n\
                {.reg .b16 low; cvt.rn.f16.f32 low, %f3; mov.b32 %h0, {low, low};}\n\
                {.reg .b16 low; cvt.rn.f16.f32 low, %f2; mov.b32 %h1, {low, low};}\n\
                mul.f16x2 %h2, %h0, %h1; mov.b32 %f1, %h2;";
    assert_eq!(count(half, Class::ConvertF16), 1);
}

/// A `wmma` is two products, four of tf32; the fragments of 16-bit floats take four registers, not eight.
#[test]
fn products_of_wmma() {
    let registers =
        |first: u32| (first..first + 8).map(|r| format!("%r{r}")).collect::<Vec<_>>().join(",");
    let floats = (10..18).map(|f| format!("%f{f}")).collect::<Vec<_>>().join(",");
    let [a, b] = [20, 30].map(registers);
    let body = format!(
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{{a}}}, [%rd1], 16;\n\
         wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {{{b}}}, [%rd2], 16;\n\
         wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {{{floats}}}, [%rd1], 16;\n\
         wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {{{floats}}}, {{{a}}}, {{{b}}}, {{{floats}}};\n\
         wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {{{floats}}}, 16;"
    );
    let (_, code) = kernel(&body);
    let product = code.code.instructions.iter().find(|i| i.class == Class::MmaLarge).unwrap();
    assert_eq!((product.units, product.extra_slots), (2, 1));
    let words: u32 = product.reads.iter().map(|r| code.words(*r)).sum();
    assert_eq!(words, 4 + 4 + 8);
}

/// Two instructions round to tf32; where the operand is needed behind them there is a selection, and where something
/// else than a product takes the result, what cuts its bits.
#[test]
fn rounding_to_tf32() {
    let slots = |more: &str| {
        let (_, code) = kernel(&format!(
            ".reg .b32 %w<9>; ld.global.f32 %f10, [%rd4+64]; cvt.rna.tf32.f32 %w0, %f10;\n\
             mov.f32 %f20, 0f00000000; mov.f32 %f21, %f20; mov.f32 %f22, %f20; mov.f32 %f23, %f20;\n\
             mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {{%f20, %f21, %f22, %f23}}, {{%w0, %w0}}, {{%w0}}, \
             {{%f20, %f21, %f22, %f23}}; st.global.v2.f32 [%rd4+256], {{%f20, %f21}}; {more}"
        ));
        let rounds = code.code.instructions.iter().filter(|i| i.class == Class::ConvertTf32);
        rounds.map(|i| i.extra_slots).collect::<Vec<_>>()
    };
    assert_eq!(slots(""), [0]);
    assert_eq!(slots("st.global.f32 [%rd4+64], %f10;"), [1]);
    assert_eq!(slots("st.global.b32 [%rd4+64], %w0;"), [1]);
    assert_eq!(slots("st.global.b32 [%rd4+64], %w0; st.global.f32 [%rd4+96], %f10;"), [2]);
}

/// A constant that is added to an address goes into the access, as inline assembly must write it; another use keeps the
/// sum.
#[test]
fn accesses_add_a_constant_to_their_address() {
    let sums = |body: &str| count(body, Class::IntAdd64) + count(body, Class::IntAdd);
    let none = sums("ld.global.f32 %f1, [%rd4+256];");
    let load = "ld.global.f32 %f1, [%rd20];";
    assert_eq!(sums(&format!("add.s64 %rd20, %rd4, 256; {load}")), none);
    assert_eq!(sums(&format!("add.s64 %rd20, %rd4, 16777216; {load}")), none + 1);
    let used = "cvt.u32.u64 %r70, %rd20; cvt.rn.f32.u32 %f3, %r70; add.f32 %f1, %f1, %f3;";
    assert_eq!(sums(&format!("add.s64 %rd20, %rd4, 256; {load} {used}")), none + 1);
    let matrix = |second: &str| {
        format!(
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r60}}, [%r5]; {second}\n\
             xor.b32 %r63, %r60, %r61; cvt.rn.f32.u32 %f1, %r63;"
        )
    };
    let [own, other] = [
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r61}, [%r5+32];",
        "add.s32 %r62, %r5, 32; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r61}, [%r62];",
    ]
    .map(matrix);
    assert_eq!(sums(&own), sums(&other));
}

/// A shift of 64 bits whose result one sum takes is done by the sum (LEA, LEA.HI.X), as a second sum is (IADD3); a
/// shift that two take is not.
#[test]
fn sums_of_64_bits_take_in_shifts_and_sums() {
    let load = "ld.global.u64 %rd20, [%rd1]; ld.global.u64 %rd21, [%rd1+8];";
    let of = |body: &str| {
        let used = "cvt.u32.u64 %r70, %rd23; shr.u64 %rd24, %rd23, 32; cvt.u32.u64 %r71, %rd24; \
                    xor.b32 %r72, %r70, %r71; cvt.rn.f32.u32 %f1, %r72;";
        let body = format!("{load} {body} {used}");
        (count(&body, Class::Shift64), count(&body, Class::IntAdd64))
    };
    let (shifts, sums) = of("add.s64 %rd23, %rd20, %rd21;");
    assert_eq!(of("shl.b64 %rd22, %rd20, 2; add.s64 %rd23, %rd21, %rd22;"), (shifts, sums));
    assert_eq!(of("add.s64 %rd22, %rd20, %rd1; add.s64 %rd23, %rd21, %rd22;"), (shifts, sums));
    let twice = "shl.b64 %rd22, %rd20, 2; add.s64 %rd25, %rd21, %rd22; add.s64 %rd26, %rd20, %rd22; \
                 xor.b64 %rd23, %rd25, %rd26;";
    assert_eq!(of(twice), (shifts + 1, sums + 1));
}

/// What conversions become, as ptxas 13.5 for sm_90 has it.
#[test]
fn conversions_by_what_they_become() {
    let (to_half, half) = ("cvt.rn.f16.f32 h, %f2;", ".reg .b16 h;");
    for (text, class) in [
        ("cvt.sat.f32.f32 %f1, %f2;", Class::F32Add),
        ("cvt.rni.f32.f32 %f1, %f2;", Class::Convert),
        (&format!("{{{half} {to_half} cvt.f32.f16 %f1, h;}}"), Class::F16Single),
        ("{.reg .b32 w; cvt.rna.tf32.f32 w, %f2; mov.b32 %f1, w;}", Class::ConvertTf32),
        ("{.reg .b32 w; cvt.rn.f16x2.f32 w, %f2, %f1; mov.b32 %f1, w;}", Class::ConvertF16),
        ("cvt.sat.u8.s32 %r60, %r1; cvt.rn.f32.u32 %f1, %r60;", Class::ConvertSaturating),
        (&format!("{{{half} cvt.rzi.s16.f32 h, %f2; cvt.rn.f32.s16 %f1, h;}}"), Class::Convert),
    ] {
        assert!(count(text, class) > count("", class), "{text}");
    }
}

/// What reads the address of a shared array waits for it.
#[test]
fn addresses_wait_for_the_base_of_an_array() {
    let body = "mov.u32 %r60, t; mad.lo.u32 %r61, %r1, 4, %r60; ld.shared.f32 %f1, [%r61+4]; \
                add.u32 %r62, %r61, 1; st.global.u32 [%rd4], %r62;";
    let (_, code) = kernel(body);
    let list = &code.code.instructions;
    let base =
        list.iter().rfind(|i| i.class == Class::SpecialRegister && i.extra_slots > 0).unwrap();
    assert!(list.iter().any(|i| i.class == Class::IntMul && i.reads.contains(&base.writes[0])));
}
