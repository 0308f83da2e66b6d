//! Groups of 16 lanes with AVX-512: the interpolation in vector instructions, between the same preparation and
//! completion as in the scalar functions ([`Approximation`]), which the compiler vectorises.
//!
//! The interpolation is written out because the compiler has no good code for it: a table is 8 or 16 vectors, so that a
//! permutation of registers replaces the gather, and the squarer's rows fit pairs of 16-bit words. The meaning stands
//! in `datapath.rs`; tests compare the two, and `examples/prove_mufu.rs` runs this form over all inputs.

use std::arch::x86_64::*;

use super::datapath::{Coefficients, Shape};
use super::division;
use super::functions::{Approximation, Cos, Entry, Ex2, Lg2, Rcp, Rsqrt, Sin, Sqrt};

/// The lanes of a group.
pub const GROUP: usize = 16;

/// Register values of a group, one per lane.
pub type Group = [u32; GROUP];

/// A table in columns of 32 bits.
#[repr(align(64))]
struct Columns {
    /// c0 less [`Columns::BIAS`].
    c0: [u32; 128],
    /// `c1 << 15 | c2`, magnitudes.
    c12: [u32; 128],
}

impl Columns {
    const C2_BITS: u32 = 15;
    /// Exceeds c2 * square(x) and r, and is taken from c0: their sum is then a positive number of 32 bits.
    const BIAS: i64 = 1 << 27;

    const fn new(table: &[Coefficients], shape: &Shape) -> Columns {
        let mut columns = Columns { c0: [0; 128], c12: [0; 128] };
        assert!(table.len() == 64 || table.len() == 128);
        let mut k = 0;
        while k < table.len() {
            let (c0, c1, c2) = (table[k] >> 36, table[k] >> 17 & 0x7ffff, table[k] & 0x1ffff);
            // 32759 is the greatest square.
            assert!(
                c1 < 1 << 17 && c2 < 1 << 12 && c2 * 32759 + (shape.r.unsigned_abs()) < 1 << 27
            );
            columns.c0[k] = (c0 as u32).wrapping_sub((Columns::BIAS >> shape.c0_shift) as u32);
            columns.c12[k] = (c1 << Columns::C2_BITS | c2) as u32;
            k += 1;
        }
        columns
    }
}

/// A function whose table fits [`Columns`].
trait Wide: Approximation {
    const COLUMNS: &'static Columns;
}

