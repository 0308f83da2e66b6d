//! One instruction at a time.

use std::fmt::Write;

use super::operand::{Address, List, Operand};
use super::types::{
    bits, float, integral, memory_type, move_type, rounding, signed, stored_type, unsigned,
};
use super::writer::Writer;
use crate::diag::{Code, Diag};
use crate::ir::{
    Asm, AsmOperand, Atomic, BinOp, Cmp, Mem, MemTy, Op, ParamKind, Space, Sreg, TernOp, Ty, UnOp,
    Val, Warp,
};

/// Private memory is seen by its thread alone, and PTX has no `.volatile` for it before version 9.1.
fn volatile(m: &Mem) -> &'static str {
    match m.space {
        Space::Global | Space::Shared | Space::Constant | Space::Generic if m.volatile => {
            ".volatile"
        }
        Space::Global
        | Space::Shared
        | Space::Constant
        | Space::Generic
        | Space::Local
        | Space::Param => "",
    }
}

/// The space as instructions name it, with its dot; none for generic addresses.
fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => ".global",
        Space::Shared => ".shared",
        Space::Local => ".local",
        Space::Param => ".param",
        Space::Constant => ".const",
        Space::Generic => "",
    }
}

impl<'w> Writer<'w> {
    /// Writes an instruction: the parts of its name, and its operands.
    fn emit(&mut self, name: &[&str], operands: &[Operand<'_>]) {
        self.body.push_str("    ");
        for part in name {
            self.body.push_str(part);
        }
        self.body.push(' ');
        let _ = writeln!(self.body, "{};", List(operands));
    }

    /// A value as an operand: register or literal.
    pub(super) fn operand(&self, v: Val) -> Operand<'w> {
        match *self.f.op(v) {
            Op::Const(value) => match self.f.ty(v) {
                Ty::F32 => Operand::Single(value as u32),
                Ty::F64 => Operand::Double(value),
                Ty::F16 => Operand::Half(value),
                Ty::I32 => Operand::Int((value as u32 as i32).into()),
                Ty::None | Ty::Pred | Ty::I64 => Operand::Int(value as i64),
            },
            Op::Undef => match self.f.ty(v) {
                Ty::F32 => Operand::Single(0),
                Ty::F64 => Operand::Double(0),
                Ty::None | Ty::Pred | Ty::F16 | Ty::I32 | Ty::I64 => Operand::Int(0),
            },
            _ => Operand::Reg(self.registers.of(self.f, v)),
        }
    }

