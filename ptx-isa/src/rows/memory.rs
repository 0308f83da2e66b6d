//! Loads and stores (PTX ISA 9.7.9.8 to 9.7.9.11).

use crate::class;
use crate::effect::{Cache, Effect, Mem, Order, Scope};
use crate::matched::Match;
use crate::meaning::{Arg, Cx, V};
use crate::row::{Floor, Operation, ROW, Row, Sem, Sink, floor};
use crate::types::{Kind, Space, Ty, ptx};

const SPACE: (&str, &str) = (
    "space",
    ".global .shared .shared::cta .shared::cluster .local .const .param .param::entry .param::func",
);
const STORE_SPACE: (&str, &str) =
    ("space", ".global .shared .shared::cta .shared::cluster .local .param .param::func");
const STRONG_SPACE: (&str, &str) = ("space", ".global .shared .shared::cta .shared::cluster");
const TYPE: (&str, &str) =
    ("type", ".b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64");
const VEC: (&str, &str) = ("vec", ".v2 .v4 .v8");
const COP: (&str, &str) = ("cop", ".ca .cg .cs .lu .cv");
const STORE_COP: (&str, &str) = ("cop", ".wb .cg .cs .wt");
const L1: (&str, &str) = (
    "l1",
    ".L1::evict_normal .L1::evict_unchanged .L1::evict_first .L1::evict_last .L1::no_allocate",
);
const L2: (&str, &str) = ("l2", ".L2::evict_normal .L2::evict_first .L2::evict_last");
const HINT: (&str, &str) = ("hint", ".L2::cache_hint");
const FETCH: (&str, &str) = ("fetch", ".L2::64B .L2::128B .L2::256B");
const ORDER: (&str, &str) = ("order", ".relaxed .acquire");
const STORE_ORDER: (&str, &str) = ("order", ".relaxed .release");
const LOAD_SETS: &[(&str, &str)] = &[SPACE, TYPE, VEC, COP, L1, L2, HINT, FETCH];
const STRONG_SETS: &[(&str, &str)] = &[STRONG_SPACE, TYPE, VEC, ORDER, L1, L2, HINT, FETCH];
const STORE_SETS: &[(&str, &str)] = &[STORE_SPACE, TYPE, VEC, STORE_COP, L1, L2, HINT];
const STRONG_STORE_SETS: &[(&str, &str)] = &[STRONG_SPACE, TYPE, VEC, STORE_ORDER, L1, L2, HINT];
const FLOORS: &[Floor] = &[
    floor(".b128", ptx(8, 3), 70),
    floor(".ca .cg .cs .lu .cv .wb .wt", ptx(2, 0), 20),
    floor(".weak .relaxed .acquire .release", ptx(6, 0), 70),
    floor(".cluster", ptx(7, 8), 90),
    floor(".shared::cta", ptx(7, 8), 30),
    floor(".shared::cluster", ptx(7, 8), 90),
    floor(".param::entry .param::func", ptx(8, 3), 0),
    floor(
        ".L1::evict_normal .L1::evict_unchanged .L1::evict_first .L1::evict_last .L1::no_allocate",
        ptx(7, 4),
        70,
    ),
    floor(".L2::evict_normal .L2::evict_first .L2::evict_last", ptx(8, 8), 100),
    floor(".L2::cache_hint", ptx(7, 4), 80),
    floor(".L2::64B .L2::128B", ptx(7, 4), 75),
    floor(".L2::256B", ptx(7, 4), 80),
    floor(".mmio", ptx(8, 2), 70),
];
/// Volatile accesses have neither cache operators nor priorities; local ones are new.
const VOLATILE_FLOORS: &[Floor] = &[
    floor(".b128", ptx(8, 3), 70),
    floor(".shared::cta", ptx(7, 8), 30),
    floor(".shared::cluster", ptx(7, 8), 90),
    floor(".local", ptx(9, 1), 0),
    floor(".L2::64B .L2::128B", ptx(7, 4), 75),
    floor(".L2::256B", ptx(7, 4), 80),
];
const LOAD: Row = Row {
    section: "9.7.9.8",
    class: class::load,
    check: Some(check_access),
    floors: FLOORS,
    sem: Sem::Ops(load),
    ..ROW
};
const STORE: Row = Row {
    does: "Stores to memory.",
    section: "9.7.9.11",
    class: class::store,
    check: Some(check_access),
    floors: FLOORS,
    sink: masked,
    sem: Sem::Ops(store),
    ..ROW
};

