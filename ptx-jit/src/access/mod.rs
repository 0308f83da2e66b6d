//! Loads, stores and the other effects.
//!
//! Every effect has a slow way: operands and mask are staged, a helper does it lane by lane with
//! all checks. Weak loads and stores also have a fast way: one check that everything lies in the
//! allocation that this instruction touched last, and is aligned; then plain host accesses.

mod address;
mod atomics;
mod check;
mod gather;
mod transfer;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value};
use ptx_isa::effect::{Effect, Mem, MemoryPlace};
use ptx_isa::{Kind, Space};

use self::address::{Address, staged};
use self::atomics::{atom, quick_atom};
use self::check::{Found, check};
pub(crate) use self::check::{REACH, site_of};
use self::transfer::{jump_with, load, store};
use crate::ctx::Ctx;
use crate::emit::{Gen, Rep, at, plain};
use crate::ir::Val;

/// Fast accesses need this.
pub(crate) fn quick(m: &Mem) -> bool {
    use Space::*;
    let space = matches!(m.place.space, Global | Generic | Shared | Const | Local | ParamFunc);
    space && matches!(m.bytes, 1 | 2 | 4 | 8) && m.count <= 4
}

/// Whether every thread has its own memory there.
pub(crate) fn own(m: &Mem) -> bool {
    matches!(m.place.space, Space::Local | Space::ParamFunc)
}

/// Bytes of local memory per thread.
pub(crate) fn local_bytes(f: &crate::ir::Func) -> usize {
    (f.frame_bytes as usize).next_multiple_of(16)
}

pub(crate) fn effect(g: &mut Gen<'_, '_>, e: u32) {
    let f = g.f;
    let info = &f.effects[e as usize];
    match &info.effect {
        Effect::Fence(..) => {
            g.b.ins().fence();
        }
        Effect::Yield => {}
        Effect::Ld(m) if quick(m) => load(g, e, *m),
        Effect::St(m) if quick(m) => store(g, e, *m),
        Effect::Atom(a) if quick_atom(a) => atom(g, e, *a),
        _ => {
            let mask = executing(g, e);
            // What the effect reads must be known whether any lane executes it or not.
            for v in g.f.effects[e as usize].src.clone() {
                if g.g.scalar() {
                    g.scalar(v);
                } else {
                    g.vector(v);
                }
            }
            let stop = skip_if_none(g, e, mask.as_deref());
            let out = slow(g, e, mask.as_deref(), None);
            finish(g, e, out, stop);
        }
    }
}

/// The lanes that execute effect `e`; `None`: all.
fn executing(g: &mut Gen<'_, '_>, e: u32) -> Option<Vec<Value>> {
    let guard = g.f.effects[e as usize].guard;
    let Some((p, neg)) = guard else { return g.mask.clone() };
    if g.shapes.of[p as usize].uniform() {
        // All or none, which `skip_if_none` finds.
        return g.mask.clone();
    }
    let p = g.vector(p);
    let mut out = Vec::with_capacity(p.len());
    for (s, p) in p.iter().enumerate() {
        let p = if neg { g.b.ins().bnot(*p) } else { *p };
        out.push(match &g.mask {
            Some(m) => {
                let m = m[s];
                g.b.ins().band(m, p)
            }
            None => p,
        });
    }
    Some(out)
}

/// A guarded effect without executing lanes is no effect: where its values would go on.
fn skip_if_none(g: &mut Gen<'_, '_>, e: u32, mask: Option<&[Value]>) -> Option<Block> {
    let (p, neg) = g.f.effects[e as usize].guard?;
    let any = if g.shapes.of[p as usize].uniform() {
        let p = g.scalar(p);
        if neg { g.b.ins().bxor_imm_u(p, 1) } else { p }
    } else {
        let mask = mask?;
        if g.form.wide { g.any_of(mask) } else { any(g, mask) }
    };
    let (on, join) = (g.b.create_block(), g.b.create_block());
    let mut zeros = Vec::new();
    for d in g.f.effects[e as usize].dst.clone() {
        for ty in result_types(g, d) {
            g.b.append_block_param(join, ty);
            zeros.push(zero(g, ty));
        }
    }
    let pass: Vec<BlockArg> = zeros.into_iter().map(BlockArg::Value).collect();
    g.b.ins().brif(any, on, &[], join, &pass);
    g.b.switch_to_block(on);
    Some(join)
}

fn zero(g: &mut Gen<'_, '_>, ty: Type) -> Value {
    match ty {
        ty if ty == g.form.w() => g.same32(0),
        ty if ty == g.form.d() => g.same64(0),
        ty => g.b.ins().iconst(ty, 0),
    }
}

fn result_types(g: &Gen<'_, '_>, d: Val) -> Vec<Type> {
    let n = g.slices();
    match (g.offsets(d).is_some(), g.kind(d)) {
        (true, Kind::P) => vec![I8],
        (true, Kind::W) => vec![I32],
        (true, Kind::D) => vec![I64],
        (false, Kind::D) => vec![g.form.d(); 2 * n],
        (false, kind) => vec![g.form.of(kind); n],
    }
}

