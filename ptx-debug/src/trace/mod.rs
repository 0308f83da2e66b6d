//! Traces: what warps execute, with the values that they write, and what they access.
//!
//! A trace is written while the launch runs, on one host thread, so that it is the same in every run. Records
//! (`binary`) take less time than handing the lanes of a register to another thread, so the launch makes them itself;
//! for text it notes events in words (`words`), of which another thread makes lines. Yet another one writes the bytes
//! (`writer`). Values are those after the instruction; they are read when the next one is issued.

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
use ptx_interp::{LaunchError, LaunchParams, Memory, Moment, RegisterRow, Stats, launch_observed};
use ptx_isa::Ty;

use crate::code::{CodeMap, Register};
use crate::expr::value_type;

use binary::Binary;
pub use event::TraceFormat;
use event::{Head, Instruction, Place, Touch};
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
    head: Head,
    /// Number of the activation that executes it.
    activation: u32,
}

/// Where events go.
trait Sink: Send {
    /// An instruction that has so many registers, each with its row, if it has one.
    fn issue<'r>(
        &mut self,
        e: &Head,
        count: usize,
        row: impl FnMut(usize) -> Option<RegisterRow<'r>>,
    );
    fn access(&mut self, e: &Touch<'_>);
    /// Whether there is no use in going on.
    fn failed(&self) -> bool;
    /// Hands over what is left.
    fn finish(&mut self);
}

/// Events as words for another thread.
struct Words {
    out: Chunks<u32>,
    /// The warp of the last event in `out`.
    place: Option<Place>,
}

impl Words {
    /// Writes the warp of what follows if it is another one.
    #[inline(always)]
    fn at(&mut self, place: Place) {
        if self.place != Some(place) {
            words::push_place(place, self.out.buffer());
            self.place = Some(place);
        }
    }
}

impl Sink for Words {
    #[inline(always)]
    fn issue<'r>(
        &mut self,
        e: &Head,
        count: usize,
        mut row: impl FnMut(usize) -> Option<RegisterRow<'r>>,
    ) {
        self.at(e.place);
        for n in 0..count {
            if let Some(row) = row(n) {
                words::push_row(n, row, self.out.buffer());
            }
        }
        words::push_issue(e, self.out.buffer());
        self.out.pass();
    }

    fn access(&mut self, e: &Touch<'_>) {
        self.at(e.head.place);
        words::push_access(e, self.out.buffer());
        self.out.pass();
    }

    fn failed(&self) -> bool {
        self.out.failed()
    }

    fn finish(&mut self) {
        self.out.finish();
    }
}

/// Events as records.
struct Records {
    out: Chunks<u8>,
    binary: Binary,
}

impl Sink for Records {
    #[inline(always)]
    fn issue<'r>(
        &mut self,
        e: &Head,
        count: usize,
        mut row: impl FnMut(usize) -> Option<RegisterRow<'r>>,
    ) {
        let out = self.out.buffer();
        let mut open = self.binary.begin(e, out);
        for n in 0..count {
            if let Some(row) = row(n) {
                self.binary.row(&mut open, n, row, out);
            }
        }
        self.out.pass();
    }

    fn access(&mut self, e: &Touch<'_>) {
        self.binary.access(e, self.out.buffer());
        self.out.pass();
    }

    fn failed(&self) -> bool {
        self.out.failed()
    }

    fn finish(&mut self) {
        self.binary.end(self.out.buffer());
        self.out.finish();
    }
}

struct Tracer<'t, S> {
    options: &'t TraceOptions,
    known: &'t [Known],
    sink: S,
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
    let launch = Traced { code, memory, params: &params, options, known: &known };
    let mut begin = Vec::new();
    if options.format == TraceFormat::Binary {
        let binary = Binary::new(&instructions, &mut begin);
        return writer::written(out, begin, |out| launch.run(Records { out, binary }));
    }
    let form = Form::new(options.format, &instructions, &mut begin);
    let format = |state: &mut (Form, Place), words: &[u32], bytes: &mut Vec<u8>| {
        words::write(words, &mut state.1, &mut state.0, bytes);
    };
    let end = |state: &mut (Form, Place), bytes: &mut Vec<u8>| state.0.end(bytes);
    let first = ((form, Place::default()), begin);
    writer::formatted(out, first, format, end, |out| launch.run(Words { out, place: None }))
}

