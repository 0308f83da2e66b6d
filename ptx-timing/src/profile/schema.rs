//! The contents of a device profile, as data. One struct per TOML table.
//!
//! All latencies and intervals are in SM clocks (`clock.sm_mhz`; the "shader clock" on 1.x and 2.x).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use ptx_isa::Class;

/// Everything the timing model knows about one device. Produced by [`crate::profile::Catalog`],
/// which resolves inheritance and checks consistency; a value of this type is complete.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name as NVIDIA prints it, or `cc-1.3` for a class.
    pub name: String,
    /// Device or class default.
    pub kind: Kind,
    /// Other names the device goes by.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Anything a reader should know: conflicting records, assumptions.
    #[serde(default)]
    pub note: String,
    /// What the chip is and how many of what it has.
    pub device: Device,
    /// Clock frequencies.
    pub clock: Clock,
    /// Per-block and per-SM limits.
    pub limits: Limits,
    /// Granularities in which registers, warps and shared memory are handed out.
    pub allocation: Allocation,
    /// How global accesses of a warp become transactions.
    pub global: Global,
    /// Shared memory.
    pub shared: Shared,
    /// Constant memory.
    pub constant: Constant,
    /// Texture cache.
    pub texture: Option<CacheLevel>,
    /// First-level data cache, where global or local accesses can use one.
    pub l1: Option<CacheLevel>,
    /// Second-level cache.
    pub l2: Option<CacheLevel>,
    /// Device memory.
    pub dram: Dram,
    /// Atomic operations.
    pub atomics: Atomics,
    /// What the assembler makes of PTX.
    pub assembler: Assembler,
    /// Warp schedulers and issue rules.
    pub issue: Issue,
    /// Execution pipes by name.
    pub pipes: BTreeMap<String, Pipe>,
    /// Latency and throughput of every instruction class.
    pub class: BTreeMap<Class, ClassTiming>,
    /// Barrier cost.
    pub barrier: Barrier,
    /// Cost of starting a kernel and a block.
    pub launch: LaunchCosts,
    /// Link to the host.
    pub link: Link,
    /// Where each number comes from: dotted key to (profile file, source text). Filled by the
    /// catalog, not read from the file's own tables.
    #[serde(skip)]
    pub sources: BTreeMap<String, Source>,
}

impl Profile {
    /// Where the number under a dotted key (`dram.bandwidth_gbps`) comes from.
    pub fn source_of(&self, key: &str) -> Option<&Source> {
        self.sources.get(key)
    }

    /// SM clocks for a time in nanoseconds.
    pub fn cycles_from_ns(&self, ns: f64) -> f64 {
        ns * self.clock.sm_mhz / 1e3
    }

    /// Device-memory bytes per SM clock at the theoretical bandwidth.
    pub fn dram_bytes_per_cycle(&self) -> f64 {
        self.dram.bandwidth_gbps * 1e3 / self.clock.sm_mhz
    }

    /// Peak single-precision rate in GFLOP/s, a multiply-add counting as two.
    pub fn peak_f32_gflops(&self) -> f64 {
        let lanes = self.class.get(&Class::F32Fma).map_or(0.0, |c| c.per_clock);
        2.0 * lanes * f64::from(self.device.multiprocessors) * self.clock.sm_mhz / 1e3
    }
}

/// One number's origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Profile file that gives the number.
    pub file: String,
    /// What that file names as the source.
    pub text: String,
    /// The compute capability that the number was given for, if that is not the profile's own.
    pub assumed_from: Option<ComputeCapability>,
}

/// Whether a profile is a device or the default of a class of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A product.
    Device,
    /// What the devices of one compute capability inherit from.
    Class,
}

/// Compute capability, for example 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ComputeCapability {
    /// Major number.
    pub major: u8,
    /// Minor number.
    pub minor: u8,
}

impl TryFrom<String> for ComputeCapability {
    type Error = String;

    fn try_from(s: String) -> Result<Self, String> {
        let parsed = s.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let (major, minor) =
            parsed.ok_or_else(|| format!("'{s}' is no compute capability such as \"1.3\""))?;
        Ok(Self { major, minor })
    }
}

