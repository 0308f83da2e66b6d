//! Loads before the stores on which they do not depend.
//!
//! A thread that updates the fields of a record one after the other loads each behind the store of another one. Whole
//! rows of lanes that are loaded there wait until the narrow stores before them have left the processor's store buffer.

use ptx_isa::Kind;
use ptx_isa::effect::{Effect, Mem, Order};

use crate::ir::{Func, Op, Val};

/// Most stores that a load passes: what is loaded early takes registers.
const MOST_PASSED: usize = 8;

/// Instructions that are looked at before a load: stores further back have left the store buffer, and what a block takes
/// grows as its length.
const MOST_LOOKED_AT: usize = 256;

/// What becomes of an instruction.
enum Way {
    Stays,
    /// It goes to this place of its block.
    Before(usize),
    /// It loads what was just stored.
    Stored(Val),
}

/// Moves loads before stores of the same block that write other bytes behind the same address, and takes out loads of
/// what was just stored: which value each value has become.
pub(crate) fn early_loads(f: &mut Func) -> Vec<Val> {
    let mut map: Vec<Val> = (0..f.insts.len() as Val).collect();
    for b in 0..f.blocks.len() {
        let mut n = 0;
        while let Some(&v) = f.blocks[b].insts.get(n) {
            match way(f, &f.blocks[b].insts[..n], v) {
                Way::Stays => n += 1,
                Way::Before(place) => {
                    f.blocks[b].insts[place..=n].rotate_right(1);
                    n += 1;
                }
                Way::Stored(value) => {
                    if let Op::Effect(e) = f.insts[v as usize].op {
                        map[f.effects[e as usize].dst[0] as usize] = value;
                    }
                    f.blocks[b].insts.remove(n);
                }
            }
        }
    }
    map
}

/// Where instruction `v` goes, which is behind those of `before`.
fn way(f: &Func, before: &[Val], v: Val) -> Way {
    let Op::Effect(e) = f.insts[v as usize].op else { return Way::Stays };
    let load = &f.effects[e as usize];
    let Effect::Ld(m) = &load.effect else { return Way::Stays };
    if m.order != Order::Weak || load.guard.is_some() {
        return Way::Stays;
    }
    let base = load.src[0];
    let (mut way, mut passed) = (Way::Stays, 0);
    for (place, w) in before.iter().enumerate().rev().take(MOST_LOOKED_AT) {
        let e = match f.insts[*w as usize].op {
            Op::Effect(e) => &f.effects[e as usize],
            Op::Phi => break,
            _ if *w == base => break,
            _ => continue,
        };
        match &e.effect {
            Effect::Ld(other) if other.order == Order::Weak && !e.dst.contains(&base) => {}
            Effect::St(other)
                if other.order == Order::Weak
                    && other.place.space == m.place.space
                    && e.src[0] == base =>
            {
                if apart(other, m) && passed < MOST_PASSED {
                    way = Way::Before(place);
                    passed += 1;
                    continue;
                }
                let kind = |v: Val| f.insts[v as usize].kind;
                let whole = match kind(load.dst[0]) {
                    Kind::W => m.bytes == 4,
                    Kind::D => m.bytes == 8,
                    Kind::P => false,
                };
                let same = (other.place.offset, other.bytes, other.count)
                    == (m.place.offset, m.bytes, 1)
                    && m.count == 1
                    && kind(e.src[1]) == kind(load.dst[0]);
                if whole && same && e.guard.is_none() {
                    return Way::Stored(e.src[1]);
                }
                break;
            }
            _ => break,
        }
    }
    way
}

/// Whether two accesses behind the same address have no byte in common, also where addresses wrap at 32 bits.
fn apart(a: &Mem, b: &Mem) -> bool {
    let bytes = |m: &Mem| i64::from(m.bytes) * i64::from(m.count);
    let distance = b.place.offset.saturating_sub(a.place.offset);
    let near = distance.unsigned_abs() < 1 << 30;
    near && (distance >= bytes(a) || -distance >= bytes(b))
}
