//! Blocks: what is needed of them, where they go, and their instructions.

use std::collections::HashMap;

use cranelift_codegen::ir::{self, BlockCall, Function, InstructionData, Opcode, Value, ValueDef};
use regalloc2::{Block, VReg};

use super::inst::{Inst, ListedBlock, Listing, What};
use super::select::{Refused, Selector};
use super::target::Target;
use super::words;

/// What is made of a function.
pub(super) struct Selected {
    pub code: Listing,
    pub pool: Vec<Vec<u8>>,
}

/// Selects instructions for `f`.
pub(super) fn select(f: &Function, target: &'static Target) -> Result<Selected, Refused> {
    let entry = f.layout.entry_block().ok_or("an empty function")?;
    let mut s = Selector::new(f, entry, target);
    let order = s.reachable();
    s.count(&order);
    s.blocks(&order)?;
    Ok(Selected { code: s.out, pool: s.pool })
}

/// Whether an instruction does something besides its result.
pub(super) fn acts(f: &Function, i: ir::Inst) -> bool {
    let op = f.dfg.insts[i].opcode();
    match op {
        Opcode::Call => words::word(f, i).is_none_or(|(w, _)| w.stores()),
        Opcode::Load
        | Opcode::Uload8
        | Opcode::Uload16
        | Opcode::Uload32
        | Opcode::Sload8
        | Opcode::Sload16
        | Opcode::Sload32 => false,
        _ => op.can_store() || op.is_call() || op.other_side_effects() || op.is_terminator(),
    }
}

/// What becomes a block.
enum Laid {
    Block(ir::Block),
    /// In between, on a way from a fork that passes values or leads to a meeting: the block and the number of the way.
    Edge(ir::Block, usize),
}

