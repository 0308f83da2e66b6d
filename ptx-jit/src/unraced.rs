//! Reads of shared memory that race with nothing, whatever their addresses are.
//!
//! Threads of a block that come to the same barrier all go on from there at once, and nothing of what they do before
//! the next barrier is ordered. So a read races only with writes that threads can come to from a barrier from which they
//! come to the read, both without another barrier. Where there is none, nobody need look at the read.

use std::collections::HashSet;

use ptx_isa::Space;
use ptx_isa::effect::Effect;

use crate::ir::{BlockId, Func, Op, Term};

/// What an effect does to shared memory.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Does {
    Nothing,
    Reads,
    /// Or anything that is not known.
    Writes,
}

fn does(effect: &Effect) -> Does {
    match effect {
        Effect::Ld(m) if m.place.space == Space::Shared => Does::Reads,
        Effect::St(m) if matches!(m.place.space, Space::Shared | Space::Generic) => Does::Writes,
        Effect::Atom(a) if matches!(a.place.space, Space::Shared | Space::Generic) => Does::Writes,
        // What other instructions do to memory ends a launch that is watched.
        Effect::Ld(_)
        | Effect::St(_)
        | Effect::Atom(_)
        | Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::AsyncGroup(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield
        | Effect::Sys(_)
        | Effect::Warp(_) => Does::Nothing,
    }
}

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
                match does(&f.effects[e as usize].effect) {
                    Does::Nothing => {}
                    Does::Reads => here.push(e),
                    Does::Writes => writes = true,
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
