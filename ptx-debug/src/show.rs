//! Values, tables and places, as commands answer them.

use ptx_interp::Lane;
use ptx_isa::{Space, Ty};

use crate::answer::Answer;
use crate::code::{At, Variable};
use crate::command::Format;
use crate::dwarf::Leaf;
use crate::error::Error;
use crate::eval::{self, Compiled, decode, space_name};
use crate::execute::triple;
use crate::expr::{Expr, value_type};
use crate::front::Rest;
use crate::session::{LaneId, Reason, Watched};

/// Bytes of memory that one command shows at most.
const MOST: u64 = 1 << 20;

/// Elements of an array that a list of variables shows.
const SHOWN: u64 = 16;

/// Bits of a type as text in a format.
pub(crate) fn formatted(ty: Ty, bits: u64, format: Format) -> String {
    let width = ty.bits().clamp(1, 64);
    match format {
        Format::Natural => match ty {
            // Untyped bits: the number, and how it looks.
            Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 => {
                format!("{} ({bits:#x})", decode(ty, bits))
            }
            _ => decode(ty, bits),
        },
        Format::As(Ty::S64) => (eval::widen(signed(width), bits) as i64).to_string(),
        Format::As(Ty::U64) => bits.to_string(),
        Format::As(Ty::F32) if width == 64 => decode(Ty::F64, bits),
        Format::As(Ty::F32) if width == 16 => decode(Ty::F16, bits),
        Format::As(to) => decode(to, eval::narrow_bits(to, bits)),
        Format::Hex => format!("{bits:#0w$x}", w = width.div_ceil(4) as usize + 2),
        Format::Binary => format!("{bits:#0w$b}", w = width as usize + 2),
        Format::Octal => format!("{bits:#o}"),
        Format::Char => format!("{:?}", bits as u8 as char),
    }
}

fn signed(width: u32) -> Ty {
    match width {
        1..=8 => Ty::S8,
        9..=16 => Ty::S16,
        17..=32 => Ty::S32,
        _ => Ty::S64,
    }
}

