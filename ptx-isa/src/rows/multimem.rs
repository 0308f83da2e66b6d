//! `multimem` (PTX ISA 9.7.10.15): addresses of several devices' memory.
//!
//! Here a multicast address has one copy, the device's own: loads give what it holds, stores and updates change it. By
//! the manual; nothing of it was recorded.

use super::bulk_copy::bulk;
use super::bulk_reduce::bulk_reduce;
use super::cluster::C;
use crate::class;
use crate::effect::{Atom, AtomOp, Cache, Effect, Mem, Order, Scope};
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, Reach, Row, Sem, floor};
use crate::types::{Kind, Space, Ty, ptx};

const MULTIMEM: Row = Row {
    section: "9.7.10.15",
    since: ptx(8, 1),
    class: class::load,
    exact: Exactness::Manual,
    ..C
};

const MULTIMEM_LD_REDUCE: Row = Row {
    does: "Loads from all copies of a multicast address and combines what they hold.",
    sem: Sem::Ops(load),
    ..MULTIMEM
};
const MULTIMEM_ST: Row = Row {
    does: "Stores to all copies of a multicast address.",
    class: class::store,
    sem: Sem::Ops(store),
    ..MULTIMEM
};
const MULTIMEM_RED: Row = Row {
    does: "Updates all copies of a multicast address.",
    class: class::atomic,
    sem: Sem::Ops(update),
    ..MULTIMEM
};
const MULTIMEM_CP: Row = Row {
    does: "Starts a copy of a block of memory to all copies of a multicast address.",
    section: "9.7.10.28.4.4",
    class: class::load,
    reach: Reach::Block,
    addresses: AddressWidth::Any,
    exact: Exactness::Manual,
    sem: Sem::Ops(bulk),
    ..C
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Multimem: addresses of several devices' memory, which one device does not have.
    Row {
        syntax: "multimem.ld_reduce{.sem}{.scope}{.global}.op.type d, [a]",
        sets: &[
            ("sem", ".weak .relaxed .acquire"),
            ("op", ".min .max .add .and .or .xor"),
            ("type", ".b32 .b64 .u32 .u64 .s32 .s64"),
        ],
        check: Some(integers),
        ..MULTIMEM_LD_REDUCE
    },
    Row {
        syntax: "multimem.ld_reduce{.sem}{.scope}{.global}.op{.acc}{.width}.type d*?, [a]",
        sets: &[
            ("sem", ".weak .relaxed .acquire"),
            ("op", ".min .max .add"),
            ("acc", ".acc::f32 .acc::f16"),
            ("width", ".v2 .v4 .v8"),
            (
                "type",
                ".f16 .f16x2 .bf16 .bf16x2 .f32 .f64 .e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4",
            ),
        ],
        counts: Some(width),
        check: Some(floats),
        floors: NARROW,
        ..MULTIMEM_LD_REDUCE
    },
    Row {
        syntax: "multimem.st{.sem}{.scope}{.global}.type [a], b",
        sets: &[("sem", ".weak .relaxed .release"), ("type", ".b32 .b64 .u32 .u64 .s32 .s64")],
        check: Some(ordered),
        ..MULTIMEM_ST
    },
    Row {
        syntax: "multimem.st{.sem}{.scope}{.global}{.width}.type [a], b*?",
        sets: &[
            ("sem", ".weak .relaxed .release"),
            ("width", ".v2 .v4 .v8"),
            (
                "type",
                ".f16 .f16x2 .bf16 .bf16x2 .f32 .f64 .e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4",
            ),
        ],
        counts: Some(width),
        check: Some(floats),
        floors: NARROW,
        ..MULTIMEM_ST
    },
    Row {
        syntax: "multimem.st.async.release.scope{.global}.type [a], b",
        does: "Starts a store to all copies of a multicast address, with release order.",
        sets: &[
            ("scope", ".gpu .sys"),
            ("type", ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64"),
        ],
        section: "9.7.10.13",
        since: ptx(9, 3),
        sm: 100,
        sem: Sem::Ops(store),
        addresses: AddressWidth::Words,
        ..MULTIMEM_ST
    },
    Row {
        syntax: "multimem.red{.sem}{.scope}{.global}.op.type [a], b",
        sets: &[
            ("sem", ".relaxed .release"),
            ("op", ".min .max .add .and .or .xor"),
            ("type", ".b32 .b64 .u32 .u64 .s32 .s64"),
        ],
        check: Some(integers),
        addresses: AddressWidth::ModuleWords,
        ..MULTIMEM_RED
    },
    Row {
        syntax: "multimem.red{.sem}{.scope}{.global}.op{.width}.type [a], b*?",
        sets: &[
            ("sem", ".relaxed .release"),
            ("op", ".min .max .add"),
            ("width", ".v2 .v4 .v8"),
            ("type", ".f16 .f16x2 .bf16 .bf16x2 .f32 .f64"),
        ],
        counts: Some(width),
        check: Some(floats),
        addresses: AddressWidth::ModuleWords,
        ..MULTIMEM_RED
    },
    Row {
        syntax: "multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group [a], [b], size=%16:.u32",
        since: ptx(9, 1),
        floors: &[floor(".weak", ptx(9, 3), 90)],
        ..MULTIMEM_CP
    },
    Row {
        syntax: "multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask [a], [b], size=%16:.u32, mask:.b16",
        since: ptx(9, 1),
        floors: &[floor(".weak", ptx(9, 3), 90)],
        sm: 100,
        ..MULTIMEM_CP
    },
    Row {
        syntax: "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.op{.noftz}.type [a], [b], size=%16:.u32",
        does: "Starts a reduction of a block of memory into all copies of a multicast address.",
        sets: &[
            ("op", ".add .min .max .inc .dec .and .or .xor"),
            ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64"),
        ],
        section: "9.7.10.28.4.5",
        addresses: AddressWidth::Any,
        class: class::load,
        since: ptx(9, 1),
        check: Some(|m| {
            let half = matches!(m.ty("type"), Some(Ty::F16 | Ty::Bf16));
            let float = half || m.ty("type") == Some(Ty::F32);
            if m.has(".noftz") && !(float && m.get("op") == Some(".add")) {
                return Err("`.noftz` belongs to additions of floats".into());
            }
            elementwise(m)
        }),
        reach: Reach::Block,
        exact: Exactness::Manual,
        sem: Sem::Ops(bulk_reduce),
        ..C
    },
];

const NARROW: &[Floor] = &[Floor {
    tokens: ".acc::f16 .e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4",
    since: ptx(8, 6),
    sm: 100,
    targets: "sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
}];

fn width(m: &Match, _: &str) -> u32 {
    m.get("width").and_then(|w| w[2..].parse().ok()).unwrap_or(1)
}

/// Orders other than `.weak` come with a scope, and scopes with an order.
fn ordered(m: &Match) -> Result<(), String> {
    let weak = matches!(m.get("sem"), None | Some(".weak"));
    match (weak, m.get("scope")) {
        (true, Some(s)) => Err(format!("scope `{s}` needs a memory order")),
        (false, None) => {
            Err(format!("memory order `{}` needs a scope", m.get("sem").unwrap_or("")))
        }
        _ => Ok(()),
    }
}

fn integers(m: &Match) -> Result<(), String> {
    ordered(m)?;
    elementwise(m)
}

/// Operations and types of element-wise reductions.
fn elementwise(m: &Match) -> Result<(), String> {
    let legal: &[Ty] = match m.get("op") {
        Some(".add") => &[Ty::U32, Ty::S32, Ty::U64, Ty::F32, Ty::F64, Ty::F16, Ty::Bf16],
        Some(".min" | ".max") => &[Ty::U32, Ty::S32, Ty::U64, Ty::S64, Ty::F16, Ty::Bf16],
        Some(".inc" | ".dec") => &[Ty::U32],
        _ => &[Ty::B32, Ty::B64],
    };
    let half = matches!(m.ty("type"), Some(Ty::F16 | Ty::Bf16));
    match m.ty("type") {
        Some(t) if !legal.contains(&t) => {
            Err(format!("`{}` does not take type `{t}`", m.get("op").unwrap_or("")))
        }
        Some(_) if half && m.get("op") == Some(".add") && !m.has(".noftz") => {
            Err("additions of halves need `.noftz`".into())
        }
        _ => Ok(()),
    }
}

/// Vector widths, sums and operations of floating-point multimem accesses.
fn floats(m: &Match) -> Result<(), String> {
    ordered(m)?;
    let t = m.ty("type");
    let widths = match t {
        Some(Ty::F64) => &[""][..],
        Some(Ty::F32 | Ty::F16x2 | Ty::Bf16x2 | Ty::E5m2x4 | Ty::E4m3x4) => &["", ".v2", ".v4"],
        Some(Ty::E5m2 | Ty::E4m3) => &[".v4", ".v8"],
        _ => &[".v2", ".v4", ".v8"],
    };
    if !widths.contains(&m.get("width").unwrap_or("")) {
        return Err("this type does not come in vectors of this width".into());
    }
    let wide = matches!(t, Some(Ty::F32 | Ty::F64));
    let half = matches!(t, Some(Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2));
    if let Some(acc) = m.get("acc") {
        if m.get("op") != Some(".add") {
            return Err(format!("`{acc}` belongs to `.add`"));
        }
        // A sum is one step wider than what it adds.
        let fits = if half { acc == ".acc::f32" } else { acc == ".acc::f16" && !wide };
        if !fits {
            return Err(format!("`{acc}` does not go with this type"));
        }
    }
    let scalar = m.has(".red") && m.get("width").is_none();
    match m.get("op") {
        Some(op @ (".min" | ".max")) if wide || scalar => {
            Err(format!("`{op}` does not take this type"))
        }
        _ => Ok(()),
    }
}

fn order(x: &Cx) -> (Order, Scope) {
    let order = match x.get("sem") {
        ".relaxed" => Order::Relaxed,
        ".acquire" => Order::Acquire,
        ".release" => Order::Release,
        _ if x.has(".release") => Order::Release,
        _ => Order::Weak,
    };
    let scope = match x.get("scope") {
        ".cta" => Scope::Cta,
        ".cluster" => Scope::Cluster,
        ".gpu" => Scope::Gpu,
        _ => Scope::Sys,
    };
    (order, scope)
}

fn global(x: &Cx) -> Space {
    if x.has(".global") { Space::Global } else { Space::Generic }
}

fn access(x: &Cx) -> Mem {
    let (order, scope) = order(x);
    Mem {
        place: x.place(x.addr("a"), global(x)),
        bytes: x.ty_of("type").bytes() as u8,
        count: width(x.m, "") as u8,
        signed: false,
        order,
        scope,
        cache: Cache::Default,
    }
}

fn load(x: &mut Cx) {
    let mem = access(x);
    let base = x.addr("a").base;
    let kind = if mem.bytes == 8 { Kind::D } else { Kind::W };
    let values = x.effect(Effect::Ld(mem), &[base], &vec![kind; mem.count.into()]);
    x.wr_vec("d", &values);
}

fn store(x: &mut Cx) {
    let mem = access(x);
    let mut src = vec![x.addr("a").base];
    src.extend(x.rd_vec("b"));
    x.effect(Effect::St(mem), &src, &[]);
}

fn update(x: &mut Cx) {
    use AtomOp::{
        Add, AddBf16, AddBf16x2, AddF16, AddF16x2, AddF32, AddF64, And, MaxBf16, MaxBf16x2, MaxF16,
        MaxF16x2, MaxS, MaxU, MinBf16, MinBf16x2, MinF16, MinF16x2, MinS, MinU, Or, Xor,
    };
    let ty = x.ty_of("type");
    let op = match (x.get("op"), ty) {
        (".and", _) => And,
        (".or", _) => Or,
        (".xor", _) => Xor,
        (".min", Ty::F16) => MinF16,
        (".min", Ty::F16x2) => MinF16x2,
        (".min", Ty::Bf16) => MinBf16,
        (".min", Ty::Bf16x2) => MinBf16x2,
        (".min", t) => {
            if t.signed() {
                MinS
            } else {
                MinU
            }
        }
        (".max", Ty::F16) => MaxF16,
        (".max", Ty::F16x2) => MaxF16x2,
        (".max", Ty::Bf16) => MaxBf16,
        (".max", Ty::Bf16x2) => MaxBf16x2,
        (".max", t) => {
            if t.signed() {
                MaxS
            } else {
                MaxU
            }
        }
        (_, Ty::F16) => AddF16,
        (_, Ty::F16x2) => AddF16x2,
        (_, Ty::Bf16) => AddBf16,
        (_, Ty::Bf16x2) => AddBf16x2,
        (_, Ty::F32) => AddF32,
        (_, Ty::F64) => AddF64,
        _ => Add,
    };
    let Mem { place, bytes, count, order, scope, .. } = access(x);
    let mut src: Vec<V> = vec![x.addr("a").base];
    src.extend(x.rd_vec("b"));
    x.effect(Effect::Atom(Atom { place, op, bytes, count, order, scope }), &src, &[]);
}
