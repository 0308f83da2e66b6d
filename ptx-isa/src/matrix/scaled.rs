//! `mma` of 8-, 6- and 4-bit floats and with block scaling (PTX sections "Multiply-and-Accumulate Instruction: mma",
//! kinds `f8f6f4`, `mxf8f6f4`, `mxf4` and `mxf4nvf4`).
//!
//! No hardware that has them was recorded. The sums are those of the recorded datapath for 16-bit floats: one group of
//! all products and C, aligned to the greatest exponent and cut.

use super::datapath::{Datapath, Factors};
use super::dot::{self, Format, Plane};
use super::fragment::{Rows, pack_acc, unpack_a, unpack_acc, unpack_b};
use super::sparse::Metadata;
use super::types::{Elem, MatrixError};
use crate::num::narrow::Narrow;

/// Scale factors of the blocks of a row or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Factors along k: 1, 2 or 4.
    pub blocks: usize,
    /// `ue4m3` and not `ue8m0`.
    pub ue4m3: bool,
}

/// Selectors of an operand's factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selector {
    /// First byte of the register.
    pub byte: u32,
    /// Thread or pair of threads in the quad.
    pub thread: u32,
}

/// One such `mma` of shape `m16n8k32` to `m16n8k128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaledMma {
    /// Type of A.
    pub a: Narrow,
    /// Type of B.
    pub b: Narrow,
    /// C and D are f16.
    pub f16: bool,
    /// Two 4-bit elements lie in a byte; else each element has one.
    pub packed: bool,
    /// A is sparse.
    pub sparse: bool,
    /// Block scaling.
    pub scale: Option<Scale>,
}

const TYPES: [Narrow; 5] = [Narrow::E4m3, Narrow::E5m2, Narrow::E3m2, Narrow::E2m3, Narrow::E2m1];

/// The type that a modifier names.
pub(crate) fn narrow(token: &str) -> Option<Narrow> {
    let at = [".e4m3", ".e5m2", ".e3m2", ".e2m3", ".e2m1"].iter().position(|t| *t == token)?;
    Some(TYPES[at])
}

pub(super) fn format(t: Narrow) -> Format {
    let plain = |frac, exp, bias| Format { frac, exp, bias, skip: 0, ieee: false, finite: true };
    match t {
        Narrow::E4m3 => dot::E4M3,
        Narrow::E5m2 => dot::E5M2,
        Narrow::E3m2 => plain(2, 3, 3),
        Narrow::E2m3 => plain(3, 2, 1),
        Narrow::E2m1 | Narrow::Ue5m3 => plain(1, 2, 1),
    }
}

/// Multiplies each block of `k` elements of every row of `plane` by its factor.
pub(super) fn scale_blocks(
    plane: &mut Plane,
    scale: Scale,
    k: usize,
    factor: impl Fn(usize, usize) -> u32,
) {
    let block = k / scale.blocks;
    if scale.ue4m3 {
        plane.frac += 3;
    }
    for at in 0..plane.m.len() {
        let (row, step) = (at / k, at % k);
        let bits = factor(row, step / block) & 0xff;
        let nan = if scale.ue4m3 { bits & 0x7f == 0x7f } else { bits == 0xff };
        if nan {
            if plane.class.is_empty() {
                plane.class = vec![dot::Class::Finite; plane.m.len()];
            }
            plane.class[at] = dot::Class::Nan;
            continue;
        }
        if !scale.ue4m3 {
            if plane.m[at] != 0 {
                plane.e[at] += bits as i32 - 127;
            }
            continue;
        }
        let (exponent, fraction) = ((bits >> 3 & 15) as i32, (bits & 7) as i32);
        plane.m[at] *= if exponent == 0 { fraction } else { 8 + fraction };
        plane.e[at] =
            if plane.m[at] == 0 { dot::ZERO_EXP } else { plane.e[at] + exponent.max(1) - 7 };
    }
}

impl ScaledMma {
    /// Columns of A.
    const fn k(&self) -> usize {
        32 << (self.packed as u32 + self.sparse as u32)
    }

    /// Elements of a row of A that are stored.
    const fn stored(&self) -> usize {
        if self.sparse { self.k() / 2 } else { self.k() }
    }

    /// Registers of A, B and C or D.
    #[must_use]
    pub const fn registers(&self) -> [usize; 3] {
        [4, if self.sparse { 4 } else { 2 }, if self.f16 { 2 } else { 4 }]
    }

    /// Two words for constants of micro-ops.
    #[must_use]
    pub fn pack(&self) -> u32 {
        let code = |t| TYPES.iter().position(|n| *n == t).unwrap_or(0) as u32;
        let flags = u32::from(self.f16) | u32::from(self.packed) << 1 | u32::from(self.sparse) << 2;
        let scale = self.scale.map_or(0, |s| s.blocks as u32 | u32::from(s.ue4m3) << 3);
        code(self.a) | code(self.b) << 4 | flags << 8 | scale << 16
    }

    /// Inverse of [`ScaledMma::pack`].
    #[must_use]
    pub fn unpack(v: u32) -> Self {
        let kind = |at: u32| TYPES[(v >> at & 15) as usize % TYPES.len()];
        let flag = |at: u32| v >> at & 1 != 0;
        let blocks = (v >> 16 & 7) as usize;
        Self {
            a: kind(0),
            b: kind(4),
            f16: flag(8),
            packed: flag(9),
            sparse: flag(10),
            scale: (blocks != 0).then_some(Scale { blocks, ue4m3: flag(19) }),
        }
    }

