//! Loops of which the text tells how many turns they have: a counter that starts at a constant, gets a constant added
//! in each turn, and is compared with a constant.

use ptx_isa::{Operation, Ty};
use ptx_parse::code::{Flow, Function};

use crate::event::Register;
use crate::facts::Facts;

/// A loop whose number of turns is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trip {
    /// The branch at its end.
    pub branch: u32,
    pub turns: usize,
}

/// Loops of more turns than these are as if nobody knew.
const MOST: usize = 1 << 16;

/// The constant that an addition or subtraction adds to the register that it reads.
pub(crate) fn added(f: &Facts<'_>) -> Option<i64> {
    let ty = f.opcode.types().last()?;
    let (register, constant) = match &f.arguments[..] {
        [(Some(_), _), (None, Some(c))] => (true, *c),
        [(None, Some(c)), (Some(_), _)] => (false, *c),
        _ => return None,
    };
    let n = signed(constant, ty);
    match f.op {
        Operation::Add => Some(n),
        Operation::Sub => register.then_some(n.wrapping_neg()),
        _ => None,
    }
}

/// A constant of a type as a number with a sign.
fn signed(constant: u64, ty: Ty) -> i64 {
    let unused = 64 - ty.bits().min(64);
    ((constant << unused) as i64) >> unused
}

/// A loop, by the numbers of its function's instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub start: u32,
    /// The guarded branch at its end.
    pub branch: u32,
    /// Where it is entered, if that is not its start. What lies between the two comes behind the first half turn:
    /// `bra.uni B; A: …; B: …; @p bra A;`.
    pub entry: Option<u32>,
}

