//! Control flow: masks of divergent regions, edges, loops, the ends of threads.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block as Clif, InstBuilder, SourceLoc, Value};
use cranelift_frontend::{Switch, Variable};

use crate::ctx::{Ctx, DONE, PATIENCE};
use crate::emit::{Gen, Rep, at, plain};
use crate::ir::{BlockId, Op, Term, Val};
use crate::ops::as_type;
use crate::shape::{is_death, is_end};

impl Gen<'_, '_> {
    pub(crate) fn lanes_of(&mut self, vars: &[Variable]) -> Vec<Value> {
        vars.iter().map(|v| self.b.use_var(*v)).collect()
    }

    /// Masked blocks of the region of `b`, in order.
    pub(crate) fn region(&self, b: BlockId) -> Vec<BlockId> {
        let region = &self.shapes.region;
        (0..self.f.blocks.len() as BlockId)
            .filter(|x| {
                self.shapes.masked[*x as usize] && region[*x as usize] == region[b as usize]
            })
            .collect()
    }

    /// Where lanes of the region of `b` meet: the one unmasked block that it leads to.
    pub(crate) fn join(&self, b: BlockId) -> Option<BlockId> {
        let f = self.f;
        self.region(b)
            .iter()
            .flat_map(|x| f.blocks[*x as usize].term.succs())
            .find(|s| !self.shapes.masked[*s as usize] && !is_end(f, *s))
    }

    /// Where the version of `b` begins that belongs to what is being emitted.
    pub(crate) fn head(&self, b: BlockId) -> Clif {
        if self.sure && b == self.here {
            return self.sure_heads[&(b, self.full)];
        }
        if self.full { self.full_heads[b as usize] } else { self.heads[b as usize] }
    }

    /// On to the version without masks if every lane of the group is here.
    fn all_together(&mut self, id: BlockId, mask: &[Value]) {
        let all = self.all_of(mask);
        let on = self.b.create_block();
        let full = self.full_heads[id as usize];
        self.b.ins().brif(all, full, &[], on, &[]);
        self.b.switch_to_block(on);
    }

    /// The version of the counted loop `id` without checks, if there is one.
    pub(crate) fn sure_block(&mut self, id: BlockId, full: bool) {
        if self.sure_heads.contains_key(&(id, full && self.two)) {
            self.sure = true;
            self.block(id, full);
            self.sure = false;
        }
    }

    /// Emits a block: where all lanes of the group are known to be on (`full`), or under masks.
    pub(crate) fn block(&mut self, id: BlockId, full: bool) {
        self.full = full && self.two;
        self.here = id;
        let full = self.full;
        let head = self.head(id);
        let f = self.f;
        let block = &f.blocks[id as usize];
        self.b.switch_to_block(head);
        self.now.clear();
        self.vectors.clear();
        let masked = self.shapes.masked[id as usize] && !full;
        // Ways meet here, or a barrier is behind.
        let meeting = block.preds.len() > 1 || self.resumes.contains(&id);
        if masked {
            let vars = self.masks[&id].clone();
            let mask = self.lanes_of(&vars);
            let any = self.any_of(&mask);
            let (body, skip) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(any, body, &[], skip, &[]);
            self.b.switch_to_block(skip);
            self.leave(id);
            self.b.switch_to_block(body);
            let zero = self.mask_of(false);
            vars.iter().for_each(|v| self.b.def_var(*v, zero));
            if self.two && meeting {
                self.all_together(id, &mask);
            }
            self.mask = Some(mask);
        } else if self.shapes.deaths && !full {
            let vars = self.live.clone();
            let mask = self.lanes_of(&vars);
            if self.two && meeting && !self.sure {
                self.all_together(id, &mask);
            }
            self.mask = Some(mask);
        } else {
            self.mask = None;
        }
        for &v in &block.insts {
            if let Some(at) = f.at.get(v as usize).filter(|at| **at != u32::MAX) {
                self.b.set_srcloc(SourceLoc::new(*at));
            }
            match f.insts[v as usize].op {
                // Read now: edges out of this block may change it.
                Op::Phi => {
                    self.rep(v);
                }
                // Read where scalars do not decide.
                Op::Pure(..) if block.term.value() == Some(v) && self.decides(id) => {}
                Op::Pure(op, k) => self.pure(v, op, k),
                Op::Canon => self.canon(v),
                Op::Effect(e) => crate::access::effect(self, e),
                _ => {}
            }
        }
        // One edge may set the phis that another one reads.
        for s in block.term.succs() {
            for (_, arg) in self.phis(id, s) {
                self.rep(arg);
            }
        }
        match &block.term {
            Term::Exit => {
                if masked {
                    self.die(None);
                    self.leave(id);
                } else {
                    self.end_group();
                }
            }
            Term::Jump(s) => {
                if masked {
                    self.flow(id, *s, None);
                    self.leave(id);
                } else {
                    self.go(id, *s);
                }
            }
            Term::Bar(_, next) => {
                let n = self.resumes.iter().position(|r| r == next).map_or(0, |n| n + 1);
                self.go_on_later(*next, n);
            }
            Term::Br(v, neg, a, c) => self.branch(id, *v, *neg, *a, *c, masked),
            Term::Brx(v, targets, _) => {
                let (v, targets) = (*v, targets.clone());
                self.table(id, v, &targets, masked);
            }
        }
    }

