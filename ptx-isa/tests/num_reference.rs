//! Every exact floating-point form against big-integer arithmetic on random operands.
//!
//! `NUM_OPERANDS` sets how many operands each form gets (2,000 unless told); `NUM_SEED` the seed.

#[path = "num/exact.rs"]
mod exact;

use std::sync::atomic::{AtomicU64, Ordering};

use exact::{BF16, F16, F32, F64, Fmt, Num, TF32};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use ptx_isa::num::cmp::{self, Rel};
use ptx_isa::num::cvt::{self, Ty};
use ptx_isa::num::half::{self, Clamp, Half};
use ptx_isa::num::narrow::{self, Mods, Narrow};
use ptx_isa::num::{Rnd, fp32, fp64};

const RNDS: [Rnd; 4] = [Rnd::Rn, Rnd::Rz, Rnd::Rm, Rnd::Rp];

struct Rng(u64);

impl Rng {
    fn new(salt: &str) -> Self {
        let seed = std::env::var("NUM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1u64);
        let hash = salt.bytes().fold(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(hash | 1)
    }
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }
    /// A finite number: raw bits, near the ends of the range, or near one; plain fractions often.
    fn float(&mut self, f: Fmt) -> u64 {
        loop {
            let fields = 1u64 << f.e;
            let field = match self.below(8) {
                0 | 1 => self.below(fields),
                2 | 3 => self.below(4),
                4 => fields - 2 - self.below(3),
                _ => (fields / 2 - 1 + self.below(40)).wrapping_sub(20).min(fields - 2),
            };
            let ones = (1u64 << f.f) - 1;
            let frac = match self.below(8) {
                0 => 0,
                1 => ones,
                2 => 1,
                3 => 1 << self.below(f.f.into()),
                4 => ones << self.below(f.f.into()) & ones,
                _ => self.next() & ones,
            };
            let b = (self.next() & 1) << (f.e + f.f) | field << f.f | frac;
            if f.finite(b) {
                return b;
            }
        }
    }
    fn int(&mut self) -> u64 {
        let v = self.next() >> self.below(64);
        match self.below(4) {
            0 => v.wrapping_neg(),
            1 => (1u64 << self.below(64)).wrapping_add(self.below(5)).wrapping_sub(2),
            2 => v.wrapping_add(1 << self.below(64)),
            _ => v,
        }
    }
}

fn operands() -> u64 {
    std::env::var("NUM_OPERANDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2000)
}

static FORMS: AtomicU64 = AtomicU64::new(0);

/// Runs one form over its operands.
fn form(name: &str, mut one: impl FnMut(&mut Rng) -> Option<(u64, u64, String)>) {
    let mut rng = Rng::new(name);
    let mut done = 0;
    for _ in 0..operands() {
        if let Some((want, got, ops)) = one(&mut rng) {
            assert_eq!(got, want, "{name}({ops}): computed {got:#x}, exact {want:#x}");
            done += 1;
        }
    }
    assert!(done * 4 > operands(), "{name}: only {done} operands were usable");
    FORMS.fetch_add(1, Ordering::Relaxed);
}

fn flushed(f: Fmt, b: u64) -> u64 {
    if b & f.inf() == 0 { b & f.sign() } else { b }
}

/// The expected bits: rounding, `.ftz`, then the clamp.
fn expect(f: Fmt, rnd: Rnd, ftz: bool, clamp: Clamp, n: &Num) -> u64 {
    let (bits, tiny) = exact::round(f, rnd, n);
    let bits = if ftz && tiny { bits & f.sign() } else { bits };
    let one = (f.bias() as u64) << f.f;
    match clamp {
        Clamp::None => bits,
        _ if bits & f.sign() != 0 => 0,
        Clamp::Sat if bits > one => one,
        _ => bits,
    }
}

/// A third operand or a second that puts the result near a boundary, half of the time.
fn aim(rng: &mut Rng, f: Fmt, n: &Num) -> u64 {
    match rng.below(4) {
        0 | 1 => rng.float(f),
        k => {
            let b = exact::round(f, Rnd::Rz, n).0;
            let b = if f.finite(b) { b } else { 0 };
            let near = b.wrapping_add(rng.below(3)).wrapping_sub(k - 2);
            if f.finite(near) { near } else { b }
        }
    }
}

/// Operands for `n`-operand arithmetic in format `f`, some near cancellation or underflow.
fn tuple(rng: &mut Rng, f: Fmt, op: &str, ftz: bool) -> ([u64; 3], [Num; 3]) {
    let a = rng.float(f);
    let va = exact::value(f, a);
    let least = exact::value(f, 1 << f.f);
    let b = match op {
        "add" => aim(rng, f, &exact::negate(&va)),
        "sub" => aim(rng, f, &va),
        "mul" | "fma" if !va.m.is_zero() => aim(rng, f, &exact::div(&least, &va)),
        "div" if !va.m.is_zero() => {
            let q = exact::div(&va, &least);
            aim(rng, f, &q)
        }
        _ => rng.float(f),
    };
    let product = exact::mul(&va, &exact::value(f, b));
    let c = if op == "fma" { aim(rng, f, &exact::negate(&product)) } else { 0 };
    let ops = [a, b, c];
    (ops, ops.map(|v| exact::value(f, if ftz { flushed(f, v) } else { v })))
}

fn apply(op: &str, rnd: Rnd, v: &[Num; 3]) -> Option<Num> {
    Some(match op {
        "add" => exact::add(&v[0], &v[1], rnd),
        "sub" => exact::add(&v[0], &exact::negate(&v[1]), rnd),
        "mul" => exact::mul(&v[0], &v[1]),
        "fma" => exact::add(&exact::mul(&v[0], &v[1]), &v[2], rnd),
        "div" if !v[1].m.is_zero() => exact::div(&v[0], &v[1]),
        "rcp" if !v[0].m.is_zero() => exact::div(&exact::int(1), &v[0]),
        "sqrt" if !v[0].m.is_negative() => exact::sqrt(&v[0]),
        _ => return None,
    })
}

#[test]
fn f32_arithmetic() {
    for op in ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"] {
        for rnd in RNDS {
            for (ftz, sat) in [(false, false), (true, false), (false, true), (true, true)] {
                if sat && matches!(op, "div" | "rcp" | "sqrt") {
                    continue;
                }
                form(&format!("{op}.{rnd:?}.f32 ftz={ftz} sat={sat}"), |rng| {
                    let (ops, v) = tuple(rng, F32, op, ftz);
                    let clamp = if sat { Clamp::Sat } else { Clamp::None };
                    let want = expect(F32, rnd, ftz, clamp, &apply(op, rnd, &v)?);
                    let [a, b, c] = ops.map(|v| v as u32);
                    let got = match op {
                        "add" => fp32::add(rnd, ftz, sat, a, b),
                        "sub" => fp32::sub(rnd, ftz, sat, a, b),
                        "mul" => fp32::mul(rnd, ftz, sat, a, b),
                        "fma" => {
                            let r = fp32::fma::<false>(rnd, ftz, sat, a, b, c);
                            assert_eq!(r, fp32::fma::<true>(rnd, ftz, sat, a, b, c), "{ops:x?}");
                            r
                        }
                        "div" => fp32::div(rnd, ftz, a, b),
                        "rcp" => fp32::rcp(rnd, ftz, a),
                        _ => fp32::sqrt(rnd, ftz, a),
                    };
                    Some((want, got.into(), format!("{ops:x?}")))
                });
            }
        }
    }
    form("mad.f32 sm_1x", |rng| {
        let (ops, v) = tuple(rng, F32, "fma", true);
        let [a, b, c] = ops.map(|v| v as u32);
        let got = fp32::mad_1x(a, b, c);
        let mut p = exact::mul(&v[0], &v[1]);
        if v[2].m.is_zero() {
            let rounded = expect(F32, Rnd::Rn, true, Clamp::None, &p);
            p = if F32.finite(rounded) { exact::value(F32, rounded) } else { return None };
        } else {
            // Keep 24 bits.
            let drop = p.m.bits().saturating_sub(24);
            p.m = BigInt::from_biguint(p.m.sign(), p.m.magnitude() >> drop);
            p.x += drop as i64;
        }
        let sum = exact::add(&p, &v[2], Rnd::Rn);
        let want = expect(F32, Rnd::Rn, true, Clamp::None, &sum);
        Some((want, got.into(), format!("{ops:x?}")))
    });
}

#[test]
fn f64_arithmetic() {
    for op in ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"] {
        for rnd in RNDS {
            form(&format!("{op}.{rnd:?}.f64"), |rng| {
                let (ops, v) = tuple(rng, F64, op, false);
                let want = expect(F64, rnd, false, Clamp::None, &apply(op, rnd, &v)?);
                let [a, b, c] = ops;
                let got = match op {
                    "add" => fp64::add(rnd, a, b),
                    "sub" => fp64::sub(rnd, a, b),
                    "mul" => fp64::mul(rnd, a, b),
                    "fma" => {
                        let r = fp64::fma::<false>(rnd, a, b, c);
                        assert_eq!(r, fp64::fma::<true>(rnd, a, b, c), "{ops:x?}");
                        r
                    }
                    "div" => fp64::div(rnd, a, b),
                    "rcp" => fp64::rcp(rnd, a),
                    _ => fp64::sqrt(rnd, a),
                };
                Some((want, got, format!("{ops:x?}")))
            });
        }
    }
}

