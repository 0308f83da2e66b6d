//! Integer arithmetic (PTX ISA 9.7.1, without bit fields) and extended precision (9.7.2).

use crate::class::{self, Class};
use crate::meaning::{Cx, V};
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;

const INT: (&str, &str) = ("type", ".u16 .u32 .u64 .s16 .s32 .s64");
const INT_X2: (&str, &str) = ("type", ".u16x2 .s16x2");
const INT_32_64: (&str, &str) = ("type", ".u32 .s32 .u64 .s64");
const INT_32: (&str, &str) = ("type", ".u32 .s32");
const SIGNED: (&str, &str) = ("type", ".s16 .s32 .s64");
const HALF: (&str, &str) = ("part", ".hi .lo");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add.type d, a, b",
        sets: &[INT],
        section: "9.7.1.1",
        class: class::add,
        op: Operation::Add,
        sem: Sem::Ops(|x| wrapping(x, Op::AddW, Op::AddD)),
        ..ROW
    },
    Row {
        syntax: "add.sat.s32 d, a, b",
        section: "9.7.1.1",
        class: class::add,
        op: Operation::Add,
        sem: Sem::Ops(|x| binary(x, Op::AddSatSW)),
        ..ROW
    },
    Row {
        syntax: "add.type d, a, b",
        sets: &[INT_X2],
        since: ptx(8, 0),
        sm: 90,
        section: "9.7.1.1",
        class: class::add,
        op: Operation::Add,
        sem: Sem::Ops(|x| halves(x, |x, a, b| x.op2(Op::AddW, a, b))),
        ..ROW
    },
    Row {
        syntax: "sub.type d, a, b",
        sets: &[INT],
        section: "9.7.1.2",
        class: class::add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| wrapping(x, Op::SubW, Op::SubD)),
        ..ROW
    },
    Row {
        syntax: "sub.sat.s32 d, a, b",
        section: "9.7.1.2",
        class: class::add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| binary(x, Op::SubSatSW)),
        ..ROW
    },
    Row {
        syntax: "mul.part.type d, a, b",
        sets: &[INT, HALF],
        section: "9.7.1.3",
        class: class::multiply,
        op: Operation::Mul,
        sem: Sem::Ops(|x| {
            let d = product(x);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mul.wide.type d:wide, a, b",
        sets: &[("type", ".u16 .u32 .s16 .s32")],
        section: "9.7.1.3",
        class: class::multiply,
        op: Operation::Mul,
        sem: Sem::Ops(|x| {
            let (ty, a, b) = (x.ty(), x.rd("a"), x.rd("b"));
            let d = wide_product(x, ty, a, b);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mad.part.type d, a, b, c",
        sets: &[INT, HALF],
        section: "9.7.1.4",
        class: class::multiply,
        op: Operation::Mad,
        sem: Sem::Ops(mad),
        ..ROW
    },
    Row {
        syntax: "mad.hi.sat.s32 d, a, b, c",
        section: "9.7.1.4",
        class: class::multiply,
        op: Operation::Mad,
        sem: Sem::Ops(|x| {
            let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
            let high = x.op2(Op::MulHiSW, a, b);
            let d = x.op2(Op::AddSatSW, high, c);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mad.wide.type d:wide, a, b, c:wide",
        sets: &[("type", ".u16 .u32 .s16 .s32")],
        section: "9.7.1.4",
        class: class::multiply,
        op: Operation::Mad,
        sem: Sem::Ops(mad_wide),
        ..ROW
    },
    Row {
        syntax: "mul24.part.type d, a, b",
        sets: &[INT_32, HALF],
        section: "9.7.1.5",
        class: |_| Class::IntMul24,
        sem: Sem::Ops(|x| {
            let d = product24(x);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mad24.part.type d, a, b, c",
        sets: &[INT_32, HALF],
        section: "9.7.1.6",
        class: |_| Class::IntMul24,
        sem: Sem::Ops(|x| {
            let (p, c) = (product24(x), x.rd("c"));
            let d = x.op2(Op::AddW, p, c);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mad24.hi.sat.s32 d, a, b, c",
        section: "9.7.1.6",
        class: |_| Class::IntMul24,
        sem: Sem::Ops(|x| {
            let (p, c) = (product24(x), x.rd("c"));
            let d = x.op2(Op::AddSatSW, p, c);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "sad.type d, a, b, c",
        sets: &[INT],
        section: "9.7.1.7",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(sad),
        ..ROW
    },
    Row {
        syntax: "div.type d, a, b",
        sets: &[INT],
        section: "9.7.1.8",
        class: class::divide,
        op: Operation::Div,
        sem: Sem::Ops(|x| by_sign(x, [Op::DivUW, Op::DivSW, Op::DivUD, Op::DivSD])),
        ..ROW
    },
    Row {
        syntax: "rem.type d, a, b",
        sets: &[INT],
        section: "9.7.1.9",
        class: class::divide,
        op: Operation::Rem,
        sem: Sem::Ops(|x| by_sign(x, [Op::RemUW, Op::RemSW, Op::RemUD, Op::RemSD])),
        ..ROW
    },
    Row {
        syntax: "abs.type d, a",
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
        sets: &[SIGNED],
        section: "9.7.1.11",
        class: |_| Class::IntMinMax,
        op: Operation::Neg,
        sem: Sem::Ops(|x| {
            let (ty, a) = (x.ty(), x.rd("a"));
            let d = match ty.kind() {
                Kind::D => x.op2(Op::SubD, V::d(0), a),
                _ => x.op2(Op::SubW, V::w(0), a),
            };
            let d = x.zext(d, ty.bits());
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "min.type d, a, b",
        sets: &[INT],
        section: "9.7.1.12",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(|x| by_sign(x, [Op::MinUW, Op::MinSW, Op::MinUD, Op::MinSD])),
        ..ROW
    },
    Row {
        syntax: "min{.relu}.type d, a, b",
        sets: &[("type", ".s16x2 .s32")],
        since: ptx(8, 0),
        sm: 90,
        section: "9.7.1.12",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(|x| min_max_signed(x, Op::MinSW)),
        ..ROW
    },
    Row {
        syntax: "min.u16x2 d, a, b",
        since: ptx(8, 0),
        sm: 90,
        section: "9.7.1.12",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(|x| halves(x, |x, a, b| x.op2(Op::MinUW, a, b))),
        ..ROW
    },
    Row {
        syntax: "max.type d, a, b",
        sets: &[INT],
        section: "9.7.1.13",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(|x| by_sign(x, [Op::MaxUW, Op::MaxSW, Op::MaxUD, Op::MaxSD])),
        ..ROW
    },
    Row {
        syntax: "max{.relu}.type d, a, b",
        sets: &[("type", ".s16x2 .s32")],
        since: ptx(8, 0),
        sm: 90,
        section: "9.7.1.13",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(|x| min_max_signed(x, Op::MaxSW)),
        ..ROW
    },
    Row {
        syntax: "max.u16x2 d, a, b",
        since: ptx(8, 0),
        sm: 90,
        section: "9.7.1.13",
        class: |_| Class::IntMinMax,
        sem: Sem::Ops(|x| halves(x, |x, a, b| x.op2(Op::MaxUW, a, b))),
        ..ROW
    },
    Row {
        syntax: "add.cc.type d, a, b",
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

/// An operation that depends on signs: `[unsigned, signed, unsigned 64, signed 64]`.
fn by_sign(x: &mut Cx, ops: [Op; 4]) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = signed_op(x, ty, ops, a, b);
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}

fn signed_op(x: &mut Cx, ty: Ty, ops: [Op; 4], a: V, b: V) -> V {
    let op = ops[ty.signed() as usize + 2 * (ty.kind() == Kind::D) as usize];
    if ty.signed() {
        let (a, b) = (x.sext(a, ty.bits()), x.sext(b, ty.bits()));
        x.op2(op, a, b)
    } else {
        x.op2(op, a, b)
    }
}

/// A packed pair of 16-bit operations on zero-extended halves; high bits of results are dropped.
pub(super) fn halves(x: &mut Cx, mut f: impl FnMut(&mut Cx, V, V) -> V) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let (al, bl) = (x.op1(Op::Zext16, a), x.op1(Op::Zext16, b));
    let (ah, bh) = (x.op1(Op::High16, a), x.op1(Op::High16, b));
    let (low, high) = (f(x, al, bl), f(x, ah, bh));
    let d = x.op2(Op::Pack16, low, high);
    x.wr("d", d);
}

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

/// Product at twice the width of `ty` (16 or 32 bits).
fn wide_product(x: &mut Cx, ty: Ty, a: V, b: V) -> V {
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

/// The half of `a * b` that `.hi` or `.lo` names, cut to the type's width.
fn product(x: &mut Cx) -> V {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    match (x.has(".hi"), ty) {
        (false, t) if t.kind() == Kind::D => x.op2(Op::MulD, a, b),
        (false, t) => {
            let d = x.op2(Op::MulW, a, b);
            x.zext(d, t.bits())
        }
        (true, Ty::U64) => x.op2(Op::MulHiUD, a, b),
        (true, Ty::S64) => x.op2(Op::MulHiSD, a, b),
        (true, Ty::U32) => x.op2(Op::MulHiUW, a, b),
        (true, Ty::S32) => x.op2(Op::MulHiSW, a, b),
        (true, t) => {
            let p = wide_product(x, t, a, b);
            x.op1(Op::High16, p)
        }
    }
}

fn mad(x: &mut Cx) {
    let ty = x.ty();
    // The commonest form is one micro-op.
    if !x.has(".hi") && ty.kind() == Kind::W {
        let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
        let d = x.op3(Op::MadW, a, b, c);
        let d = x.zext(d, ty.bits());
        return x.wr("d", d);
    }
    let (p, c) = (product(x), x.rd("c"));
    let d = x.op2(if ty.kind() == Kind::D { Op::AddD } else { Op::AddW }, p, c);
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}

fn mad_wide(x: &mut Cx) {
    let (ty, a, b, c) = (x.ty(), x.rd("a"), x.rd("b"), x.rd("c"));
    let d = match ty {
        Ty::U32 => x.op3(Op::MadWideU, a, b, c),
        Ty::S32 => x.op3(Op::MadWideS, a, b, c),
        _ => {
            let p = wide_product(x, ty, a, b);
            x.op2(Op::AddW, p, c)
        }
    };
    x.wr("d", d);
}

/// Low 32 bits of the 48-bit product of two 24-bit values, or its bits 47 to 16 for `.hi`.
fn product24(x: &mut Cx) -> V {
    let signed = x.ty().signed();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let cut = |x: &mut Cx, v: V| {
        let up = x.op2(Op::ShlW, v, V::w(8));
        x.op2(if signed { Op::SarW } else { Op::ShrW }, up, V::w(8))
    };
    let (a, b) = (cut(x, a), cut(x, b));
    if x.has(".lo") {
        return x.op2(Op::MulW, a, b);
    }
    let p = x.op2(if signed { Op::MulWideS } else { Op::MulWideU }, a, b);
    let p = x.op2(Op::ShrD, p, V::w(16));
    x.op1(Op::TruncDW, p)
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
