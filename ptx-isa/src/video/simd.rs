//! The SIMD video instructions (PTX ISA 9.7.20.2) and the dot products `dp4a`, `dp2a` (9.7.1).

use super::{Cmp, Fields, clamp, extend};

/// Operation on each lane.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum Lanewise {
    #[default]
    Add,
    Sub,
    Average,
    AbsDiff,
    Min,
    Max,
    Set,
}

/// Everything but the operands of a SIMD video instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Simd {
    /// Operation.
    pub op: Lanewise,
    /// Comparison of `vset2` and `vset4`.
    pub cmp: Cmp,
    /// Four bytes; else two half-words.
    pub bytes: bool,
    /// Whether `.dtype` is signed.
    pub signed: bool,
    /// Whether the first operand's lanes are signed.
    pub a_signed: bool,
    /// Whether the second operand's lanes are signed.
    pub b_signed: bool,
    /// `.sat`
    pub sat: bool,
    /// `.add`: the lanes are summed onto the third operand.
    pub accumulate: bool,
    /// Lanes that take part, a bit each.
    pub mask: u8,
}

impl Simd {
    /// The constant of the micro-op.
    pub fn pack(self) -> u32 {
        let mut f = Fields::new(0);
        f.put(self.op as u32, 3).put(self.cmp as u32, 3).put(self.mask.into(), 4);
        for flag in
            [self.bytes, self.signed, self.a_signed, self.b_signed, self.sat, self.accumulate]
        {
            f.put(flag as u32, 1);
        }
        f.0
    }

    #[inline(always)]
    fn unpack(k: u32) -> Simd {
        use Lanewise::*;
        let mut f = Fields::new(k);
        Simd {
            op: [Add, Sub, Average, AbsDiff, Min, Max, Set, Add][f.take(3) as usize],
            cmp: *Cmp::ALL.get(f.take(3) as usize).unwrap_or(&Cmp::Eq),
            mask: f.take(4) as u8,
            bytes: f.flag(),
            signed: f.flag(),
            a_signed: f.flag(),
            b_signed: f.flag(),
            sat: f.flag(),
            accumulate: f.flag(),
        }
    }
}

/// A SIMD video instruction; the lanes of `a` and `b` are selected before.
#[inline(always)]
pub fn simd(a: u32, b: u32, c: u32, k: u32) -> u32 {
    let s = Simd::unpack(k);
    let (lanes, bits) = if s.bytes { (4, 8) } else { (2, 16) };
    let (mut merged, mut sum) = (c, c);
    for lane in 0..lanes {
        if s.mask >> lane & 1 == 0 {
            continue;
        }
        let at = lane * bits;
        let x = extend((a >> at).into(), bits, s.a_signed);
        let y = extend((b >> at).into(), bits, s.b_signed);
        let t = match s.op {
            Lanewise::Add => x + y,
            Lanewise::Sub => x - y,
            // Rounds half up, also of a negative sum's magnitude.
            Lanewise::Average => (x + y + i64::from(x + y >= 0)) >> 1,
            Lanewise::AbsDiff => (x - y).abs(),
            Lanewise::Min => x.min(y),
            Lanewise::Max => x.max(y),
            Lanewise::Set => s.cmp.holds(x, y) as i64,
        };
        let t = if s.sat { clamp(t, bits, s.signed) } else { t } as u32;
        let mask = ((1 << bits) - 1) << at;
        merged = merged & !mask | t << at & mask;
        sum = sum.wrapping_add(t);
    }
    if s.accumulate { sum } else { merged }
}

/// `dp4a` (k bit 0: signed a, bit 1: signed b) and `dp2a` (bit 2; bit 3: the upper bytes of b).
#[inline(always)]
pub fn dot(a: u32, b: u32, c: u32, k: u32) -> u32 {
    let mut f = Fields::new(k);
    let (a_signed, b_signed, halves, upper) = (f.flag(), f.flag(), f.flag(), f.flag());
    let (lanes, bits) = if halves { (2, 16) } else { (4, 8) };
    let b = if upper { b >> 16 } else { b };
    (0..lanes).fold(c, |d, lane| {
        let x = extend((a >> (lane * bits)).into(), bits, a_signed);
        let y = extend((b >> (lane * 8)).into(), 8, b_signed);
        d.wrapping_add((x * y) as u32)
    })
}