#[test]
fn half_arithmetic() {
    for (k, f) in [(Half::F16, F16), (Half::Bf16, BF16)] {
        for op in ["add", "sub", "mul", "fma"] {
            for clamp in [Clamp::None, Clamp::Sat, Clamp::Relu] {
                for ftz in [false, true] {
                    form(&format!("{op}.{k:?} ftz={ftz} {clamp:?}"), |rng| {
                        let (ops, v) = tuple(rng, f, op, ftz);
                        let want = expect(f, Rnd::Rn, ftz, clamp, &apply(op, Rnd::Rn, &v)?);
                        let [a, b, c] = ops.map(|v| v as u32);
                        let got = match op {
                            "add" => half::add(k, ftz, clamp, a, b),
                            "sub" => half::sub(k, ftz, clamp, a, b),
                            "mul" => half::mul(k, ftz, clamp, a, b),
                            _ => half::fma(k, ftz, clamp, a, b, c),
                        };
                        Some((want, got.into(), format!("{ops:x?}")))
                    });
                }
            }
        }
    }
}

const FLOATS: [(Ty, Fmt); 4] = [(Ty::F16, F16), (Ty::Bf16, BF16), (Ty::F32, F32), (Ty::F64, F64)];

#[test]
fn conversions_between_floats() {
    for (dst, df) in FLOATS {
        for (src, sf) in FLOATS {
            for rnd in RNDS {
                for ftz in [false, true] {
                    if ftz && dst != Ty::F32 && src != Ty::F32 {
                        continue;
                    }
                    form(&format!("cvt.{rnd:?}.{dst:?}.{src:?} ftz={ftz}"), |rng| {
                        let a = rng.float(sf);
                        let x = if ftz && src == Ty::F32 { flushed(sf, a) } else { a };
                        let n = exact::value(sf, x);
                        let (want, got) = if dst == src {
                            let mut i = exact::int(0);
                            i.m = exact::integral(&n, rnd);
                            i.neg = n.neg;
                            let want = expect(df, Rnd::Rn, false, Clamp::None, &i);
                            (want, cvt::round_float(dst, rnd, ftz, false, a))
                        } else {
                            let flush = ftz && dst == Ty::F32;
                            let want = expect(df, rnd, flush, Clamp::None, &n);
                            (want, cvt::float_to_float(dst, src, rnd, ftz, false, a))
                        };
                        Some((want, got, format!("{a:x}")))
                    });
                }
            }
        }
    }
    for rnd in [Rnd::Rn, Rnd::Rz, Rnd::Rna] {
        form(&format!("cvt.{rnd:?}.tf32.f32"), |rng| {
            let a = rng.float(F32);
            let want = exact::round(TF32, rnd, &exact::value(F32, a)).0 << 13;
            Some((want, cvt::f32_to_tf32(rnd, false, false, a as u32).into(), format!("{a:x}")))
        });
    }
}

