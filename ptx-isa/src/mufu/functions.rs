//! The eight single-precision functions: argument preparation, special cases and the plain forms' scaling around
//! the unit of [`super::datapath`]. All is selects on bits, without branches, so that a loop over lanes vectorises.
//!
//! The `.ftz` form is the bare unit, which takes subnormal inputs as zeros and never returns a subnormal. The
//! plain form scales around it with ordinary float operations.

use super::datapath::{Shape, cut, scaled, square};
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

#[inline(always)]
fn rcp_unit(x: u32) -> u32 {
    const SHAPE: Shape = tables::RCP_SHAPE;
    let (e, m, sign) = (exponent(x), x & FRACTION, x & SIGN);
    // The 16-bit offset stands in the upper bits of the 17-bit squarer.
    let offset = m & 0xffff;
    let p = SHAPE.sum(tables::RCP[(m >> 16) as usize], offset, square(offset << 1));
    let normal = scaled(cut(p, SHAPE.unit), 127 - e) | sign;
    let edge = select(e == 0, INFINITY | sign, select(m == 0, sign, NAN));
    select((e == 0) | (e == 255), edge, normal)
}

/// `rcp.approx{.ftz}.f32` (PTX 9.7.3.13): 1/x.
#[inline(always)]
pub fn rcp_approx(x: u32, ftz: bool) -> u32 {
    if ftz {
        return rcp_unit(x);
    }
    let e = exponent(x);
    // Keeps the unit's input out of the subnormals and its output above 2^-126.
    let scale = select(e >= 253, 0.25, select(e == 0, 16_777_216.0, 1.0));
    canonical(f32::from_bits(rcp_unit((f32::from_bits(x) * scale).to_bits())) * scale)
}

/// x, or x * 2^24 where x is subnormal or zero, and whether it is: in integers, since a subnormal operand can cost the
/// host hundreds of cycles.
#[inline(always)]
fn without_subnormals(x: u32) -> (u32, bool) {
    let small = exponent(x) == 0;
    let fraction = ((x & FRACTION) as i32 as f32).to_bits();
    let scaled = fraction.wrapping_sub(select(fraction == 0, 0, 125 << 23)) | x & SIGN;
    (select(small, scaled, x), small)
}

