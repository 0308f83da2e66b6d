//! Natural loops.

use fixedbitset::FixedBitSet as BitSet;

use crate::dominators::Dominators;
use crate::graph::{Graph, Node};

/// A loop that is entered through one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The node that dominates the others.
    pub header: Node,
    /// The nodes with an edge back to the header, in ascending order; a node for each of its edges.
    pub latches: Vec<Node>,
    /// All nodes in reverse post-order, the header first.
    pub nodes: Vec<Node>,
}

/// The loops of a graph, in reverse post-order of their headers: outer ones before those inside. Loops with the same
/// header are one. A circle that is entered in two places is none.
pub fn loops(graph: &Graph, dominators: &Dominators) -> Vec<Loop> {
    let mut found = Vec::new();
    let mut inside = BitSet::with_capacity(graph.len());
    for &header in dominators.order() {
        let back = |p: &Node| dominators.dominates(header, *p);
        let latches: Vec<Node> = graph.predecessors(header).iter().copied().filter(back).collect();
        if latches.is_empty() {
            continue;
        }
        let mut nodes = vec![header];
        inside.insert(header as usize);
        let mut work = latches.clone();
        while let Some(node) = work.pop() {
            if !inside.put(node as usize) {
                nodes.push(node);
                // The header dominates the node, so that it reaches all of these that count.
                let before = graph.predecessors(node).iter();
                work.extend(before.filter(|p| dominators.position(**p).is_some()));
            }
        }
        nodes.iter().for_each(|n| inside.remove(*n as usize));
        nodes.sort_unstable_by_key(|n| dominators.position(*n));
        found.push(Loop { header, latches, nodes });
    }
    found
}
