//! For which lanes of a warp an expression holds, as a mask: comparisons of a register with a number, and what combines
//! them, never become rows of values.

use std::cell::Cell;

use ptx_interp::{LANE_BIT, Lane, RegisterRow};
use ptx_isa::Ty;
use ptx_isa::special::Sreg;

use super::{Class, DEAR, Node, compute, cost};
use crate::error::Error;
use crate::expr::{Binary, Unary};
use crate::vector::{Processor, by_processor};

/// A comparison as the numbers that it takes for a hit: from `low` to `high`, or all others.
#[derive(Copy, Clone)]
struct Range {
    low: i64,
    high: i64,
    others: bool,
}

impl Range {
    fn new(op: Binary, c: i64) -> Option<Range> {
        let range = |low, high, others| Some(Range { low, high, others });
        match op {
            Binary::Equal => range(c, c, false),
            Binary::Unequal => range(c, c, true),
            Binary::Less => range(c, i64::MAX, true),
            Binary::LessEqual => range(i64::MIN, c, false),
            Binary::Greater => range(i64::MIN, c, true),
            Binary::GreaterEqual => range(c, i64::MAX, false),
            _ => None,
        }
    }
}

#[inline(always)]
fn signed_within(row: &[Cell<u32>; 32], low: i64, high: i64) -> u32 {
    let mut mask = 0;
    for l in 0..32 {
        let v = i64::from(row[l].get() as i32);
        mask |= if low <= v && v <= high { LANE_BIT[l] } else { 0 };
    }
    mask
}

#[inline(always)]
fn unsigned_within(row: &[Cell<u32>; 32], low: i64, high: i64) -> u32 {
    let mut mask = 0;
    for l in 0..32 {
        let v = i64::from(row[l].get());
        mask |= if low <= v && v <= high { LANE_BIT[l] } else { 0 };
    }
    mask
}

#[inline(always)]
fn longs_within(row: &[Cell<u64>; 32], low: i64, high: i64) -> u32 {
    let mut mask = 0;
    for l in 0..32 {
        let v = row[l].get() as i64;
        mask |= if low <= v && v <= high { LANE_BIT[l] } else { 0 };
    }
    mask
}

/// The same of numbers that grow by one from lane to lane.
fn counted_within(first: i64, low: i64, high: i64) -> u32 {
    let lanes_before = |v: i64| v.saturating_sub(first).clamp(0, 32) as u32;
    let before = |lanes: u32| ((1u64 << lanes) - 1) as u32;
    match low <= high {
        true => before(lanes_before(high.saturating_add(1))) & !before(lanes_before(low)),
        false => 0,
    }
}

/// The same of a special register whose lanes are equal or grow by one; `None` for others.
fn special_within(reg: Sreg, lane: &Lane<'_>, low: i64, high: i64) -> Option<u32> {
    use Sreg::*;
    let one = |l: u8, reg: Sreg| lane.special(l, reg) as u32 as i64;
    match reg {
        TidX => {
            let first = one(0, TidX);
            (first + 32 <= one(0, NtidX)).then(|| counted_within(first, low, high))
        }
        CtaidX | CtaidY | CtaidZ | NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ => {
            let v = one(lane.lane, reg);
            Some(if low <= v && v <= high { u32::MAX } else { 0 })
        }
        _ => None,
    }
}

by_processor! {
    fn signed(row: &[Cell<u32>; 32], low: i64, high: i64) -> u32 = signed_within;
}
by_processor! {
    fn unsigned(row: &[Cell<u32>; 32], low: i64, high: i64) -> u32 = unsigned_within;
}
by_processor! {
    fn longs(row: &[Cell<u64>; 32], low: i64, high: i64) -> u32 = longs_within;
}

