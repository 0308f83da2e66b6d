//! Operations by what they compute.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::ir::{Func, Val};

/// The operations that are known where the pass is: numbers of values in open addressing, as operations are long.
/// Those that came last are forgotten first, so that no others have been placed behind them.
pub(super) struct Known {
    /// A power of two of them, at most half of them taken; [`FREE`] in others. The value, and bits of its operation's
    /// hash: most others are told from it without a look at them.
    slots: Vec<(u32, u32)>,
    /// Slots that are taken, in the order in which they were.
    added: Vec<u32>,
}

/// Stands for no value.
const FREE: (u32, u32) = (u32::MAX, 0);

impl Known {
    /// With room for so many.
    pub(super) fn new(count: usize) -> Known {
        let slots = vec![FREE; (2 * count).next_power_of_two().max(64)];
        Known { slots, added: Vec::with_capacity(count) }
    }

    /// Where the operation of a value is, or the slot for it, and the bits of its hash.
    fn slot(&self, f: &Func, v: Val) -> (usize, u32) {
        let own = &f.values[v.0 as usize];
        let mut hasher = FxHasher::default();
        (own.op, own.ty).hash(&mut hasher);
        let hash = hasher.finish();
        let mask = self.slots.len() - 1;
        let (mut at, tag) = (hash as usize & mask, (hash >> 32) as u32);
        loop {
            let slot = self.slots[at];
            if slot == FREE {
                return (at, tag);
            }
            if slot.1 == tag {
                let other = &f.values[slot.0 as usize];
                if other.op == own.op && other.ty == own.ty {
                    return (at, tag);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// The value that has the operation of `v` already; else `v` has it from now on.
    pub(super) fn find_or_add(&mut self, f: &Func, v: Val) -> Option<Val> {
        let (slot, tag) = self.slot(f, v);
        if self.slots[slot] != FREE {
            return Some(Val(self.slots[slot].0));
        }
        self.slots[slot] = (v.0, tag);
        self.added.push(slot as u32);
        if 2 * self.added.len() > self.slots.len() {
            self.grow(f);
        }
        None
    }

    fn grow(&mut self, f: &Func) {
        let values: Vec<u32> = self.added.iter().map(|at| self.slots[*at as usize].0).collect();
        self.slots = vec![FREE; 2 * self.slots.len()];
        for (i, v) in values.into_iter().enumerate() {
            let (slot, tag) = self.slot(f, Val(v));
            self.slots[slot] = (v, tag);
            self.added[i] = slot as u32;
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.added.len()
    }

    /// Forgets all but the first ones.
    pub(super) fn truncate(&mut self, count: usize) {
        for at in self.added.drain(count..) {
            self.slots[at as usize] = FREE;
        }
    }
}