    /// A value in a register, moved there if it is a literal.
    fn in_register(&mut self, v: Val) -> Operand<'w> {
        if !matches!(self.f.op(v), Op::Const(_) | Op::Undef) {
            return self.operand(v);
        }
        let ty = self.f.ty(v);
        let r = self.scratch(ty);
        if ty == Ty::Pred {
            let op = if self.f.as_const(v).is_some_and(|c| c != 0) { "eq" } else { "ne" };
            self.line(format_args!("setp.{op}.s32 {r}, 0, 0;"));
        } else {
            self.emit(&["mov.", move_type(ty)], &[r, self.operand(v)]);
        }
        r
    }

    fn scratch(&mut self, ty: Ty) -> Operand<'w> {
        Operand::Reg(self.registers.scratch(ty))
    }

    fn address(&mut self, m: &Mem, a: Val) -> Address<'w> {
        let base = match *self.f.op(a) {
            Op::GlobalAddr(g) => Operand::Name(&self.globals[g as usize]),
            Op::PrivateAddr(s) => Operand::Name(&self.privates[s.0 as usize]),
            Op::ParamAddr(i) => Operand::Name(&self.f.params[i as usize].name),
            _ => self.in_register(a),
        };
        Address { base, offset: m.offset }
    }

    fn space(&self, m: &Mem, a: Val) -> Result<&'static str, Diag> {
        Ok(match m.space {
            Space::Constant => self.constant_space(a),
            other => space_name(other),
        })
    }

    fn ftz(&self, ty: Ty) -> &'static str {
        if ty == Ty::F32 && self.options.denorms_are_zero && self.options.sm >= 20 {
            ".ftz"
        } else {
            ""
        }
    }

    fn unsupported(&self, what: &str, sm: u32) -> Diag {
        let message = format!(
            "kernel `{}`: {what} needs sm_{sm}; the target is sm_{}",
            self.f.name, self.options.sm
        );
        Diag::error(Code::Extension, message)
    }

    pub(super) fn instruction(&mut self, v: Val) -> Result<(), Diag> {
        let f = self.f;
        let ty = f.ty(v);
        self.location(v);
        let d = match self.needs[v.0 as usize] {
            true => Operand::Reg(self.registers.of(f, v)),
            false => Operand::Nothing,
        };
        match *f.op(v) {
            Op::Const(_) | Op::Undef | Op::BlockParam | Op::ParamAddr(_) => {}
            Op::Extract(from, i) => {
                let written = self.asm_outputs.get(&from).and_then(|o| o.get(usize::from(i)));
                if let (Some(&written), Operand::Reg(_)) = (written, d) {
                    self.emit(&["mov.", move_type(ty)], &[d, Operand::Reg(written)]);
                }
            }
            Op::Asm(number, inputs) => self.assembly(v, &f.asm[number as usize], &inputs),
            // Written where it is used as an address.
            Op::GlobalAddr(_) | Op::PrivateAddr(_) if d == Operand::Nothing => {}
            Op::GlobalAddr(g) => {
                self.emit(&["mov.u64"], &[d, Operand::Name(&self.globals[g as usize])]);
            }
            Op::PrivateAddr(s) => {
                self.emit(&["mov.u64"], &[d, Operand::Name(&self.privates[s.0 as usize])]);
            }
            Op::Param(i) => {
                let param = &f.params[i as usize];
                let t = match param.kind {
                    ParamKind::Scalar(m) => memory_type(m),
                    ParamKind::Pointer(..) | ParamKind::Bytes { .. } => "u64",
                };
                self.line(format_args!("ld.param.{t} {d}, [{}];", param.name));
            }
            Op::Sreg(s) => {
                let (name, n) = match s {
                    Sreg::Tid(n) => ("tid", n),
                    Sreg::Ntid(n) => ("ntid", n),
                    Sreg::Ctaid(n) => ("ctaid", n),
                    Sreg::Nctaid(n) => ("nctaid", n),
                    Sreg::Lane => {
                        self.line(format_args!("mov.u32 {d}, %laneid;"));
                        return Ok(());
                    }
                    Sreg::EnvReg(n) => {
                        self.line(format_args!("mov.u32 {d}, %envreg{n};"));
                        return Ok(());
                    }
                };
                let axis = ["x", "y", "z"][usize::from(n.min(2))];
                // Sixteen bits wide before PTX 2.0.
                let read = if self.options.sm < 20 { "cvt.u32.u16" } else { "mov.u32" };
                self.line(format_args!("{read} {d}, %{name}.{axis};"));
            }
            Op::Bin(op, a, b) => self.binary(op, ty, d, a, b)?,
            Op::Un(op, a) => self.unary(op, ty, d, a)?,
            Op::Tern(op, a, b, c) => {
                // PTX has no literals of half precision.
                let [a, b, c] = [a, b, c].map(|v| match ty {
                    Ty::F16 => self.in_register(v),
                    _ => self.operand(v),
                });
                let name: &[&str] = match op {
                    TernOp::Fma if self.options.sm < 20 && ty == Ty::F32 => &["mad.f32"],
                    TernOp::Fma if self.options.sm < 20 => &["mad.rn.f64"],
                    TernOp::Fma => &["fma.rn", self.ftz(ty), ".", float(ty)],
                    TernOp::Mad => &["mad.lo.", signed(ty)],
                    TernOp::SMad24 => &["mad24.lo.s32"],
                    TernOp::UMad24 => &["mad24.lo.u32"],
                    TernOp::SMadWide => &["mad.wide.s32"],
                    TernOp::UMadWide => &["mad.wide.u32"],
                };
                self.emit(name, &[d, a, b, c]);
            }
            Op::Cmp(c, a, b) => self.compare(c, d, a, b),
            Op::Select(c, a, b) => {
                let t = if ty.is_float() && ty != Ty::F16 { float(ty) } else { bits(ty) };
                let c = self.in_register(c);
                self.emit(&["selp.", t], &[d, self.operand(a), self.operand(b), c]);
            }
            Op::Load(m, a) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let volatile = volatile(&m);
                // Registers for halves and for narrow integers differ in width from their memory.
                self.line(format_args!("ld{volatile}{space}.{} {d}, {at};", memory_type(m.ty)));
            }
            Op::Store(m, a, x) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let volatile = volatile(&m);
                let x = if m.ty == MemTy::F16 { self.in_register(x) } else { self.operand(x) };
                self.line(format_args!("st{volatile}{space}.{} {at}, {x};", stored_type(m.ty)));
            }
            Op::LoadVec(m, a, n) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let mut parts = [Operand::Nothing; 4];
                let parts = &mut parts[..usize::from(n)];
                for (e, i) in self.extracts.get(&v).into_iter().flatten() {
                    parts[usize::from(*i)] = Operand::Reg(self.registers.of(f, *e));
                }
                for part in parts.iter_mut().filter(|p| **p == Operand::Nothing) {
                    *part = self.scratch(m.ty.ty());
                }
                let t = memory_type(m.ty);
                self.line(format_args!("ld{space}.v{n}.{t} {{{}}}, {at};", List(parts)));
            }
            Op::StoreVec(m, a, list) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let mut parts = [Operand::Nothing; 4];
                let parts = &mut parts[..list.len()];
                for (part, x) in parts.iter_mut().zip(list.iter()) {
                    *part = self.in_register(*x);
                }
                let (n, t) = (list.len(), stored_type(m.ty));
                self.line(format_args!("st{space}.v{n}.{t} {at}, {{{}}};", List(parts)));
            }
            Op::Atomic(op, m, a, x, y) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let wide = m.ty == MemTy::B64;
                let (name, t) = match op {
                    Atomic::Add => ("add", if wide { "u64" } else { "u32" }),
                    Atomic::Exch => ("exch", if wide { "b64" } else { "b32" }),
                    Atomic::Cas => ("cas", if wide { "b64" } else { "b32" }),
                    Atomic::SMin => ("min", if wide { "s64" } else { "s32" }),
                    Atomic::SMax => ("max", if wide { "s64" } else { "s32" }),
                    Atomic::UMin => ("min", if wide { "u64" } else { "u32" }),
                    Atomic::UMax => ("max", if wide { "u64" } else { "u32" }),
                    Atomic::And => ("and", if wide { "b64" } else { "b32" }),
                    Atomic::Or => ("or", if wide { "b64" } else { "b32" }),
                    Atomic::Xor => ("xor", if wide { "b64" } else { "b32" }),
                };
                let operands = [self.operand(x), y.map_or(Operand::Nothing, |y| self.operand(y))];
                let operands = List(&operands[..1 + usize::from(y.is_some())]);
                if d == Operand::Nothing && !matches!(op, Atomic::Exch | Atomic::Cas) {
                    self.line(format_args!("red{space}.{name}.{t} {at}, {operands};"));
                } else {
                    let d = if d == Operand::Nothing { self.scratch(ty) } else { d };
                    self.line(format_args!("atom{space}.{name}.{t} {d}, {at}, {operands};"));
                }
            }
            Op::Generic(space, a) => {
                self.emit(&["cvta", space_name(space), ".u64"], &[d, self.operand(a)]);
            }
            Op::Specific(space, a) => {
                let a = self.in_register(a);
                self.emit(&["cvta.to", space_name(space), ".u64"], &[d, a]);
            }
            Op::Within(space, a) => {
                let a = self.in_register(a);
                self.emit(&["isspacep", space_name(space)], &[d, a]);
            }
            Op::Warp(what, list) => self.warp(what, d, &list)?,
            Op::Printf(format, buffer) => {
                let format = self.in_register(format);
                let generic = self.scratch(Ty::I64);
                if self.f.as_const(buffer).is_some() {
                    self.line(format_args!("mov.u64 {generic}, 0;"));
                } else {
                    let buffer = self.in_register(buffer);
                    self.line(format_args!("cvta.local.u64 {generic}, {buffer};"));
                }
                self.line(format_args!("{{"));
                self.line(format_args!(".param .b64 format;"));
                self.line(format_args!(".param .b64 values;"));
                self.line(format_args!(".param .b32 result;"));
                self.line(format_args!("st.param.b64 [format], {format};"));
                self.line(format_args!("st.param.b64 [values], {generic};"));
                self.line(format_args!("call (result), vprintf, (format, values);"));
                self.line(format_args!("ld.param.b32 {d}, [result];"));
                self.line(format_args!("}}"));
            }
            Op::Call(callee, frame) => {
                let frame = self.in_register(frame);
                let name = &f.callees[callee as usize];
                self.line(format_args!("{{"));
                self.line(format_args!(".param .b64 frame;"));
                self.line(format_args!("st.param.b64 [frame], {frame};"));
                self.line(format_args!("call {name}, (frame);"));
                self.line(format_args!("}}"));
            }
            Op::Barrier => self.line(format_args!("bar.sync 0;")),
            Op::Fence(true) => self.line(format_args!("membar.gl;")),
            Op::Fence(false) => self.line(format_args!("membar.cta;")),
        }
        Ok(())
    }

    fn warp(&mut self, what: Warp, d: Operand<'w>, list: &[Val]) -> Result<(), Diag> {
        if self.options.sm < 70 {
            return Err(self.unsupported("a sub-group function", 70));
        }
        let mut operands = [Operand::Nothing; 3];
        for (operand, v) in operands.iter_mut().zip(list) {
            *operand = self.operand(*v);
        }
        // Sub-groups are whole warps; a shift up is bounded below, the others above.
        let (name, bound) = match what {
            Warp::Index => ("idx", 31),
            Warp::Up => ("up", 0),
            Warp::Down => ("down", 31),
            Warp::Xor => ("bfly", 31),
            Warp::Ballot => {
                let holds = self.in_register(list[0]);
                self.emit(&["vote.sync.ballot.b32"], &[d, holds, operands[1]]);
                return Ok(());
            }
            Warp::Active => {
                self.line(format_args!("activemask.b32 {d};"));
                return Ok(());
            }
            Warp::Sync => {
                self.emit(&["bar.warp.sync"], &[operands[0]]);
                return Ok(());
            }
        };
        let value = self.in_register(list[0]);
        let [_, by, mask] = operands;
        self.emit(&["shfl.sync.", name, ".b32"], &[d, value, by, Operand::Int(bound), mask]);
        Ok(())
    }

    /// Assembly with fresh registers for what it writes: it may write one output before it reads an input.
    fn assembly(&mut self, v: Val, asm: &Asm, inputs: &[Val]) {
        let inputs: Vec<Operand<'w>> = inputs.iter().map(|i| self.in_register(*i)).collect();
        let mut outputs = Vec::new();
        for &(ty, before) in &asm.outputs {
            let r = self.registers.scratch(ty);
            if let Some(before) = before {
                self.emit(&["mov.", move_type(ty)], &[Operand::Reg(r), inputs[before]]);
            }
            outputs.push(r);
        }
        let mut text = String::new();
        for (plain, operand) in &asm.text {
            text.push_str(plain);
            let _ = match operand {
                None => Ok(()),
                Some(AsmOperand::Output(i)) => write!(text, "{}", outputs[*i]),
                Some(AsmOperand::Input(i)) => write!(text, "{}", inputs[*i]),
                Some(AsmOperand::Literal(n)) => write!(text, "{n}"),
            };
        }
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            self.line(format_args!("{line}"));
        }
        self.asm_outputs.insert(v, outputs);
    }

    fn binary(&mut self, op: BinOp, ty: Ty, d: Operand<'w>, a: Val, b: Val) -> Result<(), Diag> {
        use BinOp::*;
        let old = self.options.sm < 20;
        let ftz = self.ftz(ty);
        let t = float(ty);
        let name: &[&str] = match op {
            Rotl => {
                self.rotation(d, a, b);
                return Ok(());
            }
            Add => &["add.", signed(ty)],
            Sub => &["sub.", signed(ty)],
            Mul => &["mul.lo.", signed(ty)],
            SMulHi => &["mul.hi.", signed(ty)],
            UMulHi => &["mul.hi.", unsigned(ty)],
            SMul24 => &["mul24.lo.s32"],
            UMul24 => &["mul24.lo.u32"],
            SMulWide => &["mul.wide.s32"],
            UMulWide => &["mul.wide.u32"],
            SDiv => &["div.", signed(ty)],
            UDiv => &["div.", unsigned(ty)],
            SRem => &["rem.", signed(ty)],
            URem => &["rem.", unsigned(ty)],
            And => &["and.", bits(ty)],
            Or => &["or.", bits(ty)],
            Xor => &["xor.", bits(ty)],
            Shl => &["shl.", bits(ty)],
            LShr => &["shr.", unsigned(ty)],
            AShr => &["shr.", signed(ty)],
            SMin => &["min.", signed(ty)],
            SMax => &["max.", signed(ty)],
            UMin => &["min.", unsigned(ty)],
            UMax => &["max.", unsigned(ty)],
            FAdd => &["add.rn", ftz, ".", t],
            FSub if ty == Ty::F16 => &["sub.rn.f16"],
            FSub => &["sub.rn", ftz, ".", t],
            FMul => &["mul.rn", ftz, ".", t],
            FAddRz => &["add.rz", ftz, ".", t],
            FDiv if old && ty == Ty::F32 => &["div.full.f32"],
            FDiv => &["div.rn", ftz, ".", t],
            FDivFull | FDivApprox if ty != Ty::F32 => &["div.rn.", t],
            FDivFull => &["div.full", ftz, ".f32"],
            FDivApprox => &["div.approx", ftz, ".f32"],
            FMin => &["min", ftz, ".", t],
            FMax => &["max", ftz, ".", t],
        };
        if ty == Ty::F16 && self.options.sm < 53 {
            return Err(self.unsupported("half arithmetic", 53));
        }
        let literals = ty != Ty::Pred && ty != Ty::F16;
        let [a, b] = [a, b].map(|v| if literals { self.operand(v) } else { self.in_register(v) });
        self.emit(name, &[d, a, b]);
        Ok(())
    }

    fn rotation(&mut self, d: Operand<'w>, a: Val, b: Val) {
        let (a, b) = (self.in_register(a), self.operand(b));
        if self.options.sm >= 32 {
            self.emit(&["shf.l.wrap.b32"], &[d, a, a, b]);
            return;
        }
        // Shifts by 32 give 0.
        let [n, high, low] = [0; 3].map(|_| self.scratch(Ty::I32));
        self.emit(&["and.b32"], &[n, b, Operand::Int(31)]);
        self.emit(&["shl.b32"], &[high, a, n]);
        self.emit(&["sub.s32"], &[n, Operand::Int(32), n]);
        self.emit(&["shr.u32"], &[low, a, n]);
        self.emit(&["or.b32"], &[d, high, low]);
    }

    fn unary(&mut self, op: UnOp, ty: Ty, d: Operand<'w>, a: Val) -> Result<(), Diag> {
        use UnOp::*;
        let from = self.f.ty(a);
        let old = self.options.sm < 20;
        let ftz = self.ftz(from);
        let t = float(ty);
        let source = self.in_register(a);
        if old && matches!(op, Popc | Clz | Brev) {
            return Err(self.unsupported("this integer function", 20));
        }
        let name: &[&str] = match op {
            Neg => &["neg.", signed(ty)],
            Not => &["not.", bits(ty)],
            FNeg | FAbs if ty == Ty::F16 => {
                let r = self.scratch(Ty::F16);
                let (mask, name) =
                    if op == FNeg { (0x8000, "xor.b16") } else { (0x7fff, "and.b16") };
                self.emit(&["mov.b16"], &[r, Operand::Half(mask)]);
                self.emit(&[name], &[d, source, r]);
                return Ok(());
            }
            FNeg => &["neg", ftz, ".", t],
            FAbs => &["abs", ftz, ".", t],
            SAbs => &["abs.", signed(ty)],
            FloorF => &["cvt.rmi", ftz, ".", t, ".", t],
            CeilF => &["cvt.rpi", ftz, ".", t, ".", t],
            TruncF => &["cvt.rzi", ftz, ".", t, ".", t],
            RintF => &["cvt.rni", ftz, ".", t, ".", t],
            SqrtRn if old && ty == Ty::F32 => &["sqrt.approx.f32"],
            SqrtRn => &["sqrt.rn", ftz, ".", t],
            SqrtApprox if ty == Ty::F64 => &["sqrt.rn.f64"],
            SqrtApprox => &["sqrt.approx", ftz, ".f32"],
            RsqrtApprox if ty == Ty::F64 => &["rsqrt.approx.f64"],
            RsqrtApprox => &["rsqrt.approx", ftz, ".f32"],
            RcpRn if old && ty == Ty::F32 => &["rcp.approx.f32"],
            RcpRn => &["rcp.rn", ftz, ".", t],
            RcpApprox if ty == Ty::F64 => &["rcp.rn.f64"],
            RcpApprox => &["rcp.approx", ftz, ".f32"],
            SinApprox => &["sin.approx", ftz, ".f32"],
            CosApprox => &["cos.approx", ftz, ".f32"],
            Ex2Approx => &["ex2.approx", ftz, ".f32"],
            Lg2Approx => &["lg2.approx", ftz, ".f32"],
            Saturate => &["cvt.sat", ftz, ".", t, ".", t],
            Popc => &["popc.", bits(from)],
            Clz => &["clz.", bits(from)],
            Brev => &["brev.", bits(ty)],
            SExt64 => &["cvt.s64.s32"],
            ZExt64 => &["cvt.u64.u32"],
            Trunc32 => &["cvt.u32.u64"],
            SExt8 => &["cvt.s32.s8"],
            ZExt8 => &["cvt.u32.u8"],
            SExt16 => &["cvt.s32.s16"],
            ZExt16 => &["cvt.u32.u16"],
            Bitcast if from == Ty::I32 && ty == Ty::F16 => &["cvt.u16.u32"],
            Bitcast if from == Ty::F16 && ty == Ty::I32 => &["cvt.u32.u16"],
            Bitcast => &["mov.", bits(ty)],
            SToF(r) => &["cvt.", rounding(r), ".", t, ".", signed(from)],
            UToF(r) => &["cvt.", rounding(r), ".", t, ".", unsigned(from)],
            FToS(r) => &["cvt.", integral(r), ftz, ".", signed(ty), ".", float(from)],
            FToU(r) => &["cvt.", integral(r), ftz, ".", unsigned(ty), ".", float(from)],
            FToF(r) => {
                let narrowing = ty.bits() < from.bits();
                let (dot, mode) = if narrowing { (".", rounding(r)) } else { ("", "") };
                let single = ty == Ty::F32 || from == Ty::F32;
                let half = ty == Ty::F16 || from == Ty::F16;
                let ftz = if single && !half { self.ftz(Ty::F32) } else { "" };
                &["cvt", dot, mode, ftz, ".", t, ".", float(from)]
            }
        };
        self.emit(name, &[d, source]);
        Ok(())
    }

    fn compare(&mut self, c: Cmp, d: Operand<'w>, a: Val, b: Val) {
        use Cmp::*;
        let ty = self.f.ty(a);
        let (name, signedness) = match c {
            Eq | FEq => ("eq", 's'),
            Ne => ("ne", 's'),
            FNe => ("neu", 'f'),
            SLt | FLt => ("lt", 's'),
            SLe | FLe => ("le", 's'),
            SGt | FGt => ("gt", 's'),
            SGe | FGe => ("ge", 's'),
            ULt => ("lt", 'u'),
            ULe => ("le", 'u'),
            UGt => ("gt", 'u'),
            UGe => ("ge", 'u'),
            FULt => ("ltu", 'f'),
            FULe => ("leu", 'f'),
            FUGt => ("gtu", 'f'),
            FUGe => ("geu", 'f'),
        };
        let t = if ty.is_float() {
            float(ty)
        } else if signedness == 'u' {
            unsigned(ty)
        } else {
            signed(ty)
        };
        let ftz = self.ftz(ty);
        if ty == Ty::F16 && self.options.sm < 53 {
            // Widening is exact.
            let (x, y) = (self.in_register(a), self.in_register(b));
            let (wx, wy) = (self.scratch(Ty::F32), self.scratch(Ty::F32));
            self.emit(&["cvt.f32.f16"], &[wx, x]);
            self.emit(&["cvt.f32.f16"], &[wy, y]);
            self.emit(&["setp.", name, ".f32"], &[d, wx, wy]);
            return;
        }
        let a = self.in_register(a);
        let b = if ty == Ty::F16 { self.in_register(b) } else { self.operand(b) };
        self.emit(&["setp.", name, ftz, ".", t], &[d, a, b]);
    }
}
