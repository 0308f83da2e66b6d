//! Which values are read later.

use fixedbitset::FixedBitSet as BitSet;

use crate::graph::{Graph, Node};

/// The values that live at the start of each node: some way from there reads them before it writes them.
///
/// `reads`: values that a node reads before it writes them; `writes`: values that it writes, whatever came before. All
/// sets have the same capacity. The argument of a phi is read by the predecessor that it comes from.
///
/// # Panics
/// If there are not as many sets as nodes.
pub fn live_in(graph: &Graph, reads: Vec<BitSet>, writes: &[BitSet]) -> Vec<BitSet> {
    assert_eq!((reads.len(), writes.len()), (graph.len(), graph.len()), "a set for each node");
    let mut live = reads;
    let mut queued = BitSet::with_capacity(graph.len());
    queued.insert_range(..);
    // From the last node on: in most numberings what comes later is executed later.
    let mut work: Vec<Node> = (0..graph.len() as Node).collect();
    while let Some(node) = work.pop() {
        queued.remove(node as usize);
        for &before in graph.predecessors(node) {
            if pass(&mut live, node as usize, before as usize, writes)
                && !queued.put(before as usize)
            {
                work.push(before);
            }
        }
    }
    live
}

/// Adds what lives at the start of `node` to what lives at the start of `before`; whether that made it more.
fn pass(live: &mut [BitSet], node: usize, before: usize, writes: &[BitSet]) -> bool {
    let written = writes[before].as_slice();
    let mut more = 0;
    for (w, written) in written.iter().enumerate() {
        let new = live[node].as_slice()[w] & !written;
        let old = &mut live[before].as_mut_slice()[w];
        more |= new & !*old;
        *old |= new;
    }
    more != 0
}

/// The values that live at the end of a node, of those at the starts of all ([`live_in`]).
pub fn live_out(graph: &Graph, live_in: &[BitSet], node: Node) -> BitSet {
    let mut live = BitSet::with_capacity(live_in[node as usize].len());
    graph.successors(node).iter().for_each(|s| live.union_with(&live_in[*s as usize]));
    live
}
