//! Sign, minimum and maximum of 16-bit floats (PTX ISA 9.7.4).

use super::half::{BF16, F16, half_mode};
use crate::class::Class;
use crate::meaning::Cx;
use crate::row::{Floor, Operation, ROW, Row, Sem, floor};
use crate::table::Match;
use crate::types::ptx;
use crate::uop::Op;

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "neg{.ftz}.type d, a",
        sets: &[F16],
        since: ptx(6, 0),
        sm: 53,
        section: "9.7.4.5",
        class: |_| Class::F16,
        op: Operation::Neg,
        sem: Sem::Ops(|x| unary(x, Op::NegHalf)),
        ..ROW
    },
    Row {
        syntax: "neg.type d, a",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.4.5",
        class: |_| Class::F16,
        op: Operation::Neg,
        sem: Sem::Ops(|x| unary(x, Op::NegHalf)),
        ..ROW
    },
    Row {
        syntax: "abs{.ftz}.type d, a",
        sets: &[F16],
        since: ptx(6, 5),
        sm: 53,
        section: "9.7.4.6",
        class: |_| Class::F16,
        op: Operation::Abs,
        sem: Sem::Ops(|x| unary(x, Op::AbsHalf)),
        ..ROW
    },
    Row {
        syntax: "abs.type d, a",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.4.6",
        class: |_| Class::F16,
        op: Operation::Abs,
        sem: Sem::Ops(|x| unary(x, Op::AbsHalf)),
        ..ROW
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[F16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.7",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, false)),
        ..ROW
    },
    Row {
        syntax: "min{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.7",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, false)),
        ..ROW
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[F16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.8",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, true)),
        ..ROW
    },
    Row {
        syntax: "max{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.8",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, true)),
        ..ROW
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
