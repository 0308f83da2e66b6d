//! The sum of products that the tensor cores form.
//!
//! All exact products of a group and the accumulator are aligned to the greatest exponent among
//! them, cut (toward zero) to a fixed number of fraction bits, summed exactly and rounded once.
//! A product's exponent is the sum of its operands' exponents, not normalised; subnormal operands
//! carry the least exponent. The widths were found from recordings of an H200.

use super::columns::{Cut, Lanes, Side, TERMS, WIDTH, add_f32 as add_f32_columns, sums};
use super::types::Elem;

/// Exponent given to a zero: below every product, so that it never decides the alignment.
pub(super) const ZERO_EXP: i32 = -4096;

/// Canonical NaN of an f32 result.
pub(super) const NAN32: u32 = 0x7fff_ffff;
/// Canonical NaN of an f16 result.
pub(super) const NAN16: u16 = 0x7fff;

/// What a decoded operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Finite,
    Inf,
    Nan,
}

/// A decoded number: `m * 2^(e - frac)` with the format's `frac`; the sign is in `m`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Num {
    pub m: i32,
    pub e: i32,
    pub class: Class,
}

/// Layout of a binary floating-point format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    pub frac: u32,
    pub exp: u32,
    pub bias: i32,
    /// Bits below the format's least significant bit that are ignored (tf32 in a 32-bit register).
    pub skip: u32,
    /// Whether the greatest exponent is kept for infinities and NaNs (not in e4m3).
    pub ieee: bool,
    /// Whether every bit pattern is a number.
    pub finite: bool,
}

pub(super) const F16: Format =
    Format { frac: 10, exp: 5, bias: 15, skip: 0, ieee: true, finite: false };
pub(super) const BF16: Format =
    Format { frac: 7, exp: 8, bias: 127, skip: 0, ieee: true, finite: false };
pub(super) const TF32: Format =
    Format { frac: 10, exp: 8, bias: 127, skip: 13, ieee: true, finite: false };
pub(super) const F32: Format =
    Format { frac: 23, exp: 8, bias: 127, skip: 0, ieee: true, finite: false };
pub(super) const E4M3: Format =
    Format { frac: 3, exp: 4, bias: 7, skip: 0, ieee: false, finite: false };
pub(super) const E5M2: Format =
    Format { frac: 2, exp: 5, bias: 15, skip: 0, ieee: true, finite: false };

/// Format of a floating-point element; `None` for the other types.
pub(super) const fn format(t: Elem) -> Option<Format> {
    Some(match t {
        Elem::F16 => F16,
        Elem::Bf16 => BF16,
        Elem::Tf32 => TF32,
        Elem::F32 => F32,
        Elem::E4m3 => E4M3,
        Elem::E5m2 => E5M2,
        _ => return None,
    })
}

impl Format {
    /// Decodes the low bits of `bits`.
    #[inline]
    pub(super) fn decode(self, bits: u32) -> Num {
        let bits = bits >> self.skip;
        let frac = bits & ((1 << self.frac) - 1);
        let exp = (bits >> self.frac) & ((1 << self.exp) - 1);
        let negative = bits >> (self.frac + self.exp) & 1 != 0;
        let top = exp == (1 << self.exp) - 1;
        let class = if !top || self.finite {
            Class::Finite
        } else if self.ieee {
            if frac == 0 { Class::Inf } else { Class::Nan }
        } else if frac == (1 << self.frac) - 1 {
            Class::Nan
        } else {
            Class::Finite
        };
        let m = (frac | u32::from(exp != 0) << self.frac).cast_signed();
        let e = if m == 0 { ZERO_EXP } else { exp.max(1).cast_signed() - self.bias };
        Num { m: if negative { -m } else { m }, e, class }
    }
}

/// Direction in which a result is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    NearestEven,
    Zero,
}

