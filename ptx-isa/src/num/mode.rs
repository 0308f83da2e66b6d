//! Modifiers packed into the constant `k` of a micro-op, and the functions that read it.
//!
//! Rows build a [`Mode`]; the micro-ops of [`crate::uop`] call the functions here. Variants that
//! are hot have micro-ops of their own, without `k`.

use super::cmp::Test;
use super::cvt::{self, Ty};
use super::half::{self, Clamp, Half};
use super::narrow::{self, Mods, Narrow};
use super::{Rnd, fp32, fp64};
use crate::both_halves;

/// Modifiers of an instruction as one constant.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Mode(pub u32);

const FTZ: u32 = 1 << 3;
const SAT: u32 = 1 << 4;
const RELU: u32 = 1 << 5;
const NAN: u32 = 1 << 6;
const XORSIGN: u32 = 1 << 7;
const BF16: u32 = 1 << 8;
const SATFINITE: u32 = 1 << 9;
const PZO: u32 = 1 << 10;
const MAX: u32 = 1 << 11;
const PACKED: u32 = 1 << 12;
const SCALED: u32 = 1 << 13;
const DST: u32 = 16;
const SRC: u32 = 20;
const CLASS: u32 = 24;
const FORMAT: u32 = 28;

macro_rules! flags {
    ($($(#[$doc:meta])* $set:ident $get:ident $bit:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub const fn $set(self, on: bool) -> Self {
            Self(if on { self.0 | $bit } else { self.0 & !$bit })
        }
        #[inline(always)]
        const fn $get(self) -> bool {
            self.0 & $bit != 0
        }
    )*};
}

impl Mode {
    /// Rounding to nearest even, no modifiers.
    pub const NONE: Self = Self(0);

    flags! {
        /// `.ftz`
        ftz is_ftz FTZ;
        /// `.sat`
        sat is_sat SAT;
        /// `.relu`
        relu is_relu RELU;
        /// `.NaN`
        nan is_nan NAN;
        /// `.xorsign.abs`, or `.abs` of three-operand `min` and `max`
        xorsign is_xorsign XORSIGN;
        /// `.bf16` where `.f16` is the default
        bf16 is_bf16 BF16;
        /// `.satfinite`
        satfinite is_satfinite SATFINITE;
        /// `.pzo`
        pzo is_pzo PZO;
        /// `max` where `min` is the default
        max is_max MAX;
        /// Two halves in a register
        packed is_packed PACKED;
        /// A scale factor operand counts
        scaled is_scaled SCALED;
    }

    /// Sets the rounding.
    #[inline(always)]
    #[must_use]
    pub const fn rnd(self, r: Rnd) -> Self {
        let code = match r {
            Rnd::Rn => 0,
            Rnd::Rz => 1,
            Rnd::Rm => 2,
            Rnd::Rp => 3,
            Rnd::Rna => 4,
        };
        Self(self.0 & !7 | code)
    }

    #[inline(always)]
    const fn get_rnd(self) -> Rnd {
        match self.0 & 7 {
            0 => Rnd::Rn,
            1 => Rnd::Rz,
            2 => Rnd::Rm,
            3 => Rnd::Rp,
            _ => Rnd::Rna,
        }
    }

    /// Sets destination and source of a conversion.
    #[inline(always)]
    #[must_use]
    pub const fn types(self, dst: Ty, src: Ty) -> Self {
        Self(self.0 & !(0xff << DST) | (dst as u32) << DST | (src as u32) << SRC)
    }

    #[inline(always)]
    const fn get_dst(self) -> Ty {
        TYPES[(self.0 >> DST & 15) as usize]
    }

    #[inline(always)]
    const fn get_src(self) -> Ty {
        TYPES[(self.0 >> SRC & 15) as usize]
    }

    /// Sets the class that `testp` asks for.
    #[inline(always)]
    #[must_use]
    pub const fn test(self, t: Test) -> Self {
        Self(self.0 | (t as u32) << CLASS)
    }

