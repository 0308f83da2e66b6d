//! What variables are at the ends of blocks: a table that is asked for neighbours one after the other.

use crate::ir::{BlockId, Val};

/// Values by variable and block, in open addressing. Blocks define variables in rows, such as the words of an array:
/// variables with neighbouring numbers have neighbouring places.
pub(super) struct Definitions {
    /// A power of two of them, at most half of them taken.
    slots: Vec<Slot>,
    taken: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    var: u32,
    block: u32,
    value: Val,
}

/// A slot that is not taken: there is no such variable.
const FREE: Slot = Slot { var: u32::MAX, block: 0, value: Val(0) };

/// Bits of a variable's number that are its place in a row.
const ROW: u32 = 3;

/// An odd number whose products are well mixed in their upper bits (Fibonacci hashing).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Definitions {
    /// With room for so many.
    pub(super) fn new(count: usize) -> Definitions {
        let slots = vec![FREE; (2 * count).next_power_of_two().max(64)];
        Definitions { slots, taken: 0 }
    }

    /// Where the entry of a variable and a block is, or the slot for it.
    fn slot(&self, var: u32, block: u32) -> usize {
        let mask = self.slots.len() - 1;
        let row = (u64::from(block) << 32 | u64::from(var >> ROW)).wrapping_mul(MIX);
        let rows = self.slots.len().trailing_zeros() - ROW;
        let first = (row >> (64 - rows)) << ROW | u64::from(var & ((1 << ROW) - 1));
        let mut at = first as usize;
        loop {
            let slot = &self.slots[at];
            if slot.var == FREE.var || slot.var == var && slot.block == block {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    pub(super) fn get(&self, var: u32, block: BlockId) -> Option<Val> {
        let slot = self.slots[self.slot(var, block.0)];
        (slot.var != FREE.var).then_some(slot.value)
    }

    pub(super) fn insert(&mut self, var: u32, block: BlockId, value: Val) {
        let at = self.slot(var, block.0);
        self.taken += usize::from(self.slots[at].var == FREE.var);
        self.slots[at] = Slot { var, block: block.0, value };
        if 2 * self.taken > self.slots.len() {
            let larger = vec![FREE; 2 * self.slots.len()];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.var != FREE.var {
                    let at = self.slot(slot.var, slot.block);
                    self.slots[at] = slot;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_again_while_the_table_grows() {
        let mut all = Definitions::new(0);
        for n in 0..5000u32 {
            let (var, block) = (n * n % 613, BlockId(n / 7));
            all.insert(var, block, Val(n));
            assert_eq!(all.get(var, block), Some(Val(n)), "{n}");
        }
        let last: std::collections::BTreeMap<_, _> =
            (0..5000u32).map(|n| ((n * n % 613, n / 7), n)).collect();
        for var in 0..700 {
            for block in 0..720 {
                let wanted = last.get(&(var, block)).map(|n| Val(*n));
                assert_eq!(all.get(var, BlockId(block)), wanted, "{var} {block}");
            }
        }
    }
}
