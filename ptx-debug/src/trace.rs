//! Traces: what warps execute, with the values that they write, and what they access.
//!
//! A trace is written while the launch runs, on one host thread, so that it is the same in every run.
//! Values are those after the instruction; they are read when the next one is issued.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_interp::observer::{Action, BlockEvent, EventSet, MemoryAccess, Observer, WarpEvent};
use ptx_interp::{LaunchError, LaunchParams, Memory, Moment, Stats, launch_observed};
use ptx_isa::Ty;
use serde_json::json;

use crate::code::{At, CodeMap, Register};
use crate::eval::{decode, space_name};
use crate::expr::value_type;
use crate::session::LaneId;

/// How a trace is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// A line for people per event.
    Text,
    /// A JSON object per line.
    Json,
    /// One JSON document for ui.perfetto.dev: a process per block, a thread per warp.
    Perfetto,
}

/// What a trace holds.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// How it is written.
    pub format: TraceFormat,
    /// Instructions.
    pub instructions: bool,
    /// Accesses to memory.
    pub accesses: bool,
    /// Values that instructions write.
    pub values: bool,
    /// Only this block.
    pub block: Option<[u32; 3]>,
    /// Only this warp of each block.
    pub warp: Option<u32>,
    /// Only these lines of the PTX text, or of the source where it is named.
    pub lines: Option<(u32, u32)>,
    /// Only opcodes that begin so.
    pub opcode: Option<String>,
}

/// An instruction as a trace shows it.
struct Shown {
    wanted: bool,
    at: At,
    line: u32,
    opcode: String,
    text: String,
    writes: Vec<(String, Register, Ty)>,
}

/// An instruction whose values are not known yet.
struct Pending {
    time: u64,
    pc: u32,
    block: [u32; 3],
    warp: u32,
    active: u32,
    depth: u32,
}

struct Tracer<'t> {
    options: &'t TraceOptions,
    code: &'t CodeMap,
    shown: &'t [Shown],
    out: &'t mut (dyn Write + Send),
    text: String,
    time: u64,
    pending: Option<Pending>,
    first: bool,
    failed: Option<std::io::Error>,
}

/// Bytes that are collected before they are written.
const CHUNK: usize = 1 << 16;

/// Runs a launch and writes its trace.
///
/// # Errors
/// The launch's, and those of writing.
pub fn trace(
    code: &CodeMap,
    memory: &Memory,
    params: &LaunchParams,
    options: &TraceOptions,
    out: &mut (dyn Write + Send),
) -> (Result<Stats, LaunchError>, std::io::Result<()>) {
    let shown: Vec<Shown> = (0..code.kernel.decoded_len() as u32)
        .map(|pc| shown(code, code.kernel.origin(pc).unwrap_or((0, 0)), options))
        .collect();
    let params = LaunchParams { threads: 1, steady_clock: true, ..params.clone() };
    let perfetto = options.format == TraceFormat::Perfetto;
    let mut text = String::new();
    if perfetto {
        text.push_str("{\"traceEvents\": [\n");
    }
    let tracer = Tracer {
        options,
        code,
        shown: &shown,
        out,
        text,
        time: 0,
        pending: None,
        first: true,
        failed: None,
    };
    let slot = Mutex::new(Some(tracer));
    let take = || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take().expect("a launch on one host thread makes one observer")
    };
    let (result, mut tracers) = launch_observed(&code.kernel, memory, &params, &take);
    let Some(mut tracer) = tracers.pop() else { return (result, Ok(())) };
    if perfetto {
        tracer.text.push_str("\n]}\n");
    }
    tracer.flush();
    let written = tracer.failed.take().map_or(Ok(()), Err);
    (result, written)
}