impl From<ComputeCapability> for String {
    fn from(cc: ComputeCapability) -> String {
        cc.to_string()
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Architecture family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// 1.x.
    Tesla,
    /// 2.x.
    Fermi,
    /// 3.x.
    Kepler,
    /// 5.x.
    Maxwell,
    /// 6.x.
    Pascal,
    /// 7.0 and 7.2.
    Volta,
    /// 7.5.
    Turing,
    /// 8.0 to 8.7.
    Ampere,
    /// 8.9.
    Ada,
    /// 9.0.
    Hopper,
    /// 10.x to 12.x.
    Blackwell,
}

/// `[device]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Architecture family.
    pub architecture: Architecture,
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// Chip name, if known.
    #[serde(default)]
    pub chip: String,
    /// GPUs on the product; each is a device of its own to a program.
    pub gpus: u32,
    /// Multiprocessors of one GPU.
    pub multiprocessors: u32,
    /// Scalar cores of one multiprocessor.
    pub cores_per_multiprocessor: u32,
    /// Device memory of one GPU in bytes, if known.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

/// `[clock]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Core clock.
    pub core_mhz: f64,
    /// Clock of the SM's pipelines: the shader clock on 1.x and 2.x, the core clock later.
    pub sm_mhz: f64,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Threads of a block.
    pub max_threads_per_block: u32,
    /// Block extent in x, y, z.
    pub max_block_dim: [u32; 3],
    /// Grid extent in x, y, z.
    pub max_grid_dim: [u32; 3],
    /// Lanes of a warp.
    pub warp_size: u32,
    /// 32-bit registers of an SM.
    pub registers_per_sm: u32,
    /// Registers that one thread can address.
    pub max_registers_per_thread: u32,
    /// Shared memory of an SM that blocks can use together.
    pub shared_bytes_per_sm: u32,
    /// Shared memory that one block can have.
    pub max_shared_bytes_per_block: u32,
    /// Resident blocks of an SM.
    pub max_blocks_per_sm: u32,
    /// Resident warps of an SM.
    pub max_warps_per_sm: u32,
    /// Resident threads of an SM.
    pub max_threads_per_sm: u32,
    /// Local memory of one thread.
    pub local_bytes_per_thread: u32,
}

/// What unit registers are handed out in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegisterScope {
    /// Rounded up per block (1.x).
    Block,
    /// Rounded up per warp (2.x and later).
    Warp,
}

/// `[allocation]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// Scope of the rounding.
    pub register_scope: RegisterScope,
    /// Registers are rounded up to a multiple of this per scope.
    pub register_unit: u32,
    /// Warps of a block are rounded up to a multiple of this before registers are counted.
    pub warp_unit: u32,
    /// Shared memory of a block is rounded up to a multiple of this.
    pub shared_unit: u32,
    /// Shared memory that the system takes for each block on top of the block's own.
    pub shared_reserved_per_block: u32,
    /// Whether kernel arguments live in shared memory (1.x).
    pub arguments_in_shared: bool,
}

/// How the lanes of one global access are grouped into memory transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// 1.0 and 1.1: per half-warp, thread k must access word k of an aligned segment.
    HalfWarpInOrder,
    /// 1.2 and 1.3: per half-warp, segments that shrink to what is used.
    HalfWarpSegments,
    /// 2.x through L1: whole cache lines per warp.
    WarpLines,
    /// 2.x past L1 and everything later: sectors per warp.
    WarpSectors,
}

/// `[global]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Global {
    /// Protocol of loads with the default cache operator.
    pub load: Protocol,
    /// Protocol of loads that bypass L1 (`.cg`, `.cv`).
    pub load_bypass: Protocol,
    /// Protocol of stores.
    pub store: Protocol,
    /// Cache-line size, the unit of a request to the next level.
    pub line_bytes: u32,
    /// Sector size.
    pub sector_bytes: u32,
    /// Whether loads with the default cache operator may hit in L1.
    pub load_in_l1: bool,
    /// Whether local memory is cached in L1.
    pub local_in_l1: bool,
    /// Cycles the SM's memory path is busy with one transaction; of the sector and line protocols,
    /// with one line.
    pub cycles_per_transaction: f64,
    /// Bytes per clock that the rest of the chip can deliver to one SM.
    pub sm_bytes_per_clock: f64,
    /// Bytes per clock that one SM can send to the rest of the chip.
    pub sm_write_bytes_per_clock: f64,
    /// Cycles between two requests for atomics of one SM.
    pub sm_atomic_cycles: f64,
}

/// How shared-memory bank conflicts come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BankRule {
    /// 1.x: half-warp requests, one broadcast word per step.
    HalfWarpBroadcast,
    /// 2.x: warp requests, multicast; wide accesses in phases.
    WarpMulticast,
    /// 3.x: 64-bit banks, either addressing mode.
    WideBanks,
    /// 7.x and later: as `warp-multicast`, and wide loads whose neighbouring lanes read the same
    /// words need half the phases.
    WarpMulticastPaired,
}

