//! One kernel as one Cranelift function: groups of lanes, masks, barriers.
//!
//! The function runs every group of the block from where it stopped to its next barrier or its
//! end. Blocks that all living lanes of a group reach together are plain code. Blocks below a
//! divergent branch run in order under masks: lanes wait at their block until all earlier blocks
//! are done, so paths meet again as early as they can.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block as Clif, InstBuilder};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Switch};
use ptx_isa::special::Sreg;
use ptx_isa::watch::{Now, SEGMENT};

use crate::clif::{at, plain};
use crate::ctx::Ctx;
use crate::generator::Gen;
use crate::interleaved::interleaved;
use crate::ir::{BasicBlock, BlockId, Term};
use crate::layout::Layout;
use crate::live::inner_phis;
use crate::middle::Middle;
use crate::records::records;
use crate::saved::Saved;
use crate::thunk::{self, signature};
use crate::tiles::tiles;
use crate::unraced::unraced;
use crate::{opt, together};

/// Instructions of a loop whose turns are so short that a jump counts.
const SMALL_LOOP: usize = 48;

/// Most values of a kernel whose blocks have a version for groups with all lanes on.
const TWICE: usize = 3000;

/// Emits the kernel into `b`.
pub(crate) fn emit(
    middle: &Middle,
    mut b: FunctionBuilder,
    fma: bool,
    config: TargetFrontendConfig,
) -> Layout {
    let Middle { func: f, geometry: g, divergence, form } = middle;
    let (g, form) = (*g, *form);
    let mut sig = |n: usize| b.func.import_signature(signature(n, CallConv::PreserveAll));
    let helper_effect = sig(thunk::EFFECT);
    let helper_lanes = sig(thunk::LANES);
    let helper_refuel = sig(thunk::REFUEL);
    let lane_function = b.func.import_signature(signature(6, config.default_call_conv));
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let ctx = b.block_params(entry)[0];
    let thread0 = b.declare_var(I64);
    let group = b.declare_var(I64);
    let slices = g.width as usize / form.lanes();
    let full_heads: Vec<Clif> = f.blocks.iter().map(|_| b.create_block()).collect();
    let divergent = divergence.deaths || divergence.masked.contains(&true);
    let size: usize = f.blocks.iter().map(|b| b.insts.len()).sum();
    let two = divergent && size <= TWICE;
    let heads = (0..f.blocks.len())
        .map(|n| {
            let plain = !divergence.deaths && !divergence.masked[n];
            if plain || !divergent { full_heads[n] } else { b.create_block() }
        })
        .collect();
    let (next_group, fail) = (b.create_block(), b.create_block());
    b.set_cold_block(fail);
    let live = (0..slices).map(|_| b.declare_var(form.p())).collect();
    let mut masks = HashMap::new();
    for (id, own) in divergence.masked.iter().enumerate() {
        if *own {
            let vars = (0..slices).map(|_| b.declare_var(form.p())).collect();
            masks.insert(id as BlockId, vars);
        }
    }
    let joint = records(f, divergence, form);
    let mut gen_ = Gen {
        f,
        g,
        divergence,
        b,
        ctx,
        homes: HashMap::new(),
        now: HashMap::new(),
        vectors: HashMap::new(),
        heads,
        full_heads,
        two,
        full: false,
        masks,
        turns: HashMap::new(),
        inner: inner_phis(f),
        live,
        thread0,
        group,
        next_group,
        fail,
        helper_effect,
        helper_lanes,
        lane_function,
        helper_refuel,
        mask: None,
        resumes: Vec::new(),
        stops: Vec::new(),
        lone: together::lone_conditions(f),
        counted: HashMap::new(),
        sure_heads: HashMap::new(),
        moving: HashMap::new(),
        sure: false,
        interleaved: interleaved(f, divergence, |e| joint.contains_key(&e)),
        records: joint,
        tiles: tiles(f, divergence),
        unraced: unraced(f, g),
        checked_tiles: HashMap::new(),
        in_small_loop: opt::in_small_loop(f, SMALL_LOOP),
        here: 0,
        live_in: Vec::new(),
        spill_bytes: 0,
        saved: Saved::default(),
        numbers: HashSet::new(),
        sites: Vec::new(),
        fma,
        form,
    };
    gen_.run();
    let layout = Layout {
        spill_bytes: gen_.spill_bytes as usize,
        barriers: gen_.resumes.len() - f.waits.len(),
        waits: f.waits.len(),
        meets: if f.alone { gen_.stops } else { Vec::new() },
        meeting_rows: f.meeting_rows(),
        beside: divergence.beside.map(|bytes| bytes as usize),
        sites: gen_.sites,
    };
    gen_.b.finalize(config);
    layout
}

