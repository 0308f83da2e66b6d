//! Turns cells of local memory that are only read and written whole, at constant addresses, into variables.

use std::collections::{BTreeMap, HashMap};

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
}

/// Promotes the cells of a kernel; `taken`: ranges whose address is taken.
pub(super) fn promote(raw: &mut Raw, taken: &[(u32, u32)]) {
    if address::any_reached(raw) {
        return;
    }
    let insts = raw.blocks.iter().flat_map(|b| &b.insts);
    let accesses: Vec<Access> = insts.filter_map(|inst| Access::of(raw, inst)).collect();
    let vars: HashMap<u32, u32> = cells(&accesses, taken)
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
                .and_then(|a| a.elements().map(|at| vars.get(&at).copied()).collect());
            match all {
                Some(all) => moves(raw, &inst, all, &mut out),
                None => out.push(inst),
            }
        }
        raw.blocks[b].insts = out;
    }
}

/// Cells that become variables: offset and bytes.
fn cells(accesses: &[Access], taken: &[(u32, u32)]) -> BTreeMap<u32, u32> {
    // 0 bytes where accesses disagree.
    let mut cells: BTreeMap<u32, u32> = BTreeMap::new();
    for a in accesses {
        for at in a.elements() {
            let cell = cells.entry(at).or_insert(a.bytes);
            if *cell != a.bytes || !a.plain {
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
                    let whole = a.bytes == *bytes && at.wrapping_sub(a.at).is_multiple_of(a.bytes);
                    touches && !whole
                })
        });
        // An access becomes moves as a whole or not at all.
        let all: Vec<u32> = cells.keys().copied().collect();
        for a in accesses {
            if !a.elements().all(|at| all.binary_search(&at).is_ok()) {
                a.elements().for_each(|at| {
                    cells.remove(&at);
                });
            }
        }
        if cells.len() == before {
            return cells;
        }
    }
}

/// An access as moves from or to the variables of its elements.
fn moves(raw: &Raw, inst: &RawInst, vars: Vec<u32>, out: &mut Vec<RawInst>) {
    let Item::Effect { src, dst, .. } = &inst.item else { return };
    for (n, v) in vars.into_iter().enumerate() {
        let op = if raw.kind(v) == Kind::W { Pure::MovW } else { Pure::MovD };
        let (dst, args, keep) = match dst.get(n) {
            Some((dst, keep)) => (*dst, vec![Operand::Var(v)], *keep),
            None => (v, vec![src[n + 1]], true),
        };
        let item = Item::Pure { op, k: 0, dst, args, keep };
        out.push(RawInst { item, guard: inst.guard, at: inst.at });
    }
}
