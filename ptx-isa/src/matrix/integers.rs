//! Products of matrices of small integers, and of bits.

use super::fragment::extend;
use super::mma::BitOp;
use super::sparse::Metadata;
use super::types::Elem;

/// Operands of a product, `k` elements per row of A (stored ones) and per column of B; of bits, `k` words.
pub(super) struct Integers<'a> {
    pub a: (&'a [u32], Elem),
    pub b: (&'a [u32], Elem),
    /// Elements per row of A.
    pub stored: usize,
    /// Elements per column of B.
    pub k: usize,
    pub map: Option<&'a Metadata>,
    pub bit_op: BitOp,
    /// `.satfinite`.
    pub sat: bool,
}

impl Integers<'_> {
    /// `acc = a * b + acc`; `acc` holds rows of `n` elements.
    pub(super) fn add_to(&self, acc: &mut [u32], n: usize) {
        let (stored, k) = (self.stored, self.k);
        let (a, b) = (short(self.a), short(self.b));
        for (i, line) in acc.chunks_exact_mut(n).enumerate() {
            let row = &a[i * stored..][..stored];
            for (j, v) in line.iter_mut().enumerate() {
                let col = &b[j * k..][..k];
                let product = |(x, y): (&i16, &i16)| i32::from(*x) * i32::from(*y);
                let s = match (self.a.1, self.map) {
                    (Elem::B1, _) => {
                        bits(&self.a.0[i * k..][..k], &self.b.0[j * k..][..k], self.bit_op)
                    }
                    (_, None) => row.iter().zip(col).map(product).sum(),
                    (_, Some(map)) => {
                        let col = map.row(i).iter().map(|at| &col[usize::from(*at)]);
                        row.iter().zip(col).map(product).sum()
                    }
                };
                *v = add_s32(s, *v, self.sat);
            }
        }
    }
}

/// Elements of at most 8 bits as numbers: processors multiply 16 bits several times as fast as 32.
fn short((raw, elem): (&[u32], Elem)) -> Vec<i16> {
    raw.iter().map(|&v| extend(v, elem) as i16).collect()
}

/// Ones in the combined words.
fn bits(a: &[u32], b: &[u32], op: BitOp) -> i32 {
    a.iter()
        .zip(b)
        .map(|(x, y)| match op {
            BitOp::Xor => x ^ y,
            BitOp::And => x & y,
        })
        .map(|w| w.count_ones().cast_signed())
        .sum()
}

/// Adds the accumulator: wraps, or clamps with `.satfinite`.
pub(super) fn add_s32(s: i32, c: u32, sat: bool) -> u32 {
    let c = c.cast_signed();
    if sat { s.saturating_add(c) } else { s.wrapping_add(c) }.cast_unsigned()
}
