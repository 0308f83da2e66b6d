//! Liveness of values.

use std::collections::HashSet;

use flow::{BitSet, Graph};

use crate::ir::{BlockId, Func, Op, Val};

/// Values that live at the edges of blocks.
pub(crate) struct Liveness {
    graph: Graph,
    /// At the start of each block; its phis are not among them.
    pub starts: Vec<BitSet>,
}

impl Liveness {
    pub(crate) fn new(f: &Func) -> Liveness {
        let graph = f.graph();
        let mut reads = Vec::with_capacity(f.blocks.len());
        let mut writes = Vec::with_capacity(f.blocks.len());
        for (b, block) in f.blocks.iter().enumerate() {
            let mut live = BitSet::with_capacity(f.insts.len());
            at_end(f, b as BlockId, &mut live);
            let mut written = BitSet::with_capacity(f.insts.len());
            for v in block.insts.iter().rev() {
                step(f, *v, &mut live);
                results(f, *v, |d| written.insert(d as usize));
            }
            reads.push(live);
            writes.push(written);
        }
        let starts = flow::live_in(&graph, reads, &writes);
        Liveness { graph, starts }
    }

    /// Values that live at the end of block `b`, arguments of its successors' phis included.
    pub(crate) fn end(&self, f: &Func, b: BlockId) -> BitSet {
        let mut live = flow::live_out(&self.graph, &self.starts, b);
        at_end(f, b, &mut live);
        live
    }
}

/// Adds what the end of block `b` reads: the branch, and the phis that it leads to.
fn at_end(f: &Func, b: BlockId, live: &mut BitSet) {
    let block = &f.blocks[b as usize];
    for s in block.term.succs() {
        let to = &f.blocks[s as usize];
        let n = to.preds.iter().position(|p| *p == b);
        for v in &to.insts {
            if f.insts[*v as usize].op != Op::Phi {
                break;
            }
            if let Some(a) = n.and_then(|n| f.insts[*v as usize].args.get(n)) {
                live.insert(*a as usize);
            }
        }
    }
    if let Some(v) = block.term.value() {
        live.insert(v as usize);
    }
}

/// Calls `found` with what instruction `v` makes.
fn results(f: &Func, v: Val, mut found: impl FnMut(Val)) {
    if let Op::Effect(e) = f.insts[v as usize].op {
        f.effects[e as usize].dst.iter().for_each(|d| found(*d));
    }
    found(v);
}

/// Turns the values that live behind instruction `v` into those that live before it.
pub(crate) fn step(f: &Func, v: Val, live: &mut BitSet) {
    results(f, v, |d| live.remove(d as usize));
    if f.insts[v as usize].op != Op::Phi {
        f.reads(v).into_iter().for_each(|r| live.insert(r as usize));
    }
}

/// Phis that only their own block reads, and the phis behind it on the way there.
pub(crate) fn inner_phis(f: &Func) -> HashSet<Val> {
    let mut home = vec![BlockId::MAX; f.insts.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        let phi = |v: &&Val| f.insts[**v as usize].op == Op::Phi;
        block.insts.iter().take_while(phi).for_each(|v| home[*v as usize] = b as BlockId);
    }
    let mut inner: HashSet<Val> =
        (0..f.insts.len() as Val).filter(|v| home[*v as usize] != BlockId::MAX).collect();
    let mut read = |v: Val, at: BlockId| {
        if home[v as usize] != at {
            inner.remove(&v);
        }
    };
    for (b, block) in f.blocks.iter().enumerate() {
        for &v in &block.insts {
            let i = &f.insts[v as usize];
            if i.op == Op::Phi {
                i.args.iter().zip(&block.preds).for_each(|(a, p)| read(*a, *p));
            } else {
                f.reads(v).into_iter().for_each(|a| read(a, b as BlockId));
            }
        }
        block.term.value().into_iter().for_each(|a| read(a, b as BlockId));
    }
    inner
}
