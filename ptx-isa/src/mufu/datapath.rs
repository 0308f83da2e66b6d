//! The interpolation unit that all the approximate functions share.
//!
//! A table entry, chosen by the leading bits of the argument, gives `c0 + c1*x + c2*x^2` over the remaining bits
//! `x`. The sum is an exact integer P; its value is `P * 2^-unit`, and the result is P cut, never rounded, to the
//! width of the result. The square is the one inexact part: [`square`].

/// One table entry as a single word, so that a vector unit fetches it with one gather:
/// `c0 << 36 | c1 << 17 | c2`, all magnitudes.
pub(super) type Coefficients = u64;

/// How a table's numbers are aligned and signed.
pub(super) struct Interpolation {
    /// The sum counts units of `2^-unit`.
    pub unit: u32,
    /// Left shift of c0 into those units.
    pub c0_shift: u32,
    /// Constant added to every sum; carries what rounding there is.
    pub r: i64,
    /// Left shift that puts an offset of fewer than 17 bits into the upper bits of the squarer.
    pub align: u32,
    /// Whether the argument's exponent, as an integer, joins the sum before the cut, two bits shorter, and a negative
    /// sum is complemented, not negated: the logarithm.
    pub joins_exponent: bool,
    /// Whether every c1 of the table is negative.
    pub c1_negative: bool,
    /// Whether every c2 of the table is negative.
    pub c2_negative: bool,
}

/// Packs table rows, padding with zeros up to a power of two so that a masked index needs no bounds check.
pub(super) const fn pack<const N: usize, const M: usize>(
    rows: [(u64, u64, u64); N],
) -> [Coefficients; M] {
    assert!(N <= M && M.is_power_of_two());
    let mut packed = [0; M];
    let mut k = 0;
    while k < N {
        let (c0, c1, c2) = rows[k];
        assert!(c0 < 1 << 28 && c1 < 1 << 19 && c2 < 1 << 17);
        packed[k] = c0 << 36 | c1 << 17 | c2;
        k += 1;
    }
    packed
}

/// A table of rows for even exponents and then those for odd ones, in the order of the biased exponent's lowest bit.
pub(super) const fn by_parity(rows: [Coefficients; 128]) -> [Coefficients; 128] {
    let mut table = rows;
    let mut k = 0;
    while k < 128 {
        table[k ^ 64] = rows[k];
        k += 1;
    }
    table
}

/// Packs tanh's binades, `(index bits, first entry)`, as `first << 8 | bits`.
pub(super) const fn segments<const N: usize>(rows: [(u32, u32); N]) -> [u32; 16] {
    let mut packed = [0; 16];
    let mut k = 0;
    while k < N {
        packed[k] = rows[k].1 << 8 | rows[k].0;
        k += 1;
    }
    packed
}

/// The truncated squarer: `x * x` of a 17-bit x from folded partial products, without the columns below 2^19
/// (the hardware does not build them); counts units of 2^19.
///
/// Folding puts the product of bits i > j into column i + j + 1 and that of bit i with itself into column 2i. What is
/// kept of bit i >= 10 is the bits j >= 18 - i under it, and itself. Among the upper seven bits that is all, which
/// makes twice their square; the ten bits below them come in rows, one for each bit above.
#[inline(always)]
pub(super) fn square(x: u32) -> u32 {
    let (upper, lower) = (x >> 10, x & 0x3ff);
    let mut sum = 2 * upper * upper;
    let mut i = 10;
    while i <= 16 {
        let chosen = ((x << (31 - i)) as i32 >> 31) as u32;
        sum += lower >> (18 - i) & chosen;
        i += 1;
    }
    sum
}

impl Interpolation {
    /// The sum P for the entry `c` at offset `x`.
    #[inline(always)]
    pub(super) fn sum(&self, c: Coefficients, x: u32) -> u64 {
        let constant = ((c >> 36) << self.c0_shift).wrapping_add_signed(self.r);
        let linear = (c >> 17 & 0x7ffff) * u64::from(x);
        let quadratic = (c & 0x1ffff) * u64::from(square(x << self.align));
        let p = if self.c1_negative {
            constant.wrapping_sub(linear)
        } else {
            constant.wrapping_add(linear)
        };
        if self.c2_negative { p.wrapping_sub(quadratic) } else { p.wrapping_add(quadratic) }
    }

    /// The sum cut to 24 bits as [`cut`] gives it, for an argument of that unbiased exponent.
    #[inline(always)]
    pub(super) fn magnitude(&self, c: Coefficients, x: u32, exponent: i32) -> i32 {
        let p = self.sum(c, x);
        if self.joins_exponent {
            let unit = self.unit - 2;
            let sum = (i64::from(exponent) << unit).wrapping_add((p >> 2) as i64);
            cut((sum ^ sum >> 63) as u64, unit)
        } else {
            cut(p, self.unit)
        }
    }
}

/// The bits of `p` as a double: exact, since p < 2^52, and normalised without counting leading zeros, which
/// vector units below AVX-512 cannot do.
#[inline(always)]
fn normalised(p: u64) -> u64 {
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    (f64::from_bits(TWO_52 | p) - f64::from_bits(TWO_52)).to_bits()
}

/// Cuts `p * 2^-unit` to 24 bits: a float's magnitude, less its exponent bias, as `log2 << 23 | fraction` in signed
/// form. Add [`biased`] to get float bits. Meaningless for p = 0.
#[inline(always)]
pub(super) fn cut(p: u64, unit: u32) -> i32 {
    ((normalised(p) >> 29) as u32).wrapping_sub((1023 + unit) << 23) as i32
}

/// Cuts `p * 2^-unit` to 21 bits, as [`cut`] with `log2 << 20 | fraction`: the high word of a double.
#[inline(always)]
pub(super) fn cut_wide(p: u64, unit: u32) -> i32 {
    ((normalised(p) >> 32) as u32).wrapping_sub((1023 + unit) << 20) as i32
}

/// Float bits of a [`cut`] magnitude times `2^exponent`: infinity on overflow, zero for a result below 2^-126.
#[inline(always)]
pub(super) fn scaled(magnitude: i32, exponent: i32) -> u32 {
    let bits = magnitude + ((exponent + 127) << 23);
    if bits < 0x0080_0000 { 0 } else { bits.min(0x7f80_0000) as u32 }
}
