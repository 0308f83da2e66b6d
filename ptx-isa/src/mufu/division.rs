//! The approximate divisions (PTX 9.7.3.8), which are the dividend times the reciprocal unit's result, with scalings
//! that the recordings show. The rules were fitted to the recorded rows of each form and equal all of them.

use super::functions::{NAN, rcp_approx};

/// A product rounded to nearest; with `ftz`, zero where its value rounded to 24 bits at unbounded exponent
/// would be below 2^-126.
#[inline(always)]
fn product(a: f32, b: f32, ftz: bool) -> f32 {
    /// The least magnitude that rounds up to 2^-126: half a unit of 24 bits below it.
    const LEAST: f64 = f64::from_bits(0x380f_ffff_f000_0000);
    let exact = f64::from(a) * f64::from(b);
    let flush = ftz && exact.abs() < LEAST;
    let rounded = (exact as f32).to_bits();
    f32::from_bits(if flush { rounded & 0x8000_0000 } else { rounded })
}

#[inline(always)]
fn flushed(x: u32, ftz: bool) -> f32 {
    f32::from_bits(if ftz && x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x })
}

/// The divisor that the reciprocal is taken of.
#[inline(always)]
pub(super) fn divisor(b: u32, scale: f32, ftz: bool) -> u32 {
    product(flushed(b, ftz), scale, ftz).to_bits()
}

/// The quotient, given the `.ftz` reciprocal of [`divisor`].
#[inline(always)]
pub(super) fn quotient(a: u32, scale: f32, reciprocal: u32, ftz: bool) -> u32 {
    let a = product(flushed(a, ftz), scale, ftz);
    let quotient = product(a, f32::from_bits(reciprocal), ftz);
    if quotient.is_nan() { NAN } else { quotient.to_bits() }
}

#[inline(always)]
fn divide(a: u32, b: u32, scale: f32, ftz: bool) -> u32 {
    quotient(a, scale, rcp_approx(divisor(b, scale, ftz), true), ftz)
}

/// What `div.approx` scales both by.
#[inline(always)]
pub(super) fn scale_approx(b: u32, ftz: bool) -> f32 {
    let subnormal = b & 0x7f80_0000 == 0;
    if subnormal && !ftz { 16_777_216.0 } else { 1.0 }
}

/// What `div.full` scales both by.
#[inline(always)]
pub(super) fn scale_full(b: u32, ftz: bool) -> f32 {
    // |b| >= 2^126, where the reciprocal is at or below the least normal number.
    let huge = b & 0x7fff_ffff >= 0x7e80_0000;
    if huge { 0.25 } else { scale_approx(b, ftz) }
}

/// `div.approx{.ftz}.f32`: a times the bare unit's 1/b, so zero (or NaN for an infinite a) from |b| > 2^126 on. The
/// plain form scales both by 2^24 where b is subnormal.
#[inline(always)]
pub fn div_approx(a: u32, b: u32, ftz: bool) -> u32 {
    divide(a, b, scale_approx(b, ftz), ftz)
}

/// `div.full{.ftz}.f32`: as [`div_approx`], but both are scaled by 1/4 where |b| > 2^126.
#[inline(always)]
pub fn div_full(a: u32, b: u32, ftz: bool) -> u32 {
    divide(a, b, scale_full(b, ftz), ftz)
}

/// What the division with these bits (1: `.ftz`, 2: `.full`) scales both by.
fn scale(b: u32, bits: u32) -> f32 {
    let ftz = bits & 1 != 0;
    if bits & 2 != 0 { scale_full(b, ftz) } else { scale_approx(b, ftz) }
}

/// The dividend that the reciprocal of [`scaled_divisor`] is multiplied by; bits 1 for `.ftz`, 2 for `.full`.
pub fn scaled_dividend(a: u32, b: u32, bits: u32) -> u32 {
    let ftz = bits & 1 != 0;
    product(flushed(a, ftz), scale(b, bits), ftz).to_bits()
}

/// The divisor that the bare unit takes the reciprocal of; bits 1 for `.ftz`, 2 for `.full`.
pub fn scaled_divisor(b: u32, bits: u32) -> u32 {
    divisor(b, scale(b, bits), bits & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::{div_approx, div_full, rcp_approx, scaled_dividend, scaled_divisor};

    /// The product of the two factors is the quotient, for every form.
    #[test]
    fn the_factors_of_a_quotient_multiply_to_it() {
        let edges =
            [0, 1, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x7e80_0000, 0x7f00_0001, 0x7f80_0000];
        let mut seed = 1u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed
        };
        let mut values: Vec<u32> = (0..64).map(|_| next()).collect();
        values.extend(edges.iter().flat_map(|e| [*e, e | 0x8000_0000]));
        for &a in &values {
            for &b in &values {
                for bits in 0..4 {
                    let ftz = bits & 1 != 0;
                    let whole =
                        if bits & 2 != 0 { div_full(a, b, ftz) } else { div_approx(a, b, ftz) };
                    let factors =
                        [scaled_dividend(a, b, bits), rcp_approx(scaled_divisor(b, bits), true)];
                    let product = crate::num::fp32::mul(
                        crate::num::Rnd::Rn,
                        ftz,
                        false,
                        factors[0],
                        factors[1],
                    );
                    assert_eq!(product, whole, "{a:#x} / {b:#x}, form {bits}");
                }
            }
            // A plain reciprocal is one over it, in the full form.
            assert_eq!(div_full(1f32.to_bits(), a, false), rcp_approx(a, false), "1 / {a:#x}");
        }
    }
}
