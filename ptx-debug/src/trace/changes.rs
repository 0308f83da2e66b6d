//! Registers and addresses as what changed since the same instruction wrote them last, whichever warp it was: counters,
//! indices and sums change by little, or by the same in all lanes. Lanes that do not execute take no room.
//!
//! A row begins with a byte: bytes of a change (0 to 4, 5 for eight, [`PAIRS`] for two bits a lane), and bits that
//! [`ONE`] and those below it explain. Changes are written with their sign in the lowest bit, so that small ones have
//! few bytes.

use std::cell::Cell;

use ptx_interp::{LANE_BIT, RegisterRow};

use super::event::{Instruction, Row};
use crate::vector::{Processor, by_processor};

/// In place of the bytes of a change: a word of 64 bits has two bits for each lane.
const PAIRS: u8 = 6;

/// One change, that of all lanes.
const ONE: u8 = 8;
/// Values have 64 bits, not 32.
const LONG: u8 = 16;
/// A predicate, not a change: 0 no executing lane has it, 1 all have, 4 a word with a bit for each lane follows.
const BITS: u8 = 32;

/// Rows as they were written last.
pub(super) struct Changes {
    /// Number of the first row of each instruction; its last row is that of addresses.
    starts: Vec<usize>,
    words: Vec<[u32; 32]>,
    longs: Vec<[u64; 32]>,
    processor: Processor,
}

/// What changes of values need of their type.
trait Value: Copy + Eq + Into<u64> {
    /// All bits where `on`.
    fn all(on: bool) -> Self;
    /// `self` where `mask` has bits, else `other`.
    fn or(self, mask: Self, other: Self) -> Self;
    /// The way from `from`, its sign in the lowest bit.
    fn since(self, from: Self) -> Self;
    /// Goes that way.
    fn going(self, way: u64) -> Self;
}

macro_rules! value {
    ($ty:ident, $signed:ident) => {
        impl Value for $ty {
            #[inline(always)]
            fn all(on: bool) -> $ty {
                if on { $ty::MAX } else { 0 }
            }
            #[inline(always)]
            fn or(self, mask: $ty, other: $ty) -> $ty {
                self & mask | other & !mask
            }
            #[inline(always)]
            fn since(self, from: $ty) -> $ty {
                let d = self.wrapping_sub(from);
                d << 1 ^ (d as $signed >> ($ty::BITS - 1)) as $ty
            }
            #[inline(always)]
            fn going(self, way: u64) -> $ty {
                let way = way as $ty;
                self.wrapping_add(way >> 1 ^ (way & 1).wrapping_neg())
            }
        }
    };
}
value!(u32, i32);
value!(u64, i64);

/// The ways from the last values of the executing lanes, which become those of `row`; all of them together, and whether
/// they are the same.
#[inline(always)]
fn ways<T: Value + std::ops::BitOr<Output = T> + std::ops::BitXor<Output = T>>(
    row: &[Cell<T>; 32],
    last: &mut [T; 32],
    lanes: u32,
) -> ([T; 32], T, bool) {
    let none = T::all(false);
    let mut ways = [none; 32];
    if lanes == u32::MAX {
        for l in 0..32 {
            let new = row[l].get();
            ways[l] = new.since(last[l]);
            last[l] = new;
        }
    } else {
        for l in 0..32 {
            let new = row[l].get().or(T::all(lanes & LANE_BIT[l] != 0), last[l]);
            ways[l] = new.since(last[l]);
            last[l] = new;
        }
    }
    let first = ways[lanes.trailing_zeros().min(31) as usize];
    let (mut any, mut differs) = (none, none);
    for l in 0..32 {
        any = any | ways[l];
        differs = differs | (ways[l] ^ first).or(T::all(lanes & LANE_BIT[l] != 0), none);
    }
    (ways, any, differs == none)
}

