//! Scalar video instructions (PTX ISA 9.7.20.1).

use crate::class::Class;
use crate::meaning::{Arg, Cx, Selection, V};
use crate::row::{ROW, Row, Sem};
use crate::types::ptx;
use crate::uop::Op;
use crate::video::{Cmp, Mad, Merge, Primary, Scalar, Second};

const VIDEO: Row = Row {
    does: "Computes on bytes, half-words or words of registers.",
    since: ptx(2, 0),
    sm: 20,
    class: |_| Class::IntMinMax,
    ..ROW
};
const SIGN: &str = ".u32 .s32";
const D: (&str, &str) = ("dtype", SIGN);
const A: (&str, &str) = ("atype", SIGN);
const B: (&str, &str) = ("btype", SIGN);
const CMP: (&str, &str) = ("cmp", ".eq .ne .lt .le .gt .ge");
const OP2: (&str, &str) = ("op2", ".add .min .max");
const MODE: (&str, &str) = ("mode", ".clamp .wrap");

/// The rows of one of `vadd vsub vabsdiff vmin vmax`: plain, with a second operation, with a merge.
macro_rules! arithmetic {
    ($($name:literal $op:ident;)*) => {[$(
        Row {
            syntax: concat!($name, ".dtype.atype.btype{.sat} d:dtype, a{.part}:atype, b{.part}:btype"),
            sets: &[D, A, B],
            section: "9.7.20.1.1",
            sem: Sem::Ops(|x| scalar(x, Primary::$op)),
            ..VIDEO
        },
        Row {
            syntax: concat!($name, ".dtype.atype.btype{.sat}.op2 d:dtype, a{.part}:atype, b{.part}:btype, c:dtype"),
            sets: &[D, A, B, OP2],
            section: "9.7.20.1.1",
            sem: Sem::Ops(|x| scalar(x, Primary::$op)),
            ..VIDEO
        },
        Row {
            syntax: concat!($name, ".dtype.atype.btype{.sat} d{.part}:dtype, a{.part}:atype, b{.part}:btype, c:dtype"),
            sets: &[D, A, B],
            section: "9.7.20.1.1",
            sem: Sem::Ops(|x| scalar(x, Primary::$op)),
            ..VIDEO
        },
    )*]};
}

/// The rows of `vshl` and `vshr`.
macro_rules! shifts {
    ($($name:literal $op:ident;)*) => {[$(
        Row {
            syntax: concat!($name, ".dtype.atype.u32{.sat}.mode d:dtype, a{.part}:atype, b{.part}:.u32"),
            sets: &[D, A, MODE],
            section: "9.7.20.1.2",
            sem: Sem::Ops(|x| scalar(x, Primary::$op)),
            ..VIDEO
        },
        Row {
            syntax: concat!($name, ".dtype.atype.u32{.sat}.mode.op2 d:dtype, a{.part}:atype, b{.part}:.u32, c:dtype"),
            sets: &[D, A, MODE, OP2],
            section: "9.7.20.1.2",
            sem: Sem::Ops(|x| scalar(x, Primary::$op)),
            ..VIDEO
        },
        Row {
            syntax: concat!($name, ".dtype.atype.u32{.sat}.mode d{.part}:dtype, a{.part}:atype, b{.part}:.u32, c:dtype"),
            sets: &[D, A, MODE],
            section: "9.7.20.1.2",
            sem: Sem::Ops(|x| scalar(x, Primary::$op)),
            ..VIDEO
        },
    )*]};
}

/// `vadd vsub vabsdiff vmin vmax`
pub static ARITHMETIC: &[Row] = &arithmetic! {
    "vadd" Add;
    "vsub" Sub;
    "vabsdiff" AbsDiff;
    "vmin" Min;
    "vmax" Max;
};

/// `vshl vshr`
pub static SHIFTS: &[Row] = &shifts! {
    "vshl" Shl;
    "vshr" Shr;
};

const VMAD: Row =
    Row { does: "Multiplies and adds parts of registers.", section: "9.7.20.1.3", ..VIDEO };
const VSET: Row = Row { does: "Compares parts of registers.", section: "9.7.20.1.4", ..VIDEO };

