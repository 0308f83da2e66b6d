//! Allocation, loads, stores and copies of Tensor Memory, and the commit, over a warp.

use super::fragment::Fragment;
use super::memory::{TensorMemory, split};
use crate::async_copy::{in_cta, in_own_cta};
use crate::effect::{
    Accessor, Fault, Flow, Machine, MbarrierEvent, MbarrierOp, Order, Scope, WarpOp,
};
use crate::matrix::Descriptor;
use crate::matrix::moves::widen;
use crate::matrix::run::{leader, space_from, warp_in_cta};
use crate::mbarrier::{self, lanes};
use crate::num::fp32;
use crate::special::Sreg;
use crate::types::Space;

/// Rank of the executing block in its cluster.
pub(super) fn own_rank(mach: &dyn Machine, lane: usize) -> u32 {
    mach.special(lane as u8, Sreg::ClusterCtarank) as u32
}

/// Runs `f` on the Tensor Memory of block `rank`.
pub(super) fn with<T>(
    mach: &mut dyn Machine,
    lane: usize,
    rank: u32,
    mut f: impl FnMut(&mut TensorMemory) -> Result<T, String>,
) -> Result<T, Fault> {
    let mut result = Err("the Tensor Memory was not looked at".into());
    mach.tensor_memory(rank, &mut |memory| result = f(memory))
        .map_err(|e| Fault::operand(lane, e))?;
    result.map_err(|e| Fault::operand(lane, e))
}

/// The blocks that an operation concerns, by rank: the executing one, or its pair, the even one first.
pub(super) fn blocks(mach: &dyn Machine, lane: usize, pair: bool) -> Result<Vec<u32>, Fault> {
    let own = own_rank(mach, lane);
    if !pair {
        return Ok(vec![own]);
    }
    if mach.special(lane as u8, Sreg::ClusterNctarank) as u32 <= own | 1 {
        return Err(Fault::operand(
            lane,
            "`.cta_group::2` in a block without a peer in its cluster",
        ));
    }
    Ok(vec![own & !1, own | 1])
}

/// `tcgen05.alloc`: sources address and number of columns. Constants: whether for a pair of blocks, space.
pub(crate) fn allocate(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let lane = leader(mach);
    let (to, columns) = (mach.src_d(0)[lane], mach.src_w(1)[lane]);
    let (own, space) = (own_rank(mach, lane), space_from(op.k[1]));
    let address = if op.k[0] != 0 {
        let all = blocks(mach, lane, true)?;
        let other = if all[0] == own { all[1] } else { all[0] };
        let made = with(mach, lane, other, |t| Ok(t.joint_allocations()))?;
        with(mach, lane, own, |t| t.allocate_jointly(columns, made))?
    } else {
        with(mach, lane, own, |t| t.allocate(columns))?
    };
    let Some(address) = address else { return Ok(Flow::Retry) };
    if !to.is_multiple_of(4) {
        return Err(Fault::Misaligned {
            lane: lane as u8,
            space,
            address: to,
            bytes: 4,
            write: true,
        });
    }
    mach.write(Accessor::Store, lane as u8, space, to, &address.to_le_bytes())?;
    Ok(Flow::Next)
}

/// `tcgen05.dealloc`: sources address and number of columns.
pub(crate) fn free(mach: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let lane = leader(mach);
    let (address, columns) = (mach.src_w(0)[lane], mach.src_w(1)[lane]);
    let own = own_rank(mach, lane);
    with(mach, lane, own, |t| t.free(address, columns))?;
    Ok(Flow::Next)
}

/// `tcgen05.relinquish_alloc_permit`.
pub(crate) fn relinquish(mach: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let lane = leader(mach);
    let own = own_rank(mach, lane);
    with(mach, lane, own, |t| {
        t.relinquish();
        Ok(())
    })?;
    Ok(Flow::Next)
}

/// First cell of an access of the warp, which reaches a quarter of the lanes.
fn start(mach: &dyn Machine, fragment: Fragment, address: u32) -> Result<(u32, u32), Fault> {
    let lane = leader(mach);
    let (first, column) = split(address);
    let quarter = 32 * (warp_in_cta(mach, lane as u8) as u32 % 4);
    // An address without a quarter means the warp's own: kernels for this device (DeepGEMM's epilogues, pyptx's) give
    // the address of the allocation to all four warps, and each gets its rows. The manual only has the full address.
    let within = if first < 32 { first } else { first.wrapping_sub(quarter) };
    if within <= 32 - fragment.shape.lanes() {
        return Ok((quarter + within, column));
    }
    Err(Fault::operand(
        lane,
        format!(
            "the access starts at lane {first} of Tensor Memory; this warp of its warpgroup reaches lanes {quarter} to \
             {}",
            quarter + 31
        ),
    ))
}

/// For every thread the start of its access.
fn starts(
    mach: &dyn Machine,
    fragment: Fragment,
    address: u32,
    second: u32,
) -> Result<[(u32, u32); 2], Fault> {
    let first = start(mach, fragment, address)?;
    let far = fragment.second(16);
    let second = if far { start(mach, fragment, address.wrapping_add(second))? } else { first };
    Ok([first, second])
}

