//! Traces as text, JSON lines, and documents for ui.perfetto.dev.

use std::io::Write;

use ptx_interp::observer::Action;
use serde_json::json;

use super::event::{Head, Instruction, Issue, Place, Row, Touch, TraceFormat};
use crate::eval::{decode, decode_into, space_name};

/// Writes events as text. What depends on the instruction or on the warp alone is made once.
pub(super) struct Lines {
    format: TraceFormat,
    instructions: Vec<Instruction>,
    /// ` line 22: ld.param.u64 ...` of each.
    ends: Vec<String>,
    /// ` block 0,0,0 warp 1 lanes `.
    middle: String,
    place: Option<Place>,
    first: bool,
}

fn word(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Update => "update",
    }
}

/// Eight hexadecimal digits.
fn hex(lanes: u32) -> [u8; 8] {
    std::array::from_fn(|n| b"0123456789abcdef"[(lanes >> (28 - 4 * n) & 15) as usize])
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 != 0)
}

impl Lines {
    pub(super) fn new(
        format: TraceFormat,
        instructions: &[Instruction],
        out: &mut Vec<u8>,
    ) -> Lines {
        if format == TraceFormat::Perfetto {
            out.extend_from_slice(b"{\"traceEvents\": [\n");
        }
        let end = |i: &Instruction| format!(" line {}: {}", i.line, i.text);
        Lines {
            format,
            instructions: instructions.to_vec(),
            ends: instructions.iter().map(end).collect(),
            middle: String::new(),
            place: None,
            first: true,
        }
    }

    /// `12 block 0,0,0 warp 1 lanes ffffffff`.
    #[inline]
    fn begin(&mut self, e: &Head, out: &mut Vec<u8>) {
        let Head { time, place, lanes: mask, .. } = *e;
        if self.place != Some(place) {
            let [x, y, z] = place.block;
            self.middle = format!(" block {x},{y},{z} warp {} lanes ", place.warp);
            self.place = Some(place);
        }
        out.extend_from_slice(itoa::Buffer::new().format(time).as_bytes());
        out.extend_from_slice(self.middle.as_bytes());
        out.extend_from_slice(&hex(mask));
    }

    /// A JSON value as an element of the document or as a line.
    fn json(&mut self, value: &serde_json::Value, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = match (self.format, self.first) {
            (TraceFormat::Perfetto, true) => write!(out, "{value}"),
            (TraceFormat::Perfetto, false) => write!(out, ",\n{value}"),
            _ => writeln!(out, "{value}"),
        };
        self.first = false;
    }

    #[inline]
    pub(super) fn issue(&mut self, e: &Issue<'_>, out: &mut Vec<u8>) {
        if self.format == TraceFormat::Text {
            self.begin(&e.head, out);
            out.extend_from_slice(self.ends[e.head.pc as usize].as_bytes());
            for (n, row) in e.values {
                let (name, ty) = &self.instructions[e.head.pc as usize].writes[*n];
                out.extend_from_slice(b"  ");
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b" =");
                for l in shown(e.head.lanes, row) {
                    out.push(b' ');
                    decode_into(*ty, row.lane(l), out);
                }
            }
            out.push(b'\n');
            return;
        }
        let i = &self.instructions[e.head.pc as usize];
        let Place { block: [x, y, z], warp } = e.head.place;
        let value = match self.format {
            TraceFormat::Perfetto => json!({
                "name": i.opcode, "ph": "X", "ts": e.head.time, "dur": 1,
                "pid": format!("block {x},{y},{z}"), "tid": warp,
                "args": {"line": i.line, "text": i.text, "lanes": format!("{:#010x}", e.head.lanes)},
            }),
            _ => {
                let values = e.values.iter().map(|(n, row)| {
                    let (name, ty) = &i.writes[*n];
                    let all: Vec<String> =
                        shown(e.head.lanes, row).map(|l| decode(*ty, row.lane(l))).collect();
                    (name.clone(), serde_json::Value::from(all))
                });
                let values: serde_json::Map<String, serde_json::Value> = values.collect();
                json!({
                    "time": e.head.time, "block": [x, y, z], "warp": warp, "lanes": e.head.lanes,
                    "function": i.function, "line": i.line, "text": i.text, "writes": values,
                })
            }
        };
        self.json(&value, out);
    }

    pub(super) fn access(&mut self, e: &Touch<'_>, out: &mut Vec<u8>) {
        let (what, space) = (word(e.action), space_name(e.space));
        let line = self.instructions[e.head.pc as usize].line;
        if self.format == TraceFormat::Text {
            self.begin(&e.head, out);
            let _ = write!(out, " line {line}: {what} {space} {} bytes at", e.bytes);
            for l in lanes(e.head.lanes) {
                let _ = write!(out, " {:#x}", e.addresses[l]);
            }
            out.push(b'\n');
            return;
        }
        let at: Vec<u64> = lanes(e.head.lanes).map(|l| e.addresses[l]).collect();
        let Place { block: [x, y, z], warp } = e.head.place;
        let value = match self.format {
            TraceFormat::Perfetto => json!({
                "name": format!("{what} {space}"), "ph": "i", "s": "t", "ts": e.head.time,
                "pid": format!("block {x},{y},{z}"), "tid": warp,
                "args": {"line": line, "bytes": e.bytes, "addresses": at},
            }),
            _ => json!({
                "time": e.head.time, "block": [x, y, z], "warp": warp, "lanes": e.head.lanes, "line": line,
                "access": what, "space": space, "bytes": e.bytes, "addresses": at,
            }),
        };
        self.json(&value, out);
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if self.format == TraceFormat::Perfetto {
            out.extend_from_slice(b"\n]}\n");
        }
    }
}

/// The lanes whose values are written: one where all are equal.
fn shown(mask: u32, row: &Row<'_>) -> impl Iterator<Item = usize> {
    let first = row.lane(mask.trailing_zeros().min(31) as usize);
    let equal = lanes(mask).all(|l| row.lane(l) == first);
    lanes(mask).take(if equal { 1 } else { 32 })
}
