//! Scalars: general registers, numbers in lane 0 of a vector register, masks.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{self, AtomicRmwOp, InstructionData, Opcode, Type, Value};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use regalloc2::{Operand, RegClass, VReg};

use super::lower::{Lower, Refused, cc, class, view};
use super::machine::{ARGS, ExchangeOp, Part, RAX, View, What};
use super::words::Word;

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

pub(super) const SET: [Code; 16] = [
    Code::Seto_rm8,
    Code::Setno_rm8,
    Code::Setb_rm8,
    Code::Setae_rm8,
    Code::Sete_rm8,
    Code::Setne_rm8,
    Code::Setbe_rm8,
    Code::Seta_rm8,
    Code::Sets_rm8,
    Code::Setns_rm8,
    Code::Setp_rm8,
    Code::Setnp_rm8,
    Code::Setl_rm8,
    Code::Setge_rm8,
    Code::Setle_rm8,
    Code::Setg_rm8,
];

/// Conditional moves of 32 and 64 bits.
fn choose(c: u8, wide: bool) -> Result<Code, Refused> {
    Ok(match (c, wide) {
        (cc::B, false) => Code::Cmovb_r32_rm32,
        (cc::B, true) => Code::Cmovb_r64_rm64,
        (cc::AE, false) => Code::Cmovae_r32_rm32,
        (cc::AE, true) => Code::Cmovae_r64_rm64,
        (cc::E, false) => Code::Cmove_r32_rm32,
        (cc::E, true) => Code::Cmove_r64_rm64,
        (cc::NE, false) => Code::Cmovne_r32_rm32,
        (cc::NE, true) => Code::Cmovne_r64_rm64,
        (cc::BE, false) => Code::Cmovbe_r32_rm32,
        (cc::BE, true) => Code::Cmovbe_r64_rm64,
        (cc::A, false) => Code::Cmova_r32_rm32,
        (cc::A, true) => Code::Cmova_r64_rm64,
        (cc::L, false) => Code::Cmovl_r32_rm32,
        (cc::L, true) => Code::Cmovl_r64_rm64,
        (cc::GE, false) => Code::Cmovge_r32_rm32,
        (cc::GE, true) => Code::Cmovge_r64_rm64,
        (cc::LE, false) => Code::Cmovle_r32_rm32,
        (cc::LE, true) => Code::Cmovle_r64_rm64,
        (cc::G, false) => Code::Cmovg_r32_rm32,
        (cc::G, true) => Code::Cmovg_r64_rm64,
        _ => return Err("a condition".into()),
    })
}

fn no(what: &str, ty: Type) -> Refused {
    format!("{what} of {ty}")
}

