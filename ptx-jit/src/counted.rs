//! Loops of one block that count: accesses that move by the same step each turn are checked once, before the first
//! turn.
//!
//! Such a loop has a second version without those checks, which is entered when both ends of every access lie in the
//! allocation that its site knows. Otherwise the first version runs, checks each access and learns the allocation.

use ptx_isa::effect::{Effect, Mem};
use ptx_isa::uop::Op as Pure;

use crate::access::which::{own, quick};
use crate::divergence::Divergence;
use crate::ir::{BlockId, Func, Op, Term, Val};
use crate::variance::Variance;

/// Most instructions of a loop that gets a second version.
const MOST: usize = 200;

/// How a loop ends.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Until {
    /// Goes on while the counter, after its step, is less than the end.
    Less { signed: bool, or_equal: bool },
    /// Goes on while it is not the end; the step is 1 or -1.
    Equal,
}

/// A loop that counts.
pub(crate) struct Counted {
    pub(crate) counter: Val,
    pub(crate) step: i64,
    pub(crate) end: Val,
    pub(crate) until: Until,
    pub(crate) accesses: Vec<Moving>,
}

/// An access whose address grows by the same step each turn.
pub(crate) struct Moving {
    pub(crate) effect: u32,
    pub(crate) mem: Mem,
    /// The address before the first turn: a phi's, or a value that does not change.
    pub(crate) from: Val,
    /// What is added to the phi.
    pub(crate) plus: Option<Val>,
    pub(crate) step: Option<Val>,
}

/// The counted loop that `b` is.
pub(crate) fn counted(f: &Func, divergence: &Divergence, b: BlockId) -> Option<Counted> {
    let block = &f.blocks[b as usize];
    let Term::Br(v, neg, yes, no) = block.term else { return None };
    if (yes == b) == (no == b) || block.preds.len() != 2 || block.insts.len() > MOST {
        return None;
    }
    let stays = (yes == b) != neg;
    let inside = |v: Val| {
        let made = |i: &Val| {
            *i == v
                || matches!(f.insts[*i as usize].op, Op::Effect(e) if f.effects[e as usize].dst.contains(&v))
        };
        block.insts.iter().any(made)
    };
    let back = block.preds.iter().position(|p| *p == b)?;
    // The value that a phi has in the next turn.
    let next = |phi: Val| {
        let i = &f.insts[phi as usize];
        (i.op == Op::Phi && inside(phi)).then(|| i.args[back])
    };
    let uniform = |v: Val| divergence.of[v as usize].uniform();
    let phis = || block.insts.iter().copied().filter(|v| f.insts[*v as usize].op == Op::Phi);
    let Op::Pure(cmp, _) = f.insts[v as usize].op else { return None };
    let [x, y] = f.insts[v as usize].args[..] else { return None };
    let (sum, end, until) = match (cmp, stays) {
        (Pure::LtSW, true) => (x, y, Until::Less { signed: true, or_equal: false }),
        (Pure::LeSW, true) => (x, y, Until::Less { signed: true, or_equal: true }),
        (Pure::LtUW, true) => (x, y, Until::Less { signed: false, or_equal: false }),
        (Pure::LeUW, true) => (x, y, Until::Less { signed: false, or_equal: true }),
        (Pure::LeSW, false) => (y, x, Until::Less { signed: true, or_equal: false }),
        (Pure::LtSW, false) => (y, x, Until::Less { signed: true, or_equal: true }),
        (Pure::LeUW, false) => (y, x, Until::Less { signed: false, or_equal: false }),
        (Pure::LtUW, false) => (y, x, Until::Less { signed: false, or_equal: true }),
        (Pure::NeW, true) | (Pure::EqW, false) if inside(x) => (x, y, Until::Equal),
        (Pure::NeW, true) | (Pure::EqW, false) => (y, x, Until::Equal),
        _ => return None,
    };
    let counter = phis().find(|p| next(*p) == Some(sum))?;
    let step = {
        let i = &f.insts[sum as usize];
        let other = match (&i.op, &i.args[..]) {
            (Op::Pure(Pure::AddW, _), [a, c]) if *a == counter => *c,
            (Op::Pure(Pure::AddW, _), [c, a]) if *a == counter => *c,
            _ => return None,
        };
        i64::from(f.as_const(other)? as u32 as i32)
    };
    let steps = match until {
        Until::Less { .. } => step > 0 && step & (step - 1) == 0,
        Until::Equal => step.abs() == 1,
    };
    if !steps || inside(end) || !uniform(end) || !uniform(counter) || !uniform(v) {
        return None;
    }
    let moving = |e: u32| {
        let info = &f.effects[e as usize];
        let (mem, store) = match info.effect {
            Effect::Ld(m) => (m, false),
            Effect::St(m) => (m, true),
            _ => return None,
        };
        let base = *info.src.first()?;
        let Variance::Linear(o) = &divergence.of[base as usize] else { return None };
        let one = o.iter().all(|o| *o == 0);
        let kind = f.insts[base as usize].kind;
        if info.guard.is_some()
            || !quick(&mem)
            || own(&mem)
            || kind != ptx_isa::Kind::D
            || (store && one && o.len() > 1)
        {
            return None;
        }
        if !inside(base) {
            return Some(Moving { effect: e, mem, from: base, plus: None, step: None });
        }
        let (phi, plus) = match (&f.insts[base as usize].op, &f.insts[base as usize].args[..]) {
            (Op::Phi, _) => (base, None),
            (Op::Pure(Pure::AddD, _), [a, c]) if next(*a).is_some() && !inside(*c) => {
                (*a, Some(*c))
            }
            (Op::Pure(Pure::AddD, _), [c, a]) if next(*a).is_some() && !inside(*c) => {
                (*a, Some(*c))
            }
            _ => return None,
        };
        let linear = |v: Val| matches!(divergence.of[v as usize], Variance::Linear(_));
        let sum = &f.insts[next(phi)? as usize];
        let step = match (&sum.op, &sum.args[..]) {
            (Op::Pure(Pure::AddD, _), [a, s]) if *a == phi => *s,
            (Op::Pure(Pure::AddD, _), [s, a]) if *a == phi => *s,
            _ => return None,
        };
        let total = u64::from(mem.bytes) * u64::from(mem.count);
        let fits = f
            .as_const(step)
            .is_none_or(|c| i32::try_from(c as i64).is_ok() && c.is_multiple_of(total));
        let known = uniform(step) && !inside(step) && linear(phi) && plus.is_none_or(linear);
        (fits && known).then_some(Moving { effect: e, mem, from: phi, plus, step: Some(step) })
    };
    let effects = block.insts.iter().filter_map(|v| match f.insts[*v as usize].op {
        Op::Effect(e) => Some(e),
        _ => None,
    });
    let accesses: Vec<Moving> = effects.filter_map(moving).collect();
    (!accesses.is_empty()).then_some(Counted { counter, step, end, until, accesses })
}
