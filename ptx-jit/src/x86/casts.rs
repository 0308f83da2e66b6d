//! Masks in registers of their own, constants and casts: what moves between kinds of registers.

use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{Opcode, Type, Value};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

use super::encodings::{Element, Operation as V};
use super::inst::Operand;
use super::registers::RegView;
use super::select::{Refused, Selector, class, no, view};

impl Selector<'_> {
    /// A register whose sum with itself and the carry is the mask of `x`: the carry says whether that is not 0.
    pub(super) fn carry(&mut self, x: Value) -> Result<VReg, Refused> {
        if self.ty(x) == I16 {
            return Err("a mask as a number".into());
        }
        let w = if self.ty(x) == I8 { RegView::B } else { view(self.ty(x)) };
        let code = match w {
            RegView::B => Code::Neg_rm8,
            RegView::D => Code::Neg_rm64,
            _ => Code::Neg_rm32,
        };
        let x = self.reg(x);
        let t = self.temp(RegClass::Int);
        self.one(code, t, x, w);
        Ok(t)
    }

    /// A mask with every lane on where the scalar is not 0.
    pub(super) fn lane_mask(&mut self, x: Value) -> Result<VReg, Refused> {
        let t = self.carry(x)?;
        let all = self.temp(RegClass::Int);
        self.emit(
            Code::Sbb_r32_rm32,
            &[Operand::Both(all, t, RegView::W), Operand::Use(t, RegView::W)],
        );
        let k = self.temp(RegClass::Vector);
        self.emit(
            Code::VEX_Kmovw_kr_r32,
            &[Operand::Def(k, RegView::K), Operand::Use(all, RegView::W)],
        );
        Ok(k)
    }

    pub(super) fn load_number(&mut self, ty: Type, d: VReg, c: i64) -> Result<(), Refused> {
        match ty {
            I16 => match c as u16 {
                0 | 0xffff => {
                    let code = if c as u16 == 0 {
                        Code::VEX_Kxorw_kr_kr_kr
                    } else {
                        Code::VEX_Kxnorw_kr_kr_kr
                    };
                    // No register is read: any will do.
                    self.emit(
                        code,
                        &[
                            Operand::Def(d, RegView::K),
                            Operand::Again(RegView::K),
                            Operand::Again(RegView::K),
                        ],
                    );
                }
                c => {
                    let t = self.temp(RegClass::Int);
                    self.emit(
                        Code::Mov_r32_imm32,
                        &[Operand::Def(t, RegView::W), Operand::Imm(i64::from(c))],
                    );
                    self.emit(
                        Code::VEX_Kmovw_kr_r32,
                        &[Operand::Def(d, RegView::K), Operand::Use(t, RegView::W)],
                    );
                }
            },
            I64 if u32::try_from(c).is_ok() => {
                self.emit(Code::Mov_r32_imm32, &[Operand::Def(d, RegView::W), Operand::Imm(c)]);
            }
            I64 if i32::try_from(c).is_ok() => {
                self.emit(Code::Mov_rm64_imm32, &[Operand::Def(d, RegView::D), Operand::Imm(c)]);
            }
            I64 => self.emit(Code::Mov_r64_imm64, &[Operand::Def(d, RegView::D), Operand::Imm(c)]),
            I8 | I32 => {
                self.emit(
                    Code::Mov_r32_imm32,
                    &[Operand::Def(d, RegView::W), Operand::Imm(i64::from(c as u32))],
                );
            }
            _ => return Err(no("a constant", ty)),
        }
        Ok(())
    }

    pub(super) fn mask_inst(
        &mut self,
        op: Opcode,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        if op == Opcode::Ushr {
            let n = self.number(y).ok_or("a shift of a mask")?;
            let x = Operand::Use(self.reg(x), RegView::K);
            self.emit(
                Code::VEX_Kshiftrw_kr_kr_imm8,
                &[Operand::Def(d, RegView::K), x, Operand::Imm(n & 15)],
            );
            return Ok(());
        }
        let (code, x, y) = match (op, self.and_not(x, y)) {
            // The instruction turns its first operand over.
            (Opcode::Band, Some((x, y))) => (Code::VEX_Kandnw_kr_kr_kr, y, x),
            (Opcode::Band, None) => (Code::VEX_Kandw_kr_kr_kr, x, y),
            (Opcode::Bor, _) => (Code::VEX_Korw_kr_kr_kr, x, y),
            (Opcode::Bxor, _) => (Code::VEX_Kxorw_kr_kr_kr, x, y),
            _ => return Err(format!("{op} of masks")),
        };
        let (x, y) = (Operand::Use(self.reg(x), RegView::K), Operand::Use(self.reg(y), RegView::K));
        self.emit(code, &[Operand::Def(d, RegView::K), x, y]);
        Ok(())
    }

    pub(super) fn extend(
        &mut self,
        op: Opcode,
        from: Type,
        ty: Type,
        d: VReg,
        x: Value,
    ) -> Result<(), Refused> {
        let signed = op == Opcode::Sextend;
        if from == I16 {
            let x = Operand::Use(self.reg(x), RegView::K);
            if signed {
                return Err("the sign of a mask".into());
            }
            self.emit(Code::VEX_Kmovw_r32_kr, &[Operand::Def(d, RegView::W), x]);
            return Ok(());
        }
        let wide = ty == I64;
        let (code, to, part) = match (from, signed) {
            (I8, false) => (Code::Movzx_r32_rm8, RegView::W, Operand::Use(self.reg(x), RegView::B)),
            (I8, true) if wide => {
                (Code::Movsx_r64_rm8, RegView::D, Operand::Use(self.reg(x), RegView::B))
            }
            (I8, true) => (Code::Movsx_r32_rm8, RegView::W, Operand::Use(self.reg(x), RegView::B)),
            (I32, false) => (Code::Mov_r32_rm32, RegView::W, self.operand(x, RegView::W)),
            (I32, true) => (Code::Movsxd_r64_rm32, RegView::D, self.operand(x, RegView::W)),
            _ => return Err(no(&op.to_string(), from)),
        };
        self.emit(code, &[Operand::Def(d, to), part]);
        Ok(())
    }

    pub(super) fn bitcast(
        &mut self,
        from: Type,
        ty: Type,
        d: VReg,
        x: Value,
    ) -> Result<(), Refused> {
        let to_vector = class(ty) == RegClass::Float;
        if to_vector {
            if let Some(m) = self.folded(x, ty.bytes()) {
                let code = self.lane_code(V::Load, Element::of(ty));
                self.emit(code, &[Operand::Def(d, RegView::X), Operand::Mem(m)]);
                return Ok(());
            }
            if let Some(c) = self.number(x) {
                // As a constant in memory: no way through a general register.
                let bytes = ty.bytes() as usize;
                let m = self.constant(c.to_le_bytes()[..bytes].to_vec());
                let code = self.lane_code(V::Load, Element::of(ty));
                self.emit(code, &[Operand::Def(d, RegView::X), Operand::Mem(m)]);
                return Ok(());
            }
        }
        let (code, a, b) = match (from, ty) {
            (I32, F32) => (self.lane_code(V::FromGeneral, Element::Words), RegView::X, RegView::W),
            (I64, F64) => (self.lane_code(V::FromGeneral, Element::Longs), RegView::X, RegView::D),
            (F32, I32) => (self.lane_code(V::ToGeneral, Element::Words), RegView::W, RegView::X),
            (F64, I64) => (self.lane_code(V::ToGeneral, Element::Longs), RegView::D, RegView::X),
            _ => return Err(format!("{from} as {ty}")),
        };
        let x = self.reg(x);
        self.emit(code, &[Operand::Def(d, a), Operand::Use(x, b)]);
        Ok(())
    }
}
