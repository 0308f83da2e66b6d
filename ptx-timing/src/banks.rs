//! Shared memory: from lane addresses to serialised steps (wavefronts), per generation.
//!
//! Sources: NVIDIA OpenCL Programming Guide 2.3, 3.1.2.5 (1.x); CUDA C Best Practices Guide,
//! "Shared Memory and Memory Banks", and CUDA C Programming Guide 6.0, G.3.3 and G.4.3 (2.x, 3.x);
//! counters of an H200 (9.0).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::access::{LANES, WarpAccess};
use crate::profile::{BankMode, BankRule, Shared};

/// What one shared-memory instruction of one warp costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BankCost {
    /// Requests that the instruction splits into: half-warps, words of a wide access, phases.
    pub requests: u32,
    /// Serialised conflict-free steps of all requests together. What NVIDIA's tools call
    /// wavefronts.
    pub steps: u32,
    /// Steps beyond those that an access of this width needs without conflicts.
    pub conflicts: u32,
}

/// Direction of the access; a multicast serves loads only where the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `ld.shared`
    Load,
    /// `st.shared`
    Store,
}

/// Lanes that are served together, and the part of what each of them accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankRequest {
    /// A bit for each lane that takes part.
    pub lanes: u32,
    /// First byte of the part.
    pub offset: u32,
    /// Bytes of the part.
    pub bytes: u32,
    /// Serialised conflict-free steps.
    pub steps: u32,
}

/// The requests of an access; most have few.
type Requests = SmallVec<[BankRequest; 8]>;

/// Cost of a load or store under a device's rules.
pub fn bank_cost(shared: &Shared, direction: Direction, access: &WarpAccess) -> BankCost {
    if access.mask == 0 {
        return BankCost::default();
    }
    let (requests, free) = split(shared, direction, access);
    let steps = requests.iter().map(|request| request.steps).sum::<u32>();
    BankCost { requests: requests.len() as u32, steps, conflicts: steps.saturating_sub(free) }
}

/// What a load or store splits into under a device's rules, in the order in which it is served.
pub fn bank_requests(
    shared: &Shared,
    direction: Direction,
    access: &WarpAccess,
) -> Vec<BankRequest> {
    split(shared, direction, access).0.into_vec()
}

/// The requests, and the steps that they would take without conflicts.
fn split(shared: &Shared, direction: Direction, access: &WarpAccess) -> (Requests, u32) {
    match shared.rule {
        BankRule::HalfWarpBroadcast => half_warp_broadcast(shared.banks, access),
        BankRule::WarpMulticast => phased(shared.banks, access, false),
        BankRule::WarpMulticastPaired => phased(shared.banks, access, direction == Direction::Load),
        BankRule::WideBanks => wide_banks(shared.banks, shared.mode, access),
    }
}

/// Adds a request of lanes that access all they want at once, if there are any.
fn push(requests: &mut Requests, access: &WarpAccess, steps: u32) {
    if steps > 0 {
        let (lanes, bytes) = (access.mask, access.width);
        requests.push(BankRequest { lanes, offset: 0, bytes, steps });
    }
}

/// Serialised steps of one 1.x half-warp request by the guide's broadcast procedure: each step
/// chooses a word to broadcast, serves every lane inside it and one lane of each other bank. The
/// guide leaves the choice open; here it is the word of the lowest lane not yet served.
pub fn broadcast_steps(banks: u32, half: &WarpAccess) -> u32 {
    let mut rest = half.mask;
    let mut steps = 0;
    while rest != 0 {
        let broadcast = half.addresses[rest.trailing_zeros() as usize] / 4;
        let mut busy = 1_u64 << (broadcast % u64::from(banks));
        for lane in 0..LANES {
            if rest >> lane & 1 == 0 {
                continue;
            }
            let word = half.addresses[lane] / 4;
            let bank = 1_u64 << (word % u64::from(banks));
            if word == broadcast {
                rest &= !(1 << lane);
            } else if busy & bank == 0 {
                busy |= bank;
                rest &= !(1 << lane);
            }
        }
        steps += 1;
    }
    steps
}

/// 1.x: every half-warp is a request of its own, and a wide access is one request per 32-bit word.
fn half_warp_broadcast(banks: u32, access: &WarpAccess) -> (Requests, u32) {
    let mut requests = Requests::new();
    for first in [0, 16] {
        let half = access.restricted(first, 16);
        if half.mask == 0 {
            continue;
        }
        for offset in (0..access.width.max(1)).step_by(4) {
            let mut request = half;
            for address in &mut request.addresses {
                *address = address.saturating_add(u64::from(offset));
            }
            let steps = broadcast_steps(banks, &request);
            let bytes = (access.width - offset).min(4);
            requests.push(BankRequest { lanes: half.mask, offset, bytes, steps });
        }
    }
    let free = requests.len() as u32;
    (requests, free)
}