const INTS: [Ty; 8] = [Ty::U8, Ty::U16, Ty::U32, Ty::U64, Ty::S8, Ty::S16, Ty::S32, Ty::S64];

fn range(t: Ty) -> (i128, i128) {
    let w = t.bits();
    if t.is_signed() { (-(1 << (w - 1)), (1 << (w - 1)) - 1) } else { (0, (1 << w) - 1) }
}

#[test]
fn conversions_with_integers() {
    for t in INTS {
        for (ft, f) in FLOATS {
            for rnd in RNDS {
                form(&format!("cvt.{rnd:?}.{ft:?}.{t:?}"), |rng| {
                    let a = rng.int();
                    let v = cvt::extend(t, a);
                    let v = if t.is_signed() { i128::from(v as i64) } else { i128::from(v) };
                    let want = exact::round(f, rnd, &exact::int(v)).0;
                    Some((want, cvt::int_to_float(ft, t, rnd, false, a), format!("{a:x}")))
                });
                form(&format!("cvt.{rnd:?}i.{t:?}.{ft:?}"), |rng| {
                    // Mostly numbers in and around the range.
                    let a = if rng.below(2) == 0 {
                        rng.float(f)
                    } else {
                        let mut n = exact::int(i128::from(rng.int() as i64));
                        n.x -= rng.below(4) as i64;
                        let b = exact::round(f, Rnd::Rz, &n).0;
                        if f.finite(b) { b } else { 0 }
                    };
                    let (lo, hi) = range(t);
                    let i = exact::integral(&exact::value(f, a), rnd);
                    let i = i.clamp(BigInt::from(lo), BigInt::from(hi));
                    let want = i128::try_from(i).expect("in range") as u64;
                    Some((want, cvt::float_to_int(t, ft, rnd, false, a), format!("{a:x}")))
                });
            }
        }
        for s in INTS {
            form(&format!("cvt.sat.{t:?}.{s:?}"), |rng| {
                let a = rng.int();
                let v = cvt::extend(s, a);
                let v = if s.is_signed() { i128::from(v as i64) } else { i128::from(v) };
                let (lo, hi) = range(t);
                let want = v.clamp(lo, hi) as u64;
                assert_eq!(cvt::int_to_int(t, s, false, a), cvt::extend(t, v as u64));
                Some((want, cvt::int_to_int(t, s, true, a), format!("{a:x}")))
            });
        }
    }
}