impl Rest<'_> {
    /// A value in the lane in focus.
    pub(crate) fn value(&self, e: &Compiled, text: &str, format: Format) -> Result<Answer, Error> {
        if let Some((space, ty, count)) = e.array
            && count > 0
        {
            let start = match (e.constant(), self.lane()) {
                (Some(start), _) => start,
                (None, lane) => e.value(&lane?, self.session.up)?.bits,
            };
            let words = self.words(space, start, ty, count.min(64))?;
            let shown: Vec<String> = words.iter().map(|w| formatted(ty, *w, format)).collect();
            let more = if count > 64 { ", ..." } else { "" };
            let text = Answer::note(format!("{text} = {{{}{more}}}", shown.join(", ")));
            return Ok(text);
        }
        let v = match self.lane() {
            Ok(lane) => e.value(&lane, self.session.up)?,
            Err(error) => {
                let bits = e.constant().ok_or(error)?;
                eval::Typed { ty: e.ty, bits }
            }
        };
        // `print/f16 %r1` reads the bits, `print/d 2 + 3` converts nothing.
        let shown = formatted(v.ty, v.bits, format);
        let ty = v.ty.name().to_owned();
        Ok(Answer::Value { expression: text.into(), ty, bits: v.bits, text: shown })
    }

    /// The values of expressions that are shown at every stop.
    pub fn displays(&self) -> Vec<Answer> {
        let numbers: Vec<u64> = self.session.displays.iter().map(|d| d.0).collect();
        numbers.into_iter().map(|n| self.display(n)).collect()
    }

    pub(crate) fn display(&self, number: u64) -> Answer {
        let Some((n, expr, text, format)) = self.session.displays.iter().find(|d| d.0 == number)
        else {
            return Answer::Done;
        };
        let label = format!("{n}: {text}");
        let shown = self.compile(expr).and_then(|c| self.value(&c, &label, *format));
        shown.unwrap_or_else(|error| Answer::note(format!("{label}: {error}")))
    }

    /// A value in all lanes of the warp. Lanes that stand elsewhere are in brackets: the names of an
    /// expression mean the registers of their own activation.
    pub(crate) fn lanes(&self, e: &Compiled, text: &str, format: Format) -> Result<Answer, Error> {
        let moment = self.moment.ok_or(Error::NotRunning)?;
        let here = self.lane()?;
        let LaneId { block, warp, .. } = self.session.focus;
        let mut cells = Vec::new();
        for l in 0..32u8 {
            let together = here.lanes >> l & 1 != 0;
            let cell = match moment.lane(block, warp, l) {
                None => "-".into(),
                Some(lane) if together => {
                    let v = e.value(&lane, self.session.up)?;
                    formatted(v.ty, v.bits, format)
                }
                Some(lane) if lane.at().0 == here.at().0 => match e.value(&lane, 0) {
                    Ok(v) => format!("[{}]", formatted(v.ty, v.bits, format)),
                    Err(_) => "[?]".into(),
                },
                Some(_) => "[?]".into(),
            };
            cells.push(cell);
        }
        let rows = cells.chunks(8).enumerate().map(|(n, c)| {
            let mut row = vec![format!("{}..{}", 8 * n, 8 * n + 7)];
            row.extend(c.iter().cloned());
            row
        });
        let mut columns = vec![text.to_owned()];
        columns.extend((0..8).map(|n| format!("+{n}")));
        Ok(Answer::Table { columns, rows: rows.collect() })
    }

    /// Elements in memory, as bits.
    pub(crate) fn words(
        &self,
        space: Space,
        address: u64,
        ty: Ty,
        count: u64,
    ) -> Result<Vec<u64>, Error> {
        let size = u64::from(ty.bits().div_ceil(8).clamp(1, 8));
        if count.saturating_mul(size) > MOST {
            return Err(Error::Refused(format!("at most {MOST} bytes are shown at once")));
        }
        let mut bytes = vec![0; (count * size) as usize];
        let read = match self.lane() {
            Ok(lane) => lane.read(space, address, &mut bytes).is_ok(),
            Err(error) => match space {
                Space::Global | Space::Const | Space::Generic => {
                    self.session.memory.read(address, &mut bytes).is_ok()
                }
                Space::ParamEntry => {
                    let params = self.session.params.params.get(address as usize..);
                    match params.and_then(|p| p.get(..bytes.len())) {
                        Some(from) => bytes.copy_from_slice(from),
                        None => return Err(eval::unreadable(space, address)),
                    }
                    true
                }
                _ => return Err(error),
            },
        };
        if !read {
            return Err(eval::unreadable(space, address));
        }
        let word = |c: &[u8]| {
            let mut v = [0; 8];
            v[..c.len()].copy_from_slice(c);
            u64::from_le_bytes(v)
        };
        Ok(bytes.chunks(size as usize).map(word).collect())
    }

    pub(crate) fn examine(
        &self,
        expr: &Expr,
        space: Option<Space>,
        count: u32,
        format: Format,
    ) -> Result<Answer, Error> {
        let e = self.compile(expr)?;
        let (named, element) = match e.array {
            Some((space, ty, _)) => (Some(space), Some(ty)),
            None => (None, None),
        };
        let address = match self.lane() {
            Ok(lane) => e.value(&lane, self.session.up)?.bits,
            Err(error) => e.constant().ok_or(error)?,
        };
        let space = space.or(named).unwrap_or(Space::Generic);
        let ty = match format {
            Format::As(Ty::S64 | Ty::U64) | Format::Natural => element.unwrap_or(Ty::B32),
            Format::As(ty) => ty,
            Format::Char => Ty::B8,
            Format::Hex | Format::Binary | Format::Octal => element.unwrap_or(Ty::B32),
        };
        let size = u64::from(ty.bits().div_ceil(8));
        let words = self.words(space, address, ty, count.into())?;
        let per = match size {
            1 => 16,
            2 => 8,
            _ => 4,
        };
        let mut rows = Vec::new();
        for (n, chunk) in words.chunks(per).enumerate() {
            let at = address + n as u64 * per as u64 * size;
            let mut row = vec![format!("{} {at:#x}", space_name(space))];
            row.extend(chunk.iter().map(|w| formatted(ty, *w, format)));
            rows.push(row);
        }
        let width = rows.first().map_or(1, Vec::len);
        let mut columns = vec!["address".to_owned()];
        columns.extend((1..width).map(|n| format!("+{:#x}", (n as u64 - 1) * size)));
        Ok(Answer::Table { columns, rows })
    }

    pub(crate) fn matrix(
        &self,
        name: &str,
        rows: Option<u32>,
        columns: Option<u32>,
        format: Format,
    ) -> Result<Answer, Error> {
        let v = self.session.code.variable(name);
        let v = v.ok_or_else(|| Error::UnknownName(name.into()))?;
        let declared = value_type(v.ty.name()).unwrap_or(Ty::B8);
        let ty = match format {
            Format::As(ty) if ty.bits() >= declared.bits() => ty,
            _ => declared,
        };
        let size = u64::from(ty.bits().div_ceil(8));
        let count = v.size / size;
        let rows = u64::from(rows.unwrap_or(1)).max(1);
        let columns = columns.map_or_else(|| (count / rows).max(1), u64::from);
        if v.size > 0 && rows * columns > count {
            let text = format!("{name} has {count} elements of {}", ty.name());
            return Err(Error::Refused(text));
        }
        let words = self.words(v.space, v.address, ty, rows * columns)?;
        let mut heads = vec![name.to_owned()];
        heads.extend((0..columns).map(|c| c.to_string()));
        let row = |(n, c): (usize, &[u64])| {
            let mut row = vec![n.to_string()];
            row.extend(c.iter().map(|w| formatted(ty, *w, format)));
            row
        };
        let table = words.chunks(columns.max(1) as usize).enumerate().map(row).collect();
        Ok(Answer::Table { columns: heads, rows: table })
    }

    /// Registers of the function in the lane in focus.
    pub(crate) fn registers(&self) -> Result<Answer, Error> {
        let lane = self.lane()?;
        let function = self.function();
        let mut rows = Vec::new();
        for (name, r) in self.session.code.registers(function) {
            let Some(row) = lane.register(self.session.up, r.kind, r.number) else { continue };
            let bits = row[lane.lane as usize];
            let ty = value_type(r.ty.name()).unwrap_or(Ty::B64);
            rows.push(vec![
                name.clone(),
                r.ty.name().into(),
                formatted(ty, bits, Format::Hex),
                decode(ty, bits),
            ]);
        }
        Ok(Answer::table(&["register", "type", "bits", "value"], rows))
    }

    /// Variables of the source in the function that is looked at.
    pub(crate) fn locals(&self) -> Result<Answer, Error> {
        let lane = self.lane()?;
        let rows = self.source_variables(&lane, self.session.up, self.at()?);
        if rows.is_empty() {
            let text = "this code has no debug information; compile with nvcc -G, numba's debug=True, or OpenCL C \
                        with -g";
            return Err(Error::Refused(text.into()));
        }
        Ok(Answer::table(&["variable", "type", "value"], rows.into_iter().map(Vec::from).collect()))
    }

    /// Names, types and values of the variables of the source at an instruction of an activation.
    pub(crate) fn source_variables(&self, lane: &Lane<'_>, up: u32, at: At) -> Vec<[String; 3]> {
        let code = &self.session.code;
        // What pointers lead to is shown when somebody asks for it, and arrays of other than values by their elements.
        let shown = |l: &&Leaf| {
            let whole = l.array.as_ref().is_none_or(|a| a.element.is_some());
            whole && !l.path.contains("->")
        };
        let row = |leaf: &Leaf| {
            let text = self.source_value(leaf, lane, up, at.0);
            let text = text.unwrap_or_else(|error| format!("({error})"));
            [leaf.path.clone(), leaf.type_name.clone(), text]
        };
        code.leaves(at).into_iter().filter(shown).map(row).collect()
    }

    /// The value of a variable of the source, or the first ones of an array.
    fn source_value(&self, leaf: &Leaf, lane: &Lane<'_>, up: u32, f: u32) -> Result<String, Error> {
        let compiled = eval::of_source(leaf, &self.session.code, f)?;
        let v = compiled.value(lane, up)?;
        let (Some(array), Some((space, ty, _))) = (&leaf.array, compiled.array) else {
            let pointer = leaf.type_name.ends_with('*');
            return Ok(if pointer { format!("{:#x}", v.bits) } else { decode(v.ty, v.bits) });
        };
        let size = ty.bits().div_ceil(8) as usize;
        let mut texts = Vec::new();
        for n in 0..array.count.min(SHOWN) {
            let (at, mut bits) = (v.bits.wrapping_add(n * array.stride), [0; 8]);
            let read = lane.read(space, at, &mut bits[..size]);
            read.map_err(|_| eval::unreadable(space, at))?;
            texts.push(decode(ty, u64::from_le_bytes(bits)));
        }
        let more = if array.count > SHOWN { ", ..." } else { "" };
        Ok(format!("{{{}{more}}}", texts.join(", ")))
    }

    /// Arguments of the kernel.
    pub(crate) fn args(&self) -> Result<Answer, Error> {
        let program = self.session.code.kernel.program();
        let mut rows = Vec::new();
        for (p, offset) in &program.params {
            let ty = value_type(p.ty.name()).unwrap_or(Ty::B8);
            let bytes = &self.session.params.params;
            let from = *offset as usize;
            let given = bytes.get(from..from + p.size as usize).unwrap_or(&[]);
            let mut v = [0; 8];
            let n = given.len().min(8);
            v[..n].copy_from_slice(&given[..n]);
            let bits = u64::from_le_bytes(v);
            let value = match p.array {
                true => given.iter().map(|b| format!("{b:02x}")).collect(),
                false => decode(ty, bits),
            };
            let at = self.session.memory.find(bits).filter(|_| p.size == 8 && !p.array);
            let points = at.map_or_else(String::new, |a| match bits - a.start {
                0 => a.name.to_string(),
                d => format!("{}+{d}", a.name),
            });
            let hex = if p.array { String::new() } else { format!("{bits:#x}") };
            rows.push(vec![p.name.to_string(), p.ty.name().into(), hex, value, points]);
        }
        Ok(Answer::table(&["parameter", "type", "bits", "value", "points to"], rows))
    }

    /// Variables of the module.
    pub(crate) fn variables(&self) -> Answer {
        let row = |v: &Variable| {
            let (space, at) = (space_name(v.space).to_owned(), format!("{:#x}", v.address));
            vec![v.name.clone(), space, at, v.ty.name().into(), v.size.to_string()]
        };
        let rows = self.session.code.variables().iter().map(row).collect();
        Answer::table(&["variable", "space", "address", "type", "bytes"], rows)
    }

    /// Allocations of device memory.
    pub(crate) fn allocations(&self) -> Answer {
        let all = self.session.memory.allocations();
        let row = |a: &ptx_interp::Allocation| {
            vec![format!("{:#x}", a.start), a.size.to_string(), a.name.to_string()]
        };
        Answer::table(&["address", "bytes", "name"], all.iter().map(row).collect())
    }

    /// Sizes of the launch.
    pub(crate) fn launch(&self) -> Answer {
        let p = &self.session.params;
        let name = self.session.code.kernel.name();
        Answer::note(format!(
            "{name}: grid {}, block {}, {} bytes of dynamic shared memory",
            triple(p.grid),
            triple(p.block),
            p.shared_bytes
        ))
    }

    /// Files that the code comes from.
    pub(crate) fn files(&self) -> Answer {
        let code = &self.session.code;
        let mut rows =
            vec![vec!["PTX".into(), code.kernel.program().module.to_string(), "yes".into()]];
        for (n, name) in code.source_files() {
            let has = (1..10).any(|line| code.source_text((*n, line)).is_some());
            rows.push(vec![n.to_string(), name.clone(), if has { "yes" } else { "no" }.into()]);
        }
        Answer::table(&["file", "name", "text found"], rows)
    }

    /// Functions that the kernel reaches.
    pub(crate) fn functions(&self) -> Answer {
        let code = &self.session.code;
        let row = |f: u32| {
            let at = code.describe((f, 0));
            vec![code.function_name(f).to_owned(), at, code.insts(f).to_string()]
        };
        let rows = (0..code.functions()).map(row).collect();
        Answer::table(&["function", "place", "instructions"], rows)
    }

    /// Breakpoints and watchpoints.
    pub(crate) fn stops(&self) -> Answer {
        let code = &self.session.code;
        let mut rows = Vec::new();
        let onoff = |on| if on { "on" } else { "off" }.to_owned();
        for b in &self.session.breakpoints {
            let at: Vec<String> = b.at.iter().map(|(at, _)| code.describe(*at)).collect();
            let mut note = String::new();
            if b.condition.is_some() {
                note.push_str("conditional ");
            }
            if b.once {
                note.push_str("once ");
            }
            if b.ignore > 0 {
                note.push_str(&format!("lets {} pass", b.ignore));
            }
            let what = format!("break {}", b.location);
            let place = if at.is_empty() { "not in this kernel".into() } else { at.join(", ") };
            let hits = b.hits.to_string();
            rows.push((b.number, [what, onoff(b.enabled), hits, place, note.trim_end().into()]));
        }
        for w in &self.session.watchpoints {
            let place = match &w.what {
                Watched::Register { .. } => lane_text(w.lane),
                Watched::Memory { space: Space::Global, address, .. } => {
                    format!("global {address:#x}")
                }
                Watched::Memory { space, address, .. } => {
                    format!("{} {address:#x} of block {}", space_name(*space), triple(w.lane.block))
                }
            };
            let what = format!("watch {}", w.text);
            rows.push((
                w.number,
                [what, onoff(w.enabled), w.hits.to_string(), place, String::new()],
            ));
        }
        rows.sort_by_key(|r| r.0);
        let row = |(n, r): (u64, [String; 5])| std::iter::once(n.to_string()).chain(r).collect();
        let rows = rows.into_iter().map(row).collect();
        Answer::table(&["number", "what", "state", "hits", "where", ""], rows)
    }

    /// The thread in focus, as text.
    fn thread(&self, lane: &Lane<'_>) -> String {
        format!("block {} thread {}", triple(lane.block()), triple(lane.thread()))
    }

    /// Where the lane in focus stands.
    pub fn place_text(&self) -> Answer {
        let (Ok(lane), Ok(at)) = (self.lane(), self.at()) else {
            return self.launch();
        };
        let code = &self.session.code;
        let mut lines = vec![format!(
            "{}, warp {} lane {}, lanes {:#010x}, time {}",
            self.thread(&lane),
            lane.warp(),
            lane.lane,
            lane.lanes,
            self.stop.time
        )];
        lines.push(format!("  {} in {}", code.describe(at), code.function_at(at)));
        if let Some(line) = code.source_line(at)
            && let Some(text) = code.source_text(line)
        {
            lines.push(format!("  {:>5}  {}", line.1, text.trim_end()));
        }
        lines.push(format!("  {:>5}  {}", format!("+{}", at.1), code.text(at)));
        Answer::Drawing { lines }
    }

    /// Why execution rests, and where.
    pub fn stop_text(&self) -> Answer {
        let mut answers = Vec::new();
        let say = |text: String| Answer::note(text);
        match &self.stop.reason {
            Reason::Ready => answers.push(say("the launch has not started".into())),
            Reason::Start => answers.push(say("at the first instruction".into())),
            Reason::Step | Reason::Time => {}
            Reason::Breakpoint { number, lanes } => {
                answers.push(say(format!("breakpoint {number}, lanes {lanes:#010x}")));
            }
            Reason::Watchpoint { number, text, values, by, at } => {
                let (before, after) = values;
                let change = match before == after {
                    true => format!("read {after}"),
                    false => format!("{before} -> {after}"),
                };
                answers.push(say(format!("watchpoint {number}: {text}: {change}")));
                let by = lane_text(*by);
                let place = self.session.code.describe_in_full(*at);
                answers.push(say(format!("  by {by} at {place}")));
            }
            Reason::Barrier => answers.push(say("at a barrier".into())),
            Reason::Finding { text } => answers.push(say(format!("finding: {text}"))),
            Reason::LaneEnded(lane) => {
                answers.push(say(format!("{} has ended", lane_text(*lane))));
            }
            Reason::Interrupt => answers.push(say("stopped".into())),
            Reason::HistoryStart => {
                answers.push(say("at the first instruction: there is nothing further back".into()));
            }
            Reason::Fault(report) => {
                let text = format!("fault: {report}");
                answers.push(Answer::Drawing { lines: text.lines().map(str::to_owned).collect() });
            }
            Reason::Ended => {
                answers.push(say(format!("the launch has ended at time {}", self.stop.time)));
            }
            Reason::Writer { text, found: None } => {
                answers.push(say(format!("nothing in this launch has written {text}")));
            }
            Reason::Writer { text, found: Some((time, by, at)) } => {
                let place = self.session.code.describe_in_full(*at);
                answers.push(say(format!("{text} was written last at time {time}")));
                answers.push(say(format!("  by {} at {place}", lane_text(*by))));
            }
        }
        if self.moment.is_some() && !matches!(self.stop.reason, Reason::Writer { .. }) {
            answers.push(self.place_text());
        }
        Answer::All { answers }
    }
}

/// A lane as text.
pub(crate) fn lane_text(lane: LaneId) -> String {
    format!("block {} warp {} lane {}", triple(lane.block), lane.warp, lane.lane)
}
