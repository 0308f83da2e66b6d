//! Integers in general registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Opcode, Type, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::conditions::{choose, condition};
use super::inst::{Address, Operand};
use super::registers::RegView;
use super::select::{Refused, Selector, no, view};

/// The codes of an instruction of two general operands.
struct Two {
    r32: Code,
    r64: Code,
    byte32: Code,
    byte64: Code,
    imm32: Code,
    imm64: Code,
}

fn two(op: Opcode) -> Option<Two> {
    Some(match op {
        Opcode::Iadd => Two {
            r32: Code::Add_r32_rm32,
            r64: Code::Add_r64_rm64,
            byte32: Code::Add_rm32_imm8,
            byte64: Code::Add_rm64_imm8,
            imm32: Code::Add_rm32_imm32,
            imm64: Code::Add_rm64_imm32,
        },
        Opcode::Isub => Two {
            r32: Code::Sub_r32_rm32,
            r64: Code::Sub_r64_rm64,
            byte32: Code::Sub_rm32_imm8,
            byte64: Code::Sub_rm64_imm8,
            imm32: Code::Sub_rm32_imm32,
            imm64: Code::Sub_rm64_imm32,
        },
        Opcode::Band => Two {
            r32: Code::And_r32_rm32,
            r64: Code::And_r64_rm64,
            byte32: Code::And_rm32_imm8,
            byte64: Code::And_rm64_imm8,
            imm32: Code::And_rm32_imm32,
            imm64: Code::And_rm64_imm32,
        },
        Opcode::Bor => Two {
            r32: Code::Or_r32_rm32,
            r64: Code::Or_r64_rm64,
            byte32: Code::Or_rm32_imm8,
            byte64: Code::Or_rm64_imm8,
            imm32: Code::Or_rm32_imm32,
            imm64: Code::Or_rm64_imm32,
        },
        Opcode::Bxor => Two {
            r32: Code::Xor_r32_rm32,
            r64: Code::Xor_r64_rm64,
            byte32: Code::Xor_rm32_imm8,
            byte64: Code::Xor_rm64_imm8,
            imm32: Code::Xor_rm32_imm32,
            imm64: Code::Xor_rm64_imm32,
        },
        _ => return None,
    })
}

