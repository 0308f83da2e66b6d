//! The 16-bit forms: the single-precision unit on the widened input, its result cut (not rounded) to the narrow
//! format. Proven on all 65,536 inputs of each against recordings.

use super::functions::{NAN, ex2_approx, tanh_approx};

/// Every NaN result of a 16-bit form, f16 and bf16 alike.
const NAN16: u16 = 0x7fff;

#[inline(always)]
fn widen_f16(x: u16) -> u32 {
    let sign = u32::from(x & 0x8000) << 16;
    let magnitude = u32::from(x & 0x7fff);
    // Scaling by 2^112 moves the exponent's bias and normalises subnormals in one exact multiplication.
    let finite = (f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000)).to_bits();
    let special = 0x7f80_0000 | magnitude << 13;
    sign | if magnitude >= 0x7c00 { special } else { finite }
}

#[inline(always)]
fn cut_f16(x: u32) -> u16 {
    let sign = (x >> 16 & 0x8000) as u16;
    let magnitude = x & 0x7fff_ffff;
    let exponent = (magnitude >> 23) as i32 - 112;
    let subnormal = (magnitude & 0x007f_ffff | 0x0080_0000) >> (14 - exponent).clamp(0, 31);
    let normal = (magnitude >> 13).wrapping_sub(112 << 10);
    let cut = if exponent <= 0 { subnormal } else { normal.min(0x7c00) };
    if magnitude > 0x7f80_0000 { NAN16 } else { sign | cut as u16 }
}

#[inline(always)]
fn cut_bf16(x: u32) -> u16 {
    if x == NAN { NAN16 } else { (x >> 16) as u16 }
}

/// Applies a 16-bit function to both halves of a packed register.
#[inline(always)]
fn both_halves(x: u32, f: impl Fn(u16) -> u16) -> u32 {
    u32::from(f(x as u16)) | u32::from(f((x >> 16) as u16)) << 16
}

/// `ex2.approx.f16` (PTX 9.7.4.10).
#[inline(always)]
pub fn ex2_approx_f16(x: u16) -> u16 {
    cut_f16(ex2_approx(widen_f16(x), true))
}

/// `ex2.approx.f16x2`.
#[inline(always)]
pub fn ex2_approx_f16x2(x: u32) -> u32 {
    both_halves(x, ex2_approx_f16)
}

/// `ex2.approx.ftz.bf16`.
#[inline(always)]
pub fn ex2_approx_bf16(x: u16) -> u16 {
    cut_bf16(ex2_approx(u32::from(x) << 16, true))
}

/// `ex2.approx.ftz.bf16x2`.
#[inline(always)]
pub fn ex2_approx_bf16x2(x: u32) -> u32 {
    both_halves(x, ex2_approx_bf16)
}

/// `tanh.approx.f16` (PTX 9.7.4.9).
#[inline(always)]
pub fn tanh_approx_f16(x: u16) -> u16 {
    cut_f16(tanh_approx(widen_f16(x)))
}

/// `tanh.approx.f16x2`.
#[inline(always)]
pub fn tanh_approx_f16x2(x: u32) -> u32 {
    both_halves(x, tanh_approx_f16)
}

/// `tanh.approx.bf16`.
#[inline(always)]
pub fn tanh_approx_bf16(x: u16) -> u16 {
    cut_bf16(tanh_approx(u32::from(x) << 16))
}

/// `tanh.approx.bf16x2`.
#[inline(always)]
pub fn tanh_approx_bf16x2(x: u32) -> u32 {
    both_halves(x, tanh_approx_bf16)
}
