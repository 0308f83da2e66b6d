//! What divides lane 0's value, and what follows for the lanes of a group.
//!
//! Groups start at a multiple of their width, so that `%tid.x` of lane 0 has low zero bits and the
//! lanes' own part (its offset) stands in them. Then `tid >> 5`, `tid & 31` and `tid < 32` are known
//! per lane: they are linear, or the same for the whole group.

use std::rc::Rc;

use ptx_isa::Kind;
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;

use crate::geometry::Geometry;
use crate::ir::{Func, Inst, Op, Val};
use crate::range::{Assumptions, is_signed, is_unsigned, offset_dimension};

/// Logarithm of a power of two that divides lane 0's value, for each value.
pub(crate) fn alignments(f: &Func, g: Geometry, assumed: &Assumptions) -> Vec<u32> {
    let width = g.width.trailing_zeros();
    let [x, ..] = g.block;
    let one_row = g.block[1] == 1 && g.block[2] == 1;
    let mut of: Vec<u32> = f
        .insts
        .iter()
        .map(|i| match i.op {
            Op::Const(c) => c.trailing_zeros().min(63),
            Op::Special(Sreg::TidX) if one_row || x.is_multiple_of(g.width) => width,
            Op::Special(Sreg::TidX) if g.width.is_multiple_of(x) => 63,
            Op::Special(Sreg::TidY | Sreg::TidZ) if one_row => 63,
            Op::Special(Sreg::LaneId) => width,
            Op::Special(s) => offset_dimension(s).map_or(0, |d| assumed.offset[d].align),
            Op::Pure(..) | Op::Phi => 63,
            _ => 0,
        })
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in &f.blocks {
            for &v in &block.insts {
                let i = &f.insts[v as usize];
                let new = match i.op {
                    Op::Phi => i.args.iter().map(|a| of[*a as usize]).min().unwrap_or(0),
                    Op::Pure(op, _) => pure(f, i, op, &of),
                    _ => continue,
                };
                if new < of[v as usize] {
                    of[v as usize] = new;
                    changed = true;
                }
            }
        }
    }
    of
}

fn pure(f: &Func, i: &Inst, op: Pure, of: &[u32]) -> u32 {
    let a = |n: usize| of[i.args[n] as usize];
    let amount = || f.as_const(i.args[1]).filter(|c| *c < 64).map(|c| c as u32);
    let product = || (a(0) + a(1)).min(63);
    match op {
        Pure::MovW | Pure::MovD | Pure::SextWD | Pure::ZextWD => a(0),
        // The low half of zero is zero; of anything else the low bits stay.
        Pure::TruncDW => a(0),
        Pure::AddW | Pure::AddD | Pure::SubW | Pure::SubD => a(0).min(a(1)),
        Pure::OrW | Pure::OrD | Pure::XorW | Pure::XorD => a(0).min(a(1)),
        Pure::AndW | Pure::AndD => a(0).max(a(1)),
        Pure::MulW | Pure::MulD | Pure::MulWideS | Pure::MulWideU => product(),
        Pure::MadW | Pure::MadWideS | Pure::MadWideU => product().min(a(2)),
        Pure::ShlW | Pure::ShlD => amount().map_or(0, |n| (a(0) + n).min(63)),
        Pure::ShrW | Pure::SarW | Pure::ShrD | Pure::SarD => {
            amount().map_or(0, |n| a(0).saturating_sub(n))
        }
        Pure::SelW | Pure::SelD => a(0).min(a(1)),
        _ => 0,
    }
}

/// Whether the lanes' offsets stand in zero bits of lane 0's value, below the sign.
fn in_low_bits(offsets: &[i64], align: u32, kind: Kind) -> bool {
    let top = if kind == Kind::D { 62 } else { 31 };
    let room = 1i64 << align.min(top);
    offsets.iter().all(|o| (0..room).contains(o))
}

/// Offsets of a bit operation of a linear value with a constant, where they are known.
pub(crate) fn bits(op: Pure, kind: Kind, x: &[i64], align: u32, c: u64) -> Option<Rc<[i64]>> {
    if !in_low_bits(x, align, kind) {
        return None;
    }
    let narrow = kind == Kind::W;
    let c = if narrow { c as u32 as u64 } else { c };
    let size = if narrow { 32 } else { 64 };
    Some(match op {
        Pure::ShrW | Pure::SarW | Pure::ShrD | Pure::SarD if c < size => {
            x.iter().map(|o| o >> c).collect()
        }
        Pure::AndW | Pure::AndD => x.iter().map(|o| o & c as i64).collect(),
        Pure::OrW | Pure::OrD => x.iter().map(|o| o & !(c as i64)).collect(),
        Pure::XorW | Pure::XorD => {
            let low = c as i64 & ((1i64 << align.min(if narrow { 31 } else { 62 })) - 1);
            x.iter().map(|o| (low ^ o) - low).collect()
        }
        _ => return None,
    })
}

/// Whether a comparison gives the same answer in all lanes. `divergence`: offsets of the operands;
/// one of them is uniform. `ranges`: bounds of all lanes' values, so that nothing wraps.
pub(crate) fn same_answer(
    f: &Func,
    op: Pure,
    args: [Val; 2],
    offsets: [&[i64]; 2],
    aligns: [u32; 2],
    ranges: [Option<(i64, i64)>; 2],
) -> bool {
    let unsigned = matches!(op, Pure::LtUW | Pure::LeUW);
    let or_equal = match op {
        Pure::LtSW | Pure::LtUW => false,
        Pure::LeSW | Pure::LeUW => true,
        _ => return false,
    };
    let flat = |n: usize| offsets[n].iter().all(|o| *o == 0);
    let lanes = if flat(1) { 0 } else { 1 };
    let limit = 1 - lanes;
    let exact = ranges[lanes].is_some_and(if unsigned { is_unsigned } else { is_signed });
    if !flat(limit) || !exact || !in_low_bits(offsets[lanes], aligns[lanes], Kind::W) {
        return false;
    }
    // `x < y` splits the numbers below `y`, `y < x` those above it, below `y + 1`.
    let next = or_equal == (lanes == 0);
    let own = aligns[lanes].min(31);
    if next {
        let value = f.as_const(args[limit]).map(|c| c as u32);
        value.is_some_and(|c| {
            // At the greatest number all lanes compare the same.
            let last = if unsigned { u32::MAX } else { i32::MAX as u32 };
            c == last || c.wrapping_add(1).trailing_zeros() >= own
        })
    } else {
        aligns[limit] >= own
    }
}
