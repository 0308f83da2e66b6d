//! Addition and multiplication of `.f32` and `.f64` with IEEE 754 rounding (PTX ISA 9.7.3).
//!
//! Below `sm_20` single precision flushes subnormal operands and results; where doubles are
//! demoted (`map_f64_to_f32`, implied below `sm_13`), a `.f64` register holds an `.f32` in its low
//! half and every `.f64` instruction is the `.f32` one.

use crate::class::Class;
use crate::meaning::{Cx, V};
use crate::num::Rnd;
use crate::num::mode::Mode;
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::types::{Ty, ptx};
use crate::uop::Op;

const ADD: Row = Row { does: "Adds two numbers.", section: "9.7.3.3", op: Operation::Add, ..ROW };
const SUB: Row =
    Row { does: "Subtracts two numbers.", section: "9.7.3.4", op: Operation::Sub, ..ROW };
const MUL: Row =
    Row { does: "Multiplies two numbers.", section: "9.7.3.5", op: Operation::Mul, ..ROW };
const FMA: Row = Row {
    does: "Multiplies and adds with a single rounding.",
    section: "9.7.3.6",
    op: Operation::Fma,
    ..ROW
};
const MAD: Row =
    Row { does: "Multiplies and adds.", section: "9.7.3.7", op: Operation::Mad, ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "add{.rnd}{.ftz}{.sat}.f32 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 20), FTZ],
        class: |_| Class::F32Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Add)),
        ..ADD
    },
    Row {
        syntax: "add{.rnd}{.ftz}.f32x2 d, a, b",
        since: ptx(8, 6),
        sm: 100,
        class: |_| Class::F32Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Add)),
        ..ADD
    },
    Row {
        syntax: "add{.rnd}.f64 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        class: |_| Class::F64Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Add)),
        ..ADD
    },
    Row {
        syntax: "sub{.rnd}{.ftz}{.sat}.f32 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 20), FTZ],
        class: |_| Class::F32Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sub)),
        ..SUB
    },
    Row {
        syntax: "sub{.rnd}{.ftz}.f32x2 d, a, b",
        since: ptx(8, 6),
        sm: 100,
        class: |_| Class::F32Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sub)),
        ..SUB
    },
    Row {
        syntax: "sub{.rnd}.f64 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        class: |_| Class::F64Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sub)),
        ..SUB
    },
    Row {
        syntax: "mul{.rnd}{.ftz}{.sat}.f32 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 20), FTZ],
        class: |_| Class::F32Mul,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Mul)),
        ..MUL
    },
    Row {
        syntax: "mul{.rnd}{.ftz}.f32x2 d, a, b",
        since: ptx(8, 6),
        sm: 100,
        class: |_| Class::F32Mul,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Mul)),
        ..MUL
    },
    Row {
        syntax: "mul{.rnd}.f64 d, a, b",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        class: |_| Class::F64Add,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Mul)),
        ..MUL
    },
    Row {
        syntax: "fma.rnd{.ftz}{.sat}.f32 d, a, b, c",
        since: ptx(2, 0),
        sm: 20,
        class: |_| Class::F32Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..FMA
    },
    Row {
        syntax: "fma.rnd{.ftz}.f32x2 d, a, b, c",
        since: ptx(8, 6),
        sm: 100,
        class: |_| Class::F32Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..FMA
    },
    Row {
        syntax: "fma.rnd.f64 d, a, b, c",
        since: ptx(1, 4),
        floors: &[floor(".rm .rp", ptx(1, 4), 13)],
        class: |_| Class::F64Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..FMA
    },
    Row {
        syntax: "mad.rnd{.ftz}{.sat}.f32 d, a, b, c",
        sm: 20,
        class: |_| Class::F32Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..MAD
    },
    Row {
        // From sm_20 on old versions take this for `.rn`.
        syntax: "mad{.ftz}{.sat}.f32 d, a, b, c",
        floors: &[FTZ],
        removed: Some((ptx(3, 2), 20)),
        class: |_| Class::F32Fma,
        sem: Sem::Ops(|x| {
            if x.sm() >= 20 {
                return arithmetic(x, Fop::Fma);
            }
            let [a, b, c] = ["a", "b", "c"].map(|n| x.rd(n));
            let d = x.op3(Op::Mad1xF32, a, b, c);
            let d = if x.has(".sat") { x.op1(Op::SatF32, d) } else { d };
            x.wr("d", d);
        }),
        ..MAD
    },
    Row {
        syntax: "mad.rnd.f64 d, a, b, c",
        floors: &[floor(".rm .rp", ptx(1, 0), 13)],
        class: |_| Class::F64Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..MAD
    },
    Row {
        syntax: "mad.f64 d, a, b, c",
        until: Some(ptx(1, 3)),
        class: |_| Class::F64Fma,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Fma)),
        ..MAD
    },
];

/// `.ftz` came with PTX ISA 1.4.
pub(super) const FTZ: crate::row::Floor = floor(".ftz", ptx(1, 4), 0);

/// An operation with rounding.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Fop {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
}

/// Rounding named by a modifier of the set `rnd`, to nearest even without one.
pub(super) fn rounding(x: &Cx) -> Rnd {
    match x.get("rnd") {
        ".rz" => Rnd::Rz,
        ".rm" => Rnd::Rm,
        ".rp" => Rnd::Rp,
        _ => Rnd::Rn,
    }
}

