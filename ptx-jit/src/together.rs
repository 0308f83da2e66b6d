//! Branches whose way all lanes of a group share, found by scalar comparisons of their ends.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::uop::Op as Pure;

use crate::generator::Gen;
use crate::ir::{BlockId, Func, Op, Val};
use crate::variance::Variance;

/// A comparison of a number that lanes share with one that grows from lane to lane by up to `reach`.
#[derive(Copy, Clone)]
struct Ends {
    /// The shared one, and lane 0's of the other.
    shared: Val,
    first: Val,
    reach: i64,
    how: How,
}

#[derive(Copy, Clone)]
enum How {
    /// `left`: whether the growing one stands there.
    Less {
        left: bool,
        signed: bool,
        or_equal: bool,
    },
    Equal,
    Unequal,
}

/// Whether the block's branch is all that reads its condition.
pub(crate) fn lone_conditions(f: &Func) -> Vec<bool> {
    let mut readers = vec![0u32; f.insts.len()];
    for block in &f.blocks {
        for &v in &block.insts {
            f.reads(v).into_iter().for_each(|x| readers[x as usize] += 1);
        }
        block.term.value().into_iter().for_each(|x| readers[x as usize] += 1);
    }
    let own = |block: &crate::ir::BasicBlock| {
        block.term.value().is_some_and(|v| block.insts.contains(&v) && readers[v as usize] == 1)
    };
    f.blocks.iter().map(own).collect()
}

impl Gen<'_, '_> {
    fn ends(&self, v: Val) -> Option<Ends> {
        let i = &self.f.insts[v as usize];
        let Op::Pure(op, _) = i.op else { return None };
        let [a, b] = i.args[..] else { return None };
        let uniform = |v: Val| self.divergence.of[v as usize].uniform();
        let (shared, first, left) = match (uniform(a), uniform(b)) {
            (true, false) => (a, b, false),
            (false, true) => (b, a, true),
            _ => return None,
        };
        let less = |signed, or_equal| How::Less { left, signed, or_equal };
        let how = match op {
            Pure::LtSW => less(true, false),
            Pure::LeSW => less(true, true),
            Pure::LtUW => less(false, false),
            Pure::LeUW => less(false, true),
            Pure::EqW => How::Equal,
            Pure::NeW => How::Unequal,
            _ => return None,
        };
        let Variance::Linear(o) = &self.divergence.of[first as usize] else { return None };
        let reach = o.iter().copied().max()?;
        let grows = o.iter().all(|o| *o >= 0) && reach < 1 << 30;
        grows.then_some(Ends { shared, first, reach, how })
    }

    /// Whether the branch that ends `id` is decided by [`Self::decide`] first, so that its condition is not needed
    /// before.
    pub(crate) fn decides(&self, id: BlockId) -> bool {
        let block = &self.f.blocks[id as usize];
        self.full
            && self.lone[id as usize]
            && block.term.value().is_some_and(|v| {
                self.divergence.of[v as usize] == Variance::Varying && self.ends(v).is_some()
            })
    }

    /// Whether condition `v` holds in all lanes, and whether in none, where that can be said; where neither is, lanes
    /// may still agree.
    pub(crate) fn decide(&mut self, v: Val) -> Option<[Option<Value>; 2]> {
        let e = self.ends(v)?;
        let How::Less { left, signed, or_equal } = e.how else {
            // Also where numbers wrap: no lane adds more than `reach` to the first one's.
            let (shared, first) = (self.scalar(e.shared), self.scalar(e.first));
            let distance = self.b.ins().isub(shared, first);
            let far = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, distance, e.reach);
            return Some(match e.how {
                How::Unequal => [Some(far), None],
                _ => [None, Some(far)],
            });
        };
        let wide = |g: &mut Self, v: Val| {
            let x = g.scalar(v);
            if signed { g.b.ins().sextend(I64, x) } else { g.b.ins().uextend(I64, x) }
        };
        let (shared, first) = (wide(self, e.shared), wide(self, e.first));
        // In 64 bits the last lane's number does not wrap; in 32 bits it did not if it is still one.
        let last = self.b.ins().iadd_imm_s(first, e.reach);
        let most = if signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let less = if or_equal { IntCC::SignedLessThanOrEqual } else { IntCC::SignedLessThan };
        let not_less = less.complement();
        let fits = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, last, most);
        let (all, none) = if left {
            let all = self.b.ins().icmp(less, last, shared);
            let none = self.b.ins().icmp(not_less, first, shared);
            (all, self.b.ins().band(none, fits))
        } else {
            let all = self.b.ins().icmp(less, shared, first);
            let none = self.b.ins().icmp(not_less, shared, last);
            (self.b.ins().band(all, fits), none)
        };
        Some([Some(all), Some(none)])
    }
}
