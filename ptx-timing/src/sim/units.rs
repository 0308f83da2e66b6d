//! Which part of the device is in charge of an address, and which one an SM belongs to.

use crate::profile::{Atomics, Profile};

/// SMs in a row that are near the same half of L2.
pub(super) const NEIGHBOURS: usize = 4;

/// The group of SMs that one of so many is in. They come to groups four at a time, those that are left two at a time:
/// of 132 SMs in eight groups two groups have 18, the others 16.
pub(super) fn group_of(sm: usize, sms: usize, groups: usize) -> usize {
    let groups = groups.max(1);
    let round = NEIGHBOURS * groups;
    let whole = sms / round * round;
    if sm < whole { sm / NEIGHBOURS % groups } else { (sm - whole) / 2 % groups }
}

/// Which half of L2 is in charge of a line. How the device chooses is not known, nor which SMs are near which half.
pub(super) fn half_of(line: u64) -> u64 {
    (line ^ line >> 13).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 40 & 1
}

/// Clocks that an SM waits longer for L2 than the mean. Devices with more or fewer SMs are taken for alike.
pub(super) fn sm_spread(profile: &Profile, sm: usize) -> i64 {
    let spread = profile.l2.as_ref().map_or(&[][..], |l2| &l2.sm_spread);
    let sms = profile.device.multiprocessors.max(1) as usize;
    spread.get(sm % sms * spread.len() / sms).map_or(0, |clocks| i64::from(*clocks))
}

/// Chunks in a row that have units of their own.
const RUN: u64 = 16;

/// The number of the unit that is in charge of an address.
pub(super) fn atomic_unit(a: &Atomics, address: u64) -> usize {
    let chunk = address / u64::from(a.unit_bytes.max(1));
    let other = a.unit_stripe_bytes > 0 && address / u64::from(a.unit_stripe_bytes) & 1 != 0;
    // Chunks that follow one another have units of their own; from one run of them to the next units are shuffled.
    let run = chunk / RUN;
    let shuffled = (run ^ run >> 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let units = u64::from(a.units.max(1));
    let unit = if a.unit_stripe_bytes == 0 || units == 1 {
        (shuffled + chunk) % units
    } else {
        // Which of the two comes first differs from chunk to chunk.
        let first = u64::from(chunk.count_ones() & 1);
        (shuffled + chunk) % (units / 2) * 2 + (u64::from(other) ^ first)
    };
    unit as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SMs are spread as evenly as pairs can be.
    #[test]
    fn sms_of_groups() {
        let sizes = |sms: usize, groups: usize| {
            let mut sizes = vec![0; groups];
            (0..sms).for_each(|sm| sizes[group_of(sm, sms, groups)] += 1);
            sizes
        };
        assert_eq!(sizes(132, 8), [18, 18, 16, 16, 16, 16, 16, 16]);
        assert_eq!(sizes(144, 8), [18; 8]);
        assert_eq!(sizes(20, 1), [20]);
        // Those that read the same lines in step are in one.
        assert!((0..4).all(|sm| group_of(sm, 132, 8) == 0));
        assert_eq!(group_of(7, 132, 0), 0);
    }

    /// SM 0 of an H200 is nearer to L2 than the mean, SM 32 the farthest; both of a pair wait as long.
    #[test]
    fn sms_lie_nearer_or_farther() {
        let h200 = crate::profile::Catalog::embedded().unwrap().get("H200").unwrap();
        assert_eq!([0, 1, 32, 33].map(|sm| sm_spread(&h200, sm)), [-8, -8, 14, 14]);
        let all: Vec<i64> = (0..132).map(|sm| sm_spread(&h200, sm)).collect();
        assert!(all.iter().sum::<i64>().abs() <= 132, "{all:?}");
    }
}
