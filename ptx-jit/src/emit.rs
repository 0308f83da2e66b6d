//! One kernel as one Cranelift function: groups of lanes, masks, barriers.
//!
//! The function runs every group of the block from where it stopped to its next barrier or its
//! end. Blocks that all living lanes of a group reach together are plain code. Blocks below a
//! divergent branch run in order under masks: lanes wait at their block until all earlier blocks
//! are done, so paths meet again as early as they can.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I8X16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{
    AbiParam, Block as Clif, BlockArg, InstBuilder, MemFlagsData, SigRef, Type, Value,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use ptx_isa::Kind;
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;

use crate::ctx::{Ctx, DONE};
use crate::ir::{BlockId, Func, Op, Term, Val};
use crate::ops::{Emit, Part, exact_nan, vconst32, vconst64};
use crate::shape::{Geometry, Shape, Shapes, is_death, is_end};

pub(crate) fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_endianness(cranelift_codegen::ir::Endianness::Little)
}

macro_rules! at {
    ($field:ident) => {
        std::mem::offset_of!(Ctx, $field) as i32
    };
}
pub(crate) use at;

/// A value as code has it.
#[derive(Clone, Debug)]
pub(crate) enum Rep {
    /// Lane 0 of a linear value.
    Scalar(Value),
    /// Slices: one value each for `P` and `W`, two for `D`.
    Slices(Vec<Value>),
}

/// Where values that live across blocks are kept.
struct Home {
    vars: Vec<Variable>,
    /// Offset in a group's spill area.
    spill: Option<i32>,
}

pub(crate) struct Gen<'a, 'b> {
    pub f: &'a Func,
    pub g: Geometry,
    pub shapes: &'a Shapes,
    pub b: FunctionBuilder<'b>,
    pub ctx: Value,
    homes: HashMap<Val, Home>,
    /// Values of the block being emitted.
    pub now: HashMap<Val, Rep>,
    vectors: HashMap<Val, Vec<Value>>,
    heads: Vec<Clif>,
    masks: HashMap<BlockId, Vec<Variable>>,
    live: Vec<Variable>,
    thread0: Variable,
    group: Variable,
    next_group: Clif,
    fail: Clif,
    pub helper_effect: SigRef,
    helper_lanes: SigRef,
    helper_refuel: SigRef,
    /// Executing lanes of the block being emitted; `None`: all.
    pub mask: Option<Vec<Value>>,
    resumes: Vec<BlockId>,
    spill_bytes: i32,
    pub sites: Vec<u32>,
    pub fma: bool,
}

/// What the launch must provide for the code.
pub(crate) struct Layout {
    pub spill_bytes: usize,
    pub barriers: usize,
    /// Effect of each access site.
    pub sites: Vec<u32>,
}

/// Emits the kernel into `b`.
pub(crate) fn emit(
    f: &Func,
    g: Geometry,
    shapes: &Shapes,
    mut b: FunctionBuilder,
    fma: bool,
    config: TargetFrontendConfig,
) -> Layout {
    let conv = b.func.signature.call_conv;
    let mut sig = |params: &[Type], ret: bool| {
        let mut s = cranelift_codegen::ir::Signature::new(conv);
        s.params.extend(params.iter().map(|t| AbiParam::new(*t)));
        if ret {
            s.returns.push(AbiParam::new(I64));
        }
        b.func.import_signature(s)
    };
    let helper_effect = sig(&[I64, I64, I64], true);
    let helper_lanes = sig(&[I64, I64, I64, I64, I64, I64], false);
    let helper_refuel = sig(&[I64], true);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let ctx = b.block_params(entry)[0];
    let thread0 = b.declare_var(I64);
    let group = b.declare_var(I64);
    let slices = g.width as usize / 4;
    let heads = f.blocks.iter().map(|_| b.create_block()).collect();
    let (next_group, fail) = (b.create_block(), b.create_block());
    b.set_cold_block(fail);
    let live = (0..slices).map(|_| b.declare_var(I32X4)).collect();
    let mut masks = HashMap::new();
    for (id, own) in shapes.masked.iter().enumerate() {
        if *own {
            let vars = (0..slices).map(|_| b.declare_var(I32X4)).collect();
            masks.insert(id as BlockId, vars);
        }
    }
    let mut gen_ = Gen {
        f,
        g,
        shapes,
        b,
        ctx,
        homes: HashMap::new(),
        now: HashMap::new(),
        vectors: HashMap::new(),
        heads,
        masks,
        live,
        thread0,
        group,
        next_group,
        fail,
        helper_effect,
        helper_lanes,
        helper_refuel,
        mask: None,
        resumes: Vec::new(),
        spill_bytes: 0,
        sites: Vec::new(),
        fma,
    };
    gen_.run();
    let layout = Layout {
        spill_bytes: gen_.spill_bytes as usize,
        barriers: gen_.resumes.len(),
        sites: gen_.sites,
    };
    gen_.b.finalize(config);
    layout
}

