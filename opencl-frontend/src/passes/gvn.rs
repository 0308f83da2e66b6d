//! Global value numbering over the dominator tree, with simplification, and reuse of loaded and stored values.

use std::collections::VecDeque;

use super::known::Known;
use super::replace::Replacements;
use crate::ir::graph::Graph;
use crate::ir::{BinOp, BlockId, Func, Mem, MemTy, Op, Space, Term, Val, simplify};

struct Pass {
    replaced: Replacements,
    known: Known,
    /// What simplification makes of one instruction.
    fresh: Vec<Val>,
    /// The instructions of a block that is under way.
    out: Vec<Val>,
    changed: bool,
    /// Values in memory at the end of each block that is done, and how many blocks are still to go on from there.
    memory: Vec<(usize, Memory)>,
}

/// Values known to be in memory: (access, address, value).
type Memory = VecDeque<(Mem, Val, Val)>;

/// As many as are worth remembering.
const MEMORY_LIMIT: usize = 64;

/// Runs the pass; true if anything but the numbers of values changed.
pub fn run(f: &mut Func) -> bool {
    let graph = Graph::new(f);
    let placed = graph.order.iter().map(|b| f.block(*b).insts.len()).sum();
    let mut pass = Pass {
        replaced: Replacements::default(),
        known: Known::new(placed),
        fresh: Vec::new(),
        out: Vec::new(),
        changed: false,
        memory: vec![(0, Memory::new()); f.blocks.len()],
    };
    // Blocks whose subtrees the walk is in: where that ends, and how many operations were known on entry.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, (b, end)) in graph.walk().enumerate() {
        while let Some((_, known)) = open.pop_if(|(end, _)| *end <= at) {
            pass.known.truncate(known);
        }
        open.push((end, pass.known.count()));
        pass.block(f, &graph, b);
    }
    // Every use has been rewritten: definitions come first in the order of dominance.
    super::compact::run(f);
    pass.changed
}

impl Pass {
    fn block(&mut self, f: &mut Func, graph: &Graph, b: BlockId) {
        let mut memory = match graph.preds[b.0 as usize] {
            [before] => self.memory_behind(before),
            _ => Memory::new(),
        };
        let mut insts = std::mem::take(&mut f.block_mut(b).insts);
        let mut out = std::mem::take(&mut self.out);
        let mut fresh = std::mem::take(&mut self.fresh);
        for &v in &insts {
            let mut op = *f.op(v);
            op.map_operands(|o| self.replaced.get(o));
            let (ty, flags, loc) = {
                let d = &f.values[v.0 as usize];
                (d.ty, d.flags, d.loc)
            };
            let made = simplify::build(f, &mut fresh, op, ty, flags, loc);
            let mut last = made;
            self.changed |= fresh != [made];
            for new in fresh.drain(..) {
                let kept = self.number(f, new, &mut memory, &mut out);
                if new == made {
                    last = kept;
                }
            }
            self.replaced.set(v, last);
            let now = &f.values[last.0 as usize];
            self.changed |= last != made || (now.op, now.flags) != (op, flags);
        }
        self.fresh = fresh;
        insts.clear();
        insts.append(&mut out);
        self.out = out;
        f.block_mut(b).insts = insts;
        if let Term::Branch(c, ..) = &mut f.block_mut(b).term {
            *c = self.replaced.get(*c);
        }
        for edge in f.block_mut(b).term.edges_mut() {
            for arg in &mut edge.args {
                *arg = self.replaced.get(*arg);
            }
        }
        let after = f.block(b).term.targets();
        let readers = after.filter(|to| graph.preds[to.0 as usize] == [b]).count();
        if readers > 0 && !memory.is_empty() {
            self.memory[b.0 as usize] = (readers, memory);
        }
    }

    /// What is known at the end of a block, for one of those that go on from there.
    fn memory_behind(&mut self, b: BlockId) -> Memory {
        let (readers, memory) = &mut self.memory[b.0 as usize];
        match readers {
            0 => Memory::new(),
            1 => std::mem::take(memory),
            _ => {
                *readers -= 1;
                memory.clone()
            }
        }
    }

