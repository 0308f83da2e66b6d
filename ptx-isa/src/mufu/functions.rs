//! The eight single-precision functions: argument preparation, special cases and the plain forms' scaling around
//! the unit of [`super::datapath`]. All is selects on bits, without branches, so that a loop over lanes vectorises.
//!
//! A function is what stands before the interpolation and what stands behind it ([`Approximation`]); the scalar
//! functions and those over groups of lanes (`avx512.rs`) are made from that.
//!
//! The `.ftz` form is the bare unit, which takes subnormal inputs as zeros and never returns a subnormal. The
//! plain form scales around it with ordinary float operations.

use super::datapath::{Coefficients, Interpolation, scaled};
use super::tables;

/// Every NaN result.
pub(super) const NAN: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;
const FRACTION: u32 = 0x007f_ffff;
const ONE: u32 = 0x3f80_0000;

#[inline(always)]
fn exponent(x: u32) -> i32 {
    (x >> 23 & 0xff) as i32
}

/// One of two computed values, without a branch: a branch here would keep the lane loops from being vectorised.
#[inline(always)]
fn select<T>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

/// A float's bits with any NaN replaced by the GPU's.
#[inline(always)]
fn canonical(x: f32) -> u32 {
    let bits = x.to_bits();
    select(bits & !SIGN > INFINITY, NAN, bits)
}

/// Which form of a function, or what is known of the argument.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Ftz,
    /// Either, for an argument that is [`Approximation::ordinary`].
    Ordinary,
}

impl Form {
    #[inline(always)]
    pub(super) fn of(ftz: bool) -> Form {
        if ftz { Form::Ftz } else { Form::Plain }
    }
}

/// What the interpolation is asked for.
#[derive(Copy, Clone)]
pub(super) struct Entry {
    /// Entry of the table; the bits above those that the table needs do not count.
    pub k: u32,
    /// Offset in it.
    pub offset: u32,
    /// What [`Approximation::result`] needs beside the argument.
    pub carried: u32,
}

/// A function of a float around the interpolation.
pub(super) trait Approximation {
    /// Alignment and signs of the table.
    const INTERPOLATION: Interpolation;
    /// The table.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "vectors are gathered from it")
    )]
    const TABLE: &'static [Coefficients];
    fn coefficients(k: u32) -> Coefficients;
    /// Whether neither form treats x specially, before or after the interpolation.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "asked for vectors"))]
    #[inline(always)]
    fn ordinary(_x: u32) -> bool {
        false
    }
    /// What stands before the interpolation.
    fn entry(x: u32, form: Form) -> Entry;
    /// The exponent that joins the sum ([`Interpolation::joins_exponent`]).
    #[inline(always)]
    fn exponent(_carried: u32) -> i32 {
        0
    }
    /// What stands behind it: the result for the sum cut to `magnitude` ([`Interpolation::magnitude`]).
    fn result(x: u32, carried: u32, magnitude: i32, form: Form) -> u32;
}

#[inline(always)]
fn evaluate<F: Approximation>(x: u32, ftz: bool) -> u32 {
    let form = Form::of(ftz);
    let Entry { k, offset, carried } = F::entry(x, form);
    let magnitude = F::INTERPOLATION.magnitude(F::coefficients(k), offset, F::exponent(carried));
    F::result(x, carried, magnitude, form)
}

/// The items of [`Approximation`] that name the table.
macro_rules! table {
    ($shape:ident, $table:ident) => {
        const INTERPOLATION: Interpolation = tables::$shape;
        const TABLE: &'static [Coefficients] = &tables::$table;
        #[inline(always)]
        fn coefficients(k: u32) -> Coefficients {
            // The length is a power of two, so that the mask is all the bounds check there is.
            tables::$table[k as usize % tables::$table.len()]
        }
    };
}

/// Float bits of a [`cut`](super::datapath::cut) magnitude times `2^exponent`, the exponent given as `exponent << 23`,
/// where that is neither above nor below the normal numbers.
#[inline(always)]
fn placed(magnitude: i32, exponent: u32) -> u32 {
    (magnitude as u32).wrapping_add(ONE).wrapping_add(exponent)
}

