//! Divisions of 32-bit integers by one divisor: ptxas computes its reciprocal once.
//!
//! Read off the code of ptxas 13.5 for sm_90: of a loop whose turns divide by the same number, and of a number that
//! others of the block are divided by, the conversion, the reciprocal and its correction stand there once, ahead of
//! the loop if it can. It cannot ahead of a loop with another one inside, nor past what has a routine for some operands
//! (a division of floats, a root): the routine may be called there.

use std::ops::Range;

use ptx_isa::Class;
use ptx_parse::code::{Flow, Function};

use crate::event::Register;
use crate::facts::Facts;
use crate::uses::{Uses, blocks_of};

/// What a reciprocal takes ahead of a loop.
const RECIPROCAL: u32 = 11;
/// What signs take of each division besides.
const SIGNS: u32 = 3;
/// Words that live throughout a loop beside the divisor: the reciprocal and the divisor's negative, and its absolute
/// value where there are signs. Read off ptxas 13.5 with 6 to 40 values that live besides.
const CONSTANTS: u8 = 2;
const SIGNED_CONSTANTS: u8 = 3;

/// What others are divided by: a register or a constant.
type Divisor = (Option<Register>, Option<u64>);

/// What a loop's divisions by one divisor keep in registers: a register that stands for it, and where the loop starts
/// and ends in the text.
pub(crate) type Constants = (Register, Range<usize>);

/// Makes divisions whose reciprocal is at hand what they are then. `words` gets what loops keep in registers for them.
pub(crate) fn share(
    function: &Function,
    words: &mut Vec<u8>,
    facts: &mut [Facts<'_>],
) -> Vec<Constants> {
    let mut kept = Vec::new();
    let divisions: Vec<(usize, Divisor)> = facts
        .iter()
        .enumerate()
        .filter(|(_, f)| !f.folded && divides(f.instruction.class))
        .filter_map(|(i, f)| f.arguments.get(1).map(|divisor| (i, *divisor)))
        .collect();
    if divisions.is_empty() {
        return kept;
    }
    let uses = Uses::new(facts);
    let blocks = blocks_of(function);
    let loops = loops(function);
    let same = |divisor: Divisor, within: Range<usize>| {
        let written = divisor.0.and_then(|r| uses.definitions.get(&r));
        written.is_none_or(|at| at.iter().all(|i| !within.contains(i)))
    };
    let calls =
        |within: Range<usize>| facts[within].iter().any(|f| !f.folded && f.instruction.splits);
    let outer = |l: &Range<usize>| {
        loops.iter().any(|other| other != l && l.contains(&other.start) && other.end <= l.end)
    };
    let held: Vec<bool> = loops.iter().map(|l| calls(l.clone()) || outer(l)).collect();
    let parted = |from: usize, to: usize| calls(from + 1..to);
    let earlier: Vec<bool> = divisions
        .iter()
        .enumerate()
        .map(|(n, &(i, divisor))| {
            divisions[..n].iter().any(|(earlier, other)| {
                *other == divisor
                    && blocks[*earlier] == blocks[i]
                    && same(divisor, earlier + 1..i)
                    && !parted(*earlier, i)
            })
        })
        .collect();
    let mut ahead: Vec<(usize, Divisor, Register)> = Vec::new();
    for (n, &(i, divisor)) in divisions.iter().enumerate() {
        let inside = loops.iter().filter(|l| l.contains(&i)).min_by_key(|l| l.len());
        // What only some turns come to stays where it is.
        let goes = |l: &Range<usize>| loops.iter().zip(&held).any(|(a, held)| a == l && !held);
        let always = |l: &&Range<usize>| l.start > 0 && blocks[l.start] == blocks[i] && goes(l);
        if let Some(around) = inside.filter(always).filter(|l| same(divisor, (*l).clone())) {
            let known = ahead.iter().find(|a| (a.0, a.1) == (around.start, divisor));
            let constants = known.map(|a| a.2).unwrap_or_else(|| {
                let constants = words.len() as Register;
                let signed = facts[i].instruction.class == Class::IntDivSigned;
                words.push(if signed { SIGNED_CONSTANTS } else { CONSTANTS });
                kept.push((constants, around.clone()));
                ahead.push((around.start, divisor, constants));
                if let Some(before) = facts[..around.start].iter_mut().rev().find(|f| !f.folded) {
                    before.instruction.extra_slots += RECIPROCAL;
                }
                constants
            });
            facts[i].instruction.reads.push(constants);
        } else if !earlier[n] {
            continue;
        }
        let known = &mut facts[i].instruction;
        known.extra_slots += if known.class == Class::IntDivSigned { SIGNS } else { 0 };
        known.class = Class::IntDivKnown;
    }
    kept
}

fn divides(class: Class) -> bool {
    matches!(class, Class::IntDiv | Class::IntDivSigned)
}

/// From where branches lead back to, to these.
fn loops(function: &Function) -> Vec<Range<usize>> {
    let start = |block: u32| function.blocks.get(block as usize).map(|b| b.start as usize);
    function
        .insts
        .iter()
        .enumerate()
        .filter_map(|(i, inst)| match inst.flow {
            Flow::Bra(target) => start(target).filter(|s| *s <= i).map(|s| s..i + 1),
            _ => None,
        })
        .collect()
}
