//! Comparison and selection (PTX ISA 9.7.7, 9.7.8).

use super::float::{FTZ, demote, demoted, ftz};
use super::half::half_mode;
use crate::class::{self, Class};
use crate::meaning::{Cx, V};
use crate::row::{Floor, Operation, ROW, Row, Sem, floor};
use crate::table::Match;
use crate::types::{Kind, Ty, TyClass, ptx};
use crate::uop::Op;

const INT: (&str, &str) = ("type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64");
const DTYPE: (&str, &str) = ("dtype", ".u32 .s32 .f32");
const HALF_DTYPE: (&str, &str) = ("dtype", ".u16 .s16 .u32 .s32");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // set
    Row {
        syntax: "set.cmpi.dtype.type d:dtype, a, b",
        sets: &[DTYPE, INT],
        check: Some(integer_relation),
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpi.bool.dtype.type d:dtype, a, b, {!}c:pred",
        sets: &[DTYPE, INT],
        check: Some(integer_relation),
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.f32 d:dtype, a:.f32, b:.f32",
        sets: &[DTYPE],
        floors: &[FTZ],
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.f32 d:dtype, a:.f32, b:.f32, {!}c:pred",
        sets: &[DTYPE],
        floors: &[FTZ],
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.dtype.f64 d:dtype, a:.f64, b:.f64",
        sets: &[DTYPE],
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool.dtype.f64 d:dtype, a:.f64, b:.f64, {!}c:pred",
        sets: &[DTYPE],
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpi.type d, a, b",
        sets: &[("type", ".u8x4 .s8x4 .u16x2 .s16x2")],
        since: ptx(9, 4),
        targets: "sm_107f",
        check: Some(integer_relation),
        section: "9.7.7.1",
        class: class::compare,
        sem: Sem::Ops(set_lanes),
        ..ROW
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
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpi.bool.dtype.type d:dtype, a, b, {!}c:pred",
        sets: &[("dtype", ".f16 .bf16"), INT],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(integer_relation),
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.type d:dtype, a, b",
        sets: &[("dtype", ".f16 .bf16"), ("type", ".f16 .f32 .f64")],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(half_ftz),
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.type d:dtype, a, b, {!}c:pred",
        sets: &[("dtype", ".f16 .bf16"), ("type", ".f16 .f32 .f64")],
        since: ptx(4, 2),
        sm: 53,
        floors: BF16,
        check: Some(half_ftz),
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.f16 d:dtype, a:.f16, b:.f16",
        sets: &[HALF_DTYPE],
        since: ptx(6, 5),
        sm: 53,
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.f16 d:dtype, a:.f16, b:.f16, {!}c:pred",
        sets: &[HALF_DTYPE],
        since: ptx(6, 5),
        sm: 53,
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.dtype.bf16 d:dtype, a:.bf16, b:.bf16",
        sets: &[("dtype", ".u16 .s16 .u32 .s32 .bf16")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool.dtype.bf16 d:dtype, a:.bf16, b:.bf16, {!}c:pred",
        sets: &[("dtype", ".u16 .s16 .u32 .s32 .bf16")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set),
        ..ROW
    },
    Row {
        syntax: "set.cmpf{.ftz}.dtype.f16x2 d:dtype, a:.f16x2, b:.f16x2",
        sets: &[("dtype", ".f16x2 .u32 .s32")],
        since: ptx(4, 2),
        sm: 53,
        floors: &[floor(".u32 .s32", ptx(6, 5), 53)],
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set_packed),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool{.ftz}.dtype.f16x2 d:dtype, a:.f16x2, b:.f16x2, {!}c:pred",
        sets: &[("dtype", ".f16x2 .u32 .s32")],
        since: ptx(4, 2),
        sm: 53,
        floors: &[floor(".u32 .s32", ptx(6, 5), 53)],
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set_packed),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.dtype.bf16x2 d:dtype, a:.bf16x2, b:.bf16x2",
        sets: &[("dtype", ".bf16x2 .u32 .s32")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set_packed),
        ..ROW
    },
    Row {
        syntax: "set.cmpf.bool.dtype.bf16x2 d:dtype, a:.bf16x2, b:.bf16x2, {!}c:pred",
        sets: &[("dtype", ".bf16x2 .u32 .s32")],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.1",
        class: class::compare,
        sem: Sem::Ops(set_packed),
        ..ROW
    },
    // setp
    Row {
        syntax: "setp.cmpi.type p{|q}, a, b",
        sets: &[INT],
        check: Some(integer_relation),
        section: "9.7.7.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpi.bool.type p{|q}, a, b, {!}c:pred",
        sets: &[INT],
        check: Some(integer_relation),
        section: "9.7.7.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf{.ftz}.f32 p{|q}, a, b",
        floors: &[FTZ],
        section: "9.7.7.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bool{.ftz}.f32 p{|q}, a, b, {!}c:pred",
        floors: &[FTZ],
        section: "9.7.7.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.f64 p{|q}, a, b",
        section: "9.7.7.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bool.f64 p{|q}, a, b, {!}c:pred",
        section: "9.7.7.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    // The manual has no second destination for scalar halves, nor does ptxas.
    Row {
        syntax: "setp.cmpf{.ftz}.f16 p, a, b",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bool{.ftz}.f16 p, a, b, {!}c:pred",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf{.ftz}.f16x2 p{|q}, a, b",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp_packed),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bool{.ftz}.f16x2 p{|q}, a, b, {!}c:pred",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp_packed),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bf16 p, a, b",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bool.bf16 p, a, b, {!}c:pred",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bf16x2 p{|q}, a, b",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp_packed),
        ..ROW
    },
    Row {
        syntax: "setp.cmpf.bool.bf16x2 p{|q}, a, b, {!}c:pred",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        class: class::compare,
        op: Operation::Compare,
        sink: true,
        sem: Sem::Ops(setp_packed),
        ..ROW
    },
    // selp, slct
    Row {
        syntax: "selp.type d, a, b, {!}c:pred",
        sets: &[SELECT],
        section: "9.7.7.3",
        class: |_| Class::Select,
        sem: Sem::Ops(|x| {
            let c = x.rd("c");
            select(x, c);
        }),
        ..ROW
    },
    Row {
        syntax: "slct.type.s32 d:type, a:type, b:type, c:.s32",
        sets: &[SELECT],
        section: "9.7.7.4",
        class: class::compare,
        sem: Sem::Ops(|x| {
            let c = x.rd("c");
            let p = x.op2(Op::LeSW, V::w(0), c);
            select(x, p);
        }),
        ..ROW
    },
    Row {
        syntax: "slct{.ftz}.type.f32 d:type, a:type, b:type, c:.f32",
        sets: &[SELECT],
        floors: &[FTZ],
        section: "9.7.7.4",
        class: class::compare,
        sem: Sem::Ops(|x| {
            let c = x.rd("c");
            let c = if ftz(x) { x.op1(Op::FlushF32, c) } else { c };
            let p = x.op2(Op::LeF32, V::w(0), c);
            select(x, p);
        }),
        ..ROW
    },
];

