//! Bulk copies between memories (PTX ISA 9.7.10.28.4.1, 9.7.10.28.4.3, 9.7.10.28.6).

use super::async_copy::{
    BULK, MULTICAST, REPORT, TO_CLUSTER, at, bulk_operands, group, report, spaces, wait_group,
};
use crate::async_copy;
use crate::effect::{AsyncGroupOp, AsyncWork};
use crate::meaning::Cx;
use crate::row::{Exactness, Row, Sem};
use crate::types::ptx;

/// Targets whose clusters take relaxed copies. Read off ptxas 13.5.
const STRONG_CLUSTER: &str = "sm_90a sm_100f sm_110f";

const CP: Row = Row {
    does: "Starts a copy of a block of memory between global and shared memory.",
    section: "9.7.10.28.4.1",
    // Read off ptxas 13.5.
    check: Some(|m| {
        let both = m.has(".weak") && m.has(".b128");
        if both { Err("modifier .weak does not go with .b128".into()) } else { Ok(()) }
    }),
    ..BULK
};
/// Forms of PTX 9.4 for sm_107.
const NEWER: Row = Row {
    since: ptx(9, 4),
    targets: "sm_107f",
    exact: Exactness::Manual,
    sem: Sem::Ops(bulk),
    ..CP
};
const TO: (&str, &str) = ("to", ".shared::cluster .shared::cta");
const CP_ASYNC: Row = Row {
    does: "Starts to bring a block of global memory into the L2 cache.",
    section: "9.7.10.28.4.3",
    ..BULK
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes{.b128} [a], [b], size=%16:.u32, [mbar]",
        addresses: TO_CLUSTER,
        sets: &[],
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes{.b128} [a], [b], size=%16:.u32, [mbar]",
        since: ptx(8, 6),
        sets: &[],
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast{.b128} [a], [b], size=%16:.u32, [mbar], mask=0..65535:.b16",
        addresses: TO_CLUSTER,
        sets: &[MULTICAST],
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob{.b128} [a], [b], size=%16:.u32, left=0..15:.u32, right=0..15:.u32, [mbar]",
        since: ptx(9, 2),
        sem: Sem::Ops(bulk_inner),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group{.b128} [a], [b], size=%16:.u32",
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask{.b128} [a], [b], size=%16:.u32, mask:.b16",
        sem: Sem::Ops(bulk),
        since: ptx(8, 6),
        sm: 100,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint{.b128} [a], [b], size=%16:.u32, [mbar], policy:.u64",
        addresses: TO_CLUSTER,
        sets: &[],
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint{.b128} [a], [b], size=%16:.u32, [mbar], policy:.u64",
        since: ptx(8, 6),
        sets: &[],
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.L2::cache_hint{.b128} [a], [b], size=%16:.u32, [mbar], mask=0..65535:.b16, policy:.u64",
        addresses: TO_CLUSTER,
        sets: &[MULTICAST],
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.ignore_oob{.b128} [a], [b], size=%16:.u32, left=0..15:.u32, right=0..15:.u32, [mbar], policy:.u64",
        since: ptx(9, 2),
        sem: Sem::Ops(bulk_inner),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group.L2::cache_hint{.b128} [a], [b], size=%16:.u32, policy:.u64",
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.global.shared::cta.bulk_group.L2::cache_hint.cp_mask{.b128} [a], [b], size=%16:.u32, policy:.u64, mask:.b16",
        sem: Sem::Ops(bulk),
        since: ptx(8, 6),
        sm: 100,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.b128} [a], [b], size=%16:.u32, [mbar]",
        sem: Sem::Ops(bulk),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.b128 [a], [b], size=%16:.u32, [mbar]",
        addresses: TO_CLUSTER,
        targets: STRONG_CLUSTER,
        sets: &[],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.b128 [a], [b], size=%16:.u32, [mbar]",
        sets: &[],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.b128 [a], [b], size=%16:.u32, [mbar], mask=0..65535:.b16",
        addresses: TO_CLUSTER,
        targets: STRONG_CLUSTER,
        sets: &[MULTICAST],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.b128 [a], [b], size=%16:.u32, left=0..15:.u32, right=0..15:.u32, [mbar]",
        since: ptx(9, 3),
        sem: Sem::Ops(bulk_inner),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.b128 [a], [b], size=%16:.u32",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.cp_mask.b128 [a], [b], size=%16:.u32, mask:.b16",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        sm: 100,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint.b128 [a], [b], size=%16:.u32, [mbar], policy:.u64",
        addresses: TO_CLUSTER,
        targets: STRONG_CLUSTER,
        sets: &[],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.b128 [a], [b], size=%16:.u32, [mbar], policy:.u64",
        sets: &[],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.L2::cache_hint.b128 [a], [b], size=%16:.u32, [mbar], mask=0..65535:.b16, policy:.u64",
        addresses: TO_CLUSTER,
        targets: STRONG_CLUSTER,
        sets: &[MULTICAST],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.ignore_oob.b128 [a], [b], size=%16:.u32, left=0..15:.u32, right=0..15:.u32, [mbar], policy:.u64",
        since: ptx(9, 3),
        sem: Sem::Ops(bulk_inner),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.b128 [a], [b], size=%16:.u32, policy:.u64",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.cp_mask.b128 [a], [b], size=%16:.u32, policy:.u64, mask:.b16",
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        sm: 100,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [a], [b], size=%16:.u32, [mbar]",
        sets: &[("scope", ".cta .cluster")],
        sem: Sem::Ops(bulk),
        since: ptx(9, 3),
        ..CP
    },
    // What is newer: masks of 32 bits, and reports about values that are not valid.
    Row {
        syntax: "cp.async.bulk{.weak}.to.global.mbarrier::complete_tx::bytes.report{.L2::cache_hint}{.b128} [a], [b], size=%16:.u32, [mbar]{, policy:.u64}",
        sets: &[TO, REPORT],
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.to.global.mbarrier::complete_tx::bytes.report{.L2::cache_hint}.b128 [a], [b], size=%16:.u32, [mbar]{, policy:.u64}",
        sets: &[TO, REPORT],
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.report{.L2::cache_hint}{.b128} [a], [b], size=%16:.u32, [mbar], mask=0..65535:.b16{, policy:.u64}",
        addresses: TO_CLUSTER,
        sets: &[MULTICAST, REPORT],
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b{.report}{.L2::cache_hint}{.b128} [a], [b], size=%16:.u32, [mbar], mask:.u32{, policy:.u64}",
        addresses: TO_CLUSTER,
        sets: &[REPORT],
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.report{.L2::cache_hint}.b128 [a], [b], size=%16:.u32, [mbar], mask=0..65535:.b16{, policy:.u64}",
        addresses: TO_CLUSTER,
        sets: &[MULTICAST, REPORT],
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b{.report}{.L2::cache_hint}.b128 [a], [b], size=%16:.u32, [mbar], mask:.u32{, policy:.u64}",
        addresses: TO_CLUSTER,
        sets: &[REPORT],
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.mbarrier::report::disabled{.L2::cache_hint}{.b128} [a], [b], size=%16:.u32, left=0..15:.u32, right=0..15:.u32, [mbar]{, policy:.u64}",
        sem: Sem::Ops(bulk_inner),
        ..NEWER
    },
    Row {
        syntax: "cp.async.bulk.prefetch.L2.global.L2::evict_last [a], size=%16:.u32",
        since: ptx(9, 4),
        targets: "sm_107f",
        exact: Exactness::Manual,
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.prefetch.L2.global [a], size=%16:.u32",
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.prefetch.L2.global.L2::cache_hint [a], size=%16:.u32, policy:.u64",
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.commit_group",
        does: "Closes the bulk group of the copies that this thread has started.",
        section: "9.7.10.28.6.1",
        sem: Sem::Ops(|x| group(x, AsyncWork::BulkCopies, AsyncGroupOp::Commit)),
        ..BULK
    },
    Row {
        syntax: "cp.async.bulk.wait_group{.read} #n:.u32",
        does: "Waits until bulk groups of this thread are complete.",
        section: "9.7.10.28.6.2",
        sem: Sem::Ops(|x| wait_group(x, AsyncWork::BulkCopies)),
        ..BULK
    },
];

pub(super) fn bulk(x: &mut Cx) {
    let [to, from] = spaces(x);
    let (src, flags) = bulk_operands(x);
    let k = [to, from, flags, report(x)];
    x.warp("cp.async.bulk", async_copy::copy_bulk, k, &src, &[]);
}

/// A copy that leaves bytes at both ends of the source unread.
fn bulk_inner(x: &mut Cx) {
    let [to, from] = spaces(x);
    let src = [at(x, "a"), at(x, "b"), x.rd("size"), at(x, "mbar"), x.rd("left"), x.rd("right")];
    x.warp("cp.async.bulk", async_copy::copy_inner, [to, from, 0, 0], &src, &[]);
}
