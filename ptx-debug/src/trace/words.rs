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

use super::event::{Issue, Place, Row, Touch};
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

/// Writes a register; `append` adds its words, as
/// [`Moment::append_register`](ptx_interp::Moment::append_register) does, or says that there are none.
#[inline(always)]
pub(super) fn push_row(n: usize, out: &mut Vec<u32>, append: impl FnOnce(&mut Vec<u32>) -> bool) {
    let at = out.len();
    out.push(0);
    if !append(out) {
        out.truncate(at);
        return;
    }
    let kind = match out.len() - at {
        2 => BITS,
        33 => WORDS,
        _ => LONGS,
    };
    out[at] = head(kind, n as u32);
}

/// Writes an instruction, behind what it writes.
#[inline(always)]
pub(super) fn push_issue(pc: u32, lanes: u32, time: u64, out: &mut Vec<u32>) {
    out.extend_from_slice(&[head(ISSUE, pc), lanes, time as u32, (time >> 32) as u32]);
}

/// Writes an access.
pub(super) fn push_access(e: &Touch<'_>, out: &mut Vec<u32>) {
    let (action, space) = (action_number(e.action), space_number(e.space));
    let time = [e.time as u32, (e.time >> 32) as u32];
    out.extend_from_slice(&[head(ACCESS, e.pc), e.lanes, action, space, e.bytes, time[0], time[1]]);
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
            let time = long([low, high]);
            form.issue(&Issue { time, place: *place, pc: n, lanes, values }, out);
            values.clear();
        }
        _ => {
            let [lanes, action, space, bytes, low, high] = *take(words)?;
            let addresses = &longs(take(words)?);
            let (action, space) = (*ACTIONS.get(action as usize)?, *SPACES.get(space as usize)?);
            let (time, place) = (long([low, high]), *place);
            form.access(&Touch { time, place, pc: n, lanes, action, space, bytes, addresses }, out);
        }
    }
    Some(())
}
