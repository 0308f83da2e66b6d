//! One SM: resident warps, schedulers, scoreboard, pipes, barriers.

use super::memory::Memory;
use super::plan::{Pipes, Plan};
use super::record::Recording;
use super::report::{PcCounts, Stall};
use super::shape::Shapes;
use super::time::FRACTION;
use crate::event::{BlockTrace, Code, CopyGroup, Detail, Event, Patterns, Space, WarpTrace};
use crate::profile::{Policy, Profile};

/// Not ready until somebody says so.
const NEVER: u64 = u64::MAX;

/// When a register can be read, and what decides about further waiting: the clock above
/// [`STATE_BITS`] bits for the pipe that the value comes from, whether that is memory, and whether it
/// takes longer to become a guard.
type RegisterState = u64;

const STATE_BITS: u32 = 8;
const FROM_MEMORY: u64 = 1;
const GUARD_EXTRA: u64 = 2;
const PIPE_SHIFT: u32 = 2;

/// The lower bits of the states of results.
pub(super) fn state_bits(pipe: u8, memory: bool, compare: bool) -> u64 {
    let flag = |set: bool, bit: u64| if set { bit } else { 0 };
    u64::from(pipe & 63) << PIPE_SHIFT | flag(memory, FROM_MEMORY) | flag(compare, GUARD_EXTRA)
}

/// A resident warp.
#[derive(Debug)]
struct Warp {
    trace: WarpTrace,
    position: usize,
    block: usize,
    age: u64,
    registers: Vec<RegisterState>,
    /// Earliest next issue in program order.
    free_at: u64,
    free_reason: Stall,
    /// Since when the next instruction has been waiting.
    wait_from: u64,
    /// When its operands are there, and what they came from.
    operands_at: u64,
    operands_reason: Stall,
    pipe_was_busy: bool,
    /// Index in the timeline, where this SM has one.
    recorded: Option<usize>,
    copies: Copies,
}

/// When a warp's asynchronous copies are complete.
#[derive(Debug, Default)]
struct Copies {
    /// Those that are not committed.
    pending: u64,
    /// Groups, the oldest first.
    groups: Vec<u64>,
}

impl Copies {
    /// Commits or waits; the clock until which the warp waits.
    fn group(&mut self, group: CopyGroup) -> u64 {
        let waits = match group {
            CopyGroup::Commit => {
                self.groups.push(std::mem::take(&mut self.pending));
                return 0;
            }
            CopyGroup::Wait(pending) => self.groups.len().saturating_sub(pending as usize),
            CopyGroup::WaitAll => {
                self.groups.push(std::mem::take(&mut self.pending));
                self.groups.len()
            }
        };
        self.groups.drain(..waits).max().unwrap_or(0)
    }
}

/// One of a block's named barriers.
#[derive(Debug, Clone, Default)]
struct BarrierState {
    arrived: u32,
    expected: u32,
    first: u64,
    waiting: Vec<usize>,
}

/// A resident block.
#[derive(Debug)]
struct Block {
    live: u32,
    barriers: Vec<(u8, BarrierState)>,
    started: u64,
    patterns: Patterns,
    shapes: Shapes,
}

/// What a step did that the grid has to know.
#[derive(Debug, Default)]
pub(super) struct StepOutcome {
    /// Start and end of each block that ended.
    pub finished: Vec<(u64, u64)>,
}

/// One SM.
#[derive(Debug)]
pub(super) struct Sm {
    index: usize,
    /// Warp slots, those of one scheduler next to each other.
    warps: Vec<Option<Warp>>,
    /// When each slot's warp can issue as far as known; `NEVER` = empty, at a barrier.
    ready_at: Vec<u64>,
    /// The pipes that can take each slot's next instruction.
    wants: Vec<u64>,
    per_scheduler: usize,
    /// When each scheduler can issue next, and which of these times are out of date.
    wake: Vec<u64>,
    stale: u32,
    next_issue: Vec<u64>,
    last: Vec<usize>,
    /// Free time of each pipe of each scheduler (shared pipes: of scheduler 0), in 1/1024 clocks.
    pipe_free: Vec<u64>,
    pub pipe_busy: Vec<u64>,
    /// Pipes that all schedulers share, and the clocks of work that may wait there.
    shared_pipes: u64,
    queue: u64,
    blocks: Vec<Option<Block>>,
    resident_blocks: u32,
    age: u64,
    last_start: Option<u64>,
    /// The first clock of the first block.
    first_start: Option<u64>,
    /// Clocks of all warps that ended, and when the last one did, for the achieved occupancy.
    pub warp_clocks: u64,
    pub last_end: u64,
}

