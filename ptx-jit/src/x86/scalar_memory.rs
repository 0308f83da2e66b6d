//! Loads, stores and atomics of scalars; loads and stores of whole vectors and masks.

use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{AtomicRmwOp, InstructionData, Opcode, Value};
use iced_x86::Code;
use regalloc2::{Operand as RegOperand, RegClass};

use super::conditions::{cc, choose};
use super::encodings::{Element, Operation as V};
use super::inst::{ExchangeOp, Operand, What};
use super::registers::{RAX, RegView};
use super::select::{Refused, Selector, no, view};

impl Selector<'_> {
    pub(super) fn load(
        &mut self,
        op: Opcode,
        p: Value,
        offset: i32,
        r: Value,
    ) -> Result<(), Refused> {
        let ty = self.ty(r);
        let d = self.reg(r);
        let m = Operand::Mem(self.address(p, offset));
        let wide = ty == I64;
        let code = match op {
            Opcode::Load => match ty {
                I8 => Code::Movzx_r32_rm8,
                I16 => Code::VEX_Kmovw_kr_km16,
                I32 => Code::Mov_r32_rm32,
                I64 => Code::Mov_r64_rm64,
                F32 => self.lane_code(V::Load, Element::Words),
                F64 => self.lane_code(V::Load, Element::Longs),
                ty if ty.bytes() == self.target.bytes => self.code(V::Load, Element::Words),
                ty => return Err(no("a load", ty)),
            },
            Opcode::Uload8 => Code::Movzx_r32_rm8,
            Opcode::Uload16 => Code::Movzx_r32_rm16,
            Opcode::Uload32 => Code::Mov_r32_rm32,
            Opcode::Sload8 if wide => Code::Movsx_r64_rm8,
            Opcode::Sload8 => Code::Movsx_r32_rm8,
            Opcode::Sload16 if wide => Code::Movsx_r64_rm16,
            Opcode::Sload16 => Code::Movsx_r32_rm16,
            Opcode::Sload32 => Code::Movsxd_r64_rm32,
            op => return Err(no(&op.to_string(), ty)),
        };
        let v = match code {
            Code::VEX_Kmovw_kr_km16 => RegView::K,
            Code::Mov_r64_rm64
            | Code::Movsx_r64_rm8
            | Code::Movsx_r64_rm16
            | Code::Movsxd_r64_rm32 => RegView::D,
            _ if ty.is_vector() => self.target.whole,
            _ if ty == F32 || ty == F64 => RegView::X,
            _ => RegView::W,
        };
        self.emit(code, &[Operand::Def(d, v), m]);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        op: Opcode,
        v: Value,
        p: Value,
        offset: i32,
    ) -> Result<(), Refused> {
        let ty = self.ty(v);
        let size = match op {
            Opcode::Istore8 => 1,
            Opcode::Istore16 => 2,
            Opcode::Istore32 => 4,
            _ => ty.bytes(),
        };
        if op == Opcode::Store && ty == I16 {
            let m = Operand::Mem(self.address(p, offset));
            let k = self.reg(v);
            self.emit(Code::VEX_Kmovw_m16_kr, &[m, Operand::Use(k, RegView::K)]);
            return Ok(());
        }
        if ty.is_vector() {
            let m = Operand::Mem(self.address(p, offset));
            let x = self.reg(v);
            self.emit(
                self.code(V::Store, Element::Words),
                &[m, Operand::Use(x, self.target.whole)],
            );
            return Ok(());
        }
        let inner = self.cast(v);
        let number = [F32, F64].contains(&self.ty(inner)) && self.ty(inner).bytes() == size;
        if number {
            let m = Operand::Mem(self.address(p, offset));
            let x = Operand::Use(self.reg(inner), RegView::X);
            let code = if size == 4 {
                self.lane_code(V::Store, Element::Words)
            } else {
                self.lane_code(V::Store, Element::Longs)
            };
            self.emit(code, &[m, x]);
            return Ok(());
        }
        let root = self.root(v);
        if op == Opcode::Store && self.ty(root) == ty && self.add_to_memory(root, p, offset) {
            return Ok(());
        }
        let m = Operand::Mem(self.address(p, offset));
        if let Some(c) = self.small(v) {
            let (code, c) = match size {
                1 => (Code::Mov_rm8_imm8, c),
                2 => (Code::Mov_rm16_imm16, c),
                4 => (Code::Mov_rm32_imm32, c),
                _ => (Code::Mov_rm64_imm32, c),
            };
            self.emit(code, &[m, Operand::Imm(c)]);
            return Ok(());
        }
        let r = self.reg(v);
        let (code, view) = match size {
            1 => (Code::Mov_rm8_r8, RegView::B),
            2 => (Code::Mov_rm16_r16, RegView::H),
            4 => (Code::Mov_rm32_r32, RegView::W),
            8 => (Code::Mov_rm64_r64, RegView::D),
            _ => return Err(no("a store", ty)),
        };
        self.emit(code, &[m, Operand::Use(r, view)]);
        Ok(())
    }

    /// A number in memory that a constant is added to.
    fn add_to_memory(&mut self, v: Value, p: Value, offset: i32) -> bool {
        let ty = self.ty(v);
        let Some(i) = self.def(v).filter(|_| self.used_once(v) && self.local(v)) else {
            return false;
        };
        let InstructionData::Binary { opcode: Opcode::Iadd, args: [x, y] } = *self.data(i) else {
            return false;
        };
        let Some(c) = self.small(y) else { return false };
        let x = self.root(x);
        let Some(InstructionData::Load { opcode: Opcode::Load, arg, offset: from, .. }) =
            self.def(x).map(|i| *self.data(i))
        else {
            return false;
        };
        let same = self.root(arg) == self.root(p) && i32::from(from) == offset && self.ty(x) == ty;
        if !same || ![I32, I64].contains(&ty) {
            return false;
        }
        let Some(m) = self.folded(x, ty.bytes()) else { return false };
        let byte = i8::try_from(c).is_ok();
        let code = match (ty == I64, byte) {
            (true, true) => Code::Add_rm64_imm8,
            (true, false) => Code::Add_rm64_imm32,
            (false, true) => Code::Add_rm32_imm8,
            (false, false) => Code::Add_rm32_imm32,
        };
        self.emit(code, &[Operand::Mem(m), Operand::Imm(c)]);
        true
    }

    pub(super) fn atomic(
        &mut self,
        op: AtomicRmwOp,
        p: Value,
        x: Value,
        r: Value,
    ) -> Result<(), Refused> {
        let ty = self.ty(r);
        let w = view(ty);
        if ![I32, I64].contains(&ty) {
            return Err(no("an atomic", ty));
        }
        let wide = ty == I64;
        let d = self.reg(r);
        let pick = |narrow: Code, long: Code| if wide { long } else { narrow };
        match op {
            AtomicRmwOp::Add | AtomicRmwOp::Xchg => {
                let m = Operand::Mem(self.address(p, 0));
                let x = self.reg(x);
                let code = match op {
                    AtomicRmwOp::Add => pick(Code::Xadd_rm32_r32, Code::Xadd_rm64_r64),
                    _ => pick(Code::Xchg_rm32_r32, Code::Xchg_rm64_r64),
                };
                self.locked(code, &[m, Operand::Both(d, x, w)]);
                return Ok(());
            }
            _ => {}
        }
        let compare = pick(Code::Cmp_r32_rm32, Code::Cmp_r64_rm64);
        // `x` is compared with the old value: it is taken where it is less, or greater.
        let op = match op {
            AtomicRmwOp::And => ExchangeOp::Binary(pick(Code::And_r32_rm32, Code::And_r64_rm64)),
            AtomicRmwOp::Or => ExchangeOp::Binary(pick(Code::Or_r32_rm32, Code::Or_r64_rm64)),
            AtomicRmwOp::Xor => ExchangeOp::Binary(pick(Code::Xor_r32_rm32, Code::Xor_r64_rm64)),
            AtomicRmwOp::Umin => ExchangeOp::Choose(compare, choose(cc::B, wide)?),
            AtomicRmwOp::Umax => ExchangeOp::Choose(compare, choose(cc::A, wide)?),
            AtomicRmwOp::Smin => ExchangeOp::Choose(compare, choose(cc::L, wide)?),
            AtomicRmwOp::Smax => ExchangeOp::Choose(compare, choose(cc::G, wide)?),
            op => return Err(format!("an atomic {op}")),
        };
        let (p, x) = (self.reg(p), self.reg(x));
        let new = self.temp(RegClass::Int);
        // The old value is in `rax` from the start on, while the address and `x` are read.
        let list = [
            RegOperand::reg_use_at_end(p),
            RegOperand::reg_use_at_end(x),
            RegOperand::reg_temp(new),
            RegOperand::reg_fixed_def_at_start(d, RAX),
        ];
        self.push(What::Exchange(op, w), &list);
        Ok(())
    }

    /// The old value at `p`, where `new` is put if that was `old`.
    pub(super) fn compare_and_swap(
        &mut self,
        p: Value,
        old: Value,
        new: Value,
        r: Value,
    ) -> Result<(), Refused> {
        let ty = self.ty(r);
        if ![I32, I64].contains(&ty) {
            return Err(no("a compare-and-swap", ty));
        }
        let [p, old, new, d] = [p, old, new, r].map(|v| self.reg(v));
        let list = [
            RegOperand::reg_use(p),
            RegOperand::reg_use(new),
            RegOperand::reg_fixed_use(old, RAX),
            RegOperand::reg_fixed_def(d, RAX),
        ];
        self.push(What::CompareAndSwap(view(ty)), &list);
        Ok(())
    }
}
