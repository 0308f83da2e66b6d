//! `.f32` and `.f64` arithmetic with IEEE 754 rounding (PTX ISA 9.7.3).
//!
//! Below `sm_20` single precision flushes subnormal operands and results; where doubles are
//! demoted (`map_f64_to_f32`, implied below `sm_13`), a `.f64` register holds an `.f32` in its low
//! half and every `.f64` instruction is the `.f32` one.

use crate::class::{self, Class};
use crate::meaning::{Cx, V};
use crate::num::Rnd;
use crate::num::cmp::Test;
use crate::num::mode::Mode;
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::table::Match;
use crate::types::{Ty, ptx};
use crate::uop::Op;

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "testp.test.type p, a",
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
    Row {
        syntax: "copysign.type d, a, b",
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
        syntax: "add{.rnd}{.ftz}{.sat}.f32 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 20), FTZ],
        section: "9.7.3.3",
        class: |_| Class::F32Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Add)),
        ..ROW
    },
    Row {
        syntax: "add{.rnd}{.ftz}.f32x2 d, a, b",
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.3.3",
        class: |_| Class::F32Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Add)),
        ..ROW
    },
    Row {
        syntax: "add{.rnd}.f64 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        section: "9.7.3.3",
        class: |_| Class::F64Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Add)),
        ..ROW
    },
    Row {
        syntax: "sub{.rnd}{.ftz}{.sat}.f32 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 20), FTZ],
        section: "9.7.3.4",
        class: |_| Class::F32Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sub)),
        ..ROW
    },
    Row {
        syntax: "sub{.rnd}{.ftz}.f32x2 d, a, b",
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.3.4",
        class: |_| Class::F32Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sub)),
        ..ROW
    },
    Row {
        syntax: "sub{.rnd}.f64 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        section: "9.7.3.4",
        class: |_| Class::F64Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sub)),
        ..ROW
    },
    Row {
        syntax: "mul{.rnd}{.ftz}{.sat}.f32 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 20), FTZ],
        section: "9.7.3.5",
        class: |_| Class::F32Mul,
        op: Operation::Mul,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Mul)),
        ..ROW
    },
    Row {
        syntax: "mul{.rnd}{.ftz}.f32x2 d, a, b",
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.3.5",
        class: |_| Class::F32Mul,
        op: Operation::Mul,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Mul)),
        ..ROW
    },
    Row {
        syntax: "mul{.rnd}.f64 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        section: "9.7.3.5",
        class: |_| Class::F64Add,
        op: Operation::Mul,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Mul)),
        ..ROW
    },
    Row {
        syntax: "fma.rnd{.ftz}{.sat}.f32 d, a, b, c",
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.3.6",
        class: |_| Class::F32Fma,
        op: Operation::Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..ROW
    },
    Row {
        syntax: "fma.rnd{.ftz}.f32x2 d, a, b, c",
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.3.6",
        class: |_| Class::F32Fma,
        op: Operation::Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..ROW
    },
    Row {
        syntax: "fma.rnd.f64 d, a, b, c",
        since: ptx(1, 4),
        floors: &[floor(".rm .rp", ptx(1, 4), 13)],
        section: "9.7.3.6",
        class: |_| Class::F64Fma,
        op: Operation::Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..ROW
    },
    Row {
        syntax: "mad.rnd{.ftz}{.sat}.f32 d, a, b, c",
        sm: 20,
        section: "9.7.3.7",
        class: |_| Class::F32Fma,
        op: Operation::Mad,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..ROW
    },
    Row {
        // From sm_20 on old versions take this for `.rn`.
        syntax: "mad{.ftz}{.sat}.f32 d, a, b, c",
        floors: &[FTZ],
        removed: Some((ptx(3, 2), 20)),
        section: "9.7.3.7",
        class: |_| Class::F32Fma,
        op: Operation::Mad,
        sem: Sem::Ops(|x| {
            if x.sm() >= 20 {
                return arithmetic(x, Fop::Fma);
            }
            let [a, b, c] = ["a", "b", "c"].map(|n| x.rd(n));
            let d = x.op3(Op::Mad1xF32, a, b, c);
            let d = if x.has(".sat") { x.op1(Op::SatF32, d) } else { d };
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mad.rnd.f64 d, a, b, c",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        section: "9.7.3.7",
        class: |_| Class::F64Fma,
        op: Operation::Mad,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..ROW
    },
    Row {
        syntax: "mad.f64 d, a, b, c",
        until: Some(ptx(1, 3)),
        section: "9.7.3.7",
        class: |_| Class::F64Fma,
        op: Operation::Mad,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..ROW
    },
    Row {
        syntax: "div.rnd{.ftz}.f32 d, a, b",
        since: ptx(1, 4),
        sm: 20,
        section: "9.7.3.8",
        class: |_| Class::F32Div,
        op: Operation::Div,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Div)),
        ..ROW
    },
    Row {
        syntax: "div.rnd.f64 d, a, b",
        floors: &[floor(".rz .rm .rp", ptx(1, 4), 20)],
        section: "9.7.3.8",
        class: |_| Class::F64Div,
        op: Operation::Div,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Div)),
        ..ROW
    },
    Row {
        syntax: "div.f64 d, a, b",
        until: Some(ptx(1, 3)),
        section: "9.7.3.8",
        class: |_| Class::F64Div,
        op: Operation::Div,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Div)),
        ..ROW
    },
    Row {
        syntax: "abs{.ftz}.f32 d, a",
        floors: &[FTZ],
        section: "9.7.3.9",
        class: |_| Class::F32MinMax,
        op: Operation::Abs,
        sem: Sem::Ops(|x| sign_op(x, Op::AbsF32, Op::AbsF64)),
        ..ROW
    },
    Row {
        syntax: "abs.f64 d, a",
        section: "9.7.3.9",
        class: |_| Class::F64MinMax,
        op: Operation::Abs,
        sem: Sem::Ops(|x| sign_op(x, Op::AbsF32, Op::AbsF64)),
        ..ROW
    },
    Row {
        syntax: "neg{.ftz}.f32 d, a",
        floors: &[FTZ],
        section: "9.7.3.10",
        class: |_| Class::F32MinMax,
        op: Operation::Neg,
        sem: Sem::Ops(|x| sign_op(x, Op::NegF32, Op::NegF64)),
        ..ROW
    },
    Row {
        syntax: "neg.f64 d, a",
        section: "9.7.3.10",
        class: |_| Class::F64MinMax,
        op: Operation::Neg,
        sem: Sem::Ops(|x| sign_op(x, Op::NegF32, Op::NegF64)),
        ..ROW
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.xorsign}{.abs}.f32 d, a, b",
        floors: MIN_MAX,
        check: Some(xorsign_abs),
        section: "9.7.3.11",
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max(x, false)),
        ..ROW
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.abs}.f32 d, a, b, c",
        since: ptx(8, 8),
        sm: 100,
        section: "9.7.3.11",
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max3(x, false)),
        ..ROW
    },
    Row {
        syntax: "min.f64 d, a, b",
        section: "9.7.3.11",
        class: |_| Class::F64MinMax,
        sem: Sem::Ops(|x| min_max_f64(x, Op::MinF32, Op::MinF64)),
        ..ROW
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.xorsign}{.abs}.f32 d, a, b",
        floors: MIN_MAX,
        check: Some(xorsign_abs),
        section: "9.7.3.12",
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max(x, true)),
        ..ROW
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.abs}.f32 d, a, b, c",
        since: ptx(8, 8),
        sm: 100,
        section: "9.7.3.12",
        class: |_| Class::F32MinMax,
        sem: Sem::Ops(|x| min_max3(x, true)),
        ..ROW
    },
    Row {
        syntax: "max.f64 d, a, b",
        section: "9.7.3.12",
        class: |_| Class::F64MinMax,
        sem: Sem::Ops(|x| min_max_f64(x, Op::MaxF32, Op::MaxF64)),
        ..ROW
    },
    Row {
        syntax: "rcp.rnd{.ftz}.f32 d, a",
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.3.13",
        class: |_| Class::F32Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..ROW
    },
    Row {
        syntax: "rcp.rnd.f64 d, a",
        since: ptx(1, 4),
        floors: &[floor(".rz .rm .rp", ptx(2, 0), 20)],
        section: "9.7.3.13",
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..ROW
    },
    Row {
        // Not in the manual; ptxas ignores the modifier.
        syntax: "rcp.rnd.ftz.f64 d, a",
        since: ptx(1, 4),
        floors: &[floor(".rz .rm .rp", ptx(2, 0), 20)],
        section: "9.7.3.13",
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..ROW
    },
    Row {
        // `rcp.rn.f64` before PTX ISA 1.4; ptxas 13 no longer takes it.
        syntax: "rcp.f64 d, a",
        until: Some(ptx(1, 3)),
        section: "9.7.3.13",
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..ROW
    },
    Row {
        syntax: "sqrt.rnd{.ftz}.f32 d, a",
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.3.15",
        class: |_| Class::F32Sqrt,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sqrt)),
        ..ROW
    },
    Row {
        syntax: "sqrt.rnd.f64 d, a",
        floors: &[floor(".rz .rm .rp", ptx(2, 0), 20)],
        section: "9.7.3.15",
        class: |_| Class::F64Sqrt,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sqrt)),
        ..ROW
    },
    Row {
        syntax: "sqrt.f64 d, a",
        until: Some(ptx(1, 3)),
        section: "9.7.3.15",
        class: |_| Class::F64Sqrt,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sqrt)),
        ..ROW
    },
];

