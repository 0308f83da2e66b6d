//! Which loop each node is in and which loops are around it, without lists of nodes: those of loops in loops are as
//! long as the depth times the number of nodes.

use crate::dominators::Dominators;
use crate::graph::{Graph, Node};

/// The natural loops of a graph, one within the other. A circle that is entered in two places is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// The innermost loop of each node: its place in [`Self::loops`].
    pub home: Vec<Option<usize>>,
    /// Inner loops before those around them. Loops with the same header are one.
    pub loops: Vec<Nested>,
}

/// A loop that is entered through one node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The node that dominates the others.
    pub header: Node,
    /// The loop around it.
    pub around: Option<usize>,
}

impl Nest {
    /// Loops of the nodes that the root of `dominators` reaches. Takes hardly longer than a walk over the edges.
    pub fn new(graph: &Graph, dominators: &Dominators) -> Nest {
        let mut nest = Nest { home: vec![None; graph.len()], loops: Vec::new() };
        // For each node the header of the outermost loop around it that was found, in a few steps; and that loop.
        let mut above: Vec<Node> = (0..graph.len() as Node).collect();
        let mut outermost: Vec<Option<usize>> = vec![None; graph.len()];
        for &header in dominators.order().iter().rev() {
            let mut work: Vec<Node> = latches(graph, dominators, header).collect();
            if work.is_empty() {
                continue;
            }
            let own = nest.loops.len();
            nest.loops.push(Nested { header, around: None });
            while let Some(node) = work.pop() {
                let top = top(&mut above, node);
                if top == header {
                    continue;
                }
                match outermost[top as usize] {
                    Some(inner) => nest.loops[inner].around = Some(own),
                    None => nest.home[top as usize] = Some(own),
                }
                above[top as usize] = header;
                // The header dominates the node, so that it reaches all of these that count.
                let before = graph.predecessors(top).iter();
                work.extend(before.filter(|p| dominators.position(**p).is_some()));
            }
            nest.home[header as usize] = Some(own);
            outermost[header as usize] = Some(own);
        }
        nest
    }
}

/// The nodes with an edge back to a header, in ascending order.
pub(crate) fn latches<'a>(
    graph: &'a Graph,
    dominators: &'a Dominators,
    header: Node,
) -> impl Iterator<Item = Node> + 'a {
    let back = move |p: &Node| dominators.dominates(header, *p);
    graph.predecessors(header).iter().copied().filter(back)
}

/// The last node above a node; the way there is half as long the next time.
fn top(above: &mut [Node], mut node: Node) -> Node {
    while above[node as usize] != node {
        let next = above[above[node as usize] as usize];
        above[node as usize] = next;
        node = next;
    }
    node
}
