//! Loads, stores and the other effects.
//!
//! Every effect has a slow way: operands and mask are staged, a helper does it lane by lane with
//! all checks. Weak loads and stores also have a fast way: one check that everything lies in the
//! allocation that this instruction touched last, and is aligned; then plain host accesses.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I8X16, I16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{AtomicRmwOp, BlockArg, InstBuilder, Type, Value};
use ptx_isa::effect::{Atom, AtomOp, Effect, Mem, Place};
use ptx_isa::{Kind, Space};

use ptx_isa::uop::Op as Pure;

use crate::ctx::{Ctx, SITE, Site};
use crate::emit::{Gen, Rep, SiteInfo, at, plain};
use crate::ir::{Func, Op, Val};
use crate::ops::{as_type, vconst32, vconst64, widen16};
use crate::shape::Shapes;

/// Fast accesses need this.
fn quick(m: &Mem) -> bool {
    use Space::*;
    let space = matches!(m.place.space, Global | Generic | Shared | Const | Local | ParamFunc);
    space && matches!(m.bytes, 1 | 2 | 4 | 8) && m.count <= 4
}

/// Atomics with code of their own.
fn quick_atom(a: &Atom) -> bool {
    use AtomOp::*;
    use Space::*;
    matches!(a.place.space, Global | Generic | Shared)
        && matches!(a.bytes, 4 | 8)
        && a.count <= 1
        && matches!(a.op, And | Or | Xor | Exch | Add | MinU | MaxU | MinS | MaxS)
}

/// Whether every thread has its own memory there.
fn own(m: &Mem) -> bool {
    matches!(m.place.space, Space::Local | Space::ParamFunc)
}

/// Bytes of local memory per thread.
pub(crate) fn local_bytes(f: &crate::ir::Func) -> usize {
    (f.frame_bytes as usize).next_multiple_of(16)
}