#[test]
fn narrow_formats() {
    let formats = [
        (Narrow::E4m3, 4, 3, 0x7e),
        (Narrow::E5m2, 5, 2, 0x7b),
        (Narrow::E2m3, 2, 3, 0x1f),
        (Narrow::E3m2, 3, 2, 0x1f),
        (Narrow::E2m1, 2, 1, 0x7),
        (Narrow::Ue5m3, 5, 3, 0xfe),
    ];
    for (n, e, f, max) in formats {
        // One exponent bit more than the format has, so that the reference goes past its end.
        let wide = Fmt { e: e + 1, f };
        let shift = (wide.bias() - Fmt { e, f }.bias()) as u64;
        let unsigned = n == Narrow::Ue5m3;
        for rnd in [Rnd::Rn, Rnd::Rz, Rnd::Rp] {
            form(&format!("cvt.{rnd:?}.{n:?}.f32"), |rng| {
                let a = rng.float(F32);
                let v = exact::value(F32, a);
                let below_least = v.m.bits() as i64 + v.x < 2 - Fmt { e, f }.bias();
                let got = narrow::from_f32(n, rnd, Mods::default(), None, a as u32);
                let back = narrow::to_f32(n, got);
                if below_least || unsigned && v.neg {
                    // Subnormal results: the neighbours decide.
                    return check_neighbours(n, rnd, a, got, back);
                }
                let r = exact::round(wide, rnd, &v).0;
                let mag = (r & (wide.sign() - 1)).saturating_sub(shift << f).min(max);
                let want = mag | u64::from(v.neg) << (e + f);
                Some((want, got.into(), format!("{a:x}")))
            });
        }
        for code in 0..1u32 << n.bits() {
            let x = narrow::to_f32(n, code);
            if !f32::from_bits(x).is_nan() && !f32::from_bits(x).is_infinite() {
                assert_eq!(narrow::from_f32(n, Rnd::Rn, Mods::default(), None, x), code, "{n:?}");
            }
        }
    }
}

