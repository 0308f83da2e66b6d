//! The lane addresses of one memory instruction of one warp.

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One memory instruction of one warp: which lanes take part, the byte address of each, and how
/// many bytes each accesses. PTX guarantees natural alignment; the functions of this crate accept
/// any address and width nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarpAccess {
    /// Bit l is set when lane l takes part.
    pub mask: u32,
    /// Bytes per lane: 1, 2, 4, 8, 16 or 32, a vector access counting as one.
    pub width: u32,
    /// Byte address per lane; what an inactive lane holds does not matter.
    pub addresses: [u64; LANES],
}

impl WarpAccess {
    /// An access by up to 32 lanes, `None` for an inactive one. Lanes beyond the list are inactive,
    /// entries beyond lane 31 are ignored.
    pub fn from_lanes(width: u32, lanes: impl IntoIterator<Item = Option<u64>>) -> Self {
        let mut access = Self { mask: 0, width, addresses: [0; LANES] };
        for (lane, address) in lanes.into_iter().take(LANES).enumerate() {
            if let Some(address) = address {
                access.mask |= 1 << lane;
                access.addresses[lane] = address;
            }
        }
        access
    }

    /// Number of lanes that take part.
    pub fn active(&self) -> u32 {
        self.mask.count_ones()
    }

    /// The lanes that take part, with their addresses, in order.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut rest = self.mask;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some((lane, self.addresses[lane]))
        })
    }

    /// The same access by `count` lanes from `first` on only.
    pub fn restricted(&self, first: usize, count: usize) -> Self {
        let part = if count >= 32 { u32::MAX } else { (1 << count) - 1 };
        Self { mask: self.mask & part.checked_shl(first as u32).unwrap_or(0), ..*self }
    }

    /// Bytes that the lanes access, lanes on one address counted once.
    pub fn distinct_bytes(&self) -> u64 {
        if self.mask.is_power_of_two() {
            return self.width.into();
        }
        let mut addresses: smallvec::SmallVec<[u64; LANES]> = self.lanes().map(|l| l.1).collect();
        if !addresses.is_sorted() {
            addresses.sort_unstable();
        }
        addresses.dedup();
        addresses.len() as u64 * u64::from(self.width)
    }

    /// First and last byte of a lane's access; an access past the end of the address space is cut.
    pub(crate) fn span(&self, address: u64) -> (u64, u64) {
        (address, address.saturating_add(u64::from(self.width.max(1)) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_parts() {
        let a = WarpAccess::from_lanes(4, (0..32).map(|l| (l % 3 != 0).then_some(l * 4)));
        assert_eq!(a.active(), 21);
        assert_eq!(a.lanes().next(), Some((1, 4)));
        assert_eq!(a.restricted(16, 16).mask, a.mask & 0xffff_0000);
        assert_eq!(a.restricted(0, 32).mask, a.mask);
        assert_eq!(WarpAccess::from_lanes(4, (0..40).map(Some)).mask, u32::MAX);
    }
}
