//! A set-associative cache with sectors, least-recently-used replacement and a write policy.
//! It holds tags only; data is the interpreter's business.

use std::collections::VecDeque;

use crate::profile::{CacheLevel, WritePolicy};

/// What the cache does with one sector access, and what it asks of the next level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The sector was present.
    pub hit: bool,
    /// The sector has to be read from the next level.
    pub fill: bool,
    /// The store goes on to the next level at once.
    pub write_through: bool,
    /// Dirty sectors of an evicted line that have to be written to the next level.
    pub evicted: Option<Evicted>,
}

/// A line that had to make room and was dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// First byte of the line.
    pub address: u64,
    /// Number of dirty sectors.
    pub sectors: u32,
    /// Those of them of which the cache holds only some bytes.
    pub partial: u32,
}

/// Running totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// Sector reads that hit.
    pub read_hits: u64,
    /// Sector reads that missed.
    pub read_misses: u64,
    /// Sector writes to a present sector.
    pub write_hits: u64,
    /// Sector writes to an absent sector.
    pub write_misses: u64,
    /// Dirty sectors written back on eviction.
    pub written_back: u64,
}

impl CacheCounts {
    /// The counts of so many times the accesses.
    pub(crate) fn scaled(self, times: f64) -> Self {
        let n = |count: u64| (count as f64 * times).round() as u64;
        Self {
            read_hits: n(self.read_hits),
            read_misses: n(self.read_misses),
            write_hits: n(self.write_hits),
            write_misses: n(self.write_misses),
            written_back: n(self.written_back),
        }
    }
}

/// What a set knows of a line, as one word of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Line {
    /// When its last fill arrives, in clocks from the cache's epoch; 0: before.
    ready: u32,
    /// The half of the cache that is not in charge of the line has it, too.
    copied: bool,
    valid: u8,
    dirty: u8,
    /// Sectors that came along with a neighbour's fill and have not been asked for.
    extra: u8,
    /// Sectors of which only written bytes are present.
    partial: u8,
}

/// Bits of [`Line::ready`] in a line's word.
const READY_BITS: u32 = 31;

impl Line {
    fn of(word: u64) -> Self {
        let [valid, dirty, extra, partial, ..] = word.to_le_bytes();
        let rest = (word >> 32) as u32;
        Self { ready: rest >> 1, copied: rest & 1 != 0, valid, dirty, extra, partial }
    }

    fn word(self) -> u64 {
        let rest = self.ready << 1 | u32::from(self.copied);
        let sectors = [self.valid, self.dirty, self.extra, self.partial];
        u64::from(u32::from_le_bytes(sectors)) | u64::from(rest) << 32
    }

    fn dirty_weight(&self) -> u64 {
        u64::from(self.dirty.count_ones() + (self.dirty & self.partial).count_ones())
    }
}

/// What reading some sectors of a line found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// Sectors that were present.
    pub hit: u8,
    /// Sectors that have to be read from the next level; a missing sector that is in neither is on
    /// its way.
    pub fill: u8,
    /// When the line's last fill arrives.
    pub ready: u64,
    /// Whether [`Cache::copy`] was called for the line since it came or was last written.
    pub copied: bool,
    /// Where the line lies, for [`Cache::fill`].
    pub place: LinePlace,
    /// A dirty line that had to make room.
    pub evicted: Option<Evicted>,
}

/// A line's place in the cache, until the next access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePlace {
    set: usize,
}

/// Most sectors of a line.
pub(crate) const MAX_SECTORS: usize = 8;

/// Words of a line of the host's caches.
const HOST_LINE: usize = 64 / size_of::<u64>();

/// One cache.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Of each set the tags, then as many words of a [`Line`]; the line used last comes first. A tag is the line's
    /// number plus 1; 0 = empty. None until the first use, and what is not used takes no memory of the host.
    words: Vec<u64>,
    /// Where the first set begins among them: at a line of the host's caches.
    first: usize,
    /// Bytes written to each sector, in the order of the lines; what it says of sectors that are not there in part
    /// means nothing. Empty until one is.
    written: Vec<[u8; MAX_SECTORS]>,
    ways: usize,
    sets: u64,
    line_shift: u32,
    sector_shift: u32,
    write: WritePolicy,
    /// The clock from which lines count when they are ready.
    epoch: u64,
    /// Lines in the order in which they became dirty, and the sectors that are (twice if written in
    /// part), where there is a limit.
    queue: VecDeque<u64>,
    dirty: u64,
    most_dirty: u64,
    counts: CacheCounts,
}

