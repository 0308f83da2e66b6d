//! Warpgroup-wide products (PTX ISA 9.7.17).
//!
//! A product runs to its end when it is issued, so fences, groups and waits have nothing left to do.

use crate::class::Class;
use crate::effect::{AsyncGroupOp, AsyncWork};
use crate::matched::Match;
use crate::matrix::{Wgmma, run};
use crate::meaning::{Arg, Cx};
use crate::row::{Constants, Exactness, ROW, Reach, Row, Sem};
use crate::rows::async_copy::{group, wait_group};
use crate::rows::mma::{known, together};
use crate::types::{Kind, ptx};

pub(super) const M: Row = Row {
    does: "Starts a product of matrices of the warpgroup.",
    section: "9.7.17.7",
    since: ptx(8, 0),
    sm: 90,
    targets: "sm_90a",
    class: |_| Class::MmaWarpgroup,
    reach: Reach::Warpgroup,
    exact: Exactness::Recorded("tensor core, H200"),
    counts: Some(counts),
    sem: Sem::Ops(mma),
    constants: Constants::Vector,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f16.f16.f16 d*!:.b32, a:.b64, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #ta=0|1:.s32, #tb=0|1:.s32",
        sets: &[K16],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f16.f16.f16 d*!:.b32, a*4:.b32, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #tb=0|1:.s32",
        sets: &[K16],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.f16.f16 d*!:.f32, a:.b64, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #ta=0|1:.s32, #tb=0|1:.s32",
        sets: &[K16],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.f16.f16 d*!:.f32, a*4:.b32, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #tb=0|1:.s32",
        sets: &[K16],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.bf16.bf16 d*!:.f32, a:.b64, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #ta=0|1:.s32, #tb=0|1:.s32",
        sets: &[K16],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.bf16.bf16 d*!:.f32, a*4:.b32, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32, #tb=0|1:.s32",
        sets: &[K16],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.tf32.tf32 d*!:.f32, a:.b64, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K8],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f16.atype.btype d*!:.b32, a:.b64, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32, FP8[0], FP8[1]],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.atype.btype d*!:.f32, a:.b64, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32, FP8[0], FP8[1]],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a:.b64, b:.b64, {!}scale=0|1:pred",
        check: Some(same_types),
        sets: &[K32_INT, INT[0], INT[1]],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a:.b64, b:.b64, {!}scale=0|1:pred",
        since: ptx(8, 4),
        check: Some(mixed_types),
        sets: &[K32_INT, INT[0], INT[1]],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.s32.b1.b1.and.popc d*!:.s32, a:.b64, b:.b64, {!}scale=0|1:pred",
        sets: &[K256],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.tf32.tf32 d*!:.f32, a*4:.b32, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K8],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f16.atype.btype d*!:.b32, a*4:.b32, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32, FP8[0], FP8[1]],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.f32.atype.btype d*!:.f32, a*4:.b32, b:.b64, {!}scale=0|1:pred, #sa=1|-1:.s32, #sb=1|-1:.s32",
        sets: &[K32, FP8[0], FP8[1]],
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a*4:.b32, b:.b64, {!}scale=0|1:pred",
        check: Some(same_types),
        sets: &[K32_INT, INT[0], INT[1]],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape{.satfinite}.s32.atype.btype d*!:.s32, a*4:.b32, b:.b64, {!}scale=0|1:pred",
        since: ptx(8, 4),
        check: Some(mixed_types),
        sets: &[K32_INT, INT[0], INT[1]],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wgmma.mma_async.sync{.aligned}.shape.s32.b1.b1.and.popc d*!:.s32, a*4:.b32, b:.b64, {!}scale=0|1:pred",
        sets: &[K256],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wgmma.fence.sync{.aligned}",
        does: "Orders accesses to registers before products of the warpgroup.",
        section: "9.7.17.7.1",
        ..GROUP
    },
    Row {
        syntax: "wgmma.commit_group.sync{.aligned}",
        does: "Closes the group of the products that the warpgroup has started.",
        section: "9.7.17.7.2",
        sem: Sem::Ops(|x| group(x, AsyncWork::MatrixProducts, AsyncGroupOp::Commit)),
        ..GROUP
    },
    Row {
        syntax: "wgmma.wait_group.sync{.aligned} #n=0..4294967295:.u32",
        does: "Waits until groups of products are complete.",
        section: "9.7.17.7.3",
        class: |_| Class::WarpgroupWait,
        sem: Sem::Ops(|x| wait_group(x, AsyncWork::MatrixProducts)),
        ..GROUP
    },
];

const GROUP: Row = Row {
    since: ptx(8, 0),
    sm: 90,
    targets: "sm_90a",
    class: |_| Class::WarpSync,
    sem: Sem::Ops(|_| {}),
    ..ROW
};

pub(super) const FP8: [(&str, &str); 2] = [("atype", ".e4m3 .e5m2"), ("btype", ".e4m3 .e5m2")];

pub(super) const INT: [(&str, &str); 2] = [("atype", ".s8 .u8"), ("btype", ".s8 .u8")];

