//! What memory was asked for, and what that cost.

use serde::{Deserialize, Serialize};

pub use crate::banks::BankRequest;
use crate::event::Space;

/// Caches and device memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// Bytes read from device memory by the simulated blocks.
    pub dram_read: u64,
    /// Bytes written to it.
    pub dram_written: u64,
    /// Both over the time of the simulated part.
    pub dram_gbps: f64,
    /// That over the theoretical bandwidth.
    pub dram_share: f64,
    /// Bytes that lanes asked to load from or store to global memory.
    pub global_bytes_used: u64,
    /// Bytes of the transactions that this took.
    pub global_bytes_moved: u64,
    /// First-level caches of all SMs, in sectors.
    pub l1: CacheInfo,
    /// Second-level cache, in sectors.
    pub l2: CacheInfo,
    /// Constant caches of all SMs, in lines.
    #[serde(default)]
    pub constant: CacheInfo,
    /// Texture caches of all SMs, in sectors.
    #[serde(default)]
    pub texture: CacheInfo,
}

/// Counts of a cache in sectors (lines on 2.x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct CacheInfo {
    pub read_hits: u64,
    pub read_misses: u64,
    pub write_hits: u64,
    pub write_misses: u64,
    pub written_back: u64,
}

impl CacheInfo {
    /// Reads that hit over all reads; `None` without reads.
    pub fn read_hit_rate(&self) -> Option<f64> {
        let all = self.read_hits + self.read_misses;
        (all > 0).then(|| self.read_hits as f64 / all as f64)
    }
}

/// What a memory instruction cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryLine {
    /// Space that was reached.
    pub space: MemorySpace,
    /// `load`, `store`, `atomic` or `reduction`.
    pub kind: String,
    /// Bytes per lane, vectors counting as one; of the widest access.
    pub width: u32,
    /// Warp instructions with at least one lane.
    pub requests: u64,
    /// Global, local, texture: transactions (sectors, lines on 2.x, segments on 1.x).
    /// Constant: distinct addresses.
    pub transactions: u64,
    /// Those of loads that the SM's own cache had: L1 or the texture cache.
    #[serde(default)]
    pub hits: u64,
    /// Transactions of a request on average.
    pub transactions_per_request: Option<f64>,
    /// The fewest that the bytes in use would need, on average.
    pub ideal_per_request: Option<f64>,
    /// Bytes that lanes asked for, lanes on one address counted once.
    pub bytes_used: u64,
    /// Bytes of the transactions.
    pub bytes_moved: u64,
    /// Bytes that its loads brought from device memory.
    pub dram_bytes: u64,
    /// Shared memory: serialised steps (wavefronts).
    pub wavefronts: u64,
    /// Those beyond what a conflict-free access of this width takes.
    pub conflicts: u64,
    /// Steps over conflict-free steps on average: 1 = no conflict.
    pub conflict_ways: Option<f64>,
    /// Clocks from issue to result on average (loads and atomics).
    pub latency: Option<f64>,
    /// The costliest access of the grid's first block (plain loads and stores of global and shared
    /// memory).
    pub worst: Option<AccessPattern>,
}

/// Memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum MemorySpace {
    Global,
    Local,
    Shared,
    Constant,
    Texture,
}

impl From<Space> for MemorySpace {
    fn from(space: Space) -> Self {
        match space {
            Space::Global => Self::Global,
            Space::Local => Self::Local,
            Space::Shared => Self::Shared,
            Space::Const => Self::Constant,
            Space::Texture => Self::Texture,
        }
    }
}

/// Lane addresses of one access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessPattern {
    /// Bytes per lane.
    pub width: u32,
    /// Byte address of each of the 32 lanes; `None` = did not take part.
    pub lanes: Vec<Option<u64>>,
    /// Sectors, transactions (1.x, 2.x), steps (shared memory) or addresses (constant memory).
    pub cost: u32,
    /// Loads and stores of shared memory: which lanes are served together. Their steps add up to the cost.
    #[serde(default)]
    pub requests: Vec<BankRequest>,
}
