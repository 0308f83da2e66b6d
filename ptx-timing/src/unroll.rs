//! Which loops the assembler repeats: several turns, or all of them, become one block of machine code.
//!
//! That saves comparisons and branches, and loads of several turns are under way at once. How many turns depends on
//! whether the text tells how many there are, and on what is in one; the numbers are those of ptxas 13.5 for loops of
//! multiply-adds, loads and stores of all lengths (sm_86 and sm_90).

use std::collections::HashMap;

use ptx_isa::{Class, Operation, Reach, Ty};
use ptx_parse::code::{Flow, Function};

use crate::effects::fences;
use crate::event::Register;
use crate::facts::Facts;
use crate::loop_body::{Body, Folds, SharedLoad};
use crate::trips::{self, Range, Trip};
use crate::uniform;

/// Turns that one block stands for if nobody knows how many there are, the most first.
const TURNS: [usize; 2] = [4, 2];

/// Instructions of two turns that are left over and are under a predicate, with another one.
const LEFT_OVER: usize = 6;

/// The same with loads from global memory, of loops that end at a constant.
const LEFT_OVER_OF_FEW: usize = 12;

/// A load from shared memory allows so many instructions more in a loop whose turns nobody knows.
const FOR_SHARED_LOAD: u32 = 5;

/// Those with loads from global memory may have so many.
const WITH_GLOBAL_LOADS: u32 = 46;

/// None may have more.
const MOST: u32 = 96;

/// A loop whose turns are known is written out if its instructions, less these for each turn, ...
const SAVED: u32 = 8;

/// ... are no more than these in all turns, ...
const WRITTEN_OUT: u32 = 384;

/// ... nor with those more than these.
const WRITTEN_OUT_AT_ALL: u32 = 2000;

/// A loop with a number of turns at most is written out if the square of a turn's instructions, times the turns, is no
/// more than this: 24,200 to 31,900 for turns of 6 to 56 instructions.
const WRITTEN_OUT_AT_MOST: usize = 25_600;

/// A loop with too many turns for that has so many instructions in a block, with those that are left over, ...
const SOME: u32 = 350;

/// ... if a turn has no more than these.
const TURN: u32 = 72;

/// Instructions around what only some lanes may do.
const KEPT_TRACK: u32 = 2;

/// A loop that is repeated, by the numbers of its function's instructions.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub start: u32,
    pub end: u32,
    /// Where the loop is entered, if that is not its start: what lies behind comes ahead of all turns.
    pub entry: Option<u32>,
    /// Turns that one block stands for, the most first.
    pub turns: Vec<usize>,
    /// Turns that make a block together with what comes from the entry on, if any do.
    pub behind_entry: Option<usize>,
    /// A turn ahead of all, for a counter that starts beyond the last one: then the loop has that one turn only. Loops
    /// stand behind a comparison that keeps this from happening.
    pub apart: Apart,
    /// The comparison that tells whether a turn follows, where machine code has to ask how many turns of each kind
    /// there are.
    pub asks: Option<u32>,
    /// Instructions that this takes besides ahead of several turns.
    pub asks_more: u32,
    /// What only the last of several turns needs.
    pub once: Vec<u32>,
    /// Additions of a constant to a register, with the constant: all turns start from its first value.
    pub steps: Vec<(u32, i64)>,
    /// What turns have no need of.
    pub folds: Folds,
    /// Loads of words from shared memory, of which those of several turns may become one.
    pub loads: Vec<SharedLoad>,
    /// A multiple of so many turns may be ahead of a block; 0 where all turns are one block.
    pub ahead: usize,
}

/// What there is of a turn that is not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Apart {
    /// Nothing: it is known that the counter starts below the end.
    Nothing,
    /// Its instructions, under a predicate.
    Predicated,
    /// A branch around it.
    Branch,
}

/// What of the assembler's rules and of a function decides about its loops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// Instructions of a turn at most ([`Assembler::unrolled_instructions`]).
    pub most: u32,
    /// [`Assembler::unrolls_inner_loops`].
    pub inner: bool,
    /// [`Assembler::predicated_instructions`], and [`Assembler::predicated_load_instructions`].
    pub predicated: (u32, u32),
    /// Trailing zero bits that registers have in the first turn of a loop of known turns.
    pub aligned: &'a HashMap<Register, u32>,
}

