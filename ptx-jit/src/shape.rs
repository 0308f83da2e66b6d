//! What is known of each value across the lanes of a group, and which control flow diverges.
//!
//! A group is `width` consecutive threads that run in lock step. A value is linear when lane `l`
//! holds that of lane 0 plus a constant of `l`; it is kept as one scalar. Everything else is a
//! vector. Uniform values are linear with all constants 0.

use std::rc::Rc;

use flow::{BitSet, Graph};
use ptx_isa::effect::{Effect, Order};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;
use ptx_isa::{Kind, Space};

use crate::ir::{BlockId, Func, Op, Term, Val};
use crate::range::{Assumptions, is_signed, is_unsigned, ranges};
use crate::{align, range};

/// How a value looks across the lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Not reached yet (only while the analysis runs).
    Unknown,
    /// Scalar plus a constant per lane; lane 0's is 0.
    Linear(Rc<[i64]>),
    Vector,
}

impl Shape {
    pub(crate) fn uniform(&self) -> bool {
        matches!(self, Shape::Linear(o) if o.iter().all(|x| *x == 0))
    }
}

/// Sizes that are constants of the compiled code.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Lanes of a group.
    pub width: u32,
}

impl Geometry {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }
    pub(crate) fn groups(&self) -> u32 {
        self.threads().div_ceil(self.width)
    }
    /// Whether threads run one by one.
    pub(crate) fn scalar(&self) -> bool {
        self.width == 1
    }
    /// Whether the last group has lanes without a thread.
    pub(crate) fn ragged(&self) -> bool {
        !self.threads().is_multiple_of(self.width)
    }
    /// Shape of `%tid` in dimension `d`.
    fn tid(&self, d: usize) -> Shape {
        let [x, y, _] = self.block;
        let w = self.width;
        let lanes = |f: &dyn Fn(u32) -> u32| Shape::Linear((0..w).map(|l| f(l) as i64).collect());
        let one_row = self.block[1] == 1 && self.block[2] == 1;
        if one_row {
            return if d == 0 { lanes(&|l| l) } else { lanes(&|_| 0) };
        }
        if x.is_multiple_of(w) {
            return if d == 0 { lanes(&|l| l) } else { lanes(&|_| 0) };
        }
        if w.is_multiple_of(x) && (self.block[2] == 1 || y.is_multiple_of(w / x)) {
            return match d {
                0 => lanes(&|l| l % x),
                1 => lanes(&|l| l / x),
                _ => lanes(&|_| 0),
            };
        }
        Shape::Vector
    }
}

/// Result of the analysis.
pub(crate) struct Shapes {
    pub of: Vec<Shape>,
    /// Blocks that run under a mask of their own.
    pub masked: Vec<bool>,
    /// Number of the region of each masked block: blocks below the same divergent branches.
    pub region: Vec<usize>,
    /// Values that lanes keep while others run on in the same loop: written under the mask.
    pub kept: Vec<bool>,
    /// Heads of loops that end soon by themselves.
    pub short: Vec<bool>,
    /// Whether lanes end one by one, so that unmasked blocks need the mask of living lanes.
    pub deaths: bool,
}

/// Lanes' offsets from lane 0 for which sums of 32 bits are looked at more closely.
const SMALL: i64 = 1 << 29;

/// Whether `b` only ends the thread.
pub(crate) fn is_end(f: &Func, b: BlockId) -> bool {
    let block = &f.blocks[b as usize];
    block.insts.is_empty() && matches!(block.term, Term::Exit)
}

/// A branch one side of which only ends the thread.
pub(crate) fn is_death(f: &Func, t: &Term) -> bool {
    matches!(t, Term::Br(_, _, a, b) if is_end(f, *a) != is_end(f, *b))
}

struct Analysis<'a> {
    f: &'a Func,
    g: Geometry,
    ranges: Vec<Option<(i64, i64)>>,
    /// Low zero bits of lane 0's value.
    aligns: Vec<u32>,
    forced: Vec<bool>,
}

