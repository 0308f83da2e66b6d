//! Sign, minimum and maximum of 16-bit floats (PTX ISA 9.7.4).

use super::half::{BF16, F16, half_mode};
use crate::class;
use crate::matched::Match;
use crate::meaning::Cx;
use crate::row::{Floor, Operation, ROW, Row, Sem, floor};
use crate::types::ptx;
use crate::uop::Op;

const NEG: Row = Row {
    does: "Negates a number of 16 bits, or two of them.",
    section: "9.7.4.5",
    class: class::half,
    op: Operation::Neg,
    ..ROW
};
const ABS: Row = Row {
    does: "Gives the absolute value of a number of 16 bits, or of two.",
    section: "9.7.4.6",
    class: class::half,
    op: Operation::Abs,
    ..ROW
};
const MIN: Row = Row {
    does: "Gives the lesser of two numbers of 16 bits, or of two pairs.",
    section: "9.7.4.7",
    class: class::half,
    ..ROW
};
const MAX: Row = Row {
    does: "Gives the greater of two numbers of 16 bits, or of two pairs.",
    section: "9.7.4.8",
    class: class::half,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "neg{.ftz}.type d, a",
        sets: &[F16],
        since: ptx(6, 0),
        sm: 53,
        sem: Sem::Ops(|x| unary(x, Op::NegHalf)),
        ..NEG
    },
    Row {
        syntax: "neg.type d, a",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        sem: Sem::Ops(|x| unary(x, Op::NegHalf)),
        ..NEG
    },
    Row {
        syntax: "abs{.ftz}.type d, a",
        sets: &[F16],
        since: ptx(6, 5),
        sm: 53,
        sem: Sem::Ops(|x| unary(x, Op::AbsHalf)),
        ..ABS
    },
    Row {
        syntax: "abs.type d, a",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        sem: Sem::Ops(|x| unary(x, Op::AbsHalf)),
        ..ABS
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[F16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        sem: Sem::Ops(|x| min_max(x, false)),
        ..MIN
    },
    Row {
        syntax: "min{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        sem: Sem::Ops(|x| min_max(x, false)),
        ..MIN
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[F16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        sem: Sem::Ops(|x| min_max(x, true)),
        ..MAX
    },
    Row {
        syntax: "max{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        sem: Sem::Ops(|x| min_max(x, true)),
        ..MAX
    },
];

const XORSIGN: &[Floor] = &[floor(".xorsign", ptx(7, 2), 86)];

fn xorsign_abs(m: &Match) -> Result<(), String> {
    match (m.has(".xorsign"), m.has(".abs")) {
        (true, false) => Err("modifier .xorsign requires modifier .abs".into()),
        (false, true) => Err("modifier .abs requires modifier .xorsign".into()),
        _ => Ok(()),
    }
}

fn unary(x: &mut Cx, op: Op) {
    let mode = half_mode(x.ty()).ftz(x.has(".ftz"));
    let a = x.rd("a");
    let d = x.op_k(op, &[a], mode.0);
    x.wr("d", d);
}

fn min_max(x: &mut Cx, max: bool) {
    let mode = half_mode(x.ty()).max(max);
    let mode = mode.ftz(x.has(".ftz")).nan(x.has(".NaN")).xorsign(x.has(".xorsign"));
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = x.op_k(Op::MinMaxHalf, &[a, b], mode.0);
    x.wr("d", d);
}
