//! Variables of values that cross blocks, and where they are kept while a group waits at a barrier or in a loop.

use cranelift_codegen::ir::types::{F32, F64, I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use cranelift_frontend::Variable;
use ptx_isa::Kind;

use crate::clif::{at, plain};
use crate::ctx::Ctx;
use crate::generator::{Gen, Home};
use crate::ir::{BlockId, Op, Term, Val};
use crate::live::Liveness;
use crate::native::makes_number;
use crate::saved::Saved;

impl Gen<'_, '_> {
    pub(crate) fn resume_address(&mut self) -> Value {
        let g = self.b.use_var(self.group);
        let base = self.b.ins().load(I64, plain(), self.ctx, at!(resume));
        let off = self.b.ins().ishl_imm_u(g, 2);
        self.b.ins().iadd(base, off)
    }

    pub(crate) fn spill_address(&mut self) -> Value {
        let g = self.b.use_var(self.group);
        let base = self.b.ins().load(I64, plain(), self.ctx, at!(spill));
        let off = self.b.ins().imul_imm_u(g, self.spill_bytes.max(1) as i64);
        self.b.ins().iadd(base, off)
    }

    /// Gives variables to values that cross blocks, and spill places where there are barriers.
    pub(crate) fn find_homes(&mut self) {
        self.find_numbers();
        let f = self.f;
        self.live_in = Liveness::new(f).starts;
        let mut home = vec![BlockId::MAX; f.insts.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            for &v in &block.insts {
                home[v as usize] = b as BlockId;
                if let Op::Effect(e) = f.insts[v as usize].op {
                    for d in &f.effects[e as usize].dst {
                        home[*d as usize] = b as BlockId;
                    }
                }
            }
        }
        let mut crossing = Vec::new();
        let mut note = |v: Val, b: BlockId| {
            if !f.leaf(v) && home[v as usize] != b {
                crossing.push(v);
            }
        };
        for (b, block) in f.blocks.iter().enumerate() {
            for &v in &block.insts {
                if f.insts[v as usize].op == Op::Phi {
                    for (a, p) in f.insts[v as usize].args.iter().zip(&block.preds) {
                        note(*a, *p);
                    }
                    note(v, BlockId::MAX - 1);
                } else {
                    f.reads(v).into_iter().for_each(|a| note(a, b as BlockId));
                }
                if self.divergence.kept[v as usize] {
                    note(v, BlockId::MAX - 1);
                }
            }
            block.term.value().into_iter().for_each(|a| note(a, b as BlockId));
        }
        // Results of effects that are kept.
        for e in &f.effects {
            for d in &e.dst {
                if self.divergence.kept[*d as usize] {
                    note(*d, BlockId::MAX - 1);
                }
            }
        }
        crossing.sort_unstable();
        crossing.dedup();
        let barriers =
            !f.waits.is_empty() || f.blocks.iter().any(|b| matches!(b.term, Term::Bar(..)));
        for v in crossing {
            let types = self.types(v);
            let vars: Vec<Variable> = types.iter().map(|t| self.b.declare_var(*t)).collect();
            let spill = barriers.then(|| {
                let step = self.spill_step(types[0]);
                let at = (self.spill_bytes + step - 1) / step * step;
                self.spill_bytes = at + types.len() as i32 * step;
                at
            });
            self.homes.insert(v, Home { vars, spill });
        }
        if self.form.words() {
            self.spill_bytes = (self.spill_bytes + 63) / 64 * 64;
        }
        if barriers && self.divergence.deaths {
            // The living lanes come last.
            self.spill_bytes += self.live_bytes();
        }
        if barriers {
            self.saved = Saved::new(f, |b| self.live_at(b));
        }
    }

    /// Bytes from one saved value of a type to the next.
    fn spill_step(&self, ty: Type) -> i32 {
        if self.form.words() { ty.bytes() as i32 } else { 16 }
    }

    /// Bytes of the saved living lanes.
    fn live_bytes(&self) -> i32 {
        if self.form.bit_masks() { 64 } else { self.slices() as i32 * self.form.bytes() }
    }

    /// Scalars that arithmetic of floating-point numbers makes, and phis of such: they are kept in vector registers.
    fn find_numbers(&mut self) {
        let f = self.f;
        let mut number: Vec<bool> = (0..f.insts.len())
            .map(|v| match f.insts[v].op {
                Op::Pure(op, _) => makes_number(op),
                Op::Phi => f.insts[v].kind != Kind::P,
                _ => false,
            })
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for v in 0..f.insts.len() {
                let phi = number[v] && f.insts[v].op == Op::Phi;
                let args = &f.insts[v].args;
                let all = args.iter().all(|a| number[*a as usize] || f.leaf(*a));
                if phi && !(all && args.iter().any(|a| number[*a as usize])) {
                    number[v] = false;
                    changed = true;
                }
            }
        }
        self.numbers = (0..f.insts.len() as Val).filter(|v| number[*v as usize]).collect();
    }

    pub(crate) fn types(&self, v: Val) -> Vec<Type> {
        let kind = self.kind(v);
        if self.linear(v) {
            return vec![match (kind, self.numbers.contains(&v)) {
                (Kind::P, _) => I8,
                (Kind::W, false) => I32,
                (Kind::W, true) => F32,
                (Kind::D, false) => I64,
                (Kind::D, true) => F64,
            }];
        }
        match kind {
            Kind::P | Kind::W => vec![self.form.of(kind); self.slices()],
            Kind::D => vec![self.form.d(); self.slices() * 2],
        }
    }

    /// Values with a variable that live at the start of a block, its phis among them: the edge that led here has set
    /// them.
    pub(crate) fn live_at(&self, block: BlockId) -> Vec<Val> {
        let live = &self.live_in[block as usize];
        let phis = &self.f.blocks[block as usize].insts;
        let phi = |v: &Val| self.f.insts[*v as usize].op == Op::Phi && phis.contains(v);
        let lives = |v: &Val| live.contains(*v as usize) || phi(v);
        let mut list: Vec<Val> = self.homes.keys().copied().filter(lives).collect();
        list.sort_unstable();
        list
    }

    /// Saves values of a block that barriers will not save.
    pub(crate) fn save_early(&mut self, block: BlockId) {
        let values = self.saved.early(block).to_vec();
        if !values.is_empty() {
            let base = self.spill_address();
            values.into_iter().for_each(|v| self.save_one(v, base));
        }
    }

    fn save_one(&mut self, v: Val, base: Value) {
        let Some(Home { vars, spill: Some(at) }) = self.homes.get(&v) else { return };
        let (vars, at) = (vars.clone(), *at);
        let step = self.spill_step(self.types(v)[0]);
        for (n, var) in vars.iter().enumerate() {
            let x = self.b.use_var(*var);
            self.b.ins().store(plain(), x, base, at + n as i32 * step);
        }
    }

    pub(crate) fn save(&mut self, next: BlockId) {
        let base = self.spill_address();
        for v in self.live_at(next) {
            if !self.saved.is_there(self.here, v) {
                self.save_one(v, base);
            }
        }
        if self.divergence.deaths {
            let (at, step) = (self.spill_bytes - self.live_bytes(), self.spill_step(self.form.p()));
            for (n, var) in self.live.clone().into_iter().enumerate() {
                let x = self.b.use_var(var);
                self.b.ins().store(plain(), x, base, at + n as i32 * step);
            }
        }
    }

    pub(crate) fn reload(&mut self, next: BlockId) {
        let base = self.spill_address();
        for v in self.live_at(next) {
            let types = self.types(v);
            let Some(Home { vars, spill: Some(at) }) = self.homes.get(&v) else { continue };
            let (vars, at) = (vars.clone(), *at);
            let step = self.spill_step(types[0]);
            for (n, (var, ty)) in vars.iter().zip(types).enumerate() {
                let x = self.b.ins().load(ty, plain(), base, at + n as i32 * step);
                self.b.def_var(*var, x);
            }
        }
        if self.divergence.deaths {
            let (at, step) = (self.spill_bytes - self.live_bytes(), self.spill_step(self.form.p()));
            for (n, var) in self.live.clone().into_iter().enumerate() {
                let x = self.b.ins().load(self.form.p(), plain(), base, at + n as i32 * step);
                self.b.def_var(var, x);
            }
        }
    }
}
