//! The matrix instructions over a warp: operands from the engine, results back to it.
//!
//! Constants of a [`WarpOp`] are a packed descriptor and what the comments below say.

use super::{
    Elem, MatrixError, Mma, ScaledMma, Selector, Wgmma, WgmmaA, WgmmaArgs, Wmma, WmmaMove, moves,
};
use crate::async_copy::in_own_cta;
use crate::effect::{Accessor, Fault, Flow, Machine, WarpOp};
use crate::special::Sreg;
use crate::types::Space;

impl From<MatrixError> for Fault {
    fn from(e: MatrixError) -> Fault {
        Fault::Operand { lane: 0, message: e.to_string() }
    }
}

/// State space of a packed constant.
pub(crate) fn space_from(code: u32) -> Space {
    const SPACES: [Space; 4] = [Space::Generic, Space::Global, Space::Shared, Space::SharedCluster];
    SPACES[code as usize % SPACES.len()]
}

/// Inverse of [`space_from`]; other spaces are not addressed by these instructions.
pub(crate) fn space_code(space: Space) -> u32 {
    match space {
        Space::Global => 1,
        Space::Shared => 2,
        Space::SharedCluster => 3,
        _ => 0,
    }
}

/// Registers `at .. at + n` of the sources.
fn words(mach: &dyn Machine, at: usize, n: usize) -> Vec<[u32; 32]> {
    (at..at + n).map(|i| mach.src_w(i)).collect()
}

fn doubles(mach: &dyn Machine, at: usize, n: usize) -> Vec<[u64; 32]> {
    (at..at + n).map(|i| mach.src_d(i)).collect()
}

fn set_words(mach: &mut dyn Machine, d: &[[u32; 32]]) {
    for (i, row) in d.iter().enumerate() {
        mach.set_w(i, row);
    }
}

fn set_doubles(mach: &mut dyn Machine, d: &[[u64; 32]]) {
    for (i, row) in d.iter().enumerate() {
        mach.set_d(i, row);
    }
}

/// The first executing lane, whose values stand for the warp's where all must agree.
pub(crate) fn leader(mach: &dyn Machine) -> usize {
    mach.mask().trailing_zeros().min(31) as usize
}

/// `mma` and `mma.sp`: sources A, B, C and, if sparse, metadata. Constants: descriptor, selector.
pub(crate) fn mma(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let m = Mma::unpack([op.k[0], op.k[1]]);
    let [na, nb, nc, nd] = m.registers();
    if m.a == Elem::F64 {
        let mut d = vec![[0; 32]; nd];
        let (a, b) = (doubles(mach, 0, na), doubles(mach, na, nb));
        m.run_f64(&mut d, &a, &b, &doubles(mach, na + nb, nc))?;
        set_doubles(mach, &d);
        return Ok(Flow::Next);
    }
    let (a, b, c) = (words(mach, 0, na), words(mach, na, nb), words(mach, na + nb, nc));
    let mut d = vec![[0; 32]; nd];
    if m.sparse {
        let meta = mach.src_w(na + nb + nc);
        m.run_sparse(&mut d, &a, &b, &c, &meta, op.k[2])?;
    } else {
        m.run(&mut d, &a, &b, &c)?;
    }
    set_words(mach, &d);
    Ok(Flow::Next)
}

/// `mma` of narrow floats: sources A, B, C; then metadata if sparse, or for A and for B factors, byte and thread if
/// scaled. Constants: descriptor, selector of metadata.
pub(crate) fn scaled_mma(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let m = ScaledMma::unpack(op.k[0]);
    let [na, nb, nd] = m.registers();
    let (a, b, c) = (words(mach, 0, na), words(mach, na, nb), words(mach, na + nb, nd));
    let next = na + nb + nd;
    let meta = m.sparse.then(|| mach.src_w(next));
    let next = next + usize::from(m.sparse);
    let lane = leader(mach);
    let operand = |at: usize| {
        let select = |i: usize| mach.src_w(at + i)[lane];
        (mach.src_w(at), Selector { byte: select(1), thread: select(2) })
    };
    let factors = m.scale.map(|_| [operand(next), operand(next + 3)]);
    let mut d = vec![[0; 32]; nd];
    let factors = factors.as_ref().map(|[a, b]| [(&a.0, a.1), (&b.0, b.1)]);
    m.run(&mut d, (&a, &b, &c), meta.as_ref().map(|meta| (meta, op.k[1])), factors)?;
    set_words(mach, &d);
    Ok(Flow::Next)
}

