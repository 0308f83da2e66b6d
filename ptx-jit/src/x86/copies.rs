//! Where values that were put into memory for want of registers are found in a register all the same.
//!
//! The register allocator loads such a value for each of its readers. Often a register still has it: the one it was
//! stored from, or loaded to before. To read it there takes no load, and above all not the time from a store to a load
//! of the same place, which chains of results would wait for.

use regalloc2::{PReg, RegClass, SpillSlot};

/// Vector registers of a processor.
const REGISTERS: usize = 32;

/// What vector registers have of places in memory, at one point of a block.
#[derive(Default)]
pub(super) struct Copies {
    places: [Option<SpillSlot>; REGISTERS],
}

impl Copies {
    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.places = [None; REGISTERS];
    }

    /// A register gets a new value.
    pub(super) fn write(&mut self, reg: PReg) {
        if reg.class() == RegClass::Float {
            self.places[reg.hw_enc()] = None;
        }
    }

    /// A register gets the value of another one.
    pub(super) fn copy(&mut self, from: PReg, to: PReg) {
        if to.class() == RegClass::Float {
            self.places[to.hw_enc()] = self.places[from.hw_enc()];
        }
    }

    /// A register is stored.
    pub(super) fn store(&mut self, from: PReg, to: SpillSlot) {
        if from.class() == RegClass::Float {
            self.places.iter_mut().filter(|p| **p == Some(to)).for_each(|p| *p = None);
            self.places[from.hw_enc()] = Some(to);
        }
    }

    /// A register has what is in memory.
    pub(super) fn load(&mut self, from: SpillSlot, to: PReg) {
        if to.class() == RegClass::Float {
            self.places[to.hw_enc()] = Some(from);
        }
    }

    /// A register that has what is at the place.
    pub(super) fn find(&self, place: SpillSlot, class: RegClass) -> Option<PReg> {
        let at = self.places.iter().position(|p| *p == Some(place))?;
        (class == RegClass::Float).then(|| PReg::new(at, class))
    }

    /// Whether this register has what is at the place.
    pub(super) fn has(&self, place: SpillSlot, reg: PReg) -> bool {
        reg.class() == RegClass::Float && self.places[reg.hw_enc()] == Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_a_place_until_one_of_both_changes() {
        let [a, b] = [3, 4].map(|n| PReg::new(n, RegClass::Float));
        let [s, t] = [0, 4].map(SpillSlot::new);
        let mut copies = Copies::default();
        copies.store(a, s);
        copies.copy(a, b);
        assert!(copies.has(s, a) && copies.has(s, b) && !copies.has(t, a));
        copies.write(a);
        assert_eq!(copies.find(s, RegClass::Float), Some(b));
        assert_eq!(copies.find(s, RegClass::Int), None);
        // Another value at the place.
        copies.store(a, s);
        assert!(copies.has(s, a) && !copies.has(s, b));
        copies.load(t, a);
        assert_eq!(copies.find(s, RegClass::Float), None);
        copies.forget();
        assert_eq!(copies.find(t, RegClass::Float), None);
    }
}