/// Everything that the SMs share.
pub(super) struct Chip<'a> {
    pub profile: &'a Profile,
    pub code: &'a Code,
    pub plans: &'a [Plan],
    pub pipes: &'a Pipes,
    pub registers: usize,
    pub guard_extra: u64,
    pub memory: Memory<'a>,
    pub per_pc: Vec<PcCounts>,
    pub last_end: u64,
    /// Warp instructions so far.
    pub issued: u64,
    pub recording: Option<Recording>,
}

impl Sm {
    pub fn new(profile: &Profile, pipes: &Pipes, index: usize) -> Self {
        let schedulers = profile.issue.schedulers as usize;
        let per_scheduler = (profile.limits.max_warps_per_sm as usize).div_ceil(schedulers);
        let slots = per_scheduler * schedulers;
        Self {
            index,
            warps: (0..slots).map(|_| None).collect(),
            ready_at: vec![NEVER; slots],
            wants: vec![0; slots],
            per_scheduler,
            wake: vec![NEVER; schedulers],
            stale: 0,
            next_issue: vec![0; schedulers],
            last: vec![0; schedulers],
            pipe_free: vec![0; pipes.names.len() * schedulers],
            pipe_busy: vec![0; pipes.names.len()],
            shared_pipes: (0..pipes.names.len())
                .filter(|&p| !pipes.per_scheduler[p])
                .fold(0, |mask, p| mask | 1 << p),
            queue: profile.issue.memory_queue_cycles.into(),
            blocks: Vec::new(),
            resident_blocks: 0,
            age: 0,
            last_start: None,
            first_start: None,
            warp_clocks: 0,
            last_end: 0,
        }
    }

    pub fn resident_blocks(&self) -> u32 {
        self.resident_blocks
    }

    /// The barrier numbers at which warps wait, for the report of a deadlock.
    pub fn waiting_at(&self) -> Vec<(u8, u32, u32)> {
        let blocks = self.blocks.iter().flatten();
        blocks
            .flat_map(|b| &b.barriers)
            .filter(|(_, s)| s.arrived > 0)
            .map(|(id, s)| (*id, s.arrived, s.expected))
            .collect()
    }

    /// Takes a block: at the kernel's start, or in the place of one that ended at `freed`.
    pub fn start_block(
        &mut self,
        freed: Option<u64>,
        number: u64,
        trace: BlockTrace,
        chip: &mut Chip<'_>,
    ) {
        let launch = &chip.profile.launch;
        let (earliest, gap) = match freed {
            None => (launch.cold_cycles.into(), launch.block_cycles),
            Some(end) => {
                let warps = trace.warps.len() as u32;
                let turnaround =
                    launch.turnaround_cycles + warps * launch.turnaround_cycles_per_warp;
                let gap = launch.replacement_cycles + warps * launch.replacement_cycles_per_warp;
                (end + u64::from(turnaround), gap)
            }
        };
        let start = self.last_start.map_or(earliest, |last| earliest.max(last + u64::from(gap)));
        self.last_start = Some(start);
        self.first_start.get_or_insert(if freed.is_none() { 0 } else { start });
        let block = self.blocks.iter().position(Option::is_none).unwrap_or(self.blocks.len());
        let state = Block {
            live: trace.warps.len() as u32,
            barriers: Vec::new(),
            started: start,
            shapes: Shapes::new(trace.patterns.list.len()),
            patterns: trace.patterns,
        };
        if block == self.blocks.len() {
            self.blocks.push(Some(state));
        } else {
            self.blocks[block] = Some(state);
        }
        self.resident_blocks += 1;
        let schedulers = self.next_issue.len();
        for (index, warp) in trace.warps.into_iter().enumerate() {
            // Hardware warp w belongs to scheduler w mod schedulers.
            let free = (0..self.warps.len())
                .map(|w| w % schedulers * self.per_scheduler + w / schedulers)
                .find(|&slot| self.warps[slot].is_none());
            let Some(slot) = free else { continue };
            self.age += 1;
            let hardware = slot % self.per_scheduler * schedulers + slot / self.per_scheduler;
            let recording = chip.recording.as_mut().filter(|r| r.sm == self.index);
            let recorded =
                recording.and_then(|r| r.start_warp(number, index as u32, hardware as u32, start));
            self.warps[slot] = Some(Warp {
                trace: warp,
                position: 0,
                block,
                age: self.age,
                registers: vec![0; chip.registers],
                free_at: start,
                free_reason: Stall::Control,
                wait_from: start,
                operands_at: start,
                operands_reason: Stall::Control,
                pipe_was_busy: false,
                recorded,
                copies: Copies::default(),
            });
            self.prepare(slot, chip);
        }
    }

