//! What the warps of one SM did, clock by clock.

use serde::{Deserialize, Serialize};

use crate::sim::report::Stall;

/// What the warps of one SM did from the kernel's start on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// SM.
    pub sm: u32,
    /// Clocks recorded: from 0 to this.
    pub until: u64,
    /// Warps in the order in which they started.
    pub warps: Vec<WarpTimeline>,
}

/// One warp.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarpTimeline {
    /// Block in launch order.
    pub block: u64,
    /// Warp within the block.
    pub warp: u32,
    /// Slot of the SM that it ran in; `slot % schedulers` is its scheduler.
    pub slot: u32,
    /// Clock at which it started.
    pub start: u64,
    /// Clock at which it ended, if it did before [`Timeline::until`].
    pub end: Option<u64>,
    /// Issues in order of time.
    pub issues: Vec<IssueSpan>,
}

/// One issued instruction and the waiting before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IssueSpan {
    /// Clock of the issue.
    pub at: u64,
    /// Index into [`Report::lines`](super::Report::lines).
    pub line: u32,
    /// Clocks that the warp waited before.
    pub waited: u32,
    /// What for (mostly).
    pub reason: Option<Stall>,
    /// Lanes that executed it.
    pub active: u32,
}
