//! Lane offsets of accesses from the first lane's address: a block has few distinct ones, each at many bases. Irregular
//! kernels have many, so that a pattern takes no more memory than it has to.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::access::{LANES, WarpAccess};
use crate::host::{HOST_BYTES, prefetch};

/// The lanes of an access, as far as they do not depend on where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pattern {
    mask: u32,
    width: u32,
    offsets: Offsets,
}

/// The offsets of a pattern's lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offsets {
    /// Each lane's is so many bytes more than that of the lane before, whether that takes part or not.
    Even(i64),
    /// In [`PatternList::offsets`] from an index on, one for each lane that takes part.
    Listed(u32),
    /// The same, each in two parts, the low one first.
    Long(u32),
}

impl Pattern {
    /// Words of its offsets in the list.
    fn words(&self) -> usize {
        let lanes = self.mask.count_ones() as usize;
        match self.offsets {
            Offsets::Even(_) => 0,
            Offsets::Listed(_) => lanes,
            Offsets::Long(_) => 2 * lanes,
        }
    }
}

/// First address of an access that has lanes.
fn base_of(access: &WarpAccess) -> (usize, u64) {
    let first = access.mask.trailing_zeros() as usize % LANES;
    (first, access.addresses[first])
}

/// Whether the lanes of an access are `step` bytes apart.
fn is_even(access: &WarpAccess, step: i64) -> bool {
    let (first, base) = base_of(access);
    let expected =
        |lane: usize| base.wrapping_add(((lane - first) as u64).wrapping_mul(step.cast_unsigned()));
    access.lanes().all(|(lane, address)| address == expected(lane))
}

/// The distance of the first two lanes that take part, for each lane between them.
fn step_of(access: &WarpAccess) -> i64 {
    let (first, base) = base_of(access);
    let others = access.mask & access.mask.wrapping_sub(1);
    if others == 0 {
        return 0;
    }
    let second = others.trailing_zeros() as usize % LANES;
    access.addresses[second].wrapping_sub(base).cast_signed() / (second - first).max(1) as i64
}

/// Patterns by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatternList {
    list: Vec<Pattern>,
    offsets: Vec<i32>,
}

impl PatternList {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Lanes that take part in a pattern.
    pub fn lanes(&self, pattern: u32) -> u32 {
        self.list.get(pattern as usize).map_or(0, |pattern| pattern.mask.count_ones())
    }

