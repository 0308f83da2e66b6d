//! Barriers at which the threads of a block agree on a value: `bar.red`.
//!
//! Such a barrier is in code what it is in PTX, twice: before groups wait each gives its predicates, behind that each
//! takes the result. Both are the same effect; a group's calls of it alternate.

use ptx_isa::effect::{Bar, BarKind};

use crate::entry::Slow;
use crate::ir::{Func, Inst, Op, Val};
use crate::worker::Worker;

/// A copy of barrier `e`, the last of the effects now, whose results nobody reads; the instruction of it.
pub(crate) fn give(f: &mut Func, e: u32) -> Val {
    let mut copy = f.effects[e as usize].clone();
    let number = f.effects.len() as u32;
    for d in &mut copy.dst {
        let kind = f.insts[*d as usize].kind;
        *d = f.insts.len() as Val;
        f.insts.push(Inst { op: Op::Result, kind, args: vec![number] });
    }
    let at = copy.origin.span.start;
    f.effects.push(copy);
    f.insts.push(Inst { op: Op::Effect(number), kind: ptx_isa::Kind::P, args: Vec::new() });
    f.at.resize(f.insts.len(), at);
    f.insts.len() as Val - 1
}

/// What the groups of a block have given at one barrier.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// The barrier: how many the block has met before it.
    turn: u32,
    /// Threads that came, and those whose predicate held.
    threads: u32,
    held: u32,
}

/// Results of a block's barriers.
#[derive(Default)]
pub(crate) struct Reductions {
    /// Calls of each group.
    calls: Vec<u32>,
    /// The last two: no group gives for a barrier before all have taken what the one before the last came to.
    sums: [Sum; 2],
}

impl Reductions {
    /// A block begins.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.sums = [Sum { turn: u32::MAX, ..Sum::default() }; 2];
    }
}

impl Worker<'_> {
    /// A half of a barrier, for the lanes `on`.
    pub(crate) fn reduction(&mut self, info: &Slow, bar: &Bar, on: &[usize]) {
        let group = self.ctx().thread0 as usize / self.kernel.geometry.width as usize;
        let values = (info.src.count > 0).then(|| info.src.count - 1);
        let held = |worker: &mut Self, l| values.is_some_and(|n| worker.word(info, n, l) != 0);
        let held = on.iter().filter(|l| held(self, **l)).count() as u32;
        let Reductions { calls, sums } = &mut self.reductions;
        if calls.len() <= group {
            calls.resize(group + 1, 0);
        }
        let call = calls[group];
        calls[group] += 1;
        let turn = call / 2;
        let sum = &mut sums[turn as usize % 2];
        if sum.turn != turn {
            *sum = Sum { turn, ..Sum::default() };
        }
        if call.is_multiple_of(2) {
            sum.threads += on.len() as u32;
            sum.held += held;
            return;
        }
        let result = match bar.kind {
            BarKind::RedPopc => sum.held,
            BarKind::RedAnd => 0u32.wrapping_sub(u32::from(sum.held == sum.threads)),
            BarKind::RedOr => 0u32.wrapping_sub(u32::from(sum.held > 0)),
            BarKind::Sync | BarKind::Arrive | BarKind::ClusterArrive | BarKind::ClusterWait => {
                return;
            }
        };
        for l in on {
            self.set(info, 0, *l, u64::from(result));
        }
    }
}
