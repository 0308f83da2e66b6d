//! Tensor copies as PTX 9.4 has them for sm_107: properties of the map given anew, reports, masks of 32 bits.

use super::async_copy::{BULK, MULTICAST, OP, REPORT};
use super::tensor_copy::{
    CTA_GROUP, IM2COL, TENSOR, TILE, coordinates, dimensions, load, prefetch, reduce, store,
};
use crate::matched::Match;
use crate::row::{Exactness, Row, Sem};
use crate::types::ptx;

const NEWER: Row = Row {
    does: "Starts a copy of a box between a tensor and shared memory.",
    section: "9.7.10.28.5.3",
    since: ptx(9, 4),
    targets: "sm_107f",
    floors: TENSOR,
    counts: Some(parts),
    check: Some(overridden),
    exact: Exactness::Manual,
    ..BULK
};
const LOAD: Row = Row { sem: Sem::Ops(load), ..NEWER };
const STORE: Row = Row { sem: Sem::Ops(store), ..NEWER };
const REDUCE: Row = Row {
    does: "Starts a reduction of a box in shared memory into a tensor.",
    section: "9.7.10.28.5.4",
    sem: Sem::Ops(reduce),
    ..NEWER
};
const PREFETCH: Row = Row {
    does: "Starts to bring a box of a tensor into the L2 cache.",
    section: "9.7.10.28.5.5",
    sem: Sem::Ops(prefetch),
    ..NEWER
};
const PRIORITY: Row = Row {
    does: "Gives a box of a tensor the normal eviction priority; a hint.",
    section: "9.7.10.19",
    sem: Sem::Ops(|_| {}),
    ..NEWER
};
const DIM: (&str, &str) = ("dim", ".1d .2d .3d .4d .5d");
const TO: (&str, &str) = ("to", ".shared::cluster .shared::cta");
const STORED: (&str, &str) = ("load", ".tile .tile::scatter4 .im2col_no_offs .im2col_no_offs::w");
const SUMMED: (&str, &str) = ("load", ".tile .im2col_no_offs .im2col_no_offs::w");

/// Loads, by whether there is a report, and what of the map is given anew.
macro_rules! loads {
    ($report:literal, $override:literal, $given:literal) => {
        [
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.to.global{.load}.mbarrier::complete_tx::bytes{.scope}{.cta_group}",
                    $report, "{.L2::cache_hint}", $override,
                    " [~a], [map", $given, ", b*!:.b32], [~mbar]{, policy:.u64}"
                ),
                sets: &[DIM, TO, CTA_GROUP, TILE, REPORT],
                ..LOAD
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.to.global.load.mbarrier::complete_tx::bytes{.scope}{.cta_group}",
                    $report, "{.L2::cache_hint}", $override,
                    " [~a], [map", $given, ", b*!:.b32], [~mbar], im2col*!:.b16{, policy:.u64}"
                ),
                sets: &[DIM, TO, CTA_GROUP, IM2COL, REPORT],
                ..LOAD
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.scope}.multicast{.cta_group}",
                    $report, "{.L2::cache_hint}", $override,
                    " [~a], [map", $given, ", b*!:.b32], [~mbar], mask=0..65535:.b16{, policy:.u64}"
                ),
                sets: &[DIM, MULTICAST, CTA_GROUP, TILE, REPORT],
                ..LOAD
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.scope}.multicast{.cta_group}",
                    $report, "{.L2::cache_hint}", $override,
                    " [~a], [map", $given, ", b*!:.b32], [~mbar], im2col*!:.b16, mask=0..65535:.b16{, policy:.u64}"
                ),
                sets: &[DIM, MULTICAST, CTA_GROUP, IM2COL, REPORT],
                ..LOAD
            },
        ]
    };
}

/// Loads into the blocks of a mask of 32 bits.
macro_rules! wide_masks {
    ($override:literal, $given:literal) => {
        [
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.scope}",
                    ".multicast::cluster::32b{.cta_group}{.report}{.L2::cache_hint}", $override,
                    " [~a], [map", $given, ", b*!:.b32], [~mbar], mask:.u32{, policy:.u64}"
                ),
                sets: &[DIM, CTA_GROUP, TILE, REPORT],
                ..LOAD
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.scope}",
                    ".multicast::cluster::32b{.cta_group}{.report}{.L2::cache_hint}", $override,
                    " [~a], [map", $given, ", b*!:.b32], [~mbar], im2col*!:.b16, mask:.u32{, policy:.u64}"
                ),
                sets: &[DIM, CTA_GROUP, IM2COL, REPORT],
                ..LOAD
            },
        ]
    };
}

