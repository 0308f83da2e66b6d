//! Constant memory: one address per cache access; lanes that disagree are served one after another.
//!
//! Sources: NVIDIA OpenCL Programming Guide 2.3, 3.1.2.3 (half-warps on 1.x); CUDA C Best Practices
//! Guide, "Constant Memory" (warps); counters and micro-benchmarks of an H200.

use smallvec::SmallVec;

use crate::access::WarpAccess;
use crate::profile::{Constant, Scope};

/// Distinct addresses that the constant cache has to serve, summed over half-warps on 1.x.
pub fn distinct_addresses(scope: Scope, access: &WarpAccess) -> u32 {
    let lanes = match scope {
        Scope::HalfWarp => 16,
        Scope::Warp => 32,
    };
    (0..32).step_by(lanes).map(|first| distinct(&access.restricted(first, lanes))).sum()
}

fn distinct(access: &WarpAccess) -> u32 {
    let mut seen: SmallVec<[u64; 32]> = access.lanes().map(|(_, a)| a).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() as u32
}

/// Latency of a load that hits, and the cycles that it keeps the cache busy.
pub fn hit_cost(constant: &Constant, access: &WarpAccess) -> (u32, f64) {
    let addresses = distinct_addresses(constant.scope, access);
    let requests = match constant.scope {
        Scope::Warp => u32::from(access.mask != 0),
        Scope::HalfWarp => u32::from(access.mask & 0xffff != 0) + u32::from(access.mask >> 16 != 0),
    };
    let extra = addresses.saturating_sub(requests);
    let busy = if extra == 0 {
        constant.uniform_cycles
    } else {
        constant.address_cycles * f64::from(addresses)
    };
    (constant.latency + extra * constant.extra_address_latency, busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_warps_count_apart() {
        let a = WarpAccess::from_lanes(4, (0..32).map(|l| Some(u64::from(l >= 16) * 4)));
        assert_eq!(distinct_addresses(Scope::HalfWarp, &a), 2);
        assert_eq!(distinct_addresses(Scope::Warp, &a), 2);
        let uniform = WarpAccess::from_lanes(4, [Some(8); 32]);
        assert_eq!(distinct_addresses(Scope::HalfWarp, &uniform), 2);
        assert_eq!(distinct_addresses(Scope::Warp, &uniform), 1);
    }
}
