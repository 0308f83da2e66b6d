//! Groups of 16 lanes with AVX-512: the interpolation in vector instructions, between the same preparation and
//! completion as in the scalar functions (`Approximation`), which the compiler vectorises.
//!
//! The interpolation is written out because the compiler has no good code for it: a table is 8 or 16 vectors, so that a
//! permutation of registers replaces the gather, and the squarer's rows fit pairs of 16-bit words. The meaning stands
//! in `datapath.rs`; tests compare the two, and `examples/prove_mufu.rs` runs this form over all inputs.

use std::arch::x86_64::*;

use super::datapath::{Coefficients, Interpolation};
use super::division;
use super::functions::{Approximation, Cos, Entry, Ex2, Form, Lg2, Rcp, Rsqrt, Sin, Sqrt};

/// The lanes of a group.
pub const GROUP: usize = 16;

/// Register values of a group, one per lane.
pub type Group = [u32; GROUP];

/// A table in columns of 32 bits.
#[repr(align(64))]
struct Columns {
    /// c0, less [`BIAS`] where the sums are not of one binade.
    c0: [u32; 128],
    /// `c1 << C2_BITS | c2`, magnitudes.
    c12: [u32; 128],
    /// Whether every c0 has 26 bits, two more than a result, so that every sum is cut at the same place: those of a
    /// table lie in one binade or at its end.
    one_binade: bool,
}

const C2_BITS: u32 = 15;
/// Exceeds c2 * square(x) and r; taken from c0, it makes the rest of the sum without c1 a positive number of 32 bits.
const BIAS: u64 = 1 << 27;

