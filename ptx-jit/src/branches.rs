//! Branches: lanes that agree go on together, others part.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Switch;
use ptx_isa::uop::Op as Pure;

use crate::divergence::{is_death, is_end};
use crate::generator::Gen;
use crate::ir::{BlockId, Op, Val};

/// A condition of two parts.
struct TwoParts {
    /// What is the same for all lanes; where it is `decides_if`, the condition is `outcome`.
    shared: Val,
    decides_if: bool,
    outcome: bool,
    /// What the condition is otherwise, or the opposite of.
    other: Val,
    negated: bool,
}

impl Gen<'_, '_> {
    /// Ends block `id` by a branch on `v`.
    pub(crate) fn branch(
        &mut self,
        id: BlockId,
        v: Val,
        neg: bool,
        a: BlockId,
        c: BlockId,
        masked: bool,
    ) {
        let f = self.f;
        let (a, c) = if neg { (c, a) } else { (a, c) };
        if a == c {
            if masked {
                self.flow(id, a, None);
                self.leave(id);
            } else {
                self.go(id, a);
            }
            return;
        }
        if self.divergence.of[v as usize].uniform() {
            let p = self.scalar(v);
            let (yes, no) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(p, yes, &[], no, &[]);
            for (at, to) in [(yes, a), (no, c)] {
                self.b.switch_to_block(at);
                self.all_to(id, to, masked);
            }
            return;
        }
        if let Some(first) = self.first_for_all(id, v) {
            self.branch_in_two(id, first, [a, c], masked);
            return;
        }
        if self.full {
            self.branch_together(id, v, a, c);
            return;
        }
        let p = self.vector(v);
        let mut yes = Vec::new();
        let mut no = Vec::new();
        for (s, p) in p.iter().enumerate() {
            match &self.mask {
                Some(m) => {
                    let m = m[s];
                    yes.push(self.b.ins().band(m, *p));
                    no.push(self.b.ins().band_not(m, *p));
                }
                None => {
                    yes.push(*p);
                    no.push(self.b.ins().bnot(*p));
                }
            }
        }
        if masked {
            self.flow(id, a, Some((&yes, None)));
            self.flow(id, c, Some((&no, None)));
            self.leave(id);
            return;
        }
        if is_death(f, &f.blocks[id as usize].term) {
            // The other lanes go on together.
            let (dead, on, to) = if is_end(f, a) { (yes, no, c) } else { (no, yes, a) };
            self.die(Some(&dead));
            let any = self.any_of(&on);
            let (go, end) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(any, go, &[], end, &[]);
            self.b.switch_to_block(end);
            self.end_group();
            self.b.switch_to_block(go);
            self.mask = Some(on);
            self.go(id, to);
            return;
        }
        self.fork(id, &[(a, yes), (c, no)]);
    }

    /// All lanes that are in block `id` go on to `to`.
    fn all_to(&mut self, id: BlockId, to: BlockId, masked: bool) {
        // What one side computes is not known on the other.
        let (now, vectors) = (self.now.clone(), self.vectors.clone());
        if masked {
            self.flow(id, to, None);
            self.leave(id);
        } else if is_end(self.f, to) {
            self.end_group();
        } else {
            self.go(id, to);
        }
        (self.now, self.vectors) = (now, vectors);
    }

    /// Whether the branch that ends `id` needs no vector of its whole condition.
    pub(crate) fn by_parts(&self, id: BlockId) -> bool {
        let condition = self.f.blocks[id as usize].term.value();
        self.decides(id) || condition.is_some_and(|v| self.first_for_all(id, v).is_some())
    }

    /// The parts of condition `v` at the end of block `id`, if one is the same for all lanes and alone may decide.
    fn first_for_all(&self, id: BlockId, v: Val) -> Option<TwoParts> {
        let i = &self.f.insts[v as usize];
        let Op::Pure(op, _) = i.op else { return None };
        let own = self.lone[id as usize] && self.f.blocks[id as usize].term.value() == Some(v);
        let [p, q] = i.args[..] else { return None };
        let uniform = [p, q].map(|v| self.divergence.of[v as usize].uniform());
        if !own || uniform[0] == uniform[1] {
            return None;
        }
        let (shared, other) = if uniform[0] { (p, q) } else { (q, p) };
        let (decides_if, outcome, negated) = match op {
            Pure::AndP => (false, false, false),
            Pure::OrP => (true, true, false),
            Pure::AndNotP => (!uniform[0], false, uniform[0]),
            _ => return None,
        };
        Some(TwoParts { shared, decides_if, outcome, other, negated })
    }

    /// Ends block `id` by a branch to the first place where the condition holds, to the second one where not.
    fn branch_in_two(&mut self, id: BlockId, parts: TwoParts, to: [BlockId; 2], masked: bool) {
        let shared = self.scalar(parts.shared);
        let (decided, open) = (self.b.create_block(), self.b.create_block());
        let (yes, no) = if parts.decides_if { (decided, open) } else { (open, decided) };
        self.b.ins().brif(shared, yes, &[], no, &[]);
        self.b.switch_to_block(decided);
        self.all_to(id, to[usize::from(!parts.outcome)], masked);
        self.b.switch_to_block(open);
        self.branch(id, parts.other, parts.negated, to[0], to[1], masked);
    }

