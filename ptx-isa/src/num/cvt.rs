//! `cvt` between integers, `.f16`, `.bf16`, `.f32`, `.f64` and `.tf32` (PTX ISA 9.7.10, `cvt`).
//!
//! Values travel as `u64`: narrow operands in the low bits (what is above is ignored), results
//! zero-extended, those of signed integer types sign-extended to 64 bits, so that cutting them to
//! the destination register gives the extension that the manual asks for.

use super::half::{self, Half};
use super::soft::{BF16, F16, F32, F64, Format, Value};
use super::{Rnd, fp32, fp64};

/// A type of `cvt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Ty {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    Bf16,
    F32,
    F64,
}

use Ty::{Bf16, S8, S16, S32, S64, U8, U16, U32, U64};

impl Ty {
    /// Width in bits.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            U8 | S8 => 8,
            U16 | S16 | Ty::F16 | Bf16 => 16,
            U32 | S32 | Ty::F32 => 32,
            U64 | S64 | Ty::F64 => 64,
        }
    }

    /// Whether it is a signed integer type.
    #[inline(always)]
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// Whether it is a floating-point type.
    #[inline(always)]
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Bf16 | Ty::F32 | Ty::F64)
    }

    /// Least and greatest value of an integer type.
    #[inline(always)]
    const fn range(self) -> (i128, i128) {
        let w = self.bits();
        if self.is_signed() { (-(1 << (w - 1)), (1 << (w - 1)) - 1) } else { (0, (1 << w) - 1) }
    }

    const fn format(self) -> Format {
        match self {
            Ty::F16 => F16,
            Bf16 => BF16,
            Ty::F32 => F32,
            _ => F64,
        }
    }
}

/// The low bits that type `t` uses, extended to 64 by its signedness.
#[inline(always)]
#[must_use]
pub fn extend(t: Ty, a: u64) -> u64 {
    match t {
        U8 => a as u8 as u64,
        U16 | Ty::F16 | Bf16 => a as u16 as u64,
        U32 | Ty::F32 => a as u32 as u64,
        U64 | S64 | Ty::F64 => a,
        S8 => a as i8 as u64,
        S16 => a as i16 as u64,
        S32 => a as i32 as u64,
    }
}

/// `cvt{.sat}.dst.src` between integer types.
#[inline(always)]
#[must_use]
pub fn int_to_int(dst: Ty, src: Ty, sat: bool, a: u64) -> u64 {
    let a = extend(src, a);
    let a = if !sat {
        a
    } else if src.is_signed() {
        let (lo, hi) = dst.range();
        let (lo, hi) = (lo.max(i64::MIN.into()) as i64, hi.min(i64::MAX.into()) as i64);
        (a as i64).clamp(lo, hi) as u64
    } else {
        a.min(dst.range().1 as u64)
    };
    extend(dst, a)
}

/// Sign and magnitude of an integer operand.
#[inline(always)]
fn magnitude(src: Ty, a: u64) -> (bool, u64) {
    let a = extend(src, a);
    if src.is_signed() { ((a as i64) < 0, (a as i64).unsigned_abs()) } else { (false, a) }
}

/// An integer of at most 32 bits as a double.
#[inline(always)]
fn small_int(src: Ty, a: u64) -> f64 {
    let a = extend(src, a);
    if src.is_signed() { f64::from(a as i32) } else { f64::from(a as u32) }
}

#[inline(always)]
fn saturate64(a: u64) -> u64 {
    let x = f64::from_bits(a);
    let x = if x > 0.0 { x } else { 0.0 };
    let x = if x < 1.0 { x } else { 1.0 };
    x.to_bits()
}

/// `.sat` on a floating-point result.
#[inline(always)]
fn saturate(t: Ty, sat: bool, r: u64) -> u64 {
    match t {
        _ if !sat => r,
        Ty::F16 => half::clamp(Half::F16, half::Clamp::Sat, r as u32).into(),
        Bf16 => half::clamp(Half::Bf16, half::Clamp::Sat, r as u32).into(),
        Ty::F32 => fp32::saturate(r as u32).into(),
        _ => saturate64(r),
    }
}

