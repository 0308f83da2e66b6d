//! Division, reciprocal and square root of `.f32` and `.f64` (PTX ISA 9.7.3).

use super::float::{Fop, arithmetic};
use crate::class::Class;
use crate::matched::Match;
use crate::row::{EVERYWHERE, NOWHERE, Operation, ROW, Row, Sem, floor};
use crate::types::ptx;
use std::ops::Range;

const DIV: Row =
    Row { does: "Divides with correct rounding.", section: "9.7.3.8", op: Operation::Div, ..ROW };
const RCP: Row =
    Row { does: "Gives the reciprocal with correct rounding.", section: "9.7.3.13", ..ROW };
const SQRT: Row =
    Row { does: "Gives the square root with correct rounding.", section: "9.7.3.15", ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "div.rnd{.ftz}.f32 d, a, b",
        since: ptx(1, 4),
        sm: 20,
        called: directed,
        class: |_| Class::F32Div,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Div)),
        ..DIV
    },
    Row {
        syntax: "div.rnd.f64 d, a, b",
        floors: &[floor(".rz .rm .rp", ptx(1, 4), 20)],
        called: directed,
        class: |_| Class::F64Div,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Div)),
        ..DIV
    },
    Row {
        syntax: "div.f64 d, a, b",
        until: Some(ptx(1, 3)),
        class: |_| Class::F64Div,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Div)),
        ..DIV
    },
    Row {
        syntax: "rcp.rnd{.ftz}.f32 d, a",
        since: ptx(2, 0),
        sm: 20,
        class: |_| Class::F32Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..RCP
    },
    Row {
        syntax: "rcp.rnd.f64 d, a",
        since: ptx(1, 4),
        floors: &[floor(".rz .rm .rp", ptx(2, 0), 20)],
        called: directed,
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..RCP
    },
    Row {
        // Not in the manual; ptxas ignores the modifier.
        syntax: "rcp.rnd.ftz.f64 d, a",
        does: "Approximates the reciprocal.",
        since: ptx(1, 4),
        floors: &[floor(".rz .rm .rp", ptx(2, 0), 20)],
        called: directed,
        section: "9.7.3.13",
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..ROW
    },
    Row {
        // `rcp.rn.f64` before PTX ISA 1.4; ptxas 13 no longer takes it.
        syntax: "rcp.f64 d, a",
        until: Some(ptx(1, 3)),
        class: |_| Class::F64Rcp,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Rcp)),
        ..RCP
    },
    Row {
        syntax: "sqrt.rnd{.ftz}.f32 d, a",
        since: ptx(2, 0),
        sm: 20,
        class: |_| Class::F32Sqrt,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sqrt)),
        ..SQRT
    },
    Row {
        syntax: "sqrt.rnd.f64 d, a",
        floors: &[floor(".rz .rm .rp", ptx(2, 0), 20)],
        called: directed,
        class: |_| Class::F64Sqrt,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sqrt)),
        ..SQRT
    },
    Row {
        syntax: "sqrt.f64 d, a",
        until: Some(ptx(1, 3)),
        class: |_| Class::F64Sqrt,
        sem: Sem::Ops(|x| arithmetic(x, Fop::Sqrt)),
        ..SQRT
    },
];

/// What rounds to other than the nearest number.
fn directed(m: &Match, _: &str) -> Range<u16> {
    if m.has(".rn") { NOWHERE } else { EVERYWHERE }
}
