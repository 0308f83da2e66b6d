//! Conversions from and to scale factors and fixed point: `.ue8m0x2`, `.s2f6x2`, `.ue5m3x2` (PTX ISA 9.7.10.24).

use super::cvt_narrow::{BLACKWELL, HALVES, RN_RZ, RZ, from_halves, from_pair, to_halves};
use crate::class;
use crate::row::{Operation, ROW, Row, Sem};
use crate::types::ptx;

const CVT: Row = Row {
    does: "Converts between floats and packed powers of two.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};
const CVT_RN: Row = Row {
    does: "Converts between floats and packed formats that carry a scale.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // .ue8m0
    Row {
        syntax: "cvt.rnd{.satfinite}.ue8m0x2.f32 d:.ue8m0x2, a:.f32, b:.f32",
        sets: &[("rnd", ".rz .rp")],
        since: ptx(8, 6),
        targets: BLACKWELL,
        sem: Sem::Ops(from_pair),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd{.satfinite}.ue8m0x2.bf16x2 d:.ue8m0x2, a:.bf16x2",
        sets: &[("rnd", ".rz .rp")],
        since: ptx(8, 6),
        targets: BLACKWELL,
        sem: Sem::Ops(from_halves),
        ..CVT
    },
    Row {
        syntax: "cvt.rn.bf16x2.ue8m0x2 d:.bf16x2, a:.ue8m0x2",
        since: ptx(8, 6),
        targets: BLACKWELL,
        sem: Sem::Ops(to_halves),
        ..CVT_RN
    },
    // .s2f6
    Row {
        syntax: "cvt.rnd.satfinite{.relu}.s2f6x2.f32 d:.s2f6x2, a:.f32, b:.f32",
        sets: &[RN_RZ],
        since: ptx(9, 1),
        targets: S2F6,
        floors: &[RZ],
        sem: Sem::Ops(from_pair),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}.scaled::n2::ue8m0.s2f6x2.f32 d:.s2f6x2, a:.f32, b:.f32, %s:.b16",
        sets: &[RN_RZ],
        since: ptx(9, 1),
        targets: S2F6,
        floors: &[RZ],
        sem: Sem::Ops(from_pair),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}.s2f6x2.bf16x2 d:.s2f6x2, a:.bf16x2",
        sets: &[RN_RZ],
        since: ptx(9, 1),
        targets: S2F6,
        floors: &[RZ],
        sem: Sem::Ops(from_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rnd.satfinite{.relu}.scaled::n2::ue8m0.s2f6x2.bf16x2 d:.s2f6x2, a:.bf16x2, %s:.b16",
        sets: &[RN_RZ],
        since: ptx(9, 1),
        targets: S2F6,
        floors: &[RZ],
        sem: Sem::Ops(from_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rn{.satfinite}{.relu}.bf16x2.s2f6x2 d:.bf16x2, a:.s2f6x2",
        since: ptx(9, 1),
        targets: S2F6,
        floors: &[RZ],
        sem: Sem::Ops(to_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rn{.satfinite}{.relu}.scaled::n2::ue8m0.bf16x2.s2f6x2 d:.bf16x2, a:.s2f6x2, %s:.b16",
        since: ptx(9, 1),
        targets: S2F6,
        floors: &[RZ],
        sem: Sem::Ops(to_halves),
        ..CVT_RN
    },
    // .ue5m3
    Row {
        syntax: "cvt.rnd{.satfinite}.ue5m3x2.f32 d:.ue5m3x2, a:.f32, b:.f32",
        sets: &[RN_RZ_RP],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(from_pair),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rnd{.satfinite}.scaled::n1::ue8m0.ue5m3x2.f32 d:.ue5m3x2, a:.f32, b:.f32, %s:.b8",
        sets: &[RN_RZ],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(from_pair),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rnd{.satfinite}.ue5m3x2.stype d:.ue5m3x2, a:stype",
        sets: &[RN_RZ_RP, HALVES],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(from_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rnd{.satfinite}.scaled::n1::ue8m0.ue5m3x2.stype d:.ue5m3x2, a:stype, %s:.b8",
        sets: &[RN_RZ, HALVES],
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(from_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rn.f16x2.ue5m3x2 d:.f16x2, a:.ue5m3x2",
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(to_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rn{.satfinite}.bf16x2.ue5m3x2 d:.bf16x2, a:.ue5m3x2",
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(to_halves),
        ..CVT_RN
    },
    Row {
        syntax: "cvt.rn{.satfinite}.scaled::n2::ue8m0.bf16x2.ue5m3x2 d:.bf16x2, a:.ue5m3x2, %s:.b16",
        since: ptx(9, 4),
        targets: "sm_107f",
        sem: Sem::Ops(to_halves),
        ..CVT_RN
    },
];

const RN_RZ_RP: (&str, &str) = ("rnd", ".rn .rz .rp");

const S2F6: &str = "sm_100a sm_103a sm_107a sm_110a sm_120a sm_121a";
