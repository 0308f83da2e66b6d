//! The scalar video instructions (PTX ISA 9.7.20.1).

use super::{Cmp, Fields, clamp, extend};

/// First operation of a scalar video instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum Primary {
    #[default]
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Shl,
    Shr,
    Set,
}

/// Optional operation with the third operand.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum Second {
    #[default]
    None,
    Add,
    Min,
    Max,
}

/// Selection of the third operand that the result replaces.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum Merge {
    #[default]
    Whole,
    B0,
    B1,
    B2,
    B3,
    H0,
    H1,
}

impl Merge {
    /// Width and position.
    #[inline(always)]
    fn place(self) -> (u32, u32) {
        match self {
            Merge::Whole => (32, 0),
            Merge::B0 => (8, 0),
            Merge::B1 => (8, 8),
            Merge::B2 => (8, 16),
            Merge::B3 => (8, 24),
            Merge::H0 => (16, 0),
            Merge::H1 => (16, 16),
        }
    }
}

/// Everything but the operands of `vadd vsub vabsdiff vmin vmax vshl vshr vset`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Scalar {
    /// First operation.
    pub op: Primary,
    /// Comparison of `vset`.
    pub cmp: Cmp,
    /// Whether `.dtype` is signed; for `vset` the first type.
    pub signed: bool,
    /// Whether the first operand is signed.
    pub a_signed: bool,
    /// Whether the second operand is signed.
    pub b_signed: bool,
    /// `.sat`
    pub sat: bool,
    /// `.wrap` of shifts; else `.clamp`.
    pub wrap: bool,
    /// Second operation.
    pub second: Second,
    /// Where the result goes.
    pub merge: Merge,
    /// Whether the manual's rule holds, for targets before sm_50.
    pub manual: bool,
}

impl Scalar {
    /// The constant of the micro-op.
    pub fn pack(self) -> u32 {
        let mut f = Fields::new(0);
        f.put(self.op as u32, 3).put(self.cmp as u32, 3);
        for flag in [self.signed, self.a_signed, self.b_signed, self.sat, self.wrap, self.manual] {
            f.put(flag as u32, 1);
        }
        f.put(self.second as u32, 2).put(self.merge as u32, 3);
        f.0
    }

    #[inline(always)]
    fn unpack(k: u32) -> Scalar {
        use Primary::*;
        let mut f = Fields::new(k);
        Scalar {
            op: [Add, Sub, AbsDiff, Min, Max, Shl, Shr, Set][f.take(3) as usize],
            cmp: *Cmp::ALL.get(f.take(3) as usize).unwrap_or(&Cmp::Eq),
            signed: f.flag(),
            a_signed: f.flag(),
            b_signed: f.flag(),
            sat: f.flag(),
            wrap: f.flag(),
            manual: f.flag(),
            second: [Second::None, Second::Add, Second::Min, Second::Max][f.take(2) as usize],
            merge: {
                use Merge::*;
                [Whole, B0, B1, B2, B3, H0, H1, Whole][f.take(3) as usize]
            },
        }
    }

    /// The first operation's result, in 64 bits as the expansion computes it.
    #[inline(always)]
    fn primary(self, a: u32, b: u32) -> i64 {
        let a = extend(a.into(), 32, self.a_signed);
        let y = extend(b.into(), 32, self.b_signed);
        let amount = if self.wrap { b & 31 } else { b.min(32) };
        match self.op {
            Primary::Add => a + y,
            Primary::Sub => a - y,
            Primary::AbsDiff => (a - y).abs(),
            Primary::Min => a.min(y),
            Primary::Max => a.max(y),
            Primary::Shl => a << amount,
            Primary::Shr => a >> amount,
            Primary::Set => self.cmp.holds(a, y) as i64,
        }
    }

    /// Saturation and second operation as the manual describes them.
    #[inline(always)]
    fn by_manual(self, t: i64, c: i64) -> i64 {
        let t = extend(t, 34, true);
        let t = if self.sat { clamp(t, self.merge.place().0, self.signed) } else { t };
        self.second_of(t, c)
    }

    #[inline(always)]
    fn second_of(self, t: i64, c: i64) -> i64 {
        match self.second {
            Second::None => t,
            Second::Add => t.wrapping_add(c),
            Second::Min => t.min(c),
            Second::Max => t.max(c),
        }
    }

