//! Exact values and their rounding to any binary format.
//!
//! [`Value`] holds a number as an integer significand of up to 128 bits times a power of two, wide
//! enough for the exact product of two doubles. Results that are longer (sums of far-apart terms,
//! quotients, roots) are kept to at least 62 bits with every lost bit or-ed into the lowest one,
//! which rounds like the exact value for formats of up to 53 bits. Slow and plain: it serves the
//! rare variants and is what the fast functions are tested against.

use super::Rnd;

/// A binary format with a sign bit, IEEE 754 exponent and, at the top exponent, infinity and NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Bits of the exponent field.
    pub exponent: u32,
    /// Bits of the fraction field.
    pub fraction: u32,
}

/// `.f16`.
pub const F16: Format = Format { exponent: 5, fraction: 10 };
/// `.bf16`.
pub const BF16: Format = Format { exponent: 8, fraction: 7 };
/// `.f32`.
pub const F32: Format = Format { exponent: 8, fraction: 23 };
/// `.f64`.
pub const F64: Format = Format { exponent: 11, fraction: 52 };

impl Format {
    /// Exponent of the least normal number.
    #[inline(always)]
    #[must_use]
    pub const fn min_exponent(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// Bits of positive infinity.
    #[inline(always)]
    #[must_use]
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The sign bit.
    #[inline(always)]
    #[must_use]
    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }
}

/// An exact value, or one that rounds like it (see the module's text).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Not a number; patterns are the caller's business.
    Nan,
    /// Infinity.
    Inf {
        /// Negative.
        neg: bool,
    },
    /// `±sig * 2^exp`; `sig` may be 0, which is a signed zero.
    Finite {
        /// Negative.
        neg: bool,
        /// Weight of the lowest bit of `sig`.
        exp: i32,
        /// The significand.
        sig: u128,
    },
}

use Value::{Finite, Inf, Nan};

/// Shifts right and keeps every lost bit in the lowest one.
fn shift_right_jam(v: u128, n: u32) -> u128 {
    if n == 0 {
        v
    } else if n > 127 {
        u128::from(v != 0)
    } else {
        v >> n | u128::from(v << (128 - n) != 0)
    }
}

impl Value {
    /// The value of a bit pattern.
    #[must_use]
    pub fn unpack(f: Format, bits: u64) -> Self {
        let neg = bits & f.sign() != 0;
        let mag = bits & (f.sign() - 1);
        let field = (mag >> f.fraction) as i32;
        let frac = u128::from(mag & ((1 << f.fraction) - 1));
        let exp = f.min_exponent() - f.fraction as i32;
        if mag > f.infinity() {
            Nan
        } else if mag == f.infinity() {
            Inf { neg }
        } else if field == 0 {
            Finite { neg, exp, sig: frac }
        } else {
            Finite { neg, exp: exp + field - 1, sig: frac | 1 << f.fraction }
        }
    }

    /// An integer given as sign and magnitude.
    #[must_use]
    pub fn int(neg: bool, magnitude: u64) -> Self {
        Finite { neg: neg && magnitude != 0, exp: 0, sig: magnitude.into() }
    }