fn shown(code: &CodeMap, at: At, options: &TraceOptions) -> Shown {
    let opcode = code.opcode(at);
    let line = code.ptx_line(at);
    let source = code.source_line(at).map(|(_, l)| l);
    let (low, high) = options.lines.unwrap_or((0, u32::MAX));
    let in_lines = (low..=high).contains(&source.unwrap_or(line));
    let begins = options.opcode.as_ref().is_none_or(|o| opcode.starts_with(o.as_str()));
    let writes = code.written(at).into_iter().map(|(name, r)| {
        let ty = value_type(r.ty.name()).unwrap_or(Ty::B64);
        (name, r, ty)
    });
    let writes = if options.values { writes.collect() } else { Vec::new() };
    Shown { wanted: in_lines && begins, at, line, opcode, text: code.text(at), writes }
}

impl Tracer<'_> {
    fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.out.write_all(self.text.as_bytes())
        {
            self.failed = Some(error);
        }
        self.text.clear();
    }

    fn wanted(&self, moment: &Moment<'_>) -> bool {
        self.shown[moment.pc() as usize].wanted
            && self.options.warp.is_none_or(|w| w == moment.warp())
            && self.options.block.is_none_or(|b| b == moment.block())
    }

    /// Writes the instruction whose values are now known.
    fn settle(&mut self, moment: Option<&Moment<'_>>) {
        let Some(p) = self.pending.take() else { return };
        let shown = &self.shown[p.pc as usize];
        let lane = p.active.trailing_zeros().min(31) as u8;
        let id = LaneId { block: p.block, warp: p.warp, lane };
        let stands = moment.and_then(|m| m.lane(id.block, id.warp, id.lane));
        let mut values: Vec<(&str, Vec<String>)> = Vec::new();
        if let Some(stands) = stands
            && p.active != 0
            && stands.depth() >= p.depth
        {
            let up = stands.depth() - p.depth;
            for (name, r, ty) in &shown.writes {
                let Some(row) = stands.register(up, r.kind, r.number) else { continue };
                let lanes = (0..32).filter(|l| p.active >> l & 1 != 0);
                let mut all: Vec<String> = lanes.map(|l| decode(*ty, row[l])).collect();
                if all.windows(2).all(|w| w[0] == w[1]) {
                    all.truncate(1);
                }
                values.push((name, all));
            }
        }
        let [x, y, z] = p.block;
        let text = &mut self.text;
        let done = match self.options.format {
            TraceFormat::Text => {
                let done = write!(
                    text,
                    "{} block {x},{y},{z} warp {} lanes {:08x} line {}: {}",
                    p.time, p.warp, p.active, shown.line, shown.text
                );
                for (name, all) in &values {
                    let _ = write!(text, "  {name} = {}", all.join(" "));
                }
                text.push('\n');
                done
            }
            TraceFormat::Json => {
                let values: serde_json::Map<String, serde_json::Value> =
                    values.into_iter().map(|(n, v)| (n.to_owned(), v.into())).collect();
                let line = json!({
                    "time": p.time, "block": p.block, "warp": p.warp, "lanes": p.active,
                    "function": self.code.function_name(shown.at.0), "line": shown.line,
                    "text": shown.text, "writes": values,
                });
                writeln!(text, "{line}")
            }
            TraceFormat::Perfetto => {
                let comma = if self.first { "" } else { ",\n" };
                let line = json!({
                    "name": shown.opcode, "ph": "X", "ts": p.time, "dur": 1,
                    "pid": format!("block {x},{y},{z}"), "tid": p.warp,
                    "args": {"line": shown.line, "text": shown.text, "lanes": format!("{:#010x}", p.active)},
                });
                write!(text, "{comma}{line}")
            }
        };
        self.first = false;
        // Writing to a string cannot fail.
        debug_assert!(done.is_ok());
        if self.text.len() > CHUNK {
            self.flush();
        }
    }

    fn access(&mut self, moment: &Moment<'_>, a: &MemoryAccess<'_>) {
        let shown = &self.shown[moment.pc() as usize];
        let what = match a.action {
            Action::Read => "read",
            Action::Write => "write",
            Action::Update => "update",
        };
        let lanes = (0..32).filter(|l| a.lanes >> l & 1 != 0);
        let at: Vec<u64> = lanes.map(|l| a.addresses[l]).collect();
        let space = space_name(a.space);
        let ([x, y, z], warp, time) = (moment.block(), moment.warp(), self.time - 1);
        let text = &mut self.text;
        match self.options.format {
            TraceFormat::Text => {
                let _ = write!(
                    text,
                    "{time} block {x},{y},{z} warp {warp} lanes {:08x} line {}: {what} {space} {} bytes at",
                    a.lanes, shown.line, a.bytes
                );
                for address in at {
                    let _ = write!(text, " {address:#x}");
                }
                text.push('\n');
            }
            TraceFormat::Json => {
                let line = json!({
                    "time": time, "block": [x, y, z], "warp": warp, "lanes": a.lanes,
                    "line": shown.line, "access": what, "space": space, "bytes": a.bytes,
                    "addresses": at,
                });
                let _ = writeln!(text, "{line}");
            }
            TraceFormat::Perfetto => {
                let comma = if self.first { "" } else { ",\n" };
                let line = json!({
                    "name": format!("{what} {space}"), "ph": "i", "s": "t", "ts": time,
                    "pid": format!("block {x},{y},{z}"), "tid": warp,
                    "args": {"line": shown.line, "bytes": a.bytes, "addresses": at},
                });
                let _ = write!(text, "{comma}{line}");
                self.first = false;
            }
        }
        if self.text.len() > CHUNK {
            self.flush();
        }
    }
}

