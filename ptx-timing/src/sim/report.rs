//! What a simulation comes out with.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::activity::Mark;
use crate::cache::CacheCounts;
use crate::occupancy::Occupancy;

/// Why a warp could not issue for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// An operand comes from memory.
    Memory,
    /// An operand comes from an arithmetic instruction.
    Execution,
    /// The execution or memory pipe was busy.
    Pipe,
    /// Waiting at a barrier.
    Barrier,
    /// Behind a branch, or the block's start.
    Control,
    /// Ready, but the scheduler took another warp.
    NotSelected,
}

impl Stall {
    /// Every reason.
    pub const ALL: [Stall; 6] = [
        Stall::Memory,
        Stall::Execution,
        Stall::Pipe,
        Stall::Barrier,
        Stall::Control,
        Stall::NotSelected,
    ];

    /// Name in serialised reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Execution => "execution",
            Self::Pipe => "pipe",
            Self::Barrier => "barrier",
            Self::Control => "control",
            Self::NotSelected => "not-selected",
        }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "waiting for memory",
            Self::Execution => "waiting for an arithmetic result",
            Self::Pipe => "pipe busy",
            Self::Barrier => "waiting at a barrier",
            Self::Control => "branch or start",
            Self::NotSelected => "another warp was chosen",
        })
    }
}

/// Counts of one PTX instruction over all warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PcCounts {
    /// Warp instructions issued.
    pub issues: u64,
    /// Active lanes summed over them.
    pub thread_instructions: u64,
    /// Issue slots, expansions counted in full.
    pub issue_slots: u64,
    /// Memory instructions with at least one lane.
    pub requests: u64,
    /// Transactions (1.x, cached 2.x) or sectors; constant loads: addresses.
    pub sectors: u64,
    /// Those of loads that the SM's own cache had (L1 or the texture cache).
    pub hits: u64,
    /// Bytes of these transactions.
    pub bytes: u64,
    /// Bytes that lanes asked for, lanes on one address counted once.
    pub bytes_used: u64,
    /// Transactions that these bytes would need if they lay together.
    pub ideal_sectors: u64,
    /// Bytes per lane of the widest access.
    pub width: u32,
    /// Some access reached local memory.
    pub local: bool,
    /// Clocks from issue to result, summed over requests (loads and atomics).
    pub latency: u64,
    /// Bytes that its loads brought from device memory.
    pub dram_bytes: u64,
    /// Serialised shared-memory steps.
    pub shared_steps: u64,
    /// Those beyond a conflict-free access.
    pub shared_conflicts: u64,
    /// Warp clocks lost before it issued, by reason, in the order of [`Stall::ALL`].
    pub stalls: [u64; 6],
}

impl PcCounts {
    /// Adds the counts of another instruction.
    pub fn add(&mut self, other: &Self) {
        self.issues += other.issues;
        self.thread_instructions += other.thread_instructions;
        self.issue_slots += other.issue_slots;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.hits += other.hits;
        self.bytes += other.bytes;
        self.bytes_used += other.bytes_used;
        self.ideal_sectors += other.ideal_sectors;
        self.width = self.width.max(other.width);
        self.local |= other.local;
        self.latency += other.latency;
        self.dram_bytes += other.dram_bytes;
        self.shared_steps += other.shared_steps;
        self.shared_conflicts += other.shared_conflicts;
        for (sum, n) in self.stalls.iter_mut().zip(other.stalls) {
            *sum += n;
        }
    }
}

impl PcCounts {
    /// The counts of so many times the blocks.
    pub(super) fn scaled(&self, times: f64) -> Self {
        let n = |count: u64| (count as f64 * times).round() as u64;
        Self {
            issues: n(self.issues),
            thread_instructions: n(self.thread_instructions),
            issue_slots: n(self.issue_slots),
            requests: n(self.requests),
            sectors: n(self.sectors),
            hits: n(self.hits),
            bytes: n(self.bytes),
            bytes_used: n(self.bytes_used),
            ideal_sectors: n(self.ideal_sectors),
            latency: n(self.latency),
            dram_bytes: n(self.dram_bytes),
            shared_steps: n(self.shared_steps),
            shared_conflicts: n(self.shared_conflicts),
            width: self.width,
            local: self.local,
            stalls: self.stalls.map(n),
        }
    }
}

/// That only part of the grid was simulated, and how far off the time may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Blocks simulated.
    pub simulated: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// What the time may be off by for having simulated these blocks only, as a share of it: two standard
    /// errors of the strata's mean work, what a bend within the strata could hide, and twice what the ways to
    /// measure the pace differ by.
    pub relative_error: f64,
}

