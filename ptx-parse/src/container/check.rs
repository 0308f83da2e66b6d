//! Indices of what was read from a container: a wrong one is an error here and never a panic or a wrong place later.

use std::ops::Range;

use ptx_isa::Match;

use super::record::Result;
use crate::lazy::Lazy;
use crate::module::{Body, CallTargets, Func, Operand, RelocationTarget, Symbol};

/// How much there is of what bodies refer to.
pub(super) struct Limits {
    pub symbols: usize,
    /// Results and parameters of each function.
    pub functions: Vec<usize>,
    pub reg_names: usize,
    pub matches: Lazy<Vec<Match>>,
}

fn within(id: u32, count: usize, what: &'static str) -> Result<()> {
    if (id as usize) < count { Ok(()) } else { Err(what) }
}

fn place(span: &Range<u32>, text: &str) -> Result<()> {
    match text.get(span.start as usize..span.end as usize) {
        Some(_) => Ok(()),
        None => Err("a place lies outside the text"),
    }
}

impl Limits {
    pub(super) fn symbols(&self, all: &[Symbol], text: &str) -> Result<()> {
        for symbol in all {
            place(&symbol.span, text)?;
            if symbol.init.len() as u64 > symbol.size {
                return Err("a variable is shorter than its contents");
            }
            for relocation in &symbol.relocations {
                match relocation.target {
                    RelocationTarget::Symbol(id) => within(id, self.symbols, "no such variable")?,
                    RelocationTarget::Function(id) => {
                        within(id, self.functions.len(), "no such function")?;
                    }
                }
                if relocation.shift > 63 || relocation.bytes > 8 {
                    return Err("an address has at most 64 bits");
                }
            }
        }
        Ok(())
    }

    pub(super) fn head(&self, func: &Func, text: &str) -> Result<()> {
        place(&func.span, text)?;
        match func.alias {
            Some(id) => within(id, self.functions.len(), "no such function"),
            None => Ok(()),
        }
    }
}

/// Checks the body of function `id`, whose parameters may be registers.
pub(super) fn check(
    body: &Body,
    id: usize,
    params: &[Option<u32>],
    limits: &Limits,
    text: &str,
) -> Result<()> {
    let reg = |id: u32| within(id, body.regs.len(), "no such register");
    let label = |id: u32| within(id, body.labels.len(), "no such label");
    let func = |id: u32| within(id, limits.functions.len(), "no such function");
    for r in &body.regs {
        within(r.name, limits.reg_names, "no such name of a register")?;
    }
    for r in params.iter().flatten() {
        reg(*r)?;
    }
    limits.symbols(&body.vars, text)?;
    place(&body.end, text)?;
    for (span, at) in &body.labels {
        place(span, text)?;
        if *at as usize > body.insts.len() {
            return Err("a label stands behind the last instruction");
        }
    }
    body.branch_targets.iter().flatten().try_for_each(|id| label(*id))?;
    body.call_targets.iter().flatten().try_for_each(|id| func(*id))?;
    for (at, operand) in body.operands.iter().enumerate() {
        // Parts of an operand stand before it, so that none is part of itself.
        let before = |range: &Range<u32>| {
            if range.end as usize <= at { Ok(()) } else { Err("an operand is part of itself") }
        };
        match operand {
            Operand::Absent | Operand::Sink | Operand::Imm(_) | Operand::Special(_) => {}
            Operand::Envreg(n) => within((*n).into(), 32, "no such register")?,
            Operand::Reg(id, _)
            | Operand::MinusReg(id, _)
            | Operand::NotReg(id)
            | Operand::Sum(id, _) => reg(*id)?,
            Operand::Symbol(id, _) => within(*id, limits.symbols, "no such variable")?,
            Operand::Var(id, _) => within(*id, body.vars.len(), "no such variable")?,
            Operand::Param(n, _) => within(*n, limits.functions[id], "no such parameter")?,
            Operand::Func(id) => func(*id)?,
            Operand::Label(id) => label(*id)?,
            Operand::BranchTargets(id) => {
                within(*id, body.branch_targets.len(), "no such table of targets")?;
            }
            Operand::Vector(range) => before(range)?,
            Operand::Both(range) => {
                before(range)?;
                if range.end - range.start < 2 {
                    return Err("a pair has two parts");
                }
            }
            Operand::Addr(base, _) => within(*base, at, "an operand is part of itself")?,
            Operand::Call(call) => {
                match call.callee {
                    Operand::Func(id) => func(id)?,
                    Operand::Reg(id, _) => reg(id)?,
                    _ => return Err("a callee is neither a function nor a register"),
                }
                before(&call.rets)?;
                before(&call.args)?;
                match call.targets {
                    Some(CallTargets::Prototype(id)) => {
                        within(id, body.prototypes.len(), "no such prototype")?;
                    }
                    Some(CallTargets::Table(id)) => {
                        within(id, body.call_targets.len(), "no such table of targets")?;
                    }
                    None => {}
                }
            }
        }
    }
    for inst in &body.insts {
        place(&inst.span, text)?;
        let matched = limits.matches.get(inst.opcode as usize).ok_or("no such opcode")?;
        if let Some((guard, _)) = inst.guard {
            reg(guard)?;
        }
        if let Some(loc) = inst.loc {
            within(loc, body.locs.len(), "no such line")?;
        }
        let count = inst.operands.end as usize - inst.operands.start as usize;
        if inst.operands.end as usize > body.operands.len() || count != matched.notation.slots.len()
        {
            return Err("an instruction has other operands than its form");
        }
    }
    Ok(())
}
