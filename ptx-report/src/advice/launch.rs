//! Grid, block and occupancy.

use ptx_timing::Report;
use ptx_timing::report::LimiterKind;

use super::finding::{Finding, Kind, capability};
use crate::number::{percent, plural};

/// Occupancy below which latency is the likelier reason for waiting.
const LOW: f64 = 0.5;
/// Threads of a multiprocessor that hide read-after-write latency (guide, 3.1.2.6).
const THREADS_THAT_HIDE_REGISTERS: u32 = 192;

/// Adds what is found.
pub(super) fn find(report: &Report, out: &mut Vec<Finding>) {
    out.extend(occupancy(report));
    out.extend(few_blocks(report));
    out.extend(block_size(report));
}

fn occupancy(report: &Report) -> Option<Finding> {
    let o = &report.occupancy;
    let threads = o.warps * 32;
    let waits = report.limiter.kind == LimiterKind::Latency;
    let starved = capability(report).0 == 1 && threads < THREADS_THAT_HIDE_REGISTERS;
    if !(o.fraction < LOW && waits || starved) {
        return None;
    }
    let better = report
        .occupancy_by_block
        .iter()
        .filter(|p| p.fraction > o.fraction * 1.05)
        .max_by(|a, b| a.fraction.total_cmp(&b.fraction));
    let limit = o.limiters.join(" and ");
    let evidence = format!(
        "A multiprocessor holds {} of {} warps ({} of {} threads): {}, limited by {limit}.",
        o.warps,
        o.max_warps,
        plural(o.blocks.into(), "block"),
        report.launch.threads_per_block,
        percent(o.fraction),
    );
    let mut remedy = String::from(
        "Keep two or more blocks active on each multiprocessor, so that one runs while another waits; 192 or 256 threads per block are a good start, and 192 active threads hide the latency of registers.",
    );
    if o.limiters.iter().any(|l| l == "registers") {
        remedy.push_str(
            " Fewer registers per thread (.maxnreg, a smaller unrolling factor) allow more blocks.",
        );
    }
    if o.limiters.iter().any(|l| l == "shared memory") {
        remedy.push_str(" Less shared memory per block (smaller tiles) allows more blocks.");
    }
    if let Some(better) = better {
        remedy.push_str(&format!(
            " With the same needs, blocks of {} threads would reach {}.",
            better.threads,
            percent(better.fraction)
        ));
    }
    let mut finding = Finding::new(Kind::LowOccupancy, evidence, remedy);
    finding.weight = 1.0 - o.fraction;
    Some(finding)
}

fn few_blocks(report: &Report) -> Option<Finding> {
    let (blocks, sms) = (report.launch.blocks, u64::from(report.device.multiprocessors));
    if blocks >= sms {
        return None;
    }
    let evidence = format!(
        "The grid has {}, the device {}: {} of it has nothing to do.",
        plural(blocks, "block"),
        plural(sms, "multiprocessor"),
        percent(1.0 - blocks as f64 / sms as f64),
    );
    let remedy = "Launch at least as many blocks as there are multiprocessors, better twice as many or more, so that blocks that wait and blocks that can run overlap; 100 blocks scale to the next device, 1000 across several generations.";
    let mut finding = Finding::new(Kind::FewBlocks, evidence, remedy);
    finding.weight = 1.0 - blocks as f64 / sms as f64;
    Some(finding)
}

fn block_size(report: &Report) -> Option<Finding> {
    let threads = report.launch.threads_per_block;
    let rest = threads % 32;
    let idle = if rest == 0 { 0 } else { 32 - rest };
    // The banks of the register file want multiples of 64 on 1.x only.
    let odd = capability(report).0 == 1 && !threads.is_multiple_of(64);
    if idle == 0 && !odd {
        return None;
    }
    let lanes = threads.next_multiple_of(32);
    let evidence = match idle {
        0 => format!("Blocks of {threads} threads are no multiple of 64."),
        _ => format!(
            "Blocks of {threads} threads are no multiple of the warp size: {idle} of {lanes} lanes stay empty."
        ),
    };
    let remedy = "Choose a multiple of the warp size, so that no warp is under-populated, or better a multiple of 64, with which compiler and scheduler avoid register bank conflicts best (3.1.2.6).";
    let mut finding = Finding::new(Kind::BlockSize, evidence, remedy);
    finding.weight = f64::from(idle) / f64::from(lanes);
    Some(finding)
}