/// What limits the kernel most.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Device-memory bandwidth, with the share of the reachable bandwidth in use.
    Dram(f64),
    /// L2 bandwidth, with the share in use.
    L2(f64),
    /// An execution pipe, with the share of clocks it was busy.
    Pipe(String, f64),
    /// The schedulers' issue slots, with the share in use.
    Issue(f64),
    /// Nothing is saturated; warps mostly wait for this, with its share of all waiting.
    Latency(Stall, f64),
}

impl Bound {
    /// The share in use, or of waiting.
    pub fn share(&self) -> f64 {
        match self {
            Self::Dram(x)
            | Self::L2(x)
            | Self::Pipe(_, x)
            | Self::Issue(x)
            | Self::Latency(_, x) => *x,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |x: &f64| (x * 100.0).round();
        match self {
            Self::Dram(x) => write!(f, "limited by device-memory bandwidth ({}% used)", percent(x)),
            Self::L2(x) => write!(f, "limited by L2 bandwidth ({}% used)", percent(x)),
            Self::Pipe(name, x) => {
                write!(f, "limited by the {name} pipe ({}% busy)", percent(x))
            }
            Self::Issue(x) => write!(f, "limited by instruction issue ({}% of slots)", percent(x)),
            Self::Latency(stall, x) => {
                write!(f, "limited by latency: {stall} ({}% of waiting)", percent(x))
            }
        }
    }
}

/// What the schedulers did in a clock on average, while SMs had work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedulers {
    /// Share of clocks in which one issued.
    pub issuing: f64,
    /// Warps that could issue, the chosen one among them.
    pub eligible: f64,
    /// Instructions issued, expansions counted in full.
    pub issued: f64,
}

/// Counts of the caches, those of all SMs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheUse {
    /// First-level caches, in sectors.
    pub l1: CacheCounts,
    /// Second-level cache, in sectors.
    pub l2: CacheCounts,
    /// Constant caches, in lines.
    pub constant: CacheCounts,
    /// Texture caches, in sectors.
    pub texture: CacheCounts,
}

impl CacheUse {
    /// The same with each count changed.
    pub(super) fn map(self, change: impl Fn(CacheCounts) -> CacheCounts) -> Self {
        let Self { l1, l2, constant, texture } = self;
        let [l1, l2, constant, texture] = [l1, l2, constant, texture].map(change);
        Self { l1, l2, constant, texture }
    }
}

/// Result of a simulation. Counts and times are of the whole grid, estimated where only part of it was
/// simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// SM clocks from the first block's start to the last block's end.
    pub cycles: u64,
    /// The same of the simulated part of the grid.
    pub simulated_cycles: u64,
    /// Clocks that an SM has blocks, on average over all of the device.
    pub sm_active_cycles: f64,
    /// The timeline that the configuration asked for.
    pub recording: Option<super::record::Recording>,
    /// The same as `cycles` with the cost of a kernel launch.
    pub elapsed_cycles: u64,
    /// `elapsed_cycles` as time.
    pub microseconds: f64,
    /// How many blocks an SM can hold, and why.
    pub occupancy: Occupancy,
    /// Resident warps over the most possible, averaged over the time SMs had work.
    pub achieved_occupancy: f64,
    /// Blocks of the grid over the blocks that all SMs hold at once.
    pub waves: f64,
    /// Share of `cycles` that passes after the first SM has run out of blocks.
    pub tail: f64,
    /// What the schedulers did.
    pub schedulers: Schedulers,
    /// Totals over all instructions.
    pub total: PcCounts,
    /// Counts per instruction, indexed like [`crate::event::Code::instructions`].
    pub per_pc: Vec<PcCounts>,
    /// Bytes read from device memory.
    pub dram_read: u64,
    /// Bytes written to device memory.
    pub dram_written: u64,
    /// Reads and writes of the caches.
    pub caches: CacheUse,
    /// Share of clocks that each pipe was busy, by name.
    pub pipe_use: Vec<(String, f64)>,
    /// What had been done at the ends of spans of one length, of the simulated part of the grid.
    pub(crate) activity: Vec<Mark>,
    /// What limits the kernel.
    pub bound: Bound,
    /// What could limit it, the most used first.
    pub used: Vec<Bound>,
    /// Set when only part of the grid was simulated.
    pub sampling: Option<Sampling>,
}

impl Outcome {
    /// Warp instructions per clock and SM.
    pub fn ipc(&self, sms: u32) -> f64 {
        self.total.issues as f64 / self.cycles.max(1) as f64 / f64::from(sms)
    }
}
