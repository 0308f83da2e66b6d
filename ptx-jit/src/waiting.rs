//! Loops that may wait for other threads.
//!
//! A compiled block runs its groups one after the other, so that a loop which waits for another group would wait for
//! ever. Whether a loop waits is seen in what ends it:
//! - Nothing that other threads write decides on it: it counts, and ends by itself. So does one that counts by one
//!   while it is below a bound, even if it reads that anew each turn.
//! - It repeats a compare-and-swap with the value that was just seen. That fails only where another thread came
//!   between, which then got on: the loop ends while lanes take turns.
//! - It adds a number above zero to words that nothing in it lowers: it takes tickets, or counts.
//! - Anything else may wait for threads of its block, for the holder of a lock, or for other blocks. Then threads run
//!   one by one, and one that has turned some times goes on later, when the others had their turn (`pause` in
//!   `control`, [`crate::worker::Worker`]); a block whose threads all wait makes room for others (`run_blocks`).
//!
//! Loads without an order are no way to wait, but for loops that do nothing else: hardware ends those.

use flow::{Dominators, Loop};
use ptx_isa::Space;
use ptx_isa::effect::{Atom, AtomOp, Effect, Order};
use ptx_isa::uop::Op as Pure;

use crate::ir::{BlockId, EffectInst, Func, Op, Term, Val};

/// A loop that may wait.
pub(crate) struct Waiting {
    pub head: BlockId,
    /// The effect through which it sees other threads, for messages.
    pub effect: u32,
}

/// Loops that may wait for another thread.
pub(crate) fn waiting_loops(f: &Func) -> Vec<Waiting> {
    let dominators = f.dominators();
    let waits = |around: &Loop| {
        let turn = Turn::of(f, &dominators, around);
        if turn.ends_by_itself() {
            return None;
        }
        let effect = turn.effects().find(|e| turn.asks(*e)).or_else(|| turn.only_looks())?;
        let goes_on = turn.retries() || turn.takes_tickets();
        (!goes_on).then_some(Waiting { head: around.header, effect })
    };
    f.loops().iter().filter_map(waits).collect()
}

/// What is known of a loop's turns.
struct Turn<'a> {
    f: &'a Func,
    dominators: &'a Dominators,
    around: &'a Loop,
    /// Values that depend on what other threads write.
    shared: Vec<bool>,
    /// Whether a branch in the loop depends on one.
    parted: bool,
}

impl<'a> Turn<'a> {
    fn of(f: &'a Func, dominators: &'a Dominators, around: &'a Loop) -> Turn<'a> {
        let shared = vec![false; f.insts.len()];
        let mut turn = Turn { f, dominators, around, shared, parted: false };
        for e in turn.effects().collect::<Vec<_>>() {
            let e = &f.effects[e as usize];
            let own = |space| {
                matches!(space, Space::ParamEntry | Space::ParamFunc | Space::Const | Space::Local)
            };
            if !matches!(&e.effect, Effect::Ld(m) if own(m.place.space)) {
                e.dst.iter().for_each(|d| turn.shared[*d as usize] = true);
            }
        }
        while turn.spread() {}
        turn
    }

    fn insts(&self) -> impl Iterator<Item = Val> + use<'a> {
        let f = self.f;
        self.around.nodes.iter().flat_map(|b| f.blocks[*b as usize].insts.iter().copied())
    }

