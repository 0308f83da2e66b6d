//! Traces: what warps execute, with the values that they write, and what they access.
//!
//! A trace is written while the launch runs, on one host thread, so that it is the same in every run. The launch notes
//! events in words (`words`); other threads put them into the trace's format and write the bytes (`writer`). Values are
//! those after the instruction; they are read when the next one is issued.

mod binary;
mod changes;
mod event;
mod form;
mod numbers;
mod read;
mod text;
mod words;
mod writer;

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_interp::observer::{BlockEvent, EventSet, MemoryAccess, Observer, WarpEvent};
use ptx_interp::{LaunchError, LaunchParams, Memory, Moment, Stats, launch_observed};
use ptx_isa::Ty;

use crate::code::{CodeMap, Register};
use crate::expr::value_type;

pub use event::TraceFormat;
use event::{Instruction, Place, Touch};
use form::Form;
pub use read::convert;
use writer::Chunks;

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
    /// Number of the activation that executes it.
    activation: u32,
}

struct Tracer<'t> {
    options: &'t TraceOptions,
    known: &'t [Known],
    out: Chunks<u32>,
    /// The warp of the last event in `out`.
    place: Option<Place>,
    time: u64,
    pending: Option<Pending>,
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
    let mut begin = Vec::new();
    let form = Form::new(options.format, &instructions, &mut begin);
    let format = |state: &mut (Form, Place), words: &[u32], bytes: &mut Vec<u8>| {
        words::write(words, &mut state.1, &mut state.0, bytes);
    };
    let end = |state: &mut (Form, Place), bytes: &mut Vec<u8>| state.0.end(bytes);
    let first = ((form, Place::default()), begin);
    writer::beside(out, first, format, end, |out| {
        let (time, place, pending) = (0, None, None);
        let slot = Mutex::new(Some(Tracer { options, known: &known, out, place, time, pending }));
        let take = || {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.take().expect("a launch on one host thread makes one observer")
        };
        let (result, tracers) = launch_observed(&code.kernel, memory, &params, &take);
        for mut tracer in tracers {
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
    #[inline]
    fn settle(&mut self, moment: Option<&Moment<'_>>) {
        let Some(p) = self.pending.take() else { return };
        self.at(p.place);
        let writes = &self.known[p.pc as usize].writes;
        let out = self.out.buffer();
        let here = |m: &&Moment<'_>| {
            m.activation() == p.activation && (m.block(), m.warp()) == (p.place.block, p.place.warp)
        };
        if let Some(m) = moment.filter(here) {
            for (n, r) in writes.iter().enumerate() {
                words::push_row(n, out, |out| m.append_register(r.kind, r.number, out));
            }
        } else if let Some(m) = moment {
            elsewhere(m, &p, writes, out);
        }
        words::push_issue(p.pc, p.active, p.time, out);
        self.out.pass();
    }

    /// Writes the warp of what follows if it is another one.
    #[inline(always)]
    fn at(&mut self, place: Place) {
        if self.place != Some(place) {
            words::push_place(place, self.out.buffer());
            self.place = Some(place);
        }
    }

    #[inline]
    fn issued(&mut self, moment: &Moment<'_>, active: u32) {
        self.settle(Some(moment));
        if !self.wanted(moment) {
            return;
        }
        let (time, pc) = (self.time - 1, moment.pc());
        let place = Place { block: moment.block(), warp: moment.warp() };
        if active == 0 || self.known[pc as usize].writes.is_empty() {
            self.at(place);
            words::push_issue(pc, active, time, self.out.buffer());
            self.out.pass();
            return;
        }
        let activation = moment.activation();
        self.pending = Some(Pending { time, pc, place, active, activation });
    }

    fn access(&mut self, moment: &Moment<'_>, a: &MemoryAccess<'_>) {
        let place = Place { block: moment.block(), warp: moment.warp() };
        self.at(place);
        let event = Touch {
            time: self.time - 1,
            place,
            pc: moment.pc(),
            lanes: a.lanes,
            action: a.action,
            space: a.space,
            bytes: a.bytes,
            addresses: a.addresses,
        };
        words::push_access(&event, self.out.buffer());
        self.out.pass();
    }
}

/// Writes the registers of an instruction behind which another warp, or another function, goes on.
#[inline(never)]
fn elsewhere(moment: &Moment<'_>, p: &Pending, writes: &[Register], out: &mut Vec<u32>) {
    let Place { block, warp } = p.place;
    let lane = p.active.trailing_zeros().min(31) as u8;
    let Some(lane) = moment.lane(block, warp, lane) else { return };
    let Some(up) = lane.above(p.activation) else { return };
    for (n, r) in writes.iter().enumerate() {
        words::push_row(n, out, |out| lane.append_register(up, r.kind, r.number, out));
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