/// `wmma.mma`: sources A, B, C. Constants: descriptor.
pub(crate) fn wmma(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let m = Wmma::unpack([op.k[0], op.k[1]]);
    let [na, nb, nc, nd] = m.registers();
    if m.a.elem == Elem::F64 {
        let mut d = vec![[0; 32]; nd];
        let (a, b) = (doubles(mach, 0, na), doubles(mach, na, nb));
        m.run_f64(&mut d, &a, &b, &doubles(mach, na + nb, nc))?;
        set_doubles(mach, &d);
    } else {
        let mut d = vec![[0; 32]; nd];
        let (a, b) = (words(mach, 0, na), words(mach, na, nb));
        m.run(&mut d, &a, &b, &words(mach, na + nb, nc))?;
        set_words(mach, &d);
    }
    Ok(Flow::Next)
}

/// `wmma.load`: sources address and stride. Constants: descriptor, space.
pub(crate) fn wmma_load(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let m = WmmaMove::unpack([op.k[0], op.k[1]]);
    let space = space_from(op.k[2]);
    let lane = leader(mach);
    let (base, stride) = (mach.src_d(0)[lane], mach.src_w(1)[lane]);
    let regs = m.fragment.load(m.layout, stride.into(), |offsets, bytes| {
        mach.gather(Accessor::Matrix, space, &offsets.map(|at| base.wrapping_add(at)), bytes)
    })?;
    if m.fragment.elem == Elem::F64 {
        set_doubles(mach, &regs);
    } else {
        let narrow: Vec<[u32; 32]> = regs.iter().map(|r| r.map(|v| v as u32)).collect();
        set_words(mach, &narrow);
    }
    Ok(Flow::Next)
}

/// `wmma.store`: sources address, stride, registers. Constants: descriptor, space.
pub(crate) fn wmma_store(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let m = WmmaMove::unpack([op.k[0], op.k[1]]);
    let space = space_from(op.k[2]);
    let lane = leader(mach);
    let (base, stride) = (mach.src_d(0)[lane], mach.src_w(1)[lane]);
    let n = m.fragment.registers();
    let regs: Vec<[u64; 32]> = if m.fragment.elem == Elem::F64 {
        doubles(mach, 2, n)
    } else {
        words(mach, 2, n).iter().map(|r| r.map(u64::from)).collect()
    };
    m.fragment.store(m.layout, stride.into(), &regs, |offsets, bytes, values| {
        let addresses = offsets.map(|at| base.wrapping_add(at));
        mach.scatter(Accessor::Matrix, space, &addresses, bytes, values)
    })?;
    Ok(Flow::Next)
}

/// `wgmma.mma_async`: sources D before, A (four registers or a descriptor), the descriptor of B,
/// `scale-d` and, if sparse, metadata. Constants: descriptor, flags, selector.
pub(crate) fn wgmma(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let m = Wgmma::unpack([op.k[0], op.k[1]]);
    let flag = |bit: u32| op.k[2] >> bit & 1 != 0;
    let [na, nd] = m.registers();
    let lane = leader(mach);
    let mut d = words(mach, 0, nd);
    let in_registers = flag(0);
    let a_regs = if in_registers { words(mach, nd, na) } else { Vec::new() };
    let a = if in_registers {
        WgmmaA::Registers(&a_regs)
    } else {
        WgmmaA::Shared(mach.src_d(nd)[lane])
    };
    let next = nd + if in_registers { na } else { 1 };
    let meta = if m.sparse { Some(mach.src_w(next + 1)) } else { None };
    let scale = next + 1 + usize::from(m.sparse);
    let args = WgmmaArgs {
        b: mach.src_d(next)[lane],
        scale_d: mach.src_p(scale) >> lane & 1 != 0,
        negate_a: flag(1),
        negate_b: flag(2),
        transpose_a: flag(3),
        transpose_b: flag(4),
        metadata: meta.as_ref().map(|meta| (meta, op.k[3])),
    };
    let warp = warp_in_cta(mach, lane as u8) as usize % 4;
    m.run(warp, &mut d, a, &args, |at, out| {
        let at = in_own_cta(mach, lane as u8, at.into());
        mach.read(Accessor::MatrixProduct, lane as u8, Space::Shared, at, out)
    })?;
    set_words(mach, &d);
    Ok(Flow::Next)
}

