//! Registers: which values share one, and what they are called.
//!
//! PTX has any number of registers; what matters is that a loop variable and its next value share one, so
//! that no move stands on the back edge. Values are merged when their lifetimes do not overlap.

use std::fmt::{Display, Formatter};

use smallvec::SmallVec;

use crate::ir::graph::Graph;
use crate::ir::{BlockId, Func, Op, Term, Ty, Val};

/// A register, written as its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reg {
    class: usize,
    number: u32,
}

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(CLASSES[self.class].0)?;
        self.number.fmt(f)
    }
}

/// The register of each value.
pub struct Registers {
    number: Vec<u32>,
    /// Registers used per class: predicate, 16, 32, 64 bits, single, double.
    pub counts: [u32; 6],
}

/// Class of a type, its prefix and its declaration.
pub const CLASSES: [(&str, &str); 6] = [
    ("%p", ".pred"),
    ("%h", ".b16"),
    ("%r", ".b32"),
    ("%rd", ".b64"),
    ("%f", ".f32"),
    ("%fd", ".f64"),
];

fn class(ty: Ty) -> usize {
    match ty {
        Ty::None | Ty::Pred => 0,
        Ty::F16 => 1,
        Ty::I32 => 2,
        Ty::I64 => 3,
        Ty::F32 => 4,
        Ty::F64 => 5,
    }
}

impl Registers {
    /// Assigns registers. `needs` says which values live in one.
    pub fn assign(f: &Func, graph: &Graph, needs: &[bool]) -> Registers {
        let mut merge = Merge::new(f, graph, needs);
        merge.run();
        let mut number = vec![0u32; f.values.len()];
        let mut counts = [0u32; 6];
        let mut by_root = vec![0u32; f.values.len()];
        for &b in &graph.order {
            let block = f.block(b);
            for &v in block.params.iter().chain(&block.insts) {
                if !needs[v.0 as usize] {
                    continue;
                }
                let root = merge.find(v);
                if by_root[root.0 as usize] == 0 {
                    let count = &mut counts[class(f.ty(v))];
                    *count += 1;
                    by_root[root.0 as usize] = *count;
                }
                number[v.0 as usize] = by_root[root.0 as usize];
            }
        }
        Registers { number, counts }
    }

    /// The register of a value.
    pub fn of(&self, f: &Func, v: Val) -> Reg {
        Reg { class: class(f.ty(v)), number: self.number[v.0 as usize] }
    }

    /// True if both values live in one register.
    pub fn same(&self, f: &Func, a: Val, b: Val) -> bool {
        self.of(f, a) == self.of(f, b)
    }

    /// A register of the type that nothing else uses.
    pub fn scratch(&mut self, ty: Ty) -> Reg {
        let class = class(ty);
        self.counts[class] += 1;
        Reg { class, number: self.counts[class] }
    }
}

/// Blocks with the last position in them that uses a value.
type Uses = SmallVec<[(BlockId, u32); 2]>;

struct Merge<'m> {
    f: &'m Func,
    graph: &'m Graph,
    needs: &'m [bool],
    parent: Vec<u32>,
    /// The values of a register form a ring; the size is right at the root.
    ring: Vec<Val>,
    size: Vec<u32>,
    /// In ascending order of the values.
    live_out: Vec<Vec<Val>>,
    live_in: Vec<Vec<Val>>,
    /// Block and position of the definition: parameters at 0, instruction i at i + 1.
    home: Vec<(BlockId, u32)>,
    /// Last use in each block that has one.
    last_use: Vec<Uses>,
}

impl<'m> Merge<'m> {
    fn new(f: &'m Func, graph: &'m Graph, needs: &'m [bool]) -> Self {
        let n = f.values.len();
        let mut merge = Merge {
            f,
            graph,
            needs,
            parent: (0..n as u32).collect(),
            ring: (0..n as u32).map(Val).collect(),
            size: vec![1; n],
            live_out: vec![Vec::new(); f.blocks.len()],
            live_in: vec![Vec::new(); f.blocks.len()],
            home: vec![(BlockId(0), 0); n],
            last_use: std::iter::repeat_with(Uses::new).take(n).collect(),
        };
        merge.liveness();
        merge
    }

    fn note_use(&mut self, v: Val, b: BlockId, at: u32) {
        if !self.needs[v.0 as usize] {
            return;
        }
        let uses = &mut self.last_use[v.0 as usize];
        match uses.last_mut() {
            Some(last) if last.0 == b => last.1 = last.1.max(at),
            _ => uses.push((b, at)),
        }
    }

    fn liveness(&mut self) {
        let (f, graph) = (self.f, self.graph);
        for &b in &graph.order {
            let block = f.block(b);
            for &p in &block.params {
                self.home[p.0 as usize] = (b, 0);
            }
            for (i, &v) in block.insts.iter().enumerate() {
                self.home[v.0 as usize] = (b, i as u32 + 1);
                f.op(v).for_each_operand(|o| self.note_use(o, b, i as u32 + 1));
            }
            let end = block.insts.len() as u32 + 1;
            if let Term::Branch(c, ..) = block.term {
                self.note_use(c, b, end);
            }
            for edge in block.term.edges() {
                for arg in &edge.args {
                    self.note_use(*arg, b, end);
                }
            }
        }
        // From each use back to the definition. Values come in ascending order: one that is in a list is its last.
        let mut work = Vec::new();
        for (v, uses) in self.last_use.iter().enumerate() {
            let value = Val(v as u32);
            let home = self.home[v].0;
            for &(b, _) in uses.iter().filter(|u| u.0 != home) {
                work.push(b);
                while let Some(at) = work.pop() {
                    let live = &mut self.live_in[at.0 as usize];
                    if live.last() == Some(&value) {
                        continue;
                    }
                    live.push(value);
                    for &p in &graph.preds[at.0 as usize] {
                        let live = &mut self.live_out[p.0 as usize];
                        if live.last() != Some(&value) {
                            live.push(value);
                            if p != home {
                                work.push(p);
                            }
                        }
                    }
                }
            }
        }
    }

