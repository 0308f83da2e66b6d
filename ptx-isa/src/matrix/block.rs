//! Products of whole blocks of matrices, as `tcgen05.mma` forms them.

use super::datapath::{Datapath, Factors};
use super::descriptor::Packing;
use super::dot::{self, Plane};
use super::fragment::extend;
use super::integers::add_s32;
use super::scaled::{self, Scale};
use super::sparse::Metadata;
use super::types::Elem;
use crate::num::narrow::Narrow;

/// Type of A or B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TensorFactor {
    /// `f16`, `bf16`, `tf32`, `s8` or `u8`.
    Small(Elem),
    /// A narrow float, in a byte each.
    Narrow(Narrow),
    /// `e2m1`, two in a byte.
    Packed,
}

impl TensorFactor {
    /// How elements lie in shared memory.
    pub(crate) const fn packing(self) -> Packing {
        match self {
            Self::Small(t) => Packing::Dense(t.bits() as u32),
            Self::Narrow(Narrow::E2m1) => Packing::Padded(4),
            Self::Narrow(Narrow::E2m3 | Narrow::E3m2) => Packing::Padded(6),
            Self::Narrow(_) => Packing::Dense(8),
            Self::Packed => Packing::Dense(4),
        }
    }

    /// Elements in a cell of Tensor Memory.
    pub(crate) const fn per_cell(self) -> u32 {
        match self {
            Self::Small(t) => t.per_register() as u32,
            Self::Narrow(_) => 4,
            Self::Packed => 8,
        }
    }

    /// The element numbered `i` of a cell. 4-bit elements that have a byte lie in its bits 2 to 5.
    pub(crate) const fn element_of(self, cell: u32, i: u32) -> u32 {
        let bits = 32 / self.per_cell();
        let raw = cell >> (bits * i) & (u32::MAX >> (32 - bits));
        match self {
            Self::Narrow(Narrow::E2m1) => raw >> 2 & 15,
            Self::Narrow(Narrow::E2m3 | Narrow::E3m2) => raw & 63,
            _ => raw,
        }
    }

    /// The type by which metadata names the columns of elements.
    const fn sparse(self) -> Elem {
        match self {
            Self::Small(t) => t,
            Self::Narrow(_) => Elem::E4m3,
            Self::Packed => Elem::U4,
        }
    }

    fn format(self) -> Option<dot::Format> {
        match self {
            Self::Small(t) => dot::format(t),
            Self::Narrow(t) => Some(scaled::format(t)),
            Self::Packed => Some(scaled::format(Narrow::E2m1)),
        }
    }
}

/// Scale factors of a product: the factor of block `b` of row `x`.
pub(crate) struct BlockScale<'a> {
    /// Blocks and type.
    pub scale: Scale,
    /// Of A, by row.
    pub a: &'a dyn Fn(usize, usize) -> u32,
    /// Of B, by column.
    pub b: &'a dyn Fn(usize, usize) -> u32,
}

/// `D = A * B + D * 2^-scale_d`.
pub(crate) struct BlockProduct<'a> {
    /// Elements of A, row after row (the stored ones of a sparse matrix).
    pub a: &'a [u32],
    /// Elements of B, column after column.
    pub b: &'a [u32],
    /// Their types.
    pub types: [TensorFactor; 2],
    /// Type of D.
    pub d: Elem,
    /// Columns of D.
    pub n: usize,
    /// Columns of A.
    pub k: usize,
    /// Integers are clamped and do not wrap.
    pub saturates: bool,
    /// The product changes its sign.
    pub negates: bool,
    /// See above.
    pub scale_d: u32,
    /// Metadata of a sparse A, by row.
    pub metadata: Option<&'a [u64]>,
    /// Block scaling.
    pub scale: Option<BlockScale<'a>>,
}

impl BlockProduct<'_> {
    /// Computes it; `acc` holds D, row after row.
    pub(crate) fn run(&self, acc: &mut [u32]) {
        let stored = if self.metadata.is_some() { self.k / 2 } else { self.k };
        let map = self
            .metadata
            .map(|words| Metadata::rows(self.types[0].sparse(), stored, words.iter().copied()));
        match self.types.map(TensorFactor::format) {
            [Some(fa), Some(fb)] => {
                let (mut a, mut b) = (Plane::decode(self.a, fa), Plane::decode(self.b, fb));
                if let Some(s) = &self.scale {
                    scaled::scale_blocks(&mut a, s.scale, stored, s.a);
                    scaled::scale_blocks(&mut b, s.scale, self.k, s.b);
                }
                if self.negates {
                    a.negate();
                }
                let (n, k, raw_b) = (self.n, self.k, self.b);
                let b_type = self.types[1].sparse();
                self.floats(&Factors { a, b, raw_b, b_type, n, stored, k, map }, acc);
            }
            _ => self.integers(stored, map.as_ref(), acc),
        }
    }

    fn floats(&self, factors: &Factors<'_>, acc: &mut [u32]) {
        let mut c = self.d;
        if self.scale_d != 0 {
            let by = f32::from_bits((127 - self.scale_d.min(126)) << 23);
            for v in acc.iter_mut() {
                let d = if c == Elem::F16 { dot::f16_value(*v as u16) } else { f32::from_bits(*v) };
                *v = (d * by).to_bits();
            }
            c = Elem::F32;
        }
        Datapath::single(factors.stored, c, self.d).run(factors, acc);
    }

    fn integers(&self, stored: usize, map: Option<&Metadata>, acc: &mut [u32]) {
        let wide = |raw: &[u32], t: TensorFactor| -> Vec<i32> {
            raw.iter().map(|&v| extend(v, t.sparse())).collect()
        };
        let (a, b) = (wide(self.a, self.types[0]), wide(self.b, self.types[1]));
        for (i, line) in acc.chunks_exact_mut(self.n).enumerate() {
            let row = &a[i * stored..][..stored];
            for (j, v) in line.iter_mut().enumerate() {
                let col = &b[j * self.k..][..self.k];
                let s = match map {
                    None => row.iter().zip(col).map(|(x, y)| x * y).sum(),
                    Some(map) => {
                        row.iter().zip(map.row(i)).map(|(x, &at)| x * col[usize::from(at)]).sum()
                    }
                };
                *v = add_s32(s, *v, self.saturates);
            }
        }
    }
}
