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
    /// Whether the growing one stands on the left.
    left: bool,
    signed: bool,
    or_equal: bool,
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
        let (signed, or_equal) = match op {
            Pure::LtSW => (true, false),
            Pure::LeSW => (true, true),
            Pure::LtUW => (false, false),
            Pure::LeUW => (false, true),
            _ => return None,
        };
        let [a, b] = i.args[..] else { return None };
        let uniform = |v: Val| self.divergence.of[v as usize].uniform();
        let (shared, first, left) = match (uniform(a), uniform(b)) {
            (true, false) => (a, b, false),
            (false, true) => (b, a, true),
            _ => return None,
        };
        let Variance::Linear(o) = &self.divergence.of[first as usize] else { return None };
        let reach = o.iter().copied().max()?;
        let grows = o.iter().all(|o| *o >= 0) && reach < 1 << 30;
        grows.then_some(Ends { shared, first, reach, left, signed, or_equal })
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

    /// Whether condition `v` holds in all lanes, and whether in none; where neither is said, lanes may still agree.
    pub(crate) fn decide(&mut self, v: Val) -> Option<(Value, Value)> {
        let e = self.ends(v)?;
        let wide = |g: &mut Self, v: Val| {
            let x = g.scalar(v);
            if e.signed { g.b.ins().sextend(I64, x) } else { g.b.ins().uextend(I64, x) }
        };
        let (shared, first) = (wide(self, e.shared), wide(self, e.first));
        // In 64 bits the last lane's number does not wrap; in 32 bits it did not if it is still one.
        let last = self.b.ins().iadd_imm_s(first, e.reach);
        let most = if e.signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let less = if e.or_equal { IntCC::SignedLessThanOrEqual } else { IntCC::SignedLessThan };
        let not_less = less.complement();
        let fits = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, last, most);
        if e.left {
            let all = self.b.ins().icmp(less, last, shared);
            let none = self.b.ins().icmp(not_less, first, shared);
            Some((all, self.b.ins().band(none, fits)))
        } else {
            let all = self.b.ins().icmp(less, shared, first);
            let none = self.b.ins().icmp(not_less, shared, last);
            Some((self.b.ins().band(all, fits), none))
        }
    }
}
