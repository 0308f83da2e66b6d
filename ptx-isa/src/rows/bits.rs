//! Counting of bits and bit fields (PTX ISA 9.7.1.14 to 9.7.1.22).

use crate::class::Class;
use crate::meaning::{Cx, V};
use crate::row::{Operation, ROW, Row, Sem};
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;

const INT_32_64: (&str, &str) = ("type", ".u32 .s32 .u64 .s64");
pub(super) const CLAMP: (&str, &str) = ("mode", ".clamp .wrap");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "popc.type d:.u32, a",
        does: "Counts the one bits.",
        sets: &[("type", ".b32 .b64")],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.1.14",
        class: |_| Class::BitCount,
        sem: Sem::Ops(|x| count(x, Op::PopcW, Op::PopcD)),
        ..ROW
    },
    Row {
        syntax: "clz.type d:.u32, a",
        does: "Counts the leading zeros.",
        sets: &[("type", ".b32 .b64")],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.1.15",
        class: |_| Class::LeadingZeros,
        sem: Sem::Ops(|x| count(x, Op::ClzW, Op::ClzD)),
        ..ROW
    },
    Row {
        syntax: "bfind{.shiftamt}.type d:.u32, a",
        does: "Finds the highest bit that differs from the sign.",
        sets: &[INT_32_64],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.1.16",
        class: |_| Class::BitCount,
        splits: |m| m.types().any(|t| t.bits() == 64),
        sem: Sem::Ops(bfind),
        ..ROW
    },
    Row {
        syntax: "fns.b32 d, mask, base, offset",
        does: "Finds the n-th one bit from a position on.",
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.1.17",
        class: |_| Class::BitCount,
        sem: Sem::Ops(|x| {
            let (m, b, o) = (x.rd("mask"), x.rd("base"), x.rd("offset"));
            let d = x.op3(Op::Fns, m, b, o);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "brev.type d, a",
        does: "Reverses the order of the bits.",
        sets: &[("type", ".b32 .b64")],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.1.18",
        class: |_| Class::BitCount,
        sem: Sem::Ops(|x| count(x, Op::BrevW, Op::BrevD)),
        ..ROW
    },
    Row {
        syntax: "bfe.type d, a, b=0..255:.u32, c=0..255:.u32",
        does: "Extracts a bit field and extends it.",
        sets: &[INT_32_64],
        since: ptx(2, 0),
        sm: 20,
        section: "9.7.1.19",
        class: |_| Class::Bitfield,
        sem: Sem::Ops(|x| {
            let op = match x.ty() {
                Ty::U32 => Op::BfeUW,
                Ty::S32 => Op::BfeSW,
                Ty::U64 => Op::BfeUD,
                _ => Op::BfeSD,
            };
            let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
            let d = x.op3(op, a, b, c);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "bfi.type d, a, b, pos=0..255:.u32, len=0..255:.u32",
        does: "Inserts a bit field.",
        sets: &[("type", ".b32 .b64")],
        since: ptx(2, 0),
        sm: 20,
        op: Operation::Insert,
        section: "9.7.1.20",
        class: |_| Class::Bitfield,
        sem: Sem::Ops(bfi),
        ..ROW
    },
    Row {
        syntax: "szext.mode.type d, a, b:.u32",
        does: "Extends a value of so many bits by its sign or by zeros.",
        sets: &[CLAMP, ("type", ".u32 .s32")],
        since: ptx(7, 6),
        sm: 70,
        section: "9.7.1.21",
        class: |_| Class::Bitfield,
        sem: Sem::Ops(|x| {
            let k = x.ty().signed() as u32 | (x.has(".clamp") as u32) << 1;
            let (a, b) = (x.rd("a"), x.rd("b"));
            let d = x.op_k(Op::Szext, &[a, b], k);
            x.wr("d", d);
        }),
        ..ROW
    },
    Row {
        syntax: "bmsk.mode.b32 d:.u32, a:.u32, b:.u32",
        does: "Makes a mask of so many ones from a bit on.",
        sets: &[CLAMP],
        since: ptx(7, 6),
        sm: 70,
        section: "9.7.1.22",
        class: |_| Class::Bitfield,
        sem: Sem::Ops(|x| {
            let wrap = x.has(".wrap");
            let (a, b) = (x.rd("a"), x.rd("b"));
            let (a, b) = match wrap {
                true => (x.op2(Op::AndW, a, V::w(31)), x.op2(Op::AndW, b, V::w(31))),
                false => (a, b),
            };
            let d = x.op2(Op::FieldW, a, b);
            x.wr("d", d);
        }),
        ..ROW
    },
];

fn count(x: &mut Cx, narrow: Op, wide: Op) {
    let (ty, a) = (x.ty(), x.rd("a"));
    let d = x.op1(if ty.kind() == Kind::D { wide } else { narrow }, a);
    x.wr("d", d);
}

/// Position of the highest bit that differs from the sign; as a shift amount, its distance from
/// the top.
fn bfind(x: &mut Cx) {
    let (ty, mut a) = (x.ty(), x.rd("a"));
    let wide = ty.kind() == Kind::D;
    if ty.signed() {
        // The leading sign bits do not count: complement negative values.
        a = match wide {
            true => {
                let s = x.op2(Op::SarD, a, V::w(63));
                x.op2(Op::XorD, a, s)
            }
            false => {
                let s = x.op2(Op::SarW, a, V::w(31));
                x.op2(Op::XorW, a, s)
            }
        };
    }
    let mut d = x.op1(if wide { Op::BfindUD } else { Op::BfindUW }, a);
    if x.has(".shiftamt") {
        let none = x.op2(Op::EqW, d, V::w(u32::MAX));
        let amount = x.op2(Op::SubW, V::w(ty.bits() - 1), d);
        d = x.op3(Op::SelW, V::w(u32::MAX), amount, none);
    }
    x.wr("d", d);
}

fn bfi(x: &mut Cx) {
    let wide = x.ty().kind() == Kind::D;
    let (a, b, mut pos, mut len) = (x.rd("a"), x.rd("b"), x.rd("pos"), x.rd("len"));
    if !wide {
        pos = x.op2(Op::AndW, pos, V::w(255));
        len = x.op2(Op::AndW, len, V::w(255));
    }
    let (field, shl, and, not, or) = match wide {
        true => (Op::FieldD, Op::ShlD, Op::AndD, Op::NotD, Op::OrD),
        false => (Op::FieldW, Op::ShlW, Op::AndW, Op::NotW, Op::OrW),
    };
    let mask = x.op2(field, pos, len);
    let up = x.op2(shl, a, pos);
    let inserted = x.op2(and, up, mask);
    let keep = x.op1(not, mask);
    let kept = x.op2(and, b, keep);
    let d = x.op2(or, inserted, kept);
    x.wr("d", d);
}
