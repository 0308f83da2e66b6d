//! Basic blocks.

use flow::BitSet;

use super::meets::{graph, meets};
use crate::code::{BasicBlock, Flow, Inst};

/// Splits `insts` into blocks. Branch targets in [`Flow`] come as instruction numbers and leave as
/// block numbers; `leaders` are the instructions that labels point to. A kernel's returns end the thread.
pub(crate) fn build_blocks(insts: &mut [Inst], leaders: &[u32], kernel: bool) -> Vec<BasicBlock> {
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
    let mut blocks: Vec<BasicBlock> = Vec::new();
    for i in 0..n {
        if is_leader[i] {
            blocks.push(BasicBlock {
                start: i as u32,
                end: i as u32,
                succs: Vec::new(),
                meet: None,
            });
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
    let found = meets(&blocks, insts, kernel);
    for (block, meet) in blocks.iter_mut().zip(found) {
        block.meet = meet;
    }
    blocks
}

/// Blocks that control can reach from block 0.
pub(crate) fn reachable(blocks: &[BasicBlock]) -> BitSet {
    graph(blocks).reachable(0)
}
