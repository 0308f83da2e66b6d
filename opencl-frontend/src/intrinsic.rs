//! Operations that the library calls by a name of their own, `__ptx_…`: one line each.

use crate::ir::{self, BinOp, Sreg, TernOp, UnOp};
use crate::types::Scalar;
use BinOp::*;
use Operation::*;
use UnOp::*;

/// A function below the library.
#[derive(Debug, PartialEq)]
pub struct Intrinsic {
    name: &'static str,
    /// What it does.
    pub operation: Operation,
}

/// What an intrinsic does. Its operands are scalars of one type, which is the type of the result but for `Count`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Reads a special register.
    Register(Sreg),
    /// Waits for the work-group.
    Barrier,
    /// Orders memory: device-wide, or within the work-group.
    Fence {
        /// Device-wide.
        device: bool,
    },
    /// What the threads of a warp do together, on `uint`.
    Warp(ir::Warp),
    /// Of one value.
    Unary(Forms<UnOp>),
    /// A number of bits of an integer, as `int`.
    Count(UnOp),
    /// Of two values.
    Binary(Forms<BinOp>),
    /// Of three values.
    Ternary(Forms<TernOp>),
    /// A floating-point product and a sum that may be fused.
    MultiplyAdd,
}

/// The operation for each kind of operands; `None` where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forms<T> {
    float: Option<T>,
    signed: Option<T>,
    unsigned: Option<T>,
}

impl<T: Copy> Forms<T> {
    /// The form for operands of type `scalar`.
    pub fn of(&self, scalar: Scalar) -> Option<T> {
        match (scalar.is_float(), scalar.is_signed()) {
            (true, _) => self.float,
            (false, true) => self.signed,
            (false, false) => self.unsigned,
        }
    }
}

const fn float<T: Copy>(op: T) -> Forms<T> {
    Forms { float: Some(op), signed: None, unsigned: None }
}

const fn integer<T: Copy>(signed: T, unsigned: T) -> Forms<T> {
    Forms { float: None, signed: Some(signed), unsigned: Some(unsigned) }
}

const fn each<T: Copy>(float: T, signed: T, unsigned: T) -> Forms<T> {
    Forms { float: Some(float), signed: Some(signed), unsigned: Some(unsigned) }
}

const fn row(name: &'static str, operation: Operation) -> Intrinsic {
    Intrinsic { name, operation }
}

