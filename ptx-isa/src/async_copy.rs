//! Asynchronous copies and reductions over a warp.
//!
//! A copy is complete when it is issued: every program that waits for it as the manual demands sees
//! the same memory, and commit and wait instructions have nothing left to do.

use crate::effect::{Accessor, AtomOp, Fault, Flow, Machine, WarpOp, window};
use crate::matrix::run::space_from;
use crate::mbarrier::{self, lanes};
use crate::num::{Rnd, fp64};
use crate::special::Sreg;
use crate::types::{Space, Ty};

fn aligned(lane: u8, space: Space, address: u64, bytes: u32, write: bool) -> Result<(), Fault> {
    if address.is_multiple_of(bytes.into()) {
        Ok(())
    } else {
        Err(Fault::Misaligned { lane, space, address, bytes, write })
    }
}

/// `cp.async`: sources destination, source, bytes to read (the rest is zero). Constants: bytes,
/// and whether source 3 is a predicate that ignores the source.
pub(crate) fn copy_small(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let bytes = op.k[0];
    let (to, from, size) = (mach.src_d(0), mach.src_d(1), mach.src_w(2));
    let ignore = if op.k[1] != 0 { mach.src_p(3) } else { 0 };
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        aligned(lane, Space::Global, from[l], bytes, false)?;
        aligned(lane, Space::Shared, to[l], bytes, true)?;
        let mut buffer = [0u8; 16];
        let read = if ignore >> l & 1 != 0 { 0 } else { size[l].min(bytes) as usize };
        if read > 0 {
            mach.read(Accessor::AsyncCopy, lane, Space::Global, from[l], &mut buffer[..read])?;
        }
        mach.write(Accessor::AsyncCopy, lane, Space::Shared, to[l], &buffer[..bytes as usize])?;
    }
    Ok(Flow::Next)
}

/// What a copy reports to its mbarrier when it sees it in the data that it reads (9.7.10.28.1.3). Of each 16 bytes, one
/// element is looked at, which the manual does not say; here it is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Report {
    /// Nothing.
    Disabled,
    /// A negative zero of 4 bits.
    ZeroF4,
    /// A negative zero of 8 bits.
    ZeroF8,
    /// A negative zero of 16 bits.
    ZeroF16,
    /// A negative zero of 32 bits.
    ZeroF32,
    /// A byte of ones.
    Ones,
}

impl Report {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Disabled, ".mbarrier::report::disabled"),
        (Self::ZeroF4, ".mbarrier::report::validity::per_16bytes::8"),
        (Self::ZeroF8, ".mbarrier::report::validity::per_16bytes::80"),
        (Self::ZeroF16, ".mbarrier::report::validity::per_16bytes::8000"),
        (Self::ZeroF32, ".mbarrier::report::validity::per_16bytes::80000000"),
        (Self::Ones, ".mbarrier::report::validity::per_element::ff"),
    ];

    /// What a modifier names; nothing without one.
    pub(crate) fn parse(token: &str) -> Self {
        Self::ALL.iter().find(|(_, name)| *name == token).map_or(Self::Disabled, |(r, _)| *r)
    }

    pub(crate) fn from_code(code: u32) -> Self {
        Self::ALL[code as usize % Self::ALL.len()].0
    }

    /// Whether it is seen in bytes that lie at an address.
    pub(crate) fn seen(self, address: u64, data: &[u8]) -> bool {
        let zero: &[u8] = match self {
            Self::Disabled => return false,
            Self::Ones => return data.contains(&0xff),
            Self::ZeroF4 => &[8],
            Self::ZeroF8 => &[0x80],
            Self::ZeroF16 => &[0, 0x80],
            Self::ZeroF32 => &[0, 0, 0, 0x80],
        };
        let first = (address.next_multiple_of(16) - address) as usize;
        let mut chunks = data.get(first..).into_iter().flat_map(|d| d.chunks(16));
        chunks.any(|chunk| match (self, chunk) {
            (Self::ZeroF4, [low, ..]) => low & 0xf == 8,
            _ => chunk.starts_with(zero),
        })
    }
}

/// Flags of `copy_bulk` and `reduce_bulk` in their constant 2.
pub mod bulk_flag {
    /// Source 3 is an mbarrier whose transactions complete.
    pub const MBARRIER: u32 = 1;
    /// Source 3 is a mask of bytes in each 16.
    pub const MASK: u32 = 2;
    /// Source 4 is a mask of the cluster's CTAs.
    pub const MULTICAST: u32 = 4;
}

