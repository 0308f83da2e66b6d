//! Traps, breakpoints, hints (PTX ISA 9.7.19) and stack manipulation (9.7.17).

use crate::class::Class;
use crate::effect::Effect;
use crate::row::{ROW, Row, Sem};
use crate::types::ptx;

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "brkpt",
        sm: 11,
        section: "9.7.19.1",
        class: |_| Class::Move,
        sem: Sem::Ops(|x| {
            x.effect(Effect::Brkpt, &[], &[]);
        }),
        ..ROW
    },
    Row {
        syntax: "nanosleep.u32 t",
        since: ptx(6, 3),
        sm: 70,
        section: "9.7.19.2",
        class: |_| Class::Move,
        sem: Sem::Ops(|x| {
            x.effect(Effect::Yield, &[], &[]);
        }),
        ..ROW
    },
    Row {
        syntax: "pmevent #a:.u32",
        since: ptx(1, 4),
        section: "9.7.19.3",
        class: |_| Class::Move,
        sem: Sem::Ops(|_| {}),
        ..ROW
    },
    Row {
        syntax: "pmevent.mask #a:.u32",
        since: ptx(3, 0),
        sm: 20,
        section: "9.7.19.3",
        class: |_| Class::Move,
        sem: Sem::Ops(|_| {}),
        ..ROW
    },
    Row {
        syntax: "trap",
        section: "9.7.19.4",
        class: |_| Class::Branch,
        sem: Sem::Ops(|x| {
            x.effect(Effect::Trap, &[], &[]);
        }),
        ..ROW
    },
    Row {
        syntax: "stacksave.type d",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.1",
        class: |_| Class::Move,
        sem: Sem::None,
        ..ROW
    },
    Row {
        syntax: "stackrestore.type a",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.2",
        class: |_| Class::Move,
        sem: Sem::None,
        ..ROW
    },
    Row {
        syntax: "alloca.type d, size{, #align:.u32}",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.3",
        class: |_| Class::Move,
        sem: Sem::None,
        ..ROW
    },
];
