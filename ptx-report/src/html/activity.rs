//! What the device did over time: instructions, device memory, resident blocks.

use ptx_timing::Report;
use ptx_timing::report::ActivitySpan;

use super::svg::{Svg, at};
use crate::number::{count, prefixed, significant, time};

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 8.0;
const HIGH: f64 = 64.0;
const PITCH: f64 = 94.0;
const TOP: f64 = 20.0;
const AXIS: f64 = 34.0;

/// A row of the picture: its name with the most there was, and a value for each span.
type Row = (String, fn(&ActivitySpan) -> f64);

/// The picture and its note; nothing for a launch that did nothing.
pub(super) fn draw(report: &Report) -> Option<(String, String)> {
    let spans = &report.activity;
    let until = spans.last().filter(|last| last.until > 0)?.until;
    let most = |of: fn(&ActivitySpan) -> f64| spans.iter().map(of).fold(0.0, f64::max);
    let ipc = |s: &ActivitySpan| s.ipc;
    let dram = |s: &ActivitySpan| s.dram_gbps;
    let blocks = |s: &ActivitySpan| s.blocks as f64;
    let rows: [Row; 3] = [
        (format!("instructions per clock and SM, at most {}", significant(most(ipc))), ipc),
        (format!("device memory, at most {}B/s", prefixed(most(dram) * 1e9)), dram),
        (format!("resident blocks, at most {}", count(most(blocks) as u64)), blocks),
    ];
    let height = TOP + PITCH * rows.len() as f64 + AXIS - (PITCH - HIGH);
    let x = |clock: u64| LEFT + clock as f64 / until as f64 * (WIDTH - 2.0 * LEFT);
    let mut svg = Svg::new(WIDTH, height, "What the device did over time");
    for (n, (name, value)) in rows.iter().enumerate() {
        let bottom = TOP + PITCH * n as f64 + HIGH;
        let most = most(*value).max(f64::MIN_POSITIVE);
        svg.text("", LEFT, bottom - HIGH - 6.0, name);
        svg.line("grid", LEFT, bottom - HIGH, WIDTH - LEFT, bottom - HIGH);
        svg.line("axis", LEFT, bottom, WIDTH - LEFT, bottom);
        let mut outline = format!("M{} {}", at(LEFT), at(bottom));
        for span in spans {
            let y = bottom - value(span) / most * HIGH;
            outline += &format!("V{}H{}", at(y), at(x(span.until)));
        }
        svg.path("step", &format!("{outline}V{}Z", at(bottom)));
        svg.path("stepline", &outline);
    }
    for quarter in 0..=4 {
        let clock = until * quarter / 4;
        let anchor = ["", "mid", "mid", "mid", "end"][quarter as usize];
        svg.text(anchor, x(clock), height - AXIS + 16.0, &count(clock));
    }
    svg.text("mid", WIDTH / 2.0, height - 3.0, "clocks from the start of the kernel");
    let part = if report.sampling.is_some() { " of the blocks that were simulated" } else { "" };
    let note = format!(
        "All SMs{part}, {} clocks ({}) in {} spans.",
        count(until),
        time(until as f64 / report.device.sm_mhz),
        spans.len()
    );
    Some((svg.finish_wide(), note))
}
