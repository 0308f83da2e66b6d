//! The order of basic blocks in machine code, as far as it makes branches needless.
//!
//! Compilers write `@p bra A; bra B; A:`, and blocks that go on somewhere else. The assembler turns the
//! first condition round and places a block behind one that goes on there.

use ptx_parse::code::{Flow, Function};

use crate::facts::Facts;

/// Folds the branches that fall away.
pub(crate) fn arrange(function: &Function, facts: &mut [Facts<'_>]) {
    let blocks = &function.blocks;
    let mut predecessors = vec![0; blocks.len()];
    for &s in blocks.iter().flat_map(|b| &b.succs) {
        predecessors[s as usize] += 1;
    }
    // The branch at the end of a block, and whether it always goes there.
    let branch = |facts: &[Facts<'_>], b: usize| {
        let last = (blocks[b].end as usize).checked_sub(1)?;
        match function.insts[last].flow {
            Flow::Bra(target) if !facts[last].folded => {
                Some((last, target as usize, facts[last].instruction.guard.is_none()))
            }
            _ => None,
        }
    };
    let by_start = |start: u32| blocks.iter().position(|b| b.start == start);
    for x in 0..blocks.len() {
        let Some((_, a, false)) = branch(facts, x) else { continue };
        let Some(y) = by_start(blocks[x].end) else { continue };
        let Some((last, _, true)) = branch(facts, y) else { continue };
        let only = (blocks[y].start as usize..last).all(|i| facts[i].folded);
        if only && predecessors[y] == 1 && blocks[a].start == blocks[y].end {
            facts[last].folded = true;
        }
    }
    // Blocks that nothing falls into: one of those that go there can be right before it.
    let ends = |b: usize| {
        let flow = (blocks[b].end as usize).checked_sub(1).map(|i| (i, &function.insts[i].flow));
        flow.is_some_and(|(i, flow)| {
            facts[i].instruction.guard.is_none() && !matches!(flow, Flow::Next | Flow::Call(_))
        })
    };
    let mut free: Vec<bool> = (0..blocks.len())
        .map(|t| {
            let before = blocks.iter().position(|b| b.end == blocks[t].start && b.end > b.start);
            before.is_some_and(ends)
        })
        .collect();
    for z in 0..blocks.len() {
        let Some((last, target, true)) = branch(facts, z) else { continue };
        if blocks[target].start as usize > last && std::mem::take(&mut free[target]) {
            facts[last].folded = true;
        }
    }
}
