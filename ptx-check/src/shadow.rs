//! The last accesses to every byte of shared and global memory.
//!
//! A cell of 28 bytes for each 4 bytes keeps the last write and one read. Further ones that nothing orders (other bytes
//! of the word, several readers) stand in a side table, whose size is limited.

use crate::hash::HashMap;

/// An access by one actor.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Entry {
    /// Block times actors of a block plus actor.
    pub actor: u32,
    pub clock: u32,
    /// Number of the site, times 16, and which of the four bytes.
    site_and_bytes: u32,
}

impl Entry {
    pub(crate) const NONE: Entry = Entry { actor: 0, clock: 0, site_and_bytes: 0 };

    pub(crate) fn new(actor: u32, clock: u32, site: u32, bytes: u8) -> Entry {
        Entry { actor, clock, site_and_bytes: site << 4 | u32::from(bytes) }
    }
    pub(crate) fn site(self) -> u32 {
        self.site_and_bytes >> 4
    }
    /// Which of the word's bytes; none of an entry that is not there.
    pub(crate) fn bytes(self) -> u8 {
        (self.site_and_bytes & 15) as u8
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
    const NEW: Cell = Cell { write: Entry::NONE, read: Entry::NONE, more: 0 };
}

/// A further access; whether it writes.
pub(crate) type Further = (Entry, bool);

/// Entries of one word in the side table.
const FURTHER: usize = 12;
/// Entries of one word: a write, a read, and those of the side table.
#[derive(Default)]
pub(crate) struct Few {
    all: [Entry; FURTHER + 2],
    count: usize,
}

impl Few {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.all[self.count] = entry;
        self.count += 1;
    }
    pub(crate) fn has(&self, entry: Entry) -> bool {
        self.all[..self.count].contains(&entry)
    }
}

/// Bytes of a page of cells.
pub(crate) const PAGE: u64 = 256;

/// Cells of a range of addresses, made where they are touched.
#[derive(Default)]
pub(crate) struct Shadow {
    #[allow(clippy::vec_box, reason = "growing the list must not move the cells of every page")]
    pages: Vec<Box<[Cell; PAGE as usize / 4]>>,
    by_address: HashMap<u64, u32>,
    last: Option<(u64, u32)>,
    side: Vec<Vec<Further>>,
    free: Vec<u32>,
    /// Entries in the side table.
    entries: usize,
}

impl Shadow {
    /// The cell of the word at an address.
    pub(crate) fn cell(&mut self, address: u64) -> (usize, usize) {
        let number = address / PAGE;
        let page = match self.last {
            Some((known, page)) if known == number => page,
            _ => {
                let pages = &mut self.pages;
                let page = *self.by_address.entry(number).or_insert_with(|| {
                    pages.push(Box::new([Cell::NEW; PAGE as usize / 4]));
                    pages.len() as u32 - 1
                });
                self.last = Some((number, page));
                page
            }
        };
        (page as usize, (address % PAGE / 4) as usize)
    }

    /// The cell of the word at an address, if its page was touched.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, usize)> {
        let page = self.by_address.get(&(address / PAGE))?;
        Some((*page as usize, (address % PAGE / 4) as usize))
    }

    /// First addresses of the pages that were touched, in order.
    pub(crate) fn page_addresses(&self) -> impl Iterator<Item = u64> {
        let mut all: Vec<u64> = self.by_address.keys().map(|number| number * PAGE).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// Pages that were touched.
    pub(crate) fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn get(&self, at: (usize, usize)) -> &Cell {
        &self.pages[at.0][at.1]
    }

    pub(crate) fn get_mut(&mut self, at: (usize, usize)) -> &mut Cell {
        &mut self.pages[at.0][at.1]
    }

    /// Further accesses of a cell.
    pub(crate) fn further(&self, cell: &Cell) -> &[Further] {
        match cell.more {
            0 => &[],
            n => &self.side[n as usize - 1],
        }
    }

    /// Keeps those further accesses of a cell that satisfy `keep`.
    pub(crate) fn retain(&mut self, at: (usize, usize), keep: impl FnMut(&Further) -> bool) {
        let cell = &mut self.pages[at.0][at.1];
        if cell.more == 0 {
            return;
        }
        let list = &mut self.side[cell.more as usize - 1];
        let before = list.len();
        list.retain(keep);
        self.entries -= before - list.len();
        if list.is_empty() {
            self.free.push(cell.more);
            cell.more = 0;
        }
    }

    /// Adds a further access. Where there is no room, the new one takes the place of the latest of its kind: the first
    /// ones, of other warps and blocks most often, stay.
    pub(crate) fn push(&mut self, at: (usize, usize), further: Further) {
        // The table may take as much as an eighth of the cells.
        let full =
            self.entries * 16 > self.pages.len() * PAGE as usize / 4 * 28 && self.entries > 1 << 20;
        let cell = &mut self.pages[at.0][at.1];
        if cell.more == 0 {
            if full {
                return;
            }
            cell.more = self.free.pop().unwrap_or_else(|| {
                self.side.push(Vec::new());
                self.side.len() as u32
            });
        }
        let list = &mut self.side[cell.more as usize - 1];
        if list.len() < FURTHER && !full {
            list.push(further);
            self.entries += 1;
        } else if let Some(last) = list.iter_mut().rev().find(|(_, write)| *write == further.1) {
            *last = further;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_at_most_eight_bytes_a_byte() {
        assert!(size_of::<Cell>() <= 32);
    }

    #[test]
    fn further_accesses_come_and_go() {
        let mut shadow = Shadow::default();
        let at = shadow.cell(0x1004);
        assert_eq!(at, shadow.cell(0x1007));
        assert_ne!(at, shadow.cell(0x1008));
        for actor in 0..20 {
            shadow.push(at, (Entry::new(actor, 1, 3, 15), false));
        }
        assert_eq!(shadow.further(shadow.get(at)).len(), FURTHER);
        shadow.retain(at, |(e, _)| e.actor < 2);
        assert_eq!(shadow.further(shadow.get(at)).len(), 2);
        shadow.retain(at, |_| false);
        assert!(shadow.further(shadow.get(at)).is_empty());
    }
}
