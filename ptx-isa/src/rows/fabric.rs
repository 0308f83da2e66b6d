//! Operations on the memory of other GPUs over NVLink (PTX ISA 9.7.11.5).
//!
//! There is one device here and no logical endpoint, so none of them runs. What submits and awaits them has nothing to
//! submit and nothing to wait for.

use super::async_copy::{BULK, combination};
use super::tensor_newer::{overridden, parts};
use crate::class;
use crate::matched::Match;
use crate::row::{Exactness, Reach, Row, Sem};
use crate::types::{Ty, ptx};

const F: Row = Row {
    does: "Starts an operation on the memory behind a logical endpoint of the fabric.",
    since: ptx(9, 3),
    sm: 100,
    floors: &[],
    exact: Exactness::Manual,
    sem: Sem::Ops(|x| {
        x.refuse(
            "there are no logical endpoints of a fabric here, so its operations are not executed",
        );
    }),
    ..BULK
};
const GET: Row = Row { section: "9.7.11.5.1", check: Some(ordered), ..F };
const PUT: Row = Row { section: "9.7.11.5.2", check: Some(ordered), ..F };
const RED: Row = Row { section: "9.7.11.5.3", check: Some(reduction), ..F };
const PULL: Row = Row { section: "9.7.11.5.4", check: Some(pulled), ..F };
/// Copies and reductions of boxes of tensors.
const TENSOR: Row = Row {
    does: "Starts an operation on a box of a tensor behind a logical endpoint of the fabric.",
    since: ptx(9, 4),
    targets: "sm_107f",
    counts: Some(parts),
    check: Some(|m| ordered(m).and_then(|()| overridden(m))),
    ..F
};
const CONTROL: Row = Row { class: class::fence, reach: Reach::Lane, sem: Sem::Ops(|_| {}), ..F };
const DIM: (&str, &str) = ("dim", ".1d .2d .3d .4d .5d");
const BIT: &str = ".and .or .xor .min .max .add";

/// The operand lists of tensors: what of the map is given anew stands in the brackets.
macro_rules! tensors {
    ($override:literal, $given:literal) => {
        [
            Row {
                syntax: concat!(
                    "fabric.try_get.async.tensor.dim.shared::cta{.tile}.mbarrier::complete_tx::bytes",
                    ".mbarrier::report::fabric{.L2::cache_hint}",
                    $override,
                    "{.relaxed}{.sys}.b128 [~a], [map:.b64, id:.u32, base:.u64",
                    $given,
                    ", b*!:.s32], [~mbar]{, policy:.u64}"
                ),
                sets: &[DIM],
                section: "9.7.11.5.7",
                ..TENSOR
            },
            Row {
                syntax: concat!(
                    "fabric.try_put.async.tensor{.multimem}.dim.shared::cta{.tile}.mbarrier::complete_tx::16B",
                    ".mbarrier::report::fabric{.L2::cache_hint}",
                    $override,
                    "{.relaxed}{.sys}.b128 [map:.b64, id:.u32, base:.u64",
                    $given,
                    ", b*!:.s32], [~a], size:.u32, [~mbar]{, policy:.u64}"
                ),
                sets: &[DIM],
                section: "9.7.11.5.8",
                ..TENSOR
            },
            Row {
                syntax: concat!(
                    "fabric.try_put.async.tensor{.multimem}.dim.shared::cta{.tile}.mbarrier::complete_tx::16B",
                    ".mbarrier::report::fabric.counted::bytes{.L2::cache_hint}",
                    $override,
                    "{.relaxed}{.sys}.b128 [map:.b64, id:.u32, base:.u64, counter:.u64",
                    $given,
                    ", b*!:.s32], [~a], size:.u32, [~mbar]{, policy:.u64}"
                ),
                sets: &[DIM],
                section: "9.7.11.5.8",
                ..TENSOR
            },
            Row {
                syntax: concat!(
                    "fabric.try_red.async.tensor{.multimem}.dim.shared::cta{.tile}.mbarrier::complete_tx::16B",
                    ".mbarrier::report::fabric{.L2::cache_hint}",
                    $override,
                    "{.relaxed}{.sys}.op [map:.b64, id:.u32, base:.u64",
                    $given,
                    ", b*!:.s32], [~a], size:.u32, [~mbar]{, policy:.u64}"
                ),
                sets: &[DIM, ("op", BIT)],
                section: "9.7.11.5.9",
                ..TENSOR
            },
            Row {
                syntax: concat!(
                    "fabric.try_red.async.tensor{.multimem}.dim.shared::cta{.tile}.mbarrier::complete_tx::16B",
                    ".mbarrier::report::fabric.counted::bytes{.L2::cache_hint}",
                    $override,
                    "{.relaxed}{.sys}.op [map:.b64, id:.u32, base:.u64, counter:.u64",
                    $given,
                    ", b*!:.s32], [~a], size:.u32, [~mbar]{, policy:.u64}"
                ),
                sets: &[DIM, ("op", BIT)],
                section: "9.7.11.5.9",
                ..TENSOR
            },
        ]
    };
}

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.L2::cache_hint}{.relaxed}{.sys}.b128 [~a], [id:.u32, base:.u64], size:.u32, [~mbar]{, policy:.u64}",
        ..GET
    },
    Row {
        syntax: "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.L2::cache_hint}{.relaxed}{.sys}.b128 [id:.u32, base:.u64], [~a], size:.u32, [~mbar]{, policy:.u64}",
        ..PUT
    },
    Row {
        syntax: "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.L2::cache_hint}.cp_mask{.relaxed}{.sys}.b128 [id:.u32, base:.u64], [~a], size:.u32, [~mbar], mask:.b16{, policy:.u64}",
        ..PUT
    },
    Row {
        syntax: "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.L2::cache_hint}{.relaxed}{.sys}.b128 [id:.u32, base:.u64, counter:.u64], [~a], size:.u32, [~mbar]{, policy:.u64}",
        ..PUT
    },
    Row {
        syntax: "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.L2::cache_hint}{.relaxed}{.sys}.op.type [id:.u32, base:.u64], [~a], size:.u32, [~mbar]{, policy:.u64}",
        sets: &[("op", BIT), REDUCED],
        ..RED
    },
    Row {
        syntax: "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.L2::cache_hint}{.relaxed}{.sys}.op.type [id:.u32, base:.u64, counter:.u64], [~a], size:.u32, [~mbar]{, policy:.u64}",
        sets: &[("op", BIT), REDUCED],
        ..RED
    },
    Row {
        syntax: "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.op.type.sync [~a], [id:.u32, base:.u64], size:.u32, [~mbar], #members=-1|4294967295:.b32",
        sets: &[("op", BIT), ("type", ".b32 .b64 .u32 .s32 .u64 .s64 .f16 .bf16 .f32")],
        ..PULL
    },
    Row {
        syntax: "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.add.acc::f32.type.sync [~a], [id:.u32, base:.u64], size:.u32, [~mbar], #members=-1|4294967295:.b32",
        sets: &[("type", ".f16 .bf16")],
        targets: "sm_100f sm_110f sm_120f",
        check: Some(ordered),
        ..PULL
    },
    Row {
        syntax: "fabric.try_atom.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.L2::cache_hint}.relaxed.sys.op.type [id:.u32, base:.u64], [~a], [~b], [~mbar]{, policy:.u64}",
        sets: &[
            ("op", ".and .or .xor .min .max .add .exch .cas"),
            ("type", ".b32 .b64 .b128 .u32 .s32 .u64 .s64 .f16x2 .bf16x2 .f32 .f64"),
        ],
        since: ptx(9, 4),
        section: "9.7.11.5.10",
        check: Some(atomic),
        ..F
    },
    Row {
        syntax: "fabric.submit{.op_restrict::fetching}",
        does: "Submits the operations on the fabric that this thread has started.",
        section: "9.7.11.5.5",
        ..CONTROL
    },
    Row {
        syntax: "fabric.wait.sync_restrict::reads",
        does: "Waits until operations on the fabric have read what they send.",
        section: "9.7.11.5.6",
        ..CONTROL
    },
    Row {
        syntax: "fabric.wait.sync_restrict::reads #n:.u32",
        does: "Waits until operations on the fabric have read what they send.",
        section: "9.7.11.5.6",
        ..CONTROL
    },
];

