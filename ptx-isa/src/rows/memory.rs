//! Loads and stores (PTX ISA 9.7.9).

use crate::effect::{Cache, Effect, Mem, Order, Scope};
use crate::meaning::Cx;
use crate::row::{Class, ROW, Row, Sem};
use crate::types::{Kind, Space};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "ld{.space}{.vec}.type d*vec>, [a]",
        sets: &[SPACE, TYPE],
        section: "9.7.9.8",
        class: Class::Load,
        sem: Sem::Ops(load),
        ..ROW
    },
    Row {
        syntax: "st{.space}{.vec}.type [a], b*vec>",
        sets: &[SPACE, TYPE],
        section: "9.7.9.11",
        class: Class::Store,
        sem: Sem::Ops(store),
        ..ROW
    },
];

const SPACE: (&str, &str) =
    ("space", ".global .shared .shared::cta .shared::cluster .local .const .param");
const TYPE: (&str, &str) =
    ("type", ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64");

/// The state space that a modifier names; the operand's own where `.param` leaves it open.
pub(super) fn space(x: &Cx) -> Space {
    match x.get("space") {
        ".global" => Space::Global,
        ".shared" | ".shared::cta" => Space::Shared,
        ".shared::cluster" => Space::SharedCluster,
        ".local" => Space::Local,
        ".const" => Space::Const,
        // The lowering says by the variable whether it is a kernel's or a function's parameter.
        ".param" => x.addr("a").named.unwrap_or(Space::ParamEntry),
        _ => Space::Generic,
    }
}

fn mem(x: &Cx, count: usize) -> Mem {
    let ty = x.ty();
    Mem {
        place: x.place(x.addr("a"), space(x)),
        bytes: ty.bytes() as u8,
        count: count as u8,
        signed: false,
        order: Order::Weak,
        scope: Scope::Sys,
        cache: Cache::Default,
    }
}

fn load(x: &mut Cx) {
    let ty = x.ty();
    let count = x.m.slot_count(&x.m.shape.slots[0]).unwrap_or(1) as usize;
    let kind = if ty.bits() == 64 { Kind::D } else { Kind::W };
    let effect = Effect::Ld(mem(x, count));
    let values = x.effect(effect, &[x.addr("a").base], &vec![kind; count]);
    x.wr_vec("d", &values);
}

fn store(x: &mut Cx) {
    let values = x.rd_vec("b");
    let effect = Effect::St(mem(x, values.len()));
    let mut src = vec![x.addr("a").base];
    src.extend(values);
    x.effect(effect, &src, &[]);
}
