//! `cvt` to and from packed 4-, 6- and 8-bit formats (PTX ISA 9.7.10, `cvt`).
//!
//! `e4m3` and `e5m2` from `sm_89` on are checked against hardware; the rest follows the manual.

use super::cvt_packed::PZO;
use super::float::rounding;
use super::half::half_mode;
use crate::class;
use crate::meaning::{Cx, V};
use crate::num::mode::{Format, Mode};
use crate::row::{Exactness, Floor, Operation, ROW, Row, Sem};
use crate::types::{Ty, ptx};
use crate::uop::Op;

pub(super) const RN_RZ: (&str, &str) = ("rnd", ".rn .rz");
const RN: (&str, &str) = ("rnd", ".rn");
const F8: (&str, &str) = ("dtype", ".e4m3x2 .e5m2x2");
const F6: (&str, &str) = ("dtype", ".e2m3x2 .e3m2x2");
const F4: (&str, &str) = ("dtype", ".e2m1x2");
pub(super) const HALVES: (&str, &str) = ("stype", ".f16x2 .bf16x2");
const F8_SOURCE: (&str, &str) = ("stype", ".e4m3x2 .e5m2x2");
const SMALL_SOURCE: (&str, &str) = ("stype", ".e2m1x2 .e2m3x2 .e3m2x2");
/// Targets of the 6- and 4-bit formats and `.ue8m0`.
pub(super) const BLACKWELL: &str =
    "sm_100a sm_101a sm_110a sm_120a sm_100f sm_101f sm_110f sm_120f";
const FAMILIES: &str = "sm_100f sm_110f sm_120f";
pub(super) const RZ: Floor = Floor { tokens: ".rz", since: ptx(9, 4), sm: 0, targets: "sm_107f" };
const SCALED_N1: Floor =
    Floor { tokens: ".scaled::n1::ue8m0", since: ptx(9, 4), sm: 0, targets: "sm_107f" };

const CVT: Row = Row {
    does: "Converts between wider floats and packed formats of 8, 6 or 4 bits.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // 8 bits
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.dtype.f32 d:dtype, a:.f32, b:.f32",
        sets: &[RN_RZ, F8],
        since: ptx(7, 8),
        sm: 89,
        floors: &[RZ, PZO],
        sem: Sem::Ops(from_pair),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.scaled::n1::ue8m0.dtype.f32 d:dtype, a:.f32, b:.f32, %s:.b8",
        sets: &[RN_RZ, ("dtype", ".e4m3x2 .e5m2x2 .e2m3x2 .e3m2x2 .e2m1x2")],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(from_pair),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.dtype.stype d:dtype, a:stype",
        sets: &[RN_RZ, F8, HALVES],
        since: ptx(7, 8),
        sm: 89,
        floors: &[RZ, PZO, Floor { tokens: ".bf16x2", since: ptx(9, 1), sm: 0, targets: FAMILIES }],
        sem: Sem::Ops(from_halves),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.scaled::n1::ue8m0.dtype.stype d:dtype, a:stype, %s:.b8",
        sets: &[RN_RZ, ("dtype", ".e4m3x2 .e5m2x2 .e2m3x2 .e3m2x2 .e2m1x2"), HALVES],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(from_halves),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}.f16x2.stype d:.f16x2, a:stype",
        sets: &[RN, F8_SOURCE],
        since: ptx(7, 8),
        sm: 89,
        sem: Sem::Ops(to_halves),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}{.satfinite}.bf16x2.stype d:.bf16x2, a:stype",
        sets: &[RN, ("stype", ".e4m3x2 .e5m2x2 .e2m1x2 .e2m3x2 .e3m2x2")],
        since: ptx(9, 2),
        targets: FAMILIES,
        sem: Sem::Ops(to_halves),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}{.satfinite}.scaled::n2::ue8m0.bf16x2.stype d:.bf16x2, a:stype, %s:.b16",
        sets: &[RN, ("stype", ".e4m3x2 .e5m2x2 .e2m1x2 .e2m3x2 .e3m2x2")],
        since: ptx(9, 2),
        targets: FAMILIES,
        sem: Sem::Ops(to_halves),
        ..CVT
    },
    // 6 and 4 bits
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.dtype.f32 d:dtype, a:.f32, b:.f32",
        sets: &[RN_RZ, F6],
        since: ptx(8, 6),
        targets: BLACKWELL,
        floors: &[RZ, PZO],
        sem: Sem::Ops(from_pair),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.dtype.f32 d:dtype, a:.f32, b:.f32",
        sets: &[RN_RZ, F4],
        since: ptx(8, 6),
        targets: BLACKWELL,
        floors: &[RZ, PZO],
        sem: Sem::Ops(from_pair),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}{.pzo}.dtype.stype d:dtype, a:stype",
        sets: &[RN_RZ, ("dtype", ".e2m3x2 .e3m2x2 .e2m1x2"), HALVES],
        since: ptx(9, 1),
        targets: FAMILIES,
        floors: &[RZ, PZO, SCALED_N1],
        sem: Sem::Ops(from_halves),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}.f16x2.stype d:.f16x2, a:stype",
        sets: &[RN, SMALL_SOURCE],
        since: ptx(8, 6),
        targets: BLACKWELL,
        sem: Sem::Ops(to_halves),
        ..CVT
    },
    // Stochastic rounding of four elements
    Row {
        syntax: "cvt.rs{.relu}.satfinite.dtype.f32 d:dtype, a*4:.f32, %r:.u32",
        does: "Converts four floats to a packed 8- or smaller format with stochastic rounding.",
        sets: &[("dtype", ".e4m3x4 .e5m2x4 .e2m3x4 .e3m2x4 .e2m1x4")],
        since: ptx(8, 7),
        targets: "sm_100a sm_103a sm_107a",
        section: "9.7.10.24",
        class: class::convert,
        op: Operation::Convert,
        // The manual shows the layout of the random bits in figures only; see `stochastic`.
        exact: Exactness::Implementation,
        sem: Sem::Ops(stochastic),
        ..ROW
    },
];

