//! What a user reads: the timing of one launch, as plain data that serialises to JSON and back.
//!
//! Counts and times are of the whole grid, estimated where [`Report::sampling`] says so. A number that the model does
//! not have is absent, never guessed.

pub(crate) mod build;
mod build_totals;
mod build_warp;
pub(crate) mod inputs;
mod memory;
mod place;
pub(crate) mod sample;
pub(crate) mod timeline;
mod totals;
mod warp;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::sim::report::Stall;
pub use memory::{AccessPattern, BankRequest, CacheInfo, MemoryInfo, MemoryLine, MemorySpace};
pub use timeline::{IssueSpan, Timeline, WarpTimeline};
pub use totals::{ActivitySpan, OperationInfo, SchedulerInfo, UnitInfo};
pub use warp::{Begins, WarpAccessInfo, WarpInfo, WarpPart};

/// Format version of serialised reports.
pub const VERSION: u32 = 1;

/// Warp clocks lost before instructions issued, by reason; reasons without any are absent.
pub type Stalls = BTreeMap<Stall, u64>;

/// Timing of one kernel launch on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// Kernel.
    pub kernel: String,
    /// Name of the PTX module.
    pub module: String,
    /// Device.
    pub device: DeviceInfo,
    /// Shape of the launch.
    pub launch: LaunchInfo,
    /// Times and rates.
    pub summary: Summary,
    /// What limits the kernel most.
    pub limiter: Limiter,
    /// How many blocks an SM holds.
    pub occupancy: OccupancyInfo,
    /// The same over block sizes, registers and shared memory per block as they are.
    pub occupancy_by_block: Vec<OccupancyPoint>,
    /// Caches and device memory.
    pub memory: MemoryInfo,
    /// What instructions asked memory for, by space and operation.
    #[serde(default)]
    pub operations: Vec<OperationInfo>,
    /// Execution and memory pipes.
    pub pipes: Vec<PipeInfo>,
    /// Everything that can be saturated, the most used first: pipes, issue slots, L2, device memory.
    #[serde(default)]
    pub units: Vec<UnitInfo>,
    /// What a scheduler did.
    #[serde(default)]
    pub scheduler: SchedulerInfo,
    /// What the device did over time, in spans of one length, of the simulated part of the grid.
    #[serde(default)]
    pub activity: Vec<ActivitySpan>,
    /// Stalls of all instructions.
    pub stalls: Stalls,
    /// Set when only part of the grid was simulated.
    pub sampling: Option<SamplingInfo>,
    /// Every PTX instruction of the kernel and the functions it can call, in text order.
    pub lines: Vec<Line>,
    /// What the warps of one SM did, if asked for.
    pub timeline: Option<Timeline>,
    /// What one warp did, if asked for and the grid has it.
    #[serde(default)]
    pub warp: Option<WarpInfo>,
}

/// The device, as far as a report's reader needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Name of the profile.
    pub name: String,
    /// Such as `9.0`.
    pub compute_capability: String,
    /// SMs.
    pub multiprocessors: u32,
    /// Warp schedulers of an SM.
    pub schedulers: u32,
    /// Clock of the SMs; all cycles are of this clock.
    pub sm_mhz: f64,
    /// Theoretical bandwidth of device memory.
    pub dram_gbps: f64,
    /// Share of it that a perfectly coalesced stream reaches.
    pub dram_efficiency: f64,
    /// Peak single-precision rate, a multiply-add counting as two.
    pub peak_f32_gflops: f64,
    /// Peak double-precision rate where the device has double precision.
    pub peak_f64_gflops: Option<f64>,
    /// Bytes of the second-level cache, where there is one.
    pub l2_bytes: Option<u64>,
    /// Shared-memory banks.
    pub banks: u32,
    /// Bytes that a memory transaction fetches at least.
    pub sector_bytes: u32,
}

/// Shape of the launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchInfo {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Shared memory that the module declares.
    pub static_shared: u32,
    /// Shared memory that the launch adds.
    pub dynamic_shared: u32,
    /// Registers of a thread, as occupancy counts them.
    pub registers: Option<u32>,
    /// Where that number comes from.
    pub registers_from: Option<RegistersFrom>,
}

/// Where the number of registers comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegistersFrom {
    /// The caller gave it.
    Given,
    /// Estimated from the values that are live at once.
    Estimate,
    /// Estimated, and cut by `.maxnreg` or `.maxntid` with `.minnctapersm`.
    Directive,
}

