//! The allocations that were freed last, for reports: an access to one is no mere stray.

use std::collections::VecDeque;

use crate::allocation::Allocation;

/// How many are remembered.
const KEPT: usize = 256;

#[derive(Default)]
pub(crate) struct Freed(VecDeque<Allocation>);

impl Freed {
    pub(crate) fn add(&mut self, allocation: Allocation) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(allocation);
    }
    /// The last one that held `address`.
    pub(crate) fn find(&self, address: u64) -> Option<&Allocation> {
        self.0.iter().rev().find(|a| address.wrapping_sub(a.start) < a.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::Access;

    #[test]
    fn the_last_one_is_found_and_old_ones_are_forgotten() {
        let mut freed = Freed::default();
        let of = |start, size| Allocation {
            start,
            size,
            name: "a".into(),
            access: Access::ReadWrite,
            heap: false,
            lent: false,
        };
        freed.add(of(100, 50));
        freed.add(of(120, 10));
        assert_eq!(freed.find(125).map(|a| a.start), Some(120));
        assert_eq!(freed.find(149).map(|a| a.start), Some(100));
        assert!(freed.find(150).is_none() && freed.find(99).is_none());
        (0..KEPT as u64).for_each(|n| freed.add(of(1000 + n, 1)));
        assert!(freed.find(125).is_none());
    }
}
