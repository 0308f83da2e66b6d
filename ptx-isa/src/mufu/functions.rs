//! The eight single-precision functions: argument preparation, special cases and the plain forms' scaling around
//! the unit of [`super::datapath`]. All is selects on bits, without branches, so that a loop over lanes vectorises.
//!
//! A function is what stands before the interpolation and what stands behind it ([`Approximation`]); the scalar functions
//! and those over groups of lanes (`wide.rs`) are made from that.
//!
//! The `.ftz` form is the bare unit, which takes subnormal inputs as zeros and never returns a subnormal. The
//! plain form scales around it with ordinary float operations.

use super::datapath::{Coefficients, Shape, scaled};
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

/// What the interpolation is asked for.
#[derive(Copy, Clone)]
pub(super) struct Entry {
    /// Entry of the table.
    pub k: u32,
    /// Offset in it.
    pub offset: u32,
    /// What [`Approximation::result`] needs beside the argument.
    pub carried: u32,
}

/// A function of a float around the interpolation.
pub(super) trait Approximation {
    /// Alignment and signs of the table.
    const SHAPE: Shape;
    /// The table.
    const TABLE: &'static [Coefficients];
    /// Entry `k`, below the length of the table.
    fn coefficients(k: u32) -> Coefficients;
    /// What stands before the interpolation.
    fn entry(x: u32, ftz: bool) -> Entry;
    /// The exponent that joins the sum ([`Shape::joins_exponent`]).
    #[inline(always)]
    fn exponent(_carried: u32) -> i32 {
        0
    }
    /// What stands behind it: the result for the sum cut to `magnitude` ([`Shape::magnitude`]).
    fn result(x: u32, carried: u32, magnitude: i32, ftz: bool) -> u32;
}

#[inline(always)]
fn evaluate<F: Approximation>(x: u32, ftz: bool) -> u32 {
    let Entry { k, offset, carried } = F::entry(x, ftz);
    let magnitude = F::SHAPE.magnitude(F::coefficients(k), offset, F::exponent(carried));
    F::result(x, carried, magnitude, ftz)
}

/// The items of [`Approximation`] that name the table.
macro_rules! table {
    ($shape:ident, $table:ident) => {
        const SHAPE: Shape = tables::$shape;
        const TABLE: &'static [Coefficients] = &tables::$table;
        #[inline(always)]
        fn coefficients(k: u32) -> Coefficients {
            // The length is a power of two, so that the mask is all the bounds check there is.
            tables::$table[k as usize % tables::$table.len()]
        }
    };
}

/// x, or x * 2^24 where x is subnormal or zero: in integers, since a subnormal operand can cost the host hundreds of
/// cycles.
#[inline(always)]
fn without_subnormals(x: u32) -> u32 {
    let fraction = ((x & FRACTION) as i32 as f32).to_bits();
    let scaled = fraction.wrapping_sub(select(fraction == 0, 0, 125 << 23)) | x & SIGN;
    select(exponent(x) == 0, scaled, x)
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
    table!(RCP_SHAPE, RCP);

    #[inline(always)]
    fn entry(x: u32, ftz: bool) -> Entry {
        let x = if ftz { x } else { (f32::from_bits(x) * Rcp::scale(x)).to_bits() };
        let m = x & FRACTION;
        Entry { k: m >> 16, offset: m & 0xffff, carried: x }
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, ftz: bool) -> u32 {
        let (e, m, sign) = (exponent(x), x & FRACTION, x & SIGN);
        let normal = scaled(magnitude, 127 - e) | sign;
        let edge = select(e == 0, INFINITY | sign, select(m == 0, sign, NAN));
        let r = select((e == 0) | (e == 255), edge, normal);
        if ftz { r } else { canonical(f32::from_bits(r) * Rcp::scale(original)) }
    }
}

