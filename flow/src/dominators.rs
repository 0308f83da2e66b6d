//! Dominators and post-dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".

use crate::graph::{Graph, Node};

/// Stands for "none".
const NONE: u32 = u32::MAX;

/// Which nodes every way from the root to a node passes.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Reverse post-order of the nodes that the root reaches.
    order: Vec<Node>,
    /// Place of each node in `order`.
    position: Vec<u32>,
    /// Place of the immediate dominator, by place; the root's is its own.
    parent: Vec<u32>,
    /// By place: number in a walk over the tree, and of the first node behind the subtree.
    subtree: Vec<(u32, u32)>,
}

impl Dominators {
    /// Those of the nodes that `root` reaches.
    pub fn new(graph: &Graph, root: Node) -> Dominators {
        let (order, position) = numbered(graph, root);
        let parent = parents(graph, &order, &position);
        // A parent comes before its children. So sizes are summed up from the end, numbers are given from the start.
        let mut size = vec![1; order.len()];
        for at in (1..order.len()).rev() {
            size[parent[at] as usize] += size[at];
        }
        let mut subtree = vec![(0, order.len() as u32); order.len()];
        let mut next = vec![1; order.len()];
        for at in 1..order.len() {
            let up = parent[at] as usize;
            let start = next[up];
            next[up] += size[at];
            next[at] = start + 1;
            subtree[at] = (start, start + size[at]);
        }
        Dominators { order, position, parent, subtree }
    }

    /// Reverse post-order of the nodes that the root reaches ([`Graph::reverse_postorder`]); the root comes first.
    pub fn order(&self) -> &[Node] {
        &self.order
    }

    /// Place of a node in [`Self::order`].
    pub fn position(&self, node: Node) -> Option<usize> {
        let at = self.position[node as usize];
        (at != NONE).then_some(at as usize)
    }

    /// The nearest other node that dominates this one; `None` for the root and for what it does not reach.
    pub fn immediate(&self, node: Node) -> Option<Node> {
        let at = self.position(node).filter(|at| *at != 0)?;
        Some(self.order[self.parent[at] as usize])
    }

    /// Whether every way from the root to `b` passes `a`; so it is for `a` itself, and never for what the root does not
    /// reach.
    pub fn dominates(&self, a: Node, b: Node) -> bool {
        match (self.position(a), self.position(b)) {
            (Some(a), Some(b)) => {
                let (first, end) = self.subtree[a];
                (first..end).contains(&self.subtree[b].0)
            }
            _ => false,
        }
    }

    /// The nearest node that dominates both; `None` if the root does not reach them.
    pub fn common(&self, a: Node, b: Node) -> Option<Node> {
        let at = meet(&self.parent, self.position(a)? as u32, self.position(b)? as u32);
        Some(self.order[at as usize])
    }

    /// For each node those whose immediate dominator it is, in reverse post-order.
    pub fn children(&self) -> Vec<Vec<Node>> {
        let mut out = vec![Vec::new(); self.position.len()];
        for (at, &node) in self.order.iter().enumerate().skip(1) {
            out[self.order[self.parent[at] as usize] as usize].push(node);
        }
        out
    }
}

/// For each node the nearest other node that every way to the end passes; `None` where there is none, and where no way
/// leads to the end. The end is behind the nodes for which `ends` says so.
pub fn post_dominators(graph: &Graph, ends: impl Fn(Node) -> bool) -> Vec<Option<Node>> {
    let count = graph.len();
    let end = count as Node;
    let to_end = Graph::new(count + 1, |node| {
        let own = if node == end { &[] } else { graph.successors(node) };
        own.iter().copied().chain((node != end && ends(node)).then_some(end))
    });
    let from_end = to_end.reversed();
    let (order, position) = numbered(&from_end, end);
    let parent = parents(&from_end, &order, &position);
    let nearest = |node: usize| {
        let at = position[node];
        // The end itself is at place 0.
        (at != NONE && parent[at as usize] != 0).then(|| order[parent[at as usize] as usize])
    };
    (0..count).map(nearest).collect()
}

/// Reverse post-order from the root, and the place of each node in it.
fn numbered(graph: &Graph, root: Node) -> (Vec<Node>, Vec<u32>) {
    let order = graph.reverse_postorder(root);
    let mut position = vec![NONE; graph.len()];
    for (at, node) in order.iter().enumerate() {
        position[*node as usize] = at as u32;
    }
    (order, position)
}

/// Places of the immediate dominators, by place.
fn parents(graph: &Graph, order: &[Node], position: &[u32]) -> Vec<u32> {
    let mut parent = vec![NONE; order.len()];
    parent[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for at in 1..order.len() {
            // Predecessors that the root does not reach say nothing, nor do those that were not looked at yet.
            let known = graph.predecessors(order[at]).iter().map(|p| position[*p as usize]);
            let known = known.filter(|p| *p != NONE && parent[*p as usize] != NONE);
            if let Some(new) = known.reduce(|a, b| meet(&parent, a, b))
                && parent[at] != new
            {
                parent[at] = new;
                changed = true;
            }
        }
    }
    parent
}

/// The place from which both were reached last, going up.
fn meet(parent: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        if a > b {
            a = parent[a as usize];
        } else {
            b = parent[b as usize];
        }
    }
    a
}
