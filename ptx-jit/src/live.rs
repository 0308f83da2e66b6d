//! Liveness of values.

use crate::ir::{Func, Op, Val};

/// A set of values.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub(crate) fn new(values: usize) -> Set {
        Set(vec![0; values.div_ceil(64)])
    }
    pub(crate) fn has(&self, v: Val) -> bool {
        self.0[v as usize / 64] >> (v % 64) & 1 != 0
    }
    pub(crate) fn add(&mut self, v: Val) {
        self.0[v as usize / 64] |= 1 << (v % 64);
    }
    pub(crate) fn remove(&mut self, v: Val) {
        self.0[v as usize / 64] &= !(1 << (v % 64));
    }
    fn join(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    /// Sum of `weight` over the members.
    pub(crate) fn sum(&self, weight: impl Fn(Val) -> u32) -> u32 {
        let mut n = 0;
        for (w, bits) in self.0.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                n += weight(w as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        n
    }
}

/// Values that live at the end of block `b`, arguments of its successors' phis included.
pub(crate) fn live_out(f: &Func, live_in: &[Set], b: usize) -> Set {
    let block = &f.blocks[b];
    let mut live = Set::new(f.insts.len());
    for s in block.term.succs() {
        live.join(&live_in[s as usize]);
        let sb = &f.blocks[s as usize];
        let n = sb.preds.iter().position(|p| *p == b as u32);
        for v in &sb.insts {
            if f.insts[*v as usize].op != Op::Phi {
                break;
            }
            if let Some(a) = n.and_then(|n| f.insts[*v as usize].args.get(n)) {
                live.add(*a);
            }
        }
    }
    if let Some(v) = block.term.value() {
        live.add(v);
    }
    live
}

/// Turns the values that live behind instruction `v` into those that live before it.
pub(crate) fn step(f: &Func, v: Val, live: &mut Set) {
    if let Op::Effect(e) = f.insts[v as usize].op {
        f.effects[e as usize].dst.iter().for_each(|d| live.remove(*d));
    }
    live.remove(v);
    if f.insts[v as usize].op != Op::Phi {
        f.reads(v).into_iter().for_each(|r| live.add(r));
    }
}

/// Values that live at the start of each block (its phis are not among them).
pub(crate) fn live_in(f: &Func) -> Vec<Set> {
    let mut all = vec![Set::new(f.insts.len()); f.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..f.blocks.len()).rev() {
            let mut live = live_out(f, &all, b);
            for v in f.blocks[b].insts.iter().rev() {
                step(f, *v, &mut live);
            }
            if live != all[b] {
                all[b] = live;
                changed = true;
            }
        }
    }
    all
}