/// What does not load, with properties of the map given anew.
macro_rules! others {
    ($override:literal, $given:literal) => {
        [
            Row {
                syntax: concat!(
                    "cp.async.bulk.tensor.dim.global.shared::cta{.load}.bulk_group{.scope}{.L2::cache_hint}", $override,
                    " [map", $given, ", b*!:.b32], [~a]{, policy:.u64}"
                ),
                sets: &[DIM, STORED],
                ..STORE
            },
            Row {
                syntax: concat!(
                    "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.load}.bulk_group{.scope}{.L2::cache_hint}", $override,
                    " [map", $given, ", b*!:.b32], [~a]{, policy:.u64}"
                ),
                sets: &[DIM, OP, SUMMED],
                ..REDUCE
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.prefetch.tensor.dim.L2.global{.load}{.L2::cache_hint}", $override,
                    " [map", $given, ", b*!:.b32]{, policy:.u64}"
                ),
                sets: &[DIM, TILE],
                ..PREFETCH
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.prefetch.tensor.dim.L2.global.load{.L2::cache_hint}", $override,
                    " [map", $given, ", b*!:.b32], im2col*!:.b16{, policy:.u64}"
                ),
                sets: &[DIM, IM2COL],
                ..PREFETCH
            },
        ]
    };
}

/// Prefetches that say what stays, and priorities.
macro_rules! priorities {
    ($override:literal, $given:literal) => {
        [
            Row {
                syntax: concat!(
                    "cp.async.bulk.prefetch.tensor.dim.L2.global{.load}.L2::evict_last", $override,
                    " [map", $given, ", b*!:.b32]"
                ),
                sets: &[DIM, TILE],
                ..PREFETCH
            },
            Row {
                syntax: concat!(
                    "cp.async.bulk.prefetch.tensor.dim.L2.global.load.L2::evict_last", $override,
                    " [map", $given, ", b*!:.b32], im2col*!:.b16"
                ),
                sets: &[DIM, IM2COL],
                ..PREFETCH
            },
            Row {
                syntax: concat!(
                    "applypriority.async.bulk.tensor.dim{.global}{.load}.bulk_group.L2::evict_normal", $override,
                    " [map", $given, ", b*!:.b32]"
                ),
                sets: &[DIM, TILE],
                ..PRIORITY
            },
            Row {
                syntax: concat!(
                    "applypriority.async.bulk.tensor.dim{.global}.load.bulk_group.L2::evict_normal", $override,
                    " [map", $given, ", b*!:.b32], im2col*!:.b16"
                ),
                sets: &[DIM, IM2COL],
                ..PRIORITY
            },
        ]
    };
}

/// Rows of this family, by what of the map is given anew.
pub static ROWS: [&[Row]; 15] = [
    &loads!(".report", "", ""),
    &loads!("{.report}", ".override::global_address", ", base:.u64"),
    &loads!(
        "{.report}",
        ".override::global_address.override::global_dim",
        ", base:.u64, sizes*!:.b16"
    ),
    &loads!(
        "{.report}",
        ".override::global_address.override::global_dim_stride",
        ", base:.u64, sizes*!:.b16, strides*!:.b32, upper:.b16"
    ),
    &wide_masks!("", ""),
    &wide_masks!(".override::global_address", ", base:.u64"),
    &wide_masks!(".override::global_address.override::global_dim", ", base:.u64, sizes*!:.b16"),
    &wide_masks!(
        ".override::global_address.override::global_dim_stride",
        ", base:.u64, sizes*!:.b16, strides*!:.b32, upper:.b16"
    ),
    &others!(".override::global_address", ", base:.u64"),
    &others!(".override::global_address.override::global_dim", ", base:.u64, sizes*!:.b16"),
    &others!(
        ".override::global_address.override::global_dim_stride",
        ", base:.u64, sizes*!:.b16, strides*!:.b32, upper:.b16"
    ),
    &priorities!("", ""),
    &priorities!(".override::global_address", ", base:.u64"),
    &priorities!(".override::global_address.override::global_dim", ", base:.u64, sizes*!:.b16"),
    &priorities!(
        ".override::global_address.override::global_dim_stride",
        ", base:.u64, sizes*!:.b16, strides*!:.b32, upper:.b16"
    ),
];

/// Elements of coordinates, offsets, and the sizes and strides that are given anew.
pub(super) fn parts(m: &Match, name: &str) -> u32 {
    let dim = coordinates(m, "b");
    match name {
        "sizes" => dim,
        "strides" => dim.saturating_sub(1),
        _ => coordinates(m, name),
    }
}

/// Sizes alone are given of a tensor of one dimension, with strides of a larger one, both for boxes only. Read off ptxas
/// 13.5.
pub(super) fn overridden(m: &Match) -> Result<(), String> {
    dimensions(m)?;
    let load = m.get("load");
    if load.is_some_and(|l| l.starts_with(".im2col")) && matches!(m.get("dim"), Some(".1d" | ".2d"))
    {
        return Err("im2col modes need a tensor of three dimensions or more".into());
    }
    let (size, strides) = (m.has(".override::global_dim"), m.has(".override::global_dim_stride"));
    if (size || strides) && !matches!(load, None | Some(".tile")) {
        return Err("sizes and strides are given anew for boxes only".into());
    }
    match m.get("dim") {
        Some(".1d") if strides => Err("a tensor of one dimension has no strides".into()),
        Some(dim) if size && dim != ".1d" => {
            Err("sizes without strides are given anew of a tensor of one dimension".into())
        }
        _ => Ok(()),
    }
}