/// The number that stands for the bytes of a value, and the bytes.
fn width(any: u64) -> (u8, usize) {
    match 64 - any.leading_zeros() {
        0 => (0, 0),
        1..=8 => (1, 1),
        9..=16 => (2, 2),
        17..=24 => (3, 3),
        25..=32 => (4, 4),
        _ => (5, 8),
    }
}

/// Bytes of a row that are collected before they are written: eight for each lane, and what a lane may write over.
type Bytes = [u8; 32 * 8 + 8];

/// Writes the lowest bytes of each lane, at a distance of `STEP`. Each writes over what the last one had too much.
#[inline(always)]
fn every<const STEP: usize, const BYTES: usize>(way: impl Fn(usize) -> u64, out: &mut Vec<u8>) {
    let mut all: Bytes = [0; 32 * 8 + 8];
    for l in 0..32 {
        let bytes = way(l).to_le_bytes();
        all[STEP * l..STEP * l + BYTES].copy_from_slice(&bytes[..BYTES]);
    }
    out.extend_from_slice(&all[..32 * STEP]);
}

/// Writes the lowest bytes of each executing lane.
#[inline(always)]
fn put(way: impl Fn(usize) -> u64, lanes: u32, bytes: usize, out: &mut Vec<u8>) {
    match (bytes, lanes == u32::MAX) {
        (0, _) => {}
        (1, true) => every::<1, 1>(way, out),
        (2, true) => every::<2, 2>(way, out),
        (3, true) => every::<3, 4>(way, out),
        (4, true) => every::<4, 4>(way, out),
        _ => {
            let mut all: Bytes = [0; 32 * 8 + 8];
            let (mut at, mut left) = (0, lanes);
            while left != 0 {
                let l = left.trailing_zeros() as usize;
                all[at..at + 8].copy_from_slice(&way(l).to_le_bytes());
                at += bytes;
                left &= left - 1;
            }
            out.extend_from_slice(&all[..at]);
        }
    }
}

/// The first byte of a row and what stands behind it.
#[derive(Copy, Clone)]
pub(super) struct Begin {
    /// Bits for the first byte.
    pub bits: u8,
    /// The number behind it.
    pub number: Option<u16>,
}

