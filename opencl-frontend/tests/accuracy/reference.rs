//! What the functions should give: in double precision for single, in 128 bits for double.

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};

/// Bits that references for doubles carry.
const P: usize = 128;
const RM: RoundingMode = RoundingMode::None;

/// A number of many bits.
pub type Big = BigFloat;

/// Constants of the big numbers, computed once.
pub struct Context {
    cc: Consts,
    half_log_two_pi: Big,
    log_two: Big,
}

impl Context {
    pub fn new() -> Context {
        let mut cc = Consts::new().expect("memory for constants");
        let log_two_pi = mul(&cc.pi(P, RM), &int(2)).ln(P, RM, &mut cc);
        let log_two = cc.ln_2(P, RM);
        Context { cc, half_log_two_pi: mul(&log_two_pi, &big(0.5)), log_two }
    }
}

pub fn big(x: f64) -> Big {
    if x.is_subnormal() {
        // The library reads subnormals wrongly.
        let mut big = Big::from_f64(x * 2f64.powi(200), P);
        if let Some(e) = big.exponent() {
            big.set_exponent(e - 200);
        }
        return big;
    }
    Big::from_f64(x, P)
}

fn int(n: i64) -> Big {
    Big::from_i64(n, P)
}

fn add(a: &Big, b: &Big) -> Big {
    a.add(b, P, RM)
}

fn sub(a: &Big, b: &Big) -> Big {
    a.sub(b, P, RM)
}

fn mul(a: &Big, b: &Big) -> Big {
    a.mul(b, P, RM)
}

fn div(a: &Big, b: &Big) -> Big {
    a.div(b, P, RM)
}

/// The number as the sum of two doubles, and its binary exponent: value = (high + low) 2^e, |high| in [1/2, 1].
pub fn parts(x: &Big) -> (f64, f64, i32) {
    let Some((words, _, sign, exponent, _)) = x.as_raw_parts() else { return (f64::NAN, 0.0, 0) };
    // The mantissa is 0.m, its most significant word last.
    let word = |i: usize| words.len().checked_sub(i + 1).map_or(0, |k| words[k]);
    let top = word(0);
    let high = ((top >> 11) << 11) as f64 * 2f64.powi(-64);
    let rest = (top & 0x7ff) as f64 * 2f64.powi(-64) + word(1) as f64 * 2f64.powi(-128);
    let s = if sign == Sign::Neg { -1.0 } else { 1.0 };
    (s * high, s * rest, exponent)
}

macro_rules! plain {
    ($($name:ident)*) => {$(
        pub fn $name(c: &mut Context, a: f64) -> Big {
            big(a).$name(P, RM, &mut c.cc)
        }
    )*};
}
plain!(exp ln log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh);

pub fn cbrt(_: &mut Context, a: f64) -> Big {
    big(a).cbrt(P, RM)
}

pub fn rsqrt(_: &mut Context, a: f64) -> Big {
    big(a).sqrt(P, RM).reciprocal(P, RM)
}

pub fn hypot(_: &mut Context, a: f64, b: f64) -> Big {
    let (a, b) = (big(a), big(b));
    add(&mul(&a, &a), &mul(&b, &b)).sqrt(P, RM)
}

pub fn exp2(c: &mut Context, a: f64) -> Big {
    mul(&big(a), &c.log_two).exp(P, RM, &mut c.cc)
}

pub fn exp10(c: &mut Context, a: f64) -> Big {
    int(10).pow(&big(a), P, RM, &mut c.cc)
}

pub fn expm1(c: &mut Context, a: f64) -> Big {
    let x = big(a);
    if a.abs() < 1e-9 {
        // Series: the next term is below 2^-150 of the first.
        let mut sum = int(0);
        let mut term = x.clone();
        for n in 2..9 {
            sum = add(&sum, &term);
            term = div(&mul(&term, &x), &int(n));
        }
        return sum;
    }
    sub(&x.exp(P, RM, &mut c.cc), &int(1))
}