    /// After a masked block: back to the first block where lanes wait, or on.
    pub(crate) fn leave(&mut self, id: BlockId) {
        let mut backs: Vec<BlockId> = self.f.blocks[id as usize].term.succs();
        // Only behind the last way back of the region: lanes of one turn wait for one another, but not for a way
        // back that they take together once they have met.
        let last = |s: BlockId| {
            (id + 1..self.f.blocks.len() as BlockId)
                .filter(|b| self.shapes.masked[*b as usize])
                .all(|b| !self.f.blocks[b as usize].term.succs().contains(&s))
        };
        backs.retain(|s| *s <= id && self.shapes.masked[*s as usize] && last(*s));
        backs.sort_unstable();
        for s in backs {
            let vars = self.masks[&s].clone();
            let mask = self.lanes_of(&vars);
            let any = self.any_of(&mask);
            let (again, on) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(any, again, &[], on, &[]);
            self.b.switch_to_block(again);
            self.burn();
            let to = self.heads[s as usize];
            self.b.ins().jump(to, &[]);
            self.b.switch_to_block(on);
        }
        let to = match self.following(id) {
            Some(n) => self.heads[n as usize],
            None => match self.join(id) {
                Some(j) => {
                    if self.shapes.deaths {
                        let vars = self.live.clone();
                        let mask = self.lanes_of(&vars);
                        let any = self.any_of(&mask);
                        let (on, end) = (self.b.create_block(), self.b.create_block());
                        self.b.ins().brif(any, on, &[], end, &[]);
                        self.b.switch_to_block(end);
                        self.end_group();
                        self.b.switch_to_block(on);
                    }
                    if j <= id {
                        self.burn();
                    }
                    self.heads[j as usize]
                }
                None => {
                    self.end_group();
                    return;
                }
            },
        };
        self.b.ins().jump(to, &[]);
    }

    pub(crate) fn following(&self, id: BlockId) -> Option<BlockId> {
        self.region(id).into_iter().find(|x| *x > id)
    }

    /// Lanes (all executing ones) end here.
    pub(crate) fn die(&mut self, lanes: Option<&[Value]>) {
        let lanes = match lanes {
            Some(l) => l.to_vec(),
            None => self.mask.clone().unwrap_or_default(),
        };
        for (n, l) in lanes.into_iter().enumerate() {
            let var = self.live[n];
            let x = self.b.use_var(var);
            let x = self.b.ins().band_not(x, l);
            self.b.def_var(var, x);
        }
    }

    pub(crate) fn end_group(&mut self) {
        if !self.resumes.is_empty() {
            let at = self.resume_address();
            let n = self.b.ins().iconst(I32, DONE as i64);
            self.b.ins().store(plain(), n, at, 0);
        }
        let to = self.next_group;
        self.b.ins().jump(to, &[]);
    }