/// Bytes moved at a time.
const CHUNK: usize = 4096;

const BULK: Accessor = Accessor::BulkCopy;

fn bulk_size(lane: u8, size: u32) -> Result<(), Fault> {
    if size.is_multiple_of(16) {
        Ok(())
    } else {
        let message = format!("bulk copy of {size} bytes, which is not a multiple of 16");
        Err(Fault::Operand { lane, message })
    }
}

/// The address of the same offset in another CTA of the cluster.
pub(crate) fn in_cta(address: u64, rank: u64) -> u64 {
    use crate::effect::window::SHARED_CTA;
    rank * SHARED_CTA + address % SHARED_CTA
}

/// The rank of the CTA that an address is in.
pub(crate) fn cta_of(address: u64) -> u64 {
    address / crate::effect::window::SHARED_CTA
}

/// The address of an offset in the shared memory of the executing block.
pub(crate) fn in_own_cta(mach: &dyn Machine, lane: u8, offset: u64) -> u64 {
    in_cta(offset, mach.special(lane, Sreg::ClusterCtarank))
}

/// `cp.async.bulk`: sources destination, source, bytes. Constants: spaces to and from, flags, [`Report`].
pub(crate) fn copy_bulk(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let (to_space, from_space) = (space_from(op.k[0]), space_from(op.k[1]));
    let has = |flag: u32| op.k[2] & flag != 0;
    let report = Report::from_code(op.k[3]);
    let (to, from, size) = (mach.src_d(0), mach.src_d(1), mach.src_w(2));
    let barrier = if has(bulk_flag::MBARRIER) { mach.src_d(3) } else { [0; 32] };
    let bytes = if has(bulk_flag::MASK) { mach.src_w(3) } else { [0xffff; 32] };
    let ctas = if has(bulk_flag::MULTICAST) { mach.src_w(4) } else { [0; 32] };
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        bulk_size(lane, size[l])?;
        aligned(lane, from_space, from[l], 16, false)?;
        aligned(lane, to_space, to[l], 16, true)?;
        let targets: Vec<(u64, u64)> = if has(bulk_flag::MULTICAST) {
            lanes(ctas[l] & 0xffff)
                .map(|r| (in_cta(to[l], r as u64), in_cta(barrier[l], r as u64)))
                .collect()
        } else {
            vec![(to[l], barrier[l])]
        };
        let mut buffer = vec![0u8; CHUNK.min(size[l] as usize)];
        let mut seen = false;
        for at in (0..size[l] as usize).step_by(CHUNK) {
            let n = CHUNK.min(size[l] as usize - at);
            mach.read(BULK, lane, from_space, from[l] + at as u64, &mut buffer[..n])?;
            seen |= report.seen(from[l] + at as u64, &buffer[..n]);
            for &(target, _) in &targets {
                let target = target + at as u64;
                if has(bulk_flag::MASK) {
                    for (i, b) in buffer[..n].iter().enumerate() {
                        if bytes[l] >> (i % 16) & 1 != 0 {
                            mach.write(BULK, lane, to_space, target + i as u64, &[*b])?;
                        }
                    }
                } else {
                    mach.write(BULK, lane, to_space, target, &buffer[..n])?;
                }
            }
        }
        if has(bulk_flag::MBARRIER) {
            for &(_, object) in &targets {
                if seen {
                    mbarrier::report(mach, lane, to_space, object)?;
                }
                mbarrier::complete(mach, lane, to_space, object, size[l])?;
            }
        }
    }
    Ok(Flow::Next)
}

/// `st.bulk`: sources address and bytes, which become zero. Constant: space.
pub(crate) fn fill(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    /// The most bytes that the instruction takes.
    const MOST: u64 = 16 << 20;
    let space = space_from(op.k[0]);
    let (to, size) = (mach.src_d(0), mach.src_d(1));
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        if !size[l].is_multiple_of(8) || size[l] > MOST {
            let message =
                format!("a fill of {} bytes: it takes multiples of 8 up to {MOST}", size[l]);
            return Err(Fault::Operand { lane, message });
        }
        for at in (0..size[l]).step_by(CHUNK) {
            let bytes = (size[l] - at).min(CHUNK as u64) as usize;
            let to = to[l].wrapping_add(at);
            mach.write(Accessor::Store, lane, space, to, &[0; CHUNK][..bytes])?;
        }
    }
    Ok(Flow::Next)
}

