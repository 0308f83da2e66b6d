//! Approximate functions and divisions (PTX ISA 9.7.3, 9.7.4), by the hardware's own tables: [`crate::mufu`].
//!
//! Compute capability 1.x has the flushing unit only.

use crate::class::{self, Class};
use crate::meaning::{Cx, V};
use crate::mufu::{self, Warp};
use crate::row::{Exactness, Operation, ROW, Row, Sem, floor};
use crate::types::{Ty, ptx};
use crate::uop::Op;

/// The defaults of this family.
const APPROX: Row = Row { since: ptx(1, 4), ..ROW };
/// The short forms of PTX 1.0 to 1.3, which mean `.approx.ftz`.
const SHORT: Row = Row { until: Some(ptx(1, 3)), ..ROW };

const PACKED: (&str, &str) = ("type", ".f16 .f16x2");
const PACKED_BF: (&str, &str) = ("type", ".bf16 .bf16x2");

const RCP: Row = Row { does: "Approximates the reciprocal.", ..APPROX };
const RSQRT: Row = Row { does: "Approximates the reciprocal of the square root.", ..APPROX };
const EX2: Row = Row { does: "Approximates 2 to a power.", op: Operation::PowerOfTwo, ..APPROX };
const TANH: Row = Row { does: "Approximates the hyperbolic tangent.", ..APPROX };
const RSQRT_F: Row =
    Row { does: "Approximates the reciprocal of the square root.", section: "9.7.3.16", ..SHORT };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "div.approx{.ftz}.f32 d, a, b",
        does: "Divides, within 2 units in the last place.",
        section: "9.7.3.8",
        class: |_| Class::F32DivApprox,
        op: Operation::Div,
        exact: Exactness::Recorded("mufu.rcp"),
        factors: |_| Some(|x| quotient(x, 0)),
        sem: Sem::Ops(|x| divide(x, Op::DivApproxF32)),
        ..APPROX
    },
    Row {
        syntax: "div.full{.ftz}.f32 d, a, b",
        does: "Divides over the full range, within 2 units in the last place.",
        section: "9.7.3.8",
        class: |_| Class::F32DivFull,
        op: Operation::Div,
        exact: Exactness::Recorded("mufu.rcp"),
        factors: |_| Some(|x| quotient(x, 2)),
        sem: Sem::Ops(|x| divide(x, Op::DivFullF32)),
        ..APPROX
    },
    Row {
        syntax: "div.f32 d, a, b",
        does: "Divides, within 2 units in the last place.",
        section: "9.7.3.8",
        class: |_| Class::F32DivApprox,
        op: Operation::Div,
        exact: Exactness::Recorded("mufu.rcp"),
        factors: |_| Some(|x| quotient(x, 0)),
        sem: Sem::Ops(|x| divide(x, Op::DivApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "rcp.approx{.ftz}.f32 d, a",
        section: "9.7.3.13",
        // Without .ftz a large or small operand is scaled, as in a quotient.
        class: |m| if m.has(".ftz") { Class::F32RcpApprox } else { Class::F32DivFull },
        exact: Exactness::Recorded("mufu.rcp"),
        // With .ftz it is the bare unit.
        factors: |m| match m.has(".ftz") {
            true => None,
            false => Some(reciprocal),
        },
        sem: Sem::Ops(|x| unary(x, Op::RcpApproxF32)),
        ..RCP
    },
    Row {
        syntax: "rcp.f32 d, a",
        does: "Approximates the reciprocal.",
        section: "9.7.3.13",
        class: |_| Class::F32RcpApprox,
        exact: Exactness::Recorded("mufu.rcp"),
        sem: Sem::Ops(|x| unary(x, Op::RcpApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "rcp.approx.ftz.f64 d, a",
        since: ptx(2, 1),
        sm: 20,
        section: "9.7.3.14",
        // The unit does the upper half.
        class: |_| Class::F32RcpApprox,
        splits: |_| false,
        exact: Exactness::Recorded("mufu.rcp"),
        sem: Sem::Ops(|x| plain(x, Op::RcpApproxF64)),
        ..RCP
    },
    Row {
        syntax: "sqrt.approx{.ftz}.f32 d, a",
        does: "Approximates the square root.",
        section: "9.7.3.15",
        class: |m| class::scaled(m, Class::F32SqrtApprox),
        exact: Exactness::Recorded("mufu.sqrt"),
        sem: Sem::Ops(|x| unary(x, Op::SqrtApproxF32)),
        ..APPROX
    },
    Row {
        syntax: "sqrt.f32 d, a",
        does: "Approximates the square root.",
        section: "9.7.3.15",
        class: |_| Class::F32SqrtApprox,
        exact: Exactness::Recorded("mufu.sqrt"),
        sem: Sem::Ops(|x| unary(x, Op::SqrtApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "rsqrt.approx{.ftz}.f32 d, a",
        section: "9.7.3.16",
        class: |m| class::scaled(m, Class::F32Rsqrt),
        exact: Exactness::Recorded("mufu.rsqrt"),
        sem: Sem::Ops(|x| unary(x, Op::RsqrtApproxF32)),
        ..RSQRT
    },
    Row {
        syntax: "rsqrt.f32 d, a",
        class: |_| Class::F32Rsqrt,
        exact: Exactness::Recorded("mufu.rsqrt"),
        sem: Sem::Ops(|x| unary(x, Op::RsqrtApproxF32)),
        ..RSQRT_F
    },
    Row {
        syntax: "rsqrt.approx.f64 d, a",
        section: "9.7.3.16",
        class: |_| Class::F64Rsqrt,
        exact: Exactness::Recorded("mufu.rsqrt"),
        sem: Sem::Ops(|x| plain(x, Op::RsqrtApproxF64)),
        ..RSQRT
    },
    Row {
        syntax: "rsqrt.f64 d, a",
        class: |_| Class::F64Rsqrt,
        exact: Exactness::Recorded("mufu.rsqrt"),
        sem: Sem::Ops(|x| plain(x, Op::RsqrtApproxF64)),
        ..RSQRT_F
    },
    Row {
        syntax: "rsqrt.approx.ftz.f64 d, a",
        since: ptx(4, 0),
        sm: 20,
        section: "9.7.3.17",
        // The unit does the upper half.
        class: |_| Class::F32Rsqrt,
        splits: |_| false,
        exact: Exactness::Recorded("mufu.rsqrt"),
        sem: Sem::Ops(|x| plain(x, Op::RsqrtApproxFtzF64)),
        ..RSQRT
    },
    Row {
        syntax: "sin.approx{.ftz}.f32 d, a",
        does: "Approximates the sine of an angle in radians.",
        section: "9.7.3.18",
        class: |_| Class::F32SinCos,
        exact: Exactness::Recorded("mufu.sin"),
        sem: Sem::Ops(|x| unary(x, Op::SinApproxF32)),
        ..APPROX
    },
    Row {
        syntax: "sin.f32 d, a",
        does: "Approximates the sine of an angle in radians.",
        section: "9.7.3.18",
        class: |_| Class::F32SinCos,
        exact: Exactness::Recorded("mufu.sin"),
        sem: Sem::Ops(|x| unary(x, Op::SinApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "cos.approx{.ftz}.f32 d, a",
        does: "Approximates the cosine of an angle in radians.",
        section: "9.7.3.19",
        class: |_| Class::F32SinCos,
        exact: Exactness::Recorded("mufu.cos"),
        sem: Sem::Ops(|x| unary(x, Op::CosApproxF32)),
        ..APPROX
    },
    Row {
        syntax: "cos.f32 d, a",
        does: "Approximates the cosine of an angle in radians.",
        section: "9.7.3.19",
        class: |_| Class::F32SinCos,
        exact: Exactness::Recorded("mufu.cos"),
        sem: Sem::Ops(|x| unary(x, Op::CosApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "lg2.approx{.ftz}.f32 d, a",
        does: "Approximates the logarithm to base 2.",
        section: "9.7.3.20",
        class: |m| class::scaled(m, Class::F32Lg2),
        exact: Exactness::Recorded("mufu.lg2"),
        sem: Sem::Ops(|x| unary(x, Op::Lg2ApproxF32)),
        ..APPROX
    },
    Row {
        syntax: "lg2.f32 d, a",
        does: "Approximates the logarithm to base 2.",
        section: "9.7.3.20",
        class: |_| Class::F32Lg2,
        exact: Exactness::Recorded("mufu.lg2"),
        sem: Sem::Ops(|x| unary(x, Op::Lg2ApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "ex2.approx{.ftz}.f32 d, a",
        section: "9.7.3.21",
        class: |m| class::scaled(m, Class::F32Ex2),
        exact: Exactness::Recorded("mufu.ex2"),
        sem: Sem::Ops(|x| unary(x, Op::Ex2ApproxF32)),
        ..EX2
    },
    Row {
        syntax: "ex2.f32 d, a",
        does: "Approximates 2 to a power.",
        section: "9.7.3.21",
        class: |_| Class::F32Ex2,
        exact: Exactness::Recorded("mufu.ex2"),
        op: Operation::PowerOfTwo,
        sem: Sem::Ops(|x| unary(x, Op::Ex2ApproxF32)),
        ..SHORT
    },
    Row {
        syntax: "tanh.approx.f32 d, a",
        since: ptx(7, 0),
        sm: 75,
        section: "9.7.3.22",
        class: |_| Class::F32Ex2,
        exact: Exactness::Recorded("mufu.tanh"),
        sem: Sem::Ops(|x| plain(x, Op::TanhApproxF32)),
        ..TANH
    },
    Row {
        syntax: "tanh.approx.type d, a",
        sets: &[("type", ".f16 .f16x2 .bf16 .bf16x2")],
        since: ptx(7, 0),
        sm: 75,
        floors: &[floor(".bf16 .bf16x2", ptx(7, 8), 90)],
        section: "9.7.4.9",
        class: |_| Class::F16Mufu,
        exact: Exactness::Recorded("mufu.tanh"),
        sem: Sem::Ops(|x| packed(x, Op::TanhApproxF16x2, Op::TanhApproxBf16x2)),
        ..TANH
    },
    Row {
        syntax: "ex2.approx.type d, a",
        sets: &[PACKED],
        since: ptx(7, 0),
        sm: 75,
        section: "9.7.4.10",
        class: |_| Class::F16Mufu,
        exact: Exactness::Recorded("mufu.ex2"),
        sem: Sem::Ops(|x| packed(x, Op::Ex2ApproxF16x2, Op::Ex2ApproxBf16x2)),
        ..EX2
    },
    Row {
        syntax: "ex2.approx.ftz.type d, a",
        sets: &[PACKED_BF],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.4.10",
        class: |_| Class::F16Mufu,
        exact: Exactness::Recorded("mufu.ex2"),
        sem: Sem::Ops(|x| packed(x, Op::Ex2ApproxF16x2, Op::Ex2ApproxBf16x2)),
        ..EX2
    },
];

/// 1 where the flushing form is meant, the constant of the single-precision micro-ops.
fn ftz(x: &Cx) -> u32 {
    (x.has(".ftz") || x.m.row.until.is_some() || x.sm() < 20) as u32
}

fn plain(x: &mut Cx, op: Op) {
    let a = x.rd("a");
    let d = x.op1(op, a);
    x.wr("d", d);
}

fn unary(x: &mut Cx, op: Op) {
    let a = x.rd("a");
    let d = x.op_k(op, &[a], ftz(x));
    x.wr("d", d);
}

fn divide(x: &mut Cx, op: Op) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = x.op_k(op, &[a, b], ftz(x));
    x.wr("d", d);
}

/// The factors of a quotient: the scaled dividend, and the reciprocal of the scaled divisor.
fn quotient(x: &mut Cx, full: u32) -> [V; 2] {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let k = ftz(x) | full;
    factors(x, a, b, k)
}

/// The factors of a reciprocal: one is divided as `div.full` does it.
fn reciprocal(x: &mut Cx) -> [V; 2] {
    let a = x.rd("a");
    factors(x, V::w(1f32.to_bits()), a, 2)
}

fn factors(x: &mut Cx, a: V, b: V, k: u32) -> [V; 2] {
    let dividend = x.op_k(Op::DividendF32, &[a, b], k);
    let divisor = x.op_k(Op::DivisorF32, &[b], k);
    [dividend, x.op_k(Op::RcpApproxF32, &[divisor], 1)]
}

/// A 16-bit function, on one value or on both halves of a register.
fn packed(x: &mut Cx, f16: Op, bf16: Op) {
    let a = x.rd("a");
    let ty = x.ty();
    let op = if matches!(ty, Ty::F16 | Ty::F16x2) { f16 } else { bf16 };
    let d = x.op1(op, a);
    // The upper half of a scalar operand is zero, the function of it need not be.
    let d = x.zext(d, ty.bits());
    x.wr("d", d);
}

/// A whole-warp function of one operand: input, output, `.ftz`.
pub type UnaryLanes = fn(&Warp, &mut Warp, bool);

/// The single-precision forms, to compare with recordings: opcode, function over a warp, `.ftz`.
pub const F32_FORMS: [(&str, UnaryLanes, bool); 15] = [
    ("rcp.approx.f32", mufu::rcp_approx_lanes, false),
    ("rcp.approx.ftz.f32", mufu::rcp_approx_lanes, true),
    ("rsqrt.approx.f32", mufu::rsqrt_approx_lanes, false),
    ("rsqrt.approx.ftz.f32", mufu::rsqrt_approx_lanes, true),
    ("sqrt.approx.f32", mufu::sqrt_approx_lanes, false),
    ("sqrt.approx.ftz.f32", mufu::sqrt_approx_lanes, true),
    ("sin.approx.f32", mufu::sin_approx_lanes, false),
    ("sin.approx.ftz.f32", mufu::sin_approx_lanes, true),
    ("cos.approx.f32", mufu::cos_approx_lanes, false),
    ("cos.approx.ftz.f32", mufu::cos_approx_lanes, true),
    ("lg2.approx.f32", mufu::lg2_approx_lanes, false),
    ("lg2.approx.ftz.f32", mufu::lg2_approx_lanes, true),
    ("ex2.approx.f32", mufu::ex2_approx_lanes, false),
    ("ex2.approx.ftz.f32", mufu::ex2_approx_lanes, true),
    ("tanh.approx.f32", mufu::tanh_approx_lanes, false),
];
