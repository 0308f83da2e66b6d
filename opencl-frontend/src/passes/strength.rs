//! Strength reduction of addresses: what grows by a constant step in each turn of a loop becomes a pointer that is
//! advanced, instead of being multiplied and extended anew.

use rustc_hash::FxHashMap;

use super::licm::insert_preheaders;
use crate::ir::graph::{Graph, Loop};
use crate::ir::{BinOp, BlockId, Func, NO_WRAP, Op, Ty, UnOp, Val, simplify};

/// More pointers than this in one loop cost more registers than they save instructions.
const POINTERS: usize = 12;

/// Reduces all loops, inner ones first; true if anything changed.
pub fn run(f: &mut Func) -> bool {
    let mut changed = insert_preheaders(f);
    let graph = Graph::new(f);
    let loops = graph.loops();
    // Blocks that belong to a loop seen before, further inside.
    let mut inner = vec![false; f.blocks.len()];
    for l in &loops {
        changed |= reduce(f, &graph, l, &inner);
        for b in &l.blocks {
            inner[b.0 as usize] = true;
        }
    }
    changed
}

/// A 64-bit value as start plus turn times step.
#[derive(Clone, Copy)]
struct Linear {
    start: Val,
    step: Val,
}

struct Reducer<'r> {
    f: &'r mut Func,
    /// Defined in the loop.
    inside: Vec<bool>,
    /// Counters: header parameters with their first value, their step, and whether they stay in range.
    counters: FxHashMap<Val, (Val, Val, bool)>,
    /// What starts and steps are computed from, for the block before the loop.
    before: Vec<Val>,
    known: FxHashMap<Val, Option<Linear>>,
}

/// An access in the loop whose address moves linearly: block, access, start without its constant, constant, step.
struct Access {
    access: Val,
    base: Val,
    offset: i64,
    step: Val,
}

fn reduce(f: &mut Func, graph: &Graph, l: &Loop, inner: &[bool]) -> bool {
    let [latch] = l.latches.as_slice() else { return false };
    let outside = |p: &&BlockId| *p != latch;
    let Some(&pre) = graph.preds[l.header.0 as usize].iter().find(outside) else { return false };
    let Some(enter) = edge_to(f, pre, l.header) else { return false };
    let Some(back) = edge_to(f, *latch, l.header) else { return false };
    let mut inside = vec![false; f.values.len()];
    for &b in &l.blocks {
        for v in f.block(b).params.iter().chain(&f.block(b).insts) {
            inside[v.0 as usize] = true;
        }
    }
    let mut counters = FxHashMap::default();
    for (i, &p) in f.block(l.header).params.iter().enumerate() {
        let next = back[i];
        let Op::Bin(BinOp::Add, x, y) = *f.op(next) else { continue };
        let step = if x == p { y } else { x };
        if (x == p || y == p) && !inside[step.0 as usize] && matches!(f.ty(p), Ty::I32 | Ty::I64) {
            let no_wrap = f.values[next.0 as usize].flags & NO_WRAP != 0;
            counters.insert(p, (enter[i], step, no_wrap));
        }
    }
    if counters.is_empty() {
        return false;
    }
    let mut r = Reducer { f, inside, counters, before: Vec::new(), known: FxHashMap::default() };
    let mut accesses = Vec::new();
    for &b in l.blocks.iter().filter(|b| !inner[b.0 as usize]) {
        for v in r.f.block(b).insts.clone() {
            let a = match *r.f.op(v) {
                Op::Load(_, a) | Op::LoadVec(_, a, _) | Op::Store(_, a, _) => a,
                Op::StoreVec(_, a, _) | Op::Atomic(_, _, a, ..) => a,
                _ => continue,
            };
            if !r.inside[a.0 as usize] || r.counters.contains_key(&a) {
                continue;
            }
            let Some(linear) = r.linear(a) else { continue };
            if r.f.as_const(linear.step) == Some(0) {
                continue;
            }
            let (base, offset) = split(r.f, linear.start);
            accesses.push(Access { access: v, base, offset, step: linear.step });
        }
    }
    let before = r.before;
    let mut pointers: Vec<(Val, Val, i64)> = Vec::new();
    for a in &accesses {
        if !pointers.iter().any(|p| (p.0, p.1) == (a.base, a.step)) {
            pointers.push((a.base, a.step, a.offset));
        }
    }
    if pointers.is_empty() || pointers.len() > POINTERS || saved(f, l, &accesses) <= pointers.len()
    {
        return false;
    }
    let mut start_code = before;
    let mut params = Vec::new();
    for &(base, step, offset) in &pointers {
        let constant = f.constant(Ty::I64, offset as u64);
        let sum = Op::Bin(BinOp::Add, base, constant);
        let start = simplify::build(f, &mut start_code, sum, Ty::I64, 0, 0);
        let p = f.add_param(l.header, Ty::I64);
        let next = f.new_value(Op::Bin(BinOp::Add, p, step), Ty::I64, 0, 0);
        f.block_mut(*latch).insts.push(next);
        push_argument(f, pre, l.header, start);
        push_argument(f, *latch, l.header, next);
        params.push(p);
    }
    f.block_mut(pre).insts.extend(start_code);
    for a in accesses {
        let Some(i) = pointers.iter().position(|p| (p.0, p.1) == (a.base, a.step)) else {
            continue;
        };
        let delta = a.offset.wrapping_sub(pointers[i].2);
        match &mut f.values[a.access.0 as usize].op {
            Op::Load(m, to) | Op::LoadVec(m, to, _) | Op::Store(m, to, _) => {
                *to = params[i];
                m.offset = m.offset.wrapping_add(delta);
            }
            Op::StoreVec(m, to, _) | Op::Atomic(_, m, to, ..) => {
                *to = params[i];
                m.offset = m.offset.wrapping_add(delta);
            }
            _ => {}
        }
    }
    true
}

