//! From Cranelift's form with 512-bit vectors to instructions: block by block from the last one on and from the end of each,
//! so that what only one instruction reads can become part of it.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{
    self, BlockCall, ExternalName, Function, InstructionData, Opcode, Type, Value, ValueDef,
};
use iced_x86::Code;
use regalloc2::{Block, Operand, RegClass, VReg};

use super::machine::{Address, Inst, Listing, Part, Piece, View, What};
use super::words::Word;

pub(super) type Refused = String;

/// Conditions by their number in instructions.
pub(super) mod cc {
    pub const B: u8 = 2;
    pub const AE: u8 = 3;
    pub const E: u8 = 4;
    pub const NE: u8 = 5;
    pub const BE: u8 = 6;
    pub const A: u8 = 7;
    pub const L: u8 = 12;
    pub const GE: u8 = 13;
    pub const LE: u8 = 14;
    pub const G: u8 = 15;
}

/// The number of a condition.
pub(super) fn condition(c: IntCC) -> u8 {
    match c {
        IntCC::Equal => cc::E,
        IntCC::NotEqual => cc::NE,
        IntCC::UnsignedLessThan => cc::B,
        IntCC::UnsignedGreaterThanOrEqual => cc::AE,
        IntCC::UnsignedLessThanOrEqual => cc::BE,
        IntCC::UnsignedGreaterThan => cc::A,
        IntCC::SignedLessThan => cc::L,
        IntCC::SignedGreaterThanOrEqual => cc::GE,
        IntCC::SignedLessThanOrEqual => cc::LE,
        IntCC::SignedGreaterThan => cc::G,
    }
}

/// The registers that hold values of a type.
pub(super) fn class(ty: Type) -> RegClass {
    match ty {
        I16 => RegClass::Vector,
        ty if ty.is_vector() || ty == F32 || ty == F64 => RegClass::Float,
        _ => RegClass::Int,
    }
}

/// How instructions name a general register of a type: bytes are computed in 32 bits.
pub(super) fn view(ty: Type) -> View {
    if ty == I64 { View::D } else { View::W }
}

pub(super) struct Lower<'a> {
    pub f: &'a Function,
    pub out: Listing,
    /// How many instructions that are needed read a value.
    uses: Vec<u32>,
    /// Registers of values, and whether something asks for them.
    regs: Vec<Option<VReg>>,
    /// Stores and calls before an instruction of its block.
    epochs: Vec<u32>,
    entry: ir::Block,
    /// The block and the epoch of what is being lowered.
    here: ir::Block,
    now: u32,
    place: u32,
    /// Instructions of the one that is being lowered, forwards, and of its block, backwards.
    seq: Vec<Inst>,
    back: Vec<Inst>,
    /// Constants in memory.
    pub pool: Vec<Vec<u8>>,
    pooled: HashMap<Vec<u8>, u32>,
    /// Quarters of vectors whose lanes are read one by one.
    pub(super) quarters: HashMap<(Value, u8), VReg>,
}

/// What is made of a function.
pub(super) struct Lowered {
    pub code: Listing,
    pub pool: Vec<Vec<u8>>,
}

/// Lowers `f`.
pub(super) fn lower(f: &Function) -> Result<Lowered, Refused> {
    let entry = f.layout.entry_block().ok_or("an empty function")?;
    let mut l = Lower {
        f,
        out: Listing::default(),
        uses: vec![0; f.dfg.num_values()],
        regs: vec![None; f.dfg.num_values()],
        epochs: vec![0; f.dfg.num_insts()],
        entry,
        here: entry,
        now: 0,
        place: u32::MAX,
        seq: Vec::new(),
        back: Vec::new(),
        pool: Vec::new(),
        pooled: HashMap::new(),
        quarters: HashMap::new(),
    };
    let order = l.reachable();
    l.count(&order);
    l.blocks(&order)?;
    Ok(Lowered { code: l.out, pool: l.pool })
}