    /// Saturation and second operation as recorded.
    #[inline(always)]
    fn by_recording(self, t: i64, c: i64) -> i64 {
        let shift = matches!(self.op, Primary::Shl | Primary::Shr);
        let sum = matches!(self.op, Primary::Add | Primary::Sub);
        let t = if !self.sat {
            t
        } else if shift {
            // 34 bits, clamped to the whole word whatever part is merged.
            clamp(extend(t, 34, true), 32, self.signed)
        } else if self.merge != Merge::Whole {
            // Compared without sign: a negative value becomes the greatest.
            let greatest = (1 << (self.merge.place().0 - self.signed as u32)) - 1;
            if (0..=greatest).contains(&t) { t } else { greatest }
        } else if self.signed {
            clamp(t, 32, true)
        } else {
            // Not clamped above.
            t.max(0)
        };
        // A second minimum or maximum sees sums, and saturated shifts without sign, as signed words.
        let seen = if sum || shift && self.sat && !self.signed { extend(t, 32, true) } else { t };
        // Without sign it compares all 64 bits: a negative value is above every third operand.
        let seen = if !self.signed && seen < 0 { seen & 0xffff_ffff | 1 << 40 } else { seen };
        self.second_of(seen, c)
    }
}

/// A scalar video instruction other than `vmad`; the parts of `a` and `b` are selected and extended before.
#[inline(always)]
pub fn scalar(a: u32, b: u32, c: u32, k: u32) -> u32 {
    let s = Scalar::unpack(k);
    let t = s.primary(a, b);
    // The manual calls vset's result and third operand unsigned.
    let c_signed = s.signed && !(s.manual && s.op == Primary::Set);
    let third = extend(c.into(), 32, c_signed);
    let t = if s.manual { s.by_manual(t, third) } else { s.by_recording(t, third) } as u32;
    let (bits, at) = s.merge.place();
    let mask = if bits == 32 { u32::MAX } else { ((1 << bits) - 1) << at };
    // Recorded: the upper half takes the result's upper half.
    let moved = if s.merge == Merge::H1 && !s.manual { t } else { t << at };
    moved & mask | c & !mask
}

/// Everything but the operands of `vmad`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Mad {
    /// Whether the first operand is signed.
    pub a_signed: bool,
    /// Whether the second operand is signed.
    pub b_signed: bool,
    /// Whether the product is negated.
    pub minus_product: bool,
    /// Whether the third operand is negated.
    pub minus_c: bool,
    /// `.po`
    pub plus_one: bool,
    /// `.sat`
    pub sat: bool,
    /// 0, 7 or 15.
    pub shift: u32,
    /// Whether the manual's rule holds, for targets before sm_50.
    pub manual: bool,
}

impl Mad {
    fn flags(&mut self) -> [&mut bool; 7] {
        [
            &mut self.a_signed,
            &mut self.b_signed,
            &mut self.minus_product,
            &mut self.minus_c,
            &mut self.plus_one,
            &mut self.sat,
            &mut self.manual,
        ]
    }

    /// The constant of the micro-op.
    pub fn pack(mut self) -> u32 {
        let mut f = Fields::new(0);
        f.put(self.shift, 4);
        for flag in self.flags() {
            f.put(*flag as u32, 1);
        }
        f.0
    }

    #[inline(always)]
    fn unpack(k: u32) -> Mad {
        let mut f = Fields::new(k);
        let mut m = Mad { shift: f.take(4), ..Mad::default() };
        for flag in m.flags() {
            *flag = f.flag();
        }
        m
    }
}

/// `vmad`; the parts of `a` and `b` are selected and extended before.
#[inline(always)]
pub fn mad(a: u32, b: u32, c: u32, k: u32) -> u32 {
    let m = Mad::unpack(k);
    let signed = m.a_signed || m.b_signed || m.minus_product || m.minus_c;
    // Recorded: words are signed throughout, whatever their types; a selected part is its own value either way.
    let (a_signed, b_signed, c_signed) =
        if m.manual { (m.a_signed, m.b_signed, signed) } else { (true, true, true) };
    let product =
        i128::from(extend(a.into(), 32, a_signed)) * i128::from(extend(b.into(), 32, b_signed));
    let c = i128::from(extend(c.into(), 32, c_signed));
    let sum = if m.minus_product { -product } else { product }
        + if m.minus_c { -c } else { c }
        + i128::from(m.plus_one);
    let scaled = sum >> m.shift;
    if !m.sat {
        scaled as u32
    } else if signed {
        scaled.clamp(i32::MIN.into(), i32::MAX.into()) as u32
    } else if m.manual || m.shift == 0 {
        scaled.clamp(0, u32::MAX.into()) as u32
    } else {
        // Recorded: the shifted sum is compared as unsigned 64 bits, so that a negative one becomes the greatest.
        (sum as u64 >> m.shift).min(u32::MAX.into()) as u32
    }
}
