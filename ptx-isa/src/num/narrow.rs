//! `cvt` to and from 4-, 6- and 8-bit formats (PTX ISA 5.2.3, 5.2.4 and 9.7.10, `cvt`).
//!
//! Functions convert one element; packing is the caller's. `e4m3` and `e5m2` are checked against
//! an H200, the formats that need later targets follow the manual.

use super::half::{self, Half};
use super::{Rnd, fp32};

/// A narrow format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Narrow {
    /// `.e4m3`: NaN is `0x7f`, no infinity, greatest 448.
    E4m3,
    /// `.e5m2`: infinity and NaN as in IEEE 754, greatest 57344.
    E5m2,
    /// `.e2m3`: numbers only, greatest 7.5.
    E2m3,
    /// `.e3m2`: numbers only, greatest 28.
    E3m2,
    /// `.e2m1`: numbers only, greatest 6.
    E2m1,
    /// `.ue5m3`: unsigned, NaN is `0xff`, greatest 114688.
    Ue5m3,
}

impl Narrow {
    /// Exponent and fraction bits.
    #[inline(always)]
    const fn fields(self) -> (u32, u32) {
        match self {
            Self::E4m3 => (4, 3),
            Self::E5m2 => (5, 2),
            Self::E2m3 => (2, 3),
            Self::E3m2 => (3, 2),
            Self::E2m1 => (2, 1),
            Self::Ue5m3 => (5, 3),
        }
    }

    /// Bits of an element.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u32 {
        let (e, f) = self.fields();
        e + f + if matches!(self, Self::Ue5m3) { 0 } else { 1 }
    }

    /// Distance of elements in a packed operand: 8 bits, but for `.e2m1` 4.
    #[inline(always)]
    #[must_use]
    pub const fn stride(self) -> u32 {
        if matches!(self, Self::E2m1) { 4 } else { 8 }
    }

    /// Magnitude bits of the greatest finite number.
    #[inline(always)]
    const fn max(self) -> u32 {
        match self {
            Self::E4m3 => 0x7e,
            Self::E5m2 => 0x7b,
            Self::E2m3 | Self::E3m2 => 0x1f,
            Self::E2m1 => 0x7,
            Self::Ue5m3 => 0xfe,
        }
    }

    /// What a NaN becomes: the format's own, or the greatest number where it has none.
    #[inline(always)]
    const fn nan(self) -> u32 {
        match self {
            Self::E4m3 | Self::E5m2 => 0x7f,
            Self::Ue5m3 => 0xff,
            Self::E2m3 | Self::E3m2 | Self::E2m1 => self.max(),
        }
    }
}

/// How a conversion to a narrow format treats its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Mods {
    /// `.relu`: negative becomes 0.
    pub relu: bool,
    /// `.pzo`: -0 becomes +0.
    pub pzo: bool,
}

/// Scales by the reciprocal of a `.ue8m0` factor (`.scaled::n1`: subnormal operands are flushed
/// first; `.scaled::n2` divides as it is). The factor `0xff` is NaN.
#[inline(always)]
fn unscale(a: u32, scale: Option<u32>) -> u32 {
    match scale {
        None => a,
        Some(s) => {
            let s = s & 0xff;
            let power = f64::from_bits(u64::from(1023 + 127 - s) << 52);
            let r = half::to_f32_odd(f64::from(f32::from_bits(a)) * power);
            if s == 0xff || fp32::is_nan(a) { fp32::NAN } else { r }
        }
    }
}

#[inline(always)]
fn finish(n: Narrow, m: Mods, a: u32, magnitude: u32) -> u32 {
    let neg = a >> 31;
    let signed = n != Narrow::Ue5m3;
    let mag = if magnitude > n.max() { n.max() } else { magnitude };
    let mag = if neg != 0 && (m.relu || !signed) { 0 } else { mag };
    let neg = if m.relu || !signed || m.pzo && mag == 0 { 0 } else { neg };
    let r = mag | neg << (n.bits() - 1);
    if fp32::is_nan(a) { n.nan() } else { r }
}

