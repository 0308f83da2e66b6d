//! Bulk reductions of memory (PTX ISA 9.7.10.28.4.2).

use super::async_copy::{BULK, OP, bulk_operands, combination, shared_reduction, spaces};
use crate::async_copy::{self, Reduce};
use crate::matched::Match;
use crate::meaning::Cx;
use crate::row::{Floor, Row, Sem, floor};
use crate::types::{Ty, ptx};

const NOFTZ: &[Floor] = &[floor(".f32", ptx(9, 4), 90)];

const CP: Row = Row {
    does: "Starts a reduction of a block of memory into another one, element by element.",
    ..BULK
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type [a], [b], size=%16:.u32, [mbar]",
        sets: &[OP, ("type", ".b32 .u32 .s32 .b64 .u64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(shared_reduction),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type [a], [b], size=%16:.u32, [mbar]",
        since: ptx(9, 3),
        sets: &[("scope", ".cta .cluster"), OP, ("type", ".b32 .u32 .s32 .b64 .u64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(shared_reduction),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.op.type [a], [b], size=%16:.u32",
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.op.type [a], [b], size=%16:.u32",
        since: ptx(9, 3),
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.type [a], [b], size=%16:.u32",
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.add.noftz.type [a], [b], size=%16:.u32",
        since: ptx(9, 3),
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.op.type [a], [b], size=%16:.u32, policy:.u64",
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.op.type [a], [b], size=%16:.u32, policy:.u64",
        since: ptx(9, 3),
        sets: &[OP, ("type", ".f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        check: Some(global_reduction),
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.type [a], [b], size=%16:.u32, policy:.u64",
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..CP
    },
    Row {
        syntax: "cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.type [a], [b], size=%16:.u32, policy:.u64",
        since: ptx(9, 3),
        sets: &[("type", ".f16 .bf16 .f32")],
        section: "9.7.10.28.4.2",
        sem: Sem::Ops(bulk_reduce),
        floors: NOFTZ,
        ..CP
    },
];

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

pub(super) fn bulk_reduce(x: &mut Cx) {
    let [to, from] = spaces(x);
    let (src, flags) = bulk_operands(x);
    let op = Reduce::parse(x.get("op")).unwrap_or(Reduce::Add);
    let what = async_copy::pack_reduce(op, x.ty_of("type"));
    x.warp("cp.reduce.async.bulk", async_copy::reduce_bulk, [to, from, flags, what], &src, &[]);
}
