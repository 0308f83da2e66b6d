//! Loads, stores and the other effects.
//!
//! Every effect has a slow way: operands and mask are staged, a helper does it lane by lane with
//! all checks. Weak loads and stores also have a fast way: one check that everything lies in the
//! allocation that this instruction touched last, and is aligned; then plain host accesses.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I8X16, I16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value};
use ptx_isa::effect::{Effect, Mem};
use ptx_isa::{Kind, Space};

use crate::ctx::{Ctx, SITE, Site};
use crate::emit::{Gen, Rep, at, plain};
use crate::ir::Val;
use crate::ops::{vconst32, vconst64, widen16};

/// Fast accesses need this.
fn quick(m: &Mem) -> bool {
    use Space::*;
    let space = matches!(m.place.space, Global | Generic | Shared | Const | Local | ParamFunc);
    space && matches!(m.bytes, 1 | 2 | 4 | 8) && m.count <= 4
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
        _ => {
            let mask = executing(g, e);
            let stop = skip_if_none(g, e, mask.as_deref());
            let out = slow(g, e, mask.as_deref());
            finish(g, e, out, stop);
        }
    }
}

/// The lanes that execute effect `e`; `None`: all.
fn executing(g: &mut Gen<'_, '_>, e: u32) -> Option<Vec<Value>> {
    let guard = g.f.effects[e as usize].guard;
    let Some((p, neg)) = guard else { return g.mask.clone() };
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
    g.f.effects[e as usize].guard?;
    let mask = mask?;
    // Everything that the effect reads must be known on both ways.
    for v in g.f.effects[e as usize].src.clone() {
        g.vector(v);
        if g.offsets(v).is_some() {
            g.scalar(v);
        }
    }
    let any = any(g, mask);
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

/// The helper's way; the results.
fn slow(g: &mut Gen<'_, '_>, e: u32, mask: Option<&[Value]>) -> Vec<Rep> {
    let src = g.f.effects[e as usize].src.clone();
    let dst = g.f.effects[e as usize].dst.clone();
    for (n, v) in src.iter().enumerate() {
        let x = g.vector(*v);
        g.stage(&x, src_at(n));
    }
    match mask {
        Some(m) => g.stage(m, at!(mask)),
        None => {
            let on = vconst32(&mut g.b, [u32::MAX; 4]);
            let m = vec![on; g.slices()];
            g.stage(&m, at!(mask));
        }
    }
    let site = match g.sites.iter().position(|s| *s == e) {
        Some(n) => n as i64,
        None => -1,
    };
    let f = g.b.ins().load(I64, plain(), g.ctx, at!(effect));
    let e = g.b.ins().iconst(I64, e as i64);
    let site = g.b.ins().iconst(I64, site);
    let sig = g.helper_effect;
    let ctx = g.ctx;
    let call = g.b.ins().call_indirect(sig, f, &[ctx, e, site]);
    let bad = g.b.inst_results(call)[0];
    g.fail_if(bad);
    dst.iter()
        .enumerate()
        .map(|(n, d)| {
            let kind = g.kind(*d);
            if g.offsets(*d).is_some() {
                // A uniform address: every executing lane has the same value, staged in lane 0.
                let ty = if kind == Kind::D { I64 } else { I32 };
                Rep::Scalar(g.b.ins().load(ty, plain(), g.ctx, dst_at(n)))
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

/// Addresses with the constant offset added.
fn addresses(g: &mut Gen<'_, '_>, base: Val, m: &Mem) -> Address {
    let off = m.place.offset;
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
            let mut out = Vec::new();
            for x in x {
                let x = if off == 0 { x } else { g.b.ins().iadd(x, o) };
                out.push(g.b.ins().uwiden_low(x));
                out.push(g.b.ins().uwiden_high(x));
            }
            Address::Lanes(out)
        }
    }
}

/// Start, size and host distance of the allocation that the instruction touched last.
fn site(g: &mut Gen<'_, '_>, e: u32, m: &Mem) -> [Value; 3] {
    let ctx = g.ctx;
    if own(m) {
        let bytes = local_bytes(g.f) as i64;
        let start = g.b.ins().iconst(I64, 0);
        let size = g.b.ins().iconst(I64, bytes);
        let base = g.b.ins().load(I64, plain(), ctx, at!(local));
        let thread = g.b.ins().load(I64, plain(), ctx, at!(thread0));
        let first = g.b.ins().imul_imm_s(thread, bytes);
        return [start, size, g.b.ins().iadd(base, first)];
    }
    if m.place.space == Space::Shared {
        let start = g.b.ins().iconst(I64, 0);
        let size = g.b.ins().load(I64, plain(), ctx, at!(shared_bytes));
        let delta = g.b.ins().load(I64, plain(), ctx, at!(shared));
        return [start, size, delta];
    }
    let n = match g.sites.iter().position(|s| *s == e) {
        Some(n) => n,
        None => {
            g.sites.push(e);
            g.sites.len() - 1
        }
    };
    let at = (std::mem::size_of::<Ctx>() + n * SITE) as i32;
    let field = |o: usize| at + o as i32;
    [
        g.b.ins().load(I64, plain(), ctx, field(std::mem::offset_of!(Site, start))),
        g.b.ins().load(I64, plain(), ctx, field(std::mem::offset_of!(Site, size))),
        g.b.ins().load(I64, plain(), ctx, field(std::mem::offset_of!(Site, delta))),
    ]
}

/// Where the access really goes, from the memory of the group's first thread on: threads' own
/// memories lie one behind the other.
fn placed(g: &mut Gen<'_, '_>, m: &Mem, address: &Address) -> Address {
    if !own(m) {
        return address.clone();
    }
    let bytes = local_bytes(g.f) as i64;
    match address {
        Address::Linear(x, o) => {
            let o = o.iter().enumerate().map(|(l, o)| o + l as i64 * bytes);
            Address::Linear(*x, o.collect())
        }
        Address::Lanes(a) => {
            let mut out = Vec::with_capacity(a.len());
            for (n, x) in a.iter().enumerate() {
                let first = 2 * n as i64 * bytes;
                let c = vconst64(&mut g.b, [first as u64, (first + bytes) as u64]);
                out.push(g.b.ins().iadd(*x, c));
            }
            Address::Lanes(out)
        }
    }
}

/// Non-zero where the access must take the slow way.
fn check(
    g: &mut Gen<'_, '_>,
    address: &Address,
    mask: Option<&[Value]>,
    bytes: u64,
    site: &[Value; 3],
) -> Value {
    let [start, size, _] = *site;
    match address {
        Address::Linear(x, o) => {
            let lo = o.iter().copied().min().unwrap_or(0);
            let hi = o.iter().copied().max().unwrap_or(0);
            let span = (hi - lo) as u64 + bytes;
            let first = if lo == 0 { *x } else { g.b.ins().iadd_imm_s(*x, lo) };
            let at = g.b.ins().isub(first, start);
            // Both `at` and `size - span - at` must be 0 or more as signed numbers: sizes are far
            // below 2^63.
            let room = g.b.ins().isub(size, at);
            let room = g.b.ins().iadd_imm_s(room, -(span as i64));
            let bad = g.b.ins().bor(at, room);
            let bad = g.b.ins().ushr_imm_u(bad, 63);
            if bytes == 1 {
                return bad;
            }
            let low = g.b.ins().band_imm_u(*x, bytes as i64 - 1);
            g.b.ins().bor(bad, low)
        }
        Address::Lanes(a) => {
            let start = g.b.ins().splat(I64X2, start);
            let room = g.b.ins().iadd_imm_s(size, -(bytes as i64));
            let room = g.b.ins().splat(I64X2, room);
            let mut bad = None;
            let mut low = None;
            for (n, x) in a.iter().enumerate() {
                let at = g.b.ins().isub(*x, start);
                let left = g.b.ins().isub(room, at);
                let mut b = g.b.ins().bor(at, left);
                let mut l = *x;
                if let Some(m) = mask {
                    let m = wide(g, m, n);
                    b = g.b.ins().band(b, m);
                    l = g.b.ins().band(l, m);
                }
                bad = Some(match bad {
                    None => b,
                    Some(o) => g.b.ins().bor(o, b),
                });
                low = Some(match low {
                    None => l,
                    Some(o) => g.b.ins().bor(o, l),
                });
            }
            let (Some(bad), Some(low)) = (bad, low) else { unreachable!("groups have lanes") };
            let sign = vconst64(&mut g.b, [1 << 63; 2]);
            let bits = vconst64(&mut g.b, [bytes - 1; 2]);
            let bad = g.b.ins().band(bad, sign);
            let low = g.b.ins().band(low, bits);
            let both = g.b.ins().bor(bad, low);
            g.any(both)
        }
    }
}

/// Half `n` of the mask, 64 bits a lane.
fn wide(g: &mut Gen<'_, '_>, mask: &[Value], n: usize) -> Value {
    let m = mask[n / 2];
    if n.is_multiple_of(2) { g.b.ins().swiden_low(m) } else { g.b.ins().swiden_high(m) }
}

/// Host address and constant offset of each lane.
fn lanes(
    g: &mut Gen<'_, '_>,
    address: &Address,
    mask: Option<&[Value]>,
    delta: Value,
) -> Vec<(Value, i32)> {
    match address {
        Address::Linear(x, o) => {
            let host = g.b.ins().iadd(*x, delta);
            o.iter()
                .map(|o| match i32::try_from(*o) {
                    Ok(o) => (host, o),
                    Err(_) => (g.b.ins().iadd_imm_s(host, *o), 0),
                })
                .collect()
        }
        Address::Lanes(a) => {
            let d = g.b.ins().splat(I64X2, delta);
            let mut out = Vec::new();
            // Lanes that are off go to the scratch word.
            let scratch = mask.map(|_| {
                let s = g.b.ins().iadd_imm_u(g.ctx, at!(scratch) as i64);
                g.b.ins().splat(I64X2, s)
            });
            for (n, x) in a.iter().enumerate() {
                let mut h = g.b.ins().iadd(*x, d);
                if let (Some(m), Some(s)) = (mask, scratch) {
                    let m = wide(g, m, n);
                    h = g.b.ins().blendv(m, h, s);
                }
                out.push((g.b.ins().extractlane(h, 0), 0));
                out.push((g.b.ins().extractlane(h, 1), 0));
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
    let stop = skip_if_none(g, e, mask.as_deref());
    g.vector(base);
    let address = addresses(g, base, &m);
    let site = site(g, e, &m);
    let total = m.bytes as u64 * m.count as u64;
    let bad = check(g, &address, mask.as_deref(), total, &site);
    let address = placed(g, &m, &address);
    let (cold, quick) = split(g, bad);
    let join = g.b.create_block();
    for d in &dst {
        for ty in result_types(g, *d) {
            g.b.append_block_param(join, ty);
        }
    }
    g.b.switch_to_block(cold);
    let out = slow(g, e, mask.as_deref());
    jump_with(g, join, &out);
    g.b.switch_to_block(quick);
    let mut out = Vec::new();
    match &address {
        Address::Linear(x, o) if o.iter().all(|o| *o == 0) => {
            let host = g.b.ins().iadd(*x, site[2]);
            for (i, d) in dst.iter().enumerate() {
                let kind = g.kind(*d);
                let v = load_one(g, &m, kind, host, i as i32 * m.bytes as i32);
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
        Address::Linear(x, o)
            if m.count == 1 && unit(o, m.bytes as i64) && widens(&m, g.kind(dst[0])) =>
        {
            let host = g.b.ins().iadd(*x, site[2]);
            out.push(Rep::Slices(load_unit(g, &m, g.kind(dst[0]), host, o)));
        }
        _ => {
            let places = lanes(g, &address, mask.as_deref(), site[2]);
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
    let stop = skip_if_none(g, e, mask.as_deref());
    g.vector(base);
    let values: Vec<Vec<Value>> = src.iter().map(|v| g.vector(*v)).collect();
    let checked = addresses(g, base, &m);
    let address = placed(g, &m, &checked);
    let uniform = matches!(&address, Address::Linear(_, o) if o.iter().all(|o| *o == 0));
    if uniform && src.iter().any(|v| g.offsets(*v).is_none_or(|o| o.iter().any(|o| *o != 0))) {
        // Which lane wins is the helper's business.
        let out = slow(g, e, mask.as_deref());
        finish(g, e, out, stop);
        return;
    }
    let site = site(g, e, &m);
    let total = m.bytes as u64 * m.count as u64;
    let bad = check(g, &checked, mask.as_deref(), total, &site);
    let (cold, quick) = split(g, bad);
    let join = g.b.create_block();
    g.b.switch_to_block(cold);
    slow(g, e, mask.as_deref());
    g.b.ins().jump(join, &[]);
    g.b.switch_to_block(quick);
    if uniform {
        if let Address::Linear(x, _) = &address {
            let host = g.b.ins().iadd(*x, site[2]);
            for (i, v) in src.iter().enumerate() {
                let v = g.scalar(*v);
                store_one(g, &m, v, host, i as i32 * m.bytes as i32);
            }
        }
        g.b.ins().jump(join, &[]);
    } else {
        let whole = match &address {
            Address::Linear(_, o) => {
                m.count == 1
                    && unit(o, m.bytes as i64)
                    && m.bytes >= 4
                    && (g.kind(src[0]) == Kind::D) == (m.bytes == 8)
            }
            Address::Lanes(_) => false,
        };
        if whole && let Address::Linear(x, o) = &address {
            let host = g.b.ins().iadd(*x, site[2]);
            let part = mask.as_ref().map(|mask| {
                let all = all_on(g, mask);
                let (on, part) = (g.b.create_block(), g.b.create_block());
                g.b.ins().brif(all, on, &[], part, &[]);
                g.b.switch_to_block(on);
                part
            });
            let per = if m.bytes == 8 { 2 } else { 4 };
            for (c, v) in o.chunks(per).zip(&values[0]) {
                g.b.ins().store(plain(), *v, host, c[0] as i32);
            }
            g.b.ins().jump(join, &[]);
            if let Some(part) = part {
                g.b.switch_to_block(part);
                store_lanes(g, &m, &address, mask.as_deref(), &src, &values, site[2]);
                g.b.ins().jump(join, &[]);
            }
        } else {
            store_lanes(g, &m, &address, mask.as_deref(), &src, &values, site[2]);
            g.b.ins().jump(join, &[]);
        }
    }
    g.b.switch_to_block(join);
    finish(g, e, Vec::new(), stop);
}

/// Lane by lane in lane order; lanes that are off write a scratch word.
fn store_lanes(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    address: &Address,
    mask: Option<&[Value]>,
    src: &[Val],
    values: &[Vec<Value>],
    delta: Value,
) {
    let places = lanes(g, address, mask, delta);
    let linear = matches!(address, Address::Linear(..));
    for (l, (p, at)) in places.into_iter().enumerate() {
        let (p, at) = match mask {
            Some(mask) if linear => {
                let on = g.lane(mask, Kind::W, l);
                let here = g.b.ins().iadd_imm_s(p, at as i64);
                let scratch = g.b.ins().iadd_imm_u(g.ctx, at!(scratch) as i64);
                (g.b.ins().select(on, here, scratch), 0)
            }
            _ => (p, at),
        };
        for (i, v) in values.iter().enumerate() {
            let x = g.lane(v, g.kind(src[i]), l);
            store_one(g, m, x, p, at + i as i32 * m.bytes as i32);
        }
    }
}
