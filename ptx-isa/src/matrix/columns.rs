//! The fused sum of [`super::dot`] for eight columns at once, vectorised over the columns.
//!
//! The only `unsafe` here calls a version whose CPU features were just detected, and moves lanes to and from vectors.

use super::dot::ZERO_EXP;

/// Columns of B that are summed together.
pub(super) const WIDTH: usize = 8;

/// Terms of a group at most: more could overflow the 32-bit partial sums.
pub(super) const TERMS: usize = 16;

/// One lane per column.
pub(super) type Lanes = [i32; WIDTH];

/// One row of A as significands and exponents.
pub(super) type Row<'a> = (&'a [i32], &'a [i32]);

/// As many rows of B.
pub(super) type Side<'a> = (&'a [Lanes], &'a [Lanes]);

/// How terms are cut and results kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// The shift that gives a product of significands its fraction bits; with it a product has less than 32 bits.
    pub up: u32,
    /// Fraction bits of aligned terms.
    pub bits: u32,
    /// Fraction bits of an f32 result that survive.
    pub keep: u32,
}

/// For a row of A: the greatest exponent and the sum of the cut products of every column. `top` comes in with the
/// accumulators' exponents.
pub(super) fn sums(a: Row<'_>, b: Side<'_>, up: u32, top: &mut Lanes) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if avx2::here() {
        // SAFETY: the features were detected on this CPU.
        return unsafe { avx2::sums(a, b, up, top) };
    }
    sums_of(a, b, up, top)
}

/// Adds a row of A times eight columns to f32 accumulators, cutting the result; `false`, and nothing done, where
/// an accumulator is not finite or a result is beyond the normal numbers.
pub(super) fn add_f32(a: Row<'_>, b: Side<'_>, cut: Cut, acc: &mut [u32; WIDTH]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if avx2::here() {
        // SAFETY: the features were detected on this CPU.
        return unsafe { avx2::add_f32(a, b, cut, acc) };
    }
    add_f32_to(a, b, cut, acc, sums_of)
}

/// With intrinsics: left alone, the compiler vectorises along k and spends its time on transposing.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Cut, Lanes, Row, Side, TERMS, WIDTH, add_f32_to};

    pub(super) fn here() -> bool {
        std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(super) fn add_f32(a: Row<'_>, b: Side<'_>, cut: Cut, acc: &mut [u32; WIDTH]) -> bool {
        add_f32_to(a, b, cut, acc, |a, b, up, top| sums(a, b, up, top))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    pub(super) fn sums(a: Row<'_>, b: Side<'_>, up: u32, top: &mut Lanes) -> Lanes {
        let terms = a.0.len().min(TERMS);
        let mut shifted = [0; TERMS];
        for (to, from) in shifted.iter_mut().zip(a.0) {
            *to = from << up;
        }
        let mut greatest = load(top);
        for (ea, eb) in a.1.iter().zip(b.1) {
            let e = _mm256_add_epi32(_mm256_set1_epi32(*ea), load(eb));
            greatest = _mm256_max_epi32(greatest, e);
        }
        let mut sum = _mm256_setzero_si256();
        for ((ma, ea), (mb, eb)) in shifted[..terms].iter().zip(a.1).zip(b.0.iter().zip(b.1)) {
            let product = _mm256_mullo_epi32(_mm256_set1_epi32(*ma), load(mb));
            let e = _mm256_add_epi32(_mm256_set1_epi32(*ea), load(eb));
            let shift = _mm256_sub_epi32(greatest, e);
            let cut = _mm256_srlv_epi32(_mm256_abs_epi32(product), shift);
            sum = _mm256_add_epi32(sum, _mm256_sign_epi32(cut, product));
        }
        *top = store(greatest);
        store(sum)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(lanes: &Lanes) -> __m256i {
        // SAFETY: eight lanes are as long as the vector, which may lie anywhere.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(vector: __m256i) -> Lanes {
        let mut lanes = [0; WIDTH];
        // SAFETY: eight lanes are as long as the vector, which may lie anywhere.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector) }
        lanes
    }
}

fn sums_of(a: Row<'_>, b: Side<'_>, up: u32, top: &mut Lanes) -> Lanes {
    debug_assert!(a.0.len() <= TERMS);
    for (ea, eb) in a.1.iter().zip(b.1) {
        for j in 0..WIDTH {
            top[j] = top[j].max(ea + eb[j]);
        }
    }
    let mut sum = [0i32; WIDTH];
    for ((ma, ea), (mb, eb)) in a.0.iter().zip(a.1).zip(b.0.iter().zip(b.1)) {
        for j in 0..WIDTH {
            let p = ma * mb[j];
            sum[j] += cut_by(p, p.unsigned_abs() << up, top[j] - (ea + eb[j]));
        }
    }
    sum
}

/// A magnitude shifted to the right, with the sign of `signed`.
#[inline(always)]
fn cut_by(signed: i32, magnitude: u32, shift: i32) -> i32 {
    let sign = signed >> 31;
    let cut = magnitude.checked_shr(shift.cast_unsigned()).unwrap_or(0).cast_signed();
    (cut ^ sign) - sign
}

/// Exponents below that of every term: a sum of zeros is zero with any.
const LEAST_EXP: i32 = -900;

#[inline(always)]
fn add_f32_to(
    a: Row<'_>,
    b: Side<'_>,
    cut: Cut,
    acc: &mut [u32; WIDTH],
    sums: impl Fn(Row<'_>, Side<'_>, u32, &mut Lanes) -> Lanes,
) -> bool {
    let (mut e, mut mag) = ([0i32; WIDTH], [0u32; WIDTH]);
    let mut careful = false;
    for j in 0..WIDTH {
        let exp = (acc[j] >> 23 & 0xff).cast_signed();
        mag[j] = acc[j] & 0x7f_ffff | u32::from(exp != 0) << 23;
        e[j] = if mag[j] == 0 { ZERO_EXP } else { exp.max(1) - 127 };
        careful |= exp == 0xff;
    }
    let mut top = e;
    let sum = sums(a, b, cut.up, &mut top);
    let mut out = [0u32; WIDTH];
    for j in 0..WIDTH {
        let wide =
            if cut.bits >= 23 { mag[j] << (cut.bits - 23) } else { mag[j] >> (23 - cut.bits) };
        let term = cut_by(acc[j].cast_signed(), wide, top[j] - e[j]);
        // Sums of 33 bits and their products with powers of two are exact in f64.
        let lsb = top[j].max(LEAST_EXP) - cut.bits.cast_signed();
        let unit = f64::from_bits(u64::from((lsb + 1023).cast_unsigned()) << 52);
        let exact = (f64::from(sum[j]) + f64::from(term)) * unit;
        let kept = f64::from_bits(exact.to_bits() & u64::MAX << (52 - cut.keep));
        let size = kept.abs();
        careful |= size != 0.0 && size < f64::from(f32::MIN_POSITIVE);
        careful |= size > f64::from(f32::MAX);
        out[j] = (kept as f32).to_bits();
    }
    if !careful {
        *acc = out;
    }
    !careful
}