/// x, or x * 2^24 where x is subnormal or zero and the form knows subnormals: in integers, since a subnormal operand
/// can cost the host hundreds of cycles.
#[inline(always)]
fn without_subnormals(x: u32, form: Form) -> u32 {
    if form != Form::Plain {
        return x;
    }
    let fraction = ((x & FRACTION) as i32 as f32).to_bits();
    let scaled = fraction.wrapping_sub(select(fraction == 0, 0, 125 << 23)) | x & SIGN;
    select(exponent(x) == 0, scaled, x)
}

/// Whether x is a positive normal number.
#[inline(always)]
fn in_domain(x: u32) -> bool {
    x.wrapping_sub(0x0080_0000) < INFINITY - 0x0080_0000
}

/// Result of a root or logarithm: `normal` where the table applies, else that for 0 and subnormals, infinities, NaN,
/// negatives.
#[inline(always)]
fn within_domain(x: u32, normal: u32, at_zero: u32, at_infinity: u32, form: Form) -> u32 {
    if form == Form::Ordinary {
        return normal;
    }
    let outside = select(exponent(x) == 0, at_zero, select(x == INFINITY, at_infinity, NAN));
    select(in_domain(x), normal, outside)
}

pub(super) struct Rcp;

impl Rcp {
    /// Keeps the unit's input out of the subnormals and its output above 2^-126.
    #[inline(always)]
    fn scale(x: u32) -> f32 {
        let e = exponent(x);
        select(e >= 253, 0.25, select(e == 0, 16_777_216.0, 1.0))
    }
}

impl Approximation for Rcp {
    table!(RCP_INTERPOLATION, RCP);

    #[inline(always)]
    fn ordinary(x: u32) -> bool {
        (x & !SIGN).wrapping_sub(1 << 23) < 252 << 23
    }

    #[inline(always)]
    fn entry(x: u32, form: Form) -> Entry {
        let scaled = (f32::from_bits(x) * Rcp::scale(x)).to_bits();
        let x = if form == Form::Plain { scaled } else { x };
        Entry { k: x >> 16, offset: x & 0xffff, carried: x }
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, form: Form) -> u32 {
        if form == Form::Ordinary {
            // The sign needs no care: its bit taken away is its bit turned over.
            return placed(magnitude, ONE.wrapping_sub(x & !FRACTION));
        }
        let (e, m, sign) = (exponent(x), x & FRACTION, x & SIGN);
        let normal = scaled(magnitude, 127 - e) | sign;
        let edge = select(e == 0, INFINITY | sign, select(m == 0, sign, NAN));
        let r = select((e == 0) | (e == 255), edge, normal);
        if form == Form::Ftz {
            return r;
        }
        canonical(f32::from_bits(r) * Rcp::scale(original))
    }
}

/// `rcp.approx{.ftz}.f32` (PTX 9.7.3.13): 1/x.
#[inline(always)]
pub fn rcp_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Rcp>(x, ftz)
}

/// Entry of the functions that halve the exponent, whose parity chooses the half of the table.
#[inline(always)]
fn root_entry(x: u32, form: Form) -> Entry {
    let x = without_subnormals(x, form);
    // The parity stands right above the leading bits of the mantissa.
    Entry { k: x >> 17, offset: x & 0x1_ffff, carried: x }
}

/// Half the exponent of x, rounded down, shifted left by 23.
#[inline(always)]
fn half_exponent(x: u32) -> u32 {
    (x.wrapping_sub(ONE) as i32 >> 1) as u32 & !FRACTION
}

pub(super) struct Rsqrt;

impl Approximation for Rsqrt {
    table!(RSQRT_INTERPOLATION, RSQRT);

    #[inline(always)]
    fn ordinary(x: u32) -> bool {
        in_domain(x)
    }

    #[inline(always)]
    fn entry(x: u32, form: Form) -> Entry {
        root_entry(x, form)
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, form: Form) -> u32 {
        // Powers of four are exact; the table alone would give the float below.
        let magnitude = select(x & 0x00ff_ffff == 0x0080_0000, 0, magnitude);
        let normal = placed(magnitude, half_exponent(x).wrapping_neg());
        let r = within_domain(x, normal, INFINITY | x & SIGN, 0, form);
        let small = (form == Form::Plain) & (exponent(original) == 0);
        select(small & (r & !SIGN < INFINITY), r.wrapping_add(12 << 23), r)
    }
}

/// `rsqrt.approx{.ftz}.f32` (PTX 9.7.3.16): 1/sqrt(x).
#[inline(always)]
pub fn rsqrt_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Rsqrt>(x, ftz)
}

pub(super) struct Sqrt;