    /// When something can happen next; `None` = all warps wait at barriers, or there are none.
    pub fn next_time(&mut self) -> Option<u64> {
        while self.stale != 0 {
            let scheduler = self.stale.trailing_zeros() as usize;
            self.stale &= self.stale - 1;
            let first = scheduler * self.per_scheduler;
            let mut next = NEVER;
            for slot in first..first + self.per_scheduler {
                let ready = self.ready_at[slot];
                if ready < next {
                    next = next.min(ready.max(self.pipe_ready(scheduler, self.wants[slot])));
                }
            }
            let issue = self.next_issue[scheduler];
            self.wake[scheduler] = if next == NEVER { NEVER } else { next.max(issue) };
        }
        let next = self.wake.iter().fold(NEVER, |least, t| least.min(*t));
        (next != NEVER).then_some(next)
    }

    /// Where the state of a scheduler's pipe is.
    fn pipe_index(&self, scheduler: usize, pipe: usize) -> usize {
        let own = if self.shared_pipes >> pipe & 1 == 0 { scheduler } else { 0 };
        pipe * self.next_issue.len() + own
    }

    /// First clock at which one of some pipes takes an instruction; 0 if there is none.
    fn pipe_ready(&self, scheduler: usize, pipes: u64) -> u64 {
        let mut least = NEVER;
        let mut rest = pipes;
        while rest != 0 {
            let pipe = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let queue = if self.shared_pipes >> pipe & 1 == 0 { 0 } else { self.queue };
            let free = self.pipe_free[self.pipe_index(scheduler, pipe)] / FRACTION;
            least = least.min(free.saturating_sub(queue));
        }
        if least == NEVER { 0 } else { least }
    }

    /// Clocks from the first block's start to the last one's end.
    pub fn active_clocks(&self) -> u64 {
        self.first_start.map_or(0, |start| self.last_end.saturating_sub(start))
    }

    fn set_ready(&mut self, slot: usize, time: u64) {
        self.ready_at[slot] = time;
        self.stale |= 1 << (slot / self.per_scheduler);
    }

    /// Lets every scheduler issue at `now`.
    pub fn step(&mut self, now: u64, chip: &mut Chip<'_>) -> StepOutcome {
        let mut outcome = StepOutcome::default();
        let schedulers = self.next_issue.len();
        for turn in 0..schedulers {
            // Nobody is always first at the pipes that the schedulers share.
            let scheduler = (turn + now as usize) % schedulers;
            // What another scheduler did in this clock may have made a warp ready.
            if self.next_issue[scheduler] > now
                || self.wake[scheduler] > now && self.stale >> scheduler & 1 == 0
            {
                continue;
            }
            self.stale |= 1 << scheduler;
            let mut issued = 0;
            while issued < chip.profile.issue.width {
                // A second instruction in the same slot has to come from the same warp.
                let slot = if issued == 0 {
                    self.pick(scheduler, now, chip.profile.issue.policy)
                } else {
                    Some(self.last[scheduler]).filter(|&s| {
                        self.ready_at[s] <= now && self.pipe_ready(scheduler, self.wants[s]) <= now
                    })
                };
                let Some(slot) = slot else { break };
                if self.issue(slot, scheduler, now, chip, &mut outcome) {
                    issued += 1;
                }
            }
        }
        outcome
    }

