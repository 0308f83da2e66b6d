//! From Cranelift's form to instructions: block by block from the last one on and from the end of each, so that what
//! only one instruction reads can become part of it. Here is what a value is and where instructions can take it from.

use std::collections::HashMap;

use cranelift_codegen::ir::types::{F32, F64, I16, I64};
use cranelift_codegen::ir::{self, Function, InstructionData, Opcode, Type, Value, ValueDef};
use iced_x86::Code;
use regalloc2::{Operand as RegOperand, RegClass, VReg};

use super::encodings::{self, Element, Operation as V};
use super::inst::{Address, Inst, Listing, Operand, What};
use super::registers::RegView;
use super::target::Target;
use super::words::{self, Word};

pub(super) type Refused = String;

/// How instructions name a general register of a type: bytes are computed in 32 bits.
pub(super) fn view(ty: Type) -> RegView {
    if ty == I64 { RegView::D } else { RegView::W }
}

/// The registers that hold values of a type.
pub(super) fn class(ty: Type) -> RegClass {
    match ty {
        I16 => RegClass::Vector,
        ty if ty.is_vector() || ty == F32 || ty == F64 => RegClass::Float,
        _ => RegClass::Int,
    }
}

/// Says what there is no instruction for.
pub(super) fn no(what: &str, ty: Type) -> Refused {
    format!("{what} of {ty}")
}

pub(super) struct Selector<'a> {
    pub f: &'a Function,
    pub target: &'static Target,
    pub out: Listing,
    /// How many instructions that are needed read a value.
    pub(super) uses: Vec<u32>,
    /// Registers of values, and whether something asks for them.
    pub(super) regs: Vec<Option<VReg>>,
    /// Stores and calls before an instruction of its block.
    pub(super) epochs: Vec<u32>,
    entry: ir::Block,
    /// The block and the epoch of what is being lowered.
    pub(super) here: ir::Block,
    pub(super) now: u32,
    pub(super) place: u32,
    /// Instructions of the one that is being lowered, forwards, and of its block, backwards.
    pub(super) seq: Vec<Inst>,
    pub(super) back: Vec<Inst>,
    /// Constants in memory.
    pub pool: Vec<Vec<u8>>,
    pooled: HashMap<Vec<u8>, u32>,
    /// Quarters of vectors whose lanes are read one by one.
    pub(super) quarters: HashMap<(Value, u8), VReg>,
}

impl Selector<'_> {
    pub(super) fn new<'a>(
        f: &'a Function,
        entry: ir::Block,
        target: &'static Target,
    ) -> Selector<'a> {
        Selector {
            f,
            target,
            out: Listing::new(target),
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
        }
    }

    /// The instruction of an operation on vectors.
    pub(super) fn code(&self, operation: V, element: Element) -> Code {
        encodings::code(operation, element, self.target.vectors)
    }
    /// Whether these vectors have an instruction for an operation.
    pub(super) fn has(&self, operation: V, element: Element) -> bool {
        self.code(operation, element) != Code::INVALID
    }
    /// The instruction of an operation on a number in lane 0.
    pub(super) fn lane_code(&self, operation: V, element: Element) -> Code {
        encodings::code(operation, element, self.target.lane)
    }

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

    /// The word that a call stands for, and its number.
    pub(super) fn word(&self, i: ir::Inst) -> Option<(Word, u32)> {
        words::word(self.f, i)
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
            self.push(What::Context, &[RegOperand::reg_def(r)]);
            return r;
        }
        self.own(v)
    }

    /// Whether a value is the function's argument, which has a register of its own.
    fn is_context(&self, v: Value) -> bool {
        self.f.dfg.block_params(self.entry).first() == Some(&v)
    }

    pub(super) fn own(&mut self, v: Value) -> VReg {
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

    pub(super) fn emit(&mut self, code: Code, parts: &[Operand]) {
        let inst = self.out.plain(code, parts, self.place);
        self.seq.push(inst);
    }

    /// The same with the `lock` prefix.
    pub(super) fn locked(&mut self, code: Code, parts: &[Operand]) {
        self.emit(code, parts);
        if let Some(Inst { what: What::Plain(p), .. }) = self.seq.last_mut() {
            p.lock = true;
        }
    }

    pub(super) fn push(&mut self, what: What, operands: &[RegOperand]) {
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
                (c.len() == self.target.bytes as usize).then(|| c.as_slice().to_vec())
            }
            InstructionData::Unary { opcode: Opcode::Splat, arg } => {
                let c = self.number(arg)?;
                let bytes = self.ty(arg).bytes() as usize;
                Some(c.to_le_bytes()[..bytes].repeat(self.target.bytes as usize / bytes))
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
    pub(super) fn operand(&mut self, v: Value, view: RegView) -> Operand {
        let bytes = if view == RegView::D { 8 } else { 4 };
        match self.folded(v, bytes) {
            Some(a) if self.ty(self.root(v)).is_int() => Operand::Mem(a),
            _ => Operand::Use(self.reg(v), view),
        }
    }

    /// A number in lane 0: from memory if it can be.
    pub(super) fn float(&mut self, v: Value) -> Operand {
        match self.folded(v, self.ty(v).bytes()) {
            Some(a) => Operand::Mem(a),
            None => Operand::Use(self.reg(v), RegView::X),
        }
    }

    /// A vector operand of an instruction whose elements have `bytes` bytes.
    pub(super) fn lanes(&mut self, v: Value, bytes: u32) -> Operand {
        if let Some(a) = self.folded(v, self.target.bytes) {
            return Operand::Mem(a);
        }
        let root = self.root(v);
        if self.regs[root.as_u32() as usize].is_none() {
            if let Some(c) = self.bytes(v) {
                let element = &c[..bytes as usize];
                let same = c.chunks(bytes as usize).all(|x| x == element);
                return if same && self.target.each {
                    Operand::Each(self.constant(element.to_vec()))
                } else {
                    Operand::Mem(self.constant(c))
                };
            }
            if self.target.each
                && let Some(i) = self.def(root)
                && let InstructionData::Unary { opcode: Opcode::Splat, arg } = *self.data(i)
                && self.ty(root).lane_type().bytes() == bytes
                && self.used_once(root)
                && self.local(root)
                && let Some(a) = self.element(arg, bytes)
            {
                return Operand::Each(a);
            }
        }
        Operand::Use(self.reg(v), self.target.whole)
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
}
