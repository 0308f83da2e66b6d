//! `set` (PTX ISA 9.7.7.1, 9.7.8.1).

use super::compare::{INT, combine, integer_relation, packed_relation, rel, relation, source};
use super::float::FTZ;
use crate::class;
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::row::{Floor, ROW, Row, Sem, floor};
use crate::types::{Ty, ptx};
use crate::uop::Op;

const DTYPE: (&str, &str) = ("dtype", ".u32 .s32 .f32");
const HALF_DTYPE: (&str, &str) = ("dtype", ".u16 .s16 .u32 .s32");

const SET: Row =
    Row { does: "Compares two values and gives a number.", class: class::compare, ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // set
    Row {
        syntax: "set.cmpi.dtype.type d:dtype, a, b",
        sets: &[DTYPE, INT],
        check: Some(integer_relation),
        section: "9.7.7.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpi.bool.dtype.type d:dtype, a, b, {!}c:pred",
        sets: &[DTYPE, INT],
        check: Some(integer_relation),
        section: "9.7.7.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.f32 d:dtype, a:.f32, b:.f32",
        sets: &[DTYPE],
        floors: &[FTZ],
        section: "9.7.7.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.f32 d:dtype, a:.f32, b:.f32, {!}c:pred",
        sets: &[DTYPE],
        floors: &[FTZ],
        section: "9.7.7.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.dtype.f64 d:dtype, a:.f64, b:.f64",
        sets: &[DTYPE],
        section: "9.7.7.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool.dtype.f64 d:dtype, a:.f64, b:.f64, {!}c:pred",
        sets: &[DTYPE],
        section: "9.7.7.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpi.type d, a, b",
        sets: &[("type", ".u8x4 .s8x4 .u16x2 .s16x2")],
        since: ptx(9, 4),
        targets: "sm_107f",
        check: Some(integer_relation),
        section: "9.7.7.1",
        sem: Sem::Ops(set_lanes),
        ..SET
    },
    // set to and from halves
    Row {
        syntax: "set.cmpi.dtype.type d:dtype, a, b",
        sets: &[("dtype", ".f16 .bf16"), INT],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(integer_relation),
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpi.bool.dtype.type d:dtype, a, b, {!}c:pred",
        sets: &[("dtype", ".f16"), INT],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(integer_relation),
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpi.bool.dtype.type d:dtype, a, b, {!}%c:pred",
        sets: &[("dtype", ".bf16"), INT],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(integer_relation),
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.type d:dtype, a, b",
        sets: &[("dtype", ".f16 .bf16"), ("type", ".f16 .f32 .f64")],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(half_ftz),
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.type d:dtype, a, b, {!}c:pred",
        sets: &[("dtype", ".f16"), ("type", ".f16 .f32 .f64")],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(half_ftz),
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.type d:dtype, a, b, {!}%c:pred",
        sets: &[("dtype", ".bf16"), ("type", ".f16 .f32 .f64")],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(half_ftz),
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.f16 d:dtype, a:.f16, b:.f16",
        sets: &[HALF_DTYPE],
        since: ptx(6, 5),
        sm: 53,
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.f16 d:dtype, a:.f16, b:.f16, {!}c:pred",
        sets: &[HALF_DTYPE],
        since: ptx(6, 5),
        sm: 53,
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.dtype.bf16 d:dtype, a:.bf16, b:.bf16",
        sets: &[("dtype", ".u16 .s16 .u32 .s32 .bf16")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool.dtype.bf16 d:dtype, a:.bf16, b:.bf16, {!}%c:pred",
        sets: &[("dtype", ".u16 .s16 .u32 .s32 .bf16")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        sem: Sem::Ops(set),
        ..SET
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.f16x2 d:dtype, a:.f16x2, b:.f16x2",
        sets: &[("dtype", ".f16x2 .u32 .s32")],
        since: ptx(4, 2),
        sm: 53,
        floors: &[floor(".u32 .s32", ptx(6, 5), 53)],
        section: "9.7.8.1",
        sem: Sem::Ops(set_packed),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.f16x2 d:dtype, a:.f16x2, b:.f16x2, {!}c:pred",
        sets: &[("dtype", ".f16x2 .u32 .s32")],
        since: ptx(4, 2),
        sm: 53,
        floors: &[floor(".u32 .s32", ptx(6, 5), 53)],
        section: "9.7.8.1",
        sem: Sem::Ops(set_packed),
        ..SET
    },
    Row {
        syntax: "set.cmpf.dtype.bf16x2 d:dtype, a:.bf16x2, b:.bf16x2",
        sets: &[("dtype", ".bf16x2 .u32 .s32")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        sem: Sem::Ops(set_packed),
        ..SET
    },
    Row {
        syntax: "set.cmpf.bool.dtype.bf16x2 d:dtype, a:.bf16x2, b:.bf16x2, {!}%c:pred",
        sets: &[("dtype", ".bf16x2 .u32 .s32")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        sem: Sem::Ops(set_packed),
        ..SET
    },
];

const BF16: &[Floor] = &[floor(".bf16", ptx(7, 8), 90)];

/// `.ftz` of the rows that give a half.
fn half_ftz(m: &Match) -> Result<(), String> {
    if m.has(".ftz") && m.ty("dtype") == Some(Ty::Bf16) {
        return Err("modifier .ftz does not apply to .bf16".into());
    }
    if m.has(".ftz") && m.ty("type") == Some(Ty::F64) {
        return Err("modifier .ftz does not apply to .f64".into());
    }
    Ok(())
}

/// What `set` writes for true.
fn truth(ty: Ty) -> u32 {
    match ty {
        Ty::F32 => 1f32.to_bits(),
        Ty::F16 | Ty::F16x2 => 0x3c00,
        Ty::Bf16 | Ty::Bf16x2 => 0x3f80,
        Ty::U16 | Ty::S16 => 0xffff,
        _ => u32::MAX,
    }
}

fn set(x: &mut Cx) {
    let (ty, rel) = (source(x), rel(x));
    let (a, b) = (x.rd("a"), x.rd("b"));
    let p = relation(x, ty, rel, a, b);
    let p = combine(x, p);
    let d = x.op3(Op::SelW, V::w(truth(x.ty_of("dtype"))), V::w(0), p);
    x.wr("d", d);
}

fn set_packed(x: &mut Cx) {
    let (low, high) = packed_relation(x);
    let one = V::w(truth(x.ty_of("dtype")) & 0xffff);
    let low = x.op3(Op::SelW, one, V::w(0), low);
    let high = x.op3(Op::SelW, one, V::w(0), high);
    let d = x.op2(Op::Pack16, low, high);
    x.wr("d", d);
}

/// Packed bytes or halves: all ones in each lane where the relation holds.
fn set_lanes(x: &mut Cx) {
    let lane = match x.ty() {
        Ty::U8x4 => Ty::U8,
        Ty::S8x4 => Ty::S8,
        Ty::U16x2 => Ty::U16,
        _ => Ty::S16,
    };
    let rel = rel(x);
    let (a, b) = (x.rd("a"), x.rd("b"));
    let mut d = V::w(0);
    for at in (0..32).step_by(lane.bits() as usize) {
        let [la, lb] = [a, b].map(|v| {
            let v = x.op2(Op::ShrW, v, V::w(at));
            x.zext(v, lane.bits())
        });
        let p = relation(x, lane, rel, la, lb);
        let ones = V::w(((1 << lane.bits()) - 1) << at);
        let bits = x.op3(Op::SelW, ones, V::w(0), p);
        d = x.op2(Op::OrW, d, bits);
    }
    x.wr("d", d);
}
