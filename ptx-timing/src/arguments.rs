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

use flow::Dominators;
use ptx_isa::Class;
use ptx_parse::code::Program;

use crate::event::{AccessKind, Instruction, Register};
use crate::uses::{block_at, dominators};

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

/// Whether an instruction is a wide multiply-add, which takes no operand from constant memory.
pub(crate) fn adds_wide(i: &Instruction) -> bool {
    i.class == Class::IntMulWide && i.reads.len() == 2
}

/// The instructions before which a side under a predicate loads an argument for itself: what no instruction without a
/// predicate needs in a block, or in one that comes ahead of it on every way. `ends`: the function and the place in the
/// text of each block's last instruction. The first side of all takes what the kernel loads at
/// its start, but for those in loops.
pub(crate) fn guarded_users(
    program: &Program,
    loops: &[Vec<(u32, u32)>],
    blocks: &[Range<u32>],
    ends: &[Option<(u32, u32)>],
    instructions: &[Instruction],
    arguments: &HashSet<Register>,
) -> Vec<u32> {
    let dominators: Vec<Dominators> = program.functions.iter().map(dominators).collect();
    let there = |a: usize, b: usize| match (ends[a], ends[b]) {
        (Some((f, a)), Some((g, b))) if f == g => {
            let function = &program.functions[f as usize];
            dominators[f as usize].dominates(block_at(function, a), block_at(function, b))
        }
        _ => false,
    };
    let looped = |b: usize| {
        ends[b].is_some_and(|(f, at)| {
            loops[f as usize].iter().any(|(start, end)| (*start..*end).contains(&at))
        })
    };
    // Wide multiply-adds with or without a predicate, and the arguments that they read.
    let users = |b: usize, guarded: bool| {
        blocks[b].clone().flat_map(move |pc| {
            let i = &instructions[pc as usize];
            let fits = adds_wide(i) && i.guard.is_some() == guarded;
            let reads = i.reads.iter().filter(move |r| fits && arguments.contains(r));
            reads.map(move |r| (pc, *r))
        })
    };
    let all = 0..blocks.len();
    let plain: Vec<(usize, Register)> =
        all.clone().flat_map(|b| users(b, false).map(move |u| (b, u.1))).collect();
    let mut loaded = HashSet::new();
    let mut found = Vec::new();
    for b in all {
        let mut own = HashSet::new();
        for (pc, r) in users(b, true) {
            let known = plain.iter().any(|(at, p)| *p == r && (*at == b || there(*at, b)));
            let new = !known && own.insert((r, instructions[pc as usize].guard));
            if new && (!loaded.insert(r) || looped(b)) {
                found.push(pc);
            }
        }
    }
    found
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
        } else if adds_wide(i) && i.guard.is_none() {
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
