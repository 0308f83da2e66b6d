//! A chosen warp: which lanes worked when, the divergence tree, and its accesses.

use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::{WarpInfo, WarpPart};

use super::pattern;
use super::svg::{Svg, escape};
use crate::access::{legend, sentence as access_sentence};
use crate::number::{count, plural};
use crate::source::one_line;
use crate::warp::{depth, lines, sentence, why};

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 44.0;
const LANE: f64 = 8.0;
const TOP: f64 = 6.0;
const AXIS: f64 = 36.0;
/// Parts that are drawn.
const DRAWN: usize = 1500;
/// Parts of the tree that are written.
const WRITTEN: usize = 120;
/// Accesses that are drawn.
const ACCESSES: usize = 24;

/// The sections; nothing where no warp was followed.
pub(super) fn draw(report: &Report) -> String {
    let Some(warp) = report.warp.as_ref().filter(|warp| !warp.parts.is_empty()) else {
        return String::new();
    };
    let mut out = format!(
        "<section><h2>One warp</h2><p class=\"note\">{} A row of the picture is a lane; colours tell how often it has parted from others.</p>{}{}</section>",
        escape(&sentence(warp)),
        picture(warp, report),
        tree(warp, report)
    );
    let pictures: String = warp
        .accesses
        .iter()
        .take(ACCESSES)
        .filter_map(|access| {
            let line = report.lines.get(access.line as usize)?;
            Some(format!(
                "<details><summary>PTX line {} &nbsp; <code>{}</code><br>{}</summary><p class=\"note\">{} The number is the lane; pale boxes are fetched for nothing.</p>{}</details>",
                line.ptx_line,
                escape(&one_line(line)),
                escape(&access_sentence(report, access)),
                legend(access.space),
                pattern::picture(report, line, access.space, &access.pattern),
            ))
        })
        .collect();
    if !pictures.is_empty() {
        let _ = write!(
            out,
            "<section><h2>Accesses of this warp</h2><p class=\"note\">Open one to see which lane asks for which word.</p><div class=\"pictures\">{pictures}</div></section>"
        );
    }
    out
}

/// Where each part begins, and where the last one ends: in clocks, or in instructions where clocks are not known.
fn starts(warp: &WarpInfo) -> (Vec<u64>, &'static str) {
    let clocks: Option<Vec<u64>> = warp.parts.iter().map(|p| Some(p.clocks?[0])).collect();
    match clocks.filter(|clocks| clocks.is_sorted()) {
        Some(mut clocks) => {
            let last = warp.parts.last().and_then(|p| p.clocks).map_or(0, |c| c[1] + 1);
            clocks.push(last);
            (clocks, "clocks from the start of the kernel")
        }
        None => {
            let mut all = 0;
            let mut starts = vec![0];
            starts.extend(warp.parts.iter().map(|part| {
                all += part.instructions;
                all
            }));
            (starts, "instructions of the warp")
        }
    }
}

fn picture(warp: &WarpInfo, report: &Report) -> String {
    let (starts, unit) = starts(warp);
    let drawn = warp.parts.len().min(DRAWN);
    let (from, to) = (starts[0], starts[drawn].max(starts[0] + 1));
    let x = |at: u64| LEFT + (at - from) as f64 / (to - from) as f64 * (WIDTH - LEFT - 8.0);
    let height = TOP + LANE * 32.0 + AXIS;
    let mut svg = Svg::new(WIDTH, height, "Lanes of the warp over time");
    for lane in (0..32).step_by(8) {
        let y = TOP + LANE * f64::from(lane);
        svg.text("end mono", LEFT - 8.0, y + LANE, &lane.to_string());
        svg.line("grid", LEFT, y, WIDTH - 8.0, y);
    }
    for (part, at) in warp.parts.iter().zip(starts.windows(2)).take(drawn) {
        for (first, lanes) in ranges(part.lanes) {
            let y = TOP + LANE * f64::from(first);
            let width = (x(at[1]) - x(at[0]) - 0.5).max(0.8);
            let area = [x(at[0]), y, width, LANE * f64::from(lanes) - 1.0];
            svg.rect_titled(&format!("d{}", part.depth % 4), area, &title(report, part));
        }
    }
    for quarter in 0..=4 {
        let at = from + (to - from) * quarter / 4;
        let anchor = if quarter == 4 { "end" } else { "mid" };
        svg.text(anchor, x(at), height - AXIS + 16.0, &count(at));
    }
    svg.text("mid", WIDTH / 2.0, height - 4.0, unit);
    svg.finish_wide()
}

/// Lanes beside each other: the first and how many.
fn ranges(lanes: u32) -> Vec<(u32, u32)> {
    let (mut out, mut rest) = (Vec::new(), u64::from(lanes));
    while rest != 0 {
        let first = rest.trailing_zeros();
        let long = (rest >> first).trailing_ones();
        out.push((first, long));
        rest &= !(((1 << long) - 1) << first);
    }
    out
}

fn title(report: &Report, part: &WarpPart) -> String {
    format!(
        "{}, PTX lines {}, {}: {}",
        plural(part.lanes.count_ones().into(), "lane"),
        lines(report, part),
        plural(part.instructions, "instruction"),
        why(report, part)
    )
}

fn tree(warp: &WarpInfo, report: &Report) -> String {
    let mut out = String::from("<ul class=\"tree\">");
    for part in warp.parts.iter().take(WRITTEN) {
        let mut bits =
            String::from("<svg class=\"bits\" viewBox=\"0 0 96 10\" aria-hidden=\"true\">");
        for (first, lanes) in ranges(part.lanes) {
            let class = format!("d{}", part.depth % 4);
            let _ = write!(
                bits,
                "<rect class=\"{class}\" x=\"{}\" width=\"{}\" height=\"10\"/>",
                first * 3,
                lanes * 3
            );
        }
        let clocks = part.clocks.map_or_else(String::new, |[from, to]| {
            format!(", clocks {} to {}", count(from), count(to))
        });
        let _ = write!(
            out,
            "<li style=\"--depth:{}\">{bits}</svg><span><b>{}</b> lines {}, {}{clocks} <small>{}</small></span></li>",
            depth(part),
            plural(part.lanes.count_ones().into(), "lane"),
            lines(report, part),
            plural(part.instructions, "instruction"),
            escape(&why(report, part))
        );
    }
    out.push_str("</ul>");
    if let Some(more) = warp.parts.len().checked_sub(WRITTEN).filter(|more| *more > 0) {
        let _ = write!(out, "<p class=\"note\">And {} more parts.</p>", count(more as u64));
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn lanes_beside_each_other_are_one_range() {
        assert_eq!(super::ranges(u32::MAX), [(0, 32)]);
        assert_eq!(super::ranges(0x8000_0007), [(0, 3), (31, 1)]);
        assert_eq!(super::ranges(0), []);
    }
}