/// Loops that are written out though lanes may leave them in each turn: the counter is known there, and nothing
/// compares it.
pub(crate) fn bounded(function: &Function, facts: &mut [Facts<'_>]) {
    for bounded in trips::bounded(function, facts) {
        let Range { start, branch, .. } = bounded.range;
        let own = start as usize..branch as usize + 1;
        let size = facts[own].iter().filter(|f| !f.folded).count();
        let alone = |i: usize| {
            let made = &facts[i].instruction.writes;
            let readers = facts.iter().filter(|f| {
                f.instruction.reads.iter().chain(&f.instruction.guard).any(|r| made.contains(r))
            });
            readers.count() == 1
        };
        // Lanes that other lanes ask for have to be there.
        let asks = |f: &Facts<'_>| {
            let class = f.instruction.class;
            fences(class) || matches!(class, Class::Vote | Class::Match) || f.instruction.splits
        };
        if facts[start as usize..branch as usize].iter().any(asks)
            || size.pow(2).saturating_mul(bounded.turns) > WRITTEN_OUT_AT_MOST
            || !alone(bounded.compare)
            || bounded.joined.is_some_and(|(both, _)| !alone(both))
        {
            continue;
        }
        facts[bounded.compare].folded = true;
        let counter = bounded.counter;
        let reads = |f: &Facts<'_>| f.instruction.reads.contains(&counter);
        let inside = start as usize..branch as usize;
        let readers = (0..facts.len()).filter(|i| !facts[*i].folded && reads(&facts[*i]));
        if readers.clone().all(|i| inside.contains(&i)) {
            // In each turn the counter is a constant.
            facts[bounded.step].folded = true;
            for f in facts[inside].iter_mut().filter(|f| reads(f)) {
                f.instruction.reads.retain(|r| *r != counter);
                let same = |a: &&mut (Option<Register>, Option<u64>)| a.0 == Some(counter);
                f.arguments.iter_mut().filter(same).for_each(|a| *a = (None, None));
                f.constants += 1;
            }
        }
        match bounded.joined {
            Some((both, other)) => {
                facts[both].folded = true;
                facts[branch as usize].instruction.guard = Some(other);
            }
            // The other turns come behind this one.
            None => facts[branch as usize].folded = true,
        }
    }
}