/// Checks a conversion by the distances to the neighbouring codes, which are exact in `f64`.
fn check_neighbours(
    n: Narrow,
    rnd: Rnd,
    a: u64,
    got: u32,
    back: u32,
) -> Option<(u64, u64, String)> {
    let (x, r) = (f64::from(f32::from_bits(a as u32)), f64::from(f32::from_bits(back)));
    if n == Narrow::Ue5m3 && x < 0.0 {
        return Some((0, got.into(), format!("{a:x}")));
    }
    let step = f64::from(f32::from_bits(narrow::to_f32(n, 1)));
    let err = x - r;
    let ok = match rnd {
        Rnd::Rn => err.abs() < step / 2.0 || err.abs() == step / 2.0 && got & 1 == 0,
        Rnd::Rz => r.abs() <= x.abs() && x.abs() < r.abs() + step,
        _ => r >= x && r - step < x,
    };
    assert!(ok, "cvt.{rnd:?}.{n:?}.f32({a:#x}) = {got:#x}");
    Some((got.into(), got.into(), String::new()))
}

#[test]
fn orderings() {
    for (rel, name) in cmp::RELS.map(|(n, r)| (r, n)) {
        form(&format!("setp.{name}"), |rng| {
            let (a, b) = (rng.float(F64), rng.float(F64));
            let b = if rng.below(3) == 0 { a } else { b };
            let d =
                exact::add(&exact::value(F64, a), &exact::negate(&exact::value(F64, b)), Rnd::Rn);
            let (lt, eq) = (d.m.is_negative(), d.m.is_zero());
            let want = match rel {
                Rel::Eq | Rel::Equ => eq,
                Rel::Ne | Rel::Neu => !eq,
                Rel::Lt | Rel::Ltu => lt,
                Rel::Le | Rel::Leu => lt || eq,
                Rel::Gt | Rel::Gtu => !lt && !eq,
                Rel::Ge | Rel::Geu => !lt,
                Rel::Num => true,
                Rel::Nan => false,
            };
            Some((want.into(), cmp::f64(rel, a, b).into(), format!("{a:x} {b:x}")))
        });
    }
    for max in [false, true] {
        for (t, f) in FLOATS {
            form(&format!("min_max.{t:?} {max}"), |rng| {
                let (a, b) = (rng.float(f), rng.float(f));
                let d =
                    exact::add(&exact::value(f, a), &exact::negate(&exact::value(f, b)), Rnd::Rn);
                // -0 is below +0.
                let less = d.m.is_negative() || d.m.is_zero() && a & f.sign() != 0;
                let want = if less != max { a } else { b };
                let (x, y) = (a as u32, b as u32);
                let got = match t {
                    Ty::F16 => half::min_max(Half::F16, max, false, false, false, x, y).into(),
                    Ty::Bf16 => half::min_max(Half::Bf16, max, false, false, false, x, y).into(),
                    Ty::F32 => fp32::min_max(max, false, false, false, x, y).into(),
                    _ => fp64::min_max(max, a, b),
                };
                Some((want, got, format!("{a:x} {b:x}")))
            });
        }
    }
}
