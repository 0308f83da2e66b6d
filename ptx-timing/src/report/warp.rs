//! What one warp of the grid did: how its lanes parted and met again, and its accesses.

use serde::{Deserialize, Serialize};

use super::memory::{AccessPattern, MemorySpace};

/// What one warp did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarpInfo {
    /// Block in launch order.
    pub block: u64,
    /// Warp within the block.
    pub warp: u32,
    /// PTX instructions that it executed, those that the assembler folds away left out.
    pub instructions: u64,
    /// Lanes that came to an instruction on average.
    pub lanes_per_instruction: f64,
    /// Conditional branches that it came to.
    pub branches: u64,
    /// Those at which its lanes parted.
    pub divergent: u64,
    /// What it executed without a change of lanes, in order of time. Each is a node of the divergence tree: parts of
    /// depth n + 1 are what the lanes of the last part of depth n before them did.
    pub parts: Vec<WarpPart>,
    /// How often it came to the lines that accessed memory: index into [`Report::lines`](super::Report::lines) and
    /// number.
    pub executions: Vec<(u32, u64)>,
    /// Those of its accesses that were asked for.
    pub accesses: Vec<WarpAccessInfo>,
    /// There was more than is kept: the rest is missing.
    pub truncated: bool,
}

/// Instructions that a warp executed one after the other with the same lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarpPart {
    /// How many times these lanes have parted from others with which they will meet again.
    pub depth: u32,
    /// A bit for each lane.
    pub lanes: u32,
    /// Why it begins.
    pub begins: Begins,
    /// The branch at which these lanes parted from others: index into [`Report::lines`](super::Report::lines).
    pub branch: Option<u32>,
    /// First and last instruction: indices into [`Report::lines`](super::Report::lines).
    pub first: u32,
    /// See `first`.
    pub last: u32,
    /// Instructions executed.
    pub instructions: u64,
    /// Clocks of the first and the last issue, where the block was simulated and machine code has these instructions
    /// one by one.
    pub clocks: Option<[u64; 2]>,
}

/// Why a part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begins {
    /// The kernel starts.
    Start,
    /// Lanes part at a branch.
    Split,
    /// The assembler gives both ways of a branch predicates: lanes do nothing while others work, but nothing branches.
    Predicated,
    /// Lanes have ended.
    Ended,
    /// Lanes meet again.
    Rejoin,
}

/// An access of a chosen warp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarpAccessInfo {
    /// Index into [`Report::lines`](super::Report::lines).
    pub line: u32,
    /// The how-manieth time the warp came there, from 1.
    pub execution: u64,
    /// Clock of its issue, as in [`WarpPart::clocks`].
    pub clock: Option<u64>,
    /// Space that it reached.
    pub space: MemorySpace,
    /// Addresses and cost: sectors, transactions (1.x, 2.x), steps (shared memory) or addresses (constant memory).
    pub pattern: AccessPattern,
}