/// Addressing mode of 64-bit banks (3.x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BankMode {
    /// Successive 32-bit words in successive banks.
    #[default]
    FourByte,
    /// Successive 64-bit words in successive banks.
    EightByte,
}

/// `[shared]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Number of banks.
    pub banks: u32,
    /// Bytes of a bank's word.
    pub bank_bytes: u32,
    /// Conflict rule.
    pub rule: BankRule,
    /// Addressing mode at start-up, where there is a choice.
    #[serde(default)]
    pub mode: BankMode,
    /// Latency of a conflict-free 32-bit load.
    pub latency: u32,
    /// Cycles the pipe is busy with one conflict-free step.
    pub step_cycles: f64,
    /// Latency that each further step adds.
    pub extra_step_latency: u32,
}

/// Lanes whose addresses are looked at together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// 16 lanes.
    HalfWarp,
    /// 32 lanes.
    Warp,
}

/// `[constant]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Constant memory of a device.
    pub bytes: u32,
    /// Lanes that share one cache access.
    pub scope: Scope,
    /// Latency of a hit with one address.
    pub latency: u32,
    /// Latency of a miss in the SM's constant cache.
    pub miss_latency: u32,
    /// Latency that each further distinct address adds.
    pub extra_address_latency: u32,
    /// Cycles the cache is busy with one address when all lanes agree.
    pub uniform_cycles: f64,
    /// Cycles the cache is busy per address when they do not.
    pub address_cycles: f64,
    /// The cache itself.
    pub cache: CacheLevel,
}

/// What a cache does with stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// Stores cannot reach this cache (constant, texture).
    ReadOnly,
    /// Stores pass through and drop the line (Fermi L1 for global memory).
    WriteEvict,
    /// Stores pass through; a present line is updated, an absent one is not brought in.
    WriteThrough,
    /// Stores stay in the cache until the line is evicted.
    WriteBack,
}

/// A cache: `[l1]`, `[l2]`, `[texture]`, `[constant.cache]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CacheLevel {
    /// Capacity.
    pub bytes: u64,
    /// Bytes of a line (tag granule).
    pub line_bytes: u32,
    /// Bytes of a sector (fill granule).
    pub sector_bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// What a store does.
    pub write: WritePolicy,
    /// Latency of a hit, from issue of the load to its result.
    pub hit_latency: u32,
    /// Bytes per clock the cache delivers (an SM's own cache: to that SM; L2: to all SMs).
    pub bytes_per_clock: f64,
    /// L2: bytes of that rate which a request (one line of one warp instruction) takes besides its
    /// data.
    #[serde(default)]
    pub request_bytes: u32,
    /// L2: bytes of written sectors that stay without being written to device memory, a sector
    /// written in part counting twice; 0 = as many as fit.
    #[serde(default)]
    pub dirty_bytes: u64,
    /// L2: bytes of that rate which a request takes at least.
    #[serde(default)]
    pub request_min_bytes: u32,
    /// L2: reads and writes have that rate each, instead of sharing it.
    #[serde(default)]
    pub full_duplex: bool,
    /// L2: what a written sector costs of that rate, as a multiple of a read one.
    #[serde(default = "unit")]
    pub write_cost: f64,
    /// L2: the same for a sector of which only some bytes are written.
    #[serde(default = "unit")]
    pub partial_write_cost: f64,
}

/// `[dram]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Theoretical bandwidth.
    pub bandwidth_gbps: f64,
    /// Bus width.
    pub bus_bits: u32,
    /// Share of the bandwidth that a perfectly coalesced stream reaches.
    pub efficiency: f64,
    /// Latency of an unloaded read, from issue of the load to its result.
    pub latency: u32,
    /// Mean service time in the formula for the waiting of a read, s * u / (1 - u) at use u; 0 = reads
    /// wait for their channel only.
    #[serde(default)]
    pub queue_cycles: u32,
    /// Independent channels.
    pub channels: u32,
    /// Consecutive bytes that one channel holds before the next takes over.
    pub interleave_bytes: u32,
    /// Smallest number of bytes a channel transfers.
    pub burst_bytes: u32,
    /// Whether error correction is on.
    pub ecc: bool,
    /// Whether a sector that was written only in part is read before it is written.
    #[serde(default)]
    pub read_before_partial_write: bool,
}

/// `[atomics]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Atomics {
    /// Latency of a global atomic with distinct addresses.
    pub global_latency: u32,
    /// Cycles between two requests (a line of one warp instruction, no address twice) that meet in
    /// one unit.
    pub global_same_address_cycles: f64,
    /// Units that do global atomics.
    pub units: u32,
    /// Consecutive bytes that one unit is in charge of.
    pub unit_bytes: u32,
    /// Latency of a shared atomic with distinct addresses.
    pub shared_latency: u32,
    /// Latency that each further operation on one shared address adds.
    pub shared_same_address_latency: u32,
}