macro_rules! wide {
    ($($name:ident)*) => {
        $(impl Wide for $name {
            const COLUMNS: &'static Columns = {
                static COLUMNS: Columns = Columns::new($name::TABLE, &$name::SHAPE);
                &COLUMNS
            };
        })*
    };
}
wide!(Rcp Rsqrt Sqrt Lg2 Ex2 Sin Cos);

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u32], first: usize) -> __m512i {
    let lanes: &Group = lanes[first..first + GROUP].try_into().expect("as many as asked for");
    // SAFETY: the load is of 64 bytes, the array's, at any alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// `column[k]` per lane. A permutation ignores the bits of `k` above those it needs.
#[inline]
#[target_feature(enable = "avx512f")]
fn lookup(column: &[u32; 128], k: __m512i, large: bool) -> __m512i {
    let of_32 =
        |n: usize| _mm512_permutex2var_epi32(load(column, n * 32), k, load(column, n * 32 + 16));
    let of_64 = |n: usize| {
        let odd = _mm512_test_epi32_mask(k, _mm512_set1_epi32(32));
        _mm512_mask_blend_epi32(odd, of_32(2 * n), of_32(2 * n + 1))
    };
    if large {
        let upper = _mm512_test_epi32_mask(k, _mm512_set1_epi32(64));
        _mm512_mask_blend_epi32(upper, of_64(0), of_64(1))
    } else {
        of_64(0)
    }
}

/// The squarer ([`super::datapath::square`]) of 17-bit numbers.
///
/// With H the upper 7 bits and L the bits below, the kept columns are those of 2 H^2 and, for each bit j of H,
/// `L >> (8 - j)`. All but the lowest bit of x, which has no part in that, fits a 16-bit word, and two of the seven rows
/// are added at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn square(x: __m512i) -> __m512i {
    // Per lane the same word twice: H above 9 bits of L.
    let low_word_twice = _mm512_set4_epi32(0x0d0c_0d0c, 0x0908_0908, 0x0504_0504, 0x0100_0100);
    let word = _mm512_shuffle_epi8(_mm512_srli_epi32::<1>(x), low_word_twice);
    let l = _mm512_and_si512(word, _mm512_set1_epi16(0x1ff));
    let h = _mm512_srli_epi16::<9>(word);
    let pair = |upper: i32, lower: i32| _mm512_set1_epi32(upper << 16 | lower);
    let rows = |bits: __m512i, shifts: __m512i| {
        _mm512_maskz_srlv_epi16(_mm512_test_epi16_mask(word, bits), l, shifts)
    };
    let sum = _mm512_add_epi16(
        _mm512_add_epi16(
            rows(pair(1 << 10, 1 << 9), pair(6, 7)),
            rows(pair(1 << 12, 1 << 11), pair(4, 5)),
        ),
        _mm512_add_epi16(
            rows(pair(1 << 14, 1 << 13), pair(2, 3)),
            rows(pair(0, 1 << 15), pair(0, 1)),
        ),
    );
    // H^2 in both words, so that the sum of the two has it twice.
    let words = _mm512_add_epi16(sum, _mm512_mullo_epi16(h, h));
    _mm512_madd_epi16(words, _mm512_set1_epi16(1))
}

/// Eight sums, in 64-bit lanes, as [`super::datapath::Shape::magnitude`] has them before the fraction is cut.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn normalised<F: Wide>(
    c0: __m512i,
    c1: __m512i,
    x: __m512i,
    rest: __m512i,
    exponent: __m512i,
) -> __m512i {
    // Only the lower halves of the 64-bit lanes count in a multiplication.
    let scale = _mm512_set1_epi64(1 << F::SHAPE.c0_shift);
    let constant = _mm512_add_epi64(_mm512_mul_epi32(c0, scale), rest);
    let linear = _mm512_mul_epu32(c1, x);
    let p = if F::SHAPE.c1_negative {
        _mm512_sub_epi64(constant, linear)
    } else {
        _mm512_add_epi64(constant, linear)
    };
    let p = if F::SHAPE.joins_exponent {
        let sum = _mm512_add_epi64(_mm512_slli_epi64::<36>(exponent), _mm512_srli_epi64::<2>(p));
        _mm512_xor_si512(sum, _mm512_srai_epi64::<63>(sum))
    } else {
        p
    };
    _mm512_castpd_si512(_mm512_cvtepi64_pd(p))
}

/// [`super::datapath::Shape::magnitude`] over a group.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn magnitudes<F: Wide>(k: &Group, offset: &Group, exponent: &Group) -> Group {
    let shape = F::SHAPE;
    const { assert!(!F::SHAPE.joins_exponent || F::SHAPE.unit - 2 == 36) };
    let (k, x, exponent) = (load(k, 0), load(offset, 0), load(exponent, 0));
    let large = F::TABLE.len() == 128;
    let c0 = lookup(&F::COLUMNS.c0, k, large);
    let c12 = lookup(&F::COLUMNS.c12, k, large);
    let c1 = _mm512_srli_epi32::<{ Columns::C2_BITS }>(c12);
    let c2 = _mm512_and_si512(c12, _mm512_set1_epi32((1 << Columns::C2_BITS) - 1));
    let square = match shape.align {
        0 => square(x),
        _ => square(_mm512_slli_epi32::<1>(x)),
    };
    // Both are below 2^15.
    let quadratic = _mm512_madd_epi16(c2, square);
    let constant = _mm512_set1_epi32((Columns::BIAS + shape.r) as i32);
    let rest = if shape.c2_negative {
        _mm512_sub_epi32(constant, quadratic)
    } else {
        _mm512_add_epi32(constant, quadratic)
    };
    let upper = |v: __m512i| _mm512_srli_epi64::<32>(v);
    let lower_rest = _mm512_maskz_mov_epi32(0x5555, rest);
    let even = normalised::<F>(c0, c1, x, lower_rest, exponent);
    let odd = normalised::<F>(upper(c0), upper(c1), upper(x), upper(rest), upper(exponent));
    // The upper 35 bits, of which 32 are kept.
    let even = _mm512_srli_epi64::<29>(even);
    let odd = _mm512_slli_epi64::<3>(odd);
    let bits = _mm512_mask_blend_epi32(0xaaaa, even, odd);
    let unit = if shape.joins_exponent { shape.unit - 2 } else { shape.unit };
    let cut = _mm512_sub_epi32(bits, _mm512_set1_epi32(((1023 + unit) << 23) as i32));
    let mut out = [0; GROUP];
    // SAFETY: the store is of 64 bytes, the array's, at any alignment.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), cut) };
    out
}

