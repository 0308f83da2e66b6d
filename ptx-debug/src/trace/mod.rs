//! Traces: what warps execute, with the values that they write, and what they access.
//!
//! A trace is written while the launch runs, on one host thread, so that it is the same in every run; another thread
//! carries the bytes to the disk. Values are those after the instruction; they are read when the next one is issued.

mod binary;
mod text;
mod writer;

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_interp::observer::{Action, BlockEvent, EventSet, MemoryAccess, Observer, WarpEvent};
use ptx_interp::{LaunchError, LaunchParams, Memory, Moment, Stats, launch_observed};
use ptx_isa::{Space, Ty};

use crate::code::{CodeMap, Register};
use crate::expr::value_type;

use binary::Binary;
pub use binary::convert;
use text::Lines;
use writer::Chunks;

/// How a trace is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// A line for people per event.
    Text,
    /// A JSON object per line.
    Json,
    /// One JSON document for ui.perfetto.dev: a process per block, a thread per warp.
    Perfetto,
    /// Records of a few bytes, the quickest to write; [`convert`] makes the others of it.
    Binary,
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
#[derive(Clone, PartialEq, Eq, Debug)]
struct Instruction {
    function: String,
    /// In the PTX text.
    line: u32,
    opcode: String,
    text: String,
    /// Registers that it writes.
    writes: Vec<(String, Ty)>,
}

/// A warp of the grid.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Place {
    block: [u32; 3],
    warp: u32,
}

/// An instruction that a warp has issued.
struct Issue<'e> {
    time: u64,
    place: Place,
    /// Number of the [`Instruction`].
    pc: u32,
    /// Lanes that execute it.
    lanes: u32,
    /// Values of the executing lanes, by number in [`Instruction::writes`].
    values: &'e [(usize, [u64; 32])],
}

/// A warp's access to memory.
struct Touch<'e> {
    time: u64,
    place: Place,
    pc: u32,
    lanes: u32,
    action: Action,
    space: Space,
    /// Of a lane.
    bytes: u32,
    addresses: &'e [u64; 32],
}

/// Makes bytes of events.
enum Form {
    Lines(Lines),
    Binary(Binary),
}

impl Form {
    fn new(format: TraceFormat, instructions: &[Instruction], out: &mut Vec<u8>) -> Form {
        match format {
            TraceFormat::Binary => Form::Binary(Binary::new(instructions, out)),
            _ => Form::Lines(Lines::new(format, instructions, out)),
        }
    }

    #[inline]
    fn issue(&mut self, event: &Issue<'_>, out: &mut Vec<u8>) {
        match self {
            Form::Lines(form) => form.issue(event, out),
            Form::Binary(form) => form.issue(event, out),
        }
    }

    fn access(&mut self, event: &Touch<'_>, out: &mut Vec<u8>) {
        match self {
            Form::Lines(form) => form.access(event, out),
            Form::Binary(form) => form.access(event, out),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Form::Lines(form) => form.end(out),
            Form::Binary(form) => form.end(out),
        }
    }
}

/// What the tracer knows of a position in the decoded stream.
struct Known {
    wanted: bool,
    writes: Vec<Register>,
}

/// An instruction whose values are not known yet.
struct Pending {
    time: u64,
    pc: u32,
    place: Place,
    active: u32,
    depth: u32,
}

struct Tracer<'t> {
    options: &'t TraceOptions,
    known: &'t [Known],
    form: Form,
    out: Chunks,
    time: u64,
    pending: Option<Pending>,
    values: Vec<(usize, [u64; 32])>,
}

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
    let count = code.kernel.decoded_len() as u32;
    let (known, instructions): (Vec<_>, Vec<_>) =
        (0..count).map(|pc| described(code, pc, options)).unzip();
    let params = LaunchParams { threads: 1, steady_clock: true, ..params.clone() };
    writer::beside(out, |mut out| {
        let form = Form::new(options.format, &instructions, out.buffer());
        let (time, pending, values) = (0, None, Vec::new());
        let tracer = Tracer { options, known: &known, form, out, time, pending, values };
        let slot = Mutex::new(Some(tracer));
        let take = || {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.take().expect("a launch on one host thread makes one observer")
        };
        let (result, tracers) = launch_observed(&code.kernel, memory, &params, &take);
        for mut tracer in tracers {
            tracer.form.end(tracer.out.buffer());
            tracer.out.finish();
        }
        result
    })
}

