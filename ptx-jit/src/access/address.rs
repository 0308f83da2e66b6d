//! Addresses as the lanes have them: one and a constant per lane, a base and an index per lane, or one per lane.

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::MemoryPlace;
use ptx_isa::uop::Op as Pure;

use crate::clif::vconst64;
use crate::divergence::Divergence;
use crate::generator::Gen;
use crate::ir::{Func, Op, Val};

/// Addresses of an access: device addresses as `D`.
#[derive(Clone)]
pub(super) enum Address {
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

/// Slices of an address less its offset.
pub(super) fn staged(
    g: &mut Gen<'_, '_>,
    address: &Address,
    offset: i64,
    kind: Kind,
) -> Vec<Value> {
    let less = |g: &mut Gen<'_, '_>, x: Value| {
        if offset == 0 { x } else { g.b.ins().iadd_imm_s(x, -offset) }
    };
    match address {
        Address::Linear(x, o) => {
            let x = less(g, *x);
            if kind == Kind::D {
                let x = g.b.ins().splat(g.form.d(), x);
                o.chunks(g.form.per(kind))
                    .map(|c| {
                        let c: Vec<u64> = c.iter().map(|o| *o as u64).collect();
                        let c = vconst64(&mut g.b, &c);
                        g.b.ins().iadd(x, c)
                    })
                    .collect()
            } else {
                let x = g.b.ins().ireduce(I32, x);
                vec![g.b.ins().splat(g.form.w(), x); g.slices()]
            }
        }
        Address::Index { base, index, shift, signed } if kind == Kind::D => {
            let zero = g.b.ins().iconst(I64, 0);
            let base = less(g, base.unwrap_or(zero));
            let base = g.b.ins().splat(g.form.d(), base);
            let mut out = Vec::new();
            for x in index {
                let mut e = g.emitter(true);
                let halves = if *signed { e.sext(*x) } else { e.zext(*x) };
                for h in halves {
                    let h = g.b.ins().ishl_imm_u(h, i64::from(*shift));
                    out.push(g.b.ins().iadd(h, base));
                }
            }
            out
        }
        Address::Index { index, .. } => {
            let o = g.same32((offset as u32).wrapping_neg());
            index.iter().map(|x| g.b.ins().iadd(*x, o)).collect()
        }
        Address::Lanes(a) => {
            let o = g.same64((offset as u64).wrapping_neg());
            a.iter().map(|x| g.b.ins().iadd(*x, o)).collect()
        }
    }
}

/// Addresses with the constant offset added.
pub(super) fn addresses(g: &mut Gen<'_, '_>, base: Val, place: &MemoryPlace) -> Address {
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
            let parts = indexed(g.f, g.divergence, base);
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
            let o = g.same64(off as u64);
            Address::Lanes(x.into_iter().map(|x| g.b.ins().iadd(x, o)).collect())
        }
        _ => {
            let x = g.vector(base);
            let o = g.same32(off as u32);
            let add = |x| if off == 0 { x } else { g.b.ins().iadd(x, o) };
            let index = x.into_iter().map(add).collect();
            Address::Index { base: None, index, shift: 0, signed: false }
        }
    }
}

/// An address as a sum.
pub(super) struct Indexed {
    /// Values that are the same in all lanes, and whether they are subtracted.
    base: Vec<(Val, bool)>,
    index: Val,
    shift: u32,
    signed: bool,
}

/// The 32 bits of each lane that an address is computed from, or is.
pub(super) fn index_of(f: &Func, divergence: &Divergence, v: Val) -> Option<Val> {
    if f.insts[v as usize].kind == Kind::W {
        return Some(v);
    }
    indexed(f, divergence, v).map(|i| i.index)
}

/// Finds the 32 bits of each lane that an address is computed from.
pub(super) fn indexed(f: &Func, divergence: &Divergence, v: Val) -> Option<Indexed> {
    let uniform = |v: Val| divergence.of[v as usize].uniform();
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
