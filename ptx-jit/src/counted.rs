//! Loops of one block that count: accesses that move by the same step each turn are checked once, before the first turn.
//!
//! Such a loop has a second version without those checks, which is entered when both ends of every access lie in the
//! allocation that its site knows. Otherwise the first version runs, checks each access and learns the allocation.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::effect::{Effect, Mem};
use ptx_isa::uop::Op as Pure;

use crate::access::{own, quick, site_of};
use crate::ctx::Ctx;
use crate::emit::{Gen, at, plain};
use crate::ir::{BlockId, Func, Op, Term, Val};
use crate::shape::{Shape, Shapes};

/// Most instructions of a loop that gets a second version.
const MOST: usize = 200;

/// Turns from which on the checks before the loop pay.
const FEW: i64 = 4;

/// How a loop ends.
#[derive(Copy, Clone, Debug)]
enum Until {
    /// Goes on while the counter, after its step, is less than the end.
    Less { signed: bool, or_equal: bool },
    /// Goes on while it is not the end; the step is 1 or -1.
    Equal,
}

/// A loop that counts.
pub(crate) struct Counted {
    counter: Val,
    step: i64,
    end: Val,
    until: Until,
    pub(crate) accesses: Vec<Moving>,
}

/// An access whose address grows by the same step each turn.
pub(crate) struct Moving {
    pub(crate) effect: u32,
    mem: Mem,
    /// The address before the first turn: a phi's, or a value that does not change.
    from: Val,
    /// What is added to the phi.
    plus: Option<Val>,
    step: Option<Val>,
}

/// The counted loop that `b` is.
pub(crate) fn counted(f: &Func, shapes: &Shapes, b: BlockId) -> Option<Counted> {
    let block = &f.blocks[b as usize];
    let Term::Br(v, neg, yes, no) = block.term else { return None };
    if (yes == b) == (no == b) || block.preds.len() != 2 || block.insts.len() > MOST {
        return None;
    }
    let stays = (yes == b) != neg;
    let inside = |v: Val| {
        let made = |i: &Val| {
            *i == v
                || matches!(f.insts[*i as usize].op, Op::Effect(e) if f.effects[e as usize].dst.contains(&v))
        };
        block.insts.iter().any(made)
    };
    let back = block.preds.iter().position(|p| *p == b)?;
    // The value that a phi has in the next turn.
    let next = |phi: Val| {
        let i = &f.insts[phi as usize];
        (i.op == Op::Phi && inside(phi)).then(|| i.args[back])
    };
    let uniform = |v: Val| shapes.of[v as usize].uniform();
    let phis = || block.insts.iter().copied().filter(|v| f.insts[*v as usize].op == Op::Phi);
    let Op::Pure(cmp, _) = f.insts[v as usize].op else { return None };
    let [x, y] = f.insts[v as usize].args[..] else { return None };
    let (sum, end, until) = match (cmp, stays) {
        (Pure::LtSW, true) => (x, y, Until::Less { signed: true, or_equal: false }),
        (Pure::LeSW, true) => (x, y, Until::Less { signed: true, or_equal: true }),
        (Pure::LtUW, true) => (x, y, Until::Less { signed: false, or_equal: false }),
        (Pure::LeUW, true) => (x, y, Until::Less { signed: false, or_equal: true }),
        (Pure::LeSW, false) => (y, x, Until::Less { signed: true, or_equal: false }),
        (Pure::LtSW, false) => (y, x, Until::Less { signed: true, or_equal: true }),
        (Pure::LeUW, false) => (y, x, Until::Less { signed: false, or_equal: false }),
        (Pure::LtUW, false) => (y, x, Until::Less { signed: false, or_equal: true }),
        (Pure::NeW, true) | (Pure::EqW, false) if inside(x) => (x, y, Until::Equal),
        (Pure::NeW, true) | (Pure::EqW, false) => (y, x, Until::Equal),
        _ => return None,
    };
    let counter = phis().find(|p| next(*p) == Some(sum))?;
    let step = {
        let i = &f.insts[sum as usize];
        let other = match (&i.op, &i.args[..]) {
            (Op::Pure(Pure::AddW, _), [a, c]) if *a == counter => *c,
            (Op::Pure(Pure::AddW, _), [c, a]) if *a == counter => *c,
            _ => return None,
        };
        i64::from(f.as_const(other)? as u32 as i32)
    };
    let steps = match until {
        Until::Less { .. } => step > 0 && step & (step - 1) == 0,
        Until::Equal => step.abs() == 1,
    };
    if !steps || inside(end) || !uniform(end) || !uniform(counter) || !uniform(v) {
        return None;
    }
    let moving = |e: u32| {
        let info = &f.effects[e as usize];
        let (mem, store) = match info.effect {
            Effect::Ld(m) => (m, false),
            Effect::St(m) => (m, true),
            _ => return None,
        };
        let base = *info.src.first()?;
        let Shape::Linear(o) = &shapes.of[base as usize] else { return None };
        let one = o.iter().all(|o| *o == 0);
        let kind = f.insts[base as usize].kind;
        if info.guard.is_some()
            || !quick(&mem)
            || own(&mem)
            || kind != ptx_isa::Kind::D
            || (store && one && o.len() > 1)
        {
            return None;
        }
        if !inside(base) {
            return Some(Moving { effect: e, mem, from: base, plus: None, step: None });
        }
        let (phi, plus) = match (&f.insts[base as usize].op, &f.insts[base as usize].args[..]) {
            (Op::Phi, _) => (base, None),
            (Op::Pure(Pure::AddD, _), [a, c]) if next(*a).is_some() && !inside(*c) => {
                (*a, Some(*c))
            }
            (Op::Pure(Pure::AddD, _), [c, a]) if next(*a).is_some() && !inside(*c) => {
                (*a, Some(*c))
            }
            _ => return None,
        };
        let linear = |v: Val| matches!(shapes.of[v as usize], Shape::Linear(_));
        let sum = &f.insts[next(phi)? as usize];
        let step = match (&sum.op, &sum.args[..]) {
            (Op::Pure(Pure::AddD, _), [a, s]) if *a == phi => *s,
            (Op::Pure(Pure::AddD, _), [s, a]) if *a == phi => *s,
            _ => return None,
        };
        let total = u64::from(mem.bytes) * u64::from(mem.count);
        let fits = f
            .as_const(step)
            .is_none_or(|c| i32::try_from(c as i64).is_ok() && c.is_multiple_of(total));
        let known = uniform(step) && !inside(step) && linear(phi) && plus.is_none_or(linear);
        (fits && known).then_some(Moving { effect: e, mem, from: phi, plus, step: Some(step) })
    };
    let effects = block.insts.iter().filter_map(|v| match f.insts[*v as usize].op {
        Op::Effect(e) => Some(e),
        _ => None,
    });
    let accesses: Vec<Moving> = effects.filter_map(moving).collect();
    (!accesses.is_empty()).then_some(Counted { counter, step, end, until, accesses })
}

