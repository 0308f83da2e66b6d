//! `.f16` and `.bf16` arithmetic and its mixtures with `.f32` (PTX ISA 9.7.4, 9.7.5).

use super::float::{Fop, arith32, rounding};
use crate::class::Class;
use crate::meaning::{Cx, V};
use crate::num::Rnd;
use crate::num::mode::Mode;
use crate::row::{Exactness, Floor, Operation, ROW, Row, Sem, floor};
use crate::table::Match;
use crate::types::{Ty, ptx};
use crate::uop::Op;

const F16: (&str, &str) = ("type", ".f16 .f16x2");
const BF16: (&str, &str) = ("type", ".bf16 .bf16x2");
const RN: (&str, &str) = ("rnd", ".rn");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add{.rnd}{.ftz}{.sat}.type d, a, b",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.4.1",
        class: |_| Class::F16,
        op: Operation::Add,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Add)),
        ..ROW
    },
    Row {
        syntax: "add{.rnd}.type d, a, b",
        sets: &[RN, BF16],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.4.1",
        class: |_| Class::F16,
        op: Operation::Add,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Add)),
        ..ROW
    },
    Row {
        syntax: "sub{.rnd}{.ftz}{.sat}.type d, a, b",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.4.2",
        class: |_| Class::F16,
        op: Operation::Sub,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Sub)),
        ..ROW
    },
    Row {
        syntax: "sub{.rnd}.type d, a, b",
        sets: &[RN, BF16],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.4.2",
        class: |_| Class::F16,
        op: Operation::Sub,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Sub)),
        ..ROW
    },
    Row {
        syntax: "mul{.rnd}{.ftz}{.sat}.type d, a, b",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.4.3",
        class: |_| Class::F16,
        op: Operation::Mul,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Mul)),
        ..ROW
    },
    Row {
        syntax: "mul{.rnd}.type d, a, b",
        sets: &[RN, BF16],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.4.3",
        class: |_| Class::F16,
        op: Operation::Mul,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Mul)),
        ..ROW
    },
    Row {
        syntax: "fma.rnd{.ftz}{.sat}{.relu}.type d, a, b, c",
        sets: &[RN, F16],
        since: ptx(4, 2),
        sm: 53,
        floors: &[floor(".relu", ptx(7, 0), 80)],
        check: Some(|m: &Match| {
            let both = m.has(".sat") && m.has(".relu");
            if both { Err("modifier .relu cannot be combined with .sat".into()) } else { Ok(()) }
        }),
        section: "9.7.4.4",
        class: |_| Class::F16,
        op: Operation::Fma,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Fma)),
        ..ROW
    },
    Row {
        syntax: "fma.rnd{.relu}.type d, a, b, c",
        sets: &[RN, BF16],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.4.4",
        class: |_| Class::F16,
        op: Operation::Fma,
        sem: Sem::Ops(|x| arithmetic(x, Hop::Fma)),
        ..ROW
    },
    Row {
        // Not in the manual. ptxas takes these and multiplies the operands as `.f16`, so there is
        // no result to agree with.
        syntax: "fma.rnd{.oob}{.relu}.type d, a, b, c",
        sets: &[("rnd", ".rz .rm .rp"), BF16],
        floors: &[floor(".oob", ptx(8, 1), 90)],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.4.4",
        class: |_| Class::F16,
        op: Operation::Fma,
        ..ROW
    },
    Row {
        syntax: "fma.rnd.oob{.relu}.type d, a, b, c",
        sets: &[RN, ("type", ".f16 .f16x2 .bf16 .bf16x2")],
        since: ptx(8, 1),
        sm: 90,
        section: "9.7.4.4",
        class: |_| Class::F16,
        op: Operation::Fma,
        sem: Sem::Ops(|x| arithmetic(x, Hop::FmaOob)),
        ..ROW
    },
    Row {
        syntax: "neg{.ftz}.type d, a",
        sets: &[F16],
        since: ptx(6, 0),
        sm: 53,
        section: "9.7.4.5",
        class: |_| Class::F16,
        op: Operation::Neg,
        sem: Sem::Ops(|x| unary(x, Op::NegHalf)),
        ..ROW
    },
    Row {
        syntax: "neg.type d, a",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.4.5",
        class: |_| Class::F16,
        op: Operation::Neg,
        sem: Sem::Ops(|x| unary(x, Op::NegHalf)),
        ..ROW
    },
    Row {
        syntax: "abs{.ftz}.type d, a",
        sets: &[F16],
        since: ptx(6, 5),
        sm: 53,
        section: "9.7.4.6",
        class: |_| Class::F16,
        op: Operation::Abs,
        sem: Sem::Ops(|x| unary(x, Op::AbsHalf)),
        ..ROW
    },
    Row {
        syntax: "abs.type d, a",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.4.6",
        class: |_| Class::F16,
        op: Operation::Abs,
        sem: Sem::Ops(|x| unary(x, Op::AbsHalf)),
        ..ROW
    },
    Row {
        syntax: "min{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[F16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.7",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, false)),
        ..ROW
    },
    Row {
        syntax: "min{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.7",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, false)),
        ..ROW
    },
    Row {
        syntax: "max{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[F16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.8",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, true)),
        ..ROW
    },
    Row {
        syntax: "max{.NaN}{.xorsign}{.abs}.type d, a, b",
        sets: &[BF16],
        since: ptx(7, 0),
        sm: 80,
        floors: XORSIGN,
        check: Some(xorsign_abs),
        section: "9.7.4.8",
        class: |_| Class::F16,
        sem: Sem::Ops(|x| min_max(x, true)),
        ..ROW
    },
    Row {
        syntax: "add{.rnd}{.sat}.f32.atype d:.f32, a:atype, c:.f32",
        sets: &[ATYPE],
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.5.1",
        class: |_| Class::F32Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| mixed(x, Fop::Add)),
        ..ROW
    },
    Row {
        syntax: "sub{.rnd}{.sat}.f32.atype d:.f32, a:atype, c:.f32",
        sets: &[ATYPE],
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.5.2",
        class: |_| Class::F32Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| mixed(x, Fop::Sub)),
        ..ROW
    },
    Row {
        syntax: "fma.rnd{.sat}.f32.atype d:.f32, a:atype, b:atype, c:.f32",
        sets: &[ATYPE],
        since: ptx(8, 6),
        sm: 100,
        section: "9.7.5.3",
        class: |_| Class::F32Fma,
        op: Operation::Fma,
        sem: Sem::Ops(|x| mixed(x, Fop::Fma)),
        ..ROW
    },
    // Two lanes at once, from PTX ISA 9.4 on.
    Row {
        syntax: "add{.rnd}.f32x2.atype.f32x2 d:.f32x2, a:atype, c:.f32x2",
        sets: &[PACKED_ATYPE],
        section: "9.7.5.1",
        class: |_| Class::F32Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| widening(x, Fop::Add)),
        ..SM107
    },
    Row {
        syntax: "sub{.rnd}.f32x2.atype.f32x2 d:.f32x2, a:atype, c:.f32x2",
        sets: &[PACKED_ATYPE],
        section: "9.7.5.2",
        class: |_| Class::F32Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| widening(x, Fop::Sub)),
        ..SM107
    },
    Row {
        syntax: "fma.rnd.f32x2.atype.f32x2.f32x2 d:.f32x2, a:atype, b:.f32x2, c:.f32x2",
        sets: &[PACKED_ATYPE],
        section: "9.7.5.3",
        class: |_| Class::F32Fma,
        op: Operation::Fma,
        sem: Sem::Ops(|x| widening(x, Fop::Fma)),
        ..SM107
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "add{.rnd}.ftz.f16x2.f32x2.f32x2 d:.f16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        section: "9.7.5.1",
        class: |_| Class::F32Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| narrowing(x, Fop::Add, Ty::F16)),
        ..SM107
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "add{.rnd}.bf16x2.f32x2.f32x2 d:.bf16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        section: "9.7.5.1",
        class: |_| Class::F32Add,
        op: Operation::Add,
        sem: Sem::Ops(|x| narrowing(x, Fop::Add, Ty::Bf16)),
        ..SM107
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "sub{.rnd}.ftz.f16x2.f32x2.f32x2 d:.f16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        section: "9.7.5.2",
        class: |_| Class::F32Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| narrowing(x, Fop::Sub, Ty::F16)),
        ..SM107
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "sub{.rnd}.bf16x2.f32x2.f32x2 d:.bf16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        section: "9.7.5.2",
        class: |_| Class::F32Add,
        op: Operation::Sub,
        sem: Sem::Ops(|x| narrowing(x, Fop::Sub, Ty::Bf16)),
        ..SM107
    },
    Row {
        syntax: "mul.rz.ftz.f16x2.f32x2.f32x2 d:.f16x2, a:.f32x2, c:.f32x2",
        section: "9.7.5.4",
        class: |_| Class::F32Mul,
        op: Operation::Mul,
        sem: Sem::Ops(|x| narrowing(x, Fop::Mul, Ty::F16)),
        ..SM107
    },
    Row {
        syntax: "mul.rz.bf16x2.f32x2.f32x2 d:.bf16x2, a:.f32x2, c:.f32x2",
        section: "9.7.5.4",
        class: |_| Class::F32Mul,
        op: Operation::Mul,
        sem: Sem::Ops(|x| narrowing(x, Fop::Mul, Ty::Bf16)),
        ..SM107
    },
    // How `c` is rounded to the format of `a` is nowhere said, so these do not run.
    Row {
        syntax: "mul.bf16x2.bf16x2.f16x2 d:.bf16x2, a:.bf16x2, c:.f16x2",
        section: "9.7.5.4",
        op: Operation::Mul,
        ..SM107
    },
    Row {
        syntax: "mul.f16x2.f16x2.bf16x2 d:.f16x2, a:.f16x2, c:.bf16x2",
        section: "9.7.5.4",
        op: Operation::Mul,
        ..SM107
    },
];

