//! Pictures of the addresses that the lanes of a warp access at once.

use ptx_timing::Report;
use ptx_timing::report::{AccessPattern, Line, MemoryLine, MemorySpace};

use super::svg::{Svg, escape};
use crate::access::{Layout, SECTOR, WORDS, Word, layout};
use crate::number::{count, percent, significant};
use crate::profile::in_transactions;
use crate::source::one_line;

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 84.0;
const ROW: f64 = 19.0;
/// Pictures of a page.
const PICTURES: usize = 4;

/// Pictures of the instructions that waste most, with a caption each.
pub(super) fn draw(report: &Report) -> String {
    let mut all: Vec<(&Line, &MemoryLine, &AccessPattern, f64)> = report
        .lines
        .iter()
        .filter_map(|l| {
            let m = l.memory.as_ref()?;
            let worst = m.worst.as_ref()?;
            Some((l, m, worst, waste(report, m)))
        })
        .filter(|(_, m, ..)| matches!(m.space, MemorySpace::Global | MemorySpace::Shared))
        .filter(|(.., waste)| *waste > 0.0)
        .collect();
    all.sort_by(|a, b| b.3.total_cmp(&a.3).then(a.0.ptx_line.cmp(&b.0.ptx_line)));
    all.iter()
        .take(PICTURES)
        .map(|(line, memory, pattern, _)| {
            format!(
                "<figure><figcaption>PTX line {} &nbsp; <code>{}</code><br>{}</figcaption>{}</figure>",
                line.ptx_line,
                escape(&one_line(line)),
                escape(&caption(report, memory, pattern)),
                picture(report, line, memory.space, pattern),
            )
        })
        .collect()
}

/// Bytes moved, or steps taken, beyond what was needed; in bytes, so that both can be put in order.
fn waste(report: &Report, m: &MemoryLine) -> f64 {
    match m.space {
        MemorySpace::Shared => m.conflicts as f64 * f64::from(report.device.banks * 4),
        MemorySpace::Global | MemorySpace::Local | MemorySpace::Constant | MemorySpace::Texture => {
            m.bytes_moved as f64 - m.bytes_used as f64
        }
    }
}

fn caption(report: &Report, m: &MemoryLine, pattern: &AccessPattern) -> String {
    let lanes = pattern.lanes.iter().flatten().count();
    let unit = if in_transactions(report) { "transactions" } else { "sectors" };
    match m.space {
        MemorySpace::Shared => format!(
            "The worst access of the first block: {lanes} lanes, {} steps. On average {}-way, {} steps too many in all. A column is one of {} banks, a row one step of lanes that are served together (named beside it, with the number of the step); the number is the lane.",
            pattern.cost,
            significant(m.conflict_ways.unwrap_or(1.0)),
            count(m.conflicts),
            report.device.banks,
        ),
        _ => format!(
            "The worst access of the first block: {lanes} lanes, {} {unit}. On average {} per request; of all bytes moved, {} were asked for. A row is an aligned line of 128 bytes, a box a word; the number is the lane; pale boxes are fetched for nothing.",
            pattern.cost,
            significant(m.transactions_per_request.unwrap_or(0.0)),
            percent(m.bytes_used as f64 / m.bytes_moved.max(1) as f64),
        ),
    }
}

fn label(lanes: &[usize]) -> String {
    match lanes {
        [one] => one.to_string(),
        [first, .., last] if last - first + 1 == lanes.len() => format!("{first}-{last}"),
        [first, ..] => format!("{first}+"),
        [] => String::new(),
    }
}

fn cell_class(lanes: &[usize]) -> &'static str {
    // Half-warps are told apart: they are separate requests on 1.x.
    if lanes.first().is_some_and(|l| *l >= 16) { "taken2" } else { "taken" }
}

/// The picture of one access: words by lines of 128 bytes or, in shared memory, by banks.
pub(super) fn picture(
    report: &Report,
    line: &Line,
    space: MemorySpace,
    pattern: &AccessPattern,
) -> String {
    let Layout { rows, more } = layout(report, space, pattern);
    let shared = space == MemorySpace::Shared;
    let columns = rows.first().map_or(WORDS as usize, |row| row.1.len()).max(1);
    let column = (WIDTH - LEFT - 6.0) / columns as f64;
    let note = if more > 0 { 18.0 } else { 0.0 };
    let what = if shared { "Banks" } else { "Addresses" };
    let label_text = format!("{what} of PTX line {}", line.ptx_line);
    let mut svg = Svg::new(WIDTH, 16.0 + ROW * rows.len() as f64 + note + 4.0, &label_text);
    if shared {
        svg.text("end", LEFT - 8.0, 10.0, "bank");
        for bank in 0..columns {
            svg.text("mid", LEFT + column * (bank as f64 + 0.5), 10.0, &bank.to_string());
        }
    } else {
        for sector in 0..WORDS / SECTOR {
            let x = LEFT + column * ((sector * SECTOR) as f64 + SECTOR as f64 / 2.0);
            let first = sector * SECTOR * 4;
            svg.text("mid", x, 10.0, &format!("bytes {first}-{}", first + SECTOR * 4 - 1));
        }
    }
    for (n, (name, words)) in rows.iter().enumerate() {
        let y = 16.0 + ROW * n as f64;
        svg.text(if shared { "end" } else { "end mono" }, LEFT - 8.0, y + 13.0, name);
        for (i, word) in words.iter().enumerate() {
            let x = LEFT + column * i as f64;
            // Sectors stand apart.
            let gap = if !shared && (i as u64).is_multiple_of(SECTOR) { 1.5 } else { 0.0 };
            let class = match word {
                Word::Still => "cell",
                Word::Fetched => "fetched",
                Word::Taken(lanes) => cell_class(lanes),
            };
            svg.rect(class, x + gap, y, column - 0.5 - gap, ROW - 2.0);
            if let Word::Taken(lanes) = word {
                svg.text("lane", x + column / 2.0, y + 12.0, &label(lanes));
            }
        }
    }
    if more > 0 {
        let text = if shared { "more steps" } else { "more lines of 128 bytes" };
        let y = 16.0 + ROW * rows.len() as f64 + 13.0;
        svg.text("", LEFT, y, &format!("and {more} {text}"));
    }
    svg.finish_wide()
}
