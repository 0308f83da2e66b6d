//! Global memory: from lane addresses to memory transactions, per generation.
//!
//! Sources: NVIDIA OpenCL Programming Guide 2.3, 3.1.2.1 (1.x); CUDA C Best Practices Guide,
//! "Coalesced Access to Global Memory" (2.x, 3.x); counters of an H200 (9.0).

use smallvec::SmallVec;

use crate::access::WarpAccess;
use crate::profile::{Global, Protocol};

/// One transaction between the SM and the memory system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transaction {
    /// First byte, aligned to `bytes`.
    pub address: u64,
    /// Size.
    pub bytes: u32,
}

/// The transactions of one instruction. A set of 32 fits without allocation.
pub type Transactions = SmallVec<[Transaction; 32]>;

/// The transactions that a warp's access needs under a protocol, in the order in which the lanes
/// cause them. `line` and `sector` are the sizes of the last two protocols.
pub fn transactions(
    protocol: Protocol,
    line: u32,
    sector: u32,
    access: &WarpAccess,
) -> Transactions {
    match protocol {
        Protocol::HalfWarpInOrder => half_warps(access, in_order),
        Protocol::HalfWarpSegments => half_warps(access, shrinking_segments),
        Protocol::WarpLines => granules(access, line),
        Protocol::WarpSectors => granules(access, sector),
    }
}

/// How an access treats the first-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// A load with the default cache operator.
    Load,
    /// A load that bypasses L1.
    LoadBypass,
    /// A store.
    Store,
}

/// The transactions under a device's own rules.
pub fn device_transactions(global: &Global, path: Path, access: &WarpAccess) -> Transactions {
    let protocol = match path {
        Path::Load => global.load,
        Path::LoadBypass => global.load_bypass,
        Path::Store => global.store,
    };
    transactions(protocol, global.line_bytes, global.sector_bytes, access)
}

/// What the hardware counters of sm_70 and later say about one access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectorCounts {
    /// Warp instructions that reach the first-level cache: 1, or 0 with no lane active.
    pub requests: u32,
    /// Distinct sectors: the traffic.
    pub sectors: u32,
    /// Distinct lines: tag accesses and requests to L2.
    pub lines: u32,
}

/// Counts requests, sectors and lines of a load or store.
pub fn sector_counts(line: u32, sector: u32, access: &WarpAccess) -> SectorCounts {
    SectorCounts {
        requests: u32::from(access.mask != 0),
        sectors: granules(access, sector).len() as u32,
        lines: granules(access, line).len() as u32,
    }
}

fn half_warps(access: &WarpAccess, rule: fn(&WarpAccess, &mut Transactions)) -> Transactions {
    let mut out = Transactions::new();
    for first in [0, 16] {
        let half = access.restricted(first, 16);
        if half.mask != 0 {
            rule(&half, &mut out);
        }
    }
    out
}

/// 1.0 and 1.1. Lane k of the half-warp must access word k of a segment aligned to 16 words;
/// inactive lanes do not matter. Otherwise every lane gets a 32-byte transaction of its own.
fn in_order(half: &WarpAccess, out: &mut Transactions) {
    let width = u64::from(half.width);
    if matches!(half.width, 4 | 8 | 16) {
        let mut bases = half.lanes().map(|(l, a)| a.checked_sub((l as u64 % 16) * width));
        let base = bases.next().flatten();
        if let Some(base) = base
            && base.is_multiple_of(16 * width)
            && bases.all(|b| b == Some(base))
        {
            // 64 bytes for 4-byte words, 128 for 8-byte words, twice 128 for 16-byte words. Both
            // 128-byte halves are issued whichever lanes are inactive.
            let bytes = (16 * half.width).min(128);
            for i in 0..u64::from(16 * half.width / bytes) {
                out.push(Transaction { address: base + i * u64::from(bytes), bytes });
            }
            return;
        }
    }
    for (_, address) in half.lanes() {
        let (first, last) = half.span(address);
        for granule in first / 32..=last / 32 {
            out.push(Transaction { address: granule * 32, bytes: 32 });
        }
    }
}