/// The mixed forms of `sm_107`. No recording covers them.
const SM107: Row = Row {
    since: ptx(9, 4),
    targets: "sm_107f",
    class: |_| Class::F16,
    exact: Exactness::Implementation,
    ..ROW
};
const PACKED_ATYPE: (&str, &str) = ("atype", ".f16x2 .bf16x2");
const ATYPE: (&str, &str) = ("atype", ".f16 .bf16");
const XORSIGN: &[Floor] = &[floor(".xorsign", ptx(7, 2), 86)];

fn xorsign_abs(m: &Match) -> Result<(), String> {
    match (m.has(".xorsign"), m.has(".abs")) {
        (true, false) => Err("modifier .xorsign requires modifier .abs".into()),
        (false, true) => Err("modifier .abs requires modifier .xorsign".into()),
        _ => Ok(()),
    }
}

/// An operation on halves.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Hop {
    Add,
    Sub,
    Mul,
    Fma,
    FmaOob,
}

/// Format and packing of `ty`.
pub(super) fn half_mode(ty: Ty) -> Mode {
    Mode::NONE
        .bf16(matches!(ty, Ty::Bf16 | Ty::Bf16x2))
        .packed(matches!(ty, Ty::F16x2 | Ty::Bf16x2))
}

fn arithmetic(x: &mut Cx, op: Hop) {
    let ty = x.ty();
    let (a, b) = (x.rd("a"), x.rd("b"));
    let b = match (op, ty) {
        (Hop::Sub, Ty::F16x2 | Ty::Bf16x2) => x.op2(Op::XorW, b, V::w(0x8000_8000)),
        (Hop::Sub, _) => x.op2(Op::XorW, b, V::w(0x8000)),
        _ => b,
    };
    let plain = half_mode(ty);
    let mode = plain.ftz(x.has(".ftz")).sat(x.has(".sat")).relu(x.has(".relu"));
    let hot = |f16: Op, bf16: Op| match ty {
        Ty::F16x2 if mode == plain => Some(f16),
        Ty::Bf16x2 if mode == plain => Some(bf16),
        _ => None,
    };
    let d = match op {
        Hop::Add | Hop::Sub => match hot(Op::AddF16x2, Op::AddBf16x2) {
            Some(op) => x.op2(op, a, b),
            None => x.op_k(Op::AddHalf, &[a, b], mode.0),
        },
        Hop::Mul => match hot(Op::MulF16x2, Op::MulBf16x2) {
            Some(op) => x.op2(op, a, b),
            None => x.op_k(Op::MulHalf, &[a, b], mode.0),
        },
        Hop::Fma => {
            let c = x.rd("c");
            match hot(Op::FmaF16x2, Op::FmaBf16x2) {
                Some(op) => x.op3(op, a, b, c),
                None => x.op_k(Op::FmaHalf, &[a, b, c], mode.0),
            }
        }
        Hop::FmaOob => {
            let c = x.rd("c");
            x.op_k(Op::FmaOobHalf, &[a, b, c], mode.0)
        }
    };
    x.wr("d", d);
}