/// The narrow format of a packed type.
fn format(ty: Ty) -> Format {
    match ty {
        Ty::E4m3x2 | Ty::E4m3x4 => Format::E4m3,
        Ty::E5m2x2 | Ty::E5m2x4 => Format::E5m2,
        Ty::E2m3x2 | Ty::E2m3x4 => Format::E2m3,
        Ty::E3m2x2 | Ty::E3m2x4 => Format::E3m2,
        Ty::E2m1x2 | Ty::E2m1x4 => Format::E2m1,
        Ty::Ue8m0x2 => Format::Ue8m0,
        Ty::Ue5m3x2 => Format::Ue5m3,
        _ => Format::S2f6,
    }
}

/// The scale factors of the upper and the lower element: one for both (`n1`) or one each (`n2`).
fn scales(x: &mut Cx) -> (V, V, bool) {
    if x.has(".scaled::n1::ue8m0") {
        let s = x.rd("s");
        return (s, s, true);
    }
    if x.has(".scaled::n2::ue8m0") {
        let s = x.rd("s");
        let upper = x.op2(Op::ShrW, s, V::w(8));
        return (upper, s, true);
    }
    (V::w(0), V::w(0), false)
}

/// Packs two elements, the first above the second.
fn pack(x: &mut Cx, f: Format, upper: V, lower: V) -> V {
    let upper = x.op2(Op::ShlW, upper, V::w(f.stride()));
    x.op2(Op::OrW, upper, lower)
}

fn down(x: &mut Cx, upper: V, lower: V) {
    let f = format(x.slot_ty("d").expect("a destination type"));
    let (upper_scale, lower_scale, scaled) = scales(x);
    let mode = Mode::NONE
        .rnd(rounding(x))
        .format(f)
        .scaled(scaled)
        .relu(x.has(".relu"))
        .pzo(x.has(".pzo"))
        .satfinite(x.has(".satfinite"));
    let upper = x.op_k(Op::CvtNarrowF32, &[upper, upper_scale], mode.0);
    let lower = x.op_k(Op::CvtNarrowF32, &[lower, lower_scale], mode.0);
    let d = pack(x, f, upper, lower);
    x.wr("d", d);
}

/// From two `.f32`.
pub(super) fn from_pair(x: &mut Cx) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    down(x, a, b);
}

/// From a register of two halves.
pub(super) fn from_halves(x: &mut Cx) {
    let k = half_mode(x.slot_ty("a").expect("a source type")).packed(false).0;
    let a = x.rd("a");
    let upper = x.op1(Op::High16, a);
    let upper = x.op_k(Op::WidenHalf, &[upper], k);
    let lower = x.op_k(Op::WidenHalf, &[a], k);
    down(x, upper, lower);
}

/// To a register of two halves.
pub(super) fn to_halves(x: &mut Cx) {
    let f = format(x.slot_ty("a").expect("a source type"));
    let bf16 = x.slot_ty("d") == Some(Ty::Bf16x2);
    let (upper_scale, lower_scale, scaled) = scales(x);
    let mode = Mode::NONE
        .format(f)
        .bf16(bf16)
        .scaled(scaled)
        .relu(x.has(".relu"))
        .satfinite(x.has(".satfinite"));
    let a = x.rd("a");
    let upper = x.op2(Op::ShrW, a, V::w(f.stride()));
    let upper = x.op_k(Op::CvtHalfNarrow, &[upper, upper_scale], mode.0);
    let lower = x.op_k(Op::CvtHalfNarrow, &[a, lower_scale], mode.0);
    let d = x.op2(Op::Pack16, lower, upper);
    x.wr("d", d);
}

/// Four `.f32` with stochastic rounding. The upper half of the random bits serves the first two
/// elements, the lower half the others; of `.e2m1x4` the manual says that each pair takes one byte
/// of both halves.
fn stochastic(x: &mut Cx) {
    let ty = x.slot_ty("d").expect("a destination type");
    let f = format(ty);
    let mode = Mode::NONE.format(f).relu(x.has(".relu")).satfinite(true);
    let v = x.rd_vec("a");
    let r = x.rd("r");
    let upper = x.op1(Op::High16, r);
    let (first, second) = if ty == Ty::E2m1x4 {
        // Bytes 3 and 1 for the first pair, 2 and 0 for the second, as 16 bits each.
        let byte = |x: &mut Cx, n: u32| {
            let b = x.op2(Op::ShrW, r, V::w(8 * n));
            x.zext(b, 8)
        };
        let pair = |x: &mut Cx, high: u32, low: u32| {
            let (h, l) = (byte(x, high), byte(x, low));
            let h = x.op2(Op::ShlW, h, V::w(8));
            x.op2(Op::OrW, h, l)
        };
        (pair(x, 3, 1), pair(x, 2, 0))
    } else {
        (upper, x.zext(r, 16))
    };
    let mut d = V::w(0);
    for (i, v) in v.iter().enumerate() {
        let random = if i < 2 { first } else { second };
        let element = x.op_k(Op::CvtStochasticNarrow, &[*v, random], mode.0);
        let above = x.op2(Op::ShlW, d, V::w(f.stride()));
        d = x.op2(Op::OrW, above, element);
    }
    x.wr("d", d);
}