impl Begin {
    #[inline(always)]
    fn write(self, code: u8, out: &mut Vec<u8>) {
        out.push(code | self.bits);
        if let Some(number) = self.number {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Writes a row.
#[inline(always)]
fn write_row<T: Value + std::ops::BitOr<Output = T> + std::ops::BitXor<Output = T>>(
    row: &[Cell<T>; 32],
    last: &mut [T; 32],
    lanes: u32,
    begin: Begin,
    out: &mut Vec<u8>,
) {
    let (ways, any, same) = ways(row, last, lanes);
    let any: u64 = any.into();
    let (code, bytes) = width(any);
    if same {
        begin.write(code | ONE, out);
        let way: u64 = ways[lanes.trailing_zeros().min(31) as usize].into();
        out.extend_from_slice(&way.to_le_bytes()[..bytes]);
    } else if any < 4 {
        begin.write(PAIRS, out);
        let mut pairs = 0u64;
        for l in 0..32 {
            let way: u64 = ways[l].into();
            pairs |= way << (2 * l);
        }
        out.extend_from_slice(&pairs.to_le_bytes());
    } else {
        begin.write(code, out);
        put(|l| ways[l].into(), lanes, bytes, out);
    }
}

by_processor! {
    fn write_words(
        row: &[Cell<u32>; 32], last: &mut [u32; 32], lanes: u32, begin: Begin, out: &mut Vec<u8>,
    ) = write_row;
}
by_processor! {
    fn write_longs(
        row: &[Cell<u64>; 32], last: &mut [u64; 32], lanes: u32, begin: Begin, out: &mut Vec<u8>,
    ) = write_row;
}

/// Where the bytes of a row come from.
pub(super) trait Source {
    type Error;
    /// The next bytes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error>;
}

impl Changes {
    pub(super) fn new(instructions: &[Instruction]) -> Changes {
        let mut count = 0;
        let starts: Vec<usize> = instructions
            .iter()
            .map(|i| {
                count += i.writes.len() + 1;
                count - i.writes.len() - 1
            })
            .collect();
        let processor = Processor::detect();
        Changes { starts, words: vec![[0; 32]; count], longs: vec![[0; 32]; count], processor }
    }

    /// Number of the row of an instruction's `n`-th register.
    #[inline(always)]
    pub(super) fn register(&self, pc: u32, n: usize) -> usize {
        self.starts[pc as usize] + n
    }

    /// Number of the row of an instruction's addresses.
    pub(super) fn addresses(&self, pc: u32) -> usize {
        self.starts.get(pc as usize + 1).copied().unwrap_or(self.words.len()) - 1
    }

    /// Writes a register.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        number: usize,
        row: RegisterRow<'_>,
        lanes: u32,
        begin: Begin,
        out: &mut Vec<u8>,
    ) {
        match row {
            RegisterRow::Bits(bits) => {
                let some = bits & lanes != 0 && bits & lanes != lanes;
                let code = if some { 4 } else { u8::from(bits & lanes != 0) };
                begin.write(code | BITS, out);
                if some {
                    out.extend_from_slice(&bits.to_le_bytes());
                }
            }
            RegisterRow::Words(row) => {
                write_words(self.processor, row, &mut self.words[number], lanes, begin, out);
            }
            RegisterRow::Longs(row) => self.write_longs(number, row, lanes, begin, out),
        }
    }

    /// The same with 64 bits a lane.
    pub(super) fn write_longs(
        &mut self,
        number: usize,
        row: &[Cell<u64>; 32],
        lanes: u32,
        begin: Begin,
        out: &mut Vec<u8>,
    ) {
        let begin = Begin { bits: begin.bits | LONG, ..begin };
        write_longs(self.processor, row, &mut self.longs[number], lanes, begin, out);
    }

    /// Reads a row behind its first byte, and what stands behind that.
    pub(super) fn read<S: Source>(
        &mut self,
        number: usize,
        first: u8,
        lanes: u32,
        from: &mut S,
    ) -> Result<Read, S::Error> {
        let code = first & 7;
        let bytes = match code {
            small @ 0..=4 => usize::from(small),
            _ => 8,
        };
        let one = |from: &mut S| {
            let mut all = [0; 8];
            from.fill(&mut all[..bytes])?;
            Ok(u64::from_le_bytes(all))
        };
        if first & BITS != 0 {
            let all = if bytes == 0 { 0 } else { u32::MAX };
            return Ok(Read::Bits(if bytes == 4 { one(from)? as u32 } else { all }));
        }
        let shared = if first & ONE != 0 || code == PAIRS { Some(one(from)?) } else { None };
        for l in (0..32).filter(|l| lanes & LANE_BIT[*l] != 0) {
            let way = match shared {
                Some(pairs) if code == PAIRS => pairs >> (2 * l) & 3,
                Some(way) => way,
                None => one(from)?,
            };
            match first & LONG {
                0 => self.words[number][l] = self.words[number][l].going(way),
                _ => self.longs[number][l] = self.longs[number][l].going(way),
            }
        }
        Ok(if first & LONG == 0 { Read::Words(number) } else { Read::Longs(number) })
    }

    /// A row that was read.
    pub(super) fn row(&self, read: Read) -> Row<'_> {
        match read {
            Read::Bits(bits) => Row::Bits(bits),
            Read::Words(number) => Row::Words(&self.words[number]),
            Read::Longs(number) => Row::Longs(&self.longs[number]),
        }
    }
}

/// A row that was read: a predicate, or the number of the row.
#[derive(Copy, Clone)]
pub(super) enum Read {
    Bits(u32),
    Words(usize),
    Longs(usize),
}