    /// Places a new instruction, or finds the value that it repeats.
    fn number(&mut self, f: &mut Func, v: Val, memory: &mut Memory, out: &mut Vec<Val>) -> Val {
        let data = &mut f.values[v.0 as usize];
        data.op.map_operands(|o| self.replaced.get(o));
        let (op, ty) = (data.op, data.ty);
        if op.is_pure() {
            if let Some(old) = self.known.find_or_add(f, v) {
                // Both uses may rely only on what both promise.
                let flags = f.values[v.0 as usize].flags;
                f.values[old.0 as usize].flags &= flags;
                let (kept, gone) = (f.values[old.0 as usize].loc, f.values[v.0 as usize].loc);
                if let Some(debug) = &mut f.debug
                    && kept != gone
                {
                    debug.merged.push((kept, gone));
                }
                self.replaced.set(v, old);
                return old;
            }
            out.push(v);
            return v;
        }
        match op {
            Op::Load(m, a) if !m.volatile => {
                let known = memory.iter().find(|(km, ka, kv)| {
                    *ka == a
                        && km.space == m.space
                        && km.offset == m.offset
                        && km.ty == m.ty
                        && f.ty(*kv) == ty
                });
                if let Some(&(_, _, value)) = known {
                    self.replaced.set(v, value);
                    return value;
                }
                remember(memory, (m, a, v));
            }
            Op::Store(m, a, x) => {
                memory.retain(|(km, ka, _)| !may_alias(f, (km, *ka), (&m, a)));
                // A narrow store drops bits; its value is not what a load gives.
                if !m.volatile && !matches!(m.ty, MemTy::S8 | MemTy::U8 | MemTy::S16 | MemTy::U16) {
                    remember(memory, (m, a, x));
                }
            }
            Op::Atomic(_, m, ..) => memory.retain(|(km, _, _)| !km.space.meets(m.space)),
            // They may write any memory that they are given a pointer to.
            Op::Call(..) | Op::Asm(..) => memory.retain(|(km, _, _)| km.space.is_constant()),
            Op::Barrier | Op::Fence(_) | Op::Warp(..) => memory.retain(|(km, _, _)| {
                matches!(km.space, Space::Local | Space::Constant | Space::Param)
            }),
            Op::StoreVec(m, ..) => memory.retain(|(km, _, _)| !km.space.meets(m.space)),
            // They write no memory that the program reads.
            Op::Printf(..) => {}
            Op::Load(..) | Op::LoadVec(..) | Op::BlockParam | Op::Extract(..) => {}
            Op::Const(_)
            | Op::Undef
            | Op::Param(_)
            | Op::ParamAddr(_)
            | Op::PrivateAddr(_)
            | Op::GlobalAddr(_)
            | Op::Sreg(_)
            | Op::Bin(..)
            | Op::Un(..)
            | Op::Tern(..)
            | Op::Cmp(..)
            | Op::Select(..)
            | Op::Generic(..)
            | Op::Specific(..)
            | Op::Within(..) => unreachable!("pure operations were numbered above"),
        }
        out.push(v);
        v
    }
}

fn remember(memory: &mut Memory, entry: (Mem, Val, Val)) {
    if memory.len() >= MEMORY_LIMIT {
        memory.pop_front();
    }
    memory.push_back(entry);
}

/// The object that an address is derived from, if that is a variable of the program or a private one.
fn object(f: &Func, mut a: Val) -> Option<Op> {
    loop {
        match f.op(a) {
            op @ (Op::GlobalAddr(_) | Op::PrivateAddr(_)) => return Some(*op),
            Op::Generic(_, x) | Op::Specific(_, x) => a = *x,
            Op::Bin(BinOp::Add, x, y) => {
                let left = object(f, *x);
                if left.is_some() {
                    return left;
                }
                a = *y;
            }
            _ => return None,
        }
    }
}

/// Could the two accesses touch the same bytes?
pub(super) fn may_alias(f: &Func, (m, a): (&Mem, Val), (n, b): (&Mem, Val)) -> bool {
    if !m.space.meets(n.space) || m.space.is_constant() {
        return false;
    }
    if a == b {
        let (end_m, end_n) = (m.offset + m.ty.size() as i64, n.offset + n.ty.size() as i64);
        return m.offset < end_n && n.offset < end_m;
    }
    match (object(f, a), object(f, b)) {
        (Some(x), Some(y)) => x == y,
        _ => true,
    }
}
