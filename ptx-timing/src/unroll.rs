//! Which loops the assembler repeats: several turns, or all of them, become one block of machine code.
//!
//! That saves comparisons and branches, and loads of several turns are under way at once. How many turns depends on
//! whether the text tells how many there are, and on what is in one; the numbers are those of ptxas 13.5 for loops of
//! multiply-adds, loads and stores of all lengths (sm_86 and sm_90).

use std::collections::{HashMap, HashSet};

use ptx_isa::{Class, Operation, Reach, Space, Ty};
use ptx_parse::code::{Flow, Function};

use crate::event::Register;
use crate::facts::Facts;
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

/// A loop with too many turns for that has so many instructions in a block, with those that are left over, ...
const SOME: u32 = 350;

/// ... if a turn has no more than these.
const TURN: u32 = 72;

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
    /// Whether the first turn is one by itself, under a predicate, before it is known how many follow.
    pub apart: bool,
    /// The comparison that tells whether a turn follows, where machine code has to ask how many turns of each kind
    /// there are.
    pub asks: Option<u32>,
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

/// A load of one word or two from shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedLoad {
    /// The instruction.
    pub at: u32,
    /// Its address is this register plus an offset.
    pub base: Register,
    pub offset: i64,
    pub bytes: u32,
    /// Trailing zero bits that the register has in the first turn.
    pub aligned: u32,
}

/// What of the assembler's rules and of a function decides about its loops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// Instructions of a turn at most ([`Assembler::unrolled_instructions`]).
    pub most: u32,
    /// [`Assembler::unrolls_inner_loops`].
    pub inner: bool,
    /// Trailing zero bits that registers have in the first turn of a loop of known turns.
    pub aligned: &'a HashMap<Register, u32>,
}

/// Instructions that the turns of a block share.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    /// None has them: their results are constants, as the number of the turn is in a loop that is written out.
    pub known: Vec<u32>,
    /// The first has them: results of the others differ by constants, which fit into what reads them.
    pub first: Vec<u32>,
    /// By how much such results differ from turn to turn, where that is known.
    pub differences: HashMap<Register, i64>,
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
    let same = uniform::same_in_lanes(facts);
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

/// The instructions of a loop, but the branch.
struct Body<'a, 'b> {
    function: &'a Function,
    facts: &'a [Facts<'b>],
    list: Vec<usize>,
    /// With those that are none of their own.
    all: std::ops::Range<usize>,
}

