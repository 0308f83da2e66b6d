//! Operands of an instruction against the slots of its row (PTX ISA 6, 9.2, 9.4).

use super::Verifier;
use super::opcode::{Candidate, Spec, Traits, Unit};
use super::scope::{Binding, Family};
use crate::ast::{Arg, Imm, Instr, Operand as AstOperand, OperandKind, flag};
use crate::module::Operand;
use crate::names::Name;
use ptx_isa::special::Sreg;
use ptx_isa::syntax::Form;
use ptx_isa::types::TyClass;
use ptx_isa::{Space, Ty};
use std::ops::Range;

/// Why an operand does not fit its slot.
#[derive(Copy, Clone, Debug)]
pub(super) enum What {
    /// Number of operands: least, most, found.
    Count(usize, usize, usize),
    /// A name that means nothing.
    Unknown(Name),
    /// Reported already.
    Silent,
    /// The register has type `.0`, the slot wants `.1`.
    Type(Ty, Ty),
    /// A constant of the wrong kind for this type.
    Constant(Ty),
    /// A constant where something is written or only registers go.
    NotConstant,
    /// Only a constant goes.
    NeedsConstant,
    /// A register is needed.
    NeedsRegister,
    /// A vector of `_` alone.
    NothingWritten,
    /// A vector of so many elements is needed.
    NeedsVector(u32),
    /// A scalar is needed.
    NeedsScalar,
    /// A memory operand is needed.
    NeedsAddress,
    /// A memory operand where a value is needed.
    NotAddress,
    /// A label is needed.
    NeedsLabel,
    /// A target list is needed.
    NeedsTargets,
    /// A special register here.
    Special,
    /// A special register is written.
    ReadOnly,
    /// `_` here.
    Sink,
    /// `!` here.
    Negation,
    /// `-` here.
    Minus,
    /// `d|p` here.
    Pair,
    /// `d|p` is needed.
    NeedsPair,
    /// A selector here.
    Selector,
    /// A selector is missing.
    NeedsSelector,
    /// A vector without selector.
    WholeVector,
    /// The variable lies in space `.0`, the instruction works on `.1`.
    Space(Space, Space),
    /// A parameter of the function is written.
    ReadOnlyParam,
    /// A result of the function is read.
    WriteOnlyResult,
    /// A list of targets or a prototype that stands further down.
    LaterList,
    /// A parameter accessed without `.param`.
    NeedsParam,
    /// The name of a constant where no state space is named.
    NeedsConst,
    /// A constant as the address outside `.local`.
    ConstantAddress,
    /// A register of this type as address.
    AddressType(Ty),
    /// A variable's name as a value.
    NotValue,
    /// A register of this type as an address in Tensor Memory.
    TensorAddress(Ty),
    /// Something else than a register as an address in Tensor Memory.
    NeedsTensorAddress,
    /// An offset behind a register that holds no integer.
    OffsetOfFloat,
    /// A sum or a function, where ptxas calls a function of its own.
    Argument,
    /// The address does not fit in 32 bits.
    NarrowAddress,
    /// A texture, sampler or surface of this type, or a register that holds its handle.
    Object(Ty),
    /// A texture, sampler or surface as memory.
    OpaqueVariable,
    /// A call's operands are malformed.
    Call,
}

/// A misfit: which operand (0 is the first) and why.
#[derive(Copy, Clone, Debug)]
pub(super) struct Misfit {
    pub at: usize,
    pub operand: Option<AstOperand>,
    pub what: What,
}

pub(super) type Fit<T> = Result<T, (What, AstOperand)>;

/// The bits of a constant for a slot of type `ty`.
pub(super) fn immediate(imm: Imm, ty: Ty) -> u64 {
    let mask = |bits: u64| match ty.bits() {
        n @ 0..64 => bits & ((1 << n) - 1),
        _ => bits,
    };
    match (imm, ty) {
        (Imm::Signed(n), Ty::Pred) => u64::from(n != 0),
        (Imm::Unsigned(n), Ty::Pred) => u64::from(n != 0),
        (Imm::Signed(n), _) => mask(n as u64),
        (Imm::Unsigned(n), _) => mask(n),
        (Imm::F32(bits), Ty::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Imm::F32(bits), _) => mask(u64::from(bits)),
        (Imm::F64(bits), Ty::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Imm::F64(bits), _) => mask(bits),
    }
}