    #[inline(always)]
    const fn get_test(self) -> Test {
        match self.0 >> CLASS & 15 {
            0 => Test::Finite,
            1 => Test::Infinite,
            2 => Test::Number,
            3 => Test::NotANumber,
            4 => Test::Normal,
            _ => Test::Subnormal,
        }
    }

    /// Sets the narrow format of a conversion.
    #[inline(always)]
    #[must_use]
    pub const fn format(self, f: Format) -> Self {
        Self(self.0 | (f as u32) << FORMAT)
    }

    #[inline(always)]
    const fn get_format(self) -> Format {
        FORMATS[(self.0 >> FORMAT & 7) as usize]
    }

    #[inline(always)]
    const fn half(self) -> Half {
        if self.is_bf16() { Half::Bf16 } else { Half::F16 }
    }

    #[inline(always)]
    const fn clamp(self) -> Clamp {
        if self.is_sat() {
            Clamp::Sat
        } else if self.is_relu() {
            Clamp::Relu
        } else {
            Clamp::None
        }
    }
}

const TYPES: [Ty; 16] = [
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S8,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::F16,
    Ty::Bf16,
    Ty::F32,
    Ty::F64,
    // Never encoded: `types` takes a `Ty`.
    Ty::F64,
    Ty::F64,
    Ty::F64,
    Ty::F64,
];

/// The narrow formats of `cvt`, those of [`Narrow`] and two without exponent or without fraction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Format {
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
    Ue5m3,
    Ue8m0,
    S2f6,
}

const FORMATS: [Format; 8] = [
    Format::E4m3,
    Format::E5m2,
    Format::E2m3,
    Format::E3m2,
    Format::E2m1,
    Format::Ue5m3,
    Format::Ue8m0,
    Format::S2f6,
];

impl Format {
    #[inline(always)]
    const fn narrow(self) -> Narrow {
        match self {
            Self::E4m3 => Narrow::E4m3,
            Self::E5m2 => Narrow::E5m2,
            Self::E2m3 => Narrow::E2m3,
            Self::E3m2 => Narrow::E3m2,
            Self::E2m1 => Narrow::E2m1,
            _ => Narrow::Ue5m3,
        }
    }

    /// Distance of elements in a packed register.
    #[must_use]
    pub const fn stride(self) -> u32 {
        if matches!(self, Self::E2m1) { 4 } else { 8 }
    }
}

/// An expression over the low half of its variables, or over both as the mode says.
macro_rules! halves {
    ($m:ident, $($v:ident),+ => $body:expr) => {
        if $m.is_packed() {
            both_halves!($($v),+ => $body)
        } else {
            $(let $v = $v & 0xffff;)+
            $body & 0xffff
        }
    };
}

macro_rules! f32_ops {
    ($($(#[$doc:meta])* $name:ident($($a:ident),*) |$m:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name($($a: u32,)* k: u32) -> u32 {
            let $m = Mode(k);
            $body
        }
    )*};
}