/// Rounds `v * 2^lsb` into a format of `frac` fraction bits; the result is that format's bits.
///
/// `keep` is the number of fraction bits that survive (fewer than the format has where the
/// datapath is narrow). An overflow gives infinity when rounding to nearest and, as recorded, when
/// cutting too.
#[inline(always)]
pub(super) fn round(v: i64, lsb: i32, f: Format, keep: u32, mode: Round) -> u32 {
    let negative = v < 0;
    let sign = u32::from(negative) << (f.frac + f.exp);
    let mag = v.unsigned_abs();
    if mag == 0 {
        return 0;
    }
    let least = 1 - f.bias;
    let top = 63 - mag.leading_zeros().cast_signed() + lsb;
    let exp = top.max(least);
    // Weight of the last kept bit.
    let last = exp - keep.cast_signed();
    let drop = last - lsb;
    let kept = if drop <= 0 {
        mag << -drop
    } else if drop >= 64 {
        0
    } else {
        let k = mag >> drop;
        let rest = mag & ((1u64 << drop) - 1);
        let half = 1u64 << (drop - 1);
        let up = mode == Round::NearestEven && (rest > half || rest == half && k & 1 == 1);
        k + u64::from(up)
    };
    // Adding the integer bit to the exponent field makes a carry move to the next exponent.
    let kept = kept << (f.frac - keep);
    let biased = if top < least { 0 } else { (exp + f.bias - 1).cast_unsigned() };
    let bits = (u64::from(biased) << f.frac) + kept;
    let inf = ((1u64 << f.exp) - 1) << f.frac;
    let out = if bits >= inf { inf } else { bits };
    sign | u32::try_from(out).unwrap_or(u32::MAX)
}

/// Sum of a group before rounding.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sum {
    /// `value * 2^lsb`.
    Finite(i64, i32),
    Inf(bool),
    Nan,
}

/// A sum that underflows to zero loses its sign in the tensor cores.
fn unsigned_zero(bits: u32, sign: u32) -> u32 {
    if bits == 1 << sign { 0 } else { bits }
}

impl Sum {
    #[inline]
    pub(super) fn to_f32(self, keep: u32, mode: Round) -> u32 {
        match self {
            Self::Finite(v, lsb) => unsigned_zero(round(v, lsb, F32, keep, mode), 31),
            Self::Inf(negative) => 0x7f80_0000 | u32::from(negative) << 31,
            Self::Nan => NAN32,
        }
    }

    #[inline]
    pub(super) fn to_f16(self) -> u16 {
        match self {
            Self::Finite(v, lsb) => {
                unsigned_zero(round(v, lsb, F16, F16.frac, Round::NearestEven), 15) as u16
            }
            Self::Inf(negative) => 0x7c00 | u16::from(negative) << 15,
            Self::Nan => NAN16,
        }
    }
}

/// Decoded operands of one matrix, row after row along k, split by field so that the loops vectorise.
#[derive(Debug, Clone, Default)]
pub(super) struct Plane {
    pub m: Vec<i32>,
    pub e: Vec<i32>,
    /// Per element, empty when the whole matrix is finite.
    pub class: Vec<Class>,
    /// Fraction bits of the format.
    pub frac: u32,
}

impl Plane {
    /// Decodes raw elements.
    pub(super) fn decode(raw: &[u32], f: Format) -> Self {
        // One loop per format, so that its constants fold and the lanes vectorise.
        match (f.exp, f.frac) {
            (5, 10) => Self::decode_as(raw, F16),
            (8, 7) => Self::decode_as(raw, BF16),
            (8, 10) => Self::decode_as(raw, TF32),
            (4, 3) => Self::decode_as(raw, E4M3),
            (5, 2) => Self::decode_as(raw, E5M2),
            _ => Self::decode_as(raw, f),
        }
    }

    #[inline(always)]
    fn decode_as(raw: &[u32], f: Format) -> Self {
        let mut m = vec![0; raw.len()];
        let mut e = vec![0; raw.len()];
        let mut special = false;
        for ((m, e), &r) in m.iter_mut().zip(&mut e).zip(raw) {
            let n = f.decode(r);
            *m = n.m;
            *e = n.e;
            special |= n.class != Class::Finite;
        }
        let class =
            if special { raw.iter().map(|&r| f.decode(r).class).collect() } else { Vec::new() };
        Self { m, e, class, frac: f.frac }
    }

    fn classes(&self, at: usize, k: usize) -> &[Class] {
        if self.class.is_empty() { &[] } else { &self.class[at..at + k] }
    }
}

/// One run of k operands of a [`Plane`].
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub m: &'a [i32],
    pub e: &'a [i32],
    pub class: &'a [Class],
}

