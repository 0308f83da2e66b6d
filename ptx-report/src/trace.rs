//! `ptxrun profile --trace`: the timeline in the Trace Event Format that chrome://tracing and
//! ui.perfetto.dev open.
//!
//! One process per SM, one thread per warp slot. A warp's life encloses what it did: its issues,
//! and the waiting before them under the name of the reason.

use std::io::{self, Write};

use ptx_timing::Report;
use serde_json::{Value, json};

use crate::source::one_line;

/// Writes the trace of a report with a timeline, event by event.
///
/// # Errors
/// Those of the writer.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let microseconds = |cycles: u64| cycles as f64 / report.device.sm_mhz;
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\"traceEvents\":[",
        json!({
            "kernel": report.kernel,
            "device": report.device.name,
            "grid": report.launch.grid,
            "block": report.launch.block,
            "sm_mhz": report.device.sm_mhz,
        })
    )?;
    let mut first = true;
    let mut event = |value: Value| -> io::Result<()> {
        let comma = if first { "\n" } else { ",\n" };
        first = false;
        write!(out, "{comma}{value}")
    };
    if let Some(timeline) = &report.timeline {
        let pid = timeline.sm;
        let name = format!("SM {pid} of {}: {}", report.device.name, report.kernel);
        event(json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}))?;
        let mut slots: Vec<u32> = timeline.warps.iter().map(|w| w.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let scheduler = slot % report.device.schedulers.max(1);
            let name = format!("warp slot {slot:02} (scheduler {scheduler})");
            event(
                json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": slot, "args": {"name": name}}),
            )?;
            event(
                json!({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": slot, "args": {"sort_index": slot}}),
            )?;
        }
        for warp in &timeline.warps {
            let end = warp.end.unwrap_or(timeline.until);
            event(json!({
                "ph": "X", "cat": "warp", "pid": pid, "tid": warp.slot,
                "name": format!("block {} warp {}", warp.block, warp.warp),
                "ts": microseconds(warp.start), "dur": microseconds(end.saturating_sub(warp.start)),
                "args": {"block": warp.block, "warp": warp.warp, "instructions": warp.issues.len()},
            }))?;
            let mut done = warp.start;
            for (i, issue) in warp.issues.iter().enumerate() {
                let waited = u64::from(issue.waited).min(issue.at.saturating_sub(done));
                if let Some(reason) = issue.reason.filter(|_| waited > 0) {
                    event(json!({
                        "ph": "X", "cat": "stall", "pid": pid, "tid": warp.slot,
                        "name": reason.to_string(),
                        "ts": microseconds(issue.at - waited), "dur": microseconds(waited),
                    }))?;
                }
                let Some(line) = report.lines.get(issue.line as usize) else { continue };
                // An expansion issues for several clocks, but not into the next instruction.
                let slots = line.issue_slots.checked_div(line.issues).unwrap_or(1).max(1);
                let next = warp.issues.get(i + 1).map_or(end, |n| n.at);
                let length = slots.min(next.saturating_sub(issue.at).max(1));
                done = issue.at + length;
                event(json!({
                    "ph": "X", "cat": line.class, "pid": pid, "tid": warp.slot,
                    "name": one_line(line),
                    "ts": microseconds(issue.at), "dur": microseconds(length),
                    "args": {"ptx line": line.ptx_line, "lanes": issue.active, "cycle": issue.at},
                }))?;
            }
        }
    }
    writeln!(out, "\n]}}")?;
    out.flush()
}