impl Selector<'_> {
    /// Arithmetic of integers in general registers.
    pub(super) fn integers(
        &mut self,
        op: Opcode,
        ty: Type,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        match op {
            Opcode::Iadd | Opcode::Isub | Opcode::Band | Opcode::Bor | Opcode::Bxor => {
                let small = self.small(y).filter(|c| *c != i64::from(i32::MIN));
                match (op, small) {
                    (Opcode::Iadd, Some(c)) => self.add_constant(ty, d, x, c as i32),
                    (Opcode::Isub, Some(c)) => self.add_constant(ty, d, x, -c as i32),
                    _ => return self.sum_or_bits(op, ty, d, x, y),
                }
                Ok(())
            }
            Opcode::Imul => self.product(ty, d, x, y),
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
                self.scalar_shift(op, ty, d, x, y)
            }
            Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax => {
                self.minimum(op, ty, d, x, y)
            }
            _ => Err(no(&op.to_string(), ty)),
        }
    }

    fn add_constant(&mut self, ty: Type, d: VReg, x: Value, disp: i32) {
        let w = view(ty);
        let (code, a) = if w == RegView::D {
            (Code::Lea_r64_m, self.address(x, disp))
        } else {
            let base = Some(self.reg(x));
            (Code::Lea_r32_m, Address { base, disp, ..Default::default() })
        };
        self.emit(code, &[Operand::Def(d, w), Operand::Mem(a)]);
    }

    /// A sum, a difference or a bitwise function.
    fn sum_or_bits(
        &mut self,
        op: Opcode,
        ty: Type,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let w = view(ty);
        let wide = w == RegView::D;
        let pick = |narrow: Code, long: Code| if wide { long } else { narrow };
        let small = self.small(y);
        let codes = two(op).ok_or("an operation")?;
        if let Some((x, y)) = self.and_not(x, y).filter(|_| op == Opcode::Band) {
            let (x, y) = (Operand::Use(self.reg(x), w), Operand::Use(self.reg(y), w));
            let code = pick(Code::VEX_Andn_r32_r32_rm32, Code::VEX_Andn_r64_r64_rm64);
            self.emit(code, &[Operand::Def(d, w), y, x]);
            return Ok(());
        }
        if let Some(c) = small {
            let byte = i8::try_from(c).is_ok();
            let code = match (wide, byte) {
                (true, true) => codes.byte64,
                (true, false) => codes.imm64,
                (false, true) => codes.byte32,
                (false, false) => codes.imm32,
            };
            let x = self.reg(x);
            self.emit(code, &[Operand::Both(d, x, w), Operand::Imm(c)]);
            return Ok(());
        }
        // Bytes in memory are bytes.
        let from_memory = ty == I32 || ty == I64;
        let mut y_part =
            if from_memory { self.operand(y, w) } else { Operand::Use(self.reg(y), w) };
        let mut x = x;
        if op != Opcode::Isub && from_memory && matches!(y_part, Operand::Use(..)) {
            let x_part = self.operand(x, w);
            if matches!(x_part, Operand::Mem(_)) {
                (x, y_part) = (y, x_part);
            }
        }
        if op == Opcode::Iadd
            && let Operand::Use(y, _) = y_part
        {
            let a = Address { base: Some(self.reg(x)), index: Some((y, 1)), ..Default::default() };
            self.emit(
                pick(Code::Lea_r32_m, Code::Lea_r64_m),
                &[Operand::Def(d, w), Operand::Mem(a)],
            );
            return Ok(());
        }
        let x = self.reg(x);
        self.emit(pick(codes.r32, codes.r64), &[Operand::Both(d, x, w), y_part]);
        Ok(())
    }

    fn product(&mut self, ty: Type, d: VReg, x: Value, y: Value) -> Result<(), Refused> {
        let w = view(ty);
        let pick = |narrow: Code, long: Code| if w == RegView::D { long } else { narrow };
        let small = self.small(y);
        if ty == I8 {
            return Err(no("a product", ty));
        }
        if let Some(c) = small {
            let x = self.operand(x, w);
            let code = pick(Code::Imul_r32_rm32_imm32, Code::Imul_r64_rm64_imm32);
            self.emit(code, &[Operand::Def(d, w), x, Operand::Imm(c)]);
        } else {
            let y = self.operand(y, w);
            let x = self.reg(x);
            let code = pick(Code::Imul_r32_rm32, Code::Imul_r64_rm64);
            self.emit(code, &[Operand::Both(d, x, w), y]);
        }
        Ok(())
    }

    /// A shift or a rotation.
    fn scalar_shift(
        &mut self,
        op: Opcode,
        ty: Type,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let w = view(ty);
        let wide = w == RegView::D;
        let pick = |narrow: Code, long: Code| if wide { long } else { narrow };
        if ty == I8 {
            return Err(no("a shift", ty));
        }
        let bits = i64::from(ty.bits());
        if let Some(n) = self.number(y) {
            let n = n & (bits - 1);
            let code = match op {
                Opcode::Ishl => pick(Code::Shl_rm32_imm8, Code::Shl_rm64_imm8),
                Opcode::Ushr => pick(Code::Shr_rm32_imm8, Code::Shr_rm64_imm8),
                Opcode::Sshr => pick(Code::Sar_rm32_imm8, Code::Sar_rm64_imm8),
                _ => {
                    let n = if op == Opcode::Rotl { (bits - n) & (bits - 1) } else { n };
                    let x = self.operand(x, w);
                    let code = pick(Code::VEX_Rorx_r32_rm32_imm8, Code::VEX_Rorx_r64_rm64_imm8);
                    self.emit(code, &[Operand::Def(d, w), x, Operand::Imm(n)]);
                    return Ok(());
                }
            };
            let x = self.reg(x);
            self.emit(code, &[Operand::Both(d, x, w), Operand::Imm(n)]);
        } else {
            let code = match op {
                Opcode::Ishl => pick(Code::VEX_Shlx_r32_rm32_r32, Code::VEX_Shlx_r64_rm64_r64),
                Opcode::Ushr => pick(Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64),
                Opcode::Sshr => pick(Code::VEX_Sarx_r32_rm32_r32, Code::VEX_Sarx_r64_rm64_r64),
                _ => return Err(no(&op.to_string(), ty)),
            };
            let n = Operand::Use(self.reg(y), w);
            let x = self.operand(x, w);
            self.emit(code, &[Operand::Def(d, w), x, n]);
        }
        Ok(())
    }

    /// The less or the greater number.
    fn minimum(
        &mut self,
        op: Opcode,
        ty: Type,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let w = view(ty);
        let wide = w == RegView::D;
        let pick = |narrow: Code, long: Code| if wide { long } else { narrow };
        if ty == I8 {
            return Err(no("a minimum", ty));
        }
        let cond = match op {
            Opcode::Umin => IntCC::UnsignedLessThan,
            Opcode::Umax => IntCC::UnsignedGreaterThan,
            Opcode::Smin => IntCC::SignedLessThan,
            _ => IntCC::SignedGreaterThan,
        };
        let (a, b) = (self.reg(x), self.reg(y));
        let code = pick(Code::Cmp_rm32_r32, Code::Cmp_rm64_r64);
        self.emit(code, &[Operand::Use(a, w), Operand::Use(b, w)]);
        let c = condition(cond);
        self.emit(choose(c, wide)?, &[Operand::Both(d, b, w), Operand::Use(a, w)]);
        Ok(())
    }

    /// The bits of 32 in the other order.
    pub(super) fn reversed(&mut self, d: VReg, x: Value) {
        let mut x = self.reg(x);
        for (n, m) in [(1, 0x5555_5555i64), (2, 0x3333_3333), (4, 0x0f0f_0f0f)] {
            let [a, b, c, e, sum] = std::array::from_fn(|_| self.temp(RegClass::Int));
            let imm = |c| Operand::Imm(c);
            self.emit(Code::Shr_rm32_imm8, &[Operand::Both(a, x, RegView::W), imm(n)]);
            self.emit(Code::And_rm32_imm32, &[Operand::Both(b, a, RegView::W), imm(m)]);
            self.emit(Code::And_rm32_imm32, &[Operand::Both(c, x, RegView::W), imm(m)]);
            self.emit(Code::Shl_rm32_imm8, &[Operand::Both(e, c, RegView::W), imm(n)]);
            self.emit(
                Code::Or_r32_rm32,
                &[Operand::Both(sum, e, RegView::W), Operand::Use(b, RegView::W)],
            );
            x = sum;
        }
        self.one(Code::Bswap_r32, d, x, RegView::W);
    }
}
