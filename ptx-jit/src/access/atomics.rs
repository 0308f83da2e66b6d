//! Integer atomics and compare-and-swap, lane by lane in lane order.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, BlockArg, InstBuilder, Value};
use ptx_isa::Space;
use ptx_isa::effect::{Atom, AtomOp};

use super::address::addresses;
use super::checked::checked;
use super::found::{lanes, or_scratch};
use super::results::{finish, jump_with, regroup};
use super::slow::{executing, skip_if_none};
use super::which::rmw;
use crate::clif::plain;
use crate::generator::{Gen, Rep};

/// An atomic, lane by lane in lane order.
pub(super) fn atom(g: &mut Gen<'_, '_>, e: u32, a: Atom) {
    let info = &g.f.effects[e as usize];
    let (base, value, dst) = (info.src[0], info.src[1], info.dst.clone());
    let mask = executing(g, e);
    let operand =
        |g: &mut Gen<'_, '_>, v| if g.g.scalar() { vec![g.scalar(v)] } else { g.vector(v) };
    let values = operand(g, value);
    // What a compare-and-swap writes; `values` is then what it compares with.
    let swapped = info.src.get(2).filter(|_| a.op == AtomOp::Cas).map(|v| operand(g, *v));
    let address = addresses(g, base, &a.place);
    let stop = skip_if_none(g, e, mask.as_deref());
    let (join, found) = checked(g, e, &address, mask.as_deref(), &a.place, a.bytes as u64);
    let kind = g.kind(value);
    let bits = mask.as_ref().map(|mask| g.bits_of(mask));
    let mut olds = Vec::new();
    for (l, (p, at)) in lanes(g, &found, 0).into_iter().enumerate() {
        let x = if g.g.scalar() { values[0] } else { g.lane(&values, kind, l) };
        let swapped =
            swapped.as_ref().map(|new| if g.g.scalar() { new[0] } else { g.lane(new, kind, l) });
        if a.place.space == Space::Shared {
            // One host thread runs a block.
            let (p, at) = match &bits {
                Some(bits) => (or_scratch(g, bits, l, p, at), 0),
                None => (p, at),
            };
            let ty = g.b.func.dfg.value_type(x);
            let old = g.b.ins().load(ty, plain(), p, at);
            let new = match (swapped, rmw(a.op)) {
                (Some(new), _) => {
                    let same = g.b.ins().icmp(IntCC::Equal, old, x);
                    g.b.ins().select(same, new, old)
                }
                (None, Some(op)) => updated(g, op, old, x),
                (None, None) => unreachable!("`quick_atom` takes no other"),
            };
            g.b.ins().store(plain(), new, p, at);
            olds.push(old);
            continue;
        }
        let p = if at == 0 { p } else { g.b.ins().iadd_imm_s(p, at as i64) };
        let ty = g.b.func.dfg.value_type(x);
        // Lanes that are off pay for no atomic.
        let after = bits.as_ref().map(|bits| {
            let on = g.on(bits, l);
            let (here, after) = (g.b.create_block(), g.b.create_block());
            let zero = g.b.ins().iconst(ty, 0);
            g.b.append_block_param(after, ty);
            g.b.ins().brif(on, here, &[], after, &[BlockArg::Value(zero)]);
            g.b.switch_to_block(here);
            after
        });
        let old = match (swapped, rmw(a.op)) {
            (Some(new), _) => g.b.ins().atomic_cas(plain(), p, x, new),
            (None, Some(op)) => g.b.ins().atomic_rmw(ty, plain(), op, p, x),
            (None, None) => unreachable!("`quick_atom` takes no other"),
        };
        olds.push(match after {
            Some(after) => {
                g.b.ins().jump(after, &[BlockArg::Value(old)]);
                g.b.switch_to_block(after);
                g.b.block_params(after)[0]
            }
            None => old,
        });
    }
    let out: Vec<Rep> = match dst.is_empty() {
        true => Vec::new(),
        false if g.g.scalar() => vec![Rep::Scalar(olds[0])],
        false => vec![Rep::Slices(g.pack(kind, &olds, false))],
    };
    let out = match join {
        Some(join) => {
            jump_with(g, join, &out);
            g.b.switch_to_block(join);
            let params = g.b.block_params(join).to_vec();
            regroup(g, &dst, &params)
        }
        None => out,
    };
    finish(g, e, out, stop);
}

/// What the atomic makes of `old`.
fn updated(g: &mut Gen<'_, '_>, op: AtomicRmwOp, old: Value, x: Value) -> Value {
    match op {
        AtomicRmwOp::Add => g.b.ins().iadd(old, x),
        AtomicRmwOp::Sub => g.b.ins().isub(old, x),
        AtomicRmwOp::And => g.b.ins().band(old, x),
        AtomicRmwOp::Nand => {
            let both = g.b.ins().band(old, x);
            g.b.ins().bnot(both)
        }
        AtomicRmwOp::Or => g.b.ins().bor(old, x),
        AtomicRmwOp::Xor => g.b.ins().bxor(old, x),
        AtomicRmwOp::Xchg => x,
        AtomicRmwOp::Umin => g.b.ins().umin(old, x),
        AtomicRmwOp::Umax => g.b.ins().umax(old, x),
        AtomicRmwOp::Smin => g.b.ins().smin(old, x),
        AtomicRmwOp::Smax => g.b.ins().smax(old, x),
    }
}