    /// One loop turn; stops when the launch is over.
    pub(crate) fn burn(&mut self) {
        let fuel = self.b.ins().load(I64, plain(), self.ctx, at!(fuel));
        let left = self.b.ins().iadd_imm_s(fuel, -1);
        self.b.ins().store(plain(), left, self.ctx, at!(fuel));
        // Read again, so that both are one instruction on memory each.
        let left = self.b.ins().load(I64, plain(), self.ctx, at!(fuel));
        let empty = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        let (cold, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(empty, cold, &[], on, &[]);
        self.b.switch_to_block(cold);
        let f = self.b.ins().load(I64, plain(), self.ctx, at!(refuel));
        let sig = self.helper_refuel;
        self.b.ins().call_indirect(sig, f, &[self.ctx]);
        self.fail_if_asked_aside();
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    /// Ends the group's turn; a later call of the code goes on at `next`, the `n`th place to do so.
    fn go_on_later(&mut self, next: BlockId, n: usize) {
        self.save(next);
        let at = self.resume_address();
        let n = self.b.ins().iconst(I32, n as i64);
        self.b.ins().store(plain(), n, at, 0);
        let to = self.next_group;
        self.b.ins().jump(to, &[]);
    }

    /// One turn of a loop that may wait for another thread: after some, the others have theirs.
    fn pause(&mut self, head: BlockId) {
        let Some(n) = self.f.waits.iter().position(|w| *w == head) else { return };
        let left = self.b.ins().load(I64, plain(), self.ctx, at!(patience));
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.b.ins().store(plain(), left, self.ctx, at!(patience));
        let empty = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        let (cold, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(empty, cold, &[], on, &[]);
        self.b.switch_to_block(cold);
        let again = self.b.ins().iconst(I64, PATIENCE);
        self.b.ins().store(plain(), again, self.ctx, at!(patience));
        let barriers = self.resumes.len() - self.f.waits.len();
        self.go_on_later(head, barriers + n + 1);
        self.b.switch_to_block(on);
    }

    /// Behind a helper: stops if it says so.
    pub(crate) fn fail_if_asked(&mut self) {
        let bad = self.b.ins().load(I64, plain(), self.ctx, at!(failed));
        self.fail_if(bad);
    }

    /// As [`Self::fail_if_asked`], on a way that is seldom taken. In small loops the rest of it lies out of the way (`spmv`
    /// 350 us, so 315; naive matmul 329, 257); elsewhere that costs (`sha-256` 326 us, so 376; `fft` 131, 150).
    pub(crate) fn fail_if_asked_aside(&mut self) {
        self.fail_if_asked();
        let aside = self.form.wide || self.in_small_loop[self.here as usize];
        if let Some(on) = self.b.current_block().filter(|_| aside) {
            self.b.set_cold_block(on);
        }
    }

    pub(crate) fn fail_if(&mut self, bad: Value) {
        let on = self.b.create_block();
        let fail = self.fail;
        self.b.ins().brif(bad, fail, &[], on, &[]);
        self.b.switch_to_block(on);
    }

    /// Values of the phis of `to` on the edge from `from`.
    pub(crate) fn phis(&mut self, from: BlockId, to: BlockId) -> Vec<(Val, Val)> {
        let f = self.f;
        let block = &f.blocks[to as usize];
        let Some(n) = block.preds.iter().position(|p| *p == from) else { return Vec::new() };
        block
            .insts
            .iter()
            .take_while(|v| f.insts[**v as usize].op == Op::Phi)
            .map(|v| (*v, f.insts[*v as usize].args[n]))
            .collect()
    }

    /// Sets the phis of `to`: in the lanes of `mask`, or in all; scalars only where `on` holds.
    pub(crate) fn pass(
        &mut self,
        from: BlockId,
        to: BlockId,
        mask: Option<&[Value]>,
        on: Option<Value>,
    ) {
        let phis = self.phis(from, to);
        let mut news = Vec::with_capacity(phis.len());
        for (phi, arg) in &phis {
            let new = if self.linear(*phi) {
                Rep::Scalar(self.scalar(*arg))
            } else {
                Rep::Slices(self.vector(*arg))
            };
            news.push(new);
        }
        for ((phi, _), new) in phis.iter().zip(news) {
            let Some(vars) = self.homes.get(phi).map(|h| h.vars.clone()) else { continue };
            match new {
                Rep::Scalar(x) => {
                    let x = match on {
                        Some(on) => {
                            let old = self.b.use_var(vars[0]);
                            let ty = self.b.func.dfg.value_type(old);
                            let x = as_type(&mut self.b, x, ty);
                            self.b.ins().select(on, x, old)
                        }
                        None => x,
                    };
                    self.set_scalar(*phi, vars[0], x);
                }
                Rep::Slices(s) => {
                    let s = match mask {
                        Some(m) => {
                            let old: Vec<Value> = vars.iter().map(|v| self.b.use_var(*v)).collect();
                            self.blend(self.kind(*phi), m, &s, &old)
                        }
                        None => s,
                    };
                    vars.iter().zip(s).for_each(|(v, x)| self.b.def_var(*v, x));
                }
            }
        }
    }

    /// Lanes `edge` (or all executing ones) of masked block `from` go to `to`.
    pub(crate) fn flow(
        &mut self,
        from: BlockId,
        to: BlockId,
        edge: Option<(&[Value], Option<Value>)>,
    ) {
        let (mask, on) = match edge {
            Some((m, on)) => (m.to_vec(), on),
            None => (self.mask.clone().unwrap_or_default(), None),
        };
        if is_end(self.f, to) {
            self.die(Some(&mask));
            return;
        }
        self.pass(from, to, Some(&mask), on);
        if self.shapes.masked[to as usize] {
            for (var, m) in self.masks[&to].clone().into_iter().zip(&mask) {
                let old = self.b.use_var(var);
                let new = self.b.ins().bor(old, *m);
                self.b.def_var(var, new);
            }
        }
    }

    /// From an unmasked block to `to`, all living lanes.
    pub(crate) fn go(&mut self, from: BlockId, to: BlockId) {
        if self.shapes.masked[to as usize] && !self.full {
            let mask = match &self.mask {
                Some(m) => m.clone(),
                None => self.all_lanes(),
            };
            self.enter(to);
            self.flow(from, to, Some((&mask, None)));
        } else {
            self.pass(from, to, None, None);
        }
        if to <= from && !self.shapes.short[to as usize] && !(self.sure && to == from) {
            self.burn();
            self.pause(to);
        }
        let plain = self.full || !self.shapes.masked[to as usize];
        if from != to && plain && self.enter_counted(from, to) {
            return;
        }
        let head = self.head(to);
        self.b.ins().jump(head, &[]);
    }

    /// Clears the masks of the region of `b`.
    pub(crate) fn enter(&mut self, b: BlockId) {
        let zero = self.mask_of(false);
        for x in self.region(b) {
            for v in self.masks[&x].clone() {
                self.b.def_var(v, zero);
            }
        }
    }

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
        if self.shapes.of[v as usize].uniform() {
            let p = self.scalar(v);
            let (yes, no) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(p, yes, &[], no, &[]);
            for (at, to) in [(yes, a), (no, c)] {
                self.b.switch_to_block(at);
                // What one side computes is not known on the other.
                let (now, vectors) = (self.now.clone(), self.vectors.clone());
                if masked {
                    self.flow(id, to, None);
                    self.leave(id);
                } else if is_end(f, to) {
                    self.end_group();
                } else {
                    self.go(id, to);
                }
                (self.now, self.vectors) = (now, vectors);
            }
            return;
        }
        let decided = if self.decides(id) { self.decide(v) } else { None };
        if self.full {
            let [yes, some, no, mixed] = std::array::from_fn(|_| self.b.create_block());
            let before = (self.now.clone(), self.vectors.clone());
            if let Some((all, none)) = decided {
                let [rest, vectors] = std::array::from_fn(|_| self.b.create_block());
                self.b.ins().brif(all, yes, &[], rest, &[]);
                self.b.switch_to_block(rest);
                self.b.ins().brif(none, no, &[], vectors, &[]);
                self.b.switch_to_block(vectors);
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
            let masked = self.shapes.masked[id as usize];
            self.branch(id, v, false, a, c, masked);
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

    /// From the version where all lanes are on to the one under masks.
    fn part(&mut self, id: BlockId) {
        self.full = false;
        if self.shapes.masked[id as usize] || self.shapes.deaths {
            self.mask = Some(self.all_lanes());
        }
        if self.shapes.masked[id as usize] {
            self.enter(id);
        }
    }

    /// Lanes of an unmasked block go different ways.
    pub(crate) fn fork(&mut self, id: BlockId, edges: &[(BlockId, Vec<Value>)]) {
        let f = self.f;
        let masked = |b: &BlockId| self.shapes.masked[*b as usize];
        let Some(first) = edges.iter().map(|e| e.0).filter(masked).min() else {
            // Every side is the meeting point or the end.
            for (to, m) in edges {
                self.flow(id, *to, Some((m, None)));
            }
            match edges.iter().map(|e| e.0).find(|b| !is_end(f, *b)) {
                Some(to) => {
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

    pub(crate) fn table(&mut self, id: BlockId, v: Val, targets: &[BlockId], masked: bool) {
        if !masked && self.shapes.of[v as usize].uniform() {
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
            masked = self.shapes.masked[id as usize];
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
