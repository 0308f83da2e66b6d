//! Registers: which values share one, and what they are called.
//!
//! PTX has any number of registers; what matters is that a loop variable and its next value share one, so
//! that no move stands on the back edge. Values are merged when their lifetimes do not overlap.

use rustc_hash::FxHashSet;

use crate::ir::graph::Graph;
use crate::ir::{Block, Func, Op, Term, Ty, Val};

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

    /// The register's name.
    pub fn name(&self, f: &Func, v: Val) -> String {
        format!("{}{}", CLASSES[class(f.ty(v))].0, self.number[v.0 as usize])
    }

    /// True if both values live in one register.
    pub fn same(&self, f: &Func, a: Val, b: Val) -> bool {
        class(f.ty(a)) == class(f.ty(b)) && self.number[a.0 as usize] == self.number[b.0 as usize]
    }

    /// A register of the type that nothing else uses.
    pub fn scratch(&mut self, ty: Ty) -> String {
        let c = class(ty);
        self.counts[c] += 1;
        format!("{}{}", CLASSES[c].0, self.counts[c])
    }
}

struct Merge<'m> {
    f: &'m Func,
    graph: &'m Graph,
    needs: &'m [bool],
    parent: Vec<u32>,
    members: Vec<Vec<Val>>,
    live_out: Vec<FxHashSet<Val>>,
    live_in: Vec<FxHashSet<Val>>,
    /// Block and position of the definition: parameters at 0, instruction i at i + 1.
    home: Vec<(Block, u32)>,
    /// Last use in the block of the definition or any other: by (value, block).
    last_use: Vec<Vec<(Block, u32)>>,
}

impl<'m> Merge<'m> {
    fn new(f: &'m Func, graph: &'m Graph, needs: &'m [bool]) -> Self {
        let n = f.values.len();
        let mut merge = Merge {
            f,
            graph,
            needs,
            parent: (0..n as u32).collect(),
            members: (0..n as u32).map(|v| vec![Val(v)]).collect(),
            live_out: vec![FxHashSet::default(); f.blocks.len()],
            live_in: vec![FxHashSet::default(); f.blocks.len()],
            home: vec![(Block(0), 0); n],
            last_use: vec![Vec::new(); n],
        };
        merge.liveness();
        merge
    }

    fn note_use(&mut self, v: Val, b: Block, at: u32) {
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
        // From each use back to the definition.
        for v in 0..f.values.len() {
            let value = Val(v as u32);
            let home = self.home[v].0;
            for (b, _) in self.last_use[v].clone() {
                if b == home {
                    continue;
                }
                let mut work = vec![b];
                while let Some(at) = work.pop() {
                    if !self.live_in[at.0 as usize].insert(value) {
                        continue;
                    }
                    for &p in &graph.preds[at.0 as usize] {
                        if self.live_out[p.0 as usize].insert(value) && p != home {
                            work.push(p);
                        }
                    }
                }
            }
            // A use in the own block before the definition: around a loop.
            if let Some(&(b, _)) = self.last_use[v].iter().find(|u| u.0 == home) {
                let _ = b;
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
        if self.live_out[block.0 as usize].contains(&a) {
            // Defined later in the same block: not yet alive at `b`.
            return self.home[a.0 as usize].0 != block || self.home[a.0 as usize].1 <= at;
        }
        let defined_before = self.home[a.0 as usize].0 != block
            && self.live_in[block.0 as usize].contains(&a)
            || self.home[a.0 as usize].0 == block && self.home[a.0 as usize].1 <= at;
        defined_before && self.last_use[a.0 as usize].iter().any(|u| u.0 == block && u.1 > at)
    }

    fn interfere(&self, a: Val, b: Val) -> bool {
        if self.home[a.0 as usize] == self.home[b.0 as usize] {
            return true;
        }
        self.live_after(a, b) || self.live_after(b, a)
    }

    fn try_merge(&mut self, a: Val, b: Val) {
        if !self.needs[a.0 as usize] || !self.needs[b.0 as usize] || self.f.ty(a) != self.f.ty(b) {
            return;
        }
        let (ra, rb) = (self.find(a), self.find(b));
        if ra == rb {
            return;
        }
        let (ma, mb) = (&self.members[ra.0 as usize], &self.members[rb.0 as usize]);
        if ma.len() * mb.len() > 4096
            || ma.iter().any(|x| mb.iter().any(|y| self.interfere(*x, *y)))
        {
            return;
        }
        let moved = std::mem::take(&mut self.members[rb.0 as usize]);
        self.members[ra.0 as usize].extend(moved);
        self.parent[rb.0 as usize] = ra.0;
    }

    fn run(&mut self) {
        // Back edges first: their moves run most often.
        for back in [true, false] {
            for &b in &self.graph.order {
                let edges: Vec<_> = self.f.block(b).term.edges().into_iter().cloned().collect();
                for edge in edges {
                    let is_back = self.graph.position[edge.block.0 as usize]
                        <= self.graph.position[b.0 as usize];
                    if is_back != back {
                        continue;
                    }
                    let params = self.f.block(edge.block).params.clone();
                    for (p, a) in params.into_iter().zip(edge.args) {
                        if !matches!(self.f.op(a), Op::Const(_) | Op::Undef) {
                            self.try_merge(p, a);
                        }
                    }
                }
            }
        }
    }
}