/// `cvt.rnd{.sat}.dst.src` from an integer to a floating-point type.
#[inline(always)]
#[must_use]
pub fn int_to_float(dst: Ty, src: Ty, rnd: Rnd, sat: bool, a: u64) -> u64 {
    let r = if src.bits() == 64 {
        let (neg, m) = magnitude(src, a);
        if rnd == Rnd::Rn && dst == Ty::F32 {
            let r = if src == S64 { a as i64 as f32 } else { a as f32 };
            u64::from(r.to_bits())
        } else if rnd == Rnd::Rn && dst == Ty::F64 {
            let r = if src == S64 { a as i64 as f64 } else { a as f64 };
            r.to_bits()
        } else {
            Value::int(neg, m).pack(dst.format(), rnd, 0)
        }
    } else if dst == Ty::F32 && rnd == Rnd::Rn {
        let a = extend(src, a);
        let r = if src.is_signed() { a as i32 as f32 } else { a as u32 as f32 };
        u64::from(r.to_bits())
    } else {
        let x = small_int(src, a);
        match dst {
            Ty::F16 => half::round(Half::F16, rnd, half::to_f32_odd(x)).into(),
            Bf16 => half::round(Half::Bf16, rnd, half::to_f32_odd(x)).into(),
            Ty::F32 => fp32::from_f64(rnd, false, false, x).into(),
            _ => x.to_bits(),
        }
    };
    saturate(dst, sat, r)
}

