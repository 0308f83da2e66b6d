//! Divergence.

use ptx_timing::Report;
use ptx_timing::report::Line;

use super::finding::{Finding, Kind};
use crate::number::{count, percent, significant};

/// Share of a branch's executions from which its divergence is worth a word. The last warp of an
/// array whose length is no multiple of 32 diverges too, once.
const DIVERGENT: f64 = 0.05;

/// Adds what is found.
pub(super) fn find(report: &Report, out: &mut Vec<Finding>) {
    let hits: Vec<(&Line, u64, u64)> = report
        .lines
        .iter()
        .filter_map(|l| l.branch.map(|b| (l, b.divergent, b.executed)))
        .filter(|(_, divergent, executed)| {
            *divergent > 0 && *divergent as f64 >= DIVERGENT * *executed as f64
        })
        .collect();
    let Some((worst, divergent, executed)) = hits.iter().max_by_key(|h| h.1) else { return };
    let others = match hits.len() {
        1 => String::new(),
        2 => " One more branch diverges.".to_owned(),
        n => format!(" {} more branches diverge.", n - 1),
    };
    let evidence = format!(
        "Line {}: lanes of a warp went different ways in {} of {} executions ({}).{others} A warp instruction of the kernel serves {} of 32 lanes on average.",
        worst.ptx_line,
        count(*divergent),
        count(*executed),
        percent(*divergent as f64 / (*executed).max(1) as f64),
        significant(report.summary.lanes_per_instruction),
    );
    let remedy = "The paths of a divergent warp are executed one after the other. Write the condition so that it is the same for all threads of a warp, for example as a function of thread index / warp size; sort or compact the work so that neighbours do the same; keep short alternatives to a few instructions, which the compiler predicates (4, or 7 where it expects divergence).";
    // What the lanes between branch and reconvergence cost is not known per branch: all
    // instructions that ran with fewer lanes than the kernel's warps have.
    let full = report.lines.iter().filter_map(|l| l.lanes_per_issue).fold(0.0, f64::max);
    let partial: Vec<(&Line, f64)> = report
        .lines
        .iter()
        .filter_map(|l| Some((l, l.lanes_per_issue.filter(|lanes| *lanes < 0.95 * full)? / full)))
        .map(|(l, used)| (l, 1.0 - used))
        .collect();
    let mut finding = Finding::new(Kind::Divergence, evidence, remedy).about_part(report, &partial);
    let mut branches: Vec<_> = hits.iter().collect();
    branches.sort_by_key(|h| std::cmp::Reverse(h.1));
    finding.ptx_lines = branches.iter().map(|h| h.0.ptx_line).collect();
    finding.source = branches.first().and_then(|h| h.0.source.clone());
    out.push(finding);
}
