//! Rules on the values of constants and on the sizes of memory.

use super::Verifier;
use super::opcode::Candidate;
use crate::ast::{Arg, Imm, Instr, Operand as AstOperand};
use crate::diag::{Code, Diag};
use crate::module::{Linkage, Operand};
use crate::span::Span;
use ptx_isa::row::{Constants, Sink};
use ptx_isa::syntax::{OperandSlot, SlotTy, allows, allows_float, bound};
use ptx_isa::types::{TyClass, ptx};
use ptx_isa::{Match, Operation, Space, Ty};

/// Bytes of `.shared` variables that a kernel may declare.
const SHARED: u64 = 48 << 10;
/// Bytes of `.const` variables that a module may declare.
const CONST: u64 = 64 << 10;

/// Rules on constant operands, by instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// `bar`, `barrier`: number 0 to 15, threads in whole warps.
    Barrier,
    /// A slot of the row lists the values that it takes.
    Listed,
    /// What is written is thrown away.
    Sink,
    /// Layers and samplers of textures.
    Texture,
}

/// The rule of a matched row.
pub(super) fn rule(m: &Match) -> Option<Rule> {
    match m.row.op {
        Operation::Barrier => Some(Rule::Barrier),
        _ if m.notation.slots.first().is_some_and(|s| s.dest) && (m.row.sink)(m) == Sink::Only => {
            Some(Rule::Sink)
        }
        _ if m.notation.slots.iter().any(|s| s.ty == SlotTy::Fixed(Ty::SamplerRef)) => {
            Some(Rule::Texture)
        }
        _ if m.row.constants != Constants::Free
            || m.notation.slots.iter().any(|s| !s.values.is_empty()) =>
        {
            Some(Rule::Listed)
        }
        _ => None,
    }
}

