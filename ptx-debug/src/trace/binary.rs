//! Traces as records of a few bytes, and what makes text of them.
//!
//! A file has a part for each launch: [`MAGIC`], the bytes of its table of instructions (`u32`), the table as JSON,
//! records, an end. Numbers are little endian. A record begins with a `u32`: its kind in the top four bits, a number `n`
//! in the others.
//!
//! | kind | record | behind it |
//! | --- | --- | --- |
//! | 0 | the warp of what follows | block x, y, z, warp: `u32` each |
//! | 1 | instruction `n` is issued, one unit of time after the last | executing lanes, `u32` |
//! | 2 | the next instruction is issued at this time | `u64` |
//! | 3 | all lanes of the next instruction write this to its `n`-th register | `u64` |
//! | 4 | the same, each lane its own value | 32 of `u64` |
//! | 5 | the same in 32 bits | 32 of `u32` |
//! | 6 | instruction `n` accesses memory | lanes, what, bytes, `u32` each; 32 of `u64` |
//! | 7 | the same, addresses in a row | lanes, what, bytes; address of lane 0, distance, `u64` each |
//! | 15 | the launch ends | |
//!
//! `what` is 0 read, 1 write, 2 update; the space times 4; and, in the upper half, the time since the last instruction.

use std::io::{BufRead, Read, Write};

use ptx_interp::observer::Action;
use ptx_isa::{Space, Ty};
use serde_json::{Value, json};

use super::{Form, Instruction, Issue, Place, Touch, TraceFormat};
use crate::error::Error;
use crate::expr::value_type;

/// The first bytes.
const MAGIC: &[u8; 8] = b"PTXTRAC1";

const WARP: u32 = 0;
const ISSUE: u32 = 1;
const TIME: u32 = 2;
const SAME: u32 = 3;
const EACH: u32 = 4;
const EACH_32: u32 = 5;
const ACCESS: u32 = 6;
const ACCESS_IN_A_ROW: u32 = 7;
const END: u32 = 15;

const SPACES: [Space; 11] = [
    Space::Generic,
    Space::Global,
    Space::Shared,
    Space::SharedCluster,
    Space::Local,
    Space::ParamFunc,
    Space::Const,
    Space::ParamEntry,
    Space::Reg,
    Space::Sreg,
    Space::Tex,
];
const ACTIONS: [Action; 3] = [Action::Read, Action::Write, Action::Update];

/// Writes records.
pub(super) struct Binary {
    place: Option<Place>,
    /// Time of the last instruction.
    last: u64,
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn head(kind: u32, n: u32) -> u32 {
    kind << 28 | n & 0x0fff_ffff
}

/// Two words at once.
#[inline(always)]
fn pair(out: &mut Vec<u8>, first: u32, second: u32) {
    out.extend_from_slice(&(u64::from(first) | u64::from(second) << 32).to_le_bytes());
}

/// The value of all executing lanes, if it is one.
fn one_value(lanes: u32, row: &[u64; 32]) -> Option<u64> {
    let first = row[lanes.trailing_zeros().min(31) as usize];
    let differs = row.iter().enumerate().fold(0, |m, (l, v)| m | u32::from(*v != first) << l);
    (differs & lanes == 0).then_some(first)
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
        Binary { place: None, last: u64::MAX }
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
        for (n, row) in e.values {
            match one_value(e.lanes, row) {
                Some(value) => {
                    word(out, head(SAME, *n as u32));
                    out.extend_from_slice(&value.to_le_bytes());
                }
                None if row.iter().all(|v| *v <= u64::from(u32::MAX)) => {
                    word(out, head(EACH_32, *n as u32));
                    let mut bytes = [0; 128];
                    for (to, v) in bytes.chunks_exact_mut(4).zip(row) {
                        to.copy_from_slice(&(*v as u32).to_le_bytes());
                    }
                    out.extend_from_slice(&bytes);
                }
                None => {
                    word(out, head(EACH, *n as u32));
                    row.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
                }
            }
        }
        pair(out, head(ISSUE, e.pc), e.lanes);
    }

