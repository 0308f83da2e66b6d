//! Values that a function computes twice: the assembler does it once.
//!
//! Compilers that make PTX leave few of them, but for what inline assembly computes, as CUDA's functions on halves do.

use std::collections::HashMap;

use ptx_isa::{Operation, Reach};
use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::Facts;
use crate::uses::{blocks_of, dominators, times_written};

/// What an instruction computes: its opcode and its operands.
type Computed = (String, Vec<(Option<Register>, Option<u64>)>);

/// Folds instructions that compute what another one in a dominating place has; their readers read its results.
pub(crate) fn share(function: &Function, facts: &mut [Facts<'_>]) {
    let made = times_written(facts);
    let once = |r: &Register| made.get(r).is_none_or(|n| *n == 1);
    let (block, dominators) = (blocks_of(function), dominators(function));
    let mut known: HashMap<Computed, Vec<usize>> = HashMap::new();
    let mut same: HashMap<Register, Register> = HashMap::new();
    for i in 0..facts.len() {
        rename(&same, &mut facts[i]);
        let f = &facts[i];
        let own = &f.instruction;
        let kept = own.reads.iter().chain(&own.writes).all(once);
        if !pure(f) || !kept || block[i] == usize::MAX {
            continue;
        }
        let earlier = known.entry((f.opcode.opcode(), f.arguments.clone())).or_default();
        let before = |j: &usize| {
            block[*j] == block[i] || dominators.dominates(block[*j] as u32, block[i] as u32)
        };
        let Some(first) = earlier.iter().copied().find(before) else {
            earlier.push(i);
            continue;
        };
        let pairs: Vec<(Register, Register)> = own
            .writes
            .iter()
            .copied()
            .zip(facts[first].instruction.writes.iter().copied())
            .collect();
        same.extend(pairs);
        facts[i].folded = true;
    }
    if !same.is_empty() {
        facts.iter_mut().for_each(|f| rename(&same, f));
    }
}

/// Whether nothing but an instruction's operands decides what it computes.
fn pure(f: &Facts<'_>) -> bool {
    let own = &f.instruction;
    let moves = f.op == Operation::Move && own.writes.len() == 1 && f.arguments.len() == 1;
    own.class.is_arithmetic()
        && f.opcode.row.reach == Reach::Lane
        && own.guard.is_none()
        && !f.folded
        && !f.varies
        && !moves
        && !own.reads.is_empty()
        && !own.writes.is_empty()
        && f.place.is_none()
        && own.chooses == 0
}

fn rename(same: &HashMap<Register, Register>, f: &mut Facts<'_>) {
    if same.is_empty() {
        return;
    }
    let new = |r: &mut Register| *r = same.get(r).copied().unwrap_or(*r);
    f.instruction.reads.iter_mut().for_each(new);
    f.instruction.guard.iter_mut().for_each(new);
    f.arguments.iter_mut().filter_map(|a| a.0.as_mut()).for_each(new);
    if let Some(base) = f.place.as_mut().and_then(|p| p.base.as_mut()) {
        new(base);
    }
    let mut seen = smallvec::SmallVec::<[Register; 4]>::new();
    f.instruction.reads.retain(|r| {
        let first = !seen.contains(r);
        seen.push(*r);
        first
    });
}
