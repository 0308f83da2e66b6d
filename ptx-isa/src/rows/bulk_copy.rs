//! Bulk copies between memories (PTX ISA 9.7.10.28.4.1, 9.7.10.28.4.3, 9.7.10.28.6).

use super::async_copy::{BULK, MULTICAST, bulk_operands, spaces};
use crate::async_copy;
use crate::meaning::Cx;
use crate::row::{Row, Sem};
use crate::types::ptx;

/// The same with byte masks.
const STRONG_100: &str = "sm_100f sm_100a sm_103f sm_103a sm_107f sm_107a sm_110f sm_110a";

/// Rows of this family.
pub static ROWS: &[Row] = &[
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
];

fn bulk(x: &mut Cx) {
    let [to, from] = spaces(x);
    let (src, flags) = bulk_operands(x);
    x.warp("cp.async.bulk", async_copy::copy_bulk, [to, from, flags, 0], &src, &[]);
}