/// Whether `.f32` operands and results are flushed.
pub(super) fn ftz(x: &Cx) -> bool {
    x.has(".ftz") || x.sm() < 20
}

/// Whether `.f64` stands for an `.f32` in the low half.
pub(super) fn demoted(x: &Cx) -> bool {
    x.module.target.map_f64_to_f32
}

/// The `.f32` in a demoted `.f64` operand.
pub(super) fn demote(x: &mut Cx, v: V) -> V {
    match v.as_const() {
        Some(bits) => V::w((f64::from_bits(bits) as f32).to_bits()),
        None => x.op1(Op::TruncDW, v),
    }
}

/// `.f32` arithmetic.
pub(super) fn arith32(x: &mut Cx, op: Fop, rnd: Rnd, ftz: bool, sat: bool, v: &[V]) -> V {
    let k = Mode::NONE.rnd(rnd).ftz(ftz).0;
    let near = rnd == Rnd::Rn;
    let r = match (op, ftz) {
        (Fop::Add, false) if near => x.op(Op::AddF32, v),
        (Fop::Add, true) if near => x.op(Op::AddFtzF32, v),
        (Fop::Add, _) => x.op_k(Op::AddModeF32, v, k),
        (Fop::Sub, false) if near => x.op(Op::SubF32, v),
        (Fop::Sub, true) if near => x.op(Op::SubFtzF32, v),
        (Fop::Sub, _) => {
            let minus_b = x.op2(Op::XorW, v[1], V::w(1 << 31));
            x.op_k(Op::AddModeF32, &[v[0], minus_b], k)
        }
        (Fop::Mul, false) if near => x.op(Op::MulF32, v),
        (Fop::Mul, true) if near => x.op(Op::MulFtzF32, v),
        (Fop::Mul, _) => x.op_k(Op::MulModeF32, v, k),
        (Fop::Fma, false) if near => x.op(Op::FmaF32, v),
        (Fop::Fma, true) if near => x.op(Op::FmaFtzF32, v),
        (Fop::Fma, _) => x.op_k(Op::FmaModeF32, v, k),
        (Fop::Div, _) => x.op_k(Op::DivF32, v, k),
        (Fop::Rcp, _) => x.op_k(Op::DivF32, &[V::w(1f32.to_bits()), v[0]], k),
        (Fop::Sqrt, _) => x.op_k(Op::SqrtF32, v, k),
    };
    if sat { x.op1(Op::SatF32, r) } else { r }
}

/// `.f64` arithmetic.
fn arith64(x: &mut Cx, op: Fop, rnd: Rnd, v: &[V]) -> V {
    let one = V::d(1f64.to_bits());
    if rnd == Rnd::Rn {
        return match op {
            Fop::Add => x.op(Op::AddF64, v),
            Fop::Sub => x.op(Op::SubF64, v),
            Fop::Mul => x.op(Op::MulF64, v),
            Fop::Fma => x.op(Op::FmaF64, v),
            Fop::Div => x.op(Op::DivF64, v),
            Fop::Rcp => x.op2(Op::DivF64, one, v[0]),
            Fop::Sqrt => x.op(Op::SqrtF64, v),
        };
    }
    let k = Mode::NONE.rnd(rnd).0;
    match op {
        Fop::Add => x.op_k(Op::AddModeF64, v, k),
        Fop::Sub => x.op_k(Op::SubModeF64, v, k),
        Fop::Mul => x.op_k(Op::MulModeF64, v, k),
        Fop::Fma => x.op_k(Op::FmaModeF64, v, k),
        Fop::Div => x.op_k(Op::DivModeF64, v, k),
        Fop::Rcp => x.op_k(Op::DivModeF64, &[one, v[0]], k),
        Fop::Sqrt => x.op_k(Op::SqrtModeF64, v, k),
    }
}

/// The meaning of the arithmetic rows, by the operands that they have.
pub(super) fn arithmetic(x: &mut Cx, op: Fop) {
    let names: &[&str] = match op {
        Fop::Rcp | Fop::Sqrt => &["a"],
        Fop::Fma => &["a", "b", "c"],
        Fop::Add | Fop::Sub | Fop::Mul | Fop::Div => &["a", "b"],
    };
    let v: Vec<V> = names.iter().map(|n| x.rd(n)).collect();
    let (rnd, ftz, sat) = (rounding(x), ftz(x), x.has(".sat"));
    let d = match x.ty() {
        Ty::F32 => arith32(x, op, rnd, ftz, sat, &v),
        Ty::F32x2 => {
            let low: Vec<V> = v.iter().map(|v| x.op1(Op::TruncDW, *v)).collect();
            let high: Vec<V> = v.iter().map(|v| x.op1(Op::HighDW, *v)).collect();
            let low = arith32(x, op, rnd, ftz, sat, &low);
            let high = arith32(x, op, rnd, ftz, sat, &high);
            x.op2(Op::PackWD, low, high)
        }
        _ if demoted(x) => {
            let v: Vec<V> = v.iter().map(|v| demote(x, *v)).collect();
            let d = arith32(x, op, rnd, ftz, sat, &v);
            x.op1(Op::ZextWD, d)
        }
        _ => arith64(x, op, rnd, &v),
    };
    x.wr("d", d);
}
