//! `.f16` and `.bf16` arithmetic (PTX ISA 9.7.4, "Half Precision Floating Point Instructions").
//!
//! Values are the low 16 bits of a `u32`. Operations are computed in a wider format in which they
//! are exact or rounded to odd, then rounded once. The packed forms are the scalar ones on each
//! half, see [`both_halves!`](crate::both_halves).

use super::fp32::add_odd;
use super::{Rnd, fp32};

/// Which 16-bit format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Half {
    /// `.f16`: 5 exponent bits, 10 fraction bits.
    F16,
    /// `.bf16`: the upper half of `.f32`.
    Bf16,
}

/// What happens to a rounded result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Clamp {
    /// Nothing.
    None,
    /// `.sat`: to [+0, 1], NaN to +0.
    Sat,
    /// `.relu`: negative to +0, NaN to the canonical NaN.
    Relu,
}

/// The NaN that every `.f16` and `.bf16` operation returns.
pub const NAN: u32 = 0x7fff;
const SIGN: u32 = 0x8000;
const ABS: u32 = 0x7fff;

/// Bits of infinity.
#[inline(always)]
#[must_use]
pub const fn infinity(k: Half) -> u32 {
    match k {
        Half::F16 => 0x7c00,
        Half::Bf16 => 0x7f80,
    }
}

const fn one(k: Half) -> u32 {
    match k {
        Half::F16 => 0x3c00,
        Half::Bf16 => 0x3f80,
    }
}

/// Whether the bits are a NaN.
#[inline(always)]
#[must_use]
pub fn is_nan(k: Half, a: u32) -> bool {
    a & ABS > infinity(k)
}

/// A subnormal becomes zero of the same sign.
#[inline(always)]
#[must_use]
pub fn flush(k: Half, a: u32) -> u32 {
    if a & infinity(k) == 0 { a & SIGN } else { a & 0xffff }
}

/// Evaluates an expression over each half of its variables: `both!(a, b => add(k, …, a, b))`.
///
/// A macro, because a closure of this size is not inlined, which keeps loops over lanes from
/// vectorising.
#[macro_export]
macro_rules! both_halves {
    ($($v:ident),+ => $body:expr) => {{
        let high = {
            $(let $v = $v >> 16;)+
            $body
        };
        let low = {
            $(let $v = $v & 0xffff;)+
            $body
        };
        (high & 0xffff) << 16 | (low & 0xffff)
    }};
}

/// Applies a function to both halves of packed operands, where speed does not matter (see
/// [`both_halves!`](crate::both_halves)).
#[must_use]
pub fn x2<const N: usize>(ops: [u32; N], f: impl Fn([u32; N]) -> u32) -> u32 {
    (f(ops.map(|v| v >> 16)) & 0xffff) << 16 | (f(ops.map(|v| v & 0xffff)) & 0xffff)
}

/// The exact `.f32` bits of a half; a NaN stays one, with its payload at the top.
#[inline(always)]
#[must_use]
pub fn widen_bits(k: Half, a: u32) -> u32 {
    match k {
        Half::Bf16 => a << 16,
        Half::F16 => {
            let em = (a & ABS) << 13;
            let normal = em + (112 << 23);
            // 2^-14 plus the subnormal, minus 2^-14, is exact.
            let sub = f32::from_bits(em + (113 << 23)) - f32::from_bits(113 << 23);
            let top = em + (224 << 23);
            let m = if a & ABS >= 0x7c00 { top } else { normal };
            let m = if a & ABS < 0x0400 { sub.to_bits() } else { m };
            m | (a & SIGN) << 16
        }
    }
}

/// The exact value of a half.
#[inline(always)]
#[must_use]
pub fn widen(k: Half, a: u32) -> f32 {
    f32::from_bits(widen_bits(k, a))
}

/// Rounds the magnitude of `.f32` bits to a format with `exponent` and `fraction` bits (at most 11
/// significant), as if its exponents had no upper end: the result may exceed the format.
#[inline(always)]
pub(super) fn round_magnitude(exponent: u32, fraction: u32, rnd: Rnd, a: u32) -> u32 {
    let neg = a >> 31 != 0;
    let m = a & 0x7fff_ffff;
    // Fields of the magnitude; a subnormal has the exponent of the least normal number.
    let field = (m >> 23).max(1);
    let sig = m - ((field - 1) << 23);
    let least = 128 - (1 << (exponent - 1)) + 1;
    // Below the narrow format's least normal number more bits go; from 26 on all look the same.
    let shift = (23 - fraction + least.max(field) - field).min(26);
    let (q, rest) = (sig >> shift, sig & ((1 << shift) - 1));
    let half = (1 << shift) >> 1;
    let up = match rnd {
        Rnd::Rn => (rest > half) | ((rest == half) & (q & 1 == 1)) & (shift != 0),
        Rnd::Rna => (rest >= half) & (shift != 0),
        Rnd::Rz => false,
        Rnd::Rm => neg & (rest != 0),
        Rnd::Rp => !neg & (rest != 0),
    };
    // The hidden bit of `q` adds the 1 that makes the distance the exponent field.
    ((field.max(least) - least) << fraction) + q + u32::from(up)
}