impl Cache {
    /// An empty cache of a checked profile's geometry.
    pub fn new(level: &CacheLevel) -> Self {
        let ways = level.ways.max(1);
        let sets = (level.bytes / (u64::from(level.line_bytes.max(1)) * u64::from(ways))).max(1);
        Self {
            words: Vec::new(),
            first: 0,
            written: Vec::new(),
            ways: ways as usize,
            sets,
            line_shift: level.line_bytes.max(1).ilog2(),
            sector_shift: level.sector_bytes.max(1).ilog2(),
            write: level.write,
            epoch: 0,
            queue: VecDeque::new(),
            dirty: 0,
            most_dirty: level.dirty_bytes >> level.sector_bytes.max(1).ilog2(),
            counts: CacheCounts::default(),
        }
    }

    /// Totals since the start.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    /// Bytes of a sector.
    pub fn sector_bytes(&self) -> u32 {
        1 << self.sector_shift
    }

    /// Reads the sectors `mask` of the line that holds `address`.
    pub fn read_line(&mut self, address: u64, mask: u8) -> Lookup {
        let (set, tag) = self.locate(address);
        let evicted = if self.touch(set, tag) { None } else { self.insert(set, tag) };
        let mut line = self.line(set);
        let hit = line.valid & mask;
        let missing = mask & !line.valid;
        let fill = missing & !line.extra;
        if self.most_dirty > 0 {
            let completed = (line.dirty & line.partial & missing).count_ones();
            self.dirty = self.dirty.saturating_sub(completed.into());
        }
        line.valid |= missing;
        line.partial &= !missing;
        line.extra &= !missing;
        self.set_line(set, line);
        self.counts.read_hits += u64::from(hit.count_ones());
        self.counts.read_misses += u64::from(missing.count_ones());
        let ready = if line.ready == 0 { 0 } else { self.epoch + u64::from(line.ready) };
        Lookup { hit, fill, ready, copied: line.copied, place: LinePlace { set }, evicted }
    }

    /// Writes sectors of the line that holds `address` and keeps them, whether it was there or not.
    pub fn keep_line(&mut self, address: u64, mask: u8) {
        let (set, tag) = self.locate(address);
        if !self.touch(set, tag) {
            self.insert(set, tag);
        }
        let line = self.line(set);
        self.counts.write_hits += u64::from((line.valid & mask).count_ones());
        self.counts.write_misses += u64::from((mask & !line.valid).count_ones());
        self.set_line(set, Line { valid: line.valid | mask, ..line });
    }

    /// Whether all the sectors `mask` of the line that holds `address` are there.
    pub fn holds(&mut self, address: u64, mask: u8) -> bool {
        let (set, tag) = self.locate(address);
        self.touch(set, tag) && mask & !self.line(set).valid == 0
    }

    /// The half of the cache that is not in charge of a line keeps what it hands on.
    pub fn copy(&mut self, place: LinePlace) {
        let line = self.line(place.set);
        self.set_line(place.set, Line { copied: true, ..line });
    }

    /// Notes when a fill arrives; accesses until then hit but have to wait. The sectors `along` come
    /// with it: as in the hardware's counters their first read still counts as a miss, but needs no
    /// fill.
    pub fn fill(&mut self, place: LinePlace, along: u8, time: u64) {
        if time.saturating_sub(self.epoch) >> READY_BITS != 0 {
            self.begin_epoch(time);
        }
        let mut line = self.line(place.set);
        line.ready = line.ready.max(time.saturating_sub(self.epoch) as u32);
        line.extra |= along & !line.valid;
        self.set_line(place.set, line);
    }

    /// Lets lines count from a later clock: half of what they can count to before a time.
    fn begin_epoch(&mut self, time: u64) {
        let epoch = time - (1 << (READY_BITS - 1));
        let less = (epoch - self.epoch).min(u32::MAX.into()) as u32;
        self.epoch = epoch;
        let ways = self.ways;
        for set in self.words[self.first..].chunks_mut(2 * ways) {
            for word in set.iter_mut().skip(ways) {
                let line = Line::of(*word);
                *word = Line { ready: line.ready.saturating_sub(less), ..line }.word();
            }
        }
    }