/// All intrinsics: what follows `__ptx_` in the name, and the operation.
static INTRINSICS: &[Intrinsic] = &[
    row("tid_x", Register(Sreg::Tid(0))),
    row("tid_y", Register(Sreg::Tid(1))),
    row("tid_z", Register(Sreg::Tid(2))),
    row("ntid_x", Register(Sreg::Ntid(0))),
    row("ntid_y", Register(Sreg::Ntid(1))),
    row("ntid_z", Register(Sreg::Ntid(2))),
    row("ctaid_x", Register(Sreg::Ctaid(0))),
    row("ctaid_y", Register(Sreg::Ctaid(1))),
    row("ctaid_z", Register(Sreg::Ctaid(2))),
    row("nctaid_x", Register(Sreg::Nctaid(0))),
    row("nctaid_y", Register(Sreg::Nctaid(1))),
    row("nctaid_z", Register(Sreg::Nctaid(2))),
    row("envreg3", Register(Sreg::EnvReg(3))),
    row("envreg4", Register(Sreg::EnvReg(4))),
    row("envreg5", Register(Sreg::EnvReg(5))),
    row("envreg6", Register(Sreg::EnvReg(6))),
    row("envreg7", Register(Sreg::EnvReg(7))),
    row("envreg8", Register(Sreg::EnvReg(8))),
    row("envreg9", Register(Sreg::EnvReg(9))),
    row("envreg10", Register(Sreg::EnvReg(10))),
    row("envreg11", Register(Sreg::EnvReg(11))),
    row("envreg12", Register(Sreg::EnvReg(12))),
    row("envreg13", Register(Sreg::EnvReg(13))),
    row("envreg14", Register(Sreg::EnvReg(14))),
    row("envreg15", Register(Sreg::EnvReg(15))),
    row("envreg16", Register(Sreg::EnvReg(16))),
    row("envreg17", Register(Sreg::EnvReg(17))),
    row("envreg18", Register(Sreg::EnvReg(18))),
    row("barrier", Barrier),
    row("fence_block", Fence { device: false }),
    row("fence_device", Fence { device: true }),
    row("laneid", Register(Sreg::Lane)),
    row("shfl_idx", Warp(ir::Warp::Index)),
    row("shfl_up", Warp(ir::Warp::Up)),
    row("shfl_down", Warp(ir::Warp::Down)),
    row("shfl_xor", Warp(ir::Warp::Xor)),
    row("ballot", Warp(ir::Warp::Ballot)),
    row("activemask", Warp(ir::Warp::Active)),
    row("bar_warp", Warp(ir::Warp::Sync)),
    row("fma", Ternary(float(TernOp::Fma))),
    row("mad", MultiplyAdd),
    row("mad24", Ternary(integer(TernOp::SMad24, TernOp::UMad24))),
    row("sqrt_rn", Unary(float(SqrtRn))),
    row("sqrt_approx", Unary(float(SqrtApprox))),
    row("rsqrt_approx", Unary(float(RsqrtApprox))),
    row("rcp_approx", Unary(float(RcpApprox))),
    row("rcp_rn", Unary(float(RcpRn))),
    row("sin_approx", Unary(float(SinApprox))),
    row("cos_approx", Unary(float(CosApprox))),
    row("ex2_approx", Unary(float(Ex2Approx))),
    row("lg2_approx", Unary(float(Lg2Approx))),
    row("floor", Unary(float(FloorF))),
    row("ceil", Unary(float(CeilF))),
    row("trunc", Unary(float(TruncF))),
    row("rint", Unary(float(RintF))),
    row("saturate", Unary(float(Saturate))),
    row("abs", Unary(Forms { float: Some(FAbs), signed: Some(SAbs), unsigned: None })),
    row("brev", Unary(integer(Brev, Brev))),
    row("popc", Count(Popc)),
    row("clz", Count(Clz)),
    row("div_rn", Binary(float(FDiv))),
    row("div_full", Binary(float(FDivFull))),
    row("div_approx", Binary(float(FDivApprox))),
    row("add_rz", Binary(float(FAddRz))),
    row("min", Binary(each(FMin, SMin, UMin))),
    row("max", Binary(each(FMax, SMax, UMax))),
    row("mulhi", Binary(integer(SMulHi, UMulHi))),
    row("mul24", Binary(integer(SMul24, UMul24))),
];

/// The intrinsic of a name.
pub fn find(name: &str) -> Option<&'static Intrinsic> {
    let name = name.strip_prefix("__ptx_")?;
    INTRINSICS.iter().find(|i| i.name == name)
}

impl Operation {
    /// The number of operands.
    pub fn arity(&self) -> usize {
        match self {
            Register(_) | Barrier | Fence { .. } | Warp(ir::Warp::Active) => 0,
            Unary(_) | Count(_) | Warp(ir::Warp::Sync) => 1,
            Binary(_) | Warp(ir::Warp::Ballot) => 2,
            Ternary(_)
            | MultiplyAdd
            | Warp(ir::Warp::Index | ir::Warp::Up | ir::Warp::Down | ir::Warp::Xor) => 3,
        }
    }

    /// Whether it takes operands of type `scalar`.
    pub fn takes(&self, scalar: Scalar) -> bool {
        match self {
            Register(_) | Barrier | Fence { .. } | Warp(ir::Warp::Active) => false,
            Warp(_) => scalar == Scalar::U32,
            Unary(forms) => forms.of(scalar).is_some(),
            Binary(forms) => forms.of(scalar).is_some(),
            Ternary(forms) => forms.of(scalar).is_some(),
            Count(_) => scalar.is_int(),
            MultiplyAdd => scalar.is_float(),
        }
    }

    /// Type of the result for operands of type `scalar`; `None` for no result.
    pub fn result(&self, scalar: Scalar) -> Option<Scalar> {
        match self {
            Barrier | Fence { .. } | Warp(ir::Warp::Sync) => None,
            Register(_) | Warp(_) => Some(Scalar::U32),
            Count(_) => Some(Scalar::I32),
            Unary(_) | Binary(_) | Ternary(_) | MultiplyAdd => Some(scalar),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_every_operation_takes_something() {
        for (i, row) in INTRINSICS.iter().enumerate() {
            assert!(INTRINSICS[..i].iter().all(|other| other.name != row.name), "{}", row.name);
            assert_eq!(find(&format!("__ptx_{}", row.name)), Some(row));
            let takes = Scalar::ALL.into_iter().filter(|s| row.operation.takes(*s)).count();
            assert_eq!(takes > 0, row.operation.arity() > 0, "{}", row.name);
        }
    }
}
