//! Comparisons of scalars and masks, as conditions.

use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::conditions::{cc, condition};
use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::registers::RegView;
use super::select::{Refused, Selector, view};
use super::words::float_condition;

impl Selector<'_> {
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
                    if !self.ty(x).is_vector() && self.target.vector_masks() =>
                {
                    let ones = self.compare_scalars(cond, x, y)?;
                    let ones = Operand::Use(ones, RegView::W);
                    self.emit(Code::Test_rm32_r32, &[ones, ones]);
                    return Ok(cc::NE);
                }
                InstructionData::Unary { opcode: Opcode::VanyTrue, arg } => {
                    return Ok(self.any_bit(arg));
                }
                InstructionData::FloatCompare { args: [x, y], cond, .. }
                    if !self.ty(x).is_vector() =>
                {
                    let k = self.temp(RegClass::Vector);
                    self.compare_floats(k, cond, x, y)?;
                    self.emit(
                        Code::VEX_Kortestw_kr_kr,
                        &[Operand::Use(k, RegView::K), Operand::Use(k, RegView::K)],
                    );
                    return Ok(cc::NE);
                }
                _ => {}
            }
        }
        let (code, view) = match self.ty(v) {
            I8 => (Code::Test_rm8_r8, RegView::B),
            I32 => (Code::Test_rm32_r32, RegView::W),
            I64 => (Code::Test_rm64_r64, RegView::D),
            ty => return Err(format!("a branch on {ty}")),
        };
        let r = Operand::Use(self.reg(root), view);
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
            if self.number(y) == Some(0) && matches!(cond, IntCC::Equal | IntCC::NotEqual) {
                // Codes of opposite conditions differ in the lowest bit.
                return Ok(self.flags(x)? ^ u8::from(cond == IntCC::Equal));
            }
            let x = Operand::Use(self.reg(x), RegView::B);
            match self.number(y) {
                Some(c) => self.emit(Code::Cmp_rm8_imm8, &[x, Operand::Imm(c)]),
                None => {
                    let y = Operand::Use(self.reg(y), RegView::B);
                    self.emit(Code::Cmp_rm8_r8, &[x, y]);
                }
            }
            return Ok(condition(cond));
        }
        let w = view(ty);
        let wide = w == RegView::D;
        match self.small(y) {
            Some(0) if matches!(cond, IntCC::Equal | IntCC::NotEqual) => {
                if let Operand::Mem(a) = self.operand(x, w) {
                    let code = if wide { Code::Cmp_rm64_imm8 } else { Code::Cmp_rm32_imm8 };
                    self.emit(code, &[Operand::Mem(a), Operand::Imm(0)]);
                } else {
                    let x = Operand::Use(self.reg(x), w);
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
                self.emit(code, &[x, Operand::Imm(c)]);
            }
            None => {
                let y = self.operand(y, w);
                if let Operand::Mem(_) = y {
                    let x = Operand::Use(self.reg(x), w);
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

    /// Whether a mask has a lane on, or all.
    fn compare_masks(&mut self, cond: IntCC, x: Value, y: Value) -> Result<u8, Refused> {
        let all = match self.number(y) {
            Some(0) => false,
            Some(c) if c & self.target.all_lanes() == self.target.all_lanes() => true,
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
        let [a, b] = pair.map(|v| Operand::Use(self.reg(v), RegView::K));
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
        let number = float_condition(cond).ok_or("a comparison of numbers")?;
        let double = self.ty(x) == F64;
        let a = Operand::Use(self.reg(x), RegView::X);
        let b = self.float(y);
        let code = if double {
            self.lane_code(V::CompareF, Element::Longs)
        } else {
            self.lane_code(V::CompareF, Element::Words)
        };
        self.emit(code, &[Operand::Def(k, RegView::K), a, b, Operand::Imm(i64::from(number))]);
        Ok(())
    }
}