/// The loops of a function that end with a guarded branch. Of those that go on with a branch behind the one that
/// leaves, machine code rotates what is entered in its middle; the others are as they are written.
pub(crate) fn ranges(function: &Function, facts: &[Facts<'_>]) -> Vec<Range> {
    let found = function.blocks.iter().filter_map(|b| {
        let last = b.end.checked_sub(1)?;
        let Flow::Bra(target) = function.insts[last as usize].flow else { return None };
        let start = function.blocks[target as usize].start;
        if start > b.start {
            return None;
        }
        if function.insts[last as usize].guard.is_some() {
            return Some(Range { start, branch: last, entry: entry(function, facts, start, last) });
        }
        // The branch that leaves goes right behind this one.
        let branch = last.checked_sub(1).filter(|_| b.start == last)?;
        let exit = &function.insts[branch as usize];
        let Flow::Bra(behind) = exit.flow else { return None };
        let leaves = exit.guard.is_some() && function.blocks[behind as usize].start == b.end;
        let entry = entry(function, facts, start, last).filter(|_| leaves && start < branch)?;
        Some(Range { start, branch, entry: Some(entry) })
    });
    found.collect()
}

/// Where the instructions from `start` to `last` are entered, if at one other place than the start.
fn entry(function: &Function, facts: &[Facts<'_>], start: u32, last: u32) -> Option<u32> {
    let before = start.checked_sub(1)? as usize;
    let falls = facts[before].instruction.guard.is_some()
        || !matches!(function.insts[before].flow, Flow::Bra(_) | Flow::Ret | Flow::Exit);
    if falls {
        return None;
    }
    let outside = (0..).zip(&function.insts).filter(|(i, _)| !(start..=last).contains(i));
    let mut entries = outside.filter_map(|(_, inst)| {
        let Flow::Bra(target) = inst.flow else { return None };
        Some(function.blocks[target as usize].start).filter(|t| (start..=last).contains(t))
    });
    let found = entries.next().filter(|e| *e > start)?;
    entries.all(|e| e == found).then_some(found)
}

/// A number of turns for each loop of a function that has one; a first half turn counts as one. What the facts say is
/// what the text does: nothing has been folded.
pub(crate) fn trips(function: &Function, facts: &[Facts<'_>]) -> Vec<Trip> {
    let found = ranges(function, facts).into_iter().filter_map(|range| {
        let turns = turns(function, facts, range)?;
        Some(Trip { branch: range.branch, turns })
    });
    found.collect()
}

/// What adds a constant to a register in each turn of such loops.
pub(crate) fn steps(function: &Function, facts: &[Facts<'_>], trips: &[Trip]) -> Vec<usize> {
    let known = ranges(function, facts);
    let known = known.into_iter().filter(|r| trips.iter().any(|t| t.branch == r.branch));
    let inside = known.flat_map(|r| r.start as usize..r.branch as usize);
    let steps = inside.filter(|i| {
        let own = &facts[*i].instruction;
        added(&facts[*i]).is_some() && own.reads[..] == own.writes[..]
    });
    steps.collect()
}

fn writers<'a>(facts: &'a [Facts<'_>], r: Register) -> impl Iterator<Item = usize> + 'a {
    (0..facts.len()).filter(move |i| facts[*i].instruction.writes.contains(&r))
}

/// The constant that a register holds all the time.
fn constant(facts: &[Facts<'_>], r: Register) -> Option<u64> {
    let mut all = writers(facts, r);
    let f = &facts[all.next().filter(|_| all.next().is_none())?];
    f.constant_move.then(|| f.arguments.first()?.1).flatten()
}

fn turns(function: &Function, facts: &[Facts<'_>], range: Range) -> Option<usize> {
    let (_, negated) = function.insts[range.branch as usize].guard.as_ref()?;
    let guard = facts[range.branch as usize].instruction.guard?;
    counted(facts, range, guard, *negated != leaves(function, range)?).map(|c| c.turns)
}

/// Whether the branch of a loop leaves it.
fn leaves(function: &Function, range: Range) -> Option<bool> {
    let Flow::Bra(target) = function.insts[range.branch as usize].flow else { return None };
    Some(function.blocks[target as usize].start != range.start)
}

/// A loop that goes on while a comparison of its counter holds, and something else does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounded {
    pub range: Range,
    /// Turns at most.
    pub turns: usize,
    /// The comparison.
    pub compare: usize,
    /// The counter, and what adds to it.
    pub counter: Register,
    pub step: usize,
    /// What joins it with what else decides at the loop's end, and that.
    pub joined: Option<(usize, Register)>,
}

/// Branches of a loop that leave it before its end, if it has no others.
fn exits(function: &Function, range: Range) -> Option<usize> {
    let mut count = 0;
    for inst in &function.insts[range.start as usize..range.branch as usize] {
        match inst.flow {
            Flow::Bra(target) => {
                let outside = function.blocks[target as usize].start > range.branch;
                count += usize::from(outside && inst.guard.is_some());
                if !outside || inst.guard.is_none() {
                    return None;
                }
            }
            Flow::Ret | Flow::Exit | Flow::Call(_) => return None,
            _ => {}
        }
    }
    Some(count)
}

/// The loops that have no more turns than the text tells, and that lanes may leave earlier.
pub(crate) fn bounded(function: &Function, facts: &[Facts<'_>]) -> Vec<Bounded> {
    let of = |range: Range| {
        let (_, negated) = function.insts[range.branch as usize].guard.as_ref()?;
        let (start, branch) = (range.start as usize, range.branch as usize);
        let guard = facts[branch].instruction.guard.filter(|_| range.entry.is_none())?;
        let goes_on = !negated && !leaves(function, range)?;
        let exits = exits(function, range).filter(|_| goes_on)?;
        let of = |counted: Counted, joined| {
            let Counted { turns, compare, counter, step } = counted;
            Bounded { range, turns, compare, counter, step, joined }
        };
        if exits > 0
            && let Some(counted) = counted(facts, range, guard, false)
        {
            return Some(of(counted, None));
        }
        let mut all = writers(facts, guard);
        let both = all.next().filter(|i| (start..branch).contains(i) && all.next().is_none())?;
        let f = &facts[both];
        let joins = f.op == Operation::And && f.opcode.types().last() == Some(Ty::Pred);
        if !joins || f.instruction.guard.is_some() {
            return None;
        }
        let [(Some(a), _), (Some(b), _)] = f.arguments[..] else { return None };
        [(a, b), (b, a)].into_iter().find_map(|(test, other)| {
            let counted = counted(facts, range, test, false)?;
            // Of three tests ptxas keeps them all.
            let one = writers(facts, other).all(|i| facts[i].op == Operation::Compare);
            if !one {
                return None;
            }
            Some(of(counted, Some((both, other))))
        })
    };
    ranges(function, facts).into_iter().filter_map(of).collect()
}

/// What is known of a loop's counter.
struct Counted {
    turns: usize,
    /// The comparison that ends the loop.
    compare: usize,
    counter: Register,
    /// What adds to the counter.
    step: usize,
}

/// Turns of a loop that goes on while a predicate holds, or while it does not.
fn counted(facts: &[Facts<'_>], range: Range, guard: Register, negated: bool) -> Option<Counted> {
    let Range { start, branch, entry } = range;
    let (start, branch) = (start as usize, branch as usize);
    let mut comparisons = writers(facts, guard);
    let compare = comparisons.next().filter(|i| (start..branch).contains(i))?;
    let f = &facts[compare];
    if comparisons.next().is_some() || f.op != Operation::Compare || f.instruction.guard.is_some() {
        return None;
    }
    let value = |a: &(Option<Register>, Option<u64>)| a.1.or_else(|| constant(facts, a.0?));
    let ty = f.opcode.types().last().filter(|t| !t.is_float())?;
    let [one, other] = &f.arguments[..] else { return None };
    let (counter, bound, turned) = match (value(one), value(other)) {
        (None, Some(bound)) => (one.0?, bound, false),
        (Some(bound), None) => (other.0?, bound, true),
        _ => return None,
    };
    let inside = |i: &usize| (start..branch).contains(i);
    let mut own = writers(facts, counter).filter(inside);
    let second = own.next().filter(|_| own.next().is_none())?;
    // It starts from one constant, wherever that is.
    let first = |i: usize| {
        let begin = &facts[i];
        let begins = begin.op == Operation::Move && begin.instruction.guard.is_none();
        begins.then(|| value(begin.arguments.first()?)).flatten()
    };
    let mut before = writers(facts, counter).filter(|i| !inside(i)).map(first);
    let begin = before.next()??;
    if before.any(|other| other != Some(begin)) {
        return None;
    }
    let step = added(&facts[second]).filter(|_| facts[second].instruction.guard.is_none())?;
    let [from, bound] = [begin, bound].map(|n| signed(n, ty));
    let unsigned = matches!(ty, Ty::U16 | Ty::U32 | Ty::U64);
    let goes_on = |n: i64| {
        let (a, b) = if turned { (bound, n) } else { (n, bound) };
        let mask = if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        let order = match unsigned {
            true => (a as u64 & mask).cmp(&(b as u64 & mask)),
            false => a.cmp(&b),
        };
        let holds = match () {
            () if f.opcode.has(".eq") => order.is_eq(),
            () if f.opcode.has(".ne") => order.is_ne(),
            () if f.opcode.has(".lt") || f.opcode.has(".lo") => order.is_lt(),
            () if f.opcode.has(".le") || f.opcode.has(".ls") => order.is_le(),
            () if f.opcode.has(".gt") || f.opcode.has(".hi") => order.is_gt(),
            () if f.opcode.has(".ge") || f.opcode.has(".hs") => order.is_ge(),
            () => return None,
        };
        Some(holds != negated)
    };
    let next = |n: i64| signed(n.wrapping_add(step) as u64, ty);
    let begun = |i: usize| entry.is_none_or(|e| i >= e as usize);
    if !begun(compare) {
        return None;
    }
    let mut n = if compare > second && begun(second) { next(from) } else { from };
    let mut turns = 1;
    while goes_on(n)? {
        n = next(n);
        turns += 1;
        if turns > MOST {
            return None;
        }
    }
    Some(Counted { turns, compare, counter, step: second })
}