impl Lower<'_> {
    pub(super) fn ty(&self, v: Value) -> Type {
        self.f.dfg.value_type(v)
    }

    pub(super) fn data(&self, i: ir::Inst) -> &InstructionData {
        &self.f.dfg.insts[i]
    }

    /// The instruction that computes a value.
    pub(super) fn def(&self, v: Value) -> Option<ir::Inst> {
        match self.f.dfg.value_def(v) {
            ValueDef::Result(i, _) => Some(i),
            _ => None,
        }
    }

    /// The operation of one operand that an instruction is.
    pub(super) fn unary_of(&self, i: ir::Inst) -> Option<(Opcode, Value)> {
        match *self.data(i) {
            InstructionData::Unary { opcode, arg }
            | InstructionData::LoadNoOffset { opcode: opcode @ Opcode::Bitcast, arg, .. } => {
                Some((opcode, arg))
            }
            _ => None,
        }
    }

    /// The value whose register holds `v`: what was only renamed, or cut to its low bits, is no value of its own.
    pub(super) fn root(&self, v: Value) -> Value {
        let mut v = self.f.dfg.resolve_aliases(v);
        while let Some(i) = self.def(v) {
            let Some((opcode, arg)) = self.unary_of(i) else { break };
            let arg = self.f.dfg.resolve_aliases(arg);
            let (from, to) = (self.ty(arg), self.ty(v));
            let same = match opcode {
                Opcode::Bitcast => class(from) == class(to) && from.is_vector() == to.is_vector(),
                Opcode::Ireduce => to != I16 && from != I16,
                // Instructions of 32 bits clear the upper ones.
                Opcode::Uextend => from.bits() == 32 && to == I64 && self.clears(arg),
                _ => false,
            };
            if !same {
                break;
            }
            v = arg;
        }
        v
    }

    /// Whether the register of `v` has zeros above its 32 bits.
    fn clears(&self, v: Value) -> bool {
        use Opcode::*;
        let v = self.root(v);
        self.ty(v).bits() == 32
            && self.def(v).is_some_and(|i| {
                let op = self.data(i).opcode();
                let computed = matches!(
                    op,
                    Iadd | Isub
                        | Imul
                        | Band
                        | Bor
                        | Bxor
                        | Bnot
                        | Ishl
                        | Ushr
                        | Sshr
                        | Rotl
                        | Rotr
                        | Umin
                        | Umax
                        | Smin
                        | Smax
                        | Popcnt
                        | Clz
                        | Select
                        | Extractlane
                        | Iconst
                        | Ineg
                );
                computed || matches!(op, Load | Uload8 | Uload16)
            })
    }

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

    /// The word that a call stands for, and its number.
    pub(super) fn word(&self, i: ir::Inst) -> Option<(Word, u32)> {
        let InstructionData::Call { func_ref, .. } = *self.data(i) else { return None };
        let ExternalName::User(name) = self.f.dfg.ext_funcs[func_ref].name else { return None };
        let name = &self.f.params.user_named_funcs()[name];
        Some((*Word::ALL.get(name.namespace as usize)?, name.index))
    }

    /// Whether an instruction does something besides its result.
    fn acts(&self, i: ir::Inst) -> bool {
        let op = self.data(i).opcode();
        match op {
            Opcode::Call => self.word(i).is_none_or(|(w, _)| w.stores()),
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

    /// Counts what reads each value, of what is needed for an effect.
    fn count(&mut self, order: &[ir::Block]) {
        let f = self.f;
        let mut ways: HashMap<ir::Block, Vec<Vec<Value>>> = HashMap::new();
        let mut work: Vec<Value> = Vec::new();
        for &b in order {
            let mut epoch = 0;
            for i in f.layout.block_insts(b) {
                self.epochs[i.as_u32() as usize] = epoch;
                if self.acts(i) {
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
                    if self.acts(i) || std::mem::replace(&mut done[i.as_u32() as usize], true) {
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

    pub(super) fn used_once(&self, v: Value) -> bool {
        self.uses[v.as_u32() as usize] == 1
    }

    /// Whether `v` is computed in the block that is being lowered, and so far needs no register.
    pub(super) fn local(&self, v: Value) -> bool {
        self.def(v).is_some_and(|i| self.f.layout.inst_block(i) == Some(self.here))
    }

    /// The register of a value, which will be computed.
    pub(super) fn reg(&mut self, v: Value) -> VReg {
        let v = self.root(v);
        if self.is_context(v) {
            let r = self.temp(RegClass::Int);
            self.push(What::Context, &[Operand::reg_def(r)]);
            return r;
        }
        self.own(v)
    }

    /// Whether a value is the function's argument, which has a register of its own.
    fn is_context(&self, v: Value) -> bool {
        self.f.dfg.block_params(self.entry).first() == Some(&v)
    }

    fn own(&mut self, v: Value) -> VReg {
        let n = v.as_u32() as usize;
        if let Some(r) = self.regs[n] {
            return r;
        }
        let r = self.out.vreg(class(self.f.dfg.value_type(v)));
        self.regs[n] = Some(r);
        r
    }

    /// A register for between.
    pub(super) fn temp(&mut self, class: RegClass) -> VReg {
        self.out.vreg(class)
    }
    pub(super) fn vector(&mut self) -> VReg {
        self.out.vreg(RegClass::Float)
    }

    pub(super) fn emit(&mut self, code: Code, parts: &[Part]) {
        let inst = self.out.plain(code, parts, self.place);
        self.seq.push(inst);
    }

    /// The same with the `lock` prefix.
    pub(super) fn locked(&mut self, code: Code, parts: &[Part]) {
        self.emit(code, parts);
        if let Some(Inst { what: What::Plain(p), .. }) = self.seq.last_mut() {
            p.lock = true;
        }
    }

    pub(super) fn push(&mut self, what: What, operands: &[Operand]) {
        let operands = self.out.operands(operands);
        self.seq.push(Inst { what, operands, place: self.place });
    }

    /// A constant in memory.
    pub(super) fn constant(&mut self, bytes: Vec<u8>) -> Address {
        let n = self.pool.len() as u32;
        let n = match self.pooled.get(&bytes) {
            Some(n) => *n,
            None => {
                self.pool.push(bytes.clone());
                self.pooled.insert(bytes, n);
                n
            }
        };
        Address { constant: Some(n), ..Address::default() }
    }

    /// The number that a value is.
    pub(super) fn number(&self, v: Value) -> Option<i64> {
        let root = self.root(v);
        let InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } = *self.data(self.def(root)?)
        else {
            return None;
        };
        let (from, to) = (self.ty(root).bits(), self.ty(v).bits());
        let c = imm.bits();
        if from < to {
            // Extended by zeros: what keeps its sign has a register of its own.
            return Some(c & ((1 << from) - 1));
        }
        Some(match to {
            8 => i64::from(c as i8),
            16 => i64::from(c as i16),
            32 => i64::from(c as i32),
            _ => c,
        })
    }

    /// The same if instructions can contain it.
    pub(super) fn small(&self, v: Value) -> Option<i64> {
        self.number(v).filter(|c| i32::try_from(*c).is_ok())
    }

    /// The bytes of a vector that does not change.
    pub(super) fn bytes(&self, v: Value) -> Option<Vec<u8>> {
        let v = self.root(v);
        match *self.data(self.def(v)?) {
            InstructionData::UnaryConst { constant_handle, .. } => {
                let c = self.f.dfg.constants.get(constant_handle);
                (c.len() == 64).then(|| c.as_slice().to_vec())
            }
            InstructionData::Unary { opcode: Opcode::Splat, arg } => {
                let c = self.number(arg)?;
                let bytes = self.ty(arg).bytes() as usize;
                Some(c.to_le_bytes()[..bytes].repeat(64 / bytes))
            }
            _ => None,
        }
    }

    /// Where a load that is only read here reads its `bytes`, so that the reader can do it.
    pub(super) fn folded(&mut self, v: Value, bytes: u32) -> Option<Address> {
        let v = self.root(v);
        let i = self.def(v)?;
        let InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } = *self.data(i) else {
            return None;
        };
        let size = self.ty(v).bytes();
        let fits = size == bytes || (size > bytes && !self.ty(v).is_vector());
        let here = self.local(v)
            && self.epochs[i.as_u32() as usize] == self.now
            && self.regs[v.as_u32() as usize].is_none();
        (fits && here && self.used_once(v)).then(|| self.address(arg, offset.into()))
    }

    /// An address as instructions name it.
    pub(super) fn address(&mut self, base: Value, offset: i32) -> Address {
        let mut v = self.root(base);
        let mut disp = i64::from(offset);
        while let Some(i) = self.def(v) {
            let InstructionData::Binary { opcode: Opcode::Iadd, args: [x, y] } = *self.data(i)
            else {
                break;
            };
            match self.number(y) {
                Some(c) if i32::try_from(disp + c).is_ok() => {
                    disp += c;
                    v = self.root(x);
                }
                _ => {
                    if !self.local(v) || self.regs[v.as_u32() as usize].is_some() {
                        break;
                    }
                    let (x, y) = (self.root(x), self.root(y));
                    if let Some((y, scale)) = self.scaled(y) {
                        return self.sum(x, y, scale, disp);
                    }
                    if let Some((x, scale)) = self.scaled(x) {
                        return self.sum(y, x, scale, disp);
                    }
                    return self.sum(x, y, 1, disp);
                }
            }
        }
        if self.is_context(v) {
            return Address { context: true, disp: disp as i32, ..Address::default() };
        }
        let base = Some(self.own(v));
        Address { base, disp: disp as i32, ..Address::default() }
    }

    fn sum(&mut self, x: Value, y: Value, scale: u32, disp: i64) -> Address {
        let base = Some(self.reg(x));
        let index = Some((self.reg(y), scale));
        Address { base, index, disp: disp as i32, ..Address::default() }
    }

    /// What a value is 2, 4 or 8 times of.
    fn scaled(&self, v: Value) -> Option<(Value, u32)> {
        let i = self.def(v).filter(|_| self.local(v))?;
        let InstructionData::Binary { opcode: Opcode::Ishl, args: [x, n] } = *self.data(i) else {
            return None;
        };
        let n = self.number(n)?;
        (self.ty(v) == I64 && (1..=3).contains(&n)).then(|| (x, 1 << n))
    }

    /// A general operand: from memory if it can be.
    pub(super) fn operand(&mut self, v: Value, view: View) -> Part {
        let bytes = if view == View::D { 8 } else { 4 };
        match self.folded(v, bytes) {
            Some(a) if self.ty(self.root(v)).is_int() => Part::Mem(a),
            _ => Part::Use(self.reg(v), view),
        }
    }

    /// A number in lane 0: from memory if it can be.
    pub(super) fn float(&mut self, v: Value) -> Part {
        match self.folded(v, self.ty(v).bytes()) {
            Some(a) => Part::Mem(a),
            None => Part::Use(self.reg(v), View::X),
        }
    }

    /// A vector operand of an instruction whose elements have `bytes` bytes.
    pub(super) fn lanes(&mut self, v: Value, bytes: u32) -> Part {
        if let Some(a) = self.folded(v, 64) {
            return Part::Mem(a);
        }
        let root = self.root(v);
        if self.regs[root.as_u32() as usize].is_none() {
            if let Some(c) = self.bytes(v) {
                let element = &c[..bytes as usize];
                return if c.chunks(bytes as usize).all(|x| x == element) {
                    Part::Each(self.constant(element.to_vec()))
                } else {
                    Part::Mem(self.constant(c))
                };
            }
            if let Some(i) = self.def(root)
                && let InstructionData::Unary { opcode: Opcode::Splat, arg } = *self.data(i)
                && self.ty(root).lane_type().bytes() == bytes
                && self.used_once(root)
                && self.local(root)
                && let Some(a) = self.element(arg, bytes)
            {
                return Part::Each(a);
            }
        }
        Part::Use(self.reg(v), View::Z)
    }

    /// Where a scalar that only a splat reads comes from.
    pub(super) fn element(&mut self, v: Value, bytes: u32) -> Option<Address> {
        let v = self.cast(v);
        self.folded(v, bytes)
    }

    /// What a scalar was cast from.
    pub(super) fn cast(&self, v: Value) -> Value {
        let v = self.root(v);
        match self.def(v).and_then(|i| self.unary_of(i)) {
            Some((Opcode::Bitcast, arg)) if self.used_once(v) => self.root(arg),
            _ => v,
        }
    }

    /// `x` and `y` of `x & !y`, where nothing else reads the complement.
    pub(super) fn and_not(&self, x: Value, y: Value) -> Option<(Value, Value)> {
        let complement = |v: Value| {
            let v = self.root(v);
            let fold =
                self.used_once(v) && self.local(v) && self.regs[v.as_u32() as usize].is_none();
            match *self.data(self.def(v).filter(|_| fold)?) {
                InstructionData::Unary { opcode: Opcode::Bnot, arg } => Some(arg),
                _ => None,
            }
        };
        complement(y).map(|y| (x, y)).or_else(|| complement(x).map(|x| (y, x)))
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
        // Blocks in between, on ways from a fork that pass values or lead to a meeting.
        enum Slot {
            Block(ir::Block),
            Edge(ir::Block, usize),
        }
        let (mut warm, mut cold) = (Vec::new(), Vec::new());
        for &b in &layout {
            let calls = self.calls(b);
            let here = if f.layout.is_cold(b) { &mut cold } else { &mut warm };
            here.push(Slot::Block(b));
            let fork = calls.len() > 1;
            for (n, c) in calls.iter().enumerate() {
                let to = c.block(&f.dfg.value_lists);
                let meets = preds.get(&to).copied().unwrap_or(0) > 1;
                if fork && (meets || c.len(&f.dfg.value_lists) > 0) {
                    let far = f.layout.is_cold(b) || f.layout.is_cold(to);
                    if far { &mut cold } else { &mut warm }.push(Slot::Edge(b, n));
                }
            }
        }
        warm.append(&mut cold);
        let mut index = HashMap::new();
        let mut edges = HashMap::new();
        for (n, s) in warm.iter().enumerate() {
            match s {
                Slot::Block(b) => {
                    index.insert(*b, n);
                }
                Slot::Edge(b, way) => {
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
        let mut pieces: Vec<Piece> = warm.iter().map(|_| Piece::default()).collect();
        for (n, s) in warm.iter().enumerate() {
            let start = self.out.insts.len() as u32;
            match s {
                Slot::Block(b) => {
                    self.out.insts.append(&mut bodies.remove(b).unwrap_or_default());
                    if Some(*b) != f.layout.entry_block() {
                        for p in f.dfg.block_params(*b) {
                            if self.uses[p.as_u32() as usize] > 0 {
                                let r = self.own(*p);
                                pieces[n].params.push(r);
                            }
                        }
                    }
                    for (way, to) in self.successors(*b).into_iter().enumerate() {
                        let to = edges.get(&(*b, way)).copied().unwrap_or(index[&to]);
                        pieces[n].succs.push(Block::new(to));
                        pieces[to].preds.push(Block::new(n));
                    }
                    if let [only] = self.calls(*b).to_vec()[..] {
                        pieces[n].passed = self.given(&only);
                    }
                    if matches!(
                        self.f.layout.last_inst(*b).map(|i| self.data(i)),
                        Some(InstructionData::BranchTable { .. })
                    ) {
                        // The default comes first in Cranelift's form, last in ours.
                        pieces[n].succs.rotate_left(1);
                    }
                }
                Slot::Edge(b, way) => {
                    let call = self.calls(*b)[*way];
                    let to = index[&call.block(&f.dfg.value_lists)];
                    self.place = u32::MAX;
                    let jump = Inst { what: What::Jump, operands: (0, 0), place: u32::MAX };
                    self.out.insts.push(jump);
                    pieces[n].succs.push(Block::new(to));
                    pieces[to].preds.push(Block::new(n));
                    pieces[n].passed = self.given(&call);
                }
            }
            pieces[n].insts = (start, self.out.insts.len() as u32);
        }
        self.out.blocks = pieces;
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
            if wanted || self.acts(i) {
                self.inst(i)?;
                if let Some(r) = results.first() {
                    self.cut_quarters(*r);
                }
                while let Some(x) = self.seq.pop() {
                    self.back.push(x);
                }
            }
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

    /// Whether a number is on `v`'s condition: its code, behind the instruction that finds it out.
    pub(super) fn flags(&mut self, v: Value) -> Result<u8, Refused> {
        let root = self.root(v);
        let fold =
            self.used_once(root) && self.local(root) && self.regs[root.as_u32() as usize].is_none();
        if let Some(i) = self.def(root).filter(|_| fold) {
            match *self.data(i) {
                InstructionData::IntCompare { args: [x, y], cond, .. }
                    if !self.ty(x).is_vector() =>
                {
                    return self.compare(cond, x, y);
                }
                InstructionData::FloatCompare { args: [x, y], cond, .. }
                    if !self.ty(x).is_vector() =>
                {
                    let k = self.temp(RegClass::Vector);
                    self.compare_floats(k, cond, x, y)?;
                    self.emit(
                        Code::VEX_Kortestw_kr_kr,
                        &[Part::Use(k, View::K), Part::Use(k, View::K)],
                    );
                    return Ok(cc::NE);
                }
                _ => {}
            }
        }
        let (code, view) = match self.ty(v) {
            I8 => (Code::Test_rm8_r8, View::B),
            I32 => (Code::Test_rm32_r32, View::W),
            I64 => (Code::Test_rm64_r64, View::D),
            ty => return Err(format!("a branch on {ty}")),
        };
        let r = Part::Use(self.reg(root), view);
        self.emit(code, &[r, r]);
        Ok(cc::NE)
    }

    /// Compares scalars; the condition's code.
    pub(super) fn compare(&mut self, cond: IntCC, x: Value, y: Value) -> Result<u8, Refused> {
        let ty = self.ty(x);
        if ty == I16 {
            return self.compare_masks(cond, x, y);
        }
        let (x, y, cond) = match (self.number(x), self.number(y)) {
            (Some(_), None) => (y, x, cond.swap_args()),
            _ => (x, y, cond),
        };
        if ty == I8 {
            let x = Part::Use(self.reg(x), View::B);
            match self.number(y) {
                Some(c) => self.emit(Code::Cmp_rm8_imm8, &[x, Part::Imm(c)]),
                None => {
                    let y = Part::Use(self.reg(y), View::B);
                    self.emit(Code::Cmp_rm8_r8, &[x, y]);
                }
            }
            return Ok(condition(cond));
        }
        let w = view(ty);
        let wide = w == View::D;
        match self.small(y) {
            Some(0) if matches!(cond, IntCC::Equal | IntCC::NotEqual) => {
                if let Part::Mem(a) = self.operand(x, w) {
                    let code = if wide { Code::Cmp_rm64_imm8 } else { Code::Cmp_rm32_imm8 };
                    self.emit(code, &[Part::Mem(a), Part::Imm(0)]);
                } else {
                    let x = Part::Use(self.reg(x), w);
                    let code = if wide { Code::Test_rm64_r64 } else { Code::Test_rm32_r32 };
                    self.emit(code, &[x, x]);
                }
            }
            Some(c) => {
                let x = self.operand(x, w);
                let byte = i8::try_from(c).is_ok();
                let code = match (wide, byte) {
                    (true, true) => Code::Cmp_rm64_imm8,
                    (true, false) => Code::Cmp_rm64_imm32,
                    (false, true) => Code::Cmp_rm32_imm8,
                    (false, false) => Code::Cmp_rm32_imm32,
                };
                self.emit(code, &[x, Part::Imm(c)]);
            }
            None => {
                let y = self.operand(y, w);
                if let Part::Mem(_) = y {
                    let x = Part::Use(self.reg(x), w);
                    let code = if wide { Code::Cmp_r64_rm64 } else { Code::Cmp_r32_rm32 };
                    self.emit(code, &[x, y]);
                } else {
                    let x = self.operand(x, w);
                    let code = if wide { Code::Cmp_rm64_r64 } else { Code::Cmp_rm32_r32 };
                    self.emit(code, &[x, y]);
                }
            }
        }
        Ok(condition(cond))
    }

    /// Whether a mask has a lane on, or all sixteen.
    fn compare_masks(&mut self, cond: IntCC, x: Value, y: Value) -> Result<u8, Refused> {
        let all = match self.number(y) {
            Some(0) => false,
            Some(-1 | 0xffff) => true,
            _ => return Err("a comparison of masks".into()),
        };
        let root = self.root(x);
        let or = self.def(root).map(|i| self.data(i));
        let pair = match or {
            Some(InstructionData::Binary { opcode: Opcode::Bor, args: [a, b] })
                if !all && self.used_once(root) && self.local(root) =>
            {
                [*a, *b]
            }
            _ => [root, root],
        };
        let [a, b] = pair.map(|v| Part::Use(self.reg(v), View::K));
        self.emit(Code::VEX_Kortestw_kr_kr, &[a, b]);
        match (cond, all) {
            (IntCC::Equal, false) => Ok(cc::E),
            (IntCC::NotEqual, false) => Ok(cc::NE),
            // The carry says that every lane is on.
            (IntCC::Equal, true) => Ok(cc::B),
            (IntCC::NotEqual, true) => Ok(cc::AE),
            _ => Err("an order of masks".into()),
        }
    }

    /// Compares numbers in lane 0 into a mask.
    pub(super) fn compare_floats(
        &mut self,
        k: VReg,
        cond: FloatCC,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let number = super::words::float_condition(cond).ok_or("a comparison of numbers")?;
        let double = self.ty(x) == F64;
        let a = Part::Use(self.reg(x), View::X);
        let b = self.float(y);
        let code = if double {
            Code::EVEX_Vcmpsd_kr_k1_xmm_xmmm64_imm8_sae
        } else {
            Code::EVEX_Vcmpss_kr_k1_xmm_xmmm32_imm8_sae
        };
        self.emit(code, &[Part::Def(k, View::K), a, b, Part::Imm(i64::from(number))]);
        Ok(())
    }
}