/// `vmad vset`
pub static ROWS: &[Row] = &[
    Row {
        syntax: "vmad.dtype.atype.btype{.sat}{.scale} d:dtype, {-}a{.part}:atype, {-}b{.part}:btype, {-}c:dtype",
        sets: &[D, A, B, ("scale", ".shr7 .shr15")],
        sem: Sem::Ops(mad),
        ..VMAD
    },
    Row {
        syntax: "vmad.dtype.atype.btype.po{.sat}{.scale} d:dtype, a{.part}:atype, b{.part}:btype, c:dtype",
        sets: &[D, A, B, ("scale", ".shr7 .shr15")],
        sem: Sem::Ops(mad),
        ..VMAD
    },
    Row {
        syntax: "vset.atype.btype.cmp d:.u32, a{.part}:atype, b{.part}:btype",
        sets: &[A, B, CMP],
        sem: Sem::Ops(|x| scalar(x, Primary::Set)),
        ..VSET
    },
    Row {
        syntax: "vset.atype.btype.cmp.op2 d:.u32, a{.part}:atype, b{.part}:btype, c:.u32",
        sets: &[A, B, CMP, OP2],
        sem: Sem::Ops(|x| scalar(x, Primary::Set)),
        ..VSET
    },
    Row {
        syntax: "vset.atype.btype.cmp d{.part}:.u32, a{.part}:atype, b{.part}:btype, c:.u32",
        sets: &[A, B, CMP],
        sem: Sem::Ops(|x| scalar(x, Primary::Set)),
        ..VSET
    },
];

/// Whether the instruction runs on the video unit that the manual describes.
fn has_video_unit(x: &Cx) -> bool {
    x.sm() < 50
}

/// The selected part of source `name`, extended to 32 bits by its type.
fn part(x: &mut Cx, name: &str, signed: bool) -> V {
    let v = x.rd(name);
    let (at, bits) = match x.part(name) {
        Selection::B0 => (0, 8),
        Selection::B1 => (8, 8),
        Selection::B2 => (16, 8),
        Selection::B3 => (24, 8),
        Selection::H0 => (0, 16),
        Selection::H1 => (16, 16),
        _ => return v,
    };
    let v = if at == 0 { v } else { x.op2(Op::ShrW, v, V::w(at)) };
    if signed { x.sext(v, bits) } else { x.zext(v, bits) }
}

fn scalar(x: &mut Cx, op: Primary) {
    let a_signed = x.get("atype") == ".s32";
    let b_signed = x.get("btype") == ".s32";
    let signed = if op == Primary::Set { a_signed } else { x.get("dtype") == ".s32" };
    let second = match x.get("op2") {
        ".add" => Second::Add,
        ".min" => Second::Min,
        ".max" => Second::Max,
        _ => Second::None,
    };
    let merge = match x.part("d") {
        Selection::B0 => Merge::B0,
        Selection::B1 => Merge::B1,
        Selection::B2 => Merge::B2,
        Selection::B3 => Merge::B3,
        Selection::H0 => Merge::H0,
        Selection::H1 => Merge::H1,
        _ => Merge::Whole,
    };
    let k = Scalar {
        op,
        cmp: Cmp::from_token(x.get("cmp")).unwrap_or_default(),
        signed,
        a_signed,
        b_signed,
        sat: x.has(".sat"),
        wrap: x.has(".wrap"),
        second,
        merge,
        manual: has_video_unit(x),
    }
    .pack();
    let a = part(x, "a", a_signed);
    let b = part(x, "b", b_signed);
    let three = second != Second::None || merge != Merge::Whole;
    let c = if three { x.rd("c") } else { V::w(0) };
    let d = x.op_k(Op::VideoScalar, &[a, b, c], k);
    x.wr("d", d);
}

fn mad(x: &mut Cx) {
    let a_signed = x.get("atype") == ".s32";
    let b_signed = x.get("btype") == ".s32";
    let minus = |name: &str| matches!(x.arg(name), Arg::Minus(_));
    let k = Mad {
        a_signed,
        b_signed,
        minus_product: minus("a") != minus("b"),
        minus_c: minus("c"),
        plus_one: x.has(".po"),
        sat: x.has(".sat"),
        shift: match x.get("scale") {
            ".shr7" => 7,
            ".shr15" => 15,
            _ => 0,
        },
        manual: has_video_unit(x),
    }
    .pack();
    let a = part(x, "a", a_signed);
    let b = part(x, "b", b_signed);
    let c = x.rd("c");
    let d = x.op_k(Op::VideoMad, &[a, b, c], k);
    x.wr("d", d);
}
