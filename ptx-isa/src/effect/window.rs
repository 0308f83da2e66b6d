//! Address windows of the generic address space, the same for 32- and 64-bit modules.

use crate::types::Space;

/// First generic address of local memory.
pub const LOCAL: u64 = 0x0400_0000;
/// Bytes of the local window.
pub const LOCAL_SIZE: u64 = 0x0200_0000;
/// First generic address of kernel parameters.
pub const PARAM: u64 = 0x0600_0000;
/// Bytes of the parameter window.
pub const PARAM_SIZE: u64 = 0x0010_0000;
/// First generic address of shared memory, a multiple of its size; `.shared` address `a` is `SHARED + a`.
pub const SHARED: u64 = 0x1000_0000;
/// Bytes of the shared window: sixteen CTAs, the most of a cluster, [`SHARED_CTA`] each.
pub const SHARED_SIZE: u64 = 0x1000_0000;
/// Shared addresses of the CTA of rank `r` in its cluster start at `r * SHARED_CTA`, as those of an H200 do: its own
/// addresses too. Programs find the leading CTA of a pair by that bit.
pub const SHARED_CTA: u64 = 0x0100_0000;
/// Lowest address that global and constant allocations may have.
pub const GLOBAL: u64 = 0x2000_0000;

/// The state space that an address reaches, and the address there. Only generic addresses
/// change; constants and global memory are [`Space::Global`].
pub const fn locate(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic => match address {
            SHARED..GLOBAL => (Space::SharedCluster, address - SHARED),
            LOCAL..PARAM => (Space::Local, address - LOCAL),
            a if a >= PARAM && a - PARAM < PARAM_SIZE => (Space::ParamEntry, a - PARAM),
            _ => (Space::Global, address),
        },
        Space::Global
        | Space::Shared
        | Space::SharedCluster
        | Space::Local
        | Space::Const
        | Space::ParamEntry
        | Space::ParamFunc
        | Space::Reg
        | Space::Sreg
        | Space::Tex => (space, address),
    }
}