const MIN_MAX: &[crate::row::Floor] =
    &[floor(".NaN", ptx(7, 0), 80), floor(".xorsign", ptx(7, 2), 86), FTZ];

/// `.ftz` came with PTX ISA 1.4.
pub(super) const FTZ: crate::row::Floor = floor(".ftz", ptx(1, 4), 0);

fn xorsign_abs(m: &Match) -> Result<(), String> {
    match (m.has(".xorsign"), m.has(".abs")) {
        (true, false) => Err("modifier .xorsign requires modifier .abs".into()),
        // Three operands take .abs alone, but that is another row.
        (false, true) => Err("modifier .abs requires modifier .xorsign".into()),
        _ => Ok(()),
    }
}

/// An operation with rounding.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Fop {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
}

/// Rounding named by a modifier of the set `rnd`, to nearest even without one.
pub(super) fn rounding(x: &Cx) -> Rnd {
    match x.get("rnd") {
        ".rz" => Rnd::Rz,
        ".rm" => Rnd::Rm,
        ".rp" => Rnd::Rp,
        _ => Rnd::Rn,
    }
}

/// Whether `.f32` operands and results are flushed.
pub(super) fn ftz(x: &Cx) -> bool {
    x.has(".ftz") || x.sm() < 20
}

/// Whether `.f64` stands for an `.f32` in the low half.
pub(super) fn demoted(x: &Cx) -> bool {
    x.module.target.map_f64_to_f32
}