const LD: Row = Row { does: "Loads from memory.", op: Operation::Load, ..LOAD };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "ld{.weak}{.space}{.cop}{.l1}{.l2}{.hint}{.fetch}{.vec}.type d*vec>, [a]{, policy:.u64}",
        sets: LOAD_SETS,
        ..LD
    },
    Row {
        syntax: "ld.volatile{.space}{.fetch}{.vec}.type d*vec>, [a]",
        sets: LOAD_SETS,
        since: ptx(1, 1),
        floors: VOLATILE_FLOORS,
        ..LD
    },
    Row {
        syntax: "ld.order.scope{.space}{.l1}{.l2}{.hint}{.fetch}{.vec}.type d*vec>, [a]{, policy:.u64}",
        sets: STRONG_SETS,
        since: ptx(6, 0),
        sm: 70,
        ..LD
    },
    Row {
        syntax: "ld.mmio.relaxed.sys{.global}.type d>, [a]",
        sets: &[TYPE],
        since: ptx(8, 2),
        sm: 70,
        ..LD
    },
    Row {
        syntax: "ld.global{.cop}.nc{.l1}{.l2}{.hint}{.fetch}{.vec}.type d*vec>, [a]{, policy:.u64}",
        sets: &[TYPE, VEC, ("cop", ".ca .cg .cs"), L1, L2, HINT, FETCH],
        since: ptx(3, 1),
        sm: 32,
        section: "9.7.9.9",
        ..LD
    },
    Row {
        syntax: "ld.proxy::readonly{.global}{.vec}.type d*vec>, [a]",
        sets: LOAD_SETS,
        since: ptx(9, 4),
        sm: 90,
        ..LD
    },
    Row {
        syntax: "ldu{.global}{.vec}.type d*vec>, [a]",
        does: "Loads from an address that is the same in all threads of the warp.",
        sets: &[TYPE, ("vec", ".v2 .v4")],
        since: ptx(2, 0),
        section: "9.7.9.10",
        check: Some(|m| match (m.get("vec"), m.ty("type").map_or(0, Ty::bytes)) {
            (Some(".v4"), 8..) | (Some(_), 16..) => {
                Err("a vector of this instruction has 128 bits at most".into())
            }
            _ => Ok(()),
        }),
        ..LOAD
    },
    Row {
        syntax: "st{.weak}{.space}{.cop}{.l1}{.l2}{.hint}{.vec}.type [a], b*vec>{, policy:.u64}",
        sets: STORE_SETS,
        op: Operation::Store,
        ..STORE
    },
    Row {
        syntax: "st.volatile{.space}{.vec}.type [a], b*vec>",
        sets: STORE_SETS,
        since: ptx(1, 1),
        floors: VOLATILE_FLOORS,
        op: Operation::Store,
        ..STORE
    },
    Row {
        syntax: "st.order.scope{.space}{.l1}{.l2}{.hint}{.vec}.type [a], b*vec>{, policy:.u64}",
        sets: STRONG_STORE_SETS,
        since: ptx(6, 0),
        sm: 70,
        op: Operation::Store,
        ..STORE
    },
    Row {
        syntax: "st.mmio.relaxed.sys{.global}.type [a], b>",
        sets: &[TYPE],
        since: ptx(8, 2),
        sm: 70,
        op: Operation::Store,
        ..STORE
    },
];

/// Width and cache rules that the notation cannot say.
fn check_access(m: &Match) -> Result<(), String> {
    let Some(ty) = m.ty("type") else { return Ok(()) };
    let count = m.get("vec").and_then(|v| v[2..].parse().ok()).unwrap_or(1u32);
    let bits = ty.bits() * count;
    if bits > 256 || bits > 128 && count < 4 || ty == Ty::B128 && count > 1 {
        return Err(format!("a vector of {count} `{ty}` is wider than an access may be"));
    }
    if m.get("cop").is_some() && (m.get("l1").is_some() || m.get("l2").is_some()) {
        return Err("a cache operator and an eviction priority exclude each other".into());
    }
    if let Some(space) = m.get("space").filter(|space| bits > 128 && *space != ".global") {
        return Err(format!("accesses of 256 bits are for global memory, not for `{space}`"));
    }
    if let Some(l2) = m.get("l2").filter(|_| bits != 256) {
        return Err(format!("`{l2}` is for accesses of 256 bits"));
    }
    if let Some(space) = m.get("space").filter(|space| *space != ".global") {
        if let Some(hint) = ["l1", "l2", "fetch", "hint"].iter().find_map(|set| m.get(set)) {
            return Err(format!("`{hint}` is for global memory, `{space}` has no such cache"));
        }
        if m.has(".volatile") && (space == ".const" || space.starts_with(".param")) {
            return Err(format!("`{space}` memory does not change: it cannot be `.volatile`"));
        }
    }
    Ok(())
}

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
        ".param::entry" => Space::ParamEntry,
        ".param::func" => Space::ParamFunc,
        _ if x.has(".global") => Space::Global,
        _ => Space::Generic,
    }
}

