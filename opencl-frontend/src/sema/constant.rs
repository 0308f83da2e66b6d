//! Arithmetic on constants, as the target does it.

use super::hir::Rounding;
use crate::parse::ast::BinaryOp;
use crate::types::Scalar;

/// Brings an integer into the range of its type: sign- or zero-extended.
pub fn wrap(scalar: Scalar, bits: u64) -> u64 {
    match scalar {
        Scalar::Bool => u64::from(bits != 0),
        Scalar::I8 => bits as i8 as i64 as u64,
        Scalar::U8 => u64::from(bits as u8),
        Scalar::I16 => bits as i16 as i64 as u64,
        Scalar::U16 | Scalar::F16 => u64::from(bits as u16),
        Scalar::I32 => bits as i32 as i64 as u64,
        Scalar::U32 | Scalar::F32 => u64::from(bits as u32),
        Scalar::I64 | Scalar::U64 | Scalar::F64 => bits,
    }
}

/// The value of a floating constant.
pub fn float_value(scalar: Scalar, bits: u64) -> f64 {
    match scalar {
        Scalar::F16 => half_to_f64(bits as u16),
        Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The floating constant nearest to a value.
pub fn float_bits(scalar: Scalar, value: f64) -> u64 {
    match scalar {
        Scalar::F16 => u64::from(f64_to_half(value)),
        Scalar::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

fn half_to_f64(half: u16) -> f64 {
    let sign = if half & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (i32::from(half >> 10 & 31), f64::from(half & 0x3ff));
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + mantissa) * 2f64.powi(e - 25),
    }
}

fn f64_to_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return 0x7fff;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u32;
    // A carry out of the mantissa moves into the exponent by itself.
    let biased = if steps < 1024 { steps } else { ((exponent + 14) as u32) * 1024 + steps };
    sign | biased as u16
}

/// `a op b` on constants of one type; comparisons give 0 or 1. `None` where the language leaves it undefined.
pub fn binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    use BinaryOp::*;
    if scalar.is_float() {
        let (x, y) = (float_value(scalar, a), float_value(scalar, b));
        // Double arithmetic followed by one rounding is exact rounding for single and half.
        let rounded = |value: f64| Some(canonical_nan(scalar, float_bits(scalar, value)));
        return match op {
            Lt => Some(u64::from(x < y)),
            Gt => Some(u64::from(x > y)),
            Le => Some(u64::from(x <= y)),
            Ge => Some(u64::from(x >= y)),
            Eq => Some(u64::from(x == y)),
            Ne => Some(u64::from(x != y)),
            LogicalAnd => Some(u64::from(x != 0.0 && y != 0.0)),
            LogicalOr => Some(u64::from(x != 0.0 || y != 0.0)),
            Add => rounded(x + y),
            Sub => rounded(x - y),
            Mul => rounded(x * y),
            Div => rounded(x / y),
            Rem | Shl | Shr | And | Or | Xor => None,
        };
    }
    let order = if scalar.is_signed() { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) };
    let width = scalar.bits().max(8);
    let count = (b & u64::from(width - 1)) as u32;
    let value = match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        Div | Rem if b == 0 => return None,
        Div if scalar.is_signed() => (a as i64).wrapping_div(b as i64) as u64,
        Div => a / b,
        Rem if scalar.is_signed() => (a as i64).wrapping_rem(b as i64) as u64,
        Rem => a % b,
        Shl => a << count,
        Shr if scalar.is_signed() => ((a as i64) >> count) as u64,
        Shr => a >> count,
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Lt => return Some(u64::from(order.is_lt())),
        Gt => return Some(u64::from(order.is_gt())),
        Le => return Some(u64::from(order.is_le())),
        Ge => return Some(u64::from(order.is_ge())),
        Eq => return Some(u64::from(a == b)),
        Ne => return Some(u64::from(a != b)),
        LogicalAnd => return Some(u64::from(a != 0 && b != 0)),
        LogicalOr => return Some(u64::from(a != 0 || b != 0)),
    };
    Some(wrap(scalar, value))
}

/// PTX operations give one NaN in single precision.
fn canonical_nan(scalar: Scalar, bits: u64) -> u64 {
    match scalar {
        Scalar::F32 if f32::from_bits(bits as u32).is_nan() => 0x7fff_ffff,
        Scalar::F16 if bits & 0x7fff > 0x7c00 => 0x7fff,
        _ => bits,
    }
}

/// Converts a constant. `None` if the result depends on the target (out of range without saturation).
pub fn convert(
    from: Scalar,
    to: Scalar,
    bits: u64,
    saturate: bool,
    rounding: Rounding,
) -> Option<u64> {
    if to == Scalar::Bool {
        return Some(u64::from(if from.is_float() {
            float_value(from, bits) != 0.0
        } else {
            bits != 0
        }));
    }
    match (from.is_float(), to.is_float()) {
        (false, false) => {
            if !saturate {
                return Some(wrap(to, bits));
            }
            let value = if from.is_signed() { i128::from(bits as i64) } else { i128::from(bits) };
            Some(clamp(to, value) as u64)
        }
        (true, false) => {
            let value = float_value(from, bits);
            let rounded = match rounding {
                Rounding::Default | Rounding::Zero => value.trunc(),
                Rounding::NearestEven => value.round_ties_even(),
                Rounding::Up => value.ceil(),
                Rounding::Down => value.floor(),
            };
            if value.is_nan() {
                return saturate.then_some(0);
            }
            let clamped = clamp(to, rounded.clamp(-1e30, 1e30) as i128);
            if !saturate && clamped as f64 != rounded {
                return None;
            }
            Some(clamped as u64)
        }
        (_, true) => {
            if !matches!(rounding, Rounding::Default | Rounding::NearestEven) {
                return None;
            }
            if from.is_float() {
                return Some(float_bits(to, float_value(from, bits)));
            }
            Some(match to {
                // From the integer in one rounding.
                Scalar::F32 if from.is_signed() => u64::from((bits as i64 as f32).to_bits()),
                Scalar::F32 => u64::from((bits as f32).to_bits()),
                _ if from.is_signed() => float_bits(to, bits as i64 as f64),
                _ => float_bits(to, bits as f64),
            })
        }
    }
}

fn clamp(to: Scalar, value: i128) -> i128 {
    let (low, high) = match to {
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            let half = 1i128 << (to.bits() - 1);
            (-half, half - 1)
        }
        _ => (0, (1i128 << to.bits()) - 1),
    };
    value.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for half in 0..=0xffffu16 {
            let value = half_to_f64(half);
            if !value.is_nan() {
                assert_eq!(f64_to_half(value), half);
            }
        }
        assert_eq!(f64_to_half(65519.9), 0x7bff);
        assert_eq!(f64_to_half(65520.0), 0x7c00);
    }

    #[test]
    fn conversions() {
        let c = |f, t, v: u64| convert(f, t, v, false, Rounding::Default);
        assert_eq!(c(Scalar::I32, Scalar::U8, 300), Some(44));
        assert_eq!(
            c(Scalar::F32, Scalar::I32, u64::from((-1.75f32).to_bits())),
            Some(-1i64 as u64)
        );
        assert_eq!(c(Scalar::F32, Scalar::U8, u64::from(300f32.to_bits())), None);
        let sat = |v: f32| {
            convert(Scalar::F32, Scalar::U8, u64::from(v.to_bits()), true, Rounding::NearestEven)
        };
        assert_eq!(
            (sat(300.0), sat(-1.0), sat(2.5), sat(f32::NAN)),
            (Some(255), Some(0), Some(2), Some(0))
        );
    }
}
