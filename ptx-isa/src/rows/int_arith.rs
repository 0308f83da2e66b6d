//! Integer addition, multiplication and division (PTX ISA 9.7.1).

use crate::class::{self, Class};
use crate::meaning::{Cx, V};
use crate::row::{EVERYWHERE, Exactness, NOWHERE, Operation, ROW, Row, Sem};
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;
use crate::video::{Lanewise, Simd};

pub(super) const INT: (&str, &str) = ("type", ".u16 .u32 .u64 .s16 .s32 .s64");
const INT_X2: (&str, &str) = ("type", ".u16x2 .s16x2");
const INT_32: (&str, &str) = ("type", ".u32 .s32");
pub(super) const HALF: (&str, &str) = ("part", ".hi .lo");

const ADD: Row = Row {
    does: "Adds two integers.",
    section: "9.7.1.1",
    class: class::add,
    op: Operation::Add,
    ..ROW
};
const SUB: Row = Row {
    does: "Subtracts two integers.",
    section: "9.7.1.2",
    class: class::add,
    op: Operation::Sub,
    ..ROW
};
/// Bytes and halves of a word, and saturation of every type: consumer Blackwell.
pub(super) const PACKED: &str = "sm_107f sm_120f";
pub(super) const BYTES: (&str, &str) = ("type", ".u8x4 .s8x4");
const NARROW_ADD: Row =
    Row { since: ptx(9, 2), targets: PACKED, exact: Exactness::Manual, ..ADD_OTHER };
const NARROW_SUB: Row =
    Row { since: ptx(9, 2), targets: PACKED, exact: Exactness::Manual, ..SUB_OTHER };
