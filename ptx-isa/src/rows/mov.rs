//! Data movement between registers (PTX ISA 9.7.9).

use crate::row::{Class, ROW, Row, Sem};

/// Rows of this family.
pub static ROWS: &[Row] = &[Row {
    syntax: "mov.type d, a",
    sets: &[("type", ".pred .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64")],
    section: "9.7.9.5",
    class: Class::Move,
    sem: Sem::Ops(|x| {
        let a = x.rd("a");
        x.wr("d", a);
    }),
    ..ROW
}];
