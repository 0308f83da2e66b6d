//! Scalars: general registers, numbers in lane 0 of a vector register, masks.

use cranelift_codegen::ir::types::{F32, F64, I16, I32, I64};
use cranelift_codegen::ir::{self, InstructionData, Opcode, Type, Value};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use regalloc2::{Operand as RegOperand, RegClass, VReg};

use super::conditions::{SET, choose};
use super::encodings::{Element, Operation as V};
use super::inst::{Operand, What};
use super::registers::{ARGS, RAX, RegView};
use super::select::{Refused, Selector, class, no, view};

impl Selector<'_> {
    /// Lowers an instruction.
    pub(super) fn inst(&mut self, i: ir::Inst) -> Result<(), Refused> {
        let result = self.f.dfg.inst_results(i).first().copied();
        let data = *self.data(i);
        let op = data.opcode();
        let vector = match (result, self.f.dfg.inst_args(i).first()) {
            (Some(r), _) if self.ty(r).is_vector() => true,
            (_, Some(a)) => {
                self.ty(*a).is_vector()
                    && !matches!(op, Opcode::Store | Opcode::Extractlane | Opcode::VanyTrue)
            }
            _ => false,
        };
        if op == Opcode::Call {
            let args = self.f.dfg.inst_args(i).to_vec();
            let (word, number) = self.word(i).ok_or("a call of a function")?;
            return self.vector_word(word, number, &args, result);
        }
        if vector
            && !matches!(op, Opcode::Jump | Opcode::Brif | Opcode::CallIndirect | Opcode::Load)
        {
            let r = result.ok_or_else(|| format!("{op} without a result"))?;
            return self.vector_inst(op, &data, r);
        }
        match data {
            InstructionData::Jump { .. } => self.push(What::Jump, &[]),
            InstructionData::Brif { arg, .. } => {
                let c = self.flags(arg)?;
                self.push(What::Branch(c), &[]);
            }
            InstructionData::BranchTable { arg, .. } => {
                let index = self.reg(arg);
                let (x, y) = (self.temp(RegClass::Int), self.temp(RegClass::Int));
                let list =
                    [RegOperand::reg_use(index), RegOperand::reg_temp(x), RegOperand::reg_temp(y)];
                self.push(What::Table, &list);
            }
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => {
                let v = self.f.dfg.inst_args(i)[0];
                let r = self.reg(v);
                self.push(What::Return, &[RegOperand::reg_fixed_use(r, RAX)]);
            }
            InstructionData::CallIndirect { sig_ref, .. } => {
                let args = self.f.dfg.inst_args(i).to_vec();
                let mut list = vec![RegOperand::reg_use(self.reg(args[0]))];
                for (n, a) in args[1..].iter().enumerate() {
                    list.push(RegOperand::reg_fixed_use(self.reg(*a), ARGS[n]));
                }
                let plain = self.f.dfg.signatures[sig_ref].call_conv != CallConv::PreserveAll;
                self.push(What::Call(plain), &list);
            }
            InstructionData::Store { opcode, args: [v, p], offset, .. } => {
                self.store(opcode, v, p, offset.into())?;
            }
            InstructionData::NullAry { opcode: Opcode::Fence } => self.emit(Code::Mfence, &[]),
            InstructionData::AtomicRmw { args: [p, x], op, .. } => {
                let r = result.ok_or("an atomic without a result")?;
                self.atomic(op, p, x, r)?;
            }
            InstructionData::AtomicCas { args: [p, old, new], .. } => {
                let r = result.ok_or("an atomic without a result")?;
                self.compare_and_swap(p, old, new, r)?;
            }
            _ => {
                let r = result.ok_or_else(|| format!("{op} without a result"))?;
                self.scalar(op, &data, r)?;
            }
        }
        Ok(())
    }

    pub(super) fn scalar(
        &mut self,
        op: Opcode,
        data: &InstructionData,
        r: Value,
    ) -> Result<(), Refused> {
        let ty = self.ty(r);
        if let InstructionData::Load { arg, offset, .. } = *data {
            return self.load(op, arg, offset.into(), r);
        }
        let d = self.reg(r);
        match *data {
            InstructionData::UnaryImm { .. } => {
                let c = self.number(r).unwrap_or(0);
                self.load_number(ty, d, c)
            }
            InstructionData::Binary { args: [x, y], .. } if ty == I16 => {
                self.mask_inst(op, d, x, y)
            }
            InstructionData::Binary { args: [x, y], .. } if ty == F32 || ty == F64 => {
                self.numbers(op, ty, d, x, y)
            }
            InstructionData::Binary { args: [x, y], .. } => self.integers(op, ty, d, x, y),
            InstructionData::IntCompare { args: [x, y], cond, .. } => {
                let c = self.compare(cond, x, y)?;
                self.emit(SET[c as usize], &[Operand::Def(d, RegView::B)]);
                Ok(())
            }
            InstructionData::FloatCompare { args: [x, y], cond, .. }
                if self.target.vector_masks() =>
            {
                let ones = self.compare_scalars(cond, x, y)?;
                let to = Operand::Both(d, ones, RegView::W);
                self.emit(Code::And_rm32_imm8, &[to, Operand::Imm(1)]);
                Ok(())
            }
            InstructionData::Unary { opcode: Opcode::VanyTrue, arg } => {
                let c = self.any_bit(arg);
                self.emit(SET[c as usize], &[Operand::Def(d, RegView::B)]);
                Ok(())
            }
            InstructionData::FloatCompare { args: [x, y], cond, .. } => {
                let k = self.temp(RegClass::Vector);
                self.compare_floats(k, cond, x, y)?;
                self.emit(
                    Code::VEX_Kmovw_r32_kr,
                    &[Operand::Def(d, RegView::W), Operand::Use(k, RegView::K)],
                );
                Ok(())
            }
            InstructionData::Ternary { opcode: Opcode::Select, args: [c, x, y] } => {
                self.select(ty, d, c, x, y)
            }
            InstructionData::Ternary { opcode: Opcode::Fma, args: [x, y, z] } => {
                let code = self.lane_code(V::Fma, Element::of(ty));
                let y = self.float(y);
                let (x, z) = (self.reg(x), self.reg(z));
                let to = Operand::Both(d, z, RegView::X);
                self.emit(code, &[to, Operand::Use(x, RegView::X), y]);
                Ok(())
            }
            InstructionData::BinaryImm8 { opcode: Opcode::Extractlane, arg, imm } => {
                self.extract(arg, imm, r)
            }
            InstructionData::Unary { arg: x, .. }
            | InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg: x, .. } => {
                self.scalar_unary(op, ty, d, x)
            }
            _ => Err(no(&op.to_string(), ty)),
        }
    }

    /// Arithmetic of numbers in lane 0.
    fn numbers(
        &mut self,
        op: Opcode,
        ty: Type,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let operation = match op {
            Opcode::Fadd => V::AddF,
            Opcode::Fsub => V::SubF,
            Opcode::Fmul => V::MulF,
            Opcode::Fdiv => V::DivF,
            _ => return Err(no(&op.to_string(), ty)),
        };
        let code = self.lane_code(operation, Element::of(ty));
        let y = self.float(y);
        let x = Operand::Use(self.reg(x), RegView::X);
        self.emit(code, &[Operand::Def(d, RegView::X), x, y]);
        Ok(())
    }

    /// `x` where the condition `c` holds, else `y`.
    fn select(&mut self, ty: Type, d: VReg, c: Value, x: Value, y: Value) -> Result<(), Refused> {
        let w = view(ty);
        match class(ty) {
            RegClass::Int => {
                let x = self.operand(x, w);
                let y = self.reg(y);
                let c = self.flags(c)?;
                self.emit(choose(c, w == RegView::D)?, &[Operand::Both(d, y, w), x]);
            }
            RegClass::Float if self.target.vector_masks() => {
                let mask = self.full_mask(c, false)?;
                let (x, y) = (self.reg(x), self.reg(y));
                let x = self.whole(x);
                self.choose_lanes(d, Element::of(ty), mask, x, y);
            }
            RegClass::Float => {
                let k = self.lane_mask(c)?;
                let (x, y) = (self.reg(x), self.reg(y));
                let code = self.code(V::Blend, Element::of(ty));
                let whole = self.target.whole;
                self.emit(
                    code,
                    &[
                        Operand::Def(d, whole),
                        Operand::Under(k),
                        Operand::Use(y, whole),
                        Operand::Use(x, whole),
                    ],
                );
            }
            RegClass::Vector => return Err("a choice of masks".into()),
        }
        Ok(())
    }

    fn scalar_unary(&mut self, op: Opcode, ty: Type, d: VReg, x: Value) -> Result<(), Refused> {
        let from = self.ty(x);
        let w = view(ty);
        let pick = |narrow: Code, long: Code| if w == RegView::D { long } else { narrow };
        match op {
            Opcode::Bnot if ty == I16 => {
                let x = self.reg(x);
                self.emit(
                    Code::VEX_Knotw_kr_kr,
                    &[Operand::Def(d, RegView::K), Operand::Use(x, RegView::K)],
                );
            }
            Opcode::Bnot => {
                let x = self.reg(x);
                self.one(pick(Code::Not_rm32, Code::Not_rm64), d, x, w);
            }
            Opcode::Ineg => {
                let x = self.reg(x);
                self.one(pick(Code::Neg_rm32, Code::Neg_rm64), d, x, w);
            }
            Opcode::Iabs => {
                let x = self.reg(x);
                let t = self.temp(RegClass::Int);
                self.one(pick(Code::Neg_rm32, Code::Neg_rm64), t, x, w);
                let code = pick(Code::Cmovs_r32_rm32, Code::Cmovs_r64_rm64);
                self.emit(code, &[Operand::Both(d, t, w), Operand::Use(x, w)]);
            }
            Opcode::Popcnt | Opcode::Clz => {
                let code = match op {
                    Opcode::Popcnt => pick(Code::Popcnt_r32_rm32, Code::Popcnt_r64_rm64),
                    _ => pick(Code::Lzcnt_r32_rm32, Code::Lzcnt_r64_rm64),
                };
                if from.bits() < 32 {
                    return Err(no(&op.to_string(), from));
                }
                let x = self.operand(x, w);
                self.emit(code, &[Operand::Def(d, w), x]);
            }
            Opcode::Bitrev if ty == I32 => self.reversed(d, x),
            Opcode::Bmask if ty == I32 || ty == I64 => {
                let t = self.carry(x)?;
                let code = pick(Code::Sbb_r32_rm32, Code::Sbb_r64_rm64);
                self.emit(code, &[Operand::Both(d, t, w), Operand::Use(t, w)]);
            }
            Opcode::Uextend | Opcode::Sextend => self.extend(op, from, ty, d, x)?,
            // Masks; other types keep the register.
            Opcode::Ireduce if ty == I16 => {
                let x = self.reg(x);
                self.emit(
                    Code::VEX_Kmovw_kr_r32,
                    &[Operand::Def(d, RegView::K), Operand::Use(x, RegView::W)],
                );
            }
            Opcode::Bitcast => self.bitcast(from, ty, d, x)?,
            Opcode::Sqrt if ty == F32 || ty == F64 => {
                let code = self.lane_code(V::SqrtF, Element::of(ty));
                let x = Operand::Use(self.reg(x), RegView::X);
                self.emit(code, &[Operand::Def(d, RegView::X), x, x]);
            }
            Opcode::Trunc if ty == F32 || ty == F64 => {
                let code = self.lane_code(V::RoundF, Element::of(ty));
                let x = Operand::Use(self.reg(x), RegView::X);
                // As `vectors` has it: towards 0, and no flag of inexact results.
                self.emit(code, &[Operand::Def(d, RegView::X), x, x, Operand::Imm(8 | 3)]);
            }
            Opcode::Fpromote | Opcode::Fdemote => {
                let operation =
                    if op == Opcode::Fpromote { V::DoubleOfSingle } else { V::SingleOfDouble };
                let code = self.lane_code(operation, Element::Longs);
                let x = Operand::Use(self.reg(x), RegView::X);
                self.emit(code, &[Operand::Def(d, RegView::X), x, x]);
            }
            Opcode::FcvtFromSint | Opcode::FcvtFromUint => {
                if from != I32 || ![F32, F64].contains(&ty) {
                    return Err(no("a conversion", from));
                }
                let unsigned = op == Opcode::FcvtFromUint;
                if unsigned && self.lane_code(V::FloatOfU, Element::of(ty)) == Code::INVALID {
                    self.number_of_unsigned(d, Element::of(ty), x);
                    return Ok(());
                }
                let operation = if op == Opcode::FcvtFromSint { V::FloatOfS } else { V::FloatOfU };
                let code = self.lane_code(operation, Element::of(ty));
                let x = Operand::Use(self.reg(x), RegView::W);
                let zero = self.zero();
                self.emit(code, &[Operand::Def(d, RegView::X), Operand::Use(zero, RegView::X), x]);
            }
            Opcode::FcvtToSintSat if from == F32 && ty == I32 => {
                let x = self.reg(x);
                let t = self.vector();
                self.cut_to_int(t, Operand::Use(x, self.target.whole), x);
                self.emit(
                    self.lane_code(V::ToGeneral, Element::Words),
                    &[Operand::Def(d, RegView::W), Operand::Use(t, RegView::X)],
                );
            }
            _ => return Err(no(&op.to_string(), ty)),
        }
        Ok(())
    }

    /// `d = op(x)`, in place.
    pub(super) fn one(&mut self, code: Code, d: VReg, x: VReg, w: RegView) {
        self.emit(code, &[Operand::Both(d, x, w)]);
    }
}
