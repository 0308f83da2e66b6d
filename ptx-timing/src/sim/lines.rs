//! The lines that an access touches, and what it does to their sectors.

use smallvec::SmallVec;

use super::shape::{MAX_SECTORS, Part, SECTOR, part};
use crate::access::WarpAccess;
use crate::coalesce::transactions;
use crate::profile::Protocol;

/// Where lines lie in a list of parts, by a hash of their numbers.
struct Places {
    /// Bits of an address within a line.
    shift: u32,
    /// One more than the index of the line that came last with a hash; 0 if none has.
    latest: [u8; HASHES],
    last: usize,
}

const HASHES: usize = 1 << 7;

impl Places {
    /// For an empty list of lines of so many bytes, a power of two.
    fn new(line: u64) -> Self {
        Self { shift: line.trailing_zeros(), latest: [0; HASHES], last: 0 }
    }

    /// For a list of lines from `origin`.
    fn of(line: u64, lines: &[Part], origin: u64) -> Self {
        let mut places = Self::new(line);
        for (index, part) in lines.iter().enumerate() {
            places.note(origin.wrapping_add(part.offset), index);
        }
        places.last = 0;
        places
    }

    fn hash(&self, line: u64) -> usize {
        let number = line >> self.shift;
        (number ^ number >> 7 ^ number >> 14) as usize % HASHES
    }

    fn note(&mut self, line: u64, index: usize) {
        self.latest[self.hash(line)] = index.min(254) as u8 + 1;
        self.last = index;
    }

    /// The index of the line that begins at an address.
    fn find(&mut self, line: u64, lines: &[Part], origin: u64) -> Option<usize> {
        let offset = line.wrapping_sub(origin);
        // Neighbouring lanes mostly share a line.
        if lines.get(self.last).is_some_and(|part| part.offset == offset) {
            return Some(self.last);
        }
        let latest = usize::from(self.latest[self.hash(line)].checked_sub(1)?);
        let is = |part: &Part| part.offset == offset;
        let found = match lines.get(latest).filter(|part| is(part)) {
            Some(_) => Some(latest),
            None => lines.iter().position(is),
        };
        self.last = found.unwrap_or(self.last);
        found
    }
}

/// Whether masks tell all sectors of a line of so many bytes.
fn holds_masks(line: u64) -> bool {
    line.is_power_of_two() && line <= MAX_SECTORS as u64 * SECTOR
}

/// What lanes touch of lines of 128 bytes; of other lines nothing is known.
#[derive(Default)]
pub(super) struct Touched {
    /// By line: its words.
    words: SmallVec<[u32; 32]>,
    /// Whether no lane has a part of what another has.
    apart: bool,
}

impl Touched {
    /// Bytes that lanes touch, if that is known.
    pub fn bytes(&self) -> Option<u64> {
        let words = self.words.iter().map(|words| u64::from(words.count_ones()));
        self.apart.then(|| words.sum::<u64>() * WORD)
    }
}

/// Bytes of what a bank has of a line, and of a line that has one word for each bank.
const WORD: u64 = 4;
const LINE: u64 = 128;

/// Lines with the sectors that lanes touch.
pub(super) fn lines(
    line: u32,
    sector: u32,
    access: &WarpAccess,
    origin: u64,
    out: &mut Vec<Part>,
) -> Touched {
    let first = out.len();
    let line = u64::from(line);
    let mut touched = Touched::default();
    if u64::from(sector) != SECTOR || !holds_masks(line) {
        lines_of_other_sectors(line, sector, access, origin, out);
        return touched;
    }
    let mut places = Places::new(line);
    let mut all = 0;
    for (_, address) in access.lanes() {
        all |= address;
        let (start, end) = access.span(address);
        for sector in start / SECTOR..=end / SECTOR {
            let begin = sector * SECTOR & !(line - 1);
            let at = places.find(begin, &out[first..], origin).unwrap_or_else(|| {
                places.note(begin, out.len() - first);
                out.push(Part { sectors: 0, ..part(begin, origin) });
                touched.words.push(0);
                out.len() - first - 1
            });
            let part = &mut out[first + at];
            let bit = (1_u32 << ((sector * SECTOR & (line - 1)) / SECTOR)) as u8;
            if part.sectors & bit == 0 {
                part.sectors |= bit;
                part.bytes += SECTOR as u32;
            }
            if line == LINE {
                let from = start.max(sector * SECTOR) % LINE / WORD;
                let to = end.min(sector * SECTOR + SECTOR - 1) % LINE / WORD;
                touched.words[at] |= u32::MAX >> (31 - (to - from)) << from;
            }
        }
    }
    let width = u64::from(access.width);
    touched.apart =
        line == LINE && width.is_power_of_two() && width >= WORD && all & (width - 1) == 0;
    if line != LINE {
        touched.words.clear();
    }
    touched
}

fn lines_of_other_sectors(
    line: u64,
    sector: u32,
    access: &WarpAccess,
    origin: u64,
    out: &mut Vec<Part>,
) {
    let first = out.len();
    for t in &transactions(Protocol::WarpSectors, line as u32, sector, access) {
        let offset = (t.address / line * line).wrapping_sub(origin);
        let at = match out[first..].iter().rposition(|part| part.offset == offset) {
            Some(at) => first + at,
            None => {
                out.push(Part { sectors: 0, ..part(t.address / line * line, origin) });
                out.len() - 1
            }
        };
        let index = (t.address % line / SECTOR) as u32;
        let count = (t.bytes / SECTOR as u32).max(1);
        out[at].sectors |= ((1_u32 << count) - 1 << index) as u8;
        out[at].bytes += t.bytes;
    }
}

