//! Runs a kernel in the interpreter and replays what it did on a device.

mod accesses;
pub(crate) mod watched;

use std::ops::ControlFlow;
use std::thread::Builder;

use ptx_interp::observer::{BlockEvent, EventSet, Observer, WarpEvent};
use ptx_interp::{Kernel, LaunchError, LaunchParams, Memory, Moment, Stats, launch_observed};
use ptx_isa::effect::{AsyncGroup, AsyncGroupOp, AsyncWork};
use ptx_parse::code::Program;
use thiserror::Error;

use self::accesses::Pieces;
use self::watched::{Parts, Path};
use crate::access::WarpAccess;
use crate::code::{Does, KernelCode, Step};
use crate::event::{BlockTrace, CopyGroup, Detail, Differs, Event, Space, WarpTrace};
use crate::facts::Predicated;
use crate::handover::{Giver, Taker, handover};
use crate::lanes::distinct;
use crate::occupancy::BlockNeeds;
use crate::profile::Profile;
use crate::registers;
use crate::report::build::build;
use crate::report::inputs::Inputs;
use crate::report::sample::Samples;
use crate::report::{BranchInfo, Report};
use crate::sim::{self, Config, Outcome, SimulateError};
use crate::words::Words;
use crate::work::Work;

/// Why a launch could not be timed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The interpreter refused or stopped the launch.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The simulator refused.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// Result of [`replay`].
#[derive(Debug)]
pub struct Replay {
    /// What the simulator says.
    pub outcome: Outcome,
    /// What the interpreter counted, PTX instructions of the whole grid.
    pub stats: Stats,
    /// The code that [`Outcome::per_pc`] counts by.
    pub code: KernelCode,
    /// Branches by the same index: of the whole grid.
    pub branches: Vec<BranchInfo>,
    /// Accesses of the first block.
    samples: Samples,
    /// What the warp did that was asked for, if the grid has it.
    path: Option<Path>,
}

/// What to simulate, and how.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Registers of a thread; otherwise what the module's directives or an estimate say.
    pub registers: Option<u32>,
    /// How much of the grid to simulate, and what to record of it.
    pub config: Config,
    /// Accesses of the warp that [`Config::warp`] chooses: line of the PTX text, from 1, and which of its executions by
    /// that warp, from 1. Without any, the first one of each line.
    pub accesses: Vec<(u32, u64)>,
}

/// Runs a launch in the interpreter, times it on a device and reports. `memory` holds the kernel's
/// results afterwards.
pub fn simulate(
    profile: &Profile,
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    options: &Options,
) -> Result<(Report, Stats), ReplayError> {
    let program = kernel.program();
    let registers = registers::of_launch(profile, program, params.block, options.registers);
    let count = registers.0;
    let replayed = replay(profile, kernel, memory, params, count, options.config)?;
    let report = build(&Inputs {
        profile,
        program,
        code: &replayed.code,
        outcome: &replayed.outcome,
        needs: &needs(program, params, count),
        grid: params.grid,
        block: params.block,
        dynamic_shared: params.shared_bytes,
        registers: Some(registers),
        branches: &replayed.branches,
        samples: &replayed.samples,
        path: replayed.path.as_ref(),
        accesses: &options.accesses,
    });
    Ok((report, replayed.stats))
}

fn needs(program: &Program, params: &LaunchParams, registers: u32) -> BlockNeeds {
    BlockNeeds {
        threads: params.block.iter().product(),
        registers,
        shared: program.shared_bytes + params.shared_bytes,
        arguments: program.param_bytes,
    }
}

