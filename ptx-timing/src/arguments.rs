//! Where machine code keeps the arguments of a kernel that it needs in registers.
//!
//! A wide multiply-add of sm_90, which makes most addresses, takes no operand from constant memory
//! ([`Assembler::loads_addends`](crate::profile::Assembler::loads_addends)). ptxas 13.5 loads the base (LDC) in each
//! block that needs it, and ahead of a loop only if the loop has no other one inside, does not mostly wait for memory,
//! and leaves registers. Read off some 400 loops made for it:
//! - With 4, 5, 6, 7, 9, 11 and 15 loads from global memory a turn, arguments go ahead from 14 to 17, 17 to 20, 21 to
//!   27, 25 to 30, 33 to 40, 42 to 50 and 63 to 70 instructions on. Loads from shared memory, stores, atomics and
//!   shuffles do not count as loads.
//! - With 32, 40, 48, 64, 80 and 128 registers, as many go ahead that 23, 29, 35, 48, 61 and 99 words live in the order
//!   of the text, the last ones of them one by one.

use std::collections::HashSet;
use std::ops::Range;

use crate::event::{AccessKind, Instruction, Register};
use ptx_isa::Class;

/// Registers that only ever hold an argument of the kernel, which is read from constant memory where it is needed.
pub(crate) fn of(instructions: &[Instruction]) -> HashSet<Register> {
    let mut argument = HashSet::new();
    let mut other = HashSet::new();
    for i in instructions {
        let set = if i.class == Class::LoadParam { &mut argument } else { &mut other };
        set.extend(i.writes.iter().copied());
    }
    argument.retain(|r| !other.contains(r));
    argument
}

/// Whether arguments are loaded ahead of an innermost loop with these instructions, as far as registers last.
pub(crate) fn go_ahead<'a>(turn: impl Iterator<Item = &'a Instruction>) -> bool {
    let (mut all, mut loads) = (0_usize, 0);
    for i in turn {
        all += if i.class == Class::IntAdd64 { 2 } else { 1 };
        loads += usize::from(i.class == Class::LoadGlobal && i.kind == AccessKind::Load);
    }
    10 * all + 50 >= 46 * loads
}

/// Whether so many words that live in the order of the text leave registers for arguments, of so many in all.
pub(crate) fn fit(words: u32, registers: u32) -> bool {
    5 * words + 13 <= 4 * registers
}

/// The instructions before which a side under a predicate loads an argument for itself: what no instruction without a
/// predicate needs in a block, or in one that comes ahead of it on every way (`there`). Each block has its own range;
/// the first side of all takes what the kernel loads at its start.
pub(crate) fn guarded_users(
    blocks: &[Range<u32>],
    there: &dyn Fn(usize, usize) -> bool,
    looped: &dyn Fn(usize) -> bool,
    instructions: &[Instruction],
    arguments: &HashSet<Register>,
) -> Vec<u32> {
    let adds = |i: &&Instruction| i.class == Class::IntMulWide && i.reads.len() == 2;
    let reads = |i: &Instruction| -> Vec<Register> {
        i.reads.iter().copied().filter(|r| arguments.contains(r)).collect()
    };
    let of =
        |block: &Range<u32>| (block.start..block.end).map(|pc| (pc, &instructions[pc as usize]));
    let mut plain: Vec<(Register, usize)> = Vec::new();
    for (b, block) in blocks.iter().enumerate() {
        let all = of(block).filter(|(_, i)| i.guard.is_none() && adds(i));
        plain.extend(all.flat_map(|(_, i)| reads(i)).map(|r| (r, b)));
    }
    let mut loaded = HashSet::new();
    let mut users = Vec::new();
    for (b, block) in blocks.iter().enumerate() {
        let mut own = HashSet::new();
        for (pc, i) in of(block).filter(|(_, i)| i.guard.is_some() && adds(i)) {
            for r in reads(i) {
                let known = plain.iter().any(|(p, at)| *p == r && (*at == b || there(*at, b)));
                if !known && own.insert((r, i.guard)) && (!loaded.insert(r) || looped(b)) {
                    users.push(pc);
                }
            }
        }
    }
    users
}

/// The instructions of a block before which it loads an argument.
pub(crate) fn first_users(
    block: Range<u32>,
    instructions: &[Instruction],
    arguments: &HashSet<Register>,
) -> Vec<u32> {
    let mut loaded = HashSet::new();
    let mut users = Vec::new();
    for pc in block {
        let i = &instructions[pc as usize];
        if i.class == Class::LoadParam {
            loaded.extend(&i.writes);
        } else if i.class == Class::IntMulWide && i.reads.len() == 2 && i.guard.is_none() {
            let new = i.reads.iter().filter(|r| arguments.contains(r) && loaded.insert(**r));
            users.extend(new.map(|_| pc));
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fewest instructions of a turn with so many loads, against the range that ptxas 13.5 was seen to be in.
    #[test]
    fn loops_that_wait_for_memory_load_their_arguments_themselves() {
        let load = Instruction::new(Class::LoadGlobal, &[1], &[0]);
        let other = Instruction::new(Class::IntAdd, &[1], &[0]);
        let goes = |all: usize, loads: usize| {
            let turn: Vec<_> = (0..all).map(|i| if i < loads { &load } else { &other }).collect();
            go_ahead(turn.into_iter())
        };
        for (loads, range) in [
            (4, 14..=17),
            (5, 17..=20),
            (6, 21..=27),
            (7, 25..=30),
            (9, 33..=40),
            (11, 42..=50),
            (15, 63..=70),
        ] {
            let fewest = (loads..200).find(|all| goes(*all, loads));
            assert!(fewest.is_some_and(|all| range.contains(&all)), "{loads}: {fewest:?}");
        }
    }

    /// What ptxas 13.5 has in registers while all arguments are there.
    #[test]
    fn arguments_take_what_registers_leave() {
        for (registers, words) in [(32, 23), (40, 29), (48, 35), (64, 48), (80, 61), (128, 99)] {
            assert!(fit(words, registers) && !fit(words + 1, registers), "{registers}");
        }
    }
}
