//! Conversions between fundamental types (PTX ISA 9.7.10.24).

use super::float::{FTZ, demote, demoted, rounding};
use super::half::half_mode;
use crate::class;
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::num::Rnd;
use crate::num::cvt::Ty as Num;
use crate::num::mode::Mode;
use crate::row::{Operation, ROW, Row, Sem};
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;

const ALL: &str = ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f16 .f32 .f64";
pub(super) const IRND: (&str, &str) = ("irnd", ".rni .rzi .rmi .rpi");

const CVT: Row = Row {
    does: "Converts a value to another type.",
    section: "9.7.10.24",
    class: class::convert,
    op: Operation::Convert,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cvt{.irnd}{.rnd}{.ftz}{.sat}.dtype.type d:dtype>, a:type>",
        sets: &[IRND, ("dtype", ALL), ("type", ALL)],
        floors: &[FTZ],
        check: Some(|m: &Match| {
            let late = m.has(".ftz")
                && (m.ty("dtype").is_some_and(|t| t.bits() == 64)
                    || m.ty("type").is_some_and(|t| t.bits() == 8));
            if late {
                return Err("modifier .ftz needs PTX ISA 1.5 for these types".into());
            }
            check(m)
        }),
        sem: Sem::Ops(convert),
        ..CVT
    },
    // PTX ISA 1.4 has `.ftz` neither for these destinations nor for these sources.
    Row {
        syntax: "cvt{.irnd}.ftz{.sat}.dtype.type d:dtype>, a:type>",
        sets: &[IRND, ("dtype", ".u64 .s64 .f64"), ("type", ".f32")],
        since: ptx(1, 5),
        check: Some(check),
        sem: Sem::Ops(convert),
        ..CVT
    },
    Row {
        syntax: "cvt.rnd.ftz{.sat}.dtype.type d:dtype>, a:type>",
        sets: &[("dtype", ".f32"), ("type", ".u8 .s8")],
        since: ptx(1, 5),
        check: Some(check),
        sem: Sem::Ops(convert),
        ..CVT
    },
];

