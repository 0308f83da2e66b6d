//! Memory of a device profile: global, shared and constant accesses, caches, device memory, atomics.

use serde::{Deserialize, Serialize};

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
    /// Lines that are looked up at once; their words pass together as far as they lie in different banks
    /// of the cache. 0 = one after the other.
    #[serde(default)]
    pub lines_at_once: u32,
    /// Bytes per clock that the rest of the chip can deliver to one SM.
    pub sm_bytes_per_clock: f64,
    /// Bytes per clock that one SM can send to the rest of the chip.
    pub sm_write_bytes_per_clock: f64,
    /// What a sector of which only some bytes are written costs of that rate, as a multiple of a whole one.
    #[serde(default = "unit")]
    pub sm_partial_write_cost: f64,
    /// Lines that an SM holds back on their way to L2; what is stored to one of them goes along with it.
    /// 0 = none.
    #[serde(default)]
    pub merged_store_lines: u32,
    /// Cycles for which it holds them back.
    #[serde(default)]
    pub merged_store_cycles: u32,
    /// The same for lines that L1 holds, however many; 0 = as others.
    #[serde(default)]
    pub held_store_cycles: u32,
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
    /// L1: KB of the same memory that can be shared memory, in rising order; `bytes` are left to launches without any
    /// ([`l1_bytes`](crate::occupancy::l1_bytes)). Empty = shared memory is elsewhere.
    #[serde(default)]
    pub shared_kb: Vec<u32>,
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
    /// L2: bytes of that rate which a request to write takes besides its data.
    #[serde(default)]
    pub write_request_bytes: u32,
    /// L2: clocks that an SM waits longer for a line of the other half of L2, until its own half has a copy; 0 = L2
    /// has no halves.
    #[serde(default)]
    pub far_cycles: u32,
    /// L2: SMs whose reads of one line go to it once, while the first is under way; 0 = each goes on its own.
    #[serde(default)]
    pub merged_sms: u32,
    /// L2: groups of SMs (graphics processing clusters), each of which has a way of its own from L2. 0 = there are
    /// none.
    #[serde(default)]
    pub groups: u32,
    /// L2: bytes per clock that such a way takes.
    #[serde(default)]
    pub group_bytes_per_clock: f64,
    /// L2: what a written sector costs of that rate, as a multiple of a read one.
    #[serde(default = "unit")]
    pub write_cost: f64,
    /// L2: the same for a sector of which only some bytes are written.
    #[serde(default = "unit")]
    pub partial_write_cost: f64,
    /// L2: the same for a sector that comes from device memory. Those and stores then have the way into L2 to
    /// themselves; absent = they share that of reads, and what comes from device memory takes none.
    #[serde(default)]
    pub fill_cost: Option<f64>,
    /// Clocks that a line takes more than `hit_latency`, each equally often: its slice lies nearer or farther. Which, a
    /// hash of its address says. Empty = all take the same time.
    #[serde(default)]
    pub spread: Vec<i32>,
    /// L2: clocks that its answers to an SM take more than the mean, of pairs of SMs (texture processing clusters) in
    /// the order of their numbers: each lies nearer or farther. Empty = all take the same time.
    #[serde(default)]
    pub sm_spread: Vec<i32>,
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
    /// Clocks that a read of a line takes more than `latency`, each equally often; which, a hash of its address
    /// says. Empty = all take the same time. Where L2 has halves, half of `far_cycles` comes or goes besides.
    #[serde(default)]
    pub spread: Vec<i32>,
    /// Mean service time in the formula for the waiting of a read, s * u / (1 - u) at use u; 0 = reads
    /// wait for their channel only.
    #[serde(default)]
    pub queue_cycles: u32,
    /// Independent channels.
    pub channels: u32,
    /// Consecutive bytes that one channel holds before the next takes over.
    pub interleave_bytes: u32,
    /// Whether a hash of the address shifts which channel comes first, so that no stride meets the same few.
    #[serde(default)]
    pub hashed_channels: bool,
    /// Smallest number of bytes a channel transfers.
    pub burst_bytes: u32,
    /// Bytes of a page: a transfer from another one has to wait until that is open. 0 = not modelled.
    #[serde(default)]
    pub page_bytes: u32,
    /// Transfers of one burst that a channel loses when it opens a page.
    #[serde(default)]
    pub page_bursts: f64,
    /// SM clock at which `latency` and `queue_cycles` were measured; at another one they take as long in
    /// time. 0 = they are clocks of this SM.
    #[serde(default)]
    pub measured_at_mhz: f64,
    /// Whether error correction is on.
    pub ecc: bool,
    /// Whether a sector that was written only in part is read before it is written.
    #[serde(default)]
    pub read_before_partial_write: bool,
    /// What a channel loses between such a read and its write if the read opens a page, in bursts.
    #[serde(default)]
    pub turn_bursts: f64,
}

/// `[atomics]`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Atomics {
    /// Latency of a global atomic with distinct addresses.
    pub global_latency: u32,
    /// Cycles between two requests (a line of one warp instruction, no address twice) that meet in
    /// one unit; where there are `whole_sector_cycles`, between two of their sectors.
    pub global_same_address_cycles: f64,
    /// Units do one sector after the other: clocks for one all of whose bytes change.
    #[serde(default)]
    pub whole_sector_cycles: Option<f64>,
    /// Bytes of L2's rate for reads that a request takes, the way there being the same; compare-and-swap takes its
    /// sectors besides.
    #[serde(default)]
    pub request_bytes: u32,
    /// Sectors of stores and atomics that an SM has on their way before its memory pipe stops; 0 = any number.
    #[serde(default)]
    pub sm_pending_sectors: u32,
    /// Units that do global atomics.
    pub units: u32,
    /// Consecutive bytes that one unit is in charge of, or two units are.
    pub unit_bytes: u32,
    /// Bytes after which the other of two units follows within `unit_bytes`; 0 = there is one.
    #[serde(default)]
    pub unit_stripe_bytes: u32,
    /// Latency of a shared atomic with distinct addresses.
    pub shared_latency: u32,
    /// Latency that each further operation on one shared address adds.
    pub shared_same_address_latency: u32,
    /// Clocks between a reduction in shared memory and the warp's next instruction.
    #[serde(default)]
    pub shared_reduction_cycles: u32,
    /// The same of a reduction in device memory.
    #[serde(default)]
    pub global_reduction_cycles: u32,
}

fn unit() -> f64 {
    1.0
}
