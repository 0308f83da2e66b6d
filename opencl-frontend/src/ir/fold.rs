//! Operations on constants, with the meaning that they have on the target.

use super::op::{BinOp, Cmp, Round, Ty, UnOp};

pub(super) fn sign(c: u64, ty: Ty) -> bool {
    c >> (ty.bits() - 1) & 1 == 1
}

pub(super) fn is_signed_power(c: u64, ty: Ty) -> bool {
    c.is_power_of_two() && c > 1 && !sign(c, ty)
}

pub(super) fn one(ty: Ty) -> u64 {
    match ty {
        Ty::F16 => 0x3c00,
        Ty::F32 => u64::from(1f32.to_bits()),
        Ty::F64 => 1f64.to_bits(),
        Ty::None | Ty::Pred | Ty::I32 | Ty::I64 => 1,
    }
}

pub(super) fn exact_reciprocal(ty: Ty, c: u64) -> Option<u64> {
    match ty {
        Ty::F32 => {
            let v = f32::from_bits(c as u32);
            let exponent = (c >> 23 & 0xff) as i32;
            (c & 0x7f_ffff == 0 && (4..250).contains(&exponent))
                .then(|| u64::from((1.0 / v).to_bits()))
        }
        Ty::F64 => {
            let exponent = (c >> 52 & 0x7ff) as i32;
            (c & 0xf_ffff_ffff_ffff == 0 && (4..2040).contains(&exponent))
                .then(|| (1.0 / f64::from_bits(c)).to_bits())
        }
        _ => None,
    }
}

pub(super) fn is_nan(ty: Ty, bits: u64) -> bool {
    match ty {
        Ty::F16 => bits & 0x7fff > 0x7c00,
        Ty::F32 => f32::from_bits(bits as u32).is_nan(),
        Ty::F64 => f64::from_bits(bits).is_nan(),
        Ty::None | Ty::Pred | Ty::I32 | Ty::I64 => false,
    }
}

fn signed(ty: Ty, v: u64) -> i64 {
    if ty == Ty::I32 { i64::from(v as u32 as i32) } else { v as i64 }
}

/// The result of an operation on constants; `None` where it is left to the target.
pub fn eval_bin(op: BinOp, ty: Ty, a: u64, b: u64) -> Option<u64> {
    use BinOp::*;
    let (sa, sb) = (signed(ty, a), signed(ty, b));
    let bits = ty.bits();
    let count = b.min(u64::from(bits)) as u32;
    let v = match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        SMulWide => sa.wrapping_mul(sb) as u64,
        UMulWide => a.wrapping_mul(b),
        SMulHi => ((i128::from(sa) * i128::from(sb)) >> bits) as u64,
        UMulHi => ((u128::from(a) * u128::from(b)) >> bits) as u64,
        SMul24 | UMul24 => {
            let low = |v: u64| {
                if op == SMul24 {
                    i64::from(((v as u32) << 8) as i32 >> 8)
                } else {
                    (v & 0xff_ffff) as i64
                }
            };
            low(a).wrapping_mul(low(b)) as u64
        }
        SDiv | SRem
            if sb == 0
                || (sb == -1 && sa == if bits == 32 { i64::from(i32::MIN) } else { i64::MIN }) =>
        {
            return None;
        }
        UDiv | URem if b == 0 => return None,
        SDiv => sa.wrapping_div(sb) as u64,
        SRem => sa.wrapping_rem(sb) as u64,
        UDiv => a / b,
        URem => a % b,
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => a.checked_shl(count).filter(|_| count < bits).unwrap_or(0),
        LShr => a.checked_shr(count).filter(|_| count < bits).unwrap_or(0),
        AShr => (sa >> count.min(bits - 1)) as u64,
        Rotl => u64::from((a as u32).rotate_left(b as u32 & 31)),
        SMin => sa.min(sb) as u64,
        SMax => sa.max(sb) as u64,
        UMin => a.min(b),
        UMax => a.max(b),
        FAdd | FSub | FMul | FDiv | FMin | FMax => return eval_float(op, ty, a, b),
        FDivFull | FDivApprox | FAddRz => return None,
    };
    let result = if matches!(op, SMulWide | UMulWide) { v } else { v & ty.mask() };
    Some(result)
}

