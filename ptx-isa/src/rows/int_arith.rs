//! Integer arithmetic (PTX ISA 9.7.1).

use crate::meaning::{Cx, V};
use crate::row::{Class, ROW, Row, Sem};
use crate::types::{Kind, Ty};
use crate::uop::Op;

const INT: (&str, &str) = ("type", ".u16 .u32 .u64 .s16 .s32 .s64");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add.type d, a, b",
        sets: &[INT],
        section: "9.7.1.1",
        sem: Sem::Ops(|x| wrapping(x, Op::AddW, Op::AddD)),
        ..ROW
    },
    Row {
        syntax: "add.sat.s32 d, a, b",
        section: "9.7.1.1",
        sem: Sem::Ops(|x| binary(x, Op::AddSatSW)),
        ..ROW
    },
    Row {
        syntax: "sub.type d, a, b",
        sets: &[INT],
        section: "9.7.1.2",
        sem: Sem::Ops(|x| wrapping(x, Op::SubW, Op::SubD)),
        ..ROW
    },
    Row {
        syntax: "sub.sat.s32 d, a, b",
        section: "9.7.1.2",
        sem: Sem::Ops(|x| binary(x, Op::SubSatSW)),
        ..ROW
    },
    Row {
        syntax: "mul.lo.type d, a, b",
        sets: &[INT],
        section: "9.7.1.3",
        class: Class::IntMul,
        sem: Sem::Ops(|x| wrapping(x, Op::MulW, Op::MulD)),
        ..ROW
    },
    Row {
        syntax: "mul.wide.type d:wide, a, b",
        sets: &[("type", ".u16 .u32 .s16 .s32")],
        section: "9.7.1.3",
        class: Class::IntMul,
        sem: Sem::Ops(mul_wide),
        ..ROW
    },
];

/// `d = op(a, b)` on 32-bit registers.
fn binary(x: &mut Cx, op: Op) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = x.op2(op, a, b);
    x.wr("d", d);
}

/// An operation whose low bits do not depend on high bits or signs: 16-bit results are cut.
fn wrapping(x: &mut Cx, narrow: Op, wide: Op) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = x.op2(if ty.kind() == Kind::D { wide } else { narrow }, a, b);
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}

/// The full product of two operands of half the result's width.
fn mul_wide(x: &mut Cx) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = wide_product(x, ty, a, b);
    x.wr("d", d);
}

/// Product at twice the width of `ty`.
pub(super) fn wide_product(x: &mut Cx, ty: Ty, a: V, b: V) -> V {
    match ty {
        Ty::U32 => x.op2(Op::MulWideU, a, b),
        Ty::S32 => x.op2(Op::MulWideS, a, b),
        Ty::U16 => x.op2(Op::MulW, a, b),
        _ => {
            let (a, b) = (x.sext(a, 16), x.sext(b, 16));
            x.op2(Op::MulW, a, b)
        }
    }
}