/// Runs a launch in the interpreter and simulates it at the same time. The whole grid is executed,
/// so `memory` holds the kernel's results afterwards, however much of it is simulated.
pub fn replay(
    profile: &Profile,
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    registers_per_thread: u32,
    config: Config,
) -> Result<Replay, ReplayError> {
    let program = kernel.program();
    let code = registers::code_of_launch(profile, program, params.block);
    let threads: u32 = params.block.iter().product();
    let blocks: u64 = params.grid.iter().map(|n| u64::from(*n)).product();
    let needs = needs(program, params, registers_per_thread);
    // One host thread keeps the blocks in order.
    let params = LaunchParams { threads: 1, schedule: None, ..params.clone() };
    let grid = params.grid;
    // By position in the decoded stream: what a warp does there.
    let step = |pc: u32| kernel.origin(pc).and_then(|(function, index)| code.step(function, index));
    let steps: Vec<Option<Step>> = (0..kernel.decoded_len() as u32).map(step).collect();
    let interpret = |giver: Giver| {
        let make = || Recorder {
            code: &code,
            steps: &steps,
            grid,
            threads,
            giver: giver.clone(),
            work: Work::new(blocks),
            executed: 0,
            open: Vec::new(),
            at: 0,
            last: None,
            pieces: Vec::new(),
            words: Words::new(),
            lengths: Vec::new(),
            spare: Vec::new(),
            printed: 0,
            branches: vec![BranchInfo::default(); code.code.instructions.len()],
            samples: Samples::new(code.code.instructions.len()),
            path: config
                .warp
                .filter(|w| w.block < blocks && w.warp < threads.div_ceil(32))
                .map(Path::new),
        };
        let (result, recorders) = launch_observed(kernel, memory, &params, &make);
        result.map(|stats| (stats, recorders))
    };
    let simulate = |mut source: Taker| sim::run(profile, &code.code, &needs, &mut source, config);
    let (outcome, run) = std::thread::scope(|scope| {
        let (giver, taker) = handover(blocks, true);
        let interpreter =
            Builder::new().name("interpreter".into()).spawn_scoped(scope, || interpret(giver));
        match interpreter {
            // The taker ends with the simulation: the interpreter goes on without a listener.
            Ok(interpreter) => (simulate(taker), interpreter.join()),
            // The host has no thread left: one after the other, with all blocks in memory between them.
            Err(_) => {
                let (giver, taker) = handover(blocks, false);
                let run = interpret(giver);
                (simulate(taker), Ok(run))
            }
        }
    });
    let (stats, recorders) = match run {
        Ok(result) => result?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let recorded = recorders.into_iter().next().map(|r| (r.branches, r.samples, r.path));
    let (branches, samples, path) = recorded.unwrap_or_default();
    let mut outcome = outcome?;
    code.gather(&mut outcome.per_pc);
    Ok(Replay { outcome, stats, code, branches, samples, path })
}

/// The interpreter's end.
struct Recorder<'a> {
    code: &'a KernelCode,
    steps: &'a [Option<Step>],
    grid: [u32; 3],
    threads: u32,
    giver: Giver,
    /// What the blocks have to do, and the instructions that were executed when the last one ended.
    work: Work,
    executed: u64,
    /// Blocks under way: one, but for clusters and blocks that wait for another.
    open: Vec<([u32; 3], Recording)>,
    /// The one that issued last.
    at: usize,
    /// Block, warp and instruction issued last, for the accesses that follow.
    last: Option<([u32; 3], u32, u32)>,
    /// Accesses of its lanes that have not become those of a warp.
    pieces: Vec<Pieces>,
    /// Words of a matrix among these.
    words: Words,
    /// Events and accesses of the warps of the block that ended last: others have about as many.
    lengths: Vec<(usize, usize)>,
    /// Empty traces that blocks were recorded in.
    spare: Vec<BlockTrace>,
    /// Bytes that kernels have printed.
    printed: u64,
    branches: Vec<BranchInfo>,
    samples: Samples,
    /// The warp that is followed.
    path: Option<Path>,
}

/// Bytes of a block's trace up to which it is copied to where it takes no more memory than it has to.
const COPIED_BYTES: u64 = 1 << 20;

/// A block under way.
#[derive(Default)]
struct Recording {
    trace: BlockTrace,
    /// Per warp: lanes that have not exited, and those that have arrived at a barrier.
    live: Vec<u32>,
    arrived: Vec<u32>,
    /// Per warp: the second side of an if that issues without effect when the first has ended.
    second: Vec<Option<(u32, u32)>>,
    /// Per warp: the instruction issued last, whose results go to local memory.
    unstored: Vec<Option<u32>>,
}

impl Recording {
    /// The loads before an instruction of a warp, or the stores behind it, of values that have no
    /// register.
    fn spill(&mut self, code: &KernelCode, warp: usize, pc: u32, behind: bool) {
        let BlockTrace { warps, patterns } = &mut self.trace;
        let (Some(trace), Some(&lanes)) = (warps.get_mut(warp), self.live.get(warp)) else {
            return;
        };
        for (pc, (words, slot)) in code.spills_of(pc, behind) {
            let width = words * 4;
            let addresses =
                std::array::from_fn(|lane| u64::from(slot) * 128 + lane as u64 * u64::from(width));
            trace.events.push(Event { pc, active: lanes, detail: Detail::None });
            let access = WarpAccess { mask: lanes, width, addresses };
            trace.add_access(patterns, &access, Space::Local, Differs::default());
        }
    }
}

