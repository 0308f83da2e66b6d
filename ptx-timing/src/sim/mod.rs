//! The pipeline: replays a kernel's events on the SMs of a device and says how long they take.
//!
//! Event-driven: when an instruction issues, the times at which its results and its pipe become
//! free are known at once, so the simulator jumps from issue to issue. SMs advance in global time
//! order, which keeps the queues of L2 and device memory honest. There is no randomness: the same
//! input gives the same report.

mod access;
pub(crate) mod activity;
mod asked;
mod chip;
mod distributor;
mod error;
mod known_waits;
mod lines;
mod memory;
mod operands;
mod pace;
mod pipes;
mod plan;
mod port;
#[cfg(test)]
mod random;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod shape;
mod slots;
mod sm;
mod strata;
mod time;
mod units;
mod waiting;
mod warp;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::rc::Rc;

pub use error::SimulateError;
pub use record::{Recording, WarpChoice};
pub use report::{Bound, CacheUse, Outcome, PcCounts, Sampling, Schedulers, Stall};

use crate::event::{BlockSource, Code};
use crate::occupancy::{BlockNeeds, Occupancy, l1_bytes, occupancy};
use crate::profile::Profile;
use crate::schedule::Schedule;
use activity::Mark;
use chip::Chip;
use distributor::Distributor;
use memory::Memory;
use operands::OperandPorts;
use pipes::Wanting;
use plan::{Further, Registers};
use sm::Sm;
use time::FRACTION;
use warp::first_bad_event;

/// How much of the grid to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// Simulate so many blocks, taken from the whole grid, and extrapolate; `None` = all. At least three
    /// times as many as all SMs hold at once are simulated.
    pub max_blocks: Option<u64>,
    /// Simulate blocks with about so many warp instructions together, but at least as many blocks as all SMs hold at
    /// once, and twice as many where the first ones have fewer instructions than that.
    pub max_instructions: Option<u64>,
    /// Record what the warps of an SM do in the first so many clocks.
    pub timeline: Option<(u32, u64)>,
    /// Follow a warp from its start to its end.
    pub warp: Option<WarpChoice>,
}

impl Config {
    /// Warp instructions that take some seconds.
    pub const SOME_SECONDS: u64 = 20_000_000;
}

/// Simulates one launch of a kernel from its blocks' traces.
pub fn run<S>(
    profile: &Profile,
    code: &Code,
    needs: &BlockNeeds,
    source: &mut S,
    config: Config,
) -> Result<Outcome, SimulateError>
where
    S: BlockSource,
    S::Error: std::fmt::Display,
{
    let occupancy = occupancy(profile, needs)?;
    let (mut plans, pipes, registers) = plan::plan(profile, code)?;
    let schedule = Schedule::new(profile, code, needs.registers);
    for (pc, waits) in &schedule.waits {
        plans[*pc as usize].waits = waits.clone();
    }
    known_waits::put(profile, code, &schedule, registers, &mut plans);
    let registers = Registers::renumber(code, &mut plans);
    let registers_per_warp = registers.guards.len();
    let blocks = source.blocks();
    let resident = u64::from(occupancy.blocks) * u64::from(profile.device.multiprocessors);
    // SMs that get no block need not exist.
    let sms = blocks.min(profile.device.multiprocessors.into()) as u32;
    let mut strata = strata::Strata::new(resident.min(blocks));
    let most = match config {
        Config { max_blocks: Some(most), .. } => Some(most.max(3 * resident) - resident),
        Config { max_instructions: None, .. } => Some(u64::MAX),
        // How many these are is known when the first ones are.
        Config { max_instructions: Some(_), .. } => None,
    };
    most.into_iter().for_each(|most| strata.add(blocks, most));
    source.want(&strata.simulated(0), most.is_some());
    let mut chip = Chip {
        profile,
        code,
        plans: &plans,
        pipes: &pipes,
        wanting: Wanting::new(&pipes, &profile.issue),
        registers,
        further: Further::new(profile),
        operand_ports: OperandPorts::new(profile.issue.operand_words, &plans),
        memory: Memory::new(profile, sms, l1_bytes(profile, needs, &occupancy)),
        shapes: Rc::default(),
        distributor: Distributor::new(sms),
        per_pc: Vec::new(),
        last_end: 0,
        noticed: 0,
        slots: 0,
        recording: Recording::of(config.timeline, config.warp),
    };
    let mut grid = Grid {
        schedule,
        sms: (0..sms as usize)
            .map(|index| Sm::new(profile, &pipes, registers_per_warp, index))
            .collect(),
        strata,
        samples: config.max_blocks.or(config.max_instructions).is_some(),
        emptying: false,
        idle_from: u64::MAX,
        traced: 0,
        warps_per_block: occupancy.warps_per_block,
        replacement: profile.launch.replacement(occupancy.warps_per_block),
        observed: strata::Observed {
            start: profile.launch.cold_cycles.into(),
            turnaround: f64::from(profile.launch.turnaround(occupancy.warps_per_block)),
            ..Default::default()
        },
    };
    // One block per SM first, then a second one each, as the hardware does.
    for _ in 0..occupancy.blocks {
        for sm in 0..sms as usize {
            grid.start(sm, None, source, &mut chip)?;
        }
    }
    if let Some(budget) = config.max_instructions.filter(|_| most.is_none()) {
        // As many more as the budget allows, if they are like the first, but twice as many as fill the device unless
        // the first ones alone are too many.
        let known = grid.strata.list.len();
        let each = (grid.traced / grid.strata.taken().max(1)).max(1);
        let more = budget.saturating_sub(grid.traced) / each;
        grid.strata.add(blocks, if grid.traced < budget { more.max(resident) } else { 0 });
        source.want(&grid.strata.simulated(known), true);
    }
    grid.run(source, &mut chip)?;
    let sampled = grid.strata.taken() < blocks;
    grid.strata.work = if sampled { source.work() } else { None };
    Ok(finish(chip, grid, occupancy, blocks, resident))
}