/// Whether a register of type `reg` may stand for type `want` (PTX ISA 9.4).
#[inline]
pub(super) fn agrees(reg: Ty, want: Ty, relaxed: bool) -> bool {
    if reg == want {
        return true;
    }
    if reg == Ty::Pred || want == Ty::Pred {
        return false;
    }
    let (have, need) = (reg.bits(), want.bits());
    let wider = relaxed && have > need;
    if have != need && !wider {
        return false;
    }
    // Registers of several numbers, or of narrow floats, have no type.
    if want.is_packed() {
        let integers = matches!(want, Ty::U16x2 | Ty::S16x2 | Ty::U8x4 | Ty::S8x4);
        return reg.class() == TyClass::Bits || integers && reg == Ty::F16x2;
    }
    matches!(
        (want.class(), reg.class()),
        (TyClass::Bits, _)
            | (TyClass::Uint | TyClass::Sint, TyClass::Bits | TyClass::Uint | TyClass::Sint)
            | (TyClass::Float | TyClass::Half, TyClass::Bits)
    )
}

impl Verifier<'_> {
    /// What a name means, making registers and special registers on their first use.
    #[inline]
    pub(super) fn lookup(&mut self, name: Name) -> Binding {
        match self.scopes.get(name) {
            Binding::None => self.first_use(name),
            binding => binding,
        }
    }

    fn first_use(&mut self, name: Name) -> Binding {
        let ast = self.ast;
        let bytes = ast.names().bytes(ast.source().as_bytes(), name);
        if let Some((family, number)) = self.scopes.member(bytes) {
            let Family { name: base, ty, vector, scope, .. } = *family;
            let binding = self.new_register(base, Some(number), ty, vector);
            self.scopes.set(name, binding, Default::default(), scope);
            return binding;
        }
        if bytes.starts_with(b"%") {
            let binding = special(ast.name(name));
            if binding != Binding::None {
                self.special_floor(name, binding);
                self.scopes.set(name, binding, Default::default(), 0);
            }
            return binding;
        }
        Binding::None
    }

    #[cold]
    fn special_floor(&mut self, name: Name, binding: Binding) {
        let register = match binding {
            Binding::Special(s) => s,
            Binding::Specials(first) => Sreg::ALL[usize::from(first)],
            _ => return,
        };
        if self.reaches(register.since(), register.sm()) {
            return;
        }
        let text = self.text(name);
        let at = self.ast.source().find(text).unwrap_or(0) as u32;
        let span = crate::Span::new(at, at + text.len() as u32);
        self.need(span, &format!("`{text}`"), register.since(), register.sm());
    }

    /// Finds the row that the operands fit and resolves them; reports if none does. `opcode` is
    /// the index of the opcode whose rows are `known`.
    pub(super) fn resolve(
        &mut self,
        known: &[Candidate],
        opcode: usize,
        instr: &Instr,
    ) -> Option<(u32, Range<u32>)> {
        let ops = self.ast.operands(instr.operands());
        let mut misfit: Option<(Misfit, usize)> = None;
        let mut refused: Option<usize> = None;
        for (i, c) in known.iter().enumerate() {
            let barred = self.opcodes[opcode].problems.get(i).is_some_and(Option::is_some);
            let mark = self.body.operands.len();
            self.top.clear();
            match self.fit(c, ops) {
                Ok(()) if barred => {
                    refused = refused.or(Some(i));
                }
                Ok(()) => {
                    if let Some(rule) = c.rule {
                        self.value_rule(rule, c, instr);
                    }
                    let first = self.body.operands.len() as u32;
                    self.body.operands.append(&mut self.top);
                    let id = self.opcodes[opcode].first + i as u32;
                    return Some((id, first..self.body.operands.len() as u32));
                }
                Err(m) => {
                    let further = misfit.as_ref().is_none_or(|(old, _)| {
                        m.at > old.at
                            || matches!(old.what, What::Count(..))
                                && !matches!(m.what, What::Count(..))
                    });
                    if further && (!barred || misfit.is_none()) {
                        misfit = Some((m, i));
                    }
                }
            }
            self.body.operands.truncate(mark);
        }
        if let Some(i) = refused {
            self.refuse(opcode, i, &known[i], instr);
        } else if let Some((m, i)) = misfit {
            self.report_misfit(m, &known[i], instr);
        }
        None
    }

    fn fit(&mut self, c: &Candidate, ops: &[AstOperand]) -> Result<(), Misfit> {
        if ops.len() < c.required || ops.len() > c.most {
            // A call is one slot whatever it takes.
            let call = matches!(c.units.first(), Some(u) if u.slots[0].form == Form::Args);
            if !call {
                let what = What::Count(c.required, c.most, ops.len());
                return Err(Misfit { at: 0, operand: None, what });
            }
        }
        if let Some(unit) = c.units.first()
            && unit.slots[0].form == Form::Args
        {
            let call = self.call(ops).map_err(|(at, what)| Misfit {
                at,
                operand: ops.get(at).copied(),
                what,
            })?;
            self.top.push(call);
            return Ok(());
        }
        let absent = c.units.len() - ops.len();
        if absent == 0 {
            return self.fit_units(c, ops, 0);
        }
        let mut first = None;
        // Nearly always it is the last ones that are left out.
        if c.units[ops.len()..].iter().all(|u| u.optional) {
            let mark = self.body.operands.len();
            match self.fit_units(c, ops, u64::MAX << ops.len().min(63)) {
                Ok(()) => return Ok(()),
                Err(e) if c.units.len() - c.required == absent => return Err(e),
                Err(e) => first = Some(e),
            }
            self.body.operands.truncate(mark);
        }
        let optional: Vec<usize> =
            c.units.iter().enumerate().filter(|(_, u)| u.optional).map(|(i, _)| i).collect();
        for mask in (0..1u32 << optional.len().min(16)).rev() {
            if mask.count_ones() as usize != absent {
                continue;
            }
            let skip = optional
                .iter()
                .enumerate()
                .filter(|(bit, _)| mask >> bit & 1 == 1)
                .fold(0u64, |skip, (_, unit)| skip | 1 << unit);
            let mark = self.body.operands.len();
            self.top.clear();
            match self.fit_units(c, ops, skip) {
                Ok(()) => return Ok(()),
                Err(e) => {
                    first.get_or_insert(e);
                    self.body.operands.truncate(mark);
                }
            }
        }
        Err(first.unwrap_or(Misfit { at: 0, operand: None, what: What::Silent }))
    }

    fn fit_units(&mut self, c: &Candidate, ops: &[AstOperand], skip: u64) -> Result<(), Misfit> {
        let mut at = 0;
        for (i, unit) in c.units.iter().enumerate() {
            if skip >> i & 1 == 1 {
                self.top.extend(unit.slots.iter().map(|_| Operand::Absent));
                continue;
            }
            let op = &ops[at];
            let fitted = if unit.bracket {
                self.bracket(unit, op, c)
            } else {
                self.slot(&unit.slots[0], op, c).map(|o| self.top.push(o))
            };
            fitted.map_err(|(what, operand)| Misfit { at, operand: Some(operand), what })?;
            at += 1;
        }
        Ok(())
    }

    /// `[a, b, {c, d}]`
    fn bracket(&mut self, unit: &Unit, op: &AstOperand, c: &Candidate) -> Fit<()> {
        let ast = self.ast;
        let single;
        let items: &[AstOperand] = match ast.arg(op) {
            Arg::MemList { items, .. } => items,
            Arg::Mem { .. } => {
                let kind = if op.flags & flag::WIDE != 0 || op.b != 0 {
                    OperandKind::Offset
                } else {
                    OperandKind::Name
                };
                single = [AstOperand { kind, ..*op }];
                &single
            }
            _ => return Err((What::NeedsAddress, *op)),
        };
        let required = unit.slots.iter().filter(|s| !s.optional).count();
        if items.len() < required || items.len() > unit.slots.len() {
            return Err((What::Count(required, unit.slots.len(), items.len()), *op));
        }
        let traits = Traits { addresses: true, ..c.traits };
        let mut absent = unit.slots.len() - items.len();
        let mut items = items.iter();
        // Optional parts are left out from the front where a scalar meets a vector.
        for (i, spec) in unit.slots.iter().enumerate() {
            let next = items.clone().next();
            let shape_differs =
                next.is_some_and(|o| spec.count.is_some() != matches!(o.kind, OperandKind::Vector));
            let needed = unit.slots[i + 1..].iter().filter(|s| !s.optional).count();
            if spec.optional && absent > 0 && (shape_differs || items.len() <= needed) {
                absent -= 1;
                self.top.push(Operand::Absent);
                continue;
            }
            let Some(item) = items.next() else {
                self.top.push(Operand::Absent);
                continue;
            };
            // To ptxas neither a constant nor a sum is a part of an address of several parts.
            use OperandKind::{F32, F64, Group, Index, Int, Offset};
            let simple = !matches!(item.kind, Int | F32 | F64 | Group | Index | Offset);
            if !simple {
                return Err((What::NeedsRegister, *item));
            }
            let o = self.value(spec, item, traits)?;
            if let Operand::Reg(id, _) = o
                && self.body.regs[id as usize].ty.bits() == 32
                && self.needs_width(spec.space, c)
            {
                self.narrow_address(item)?;
            }
            self.top.push(o);
        }
        Ok(())
    }

    fn slot(&mut self, spec: &Spec, op: &AstOperand, c: &Candidate) -> Fit<Operand> {
        match spec.form {
            Form::Value => match (spec.second, self.ast.arg(op)) {
                (Some(_), Arg::Pair(d, p)) => {
                    let (d, p) = (*d, *p);
                    // A predicate that must be written may not be thrown away.
                    let needed = spec.second == Some(false) && spec.ty != Some(Ty::Pred);
                    let sink = Traits { sink: !needed, ..c.traits };
                    // With a predicate that must be written the value may be thrown away.
                    let discard = c.traits.sink || spec.second == Some(false);
                    let first = Traits { sink: discard, ..c.traits };
                    let first = self.value(spec, &d, first)?;
                    let pred = Spec { ty: Some(Ty::Pred), count: None, ..*spec };
                    let second = self.value(&pred, &p, sink)?;
                    let at = self.body.operands.len() as u32;
                    self.body.operands.push(first);
                    self.body.operands.push(second);
                    Ok(Operand::Both(at..at + 2))
                }
                (Some(false), _) => Err((What::NeedsPair, *op)),
                // ptxas takes a predicate that is thrown away on any instruction.
                (None, Arg::Pair(d, p)) if spec.dest && p.kind == OperandKind::Sink => {
                    let d = *d;
                    self.value(spec, &d, c.traits)
                }
                (None, Arg::Pair(..)) => Err((What::Pair, *op)),
                _ => self.value(spec, op, c.traits),
            },
            Form::Imm => match self.ast.arg(op) {
                Arg::Imm(imm) => self.constant(spec, op, imm),
                Arg::Group([inner]) => {
                    let inner = *inner;
                    self.slot(spec, &inner, c)
                }
                _ => Err((What::NeedsConstant, *op)),
            },
            Form::Addr => self.memory(spec, op, c),
            Form::Label => match self.ast.arg(op) {
                Arg::Name { name, neg: false, not: false, part: None } => {
                    match self.scopes.get(name) {
                        Binding::Label(id) => Ok(Operand::Label(id)),
                        Binding::None => Err((What::Unknown(name), *op)),
                        _ => Err((What::NeedsLabel, *op)),
                    }
                }
                _ => Err((What::NeedsLabel, *op)),
            },
            Form::Targets => match self.ast.arg(op) {
                Arg::Name { name, neg: false, not: false, part: None } => {
                    match self.scopes.get(name) {
                        Binding::BranchTargets(_) if self.stands_later(name, op) => {
                            Err((What::LaterList, *op))
                        }
                        Binding::BranchTargets(id) => Ok(Operand::BranchTargets(id)),
                        Binding::None => Err((What::Unknown(name), *op)),
                        _ => Err((What::NeedsTargets, *op)),
                    }
                }
                _ => Err((What::NeedsTargets, *op)),
            },
            Form::Func | Form::Args => Err((What::Call, *op)),
        }
    }

    /// Whether a list of targets or a prototype is declared behind the operand that names it.
    pub(super) fn stands_later(&self, name: Name, op: &AstOperand) -> bool {
        self.scopes.place(name).start > op.span().start
    }
}

/// The special register named `text`.
fn special(text: &str) -> Binding {
    if let Some(s) = Sreg::parse(text) {
        return Binding::Special(s);
    }
    if let Some(n) = ptx_isa::special::envreg(text) {
        return Binding::Envreg(n);
    }
    match Sreg::parse(&format!("{text}.x")) {
        Some(first) => Binding::Specials(first as u8),
        None => Binding::None,
    }
}
