//! Sums that a predicate decides about.
//!
//! Read off the code of ptxas 13.5 for sm_90: where a selection chooses between a number and the same number with a
//! constant added, or adds 1 or 0 to one, the sum is made first, and a guarded move takes it back: `VIADD` and `@P
//! IMAD.MOV` instead of `SEL` and `IADD3`. Other selections stay what they are.

use ptx_isa::{Class, Operation, Ty};
use ptx_parse::code::Function;

use crate::chains::unchanged;
use crate::event::Register;
use crate::facts::Facts;
use crate::uses::{Uses, blocks_of};

/// Makes these selections guarded moves.
pub(crate) fn move_back(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let blocks = blocks_of(function);
    for i in 0..facts.len() {
        let f = &facts[i];
        let word = matches!(f.plain(""), Some(Ty::B32 | Ty::S32 | Ty::U32));
        let selects = word && f.instruction.class == Class::Select && !f.folded;
        if !selects || f.instruction.guard.is_some() {
            continue;
        }
        let [result] = f.instruction.writes[..] else { continue };
        let arms = [0, 1].map(|a| facts[i].arguments.get(a).copied().unwrap_or_default());
        match arms {
            [(None, Some(1)), (None, Some(0))] | [(None, Some(0)), (None, Some(1))] => {
                if let Some((sum, other)) = counted(facts, &uses, &blocks, i, result)
                    && unchanged(function, facts, other, i, sum)
                {
                    swap(facts, i, sum, other);
                }
            }
            [(Some(a), None), (Some(b), None)] => {
                let ends = |sum: Register, of: Register| {
                    is_sum_of(facts, &uses, sum, of)
                        && uses.uses.get(&sum).is_some_and(|users| {
                            users.iter().all(|u| *u <= i && blocks[*u] == blocks[i])
                        })
                };
                if ends(a, b) || ends(b, a) {
                    facts[i].instruction.class = Class::Move;
                }
            }
            _ => {}
        }
    }
}

/// The sum behind a selection of 1 or 0 that alone reads it, in its block, and what it adds that to.
fn counted(
    facts: &[Facts<'_>],
    uses: &Uses,
    blocks: &[usize],
    i: usize,
    result: Register,
) -> Option<(usize, Register)> {
    let &[sum] = &uses.uses.get(&result)?[..] else { return None };
    let f = facts.get(sum)?;
    let plain = f.op == Operation::Add && f.instruction.class == Class::IntAdd;
    if !plain || f.instruction.guard.is_some() || sum <= i || blocks[sum] != blocks[i] {
        return None;
    }
    let [(Some(a), _), (Some(b), _)] = f.arguments[..] else { return None };
    let other = if a == result { b } else { a };
    (other != result && uses.written_once(result)).then_some((sum, other))
}

/// Whether a register is another one and a constant.
fn is_sum_of(facts: &[Facts<'_>], uses: &Uses, sum: Register, of: Register) -> bool {
    let Some(&[made]) = uses.definitions.get(&sum).map(|d| &d[..]) else { return false };
    let f = &facts[made];
    let constant = f.arguments.iter().any(|a| a.0.is_none() && a.1.is_some());
    f.op == Operation::Add
        && f.instruction.guard.is_none()
        && constant
        && f.arguments.iter().any(|a| a.0 == Some(of))
}

/// The selection becomes the sum with 1, and the sum a move that takes it back.
fn swap(facts: &mut [Facts<'_>], selection: usize, sum: usize, other: Register) {
    let decides = facts[selection].instruction.reads.clone();
    let made = facts[selection].instruction.writes.clone();
    (facts[selection].op, facts[sum].op) = (Operation::Other, Operation::Other);
    let first = &mut facts[selection].instruction;
    first.class = Class::IntAdd;
    first.reads = [other].into_iter().collect();
    let second = &mut facts[sum].instruction;
    second.class = Class::Move;
    second.reads = made.into_iter().collect();
    second.reads.push(other);
    second.reads.extend(decides);
}