/// Clocks that an SM runs on alone before the others catch up. Short against the latency of everything that SMs share,
/// long enough for the host's caches. What they share has no earlier time than the middle of the slice, so that who is
/// ahead keeps nobody who asks for something earlier.
const TIME_SLICE: u64 = 128;

struct Grid {
    schedule: Schedule,
    sms: Vec<Sm>,
    strata: strata::Strata,
    /// Whether there is a limit at all.
    samples: bool,
    /// Whether a block has ended behind which none came.
    emptying: bool,
    /// When the first SM had no block left.
    idle_from: u64,
    /// Instructions of the blocks so far.
    traced: u64,
    warps_per_block: u32,
    /// Clocks between two replacements of blocks on one SM.
    replacement: u32,
    observed: strata::Observed,
}

impl Grid {
    /// Starts the next block of the grid on an SM, if there is one: at the kernel's start, or in the
    /// place of a block that ended at a clock and had so many issue slots (`freed`).
    fn start<S>(
        &mut self,
        sm: usize,
        freed: Option<(u64, u64)>,
        source: &mut S,
        chip: &mut Chip<'_>,
    ) -> Result<(), SimulateError>
    where
        S: BlockSource,
        S::Error: std::fmt::Display,
    {
        let refill = |chip: &Chip<'_>, started| {
            freed.map(|(at, ended)| strata::Refill { at, slots: chip.slots, ended, started })
        };
        let Some((block, stratum)) = self.strata.next() else {
            if let Some((ended, _)) = freed {
                if self.sms[sm].resident_blocks() == 0 {
                    self.idle_from = self.idle_from.min(ended);
                }
                chip.noticed = chip.noticed.max(chip.distributor.start(ended, self.replacement));
            }
            if self.samples && !std::mem::replace(&mut self.emptying, true) {
                self.observed.refills.extend(refill(chip, 0));
            }
            return Ok(());
        };
        let mut trace = source
            .trace(block)
            .map_err(|e| SimulateError::Source { block, message: e.to_string() })?;
        if trace.warps.len() != self.warps_per_block as usize {
            let (found, expected) = (trace.warps.len(), self.warps_per_block);
            return Err(SimulateError::WrongWarpCount { block, found, expected });
        }
        if let Some((warp, event)) = first_bad_event(&trace, chip.plans.len()) {
            return Err(SimulateError::BadEvent { block, warp, pc: event.pc });
        }
        for warp in &mut trace.warps {
            self.schedule.apply(&mut warp.events);
        }
        self.traced += trace.warps.iter().map(|w| w.events.len() as u64).sum::<u64>();
        let mut work = 0;
        if self.samples {
            let slots = |e: &crate::event::Event| chip.plans[e.pc as usize].cost(e.detail).slots;
            work = trace.warps.iter().flat_map(|w| &w.events).map(slots).sum();
            self.observed.work.push((stratum, work as f64));
            self.observed.refills.extend(refill(chip, work));
        }
        let counted = (stratum + 1) * chip.plans.len();
        if chip.per_pc.len() < counted {
            chip.per_pc.resize(counted, PcCounts::default());
        }
        self.sms[sm].start_block(freed.map(|f| f.0), (block, stratum, work), trace, chip);
        Ok(())
    }

    fn run<S>(&mut self, source: &mut S, chip: &mut Chip<'_>) -> Result<(), SimulateError>
    where
        S: BlockSource,
        S::Error: std::fmt::Display,
    {
        let mut queue: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for (index, sm) in self.sms.iter_mut().enumerate() {
            queue.extend(sm.next_time().map(|t| Reverse((t, index))));
        }
        while let Some(mut first) = queue.peek_mut() {
            let Reverse((start, index)) = *first;
            let slice_end = (start / TIME_SLICE + 1) * TIME_SLICE;
            let all_at = slice_end - TIME_SLICE;
            chip.memory.all_at(all_at + TIME_SLICE / 2);
            chip.distributor.all_at = all_at;
            self.observed.progress.note(start, || mark(start, &self.sms, chip));
            self.sms[index].warm(slice_end, &chip.memory);
            let mut time = Some(start);
            while let Some(now) = time.filter(|t| *t < slice_end) {
                let outcome = self.sms[index].step(now, chip);
                for ended in outcome.finished {
                    self.start(index, Some(ended), source, chip)?;
                }
                time = self.sms[index].next_time();
            }
            match time {
                Some(next) => *first = Reverse((next, index)),
                None if self.sms[index].resident_blocks() > 0 => {
                    let waiting = self.sms[index].waiting_at();
                    let (barrier, arrived, expected) = waiting.first().copied().unwrap_or_default();
                    return Err(SimulateError::Deadlock { sm: index, barrier, arrived, expected });
                }
                None => {
                    PeekMut::pop(first);
                }
            }
        }
        Ok(())
    }
}

