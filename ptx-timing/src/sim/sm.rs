//! One SM: resident warps, schedulers, scoreboard, pipes, barriers.

use smallvec::SmallVec;

use super::access::access;
use super::chip::Chip;
use super::memory::Memory;
use super::operands::NOTHING;
use super::pace::go_on;
use super::pipes::PipeTimes;
use super::plan::Pipes;
use super::record::{Recorded, WarpChoice};
use super::report::Stall;
use super::shape::Shapes;
use super::slots::Slots;
use super::time::FRACTION;
use super::warp::{AtBarrier, BarrierState, Block, Groups, NEVER, RegisterState, STATE_BITS, Warp};
use crate::event::{BlockTrace, Detail};
use crate::host::{HOST_BYTES, prefetch};
use crate::profile::Profile;

/// What a step did that the grid has to know.
#[derive(Debug, Default)]
pub(super) struct StepOutcome {
    /// The end of each block that ended, and its issue slots.
    pub finished: Vec<(u64, u64)>,
}

/// One SM.
#[derive(Debug)]
pub(super) struct Sm {
    index: usize,
    /// The warps by slot, and what schedulers choose by.
    warps: Vec<Option<Warp>>,
    slots: Slots,
    /// The registers of the warps, so many of each slot, and what the warps wait for later.
    registers: Vec<RegisterState>,
    registers_per_warp: usize,
    groups: Vec<Groups>,
    schedulers: Vec<Scheduler>,
    /// When each has something to do next, as far as that is known.
    wakes: Vec<u64>,
    /// Of which schedulers it is not known when they have something to do, and those that have it first of the others.
    stale: u32,
    due: u32,
    pub pipes: PipeTimes,
    blocks: Vec<Option<Block>>,
    resident_blocks: u32,
    /// Blocks started so far.
    block_age: u64,
    /// Which scheduler is asked first in a clock: at the pipes that they share each has its turn.
    first_scheduler: usize,
    /// When the last of the blocks that it has from the beginning starts.
    last_start: Option<u64>,
    /// The first clock of the first block.
    first_start: Option<u64>,
    /// Clocks of all warps that ended, and when the last one did, for the achieved occupancy.
    pub warp_clocks: u64,
    pub last_end: u64,
    /// Clocks of all schedulers in which they issued something.
    pub issue_clocks: u64,
}

/// Lines of the host's caches with a warp's registers that are fetched ahead.
const WARM_LINES: usize = 4;

/// One scheduler of an SM.
#[derive(Debug, Clone)]
struct Scheduler {
    /// It issues nothing before this clock.
    next_issue: u64,
    /// The slot for which it issued last, and the two instructions that it issued last for that, the latest first.
    last: usize,
    last_pcs: [u32; 2],
    /// The slot that it issues when it has something to do next.
    chosen: usize,
}

impl Scheduler {
    /// Issues for so many clocks; how many it has not counted yet: a second instruction of a clock takes no more of it.
    fn issue(&mut self, now: u64, clocks: u64) -> u64 {
        let from = self.next_issue.max(now);
        self.next_issue = now + clocks;
        self.next_issue.saturating_sub(from)
    }
}

