//! Traces as records of a few bytes; `read` makes text of them.
//!
//! A file has a part for each launch: [`MAGIC`], the bytes of its table of instructions (`u32`), the table as JSON,
//! records, an end. Numbers are little endian. A record begins with a `u32`: its kind in the top four bits, a number
//! `n` in the others.
//!
//! | kind | record | behind it |
//! | --- | --- | --- |
//! | 0 | the warp of what follows | block x, y, z, warp: `u32` each |
//! | 1 | instruction `n` is issued, one unit of time after the last | executing lanes, `u32` |
//! | 2 | the next instruction is issued at this time | `u64` |
//! | 3 | as 1, with what it writes | executing lanes, `u32`; rows |
//! | 4 | instruction `n` accesses memory | lanes, what, bytes, `u32` each; a row of addresses |
//! | 15 | the launch ends | |
//!
//! `what` is 0 read, 1 write, 2 update; the space times 4; and, in the upper half, the time since the last instruction.
//! A row is what `changes` writes; behind its first byte, whose highest bit says that another one follows, a `u16` is
//! the number of the register among those that the instruction writes. Addresses do not have it.

use serde_json::{Value, json};

use super::changes::Changes;
use super::event::{Instruction, Issue, Place, Touch};
use super::numbers::{action_number, head, space_number};

/// The first bytes.
pub(super) const MAGIC: &[u8; 8] = b"PTXTRAC2";

pub(super) const WARP: u32 = 0;
pub(super) const ISSUE: u32 = 1;
pub(super) const TIME: u32 = 2;
pub(super) const VALUES: u32 = 3;
pub(super) const ACCESS: u32 = 4;
pub(super) const END: u32 = 15;

/// Bit of a row's first byte: another one follows.
pub(super) const MORE: u8 = 128;

/// Writes records.
pub(super) struct Binary {
    place: Option<Place>,
    /// Time of the last instruction.
    last: u64,
    rows: Changes,
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Two words at once.
#[inline(always)]
fn pair(out: &mut Vec<u8>, first: u32, second: u32) {
    out.extend_from_slice(&(u64::from(first) | u64::from(second) << 32).to_le_bytes());
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
        Binary { place: None, last: u64::MAX, rows: Changes::new(instructions) }
    }

    #[inline(always)]
    fn at(&mut self, place: Place, out: &mut Vec<u8>) {
        if self.place != Some(place) {
            self.moved(place, out);
        }
    }

    #[inline(never)]
    fn moved(&mut self, place: Place, out: &mut Vec<u8>) {
        word(out, head(WARP, 0));
        place.block.iter().for_each(|v| word(out, *v));
        word(out, place.warp);
        self.place = Some(place);
    }

    fn jump(&mut self, time: u64, out: &mut Vec<u8>) {
        word(out, head(TIME, 0));
        out.extend_from_slice(&time.to_le_bytes());
        self.last = time.wrapping_sub(1);
    }

    #[inline(always)]
    pub(super) fn issue(&mut self, e: &Issue<'_>, out: &mut Vec<u8>) {
        self.at(e.place, out);
        if e.time != self.last.wrapping_add(1) {
            self.jump(e.time, out);
        }
        self.last = e.time;
        let Some((_, others)) = e.values.split_first() else {
            return pair(out, head(ISSUE, e.pc), e.lanes);
        };
        pair(out, head(VALUES, e.pc), e.lanes);
        for (left, (n, row)) in (0..=others.len()).rev().zip(e.values) {
            let number = self.rows.register(e.pc, *n);
            let more = if left == 0 { 0 } else { MORE };
            self.rows.write(number, *row, e.lanes, more, &(*n as u16).to_le_bytes(), out);
        }
    }

    pub(super) fn access(&mut self, e: &Touch<'_>, out: &mut Vec<u8>) {
        self.at(e.place, out);
        let mut since = e.time.wrapping_sub(self.last);
        if since > 0xffff {
            self.jump(e.time, out);
            since = 1;
        }
        word(out, head(ACCESS, e.pc));
        word(out, e.lanes);
        word(out, action_number(e.action) | space_number(e.space) << 2 | (since as u32) << 16);
        word(out, e.bytes);
        let number = self.rows.addresses(e.pc);
        self.rows.write_longs(number, e.addresses, e.lanes, 0, &[], out);
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        word(out, head(END, 0));
    }
}