/// What the device has done by a clock.
fn mark(clock: u64, sms: &[Sm], chip: &Chip<'_>) -> Mark {
    let (read, written) = chip.memory.dram_bytes();
    let blocks = sms.iter().map(|sm| u64::from(sm.resident_blocks())).sum();
    Mark { clock, slots: chip.slots, dram: read + written, blocks }
}

fn finish(
    mut chip: Chip<'_>,
    grid: Grid,
    occupancy: Occupancy,
    blocks: u64,
    resident: u64,
) -> Outcome {
    let profile = chip.profile;
    // A kernel ends when its stores have arrived.
    let simulated_cycles = chip.last_end.max(chip.memory.drained_at());
    let simulated = grid.strata.taken();
    // The others go on at the pace of those that were simulated while the device was full, but SMs need
    // their time to take new ones.
    let gap = profile.launch.replacement(occupancy.warps_per_block);
    let others = strata::rest(&grid.strata, &grid.observed);
    let missing = others.blocks as f64;
    let rest =
        others.clocks.max(missing * f64::from(gap) / f64::from(profile.device.multiprocessors));
    // Nor less than what they all share needs to serve them, stores that nobody waits for included.
    let (per_pc, growth) = whole_grid(&grid.strata, chip.plans.len(), &chip.per_pc);
    let reachable = profile.dram_bytes_per_cycle() * profile.dram.efficiency;
    let (read, written) = chip.memory.dram_bytes();
    let shared = chip.memory.l2_busy().max((read + written) as f64 / reachable);
    let rest = rest.max(shared * (growth - 1.0));
    let more = rest.round() as u64;
    let cycles = simulated_cycles + more;
    let idle = simulated_cycles.saturating_sub(grid.idle_from) as f64;
    // SMs do nothing while the device notices that their last blocks ended.
    let elapsed_cycles =
        cycles.max(chip.noticed + more) + u64::from(profile.launch.overhead_cycles);

    let mut total = PcCounts::default();
    for counts in &per_pc {
        total.add(counts);
    }
    let warp_clocks: u64 = grid.sms.iter().map(|s| s.warp_clocks).sum();
    let active_clocks: u64 = grid.sms.iter().map(|s| s.last_end).sum();
    let sm_clocks: u64 = grid.sms.iter().map(Sm::active_clocks).sum();
    let l2_busy = chip.memory.l2_busy();
    let caches = chip.memory.cache_counts().map(|counts| counts.scaled(growth));
    let [dram_read, dram_written] = [read, written].map(|n| (n as f64 * growth) as u64);
    let clocks = simulated_cycles.max(1) as f64;
    let sms = f64::from(profile.device.multiprocessors);
    let schedulers = f64::from(profile.issue.schedulers);
    let pipe_use: Vec<(String, f64)> = chip
        .pipes
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let busy: u64 = grid.sms.iter().map(|s| s.pipes.busy(i)).sum();
            let units = if chip.pipes.per_scheduler[i] { schedulers } else { 1.0 };
            (name.clone(), (busy as f64 / FRACTION as f64 / (clocks * sms * units)).min(1.0))
        })
        .collect();
    let dram_use = chip.memory.dram_use(simulated_cycles);
    let mut issued = PcCounts::default();
    chip.per_pc.iter().for_each(|counts| issued.add(counts));
    let used = used(profile, &issued, &pipe_use, clocks, dram_use, l2_busy);
    // Blocks drift apart. Then they wait less for what they share, but for no more of it than there is.
    let share = used.first().map_or(0.0, |most| most.share().clamp(0.0, 1.0));
    let drift = others.clocks * share.min(1.0 - share);
    let sampling = (simulated < blocks).then(|| Sampling {
        simulated,
        blocks,
        relative_error: (others.error + drift) / cycles.max(1) as f64,
    });
    let schedulers = schedulers_did(&grid.sms, active_clocks, schedulers, &issued);
    let last = mark(simulated_cycles, &grid.sms, &chip);
    Outcome {
        cycles,
        simulated_cycles,
        sm_active_cycles: sm_clocks as f64 / sms + rest,
        recording: chip.recording,
        elapsed_cycles,
        microseconds: elapsed_cycles as f64 / profile.clock.sm_mhz,
        achieved_occupancy: warp_clocks as f64
            / (active_clocks.max(1) as f64 * f64::from(occupancy.max_warps)),
        waves: blocks as f64 / resident.max(1) as f64,
        tail: idle / cycles.max(1) as f64,
        schedulers,
        occupancy,
        total,
        per_pc,
        dram_read,
        dram_written,
        caches,
        pipe_use,
        activity: grid.observed.progress.spans(SPANS, last),
        bound: find_bound(&used, &issued),
        used,
        sampling,
    }
}

