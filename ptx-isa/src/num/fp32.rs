//! `.f32` arithmetic (PTX ISA 9.7.3, "Floating Point Instructions").
//!
//! Round-to-nearest forms are the processor's own. The directed forms and the `.ftz` decision go
//! through `f64`: a product of two `f32` is exact there, a quotient or root cannot fall on a
//! 25-bit number by rounding, and a sum is rounded to odd, so that the second rounding sees on
//! which side of every 25-bit number the exact value lies.

use super::Rnd;

/// The NaN that every `.f32` operation returns.
pub const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 0x8000_0000;
const ABS: u32 = 0x7fff_ffff;
const INF: u32 = 0x7f80_0000;
/// Least normal number, and its lower neighbours with 24 and 25 significant bits.
const MIN_NORMAL: f64 = f64::from_bits(0x3810_0000_0000_0000);
const BELOW_24: f64 = f64::from_bits(0x380f_ffff_e000_0000);
const BELOW_25: f64 = f64::from_bits(0x380f_ffff_f000_0000);

#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
fn d(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

#[inline(always)]
fn canonical(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

/// Whether the bits are a NaN.
#[inline(always)]
#[must_use]
pub fn is_nan(a: u32) -> bool {
    a & ABS > INF
}

/// A subnormal becomes zero of the same sign.
#[inline(always)]
#[must_use]
pub fn flush(a: u32) -> u32 {
    if a & INF == 0 { a & SIGN } else { a }
}

#[inline(always)]
fn flush_if(ftz: bool, a: u32) -> u32 {
    if ftz { flush(a) } else { a }
}

/// `.sat`: clamps to [+0, 1], NaN to +0.
#[inline(always)]
#[must_use]
pub fn saturate(a: u32) -> u32 {
    let x = f(a);
    let x = if x > 0.0 { x } else { 0.0 };
    let x = if x < 1.0 { x } else { 1.0 };
    x.to_bits()
}

#[inline(always)]
fn finish_mods(ftz: bool, sat: bool, r: u32) -> u32 {
    let r = flush_if(ftz, r);
    if sat { saturate(r) } else { r }
}

/// Rounds a sum to odd: exact sums stay, all others become the neighbour with an odd last bit.
#[inline(always)]
pub(super) fn add_odd(a: f64, b: f64) -> f64 {
    let s = a + b;
    let bb = s - a;
    let err = (a - (s - bb)) + (b - bb);
    let bits = s.to_bits();
    // Not so for an infinite or NaN sum, whose error is NaN.
    let inexact = err.abs() > 0.0;
    let toward = if (err.to_bits() ^ bits) >> 63 == 0 { 1 } else { u64::MAX };
    let odd = if inexact && bits & 1 == 0 { bits.wrapping_add(toward) } else { bits };
    f64::from_bits(odd)
}

/// Rounds `x`, which lies on the same side of every 25-bit number as the exact result, to `.f32`;
/// then `.ftz` and `.sat`.
#[inline(always)]
#[must_use]
pub fn from_f64(rnd: Rnd, ftz: bool, sat: bool, x: f64) -> u32 {
    let r = x as f32;
    let back = f64::from(r);
    let bits = r.to_bits();
    let neg = bits & SIGN != 0;
    let grow = if neg { u32::MAX } else { 1 };
    let bits = match rnd {
        Rnd::Rn | Rnd::Rna => bits,
        Rnd::Rz => bits.wrapping_sub(u32::from(back.abs() > x.abs())),
        Rnd::Rm => bits.wrapping_sub(if back > x { grow } else { 0 }),
        Rnd::Rp => bits.wrapping_add(if back < x { grow } else { 0 }),
    };
    let bits = if x.is_nan() { NAN } else { bits };
    let bits = if ftz {
        let m = x.abs();
        let away = match rnd {
            Rnd::Rm => neg,
            Rnd::Rp => !neg,
            Rnd::Rn | Rnd::Rz | Rnd::Rna => false,
        };
        let tiny = match rnd {
            Rnd::Rn | Rnd::Rna => m < BELOW_25,
            Rnd::Rm | Rnd::Rp if away => m <= BELOW_24,
            Rnd::Rz | Rnd::Rm | Rnd::Rp => m < MIN_NORMAL,
        };
        if tiny { bits & SIGN } else { bits }
    } else {
        bits
    };
    if sat { saturate(bits) } else { bits }
}

/// Sign of an exact zero sum of terms with these signs, which only `.rm` changes.
#[inline(always)]
fn zero_rm(rnd: Rnd, sum: f64, signs: u32) -> f64 {
    if rnd == Rnd::Rm && sum == 0.0 && signs & SIGN != 0 { -0.0 } else { sum }
}

/// `add{.rnd}{.ftz}{.sat}.f32`.
#[inline(always)]
#[must_use]
pub fn add(rnd: Rnd, ftz: bool, sat: bool, a: u32, b: u32) -> u32 {
    let (a, b) = (flush_if(ftz, a), flush_if(ftz, b));
    if rnd == Rnd::Rn {
        // A sum below the least normal number is exact, so flushing the rounded sum is the rule.
        finish_mods(ftz, sat, canonical(f(a) + f(b)))
    } else {
        from_f64(rnd, ftz, sat, zero_rm(rnd, add_odd(d(a), d(b)), a | b))
    }
}

/// `sub{.rnd}{.ftz}{.sat}.f32`.
#[inline(always)]
#[must_use]
pub fn sub(rnd: Rnd, ftz: bool, sat: bool, a: u32, b: u32) -> u32 {
    add(rnd, ftz, sat, a, b ^ SIGN)
}

/// `mul{.rnd}{.ftz}{.sat}.f32`.
#[inline(always)]
#[must_use]
pub fn mul(rnd: Rnd, ftz: bool, sat: bool, a: u32, b: u32) -> u32 {
    let (a, b) = (flush_if(ftz, a), flush_if(ftz, b));
    if rnd != Rnd::Rn {
        return from_f64(rnd, ftz, sat, d(a) * d(b));
    }
    let r = canonical(f(a) * f(b));
    let r = if ftz {
        // The product 2^64 times as large rounds like one with unbounded exponent where it matters.
        let scaled = f(a) * f32::from_bits(0x5f80_0000) * f(b);
        if scaled.abs() < f32::from_bits(0x2080_0000) { r & SIGN } else { r }
    } else {
        r
    };
    finish_mods(false, sat, r)
}

/// `fma{.rnd}{.ftz}{.sat}.f32`, and `mad` from `sm_20` on.
#[inline(always)]
#[must_use]
pub fn fma<const HW: bool>(rnd: Rnd, ftz: bool, sat: bool, a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (flush_if(ftz, a), flush_if(ftz, b), flush_if(ftz, c));
    if !HW || rnd != Rnd::Rn {
        let sum = add_odd(d(a) * d(b), d(c));
        return from_f64(rnd, ftz, sat, zero_rm(rnd, sum, (a ^ b) | c));
    }
    let r = canonical(f(a).mul_add(f(b), f(c)));
    let r = if ftz {
        // As in `mul`. Where a scaled term overflows, the sum cannot be small but zero.
        let up = f32::from_bits(0x5f80_0000);
        let scaled = (f(a) * up).mul_add(f(b), f(c) * up);
        if scaled.abs() < f32::from_bits(0x2080_0000) { r & SIGN } else { r }
    } else {
        r
    };
    finish_mods(false, sat, r)
}

/// `mad.f32` of compute capability 1.x (PTX ISA 9.7.3.7): the product is truncated to 24 bits with
/// its exponent kept, whatever that is, then added with rounding to nearest; adding a zero is
/// `mul` and `add`. Subnormal operands and results are flushed.
#[inline(always)]
#[must_use]
pub fn mad_1x(a: u32, b: u32, c: u32) -> u32 {
    let c = flush(c);
    let product = d(flush(a)) * d(flush(b));
    let cut = f64::from_bits(product.to_bits() & !((1 << 29) - 1));
    // A NaN whose payload is cut off must not turn into infinity.
    let cut = if product.is_nan() { product } else { cut };
    let sum = from_f64(Rnd::Rn, true, false, add_odd(cut, d(c)));
    let separate = add(Rnd::Rn, true, false, mul(Rnd::Rn, true, false, a, b), c);
    if c & ABS == 0 { separate } else { sum }
}

/// `atom.add.f32`, `red.add.f32`: only global memory flushes subnormals (PTX ISA, `atom`).
#[inline(always)]
#[must_use]
pub fn atomic_add(shared: bool, a: u32, b: u32) -> u32 {
    add(Rnd::Rn, !shared, false, a, b)
}

/// `div.rnd{.ftz}.f32`.
#[inline(always)]
#[must_use]
pub fn div(rnd: Rnd, ftz: bool, a: u32, b: u32) -> u32 {
    let (a, b) = (flush_if(ftz, a), flush_if(ftz, b));
    if rnd == Rnd::Rn && !ftz {
        canonical(f(a) / f(b))
    } else {
        from_f64(rnd, ftz, false, d(a) / d(b))
    }
}

/// `rcp.rnd{.ftz}.f32`.
#[inline(always)]
#[must_use]
pub fn rcp(rnd: Rnd, ftz: bool, a: u32) -> u32 {
    div(rnd, ftz, 0x3f80_0000, a)
}

/// `sqrt.rnd{.ftz}.f32`.
#[inline(always)]
#[must_use]
pub fn sqrt(rnd: Rnd, ftz: bool, a: u32) -> u32 {
    let a = flush_if(ftz, a);
    if rnd == Rnd::Rn { canonical(f(a).sqrt()) } else { from_f64(rnd, ftz, false, d(a).sqrt()) }
}

/// `abs{.ftz}.f32`.
#[inline(always)]
#[must_use]
pub fn abs(ftz: bool, a: u32) -> u32 {
    if is_nan(a) { NAN } else { flush_if(ftz, a) & ABS }
}

/// `neg{.ftz}.f32`.
#[inline(always)]
#[must_use]
pub fn neg(ftz: bool, a: u32) -> u32 {
    if is_nan(a) { NAN } else { flush_if(ftz, a) ^ SIGN }
}

/// `copysign.f32 d, a, b`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
#[must_use]
pub fn copysign(a: u32, b: u32) -> u32 {
    (a & SIGN) | (b & ABS)
}

/// Orders numbers as integers, -0 below +0.
#[inline(always)]
fn key(a: u32) -> i32 {
    a as i32 ^ ((a as i32 >> 31) & 0x7fff_ffff)
}

/// `min` (`max` when `max`) `{.ftz}{.NaN}{.xorsign.abs}.f32`.
#[inline(always)]
#[must_use]
pub fn min_max(max: bool, ftz: bool, nan: bool, xorsign: bool, a: u32, b: u32) -> u32 {
    let (a, b) = (flush_if(ftz, a), flush_if(ftz, b));
    let sign = (a ^ b) & SIGN;
    let (x, y) = if xorsign { (a & ABS, b & ABS) } else { (a, b) };
    let r = if (key(x) < key(y)) != max { x } else { y };
    let (an, bn) = (is_nan(a), is_nan(b));
    let r = if bn { x } else { r };
    let r = if an { y } else { r };
    let r = if xorsign { r | sign } else { r };
    if an && bn || nan && (an || bn) { NAN } else { r }
}

/// Three-input `min`/`max` `{.ftz}{.NaN}{.abs}.f32` (PTX ISA 8.8, `sm_100`).
#[inline(always)]
#[must_use]
pub fn min_max3(max: bool, ftz: bool, nan: bool, abs: bool, a: u32, b: u32, c: u32) -> u32 {
    let m = if abs { ABS } else { u32::MAX };
    // A NaN keeps being one without its sign.
    let ab = min_max(max, ftz, nan, false, a & m, b & m);
    min_max(max, ftz, nan, false, ab, c & m)
}
