//! Numeric conversions between scalars.

use super::state::{Lower, ty_of};
use crate::ir::{BinOp, Op, Round, Ty, UnOp, Val};
use crate::sema::hir::Rounding;
use crate::types::Scalar;

impl Lower<'_> {
    /// Brings a 32-bit value into the range of a narrow integer type.
    pub(super) fn normalize(&mut self, v: Val, scalar: Scalar) -> Val {
        let op = match scalar {
            Scalar::I8 => UnOp::SExt8,
            Scalar::U8 => UnOp::ZExt8,
            Scalar::I16 => UnOp::SExt16,
            Scalar::U16 => UnOp::ZExt16,
            Scalar::Bool
            | Scalar::I32
            | Scalar::U32
            | Scalar::I64
            | Scalar::U64
            | Scalar::F16
            | Scalar::F32
            | Scalar::F64 => return v,
        };
        self.emit(Op::Un(op, v), Ty::I32)
    }

    pub(super) fn convert(
        &mut self,
        v: Val,
        from: Scalar,
        to: Scalar,
        saturate: bool,
        rounding: Rounding,
    ) -> Val {
        if from == to {
            return v;
        }
        let target = ty_of(to);
        if to == Scalar::Bool {
            return self.nonzero(v);
        }
        if from == Scalar::Bool {
            let v = self.bool_to_int(v, 1);
            return self.convert(v, Scalar::I32, to, false, rounding);
        }
        match (from.is_float(), to.is_float()) {
            (false, false) if saturate => self.saturate_int(v, from, to),
            (false, false) => self.resize(v, from, to),
            (false, true) => {
                let round = match rounding {
                    Rounding::Default | Rounding::NearestEven => Round::Nearest,
                    Rounding::Zero => Round::Zero,
                    Rounding::Up => Round::Up,
                    Rounding::Down => Round::Down,
                };
                let op = if from.is_signed() { UnOp::SToF(round) } else { UnOp::UToF(round) };
                self.emit(Op::Un(op, v), target)
            }
            (true, false) => {
                let round = match rounding {
                    Rounding::Default | Rounding::Zero => Round::Zero,
                    Rounding::NearestEven => Round::Nearest,
                    Rounding::Up => Round::Up,
                    Rounding::Down => Round::Down,
                };
                // `cvt` to 32 and 64 bits saturates; narrower targets are clamped after it. Of NaN it makes 0, as
                // 6.2.3.3 asks of saturated conversions, only from single precision to 32 bits.
                let op = if to.is_signed() { UnOp::FToS(round) } else { UnOp::FToU(round) };
                let wide = self.emit(Op::Un(op, v), target);
                let zeroes = from == Scalar::F32 && to.size() < 8;
                let wide = if saturate && !zeroes { self.zero_if_nan(v, wide) } else { wide };
                if to.size() >= 4 {
                    return wide;
                }
                if saturate {
                    let same = if to.is_signed() { Scalar::I32 } else { Scalar::U32 };
                    return self.saturate_int(wide, same, to);
                }
                self.normalize(wide, to)
            }
            (true, true) => {
                let round = match rounding {
                    Rounding::Default | Rounding::NearestEven => Round::Nearest,
                    Rounding::Zero => Round::Zero,
                    Rounding::Up => Round::Up,
                    Rounding::Down => Round::Down,
                };
                self.emit(Op::Un(UnOp::FToF(round), v), target)
            }
        }
    }

    fn zero_if_nan(&mut self, v: Val, converted: Val) -> Val {
        let ordered = self.emit(Op::Cmp(crate::ir::Cmp::FEq, v, v), Ty::Pred);
        let ty = self.f.ty(converted);
        let zero = self.constant(ty, 0);
        self.emit(Op::Select(ordered, converted, zero), ty)
    }

    fn resize(&mut self, v: Val, from: Scalar, to: Scalar) -> Val {
        match (from.size() == 8, to.size() == 8) {
            (false, true) => {
                let op = if from.is_signed() { UnOp::SExt64 } else { UnOp::ZExt64 };
                self.emit(Op::Un(op, v), Ty::I64)
            }
            (true, false) => {
                let low = self.emit(Op::Un(UnOp::Trunc32, v), Ty::I32);
                self.normalize(low, to)
            }
            (true, true) => v,
            (false, false) => self.normalize(v, to),
        }
    }

    /// Clamps an integer to the range of another integer type.
    fn saturate_int(&mut self, v: Val, from: Scalar, to: Scalar) -> Val {
        let ty = ty_of(from);
        let signed = from.is_signed();
        let (low, high): (i128, i128) = range(to);
        let (from_low, from_high) = range(from);
        let mut v = v;
        if low > from_low {
            let bound = self.constant(ty, low as u64);
            v = self.emit(Op::Bin(if signed { BinOp::SMax } else { BinOp::UMax }, v, bound), ty);
        }
        if high < from_high {
            let bound = self.constant(ty, high as u64);
            v = self.emit(Op::Bin(if signed { BinOp::SMin } else { BinOp::UMin }, v, bound), ty);
        }
        self.resize(v, from, to)
    }
}

fn range(scalar: Scalar) -> (i128, i128) {
    let bits = scalar.bits();
    if scalar.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}