    fn pick(&self, scheduler: usize, now: u64, policy: Policy) -> Option<usize> {
        let first = scheduler * self.per_scheduler;
        let last = self.last[scheduler];
        let slots = first..first + self.per_scheduler;
        let mut free = 0;
        for pipe in 0..self.pipe_busy.len() {
            if self.pipe_ready(scheduler, 1 << pipe) <= now {
                free |= 1 << pipe;
            }
        }
        let can = |slot: usize| {
            let wants = self.wants[slot];
            self.ready_at[slot] <= now && (wants & free != 0 || wants == 0)
        };
        match policy {
            Policy::LooseRoundRobin => {
                let after = (last + 1).clamp(slots.start, slots.end);
                (after..slots.end).chain(slots.start..after).find(|&slot| can(slot))
            }
            Policy::GreedyThenOldest => {
                if slots.contains(&last) && can(last) {
                    return Some(last);
                }
                slots
                    .filter(|&slot| can(slot))
                    .min_by_key(|&slot| self.warps[slot].as_ref().map_or(u64::MAX, |w| w.age))
            }
        }
    }

    /// Issues the next instruction of a warp, unless its pipe is busy.
    fn issue(
        &mut self,
        slot: usize,
        scheduler: usize,
        now: u64,
        chip: &mut Chip<'_>,
        outcome: &mut StepOutcome,
    ) -> bool {
        let Some(warp) = self.warps[slot].as_mut() else {
            self.set_ready(slot, NEVER);
            return false;
        };
        let Some(&event) = warp.trace.events.get(warp.position) else {
            self.end_warp(slot, now, chip, outcome);
            return false;
        };
        let plan = &chip.plans[event.pc as usize];
        let schedulers = self.next_issue.len();
        let free_of = |pipe: &u8| {
            let pipe = usize::from(*pipe);
            let own = if chip.pipes.per_scheduler[pipe] { scheduler } else { 0 };
            pipe * schedulers + own
        };
        let pipe = plan.pipes.iter().copied().min_by_key(|p| self.pipe_free[free_of(p)]);
        let Some(pipe) = pipe else {
            self.set_ready(slot, NEVER);
            return false;
        };
        let at_pipe = free_of(&pipe);
        let free_at = self.pipe_free[at_pipe];
        let queue = if chip.pipes.per_scheduler[usize::from(pipe)] { 0 } else { self.queue };
        let pipe_ready = (free_at / FRACTION).saturating_sub(queue);
        if pipe_ready > now {
            self.set_ready(slot, pipe_ready);
            return false;
        }
        let start = now.max(free_at / FRACTION);
        warp.pipe_was_busy = pipe_ready > warp.operands_at;

        let counts = &mut chip.per_pc[event.pc as usize];
        counts.issues += 1;
        chip.issued += 1;
        counts.issue_slots += plan.slots;
        counts.thread_instructions += u64::from(event.active.count_ones());
        warp.account(now, counts);
        if let (Some(recorded), Some(recording)) = (warp.recorded, &mut chip.recording) {
            recording.issue(recorded, now, event, warp.waited(now));
        }

        // Result times.
        let mut busy = plan.interval;
        let mut done = start + plan.latency;
        if let Detail::Memory { first, count } = event.detail
            && event.active != 0
            && let Some(accesses) =
                warp.trace.accesses.get(first as usize..(first + count) as usize)
            && let Some(block) = self.blocks[warp.block].as_mut()
        {
            let instruction = &chip.code.instructions[event.pc as usize];
            let beyond = accesses.iter().any(|a| a.space != Space::Shared);
            let mut work = 0;
            for &traced in accesses {
                let patterns = &block.patterns.list;
                let cost = block.shapes.get(chip.profile, instruction, patterns, traced);
                let side = beyond && traced.space == Space::Shared;
                // One follows the other through the pipe.
                let at = start + work / FRACTION;
                work += cost.0.busy;
                let at =
                    chip.memory.access(self.index, at, instruction, traced, side, cost, counts);
                match traced.differs.copy {
                    true => warp.copies.pending = warp.copies.pending.max(at),
                    false => done = done.max(at),
                }
            }
            busy = busy.max(work);
        }
        self.pipe_free[at_pipe] = free_at.max(now * FRACTION) + busy;
        self.pipe_busy[usize::from(pipe)] += busy;
        let state = done << STATE_BITS | plan.state;
        for &register in &plan.writes {
            warp.registers[register as usize] = state;
        }
        self.next_issue[scheduler] = now + plan.issue_cycles;
        if plan.f64 {
            let until = now + plan.issue_cycles;
            self.next_issue.iter_mut().for_each(|t| *t = (*t).max(until));
            self.stale = (1 << schedulers) - 1;
        }
        self.last[scheduler] = slot;
        warp.position += 1;
        warp.free_at = now + if plan.control { plan.latency } else { plan.issue_cycles };
        warp.free_reason = Stall::Control;
        warp.wait_from = now + plan.issue_cycles;
        if let Detail::Copies(group) = event.detail {
            let until = warp.copies.group(group);
            if until > warp.free_at {
                (warp.free_at, warp.free_reason) = (until, Stall::Memory);
            }
        }
        // A dual-issued instruction may follow in the same clock.
        if chip.profile.issue.width > 1 && !plan.control && plan.slots == 1 {
            warp.free_at = now;
            warp.wait_from = now;
        }
        if let Detail::Barrier { id, wait, warps } = event.detail {
            self.arrive(slot, id, wait, warps, now, chip);
        } else {
            self.prepare(slot, chip);
        }
        self.end_if_done(slot, now, chip, outcome);
        true
    }