impl Approximation for Sqrt {
    table!(SQRT_INTERPOLATION, SQRT);

    #[inline(always)]
    fn ordinary(x: u32) -> bool {
        in_domain(x)
    }

    #[inline(always)]
    fn entry(x: u32, form: Form) -> Entry {
        root_entry(x, form)
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, form: Form) -> u32 {
        let normal = placed(magnitude, half_exponent(x));
        let r = within_domain(x, normal, x & SIGN, INFINITY, form);
        let small = (form == Form::Plain) & (exponent(original) == 0);
        select(small & (r & !SIGN != 0) & (r & !SIGN < INFINITY), r.wrapping_sub(12 << 23), r)
    }
}

/// `sqrt.approx{.ftz}.f32` (PTX 9.7.3.15): a table of its own, not x times rsqrt(x).
#[inline(always)]
pub fn sqrt_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Sqrt>(x, ftz)
}

pub(super) struct Lg2;

impl Approximation for Lg2 {
    table!(LG2_INTERPOLATION, LG2);

    #[inline(always)]
    fn ordinary(x: u32) -> bool {
        in_domain(x)
    }

    #[inline(always)]
    fn entry(x: u32, form: Form) -> Entry {
        let x = without_subnormals(x, form);
        Entry { k: x >> 17, offset: x & 0x1_ffff, carried: x }
    }

    #[inline(always)]
    fn exponent(x: u32) -> i32 {
        exponent(x) - 127
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, form: Form) -> u32 {
        // Negative below one.
        let normal = placed(magnitude, 0) | x.wrapping_sub(ONE) & SIGN;
        let normal = select(x == ONE, 0, normal);
        let r = within_domain(x, normal, INFINITY | SIGN, INFINITY, form);
        if form != Form::Plain {
            return r;
        }
        canonical(f32::from_bits(r) - select(exponent(original) == 0, 24.0, 0.0))
    }
}

/// `lg2.approx{.ftz}.f32` (PTX 9.7.3.20): the base-2 logarithm.
#[inline(always)]
pub fn lg2_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Lg2>(x, ftz)
}

pub(super) struct Ex2;

impl Ex2 {
    /// Whether the result would be subnormal, where the plain form squares 2^(x/2).
    #[inline(always)]
    fn low(x: u32) -> bool {
        x.wrapping_sub(0xc2fc_0001) <= 0xff80_0000 - 0xc2fc_0001
    }

    /// The unit's argument.
    #[inline(always)]
    fn argument(x: u32, form: Form) -> u32 {
        if form == Form::Plain { x - select(Ex2::low(x), 1 << 23, 0) } else { x }
    }
}

impl Approximation for Ex2 {
    table!(EX2_INTERPOLATION, EX2);

    #[inline(always)]
    fn ordinary(x: u32) -> bool {
        // Up to a magnitude of 126.
        x & !SIGN <= 0x42fc_0000
    }

    #[inline(always)]
    fn entry(x: u32, form: Form) -> Entry {
        let x = Ex2::argument(x, form);
        // floor(|x| * 2^23), as far as |x| < 2^8; a float below 2^-23 vanishes.
        let m = x << 7 & 0x3fff_ff80 | 0x4000_0000;
        let magnitude = m >> ((134 - exponent(x)) as u32).min(31);
        // A negative argument is complemented, not negated, unless it is an integer at this precision.
        let negative = (x as i32 >> 31) as u32;
        let whole = select(magnitude & FRACTION == 0, negative & 1, 0);
        let v = (magnitude ^ negative).wrapping_add(whole);
        Entry { k: v >> 17, offset: v & 0x1_ffff, carried: v }
    }

    #[inline(always)]
    fn result(original: u32, v: u32, magnitude: i32, form: Form) -> u32 {
        if form == Form::Ordinary {
            return placed(magnitude, v & !FRACTION);
        }
        let x = Ex2::argument(original, form);
        let normal = scaled(magnitude, (v as i32 >> 23).clamp(-150, 128));
        let far = select(x & SIGN != 0, 0, INFINITY);
        let far = select(x & !SIGN > INFINITY, NAN, far);
        let r = select(exponent(x) >= 135, far, normal);
        if form == Form::Ftz {
            return r;
        }
        let squared = f32::from_bits(r) * f32::from_bits(r);
        select(Ex2::low(original), squared.to_bits(), r)
    }
}

