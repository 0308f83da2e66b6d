//! Small functions with 512-bit vectors: what they leave in memory against the same in Rust.

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F32X16, F64X8, I8, I32, I32X16, I64, I64X8};
use cranelift_codegen::ir::{
    AbiParam, AtomicRmwOp, Block, BlockArg, InstBuilder, JumpTableData, MemFlagsData, Signature,
    Type, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::words::{self, MASK, Word};
use crate::blob::Blob;
use crate::clif::{plain, vconst32, vconst64};
use crate::form::word;
use crate::processor;

type B<'a> = FunctionBuilder<'a>;

/// Memory of a test: rows of sixteen words.
#[derive(Clone)]
#[repr(C, align(64))]
struct Rows([[u32; 16]; 96]);

impl Rows {
    /// Numbers of all kinds in the first four rows, random ones up to row 32, zeros behind.
    fn new() -> Rows {
        const EDGES: [u32; 10] =
            [0, 1, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 31, 32, 0x100, 0x3f80_0000, 0xff80_0000];
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 32) as u32
        };
        let mut rows = [[0; 16]; 96];
        for (n, x) in rows[..32].as_flattened_mut().iter_mut().enumerate() {
            let r = next();
            *x = if n < 64 && r & 1 == 0 { EDGES[(r >> 8) as usize % EDGES.len()] } else { r };
        }
        Rows(rows)
    }
    fn longs(&self, row: usize) -> [u64; 8] {
        let r = &self.0[row];
        std::array::from_fn(|n| u64::from(r[2 * n]) | u64::from(r[2 * n + 1]) << 32)
    }
}

/// Code of a function that gets an address and gives a number.
fn compile(body: impl FnOnce(&mut B, Value) -> Value) -> Result<Blob, String> {
    let isa = crate::host::target().map_err(|e| e.to_string())?;
    let mut cx = Context::new();
    cx.func.signature.call_conv = CallConv::SystemV;
    cx.func.signature.params.push(AbiParam::new(I64));
    cx.func.signature.returns.push(AbiParam::new(I64));
    let mut fcx = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut cx.func, &mut fcx);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let at = b.block_params(entry)[0];
    let result = body(&mut b, at);
    b.ins().return_(&[result]);
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    let flags = settings::Flags::new(settings::builder());
    cranelift_codegen::verifier::verify_function(&cx.func, &flags).map_err(|e| e.to_string())?;
    let machine = super::compile(&mut cx, isa, crate::form::Form::AVX512)?;
    Blob::new(&machine.bytes).map_err(|e| e.to_string())
}

/// Calls the function that `body` builds with the address of `rows`.
fn run(rows: &mut Rows, body: impl FnOnce(&mut B, Value) -> Value) -> u64 {
    // The build script asked the processor that compiled; it may not be this one.
    assert!(processor::runs_512_bit_code(), "no AVX-512 as of Ice Lake and Zen 4");
    let blob = compile(body).unwrap_or_else(|e| panic!("{e}"));
    // SAFETY: the function was compiled with this signature and calling convention.
    let f = unsafe { std::mem::transmute::<usize, extern "C" fn(*mut Rows) -> u64>(blob.at(0)) };
    f(rows)
}

fn load(b: &mut B, ty: Type, at: Value, row: usize) -> Value {
    b.ins().load(ty, plain(), at, row as i32 * 64)
}

fn store(b: &mut B, x: Value, at: Value, row: usize) {
    b.ins().store(plain(), x, at, row as i32 * 64);
}

fn zero(b: &mut B) -> Value {
    b.ins().iconst(I64, 0)
}

fn mask(b: &mut B, bits: u16) -> Value {
    b.ins().iconst(MASK, i64::from(bits))
}

/// A mask that is not known when code is made.
fn mask_at(b: &mut B, at: Value, row: usize) -> Value {
    load(b, MASK, at, row)
}

fn cast(b: &mut B, ty: Type, x: Value) -> Value {
    let little = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
    b.ins().bitcast(ty, little, x)
}

type Build = fn(&mut B, [Value; 3]) -> Value;

