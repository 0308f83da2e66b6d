//! `Options::fast_approx`: approximate functions within the bounds of the PTX manual, and special values as it says.

mod common;

use common::{Case, module};
use ptx_jit::{Options, compile};

/// What is right of a number, and by how much a result may be off.
struct Function {
    name: &'static str,
    exact: fn(f64) -> f64,
    /// Of the number and the exact result: the most that a result may differ from it.
    bound: fn(f64, f64) -> f64,
}

/// The least subnormal number.
const LEAST: f64 = 1.0 / (1u128 << 126) as f64 / (1u32 << 23) as f64;

fn relative(exact: f64, power: f64) -> f64 {
    (exact.abs() * power.exp2()).max(LEAST)
}

const FUNCTIONS: [Function; 8] = [
    // A unit in the last place.
    Function { name: "rcp.approx", exact: |x| 1.0 / x, bound: |_, y| relative(y, -23.0) },
    Function { name: "sqrt.approx", exact: f64::sqrt, bound: |_, y| relative(y, -23.0) },
    Function { name: "rsqrt.approx", exact: |x| 1.0 / x.sqrt(), bound: |_, y| relative(y, -22.9) },
    Function { name: "sin.approx", exact: f64::sin, bound: turned },
    Function { name: "cos.approx", exact: f64::cos, bound: turned },
    Function {
        name: "lg2.approx",
        exact: f64::log2,
        bound: |x, y| {
            let near = x > 0.5 && x < 2.0;
            if near { 2f64.powi(-22) } else { relative(y, -22.0) }
        },
    },
    // Two units in the last place.
    Function { name: "ex2.approx", exact: f64::exp2, bound: |_, y| relative(y, -22.0) },
    Function { name: "tanh.approx", exact: f64::tanh, bound: |_, y| relative(y, -11.0) },
];

/// The bounds of sine and cosine, which end at 100 pi.
fn turned(x: f64, _: f64) -> f64 {
    let pi = std::f64::consts::PI;
    match x.abs() {
        x if x <= 2.0 * pi => (-20.5f64).exp2(),
        x if x <= 100.0 * pi => (-14.7f64).exp2(),
        _ => 2.0,
    }
}

/// Numbers of all magnitudes, more of them where functions turn, and the special ones.
fn numbers() -> Vec<u32> {
    let mut all = vec![0, 1, 0x0040_0000, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff];
    all.extend([0x7f80_0000, 0x7fc0_0000, 0x7f80_0001]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for n in 0..40_000u32 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = (state >> 32) as u32;
        // Any bits, then those of numbers from 2^-8 to 2^8.
        all.push(if n % 4 == 0 { word & 0x7fff_ffff } else { word % 0x0800_0000 + 0x3b80_0000 });
    }
    let negative: Vec<u32> = all.iter().map(|x| x | 1 << 31).collect();
    all.extend(negative);
    all.resize(all.len().next_multiple_of(256), 0x3f00_0000);
    all
}