impl Recorder<'_> {
    /// A branch that the assembler removed: what its warp does not go through issues without effect.
    fn skip(&mut self, moment: &Moment<'_>, active: u32, predicated: Predicated) {
        let Some(recording) = find(&mut self.open, &mut self.at, moment.block()) else { return };
        let warp = moment.warp() as usize;
        let (Some(trace), Some(second)) =
            (recording.trace.warps.get_mut(warp), recording.second.get_mut(warp))
        else {
            return;
        };
        let (all, none) = (active == moment.lanes(), active == 0);
        let idle = match predicated {
            Predicated::Around(first, end) if all => Some((first, end)),
            Predicated::To(first, end) if none => Some((first, end)),
            Predicated::Else { first, .. } if all => Some(first),
            Predicated::Then { first, .. } if none => Some(first),
            Predicated::Else { second: range, .. } => {
                *second = none.then_some(range);
                None
            }
            Predicated::Then { second: range, .. } => {
                *second = all.then_some(range);
                None
            }
            Predicated::EndOfFirst => second.take(),
            Predicated::Around(..) | Predicated::To(..) => None,
        };
        let Some((first, end)) = idle else { return };
        for index in first..end {
            if let Some(pc) = self.code.pc(moment.function(), index) {
                trace.events.push(Event { pc, active: 0, detail: Detail::None });
            }
        }
    }
}

impl Recorder<'_> {
    fn issue(&mut self, moment: &Moment<'_>, active: u32) {
        self.finish_pieces();
        self.last = None;
        let steps = self.steps;
        let Some(Some(step)) = steps.get(moment.pc() as usize) else { return };
        self.follow(moment, step.does);
        if let Does::Predicated(predicated) = step.does {
            self.skip(moment, active, predicated);
            return;
        }
        let block = moment.block();
        let Some(recording) = find(&mut self.open, &mut self.at, block) else { return };
        let warp = moment.warp() as usize;
        if self.code.spills() {
            if let Some(before) = recording.unstored.get_mut(warp).and_then(Option::take) {
                recording.spill(self.code, warp, before, true);
            }
            if let Some(pc) = step.pc {
                recording.spill(self.code, warp, pc, false);
                recording.unstored[warp] = Some(pc);
            }
        }
        let Recording { trace, live, arrived, .. } = recording;
        let (Some(trace), Some(live), Some(arrived)) =
            (trace.warps.get_mut(warp), live.get_mut(warp), arrived.get_mut(warp))
        else {
            return;
        };
        if let Does::Exit = step.does {
            *live &= !active;
        }
        let Some(pc) = step.pc else { return };
        let mut event = Event { pc, active, detail: Detail::None };
        match step.does {
            Does::Plain | Does::Exit | Does::Predicated(_) => {}
            // Diverged lanes of a warp arrive one after another; the warp does with the last.
            Does::Barrier(barrier) => {
                *arrived |= active;
                if *arrived & *live == *live {
                    *arrived = 0;
                    event.detail = barrier;
                }
            }
            Does::Values(kind, register) => {
                event.detail = Detail::Values(distinct(moment, (kind, register), active));
            }
            Does::Looks(looks) => {
                event.detail = looks.path(moment, active).map_or(Detail::None, Detail::Path);
            }
            // Of a branch all lanes take part, whichever way they go.
            Does::Branch { guarded } => {
                event.active = moment.lanes();
                if guarded {
                    let branch = &mut self.branches[pc as usize];
                    branch.executed += 1;
                    if active != 0 && active != moment.lanes() {
                        branch.divergent += 1;
                        let others = moment.lanes() & !active;
                        let arrives = self.code.code.instructions[pc as usize].arrives;
                        let alone = arrives.alone(active.count_ones(), others.count_ones());
                        event.detail = Detail::Diverges { alone };
                    }
                }
            }
        }
        // What waits for other warps is tried until they are there: it issues once.
        let waited = Event { detail: Detail::None, ..event };
        if matches!(step.does, Does::Plain) && trace.events.last() == Some(&waited) {
            trace.events.pop();
        }
        trace.events.push(event);
        self.last = Some((block, moment.warp(), pc));
    }

    /// Notes an instruction of the warp that is followed.
    fn follow(&mut self, moment: &Moment<'_>, does: Does) {
        if !self.follows(moment.block(), moment.warp()) {
            return;
        }
        let Some(path) = &mut self.path else { return };
        let parts = match does {
            Does::Plain
            | Does::Barrier(_)
            | Does::Values(..)
            | Does::Looks(_)
            | Does::Branch { guarded: false } => Parts::Not,
            Does::Exit => Parts::Ends,
            Does::Branch { guarded: true } => Parts::Branches,
            Does::Predicated(_) => Parts::Predicates,
        };
        path.step(moment, parts);
    }

    /// Whether a warp is the one that is followed.
    fn follows(&self, block: [u32; 3], warp: u32) -> bool {
        let path = self.path.as_ref().filter(|path| path.warp.warp == warp);
        path.is_some_and(|path| path.warp.block == self.number(block))
    }

    fn copies(&mut self, group: AsyncGroup) {
        let Some((block, warp, _)) = self.last else { return };
        let Some(recording) = find(&mut self.open, &mut self.at, block) else { return };
        let Some(trace) = recording.trace.warps.get_mut(warp as usize) else { return };
        let Some(event) = trace.events.last_mut() else { return };
        let what = match group.what {
            AsyncGroupOp::Commit => CopyGroup::Commit,
            AsyncGroupOp::Wait { pending, .. } => {
                CopyGroup::Wait(u16::try_from(pending).unwrap_or(u16::MAX))
            }
            AsyncGroupOp::WaitAll => CopyGroup::WaitAll,
        };
        event.detail = match group.of {
            AsyncWork::Copies | AsyncWork::BulkCopies => Detail::Copies(what),
            AsyncWork::MatrixProducts => Detail::Products(what),
        };
    }

    /// The number of a block in the grid.
    fn number(&self, block: [u32; 3]) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        let [bx, by, bz] = block.map(u64::from);
        bx + x * (by + y * bz)
    }

    fn block_starts(&mut self, block: [u32; 3]) {
        let number = self.number(block);
        let wanted = self.giver.wants(number, !self.open.is_empty());
        // The simulator drops the trace of a block that only has the warp that is followed.
        if !wanted && self.path.as_ref().is_none_or(|path| path.warp.block != number) {
            return;
        }
        let warps = self.threads.div_ceil(32);
        let live = (0..warps)
            .map(|w| match self.threads - w * 32 {
                n @ 0..32 => (1 << n) - 1,
                _ => u32::MAX,
            })
            .collect();
        let trace = self.spare.pop().unwrap_or_else(|| {
            let length = |w: usize| self.lengths.get(w).copied().unwrap_or_default();
            BlockTrace::new((0..warps as usize).map(length).map(WarpTrace::with_capacity).collect())
        });
        self.open.push((
            block,
            Recording {
                trace,
                live,
                arrived: vec![0; warps as usize],
                second: vec![None; warps as usize],
                unstored: vec![None; warps as usize],
            },
        ));
    }

    fn block_ends(&mut self, block: [u32; 3], executed: u64) {
        self.work.add(self.number(block), executed - self.executed);
        self.executed = executed;
        self.finish_pieces();
        let Some(at) = self.open.iter().position(|o| o.0 == block) else { return };
        let (_, recording) = self.open.swap_remove(at);
        let mut trace = recording.trace;
        self.code.repeat(&mut trace);
        self.lengths.clear();
        self.lengths.extend(trace.warps.iter().map(|w| (w.events.len(), w.accesses.len())));
        let number = self.number(block);
        // What is long is not worth a copy.
        if trace.bytes() > COPIED_BYTES {
            trace.finish();
            self.giver.give(number, trace);
        } else {
            self.giver.give(number, trace.take());
            self.spare.push(trace);
        }
    }
}