    pub(super) fn access(&mut self, e: &Touch<'_>, out: &mut Vec<u8>) {
        self.at(e.place, out);
        let mut since = e.time.wrapping_sub(self.last);
        if since > 0xffff {
            self.jump(e.time, out);
            since = 1;
        }
        let space = SPACES.iter().position(|s| *s == e.space).unwrap_or(0) as u32;
        let action = ACTIONS.iter().position(|a| *a == e.action).unwrap_or(0) as u32;
        let first = e.lanes.trailing_zeros().min(31) as usize;
        let rest = e.lanes & !(1 << first);
        let second = rest.trailing_zeros().min(31) as usize;
        let distance = match rest {
            0 => 0,
            // Lanes in between do not access.
            _ => (e.addresses[second].wrapping_sub(e.addresses[first]) as i64)
                .wrapping_div((second - first) as i64) as u64,
        };
        let start = e.addresses[first].wrapping_sub(distance.wrapping_mul(first as u64));
        let row: [u64; 32] =
            std::array::from_fn(|l| start.wrapping_add(distance.wrapping_mul(l as u64)));
        let differs =
            (0..32).fold(0, |m, l| m | u32::from(row[l] != e.addresses[l]) << l) & e.lanes != 0;
        word(out, head(if differs { ACCESS } else { ACCESS_IN_A_ROW }, e.pc));
        word(out, e.lanes);
        word(out, action | space << 2 | (since as u32) << 16);
        word(out, e.bytes);
        match differs {
            true => e.addresses.iter().for_each(|a| out.extend_from_slice(&a.to_le_bytes())),
            false => [start, distance].iter().for_each(|a| out.extend_from_slice(&a.to_le_bytes())),
        }
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        word(out, head(END, 0));
    }
}

/// Reads records.
struct Reader<'r> {
    from: &'r mut dyn BufRead,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(|error| damaged(&error.to_string()))?;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u32, Error> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, Error> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn row(&mut self) -> Result<[u64; 32], Error> {
        let mut row = [0; 32];
        for v in &mut row {
            *v = self.long()?;
        }
        Ok(row)
    }

    /// The table of the next launch; `None` at the end of the file.
    fn table(&mut self) -> Result<Option<Vec<Instruction>>, Error> {
        let more = self.from.fill_buf().map_err(|error| damaged(&error.to_string()))?;
        if more.is_empty() {
            return Ok(None);
        }
        if self.bytes::<8>()? != *MAGIC {
            return Err(damaged("it does not begin as `ptxrun trace --format binary` writes"));
        }
        let length = self.word()?;
        let mut text = Vec::new();
        let read = self.from.take(length.into()).read_to_end(&mut text);
        if read.map_err(|error| damaged(&error.to_string()))? != length as usize {
            return Err(damaged("it ends in its table of instructions"));
        }
        let table: Value = serde_json::from_slice(&text).map_err(|e| damaged(&e.to_string()))?;
        let string = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let writes = |v: &Value| (string(&v[0]), string(&v[1]));
        let typed = |(name, ty): (String, String)| (name, value_type(&ty).unwrap_or(Ty::B64));
        let one = |v: &Value| Instruction {
            function: string(&v["function"]),
            line: v["line"].as_u64().unwrap_or(0) as u32,
            opcode: string(&v["opcode"]),
            text: string(&v["text"]),
            writes: v["writes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|w| typed(writes(w)))
                .collect(),
        };
        let all = table["instructions"].as_array().into_iter().flatten();
        Ok(Some(all.map(one).collect()))
    }
}

fn damaged(why: &str) -> Error {
    Error::Refused(format!("the trace cannot be read: {why}"))
}

/// Reads a trace in records and writes it in another format.
///
/// # Errors
/// When it is damaged, holds several launches though the format holds one, or cannot be written.
pub fn convert(
    from: &mut dyn BufRead,
    format: TraceFormat,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut reader = Reader { from };
    let mut launches = 0;
    while let Some(table) = reader.table()? {
        launches += 1;
        if format == TraceFormat::Perfetto && launches > 1 {
            let text = "a Perfetto file holds one launch; trace one with --kernel";
            return Err(Error::Refused(text.into()));
        }
        launch(&mut reader, &table, format, out)?;
    }
    out.flush().map_err(|error| Error::Refused(error.to_string()))
}