fn eval_float(op: BinOp, ty: Ty, a: u64, b: u64) -> Option<u64> {
    // What is said of one width holds for the other.
    macro_rules! eval {
        ($float:ident, $bits:ident) => {{
            let (x, y) = ($float::from_bits(a as $bits), $float::from_bits(b as $bits));
            if x.is_nan() || y.is_nan() {
                return None;
            }
            let r = match op {
                BinOp::FAdd => x + y,
                BinOp::FSub => x - y,
                BinOp::FMul => x * y,
                BinOp::FDiv => x / y,
                _ if x == y => return None,
                BinOp::FMin => x.min(y),
                _ => x.max(y),
            };
            u64::from(r.to_bits())
        }};
    }
    let v = match ty {
        Ty::F32 => eval!(f32, u32),
        Ty::F64 => eval!(f64, u64),
        _ => return None,
    };
    (!is_nan(ty, v)).then_some(v)
}

/// The result of a conversion or unary operation on a constant.
pub fn eval_un(op: UnOp, from: Ty, to: Ty, a: u64) -> Option<u64> {
    use UnOp::*;
    let v = match op {
        Neg => a.wrapping_neg(),
        Not => !a,
        FNeg => a ^ 1 << (from.bits() - 1),
        FAbs => a & !(1 << (from.bits() - 1)),
        SAbs => signed(from, a).wrapping_abs() as u64,
        SExt64 => a as u32 as i32 as i64 as u64,
        ZExt64 | Trunc32 => a,
        SExt8 => a as i8 as i64 as u64,
        ZExt8 => u64::from(a as u8),
        SExt16 => a as i16 as i64 as u64,
        ZExt16 => u64::from(a as u16),
        Bitcast => a,
        Popc => u64::from(a.count_ones()),
        Clz => u64::from(a.leading_zeros() - (64 - from.bits())),
        Brev => a.reverse_bits() >> (64 - from.bits()),
        SToF(Round::Nearest) | UToF(Round::Nearest) => {
            let signed_source = matches!(op, SToF(_));
            let s = signed(from, a);
            match (to, signed_source) {
                (Ty::F32, true) => u64::from((s as f32).to_bits()),
                (Ty::F32, false) => u64::from((a as f32).to_bits()),
                (Ty::F64, true) => (s as f64).to_bits(),
                (Ty::F64, false) => (a as f64).to_bits(),
                _ => return None,
            }
        }
        FToF(Round::Nearest) => match (from, to) {
            (Ty::F32, Ty::F64) if !is_nan(from, a) => f64::from(f32::from_bits(a as u32)).to_bits(),
            (Ty::F64, Ty::F32) if !is_nan(from, a) => {
                u64::from((f64::from_bits(a) as f32).to_bits())
            }
            _ => return None,
        },
        FToS(Round::Zero) | FToU(Round::Zero) => {
            let x = match from {
                Ty::F32 => f64::from(f32::from_bits(a as u32)),
                Ty::F64 => f64::from_bits(a),
                _ => return None,
            };
            if x.is_nan() {
                return None;
            }
            // Rust's casts saturate, as `cvt` does.
            match (op, to) {
                (FToS(_), Ty::I32) => x as i32 as u64,
                (FToS(_), _) => x as i64 as u64,
                (_, Ty::I32) => u64::from(x as u32),
                _ => x as u64,
            }
        }
        _ => return None,
    };
    Some(v & to.mask())
}

/// The result of a comparison of constants.
pub fn eval_cmp(c: Cmp, ty: Ty, a: u64, b: u64) -> Option<bool> {
    use Cmp::*;
    if ty.is_float() {
        let value = |v: u64| match ty {
            Ty::F32 => Some(f64::from(f32::from_bits(v as u32))),
            Ty::F64 => Some(f64::from_bits(v)),
            _ => None,
        };
        let order = value(a)?.partial_cmp(&value(b)?);
        return Some(match c {
            FEq => order.is_some_and(|o| o.is_eq()),
            FNe => order.is_none_or(|o| o.is_ne()),
            FLt => order.is_some_and(|o| o.is_lt()),
            FLe => order.is_some_and(|o| o.is_le()),
            FGt => order.is_some_and(|o| o.is_gt()),
            FGe => order.is_some_and(|o| o.is_ge()),
            FULt => order.is_none_or(|o| o.is_lt()),
            FULe => order.is_none_or(|o| o.is_le()),
            FUGt => order.is_none_or(|o| o.is_gt()),
            FUGe => order.is_none_or(|o| o.is_ge()),
            _ => return None,
        });
    }
    let (s, u) = (signed(ty, a).cmp(&signed(ty, b)), a.cmp(&b));
    Some(match c {
        Eq => a == b,
        Ne => a != b,
        SLt => s.is_lt(),
        SLe => s.is_le(),
        SGt => s.is_gt(),
        SGe => s.is_ge(),
        ULt => u.is_lt(),
        ULe => u.is_le(),
        UGt => u.is_gt(),
        UGe => u.is_ge(),
        _ => return None,
    })
}
