//! Bitwise operations of three vectors at most as one instruction, which takes the table of the function; rotations.

use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use regalloc2::VReg;

use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::select::Selector;

/// What the instruction's three operands are in its table.
const COLUMNS: [u8; 3] = [0xf0, 0xcc, 0xaa];

/// A function of three values at most.
struct Bitwise {
    /// What it reads: one to three values.
    leaves: Vec<Value>,
    /// Values between that become part of it.
    inner: Vec<Value>,
}

impl Selector<'_> {
    /// What `v` is rotated from, and by how many bits to the left, if it is made of two shifts.
    fn rotation(&self, v: Value) -> Option<(Value, i64)> {
        let InstructionData::Binary {
            opcode: Opcode::Bor | Opcode::Bxor | Opcode::Iadd,
            args: [x, y],
        } = *self.data(self.def(v)?)
        else {
            return None;
        };
        let bits = i64::from(self.ty(v).lane_bits());
        let shifted = |v: Value, way: Opcode| {
            // In lanes of another width it would be another rotation.
            let v = self.f.dfg.resolve_aliases(v);
            match *self.data(self.def(v)?) {
                InstructionData::Binary { opcode, args: [x, n] } if opcode == way => {
                    Some((self.root(x), self.number(n)? & (bits - 1)))
                }
                _ => None,
            }
        };
        let both = |x: Value, y: Value| {
            let (from, left) = shifted(x, Opcode::Ishl)?;
            (shifted(y, Opcode::Ushr)? == (from, bits - left) && left > 0).then_some((from, left))
        };
        both(x, y).or_else(|| both(y, x))
    }

    /// Makes `r` in `d` by a rotation, if it is one; whether it did.
    pub(super) fn one_rotation(&mut self, r: Value, d: VReg) -> bool {
        let element = Element::of(self.ty(r));
        if !self.has(V::RotateBy, element) {
            return false;
        }
        let Some((x, n)) = self.rotation(r) else { return false };
        let x = self.lanes(x, element.bytes());
        let code = self.code(V::RotateBy, element);
        self.emit(code, &[Operand::Def(d, self.target.whole), x, Operand::Imm(n)]);
        true
    }

    /// The operation that `v` is, with its operands: one or two. Rotations are none.
    fn bitwise(&self, v: Value) -> Option<(Opcode, Value, Option<Value>)> {
        if self.rotation(v).is_some() {
            return None;
        }
        match *self.data(self.def(v)?) {
            InstructionData::Binary {
                opcode: opcode @ (Opcode::Band | Opcode::Bor | Opcode::Bxor),
                args: [x, y],
            } => Some((opcode, self.root(x), Some(self.root(y)))),
            InstructionData::Unary { opcode: Opcode::Bnot, arg } => {
                Some((Opcode::Bnot, self.root(arg), None))
            }
            _ => None,
        }
    }

    /// Whether an operation between is in no register yet, so that another one may do its work.
    fn between(&self, v: Value) -> bool {
        self.local(v)
            && self.regs[v.as_u32() as usize].is_none()
            && self.ty(v).bytes() == self.target.bytes
    }

    /// Whether these values can be the operands of one instruction, of which only one can lie in memory.
    fn operands(&self, leaves: &[Value]) -> bool {
        let constants = leaves.iter().filter(|v| self.in_memory(**v)).count();
        leaves.len() <= COLUMNS.len() && constants <= 1
    }

    /// The function that `r` is of what is no bitwise operation, if these are three values at most. Others may read what
    /// is between, too: if they take it apart as well, as rounds that share a term of their majorities do, nobody makes
    /// it.
    fn whole_function(&self, r: Value) -> Option<Bitwise> {
        /// Most operations that one instruction stands for.
        const MOST: usize = 12;
        let mut all = Bitwise { leaves: Vec::new(), inner: Vec::new() };
        let mut open = vec![r];
        while let Some(v) = open.pop() {
            if all.leaves.contains(&v) || all.inner.contains(&v) {
                continue;
            }
            match self.bitwise(v).filter(|_| v == r || self.between(v)) {
                Some((_, x, y)) if all.inner.len() < MOST => {
                    all.inner.push(v);
                    open.extend([x].into_iter().chain(y));
                }
                _ => all.leaves.push(v),
            }
            if all.leaves.len() > COLUMNS.len() {
                return None;
            }
        }
        // What others make all the same is no work that is saved.
        let own = all.inner.iter().filter(|v| **v == r || self.used_once(**v)).count();
        (own >= 2 && self.operands(&all.leaves)).then_some(all)
    }

    /// The function that `r` is of values that others need as well, or that are no bitwise operations.
    fn function(&self, r: Value) -> Option<Bitwise> {
        let whole = self.whole_function(r);
        if whole.is_some() {
            return whole;
        }
        let mut all = Bitwise { leaves: vec![r], inner: Vec::new() };
        let within = |v: Value| self.used_once(v) && self.between(v);
        // Leaves with one of them taken apart.
        let apart = |leaves: &[Value], n: usize| {
            let v = leaves[n];
            if v != r && !within(v) {
                return None;
            }
            let (_, x, y) = self.bitwise(v)?;
            let mut leaves = leaves.to_vec();
            leaves.remove(n);
            for v in [x].into_iter().chain(y) {
                if !leaves.contains(&v) {
                    leaves.push(v);
                }
            }
            Some((v, leaves))
        };
        let fits = |leaves: &[Value]| self.operands(leaves);
        let one = |leaves: &[Value]| {
            let mut ways = (0..leaves.len()).filter_map(|n| apart(leaves, n));
            ways.find(|(_, leaves)| fits(leaves))
        };
        loop {
            if let Some((v, leaves)) = one(&all.leaves) {
                all.inner.push(v);
                all.leaves = leaves;
                continue;
            }
            // One leaf too many, which the next step takes apart into some that are there: the majority of three.
            let two = (0..all.leaves.len()).find_map(|n| {
                let (first, leaves) = apart(&all.leaves, n)?;
                let (second, leaves) = one(&leaves).filter(|_| leaves.len() == 4)?;
                Some(([first, second], leaves))
            });
            let Some((inner, leaves)) = two else { break };
            all.inner.extend(inner);
            all.leaves = leaves;
        }
        (!all.inner.is_empty()).then_some(all)
    }

    /// The table of `v`, where `leaves` are the operands.
    fn table(&self, v: Value, leaves: &[Value]) -> u8 {
        if let Some(n) = leaves.iter().position(|leaf| *leaf == v) {
            return COLUMNS[n];
        }
        match self.bitwise(v) {
            Some((Opcode::Band, x, Some(y))) => self.table(x, leaves) & self.table(y, leaves),
            Some((Opcode::Bor, x, Some(y))) => self.table(x, leaves) | self.table(y, leaves),
            Some((Opcode::Bxor, x, Some(y))) => self.table(x, leaves) ^ self.table(y, leaves),
            Some((_, x, _)) => !self.table(x, leaves),
            None => 0,
        }
    }

    /// Makes `r` in `d` by one instruction if that does the work of several; whether it did.
    pub(super) fn one_of_several(&mut self, r: Value, d: VReg) -> bool {
        let element = Element::of(self.ty(r));
        if !self.has(V::Ternary, element) {
            return false;
        }
        let Some(Bitwise { mut leaves, inner }) = self.function(r) else { return false };
        let complement = matches!(self.bitwise(r), Some((Opcode::Band, x, Some(y)))
            if leaves.len() == 2 && inner.len() == 2 && self.and_not(x, y).is_some());
        if inner.len() < 2 || complement {
            return false;
        }
        // The first operand is overwritten: best what nothing reads later. The last one may lie in memory.
        let unread = |v: &Value| self.local(*v) && self.regs[v.as_u32() as usize].is_none();
        leaves.sort_by_key(|v| if self.in_memory(*v) { 2 } else { u8::from(!unread(v)) });
        // With fewer values the first one comes several times.
        while leaves.len() < COLUMNS.len() {
            leaves.insert(0, leaves[0]);
        }
        let table = self.table(r, &leaves);
        let z = self.lanes(leaves[2], element.bytes());
        let (x, y) = (self.reg(leaves[0]), self.z(leaves[1]));
        let code = self.code(V::Ternary, element);
        let to = Operand::Both(d, x, self.target.whole);
        self.emit(code, &[to, y, z, Operand::Imm(table.into())]);
        true
    }

    /// Whether a value is a constant that is in no register.
    fn in_memory(&self, v: Value) -> bool {
        self.regs[v.as_u32() as usize].is_none() && self.bytes(v).is_some()
    }
}
