//! Conversions between `.bf16` and other types (PTX ISA 9.7.10.24).

use super::cvt::{IRND, convert};
use crate::class;
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::types::ptx;

const INTS: &str = ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64";

const CVT: Row = Row {
    does: "Converts between bfloat16 and another type.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // .bf16: registers of just its width and that of its partner.
    Row {
        syntax: "cvt.rnd{.ftz}.bf16.f32 d:.bf16, a:.f32",
        since: ptx(7, 0),
        sm: 80,
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt{.rnd}{.ftz}.f32.bf16 d:.f32, a:.bf16",
        since: ptx(7, 1),
        sm: 80,
        floors: &[floor(".ftz", ptx(7, 8), 90)],
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt{.rnd}.bf16.f16 d:.bf16, a:.f16",
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt{.rnd}.dtype.bf16 d:dtype, a:.bf16",
        sets: &[("dtype", ".f16 .f64")],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt{.irnd}.bf16.bf16 d:.bf16, a:.bf16",
        sets: &[IRND],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.bf16.type d:.bf16, a",
        sets: &[("type", ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f64")],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt.irnd.dtype.bf16 d:dtype, a:.bf16",
        sets: &[IRND, ("dtype", INTS)],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(convert),
        ..CVT
    },
];