impl Columns {
    const fn new(table: &[Coefficients], shape: &Interpolation) -> Columns {
        let mut columns = Columns { c0: [0; 128], c12: [0; 128], one_binade: true };
        assert!(table.len() == 64 || table.len() == 128);
        let mut k = 0;
        while k < table.len() {
            let (c0, c1, c2) = (table[k] >> 36, table[k] >> 17 & 0x7ffff, table[k] & 0x1ffff);
            // 32759 is the greatest square.
            assert!(c1 < 1 << 17 && c2 < 1 << 12 && c2 * 32759 + shape.r.unsigned_abs() < BIAS);
            columns.c0[k] = c0 as u32;
            columns.c12[k] = (c1 << C2_BITS | c2) as u32;
            columns.one_binade &= c0 >= 1 << 25 && c0 <= 1 << 26;
            k += 1;
        }
        while k > 0 && !columns.one_binade {
            k -= 1;
            columns.c0[k] = columns.c0[k].wrapping_sub((BIAS >> shape.c0_shift) as u32);
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
                static COLUMNS: Columns = Columns::new($name::TABLE, &$name::INTERPOLATION);
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
/// `L >> (8 - j)`. All but the lowest bit of x, which has no part in that, fits a 16-bit word, H above 9 bits of L: a
/// row is the upper half of L times the bit of H where it stands, and two of the seven rows are made at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn square(x: __m512i) -> __m512i {
    let words = |upper: u16, lower: u16| {
        _mm512_set1_epi32((u32::from(upper) << 16 | u32::from(lower)) as i32)
    };
    // The same word twice.
    let word = _mm512_mullo_epi32(_mm512_srli_epi32::<1>(x), words(1, 1));
    let l = _mm512_and_si512(word, words(0x1ff, 0x1ff));
    let h = _mm512_srli_epi16::<9>(word);
    let rows = |bits: __m512i| _mm512_mulhi_epu16(l, _mm512_and_si512(word, bits));
    let sum = _mm512_add_epi16(
        _mm512_add_epi16(rows(words(1 << 9, 1 << 10)), rows(words(1 << 11, 1 << 12))),
        _mm512_add_epi16(rows(words(1 << 13, 1 << 14)), rows(words(1 << 15, 0))),
    );
    // H^2 in both words, so that the sum of the two has it twice.
    let sum = _mm512_add_epi16(sum, _mm512_mullo_epi16(h, h));
    _mm512_madd_epi16(sum, words(1, 1))
}

/// A vector plus or minus another.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(negative: bool, a: __m512i, b: __m512i) -> __m512i {
    if negative { _mm512_sub_epi32(a, b) } else { _mm512_add_epi32(a, b) }
}

/// [`Interpolation::magnitude`] over a group, where the place of the cut is known: all in 32 bits, since a floor of
/// floors is the floor. `rest` is the sum without c0 and c1.
#[inline]
#[target_feature(enable = "avx512f")]
fn cut_at_once<F: Wide>(c0: __m512i, c1: __m512i, x: __m512i, rest: __m512i) -> __m512i {
    let shape = F::INTERPOLATION;
    // The product has 33 bits, so the last 3 bits of x are taken apart.
    let high = _mm512_mullo_epi32(c1, _mm512_srli_epi32::<3>(x));
    let low = _mm512_mullo_epi32(c1, _mm512_and_si512(x, _mm512_set1_epi32(7)));
    let rest = _mm512_srai_epi32::<3>(add(shape.c1_negative, rest, low));
    let rest = add(shape.c1_negative, rest, high);
    let rest = _mm512_sra_epi32(rest, _mm_cvtsi32_si128(shape.c0_shift as i32 - 3));
    let p = _mm512_srai_epi32::<2>(_mm512_add_epi32(c0, rest));
    // The leading bit counts as one more of the exponent.
    let exponent = (shape.c0_shift + 2 + 23) as i32 - shape.unit as i32 - 1;
    _mm512_add_epi32(p, _mm512_set1_epi32(exponent << 23))
}

/// Eight sums, in 64-bit lanes, as doubles; `rest` is the sum without c0 and c1, [`BIAS`] added.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn doubles<F: Wide>(
    c0: __m512i,
    c1: __m512i,
    x: __m512i,
    rest: __m512i,
    exponent: __m512i,
) -> __m512i {
    let shape = F::INTERPOLATION;
    // Only the lower halves of the 64-bit lanes count in a multiplication.
    let scale = _mm512_set1_epi64(1 << shape.c0_shift);
    let constant = _mm512_add_epi64(_mm512_mul_epi32(c0, scale), rest);
    let linear = _mm512_mul_epu32(c1, x);
    let mut p = if shape.c1_negative {
        _mm512_sub_epi64(constant, linear)
    } else {
        _mm512_add_epi64(constant, linear)
    };
    if shape.joins_exponent {
        let whole = _mm512_sll_epi64(exponent, _mm_cvtsi32_si128(shape.unit as i32 - 2));
        let sum = _mm512_add_epi64(whole, _mm512_srli_epi64::<2>(p));
        p = _mm512_xor_si512(sum, _mm512_srai_epi64::<63>(sum));
    }
    _mm512_castpd_si512(_mm512_cvtepi64_pd(p))
}

