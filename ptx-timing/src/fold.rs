//! What the assembler folds away: instructions whose operands their readers take instead.

use std::collections::HashMap;

use ptx_isa::{Class, Operation};
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
    for (i, inst) in function.insts.iter().enumerate() {
        if let Flow::Bra(block) = inst.flow
            && inst.guard.is_none()
            && function.blocks.get(block as usize).is_some_and(|b| b.start == i as u32 + 1)
        {
            facts[i].folded = true;
        }
    }
}