/// `cvt.rnd.satfinite{.relu}{.pzo}{.scaled}` of one element from the bits of an `.f32` (halves:
/// widen first).
#[inline(always)]
#[must_use]
pub fn from_f32(n: Narrow, rnd: Rnd, m: Mods, scale: Option<u32>, a: u32) -> u32 {
    let a = unscale(a, scale);
    let (e, f) = n.fields();
    finish(n, m, a, half::round_magnitude(e, f, rnd, a))
}

/// `cvt.ue5m3x2` without `.satfinite`: as [`from_f32`], but what exceeds the greatest number
/// becomes NaN.
#[inline(always)]
#[must_use]
pub fn ue5m3_overflowing(rnd: Rnd, scale: Option<u32>, a: u32) -> u32 {
    let a = unscale(a, scale);
    let m = half::round_magnitude(5, 3, rnd, a);
    let r = from_f32(Narrow::Ue5m3, rnd, Mods::default(), None, a);
    let over = m > 0xfe && a >> 31 == 0 && (rnd != Rnd::Rz || a == 0x7f80_0000);
    if over { 0xff } else { r }
}

/// `cvt.rs.satfinite` of one element: `random`, aligned below the last kept bit (its lowest
/// `width` bits count), is added to the discarded bits and decides by its carry.
#[inline(always)]
#[must_use]
pub fn from_f32_stochastic(n: Narrow, relu: bool, width: u32, random: u32, a: u32) -> u32 {
    let (e, f) = n.fields();
    let m = Mods { relu, pzo: false };
    finish(n, m, a, stochastic_magnitude(e, f, width, random, a))
}

/// Rounds a magnitude up where the discarded bits plus `width` random bits carry.
#[inline(always)]
fn stochastic_magnitude(exponent: u32, fraction: u32, width: u32, random: u32, a: u32) -> u32 {
    let m = a & 0x7fff_ffff;
    let field = (m >> 23).max(1);
    let sig = u64::from(m - ((field - 1) << 23));
    let least = 128 - (1 << (exponent - 1)) + 1;
    let shift = (23 - fraction + least.max(field) - field).min(48);
    let random = u64::from(random & ((1 << width) - 1));
    // The random bits sit right below the last kept bit; fewer discarded bits drop their low end.
    let random = if shift >= width { random << (shift - width) } else { random >> (width - shift) };
    ((field.max(least) - least) << fraction) + ((sig + random) >> shift) as u32
}

/// `cvt.rs{.relu}{.satfinite}` of one element to a half: 13 random bits for `.f16`, 16 for `.bf16`.
#[inline(always)]
#[must_use]
pub fn half_stochastic(k: Half, relu: bool, satfinite: bool, random: u32, a: u32) -> u32 {
    let (e, f, width) = match k {
        Half::F16 => (5, 10, 13),
        Half::Bf16 => (8, 7, 16),
    };
    let m = stochastic_magnitude(e, f, width, random, a);
    let max = half::infinity(k) - u32::from(satfinite);
    let m = if m > max || a & 0x7fff_ffff == 0x7f80_0000 { max } else { m };
    let r = m | a >> 31 << 15;
    let r = if fp32::is_nan(a) { half::NAN } else { r };
    if relu { half::clamp(k, half::Clamp::Relu, r) } else { r }
}

/// The exact `.f32` bits of a narrow element; a NaN becomes the canonical one.
#[inline(always)]
#[must_use]
pub fn to_f32(n: Narrow, a: u32) -> u32 {
    let (e, f) = n.fields();
    let m = a & ((1 << (e + f)) - 1);
    let neg = if n == Narrow::Ue5m3 { 0 } else { a >> (e + f) & 1 };
    let bias = (1 << (e - 1)) - 1;
    // Bits put at the top of a float's fraction, then scaled: exact for subnormals too.
    let scale = f32::from_bits((127 + 127 - bias) << 23);
    let x = f32::from_bits(m << (23 - f)) * scale;
    let inf = n == Narrow::E5m2 && m == 0x7c;
    let nan = match n {
        Narrow::E4m3 => m == 0x7f,
        Narrow::E5m2 => m > 0x7c,
        Narrow::Ue5m3 => m == 0xff,
        _ => false,
    };
    let x = if inf { 0x7f80_0000 } else { x.to_bits() };
    if nan { fp32::NAN } else { x | neg << 31 }
}