/// 2.x and 5.x on: lanes reading the same 32-bit word are served together, so a request takes as
/// many steps as one bank has distinct words. 8-byte accesses go by half-warps, 16-byte ones by
/// quarter-warps.
///
/// With `pairing` (loads on 7.x and later), two neighbouring phases share their steps when every
/// active lane reads the address of its neighbour (lane ^ 1), or every one that of lane ^ 2, where
/// that lane is active: each phase then needs half of the data path.
fn phased(banks: u32, access: &WarpAccess, pairing: bool) -> (Requests, u32) {
    let phases = (access.width / 4).clamp(1, 8) as usize;
    let lanes_per_phase = LANES / phases;
    let mut requests = Requests::new();
    let merged = if phases > 1 && pairing { 2 } else { 1 };
    for group in 0..phases / merged {
        let lanes = lanes_per_phase * merged;
        let whole = access.restricted(group * lanes, lanes);
        if merged == 2 && neighbours_agree(&whole) {
            push(&mut requests, &whole, multicast_ways(banks, &whole));
            continue;
        }
        for phase in 0..merged {
            let first = group * lanes + phase * lanes_per_phase;
            let part = access.restricted(first, lanes_per_phase);
            push(&mut requests, &part, multicast_ways(banks, &part));
        }
    }
    // The hardware counter subtracts what the width needs with all lanes active.
    (requests, phases as u32)
}

/// Whether every active lane reads what lane ^ 1 reads, or every one what lane ^ 2 reads; an
/// inactive partner does not matter. Lanes with no active partner at all are no reason to merge.
fn neighbours_agree(access: &WarpAccess) -> bool {
    [1, 2].into_iter().any(|distance| {
        let mut pairs = 0;
        let agree = access.lanes().all(|(lane, address)| {
            let partner = lane ^ distance;
            let active = access.mask >> partner & 1 == 1;
            pairs += u32::from(active);
            !active || access.addresses[partner] == address
        });
        agree && pairs > 0
    })
}

/// The largest number of distinct 32-bit words that one bank has to deliver.
pub fn multicast_ways(banks: u32, access: &WarpAccess) -> u32 {
    let mut words: SmallVec<[u64; 64]> = SmallVec::new();
    for (_, address) in access.lanes() {
        let (first, last) = access.span(address);
        words.extend(first / 4..=last / 4);
    }
    most_loaded_bank(banks, &mut words, |word| word)
}

/// 3.x: 32 banks of 64 bits. In 8-byte mode a bank's word is 8 bytes. In 4-byte mode successive
/// 32-bit words go to successive banks, and words i and i + 32 of an aligned row of 64 words share
/// one 64-bit access.
///
/// The data path carries 64 bits per bank and clock, also where lanes read the same word: 16-byte
/// accesses go by half-warps.
fn wide_banks(banks: u32, mode: BankMode, access: &WarpAccess) -> (Requests, u32) {
    let phases = (access.width * LANES as u32).div_ceil(8 * banks).clamp(1, LANES as u32);
    let lanes = LANES / phases as usize;
    let mut requests = Requests::new();
    for phase in 0..phases as usize {
        let part = access.restricted(phase * lanes, lanes);
        push(&mut requests, &part, wide_ways(banks, mode, &part));
    }
    (requests, phases)
}

/// The largest number of distinct 64-bit accesses of one bank.
fn wide_ways(banks: u32, mode: BankMode, access: &WarpAccess) -> u32 {
    let banks64 = u64::from(banks);
    let mut rows: SmallVec<[u64; 64]> = SmallVec::new();
    for (_, address) in access.lanes() {
        let (first, last) = access.span(address);
        match mode {
            BankMode::EightByte => rows.extend(first / 8..=last / 8),
            BankMode::FourByte => rows
                .extend((first / 4..=last / 4).map(|w| w / (2 * banks64) * banks64 + w % banks64)),
        }
    }
    most_loaded_bank(banks, &mut rows, |row| row)
}

