//! Resident warps and blocks, and what holds a warp back.

use std::cell::RefCell;
use std::rc::Rc;

use super::record::Recorded;
use super::report::{PcCounts, Stall};
use super::shape::Shapes;
use ptx_isa::Class;

use crate::event::{BlockTrace, CopyGroup, Detail, Event, TracedAccess};

/// Not ready until somebody says so.
pub(super) const NEVER: u64 = u64::MAX;

/// When a register can be read, and what decides about further waiting: the clock above
/// [`STATE_BITS`] bits for the pipe that the value comes from, whether that is memory, whether it
/// takes longer to become a guard, and whether its upper half comes later.
pub(super) type RegisterState = u64;

pub(super) const STATE_BITS: u32 = 9;
pub(super) const FROM_MEMORY: u64 = 1;
pub(super) const GUARD_EXTRA: u64 = 2;
pub(super) const IN_HALVES: u64 = 4;
pub(super) const PIPE_SHIFT: u32 = 3;

/// The lower bits of the states of results of a class.
pub(super) fn state_bits(pipe: u8, class: Class) -> u64 {
    let flag = |set: bool, bit: u64| if set { bit } else { 0 };
    u64::from(pipe & 63) << PIPE_SHIFT
        | flag(class.is_memory(), FROM_MEMORY)
        | flag(matches!(class, Class::Compare | Class::Compare64), GUARD_EXTRA)
        | flag(class == Class::IntAdd64, IN_HALVES)
}

/// A resident warp. It takes as few lines of the host's caches as can be: what is seldom looked at lies apart.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Warp {
    pub events: Vec<Event>,
    pub accesses: Vec<TracedAccess>,
    pub position: usize,
    pub block: u32,
    /// Its place among all warps that the device can hold.
    pub place: u32,
    /// Where the counts of its stratum begin.
    pub counted: usize,
    /// The number of its block among those that the SM has started.
    pub block_age: u64,
    /// Earliest next issue in program order.
    pub free_at: u64,
    pub free_reason: Stall,
    /// Since when the next instruction has been waiting.
    pub wait_from: u64,
    /// Whether it has come to a barrier and has not gone on behind it.
    pub at_barrier: bool,
    /// When its operands are there, and what they came from.
    pub operands_at: u64,
    pub operands_reason: Stall,
    pub pipe_was_busy: bool,
    /// What is recorded of it.
    pub recorded: Recorded,
}

const _: () = assert!(size_of::<Option<Warp>>() == 128);

/// What a warp started and waits for later.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub copies: Copies,
    pub products: Copies,
    /// The last barrier that it has come to.
    pub barrier: AtBarrier,
}

impl Groups {
    /// Commits copies or products that it has started, or waits for them; behind products for some clocks more.
    #[inline]
    pub fn join(&mut self, detail: Detail, now: u64, latency: u64, warp: &mut Warp) {
        match detail {
            Detail::Copies(group) => {
                let until = self.copies.group(group);
                if until > warp.free_at {
                    (warp.free_at, warp.free_reason) = (until, Stall::Memory);
                }
            }
            Detail::Products(group) => {
                let until = self.products.group(group);
                if until > now {
                    (warp.free_at, warp.free_reason) = (until + latency, Stall::Execution);
                }
            }
            Detail::None
            | Detail::Memory { .. }
            | Detail::Values(_)
            | Detail::Path(_)
            | Detail::Diverges { .. }
            | Detail::Barrier { .. } => {}
        }
    }
}

/// When a warp's asynchronous copies, or products, are complete.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Those that are not committed.
    pub pending: u64,
    /// Groups, the oldest first.
    pub groups: Vec<u64>,
}

impl Copies {
    /// Commits or waits; the clock until which the warp waits.
    pub fn group(&mut self, group: CopyGroup) -> u64 {
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

/// A barrier that a warp has come to. It does not stop at once: arithmetic right behind the barrier still issues.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AtBarrier {
    /// Its instruction.
    pub pc: u32,
    /// Before this clock arithmetic issues.
    pub stops: u64,
    /// When the barrier opens; `NEVER` = not known.
    pub opens: u64,
}

/// Instructions that a warp may issue in a time slice, most often.
const SOON: usize = 6;

/// One of a block's named barriers.
#[derive(Debug, Clone, Default)]
pub(super) struct BarrierState {
    pub arrived: u32,
    pub expected: u32,
    pub first: u64,
    pub waiting: Vec<usize>,
}

/// A resident block.
#[derive(Debug)]
pub(super) struct Block {
    pub live: u32,
    pub barriers: Vec<(u8, BarrierState)>,
    pub started: u64,
    /// Issue slots of all its instructions, where that is asked for.
    pub work: u64,
    pub shapes: Rc<RefCell<Shapes>>,
}

impl Warp {
    /// Clocks since its previous issue, and what most of them went to.
    pub fn waited(&self, now: u64) -> (u64, Stall) {
        let operands = self.operands_at.clamp(self.wait_from, now.max(self.wait_from));
        let rest = now.saturating_sub(operands);
        let waited = operands - self.wait_from + rest;
        let busy = if self.pipe_was_busy { Stall::Pipe } else { Stall::NotSelected };
        let first = operands - self.wait_from >= rest;
        (waited, if first { self.operands_reason } else { busy })
    }

    /// The first access among its next instructions, for [`super::sm::Sm::warm`].
    pub fn next_access(&self) -> Option<u32> {
        let mut events = self.events.get(self.position..)?.iter().take(SOON);
        events.find_map(|event| match event.detail {
            Detail::Memory { first, .. } => Some(first),
            _ => None,
        })
    }

    /// Attributes the clocks since the warp's previous issue.
    pub fn account(&self, now: u64, counts: &mut PcCounts) {
        let add = |counts: &mut PcCounts, reason: Stall, clocks: u64| {
            counts.stalls[reason as usize] += clocks;
        };
        let operands = self.operands_at.clamp(self.wait_from, now.max(self.wait_from));
        add(counts, self.operands_reason, operands - self.wait_from);
        let rest = if self.pipe_was_busy { Stall::Pipe } else { Stall::NotSelected };
        add(counts, rest, now.saturating_sub(operands));
    }
}

/// Where local memory lies for the caches: far from every allocation.
pub(super) const LOCAL_BASE: u64 = 1 << 60;

/// Where the local memory of a warp slot begins. Slots lie one after the other, as the driver allocates
/// them for all warps that can be resident.
pub(super) fn local_base(slot: usize, bytes_per_thread: u32) -> u64 {
    let bytes = (u64::from(bytes_per_thread.max(16)) * 32).next_multiple_of(512);
    LOCAL_BASE + slot as u64 * bytes
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
                Detail::None
                | Detail::Barrier { .. }
                | Detail::Copies(_)
                | Detail::Products(_)
                | Detail::Values(_)
                | Detail::Path(_)
                | Detail::Diverges { .. } => false,
            };
            e.pc as usize >= instructions || access_missing
        };
        t.events.iter().find(bad).map(|e| (warp, *e))
    })
}
