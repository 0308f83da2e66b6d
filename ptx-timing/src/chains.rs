//! Values that share a name in the text, told apart.
//!
//! The assembler works on values, not on names: `x = x + a; x = x + b` is one addition of three
//! numbers to it. Here every value that ends inside its basic block gets a register of its own.

use std::collections::{HashMap, HashSet};

use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::Facts;
use crate::live;
use crate::uses::times_written;

/// Gives each value that ends in the block that makes it a register of its own, where others share its name. `words`
/// gets the sizes of the new registers.
pub(crate) fn rename(function: &Function, words: &mut Vec<u8>, facts: &mut [Facts<'_>]) {
    let ends = live::at_block_ends(function, words.len(), |b| {
        let block = &function.blocks[b];
        facts[block.start as usize..block.end as usize].iter().map(|f| &f.instruction)
    });
    let made = times_written(facts);
    let same = always_the_same(facts);
    for (block, end_of_block) in function.blocks.iter().zip(&ends) {
        let (start, end) = (block.start as usize, block.end as usize);
        // Whole writes that are still to come.
        let mut later: HashMap<Register, u32> = HashMap::new();
        for f in facts[start..end].iter().filter(|f| f.instruction.guard.is_none()) {
            for &w in &f.instruction.writes {
                *later.entry(w).or_default() += 1;
            }
        }
        // What is left of a name at the end, and what other blocks make under it.
        let ends = |w: Register| !end_of_block.contains(w);
        let elsewhere =
            |w: Register, here: u32| made.get(&w).is_some_and(|n| *n > here) && !same.contains(&w);
        let alone = |(w, n): (&Register, &u32)| *n < 2 && !(ends(*w) && elsewhere(*w, *n));
        if later.iter().all(alone) {
            continue;
        }
        let shared: HashSet<Register> =
            later.iter().filter(|(w, n)| ends(**w) && elsewhere(**w, **n)).map(|w| *w.0).collect();
        let mut now: HashMap<Register, Register> = HashMap::new();
        for f in &mut facts[start..end] {
            let current = |r: &mut Register| *r = now.get(r).copied().unwrap_or(*r);
            f.instruction.reads.iter_mut().for_each(current);
            f.instruction.guard.iter_mut().for_each(current);
            f.arguments.iter_mut().filter_map(|a| a.0.as_mut()).for_each(current);
            f.place.iter_mut().filter_map(|p| p.base.as_mut()).for_each(current);
            let whole = f.instruction.guard.is_none();
            for w in &mut f.instruction.writes {
                if !whole {
                    *w = now.get(w).copied().unwrap_or(*w);
                    continue;
                }
                let left = later.entry(*w).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 && !shared.contains(w) {
                    now.remove(w);
                    continue;
                }
                let fresh = words.len() as Register;
                words.push(words.get(*w as usize).copied().unwrap_or(1));
                now.insert(*w, fresh);
                *w = fresh;
            }
        }
    }
}

/// Registers that get their value by one instruction, perhaps in several places.
fn always_the_same(facts: &[Facts<'_>]) -> HashSet<Register> {
    let mut makers: HashMap<Register, Option<&Facts<'_>>> = HashMap::new();
    for f in facts {
        for &w in &f.instruction.writes {
            let first = makers.entry(w).or_insert(Some(f));
            *first = first.filter(|first| {
                let picked = first.opcode.picked == f.opcode.picked;
                picked && first.op == f.op && first.arguments == f.arguments
            });
        }
    }
    makers.into_iter().filter(|(_, maker)| maker.is_some()).map(|(r, _)| r).collect()
}

/// Whether a register that instruction `from` reads has the same value at instruction `to`: both are
/// in one block, and nothing between writes it.
pub(crate) fn unchanged(
    function: &Function,
    facts: &[Facts<'_>],
    register: Register,
    from: usize,
    to: usize,
) -> bool {
    let block = function.blocks.iter().find(|b| (b.start as usize..b.end as usize).contains(&from));
    from < to
        && block.is_some_and(|b| to < b.end as usize)
        && facts[from..to].iter().all(|f| !f.instruction.writes.contains(&register))
}
