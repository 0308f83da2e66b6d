//! One instruction at a time.

use super::Writer;
use crate::diag::{Code, Diag};
use crate::ir::{Atomic, BinOp, Cmp, Mem, MemTy, Op, Round, Space, Sreg, TernOp, Ty, UnOp, Val};

/// Type suffix of a move.
pub fn move_type(ty: Ty) -> &'static str {
    match ty {
        Ty::None | Ty::Pred => "pred",
        Ty::F16 => "b16",
        Ty::I32 => "u32",
        Ty::I64 => "u64",
        Ty::F32 => "f32",
        Ty::F64 => "f64",
    }
}

fn bits(ty: Ty) -> &'static str {
    match ty {
        Ty::None | Ty::Pred => "pred",
        Ty::F16 => "b16",
        Ty::I32 | Ty::F32 => "b32",
        Ty::I64 | Ty::F64 => "b64",
    }
}

fn signed(ty: Ty) -> &'static str {
    if ty == Ty::I64 { "s64" } else { "s32" }
}

fn unsigned(ty: Ty) -> &'static str {
    if ty == Ty::I64 { "u64" } else { "u32" }
}

fn float(ty: Ty) -> &'static str {
    match ty {
        Ty::F16 => "f16",
        Ty::F64 => "f64",
        _ => "f32",
    }
}

fn rounding(round: Round) -> &'static str {
    match round {
        Round::Nearest => "rn",
        Round::Zero => "rz",
        Round::Up => "rp",
        Round::Down => "rm",
    }
}

fn integral(round: Round) -> &'static str {
    match round {
        Round::Nearest => "rni",
        Round::Zero => "rzi",
        Round::Up => "rpi",
        Round::Down => "rmi",
    }
}

/// The type of a load, a store or a parameter.
pub(super) fn memory_type(ty: MemTy) -> &'static str {
    match ty {
        MemTy::S8 => "s8",
        MemTy::U8 => "u8",
        MemTy::S16 => "s16",
        MemTy::U16 => "u16",
        MemTy::B32 => "u32",
        MemTy::B64 => "u64",
        MemTy::F16 => "b16",
        MemTy::F32 => "f32",
        MemTy::F64 => "f64",
    }
}

