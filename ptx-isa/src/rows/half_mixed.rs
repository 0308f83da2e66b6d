//! Mixed precision of 16-bit and 32-bit floats (PTX ISA 9.7.5).

use super::float::{Fop, arith32, rounding};
use super::half::half_mode;
use crate::class::Class;
use crate::meaning::{Cx, V};
use crate::num::Rnd;
use crate::row::{Exactness, Operation, ROW, Row, Sem};
use crate::types::{Ty, ptx};
use crate::uop::Op;

const ADD: Row = Row {
    does: "Adds numbers of 16 and 32 bits.",
    section: "9.7.5.1",
    class: |_| Class::F32Add,
    op: Operation::Add,
    ..SM107
};
const SUB: Row = Row {
    does: "Subtracts numbers of 16 and 32 bits.",
    section: "9.7.5.2",
    class: |_| Class::F32Add,
    op: Operation::Sub,
    ..SM107
};
const MUL: Row = Row {
    does: "Multiplies numbers of different types.",
    section: "9.7.5.4",
    op: Operation::Mul,
    ..SM107
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add{.rnd}{.sat}.f32.atype d:.f32, a:atype, c:.f32",
        does: "Adds numbers of 16 and 32 bits.",
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
        does: "Subtracts numbers of 16 and 32 bits.",
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
        does: "Multiplies numbers of 16 bits and adds one of 32, with a single rounding.",
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
        sem: Sem::Ops(|x| widening(x, Fop::Add)),
        ..ADD
    },
    Row {
        syntax: "sub{.rnd}.f32x2.atype.f32x2 d:.f32x2, a:atype, c:.f32x2",
        sets: &[PACKED_ATYPE],
        sem: Sem::Ops(|x| widening(x, Fop::Sub)),
        ..SUB
    },
    Row {
        syntax: "fma.rnd.f32x2.atype.f32x2.f32x2 d:.f32x2, a:atype, b:.f32x2, c:.f32x2",
        does: "Multiplies numbers of 16 bits and adds one of 32, with a single rounding.",
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
        sem: Sem::Ops(|x| narrowing(x, Fop::Add, Ty::F16)),
        ..ADD
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "add{.rnd}.bf16x2.f32x2.f32x2 d:.bf16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        sem: Sem::Ops(|x| narrowing(x, Fop::Add, Ty::Bf16)),
        ..ADD
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "sub{.rnd}.ftz.f16x2.f32x2.f32x2 d:.f16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        sem: Sem::Ops(|x| narrowing(x, Fop::Sub, Ty::F16)),
        ..SUB
    },
    Row {
        // Only truncation exists; ptxas lets the modifier be left out.
        syntax: "sub{.rnd}.bf16x2.f32x2.f32x2 d:.bf16x2, a:.f32x2, c:.f32x2",
        sets: &[("rnd", ".rz")],
        sem: Sem::Ops(|x| narrowing(x, Fop::Sub, Ty::Bf16)),
        ..SUB
    },
    Row {
        syntax: "mul.rz.ftz.f16x2.f32x2.f32x2 d:.f16x2, a:.f32x2, c:.f32x2",
        class: |_| Class::F32Mul,
        sem: Sem::Ops(|x| narrowing(x, Fop::Mul, Ty::F16)),
        ..MUL
    },
    Row {
        syntax: "mul.rz.bf16x2.f32x2.f32x2 d:.bf16x2, a:.f32x2, c:.f32x2",
        class: |_| Class::F32Mul,
        sem: Sem::Ops(|x| narrowing(x, Fop::Mul, Ty::Bf16)),
        ..MUL
    },
    // The manual converts `c` and then multiplies; it names no rounding, so both are to nearest even, as everywhere
    // without a modifier.
    Row {
        syntax: "mul.bf16x2.bf16x2.f16x2 d:.bf16x2, a:.bf16x2, c:.f16x2",
        sem: Sem::Ops(|x| across(x, Ty::Bf16x2, Ty::F16x2)),
        ..MUL
    },
    Row {
        syntax: "mul.f16x2.f16x2.bf16x2 d:.f16x2, a:.f16x2, c:.bf16x2",
        sem: Sem::Ops(|x| across(x, Ty::F16x2, Ty::Bf16x2)),
        ..MUL
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

/// A product of pairs of halves whose second factor has the other format.
fn across(x: &mut Cx, to: Ty, from: Ty) {
    let (a, c) = (x.rd("a"), x.rd("c"));
    let high = x.op1(Op::High16, c);
    let [low, high] = [c, high].map(|half| {
        let wide = x.op_k(Op::WidenHalf, &[half], half_mode(from).packed(false).0);
        x.op_k(Op::CvtHalfF32, &[wide], half_mode(to).packed(false).rnd(Rnd::Rn).0)
    });
    let c = x.op2(Op::Pack16, low, high);
    let d = x.op_k(Op::MulHalf, &[a, c], half_mode(to).0);
    x.wr("d", d);
}
