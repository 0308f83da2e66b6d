//! Moves between registers as the assembler allocates them: a move costs nothing where both ends can get
//! the same register.
//!
//! PTX has a register file per type and a new register for nearly every value, so compilers write a
//! move where a float becomes bits for a shuffle, and at the end of a loop where a variable gets its
//! next value. The assembler joins source and destination unless both values are needed at once.

use std::collections::{HashMap, HashSet};

use ptx_isa::Operation;
use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::Facts;
use crate::live;

/// Most members of a joined group, so that long chains stay cheap to compare.
const MOST: usize = 64;

/// A move of a whole register into another of the same size.
fn copied(f: &Facts<'_>, words: &dyn Fn(Register) -> u32) -> Option<(Register, Register)> {
    let i = &f.instruction;
    let (&[to], &[from]) = (&i.writes[..], &i.reads[..]) else { return None };
    let plain = f.op == Operation::Move && i.guard.is_none() && !f.folded && !f.varies;
    let same = words(to) == words(from) && f.constants == 0;
    (plain && same && i.class == ptx_isa::Class::Move).then_some((to, from))
}

/// Joins the registers of moves and folds the moves. `words` gives the size of a register.
pub(crate) fn join(
    function: &Function,
    registers: usize,
    words: &dyn Fn(Register) -> u32,
    facts: &mut [Facts<'_>],
) {
    let moves: Vec<(usize, Register, Register)> = (0..facts.len())
        .filter_map(|i| copied(&facts[i], words).map(|(to, from)| (i, to, from)))
        .collect();
    if moves.is_empty() {
        return;
    }
    let apart = apart(function, registers, &moves, facts);
    let mut groups: HashMap<Register, Vec<Register>> = HashMap::new();
    let mut leader: HashMap<Register, Register> = HashMap::new();
    for &(_, to, from) in &moves {
        for r in [to, from] {
            leader.insert(r, r);
            groups.insert(r, vec![r]);
        }
    }
    for &(i, to, from) in &moves {
        let (a, b) = (leader[&to], leader[&from]);
        if a != b {
            let meets = |x: &Register| groups[&b].iter().any(|y| apart.contains(&pair(*x, *y)));
            if groups[&a].len() + groups[&b].len() > MOST || groups[&a].iter().any(meets) {
                continue;
            }
            let moved = groups.remove(&a).unwrap_or_default();
            for &r in &moved {
                leader.insert(r, b);
            }
            groups.entry(b).or_default().extend(moved);
        }
        facts[i].folded = true;
    }
    let rename = |r: &mut Register| *r = leader.get(r).copied().unwrap_or(*r);
    for f in facts.iter_mut() {
        f.instruction.reads.iter_mut().for_each(rename);
        f.instruction.writes.iter_mut().for_each(rename);
        f.instruction.guard.iter_mut().for_each(rename);
    }
}

fn pair(a: Register, b: Register) -> (Register, Register) {
    (a.min(b), a.max(b))
}

/// Pairs of registers of moves whose values are needed at once.
fn apart(
    function: &Function,
    registers: usize,
    moves: &[(usize, Register, Register)],
    facts: &[Facts<'_>],
) -> HashSet<(Register, Register)> {
    let mut candidates = live::Set::new(registers);
    for &(_, to, from) in moves {
        candidates.insert(to);
        candidates.insert(from);
    }
    let block = |b: usize| {
        let block = &function.blocks[b];
        facts[block.start as usize..block.end as usize].iter().filter(|f| !f.folded)
    };
    let ends = live::at_block_ends(function, registers, |b| block(b).map(|f| &f.instruction));
    let copies: HashMap<Register, Vec<Register>> =
        moves.iter().fold(HashMap::new(), |mut all: HashMap<_, Vec<_>>, &(_, to, from)| {
            all.entry(to).or_default().push(from);
            all
        });
    let mut apart = HashSet::new();
    for (b, end) in ends.iter().enumerate() {
        let mut live = end.clone();
        for f in block(b).rev() {
            let i = &f.instruction;
            for &w in i.writes.iter().filter(|w| candidates.contains(**w)) {
                // The copy itself is no reason to keep the two apart.
                let copy = i.reads.len() == 1
                    && f.op == Operation::Move
                    && copies.get(&w).is_some_and(|from| from.contains(&i.reads[0]));
                for r in live.iter().filter(|r| *r != w && candidates.contains(*r)) {
                    if !(copy && r == i.reads[0]) {
                        apart.insert(pair(w, r));
                    }
                }
            }
            live::step(i, &mut live);
        }
    }
    apart
}
