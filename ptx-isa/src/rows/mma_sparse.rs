//! `mma.sp` (PTX ISA 9.7.16.6).

use super::mma::{F8F6F4, FACTOR4, FLOAT8, KIND4, KIND8, M, NARROW_FLOATS, scale, scaled};
use crate::matched::Match;
use crate::row::{Exactness, NOWHERE, Row, Sem, floor};
use crate::types::ptx;
use std::ops::Range;

const SP: Row = Row {
    does: "Multiplies a sparse with a dense matrix held by the warp and adds a third.",
    section: "9.7.16.6.3",
    since: ptx(7, 1),
    sm: 80,
    called,
    ..M
};
const SCALED: Row = Row {
    since: ptx(8, 7),
    sm: 120,
    targets: "sm_120a sm_121a sm_120f",
    sem: Sem::Ops(scaled),
    exact: Exactness::Manual,
    counts: Some(|_, _| 1),
    ..SP
};
const SPV: (&str, &str) = ("spv", ".sp .sp::ordered_metadata");
const ORDERED: crate::row::Floor = floor(".sp::ordered_metadata", ptx(8, 5), 80);

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Sparse A.
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 d*2:.b32, a*!:.b32, b*!:.b32, c*2:.b32, %e:.b32, #f=0..3:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 d*2:.b32, a*!:.b32, b*!:.b32, c*2:.b32, %e:.b32, #f=0|1:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32, %e:.b32, #f=0..3:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    // ptxas takes selectors 2 and 3 here, and an H200 ends the launch by them: error 715. No other type is so.
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32, %e:.b32, #f=0..3:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32, %e:.b32, #f=0..3:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32, %e:.b32, #f=0|1:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32, %e:.b32, #f=0..3:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32, %e:.b32, #f=0|1:.u32",
        sets: &[SPV],
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k64.row.col.f32.atype.btype.f32 d*4:.f32, a*4:.b32, b*4:.b32, c*4:.f32, %e:.b32, #f=0:.u32",
        sets: &[SPV, ("atype", ".e4m3 .e5m2"), ("btype", ".e4m3 .e5m2")],
        constants: FLOAT8,
        since: ptx(8, 4),
        sm: 89,
        floors: &[ORDERED],
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k32.row.col{.satfinite}.s32.atype.btype.s32 d*4:.s32, a*!:.b32, b*!:.b32, c*4:.s32, %e:.b32, #f=0|1:.u32",
        sets: &[SPV, ("atype", ".u8 .s8"), ("btype", ".u8 .s8")],
        floors: &[ORDERED],
        exact: Exactness::Bit,
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k64.row.col{.satfinite}.s32.atype.btype.s32 d*4:.s32, a*!:.b32, b*!:.b32, c*4:.s32, %e:.b32, #f=0:.u32",
        sets: &[SPV, ("atype", ".u8 .s8"), ("btype", ".u8 .s8")],
        floors: &[ORDERED],
        exact: Exactness::Bit,
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k64.row.col{.satfinite}.s32.atype.btype.s32 d*4:.s32, a*!:.b32, b*!:.b32, c*4:.s32, %e:.b32, #f=0|1:.u32",
        sets: &[SPV, ("atype", ".u4 .s4"), ("btype", ".u4 .s4")],
        floors: &[ORDERED],
        exact: Exactness::Bit,
        ..SP
    },
    Row {
        syntax: "mma.spv.sync.aligned.m16n8k128.row.col{.satfinite}.s32.atype.btype.s32 d*4:.s32, a*!:.b32, b*!:.b32, c*4:.s32, %e:.b32, #f=0:.u32",
        sets: &[SPV, ("atype", ".u4 .s4"), ("btype", ".u4 .s4")],
        floors: &[ORDERED],
        exact: Exactness::Bit,
        ..SP
    },
    Row {
        syntax: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.atype.btype.f32 d*4:.f32, a*4:.b32, b*4:.b32, c*4:.f32, %meta:.b32, #sel=0:.u32",
        sets: &[F8F6F4[0], F8F6F4[1], KIND8],
        constants: FLOAT8,
        floors: NARROW_FLOATS,
        since: ptx(8, 7),
        sm: 100,
        targets: "sm_100a sm_103a sm_110a sm_120a sm_121a sm_100f sm_120f",
        sem: Sem::Ops(scaled),
        exact: Exactness::Manual,
        counts: None,
        ..SP
    },
    Row {
        syntax: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16.atype.btype.f16 d*2:.b32, a*4:.b32, b*4:.b32, c*2:.b32, %meta:.b32, #sel=0:.u32",
        sets: &[F8F6F4[0], F8F6F4[1], KIND8],
        constants: FLOAT8,
        floors: NARROW_FLOATS,
        since: ptx(8, 7),
        sm: 120,
        targets: "sm_120a sm_121a sm_120f",
        sem: Sem::Ops(scaled),
        exact: Exactness::Manual,
        counts: None,
        ..SP
    },
    // Block-scaled kinds.
    Row {
        syntax: "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d*4:.f32, a*4:.b32, b*4:.b32, c*4:.f32, %meta*?:.b32, #sel=0:.u32, %e*?:.b32, f*2=0|2;0..1:.b16, %g*?:.b32, h*2=0|2;0..3:.b16",
        sets: &[KIND4],
        check: Some(scale),
        targets: "sm_120a sm_121a",
        ..SCALED
    },
    Row {
        syntax: "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.stype d*4:.f32, a*4:.b32, b*4:.b32, c*4:.f32, %meta*?:.b32, #sel=0:.u32, %e*?:.b32, f*2=0;0..1:.b16, %g*?:.b32, h*2=0;0..3:.b16",
        sets: &[FACTOR4],
        targets: "sm_120a sm_121a",
        ..SCALED
    },
    Row {
        syntax: "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.atype.btype.f32.ue8m0 d*4:.f32, a*4:.b32, b*4:.b32, c*4:.f32, %meta*?:.b32, #sel=0:.u32, %e*?:.b32, f*2=0..3;0..1:.b16, %g*?:.b32, h*2=0..3;0..3:.b16",
        sets: &F8F6F4,
        ..SCALED
    },
];

/// Where ptxas has no such product, or none with any order of metadata.
fn called(m: &Match, _: &str) -> Range<u16> {
    match m.get("atype") {
        Some(".u4" | ".s4") => 90..u16::MAX,
        Some(".e4m3" | ".e5m2") => NOWHERE,
        _ if m.has(".sp::ordered_metadata") || m.has(".tf32") => NOWHERE,
        _ => 100..u16::MAX,
    }
}