const ADD_OTHER: Row = Row { op: Operation::Other, ..ADD };
const SUB_OTHER: Row = Row { op: Operation::Other, ..SUB };
const MAD: Row = Row {
    does: "Multiplies two integers and adds a third to a half of the product.",
    section: "9.7.1.4",
    class: class::multiply,
    op: Operation::Mad,
    ..ROW
};
const MAD24: Row = Row {
    does: "Multiplies the lower 24 bits of two integers and adds a third.",
    section: "9.7.1.6",
    class: |_| Class::IntMul24,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add.type d, a, b",
        sets: &[INT],
        sem: Sem::Ops(|x| wrapping(x, Op::AddW, Op::AddD)),
        ..ADD
    },
    Row { syntax: "add.sat.s32 d, a, b", sem: Sem::Ops(|x| binary(x, Op::AddSatSW)), ..ADD },
    Row {
        syntax: "add.type d, a, b",
        sets: &[INT_X2],
        since: ptx(8, 0),
        sm: 90,
        sem: Sem::Ops(|x| halves(x, |x, a, b| x.op2(Op::AddW, a, b))),
        ..ADD
    },
    Row {
        syntax: "add.sat.type d, a, b",
        sets: &[("type", ".u32 .u16x2 .s16x2")],
        sem: Sem::Ops(|x| lanewise(x, Lanewise::Add)),
        ..NARROW_ADD
    },
    Row {
        syntax: "add{.sat}.type d, a, b",
        sets: &[BYTES],
        sem: Sem::Ops(|x| lanewise(x, Lanewise::Add)),
        ..NARROW_ADD
    },
    Row {
        syntax: "sub.type d, a, b",
        sets: &[INT],
        sem: Sem::Ops(|x| wrapping(x, Op::SubW, Op::SubD)),
        ..SUB
    },
    Row { syntax: "sub.sat.s32 d, a, b", sem: Sem::Ops(|x| binary(x, Op::SubSatSW)), ..SUB },
    Row {
        syntax: "sub{.sat}.type d, a, b",
        sets: &[BYTES],
        sem: Sem::Ops(|x| lanewise(x, Lanewise::Sub)),
        ..NARROW_SUB
    },
    Row {
        syntax: "clmad.part.u64 d, a:.u64, b:.u64, c:.u64",
        does: "Multiplies two polynomials over the bits and adds a third to a half of the product, without carries.",
        sets: &[HALF],
        since: ptx(9, 3),
        sm: 80,
        section: "9.7.1.5",
        class: class::multiply,
        sem: Sem::Ops(|x| {
            let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
            let p = x.op_k(Op::ClmulD, &[a, b], u32::from(x.has(".hi")));
            let d = x.op2(Op::XorD, p, c);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "mul.part.type d, a, b",
        does: "Multiplies two integers and gives the upper or lower half of the product.",
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
        does: "Multiplies two integers into one of twice the width.",
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
    Row { syntax: "mad.part.type d, a, b, c", sets: &[INT, HALF], sem: Sem::Ops(mad), ..MAD },
    Row {
        syntax: "mad.hi.sat.s32 d, a, b, c",
        sem: Sem::Ops(|x| {
            let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
            let high = x.op2(Op::MulHiSW, a, b);
            let d = x.op2(Op::AddSatSW, high, c);
            x.wr("d", d);
        }),
        ..MAD
    },
    Row {
        syntax: "mad.wide.type d:wide, a, b, c:wide",
        does: "Multiplies two integers into one of twice the width and adds a third.",
        sets: &[("type", ".u16 .u32 .s16 .s32")],
        section: "9.7.1.4",
        class: class::multiply,
        op: Operation::Mad,
        sem: Sem::Ops(mad_wide),
        ..ROW
    },
    Row {
        syntax: "mul24.part.type d, a, b",
        does: "Multiplies the lower 24 bits of two integers.",
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
        sem: Sem::Ops(|x| {
            let (p, c) = (product24(x), x.rd("c"));
            let d = x.op2(Op::AddW, p, c);
            x.wr("d", d);
        }),
        ..MAD24
    },
    Row {
        syntax: "mad24.hi.sat.s32 d, a, b, c",
        sem: Sem::Ops(|x| {
            let (p, c) = (product24(x), x.rd("c"));
            let d = x.op2(Op::AddSatSW, p, c);
            x.wr("d", d);
        }),
        ..MAD24
    },
    Row {
        syntax: "div.type d, a, b",
        does: "Divides two integers, rounding towards zero.",
        sets: &[INT],
        section: "9.7.1.8",
        class: class::divide,
        splits: |m| m.types().any(|t| t.bits() != 32),
        called: |m, _| if m.types().any(|t| t.bits() == 64) { EVERYWHERE } else { NOWHERE },
        op: Operation::Div,
        sem: Sem::Ops(|x| by_sign(x, [Op::DivUW, Op::DivSW, Op::DivUD, Op::DivSD])),
        ..ROW
    },
    Row {
        syntax: "rem.type d, a, b",
        does: "Gives the remainder of an integer division.",
        sets: &[INT],
        section: "9.7.1.9",
        class: class::divide,
        splits: |m| m.types().any(|t| t.bits() != 32 || t.signed()),
        called: |m, _| if m.types().any(|t| t.bits() == 64) { EVERYWHERE } else { NOWHERE },
        op: Operation::Rem,
        sem: Sem::Ops(|x| by_sign(x, [Op::RemUW, Op::RemSW, Op::RemUD, Op::RemSD])),
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
pub(super) fn by_sign(x: &mut Cx, ops: [Op; 4]) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = signed_op(x, ty, ops, a, b);
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}

pub(super) fn signed_op(x: &mut Cx, ty: Ty, ops: [Op; 4], a: V, b: V) -> V {
    let op = ops[ty.signed() as usize + 2 * (ty.kind() == Kind::D) as usize];
    if ty.signed() {
        let (a, b) = (x.sext(a, ty.bits()), x.sext(b, ty.bits()));
        x.op2(op, a, b)
    } else {
        x.op2(op, a, b)
    }
}

/// A packed operation on bytes or halves, or a saturating one on words.
pub(super) fn lanewise(x: &mut Cx, op: Lanewise) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = if ty == Ty::U32 {
        // Unsigned words, which are only added: what is left up to the largest one limits the sum.
        let room = x.op2(Op::XorW, a, V::w(u32::MAX));
        let less = x.op2(Op::MinUW, b, room);
        x.op2(Op::AddW, a, less)
    } else {
        lanes(x, op, ty, a, b)
    };
    x.wr("d", d);
}

/// `op` in each byte or half of `a` and `b`.
pub(super) fn lanes(x: &mut Cx, op: Lanewise, ty: Ty, a: V, b: V) -> V {
    let signed = matches!(ty, Ty::S8x4 | Ty::S16x2);
    let k = Simd {
        op,
        bytes: matches!(ty, Ty::U8x4 | Ty::S8x4),
        signed,
        a_signed: signed,
        b_signed: signed,
        sat: x.has(".sat"),
        mask: 0xf,
        ..Simd::default()
    };
    x.op_k(Op::VideoSimd, &[a, b, V::w(0)], k.pack())
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
pub(super) fn product(x: &mut Cx) -> V {
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
