//! Micro-ops that touch more than registers: memory, barriers, lanes of the warp.
//!
//! Loads, stores, atomics and CTA barriers are known to the engines by name, because they are hot
//! or park warps. Everything else that looks across lanes or into memory is a [`WarpOp`]: one
//! function over the [`Machine`] trait that interpreter and compiled code both call.

mod machine;
pub mod window;

pub use machine::Machine;

use crate::num::half::{self, Clamp, Half};
use crate::num::{fp32, fp64};
use crate::reach::Reach;
use crate::types::Space;

/// Memory ordering of an access or fence (PTX ISA 8.3).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum Order {
    #[default]
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
    Mmio,
}

/// Scope of an ordered access (PTX ISA 8.5).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    #[default]
    Sys,
}

/// The way by which an access reaches memory (PTX ISA 8.11): accesses by different ways are ordered
/// by a proxy fence only.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum Proxy {
    #[default]
    Generic,
    Async,
    Texture,
    Surface,
    Constant,
    Tensormap,
    /// Of fences: aliases of one location (textures, surfaces, constants, several mappings).
    Alias,
}

/// A memory fence.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fence {
    /// Ordering.
    pub order: Order,
    /// Scope.
    pub scope: Scope,
    /// The way of access that it orders with the generic one; [`Proxy::Generic`] for an ordinary
    /// fence.
    pub proxy: Proxy,
    /// Only mbarriers that were made before it are ordered.
    pub inits: bool,
}

/// Asynchronous work of a thread that it commits or waits for. Engines complete the work when it is
/// issued, so that nothing is left to do; observers see it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct AsyncGroup {
    /// Kind of work.
    pub of: AsyncWork,
    /// What happens.
    pub what: AsyncGroupOp,
}

/// Kinds of asynchronous work that is committed in groups.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum AsyncWork {
    /// `cp.async`.
    Copies,
    /// `cp.async.bulk` and tensor copies.
    BulkCopies,
    /// `wgmma`.
    MatrixProducts,
}

/// What happens to groups of asynchronous work.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum AsyncGroupOp {
    /// The work since the last commit becomes a group.
    Commit,
    /// Waits until at most so many of the latest groups are pending.
    Wait {
        /// Groups that may be pending.
        pending: u32,
        /// It is enough that the groups have read their sources.
        read: bool,
    },
    /// Waits for all work, committed or not.
    WaitAll,
}

/// What kind of instruction accesses memory.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Accessor {
    /// `ld`, `ldu`.
    Load,
    /// `st`.
    Store,
    /// `atom`, `red`.
    Atomic,
    /// `cp.async`.
    AsyncCopy,
    /// `st.async`, `red.async`.
    AsyncStore,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, tensor copies.
    BulkCopy,
    /// `ldmatrix`, `stmatrix`, `wmma.load`, `wmma.store`.
    Matrix,
    /// Operands of a matrix product that lie in memory.
    MatrixProduct,
    /// `tex`, `tld4`.
    Texture,
    /// `suld`, `sust`, `sured`.
    Surface,
    /// Operations on an mbarrier object.
    Mbarrier,
    /// `tensormap.replace` and copies of tensor maps.
    TensorMap,
    /// A tensor map that a tensor copy reads.
    TensorMapFetch,
    /// Arguments of system calls.
    System,
    /// What the host reads for a system call: the strings of `printf` and assertions.
    Host,
}

impl Accessor {
    /// The way by which it reaches a state space.
    pub const fn proxy(self, space: Space) -> Proxy {
        match self {
            Accessor::Load
            | Accessor::Store
            | Accessor::Atomic
            | Accessor::AsyncCopy
            | Accessor::AsyncStore
            | Accessor::Matrix
            | Accessor::Mbarrier
            | Accessor::TensorMap
            | Accessor::System
            | Accessor::Host => match space {
                Space::Const => Proxy::Constant,
                _ => Proxy::Generic,
            },
            Accessor::BulkCopy | Accessor::MatrixProduct => Proxy::Async,
            Accessor::TensorMapFetch => Proxy::Tensormap,
            Accessor::Texture => Proxy::Texture,
            Accessor::Surface => Proxy::Surface,
        }
    }
}

/// An operation on an mbarrier object by one lane.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MbarrierEvent {
    /// Lane.
    pub lane: u8,
    /// Space of the object.
    pub space: Space,
    /// Address of the object there.
    pub address: u64,
    /// What the lane does.
    pub what: MbarrierOp,
    /// Ordering of the lane's other accesses.
    pub order: Order,
    /// Scope of the ordering.
    pub scope: Scope,
    /// Whether it completes a phase; of a test, whether the phase is complete.
    pub completes: bool,
}

