//! The versions of counting loops without checks, and the way into them.

use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::access::check::site_of;
use crate::clif::{at, plain};
use crate::counted::{Until, counted};
use crate::ctx::Ctx;
use crate::generator::Gen;
use crate::ir::{BlockId, Op, Val};

/// Turns from which on the checks before the loop pay.
const FEW: i64 = 4;

impl Gen<'_, '_> {
    /// Finds the loops that count and makes room for what is known of their accesses.
    pub(crate) fn find_counted(&mut self) {
        for b in 0..self.f.blocks.len() {
            let Some(c) = counted(self.f, self.divergence, b as BlockId) else { continue };
            for a in &c.accesses {
                let var = self.b.declare_var(I64);
                self.moving.insert(a.effect, var);
            }
            let one = self.heads[b] == self.full_heads[b];
            if self.two || one {
                let head = self.b.create_block();
                self.sure_heads.insert((b as BlockId, self.two), head);
            }
            if !one && !self.divergence.masked[b] {
                let head = self.b.create_block();
                self.sure_heads.insert((b as BlockId, false), head);
            }
            self.counted.insert(b as BlockId, Rc::new(c));
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
                ok = self.b.ins().iconst(I8, 0);
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
        if self.divergence.short[b as usize] {
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