/// Reads the records of one launch.
fn launch(
    reader: &mut Reader<'_>,
    table: &[Instruction],
    format: TraceFormat,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut text = Vec::new();
    let mut form = Form::new(format, table, &mut text);
    let (mut place, mut last) = (Place::default(), u64::MAX);
    let mut values: Vec<(usize, [u64; 32])> = Vec::new();
    let known = |n: u32| match (n as usize) < table.len() {
        true => Ok(n),
        false => Err(damaged("it names an instruction that its table does not have")),
    };
    loop {
        let word = reader.word()?;
        let (kind, n) = (word >> 28, word & 0x0fff_ffff);
        match kind {
            WARP => {
                let block = [reader.word()?, reader.word()?, reader.word()?];
                place = Place { block, warp: reader.word()? };
            }
            TIME => last = reader.long()?.wrapping_sub(1),
            SAME => values.push((n as usize, [reader.long()?; 32])),
            EACH => values.push((n as usize, reader.row()?)),
            EACH_32 => {
                let mut row = [0; 32];
                for v in &mut row {
                    *v = reader.word()?.into();
                }
                values.push((n as usize, row));
            }
            ISSUE => {
                let (pc, lanes) = (known(n)?, reader.word()?);
                last = last.wrapping_add(1);
                if values.iter().any(|(n, _)| *n >= table[pc as usize].writes.len()) {
                    return Err(damaged("it names a register that its table does not have"));
                }
                form.issue(&Issue { time: last, place, pc, lanes, values: &values }, &mut text);
                values.clear();
            }
            ACCESS | ACCESS_IN_A_ROW => {
                let (pc, lanes, what, bytes) =
                    (known(n)?, reader.word()?, reader.word()?, reader.word()?);
                let addresses = &match kind {
                    ACCESS => reader.row()?,
                    _ => {
                        let (start, distance) = (reader.long()?, reader.long()?);
                        let one = |l| start.wrapping_add(distance.wrapping_mul(l as u64));
                        std::array::from_fn(one)
                    }
                };
                let action = *ACTIONS.get((what & 3) as usize).ok_or_else(|| damaged("what"))?;
                let space = SPACES.get((what >> 2 & 15) as usize);
                let space = *space.ok_or_else(|| damaged("it names no state space"))?;
                let time = last.wrapping_add(u64::from(what >> 16));
                let event = Touch { time, place, pc, lanes, action, space, bytes, addresses };
                form.access(&event, &mut text);
            }
            END => break,
            _ => return Err(damaged("it has a record of an unknown kind")),
        }
        if text.len() > 1 << 16 {
            out.write_all(&text).map_err(|error| Error::Refused(error.to_string()))?;
            text.clear();
        }
    }
    form.end(&mut text);
    out.write_all(&text).map_err(|error| Error::Refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Instruction> {
        let writes = vec![("%r1".to_owned(), Ty::S32), ("%rd1".to_owned(), Ty::U64)];
        let one = |line| Instruction {
            function: "k".into(),
            line,
            opcode: "add.s32".into(),
            text: format!("add.s32 %r1, %r1, {line};"),
            writes: writes.clone(),
        };
        vec![one(3), one(4)]
    }

    fn events(form: &mut Form, out: &mut Vec<u8>) {
        let place = Place { block: [7, 0, 1], warp: 3 };
        let iota: [u64; 32] = std::array::from_fn(|l| l as u64);
        let wide: [u64; 32] = std::array::from_fn(|l| u64::MAX - l as u64);
        let other: [u64; 32] = std::array::from_fn(|l| 0x1000 + 3 * (l * l) as u64);
        let addresses: [u64; 32] = std::array::from_fn(|l| 0x9000 - 8 * l as u64);
        let values = [(0, [5; 32]), (1, wide)];
        form.issue(&Issue { time: 0, place, pc: 0, lanes: 0xffff_ffff, values: &values }, out);
        form.issue(&Issue { time: 1, place, pc: 1, lanes: 0xf0, values: &[(0, iota)] }, out);
        for (time, addresses, lanes) in
            [(2, &addresses, 0xaaaa_aaaa), (90, &other, 0x0f00_0001), (1 << 40, &other, 4)]
        {
            let (action, space, bytes) = (Action::Update, Space::Shared, 70_000);
            let e = Touch { time, place, pc: 1, lanes, action, space, bytes, addresses };
            form.access(&e, out);
        }
        let place = Place { block: [8, 0, 1], warp: 0 };
        form.issue(&Issue { time: 77, place, pc: 1, lanes: 0, values: &[] }, out);
        form.end(out);
    }

    fn binary() -> Vec<u8> {
        let mut out = Vec::new();
        let mut form = Form::new(TraceFormat::Binary, &table(), &mut out);
        events(&mut form, &mut out);
        out
    }

    #[test]
    fn records_say_what_the_text_says() {
        for format in [TraceFormat::Text, TraceFormat::Json, TraceFormat::Perfetto] {
            let mut direct = Vec::new();
            let mut form = Form::new(format, &table(), &mut direct);
            events(&mut form, &mut direct);
            let mut read = Vec::new();
            convert(&mut &*binary(), format, &mut read).unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), String::from_utf8(direct).unwrap());
        }
        let mut same = Vec::new();
        convert(&mut &*binary(), TraceFormat::Binary, &mut same).unwrap();
        assert_eq!(same, binary());
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let whole = binary();
        for length in 1..whole.len() {
            let result = convert(&mut &whole[..length], TraceFormat::Text, &mut Vec::new());
            assert!(result.is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            // Any answer will do, but one there is.
            let _ = convert(&mut &*other, TraceFormat::Text, &mut Vec::new());
        }
    }
}
