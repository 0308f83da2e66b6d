//! Operations on whole vectors.

use cranelift_codegen::ir::types::{F32, F64, I32};
use cranelift_codegen::ir::{InstructionData, Opcode, Type, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::registers::RegView;
use super::select::{Refused, Selector};

/// What an operation of two vectors is.
fn binary(op: Opcode) -> Option<V> {
    Some(match op {
        Opcode::Iadd => V::Add,
        Opcode::Isub => V::Sub,
        Opcode::Imul => V::Mul,
        Opcode::Band => V::And,
        Opcode::Bor => V::Or,
        Opcode::Bxor => V::Xor,
        Opcode::Umin => V::MinU,
        Opcode::Umax => V::MaxU,
        Opcode::Smin => V::MinS,
        Opcode::Smax => V::MaxS,
        Opcode::Fadd => V::AddF,
        Opcode::Fsub => V::SubF,
        Opcode::Fmul => V::MulF,
        Opcode::Fdiv => V::DivF,
        _ => return None,
    })
}

fn commutes(op: Opcode) -> bool {
    // Sums and products of NaNs depend on the order of their operands.
    use Opcode::*;
    matches!(op, Iadd | Imul | Band | Bor | Bxor | Umin | Umax | Smin | Smax)
}

impl Selector<'_> {
    pub(super) fn z(&mut self, v: Value) -> Operand {
        Operand::Use(self.reg(v), self.target.whole)
    }

    pub(super) fn vector_inst(
        &mut self,
        op: Opcode,
        data: &InstructionData,
        r: Value,
    ) -> Result<(), Refused> {
        let ty = self.ty(r);
        let bytes = ty.lane_bits() / 8;
        if ty.bytes() != self.target.bytes {
            return Err(format!("{op} of {ty}"));
        }
        let d = self.reg(r);
        if self.one_rotation(r, d) || self.one_of_several(r, d) {
            return Ok(());
        }
        let to = Operand::Def(d, self.target.whole);
        match *data {
            InstructionData::UnaryConst { .. } => self.load_constant(r, d)?,
            InstructionData::Binary { args: [x, n], .. }
                if matches!(op, Opcode::Ishl | Opcode::Ushr | Opcode::Sshr) =>
            {
                self.shift(op, ty, d, x, n)?;
            }
            InstructionData::Binary { opcode: Opcode::Band, args: [x, y] }
                if self.and_not(x, y).is_some() =>
            {
                let (x, y) = self.and_not(x, y).unwrap_or((x, y));
                // The instruction turns its first operand over.
                let x = self.lanes(x, bytes);
                let y = self.z(y);
                let code = self.code(V::AndNot, Element::of(ty));
                self.emit(code, &[to, y, x]);
            }
            InstructionData::Binary { args: [x, y], .. } => {
                let codes = binary(op).ok_or_else(|| format!("{op} of {ty}"))?;
                if !self.has(codes, Element::of(ty)) {
                    return self.binary_sequence(op, Element::of(ty), d, x, y);
                }
                let mut second = self.lanes(y, bytes);
                let mut x = x;
                if commutes(op) && matches!(second, Operand::Use(..)) {
                    let first = self.lanes(x, bytes);
                    // What was computed longer ago lies in memory sooner, from where the instruction can read it.
                    let older = self.root(x).as_u32() < self.root(y).as_u32();
                    if older || !matches!(first, Operand::Use(..)) {
                        (x, second) = (y, first);
                    }
                }
                let x = self.z(x);
                self.emit(self.code(codes, Element::of(ty)), &[to, x, second]);
            }
            InstructionData::Ternary { opcode: Opcode::Fma, args: [x, y, z] } => {
                let [(x, a), (y, b), (z, less)] = [x, y, z].map(|v| self.unsigned(v));
                let operation = match (a != b, less) {
                    (false, false) => V::Fma,
                    (false, true) => V::FmaLess,
                    (true, false) => V::FmaTurned,
                    (true, true) => V::FmaTurnedLess,
                };
                let code = self.code(operation, Element::of(ty));
                let mut second = self.lanes(y, bytes);
                let mut x = x;
                if matches!(second, Operand::Use(..)) {
                    let first = self.lanes(x, bytes);
                    if !matches!(first, Operand::Use(..)) {
                        (x, second) = (y, first);
                    }
                }
                let (x, z) = (self.z(x), self.reg(z));
                self.emit(code, &[Operand::Both(d, z, self.target.whole), x, second]);
            }
            InstructionData::Unary { arg, .. } => self.unary(op, ty, d, arg)?,
            InstructionData::IntCompare { cond, args: [x, y], .. }
                if self.target.vector_masks() =>
            {
                self.compare_lanes(cond, d, x, y);
            }
            InstructionData::FloatCompare { cond, args: [x, y], .. }
                if self.target.vector_masks() =>
            {
                self.compare_numbers(cond, d, x, y)?;
            }
            InstructionData::Ternary { opcode: Opcode::Blendv, args: [c, x, y] }
                if self.target.vector_masks() =>
            {
                if let Some(code) = self.extreme(c, x, y) {
                    let (y, x) = (self.lanes(y, bytes), self.z(x));
                    self.two_to(d, code, Element::of(ty), x, y);
                    return Ok(());
                }
                let x = self.lanes(x, bytes);
                let (mask, y) = (self.reg(c), self.reg(y));
                self.choose_lanes(d, Element::of(ty), mask, x, y);
            }
            InstructionData::Ternary { opcode: Opcode::Select, args: [c, x, y] }
                if self.target.vector_masks() =>
            {
                let mask = self.full_mask(c, true)?;
                let (x, y) = (self.z(x), self.reg(y));
                self.choose_lanes(d, Element::of(ty), mask, x, y);
            }
            InstructionData::Ternary { opcode: Opcode::Select, args: [c, x, y] } => {
                let k = self.lane_mask(c)?;
                let (x, y) = (self.z(x), self.z(y));
                let code = self.code(V::Blend, Element::of(ty));
                self.emit(code, &[to, Operand::Under(k), y, x]);
            }
            _ => return Err(format!("{op} of {ty}")),
        }
        Ok(())
    }

    fn unary(&mut self, op: Opcode, ty: Type, d: VReg, arg: Value) -> Result<(), Refused> {
        let bytes = ty.lane_bits() / 8;
        let to = Operand::Def(d, self.target.whole);
        let from = self.ty(arg);
        match op {
            Opcode::Splat => {
                let scalar = self.cast(arg);
                if let Some(m) = self.element(arg, bytes) {
                    let code = self.code(V::Broadcast, Element::of(ty));
                    self.emit(code, &[to, Operand::Mem(m)]);
                } else if [F32, F64].contains(&self.ty(scalar)) {
                    let code = self.code(V::Broadcast, Element::of(ty));
                    let x = Operand::Use(self.reg(scalar), RegView::X);
                    self.emit(code, &[to, x]);
                } else if let Some(c) = self.number(arg) {
                    let c = c.to_le_bytes()[..bytes as usize]
                        .repeat((self.target.bytes / bytes) as usize);
                    self.load_bytes(&c, d);
                } else {
                    self.splat(ty, d, arg)?;
                }
            }
            Opcode::Bnot if !self.has(V::Ternary, Element::Words) => {
                let x = self.reg(arg);
                self.complement(d, x);
            }
            Opcode::Bnot => {
                let x = self.reg(arg);
                // The complement of the third operand.
                self.emit(
                    self.code(V::Ternary, Element::Words),
                    &[
                        Operand::Both(d, x, self.target.whole),
                        Operand::Use(x, self.target.whole),
                        Operand::Use(x, self.target.whole),
                        Operand::Imm(0x55),
                    ],
                );
            }
            Opcode::Ineg => {
                let zero = self.zero();
                let x = self.lanes(arg, bytes);
                let code = self.code(V::Sub, Element::of(ty));
                self.emit(code, &[to, Operand::Use(zero, self.target.whole), x]);
            }
            Opcode::FcvtToSintSat if from.lane_type() == F32 && ty.lane_type() == I32 => {
                let x = self.reg(arg);
                self.cut_to_int(d, Operand::Use(x, self.target.whole), x);
            }
            Opcode::FcvtToUintSat if from.lane_type() == F32 && ty.lane_type() == I32 => {
                // What is negative or no number becomes 0; what is too great has all bits set.
                let (zero, least) = (self.zero(), self.vector());
                let zero = Operand::Use(zero, self.target.whole);
                let x = self.z(arg);
                let code = self.code(V::MaxF, Element::Words);
                self.emit(code, &[Operand::Def(least, self.target.whole), x, zero]);
                if !self.has(V::CutToU, Element::Words) {
                    self.cut_unsigned(d, least);
                    return Ok(());
                }
                let code = self.code(V::CutToU, Element::Words);
                self.emit(code, &[to, Operand::Use(least, self.target.whole)]);
            }
            Opcode::Nearest | Opcode::Floor | Opcode::Ceil | Opcode::Trunc => {
                let how = match op {
                    Opcode::Nearest => 0,
                    Opcode::Floor => 1,
                    Opcode::Ceil => 2,
                    _ => 3,
                };
                let code = self.code(V::RoundF, Element::of(ty));
                let x = self.lanes(arg, bytes);
                // Bit 3: no flag of inexact results.
                self.emit(code, &[to, x, Operand::Imm(8 | how)]);
            }
            _ => {
                let code = match op {
                    Opcode::Iabs => self.code(V::Abs, Element::of(ty)),
                    Opcode::Popcnt => self.code(V::Popcount, Element::of(ty)),
                    Opcode::Clz => self.code(V::LeadingZeros, Element::of(ty)),
                    Opcode::Sqrt => self.code(V::SqrtF, Element::of(ty)),
                    Opcode::FcvtFromSint if from.lane_type() == I32 && bytes == 4 => {
                        self.code(V::FloatOfS, Element::Words)
                    }
                    Opcode::FcvtFromUint if from.lane_type() == I32 && bytes == 4 => {
                        self.code(V::FloatOfU, Element::Words)
                    }
                    op => return Err(format!("{op} of {ty}")),
                };
                if code == Code::INVALID {
                    return self.unary_sequence(op, Element::of(ty), d, arg);
                }
                let x = self.lanes(arg, bytes);
                self.emit(code, &[to, x]);
            }
        }
        Ok(())
    }

    /// The number in a general register in all lanes.
    fn splat(&mut self, ty: Type, d: VReg, x: Value) -> Result<(), Refused> {
        let (element, view) = match ty.lane_bits() {
            32 => (Element::Words, RegView::W),
            64 => (Element::Longs, RegView::D),
            _ => return Err(format!("splat of {ty}")),
        };
        let to = Operand::Def(d, self.target.whole);
        let x = Operand::Use(self.reg(x), view);
        if self.has(V::BroadcastGeneral, element) {
            self.emit(self.code(V::BroadcastGeneral, element), &[to, x]);
            return Ok(());
        }
        let first = self.vector();
        self.emit(self.lane_code(V::FromGeneral, element), &[Operand::Def(first, RegView::X), x]);
        self.emit(self.code(V::Broadcast, element), &[to, Operand::Use(first, RegView::X)]);
        Ok(())
    }

    /// A vector of zeros.
    pub(super) fn zero(&mut self) -> VReg {
        let d = self.vector();
        self.clear(d);
        d
    }

    fn clear(&mut self, d: VReg) {
        self.emit(
            self.code(V::Xor, Element::Words),
            &[
                Operand::Def(d, self.target.whole),
                Operand::Again(self.target.whole),
                Operand::Again(self.target.whole),
            ],
        );
    }

    /// All ones.
    pub(super) fn fill(&mut self, d: VReg) {
        let to = Operand::Def(d, self.target.whole);
        let again = Operand::Again(self.target.whole);
        if self.has(V::Ternary, Element::Words) {
            let code = self.code(V::Ternary, Element::Words);
            self.emit(code, &[to, again, again, Operand::Imm(255)]);
        } else {
            self.emit(self.code(V::Equal, Element::Words), &[to, again, again]);
        }
    }

    fn load_constant(&mut self, r: Value, d: VReg) -> Result<(), Refused> {
        let c = self.bytes(r).ok_or("a constant of another size")?;
        self.load_bytes(&c, d);
        Ok(())
    }

    /// `v`, or what it is the negative of if nothing else reads it; whether it is that.
    fn unsigned(&self, v: Value) -> (Value, bool) {
        let root = self.root(v);
        let none = self.regs[root.as_u32() as usize].is_none();
        let only = self.used_once(root) && self.local(root) && none;
        let Some(InstructionData::Binary { opcode: Opcode::Bxor, args: [x, y] }) =
            self.def(root).filter(|_| only).map(|i| *self.data(i))
        else {
            return (v, false);
        };
        let bytes = self.ty(v).lane_bits() as usize / 8;
        let sign = |c: Vec<u8>| {
            c.chunks(bytes).all(|c| c[..bytes - 1].iter().all(|x| *x == 0) && c[bytes - 1] == 0x80)
        };
        if self.bytes(y).is_some_and(sign) {
            (x, true)
        } else if self.bytes(x).is_some_and(sign) {
            (y, true)
        } else {
            (v, false)
        }
    }

    pub(super) fn load_bytes(&mut self, c: &[u8], d: VReg) {
        let to = Operand::Def(d, self.target.whole);
        let same = |n: usize| c.chunks(n).all(|x| x == &c[..n]);
        if c.iter().all(|x| *x == 0) {
            self.clear(d);
        } else if c.iter().all(|x| *x == 255) {
            self.fill(d);
        } else if same(4) {
            let m = self.constant(c[..4].to_vec());
            self.emit(self.code(V::Broadcast, Element::Words), &[to, Operand::Mem(m)]);
        } else if same(8) {
            let m = self.constant(c[..8].to_vec());
            self.emit(self.code(V::Broadcast, Element::Longs), &[to, Operand::Mem(m)]);
        } else {
            let m = self.constant(c.to_vec());
            self.emit(self.code(V::Load, Element::Words), &[to, Operand::Mem(m)]);
        }
    }

    fn shift(&mut self, op: Opcode, ty: Type, d: VReg, x: Value, n: Value) -> Result<(), Refused> {
        let bits = i64::from(ty.lane_bits());
        let bytes = ty.lane_bits() / 8;
        let to = Operand::Def(d, self.target.whole);
        if let Some(n) = self.number(n) {
            let codes = match op {
                Opcode::Ishl => V::ShlBy,
                Opcode::Ushr => V::ShrBy,
                _ => V::SarBy,
            };
            let n = Operand::Imm(n & (bits - 1));
            if !self.has(codes, Element::of(ty)) {
                let x = self.reg(x);
                self.shift_longs(d, x, |me, x| me.two(V::ShrBy, Element::Longs, x, n));
                return Ok(());
            }
            // With VEX it has to be a register.
            let x = if self.target.each { self.lanes(x, bytes) } else { self.z(x) };
            self.emit(self.code(codes, Element::of(ty)), &[to, x, n]);
            return Ok(());
        }
        let codes = match op {
            Opcode::Ishl => V::Shl,
            Opcode::Ushr => V::Shr,
            _ => V::Sar,
        };
        // Cranelift's form takes the amount modulo the width.
        let n = self.reg(n);
        let cut = self.temp(RegClass::Int);
        self.emit(
            Code::And_rm32_imm8,
            &[Operand::Both(cut, n, RegView::W), Operand::Imm(bits - 1)],
        );
        let amount = self.vector();
        self.emit(
            self.lane_code(V::FromGeneral, Element::Words),
            &[Operand::Def(amount, RegView::X), Operand::Use(cut, RegView::W)],
        );
        let amount = Operand::Use(amount, RegView::X);
        if !self.has(codes, Element::of(ty)) {
            let x = self.reg(x);
            self.shift_longs(d, x, |me, x| me.two(V::Shr, Element::Longs, x, amount));
            return Ok(());
        }
        let x = self.z(x);
        self.emit(self.code(codes, Element::of(ty)), &[to, x, amount]);
        Ok(())
    }
}