/// The lanes of `mask` for which a whole number is not zero.
pub(super) fn truth(
    processor: Processor,
    node: &Node,
    lane: &Lane<'_>,
    up: u32,
    mask: u32,
) -> Result<u32, Error> {
    let of = |node: &Node, mask: u32| truth(processor, node, lane, up, mask);
    match node {
        Node::Unary(Unary::Not, false, node) => Ok(!of(node, mask)? & mask),
        Node::Binary(Binary::And, _, a, b) => {
            // Lanes for which one side does not hold need not compute the other one. The side that comes first is the
            // left one, which may guard a load, unless the right one costs less and cannot fail.
            let (first, second) = if cost(b) < cost(a).min(DEAR) { (b, a) } else { (a, b) };
            match of(first, mask)? {
                0 => Ok(0),
                held => of(second, held),
            }
        }
        Node::Binary(Binary::Or, _, a, b) => Ok(of(a, mask)? | of(b, mask)?),
        Node::Binary(op, Class::Signed, a, b) => match (&**a, &**b, Range::new(*op, 0)) {
            (Node::Register(kind, number, ty, name), Node::Const(c), Some(_)) => {
                let Some(range) = Range::new(*op, *c as i64) else {
                    return values(node, lane, up, mask);
                };
                let row = lane.register_row(up, *kind, *number);
                let row = row.ok_or_else(|| Error::Unused(name.clone()))?;
                let Range { low, high, others } = range;
                let hit = match (row, ty) {
                    (RegisterRow::Words(row), Ty::S32 | Ty::B32) => {
                        signed(processor, row, low, high)
                    }
                    (RegisterRow::Words(row), Ty::U32) => unsigned(processor, row, low, high),
                    (RegisterRow::Longs(row), Ty::S64 | Ty::B64) => {
                        longs(processor, row, low, high)
                    }
                    _ => return values(node, lane, up, mask),
                };
                Ok(if others { !hit & mask } else { hit & mask })
            }
            (Node::Special(reg), Node::Const(c), Some(_)) => {
                let range = Range::new(*op, *c as i64);
                let hit = range.and_then(|r| special_within(*reg, lane, r.low, r.high));
                match hit.zip(range) {
                    Some((hit, range)) => Ok(if range.others { !hit & mask } else { hit & mask }),
                    None => values(node, lane, up, mask),
                }
            }
            _ => values(node, lane, up, mask),
        },
        _ => values(node, lane, up, mask),
    }
}

/// The same by way of the values.
fn values(node: &Node, lane: &Lane<'_>, up: u32, mask: u32) -> Result<u32, Error> {
    let values = compute(node, lane, up, mask)?;
    let mut yes = 0;
    for l in 0..32 {
        yes |= if values[l] != 0 { LANE_BIT[l] } else { 0 };
    }
    Ok(yes & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a comparison holds, as C has it.
    fn holds(op: Binary, a: i64, c: i64) -> bool {
        match op {
            Binary::Equal => a == c,
            Binary::Unequal => a != c,
            Binary::Less => a < c,
            Binary::LessEqual => a <= c,
            Binary::Greater => a > c,
            _ => a >= c,
        }
    }

    #[test]
    fn lanes_are_counted() {
        for (first, low, high) in
            (-3..70).flat_map(|c| [(0, c, 40), (32, c, c), (64, i64::MIN, c), (5, c, i64::MAX)])
        {
            let right = (0..32).filter(|l| (low..=high).contains(&(first + l)));
            let right = right.fold(0, |m, l| m | 1 << l);
            assert_eq!(counted_within(first, low, high), right, "{first} {low} {high}");
        }
        assert_eq!(counted_within(0, 9, 8), 0);
    }

    #[test]
    fn masks_are_those_of_single_lanes() {
        let ops = [
            Binary::Equal,
            Binary::Unequal,
            Binary::Less,
            Binary::LessEqual,
            Binary::Greater,
            Binary::GreaterEqual,
        ];
        let edges = [i64::MIN, -0x8000_0000, -1, 0, 1, 7, 0x7fff_ffff, 0xffff_ffff, i64::MAX];
        let lane = |l: usize| edges[l % edges.len()].wrapping_add(l as i64 / 9 - 1);
        let rows: [i64; 32] = std::array::from_fn(lane);
        let words = rows.map(|v| Cell::new(v as u32));
        let wide = rows.map(|v| Cell::new(v as u64));
        let processor = Processor::detect();
        for (op, c) in ops.iter().flat_map(|op| edges.map(|c| (*op, c))) {
            let Range { low, high, others } = Range::new(op, c).unwrap();
            let mask = |of: &dyn Fn(i64) -> i64| {
                rows.iter()
                    .enumerate()
                    .fold(0, |m, (l, v)| m | u32::from(holds(op, of(*v), c)) << l)
            };
            let found = [
                (signed(processor, &words, low, high), mask(&|v| i64::from(v as i32))),
                (unsigned(processor, &words, low, high), mask(&|v| i64::from(v as u32))),
                (longs(processor, &wide, low, high), mask(&|v| v)),
            ];
            for (hit, right) in found {
                assert_eq!(if others { !hit } else { hit }, right, "{op:?} {c}");
            }
        }
    }
}