/// The scope that a modifier names.
pub(super) fn scope(x: &Cx) -> Scope {
    match x.get("scope") {
        ".cta" => Scope::Cta,
        ".cluster" => Scope::Cluster,
        ".gpu" => Scope::Gpu,
        _ => Scope::Sys,
    }
}

/// The ordering that the modifiers name, or `otherwise`.
pub(super) fn order(x: &Cx, otherwise: Order) -> Order {
    for (token, order) in [
        (".mmio", Order::Mmio),
        (".volatile", Order::Volatile),
        (".relaxed", Order::Relaxed),
        (".acquire", Order::Acquire),
        (".release", Order::Release),
        (".acq_rel", Order::AcqRel),
        (".sc", Order::SeqCst),
    ] {
        if x.has(token) {
            return order;
        }
    }
    otherwise
}

fn mem(x: &Cx, count: u32) -> Mem {
    let ty = x.ty();
    let cache = match x.get("cop") {
        ".ca" => Cache::Ca,
        ".cg" => Cache::Cg,
        ".cs" => Cache::Cs,
        ".lu" => Cache::Lu,
        ".cv" => Cache::Cv,
        ".wb" => Cache::Wb,
        ".wt" => Cache::Wt,
        _ if x.has(".nc") => Cache::Nc,
        _ => Cache::Default,
    };
    Mem {
        place: x.place(x.addr("a"), space(x)),
        bytes: ty.bytes() as u8,
        count: count as u8,
        signed: false,
        order: order(x, Order::Weak),
        scope: scope(x),
        cache,
    }
}

fn load(x: &mut Cx) {
    let ty = x.ty();
    let count = x.m.slot_count(&x.m.notation.slots[0]).unwrap_or(1);
    let effect = Effect::Ld(mem(x, count));
    let base = x.addr("a").base;
    if ty == Ty::B128 {
        let halves = x.effect(effect, &[base], &[Kind::D, Kind::D]);
        return x.wr_pair("d", halves[0], halves[1]);
    }
    let values = x.effect(effect, &[base], &vec![ty.kind(); count as usize]);
    x.wr_vec("d", &values);
}

/// Elements of stores of 256 bits may be left out with `_`.
fn masked(m: &Match) -> Sink {
    let count = m.get("vec").and_then(|v| v[2..].parse().ok()).unwrap_or(1u32);
    let bits = m.ty("type").map_or(0, Ty::bits) * count;
    if bits == 256 { Sink::Allowed } else { Sink::Never }
}

/// A store that leaves out elements: the bytes of `_` stay as they are. Each element is an access of its own.
fn store_some(x: &mut Cx) {
    let base = x.addr("a").base;
    let one = mem(x, 1);
    for (i, value) in x.rd_some("b").into_iter().enumerate() {
        let Some(value) = value else { continue };
        let mut element = one;
        element.place.offset += i as i64 * i64::from(one.bytes);
        x.effect(Effect::St(element), &[base, value], &[]);
    }
}

fn store(x: &mut Cx) {
    let mut src = vec![x.addr("a").base];
    if let (Ty::B128, Arg::Pair(..)) = (x.ty(), x.arg("b")) {
        let (lo, hi) = x.rd_pair("b");
        src.extend([lo, hi]);
        let effect = Effect::St(mem(x, 1));
        x.effect(effect, &src, &[]);
        return;
    }
    if let Arg::Vector(items) = x.arg("b")
        && items.iter().any(|item| matches!(item, Arg::Sink))
    {
        return store_some(x);
    }
    let values: Vec<V> = x.rd_vec("b");
    let effect = Effect::St(mem(x, values.len() as u32));
    src.extend(values);
    x.effect(effect, &src, &[]);
}
