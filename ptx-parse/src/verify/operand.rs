//! Operands of one instruction against the slots of a row.

use ptx_isa::meaning::Part;
use ptx_isa::syntax::{Count, Form, Slot};
use ptx_isa::{Match, Space, Ty};

use super::Verifier;
use super::opcode::{Candidate, notation};
use super::scope::Def;
use super::types::{constant_bits, register_fits};
use crate::ast::{self, Arg, Imm};
use crate::diag::{Code, Diag};
use crate::module::Operand;
use crate::span::Span;

/// Why an operand does not fit: the report, and how far the candidate came.
pub(super) type Misfit = Box<Diag>;

impl Verifier<'_, '_> {
    /// Resolves the operands of an instruction as `candidate` wants them; appends them to the
    /// body's pool and returns their range.
    pub(super) fn operands(
        &mut self,
        candidate: &Candidate,
        m: &Match,
        instr: &ast::Instr,
    ) -> Result<std::ops::Range<u32>, (usize, Misfit)> {
        let ast = self.ast;
        let given = ast.operands(instr.operands());
        let (least, most) = (candidate.required, candidate.layout.len());
        if given.len() < least || given.len() > most {
            let expected =
                if least == most { format!("{most}") } else { format!("{least} to {most}") };
            let mut d = Diag::error(
                Code::Operand,
                instr.span(),
                format!(
                    "`{}` takes {expected} operands, found {}",
                    ast.name(instr.opcode),
                    given.len()
                ),
            );
            d.help(notation(m.row));
            return Err((0, Box::new(d)));
        }
        let mut extra = given.len() - least;
        let mut resolved: Vec<Operand> = Vec::with_capacity(m.shape.slots.len());
        let mut at = 0;
        for pos in &candidate.layout {
            if pos.optional {
                if extra == 0 {
                    resolved.extend(std::iter::repeat_n(Operand::Absent, pos.count));
                    continue;
                }
                extra -= 1;
            }
            let op = &given[at];
            at += 1;
            if pos.bracket {
                let slots = &m.shape.slots[pos.first..pos.first + pos.count];
                self.compound(m, slots, op, &mut resolved).map_err(|d| (at, d))?;
            } else {
                let slot = &m.shape.slots[pos.first];
                let r = self.slot(m, slot, op).map_err(|d| (at, d))?;
                resolved.push(r);
            }
        }
        let first = self.body.operands.len() as u32;
        self.body.operands.extend(resolved);
        Ok(first..self.body.operands.len() as u32)
    }

    /// The parts of `[a, b, c]`.
    fn compound(
        &mut self,
        m: &Match,
        slots: &[Slot],
        op: &ast::Operand,
        out: &mut Vec<Operand>,
    ) -> Result<(), Misfit> {
        let ast = self.ast;
        let Arg::MemList { items, .. } = ast.arg(op) else {
            let mut d = misfit(op.span(), "a list in brackets `[…]` is expected here");
            d.help(notation(m.row));
            return Err(Box::new(d));
        };
        let required = slots.iter().filter(|s| !s.optional).count();
        if items.len() < required || items.len() > slots.len() {
            let d = misfit(
                op.span(),
                format!(
                    "{} parts are expected in the brackets, found {}",
                    slots.len(),
                    items.len()
                ),
            );
            return Err(Box::new(d));
        }
        let mut extra = items.len() - required;
        let mut items = items.iter();
        for s in slots {
            if s.optional {
                if extra == 0 {
                    out.push(Operand::Absent);
                    continue;
                }
                extra -= 1;
            }
            if let Some(item) = items.next() {
                let r = self.slot(m, s, item)?;
                out.push(r);
            }
        }
        Ok(())
    }

