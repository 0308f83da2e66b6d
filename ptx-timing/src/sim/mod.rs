//! The pipeline: replays a kernel's events on the SMs of a device and says how long they take.
//!
//! Event-driven: when an instruction issues, the times at which its results and its pipe become
//! free are known at once, so the simulator jumps from issue to issue. SMs advance in global time
//! order, which keeps the queues of L2 and device memory honest. There is no randomness: the same
//! input gives the same report.

mod error;
mod memory;
mod plan;
pub(crate) mod record;
pub(crate) mod report;
mod schedule;
mod shape;
mod sm;
mod time;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use error::SimulateError;
pub use record::Recording;
pub use report::{Bound, Outcome, PcCounts, Sampling, Stall};

use crate::event::{BlockSource, Code};
use crate::occupancy::{BlockNeeds, Occupancy, occupancy};
use crate::profile::Profile;
use memory::Memory;
use ptx_isa::Class;
use sm::{Chip, Sm, first_bad_event};
use time::FRACTION;

/// How much of the grid to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// Simulate the first so many blocks and extrapolate the time; `None` = all. At least
    /// twice as many as all SMs hold at once are simulated.
    pub max_blocks: Option<u64>,
    /// Start no further blocks once so many warp instructions have issued, but as many as all SMs
    /// hold at once.
    pub max_instructions: Option<u64>,
    /// Record what the warps of an SM do in the first so many clocks.
    pub timeline: Option<(u32, u64)>,
}

/// Clocks that a comparison's predicate takes longer to become a guard than its latency says.
fn guard_extra(profile: &Profile) -> u64 {
    let latency = profile.class.get(&Class::Compare).map_or(0, |c| c.latency);
    profile.issue.guard_latency.saturating_sub(latency).into()
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
    let (plans, pipes, registers) = plan::plan(profile, code)?;
    let blocks = source.blocks();
    let resident = u64::from(occupancy.blocks) * u64::from(profile.device.multiprocessors);
    // SMs that get no block need not exist.
    let sms = blocks.min(profile.device.multiprocessors.into()) as u32;
    let limit = config.max_blocks.map_or(blocks, |m| m.max(2 * resident).min(blocks));
    let mut chip = Chip {
        profile,
        code,
        plans: &plans,
        pipes: &pipes,
        registers,
        guard_extra: guard_extra(profile),
        memory: Memory::new(profile, sms),
        per_pc: vec![PcCounts::default(); code.instructions.len()],
        last_end: 0,
        issued: 0,
        recording: config.timeline.map(|(sm, until)| Recording::new(sm as usize, until)),
    };
    let schedule = schedule::Schedule::new(profile, code, &plans);
    let mut grid = Grid {
        schedule,
        sms: (0..sms as usize).map(|index| Sm::new(profile, &pipes, index)).collect(),
        next_block: 0,
        limit,
        least: resident,
        budget: config.max_instructions.unwrap_or(u64::MAX),
        warps_per_block: occupancy.warps_per_block,
        spans: Vec::new(),
    };
    // One block per SM first, then a second one each, as the hardware does.
    for _ in 0..occupancy.blocks {
        for sm in 0..sms as usize {
            grid.start(sm, None, source, &mut chip)?;
        }
    }
    grid.run(source, &mut chip)?;
    Ok(finish(chip, grid, occupancy, blocks, resident))
}

/// Clocks that an SM runs on alone before the others catch up. Short against the latency of
/// everything that SMs share, long enough for the host's caches.
const TIME_SLICE: u64 = 32;

struct Grid {
    schedule: schedule::Schedule,
    sms: Vec<Sm>,
    next_block: u64,
    limit: u64,
    /// Blocks that are simulated whatever they cost, and the instructions after which no more are.
    least: u64,
    budget: u64,
    warps_per_block: u32,
    /// Start and end of every block.
    spans: Vec<(u64, u64)>,
}

