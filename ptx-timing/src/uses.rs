//! Where the registers of a function are defined and used, and in which blocks.

use std::collections::HashMap;

use flow::{Dominators, Graph};
use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::Facts;

/// Definitions and uses of the registers of a function, by instruction.
pub(crate) struct Uses {
    pub definitions: HashMap<Register, Vec<usize>>,
    pub uses: HashMap<Register, Vec<usize>>,
}

impl Uses {
    pub fn new(facts: &[Facts<'_>]) -> Self {
        let mut out = Self { definitions: HashMap::new(), uses: HashMap::new() };
        for (i, f) in facts.iter().enumerate().filter(|(_, f)| !f.folded) {
            for &w in &f.instruction.writes {
                out.definitions.entry(w).or_default().push(i);
            }
            for &r in f.instruction.reads.iter().chain(&f.instruction.guard) {
                out.uses.entry(r).or_default().push(i);
            }
        }
        out
    }

    pub fn written_once(&self, register: Register) -> bool {
        self.definitions.get(&register).is_none_or(|d| d.len() == 1)
    }
}

/// How many instructions write each register, those that are folded away, too.
pub(crate) fn times_written(facts: &[Facts<'_>]) -> HashMap<Register, u32> {
    let mut out = HashMap::new();
    for w in facts.iter().flat_map(|f| &f.instruction.writes) {
        *out.entry(*w).or_default() += 1;
    }
    out
}

/// The basic block of each instruction.
pub(crate) fn blocks_of(function: &Function) -> Vec<usize> {
    let mut out = vec![usize::MAX; function.insts.len()];
    for (b, block) in function.blocks.iter().enumerate() {
        for i in block.start..block.end {
            out[i as usize] = b;
        }
    }
    out
}

/// The loops of a function: from where a block further on leads back to, to the end of that block.
pub(crate) fn loops(function: &Function) -> Vec<(u32, u32)> {
    let blocks = &function.blocks;
    let back = |b: usize| blocks[b].succs.iter().filter(move |s| **s as usize <= b);
    let of = |b: usize| back(b).map(move |s| (blocks[*s as usize].start, blocks[b].end));
    (0..blocks.len()).flat_map(of).collect()
}

/// Which blocks every way from a function's start to a block passes.
pub(crate) fn dominators(function: &Function) -> Dominators {
    let blocks = &function.blocks;
    Dominators::new(&Graph::new(blocks.len(), |b| blocks[b as usize].succs.iter().copied()), 0)
}

/// The number of the block that an instruction is in.
pub(crate) fn block_at(function: &Function, instruction: u32) -> u32 {
    function.blocks.partition_point(|b| b.start <= instruction) as u32 - 1
}

/// Folds an instruction away; its readers read its operands.
pub(crate) fn replace(facts: &mut [Facts<'_>], i: usize, register: Register, users: &[usize]) {
    facts[i].folded = true;
    let operands = facts[i].instruction.reads.clone();
    for &u in users {
        let reads = &mut facts[u].instruction.reads;
        reads.retain(|r| *r != register);
        for &operand in &operands {
            if !reads.contains(&operand) {
                reads.push(operand);
            }
        }
    }
}
