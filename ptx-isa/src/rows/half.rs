//! Arithmetic of `.f16` and `.bf16` (PTX ISA 9.7.4).

use super::float::rounding;
use crate::class;
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::num::mode::Mode;
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::types::{Ty, ptx};
use crate::uop::Op;

pub(super) const F16: (&str, &str) = ("type", ".f16 .f16x2");
pub(super) const BF16: (&str, &str) = ("type", ".bf16 .bf16x2");
const RN: (&str, &str) = ("rnd", ".rn");

const ADD: Row = Row {
    does: "Adds numbers of 16 bits, or two pairs of them.",
    section: "9.7.4.1",
    class: class::half,
    op: Operation::Add,
    ..ROW
};
const SUB: Row = Row {
    does: "Subtracts numbers of 16 bits, or two pairs of them.",
    section: "9.7.4.2",
    class: class::half,
    op: Operation::Sub,
    ..ROW
};
const MUL: Row = Row {
    does: "Multiplies numbers of 16 bits, or two pairs of them.",
    section: "9.7.4.3",
    class: class::half,
    op: Operation::Mul,
    ..ROW
};
const FMA: Row = Row {
    does: "Multiplies and adds numbers of 16 bits with a single rounding.",
    section: "9.7.4.4",
    class: class::half,
    op: Operation::Fma,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add{.rnd}{.ftz}{.sat}.type d, a, b",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Add)),
        ..ADD
    },
    Row {
        syntax: "add{.rnd}.type d, a, b",
        sets: &[RN, BF16],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Add)),
        ..ADD
    },
    Row {
        syntax: "sub{.rnd}{.ftz}{.sat}.type d, a, b",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Sub)),
        ..SUB
    },
    Row {
        syntax: "sub{.rnd}.type d, a, b",
        sets: &[RN, BF16],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Sub)),
        ..SUB
    },
    Row {
        syntax: "mul{.rnd}{.ftz}{.sat}.type d, a, b",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Mul)),
        ..MUL
    },
    Row {
        syntax: "mul{.rnd}.type d, a, b",
        sets: &[RN, BF16],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Mul)),
        ..MUL
    },
    Row {
        syntax: "fma.rnd{.ftz}{.sat}{.relu}.type d, a, b, c",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        floors: &[floor(".relu", ptx(7, 0), 80)],
        check: Some(|m: &Match| {
            let both = m.has(".sat") && m.has(".relu");
            if both { Err("modifier .relu cannot be combined with .sat".into()) } else { Ok(()) }
        }),
        sem: Sem::Ops(|x| arithmetic(x, Hop::Fma)),
        ..FMA
    },
    Row {
        syntax: "fma.rnd{.relu}.type d, a, b, c",
        sets: &[RN, BF16],
        since: ptx(7, 0),
        sm: 80,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Fma)),
        ..FMA
    },
    Row {
        // Not in the manual; what ptxas 13.5 makes of it, see `directed`.
        syntax: "fma.rnd{.oob}{.relu}.type d, a, b, c",
        sets: &[("rnd", ".rz .rm .rp"), BF16],
        floors: &[floor(".oob", ptx(8, 1), 90)],
        since: ptx(7, 0),
        sm: 80,
        sem: Sem::Ops(directed),
        ..FMA
    },
    Row {
        syntax: "fma.rnd.oob{.relu}.type d, a, b, c",
        sets: &[RN, ("type", ".f16 .f16x2 .bf16 .bf16x2")],
        since: ptx(8, 1),
        sm: 90,
        sem: Sem::Ops(|x| arithmetic(x, Hop::FmaOob)),
        ..FMA
    },
];

/// An operation on halves.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Hop {
    Add,
    Sub,
    Mul,
    Fma,
    FmaOob,
}

/// Format and packing of `ty`.
pub(super) fn half_mode(ty: Ty) -> Mode {
    Mode::NONE
        .bf16(matches!(ty, Ty::Bf16 | Ty::Bf16x2))
        .packed(matches!(ty, Ty::F16x2 | Ty::Bf16x2))
}

fn arithmetic(x: &mut Cx, op: Hop) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let b = match (op, ty) {
        (Hop::Sub, Ty::F16x2 | Ty::Bf16x2) => x.op2(Op::XorW, b, V::w(0x8000_8000)),
        (Hop::Sub, _) => x.op2(Op::XorW, b, V::w(0x8000)),
        _ => b,
    };
    let plain = half_mode(ty);
    let mode = plain.ftz(x.has(".ftz")).sat(x.has(".sat")).relu(x.has(".relu"));
    let hot = |f16: Op, bf16: Op| match ty {
        Ty::F16x2 if mode == plain => Some(f16),
        Ty::Bf16x2 if mode == plain => Some(bf16),
        _ => None,
    };
    let d = match op {
        Hop::Add | Hop::Sub => match hot(Op::AddF16x2, Op::AddBf16x2) {
            Some(op) => x.op2(op, a, b),
            None => x.op_k(Op::AddHalf, &[a, b], mode.0),
        },
        Hop::Mul => match hot(Op::MulF16x2, Op::MulBf16x2) {
            Some(op) => x.op2(op, a, b),
            None => x.op_k(Op::MulHalf, &[a, b], mode.0),
        },
        Hop::Fma => {
            let c = x.rd("c");
            match hot(Op::FmaF16x2, Op::FmaBf16x2) {
                Some(op) => x.op3(op, a, b, c),
                None => x.op_k(Op::FmaHalf, &[a, b, c], mode.0),
            }
        }
        Hop::FmaOob => {
            let c = x.rd("c");
            x.op_k(Op::FmaOobHalf, &[a, b, c], mode.0)
        }
    };
    x.wr("d", d);
}

/// `fma` of `.bf16` with a directed rounding, which the manual does not have and ptxas takes. As its code (13.5) does on
/// an H100: a pair is rounded to nearest whatever the modifier says, and a single number is taken for an `.f16`:
/// widened, multiplied and added as an `.f32` with that rounding, and rounded to an `.f16` to nearest, without `.relu`
/// and `.oob`.
fn directed(x: &mut Cx) {
    if x.ty() == Ty::Bf16x2 {
        return arithmetic(x, if x.has(".oob") { Hop::FmaOob } else { Hop::Fma });
    }
    let mode = Mode::NONE.rnd(rounding(x));
    let v = ["a", "b", "c"].map(|name| {
        let half = x.rd(name);
        x.op1(Op::CvtF32F16, half)
    });
    let wide = x.op_k(Op::FmaModeF32, &v, mode.0);
    let d = x.op1(Op::CvtF16F32, wide);
    x.wr("d", d);
}
