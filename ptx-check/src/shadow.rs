//! The last accesses to every byte of shared and global memory.
//!
//! A cell of 44 bytes for each 4 bytes keeps the last write and the latest read. Further ones that nothing orders (other
//! bytes of the word, several readers) stand in a side table, whose size is limited. Lanes of a warp that access a word
//! at once are one entry, and so are warps whose same lanes read it by one instruction.

use crate::hash::HashMap;

/// An access by lanes of a warp, or by the agent of one of them; a read by the same lanes of several warps.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Entry {
    /// Block times 2; 1 more for agents, which carry out asynchronous copies.
    pub who: u32,
    /// Warps of the block, a bit each.
    pub warps: u32,
    pub clock: u32,
    pub lanes: u32,
    /// Number of the site, times 16, and which of the four bytes.
    site_and_bytes: u32,
}

impl Entry {
    pub(crate) const NONE: Entry =
        Entry { who: 0, warps: 0, clock: 0, lanes: 0, site_and_bytes: 0 };

    pub(crate) fn new(
        (who, warp): (u32, u32),
        clock: u32,
        lanes: u32,
        site: u32,
        bytes: u8,
    ) -> Entry {
        let site_and_bytes = site << 4 | u32::from(bytes);
        Entry { who, warps: 1 << (warp & 31), clock, lanes, site_and_bytes }
    }
    pub(crate) fn site(self) -> u32 {
        self.site_and_bytes >> 4
    }
    /// Which of the word's bytes; none of an entry that is not there.
    pub(crate) fn bytes(self) -> u8 {
        (self.site_and_bytes & 15) as u8
    }
    /// Whether agents did it.
    pub(crate) fn by_agent(self) -> bool {
        self.who & 1 != 0
    }
    /// The same by other lanes.
    pub(crate) fn of(self, lanes: u32) -> Entry {
        Entry { lanes, ..self }
    }
    /// The same by other warps.
    pub(crate) fn of_warps(self, warps: u32) -> Entry {
        Entry { warps, ..self }
    }
    /// The first of its warps.
    pub(crate) fn warp(self) -> u32 {
        self.warps.trailing_zeros() & 31
    }
    /// The first of its lanes.
    pub(crate) fn lane(self) -> u32 {
        self.lanes.trailing_zeros() & 31
    }
    /// Whether it is the same but for its lanes.
    pub(crate) fn like(self, other: Entry) -> bool {
        self.of(0) == other.of(0)
    }
}

/// Accesses to four bytes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cell {
    pub write: Entry,
    pub read: Entry,
    /// 1 more than the index in the side table, or 0.
    more: u32,
}

impl Cell {
    /// Whether there are further accesses.
    pub(crate) fn has_more(&self) -> bool {
        self.more != 0
    }

    const NEW: Cell = Cell { write: Entry::NONE, read: Entry::NONE, more: 0 };
}

/// A further access; whether it writes.
pub(crate) type Further = (Entry, bool);

/// Entries of one word in the side table.
pub(crate) const FURTHER: usize = 12;

/// Further accesses of one word.
#[derive(Default)]
struct List {
    all: Vec<Further>,
    /// Whether any of them writes.
    writes: bool,
}

/// Bytes of a page of cells.
pub(crate) const PAGE: u64 = 512;
/// Pages from address 0 on that are found without a hash: shared memory.
const DIRECT: u64 = 512;

/// Cells of neighbouring words.
pub(crate) type Page = Box<[Cell; PAGE as usize / 4]>;

/// Cells of a range of addresses, made where they are touched.
#[derive(Default)]
pub(crate) struct Shadow {
    pages: Vec<Page>,
    /// Pages of shadows that are no longer needed.
    pool: Vec<Page>,
    by_address: HashMap<u64, u32>,
    /// 1 more than the page of a low number, or 0.
    direct: Vec<u32>,
    last: Option<(u64, u32)>,
    side: Vec<List>,
    free: Vec<u32>,
    /// Entries in the side table.
    entries: usize,
}

impl Shadow {
    /// A shadow that takes pages of others before it makes new ones.
    pub(crate) fn with(pool: Vec<Page>) -> Shadow {
        Shadow { pool, ..Shadow::default() }
    }