/// `cp.async.bulk.ignore_oob`: sources destination, source, bytes, mbarrier, and how many bytes at the start and at the
/// end of the source are not read (up to 15 each); what they become is undefined, here they stay as they are. All bytes
/// complete at the mbarrier. Constants: spaces to and from.
pub(crate) fn copy_inner(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let (to_space, from_space) = (space_from(op.k[0]), space_from(op.k[1]));
    let (to, from, size) = (mach.src_d(0), mach.src_d(1), mach.src_w(2));
    let (barrier, left, right) = (mach.src_d(3), mach.src_w(4), mach.src_w(5));
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        bulk_size(lane, size[l])?;
        aligned(lane, from_space, from[l], 16, false)?;
        aligned(lane, to_space, to[l], 16, true)?;
        let (skip, drop) = (left[l], right[l]);
        if skip > 15 || drop > 15 {
            let message =
                format!("bulk copy that ignores {skip} and {drop} bytes (at most 15 each)");
            return Err(Fault::Operand { lane, message });
        }
        let mut buffer = vec![0u8; size[l].saturating_sub(skip + drop) as usize];
        if !buffer.is_empty() {
            mach.read(BULK, lane, from_space, from[l] + u64::from(skip), &mut buffer)?;
            mach.write(BULK, lane, to_space, to[l] + u64::from(skip), &buffer)?;
        }
        mbarrier::complete(mach, lane, to_space, barrier[l], size[l])?;
    }
    Ok(Flow::Next)
}

/// Answer of `clusterlaunchcontrol.try_cancel`: sources address and mbarrier. Constants: space, and whether all blocks
/// of the cluster get it. Every block of a grid is started here, so the answer is always that nothing was cancelled,
/// which the manual allows at any time: 16 bytes of zero, whose bit 0 says so.
pub(crate) fn try_cancel(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let space = space_from(op.k[0]);
    let (to, barrier) = (mach.src_d(0), mach.src_d(1));
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        aligned(lane, space, to[l], 16, true)?;
        let targets: Vec<(Space, u64, u64)> = if op.k[1] == 0 {
            vec![(space, to[l], barrier[l])]
        } else {
            let blocks = mach.special(lane, Sreg::ClusterNctarank);
            let offset = |a: u64| window::locate(space, a).1;
            let (to, barrier) = (offset(to[l]), offset(barrier[l]));
            (0..blocks).map(|r| (Space::SharedCluster, in_cta(to, r), in_cta(barrier, r))).collect()
        };
        for (space, to, barrier) in targets {
            mach.write(BULK, lane, space, to, &[0; 16])?;
            mbarrier::complete(mach, lane, space, barrier, 16)?;
        }
    }
    Ok(Flow::Next)
}

/// Element-wise operation of the asynchronous reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)] // the names are PTX's
pub enum Reduce {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

impl Reduce {
    const ALL: [Self; 8] =
        [Self::Add, Self::Min, Self::Max, Self::Inc, Self::Dec, Self::And, Self::Or, Self::Xor];

    /// The operation that a modifier names.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        let names = [".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"];
        names.iter().position(|n| *n == token).map(|i| Self::ALL[i])
    }

    pub(crate) fn from_code(code: u32) -> Self {
        Self::ALL[code as usize % Self::ALL.len()]
    }

    /// `old op b` on zero-extended values of type `t`.
    pub(crate) fn apply(self, t: Ty, old: u64, b: u64) -> u64 {
        let op = match (self, t) {
            // Of two NaNs the old one stays, where `atom` keeps the other.
            (Self::Add, Ty::F64) => return fp64::add(Rnd::Rn, old, b),
            (Self::Add, Ty::F32) => AtomOp::AddF32,
            (Self::Add, Ty::F16) => AtomOp::AddF16,
            (Self::Add, Ty::Bf16) => AtomOp::AddBf16,
            (Self::Add, _) => AtomOp::Add,
            (Self::Min, Ty::F16) => AtomOp::MinF16,
            (Self::Max, Ty::F16) => AtomOp::MaxF16,
            (Self::Min, Ty::Bf16) => AtomOp::MinBf16,
            (Self::Max, Ty::Bf16) => AtomOp::MaxBf16,
            (Self::Min, Ty::S32 | Ty::S64) => AtomOp::MinS,
            (Self::Max, Ty::S32 | Ty::S64) => AtomOp::MaxS,
            (Self::Min, _) => AtomOp::MinU,
            (Self::Max, _) => AtomOp::MaxU,
            (Self::Inc, _) => AtomOp::Inc,
            (Self::Dec, _) => AtomOp::Dec,
            (Self::And, _) => AtomOp::And,
            (Self::Or, _) => AtomOp::Or,
            (Self::Xor, _) => AtomOp::Xor,
        };
        // Subnormal sums are kept, as those of `atom` in shared memory are.
        op.apply(t.bytes() as u8, true, old, b, 0)
    }
}