/// Table entry and offset of the functions that halve the exponent: the exponent's parity doubles the table.
#[inline(always)]
fn root_entry(e: i32, m: u32) -> (usize, u32) {
    ((((e as u32) & 1) ^ 1) as usize * 64 + (m >> 17) as usize, m & 0x1_ffff)
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

#[inline(always)]
fn rsqrt_unit(x: u32) -> u32 {
    const SHAPE: Shape = tables::RSQRT_SHAPE;
    let (e, m) = (exponent(x), x & FRACTION);
    let (k, offset) = root_entry(e, m);
    let p = SHAPE.sum(tables::RSQRT[k], offset, square(offset));
    // Powers of four are exact; the table alone would give the float below.
    let magnitude = select((k == 0) & (offset == 0), 0, cut(p, SHAPE.unit));
    let normal = scaled(magnitude, -((e - 127) >> 1));
    select(in_domain(x), normal, outside_domain(x, INFINITY | x & SIGN, 0))
}

/// `rsqrt.approx{.ftz}.f32` (PTX 9.7.3.16): 1/sqrt(x).
#[inline(always)]
pub fn rsqrt_approx(x: u32, ftz: bool) -> u32 {
    if ftz {
        return rsqrt_unit(x);
    }
    let (x, small) = without_subnormals(x);
    let r = rsqrt_unit(x);
    select(small & (r & !SIGN < INFINITY), r.wrapping_add(12 << 23), r)
}

#[inline(always)]
fn sqrt_unit(x: u32) -> u32 {
    const SHAPE: Shape = tables::SQRT_SHAPE;
    let (e, m) = (exponent(x), x & FRACTION);
    let (k, offset) = root_entry(e, m);
    let p = SHAPE.sum(tables::SQRT[k], offset, square(offset));
    let normal = scaled(cut(p, SHAPE.unit), (e - 127) >> 1);
    select(in_domain(x), normal, outside_domain(x, x & SIGN, INFINITY))
}

/// `sqrt.approx{.ftz}.f32` (PTX 9.7.3.15): a table of its own, not x times rsqrt(x).
#[inline(always)]
pub fn sqrt_approx(x: u32, ftz: bool) -> u32 {
    if ftz {
        return sqrt_unit(x);
    }
    let (x, small) = without_subnormals(x);
    let r = sqrt_unit(x);
    select(small & (r & !SIGN != 0) & (r & !SIGN < INFINITY), r.wrapping_sub(12 << 23), r)
}

#[inline(always)]
fn lg2_unit(x: u32) -> u32 {
    const SHAPE: Shape = tables::LG2_SHAPE;
    /// The adder behind the table keeps two bits less than the table gives.
    const UNIT: u32 = SHAPE.unit - 2;
    let (e, m) = (exponent(x), x & FRACTION);
    let offset = m & 0x1_ffff;
    let p = SHAPE.sum(tables::LG2[(m >> 17) as usize], offset, square(offset));
    let sum = (i64::from(e - 127) << UNIT).wrapping_add((p >> 2) as i64);
    // A negative sum is complemented, not negated.
    let negative = e < 127;
    let magnitude = sum ^ select(negative, -1, 0);
    let normal = scaled(cut(magnitude as u64, UNIT), 0) | select(negative, SIGN, 0);
    let normal = select(x == ONE, 0, normal);
    select(in_domain(x), normal, outside_domain(x, INFINITY | SIGN, INFINITY))
}

/// `lg2.approx{.ftz}.f32` (PTX 9.7.3.20): the base-2 logarithm.
#[inline(always)]
pub fn lg2_approx(x: u32, ftz: bool) -> u32 {
    if ftz {
        return lg2_unit(x);
    }
    let (x, small) = without_subnormals(x);
    canonical(f32::from_bits(lg2_unit(x)) - select(small, 24.0, 0.0))
}

#[inline(always)]
fn ex2_unit(x: u32) -> u32 {
    const SHAPE: Shape = tables::EX2_SHAPE;
    let e = exponent(x);
    let m = (x & FRACTION) | 0x0080_0000;
    // floor(|x| * 2^23), as far as |x| < 2^8; a float below 2^-23 vanishes.
    let shift = e - 127;
    let up = m << shift.clamp(0, 7);
    let magnitude = select(shift < 0, m >> shift.wrapping_neg().clamp(0, 31), up) as i32;
    // A negative argument is complemented, not negated, unless it is an integer at this precision.
    let whole = magnitude & FRACTION as i32 == 0;
    let v = select(x & SIGN != 0, !magnitude + i32::from(whole), magnitude);
    let f = v as u32 & FRACTION;
    let offset = f & 0x1_ffff;
    let p = SHAPE.sum(tables::EX2[(f >> 17) as usize], offset, square(offset));
    let normal = scaled(cut(p, SHAPE.unit), (v >> 23).clamp(-150, 128));
    let far = select(x & SIGN != 0, 0, INFINITY);
    let far = select(x & !SIGN > INFINITY, NAN, far);
    select(e >= 135, far, normal)
}

/// `ex2.approx{.ftz}.f32` (PTX 9.7.3.21): 2 to the power x.
#[inline(always)]
pub fn ex2_approx(x: u32, ftz: bool) -> u32 {
    if ftz {
        return ex2_unit(x);
    }
    // Where the result would be subnormal, the plain form squares 2^(x/2).
    let low = x.wrapping_sub(0xc2fc_0001) <= 0xff80_0000 - 0xc2fc_0001;
    let r = ex2_unit(x - select(low, 1 << 23, 0));
    let squared = f32::from_bits(r) * f32::from_bits(r);
    select(low, squared.to_bits(), r)
}

/// sin (quadrant 0) or cos (quadrant 1).
#[inline(always)]
fn sine(x: u32, quadrant: u32) -> u32 {
    const SHAPE: Shape = tables::SIN_SHAPE;
    /// Significand and biased exponent of the float nearest 1/(2 pi).
    const INVERSE: (u64, i32) = (0x22_f983 | 0x80_0000, 124);
    let e = exponent(x);
    // y = x / (2 pi), one multiply rounded toward zero: 24 bits of a product of 47 or 48.
    let product = u64::from((x & FRACTION) | 0x0080_0000) * INVERSE.0;
    let long = (product >> 47) as u32;
    let m = select(long != 0, (product >> 24) as u32, (product >> 23) as u32);
    let y_exponent = e + INVERSE.1 - 127 + long as i32;
    // Turns modulo 1 in 25 bits; from |y| = 2^24 on, no fraction is left.
    let shift = y_exponent - 150 + 25;
    let up = select(shift >= 28, 0, m << shift.clamp(0, 31));
    let turns = select(shift < 0, m >> shift.wrapping_neg().clamp(0, 31), up) + (quadrant << 23);
    let odd = turns >> 23 & 1 != 0;
    let t = (turns ^ select(odd, FRACTION, 0)) & FRACTION;
    let offset = t & 0x1_ffff;
    let p = SHAPE.sum(tables::SIN[(t >> 17) as usize], offset, square(offset));
    let magnitude = select(p == 0, 0, scaled(cut(p, SHAPE.unit), 0));
    // cos is even; the second half turn flips the sign, of a zero too.
    let sign = select(quadrant == 0, x & SIGN, 0) ^ (turns << 7 & SIGN);
    select(e == 255, NAN, magnitude | sign)
}

/// `sin.approx{.ftz}.f32` (PTX 9.7.3.18). The two forms agree on every input.
#[inline(always)]
pub fn sin_approx(x: u32, _ftz: bool) -> u32 {
    sine(x, 0)
}

/// `cos.approx{.ftz}.f32` (PTX 9.7.3.19). The two forms agree on every input.
#[inline(always)]
pub fn cos_approx(x: u32, _ftz: bool) -> u32 {
    sine(x, 1)
}

/// `tanh.approx.f32` (PTX 9.7.3.22); there is no `.ftz` form.
#[inline(always)]
pub fn tanh_approx(x: u32) -> u32 {
    const SHAPE: Shape = tables::TANH_SHAPE;
    /// Biased exponent of the first binade in the table.
    const FIRST: i32 = 127 - 8;
    let (e, m, sign) = (exponent(x), x & FRACTION, x & SIGN);
    let segment = tables::TANH_SEGMENTS[((e - FIRST) & 15) as usize];
    let (bits, first) = (segment & 0xff, segment >> 8);
    let k = (first + (m >> (23 - bits))) & 63;
    // The 17 bits after the index count, those below are ignored.
    let offset = m >> (6 - bits) & 0x1_ffff;
    let p = SHAPE.sum(tables::TANH[k as usize], offset, square(offset));
    let normal = scaled(cut(p, SHAPE.unit), 0) | sign;
    let large = select(x & !SIGN > INFINITY, NAN, ONE | sign);
    select(e < FIRST, x, select(e > 129, large, normal))
}
