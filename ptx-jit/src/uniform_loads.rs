//! Loads of one value for all lanes before what does not depend on them, where 64-bit values are many.
//!
//! Each load has a check, so that code between two loads is short. Where registers hold one half of the block's 64-bit
//! values only, the way from one load to the next would take both halves through memory each time. With the loads in
//! front, what is between is one long run, whose halves follow each other (`x86/halves`). SHA-512 loads a constant a
//! round.

use std::collections::HashMap;

use ptx_isa::effect::{Effect, Order};

use crate::divergence::Divergence;
use crate::ir::{BasicBlock, Func, Op, Val};
use crate::pressure::{MOST_VECTORS_OF_LONGS, pressure_of_longs};

/// Most loads that are put in front: each takes a scalar register, or a word of the stack.
const MOST_LOADS: usize = 64;

/// Orders the blocks whose 64-bit values are many.
pub(crate) fn uniform_loads_first(f: &mut Func, divergence: &Divergence) {
    let several = |block: &BasicBlock| {
        block.insts.iter().filter(|v| uniform_load(f, divergence, **v)).nth(1).is_some()
    };
    let blocks: Vec<usize> = (0..f.blocks.len()).filter(|b| several(&f.blocks[*b])).collect();
    if blocks.is_empty() {
        return;
    }
    let live = pressure_of_longs(f, divergence);
    for b in blocks {
        if live[b] as usize <= MOST_VECTORS_OF_LONGS {
            continue;
        }
        let insts = std::mem::take(&mut f.blocks[b].insts);
        let mut sorted = Vec::with_capacity(insts.len());
        for part in insts.split_inclusive(|v| effect(f, *v) && !uniform_load(f, divergence, *v)) {
            order(f, divergence, part, &mut sorted);
        }
        f.blocks[b].insts = sorted;
    }
}

fn effect(f: &Func, v: Val) -> bool {
    matches!(f.insts[v as usize].op, Op::Effect(_))
}

/// Whether `v` loads what is one value for all lanes, and nothing else can tell when.
fn uniform_load(f: &Func, divergence: &Divergence, v: Val) -> bool {
    let Op::Effect(e) = f.insts[v as usize].op else { return false };
    let info = &f.effects[e as usize];
    let Effect::Ld(m) = &info.effect else { return false };
    let uniform = |v: Val| divergence.of[v as usize].uniform();
    m.order == Order::Weak && info.guard.is_none() && info.src.iter().all(|v| uniform(*v))
}

/// Appends the instructions of `part`, its loads and what they depend on first; its last one may be another effect.
fn order(f: &Func, divergence: &Divergence, part: &[Val], out: &mut Vec<Val>) {
    let loads = part.iter().filter(|v| uniform_load(f, divergence, **v)).count();
    if !(2..=MOST_LOADS).contains(&loads) {
        out.extend(part);
        return;
    }
    let mut place: HashMap<Val, usize> = HashMap::new();
    for (n, v) in part.iter().enumerate() {
        place.insert(*v, n);
        if let Op::Effect(e) = f.insts[*v as usize].op {
            place.extend(f.effects[e as usize].dst.iter().map(|d| (*d, n)));
        }
    }
    let mut first = vec![false; part.len()];
    for (n, v) in part.iter().enumerate().rev() {
        let i = &f.insts[*v as usize];
        first[n] |= matches!(i.op, Op::Phi) || uniform_load(f, divergence, *v);
        if !first[n] || matches!(i.op, Op::Phi) {
            continue;
        }
        let read = match i.op {
            Op::Effect(e) => &f.effects[e as usize].src,
            _ => &i.args,
        };
        for m in read.iter().filter_map(|v| place.get(v)) {
            first[*m] = true;
        }
    }
    let of = |wanted: bool| {
        let first = &first;
        part.iter().enumerate().filter(move |(n, _)| first[*n] == wanted).map(|(_, v)| *v)
    };
    out.extend(of(true).chain(of(false)));
}