    fn effects(&self) -> impl Iterator<Item = u32> + use<'a> {
        let f = self.f;
        self.insts().filter_map(|v| match f.insts[v as usize].op {
            Op::Effect(e) => Some(e),
            _ => None,
        })
    }

    fn effect(&self, e: u32) -> &'a EffectInst {
        &self.f.effects[e as usize]
    }

    fn inside(&self, b: BlockId) -> bool {
        self.around.nodes.contains(&b)
    }

    /// Values that depend on shared ones, one step further; whether there were any.
    fn spread(&mut self) -> bool {
        let before = (self.shared.iter().filter(|s| **s).count(), self.parted);
        for b in &self.around.nodes {
            let block = &self.f.blocks[*b as usize];
            let ways = block.preds.iter().filter(|p| self.inside(**p)).count();
            for &v in &block.insts {
                let i = &self.f.insts[v as usize];
                // Where ways meet, the branch decides which value comes.
                let chosen = i.op == Op::Phi && self.parted && ways > 1;
                if chosen || i.args.iter().any(|a| self.shared[*a as usize]) {
                    self.shared[v as usize] = true;
                }
            }
            self.parted |= block.term.value().is_some_and(|v| self.shared[v as usize]);
        }
        before != (self.shared.iter().filter(|s| **s).count(), self.parted)
    }

    /// Branches out of the loop: block and condition.
    fn exits(&self) -> impl Iterator<Item = (BlockId, Val)> {
        self.around.nodes.iter().filter_map(|b| {
            let term = &self.f.blocks[*b as usize].term;
            let leaves = term.succs().iter().any(|s| !self.inside(*s));
            term.value().filter(|_| leaves).map(|v| (*b, v))
        })
    }

    /// Whether a block runs in every turn.
    fn always(&self, b: BlockId) -> bool {
        self.around.latches.iter().all(|latch| self.dominators.dominates(b, *latch))
    }

    /// Whether no other thread has a say in when the loop ends.
    fn ends_by_itself(&self) -> bool {
        let mut exits = self.exits().peekable();
        let own = exits.peek().is_some()
            && exits.all(|(b, v)| !self.shared[v as usize] && (!self.parted || self.always(b)));
        own || self.exits().any(|(b, v)| self.always(b) && self.counts_to_any_end(b, v))
    }

    /// Whether condition `v` of block `b` ends the loop at some time, whatever others write: it goes on only while a
    /// word that each turn raises by one is below another one, which no word is when it is the largest; or the other
    /// way round.
    fn counts_to_any_end(&self, b: BlockId, v: Val) -> bool {
        let Term::Br(_, negated, yes, _) = self.f.blocks[b as usize].term else { return false };
        let i = &self.f.insts[v as usize];
        let &[x, y] = &i.args[..] else { return false };
        let (below, above) = match (i.op, self.inside(yes) != negated) {
            (Op::Pure(Pure::LtUW | Pure::LtSW, _), true) => (x, y),
            (Op::Pure(Pure::LeUW | Pure::LeSW, _), false) => (y, x),
            _ => return false,
        };
        self.counts(below, 1) || self.counts(above, u64::from(u32::MAX))
    }

    /// Whether `v` is a word to which each turn adds the constant `step`, before the addition or behind it.
    fn counts(&self, v: Val, step: u64) -> bool {
        let adds = |sum: Val, phi: Val| {
            let i = &self.f.insts[sum as usize];
            let is_step = |v: Val| self.f.as_const(v) == Some(step);
            let args = match (i.op, &i.args[..]) {
                (Op::Pure(Pure::AddW, _), &[a, b]) => [a, b],
                _ => return false,
            };
            args[0] == phi && is_step(args[1]) || args[1] == phi && is_step(args[0])
        };
        let head = &self.f.blocks[self.around.header as usize];
        head.insts.iter().any(|&phi| {
            let i = &self.f.insts[phi as usize];
            let raised = || {
                let mut turns = head.preds.iter().zip(&i.args).filter(|(p, _)| self.inside(**p));
                turns.all(|(_, next)| adds(*next, phi))
            };
            i.op == Op::Phi && (v == phi || adds(v, phi)) && raised()
        })
    }

    /// Whether programs wait for others through such an effect: it is ordered, or changes what it reads.
    fn asks(&self, e: u32) -> bool {
        let e = self.effect(e);
        match &e.effect {
            Effect::Ld(m) => m.order != Order::Weak,
            Effect::Atom(a) => {
                let swaps = matches!(a.op, AtomOp::Cas | AtomOp::Exch);
                let ordered = !matches!(a.order, Order::Relaxed | Order::Weak);
                swaps || ordered || e.dst.iter().any(|d| self.is_read(*d))
            }
            Effect::Warp(op) => op.waits,
            _ => false,
        }
    }

    /// Whether anything reads a value.
    fn is_read(&self, v: Val) -> bool {
        self.f.blocks.iter().any(|b| {
            b.term.value() == Some(v) || b.insts.iter().any(|i| self.f.reads(*i).contains(&v))
        })
    }

    /// What a loop looks at that does nothing else: no turn differs from the last, unless another thread writes.
    fn only_looks(&self) -> Option<u32> {
        let changes = self.effects().any(|e| match &self.effect(e).effect {
            Effect::St(_) | Effect::Atom(_) | Effect::Bar(_) | Effect::Brkpt | Effect::Sys(_) => {
                true
            }
            Effect::Ld(_) | Effect::Fence(_) | Effect::AsyncGroup(_) => false,
            Effect::Trap | Effect::Yield | Effect::Warp(_) => false,
        });
        let barrier = |b: &BlockId| matches!(self.f.blocks[*b as usize].term, Term::Bar(..));
        if changes || self.around.nodes.iter().any(barrier) {
            return None;
        }
        // What comes of a phi of the head may differ in each turn.
        let mut turned = vec![false; self.f.insts.len()];
        for v in &self.f.blocks[self.around.header as usize].insts {
            turned[*v as usize] = self.f.insts[*v as usize].op == Op::Phi;
        }
        loop {
            let before = turned.iter().filter(|t| **t).count();
            for v in self.insts() {
                let reads = self.f.reads(v);
                if reads.iter().any(|a| turned[*a as usize]) {
                    turned[v as usize] = true;
                    if let Op::Effect(e) = self.f.insts[v as usize].op {
                        self.effect(e).dst.iter().for_each(|d| turned[*d as usize] = true);
                    }
                }
            }
            if before == turned.iter().filter(|t| **t).count() {
                break;
            }
        }
        let same = self.exits().all(|(_, v)| !turned[v as usize]);
        same.then(|| self.effects().next()).flatten()
    }

    /// Whether each turn adds a constant above zero to the words that it learns from, and nothing in the loop lowers
    /// integers.
    fn takes_tickets(&self) -> bool {
        let mut learns = false;
        for b in &self.around.nodes {
            for v in &self.f.blocks[*b as usize].insts {
                let Op::Effect(e) = self.f.insts[*v as usize].op else { continue };
                let e = self.effect(e);
                match &e.effect {
                    Effect::Ld(m) if m.order != Order::Weak => return false,
                    Effect::Warp(op) if op.waits => return false,
                    Effect::Atom(a) if e.dst.iter().any(|d| self.is_read(*d)) => {
                        if !self.adds(e, a) || e.guard.is_some() || !self.always(*b) {
                            return false;
                        }
                        learns = true;
                    }
                    Effect::Atom(a) => {
                        let raises = matches!(a.op, AtomOp::MaxU | AtomOp::MaxS | AtomOp::Or);
                        if on_integers(a.op) && !raises && !self.adds(e, a) {
                            return false;
                        }
                    }
                    _ => {}
                }
            }
        }
        learns
    }

    /// Whether an atomic adds a constant above zero.
    fn adds(&self, e: &EffectInst, a: &Atom) -> bool {
        let sign = 1u64 << (8 * u32::from(a.bytes.min(8)) - 1);
        let added = e.src.get(1).and_then(|v| self.f.as_const(*v));
        a.op == AtomOp::Add && added.is_some_and(|n| (1..sign).contains(&n))
    }

    /// Whether every turn swaps where it last saw the value that it compares with, and the loop ends when that goes
    /// well. Other ways out only end it sooner.
    fn retries(&self) -> bool {
        let mut atomics =
            self.effects().filter(|e| matches!(self.effect(*e).effect, Effect::Atom(_)));
        let (Some(e), None) = (atomics.next(), atomics.next()) else { return false };
        let swap = self.effect(e);
        let Effect::Atom(a) = &swap.effect else { return false };
        let (&[base, compared, _], &[old]) = (&swap.src[..], &swap.dst[..]) else { return false };
        let runs = |b: &BlockId| {
            let insts = &self.f.blocks[*b as usize].insts;
            insts.iter().any(|v| self.f.insts[*v as usize].op == Op::Effect(e))
        };
        a.op == AtomOp::Cas
            && swap.guard.is_none()
            && !self.changes(base)
            && self.around.nodes.iter().find(|b| runs(b)).is_some_and(|b| self.always(*b))
            && (self.brings(compared, old) || self.loads_again(e, compared))
            && self
                .exits()
                .any(|(b, v)| self.always(b) && self.leaves_if_same(b, v, [old, compared]))
    }

    /// Whether the loop computes a value.
    fn changes(&self, v: Val) -> bool {
        self.insts().any(|i| i == v) || self.effects().any(|e| self.effect(e).dst.contains(&v))
    }

    /// Whether `phi` is, from the second turn on, what the last one had in `v`.
    fn brings(&self, phi: Val, v: Val) -> bool {
        let head = &self.f.blocks[self.around.header as usize];
        let i = &self.f.insts[phi as usize];
        i.op == Op::Phi
            && head.insts.contains(&phi)
            && head.preds.iter().zip(&i.args).all(|(p, a)| !self.inside(*p) || *a == v)
    }

    /// Whether the loop loads `v` from where effect `swap` swaps.
    fn loads_again(&self, swap: u32, v: Val) -> bool {
        let swap = self.effect(swap);
        let Effect::Atom(a) = &swap.effect else { return false };
        self.effects().any(|e| {
            let load = self.effect(e);
            matches!(&load.effect, Effect::Ld(m) if m.place == a.place && m.bytes == a.bytes)
                && load.guard.is_none()
                && load.src[0] == swap.src[0]
                && load.dst[..] == [v]
        })
    }

    /// Whether condition `v` of block `b` ends the loop where two values are the same.
    fn leaves_if_same(&self, b: BlockId, v: Val, pair: [Val; 2]) -> bool {
        let Term::Br(_, negated, yes, _) = self.f.blocks[b as usize].term else { return false };
        let i = &self.f.insts[v as usize];
        let stays_if_true = self.inside(yes) != negated;
        let same = match i.op {
            Op::Pure(Pure::EqW | Pure::EqD, _) => !stays_if_true,
            Op::Pure(Pure::NeW | Pure::NeD, _) => stays_if_true,
            _ => return false,
        };
        same && (i.args[..] == pair || i.args[..] == [pair[1], pair[0]])
    }
}

/// Whether an atomic changes an integer.
fn on_integers(op: AtomOp) -> bool {
    use AtomOp::*;
    match op {
        And | Or | Xor | Exch | Cas | Add | Inc | Dec | MinU | MaxU | MinS | MaxS => true,
        AddF32 | AddF32Noftz | AddF64 | AddF16 | AddF16x2 | AddBf16 | AddBf16x2 => false,
        MinF16 | MaxF16 | MinF16x2 | MaxF16x2 | MinBf16 | MaxBf16 | MinBf16x2 | MaxBf16x2 => false,
    }
}