impl Observer for Recorder<'_> {
    const EVENTS: EventSet = EventSet::ISSUE
        .and(EventSet::ACCESS)
        .and(EventSet::SYNC)
        .and(EventSet::PRINT)
        .and(EventSet::BLOCK);

    // Where no block is recorded, the interpreter is nearly as fast as alone.
    #[inline(always)]
    fn wants_issue(&mut self, _pc: u32) -> bool {
        !self.open.is_empty()
    }

    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        !self.open.is_empty()
    }

    fn block(&mut self, event: BlockEvent<'_>) {
        match event {
            BlockEvent::Starts { block } => self.block_starts(block),
            BlockEvent::Ends { block, steps } => self.block_ends(block, steps),
            BlockEvent::LaunchEnds => self.giver.end(self.work.clone()),
            BlockEvent::LaunchStarts { .. } | BlockEvent::Faults { .. } => {}
        }
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        match event {
            WarpEvent::Issue { active } => self.issue(moment, active),
            WarpEvent::Access(access) => self.access(access),
            WarpEvent::AsyncGroup(group) => self.copies(group),
            WarpEvent::Print { text, .. } => self.print(text.len() as u64),
            // What these cost is in the instruction's class.
            WarpEvent::BarrierArrive { .. }
            | WarpEvent::BarrierComplete { .. }
            | WarpEvent::Fence(_)
            | WarpEvent::WarpSync { .. }
            | WarpEvent::Mbarrier(_)
            | WarpEvent::Malloc { .. }
            | WarpEvent::Free { .. }
            | WarpEvent::Exit { .. } => {}
        }
        ControlFlow::Continue(())
    }
}

/// A block under way; mostly the one that was asked for last.
fn find<'a>(
    open: &'a mut [([u32; 3], Recording)],
    at: &mut usize,
    block: [u32; 3],
) -> Option<&'a mut Recording> {
    if open.get(*at).is_none_or(|o| o.0 != block) {
        *at = open.iter().position(|o| o.0 == block)?;
    }
    open.get_mut(*at).map(|o| &mut o.1)
}
