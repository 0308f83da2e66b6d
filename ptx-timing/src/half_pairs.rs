//! Arithmetic on both halves of words, one after the other: the machine does it in one instruction (HMUL2, HFMA2).

use ptx_isa::{Class, Operation};
use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::{Facts, Halves};
use crate::uses::{Uses, blocks_of};

/// Joins two instructions that do the same with the lower and the upper halves of some words, if nothing but their
/// results put together is read.
pub(crate) fn join(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let block = blocks_of(function);
    for i in 0..facts.len() {
        let &[a, b] = &facts[i].instruction.reads[..] else { continue };
        let free = !facts[i].folded && facts[i].instruction.guard.is_none();
        if !free || !facts[i].packs() {
            continue;
        }
        // Nothing else reads them.
        let maker = |r: Register| -> Option<usize> {
            let &[made] = &uses.definitions.get(&r)?[..] else { return None };
            let &[_] = &uses.uses.get(&r)?[..] else { return None };
            let f = &facts[made];
            let plain = f.instruction.class == Class::F16Single && f.op != Operation::Convert;
            (plain && !f.folded && f.instruction.guard.is_none()).then_some(made)
        };
        let (Some(a), Some(b)) = (maker(a), maker(b)) else { continue };
        if block[a] != block[i] || block[b] != block[i] {
            continue;
        }
        let both = operands(facts, &uses, a, b).or_else(|| operands(facts, &uses, b, a));
        let Some(reads) = both else { continue };
        let (first, second) = (a.max(b), a.min(b));
        facts[second].folded = true;
        facts[i].folded = true;
        let result = facts[i].instruction.writes.clone();
        let f = &mut facts[first];
        f.instruction.class = Class::F16;
        f.instruction.reads = reads.into();
        f.instruction.writes = result;
        f.op = Operation::Other;
        f.arguments.clear();
    }
}

/// What one instruction reads that does for whole words what two do for their halves.
fn operands(facts: &[Facts<'_>], uses: &Uses, low: usize, high: usize) -> Option<Vec<Register>> {
    let (low, high) = (&facts[low], &facts[high]);
    if low.opcode.opcode() != high.opcode.opcode() || low.arguments.len() != high.arguments.len() {
        return None;
    }
    let mut reads = Vec::new();
    for (a, b) in low.arguments.iter().zip(&high.arguments) {
        let word = match (a.0, b.0) {
            // A half that both take.
            (a, b) if a == b => a,
            (Some(a), Some(b)) => Some(word_of(facts, uses, a, b)?),
            _ => return None,
        };
        reads.extend(word.filter(|r| !reads.contains(r)));
    }
    Some(reads)
}

/// The word of which two registers are the halves.
fn word_of(facts: &[Facts<'_>], uses: &Uses, low: Register, high: Register) -> Option<Register> {
    let half = |r: Register, place: usize| {
        let &[made] = &uses.definitions.get(&r)?[..] else { return None };
        let f = &facts[made];
        let splits = f.halves() == Some(Halves::Split) && f.instruction.writes[place] == r;
        splits.then(|| f.instruction.reads[0])
    };
    half(low, 0).filter(|word| half(high, 1) == Some(*word) && uses.written_once(*word))
}
