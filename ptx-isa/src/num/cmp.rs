//! Relations of `setp` and `set` on floats, and `testp` (PTX ISA 9.3.1.2, 9.7.3.1).

use super::half::Half;
use super::{fp32, half};

/// A relation of two floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Rel {
    /// `.eq`: ordered and equal.
    Eq,
    /// `.ne`: ordered and different.
    Ne,
    /// `.lt`
    Lt,
    /// `.le`
    Le,
    /// `.gt`
    Gt,
    /// `.ge`
    Ge,
    /// `.equ`: equal or unordered.
    Equ,
    /// `.neu`
    Neu,
    /// `.ltu`
    Ltu,
    /// `.leu`
    Leu,
    /// `.gtu`
    Gtu,
    /// `.geu`
    Geu,
    /// `.num`: both are numbers.
    Num,
    /// `.nan`: at least one is NaN.
    Nan,
}

/// All relations, in the manual's order.
pub const RELS: [(&str, Rel); 14] = [
    ("eq", Rel::Eq),
    ("ne", Rel::Ne),
    ("lt", Rel::Lt),
    ("le", Rel::Le),
    ("gt", Rel::Gt),
    ("ge", Rel::Ge),
    ("equ", Rel::Equ),
    ("neu", Rel::Neu),
    ("ltu", Rel::Ltu),
    ("leu", Rel::Leu),
    ("gtu", Rel::Gtu),
    ("geu", Rel::Geu),
    ("num", Rel::Num),
    ("nan", Rel::Nan),
];

/// Classes that `testp` tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Test {
    /// `.finite`
    Finite,
    /// `.infinite`
    Infinite,
    /// `.number`
    Number,
    /// `.notanumber`
    NotANumber,
    /// `.normal`: neither subnormal nor infinite nor NaN; the hardware counts zero in.
    Normal,
    /// `.subnormal`
    Subnormal,
}

macro_rules! compare {
    ($rel:expr, $x:expr, $y:expr) => {{
        let (x, y) = ($x, $y);
        let nan = x.is_nan() | y.is_nan();
        match $rel {
            Rel::Eq => x == y,
            Rel::Ne => (x != y) & !nan,
            Rel::Lt => x < y,
            Rel::Le => x <= y,
            Rel::Gt => x > y,
            Rel::Ge => x >= y,
            Rel::Equ => (x == y) | nan,
            Rel::Neu => x != y,
            Rel::Ltu => (x < y) | nan,
            Rel::Leu => (x <= y) | nan,
            Rel::Gtu => (x > y) | nan,
            Rel::Geu => (x >= y) | nan,
            Rel::Num => !nan,
            Rel::Nan => nan,
        }
    }};
}

/// `a rel b` of `.f32`.
#[inline(always)]
#[must_use]
pub fn f32(rel: Rel, ftz: bool, a: u32, b: u32) -> bool {
    let (a, b) = if ftz { (fp32::flush(a), fp32::flush(b)) } else { (a, b) };
    compare!(rel, f32::from_bits(a), f32::from_bits(b))
}

/// `a rel b` of `.f64`.
#[inline(always)]
#[must_use]
pub fn f64(rel: Rel, a: u64, b: u64) -> bool {
    compare!(rel, f64::from_bits(a), f64::from_bits(b))
}

/// `a rel b` of `.f16` or `.bf16`.
#[inline(always)]
#[must_use]
pub fn half(k: Half, rel: Rel, ftz: bool, a: u32, b: u32) -> bool {
    let (a, b) = if ftz { (half::flush(k, a), half::flush(k, b)) } else { (a, b) };
    compare!(rel, half::widen(k, a), half::widen(k, b))
}

/// `testp.f32`.
#[inline(always)]
#[must_use]
pub fn test32(t: Test, a: u32) -> bool {
    let m = a & 0x7fff_ffff;
    match t {
        Test::Finite => m < 0x7f80_0000,
        Test::Infinite => m == 0x7f80_0000,
        Test::Number => m <= 0x7f80_0000,
        Test::NotANumber => m > 0x7f80_0000,
        Test::Normal => m < 0x7f80_0000 && m.wrapping_sub(1) >= 0x007f_ffff,
        Test::Subnormal => m.wrapping_sub(1) < 0x007f_ffff,
    }
}

/// `testp.f64`.
#[inline(always)]
#[must_use]
pub fn test64(t: Test, a: u64) -> bool {
    let (inf, least) = (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000);
    let m = a & (u64::MAX >> 1);
    match t {
        Test::Finite => m < inf,
        Test::Infinite => m == inf,
        Test::Number => m <= inf,
        Test::NotANumber => m > inf,
        Test::Normal => m < inf && m.wrapping_sub(1) >= least - 1,
        Test::Subnormal => m.wrapping_sub(1) < least - 1,
    }
}