/// Reduces one element into memory.
fn reduce_one(
    mach: &mut dyn Machine,
    by: Accessor,
    lane: u8,
    space: Space,
    address: u64,
    (op, t): (Reduce, Ty),
    b: u64,
) -> Result<(), Fault> {
    mach.update(by, lane, space, address, t.bytes() as u8, &mut |old| op.apply(t, old, b))?;
    Ok(())
}

/// `cp.reduce.async.bulk`: as [`copy_bulk`]; constant 3 holds operation and type.
pub(crate) fn reduce_bulk(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let (to_space, from_space) = (space_from(op.k[0]), space_from(op.k[1]));
    let (to, from, size) = (mach.src_d(0), mach.src_d(1), mach.src_w(2));
    let signals = op.k[2] & bulk_flag::MBARRIER != 0;
    let barrier = if signals { mach.src_d(3) } else { [0; 32] };
    let what = unpack_reduce(op.k[3]);
    let width = what.1.bytes() as usize;
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        bulk_size(lane, size[l])?;
        aligned(lane, from_space, from[l], 16, false)?;
        aligned(lane, to_space, to[l], 16, true)?;
        let mut source = vec![0u8; size[l] as usize];
        mach.read(BULK, lane, from_space, from[l], &mut source)?;
        for (i, element) in source.chunks_exact(width).enumerate() {
            let b = element.iter().rev().fold(0, |v, x| v << 8 | u64::from(*x));
            reduce_one(mach, BULK, lane, to_space, to[l] + (i * width) as u64, what, b)?;
        }
        if signals {
            mbarrier::complete(mach, lane, to_space, barrier[l], size[l])?;
        }
    }
    Ok(Flow::Next)
}

/// Operation and type in one word.
pub(crate) fn pack_reduce(op: Reduce, t: Ty) -> u32 {
    op as u32 | (t as u32) << 8
}

fn unpack_reduce(v: u32) -> (Reduce, Ty) {
    (Reduce::from_code(v & 0xff), Ty::ALL[(v >> 8) as usize % Ty::ALL.len()])
}

/// `st.async` with an mbarrier: sources destination, mbarrier, elements. Constants: bytes of one
/// element, elements, space.
pub(crate) fn store(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [bytes, count, space, _] = op.k;
    let space = space_from(space);
    let (to, barrier) = (mach.src_d(0), mach.src_d(1));
    let values: Vec<[u64; 32]> = (0..count as usize)
        .map(|i| if bytes == 8 { mach.src_d(2 + i) } else { mach.src_w(2 + i).map(u64::from) })
        .collect();
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        aligned(lane, space, to[l], bytes * count, true)?;
        for (i, v) in values.iter().enumerate() {
            let at = to[l] + u64::from(bytes) * i as u64;
            mach.write(
                Accessor::AsyncStore,
                lane,
                space,
                at,
                &v[l].to_le_bytes()[..bytes as usize],
            )?;
        }
        mbarrier::complete(mach, lane, space, barrier[l], bytes * count)?;
    }
    Ok(Flow::Next)
}

/// `red.async` with an mbarrier: sources destination, mbarrier, value. Constants: operation and
/// type, space.
pub(crate) fn reduce(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let what = unpack_reduce(op.k[0]);
    let space = space_from(op.k[1]);
    let (to, barrier) = (mach.src_d(0), mach.src_d(1));
    let bytes = what.1.bytes();
    let b = if bytes == 8 { mach.src_d(2) } else { mach.src_w(2).map(u64::from) };
    for l in lanes(mach.mask()) {
        let lane = l as u8;
        aligned(lane, space, to[l], bytes, true)?;
        reduce_one(mach, Accessor::AsyncStore, lane, space, to[l], what, b[l])?;
        mbarrier::complete(mach, lane, space, barrier[l], bytes)?;
    }
    Ok(Flow::Next)
}
