//! Warpgroup-wide products of sparse matrices (PTX ISA 9.7.17.8).

use super::wgmma::{FP8, INT, M, mixed_types, same_types};
use crate::row::{Exactness, Row};
use crate::types::ptx;

const WGMMA: Row =
    Row { does: "Starts a product of a sparse with a dense matrix of the warpgroup.", ..M };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f16.f16.f16 d*!:.b32, a:.b64, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #ta=0|1:.s32, #tb=0|1:.s32",
        sets: &[K16_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f16.f16.f16 d*!:.b32, a*4:.b32, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #tb=0|1:.s32",
        sets: &[K16_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.f16.f16 d*!:.f32, a:.b64, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #ta=0|1:.s32, #tb=0|1:.s32",
        sets: &[K16_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.f16.f16 d*!:.f32, a*4:.b32, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #tb=0|1:.s32",
        sets: &[K16_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.bf16.bf16 d*!:.f32, a:.b64, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #ta=0|1:.s32, #tb=0|1:.s32",
        sets: &[K16_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.bf16.bf16 d*!:.f32, a*4:.b32, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #tb=0|1:.s32",
        sets: &[K16_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.tf32.tf32 d*!:.f32, a:.b64, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K8_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f16.atype.btype d*!:.b32, a:.b64, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32_SPARSE, FP8[0], FP8[1]],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.atype.btype d*!:.f32, a:.b64, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32_SPARSE, FP8[0], FP8[1]],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a:.b64, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred",
        check: Some(same_types),
        sets: &[K32_INT_SPARSE, INT[0], INT[1]],
        since: ptx(8, 2),
        exact: Exactness::Bit,
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a:.b64, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred",
        since: ptx(8, 4),
        check: Some(mixed_types),
        sets: &[K32_INT_SPARSE, INT[0], INT[1]],
        exact: Exactness::Bit,
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.tf32.tf32 d*!:.f32, a*4:.b32, b:.b64, %e:.b32, #f=0|1:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K8_SPARSE],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f16.atype.btype d*!:.b32, a*4:.b32, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32_SPARSE, FP8[0], FP8[1]],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape.f32.atype.btype d*!:.f32, a*4:.b32, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32_SPARSE, FP8[0], FP8[1]],
        since: ptx(8, 2),
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a*4:.b32, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred",
        check: Some(same_types),
        sets: &[K32_INT_SPARSE, INT[0], INT[1]],
        since: ptx(8, 2),
        exact: Exactness::Bit,
        ..WGMMA
    },
    Row {
        syntax: "wgmma.mma_async.sp.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a*4:.b32, b:.b64, %e:.b32, #f=0:.u32, {!}scale=0|1:pred",
        since: ptx(8, 4),
        check: Some(mixed_types),
        sets: &[K32_INT_SPARSE, INT[0], INT[1]],
        exact: Exactness::Bit,
        ..WGMMA
    },
];

/// Every N with k = 32.
const K16_SPARSE: (&str, &str) = (
    "shape",
    ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n40k32 .m64n48k32 .m64n56k32 .m64n64k32 .m64n72k32 .m64n80k32 .m64n88k32 .m64n96k32 .m64n104k32 .m64n112k32 .m64n120k32 .m64n128k32 .m64n136k32 .m64n144k32 .m64n152k32 .m64n160k32 .m64n168k32 .m64n176k32 .m64n184k32 .m64n192k32 .m64n200k32 .m64n208k32 .m64n216k32 .m64n224k32 .m64n232k32 .m64n240k32 .m64n248k32 .m64n256k32",
);

/// Every N with k = 16.
const K8_SPARSE: (&str, &str) = (
    "shape",
    ".m64n8k16 .m64n16k16 .m64n24k16 .m64n32k16 .m64n40k16 .m64n48k16 .m64n56k16 .m64n64k16 .m64n72k16 .m64n80k16 .m64n88k16 .m64n96k16 .m64n104k16 .m64n112k16 .m64n120k16 .m64n128k16 .m64n136k16 .m64n144k16 .m64n152k16 .m64n160k16 .m64n168k16 .m64n176k16 .m64n184k16 .m64n192k16 .m64n200k16 .m64n208k16 .m64n216k16 .m64n224k16 .m64n232k16 .m64n240k16 .m64n248k16 .m64n256k16",
);

/// Every N with k = 64.
const K32_SPARSE: (&str, &str) = (
    "shape",
    ".m64n8k64 .m64n16k64 .m64n24k64 .m64n32k64 .m64n40k64 .m64n48k64 .m64n56k64 .m64n64k64 .m64n72k64 .m64n80k64 .m64n88k64 .m64n96k64 .m64n104k64 .m64n112k64 .m64n120k64 .m64n128k64 .m64n136k64 .m64n144k64 .m64n152k64 .m64n160k64 .m64n168k64 .m64n176k64 .m64n184k64 .m64n192k64 .m64n200k64 .m64n208k64 .m64n216k64 .m64n224k64 .m64n232k64 .m64n240k64 .m64n248k64 .m64n256k64",
);

/// Every N with k = 64.
const K32_INT_SPARSE: (&str, &str) = (
    "shape",
    ".m64n8k64 .m64n16k64 .m64n24k64 .m64n32k64 .m64n48k64 .m64n64k64 .m64n80k64 .m64n96k64 .m64n112k64 .m64n128k64 .m64n144k64 .m64n160k64 .m64n176k64 .m64n192k64 .m64n208k64 .m64n224k64 .m64n240k64 .m64n256k64",
);
