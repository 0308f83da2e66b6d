//! Reads of shared memory that race with nothing, whatever their addresses are.
//!
//! Threads of a block that come to the same barrier all go on from there at once, and nothing of what they do before
//! the next barrier is ordered. So a read races only with writes that threads can come to from a barrier from which
//! they come to the read, both without another barrier. Where there is none, nobody need look at the read.

use std::collections::HashSet;

use ptx_isa::Space;
use ptx_isa::effect::Touches;

use crate::ir::{BlockId, Func, Op, Term};

/// Those reads, by effect.
pub(crate) fn unraced(f: &Func) -> HashSet<u32> {
    let mut starts: Vec<BlockId> = vec![0];
    starts.extend(f.blocks.iter().filter_map(|b| match b.term {
        Term::Bar(_, next) => Some(next),
        Term::Jump(_) | Term::Br(..) | Term::Brx(..) | Term::Exit => None,
    }));
    let effects = |b: BlockId| {
        let values = f.blocks[b as usize].insts.iter();
        values.filter_map(|v| match f.insts[*v as usize].op {
            Op::Effect(e) => Some(e),
            _ => None,
        })
    };
    let (mut reads, mut raced) = (HashSet::new(), HashSet::new());
    for start in starts {
        let mut seen = vec![false; f.blocks.len()];
        let mut open = vec![start];
        let (mut here, mut writes) = (Vec::new(), false);
        while let Some(b) = open.pop() {
            if std::mem::replace(&mut seen[b as usize], true) {
                continue;
            }
            for e in effects(b) {
                // What other instructions do to memory ends a launch that is watched.
                let Some(access) = f.effects[e as usize].effect.access() else { continue };
                match (access.touches, access.place.space) {
                    (Touches::Read, Space::Shared) => here.push(e),
                    (Touches::Write | Touches::Atomic(_), Space::Shared | Space::Generic) => {
                        writes = true
                    }
                    _ => {}
                }
            }
            let block = &f.blocks[b as usize];
            if !matches!(block.term, Term::Bar(..)) {
                open.extend(block.term.succs());
            }
        }
        reads.extend(here.iter().copied());
        if writes {
            raced.extend(here);
        }
    }
    reads.retain(|e| !raced.contains(e));
    reads
}
