//! f64 products: a chain of fused multiply-adds in the order of k, starting from C.

use super::mma::F64Round;
use super::types::Shape;

/// Runs every f64 shape (PTX sections "Matrix Fragments for mma.m8n8k4/m16n8k… with .f64").
pub(super) fn run(
    shape: Shape,
    round: F64Round,
    d: &mut [[u64; 32]],
    a: &[[u64; 32]],
    b: &[[u64; 32]],
    c: &[[u64; 32]],
) {
    let Shape { m, n, k } = shape;
    let halves = m / 8;
    for i in 0..m {
        for j in 0..n {
            let (lane, reg) = (i % 8 * 4 + j / 2, i / 8 * 2 + j % 2);
            let mut acc = c[reg][lane];
            for p in 0..k {
                let x = a[p / 4 * halves + i / 8][i % 8 * 4 + p % 4];
                let y = b[p / 4][j * 4 + p % 4];
                acc = fma(x, y, acc, round);
            }
            d[reg][lane] = acc;
        }
    }
}

const INF: u64 = 0x7ff0_0000_0000_0000;
const QUIET: u64 = 0x0008_0000_0000_0000;

fn is_nan(x: u64) -> bool {
    x << 1 > INF << 1
}

/// `a * b + c` with one rounding. Of several NaNs the hardware passes b's, then c's, then a's.
fn fma(a: u64, b: u64, c: u64, round: F64Round) -> u64 {
    for x in [b, c, a] {
        if is_nan(x) {
            return x | QUIET;
        }
    }
    let (fa, fb, fc) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    let near = fa.mul_add(fb, fc);
    if near.is_nan() {
        return INF | QUIET | 1 << 63;
    }
    if round == F64Round::Rn {
        return near.to_bits();
    }
    directed(fa, fb, fc, round)
}

/// Directed rounding: exact product and sum as (sign, integer, exponent) with a sticky bit.
fn directed(a: f64, b: f64, c: f64, round: F64Round) -> u64 {
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return a.mul_add(b, c).to_bits();
    }
    let split = |x: f64| {
        let bits = x.to_bits();
        let exp = (bits >> 52 & 0x7ff) as i32;
        let frac = bits & ((1 << 52) - 1);
        let m = if exp == 0 { frac } else { frac | 1 << 52 };
        (m, exp.max(1) - 1075)
    };
    let ((ma, ea), (mb, eb), (mc, ec)) = (split(a), split(b), split(c));
    let product = u128::from(ma) * u128::from(mb);
    let (sp, sc) = (a.is_sign_negative() != b.is_sign_negative(), c.is_sign_negative());
    let zero = |s: bool| if s { 1u64 << 63 } else { 0 };
    if product == 0 && mc == 0 {
        return zero(if sp == sc { sp } else { round == F64Round::Rm });
    }
    // Bring both to 126 significant bits at most, the rest of the smaller one becomes a sticky bit.
    let norm = |m: u128, e: i32| {
        if m == 0 {
            return (0, i32::MIN / 2);
        }
        let z = m.leading_zeros().cast_signed() - 3;
        (if z >= 0 { m << z } else { m >> -z }, e - z)
    };
    let (mp, ep) = norm(product, ea + eb);
    let (mc, ec) = norm(u128::from(mc), ec);
    let top = ep.max(ec);
    let align = |m: u128, e: i32| {
        let d = (top - e).cast_unsigned();
        if m == 0 || d == 0 {
            (m, false)
        } else if d > 127 {
            (0, true)
        } else {
            (m >> d, m & ((1 << d) - 1) != 0)
        }
    };
    let ((xp, lp), (xc, lc)) = (align(mp, ep), align(mc, ec));
    let (negative, mag, sticky) = if sp == sc {
        (sp, xp + xc, lp || lc)
    } else {
        // The cut operand is the smaller one: subtracting it with a sticky tail means one unit less.
        let lost = lp || lc;
        let (neg, big, small) = if xp > xc || xp == xc && lc { (sp, xp, xc) } else { (sc, xc, xp) };
        (neg, big - small - u128::from(lost), lost)
    };
    if mag == 0 && !sticky {
        return zero(round == F64Round::Rm);
    }
    let away = match round {
        F64Round::Rp => !negative,
        F64Round::Rm => negative,
        F64Round::Rz | F64Round::Rn => false,
    };
    zero(negative) | pack(mag, top, sticky, away)
}

/// Cuts `mag * 2^exp` to f64, or takes the next number away from zero.
fn pack(mag: u128, exp: i32, sticky: bool, away: bool) -> u64 {
    let top = 127 - mag.leading_zeros().cast_signed() + exp;
    let last = top.max(-1022) - 52;
    let drop = last - exp;
    let (kept, rest) = if drop <= 0 {
        (mag << -drop, false)
    } else if drop > 127 {
        (0, mag != 0)
    } else {
        (mag >> drop, mag & ((1 << drop) - 1) != 0)
    };
    let kept = kept as u64 + u64::from(away && (rest || sticky));
    let biased = if top < -1022 { 0 } else { (top + 1022) as u64 };
    let bits = (biased << 52) + kept;
    if bits >= INF { if away { INF } else { INF - 1 } } else { bits }
}
