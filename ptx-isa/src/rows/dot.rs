//! Dot products of bytes (PTX ISA 9.7.1.24, 9.7.1.25).

use crate::class::Class;
use crate::meaning::Cx;
use crate::row::{ROW, Row, Sem};
use crate::types::ptx;
use crate::uop::Op;

const A: (&str, &str) = ("atype", ".u32 .s32");
const B: (&str, &str) = ("btype", ".u32 .s32");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "dp4a.atype.btype d:.u32, a:atype, b:btype, c:.u32",
        does: "Adds the products of four pairs of bytes to an accumulator.",
        sets: &[A, B],
        since: ptx(5, 0),
        sm: 61,
        section: "9.7.1.24",
        class: |_| Class::Dot,
        sem: Sem::Ops(|x| dot(x, 0)),
        ..ROW
    },
    Row {
        syntax: "dp2a.mode.atype.btype d:.u32, a:atype, b:btype, c:.u32",
        does: "Adds the products of two half-words with two bytes to an accumulator.",
        sets: &[A, B, ("mode", ".lo .hi")],
        since: ptx(5, 0),
        sm: 61,
        section: "9.7.1.25",
        class: |_| Class::Dot,
        sem: Sem::Ops(|x| {
            let upper = x.has(".hi") as u32;
            dot(x, 4 | upper << 3);
        }),
        ..ROW
    },
];

fn dot(x: &mut Cx, shape: u32) {
    let signed = |name: &str| (x.get(name) == ".s32") as u32;
    let k = shape | signed("btype") << 1 | signed("atype");
    let operands = [x.rd("a"), x.rd("b"), x.rd("c")];
    let d = x.op_k(Op::Dot, &operands, k);
    x.wr("d", d);
}
