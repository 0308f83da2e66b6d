//! Classification, sign, minimum and maximum of `.f32` and `.f64` (PTX ISA 9.7.3).

use super::float::{FTZ, demote, demoted, ftz};
use crate::class::{self, Class};
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::num::cmp::Test;
use crate::num::mode::Mode;
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::types::{Ty, ptx};
use crate::uop::Op;

const ABS: Row =
    Row { does: "Gives the absolute value.", section: "9.7.3.9", op: Operation::Abs, ..ROW };
const NEG: Row = Row { does: "Negates a number.", section: "9.7.3.10", op: Operation::Neg, ..ROW };
const MIN: Row =
    Row { does: "Gives the least of two or three numbers.", section: "9.7.3.11", ..ROW };
const MAX: Row =
    Row { does: "Gives the greatest of two or three numbers.", section: "9.7.3.12", ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "testp.test.type p, a",
        does: "Tests a number: finite, infinite, not a number, normal or subnormal.",
        sets: &[
            ("test", ".finite .infinite .number .notanumber .normal .subnormal"),
            ("type", ".f32 .f64"),
        ],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.3.1",
        class: class::compare,
        sem: Sem::Ops(testp),
        ..ROW
    },
    // ptxas takes it, and the manual knows no such form.
    Row {
        syntax: "testp.type p, a",
        does: "Does not say what it tests, and so does not run.",
        sets: &[("type", ".f32 .f64")],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.3.1",
        class: class::compare,
        sem: Sem::Ops(|x| x.refuse("`testp` does not say what it tests")),
        ..ROW
    },
    Row {
        syntax: "copysign.type d, a, b",
        does: "Gives one number the sign of another.",
        sets: &[("type", ".f32 .f64")],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.3.2",
        class: |_| Class::Logic,
        sem: Sem::Ops(|x| {
            let (a, b) = (x.rd("a"), x.rd("b"));
            let op = if x.ty() == Ty::F32 { Op::CopysignF32 } else { Op::CopysignF64 };
            let d = x.op2(op, a, b);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "abs{.ftz}.f32 d, a",
        floors: &[FTZ],
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| sign_op(x, Op::AbsF32, Op::AbsF64)),
        ..ABS
    },
    Row {
        syntax: "abs.f64 d, a",
        class: |_| Class::F64MinMax,
        sem: Sem::Ops(|x| sign_op(x, Op::AbsF32, Op::AbsF64)),
        ..ABS
    },
    Row {
        syntax: "neg{.ftz}.f32 d, a",
        floors: &[FTZ],
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| sign_op(x, Op::NegF32, Op::NegF64)),
        ..NEG
    },
    Row {
        syntax: "neg.f64 d, a",
        class: |_| Class::F64MinMax,
        sem: Sem::Ops(|x| sign_op(x, Op::NegF32, Op::NegF64)),
        ..NEG
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.xorsign}{.abs}.f32 d, a, b",
        floors: MIN_MAX,
        check: Some(xorsign_abs),
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max(x, false)),
        ..MIN
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.abs}.f32 d, a, b, c",
        since: ptx(8, 8),
        sm: 100,
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max3(x, false)),
        ..MIN
    },
    Row {
        syntax: "min.f64 d, a, b",
        class: |_| Class::F64MinMax,
        sem: Sem::Ops(|x| min_max_f64(x, Op::MinF32, Op::MinF64)),
        ..MIN
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.xorsign}{.abs}.f32 d, a, b",
        floors: MIN_MAX,
        check: Some(xorsign_abs),
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max(x, true)),
        ..MAX
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.abs}.f32 d, a, b, c",
        since: ptx(8, 8),
        sm: 100,
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max3(x, true)),
        ..MAX
    },
    Row {
        syntax: "max.f64 d, a, b",
        class: |_| Class::F64MinMax,
        sem: Sem::Ops(|x| min_max_f64(x, Op::MaxF32, Op::MaxF64)),
        ..MAX
    },
];

const MIN_MAX: &[crate::row::Floor] =
    &[floor(".NaN", ptx(7, 0), 80), floor(".xorsign", ptx(7, 2), 86), FTZ];

fn xorsign_abs(m: &Match) -> Result<(), String> {
    match (m.has(".xorsign"), m.has(".abs")) {
        (true, false) => Err("modifier .xorsign requires modifier .abs".into()),
        // Three operands take .abs alone, but that is another row.
        (false, true) => Err("modifier .abs requires modifier .xorsign".into()),
        _ => Ok(()),
    }
}

/// Reads `.f32` operand `name` flushed where that is asked for.
fn rd_flushed(x: &mut Cx, name: &str) -> V {
    let v = x.rd(name);
    if ftz(x) { x.op1(Op::FlushF32, v) } else { v }
}

/// `abs` and `neg`.
fn sign_op(x: &mut Cx, single: Op, double: Op) {
    let d = if x.ty() == Ty::F32 {
        let a = rd_flushed(x, "a");
        x.op1(single, a)
    } else {
        let a = x.rd("a");
        if demoted(x) {
            let a = demote(x, a);
            let d = x.op1(single, a);
            x.op1(Op::ZextWD, d)
        } else {
            x.op1(double, a)
        }
    };
    x.wr("d", d);
}

fn min_max_mode(x: &Cx, max: bool) -> Mode {
    Mode::NONE.max(max).ftz(ftz(x)).nan(x.has(".NaN")).xorsign(x.has(".abs"))
}

fn min_max(x: &mut Cx, max: bool) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let mode = min_max_mode(x, max);
    let d = if mode == Mode::NONE.max(max) {
        x.op2(if max { Op::MaxF32 } else { Op::MinF32 }, a, b)
    } else {
        x.op_k(Op::MinMaxF32, &[a, b], mode.0)
    };
    x.wr("d", d);
}

fn min_max3(x: &mut Cx, max: bool) {
    let v = ["a", "b", "c"].map(|n| x.rd(n));
    let mode = min_max_mode(x, max);
    let d = x.op_k(Op::MinMax3F32, &v, mode.0);
    x.wr("d", d);
}

fn min_max_f64(x: &mut Cx, single: Op, double: Op) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = if demoted(x) {
        let (a, b) = (demote(x, a), demote(x, b));
        let d = x.op2(single, a, b);
        x.op1(Op::ZextWD, d)
    } else {
        x.op2(double, a, b)
    };
    x.wr("d", d);
}

fn testp(x: &mut Cx) {
    let test = match x.get("test") {
        ".finite" => Test::Finite,
        ".infinite" => Test::Infinite,
        ".number" => Test::Number,
        ".notanumber" => Test::NotANumber,
        ".normal" => Test::Normal,
        _ => Test::Subnormal,
    };
    let a = x.rd("a");
    let op = if x.ty() == Ty::F32 { Op::TestpF32 } else { Op::TestpF64 };
    let p = x.op_k(op, &[a], Mode::NONE.test(test).0);
    x.wr("p", p);
}
