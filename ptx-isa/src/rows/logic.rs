//! Logic and shifts (PTX ISA 9.7.8), `prmt` (9.7.9.7).

use super::bits::CLAMP;
use crate::class::{self, Class};
use crate::meaning::{Cx, V};
use crate::row::{Operation, ROW, Row, Sem};
use crate::types::{Kind, ptx};
use crate::uop::Op;

const BITS: (&str, &str) = ("type", ".b16 .b32 .b64");
const BITS_PRED: (&str, &str) = ("type", ".pred .b16 .b32 .b64");

const LOP3: Row = Row {
    does: "Combines three operands bit by bit by a table of eight bits.",
    section: "9.7.8.6",
    class: |_| Class::Logic,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "and.type d, a, b",
        does: "Gives the bits that both operands have.",
        sets: &[BITS_PRED],
        section: "9.7.8.1",
        class: |_| Class::Logic,
        op: Operation::And,
        sem: Sem::Ops(|x| logic(x, [Op::AndP, Op::AndW, Op::AndD])),
        ..ROW
    },
    Row {
        syntax: "or.type d, a, b",
        does: "Gives the bits that either operand has.",
        sets: &[BITS_PRED],
        section: "9.7.8.2",
        class: |_| Class::Logic,
        op: Operation::Or,
        sem: Sem::Ops(|x| logic(x, [Op::OrP, Op::OrW, Op::OrD])),
        ..ROW
    },
    Row {
        syntax: "xor.type d, a, b",
        does: "Gives the bits in which the operands differ.",
        sets: &[BITS_PRED],
        section: "9.7.8.3",
        class: |_| Class::Logic,
        op: Operation::Xor,
        sem: Sem::Ops(|x| logic(x, [Op::XorP, Op::XorW, Op::XorD])),
        ..ROW
    },
    Row {
        syntax: "not.type d, a",
        does: "Inverts every bit.",
        sets: &[BITS_PRED],
        section: "9.7.8.4",
        class: |_| Class::Logic,
        op: Operation::Not,
        sem: Sem::Ops(|x| {
            let (ty, a) = (x.ty(), x.rd("a"));
            let d = x.op1([Op::NotP, Op::NotW, Op::NotD][ty.kind() as usize], a);
            let d = x.zext(d, ty.bits());
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "cnot.type d, a",
        does: "Gives 1 if the operand is 0, else 0.",
        sets: &[BITS],
        section: "9.7.8.5",
        class: |_| Class::Logic,
        sem: Sem::Ops(|x| {
            let (ty, a) = (x.ty(), x.rd("a"));
            let d = if ty.kind() == Kind::D {
                let p = x.op2(Op::EqD, a, V::d(0));
                x.op3(Op::SelD, V::d(1), V::d(0), p)
            } else {
                let p = x.op2(Op::EqW, a, V::w(0));
                x.op1(Op::BoolW, p)
            };
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "lop3.b32 d, a, b, c, #lut:.u32",
        since: ptx(4, 3),
        sm: 50,
        sem: Sem::Ops(|x| {
            let d = lop3(x);
            x.wr("d", d);
        }),
        ..LOP3
    },
    Row {
        syntax: "lop3.op.b32 d|p, a, b, c, #lut:.u32, {!}q:pred",
        sets: &[("op", ".or .and")],
        since: ptx(8, 2),
        sm: 70,
        sem: Sem::Ops(|x| {
            let op = if x.has(".or") { Op::OrP } else { Op::AndP };
            let (d, q) = (lop3(x), x.rd("q"));
            let p = x.op2(Op::NeW, d, V::w(0));
            let p = x.op2(op, p, q);
            x.wr("d", d);
            x.wr_second("d", p);
        }),
        ..LOP3
    },
    Row {
        syntax: "shf.dir.mode.b32 d, a, b, c:.u32",
        does: "Shifts a pair of words and gives one of them.",
        op: Operation::Funnel,
        sets: &[("dir", ".l .r"), CLAMP],
        since: ptx(3, 1),
        sm: 32,
        section: "9.7.8.7",
        class: class::shift,
        sem: Sem::Ops(|x| {
            let wrap = x.has(".wrap");
            let op = if x.has(".l") { Op::FunnelL } else { Op::FunnelR };
            let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
            let c = match wrap {
                true => x.op2(Op::AndW, c, V::w(31)),
                false => x.op2(Op::MinUW, c, V::w(32)),
            };
            let d = x.op3(op, a, b, c);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "shl.type d, a, b:.u32",
        does: "Shifts left, filling with zeros.",
        sets: &[BITS],
        section: "9.7.8.8",
        class: class::shift,
        op: Operation::Shl,
        sem: Sem::Ops(|x| shift(x, Op::ShlW, Op::ShlD)),
        ..ROW
    },
    Row {
        syntax: "shr.type d, a, b:.u32",
        does: "Shifts right, filling with zeros or with the sign.",
        sets: &[("type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64")],
        section: "9.7.8.9",
        class: class::shift,
        op: Operation::Shr,
        sem: Sem::Ops(|x| {
            if x.ty().signed() {
                shift(x, Op::SarW, Op::SarD)
            } else {
                shift(x, Op::ShrW, Op::ShrD)
            }
        }),
        ..ROW
    },
    Row {
        syntax: "prmt.b32{.mode} d, a, b, c",
        does: "Picks four bytes out of two words.",
        sets: &[("mode", ".f4e .b4e .rc8 .ecl .ecr .rc16")],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.9.7",
        class: |_| Class::Shift,
        sem: Sem::Ops(|x| {
            let k = match x.get("mode") {
                "" => 0,
                ".f4e" => 1,
                ".b4e" => 2,
                ".rc8" => 3,
                ".ecl" => 4,
                ".ecr" => 5,
                _ => 6,
            };
            let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
            let d = x.op_k(Op::Prmt, &[a, b, c], k);
            x.wr("d", d);
        }),
        ..ROW
    },
];

fn logic(x: &mut Cx, ops: [Op; 3]) {
    let (ty, a, b) = (x.ty(), x.rd("a"), x.rd("b"));
    let d = x.op2(ops[ty.kind() as usize], a, b);
    x.wr("d", d);
}

fn lop3(x: &mut Cx) -> V {
    let lut = x.imm("lut") as u32 & 0xff;
    let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
    x.op_k(Op::Lop3, &[a, b, c], lut)
}

/// Shifts; amounts of the width or more shift everything out.
fn shift(x: &mut Cx, narrow: Op, wide: Op) {
    let (ty, a, b) = (x.ty(), x.rd("a"), x.rd("b"));
    let a = if narrow == Op::SarW { x.sext(a, ty.bits()) } else { a };
    let d = x.op2(if ty.kind() == Kind::D { wide } else { narrow }, a, b);
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}
