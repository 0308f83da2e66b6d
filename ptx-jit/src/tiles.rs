//! Loads from shared memory behind one address: they are checked together, at the first of them.
//!
//! Shared memory is one allocation, of a size that a launch has from its start. So where all lanes are on and a block
//! has several loads at constant distances, the outermost ones say whether all of them lie inside: if not, one of them
//! is a fault. Tiles that a loop goes through are read so.

use std::collections::HashMap;
use std::rc::Rc;

use ptx_isa::effect::{Effect, Mem, Order};
use ptx_isa::{Kind, Space};

use crate::access::which::quick;
use crate::divergence::Divergence;
use crate::ir::{Func, Op, Val};
use crate::options::Watched;
use crate::variance::Variance;

/// Loads of one block behind one address, all of as many bytes.
pub(crate) struct Tile {
    /// In their order.
    pub(crate) effects: Vec<u32>,
    /// From the address to the lowest.
    pub(crate) first: i64,
    /// Bytes from there to the end of the highest.
    pub(crate) span: u64,
}

/// What the loads of a tile have in common: the address, the bytes of each, and where in a unit of so many they begin.
type Key = (Val, i64, i64);

/// The address of a load that can be part of a tile.
fn load(f: &Func, divergence: &Divergence, e: u32) -> Option<(Val, Mem)> {
    let info = &f.effects[e as usize];
    let Effect::Ld(m) = info.effect else { return None };
    let base = *info.src.first()?;
    let Variance::Linear(o) = &divergence.of[base as usize] else { return None };
    let total = i64::from(m.bytes) * i64::from(m.count);
    let even = o.iter().all(|x| (x - o[0]) % total == 0);
    let near = i32::try_from(m.place.offset).is_ok();
    let plain = m.place.space == Space::Shared && m.order == Order::Weak && quick(&m);
    let wide = f.insts[base as usize].kind == Kind::D;
    (plain && even && near && wide && info.guard.is_none()).then_some((base, m))
}

/// The tile of each load that is part of one. Where a watcher is asked there is none: it is told of each load, or each
/// must stay in its variable.
pub(crate) fn tiles(f: &Func, divergence: &Divergence) -> HashMap<u32, Rc<Tile>> {
    let mut out = HashMap::new();
    if f.watched != Watched::Nothing {
        return out;
    }
    for block in &f.blocks {
        let mut open: Vec<(Key, Vec<(u32, i64)>)> = Vec::new();
        for v in &block.insts {
            let Op::Effect(e) = f.insts[*v as usize].op else { continue };
            let Some((base, m)) = load(f, divergence, e) else { continue };
            let total = i64::from(m.bytes) * i64::from(m.count);
            let key = (base, total, m.place.offset.rem_euclid(total));
            match open.iter_mut().find(|(k, _)| *k == key) {
                Some((_, loads)) => loads.push((e, m.place.offset)),
                None => open.push((key, vec![(e, m.place.offset)])),
            }
        }
        for ((_, total, _), loads) in open {
            let (Some(first), Some(last)) =
                (loads.iter().map(|l| l.1).min(), loads.iter().map(|l| l.1).max())
            else {
                continue;
            };
            if loads.len() < 2 {
                continue;
            }
            let effects: Vec<u32> = loads.iter().map(|l| l.0).collect();
            let tile = Rc::new(Tile { effects, first, span: (last - first + total) as u64 });
            out.extend(tile.effects.iter().map(|e| (*e, tile.clone())));
        }
    }
    out
}