impl<'a> Run<'a> {
    /// The operands in `steps`.
    #[inline]
    pub(super) fn part(self, steps: std::ops::Range<usize>) -> Run<'a> {
        Run {
            m: &self.m[steps.clone()],
            e: &self.e[steps.clone()],
            class: if self.class.is_empty() { &[] } else { &self.class[steps] },
        }
    }
}

impl Plane {
    /// Negates every element.
    pub(super) fn negate(&mut self) {
        self.m.iter_mut().for_each(|v| *v = -*v);
    }

    /// Operands `at .. at + k`.
    pub(super) fn run(&self, at: usize, k: usize) -> Run<'_> {
        Run { m: &self.m[at..at + k], e: &self.e[at..at + k], class: self.classes(at, k) }
    }
}

/// `sum(a[i] * b[i]) + c`, aligned with `bits` fraction bits. `fracs` is the number of fraction
/// bits of a product, `c` an accumulator with `c_frac` fraction bits.
#[inline]
pub(super) fn fused(a: Run<'_>, b: Run<'_>, fracs: u32, c: Num, c_frac: u32, bits: u32) -> Sum {
    let all_finite = a.class.is_empty() && b.class.is_empty() && c.class == Class::Finite;
    if !all_finite && let Some(s) = special(a, b, c) {
        return s;
    }
    let mut top = c.e;
    for (&x, &y) in a.e.iter().zip(b.e) {
        top = top.max(x + y);
    }
    let up = bits - fracs;
    let mut sum = 0i64;
    for (((&am, &ae), &bm), &be) in a.m.iter().zip(a.e).zip(b.m).zip(b.e) {
        let p = am * bm;
        let s = p >> 31;
        let mag = ((p ^ s) - s) << up;
        let t = mag >> (top - (ae + be)).min(31);
        sum += i64::from((t ^ s) - s);
    }
    sum += cut_accumulator(c, top, c_frac, bits);
    Sum::Finite(sum, top - bits.cast_signed())
}

/// The result where an operand is infinite or NaN; `None` if all that count are finite.
#[cold]
fn special(a: Run<'_>, b: Run<'_>, c: Num) -> Option<Sum> {
    let class = |r: Run<'_>, i: usize| r.class.get(i).copied().unwrap_or(Class::Finite);
    let (mut plus, mut minus) = (false, false);
    let mut inf = |negative: bool| {
        if negative {
            minus = true;
        } else {
            plus = true;
        }
    };
    match c.class {
        Class::Nan => return Some(Sum::Nan),
        Class::Inf => inf(c.m < 0),
        Class::Finite => {}
    }
    for i in 0..a.m.len() {
        let (x, y) = (class(a, i), class(b, i));
        if x == Class::Nan || y == Class::Nan {
            return Some(Sum::Nan);
        }
        if x == Class::Inf || y == Class::Inf {
            // An infinity decodes with a nonzero significand, so zero times infinity shows here.
            if a.m[i] == 0 || b.m[i] == 0 {
                return Some(Sum::Nan);
            }
            inf((a.m[i] < 0) != (b.m[i] < 0));
        }
    }
    match (plus, minus) {
        (true, true) => Some(Sum::Nan),
        (true, false) => Some(Sum::Inf(false)),
        (false, true) => Some(Sum::Inf(true)),
        (false, false) => None,
    }
}

/// `a + b` rounded to nearest even, as f32 bits with the canonical NaN.
pub(super) fn add_f32(a: u32, b: u32) -> u32 {
    let s = f32::from_bits(a) + f32::from_bits(b);
    if s.is_nan() { NAN32 } else { s.to_bits() }
}

/// `a + b` rounded to nearest even, as f16 bits with the canonical NaN.
pub(super) fn add_f16(a: u16, b: u16) -> u16 {
    let (x, y) = (F16.decode(a.into()), F16.decode(b.into()));
    if x.class != Class::Finite || y.class != Class::Finite {
        let inf = |n: Num| n.class == Class::Inf;
        return if x.class == Class::Nan
            || y.class == Class::Nan
            || inf(x) && inf(y) && (x.m < 0) != (y.m < 0)
        {
            NAN16
        } else if inf(x) {
            a
        } else {
            b
        };
    }
    let at = |n: Num| if n.m == 0 { 0 } else { i64::from(n.m) << (n.e + 14) };
    let s = at(x) + at(y);
    if s == 0 {
        // Only two negative zeros give a negative zero.
        return a & b & 0x8000;
    }
    round(s, -24, F16, F16.frac, Round::NearestEven) as u16
}

