//! The double-precision forms. `.ftz` is the single-precision table on the high word, cut to 21 bits, with a zero
//! low word; the input's low word does not count. The plain `rsqrt` refines that by one step.

use super::datapath::cut_wide;
use super::functions::NAN;
use super::tables;

const INFINITY: u32 = 0x7ff0_0000;
const SIGN: u32 = 0x8000_0000;

/// A double's high word from a cut magnitude and exponent; zero where the result would be subnormal.
#[inline(always)]
fn scaled(magnitude: i32, exponent: i32) -> u32 {
    let bits = magnitude + ((exponent + 1023) << 20);
    if bits < 0x0010_0000 { 0 } else { bits as u32 }
}

/// `rcp.approx.ftz.f64` (PTX 9.7.3.14): 1/x to 21 bits.
#[inline(always)]
pub fn rcp_approx_f64(x: u64) -> u64 {
    let high = (x >> 32) as u32;
    let (sign, e, m) = (high & SIGN, (high >> 20 & 0x7ff) as i32, high & 0x000f_ffff);
    let offset = (m & 0x1fff) << 3;
    let p = tables::RCP_INTERPOLATION.sum(tables::RCP[(m >> 13) as usize], offset);
    let r = match (e, m) {
        (0, _) => INFINITY | sign,
        (0x7ff, 0) => sign,
        (0x7ff, _) => NAN,
        _ => scaled(cut_wide(p, tables::RCP_INTERPOLATION.unit), 1023 - e) | sign,
    };
    u64::from(r) << 32
}

/// `rsqrt.approx.ftz.f64` (PTX 9.7.3.17): 1/sqrt(x) to 21 bits.
#[inline(always)]
pub fn rsqrt_approx_ftz_f64(x: u64) -> u64 {
    let high = (x >> 32) as u32;
    let (sign, e, m) = (high & SIGN, (high >> 20 & 0x7ff) as i32, high & 0x000f_ffff);
    let offset = (m & 0x3fff) << 3;
    let k = (e & 1) as usize * 64 + (m >> 14) as usize;
    let p = tables::RSQRT_INTERPOLATION.sum(tables::RSQRT[k], offset);
    // Powers of four are exact, as in single precision.
    let magnitude =
        if k == 64 && offset == 0 { 0 } else { cut_wide(p, tables::RSQRT_INTERPOLATION.unit) };
    let r = match (e, m) {
        (0, _) => INFINITY | sign,
        (0x7ff, 0) if sign == 0 => 0,
        (0x7ff, _) => NAN,
        _ if sign != 0 => NAN,
        _ => scaled(magnitude, -((e - 1023) >> 1)),
    };
    u64::from(r) << 32
}

/// `rsqrt.approx.f64`: the `.ftz` form's result refined by one third-order step in ordinary double arithmetic,
/// subnormals scaled. The rule was fitted to the recorded rows and equals all of them.
#[inline(always)]
pub fn rsqrt_approx_f64(bits: u64) -> u64 {
    const QUIET: u64 = 0x0008_0000_0000_0000;
    let x = f64::from_bits(bits);
    if x.is_nan() {
        return bits | QUIET;
    }
    if x == 0.0 {
        return (1.0 / x).to_bits();
    }
    if x < 0.0 {
        return 0xfff8_0000_0000_0000;
    }
    if x == f64::INFINITY {
        return 0;
    }
    // Powers of four in and out: the step itself does not see the scaling.
    let (x, unscale) = if x < f64::MIN_POSITIVE {
        (x * (1u64 << 54) as f64, (1u64 << 27) as f64)
    } else {
        (x, 1.0)
    };
    let seed = f64::from_bits(rsqrt_approx_ftz_f64(x.to_bits()));
    let error = x.mul_add(-(seed * seed), 1.0);
    let step = error.mul_add(0.375, 0.5);
    (step.mul_add(error * seed, seed) * unscale).to_bits()
}
