//! Relations between values, for the rows of `set` and `setp` (PTX ISA 9.7.7, 9.7.8).

use super::float::{demote, demoted, ftz};
use super::half::half_mode;
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::types::{Kind, Ty, TyClass};
use crate::uop::Op;

pub(super) const INT: (&str, &str) = ("type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64");

/// Which relations an integer type has.
pub(super) fn integer_relation(m: &Match) -> Result<(), String> {
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

/// `a rel b` of type `ty`.
pub(super) fn relation(x: &mut Cx, ty: Ty, rel: &str, a: V, b: V) -> V {
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
pub(super) fn rel(x: &Cx) -> &'static str {
    let r = x.get("cmpi");
    if r.is_empty() { x.get("cmpf") } else { r }
}

/// Combines a result with predicate operand `c`.
pub(super) fn combine(x: &mut Cx, p: V) -> V {
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
pub(super) fn source(x: &Cx) -> Ty {
    x.slot_ty("a").expect("comparisons have a type")
}

/// The relation of both halves, combined with `c`: low, high.
pub(super) fn packed_relation(x: &mut Cx) -> (V, V) {
    let ty = if source(x) == Ty::F16x2 { Ty::F16 } else { Ty::Bf16 };
    let rel = rel(x);
    let (a, b) = (x.rd("a"), x.rd("b"));
    let [low_a, low_b] = [a, b].map(|v| x.zext(v, 16));
    let low = relation(x, ty, rel, low_a, low_b);
    let [high_a, high_b] = [a, b].map(|v| x.op1(Op::High16, v));
    let high = relation(x, ty, rel, high_a, high_b);
    (combine(x, low), combine(x, high))
}
