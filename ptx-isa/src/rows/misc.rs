//! Traps, breakpoints, hints (PTX ISA 9.7.19) and stack manipulation (9.7.17).

use crate::class::Class;
use crate::effect::{Effect, Mem, MemoryPlace};
use crate::meaning::{Cx, StackArea, V};
use crate::row::{EVERYWHERE, Exactness, Operation, ROW, Row, Sem};
use crate::types::{Kind, Space, Ty, ptx};
use crate::uop::Op;

/// The stack lies in the kernel's local memory; see [`StackArea`].
const STACK: Row =
    Row { class: |_| Class::Move, op: Operation::Stack, exact: Exactness::Implementation, ..ROW };

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
        syntax: "nanosleep.u32 t:.u32",
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
        sem: Sem::Ops(save),
        ..STACK
    },
    Row {
        syntax: "stackrestore.type %a",
        // To ptxas this is a register that is written.
        called: |_, _| EVERYWHERE,
        does: "Sets the stack pointer.",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.2",
        sem: Sem::Ops(restore),
        ..STACK
    },
    Row {
        syntax: "alloca.type d, size{, #align=1|2|4|8|16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536:.u32}",
        does: "Allocates memory on the stack.",
        sets: &[("type", ".u32 .u64")],
        since: ptx(7, 3),
        sm: 52,
        section: "9.7.17.3",
        sem: Sem::Ops(allocate),
        ..STACK
    },
];

/// What a pointer is that was not allocated: no local memory reaches so far.
const NOWHERE: u32 = 0xffff_fff0;

/// The stack, or a refusal.
fn stack(x: &mut Cx) -> Option<StackArea> {
    if x.stack.is_none() {
        x.refuse(
            "memory on the stack is allocated in kernels, not in the functions that they call",
        );
    }
    x.stack
}

/// The word that holds the bytes in use.
fn used(area: StackArea) -> Mem {
    let place = MemoryPlace { space: Space::Local, offset: i64::from(area.used) };
    Mem {
        place,
        bytes: 4,
        count: 1,
        signed: false,
        order: Default::default(),
        scope: Default::default(),
        cache: Default::default(),
    }
}

/// The stack pointer.
fn pointer(x: &mut Cx, area: StackArea) -> V {
    let word = x.effect(Effect::Ld(used(area)), &[V::d(0)], &[Kind::W]);
    x.op2(Op::SubW, V::w(area.top), word[0])
}

/// Sets the stack pointer.
fn set_pointer(x: &mut Cx, area: StackArea, to: V) {
    let word = x.op2(Op::SubW, V::w(area.top), to);
    x.effect(Effect::St(used(area)), &[V::d(0), word], &[]);
}

/// A local address as wide as the instruction's type.
fn write(x: &mut Cx, name: &str, address: V) {
    let v = if x.ty().bits() == 64 { x.op1(Op::ZextWD, address) } else { address };
    x.wr(name, v);
}

fn read(x: &mut Cx, name: &str) -> V {
    let v = x.rd(name);
    if v.kind == Kind::D { x.op1(Op::TruncDW, v) } else { v }
}

fn save(x: &mut Cx) {
    let Some(area) = stack(x) else { return };
    let at = pointer(x, area);
    write(x, "d", at);
}

fn restore(x: &mut Cx) {
    let Some(area) = stack(x) else { return };
    let at = read(x, "a");
    set_pointer(x, area, at);
}

/// Memory that is not there gives a pointer whose use faults.
fn allocate(x: &mut Cx) {
    let Some(area) = stack(x) else { return };
    let align = if x.given("align") { (x.imm("align") as u32).max(8) } else { 8 };
    let wide = x.ty() == Ty::U64;
    let size = x.rd("size");
    // A size that needs 64 bits is too large.
    let size = if wide {
        let short = x.op1(Op::TruncDW, size);
        let fits = x.op2(Op::LtUD, size, V::d(1 << 31));
        x.op3(Op::SelW, short, V::w(NOWHERE), fits)
    } else {
        size
    };
    let old = pointer(x, area);
    let room = x.op2(Op::SubW, old, V::w(area.bottom));
    let there = x.op2(Op::LeUW, size, room);
    let below = x.op2(Op::SubW, old, size);
    let new = x.op2(Op::AndW, below, V::w(!(align - 1)));
    let inside = x.op2(Op::LeUW, V::w(area.bottom), new);
    let fits = x.op2(Op::AndP, there, inside);
    let next = x.op3(Op::SelW, new, old, fits);
    let found = x.op3(Op::SelW, new, V::w(NOWHERE), fits);
    write(x, "d", found);
    set_pointer(x, area, next);
}
