//! An independent reference: big-integer dyadic numbers, rounded by comparing with the neighbours.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Signed, Zero};
use ptx_isa::num::Rnd;

/// Exponent and fraction bits, and whether the top exponent holds infinity and NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fmt {
    pub e: u32,
    pub f: u32,
}

pub const F16: Fmt = Fmt { e: 5, f: 10 };
pub const BF16: Fmt = Fmt { e: 8, f: 7 };
pub const TF32: Fmt = Fmt { e: 8, f: 10 };
pub const F32: Fmt = Fmt { e: 8, f: 23 };
pub const F64: Fmt = Fmt { e: 11, f: 52 };

impl Fmt {
    pub fn bias(self) -> i64 {
        (1 << (self.e - 1)) - 1
    }
    pub fn inf(self) -> u64 {
        ((1 << self.e) - 1) << self.f
    }
    pub fn sign(self) -> u64 {
        1 << (self.e + self.f)
    }
    pub fn finite(self, b: u64) -> bool {
        b & (self.sign() - 1) < self.inf()
    }
}

/// `m * 2^x`, or with `more` a number strictly between that and the next integer multiple away
/// from zero. `neg` matters for zero only.
#[derive(Clone, Debug)]
pub struct Num {
    pub m: BigInt,
    pub x: i64,
    pub more: bool,
    pub neg: bool,
}

pub fn value(f: Fmt, b: u64) -> Num {
    let neg = b & f.sign() != 0;
    let mag = b & (f.sign() - 1);
    assert!(mag < f.inf());
    let (field, frac) = (mag >> f.f, mag & ((1 << f.f) - 1));
    let (m, x) = if field == 0 {
        (frac, 1 - f.bias() - i64::from(f.f))
    } else {
        (frac + (1 << f.f), field as i64 - f.bias() - i64::from(f.f))
    };
    Num {
        m: BigInt::from_biguint(if neg { Sign::Minus } else { Sign::Plus }, m.into()),
        x,
        more: false,
        neg,
    }
}

pub fn int(v: i128) -> Num {
    Num { m: v.into(), x: 0, more: false, neg: v < 0 }
}

pub fn mul(a: &Num, b: &Num) -> Num {
    Num { m: &a.m * &b.m, x: a.x + b.x, more: false, neg: a.neg != b.neg }
}

pub fn add(a: &Num, b: &Num, rnd: Rnd) -> Num {
    let x = a.x.min(b.x);
    let m = (&a.m << (a.x - x)) + (&b.m << (b.x - x));
    let neg = match m.sign() {
        Sign::Minus => true,
        Sign::Plus => false,
        Sign::NoSign if a.neg == b.neg => a.neg,
        Sign::NoSign => rnd == Rnd::Rm,
    };
    Num { m, x, more: false, neg }
}

pub fn negate(a: &Num) -> Num {
    Num { m: -&a.m, neg: !a.neg, ..a.clone() }
}

pub fn div(a: &Num, b: &Num) -> Num {
    let n = &a.m << 200u32;
    let q = &n / &b.m;
    let more = &q * &b.m != n;
    Num { m: q, x: a.x - b.x - 200, more, neg: a.neg != b.neg }
}

pub fn sqrt(a: &Num) -> Num {
    let up = 400 + (a.x & 1);
    let n: BigUint = (&a.m << up).magnitude().clone();
    let r = n.sqrt();
    let more = &r * &r != n;
    Num { m: r.into(), x: (a.x - up) / 2, more, neg: a.neg }
}

/// `|n|` as a multiple of `2^lsb`: the integer below, and where between it and the next `n` lies:
/// 0 on it, 1 below the middle, 2 in the middle, 3 above.
fn split(n: &Num, lsb: i64) -> (BigUint, u8) {
    let m = n.m.magnitude();
    if lsb <= n.x {
        assert!(!n.more, "too few bits");
        return (m << (n.x - lsb), 0);
    }
    let k = (lsb - n.x) as u64;
    let q: BigUint = m >> k;
    let rest = m - (&q << k);
    let half = BigUint::one() << (k - 1);
    let place = match (rest.cmp(&half), n.more, rest.is_zero()) {
        (std::cmp::Ordering::Greater, ..) => 3,
        (std::cmp::Ordering::Equal, more, _) => 2 + u8::from(more),
        (_, false, true) => 0,
        _ => 1,
    };
    (q, place)
}

fn round_up(rnd: Rnd, neg: bool, odd: bool, place: u8) -> bool {
    match rnd {
        Rnd::Rn => place == 3 || place == 2 && odd,
        Rnd::Rna => place >= 2,
        Rnd::Rz => false,
        Rnd::Rm => neg && place > 0,
        Rnd::Rp => !neg && place > 0,
    }
}

/// Rounds to an integer.
pub fn integral(n: &Num, rnd: Rnd) -> BigInt {
    let neg = n.m.is_negative();
    let (q, place) = split(n, 0);
    let q = BigInt::from(q.clone()) + i32::from(round_up(rnd, neg, q.bit(0), place));
    if neg { -q } else { q }
}

/// Rounds to a format; the flag says whether the value rounded with unbounded exponent is below
/// the least normal number.
pub fn round(f: Fmt, rnd: Rnd, n: &Num) -> (u64, bool) {
    let sign = if n.neg { f.sign() } else { 0 };
    if n.m.is_zero() {
        assert!(!n.more);
        return (sign, false);
    }
    let top = n.m.bits() as i64 - 1 + n.x;
    let at = |lsb: i64| {
        let (q, place) = split(n, lsb);
        let up = round_up(rnd, n.neg, q.bit(0), place);
        q + u32::from(up)
    };
    let tiny = {
        let lsb = top - i64::from(f.f);
        at(lsb).bits() as i64 - 1 + lsb < 1 - f.bias()
    };
    let lowest = 1 - f.bias() - i64::from(f.f);
    let lsb = lowest.max(top - i64::from(f.f));
    let q = at(lsb);
    let mut x = lsb;
    let mut q = u64::try_from(q).expect("no more than a significand");
    if q >> (f.f + 1) != 0 {
        q >>= 1;
        x += 1;
    }
    let field = if q >> f.f == 0 { 0 } else { x + i64::from(f.f) + f.bias() };
    let max_field = (1 << f.e) - 1;
    let mag = if field >= max_field {
        let finite = match rnd {
            Rnd::Rn | Rnd::Rna => false,
            Rnd::Rz => true,
            Rnd::Rm => !n.neg,
            Rnd::Rp => n.neg,
        };
        f.inf() - u64::from(finite)
    } else {
        (field as u64) << f.f | q & ((1 << f.f) - 1)
    };
    (mag | sign, tiny)
}