/// `rcp.approx{.ftz}.f32` (PTX 9.7.3.13): 1/x.
#[inline(always)]
pub fn rcp_approx(x: u32, ftz: bool) -> u32 {
    evaluate::<Rcp>(x, ftz)
}

/// Entry of the functions that halve the exponent, whose parity doubles the table.
#[inline(always)]
fn root_entry(x: u32, ftz: bool) -> Entry {
    let x = if ftz { x } else { without_subnormals(x) };
    // The parity stands right above the leading bits of the mantissa.
    Entry { k: (x >> 17 & 127) ^ 64, offset: x & 0x1_ffff, carried: x }
}

/// Result of a root or logarithm where the table does not apply: 0 and subnormals, infinities, NaN, negatives.
#[inline(always)]
fn outside_domain(x: u32, at_zero: u32, at_infinity: u32) -> u32 {
    select(exponent(x) == 0, at_zero, select(x == INFINITY, at_infinity, NAN))
}

/// Whether x is a positive normal number.
#[inline(always)]
fn in_domain(x: u32) -> bool {
    x.wrapping_sub(0x0080_0000) < INFINITY - 0x0080_0000
}

pub(super) struct Rsqrt;

impl Approximation for Rsqrt {
    table!(RSQRT_SHAPE, RSQRT);