/// An operation of sixteen words, and what it makes of one.
type OnWords = (&'static str, Build, fn([u32; 3]) -> u32);

const WORDS: &[OnWords] = &[
    ("iadd", |b, [x, y, _]| b.ins().iadd(x, y), |[x, y, _]| x.wrapping_add(y)),
    ("isub", |b, [x, y, _]| b.ins().isub(x, y), |[x, y, _]| x.wrapping_sub(y)),
    ("imul", |b, [x, y, _]| b.ins().imul(x, y), |[x, y, _]| x.wrapping_mul(y)),
    ("band", |b, [x, y, _]| b.ins().band(x, y), |[x, y, _]| x & y),
    ("bor", |b, [x, y, _]| b.ins().bor(x, y), |[x, y, _]| x | y),
    ("bxor", |b, [x, y, _]| b.ins().bxor(x, y), |[x, y, _]| x ^ y),
    ("bnot", |b, [x, ..]| b.ins().bnot(x), |[x, ..]| !x),
    ("ineg", |b, [x, ..]| b.ins().ineg(x), |[x, ..]| x.wrapping_neg()),
    ("iabs", |b, [x, ..]| b.ins().iabs(x), |[x, ..]| (x as i32).unsigned_abs()),
    ("umin", |b, [x, y, _]| b.ins().umin(x, y), |[x, y, _]| x.min(y)),
    ("umax", |b, [x, y, _]| b.ins().umax(x, y), |[x, y, _]| x.max(y)),
    ("smin", |b, [x, y, _]| b.ins().smin(x, y), |[x, y, _]| (x as i32).min(y as i32) as u32),
    ("smax", |b, [x, y, _]| b.ins().smax(x, y), |[x, y, _]| (x as i32).max(y as i32) as u32),
    ("popcnt", |b, [x, ..]| b.ins().popcnt(x), |[x, ..]| x.count_ones()),
    (
        "x & !y",
        |b, [x, y, _]| {
            let y = b.ins().bnot(y);
            b.ins().band(x, y)
        },
        |[x, y, _]| x & !y,
    ),
    (
        "!x & y",
        |b, [x, y, _]| {
            let x = b.ins().bnot(x);
            b.ins().band(x, y)
        },
        |[x, y, _]| !x & y,
    ),
    ("ishl 5", |b, [x, ..]| shifted(b, x, 5, 0), |[x, ..]| x << 5),
    ("ushr 7", |b, [x, ..]| shifted(b, x, 7, 1), |[x, ..]| x >> 7),
    ("sshr 31", |b, [x, ..]| shifted(b, x, 31, 2), |[x, ..]| (x as i32 >> 31) as u32),
    ("rotate 9", |b, [x, ..]| word(b, Word::Rotate, 9, &[x], I32X16), |[x, ..]| x.rotate_left(9)),
    (
        "shl each",
        |b, [x, y, _]| word(b, Word::ShiftEach, 0, &[x, y], I32X16),
        |[x, y, _]| x.checked_shl(y).unwrap_or(0),
    ),
    (
        "shr each",
        |b, [x, y, _]| word(b, Word::ShiftEach, 1, &[x, y], I32X16),
        |[x, y, _]| x.checked_shr(y).unwrap_or(0),
    ),
    (
        "sar each",
        |b, [x, y, _]| word(b, Word::ShiftEach, 2, &[x, y], I32X16),
        |[x, y, _]| (x as i32 >> y.min(31)) as u32,
    ),
    (
        "leading zeros",
        |b, [x, ..]| word(b, Word::LeadingZeros, 0, &[x], I32X16),
        |[x, ..]| x.leading_zeros(),
    ),
    (
        "choice of bits",
        |b, [x, y, z]| word(b, Word::Ternary, 0xca, &[x, y, z], I32X16),
        |[x, y, z]| x & y | !x & z,
    ),
    (
        "blend",
        |b, [x, y, z]| {
            let m = word(b, Word::Compare, words::condition(IntCC::SignedLessThan), &[x, y], MASK);
            word(b, Word::Blend, 0, &[m, y, z], I32X16)
        },
        |[x, y, z]| if (x as i32) < y as i32 { y } else { z },
    ),
    (
        "blend with 0",
        |b, [x, y, z]| {
            let m = word(b, Word::Test, 0, &[x, y], MASK);
            let none = vconst32(b, &[0; 16]);
            word(b, Word::Blend, 0, &[m, z, none], I32X16)
        },
        |[x, y, z]| if x & y != 0 { z } else { 0 },
    ),
    (
        "masks",
        |b, [x, y, z]| {
            let above = words::condition(IntCC::UnsignedGreaterThan);
            let p = word(b, Word::Compare, above, &[x, y], MASK);
            let q = word(b, Word::Signs, 0, &[z], MASK);
            let r = word(b, Word::Test, 0, &[y, z], MASK);
            let not = b.ins().bnot(q);
            let pq = b.ins().band(p, not);
            let m = b.ins().bxor(pq, r);
            let all = mask(b, 0x5a5a);
            let low = b.ins().bor(m, all);
            let m = b.ins().band(low, m);
            word(b, Word::Ones, 0, &[m], I32X16)
        },
        |[x, y, z]| {
            let pq = x > y && (z as i32) >= 0;
            if pq ^ (y & z != 0) { u32::MAX } else { 0 }
        },
    ),
];

fn shifted(b: &mut B, x: Value, n: i64, way: u32) -> Value {
    let n = b.ins().iconst(I32, n);
    match way {
        0 => b.ins().ishl(x, n),
        1 => b.ins().ushr(x, n),
        _ => b.ins().sshr(x, n),
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn operations_on_words() {
    const C: u32 = 0x8000_0013;
    for (name, build, expect) in WORDS {
        let mut m = Rows::new();
        run(&mut m, |b, at| {
            // Operands that somebody else reads too, from memory, and constants.
            let kept = [0, 1, 2].map(|n| load(b, I32X16, at, n));
            let r = build(b, kept);
            store(b, r, at, 40);
            (0..3).for_each(|n| store(b, kept[n], at, 50 + n));
            let once = [0, 1, 2].map(|n| load(b, I32X16, at, n));
            let r = build(b, once);
            store(b, r, at, 41);
            let [x, z] = [0, 2].map(|n| load(b, I32X16, at, n));
            let y = vconst32(b, &[C; 16]);
            let r = build(b, [x, y, z]);
            store(b, r, at, 42);
            let n = b.ins().load(I32, plain(), at, 68);
            let y = b.ins().splat(I32X16, n);
            let r = build(b, [x, y, z]);
            store(b, r, at, 43);
            zero(b)
        });
        for lane in 0..16 {
            let [x, y, z] = [0, 1, 2].map(|n| m.0[n][lane]);
            assert_eq!([50, 51, 52].map(|n| m.0[n][lane]), [x, y, z], "{name} changed an operand");
            let others = [y, y, C, m.0[1][1]];
            for (n, y) in others.into_iter().enumerate() {
                let (got, want) = (m.0[40 + n][lane], expect([x, y, z]));
                assert_eq!(got, want, "{name} of {x:#x}, {y:#x}, {z:#x}, way {n}");
            }
        }
    }
}

/// Chains of these operations with many results that live on: registers are spilled.
#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn random_chains() {
    for seed in 1..=12u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let plan: Vec<(usize, [usize; 3])> =
            (0..52).map(|n| (below(WORDS.len()), std::array::from_fn(|_| below(n + 4)))).collect();
        let mut m = Rows::new();
        run(&mut m, |b, at| {
            let mut values: Vec<Value> = (0..4).map(|n| load(b, I32X16, at, n)).collect();
            for (op, args) in &plan {
                let r = WORDS[*op].1(b, args.map(|a| values[a]));
                values.push(r);
            }
            values.iter().enumerate().for_each(|(n, v)| store(b, *v, at, 40 + n));
            zero(b)
        });
        for lane in 0..16 {
            let mut values: Vec<u32> = (0..4).map(|n| m.0[n][lane]).collect();
            for (op, args) in &plan {
                values.push(WORDS[*op].2(args.map(|a| values[a])));
            }
            let got: Vec<u32> = (0..values.len()).map(|n| m.0[40 + n][lane]).collect();
            assert_eq!(got, values, "chain {seed}, lane {lane}");
        }
    }
}

/// An operation of eight long words.
type OnLongs = (&'static str, Build, fn([u64; 3]) -> u64);

const LONGS: &[OnLongs] = &[
    ("iadd", |b, [x, y, _]| b.ins().iadd(x, y), |[x, y, _]| x.wrapping_add(y)),
    ("isub", |b, [x, y, _]| b.ins().isub(x, y), |[x, y, _]| x.wrapping_sub(y)),
    ("imul", |b, [x, y, _]| b.ins().imul(x, y), |[x, y, _]| x.wrapping_mul(y)),
    ("bnot", |b, [x, ..]| b.ins().bnot(x), |[x, ..]| !x),
    ("ineg", |b, [x, ..]| b.ins().ineg(x), |[x, ..]| x.wrapping_neg()),
    ("umax", |b, [x, y, _]| b.ins().umax(x, y), |[x, y, _]| x.max(y)),
    ("smin", |b, [x, y, _]| b.ins().smin(x, y), |[x, y, _]| (x as i64).min(y as i64) as u64),
    ("ishl 40", |b, [x, ..]| shifted(b, x, 40, 0), |[x, ..]| x << 40),
    ("sshr 33", |b, [x, ..]| shifted(b, x, 33, 2), |[x, ..]| (x as i64 >> 33) as u64),
    ("rotate 33", |b, [x, ..]| word(b, Word::Rotate, 33, &[x], I64X8), |[x, ..]| x.rotate_left(33)),
    (
        "shr each",
        |b, [x, y, _]| word(b, Word::ShiftEach, 1, &[x, y], I64X8),
        |[x, y, _]| if y < 64 { x >> y } else { 0 },
    ),
    (
        "product",
        |b, [x, y, _]| word(b, Word::Product, 0, &[x, y], I64X8),
        |[x, y, _]| u64::from(x as u32) * u64::from(y as u32),
    ),
    (
        "signed product",
        |b, [x, y, _]| word(b, Word::Product, 1, &[x, y], I64X8),
        |[x, y, _]| (i64::from(x as i32) * i64::from(y as i32)) as u64,
    ),
    (
        "blend",
        |b, [x, y, z]| {
            let cc = words::condition(IntCC::UnsignedLessThanOrEqual);
            let m = word(b, Word::Compare, cc, &[x, y], MASK);
            word(b, Word::Blend, 0, &[m, y, z], I64X8)
        },
        |[x, y, z]| if x <= y { y } else { z },
    ),
];

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn operations_on_long_words() {
    // Its halves differ, and its upper half alone is a sign.
    const C: u64 = 0x8000_0000_0000_0025;
    for (name, build, expect) in LONGS {
        let mut m = Rows::new();
        run(&mut m, |b, at| {
            let kept = [0, 1, 2].map(|n| load(b, I64X8, at, n));
            let r = build(b, kept);
            store(b, r, at, 40);
            (0..3).for_each(|n| store(b, kept[n], at, 50 + n));
            let once = [0, 1, 2].map(|n| load(b, I64X8, at, n));
            let r = build(b, once);
            store(b, r, at, 41);
            let [x, z] = [0, 2].map(|n| load(b, I64X8, at, n));
            let y = vconst64(b, &[C; 8]);
            let r = build(b, [x, y, z]);
            store(b, r, at, 42);
            zero(b)
        });
        for lane in 0..8 {
            let [x, y, z] = [0, 1, 2].map(|n| m.longs(n)[lane]);
            for (n, y) in [y, y, C].into_iter().enumerate() {
                let (got, want) = (m.longs(40 + n)[lane], expect([x, y, z]));
                assert_eq!(got, want, "{name} of {x:#x}, {y:#x}, {z:#x}, way {n}");
            }
        }
    }
}

const ORDERS: [IntCC; 10] = [
    IntCC::Equal,
    IntCC::NotEqual,
    IntCC::SignedLessThan,
    IntCC::SignedLessThanOrEqual,
    IntCC::SignedGreaterThan,
    IntCC::SignedGreaterThanOrEqual,
    IntCC::UnsignedLessThan,
    IntCC::UnsignedLessThanOrEqual,
    IntCC::UnsignedGreaterThan,
    IntCC::UnsignedGreaterThanOrEqual,
];

fn ordered(cc: IntCC, x: i64, y: i64) -> bool {
    let (u, v) = (x as u64, y as u64);
    match cc {
        IntCC::Equal => x == y,
        IntCC::NotEqual => x != y,
        IntCC::SignedLessThan => x < y,
        IntCC::SignedLessThanOrEqual => x <= y,
        IntCC::SignedGreaterThan => x > y,
        IntCC::SignedGreaterThanOrEqual => x >= y,
        IntCC::UnsignedLessThan => u < v,
        IntCC::UnsignedLessThanOrEqual => u <= v,
        IntCC::UnsignedGreaterThan => u > v,
        IntCC::UnsignedGreaterThanOrEqual => u >= v,
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn comparisons_of_integers() {
    for cc in ORDERS {
        for ty in [I8, I32, I64] {
            let mut m = Rows::new();
            let at = |n: usize| n as i32 * 8;
            run(&mut m, |b, p| {
                for n in 0..16 {
                    let x = b.ins().load(ty, plain(), p, at(n));
                    let y = b.ins().load(ty, plain(), p, at(n + 8));
                    let c = b.ins().icmp(cc, x, y);
                    let wide = b.ins().uextend(I64, c);
                    b.ins().store(plain(), wide, p, 40 * 64 + at(n));
                    // With a constant on either side, and as a choice.
                    let five = b.ins().iconst(ty, 5);
                    let c = if n % 2 == 0 {
                        b.ins().icmp(cc, x, five)
                    } else {
                        b.ins().icmp(cc, five, x)
                    };
                    let [yes, no] = [3, 4].map(|k| b.ins().iconst(I64, k));
                    let r = b.ins().select(c, yes, no);
                    b.ins().store(plain(), r, p, 48 * 64 + at(n));
                }
                zero(b)
            });
            for n in 0..16 {
                let number = |n: usize| {
                    let x = m.longs(n / 8)[n % 8] as i64;
                    let cut = 64 - ty.bits();
                    x << cut >> cut
                };
                let (x, y) = (number(n), number(n + 8));
                let got = m.longs(40 + n / 8)[n % 8];
                assert_eq!(got, u64::from(ordered(cc, x, y)), "{x:#x} {cc} {y:#x} of {ty}");
                let (a, z) = if n % 2 == 0 { (x, 5) } else { (5, x) };
                let want = if ordered(cc, a, z) { 3 } else { 4 };
                assert_eq!(m.longs(48 + n / 8)[n % 8], want, "choice {a:#x} {cc} {z:#x} of {ty}");
            }
        }
        let mut m = Rows::new();
        run(&mut m, |b, p| {
            for (row, ty) in [(40, I32X16), (41, I64X8)] {
                let [x, y] = [0, 1].map(|n| load(b, ty, p, n));
                let k = word(b, Word::Compare, words::condition(cc), &[x, y], MASK);
                store(b, k, p, row);
            }
            zero(b)
        });
        for n in 0..16 {
            let (x, y) = (m.0[0][n] as i32, m.0[1][n] as i32);
            let want = ordered(cc, x.into(), y.into());
            assert_eq!(m.0[40][0] >> n & 1 != 0, want, "{x:#x} {cc} {y:#x} of lanes");
        }
        for n in 0..8 {
            let (x, y) = (m.longs(0)[n] as i64, m.longs(1)[n] as i64);
            assert_eq!(m.0[41][0] >> n & 1 != 0, ordered(cc, x, y), "{x:#x} {cc} {y:#x} of lanes");
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn comparisons_of_numbers() {
    let values = [1.0f32, f32::NAN, -0.0, 0.0, f32::INFINITY, 2.5, -1.0, 1e-40];
    type Relation = fn(f32, f32) -> bool;
    let table: [(FloatCC, Relation); 8] = [
        (FloatCC::Equal, |x, y| x == y),
        (FloatCC::NotEqual, |x, y| x != y),
        (FloatCC::LessThan, |x, y| x < y),
        (FloatCC::LessThanOrEqual, |x, y| x <= y),
        (FloatCC::GreaterThan, |x, y| x > y),
        (FloatCC::GreaterThanOrEqual, |x, y| x >= y),
        (FloatCC::Ordered, |x, y| !x.is_nan() && !y.is_nan()),
        (FloatCC::Unordered, |x, y| x.is_nan() || y.is_nan()),
    ];
    for (cc, expect) in table {
        for shift in 0..values.len() {
            let mut m = Rows::new();
            for lane in 0..16 {
                m.0[0][lane] = values[lane % 8].to_bits();
                m.0[1][lane] = values[(lane + shift) % 8].to_bits();
            }
            let number = words::float_condition(cc).unwrap();
            let scalar = run(&mut m, |b, p| {
                let [x, y] = [0, 1].map(|n| load(b, F32X16, p, n));
                let k = word(b, Word::CompareFloat, number, &[x, y], MASK);
                store(b, k, p, 40);
                let [x, y] = [0, 1].map(|n| load(b, F32, p, n));
                let c = b.ins().fcmp(cc, x, y);
                let [yes, no] = [3, 4].map(|k| b.ins().iconst(I64, k));
                b.ins().select(c, yes, no)
            });
            for lane in 0..16 {
                let (x, y) = (values[lane % 8], values[(lane + shift) % 8]);
                assert_eq!(m.0[40][0] >> lane & 1 != 0, expect(x, y), "{x} {cc} {y}");
            }
            assert_eq!(scalar == 3, expect(values[0], values[shift]), "scalars {cc}");
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn numbers() {
    type OnNumbers = (&'static str, Build, fn([f32; 3]) -> f32, fn([f64; 3]) -> f64);
    let table: &[OnNumbers] = &[
        ("fadd", |b, [x, y, _]| b.ins().fadd(x, y), |[x, y, _]| x + y, |[x, y, _]| x + y),
        ("fsub", |b, [x, y, _]| b.ins().fsub(x, y), |[x, y, _]| x - y, |[x, y, _]| x - y),
        ("fmul", |b, [x, y, _]| b.ins().fmul(x, y), |[x, y, _]| x * y, |[x, y, _]| x * y),
        ("fdiv", |b, [x, y, _]| b.ins().fdiv(x, y), |[x, y, _]| x / y, |[x, y, _]| x / y),
        ("sqrt", |b, [x, ..]| b.ins().sqrt(x), |[x, ..]| x.sqrt(), |[x, ..]| x.sqrt()),
        (
            "fma",
            |b, [x, y, z]| b.ins().fma(x, y, z),
            |[x, y, z]| x.mul_add(y, z),
            |[x, y, z]| x.mul_add(y, z),
        ),
    ];
    for (name, build, single, double) in table {
        let mut m = Rows::new();
        run(&mut m, |b, p| {
            for (row, ty) in [(40, F32X16), (41, F64X8), (42, F32), (43, F64X8.lane_type())] {
                let args = [0, 1, 2].map(|n| load(b, ty, p, n));
                let r = build(b, args);
                store(b, r, p, row);
            }
            zero(b)
        });
        for n in 0..16 {
            let args = [0, 1, 2].map(|r| f32::from_bits(m.0[r][n]));
            let (got, want) = (f32::from_bits(m.0[40][n]), single(args));
            assert!(same(got.into(), want.into()), "{name} {args:?}: {got}, not {want}");
        }
        for n in 0..8 {
            let args = [0, 1, 2].map(|r| f64::from_bits(m.longs(r)[n]));
            let (got, want) = (f64::from_bits(m.longs(41)[n]), double(args));
            assert!(same(got, want), "{name} {args:?}: {got}, not {want}");
        }
        let (a, b) = (f32::from_bits(m.0[42][0]), f32::from_bits(m.0[40][0]));
        assert!(same(a.into(), b.into()), "{name} of a scalar");
        let (a, b) = (f64::from_bits(m.longs(43)[0]), f64::from_bits(m.longs(41)[0]));
        assert!(same(a, b), "{name} of a scalar of 64 bits");
    }
}

fn same(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn numbers_from_and_to_integers() {
    let mut m = Rows::new();
    run(&mut m, |b, p| {
        let x = load(b, I32X16, p, 0);
        let s = b.ins().fcvt_from_sint(F32X16, x);
        let u = b.ins().fcvt_from_uint(F32X16, x);
        let d = [0, 1].map(|n| word(b, Word::DoubleOfInt, n, &[x], F64X8));
        let f = cast(b, F32X16, x);
        let i = b.ins().fcvt_to_sint_sat(I32X16, f);
        [s, u, d[0], d[1], i].into_iter().enumerate().for_each(|(n, v)| store(b, v, p, 40 + n));
        zero(b)
    });
    for n in 0..16 {
        let x = m.0[0][n];
        assert_eq!(m.0[40][n], (x as i32 as f32).to_bits(), "{x:#x} with its sign");
        assert_eq!(m.0[41][n], (x as f32).to_bits(), "{x:#x} without sign");
        assert_eq!(m.longs(42 + n / 8)[n % 8], f64::from(x as i32).to_bits(), "{x:#x} as f64");
        assert_eq!(m.0[44][n] as i32, f32::from_bits(x) as i32, "{x:#x} cut");
    }
}

mod control;
mod memory;