/// What is done to an mbarrier object.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum MbarrierOp {
    /// `init` for so many arrivals.
    Init(u32),
    /// `inval`.
    Invalidate,
    /// So many arrivals; `drop`: the phases to come expect fewer.
    Arrive {
        /// Arrivals.
        count: u32,
        /// Whether later phases expect fewer.
        drop: bool,
    },
    /// Arrives when the lane's `cp.async` copies are complete.
    ArriveAfterCopies,
    /// Expects so many bytes; no arrival.
    Expect(u32),
    /// So many bytes have come: `complete_tx`, or a copy.
    Complete(u32),
    /// `test_wait`, `try_wait` for the end of the phase of this parity.
    Test {
        /// Whether the phase is an odd one.
        odd: bool,
    },
}

/// Where a memory micro-op goes: `base + offset` in `space`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct MemoryPlace {
    /// State space; generic addresses are resolved lane by lane.
    pub space: Space,
    /// Constant added to the base, which is source 0: a `D` value, or a `W` value, whose sum with
    /// the offset wraps at 32 bits.
    pub offset: i64,
}

/// A load or store of `count` elements of `bytes` bytes per lane.
///
/// Load: source 0 is the base; destination `i` is element `i` (`W` up to 4 bytes, `D` for 8; an
/// element of 16 bytes is two `D` destinations). Elements of 1 and 2 bytes arrive zero-extended,
/// or extended to 32 bits (64 for a `D` destination) by sign if `signed`.
/// Store: sources 1.. are the elements, of which the low `bytes` are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mem {
    /// Where.
    pub place: MemoryPlace,
    /// Bytes of one element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Elements per lane: 1, 2, 4 or 8. The access must be aligned to `bytes * count`.
    pub count: u8,
    /// Whether short elements extend by sign.
    pub signed: bool,
    /// Ordering.
    pub order: Order,
    /// Scope of the ordering.
    pub scope: Scope,
    /// Cache operator and eviction hints do not change results; observers see the operator.
    pub cache: Cache,
}

/// Cache operators (PTX ISA 9.7.9.1).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum Cache {
    #[default]
    Default,
    Ca,
    Cg,
    Cs,
    Lu,
    Cv,
    Wb,
    Wt,
    Nc,
}

/// What an atomic does to the memory word (`old` is returned).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AtomOp {
    And,
    Or,
    Xor,
    Exch,
    /// Source 1 is the expected, source 2 the new value.
    Cas,
    Add,
    /// `old >= b ? 0 : old + 1`.
    Inc,
    /// `old == 0 || old > b ? b : old - 1`.
    Dec,
    MinU,
    MaxU,
    MinS,
    MaxS,
    /// Floating-point additions; rounding to nearest even.
    AddF32,
    /// One that keeps subnormals in global memory, too.
    AddF32Noftz,
    AddF64,
    AddF16,
    AddF16x2,
    AddBf16,
    AddBf16x2,
    MinF16,
    MaxF16,
    MinF16x2,
    MaxF16x2,
    MinBf16,
    MaxBf16,
    MinBf16x2,
    MaxBf16x2,
}

impl AtomOp {
    /// The new value of 16 bytes that held `old`: those of an exchange or a compare-and-swap.
    pub fn apply_wide(self, old: u128, b: u128, c: u128) -> u128 {
        match self {
            AtomOp::Cas if old != b => old,
            AtomOp::Cas => c,
            _ => b,
        }
    }

