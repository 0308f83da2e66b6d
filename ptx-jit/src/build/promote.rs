//! Turns cells of local memory that are only read and written whole, at constant addresses, into variables.
//!
//! Where 64 bits are also two words of 32 (a union of the two), the words are the cells.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ptx_isa::Kind;
use ptx_isa::effect::Effect;
use ptx_isa::uop::Op as Pure;

use super::address;
use super::raw::{Item, Operand, Raw, RawInst};

/// An access at a constant address inside the frame.
struct Access {
    at: u32,
    /// Of an element.
    bytes: u32,
    count: u32,
    /// Whether every element has the kind of its cell.
    plain: bool,
}

impl Access {
    /// The access that an instruction is. One that faults is none.
    fn of(raw: &Raw, inst: &RawInst) -> Option<Access> {
        let Item::Effect { effect, src, dst, .. } = &inst.item else { return None };
        let (Effect::Ld(m) | Effect::St(m)) = effect else { return None };
        let at = address::constant(effect, src.first()?)?;
        let (bytes, count) = (u32::from(m.bytes), u32::from(m.count));
        let touched = i64::from(bytes * count);
        if at < 0 || at % touched != 0 || at > i64::from(raw.frame) - touched {
            return None;
        }
        let kind = if m.bytes == 4 { Kind::W } else { Kind::D };
        let plain = matches!(m.bytes, 4 | 8)
            && dst.iter().all(|d| raw.kind(d.0) == kind)
            && src[1..].iter().all(|o| match o {
                Operand::Var(x) => raw.kind(*x) == kind,
                Operand::Leaf(k, _) => *k == kind,
                Operand::Frame(..) => false,
            });
        Some(Access { at: at as u32, bytes, count, plain })
    }

    /// Where its elements are.
    fn elements(&self) -> impl Iterator<Item = u32> + Clone {
        let (at, bytes) = (self.at, self.bytes);
        (0..self.count).map(move |n| at + n * bytes)
    }

    /// The cells that it is made of, where those in `split` are words: where each is, and its bytes.
    fn cells(&self, split: &BTreeSet<u32>) -> impl Iterator<Item = (u32, u32)> + Clone {
        let words = self.bytes == 8 && split.contains(&self.at);
        let (at, bytes) = (self.at, if words { 4 } else { self.bytes });
        (0..self.count * self.bytes / bytes).map(move |n| (at + n * bytes, bytes))
    }
}

/// Where accesses of 64 bits begin that read or write what others do in words, and all accesses of 64 bits that have
/// one of those in them.
fn split(accesses: &[Access]) -> BTreeSet<u32> {
    let of = |bytes: u32| accesses.iter().filter(move |a| a.plain && a.bytes == bytes);
    let mut words: BTreeSet<u32> = of(4).flat_map(Access::elements).collect();
    let mut out = BTreeSet::new();
    loop {
        let before = words.len();
        for a in of(8) {
            if words.range(a.at..a.at + 8 * a.count).next().is_some() {
                out.insert(a.at);
                words.extend((0..2 * a.count).map(|n| a.at + 4 * n));
            }
        }
        if words.len() == before {
            return out;
        }
    }
}

/// Promotes the cells of a kernel; `taken`: ranges whose address is taken.
pub(super) fn promote(raw: &mut Raw, taken: &[(u32, u32)]) {
    if address::any_reached(raw) {
        return;
    }
    let insts = raw.blocks.iter().flat_map(|b| &b.insts);
    let accesses: Vec<Access> = insts.filter_map(|inst| Access::of(raw, inst)).collect();
    let split = split(&accesses);
    let vars: HashMap<u32, u32> = cells(&accesses, &split, taken)
        .into_iter()
        .map(|(at, bytes)| {
            raw.kinds.push(if bytes == 4 { Kind::W } else { Kind::D });
            (at, raw.kinds.len() as u32 - 1)
        })
        .collect();
    for b in 0..raw.blocks.len() {
        let insts = std::mem::take(&mut raw.blocks[b].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            let all = Access::of(raw, &inst)
                .and_then(|a| a.cells(&split).map(|(at, _)| vars.get(&at).copied()).collect());
            match all {
                Some(all) => moves(raw, &inst, all, &mut out),
                None => out.push(inst),
            }
        }
        raw.blocks[b].insts = out;
    }
}

/// Cells that become variables: offset and bytes.
fn cells(accesses: &[Access], split: &BTreeSet<u32>, taken: &[(u32, u32)]) -> BTreeMap<u32, u32> {
    // 0 bytes where accesses disagree.
    let mut cells: BTreeMap<u32, u32> = BTreeMap::new();
    for a in accesses {
        for (at, bytes) in a.cells(split) {
            let cell = cells.entry(at).or_insert(bytes);
            if *cell != bytes || !a.plain {
                *cell = 0;
            }
        }
    }
    loop {
        let before = cells.len();
        let is_taken = |at: u32| taken.iter().any(|(s, e)| at + 16 > *s && at < *e);
        cells.retain(|at, bytes| {
            *bytes != 0
                && !is_taken(*at)
                && !accesses.iter().any(|a| {
                    // An access that touches the cell without being made of whole cells.
                    let touches = a.at < *at + *bytes && *at < a.at + a.bytes * a.count;
                    touches && !a.cells(split).any(|cell| cell == (*at, *bytes))
                })
        });
        // An access becomes moves as a whole or not at all.
        let all: Vec<u32> = cells.keys().copied().collect();
        for a in accesses {
            if !a.cells(split).all(|(at, _)| all.binary_search(&at).is_ok()) {
                a.cells(split).for_each(|(at, _)| {
                    cells.remove(&at);
                });
            }
        }
        if cells.len() == before {
            return cells;
        }
    }
}

/// An access as moves from or to the variables of its cells.
fn moves(raw: &Raw, inst: &RawInst, vars: Vec<u32>, out: &mut Vec<RawInst>) {
    let Item::Effect { effect, src, dst, .. } = &inst.item else { return };
    let long = matches!(effect, Effect::Ld(m) | Effect::St(m) if m.bytes == 8);
    let mut push = |op: Pure, dst: u32, args: Vec<Operand>, keep: bool| {
        let item = Item::Pure { op, k: 0, dst, args, keep };
        out.push(RawInst { item, guard: inst.guard, at: inst.at });
    };
    if long && raw.kind(vars[0]) == Kind::W {
        for (n, words) in vars.chunks(2).enumerate() {
            match dst.get(n) {
                Some((dst, keep)) => {
                    let args = words.iter().map(|v| Operand::Var(*v)).collect();
                    push(Pure::PackWD, *dst, args, *keep);
                }
                None => {
                    push(Pure::TruncDW, words[0], vec![src[n + 1]], true);
                    push(Pure::HighDW, words[1], vec![src[n + 1]], true);
                }
            }
        }
        return;
    }
    for (n, v) in vars.into_iter().enumerate() {
        let op = if raw.kind(v) == Kind::W { Pure::MovW } else { Pure::MovD };
        match dst.get(n) {
            Some((dst, keep)) => push(op, *dst, vec![Operand::Var(v)], *keep),
            None => push(op, v, vec![src[n + 1]], true),
        }
    }
}
