//! Branches that the assembler makes predicates of.

use ptx_isa::Class;
use ptx_parse::code::{BasicBlock, Flow, Function};

use crate::event::{Instruction, Register};
use crate::facts::{Facts, Predicated};
use crate::profile::Assembler;
use crate::uniform;

/// Short blocks that a conditional branch leads to or around are executed under its predicate
/// instead: an if, one whose body stands elsewhere, or both sides of one.
pub(crate) fn predicate(rules: &Assembler, function: &Function, facts: &mut [Facts<'_>]) {
    let same = uniform::same_in_lanes(function, facts);
    let mut predecessors = vec![0; function.blocks.len()];
    for block in &function.blocks {
        for &s in &block.succs {
            predecessors[s as usize] += 1;
        }
    }
    let leads_past = leads_past(function);
    for block in &function.blocks {
        let Some(branch) = (block.end as usize).checked_sub(1) else { continue };
        let Flow::Bra(target) = function.insts[branch].flow else { continue };
        let Some(guard) = facts[branch].instruction.guard else { continue };
        let Some(next) = block.succs.iter().copied().find(|s| *s != target) else { continue };
        let [near, far] = [next, target].map(|b| &function.blocks[b as usize]);
        // A jump to the end is a predicated exit.
        let leaves = |b: u32| {
            let first = function.blocks[b as usize].start as usize;
            function.insts.get(first).is_none_or(|i| matches!(i.flow, Flow::Ret | Flow::Exit))
        };
        let only = |b: u32| predecessors[b as usize] == 1;
        let range = |b: u32| {
            let block = &function.blocks[b as usize];
            (block.start, block.end)
        };
        let adjoins = near.start == block.end;
        // A block behind the branch that only jumps: to the second side, behind the one that the branch leads to.
        let jumps = |b: &BasicBlock| {
            let only = b.end == b.start + 1
                && matches!(function.insts[b.start as usize].flow, Flow::Bra(_));
            only && b.succs.len() == 1
        };
        let beyond = near.succs.first().copied().filter(|s| jumps(near) && only(next) && only(*s));
        let (sides, left): (&[u32], Predicated) = match (&near.succs[..], &far.succs[..]) {
            (&[second], [one])
                if beyond.is_some()
                    && only(target)
                    && adjoins
                    && far.start == near.end
                    && function.blocks[second as usize].start == far.end
                    && function.blocks[second as usize].succs == [*one]
                    && function.blocks[*one as usize].start
                        == function.blocks[second as usize].end =>
            {
                (
                    &[target, second],
                    Predicated::Then { first: range(target), second: range(second) },
                )
            }
            // The block behind the branch goes on where the branch leads.
            ([behind], _)
                if *behind == target && only(next) && adjoins && far.start == near.end =>
            {
                (&[next], Predicated::Around(near.start, near.end))
            }
            // The branch leads to a block elsewhere that comes back behind the branch.
            (_, [behind]) if *behind == next && only(target) => {
                (&[target], Predicated::To(far.start, far.end))
            }
            // Two sides that meet.
            ([one], [other])
                if one == other
                    && only(next)
                    && only(target)
                    && adjoins
                    && far.start == near.end
                    && function.blocks[*one as usize].start == far.end =>
            {
                (&[next, target], Predicated::Else { first: range(next), second: range(target) })
            }
            _ => continue,
        };
        let joins = match left {
            Predicated::Around(..) => target,
            Predicated::To(..) => next,
            Predicated::Then { .. } => far.succs[0],
            Predicated::Else { .. } | Predicated::EndOfFirst => near.succs[0],
        };
        let bodies: Option<Vec<Side>> =
            sides.iter().map(|&b| predicable(function, facts, range(b))).collect();
        let Some(bodies) = bodies else { continue };
        let agrees = same.get(&guard).copied().unwrap_or(false);
        // The way around the second side counts with the first.
        let around = |i: usize| u32::from(i == 0 && sides.len() == 2);
        let mut counted = bodies.iter().enumerate();
        let fits = counted.all(|(i, s)| s.instructions + around(i) <= s.most(rules, agrees));
        let empty = bodies.iter().all(|side| side.instructions == 0);
        let parted = matches!(left, Predicated::Around(..)) && leads_past(block, target);
        if !fits || empty || leaves(joins) || parted {
            continue;
        }
        facts[branch].folded = true;
        facts[branch].skips = Some(left);
        for &side in sides {
            let (start, end) = range(side);
            guard_side(function, facts, (start, end), guard);
            facts[start as usize].continues |= side == next || sides.len() == 2;
        }
        if let [first, second] = sides {
            loads_last(facts, [range(*first), range(*second)]);
        }
        if let Predicated::Then { .. } = left {
            let jump = &mut facts[near.start as usize];
            (jump.folded, jump.continues) = (true, true);
        }
        if let Predicated::Else { first, .. } | Predicated::Then { first, .. } = left {
            let last = first.1 as usize - 1;
            if matches!(function.insts[last].flow, Flow::Bra(_)) {
                facts[last].skips = Some(Predicated::EndOfFirst);
            }
        }
        // The block behind goes on without a break.
        if !matches!(left, Predicated::To(..))
            && predecessors[joins as usize] == 2
            && let Some(f) = facts.get_mut(function.blocks[joins as usize].start as usize)
        {
            f.continues = true;
        }
    }
}

/// Whether an if in a block leads past another side to its end: [`sides_put_first`].
fn leads_past(function: &Function) -> impl Fn(&BasicBlock, u32) -> bool {
    let put_first = sides_put_first(function);
    move |block, target| {
        let before = block.start < function.blocks[target as usize].start;
        before && put_first.iter().any(|(first, end)| *end == target && *first <= block.start)
    }
}

/// Sides that machine code puts ahead of another one of the same if: where each begins, and the block at which both
/// end. Where the text jumps over one side to the other (`@p bra A; bra B; A:`), ptxas 13.5 puts that other side first,
/// so that an if at its end leads past the one that was jumped over, and stays a branch. Eight kernels made for it.
fn sides_put_first(function: &Function) -> Vec<(u32, u32)> {
    let blocks = &function.blocks;
    let unconditional = |b: &BasicBlock| {
        let last = function.insts.get((b.end as usize).wrapping_sub(1));
        matches!(last.map(|i| &i.flow), Some(Flow::Bra(_))) && b.succs.len() == 1
    };
    let side = |(at, list): (usize, &[BasicBlock])| {
        let [outer, jump, over] = list else { return None };
        let jumps = jump.end == jump.start + 1 && unconditional(jump);
        let &[other] = &jump.succs[..] else { return None };
        let first = blocks[other as usize].start;
        let last = blocks.get((other as usize).checked_sub(1)?)?;
        let chosen = outer.succs.len() == 2 && outer.succs.contains(&(at as u32 + 2));
        let ends = unconditional(last) && chosen && jumps && over.start < first;
        let end = last.succs.first().filter(|_| ends)?;
        Some((first, *end))
    };
    blocks.windows(3).enumerate().filter_map(side).collect()
}

/// The instructions of a side go under the predicate.
fn guard_side(function: &Function, facts: &mut [Facts<'_>], side: (u32, u32), guard: Register) {
    for i in side.0 as usize..side.1 as usize {
        match function.insts[i].flow {
            // The way back is no branch either.
            Flow::Bra(_) => facts[i].folded = true,
            _ if !facts[i].folded => facts[i].instruction.guard = Some(guard),
            _ => {}
        }
    }
}

/// Of two sides that write the same register the one that loads it goes last, so that it does not keep the other one
/// waiting, wherever it stands: what the other one writes is there by then.
fn loads_last(facts: &mut [Facts<'_>], sides: [(u32, u32); 2]) {
    for [one, other] in [sides, [sides[1], sides[0]]] {
        let loads = |f: &&Facts<'_>| f.instruction.class.is_memory();
        let loaded: Vec<Register> = facts[other.0 as usize..other.1 as usize]
            .iter()
            .filter(loads)
            .flat_map(|f| f.instruction.writes.iter().copied())
            .collect();
        for f in &mut facts[one.0 as usize..one.1 as usize] {
            if !f.instruction.class.is_memory() {
                let Instruction { writes, yields, .. } = &mut f.instruction;
                yields.extend(writes.iter().copied().filter(|w| loaded.contains(w)));
                writes.retain(|w| !loaded.contains(w));
            }
        }
    }
}

/// A block that could be executed under a predicate.
#[derive(Clone, Copy)]
struct Side {
    /// Machine instructions.
    instructions: u32,
    /// Loads from memory that is not shared.
    loads: bool,
}

impl Side {
    /// The instructions up to which the assembler executes it under a predicate, which all lanes share or not.
    fn most(self, rules: &Assembler, agrees: bool) -> u32 {
        match () {
            () if self.loads => rules.predicated_load_instructions,
            () if agrees => rules.predicated_uniform_instructions,
            () => rules.predicated_instructions,
        }
    }
}

/// What is left of a block, if all of it can be executed under a predicate.
fn predicable(function: &Function, facts: &[Facts<'_>], range: (u32, u32)) -> Option<Side> {
    let mut side = Side { instructions: 0, loads: false };
    let mut stored = false;
    for i in range.0 as usize..range.1 as usize {
        let f = &facts[i];
        if f.folded || matches!(function.insts[i].flow, Flow::Bra(_)) && i as u32 + 1 == range.1 {
            continue;
        }
        let control = !matches!(function.insts[i].flow, Flow::Next);
        let class = f.instruction.class;
        let sync = matches!(
            class,
            Class::WarpSync
                | Class::Shuffle
                | Class::Vote
                | Class::Match
                | Class::Redux
                | Class::AtomicGlobal
                | Class::AtomicShared
                | Class::FenceBlock
                | Class::FenceDevice
                | Class::FenceSystem
        );
        let long = matches!(
            class,
            Class::IntDiv
                | Class::IntDivSigned
                | Class::IntDivKnown
                | Class::IntDivSigned64
                | Class::IntDiv64
                | Class::F32Div
                | Class::F32Sqrt
                | Class::F32Rcp
                | Class::F64Div
                | Class::F64Rcp
                | Class::F64Sqrt
                | Class::F64Rsqrt
        );
        // A load that may read what was stored is not made sooner.
        let again = class == Class::LoadGlobal && stored;
        if control || sync || long || again || f.instruction.guard.is_some() {
            return None;
        }
        stored |= class == Class::StoreGlobal;
        side.loads |= class == Class::LoadGlobal;
        let halves = if class == Class::IntAdd64 { 2 } else { 1 };
        side.instructions += halves + f.instruction.extra_slots;
    }
    Some(side)
}