const SELECT: (&str, &str) = ("type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64");
const BF16: &[Floor] = &[floor(".bf16", ptx(7, 8), 90)];

/// Which relations an integer type has.
fn integer_relation(m: &Match) -> Result<(), String> {
    let rel = m.get("cmpi").unwrap_or("");
    let ty = m.ty("type").unwrap_or(Ty::B32);
    let legal = match ty.class() {
        _ if matches!(ty, Ty::U8x4 | Ty::U16x2) => true,
        _ if matches!(ty, Ty::S8x4 | Ty::S16x2) => !matches!(rel, ".lo" | ".ls" | ".hi" | ".hs"),
        TyClass::Uint => true,
        TyClass::Sint => !matches!(rel, ".lo" | ".ls" | ".hi" | ".hs"),
        _ => matches!(rel, ".eq" | ".ne"),
    };
    legal.then_some(()).ok_or_else(|| format!("comparison {rel} does not apply to type {ty}"))
}

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

/// `d = p ? a : b`.
fn select(x: &mut Cx, p: V) {
    let (a, b) = (x.rd("a"), x.rd("b"));
    let op = if a.kind == Kind::D { Op::SelD } else { Op::SelW };
    let d = x.op3(op, a, b, p);
    x.wr("d", d);
}

/// `a rel b` of type `ty`.
fn relation(x: &mut Cx, ty: Ty, rel: &str, a: V, b: V) -> V {
    match ty {
        Ty::F16 | Ty::Bf16 => {
            let k = half_mode(ty).0;
            let flush = x.has(".ftz");
            let [a, b] = [a, b].map(|v| {
                let v = if flush { x.op_k(Op::FlushHalf, &[v], k) } else { v };
                x.op_k(Op::WidenHalf, &[v], k)
            });
            float_relation(x, false, rel, a, b)
        }
        Ty::F32 => {
            let flush = ftz(x);
            let [a, b] = [a, b].map(|v| if flush { x.op1(Op::FlushF32, v) } else { v });
            float_relation(x, false, rel, a, b)
        }
        Ty::F64 if demoted(x) => {
            let (a, b) = (demote(x, a), demote(x, b));
            relation(x, Ty::F32, rel, a, b)
        }
        Ty::F64 => float_relation(x, true, rel, a, b),
        _ => {
            let signed = ty.signed();
            let [a, b] = [a, b].map(|v| if signed { x.sext(v, ty.bits()) } else { v });
            int_relation(x, signed, rel, a, b)
        }
    }
}

