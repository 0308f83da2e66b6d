//! Makes text of the records that `binary` writes.

use std::io::{BufRead, Read, Write};

use ptx_isa::Ty;
use serde_json::Value;

use super::binary::{
    ACCESS, END, Guess, ISSUE, LANES, MAGIC, MORE, NUMBERED, OTHER, TIME, VALUES, WARP, WHAT,
};
use super::changes::{Changes, Source};
use super::event::{Head, Instruction, Issue, Place, Row, Touch, TraceFormat};
use super::form::Form;
use super::numbers::{ACTIONS, SPACES};
use crate::error::Error;
use crate::expr::value_type;

/// Reads records.
struct Reader<'r> {
    from: &'r mut dyn BufRead,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u32, Error> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, Error> {
        self.bytes().map(u64::from_le_bytes)
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

impl Source for Reader<'_> {
    type Error = Error;
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.from.read_exact(bytes).map_err(|error| damaged(&error.to_string()))
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
    let (mut rows, mut guess) = (Changes::new(table), Guess::new(table.len()));
    let known = |n: u32| match (n as usize) < table.len() {
        true => Ok(n),
        false => Err(damaged("it names an instruction that its table does not have")),
    };
    loop {
        let [first] = reader.bytes()?;
        let word_if = |reader: &mut Reader<'_>, bit: u8, otherwise: u32| match first & bit {
            0 => Ok(otherwise),
            _ => reader.word(),
        };
        match first & 15 {
            WARP => {
                let block = [reader.word()?, reader.word()?, reader.word()?];
                place = Place { block, warp: reader.word()? };
            }
            TIME => last = reader.long()?.wrapping_sub(1),
            ISSUE | VALUES => {
                let pc = known(word_if(reader, OTHER, guess.issued())?)?;
                let lanes = word_if(reader, LANES, guess.lanes())?;
                guess.issue(pc, lanes);
                last = last.wrapping_add(1);
                let registers = table[pc as usize].writes.len();
                let mut read = Vec::new();
                let (mut more, mut n) = (first & 15 == VALUES, 0);
                while more {
                    let [first] = reader.bytes()?;
                    if first & NUMBERED != 0 {
                        n = usize::from(u16::from_le_bytes(reader.bytes()?));
                    }
                    if n >= registers {
                        return Err(damaged("it names a register that its table does not have"));
                    }
                    let number = rows.register(pc, n);
                    read.push((n, rows.read(number, first, lanes, reader)?));
                    more = first & MORE != 0;
                    n += 1;
                }
                let values: Vec<_> = read.iter().map(|(n, r)| (*n, rows.row(*r))).collect();
                let head = Head { time: last, place, pc, lanes };
                form.issue(&Issue { head, values: &values }, &mut text);
            }
            ACCESS => {
                let pc = known(word_if(reader, OTHER, guess.accesses())?)?;
                let lanes = word_if(reader, LANES, guess.lanes())?;
                let [what, bytes] = match first & WHAT {
                    0 => guess.what(pc),
                    _ => [reader.word()?, reader.word()?],
                };
                guess.access(pc, lanes, [what, bytes]);
                let [first] = reader.bytes()?;
                let read = rows.read(rows.addresses(pc), first, lanes, reader)?;
                let Row::Longs(addresses) = rows.row(read) else {
                    return Err(damaged("addresses have 64 bits"));
                };
                let action = *ACTIONS.get((what & 3) as usize).ok_or_else(|| damaged("what"))?;
                let space = SPACES.get((what >> 2 & 15) as usize);
                let space = *space.ok_or_else(|| damaged("it names no state space"))?;
                let time = last.wrapping_add(u64::from(what >> 16));
                let head = Head { time, place, pc, lanes };
                form.access(&Touch { head, action, space, bytes, addresses }, &mut text);
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
    use ptx_interp::observer::Action;
    use ptx_isa::Space;

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
        let iota: [u32; 32] = std::array::from_fn(|l| l as u32);
        let floats = iota.map(|l| (l as f32 * -0.3).to_bits());
        let wide: [u64; 32] = std::array::from_fn(|l| u64::MAX - l as u64);
        let other: [u64; 32] = std::array::from_fn(|l| 0x1000 + 3 * (l * l) as u64);
        let addresses: [u64; 32] = std::array::from_fn(|l| 0x9000 - 8 * l as u64);
        let steps = [1, 300, 70_000, 20_000_000].map(|n| iota.map(|l| l.wrapping_mul(n)));
        let small = iota.map(|l| l & 1);
        let near = wide.map(|v| v - (v & 1));
        let further = near.map(|v| v ^ 1);
        let mut values = vec![vec![(0, Row::Words(&[5; 32])), (1, Row::Longs(&wide))]];
        values.push(vec![(0, Row::Bits(0xffff_ff0f)), (1, Row::Longs(&other))]);
        values.push(vec![(0, Row::Bits(0x70))]);
        // Changes of two bits.
        values.push(vec![(0, Row::Words(&small)), (1, Row::Longs(&near))]);
        values.push(vec![(1, Row::Longs(&further))]);
        values.push(vec![(1, Row::Longs(&wide)), (0, Row::Words(&floats))]);
        values.extend(steps.iter().map(|row| vec![(0, Row::Words(row))]));
        let mut time = 0;
        for lanes in [0xffff_ffff, 0xf0, 0xffff_fffe, 0] {
            for values in &values {
                let head = Head { time, place, pc: time as u32 & 1, lanes };
                form.issue(&Issue { head, values }, out);
                time += 1;
            }
        }
        for (time, addresses, lanes) in
            [(40, &addresses, 0xaaaa_aaaa), (90, &other, 0x0f00_0001), (1 << 40, &other, 4)]
        {
            let (action, space, bytes) = (Action::Update, Space::Shared, 70_000);
            let head = Head { time, place, pc: 1, lanes };
            form.access(&Touch { head, action, space, bytes, addresses }, out);
        }
        let place = Place { block: [8, 0, 1], warp: 0 };
        let head = Head { time: 177, place, pc: 1, lanes: 0 };
        form.issue(&Issue { head, values: &[] }, out);
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