/// A launch that is traced.
struct Traced<'t> {
    code: &'t CodeMap,
    memory: &'t Memory,
    params: &'t LaunchParams,
    options: &'t TraceOptions,
    known: &'t [Known],
}

impl Traced<'_> {
    /// Runs it.
    fn run(&self, sink: impl Sink) -> Result<Stats, LaunchError> {
        let Traced { options, known, .. } = *self;
        let tracer = Tracer { options, known, sink, time: 0, pending: None };
        let slot = Mutex::new(Some(tracer));
        let take = || {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.take().expect("a launch on one host thread makes one observer")
        };
        let (result, tracers) = launch_observed(&self.code.kernel, self.memory, self.params, &take);
        for mut tracer in tracers {
            tracer.sink.finish();
        }
        result
    }
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

impl<S: Sink> Tracer<'_, S> {
    #[inline]
    fn wanted(&self, moment: &Moment<'_>) -> bool {
        self.known[moment.pc() as usize].wanted
            && self.options.warp.is_none_or(|w| w == moment.warp())
            && self.options.block.is_none_or(|b| b == moment.block())
    }

    /// Writes the instruction whose values are now known: where its warp goes on, and in which activation, is `here`.
    #[inline(always)]
    fn settle(&mut self, moment: &Moment<'_>, here: (Place, u32)) {
        let Some(p) = self.pending.take() else { return };
        let writes = self.known[p.head.pc as usize].writes.as_slice();
        if here == (p.head.place, p.activation) {
            let row = |n: usize| moment.register_row(writes[n].kind, writes[n].number);
            self.sink.issue(&p.head, writes.len(), row);
            return;
        }
        elsewhere(&mut self.sink, moment, &p, writes);
    }

    #[inline]
    fn issued(&mut self, moment: &Moment<'_>, active: u32) {
        let place = Place { block: moment.block(), warp: moment.warp() };
        let activation = moment.activation();
        self.settle(moment, (place, activation));
        if !self.wanted(moment) {
            return;
        }
        let pc = moment.pc();
        let head = Head { time: self.time - 1, place, pc, lanes: active };
        if active == 0 || self.known[pc as usize].writes.is_empty() {
            self.sink.issue(&head, 0, |_| None);
            return;
        }
        self.pending = Some(Pending { head, activation });
    }

    fn access(&mut self, moment: &Moment<'_>, a: &MemoryAccess<'_>) {
        let place = Place { block: moment.block(), warp: moment.warp() };
        self.sink.access(&Touch {
            head: Head { time: self.time - 1, place, pc: moment.pc(), lanes: a.lanes },
            action: a.action,
            space: a.space,
            bytes: a.bytes,
            addresses: a.addresses,
        });
    }
}

/// Writes an instruction behind which another warp, or another function, goes on.
#[inline(never)]
fn elsewhere(sink: &mut impl Sink, moment: &Moment<'_>, p: &Pending, writes: &[Register]) {
    let Head { place: Place { block, warp }, lanes, .. } = p.head;
    let lane = moment.lane(block, warp, lanes.trailing_zeros().min(31) as u8);
    let up = lane.and_then(|l| l.above(p.activation));
    let (count, row) = &match lane.zip(up) {
        Some(found) => (writes.len(), Some(found)),
        None => (0, None),
    };
    sink.issue(&p.head, *count, |n| {
        let (lane, up) = row.as_ref()?;
        lane.register_row(*up, writes[n].kind, writes[n].number)
    });
}

impl<S: Sink> Observer for Tracer<'_, S> {
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
                if let Some(p) = self.pending.take() {
                    self.sink.issue(&p.head, 0, |_| None);
                }
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
        match self.sink.failed() {
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
