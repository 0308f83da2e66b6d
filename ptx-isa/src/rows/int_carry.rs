//! Extended-precision integer arithmetic (PTX ISA 9.7.2).

use super::int_arith::{HALF, product};
use crate::class;
use crate::meaning::{Cx, V};
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::types::{Kind, ptx};
use crate::uop::Op;

const INT_32_64: (&str, &str) = ("type", ".u32 .s32 .u64 .s64");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add.cc.type d, a, b",
        does: "Adds two integers and writes the carry flag.",
        sets: &[INT_32_64],
        since: ptx(1, 2),
        floors: &[floor(".u64 .s64", ptx(4, 3), 20)],
        section: "9.7.2.1",
        class: class::add,
        op: Operation::Add,
        sem: Sem::Ops(|x| add_carry(x, false)),
        ..ROW
    },
    Row {
        syntax: "addc{.cc}.type d, a, b",
        does: "Adds two integers and the carry flag.",
        sets: &[INT_32_64],
        since: ptx(1, 2),
        floors: &[floor(".u64 .s64", ptx(4, 3), 20)],
        section: "9.7.2.2",
        class: class::add,
        sem: Sem::Ops(|x| add_carry(x, true)),
        ..ROW
    },
    Row {
        syntax: "sub.cc.type d, a, b",
        does: "Subtracts two integers and writes the borrow to the carry flag.",
        sets: &[INT_32_64],
        since: ptx(1, 2),
        floors: &[floor(".u64 .s64", ptx(4, 3), 20)],
        section: "9.7.2.3",
        class: class::add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| sub_borrow(x, false)),
        ..ROW
    },
    Row {
        syntax: "subc{.cc}.type d, a, b",
        does: "Subtracts two integers and the borrow in the carry flag.",
        sets: &[INT_32_64],
        since: ptx(3, 0),
        floors: &[floor(".u64 .s64", ptx(4, 3), 20)],
        section: "9.7.2.4",
        class: class::add,
        sem: Sem::Ops(|x| sub_borrow(x, true)),
        ..ROW
    },
    Row {
        syntax: "mad.part.cc.type d, a, b, c",
        does: "Multiplies and adds integers and writes the carry flag.",
        sets: &[INT_32_64, HALF],
        since: ptx(3, 0),
        sm: 20,
        floors: &[floor(".u64 .s64", ptx(4, 3), 20)],
        section: "9.7.2.5",
        class: class::multiply,
        op: Operation::Mad,
        sem: Sem::Ops(|x| mad_carry(x, false)),
        ..ROW
    },
    Row {
        syntax: "madc.part{.cc}.type d, a, b, c",
        does: "Multiplies and adds integers with the carry flag.",
        sets: &[INT_32_64, HALF],
        since: ptx(3, 0),
        sm: 20,
        floors: &[floor(".u64 .s64", ptx(4, 3), 20)],
        section: "9.7.2.6",
        class: class::multiply,
        sem: Sem::Ops(|x| mad_carry(x, true)),
        ..ROW
    },
];

/// `a + b + carry`, and the new carry where `.cc` asks for it.
fn add_carry(x: &mut Cx, takes: bool) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let carry = if takes { x.carry() } else { V::p(false) };
    let wide = x.ty().kind() == Kind::D;
    if x.has(".cc") {
        let out = x.op3(if wide { Op::CarryD } else { Op::CarryW }, a, b, carry);
        x.set_carry(out);
    }
    let d = x.op3(if wide { Op::AdcD } else { Op::AdcW }, a, b, carry);
    x.wr("d", d);
}

/// `a - b - borrow`. `CC.CF` holds the inverted borrow, as the hardware computes `a + !b + CF`.
fn sub_borrow(x: &mut Cx, takes: bool) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let borrow = if takes {
        let c = x.carry();
        x.op1(Op::NotP, c)
    } else {
        V::p(false)
    };
    let wide = x.ty().kind() == Kind::D;
    if x.has(".cc") {
        let out = x.op3(if wide { Op::BorrowD } else { Op::BorrowW }, a, b, borrow);
        let out = x.op1(Op::NotP, out);
        x.set_carry(out);
    }
    let d = x.op3(if wide { Op::SbbD } else { Op::SbbW }, a, b, borrow);
    x.wr("d", d);
}

/// Half of the product plus `c` plus carry.
fn mad_carry(x: &mut Cx, takes: bool) {
    let (p, c) = (product(x), x.rd("c"));
    let carry = if takes { x.carry() } else { V::p(false) };
    let wide = x.ty().kind() == Kind::D;
    if x.has(".cc") {
        let out = x.op3(if wide { Op::CarryD } else { Op::CarryW }, p, c, carry);
        x.set_carry(out);
    }
    let d = x.op3(if wide { Op::AdcD } else { Op::AdcW }, p, c, carry);
    x.wr("d", d);
}