    fn end_if_done(
        &mut self,
        slot: usize,
        now: u64,
        chip: &mut Chip<'_>,
        outcome: &mut StepOutcome,
    ) {
        let done = self.warps[slot].as_ref().is_some_and(|w| w.position >= w.trace.events.len());
        if done && self.ready_at[slot] != NEVER {
            self.end_warp(slot, now, chip, outcome);
        }
    }

    /// Computes when the warp's next instruction has its operands.
    fn prepare(&mut self, slot: usize, chip: &Chip<'_>) {
        let Some(warp) = self.warps[slot].as_mut() else { return };
        let (mut at, mut reason) = (warp.free_at, warp.free_reason);
        let mut wants = 0;
        if let Some(event) = warp.trace.events.get(warp.position) {
            let plan = &chip.plans[event.pc as usize];
            wants = plan.pipe_mask;
            let cross = u64::from(chip.profile.issue.cross_pipe_latency);
            let mut wait = |state: RegisterState, extra: u64| {
                let time = (state >> STATE_BITS) + extra;
                if time > at {
                    at = time;
                    let memory = state & FROM_MEMORY != 0;
                    reason = if memory { Stall::Memory } else { Stall::Execution };
                }
            };
            for &register in &plan.reads {
                let state = warp.registers[register as usize];
                let pipe = state >> PIPE_SHIFT & 63;
                let same = state & FROM_MEMORY != 0 || plan.pipe_mask >> pipe & 1 != 0;
                wait(state, if same || state == 0 { 0 } else { cross });
            }
            for &register in &plan.writes {
                wait(warp.registers[register as usize], 0);
            }
            if let Some(register) = plan.guard {
                let state = warp.registers[register as usize];
                wait(state, if state & GUARD_EXTRA != 0 { chip.guard_extra } else { 0 });
            }
        }
        warp.operands_at = at;
        warp.operands_reason = reason;
        warp.pipe_was_busy = false;
        self.wants[slot] = wants;
        self.set_ready(slot, at);
    }

    fn arrive(
        &mut self,
        slot: usize,
        id: u8,
        wait: bool,
        warps: u16,
        now: u64,
        chip: &mut Chip<'_>,
    ) {
        let Some(block_index) = self.warps[slot].as_ref().map(|w| w.block) else { return };
        let Some(block) = self.blocks[block_index].as_mut() else { return };
        let at = block.barriers.iter().position(|b| b.0 == id).unwrap_or_else(|| {
            block.barriers.push((id, BarrierState::default()));
            block.barriers.len() - 1
        });
        let barrier = &mut block.barriers[at].1;
        if barrier.arrived == 0 {
            barrier.first = now;
        }
        barrier.arrived += 1;
        barrier.expected = warps.into();
        if wait {
            barrier.waiting.push(slot);
            self.set_ready(slot, NEVER);
        } else {
            self.prepare(slot, chip);
        }
        self.release(block_index, now, chip);
    }