/// The value of f16 bits.
pub(super) fn f16_value(bits: u16) -> f32 {
    let n = F16.decode(bits.into());
    match n.class {
        Class::Nan => f32::NAN,
        Class::Inf if n.m < 0 => f32::NEG_INFINITY,
        Class::Inf => f32::INFINITY,
        Class::Finite if n.m == 0 => {
            if bits >> 15 != 0 {
                -0.0
            } else {
                0.0
            }
        }
        // Both factors are exact, and so is the product.
        Class::Finite => n.m as f32 * f32::from_bits(((n.e - 10 + 127) as u32) << 23),
    }
}

/// Rounds to f16, to nearest even, with the canonical NaN.
pub(super) fn f16_bits(x: f32) -> u16 {
    if x.is_nan() {
        return NAN16;
    }
    let n = F32.decode(x.to_bits());
    if n.class == Class::Inf {
        return 0x7c00 | u16::from(n.m < 0) << 15;
    }
    if n.m == 0 {
        return (x.to_bits() >> 16) as u16 & 0x8000;
    }
    round(n.m.into(), n.e - 23, F16, F16.frac, Round::NearestEven) as u16
}

/// [`WIDTH`] columns of B side by side, for [`Eight::row`].
pub(super) struct Eight {
    m: Vec<Lanes>,
    e: Vec<Lanes>,
}

impl Eight {
    /// Columns `first .. first + 8` of a plane that holds columns of `k` elements; `None` where the
    /// sum needs the careful path (infinities, NaNs, more than [`TERMS`] in a group).
    pub(super) fn new(b: &Plane, first: usize, k: usize, terms: usize) -> Option<Self> {
        if !b.class.is_empty() || terms > TERMS {
            return None;
        }
        let side = |v: &[i32]| -> Vec<Lanes> {
            let mut lanes = vec![[0; WIDTH]; k];
            for (j, column) in v[first * k..][..WIDTH * k].chunks_exact(k).enumerate() {
                for (lanes, v) in lanes.iter_mut().zip(column) {
                    lanes[j] = *v;
                }
            }
            lanes
        };
        Some(Self { m: side(&b.m), e: side(&b.e) })
    }

    fn part(&self, steps: std::ops::Range<usize>) -> Side<'_> {
        (&self.m[steps.clone()], &self.e[steps])
    }

    /// `acc = sum(a * b) + acc` for each column's f32; whether it was done, which it is not where an operand is not
    /// finite or a result not normal.
    #[inline]
    pub(super) fn add_f32(
        &self,
        a: Run<'_>,
        steps: std::ops::Range<usize>,
        cut: Cut,
        acc: &mut [u32; WIDTH],
    ) -> bool {
        let a = a.part(steps.clone());
        a.class.is_empty() && add_f32_columns((a.m, a.e), self.part(steps), cut, acc)
    }

    /// `sum(a * b) + c` for each column; `None` where an operand is not finite.
    #[inline]
    pub(super) fn row(
        &self,
        a: Run<'_>,
        steps: std::ops::Range<usize>,
        fracs: u32,
        c: &[Num; WIDTH],
        c_frac: u32,
        bits: u32,
    ) -> Option<[Sum; WIDTH]> {
        if !a.class.is_empty() || c.iter().any(|c| c.class != Class::Finite) {
            return None;
        }
        let mut top: Lanes = [0; WIDTH];
        for (top, c) in top.iter_mut().zip(c) {
            *top = c.e;
        }
        let a = a.part(steps.clone());
        let sums = sums((a.m, a.e), self.part(steps), bits - fracs, &mut top);
        let mut out = [Sum::Nan; WIDTH];
        for j in 0..WIDTH {
            let v = i64::from(sums[j]) + cut_accumulator(c[j], top[j], c_frac, bits);
            out[j] = Sum::Finite(v, top[j] - bits.cast_signed());
        }
        Some(out)
    }
}

/// The accumulator's term, cut toward zero.
#[inline]
fn cut_accumulator(c: Num, top: i32, c_frac: u32, bits: u32) -> i64 {
    let wide = i64::from(c.m.unsigned_abs()) << 32 >> (32 + c_frac - bits);
    let wide = wide >> (top - c.e).min(63);
    if c.m < 0 { -wide } else { wide }
}