#[inline(always)]
fn prepare<F: Wide>(x: &Group, ftz: bool) -> [Group; 4] {
    let [mut k, mut offset, mut carried, mut exponent] = [[0; GROUP]; 4];
    for l in 0..GROUP {
        let entry = F::entry(x[l], ftz);
        Entry { k: k[l], offset: offset[l], carried: carried[l] } = entry;
        exponent[l] = F::exponent(entry.carried) as u32;
    }
    [k, offset, carried, exponent]
}

#[inline(always)]
fn complete<F: Wide>(x: &Group, carried: &Group, magnitude: &Group, ftz: bool) -> Group {
    let mut out = [0; GROUP];
    for l in 0..GROUP {
        out[l] = F::result(x[l], carried[l], magnitude[l] as i32, ftz);
    }
    out
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
fn group<F: Wide>(x: &Group, ftz: bool) -> Group {
    // The form by itself, so that it is no select inside the lanes.
    if ftz {
        let [k, offset, carried, exponent] = prepare::<F>(x, true);
        complete::<F>(x, &carried, &magnitudes::<F>(&k, &offset, &exponent), true)
    } else {
        let [k, offset, carried, exponent] = prepare::<F>(x, false);
        complete::<F>(x, &carried, &magnitudes::<F>(&k, &offset, &exponent), false)
    }
}

macro_rules! unary {
    ($($name:ident: $function:ty;)*) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), ") over a group.")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
            pub fn $name(x: &Group, ftz: bool) -> Group {
                group::<$function>(x, ftz)
            }
        )*
    };
}
unary! {
    rcp_approx: Rcp;
    rsqrt_approx: Rsqrt;
    sqrt_approx: Sqrt;
    sin_approx: Sin;
    cos_approx: Cos;
    lg2_approx: Lg2;
    ex2_approx: Ex2;
}

macro_rules! division {
    ($($name:ident: $scale:path;)*) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), ") over a group.")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
            pub fn $name(a: &Group, b: &Group, ftz: bool) -> Group {
                #[inline(always)]
                fn divisors(b: &Group, ftz: bool) -> Group {
                    let mut out = [0; GROUP];
                    for l in 0..GROUP {
                        out[l] = division::divisor(b[l], $scale(b[l], ftz), ftz);
                    }
                    out
                }
                #[inline(always)]
                fn quotients(a: &Group, b: &Group, reciprocal: &Group, ftz: bool) -> Group {
                    let mut out = [0; GROUP];
                    for l in 0..GROUP {
                        out[l] = division::quotient(a[l], $scale(b[l], ftz), reciprocal[l], ftz);
                    }
                    out
                }
                if ftz {
                    quotients(a, b, &group::<Rcp>(&divisors(b, true), true), true)
                } else {
                    quotients(a, b, &group::<Rcp>(&divisors(b, false), true), false)
                }
            }
        )*
    };
}
division! {
    div_approx: division::scale_approx;
    div_full: division::scale_full;
}