/// Times and rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// SM clocks from the first block's start to the last block's end.
    pub cycles: u64,
    /// The same with the cost of starting a kernel.
    pub elapsed_cycles: u64,
    /// `elapsed_cycles` as time.
    pub microseconds: f64,
    /// What a host waits for one launch on top, if it waits for the end.
    pub host_microseconds: f64,
    /// Machine instructions (warps) per clock and SM; PTX instructions that expand count in full.
    pub ipc: f64,
    /// PTX instructions issued by warps, of the simulated blocks.
    pub warp_instructions: u64,
    /// The same times the lanes that executed them.
    pub thread_instructions: u64,
    /// Machine instructions (warps) that these stand for.
    pub issue_slots: u64,
    /// Lanes of a warp instruction that did something, on average.
    pub lanes_per_instruction: f64,
    /// Resident warps over the most possible, averaged over the time SMs had work.
    pub achieved_occupancy: f64,
    /// Blocks of the grid over the blocks that all SMs hold at once.
    pub waves: f64,
    /// Share of the time that passes after the first SM has run out of blocks.
    pub tail: Option<f64>,
    /// Single-precision operations of the whole grid, a multiply-add counting as two.
    pub f32_operations: u64,
    /// Double-precision operations.
    pub f64_operations: u64,
    /// Operations of the tensor pipe, a multiply-add counting as two; those of sparse products with zeros included.
    #[serde(default)]
    pub tensor_operations: u64,
    /// Single-precision rate over the time without launch cost.
    pub f32_gflops: f64,
    /// Double-precision rate.
    pub f64_gflops: f64,
    /// Rate of the tensor pipe.
    #[serde(default)]
    pub tensor_gflops: f64,
}

/// What limits the kernel most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limiter {
    /// Kind.
    pub kind: LimiterKind,
    /// The pipe or stall reason that it is about, if any.
    pub what: Option<String>,
    /// Share of the resource in use, or of all waiting.
    pub share: f64,
    /// One sentence.
    pub sentence: String,
}

/// Kinds of limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimiterKind {
    /// Bandwidth of device memory.
    Dram,
    /// Bandwidth of the second-level cache.
    L2,
    /// An execution pipe.
    Pipe,
    /// Issue slots.
    Issue,
    /// Nothing is saturated: warps wait.
    Latency,
}

/// How many blocks an SM holds, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OccupancyInfo {
    /// Resident blocks.
    pub blocks: u32,
    /// Warps of a block.
    pub warps_per_block: u32,
    /// Resident warps.
    pub warps: u32,
    /// The most warps that the SM can hold.
    pub max_warps: u32,
    /// `warps / max_warps`.
    pub fraction: f64,
    /// Blocks that each limit would allow; absent = does not limit.
    pub blocks_by: Vec<(String, Option<u32>)>,
    /// The limits that decide.
    pub limiters: Vec<String>,
    /// Registers that a block occupies, rounded as they are handed out.
    pub registers_per_block: u64,
    /// Shared memory that a block occupies, rounded and with the system's share.
    pub shared_per_block: u64,
}

/// One point of the occupancy curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OccupancyPoint {
    /// Threads of a block.
    pub threads: u32,
    /// Resident warps; absent where the block does not fit.
    pub warps: Option<u32>,
    /// Over the most possible.
    pub fraction: f64,
    /// The limits that decide, or why the block does not fit.
    pub limited_by: String,
}

/// Use of a pipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PipeInfo {
    /// Name in the profile.
    pub name: String,
    /// Share of clocks that it was busy, averaged over all of the device.
    pub busy: f64,
}

/// That only part of the grid was simulated, and how far off the time may be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SamplingInfo {
    /// Blocks simulated.
    pub simulated: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// What the time may be off by, as a share of it.
    pub relative_error: f64,
}

/// One PTX instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Function.
    pub function: String,
    /// Index within the function.
    pub index: u32,
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// Text of the instruction.
    pub text: String,
    /// Place that `.loc` names.
    pub source: Option<SourcePlace>,
    /// Timing class.
    pub class: String,
    /// The assembler turns it into nothing (a constant operand, part of another instruction).
    pub folded: bool,
    /// Warp instructions issued.
    pub issues: u64,
    /// Machine instructions (warps) that these stand for.
    pub issue_slots: u64,
    /// Active lanes summed over `issues`.
    pub thread_instructions: u64,
    /// Active lanes per issue; absent if never issued.
    pub lanes_per_issue: Option<f64>,
    /// Branches: how often lanes of a warp went different ways.
    pub branch: Option<BranchInfo>,
    /// Warp clocks lost before it issued.
    pub stalls: Stalls,
    /// Memory instructions.
    pub memory: Option<MemoryLine>,
}

/// A place in the program that the PTX was compiled from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePlace {
    /// File, as the module names it.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// How often a branch was executed and diverged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BranchInfo {
    /// Executions by warps.
    pub executed: u64,
    /// Those after which lanes went different ways.
    pub divergent: u64,
}
