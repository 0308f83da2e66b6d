//! Asynchronous copies, stores and reductions (PTX ISA 9.7.10.28, 9.7.10.12, 9.7.15.7).

use crate::async_copy::{self, Reduce, bulk_flag};
use crate::class;
use crate::matrix::run::space_code;
use crate::meaning::{Addr, Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, Operation, ROW, Reach, Row, Sem, floor};
use crate::rows::matrix_move::absolute;
use crate::rows::memory::space;
use crate::table::Match;
use crate::types::{Space, Ty, ptx};

pub(super) const C: Row = Row {
    since: ptx(7, 0),
    sm: 80,
    class: class::load,
    sink: true,
    addresses: AddressWidth::Any,
    exact: Exactness::Bit,
    floors: &[floor(".L2::cache_hint .L2::64B .L2::128B .L2::256B", ptx(7, 4), 80)],
    ..ROW
};
pub(super) const BULK: Row =
    Row { since: ptx(8, 0), sm: 90, reach: Reach::Block, floors: BULK_FLOORS, ..C };
const BULK_FLOORS: &[Floor] =
    &[floor(".weak .b128", ptx(9, 3), 90), floor(".multicast::cluster::16b", ptx(9, 4), 90)];
const NOFTZ: &[Floor] = &[floor(".f32", ptx(9, 4), 90)];
/// The same with byte masks.
const STRONG_100: &str = "sm_100f sm_100a sm_103f sm_103a sm_107f sm_107a sm_110f sm_110a";
const TO: (&str, &str) = ("to", ".shared .shared::cta");
const PREFETCH: (&str, &str) = ("prefetch", ".L2::64B .L2::128B .L2::256B");
pub(super) const MULTICAST: (&str, &str) =
    ("multicast", ".multicast::cluster .multicast::cluster::16b");
