//! Which pure micro-ops have code of their own, and where their results come out.

use ptx_isa::num::Rnd;
use ptx_isa::num::mode::Mode;
use ptx_isa::uop::Op;

/// Whether [`crate::ops::Emit::pure`] has code for `op` with the number `k`, whatever its operands.
pub(crate) fn native(op: Op, k: u32) -> bool {
    use Op::*;
    if matches!(op, DivF32 | SqrtF32) {
        return k == Mode::NONE.rnd(Rnd::Rn).0;
    }
    matches!(
        op,
        MovP | NotP
            | AndP
            | OrP
            | XorP
            | AndNotP
            | SelP
            | MovW
            | MovD
            | ZextWD
            | SextWD
            | TruncDW
            | HighDW
            | PackWD
            | Zext8
            | Zext16
            | Sext8
            | Sext16
            | Pack16
            | High16
            | SelW
            | SelD
            | BoolW
            | AddW
            | SubW
            | MulW
            | MadW
            | MulWideU
            | MulWideS
            | MadWideU
            | MadWideS
            | AndW
            | OrW
            | XorW
            | NotW
            | MinUW
            | MaxUW
            | MinSW
            | MaxSW
            | AbsW
            | AddD
            | SubD
            | MulD
            | AndD
            | OrD
            | XorD
            | NotD
            | EqW
            | NeW
            | LtUW
            | LeUW
            | LtSW
            | LeSW
            | EqD
            | NeD
            | LtSD
            | LeSD
            | AddF32
            | SubF32
            | MulF32
            | FmaF32
            | AbsF32
            | NegF32
            | MinF32
            | MaxF32
            | EqF32
            | NeF32
            | LtF32
            | LeF32
            | NumF32
            | SatF32
            | FlushF32
            | AddFtzF32
            | SubFtzF32
            | EqF64
            | NeF64
            | LtF64
            | LeF64
            | NumF64
            | CvtF32S32
            | CvtF32U32
            | CvtRzS32F32
            | AddF64
            | SubF64
            | MulF64
            | FmaF64
            | DivF64
            | SqrtF64
    )
}

/// Whether [`crate::ops::Emit::approximate`] has code for `op`.
pub(crate) fn approximated(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        RcpApproxF32
            | RsqrtApproxF32
            | SqrtApproxF32
            | SinApproxF32
            | CosApproxF32
            | Lg2ApproxF32
            | Ex2ApproxF32
            | TanhApproxF32
            | DivApproxF32
            | DivFullF32
    )
}

/// Whether the result of `op` comes out of a vector register.
pub(crate) fn makes_number(op: Op) -> bool {
    use Op::*;
    exact_nan(op) || matches!(op, AddF32 | SubF32 | MulF32 | FmaF32)
}

/// Whether a NaN result must be made again by the micro-op's own function.
pub(crate) fn exact_nan(op: Op) -> bool {
    use Op::*;
    matches!(op, AddF64 | SubF64 | MulF64 | FmaF64 | DivF64 | SqrtF64)
}
