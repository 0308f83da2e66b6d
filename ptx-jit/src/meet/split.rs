//! Ends blocks where threads meet.

use ptx_isa::effect::{Effect, Sys};

use crate::ir::{BasicBlock, BlockId, Func, Op, Term};
use crate::reductions;

/// Whether threads stop at an effect until others have come, or have had their turn.
pub(crate) fn meets(effect: &Effect) -> bool {
    match effect {
        Effect::Bar(_) | Effect::AsyncGroup(_) => true,
        Effect::Warp(op) => op.members.is_some(),
        // Warps print one after the other, and their lanes too.
        Effect::Sys(sys) => *sys == Sys::Vprintf,
        Effect::Ld(_)
        | Effect::St(_)
        | Effect::Atom(_)
        | Effect::Fence(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield => false,
    }
}

/// Splits blocks at all places where threads meet. Each becomes two effects: the end of a block, where a thread gives
/// its operands, and the beginning of the next one, where it takes the results. Threads whose predicate does not hold go
/// around the first; what they take nobody reads.
pub(crate) fn split(f: &mut Func) {
    let mut b = 0;
    while b < f.blocks.len() {
        let here = |v: &u32| match f.insts[*v as usize].op {
            Op::Effect(e) => {
                let new = !f.gives.contains(&e) && !f.takes.contains(&e);
                (new && meets(&f.effects[e as usize].effect)).then_some(e)
            }
            _ => None,
        };
        let found = f.blocks[b].insts.iter().enumerate().find_map(|(n, v)| Some((n, here(v)?)));
        if let Some((at, e)) = found {
            cut(f, b as BlockId, at, e);
        }
        b += 1;
    }
}

/// Cuts block `b` at its instruction `at`, which is effect `e`.
fn cut(f: &mut Func, b: BlockId, at: usize, e: u32) {
    let guard = f.effects[e as usize].guard.take();
    let mut tail = f.blocks[b as usize].insts.split_off(at);
    let given = reductions::give(f, e);
    let give = f.effects.len() as u32 - 1;
    f.gives.push(give);
    if f.effects[e as usize].dst.is_empty() {
        tail.remove(0);
    } else {
        f.takes.insert(e);
    }
    let next = f.blocks.len() as BlockId;
    let stop = Term::Bar(give, next);
    let first = match guard {
        Some((p, negated)) => Term::Br(p, negated, next + 1, next),
        None => stop.clone(),
    };
    let term = std::mem::replace(&mut f.blocks[b as usize].term, first);
    for s in term.succs() {
        for p in f.blocks[s as usize].preds.iter_mut().filter(|p| **p == b) {
            *p = next;
        }
    }
    let mut preds = vec![b];
    preds.extend(guard.map(|_| next + 1));
    f.blocks.push(BasicBlock { insts: tail, term, preds });
    if guard.is_some() {
        f.blocks.push(BasicBlock { insts: vec![given], term: stop, preds: vec![b] });
    } else {
        f.blocks[b as usize].insts.push(given);
    }
}
