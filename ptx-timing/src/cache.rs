//! A set-associative cache with sectors, least-recently-used replacement and a write policy.
//! It holds tags only; data is the interpreter's business.

use std::collections::VecDeque;

use crate::host::{HOST_BYTES, prefetch};
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

impl std::ops::AddAssign for CacheCounts {
    fn add_assign(&mut self, other: Self) {
        self.read_hits += other.read_hits;
        self.read_misses += other.read_misses;
        self.write_hits += other.write_hits;
        self.write_misses += other.write_misses;
        self.written_back += other.written_back;
    }
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

/// A line's tag and the word of its [`Line`]. A tag is the line's number plus 1; 0 = empty. An array, as memory for
/// zeros of arrays comes from the system without being touched.
type Way = [u64; 2];

/// Ways in a line of the host's caches.
const HOST_LINE: usize = HOST_BYTES / size_of::<Way>();

/// One cache.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Set by set, the line used last first and what is empty last. None until the first use, and what is not used
    /// takes no memory of the host.
    ways: Vec<Way>,
    /// Where the first set begins among them: at a line of the host's caches.
    first: usize,
    /// Bytes written to each sector, in the order of the lines; what it says of sectors that are not there in part
    /// means nothing. Empty until one is.
    written: Vec<[u8; MAX_SECTORS]>,
    ways_per_set: usize,
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
            ways: Vec::new(),
            first: 0,
            written: Vec::new(),
            ways_per_set: ways as usize,
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
        let evicted = self.touch_or_insert(set, tag);
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
        self.touch_or_insert(set, tag);
        let line = self.line(set);
        self.counts.write_hits += u64::from((line.valid & mask).count_ones());
        self.counts.write_misses += u64::from((mask & !line.valid).count_ones());
        self.set_line(set, Line { valid: line.valid | mask, ..line });
    }

    /// Whether all the sectors `mask` of the line that holds `address` are there.
    pub fn holds(&mut self, address: u64, mask: u8) -> bool {
        let (set, tag) = self.locate(address);
        self.touch(set, tag).is_ok() && mask & !self.line(set).valid == 0
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
        for [_, word] in &mut self.ways {
            let line = Line::of(*word);
            *word = Line { ready: line.ready.saturating_sub(less), ..line }.word();
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
        let found = self.touch(set, tag);
        let mut evicted = None;
        let hit = match (self.write, found.is_ok()) {
            (WritePolicy::ReadOnly, _)
            | (WritePolicy::WriteEvict | WritePolicy::WriteThrough, false) => 0,
            (WritePolicy::WriteEvict, true) => {
                let line = self.line(set);
                self.set_line(set, Line { valid: line.valid & !mask, ..line });
                line.valid & mask
            }
            (WritePolicy::WriteThrough, true) => self.line(set).valid & mask,
            (WritePolicy::WriteBack, _) => {
                if let Err(way) = found {
                    evicted = self.insert(set, tag, way);
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
            let Ok(way) = self.find(set, tag) else { continue };
            let at = self.start(set) + way;
            let mut line = Line::of(self.ways[at][1]);
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
            self.ways[at][1] = line.word();
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

    /// Lets the host's caches fetch what looking for a line will read.
    pub(crate) fn warm(&self, address: u64) {
        let (set, _) = self.locate(address);
        let start = self.start(set);
        for way in (start..start + self.ways_per_set).step_by(HOST_LINE) {
            prefetch(&self.ways, way);
        }
    }

    /// Drops everything, as between two kernels (L1). Dirty sectors are lost, so this is for
    /// caches that hold none.
    pub fn invalidate(&mut self) {
        self.ways = Vec::new();
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
        self.first + set * self.ways_per_set
    }

    /// The line of a set that was used last.
    fn line(&self, set: usize) -> Line {
        Line::of(self.ways[self.start(set)][1])
    }

    fn set_line(&mut self, set: usize, line: Line) {
        let at = self.start(set);
        self.ways[at][1] = line.word();
    }

    /// The way of a set in which a line is, or the one to put it in: an empty one, or that of the line which was not
    /// used for longest.
    fn find(&self, set: usize, tag: u64) -> Result<usize, usize> {
        let start = self.start(set);
        let ways = self.ways.get(start..start + self.ways_per_set).unwrap_or_default();
        match ways.iter().position(|way| way[0] == tag || way[0] == 0) {
            Some(way) if ways[way][0] == tag => Ok(way),
            Some(empty) => Err(empty),
            None => Err(self.ways_per_set - 1),
        }
    }

    /// A line that is there counts as used and is the first of its set then. If it is not, the way to put it in.
    fn touch(&mut self, set: usize, tag: u64) -> Result<(), usize> {
        self.find(set, tag).map(|way| self.move_to_front(set, way))
    }

    /// Makes a line the first of its set, whether it was there or not. A dirty line that had to make room.
    fn touch_or_insert(&mut self, set: usize, tag: u64) -> Option<Evicted> {
        self.touch(set, tag).err().and_then(|way| self.insert(set, tag, way))
    }

    /// Makes a line of a set its first; those before it come behind.
    fn move_to_front(&mut self, set: usize, way: usize) {
        if way == 0 {
            return;
        }
        let start = self.start(set);
        let ways = &mut self.ways[start..=start + way];
        last_to_front(ways);
        // Few lines are there in part.
        if Line::of(ways.iter().fold(0, |all, way| all | way[1])).partial != 0 {
            let from = set * self.ways_per_set;
            last_to_front(&mut self.written[from..=from + way]);
        }
    }

    /// Adds bytes written to a sector of the line of a set that was used last, to those that it has if it has some
    /// (`more`); returns how many these are.
    fn add_written(&mut self, set: usize, sector: usize, bytes: u8, more: bool) -> u32 {
        if self.written.is_empty() {
            self.written = vec![[0; MAX_SECTORS]; self.sets as usize * self.ways_per_set];
        }
        let so_far = &mut self.written[set * self.ways_per_set][sector];
        let sum = if more { u32::from(*so_far) } else { 0 } + u32::from(bytes);
        *so_far = sum.min(255) as u8;
        sum
    }

    /// Puts a line in the place of an empty one, or of one that has to make room. It is the first of its set then.
    fn insert(&mut self, set: usize, tag: u64, way: usize) -> Option<Evicted> {
        if self.ways.is_empty() {
            self.ways = vec![[0; 2]; self.sets as usize * self.ways_per_set + HOST_LINE - 1];
            self.first = self.ways.as_ptr().align_offset(HOST_BYTES).min(HOST_LINE - 1);
        }
        self.move_to_front(set, way);
        let start = self.start(set);
        let old = self.line(set);
        let old_tag = std::mem::replace(&mut self.ways[start][0], tag);
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