/// Rounds `.f32` bits to a half; NaN becomes [`NAN`], overflow infinity or the greatest finite
/// number as `rnd` says.
#[inline(always)]
#[must_use]
pub fn round(k: Half, rnd: Rnd, a: u32) -> u32 {
    let neg = a >> 31;
    let m = match (k, rnd) {
        (Half::Bf16, Rnd::Rn) => {
            let m = a & 0x7fff_ffff;
            (m + 0x7fff + (m >> 16 & 1)) >> 16
        }
        (Half::F16, Rnd::Rn) => {
            let m = a & 0x7fff_ffff;
            // Adding 0.5 shifts a subnormal result into the last bits, rounded by the processor.
            let sub = (f32::from_bits(m) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
            let normal = m.wrapping_add(0xfff + (m >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
            if m < 113 << 23 { sub } else { normal }
        }
        (Half::Bf16, _) => round_magnitude(8, 7, rnd, a),
        (Half::F16, _) => round_magnitude(5, 10, rnd, a),
    };
    let max = match rnd {
        Rnd::Rn | Rnd::Rna => infinity(k),
        Rnd::Rz => infinity(k) - 1,
        Rnd::Rm => infinity(k) - 1 + neg,
        Rnd::Rp => infinity(k) - neg,
    };
    let m = if m > max { max } else { m };
    let m = if a & 0x7fff_ffff == 0x7f80_0000 { infinity(k) } else { m };
    let r = m | neg << 15;
    if fp32::is_nan(a) { NAN } else { r }
}

/// Whether `.ftz` flushes a result that rounds (to nearest) from these `.f32` bits.
#[inline(always)]
fn is_tiny(k: Half, a: u32) -> bool {
    let limit = match k {
        // 2^-14 less half a unit of its lower neighbours: ties go up.
        Half::F16 => 0x387f_f000,
        Half::Bf16 => 0x007f_c000,
    };
    (a & 0x7fff_ffff) < limit
}

/// Rounds to `.f32` so that no later rounding to at most 22 bits is affected: to odd.
#[inline(always)]
pub(super) fn to_f32_odd(x: f64) -> u32 {
    let r = x as f32;
    let back = f64::from(r);
    let bits = r.to_bits();
    let inexact = (back.abs() < x.abs()) | (back.abs() > x.abs());
    let toward = if back.abs() < x.abs() { 1 } else { u32::MAX };
    if inexact && bits & 1 == 0 { bits.wrapping_add(toward) } else { bits }
}

/// Applies `.sat` or `.relu` to a result.
#[inline(always)]
#[must_use]
pub fn clamp(k: Half, c: Clamp, r: u32) -> u32 {
    let nan = is_nan(k, r);
    match c {
        Clamp::None => r,
        Clamp::Sat => {
            let m = if r & SIGN != 0 || nan { 0 } else { r };
            if m > one(k) { one(k) } else { m }
        }
        Clamp::Relu => {
            let m = if r & SIGN != 0 { 0 } else { r };
            if nan { NAN } else { m }
        }
    }
}

/// Rounds to nearest, then `.ftz`, then the clamp.
#[inline(always)]
fn finish(k: Half, ftz: bool, c: Clamp, a: u32) -> u32 {
    let r = round(k, Rnd::Rn, a);
    let r = if ftz && is_tiny(k, a) { r & SIGN } else { r };
    clamp(k, c, r)
}

#[inline(always)]
fn flush_if(ftz: bool, k: Half, a: u32) -> u32 {
    if ftz { flush(k, a) } else { a }
}

/// `add{.rn}{.ftz}{.sat|.relu}` of halves.
#[inline(always)]
#[must_use]
pub fn add(k: Half, ftz: bool, c: Clamp, a: u32, b: u32) -> u32 {
    // The sum rounded to 24 bits rounds like the exact one to 11 bits or fewer, and is exact where
    // the result is subnormal.
    let s = widen(k, flush_if(ftz, k, a)) + widen(k, flush_if(ftz, k, b));
    finish(k, ftz, c, s.to_bits())
}

/// `sub{.rn}{.ftz}{.sat|.relu}` of halves.
#[inline(always)]
#[must_use]
pub fn sub(k: Half, ftz: bool, c: Clamp, a: u32, b: u32) -> u32 {
    add(k, ftz, c, a, b ^ SIGN)
}

/// `mul{.rn}{.ftz}{.sat|.relu}` of halves.
#[inline(always)]
#[must_use]
pub fn mul(k: Half, ftz: bool, c: Clamp, a: u32, b: u32) -> u32 {
    let (x, y) = (widen(k, flush_if(ftz, k, a)), widen(k, flush_if(ftz, k, b)));
    let p = match k {
        Half::F16 => (x * y).to_bits(),
        // 16 significant bits, but perhaps below the range of `.f32`.
        Half::Bf16 => to_f32_odd(f64::from(x) * f64::from(y)),
    };
    finish(k, ftz, c, p)
}

/// `fma.rn{.ftz}{.sat|.relu}` of halves.
#[inline(always)]
#[must_use]
pub fn fma(k: Half, ftz: bool, cl: Clamp, a: u32, b: u32, c: u32) -> u32 {
    let x = widen(k, flush_if(ftz, k, a));
    let y = widen(k, flush_if(ftz, k, b));
    let z = widen(k, flush_if(ftz, k, c));
    let sum = match k {
        // The product has 22 bits and exponents that `.f32` has room for.
        Half::F16 => add_odd32(x * y, z),
        Half::Bf16 => to_f32_odd(add_odd(f64::from(x) * f64::from(y), f64::from(z))),
    };
    finish(k, ftz, cl, sum)
}

/// The sum of two `.f32` rounded to odd, as [`add_odd`] does it.
#[inline(always)]
fn add_odd32(a: f32, b: f32) -> u32 {
    let s = a + b;
    let bb = s - a;
    let err = (a - (s - bb)) + (b - bb);
    let bits = s.to_bits();
    // One up in magnitude where the error has the sum's sign, else one down.
    let toward = ((err.to_bits() ^ bits) as i32 >> 31) as u32 | 1;
    // Not so for an infinite or NaN sum, whose error is NaN.
    let inexact = err.abs() > 0.0;
    let even = (bits & 1).wrapping_sub(1);
    bits.wrapping_add(if inexact { toward & even } else { 0 })
}

/// Whether the bits are the NaN that out-of-bounds elements of a tensor are filled with, of either
/// sign. The manual leaves its pattern open; an H200 takes this one, for both formats.
#[inline(always)]
#[must_use]
pub fn is_oob_nan(a: u32) -> bool {
    a & ABS == 0x7ff7
}

/// `fma.rn.oob{.relu}` of halves: +0 where `a` or `b` is the out-of-bounds NaN, whatever the other
/// operands are (recorded on an H200).
#[inline(always)]
#[must_use]
pub fn fma_oob(k: Half, cl: Clamp, a: u32, b: u32, c: u32) -> u32 {
    if is_oob_nan(a) || is_oob_nan(b) { 0 } else { fma(k, false, cl, a, b, c) }
}

/// `abs{.ftz}` of a half.
#[inline(always)]
#[must_use]
pub fn abs(k: Half, ftz: bool, a: u32) -> u32 {
    if is_nan(k, a) { NAN } else { flush_if(ftz, k, a) & ABS }
}

/// `neg{.ftz}` of a half.
#[inline(always)]
#[must_use]
pub fn neg(k: Half, ftz: bool, a: u32) -> u32 {
    if is_nan(k, a) { NAN } else { (flush_if(ftz, k, a) ^ SIGN) & 0xffff }
}

/// `min` (`max` when `max`) `{.ftz}{.NaN}{.xorsign.abs}` of halves.
#[inline(always)]
#[must_use]
pub fn min_max(k: Half, max: bool, ftz: bool, nan: bool, xorsign: bool, a: u32, b: u32) -> u32 {
    let (a, b) = (flush_if(ftz, k, a) & 0xffff, flush_if(ftz, k, b) & 0xffff);
    let (an, bn) = (is_nan(k, a), is_nan(k, b));
    let sign = (a ^ b) & SIGN;
    let (x, y) = if xorsign { (a & ABS, b & ABS) } else { (a, b) };
    let key = |v: u32| {
        let s = (v << 16) as i32;
        s ^ ((s >> 31) & 0x7fff_ffff)
    };
    let r = if (key(x) < key(y)) != max { x } else { y };
    let r = if bn { x } else { r };
    let r = if an { y } else { r };
    let r = if xorsign { r | sign } else { r };
    if an && bn || nan && (an || bn) { NAN } else { r }
}
