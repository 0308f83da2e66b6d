//! An access, and how it is kept in few bytes.

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

/// Sites of a launch: their numbers have 18 bits.
pub(crate) const SITES: usize = 1 << 18;

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

/// A write: one lane did it.
#[derive(Copy, Clone, Debug)]
struct Write {
    who: u32,
    clock: u32,
    /// Site, bytes, warp (5 bits), lane (5 bits).
    place: u32,
}

/// A read, or any access in the side table.
#[derive(Copy, Clone, Debug)]
pub(super) struct Packed {
    who: u32,
    clock: u32,
    /// Site, bytes, the low 10 bits of the code of its threads.
    place: u32,
    /// The high 7 bits of the code; whether it writes, and of a cell's read whether further accesses do; of a cell's
    /// read whether the word has no room for more; the next further access: its number, or 0.
    link: u32,
}

const CODE_LOW: u32 = 10;
const CODE_HIGH: u32 = 7;
const WRITES: u32 = 1 << 24;
const FULL: u32 = 1 << 23;
/// The greatest number that `link` can name.
pub(super) const LINKS: u32 = FULL - 1;

impl Packed {
    pub(super) const NONE: Packed = Packed { who: 0, clock: 0, place: 0, link: 0 };

    #[inline(always)]
    pub(super) fn next(self) -> u32 {
        self.link & LINKS
    }
    pub(super) fn set_next(&mut self, next: u32) {
        self.link = self.link & !LINKS | next & LINKS;
    }
    #[inline(always)]
    pub(super) fn writes(self) -> bool {
        self.link & WRITES != 0
    }
    pub(super) fn set_writes(&mut self, writes: bool) {
        self.link = self.link & !WRITES | if writes { WRITES } else { 0 };
    }

    /// Takes over an entry whose threads have this code.
    #[inline(always)]
    pub(super) fn set(&mut self, e: Entry, Code(code): Code) {
        let high = code >> CODE_LOW << (32 - CODE_HIGH);
        *self = Packed {
            who: e.who,
            clock: e.clock,
            place: e.site_and_bytes << CODE_LOW | code & ((1 << CODE_LOW) - 1),
            link: self.link << CODE_HIGH >> CODE_HIGH | high,
        };
    }

    #[inline(always)]
    pub(super) fn full(self) -> bool {
        self.link & FULL != 0
    }
    pub(super) fn set_full(&mut self, full: bool) {
        self.link = self.link & !FULL | if full { FULL } else { 0 };
    }

    /// Whether it may be of several warps.
    #[inline(always)]
    pub(super) fn may_be_several(self) -> bool {
        self.code() & PAIR != 0
    }

    #[inline(always)]
    fn code(self) -> u32 {
        self.place & ((1 << CODE_LOW) - 1) | self.link >> (32 - CODE_HIGH) << CODE_LOW
    }

    /// Whether it is by lanes of another entry, which has this code, and of no bytes but its.
    #[inline(always)]
    pub(super) fn is_part(self, of: Entry, Code(code): Code, threads: &Threads) -> bool {
        let inside = self.who == of.who && self.place >> CODE_LOW & !of.site_and_bytes & 15 == 0;
        if !inside || code & ((1 << LANES) - 1) < 32 {
            // One lane has no other parts.
            return inside && self.code() == code;
        }
        let (warps, lanes) = threads.of(self.code());
        warps == of.warps && lanes & !of.lanes == 0
    }

    #[inline(always)]
    pub(super) fn entry(self, threads: &Threads) -> Entry {
        let site_and_bytes = self.place >> CODE_LOW;
        if site_and_bytes & 15 == 0 {
            return Entry::NONE;
        }
        let (warps, lanes) = threads.of(self.code());
        Entry { who: self.who, warps, clock: self.clock, lanes, site_and_bytes }
    }
}

/// Accesses to four bytes: the last write and the latest read.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cell {
    write: Write,
    pub(super) read: Packed,
}

impl Cell {
    pub(super) const NEW: Cell =
        Cell { write: Write { who: 0, clock: 0, place: 0 }, read: Packed::NONE };

    /// Whether there are further accesses.
    #[inline(always)]
    pub(crate) fn has_more(&self) -> bool {
        self.read.next() != 0
    }

    #[inline(always)]
    pub(crate) fn write_clock(&self) -> u32 {
        self.write.clock
    }

    #[inline(always)]
    pub(crate) fn read_clock(&self) -> u32 {
        self.read.clock
    }

    #[inline(always)]
    pub(crate) fn write(&self) -> Entry {
        let Write { who, clock, place } = self.write;
        let site_and_bytes = place >> 10;
        if site_and_bytes & 15 == 0 {
            return Entry::NONE;
        }
        let (warps, lanes) = (1 << (place >> 5 & 31), 1 << (place & 31));
        Entry { who, warps, clock, lanes, site_and_bytes }
    }

    /// Sets the write, of one lane with this code.
    #[inline(always)]
    pub(crate) fn set_write(&mut self, e: Entry, code: Code) {
        debug_assert!(e.lanes.count_ones() <= 1, "lanes write one by one: {e:?}");
        let thread = code.0 >> (LANES - 5) & 0x3e0 | code.0 & 31;
        self.write = Write { who: e.who, clock: e.clock, place: e.site_and_bytes << 10 | thread };
    }

    /// Forgets the write.
    pub(crate) fn clear_write(&mut self) {
        self.write = Cell::NEW.write;
    }

    /// Forgets the latest read.
    #[inline(always)]
    pub(crate) fn clear_read(&mut self) {
        let link = self.read.link & (LINKS | WRITES | FULL);
        self.read = Packed { link, ..Packed::NONE };
    }
}

