//! Whether the warp and the accesses that somebody wants to see were there.

use std::collections::BTreeMap;

use ptx_timing::WarpChoice;

use crate::number::{count, plural};
use crate::profile::ProfiledLaunch;

/// Lines that are named.
const NAMED: usize = 12;

/// Why a choice shows nothing: what the launches have instead. An access is a line of the PTX text and which of its
/// executions by the warp; one launch that has it is enough.
pub fn unmet(
    launches: &[ProfiledLaunch],
    warp: WarpChoice,
    accesses: &[(u32, u64)],
) -> Option<String> {
    let WarpChoice { block, warp } = warp;
    let name = format!("warp {warp} of block {}", count(block));
    let followed: Vec<_> = launches
        .iter()
        .filter_map(|launch| Some((&launch.report, launch.report.warp.as_ref()?)))
        .collect();
    if followed.is_empty() {
        let launch = launches.first()?;
        let (l, o) = (&launch.report.launch, &launch.report.occupancy);
        return Some(format!(
            "no launch has {name}: `{}` has {} of {}, both counted from 0",
            launch.report.kernel,
            plural(l.blocks, "block"),
            plural(o.warps_per_block.into(), "warp")
        ));
    }
    // How often the warp came to each line of an access, most of all launches.
    let mut executions: BTreeMap<u32, u64> = BTreeMap::new();
    for (report, warp) in &followed {
        for (line, number) in &warp.executions {
            let line = report.lines.get(*line as usize).map_or(0, |line| line.ptx_line);
            let most = executions.entry(line).or_default();
            *most = (*most).max(*number);
        }
    }
    let shown = |line: u32, execution: u64| {
        followed.iter().any(|(report, warp)| {
            warp.accesses.iter().any(|access| {
                let at = report.lines.get(access.line as usize).map(|line| line.ptx_line);
                (at, access.execution) == (Some(line), execution)
            })
        })
    };
    let (line, execution) = accesses.iter().find(|(line, n)| !shown(*line, *n))?;
    Some(match executions.get(line) {
        None if executions.is_empty() => format!("{name} accesses no memory"),
        None => {
            let lines: Vec<String> = executions.keys().take(NAMED).map(u32::to_string).collect();
            let more = if executions.len() > NAMED { ", …" } else { "" };
            format!(
                "{name} accesses no memory at PTX line {line}; it does at {}{more}",
                lines.join(", ")
            )
        }
        Some(number) if execution > number => {
            format!("{name} comes to PTX line {line} {}, not {execution}", plural(*number, "time"))
        }
        Some(_) => format!(
            "{name} accesses no memory in execution {execution} of PTX line {line}, or more accesses were chosen than \
             are kept"
        ),
    })
}
