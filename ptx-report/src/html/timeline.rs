//! What the warps of one SM did: a row per warp slot, time from left to right.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::{Stall, Timeline, WarpTimeline};

use super::svg::{Svg, at};
use crate::number::{count, time};

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 8.0;
const AXIS: f64 = 36.0;
/// Columns that a row is divided into.
const COLUMNS: usize = 560;
/// Slots that are drawn.
const ROWS: usize = 64;

/// Clocks of a column by what they went into.
#[derive(Clone, Copy, Default)]
struct Column {
    issue: f64,
    stalls: [f64; 6],
}

impl Column {
    fn main_stall(&self) -> Option<Stall> {
        let (i, n) = self.stalls.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*n > 0.0).then(|| Stall::ALL[i])
    }
}

/// The picture and its note; nothing without a timeline.
pub(super) fn draw(report: &Report) -> Option<(String, String)> {
    let timeline = report.timeline.as_ref().filter(|t| t.until > 0 && !t.warps.is_empty())?;
    // A short launch ends before the recording does.
    let last = timeline.warps.iter().map(|w| w.end.unwrap_or(timeline.until)).max();
    let timeline = &Timeline {
        until: last.unwrap_or(timeline.until).clamp(1, timeline.until),
        ..timeline.clone()
    };
    let mut slots: BTreeMap<u32, Vec<&WarpTimeline>> = BTreeMap::new();
    for warp in &timeline.warps {
        slots.entry(warp.slot).or_default().push(warp);
    }
    let rows = slots.len().min(ROWS);
    let pitch = if rows > 32 { 9.0 } else { 13.0 };
    let bar = pitch - 2.0;
    let height = TOP + pitch * rows as f64 + AXIS;
    let x = |clock: f64| LEFT + clock / timeline.until as f64 * (WIDTH - LEFT - 8.0);
    let mut svg = Svg::new(WIDTH, height, "Timeline of the warps of one SM");
    let step = round_step(timeline.until as f64 / 8.0);
    let mut clock = 0.0;
    while clock <= timeline.until as f64 {
        svg.line("grid", x(clock), TOP, x(clock), height - AXIS);
        let anchor = if x(clock) > WIDTH - 30.0 { "end" } else { "mid" };
        svg.text(anchor, x(clock), height - AXIS + 15.0, &count(clock as u64));
        clock += step;
    }
    svg.text(
        "mid",
        LEFT + (WIDTH - LEFT) / 2.0,
        height - 4.0,
        "clocks from the start of the kernel",
    );
    // One path per colour: strokes as high as a bar.
    let mut waits: BTreeMap<Stall, String> = BTreeMap::new();
    let mut works: BTreeMap<u32, String> = BTreeMap::new();
    let schedulers = report.device.schedulers.max(1);
    let fair = f64::from(schedulers) / f64::from(report.occupancy.warps.max(1));
    let column_width = (WIDTH - LEFT - 8.0) / COLUMNS as f64;
    for (row, (slot, warps)) in slots.iter().take(rows).enumerate() {
        let y = TOP + pitch * row as f64;
        if rows <= 32 || row % 4 == 0 {
            svg.text("end mono", LEFT - 8.0, y + bar * 0.85, &format!("warp {slot}"));
        }
        let columns = fill(report, timeline, warps);
        let mut i = 0;
        while i < COLUMNS {
            let reason = columns[i].main_stall();
            let mut n = 1;
            while i + n < COLUMNS && columns[i + n].main_stall() == reason {
                n += 1;
            }
            if let Some(reason) = reason {
                let d = waits.entry(reason).or_default();
                let start = LEFT + column_width * i as f64;
                let _ = write!(
                    d,
                    "M{} {}h{}",
                    at(start),
                    at(y + bar / 2.0),
                    at(column_width * n as f64)
                );
            }
            i += n;
        }
        let clocks = timeline.until as f64 / COLUMNS as f64;
        let mut i = 0;
        while i < COLUMNS {
            // A quarter, half, three quarters or all of its fair share of the issue slots.
            let level =
                |c: &Column| (c.issue / clocks / fair.min(1.0) * 4.0).ceil().min(4.0) as u32;
            let this = level(&columns[i]);
            let mut n = 1;
            while i + n < COLUMNS && level(&columns[i + n]) == this {
                n += 1;
            }
            if this > 0 {
                let high = bar * f64::from(this) / 4.0;
                let d = works.entry(this).or_default();
                let start = LEFT + column_width * i as f64;
                let _ = write!(
                    d,
                    "M{} {}h{}",
                    at(start),
                    at(y + bar - high / 2.0),
                    at(column_width * n as f64)
                );
            }
            i += n;
        }
        for warp in warps.iter().filter(|w| w.start > 0) {
            svg.line("axis", x(warp.start as f64), y, x(warp.start as f64), y + bar);
        }
    }
    for (reason, d) in &waits {
        svg.strokes(&format!("wait f-{}", reason.name()), bar, d);
    }
    for (level, d) in &works {
        svg.strokes("work f-issue", bar * f64::from(*level) / 4.0, d);
    }
    let more = match slots.len() - rows {
        0 => String::new(),
        n => format!(" {n} more warp slots are not drawn."),
    };
    let note = format!(
        "SM {}, the first {} clocks ({}), {} blocks. A row is a warp slot; its colour says what the warp waits for, the blue bar how much it issues (full height: its fair share of the issue slots); a grey tick is the start of another block's warp.{more}",
        timeline.sm,
        count(timeline.until),
        time(timeline.until as f64 / report.device.sm_mhz),
        timeline.warps.iter().map(|w| w.block).collect::<std::collections::BTreeSet<_>>().len(),
    );
    Some((svg.finish_wide(), note))
}

/// Clocks between two marks: 1, 2 or 5 times a power of ten.
fn round_step(about: f64) -> f64 {
    let power = 10f64.powf(about.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= about).unwrap_or(power)
}

fn fill(report: &Report, timeline: &Timeline, warps: &[&WarpTimeline]) -> Vec<Column> {
    let mut columns = vec![Column::default(); COLUMNS];
    let scale = COLUMNS as f64 / timeline.until as f64;
    let mut spread = |from: f64, to: f64, add: &dyn Fn(&mut Column, f64)| {
        let (from, to) = (from * scale, (to * scale).min(COLUMNS as f64));
        let mut at = from.max(0.0);
        while at < to {
            let i = at.floor();
            let next = (i + 1.0).min(to);
            if let Some(column) = columns.get_mut(i as usize) {
                add(column, (next - at) / scale);
            }
            at = next;
        }
    };
    for warp in warps {
        let mut done = warp.start;
        for issue in &warp.issues {
            let waited = u64::from(issue.waited).min(issue.at.saturating_sub(done));
            if let Some(reason) = issue.reason {
                let index = Stall::ALL.iter().position(|s| *s == reason).unwrap_or(0);
                let start = (issue.at - waited) as f64;
                spread(start, issue.at as f64, &|c, n| c.stalls[index] += n);
            }
            let slots = report
                .lines
                .get(issue.line as usize)
                .and_then(|l| l.issue_slots.checked_div(l.issues))
                .unwrap_or(1)
                .max(1);
            spread(issue.at as f64, (issue.at + slots) as f64, &|c, n| c.issue += n);
            done = issue.at + slots;
        }
    }
    columns
}