/// Which ready warp a scheduler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The next ready warp after the one issued last.
    LooseRoundRobin,
    /// The same warp as long as it is ready, else the oldest.
    GreedyThenOldest,
}

/// `[assembler]`: how the machine code differs from the PTX, as far as costs depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Assembler {
    /// Kernel arguments and launch sizes are loaded by instructions instead of being operands.
    pub load_parameters: bool,
    /// Machine instructions that every kernel starts with.
    pub prologue_instructions: u32,
    /// A block behind a conditional branch is executed under the branch's predicate if it has at
    /// most so many instructions.
    pub predicated_instructions: u32,
    /// Two dependent instructions become one (IADD3, LEA, IMAD, LOP3, FFMA), signs and constants
    /// become operands.
    pub fuse: bool,
    /// Neighbouring words of shared memory are accessed by one instruction.
    pub merge_shared: bool,
    /// Lanes of an atomic on one address known to be uniform are merged.
    pub merge_uniform_atomics: bool,
    /// Branches that may diverge are enclosed by two instructions.
    pub convergence_barriers: bool,
    /// Instructions that compute the address of a shared variable.
    pub shared_base_instructions: u32,
}

/// `[issue]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// Warp schedulers of an SM; warp w belongs to scheduler `w mod schedulers`.
    pub schedulers: u32,
    /// Cycles between two issues of a scheduler.
    pub cycles: u32,
    /// Independent instructions of one warp that a scheduler can issue at once.
    pub width: u32,
    /// Choice among ready warps.
    pub policy: Policy,
    /// Cycles more that a result takes to reach an instruction on another pipe.
    #[serde(default)]
    pub cross_pipe_latency: u32,
    /// Cycles from a comparison to an instruction that its predicate guards, where that is longer
    /// than the comparison's own latency.
    #[serde(default)]
    pub guard_latency: u32,
    /// Clocks of work that may wait at a pipe that the schedulers share before warps that want it
    /// cannot issue.
    #[serde(default)]
    pub memory_queue_cycles: u32,
    /// Whether an f64 instruction keeps the other schedulers from issuing.
    #[serde(default)]
    pub f64_blocks_other_schedulers: bool,
}

/// `[pipes.NAME]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// Whether each scheduler has its own; otherwise the SM has one.
    pub per_scheduler: bool,
}

/// `[class.NAME]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClassTiming {
    /// Pipes that can execute it; the one free first takes it.
    pub pipes: Vec<String>,
    /// Results per clock and SM over all these pipes.
    pub per_clock: f64,
    /// Cycles until a dependent instruction can issue. Memory classes: the address part only.
    pub latency: u32,
    /// Machine instructions it stands for, that is issue slots it takes.
    #[serde(default = "one")]
    pub instructions: u32,
}

fn unit() -> f64 {
    1.0
}

fn one() -> u32 {
    1
}

/// `[barrier]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// Cycles from the last arrival until the block can go on, apart from the next term.
    pub latency: u32,
    /// Cycles that each warp of the block adds to that.
    pub cycles_per_warp: f64,
}

/// `[launch]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchCosts {
    /// Cycles of an empty kernel.
    pub overhead_cycles: u32,
    /// Cycles that the first block of an SM waits for instructions and constants.
    #[serde(default)]
    pub cold_cycles: u32,
    /// Cycles between two block starts on one SM at the start of a kernel.
    pub block_cycles: u32,
    /// Cycles from the end of a block until the block that takes its place starts.
    #[serde(default)]
    pub turnaround_cycles: u32,
    /// Cycles between two such replacements on one SM.
    #[serde(default)]
    pub replacement_cycles: u32,
    /// What each warp of the block adds to `turnaround_cycles`.
    #[serde(default)]
    pub turnaround_cycles_per_warp: u32,
    /// What each warp of the block adds to `replacement_cycles`.
    #[serde(default)]
    pub replacement_cycles_per_warp: u32,
    /// Microseconds from the host's call to the start.
    pub host_us: f64,
}

/// `[link]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name of the link.
    pub name: String,
    /// Bandwidth of large transfers from page-locked memory.
    pub pinned_gbps: f64,
    /// Bandwidth of large transfers from pageable memory.
    pub pageable_gbps: f64,
    /// Microseconds that every transfer takes on top.
    pub latency_us: f64,
}
