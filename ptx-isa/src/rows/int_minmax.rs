//! Sign, minimum and maximum of integers (PTX ISA 9.7.1).

use super::int_arith::{INT, PACKED, by_sign, halves, lanes, lanewise, signed_op};
use crate::class::Class;
use crate::meaning::{Cx, V};
use crate::row::{Exactness, Operation, ROW, Row, Sem};
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;
use crate::video::Lanewise;

const SIGNED: (&str, &str) = ("type", ".s16 .s32 .s64");

const MIN: Row = Row {
    does: "Gives the lesser of two integers, or of two pairs.",
    section: "9.7.1.12",
    class: |_| Class::IntMinMax,
    ..ROW
};
const MAX: Row = Row {
    does: "Gives the greater of two integers, or of two pairs.",
    section: "9.7.1.13",
    class: |_| Class::IntMinMax,
    ..ROW
};

const MIN_BYTES: Row = Row { since: ptx(9, 2), targets: PACKED, exact: Exactness::Manual, ..MIN };
const MAX_BYTES: Row = Row { since: ptx(9, 2), targets: PACKED, exact: Exactness::Manual, ..MAX };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "sad.type d, a, b, c",
        does: "Adds the distance of two integers to a third.",
        sets: &[INT],
        section: "9.7.1.7",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(sad),
        ..ROW
    },
    Row {
        syntax: "abs.type d, a",
        does: "Gives the absolute value of an integer.",
        sets: &[SIGNED],
        section: "9.7.1.10",
        class: |_| Class::IntMinMax,
        op: Operation::Abs,
        sem: Sem::Ops(|x| {
            let (ty, a) = (x.ty(), x.rd("a"));
            let a = x.sext(a, ty.bits());
            let d = x.op1(if ty.kind() == Kind::D { Op::AbsD } else { Op::AbsW }, a);
            let d = x.zext(d, ty.bits());
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "neg.type d, a",
        does: "Negates an integer.",
        sets: &[SIGNED],
        section: "9.7.1.11",
        class: |_| Class::IntMinMax,
        op: Operation::Neg,
        sem: Sem::Ops(|x| {
            let (ty, a) = (x.ty(), x.rd("a"));
            let d = match ty.kind() {
                Kind::D => x.op2(Op::SubD, V::d(0), a),
                Kind::W | Kind::P => x.op2(Op::SubW, V::w(0), a),
            };
            let d = x.zext(d, ty.bits());
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "min.type d, a, b",
        sets: &[INT],
        sem: Sem::Ops(|x| by_sign(x, [Op::MinUW, Op::MinSW, Op::MinUD, Op::MinSD])),
        ..MIN
    },
    Row {
        syntax: "min{.relu}.type d, a, b",
        sets: &[("type", ".s16x2 .s32")],
        since: ptx(8, 0),
        sm: 90,
        sem: Sem::Ops(|x| min_max_signed(x, Op::MinSW)),
        ..MIN
    },
    Row {
        syntax: "min.u16x2 d, a, b",
        since: ptx(8, 0),
        sm: 90,
        sem: Sem::Ops(|x| halves(x, |x, a, b| x.op2(Op::MinUW, a, b))),
        ..MIN
    },
    Row { syntax: "min.u8x4 d, a, b", sem: Sem::Ops(|x| lanewise(x, Lanewise::Min)), ..MIN_BYTES },
    Row {
        syntax: "min{.relu}.s8x4 d, a, b",
        sem: Sem::Ops(|x| signed_bytes(x, Lanewise::Min)),
        ..MIN_BYTES
    },
    Row {
        syntax: "max.type d, a, b",
        sets: &[INT],
        sem: Sem::Ops(|x| by_sign(x, [Op::MaxUW, Op::MaxSW, Op::MaxUD, Op::MaxSD])),
        ..MAX
    },
    Row {
        syntax: "max{.relu}.type d, a, b",
        sets: &[("type", ".s16x2 .s32")],
        since: ptx(8, 0),
        sm: 90,
        sem: Sem::Ops(|x| min_max_signed(x, Op::MaxSW)),
        ..MAX
    },
    Row {
        syntax: "max.u16x2 d, a, b",
        since: ptx(8, 0),
        sm: 90,
        sem: Sem::Ops(|x| halves(x, |x, a, b| x.op2(Op::MaxUW, a, b))),
        ..MAX
    },
    Row { syntax: "max.u8x4 d, a, b", sem: Sem::Ops(|x| lanewise(x, Lanewise::Max)), ..MAX_BYTES },
    Row {
        syntax: "max{.relu}.s8x4 d, a, b",
        sem: Sem::Ops(|x| signed_bytes(x, Lanewise::Max)),
        ..MAX_BYTES
    },
];

/// `min`/`max` of `.s32` or `.s16x2`, with `.relu` raised to zero.
fn min_max_signed(x: &mut Cx, op: Op) {
    let relu = x.has(".relu");
    let one = |x: &mut Cx, a: V, b: V| {
        let d = x.op2(op, a, b);
        if relu { x.op2(Op::MaxSW, d, V::w(0)) } else { d }
    };
    if x.ty() == Ty::S16x2 {
        halves(x, |x, a, b| {
            let (a, b) = (x.sext(a, 16), x.sext(b, 16));
            one(x, a, b)
        });
    } else {
        let (a, b) = (x.rd("a"), x.rd("b"));
        let d = one(x, a, b);
        x.wr("d", d);
    }
}

/// `min`/`max` of signed bytes, with `.relu` raised to zero.
fn signed_bytes(x: &mut Cx, op: Lanewise) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = lanes(x, op, Ty::S8x4, a, b);
    let relu = x.has(".relu");
    let d = if relu { lanes(x, Lanewise::Max, Ty::S8x4, d, V::w(0)) } else { d };
    x.wr("d", d);
}

fn sad(x: &mut Cx) {
    let ty = x.ty();
    let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
    let min = [Op::MinUW, Op::MinSW, Op::MinUD, Op::MinSD];
    let max = [Op::MaxUW, Op::MaxSW, Op::MaxUD, Op::MaxSD];
    let (low, high) = (signed_op(x, ty, min, a, b), signed_op(x, ty, max, a, b));
    let (sub, add) = if ty.kind() == Kind::D { (Op::SubD, Op::AddD) } else { (Op::SubW, Op::AddW) };
    let d = x.op2(sub, high, low);
    let d = x.op2(add, d, c);
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}