/// The `.f32` in a demoted `.f64` operand.
pub(super) fn demote(x: &mut Cx, v: V) -> V {
    match v.as_const() {
        Some(bits) => V::w((f64::from_bits(bits) as f32).to_bits()),
        None => x.op1(Op::TruncDW, v),
    }
}

/// `.f32` arithmetic.
pub(super) fn arith32(x: &mut Cx, op: Fop, rnd: Rnd, ftz: bool, sat: bool, v: &[V]) -> V {
    let k = Mode::NONE.rnd(rnd).ftz(ftz).0;
    let near = rnd == Rnd::Rn;
    let r = match (op, ftz) {
        (Fop::Add, false) if near => x.op(Op::AddF32, v),
        (Fop::Add, true) if near => x.op(Op::AddFtzF32, v),
        (Fop::Add, _) => x.op_k(Op::AddModeF32, v, k),
        (Fop::Sub, false) if near => x.op(Op::SubF32, v),
        (Fop::Sub, true) if near => x.op(Op::SubFtzF32, v),
        (Fop::Sub, _) => {
            let minus_b = x.op2(Op::XorW, v[1], V::w(1 << 31));
            x.op_k(Op::AddModeF32, &[v[0], minus_b], k)
        }
        (Fop::Mul, false) if near => x.op(Op::MulF32, v),
        (Fop::Mul, true) if near => x.op(Op::MulFtzF32, v),
        (Fop::Mul, _) => x.op_k(Op::MulModeF32, v, k),
        (Fop::Fma, false) if near => x.op(Op::FmaF32, v),
        (Fop::Fma, true) if near => x.op(Op::FmaFtzF32, v),
        (Fop::Fma, _) => x.op_k(Op::FmaModeF32, v, k),
        (Fop::Div, _) => x.op_k(Op::DivF32, v, k),
        (Fop::Rcp, _) => x.op_k(Op::DivF32, &[V::w(1f32.to_bits()), v[0]], k),
        (Fop::Sqrt, _) => x.op_k(Op::SqrtF32, v, k),
    };
    if sat { x.op1(Op::SatF32, r) } else { r }
}

