//! A launch under the debugger: what stops it, what is looked at, what was changed.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_interp::{Kernel, Lane, LaunchParams, Memory, Moment, Report, Stats};
use ptx_isa::Space;
use ptx_parse::module::Module;
use serde::Serialize;

use crate::code::{At, CodeMap, Register};
use crate::command::{Format, Motion, WatchKind};
use crate::error::Error;
use crate::eval::{self, Compiled};
use crate::expr::Expr;
use crate::findings::Found;
use crate::snapshot::Snapshot;

/// A lane of the grid.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LaneId {
    /// Block.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Lane in the warp.
    pub lane: u8,
}

impl LaneId {
    /// The first lane that executes.
    pub(crate) fn executing(moment: &Moment<'_>) -> LaneId {
        let lane = moment.lanes().trailing_zeros().min(31) as u8;
        LaneId { block: moment.block(), warp: moment.warp(), lane }
    }
}

/// A breakpoint.
pub struct Breakpoint {
    /// Its number.
    pub number: u64,
    /// Its location as written.
    pub location: String,
    /// Instructions, with the condition compiled for their function.
    pub at: Vec<(At, Option<Compiled>)>,
    /// The condition.
    pub condition: Option<Expr>,
    /// Whether it stops the kernel.
    pub enabled: bool,
    /// Whether it goes away when it stops the kernel.
    pub once: bool,
    /// Hits to let pass.
    pub ignore: u64,
    /// Hits so far.
    pub hits: u64,
}

/// What a watchpoint looks at.
#[derive(Clone, Debug)]
pub enum Watched {
    /// A register of a function in a lane.
    Register {
        /// Function.
        function: u32,
        /// Which.
        register: Register,
    },
    /// Memory; shared memory is that of the lane's block, local memory that of the lane.
    Memory {
        /// State space: global, shared or local.
        space: Space,
        /// Address there.
        address: u64,
        /// Bytes.
        bytes: u32,
    },
}

/// A watchpoint.
pub struct Watchpoint {
    /// Its number.
    pub number: u64,
    /// Its expression as written.
    pub text: String,
    /// What it looks at.
    pub what: Watched,
    /// Type of the value.
    pub ty: ptx_isa::Ty,
    /// The lane at which it was set.
    pub lane: LaneId,
    /// What it stops at.
    pub kind: WatchKind,
    /// Whether it stops the kernel.
    pub enabled: bool,
    /// Hits so far.
    pub hits: u64,
    /// The value when it was last looked at.
    pub(crate) last: Option<u64>,
    /// Where the lane of a watched register stood then.
    pub(crate) seen: Option<At>,
}

/// A change that the user made at a moment of the launch; it is made again when the launch runs again.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Register { lane: LaneId, up: u32, register: Register, value: u64 },
    Memory { lane: LaneId, space: Space, address: u64, bytes: Vec<u8> },
}

/// Why execution rests.
#[derive(Clone, Debug)]
pub enum Reason {
    /// The launch has not started.
    Ready,
    /// At its first instruction.
    Start,
    /// A step is done.
    Step,
    /// A moment that was asked for.
    Time,
    /// A breakpoint, and the lanes for which its condition holds.
    Breakpoint {
        /// Its number.
        number: u64,
        /// The lanes.
        lanes: u32,
    },
    /// A watchpoint.
    Watchpoint {
        /// Its number.
        number: u64,
        /// Its expression.
        text: String,
        /// The values before and after; equal for a read.
        values: (String, String),
        /// Who accessed it.
        by: LaneId,
        /// The instruction that did.
        at: At,
    },
    /// A warp comes to a barrier.
    Barrier,
    /// A checker has found something about the next instruction.
    Finding {
        /// What.
        text: String,
    },
    /// The lane that was stepped has ended.
    LaneEnded(LaneId),
    /// The user stopped it.
    Interrupt,
    /// There is nothing of this kind further back.
    HistoryStart,
    /// The next instruction faults.
    Fault(Box<Report>),
    /// Every block has ended.
    Ended,
    /// The answer to "who wrote this last?"
    Writer {
        /// What was asked for.
        text: String,
        /// Time, lane and instruction; `None` if nobody has.
        found: Option<(u64, LaneId, At)>,
    },
}