impl Sm {
    pub fn new(profile: &Profile, pipes: &Pipes, registers: usize, index: usize) -> Self {
        let schedulers = profile.issue.schedulers as usize;
        let per_scheduler = (profile.limits.max_warps_per_sm as usize).div_ceil(schedulers);
        let slots = Slots::new(profile.issue.policy, schedulers, per_scheduler);
        Self {
            index,
            warps: (0..slots.len()).map(|_| None).collect(),
            registers: vec![0; slots.len() * registers],
            registers_per_warp: registers,
            groups: (0..slots.len()).map(|_| Groups::default()).collect(),
            slots,
            schedulers: vec![
                Scheduler { next_issue: 0, last: 0, last_pcs: [NOTHING; 2], chosen: 0 };
                schedulers
            ],
            wakes: vec![NEVER; schedulers],
            stale: 0,
            due: 0,
            pipes: PipeTimes::new(pipes, schedulers),
            blocks: Vec::new(),
            resident_blocks: 0,
            block_age: 0,
            first_scheduler: 0,
            last_start: None,
            first_start: None,
            warp_clocks: 0,
            last_end: 0,
            issue_clocks: 0,
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
        (number, stratum, work): (u64, usize, u64),
        trace: BlockTrace,
        chip: &mut Chip<'_>,
    ) {
        let launch = &chip.profile.launch;
        let warps = trace.warps.len() as u32;
        let start = match freed {
            None => {
                let next = self.last_start.map_or(0, |last| last + u64::from(launch.apart(warps)));
                *self.last_start.insert(next.max(launch.cold_cycles.into()))
            }
            Some(end) => {
                let earliest = end + u64::from(launch.turnaround(warps));
                chip.distributor.start(earliest, launch.replacement(warps))
            }
        };
        self.first_start.get_or_insert(if freed.is_none() { 0 } else { start });
        let block = self.blocks.iter().position(Option::is_none).unwrap_or(self.blocks.len());
        let state = Block {
            live: trace.warps.len() as u32,
            barriers: Vec::new(),
            started: start,
            work,
            shapes: Shapes::start(&mut chip.shapes, trace.patterns.list),
        };
        if block == self.blocks.len() {
            self.blocks.push(Some(state));
        } else {
            self.blocks[block] = Some(state);
        }
        self.resident_blocks += 1;
        self.block_age += 1;
        let mut hardware_warps = 0..self.warps.len();
        for (index, warp) in trace.warps.into_iter().enumerate() {
            let free = hardware_warps
                .find(|hardware| self.warps[self.slots.of_hardware(*hardware)].is_none());
            let Some(hardware) = free else { break };
            let slot = self.slots.of_hardware(hardware);
            let recorded = chip.recording.as_mut().map(|recording| {
                let warp = WarpChoice { block: number, warp: index as u32 };
                recording.start_warp(self.index, warp, hardware as u32, start)
            });
            self.warps[slot] = Some(Warp {
                events: warp.events,
                accesses: warp.accesses,
                position: 0,
                block: block as u32,
                place: (self.index * self.slots.len() + hardware) as u32,
                counted: stratum * chip.plans.len(),
                block_age: self.block_age,
                free_at: start,
                free_reason: Stall::Control,
                wait_from: start,
                operands_at: start,
                operands_reason: Stall::Control,
                pipe_was_busy: false,
                at_barrier: false,
                recorded: recorded.unwrap_or_default(),
            });
            registers_of(&mut self.registers, self.registers_per_warp, slot).fill(0);
            self.groups[slot] = Groups::default();
            self.prepare(slot, chip);
        }
    }

    /// When something can happen next; `None` = all warps wait at barriers, or there are none.
    pub fn next_time(&mut self) -> Option<u64> {
        while self.stale != 0 {
            let scheduler = self.stale.trailing_zeros() as usize;
            self.stale &= self.stale - 1;
            let own = &mut self.schedulers[scheduler];
            let takes = self.pipes.takes_wanted(scheduler);
            (self.wakes[scheduler], own.chosen) =
                self.slots.next(scheduler, own.last, own.next_issue, takes);
        }
        let mut next = NEVER;
        self.due = 0;
        for (scheduler, &wake) in self.wakes.iter().enumerate() {
            self.due =
                if wake < next { 0 } else { self.due } | u32::from(wake <= next) << scheduler;
            next = next.min(wake);
        }
        (next != NEVER).then_some(next)
    }

    /// Lets the host's caches fetch what warps that are ready before a clock will look at: for all of them at once what
    /// one step after another leads to.
    pub fn warm(&self, until: u64, memory: &Memory<'_>) {
        let ready = (0..self.slots.len()).filter(|slot| self.slots.ready_at(*slot) < until);
        let ready: SmallVec<[usize; 64]> = ready.collect();
        let each = self.registers_per_warp;
        for &slot in &ready {
            prefetch(&self.warps, slot);
            (slot * each..(slot + 1) * each)
                .step_by(HOST_BYTES / size_of::<RegisterState>())
                .take(WARM_LINES)
                .for_each(|register| prefetch(&self.registers, register));
        }
        let warps = || ready.iter().filter_map(|slot| self.warps[*slot].as_ref());
        warps().for_each(|warp| prefetch(&warp.events, warp.position));
        let accesses: SmallVec<[(&Warp, u32); 64]> =
            warps().filter_map(|warp| Some((warp, warp.next_access()?))).collect();
        accesses.iter().for_each(|(warp, access)| prefetch(&warp.accesses, *access as usize));
        let shapes =
            |warp: &Warp| Some(self.blocks.get(warp.block as usize)?.as_ref()?.shapes.borrow());
        let traced = || {
            accesses.iter().filter_map(|(warp, access)| {
                Some((shapes(warp)?, warp.accesses.get(*access as usize)?))
            })
        };
        traced().for_each(|(shapes, access)| shapes.warm(access.pattern));
        for (shapes, access) in traced() {
            shapes.warm_offsets(access.pattern);
            // Those of many lanes look at all of their lines when they come.
            if shapes.of_few(access.pattern) {
                memory.warm_next(self.index, access);
            }
        }
    }

    /// Clocks from the first block's start to the last one's end.
    pub fn active_clocks(&self) -> u64 {
        self.first_start.map_or(0, |start| self.last_end.saturating_sub(start))
    }

    fn set_ready(&mut self, slot: usize, time: u64) {
        self.stale |= 1 << self.slots.set_ready(slot, time);
    }

    /// Lets every scheduler issue at `now`, which [`Sm::next_time`] has said.
    pub fn step(&mut self, now: u64, chip: &mut Chip<'_>) -> StepOutcome {
        let mut outcome = StepOutcome::default();
        let schedulers = self.schedulers.len();
        let first = self.first_scheduler;
        let due = std::mem::take(&mut self.due);
        let mut turns = (1_u64 << schedulers) - 1;
        loop {
            // What another scheduler did in this clock may have made a warp ready.
            let some = u64::from(due | self.stale);
            let next = (some << schedulers | some) >> first & turns;
            if next == 0 {
                break;
            }
            turns &= u64::MAX << next.trailing_zeros() << 1;
            let turn = first + next.trailing_zeros() as usize;
            let scheduler = if turn < schedulers { turn } else { turn - schedulers };
            let own = &self.schedulers[scheduler];
            if own.next_issue > now {
                continue;
            }
            let mut known = (self.stale >> scheduler & 1 == 0).then_some(own.chosen);
            self.stale |= 1 << scheduler;
            let mut issued = 0;
            while issued < chip.profile.issue.width {
                let last = self.schedulers[scheduler].last;
                let takes = self.pipes.takes_wanted(scheduler);
                // Others may have taken the pipe that it wants, but what could not issue before cannot now.
                let known = known.take().filter(|slot| self.slots.can(*slot, now, takes));
                let slot = if known.is_some() {
                    known
                } else if issued == 0 {
                    self.slots.pick(scheduler, last, now, takes)
                } else {
                    // A second instruction in the same slot has to come from the same warp.
                    Some(last).filter(|slot| self.slots.can(*slot, now, takes))
                };
                let Some(slot) = slot else { break };
                if self.issue(slot, scheduler, now, chip, &mut outcome) {
                    issued += 1;
                }
            }
        }
        outcome
    }

    /// Issues the next instruction of a warp, unless its pipe is busy.
    #[inline(never)]
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
        let Some(&event) = warp.events.get(warp.position) else {
            self.end_warp(slot, now, chip, outcome);
            return false;
        };
        let plan = &chip.plans[event.pc as usize];
        let Some(pipe) = self.pipes.first_free(scheduler, &plan.pipes) else {
            self.set_ready(slot, NEVER);
            return false;
        };
        let pipe_ready = self.pipes.takes(scheduler, pipe);
        if pipe_ready > now {
            self.set_ready(slot, pipe_ready);
            return false;
        }
        let start = now.max(self.pipes.free(scheduler, pipe) / FRACTION);
        warp.pipe_was_busy = pipe_ready > warp.operands_at;

        let counted = warp.counted + event.pc as usize;
        let cost = plan.cost(event.detail);
        let counts = &mut chip.per_pc[counted];
        counts.issues += 1;
        counts.issue_slots += cost.slots;
        chip.slots += cost.slots;
        counts.thread_instructions += u64::from(event.active.count_ones());
        warp.account(now, counts);
        if warp.recorded != Recorded::default()
            && let Some(recording) = &mut chip.recording
        {
            recording.issue(warp.recorded, now, event, warp.waited(now));
        }

        // Result times.
        let (mut busy, mut room) = (cost.interval, 0);
        let mut done = start + cost.latency;
        if let Detail::Values(values) = event.detail {
            busy *= u64::from(values.max(1));
            done += (f64::from(values.saturating_sub(1)) * plan.value_latency) as u64;
        }
        let schedulers = self.schedulers.len();
        let own = &mut self.schedulers[scheduler];
        if own.last != slot {
            own.last_pcs = [NOTHING; 2];
        }
        if plan.operands_wait {
            let clocks = chip.operand_ports.clocks(chip.plans, event.pc, own.last_pcs);
            self.pipes.fetch(scheduler, now, clocks, &chip.wanting);
        }
        own.last_pcs = [event.pc, own.last_pcs[0]];
        own.last = slot;
        self.issue_clocks += own.issue(now, cost.dispatch_cycles);
        // How long a product reads shared memory is in the units of its shape.
        if let Detail::Memory { count, .. } = event.detail
            && event.active != 0
            && !plan.product
            && let Some(block) = self.blocks[warp.block as usize].as_ref()
        {
            let copies = &mut self.groups[slot].copies;
            let (end, work, held) = access(
                chip,
                (self.index, warp.place as usize),
                start,
                event,
                (warp, block, copies),
                counted,
            );
            let second = plan.passes - 1;
            let apart = u64::from(chip.profile.atomics.shared_same_address_latency) * 2 * second;
            let behind = u64::from(count.saturating_sub(1)) * plan.access_latency;
            done = done.max(end + plan.added + behind + apart);
            busy = busy.max(work * plan.passes);
            room = held * plan.passes;
        }
        let state = done << STATE_BITS | plan.state;
        let registers = registers_of(&mut self.registers, self.registers_per_warp, slot);
        for &register in plan.writes.iter() {
            registers[register as usize] = state;
        }
        // A second instruction may follow in the same clock.
        let next = if chip.profile.issue.width > 1 { now } else { own.next_issue };
        if self.pipes.occupy(scheduler, pipe, (now, next), (busy, room), &chip.wanting) {
            self.first_scheduler = (scheduler + 1) % schedulers;
        }
        if plan.product {
            let end = self.pipes.free(scheduler, pipe) / FRACTION;
            let pending = &mut self.groups[slot].products.pending;
            *pending = (*pending).max(end);
        }
        if plan.f64 {
            let until = now + plan.issue_cycles;
            self.schedulers.iter_mut().for_each(|s| s.next_issue = s.next_issue.max(until));
            self.stale = (1 << schedulers) - 1;
        }
        go_on(warp, &mut self.groups[slot], event, now, &cost, chip);
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
        let done = self.warps[slot].as_ref().is_some_and(|w| w.position >= w.events.len());
        if done && self.slots.ready_at(slot) != NEVER {
            self.end_warp(slot, now, chip, outcome);
        }
    }