/// Addresses of an access: device addresses as `D`.
#[derive(Clone)]
enum Address {
    /// Lane 0's, and what each lane adds.
    Linear(Value, Vec<i64>),
    /// A number for all lanes (`None`: 0) plus 32 bits of each, extended, times `1 << shift`.
    Index {
        base: Option<Value>,
        index: Vec<Value>,
        shift: u32,
        signed: bool,
    },
    Lanes(Vec<Value>),
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
fn skip_if_none(
    g: &mut Gen<'_, '_>,
    e: u32,
    mask: Option<&[Value]>,
) -> Option<cranelift_codegen::ir::Block> {
    let (p, neg) = g.f.effects[e as usize].guard?;
    let any = if g.shapes.of[p as usize].uniform() {
        let p = g.scalar(p);
        if neg { g.b.ins().bxor_imm_u(p, 1) } else { p }
    } else {
        any(g, mask?)
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
        I32X4 => vconst32(&mut g.b, [0; 4]),
        I64X2 => vconst64(&mut g.b, [0; 2]),
        ty => g.b.ins().iconst(ty, 0),
    }
}

fn result_types(g: &Gen<'_, '_>, d: Val) -> Vec<Type> {
    let n = g.slices();
    match (g.offsets(d).is_some(), g.kind(d)) {
        (true, Kind::P) => vec![I8],
        (true, Kind::W) => vec![I32],
        (true, Kind::D) => vec![I64],
        (false, Kind::D) => vec![I64X2; 2 * n],
        (false, _) => vec![I32X4; n],
    }
}

/// Defines the results, behind the guard's join if there is one.
fn finish(g: &mut Gen<'_, '_>, e: u32, out: Vec<Rep>, stop: Option<cranelift_codegen::ir::Block>) {
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

fn all_on(g: &mut Gen<'_, '_>, mask: &[Value]) -> Value {
    let mut all = mask[0];
    for m in &mask[1..] {
        all = g.b.ins().band(all, *m);
    }
    let off = g.b.ins().bnot(all);
    let some_off = g.any(off);
    g.b.ins().icmp_imm_u(IntCC::Equal, some_off, 0)
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
            let on = vconst32(&mut g.b, [u32::MAX; 4]);
            let m = vec![on; g.slices()];
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
    g.fail_if_asked();
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

/// Slices of an address less its offset.
fn staged(g: &mut Gen<'_, '_>, address: &Address, offset: i64, kind: Kind) -> Vec<Value> {
    let less = |g: &mut Gen<'_, '_>, x: Value| {
        if offset == 0 { x } else { g.b.ins().iadd_imm_s(x, -offset) }
    };
    match address {
        Address::Linear(x, o) => {
            let x = less(g, *x);
            if kind == Kind::D {
                let x = g.b.ins().splat(I64X2, x);
                let lanes = o.chunks(2).map(|c| [c[0] as u64, c[1] as u64]);
                lanes
                    .map(|c| {
                        let c = vconst64(&mut g.b, c);
                        g.b.ins().iadd(x, c)
                    })
                    .collect()
            } else {
                let x = g.b.ins().ireduce(I32, x);
                vec![g.b.ins().splat(I32X4, x); g.slices()]
            }
        }
        Address::Index { base, index, shift, signed } if kind == Kind::D => {
            let zero = g.b.ins().iconst(I64, 0);
            let base = less(g, base.unwrap_or(zero));
            let base = g.b.ins().splat(I64X2, base);
            let mut out = Vec::new();
            for x in index {
                let halves = if *signed {
                    [g.b.ins().swiden_low(*x), g.b.ins().swiden_high(*x)]
                } else {
                    [g.b.ins().uwiden_low(*x), g.b.ins().uwiden_high(*x)]
                };
                for h in halves {
                    let h = g.b.ins().ishl_imm_u(h, i64::from(*shift));
                    out.push(g.b.ins().iadd(h, base));
                }
            }
            out
        }
        Address::Index { index, .. } => {
            let o = vconst32(&mut g.b, [(offset as u32).wrapping_neg(); 4]);
            index.iter().map(|x| g.b.ins().iadd(*x, o)).collect()
        }
        Address::Lanes(a) => {
            let o = vconst64(&mut g.b, [(offset as u64).wrapping_neg(); 2]);
            a.iter().map(|x| g.b.ins().iadd(*x, o)).collect()
        }
    }
}

fn src_at(n: usize) -> i32 {
    at!(src) + n as i32 * 256
}
fn dst_at(n: usize) -> i32 {
    at!(dst) + n as i32 * 256
}

/// Addresses with the constant offset added.
fn addresses(g: &mut Gen<'_, '_>, base: Val, place: &Place) -> Address {
    let off = place.offset;
    let linear = g.offsets(base).map(<[i64]>::to_vec);
    match (linear, g.kind(base)) {
        (Some(o), Kind::D) => {
            let x = g.scalar(base);
            let x = if off == 0 { x } else { g.b.ins().iadd_imm_s(x, off) };
            Address::Linear(x, o)
        }
        (Some(o), _) if o.iter().all(|o| *o == 0) => {
            let x = g.scalar(base);
            let x = if off == 0 { x } else { g.b.ins().iadd_imm_s(x, off as i32 as i64) };
            Address::Linear(g.b.ins().uextend(I64, x), o)
        }
        (_, Kind::D) => {
            let parts = indexed(g.f, g.shapes, base);
            // Parts that only other blocks use have no place here; uniform ones may be slices.
            let parts = parts.filter(|i| {
                g.available(i.index)
                    && i.base.iter().all(|(v, _)| g.available(*v) && g.is_scalar(*v))
            });
            if let Some(i) = parts {
                let index = g.vector(i.index);
                let mut sum = None;
                for (v, neg) in i.base {
                    let x = g.scalar(v);
                    sum = Some(match (sum, neg) {
                        (None, false) => x,
                        (None, true) => g.b.ins().ineg(x),
                        (Some(s), false) => g.b.ins().iadd(s, x),
                        (Some(s), true) => g.b.ins().isub(s, x),
                    });
                }
                let base = match sum {
                    Some(s) if off != 0 => Some(g.b.ins().iadd_imm_s(s, off)),
                    None if off != 0 => Some(g.b.ins().iconst(I64, off)),
                    sum => sum,
                };
                return Address::Index { base, index, shift: i.shift, signed: i.signed };
            }
            let x = g.vector(base);
            if off == 0 {
                return Address::Lanes(x);
            }
            let o = vconst64(&mut g.b, [off as u64; 2]);
            Address::Lanes(x.into_iter().map(|x| g.b.ins().iadd(x, o)).collect())
        }
        _ => {
            let x = g.vector(base);
            let o = vconst32(&mut g.b, [off as u32; 4]);
            let add = |x| if off == 0 { x } else { g.b.ins().iadd(x, o) };
            let index = x.into_iter().map(add).collect();
            Address::Index { base: None, index, shift: 0, signed: false }
        }
    }
}

/// An address as a sum.
struct Indexed {
    /// Values that are the same in all lanes, and whether they are subtracted.
    base: Vec<(Val, bool)>,
    index: Val,
    shift: u32,
    signed: bool,
}

/// Finds the 32 bits of each lane that an address is computed from.
fn indexed(f: &Func, shapes: &Shapes, v: Val) -> Option<Indexed> {
    let uniform = |v: Val| shapes.of[v as usize].uniform();
    let power = |v: Val| f.as_const(v).filter(|c| c.is_power_of_two() && *c <= 8);
    let (mut v, mut base) = (v, Vec::new());
    for _ in 0..16 {
        let i = &f.insts[v as usize];
        let Op::Pure(op, _) = i.op else { return None };
        let a = &i.args;
        let done = |base: Vec<(Val, bool)>, index: Val, shift: u32, signed: bool| {
            (!uniform(index)).then_some(Indexed { base, index, shift, signed })
        };
        match op {
            Pure::AddD if uniform(a[0]) => {
                base.push((a[0], false));
                v = a[1];
            }
            Pure::AddD if uniform(a[1]) => {
                base.push((a[1], false));
                v = a[0];
            }
            Pure::SubD if uniform(a[1]) => {
                base.push((a[1], true));
                v = a[0];
            }
            Pure::MovD => v = a[0],
            Pure::SextWD | Pure::ZextWD => return done(base, a[0], 0, op == Pure::SextWD),
            Pure::ShlD if f.as_const(a[1]).is_some_and(|c| c <= 3) => {
                let x = &f.insts[a[0] as usize];
                let Op::Pure(inner @ (Pure::SextWD | Pure::ZextWD), _) = x.op else { return None };
                let shift = f.as_const(a[1])? as u32;
                return done(base, x.args[0], shift, inner == Pure::SextWD);
            }
            Pure::MulD if power(a[1]).is_some() => {
                let x = &f.insts[a[0] as usize];
                let Op::Pure(inner @ (Pure::SextWD | Pure::ZextWD), _) = x.op else { return None };
                let shift = power(a[1])?.trailing_zeros();
                return done(base, x.args[0], shift, inner == Pure::SextWD);
            }
            Pure::MulWideS | Pure::MulWideU | Pure::MadWideS | Pure::MadWideU => {
                let shift = power(a[1])?.trailing_zeros();
                if a.len() == 3 {
                    if !uniform(a[2]) {
                        return None;
                    }
                    base.push((a[2], false));
                }
                let signed = matches!(op, Pure::MulWideS | Pure::MadWideS);
                return done(base, a[0], shift, signed);
            }
            _ => return None,
        }
    }
    None
}

/// Bytes from one lane's own memory to the next one's; 0 where they share it.
fn apart(g: &Gen<'_, '_>, m: &Mem) -> i64 {
    if own(m) { local_bytes(g.f) as i64 } else { 0 }
}

/// The memory that an access site knows.
struct Known {
    /// First address; `None`: 0.
    start: Option<Value>,
    /// Units that an access can start at; see [`crate::ctx::Site`].
    room: Value,
    /// Host memory of the first address.
    host: Value,
}

/// The site of effect `e`: `span` bytes are touched from the checked address on, which is a multiple of `unit`.
fn known(g: &mut Gen<'_, '_>, e: u32, place: &Place, span: u64, unit: u64, narrow: bool) -> Known {
    let ctx = g.ctx;
    if matches!(place.space, Space::Local | Space::ParamFunc) {
        let bytes = local_bytes(g.f) as u64;
        let room = if span <= bytes { (bytes - span) / unit + 1 } else { 0 };
        let room = g.b.ins().iconst(I64, room as i64);
        let base = g.b.ins().load(I64, plain(), ctx, at!(local));
        let thread = g.b.ins().load(I64, plain(), ctx, at!(thread0));
        let first = g.b.ins().imul_imm_s(thread, bytes as i64);
        return Known { start: None, room, host: g.b.ins().iadd(base, first) };
    }
    let n = g.sites.iter().position(|s| s.effect == e).unwrap_or_else(|| {
        let shared = place.space == Space::Shared;
        g.sites.push(SiteInfo { effect: e, span, unit, shared, narrow });
        g.sites.len() - 1
    });
    let at = (std::mem::size_of::<Ctx>() + n * SITE) as i32;
    let field = |o: usize| at + o as i32;
    let room = g.b.ins().load(I64, plain(), ctx, field(std::mem::offset_of!(Site, room)));
    if place.space == Space::Shared {
        let host = g.b.ins().load(I64, plain(), ctx, at!(shared));
        return Known { start: None, room, host };
    }
    let start = g.b.ins().load(I64, plain(), ctx, field(std::mem::offset_of!(Site, start)));
    let host = g.b.ins().load(I64, plain(), ctx, field(std::mem::offset_of!(Site, host)));
    Known { start: Some(start), room, host }
}

/// Where the lanes of a checked access are on the host.
#[derive(Clone)]
enum Found {
    /// One address, and what each lane adds.
    Linear(Value, Vec<i64>),
    /// One address, and a number of units of `1 << shift` bytes per lane.
    Index(Value, Vec<Value>, u32),
    Lanes(Vec<Value>),
}

/// Most units from the start of an allocation that an index may count.
pub(crate) const REACH: u64 = 1 << 30;

/// Whether the access must take the slow way (not 0), and where it goes otherwise. Lanes that are off may be anywhere
/// in the allocation.
fn check(
    g: &mut Gen<'_, '_>,
    e: u32,
    address: &Address,
    mask: Option<&[Value]>,
    place: &Place,
    bytes: u64,
) -> (Value, Found) {
    let apart = if matches!(place.space, Space::Local | Space::ParamFunc) {
        local_bytes(g.f) as i64
    } else {
        0
    };
    match address {
        Address::Linear(x, o) => {
            let lo = o.iter().copied().min().unwrap_or(0);
            let hi = o.iter().copied().max().unwrap_or(0);
            let known = known(g, e, place, (hi - lo) as u64 + bytes, bytes, false);
            let at = if lo == 0 { *x } else { g.b.ins().iadd_imm_s(*x, lo) };
            let at = match known.start {
                Some(start) => g.b.ins().isub(at, start),
                None => at,
            };
            // Low bits that are not zero make a number that is too great.
            let shift = i64::from(bytes.trailing_zeros());
            let unit = if shift == 0 { at } else { g.b.ins().rotr_imm_u(at, shift) };
            let bad = if o.iter().all(|o| ((*o - lo) as u64).is_multiple_of(bytes)) {
                g.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, unit, known.room)
            } else {
                g.b.ins().iconst(I8, 1)
            };
            let host = g.b.ins().iadd(known.host, at);
            let o = o.iter().enumerate().map(|(l, o)| o - lo + l as i64 * apart);
            (bad, Found::Linear(host, o.collect()))
        }
        Address::Index { base, index, shift, signed } => {
            let unit = 1u64 << shift;
            let known = known(g, e, place, bytes, unit, true);
            let mut bad = g.b.ins().icmp_imm_u(IntCC::Equal, known.room, 0);
            let mut units = None;
            let base = match (base, known.start) {
                (Some(base), Some(start)) => Some(g.b.ins().isub(*base, start)),
                (Some(base), None) => Some(*base),
                (None, Some(start)) => Some(g.b.ins().ineg(start)),
                (None, None) => None,
            };
            if let Some(at) = base {
                // Whole units, few enough that 32-bit sums with them tell all cases apart.
                let q = if *shift == 0 { at } else { g.b.ins().sshr_imm_u(at, i64::from(*shift)) };
                let far = g.b.ins().iadd_imm_s(q, REACH as i64);
                let far = g.b.ins().ushr_imm_u(far, 31);
                let odd = if *shift == 0 {
                    far
                } else {
                    let low = g.b.ins().band_imm_u(at, unit as i64 - 1);
                    g.b.ins().bor(far, low)
                };
                let odd = g.b.ins().icmp_imm_u(IntCC::NotEqual, odd, 0);
                bad = g.b.ins().bor(bad, odd);
                let q = g.b.ins().ireduce(I32, q);
                units = Some(g.b.ins().splat(I32X4, q));
            }
            let last = g.b.ins().iadd_imm_s(known.room, -1);
            let last = g.b.ins().ireduce(I32, last);
            let last = g.b.ins().splat(I32X4, last);
            let finer = bytes > unit;
            let mut wrong: Option<Value> = None;
            let mut low: Option<Value> = None;
            let mut out = Vec::with_capacity(index.len());
            for (s, x) in index.iter().enumerate() {
                let mut d = match units {
                    Some(q) => g.b.ins().iadd(*x, q),
                    None => *x,
                };
                let top = g.b.ins().umin(d, last);
                let mut w = g.b.ins().bxor(top, d);
                if !*signed {
                    // Numbers from 2^31 on are too rare to tell them from negative ones.
                    let sign = g.b.ins().sshr_imm_u(*x, 31);
                    w = g.b.ins().bor(w, sign);
                }
                if let Some(m) = mask {
                    w = g.b.ins().band(w, m[s]);
                    d = g.b.ins().band(d, m[s]);
                }
                wrong = Some(match wrong {
                    None => w,
                    Some(o) => g.b.ins().bor(o, w),
                });
                if finer {
                    low = Some(match low {
                        None => d,
                        Some(o) => g.b.ins().bor(o, d),
                    });
                }
                out.push(d);
            }
            let mut wrong = wrong.expect("groups have lanes");
            if let Some(low) = low {
                let bits = vconst32(&mut g.b, [(bytes / unit - 1) as u32; 4]);
                let low = g.b.ins().band(low, bits);
                wrong = g.b.ins().bor(wrong, low);
            }
            let wrong = g.any(wrong);
            let bad = g.b.ins().bor(bad, wrong);
            (bad, Found::Index(known.host, out, *shift))
        }
        Address::Lanes(a) => {
            let known = known(g, e, place, bytes, 1, false);
            let zero = g.b.ins().iconst(I64, 0);
            let start = g.b.ins().splat(I64X2, known.start.unwrap_or(zero));
            let last = g.b.ins().iadd_imm_s(known.room, -1);
            let last = g.b.ins().splat(I64X2, last);
            let host = g.b.ins().splat(I64X2, known.host);
            let mut bad: Option<Value> = None;
            let mut low: Option<Value> = None;
            let mut out = Vec::with_capacity(a.len());
            for (n, x) in a.iter().enumerate() {
                let mut at = g.b.ins().isub(*x, start);
                // Both are 0 or more as signed numbers: sizes are far below 2^63.
                let left = g.b.ins().isub(last, at);
                let mut b = g.b.ins().bor(at, left);
                if let Some(m) = mask {
                    let m = wide(g, m, n);
                    b = g.b.ins().band(b, m);
                    at = g.b.ins().band(at, m);
                }
                bad = Some(match bad {
                    None => b,
                    Some(o) => g.b.ins().bor(o, b),
                });
                low = Some(match low {
                    None => at,
                    Some(o) => g.b.ins().bor(o, at),
                });
                let mut p = g.b.ins().iadd(at, host);
                if apart != 0 {
                    let first = 2 * n as i64 * apart;
                    let c = vconst64(&mut g.b, [first as u64, (first + apart) as u64]);
                    p = g.b.ins().iadd(p, c);
                }
                out.push(p);
            }
            let (Some(bad), Some(low)) = (bad, low) else { unreachable!("groups have lanes") };
            let sign = vconst64(&mut g.b, [1 << 63; 2]);
            let bits = vconst64(&mut g.b, [bytes - 1; 2]);
            let bad = g.b.ins().band(bad, sign);
            let low = g.b.ins().band(low, bits);
            let both = g.b.ins().bor(bad, low);
            let both = g.any(both);
            let none = g.b.ins().icmp_imm_u(IntCC::Equal, known.room, 0);
            (g.b.ins().bor(both, none), Found::Lanes(out))
        }
    }
}

/// Half `n` of the mask, 64 bits a lane.
fn wide(g: &mut Gen<'_, '_>, mask: &[Value], n: usize) -> Value {
    let m = mask[n / 2];
    if n.is_multiple_of(2) { g.b.ins().swiden_low(m) } else { g.b.ins().swiden_high(m) }
}

/// Host address and constant offset of each lane.
fn lanes(g: &mut Gen<'_, '_>, found: &Found, apart: i64) -> Vec<(Value, i32)> {
    match found {
        Found::Linear(host, o) => o
            .iter()
            .map(|o| match i32::try_from(*o) {
                Ok(o) => (*host, o),
                Err(_) => (g.b.ins().iadd_imm_s(*host, *o), 0),
            })
            .collect(),
        Found::Index(host, index, shift) => (0..4 * index.len())
            .map(|l| {
                let i = g.lane(index, Kind::W, l);
                let i = g.b.ins().uextend(I64, i);
                let i = if *shift == 0 { i } else { g.b.ins().ishl_imm_u(i, i64::from(*shift)) };
                (g.b.ins().iadd(*host, i), (l as i64 * apart) as i32)
            })
            .collect(),
        Found::Lanes(a) => {
            let mut out = Vec::new();
            for h in a {
                out.push((g.b.ins().extractlane(*h, 0), 0));
                out.push((g.b.ins().extractlane(*h, 1), 0));
            }
            out
        }
    }
}

/// One element as a scalar of its kind.
fn load_one(g: &mut Gen<'_, '_>, m: &Mem, kind: Kind, p: Value, at: i32) -> Value {
    let ty = if kind == Kind::D { I64 } else { I32 };
    match (m.bytes, m.signed) {
        (1, false) => g.b.ins().uload8(ty, plain(), p, at),
        (1, true) => g.b.ins().sload8(ty, plain(), p, at),
        (2, false) => g.b.ins().uload16(ty, plain(), p, at),
        (2, true) => g.b.ins().sload16(ty, plain(), p, at),
        (4, false) if kind == Kind::D => g.b.ins().uload32(plain(), p, at),
        (4, true) if kind == Kind::D => g.b.ins().sload32(plain(), p, at),
        _ => g.b.ins().load(ty, plain(), p, at),
    }
}

fn split(
    g: &mut Gen<'_, '_>,
    bad: Value,
) -> (cranelift_codegen::ir::Block, cranelift_codegen::ir::Block) {
    let (cold, quick) = (g.b.create_block(), g.b.create_block());
    g.b.set_cold_block(cold);
    g.b.ins().brif(bad, cold, &[], quick, &[]);
    (cold, quick)
}

fn load(g: &mut Gen<'_, '_>, e: u32, m: Mem) {
    let info = &g.f.effects[e as usize];
    let (base, dst) = (info.src[0], info.dst.clone());
    let mask = executing(g, e);
    let address = addresses(g, base, &m.place);
    let stop = skip_if_none(g, e, mask.as_deref());
    let total = m.bytes as u64 * m.count as u64;
    let (bad, found) = check(g, e, &address, mask.as_deref(), &m.place, total);
    let (cold, quick) = split(g, bad);
    let join = g.b.create_block();
    for d in &dst {
        for ty in result_types(g, *d) {
            g.b.append_block_param(join, ty);
        }
    }
    g.b.switch_to_block(cold);
    let out = slow(g, e, mask.as_deref(), Some((&address, m.place.offset)));
    jump_with(g, join, &out);
    g.b.switch_to_block(quick);
    let mut out = Vec::new();
    match &found {
        Found::Linear(host, o) if o.iter().all(|o| *o == 0) => {
            for (i, d) in dst.iter().enumerate() {
                let kind = g.kind(*d);
                let v = load_one(g, &m, kind, *host, i as i32 * m.bytes as i32);
                out.push(if g.offsets(*d).is_some() {
                    Rep::Scalar(v)
                } else {
                    let (ty, n) =
                        if kind == Kind::D { (I64X2, 2 * g.slices()) } else { (I32X4, g.slices()) };
                    let s = g.b.ins().splat(ty, v);
                    Rep::Slices(vec![s; n])
                });
            }
        }
        Found::Linear(host, o)
            if m.count == 1 && unit(o, m.bytes as i64) && widens(&m, g.kind(dst[0])) =>
        {
            out.push(Rep::Slices(load_unit(g, &m, g.kind(dst[0]), *host, o)));
        }
        Found::Linear(host, o) if rows(&m, o) && dst.len() == m.count as usize => {
            let mut columns = vec![Vec::new(); dst.len()];
            for c in o.chunks(4) {
                for (all, x) in columns.iter_mut().zip(load_rows(g, &m, *host, c[0] as i32)) {
                    all.push(x);
                }
            }
            out.extend(columns.into_iter().map(Rep::Slices));
        }
        _ => {
            let apart = apart(g, &m);
            let places = lanes(g, &found, apart);
            for (i, d) in dst.iter().enumerate() {
                let kind = g.kind(*d);
                let step = i as i32 * m.bytes as i32;
                let mut made: Vec<((Value, i32), Value)> = Vec::new();
                let values: Vec<Value> = places
                    .iter()
                    .map(|(p, at)| match made.iter().find(|x| x.0 == (*p, *at)) {
                        Some(x) => x.1,
                        None => {
                            let v = load_one(g, &m, kind, *p, at + step);
                            made.push(((*p, *at), v));
                            v
                        }
                    })
                    .collect();
                out.push(Rep::Slices(g.pack(kind, &values, false)));
            }
        }
    }
    jump_with(g, join, &out);
    g.b.switch_to_block(join);
    let params = g.b.block_params(join).to_vec();
    let out = regroup(g, &dst, &params);
    finish(g, e, out, stop);
}

fn jump_with(g: &mut Gen<'_, '_>, to: cranelift_codegen::ir::Block, out: &[Rep]) {
    let mut pass = Vec::new();
    for r in out {
        match r {
            Rep::Scalar(x) => pass.push(BlockArg::Value(*x)),
            Rep::Slices(s) => pass.extend(s.iter().map(|x| BlockArg::Value(*x))),
        }
    }
    g.b.ins().jump(to, &pass);
}

/// Whether the lanes of each slice lie side by side.
fn unit(o: &[i64], bytes: i64) -> bool {
    o.chunks(4).all(|c| c.windows(2).all(|w| w[1] - w[0] == bytes))
        && o.iter().all(|o| i32::try_from(*o).is_ok())
}

/// Whether every lane's vector of 2 or 4 words lies behind that of the lane before.
fn rows(m: &Mem, o: &[i64]) -> bool {
    let bytes = i64::from(m.bytes) * i64::from(m.count);
    m.bytes == 4 && matches!(m.count, 2 | 4) && unit(o, bytes)
}

/// Words of `a` and `b`: those numbered 0 to 3 are `a`'s.
fn words(g: &mut Gen<'_, '_>, a: Value, b: Value, which: [u8; 4]) -> Value {
    let bytes: Vec<u8> = which.iter().flat_map(|w| (0..4).map(move |i| 4 * w + i)).collect();
    let mask = g.b.func.dfg.immediates.push(bytes.as_slice().into());
    let (a, b) = (as_type(&mut g.b, a, I8X16), as_type(&mut g.b, b, I8X16));
    let r = g.b.ins().shuffle(a, b, mask);
    g.b.ins().bitcast(I32X4, cast(), r)
}

/// Four vectors of four words with rows and columns exchanged.
fn transposed(g: &mut Gen<'_, '_>, r: [Value; 4]) -> [Value; 4] {
    let low = [[0, 1], [2, 3]].map(|[a, b]| words(g, r[a], r[b], [0, 4, 1, 5]));
    let high = [[0, 1], [2, 3]].map(|[a, b]| words(g, r[a], r[b], [2, 6, 3, 7]));
    let half = |g: &mut Gen<'_, '_>, x: [Value; 2], upper: bool| {
        words(g, x[0], x[1], if upper { [2, 3, 6, 7] } else { [0, 1, 4, 5] })
    };
    [half(g, low, false), half(g, low, true), half(g, high, false), half(g, high, true)]
}

/// A slice of each element of four lanes' vectors from `at` on.
fn load_rows(g: &mut Gen<'_, '_>, m: &Mem, host: Value, at: i32) -> Vec<Value> {
    let mut row = |n: i32| g.b.ins().load(I32X4, plain(), host, at + 16 * n);
    if m.count == 4 {
        let rows = [row(0), row(1), row(2), row(3)];
        return transposed(g, rows).to_vec();
    }
    let (a, b) = (row(0), row(1));
    vec![words(g, a, b, [0, 2, 4, 6]), words(g, a, b, [1, 3, 5, 7])]
}

/// As [`load_rows`], the other way.
fn store_rows(g: &mut Gen<'_, '_>, x: &[Value], host: Value, at: i32) {
    let rows = match *x {
        [x, y] => vec![words(g, x, y, [0, 4, 1, 5]), words(g, x, y, [2, 6, 3, 7])],
        [x, y, z, w] => transposed(g, [x, y, z, w]).to_vec(),
        _ => unreachable!("`rows` allows vectors of 2 and 4"),
    };
    for (n, r) in rows.into_iter().enumerate() {
        g.b.ins().store(plain(), r, host, at + 16 * n as i32);
    }
}

/// Whether there is a vector load for the element.
fn widens(m: &Mem, kind: Kind) -> bool {
    match kind {
        Kind::D => m.bytes == 8,
        _ => m.bytes <= 4,
    }
}

fn load_unit(g: &mut Gen<'_, '_>, m: &Mem, kind: Kind, host: Value, o: &[i64]) -> Vec<Value> {
    let per = if kind == Kind::D { 2 } else { 4 };
    o.chunks(per)
        .map(|c| {
            let at = c[0] as i32;
            match m.bytes {
                8 => g.b.ins().load(I64X2, plain(), host, at),
                4 => g.b.ins().load(I32X4, plain(), host, at),
                2 => {
                    let v = g.b.ins().load(I64, plain(), host, at);
                    let v = g.b.ins().scalar_to_vector(I64X2, v);
                    widen16(&mut g.b, v, m.signed)
                }
                _ => {
                    let v = g.b.ins().load(I32, plain(), host, at);
                    let v = g.b.ins().scalar_to_vector(I32X4, v);
                    let v = g.b.ins().bitcast(I8X16, cast(), v);
                    let v =
                        if m.signed { g.b.ins().swiden_low(v) } else { g.b.ins().uwiden_low(v) };
                    widen16(&mut g.b, v, m.signed)
                }
            }
        })
        .collect()
}

fn cast() -> cranelift_codegen::ir::MemFlagsData {
    cranelift_codegen::ir::MemFlagsData::new()
        .with_endianness(cranelift_codegen::ir::Endianness::Little)
}

/// Writes the low bytes of a scalar.
fn store_one(g: &mut Gen<'_, '_>, m: &Mem, v: Value, p: Value, at: i32) {
    match m.bytes {
        1 => {
            let v = g.b.ins().ireduce(I8, v);
            g.b.ins().store(plain(), v, p, at);
        }
        2 => {
            let v = g.b.ins().ireduce(I16, v);
            g.b.ins().store(plain(), v, p, at);
        }
        4 if g.b.func.dfg.value_type(v) == I64 => {
            let v = g.b.ins().ireduce(I32, v);
            g.b.ins().store(plain(), v, p, at);
        }
        _ => {
            g.b.ins().store(plain(), v, p, at);
        }
    }
}

fn store(g: &mut Gen<'_, '_>, e: u32, m: Mem) {
    let info = &g.f.effects[e as usize];
    let (base, src) = (info.src[0], info.src[1..].to_vec());
    let mask = executing(g, e);
    let values: Vec<Vec<Value>> = if g.g.scalar() {
        src.iter().map(|v| vec![g.scalar(*v)]).collect()
    } else {
        src.iter().map(|v| g.vector(*v)).collect()
    };
    let address = addresses(g, base, &m.place);
    let stop = skip_if_none(g, e, mask.as_deref());
    let uniform = (!own(&m) || g.g.scalar())
        && matches!(&address, Address::Linear(_, o) if o.iter().all(|o| *o == 0));
    if uniform && src.iter().any(|v| g.offsets(*v).is_none_or(|o| o.iter().any(|o| *o != 0))) {
        // Which lane wins is the helper's business.
        let out = slow(g, e, mask.as_deref(), Some((&address, m.place.offset)));
        finish(g, e, out, stop);
        return;
    }
    let total = m.bytes as u64 * m.count as u64;
    let (bad, found) = check(g, e, &address, mask.as_deref(), &m.place, total);
    let (cold, quick) = split(g, bad);
    let join = g.b.create_block();
    g.b.switch_to_block(cold);
    slow(g, e, mask.as_deref(), Some((&address, m.place.offset)));
    g.b.ins().jump(join, &[]);
    g.b.switch_to_block(quick);
    let whole = m.count == 1
        && m.bytes >= 4
        && (g.kind(src[0]) == Kind::D) == (m.bytes == 8)
        && matches!(&found, Found::Linear(_, o) if unit(o, m.bytes as i64));
    let words_only = src.iter().all(|v| g.kind(*v) == Kind::W);
    let turned = words_only && matches!(&found, Found::Linear(_, o) if rows(&m, o));
    match &found {
        Found::Linear(host, _) if uniform => {
            for (i, v) in src.iter().enumerate() {
                let v = g.scalar(*v);
                store_one(g, &m, v, *host, i as i32 * m.bytes as i32);
            }
        }
        Found::Linear(host, o) if whole || turned => {
            let part = mask.as_ref().map(|mask| {
                let all = all_on(g, mask);
                let (on, part) = (g.b.create_block(), g.b.create_block());
                g.b.ins().brif(all, on, &[], part, &[]);
                g.b.switch_to_block(on);
                part
            });
            if turned {
                for (n, c) in o.chunks(4).enumerate() {
                    let x: Vec<Value> = values.iter().map(|v| v[n]).collect();
                    store_rows(g, &x, *host, c[0] as i32);
                }
            } else {
                let per = if m.bytes == 8 { 2 } else { 4 };
                for (c, v) in o.chunks(per).zip(&values[0]) {
                    g.b.ins().store(plain(), *v, *host, c[0] as i32);
                }
            }
            if let Some(part) = part {
                g.b.ins().jump(join, &[]);
                g.b.switch_to_block(part);
                store_lanes(g, &m, &found, mask.as_deref(), &src, &values);
            }
        }
        _ => store_lanes(g, &m, &found, mask.as_deref(), &src, &values),
    }
    g.b.ins().jump(join, &[]);
    g.b.switch_to_block(join);
    finish(g, e, Vec::new(), stop);
}

/// Lane by lane in lane order; lanes that are off write a scratch word.
fn store_lanes(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    found: &Found,
    mask: Option<&[Value]>,
    src: &[Val],
    values: &[Vec<Value>],
) {
    let apart = apart(g, m);
    for (l, (p, at)) in lanes(g, found, apart).into_iter().enumerate() {
        let (p, at) = match mask {
            Some(mask) => (or_scratch(g, mask, l, p, at), 0),
            None => (p, at),
        };
        for (i, v) in values.iter().enumerate() {
            let x = g.lane(v, g.kind(src[i]), l);
            store_one(g, m, x, p, at + i as i32 * m.bytes as i32);
        }
    }
}

/// The address, or that of the scratch word where lane `l` is off.
fn or_scratch(g: &mut Gen<'_, '_>, mask: &[Value], l: usize, p: Value, at: i32) -> Value {
    let on = g.lane(mask, Kind::W, l);
    let here = if at == 0 { p } else { g.b.ins().iadd_imm_s(p, at as i64) };
    let scratch = g.b.ins().iadd_imm_u(g.ctx, at!(scratch) as i64);
    g.b.ins().select(on, here, scratch)
}

/// An atomic, lane by lane in lane order.
fn atom(g: &mut Gen<'_, '_>, e: u32, a: Atom) {
    let info = &g.f.effects[e as usize];
    let (base, value, dst) = (info.src[0], info.src[1], info.dst.clone());
    let mask = executing(g, e);
    let values = if g.g.scalar() { vec![g.scalar(value)] } else { g.vector(value) };
    let address = addresses(g, base, &a.place);
    let stop = skip_if_none(g, e, mask.as_deref());
    let (bad, found) = check(g, e, &address, mask.as_deref(), &a.place, a.bytes as u64);
    let (cold, quick) = split(g, bad);
    let join = g.b.create_block();
    for d in &dst {
        for ty in result_types(g, *d) {
            g.b.append_block_param(join, ty);
        }
    }
    g.b.switch_to_block(cold);
    let out = slow(g, e, mask.as_deref(), Some((&address, a.place.offset)));
    jump_with(g, join, &out);
    g.b.switch_to_block(quick);
    let kind = g.kind(value);
    let mut olds = Vec::new();
    for (l, (p, at)) in lanes(g, &found, 0).into_iter().enumerate() {
        let x = if g.g.scalar() { values[0] } else { g.lane(&values, kind, l) };
        if a.place.space == Space::Shared {
            // One host thread runs a block.
            let (p, at) = match &mask {
                Some(mask) => (or_scratch(g, mask, l, p, at), 0),
                None => (p, at),
            };
            let ty = g.b.func.dfg.value_type(x);
            let old = g.b.ins().load(ty, plain(), p, at);
            let new = updated(g, a.op, old, x);
            g.b.ins().store(plain(), new, p, at);
            olds.push(old);
            continue;
        }
        let p = if at == 0 { p } else { g.b.ins().iadd_imm_s(p, at as i64) };
        let ty = g.b.func.dfg.value_type(x);
        // Lanes that are off pay for no atomic.
        let after = mask.as_ref().map(|mask| {
            let on = g.lane(mask, Kind::W, l);
            let (here, after) = (g.b.create_block(), g.b.create_block());
            let zero = g.b.ins().iconst(ty, 0);
            g.b.append_block_param(after, ty);
            g.b.ins().brif(on, here, &[], after, &[BlockArg::Value(zero)]);
            g.b.switch_to_block(here);
            after
        });
        let old = g.b.ins().atomic_rmw(ty, plain(), rmw(a.op), p, x);
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
    jump_with(g, join, &out);
    g.b.switch_to_block(join);
    let params = g.b.block_params(join).to_vec();
    let out = regroup(g, &dst, &params);
    finish(g, e, out, stop);
}

fn rmw(op: AtomOp) -> AtomicRmwOp {
    match op {
        AtomOp::And => AtomicRmwOp::And,
        AtomOp::Or => AtomicRmwOp::Or,
        AtomOp::Xor => AtomicRmwOp::Xor,
        AtomOp::Add => AtomicRmwOp::Add,
        AtomOp::MinU => AtomicRmwOp::Umin,
        AtomOp::MaxU => AtomicRmwOp::Umax,
        AtomOp::MinS => AtomicRmwOp::Smin,
        AtomOp::MaxS => AtomicRmwOp::Smax,
        // `quick_atom` has only this one left.
        _ => AtomicRmwOp::Xchg,
    }
}

/// What the atomic makes of `old`.
fn updated(g: &mut Gen<'_, '_>, op: AtomOp, old: Value, x: Value) -> Value {
    match op {
        AtomOp::And => g.b.ins().band(old, x),
        AtomOp::Or => g.b.ins().bor(old, x),
        AtomOp::Xor => g.b.ins().bxor(old, x),
        AtomOp::Add => g.b.ins().iadd(old, x),
        AtomOp::MinU => g.b.ins().umin(old, x),
        AtomOp::MaxU => g.b.ins().umax(old, x),
        AtomOp::MinS => g.b.ins().smin(old, x),
        AtomOp::MaxS => g.b.ins().smax(old, x),
        _ => x,
    }
}