impl Writer<'_> {
    /// A value as an operand: register or literal.
    pub(super) fn operand(&self, v: Val) -> String {
        match self.f.op(v) {
            Op::Const(value) => match self.f.ty(v) {
                Ty::F32 => format!("0f{:08X}", *value as u32),
                Ty::F64 => format!("0d{value:016X}"),
                Ty::F16 => format!("0x{value:04X}"),
                Ty::I32 => (*value as u32 as i32).to_string(),
                _ => (*value as i64).to_string(),
            },
            Op::Undef => match self.f.ty(v) {
                Ty::F32 => "0f00000000".into(),
                Ty::F64 => "0d0000000000000000".into(),
                _ => "0".into(),
            },
            _ => self.registers.name(self.f, v),
        }
    }

    /// A value in a register, moved there if it is a literal.
    fn in_register(&mut self, v: Val) -> String {
        if !matches!(self.f.op(v), Op::Const(_) | Op::Undef) {
            return self.operand(v);
        }
        let ty = self.f.ty(v);
        let r = self.registers.scratch(ty);
        let value = self.operand(v);
        if ty == Ty::Pred {
            let op = if self.f.as_const(v).is_some_and(|c| c != 0) { "eq" } else { "ne" };
            self.line(&format!("setp.{op}.s32 {r}, 0, 0;"));
        } else {
            self.line(&format!("mov.{} {r}, {value};", move_type(ty)));
        }
        r
    }

    fn address(&mut self, m: &Mem, a: Val) -> String {
        let base = match self.f.op(a) {
            Op::GlobalAddr(g) => self.globals[*g as usize].clone(),
            Op::SlotAddr(s) => self.slots[s.0 as usize].clone(),
            Op::ParamAddr(i) => self.f.params[*i as usize].name.clone(),
            _ => self.in_register(a),
        };
        match m.offset {
            0 => format!("[{base}]"),
            o if o > 0 => format!("[{base}+{o}]"),
            o => format!("[{base}+{o}]"),
        }
    }

    fn space(&self, m: &Mem, a: Val) -> Result<&'static str, Diag> {
        Ok(match m.space {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
            Space::Constant => self.constant_space(a)?,
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
        let d = if self.needs[v.0 as usize] { self.registers.name(f, v) } else { String::new() };
        let text = match f.op(v).clone() {
            Op::Const(_) | Op::Undef | Op::BlockParam | Op::ParamAddr(_) | Op::Extract(..) => {
                return Ok(());
            }
            Op::GlobalAddr(g) => {
                if d.is_empty() {
                    return Ok(());
                }
                format!("mov.u64 {d}, {}", self.globals[g as usize])
            }
            Op::SlotAddr(s) => {
                if d.is_empty() {
                    return Ok(());
                }
                format!("mov.u64 {d}, {}", self.slots[s.0 as usize])
            }
            Op::Param(i) => {
                let param = &f.params[i as usize];
                let t = match param.kind {
                    crate::ir::ParamKind::Scalar(m) => memory_type(m),
                    _ => "u64",
                };
                format!("ld.param.{t} {d}, [{}]", param.name)
            }
            Op::Sreg(s) => {
                let axis = |n: u8| ["x", "y", "z"][usize::from(n.min(2))];
                let (name, narrow) = match s {
                    Sreg::Tid(n) => (format!("%tid.{}", axis(n)), true),
                    Sreg::Ntid(n) => (format!("%ntid.{}", axis(n)), true),
                    Sreg::Ctaid(n) => (format!("%ctaid.{}", axis(n)), true),
                    Sreg::Nctaid(n) => (format!("%nctaid.{}", axis(n)), true),
                    Sreg::EnvReg(n) => (format!("%envreg{n}"), false),
                };
                // Sixteen bits wide before PTX 2.0.
                if narrow && self.options.sm < 20 {
                    format!("cvt.u32.u16 {d}, {name}")
                } else {
                    format!("mov.u32 {d}, {name}")
                }
            }
            Op::Bin(op, a, b) => self.binary(op, ty, &d, a, b)?,
            Op::Un(op, a) => match self.unary(op, ty, &d, a)? {
                Some(text) => text,
                None => return Ok(()),
            },
            Op::Tern(op, a, b, c) => {
                // PTX has no literals of half precision.
                let [a, b, c] = [a, b, c].map(|v| match ty {
                    Ty::F16 => self.in_register(v),
                    _ => self.operand(v),
                });
                let name = match op {
                    TernOp::Fma if self.options.sm < 20 && ty == Ty::F32 => "mad.f32".into(),
                    TernOp::Fma if self.options.sm < 20 => "mad.rn.f64".into(),
                    TernOp::Fma => format!("fma.rn{}.{}", self.ftz(ty), float(ty)),
                    TernOp::Mad => format!("mad.lo.{}", signed(ty)),
                    TernOp::SMad24 => "mad24.lo.s32".into(),
                    TernOp::UMad24 => "mad24.lo.u32".into(),
                    TernOp::SMadWide => "mad.wide.s32".into(),
                    TernOp::UMadWide => "mad.wide.u32".into(),
                };
                format!("{name} {d}, {a}, {b}, {c}")
            }
            Op::Cmp(c, a, b) => self.compare(c, &d, a, b),
            Op::Select(c, a, b) => {
                let t = if ty.is_float() && ty != Ty::F16 { float(ty) } else { bits(ty) };
                let c = self.in_register(c);
                let (a, b) = (self.operand(a), self.operand(b));
                format!("selp.{t} {d}, {a}, {b}, {c}")
            }
            Op::Load(m, a) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let volatile = if m.volatile { ".volatile" } else { "" };
                // Registers for halves and for narrow integers differ in width from their memory.
                format!("ld{volatile}.{space}.{} {d}, {at}", memory_type(m.ty))
            }
            Op::Store(m, a, x) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let volatile = if m.volatile { ".volatile" } else { "" };
                let x = if m.ty == MemTy::F16 { self.in_register(x) } else { self.operand(x) };
                let t = match m.ty {
                    MemTy::S8 => "u8",
                    MemTy::S16 => "u16",
                    other => memory_type(other),
                };
                format!("st{volatile}.{space}.{t} {at}, {x}")
            }
            Op::LoadVec(m, a, n) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let mut parts = vec![String::new(); usize::from(n)];
                for &b in &self.graph.order {
                    for &e in &f.block(b).insts {
                        if let Op::Extract(from, i) = f.op(e)
                            && *from == v
                        {
                            parts[usize::from(*i)] = self.registers.name(f, e);
                        }
                    }
                }
                let parts: Vec<String> = parts
                    .into_iter()
                    .map(|p| if p.is_empty() { self.registers.scratch(m.ty.ty()) } else { p })
                    .collect();
                format!("ld.{space}.v{n}.{} {{{}}}, {at}", memory_type(m.ty), parts.join(", "))
            }
            Op::StoreVec(m, a, list) => {
                let (space, at) = (self.space(&m, a)?, self.address(&m, a));
                let parts: Vec<String> = list.iter().map(|x| self.in_register(*x)).collect();
                let t = match m.ty {
                    MemTy::S8 => "u8",
                    MemTy::S16 => "u16",
                    other => memory_type(other),
                };
                format!("st.{space}.v{}.{t} {at}, {{{}}}", parts.len(), parts.join(", "))
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
                let mut operands = self.operand(x);
                if let Some(y) = y {
                    operands = format!("{operands}, {}", self.operand(y));
                }
                if d.is_empty() && !matches!(op, Atomic::Exch | Atomic::Cas) {
                    format!("red.{space}.{name}.{t} {at}, {operands}")
                } else {
                    let d = if d.is_empty() { self.registers.scratch(ty) } else { d };
                    format!("atom.{space}.{name}.{t} {d}, {at}, {operands}")
                }
            }
            Op::Generic(a) => {
                let a = self.operand(a);
                format!("cvta.global.u64 {d}, {a}")
            }
            Op::Printf(format, buffer) => {
                let format = self.in_register(format);
                let generic = self.registers.scratch(Ty::I64);
                if self.f.as_const(buffer).is_some() {
                    self.line(&format!("mov.u64 {generic}, 0;"));
                } else {
                    let buffer = self.in_register(buffer);
                    self.line(&format!("cvta.local.u64 {generic}, {buffer};"));
                }
                self.line("{");
                self.line(".param .b64 format;");
                self.line(".param .b64 values;");
                self.line(".param .b32 result;");
                self.line(&format!("st.param.b64 [format], {format};"));
                self.line(&format!("st.param.b64 [values], {generic};"));
                self.line("call (result), vprintf, (format, values);");
                self.line(&format!("ld.param.b32 {d}, [result];"));
                self.line("}");
                return Ok(());
            }
            Op::Barrier => "bar.sync 0".into(),
            Op::Fence(device) => if device { "membar.gl" } else { "membar.cta" }.into(),
        };
        self.line(&format!("{text};"));
        Ok(())
    }

    fn binary(&mut self, op: BinOp, ty: Ty, d: &str, a: Val, b: Val) -> Result<String, Diag> {
        use BinOp::*;
        let old = self.options.sm < 20;
        let ftz = self.ftz(ty);
        let t = float(ty);
        let name = match op {
            Rotl => return Ok(self.rotation(d, a, b)),
            Add => format!("add.{}", signed(ty)),
            Sub => format!("sub.{}", signed(ty)),
            Mul => format!("mul.lo.{}", signed(ty)),
            SMulHi => format!("mul.hi.{}", signed(ty)),
            UMulHi => format!("mul.hi.{}", unsigned(ty)),
            SMul24 => "mul24.lo.s32".into(),
            UMul24 => "mul24.lo.u32".into(),
            SMulWide => "mul.wide.s32".into(),
            UMulWide => "mul.wide.u32".into(),
            SDiv => format!("div.{}", signed(ty)),
            UDiv => format!("div.{}", unsigned(ty)),
            SRem => format!("rem.{}", signed(ty)),
            URem => format!("rem.{}", unsigned(ty)),
            And => format!("and.{}", bits(ty)),
            Or => format!("or.{}", bits(ty)),
            Xor => format!("xor.{}", bits(ty)),
            Shl => format!("shl.{}", bits(ty)),
            LShr => format!("shr.{}", unsigned(ty)),
            AShr => format!("shr.{}", signed(ty)),
            SMin => format!("min.{}", signed(ty)),
            SMax => format!("max.{}", signed(ty)),
            UMin => format!("min.{}", unsigned(ty)),
            UMax => format!("max.{}", unsigned(ty)),
            FAdd => format!("add.rn{ftz}.{t}"),
            FSub if ty == Ty::F16 => "sub.rn.f16".into(),
            FSub => format!("sub.rn{ftz}.{t}"),
            FMul => format!("mul.rn{ftz}.{t}"),
            FAddRz => format!("add.rz{ftz}.{t}"),
            FDiv if old && ty == Ty::F32 => "div.full.f32".into(),
            FDiv => format!("div.rn{ftz}.{t}"),
            FDivFull if ty != Ty::F32 => format!("div.rn.{t}"),
            FDivFull => format!("div.full{ftz}.f32"),
            FDivApprox if ty != Ty::F32 => format!("div.rn.{t}"),
            FDivApprox => format!("div.approx{ftz}.f32"),
            FMin => format!("min{ftz}.{t}"),
            FMax => format!("max{ftz}.{t}"),
        };
        if ty == Ty::F16 && self.options.sm < 53 {
            return Err(self.unsupported("half arithmetic", 53));
        }
        let a = if ty == Ty::Pred || ty == Ty::F16 { self.in_register(a) } else { self.operand(a) };
        let b = if ty == Ty::Pred || ty == Ty::F16 { self.in_register(b) } else { self.operand(b) };
        Ok(format!("{name} {d}, {a}, {b}"))
    }

    fn rotation(&mut self, d: &str, a: Val, b: Val) -> String {
        let (a, b) = (self.in_register(a), self.operand(b));
        if self.options.sm >= 32 {
            return format!("shf.l.wrap.b32 {d}, {a}, {a}, {b}");
        }
        // Shifts by 32 give 0.
        let [n, high, low] = [0; 3].map(|_| self.registers.scratch(Ty::I32));
        self.line(&format!("and.b32 {n}, {b}, 31;"));
        self.line(&format!("shl.b32 {high}, {a}, {n};"));
        self.line(&format!("sub.s32 {n}, 32, {n};"));
        self.line(&format!("shr.u32 {low}, {a}, {n};"));
        format!("or.b32 {d}, {high}, {low}")
    }

    fn unary(&mut self, op: UnOp, ty: Ty, d: &str, a: Val) -> Result<Option<String>, Diag> {
        use UnOp::*;
        let from = self.f.ty(a);
        let old = self.options.sm < 20;
        let ftz = self.ftz(from);
        let t = float(ty);
        let source = self.in_register(a);
        let approx = |name: &str| format!("{name}.approx{ftz}.f32");
        let name = match op {
            Neg => format!("neg.{}", signed(ty)),
            Not => format!("not.{}", bits(ty)),
            FNeg if ty == Ty::F16 => {
                let r = self.registers.scratch(Ty::F16);
                self.line(&format!("mov.b16 {r}, 0x8000;"));
                return Ok(Some(format!("xor.b16 {d}, {source}, {r}")));
            }
            FNeg => format!("neg{ftz}.{t}"),
            FAbs if ty == Ty::F16 => {
                let r = self.registers.scratch(Ty::F16);
                self.line(&format!("mov.b16 {r}, 0x7FFF;"));
                return Ok(Some(format!("and.b16 {d}, {source}, {r}")));
            }
            FAbs => format!("abs{ftz}.{t}"),
            SAbs => format!("abs.{}", signed(ty)),
            FloorF => format!("cvt.rmi{ftz}.{t}.{t}"),
            CeilF => format!("cvt.rpi{ftz}.{t}.{t}"),
            TruncF => format!("cvt.rzi{ftz}.{t}.{t}"),
            RintF => format!("cvt.rni{ftz}.{t}.{t}"),
            SqrtRn if old && ty == Ty::F32 => "sqrt.approx.f32".into(),
            SqrtRn => format!("sqrt.rn{ftz}.{t}"),
            SqrtApprox if ty == Ty::F64 => "sqrt.rn.f64".into(),
            SqrtApprox => approx("sqrt"),
            RsqrtApprox if ty == Ty::F64 => "rsqrt.approx.f64".into(),
            RsqrtApprox => approx("rsqrt"),
            RcpRn if old && ty == Ty::F32 => "rcp.approx.f32".into(),
            RcpRn => format!("rcp.rn{ftz}.{t}"),
            RcpApprox if ty == Ty::F64 => "rcp.rn.f64".into(),
            RcpApprox => approx("rcp"),
            SinApprox => approx("sin"),
            CosApprox => approx("cos"),
            Ex2Approx => approx("ex2"),
            Lg2Approx => approx("lg2"),
            Saturate => format!("cvt.sat{ftz}.{t}.{t}"),
            Popc => format!("popc.{}", bits(from)),
            Clz => format!("clz.{}", bits(from)),
            Brev => format!("brev.{}", bits(ty)),
            SExt64 => "cvt.s64.s32".into(),
            ZExt64 => "cvt.u64.u32".into(),
            Trunc32 => "cvt.u32.u64".into(),
            SExt8 => "cvt.s32.s8".into(),
            ZExt8 => "cvt.u32.u8".into(),
            SExt16 => "cvt.s32.s16".into(),
            ZExt16 => "cvt.u32.u16".into(),
            Bitcast if from == Ty::I32 && ty == Ty::F16 => "cvt.u16.u32".into(),
            Bitcast if from == Ty::F16 && ty == Ty::I32 => "cvt.u32.u16".into(),
            Bitcast => format!("mov.{}", bits(ty)),
            SToF(r) => format!("cvt.{}.{t}.{}", rounding(r), signed(from)),
            UToF(r) => format!("cvt.{}.{t}.{}", rounding(r), unsigned(from)),
            FToS(r) => format!("cvt.{}{ftz}.{}.{}", integral(r), signed(ty), float(from)),
            FToU(r) => format!("cvt.{}{ftz}.{}.{}", integral(r), unsigned(ty), float(from)),
            FToF(r) => {
                let narrowing = ty.bits() < from.bits();
                let mode = if narrowing { format!(".{}", rounding(r)) } else { String::new() };
                let ftz = if (ty == Ty::F32 || from == Ty::F32) && ty != Ty::F16 && from != Ty::F16
                {
                    self.ftz(Ty::F32)
                } else {
                    ""
                };
                format!("cvt{mode}{ftz}.{t}.{}", float(from))
            }
        };
        if old && matches!(op, Popc | Clz | Brev) {
            return Err(self.unsupported("this integer function", 20));
        }
        Ok(Some(format!("{name} {d}, {source}")))
    }

    fn compare(&mut self, c: Cmp, d: &str, a: Val, b: Val) -> String {
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
            let (wx, wy) = (self.registers.scratch(Ty::F32), self.registers.scratch(Ty::F32));
            self.line(&format!("cvt.f32.f16 {wx}, {x};"));
            self.line(&format!("cvt.f32.f16 {wy}, {y};"));
            return format!("setp.{name}.f32 {d}, {wx}, {wy}");
        }
        let a = self.in_register(a);
        let b = if ty == Ty::F16 { self.in_register(b) } else { self.operand(b) };
        format!("setp.{name}{ftz}.{t} {d}, {a}, {b}")
    }
}