    /// Computes when the warp's next instruction has its operands.
    fn prepare(&mut self, slot: usize, chip: &Chip<'_>) {
        let Some(warp) = self.warps[slot].as_mut() else { return };
        let (mut at, mut reason) = (warp.free_at, warp.free_reason);
        let (mut wants, mut age) = (0, warp.block_age);
        if let Some(event) = warp.events.get(warp.position) {
            let plan = &chip.plans[event.pc as usize];
            wants = plan.wants;
            if plan.global {
                age = 0;
            }
            let registers = registers_of(&mut self.registers, self.registers_per_warp, slot);
            (at, reason) = plan.operands_at(registers, (at, reason), &chip.further);
        }
        if warp.at_barrier {
            let barrier = self.groups[slot].barrier;
            let next =
                warp.events.get(warp.position).filter(|_| warp.position + 1 < warp.events.len());
            let slips = next.is_some_and(|next| chip.plans[next.pc as usize].arithmetic);
            if !slips || at >= barrier.stops {
                if barrier.opens == NEVER {
                    self.set_ready(slot, NEVER);
                    return;
                }
                warp.at_barrier = false;
                if barrier.opens > at {
                    (at, reason) = (barrier.opens, Stall::Barrier);
                }
            }
        }
        warp.operands_at = at;
        warp.operands_reason = reason;
        warp.pipe_was_busy = false;
        self.stale |= 1 << self.slots.set(slot, at, wants, (age, warp.free_at));
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
        let Some(warp) = self.warps[slot].as_mut() else { return };
        let block_index = warp.block as usize;
        let Some(block) = self.blocks[block_index].as_mut() else { return };
        if let Some(event) = warp.position.checked_sub(1).and_then(|at| warp.events.get(at))
            && wait
        {
            // What a barrier counts or combines is not there before it opens.
            let slips = chip.plans[event.pc as usize].writes.is_empty();
            let deferred = if slips { chip.profile.barrier.deferred_cycles } else { 0 };
            let stops = now + u64::from(deferred);
            warp.at_barrier = true;
            self.groups[slot].barrier = AtBarrier { pc: event.pc, stops, opens: NEVER };
        }
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
        }
        self.prepare(slot, chip);
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
            if self.warps[slot].as_ref().is_some_and(|warp| warp.at_barrier) {
                let barrier = &mut self.groups[slot].barrier;
                barrier.opens = open;
                let plan = &chip.plans[barrier.pc as usize];
                // What it counts or combines comes behind it.
                if !plan.writes.is_empty() {
                    let known = open + u64::from(chip.profile.barrier.result_latency);
                    let registers =
                        registers_of(&mut self.registers, self.registers_per_warp, slot);
                    for &register in &plan.writes {
                        let guards = chip.registers.guards[register as usize];
                        let known = known + if guards { chip.further.guard } else { 0 };
                        registers[register as usize] = known << STATE_BITS | plan.state;
                    }
                }
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
        if let Some(recording) = &mut chip.recording {
            recording.end_warp(warp.recorded, end);
        }
        let ended = match self.blocks[warp.block as usize].as_mut() {
            Some(block) => {
                self.warp_clocks += end.saturating_sub(block.started);
                block.live -= 1;
                (block.live == 0).then_some(block.work)
            }
            None => None,
        };
        if let Some(work) = ended {
            self.blocks[warp.block as usize] = None;
            self.resident_blocks -= 1;
            outcome.finished.push((end, work));
        } else {
            // The others need not wait for a warp that has left.
            self.release(warp.block as usize, now, chip);
        }
    }
}

/// Those of a slot, of all registers.
fn registers_of(all: &mut [RegisterState], each: usize, slot: usize) -> &mut [RegisterState] {
    &mut all[slot * each..][..each]
}