    /// One operand in one slot.
    fn slot(&mut self, m: &Match, slot: &Slot, op: &ast::Operand) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let ty = m.slot_ty(slot);
        match slot.form {
            Form::Addr => return self.address(m, op),
            Form::Label => return self.label(op),
            Form::Targets => return self.targets(op),
            Form::Func | Form::Args => {}
            Form::Imm | Form::Value => {}
        }
        if let Arg::Pair(first, second) = ast.arg(op) {
            let Some((_, _)) = slot.second else {
                return Err(Box::new(misfit(
                    op.span(),
                    "a second destination after `|` does not belong here",
                )));
            };
            let d = self.scalar(slot, first, ty)?;
            let p = self.scalar(slot, second, Some(Ty::Pred))?;
            let at = self.push(d);
            self.push(p);
            return Ok(Operand::Both(at..at + 2));
        }
        if matches!(slot.second, Some((_, false))) {
            let d = misfit(op.span(), "a predicate destination is missing: `d|p`");
            return Err(Box::new(d));
        }
        // Zero elements by the row: any vector that fills the type (`mov`).
        let any = slot.count == Count::Row && m.row.counts.is_some_and(|f| f(m, slot.name) == 0);
        match (m.slot_count(slot), ast.arg(op)) {
            (None, Arg::Vector(items)) if any => self.any_vector(m, slot, op, items),
            (None, _) if any => Err(Box::new(misfit(op.span(), "a vector `{…}` is expected here"))),
            (None, Arg::Vector([one])) => {
                let v = self.scalar(slot, one, ty)?;
                Ok(v)
            }
            (None, _) => self.scalar(slot, op, ty),
            (Some(n), Arg::Vector(items)) => {
                if items.len() != n as usize {
                    let text =
                        format!("a vector of {n} elements is expected, found {}", items.len());
                    return Err(Box::new(misfit(op.span(), text)));
                }
                let mut parts = Vec::with_capacity(items.len());
                for i in items {
                    parts.push(self.scalar(slot, i, ty)?);
                }
                Ok(self.vector(parts))
            }
            (Some(n), Arg::Name { name, .. }) => {
                let def = self.scopes.find(ast, name, &mut self.body.regs);
                match def {
                    Def::RegVector(first, len) if len as u32 == n => {
                        if let Some(t) = ty {
                            self.register_type(slot, op.span(), t, first)?;
                        }
                        let parts = (0..n).map(|i| Operand::Reg(first + i, Part::Whole)).collect();
                        Ok(self.vector(parts))
                    }
                    Def::None => Err(self.unknown_name(op.span(), name)),
                    _ => {
                        let d = misfit(op.span(), format!("a vector of {n} elements is expected"));
                        Err(Box::new(d))
                    }
                }
            }
            (Some(n), _) => {
                Err(Box::new(misfit(op.span(), format!("a vector of {n} elements is expected"))))
            }
        }
    }

    fn push(&mut self, op: Operand) -> u32 {
        self.body.operands.push(op);
        self.body.operands.len() as u32 - 1
    }

    fn vector(&mut self, parts: Vec<Operand>) -> Operand {
        let first = self.body.operands.len() as u32;
        self.body.operands.extend(parts);
        Operand::Vector(first..self.body.operands.len() as u32)
    }

    /// `mov`'s vectors: any elements whose widths sum to the type's.
    fn any_vector(
        &mut self,
        m: &Match,
        slot: &Slot,
        op: &ast::Operand,
        items: &[ast::Operand],
    ) -> Result<Operand, Misfit> {
        let total = m.ty("type").map_or(0, |t| t.bits());
        let each = total / items.len().max(1) as u32;
        let mut parts = Vec::with_capacity(items.len());
        for i in items {
            let element = Ty::parse(&format!("b{each}"));
            if !matches!(items.len(), 2 | 4) || element.is_none() {
                let text = format!("{} elements do not fill {total} bits", items.len());
                return Err(Box::new(misfit(op.span(), text)));
            }
            let part = self.scalar(slot, i, element)?;
            parts.push(part);
        }
        Ok(self.vector(parts))
    }

    /// A register, constant or address of a scalar slot.
    fn scalar(
        &mut self,
        slot: &Slot,
        op: &ast::Operand,
        ty: Option<Ty>,
    ) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let span = op.span();
        match ast.arg(op) {
            Arg::Sink if slot.dest => Ok(Operand::Sink),
            Arg::Sink => {
                Err(Box::new(misfit(span, "`_` is a destination; a value is expected here")))
            }
            Arg::Imm(imm) => self.constant(slot, span, imm, ty),
            Arg::Group([one]) => self.scalar(slot, one, ty),
            Arg::Name { name, neg, not, part } => {
                if neg && !slot.minus {
                    let text = "a register or address cannot be negated here";
                    return Err(Box::new(misfit(span, text)));
                }
                let named = self.name(slot, op, name, not, part, ty)?;
                Ok(match named {
                    Operand::Reg(r, part) if neg => Operand::MinusReg(r, part),
                    other => other,
                })
            }
            Arg::Offset { name, offset } => {
                let def = self.scopes.find(ast, name, &mut self.body.regs);
                if slot.dest || slot.form == Form::Imm {
                    return Err(Box::new(misfit(span, "an address cannot stand here")));
                }
                self.address_value(span, name, def, offset, ty)
            }
            _ => Err(Box::new(misfit(span, "this kind of operand cannot stand here"))),
        }
    }

    fn constant(
        &mut self,
        slot: &Slot,
        span: Span,
        imm: Imm,
        ty: Option<Ty>,
    ) -> Result<Operand, Misfit> {
        if slot.dest {
            return Err(Box::new(misfit(span, "a destination must be a register")));
        }
        let ty = match ty {
            Some(t) => t,
            None => match imm {
                Imm::F32(_) => Ty::F32,
                Imm::F64(_) => Ty::F64,
                _ => Ty::B64,
            },
        };
        match constant_bits(ty, imm) {
            Ok(bits) => Ok(Operand::Imm(bits)),
            Err(found) => {
                Err(Box::new(misfit(span, format!("{found} stands where type `{ty}` is expected"))))
            }
        }
    }

    fn name(
        &mut self,
        slot: &Slot,
        op: &ast::Operand,
        name: crate::Name,
        not: bool,
        part: Option<ast::Part>,
        ty: Option<Ty>,
    ) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let span = op.span();
        let def = self.scopes.find(ast, name, &mut self.body.regs);
        if slot.form == Form::Imm {
            return Err(Box::new(misfit(span, "a constant is expected here")));
        }
        if not && !slot.negatable {
            return Err(Box::new(misfit(span, "`!` is not allowed here")));
        }
        match def {
            Def::Reg(r) => {
                if let Some(t) = ty {
                    self.register_type(slot, span, t, r)?;
                }
                if not {
                    return Ok(Operand::NotReg(r));
                }
                let part = self.selector(slot, op, part)?;
                Ok(Operand::Reg(r, part))
            }
            Def::RegVector(first, len) => {
                let component = match part {
                    Some(ast::Part::X) => 0,
                    Some(ast::Part::Y) => 1,
                    Some(ast::Part::Z) => 2,
                    Some(ast::Part::W) => 3,
                    _ => {
                        let d =
                            misfit(span, "a vector register needs a component (`.x`, `.y` …) here");
                        return Err(Box::new(d));
                    }
                };
                if component >= len as u32 {
                    let d = misfit(span, format!("the vector has only {len} components"));
                    return Err(Box::new(d));
                }
                if let Some(t) = ty {
                    self.register_type(slot, span, t, first)?;
                }
                Ok(Operand::Reg(first + component, Part::Whole))
            }
            Def::Special(s) if !slot.dest => self.special(slot, span, s, ty),
            Def::SpecialVector if !slot.dest => {
                let component = match part {
                    Some(ast::Part::X) => ".x",
                    Some(ast::Part::Y) => ".y",
                    Some(ast::Part::Z) => ".z",
                    Some(ast::Part::W) => ".w",
                    _ => {
                        let d = misfit(span, "this special register needs a component (`.x` …)");
                        return Err(Box::new(d));
                    }
                };
                let text = format!("{}{component}", ast.name(name));
                match ptx_isa::special::Sreg::parse(&text) {
                    Some(s) => self.special(slot, span, s, ty),
                    None => Err(self.unknown_name(span, name)),
                }
            }
            Def::Envreg(n) if !slot.dest => Ok(Operand::Envreg(n)),
            Def::Special(_) | Def::SpecialVector | Def::Envreg(_) => {
                Err(Box::new(misfit(span, "special registers cannot be written")))
            }
            Def::None => Err(self.unknown_name(span, name)),
            _ if slot.dest => Err(Box::new(misfit(span, "a destination must be a register"))),
            _ => self.address_value(span, name, def, 0, ty),
        }
    }

    fn special(
        &mut self,
        slot: &Slot,
        span: Span,
        s: ptx_isa::special::Sreg,
        ty: Option<Ty>,
    ) -> Result<Operand, Misfit> {
        let info = self.module.info;
        if info.version < s.since() || info.target.sm < s.sm() {
            let mut d = Diag::error(
                if info.version < s.since() { Code::Version } else { Code::Target },
                span,
                format!(
                    "`{}` needs `.version {}` and sm_{} or higher",
                    s.name(),
                    s.since(),
                    s.sm()
                ),
            );
            d.note(format!("the module says {} and {}", info.version, info.target));
            return Err(Box::new(d));
        }
        // PTX 1.x read the 16-bit halves of thread and block numbers.
        let halves = ty.is_some_and(|t| t.bits() == 16) && s.ty().bits() == 32;
        match ty {
            Some(t) if !halves && !register_fits(t, s.ty(), slot.relaxed) => Err(Box::new(misfit(
                span,
                format!("`{}` has type `{}`, `{t}` is expected", s.name(), s.ty()),
            ))),
            _ => Ok(Operand::Special(s)),
        }
    }

    fn register_type(&self, slot: &Slot, span: Span, ty: Ty, reg: u32) -> Result<(), Misfit> {
        let declared = self.body.regs[reg as usize].ty;
        if register_fits(ty, declared, slot.relaxed) {
            return Ok(());
        }
        let mut d =
            misfit(span, format!("this register is declared `{declared}`, `{ty}` is expected"));
        d.code = Code::Type;
        if ty.bits() == declared.bits() {
            d.help(format!("use a register declared `.b{}` or `{ty}`", ty.bits().max(8)));
        } else {
            d.help(format!("use a register of {} bits", ty.bits()));
        }
        Err(Box::new(d))
    }

    /// The selector after a register, as the slot wants it.
    fn selector(
        &self,
        slot: &Slot,
        op: &ast::Operand,
        part: Option<ast::Part>,
    ) -> Result<Part, Misfit> {
        let wrong = |text: &str| {
            let mut d = misfit(op.span(), text);
            d.code = Code::Selector;
            Box::new(d)
        };
        match (part, slot.selector) {
            (None, None | Some((_, true))) => Ok(Part::Whole),
            (None, Some((_, false))) => Err(wrong("this operand needs a selector")),
            (Some(_), None) => Err(wrong("this operand takes no selector")),
            (Some(p), Some((selector, _))) => {
                let text = match p {
                    ast::Part::Other => self.ast.part_text(op),
                    known => known.text(),
                };
                selector
                    .parse(text)
                    .ok_or_else(|| wrong(&format!("`.{text}` selects nothing here")))
            }
        }
    }

    /// The address of a variable or function as a value.
    fn address_value(
        &mut self,
        span: Span,
        name: crate::Name,
        def: Def,
        offset: i64,
        ty: Option<Ty>,
    ) -> Result<Operand, Misfit> {
        if let Some(t) = ty
            && (t.bits() < 32 || t.is_float() && t != Ty::F32)
        {
            let d = misfit(span, format!("an address stands where type `{t}` is expected"));
            return Err(Box::new(d));
        }
        match def {
            Def::Symbol(s) => Ok(Operand::Symbol(s, offset)),
            Def::Var(v) => Ok(Operand::Var(v, offset)),
            Def::Param(p) => Ok(Operand::Param(p, offset)),
            Def::Func(f) if offset == 0 => Ok(Operand::Func(f)),
            Def::None => Err(self.unknown_name(span, name)),
            _ => Err(Box::new(misfit(span, "this name has no address"))),
        }
    }

    /// A memory operand.
    fn address(&mut self, m: &Match, op: &ast::Operand) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let span = op.span();
        let (base, offset) = match ast.arg(op) {
            Arg::Mem { name, offset, .. } => {
                let def = self.scopes.find(ast, name, &mut self.body.regs);
                match def {
                    Def::Reg(r) => {
                        let t = self.body.regs[r as usize].ty;
                        let ok = matches!(t.bits(), 32 | 64)
                            && !matches!(t, Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::Pred);
                        if !ok {
                            let mut d = misfit(
                                span,
                                format!("a register declared `{t}` cannot hold an address"),
                            );
                            d.code = Code::Type;
                            return Err(Box::new(d));
                        }
                        (Operand::Reg(r, Part::Whole), offset)
                    }
                    Def::None => return Err(self.unknown_name(span, name)),
                    _ => {
                        let value = self.address_value(span, name, def, 0, None)?;
                        self.space_fits(m, span, &value)?;
                        (value, offset)
                    }
                }
            }
            Arg::MemList { items: [one], .. } => match ast.arg(one) {
                Arg::Imm(Imm::Signed(v)) => (Operand::Imm(v as u64), 0),
                Arg::Imm(Imm::Unsigned(v)) => (Operand::Imm(v), 0),
                Arg::Index(..) | Arg::Name { .. } | Arg::Offset { .. } | Arg::Group(_) => {
                    return self.address(m, one);
                }
                _ => return Err(Box::new(misfit(span, "this is no address"))),
            },
            // PTX 1.x: `a[4]` is the address `a+4`.
            Arg::Index(base, index) => match (ast.arg(base), ast.arg(index)) {
                (Arg::Name { name, .. }, Arg::Imm(Imm::Signed(v))) => {
                    let def = self.scopes.find(ast, name, &mut self.body.regs);
                    let value = self.address_value(span, name, def, 0, None)?;
                    self.space_fits(m, span, &value)?;
                    (value, v)
                }
                _ => return Err(Box::new(misfit(span, "this is no address"))),
            },
            _ => {
                let mut d = misfit(span, "a memory operand `[…]` is expected here");
                d.help(notation(m.row));
                return Err(Box::new(d));
            }
        };
        let at = self.push(base);
        Ok(Operand::Addr(at, offset))
    }

    /// A variable's space must be the one that the instruction names.
    fn space_fits(&self, m: &Match, span: Span, base: &Operand) -> Result<(), Misfit> {
        let Some(named) = m.get("space") else { return Ok(()) };
        let (space, what) = match base {
            Operand::Symbol(s, _) => (self.module.symbols[*s as usize].space, "variable"),
            Operand::Var(v, _) => (self.body.vars[*v as usize].space, "variable"),
            Operand::Param(..) => (Space::ParamEntry, "parameter"),
            _ => return Ok(()),
        };
        let fits = match named {
            ".global" => space == Space::Global,
            ".shared" | ".shared::cta" | ".shared::cluster" => space == Space::Shared,
            ".local" => space == Space::Local,
            ".const" => space == Space::Const,
            ".param" | ".param::entry" | ".param::func" => {
                matches!(space, Space::ParamEntry | Space::ParamFunc)
            }
            _ => true,
        };
        if fits {
            return Ok(());
        }
        let mut d = misfit(span, format!("this {what} lies in {space:?} space, not in `{named}`"));
        d.code = Code::Space;
        Err(Box::new(d))
    }

    fn label(&mut self, op: &ast::Operand) -> Result<Operand, Misfit> {
        let ast = self.ast;
        let Arg::Name { name, .. } = ast.arg(op) else {
            return Err(Box::new(misfit(op.span(), "a label is expected here")));
        };
        match self.scopes.find(ast, name, &mut self.body.regs) {
            Def::Label(l) => Ok(Operand::Label(l)),
            _ => {
                let text = ast.name(name).to_string();
                let mut d = Diag::error(
                    Code::Label,
                    op.span(),
                    format!("there is no label `{text}` in this function or block"),
                );
                if let Some(near) = self.scopes.similar(ast, &text, |d| matches!(d, Def::Label(_)))
                {
                    d.help(format!("did you mean `{near}`?"));
                }
                Err(Box::new(d))
            }
        }
    }

    fn targets(&mut self, op: &ast::Operand) -> Result<Operand, Misfit> {
        let ast = self.ast;
        if let Arg::Name { name, .. } = ast.arg(op)
            && let Def::BranchTable(t) = self.scopes.find(ast, name, &mut self.body.regs)
        {
            return Ok(Operand::BranchTargets(t));
        }
        Err(Box::new(misfit(op.span(), "the label of a `.branchtargets` list is expected here")))
    }

    /// The report for an undeclared name, with what resembles it.
    pub(super) fn unknown_name(&self, span: Span, name: crate::Name) -> Misfit {
        let ast = self.ast;
        let text = ast.name(name);
        let span = Span::new(span.start, span.end.max(span.start + 1));
        let mut d = Diag::error(Code::UnknownName, span, format!("`{text}` is not declared here"));
        if let Some((prefix, count)) = self.scopes.numbered_limit(text) {
            d.help(format!(
                "`{prefix}<{count}>` declares {prefix}0 to {prefix}{}",
                count.saturating_sub(1)
            ));
        } else if let Some(near) = self.scopes.similar(ast, text, |d| !matches!(d, Def::Label(_))) {
            d.help(format!("did you mean `{near}`?"));
        }
        Box::new(d)
    }
}

/// A report about an operand.
pub(super) fn misfit(span: Span, message: impl Into<String>) -> Diag {
    Diag::error(Code::Operand, span, message)
}