fn int_relation(x: &mut Cx, signed: bool, rel: &str, a: V, b: V) -> V {
    let wide = a.kind == Kind::D;
    let (eq, ne, lt, le) = match (wide, signed) {
        (false, false) => (Op::EqW, Op::NeW, Op::LtUW, Op::LeUW),
        (false, true) => (Op::EqW, Op::NeW, Op::LtSW, Op::LeSW),
        (true, false) => (Op::EqD, Op::NeD, Op::LtUD, Op::LeUD),
        (true, true) => (Op::EqD, Op::NeD, Op::LtSD, Op::LeSD),
    };
    match rel {
        ".eq" => x.op2(eq, a, b),
        ".ne" => x.op2(ne, a, b),
        ".lt" | ".lo" => x.op2(lt, a, b),
        ".le" | ".ls" => x.op2(le, a, b),
        ".gt" | ".hi" => x.op2(lt, b, a),
        _ => x.op2(le, b, a),
    }
}

/// The ordered relations, swapped or negated: `.ltu` is "not ordered and greater or equal".
fn float_relation(x: &mut Cx, wide: bool, rel: &str, a: V, b: V) -> V {
    let (eq, ne, lt, le, num) = if wide {
        (Op::EqF64, Op::NeF64, Op::LtF64, Op::LeF64, Op::NumF64)
    } else {
        (Op::EqF32, Op::NeF32, Op::LtF32, Op::LeF32, Op::NumF32)
    };
    let (op, swap, not) = match rel {
        ".eq" => (eq, false, false),
        ".ne" => (ne, false, false),
        ".lt" => (lt, false, false),
        ".le" => (le, false, false),
        ".gt" => (lt, true, false),
        ".ge" => (le, true, false),
        ".equ" => (ne, false, true),
        ".neu" => (eq, false, true),
        ".ltu" => (le, true, true),
        ".leu" => (lt, true, true),
        ".gtu" => (le, false, true),
        ".geu" => (lt, false, true),
        ".num" => (num, false, false),
        _ => (num, false, true),
    };
    let p = if swap { x.op2(op, b, a) } else { x.op2(op, a, b) };
    if not { x.op1(Op::NotP, p) } else { p }
}

/// The relation that the modifiers name.
fn rel(x: &Cx) -> &'static str {
    let r = x.get("cmpi");
    if r.is_empty() { x.get("cmpf") } else { r }
}

/// Combines a result with predicate operand `c`.
fn combine(x: &mut Cx, p: V) -> V {
    let op = match x.get("bool") {
        ".and" => Op::AndP,
        ".or" => Op::OrP,
        ".xor" => Op::XorP,
        _ => return p,
    };
    let c = x.rd("c");
    x.op2(op, p, c)
}

/// The source type of a comparison.
fn source(x: &Cx) -> Ty {
    x.slot_ty("a").expect("comparisons have a type")
}

fn setp(x: &mut Cx) {
    let (ty, rel) = (source(x), rel(x));
    let (a, b) = (x.rd("a"), x.rd("b"));
    let p = relation(x, ty, rel, a, b);
    if matches!(x.arg("p"), crate::meaning::Arg::Both(..)) {
        let not = x.op1(Op::NotP, p);
        let second = combine(x, not);
        x.wr_second("p", second);
    }
    let first = combine(x, p);
    x.wr("p", first);
}

/// The relation of both halves, combined with `c`: low, high.
fn packed_relation(x: &mut Cx) -> (V, V) {
    let ty = if source(x) == Ty::F16x2 { Ty::F16 } else { Ty::Bf16 };
    let rel = rel(x);
    let (a, b) = (x.rd("a"), x.rd("b"));
    let [low_a, low_b] = [a, b].map(|v| x.zext(v, 16));
    let low = relation(x, ty, rel, low_a, low_b);
    let [high_a, high_b] = [a, b].map(|v| x.op1(Op::High16, v));
    let high = relation(x, ty, rel, high_a, high_b);
    (combine(x, low), combine(x, high))
}

fn setp_packed(x: &mut Cx) {
    let (low, high) = packed_relation(x);
    x.wr("p", low);
    x.wr_second("p", high);
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
