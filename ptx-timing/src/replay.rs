//! Runs a kernel in the interpreter and replays what it did on a device.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use ptx_interp::observer::{Issue, MemoryAccess, Observer};
use ptx_interp::{Kernel, LaunchError, LaunchParams, Memory, Stats, launch_observed};
use ptx_isa::effect::{Effect, window};
use ptx_isa::types::Space as IsaSpace;
use ptx_parse::code::{Flow, Program};
use thiserror::Error;

use crate::access::WarpAccess;
use crate::code::{KernelCode, space_of};
use crate::event::{BlockSource, BlockTrace, Detail, Event, Space, WarpTrace};
use crate::occupancy::BlockNeeds;
use crate::profile::Profile;
use crate::registers;
use crate::report::{BranchInfo, Inputs, Report, Samples, build};
use crate::sim::{self, Config, Outcome, SimulateError};

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
}

/// What to simulate, and how.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Registers of a thread; otherwise what the module's directives or an estimate say.
    pub registers: Option<u32>,
    /// How much of the grid to simulate.
    pub config: Config,
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

/// Blocks that wait between interpreter and simulator.
const QUEUE: usize = 64;

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
    let code = KernelCode::new(program, &profile.assembler);
    let threads: u32 = params.block.iter().product();
    let blocks: u64 = params.grid.iter().map(|n| u64::from(*n)).product();
    let needs = needs(program, params, registers_per_thread);
    // One host thread keeps the blocks in order.
    let params = LaunchParams { threads: 1, ..params.clone() };
    let (sender, receiver) = sync_channel(QUEUE);
    let (outcome, run) = std::thread::scope(|scope| {
        let code = &code;
        let grid = params.grid;
        let params = &params;
        let interpreter = scope.spawn(move || {
            let make = || Recorder {
                code,
                grid,
                threads,
                sender: Some(sender.clone()),
                open: Vec::new(),
                at: 0,
                last: None,
                branches: vec![BranchInfo::default(); code.code.instructions.len()],
                samples: Samples::new(code.code.instructions.len()),
            };
            launch_observed(kernel, memory, params, &make)
        });
        let mut source = Channel { receiver, blocks, early: BTreeMap::new() };
        let outcome = sim::run(profile, &code.code, &needs, &mut source, config);
        // The interpreter goes on without a listener.
        drop(source);
        (outcome, interpreter.join())
    });
    let (stats, recorders) = match run {
        Ok(result) => result?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let (branches, samples) =
        recorders.into_iter().next().map(|r| (r.branches, r.samples)).unwrap_or_default();
    Ok(Replay { outcome: outcome?, stats, code, branches, samples })
}

/// The interpreter's end.
struct Recorder<'a> {
    code: &'a KernelCode,
    grid: [u32; 3],
    threads: u32,
    sender: Option<SyncSender<(u64, BlockTrace)>>,
    /// Blocks under way: one, but for clusters and blocks that wait for another.
    open: Vec<([u32; 3], Recording)>,
    /// The one that issued last.
    at: usize,
    /// Block, warp and instruction issued last, for the access that follows.
    last: Option<([u32; 3], u32, u32)>,
    branches: Vec<BranchInfo>,
    samples: Samples,
}

/// A block under way.
#[derive(Default)]
struct Recording {
    trace: BlockTrace,
    /// Per warp: lanes that have not exited, and those that have arrived at a barrier.
    live: Vec<u32>,
    arrived: Vec<u32>,
}

impl Recorder<'_> {
    /// A branch around a block that the assembler executes under the branch's predicate: if all
    /// lanes take it, the block's instructions issue without effect.
    fn skip(&mut self, issue: &Issue<'_>, first: u32, last: u32) {
        if issue.active != issue.lanes {
            return;
        }
        let Some(recording) = find(&mut self.open, &mut self.at, issue.block) else { return };
        let Some(trace) = recording.trace.warps.get_mut(issue.warp as usize) else { return };
        for index in first..last {
            if let Some(pc) = self.code.pc(issue.function, index) {
                trace.events.push(Event { pc, active: 0, detail: Detail::None });
            }
        }
    }
}

