//! The lanes that execute an effect, and the way of its helper.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Effect;

use super::address::{Address, staged};
use super::results::{result_types, zero};
use super::rows::{columns_of, stays, turned};
use crate::clif::{at, plain};
use crate::ctx::{Ctx, WATCH};
use crate::generator::{Gen, Rep};

/// The lanes that execute effect `e`; `None`: all.
pub(super) fn executing(g: &mut Gen<'_, '_>, e: u32) -> Option<Vec<Value>> {
    let guard = g.f.effects[e as usize].guard;
    let Some((p, neg)) = guard else { return g.mask.clone() };
    if g.divergence.of[p as usize].uniform() {
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
pub(super) fn skip_if_none(g: &mut Gen<'_, '_>, e: u32, mask: Option<&[Value]>) -> Option<Block> {
    let (p, neg) = g.f.effects[e as usize].guard?;
    let any = if g.divergence.of[p as usize].uniform() {
        let p = g.scalar(p);
        if neg { g.b.ins().bxor_imm_u(p, 1) } else { p }
    } else {
        let mask = mask?;
        if g.form.bit_masks() { g.any_of(mask) } else { any(g, mask) }
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

fn any(g: &mut Gen<'_, '_>, mask: &[Value]) -> Value {
    let mut all = mask[0];
    for m in &mask[1..] {
        all = g.b.ins().bor(all, *m);
    }
    g.any(all)
}

/// The helper's way; the results. `address` with its offset is source 0, if it was computed.
pub(super) fn slow(
    g: &mut Gen<'_, '_>,
    e: u32,
    mask: Option<&[Value]>,
    address: Option<(&Address, i64)>,
) -> Vec<Rep> {
    let src = g.f.effects[e as usize].src.clone();
    let dst = g.f.effects[e as usize].dst.clone();
    let kept = matches!(g.f.effects[e as usize].effect, Effect::St(_)) && stays(g, e);
    let columns = kept.then(|| {
        let rows: Vec<Vec<Value>> = src[1..].iter().map(|v| g.vector_here(*v)).collect();
        turned(g, &rows, columns_of)
    });
    for (n, v) in src.iter().enumerate() {
        if g.g.scalar() {
            let x = g.scalar(*v);
            let x = if g.kind(*v) == Kind::P { g.b.ins().bmask(I32, x) } else { x };
            g.b.ins().store(plain(), x, g.ctx, src_at(n));
            continue;
        }
        let x = match address {
            Some((a, offset)) if n == 0 => staged(g, a, offset, g.kind(*v)),
            _ => match &columns {
                Some(columns) if n > 0 => columns[n - 1].clone(),
                _ => g.vector_here(*v),
            },
        };
        g.stage(&x, src_at(n));
    }
    stage_mask(g, mask);
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
                    Kind::W | Kind::D => x,
                })
            } else {
                Rep::Slices(g.unstage(kind, dst_at(n)))
            }
        })
        .collect()
}

fn stage_mask(g: &mut Gen<'_, '_>, mask: Option<&[Value]>) {
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
}

/// Tells the watcher of an access before it is done, where it wants to know. `address` is with its `offset`.
pub(super) fn watch(
    g: &mut Gen<'_, '_>,
    e: u32,
    address: &Address,
    mask: Option<&[Value]>,
    offset: i64,
) {
    let base = g.f.effects[e as usize].src[0];
    if g.g.scalar() {
        let x = g.scalar(base);
        g.b.ins().store(plain(), x, g.ctx, src_at(0));
    } else {
        let x = staged(g, address, offset, g.kind(base));
        g.stage(&x, src_at(0));
    }
    stage_mask(g, mask);
    let f = g.b.ins().load(I64, plain(), g.ctx, at!(effect));
    let e = g.b.ins().iconst(I64, e as i64 | WATCH);
    let site = g.b.ins().iconst(I64, -1);
    let (sig, ctx) = (g.helper_effect, g.ctx);
    g.b.ins().call_indirect(sig, f, &[ctx, e, site]);
    g.fail_if_asked();
}

fn src_at(n: usize) -> i32 {
    at!(src) + n as i32 * 256
}
fn dst_at(n: usize) -> i32 {
    at!(dst) + n as i32 * 256
}