fn unary(x: &mut Cx, op: Op) {
    let mode = half_mode(x.ty()).ftz(x.has(".ftz"));
    let a = x.rd("a");
    let d = x.op_k(op, &[a], mode.0);
    x.wr("d", d);
}

fn min_max(x: &mut Cx, max: bool) {
    let mode = half_mode(x.ty()).max(max);
    let mode = mode.ftz(x.has(".ftz")).nan(x.has(".NaN")).xorsign(x.has(".xorsign"));
    let (a, b) = (x.rd("a"), x.rd("b"));
    let d = x.op_k(Op::MinMaxHalf, &[a, b], mode.0);
    x.wr("d", d);
}

/// `.f32` arithmetic with half operands, which widen exactly.
fn mixed(x: &mut Cx, op: Fop) {
    let mode = half_mode(x.ty_of("atype"));
    let a = x.rd("a");
    let mut v = vec![x.op_k(Op::WidenHalf, &[a], mode.0)];
    if op == Fop::Fma {
        let b = x.rd("b");
        v.push(x.op_k(Op::WidenHalf, &[b], mode.0));
    }
    v.push(x.rd("c"));
    let rnd: Rnd = rounding(x);
    let sat = x.has(".sat");
    let d = arith32(x, op, rnd, false, sat, &v);
    x.wr("d", d);
}