/// Counts the bytes that lanes write to each sector of lines, lanes on one address once.
pub(super) fn written_to_lines(line: u32, access: &WarpAccess, origin: u64, parts: &mut [Part]) {
    let line = u64::from(line);
    if !holds_masks(line) {
        count_written(access, origin, parts);
        return;
    }
    let mut places = Places::of(line, parts, origin);
    let mut bytes: SmallVec<[[u32; MAX_SECTORS]; 8]> =
        SmallVec::from_elem([0; MAX_SECTORS], parts.len());
    for (_, address) in access.lanes() {
        let (start, end) = access.span(address);
        for sector in start / SECTOR..=end / SECTOR {
            let begin = sector * SECTOR;
            let Some(at) = places.find(begin & !(line - 1), parts, origin) else { continue };
            let (first, last) = (start.max(begin) - begin, end.min(begin + SECTOR - 1) - begin);
            let index = ((begin & (line - 1)) / SECTOR) as usize;
            bytes[at][index] |= u32::MAX >> (SECTOR - 1 - (last - first)) << first;
        }
    }
    for (part, bytes) in parts.iter_mut().zip(&bytes) {
        part.written = bytes.map(|bytes| bytes.count_ones() as u8);
    }
}

/// Counts the bytes that lanes write to each sector of parts that may lie anywhere, lanes on one address once.
pub(super) fn count_written(access: &WarpAccess, origin: u64, parts: &mut [Part]) {
    for part in parts {
        let start = origin.wrapping_add(part.offset);
        for s in 0..MAX_SECTORS {
            if part.sectors >> s & 1 == 0 {
                continue;
            }
            let (first, last) = (start + s as u64 * SECTOR, start + s as u64 * SECTOR + 31);
            let mut bytes = 0_u32;
            for (_, address) in access.lanes() {
                let span = access.span(address);
                if span.0 <= last && span.1 >= first {
                    for byte in span.0.max(first)..=span.1.min(last) {
                        bytes |= 1 << (byte - first);
                    }
                }
            }
            part.written[s] = bytes.count_ones() as u8;
        }
    }
}

/// Words that lanes touch in the first 128 bytes of lines that may have more, or fewer.
fn words_of(access: &WarpAccess, lines: &[Part], origin: u64) -> SmallVec<[u32; 32]> {
    let mut words = SmallVec::from_elem(0, lines.len());
    let holds = |part: &Part, at: u64| at.wrapping_sub(origin.wrapping_add(part.offset)) < LINE;
    for (_, address) in access.lanes() {
        let (first, end) = access.span(address);
        for word in first / WORD..=end / WORD {
            let at = word * WORD;
            let Some(found) = lines.iter().position(|part| holds(part, at)) else { continue };
            words[found] |= 1 << (at % LINE / WORD);
        }
    }
    words
}

/// Steps in which the words of an access pass: some lines at a time, each bank one word in a step. A line
/// has one word for each bank.
pub(super) fn steps(
    most: usize,
    access: &WarpAccess,
    lines: &[Part],
    origin: u64,
    touched: &Touched,
) -> u32 {
    if lines.len() <= 1 {
        return 1;
    }
    let found;
    let words = match touched.words.is_empty() {
        false => &touched.words,
        true => {
            found = words_of(access, lines, origin);
            &found
        }
    };
    // Lines that use each bank, counted bit by bit: three digits for up to seven lines.
    let conflicts = |group: &[u32]| {
        let digits = group.iter().fold([0_u32; 3], |[ones, twos, fours], line| {
            let (to_twos, to_fours) = (ones & line, twos & ones & line);
            [ones ^ line, twos ^ to_twos, fours ^ to_fours]
        });
        let mut those = u32::MAX;
        digits.iter().zip([1, 2, 4]).rev().fold(0, |sum, (digit, weight)| {
            let with = those & digit;
            those = if with == 0 { those } else { with };
            if with == 0 { sum } else { sum + weight }
        })
    };
    words.chunks(most.clamp(1, 7)).map(conflicts).sum::<u32>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::random::numbers;

    /// What one pass over the lanes finds is what passes of their own do.
    #[test]
    fn one_pass_finds_words_and_bytes() {
        let (mut any, mut known) = (numbers(), 0);
        for _ in 0..2000 {
            let width = [1, 2, 4, 8, 16][any(5) as usize];
            let (unit, range) = ([width, 1][any(2) as usize], 1 + any(2000));
            let lanes = (0..32).map(|_| (any(3) != 0).then(|| 4096 + any(range) * unit));
            let access = WarpAccess::from_lanes(width as u32, lanes.collect::<Vec<_>>());
            let mut parts = Vec::new();
            let touched = lines(LINE as u32, SECTOR as u32, &access, 4096, &mut parts);
            assert_eq!(touched.words, words_of(&access, &parts, 4096), "{access:?}");
            if let Some(bytes) = touched.bytes() {
                assert_eq!(bytes, access.distinct_bytes(), "{access:?}");
                known += 1;
            }
        }
        assert!(known > 400, "{known}");
    }
}