/// `ex2.approx{.ftz}.f32` (PTX 9.7.3.21): 2 to the power x.
#[inline(always)]
pub fn ex2_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Ex2>(x, ftz)
}

/// sin (quadrant 0) or cos (quadrant 1).
pub(super) struct Sine<const QUADRANT: u32>;

pub(super) type Sin = Sine<0>;
pub(super) type Cos = Sine<1>;

impl<const QUADRANT: u32> Approximation for Sine<QUADRANT> {
    table!(SIN_INTERPOLATION, SIN);

    #[inline(always)]
    fn ordinary(x: u32) -> bool {
        // Up to a magnitude of 256, less than 64 turns.
        x & !SIGN <= 0x4380_0000
    }

    #[inline(always)]
    fn entry(x: u32, form: Form) -> Entry {
        /// Significand and biased exponent of the float nearest 1/(2 pi).
        const INVERSE: (u64, i32) = (0x22_f983 | 0x80_0000, 124);
        // y = x / (2 pi), one multiply rounded toward zero: 24 bits of a product of 47 or 48.
        let product = u64::from((x & FRACTION) | 0x0080_0000) * INVERSE.0;
        let leading = (product >> 23) as u32;
        let long = leading >> 24;
        let m = leading >> long;
        let y_exponent = exponent(x) + INVERSE.1 - 127 + long as i32;
        // Turns modulo 1 in 25 bits; from |y| = 2^24 on, no fraction is left.
        let shift = y_exponent - 150 + 25;
        let turns = if form == Form::Ordinary {
            m << 7 >> ((7 - shift) as u32).min(31)
        } else {
            let up = select(shift >= 28, 0, m << shift.clamp(0, 31));
            select(shift < 0, m >> shift.wrapping_neg().clamp(0, 31), up)
        };
        let turns = turns.wrapping_add(QUADRANT << 23);
        // Backwards in every other quadrant.
        let t = turns ^ ((turns << 8) as i32 >> 31) as u32;
        Entry { k: t >> 17, offset: t & 0x1_ffff, carried: turns }
    }

    #[inline(always)]
    fn result(x: u32, turns: u32, magnitude: i32, form: Form) -> u32 {
        // At the zero itself, from either side, the sum is zero, which has no magnitude.
        let zero = turns.wrapping_add(1) & 0x00ff_ffff <= 1;
        let magnitude = select(zero, 0, placed(magnitude, 0));
        // cos is even; the second half turn flips the sign, of a zero too.
        let sign = select(QUADRANT == 0, x & SIGN, 0) ^ (turns << 7 & SIGN);
        let special = (form != Form::Ordinary) & (exponent(x) == 255);
        select(special, NAN, magnitude | sign)
    }
}

/// `sin.approx{.ftz}.f32` (PTX 9.7.3.18). The two forms agree on every input.
#[inline(always)]
pub fn sin_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Sin>(x, ftz)
}

/// `cos.approx{.ftz}.f32` (PTX 9.7.3.19). The two forms agree on every input.
#[inline(always)]
pub fn cos_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Cos>(x, ftz)
}

pub(super) struct Tanh;

impl Tanh {
    /// Biased exponent of the first binade in the table.
    const FIRST: i32 = 127 - 8;
}

impl Approximation for Tanh {
    table!(TANH_INTERPOLATION, TANH);

    #[inline(always)]
    fn entry(x: u32, _form: Form) -> Entry {
        let m = x & FRACTION;
        let segment = tables::TANH_SEGMENTS[((exponent(x) - Tanh::FIRST) & 15) as usize];
        let (bits, first) = (segment & 0xff, segment >> 8);
        // The 17 bits after the index count, those below are ignored.
        let offset = m >> (6 - bits) & 0x1_ffff;
        Entry { k: first + (m >> (23 - bits)), offset, carried: 0 }
    }

    #[inline(always)]
    fn result(x: u32, _carried: u32, magnitude: i32, _form: Form) -> u32 {
        let (e, sign) = (exponent(x), x & SIGN);
        let normal = placed(magnitude, 0) | sign;
        let large = select(x & !SIGN > INFINITY, NAN, ONE | sign);
        select(e < Tanh::FIRST, x, select(e > 129, large, normal))
    }
}

/// `tanh.approx.f32` (PTX 9.7.3.22); there is no `.ftz` form.
#[inline(always)]
pub fn tanh_approx(x: u32) -> u32 {
    evaluate::<Tanh>(x, false)
}