impl Lower<'_> {
    /// Lowers an instruction.
    pub(super) fn inst(&mut self, i: ir::Inst) -> Result<(), Refused> {
        let result = self.f.dfg.inst_results(i).first().copied();
        let data = *self.data(i);
        let op = data.opcode();
        let vector = match (result, self.f.dfg.inst_args(i).first()) {
            (Some(r), _) if self.ty(r).is_vector() => true,
            (_, Some(a)) => {
                self.ty(*a).is_vector() && !matches!(op, Opcode::Store | Opcode::Extractlane)
            }
            _ => false,
        };
        if op == Opcode::Call {
            let args = self.f.dfg.inst_args(i).to_vec();
            let (word, number) = self.word(i).ok_or("a call of a function")?;
            return self.lower_word(word, number, &args, result);
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
                let list = [Operand::reg_use(index), Operand::reg_temp(x), Operand::reg_temp(y)];
                self.push(What::Table, &list);
            }
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => {
                let v = self.f.dfg.inst_args(i)[0];
                let r = self.reg(v);
                self.push(What::Return, &[Operand::reg_fixed_use(r, RAX)]);
            }
            InstructionData::CallIndirect { sig_ref, .. } => {
                let args = self.f.dfg.inst_args(i).to_vec();
                let mut list = vec![Operand::reg_use(self.reg(args[0]))];
                for (n, a) in args[1..].iter().enumerate() {
                    list.push(Operand::reg_fixed_use(self.reg(*a), ARGS[n]));
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

    fn load(&mut self, op: Opcode, p: Value, offset: i32, r: Value) -> Result<(), Refused> {
        let ty = self.ty(r);
        let d = self.reg(r);
        let m = Part::Mem(self.address(p, offset));
        let wide = ty == I64;
        let code = match op {
            Opcode::Load => match ty {
                I8 => Code::Movzx_r32_rm8,
                I16 => Code::VEX_Kmovw_kr_km16,
                I32 => Code::Mov_r32_rm32,
                I64 => Code::Mov_r64_rm64,
                F32 => Code::EVEX_Vmovss_xmm_k1z_m32,
                F64 => Code::EVEX_Vmovsd_xmm_k1z_m64,
                ty if ty.bytes() == 64 => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
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
            Code::VEX_Kmovw_kr_km16 => View::K,
            Code::Mov_r64_rm64
            | Code::Movsx_r64_rm8
            | Code::Movsx_r64_rm16
            | Code::Movsxd_r64_rm32 => View::D,
            Code::EVEX_Vmovss_xmm_k1z_m32 | Code::EVEX_Vmovsd_xmm_k1z_m64 => View::X,
            Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512 => View::Z,
            _ => View::W,
        };
        self.emit(code, &[Part::Def(d, v), m]);
        Ok(())
    }

    fn store(&mut self, op: Opcode, v: Value, p: Value, offset: i32) -> Result<(), Refused> {
        let ty = self.ty(v);
        let size = match op {
            Opcode::Istore8 => 1,
            Opcode::Istore16 => 2,
            Opcode::Istore32 => 4,
            _ => ty.bytes(),
        };
        if op == Opcode::Store && ty == I16 {
            let m = Part::Mem(self.address(p, offset));
            let k = self.reg(v);
            self.emit(Code::VEX_Kmovw_m16_kr, &[m, Part::Use(k, View::K)]);
            return Ok(());
        }
        if ty.is_vector() {
            let m = Part::Mem(self.address(p, offset));
            let x = self.reg(v);
            self.emit(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, &[m, Part::Use(x, View::Z)]);
            return Ok(());
        }
        let inner = self.cast(v);
        let number = [F32, F64].contains(&self.ty(inner)) && self.ty(inner).bytes() == size;
        if number {
            let m = Part::Mem(self.address(p, offset));
            let x = Part::Use(self.reg(inner), View::X);
            let code =
                if size == 4 { Code::EVEX_Vmovss_m32_k1_xmm } else { Code::EVEX_Vmovsd_m64_k1_xmm };
            self.emit(code, &[m, x]);
            return Ok(());
        }
        let root = self.root(v);
        if op == Opcode::Store && self.ty(root) == ty && self.add_to_memory(root, p, offset) {
            return Ok(());
        }
        let m = Part::Mem(self.address(p, offset));
        if let Some(c) = self.small(v) {
            let (code, c) = match size {
                1 => (Code::Mov_rm8_imm8, c),
                2 => (Code::Mov_rm16_imm16, c),
                4 => (Code::Mov_rm32_imm32, c),
                _ => (Code::Mov_rm64_imm32, c),
            };
            self.emit(code, &[m, Part::Imm(c)]);
            return Ok(());
        }
        let r = self.reg(v);
        let (code, view) = match size {
            1 => (Code::Mov_rm8_r8, View::B),
            2 => (Code::Mov_rm16_r16, View::H),
            4 => (Code::Mov_rm32_r32, View::W),
            8 => (Code::Mov_rm64_r64, View::D),
            _ => return Err(no("a store", ty)),
        };
        self.emit(code, &[m, Part::Use(r, view)]);
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
        self.emit(code, &[Part::Mem(m), Part::Imm(c)]);
        true
    }

    fn atomic(&mut self, op: AtomicRmwOp, p: Value, x: Value, r: Value) -> Result<(), Refused> {
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
                let m = Part::Mem(self.address(p, 0));
                let x = self.reg(x);
                let code = match op {
                    AtomicRmwOp::Add => pick(Code::Xadd_rm32_r32, Code::Xadd_rm64_r64),
                    _ => pick(Code::Xchg_rm32_r32, Code::Xchg_rm64_r64),
                };
                self.locked(code, &[m, Part::Both(d, x, w)]);
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
            Operand::reg_use_at_end(p),
            Operand::reg_use_at_end(x),
            Operand::reg_temp(new),
            Operand::reg_fixed_def_at_start(d, RAX),
        ];
        self.push(What::Exchange(op, w), &list);
        Ok(())
    }

    fn compare_and_swap(
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
            Operand::reg_use(p),
            Operand::reg_use(new),
            Operand::reg_fixed_use(old, RAX),
            Operand::reg_fixed_def(d, RAX),
        ];
        self.push(What::CompareAndSwap(view(ty)), &list);
        Ok(())
    }

    /// `d = op(x)`, in place.
    fn one(&mut self, code: Code, d: VReg, x: VReg, w: View) {
        self.emit(code, &[Part::Both(d, x, w)]);
    }

    fn scalar(&mut self, op: Opcode, data: &InstructionData, r: Value) -> Result<(), Refused> {
        let ty = self.ty(r);
        if let InstructionData::Load { arg, offset, .. } = *data {
            return self.load(op, arg, offset.into(), r);
        }
        let d = self.reg(r);
        let w = view(ty);
        let wide = w == View::D;
        let pick = |narrow: Code, long: Code| if wide { long } else { narrow };
        match *data {
            InstructionData::UnaryImm { .. } => {
                let c = self.number(r).unwrap_or(0);
                self.load_number(ty, d, c)?;
            }
            InstructionData::Binary { args: [x, y], .. } if ty == I16 => {
                self.mask_inst(op, d, x, y)?;
            }
            InstructionData::Binary { args: [x, y], .. } if ty == F32 || ty == F64 => {
                let code = match (op, ty == F64) {
                    (Opcode::Fadd, false) => Code::EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er,
                    (Opcode::Fadd, true) => Code::EVEX_Vaddsd_xmm_k1z_xmm_xmmm64_er,
                    (Opcode::Fsub, false) => Code::EVEX_Vsubss_xmm_k1z_xmm_xmmm32_er,
                    (Opcode::Fsub, true) => Code::EVEX_Vsubsd_xmm_k1z_xmm_xmmm64_er,
                    (Opcode::Fmul, false) => Code::EVEX_Vmulss_xmm_k1z_xmm_xmmm32_er,
                    (Opcode::Fmul, true) => Code::EVEX_Vmulsd_xmm_k1z_xmm_xmmm64_er,
                    (Opcode::Fdiv, false) => Code::EVEX_Vdivss_xmm_k1z_xmm_xmmm32_er,
                    (Opcode::Fdiv, true) => Code::EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er,
                    _ => return Err(no(&op.to_string(), ty)),
                };
                let y = self.float(y);
                let x = Part::Use(self.reg(x), View::X);
                self.emit(code, &[Part::Def(d, View::X), x, y]);
            }
            InstructionData::Binary { args: [x, y], .. } => self.integers(op, ty, d, x, y)?,
            InstructionData::IntCompare { args: [x, y], cond, .. } => {
                let c = self.compare(cond, x, y)?;
                self.emit(SET[c as usize], &[Part::Def(d, View::B)]);
            }
            InstructionData::FloatCompare { args: [x, y], cond, .. } => {
                let k = self.temp(RegClass::Vector);
                self.compare_floats(k, cond, x, y)?;
                self.emit(Code::VEX_Kmovw_r32_kr, &[Part::Def(d, View::W), Part::Use(k, View::K)]);
            }
            InstructionData::Ternary { opcode: Opcode::Select, args: [c, x, y] } => {
                match class(ty) {
                    RegClass::Int => {
                        let x = self.operand(x, w);
                        let y = self.reg(y);
                        let c = self.flags(c)?;
                        self.emit(choose(c, wide)?, &[Part::Both(d, y, w), x]);
                    }
                    RegClass::Float => {
                        let k = self.lane_mask(c)?;
                        let (x, y) = (self.reg(x), self.reg(y));
                        let code = if ty == F64 {
                            Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64
                        } else {
                            Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32
                        };
                        self.emit(
                            code,
                            &[
                                Part::Def(d, View::Z),
                                Part::Under(k),
                                Part::Use(y, View::Z),
                                Part::Use(x, View::Z),
                            ],
                        );
                    }
                    RegClass::Vector => return Err("a choice of masks".into()),
                }
            }
            InstructionData::Ternary { opcode: Opcode::Fma, args: [x, y, z] } => {
                let code = if ty == F64 {
                    Code::EVEX_Vfmadd231sd_xmm_k1z_xmm_xmmm64_er
                } else {
                    Code::EVEX_Vfmadd231ss_xmm_k1z_xmm_xmmm32_er
                };
                let y = self.float(y);
                let (x, z) = (self.reg(x), self.reg(z));
                self.emit(code, &[Part::Both(d, z, View::X), Part::Use(x, View::X), y]);
            }
            InstructionData::BinaryImm8 { opcode: Opcode::Extractlane, arg, imm } => {
                self.extract(arg, imm, r)?;
            }
            InstructionData::Unary { arg: x, .. }
            | InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg: x, .. } => {
                let from = self.ty(x);
                match op {
                    Opcode::Bnot if ty == I16 => {
                        let x = self.reg(x);
                        self.emit(
                            Code::VEX_Knotw_kr_kr,
                            &[Part::Def(d, View::K), Part::Use(x, View::K)],
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
                        self.emit(code, &[Part::Both(d, t, w), Part::Use(x, w)]);
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
                        self.emit(code, &[Part::Def(d, w), x]);
                    }
                    Opcode::Bitrev if ty == I32 => self.reversed(d, x),
                    Opcode::Bmask if ty == I32 || ty == I64 => {
                        let t = self.carry(x)?;
                        let code = pick(Code::Sbb_r32_rm32, Code::Sbb_r64_rm64);
                        self.emit(code, &[Part::Both(d, t, w), Part::Use(t, w)]);
                    }
                    Opcode::Uextend | Opcode::Sextend => self.extend(op, from, ty, d, x)?,
                    // Masks; other types keep the register.
                    Opcode::Ireduce if ty == I16 => {
                        let x = self.reg(x);
                        self.emit(
                            Code::VEX_Kmovw_kr_r32,
                            &[Part::Def(d, View::K), Part::Use(x, View::W)],
                        );
                    }
                    Opcode::Bitcast => self.bitcast(from, ty, d, x)?,
                    Opcode::Sqrt if ty == F32 || ty == F64 => {
                        let code = if ty == F64 {
                            Code::EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er
                        } else {
                            Code::EVEX_Vsqrtss_xmm_k1z_xmm_xmmm32_er
                        };
                        let x = Part::Use(self.reg(x), View::X);
                        self.emit(code, &[Part::Def(d, View::X), x, x]);
                    }
                    Opcode::FcvtFromSint | Opcode::FcvtFromUint => {
                        let signed = op == Opcode::FcvtFromSint;
                        let code = match (signed, from, ty) {
                            (true, I32, F32) => Code::EVEX_Vcvtsi2ss_xmm_xmm_rm32_er,
                            (true, I32, F64) => Code::EVEX_Vcvtsi2sd_xmm_xmm_rm32_er,
                            (false, I32, F32) => Code::EVEX_Vcvtusi2ss_xmm_xmm_rm32_er,
                            (false, I32, F64) => Code::EVEX_Vcvtusi2sd_xmm_xmm_rm32_er,
                            _ => return Err(no("a conversion", from)),
                        };
                        let x = Part::Use(self.reg(x), View::W);
                        let zero = self.zero();
                        self.emit(code, &[Part::Def(d, View::X), Part::Use(zero, View::X), x]);
                    }
                    Opcode::FcvtToSintSat if from == F32 && ty == I32 => {
                        let x = self.reg(x);
                        let t = self.vector();
                        self.cut_to_int(t, Part::Use(x, View::Z), x);
                        self.emit(
                            Code::EVEX_Vmovd_rm32_xmm,
                            &[Part::Def(d, View::W), Part::Use(t, View::X)],
                        );
                    }
                    _ => return Err(no(&op.to_string(), ty)),
                }
            }
            _ => return Err(no(&op.to_string(), ty)),
        }
        Ok(())
    }

    /// A register whose sum with itself and the carry is the mask of `x`: the carry says whether that is not 0.
    fn carry(&mut self, x: Value) -> Result<VReg, Refused> {
        if self.ty(x) == I16 {
            return Err("a mask as a number".into());
        }
        let w = if self.ty(x) == I8 { View::B } else { view(self.ty(x)) };
        let code = match w {
            View::B => Code::Neg_rm8,
            View::D => Code::Neg_rm64,
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
        self.emit(Code::Sbb_r32_rm32, &[Part::Both(all, t, View::W), Part::Use(t, View::W)]);
        let k = self.temp(RegClass::Vector);
        self.emit(Code::VEX_Kmovw_kr_r32, &[Part::Def(k, View::K), Part::Use(all, View::W)]);
        Ok(k)
    }

    fn load_number(&mut self, ty: Type, d: VReg, c: i64) -> Result<(), Refused> {
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
                        &[Part::Def(d, View::K), Part::Again(View::K), Part::Again(View::K)],
                    );
                }
                c => {
                    let t = self.temp(RegClass::Int);
                    self.emit(
                        Code::Mov_r32_imm32,
                        &[Part::Def(t, View::W), Part::Imm(i64::from(c))],
                    );
                    self.emit(
                        Code::VEX_Kmovw_kr_r32,
                        &[Part::Def(d, View::K), Part::Use(t, View::W)],
                    );
                }
            },
            I64 if u32::try_from(c).is_ok() => {
                self.emit(Code::Mov_r32_imm32, &[Part::Def(d, View::W), Part::Imm(c)]);
            }
            I64 if i32::try_from(c).is_ok() => {
                self.emit(Code::Mov_rm64_imm32, &[Part::Def(d, View::D), Part::Imm(c)]);
            }
            I64 => self.emit(Code::Mov_r64_imm64, &[Part::Def(d, View::D), Part::Imm(c)]),
            I8 | I32 => {
                self.emit(
                    Code::Mov_r32_imm32,
                    &[Part::Def(d, View::W), Part::Imm(i64::from(c as u32))],
                );
            }
            _ => return Err(no("a constant", ty)),
        }
        Ok(())
    }

    fn mask_inst(&mut self, op: Opcode, d: VReg, x: Value, y: Value) -> Result<(), Refused> {
        if op == Opcode::Ushr {
            let n = self.number(y).ok_or("a shift of a mask")?;
            let x = Part::Use(self.reg(x), View::K);
            self.emit(
                Code::VEX_Kshiftrw_kr_kr_imm8,
                &[Part::Def(d, View::K), x, Part::Imm(n & 15)],
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
        let (x, y) = (Part::Use(self.reg(x), View::K), Part::Use(self.reg(y), View::K));
        self.emit(code, &[Part::Def(d, View::K), x, y]);
        Ok(())
    }

    fn integers(
        &mut self,
        op: Opcode,
        ty: Type,
        d: VReg,
        x: Value,
        y: Value,
    ) -> Result<(), Refused> {
        let w = view(ty);
        let wide = w == View::D;
        let pick = |narrow: Code, long: Code| if wide { long } else { narrow };
        let small = self.small(y);
        match op {
            Opcode::Iadd | Opcode::Isub if small.is_some_and(|c| c != i64::from(i32::MIN)) => {
                let c = small.unwrap_or(0);
                let disp = if op == Opcode::Iadd { c } else { -c } as i32;
                let a = if wide {
                    self.address(x, disp)
                } else {
                    let base = Some(self.reg(x));
                    super::machine::Address { base, disp, ..Default::default() }
                };
                self.emit(pick(Code::Lea_r32_m, Code::Lea_r64_m), &[Part::Def(d, w), Part::Mem(a)]);
            }
            Opcode::Iadd | Opcode::Isub | Opcode::Band | Opcode::Bor | Opcode::Bxor => {
                let codes = two(op).ok_or("an operation")?;
                if let Some((x, y)) = self.and_not(x, y).filter(|_| op == Opcode::Band) {
                    let (x, y) = (Part::Use(self.reg(x), w), Part::Use(self.reg(y), w));
                    let code = pick(Code::VEX_Andn_r32_r32_rm32, Code::VEX_Andn_r64_r64_rm64);
                    self.emit(code, &[Part::Def(d, w), y, x]);
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
                    self.emit(code, &[Part::Both(d, x, w), Part::Imm(c)]);
                    return Ok(());
                }
                // Bytes in memory are bytes.
                let from_memory = ty == I32 || ty == I64;
                let mut y_part =
                    if from_memory { self.operand(y, w) } else { Part::Use(self.reg(y), w) };
                let mut x = x;
                if op != Opcode::Isub && from_memory && matches!(y_part, Part::Use(..)) {
                    let x_part = self.operand(x, w);
                    if matches!(x_part, Part::Mem(_)) {
                        (x, y_part) = (y, x_part);
                    }
                }
                if op == Opcode::Iadd
                    && let Part::Use(y, _) = y_part
                {
                    let a = super::machine::Address {
                        base: Some(self.reg(x)),
                        index: Some((y, 1)),
                        ..Default::default()
                    };
                    self.emit(
                        pick(Code::Lea_r32_m, Code::Lea_r64_m),
                        &[Part::Def(d, w), Part::Mem(a)],
                    );
                    return Ok(());
                }
                let x = self.reg(x);
                self.emit(pick(codes.r32, codes.r64), &[Part::Both(d, x, w), y_part]);
            }
            Opcode::Imul => {
                if ty == I8 {
                    return Err(no("a product", ty));
                }
                if let Some(c) = small {
                    let x = self.operand(x, w);
                    let code = pick(Code::Imul_r32_rm32_imm32, Code::Imul_r64_rm64_imm32);
                    self.emit(code, &[Part::Def(d, w), x, Part::Imm(c)]);
                } else {
                    let y = self.operand(y, w);
                    let x = self.reg(x);
                    let code = pick(Code::Imul_r32_rm32, Code::Imul_r64_rm64);
                    self.emit(code, &[Part::Both(d, x, w), y]);
                }
            }
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
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
                            let code =
                                pick(Code::VEX_Rorx_r32_rm32_imm8, Code::VEX_Rorx_r64_rm64_imm8);
                            self.emit(code, &[Part::Def(d, w), x, Part::Imm(n)]);
                            return Ok(());
                        }
                    };
                    let x = self.reg(x);
                    self.emit(code, &[Part::Both(d, x, w), Part::Imm(n)]);
                } else {
                    let code = match op {
                        Opcode::Ishl => {
                            pick(Code::VEX_Shlx_r32_rm32_r32, Code::VEX_Shlx_r64_rm64_r64)
                        }
                        Opcode::Ushr => {
                            pick(Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64)
                        }
                        Opcode::Sshr => {
                            pick(Code::VEX_Sarx_r32_rm32_r32, Code::VEX_Sarx_r64_rm64_r64)
                        }
                        _ => return Err(no(&op.to_string(), ty)),
                    };
                    let n = Part::Use(self.reg(y), w);
                    let x = self.operand(x, w);
                    self.emit(code, &[Part::Def(d, w), x, n]);
                }
            }
            Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax => {
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
                self.emit(code, &[Part::Use(a, w), Part::Use(b, w)]);
                let c = super::lower::condition(cond);
                self.emit(choose(c, wide)?, &[Part::Both(d, b, w), Part::Use(a, w)]);
            }
            _ => return Err(no(&op.to_string(), ty)),
        }
        Ok(())
    }

    fn extend(
        &mut self,
        op: Opcode,
        from: Type,
        ty: Type,
        d: VReg,
        x: Value,
    ) -> Result<(), Refused> {
        let signed = op == Opcode::Sextend;
        if from == I16 {
            let x = Part::Use(self.reg(x), View::K);
            if signed {
                return Err("the sign of a mask".into());
            }
            self.emit(Code::VEX_Kmovw_r32_kr, &[Part::Def(d, View::W), x]);
            return Ok(());
        }
        let wide = ty == I64;
        let (code, to, part) = match (from, signed) {
            (I8, false) => (Code::Movzx_r32_rm8, View::W, Part::Use(self.reg(x), View::B)),
            (I8, true) if wide => (Code::Movsx_r64_rm8, View::D, Part::Use(self.reg(x), View::B)),
            (I8, true) => (Code::Movsx_r32_rm8, View::W, Part::Use(self.reg(x), View::B)),
            (I32, false) => (Code::Mov_r32_rm32, View::W, self.operand(x, View::W)),
            (I32, true) => (Code::Movsxd_r64_rm32, View::D, self.operand(x, View::W)),
            _ => return Err(no(&op.to_string(), from)),
        };
        self.emit(code, &[Part::Def(d, to), part]);
        Ok(())
    }

    fn bitcast(&mut self, from: Type, ty: Type, d: VReg, x: Value) -> Result<(), Refused> {
        let to_vector = class(ty) == RegClass::Float;
        if to_vector {
            if let Some(m) = self.folded(x, ty.bytes()) {
                let code = if ty == F32 {
                    Code::EVEX_Vmovss_xmm_k1z_m32
                } else {
                    Code::EVEX_Vmovsd_xmm_k1z_m64
                };
                self.emit(code, &[Part::Def(d, View::X), Part::Mem(m)]);
                return Ok(());
            }
            if let Some(c) = self.number(x) {
                // As a constant in memory: no way through a general register.
                let bytes = ty.bytes() as usize;
                let m = self.constant(c.to_le_bytes()[..bytes].to_vec());
                let code = if ty == F32 {
                    Code::EVEX_Vmovss_xmm_k1z_m32
                } else {
                    Code::EVEX_Vmovsd_xmm_k1z_m64
                };
                self.emit(code, &[Part::Def(d, View::X), Part::Mem(m)]);
                return Ok(());
            }
        }
        let (code, a, b) = match (from, ty) {
            (I32, F32) => (Code::EVEX_Vmovd_xmm_rm32, View::X, View::W),
            (I64, F64) => (Code::EVEX_Vmovq_xmm_rm64, View::X, View::D),
            (F32, I32) => (Code::EVEX_Vmovd_rm32_xmm, View::W, View::X),
            (F64, I64) => (Code::EVEX_Vmovq_rm64_xmm, View::D, View::X),
            _ => return Err(format!("{from} as {ty}")),
        };
        let x = self.reg(x);
        self.emit(code, &[Part::Def(d, a), Part::Use(x, b)]);
        Ok(())
    }

    /// The bits of 32 in the other order.
    fn reversed(&mut self, d: VReg, x: Value) {
        let mut x = self.reg(x);
        for (n, m) in [(1, 0x5555_5555i64), (2, 0x3333_3333), (4, 0x0f0f_0f0f)] {
            let [a, b, c, e, sum] = std::array::from_fn(|_| self.temp(RegClass::Int));
            let imm = |c| Part::Imm(c);
            self.emit(Code::Shr_rm32_imm8, &[Part::Both(a, x, View::W), imm(n)]);
            self.emit(Code::And_rm32_imm32, &[Part::Both(b, a, View::W), imm(m)]);
            self.emit(Code::And_rm32_imm32, &[Part::Both(c, x, View::W), imm(m)]);
            self.emit(Code::Shl_rm32_imm8, &[Part::Both(e, c, View::W), imm(n)]);
            self.emit(Code::Or_r32_rm32, &[Part::Both(sum, e, View::W), Part::Use(b, View::W)]);
            x = sum;
        }
        self.one(Code::Bswap_r32, d, x, View::W);
    }

    /// What a word is.
    pub(super) fn lower_word(
        &mut self,
        word: Word,
        number: u32,
        args: &[Value],
        result: Option<Value>,
    ) -> Result<(), Refused> {
        self.vector_word(word, number, args, result)
    }
}
