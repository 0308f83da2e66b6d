//! Control-flow graph: predecessors, order, dominators, loops.

use std::cell::OnceCell;
use std::ops::Index;

use flow::Dominators;

use super::func::Func;
use super::op::BlockId;

/// The reachable predecessors of each block, one entry per edge, in reverse postorder: one list behind the other.
pub struct Preds {
    /// Where the list of each block starts and ends.
    lists: Vec<(u32, u32)>,
    blocks: Vec<BlockId>,
}

impl Preds {
    fn new(f: &Func, order: &[BlockId]) -> Preds {
        let edges = || order.iter().flat_map(|b| f.block(*b).term.targets().map(|to| (*b, to)));
        let mut lists = vec![(0u32, 0u32); f.blocks.len()];
        for (_, to) in edges() {
            lists[to.0 as usize].1 += 1;
        }
        let mut all = 0;
        for (start, end) in &mut lists {
            let count = *end;
            (*start, *end) = (all, all);
            all += count;
        }
        let mut blocks = vec![BlockId(0); all as usize];
        for (from, to) in edges() {
            let end = &mut lists[to.0 as usize].1;
            blocks[*end as usize] = from;
            *end += 1;
        }
        Preds { lists, blocks }
    }

    /// `by` takes the place of those that `gone` says, of which there is one at least.
    pub fn replace(&mut self, b: usize, gone: impl Fn(BlockId) -> bool, by: BlockId) {
        let (start, end) = self.lists[b];
        let mut kept = start;
        for at in start..end {
            let block = self.blocks[at as usize];
            if !gone(block) {
                self.blocks[kept as usize] = block;
                kept += 1;
            }
        }
        debug_assert!(kept < end);
        if kept < end {
            self.blocks[kept as usize] = by;
            self.lists[b].1 = kept + 1;
        }
    }
}

impl Index<usize> for Preds {
    type Output = [BlockId];
    fn index(&self, b: usize) -> &[BlockId] {
        let (start, end) = self.lists[b];
        &self.blocks[start as usize..end as usize]
    }
}

/// Facts about the control-flow graph of a function. Unreachable blocks are absent from `order`.
pub struct Graph {
    /// Reverse postorder.
    pub order: Vec<BlockId>,
    /// Position in `order`; `u32::MAX` if unreachable.
    pub position: Vec<u32>,
    /// Reachable predecessors.
    pub preds: Preds,
    graph: flow::Graph,
    /// Most passes need none.
    dominators: OnceCell<Dominators>,
}

impl Graph {
    /// Computes all but dominators.
    pub fn new(f: &Func) -> Graph {
        let n = f.blocks.len();
        // The first edge last in postorder, so that it comes first in reverse: fallthrough follows its block.
        let graph = flow::Graph::new(n, |b| f.block(BlockId(b)).term.targets().rev().map(|b| b.0));
        let order: Vec<BlockId> = graph.reverse_postorder(0).into_iter().map(BlockId).collect();
        let mut position = vec![u32::MAX; n];
        for (i, b) in order.iter().enumerate() {
            position[b.0 as usize] = i as u32;
        }
        let preds = Preds::new(f, &order);
        Graph { order, position, preds, graph, dominators: OnceCell::new() }
    }

    fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(&self.graph, 0))
    }

    /// Reachable from the entry.
    pub fn reachable(&self, b: BlockId) -> bool {
        self.position[b.0 as usize] != u32::MAX
    }

    /// `a` dominates `b`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.dominators().dominates(a.0, b.0)
    }

    /// The nearest block that dominates both; the entry, if control does not reach them.
    pub fn common_dominator(&self, a: BlockId, b: BlockId) -> BlockId {
        BlockId(self.dominators().common(a.0, b.0).unwrap_or(0))
    }

    /// A walk over the dominator tree: each block in front of those that it dominates, with the place behind the last
    /// of those.
    pub fn walk(&self) -> impl Iterator<Item = (BlockId, usize)> {
        self.dominators().walk().into_iter().map(|(b, end)| (BlockId(b), end))
    }

    /// Natural loops, innermost first. Loops with one header are one loop.
    pub fn loops(&self) -> Vec<Loop> {
        let blocks = |all: Vec<u32>| all.into_iter().map(BlockId).collect();
        let found = flow::loops(&self.graph, self.dominators()).into_iter();
        let mut loops: Vec<Loop> = found
            .map(|l| Loop {
                header: BlockId(l.header),
                latches: blocks(l.latches),
                blocks: blocks(l.nodes),
            })
            .collect();
        loops.sort_by_key(|l| l.blocks.len());
        loops
    }
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
