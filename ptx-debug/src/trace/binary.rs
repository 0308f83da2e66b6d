//! Traces as records of a few bytes; `read` makes text of them.
//!
//! A file has a part for each launch: [`MAGIC`], the bytes of its table of instructions (`u32`), the table as JSON,
//! records, an end. Numbers are little endian. A record begins with a byte, whose lower half is its kind:
//!
//! | kind | record | behind it |
//! | --- | --- | --- |
//! | 0 | the warp of what follows | block x, y, z, warp: `u32` each |
//! | 1 | an instruction is issued, one unit of time after the last | |
//! | 2 | the next instruction is issued at this time | `u64` |
//! | 3 | as 1, with what it writes | rows |
//! | 4 | an instruction accesses memory | what, bytes, `u32` each; a row of addresses |
//! | 15 | the launch ends | |
//!
//! Where nothing else is said, an issued instruction is the one that came behind the last one when that was issued
//! before (at first, the one behind it in the table), and the executing lanes are those of the last record; an access
//! is one of the last instruction, and what it does is what that did before. Bits of the first byte say otherwise:
//! [`OTHER`], [`LANES`] and [`WHAT`].
//!
//! `what` is 0 read, 1 write, 2 update; the space times 4; and, in the upper half, the time since the last instruction.
//! A row is what `changes` writes, with two bits of its own in its first byte: [`MORE`] and [`NUMBERED`].

use std::cell::Cell;

use ptx_interp::RegisterRow;
use serde_json::{Value, json};

use super::changes::{Begin, Changes};
use super::event::{Head, Instruction, Issue, Place, Row, Touch};
use super::numbers::{action_number, longs, space_number};

/// The first bytes.
pub(super) const MAGIC: &[u8; 8] = b"PTXTRAC3";

pub(super) const WARP: u8 = 0;
pub(super) const ISSUE: u8 = 1;
pub(super) const TIME: u8 = 2;
pub(super) const VALUES: u8 = 3;
pub(super) const ACCESS: u8 = 4;
pub(super) const END: u8 = 15;

/// Bit of a record's first byte: the number of the instruction follows, `u32`.
pub(super) const OTHER: u8 = 16;
/// Bit of a record's first byte: the lanes follow, `u32`.
pub(super) const LANES: u8 = 32;
/// Bit of the first byte of an access: what it is follows.
pub(super) const WHAT: u8 = 64;

/// Bit of a row's first byte: another one follows.
pub(super) const MORE: u8 = 128;
/// Bit of a row's first byte: a `u16` behind it is the number of the register among those that the instruction writes.
/// Without it the number is one more than that of the row before.
pub(super) const NUMBERED: u8 = 64;

/// What the next record is, if it says nothing else; the same in who writes and who reads.
pub(super) struct Guess {
    /// The instruction that came behind each one; behind the last one stands the first of the launch.
    next: Vec<u32>,
    /// The last instruction.
    at: usize,
    lanes: u32,
    /// What the last access of each instruction was.
    touches: Vec<[u32; 2]>,
}

impl Guess {
    pub(super) fn new(count: usize) -> Guess {
        let mut next: Vec<u32> = (1..=count as u32).collect();
        next.push(0);
        Guess { next, at: count, lanes: 0, touches: vec![[0; 2]; count] }
    }

    /// The instruction that is issued next.
    #[inline(always)]
    pub(super) fn issued(&self) -> u32 {
        self.next[self.at]
    }

    /// The instruction that accesses memory; none before the first.
    pub(super) fn accesses(&self) -> u32 {
        self.at as u32
    }

    #[inline(always)]
    pub(super) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// What an access of this instruction does.
    pub(super) fn what(&self, pc: u32) -> [u32; 2] {
        self.touches[pc as usize]
    }

    /// An instruction of the table is issued.
    #[inline(always)]
    pub(super) fn issue(&mut self, pc: u32, lanes: u32) {
        self.next[self.at] = pc;
        (self.at, self.lanes) = (pc as usize, lanes);
    }

    /// An instruction of the table accesses memory.
    pub(super) fn access(&mut self, pc: u32, lanes: u32, what: [u32; 2]) {
        self.touches[pc as usize] = what;
        self.lanes = lanes;
    }
}

/// Writes records.
pub(super) struct Binary {
    place: Option<Place>,
    /// Time of the last instruction.
    last: u64,
    guess: Guess,
    rows: Changes,
}

