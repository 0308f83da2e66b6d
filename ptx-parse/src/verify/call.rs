//! Operands of `call` (PTX ISA 9.7.13.5).

use super::Verifier;
use super::operands::{What, agrees, immediate};
use super::scope::Binding;
use crate::ast::{Arg, Operand as AstOperand};
use crate::diag::Code;
use crate::module::{CallOperands, CallTargets, Operand, Param};
use ptx_isa::meaning::Selection;
use ptx_isa::types::TyClass;
use ptx_isa::{Space, Ty};
use std::ops::Range;

/// A misfit: which operand, and why.
type Fit<T> = Result<T, (usize, What)>;

impl Verifier<'_> {
    /// `(results), callee, (arguments), targets`.
    pub(super) fn call(&mut self, ops: &[AstOperand]) -> Fit<Operand> {
        let ast = self.ast;
        let mut at = 0;
        let group = |at: &mut usize| match ops.get(*at).map(|o| ast.arg(o)) {
            Some(Arg::Group(items)) => {
                *at += 1;
                items
            }
            _ => &[],
        };
        let rets = group(&mut at);
        let callee_at = at;
        let Some(Arg::Name { name, neg: false, not: false, part: None }) =
            ops.get(at).map(|o| ast.arg(o))
        else {
            return Err((at, What::Call));
        };
        at += 1;
        let args_at = at;
        let args = group(&mut at);
        let mut targets = None;
        if let Some(op) = ops.get(at) {
            let Arg::Name { name, .. } = ast.arg(op) else { return Err((at, What::Call)) };
            targets = match self.scopes.get(name) {
                Binding::Prototype(id) => Some(CallTargets::Prototype(id)),
                Binding::CallTargets(id) => Some(CallTargets::Table(id)),
                Binding::None => return Err((at, What::Unknown(name))),
                _ => return Err((at, What::NeedsTargets)),
            };
            if self.stands_later(name, op) {
                return Err((at, What::LaterList));
            }
            at += 1;
        }
        if at < ops.len() {
            return Err((at, What::Call));
        }
        let (callee, signature) = match (self.lookup(name), targets) {
            (Binding::Func(id), _) => {
                let f = &self.module.functions[id as usize];
                if f.entry {
                    let text = self.text(name);
                    self.error(
                        Code::Call,
                        ops[callee_at].span(),
                        format!("kernel `{text}` cannot be called"),
                    );
                    return Err((callee_at, What::Silent));
                }
                (Operand::Func(id), Some((f.rets.clone(), f.params.clone())))
            }
            (Binding::Reg(id), Some(t)) => {
                let ty = self.body.regs[id as usize].ty;
                let wide = ty.bits() == u32::from(self.module.info.address_bits);
                if !wide || matches!(ty.class(), TyClass::Float | TyClass::Pred) {
                    return Err((callee_at, What::AddressType(ty)));
                }
                let signature = match t {
                    CallTargets::Prototype(id) => {
                        let p = &self.body.prototypes[id as usize];
                        Some((p.rets.clone(), p.params.clone()))
                    }
                    CallTargets::Table(id) => {
                        let first = self.body.call_targets[id as usize].first();
                        first.map(|f| {
                            let f = &self.module.functions[*f as usize];
                            (f.rets.clone(), f.params.clone())
                        })
                    }
                };
                (Operand::Reg(id, Selection::Whole), signature)
            }
            (Binding::None, _) => return Err((callee_at, What::Unknown(name))),
            (Binding::Reg(_), None) => {
                let text = self.text(name);
                self.error(
                    Code::Call,
                    ops[callee_at].span(),
                    format!("the indirect call through `{text}` names no targets"),
                )
                .help("add the label of a `.callprototype` or `.calltargets` as last operand");
                return Err((callee_at, What::Silent));
            }
            _ => return Err((callee_at, What::Call)),
        };
        let (rets, args) = match signature {
            Some((want_rets, want_args)) => {
                let place = ops[callee_at];
                let rets = self.side(rets, &want_rets, "result", &place, 0)?;
                (rets, self.side(args, &want_args, "argument", &place, args_at)?)
            }
            None => {
                let rets = self.side(rets, &[], "result", &ops[callee_at], 0)?;
                (rets, self.side(args, &[], "argument", &ops[callee_at], args_at)?)
            }
        };
        Ok(Operand::Call(Box::new(CallOperands { callee, rets, args, targets })))
    }

    /// Results or arguments against what the callee declares.
    fn side(
        &mut self,
        items: &[AstOperand],
        formals: &[Param],
        what: &str,
        callee: &AstOperand,
        at: usize,
    ) -> Fit<Range<u32>> {
        // A last array without size may be left out.
        let open = formals.last().is_some_and(|p| p.array && p.size == 0);
        let declared = formals.iter().filter(|p| !is_further_component(p)).count();
        let least = declared - usize::from(open);
        if items.len() < least || items.len() > declared {
            let message = format!("the call has {} {what}s, its function {declared}", items.len());
            self.error(Code::Call, callee.span(), message);
            return Err((at, What::Silent));
        }
        let mut list = Vec::with_capacity(formals.len());
        let mut left = formals;
        for item in items {
            let Some((formal, rest)) = left.split_first() else { break };
            let parts = 1 + rest.iter().take_while(|p| is_further_component(p)).count();
            let vector = match self.ast.arg(item) {
                Arg::Name { name, neg: false, not: false, part: None } => self.lookup(name),
                _ => Binding::None,
            };
            match vector {
                Binding::Regs(first, count)
                    if usize::from(count) == parts
                        && agrees(self.body.regs[first as usize].ty, formal.ty, false) =>
                {
                    let ids = first..first + u32::from(count);
                    list.extend(ids.map(|id| Operand::Reg(id, Selection::Whole)));
                }
                _ if parts > 1 => {
                    let message = format!("this {what} of the function is a vector of {parts}");
                    self.error(Code::Call, item.span(), message)
                        .help(format!("pass a register that is declared `.reg .v{parts} …`"));
                    return Err((at, What::Silent));
                }
                _ => list.push(self.passed(item, formal, what, at)?),
            }
            left = &left[parts..];
        }
        let first = self.body.operands.len() as u32;
        self.body.operands.extend(list);
        Ok(first..self.body.operands.len() as u32)
    }

    fn passed(&mut self, item: &AstOperand, formal: &Param, what: &str, at: usize) -> Fit<Operand> {
        let ast = self.ast;
        let result = what == "result";
        let arg = match ast.arg(item) {
            Arg::Group([inner]) => ast.arg(inner),
            arg => arg,
        };
        let operand = match arg {
            Arg::Sink if result => Some(Operand::Sink),
            Arg::Imm(imm) if !result && !formal.array => {
                let integer = crate::fold::bits(imm).is_some();
                let float = formal.ty.class() == TyClass::Float;
                (integer != float).then(|| Operand::Imm(immediate(imm, formal.ty)))
            }
            Arg::Name { name, neg: false, not: false, part } => match (self.lookup(name), part) {
                (Binding::Reg(id), None) => {
                    let ty = self.body.regs[id as usize].ty;
                    let fits = !formal.array && agrees(ty, formal.ty, false);
                    fits.then_some(Operand::Reg(id, Selection::Whole))
                }
                (Binding::Var(id), None) => {
                    let var = &self.body.vars[id as usize];
                    let open = formal.array && formal.size == 0;
                    let fits = var.space == Space::ParamFunc
                        && (open || var.size == u64::from(formal.size));
                    if fits && !open && var.align != formal.align {
                        let message = format!(
                            "this {what} is aligned to {} bytes, the function declares {}",
                            var.align, formal.align
                        );
                        self.error(Code::Call, item.span(), message)
                            .help(format!("declare it `.param .align {} …`", formal.align));
                        return Err((at, What::Silent));
                    }
                    fits.then_some(Operand::Var(id, 0))
                }
                (Binding::Param(id), None) if !self.in_entry => Some(Operand::Param(id, 0)),
                (Binding::None, _) => return Err((at, What::Unknown(name))),
                _ => None,
            },
            _ => None,
        };
        operand.ok_or_else(|| {
            let name =
                if formal.name == "_" { String::new() } else { format!(" `{}`", formal.name) };
            let shape = match (formal.array, formal.ty) {
                (true, Ty::B8) => format!("{} bytes", formal.size),
                (true, ty) => format!("an array of `{ty}`, {} bytes", formal.size),
                (false, ty) => format!("`{ty}`"),
            };
            let diag = self.error(
                Code::Call,
                item.span(),
                format!("this does not fit {what}{name} of the function"),
            );
            diag.note(format!("the function declares {shape} there"));
            (at, What::Silent)
        })
    }
}

/// Whether a parameter is a component of a vector other than the first; names have no dots.
fn is_further_component(param: &Param) -> bool {
    param.name.contains('.') && !param.name.ends_with(".x")
}
