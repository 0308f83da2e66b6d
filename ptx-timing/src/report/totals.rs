//! What a report says of the launch as a whole, besides its summary.

use serde::{Deserialize, Serialize};

use super::memory::MemorySpace;

/// What a scheduler did in a clock on average, while its SM had work.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SchedulerInfo {
    /// Warps that it has where the SM is as full as it can be.
    pub theoretical_warps: f64,
    /// Warps that it had.
    pub active_warps: f64,
    /// Those that could issue: the one that did, and those that were not chosen.
    pub eligible_warps: f64,
    /// Machine instructions that it issued.
    pub issued: f64,
    /// Share of clocks in which it issued nothing, as no warp could.
    pub no_eligible: f64,
}

/// Use of something that can be saturated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitInfo {
    /// Such as `fma pipe`, `issue slots`, `L2`, `device memory`.
    pub name: String,
    /// Share in use while the grid was simulated; of device memory, of what a perfectly coalesced stream reaches.
    pub share: f64,
}

/// What the instructions that do one thing to one space asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationInfo {
    /// Space.
    pub space: MemorySpace,
    /// `load`, `store`, `atomic` or `reduction`.
    pub kind: String,
    /// Warp instructions with at least one lane.
    pub requests: u64,
    /// Transactions, as [`MemoryLine::transactions`](super::MemoryLine::transactions).
    pub transactions: u64,
    /// Those that the SM's own cache had.
    pub hits: u64,
    /// Bytes that lanes asked for, lanes on one address counted once.
    pub bytes_used: u64,
    /// Bytes of the transactions.
    pub bytes_moved: u64,
    /// Bytes that loads brought from device memory.
    pub dram_bytes: u64,
    /// Shared memory: serialised steps.
    pub wavefronts: u64,
    /// Those beyond what conflict-free accesses take.
    pub conflicts: u64,
}

/// What the device did in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActivitySpan {
    /// Clock at which it ends; it begins where the one before ends, the first one at 0.
    pub until: u64,
    /// Machine instructions per clock and SM.
    pub ipc: f64,
    /// Bandwidth of device memory in use.
    pub dram_gbps: f64,
    /// Blocks that were resident at its end, on all SMs.
    pub blocks: u64,
}