/// `cvt.rn{.relu}.f16x2` of one narrow element, which is exact.
#[inline(always)]
#[must_use]
pub fn to_f16(n: Narrow, relu: bool, a: u32) -> u32 {
    let r = half::round(Half::F16, Rnd::Rn, to_f32(n, a));
    if relu { half::clamp(Half::F16, half::Clamp::Relu, r) } else { r }
}

/// Multiplies a `.bf16`'s exact `.f32` value by a `.ue8m0` factor and rounds to nearest.
#[inline(always)]
fn scale_bf16(relu: bool, satfinite: bool, scale: Option<u32>, x: u32) -> u32 {
    let x = match scale {
        None => x,
        Some(s) if s & 0xff == 0xff => fp32::NAN,
        Some(s) => {
            let power = f64::from_bits(u64::from(1023 - 127 + (s & 0xff)) << 52);
            half::to_f32_odd(f64::from(f32::from_bits(x)) * power)
        }
    };
    super::cvt::f32_to_half(Half::Bf16, Rnd::Rn, relu, satfinite, x)
}

/// `cvt.rn{.relu}{.satfinite}{.scaled::n2::ue8m0}.bf16x2` of one narrow element.
#[inline(always)]
#[must_use]
pub fn to_bf16(n: Narrow, relu: bool, satfinite: bool, scale: Option<u32>, a: u32) -> u32 {
    scale_bf16(relu, satfinite, scale, to_f32(n, a))
}

/// `cvt.rz/.rp{.satfinite}.ue8m0x2` of one element from the bits of an `.f32`: the exponent of the
/// magnitude, rounded down or up to a power of two. NaN is `0xff`; so is what exceeds 2^127, unless
/// `satfinite` makes it the greatest number.
#[inline(always)]
#[must_use]
pub fn to_ue8m0(rnd: Rnd, satfinite: bool, a: u32) -> u32 {
    let m = a & 0x7fff_ffff;
    let field = m >> 23;
    let frac = m & 0x7f_ffff;
    // Below 2^-126 the only powers are 2^-126 and 2^-127, whose code is 0.
    let above = if field == 0 { frac > 0x40_0000 } else { frac != 0 };
    let code = field + u32::from(rnd == Rnd::Rp && above);
    let max = if satfinite { 0xfe } else { 0xff };
    let code = if code > max { max } else { code };
    if fp32::is_nan(a) { 0xff } else { code }
}

/// `cvt.rn.bf16x2.ue8m0x2` of one element: exact.
#[inline(always)]
#[must_use]
pub fn ue8m0_to_bf16(a: u32) -> u32 {
    match a & 0xff {
        0 => 0x0040,
        0xff => half::NAN,
        e => e << 7,
    }
}

/// `cvt.rnd.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2` of one element: two's complement with 6
/// fraction bits; NaN becomes the greatest number.
#[inline(always)]
#[must_use]
pub fn to_s2f6(rnd: Rnd, relu: bool, scale: Option<u32>, a: u32) -> u32 {
    let a = unscale(a, scale);
    let x = f64::from(f32::from_bits(a)) * 64.0;
    let r =
        super::cvt::float_to_int(super::cvt::Ty::S8, super::cvt::Ty::F64, rnd, false, x.to_bits())
            as i32;
    let r = if relu && r < 0 { 0 } else { r };
    if fp32::is_nan(a) { 0x7f } else { r as u32 & 0xff }
}

/// `cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2.s2f6x2` of one element.
#[inline(always)]
#[must_use]
pub fn s2f6_to_bf16(relu: bool, satfinite: bool, scale: Option<u32>, a: u32) -> u32 {
    let x = f32::from(a as u8 as i8) / 64.0;
    scale_bf16(relu, satfinite, scale, x.to_bits())
}