f32_ops! {
    /// `add` of `.f32` with any rounding.
    add_f32(a, b) |m| fp32::add(m.get_rnd(), m.is_ftz(), m.is_sat(), a, b);
    /// `mul` of `.f32` with any rounding.
    mul_f32(a, b) |m| fp32::mul(m.get_rnd(), m.is_ftz(), m.is_sat(), a, b);
    /// `fma` of `.f32` with any rounding, without the processor's fused instruction.
    fma_f32(a, b, c) |m| fp32::fma::<false>(m.get_rnd(), m.is_ftz(), m.is_sat(), a, b, c);
    /// `div.rnd` of `.f32`.
    div_f32(a, b) |m| fp32::div(m.get_rnd(), m.is_ftz(), a, b);
    /// `sqrt.rnd` of `.f32`.
    sqrt_f32(a) |m| fp32::sqrt(m.get_rnd(), m.is_ftz(), a);
    /// `min`, `max` of `.f32` with modifiers.
    min_max_f32(a, b) |m| fp32::min_max(m.is_max(), m.is_ftz(), m.is_nan(), m.is_xorsign(), a, b);
    /// `min`, `max` of three `.f32`.
    min_max3_f32(a, b, c) |m|
        fp32::min_max3(m.is_max(), m.is_ftz(), m.is_nan(), m.is_xorsign(), a, b, c);

    /// `add` of halves.
    add_half(a, b) |m| halves!(m, a, b => half::add(m.half(), m.is_ftz(), m.clamp(), a, b));
    /// `mul` of halves.
    mul_half(a, b) |m| halves!(m, a, b => half::mul(m.half(), m.is_ftz(), m.clamp(), a, b));
    /// `fma` of halves.
    fma_half(a, b, c) |m|
        halves!(m, a, b, c => half::fma(m.half(), m.is_ftz(), m.clamp(), a, b, c));
    /// `fma.oob` of halves.
    fma_oob_half(a, b, c) |m|
        halves!(m, a, b, c => half::fma_oob(m.half(), m.clamp(), a, b, c));
    /// `min`, `max` of halves.
    min_max_half(a, b) |m| halves!(m, a, b => half::min_max(m.half(), m.is_max(), m.is_ftz(), m.is_nan(), m.is_xorsign(), a, b));
    /// `abs` of halves.
    abs_half(a) |m| halves!(m, a => half::abs(m.half(), m.is_ftz(), a));
    /// `neg` of halves.
    neg_half(a) |m| halves!(m, a => half::neg(m.half(), m.is_ftz(), a));
    /// Flushes subnormal halves.
    flush_half(a) |m| halves!(m, a => half::flush(m.half(), a));
    /// The exact `.f32` bits of a half, payload and signalling bit of a NaN kept.
    widen_half(a) |m| half::widen_bits(m.half(), a & 0xffff);

    /// `cvt` from `.f32` to a half with `.relu`, `.satfinite` or `.pzo`.
    f32_to_half(a) |m| {
        let r = cvt::f32_to_half(m.half(), m.get_rnd(), m.is_relu(), m.is_satfinite(), a);
        if m.is_pzo() && r == 0x8000 { 0 } else { r }
    };
    /// `cvt` from `.f32` to `.tf32`.
    f32_to_tf32(a) |m| {
        let r = cvt::f32_to_tf32(m.get_rnd(), m.is_relu(), m.is_satfinite(), a);
        if m.is_pzo() && r == 0x8000_0000 { 0 } else { r }
    };
    /// `cvt` of one element from `.f32` to a narrow format, divided by scale factor `s`.
    to_narrow(a, s) |m| {
        let scale = m.is_scaled().then_some(s);
        // Only `.scaled::n1`, all formats but `.s2f6`, flushes its operands.
        let a = if m.is_scaled() && m.get_format() != Format::S2f6 { fp32::flush(a) } else { a };
        match m.get_format() {
            Format::Ue8m0 => narrow::to_ue8m0(m.get_rnd(), m.is_satfinite(), a),
            Format::S2f6 => narrow::to_s2f6(m.get_rnd(), m.is_relu(), scale, a),
            Format::Ue5m3 if !m.is_satfinite() => narrow::ue5m3_overflowing(m.get_rnd(), scale, a),
            f => {
                let mods = Mods { relu: m.is_relu(), pzo: m.is_pzo() };
                narrow::from_f32(f.narrow(), m.get_rnd(), mods, scale, a)
            }
        }
    };
    /// `cvt` of one narrow element to a half, to `.bf16` times scale factor `s`.
    from_narrow(a, s) |m| {
        let scale = m.is_scaled().then_some(s);
        let (relu, fin) = (m.is_relu(), m.is_satfinite());
        match (m.get_format(), m.half()) {
            (Format::Ue8m0, _) => narrow::ue8m0_to_bf16(a),
            (Format::S2f6, _) => narrow::s2f6_to_bf16(relu, fin, scale, a),
            (f, Half::F16) => narrow::to_f16(f.narrow(), relu, a),
            (f, Half::Bf16) => narrow::to_bf16(f.narrow(), relu, fin, scale, a),
        }
    };
    /// `cvt.rs` of one element to a half.
    half_stochastic(a, random) |m|
        narrow::half_stochastic(m.half(), m.is_relu(), m.is_satfinite(), random, a);
    /// `cvt.rs` of one element to a narrow format with 16 random bits.
    narrow_stochastic(a, random) |m|
        narrow::from_f32_stochastic(m.get_format().narrow(), m.is_relu(), 16, random, a);
}

