//! Which control flow diverges: blocks that run under masks, and what that makes of values.

use flow::{BitSet, Graph};

use crate::geometry::Geometry;
use crate::ir::{BlockId, Func, Op, Term};
use crate::range::{Assumptions, ranges};
use crate::variance::{Facts, Variance};
use crate::{align, alike, beside, range};

/// Which values vary and which control flow diverges.
pub(crate) struct Divergence {
    pub of: Vec<Variance>,
    /// Blocks that run under a mask of their own.
    pub masked: Vec<bool>,
    /// Number of the region of each masked block: blocks below the same divergent branches.
    pub region: Vec<usize>,
    /// Values that lanes keep while others run on in the same loop: written under the mask.
    pub kept: Vec<bool>,
    /// Heads of loops that end soon by themselves.
    pub short: Vec<bool>,
    /// Whether local memory of all lanes holds the same, so that the first lane's is that of all.
    pub alike: bool,
    /// Bytes of the elements of local memory, where it has those of a group's lanes side by side.
    pub beside: Option<u32>,
    /// Whether lanes end one by one, so that unmasked blocks need the mask of living lanes.
    pub deaths: bool,
}

/// Whether `b` only ends the thread.
pub(crate) fn is_end(f: &Func, b: BlockId) -> bool {
    let block = &f.blocks[b as usize];
    block.insts.is_empty() && matches!(block.term, Term::Exit)
}

/// A branch one side of which only ends the thread.
pub(crate) fn is_death(f: &Func, t: &Term) -> bool {
    matches!(t, Term::Br(_, _, a, b) if is_end(f, *a) != is_end(f, *b))
}

/// Finds out about a kernel.
pub(crate) fn analyse(f: &Func, g: Geometry, assumed: &Assumptions) -> Divergence {
    let ranges = ranges(f, g, assumed);
    let aligns = align::alignments(f, g, assumed);
    let none = vec![false; f.insts.len()];
    let alike = !g.scalar() && alike::may_be(f);
    let mut facts = Facts { f, g, ranges, aligns, forced: none.clone(), alike };
    let ways = Ways::new(f);
    let found = settled(&mut facts, &ways, assumed);
    if !alike || alike::holds(f, &found.of, &found.masked) {
        return found;
    }
    (facts.forced, facts.alike) = (none, false);
    settled(&mut facts, &ways, assumed)
}

/// What follows from the facts, until no way of the lanes makes more values vary.
fn settled(facts: &mut Facts<'_>, ways: &Ways, assumed: &Assumptions) -> Divergence {
    let (f, g) = (facts.f, facts.g);
    loop {
        let of = facts.variances();
        let mut masks = Masks::new(f, g, facts.forced.clone());
        for (b, block) in f.blocks.iter().enumerate() {
            if block.term.value().is_some_and(|v| !of[v as usize].uniform()) {
                masks.branch(ways, b as BlockId);
            }
        }
        masks.join_regions();
        if masks.forced == facts.forced {
            let short = range::short_loops(f, g, assumed);
            let Masks { masked, region, kept, deaths, .. } = masks;
            let alike = facts.alike;
            let beside = if alike { None } else { beside::element(f, g) };
            return Divergence { of, masked, region, kept, short, alike, beside, deaths };
        }
        facts.forced = masks.forced;
    }
}

/// What does not change while the analysis runs.
struct Ways {
    /// Blocks of each loop.
    loops: Vec<Vec<BlockId>>,
    ipdom: Vec<Option<BlockId>>,
    /// Block of each value; `BlockId::MAX`: none.
    home: Vec<BlockId>,
    /// Blocks that read each value.
    readers: Vec<Vec<BlockId>>,
}

