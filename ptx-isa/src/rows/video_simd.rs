//! SIMD video instructions (PTX ISA 9.7.20.2).

use crate::class::Class;
use crate::meaning::{Cx, Selection, V};
use crate::row::{ROW, Row, Sem};
use crate::types::ptx;
use crate::uop::Op;
use crate::video::{Cmp, Lanewise, Simd};

const SIMD: Row = Row {
    does: "Computes on the half-words or bytes of registers pairwise.",
    since: ptx(3, 0),
    sm: 30,
    class: |_| Class::IntMinMax,
    ..ROW
};
const SIGN: &str = ".u32 .s32";
const D: (&str, &str) = ("dtype", SIGN);
const A: (&str, &str) = ("atype", SIGN);
const B: (&str, &str) = ("btype", SIGN);
const CMP: (&str, &str) = ("cmp", ".eq .ne .lt .le .gt .ge");

/// The rows of the arithmetic instructions of one width: merging (with saturation), accumulating.
macro_rules! arithmetic {
    ($width:literal, $bytes:literal, $section:literal, $lanes:literal, $mask:literal: $($name:literal $op:ident;)*) => {[$(
        Row {
            syntax: concat!($name, $width, ".dtype.atype.btype{.sat} d{.", $mask, "}:dtype, %a{.", $lanes,
                "}:atype, %b{.", $lanes, "}:btype, %c:dtype"),
            sets: &[D, A, B],
            section: $section,
            sem: Sem::Ops(|x| simd(x, Lanewise::$op, $bytes)),
            ..SIMD
        },
        Row {
            syntax: concat!($name, $width, ".dtype.atype.btype.add d{.", $mask, "}:dtype, %a{.", $lanes,
                "}:atype, %b{.", $lanes, "}:btype, %c:dtype"),
            sets: &[D, A, B],
            section: $section,
            sem: Sem::Ops(|x| simd(x, Lanewise::$op, $bytes)),
            ..SIMD
        },
    )*]};
}

/// `vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2`
pub static HALVES: &[Row] = &arithmetic! {
    "2", false, "9.7.20.2.1", "halves", "hmask":
    "vadd" Add;
    "vsub" Sub;
    "vavrg" Average;
    "vabsdiff" AbsDiff;
    "vmin" Min;
    "vmax" Max;
};

/// `vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4`
pub static BYTES: &[Row] = &arithmetic! {
    "4", true, "9.7.20.2.3", "bytes", "bmask":
    "vadd" Add;
    "vsub" Sub;
    "vavrg" Average;
    "vabsdiff" AbsDiff;
    "vmin" Min;
    "vmax" Max;
};

/// `vset2 vset4`
pub static ROWS: &[Row] = &[
    Row {
        syntax: "vset2.atype.btype.cmp{.add} d{.hmask}:.u32, %a{.halves}:atype, %b{.halves}:btype, %c:.u32",
        sets: &[A, B, CMP],
        section: "9.7.20.2.2",
        sem: Sem::Ops(|x| simd(x, Lanewise::Set, false)),
        ..SIMD
    },
    Row {
        syntax: "vset4.atype.btype.cmp{.add} d{.bmask}:.u32, %a{.bytes}:atype, %b{.bytes}:btype, %c:.u32",
        sets: &[A, B, CMP],
        section: "9.7.20.2.4",
        sem: Sem::Ops(|x| simd(x, Lanewise::Set, true)),
        ..SIMD
    },
];

/// The lanes that operand `name` selects from the registers `a` and `b`.
fn lanes(x: &mut Cx, name: &str, bytes: bool, (a, b): (V, V)) -> V {
    let Selection::Lanes(choice) = x.part(name) else {
        // The defaults are the operand's own lanes in order.
        return if name == "a" { a } else { b };
    };
    let selector = if bytes {
        u32::from(choice)
    } else {
        let half = |lane: u32| u32::from(choice) >> (4 * lane) & 3;
        let pair = |half: u32| (2 * half + 1) * 16 + 2 * half;
        pair(half(1)) << 8 | pair(half(0))
    };
    x.op3(Op::Prmt, a, b, V::w(selector))
}

fn simd(x: &mut Cx, op: Lanewise, bytes: bool) {
    let k = Simd {
        op,
        cmp: Cmp::from_token(x.get("cmp")).unwrap_or_default(),
        bytes,
        signed: x.get("dtype") == ".s32",
        a_signed: x.get("atype") == ".s32",
        b_signed: x.get("btype") == ".s32",
        sat: x.has(".sat"),
        accumulate: x.has(".add"),
        mask: match x.part("d") {
            Selection::Mask(m) => m,
            _ => 0xf,
        },
    }
    .pack();
    let sources = (x.rd("a"), x.rd("b"));
    let a = lanes(x, "a", bytes, sources);
    let b = lanes(x, "b", bytes, sources);
    let c = x.rd("c");
    let d = x.op_k(Op::VideoSimd, &[a, b, c], k);
    x.wr("d", d);
}
