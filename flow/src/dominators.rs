//! Dominators and post-dominators: Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph".

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

    /// A walk over the tree: each node in front of those that it dominates, siblings in reverse post-order, with the
    /// place in the walk behind the last of those.
    pub fn walk(&self) -> Vec<(Node, usize)> {
        let mut out = vec![(0, 0); self.order.len()];
        for (&node, &(start, end)) in self.order.iter().zip(&self.subtree) {
            out[start as usize] = (node, end as usize);
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

/// Places of the immediate dominators, by place. Takes edges times the logarithm of nodes, whatever the graph.
fn parents(graph: &Graph, order: &[Node], position: &[u32]) -> Vec<u32> {
    let (places, walk) = depth_first(graph, order, position);
    let mut number = vec![0; order.len()];
    for (n, place) in places.iter().enumerate() {
        number[*place as usize] = n as u32;
    }
    let count = order.len();
    let mut forest = Forest::new(count);
    // By number. Nodes with one semi-dominator are a list: its first, and for each the next one.
    let (mut first, mut next) = (vec![NONE; count], vec![NONE; count]);
    let mut nearest = vec![0; count];
    for n in (1..count).rev() {
        // Predecessors that the root does not reach say nothing.
        let before = graph.predecessors(order[places[n] as usize]).iter();
        for place in before.map(|p| position[*p as usize]).filter(|p| *p != NONE) {
            let least = forest.least(number[place as usize]);
            forest.semi[n] = forest.semi[n].min(forest.semi[least as usize]);
        }
        let semi = forest.semi[n] as usize;
        (next[n], first[semi]) = (first[semi], n as u32);
        let up = walk[n];
        forest.above[n] = up;
        let mut listed = std::mem::replace(&mut first[up as usize], NONE);
        while listed != NONE {
            let least = forest.least(listed);
            let lower = forest.semi[least as usize] < forest.semi[listed as usize];
            nearest[listed as usize] = if lower { least } else { up };
            listed = next[listed as usize];
        }
    }
    let mut parent = vec![0; count];
    for n in 1..count {
        if nearest[n] != forest.semi[n] {
            nearest[n] = nearest[nearest[n] as usize];
        }
        parent[places[n] as usize] = places[nearest[n] as usize];
    }
    parent
}

/// A walk in depth from the root: places in its order, and by number the number from which each node was reached.
fn depth_first(graph: &Graph, order: &[Node], position: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut places, mut walk) = (Vec::with_capacity(order.len()), Vec::with_capacity(order.len()));
    let mut seen = vec![false; order.len()];
    let mut open = vec![(0, 0)];
    while let Some((place, up)) = open.pop() {
        if std::mem::replace(&mut seen[place as usize], true) {
            continue;
        }
        let number = places.len() as u32;
        places.push(place);
        walk.push(up);
        let next = graph.successors(order[place as usize]).iter();
        open.extend(next.map(|node| (position[*node as usize], number)));
    }
    (places, walk)
}

/// Trees of the nodes that were looked at so far, by number.
struct Forest {
    /// The node above, or one further up; `NONE` at the top.
    above: Vec<u32>,
    /// Of those on the way to `above`, without it, the node of the least semi-dominator.
    label: Vec<u32>,
    semi: Vec<u32>,
    way: Vec<u32>,
}

impl Forest {
    fn new(count: usize) -> Forest {
        let own: Vec<u32> = (0..count as u32).collect();
        Forest { above: vec![NONE; count], label: own.clone(), semi: own, way: Vec::new() }
    }

    /// The node of the least semi-dominator from a node up to the top of its tree, without the top. The way there is
    /// short from then on.
    fn least(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.above[at as usize] != NONE {
            self.way.push(at);
            at = self.above[at as usize];
        }
        // The last one is below the top already.
        self.way.pop();
        while let Some(node) = self.way.pop() {
            let (at, up) = (node as usize, self.above[node as usize] as usize);
            if self.semi[self.label[up] as usize] < self.semi[self.label[at] as usize] {
                self.label[at] = self.label[up];
            }
            self.above[at] = self.above[up];
        }
        self.label[node as usize]
    }
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
