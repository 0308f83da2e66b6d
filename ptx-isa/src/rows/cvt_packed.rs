//! Conversions to packed 16-bit floats and `.tf32`, and `cvt.pack` (PTX ISA 9.7.10.24, 9.7.10.25).

use super::float::rounding;
use super::half::half_mode;
use crate::class::{self, Class};
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::num::Rnd;
use crate::num::mode::Mode;
use crate::row::{Constants, Operation, ROW, Row, Sem, floor};
use crate::types::{Ty, ptx};
use crate::uop::Op;

const FRND2: (&str, &str) = ("rnd", ".rn .rz");

const CVT: Row = Row {
    does: "Converts floats to 16 bits, one or two packed into a register.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};
const CVT_RNA: Row = Row {
    does: "Rounds a float to the precision of TensorFloat-32.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};
const CVT_PACK: Row = Row {
    does: "Converts two integers to a narrow type with saturation and packs them.",
    section: "9.7.10.25",
    class: |_| Class::ConvertInt,
    op: Operation::Convert,
    specials: false,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // .relu, .satfinite, .pzo and packed halves from .f32
    Row {
        syntax: "cvt.rnd{.relu}{.satfinite}{.pzo}.dtype.f32 d:dtype>, a:.f32>",
        sets: &[FRND2, ("dtype", ".f16")],
        since: ptx(7, 0),
        sm: 80,
        floors: &[floor(".satfinite", ptx(8, 1), 80), PZO],
        // Without these modifiers it is the plain conversion above, with its own floors.
        check: Some(|m: &Match| {
            let any = m.has(".relu") || m.has(".satfinite") || m.has(".pzo");
            any.then_some(()).ok_or_else(|| "modifier .relu, .satfinite or .pzo expected".into())
        }),
        sem: Sem::Ops(|x| {
            let a = x.rd("a");
            let d = half_from_f32(x, x.ty_of("dtype"), a);
            x.wr("d", d);
        }),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}{.satfinite}{.pzo}.dtype.f32 d:dtype, a:.f32",
        sets: &[FRND2, ("dtype", ".bf16")],
        since: ptx(7, 0),
        sm: 80,
        floors: &[floor(".satfinite", ptx(8, 1), 80), PZO],
        // Without these modifiers it is the plain conversion above, with its own floors.
        check: Some(|m: &Match| {
            let any = m.has(".relu") || m.has(".satfinite") || m.has(".pzo");
            any.then_some(()).ok_or_else(|| "modifier .relu, .satfinite or .pzo expected".into())
        }),
        sem: Sem::Ops(|x| {
            let a = x.rd("a");
            let d = half_from_f32(x, x.ty_of("dtype"), a);
            x.wr("d", d);
        }),
        ..CVT
    },
    Row {
        // Not in the manual.
        syntax: "cvt.rm.pzo.dtype.f32 d:dtype, a:.f32",
        sets: &[("dtype", ".f16 .bf16")],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(|x| {
            let a = x.rd("a");
            let mode = half_mode(x.ty_of("dtype")).rnd(Rnd::Rm).pzo(true);
            let d = x.op_k(Op::CvtHalfF32, &[a], mode.0);
            x.wr("d", d);
        }),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}{.satfinite}{.pzo}.dtype.f32 d:dtype>, a:.f32>, b:.f32>",
        sets: &[FRND2, ("dtype", ".f16x2")],
        since: ptx(7, 0),
        sm: 80,
        floors: &[floor(".satfinite", ptx(8, 1), 80), PZO],
        sem: Sem::Ops(|x| {
            let ty = x.ty_of("dtype");
            let (a, b) = (x.rd("a"), x.rd("b"));
            let high = half_from_f32(x, ty, a);
            let low = half_from_f32(x, ty, b);
            let d = x.op2(Op::Pack16, low, high);
            x.wr("d", d);
        }),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.relu}{.satfinite}{.pzo}.dtype.f32 d:dtype, a:.f32, b:.f32",
        sets: &[FRND2, ("dtype", ".bf16x2")],
        since: ptx(7, 0),
        sm: 80,
        floors: &[floor(".satfinite", ptx(8, 1), 80), PZO],
        sem: Sem::Ops(|x| {
            let ty = x.ty_of("dtype");
            let (a, b) = (x.rd("a"), x.rd("b"));
            let high = half_from_f32(x, ty, a);
            let low = half_from_f32(x, ty, b);
            let d = x.op2(Op::Pack16, low, high);
            x.wr("d", d);
        }),
        ..CVT
    },
    Row {
        syntax: "cvt.rs{.relu}{.satfinite}.dtype.f32 d:dtype>, a:.f32>, b:.f32>, %r:.u32",
        sets: &[("dtype", ".f16x2")],
        since: ptx(8, 7),
        targets: "sm_100a sm_103a sm_107a",
        sem: Sem::Ops(|x| {
            let mode = half_mode(x.ty_of("dtype")).packed(false);
            let mode = mode.relu(x.has(".relu")).satfinite(x.has(".satfinite"));
            let (a, b, r) = (x.rd("a"), x.rd("b"), x.rd("r"));
            let upper = x.op1(Op::High16, r);
            let high = x.op_k(Op::CvtStochasticHalf, &[a, upper], mode.0);
            let low = x.op_k(Op::CvtStochasticHalf, &[b, r], mode.0);
            let d = x.op2(Op::Pack16, low, high);
            x.wr("d", d);
        }),
        ..CVT
    },
    Row {
        syntax: "cvt.rs{.relu}{.satfinite}.dtype.f32 d:dtype, a:.f32, b:.f32, %r:.u32",
        sets: &[("dtype", ".bf16x2")],
        since: ptx(8, 7),
        targets: "sm_100a sm_103a sm_107a",
        sem: Sem::Ops(|x| {
            let mode = half_mode(x.ty_of("dtype")).packed(false);
            let mode = mode.relu(x.has(".relu")).satfinite(x.has(".satfinite"));
            let (a, b, r) = (x.rd("a"), x.rd("b"), x.rd("r"));
            let upper = x.op1(Op::High16, r);
            let high = x.op_k(Op::CvtStochasticHalf, &[a, upper], mode.0);
            let low = x.op_k(Op::CvtStochasticHalf, &[b, r], mode.0);
            let d = x.op2(Op::Pack16, low, high);
            x.wr("d", d);
        }),
        ..CVT
    },
    // .tf32
    Row {
        syntax: "cvt.rna{.satfinite}.tf32.f32 d:.b32, a:.f32",
        since: ptx(7, 0),
        sm: 80,
        floors: &[floor(".satfinite", ptx(8, 1), 80)],
        sem: Sem::Ops(|x| tf32(x, Rnd::Rna)),
        constants: Constants::Single,
        ..CVT_RNA
    },
    Row {
        syntax: "cvt.rnd{.satfinite}{.relu}{.pzo}.tf32.f32 d:.b32, a:.f32",
        sets: &[FRND2],
        since: ptx(7, 8),
        sm: 90,
        floors: &[floor(".satfinite", ptx(8, 6), 100), PZO],
        sem: Sem::Ops(|x| tf32(x, rounding(x))),
        ..CVT_RNA
    },
    // cvt.pack
    Row {
        syntax: "cvt.pack.sat.convert.s32 d:.u32>, a:.s32>, b:.s32>",
        sets: &[("convert", ".u16 .s16")],
        since: ptx(6, 5),
        sm: 72,
        sem: Sem::Ops(pack),
        ..CVT_PACK
    },
    Row {
        syntax: "cvt.pack.sat.convert.s32.b32 d:.u32>, a:.s32>, b:.s32>, c:.b32>",
        sets: &[("convert", ".u2 .s2 .u4 .s4 .u8 .s8")],
        since: ptx(6, 5),
        sm: 72,
        floors: &[floor(".u2 .s2 .u4 .s4", ptx(6, 5), 75)],
        sem: Sem::Ops(pack),
        ..CVT_PACK
    },
];