/// `.f64` arithmetic.
fn arith64(x: &mut Cx, op: Fop, rnd: Rnd, v: &[V]) -> V {
    let one = V::d(1f64.to_bits());
    if rnd == Rnd::Rn {
        return match op {
            Fop::Add => x.op(Op::AddF64, v),
            Fop::Sub => x.op(Op::SubF64, v),
            Fop::Mul => x.op(Op::MulF64, v),
            Fop::Fma => x.op(Op::FmaF64, v),
            Fop::Div => x.op(Op::DivF64, v),
            Fop::Rcp => x.op2(Op::DivF64, one, v[0]),
            Fop::Sqrt => x.op(Op::SqrtF64, v),
        };
    }
    let k = Mode::NONE.rnd(rnd).0;
    match op {
        Fop::Add => x.op_k(Op::AddModeF64, v, k),
        Fop::Sub => x.op_k(Op::SubModeF64, v, k),
        Fop::Mul => x.op_k(Op::MulModeF64, v, k),
        Fop::Fma => x.op_k(Op::FmaModeF64, v, k),
        Fop::Div => x.op_k(Op::DivModeF64, v, k),
        Fop::Rcp => x.op_k(Op::DivModeF64, &[one, v[0]], k),
        Fop::Sqrt => x.op_k(Op::SqrtModeF64, v, k),
    }
}

/// The meaning of the arithmetic rows, by the operands that they have.
fn arithmetic(x: &mut Cx, op: Fop) {
    let names: &[&str] = match op {
        Fop::Rcp | Fop::Sqrt => &["a"],
        Fop::Fma => &["a", "b", "c"],
        _ => &["a", "b"],
    };
    let v: Vec<V> = names.iter().map(|n| x.rd(n)).collect();
    let (rnd, ftz, sat) = (rounding(x), ftz(x), x.has(".sat"));
    let d = match x.ty() {
        Ty::F32 => arith32(x, op, rnd, ftz, sat, &v),
        Ty::F32x2 => {
            let low: Vec<V> = v.iter().map(|v| x.op1(Op::TruncDW, *v)).collect();
            let high: Vec<V> = v.iter().map(|v| x.op1(Op::HighDW, *v)).collect();
            let low = arith32(x, op, rnd, ftz, sat, &low);
            let high = arith32(x, op, rnd, ftz, sat, &high);
            x.op2(Op::PackWD, low, high)
        }
        _ if demoted(x) => {
            let v: Vec<V> = v.iter().map(|v| demote(x, *v)).collect();
            let d = arith32(x, op, rnd, ftz, sat, &v);
            x.op1(Op::ZextWD, d)
        }
        _ => arith64(x, op, rnd, &v),
    };
    x.wr("d", d);
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
