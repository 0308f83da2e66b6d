//! The contents of a device profile, as data. One struct per TOML table.
//!
//! All latencies and intervals are in SM clocks (`clock.sm_mhz`; the "shader clock" on 1.x and 2.x).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use ptx_isa::Class;

use super::memory::{Atomics, CacheLevel, Constant, Dram, Global, Shared};

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

    /// Clocks of this SM for one of the SM with which device memory was measured.
    pub fn memory_clock_ratio(&self) -> f64 {
        let measured = self.dram.measured_at_mhz;
        if measured > 0.0 { self.clock.sm_mhz / measured } else { 1.0 }
    }

    /// Clocks from the issue of an unloaded read of device memory to its result. The way to L2 runs with
    /// the SM; what lies behind it takes its time.
    pub fn dram_latency(&self) -> u64 {
        let near = self.l2.as_ref().map_or(0, |l2| l2.hit_latency).min(self.dram.latency);
        let far = f64::from(self.dram.latency - near) * self.memory_clock_ratio();
        u64::from(near) + far as u64
    }

    /// Cost of a class, or of the coarser one that it is part of.
    pub fn timing_of(&self, class: Class) -> Option<&ClassTiming> {
        let own = self.class.get(&class);
        own.or_else(|| class.coarser().and_then(|coarser| self.class.get(&coarser)))
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

/// Which ready warp a scheduler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The next ready warp after the one issued last.
    LooseRoundRobin,
    /// The same warp as long as it is ready, else the next ready one.
    GreedyThenRoundRobin,
    /// The same warp as long as it is ready, else one that goes to global memory, else one of the oldest block;
    /// among these the one that has issued nothing for longest.
    GreedyThenOldestBlock,
}

/// `[assembler]`: how the machine code differs from the PTX, as far as costs depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Assembler {
    /// Kernel arguments and launch sizes are loaded by instructions instead of being operands.
    pub load_parameters: bool,
    /// A wide multiply-add takes no addend from constant memory: each block loads the arguments that it adds, or a loop
    /// has them loaded ahead of it.
    #[serde(default)]
    pub loads_addends: bool,
    /// Machine instructions that every kernel starts with.
    pub prologue_instructions: u32,
    /// A block behind a conditional branch is executed under the branch's predicate if it has at
    /// most so many instructions,
    pub predicated_instructions: u32,
    /// if all lanes go the same way,
    pub predicated_uniform_instructions: u32,
    /// if it loads from memory that is not shared.
    pub predicated_load_instructions: u32,
    /// Two dependent instructions become one (IADD3, LEA, IMAD, LOP3, FFMA), signs and constants
    /// become operands.
    pub fuse: bool,
    /// Divisions of 32-bit integers by one divisor share its reciprocal, and loops have it computed ahead of them.
    #[serde(default)]
    pub shares_reciprocals: bool,
    /// Minimum and maximum of integers take three operands, or the sum of two (VIMNMX3, VIADDMNMX).
    #[serde(default)]
    pub three_operand_bounds: bool,
    /// Instructions go ahead of others as far as the registers last that cost no resident warp; without
    /// this, whatever they need.
    #[serde(default)]
    pub saves_registers: bool,
    /// Registers of a thread that hold no value of the kernel.
    pub own_registers: u32,
    /// Values that all lanes of a warp share are in registers of the warp.
    #[serde(default)]
    pub uniform_registers: bool,
    /// Loops of which nobody knows the number of turns are repeated in the machine code if a turn has no more
    /// instructions than this, more with loads; 0 = none are, nor those of known turns.
    #[serde(default)]
    pub unrolled_instructions: u32,
    /// Loops of known turns inside others are written out for the sake of what they load from shared memory.
    #[serde(default)]
    pub unrolls_inner_loops: bool,
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
    /// Clocks before one of a scheduler's own pipes is free at which it takes the next instruction, which waits there.
    #[serde(default)]
    pub pipe_queue_cycles: u32,
    /// Clocks of work that may wait at a pipe that the schedulers share before warps that want it
    /// cannot issue.
    #[serde(default)]
    pub memory_queue_cycles: u32,
    /// Whether an f64 instruction keeps the other schedulers from issuing.
    #[serde(default)]
    pub f64_blocks_other_schedulers: bool,
    /// 32-bit words per lane that a scheduler's register file delivers in a clock; an operand that the
    /// same warp's instruction just before has fetched need not be fetched again. 0 = no limit.
    #[serde(default)]
    pub operand_words: u32,
    /// Barriers of a warp that count results which take unknown time, so that many share one. 0 = each register is
    /// watched by itself.
    #[serde(default)]
    pub dependency_barriers: u32,
    /// Cycles from the lower half of a sum of 64 bits, which the next sum takes, to the upper one, which others take.
    #[serde(default)]
    pub upper_half_latency: u32,
    /// Whether machine code says itself how long the next instruction waits for results that come at a known time.
    #[serde(default)]
    pub known_waits: bool,
    /// Clocks more that a branch back takes, as a loop has it.
    #[serde(default)]
    pub back_cycles: u32,
    /// Clocks more that a branch takes whose lanes go different ways, until they are together again.
    #[serde(default)]
    pub divergence_cycles: u32,
}