/// `.pzo` belongs to the `sm_107` family.
pub(super) const PZO: crate::row::Floor =
    crate::row::Floor { tokens: ".pzo", since: ptx(9, 4), sm: 0, targets: "sm_107f" };

/// One element of a conversion from `.f32` to `.f16` or `.bf16`, packed or not.
fn half_from_f32(x: &mut Cx, ty: Ty, a: V) -> V {
    let rnd = rounding(x);
    let plain = half_mode(ty).packed(false).rnd(rnd);
    let mode = plain.relu(x.has(".relu")).satfinite(x.has(".satfinite")).pzo(x.has(".pzo"));
    if mode == plain && rnd == Rnd::Rn {
        let bf16 = matches!(ty, Ty::Bf16 | Ty::Bf16x2);
        return x.op1(if bf16 { Op::CvtBf16F32 } else { Op::CvtF16F32 }, a);
    }
    x.op_k(Op::CvtHalfF32, &[a], mode.0)
}

fn tf32(x: &mut Cx, rnd: Rnd) {
    let mode = Mode::NONE.rnd(rnd).relu(x.has(".relu"));
    let mode = mode.satfinite(x.has(".satfinite")).pzo(x.has(".pzo"));
    let a = x.rd("a");
    let d = x.op_k(Op::CvtTf32F32, &[a], mode.0);
    x.wr("d", d);
}

fn pack(x: &mut Cx) {
    let to = x.get("convert");
    let bits: u32 = to[2..].parse().expect("width in the type's name");
    let k = bits | if to.starts_with(".s") { 0x100 } else { 0 };
    let (a, b) = (x.rd("a"), x.rd("b"));
    let c = if bits < 16 { x.rd("c") } else { V::w(0) };
    let d = x.op_k(Op::CvtPack, &[a, b, c], k);
    x.wr("d", d);
}
