//! Successors and predecessors, and the order of a depth-first walk.

use fixedbitset::FixedBitSet as BitSet;

/// A node of a graph.
pub type Node = u32;

/// For each node the nodes at the other end of its edges, one list behind the other.
#[derive(Clone, Debug, Default)]
struct Edges {
    /// Where the list of each node starts; one more entry for the end of the last.
    starts: Vec<u32>,
    nodes: Vec<Node>,
}

impl Edges {
    fn of(&self, node: Node) -> &[Node] {
        let at = node as usize;
        &self.nodes[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The same edges, listed at their other ends; each list is in order of the first ends.
    fn reversed(&self) -> Edges {
        let count = self.starts.len() - 1;
        let mut starts = vec![0u32; count + 1];
        for &n in &self.nodes {
            starts[n as usize + 1] += 1;
        }
        for n in 0..count {
            starts[n + 1] += starts[n];
        }
        let mut next = starts.clone();
        let mut nodes = vec![0; self.nodes.len()];
        for from in 0..count as Node {
            for &to in self.of(from) {
                let at = &mut next[to as usize];
                nodes[*at as usize] = from;
                *at += 1;
            }
        }
        Edges { starts, nodes }
    }
}

/// A directed graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    successors: Edges,
    predecessors: Edges,
}

impl Graph {
    /// A graph of `nodes` nodes; `successors` gives those of each node, asked in ascending order.
    ///
    /// # Panics
    /// If a successor is not a node.
    pub fn new<I: IntoIterator<Item = Node>>(
        nodes: usize,
        mut successors: impl FnMut(Node) -> I,
    ) -> Graph {
        let mut edges = Edges { starts: Vec::with_capacity(nodes + 1), nodes: Vec::new() };
        edges.starts.push(0);
        for node in 0..nodes as Node {
            edges.nodes.extend(successors(node));
            edges.starts.push(edges.nodes.len() as u32);
        }
        let predecessors = edges.reversed();
        Graph { successors: edges, predecessors }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.successors.starts.len().saturating_sub(1)
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the edges of a node lead, in the order in which they were given.
    pub fn successors(&self, node: Node) -> &[Node] {
        self.successors.of(node)
    }

    /// Where the edges to a node come from, in ascending order; a node for each of its edges.
    pub fn predecessors(&self, node: Node) -> &[Node] {
        self.predecessors.of(node)
    }

    /// The graph with every edge turned round.
    pub fn reversed(self) -> Graph {
        Graph { successors: self.predecessors, predecessors: self.successors }
    }

    /// The nodes that `root` reaches in reverse post-order: each before all that can only be reached through it. A walk
    /// takes the successors of a node from the first to the last, so that the last comes first behind the node.
    pub fn reverse_postorder(&self, root: Node) -> Vec<Node> {
        let mut seen = BitSet::with_capacity(self.len());
        seen.insert(root as usize);
        let mut order = Vec::new();
        // A node and how many of its successors were taken.
        let mut path = vec![(root, 0)];
        while let Some((node, taken)) = path.last_mut() {
            match self.successors(*node).get(*taken) {
                Some(&next) => {
                    *taken += 1;
                    if !seen.put(next as usize) {
                        path.push((next, 0));
                    }
                }
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// The nodes that `root` reaches, itself among them.
    pub fn reachable(&self, root: Node) -> BitSet {
        let mut seen = BitSet::with_capacity(self.len());
        seen.insert(root as usize);
        let mut work = vec![root];
        while let Some(node) = work.pop() {
            work.extend(self.successors(node).iter().filter(|n| !seen.put(**n as usize)));
        }
        seen
    }
}