    /// Writes sectors of the line that holds `address`, `written` bytes of each. A write-back cache
    /// keeps a sector of which it has only written bytes; reading it needs a fill, as counted on an
    /// H200. Returns a dirty line that had to make room.
    pub fn write_line(
        &mut self,
        address: u64,
        mask: u8,
        written: &[u8; MAX_SECTORS],
    ) -> Option<Evicted> {
        let (set, tag) = self.locate(address);
        let whole = self.sector_bytes();
        let present = self.touch(set, tag);
        let mut evicted = None;
        let hit = match (self.write, present) {
            (WritePolicy::ReadOnly, _)
            | (WritePolicy::WriteEvict | WritePolicy::WriteThrough, false) => 0,
            (WritePolicy::WriteEvict, true) => {
                let line = self.line(set);
                self.set_line(set, Line { valid: line.valid & !mask, ..line });
                line.valid & mask
            }
            (WritePolicy::WriteThrough, true) => self.line(set).valid & mask,
            (WritePolicy::WriteBack, present) => {
                if !present {
                    evicted = self.insert(set, tag);
                }
                let mut line = self.line(set);
                let hit = (line.valid | line.partial) & mask;
                if line.dirty == 0 && self.most_dirty > 0 {
                    self.queue.push_back(address >> self.line_shift);
                }
                let before = line.dirty_weight();
                line.copied = false;
                line.dirty |= mask;
                let mut rest = mask & !line.valid;
                while rest != 0 {
                    let index = rest.trailing_zeros() as usize;
                    let bit = 1 << index;
                    rest &= !bit;
                    // Two warps that share a sector at their edge complete it between them.
                    let more = line.partial & bit != 0;
                    if self.add_written(set, index, written[index], more) >= whole {
                        line.valid |= bit;
                        line.partial &= !bit;
                    } else {
                        line.partial |= bit;
                    }
                }
                self.set_line(set, line);
                if self.most_dirty > 0 {
                    self.dirty = (self.dirty + line.dirty_weight()).saturating_sub(before);
                }
                hit
            }
        };
        let hits = u64::from(hit.count_ones());
        self.counts.write_hits += hits;
        self.counts.write_misses += u64::from(mask.count_ones()) - hits;
        evicted
    }

    /// Reads and writes sectors of a line, as an atomic does: one access to each.
    pub(crate) fn update_line(&mut self, address: u64, mask: u8) -> (Lookup, Option<Evicted>) {
        let lookup = self.read_line(address, mask);
        let counts = self.counts;
        let evicted = self.write_line(address, mask, &[32; MAX_SECTORS]);
        self.counts = CacheCounts { written_back: self.counts.written_back, ..counts };
        (lookup, evicted)
    }

    /// The line that became dirty first, if more are dirty than may be; it is clean
    /// then.
    pub fn clean(&mut self) -> Option<Evicted> {
        while self.dirty > self.most_dirty && self.most_dirty > 0 {
            let number = self.queue.pop_front()?;
            let address = number << self.line_shift;
            let (set, tag) = self.locate(address);
            let Some(at) = self.find(set, tag) else { continue };
            let mut line = Line::of(self.words[at + self.ways]);
            if line.dirty == 0 {
                continue;
            }
            self.dirty = self.dirty.saturating_sub(line.dirty_weight());
            let evicted = Evicted {
                address,
                sectors: line.dirty.count_ones(),
                partial: (line.dirty & line.partial).count_ones(),
            };
            self.counts.written_back += u64::from(evicted.sectors);
            // The sectors that are read to be completed stay.
            line.valid |= line.partial;
            (line.partial, line.dirty) = (0, 0);
            self.words[at + self.ways] = line.word();
            return Some(evicted);
        }
        None
    }

    /// Reads the sector that holds `address`.
    pub fn read(&mut self, address: u64) -> Outcome {
        let lookup = self.read_line(address, self.sector_bit(address));
        Outcome {
            hit: lookup.hit != 0,
            fill: lookup.fill != 0,
            write_through: false,
            evicted: lookup.evicted,
        }
    }

    /// Writes `bytes` bytes of the sector that holds `address`.
    pub fn write(&mut self, address: u64, bytes: u32) -> Outcome {
        let hits = self.counts.write_hits;
        let written = [bytes.min(255) as u8; MAX_SECTORS];
        let evicted = self.write_line(address, self.sector_bit(address), &written);
        Outcome {
            hit: self.counts.write_hits > hits,
            fill: false,
            write_through: self.write != WritePolicy::WriteBack,
            evicted,
        }
    }

    /// Reads what looking for a line will read, so that the host's caches have it by then. Those who are about to
    /// look for many lines do this first: then the host waits for all of them at once.
    pub(crate) fn warm(&self, address: u64) -> u64 {
        let (set, _) = self.locate(address);
        let start = self.start(set);
        let words = self.words.get(start..start + 2 * self.ways).unwrap_or_default();
        words.iter().step_by(HOST_LINE).fold(0, |all, word| all ^ word)
    }