    /// A branch that lanes may take differently, in the version where all of them are on.
    fn branch_together(&mut self, id: BlockId, v: Val, a: BlockId, c: BlockId) {
        let f = self.f;
        let decided = if self.decides(id) { self.decide(v) } else { None };
        let [yes, some, no, mixed] = std::array::from_fn(|_| self.b.create_block());
        let before = (self.now.clone(), self.vectors.clone());
        if let Some(ways) = decided {
            for (all, to) in ways.into_iter().zip([yes, no]) {
                let Some(all) = all else { continue };
                let rest = self.b.create_block();
                self.b.ins().brif(all, to, &[], rest, &[]);
                self.b.switch_to_block(rest);
            }
            if let Op::Pure(op, k) = f.insts[v as usize].op {
                self.pure(v, op, k);
            }
        }
        let p = self.vector(v);
        let all = self.all_of(&p);
        let any = self.any_of(&p);
        self.b.ins().brif(all, yes, &[], some, &[]);
        self.b.switch_to_block(some);
        self.b.ins().brif(any, mixed, &[], no, &[]);
        // What was computed for the comparison of vectors is not known where scalars decided.
        let late = (self.now.clone(), self.vectors.clone());
        for (at, to) in [(yes, a), (no, c)] {
            self.b.switch_to_block(at);
            (self.now, self.vectors) = before.clone();
            if is_end(f, to) {
                self.end_group();
            } else {
                self.go(id, to);
            }
        }
        (self.now, self.vectors) = late;
        self.b.switch_to_block(mixed);
        self.part(id);
        let masked = self.divergence.masked[id as usize];
        self.branch(id, v, false, a, c, masked);
    }

    /// From the version where all lanes are on to the one under masks.
    fn part(&mut self, id: BlockId) {
        self.full = false;
        if self.divergence.masked[id as usize] || self.divergence.deaths {
            self.mask = Some(self.all_lanes());
        }
        if self.divergence.masked[id as usize] {
            self.enter(id);
        }
    }

    /// Lanes of an unmasked block go different ways.
    pub(crate) fn fork(&mut self, id: BlockId, edges: &[(BlockId, Vec<Value>)]) {
        let f = self.f;
        let masked = |b: &BlockId| self.divergence.masked[*b as usize];
        let Some(first) = edges.iter().map(|e| e.0).filter(masked).min() else {
            // Every side is the meeting point or the end.
            for (to, m) in edges {
                self.flow(id, *to, Some((m, None)));
            }
            match edges.iter().map(|e| e.0).find(|b| !is_end(f, *b)) {
                Some(to) => {
                    if to <= id {
                        self.burn();
                        self.pause(to);
                    }
                    let head = self.head(to);
                    self.b.ins().jump(head, &[]);
                }
                None => self.end_group(),
            }
            return;
        };
        self.enter(first);
        for (to, m) in edges {
            self.flow(id, *to, Some((m, None)));
        }
        let start = self.region(first).into_iter().next().unwrap_or(first);
        if start <= id {
            self.burn();
        }
        let head = self.heads[start as usize];
        self.b.ins().jump(head, &[]);
    }

    /// Ends block `id` by a table of branches.
    pub(crate) fn table(&mut self, id: BlockId, v: Val, targets: &[BlockId], masked: bool) {
        if !masked && self.divergence.of[v as usize].uniform() {
            let index = self.scalar(v);
            let mut switch = Switch::new();
            let mut sides = Vec::new();
            for (n, to) in targets.iter().enumerate() {
                let side = self.b.create_block();
                switch.set_entry(n as u128, side);
                sides.push((side, *to));
            }
            let fail = self.fail;
            switch.emit(&mut self.b, index, fail);
            for (side, to) in sides {
                self.b.switch_to_block(side);
                let (now, vectors) = (self.now.clone(), self.vectors.clone());
                if is_end(self.f, to) {
                    self.end_group();
                } else {
                    self.go(id, to);
                }
                (self.now, self.vectors) = (now, vectors);
            }
            return;
        }
        let mut masked = masked;
        if self.full {
            self.part(id);
            masked = self.divergence.masked[id as usize];
        }
        let p = self.vector(v);
        let mut left: Vec<Value> = match &self.mask {
            Some(m) => m.clone(),
            None => self.all_lanes(),
        };
        let mut distinct: Vec<(BlockId, Vec<Value>)> = Vec::new();
        for (n, to) in targets.iter().enumerate() {
            let want = self.same32(n as u32);
            let mut here = Vec::new();
            for s in 0..p.len() {
                let eq = self.emitter(true).cmp_w(IntCC::Equal, p[s], want);
                here.push(self.b.ins().band(eq, left[s]));
            }
            for s in 0..p.len() {
                left[s] = self.b.ins().band_not(left[s], here[s]);
            }
            match distinct.iter_mut().find(|d| d.0 == *to) {
                Some(d) => {
                    for (x, h) in d.1.iter_mut().zip(here) {
                        *x = self.b.ins().bor(*x, h);
                    }
                }
                None => distinct.push((*to, here)),
            }
        }
        let out = self.any_of(&left);
        self.fail_if(out);
        if masked {
            for (to, m) in &distinct {
                self.flow(id, *to, Some((m, None)));
            }
            self.leave(id);
        } else {
            self.fork(id, &distinct);
        }
    }
}