impl Body<'_, '_> {
    fn writers(&self, r: Register) -> impl Iterator<Item = usize> + '_ {
        let list = self.list.iter().copied();
        list.filter(move |i| self.facts[*i].instruction.writes.contains(&r))
    }

    /// The constant that an instruction adds to a register.
    fn step(&self, i: usize) -> Option<i64> {
        let f = &self.facts[i];
        let i = &f.instruction;
        let adds = matches!(f.op, Operation::Add | Operation::Sub) && f.constants == 1;
        let itself = i.guard.is_none() && i.reads[..] == i.writes[..] && i.writes.len() == 1;
        if !adds || !itself || self.writers(i.writes[0]).count() != 1 {
            return None;
        }
        trips::added(f)
    }

    fn counts(&self, r: Register) -> bool {
        self.writers(r).next().is_some_and(|i| self.step(i).is_some())
    }

    fn fixed(&self, r: Register) -> bool {
        self.writers(r).next().is_none()
    }

    /// Registers whose value is known in each turn of a loop that is written out: those that the comparison reads, and
    /// others that start with a constant and have one added.
    fn counters(&self, compared: &[Register]) -> Vec<Register> {
        let mut found = compared.to_vec();
        for &i in self.list.iter().filter(|i| self.step(**i).is_some()) {
            let r = self.facts[i].instruction.writes[0];
            let mut others = (0..self.facts.len())
                .filter(|j| *j != i && self.facts[*j].instruction.writes.contains(&r));
            let starts = others.next().is_some_and(|j| {
                let f = &self.facts[j];
                f.constant_move && !self.list.contains(&j)
            });
            if starts && others.next().is_none() && !found.contains(&r) {
                found.push(r);
            }
        }
        found
    }

    /// Whether a step makes a counter that only the comparison reads, or addresses into whose accesses it fits, those
    /// that are made of it once in all turns among them.
    fn only_counts(&self, step: usize, compare: usize, first: &[u32]) -> bool {
        let r = self.facts[step].instruction.writes[0];
        let others = |j: &&usize| **j != step && **j != compare && !first.contains(&(**j as u32));
        self.list.iter().filter(others).all(|j| {
            let f = &self.facts[*j];
            let reads = f.instruction.reads.contains(&r) || f.instruction.guard == Some(r);
            let base = f.place.is_some_and(|p| p.base == Some(r));
            !reads || f.instruction.class.is_memory() && base
        })
    }

    /// Machine instructions of a turn without those of `but`, as the assembler weighs them, and how many of them load
    /// from shared and from global memory.
    fn size(&self, but: &[usize]) -> (u32, u32, u32) {
        let (mut size, mut shared, mut global) = (0, 0, 0);
        for &i in self.list.iter().filter(|i| !but.contains(i)) {
            let own = &self.facts[i].instruction;
            let weight = match own.class {
                Class::AtomicGlobal => 12,
                Class::IntDiv | Class::IntDivSigned => 16,
                Class::F32Scaled => 5,
                Class::IntMul64 => 4,
                // Their addresses are computed besides.
                _ if own.fragment => 8,
                class if class.is_memory() => 2 * own.merged,
                _ => 1,
            };
            let guarded = u32::from(self.function.insts[i].guard.is_some());
            size += weight + own.extra_slots + guarded;
            let loads = own.class == Class::LoadShared && !own.fragment;
            shared += if loads { own.merged } else { 0 };
            global += u32::from(own.class == Class::LoadGlobal);
        }
        (size, shared, global)
    }

    /// What is constant if `counters` are in each turn, and what differs by a constant from turn to turn.
    fn folds(&self, counters: &[Register], but: &[usize]) -> Folds {
        // Only of such loops' code is it known that what stays the same, and sums with shifts, are made once.
        let written_out = !counters.is_empty();
        let mut known: HashSet<Register> = counters.iter().copied().collect();
        // Registers that differ from turn to turn by a constant, or not at all.
        let mut even: HashSet<Register> = HashSet::new();
        let mut folds = Folds::default();
        for &i in &self.list {
            let Some(by) = self.step(i) else { continue };
            let w = self.facts[i].instruction.writes[0];
            even.insert(w);
            folds.differences.insert(w, by);
        }
        for &i in self.list.iter().filter(|i| !but.contains(i)) {
            let f = &self.facts[i];
            let own = &f.instruction;
            let once = own.writes.iter().all(|w| self.writers(*w).count() == 1);
            let plain = own.class.is_arithmetic() && own.class != Class::Shuffle && !f.varies;
            if !plain || !once || own.guard.is_some() || own.writes.is_empty() {
                continue;
            }
            let all = |set: &dyn Fn(&Register) -> bool| own.reads.iter().all(set);
            let difference = self.difference(f, &folds.differences);
            if let (&[w], Some(by)) = (&own.writes[..], difference) {
                folds.differences.insert(w, by);
            }
            if !own.reads.is_empty() && all(&|r| known.contains(r)) {
                known.extend(&own.writes);
                folds.known.push(i as u32);
                continue;
            }
            // What is multiplied has to be a constant or stay the same, unless the other factor is a constant.
            let adds = |r: &Register| f.arguments.iter().any(|a| a.0 == Some(*r));
            let differs = |r: &Register| known.contains(r) || even.contains(r);
            let fits = match f.op {
                Operation::Add | Operation::Sub => true,
                Operation::Shl => f.arguments.last().is_some_and(|a| a.1.is_some()),
                Operation::Mul | Operation::Mad => {
                    f.arguments.iter().take(2).any(|a| a.1.is_some())
                }
                // A product that went into the sum.
                Operation::Other => {
                    own.class == Class::IntMulWide
                        && own.reads.iter().all(|r| !differs(r) || adds(r))
                        || written_out && own.class == Class::IntAdd3 && difference.is_some()
                }
                _ => false,
            };
            let whole = f.opcode.types().next().is_some_and(|t| !t.is_float());
            let stays = all(&|r| self.fixed(*r)) || written_out && difference == Some(0);
            if stays || fits && whole && all(&|r| differs(r) || self.fixed(*r)) {
                even.extend(&own.writes);
                folds.first.push(i as u32);
            }
        }
        folds
    }

    /// By how much the result of a sum or product differs from turn to turn, if its operands do by constants.
    fn difference(&self, f: &Facts<'_>, known: &HashMap<Register, i64>) -> Option<i64> {
        let stays = |r: &Register| self.fixed(*r) || known.get(r) == Some(&0);
        if f.instruction.reads.iter().all(stays) {
            return Some(0);
        }
        // What became a part of another instruction.
        let inside = |r: Register| {
            let parts = self.facts[self.all.clone()].iter().filter(|f| f.folded);
            parts.into_iter().find(|f| f.instruction.writes[..] == [r])
        };
        // The difference of an operand, and its value if that is a constant.
        let of = |i: usize| match f.arguments.get(i)? {
            (Some(r), _) => match inside(*r) {
                Some(part) => Some((self.difference(part, known)?, None)),
                None if self.fixed(*r) => Some((0, None)),
                None => Some((*known.get(r)?, None)),
            },
            (None, constant) => Some((0, *constant)),
        };
        let product = |a: (i64, Option<u64>), b: (i64, Option<u64>)| match (a, b) {
            ((0, _), (0, _)) => Some(0),
            ((by, _), (_, Some(times))) | ((_, Some(times)), (by, _)) => {
                by.checked_mul(i64::try_from(times).ok()?)
            }
            _ => None,
        };
        // An instruction that has taken in others has their operands besides.
        let own = match f.opcode.row.op {
            Operation::Mad => 3,
            _ => 2,
        };
        if f.arguments.len() != own || f.opcode.types().next().is_none_or(|t| t.is_float()) {
            return None;
        }
        match f.opcode.row.op {
            Operation::Add => of(0)?.0.checked_add(of(1)?.0),
            Operation::Sub => of(0)?.0.checked_sub(of(1)?.0),
            Operation::Shl => {
                let by = of(1)?.1.filter(|by| *by < 32)?;
                of(0)?.0.checked_mul(1 << by)
            }
            Operation::Mul if !f.opcode.has(".hi") => product(of(0)?, of(1)?),
            Operation::Mad if !f.opcode.has(".hi") => {
                product(of(0)?, of(1)?)?.checked_add(of(2)?.0)
            }
            _ => None,
        }
    }

    /// Loads of words from shared memory that nothing in the loop writes.
    fn shared_loads(&self, aligned: &HashMap<Register, u32>, folds: &Folds) -> Vec<SharedLoad> {
        let stays = |i: &usize| {
            let own = &self.facts[*i].instruction;
            let harmless = matches!(
                own.class,
                Class::LoadShared | Class::LoadGlobal | Class::LoadConst | Class::StoreGlobal
            );
            let waits = matches!(own.class, Class::Barrier | Class::WarpSync);
            own.class.is_memory() && !harmless || waits
        };
        let word = |i: &usize| {
            let f = &self.facts[*i];
            let own = &f.instruction;
            let place = f.place.filter(|p| p.space == Space::Shared && p.bytes == 4)?;
            let base = place.base?;
            let one = own.class == Class::LoadShared && own.guard.is_none() && f.merged <= 2;
            let first = self.writers(base).all(|w| folds.first.contains(&(w as u32)));
            let moves = self.fixed(base) || self.counts(base) || first;
            let known = self.fixed(base) || folds.differences.contains_key(&base);
            (one && moves && known).then_some((
                *i,
                base,
                place.offset - own.merged_from,
                4 * f.merged,
            ))
        };
        if self.list.iter().any(stays) {
            return Vec::new();
        }
        let found = self.list.iter().filter_map(word);
        let load = |(at, base, offset, bytes): (usize, Register, i64, u32)| SharedLoad {
            at: at as u32,
            base,
            offset,
            bytes,
            aligned: aligned.get(&base).copied().unwrap_or(0),
        };
        found.map(load).collect()
    }
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
    let guard = facts[branch].instruction.guard.filter(|_| !facts[branch].folded)?;
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
    let apart = trip.is_none() && unsigned && entry.is_none();
    let asks = trip.is_none().then_some(compare as u32);
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
