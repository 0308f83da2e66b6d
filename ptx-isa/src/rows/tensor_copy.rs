//! Tensor copies (PTX ISA 9.7.10.28.5) over [`crate::tensor`].

use crate::async_copy::Reduce;
use crate::matched::Match;
use crate::matrix::run::space_code;
use crate::meaning::{Arg, Cx, V};
use crate::row::{Exactness, Floor, Row, Sem, floor};
use crate::rows::async_copy::{BULK, MULTICAST, OP, TO_CLUSTER, at, report};
use crate::tensor::copy::{self, flag};
use crate::types::ptx;
use crate::types::{Kind, Space};
use crate::uop::Op;

const BLACKWELL: &str = "sm_100a sm_101a sm_103a sm_110a sm_100f sm_101f sm_103f sm_110f";
pub(super) const TENSOR: &[Floor] = &[
    floor(".multicast::cluster::16b", ptx(9, 4), 90),
    Floor {
        tokens: ".tile::gather4 .tile::scatter4 .im2col::w .im2col::w::128 .cta_group::1 .cta_group::2",
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
    },
    Floor { tokens: ".im2col_no_offs::w", since: ptx(9, 4), sm: 100, targets: "sm_107f" },
];
/// Copies to the shared memory of the own block: gathers and `.im2col::w` need no single target there.
pub(super) const TENSOR_TO_OWN: &[Floor] = &[
    floor(".tile::gather4 .im2col::w", ptx(8, 6), 100),
    Floor {
        tokens: ".im2col::w::128 .cta_group::1 .cta_group::2",
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
    },
];
pub(super) const CTA_GROUP: (&str, &str) = ("cta_group", ".cta_group::1 .cta_group::2");
pub(super) const TILE: (&str, &str) = ("load", ".tile .tile::gather4");
pub(super) const IM2COL: (&str, &str) = ("load", ".im2col .im2col::w .im2col::w::128");

const EXACT: Exactness = Exactness::Recorded("tensor copies, H200");