    /// The negated value.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Nan => Nan,
            Inf { neg } => Inf { neg: !neg },
            Finite { neg, exp, sig } => Finite { neg: !neg, exp, sig },
        }
    }

    /// The value times `2^n`.
    #[must_use]
    pub fn scale(self, n: i32) -> Self {
        match self {
            Finite { neg, exp, sig } => Finite { neg, exp: exp + n, sig },
            other => other,
        }
    }

    /// Exact product of two values of at most 64 bits each.
    #[must_use]
    pub fn times(self, o: Self) -> Self {
        match (self, o) {
            (Nan, _) | (_, Nan) => Nan,
            (Inf { .. }, Finite { sig: 0, .. }) | (Finite { sig: 0, .. }, Inf { .. }) => Nan,
            (Inf { neg: a }, Inf { neg: b } | Finite { neg: b, .. })
            | (Finite { neg: a, .. }, Inf { neg: b }) => Inf { neg: a != b },
            (Finite { neg: a, exp: ea, sig: sa }, Finite { neg: b, exp: eb, sig: sb }) => {
                Finite { neg: a != b, exp: ea + eb, sig: sa * sb }
            }
        }
    }

    /// Sum; `rnd` decides the sign of an exact zero.
    #[must_use]
    pub fn plus(self, o: Self, rnd: Rnd) -> Self {
        match (self, o) {
            (Nan, _) | (_, Nan) => Nan,
            (Inf { neg: a }, Inf { neg: b }) if a != b => Nan,
            (Inf { neg }, _) | (_, Inf { neg }) => Inf { neg },
            (Finite { neg: na, exp: ea, sig: sa }, Finite { neg: nb, exp: eb, sig: sb }) => {
                let zero_sign = if na == nb { na } else { rnd == Rnd::Rm };
                match (sa, sb) {
                    (0, 0) => {
                        return Finite { neg: zero_sign, exp: 0, sig: 0 };
                    }
                    (0, _) => return o,
                    (_, 0) => return self,
                    _ => {}
                }
                // Both with their highest bit at 125: then the difference of the exponents orders
                // them, and jamming only ever loses bits when no long cancellation is possible.
                let norm = |exp: i32, sig: u128| {
                    let up = sig.leading_zeros() as i32 - 2;
                    if up >= 0 {
                        (exp - up, sig << up)
                    } else {
                        (exp - up, shift_right_jam(sig, -up as u32))
                    }
                };
                let ((ea, sa), (eb, sb)) = (norm(ea, sa), norm(eb, sb));
                let exp = ea.max(eb);
                let sa = shift_right_jam(sa, (exp - ea) as u32);
                let sb = shift_right_jam(sb, (exp - eb) as u32);
                if na == nb {
                    Finite { neg: na, exp, sig: sa + sb }
                } else if sa == sb {
                    Finite { neg: zero_sign, exp: 0, sig: 0 }
                } else {
                    Finite { neg: if sa > sb { na } else { nb }, exp, sig: sa.abs_diff(sb) }
                }
            }
        }
    }

    /// Quotient of two values of at most 64 bits each.
    #[must_use]
    pub fn over(self, o: Self) -> Self {
        match (self, o) {
            (Nan, _) | (_, Nan) | (Inf { .. }, Inf { .. }) => Nan,
            (Finite { sig: 0, .. }, Finite { sig: 0, .. }) => Nan,
            (Inf { neg: a }, Finite { neg: b, .. })
            | (Finite { neg: a, .. }, Finite { neg: b, sig: 0, .. }) => Inf { neg: a != b },
            (Finite { neg: a, .. }, Inf { neg: b }) => Finite { neg: a != b, exp: 0, sig: 0 },
            (Finite { neg: a, exp: ea, sig: sa }, Finite { neg: b, exp: eb, sig: sb }) => {
                let up = sa.leading_zeros() as i32 * i32::from(sa != 0);
                let n = sa << up;
                let q = (n / sb) | u128::from(!n.is_multiple_of(sb));
                Finite { neg: a != b, exp: ea - up - eb, sig: q }
            }
        }
    }

    /// Square root; of a negative number other than zero: NaN.
    #[must_use]
    pub fn sqrt(self) -> Self {
        match self {
            Nan | Inf { neg: true } => Nan,
            Finite { sig: 0, .. } | Inf { neg: false } => self,
            Finite { neg: true, .. } => Nan,
            Finite { neg: false, exp, sig } => {
                let mut up = sig.leading_zeros() as i32;
                if (exp - up) & 1 != 0 {
                    up -= 1;
                }
                let n = if up >= 0 { sig << up } else { shift_right_jam(sig, 1) };
                let r = n.isqrt();
                Finite { neg: false, exp: (exp - up) / 2, sig: r << 1 | u128::from(r * r != n) }
                    .scale(-1)
            }
        }
    }

    /// The value rounded to an integer.
    #[must_use]
    pub fn round_int(self, rnd: Rnd) -> Self {
        match self {
            Finite { neg, exp, sig } if exp < 0 => {
                Finite { neg, exp: 0, sig: round_shift(neg, sig, exp.unsigned_abs(), rnd) }
            }
            other => other,
        }
    }

    /// The bits of an integral value (see [`Value::round_int`]) clamped to `min..=max`, and whether
    /// it was a number at all.
    #[must_use]
    pub fn clamp_int(self, min: i128, max: i128) -> Option<i128> {
        match self {
            Nan => None,
            Inf { neg } => Some(if neg { min } else { max }),
            Finite { neg, exp, sig } => {
                let big = sig != 0 && sig.ilog2() as i32 + exp > 100;
                let v = if big {
                    i128::MAX
                } else if exp >= 0 {
                    (sig as i128) << exp
                } else {
                    (sig >> exp.unsigned_abs().min(127)) as i128
                };
                Some((if neg { -v } else { v }).clamp(min, max))
            }
        }
    }

    /// Rounds to format `f`; NaN becomes `nan`, overflow infinity or the greatest finite number as
    /// `rnd` says.
    #[must_use]
    pub fn pack(self, f: Format, rnd: Rnd, nan: u64) -> u64 {
        let (neg, bits) = match self {
            Nan => return nan,
            Inf { neg } => (neg, f.infinity()),
            Finite { neg, sig: 0, .. } => (neg, 0),
            Finite { neg, exp, sig } => {
                let lowest = f.min_exponent() - f.fraction as i32;
                let lsb = lowest.max(sig.ilog2() as i32 + exp - f.fraction as i32);
                let q = match u32::try_from(lsb - exp) {
                    Ok(n) => round_shift(neg, sig, n, rnd),
                    Err(_) => sig << (exp - lsb),
                };
                // The hidden bit of `q` adds the 1 that turns the distance into the exponent field.
                let bits = (((lsb - lowest) as u64) << f.fraction) + q as u64;
                let to_infinity = match rnd {
                    Rnd::Rn | Rnd::Rna => true,
                    Rnd::Rz => false,
                    Rnd::Rm => neg,
                    Rnd::Rp => !neg,
                };
                (
                    neg,
                    if bits < f.infinity() || to_infinity {
                        bits.min(f.infinity())
                    } else {
                        f.infinity() - 1
                    },
                )
            }
        };
        bits | if neg { f.sign() } else { 0 }
    }

    /// Whether the value, rounded to the precision of `f` with unbounded exponent, is below the
    /// least normal number of `f`: the rule by which `.ftz` flushes a result.
    #[must_use]
    pub fn is_tiny(self, f: Format, rnd: Rnd) -> bool {
        match self {
            Finite { neg, exp, sig } if sig != 0 => {
                let lsb = sig.ilog2() as i32 + exp - f.fraction as i32;
                let (q, lsb) = match u32::try_from(lsb - exp) {
                    Ok(n) => (round_shift(neg, sig, n, rnd), lsb),
                    Err(_) => (sig, exp),
                };
                (q.ilog2() as i32 + lsb) < f.min_exponent()
            }
            _ => false,
        }
    }
}

/// `sig / 2^n` rounded to an integer.
fn round_shift(neg: bool, sig: u128, n: u32, rnd: Rnd) -> u128 {
    if n == 0 {
        return sig;
    }
    // Two more bits than the integer: the half, and everything below it jammed together.
    let v = if n == 1 { sig << 1 } else { shift_right_jam(sig, n - 2) };
    let (q, rest) = (v >> 2, v & 3);
    let up = match rnd {
        Rnd::Rn => rest == 3 || rest == 2 && q & 1 == 1,
        Rnd::Rna => rest >= 2,
        Rnd::Rz => false,
        Rnd::Rm => neg && rest != 0,
        Rnd::Rp => !neg && rest != 0,
    };
    q + u128::from(up)
}
