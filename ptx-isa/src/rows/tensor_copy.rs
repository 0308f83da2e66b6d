//! Tensor copies (PTX ISA 9.7.10.28.5): parsed and verified. Tensor maps are not modelled, so a
//! launch that reaches a copy is refused by name; prefetches are hints and do nothing.

use crate::matched::Match;
use crate::row::{Floor, Row, Sem, floor};
use crate::rows::async_copy::{BULK, MULTICAST, OP};
use crate::types::ptx;

const BLACKWELL: &str = "sm_100a sm_101a sm_103a sm_110a sm_100f sm_101f sm_103f sm_110f";
const TENSOR: &[Floor] = &[
    floor(".multicast::cluster::16b", ptx(9, 4), 90),
    Floor {
        tokens: ".tile::gather4 .tile::scatter4 .im2col::w .im2col::w::128 .cta_group::1 .cta_group::2",
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
    },
];
const CTA_GROUP: (&str, &str) = ("cta_group", ".cta_group::1 .cta_group::2");
const TILE: (&str, &str) = ("load", ".tile .tile::gather4");
const IM2COL: (&str, &str) = ("load", ".im2col .im2col::w .im2col::w::128");

const CP: Row = Row {
    does: "Starts a copy of a box between a tensor and shared memory.",
    section: "9.7.10.28.5.3",
    ..BULK
};
const CP_REDUCE: Row = Row {
    does: "Starts a reduction of a box in shared memory into a tensor.",
    section: "9.7.10.28.5.4",
    ..BULK
};
const CP_ASYNC: Row = Row {
    does: "Starts to bring a box of a tensor into the L2 cache.",
    section: "9.7.10.28.5.5",
    ..BULK
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.cta_group} [a], [map, b*!:.s32], [mbar]",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global{.load}.mbarrier::complete_tx::bytes{.cta_group} [a], [map, b*!:.s32], [mbar]",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.cta_group} [a], [map, b*!:.s32], [mbar], im2col*!:.b16",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global.load.mbarrier::complete_tx::bytes{.cta_group} [a], [map, b*!:.s32], [mbar], im2col*!:.b16",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes.multicast{.cta_group} [a], [map, b*!:.s32], [mbar], mask:.b16",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes.multicast{.cta_group} [a], [map, b*!:.s32], [mbar], im2col*!:.b16, mask:.b16",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.global.shared::cta{.load}.bulk_group [map, b*!:.s32], [a]",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), ("load", ".tile .tile::scatter4 .im2col_no_offs")],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.load}.bulk_group [map, b*!:.s32], [a]",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), OP, ("load", ".tile .im2col_no_offs")],
        counts: Some(coordinates),
        check: Some(dimensions),
        ..CP_REDUCE
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global{.load} [map, b*!:.s32]",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global.load [map, b*!:.s32], im2col*!:.b16",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.cta_group}.L2::cache_hint [a], [map, b*!:.s32], [mbar], policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global{.load}.mbarrier::complete_tx::bytes{.cta_group}.L2::cache_hint [a], [map, b*!:.s32], [mbar], policy:.b64",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.cta_group}.L2::cache_hint [a], [map, b*!:.s32], [mbar], im2col*!:.b16, policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global.load.mbarrier::complete_tx::bytes{.cta_group}.L2::cache_hint [a], [map, b*!:.s32], [mbar], im2col*!:.b16, policy:.b64",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes.multicast{.cta_group}.L2::cache_hint [a], [map, b*!:.s32], [mbar], mask:.b16, policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes.multicast{.cta_group}.L2::cache_hint [a], [map, b*!:.s32], [mbar], im2col*!:.b16, mask:.b16, policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.global.shared::cta{.load}.bulk_group.L2::cache_hint [map, b*!:.s32], [a], policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), ("load", ".tile .tile::scatter4 .im2col_no_offs")],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.load}.bulk_group.L2::cache_hint [map, b*!:.s32], [a], policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), OP, ("load", ".tile .im2col_no_offs")],
        counts: Some(coordinates),
        check: Some(dimensions),
        ..CP_REDUCE
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global{.load}.L2::cache_hint [map, b*!:.s32], policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global.load.L2::cache_hint [map, b*!:.s32], im2col*!:.b16, policy:.b64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(|_| {}),
        ..CP_ASYNC
    },
];

/// Elements of a tensor copy's coordinate and im2col vectors.
fn coordinates(m: &Match, name: &str) -> u32 {
    let dim = m.get("dim").and_then(|d| d[1..2].parse().ok()).unwrap_or(1);
    match (name, m.get("load")) {
        ("b", Some(".tile::gather4" | ".tile::scatter4")) => 5,
        ("b", _) => dim,
        (_, Some(".im2col")) => dim.saturating_sub(2),
        _ => 2,
    }
}

fn dimensions(m: &Match) -> Result<(), String> {
    match (m.get("load"), m.get("dim")) {
        (Some(".tile::gather4" | ".tile::scatter4"), Some(d)) if d != ".2d" => {
            Err("gathers and scatters of four rows take a tensor of two dimensions".into())
        }
        (Some(".im2col_no_offs"), _) => three_dimensions(m),
        _ => Ok(()),
    }
}

fn three_dimensions(m: &Match) -> Result<(), String> {
    match m.get("dim") {
        Some(".1d" | ".2d") => Err("im2col modes need a tensor of three dimensions or more".into()),
        _ => Ok(()),
    }
}