/// Numbers for values, in the order in which they come.
#[derive(Default)]
struct Numbers<T> {
    all: Vec<T>,
    known: HashMap<T, u32>,
}

impl<T: Copy + Eq + std::hash::Hash> Numbers<T> {
    fn of(&mut self, value: T, most: usize) -> Option<u32> {
        if let Some(number) = self.known.get(&value) {
            return Some(*number);
        }
        if self.all.len() >= most {
            return None;
        }
        let number = self.all.len() as u32;
        self.all.push(value);
        self.known.insert(value, number);
        Some(number)
    }
}

/// Lanes and warps of an entry in 17 bits.
///
/// With the highest bit, the number of a pair of masks. Without it, the number of a warp and what says its lanes: a lane,
/// all lanes, or the number of a mask.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Code(u32);

impl Code {
    /// That of one lane, or all lanes, of a warp; `NONE` for other masks.
    #[inline(always)]
    pub(crate) fn new(warp: u32, lanes: u32) -> Code {
        if lanes & lanes.wrapping_sub(1) == 0 {
            return Code((warp & 31) << LANES | lanes.trailing_zeros() & 31);
        }
        if lanes == u32::MAX { Code((warp & 31) << LANES | 32) } else { Code::NONE }
    }

    pub(crate) const NONE: Code = Code(u32::MAX);
}

const LANES: u32 = 11;
const PAIR: u32 = 1 << 16;
/// Masks of lanes that have a number.
const MASKS: usize = (1 << LANES) - 33;
/// Pairs that have one: with their table half a MB at most.
const PAIRS: usize = 1 << 14;

/// What codes mean that name masks: kernels have few.
#[derive(Default)]
pub(super) struct Threads {
    masks: Numbers<u32>,
    pairs: Numbers<(u32, u32)>,
}

impl Threads {
    #[inline(always)]
    fn of(&self, code: u32) -> (u32, u32) {
        if code & PAIR != 0 {
            return self.pairs.all[(code & !PAIR) as usize];
        }
        let lanes = match code & ((1 << LANES) - 1) {
            lane @ 0..32 => 1 << lane,
            32 => u32::MAX,
            mask => self.masks.all[mask as usize - 33],
        };
        (1 << (code >> LANES), lanes)
    }

    /// The code of an entry's lanes and warps; nothing where all are in use.
    #[inline(always)]
    pub(super) fn code(&mut self, e: Entry) -> Option<Code> {
        if e.warps & e.warps.wrapping_sub(1) == 0 {
            let code = Code::new(e.warp(), e.lanes);
            if code != Code::NONE {
                return Some(code);
            }
        }
        self.rare(e)
    }

    fn rare(&mut self, e: Entry) -> Option<Code> {
        if e.warps.is_power_of_two()
            && let Some(mask) = self.masks.of(e.lanes, MASKS)
        {
            return Some(Code(e.warp() << LANES | mask + 33));
        }
        self.pairs.of((e.warps, e.lanes), PAIRS).map(|pair| Code(pair | PAIR))
    }

    /// Bytes of its tables.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        fn of<T>(numbers: &Numbers<T>) -> usize {
            let slots = numbers.known.capacity() * 8 / 7;
            numbers.all.capacity() * size_of::<T>() + slots * (size_of::<(T, u32)>() + 1)
        }
        of(&self.masks) + of(&self.pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_seven_bytes_a_byte() {
        assert_eq!((size_of::<Cell>(), size_of::<Packed>()), (28, 16));
    }

    #[test]
    fn entries_come_back_as_they_were() {
        let mut threads = Threads::default();
        let mut cell = Cell::NEW;
        let greatest = (SITES - 1) as u32;
        let masks = [1, 1 << 31, u32::MAX, 0xffff, 0x8000_0001, 0x5555_5555];
        let mut packed = Vec::new();
        for (who, clock) in [(0, 1), (u32::MAX, u32::MAX), (7, 1 << 30)] {
            for (site, bytes) in [(0, 1), (greatest, 15), (77, 8)] {
                for lanes in masks {
                    for warps in masks {
                        let e = Entry::new((who, 0), clock, lanes, site, bytes).of_warps(warps);
                        let mut one = Packed::NONE;
                        one.set_next(LINKS - 3);
                        one.set_writes(bytes == 8);
                        one.set_full(site == 0);
                        let code = threads.code(e).expect("a code");
                        one.set(e, code);
                        assert_eq!((one.next(), one.writes()), (LINKS - 3, bytes == 8));
                        assert_eq!(one.full(), site == 0);
                        packed.push((e, one));
                        if lanes.is_power_of_two() && warps.is_power_of_two() {
                            cell.set_write(e, code);
                            assert_eq!(cell.write(), e);
                        }
                    }
                }
            }
        }
        // What comes later changes nothing of what was there.
        for (e, one) in packed {
            assert_eq!(one.entry(&threads), e);
        }
        cell.clear_write();
        assert_eq!((cell.write(), cell.write_clock()), (Entry::NONE, 0));
    }

    #[test]
    fn codes_end() {
        let mut threads = Threads::default();
        let entry = |lanes, warps| Entry::new((2, 0), 5, lanes, 3, 15).of_warps(warps);
        let given = (3..100_000).filter(|lanes| threads.code(entry(*lanes, 1)).is_some()).count();
        let single = (3..100_000u32).filter(|lanes| lanes.is_power_of_two()).count();
        assert_eq!(given, MASKS + PAIRS + single);
        assert!(threads.code(entry(7, 1)).is_some(), "those that have one keep it");
        assert!(threads.code(entry(7, 3)).is_none(), "there is none left");
        assert!(threads.code(entry(1 << 9, 1 << 7)).is_some(), "a single thread needs none");
        assert!(threads.bytes() < 5 << 17, "{}", threads.bytes());
    }
}