    /// Elements as they stand in registers: 4-bit ones that have a byte lie in its bits 2 to 5, 6-bit ones in its bits
    /// 0 to 5.
    fn decode(&self, raw: &mut [u32], t: Narrow) -> Plane {
        match (t, self.packed) {
            (Narrow::E2m1, false) => raw.iter_mut().for_each(|v| *v = *v >> 2 & 15),
            (Narrow::E3m2 | Narrow::E2m3, _) => raw.iter_mut().for_each(|v| *v &= 63),
            _ => {}
        }
        Plane::decode(raw, format(t))
    }

    /// `d = a * b + c`. `meta` is the metadata of a sparse A, `factors` are the registers and selectors of the scale
    /// factors of A and B.
    ///
    /// # Errors
    /// When the metadata's selector does not fit.
    pub fn run(
        &self,
        d: &mut Rows,
        (a, b, c): (&Rows, &Rows, &Rows),
        meta: Option<(&[u32; 32], u32)>,
        factors: Option<[(&[u32; 32], Selector); 2]>,
    ) -> Result<(), MatrixError> {
        let (k, stored) = (self.k(), self.stored());
        let container = if self.packed { Elem::U4 } else { Elem::U8 };
        let (mut ra, mut rb) = (Vec::new(), Vec::new());
        unpack_a(16, stored, container, a, &mut ra);
        unpack_b(8, k, container, b, &mut rb);
        let mut plane_a = self.decode(&mut ra, self.a);
        let mut plane_b = self.decode(&mut rb, self.b);
        if let (Some(scale), Some([(sa, at), (sb, bt)])) = (self.scale, factors) {
            // A pair of threads holds the factors of rows g and g + 8, one thread those of column g.
            scale_blocks(&mut plane_a, scale, stored, |row, block| {
                let lane = row % 8 * 4 + 2 * (at.thread as usize & 1) + row / 8;
                sa[lane] >> (8 * (at.byte as usize + block) & 31)
            });
            scale_blocks(&mut plane_b, scale, k, |column, block| {
                let lane = column * 4 + (bt.thread as usize & 3);
                sb[lane] >> (8 * (bt.byte as usize + block) & 31)
            });
        }
        let map = match meta {
            None => None,
            Some((words, selector)) => Some(
                Metadata::warp(k, if self.packed { Elem::U4 } else { Elem::E4m3 }, words, selector)
                    .ok_or_else(|| MatrixError::Selector(selector, format!("m16n8k{k}")))?,
            ),
        };
        let kind = if self.f16 { Elem::F16 } else { Elem::F32 };
        let path = Datapath::single(stored, kind, kind);
        let mut acc = unpack_acc(16, 8, self.f16, c);
        let factors = Factors {
            a: plane_a,
            b: plane_b,
            raw_b: &rb,
            b_type: Elem::E4m3,
            n: 8,
            stored,
            k,
            map,
        };
        path.run(&factors, &mut acc);
        pack_acc(16, 8, self.f16, &acc, d);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A is all ones, B too: every element of D is the number of columns, times the factors.
    fn ones(m: ScaledMma, a: u32, b: u32, factors: Option<[(&[u32; 32], Selector); 2]>) -> f32 {
        let [na, nb, nd] = m.registers();
        let mut d = vec![[0u32; 32]; nd];
        m.run(&mut d, (&vec![[a; 32]; na], &vec![[b; 32]; nb], &vec![[0; 32]; nd]), None, factors)
            .unwrap();
        assert!(d.iter().flatten().all(|v| *v == d[0][0]));
        f32::from_bits(d[0][0])
    }

    #[test]
    fn products_of_narrow_floats() {
        let plain = ScaledMma {
            a: Narrow::E3m2,
            b: Narrow::E2m1,
            f16: false,
            packed: false,
            sparse: false,
            scale: None,
        };
        // 1.0: e3m2 0b0_011_00, e2m1 0b0_01_0 in bits 2 to 5.
        assert_eq!(ones(plain, 0x0c0c_0c0c, 0x0808_0808, None), 32.0);
        // 28 (the greatest e3m2) times 6 (the greatest e2m1).
        assert_eq!(ones(plain, 0x1f1f_1f1f, 0x1c1c_1c1c, None), 32.0 * 28.0 * 6.0);
        assert_eq!(ScaledMma::unpack(plain.pack()), plain);
    }

    #[test]
    fn factors_scale_their_blocks() {
        let select = Selector { byte: 0, thread: 0 };
        let nvf4 = ScaledMma {
            a: Narrow::E2m1,
            b: Narrow::E2m1,
            f16: false,
            packed: true,
            sparse: false,
            scale: Some(Scale { blocks: 4, ue4m3: true }),
        };
        // Factors 1, 2, 4 and 0.5 of A; all 1 of B. Blocks have 16 ones.
        let (a, b) = ([0x3048_4038; 32], [0x3838_3838; 32]);
        let sum = ones(nvf4, 0x2222_2222, 0x2222_2222, Some([(&a, select), (&b, select)]));
        assert_eq!(sum, 16.0 * 7.5);
        let mx = ScaledMma { scale: Some(Scale { blocks: 2, ue4m3: false }), ..nvf4 };
        let (a, b) = ([0x8180; 32], [0x7f7f; 32]);
        assert_eq!(
            ones(mx, 0x2222_2222, 0x2222_2222, Some([(&a, select), (&b, select)])),
            32.0 * 6.0
        );
        let nan = [0xffff; 32];
        assert!(ones(mx, 0x2222_2222, 0x2222_2222, Some([(&nan, select), (&b, select)])).is_nan());
        assert_eq!(ScaledMma::unpack(nvf4.pack()), nvf4);
    }
}
