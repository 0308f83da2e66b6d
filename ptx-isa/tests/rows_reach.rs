//! What a row says of its reach agrees with the micro-ops that its meaning appends.

use ptx_isa::effect::{BarKind, Effect};
use ptx_isa::meaning::{Addr, Arg, ModuleInfo, Selection, Src, Uop, V};
use ptx_isa::syntax::{Form, OperandSlot};
use ptx_isa::types::{Suffix, Target, ptx};
use ptx_isa::{Cx, Kind, Match, Reach, Sem, Ty, table};

/// A register operand of a type.
fn value(ty: Ty) -> Arg {
    let register = |kind| V { kind, src: Src::Reg(0) };
    match ty.bits() {
        128 => Arg::Pair(register(Kind::D), register(Kind::D)),
        _ => Arg::Val { v: register(ty.kind()), ty, part: Selection::Whole },
    }
}

/// An operand that fits a slot; `None` for those of control flow.
fn operand(m: &Match, slot: &OperandSlot) -> Option<Arg> {
    if slot.optional {
        return Some(Arg::Absent);
    }
    let ty = m.slot_ty(slot).unwrap_or(Ty::B32);
    let constant = slot.values.split('|').next().and_then(|v| v.parse::<i64>().ok()).unwrap_or(0);
    Some(match slot.form {
        Form::Value => {
            let one = match m.slot_count(slot) {
                Some(n) => Arg::Vector((0..n).map(|_| value(ty)).collect()),
                None => value(ty),
            };
            match slot.second {
                Some((_, false)) => Arg::Both(Box::new(one), Box::new(value(Ty::Pred))),
                Some((_, true)) | None => one,
            }
        }
        Form::Imm => {
            let v = V { kind: ty.kind(), src: Src::Const(constant as u64) };
            Arg::Val { v, ty, part: Selection::Whole }
        }
        Form::Addr => {
            let base = V { kind: Kind::D, src: Src::Reg(1) };
            Arg::Addr(Addr { base, offset: 0, named: None })
        }
        Form::Label | Form::Func | Form::Targets | Form::Args => return None,
    })
}

#[test]
fn reach_agrees_with_the_micro_ops() {
    let module = ModuleInfo {
        target: Target {
            sm: 90,
            suffix: Suffix::Arch,
            map_f64_to_f32: false,
            texmode_independent: false,
            debug: false,
        },
        version: ptx(9, 0),
        address_bits: 64,
    };
    let carry = V { kind: Kind::P, src: Src::Reg(9) };
    let (mut rows, mut across) = (0, 0);
    for (row, notation) in table().rows() {
        let Sem::Ops(meaning) = row.sem else { continue };
        let picked = notation.elems.iter().map(|e| (!e.optional).then(|| e.choices[0])).collect();
        let m = Match::new(row, notation, picked);
        let args: Option<Vec<Arg>> = notation.slots.iter().map(|s| operand(&m, s)).collect();
        let Some(args) = args else { continue };
        let mut uops = Vec::new();
        let mut x = Cx::new(&m, module, &args, carry, &mut uops);
        meaning(&mut x);
        if x.finish().is_err() || uops.is_empty() {
            continue;
        }
        rows += 1;
        let pure = uops.iter().all(|u| matches!(u, Uop::Pure { .. }));
        assert!(!pure || row.reach == Reach::Lane && !row.waits, "{} is pure", row.syntax);
        for uop in &uops {
            let Uop::Effect { effect, .. } = uop else { continue };
            match effect {
                Effect::Warp(op) => {
                    across += 1;
                    let members = op.members.is_some();
                    assert!(!members || row.reach > Reach::Lane, "{} has members", row.syntax);
                    assert_eq!((op.reach, op.waits), (row.reach, row.waits), "{}", row.syntax);
                }
                Effect::Bar(bar) => {
                    let cluster = matches!(bar.kind, BarKind::ClusterArrive | BarKind::ClusterWait);
                    let arrives = matches!(bar.kind, BarKind::ClusterArrive | BarKind::Arrive);
                    let reach = if cluster { Reach::Cluster } else { Reach::Block };
                    assert_eq!((row.reach, row.waits), (reach, !arrives), "{}", row.syntax);
                }
                _ => {}
            }
        }
    }
    assert!(rows > 300 && across > 100, "{rows} rows, {across} functions over the warp");
}