/// Counts distinct keys per bank (`key mod banks`) and returns the largest count.
fn most_loaded_bank(
    banks: u32,
    keys: &mut SmallVec<[u64; 64]>,
    bank_of: impl Fn(u64) -> u64,
) -> u32 {
    keys.sort_unstable();
    keys.dedup();
    let mut load = [0_u32; 32];
    let banks = u64::from(banks.clamp(1, 32));
    for &key in keys.iter() {
        load[(bank_of(key) % banks) as usize] += 1;
    }
    load.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(banks: u32, rule: BankRule, mode: BankMode) -> Shared {
        let bank_bytes = if rule == BankRule::WideBanks { 8 } else { 4 };
        Shared {
            banks,
            bank_bytes,
            rule,
            mode,
            latency: 0,
            step_cycles: 1.0,
            extra_step_latency: 0,
        }
    }

    fn strided(width: u32, stride: u64) -> WarpAccess {
        WarpAccess::from_lanes(width, (0..32).map(|l| Some(l * stride)))
    }

    #[test]
    fn doubles_on_each_generation() {
        let a = strided(8, 8);
        // 1.x: two words, each half-warp 2-way.
        let tesla = shared(16, BankRule::HalfWarpBroadcast, BankMode::FourByte);
        assert_eq!(
            bank_cost(&tesla, Direction::Load, &a),
            BankCost { requests: 4, steps: 8, conflicts: 4 }
        );
        // 2.x: two conflict-free half-warps.
        let fermi = shared(32, BankRule::WarpMulticast, BankMode::FourByte);
        assert_eq!(
            bank_cost(&fermi, Direction::Load, &a),
            BankCost { requests: 2, steps: 2, conflicts: 0 }
        );
        // 3.x: one step in either mode.
        for mode in [BankMode::FourByte, BankMode::EightByte] {
            let kepler = shared(32, BankRule::WideBanks, mode);
            assert_eq!(
                bank_cost(&kepler, Direction::Load, &a),
                BankCost { requests: 1, steps: 1, conflicts: 0 }
            );
        }
    }

    #[test]
    fn wide_bank_modes_differ() {
        let four = shared(32, BankRule::WideBanks, BankMode::FourByte);
        let eight = shared(32, BankRule::WideBanks, BankMode::EightByte);
        // Stride of two words: words 0, 2, .. 62 of one row of 64.
        assert_eq!(bank_cost(&four, Direction::Load, &strided(4, 8)).steps, 1);
        assert_eq!(bank_cost(&eight, Direction::Load, &strided(4, 8)).steps, 1);
        // Column of a 32 x 32 float tile: every lane in bank 0, pairs of rows share a 64-word row.
        assert_eq!(bank_cost(&four, Direction::Load, &strided(4, 128)).steps, 16);
        // In 8-byte mode rows alternate between banks 0 and 16.
        assert_eq!(bank_cost(&eight, Direction::Load, &strided(4, 128)).steps, 16);
        // Stride of 33 words.
        assert_eq!(bank_cost(&four, Direction::Load, &strided(4, 132)).steps, 1);
        assert_eq!(bank_cost(&eight, Direction::Load, &strided(4, 256)).steps, 32);
        // 32 lanes of 16 bytes are two rows of 256 bytes, whether they differ or not.
        for mode in [&four, &eight] {
            for stride in [0, 16] {
                let cost = bank_cost(mode, Direction::Load, &strided(16, stride));
                assert_eq!(cost, BankCost { requests: 2, steps: 2, conflicts: 0 });
            }
            assert_eq!(bank_cost(mode, Direction::Load, &strided(8, 0)).steps, 1);
        }
    }

    #[test]
    fn paired_phases_merge_for_loads_only() {
        let hopper = shared(32, BankRule::WarpMulticastPaired, BankMode::FourByte);
        let same = strided(8, 0);
        assert_eq!(bank_cost(&hopper, Direction::Load, &same).steps, 1);
        assert_eq!(bank_cost(&hopper, Direction::Store, &same).steps, 2);
        assert_eq!(bank_cost(&hopper, Direction::Load, &strided(16, 0)).steps, 2);
        assert_eq!(bank_cost(&hopper, Direction::Store, &strided(16, 0)).steps, 4);
        let halves = WarpAccess::from_lanes(8, (0..32).map(|l| Some(l % 16 * 8)));
        assert_eq!(bank_cost(&hopper, Direction::Load, &halves).steps, 2);
    }

    #[test]
    fn no_lane_no_cost() {
        let hopper = shared(32, BankRule::WarpMulticastPaired, BankMode::FourByte);
        let none = WarpAccess::from_lanes(16, [None; 32]);
        assert_eq!(bank_cost(&hopper, Direction::Load, &none), BankCost::default());
    }

    /// Every lane's bytes are in one request each, and the steps of the requests are those of the access.
    #[test]
    fn requests_are_the_whole_access() {
        let rules = [
            BankRule::HalfWarpBroadcast,
            BankRule::WarpMulticast,
            BankRule::WarpMulticastPaired,
            BankRule::WideBanks,
        ];
        let strides: [fn(u64) -> u64; 4] =
            [|lane| lane, |lane| lane / 2 * 2, |lane| lane * 16, |lane| lane * lane % 7 * 32];
        for (rule, width) in rules.into_iter().flat_map(|r| [1, 2, 4, 8, 16].map(|w| (r, w))) {
            for (stride, present) in strides.into_iter().flat_map(|s| [(s, 1), (s, 3)]) {
                let lane =
                    |l: u64| l.is_multiple_of(present).then_some(stride(l) * u64::from(width));
                let access = WarpAccess::from_lanes(width, (0..32).map(lane));
                let banks = if rule == BankRule::HalfWarpBroadcast { 16 } else { 32 };
                let device = shared(banks, rule, BankMode::FourByte);
                for direction in [Direction::Load, Direction::Store] {
                    let requests = bank_requests(&device, direction, &access);
                    let cost = bank_cost(&device, direction, &access);
                    assert_eq!(requests.iter().map(|r| r.steps).sum::<u32>(), cost.steps);
                    for lane in 0..32 {
                        let own = requests.iter().filter(|r| r.lanes >> lane & 1 != 0);
                        let bytes = own.map(|r| r.bytes).sum::<u32>();
                        let expected = if access.mask >> lane & 1 != 0 { width } else { 0 };
                        assert_eq!(bytes, expected, "{rule:?} {width}, lane {lane}");
                    }
                }
            }
        }
    }
}