/// What a scheduler did in a clock, of so many on each SM: `active` are the clocks of all SMs together.
fn schedulers_did(sms: &[Sm], active: u64, schedulers: f64, issued: &PcCounts) -> Schedulers {
    let clocks = active.max(1) as f64 * schedulers;
    let issue_clocks: u64 = sms.iter().map(|sm| sm.issue_clocks).sum();
    let not_selected = issued.stalls[Stall::NotSelected as usize];
    Schedulers {
        issuing: issue_clocks as f64 / clocks,
        eligible: (issue_clocks + not_selected) as f64 / clocks,
        issued: issued.issue_slots as f64 / clocks,
    }
}

/// Counts of the whole grid from those of the strata, and how many times the traffic of the simulated
/// blocks its traffic is.
fn whole_grid(
    strata: &strata::Strata,
    instructions: usize,
    counted: &[PcCounts],
) -> (Vec<PcCounts>, f64) {
    let mut all = vec![PcCounts::default(); instructions];
    let (mut found, mut whole) = (0.0, 0.0);
    for (stratum, counts) in counted.chunks(instructions.max(1)).enumerate() {
        let weight = strata.weight(stratum);
        for (sum, counts) in all.iter_mut().zip(counts) {
            sum.add(&counts.scaled(weight));
            let traffic = counts.bytes as f64;
            found += traffic;
            whole += traffic * weight;
        }
    }
    (all, if found > 0.0 { whole / found } else { 1.0 })
}

/// Spans of time that an outcome tells apart.
const SPANS: u64 = 120;

/// A resource used above this share is what limits the kernel.
const SATURATED: f64 = 0.6;

/// What could limit a launch, and the share that is in use of each, the most used first.
fn used(
    profile: &Profile,
    total: &PcCounts,
    pipes: &[(String, f64)],
    clocks: f64,
    dram_use: f64,
    l2_busy: f64,
) -> Vec<Bound> {
    let sms = f64::from(profile.device.multiprocessors);
    let mut used = vec![
        Bound::Dram(dram_use),
        Bound::Issue(
            total.issue_slots as f64 * f64::from(profile.issue.cycles)
                / (clocks * sms * f64::from(profile.issue.schedulers * profile.issue.width)),
        ),
    ];
    if profile.l2.is_some() {
        used.push(Bound::L2((l2_busy / clocks).min(1.0)));
    }
    used.extend(pipes.iter().map(|(name, share)| Bound::Pipe(name.clone(), *share)));
    used.reverse();
    used.sort_by(|a, b| b.share().total_cmp(&a.share()));
    used
}

fn find_bound(used: &[Bound], total: &PcCounts) -> Bound {
    if let Some(bound) = used.first().filter(|b| b.share() >= SATURATED) {
        return bound.clone();
    }
    let waiting: u64 = total.stalls.iter().sum();
    let (reason, clocks) = Stall::ALL
        .into_iter()
        .zip(total.stalls)
        .max_by_key(|(_, n)| *n)
        .unwrap_or((Stall::Execution, 0));
    Bound::Latency(reason, clocks as f64 / waiting.max(1) as f64)
}