pub fn log1p(c: &mut Context, a: f64) -> Big {
    let x = big(a);
    if a.abs() < 1e-9 {
        let mut sum = int(0);
        let mut power = x.clone();
        for n in 1..9 {
            let term = div(&power, &int(n));
            sum = if n % 2 == 1 { add(&sum, &term) } else { sub(&sum, &term) };
            power = mul(&power, &x);
        }
        return sum;
    }
    add(&int(1), &x).ln(P, RM, &mut c.cc)
}

fn pi(c: &mut Context) -> Big {
    c.cc.pi(P, RM)
}

pub fn degrees(c: &mut Context, a: f64) -> Big {
    div(&mul(&big(a), &int(180)), &pi(c))
}

pub fn radians(c: &mut Context, a: f64) -> Big {
    div(&mul(&big(a), &pi(c)), &int(180))
}

/// Functions divided by pi.
macro_rules! over_pi {
    ($($name:ident = $of:ident($($arg:ident),*);)*) => {$(
        pub fn $name(c: &mut Context, $($arg: f64),*) -> Big {
            let whole = $of(c, $($arg),*);
            div(&whole, &pi(c))
        }
    )*};
}
over_pi! {
    asinpi = asin(a);
    acospi = acos(a);
    atanpi = atan(a);
    atan2pi = atan2(a, b);
}

/// x modulo 2 in [-1, 1], exact.
fn half_turns(x: f64) -> f64 {
    let r = x % 2.0;
    if r > 1.0 {
        r - 2.0
    } else if r < -1.0 {
        r + 2.0
    } else {
        r
    }
}

pub fn sinpi(c: &mut Context, x: f64) -> Big {
    let r = half_turns(x);
    let r = if r > 0.5 {
        1.0 - r
    } else if r < -0.5 {
        -1.0 - r
    } else {
        r
    };
    let angle = mul(&pi(c), &big(r));
    angle.sin(P, RM, &mut c.cc)
}

pub fn cospi(c: &mut Context, x: f64) -> Big {
    let r = half_turns(x).abs();
    let turned = sub(&big(0.5), &big(r));
    let angle = mul(&pi(c), &turned);
    angle.sin(P, RM, &mut c.cc)
}

pub fn tanpi(c: &mut Context, x: f64) -> Big {
    let (s, t) = (sinpi(c, x), cospi(c, x));
    div(&s, &t)
}

pub fn atan2(c: &mut Context, y: f64, x: f64) -> Big {
    let pi = pi(c);
    if x == 0.0 {
        let half = div(&pi, &int(2));
        return if y < 0.0 { half.neg() } else { half };
    }
    let base = div(&big(y), &big(x)).atan(P, RM, &mut c.cc);
    match (x < 0.0, y < 0.0) {
        (false, _) => base,
        (true, false) => add(&base, &pi),
        (true, true) => sub(&base, &pi),
    }
}

pub fn pow(c: &mut Context, x: f64, y: f64) -> Big {
    let odd = y % 2.0 != 0.0;
    let r = big(x.abs()).pow(&big(y), P, RM, &mut c.cc);
    if x < 0.0 && odd { r.neg() } else { r }
}

pub fn rootn(c: &mut Context, x: f64, n: f64) -> Big {
    let one_nth = div(&int(1), &big(n));
    let r = big(x.abs()).pow(&one_nth, P, RM, &mut c.cc);
    if x < 0.0 { r.neg() } else { r }
}

pub fn erf(c: &mut Context, a: f64) -> Big {
    if a.abs() > 5.0 {
        let rest = erfc(c, a.abs());
        let r = sub(&int(1), &rest);
        return if a < 0.0 { r.neg() } else { r };
    }
    // Its power series: terms stay below e^25.
    let x = big(a);
    let square = mul(&x, &x);
    let mut sum = int(0);
    let mut term = x;
    for n in 0..200 {
        let part = div(&term, &int(2 * n + 1));
        sum = add(&sum, &part);
        if part.is_zero() || part.exponent().unwrap_or(0) < sum.exponent().unwrap_or(0) - 120 {
            break;
        }
        term = div(&mul(&term, &square), &int(n + 1)).neg();
    }
    let root = pi(c).sqrt(P, RM);
    div(&mul(&sum, &int(2)), &root)
}