    /// Bytes that they take in memory, about.
    pub fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Pattern>() + self.offsets.capacity() * size_of::<i32>()
    }

    /// The access of a pattern at a base; one by no lane if there is no such pattern.
    pub fn at(&self, pattern: u32, base: u64) -> WarpAccess {
        let mut access = WarpAccess { mask: 0, width: 0, addresses: [base; LANES] };
        let Some(pattern) = self.list.get(pattern as usize) else { return access };
        (access.mask, access.width) = (pattern.mask, pattern.width);
        let first = i64::from(access.mask.trailing_zeros());
        let mut rest = access.mask;
        let mut index = 0;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let offset = match pattern.offsets {
                Offsets::Even(step) => step.wrapping_mul(i64::from(lane) - first),
                Offsets::Listed(from) => self.offsets[from as usize + index].into(),
                Offsets::Long(from) => self.long(from as usize + 2 * index),
            };
            access.addresses[lane as usize] = base.wrapping_add_signed(offset);
            index += 1;
        }
        access
    }

    fn long(&self, at: usize) -> i64 {
        let [low, high] = [self.offsets[at], self.offsets[at + 1]];
        i64::from(high) << 32 | i64::from(low.cast_unsigned())
    }

    /// Lets the host's caches fetch what says where the offsets of a pattern are.
    pub fn warm(&self, pattern: u32) {
        prefetch(&self.list, pattern as usize);
    }

    /// Lets them fetch its offsets.
    pub fn warm_offsets(&self, pattern: u32) {
        let Some(pattern) = self.list.get(pattern as usize) else { return };
        if let Offsets::Listed(from) | Offsets::Long(from) = pattern.offsets {
            let from = from as usize;
            (from..from + pattern.words())
                .step_by(HOST_BYTES / size_of::<i32>())
                .for_each(|offset| prefetch(&self.offsets, offset));
        }
    }

    /// Those of another list behind these.
    fn append(&mut self, other: &Self) {
        let more = self.offsets.len() as u32;
        self.offsets.extend_from_slice(&other.offsets);
        self.list.extend(other.list.iter().map(|pattern| {
            let offsets = match pattern.offsets {
                Offsets::Even(step) => Offsets::Even(step),
                Offsets::Listed(from) => Offsets::Listed(from + more),
                Offsets::Long(from) => Offsets::Long(from + more),
            };
            Pattern { offsets, ..*pattern }
        }));
    }

    fn listed(&self, pattern: &Pattern) -> &[i32] {
        match pattern.offsets {
            Offsets::Even(_) => &[],
            Offsets::Listed(from) | Offsets::Long(from) => {
                &self.offsets[from as usize..from as usize + pattern.words()]
            }
        }
    }

    /// Whether two patterns mean the same.
    fn same(&self, a: &Pattern, b: &Pattern) -> bool {
        let offsets = match (a.offsets, b.offsets) {
            (Offsets::Even(a), Offsets::Even(b)) => a == b,
            (Offsets::Listed(_), Offsets::Listed(_)) | (Offsets::Long(_), Offsets::Long(_)) => true,
            (Offsets::Even(_) | Offsets::Listed(_) | Offsets::Long(_), _) => false,
        };
        offsets && (a.mask, a.width) == (b.mask, b.width) && self.listed(a) == self.listed(b)
    }

    /// Whether an access has a pattern.
    fn is(&self, pattern: &Pattern, access: &WarpAccess) -> bool {
        if (pattern.mask, pattern.width) != (access.mask, access.width) {
            return false;
        }
        let (_, base) = base_of(access);
        let offsets =
            || access.lanes().map(|(_, address)| address.wrapping_sub(base).cast_signed());
        match pattern.offsets {
            Offsets::Even(step) => is_even(access, step),
            Offsets::Listed(_) => {
                self.listed(pattern).iter().zip(offsets()).all(|(a, b)| i64::from(*a) == b)
            }
            Offsets::Long(from) => {
                offsets().enumerate().all(|(i, b)| self.long(from as usize + 2 * i) == b)
            }
        }
    }

    /// The pattern of an access. What it lists is at the end of the list.
    fn pattern(&mut self, access: &WarpAccess) -> Pattern {
        let WarpAccess { mask, width, .. } = *access;
        let step = step_of(access);
        if is_even(access, step) {
            return Pattern { mask, width, offsets: Offsets::Even(step) };
        }
        let (_, base) = base_of(access);
        let from = self.offsets.len();
        let offset = |address: u64| address.wrapping_sub(base).cast_signed();
        let short = |(_, address)| i32::try_from(offset(address)).ok();
        let found = access.lanes().map_while(short);
        self.offsets.extend(found);
        if self.offsets.len() - from == mask.count_ones() as usize {
            return Pattern { mask, width, offsets: Offsets::Listed(from as u32) };
        }
        self.offsets.truncate(from);
        let parts = |(_, address)| {
            let offset = offset(address);
            [offset as i32, (offset >> 32) as i32]
        };
        self.offsets.extend(access.lanes().flat_map(parts));
        Pattern { mask, width, offsets: Offsets::Long(from as u32) }
    }

    fn hash(&self, pattern: &Pattern) -> u64 {
        let mix = |h: u64, n: u64| (h.rotate_left(5) ^ n).wrapping_mul(0x517c_c1b7_2722_0a95);
        let start = u64::from(pattern.mask) << 32 | u64::from(pattern.width);
        let start = match pattern.offsets {
            Offsets::Even(step) => mix(start, step.cast_unsigned()),
            Offsets::Listed(_) | Offsets::Long(_) => start,
        };
        self.listed(pattern).iter().fold(start, |h, o| mix(h, u64::from(o.cast_unsigned())))
    }
}

/// The distinct patterns of a block's accesses, and what finds them.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    pub(crate) list: PatternList,
    /// First pattern with a hash.
    known: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    /// The pattern that each instruction used last.
    last: Vec<u32>,
    /// Patterns with other widths: the first one and the width.
    wider: HashMap<(u32, u32), u32>,
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for Patterns {}

/// Hashes are spread already.
#[derive(Debug, Clone, Copy, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |h, b| h << 8 | u64::from(*b));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

impl Patterns {
    /// The number of an access's pattern, and its base.
    pub(crate) fn add(&mut self, pc: u32, access: &WarpAccess) -> (u64, u32) {
        let (_, base) = base_of(access);
        let pc = pc as usize;
        if self.last.len() <= pc {
            self.last.resize(pc + 1, 0);
        }
        let last = self.last[pc];
        if self.list.list.get(last as usize).is_some_and(|pattern| self.list.is(pattern, access)) {
            return (base, last);
        }
        let pattern = self.list.pattern(access);
        let index = self.index(pattern);
        self.last[pc] = index;
        (base, index)
    }

