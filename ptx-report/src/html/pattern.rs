//! Pictures of the addresses that the lanes of a warp access at once.

use std::collections::BTreeMap;

use ptx_timing::Report;
use ptx_timing::report::{AccessPattern, Line, MemoryLine, MemorySpace};

use super::svg::{Svg, escape};
use crate::number::{count, percent, significant};
use crate::source::one_line;

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 84.0;
const ROW: f64 = 19.0;
/// Rows of a picture; what is beyond is said in words.
const ROWS: usize = 12;
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
            let picture = match memory.space {
                MemorySpace::Shared => banks(report, line, pattern),
                MemorySpace::Global
                | MemorySpace::Local
                | MemorySpace::Constant
                | MemorySpace::Texture => segments(line, pattern),
            };
            format!(
                "<figure><figcaption>PTX line {} &nbsp; <code>{}</code><br>{}</figcaption>{picture}</figure>",
                line.ptx_line,
                escape(&one_line(line)),
                escape(&caption(report, memory, pattern)),
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
    match m.space {
        MemorySpace::Shared => format!(
            "The worst access of the first block: {lanes} lanes, {} steps. On average {}-way, {} steps too many in all. A column is one of {} banks, a row one step; the number is the lane.",
            pattern.cost,
            significant(m.conflict_ways.unwrap_or(1.0)),
            count(m.conflicts),
            report.device.banks,
        ),
        _ => format!(
            "The worst access of the first block: {lanes} lanes, {} transactions. On average {} per request; of all bytes moved, {} were asked for. A row is an aligned line of 128 bytes, a box a word; the number is the lane; pale boxes are fetched for nothing.",
            pattern.cost,
            significant(m.transactions_per_request.unwrap_or(0.0)),
            percent(m.bytes_used as f64 / m.bytes_moved.max(1) as f64),
        ),
    }
}

/// Lanes by the 4-byte word that they access.
fn words(pattern: &AccessPattern, lanes: usize) -> BTreeMap<u64, Vec<usize>> {
    let mut out: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (lane, address) in pattern.lanes.iter().enumerate().take(lanes) {
        let Some(address) = address else { continue };
        let end = address.saturating_add(u64::from(pattern.width.max(1)) - 1);
        for word in address / 4..=end / 4 {
            out.entry(word).or_default().push(lane);
        }
    }
    out
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

fn segments(line: &Line, pattern: &AccessPattern) -> String {
    let words = words(pattern, 32);
    let mut rows: Vec<u64> = words.keys().map(|w| w / 32).collect();
    rows.dedup();
    let shown = rows.len().min(ROWS);
    let column = (WIDTH - LEFT - 6.0) / 32.0;
    let note = if rows.len() > shown { 18.0 } else { 0.0 };
    let label_text = format!("Addresses of PTX line {}", line.ptx_line);
    let mut svg = Svg::new(WIDTH, 16.0 + ROW * shown as f64 + note + 4.0, &label_text);
    for sector in 0..4 {
        let x = LEFT + column * 8.0 * f64::from(sector);
        svg.text(
            "mid",
            x + column * 4.0,
            10.0,
            &format!("bytes {}-{}", sector * 32, sector * 32 + 31),
        );
    }
    let base = rows.first().copied().unwrap_or(0);
    for (i, row) in rows.iter().take(shown).enumerate() {
        let y = 16.0 + ROW * i as f64;
        svg.text("end mono", LEFT - 8.0, y + 13.0, &format!("+0x{:x}", (row - base) * 128));
        for sector in 0..4 {
            let first = row * 32 + sector * 8;
            let fetched = words.range(first..first + 8).next().is_some();
            for word in first..first + 8 {
                let x = LEFT + column * (word % 32) as f64;
                let gap = if word % 8 == 0 { 1.5 } else { 0.0 };
                let class = match words.get(&word) {
                    Some(lanes) => cell_class(lanes),
                    None if fetched => "fetched",
                    None => "cell",
                };
                svg.rect(class, x + gap, y, column - 0.5 - gap, ROW - 2.0);
                if let Some(lanes) = words.get(&word) {
                    svg.text("lane", x + column / 2.0, y + 12.0, &label(lanes));
                }
            }
        }
    }
    if rows.len() > shown {
        let text = format!("and {} more lines of 128 bytes", rows.len() - shown);
        svg.text("", LEFT, 16.0 + ROW * shown as f64 + 13.0, &text);
    }
    svg.finish()
}

fn banks(report: &Report, line: &Line, pattern: &AccessPattern) -> String {
    let banks = u64::from(report.device.banks.max(1));
    let generation = report.device.compute_capability.split('.').next().unwrap_or("");
    // Lanes that are served together: a half-warp on 1.x; on later devices as many as can take one
    // word from every bank.
    let together = match generation {
        "1" => 16,
        _ => (32 * 4 / pattern.width.max(4) as usize).clamp(8, 32),
    };
    // The first lanes that take part, in groups of that size.
    let first = pattern.lanes.iter().position(Option::is_some).unwrap_or(0) / together * together;
    let mut group = pattern.clone();
    for (lane, address) in group.lanes.iter_mut().enumerate() {
        if lane < first || lane >= first + together {
            *address = None;
        }
    }
    // 64-bit banks of 3.x serve both words of an aligned pair of rows at once.
    let row_of = |word: u64| if generation == "3" { word / (2 * banks) } else { word / banks };
    let mut by_bank: BTreeMap<u64, Vec<(u64, Vec<usize>)>> = BTreeMap::new();
    for (word, lanes) in words(&group, 32) {
        let column = by_bank.entry(word % banks).or_default();
        match column.iter_mut().find(|(row, _)| generation == "3" && *row == row_of(word)) {
            Some((_, known)) => known.extend(lanes),
            None => column.push((row_of(word), lanes)),
        }
    }
    let steps = by_bank.values().map(Vec::len).max().unwrap_or(0);
    let shown = steps.min(ROWS + 4);
    let column = (WIDTH - LEFT - 6.0) / banks as f64;
    let note = if steps > shown { 18.0 } else { 0.0 };
    let label_text = format!("Banks of PTX line {}", line.ptx_line);
    let mut svg = Svg::new(WIDTH, 16.0 + ROW * shown as f64 + note + 4.0, &label_text);
    svg.text("end", LEFT - 8.0, 10.0, "bank");
    for bank in 0..banks {
        let x = LEFT + column * bank as f64;
        svg.text("mid", x + column / 2.0, 10.0, &bank.to_string());
        let accesses = by_bank.get(&bank).map_or(&[][..], Vec::as_slice);
        for step in 0..shown {
            let y = 16.0 + ROW * step as f64;
            let class = accesses.get(step).map_or("cell", |(_, lanes)| cell_class(lanes));
            svg.rect(class, x, y, column - 1.0, ROW - 2.0);
            if let Some((_, lanes)) = accesses.get(step) {
                svg.text("lane", x + column / 2.0, y + 12.0, &label(lanes));
            }
        }
    }
    for step in 0..shown {
        svg.text("end", LEFT - 8.0, 16.0 + ROW * step as f64 + 12.0, &format!("step {}", step + 1));
    }
    if steps > shown {
        let text = format!("and {} more steps", steps - shown);
        svg.text("", LEFT, 16.0 + ROW * shown as f64 + 13.0, &text);
    }
    svg.finish()
}