/// Significant bits and range of a type, for "is every value of that also one of this".
fn contains(outer: Ty, inner: Ty) -> bool {
    match (outer.is_float(), inner.is_float()) {
        (false, false) => {
            let (o, i) = (outer.bits(), inner.bits());
            match (outer.signed(), inner.signed()) {
                (a, b) if a == b => o >= i,
                (true, false) => o > i,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Which modifiers a conversion between two fundamental types takes, as ptxas has it.
pub(super) fn check(m: &Match) -> Result<(), String> {
    let (Some(d), Some(s)) = (m.ty("dtype"), m.ty("type")) else { return Ok(()) };
    let (irnd, frnd) = (m.get("irnd"), m.get("rnd"));
    let fail = |text: String| Err(text);
    let integral = match (d.is_float(), s.is_float()) {
        (false, true) => true,
        (true, true) => d == s,
        _ => false,
    };
    let narrowing = d.is_float() && (!s.is_float() || d.bits() < s.bits());
    let missing = match (d.is_float(), s.is_float()) {
        (false, true) => irnd.is_none(),
        (true, false) => frnd.is_none(),
        (true, true) => d.bits() < s.bits() && frnd.is_none(),
        (false, false) => false,
    };
    if missing {
        let which = if d.is_float() { ".rn .rz .rm .rp" } else { ".rni .rzi .rmi .rpi" };
        return fail(format!("cvt from {s} to {d} needs a rounding modifier ({which})"));
    }
    if let Some(r) = irnd
        && !integral
    {
        return fail(format!("integer rounding {r} does not apply from {s} to {d}"));
    }
    if let Some(r) = frnd
        && !narrowing
    {
        return fail(format!("rounding {r} does not apply from {s} to {d}"));
    }
    if m.has(".ftz") && d != Ty::F32 && s != Ty::F32 {
        return fail(format!("modifier .ftz does not apply from {s} to {d}: neither is .f32"));
    }
    if m.has(".sat") && contains(d, s) {
        return fail(format!("modifier .sat does not apply: {d} holds every value of {s}"));
    }
    Ok(())
}

/// A type as the numerics know it.
fn num(t: Ty) -> Num {
    match t {
        Ty::U8 => Num::U8,
        Ty::U16 => Num::U16,
        Ty::U32 => Num::U32,
        Ty::U64 => Num::U64,
        Ty::S8 => Num::S8,
        Ty::S16 => Num::S16,
        Ty::S32 => Num::S32,
        Ty::S64 => Num::S64,
        Ty::F16 => Num::F16,
        Ty::Bf16 => Num::Bf16,
        Ty::F32 => Num::F32,
        _ => Num::F64,
    }
}

/// The rounding that is meant: without one, to nearest for a float and toward zero for an integer
/// (PTX ISA 1.x).
fn conversion_rounding(x: &Cx, dst: Ty) -> Rnd {
    match x.get("irnd") {
        ".rni" => Rnd::Rn,
        ".rzi" => Rnd::Rz,
        ".rmi" => Rnd::Rm,
        ".rpi" => Rnd::Rp,
        _ if x.get("rnd").is_empty() && !dst.is_float() => Rnd::Rz,
        _ => rounding(x),
    }
}

/// Whether `.f32` operands and results of a conversion are flushed.
fn flushing(x: &Cx, dst: Ty, src: Ty, rnd: Rnd) -> bool {
    if x.has(".ftz") {
        // The hardware does not flush the operand of these two, unlike the manual.
        let kept = dst == Ty::F16 && src == Ty::F32 && matches!(rnd, Rnd::Rm | Rnd::Rp);
        return !(kept && x.sm() >= 50);
    }
    // Up to PTX ISA 1.4 conversions that involve 64 bits do not flush on sm_1x.
    let wide = dst.bits() == 64 || src.bits() == 64;
    x.sm() < 20 && (x.module.version > ptx(1, 4) || !wide)
}

/// The types that the modifiers name, demoted doubles as `.f32`.
fn types(x: &Cx) -> (Ty, Ty) {
    let demoted = demoted(x);
    let single = |t: Ty| if t == Ty::F64 && demoted { Ty::F32 } else { t };
    let slot = |n| x.slot_ty(n).expect("conversions have types");
    (single(slot("d")), single(slot("a")))
}

pub(super) fn convert(x: &mut Cx) {
    let declared = x.slot_ty("d");
    let mut a = x.rd("a");
    if demoted(x) && x.slot_ty("a") == Some(Ty::F64) {
        a = demote(x, a);
    }
    let (dst, src) = types(x);
    let rnd = conversion_rounding(x, dst);
    let d = if dst.is_float() || src.is_float() {
        let mode = Mode::NONE
            .types(num(dst), num(src))
            .rnd(rnd)
            .ftz(flushing(x, dst, src, rnd))
            .sat(x.has(".sat"))
            // Rounding to an integral value; see `num::mode::convert`.
            .relu(!x.get("irnd").is_empty() && dst == src);
        float_conversion(x, dst, src, mode, a)
    } else if x.has(".sat") {
        let clamped = clamp(x, dst, src, a);
        int_conversion(x, dst, src, clamped)
    } else {
        int_conversion(x, dst, src, a)
    };
    let d = if d.kind == Kind::W { x.zext(d, dst.bits()) } else { d };
    let d = if declared == Some(Ty::F64) && dst == Ty::F32 { x.op1(Op::ZextWD, d) } else { d };
    x.wr("d", d);
}

/// Any conversion, by the micro-op that reads its modifiers from the constant.
fn generic(x: &mut Cx, dst: Ty, mode: Mode, a: V) -> V {
    let op = match (a.kind, dst.kind()) {
        (Kind::D, Kind::D) => Op::CvtDD,
        (Kind::D, _) => Op::CvtDW,
        (_, Kind::D) => Op::CvtWD,
        _ => Op::CvtWW,
    };
    x.op_k(op, &[a], mode.0)
}

fn float_conversion(x: &mut Cx, dst: Ty, src: Ty, mode: Mode, a: V) -> V {
    let (a, src) = match src {
        // Narrow integers are exact in every rounding, so they can come from 32 bits.
        Ty::U8 | Ty::U16 if matches!(dst, Ty::F32 | Ty::F64) => (a, Ty::U32),
        Ty::S8 | Ty::S16 if matches!(dst, Ty::F32 | Ty::F64) => (x.sext(a, src.bits()), Ty::S32),
        _ => (a, src),
    };
    let mode = mode.types(num(dst), num(src));
    let plain = |rnd| mode == Mode::NONE.types(num(dst), num(src)).rnd(rnd);
    let integral = mode == mode.ftz(false).sat(false);
    let hot = match (dst, src) {
        (Ty::F32, Ty::S32) if plain(Rnd::Rn) => Op::CvtF32S32,
        (Ty::F32, Ty::U32) if plain(Rnd::Rn) => Op::CvtF32U32,
        (Ty::F64, Ty::S32) => Op::CvtF64S32,
        (Ty::F64, Ty::U32) => Op::CvtF64U32,
        (Ty::F32, Ty::F64) if plain(Rnd::Rn) => Op::CvtF32F64,
        (Ty::F64, Ty::F32) if plain(Rnd::Rn) => Op::CvtF64F32,
        (Ty::F16, Ty::F32) if plain(Rnd::Rn) => Op::CvtF16F32,
        (Ty::Bf16, Ty::F32) if plain(Rnd::Rn) => Op::CvtBf16F32,
        (Ty::F32, Ty::F16) if plain(Rnd::Rn) => Op::CvtF32F16,
        (Ty::F32, Ty::F32) if integral && !x.get("irnd").is_empty() => integral_op(x, false),
        (Ty::F64, Ty::F64) if integral && !x.get("irnd").is_empty() => integral_op(x, true),
        (_, Ty::F32 | Ty::F16 | Ty::Bf16) if dst.is_int() && dst.bits() <= 32 => {
            // Round, cut to 32 bits, then clamp: NaN is 0 throughout.
            let a = if src == Ty::F32 { a } else { x.op_k(Op::WidenHalf, &[a], half_mode(src).0) };
            let a = if mode != mode.ftz(false) { x.op1(Op::FlushF32, a) } else { a };
            let op = integral_op(x, false);
            let whole = if op == Op::TruncF32 { a } else { x.op1(op, a) };
            if dst == Ty::U32 {
                return x.op1(Op::CvtRzU32F32, whole);
            }
            let cut = x.op1(Op::CvtRzS32F32, whole);
            return if dst == Ty::S32 { cut } else { clamp(x, dst, Ty::S32, cut) };
        }
        (Ty::S32, Ty::F64) => {
            let op = integral_op(x, true);
            let whole = if op == Op::TruncF64 { a } else { x.op1(op, a) };
            return x.op1(Op::CvtRzS32F64, whole);
        }
        _ => return generic(x, dst, mode, a),
    };
    // `.sat` is the one modifier that the exact conversions to `.f64` take.
    if dst == Ty::F64 && src != Ty::F64 && mode != mode.sat(false) {
        return generic(x, dst, mode, a);
    }
    x.op1(hot, a)
}

/// The micro-op of the integer rounding that the modifiers name; toward zero without one.
fn integral_op(x: &Cx, wide: bool) -> Op {
    match (x.get("irnd"), wide) {
        (".rni", false) => Op::RintF32,
        (".rmi", false) => Op::FloorF32,
        (".rpi", false) => Op::CeilF32,
        (_, false) => Op::TruncF32,
        (".rni", true) => Op::RintF64,
        (".rmi", true) => Op::FloorF64,
        (".rpi", true) => Op::CeilF64,
        (_, true) => Op::TruncF64,
    }
}

/// An integer of type `src` clamped to the range of `dst`, still at the width of `src` (a narrow
/// signed one extended to 32 bits).
fn clamp(x: &mut Cx, dst: Ty, src: Ty, a: V) -> V {
    let wide = a.kind == Kind::D;
    let a = if src.signed() { x.sext(a, src.bits()) } else { a };
    let constant = |v: i64| if wide { V::d(v as u64) } else { V::w(v as u32) };
    let below = if dst.signed() { dst.bits() - 1 } else { dst.bits() };
    let greatest = (u64::MAX >> (64 - below)) as i64;
    // It matters if the source's width has values above it.
    let source_width = if wide { 64 } else { 32 };
    let top = source_width - u32::from(src.signed());
    let a = match (below < top, src.signed(), wide) {
        (false, ..) => a,
        (_, false, false) => x.op2(Op::MinUW, a, constant(greatest)),
        (_, false, true) => x.op2(Op::MinUD, a, constant(greatest)),
        (_, true, false) => x.op2(Op::MinSW, a, constant(greatest)),
        (_, true, true) => x.op2(Op::MinSD, a, constant(greatest)),
    };
    let least = if dst.signed() { -1i64 << (dst.bits() - 1) } else { 0 };
    match (src.signed(), wide) {
        (true, _) if dst.signed() && dst.bits() >= src.bits() => a,
        (true, false) => x.op2(Op::MaxSW, a, constant(least)),
        (true, true) => x.op2(Op::MaxSD, a, constant(least)),
        (false, _) => a,
    }
}

/// Conversion between integers: extension by the source's sign, or cutting.
fn int_conversion(x: &mut Cx, dst: Ty, src: Ty, a: V) -> V {
    match (a.kind, dst.kind()) {
        (Kind::D, Kind::D) => a,
        (Kind::D, _) => x.op1(Op::TruncDW, a),
        (_, Kind::D) => x.extend(a, src, dst),
        _ if src.signed() => x.sext(a, src.bits()),
        _ => a,
    }
}
