//! Vectors of two or four words per thread that stay interleaved in registers as they are in memory.
//!
//! A load of such vectors is turned, so that there is a register vector of each element, and a store turned back. Where
//! all elements only take part in the same operations, with values that all threads share, lane by lane, neither is
//! needed: which word stands in which lane makes no difference to them.

use std::collections::{HashMap, HashSet};

use ptx_isa::Kind;
use ptx_isa::effect::{Effect, Mem, Order};

use crate::access::which::{own, quick};
use crate::divergence::Divergence;
use crate::ir::{Func, Op, Val};
use crate::variance::Variance;

/// An operand of all elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operand {
    /// The elements of a tuple, each for its own.
    Tuple(usize),
    Shared(Val),
}

/// Values of the same operation, one for each element; those of a load are complete at once.
struct Tuple {
    elements: Vec<Option<Val>>,
    /// The tuples that they are made of.
    of: Vec<usize>,
    /// The load that they come from.
    load: Option<u32>,
    /// The stores that take them.
    stores: Vec<u32>,
    kept: bool,
}

impl Tuple {
    fn new(count: usize) -> Tuple {
        let elements = vec![None; count];
        Tuple { elements, of: Vec::new(), load: None, stores: Vec::new(), kept: true }
    }
}

/// Whether the vectors of effect `e` lie side by side, of lanes that are all on: then their values.
fn side_by_side<'f>(f: &'f Func, divergence: &Divergence, e: u32) -> Option<(Mem, &'f [Val])> {
    let info = &f.effects[e as usize];
    let (m, values) = match &info.effect {
        Effect::Ld(m) => (*m, &info.dst[..]),
        Effect::St(m) => (*m, info.src.get(1..)?),
        _ => return None,
    };
    let word = |v: &Val| {
        f.insts[*v as usize].kind == Kind::W && divergence.of[*v as usize] == Variance::Varying
    };
    let plain = m.order == Order::Weak && m.bytes == 4 && quick(&m) && !own(&m);
    let whole = matches!(m.count, 2 | 4) && values.len() == usize::from(m.count);
    let base = *info.src.first()?;
    let Variance::Linear(o) = &divergence.of[base as usize] else { return None };
    // Sums of 32 bits may wrap, so that each lane's is computed.
    let wide = f.insts[base as usize].kind == Kind::D;
    let bytes = 4 * i64::from(m.count);
    let apart = o.len() > 1 && o.windows(2).all(|w| w[1] - w[0] == bytes);
    let near = o.iter().all(|o| i32::try_from(*o).is_ok());
    (plain && whole && wide && apart && near && info.guard.is_none() && values.iter().all(word))
        .then_some((m, values))
}

/// Loads and stores whose vectors stay interleaved where all lanes are on.
pub(crate) fn interleaved(
    f: &Func,
    divergence: &Divergence,
    together: impl Fn(u32) -> bool,
) -> HashSet<u32> {
    let mut tuples: Vec<Tuple> = Vec::new();
    // The tuple of each value, and its place there.
    let mut places: HashMap<Val, (usize, usize)> = HashMap::new();
    // Values that something else reads.
    let mut readers: Vec<Val> = Vec::new();
    for block in &f.blocks {
        // Values of other blocks are read by variables, whose lanes somebody may count on.
        let mut open: HashMap<(Op, Vec<Operand>), usize> = HashMap::new();
        let first = tuples.len();
        for &v in &block.insts {
            let i = &f.insts[v as usize];
            let here = |a: &Val| places.get(a).copied().filter(|(t, _)| *t >= first);
            if let Op::Effect(e) = i.op {
                let taken = side_by_side(f, divergence, e).filter(|_| !together(e));
                let store = matches!(f.effects[e as usize].effect, Effect::St(_));
                match taken {
                    Some((_, values)) if store => {
                        let tuple = here(&values[0]).map(|(t, _)| t);
                        let in_turn = |t: usize| {
                            let all = &tuples[t].elements;
                            all.len() == values.len()
                                && all.iter().zip(values).all(|(x, v)| *x == Some(*v))
                        };
                        match tuple.filter(|t| in_turn(*t)) {
                            Some(t) => tuples[t].stores.push(e),
                            None => readers.extend(values),
                        }
                        readers.push(f.effects[e as usize].src[0]);
                    }
                    Some((m, values)) => {
                        let mut tuple = Tuple::new(m.count.into());
                        tuple.load = Some(e);
                        for (n, v) in values.iter().enumerate() {
                            tuple.elements[n] = Some(*v);
                            places.insert(*v, (tuples.len(), n));
                        }
                        tuples.push(tuple);
                        readers.extend(f.reads(v));
                    }
                    None => readers.extend(f.reads(v)),
                }
                continue;
            }
            let mut operands = Vec::new();
            let mut place = None;
            let lane_by_lane = match i.op {
                Op::Pure(op, k) => f.has_code(op, k),
                Op::Canon => true,
                _ => false,
            };
            let varies = divergence.of[v as usize] == Variance::Varying;
            let mut fits = lane_by_lane && varies && i.kind == Kind::W;
            let alike = |t: usize, u: usize| tuples[t].elements.len() == tuples[u].elements.len();
            for a in &i.args {
                let word = f.insts[*a as usize].kind == Kind::W;
                match here(a) {
                    Some((t, n)) if place.is_none_or(|(u, p)| p == n && alike(u, t)) => {
                        place = Some((t, n));
                        operands.push(Operand::Tuple(t));
                    }
                    None if word && divergence.of[*a as usize].uniform() => {
                        operands.push(Operand::Shared(*a));
                    }
                    _ => fits = false,
                }
            }
            let Some((of, n)) = place.filter(|_| fits) else {
                readers.extend(f.reads(v));
                continue;
            };
            let key = (i.op, operands);
            let count = tuples[of].elements.len();
            let known = open.get(&key).copied();
            let t = known.filter(|t| tuples[*t].elements[n].is_none()).unwrap_or_else(|| {
                let mut tuple = Tuple::new(count);
                let made_of = key.1.iter().filter_map(|o| match o {
                    Operand::Tuple(t) => Some(*t),
                    Operand::Shared(_) => None,
                });
                tuple.of = made_of.collect();
                tuples.push(tuple);
                open.insert(key.clone(), tuples.len() - 1);
                tuples.len() - 1
            });
            tuples[t].elements[n] = Some(v);
            places.insert(v, (t, n));
        }
        readers.extend(block.term.value());
    }
    // Who reads a tuple must be one that is kept, and the other way round.
    for tuple in &mut tuples {
        tuple.kept = tuple.elements.iter().all(Option::is_some);
    }
    for v in readers {
        if let Some((t, _)) = places.get(&v) {
            tuples[*t].kept = false;
        }
    }
    loop {
        let mut lost = Vec::new();
        for (n, tuple) in tuples.iter().enumerate() {
            if tuple.of.iter().any(|t| tuple.kept != tuples[*t].kept) {
                lost.push(n);
                lost.extend(&tuple.of);
            }
        }
        if lost.is_empty() {
            break;
        }
        lost.into_iter().for_each(|n| tuples[n].kept = false);
    }
    let kept = tuples.iter().filter(|t| t.kept);
    kept.flat_map(|t| t.load.iter().chain(&t.stores).copied()).collect()
}