/// Execution rests.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Why.
    pub reason: Reason,
    /// Instructions that warps had issued.
    pub time: u64,
}

/// How execution goes on.
#[derive(Clone, Debug)]
pub enum Resume {
    /// Forward.
    Forward {
        /// How.
        motion: Motion,
        /// How often.
        count: u64,
        /// For `until`: where the lane is to come.
        until: Option<Vec<At>>,
    },
    /// Back.
    Backward {
        /// How.
        motion: Motion,
        /// How often.
        count: u64,
    },
    /// To a moment.
    Goto(u64),
    /// To the end, without stops.
    GotoEnd,
    /// From the beginning, to its first instruction or to the first breakpoint.
    Restart {
        /// Whether to stop at the first instruction.
        stop: bool,
    },
    /// As before an interrupt.
    Same,
    /// Who wrote this last?
    Who(Sought, String),
    /// End the debugger.
    Quit,
}

/// What "who wrote this last?" looks for.
#[derive(Clone, Debug)]
pub struct Sought {
    /// Where it is.
    pub what: Watched,
    /// The lane for which it is asked.
    pub lane: LaneId,
    /// Calls outside the activation whose register is meant.
    pub depth: u32,
}

/// How a launch under the debugger ended.
#[derive(Debug)]
pub enum End {
    /// Every block has ended.
    Finished(Stats),
    /// A thread faulted, and the user went on.
    Fault(Box<Report>),
    /// The user ended the debugger.
    Quit,
}

/// What is debugged: a launch as the interpreter takes it.
pub struct Target<'a> {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Its module.
    pub module: &'a Module,
    /// Device memory.
    pub memory: &'a Memory,
    /// The launch.
    pub params: LaunchParams,
    /// Where source files are looked for.
    pub folders: &'a [PathBuf],
}

/// What the kernel has printed in the present run, and how much of it was shown.
#[derive(Default)]
pub(crate) struct Printed {
    pub text: Vec<u8>,
    shown: usize,
}