/// What `load` reduces its registers to.
pub(crate) mod reduction {
    /// There is a reduction.
    pub const ON: u32 = 1;
    pub const MAX: u32 = 2;
    pub const FLOAT: u32 = 4;
    pub const SIGNED: u32 = 8;
    pub const MAGNITUDE: u32 = 16;
    /// A NaN is the result.
    pub const NAN: u32 = 32;
}

fn reduce(k: u32, a: u32, b: u32) -> u32 {
    let has = |flag: u32| k & flag != 0;
    if has(reduction::FLOAT) {
        let sign = if has(reduction::MAGNITUDE) { 0x7fff_ffff } else { u32::MAX };
        return fp32::min_max(
            has(reduction::MAX),
            false,
            has(reduction::NAN),
            false,
            a & sign,
            b & sign,
        );
    }
    match (has(reduction::SIGNED), has(reduction::MAX)) {
        (false, false) => a.min(b),
        (false, true) => a.max(b),
        (true, false) => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        (true, true) => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
    }
}

/// `tcgen05.ld`: source address. Constants: fragment, distance of the second access, [`reduction`].
pub(crate) fn load(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let fragment = Fragment::unpack(op.k[0]);
    let lane = leader(mach);
    let starts = starts(mach, fragment, mach.src_w(0)[lane], op.k[1])?;
    let own = own_rank(mach, lane);
    let rows = with(mach, lane, own, |t| {
        let mut rows = vec![[0u32; 32]; fragment.registers as usize];
        for (r, row) in rows.iter_mut().enumerate() {
            for (thread, v) in row.iter_mut().enumerate() {
                let (first, column) = starts[usize::from(fragment.second(thread as u32))];
                let (l, c) = fragment.cell(thread as u32, r as u32);
                *v = if fragment.packed {
                    let low = t.get(first + l, column + 2 * c)?;
                    let high = t.get(first + l, column + 2 * c + 1)?;
                    low & 0xffff | high << 16
                } else {
                    t.get(first + l, column + c)?
                };
            }
        }
        Ok(rows)
    })?;
    for (r, row) in rows.iter().enumerate() {
        mach.set_w(r, row);
    }
    if op.k[2] & reduction::ON != 0 {
        let value = |thread: usize| {
            let of = rows.iter().map(|row| row[thread]);
            of.reduce(|a, b| reduce(op.k[2], a, b)).unwrap_or(0)
        };
        mach.set_w(rows.len(), &std::array::from_fn(value));
    }
    Ok(Flow::Next)
}

/// `tcgen05.st`: sources address and registers. Constants: fragment, distance of the second access.
pub(crate) fn store(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let fragment = Fragment::unpack(op.k[0]);
    let lane = leader(mach);
    let starts = starts(mach, fragment, mach.src_w(0)[lane], op.k[1])?;
    let own = own_rank(mach, lane);
    let rows: Vec<[u32; 32]> =
        (0..fragment.registers as usize).map(|r| mach.src_w(1 + r)).collect();
    with(mach, lane, own, |t| {
        for (r, row) in rows.iter().enumerate() {
            for (thread, v) in row.iter().enumerate() {
                let (first, column) = starts[usize::from(fragment.second(thread as u32))];
                let (l, c) = fragment.cell(thread as u32, r as u32);
                if fragment.packed {
                    t.set(first + l, column + 2 * c, v & 0xffff)?;
                    t.set(first + l, column + 2 * c + 1, v >> 16)?;
                } else {
                    t.set(first + l, column + c, *v)?;
                }
            }
        }
        Ok(())
    })?;
    Ok(Flow::Next)
}

/// How the rows of a copy are spread over the lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Spread {
    /// Each row in its lane.
    Once,
    /// Four rows, 32 lanes apart.
    Quarters,
    /// 64 rows, again 64 lanes further.
    Halves,
    /// 64 rows, each 32 of them twice.
    Pairs,
    /// 32 rows, four times.
    All,
}

const SPREADS: [Spread; 5] =
    [Spread::Once, Spread::Quarters, Spread::Halves, Spread::Pairs, Spread::All];

impl Spread {
    /// Its place in the declaration, for constants of micro-ops.
    pub(crate) fn code(self) -> u32 {
        SPREADS.iter().position(|s| *s == self).unwrap_or(0) as u32
    }

    const fn rows(self) -> u32 {
        match self {
            Self::Once => 128,
            Self::Quarters => 4,
            Self::Halves | Self::Pairs => 64,
            Self::All => 32,
        }
    }

    /// The lanes of a row.
    fn lanes(self, row: u32) -> impl Iterator<Item = u32> {
        let (first, step, count) = match self {
            Self::Once => (row, 0, 1),
            Self::Quarters => (32 * row, 0, 1),
            Self::Halves => (row, 64, 2),
            Self::Pairs => (row / 32 * 64 + row % 32, 32, 2),
            Self::All => (row, 32, 4),
        };
        (0..count).map(move |i| first + step * i)
    }
}