const CP: Row = Row {
    does: "Starts a copy of a box between a tensor and shared memory.",
    section: "9.7.10.28.5.3",
    exact: EXACT,
    ..BULK
};
const CP_REDUCE: Row = Row {
    does: "Starts a reduction of a box in shared memory into a tensor.",
    section: "9.7.10.28.5.4",
    exact: EXACT,
    ..BULK
};
const CP_ASYNC: Row = Row {
    does: "Starts to bring a box of a tensor into the L2 cache.",
    section: "9.7.10.28.5.5",
    exact: EXACT,
    ..BULK
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.scope}{.cta_group} [~a], [map, b*!:.b32], [~mbar]",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global{.load}.mbarrier::complete_tx::bytes{.scope}{.cta_group} [~a], [map, b*!:.b32], [~mbar]",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR_TO_OWN,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.scope}{.cta_group} [~a], [map, b*!:.b32], [~mbar], im2col*!:.b16",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global.load.mbarrier::complete_tx::bytes{.scope}{.cta_group} [~a], [map, b*!:.b32], [~mbar], im2col*!:.b16",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR_TO_OWN,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.scope}.multicast{.cta_group} [~a], [map, b*!:.b32], [~mbar], mask=0..65535:.b16",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.scope}.multicast{.cta_group} [~a], [map, b*!:.b32], [~mbar], im2col*!:.b16, mask=0..65535:.b16",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.global.shared::cta{.load}.bulk_group{.scope} [map, b*!:.b32], [~a]",
        sets: &[
            ("dim", ".1d .2d .3d .4d .5d"),
            ("load", ".tile .tile::scatter4 .im2col_no_offs .im2col_no_offs::w"),
        ],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(store),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.load}.bulk_group{.scope} [map, b*!:.b32], [~a]",
        sets: &[
            ("dim", ".1d .2d .3d .4d .5d"),
            OP,
            ("load", ".tile .im2col_no_offs .im2col_no_offs::w"),
        ],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(reduce),
        ..CP_REDUCE
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global{.load} [map, b*!:.b32]",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(prefetch),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global.load [map, b*!:.b32], im2col*!:.b16",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(prefetch),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.scope}{.cta_group}.L2::cache_hint [~a], [map, b*!:.b32], [~mbar], policy:.u64",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global{.load}.mbarrier::complete_tx::bytes{.scope}{.cta_group}.L2::cache_hint [~a], [map, b*!:.b32], [~mbar], policy:.u64",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR_TO_OWN,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.scope}{.cta_group}.L2::cache_hint [~a], [map, b*!:.b32], [~mbar], im2col*!:.b16, policy:.u64",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cta.global.load.mbarrier::complete_tx::bytes{.scope}{.cta_group}.L2::cache_hint [~a], [map, b*!:.b32], [~mbar], im2col*!:.b16, policy:.u64",
        since: ptx(8, 6),
        sets: &[("dim", ".1d .2d .3d .4d .5d"), CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR_TO_OWN,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global{.load}.mbarrier::complete_tx::bytes{.scope}.multicast{.cta_group}.L2::cache_hint [~a], [map, b*!:.b32], [~mbar], mask=0..65535:.b16, policy:.u64",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.shared::cluster.global.load.mbarrier::complete_tx::bytes{.scope}.multicast{.cta_group}.L2::cache_hint [~a], [map, b*!:.b32], [~mbar], im2col*!:.b16, mask=0..65535:.b16, policy:.u64",
        addresses: TO_CLUSTER,
        sets: &[("dim", ".1d .2d .3d .4d .5d"), MULTICAST, CTA_GROUP, IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(load),
        ..CP
    },
    Row {
        syntax: "cp.async.bulk.tensor.dim.global.shared::cta{.load}.bulk_group{.scope}.L2::cache_hint [map, b*!:.b32], [~a], policy:.u64",
        sets: &[
            ("dim", ".1d .2d .3d .4d .5d"),
            ("load", ".tile .tile::scatter4 .im2col_no_offs .im2col_no_offs::w"),
        ],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(store),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.load}.bulk_group{.scope}.L2::cache_hint [map, b*!:.b32], [~a], policy:.u64",
        sets: &[
            ("dim", ".1d .2d .3d .4d .5d"),
            OP,
            ("load", ".tile .im2col_no_offs .im2col_no_offs::w"),
        ],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(reduce),
        ..CP_REDUCE
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global{.load}.L2::cache_hint [map, b*!:.b32], policy:.u64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), TILE],
        counts: Some(coordinates),
        check: Some(dimensions),
        floors: TENSOR,
        sem: Sem::Ops(prefetch),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.bulk.prefetch.tensor.dim.L2.global.load.L2::cache_hint [map, b*!:.b32], im2col*!:.b16, policy:.u64",
        sets: &[("dim", ".1d .2d .3d .4d .5d"), IM2COL],
        counts: Some(coordinates),
        check: Some(three_dimensions),
        floors: TENSOR,
        sem: Sem::Ops(prefetch),
        ..CP_ASYNC
    },
];

/// Elements of a tensor copy's coordinate and im2col vectors.
pub(super) fn coordinates(m: &Match, name: &str) -> u32 {
    let dim = m.get("dim").and_then(|d| d[1..2].parse().ok()).unwrap_or(1);
    match (name, m.get("load")) {
        ("b", Some(".tile::gather4" | ".tile::scatter4")) => 5,
        ("b", _) => dim,
        (_, Some(".im2col")) => dim.saturating_sub(2),
        _ => 2,
    }
}