impl Gen<'_, '_> {
    pub(crate) fn run(&mut self) {
        self.find_homes();
        self.find_counted();
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
        let barriers = || {
            let stop = |b: &BasicBlock| match b.term {
                Term::Bar(e, next) => Some((e, next)),
                _ => None,
            };
            self.f.blocks.iter().filter_map(stop)
        };
        let waits = self.f.waits.iter().copied();
        let resumes: Vec<BlockId> = barriers().map(|b| b.1).chain(waits).collect();
        self.stops = barriers().map(|b| b.0).collect();
        self.b.switch_to_block(done);
        if resumes.is_empty() {
            self.next_block(head);
        }
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
        let fresh = self.b.create_block();
        if resumes.is_empty() {
            self.b.ins().jump(fresh, &[]);
        } else {
            let resume = self.resume_address();
            let at = self.b.ins().load(I32, plain(), resume, 0);
            let mut switch = Switch::new();
            let mut stubs = Vec::new();
            switch.set_entry(0, fresh);
            for (n, next) in resumes.iter().enumerate() {
                let stub = self.b.create_block();
                switch.set_entry(n as u128 + 1, stub);
                stubs.push((stub, *next));
            }
            switch.emit(&mut self.b, at, self.next_group);
            self.resumes = resumes;
            for (stub, next) in stubs {
                self.b.switch_to_block(stub);
                self.reload(next);
                let to = self.heads[next as usize];
                self.b.ins().jump(to, &[]);
            }
        }
        self.b.switch_to_block(fresh);
        if self.divergence.deaths {
            self.first_lanes();
        }
        let to = if self.two && !self.g.ragged() { self.full_heads[0] } else { self.heads[0] };
        if self.two && self.g.ragged() {
            let last = self.b.use_var(self.group);
            let last = self.b.ins().icmp_imm_u(IntCC::Equal, last, self.g.groups() as i64 - 1);
            let full = self.full_heads[0];
            self.b.ins().brif(last, to, &[], full, &[]);
        } else {
            self.b.ins().jump(to, &[]);
        }
        for b in 0..self.f.blocks.len() {
            if self.two || self.heads[b] == self.full_heads[b] {
                self.block(b as BlockId, true);
                self.sure_block(b as BlockId, true);
            }
        }
        for b in 0..self.f.blocks.len() {
            if self.heads[b] != self.full_heads[b] {
                self.block(b as BlockId, false);
                self.sure_block(b as BlockId, false);
            }
        }
        self.b.seal_all_blocks();
    }

    /// Goes on at `head` with the block beside this one, if the worker wants it; falls through otherwise.
    fn next_block(&mut self, head: Clif) {
        let (again, end) = (self.b.create_block(), self.b.create_block());
        let more = self.b.ins().load(I64, plain(), self.ctx, at!(more));
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, more, 0);
        self.b.ins().brif(none, end, &[], again, &[]);
        self.b.switch_to_block(again);
        let more = self.b.ins().iadd_imm_s(more, -1);
        self.b.ins().store(plain(), more, self.ctx, at!(more));
        let column = at!(special) + 8 * Sreg::CtaidX as i32;
        let x = self.b.ins().load(I64, plain(), self.ctx, column);
        let x = self.b.ins().iadd_imm_u(x, 1);
        self.b.ins().store(plain(), x, self.ctx, column);
        if self.f.watched.tracked().is_some() {
            // No barriers: the block is one segment.
            let at = |field: usize| at!(now) + field as i32;
            let segment = at(std::mem::offset_of!(Now, segment));
            let code = self.b.ins().load(I32, plain(), self.ctx, segment);
            let code = self.b.ins().iadd_imm_u(code, 1 << SEGMENT);
            self.b.ins().store(plain(), code, self.ctx, segment);
            let block = at(std::mem::offset_of!(Now, block));
            self.b.ins().store(plain(), code, self.ctx, block);
        }
        let zero = self.b.ins().iconst(I64, 0);
        self.b.def_var(self.group, zero);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(end);
    }

    /// Mask of the lanes of the group that have a thread.
    pub(crate) fn first_lanes(&mut self) {
        for s in 0..self.slices() {
            let m = if self.g.ragged() {
                let t = self.b.use_var(self.thread0);
                let t = self.b.ins().ireduce(I32, t);
                let left = {
                    let n = self.b.ins().iconst(I32, self.g.threads() as i64);
                    self.b.ins().isub(n, t)
                };
                let left = self.b.ins().splat(self.form.w(), left);
                let lanes = self.lane_numbers(s);
                self.emitter(true).cmp_w(IntCC::SignedGreaterThan, left, lanes)
            } else {
                self.mask_of(true)
            };
            self.b.def_var(self.live[s], m);
        }
    }
}