/// Those on tensors, by what of the map is given anew.
pub static TENSOR_ROWS: [&[Row]; 3] = [
    &tensors!(".override::global_address", ""),
    &tensors!(".override::global_address.override::global_dim", ", sizes*!:.b16"),
    &tensors!(
        ".override::global_address.override::global_dim_stride",
        ", sizes*!:.b16, strides*!:.b32, upper:.b16"
    ),
];

const REDUCED: (&str, &str) = ("type", ".b32 .b64 .u32 .s32 .u64 .s64 .f16 .bf16 .f32 .f64");
const BITS: &[Ty] = &[Ty::B32, Ty::B64];
const EXTREMES: &[Ty] = &[Ty::U32, Ty::S32, Ty::U64, Ty::S64, Ty::F16, Ty::Bf16];

/// Whose order is named has a scope. Read off ptxas 13.5.
fn ordered(m: &Match) -> Result<(), String> {
    if m.has(".relaxed") && !m.has(".sys") {
        return Err("`.relaxed` needs the scope `.sys`".into());
    }
    Ok(())
}

fn reduction(m: &Match) -> Result<(), String> {
    ordered(m)?;
    combination(
        m,
        match m.get("op") {
            Some(".and" | ".or" | ".xor") => BITS,
            Some(".add") => &[Ty::U32, Ty::U64, Ty::F16, Ty::Bf16, Ty::F32, Ty::F64],
            _ => EXTREMES,
        },
    )
}

fn pulled(m: &Match) -> Result<(), String> {
    ordered(m)?;
    combination(
        m,
        match m.get("op") {
            Some(".and" | ".or" | ".xor") => BITS,
            Some(".add") => &[Ty::U32, Ty::U64, Ty::F16, Ty::Bf16, Ty::F32],
            _ => EXTREMES,
        },
    )
}

fn atomic(m: &Match) -> Result<(), String> {
    ordered(m)?;
    combination(
        m,
        match m.get("op") {
            Some(".and" | ".or" | ".xor") => BITS,
            Some(".exch" | ".cas") => &[Ty::B32, Ty::B64, Ty::B128],
            Some(".add") => &[Ty::U32, Ty::U64, Ty::F16x2, Ty::Bf16x2, Ty::F32, Ty::F64],
            _ => &[Ty::U32, Ty::S32, Ty::U64, Ty::S64, Ty::F16x2, Ty::Bf16x2],
        },
    )
}