pub(super) fn dimensions(m: &Match) -> Result<(), String> {
    match (m.get("load"), m.get("dim")) {
        (Some(".tile::gather4" | ".tile::scatter4"), Some(d)) if d != ".2d" => {
            Err("gathers and scatters of four rows take a tensor of two dimensions".into())
        }
        (Some(".im2col_no_offs" | ".im2col_no_offs::w"), _) => three_dimensions(m),
        _ => Ok(()),
    }
}

fn three_dimensions(m: &Match) -> Result<(), String> {
    match m.get("dim") {
        Some(".1d" | ".2d") => Err("im2col modes need a tensor of three dimensions or more".into()),
        _ => Ok(()),
    }
}

/// Flags, dimensions and number of offsets of an instruction, and its coordinates, offsets, mask, and what of the map it
/// gives anew.
fn place(x: &mut Cx, src: &mut Vec<V>) -> [u32; 3] {
    let mut flags = match x.m.get("load") {
        Some(".tile::gather4" | ".tile::scatter4") => flag::ROWS4,
        Some(".im2col" | ".im2col_no_offs") => flag::IM2COL,
        Some(".im2col::w" | ".im2col_no_offs::w") => flag::WIDE,
        Some(".im2col::w::128") => flag::WIDE | flag::WIDE128,
        _ => 0,
    };
    let dim = x.m.get("dim").and_then(|d| d[1..2].parse().ok()).unwrap_or(1);
    src.extend(x.rd_vec("b"));
    let has = |x: &Cx, name: &str| x.m.notation.slots.iter().any(|s| s.name == name);
    let mut offsets = 0;
    if has(x, "im2col") {
        let values = x.rd_vec("im2col");
        offsets = values.len() as u32;
        src.extend(values);
    }
    if has(x, "mask") {
        flags |= flag::MULTICAST;
        src.push(x.rd("mask"));
    }
    flags |= report(x) << flag::REPORT;
    for (name, given) in
        [("base", flag::BASE), ("sizes", flag::SIZES), ("strides", flag::STRIDES), ("upper", 0)]
    {
        if has(x, name) {
            flags |= given;
            src.extend(x.rd_vec(name));
        }
    }
    [flags, dim, offsets]
}

/// The address of the tensor map, which stands in brackets with the coordinates.
fn map(x: &mut Cx) -> V {
    if matches!(x.arg("map"), Arg::Addr(_)) {
        return at(x, "map");
    }
    let address = x.rd("map");
    if address.kind == Kind::W { x.op1(Op::ZextWD, address) } else { address }
}

pub(super) fn load(x: &mut Cx) {
    let mut src = vec![at(x, "a"), map(x), at(x, "mbar")];
    let [flags, dim, offsets] = place(x, &mut src);
    let to = if x.has(".shared::cta") { Space::Shared } else { Space::SharedCluster };
    let pair = if x.has(".cta_group::2") { copy::PAIR } else { 0 };
    let k = [flags, dim, offsets, space_code(to) | pair];
    x.warp("cp.async.bulk.tensor", copy::load, k, &src, &[]);
}

pub(super) fn store(x: &mut Cx) {
    let mut src = vec![at(x, "a"), map(x)];
    let [flags, dim, _] = place(x, &mut src);
    x.warp("cp.async.bulk.tensor", copy::store, [flags, dim, 0, 0], &src, &[]);
}

pub(super) fn reduce(x: &mut Cx) {
    let mut src = vec![at(x, "a"), map(x)];
    let [flags, dim, _] = place(x, &mut src);
    let op = Reduce::parse(x.get("op")).unwrap_or(Reduce::Add);
    x.warp("cp.reduce.async.bulk.tensor", copy::reduce, [flags, dim, 0, op as u32], &src, &[]);
}

pub(super) fn prefetch(x: &mut Cx) {
    let mut src = vec![V::d(0), map(x), V::d(0)];
    let [flags, dim, offsets] = place(x, &mut src);
    x.warp("cp.async.bulk.prefetch.tensor", copy::prefetch, [flags, dim, offsets, 0], &src, &[]);
}