impl Selector<'_> {
    /// Blocks that are reached, each before what it dominates.
    fn reachable(&self) -> Vec<ir::Block> {
        let entry = self.here;
        let mut seen = vec![false; self.f.dfg.num_blocks()];
        let mut order = Vec::new();
        let mut stack = vec![(entry, self.successors(entry), 0)];
        seen[entry.as_u32() as usize] = true;
        while let Some((block, succs, n)) = stack.last_mut() {
            if *n < succs.len() {
                let to = succs[*n];
                *n += 1;
                if !std::mem::replace(&mut seen[to.as_u32() as usize], true) {
                    let succs = self.successors(to);
                    stack.push((to, succs, 0));
                }
            } else {
                order.push(*block);
                stack.pop();
            }
        }
        order.reverse();
        order
    }

    fn calls(&self, block: ir::Block) -> &[BlockCall] {
        let last = self.f.layout.last_inst(block);
        last.map_or(&[], |i| {
            self.data(i).branch_destination(&self.f.dfg.jump_tables, &self.f.dfg.exception_tables)
        })
    }

    fn successors(&self, block: ir::Block) -> Vec<ir::Block> {
        self.calls(block).iter().map(|c| c.block(&self.f.dfg.value_lists)).collect()
    }

    fn passed(&self, call: &BlockCall) -> Vec<Value> {
        call.args(&self.f.dfg.value_lists).filter_map(|a| a.as_value()).collect()
    }

    /// Counts what reads each value, of what is needed for an effect.
    fn count(&mut self, order: &[ir::Block]) {
        let f = self.f;
        let mut ways: HashMap<ir::Block, Vec<Vec<Value>>> = HashMap::new();
        let mut work: Vec<Value> = Vec::new();
        for &b in order {
            let mut epoch = 0;
            for i in f.layout.block_insts(b) {
                self.epochs[i.as_u32() as usize] = epoch;
                if acts(f, i) {
                    epoch += 1;
                    for v in self.fixed_args(i) {
                        self.read(v, &mut work);
                    }
                }
            }
            for c in self.calls(b) {
                let to = c.block(&f.dfg.value_lists);
                ways.entry(to).or_default().push(self.passed(c));
            }
        }
        let mut done = vec![false; f.dfg.num_insts()];
        while let Some(v) = work.pop() {
            match f.dfg.value_def(v) {
                ValueDef::Result(i, _) => {
                    if acts(self.f, i) || std::mem::replace(&mut done[i.as_u32() as usize], true) {
                        continue;
                    }
                    for a in self.fixed_args(i) {
                        self.read(a, &mut work);
                    }
                }
                ValueDef::Param(b, n) => {
                    for way in ways.get(&b).into_iter().flatten() {
                        if let Some(a) = way.get(n) {
                            self.read(*a, &mut work);
                        }
                    }
                }
                ValueDef::Union(..) => {}
            }
        }
    }

    /// Operands but for those that are passed to blocks.
    fn fixed_args(&self, i: ir::Inst) -> Vec<Value> {
        match *self.data(i) {
            InstructionData::Jump { .. } => Vec::new(),
            InstructionData::Brif { arg, .. } | InstructionData::BranchTable { arg, .. } => {
                vec![arg]
            }
            _ => self.f.dfg.inst_args(i).to_vec(),
        }
    }

    fn read(&mut self, v: Value, work: &mut Vec<Value>) {
        let v = self.root(v);
        let n = &mut self.uses[v.as_u32() as usize];
        *n += 1;
        if *n == 1 {
            work.push(v);
        }
    }

    fn blocks(&mut self, order: &[ir::Block]) -> Result<(), Refused> {
        let f = self.f;
        // Where code goes: as it was emitted, what is seldom run last.
        let reached: std::collections::HashSet<ir::Block> = order.iter().copied().collect();
        let mut layout: Vec<ir::Block> =
            f.layout.blocks().filter(|b| reached.contains(b)).collect();
        layout.sort_by_key(|b| f.layout.is_cold(*b));
        let mut preds: HashMap<ir::Block, usize> = HashMap::new();
        for &b in order {
            self.successors(b).into_iter().for_each(|s| *preds.entry(s).or_default() += 1);
        }
        let (mut warm, mut cold) = (Vec::new(), Vec::new());
        for &b in &layout {
            let calls = self.calls(b);
            let here = if f.layout.is_cold(b) { &mut cold } else { &mut warm };
            here.push(Laid::Block(b));
            let fork = calls.len() > 1;
            for (n, c) in calls.iter().enumerate() {
                let to = c.block(&f.dfg.value_lists);
                let meets = preds.get(&to).copied().unwrap_or(0) > 1;
                if fork && (meets || c.len(&f.dfg.value_lists) > 0) {
                    let far = f.layout.is_cold(b) || f.layout.is_cold(to);
                    if far { &mut cold } else { &mut warm }.push(Laid::Edge(b, n));
                }
            }
        }
        warm.append(&mut cold);
        let mut index = HashMap::new();
        let mut edges = HashMap::new();
        for (n, s) in warm.iter().enumerate() {
            match s {
                Laid::Block(b) => {
                    index.insert(*b, n);
                }
                Laid::Edge(b, way) => {
                    edges.insert((*b, *way), n);
                }
            }
        }
        // Bodies, later blocks first: what reads a value is seen before what computes it.
        let mut bodies: HashMap<ir::Block, Vec<Inst>> = HashMap::new();
        for &b in order.iter().rev() {
            let body = self.block(b)?;
            bodies.insert(b, body);
        }
        let mut blocks: Vec<ListedBlock> = warm.iter().map(|_| ListedBlock::default()).collect();
        for (n, s) in warm.iter().enumerate() {
            let start = self.out.insts.len() as u32;
            match s {
                Laid::Block(b) => {
                    self.out.insts.append(&mut bodies.remove(b).unwrap_or_default());
                    if Some(*b) != f.layout.entry_block() {
                        for p in f.dfg.block_params(*b) {
                            if self.uses[p.as_u32() as usize] > 0 {
                                let r = self.own(*p);
                                blocks[n].params.push(r);
                            }
                        }
                    }
                    for (way, to) in self.successors(*b).into_iter().enumerate() {
                        let to = edges.get(&(*b, way)).copied().unwrap_or(index[&to]);
                        blocks[n].succs.push(Block::new(to));
                        blocks[to].preds.push(Block::new(n));
                    }
                    if let [only] = self.calls(*b).to_vec()[..] {
                        blocks[n].passed = self.given(&only);
                    }
                    if matches!(
                        self.f.layout.last_inst(*b).map(|i| self.data(i)),
                        Some(InstructionData::BranchTable { .. })
                    ) {
                        // The default comes first in Cranelift's form, last in ours.
                        blocks[n].succs.rotate_left(1);
                    }
                }
                Laid::Edge(b, way) => {
                    let call = self.calls(*b)[*way];
                    let to = index[&call.block(&f.dfg.value_lists)];
                    self.place = u32::MAX;
                    let jump = Inst { what: What::Jump, operands: (0, 0), place: u32::MAX };
                    self.out.insts.push(jump);
                    blocks[n].succs.push(Block::new(to));
                    blocks[to].preds.push(Block::new(n));
                    blocks[n].passed = self.given(&call);
                }
            }
            blocks[n].insts = (start, self.out.insts.len() as u32);
        }
        self.out.blocks = blocks;
        Ok(())
    }

    /// Registers of what is passed for parameters that somebody reads.
    fn given(&mut self, call: &BlockCall) -> Vec<VReg> {
        let to = call.block(&self.f.dfg.value_lists);
        let params = self.f.dfg.block_params(to);
        let args = self.passed(call);
        let pairs: Vec<Value> = params
            .iter()
            .zip(args)
            .filter(|(p, _)| self.uses[p.as_u32() as usize] > 0)
            .map(|(_, a)| a)
            .collect();
        pairs.into_iter().map(|a| self.reg(a)).collect()
    }

    fn block(&mut self, b: ir::Block) -> Result<Vec<Inst>, Refused> {
        self.here = b;
        self.back = Vec::new();
        // What is passed on needs its registers before the block is lowered.
        let calls = self.calls(b).to_vec();
        calls.iter().for_each(|c| {
            self.given(c);
        });
        let insts: Vec<ir::Inst> = self.f.layout.block_insts(b).collect();
        for i in insts.into_iter().rev() {
            self.now = self.epochs[i.as_u32() as usize];
            let loc = self.f.srcloc(i);
            self.place = if loc.is_default() { u32::MAX } else { loc.bits() };
            let results = self.f.dfg.inst_results(i);
            let wanted = results.iter().any(|r| self.regs[r.as_u32() as usize].is_some());
            if wanted || acts(self.f, i) {
                self.inst(i)?;
                if let Some(r) = results.first() {
                    self.cut_quarters(*r);
                }
                while let Some(x) = self.seq.pop() {
                    self.back.push(x);
                }
            }
        }
        self.cut_other_quarters();
        while let Some(x) = self.seq.pop() {
            self.back.push(x);
        }
        if Some(b) == self.f.layout.entry_block() {
            self.push(What::Start, &[]);
            let start = self.seq.pop().ok_or("no start")?;
            self.back.push(start);
        }
        let mut body = std::mem::take(&mut self.back);
        body.reverse();
        Ok(body)
    }
}
