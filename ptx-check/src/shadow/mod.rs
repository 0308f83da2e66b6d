//! The last accesses to every byte of shared and global memory, in at most 8 bytes a byte.
//!
//! A cell of 28 bytes for each 4 bytes keeps the last write and the latest read. Further ones that nothing orders (other
//! bytes of the word, several readers) stand in a side table, which has room for one word in five. Lanes of a warp that
//! access a word at once are one entry, and so are warps whose same lanes read it by one instruction.

mod cell;

pub(crate) use cell::{Cell, Code, Entry, SITES};

use crate::hash::HashMap;
use cell::{LINKS, Packed, Threads};

/// A further access; whether it writes.
pub(crate) type Further = (Entry, bool);

/// Further accesses of one word.
pub(crate) const FURTHER: usize = 12;

/// Bytes of a page of cells.
pub(crate) const PAGE: u64 = 512;
/// Pages from address 0 on that are found without a hash: shared memory.
const DIRECT: u64 = 512;

/// Cells of neighbouring words.
pub(crate) type Page = Box<[Cell; PAGE as usize / 4]>;

/// Further accesses of all words, each of which names the next one of its word.
#[derive(Default)]
struct Side {
    chunks: Vec<Box<[Packed; CHUNK]>>,
    /// Numbers that were given out.
    used: u32,
    /// First of those that were given back, each of which names the next.
    free: u32,
}

/// Accesses of a chunk of the side table: 4 KB.
const CHUNK: usize = 256;
/// Accesses in the side table for every page. With cells, tables of pages and what allocations cost they are the 8 bytes
/// a byte.
const FOR_A_PAGE: usize = 25;
/// Those besides, so that small memories are checked as well as can be.
const FOR_ALL: usize = 24 << 10;

impl Side {
    #[inline(always)]
    fn get(&self, number: u32) -> Packed {
        let at = number as usize - 1;
        self.chunks[at / CHUNK][at % CHUNK]
    }

    fn get_mut(&mut self, number: u32) -> &mut Packed {
        let at = number as usize - 1;
        &mut self.chunks[at / CHUNK][at % CHUNK]
    }

    /// A number that is not in use, if there is room beside so many pages.
    fn take(&mut self, pages: usize) -> Option<u32> {
        if self.free != 0 {
            let number = self.free;
            self.free = self.get(number).next();
            return Some(number);
        }
        let room = (FOR_ALL + pages * FOR_A_PAGE).min(LINKS as usize);
        if self.used as usize >= room {
            return None;
        }
        if self.used as usize == self.chunks.len() * CHUNK {
            self.chunks.push(Box::new([Packed::NONE; CHUNK]));
        }
        self.used += 1;
        Some(self.used)
    }

