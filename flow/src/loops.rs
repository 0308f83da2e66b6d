//! Natural loops.

use crate::dominators::Dominators;
use crate::graph::{Graph, Node};
use crate::nest::{Nest, Nested, latches};

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
    let nest = Nest::new(graph, dominators);
    let of = |l: &Nested| Loop {
        header: l.header,
        latches: latches(graph, dominators, l.header).collect(),
        nodes: Vec::new(),
    };
    let mut found: Vec<Loop> = nest.loops.iter().map(of).collect();
    for &node in dominators.order() {
        let around = |n: &usize| nest.loops[*n].around;
        for n in std::iter::successors(nest.home[node as usize], around) {
            found[n].nodes.push(node);
        }
    }
    found.reverse();
    found
}