impl Verifier<'_> {
    /// Checks the constants of an instruction whose operands fit.
    pub(super) fn value_rule(&mut self, rule: Rule, c: &Candidate, instr: &Instr) {
        let ast = self.ast;
        let slots = &c.matched.notation.slots;
        let given = ast.operands(instr.operands());
        let span = |at: usize| given.get(at).map_or_else(|| instr.span(), |o| o.span());
        let mut findings: Vec<(Span, String, String)> = Vec::new();
        match rule {
            Rule::Barrier => {
                let first = slots.iter().take_while(|s| s.dest).count();
                let number = self.top.get(first);
                if let Some(Operand::Imm(n)) = number
                    && *n > 15
                {
                    let note = "a thread block has the barriers 0 to 15".to_owned();
                    findings.push((
                        span(first),
                        format!("there is no barrier {}", *n as i32),
                        note,
                    ));
                }
                let threads = slots.get(first + 1).zip(self.top.get(first + 1));
                if matches!(threads, Some((_, Operand::Imm(0)))) && c.matched.has(".arrive") {
                    let message = "no threads are waited for".to_owned();
                    let note = "the number of threads is not zero here".to_owned();
                    findings.push((span(first + 1), message, note));
                }
                if let Some((slot, Operand::Imm(n))) = threads
                    && slot.ty != SlotTy::Fixed(Ty::Pred)
                    && n % 32 != 0
                {
                    let note =
                        "the number of threads is a multiple of the warp size, 32".to_owned();
                    findings.push((
                        span(first + 1),
                        format!("{n} threads are no whole warps"),
                        note,
                    ));
                }
            }
            Rule::Sink => {
                if self.top.first() != Some(&Operand::Sink) {
                    let message = "only the sink `_` goes for the result of this form".to_owned();
                    findings.push((span(0), message, "write `_`".to_owned()));
                }
            }
            Rule::Texture => {
                let lists = given.iter().filter_map(|op| match ast.arg(op) {
                    Arg::MemList { items, .. } => Some((op.span(), items)),
                    _ => None,
                });
                let independent = self.module.info.target.texmode_independent;
                let given_at = |name: &str| {
                    let slot = slots.iter().position(|s| s.name == name)?;
                    self.top.get(slot).filter(|op| **op != Operand::Absent)
                };
                if given_at("e").is_some() && given_at("n").is_some() {
                    let message = "a number of no meaning goes without offsets only".to_owned();
                    let note = "leave the last operand out".to_owned();
                    findings.push((instr.span(), message, note));
                }
                for (span, items) in lists {
                    let level = match given.get(2).map(|op| ast.arg(op)) {
                        Some(Arg::Vector(elements)) if c.matched.has(".level") => elements.len(),
                        _ => 0,
                    };
                    if let Some(sm) = (c.matched.row.unsampled)(&c.matched, level)
                        && items.len() > 2
                        && !independent
                        && self.module.info.target.sm >= sm
                    {
                        let note = "in `texmode_unified` the texture has its sampler".to_owned();
                        findings.push((span, "this form takes no sampler".to_owned(), note));
                    }
                    if (c.matched.row.layer)(&c.matched) == Some(0)
                        && let Some(integer) = self.integer_coordinate(c, items)
                    {
                        let message = "the coordinates are `.f32`, this is an integer".to_owned();
                        let note = "write it with a decimal point".to_owned();
                        findings.push((integer, message, note));
                    }
                    if let Some(layer) = (c.matched.row.layer)(&c.matched)
                        && self.no_number(layer, c, items)
                    {
                        let message = "the number of a layer is an integer of 32 bits".to_owned();
                        let note = "neither a float nor a wider register stands for it".to_owned();
                        findings.push((span, message, note));
                    }
                }
            }
            Rule::Listed => {
                for (at, slot) in slots.iter().enumerate() {
                    if let Some((message, note)) = self.listed(at, slot, c, given) {
                        findings.push((span(at), message, note));
                    }
                }
            }
        }
        for (span, message, note) in findings {
            self.error(Code::Operand, span, message).note(note);
        }
    }

    /// Why the constants of a slot do not go, with a note.
    fn listed(
        &self,
        at: usize,
        slot: &OperandSlot,
        c: &Candidate,
        given: &[AstOperand],
    ) -> Option<(String, String)> {
        let slots = &c.matched.notation.slots;
        let op = given.get(at).filter(|_| !slot.dest);
        // The operand of a slot, where none is left out: the slots of one bracket are one operand.
        let shared = |end: usize| {
            let pairs = slots[..end].windows(2);
            pairs.filter(|p| p[0].bracket.is_some() && p[0].bracket == p[1].bracket).count()
        };
        let all = given.len() == slots.len() - shared(slots.len());
        let constant = given.get(at - shared(at + 1)).filter(|_| all).map(|op| self.ast.arg(op));
        let want = c.matched.slot_ty(slot);
        let rule = c.matched.row.constants;
        if rule == Constants::Single
            && want == Some(Ty::F32)
            && matches!(op.map(|op| self.ast.arg(op)), Some(Arg::Imm(Imm::F64(_))))
        {
            let message = "a decimal number is `.f64` here, not `.f32`".to_owned();
            return Some((message, "write its bits, `0f3F800000`".to_owned()));
        }
        if slot.register
            && matches!(rule, Constants::EachFrom(..))
            && matches!(op.map(|op| self.ast.arg(op)), Some(Arg::Imm(Imm::F32(_))))
            && self.each(rule)
        {
            let message = "a float is no `.b32` here".to_owned();
            return Some((message, "put it into a register".to_owned()));
        }
        if let Some(op) = op
            && let Some(want) = want.filter(|want| want.bits() == 32)
            && let Some(own) = self.type_of_constants(&c.matched, slot.name, op, want)
        {
            let message = format!("a constant is `{own}` here, not `{want}`");
            return Some((message, "put it into a register".to_owned()));
        }
        let no_value = |n: &dyn std::fmt::Display| format!("{n} is no value of this operand");
        let possible = |list: &str| format!("possible are {}", list.replace('|', ", "));
        let n = match self.top.get(at)? {
            Operand::Vector(range) => {
                return range.clone().zip(slot.values.split(';')).find_map(|(part, list)| {
                    let Operand::Imm(n) = &self.body.operands[part as usize] else { return None };
                    let written = self.written(at, part - range.start, given, *n);
                    (!allows(list, written)).then(|| (no_value(&written), possible(list)))
                });
            }
            Operand::Imm(n) => *n,
            _ => return None,
        };
        if want == Some(Ty::F32) {
            let value = f32::from_bits(n as u32);
            return (!allows_float(slot.values, value)).then(|| {
                let ends = slot.values.trim_start_matches('>').replace("..", " and at most ");
                (no_value(&value), format!("it is above {ends}"))
            });
        }
        if let Some(name) = bound(slot.values) {
            let other = slots.iter().position(|s| s.name == name)?;
            let Some(Operand::Imm(most)) = self.top.get(other) else { return None };
            let note = format!("operand `{name}` is {most}, and this one is no greater");
            return (n as u32 > *most as u32).then(|| (no_value(&(n as i32)), note));
        }
        // As written where every slot is one operand: a predicate has lost its number, and -1 is not 0xffffffff.
        let written = match constant {
            // ptxas cuts those of more than 32 bits without a look.
            Some(Arg::Imm(Imm::Signed(n)))
                if n > i64::from(u32::MAX) && want.is_none_or(|ty| ty.bits() <= 32) =>
            {
                return None;
            }
            Some(Arg::Imm(Imm::Signed(n))) => n,
            _ => i64::from(n as i32),
        };
        (!allows(slot.values, written)).then(|| (no_value(&written), possible(slot.values)))
    }

    /// A constant in a vector, as written.
    fn written(&self, at: usize, part: u32, given: &[AstOperand], value: u64) -> i64 {
        let item = match given.get(at).map(|op| self.ast.arg(op)) {
            Some(Arg::Vector(items)) => items.get(part as usize),
            _ => None,
        };
        match item.map(|item| self.ast.arg(item)) {
            Some(Arg::Imm(Imm::Signed(n))) => n,
            _ => i64::from(value as i32),
        }
    }

    /// Where a coordinate behind the number of a layer is an integer, and the coordinates are floats.
    fn integer_coordinate(&self, c: &Candidate, items: &[AstOperand]) -> Option<Span> {
        if c.matched.get("ctype") != Some(".f32") {
            return None;
        }
        let Arg::Vector(elements) = self.ast.arg(items.last()?) else { return None };
        let integer = |op: &&AstOperand| {
            matches!(self.ast.arg(op), Arg::Imm(Imm::Signed(_) | Imm::Unsigned(_)))
        };
        elements.iter().skip(1).find(integer).map(|op| op.span())
    }

    /// Whether an element of the coordinates, the last of `items`, is no integer of 32 bits.
    fn no_number(&self, element: usize, c: &Candidate, items: &[AstOperand]) -> bool {
        if let Some(Arg::Vector(elements)) = items.last().map(|op| self.ast.arg(op))
            && let Some(Arg::Imm(Imm::F32(_) | Imm::F64(_))) =
                elements.get(element).map(|op| self.ast.arg(op))
        {
            return true;
        }
        let slot = c.matched.notation.slots.iter().position(|s| s.name == "c");
        let Some(Operand::Vector(range)) = slot.and_then(|slot| self.top.get(slot)) else {
            return false;
        };
        match self.body.operands.get(range.start as usize + element) {
            Some(Operand::Reg(id, _)) => {
                let ty = self.body.regs[*id as usize].ty;
                ty.class() == TyClass::Float || ty.bits() != 32
            }
            _ => false,
        }
    }

    /// Whether each constant has a type of its own on the module's target.
    fn each(&self, rule: Constants) -> bool {
        let sm = self.module.info.target.sm;
        match rule {
            Constants::EachFrom(first, end) => (first..end).contains(&sm),
            Constants::Each => true,
            Constants::Free | Constants::Vector | Constants::Pair | Constants::Single => false,
        }
    }

    /// The type of constants in the vector of a slot, where that is not `want`.
    fn type_of_constants(&self, m: &Match, slot: &str, op: &AstOperand, want: Ty) -> Option<Ty> {
        let Arg::Vector(items) = self.ast.arg(op) else { return None };
        let own = |item: &AstOperand| match self.ast.arg(item) {
            Arg::Imm(Imm::Signed(_) | Imm::Unsigned(_)) => Some(Ty::S32),
            Arg::Imm(Imm::F32(_)) => Some(Ty::F32),
            Arg::Imm(Imm::F64(_)) => Some(Ty::F64),
            _ => None,
        };
        let other = |ty: &Ty| *ty != want;
        let vector = |items: &[AstOperand]| {
            let all: Vec<Ty> = items.iter().map(own).collect::<Option<_>>()?;
            all.first().copied().filter(other)
        };
        let rule = m.row.constants;
        match rule {
            Constants::Free | Constants::Single => None,
            Constants::Vector => vector(items),
            Constants::EachFrom(..) if !self.each(rule) => vector(items),
            // Without a type are the factors, of which integers are constants, and sums of halves, which take none.
            Constants::EachFrom(..) if want == Ty::F32 => {
                items.iter().filter_map(own).find(|ty| *ty == Ty::S32)
            }
            Constants::EachFrom(..) if want == Ty::B32 && slot != "c" => {
                let float = items.iter().filter_map(own).find(|ty| *ty != Ty::S32);
                float.or_else(|| vector(items))
            }
            Constants::Pair => {
                let parts = (m.row.parts)(m, slot);
                let mut all = items.chunks(parts.length).take(parts.count);
                all.find_map(|part| vector(part).filter(parts.refused)).or_else(|| vector(items))
            }
            Constants::Each | Constants::EachFrom(..) => items.iter().filter_map(own).find(other),
        }
    }

    /// Loads and stores of 256 bits are newer than those of 128.
    pub(super) fn wide_access(&self, m: &Match, text: &str) -> Option<Box<Diag>> {
        if !matches!(m.row.op, Operation::Load | Operation::Store) || self.reaches(ptx(8, 8), 100) {
            return None;
        }
        let count: u32 = m.get("vec")?.strip_prefix(".v")?.parse().ok()?;
        if count * m.ty("type")?.bits() <= 128 {
            return None;
        }
        let message = format!(
            "`{text}` moves 256 bits: it needs `.version 8.8` and `.target sm_100` or later"
        );
        Some(Box::new(Diag::error(Code::Target, Span::default(), message)))
    }

    /// Sizes of `.const` and `.shared` variables.
    pub(super) fn memory_limits(&mut self) {
        let total: u64 = self
            .module
            .symbols
            .iter()
            .filter(|s| s.space == Space::Const && s.linkage != Linkage::Extern)
            .map(|s| s.size)
            .sum();
        if total > CONST {
            let last = self.module.symbols.iter().rfind(|s| s.space == Space::Const);
            let span = last.map_or_else(Span::default, |s| Span::new(s.span.start, s.span.end));
            let message =
                format!("the module's `.const` variables take {total} bytes, {CONST} are possible");
            self.error(Code::Limit, span, message);
        }
        let mut findings = Vec::new();
        for f in self.module.functions.iter().filter(|f| f.entry) {
            let Some(body) = &f.body else { continue };
            let mut used: Vec<u32> = Vec::new();
            for op in &body.operands {
                if let Operand::Symbol(id, _) = op
                    && self.module.symbols[*id as usize].space == Space::Shared
                    && !used.contains(id)
                {
                    used.push(*id);
                }
            }
            let own = body.vars.iter().filter(|v| v.space == Space::Shared).map(|v| v.size);
            let total: u64 =
                own.chain(used.iter().map(|id| self.module.symbols[*id as usize].size)).sum();
            if total > SHARED {
                findings.push((Span::new(f.span.start, f.span.end), f.name.clone(), total));
            }
        }
        for (span, name, total) in findings {
            let message = format!(
                "kernel `{name}` declares {total} bytes of `.shared`, {SHARED} are possible"
            );
            self.error(Code::Limit, span, message)
                .help("declare `.extern .shared .b8 x[];` and give the size at launch");
        }
    }
}