    /// The new value of a word of `bytes` bytes that held `old`; `shared`: in shared memory, where additions of
    /// floating-point numbers keep subnormals. `c` is the new value of [`AtomOp::Cas`].
    pub fn apply(self, bytes: u8, shared: bool, old: u64, b: u64, c: u64) -> u64 {
        let sign = |v: u64| if bytes == 8 { v as i64 } else { v as i32 as i64 };
        let (x, y) = (old as u32, b as u32);
        let add = |h: Half, a, b| half::add(h, false, Clamp::None, a, b);
        let pick = |h: Half, max: bool, a, b| half::min_max(h, max, false, false, false, a, b);
        match self {
            AtomOp::And => old & b,
            AtomOp::Or => old | b,
            AtomOp::Xor => old ^ b,
            AtomOp::Exch => b,
            AtomOp::Cas if old == b => c,
            AtomOp::Cas => old,
            AtomOp::Add => old.wrapping_add(b),
            AtomOp::Inc if old >= b => 0,
            AtomOp::Inc => old + 1,
            AtomOp::Dec if old == 0 || old > b => b,
            AtomOp::Dec => old - 1,
            AtomOp::MinU => old.min(b),
            AtomOp::MaxU => old.max(b),
            AtomOp::MinS => sign(old).min(sign(b)) as u64,
            AtomOp::MaxS => sign(old).max(sign(b)) as u64,
            AtomOp::AddF32 => fp32::atomic_add(shared, x, y) as u64,
            AtomOp::AddF32Noftz => fp32::atomic_add(true, x, y) as u64,
            AtomOp::AddF64 => fp64::atomic_add(shared, old, b),
            AtomOp::AddF16 => add(Half::F16, x, y) as u64,
            AtomOp::AddBf16 => add(Half::Bf16, x, y) as u64,
            AtomOp::AddF16x2 => half::x2([x, y], |[a, b]| add(Half::F16, a, b)) as u64,
            AtomOp::AddBf16x2 => half::x2([x, y], |[a, b]| add(Half::Bf16, a, b)) as u64,
            AtomOp::MinF16 => pick(Half::F16, false, x, y) as u64,
            AtomOp::MaxF16 => pick(Half::F16, true, x, y) as u64,
            AtomOp::MinBf16 => pick(Half::Bf16, false, x, y) as u64,
            AtomOp::MaxBf16 => pick(Half::Bf16, true, x, y) as u64,
            AtomOp::MinF16x2 => half::x2([x, y], |[a, b]| pick(Half::F16, false, a, b)) as u64,
            AtomOp::MaxF16x2 => half::x2([x, y], |[a, b]| pick(Half::F16, true, a, b)) as u64,
            AtomOp::MinBf16x2 => half::x2([x, y], |[a, b]| pick(Half::Bf16, false, a, b)) as u64,
            AtomOp::MaxBf16x2 => half::x2([x, y], |[a, b]| pick(Half::Bf16, true, a, b)) as u64,
        }
    }
}

/// An atomic read-modify-write. Source 0 is the base, sources 1.. the values;
/// `atom` has the old value as destination, `red` has none.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Atom {
    /// Where.
    pub place: MemoryPlace,
    /// Operation.
    pub op: AtomOp,
    /// Bytes of one element: 2, 4, 8 or 16.
    pub bytes: u8,
    /// Elements (vector atomics); each is atomic by itself.
    pub count: u8,
    /// Ordering.
    pub order: Order,
    /// Scope.
    pub scope: Scope,
}

/// The CTA barrier instructions.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bar {
    /// What the barrier does besides waiting.
    pub kind: BarKind,
    /// Whether source 1 is a thread count.
    pub counted: bool,
    /// Whether all lanes of the warp must execute it together (`bar`, `barrier.aligned`).
    pub aligned: bool,
}

/// Kinds of CTA and cluster barrier. Source 0 is the barrier number unless said otherwise.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BarKind {
    /// Wait.
    Sync,
    /// Arrive without waiting.
    Arrive,
    /// Wait; destination `W` is the number of threads whose last source (`P`) was true.
    RedPopc,
    /// Wait; destination `P` is the conjunction of the last sources.
    RedAnd,
    /// Wait; destination `P` is the disjunction of the last sources.
    RedOr,
    /// `barrier.cluster.arrive` (no sources).
    ClusterArrive,
    /// `barrier.cluster.wait` (no sources).
    ClusterWait,
}

/// Calls into the system that PTX reaches through `call` to an undefined `.func`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Sys {
    /// `vprintf(format, args) -> i32`: sources two generic pointers.
    Vprintf,
    /// `malloc(size) -> pointer`.
    Malloc,
    /// `free(pointer)`.
    Free,
    /// `__assertfail(message, file, line, function, char size)`.
    AssertFail,
}

/// A micro-op with an effect.
#[derive(Copy, Clone, Debug)]
pub enum Effect {
    /// Load.
    Ld(Mem),
    /// Store.
    St(Mem),
    /// Atomic read-modify-write.
    Atom(Atom),
    /// CTA or cluster barrier.
    Bar(Bar),
    /// Memory fence.
    Fence(Fence),
    /// Commit of, or wait for, asynchronous work.
    AsyncGroup(AsyncGroup),
    /// `trap`: stop the launch with a report.
    Trap,
    /// `brkpt`.
    Brkpt,
    /// `nanosleep` and other hints that another lane, warp or block should run first.
    Yield,
    /// System call.
    Sys(Sys),
    /// A function over the warp.
    Warp(WarpOp),
}