    /// Drops everything, as between two kernels (L1). Dirty sectors are lost, so this is for
    /// caches that hold none.
    pub fn invalidate(&mut self) {
        self.words = Vec::new();
        self.written = Vec::new();
    }

    fn sector_bit(&self, address: u64) -> u8 {
        let sectors = 1_u64 << (self.line_shift - self.sector_shift);
        1 << ((address >> self.sector_shift) & (sectors - 1))
    }

    fn locate(&self, address: u64) -> (usize, u64) {
        let number = address >> self.line_shift;
        // Sets are not always a power of two, and real caches hash: folding in higher bits keeps
        // power-of-two strides from landing in one set.
        let hashed = number ^ (number >> 7) ^ (number >> 15);
        ((hashed % self.sets) as usize, number + 1)
    }

    /// Where a set begins.
    fn start(&self, set: usize) -> usize {
        self.first + set * 2 * self.ways
    }

    /// The line of a set that was used last.
    fn line(&self, set: usize) -> Line {
        Line::of(self.words[self.start(set) + self.ways])
    }

    fn set_line(&mut self, set: usize, line: Line) {
        let at = self.start(set) + self.ways;
        self.words[at] = line.word();
    }

    /// Where the tag of a line is.
    fn find(&self, set: usize, tag: u64) -> Option<usize> {
        let start = self.start(set);
        let tags = self.words.get(start..start + self.ways)?;
        Some(start + tags.iter().position(|t| *t == tag)?)
    }

    /// Whether a line is there; it counts as used and is the first of its set then.
    fn touch(&mut self, set: usize, tag: u64) -> bool {
        let Some(at) = self.find(set, tag) else { return false };
        let way = at - self.start(set);
        if way > 0 {
            self.move_to_front(set, way);
        }
        true
    }

    /// Makes a line of a set its first; those before it come behind.
    fn move_to_front(&mut self, set: usize, way: usize) {
        let start = self.start(set);
        last_to_front(&mut self.words[start..=start + way]);
        let lines = &mut self.words[start + self.ways..=start + self.ways + way];
        last_to_front(lines);
        // Few lines are there in part.
        if Line::of(lines.iter().fold(0, |all, line| all | line)).partial != 0 {
            let from = set * self.ways;
            last_to_front(&mut self.written[from..=from + way]);
        }
    }

    /// Adds bytes written to a sector of the line of a set that was used last, to those that it has if it has some
    /// (`more`); returns how many these are.
    fn add_written(&mut self, set: usize, sector: usize, bytes: u8, more: bool) -> u32 {
        if self.written.is_empty() {
            self.written = vec![[0; MAX_SECTORS]; self.sets as usize * self.ways];
        }
        let so_far = &mut self.written[set * self.ways][sector];
        let sum = if more { u32::from(*so_far) } else { 0 } + u32::from(bytes);
        *so_far = sum.min(255) as u8;
        sum
    }

    /// Makes room for a line in the place of the one that was not used for longest, first of its set then.
    fn insert(&mut self, set: usize, tag: u64) -> Option<Evicted> {
        if self.words.is_empty() {
            self.words = vec![0; self.sets as usize * 2 * self.ways + HOST_LINE - 1];
            self.first =
                self.words.as_ptr().align_offset(HOST_LINE * size_of::<u64>()).min(HOST_LINE - 1);
        }
        self.move_to_front(set, self.ways - 1);
        let start = self.start(set);
        let old = self.line(set);
        let old_tag = std::mem::replace(&mut self.words[start], tag);
        let evicted = (old_tag != 0 && old.dirty != 0).then(|| Evicted {
            address: (old_tag - 1) << self.line_shift,
            sectors: old.dirty.count_ones(),
            partial: (old.dirty & old.partial).count_ones(),
        });
        if self.most_dirty > 0 {
            self.dirty = self.dirty.saturating_sub(old.dirty_weight());
        }
        self.set_line(set, Line::default());
        self.counts.written_back += evicted.map_or(0, |e| u64::from(e.sectors));
        evicted
    }
}

/// Puts the last of some before the others.
fn last_to_front<T: Copy>(list: &mut [T]) {
    if let [others @ .., last] = list {
        let (last, count) = (*last, others.len());
        list.copy_within(..count, 1);
        list[0] = last;
    }
}

#[cfg(test)]
mod tests;
