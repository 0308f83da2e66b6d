//! Forms that `ptxas` refuses and some generators write. They are not part of PTX: the table finds them only where a
//! caller asks for them ([`crate::table::Table::find_lenient`]), and no list or count of instructions holds them.
//!
//! Their meaning is ours: the function in double precision, within one unit in the last place, the same on every
//! host; `rcp` and `sqrt` are rounded to nearest.

use crate::class::Class;
use crate::meaning::Cx;
use crate::mufu::Lenient;
use crate::row::{Exactness, ROW, Row, Sem};
use crate::uop::Op;

const LENIENT: Row = Row { exact: Exactness::Ulp(1.0), ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "rcp.approx.f64 d, a",
        does: "Approximates the reciprocal; not PTX.",
        section: "9.7.3.13",
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| apply(x, Lenient::Rcp)),
        ..LENIENT
    },
    Row {
        syntax: "sqrt.approx.f64 d, a",
        does: "Approximates the square root; not PTX.",
        section: "9.7.3.15",
        class: |_| Class::F64Sqrt,
        sem: Sem::Ops(|x| apply(x, Lenient::Sqrt)),
        ..LENIENT
    },
    Row {
        syntax: "sin.approx.f64 d, a",
        does: "Approximates the sine; not PTX.",
        section: "9.7.3.18",
        class: |_| Class::F32SinCos,
        sem: Sem::Ops(|x| apply(x, Lenient::Sin)),
        ..LENIENT
    },
    Row {
        syntax: "cos.approx.f64 d, a",
        does: "Approximates the cosine; not PTX.",
        section: "9.7.3.19",
        class: |_| Class::F32SinCos,
        sem: Sem::Ops(|x| apply(x, Lenient::Cos)),
        ..LENIENT
    },
    Row {
        syntax: "lg2.approx.f64 d, a",
        does: "Approximates the logarithm to base 2; not PTX.",
        section: "9.7.3.20",
        class: |_| Class::F32Lg2,
        sem: Sem::Ops(|x| apply(x, Lenient::Lg2)),
        ..LENIENT
    },
    Row {
        syntax: "ex2.approx.f64 d, a",
        does: "Approximates 2 to a power; not PTX.",
        section: "9.7.3.21",
        class: |_| Class::F32Ex2,
        sem: Sem::Ops(|x| apply(x, Lenient::Ex2)),
        ..LENIENT
    },
];

fn apply(x: &mut Cx, function: Lenient) {
    let a = x.rd("a");
    let d = x.op_k(Op::LenientF64, &[a], function as u32);
    x.wr("d", d);
}
