//! `wmma.mma` (PTX ISA 9.7.16.4.5). `.aligned` came with PTX 6.3 and is required since.

use crate::class;
use crate::matched::Match;
use crate::matrix::{Elem, Wmma, run};
use crate::meaning::Cx;
use crate::row::{Constants, Exactness, Floor, Parts, ROW, Reach, Row, Sem, floor};
use crate::rows::mma::{known, together};
use crate::syntax::OperandSlot;
use crate::types::{Kind, PtxVersion, Ty, ptx};

const M: Row = Row {
    does: "Multiplies two matrices held by the warp and adds a third.",
    section: "9.7.16.4.5",
    since: ptx(6, 0),
    sm: 70,
    class: class::matrix,
    reach: Reach::Warp,
    exact: Exactness::Recorded("tensor core, H200"),
    counts: Some(counts),
    sem: Sem::Ops(mma),
    constants: Constants::Pair,
    parts,
    ..ROW
};
pub(super) const WIDE: (&str, &str) = ("shape", ".m16n16k16 .m32n8k16 .m8n32k16");
const AL: (&str, &str) = ("alayout", ".row .col");
const BL: (&str, &str) = ("blayout", ".row .col");
const FLOAT_D: (&str, &str) = ("dtype", ".f16 .f32");
const FLOAT_C: (&str, &str) = ("ctype", ".f16 .f32");
/// Shapes and spaces that came later.
pub(super) const FLOORS: &[Floor] = &[
    floor(".m32n8k16 .m8n32k16", ptx(6, 1), 70),
    floor(".m16n16k8", ptx(7, 0), 80),
    floor(".m8n8k32 .m8n8k128", ptx(6, 3), 75),
    floor(".shared::cta", ptx(7, 8), 70),
];

/// Products of floats saturated until PTX 6.4.
const SATURATION: &[(&str, PtxVersion)] = &[(".satfinite", ptx(6, 4))];

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Products.
    Row {
        syntax: "wmma.mma.sync.alayout.blayout.shape.f16.f16{.satfinite} d*4:.b32, a*8:.b32, b*8:.b32, c*4:.b32",
        until: Some(ptx(6, 2)),
        sets: &[AL, BL, WIDE],
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.shape.f16.f16{.satfinite} d*4:.b32, a*8:.b32, b*8:.b32, c*4:.b32",
        since: ptx(6, 3),
        sets: &[AL, BL, WIDE],
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.alayout.blayout.shape.dtype.ctype{.satfinite} d*4:.b32, a*8:.b32, b*8:.b32, c*8:.f32",
        until: Some(ptx(6, 2)),
        sets: &[AL, BL, WIDE, FLOAT_D, FLOAT_C],
        check: Some(narrowing),
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype{.satfinite} d*4:.b32, a*8:.b32, b*8:.b32, c*8:.f32",
        since: ptx(6, 3),
        sets: &[AL, BL, WIDE, FLOAT_D, FLOAT_C],
        check: Some(narrowing),
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.alayout.blayout.shape.dtype.ctype{.satfinite} d*8:.f32, a*8:.b32, b*8:.b32, c*4:.b32",
        until: Some(ptx(6, 2)),
        sets: &[AL, BL, WIDE, FLOAT_D, FLOAT_C],
        check: Some(widening),
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype{.satfinite} d*8:.f32, a*8:.b32, b*8:.b32, c*4:.b32",
        since: ptx(6, 3),
        sets: &[AL, BL, WIDE, FLOAT_D, FLOAT_C],
        check: Some(widening),
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.alayout.blayout.shape.f32.f32{.satfinite} d*8:.f32, a*8:.b32, b*8:.b32, c*8:.f32",
        until: Some(ptx(6, 2)),
        sets: &[AL, BL, WIDE],
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.shape.f32.f32{.satfinite} d*8:.f32, a*8:.b32, b*8:.b32, c*8:.f32",
        since: ptx(6, 3),
        sets: &[AL, BL, WIDE],
        floors: FLOORS,
        ended: SATURATION,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.shape.f32.bf16.bf16.f32 d*8:.f32, a*!:.b32, b*!:.b32, c*8:.f32",
        sets: &[AL, BL, WIDE],
        since: ptx(7, 0),
        sm: 80,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.m16n16k8.f32.tf32.tf32.f32 d*8:.f32, a*4:.b32, %b*4:.u32, c*8:.f32",
        sets: &[AL, BL],
        since: ptx(7, 0),
        sm: 80,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.m8n8k4{.rnd}.f64.f64.f64.f64 d*2:.f64, a*1:.f64, b*1:.f64, c*2:.f64",
        sets: &[AL, BL],
        since: ptx(7, 0),
        sm: 80,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.alayout.blayout.shape.s32.atype.btype.s32{.satfinite} d*8:.s32, a*!:.b32, b*!:.b32, c*8:.s32",
        sets: &[AL, BL, WIDE, ("atype", ".s8 .u8"), ("btype", ".s8 .u8")],
        check: Some(same_types),
        since: ptx(6, 3),
        sm: 72,
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wmma.mma.sync.aligned.row.col.m8n8k32.s32.atype.btype.s32{.satfinite} d*2:.s32, a*1:.b32, b*1:.b32, c*2:.s32",
        sets: &[("atype", ".s4 .u4"), ("btype", ".s4 .u4")],
        check: Some(same_types),
        since: ptx(6, 3),
        sm: 75,
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "wmma.mma.bitop.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d*2:.s32, a*1:.b32, b*1:.b32, c*2:.s32",
        sets: &[("bitop", ".xor .and")],
        since: ptx(6, 3),
        sm: 75,
        floors: &[floor(".and", ptx(7, 1), 80)],
        exact: Exactness::Bit,
        ..M
    },
];