pub(crate) fn analyse(f: &Func, g: Geometry, assumed: &Assumptions) -> Shapes {
    let n = f.insts.len();
    let ranges = ranges(f, g, assumed);
    let aligns = align::alignments(f, g, assumed);
    let mut a = Analysis { f, g, ranges, aligns, forced: vec![false; n] };
    let all_loops = f.loops();
    let ipdom = post_dominators(f);
    let mut home = vec![BlockId::MAX; n];
    for (b, block) in f.blocks.iter().enumerate() {
        for &v in &block.insts {
            home[v as usize] = b as BlockId;
            if let Op::Effect(e) = f.insts[v as usize].op {
                f.effects[e as usize].dst.iter().for_each(|d| home[*d as usize] = b as BlockId);
            }
        }
    }
    // Blocks that read each value.
    let mut readers: Vec<Vec<BlockId>> = vec![Vec::new(); n];
    for (b, block) in f.blocks.iter().enumerate() {
        for &v in &block.insts {
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
    loop {
        let of = a.shapes();
        let mut masked = vec![false; f.blocks.len()];
        let mut region: Vec<usize> = (0..f.blocks.len()).collect();
        let mut kept = vec![false; n];
        let mut forced = a.forced.clone();
        let mut deaths = g.ragged();
        for (b, block) in f.blocks.iter().enumerate() {
            let Some(v) = block.term.value() else { continue };
            if of[v as usize].uniform() {
                continue;
            }
            if is_death(f, &block.term) {
                deaths = true;
                continue;
            }
            let join = ipdom[b];
            // Blocks reached, by which successors.
            let mut seen = vec![0u32; f.blocks.len()];
            for s in block.term.succs() {
                let mut here = vec![false; f.blocks.len()];
                let mut work = vec![s];
                while let Some(x) = work.pop() {
                    if std::mem::replace(&mut here[x as usize], true) {
                        continue;
                    }
                    seen[x as usize] += 1;
                    if Some(x) != join {
                        masked[x as usize] |= !is_end(f, x);
                        deaths |= is_end(f, x) || matches!(f.blocks[x as usize].term, Term::Exit);
                        work.extend(f.blocks[x as usize].term.succs());
                    }
                }
            }
            let turn = own_turn(f, b as BlockId, join, &seen);
            // Regions that share a block are one.
            let here: Vec<usize> = (0..f.blocks.len())
                .filter(|x| seen[*x] > 0 && masked[*x] && Some(*x as BlockId) != join)
                .map(|x| region[x])
                .collect();
            if let Some(&to) = here.iter().min() {
                for r in &mut region {
                    if here.contains(r) {
                        *r = to;
                    }
                }
            }
            for (x, n) in seen.iter().enumerate() {
                if *n > 1 || Some(x as BlockId) == join {
                    // Where all ways from the branch bring the same value, lanes agree on it.
                    let ways =
                        |p: &BlockId| *p as usize == b || seen[*p as usize] > 0 && Some(*p) != join;
                    for &v in &f.blocks[x].insts {
                        let i = &f.insts[v as usize];
                        if i.op != Op::Phi {
                            break;
                        }
                        let mut brought =
                            f.blocks[x].preds.iter().zip(&i.args).filter(|(p, _)| ways(p));
                        let first = brought.next().map(|(_, a)| *a);
                        let differ = brought.any(|(_, a)| Some(*a) != first);
                        // Lanes that left a loop in different turns have different values of it.
                        let left =
                            first.map(|a| home[a as usize]).is_some_and(|h| {
                                all_loops.iter().map(|l| &l.nodes).chain([&turn]).any(|body| {
                                    body.contains(&h) && !body.contains(&(x as BlockId))
                                })
                            });
                        if differ || left {
                            forced[v as usize] = true;
                        }
                    }
                }
            }
            for body in all_loops.iter().map(|l| &l.nodes).chain([&turn]) {
                let leaves = join.is_none_or(|j| !body.contains(&j));
                if body.contains(&(b as BlockId)) && leaves {
                    for v in 0..n {
                        let h = home[v];
                        if h != BlockId::MAX
                            && body.contains(&h)
                            && readers[v].iter().any(|r| !body.contains(r))
                        {
                            forced[v] = true;
                            kept[v] = f.insts[v].op != Op::Phi;
                        }
                    }
                }
            }
        }
        // Ways may meet in a block that is masked below another branch: from there lanes go on under its mask, so
        // that what leads to it is of its region.
        for (b, block) in f.blocks.iter().enumerate().filter(|(b, _)| masked[*b]) {
            for s in block.term.succs().into_iter().filter(|s| masked[*s as usize]) {
                let (from, to) = (region[s as usize], region[b]);
                region.iter_mut().filter(|r| **r == from).for_each(|r| *r = to);
            }
        }
        // Deaths below a mask leave lanes out where the paths join again.
        for (b, block) in f.blocks.iter().enumerate() {
            if masked[b] && block.term.succs().iter().any(|s| is_end(f, *s)) {
                deaths = true;
            }
        }
        if forced == a.forced {
            let short = range::short_loops(f, g, assumed);
            return Shapes { of, masked, region, kept, short, deaths };
        }
        a.forced = forced;
    }
}

impl Analysis<'_> {
    fn shapes(&self) -> Vec<Shape> {
        let f = self.f;
        let zero: Rc<[i64]> = vec![0; self.g.width as usize].into();
        let mut of = vec![Shape::Unknown; f.insts.len()];
        for v in 0..f.insts.len() {
            of[v] = match f.insts[v].op {
                Op::Const(_) | Op::Symbol(..) | Op::Param(..) => Shape::Linear(zero.clone()),
                Op::Special(s) => match s {
                    Sreg::TidX => self.g.tid(0),
                    Sreg::TidY => self.g.tid(1),
                    Sreg::TidZ => self.g.tid(2),
                    Sreg::LaneId => Shape::Linear((0..self.g.width as i64).collect()),
                    Sreg::LanemaskEq
                    | Sreg::LanemaskLe
                    | Sreg::LanemaskLt
                    | Sreg::LanemaskGe
                    | Sreg::LanemaskGt
                        if !self.g.scalar() =>
                    {
                        Shape::Vector
                    }
                    _ => Shape::Linear(zero.clone()),
                },
                _ => Shape::Unknown,
            };
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in &f.blocks {
                for &v in &block.insts {
                    if let Op::Effect(e) = f.insts[v as usize].op {
                        let e = &f.effects[e as usize];
                        for &d in &e.dst {
                            let new = if self.forced[d as usize] {
                                Shape::Vector
                            } else {
                                self.loaded(
                                    &e.effect,
                                    e.src.first().map(|s| &of[*s as usize]),
                                    &zero,
                                )
                            };
                            changed |= new != of[d as usize];
                            of[d as usize] = new;
                        }
                        continue;
                    }
                    let new = if self.forced[v as usize] {
                        Shape::Vector
                    } else {
                        self.value(v, &of, &zero)
                    };
                    if new != of[v as usize] {
                        of[v as usize] = new;
                        changed = true;
                    }
                }
            }
        }
        // Never reached by the analysis: loops without entry do not exist, but stay safe.
        for s in &mut of {
            if *s == Shape::Unknown {
                *s = Shape::Vector;
            }
        }
        of
    }

    fn loaded(&self, e: &Effect, base: Option<&Shape>, zero: &Rc<[i64]>) -> Shape {
        match (e, base) {
            (_, Some(Shape::Unknown)) => Shape::Unknown,
            _ if self.g.scalar() => Shape::Linear(zero.clone()),
            (Effect::Ld(m), Some(s)) if s.uniform() && m.order == Order::Weak => {
                let own = match m.place.space {
                    Space::Local | Space::ParamFunc => true,
                    Space::Generic => self.f.frame_bytes > 0,
                    _ => false,
                };
                if own || m.bytes == 16 { Shape::Vector } else { Shape::Linear(zero.clone()) }
            }
            _ => Shape::Vector,
        }
    }

    /// Whether the mathematical value of `v` is what its 32 bits say, in every lane, and lanes' offsets below
    /// [`SMALL`] are those of the mathematical values too, not what wrapping made of greater ones.
    fn exact(&self, v: Val, unsigned: bool) -> bool {
        self.ranges[v as usize].is_some_and(|(lo, hi)| {
            let fits = if unsigned { is_unsigned((lo, hi)) } else { is_signed((lo, hi)) };
            fits && hi - lo < (1 << 32) - SMALL
        })
    }

    fn value(&self, v: Val, of: &[Shape], zero: &Rc<[i64]>) -> Shape {
        let i = &self.f.insts[v as usize];
        let shape = |n: usize| &of[i.args[n] as usize];
        match i.op {
            Op::Phi => {
                let mut out = Shape::Unknown;
                for a in &i.args {
                    out = match (out, &of[*a as usize]) {
                        (o, Shape::Unknown) => o,
                        (Shape::Unknown, s) => s.clone(),
                        (Shape::Linear(x), Shape::Linear(y)) if x == *y => Shape::Linear(x),
                        _ => Shape::Vector,
                    };
                }
                // Predicates are vectors or uniform.
                out
            }
            Op::Pure(op, _) => {
                if i.args.iter().any(|a| of[*a as usize] == Shape::Vector) {
                    return Shape::Vector;
                }
                if i.args.iter().any(|a| of[*a as usize] == Shape::Unknown) {
                    return Shape::Unknown;
                }
                if i.args.iter().all(|a| of[*a as usize].uniform()) {
                    return Shape::Linear(zero.clone());
                }
                let off = |n: usize| match shape(n) {
                    Shape::Linear(o) => o.clone(),
                    _ => zero.clone(),
                };
                let konst = |n: usize| self.f.as_const(i.args[n]);
                let narrow = i.kind == Kind::W;
                let make = |f: &dyn Fn(usize) -> i64| {
                    let wrap = |x: i64| if narrow { x as i32 as i64 } else { x };
                    Shape::Linear((0..self.g.width as usize).map(|l| wrap(f(l))).collect())
                };
                let bits = |n: usize, c: u64| {
                    let align = self.aligns[i.args[n] as usize];
                    match align::bits(op, i.kind, &off(n), align, c) {
                        Some(o) => Shape::Linear(o),
                        None => Shape::Vector,
                    }
                };
                let small = |n: usize| off(n).iter().all(|o| o.abs() < SMALL);
                let signed = matches!(op, Pure::MulWideS | Pure::MadWideS | Pure::SextWD);
                let factor = |n: usize| {
                    konst(n).map(|c| if signed { c as u32 as i32 as i64 } else { c as u32 as i64 })
                };
                match op {
                    Pure::MovW | Pure::MovD => shape(0).clone(),
                    Pure::AddW | Pure::AddD => {
                        let (x, y) = (off(0), off(1));
                        make(&|l| x[l].wrapping_add(y[l]))
                    }
                    Pure::SubW | Pure::SubD => {
                        let (x, y) = (off(0), off(1));
                        make(&|l| x[l].wrapping_sub(y[l]))
                    }
                    Pure::MulW | Pure::MulD => match (konst(0), konst(1)) {
                        (Some(c), _) => {
                            let y = off(1);
                            make(&|l| y[l].wrapping_mul(c as i64))
                        }
                        (_, Some(c)) => {
                            let x = off(0);
                            make(&|l| x[l].wrapping_mul(c as i64))
                        }
                        _ => Shape::Vector,
                    },
                    Pure::MadW => match (konst(0), konst(1)) {
                        (Some(c), _) => {
                            let (y, z) = (off(1), off(2));
                            make(&|l| y[l].wrapping_mul(c as i64).wrapping_add(z[l]))
                        }
                        (_, Some(c)) => {
                            let (x, z) = (off(0), off(2));
                            make(&|l| x[l].wrapping_mul(c as i64).wrapping_add(z[l]))
                        }
                        _ if shape(0).uniform() && shape(1).uniform() => shape(2).clone(),
                        _ => Shape::Vector,
                    },
                    Pure::ShlW | Pure::ShlD => match konst(1) {
                        Some(c) if c < if narrow { 32 } else { 64 } => {
                            let x = off(0);
                            make(&|l| x[l].wrapping_shl(c as u32))
                        }
                        _ => Shape::Vector,
                    },
                    Pure::TruncDW => {
                        let x = off(0);
                        make(&|l| x[l])
                    }
                    Pure::SextWD | Pure::ZextWD
                        if small(0) && self.exact(i.args[0], op == Pure::ZextWD) =>
                    {
                        shape(0).clone()
                    }
                    Pure::MulWideS | Pure::MulWideU | Pure::MadWideS | Pure::MadWideU => {
                        let (a, c) = match (factor(0), factor(1)) {
                            (_, Some(c)) => (0, c),
                            (Some(c), _) => (1, c),
                            _ if shape(0).uniform() && shape(1).uniform() => {
                                return shape(2).clone();
                            }
                            _ => return Shape::Vector,
                        };
                        let unsigned = matches!(op, Pure::MulWideU | Pure::MadWideU);
                        let plain =
                            shape(a).uniform() || small(a) && self.exact(i.args[a], unsigned);
                        if !plain {
                            return Shape::Vector;
                        }
                        let x = off(a);
                        if i.args.len() == 3 {
                            let z = off(2);
                            make(&|l| x[l].wrapping_mul(c).wrapping_add(z[l]))
                        } else {
                            make(&|l| x[l].wrapping_mul(c))
                        }
                    }
                    Pure::SelW | Pure::SelD if shape(2).uniform() && off(0) == off(1) => {
                        shape(0).clone()
                    }
                    Pure::AndW | Pure::AndD | Pure::OrW | Pure::OrD | Pure::XorW | Pure::XorD => {
                        match (konst(0), konst(1)) {
                            (_, Some(c)) => bits(0, c),
                            (Some(c), _) => bits(1, c),
                            _ => Shape::Vector,
                        }
                    }
                    Pure::ShrW | Pure::SarW | Pure::ShrD | Pure::SarD => match konst(1) {
                        Some(c) => bits(0, c),
                        None => Shape::Vector,
                    },
                    Pure::LtSW | Pure::LeSW | Pure::LtUW | Pure::LeUW => {
                        let a = [i.args[0], i.args[1]];
                        let of = a.map(|v| self.aligns[v as usize]);
                        let ranges = a.map(|v| self.ranges[v as usize]);
                        let (x, y) = (off(0), off(1));
                        if align::same_answer(self.f, op, a, [&x, &y], of, ranges) {
                            Shape::Linear(zero.clone())
                        } else {
                            Shape::Vector
                        }
                    }
                    _ => Shape::Vector,
                }
            }
            Op::Canon => shape(0).clone(),
            _ => Shape::Vector,
        }
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
