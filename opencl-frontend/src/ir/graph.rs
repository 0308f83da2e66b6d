//! Control-flow graph: predecessors, order, dominators, loops.

use flow::Dominators;
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
    graph: flow::Graph,
    dominators: Dominators,
}

impl Graph {
    /// Computes everything.
    pub fn new(f: &Func) -> Graph {
        let n = f.blocks.len();
        // The first edge last in postorder, so that it comes first in reverse: fallthrough follows its block.
        let graph = flow::Graph::new(n, |b| {
            let edges: SmallVec<[u32; 2]> = match &f.block(BlockId(b)).term {
                Term::Jump(edge) => SmallVec::from_slice(&[edge.block.0]),
                Term::Branch(_, first, last) => {
                    SmallVec::from_slice(&[last.block.0, first.block.0])
                }
                Term::Open | Term::Return => SmallVec::new(),
            };
            edges
        });
        let dominators = Dominators::new(&graph, 0);
        let order: Vec<BlockId> = dominators.order().iter().map(|b| BlockId(*b)).collect();
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
        Graph { order, position, preds, graph, dominators }
    }

    /// Reachable from the entry.
    pub fn reachable(&self, b: BlockId) -> bool {
        self.position[b.0 as usize] != u32::MAX
    }

    /// `a` dominates `b`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.dominators.dominates(a.0, b.0)
    }

    /// The nearest block that dominates both; the entry, if control does not reach them.
    pub fn common_dominator(&self, a: BlockId, b: BlockId) -> BlockId {
        BlockId(self.dominators.common(a.0, b.0).unwrap_or(0))
    }

    /// A walk over the dominator tree: each block in front of those that it dominates, with the place behind the last
    /// of those.
    pub fn walk(&self) -> impl Iterator<Item = (BlockId, usize)> {
        self.dominators.walk().into_iter().map(|(b, end)| (BlockId(b), end))
    }

    /// Natural loops, innermost first. Loops with one header are one loop.
    pub fn loops(&self) -> Vec<Loop> {
        let blocks = |all: Vec<u32>| all.into_iter().map(BlockId).collect();
        let found = flow::loops(&self.graph, &self.dominators).into_iter();
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