    fn find(&mut self, v: Val) -> Val {
        let mut root = v.0;
        while self.parent[root as usize] != root {
            root = self.parent[root as usize];
        }
        self.parent[v.0 as usize] = root;
        Val(root)
    }

    /// Is `a` needed after the definition of `b`?
    fn live_after(&self, a: Val, b: Val) -> bool {
        let (block, at) = self.home[b.0 as usize];
        let (a_block, a_at) = self.home[a.0 as usize];
        if self.live_out[block.0 as usize].binary_search(&a).is_ok() {
            // Defined later in the same block: not yet alive at `b`.
            return a_block != block || a_at <= at;
        }
        let used_later = || self.last_use[a.0 as usize].iter().any(|u| u.0 == block && u.1 > at);
        match a_block == block {
            true => a_at <= at && used_later(),
            false => used_later() && self.live_in[block.0 as usize].binary_search(&a).is_ok(),
        }
    }

    fn interfere(&self, a: Val, b: Val) -> bool {
        if self.home[a.0 as usize] == self.home[b.0 as usize] {
            return true;
        }
        self.live_after(a, b) || self.live_after(b, a)
    }

    /// The values that share the register of `v`.
    fn members(&self, v: Val) -> impl Iterator<Item = Val> + '_ {
        let next = move |at: &Val| Some(self.ring[at.0 as usize]).filter(|n| *n != v);
        std::iter::successors(Some(v), next)
    }

    fn try_merge(&mut self, a: Val, b: Val) {
        if !self.needs[a.0 as usize] || !self.needs[b.0 as usize] || self.f.ty(a) != self.f.ty(b) {
            return;
        }
        let (ra, rb) = (self.find(a), self.find(b));
        if ra == rb {
            return;
        }
        let (na, nb) = (self.size[ra.0 as usize], self.size[rb.0 as usize]);
        if u64::from(na) * u64::from(nb) > 4096
            || self.members(a).any(|x| self.members(b).any(|y| self.interfere(x, y)))
        {
            return;
        }
        self.ring.swap(ra.0 as usize, rb.0 as usize);
        self.size[ra.0 as usize] = na + nb;
        self.parent[rb.0 as usize] = ra.0;
    }

    fn run(&mut self) {
        let (f, graph) = (self.f, self.graph);
        // Back edges first: their moves run most often.
        for back in [true, false] {
            for &b in &graph.order {
                for edge in f.block(b).term.edges() {
                    let is_back =
                        graph.position[edge.block.0 as usize] <= graph.position[b.0 as usize];
                    if is_back != back {
                        continue;
                    }
                    for (&p, &a) in f.block(edge.block).params.iter().zip(&edge.args) {
                        if !matches!(f.op(a), Op::Const(_) | Op::Undef) {
                            self.try_merge(p, a);
                        }
                    }
                }
            }
        }
    }
}

/// Values that need a register. Constants and addresses of variables that serve
/// only as addresses are written in place.
pub(super) fn needs_register(f: &Func, graph: &Graph) -> Vec<bool> {
    let mut needs = vec![false; f.values.len()];
    let mut uses = vec![0u32; f.values.len()];
    let mut as_value = vec![false; f.values.len()];
    for &b in &graph.order {
        let block = f.block(b);
        for &p in &block.params {
            needs[p.0 as usize] = true;
        }
        for &v in &block.insts {
            let op = f.op(v);
            let address = match op {
                Op::Load(_, a)
                | Op::Store(_, a, _)
                | Op::LoadVec(_, a, _)
                | Op::StoreVec(_, a, _)
                | Op::Atomic(_, _, a, ..) => Some(*a),
                _ => None,
            };
            let mut first = true;
            op.for_each_operand(|o| {
                uses[o.0 as usize] += 1;
                if !(address == Some(o) && std::mem::take(&mut first)) {
                    as_value[o.0 as usize] = true;
                }
            });
        }
        for edge in block.term.edges() {
            for a in &edge.args {
                uses[a.0 as usize] += 1;
                as_value[a.0 as usize] = true;
            }
        }
        if let Term::Branch(c, ..) = block.term {
            uses[c.0 as usize] += 1;
            as_value[c.0 as usize] = true;
        }
    }
    for &b in &graph.order {
        for &v in &f.block(b).insts {
            needs[v.0 as usize] = match f.op(v) {
                Op::GlobalAddr(_) | Op::PrivateAddr(_) => as_value[v.0 as usize],
                Op::ParamAddr(_) => false,
                Op::LoadVec(..) => false,
                Op::Atomic(..) => uses[v.0 as usize] > 0,
                Op::Const(_)
                | Op::Undef
                | Op::Param(_)
                | Op::BlockParam
                | Op::Sreg(_)
                | Op::Bin(..)
                | Op::Un(..)
                | Op::Tern(..)
                | Op::Cmp(..)
                | Op::Select(..)
                | Op::Load(..)
                | Op::Store(..)
                | Op::Extract(..)
                | Op::StoreVec(..)
                | Op::Generic(..)
                | Op::Specific(..)
                | Op::Within(..)
                | Op::Warp(..)
                | Op::Printf(..)
                | Op::Barrier
                | Op::Fence(_)
                | Op::Call(..)
                | Op::Asm(..) => f.ty(v) != Ty::None,
            };
        }
    }
    needs
}