    fn give(&mut self, number: u32) {
        let free = self.free;
        self.get_mut(number).set_next(free);
        self.free = number;
    }
}

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
    side: Side,
    threads: Threads,
    /// There was no room for some accesses.
    forgot: bool,
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

    /// The latest read of a cell.
    #[inline(always)]
    pub(crate) fn read(&self, at: (usize, usize)) -> Entry {
        self.get(at).read.entry(&self.threads)
    }

    /// Sets the latest read of a cell.
    #[inline(always)]
    pub(crate) fn set_read(&mut self, at: (usize, usize), read: Entry) {
        if read.bytes() == 0 {
            return self.get_mut(at).clear_read();
        }
        let code = self.code(read);
        self.get_mut(at).read.set(read, code);
    }

    /// As `set_read`, for an entry whose code may be known.
    #[inline(always)]
    pub(crate) fn set_new_read(&mut self, at: (usize, usize), read: Entry, code: Code) {
        let code = if code == Code::NONE { self.code(read) } else { code };
        self.get_mut(at).read.set(read, code);
    }

    /// As `set_read`, unless the read's lanes and warps are too many for an entry.
    #[inline(always)]
    pub(crate) fn try_set_read(&mut self, at: (usize, usize), read: Entry) -> bool {
        let Some(code) = self.threads.code(read) else { return false };
        self.get_mut(at).read.set(read, code);
        true
    }

    /// The code of an entry's lanes and warps; that of the first thread where there is none for them.
    #[inline(always)]
    fn code(&mut self, e: Entry) -> Code {
        self.threads.code(e).unwrap_or_else(|| {
            self.forgot = true;
            let first = e.of(1 << e.lane()).of_warps(1 << e.warp());
            Code::new(first.warp(), first.lanes)
        })
    }

    /// Whether there was no room for some accesses, so that races with them are missed.
    pub(crate) fn forgot(&self) -> bool {
        self.forgot
    }

    /// Forgets the further accesses of a cell.
    pub(crate) fn forget(&mut self, at: (usize, usize)) {
        let read = &mut self.pages[at.0][at.1].read;
        let mut number = read.next();
        read.set_next(0);
        read.set_writes(false);
        read.set_full(false);
        while number != 0 {
            let next = self.side.get(number).next();
            self.side.give(number);
            number = next;
        }
    }

    /// Further accesses of a cell, in the order in which they came.
    pub(crate) fn further(&self, at: (usize, usize)) -> impl Iterator<Item = Further> {
        let mut number = self.get(at).read.next();
        std::iter::from_fn(move || {
            let one = (number != 0).then(|| self.side.get(number))?;
            number = one.next();
            Some((one.entry(&self.threads), one.writes()))
        })
    }

    /// The access of a cell that `walk` has come to: the last write, further ones, the latest read.
    #[inline(always)]
    pub(crate) fn step(&self, at: (usize, usize), walk: &mut Walk) -> Option<Further> {
        let cell = self.get(at);
        let (next, access) = match *walk {
            Walk::Begins => (cell.read, (cell.write(), true)),
            Walk::At(number) => {
                let one = self.side.get(number);
                (one, (one.entry(&self.threads), one.writes()))
            }
            Walk::AtRead => {
                *walk = Walk::Ended;
                return Some((cell.read.entry(&self.threads), false));
            }
            Walk::Ended => return None,
        };
        *walk = if next.next() == 0 { Walk::AtRead } else { Walk::At(next.next()) };
        Some(access)
    }

    /// Keeps those further accesses of a cell that satisfy `keep`; the end of the chain, for a write.
    pub(crate) fn retain(
        &mut self,
        at: (usize, usize),
        mut keep: impl FnMut(&mut Further) -> bool,
    ) -> End {
        let mut number = self.get(at).read.next();
        let mut end = End::default();
        if number == 0 {
            return end;
        }
        let mut writes = false;
        while number != 0 {
            let one = self.side.get(number);
            let old = (one.entry(&self.threads), one.writes());
            let mut new = old;
            if keep(&mut new) {
                writes |= new.1;
                if new.0 != old.0 {
                    let code = self.code(new.0);
                    self.side.get_mut(number).set(new.0, code);
                }
                end.pass(number, new.1, true);
            } else {
                match end.last {
                    0 => self.get_mut(at).read.set_next(one.next()),
                    last => self.side.get_mut(last).set_next(one.next()),
                }
                self.side.give(number);
            }
            number = one.next();
        }
        let read = &mut self.get_mut(at).read;
        read.set_writes(writes);
        read.set_full(end.count >= FURTHER);
        end
    }

    /// Makes entries of several warps one of each.
    pub(crate) fn part(&mut self, at: (usize, usize)) {
        let mut number = self.get(at).read.next();
        let mut several = self.get(at).read.may_be_several();
        while number != 0 {
            let one = self.side.get(number);
            several |= one.may_be_several();
            number = one.next();
        }
        if !several {
            return;
        }
        let mut all: Vec<Further> = self.further(at).collect();
        all.push((self.read(at), false));
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
        self.set_read(at, before.map_or(Entry::NONE, |(read, _)| read));
    }

    /// Keeps the entries of a block.
    pub(crate) fn keep_block(&mut self, block: u32) {
        for page in 0..self.pages.len() {
            for number in 0..self.pages[page].len() {
                let at = (page, number);
                self.retain(at, |(e, _)| e.who / 2 == block);
                let read = self.read(at);
                let cell = self.get_mut(at);
                if cell.write().who / 2 != block {
                    cell.clear_write();
                }
                if read.who / 2 != block {
                    cell.clear_read();
                }
            }
        }
    }

    /// Whether the further accesses of a cell are all reads.
    pub(crate) fn only_reads(&self, at: (usize, usize)) -> bool {
        !self.get(at).read.writes()
    }

    /// Adds a further read, if there is room: it was the latest one, whose place another has taken.
    pub(crate) fn push_read(&mut self, at: (usize, usize), read: Entry, end: End) {
        if end.count < FURTHER {
            self.add(at, (read, false), end);
        }
    }

    /// As `push_read`; the read takes the place of one by lanes of `new`, which needs none besides.
    pub(crate) fn keep_read(&mut self, at: (usize, usize), read: Entry, new: Entry) {
        // Where there are too many anyhow, none is looked for.
        if self.get(at).read.full() {
            return;
        }
        let mut number = self.get(at).read.next();
        let mut end = End::default();
        let code = Code::new(new.warp(), new.lanes);
        while number != 0 {
            let one = self.side.get(number);
            if !one.writes() && one.is_part(new, code, &self.threads) {
                let code = self.code(read);
                return self.side.get_mut(number).set(read, code);
            }
            end.pass(number, one.writes(), false);
            number = one.next();
        }
        self.push_read(at, read, end);
    }

    /// Adds a further access. Where there is no room, the new one takes the place of the latest of its kind: the first
    /// ones, of other warps and blocks most often, stay.
    pub(crate) fn push(&mut self, at: (usize, usize), further: Further) {
        let end = self.end(at, further.1);
        self.add(at, further, end);
    }

    /// The end of a cell's chain, for an access that writes or not.
    fn end(&self, at: (usize, usize), wrote: bool) -> End {
        let mut number = self.get(at).read.next();
        let mut end = End::default();
        while number != 0 {
            let one = self.side.get(number);
            end.pass(number, one.writes(), wrote);
            number = one.next();
        }
        end
    }

    /// As `push`, where the end of the chain is known.
    pub(crate) fn add(&mut self, at: (usize, usize), (entry, wrote): Further, end: End) {
        let mut new = None;
        if end.count < FURTHER {
            new = self.side.take(self.pages.len());
            self.forgot |= new.is_none();
        }
        let code = self.code(entry);
        let Some(new) = new else {
            if end.alike != 0 {
                self.side.get_mut(end.alike).set(entry, code);
            }
            return;
        };
        let one = self.side.get_mut(new);
        *one = Packed::NONE;
        one.set(entry, code);
        one.set_writes(wrote);
        match end.last {
            0 => self.get_mut(at).read.set_next(new),
            last => self.side.get_mut(last).set_next(new),
        }
        let read = &mut self.get_mut(at).read;
        if wrote {
            read.set_writes(true);
        }
        if end.count + 1 >= FURTHER {
            read.set_full(true);
        }
    }
}

/// Where a walk over the accesses of a cell stands.
#[derive(Copy, Clone)]
pub(crate) enum Walk {
    Begins,
    At(u32),
    AtRead,
    Ended,
}

/// What is known of a chain when it has been walked: its length, its last number, and the last that is of a kind.
#[derive(Copy, Clone, Default)]
pub(crate) struct End {
    count: usize,
    last: u32,
    alike: u32,
}

impl End {
    #[inline(always)]
    fn pass(&mut self, number: u32, writes: bool, wrote: bool) {
        (self.count, self.last) = (self.count + 1, number);
        if writes == wrote {
            self.alike = number;
        }
    }
}

#[cfg(test)]
mod tests;
