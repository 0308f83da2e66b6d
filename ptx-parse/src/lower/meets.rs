//! Where lanes that part at the end of a block meet again.
//!
//! That is where all ways from the block come together, its immediate post-dominator, but for ways on which lanes leave
//! for good: `ptxas` makes those that leave a loop leave the barriers inside it as well (`BREAK`), and those that end
//! are taken off all of them (`EXIT`), so that the others meet without them.

use std::ops::Range;

use flow::{BitSet, Dominators, Graph, Loop, loops};

use crate::code::{BasicBlock, Flow, Inst, Meet, Turn};

/// The ways between blocks.
pub(super) fn graph(blocks: &[BasicBlock]) -> Graph {
    Graph::new(blocks.len(), |b| blocks[b as usize].succs.iter().copied())
}

/// Where the lanes of each block meet; nothing where that is the function's end.
pub(super) fn meets(blocks: &[BasicBlock], insts: &[Inst], kernel: bool) -> Vec<Option<Meet>> {
    let last = |b: u32| &insts[blocks[b as usize].end as usize - 1];
    // Blocks of a kernel that do nothing but end it.
    let ends = |b: u32| {
        let i = &insts[blocks[b as usize].start as usize];
        let end = matches!(i.flow, Flow::Exit) || kernel && matches!(i.flow, Flow::Ret);
        end && i.guard.is_none()
    };
    let stays = |b: u32| {
        let succs = &blocks[b as usize].succs;
        let parts = succs.len() > 1;
        succs.iter().copied().filter(move |s| !parts || !ends(*s))
    };
    let ways = Graph::new(blocks.len(), stays);
    let to_end = |b: u32| matches!(last(b).flow, Flow::Ret | Flow::Exit);
    let out = |b: u32| to_end(b) || blocks[b as usize].succs.is_empty();
    let alive = reaching(&ways, out);
    // What only ends by leaving for good meets there.
    let dies =
        |b: u32| !alive.contains(b as usize) && blocks[b as usize].succs.iter().any(|s| ends(*s));
    let whole = flow::post_dominators(&ways, |b| out(b) || dies(b));
    let found = loops(&ways, &Dominators::new(&ways, 0));
    let nest = Nest::new(&ways, found, whole);
    (0..blocks.len() as u32)
        .map(|b| {
            let block = nest.meet(b)?;
            Some(Meet { block, turns: nest.turns(b, block) })
        })
        .collect()
}

/// Nodes from which a way leads to the end.
fn reaching(graph: &Graph, end: impl Fn(u32) -> bool) -> BitSet {
    let mut work: Vec<u32> = (0..graph.len() as u32).filter(|b| end(*b)).collect();
    let mut found = BitSet::with_capacity(graph.len());
    while let Some(b) = work.pop() {
        if !found.put(b as usize) {
            work.extend(graph.predecessors(b));
        }
    }
    found
}

/// Loops whose blocks stand together, each with the meeting points of a turn.
struct Nest<'a> {
    ways: &'a Graph,
    /// The innermost loop of each block, and the loop around each loop.
    home: Vec<Option<usize>>,
    around: Vec<Option<usize>>,
    found: Vec<Loop>,
    /// For each loop, its blocks and their post-dominators within a turn.
    turns: Vec<Vec<(u32, Option<u32>)>>,
    whole: Vec<Option<u32>>,
}

impl<'a> Nest<'a> {
    fn new(ways: &'a Graph, mut found: Vec<Loop>, whole: Vec<Option<u32>>) -> Self {
        found.retain(|l| span(l).len() == l.nodes.len());
        let (mut home, mut around) = (vec![None; ways.len()], vec![None; found.len()]);
        for (n, l) in found.iter().enumerate() {
            around[n] = home[l.header as usize];
            l.nodes.iter().for_each(|b| home[*b as usize] = Some(n));
        }
        let turns = found.iter().map(|l| within(ways, l)).collect();
        Self { ways, home, around, found, turns, whole }
    }

    /// The post-dominator of a block within a turn of a loop, or in the whole function.
    fn behind(&self, within: Option<usize>, b: u32) -> Option<u32> {
        let Some(n) = within else { return self.whole[b as usize] };
        let known = &self.turns[n];
        known.binary_search_by_key(&b, |k| k.0).ok().and_then(|at| known[at].1)
    }

    /// Where lanes that part at the end of a block meet: in the same turn of the innermost loop in which they stay.
    fn meet(&self, b: u32) -> Option<u32> {
        let succs = self.ways.successors(b);
        let stay = |n: &usize| succs.iter().all(|s| span(&self.found[*n]).contains(s));
        match self.loops_from(self.home[b as usize]).find(stay).filter(|_| succs.len() > 1) {
            // Those that go back on different ways meet where the next turn begins.
            Some(n) => Some(self.behind(Some(n), b).unwrap_or(self.found[n].header)),
            None => self.whole[b as usize],
        }
    }

    /// A loop and those around it.
    fn loops_from(&self, first: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(first, |n| self.around[*n])
    }

    /// The turns that lanes of a block may leave before they come to a later one, the innermost first.
    fn turns(&self, b: u32, mut meet: u32) -> Vec<Turn> {
        let mut out = Vec::new();
        let mut inner = self.home[b as usize];
        // Where the function's ways all pass, lanes come for certain.
        while self.whole[b as usize] != Some(meet)
            && let Some(n) = self.loops_from(inner).find(|n| span(&self.found[*n]).contains(&meet))
        {
            let blocks = span(&self.found[n]);
            let header = self.found[n].header;
            // Where all that leave the loop meet.
            let leave = |within: Option<usize>| {
                let behind = |b: &u32| self.behind(within, *b);
                std::iter::successors(behind(&header), behind).find(|b| !blocks.contains(b))
            };
            let around = self.around[n];
            let ways = self.loops_from(around).map(Some).chain([None]);
            let left = ways.map(leave).find_map(|b| b);
            out.push(Turn { blocks, out: left });
            let Some(next) = left else { break };
            (inner, meet) = (around, next);
        }
        out
    }
}

/// The numbers from the first block of a loop to its last.
fn span(l: &Loop) -> Range<u32> {
    let first = l.nodes.iter().min().copied().unwrap_or(0);
    first..l.nodes.iter().max().map_or(0, |b| b + 1)
}

/// The blocks of a loop in ascending order, with their post-dominators in a turn that lanes do not leave.
fn within(ways: &Graph, l: &Loop) -> Vec<(u32, Option<u32>)> {
    let Range { start: first, end } = span(l);
    let back = |b: u32| ways.successors(b).contains(&l.header);
    let turn = Graph::new((end - first) as usize, |b| {
        let inside = |s: &u32| *s != l.header && (first..end).contains(s);
        ways.successors(first + b).iter().copied().filter(inside).map(|s| s - first)
    });
    let behind = flow::post_dominators(&turn, |b| back(first + b));
    behind.iter().zip(first..).map(|(d, b)| (b, d.map(|d| first + d))).collect()
}
