//! Makes what a report says of the launch as a whole.

use std::collections::BTreeMap;

use super::Line;
use super::inputs::Inputs;
use super::memory::MemorySpace;
use super::totals::{ActivitySpan, OperationInfo, SchedulerInfo, UnitInfo};
use crate::sim::Bound;

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