/// The loops of a function that the assembler repeats.
pub(crate) fn candidates(
    rules: Rules<'_>,
    source: &str,
    function: &Function,
    trips: &[Trip],
    facts: &[Facts<'_>],
) -> Vec<Candidate> {
    if rules.most == 0 {
        return Vec::new();
    }
    let same = uniform::same_in_lanes(function, facts);
    let ranges = trips::ranges(function, facts);
    let found = ranges.iter().filter_map(|&range| {
        let Range { start, branch, entry } = range;
        let around = |r: &Range| r.start <= start && r.branch > branch;
        let rules = Rules { inner: rules.inner && ranges.iter().any(around), ..rules };
        let inside = |other: u32| start < other && other <= branch && Some(other) != entry;
        // Blocks that are executed under a predicate belong to the one around them.
        let joined = |i: u32| facts[i as usize].continues;
        if !function.blocks.iter().map(|b| b.start).filter(|s| inside(*s)).all(joined) {
            return None;
        }
        let trip = trips.iter().find(|t| t.branch == branch);
        candidate(rules, source, function, facts, &same, range, trip)
    });
    found.collect()
}

/// Whether a branch is there and one predicate decides about it.
fn decides_alone(branch: &Facts<'_>) -> bool {
    !branch.folded && branch.instruction.reads.is_empty()
}

fn candidate(
    rules: Rules<'_>,
    source: &str,
    function: &Function,
    facts: &[Facts<'_>],
    same: &HashMap<Register, bool>,
    Range { start, branch, entry }: Range,
    trip: Option<&Trip>,
) -> Option<Candidate> {
    let branch = branch as usize;
    let guard = facts[branch].instruction.guard.filter(|_| decides_alone(&facts[branch]))?;
    let before = start.checked_sub(1).map_or(0, |i| function.insts[i as usize].span.end);
    let text = source.get(before as usize..function.insts[branch].span.end as usize)?;
    if text.contains("nounroll") {
        return None;
    }
    let list: Vec<usize> = (start as usize..branch).filter(|i| !facts[*i].folded).collect();
    let plain = |i: &usize| {
        let class = facts[*i].instruction.class;
        let branches = class == Class::Branch || class.has_branches();
        matches!(function.insts[*i].flow, Flow::Next) && !branches
    };
    // What lanes do together is not repeated where they may leave one by one.
    let together = |i: &usize| facts[*i].opcode.row.reach != Reach::Lane;
    let leave_together = trip.is_some() || same.get(&guard).copied().unwrap_or(false);
    if !list.iter().all(plain) || !leave_together && list.iter().any(together) {
        return None;
    }
    let body = Body { function, facts, list, all: start as usize..branch };
    let compare = body.writers(guard).last().filter(|i| facts[*i].op == Operation::Compare)?;
    let reads = &facts[compare].instruction.reads;
    let counted = reads.iter().all(|r| body.counts(*r) || body.fixed(*r));
    if !reads.iter().any(|r| body.counts(*r)) || !counted {
        return None;
    }
    let all: Vec<usize> = body.list.iter().copied().filter(|i| body.step(*i).is_some()).collect();
    let steps_and_test: Vec<usize> = all.iter().copied().chain([compare]).collect();
    let (size, shared, global) = body.size(&steps_and_test);
    // What is never executed under a predicate.
    let stores = |i: &usize| facts[*i].instruction.class == Class::StoreGlobal;
    let stays = body.list.iter().any(|i| stores(i) || together(i));
    let equality = facts[compare].opcode.has(".ne") || facts[compare].opcode.has(".eq");
    // What comes ahead of all turns is no turn.
    let ahead = usize::from(entry.is_some());
    let turns = match trip {
        Some(trip) => {
            let turns = trip.turns.checked_sub(ahead)?;
            let whole = rules.inner && turns > 1 && saves_loads(size, shared, turns);
            if whole { vec![turns] } else { known(size, turns)? }
        }
        None if !leave_together && body.waits_for_stores() => return None,
        None => {
            let more = rules.most + FOR_SHARED_LOAD * shared;
            let most = more.max(if global > 0 { WITH_GLOBAL_LOADS } else { 0 }).min(MOST);
            // What is left over has a loop of its own, or is written out; three short turns are two and one under
            // predicates, in one block.
            let turns = 2 * (body.list.len() - steps_and_test.len());
            let bounded = facts[compare].arguments.iter().any(|a| a.1.is_some());
            let short = match global {
                0 => turns <= LEFT_OVER && !stays,
                _ => turns <= LEFT_OVER_OF_FEW && !stays && bounded,
            };
            let some = match short && !equality {
                true => vec![TURNS[0], 3, TURNS[1]],
                false => TURNS.to_vec(),
            };
            (size <= most).then_some(some)?
        }
    };
    let whole = trip.is_some_and(|t| turns[0] + ahead == t.turns);
    let ahead_of_block = if whole { 0 } else { turns[0] };
    let counters = if whole { body.counters(reads) } else { Vec::new() };
    let mut folds = body.folds(&counters, &steps_and_test);
    if whole {
        folds.known.extend([compare as u32, branch as u32]);
        folds.known.extend(counters.iter().flat_map(|r| body.writers(*r)).map(|i| i as u32));
    }
    // All turns, or those that are left over of their number, go with what comes ahead.
    let (turns, behind_entry) = match (entry.and(trip), whole) {
        (None, _) => (turns, None),
        (Some(_), true) => (Vec::new(), Some(turns[0])),
        (Some(trip), false) => (turns[..1].to_vec(), Some((trip.turns - ahead) % turns[0])),
    };
    let only = all.iter().filter(|i| body.only_counts(**i, compare, &folds.first));
    let mut once: Vec<u32> = only.map(|i| *i as u32).collect();
    once.extend([compare as u32, branch as u32]);
    let steps = all.into_iter().filter_map(|i| Some((i as u32, body.step(i)?))).collect();
    let unsigned = matches!(facts[compare].opcode.types().last(), Some(Ty::U32 | Ty::U64));
    let may_be = trip.is_none() && unsigned && entry.is_none() && !body.starts_below(compare);
    let most = if global > 0 { rules.predicated.1 } else { rules.predicated.0 };
    let apart = match may_be {
        false => Apart::Nothing,
        true if body.list.len() as u32 - 1 <= most => Apart::Predicated,
        true => Apart::Branch,
    };
    let asks = trip.is_none().then_some(compare as u32);
    // A counter without a sign may be beyond the end; lanes that leave one by one are kept track of.
    let asks_more = u32::from(unsigned) + if leave_together { 0 } else { KEPT_TRACK };
    let end = branch as u32 + 1;
    let loads = if trip.is_some() && entry.is_none() {
        body.shared_loads(rules.aligned, &folds)
    } else {
        Vec::new()
    };
    Some(Candidate {
        start,
        end,
        entry,
        turns,
        behind_entry,
        apart,
        asks,
        asks_more,
        once,
        steps,
        folds,
        loads,
        ahead: ahead_of_block,
    })
}

/// Whether a loop inside another one is written out for the sake of its loads from shared memory: the square of the
/// instructions of a turn, times the turns that are saved, is no more than so many for each word that a turn loads, and
/// some. Found by bisection with 4, 8 and 16 words and 4 to 64 turns, 1 to 32 words and 8 turns; within 7 % of all.
fn saves_loads(size: u32, words: u32, turns: usize) -> bool {
    const FOR_A_WORD: u64 = 27_200;
    const WITHOUT: u64 = 15_000;
    let size = u64::from(size);
    size * size * (turns as u64 - 1) <= FOR_A_WORD * u64::from(words) + WITHOUT
}

/// How many turns one block stands for where the text tells how many there are; `None` = one.
fn known(size: u32, turns: usize) -> Option<Vec<usize>> {
    let all = u32::try_from(turns).ok().filter(|t| *t > 1)?;
    let more = size.saturating_sub(SAVED).saturating_mul(all);
    if more <= WRITTEN_OUT && size.saturating_mul(all) <= WRITTEN_OUT_AT_ALL {
        return Some(vec![turns]);
    }
    if size > TURN {
        return None;
    }
    let most = SOME / size.max(1);
    // As many as there is room for, those that are left over among them.
    let some = (2..=most.min(all)).rev().find(|k| k + all % k <= most)?;
    let rest = all % some;
    let list = [some, rest].into_iter().filter(|n| *n > 1).map(|n| n as usize);
    Some(list.collect())
}

#[cfg(test)]
mod tests {
    use super::{known, saves_loads};

    #[test]
    fn inner_loops() {
        // The most multiply-adds beside so many loads in so many turns that ptxas 13.5 writes out for sm_86.
        for (most, loads, turns) in [
            (124, 4, 8),
            (81, 4, 16),
            (163, 8, 8),
            (105, 8, 16),
            (68, 8, 32),
            (216, 16, 8),
            (137, 16, 16),
            (54, 16, 64),
            (78, 1, 8),
            (287, 32, 8),
        ] {
            let size = |part: u32| most * part / 100 + 2 * loads;
            assert!(saves_loads(size(93), loads, turns), "{most} {loads} {turns}");
            assert!(!saves_loads(size(107), loads, turns), "{most} {loads} {turns}");
        }
    }

    #[test]
    fn known_turns() {
        // What ptxas 13.5 makes of loops of multiply-adds.
        assert_eq!(known(8, 128), Some(vec![128]));
        assert_eq!(known(16, 48), Some(vec![48]));
        assert_eq!(known(16, 64), Some(vec![16]));
        assert_eq!(known(12, 128), Some(vec![25, 3]));
        assert_eq!(known(24, 64), Some(vec![10, 4]));
        assert_eq!(known(40, 17), Some(vec![5, 2]));
        assert_eq!(known(48, 8), Some(vec![8]));
        assert_eq!(known(64, 1000), Some(vec![5]));
        assert_eq!(known(96, 4), Some(vec![4]));
        assert_eq!(known(96, 5), None);
        assert_eq!(known(74, 64), None);
    }
}
