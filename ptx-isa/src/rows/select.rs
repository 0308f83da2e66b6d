//! `selp` and `slct` (PTX ISA 9.7.7.3, 9.7.7.4).

use super::float::{FTZ, ftz};
use crate::class::Class;
use crate::meaning::{Cx, V};
use crate::row::{ROW, Row, Sem};
use crate::types::Kind;
use crate::uop::Op;

const SLCT: Row = Row {
    does: "Gives one of two values, by the sign of a third.",
    section: "9.7.7.4",
    class: |_| Class::CompareSelect,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // selp, slct
    Row {
        syntax: "selp.type d, a, b, {!}c:pred",
        does: "Gives one of two values, by a predicate.",
        sets: &[SELECT],
        section: "9.7.7.3",
        class: |_| Class::Select,
        sem: Sem::Ops(|x| {
            let c = x.rd("c");
            select(x, c);
        }),
        ..ROW
    },
    Row {
        syntax: "slct.type.s32 d:type, a:type, b:type, c:.s32",
        sets: &[SELECT],
        sem: Sem::Ops(|x| {
            let c = x.rd("c");
            let p = x.op2(Op::LeSW, V::w(0), c);
            select(x, p);
        }),
        ..SLCT
    },
    Row {
        syntax: "slct{.ftz}.type.f32 d:type, a:type, b:type, c:.f32",
        sets: &[SELECT],
        floors: &[FTZ],
        sem: Sem::Ops(|x| {
            let c = x.rd("c");
            let c = if ftz(x) { x.op1(Op::FlushF32, c) } else { c };
            let p = x.op2(Op::LeF32, V::w(0), c);
            select(x, p);
        }),
        ..SLCT
    },
];

const SELECT: (&str, &str) = ("type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64");

/// `d = p ? a : b`.
fn select(x: &mut Cx, p: V) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let op = if a.kind == Kind::D { Op::SelD } else { Op::SelW };
    let d = x.op3(op, a, b, p);
    x.wr("d", d);
}
