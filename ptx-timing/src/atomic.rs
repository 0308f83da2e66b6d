//! Atomics of one warp: lanes on the same address are not merged but take turns.
//!
//! Source: counters of an H200 over 19 patterns of `atom` and `red`.

use crate::access::{LANES, WarpAccess};
use crate::banks::multicast_ways;
use crate::coalesce::{SectorCounts, sector_counts};

/// Splits an atomic into passes in which no address occurs twice: the k-th lane on an address is
/// in pass k.
pub fn passes(access: &WarpAccess) -> impl Iterator<Item = WarpAccess> + '_ {
    let mut turn = [0_u32; LANES];
    let mut last = 0;
    for (lane, address) in access.lanes() {
        turn[lane] =
            access.restricted(0, lane).lanes().filter(|(_, a)| *a == address).count() as u32;
        last = last.max(turn[lane] + 1);
    }
    (0..last).map(move |pass| {
        let mask = (0..LANES).filter(|&l| turn[l] == pass).fold(0, |m, l| m | 1_u32 << l);
        WarpAccess { mask: mask & access.mask, ..*access }
    })
}

/// Requests, sectors and L2 requests (`lines`) of a global atomic; every pass pays for its own.
pub fn global_counts(line: u32, sector: u32, access: &WarpAccess) -> SectorCounts {
    let mut total = SectorCounts { requests: u32::from(access.mask != 0), sectors: 0, lines: 0 };
    for pass in passes(access) {
        let counts = sector_counts(line, sector, &pass);
        total.sectors += counts.sectors;
        total.lines += counts.lines;
    }
    total
}

/// Serialised steps of a shared-memory atomic: the passes, each with its bank conflicts.
pub fn shared_steps(banks: u32, access: &WarpAccess) -> u32 {
    passes(access).map(|pass| multicast_ways(banks, &pass)).sum()
}

/// The largest number of lanes on one address.
pub fn same_address(access: &WarpAccess) -> u32 {
    passes(access).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_partition_the_lanes() {
        let a = WarpAccess::from_lanes(4, (0..32).map(|l| (l != 5).then_some(l % 7 * 4)));
        let masks: Vec<u32> = passes(&a).map(|p| p.mask).collect();
        assert_eq!(masks.iter().fold(0, |all, m| all | m), a.mask);
        assert_eq!(masks.iter().map(|m| m.count_ones()).sum::<u32>(), 31);
        assert_eq!(masks.len(), 5);
        for pass in passes(&a) {
            let mut seen: Vec<u64> = pass.lanes().map(|l| l.1).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len() as u32, pass.active());
        }
    }
}