/// Defines the results, behind the guard's join if there is one.
fn finish(g: &mut Gen<'_, '_>, e: u32, out: Vec<Rep>, stop: Option<Block>) {
    let dst = g.f.effects[e as usize].dst.clone();
    let mut out = out;
    if let Some(join) = stop {
        let mut pass = Vec::new();
        for r in &out {
            match r {
                Rep::Scalar(x) => pass.push(BlockArg::Value(*x)),
                Rep::Slices(s) => pass.extend(s.iter().map(|x| BlockArg::Value(*x))),
            }
        }
        g.b.ins().jump(join, &pass);
        g.b.switch_to_block(join);
        let params = g.b.block_params(join).to_vec();
        out = regroup(g, &dst, &params);
    }
    for (d, r) in dst.into_iter().zip(out) {
        g.define(d, r);
    }
}

fn regroup(g: &Gen<'_, '_>, dst: &[Val], values: &[Value]) -> Vec<Rep> {
    let mut at = 0;
    dst.iter()
        .map(|d| {
            let n = result_types(g, *d).len();
            let part = values[at..at + n].to_vec();
            at += n;
            if g.offsets(*d).is_some() { Rep::Scalar(part[0]) } else { Rep::Slices(part) }
        })
        .collect()
}

fn any(g: &mut Gen<'_, '_>, mask: &[Value]) -> Value {
    let mut all = mask[0];
    for m in &mask[1..] {
        all = g.b.ins().bor(all, *m);
    }
    g.any(all)
}

/// The check of an access and its slow way. Goes on where the access is quick: the block behind both ways, with a parameter for
/// each part of the results, and where the lanes are.
fn checked(
    g: &mut Gen<'_, '_>,
    e: u32,
    address: &Address,
    mask: Option<&[Value]>,
    place: &MemoryPlace,
    bytes: u64,
) -> (Block, Found) {
    let (bad, site) = check(g, e, address, mask, place, bytes);
    let join = g.b.create_block();
    for d in g.f.effects[e as usize].dst.clone() {
        for ty in result_types(g, d) {
            g.b.append_block_param(join, ty);
        }
    }
    if let Some(bad) = bad {
        let (cold, quick) = (g.b.create_block(), g.b.create_block());
        g.b.set_cold_block(cold);
        g.b.ins().brif(bad, cold, &[], quick, &[]);
        g.b.switch_to_block(cold);
        let out = slow(g, e, mask, Some((address, place.offset)));
        jump_with(g, join, &out);
        g.b.switch_to_block(quick);
    }
    (join, site.found(g))
}

/// The helper's way; the results. `address` with its offset is source 0, if it was computed.
fn slow(
    g: &mut Gen<'_, '_>,
    e: u32,
    mask: Option<&[Value]>,
    address: Option<(&Address, i64)>,
) -> Vec<Rep> {
    let src = g.f.effects[e as usize].src.clone();
    let dst = g.f.effects[e as usize].dst.clone();
    for (n, v) in src.iter().enumerate() {
        if g.g.scalar() {
            let x = g.scalar(*v);
            let x = if g.kind(*v) == Kind::P { g.b.ins().bmask(I32, x) } else { x };
            g.b.ins().store(plain(), x, g.ctx, src_at(n));
            continue;
        }
        let x = match address {
            Some((a, offset)) if n == 0 => staged(g, a, offset, g.kind(*v)),
            _ => g.vector_here(*v),
        };
        g.stage(&x, src_at(n));
    }
    match mask {
        Some(m) => g.stage(m, at!(mask)),
        None if g.g.scalar() => {
            let on = g.b.ins().iconst(I32, -1);
            g.b.ins().store(plain(), on, g.ctx, at!(mask));
        }
        None => {
            let m = g.all_lanes();
            g.stage(&m, at!(mask));
        }
    }
    let site = match g.sites.iter().position(|s| s.effect == e) {
        Some(n) => n as i64,
        None => -1,
    };
    let f = g.b.ins().load(I64, plain(), g.ctx, at!(effect));
    let e = g.b.ins().iconst(I64, e as i64);
    let site = g.b.ins().iconst(I64, site);
    let sig = g.helper_effect;
    let ctx = g.ctx;
    g.b.ins().call_indirect(sig, f, &[ctx, e, site]);
    g.fail_if_asked_aside();
    dst.iter()
        .enumerate()
        .map(|(n, d)| {
            let kind = g.kind(*d);
            if g.offsets(*d).is_some() {
                // A uniform address: every executing lane has the same value, staged in lane 0.
                let ty = if kind == Kind::D { I64 } else { I32 };
                let x = g.b.ins().load(ty, plain(), g.ctx, dst_at(n));
                Rep::Scalar(match kind {
                    Kind::P => g.b.ins().icmp_imm_u(IntCC::NotEqual, x, 0),
                    _ => x,
                })
            } else {
                Rep::Slices(g.unstage(kind, dst_at(n)))
            }
        })
        .collect()
}

fn src_at(n: usize) -> i32 {
    at!(src) + n as i32 * 256
}
fn dst_at(n: usize) -> i32 {
    at!(dst) + n as i32 * 256
}