/// The warp's number in its block, from the thread index (`%warpid` is allowed to be anything).
pub(crate) fn warp_in_cta(mach: &dyn Machine, lane: u8) -> u64 {
    let at = |r| mach.special(lane, r);
    let plane = at(Sreg::TidZ) * at(Sreg::NtidY) + at(Sreg::TidY);
    (plane * at(Sreg::NtidX) + at(Sreg::TidX)) / 32
}

/// `ldmatrix` of 8x8 matrices: source address per lane. Constants: matrices, transpose, space.
pub(crate) fn ldmatrix(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [count, transpose, space, _] = op.k;
    let addresses = mach.src_d(0);
    for i in 0..count as usize {
        let mut rows = [[0u8; 16]; 8];
        for (r, row) in rows.iter_mut().enumerate() {
            let lane = 8 * i + r;
            row_access(lane, addresses[lane], space_from(space), false)?;
            mach.read(Accessor::Matrix, lane as u8, space_from(space), addresses[lane], row)?;
        }
        mach.set_w(i, &moves::load_8x8(&rows, transpose != 0));
    }
    Ok(Flow::Next)
}

/// `stmatrix` of 8x8 matrices: sources address per lane, registers. Constants as [`ldmatrix`].
pub(crate) fn stmatrix(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [count, transpose, space, _] = op.k;
    let addresses = mach.src_d(0);
    for i in 0..count as usize {
        let rows = moves::store_8x8(&mach.src_w(1 + i), transpose != 0);
        for (r, row) in rows.iter().enumerate() {
            let lane = 8 * i + r;
            row_access(lane, addresses[lane], space_from(space), true)?;
            mach.write(Accessor::Matrix, lane as u8, space_from(space), addresses[lane], row)?;
        }
    }
    Ok(Flow::Next)
}

/// `ldmatrix` of rows of 16 elements that become bytes: source address per lane. Constants: matrices, whether they have
/// 16 rows and are transposed, space, bits of an element.
pub(crate) fn ldmatrix_bytes(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [count, square, space, bits] = op.k;
    let (square, space) = (square != 0, space_from(space));
    let addresses = mach.src_d(0);
    let rows = if square { 16 } else { 8 };
    for i in 0..count as usize {
        let mut matrix = [[0u8; 16]; 16];
        for (r, row) in matrix.iter_mut().enumerate().take(rows) {
            let lane = rows * i + r;
            row_access(lane, addresses[lane], space, false)?;
            mach.read(Accessor::Matrix, lane as u8, space, addresses[lane], row)?;
            *row = moves::widen(row, bits);
        }
        if square {
            let [low, high] = moves::load_16x16(&matrix);
            mach.set_w(2 * i, &low);
            mach.set_w(2 * i + 1, &high);
        } else {
            mach.set_w(i, &moves::load_8x16(&matrix));
        }
    }
    Ok(Flow::Next)
}

/// `stmatrix` of 16x8 matrices of bytes, column after column: sources address per lane, registers. Constants: matrices,
/// space in constant 2.
pub(crate) fn stmatrix_bytes(mach: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [count, _, space, _] = op.k;
    let addresses = mach.src_d(0);
    for i in 0..count as usize {
        let columns = moves::store_16x8(&mach.src_w(1 + i));
        for (c, column) in columns.iter().enumerate() {
            let lane = 8 * i + c;
            row_access(lane, addresses[lane], space_from(space), true)?;
            mach.write(Accessor::Matrix, lane as u8, space_from(space), addresses[lane], column)?;
        }
    }
    Ok(Flow::Next)
}

/// A row of a matrix starts at a multiple of its 16 bytes.
fn row_access(lane: usize, address: u64, space: Space, write: bool) -> Result<(), Fault> {
    if address.is_multiple_of(16) {
        Ok(())
    } else {
        Err(Fault::Misaligned { lane: lane as u8, space, address, bytes: 16, write })
    }
}

/// `movmatrix`: one register.
pub(crate) fn movmatrix(mach: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let f = mach.src_w(0);
    mach.set_w(0, &moves::transpose_8x8(&f));
    Ok(Flow::Next)
}