/// `[pipes.NAME]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// Whether each scheduler has its own; otherwise the SM has one.
    pub per_scheduler: bool,
    /// Of a pipe that all share: clocks that an instruction keeps its own scheduler from it for each clock that it
    /// keeps all from it.
    #[serde(default = "one")]
    pub scheduler_cycles: u32,
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
    /// Clocks in which the scheduler issues nothing else, where these are more than its instructions: products
    /// whose upper half is wanted.
    #[serde(default)]
    pub dispatch_cycles: u32,
    /// Clocks more than these where it reads a value of 64 bits.
    #[serde(default)]
    pub wide_operand_cycles: u32,
    /// Clocks more per further value of an instruction that goes through the different values of its
    /// lanes one by one (`match.any`); `per_clock` is the rate with one value.
    #[serde(default)]
    pub value_latency: f64,
    /// What it costs where all lanes have operands that send the machine code another way: zeros and other extremes of
    /// floats.
    #[serde(default)]
    pub other: Option<PathTiming>,
    /// The same where some lanes have such operands.
    #[serde(default)]
    pub mixed: Option<PathTiming>,
}

/// A way through the machine code of an instruction that is longer or shorter than the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PathTiming {
    /// Cycles until a dependent instruction can issue.
    pub latency: u32,
    /// Machine instructions, that is issue slots.
    pub instructions: u32,
    /// Clocks in which the scheduler issues nothing else.
    pub dispatch_cycles: u32,
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
    /// Cycles until what a barrier counted or combined can be read, from when the block can go on.
    #[serde(default)]
    pub result_latency: u32,
    /// Cycles behind a barrier in which a warp that waits there still issues arithmetic.
    #[serde(default)]
    pub deferred_cycles: u32,
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
    /// What each warp of the block adds to `block_cycles`.
    #[serde(default)]
    pub block_cycles_per_warp: u32,
    /// Cycles from the end of a block until the block that takes its place starts.
    #[serde(default)]
    pub turnaround_cycles: u32,
    /// Cycles between two such replacements on one SM when all SMs get them, one after the other.
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

impl LaunchCosts {
    /// Cycles between the starts of two blocks of so many warps on one SM at the start of a kernel.
    pub fn apart(&self, warps: u32) -> u32 {
        self.block_cycles + warps * self.block_cycles_per_warp
    }

    /// Cycles from the end of such a block until the one that takes its place starts.
    pub fn turnaround(&self, warps: u32) -> u32 {
        self.turnaround_cycles + warps * self.turnaround_cycles_per_warp
    }

    /// Cycles between two such replacements on one SM when all SMs get them.
    pub fn replacement(&self, warps: u32) -> u32 {
        self.replacement_cycles + warps * self.replacement_cycles_per_warp
    }
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
