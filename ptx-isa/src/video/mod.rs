//! Video instructions (PTX ISA 9.7.20) and byte dot products, as functions of 32-bit lanes.
//!
//! The hardware's own video unit ended with sm_37: from sm_50 on the assembler expands the scalar forms into ordinary
//! instructions, and the expansion departs from the manual in saturation, merging and secondary minima and maxima.
//! Both rules stand here: the one that reproduces recordings of an sm_90, which targets from sm_50 on follow, and the
//! manual's, for those before. The SIMD forms follow the manual on every recorded row.

mod scalar;
mod simd;

pub use scalar::{Mad, Merge, Primary, Scalar, Second, mad, scalar};
pub use simd::{Lanewise, Simd, dot, simd};

/// Comparisons of `vset`, in the order of [`Cmp::TOKENS`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum Cmp {
    #[default]
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Cmp {
    /// The modifiers, in order.
    pub const TOKENS: [&'static str; 6] = [".eq", ".ne", ".lt", ".le", ".gt", ".ge"];
    const ALL: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];

    /// The comparison of a modifier.
    pub fn from_token(token: &str) -> Option<Cmp> {
        Cmp::TOKENS.iter().position(|t| *t == token).map(|i| Cmp::ALL[i])
    }
    #[inline(always)]
    fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }
}

/// The value of the low `bits` bits of `v`.
#[inline(always)]
fn extend(v: i64, bits: u32, signed: bool) -> i64 {
    let up = v << (64 - bits);
    if signed { up >> (64 - bits) } else { (up as u64 >> (64 - bits)) as i64 }
}

/// `v` clamped to the range of an integer of `bits` bits.
#[inline(always)]
fn clamp(v: i64, bits: u32, signed: bool) -> i64 {
    if signed {
        v.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        v.clamp(0, (1 << bits) - 1)
    }
}

/// Fields of a micro-op's constant, read and written from the low end.
struct Fields(u32, u32);

impl Fields {
    fn new(k: u32) -> Fields {
        Fields(k, 0)
    }
    #[inline(always)]
    fn take(&mut self, bits: u32) -> u32 {
        let v = self.0 >> self.1 & ((1 << bits) - 1);
        self.1 += bits;
        v
    }
    #[inline(always)]
    fn flag(&mut self) -> bool {
        self.take(1) != 0
    }
    fn put(&mut self, v: u32, bits: u32) -> &mut Self {
        debug_assert!(v < 1 << bits);
        self.0 |= v << self.1;
        self.1 += bits;
        self
    }
}