/// The two lanes of an `.f32x2` operand, low first.
fn lanes(x: &mut Cx, name: &str) -> [V; 2] {
    let v = x.rd(name);
    [x.op1(Op::TruncDW, v), x.op1(Op::HighDW, v)]
}

/// `.f32x2` arithmetic whose first operand is a pair of halves.
fn widening(x: &mut Cx, op: Fop) {
    let k = half_mode(x.ty_of("atype")).packed(false).0;
    let a = x.rd("a");
    let high = x.op1(Op::High16, a);
    let a = [a, high].map(|h| x.op_k(Op::WidenHalf, &[h], k));
    let b = (op == Fop::Fma).then(|| lanes(x, "b"));
    let c = lanes(x, "c");
    let rnd = rounding(x);
    let [low, high] = [0, 1].map(|i| {
        let v: Vec<V> = [Some(a[i]), b.map(|b| b[i]), Some(c[i])].into_iter().flatten().collect();
        arith32(x, op, rnd, false, false, &v)
    });
    let d = x.op2(Op::PackWD, low, high);
    x.wr("d", d);
}

/// `.f32x2` arithmetic toward zero whose results are cut to halves: cutting twice is cutting once.
fn narrowing(x: &mut Cx, op: Fop, to: Ty) {
    let ftz = x.has(".ftz");
    let half = half_mode(to);
    let (a, c) = (lanes(x, "a"), lanes(x, "c"));
    let [low, high] = [0, 1].map(|i| {
        let wide = arith32(x, op, Rnd::Rz, ftz, false, &[a[i], c[i]]);
        let d = x.op_k(Op::CvtHalfF32, &[wide], half.rnd(Rnd::Rz).0);
        if ftz { x.op_k(Op::FlushHalf, &[d], half.0) } else { d }
    });
    let d = x.op2(Op::Pack16, low, high);
    x.wr("d", d);
}