macro_rules! round_to_integral {
    ($(#[$doc:meta])* $name:ident $f:ident $limit:literal) => {
        $(#[$doc])*
        #[inline(always)]
        fn $name(rnd: Rnd, x: $f) -> $f {
            let m = x.abs();
            // The limit pushes the fraction out, to nearest even; numbers from there on are
            // integers.
            let near = (m + $limit) - $limit;
            let near = if m < $limit { near } else { m };
            let near = near.copysign(x);
            let r = match rnd {
                Rnd::Rn | Rnd::Rna => near,
                Rnd::Rz if near.abs() > m => near - $f::copysign(1.0, x),
                Rnd::Rm if near > x => near - 1.0,
                Rnd::Rp if near < x => near + 1.0,
                Rnd::Rz | Rnd::Rm | Rnd::Rp => near,
            };
            // A result of zero keeps the operand's sign.
            r.copysign(x)
        }
    };
}

round_to_integral! {
    /// Rounds to an integral value without calling a library.
    round_f64 f64 4503599627370496.0
}
round_to_integral! {
    /// Rounds to an integral value without calling a library.
    round_f32 f32 8388608.0
}

/// `cvt.irnd.f32.f32`.
#[inline(always)]
#[must_use]
pub fn integral_f32(rnd: Rnd, a: u32) -> u32 {
    let r = round_f32(rnd, f32::from_bits(a)).to_bits();
    if fp32::is_nan(a) { fp32::NAN } else { r }
}

/// `cvt.irnd.f64.f64`.
#[inline(always)]
#[must_use]
pub fn integral_f64(rnd: Rnd, a: u64) -> u64 {
    let r = round_f64(rnd, f64::from_bits(a)).to_bits();
    if fp64::is_nan(a) { a | 1 << 51 } else { r }
}

/// The exact value of a floating-point operand; NaN payloads are not kept.
#[inline(always)]
fn to_double(src: Ty, ftz: bool, a: u64) -> f64 {
    match src {
        Ty::F16 => half::widen(Half::F16, a as u32 & 0xffff).into(),
        Bf16 => half::widen(Half::Bf16, a as u32 & 0xffff).into(),
        Ty::F32 => {
            let a = a as u32;
            f32::from_bits(if ftz { fp32::flush(a) } else { a }).into()
        }
        _ => f64::from_bits(a),
    }
}

/// `cvt.rzi.s32.f32` or `cvt.rzi.u32.f32` by shifting the significand, which vectorises.
#[inline(always)]
fn truncate_f32(signed: bool, a: u32) -> u64 {
    let neg = a >> 31 != 0;
    let field = a >> 23 & 0xff;
    let sig = (a & 0x007f_ffff) | 0x0080_0000;
    // The lowest bit of the significand has weight 2^(field - 150).
    let left = field.max(150) - 150;
    let right = 150 - field.min(150);
    let m = if left > 8 { 0 } else { sig << (left & 31) };
    let m = if right > 31 { 0 } else { m >> (right & 31) };
    let r = if signed {
        let m = if field > 157 { 0x7fff_ffff } else { m };
        let r = if neg { m.wrapping_neg() } else { m };
        if neg && field > 157 { 0x8000_0000 } else { r }
    } else {
        let m = if field > 158 { u32::MAX } else { m };
        if neg { 0 } else { m }
    };
    let r = if fp32::is_nan(a) { 0 } else { r };
    if signed { r as i32 as u64 } else { r.into() }
}

/// `cvt.irnd{.ftz}.dst.src` from a floating-point to an integer type: clamps to the range of `dst`
/// (with `.sat` or without).
///
/// NaN gives 0, but the most negative pattern of the destination where source or destination has
/// 64 bits.
#[inline(always)]
#[must_use]
pub fn float_to_int(dst: Ty, src: Ty, rnd: Rnd, ftz: bool, a: u64) -> u64 {
    if src == Ty::F32 && rnd == Rnd::Rz && dst.bits() == 32 {
        // Flushing does not matter: a subnormal is cut to 0 anyway.
        return truncate_f32(dst == S32, a as u32);
    }
    let w = dst.bits();
    let nan = if src == Ty::F64 || w == 64 { extend(dst, 1 << (w - 1)) } else { 0 };
    let x = to_double(src, ftz, a);
    let r = round_f64(rnd, x);
    let (lo, hi) = dst.range();
    let v = match dst {
        S64 => r as i64 as u64,
        U64 => r as u64,
        _ => {
            let r = if r > lo as f64 { r } else { lo as f64 };
            let r = if r < hi as f64 { r } else { hi as f64 };
            if dst.is_signed() {
                extend(dst, r as i32 as u64)
            } else {
                extend(dst, r as u32 as u64)
            }
        }
    };
    if x.is_nan() { nan } else { v }
}

/// A NaN of `.f64` cut to another format, sign kept, quieted.
#[inline(always)]
fn narrow_nan(dst: Ty, a: u64) -> u64 {
    let sign = a >> 63;
    let payload = (a & ((1 << 52) - 1)) | 1 << 51;
    match dst {
        Ty::F16 => sign << 15 | 0x7c00 | payload >> 42,
        Bf16 => sign << 15 | 0x7f80 | payload >> 45,
        Ty::F32 => sign << 31 | 0x7f80_0000 | payload >> 29,
        _ => a | 1 << 51,
    }
}

/// A NaN of another format widened to `.f64`, sign kept, quieted.
#[inline(always)]
fn widen_nan(src: Ty, a: u64) -> u64 {
    let quiet = 0x7ff8_0000_0000_0000;
    match src {
        Ty::F16 => (a >> 15 & 1) << 63 | quiet | (a & 0x3ff) << 42,
        Bf16 => (a >> 15 & 1) << 63 | quiet | (a & 0x7f) << 45,
        Ty::F32 => (a >> 31 & 1) << 63 | quiet | (a & 0x7f_ffff) << 29,
        _ => a | quiet,
    }
}

/// NaN result of a conversion between floating-point types: to or from `.f64` the payload is kept,
/// otherwise it is the canonical NaN.
#[inline(always)]
fn nan(dst: Ty, src: Ty, a: u64) -> u64 {
    match (dst, src) {
        (_, Ty::F64) => narrow_nan(dst, a),
        (Ty::F64, _) => widen_nan(src, a),
        (Ty::F32, _) => fp32::NAN.into(),
        _ => half::NAN.into(),
    }
}

/// `cvt{.frnd}{.ftz}{.sat}.dst.src` between floating-point types of different size, or from `.f16`
/// to `.bf16` or back. `.ftz` concerns a `.f32` operand or result.
///
/// The hardware does not flush the operand of `cvt.rm/.rp.ftz.f16.f32`, unlike the manual: the
/// caller chooses.
#[inline(always)]
#[must_use]
pub fn float_to_float(dst: Ty, src: Ty, rnd: Rnd, ftz: bool, sat: bool, a: u64) -> u64 {
    let a = extend(src, a);
    let x = to_double(src, ftz, a);
    let r = match dst {
        Ty::F16 | Bf16 => {
            let k = if dst == Bf16 { Half::Bf16 } else { Half::F16 };
            half::round(k, rnd, half::to_f32_odd(x)).into()
        }
        Ty::F32 => fp32::from_f64(rnd, ftz, false, x).into(),
        _ => x.to_bits(),
    };
    // With `.ftz` an `.f32` operand passes through an `.f32` operation first.
    let source = if ftz && src == Ty::F32 { fp32::NAN.into() } else { a };
    let nan = match (dst, src) {
        // A mere shift: a NaN keeps its bits, signalling or not.
        (Ty::F32, Bf16) if !ftz => a << 16,
        _ => nan(dst, src, source),
    };
    saturate(dst, sat, if x.is_nan() { nan } else { r })
}

/// `cvt{.ftz}{.sat}.type.type` without rounding: a copy but for the modifiers and the NaN of the
/// 16-bit types, which becomes canonical.
#[inline(always)]
#[must_use]
pub fn copy_float(t: Ty, ftz: bool, sat: bool, a: u64) -> u64 {
    let a = extend(t, a);
    let r = match t {
        Ty::F16 if half::is_nan(Half::F16, a as u32) => half::NAN.into(),
        Bf16 if half::is_nan(Half::Bf16, a as u32) => half::NAN.into(),
        Ty::F32 if ftz => {
            if fp32::is_nan(a as u32) { fp32::NAN } else { fp32::flush(a as u32) }.into()
        }
        _ => a,
    };
    saturate(t, sat, r)
}

/// `cvt.irnd{.ftz}{.sat}.type.type`: rounds to an integral value of the same type.
#[inline(always)]
#[must_use]
pub fn round_float(t: Ty, rnd: Rnd, ftz: bool, sat: bool, a: u64) -> u64 {
    let a = extend(t, a);
    let bits = match t {
        Ty::F16 | Bf16 => {
            let k = if t == Bf16 { Half::Bf16 } else { Half::F16 };
            let r = round_f32(rnd, half::widen(k, a as u32));
            half::round(k, Rnd::Rn, r.to_bits()).into()
        }
        Ty::F32 => {
            let a = if ftz { fp32::flush(a as u32) } else { a as u32 };
            integral_f32(rnd, a).into()
        }
        _ => integral_f64(rnd, a),
    };
    saturate(t, sat, bits)
}

/// `cvt.rnd{.relu}{.satfinite}` from `.f32` to a half.
#[inline(always)]
#[must_use]
pub fn f32_to_half(k: Half, rnd: Rnd, relu: bool, satfinite: bool, a: u32) -> u32 {
    let r = half::round(k, rnd, a);
    let r = if satfinite && r & 0x7fff == half::infinity(k) { r - 1 } else { r };
    if relu { half::clamp(k, half::Clamp::Relu, r) } else { r }
}

/// `cvt.rn/.rz/.rna{.relu}{.satfinite}.tf32.f32`: 10 fraction bits in an `.f32` pattern.
///
/// `.rna` treats NaN and infinity as bits: it only drops the low 13, so that a NaN with nothing
/// above them becomes infinity, and `.satfinite` takes one unit off whatever has the top exponent.
#[inline(always)]
#[must_use]
pub fn f32_to_tf32(rnd: Rnd, relu: bool, satfinite: bool, a: u32) -> u32 {
    let add = match rnd {
        Rnd::Rna => 0x1000,
        Rnd::Rz => 0,
        // The other two are not in PTX.
        Rnd::Rn | Rnd::Rm | Rnd::Rp => 0xfff + (a >> 13 & 1),
    };
    let special = a & 0x7f80_0000 == 0x7f80_0000;
    let r = if special { a } else { a.wrapping_add(add) } & !0x1fff;
    if rnd == Rnd::Rna {
        let top = r & 0x7f80_0000 == 0x7f80_0000;
        return if satfinite && top { r - 0x2000 } else { r };
    }
    let r = if satfinite && r & 0x7fff_ffff == 0x7f80_0000 { r - 0x2000 } else { r };
    let r = if relu && r >> 31 != 0 { 0 } else { r };
    if fp32::is_nan(a) { 0x7fff_e000 } else { r }
}

/// The canonical NaN of a floating-point type.
#[must_use]
pub const fn canonical_nan(t: Ty) -> u64 {
    match t {
        Ty::F16 | Bf16 => half::NAN as u64,
        Ty::F32 => fp32::NAN as u64,
        _ => fp64::NAN,
    }
}

/// `cvt.pack.sat.type.s32{.b32}`: both operands clamped to `bits` bits and packed, `a` above `b`,
/// with the low bits of `c` above them.
#[inline(always)]
#[must_use]
pub fn pack(bits: u32, signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let (lo, hi) = if signed {
        (-(1i32 << (bits - 1)), (1i32 << (bits - 1)) - 1)
    } else {
        (0, (1i32 << bits) - 1)
    };
    let cut = |v: u32| (v as i32).clamp(lo, hi) as u32 & ((1 << bits) - 1);
    let low = cut(a) << bits | cut(b);
    if bits == 16 { low } else { c << (2 * bits) | low }
}