impl Gen<'_, '_> {
    /// Finds the loops that count and makes room for what is known of their accesses.
    pub(crate) fn find_counted(&mut self) {
        for b in 0..self.f.blocks.len() {
            let Some(c) = counted(self.f, self.shapes, b as BlockId) else { continue };
            for a in &c.accesses {
                let var = self.b.declare_var(I64);
                self.moving.insert(a.effect, var);
            }
            let one = self.heads[b] == self.full_heads[b];
            if self.two || one {
                let head = self.b.create_block();
                self.sure_heads.insert((b as BlockId, self.two), head);
            }
            if !one && !self.shapes.masked[b] {
                let head = self.b.create_block();
                self.sure_heads.insert((b as BlockId, false), head);
            }
            self.counted.insert(b as BlockId, std::rc::Rc::new(c));
        }
    }

    /// On the way from `from` into the loop `b`: on to the version without checks if that is right, else to the other;
    /// whether there are two.
    pub(crate) fn enter_counted(&mut self, from: BlockId, b: BlockId) -> bool {
        let Some(c) = self.counted.get(&b).cloned() else { return false };
        let Some(&sure) = self.sure_heads.get(&(b, self.full)) else { return false };
        let place = self.f.blocks[b as usize].preds.iter().position(|p| *p == from);
        let Some(place) = place else { return false };
        let first = |g: &Self, v: Val| match g.f.insts[v as usize].op {
            Op::Phi if g.f.blocks[b as usize].insts.contains(&v) => {
                g.f.insts[v as usize].args[place]
            }
            _ => v,
        };
        let counter = first(self, c.counter);
        let (counter, end) = (self.scalar(counter), self.scalar(c.end));
        let on = self.b.create_block();
        let normal = self.head(b);
        // Turns behind the first.
        let (more, mut ok) = match c.until {
            Until::Less { signed, or_equal } => {
                let wide = |g: &mut Self, x: Value| {
                    if signed { g.b.ins().sextend(I64, x) } else { g.b.ins().uextend(I64, x) }
                };
                let (counter, end) = (wide(self, counter), wide(self, end));
                let room = self.b.ins().isub(end, counter);
                let room = if or_equal { room } else { self.b.ins().iadd_imm_s(room, -1) };
                let more = self.b.ins().sshr_imm_u(room, i64::from(c.step.trailing_zeros()));
                // The counter behind the last turn must not wrap.
                let most = if signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
                let fits = self.b.ins().icmp_imm_s(
                    IntCC::SignedLessThanOrEqual,
                    end,
                    most - c.step - i64::from(or_equal),
                );
                (more, fits)
            }
            Until::Equal => {
                let (a, z) = if c.step > 0 { (end, counter) } else { (counter, end) };
                let more = self.b.ins().isub(a, z);
                let more = self.b.ins().iadd_imm_s(more, -1);
                let more = self.b.ins().uextend(I64, more);
                (more, self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, more, 0))
            }
        };
        let many = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, more, FEW);
        self.b.ins().brif(many, on, &[], normal, &[]);
        self.b.switch_to_block(on);
        for a in &c.accesses {
            let total = u64::from(a.mem.bytes) * u64::from(a.mem.count);
            let base = self.f.effects[a.effect as usize].src[0];
            let o = self.offsets(base).map(<[i64]>::to_vec).unwrap_or_default();
            let lo = o.iter().copied().min().unwrap_or(0);
            let hi = o.iter().copied().max().unwrap_or(0);
            if o.iter().any(|o| !((*o - lo) as u64).is_multiple_of(total)) {
                ok = self.b.ins().iconst(cranelift_codegen::ir::types::I8, 0);
                continue;
            }
            let (start, room, host) =
                site_of(self, a.effect, &a.mem.place, (hi - lo) as u64 + total, total);
            let x = first(self, a.from);
            let mut x = self.scalar(x);
            if let Some(p) = a.plus {
                let p = self.scalar(p);
                x = self.b.ins().iadd(x, p);
            }
            let x = self.b.ins().iadd_imm_s(x, a.mem.place.offset.wrapping_add(lo));
            let start = start.map(|s| s.get(self));
            let x = match start {
                Some(start) => self.b.ins().isub(x, start),
                None => x,
            };
            let room = room.get(self);
            let host = host.get(self);
            let delta = match start {
                Some(start) => self.b.ins().isub(host, start),
                None => host,
            };
            let var = self.moving[&a.effect];
            self.b.def_var(var, delta);
            let inside = |g: &mut Self, x: Value| {
                let unit = g.b.ins().rotr_imm_u(x, i64::from(total.trailing_zeros()));
                g.b.ins().icmp(IntCC::UnsignedLessThan, unit, room)
            };
            let here = inside(self, x);
            ok = self.b.ins().band(ok, here);
            let Some(step) = a.step else { continue };
            let s = self.scalar(step);
            if self.f.as_const(step).is_none() {
                let low = self.b.ins().ireduce(I32, s);
                let same = self.b.ins().sextend(I64, low);
                let odd = self.b.ins().band_imm_u(s, total as i64 - 1);
                let apart = self.b.ins().bxor(same, s);
                let bad = self.b.ins().bor(odd, apart);
                let fine = self.b.ins().icmp_imm_u(IntCC::Equal, bad, 0);
                ok = self.b.ins().band(ok, fine);
            }
            let way = self.b.ins().imul(more, s);
            let last = self.b.ins().iadd(x, way);
            let there = inside(self, last);
            ok = self.b.ins().band(ok, there);
        }
        if self.shapes.short[b as usize] {
            self.b.ins().brif(ok, sure, &[], normal, &[]);
        } else {
            // All turns are counted at once.
            let fuel = self.b.ins().load(I64, plain(), self.ctx, at!(fuel));
            let left = self.b.ins().isub(fuel, more);
            let enough = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, 0);
            let ok = self.b.ins().band(ok, enough);
            let take = self.b.create_block();
            self.b.ins().brif(ok, take, &[], normal, &[]);
            self.b.switch_to_block(take);
            self.b.ins().store(plain(), left, self.ctx, at!(fuel));
            self.b.ins().jump(sure, &[]);
        }
        true
    }
}