/// 1.2 and 1.3. The segment of the lowest unserved lane serves every lane inside it and shrinks to
/// the half, then the quarter, that is used.
fn shrinking_segments(half: &WarpAccess, out: &mut Transactions) {
    let segment: u64 = match half.width {
        1 => 32,
        2 => 64,
        _ => 128,
    };
    let mut rest = *half;
    while rest.mask != 0 {
        let index = rest.addresses[rest.mask.trailing_zeros() as usize] / segment;
        let (mut first, mut last) = (u64::MAX, 0);
        for (lane, address) in half.lanes() {
            if rest.mask >> lane & 1 == 1 && address / segment == index {
                let span = half.span(address);
                first = first.min(span.0);
                // A misaligned word that leaves the segment is cut: PTX does not allow it.
                last = last.max(span.1.min(index * segment + (segment - 1)));
                rest.mask &= !(1 << lane);
            }
        }
        let mut bytes = segment;
        while bytes > 32 && first / (bytes / 2) == last / (bytes / 2) {
            bytes /= 2;
        }
        out.push(Transaction { address: first / bytes * bytes, bytes: bytes as u32 });
    }
}

/// Distinct aligned granules that the lanes touch, in order of first use.
fn granules(access: &WarpAccess, bytes: u32) -> Transactions {
    let size = u64::from(bytes.max(1));
    let mut out = Transactions::new();
    for (_, address) in access.lanes() {
        let (first, last) = access.span(address);
        for granule in first / size..=last / size {
            let t = Transaction { address: granule * size, bytes };
            // Neighbouring lanes mostly share a granule or follow each other.
            if out.last() != Some(&t) && !out.contains(&t) {
                out.push(t);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(width: u32, base: u64, stride: u64) -> WarpAccess {
        WarpAccess::from_lanes(width, (0..32).map(|l| Some(base + l * stride)))
    }

    fn total(t: &[Transaction]) -> u32 {
        t.iter().map(|t| t.bytes).sum()
    }

    #[test]
    fn in_order_coalesces_8_and_16_byte_words() {
        let t = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(8, 256, 8));
        assert_eq!(
            t.as_slice(),
            [Transaction { address: 256, bytes: 128 }, Transaction { address: 384, bytes: 128 }]
        );
        let t = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(16, 512, 16));
        assert_eq!((t.len(), total(&t)), (4, 512));
        // 16-byte words need an alignment of 256.
        let t = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(16, 128, 16));
        assert_eq!((t.len(), total(&t)), (32, 1024));
    }

    #[test]
    fn in_order_never_coalesces_bytes_or_shared_words() {
        let t = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(1, 0, 1));
        assert_eq!(t.len(), 32);
        let t = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(4, 0, 0));
        assert_eq!(t.len(), 32);
    }

    /// Uncoalesced 4-, 8- and 16-byte accesses move 8, 4 and 2 times the bytes (the guide: about
    /// ten, four and two times slower).
    #[test]
    fn uncoalesced_cost_ratio() {
        for (width, ratio) in [(4, 8), (8, 4), (16, 2)] {
            let w = u64::from(width);
            let good = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(width, 0, w));
            let bad = transactions(Protocol::HalfWarpInOrder, 128, 32, &strided(width, 0, 16 * w));
            assert_eq!(total(&bad), ratio * total(&good));
        }
    }

    #[test]
    fn segments_by_word_size() {
        for (width, bytes) in [(1, 32), (2, 32), (4, 64), (8, 128)] {
            let t = transactions(
                Protocol::HalfWarpSegments,
                128,
                32,
                &strided(width, 0, width.into()).restricted(0, 16),
            );
            assert_eq!(t.as_slice(), [Transaction { address: 0, bytes }], "width {width}");
        }
        let wide = strided(16, 0, 16).restricted(0, 16);
        let t = transactions(Protocol::HalfWarpSegments, 128, 32, &wide);
        assert_eq!((t.len(), total(&t)), (2, 256));
    }

    #[test]
    fn nothing_active_costs_nothing() {
        let none = WarpAccess::from_lanes(4, [None; 32]);
        for p in [
            Protocol::HalfWarpInOrder,
            Protocol::HalfWarpSegments,
            Protocol::WarpLines,
            Protocol::WarpSectors,
        ] {
            assert!(transactions(p, 128, 32, &none).is_empty());
        }
        assert_eq!(sector_counts(128, 32, &none), SectorCounts::default());
    }

    #[test]
    fn end_of_the_address_space_does_not_overflow() {
        let a = WarpAccess::from_lanes(16, [Some(u64::MAX - 3), Some(3)]);
        for p in [
            Protocol::HalfWarpInOrder,
            Protocol::HalfWarpSegments,
            Protocol::WarpLines,
            Protocol::WarpSectors,
        ] {
            assert!(!transactions(p, 128, 32, &a).is_empty());
        }
    }
}
