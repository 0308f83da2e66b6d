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

/// Some sets. What every access looks through, or whoever has to make room, lies together.
#[derive(Debug, Clone, Default)]
struct Page {
    /// Line number plus 1; 0 = empty.
    tags: Vec<u64>,
    /// When a line was used last.
    used: Vec<u32>,
    lines: Vec<Line>,
    /// Bytes written to each sector of lines that are there in part; empty until one is.
    written: Vec<[u8; MAX_SECTORS]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Line {
    ready: u64,
    valid: u8,
    dirty: u8,
    /// Sectors that came along with a neighbour's fill and have not been asked for.
    extra: u8,
    /// The half of the cache that is not in charge of the line has it, too.
    copied: bool,
    /// Sectors of which only written bytes are present.
    partial: u8,
}

impl Line {
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
    page: u32,
    line: u32,
}

/// Most sectors of a line.
pub(crate) const MAX_SECTORS: usize = 8;

/// Bytes of a line of the host's caches.
const HOST_LINE: usize = 64;

/// Sets that are allocated together.
const SETS_PER_PAGE: usize = 64;

/// One cache.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Lines of `SETS_PER_PAGE` sets each; empty until first used, since most simulations touch
    /// little of a cache of 60 MB.
    pages: Vec<Page>,
    ways: usize,
    sets: u64,
    line_shift: u32,
    sector_shift: u32,
    write: WritePolicy,
    clock: u32,
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
            pages: vec![Page::default(); (sets as usize).div_ceil(SETS_PER_PAGE)],
            ways: ways as usize,
            sets,
            line_shift: level.line_bytes.max(1).ilog2(),
            sector_shift: level.sector_bytes.max(1).ilog2(),
            write: level.write,
            clock: 0,
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
        let mut evicted = None;
        let at = match self.touch(set, tag) {
            Some(at) => at,
            None => {
                let (at, old) = self.insert(set, tag);
                evicted = old;
                at
            }
        };
        let page = set / SETS_PER_PAGE;
        let line = &mut self.pages[page].lines[at];
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
        self.counts.read_hits += u64::from(hit.count_ones());
        self.counts.read_misses += u64::from(missing.count_ones());
        let place = LinePlace { page: page as u32, line: at as u32 };
        Lookup { hit, fill, ready: line.ready, copied: line.copied, place, evicted }
    }

    /// Whether all the sectors `mask` of the line that holds `address` are there.
    pub fn holds(&mut self, address: u64, mask: u8) -> bool {
        let (set, tag) = self.locate(address);
        let page = set / SETS_PER_PAGE;
        self.touch(set, tag).is_some_and(|at| mask & !self.pages[page].lines[at].valid == 0)
    }

    /// The half of the cache that is not in charge of a line keeps what it hands on.
    pub fn copy(&mut self, place: LinePlace) {
        self.pages[place.page as usize].lines[place.line as usize].copied = true;
    }

    /// Notes when a fill arrives; accesses until then hit but have to wait. The sectors `along` come
    /// with it: as in the hardware's counters their first read still counts as a miss, but needs no
    /// fill.
    pub fn fill(&mut self, place: LinePlace, along: u8, time: u64) {
        let line = &mut self.pages[place.page as usize].lines[place.line as usize];
        line.ready = line.ready.max(time);
        line.extra |= along & !line.valid;
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
        let page = set / SETS_PER_PAGE;
        let whole = self.sector_bytes();
        let present = self.touch(set, tag);
        let mut evicted = None;
        let hit = match (self.write, present) {
            (WritePolicy::ReadOnly, _)
            | (WritePolicy::WriteEvict | WritePolicy::WriteThrough, None) => 0,
            (WritePolicy::WriteEvict, Some(at)) => {
                let line = &mut self.pages[page].lines[at];
                let hit = line.valid & mask;
                line.valid &= !mask;
                hit
            }
            (WritePolicy::WriteThrough, Some(at)) => self.pages[page].lines[at].valid & mask,
            (WritePolicy::WriteBack, present) => {
                let at = present.unwrap_or_else(|| {
                    let (at, old) = self.insert(set, tag);
                    evicted = old;
                    at
                });
                let Page { lines, written: so_far, .. } = &mut self.pages[page];
                let all = lines.len();
                let line = &mut lines[at];
                let hit = (line.valid | line.partial) & mask;
                if line.dirty == 0 && self.most_dirty > 0 {
                    self.queue.push_back(address >> self.line_shift);
                }
                let before = line.dirty_weight();
                line.copied = false;
                line.dirty |= mask;
                let mut rest = mask & !line.valid;
                if rest != 0 && so_far.is_empty() {
                    so_far.resize(all, [0; MAX_SECTORS]);
                }
                while rest != 0 {
                    let index = rest.trailing_zeros() as usize;
                    let bit = 1 << index;
                    rest &= !bit;
                    let sum = u32::from(so_far[at][index]) + u32::from(written[index]);
                    so_far[at][index] = sum.min(255) as u8;
                    // Two warps that share a sector at their edge complete it between them.
                    if sum >= whole {
                        line.valid |= bit;
                        line.partial &= !bit;
                    } else {
                        line.partial |= bit;
                    }
                }
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
            let start = set % SETS_PER_PAGE * self.ways;
            let page = &mut self.pages[set / SETS_PER_PAGE];
            let tags = page.tags.get(start..start + self.ways);
            let found = tags.and_then(|tags| tags.iter().position(|t| *t == tag));
            let Some(at) = found else { continue };
            let line = &mut page.lines[start + at];
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
        let page = &self.pages[set / SETS_PER_PAGE];
        let start = set % SETS_PER_PAGE * self.ways;
        let Some(lines) = page.lines.get(start..start + self.ways) else { return 0 };
        let (tags, used) = (&page.tags[start..], &page.used[start..]);
        let first = tags[0] ^ u64::from(used[0]) ^ tags[self.ways / 2];
        lines.iter().step_by(HOST_LINE / size_of::<Line>()).fold(first, |all, l| all ^ l.ready)
    }

    /// Drops everything, as between two kernels (L1). Dirty sectors are lost, so this is for
    /// caches that hold none.
    pub fn invalidate(&mut self) {
        self.pages.fill(Page::default());
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

    /// Where a line is within its page; it counts as used.
    fn touch(&mut self, set: usize, tag: u64) -> Option<usize> {
        self.clock += 1;
        if self.clock == u32::MAX {
            // Ages start anew: rarely enough not to matter for what is evicted.
            self.clock = 1;
            self.pages.iter_mut().flat_map(|p| &mut p.used).for_each(|used| *used = 0);
        }
        let start = set % SETS_PER_PAGE * self.ways;
        let page = &mut self.pages[set / SETS_PER_PAGE];
        let tags = page.tags.get(start..start + self.ways)?;
        let at = start + tags.iter().position(|t| *t == tag)?;
        page.used[at] = self.clock;
        Some(at)
    }

    fn insert(&mut self, set: usize, tag: u64) -> (usize, Option<Evicted>) {
        let page = &mut self.pages[set / SETS_PER_PAGE];
        if page.tags.is_empty() {
            let lines = SETS_PER_PAGE * self.ways;
            page.tags = vec![0; lines];
            page.used = vec![0; lines];
            page.lines = vec![Line::default(); lines];
        }
        let start = set % SETS_PER_PAGE * self.ways;
        let used = page.used[start..start + self.ways].iter().enumerate();
        let victim = start + used.min_by_key(|(_, used)| **used).map_or(0, |(way, _)| way);
        let old = page.lines[victim];
        let old_tag = std::mem::replace(&mut page.tags[victim], tag);
        let evicted = (old_tag != 0 && old.dirty != 0).then(|| Evicted {
            address: (old_tag - 1) << self.line_shift,
            sectors: old.dirty.count_ones(),
            partial: (old.dirty & old.partial).count_ones(),
        });
        if self.most_dirty > 0 {
            self.dirty = self.dirty.saturating_sub(old.dirty_weight());
        }
        page.lines[victim] = Line::default();
        page.used[victim] = self.clock;
        if let Some(written) = page.written.get_mut(victim) {
            *written = [0; MAX_SECTORS];
        }
        self.counts.written_back += evicted.map_or(0, |e| u64::from(e.sectors));
        (victim, evicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(bytes: u64, ways: u32, write: WritePolicy) -> CacheLevel {
        CacheLevel {
            bytes,
            line_bytes: 128,
            sector_bytes: 32,
            ways,
            write,
            hit_latency: 0,
            bytes_per_clock: 1.0,
            request_bytes: 0,
            request_min_bytes: 0,
            dirty_bytes: 0,
            write_request_bytes: 0,
            far_cycles: 0,
            merged_sms: 0,
            write_cost: 1.0,
            partial_write_cost: 1.0,
            fill_cost: None,
            spread: Vec::new(),
        }
    }

    /// The copy of a line in the other half of a cache is gone when the line is written.
    #[test]
    fn copies_last_until_the_line_is_written() {
        let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteBack));
        let first = c.read_line(0, 1);
        assert!(!first.copied);
        c.copy(first.place);
        assert!(c.read_line(0, 1).copied && !c.read_line(128, 1).copied);
        c.write_line(0, 2, &[32; MAX_SECTORS]);
        assert!(!c.read_line(0, 1).copied);
    }

    #[test]
    fn sectors_fill_one_by_one() {
        let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
        assert!(c.read(0).fill);
        assert!(c.read(31).hit);
        assert!(c.read(32).fill, "same line, other sector");
        assert!(c.read(64).fill);
        assert!(c.read(0).hit);
        assert_eq!(c.counts().read_hits, 2);
        assert_eq!(c.counts().read_misses, 3);
    }

    #[test]
    fn least_recently_used_leaves_first() {
        let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
        for line in 0..8 {
            c.read(line * 128);
        }
        c.read(0);
        c.read(8 * 128);
        assert!(c.read(0).hit);
        assert!(c.read(128).fill, "line 1 was the oldest");
    }

    #[test]
    fn write_back_keeps_and_evicts_dirty_sectors() {
        let mut c = Cache::new(&level(256, 2, WritePolicy::WriteBack));
        let first = c.write(0, 32);
        assert_eq!((first.hit, first.fill, first.write_through), (false, false, false));
        c.write(32, 8);
        c.write(64, 16);
        c.write(64, 16);
        assert!(c.read(0).hit);
        assert!(c.read(64).hit, "written in two parts");
        c.read(128);
        let third = c.read(256);
        assert_eq!(third.evicted, Some(Evicted { address: 0, sectors: 3, partial: 1 }));
        assert_eq!(c.counts().written_back, 3);
        c.write(256, 8);
        c.write(288, 8);
        assert!(c.read(256).hit, "was read before");
        assert!(c.read(288).fill, "only 8 bytes are there");
    }

    #[test]
    fn write_evict_drops_the_sector() {
        let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteEvict));
        c.read(0);
        let store = c.write(0, 32);
        assert!(store.hit && store.write_through);
        assert!(!c.read(0).hit);
    }

    #[test]
    fn write_through_keeps_but_does_not_allocate() {
        let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
        assert!(!c.write(0, 32).hit);
        assert!(!c.read(0).hit);
        assert!(c.write(0, 32).hit);
        assert!(c.read(0).hit);
    }

    /// A working set that fits hits after the first lap, one of twice the size never does under
    /// least-recently-used replacement with one set.
    #[test]
    fn capacity() {
        for (lines, hits) in [(8, 8), (16, 0)] {
            let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
            for _ in 0..2 {
                for line in 0..lines {
                    c.read(line * 128);
                }
            }
            assert_eq!(c.counts().read_hits, hits);
        }
    }
}