impl Ways {
    fn new(f: &Func) -> Ways {
        let mut home = vec![BlockId::MAX; f.insts.len()];
        let mut readers: Vec<Vec<BlockId>> = vec![Vec::new(); f.insts.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            for &v in &block.insts {
                home[v as usize] = b as BlockId;
                if let Op::Effect(e) = f.insts[v as usize].op {
                    let dst = &f.effects[e as usize].dst;
                    dst.iter().for_each(|d| home[*d as usize] = b as BlockId);
                }
                if f.insts[v as usize].op == Op::Phi {
                    for (x, p) in f.insts[v as usize].args.iter().zip(&block.preds) {
                        readers[*x as usize].push(*p);
                    }
                } else {
                    f.reads(v).iter().for_each(|x| readers[*x as usize].push(b as BlockId));
                }
            }
            block.term.value().iter().for_each(|x| readers[*x as usize].push(b as BlockId));
        }
        let loops = f.loops().into_iter().map(|l| l.nodes).collect();
        Ways { loops, ipdom: post_dominators(f), home, readers }
    }
}

/// What divergent branches have made of a kernel so far.
struct Masks<'a> {
    f: &'a Func,
    masked: Vec<bool>,
    region: Vec<usize>,
    kept: Vec<bool>,
    forced: Vec<bool>,
    deaths: bool,
}

