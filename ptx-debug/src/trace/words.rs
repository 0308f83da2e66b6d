//! Events as words, on their way from the launch to the thread that writes them in the trace's format: the launch
//! copies registers and goes on.
//!
//! A record begins with a word: its kind in the top four bits, a number `n` in the others.
//!
//! | kind | record | behind it |
//! | --- | --- | --- |
//! | 0 | the warp of what follows | block x, y, z, warp |
//! | 1, 2, 3 | the next instruction writes its `n`-th register: a predicate, 32 or 64 bits a lane | 1, 32 or 64 words |
//! | 4 | instruction `n` is issued | executing lanes; the time, low half first |
//! | 5 | instruction `n` accesses memory | lanes, action, space, bytes of a lane; time; 32 addresses of two words |

use std::cell::Cell;

use ptx_interp::RegisterRow;

use super::event::{Head, Issue, Place, Row, Touch};
use super::form::Form;
use super::numbers::{ACTIONS, SPACES, action_number, head, long, longs, space_number};

const WARP: u32 = 0;
const BITS: u32 = 1;
const WORDS: u32 = 2;
const LONGS: u32 = 3;
const ISSUE: u32 = 4;
const ACCESS: u32 = 5;

/// Writes the warp of what follows.
pub(super) fn push_place(place: Place, out: &mut Vec<u32>) {
    let [x, y, z] = place.block;
    out.extend_from_slice(&[head(WARP, 0), x, y, z, place.warp]);
}

/// Writes a register.
#[inline(always)]
pub(super) fn push_row(n: usize, row: RegisterRow<'_>, out: &mut Vec<u32>) {
    match row {
        RegisterRow::Bits(bits) => out.extend_from_slice(&[head(BITS, n as u32), bits]),
        RegisterRow::Words(row) => {
            out.push(head(WORDS, n as u32));
            out.extend(row.iter().map(Cell::get));
        }
        RegisterRow::Longs(row) => {
            out.push(head(LONGS, n as u32));
            out.extend(row.iter().flat_map(|v| [v.get() as u32, (v.get() >> 32) as u32]));
        }
    }
}

/// Writes an instruction, behind what it writes.
#[inline(always)]
pub(super) fn push_issue(e: &Head, out: &mut Vec<u32>) {
    out.extend_from_slice(&[head(ISSUE, e.pc), e.lanes, e.time as u32, (e.time >> 32) as u32]);
}

/// Writes an access.
pub(super) fn push_access(e: &Touch<'_>, out: &mut Vec<u32>) {
    let (action, space) = (action_number(e.action), space_number(e.space));
    let Head { time, pc, lanes, .. } = e.head;
    let time = [time as u32, (time >> 32) as u32];
    out.extend_from_slice(&[head(ACCESS, pc), lanes, action, space, e.bytes, time[0], time[1]]);
    out.extend(e.addresses.iter().flat_map(|a| [*a as u32, (*a >> 32) as u32]));
}

/// Takes words from the front.
fn take<'w, const N: usize>(words: &mut &'w [u32]) -> Option<&'w [u32; N]> {
    let (first, rest) = words.split_first_chunk::<N>()?;
    *words = rest;
    Some(first)
}

/// Reads whole records, and writes their events. `place` is the warp of the last ones.
pub(super) fn write(mut words: &[u32], place: &mut Place, form: &mut Form, out: &mut Vec<u8>) {
    let mut values: Vec<(usize, Row<'_>)> = Vec::new();
    while let Some(()) = next(&mut words, place, form, &mut values, out) {}
}

/// The next record; `None` at the end.
#[inline(always)]
fn next<'w>(
    words: &mut &'w [u32],
    place: &mut Place,
    form: &mut Form,
    values: &mut Vec<(usize, Row<'w>)>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let [first] = *take(words)?;
    let (kind, n) = (first >> 28, first & 0x0fff_ffff);
    match kind {
        WARP => {
            let [x, y, z, warp] = *take(words)?;
            *place = Place { block: [x, y, z], warp };
        }
        BITS => values.push((n as usize, Row::Bits(take::<1>(words)?[0]))),
        WORDS => values.push((n as usize, Row::Words(take(words)?))),
        LONGS => values.push((n as usize, Row::Halves(take(words)?))),
        ISSUE => {
            let [lanes, low, high] = *take(words)?;
            let head = Head { time: long([low, high]), place: *place, pc: n, lanes };
            form.issue(&Issue { head, values }, out);
            values.clear();
        }
        _ => {
            let [lanes, action, space, bytes, low, high] = *take(words)?;
            let addresses = &longs(take(words)?);
            let (action, space) = (*ACTIONS.get(action as usize)?, *SPACES.get(space as usize)?);
            let head = Head { time: long([low, high]), place: *place, pc: n, lanes };
            form.access(&Touch { head, action, space, bytes, addresses }, out);
        }
    }
    Some(())
}