impl Observer for Tracer<'_> {
    const EVENTS: EventSet = EventSet::ISSUE.and(EventSet::ACCESS).and(EventSet::BLOCK);

    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        self.time += 1;
        self.options.instructions && (self.pending.is_some() || self.shown[pc as usize].wanted)
    }

    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        self.options.accesses
    }

    fn block(&mut self, event: BlockEvent<'_>) {
        match event {
            BlockEvent::Ends { .. } | BlockEvent::Faults { .. } | BlockEvent::LaunchEnds => {
                self.settle(None);
            }
            BlockEvent::LaunchStarts { .. } | BlockEvent::Starts { .. } => {}
        }
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        match event {
            WarpEvent::Issue { active } => {
                self.settle(Some(moment));
                if self.wanted(moment) {
                    let (block, warp) = (moment.block(), moment.warp());
                    let lane = moment.lanes().trailing_zeros().min(31) as u8;
                    let depth = match self.options.values {
                        true => moment.lane(block, warp, lane).map_or(0, |l| l.depth()),
                        false => 0,
                    };
                    let time = self.time - 1;
                    self.pending =
                        Some(Pending { time, pc: moment.pc(), block, warp, active, depth });
                    if !self.options.values {
                        self.settle(None);
                    }
                }
            }
            WarpEvent::Access(access) => {
                if self.options.accesses && self.wanted(moment) {
                    self.access(moment, access);
                }
            }
            WarpEvent::BarrierArrive { .. }
            | WarpEvent::BarrierComplete { .. }
            | WarpEvent::Fence(_)
            | WarpEvent::WarpSync { .. }
            | WarpEvent::Mbarrier(_)
            | WarpEvent::AsyncGroup(_)
            | WarpEvent::Malloc { .. }
            | WarpEvent::Free { .. }
            | WarpEvent::Print { .. }
            | WarpEvent::Exit { .. } => {}
        }
        match &self.failed {
            None => ControlFlow::Continue(()),
            Some(error) => ControlFlow::Break(format!("the trace cannot be written: {error}")),
        }
    }
}

/// The code of a launch, for a trace.
pub fn code_of(
    kernel: &Arc<ptx_interp::Kernel>,
    module: &ptx_parse::module::Module,
    params: &LaunchParams,
    folders: &[std::path::PathBuf],
) -> CodeMap {
    CodeMap::new(kernel, module, &params.symbols, folders)
}