/// What an access of memory does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Touches {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It is atomic.
    Atomic(Scope),
}

/// What a load, a store or an atomic operation touches.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where.
    pub place: MemoryPlace,
    /// What it does.
    pub touches: Touches,
    /// Bytes of a lane.
    pub bytes: u32,
}

impl Effect {
    /// The access that it is; `None` for what touches no memory, or not by addresses of lanes.
    pub fn access(&self) -> Option<Access> {
        let mem = |m: &Mem, touches| Access {
            place: m.place,
            touches,
            bytes: u32::from(m.bytes) * u32::from(m.count),
        };
        Some(match self {
            Effect::Ld(m) => mem(m, Touches::Read),
            Effect::St(m) => mem(m, Touches::Write),
            Effect::Atom(a) => Access {
                place: a.place,
                touches: Touches::Atomic(a.scope),
                bytes: u32::from(a.bytes) * u32::from(a.count).max(1),
            },
            Effect::Bar(_)
            | Effect::Fence(_)
            | Effect::AsyncGroup(_)
            | Effect::Trap
            | Effect::Brkpt
            | Effect::Yield
            | Effect::Sys(_)
            | Effect::Warp(_) => return None,
        })
    }
}

/// A meaning that looks across lanes or into memory, as one function.
#[derive(Copy, Clone)]
pub struct WarpOp {
    /// Name for dumps and reports.
    pub name: &'static str,
    /// [`Row::reach`](crate::Row::reach) of its row.
    pub reach: Reach,
    /// [`Row::waits`](crate::Row::waits) of its row.
    pub waits: bool,
    /// The meaning. Runs once for the executing lanes of a warp.
    pub run: WarpFn,
    /// The source that names the lanes which must arrive first (`*.sync` member mask, a `W`).
    pub members: Option<u8>,
    /// Whether it orders the members' accesses to memory, its own before those that follow (`bar.warp.sync`).
    pub orders: bool,
    /// Constants of the instruction (shape, mode), for `run` to read.
    pub k: [u32; 4],
}

/// The function behind a [`WarpOp`].
pub type WarpFn = fn(&mut dyn Machine, &WarpOp) -> Result<Flow, Fault>;

impl std::fmt::Debug for WarpOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.k)
    }
}

/// What the warp does after a [`WarpOp`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Go on.
    Next,
    /// Nothing was done: let others run, then execute the same micro-op again (blocking waits).
    Retry,
}

/// A run-time fault found by a meaning; the engine adds kernel, line, block and thread.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// Address outside every allocation of its space, or not readable or writable there.
    #[error("{} of {bytes} bytes at {} address {address:#x} is outside every allocation", if *.write { "write" } else { "read" }, .space.name())]
    OutOfBounds {
        /// Lane that faulted.
        lane: u8,
        /// Space of the access.
        space: Space,
        /// Address in that space.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Whether it was a write.
        write: bool,
    },
    /// Address not a multiple of the access size.
    #[error("address {address:#x} is not aligned to {bytes} bytes")]
    Misaligned {
        /// Lane that faulted.
        lane: u8,
        /// Space of the access.
        space: Space,
        /// Address in that space.
        address: u64,
        /// Required alignment.
        bytes: u32,
        /// Whether it was a write.
        write: bool,
    },
    /// An operand value that the instruction does not allow.
    #[error("{message}")]
    Operand {
        /// Lane that faulted.
        lane: u8,
        /// What was found and what is allowed.
        message: String,
    },
    /// The engine's observer stops the launch.
    #[error("{message}")]
    Stopped {
        /// Lane whose access it saw last.
        lane: u8,
        /// Why.
        message: String,
    },
}

impl Fault {
    /// An operand value of a lane that the instruction does not allow, and why.
    pub(crate) fn operand(lane: usize, message: impl Into<String>) -> Self {
        Fault::Operand { lane: lane as u8, message: message.into() }
    }
}

/// What an instruction does to the array of a texture or surface.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ArrayTouch {
    /// Fetches texels.
    Fetch,
    /// Reads elements of a surface.
    Read,
    /// Writes them.
    Write,
    /// Reads and writes them at once.
    Update,
}