    /// The number of a pattern. What it lists is dropped if it is not new and this is at the end of the list.
    fn index(&mut self, pattern: Pattern) -> u32 {
        let PatternList { list, offsets } = &self.list;
        let next = list.len() as u32;
        let index = *self.known.entry(self.list.hash(&pattern)).or_insert(next);
        // Of two patterns with one hash the second is kept as often as it occurs.
        if list.get(index as usize).is_some_and(|known| self.list.same(known, &pattern)) {
            let words = pattern.words();
            let from = offsets.len() - words;
            match pattern.offsets {
                Offsets::Listed(at) | Offsets::Long(at) if at as usize == from => {
                    self.list.offsets.truncate(from);
                }
                Offsets::Even(_) | Offsets::Listed(_) | Offsets::Long(_) => {}
            }
            return index;
        }
        self.list.list.push(pattern);
        next
    }

    /// The number of a pattern whose lanes access so many bytes in place of their own.
    pub(crate) fn wide(&mut self, pattern: u32, width: u32) -> u32 {
        if let Some(found) = self.wider.get(&(pattern, width)) {
            return *found;
        }
        let Some(own) = self.list.list.get(pattern as usize) else { return pattern };
        let index = self.index(Pattern { width, ..*own });
        self.wider.insert((pattern, width), index);
        index
    }

    /// Takes those of another list; returns the number of the first.
    pub(crate) fn append(&mut self, other: Self) -> u32 {
        let first = self.list.len() as u32;
        self.list.append(&other.list);
        first
    }

    /// All of them, without what finds them. Others can be added in the memory of these.
    pub(crate) fn take(&mut self) -> Self {
        let list = self.list.clone();
        self.list.list.clear();
        self.list.offsets.clear();
        self.known.clear();
        self.last.clear();
        self.wider.clear();
        Self { list, ..Self::default() }
    }

    /// Frees what only finding them needs.
    pub(crate) fn finish(&mut self) {
        self.known = HashMap::default();
        self.last = Vec::new();
        self.wider = HashMap::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accesses come back from their patterns, and what differs only in where it begins has one pattern.
    #[test]
    fn accesses_come_back() {
        let lanes: [fn(u64) -> Option<u64>; 8] = [
            |lane| Some(lane * 4),
            |lane| Some(lane * 5 % 32 * 64),
            |lane| (lane % 3 == 1).then_some(lane * 8),
            |lane| (lane % 5 == 2).then_some(lane * lane * 16),
            |lane| Some((31 - lane) * 128),
            |lane| Some((lane * lane) << 40),
            |lane| (lane == 7).then_some(0),
            |lane| (lane > 1).then_some(0_u64.wrapping_sub(lane * lane << 33)),
        ];
        let mut patterns = Patterns::default();
        let mut numbers = Vec::new();
        for base in [0x1000_u64, 0x7fff_0000_0000] {
            for (pc, lane) in (0..).zip(&lanes) {
                let own = (0..32).map(|l| Some(base.wrapping_add(lane(l)?)));
                let access = WarpAccess::from_lanes(4, own);
                let (first, number) = patterns.add(pc % 3, &access);
                let again = patterns.list.at(number, first);
                assert_eq!((again.mask, again.width), (access.mask, 4), "lanes {pc}");
                assert!(again.lanes().eq(access.lanes()), "lanes {pc}");
                numbers.push(number);
                let wide = patterns.wide(number, 16);
                let wide = patterns.list.at(wide, first);
                assert_eq!(wide.width, 16);
                assert!(wide.lanes().eq(access.lanes()), "lanes {pc}");
            }
        }
        assert_eq!(numbers[..8], numbers[8..]);
        assert_eq!(patterns.list.len(), 16);
        // Listed once: two irregular ones by 32 and 6 lanes, two long ones by 32 and 30.
        assert_eq!(patterns.list.offsets.len(), 32 + 6 + 2 * (32 + 30));
    }

    /// Patterns of traces that were made one by one keep their offsets.
    #[test]
    fn lists_are_appended() {
        let access = |n: u64| WarpAccess::from_lanes(8, (0..32).map(|l| Some(l * l * n)));
        let (mut all, mut other) = (Patterns::default(), Patterns::default());
        all.add(0, &access(8));
        other.add(0, &access(24));
        assert_eq!(all.append(other), 1);
        assert!(all.list.at(1, 0).lanes().eq(access(24).lanes()));
    }
}