fn described(code: &CodeMap, pc: u32, options: &TraceOptions) -> (Known, Instruction) {
    let at = code.kernel.origin(pc).unwrap_or((0, 0));
    let (opcode, line) = (code.opcode(at), code.ptx_line(at));
    let source = code.source_line(at).map(|(_, l)| l);
    let (low, high) = options.lines.unwrap_or((0, u32::MAX));
    let in_lines = (low..=high).contains(&source.unwrap_or(line));
    let begins = options.opcode.as_ref().is_none_or(|o| opcode.starts_with(o.as_str()));
    let written = if options.values { code.written(at) } else { Vec::new() };
    let named =
        |(name, r): &(String, Register)| (name.clone(), value_type(r.ty.name()).unwrap_or(Ty::B64));
    let writes = written.iter().map(named).collect();
    let (function, text) = (code.function_name(at.0).to_owned(), code.text(at));
    let registers = written.iter().map(|(_, r)| *r).collect();
    (
        Known { wanted: in_lines && begins, writes: registers },
        Instruction { function, line, opcode, text, writes },
    )
}

impl Tracer<'_> {
    #[inline]
    fn wanted(&self, moment: &Moment<'_>) -> bool {
        self.known[moment.pc() as usize].wanted
            && self.options.warp.is_none_or(|w| w == moment.warp())
            && self.options.block.is_none_or(|b| b == moment.block())
    }

    /// Writes the instruction whose values are now known.
    fn settle(&mut self, moment: Option<&Moment<'_>>) {
        let Some(p) = self.pending.take() else { return };
        self.values.clear();
        let Place { block, warp } = p.place;
        let lane = p.active.trailing_zeros().min(31) as u8;
        if p.active != 0
            && let Some(stands) = moment.and_then(|m| m.lane(block, warp, lane))
            && let Some(up) = stands.depth().checked_sub(p.depth)
        {
            for (n, r) in self.known[p.pc as usize].writes.iter().enumerate() {
                if let Some(row) = stands.register(up, r.kind, r.number) {
                    self.values.push((n, row));
                }
            }
        }
        let Pending { time, pc, place, active: lanes, .. } = p;
        let event = Issue { time, place, pc, lanes, values: &self.values };
        self.form.issue(&event, self.out.buffer());
        self.out.pass();
    }

    #[inline]
    fn issued(&mut self, moment: &Moment<'_>, active: u32) {
        self.settle(Some(moment));
        if !self.wanted(moment) {
            return;
        }
        let (time, pc) = (self.time - 1, moment.pc());
        let place = Place { block: moment.block(), warp: moment.warp() };
        if self.known[pc as usize].writes.is_empty() {
            let event = Issue { time, place, pc, lanes: active, values: &[] };
            self.form.issue(&event, self.out.buffer());
            self.out.pass();
            return;
        }
        let lane = moment.lanes().trailing_zeros().min(31) as u8;
        let depth = moment.lane(place.block, place.warp, lane).map_or(0, |l| l.depth());
        self.pending = Some(Pending { time, pc, place, active, depth });
    }

    fn access(&mut self, moment: &Moment<'_>, a: &MemoryAccess<'_>) {
        let event = Touch {
            time: self.time - 1,
            place: Place { block: moment.block(), warp: moment.warp() },
            pc: moment.pc(),
            lanes: a.lanes,
            action: a.action,
            space: a.space,
            bytes: a.bytes,
            addresses: a.addresses,
        };
        self.form.access(&event, self.out.buffer());
        self.out.pass();
    }
}

impl Observer for Tracer<'_> {
    const EVENTS: EventSet = EventSet::ISSUE.and(EventSet::ACCESS).and(EventSet::BLOCK);

    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        self.time += 1;
        self.options.instructions && (self.pending.is_some() || self.known[pc as usize].wanted)
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
            WarpEvent::Issue { active } => self.issued(moment, active),
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
        match self.out.failed() {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break("the trace cannot be written".into()),
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
