//! Basic blocks and immediate post-dominators.

use crate::code::{Block, Flow, Inst};

/// Splits `insts` into blocks. Branch targets in [`Flow`] come as instruction numbers and leave as
/// block numbers; `leaders` are the instructions that labels point to.
pub(crate) fn build_blocks(insts: &mut [Inst], leaders: &[u32]) -> Vec<Block> {
    let n = insts.len();
    let mut is_leader = vec![false; n + 1];
    is_leader[0] = true;
    for &l in leaders {
        is_leader[l as usize] = true;
    }
    for (i, inst) in insts.iter().enumerate() {
        if !matches!(inst.flow, Flow::Next) {
            is_leader[i + 1] = true;
        }
    }
    let mut block_of = vec![0u32; n];
    let mut blocks: Vec<Block> = Vec::new();
    for i in 0..n {
        if is_leader[i] {
            blocks.push(Block { start: i as u32, end: i as u32, succs: Vec::new(), ipdom: None });
        }
        let last = blocks.len() - 1;
        blocks[last].end = i as u32 + 1;
        block_of[i] = last as u32;
    }
    for inst in insts.iter_mut() {
        match &mut inst.flow {
            Flow::Bra(t) => *t = block_of[*t as usize],
            Flow::Brx { targets, .. } => {
                targets.iter_mut().for_each(|t| *t = block_of[*t as usize]);
            }
            _ => {}
        }
    }
    let count = blocks.len() as u32;
    for (b, block) in blocks.iter_mut().enumerate() {
        let last = &insts[block.end as usize - 1];
        let next = b as u32 + 1;
        let falls = last.guard.is_some() && next < count;
        match &last.flow {
            Flow::Next | Flow::Call(_) => {
                if next < count {
                    block.succs.push(next);
                }
            }
            Flow::Bra(t) => {
                block.succs.push(*t);
                if falls && *t != next {
                    block.succs.push(next);
                }
            }
            Flow::Brx { targets, .. } => {
                for &t in targets.iter() {
                    if !block.succs.contains(&t) {
                        block.succs.push(t);
                    }
                }
                if falls && !block.succs.contains(&next) {
                    block.succs.push(next);
                }
            }
            Flow::Ret | Flow::Exit => {
                if falls {
                    block.succs.push(next);
                }
            }
        }
    }
    let ipdom = post_dominators(&blocks, insts);
    for (block, d) in blocks.iter_mut().zip(ipdom) {
        block.ipdom = d;
    }
    blocks
}

/// Blocks that control can reach from block 0.
pub(crate) fn reachable(blocks: &[Block]) -> Vec<bool> {
    let mut seen = vec![false; blocks.len()];
    let mut work = vec![0u32];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut seen[b as usize], true) {
            work.extend(&blocks[b as usize].succs);
        }
    }
    seen
}

/// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy on the
/// reversed graph with a virtual exit. Blocks that cannot reach an exit have none.
fn post_dominators(blocks: &[Block], insts: &[Inst]) -> Vec<Option<u32>> {
    let n = blocks.len();
    let exit = n; // the virtual exit
    let leaves = |b: usize| {
        let last = &insts[blocks[b].end as usize - 1];
        matches!(last.flow, Flow::Ret | Flow::Exit) || blocks[b].succs.is_empty()
    };
    let mut preds: Vec<Vec<u32>> = vec![Vec::new(); n + 1];
    for (b, block) in blocks.iter().enumerate() {
        for &s in &block.succs {
            preds[s as usize].push(b as u32);
        }
        if leaves(b) {
            preds[exit].push(b as u32);
        }
    }
    // Post-order of the reversed graph from the exit, without recursion.
    let mut order = Vec::with_capacity(n + 1);
    let mut number = vec![usize::MAX; n + 1];
    let mut seen = vec![false; n + 1];
    seen[exit] = true;
    let mut stack = vec![(exit, 0)];
    while let Some((b, i)) = stack.pop() {
        if let Some(&p) = preds[b].get(i) {
            stack.push((b, i + 1));
            if !std::mem::replace(&mut seen[p as usize], true) {
                stack.push((p as usize, 0));
            }
        } else {
            number[b] = order.len();
            order.push(b);
        }
    }
    let mut idom = vec![usize::MAX; n + 1];
    idom[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &b in order.iter().rev().filter(|b| **b != exit) {
            let mut new = usize::MAX;
            let succs = blocks[b].succs.iter().map(|s| *s as usize);
            for s in succs.chain(leaves(b).then_some(exit)) {
                if idom[s] == usize::MAX {
                    continue;
                }
                new = if new == usize::MAX { s } else { meet(new, s, &idom, &number) };
            }
            if new != usize::MAX && idom[b] != new {
                idom[b] = new;
                changed = true;
            }
        }
    }
    (0..n).map(|b| (idom[b] < exit).then_some(idom[b] as u32)).collect()
}

/// The nearest common post-dominator of two blocks.
fn meet(mut a: usize, mut b: usize, idom: &[usize], number: &[usize]) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = idom[a];
        }
        while number[b] < number[a] {
            b = idom[b];
        }
    }
    a
}
