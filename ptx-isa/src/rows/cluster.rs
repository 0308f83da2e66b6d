//! Clusters, proxy fences, dependent launches and multimem (PTX ISA 9.7.15, 9.7.10, 9.7.21).

use crate::class::{self, Class};
use crate::effect::{Bar, BarKind, Effect, Order, Scope, window};
use crate::meaning::{Cx, Src, V};
use crate::row::{AddressWidth, Exactness, Floor, ROW, Reach, Row, Sem, floor};
use crate::special::Sreg;
use crate::table::Match;
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;

const C: Row =
    Row { since: ptx(7, 8), sm: 90, class: |_| Class::Move, exact: Exactness::Bit, ..ROW };
const BARRIER: Row =
    Row { section: "9.7.15.3", class: |_| Class::Barrier, reach: Reach::Cluster, ..C };
const FENCE: Row = Row {
    section: "9.7.15.4",
    class: class::fence,
    addresses: AddressWidth::Any,
    // One coherent memory behind every proxy: a full fence orders them all.
    sem: Sem::Ops(|x| {
        x.effect(Effect::Fence(Order::SeqCst, Scope::Sys), &[], &[]);
    }),
    ..C
};
const MULTIMEM: Row = Row { section: "9.7.10.15", since: ptx(8, 1), class: class::load, ..C };
const TENSORMAP: Row = Row {
    section: "9.7.10.29",
    since: ptx(8, 3),
    targets: "sm_90a sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
    class: class::store,
    addresses: AddressWidth::Any,
    check: Some(replaced_width),
    ..C
};
const SEM_FLOORS: &[Floor] = &[floor(".release .relaxed .acquire", ptx(8, 0), 90)];
const CLUSTER: (&str, &str) = ("space", ".shared::cluster");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "barrier.cluster.arrive{.sem}{.aligned}",
        sets: &[("sem", ".release .relaxed")],
        floors: SEM_FLOORS,
        sem: Sem::Ops(|x| barrier(x, BarKind::ClusterArrive)),
        ..BARRIER
    },
    Row {
        syntax: "barrier.cluster.wait{.acquire}{.aligned}",
        floors: SEM_FLOORS,
        waits: true,
        sem: Sem::Ops(|x| barrier(x, BarKind::ClusterWait)),
        ..BARRIER
    },
    Row {
        syntax: "mapa{.space}.type d, &a, b:.u32",
        sets: &[CLUSTER, ("type", ".u32 .u64")],
        section: "9.7.10.26",
        sem: Sem::Ops(mapa),
        ..C
    },
    Row {
        syntax: "getctarank{.space}.type d:.u32, &a",
        sets: &[CLUSTER, ("type", ".u32 .u64")],
        section: "9.7.10.27",
        sem: Sem::Ops(getctarank),
        ..C
    },
    // Fences between proxies.
    Row { syntax: "fence.proxy.alias", since: ptx(7, 5), sm: 70, ..FENCE },
    Row {
        syntax: "fence.proxy.alias.sem.sys",
        sets: &[("sem", ".acquire .release")],
        since: ptx(9, 4),
        ..FENCE
    },
    Row { syntax: "membar.proxy.alias", since: ptx(7, 5), sm: 60, ..FENCE },
    Row {
        syntax: "fence.proxy.async{.space}",
        sets: &[("space", ".global .shared::cta .shared::cluster")],
        since: ptx(8, 0),
        ..FENCE
    },
    Row { syntax: "membar.proxy.async", since: ptx(8, 0), ..FENCE },
    Row { syntax: "fence.proxy.tensormap::generic.release.scope", since: ptx(8, 3), ..FENCE },
    Row {
        syntax: "fence.proxy.tensormap::generic.acquire.scope [a], #size=128:.u32",
        since: ptx(8, 3),
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        since: ptx(8, 6),
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.async::generic.release.restrict.cluster",
        sets: &[("restrict", ".sync_restrict::shared::cta .sync_restrict::shared::cluster::read")],
        since: ptx(8, 6),
        floors: &[floor(".sync_restrict::shared::cluster::read", ptx(9, 4), 90)],
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.kind.alias.sem.sys",
        sets: &[
            ("kind", ".generic::fabric .fabric::generic .fabric::fabric"),
            ("sem", ".acquire .release"),
        ],
        since: ptx(9, 3),
        sm: 100,
        ..FENCE
    },
    Row {
        syntax: "fence.acquire.sync_restrict::shared::cluster.cluster",
        since: ptx(8, 6),
        ..FENCE
    },
    Row { syntax: "fence.release.sync_restrict::shared::cta.cluster", since: ptx(8, 6), ..FENCE },
    Row { syntax: "fence.mbarrier_init.release.cluster", since: ptx(8, 0), ..FENCE },
    // Launches. Grids run one after another here, so there is nothing to wait for.
    Row {
        syntax: "griddepcontrol.action",
        sets: &[("action", ".launch_dependents .wait")],
        section: "9.7.15.14",
        sem: Sem::Ops(|_| {}),
        ..C
    },
    Row {
        syntax: "setmaxnreg.action.sync.aligned.u32 #a=24|32|40|48|56|64|72|80|88|96|104|112|120|128|136|144|152|160|168|176|184|192|200|208|216|224|232|240|248|256:.u32",
        sets: &[("action", ".inc .dec")],
        section: "9.7.21.5",
        sink: true,
        since: ptx(8, 0),
        targets: "sm_90a sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
        // The registers of a thread are not limited here.
        sem: Sem::Ops(|_| {}),
        ..C
    },
    Row {
        syntax: "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [a], [mbar]",
        addresses: AddressWidth::Any,
        section: "9.7.15.18",
        reach: Reach::Cluster,
        sink: true,
        since: ptx(8, 6),
        sm: 100,
        floors: &[Floor {
            tokens: ".multicast::cluster::all",
            since: ptx(8, 6),
            sm: 100,
            targets: "sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
        }],
        ..C
    },
    Row {
        syntax: "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p:pred, a:.b128",
        section: "9.7.15.19",
        since: ptx(8, 6),
        sm: 100,
        sink: true,
        ..C
    },
    Row {
        syntax: "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d*4:.b32, a:.b128",
        section: "9.7.15.19",
        since: ptx(8, 6),
        sm: 100,
        sink: true,
        ..C
    },
    Row {
        syntax: "clusterlaunchcontrol.query_cancel.which.b32.b128 d:.b32, a:.b128",
        sets: &[("which", ".get_first_ctaid::x .get_first_ctaid::y .get_first_ctaid::z")],
        section: "9.7.15.19",
        since: ptx(8, 6),
        sm: 100,
        sink: true,
        ..C
    },
    // Multimem: addresses of several devices' memory, which one device does not have.
    Row {
        syntax: "multimem.ld_reduce{.sem}{.scope}{.global}.op.type d, [a]",
        sets: &[
            ("sem", ".weak .relaxed .acquire"),
            ("op", ".min .max .add .and .or .xor"),
            ("type", ".b32 .b64 .u32 .u64 .s32 .s64"),
        ],
        check: Some(integers),
        ..MULTIMEM
    },
    Row {
        syntax: "multimem.ld_reduce{.sem}{.scope}{.global}.op{.acc}{.width}.type d*?>, [a]",
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
        ..MULTIMEM
    },
    Row {
        syntax: "multimem.st{.sem}{.scope}{.global}.type [a], b",
        sets: &[("sem", ".weak .relaxed .release"), ("type", ".b32 .b64 .u32 .u64 .s32 .s64")],
        check: Some(ordered),
        class: class::store,
        ..MULTIMEM
    },
    Row {
        syntax: "multimem.st{.sem}{.scope}{.global}{.width}.type [a], b*?>",
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
        class: class::store,
        ..MULTIMEM
    },
    Row {
        syntax: "multimem.red{.sem}{.scope}{.global}.op.type [a], b",
        sets: &[
            ("sem", ".relaxed .release"),
            ("op", ".min .max .add .and .or .xor"),
            ("type", ".b32 .b64 .u32 .u64 .s32 .s64"),
        ],
        check: Some(integers),
        class: class::atomic,
        ..MULTIMEM
    },
    Row {
        syntax: "multimem.red{.sem}{.scope}{.global}.op{.width}.type [a], b*?>",
        sets: &[
            ("sem", ".relaxed .release"),
            ("op", ".min .max .add"),
            ("width", ".v2 .v4 .v8"),
            ("type", ".f16 .f16x2 .bf16 .bf16x2 .f32 .f64"),
        ],
        counts: Some(width),
        check: Some(floats),
        class: class::atomic,
        ..MULTIMEM
    },
    Row {
        syntax: "multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group [a], [b], size:.u32",
        section: "9.7.10.28.4.4",
        class: class::load,
        since: ptx(9, 1),
        floors: &[floor(".weak", ptx(9, 3), 90)],
        ..C
    },
    Row {
        syntax: "multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask [a], [b], size:.u32, mask:.b16",
        section: "9.7.10.28.4.4",
        class: class::load,
        since: ptx(9, 1),
        floors: &[floor(".weak", ptx(9, 3), 90)],
        sm: 100,
        ..C
    },
    Row {
        syntax: "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.op{.noftz}.type [a], [b], size:.u32",
        sets: &[
            ("op", ".add .min .max .inc .dec .and .or .xor"),
            ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64"),
        ],
        section: "9.7.10.28.4.5",
        class: class::load,
        since: ptx(9, 1),
        check: Some(elementwise),
        ..C
    },
    // Tensor maps.
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], b",
        sets: &[
            ("field", ".global_address .rank"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #ord:.u32, b",
        sets: &[
            ("field", ".box_dim .global_dim .global_stride .element_stride"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b",
        sets: &[
            ("field", ".elemtype .interleave_layout .swizzle_mode .swizzle_atomicity .fill_mode"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        floors: &[Floor {
            tokens: ".swizzle_atomicity",
            since: ptx(8, 6),
            sm: 100,
            targets: "sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
        }],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [a], [b], #size=128:.u32",
        section: "9.7.15.17",
        class: class::fence,
        since: ptx(8, 3),
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

/// Vector widths and operations of floating-point multimem accesses.
fn floats(m: &Match) -> Result<(), String> {
    ordered(m)?;
    let t = m.ty("type");
    let width = m.get("width");
    let fits = match t {
        Some(Ty::F16 | Ty::Bf16 | Ty::E5m2 | Ty::E4m3 | Ty::E5m2x2 | Ty::E4m3x2) => width.is_some(),
        Some(Ty::F16x2 | Ty::Bf16x2 | Ty::F32) => width != Some(".v8"),
        Some(Ty::F64) => width.is_none(),
        _ => true,
    };
    if !fits {
        return Err("this type does not come in vectors of this width".into());
    }
    let wide = matches!(t, Some(Ty::F32 | Ty::F64));
    match m.get("op") {
        Some(op @ (".min" | ".max")) if wide || m.has(".red") => {
            Err(format!("`{op}` does not take this type"))
        }
        _ => Ok(()),
    }
}

/// Addresses and strides of a tensor map have 64 bits, the rest 32.
fn replaced_width(m: &Match) -> Result<(), String> {
    let field = m.get("field").unwrap_or("");
    let wide = matches!(field, ".global_address" | ".global_stride");
    if (m.ty("type") == Some(Ty::B64)) == wide {
        Ok(())
    } else {
        let need = if wide { ".b64" } else { ".b32" };
        Err(format!("field `{field}` of a tensor map takes type `{need}`"))
    }
}

fn barrier(x: &mut Cx, kind: BarKind) {
    let aligned = x.has(".aligned");
    x.effect(Effect::Bar(Bar { kind, counted: false, aligned }), &[], &[]);
}

const RANK_SHIFT: u32 = window::SHARED_CTA.trailing_zeros();

/// Replaces the CTA part of a shared address by a rank. The shared window of generic addresses
/// starts at a multiple of all its CTAs, so generic addresses differ by that start alone.
fn mapa(x: &mut Cx) {
    let (a, rank) = (x.rd("a"), x.rd("b"));
    let one_up = x.op2(Op::AddW, rank, V::w(1));
    let base = x.op2(Op::ShlW, one_up, V::w(RANK_SHIFT));
    if a.kind == Kind::W {
        let offset = x.op2(Op::AndW, a, V::w(window::SHARED_CTA as u32 - 1));
        let at = x.op2(Op::OrW, base, offset);
        x.wr("d", at);
    } else {
        let offset = x.op2(Op::AndD, a, V::d(window::SHARED_CTA - 1));
        let wide = x.op1(Op::ZextWD, base);
        let at = x.op2(Op::OrD, wide, offset);
        let start = if x.get("space").is_empty() { window::SHARED } else { 0 };
        let generic = x.op2(Op::AddD, at, V::d(start));
        x.wr("d", generic);
    }
}

/// The rank in a shared address; the executing CTA's own where the address names none.
fn getctarank(x: &mut Cx) {
    let a = x.rd("a");
    let local = if a.kind == Kind::W {
        a
    } else {
        let start = if x.get("space").is_empty() { window::SHARED } else { 0 };
        let inside = x.op2(Op::SubD, a, V::d(start));
        x.op1(Op::TruncDW, inside)
    };
    let part = x.op2(Op::ShrW, local, V::w(RANK_SHIFT));
    let rank = x.op2(Op::SubW, part, V::w(1));
    let own = V { kind: Kind::W, src: Src::Special(Sreg::ClusterCtarank) };
    let none = x.op2(Op::EqW, part, V::w(0));
    let chosen = x.op3(Op::SelW, own, rank, none);
    x.wr("d", chosen);
}
