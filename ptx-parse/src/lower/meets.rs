//! Where lanes that part at the end of a block meet again.
//!
//! That is where all ways from the block come together, its immediate post-dominator, but for ways on which lanes leave
//! for good: `ptxas` makes those that leave a loop leave the barriers inside it as well (`BREAK`), and those that end
//! are taken off all of them (`EXIT`), so that the others meet without them.

use std::ops::Range;

use flow::{BitSet, Dominators, Graph, Nest};

use crate::code::{BasicBlock, Flow, Inst, Meet, Turn};

/// Most turns that lanes are known to leave: a warp's lanes do not part more often.
const MOST_TURNS: usize = 32;
/// The whole function, as a place.
const WHOLE: usize = 0;

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
    let end = |b: u32| out(b) || dies(b);
    let turns = Turns::new(&ways, end);
    let meet = |(b, whole)| {
        let block = turns.meet(b, ways.successors(b), whole)?;
        Some(Meet { block, turns: turns.left(b, block, whole) })
    };
    (0..).zip(flow::post_dominators(&ways, end)).map(meet).collect()
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
///
/// A loop inside a turn counts as one place: lanes come to it through its header only, and from each of its blocks they
/// come to all of its ways out. So a block counts in one turn only, however deep the loops are.
struct Turns {
    /// The whole function, then outer loops before those inside.
    loops: Vec<Place>,
    /// The innermost loop of each block, and the block's number among the places of its turn.
    home: Vec<(usize, u32)>,
}

/// A loop, as a place in a turn of the one around it.
#[derive(Default)]
struct Place {
    header: Option<u32>,
    blocks: Range<u32>,
    around: usize,
    /// Its number among the places of the turn around it.
    number: u32,
    /// How many loops are around it, and one of those, so far out that any is found in a few steps.
    depth: u32,
    far: usize,
    /// By number, where the places of its own turn meet when nobody leaves it.
    meets: Vec<Option<u32>>,
}

impl Turns {
    /// The function ends behind the blocks for which `end` says so.
    fn new(ways: &Graph, end: impl Fn(u32) -> bool) -> Self {
        let mut turns = Self::nested(ways);
        // For each turn its places by their first blocks.
        let mut firsts = vec![Vec::new(); turns.loops.len()];
        let mut place = |around: usize, first: u32| {
            firsts[around].push(first);
            firsts[around].len() as u32 - 1
        };
        (0..).zip(&mut turns.home).for_each(|(b, (home, number))| *number = place(*home, b));
        for l in &mut turns.loops {
            l.number = l.header.map_or(0, |header| place(l.around, header));
        }
        let mut next: Vec<_> = firsts.iter().map(|f| vec![Vec::new(); f.len()]).collect();
        let mut ends: Vec<_> = firsts.iter().map(|f| vec![false; f.len()]).collect();
        for b in 0..ways.len() as u32 {
            for &to in ways.successors(b) {
                let (turn, from) = turns.common(b, |l| l.blocks.contains(&to));
                if turns.loops[turn].header == Some(to) {
                    ends[turn][from as usize] = true;
                } else {
                    let (_, to) = turns.common(to, |l| l.blocks.contains(&b));
                    next[turn][from as usize].push(to);
                }
            }
            if end(b) {
                let (_, from) = turns.common(b, |l| l.header.is_none());
                ends[WHOLE][from as usize] = true;
            }
        }
        for (n, l) in turns.loops.iter_mut().enumerate() {
            let turn = Graph::new(next[n].len(), |from| next[n][from as usize].iter().copied());
            let behind = flow::post_dominators(&turn, |from| ends[n][from as usize]);
            l.meets = behind.iter().map(|b| b.map(|b| firsts[n][b as usize])).collect();
        }
        turns
    }

    /// The loops and which blocks they have; nothing is numbered yet.
    fn nested(ways: &Graph) -> Self {
        let Nest { home, loops } = Nest::new(ways, &Dominators::new(ways, 0));
        let count = ways.len() as u32;
        // First block, end, and how many blocks.
        let mut spans = vec![(count, 0, 0); loops.len()];
        let widen = |span: &mut (u32, u32, u32), (first, end, blocks)| {
            *span = (span.0.min(first), span.1.max(end), span.2 + blocks);
        };
        for (b, n) in (0..).zip(&home) {
            n.iter().for_each(|n| widen(&mut spans[*n], (b, b + 1, 1)));
        }
        for (n, l) in loops.iter().enumerate() {
            let inside = spans[n];
            l.around.iter().for_each(|n| widen(&mut spans[*n], inside));
        }
        let mut places = vec![Place { blocks: 0..count, ..Place::default() }];
        // Loops whose blocks are scattered give way to those around them.
        let mut place = vec![WHOLE; loops.len()];
        for (n, l) in loops.iter().enumerate().rev() {
            let around = l.around.map_or(WHOLE, |n| place[n]);
            let (first, end, blocks) = spans[n];
            if end - first != blocks {
                place[n] = around;
                continue;
            }
            place[n] = places.len();
            let up = &places[around];
            let far = &places[up.far];
            let even = up.depth - far.depth == far.depth - places[far.far].depth;
            places.push(Place {
                header: Some(l.header),
                blocks: first..end,
                around,
                depth: up.depth + 1,
                far: if even { far.far } else { around },
                ..Place::default()
            });
        }
        let home = home.iter().map(|n| (n.map_or(WHOLE, |n| place[n]), 0)).collect();
        Self { loops: places, home }
    }

    /// The innermost loop around a block that is as asked, as those around it are, too, and the number of the block's
    /// place in a turn of it.
    fn common(&self, b: u32, asked: impl Fn(&Place) -> bool) -> (usize, u32) {
        let (mut at, mut number) = self.home[b as usize];
        while !asked(&self.loops[at]) {
            let l = &self.loops[at];
            let around = asked(&self.loops[l.far]);
            (at, number) = if around { (l.around, l.number) } else { (l.far, 0) };
        }
        (at, number)
    }

    /// Where lanes that part at the end of a block meet: in the same turn of the innermost loop in which they stay.
    /// `whole` is where all ways from the block to the function's end come together.
    fn meet(&self, b: u32, succs: &[u32], whole: Option<u32>) -> Option<u32> {
        let stay = |l: &Place| succs.iter().all(|s| l.blocks.contains(s));
        match self.common(b, stay) {
            (turn, number) if turn != WHOLE && succs.len() > 1 => self.behind(turn, number),
            _ => whole,
        }
    }

    /// Where lanes from a place in a turn meet when they stay in the loop. Those that end the turn on different ways do
    /// so where the next one begins.
    fn behind(&self, turn: usize, number: u32) -> Option<u32> {
        let l = &self.loops[turn];
        l.meets[number as usize].or(l.header)
    }

    /// The turns that lanes of a block may leave before they come to where they meet, the innermost first.
    fn left(&self, b: u32, meet: u32, whole: Option<u32>) -> Vec<Turn> {
        // Where the function's ways all pass, lanes come for certain.
        let certain = |block| whole == Some(block);
        let mut turns = Vec::new();
        let (mut n, _) = self.common(b, |l| l.blocks.contains(&meet));
        while n != WHOLE && !certain(meet) && turns.len() < MOST_TURNS {
            let l = &self.loops[n];
            let out = self.behind(l.around, l.number);
            turns.push(Turn { blocks: l.blocks.clone(), out });
            n = if out.is_some_and(|out| !certain(out)) { l.around } else { WHOLE };
        }
        turns
    }
}