/// Every N with k = 16.
const K16: (&str, &str) = (
    "shape",
    ".m64n8k16 .m64n16k16 .m64n24k16 .m64n32k16 .m64n40k16 .m64n48k16 .m64n56k16 .m64n64k16 .m64n72k16 .m64n80k16 .m64n88k16 .m64n96k16 .m64n104k16 .m64n112k16 .m64n120k16 .m64n128k16 .m64n136k16 .m64n144k16 .m64n152k16 .m64n160k16 .m64n168k16 .m64n176k16 .m64n184k16 .m64n192k16 .m64n200k16 .m64n208k16 .m64n216k16 .m64n224k16 .m64n232k16 .m64n240k16 .m64n248k16 .m64n256k16",
);

/// Every N with k = 8.
const K8: (&str, &str) = (
    "shape",
    ".m64n8k8 .m64n16k8 .m64n24k8 .m64n32k8 .m64n40k8 .m64n48k8 .m64n56k8 .m64n64k8 .m64n72k8 .m64n80k8 .m64n88k8 .m64n96k8 .m64n104k8 .m64n112k8 .m64n120k8 .m64n128k8 .m64n136k8 .m64n144k8 .m64n152k8 .m64n160k8 .m64n168k8 .m64n176k8 .m64n184k8 .m64n192k8 .m64n200k8 .m64n208k8 .m64n216k8 .m64n224k8 .m64n232k8 .m64n240k8 .m64n248k8 .m64n256k8",
);

/// Every N with k = 32.
const K32: (&str, &str) = (
    "shape",
    ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n40k32 .m64n48k32 .m64n56k32 .m64n64k32 .m64n72k32 .m64n80k32 .m64n88k32 .m64n96k32 .m64n104k32 .m64n112k32 .m64n120k32 .m64n128k32 .m64n136k32 .m64n144k32 .m64n152k32 .m64n160k32 .m64n168k32 .m64n176k32 .m64n184k32 .m64n192k32 .m64n200k32 .m64n208k32 .m64n216k32 .m64n224k32 .m64n232k32 .m64n240k32 .m64n248k32 .m64n256k32",
);

/// Every N with k = 32.
const K32_INT: (&str, &str) = (
    "shape",
    ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n48k32 .m64n64k32 .m64n80k32 .m64n96k32 .m64n112k32 .m64n128k32 .m64n144k32 .m64n160k32 .m64n176k32 .m64n192k32 .m64n208k32 .m64n224k32 .m64n240k32 .m64n256k32",
);

/// Every N with k = 256.
const K256: (&str, &str) = (
    "shape",
    ".m64n8k256 .m64n16k256 .m64n24k256 .m64n32k256 .m64n48k256 .m64n64k256 .m64n80k256 .m64n96k256 .m64n112k256 .m64n128k256 .m64n144k256 .m64n160k256 .m64n176k256 .m64n192k256 .m64n208k256 .m64n224k256 .m64n240k256 .m64n256k256",
);

pub(super) fn same_types(m: &Match) -> Result<(), String> {
    if m.get("atype") == m.get("btype") {
        Ok(())
    } else {
        Err("A and B of different integer types need PTX 8.4".into())
    }
}

pub(super) fn mixed_types(m: &Match) -> Result<(), String> {
    if m.get("atype") == m.get("btype") {
        Err("A and B are of the same type".into())
    } else {
        Ok(())
    }
}

fn counts(m: &Match, name: &str) -> u32 {
    match (name, Wgmma::parse(&m.opcode())) {
        ("d", Ok(w)) => w.registers()[1] as u32,
        _ => 1,
    }
}

fn mma(x: &mut Cx) {
    let Some(m) = known(x, Wgmma::parse(&x.m.opcode())) else { return };
    let slot = |x: &Cx, name: &str| x.m.notation.slots.iter().any(|s| s.name == name);
    // D is read and written: its registers are the accumulator.
    let mut src = x.rd_vec("d");
    let in_registers = matches!(x.arg("a"), Arg::Vector(_));
    src.extend(x.rd_vec("a"));
    src.push(x.rd("b"));
    let mut selector = 0;
    if m.sparse {
        src.push(x.rd("e"));
        selector = x.imm("f") as u32;
    }
    src.push(x.rd("scale"));
    let mut flags = u32::from(in_registers);
    for (bit, name) in [(1, "sa"), (2, "sb"), (3, "ta"), (4, "tb")] {
        if slot(x, name) {
            let on = x.imm(name) as u32 as i32;
            let set = if bit < 3 { on == -1 } else { on == 1 };
            if !(set || on == i32::from(bit < 3)) {
                x.refuse(format!("immediate {on} of `{m}` is not one of its two values"));
            }
            flags |= u32::from(set) << bit;
        }
    }
    let [k0, k1] = m.pack();
    let results = vec![Kind::W; m.registers()[1]];
    let values = together(x, "wgmma", run::wgmma, [k0, k1, flags, selector], src, &results);
    x.wr_vec("d", &values);
}