struct Sink(Arc<Mutex<Printed>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        locked(&self.0).text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A launch under the debugger.
pub struct Session {
    /// The kernel's text.
    pub code: CodeMap,
    /// Device memory.
    pub memory: Memory,
    pub(crate) params: LaunchParams,
    pub(crate) snapshot: Snapshot,
    /// Breakpoints by number.
    pub breakpoints: Vec<Breakpoint>,
    /// Watchpoints by number.
    pub watchpoints: Vec<Watchpoint>,
    numbers: u64,
    /// Stop where a warp comes to a barrier.
    pub catch_barrier: bool,
    /// Rest before the launch and behind it.
    pub catch_launch: bool,
    /// Rest at what checkers have found.
    pub catch_finding: bool,
    /// What checkers have found in this launch, in the order of time.
    pub findings: Vec<Found>,
    /// The lane that is looked at.
    pub focus: LaneId,
    /// The activation that is looked at: calls outwards from the executing one.
    pub up: u32,
    /// Expressions that are shown at every stop.
    pub displays: Vec<(u64, Expr, String, Format)>,
    pub(crate) edits: Vec<(u64, Edit)>,
    printed: Arc<Mutex<Printed>>,
    /// Set to stop the kernel where it is.
    pub pause: Arc<AtomicBool>,
    /// When the launch ends or faults, once that is known.
    pub(crate) end: Option<u64>,
}

impl Session {
    /// A launch that has not started. It runs on one host thread, with clocks that count
    /// instructions, so that every run is the same.
    pub fn new(target: Target<'_>) -> Session {
        let Target { kernel, module, memory, mut params, folders } = target;
        let printed = Arc::new(Mutex::new(Printed::default()));
        params.threads = 1;
        params.timeout = None;
        params.step_limit = None;
        params.cancel = None;
        params.steady_clock = true;
        params.output = Some(Arc::new(Mutex::new(Sink(Arc::clone(&printed)))));
        Session {
            code: CodeMap::new(&kernel, module, &params.symbols, folders),
            memory: memory.clone(),
            snapshot: Snapshot::take(memory, &params),
            params,
            breakpoints: Vec::new(),
            watchpoints: Vec::new(),
            numbers: 1,
            catch_barrier: false,
            catch_launch: true,
            catch_finding: true,
            findings: Vec::new(),
            focus: LaneId::default(),
            up: 0,
            displays: Vec::new(),
            edits: Vec::new(),
            printed,
            pause: Arc::default(),
            end: None,
        }
    }

    /// Takes over the breakpoints and displays of an earlier launch, as far as this kernel has their
    /// locations.
    pub fn inherit(&mut self, old: Session) {
        self.numbers = old.numbers;
        self.catch_barrier = old.catch_barrier;
        self.catch_launch = old.catch_launch;
        self.catch_finding = old.catch_finding;
        self.pause = old.pause;
        self.displays = old.displays;
        for mut b in old.breakpoints {
            let at = self.code.locate(&b.location, 0).unwrap_or_default();
            let compiled = at.into_iter().map(|at| {
                let condition = b.condition.as_ref();
                condition.map(|c| eval::compile(c, &self.code, at)).transpose().map(|c| (at, c))
            });
            b.at = compiled.collect::<Result<_, _>>().unwrap_or_default();
            self.breakpoints.push(b);
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers - 1
    }

    /// Sets a breakpoint; its number. Lines and labels of `function` come first.
    ///
    /// # Errors
    /// When nothing is at the location, or the condition names what is not there.
    pub fn add_breakpoint(
        &mut self,
        location: &str,
        condition: Option<Expr>,
        once: bool,
        function: u32,
    ) -> Result<u64, Error> {
        let at = self.code.locate(location, function)?;
        let at = self.conditions(at, condition.as_ref())?;
        let number = self.number();
        self.breakpoints.push(Breakpoint {
            number,
            location: location.into(),
            at,
            condition,
            enabled: true,
            once,
            ignore: 0,
            hits: 0,
        });
        Ok(number)
    }

    /// The instructions with the condition compiled for each.
    pub(crate) fn conditions(
        &self,
        at: Vec<At>,
        condition: Option<&Expr>,
    ) -> Result<Vec<(At, Option<Compiled>)>, Error> {
        let one = |at: At| {
            let compiled = condition.map(|c| eval::compile(c, &self.code, at)).transpose()?;
            Ok((at, compiled))
        };
        at.into_iter().map(one).collect()
    }

    /// What the kernel has printed since this was last asked.
    pub fn fresh_output(&mut self) -> Vec<u8> {
        let mut printed = locked(&self.printed);
        let from = printed.shown.min(printed.text.len());
        let fresh = printed.text[from..].to_vec();
        printed.shown = printed.shown.max(printed.text.len());
        fresh
    }

    /// All that the kernel has printed up to now.
    pub fn output(&self) -> Vec<u8> {
        locked(&self.printed).text.clone()
    }

    /// The launch as it runs under the debugger.
    pub fn launch(&self) -> &LaunchParams {
        &self.params
    }

    /// Makes memory what it was before the launch.
    ///
    /// # Errors
    /// When the kernel freed memory of an earlier launch.
    pub fn rewind(&mut self) -> Result<(), Error> {
        self.snapshot.restore(&self.memory)?;
        locked(&self.printed).text.clear();
        for w in &mut self.watchpoints {
            (w.last, w.seen) = (None, None);
        }
        Ok(())
    }

    /// A change at a moment. What was changed later belongs to another history.
    pub(crate) fn edit(&mut self, time: u64, edit: Edit) {
        self.edits.retain(|(t, _)| *t <= time);
        self.edits.push((time, edit));
        self.end = None;
    }

    /// The value of a watchpoint's bytes, seen from a lane.
    pub(crate) fn watched(&self, w: &Watchpoint, lane: &Lane<'_>) -> Option<u64> {
        match &w.what {
            Watched::Register { function, register } => {
                if lane.at().0 != *function {
                    return None;
                }
                let row = lane.register(0, register.kind, register.number)?;
                Some(row[lane.lane as usize])
            }
            Watched::Memory { space, address, bytes } => {
                let mut out = [0; 8];
                lane.read(*space, *address, &mut out[..*bytes as usize]).ok()?;
                Some(u64::from_le_bytes(out))
            }
        }
    }
}