impl<'b> Gen<'_, 'b> {
    pub(crate) fn slices(&self) -> usize {
        self.g.width as usize / 4
    }
    pub(crate) fn kind(&self, v: Val) -> Kind {
        self.f.insts[v as usize].kind
    }
    fn linear(&self, v: Val) -> bool {
        matches!(self.shapes.of[v as usize], Shape::Linear(_))
    }
    pub(crate) fn offsets(&self, v: Val) -> Option<&[i64]> {
        match &self.shapes.of[v as usize] {
            Shape::Linear(o) => Some(o),
            _ => None,
        }
    }
    pub(crate) fn emitter(&mut self, vector: bool) -> Emit<'_, 'b> {
        Emit { b: &mut self.b, vector }
    }

    fn run(&mut self) {
        self.find_homes();
        // Groups of the block.
        let zero = self.b.ins().iconst(I64, 0);
        self.b.def_var(self.group, zero);
        let head = self.b.create_block();
        let start = self.b.create_block();
        let done = self.b.create_block();
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let g = self.b.use_var(self.group);
        let more = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, g, self.g.groups() as i64);
        self.b.ins().brif(more, start, &[], done, &[]);
        self.b.switch_to_block(done);
        let ok = self.b.ins().iconst(I64, 0);
        self.b.ins().return_(&[ok]);
        self.b.switch_to_block(self.fail);
        let bad = self.b.ins().iconst(I64, 1);
        self.b.ins().return_(&[bad]);
        self.b.switch_to_block(self.next_group);
        let g = self.b.use_var(self.group);
        let g = self.b.ins().iadd_imm_u(g, 1);
        self.b.def_var(self.group, g);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(start);
        let g = self.b.use_var(self.group);
        let t = self.b.ins().imul_imm_u(g, self.g.width as i64);
        self.b.def_var(self.thread0, t);
        self.b.ins().store(plain(), t, self.ctx, at!(thread0));
        let barriers: Vec<BlockId> = self
            .f
            .blocks
            .iter()
            .filter_map(|b| if let Term::Bar(_, next) = b.term { Some(next) } else { None })
            .collect();
        let fresh = self.b.create_block();
        if barriers.is_empty() {
            self.b.ins().jump(fresh, &[]);
        } else {
            let resume = self.resume_address();
            let at = self.b.ins().load(I32, plain(), resume, 0);
            let mut switch = Switch::new();
            let mut stubs = Vec::new();
            switch.set_entry(0, fresh);
            for (n, next) in barriers.iter().enumerate() {
                let stub = self.b.create_block();
                switch.set_entry(n as u128 + 1, stub);
                stubs.push((stub, *next));
            }
            switch.emit(&mut self.b, at, self.next_group);
            self.resumes.clone_from(&barriers);
            for (stub, next) in stubs {
                self.b.switch_to_block(stub);
                self.reload(next);
                let to = self.heads[next as usize];
                self.b.ins().jump(to, &[]);
            }
        }
        self.b.switch_to_block(fresh);
        if self.shapes.deaths {
            self.first_lanes();
        }
        let to = self.heads[0];
        self.b.ins().jump(to, &[]);
        for b in 0..self.f.blocks.len() as BlockId {
            self.block(b);
        }
        self.b.seal_all_blocks();
    }

    /// Mask of the lanes of the group that have a thread.
    fn first_lanes(&mut self) {
        for s in 0..self.slices() {
            let m = if self.g.ragged() {
                let t = self.b.use_var(self.thread0);
                let t = self.b.ins().ireduce(I32, t);
                let left = {
                    let n = self.b.ins().iconst(I32, self.g.threads() as i64);
                    self.b.ins().isub(n, t)
                };
                let left = self.b.ins().splat(I32X4, left);
                let first = s as u32 * 4;
                let lanes = vconst32(&mut self.b, [first, first + 1, first + 2, first + 3]);
                self.b.ins().icmp(IntCC::SignedGreaterThan, left, lanes)
            } else {
                vconst32(&mut self.b, [u32::MAX; 4])
            };
            self.b.def_var(self.live[s], m);
        }
    }

    fn resume_address(&mut self) -> Value {
        let g = self.b.use_var(self.group);
        let base = self.b.ins().load(I64, plain(), self.ctx, at!(resume));
        let off = self.b.ins().ishl_imm_u(g, 2);
        self.b.ins().iadd(base, off)
    }

    fn spill_address(&mut self) -> Value {
        let g = self.b.use_var(self.group);
        let base = self.b.ins().load(I64, plain(), self.ctx, at!(spill));
        let off = self.b.ins().imul_imm_u(g, self.spill_bytes.max(1) as i64);
        self.b.ins().iadd(base, off)
    }

    /// Gives variables to values that cross blocks, and spill places where there are barriers.
    fn find_homes(&mut self) {
        let f = self.f;
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
                if self.shapes.kept[v as usize] {
                    note(v, BlockId::MAX - 1);
                }
            }
            block.term.value().into_iter().for_each(|a| note(a, b as BlockId));
        }
        // Results of effects that are kept.
        for e in &f.effects {
            for d in &e.dst {
                if self.shapes.kept[*d as usize] {
                    note(*d, BlockId::MAX - 1);
                }
            }
        }
        crossing.sort_unstable();
        crossing.dedup();
        let barriers = f.blocks.iter().any(|b| matches!(b.term, Term::Bar(..)));
        for v in crossing {
            let types = self.types(v);
            let vars: Vec<Variable> = types.iter().map(|t| self.b.declare_var(*t)).collect();
            let spill = barriers.then(|| {
                let at = self.spill_bytes;
                self.spill_bytes += types.len() as i32 * 16;
                at
            });
            self.homes.insert(v, Home { vars, spill });
        }
        if barriers && self.shapes.deaths {
            // The living lanes come last.
            self.spill_bytes += self.slices() as i32 * 16;
        }
    }

    fn types(&self, v: Val) -> Vec<Type> {
        let kind = self.kind(v);
        if self.linear(v) {
            return vec![match kind {
                Kind::P => I8,
                Kind::W => I32,
                Kind::D => I64,
            }];
        }
        match kind {
            Kind::P | Kind::W => vec![I32X4; self.slices()],
            Kind::D => vec![I64X2; self.slices() * 2],
        }
    }

    /// Values that live at the start of a block.
    fn live_at(&self, block: BlockId) -> Vec<Val> {
        let f = self.f;
        let mut live: Vec<Val> = Vec::new();
        for &v in self.homes.keys() {
            // Reachable use without passing the definition: in SSA, any use reachable from here
            // in a block that the definition dominates; a walk that stops at the definition.
            let def = f
                .blocks
                .iter()
                .position(|b| {
                    b.insts.contains(&v)
                        || b.insts.iter().any(|i| match f.insts[*i as usize].op {
                            Op::Effect(e) => f.effects[e as usize].dst.contains(&v),
                            _ => false,
                        })
                })
                .map(|b| b as BlockId);
            if def == Some(block) {
                continue;
            }
            let mut seen = vec![false; f.blocks.len()];
            let mut work = vec![block];
            let mut found = false;
            while let Some(b) = work.pop() {
                if std::mem::replace(&mut seen[b as usize], true) || found {
                    continue;
                }
                let bl = &f.blocks[b as usize];
                found |= bl.term.value() == Some(v)
                    || bl
                        .insts
                        .iter()
                        .any(|i| f.insts[*i as usize].op != Op::Phi && f.reads(*i).contains(&v));
                for s in bl.term.succs() {
                    let sb = &f.blocks[s as usize];
                    let n = sb.preds.iter().position(|p| *p == b);
                    found |= sb.insts.iter().any(|i| {
                        let inst = &f.insts[*i as usize];
                        inst.op == Op::Phi && n.is_some_and(|n| inst.args.get(n) == Some(&v))
                    });
                    if def != Some(s) {
                        work.push(s);
                    }
                }
            }
            if found {
                live.push(v);
            }
        }
        live.sort_unstable();
        live
    }

    fn save(&mut self, next: BlockId) {
        let base = self.spill_address();
        for v in self.live_at(next) {
            let Some(Home { vars, spill: Some(at) }) = self.homes.get(&v) else { continue };
            let (vars, at) = (vars.clone(), *at);
            for (n, var) in vars.iter().enumerate() {
                let x = self.b.use_var(*var);
                self.b.ins().store(plain(), x, base, at + n as i32 * 16);
            }
        }
        if self.shapes.deaths {
            let at = self.spill_bytes - self.slices() as i32 * 16;
            for (n, var) in self.live.clone().into_iter().enumerate() {
                let x = self.b.use_var(var);
                self.b.ins().store(plain(), x, base, at + n as i32 * 16);
            }
        }
    }

    fn reload(&mut self, next: BlockId) {
        let base = self.spill_address();
        for v in self.live_at(next) {
            let types = self.types(v);
            let Some(Home { vars, spill: Some(at) }) = self.homes.get(&v) else { continue };
            let (vars, at) = (vars.clone(), *at);
            for (n, (var, ty)) in vars.iter().zip(types).enumerate() {
                let x = self.b.ins().load(ty, plain(), base, at + n as i32 * 16);
                self.b.def_var(*var, x);
            }
        }
        if self.shapes.deaths {
            let at = self.spill_bytes - self.slices() as i32 * 16;
            for (n, var) in self.live.clone().into_iter().enumerate() {
                let x = self.b.ins().load(I32X4, plain(), base, at + n as i32 * 16);
                self.b.def_var(var, x);
            }
        }
    }

    // ---- values ----------------------------------------------------------

    /// The representation of `v` here.
    pub(crate) fn rep(&mut self, v: Val) -> Rep {
        if let Some(r) = self.now.get(&v) {
            return r.clone();
        }
        let r = if self.f.leaf(v) {
            self.leaf(v)
        } else {
            let vars = self.homes.get(&v).map(|h| h.vars.clone()).unwrap_or_default();
            let vals: Vec<Value> = vars.iter().map(|x| self.b.use_var(*x)).collect();
            if self.linear(v) { Rep::Scalar(vals[0]) } else { Rep::Slices(vals) }
        };
        self.now.insert(v, r.clone());
        r
    }

    /// Lane 0 of a linear value.
    pub(crate) fn scalar(&mut self, v: Val) -> Value {
        match self.rep(v) {
            Rep::Scalar(x) => x,
            Rep::Slices(_) => unreachable!("value {v} is no scalar"),
        }
    }

    /// `v` as slices.
    pub(crate) fn vector(&mut self, v: Val) -> Vec<Value> {
        if let Some(r) = self.vectors.get(&v) {
            return r.clone();
        }
        let r = match self.rep(v) {
            Rep::Slices(s) => s,
            Rep::Scalar(x) => self.spread(v, x),
        };
        self.vectors.insert(v, r.clone());
        r
    }

    fn spread(&mut self, v: Val, x: Value) -> Vec<Value> {
        let offs = self.offsets(v).map(<[i64]>::to_vec).unwrap_or_default();
        let konst = self.f.as_const(v);
        let kind = self.kind(v);
        let mut splat = None;
        let mut out: Vec<Value> = Vec::new();
        let mut made: HashMap<Vec<i64>, Value> = HashMap::new();
        let per = if kind == Kind::D { 2 } else { 4 };
        for lanes in offs.chunks(per) {
            if let Some(y) = made.get(lanes) {
                out.push(*y);
                continue;
            }
            let y = match (kind, konst) {
                (Kind::P, Some(c)) => {
                    vconst32(&mut self.b, [if c & 1 != 0 { u32::MAX } else { 0 }; 4])
                }
                (Kind::W, Some(c)) => vconst32(&mut self.b, [c as u32; 4]),
                (Kind::D, Some(c)) => vconst64(&mut self.b, [c; 2]),
                _ => {
                    let base = match splat {
                        Some(s) => s,
                        None => {
                            let s = match kind {
                                Kind::P => {
                                    let m = self.b.ins().bmask(I32, x);
                                    self.b.ins().splat(I32X4, m)
                                }
                                Kind::W => self.b.ins().splat(I32X4, x),
                                Kind::D => self.b.ins().splat(I64X2, x),
                            };
                            splat = Some(s);
                            s
                        }
                    };
                    if lanes.iter().all(|o| *o == 0) {
                        base
                    } else if kind == Kind::D {
                        let c = vconst64(&mut self.b, [lanes[0] as u64, lanes[1] as u64]);
                        self.b.ins().iadd(base, c)
                    } else {
                        let c =
                            [lanes[0] as u32, lanes[1] as u32, lanes[2] as u32, lanes[3] as u32];
                        let c = vconst32(&mut self.b, c);
                        self.b.ins().iadd(base, c)
                    }
                }
            };
            made.insert(lanes.to_vec(), y);
            out.push(y);
        }
        out
    }

    fn leaf(&mut self, v: Val) -> Rep {
        let kind = self.kind(v);
        let op = self.f.insts[v as usize].op;
        let fit = |me: &mut Self, x: Value| match kind {
            Kind::D => x,
            Kind::W => me.b.ins().ireduce(I32, x),
            Kind::P => {
                let x = me.b.ins().ireduce(I8, x);
                me.b.ins().band_imm_u(x, 1)
            }
        };
        match op {
            Op::Const(c) => Rep::Scalar(match kind {
                Kind::P => self.b.ins().iconst(I8, (c & 1) as i64),
                Kind::W => self.b.ins().iconst(I32, c as u32 as i64),
                Kind::D => self.b.ins().iconst(I64, c as i64),
            }),
            Op::Symbol(n, off, _) => {
                let base = self.b.ins().load(I64, plain(), self.ctx, at!(symbols));
                let a = self.b.ins().load(I64, plain(), base, n as i32 * 8);
                let a = if off == 0 { a } else { self.b.ins().iadd_imm_s(a, off) };
                Rep::Scalar(fit(self, a))
            }
            Op::Param(at, bytes, signed) => {
                let base = self.b.ins().load(I64, plain(), self.ctx, at!(params));
                let at = at as i32;
                let wide = kind == Kind::D;
                let x = match (bytes, wide, signed) {
                    (1, false, false) => self.b.ins().uload8(I32, plain(), base, at),
                    (1, false, true) => self.b.ins().sload8(I32, plain(), base, at),
                    (2, false, false) => self.b.ins().uload16(I32, plain(), base, at),
                    (2, false, true) => self.b.ins().sload16(I32, plain(), base, at),
                    (1, true, false) => self.b.ins().uload8(I64, plain(), base, at),
                    (1, true, true) => self.b.ins().sload8(I64, plain(), base, at),
                    (2, true, false) => self.b.ins().uload16(I64, plain(), base, at),
                    (2, true, true) => self.b.ins().sload16(I64, plain(), base, at),
                    (4, true, false) => self.b.ins().uload32(plain(), base, at),
                    (4, true, true) => self.b.ins().sload32(plain(), base, at),
                    (8, true, _) => self.b.ins().load(I64, plain(), base, at),
                    _ => self.b.ins().load(I32, plain(), base, at),
                };
                Rep::Scalar(x)
            }
            Op::Special(s) => self.special(v, s, kind),
            _ => unreachable!("no leaf"),
        }
    }

    fn special(&mut self, v: Val, s: Sreg, kind: Kind) -> Rep {
        let [x, y, _] = self.g.block;
        let one_row = self.g.block[1] == 1 && self.g.block[2] == 1;
        let dim = match s {
            Sreg::TidX => Some(0),
            Sreg::TidY => Some(1),
            Sreg::TidZ => Some(2),
            _ => None,
        };
        let narrow =
            |me: &mut Self, v: Value| if kind == Kind::W { me.b.ins().ireduce(I32, v) } else { v };
        if let Some(d) = dim {
            let t = self.b.use_var(self.thread0);
            if self.linear(v) {
                // Lane 0's coordinates.
                let c = match (d, one_row) {
                    (0, true) => t,
                    (_, true) => self.b.ins().iconst(I64, 0),
                    (0, false) => self.b.ins().urem_imm_u(t, x as i64),
                    (1, false) => {
                        let r = self.b.ins().udiv_imm_u(t, x as i64);
                        self.b.ins().urem_imm_u(r, y as i64)
                    }
                    _ => self.b.ins().udiv_imm_u(t, x as i64 * y as i64),
                };
                return Rep::Scalar(narrow(self, c));
            }
            return Rep::Slices(self.by_lane(kind, |me, l| {
                let t = me.b.ins().iadd_imm_u(t, l as i64);
                match d {
                    0 => me.b.ins().urem_imm_u(t, x as i64),
                    1 => {
                        let r = me.b.ins().udiv_imm_u(t, x as i64);
                        me.b.ins().urem_imm_u(r, y as i64)
                    }
                    _ => me.b.ins().udiv_imm_u(t, x as i64 * y as i64),
                }
            }));
        }
        let t = self.b.use_var(self.thread0);
        let lane0 = self.b.ins().band_imm_u(t, 31);
        match s {
            Sreg::LaneId => return Rep::Scalar(narrow(self, lane0)),
            Sreg::WarpId => {
                let w = self.b.ins().ushr_imm_u(t, 5);
                return Rep::Scalar(narrow(self, w));
            }
            Sreg::LanemaskEq
            | Sreg::LanemaskLe
            | Sreg::LanemaskLt
            | Sreg::LanemaskGe
            | Sreg::LanemaskGt => {
                return Rep::Slices(self.by_lane(kind, |me, l| {
                    let n = me.b.ins().iadd_imm_u(lane0, l as i64);
                    let one = me.b.ins().iconst(I64, 1);
                    let eq = me.b.ins().ishl(one, n);
                    let lt = me.b.ins().isub(eq, one);
                    let le = me.b.ins().bor(eq, lt);
                    let r = match s {
                        Sreg::LanemaskEq => eq,
                        Sreg::LanemaskLe => le,
                        Sreg::LanemaskLt => lt,
                        Sreg::LanemaskGe => me.b.ins().bnot(lt),
                        _ => me.b.ins().bnot(le),
                    };
                    me.b.ins().band_imm_u(r, 0xffff_ffff)
                }));
            }
            _ => {}
        }
        let at = at!(special) + s as i32 * 8;
        Rep::Scalar(match kind {
            Kind::D => self.b.ins().load(I64, plain(), self.ctx, at),
            Kind::W => self.b.ins().load(I32, plain(), self.ctx, at),
            Kind::P => self.b.ins().load(I8, plain(), self.ctx, at),
        })
    }

    /// Slices from one `i64` per lane.
    fn by_lane(&mut self, kind: Kind, mut f: impl FnMut(&mut Self, u32) -> Value) -> Vec<Value> {
        let lanes: Vec<Value> = (0..self.g.width).map(|l| f(self, l)).collect();
        self.pack(kind, &lanes, true)
    }

    /// Slices from scalars of the lanes; `wide`: they are `i64` whatever the kind.
    pub(crate) fn pack(&mut self, kind: Kind, lanes: &[Value], wide: bool) -> Vec<Value> {
        let (per, ty) = if kind == Kind::D { (2, I64X2) } else { (4, I32X4) };
        lanes
            .chunks(per)
            .map(|c| {
                let mut v = None;
                for (n, x) in c.iter().enumerate() {
                    let x =
                        if wide && kind != Kind::D { self.b.ins().ireduce(I32, *x) } else { *x };
                    v = Some(match v {
                        None => self.b.ins().scalar_to_vector(ty, x),
                        Some(v) => self.b.ins().insertlane(v, x, n as u8),
                    });
                }
                v.expect("chunks are not empty")
            })
            .collect()
    }

    /// Lane `l` of slices.
    pub(crate) fn lane(&mut self, slices: &[Value], kind: Kind, l: usize) -> Value {
        let per = if kind == Kind::D { 2 } else { 4 };
        self.b.ins().extractlane(slices[l / per], (l % per) as u8)
    }

    /// Gives `v` its value.
    pub(crate) fn define(&mut self, v: Val, r: Rep) {
        let r = match (r, self.linear(v)) {
            (Rep::Scalar(x), false) => Rep::Slices(self.spread_plain(v, x)),
            (r, _) => r,
        };
        let r = if self.shapes.kept[v as usize] { self.keep(v, r) } else { r };
        if let Some(h) = self.homes.get(&v) {
            let vars = h.vars.clone();
            match &r {
                Rep::Scalar(x) => self.b.def_var(vars[0], *x),
                Rep::Slices(s) => {
                    vars.iter().zip(s).for_each(|(var, x)| self.b.def_var(*var, *x));
                }
            }
        }
        self.vectors.remove(&v);
        self.now.insert(v, r);
    }

    /// The same scalar in every lane.
    fn spread_plain(&mut self, v: Val, x: Value) -> Vec<Value> {
        let n = self.slices();
        match self.kind(v) {
            Kind::P => {
                let m = self.b.ins().bmask(I32, x);
                let s = self.b.ins().splat(I32X4, m);
                vec![s; n]
            }
            Kind::W => {
                let s = self.b.ins().splat(I32X4, x);
                vec![s; n]
            }
            Kind::D => {
                let s = self.b.ins().splat(I64X2, x);
                vec![s; 2 * n]
            }
        }
    }

    /// New value in executing lanes, the old one in the others.
    fn keep(&mut self, v: Val, r: Rep) -> Rep {
        let (Some(mask), Rep::Slices(new)) = (self.mask.clone(), &r) else { return r };
        let Some(vars) = self.homes.get(&v).map(|h| h.vars.clone()) else { return r };
        let old: Vec<Value> = vars.iter().map(|x| self.b.use_var(*x)).collect();
        Rep::Slices(self.blend(self.kind(v), &mask, new, &old))
    }

    /// `mask ? a : b` by slices.
    pub(crate) fn blend(
        &mut self,
        kind: Kind,
        mask: &[Value],
        a: &[Value],
        b: &[Value],
    ) -> Vec<Value> {
        let mut out = Vec::with_capacity(a.len());
        for s in 0..mask.len() {
            let mut e = self.emitter(true);
            if kind == Kind::D {
                let m = e.wide_mask(mask[s]);
                for h in 0..2 {
                    let r = e.sel(m[h], a[2 * s + h], b[2 * s + h]);
                    out.push(r);
                }
            } else {
                let r = e.sel(mask[s], a[s], b[s]);
                out.push(r);
            }
        }
        out
    }

    // ---- pure operations -------------------------------------------------

    fn parts(&self, kind: Kind, v: &[Value], s: usize) -> Part {
        if kind == Kind::D { [v[2 * s], v[2 * s + 1]] } else { [v[s], v[s]] }
    }

    fn pure(&mut self, v: Val, op: Pure, k: u32) {
        let args = self.f.insts[v as usize].args.clone();
        let consts: Vec<Option<u64>> = args.iter().map(|a| self.f.as_const(*a)).collect();
        let fused = matches!(op, Pure::FmaF32 | Pure::FmaF64);
        let allowed = self.fma || !fused;
        let scalar = args.iter().all(|a| self.linear(*a)) && self.linear(v);
        if scalar {
            let parts: Vec<Part> = args
                .iter()
                .map(|a| {
                    let x = self.scalar(*a);
                    [x, x]
                })
                .collect();
            let r = if allowed { self.emitter(false).pure(op, k, &parts, &consts) } else { None };
            let r = match r {
                Some(r) if exact_nan(op) => {
                    let nan = self.emitter(false).nan64(r);
                    self.or_exact(nan, op, k, &args, vec![r[0]], true)[0]
                }
                Some(r) => r[0],
                None => self.call_lanes(op, k, &args, true)[0],
            };
            self.define(v, Rep::Scalar(r));
            return;
        }
        let values: Vec<Vec<Value>> = args.iter().map(|a| self.vector(*a)).collect();
        let mut out = Vec::new();
        let mut same: HashMap<Vec<Value>, Part> = HashMap::new();
        for s in 0..self.slices() {
            let parts: Vec<Part> =
                args.iter().zip(&values).map(|(a, v)| self.parts(self.kind(*a), v, s)).collect();
            let key: Vec<Value> = parts.iter().flatten().copied().collect();
            let r = match same.get(&key) {
                Some(r) => Some(*r),
                None if allowed => self.emitter(true).pure(op, k, &parts, &consts),
                None => None,
            };
            let Some(r) = r else {
                let r = self.call_lanes(op, k, &args, false);
                self.define(v, Rep::Slices(r));
                return;
            };
            same.insert(key, r);
            out.push(r[0]);
            if op.ret() == Kind::D {
                out.push(r[1]);
            }
        }
        if exact_nan(op) {
            let mut any = None;
            for s in 0..self.slices() {
                let m = self.emitter(true).nan64([out[2 * s], out[2 * s + 1]]);
                any = Some(match any {
                    None => m,
                    Some(a) => self.b.ins().bor(a, m),
                });
            }
            if let Some(any) = any {
                let nan = self.any(any);
                out = self.or_exact(nan, op, k, &args, out, false);
            }
        }
        self.define(v, Rep::Slices(out));
    }

    pub(crate) fn any(&mut self, v: Value) -> Value {
        self.b.ins().vany_true(v)
    }

    /// `fast`, or where `bad` holds the values of the micro-op's own function.
    fn or_exact(
        &mut self,
        bad: Value,
        op: Pure,
        k: u32,
        args: &[Val],
        fast: Vec<Value>,
        scalar: bool,
    ) -> Vec<Value> {
        let (cold, join) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        for x in &fast {
            let ty = self.b.func.dfg.value_type(*x);
            self.b.append_block_param(join, ty);
        }
        let pass: Vec<BlockArg> = fast.iter().map(|x| BlockArg::Value(*x)).collect();
        self.b.ins().brif(bad, cold, &[], join, &pass);
        self.b.switch_to_block(cold);
        let slow = self.call_lanes(op, k, args, scalar);
        let pass: Vec<BlockArg> = slow.iter().map(|x| BlockArg::Value(*x)).collect();
        self.b.ins().jump(join, &pass);
        self.b.switch_to_block(join);
        self.b.block_params(join).to_vec()
    }

    pub(crate) fn src_at(n: usize) -> i32 {
        at!(src) + n as i32 * 256
    }
    pub(crate) fn dst_at(n: usize) -> i32 {
        at!(dst) + n as i32 * 256
    }

    /// Stores slices to a staging place: 4 or 8 bytes a lane.
    pub(crate) fn stage(&mut self, slices: &[Value], at: i32) {
        for (n, x) in slices.iter().enumerate() {
            self.b.ins().store(plain(), *x, self.ctx, at + n as i32 * 16);
        }
    }
    pub(crate) fn unstage(&mut self, kind: Kind, at: i32) -> Vec<Value> {
        let (n, ty) =
            if kind == Kind::D { (self.slices() * 2, I64X2) } else { (self.slices(), I32X4) };
        (0..n).map(|i| self.b.ins().load(ty, plain(), self.ctx, at + i as i32 * 16)).collect()
    }

    /// Runs the micro-op's own function over the lanes, or once for a scalar.
    fn call_lanes(&mut self, op: Pure, k: u32, args: &[Val], scalar: bool) -> Vec<Value> {
        for (n, a) in args.iter().enumerate() {
            let at = Self::src_at(n);
            if scalar {
                let x = self.scalar(*a);
                let x = if self.kind(*a) == Kind::P { self.b.ins().bmask(I32, x) } else { x };
                self.b.ins().store(plain(), x, self.ctx, at);
            } else {
                // Not remembered: this may be a path that is seldom taken.
                let x = match self.vectors.get(a) {
                    Some(x) => x.clone(),
                    None => match self.rep(*a) {
                        Rep::Slices(s) => s,
                        Rep::Scalar(x) => self.spread(*a, x),
                    },
                };
                self.stage(&x, at);
            }
        }
        let table = self.b.ins().load(I64, plain(), self.ctx, at!(lanes));
        let f = self.b.ins().load(I64, plain(), table, op as i32 * 8);
        let place: Vec<Value> =
            [Self::dst_at(0), Self::src_at(0), Self::src_at(1), Self::src_at(2)]
                .iter()
                .map(|o| self.b.ins().iadd_imm_u(self.ctx, *o as i64))
                .collect();
        let k = self.b.ins().iconst(I64, k as i64);
        let n = self.b.ins().iconst(I64, if scalar { 1 } else { self.g.width as i64 });
        let sig = self.helper_lanes;
        self.b.ins().call_indirect(sig, f, &[place[0], place[1], place[2], place[3], k, n]);
        if scalar {
            let at = Self::dst_at(0);
            return vec![match op.ret() {
                Kind::D => self.b.ins().load(I64, plain(), self.ctx, at),
                Kind::W => self.b.ins().load(I32, plain(), self.ctx, at),
                Kind::P => {
                    let x = self.b.ins().load(I32, plain(), self.ctx, at);
                    self.b.ins().icmp_imm_u(IntCC::NotEqual, x, 0)
                }
            }];
        }
        self.unstage(op.ret(), Self::dst_at(0))
    }

    fn canon(&mut self, v: Val) {
        let a = self.f.insts[v as usize].args[0];
        match self.rep(a) {
            Rep::Scalar(x) => {
                let r = self.emitter(false).canon32(x);
                self.define(v, Rep::Scalar(r));
            }
            Rep::Slices(s) => {
                let r = s.into_iter().map(|x| self.emitter(true).canon32(x)).collect();
                self.define(v, Rep::Slices(r));
            }
        }
    }

    // ---- control ---------------------------------------------------------

    fn lanes_of(&mut self, vars: &[Variable]) -> Vec<Value> {
        vars.iter().map(|v| self.b.use_var(*v)).collect()
    }

    fn any_of(&mut self, mask: &[Value]) -> Value {
        let mut all = mask[0];
        for m in &mask[1..] {
            all = self.b.ins().bor(all, *m);
        }
        let all = self.b.ins().bitcast(I8X16, plain_cast(), all);
        self.any(all)
    }

    /// Masked blocks of the region of `b`, in order.
    fn region(&self, b: BlockId) -> Vec<BlockId> {
        let region = &self.shapes.region;
        (0..self.f.blocks.len() as BlockId)
            .filter(|x| {
                self.shapes.masked[*x as usize] && region[*x as usize] == region[b as usize]
            })
            .collect()
    }

    /// Where lanes of the region of `b` meet: the one unmasked block that it leads to.
    fn join(&self, b: BlockId) -> Option<BlockId> {
        let f = self.f;
        self.region(b)
            .iter()
            .flat_map(|x| f.blocks[*x as usize].term.succs())
            .find(|s| !self.shapes.masked[*s as usize] && !is_end(f, *s))
    }

    fn block(&mut self, id: BlockId) {
        let head = self.heads[id as usize];
        let f = self.f;
        let block = &f.blocks[id as usize];
        self.b.switch_to_block(head);
        self.now.clear();
        self.vectors.clear();
        let masked = self.shapes.masked[id as usize];
        if masked {
            let vars = self.masks[&id].clone();
            let mask = self.lanes_of(&vars);
            let any = self.any_of(&mask);
            let (body, skip) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(any, body, &[], skip, &[]);
            self.b.switch_to_block(skip);
            self.leave(id);
            self.b.switch_to_block(body);
            let zero = vconst32(&mut self.b, [0; 4]);
            vars.iter().for_each(|v| self.b.def_var(*v, zero));
            self.mask = Some(mask);
        } else if self.shapes.deaths {
            let vars = self.live.clone();
            self.mask = Some(self.lanes_of(&vars));
        } else {
            self.mask = None;
        }
        for &v in &block.insts {
            match f.insts[v as usize].op {
                // Read now: edges out of this block may change it.
                Op::Phi => {
                    self.rep(v);
                }
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
                self.save(*next);
                let n = self.resumes.iter().position(|r| r == next).map_or(0, |n| n + 1);
                let at = self.resume_address();
                let n = self.b.ins().iconst(I32, n as i64);
                self.b.ins().store(plain(), n, at, 0);
                let to = self.next_group;
                self.b.ins().jump(to, &[]);
            }
            Term::Br(v, neg, a, c) => self.branch(id, *v, *neg, *a, *c, masked),
            Term::Brx(v, targets, _) => {
                let (v, targets) = (*v, targets.clone());
                self.table(id, v, &targets, masked);
            }
        }
    }

    /// After a masked block: back to the first block where lanes wait, or on.
    fn leave(&mut self, id: BlockId) {
        let mut backs: Vec<BlockId> = self.f.blocks[id as usize].term.succs();
        backs.retain(|s| *s <= id && self.shapes.masked[*s as usize]);
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

    fn following(&self, id: BlockId) -> Option<BlockId> {
        self.region(id).into_iter().find(|x| *x > id)
    }

    /// Lanes (all executing ones) end here.
    fn die(&mut self, lanes: Option<&[Value]>) {
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

    fn end_group(&mut self) {
        if !self.resumes.is_empty() {
            let at = self.resume_address();
            let n = self.b.ins().iconst(I32, DONE as i64);
            self.b.ins().store(plain(), n, at, 0);
        }
        let to = self.next_group;
        self.b.ins().jump(to, &[]);
    }

    /// One loop turn; stops when the launch is over.
    fn burn(&mut self) {
        let fuel = self.b.ins().load(I64, plain(), self.ctx, at!(fuel));
        let left = self.b.ins().iadd_imm_s(fuel, -1);
        self.b.ins().store(plain(), left, self.ctx, at!(fuel));
        let empty = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        let (cold, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(empty, cold, &[], on, &[]);
        self.b.switch_to_block(cold);
        let f = self.b.ins().load(I64, plain(), self.ctx, at!(refuel));
        let sig = self.helper_refuel;
        let call = self.b.ins().call_indirect(sig, f, &[self.ctx]);
        let bad = self.b.inst_results(call)[0];
        self.fail_if(bad);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    pub(crate) fn fail_if(&mut self, bad: Value) {
        let on = self.b.create_block();
        let fail = self.fail;
        self.b.ins().brif(bad, fail, &[], on, &[]);
        self.b.switch_to_block(on);
    }

    /// Values of the phis of `to` on the edge from `from`.
    fn phis(&mut self, from: BlockId, to: BlockId) -> Vec<(Val, Val)> {
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
    fn pass(&mut self, from: BlockId, to: BlockId, mask: Option<&[Value]>, on: Option<Value>) {
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
                            self.b.ins().select(on, x, old)
                        }
                        None => x,
                    };
                    self.b.def_var(vars[0], x);
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
    fn flow(&mut self, from: BlockId, to: BlockId, edge: Option<(&[Value], Option<Value>)>) {
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
    fn go(&mut self, from: BlockId, to: BlockId) {
        if self.shapes.masked[to as usize] {
            let mask = match &self.mask {
                Some(m) => m.clone(),
                None => {
                    let all = vconst32(&mut self.b, [u32::MAX; 4]);
                    vec![all; self.slices()]
                }
            };
            self.enter(to);
            self.flow(from, to, Some((&mask, None)));
        } else {
            self.pass(from, to, None, None);
        }
        if to <= from {
            self.burn();
        }
        let head = self.heads[to as usize];
        self.b.ins().jump(head, &[]);
    }

    /// Clears the masks of the region of `b`.
    fn enter(&mut self, b: BlockId) {
        let zero = vconst32(&mut self.b, [0; 4]);
        for x in self.region(b) {
            for v in self.masks[&x].clone() {
                self.b.def_var(v, zero);
            }
        }
    }

    fn branch(&mut self, id: BlockId, v: Val, neg: bool, a: BlockId, c: BlockId, masked: bool) {
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

    /// Lanes of an unmasked block go different ways.
    fn fork(&mut self, id: BlockId, edges: &[(BlockId, Vec<Value>)]) {
        let f = self.f;
        let masked = |b: &BlockId| self.shapes.masked[*b as usize];
        let Some(first) = edges.iter().map(|e| e.0).filter(masked).min() else {
            // Every side is the meeting point or the end.
            for (to, m) in edges {
                self.flow(id, *to, Some((m, None)));
            }
            match edges.iter().map(|e| e.0).find(|b| !is_end(f, *b)) {
                Some(to) => {
                    let head = self.heads[to as usize];
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

    fn table(&mut self, id: BlockId, v: Val, targets: &[BlockId], masked: bool) {
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
        let p = self.vector(v);
        let mut left: Vec<Value> = match &self.mask {
            Some(m) => m.clone(),
            None => {
                let all = vconst32(&mut self.b, [u32::MAX; 4]);
                vec![all; self.slices()]
            }
        };
        let mut distinct: Vec<(BlockId, Vec<Value>)> = Vec::new();
        for (n, to) in targets.iter().enumerate() {
            let want = vconst32(&mut self.b, [n as u32; 4]);
            let mut here = Vec::new();
            for s in 0..p.len() {
                let eq = self.b.ins().icmp(IntCC::Equal, p[s], want);
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

fn plain_cast() -> MemFlagsData {
    MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little)
}