/// The arguments of the one edge between two blocks.
fn edge_to(f: &Func, from: BlockId, to: BlockId) -> Option<Vec<Val>> {
    let edges = f.block(from).term.edges();
    let mut found = edges.iter().filter(|e| e.block == to);
    let only = found.next()?;
    found.next().is_none().then(|| only.args.to_vec())
}

fn push_argument(f: &mut Func, from: BlockId, to: BlockId, arg: Val) {
    for edge in f.block_mut(from).term.edges_mut() {
        if edge.block == to {
            edge.args.push(arg);
        }
    }
}

/// A sum with a constant as its two parts, where the constant fits an offset.
fn split(f: &Func, v: Val) -> (Val, i64) {
    if let Op::Bin(BinOp::Add, x, c) = *f.op(v)
        && let Some(c) = f.as_const(c)
        && i32::try_from(c as i64).is_ok_and(|c| c.unsigned_abs() < 1 << 30)
    {
        return (x, c as i64);
    }
    (v, 0)
}

/// How many instructions of the loop only served the addresses of these accesses.
fn saved(f: &Func, l: &Loop, accesses: &[Access]) -> usize {
    let mut uses: FxHashMap<Val, usize> = FxHashMap::default();
    let mut inside: FxHashMap<Val, ()> = FxHashMap::default();
    for &b in &l.blocks {
        for &v in &f.block(b).insts {
            inside.insert(v, ());
            f.op(v).for_each_operand(|o| *uses.entry(o).or_default() += 1);
        }
        for edge in f.block(b).term.edges() {
            for a in &edge.args {
                *uses.entry(*a).or_default() += 1;
            }
        }
    }
    let mut work: Vec<Val> = Vec::new();
    for a in accesses {
        match *f.op(a.access) {
            Op::Load(_, a) | Op::LoadVec(_, a, _) | Op::Store(_, a, _) => work.push(a),
            Op::StoreVec(_, a, _) | Op::Atomic(_, _, a, ..) => work.push(a),
            _ => {}
        }
    }
    let mut count = 0;
    while let Some(v) = work.pop() {
        let Some(left) = uses.get_mut(&v) else { continue };
        *left -= 1;
        // A multiplication whose sum takes it in costs nothing by itself.
        if *left == 0 && inside.contains_key(&v) {
            count += usize::from(!matches!(f.op(v), Op::Bin(BinOp::Mul, ..)));
            f.op(v).for_each_operand(|o| work.push(o));
        }
    }
    count
}

impl Reducer<'_> {
    fn build(&mut self, op: Op) -> Val {
        simplify::build(self.f, &mut self.before, op, Ty::I64, 0, 0)
    }

    fn constant(&mut self, bits: u64) -> Val {
        self.f.constant(Ty::I64, bits)
    }

    /// A value that the loop does not change. Values made here are not `inside`.
    fn invariant(&self, v: Val) -> bool {
        !self.inside.get(v.0 as usize).copied().unwrap_or(false)
    }

    /// The value, sign-extended if it is of 32 bits, as start and step.
    fn linear(&mut self, v: Val) -> Option<Linear> {
        if let Some(known) = self.known.get(&v) {
            return *known;
        }
        // No cycles but through parameters, which are looked up.
        let found = self.compute(v);
        self.known.insert(v, found);
        found
    }

    fn compute(&mut self, v: Val) -> Option<Linear> {
        let narrow = self.f.ty(v) == Ty::I32;
        if self.invariant(v) {
            let start = self.widened(v);
            let step = self.constant(0);
            return Some(Linear { start, step });
        }
        if let Some(&(first, step, no_wrap)) = self.counters.get(&v) {
            if narrow && !no_wrap {
                return None;
            }
            return Some(Linear { start: self.widened(first), step: self.widened(step) });
        }
        let exact = !narrow || self.f.values[v.0 as usize].flags & NO_WRAP != 0;
        match *self.f.op(v) {
            Op::Bin(op @ (BinOp::Add | BinOp::Sub), x, y) if exact => {
                let (x, y) = (self.linear(x)?, self.linear(y)?);
                let start = self.build(Op::Bin(op, x.start, y.start));
                let step = self.build(Op::Bin(op, x.step, y.step));
                Some(Linear { start, step })
            }
            Op::Bin(BinOp::Mul, x, y) if exact => self.product(x, y),
            Op::Bin(BinOp::SMulWide, x, y) => self.product(x, y),
            Op::Bin(BinOp::Shl, x, c) if exact => {
                let c = self.f.as_const(c).filter(|c| *c < 32)?;
                let x = self.linear(x)?;
                let factor = self.constant(1 << c);
                Some(self.scaled(x, factor))
            }
            Op::Un(UnOp::SExt64, x) => self.linear(x),
            _ => None,
        }
    }

    /// A product of which one factor does not change.
    fn product(&mut self, x: Val, y: Val) -> Option<Linear> {
        let (x, factor) = if self.invariant(y) {
            (x, y)
        } else if self.invariant(x) {
            (y, x)
        } else {
            return None;
        };
        let x = self.linear(x)?;
        let factor = self.widened(factor);
        Some(self.scaled(x, factor))
    }

    fn scaled(&mut self, x: Linear, factor: Val) -> Linear {
        let start = self.build(Op::Bin(BinOp::Mul, x.start, factor));
        let step = self.build(Op::Bin(BinOp::Mul, x.step, factor));
        Linear { start, step }
    }

    /// An invariant value with 64 bits.
    fn widened(&mut self, v: Val) -> Val {
        if self.f.ty(v) == Ty::I32 { self.build(Op::Un(UnOp::SExt64, v)) } else { v }
    }
}
