//! Small functions with vectors of 512 bits and of 256: what they leave in memory against the same in Rust.

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F32X16, F64, I8, I32, I32X16, I64, I64X8};
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
use crate::form::{Form, word};
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
fn compile(form: Form, body: impl FnOnce(&mut B, Value) -> Value) -> Result<Blob, String> {
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
    let machine = super::compile(&mut cx, isa, form)?;
    Blob::new(&machine.bytes).map_err(|e| e.to_string())
}

/// Calls the function that `body` builds with the address of `rows`.
fn run(rows: &mut Rows, body: impl FnOnce(&mut B, Value) -> Value) -> u64 {
    run_as(Form::AVX512, rows, body)
}

/// The same with vectors of a form.
fn run_as(form: Form, rows: &mut Rows, body: impl FnOnce(&mut B, Value) -> Value) -> u64 {
    // The build script asked the processor that compiled; it may not be this one.
    if form == Form::AVX512 {
        assert!(processor::runs_512_bit_code(), "no AVX-512 as of Ice Lake and Zen 4");
    }
    assert!(processor::runs_256_bit_code(), "no AVX2 as of Haswell and Zen");
    let blob = compile(form, body).unwrap_or_else(|e| panic!("{e}"));
    // SAFETY: the function was compiled with this signature and calling convention.
    let f = unsafe { std::mem::transmute::<usize, extern "C" fn(*mut Rows) -> u64>(blob.at(0)) };
    f(rows)
}

/// The forms that this processor runs.
fn forms() -> Vec<Form> {
    let all =
        [(processor::runs_256_bit_code(), Form::AVX2), (cfg!(runs_512_bit_code), Form::AVX512)];
    all.into_iter().filter(|(here, _)| *here).map(|(_, form)| form).collect()
}

/// The vectors of a row, which has 64 bytes.
fn parts(form: Form) -> i32 {
    64 / form.bytes()
}

/// Vectors of a form, at their places in a row of words.
fn load_part(b: &mut B, ty: Type, at: Value, row: usize, part: i32) -> Value {
    b.ins().load(ty, plain(), at, row as i32 * 64 + part * ty.bytes() as i32)
}

fn store_part(b: &mut B, x: Value, at: Value, row: usize, part: i32) {
    let bytes = b.func.dfg.value_type(x).bytes() as i32;
    b.ins().store(plain(), x, at, row as i32 * 64 + part * bytes);
}

