//! How the lanes of a chosen warp parted and met again: the divergence tree, as rows for text and page.

use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::{Begins, WarpInfo, WarpPart};

use crate::access;
use crate::number::{count, significant};
use crate::source::one_line;
use crate::text::{Cell, Paint, Style, Table};

/// Parts that are shown unless all are wanted.
const SHOWN: usize = 40;
/// Steps to the right that show depth; what lies deeper stands below each other.
const DEEPEST: u32 = 8;

/// What the warp did, in a sentence.
pub(crate) fn sentence(warp: &WarpInfo) -> String {
    let mut out = format!(
        "Warp {} of block {}: {} instructions, {} of 32 lanes on average, {} of {} branches part them.",
        warp.warp,
        count(warp.block),
        count(warp.instructions),
        significant(warp.lanes_per_instruction),
        count(warp.divergent),
        count(warp.branches),
    );
    if warp.truncated {
        out.push_str(" It did more; what is shown ends there.");
    }
    out
}

/// The lines of a part.
pub(crate) fn lines(report: &Report, part: &WarpPart) -> String {
    let line = |index: u32| report.lines.get(index as usize).map_or(0, |line| line.ptx_line);
    match (line(part.first), line(part.last)) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    }
}

/// Why a part begins.
pub(crate) fn why(report: &Report, part: &WarpPart) -> String {
    let branch = part.branch.and_then(|branch| report.lines.get(branch as usize));
    let at = branch.map_or_else(String::new, |line| format!(" at line {}", line.ptx_line));
    match part.begins {
        Begins::Start => "start".to_owned(),
        Begins::Split => {
            let text = branch.map_or_else(String::new, |line| format!(": {}", one_line(line)));
            format!("part{at}{text}")
        }
        Begins::Predicated => format!("predicates{at} in place of the branch"),
        Begins::Ended => format!("others ended{at}"),
        Begins::Rejoin => "meet again".to_owned(),
    }
}

/// How far to the right a part stands.
pub(crate) fn depth(part: &WarpPart) -> u32 {
    part.depth.min(DEEPEST)
}

/// The tree and the chosen accesses as text.
pub(crate) fn text(report: &Report, all: bool, paint: Paint) -> String {
    let Some(warp) = &report.warp else { return String::new() };
    let mut out = format!("\n  {}\n\n", sentence(warp));
    let shown = if all { usize::MAX } else { SHOWN };
    let mut table = Table::new(&["lanes 0 to 31", ">", "PTX lines", ">instructions", "clocks", ""]);
    for part in warp.parts.iter().take(shown) {
        let lane = |n: u32| if part.lanes >> n & 1 == 0 { '.' } else { '#' };
        let picture: String = (0..32).map(lane).collect();
        let why = "| ".repeat(depth(part) as usize) + &why(report, part);
        let clocks = part.clocks.map(|[from, to]| format!("{} to {}", count(from), count(to)));
        table.row([
            picture.into(),
            part.lanes.count_ones().to_string().into(),
            lines(report, part).into(),
            count(part.instructions).into(),
            clocks.unwrap_or_default().into(),
            Cell::styled(why, Style::Dim),
        ]);
    }
    out.push_str(&table.render(paint));
    if let Some(more) = warp.parts.len().checked_sub(shown).filter(|more| *more > 0) {
        let note = format!("  and {} more parts; --all shows every one\n", count(more as u64));
        out.push_str(&paint.dim(&note));
    }
    let _ = write!(out, "{}", access::text(report, &warp.accesses, paint));
    out
}