/// The types come in order: D, then C.
fn narrowing(m: &Match) -> Result<(), String> {
    in_order(m, ".f16", ".f32")
}

fn widening(m: &Match) -> Result<(), String> {
    in_order(m, ".f32", ".f16")
}

fn in_order(m: &Match, d: &str, c: &str) -> Result<(), String> {
    if m.get("dtype") == Some(d) && m.get("ctype") == Some(c) {
        Ok(())
    } else {
        Err(format!("operands are those of `{d}{c}`"))
    }
}

fn same_types(m: &Match) -> Result<(), String> {
    if m.get("atype") == m.get("btype") {
        Ok(())
    } else {
        Err("A and B of `wmma.mma` must have the same type".into())
    }
}

pub(super) fn counts(m: &Match, name: &str) -> u32 {
    let registers = Wmma::parse(&m.opcode()).map_or([1; 4], |d| d.registers());
    let index = match name {
        "a" => 0,
        "b" => 1,
        "c" => 2,
        _ => 3,
    };
    registers[index] as u32
}

fn mma(x: &mut Cx) {
    let Some(m) = known(x, Wmma::parse(&x.m.opcode())) else { return };
    let mut src = x.rd_vec("a");
    src.extend(x.rd_vec("b"));
    src.extend(x.rd_vec("c"));
    let [k0, k1] = m.pack();
    let kind = if m.a.elem == Elem::F64 { Kind::D } else { Kind::W };
    let results = vec![kind; m.registers()[3]];
    let values = together(x, "wmma.mma", run::wmma, [k0, k1, 0, 0], src, &results);
    x.wr_vec("d", &values);
}

/// The small matrix is looked at in pairs, of which a narrow one has less; sums in halves too. Read off ptxas 13.5.
fn parts(m: &Match, slot: &str) -> Parts {
    let half = |slot: Option<&OperandSlot>| slot.and_then(|s| m.slot_ty(s)) == Some(Ty::B32);
    let sums = || m.notation.slots.iter().find(|s| s.name == "c");
    let pairs = |count| Parts { length: 2, count, refused: |_| true };
    let typed = |length, count| Parts { length, count, refused: |ty| *ty != Ty::F32 };
    let integers = m.types().any(|ty| ty == Ty::S32);
    match slot {
        _ if m.has(".tf32") => pairs(if slot == "c" { 0 } else { 2 }),
        "b" if integers && m.has(".m16n16k16") => typed(1, 2),
        "b" if integers && m.has(".m8n32k16") => typed(2, 2),
        "a" if integers && m.has(".m32n8k16") => typed(2, 2),
        "a" | "b" if integers => pairs(0),
        "a" => pairs(usize::from(m.has(".m8n32k16"))),
        "b" if m.has(".m8n32k16") => pairs(0),
        "b" => pairs(if m.has(".m32n8k16") { 1 } else { 2 }),
        "c" if half(sums()) && half(m.notation.slots.first()) => pairs(2),
        "c" if half(sums()) => Parts { length: 1, count: 4, refused: |ty| *ty == Ty::F64 },
        _ => pairs(0),
    }
}