/// Reads 16 bytes of the shared memory of a block: `None` is the executing one.
pub(super) fn read_shared(
    mach: &mut dyn Machine,
    lane: usize,
    rank: Option<u32>,
    address: u32,
    out: &mut [u8],
) -> Result<(), Fault> {
    let (space, address) = match rank {
        None => (Space::Shared, in_own_cta(mach, lane as u8, address.into())),
        Some(rank) => (Space::SharedCluster, in_cta(address.into(), rank.into())),
    };
    mach.read(Accessor::MatrixProduct, lane as u8, space, address, out)
}

/// `tcgen05.cp`: sources address and descriptor. Constants: whether for a pair of blocks, [`Spread`], bytes of a row,
/// bits of elements that become bytes (8: they stay).
pub(crate) fn copy(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let spread = SPREADS[op.k[1] as usize % SPREADS.len()];
    let (bytes, bits) = (op.k[2], op.k[3]);
    for l in lanes(mach.mask()) {
        let (to, from) = (mach.src_w(0)[l], mach.src_d(1)[l]);
        let descriptor = Descriptor::decode_tensor(from).map_err(Fault::from)?;
        let (first, column) = split(to);
        for rank in blocks(mach, l, op.k[0] != 0)? {
            let shared = (op.k[0] != 0).then_some(rank);
            for row in 0..spread.rows() {
                for chunk in 0..bytes / 16 {
                    let raw = descriptor.row(row, 16 * chunk, &mut |at, out: &mut [u8]| {
                        read_shared(mach, l, shared, at, out)
                    })?;
                    let wide = widen(&raw, bits);
                    // Elements of 4 bits lie in bits 2 to 5 of their byte.
                    let wide = if bits == 4 { wide.map(|v| v << 2) } else { wide };
                    with(mach, l, rank, |t| {
                        for lane in spread.lanes(row) {
                            for (i, cell) in wide.as_chunks::<4>().0.iter().enumerate() {
                                let at = column + 4 * chunk + i as u32;
                                t.set(first + lane, at, u32::from_le_bytes(*cell))?;
                            }
                        }
                        Ok(())
                    })?;
                }
            }
        }
    }
    Ok(Flow::Next)
}

/// Columns of 32 bytes, which one shift moves.
const SHIFTED: u32 = 8;

/// Moves every row of 32 lanes one lane down: to the lane of the next lower number, as `shfl.down` does. The last row
/// of the 32 stays. The manual does not say which way is down; NVIDIA's test of `.ashift` in CUTLASS
/// (`1cta_mma_a_from_tmem.py`), which runs on a B200, does.
pub(super) fn shift_down(
    t: &mut TensorMemory,
    (first, column): (u32, u32),
    columns: u32,
) -> Result<(), String> {
    for c in column..column + columns {
        for lane in first..first + 31 {
            let v = t.get(lane + 1, c)?;
            t.set(lane, c, v)?;
        }
    }
    Ok(())
}

/// `tcgen05.shift`: source address. Constant: whether for a pair of blocks.
pub(crate) fn shift(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    for l in lanes(mach.mask()) {
        let start = split(mach.src_w(0)[l]);
        if !start.0.is_multiple_of(32) {
            let message = format!(
                "a shift starts at lane {} of Tensor Memory, which is no multiple of 32",
                start.0
            );
            return Err(Fault::operand(l, message));
        }
        for rank in blocks(mach, l, op.k[0] != 0)? {
            with(mach, l, rank, |t| shift_down(t, start, SHIFTED))?;
        }
    }
    Ok(Flow::Next)
}

/// `tcgen05.commit`: sources address and, if constant 1 says so, a mask of the cluster's blocks. Constant 0: space.
pub(crate) fn commit(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let space = space_from(op.k[0]);
    for l in lanes(mach.mask()) {
        let address = mach.src_d(0)[l];
        let objects: Vec<u64> = if op.k[1] == 0 {
            vec![address]
        } else {
            let mask = mach.src_w(1)[l] & 0xffff;
            lanes(mask).map(|rank| generic(space, address, rank as u64)).collect()
        };
        for address in objects {
            let lane = l as u8;
            let changed =
                mbarrier::change(mach, lane, space, address, &mut |b| b.arrive(1, false))?;
            let what = MbarrierOp::Arrive { count: 1, drop: false };
            let (order, scope, completes) = (Order::Release, Scope::Cluster, changed.completes);
            mach.mbarrier(MbarrierEvent { lane, space, address, what, order, scope, completes })?;
        }
    }
    Ok(Flow::Next)
}

/// The same offset in another block, as an address of `space`.
fn generic(space: Space, address: u64, rank: u64) -> u64 {
    use crate::effect::window::SHARED;
    match space {
        Space::Generic => SHARED + in_cta(address - SHARED.min(address), rank),
        _ => in_cta(address, rank),
    }
}