/// The results of compiled code for blocks of so many threads: 1 makes scalars of the lanes.
fn results(body: &str, from: &[u32], block: u32) -> Vec<u32> {
    let body = format!(
        ".reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
        mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.f32 %f1, [%rd4];
        {body} st.global.f32 [%rd5], %f2; ret;"
    );
    let text = module("sm_80", ".param .u64 a, .param .u64 b", &body);
    let blocks = from.len() as u32 / block;
    let mut case = Case::new(&text, "k", [blocks, 1, 1], [block, 1, 1]).unwrap();
    case.words(from.iter().copied());
    case.words(vec![0; from.len()]);
    let fast = Options { fast_approx: true, ..Options::default() };
    let code = compile(&case.program, [block, 1, 1], None, fast).unwrap();
    case.run_compiled(&code).unwrap();
    let bytes = case.copies.bytes(case.buffers[1]);
    bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// `name` of every number: within its bound, and special where the exact result is.
fn check(f: &Function, from: &[u32], block: u32, ftz: bool) {
    let suffix = if ftz { ".ftz" } else { "" };
    let got = results(&format!("{}{suffix}.f32 %f2, %f1;", f.name), from, block);
    let mut worst = 0f64;
    for (x, got) in from.iter().zip(&got) {
        let tell = || format!("{}{suffix} of {x:#x} ({}): {got:#x}", f.name, f32::from_bits(*x));
        let subnormal = x & 0x7f80_0000 == 0;
        let x = if ftz && subnormal { x & 1 << 31 } else { *x };
        let (number, result) = (f64::from(f32::from_bits(x)), f32::from_bits(*got));
        let mut exact = (f.exact)(number);
        if exact.is_nan() {
            assert_eq!(*got, 0x7fff_ffff, "{}", tell());
            continue;
        }
        if ftz && exact != 0.0 && exact.abs() < f64::from(f32::MIN_POSITIVE) {
            assert!(got & 0x7fff_ffff <= 0x0080_0000, "{}", tell());
            continue;
        }
        if exact.abs() > f64::from(f32::MAX) {
            exact = exact.signum() * f64::INFINITY;
        }
        if exact.is_infinite() || exact == 0.0 && number == 0.0 {
            assert_eq!(*got, (exact as f32).to_bits(), "{}", tell());
            continue;
        }
        let off = (f64::from(result) - exact).abs() / (f.bound)(number, exact);
        assert!(off <= 1.0, "{}, {off} of what is allowed", tell());
        worst = worst.max(off);
    }
    assert!(worst > 0.0, "{} was never off: is it approximated?", f.name);
    println!("{}{suffix}, blocks of {block}: {worst:.3} of the bound", f.name);
}

#[test]
fn functions_are_within_their_bounds() {
    let from = numbers();
    for f in &FUNCTIONS {
        for ftz in [false, true] {
            if ftz && f.name == "tanh.approx" {
                continue;
            }
            check(f, &from, 256, ftz);
            check(f, &from[..512], 1, ftz);
        }
    }
}

#[test]
fn quotients_are_within_two_units() {
    let from = numbers();
    for how in ["approx", "full", "approx.ftz", "full.ftz"] {
        for divisor in [3.0f32, 0.7, 1e-30, -7e37] {
            let body = format!("div.{how}.f32 %f2, %f1, 0f{:08x};", divisor.to_bits());
            let got = results(&body, &from, 256);
            for (x, got) in from.iter().zip(&got) {
                let (number, result) = (f32::from_bits(*x), f32::from_bits(*got));
                let exact = f64::from(number) / f64::from(divisor);
                let tiny = |x: f64| x.abs() < f64::from(f32::MIN_POSITIVE);
                if exact.is_nan() {
                    assert_eq!(*got, 0x7fff_ffff);
                } else if exact.abs() > f64::from(f32::MAX) {
                    assert!(result.is_infinite(), "{number} / {divisor}: {result}");
                } else if !how.ends_with("ftz") || !tiny(exact) && !tiny(number.into()) {
                    let off = (f64::from(result) - exact).abs();
                    assert!(off <= relative(exact, -22.0), "{number} / {divisor}: {result}");
                }
            }
        }
    }
}

#[test]
fn only_asked_for_functions_have_code_of_their_own() {
    let text = module(
        "sm_80",
        ".param .u64 a",
        ".reg .f32 %f<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [a]; ld.global.f32 %f1, [%rd1];
        ex2.approx.f32 %f2, %f1; st.global.f32 [%rd1], %f2; ret;",
    );
    let mut case = Case::new(&text, "k", [1; 3], [32, 1, 1]).unwrap();
    case.words([0x3f20_0000; 32]);
    case.compare().unwrap();
}

#[test]
fn again_with_short_vectors() {
    common::again_with_short_vectors("again_with_short_vectors", &[]);
}
