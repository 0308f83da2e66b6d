//! Traps, breakpoints, hints (PTX ISA 9.7.19) and stack manipulation (9.7.17).

use crate::class::Class;
use crate::effect::Effect;
use crate::row::{ROW, Row, Sem};
use crate::types::ptx;

const PMEVENT: Row = Row {
    does: "Triggers events of the performance monitor.",
    section: "9.7.19.3",
    class: |_| Class::Move,
    splits: |_| true,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "brkpt",
        does: "Stops at a breakpoint.",
        sm: 11,
        section: "9.7.19.1",
        class: |_| Class::Move,
        splits: |_| true,
        sem: Sem::Ops(|x| {
            x.effect(Effect::Brkpt, &[], &[]);
        }),
        ..ROW
    },
    Row {
        syntax: "nanosleep.u32 t",
        does: "Suspends the thread for about so many nanoseconds.",
        since: ptx(6, 3),
        sm: 70,
        section: "9.7.19.2",
        class: |_| Class::Move,
        sem: Sem::Ops(|x| {
            x.effect(Effect::Yield, &[], &[]);
        }),
        ..ROW
    },
    Row { syntax: "pmevent #a=0..15:.u32", since: ptx(1, 4), sem: Sem::Ops(|_| {}), ..PMEVENT },
    Row {
        syntax: "pmevent.mask #a=0..65535:.u32",
        since: ptx(3, 0),
        sm: 20,
        sem: Sem::Ops(|_| {}),
        ..PMEVENT
    },
    Row {
        syntax: "trap",
        does: "Ends the launch with an error.",
        section: "9.7.19.4",
        class: |_| Class::Branch,
        sem: Sem::Ops(|x| {
            x.effect(Effect::Trap, &[], &[]);
        }),
        ..ROW
    },
    Row {
        syntax: "stacksave.type d",
        does: "Reads the stack pointer.",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.1",
        class: |_| Class::Move,
        sem: Sem::None,
        ..ROW
    },
    Row {
        syntax: "stackrestore.type %a",
        does: "Sets the stack pointer.",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.2",
        class: |_| Class::Move,
        sem: Sem::None,
        ..ROW
    },
    Row {
        syntax: "alloca.type d, size{, #align=1|2|4|8|16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536:.u32}",
        does: "Allocates memory on the stack.",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.3",
        class: |_| Class::Move,
        sem: Sem::None,
        ..ROW
    },
];
