//! Control flow: masks of divergent regions, edges, loops, the ends of threads.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block as Clif, InstBuilder, SourceLoc, Value};
use cranelift_frontend::Variable;

use crate::clif::as_type;
use crate::clif::{at, plain};
use crate::ctx::{Ctx, DONE, PATIENCE};
use crate::divergence::is_end;
use crate::generator::{Gen, Rep};
use crate::ir::{BlockId, Op, Term, Val};

impl Gen<'_, '_> {
    pub(crate) fn lanes_of(&mut self, vars: &[Variable]) -> Vec<Value> {
        vars.iter().map(|v| self.b.use_var(*v)).collect()
    }

    /// Masked blocks of the region of `b`, in order.
    pub(crate) fn region(&self, b: BlockId) -> Vec<BlockId> {
        let region = &self.divergence.region;
        (0..self.f.blocks.len() as BlockId)
            .filter(|x| {
                self.divergence.masked[*x as usize] && region[*x as usize] == region[b as usize]
            })
            .collect()
    }

    /// Where lanes of the region of `b` meet: the one unmasked block that it leads to.
    pub(crate) fn join(&self, b: BlockId) -> Option<BlockId> {
        let f = self.f;
        self.region(b)
            .iter()
            .flat_map(|x| f.blocks[*x as usize].term.succs())
            .find(|s| !self.divergence.masked[*s as usize] && !is_end(f, *s))
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

    /// The one block that leads back to `id`, if that is under masks: all lanes in the loop are there then, and not all
    /// of the group, or they had gone on in the version without masks.
    fn only_latch(&self, id: BlockId) -> Option<BlockId> {
        let mut backs = self.f.blocks[id as usize].preds.iter().copied().filter(|p| *p >= id);
        let latch = backs.next().filter(|p| self.divergence.masked[*p as usize])?;
        backs.next().is_none().then_some(latch)
    }

    /// Behind the tests at the head of a loop under masks: where its next turns begin, which need none of them. The
    /// lanes of each turn.
    fn next_turns(&mut self, id: BlockId) -> Option<Vec<Value>> {
        self.only_latch(id).filter(|_| !self.sure)?;
        let turn = self.b.create_block();
        self.b.ins().jump(turn, &[]);
        self.b.switch_to_block(turn);
        self.turns.insert(id, turn);
        let vars = self.masks[&id].clone();
        Some(self.lanes_of(&vars))
    }

    /// Whether lanes that do not go on to `to` have no use for the phi any more: the loop is left for good.
    fn of_no_use(&self, phi: Val, from: BlockId, to: BlockId) -> bool {
        from == to && self.only_latch(to) == Some(from) && self.inner.contains(&phi)
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
        let masked = self.divergence.masked[id as usize] && !full;
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
            if self.two && meeting {
                self.all_together(id, &mask);
            }
            let mask = self.next_turns(id).unwrap_or(mask);
            let zero = self.mask_of(false);
            vars.iter().for_each(|v| self.b.def_var(*v, zero));
            self.mask = Some(mask);
        } else if self.divergence.deaths && !full {
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
                Op::Pure(..) if block.term.value() == Some(v) && self.by_parts(id) => {}
                Op::Pure(op, k) => self.pure(v, op, k),
                Op::Canon => self.canon(v),
                Op::Effect(e) if f.gives.contains(&e) => self.give(e),
                Op::Effect(e) if f.takes.contains(&e) => self.take(e),
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
        self.save_early(id);
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
            Term::Bar(e, next) => {
                let n = self.stops.iter().position(|stop| stop == e).map_or(0, |n| n + 1);
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
                .filter(|b| self.divergence.masked[*b as usize])
                .all(|b| !self.f.blocks[b as usize].term.succs().contains(&s))
        };
        backs.retain(|s| *s <= id && self.divergence.masked[*s as usize] && last(*s));
        backs.sort_unstable();
        for s in backs {
            let vars = self.masks[&s].clone();
            let mask = self.lanes_of(&vars);
            let any = self.any_of(&mask);
            let (again, on) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(any, again, &[], on, &[]);
            self.b.switch_to_block(again);
            self.burn();
            let turn = self.turns.get(&s).filter(|_| self.only_latch(s) == Some(id));
            let to = turn.copied().unwrap_or(self.heads[s as usize]);
            self.b.ins().jump(to, &[]);
            self.b.switch_to_block(on);
        }
        let to = match self.following(id) {
            Some(n) => self.heads[n as usize],
            None => match self.join(id) {
                Some(j) => {
                    if self.divergence.deaths {
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
                        self.pause(j);
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
    pub(crate) fn pause(&mut self, head: BlockId) {
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

    /// The next turn of a loop that may wait is the last before others have theirs.
    pub(crate) fn lose_patience(&mut self) {
        if !self.f.waits.is_empty() {
            let none = self.b.ins().iconst(I64, 0);
            self.b.ins().store(plain(), none, self.ctx, at!(patience));
        }
    }

    /// Behind a helper: stops if it says so.
    pub(crate) fn fail_if_asked(&mut self) {
        let bad = self.b.ins().load(I64, plain(), self.ctx, at!(failed));
        self.fail_if(bad);
    }

    /// As [`Self::fail_if_asked`], on a way that is seldom taken. In small loops the rest of it lies out of the way
    /// (`spmv` 350 us, so 315; naive matmul 329, 257); elsewhere that costs (`sha-256` 326 us, so 376; `fft` 131, 150).
    pub(crate) fn fail_if_asked_aside(&mut self) {
        self.fail_if_asked();
        let aside = self.form.words() || self.in_small_loop[self.here as usize];
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
                        Some(m) if !self.of_no_use(*phi, from, to) => {
                            let old: Vec<Value> = vars.iter().map(|v| self.b.use_var(*v)).collect();
                            self.blend(self.kind(*phi), m, &s, &old)
                        }
                        _ => s,
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
        if self.divergence.masked[to as usize] {
            for (var, m) in self.masks[&to].clone().into_iter().zip(&mask) {
                // Nobody waits at the block that is being executed.
                let new = if from == to {
                    *m
                } else {
                    let old = self.b.use_var(var);
                    self.b.ins().bor(old, *m)
                };
                self.b.def_var(var, new);
            }
        }
    }

    /// From an unmasked block to `to`, all living lanes.
    pub(crate) fn go(&mut self, from: BlockId, to: BlockId) {
        if self.divergence.masked[to as usize] && !self.full {
            let mask = match &self.mask {
                Some(m) => m.clone(),
                None => self.all_lanes(),
            };
            self.enter(to);
            self.flow(from, to, Some((&mask, None)));
        } else {
            self.pass(from, to, None, None);
        }
        if to <= from && !self.divergence.short[to as usize] && !(self.sure && to == from) {
            self.burn();
            self.pause(to);
        }
        let plain = self.full || !self.divergence.masked[to as usize];
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
}
