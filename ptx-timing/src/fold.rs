//! What the assembler folds away: instructions whose operands their readers take instead.

use std::collections::HashMap;

use ptx_isa::{Class, Operation, Ty};
use ptx_parse::code::{Flow, Function};

use crate::chains;
use crate::event::Register;
use crate::facts::{Facts, Halves};

/// Marks what the assembler folds away and rewires its readers.
pub(crate) fn fold(fuse: bool, function: &Function, facts: &mut [Facts<'_>]) {
    let mut definitions: HashMap<Register, Vec<usize>> = HashMap::new();
    let mut uses: HashMap<Register, Vec<usize>> = HashMap::new();
    for (i, f) in facts.iter().enumerate() {
        for &w in &f.instruction.writes {
            definitions.entry(w).or_default().push(i);
        }
        for &r in f.instruction.reads.iter().chain(&f.instruction.guard) {
            uses.entry(r).or_default().push(i);
        }
    }
    let no_uses = Vec::new();
    // What takes a word with zeros above it, and the moves that make a pair of registers of it.
    let mut pairs: Vec<(Vec<usize>, u32)> = Vec::new();
    for i in 0..facts.len() {
        let written = facts[i].instruction.writes.clone();
        if written.is_empty() || written.iter().any(|r| definitions[r].len() != 1) {
            continue;
        }
        let mut users: Vec<usize> =
            written.iter().flat_map(|r| uses.get(r).unwrap_or(&no_uses)).copied().collect();
        users.sort_unstable();
        users.dedup();
        // Of 64 bits nobody reads the upper half of.
        let low = facts[i].instruction.class == Class::IntMul
            && (facts[i].opcode.has(".wide")
                || facts[i].opcode.types().last().is_some_and(|t| t.bits() == 64));
        let wide = written.len() == 1
            && facts[i].op == Operation::Mul
            && (facts[i].instruction.class == Class::IntMulWide || low)
            && facts[i].instruction.guard.is_none()
            && !users.is_empty()
            && users.iter().all(|&u| facts[u].adds_wide());
        // The sign goes along with an addition: LEA.HI.X.SX32.
        let signs = facts[i].extends_sign
            && !users.is_empty()
            && users.iter().all(|&u| facts[u].adds_wide());
        // Of a product only the lower half is read.
        if written.len() == 1
            && facts[i].instruction.class == Class::IntMulWide
            && matches!(facts[i].op, Operation::Mul | Operation::Mad)
            && !users.is_empty()
            && users.iter().all(|&u| facts[u].op == Operation::Convert && facts[u].narrows())
        {
            facts[i].instruction.class = Class::IntMul;
        }
        // So is it behind a shift by 32 and more.
        if written.len() == 1
            && facts[i].instruction.class == Class::Shift64
            && facts[i].arguments.get(1).is_some_and(|a| a.1.is_some_and(|n| n >= 32))
            && !users.is_empty()
            && users.iter().all(|&u| facts[u].op == Operation::Convert && facts[u].narrows())
        {
            facts[i].instruction.class = Class::Shift;
        }
        let selects = |f: &Facts<'_>| f.selects_halves();
        let halves = match facts[i].halves().filter(|_| fuse) {
            Some(Halves::Split) => {
                let high = uses.get(&written[1]).unwrap_or(&no_uses);
                written.len() == 2 && high.iter().all(|&u| selects(&facts[u]) || facts[u].packs())
            }
            Some(Halves::Same) => !users.is_empty() && users.iter().all(|&u| selects(&facts[u])),
            None => false,
        };
        // What reads the halves of a pair by now.
        let pair = fuse && facts[i].splits_pair() && facts[i].instruction.guard.is_none();
        if !facts[i].transparent && !wide && !signs && !halves && !pair {
            continue;
        }
        // An operand that is written again could have another value by then.
        let operands = facts[i].instruction.reads.clone();
        let once = |r: &Register| definitions.get(r).is_none_or(|d| d.len() == 1);
        let kept =
            |r: &Register| users.iter().all(|u| chains::unchanged(function, facts, *r, i, *u));
        if !wide && !operands.iter().all(|r| once(r) || kept(r)) {
            continue;
        }
        if let Some(moves) = moves_of_pair(facts, &uses, i) {
            pairs.push((users.clone(), moves));
        }
        facts[i].folded = true;
        let more = facts[i].instruction.extra_slots;
        for u in users {
            let reads = &mut facts[u].instruction.reads;
            reads.retain(|r| !written.contains(r));
            for &operand in &operands {
                if !reads.contains(&operand) {
                    reads.push(operand);
                }
            }
            if wide {
                let class = if low { Class::IntMul } else { Class::IntMulWide };
                facts[u].instruction.class = class;
                facts[u].instruction.extra_slots += more;
            }
            // Later folding has to see the new readers.
            for &operand in &operands {
                uses.entry(operand).or_default().push(u);
            }
        }
    }
    if fuse {
        move_pairs(pairs, facts);
    }
    for (i, inst) in function.insts.iter().enumerate() {
        if let Flow::Bra(block) = inst.flow
            && inst.guard.is_none()
            && function.blocks.get(block as usize).is_some_and(|b| b.start == i as u32 + 1)
        {
            facts[i].folded = true;
        }
    }
}

/// The moves that make an aligned pair of registers of a word with zeros above it, as the addend of a wide product is:
/// zero into the upper one, and the word into the lower one, if it is the upper half of a pair or of one whose upper
/// half is read besides. Read off ptxas 13.5 for sm_90.
fn moves_of_pair(
    facts: &[Facts<'_>],
    uses: &HashMap<Register, Vec<usize>>,
    i: usize,
) -> Option<u32> {
    let f = &facts[i];
    let by = |n: u64| f.arguments.iter().any(|a| a.1 == Some(n));
    match f.op {
        _ if !f.transparent => None,
        Operation::Convert if f.converts(Ty::U64, Ty::U32) => Some(1),
        Operation::Shr if by(32) => Some(2),
        Operation::And if by(u64::from(u32::MAX)) => {
            let whole = f.arguments.iter().find_map(|a| a.0)?;
            let again = uses.get(&whole).is_some_and(|users| users.iter().any(|u| *u > i));
            Some(1 + u32::from(again))
        }
        _ => None,
    }
}

/// Adds the moves of pairs to the first products that take them; others share these.
fn move_pairs(pairs: Vec<(Vec<usize>, u32)>, facts: &mut [Facts<'_>]) {
    for (users, moves) in pairs {
        let adds = |u: &usize| {
            let f = &facts[*u];
            let sums = matches!(f.op, Operation::Add | Operation::Mad);
            sums && !f.folded && f.instruction.class == Class::IntMulWide
        };
        if let Some(first) = users.into_iter().find(adds) {
            facts[first].instruction.extra_slots += moves;
        }
    }
}