    #[inline(always)]
    fn entry(x: u32, ftz: bool) -> Entry {
        root_entry(x, ftz)
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, ftz: bool) -> u32 {
        // Powers of four are exact; the table alone would give the float below.
        let magnitude = select(x & 0x00ff_ffff == 0x0080_0000, 0, magnitude);
        let normal = scaled(magnitude, -((exponent(x) - 127) >> 1));
        let r = select(in_domain(x), normal, outside_domain(x, INFINITY | x & SIGN, 0));
        let small = !ftz & (exponent(original) == 0);
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
    table!(SQRT_SHAPE, SQRT);

    #[inline(always)]
    fn entry(x: u32, ftz: bool) -> Entry {
        root_entry(x, ftz)
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, ftz: bool) -> u32 {
        let normal = scaled(magnitude, (exponent(x) - 127) >> 1);
        let r = select(in_domain(x), normal, outside_domain(x, x & SIGN, INFINITY));
        let small = !ftz & (exponent(original) == 0);
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
    table!(LG2_SHAPE, LG2);

    #[inline(always)]
    fn entry(x: u32, ftz: bool) -> Entry {
        let x = if ftz { x } else { without_subnormals(x) };
        Entry { k: x >> 17 & 63, offset: x & 0x1_ffff, carried: x }
    }

    #[inline(always)]
    fn exponent(x: u32) -> i32 {
        exponent(x) - 127
    }

    #[inline(always)]
    fn result(original: u32, x: u32, magnitude: i32, ftz: bool) -> u32 {
        let normal = scaled(magnitude, 0) | select(exponent(x) < 127, SIGN, 0);
        let normal = select(x == ONE, 0, normal);
        let r = select(in_domain(x), normal, outside_domain(x, INFINITY | SIGN, INFINITY));
        if ftz {
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
    fn argument(x: u32, ftz: bool) -> u32 {
        if ftz { x } else { x - select(Ex2::low(x), 1 << 23, 0) }
    }
}

impl Approximation for Ex2 {
    table!(EX2_SHAPE, EX2);

    #[inline(always)]
    fn entry(x: u32, ftz: bool) -> Entry {
        let x = Ex2::argument(x, ftz);
        let m = (x & FRACTION) | 0x0080_0000;
        // floor(|x| * 2^23), as far as |x| < 2^8; a float below 2^-23 vanishes.
        let shift = exponent(x) - 127;
        let up = m << shift.clamp(0, 7);
        let magnitude = select(shift < 0, m >> shift.wrapping_neg().clamp(0, 31), up) as i32;
        // A negative argument is complemented, not negated, unless it is an integer at this precision.
        let whole = magnitude & FRACTION as i32 == 0;
        let v = select(x & SIGN != 0, !magnitude + i32::from(whole), magnitude) as u32;
        Entry { k: v >> 17 & 63, offset: v & 0x1_ffff, carried: v }
    }

    #[inline(always)]
    fn result(original: u32, v: u32, magnitude: i32, ftz: bool) -> u32 {
        let x = Ex2::argument(original, ftz);
        let normal = scaled(magnitude, (v as i32 >> 23).clamp(-150, 128));
        let far = select(x & SIGN != 0, 0, INFINITY);
        let far = select(x & !SIGN > INFINITY, NAN, far);
        let r = select(exponent(x) >= 135, far, normal);
        let squared = f32::from_bits(r) * f32::from_bits(r);
        select(!ftz & Ex2::low(original), squared.to_bits(), r)
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
    table!(SIN_SHAPE, SIN);

    #[inline(always)]
    fn entry(x: u32, _ftz: bool) -> Entry {
        /// Significand and biased exponent of the float nearest 1/(2 pi).
        const INVERSE: (u64, i32) = (0x22_f983 | 0x80_0000, 124);
        // y = x / (2 pi), one multiply rounded toward zero: 24 bits of a product of 47 or 48.
        let product = u64::from((x & FRACTION) | 0x0080_0000) * INVERSE.0;
        let long = (product >> 47) as u32;
        let m = select(long != 0, (product >> 24) as u32, (product >> 23) as u32);
        let y_exponent = exponent(x) + INVERSE.1 - 127 + long as i32;
        // Turns modulo 1 in 25 bits; from |y| = 2^24 on, no fraction is left.
        let shift = y_exponent - 150 + 25;
        let up = select(shift >= 28, 0, m << shift.clamp(0, 31));
        let turns = select(shift < 0, m >> shift.wrapping_neg().clamp(0, 31), up);
        let turns = turns + (QUADRANT << 23);
        let odd = turns >> 23 & 1 != 0;
        let t = (turns ^ select(odd, FRACTION, 0)) & FRACTION;
        Entry { k: t >> 17, offset: t & 0x1_ffff, carried: turns }
    }

    #[inline(always)]
    fn result(x: u32, turns: u32, magnitude: i32, _ftz: bool) -> u32 {
        // At the zero itself the sum is zero, which has no magnitude.
        let zero = turns & 0x00ff_ffff;
        let zero = (zero == 0) | (zero == 0x00ff_ffff);
        let magnitude = select(zero, 0, scaled(magnitude, 0));
        // cos is even; the second half turn flips the sign, of a zero too.
        let sign = select(QUADRANT == 0, x & SIGN, 0) ^ (turns << 7 & SIGN);
        select(exponent(x) == 255, NAN, magnitude | sign)
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
    table!(TANH_SHAPE, TANH);

    #[inline(always)]
    fn entry(x: u32, _ftz: bool) -> Entry {
        let m = x & FRACTION;
        let segment = tables::TANH_SEGMENTS[((exponent(x) - Tanh::FIRST) & 15) as usize];
        let (bits, first) = (segment & 0xff, segment >> 8);
        // The 17 bits after the index count, those below are ignored.
        let offset = m >> (6 - bits) & 0x1_ffff;
        Entry { k: first + (m >> (23 - bits)), offset, carried: 0 }
    }

    #[inline(always)]
    fn result(x: u32, _carried: u32, magnitude: i32, _ftz: bool) -> u32 {
        let (e, sign) = (exponent(x), x & SIGN);
        let normal = scaled(magnitude, 0) | sign;
        let large = select(x & !SIGN > INFINITY, NAN, ONE | sign);
        select(e < Tanh::FIRST, x, select(e > 129, large, normal))
    }
}

/// `tanh.approx.f32` (PTX 9.7.3.22); there is no `.ftz` form.
#[inline(always)]
pub fn tanh_approx(x: u32) -> u32 {
    evaluate::<Tanh>(x, false)
}
