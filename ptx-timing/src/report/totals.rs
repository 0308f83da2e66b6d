//! What a report says of the launch as a whole, besides its summary.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Inputs, Line, MemorySpace};
use crate::sim::Bound;

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

pub(super) fn scheduler(inputs: &Inputs<'_>) -> SchedulerInfo {
    let Inputs { profile, outcome, .. } = *inputs;
    let schedulers = f64::from(profile.issue.schedulers);
    let did = outcome.schedulers;
    SchedulerInfo {
        theoretical_warps: f64::from(outcome.occupancy.warps) / schedulers,
        active_warps: outcome.achieved_occupancy * f64::from(outcome.occupancy.max_warps)
            / schedulers,
        eligible_warps: did.eligible,
        issued: did.issued,
        no_eligible: (1.0 - did.issuing).max(0.0),
    }
}

pub(super) fn units(inputs: &Inputs<'_>) -> Vec<UnitInfo> {
    let unit = |bound: &Bound| {
        let name = match bound {
            Bound::Dram(_) => "device memory".to_owned(),
            Bound::L2(_) => "L2".to_owned(),
            Bound::Pipe(name, _) => format!("{name} pipe"),
            Bound::Issue(_) => "issue slots".to_owned(),
            // Waiting uses nothing.
            Bound::Latency(..) => return None,
        };
        Some(UnitInfo { name, share: bound.share() })
    };
    inputs.outcome.used.iter().filter_map(unit).collect()
}

/// Sums over the lines.
pub(super) fn operations(lines: &[Line]) -> Vec<OperationInfo> {
    let mut all: BTreeMap<(MemorySpace, &str), OperationInfo> = BTreeMap::new();
    for m in lines.iter().filter_map(|line| line.memory.as_ref()) {
        let sum = all.entry((m.space, &m.kind)).or_insert_with(|| OperationInfo {
            space: m.space,
            kind: m.kind.clone(),
            requests: 0,
            transactions: 0,
            hits: 0,
            bytes_used: 0,
            bytes_moved: 0,
            dram_bytes: 0,
            wavefronts: 0,
            conflicts: 0,
        });
        sum.requests += m.requests;
        sum.transactions += m.transactions;
        sum.hits += m.hits;
        sum.bytes_used += m.bytes_used;
        sum.bytes_moved += m.bytes_moved;
        sum.dram_bytes += m.dram_bytes;
        sum.wavefronts += m.wavefronts;
        sum.conflicts += m.conflicts;
    }
    all.into_values().collect()
}

pub(super) fn activity(inputs: &Inputs<'_>) -> Vec<ActivitySpan> {
    let Inputs { profile, outcome, .. } = *inputs;
    let sms = f64::from(profile.device.multiprocessors);
    let (mut clock, mut slots, mut dram) = (0, 0, 0);
    let mut out = Vec::with_capacity(outcome.activity.len());
    for mark in &outcome.activity {
        let clocks = mark.clock.saturating_sub(clock).max(1) as f64;
        let nanoseconds = clocks / profile.clock.sm_mhz * 1e3;
        out.push(ActivitySpan {
            until: mark.clock,
            ipc: mark.slots.saturating_sub(slots) as f64 / clocks / sms,
            dram_gbps: mark.dram.saturating_sub(dram) as f64 / nanoseconds,
            blocks: mark.blocks,
        });
        (clock, slots, dram) = (mark.clock, mark.slots, mark.dram);
    }
    out
}