pub fn erfc(c: &mut Context, a: f64) -> Big {
    if a < 5.0 {
        let e = erf(c, a);
        return sub(&int(1), &e);
    }
    // Continued fraction, from the inside out: more terms than the smallest argument needs.
    let x = big(a);
    let terms = (4000.0 / (a * a)) as i64 + 60;
    let mut tail = x.clone();
    for n in (1..=terms).rev() {
        tail = add(&x, &div(&div(&int(n), &int(2)), &tail));
    }
    let e = mul(&x, &x).neg().exp(P, RM, &mut c.cc);
    let root = pi(c).sqrt(P, RM);
    div(&e, &mul(&root, &tail))
}

/// Bernoulli numbers B(2n) as fractions, n from 1.
const BERNOULLI: [(i64, i64); 14] = [
    (1, 6),
    (-1, 30),
    (1, 42),
    (-1, 30),
    (5, 66),
    (-691, 2730),
    (7, 6),
    (-3617, 510),
    (43867, 798),
    (-174611, 330),
    (854513, 138),
    (-236364091, 2730),
    (8553103, 6),
    (-23749461029, 870),
];

pub fn log_gamma(c: &mut Context, a: f64) -> Big {
    if a < 0.5 {
        // Reflection.
        let (log, product) = stirling(c, sub(&int(1), &big(a)));
        let front = div(&mul(&pi(c), &product), &sinpi(c, a).abs()).ln(P, RM, &mut c.cc);
        return sub(&front, &log);
    }
    let (log, product) = stirling(c, big(a));
    sub(&log, &product.ln(P, RM, &mut c.cc))
}

pub fn tgamma(c: &mut Context, a: f64) -> Big {
    if a < 0.5 {
        let (log, product) = stirling(c, sub(&int(1), &big(a)));
        let power = log.exp(P, RM, &mut c.cc);
        return div(&mul(&pi(c), &product), &mul(&sinpi(c, a), &power));
    }
    let (log, product) = stirling(c, big(a));
    div(&log.exp(P, RM, &mut c.cc), &product)
}

/// Two numbers such that gamma(x) = exp(first) / second, for x > 0.
fn stirling(c: &mut Context, mut x: Big) -> (Big, Big) {
    let mut product = int(1);
    let limit = int(25);
    while x.cmp(&limit).is_some_and(|o| o < 0) {
        product = mul(&product, &x);
        x = add(&x, &int(1));
    }
    let log = x.ln(P, RM, &mut c.cc);
    let half = big(0.5);
    let mut sum = sub(&mul(&sub(&x, &half), &log), &x);
    sum = add(&sum, &c.half_log_two_pi);
    let square = mul(&x, &x);
    let mut power = x;
    for (n, (top, bottom)) in BERNOULLI.iter().enumerate() {
        let k = 2 * (n as i64 + 1);
        let term = div(&int(*top), &mul(&int(*bottom * k * (k - 1)), &power));
        sum = add(&sum, &term);
        power = mul(&power, &square);
    }
    (sum, product)
}

pub fn quotient(a: f64, b: f64) -> Big {
    div(&big(a), &big(b))
}

pub fn sqrt(_: &mut Context, a: f64) -> Big {
    big(a).sqrt(P, RM)
}

pub fn scaled(a: f64, n: i32) -> Big {
    let mut x = big(a);
    if let Some(e) = x.exponent()
        && !x.is_zero()
    {
        x.set_exponent(e + n);
    }
    x
}

pub fn fma(a: f64, b: f64, c: f64) -> Big {
    if a == 0.0 || b == 0.0 {
        return big(c);
    }
    if c == 0.0 {
        return mul(&big(a), &big(b));
    }
    // Wide enough for any distance between the product and the sum.
    mul(&big(a), &big(b)).add(&big(c), 4800, RM)
}

/// x minus its floor, at most the largest double below 1.
pub fn fraction(x: f64) -> Big {
    let exact = sub(&big(x), &big(x.floor()));
    let largest = big(1.0 - f64::EPSILON / 2.0);
    if exact.cmp(&largest).is_some_and(|o| o > 0) { largest } else { exact }
}