impl<'a> Masks<'a> {
    fn new(f: &'a Func, g: Geometry, forced: Vec<bool>) -> Masks<'a> {
        Masks {
            f,
            masked: vec![false; f.blocks.len()],
            region: (0..f.blocks.len()).collect(),
            kept: vec![false; f.insts.len()],
            forced,
            deaths: g.ragged(),
        }
    }

    /// Notes that lanes part at the end of `b`.
    fn branch(&mut self, ways: &Ways, b: BlockId) {
        if is_death(self.f, &self.f.blocks[b as usize].term) {
            self.deaths = true;
            return;
        }
        let join = ways.ipdom[b as usize];
        let reached = self.reach(b, join);
        let turn = own_turn(self.f, b, join, &reached);
        self.one_region(&reached, join);
        self.force_phis(ways, b, join, &reached, &turn);
        self.keep(ways, b, join, &turn);
    }

    /// Masks the blocks that `b` leads to before `join`; how many of its successors lead to each.
    fn reach(&mut self, b: BlockId, join: Option<BlockId>) -> Vec<u32> {
        let f = self.f;
        let mut reached = vec![0u32; f.blocks.len()];
        for s in f.blocks[b as usize].term.succs() {
            let mut here = vec![false; f.blocks.len()];
            let mut work = vec![s];
            while let Some(x) = work.pop() {
                if std::mem::replace(&mut here[x as usize], true) {
                    continue;
                }
                reached[x as usize] += 1;
                if Some(x) != join {
                    let term = &f.blocks[x as usize].term;
                    self.masked[x as usize] |= !is_end(f, x);
                    self.deaths |= is_end(f, x) || matches!(term, Term::Exit);
                    work.extend(term.succs());
                }
            }
        }
        reached
    }

    /// Regions that share a block are one.
    fn one_region(&mut self, reached: &[u32], join: Option<BlockId>) {
        let here: Vec<usize> = (0..self.f.blocks.len())
            .filter(|x| reached[*x] > 0 && self.masked[*x] && Some(*x as BlockId) != join)
            .map(|x| self.region[x])
            .collect();
        if let Some(&to) = here.iter().min() {
            for r in self.region.iter_mut().filter(|r| here.contains(r)) {
                *r = to;
            }
        }
    }

    /// Phis where lanes meet again vary, unless all ways from the branch bring the same value.
    fn force_phis(
        &mut self,
        ways: &Ways,
        b: BlockId,
        join: Option<BlockId>,
        reached: &[u32],
        turn: &Vec<BlockId>,
    ) {
        let f = self.f;
        let from_here = |p: &BlockId| *p == b || reached[*p as usize] > 0 && Some(*p) != join;
        for (x, n) in reached.iter().enumerate() {
            let x = x as BlockId;
            if *n <= 1 && Some(x) != join {
                continue;
            }
            let block = &f.blocks[x as usize];
            for &v in block.insts.iter().take_while(|v| f.insts[**v as usize].op == Op::Phi) {
                let args = &f.insts[v as usize].args;
                let mut brought = block.preds.iter().zip(args).filter(|(p, _)| from_here(p));
                let first = brought.next().map(|(_, a)| *a);
                let differ = brought.any(|(_, a)| Some(*a) != first);
                // Lanes that left a loop in different turns have different values of it.
                let left = first.map(|a| ways.home[a as usize]).is_some_and(|h| {
                    let mut bodies = ways.loops.iter().chain([turn]);
                    bodies.any(|body| body.contains(&h) && !body.contains(&x))
                });
                self.forced[v as usize] |= differ || left;
            }
        }
    }

    /// Values of loops that lanes leave in different turns are kept for those that have left.
    fn keep(&mut self, ways: &Ways, b: BlockId, join: Option<BlockId>, turn: &Vec<BlockId>) {
        for body in ways.loops.iter().chain([turn]) {
            if !body.contains(&b) || join.is_some_and(|j| body.contains(&j)) {
                continue;
            }
            for (v, h) in ways.home.iter().enumerate() {
                let inside = *h != BlockId::MAX && body.contains(h);
                if inside && ways.readers[v].iter().any(|r| !body.contains(r)) {
                    self.forced[v] = true;
                    self.kept[v] = self.f.insts[v].op != Op::Phi;
                }
            }
        }
    }

    /// What follows when all branches are known.
    fn join_regions(&mut self) {
        let f = self.f;
        // Ways may meet in a block that is masked below another branch: from there lanes go on under its mask, so
        // that what leads to it is of its region.
        for (b, block) in f.blocks.iter().enumerate().filter(|(b, _)| self.masked[*b]) {
            for s in block.term.succs().into_iter().filter(|s| self.masked[*s as usize]) {
                let (from, to) = (self.region[s as usize], self.region[b]);
                self.region.iter_mut().filter(|r| **r == from).for_each(|r| *r = to);
            }
        }
        // Deaths below a mask leave lanes out where the paths join again.
        self.deaths |=
            f.blocks.iter().enumerate().any(|(b, block)| {
                self.masked[b] && block.term.succs().iter().any(|s| is_end(f, *s))
            });
    }
}

/// Blocks from which lanes come back to the branch that ends `b` before they meet the others in
/// `join`; `reached`: blocks that its successors lead to. Such a way round may share its head with a
/// loop that contains `join`, so that it is no loop of its own.
fn own_turn(f: &Func, b: BlockId, join: Option<BlockId>, reached: &[u32]) -> Vec<BlockId> {
    let below = |x: &BlockId| reached[*x as usize] > 0 && Some(*x) != join;
    let mut found = Vec::new();
    let mut work = vec![b];
    while let Some(x) = work.pop().filter(|_| below(&b)) {
        if !found.contains(&x) {
            found.push(x);
            work.extend(f.blocks[x as usize].preds.iter().copied().filter(below));
        }
    }
    found
}

/// Immediate post-dominators on the graph without branches straight to the thread's end.
fn post_dominators(f: &Func) -> Vec<Option<BlockId>> {
    let graph = Graph::new(f.blocks.len(), |b| {
        let term = &f.blocks[b as usize].term;
        let mut s = term.succs();
        if is_death(f, term) {
            s.retain(|s| !is_end(f, *s));
        }
        s
    });
    // What leads to the end: a walk back from there.
    let last = |b: &BlockId| graph.successors(*b).is_empty();
    let mut work: Vec<BlockId> = (0..f.blocks.len() as BlockId).filter(last).collect();
    let mut ends = BitSet::with_capacity(f.blocks.len());
    while let Some(b) = work.pop() {
        if !ends.put(b as usize) {
            work.extend(graph.predecessors(b));
        }
    }
    // A loop that is only left by ending the thread meets there.
    let dies = |b: BlockId| !ends.contains(b as usize) && is_death(f, &f.blocks[b as usize].term);
    flow::post_dominators(&graph, |b| last(&b) || dies(b))
}
