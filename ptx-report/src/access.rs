//! What the lanes of a warp access at once, laid out as memory serves it: words by lines of 128 bytes, or by banks.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx_timing::Report;
use ptx_timing::report::{AccessPattern, BankRequest, MemorySpace, WarpAccessInfo};

use crate::number::{count, plural};
use crate::profile::in_transactions;
use crate::source::one_line;
use crate::text::Paint;
use crate::totals::space;

/// Words of a line of 128 bytes.
pub(crate) const WORDS: u64 = 32;
/// Words of a sector.
pub(crate) const SECTOR: u64 = 8;
/// Lanes of a warp.
const LANES: usize = 32;
/// Rows that are laid out; of others it is said how many there are.
const ROWS: usize = 24;

/// A 4-byte word of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// Does not move.
    Still,
    /// Moves, though no lane asked for it.
    Fetched,
    /// These lanes asked for it.
    Taken(Vec<usize>),
}

/// Words in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// A name and the words of each row.
    pub rows: Vec<(String, Vec<Word>)>,
    /// Rows beyond these.
    pub more: usize,
}

/// The words of shared memory by step and bank, those of other spaces by line.
pub(crate) fn layout(report: &Report, space: MemorySpace, pattern: &AccessPattern) -> Layout {
    match space {
        MemorySpace::Shared => banks(report, pattern),
        MemorySpace::Global | MemorySpace::Local | MemorySpace::Constant | MemorySpace::Texture => {
            segments(pattern)
        }
    }
}

/// Lanes by the 4-byte word that they access, of some of what each accesses: so many bytes from an offset on.
fn words(
    pattern: &AccessPattern,
    of: u32,
    (offset, bytes): (u32, u32),
) -> BTreeMap<u64, Vec<usize>> {
    let mut out: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (lane, address) in pattern.lanes.iter().enumerate().take(LANES) {
        let Some(address) = address.filter(|_| of >> lane & 1 != 0) else { continue };
        let first = address.saturating_add(offset.into());
        let end = first.saturating_add(u64::from(bytes.max(1)) - 1);
        for word in first / 4..=end / 4 {
            out.entry(word).or_default().push(lane);
        }
    }
    out
}

fn segments(pattern: &AccessPattern) -> Layout {
    let words = words(pattern, u32::MAX, (0, pattern.width));
    let mut lines: Vec<u64> = words.keys().map(|word| word / WORDS).collect();
    lines.dedup();
    let base = lines.first().copied().unwrap_or(0);
    let word = |word: u64| {
        let sector = word / SECTOR * SECTOR;
        match words.get(&word) {
            Some(lanes) => Word::Taken(lanes.clone()),
            None if words.range(sector..sector + SECTOR).next().is_some() => Word::Fetched,
            None => Word::Still,
        }
    };
    let row = |line: &u64| {
        let first = line * WORDS;
        (format!("+0x{:x}", (line - base) * 128), (first..first + WORDS).map(word).collect())
    };
    let rows = lines.iter().take(ROWS).map(row).collect();
    Layout { rows, more: lines.len().saturating_sub(ROWS) }
}

fn banks(report: &Report, pattern: &AccessPattern) -> Layout {
    let banks = u64::from(report.device.banks.max(1));
    let atomic = BankRequest { lanes: u32::MAX, offset: 0, bytes: pattern.width, steps: 0 };
    let requests = match &pattern.requests[..] {
        [] => std::slice::from_ref(&atomic),
        requests => requests,
    };
    let mut all: Vec<(String, Vec<Word>)> = Vec::new();
    for request in requests {
        let by_bank = served(report, pattern, request);
        let steps = by_bank.values().map(Vec::len).max().unwrap_or(0);
        let word = |bank: u64, step: usize| {
            let served = by_bank.get(&bank).and_then(|served| served.get(step));
            served.map_or(Word::Still, |(_, lanes)| Word::Taken(lanes.clone()))
        };
        let row = |step: usize| (0..banks).map(|bank| word(bank, step)).collect();
        all.extend((0..steps).map(|step| (lanes_and_step(request.lanes, step), row(step))));
    }
    let more = all.len().saturating_sub(ROWS);
    all.truncate(ROWS);
    Layout { rows: all, more }
}

/// The words that a request takes from each bank, one after the other.
fn served(
    report: &Report,
    pattern: &AccessPattern,
    request: &BankRequest,
) -> BTreeMap<u64, Vec<(u64, Vec<usize>)>> {
    let banks = u64::from(report.device.banks.max(1));
    // 64-bit banks of 3.x serve both words of an aligned pair of rows at once.
    let pairs = report.device.compute_capability.starts_with("3.");
    let row_of = |word: u64| if pairs { word / (2 * banks) } else { word / banks };
    let mut by_bank: BTreeMap<u64, Vec<(u64, Vec<usize>)>> = BTreeMap::new();
    for (word, lanes) in words(pattern, request.lanes, (request.offset, request.bytes)) {
        let column = by_bank.entry(word % banks).or_default();
        match column.iter_mut().find(|(row, _)| pairs && *row == row_of(word)) {
            Some((_, known)) => known.extend(lanes),
            None => column.push((row_of(word), lanes)),
        }
    }
    by_bank
}