/// `add.f64` with any rounding.
#[inline(always)]
#[must_use]
pub fn add_f64(a: u64, b: u64, k: u32) -> u64 {
    fp64::add(Mode(k).get_rnd(), a, b)
}

/// `sub.f64` with any rounding.
#[inline(always)]
#[must_use]
pub fn sub_f64(a: u64, b: u64, k: u32) -> u64 {
    fp64::sub(Mode(k).get_rnd(), a, b)
}

/// `mul.f64` with any rounding.
#[inline(always)]
#[must_use]
pub fn mul_f64(a: u64, b: u64, k: u32) -> u64 {
    fp64::mul(Mode(k).get_rnd(), a, b)
}

/// `fma.f64` with any rounding, without the processor's fused instruction.
#[inline(always)]
#[must_use]
pub fn fma_f64(a: u64, b: u64, c: u64, k: u32) -> u64 {
    fp64::fma::<false>(Mode(k).get_rnd(), a, b, c)
}

/// `div.f64` with any rounding.
#[inline(always)]
#[must_use]
pub fn div_f64(a: u64, b: u64, k: u32) -> u64 {
    fp64::div(Mode(k).get_rnd(), a, b)
}

/// `sqrt.f64` with any rounding.
#[inline(always)]
#[must_use]
pub fn sqrt_f64(a: u64, k: u32) -> u64 {
    fp64::sqrt(Mode(k).get_rnd(), a)
}

/// `testp.f32`.
#[inline(always)]
#[must_use]
pub fn test_f32(a: u32, k: u32) -> bool {
    super::cmp::test32(Mode(k).get_test(), a)
}

/// `testp.f64`.
#[inline(always)]
#[must_use]
pub fn test_f64(a: u64, k: u32) -> bool {
    super::cmp::test64(Mode(k).get_test(), a)
}

/// `cvt` between fundamental types: converts between and within integers and floats as the
/// modifiers say. A conversion of a float to its own type rounds to an integral value if
/// [`Mode::relu`] (which these types do not have) is set, else it copies.
#[inline(always)]
#[must_use]
pub fn convert(a: u64, k: u32) -> u64 {
    let m = Mode(k);
    let (d, s) = (m.get_dst(), m.get_src());
    let (rnd, ftz, sat) = (m.get_rnd(), m.is_ftz(), m.is_sat());
    match (d.is_float(), s.is_float()) {
        (false, false) => cvt::int_to_int(d, s, sat, a),
        (true, false) => cvt::int_to_float(d, s, rnd, sat, a),
        (false, true) => cvt::float_to_int(d, s, rnd, ftz, a),
        (true, true) if d != s => cvt::float_to_float(d, s, rnd, ftz, sat, a),
        (true, true) if m.is_relu() => cvt::round_float(d, rnd, ftz, sat, a),
        (true, true) => cvt::copy_float(d, ftz, sat, a),
    }
}

/// `cvt.pack.sat`; `k` is the width of the elements, with bit 8 set for signed ones.
#[inline(always)]
#[must_use]
pub fn pack(a: u32, b: u32, c: u32, k: u32) -> u32 {
    cvt::pack(k & 0xff, k & 0x100 != 0, a, b, c)
}
