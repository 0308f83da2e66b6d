//! Control flow (PTX ISA 9.7.13).

use crate::class::Class;
use crate::row::{Control, ROW, Row, Sem};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "bra{.uni} @label",
        does: "Continues at a label.",
        section: "9.7.13.3",
        class: |_| Class::Branch,
        sem: Sem::Control(Control::Bra),
        ..ROW
    },
    Row {
        syntax: "brx.idx{.uni} a:.u32, @table",
        does: "Continues at a label that an index selects from a list.",
        section: "9.7.13.4",
        class: |_| Class::Branch,
        sem: Sem::Control(Control::BrxIdx),
        ..ROW
    },
    Row {
        syntax: "call{.uni} @args",
        does: "Calls a function.",
        section: "9.7.13.5",
        class: |_| Class::Branch,
        sem: Sem::Control(Control::Call),
        ..ROW
    },
    Row {
        syntax: "ret{.uni}",
        does: "Returns from a function; in a kernel, ends the thread.",
        section: "9.7.13.6",
        class: |_| Class::Branch,
        sem: Sem::Control(Control::Ret),
        ..ROW
    },
    Row {
        syntax: "exit",
        does: "Ends the thread.",
        section: "9.7.13.7",
        class: |_| Class::Branch,
        sem: Sem::Control(Control::Exit),
        ..ROW
    },
];