/// `0-15, 2`: the lanes of a request from the first to the last, and a step.
fn lanes_and_step(lanes: u32, step: usize) -> String {
    let (first, last) = (lanes.trailing_zeros() % 32, 31 - lanes.leading_zeros() % 32);
    format!("{first}-{last}, {}", step + 1)
}

/// What an access of a chosen warp is and costs.
pub(crate) fn sentence(report: &Report, access: &WarpAccessInfo) -> String {
    let lanes = access.pattern.lanes.iter().flatten().count() as u64;
    let cost = u64::from(access.pattern.cost);
    let cost = match access.space {
        MemorySpace::Shared => plural(cost, "step"),
        MemorySpace::Constant => format!("{cost} distinct addresses"),
        _ if in_transactions(report) => plural(cost, "transaction"),
        _ => plural(cost, "sector"),
    };
    let clock = access.clock.map_or_else(String::new, |at| format!(" in clock {}", count(at)));
    format!(
        "Execution {}{clock}: {} of {} in {} memory, {cost}.",
        count(access.execution),
        plural(lanes, "lane"),
        plural(access.pattern.width.into(), "byte"),
        space(access.space),
    )
}

/// What a picture shows, for readers of one.
pub(crate) fn legend(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Shared => {
            "A column is a bank, a row one step of lanes that are served together: their numbers, then that of the step."
        }
        _ => "A row is an aligned line of 128 bytes, a place in it a word.",
    }
}

/// A lane as one character.
fn digit(lanes: &[usize]) -> char {
    match lanes {
        [one] => char::from_digit(*one as u32, 32).unwrap_or('?'),
        _ => '*',
    }
}

/// The accesses of the chosen warp as text.
pub(crate) fn text(report: &Report, accesses: &[WarpAccessInfo], paint: Paint) -> String {
    let mut out = String::new();
    for access in accesses {
        let Some(line) = report.lines.get(access.line as usize) else { continue };
        let _ = writeln!(out, "\n  PTX line {}: {}", line.ptx_line, paint.bold(&one_line(line)));
        let _ = writeln!(out, "  {}", sentence(report, access));
        let layout = layout(report, access.space, &access.pattern);
        for (name, words) in &layout.rows {
            let _ = write!(out, "    {name:<10}");
            for (n, word) in words.iter().enumerate() {
                if n > 0 && (n as u64).is_multiple_of(SECTOR) {
                    out.push(' ');
                }
                out.push(match word {
                    Word::Still => '.',
                    Word::Fetched => '-',
                    Word::Taken(lanes) => digit(lanes),
                });
            }
            out.push('\n');
        }
        if layout.more > 0 {
            let _ = writeln!(out, "    and {}", plural(layout.more as u64, "more row"));
        }
    }
    if !accesses.is_empty() {
        out.push_str(&paint.dim(
            "  0-9, a-v: the lane; *: several lanes; -: moved, though no lane asked for it. A row is a line of 128 bytes or,\n  in shared memory, a step of lanes that are served together (a-b, step); a column is a word or a bank.\n",
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(address: impl Fn(u64) -> Option<u64>) -> AccessPattern {
        AccessPattern {
            width: 4,
            lanes: (0..32).map(address).collect(),
            cost: 1,
            requests: Vec::new(),
        }
    }

    #[test]
    fn words_lie_by_lines_and_sectors() {
        // Every second word from the middle of a line on.
        let layout = segments(&pattern(|lane| (lane < 12).then_some(64 + 8 * lane)));
        assert_eq!((layout.rows.len(), layout.more), (2, 0));
        assert_eq!((layout.rows[0].0.as_str(), layout.rows[1].0.as_str()), ("+0x0", "+0x80"));
        let first = &layout.rows[0].1;
        assert_eq!((&first[15], &first[16]), (&Word::Still, &Word::Taken(vec![0])));
        assert_eq!((&first[17], &first[30]), (&Word::Fetched, &Word::Taken(vec![7])));
        let second = &layout.rows[1].1;
        assert_eq!(
            (&second[6], &second[7], &second[8]),
            (&Word::Taken(vec![11]), &Word::Fetched, &Word::Still)
        );
        // Lines that lie apart are not joined, and what is too much is counted.
        let far = segments(&pattern(|lane| Some(lane << 20)));
        assert_eq!((far.rows.len(), far.more, far.rows[1].0.as_str()), (24, 8, "+0x100000"));
        assert_eq!(digit(&[31]), 'v');
    }
}
