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

/// A number of turns for each loop of a function that has one. What the facts say is what the text does: nothing has
/// been folded.
pub(crate) fn trips(function: &Function, facts: &[Facts<'_>]) -> Vec<Trip> {
    let found = function.blocks.iter().filter_map(|b| {
        let branch = (b.end as usize).checked_sub(1)?;
        let Flow::Bra(target) = function.insts[branch].flow else { return None };
        let start = function.blocks[target as usize].start;
        let back = start <= b.start;
        let turns = back.then(|| turns(function, facts, start as usize, branch)).flatten()?;
        Some(Trip { branch: branch as u32, turns })
    });
    found.collect()
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

fn turns(function: &Function, facts: &[Facts<'_>], start: usize, branch: usize) -> Option<usize> {
    let (_, negated) = function.insts[branch].guard.as_ref()?;
    let guard = facts[branch].instruction.guard?;
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
    let mut own = writers(facts, counter);
    let (first, second) = (own.next()?, own.next()?);
    if own.next().is_some()
        || (start..branch).contains(&first)
        || !(start..branch).contains(&second)
    {
        return None;
    }
    let begin = &facts[first];
    let begins = begin.op == Operation::Move && begin.instruction.guard.is_none();
    let begin = begins.then(|| value(begin.arguments.first()?)).flatten()?;
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
        Some(holds != *negated)
    };
    let next = |n: i64| signed(n.wrapping_add(step) as u64, ty);
    let mut n = if compare > second { next(from) } else { from };
    let mut turns = 1;
    while goes_on(n)? {
        n = next(n);
        turns += 1;
        if turns > MOST {
            return None;
        }
    }
    Some(turns)
}