/// A word whose result has the type of its last operand.
fn like(b: &mut B, w: Word, number: u32, args: &[Value]) -> Value {
    let ty = b.func.dfg.value_type(args[args.len() - 1]);
    word(b, w, number, args, ty)
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
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
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
    for form in forms() {
        for (name, build, single, double) in table {
            let mut m = Rows::new();
            run_as(form, &mut m, |b, p| {
                for (row, ty) in [(40, form.f32()), (41, form.f64())] {
                    for part in 0..parts(form) {
                        let args = [0, 1, 2].map(|n| load_part(b, ty, p, n, part));
                        let r = build(b, args);
                        store_part(b, r, p, row, part);
                    }
                }
                for (row, ty) in [(42, F32), (43, F64)] {
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
}

fn same(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn numbers_from_and_to_integers() {
    for form in forms() {
        let mut m = Rows::new();
        // Limits of both kinds of integers, and what no integer is.
        let edges = [31, 32].map(|n| 2f32.powi(n));
        let below = edges.map(|x| f32::from_bits(x.to_bits() - 1));
        let edges = [edges, below, edges.map(|x| -x), [f32::NAN, f32::INFINITY]];
        for (n, x) in edges.as_flattened().iter().enumerate() {
            m.0[1][n] = x.to_bits();
        }
        run_as(form, &mut m, |b, p| {
            for part in 0..parts(form) {
                let x = load_part(b, form.w(), p, 0, part);
                let s = b.ins().fcvt_from_sint(form.f32(), x);
                let u = b.ins().fcvt_from_uint(form.f32(), x);
                let d = [0, 1].map(|n| word(b, Word::DoubleOfInt, n, &[x], form.f64()));
                store_part(b, s, p, 40, part);
                store_part(b, u, p, 41, part);
                (0..2).for_each(|n| store_part(b, d[n as usize], p, 42, 2 * part + n));
                for row in [0, 1] {
                    let f = load_part(b, form.f32(), p, row, part);
                    let i = b.ins().fcvt_to_sint_sat(form.w(), f);
                    let n = b.ins().fcvt_to_uint_sat(form.w(), f);
                    store_part(b, i, p, 44 + 2 * row, part);
                    store_part(b, n, p, 45 + 2 * row, part);
                }
            }
            for n in 0..4 {
                let x = b.ins().load(I32, plain(), p, 4 * n);
                let u = b.ins().fcvt_from_uint(F32, x);
                b.ins().store(plain(), u, p, 50 * 64 + 4 * n);
            }
            zero(b)
        });
        for n in 0..16 {
            let x = m.0[0][n];
            assert_eq!(m.0[40][n], (x as i32 as f32).to_bits(), "{x:#x} with its sign");
            assert_eq!(m.0[41][n], (x as f32).to_bits(), "{x:#x} without sign");
            assert_eq!(m.longs(42 + n / 8)[n % 8], f64::from(x as i32).to_bits(), "{x:#x} as f64");
            for row in [0, 1] {
                let x = f32::from_bits(m.0[row][n]);
                assert_eq!(m.0[44 + 2 * row][n] as i32, x as i32, "{x} cut");
                assert_eq!(m.0[45 + 2 * row][n], x as u32, "{x} cut without sign");
            }
        }
        for n in 0..4 {
            assert_eq!(m.0[50][n], (m.0[0][n] as f32).to_bits(), "a scalar");
        }
    }
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn numbers_of_both_sizes() {
    let singles = [0.1f32, -0.0, f32::INFINITY, 1e-40, 3e38, 2147483520.0, -7.75, 0.5];
    let doubles =
        [0.1f64, -1e-50, 1e300, -2147483648.0, -2147483649.0, 2147483647.9, -7.75, f64::NAN];
    for form in forms() {
        let mut m = Rows::new();
        for n in 0..16 {
            m.0[0][n] = singles[n % 8].to_bits();
            let [low, high] =
                [0, 32].map(|by| (doubles[(n + 3 * (n / 8)) % 8].to_bits() >> by) as u32);
            (m.0[1 + n / 8][2 * (n % 8)], m.0[1 + n / 8][2 * (n % 8) + 1]) = (low, high);
        }
        run_as(form, &mut m, |b, p| {
            for part in 0..parts(form) {
                let x = load_part(b, form.w(), p, 0, part);
                let halves = [0, 1].map(|n| load_part(b, form.d(), p, 1, 2 * part + n));
                for n in [0, 1] {
                    let d = word(b, Word::DoubleOfSingle, n, &[x], form.d());
                    store_part(b, d, p, 40, 2 * part + n as i32);
                }
                let single = word(b, Word::SingleOfDoubles, 0, &halves, form.w());
                let int = word(b, Word::IntOfDoubles, 0, &halves, form.w());
                store_part(b, single, p, 42, part);
                store_part(b, int, p, 43, part);
            }
            for n in 0..8 {
                let x = b.ins().load(F32, plain(), p, 4 * n);
                let (long, cut) = (b.ins().fpromote(F64, x), b.ins().trunc(x));
                b.ins().store(plain(), long, p, 50 * 64 + 8 * n);
                b.ins().store(plain(), cut, p, 52 * 64 + 4 * n);
                let x = b.ins().load(F64, plain(), p, 64 + 8 * n);
                let (short, cut) = (b.ins().fdemote(F32, x), b.ins().trunc(x));
                b.ins().store(plain(), short, p, 53 * 64 + 4 * n);
                b.ins().store(plain(), cut, p, 51 * 64 + 8 * n);
            }
            zero(b)
        });
        for n in 0..16 {
            let x = f32::from_bits(m.0[0][n]);
            assert_eq!(m.longs(40 + n / 8)[n % 8], f64::from(x).to_bits(), "{x} as f64");
            let x = f64::from_bits(m.longs(1 + n / 8)[n % 8]);
            assert_eq!(m.0[42][n], (x as f32).to_bits(), "{x} as f32");
            let int = if x.trunc() == f64::from(x as i32) { x as i32 } else { i32::MIN };
            assert_eq!(m.0[43][n] as i32, int, "{x} cut");
        }
        for n in 0..8 {
            let (x, y) = (f32::from_bits(m.0[0][n]), f64::from_bits(m.longs(1)[n]));
            assert_eq!(m.longs(50)[n], f64::from(x).to_bits(), "{x}, a scalar, as f64");
            assert_eq!(m.0[52][n], x.trunc().to_bits(), "{x}, a scalar, without its fraction");
            assert_eq!(m.0[53][n], (y as f32).to_bits(), "{y}, a scalar, as f32");
            assert_eq!(m.longs(51)[n], y.trunc().to_bits(), "{y}, a scalar, without its fraction");
        }
    }
}

mod control;
mod memory;
mod operations;
mod vector_masks;