    /// Pages that it has not used.
    pub(crate) fn unused(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.pool)
    }

    /// All its pages, for other shadows.
    pub(crate) fn into_pages(mut self) -> Vec<Page> {
        self.pages.append(&mut self.pool);
        self.pages
    }

    /// The cell of the word at an address.
    #[inline(always)]
    pub(crate) fn cell(&mut self, address: u64) -> (usize, usize) {
        let number = address / PAGE;
        let page = match self.last {
            Some((known, page)) if known == number => page,
            _ => {
                let page = match self.direct.get(number as usize) {
                    Some(page) if *page != 0 => *page - 1,
                    _ => self.page(number),
                };
                self.last = Some((number, page));
                page
            }
        };
        (page as usize, (address % PAGE / 4) as usize)
    }

    /// A page, made when it is asked for first.
    fn page(&mut self, number: u64) -> u32 {
        let (pages, pool) = (&mut self.pages, &mut self.pool);
        let mut add = || {
            let used = pool.pop().map(|mut page| {
                page.fill(Cell::NEW);
                page
            });
            pages.push(used.unwrap_or_else(|| Box::new([Cell::NEW; PAGE as usize / 4])));
            pages.len() as u32 - 1
        };
        if number >= DIRECT {
            return *self.by_address.entry(number).or_insert_with(add);
        }
        let at = number as usize;
        if self.direct.len() <= at {
            self.direct.resize(at + 1, 0);
        }
        if self.direct[at] == 0 {
            self.direct[at] = add() + 1;
        }
        self.direct[at] - 1
    }

    /// The cell of the word at an address, if its page was touched.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, usize)> {
        let number = address / PAGE;
        let page = match number < DIRECT {
            true => self.direct.get(number as usize)?.checked_sub(1)?,
            false => *self.by_address.get(&number)?,
        };
        Some((page as usize, (address % PAGE / 4) as usize))
    }

    /// First addresses of the pages that were touched, in order.
    pub(crate) fn page_addresses(&self) -> impl Iterator<Item = u64> {
        let direct = self.direct.iter().enumerate().filter(|(_, page)| **page != 0);
        let mut all: Vec<u64> = self.by_address.keys().map(|number| number * PAGE).collect();
        all.extend(direct.map(|(number, _)| number as u64 * PAGE));
        all.sort_unstable();
        all.into_iter()
    }

    /// Pages that were touched.
    pub(crate) fn page_count(&self) -> usize {
        self.pages.len()
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: (usize, usize)) -> &Cell {
        &self.pages[at.0][at.1]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, at: (usize, usize)) -> &mut Cell {
        &mut self.pages[at.0][at.1]
    }

    /// Forgets the further accesses of a cell.
    pub(crate) fn forget(&mut self, at: (usize, usize)) {
        let cell = &mut self.pages[at.0][at.1];
        let Some(index) = cell.more.checked_sub(1) else { return };
        let list = &mut self.side[index as usize];
        self.entries -= list.all.len();
        list.all.clear();
        list.writes = false;
        self.free.push(cell.more);
        cell.more = 0;
    }

    /// Further accesses of a cell.
    pub(crate) fn further(&self, cell: &Cell) -> &[Further] {
        match cell.more {
            0 => &[],
            n => &self.side[n as usize - 1].all,
        }
    }

    /// Keeps those further accesses of a cell that satisfy `keep`.
    pub(crate) fn retain(&mut self, at: (usize, usize), keep: impl FnMut(&mut Further) -> bool) {
        let cell = &mut self.pages[at.0][at.1];
        if cell.more == 0 {
            return;
        }
        let list = &mut self.side[cell.more as usize - 1];
        let before = list.all.len();
        list.all.retain_mut(keep);
        list.writes = list.all.iter().any(|(_, wrote)| *wrote);
        self.entries -= before - list.all.len();
        if list.all.is_empty() {
            self.free.push(cell.more);
            cell.more = 0;
        }
    }

    /// Makes entries of several warps one of each.
    pub(crate) fn part(&mut self, at: (usize, usize)) {
        let cell = *self.get(at);
        let mut all = self.further(&cell).to_vec();
        all.push((cell.read, false));
        if all.iter().all(|(e, _)| e.warps & e.warps.wrapping_sub(1) == 0) {
            return;
        }
        self.forget(at);
        let one_each = all.into_iter().flat_map(|(entry, wrote)| {
            let warps = (0..32).filter(move |warp| entry.warps >> warp & 1 != 0);
            warps.map(move |warp| (entry.of_warps(1 << warp), wrote))
        });
        // The last one is the latest read.
        let mut before: Option<Further> = None;
        for further in one_each {
            if let Some(before) = before.replace(further) {
                self.push(at, before);
            }
        }
        self.get_mut(at).read = before.map_or(Entry::NONE, |(read, _)| read);
    }

    /// Keeps the entries of a block.
    pub(crate) fn keep_block(&mut self, block: u32) {
        for page in 0..self.pages.len() {
            for number in 0..self.pages[page].len() {
                let at = (page, number);
                self.retain(at, |(e, _)| e.who / 2 == block);
                let cell = self.get_mut(at);
                for entry in [&mut cell.write, &mut cell.read] {
                    if entry.who / 2 != block {
                        *entry = Entry::NONE;
                    }
                }
            }
        }
    }

    /// Whether the further accesses of a cell are all reads.
    pub(crate) fn only_reads(&self, at: (usize, usize)) -> bool {
        let more = self.get(at).more;
        more == 0 || !self.side[more as usize - 1].writes
    }

    /// Adds a further read, if there is room: it was the latest one, whose place another has taken.
    pub(crate) fn push_read(&mut self, at: (usize, usize), read: Entry) {
        if self.further(self.get(at)).len() < FURTHER {
            self.push(at, (read, false));
        }
    }

    /// As `push_read`; the read takes the place of one by lanes of `new`, which needs none besides.
    pub(crate) fn keep_read(&mut self, at: (usize, usize), read: Entry, new: Entry) {
        let index = self.get(at).more as usize;
        if let Some(list) = index.checked_sub(1).map(|index| &mut self.side[index]) {
            let gone = |(e, wrote): &&mut Further| {
                let mine = (e.who, e.warps) == (new.who, new.warps) && !*wrote;
                mine && e.lanes & !new.lanes == 0 && e.bytes() & !new.bytes() == 0
            };
            if let Some((old, _)) = list.all.iter_mut().find(gone) {
                *old = read;
                return;
            }
        }
        self.push_read(at, read);
    }

    /// Adds a further access. Where there is no room, the new one takes the place of the latest of its kind: the first
    /// ones, of other warps and blocks most often, stay.
    pub(crate) fn push(&mut self, at: (usize, usize), further: Further) {
        // The table may take as much as an eighth of the cells.
        let full = self.entries * 16 > self.pages.len() * PAGE as usize / 4 * size_of::<Cell>()
            && self.entries > 1 << 20;
        let cell = &mut self.pages[at.0][at.1];
        if cell.more == 0 {
            if full {
                return;
            }
            cell.more = self.free.pop().unwrap_or_else(|| {
                self.side.push(List::default());
                self.side.len() as u32
            });
        }
        let list = &mut self.side[cell.more as usize - 1];
        if list.all.len() < FURTHER && !full {
            list.all.push(further);
            list.writes |= further.1;
            self.entries += 1;
        } else if let Some(last) = list.all.iter_mut().rev().find(|(_, write)| *write == further.1)
        {
            *last = further;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_eleven_bytes_a_byte() {
        assert_eq!(size_of::<Cell>(), 44);
    }

    #[test]
    fn low_pages_are_found_like_others() {
        let mut shadow = Shadow::default();
        for address in [0x40, 0x7_0000_0000, 0xa00] {
            assert_eq!(shadow.find(address), None);
            let at = shadow.cell(address);
            assert_eq!((shadow.find(address), shadow.cell(address)), (Some(at), at));
        }
        let pages: Vec<u64> = shadow.page_addresses().collect();
        assert_eq!(pages, [0, 0xa00, 0x7_0000_0000]);
    }

    #[test]
    fn a_reader_has_one_place_and_used_pages_are_empty() {
        let mut shadow = Shadow::default();
        let at = shadow.cell(0x40);
        let read = |warp, lanes| Entry::new((2, warp), 5, lanes, 3, 15);
        for n in 0..40 {
            // Two lanes of a warp and another warp by turns.
            let (old, new) = if n % 2 == 0 { (1, 2) } else { (2, 1) };
            shadow.keep_read(at, read(1, old), read(1, new));
        }
        shadow.keep_read(at, read(2, 4), read(1, 2));
        let cell = *shadow.get(at);
        assert!(shadow.further(&cell).len() <= 3, "{:?}", shadow.further(&cell));
        assert!(shadow.further(&cell).contains(&(read(2, 4), false)));
        shadow.get_mut(at).write = read(1, 1);
        let mut next = Shadow::with(shadow.into_pages());
        let at = next.cell(0x1040);
        assert_eq!((next.get(at).write, next.get(at).has_more()), (Entry::NONE, false));
    }

    #[test]
    fn readers_are_parted_by_warp() {
        let mut shadow = Shadow::default();
        let at = shadow.cell(0x40);
        let entry = |warps| Entry::new((2, 0), 5, 1, 3, 15).of_warps(warps);
        shadow.push(at, (entry(6), false));
        shadow.get_mut(at).read = entry(9);
        shadow.part(at);
        let cell = *shadow.get(at);
        let mut warps: Vec<u32> = shadow.further(&cell).iter().map(|(e, _)| e.warps).collect();
        warps.push(cell.read.warps);
        assert_eq!(warps, [2, 4, 1, 8]);
        shadow.keep_block(1);
        assert_eq!(shadow.further(&cell).len(), 3);
        shadow.keep_block(0);
        assert_eq!((shadow.get(at).read, shadow.get(at).has_more()), (Entry::NONE, false));
    }

    #[test]
    fn further_accesses_come_and_go() {
        let mut shadow = Shadow::default();
        let at = shadow.cell(0x1004);
        assert_eq!(at, shadow.cell(0x1007));
        assert_ne!(at, shadow.cell(0x1008));
        for actor in 0..20 {
            shadow.push(at, (Entry::new((actor, 0), 1, 1, 3, 15), false));
        }
        assert_eq!(shadow.further(shadow.get(at)).len(), FURTHER);
        shadow.retain(at, |(e, _)| e.who < 2);
        assert_eq!(shadow.further(shadow.get(at)).len(), 2);
        shadow.retain(at, |_| false);
        assert!(shadow.further(shadow.get(at)).is_empty());
    }
}
