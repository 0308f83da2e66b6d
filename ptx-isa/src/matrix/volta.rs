//! `mma.m8n8k4` with f16: four 8x8 products, one per pair of quads (PTX section "Matrix Fragments
//! for mma.m8n8k4 with .f16 floating point type").

use super::dot::{self, Plane, fused};
use super::fragment::{Rows, half, set_half};
use super::mma::{FRACTION, Mma, finish};
use super::types::{Elem, Layout};

/// Whether `m` is one of these instructions.
pub(super) fn is_volta(m: &Mma) -> bool {
    m.a == Elem::F16 && m.shape.m == 8 && m.shape.k == 4
}

/// Lane of quad pair `pair` that holds index `i` (0 to 7).
const fn lane_of(pair: usize, i: usize) -> usize {
    pair * 4 + i % 4 + i / 4 * 16
}

/// Raw f16 elements of an 8 by 4 operand whose quads hold rows (`along`) or single k steps.
fn unpack(regs: &Rows, pair: usize, along: bool) -> Vec<u32> {
    let mut out = vec![0; 32];
    for i in 0..8 {
        for k in 0..4 {
            let (lane, e) = if along { (lane_of(pair, i), k) } else { (lane_of(pair, i / 4 * 4 + k), i % 4) };
            out[i * 4 + k] = half(regs[e / 2][lane], e % 2).into();
        }
    }
    out
}

/// Lane and element of (`row`, `col`) of an f32 accumulator.
const fn acc32(pair: usize, row: usize, col: usize) -> (usize, usize) {
    let lane = lane_of(pair, row / 4 * 4 + (row & 1) + (col & 2));
    (lane, (row & 2) + (col & 4) + (col & 1))
}

/// Runs the four products.
pub(super) fn run(m: &Mma, d: &mut Rows, a: &Rows, b: &Rows, c: &Rows) {
    for pair in 0..4 {
        let pa = Plane::decode(&unpack(a, pair, m.a_layout == Layout::Row), dot::F16);
        let pb = Plane::decode(&unpack(b, pair, m.b_layout == Layout::Col), dot::F16);
        for i in 0..8 {
            for j in 0..8 {
                let acc = if m.c == Elem::F16 {
                    half(c[j / 2][lane_of(pair, i)], j % 2).into()
                } else {
                    let (lane, e) = acc32(pair, i, j);
                    c[e][lane]
                };
                let cf = if m.c == Elem::F16 { dot::F16 } else { dot::F32 };
                let s = fused(pa.run(i * 4, 4), pb.run(j * 4, 4), 20, cf.decode(acc), cf.frac, FRACTION);
                let v = finish(s, m.d);
                if m.d == Elem::F16 {
                    set_half(&mut d[j / 2][lane_of(pair, i)], j % 2, v as u16);
                } else {
                    let (lane, e) = acc32(pair, i, j);
                    d[e][lane] = v;
                }
            }
        }
    }
}
