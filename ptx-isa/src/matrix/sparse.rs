//! Sparsity metadata (PTX section "Sparse matrix storage").

use super::dot::{self, Plane};
use super::types::Elem;

/// For each row of A, the column of every stored element (for tf32 its 4-bit code).
#[derive(Debug, Clone)]
pub(super) struct Metadata {
    index: Vec<u8>,
    stored: usize,
}

impl Metadata {
    /// Reads the metadata of one warp's 16 rows; `None` if the selector is out of range.
    pub(super) fn warp(k: usize, t: Elem, meta: &[u32; 32], selector: u32) -> Option<Self> {
        // Bits of metadata per row: two per stored element, except that tf32 stores one of two
        // with a 4-bit code and 4-bit integers are stored in pairs.
        let stored = k / 2;
        let bits = match t {
            Elem::Tf32 => k * 2,
            Elem::S4 | Elem::U4 => k / 2,
            Elem::F16
            | Elem::Bf16
            | Elem::F32
            | Elem::F64
            | Elem::E4m3
            | Elem::E5m2
            | Elem::S8
            | Elem::U8
            | Elem::B1
            | Elem::S32 => k,
        };
        // 16 rows of `bits` bits in the 32-bit registers of as many lanes of each group of four.
        let lanes = bits / 16;
        let choices = 4 / lanes;
        let selector = usize::try_from(selector).ok().filter(|&s| s < choices)?;
        let mut index = Vec::with_capacity(16 * stored);
        for row in 0..16 {
            let mut word = 0u64;
            if t.bits() == 8 || t.bits() == 4 {
                // Whole registers: row g in even lanes, row g + 8 in odd ones.
                for part in 0..lanes / 2 {
                    let lane = row % 8 * 4 + selector * lanes + part * 2 + row / 8;
                    word |= u64::from(meta[lane]) << (32 * part);
                }
            } else {
                // Row g in the low halves, row g + 8 in the high halves of its lanes.
                for part in 0..lanes {
                    let lane = row % 8 * 4 + selector * lanes + part;
                    let v = meta[lane] >> (16 * (row / 8)) & 0xffff;
                    word |= u64::from(v) << (16 * part);
                }
            }
            Self::decode(&mut index, t, stored, word);
        }
        Some(Self { index, stored })
    }

    /// The metadata of rows of `stored` elements each, one word a row.
    pub(super) fn rows(t: Elem, stored: usize, words: impl Iterator<Item = u64>) -> Self {
        let mut index = Vec::new();
        words.for_each(|word| Self::decode(&mut index, t, stored, word));
        Self { index, stored }
    }

    /// Appends the columns of one row's elements.
    fn decode(index: &mut Vec<u8>, t: Elem, stored: usize, word: u64) {
        for s in 0..stored {
            index.push(match t {
                // The code of a tf32 names two 16-bit halves out of the pair's four.
                Elem::Tf32 => (word >> (4 * s) & 0xf) as u8,
                Elem::S4 | Elem::U4 => {
                    let pair = s / 2;
                    let code = word >> (2 * pair) & 3;
                    (pair / 2 * 8 + 2 * code as usize + s % 2) as u8
                }
                _ => (s / 2 * 4) as u8 + (word >> (2 * s) & 3) as u8,
            });
        }
    }

    /// Reorders as [`super::datapath::regroup`] does.
    pub(super) fn regroup(&mut self) {
        super::datapath::regroup(&mut self.index, self.stored);
    }

    /// Columns of row `i`'s stored elements.
    pub(super) fn row(&self, i: usize) -> &[u8] {
        &self.index[i * self.stored..][..self.stored]
    }
}

/// Collects the elements of B's column (starting at `at`) that meet the stored elements of a row.
pub(super) fn gather(out: &mut Plane, b: &Plane, at: usize, columns: &[u8]) {
    out.m.clear();
    out.e.clear();
    out.class.clear();
    for &c in columns {
        let i = at + usize::from(c);
        out.m.push(b.m[i]);
        out.e.push(b.e[i]);
        if !b.class.is_empty() {
            out.class.push(b.class[i]);
        }
    }
}

/// As [`gather`] for tf32, from raw elements: a code's two low bits pick the low 16-bit half out of
/// the four halves of a pair, its two high bits the high half. The two valid codes pick one element
/// each; what the others mix is the hardware's.
pub(super) fn gather_tf32(out: &mut Plane, raw: &[u32], codes: &[u8]) {
    let half = |s: usize, h: u8| raw[2 * s + usize::from(h >> 1)] >> (16 * (h & 1)) & 0xffff;
    let mixed: Vec<u32> =
        codes.iter().enumerate().map(|(s, &c)| half(s, c & 3) | half(s, c >> 2) << 16).collect();
    *out = Plane::decode(&mixed, dot::TF32);
}