/// An instruction whose rows are being written.
pub(super) struct Open {
    pc: u32,
    lanes: u32,
    /// Where the first byte stands to which the next row adds a bit, and that bit.
    mark: (usize, u8),
    /// Number of the next row, if it says nothing else.
    number: usize,
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

impl Binary {
    pub(super) fn new(instructions: &[Instruction], out: &mut Vec<u8>) -> Binary {
        let one = |i: &Instruction| {
            let writes: Vec<Value> =
                i.writes.iter().map(|(name, ty)| json!([name, ty.name()])).collect();
            json!({"function": i.function, "line": i.line, "opcode": i.opcode, "text": i.text, "writes": writes})
        };
        let table: Vec<Value> = instructions.iter().map(one).collect();
        let table = json!({"instructions": table}).to_string();
        out.extend_from_slice(MAGIC);
        word(out, table.len() as u32);
        out.extend_from_slice(table.as_bytes());
        let (guess, rows) = (Guess::new(instructions.len()), Changes::new(instructions));
        Binary { place: None, last: u64::MAX, guess, rows }
    }

    #[inline(always)]
    fn at(&mut self, place: Place, out: &mut Vec<u8>) {
        if self.place != Some(place) {
            self.moved(place, out);
        }
    }

    #[inline(never)]
    fn moved(&mut self, place: Place, out: &mut Vec<u8>) {
        out.push(WARP);
        place.block.iter().for_each(|v| word(out, *v));
        word(out, place.warp);
        self.place = Some(place);
    }

    #[inline(never)]
    fn jump(&mut self, time: u64, out: &mut Vec<u8>) {
        out.push(TIME);
        out.extend_from_slice(&time.to_le_bytes());
        self.last = time.wrapping_sub(1);
    }

    /// Writes an instruction; its rows are to follow.
    #[inline(always)]
    pub(super) fn begin(&mut self, e: &Head, out: &mut Vec<u8>) -> Open {
        self.at(e.place, out);
        if e.time != self.last.wrapping_add(1) {
            self.jump(e.time, out);
        }
        self.last = e.time;
        let mark = (out.len(), ISSUE ^ VALUES);
        let (other, lanes) = (self.guess.issued() != e.pc, self.guess.lanes() != e.lanes);
        out.push(ISSUE | u8::from(other) * OTHER | u8::from(lanes) * LANES);
        if other {
            word(out, e.pc);
        }
        if lanes {
            word(out, e.lanes);
        }
        self.guess.issue(e.pc, e.lanes);
        Open { pc: e.pc, lanes: e.lanes, mark, number: 0 }
    }

    /// Writes the next row of an instruction, that of its register `n`.
    #[inline(always)]
    pub(super) fn row(
        &mut self,
        open: &mut Open,
        n: usize,
        row: RegisterRow<'_>,
        out: &mut Vec<u8>,
    ) {
        out[open.mark.0] |= open.mark.1;
        open.mark = (out.len(), MORE);
        let begin = match n == open.number {
            true => Begin { bits: 0, number: None },
            false => Begin { bits: NUMBERED, number: Some(n as u16) },
        };
        open.number = n + 1;
        self.rows.write(self.rows.register(open.pc, n), row, open.lanes, begin, out);
    }

    pub(super) fn issue(&mut self, e: &Issue<'_>, out: &mut Vec<u8>) {
        let mut open = self.begin(&e.head, out);
        for (n, row) in e.values {
            match *row {
                Row::Bits(bits) => self.row(&mut open, *n, RegisterRow::Bits(bits), out),
                Row::Words(row) => {
                    self.row(&mut open, *n, RegisterRow::Words(&row.map(Cell::new)), out);
                }
                Row::Longs(row) => {
                    self.row(&mut open, *n, RegisterRow::Longs(&row.map(Cell::new)), out);
                }
                Row::Halves(row) => {
                    let row = longs(row).map(Cell::new);
                    self.row(&mut open, *n, RegisterRow::Longs(&row), out);
                }
            }
        }
    }

    pub(super) fn access(&mut self, e: &Touch<'_>, out: &mut Vec<u8>) {
        let Head { time, place, pc, lanes } = e.head;
        self.at(place, out);
        let mut since = time.wrapping_sub(self.last);
        if since > 0xffff {
            self.jump(time, out);
            since = 1;
        }
        let action = action_number(e.action) | space_number(e.space) << 2 | (since as u32) << 16;
        let what = [action, e.bytes];
        let (other, changed) = (self.guess.accesses() != pc, self.guess.what(pc) != what);
        let moved = self.guess.lanes() != lanes;
        out.push(
            ACCESS | u8::from(other) * OTHER | u8::from(moved) * LANES | u8::from(changed) * WHAT,
        );
        if other {
            word(out, pc);
        }
        if moved {
            word(out, lanes);
        }
        if changed {
            what.iter().for_each(|w| word(out, *w));
        }
        self.guess.access(pc, lanes, what);
        let begin = Begin { bits: 0, number: None };
        let addresses = e.addresses.map(Cell::new);
        self.rows.write_longs(self.rows.addresses(pc), &addresses, lanes, begin, out);
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        out.push(END);
    }
}
