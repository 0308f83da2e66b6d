//! Local memory that holds the same for all lanes of a group: tables that each thread makes for itself.
//!
//! Lanes run in lock step. As long as all of them store the same values to the same places, the memory of the first
//! lane is as good as that of each, and what is loaded from one place is the same for all.

use ptx_isa::effect::Effect;

use crate::access::which::own;
use crate::beside::all_own;
use crate::ir::{Func, Op};
use crate::variance::Variance;

/// Whether there is local memory, and all that touches it are loads and stores which do so at one place at a time.
pub(crate) fn may_be(f: &Func) -> bool {
    all_own(f, |_, guarded| !guarded)
}

/// Whether it holds the same, by what is known where that was taken for granted: lanes are all on at each store, or
/// have ended, and places and values are the same for all (`of`; `masked`: blocks that some lanes leave out). Where
/// lanes load from different places, each has its own memory: the way of one that faults is the helper's.
pub(crate) fn holds(f: &Func, of: &[Variance], masked: &[bool]) -> bool {
    let uniform = |v: &u32| of[*v as usize].uniform();
    f.blocks.iter().enumerate().all(|(b, block)| {
        block.insts.iter().all(|v| {
            let Op::Effect(e) = f.insts[*v as usize].op else { return true };
            let e = &f.effects[e as usize];
            match &e.effect {
                Effect::Ld(m) if own(m) => e.src.first().is_some_and(uniform),
                Effect::St(m) if own(m) => !masked[b] && e.src.iter().all(uniform),
                _ => true,
            }
        })
    })
}