    /// Opens the barriers of a block that are complete.
    fn release(&mut self, block_index: usize, now: u64, chip: &mut Chip<'_>) {
        let mut released = Vec::new();
        if let Some(block) = self.blocks[block_index].as_mut() {
            let live = block.live;
            for (_, barrier) in &mut block.barriers {
                let expected = if barrier.expected == 0 { live } else { barrier.expected };
                if barrier.arrived == 0 || barrier.arrived < expected {
                    continue;
                }
                let cost = &chip.profile.barrier;
                let per_warp = |n: u32| (f64::from(n) * cost.cycles_per_warp) as u64;
                let latency = u64::from(cost.latency);
                let open = (barrier.first + latency + per_warp(barrier.arrived))
                    .max(now + latency + per_warp(1));
                released.extend(barrier.waiting.drain(..).map(|slot| (slot, open)));
                barrier.arrived = 0;
            }
        }
        for (slot, open) in released {
            if let Some(warp) = self.warps[slot].as_mut() {
                warp.free_at = open;
                warp.free_reason = Stall::Barrier;
            }
            self.prepare(slot, chip);
        }
    }

    fn end_warp(&mut self, slot: usize, now: u64, chip: &mut Chip<'_>, outcome: &mut StepOutcome) {
        let Some(warp) = self.warps[slot].take() else { return };
        self.set_ready(slot, NEVER);
        let end = warp.free_at.max(now);
        chip.last_end = chip.last_end.max(end);
        self.last_end = self.last_end.max(end);
        if let (Some(recorded), Some(recording)) = (warp.recorded, &mut chip.recording) {
            recording.end_warp(recorded, end);
        }
        let ended = match self.blocks[warp.block].as_mut() {
            Some(block) => {
                self.warp_clocks += end.saturating_sub(block.started);
                block.live -= 1;
                (block.live == 0).then_some(block.started)
            }
            None => None,
        };
        if let Some(started) = ended {
            self.blocks[warp.block] = None;
            self.resident_blocks -= 1;
            outcome.finished.push((started, end));
        } else {
            // The others need not wait for a warp that has left.
            self.release(warp.block, now, chip);
        }
    }
}

impl Warp {
    /// Clocks since its previous issue, and what most of them went to.
    fn waited(&self, now: u64) -> (u64, Stall) {
        let operands = self.operands_at.clamp(self.wait_from, now.max(self.wait_from));
        let rest = now.saturating_sub(operands);
        let waited = operands - self.wait_from + rest;
        let busy = if self.pipe_was_busy { Stall::Pipe } else { Stall::NotSelected };
        let first = operands - self.wait_from >= rest;
        (waited, if first { self.operands_reason } else { busy })
    }

    /// Attributes the clocks since the warp's previous issue.
    fn account(&self, now: u64, counts: &mut PcCounts) {
        let add = |counts: &mut PcCounts, reason: Stall, clocks: u64| {
            counts.stalls[reason as usize] += clocks;
        };
        let operands = self.operands_at.clamp(self.wait_from, now.max(self.wait_from));
        add(counts, self.operands_reason, operands - self.wait_from);
        let rest = if self.pipe_was_busy { Stall::Pipe } else { Stall::NotSelected };
        add(counts, rest, now.saturating_sub(operands));
    }
}

/// Checks a block's trace before it is taken, so that the pipeline can rely on it.
pub(super) fn first_bad_event(trace: &BlockTrace, instructions: usize) -> Option<(usize, Event)> {
    trace.warps.iter().enumerate().find_map(|(warp, t)| {
        let bad = |e: &&Event| {
            let access_missing = match e.detail {
                Detail::Memory { first, count } => {
                    t.accesses.get(first as usize..first as usize + count as usize).is_none_or(
                        |a| a.iter().any(|a| a.pattern as usize >= trace.patterns.list.len()),
                    )
                }
                Detail::None | Detail::Barrier { .. } | Detail::Copies(_) => false,
            };
            e.pc as usize >= instructions || access_missing
        };
        t.events.iter().find(bad).map(|e| (warp, *e))
    })
}
