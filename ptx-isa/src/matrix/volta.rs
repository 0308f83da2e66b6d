//! `mma.m8n8k4` with f16: four 8x8 products, one per pair of quads (PTX section "Matrix Fragments
//! for mma.m8n8k4 with .f16 floating point type").

use super::dot;
use super::fragment::{Rows, half, set_half};
use super::mma::Mma;
use super::types::{Elem, Layout};

/// Whether `m` is one of these instructions.
pub(super) fn is_volta(m: &Mma) -> bool {
    m.a == Elem::F16 && m.shape.m == 8 && m.shape.k == 4
}

/// Lane of quad pair `pair` that holds index `i` (0 to 7).
const fn lane_of(pair: usize, i: usize) -> usize {
    pair * 4 + i % 4 + i / 4 * 16
}

/// Elements of an 8 by 4 operand whose quads hold rows (`along`) or single k steps.
fn unpack(regs: &Rows, pair: usize, along: bool) -> [f32; 32] {
    let mut out = [0.0; 32];
    for i in 0..8 {
        for k in 0..4 {
            let (lane, e) =
                if along { (lane_of(pair, i), k) } else { (lane_of(pair, i / 4 * 4 + k), i % 4) };
            out[i * 4 + k] = dot::f16_value(half(regs[e / 2][lane], e % 2));
        }
    }
    out
}

/// Lane and element of (`row`, `col`) of an f32 accumulator.
const fn acc32(pair: usize, row: usize, col: usize) -> (usize, usize) {
    let lane = lane_of(pair, row / 4 * 4 + (row & 1) + (col & 2));
    (lane, (row & 2) + (col & 4) + (col & 1))
}

/// One element. Architectures after sm_70 have no unit for this shape; the assembler expands it
/// into f32 steps, which this follows.
fn element(a: &[f32], b: &[f32], c: f32, to_f16: bool) -> u32 {
    if to_f16 {
        let low = a[1].mul_add(b[1], a[0] * b[0]);
        let high = a[3].mul_add(b[3], a[2] * b[2]);
        return dot::f16_bits(c + low + high).into();
    }
    let chain = a.iter().zip(b).fold(0.0f32, |s, (x, y)| x.mul_add(*y, s));
    let sum = c + chain;
    if sum.is_nan() { dot::NAN32 } else { sum.to_bits() }
}

/// Runs the four products.
pub(super) fn run(m: &Mma, d: &mut Rows, a: &Rows, b: &Rows, c: &Rows) {
    for pair in 0..4 {
        let pa = unpack(a, pair, m.a_layout == Layout::Row);
        let pb = unpack(b, pair, m.b_layout == Layout::Col);
        for i in 0..8 {
            for j in 0..8 {
                let acc = if m.c == Elem::F16 {
                    dot::f16_value(half(c[j / 2][lane_of(pair, i)], j % 2))
                } else {
                    let (lane, e) = acc32(pair, i, j);
                    f32::from_bits(c[e][lane])
                };
                let v = element(&pa[i * 4..][..4], &pb[j * 4..][..4], acc, m.d == Elem::F16);
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