/// [`Interpolation::magnitude`] over a group.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn magnitudes<F: Wide>(k: &Group, offset: &Group, exponent: &Group) -> Group {
    let shape = F::INTERPOLATION;
    let (k, x, exponent) = (load(k, 0), load(offset, 0), load(exponent, 0));
    let large = F::TABLE.len() == 128;
    let c0 = lookup(&F::COLUMNS.c0, k, large);
    let c12 = lookup(&F::COLUMNS.c12, k, large);
    let c1 = _mm512_srli_epi32::<C2_BITS>(c12);
    let c2 = _mm512_and_si512(c12, _mm512_set1_epi32((1 << C2_BITS) - 1));
    // Both factors are below 2^15.
    let square = square(_mm512_sll_epi32(x, _mm_cvtsi32_si128(shape.align as i32)));
    let quadratic = _mm512_madd_epi16(c2, square);
    let cut = if F::COLUMNS.one_binade {
        let rest = add(shape.c2_negative, _mm512_set1_epi32(shape.r as i32), quadratic);
        cut_at_once::<F>(c0, c1, x, rest)
    } else {
        let bias = _mm512_set1_epi32((BIAS as i64 + shape.r) as i32);
        let rest = add(shape.c2_negative, bias, quadratic);
        let upper = |v: __m512i| _mm512_srli_epi64::<32>(v);
        let even = doubles::<F>(c0, c1, x, _mm512_maskz_mov_epi32(0x5555, rest), exponent);
        let odd = doubles::<F>(upper(c0), upper(c1), upper(x), upper(rest), upper(exponent));
        // Of the upper 35 bits, 32 are kept.
        let (even, odd) = (_mm512_srli_epi64::<29>(even), _mm512_slli_epi64::<3>(odd));
        let unit = if shape.joins_exponent { shape.unit - 2 } else { shape.unit };
        let bits = _mm512_mask_blend_epi32(0xaaaa, even, odd);
        _mm512_sub_epi32(bits, _mm512_set1_epi32(((1023 + unit) << 23) as i32))
    };
    let mut out = [0; GROUP];
    // SAFETY: the store is of 64 bytes, the array's, at any alignment.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), cut) };
    out
}

#[inline(always)]
fn prepare<F: Wide>(x: &Group, form: Form) -> [Group; 4] {
    let [mut k, mut offset, mut carried, mut exponent] = [[0; GROUP]; 4];
    for l in 0..GROUP {
        Entry { k: k[l], offset: offset[l], carried: carried[l] } = F::entry(x[l], form);
        exponent[l] = F::exponent(carried[l]) as u32;
    }
    [k, offset, carried, exponent]
}

#[inline(always)]
fn complete<F: Wide>(x: &Group, carried: &Group, magnitude: &Group, form: Form) -> Group {
    let mut out = [0; GROUP];
    for l in 0..GROUP {
        out[l] = F::result(x[l], carried[l], magnitude[l] as i32, form);
    }
    out
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
fn group<F: Wide>(x: &Group, ftz: bool) -> Group {
    let mut ordinary = true;
    for l in 0..GROUP {
        ordinary &= F::ordinary(x[l]);
    }
    // Each form by itself, so that it is no select inside the lanes.
    if ordinary {
        let [k, offset, carried, exponent] = prepare::<F>(x, Form::Ordinary);
        let magnitude = magnitudes::<F>(&k, &offset, &exponent);
        complete::<F>(x, &carried, &magnitude, Form::Ordinary)
    } else {
        let [k, offset, carried, exponent] =
            if ftz { prepare::<F>(x, Form::Ftz) } else { prepare::<F>(x, Form::Plain) };
        let magnitude = magnitudes::<F>(&k, &offset, &exponent);
        if ftz {
            complete::<F>(x, &carried, &magnitude, Form::Ftz)
        } else {
            complete::<F>(x, &carried, &magnitude, Form::Plain)
        }
    }
}

macro_rules! unary {
    ($($name:ident: $function:ty;)*) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), ") over a group.")]
            ///
            /// # Safety
            /// The processor has the features that the function enables.
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
            ///
            /// # Safety
            /// The processor has the features that the function enables.
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

/// Calls the macro `$callback` with the micro-ops that have a function here: `Op: function(operands);`. Their constant
/// is 1 for `.ftz`.
#[macro_export]
macro_rules! avx512_ops {
    ($callback:ident) => {
        $callback! {
            RcpApproxF32: rcp_approx(a);
            RsqrtApproxF32: rsqrt_approx(a);
            SqrtApproxF32: sqrt_approx(a);
            SinApproxF32: sin_approx(a);
            CosApproxF32: cos_approx(a);
            Lg2ApproxF32: lg2_approx(a);
            Ex2ApproxF32: ex2_approx(a);
            DivApproxF32: div_approx(a, b);
            DivFullF32: div_full(a, b);
        }
    };
}