impl Grid {
    /// Starts the next block of the grid on an SM, if there is one: at the kernel's start, or in the
    /// place of a block that ended at `freed`.
    fn start<S>(
        &mut self,
        sm: usize,
        freed: Option<u64>,
        source: &mut S,
        chip: &mut Chip<'_>,
    ) -> Result<(), SimulateError>
    where
        S: BlockSource,
        S::Error: std::fmt::Display,
    {
        let spent = self.next_block >= self.least && chip.issued >= self.budget;
        if self.next_block >= self.limit || spent {
            return Ok(());
        }
        let block = self.next_block;
        self.next_block += 1;
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
        self.sms[sm].start_block(freed, block, trace, chip);
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
        while let Some(Reverse((start, index))) = queue.pop() {
            let slice_end = (start / TIME_SLICE + 1) * TIME_SLICE;
            let mut time = Some(start);
            while let Some(now) = time.filter(|t| *t < slice_end) {
                let outcome = self.sms[index].step(now, chip);
                for span in outcome.finished {
                    self.spans.push(span);
                    self.start(index, Some(span.1), source, chip)?;
                }
                time = self.sms[index].next_time();
            }
            match time {
                Some(next) => queue.push(Reverse((next, index))),
                None if self.sms[index].resident_blocks() > 0 => {
                    let waiting = self.sms[index].waiting_at();
                    let (barrier, arrived, expected) = waiting.first().copied().unwrap_or_default();
                    return Err(SimulateError::Deadlock { sm: index, barrier, arrived, expected });
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn finish(chip: Chip<'_>, grid: Grid, occupancy: Occupancy, blocks: u64, resident: u64) -> Outcome {
    let profile = chip.profile;
    // A kernel ends when its stores have arrived.
    let simulated_cycles = chip.last_end.max(chip.memory.drained_at());
    let simulated = grid.next_block;
    let (mean, variance, n) = block_duration(&grid.spans);
    let sampling = (simulated < blocks).then(|| Sampling {
        simulated,
        blocks,
        relative_error: (variance / n).sqrt() / mean.max(1.0),
    });
    // Little's law: with all SMs full, a block ends every (duration and turnaround) / resident
    // blocks, but not faster than SMs take new ones.
    let launch = &profile.launch;
    let warps = occupancy.warps_per_block;
    let turnaround = launch.turnaround_cycles + warps * launch.turnaround_cycles_per_warp;
    let gap = launch.replacement_cycles + warps * launch.replacement_cycles_per_warp;
    let interval = ((mean + f64::from(turnaround)) / resident.max(1) as f64)
        .max(f64::from(gap) / f64::from(profile.device.multiprocessors));
    // Nor faster than what they all share can serve them, stores that nobody waits for included.
    let reachable = profile.dram_bytes_per_cycle() * profile.dram.efficiency;
    let (read, written) = chip.memory.dram_bytes();
    let shared = chip.memory.l2_busy().max((read + written) as f64 / reachable);
    let interval = interval.max(shared / simulated.max(1) as f64);
    let rest = (blocks - simulated) as f64 * interval;
    let cycles = simulated_cycles + rest.round() as u64;
    let elapsed_cycles = cycles + u64::from(profile.launch.overhead_cycles);

    let mut total = PcCounts::default();
    for counts in &chip.per_pc {
        total.add(counts);
    }
    let warp_clocks: u64 = grid.sms.iter().map(|s| s.warp_clocks).sum();
    let active_clocks: u64 = grid.sms.iter().map(|s| s.last_end).sum();
    let sm_clocks: u64 = grid.sms.iter().map(Sm::active_clocks).sum();
    let l2_busy = chip.memory.l2_busy();
    let (l1, l2) = chip.memory.cache_counts();
    let (dram_read, dram_written) = chip.memory.dram_bytes();
    let clocks = simulated_cycles.max(1) as f64;
    let sms = f64::from(profile.device.multiprocessors);
    let schedulers = f64::from(profile.issue.schedulers);
    let pipe_use: Vec<(String, f64)> = chip
        .pipes
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let busy: u64 = grid.sms.iter().map(|s| s.pipe_busy[i]).sum();
            let units = if chip.pipes.per_scheduler[i] { schedulers } else { 1.0 };
            (name.clone(), busy as f64 / FRACTION as f64 / (clocks * sms * units))
        })
        .collect();
    let bound = find_bound(profile, &total, &pipe_use, clocks, dram_read + dram_written, l2_busy);
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
        occupancy,
        total,
        per_pc: chip.per_pc,
        dram_read,
        dram_written,
        l1,
        l2,
        pipe_use,
        bound,
        sampling,
    }
}

/// Mean and variance of the block durations, and how many there are. Blocks that ended when no new
/// one could take their place are left out: they ran on an emptying chip.
fn block_duration(spans: &[(u64, u64)]) -> (f64, f64, f64) {
    let last_start = spans.iter().map(|s| s.0).max().unwrap_or(0);
    let mut durations: Vec<f64> =
        spans.iter().filter(|s| s.1 <= last_start).map(|s| (s.1 - s.0) as f64).collect();
    if durations.is_empty() {
        durations = spans.iter().map(|s| s.1.saturating_sub(s.0) as f64).collect();
    }
    let n = durations.len().max(1) as f64;
    let mean = durations.iter().sum::<f64>() / n;
    let variance = durations.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, variance, n)
}

/// A resource used above this share is what limits the kernel.
const SATURATED: f64 = 0.6;

fn find_bound(
    profile: &Profile,
    total: &PcCounts,
    pipes: &[(String, f64)],
    clocks: f64,
    dram_bytes: u64,
    l2_busy: f64,
) -> Bound {
    let sms = f64::from(profile.device.multiprocessors);
    let reachable = profile.dram_bytes_per_cycle() * profile.dram.efficiency;
    let mut candidates = vec![
        Bound::Dram(dram_bytes as f64 / clocks / reachable),
        Bound::Issue(
            total.issue_slots as f64 * f64::from(profile.issue.cycles)
                / (clocks * sms * f64::from(profile.issue.schedulers * profile.issue.width)),
        ),
    ];
    if profile.l2.is_some() {
        candidates.push(Bound::L2(l2_busy / clocks));
    }
    candidates.extend(pipes.iter().map(|(name, share)| Bound::Pipe(name.clone(), *share)));
    let share = |b: &Bound| match b {
        Bound::Dram(x)
        | Bound::L2(x)
        | Bound::Issue(x)
        | Bound::Pipe(_, x)
        | Bound::Latency(_, x) => *x,
    };
    let highest = candidates.into_iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    if let Some(bound) = highest.filter(|b| share(b) >= SATURATED) {
        return bound;
    }
    let waiting: u64 = total.stalls.iter().sum();
    let (reason, clocks) = Stall::ALL
        .into_iter()
        .zip(total.stalls)
        .max_by_key(|(_, n)| *n)
        .unwrap_or((Stall::Execution, 0));
    Bound::Latency(reason, clocks as f64 / waiting.max(1) as f64)
}
