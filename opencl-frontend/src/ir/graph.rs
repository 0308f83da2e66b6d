//! Control-flow graph: predecessors, order, dominators, loops.

use smallvec::SmallVec;

use super::func::{Func, Term};
use super::op::BlockId;

/// Predecessors: rarely more than two.
pub type Preds = SmallVec<[BlockId; 4]>;

/// Facts about the control-flow graph of a function. Unreachable blocks are absent from `order`.
pub struct Graph {
    /// Reverse postorder.
    pub order: Vec<BlockId>,
    /// Position in `order`; `u32::MAX` if unreachable.
    pub position: Vec<u32>,
    /// Reachable predecessors, one entry per edge.
    pub preds: Vec<Preds>,
    /// Immediate dominator; the entry's is itself.
    pub idom: Vec<BlockId>,
}

impl Graph {
    /// Computes everything.
    pub fn new(f: &Func) -> Graph {
        let n = f.blocks.len();
        let mut order = Vec::with_capacity(n);
        let mut state = vec![0u8; n];
        let mut stack: Vec<(BlockId, usize)> = vec![(BlockId(0), 0)];
        state[0] = 1;
        while let Some((b, next)) = stack.last_mut() {
            // The first edge last in postorder, so that it comes first in reverse: fallthrough follows its block.
            let target = match (&f.block(*b).term, *next) {
                (Term::Branch(_, _, last), 0) => Some(last.block),
                (Term::Jump(edge), 0) | (Term::Branch(_, edge, _), 1) => Some(edge.block),
                _ => None,
            };
            if let Some(target) = target {
                *next += 1;
                if state[target.0 as usize] == 0 {
                    state[target.0 as usize] = 1;
                    stack.push((target, 0));
                }
            } else {
                order.push(*b);
                stack.pop();
            }
        }
        order.reverse();
        let mut position = vec![u32::MAX; n];
        for (i, b) in order.iter().enumerate() {
            position[b.0 as usize] = i as u32;
        }
        let mut preds = Vec::new();
        preds.resize_with(n, Preds::new);
        for &b in &order {
            for edge in f.block(b).term.edges() {
                preds[edge.block.0 as usize].push(b);
            }
        }
        // Cooper, Harvey, Kennedy: "A simple, fast dominance algorithm".
        let mut idom = vec![BlockId(u32::MAX); n];
        idom[0] = BlockId(0);
        let mut changed = true;
        while changed {
            changed = false;
            for &b in order.iter().skip(1) {
                let mut new = BlockId(u32::MAX);
                for &p in &preds[b.0 as usize] {
                    if idom[p.0 as usize].0 == u32::MAX {
                        continue;
                    }
                    new = if new.0 == u32::MAX { p } else { intersect(&idom, &position, p, new) };
                }
                if idom[b.0 as usize] != new {
                    idom[b.0 as usize] = new;
                    changed = true;
                }
            }
        }
        Graph { order, position, preds, idom }
    }

    /// Reachable from the entry.
    pub fn reachable(&self, b: BlockId) -> bool {
        self.position[b.0 as usize] != u32::MAX
    }

    /// `a` dominates `b`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let mut at = b;
        loop {
            if at == a {
                return true;
            }
            let up = self.idom[at.0 as usize];
            if up == at || self.position[up.0 as usize] < self.position[a.0 as usize] {
                return false;
            }
            at = up;
        }
    }

    /// The nearest block that dominates both.
    pub fn common_dominator(&self, a: BlockId, b: BlockId) -> BlockId {
        intersect(&self.idom, &self.position, a, b)
    }

    /// Children in the dominator tree.
    pub fn children(&self) -> Vec<Vec<BlockId>> {
        let mut out = vec![Vec::new(); self.idom.len()];
        for &b in self.order.iter().skip(1) {
            out[self.idom[b.0 as usize].0 as usize].push(b);
        }
        out
    }

    /// Natural loops, innermost first. Loops with one header are one loop.
    pub fn loops(&self, f: &Func) -> Vec<Loop> {
        let mut loops: Vec<Loop> = Vec::new();
        let mut member = vec![false; f.blocks.len()];
        for &header in &self.order {
            let latches: Vec<BlockId> = self.preds[header.0 as usize]
                .iter()
                .copied()
                .filter(|p| self.dominates(header, *p))
                .collect();
            if latches.is_empty() {
                continue;
            }
            member.fill(false);
            member[header.0 as usize] = true;
            let mut work = latches.clone();
            while let Some(b) = work.pop() {
                if !member[b.0 as usize] {
                    member[b.0 as usize] = true;
                    work.extend(self.preds[b.0 as usize].iter().copied());
                }
            }
            let blocks = self.order.iter().copied().filter(|b| member[b.0 as usize]).collect();
            loops.push(Loop { header, latches, blocks });
        }
        loops.sort_by_key(|l| l.blocks.len());
        loops
    }
}

fn intersect(idom: &[BlockId], position: &[u32], mut a: BlockId, mut b: BlockId) -> BlockId {
    while a != b {
        while position[a.0 as usize] > position[b.0 as usize] {
            a = idom[a.0 as usize];
        }
        while position[b.0 as usize] > position[a.0 as usize] {
            b = idom[b.0 as usize];
        }
    }
    a
}

/// A natural loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block that dominates the others.
    pub header: BlockId,
    /// Blocks with an edge back to the header.
    pub latches: Vec<BlockId>,
    /// All blocks, the header first.
    pub blocks: Vec<BlockId>,
}