impl Observer for Recorder<'_> {
    fn block_starts(&mut self, block: [u32; 3]) {
        if self.sender.is_none() {
            return;
        }
        let warps = self.threads.div_ceil(32);
        let live = (0..warps)
            .map(|w| match self.threads - w * 32 {
                n @ 0..32 => (1 << n) - 1,
                _ => u32::MAX,
            })
            .collect();
        let trace = BlockTrace::new(vec![WarpTrace::default(); warps as usize]);
        self.open.push((block, Recording { trace, live, arrived: vec![0; warps as usize] }));
    }

    fn issue(&mut self, issue: &Issue<'_>) {
        self.last = None;
        let Some(recording) = find(&mut self.open, &mut self.at, issue.block) else { return };
        let warp = issue.warp as usize;
        let leaves = match issue.inst.flow {
            Flow::Exit => true,
            Flow::Ret => issue.function == 0,
            _ => false,
        };
        let Some(live) = recording.live.get_mut(warp) else { return };
        if leaves {
            *live &= !issue.active;
        }
        if let Some((first, last)) = self.code.skipped(issue.function, issue.index) {
            self.skip(issue, first, last);
            return;
        }
        let Some(pc) = self.code.pc(issue.function, issue.index) else { return };
        let detail = match self.code.barrier(pc) {
            // Diverged lanes of a warp arrive one after another; the warp does with the last.
            Some(barrier) => {
                let arrived = &mut recording.arrived[warp];
                *arrived |= issue.active;
                if *arrived & *live == *live {
                    *arrived = 0;
                    barrier
                } else {
                    Detail::None
                }
            }
            None => Detail::None,
        };
        let Some(trace) = recording.trace.warps.get_mut(warp) else { return };
        if issue.inst.guard.is_some() && matches!(issue.inst.flow, Flow::Bra(_)) {
            let branch = &mut self.branches[pc as usize];
            branch.executed += 1;
            branch.divergent += u64::from(issue.active != 0 && issue.active != issue.lanes);
        }
        // Of a branch all lanes take part, whichever way they go.
        let branch = matches!(issue.inst.flow, Flow::Bra(_));
        let active = if branch { issue.lanes } else { issue.active };
        trace.events.push(Event { pc, active, detail });
        self.last = Some((issue.block, issue.warp, pc));
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        let Some((block, warp, pc)) = self.last else { return };
        let Some(recording) = find(&mut self.open, &mut self.at, block) else { return };
        let BlockTrace { warps, patterns } = &mut recording.trace;
        let Some(trace) = warps.get_mut(warp as usize) else { return };
        let (place, width) = match access.effect {
            Effect::Ld(m) | Effect::St(m) => (m.place, u32::from(m.bytes) * u32::from(m.count)),
            Effect::Atom(a) => (a.place, u32::from(a.bytes)),
            _ => return,
        };
        let Some(mut space) = space_of(place.space) else { return };
        let mut addresses = *access.addresses;
        if place.space == IsaSpace::Generic {
            let first = addresses[access.lanes.trailing_zeros() as usize % 32];
            let inside = |start: u64, size: u64| (start..start + size).contains(&first);
            let base = match () {
                () if inside(window::SHARED, window::SHARED_SIZE) => {
                    space = Space::Shared;
                    window::SHARED
                }
                () if inside(window::LOCAL, window::LOCAL_SIZE) => {
                    space = Space::Local;
                    window::LOCAL
                }
                () if inside(window::PARAM, window::PARAM_SIZE) => {
                    space = Space::Const;
                    window::PARAM
                }
                () => 0,
            };
            addresses = addresses.map(|a| a.wrapping_sub(base));
        }
        if space == Space::Local {
            // The hardware interleaves local memory by lane, word by word.
            for (lane, address) in addresses.iter_mut().enumerate() {
                let word = (*address / 4).wrapping_mul(32).wrapping_add(lane as u64);
                *address = LOCAL_BASE + u64::from(warp) * LOCAL_PER_WARP + word * 4 + *address % 4;
            }
        }
        let instruction = &self.code.code.instructions[pc as usize];
        let mut lanes = WarpAccess { mask: access.lanes, width, addresses };
        if instruction.merged > 1 {
            lanes.width *= instruction.merged;
            let from = instruction.merged_from;
            lanes.addresses = lanes.addresses.map(|a| a.wrapping_add_signed(-from));
        }
        if instruction.one_lane {
            lanes.mask &= lanes.mask.wrapping_neg();
        }
        if block == [0; 3] {
            self.samples.add(pc, space, &lanes);
        }
        let detail = Detail::Memory { space, access: trace.add_access(pc, &lanes, patterns) };
        // An instruction with several accesses (a matrix load, a copy) is several events.
        let Some(event) = trace.events.last_mut() else { return };
        if event.detail == Detail::None {
            event.detail = detail;
        } else {
            let again = Event { detail, ..*event };
            trace.events.push(again);
        }
    }

    fn block_ends(&mut self, block: [u32; 3]) {
        let Some(at) = self.open.iter().position(|o| o.0 == block) else { return };
        let (_, recording) = self.open.swap_remove(at);
        let mut trace = recording.trace;
        trace.finish();
        let [x, y, _] = self.grid.map(u64::from);
        let [bx, by, bz] = block.map(u64::from);
        let index = bx + x * (by + y * bz);
        if self.sender.as_ref().is_some_and(|s| s.send((index, trace)).is_err()) {
            // Nobody simulates any further.
            self.sender = None;
            self.open.clear();
        }
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

/// Where local memory lies for the caches: far from every allocation.
const LOCAL_BASE: u64 = 1 << 60;
/// Distance between the local memories of two warps.
const LOCAL_PER_WARP: u64 = 1 << 25;

/// The simulator's end.
struct Channel {
    receiver: Receiver<(u64, BlockTrace)>,
    blocks: u64,
    early: BTreeMap<u64, BlockTrace>,
}

impl BlockSource for Channel {
    type Error = &'static str;

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn trace(&mut self, block: u64) -> Result<BlockTrace, Self::Error> {
        if let Some(trace) = self.early.remove(&block) {
            return Ok(trace);
        }
        loop {
            let (index, trace) =
                self.receiver.recv().map_err(|_| "the interpreter stopped before it")?;
            if index == block {
                return Ok(trace);
            }
            self.early.insert(index, trace);
        }
    }
}