pub(super) const OP: (&str, &str) = ("op", ".add .min .max .inc .dec .and .or .xor");
const CLUSTER: (&str, &str) = ("space", ".shared::cluster");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cp.async.ca.to.global{.prefetch} [a], [b], #n=4|8|16:.u32{, size:.u32}",
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.ca.to.global{.prefetch} [a], [b], #n=4|8|16:.u32, ignore:pred",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.ca.to.global.L2::cache_hint{.prefetch} [a], [b], #n=4|8|16:.u32{, size:.u32}, policy:.b64",
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.ca.to.global.L2::cache_hint{.prefetch} [a], [b], #n=4|8|16:.u32, ignore:pred, policy:.b64",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.cg.to.global{.prefetch} [a], [b], #n=16:.u32{, size:.u32}",
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.cg.to.global{.prefetch} [a], [b], #n=16:.u32, ignore:pred",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.cg.to.global.L2::cache_hint{.prefetch} [a], [b], #n=16:.u32{, size:.u32}, policy:.b64",
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row {
        syntax: "cp.async.cg.to.global.L2::cache_hint{.prefetch} [a], [b], #n=16:.u32, ignore:pred, policy:.b64",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        section: "9.7.10.28.3.1",
        sem: Sem::Ops(small),
        ..C
    },
    Row { syntax: "cp.async.commit_group", section: "9.7.10.28.3.2", sem: Sem::Ops(|_| {}), ..C },
    Row {
        syntax: "cp.async.wait_group #n:.u32",
        section: "9.7.10.28.3.3",
        sem: Sem::Ops(|_| {}),
        ..C
    },
    Row { syntax: "cp.async.wait_all", section: "9.7.10.28.3.3", sem: Sem::Ops(|_| {}), ..C },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], size:.u32, [mbar]",
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes [a], [b], size:.u32, [mbar]",
        since: ptx(8, 6),
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast [a], [b], size:.u32, [mbar], mask:.b16",
        sets: &[MULTICAST],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [a], [b], size:.u32, left:.u32, right:.u32, [mbar]",
        section: "9.7.10.28.4.1",
        since: ptx(9, 2),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group [a], [b], size:.u32",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask [a], [b], size:.u32, mask:.b16",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(8, 6),
        sm: 100,
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [a], [b], size:.u32, [mbar], policy:.b64",
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [a], [b], size:.u32, [mbar], policy:.b64",
        since: ptx(8, 6),
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.L2::cache_hint [a], [b], size:.u32, [mbar], mask:.b16, policy:.b64",
        sets: &[MULTICAST],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.ignore_oob [a], [b], size:.u32, left:.u32, right:.u32, [mbar], policy:.b64",
        section: "9.7.10.28.4.1",
        since: ptx(9, 2),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group.L2::cache_hint [a], [b], size:.u32, policy:.b64",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [a], [b], size:.u32, policy:.b64, mask:.b16",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(8, 6),
        sm: 100,
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [a], [b], size:.u32, [mbar]",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.b128 [a], [b], size:.u32, [mbar]",
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.b128 [a], [b], size:.u32, [mbar]",
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.b128 [a], [b], size:.u32, [mbar], mask:.b16",
        sets: &[MULTICAST],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.b128 [a], [b], size:.u32, left:.u32, right:.u32, [mbar]",
        section: "9.7.10.28.4.1",
        since: ptx(9, 2),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.b128 [a], [b], size:.u32",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.cp_mask.b128 [a], [b], size:.u32, mask:.b16",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        targets: STRONG_100,
        sm: 100,
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint.b128 [a], [b], size:.u32, [mbar], policy:.b64",
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.b128 [a], [b], size:.u32, [mbar], policy:.b64",
        sets: &[],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.L2::cache_hint.b128 [a], [b], size:.u32, [mbar], mask:.b16, policy:.b64",
        sets: &[MULTICAST],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.ignore_oob.b128 [a], [b], size:.u32, left:.u32, right:.u32, [mbar], policy:.b64",
        section: "9.7.10.28.4.1",
        since: ptx(9, 2),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.b128 [a], [b], size:.u32, policy:.b64",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.cp_mask.b128 [a], [b], size:.u32, policy:.b64, mask:.b16",
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        targets: STRONG_100,
        sm: 100,
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [a], [b], size:.u32, [mbar]",
        sets: &[("scope", ".cta .cluster")],
        section: "9.7.10.28.4.1",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.prefetch.L2.global [a], size:.u32",
        section: "9.7.10.28.4.3",
        sem: Sem::Ops(|_| {}),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.prefetch.L2.global.L2::cache_hint [a], size:.u32, policy:.b64",
        section: "9.7.10.28.4.3",
        sem: Sem::Ops(|_| {}),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.commit_group",
        section: "9.7.10.28.6.1",
        sem: Sem::Ops(|_| {}),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.wait_group{.read} #n:.u32",
        section: "9.7.10.28.6.2",
        sem: Sem::Ops(|_| {}),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type [a], [b], size:.u32, [mbar]",
        sets: &[OP, ("type", ".b32 .u32 .s32 .b64 .u64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(shared_reduction),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type [a], [b], size:.u32, [mbar]",
        since: ptx(9, 3),
        sets: &[("scope", ".cta .cluster"), OP, ("type", ".b32 .u32 .s32 .b64 .u64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(shared_reduction),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.op.type [a], [b], size:.u32",
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.op.type [a], [b], size:.u32",
        since: ptx(9, 3),
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.type [a], [b], size:.u32",
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.add.noftz.type [a], [b], size:.u32",
        since: ptx(9, 3),
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.op.type [a], [b], size:.u32, policy:.b64",
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.op.type [a], [b], size:.u32, policy:.b64",
        since: ptx(9, 3),
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.type [a], [b], size:.u32, policy:.b64",
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..BULK
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.type [a], [b], size:.u32, policy:.b64",
        since: ptx(9, 3),
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..BULK
    },
    Row {
        syntax: "st.async{.weak}{.space}.mbarrier::complete_tx::bytes{.vec}.type [a], b*vec, [mbar]",
        sets: &[CLUSTER, ("type", ".b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64")],
        section: "9.7.10.12",
        op: Operation::Store,
        floors: &[],
        since: ptx(8, 1),
        check: Some(sixteen_bytes),
        sem: Sem::Ops(store),
        ..BULK
    },
    Row {
        syntax: "st.async{.weak}{.space}.mbarrier::complete_tx::bytes.b128 [a], b:.b128, [mbar]",
        sets: &[CLUSTER],
        section: "9.7.10.12",
        op: Operation::Store,
        floors: &[],
        since: ptx(9, 2),
        ..BULK
    },
    Row {
        syntax: "st.async{.mmio}.release.scope{.global}.type [a], b",
        sets: &[
            ("scope", ".gpu .sys"),
            ("type", ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64"),
        ],
        section: "9.7.10.12",
        op: Operation::Store,
        since: ptx(8, 7),
        check: Some(mmio),
        sm: 100,
        ..BULK
    },
    Row {
        syntax: "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
        sets: &[CLUSTER, OP, ("type", ".b32 .u32 .s32 .u64")],
        section: "9.7.15.7",
        since: ptx(8, 1),
        check: Some(shared_reduction),
        sem: Sem::Ops(reduce),
        ..BULK
    },
    Row {
        syntax: "red.async{.mmio}.release.scope{.global}.add.type [a], b",
        sets: &[("scope", ".gpu .sys"), ("type", ".u32 .s32 .u64 .s64")],
        section: "9.7.15.7",
        since: ptx(8, 7),
        check: Some(mmio),
        sm: 100,
        ..BULK
    },
];

/// Memory-mapped stores and reductions are visible to the whole system.
fn mmio(m: &Match) -> Result<(), String> {
    if m.has(".mmio") && m.get("scope") == Some(".gpu") {
        Err("`.mmio` needs scope `.sys`".into())
    } else {
        Ok(())
    }
}

/// Operations and types of reductions into shared memory.
fn shared_reduction(m: &Match) -> Result<(), String> {
    let legal: &[Ty] = match m.get("op") {
        Some(".add") => &[Ty::U32, Ty::S32, Ty::U64],
        Some(".min" | ".max") => &[Ty::U32, Ty::S32],
        Some(".inc" | ".dec") => &[Ty::U32],
        _ => &[Ty::B32],
    };
    combination(m, legal)
}

/// Operations and types of reductions into global memory.
fn global_reduction(m: &Match) -> Result<(), String> {
    let legal: &[Ty] = match m.get("op") {
        Some(".add") => &[Ty::U32, Ty::S32, Ty::U64, Ty::F32, Ty::F64],
        Some(".min" | ".max") => &[Ty::U32, Ty::S32, Ty::U64, Ty::S64, Ty::F16, Ty::Bf16],
        Some(".inc" | ".dec") => &[Ty::U32],
        _ => &[Ty::B32, Ty::B64],
    };
    combination(m, legal)
}

fn combination(m: &Match, legal: &[Ty]) -> Result<(), String> {
    match m.ty("type") {
        Some(t) if !legal.contains(&t) => {
            Err(format!("reduction `{}` does not take type `{t}`", m.get("op").unwrap_or("")))
        }
        _ => Ok(()),
    }
}

fn sixteen_bytes(m: &Match) -> Result<(), String> {
    if m.get("vec") == Some(".v4") && m.ty("type").is_some_and(|t| t.bits() == 64) {
        Err("vectors hold at most 16 bytes".into())
    } else {
        Ok(())
    }
}

fn at(x: &mut Cx, name: &str) -> V {
    let a: Addr = x.addr(name);
    absolute(x, a)
}

fn slot(x: &Cx, name: &str) -> bool {
    x.m.shape.slots.iter().any(|s| s.name == name) && x.given(name)
}

fn small(x: &mut Cx) {
    let bytes = x.imm("n") as u32;
    let legal: &[u32] = if x.has(".cg") { &[16] } else { &[4, 8, 16] };
    if !legal.contains(&bytes) {
        x.refuse(format!("`cp.async` of {bytes} bytes: the size must be one of {legal:?}"));
        return;
    }
    let ignore = slot(x, "ignore");
    let size = if slot(x, "size") { x.rd("size") } else { V::w(bytes) };
    let mut src = vec![at(x, "a"), at(x, "b"), size];
    if ignore {
        src.push(x.rd("ignore"));
    }
    let k = [bytes, u32::from(ignore), 0, 0];
    x.warp("cp.async", async_copy::copy_small, k, &src, &[]);
}

/// Spaces to and from of a bulk operation.
fn spaces(x: &Cx) -> [u32; 2] {
    let pair = if x.has(".bulk_group") {
        [Space::Global, Space::Shared]
    } else if x.has(".global") {
        let to = if x.has(".shared::cta") { Space::Shared } else { Space::SharedCluster };
        [to, Space::Global]
    } else {
        [Space::SharedCluster, Space::Shared]
    };
    pair.map(space_code)
}

fn bulk_operands(x: &mut Cx) -> (Vec<V>, u32) {
    let mut flags = 0;
    let mut src = vec![at(x, "a"), at(x, "b"), x.rd("size")];
    if slot(x, "mbar") {
        flags |= bulk_flag::MBARRIER;
        src.push(at(x, "mbar"));
    }
    if slot(x, "mask") {
        flags |= if x.has(".cp_mask") { bulk_flag::MASK } else { bulk_flag::MULTICAST };
        src.push(x.rd("mask"));
    }
    (src, flags)
}

fn bulk(x: &mut Cx) {
    let [to, from] = spaces(x);
    let (src, flags) = bulk_operands(x);
    x.warp("cp.async.bulk", async_copy::copy_bulk, [to, from, flags, 0], &src, &[]);
}

fn bulk_reduce(x: &mut Cx) {
    let [to, from] = spaces(x);
    let (src, flags) = bulk_operands(x);
    let op = Reduce::parse(x.get("op")).unwrap_or(Reduce::Add);
    let what = async_copy::pack_reduce(op, x.ty_of("type"));
    x.warp("cp.reduce.async.bulk", async_copy::reduce_bulk, [to, from, flags, what], &src, &[]);
}

fn store(x: &mut Cx) {
    let bytes = x.ty_of("type").bytes();
    let mut src = vec![at(x, "a"), at(x, "mbar")];
    src.extend(x.rd_vec("b"));
    let k = [bytes, src.len() as u32 - 2, space_code(space(x)), 0];
    x.warp("st.async", async_copy::store, k, &src, &[]);
}

fn reduce(x: &mut Cx) {
    let op = Reduce::parse(x.get("op")).unwrap_or(Reduce::Add);
    let k = [async_copy::pack_reduce(op, x.ty_of("type")), space_code(space(x)), 0, 0];
    let src = [at(x, "a"), at(x, "mbar"), x.rd("b")];
    x.warp("red.async", async_copy::reduce, k, &src, &[]);
}
