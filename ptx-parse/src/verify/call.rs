//! `call` against the callee's signature.

use ptx_isa::Space;
use ptx_isa::meaning::Part;

use super::Verifier;
use super::operand::{Misfit, misfit};
use super::scope::Def;
use super::types::{constant_bits, register_fits};
use crate::ast::{self, Arg};
use crate::diag::{Code, Diag};
use crate::module::{CallOperands, CallTargets, Operand, Param};
use crate::span::Span;

impl Verifier<'_, '_> {
    /// `call (ret), f, (args), targets` in all its shortenings.
    pub(super) fn call(&mut self, instr: &ast::Instr) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let mut rest = ast.operands(instr.operands());
        let rets: &[ast::Operand] = match rest.first().map(|o| ast.arg(o)) {
            Some(Arg::Group(items)) => {
                rest = &rest[1..];
                items
            }
            _ => &[],
        };
        let Some((callee, tail)) = rest.split_first() else {
            return Err(Box::new(misfit(instr.span(), "`call` names no function")));
        };
        let (args, tail): (&[ast::Operand], _) =
            match tail.split_first().map(|(o, t)| (ast.arg(o), t)) {
                Some((Arg::Group(items), t)) => (items, t),
                _ => (&[], tail),
            };
        let Arg::Name { name, .. } = ast.arg(callee) else {
            return Err(Box::new(misfit(
                callee.span(),
                "a function name or register is expected here",
            )));
        };
        let def = self.scopes.find(ast, name, &mut self.body.regs);
        let (callee_op, targets, signature) = match def {
            Def::Func(f) => {
                if let [extra, ..] = tail {
                    return Err(Box::new(misfit(
                        extra.span(),
                        "a direct call takes no list of targets",
                    )));
                }
                let func = &self.module.functions[f as usize];
                if func.entry {
                    return Err(Box::new(misfit(callee.span(), "a kernel cannot be called")));
                }
                (Operand::Func(f), None, Some((func.rets.clone(), func.params.clone())))
            }
            Def::Reg(r) => {
                let t = self.body.regs[r as usize].ty;
                if t.bits() != self.module.info.address_bits as u32 || t.is_float() {
                    let d = misfit(
                        callee.span(),
                        format!("a register declared `{t}` cannot hold a function's address"),
                    );
                    return Err(Box::new(d));
                }
                let Some(last) = tail.first() else {
                    let mut d =
                        misfit(instr.span(), "an indirect call needs the callee's signature");
                    d.help("name a `.callprototype` or `.calltargets` label as the last operand");
                    return Err(Box::new(d));
                };
                let Arg::Name { name, .. } = ast.arg(last) else {
                    return Err(Box::new(misfit(
                        last.span(),
                        "a label of `.callprototype` or `.calltargets` is expected",
                    )));
                };
                match self.scopes.find(ast, name, &mut self.body.regs) {
                    Def::Prototype(p) => {
                        let proto = &self.body.prototypes[p as usize];
                        let signature = (proto.rets.clone(), proto.params.clone());
                        (
                            Operand::Reg(r, Part::Whole),
                            Some(CallTargets::Prototype(p)),
                            Some(signature),
                        )
                    }
                    Def::CallTable(t) => {
                        let first = self.body.call_targets[t as usize].first();
                        let signature = first.map(|f| {
                            let f = &self.module.functions[*f as usize];
                            (f.rets.clone(), f.params.clone())
                        });
                        (Operand::Reg(r, Part::Whole), Some(CallTargets::Table(t)), signature)
                    }
                    Def::None => return Err(self.unknown_name(last.span(), name)),
                    _ => {
                        return Err(Box::new(misfit(
                            last.span(),
                            "a label of `.callprototype` or `.calltargets` is expected",
                        )));
                    }
                }
            }
            Def::None => return Err(self.unknown_name(callee.span(), name)),
            _ => return Err(Box::new(misfit(callee.span(), "this name is no function"))),
        };
        let (ret_params, arg_params) = signature.unwrap_or_default();
        let rets = self.side(rets, &ret_params, true, instr.span())?;
        let args = self.side(args, &arg_params, false, instr.span())?;
        Ok(Operand::Call(Box::new(CallOperands { callee: callee_op, rets, args, targets })))
    }

    fn side(
        &mut self,
        given: &[ast::Operand],
        params: &[Param],
        ret: bool,
        at: Span,
    ) -> Result<std::ops::Range<u32>, Misfit> {
        if given.len() != params.len() {
            let what = if ret { "results" } else { "arguments" };
            let mut d = Diag::error(
                Code::Call,
                at,
                format!("the function has {} {what}, the call names {}", params.len(), given.len()),
            );
            d.help("make the call agree with the function's declaration");
            return Err(Box::new(d));
        }
        let mut out = Vec::with_capacity(given.len());
        for (op, p) in given.iter().zip(params) {
            let r = self.passed(op, p, ret)?;
            out.push(r);
        }
        let first = self.body.operands.len() as u32;
        self.body.operands.extend(out);
        Ok(first..self.body.operands.len() as u32)
    }

    fn passed(&mut self, op: &ast::Operand, p: &Param, ret: bool) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let span = op.span();
        let wrong = |text: String| {
            let mut d = misfit(span, text);
            d.code = Code::Call;
            Box::new(d)
        };
        match ast.arg(op) {
            Arg::Sink if ret => Ok(Operand::Sink),
            Arg::Imm(imm) if !ret => match constant_bits(p.ty, imm) {
                Ok(bits) if !p.array => Ok(Operand::Imm(bits)),
                _ => Err(wrong(format!("this constant does not fit parameter `{}`", p.name))),
            },
            Arg::Name { name, part: None, neg: false, not: false } => {
                let def = self.scopes.find(ast, name, &mut self.body.regs);
                match def {
                    Def::Reg(r) => {
                        let t = self.body.regs[r as usize].ty;
                        if p.array || !register_fits(p.ty, t, false) {
                            return Err(wrong(format!(
                                "a register declared `{t}` does not fit parameter `{}` of type `{}`",
                                p.name, p.ty
                            )));
                        }
                        Ok(Operand::Reg(r, Part::Whole))
                    }
                    Def::Var(v) => {
                        let var = &self.body.vars[v as usize];
                        let param = matches!(var.space, Space::ParamFunc | Space::ParamEntry);
                        if !param {
                            return Err(wrong(format!("`{}` is no `.param` variable", var.name)));
                        }
                        if var.size != p.size as u64 && p.size != 0 {
                            return Err(wrong(format!(
                                "`{}` has {} bytes, parameter `{}` has {}",
                                var.name, var.size, p.name, p.size
                            )));
                        }
                        if var.align < p.align {
                            return Err(wrong(format!(
                                "`{}` is aligned to {} bytes, parameter `{}` wants {}",
                                var.name, var.align, p.name, p.align
                            )));
                        }
                        if p.reg.is_some() {
                            return Err(wrong(format!("parameter `{}` is a register", p.name)));
                        }
                        Ok(Operand::Var(v, 0))
                    }
                    Def::Param(i) => Ok(Operand::Param(i, 0)),
                    Def::None => Err(self.unknown_name(span, name)),
                    _ => Err(wrong("this cannot be passed to a function".into())),
                }
            }
            _ => Err(wrong("this cannot be passed to a function".into())),
        }
    }
}
