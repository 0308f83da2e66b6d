//! The functions, their bounds and their references.
//!
//! Bounds: appendix B of NVIDIA's OpenCL programming guide counts ulps from the correctly rounded result;
//! OpenCL C 1.2 (7.4) counts them from the exact one. Both are checked where both exist.

use super::reference::{self as r, Big, Context};

/// What a function owes.
#[derive(Clone, Copy)]
pub struct Bound {
    /// Guide: distance from the correctly rounded result.
    pub guide: Option<u32>,
    /// OpenCL: distance from the exact result.
    pub opencl: Option<f64>,
}

/// Which inputs make sense.
#[derive(Clone, Copy, PartialEq)]
pub enum Domain {
    /// All values.
    All,
    /// The second operand is a small integer.
    Integer,
    /// Not between -12 and -2 (lgamma near its zeros).
    OutsideZeros,
    /// Up to 2^16 in magnitude.
    Half,
}

/// A function under test.
pub struct Function {
    pub name: &'static str,
    /// OpenCL C statement that sets `r` from `a`, `b` and `c`.
    pub code: &'static str,
    pub arity: usize,
    pub domain: Domain,
    pub single: Bound,
    pub double: Option<Bound>,
    pub reference: fn(&[f64]) -> f64,
    pub precise: fn(&mut Context, &[f64]) -> Big,
}

const fn bound(guide: i32, opencl: f64) -> Bound {
    Bound {
        guide: if guide < 0 { None } else { Some(guide as u32) },
        opencl: if opencl < 0.0 { None } else { Some(opencl) },
    }
}

fn none(_: &mut Context, _: &[f64]) -> Big {
    Big::nan(None)
}

macro_rules! f {
    ($name:literal, $code:literal, $arity:literal, $domain:ident, ($sg:expr, $so:expr), ($dg:expr, $do:expr),
     $reference:expr, $precise:expr) => {
        Function {
            name: $name,
            code: $code,
            arity: $arity,
            domain: Domain::$domain,
            single: bound($sg, $so as f64),
            double: Some(bound($dg, $do as f64)),
            reference: $reference,
            precise: $precise,
        }
    };
    ($name:literal, $code:literal, $arity:literal, $domain:ident, ($sg:expr, $so:expr), $reference:expr) => {
        Function {
            name: $name,
            code: $code,
            arity: $arity,
            domain: Domain::$domain,
            single: bound($sg, $so as f64),
            double: None,
            reference: $reference,
            precise: none,
        }
    };
}

/// x modulo 2 in [-1, 1], exact.
fn turns(x: f64) -> f64 {
    let r = x % 2.0;
    r - 2.0 * ((r > 1.0) as i32 - (r < -1.0) as i32) as f64
}

fn sinpi(x: f64) -> f64 {
    let r = turns(x);
    let folded = if r.abs() > 0.5 { r.signum() - r } else { r };
    let y = (folded * std::f64::consts::PI).sin();
    if y == 0.0 { 0f64.copysign(x) } else { y }
}

fn cospi(x: f64) -> f64 {
    let y = ((0.5 - turns(x).abs()) * std::f64::consts::PI).sin();
    if y == 0.0 { 0.0 } else { y }
}

fn powr(x: f64, y: f64) -> f64 {
    let undefined = x < 0.0
        || x.is_nan()
        || y.is_nan()
        || y == 0.0 && (x == 0.0 || x.is_infinite())
        || x == 1.0 && y.is_infinite();
    if undefined { f64::NAN } else { x.abs().powf(y) }
}

fn rootn(x: f64, n: f64) -> f64 {
    let odd = n % 2.0 != 0.0;
    if n == 0.0 || x < 0.0 && !odd {
        return f64::NAN;
    }
    let y = x.abs().powf(1.0 / n);
    if odd { y.copysign(x) } else { y }
}

/// The remainder of the division rounded to nearest even, exact.
fn remainder(x: f64, y: f64) -> f64 {
    libm::remquo(x, y).0
}

fn fdim(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > y {
        x - y
    } else {
        0.0
    }
}

fn maxmag(x: f64, y: f64) -> f64 {
    if x.abs() > y.abs() {
        x
    } else if y.abs() > x.abs() {
        y
    } else {
        x.max(y)
    }
}

fn minmag(x: f64, y: f64) -> f64 {
    if x.abs() < y.abs() {
        x
    } else if y.abs() < x.abs() {
        y
    } else {
        x.min(y)
    }
}

fn rint(x: f64) -> f64 {
    x.round_ties_even()
}

fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_infinite() {
        f64::INFINITY
    } else if x.is_nan() {
        x
    } else {
        libm::frexp(x).1 as f64 - 1.0
    }
}

fn fraction(x: f64) -> f64 {
    let largest = 1.0 - f64::from(f32::EPSILON) / 2.0;
    if x.is_infinite() {
        0f64.copysign(x)
    } else if x == 0.0 || x.is_nan() {
        x
    } else {
        (x - x.floor()).min(largest)
    }
}

fn whole_part(x: f64) -> f64 {
    if x.is_infinite() { 0f64.copysign(x) } else { x.fract().copysign(x) }
}

/// Every function of the tables.
pub fn table() -> Vec<Function> {
    vec![
        f!("a / b", "r = a / b;", 2, All, (2, 2.5), (0, -1), |v| v[0] / v[1], |_, v| r::quotient(
            v[0], v[1]
        )),
        f!("1 / a", "r = 1 / a;", 1, All, (1, 2.5), (0, -1), |v| 1.0 / v[0], |_, v| r::quotient(
            1.0, v[0]
        )),
        f!(
            "rsqrt",
            "r = rsqrt(a);",
            1,
            All,
            (2, 2),
            (1, 2),
            |v| if v[0] == 0.0 { (1.0 / v[0]).copysign(v[0]) } else { 1.0 / v[0].sqrt() },
            |c, v| r::rsqrt(c, v[0])
        ),
        f!("sqrt", "r = sqrt(a);", 1, All, (3, 3), (0, -1), |v| v[0].sqrt(), |_, v| r::sqrt(v[0])),
        f!("cbrt", "r = cbrt(a);", 1, All, (1, 2), (1, 2), |v| v[0].cbrt(), |c, v| r::cbrt(
            c, v[0]
        )),
        f!("hypot", "r = hypot(a, b);", 2, All, (3, 4), (2, 4), |v| v[0].hypot(v[1]), |c, v| {
            r::hypot(c, v[0], v[1])
        }),
        f!("exp", "r = exp(a);", 1, All, (2, 3), (1, 3), |v| v[0].exp(), |c, v| r::exp(c, v[0])),
        f!("exp2", "r = exp2(a);", 1, All, (2, 3), (1, 3), |v| v[0].exp2(), |c, v| r::exp_base(
            c, 2, v[0]
        )),
        f!("exp10", "r = exp10(a);", 1, All, (2, 3), (1, 3), |v| libm::exp10(v[0]), |c, v| {
            r::exp_base(c, 10, v[0])
        }),
        f!("expm1", "r = expm1(a);", 1, All, (1, 3), (1, 3), |v| v[0].exp_m1(), |c, v| r::expm1(
            c, v[0]
        )),
        f!("log", "r = log(a);", 1, All, (1, 3), (1, 3), |v| v[0].ln(), |c, v| r::ln(c, v[0])),
        f!("log2", "r = log2(a);", 1, All, (3, 3), (1, 3), |v| v[0].log2(), |c, v| r::log2(
            c, v[0]
        )),
        f!("log10", "r = log10(a);", 1, All, (3, 3), (1, 3), |v| v[0].log10(), |c, v| r::log10(
            c, v[0]
        )),
        f!("log1p", "r = log1p(a);", 1, All, (2, 2), (1, 2), |v| v[0].ln_1p(), |c, v| r::log1p(
            c, v[0]
        )),
        f!("sin", "r = sin(a);", 1, All, (2, 4), (2, 4), |v| v[0].sin(), |c, v| r::sin(c, v[0])),
        f!("cos", "r = cos(a);", 1, All, (2, 4), (2, 4), |v| v[0].cos(), |c, v| r::cos(c, v[0])),
        f!("tan", "r = tan(a);", 1, All, (4, 5), (2, 5), |v| v[0].tan(), |c, v| r::tan(c, v[0])),
        f!(
            "sincos.sin",
            "T t; r = sincos(a, &t);",
            1,
            All,
            (2, 4),
            (2, 4),
            |v| v[0].sin(),
            |c, v| r::sin(c, v[0])
        ),
        f!("sincos.cos", "sincos(a, &r);", 1, All, (2, 4), (2, 4), |v| v[0].cos(), |c, v| r::cos(
            c, v[0]
        )),
        f!("asin", "r = asin(a);", 1, All, (4, 4), (2, 4), |v| v[0].asin(), |c, v| r::asin(
            c, v[0]
        )),
        f!("acos", "r = acos(a);", 1, All, (3, 4), (2, 4), |v| v[0].acos(), |c, v| r::acos(
            c, v[0]
        )),
        f!("atan", "r = atan(a);", 1, All, (2, 5), (2, 5), |v| v[0].atan(), |c, v| r::atan(
            c, v[0]
        )),
        f!("atan2", "r = atan2(a, b);", 2, All, (3, 6), (2, 6), |v| v[0].atan2(v[1]), |c, v| {
            r::atan2(c, v[0], v[1])
        }),
        f!("sinh", "r = sinh(a);", 1, All, (3, 4), (1, 4), |v| v[0].sinh(), |c, v| r::sinh(
            c, v[0]
        )),
        f!("cosh", "r = cosh(a);", 1, All, (2, 4), (1, 4), |v| v[0].cosh(), |c, v| r::cosh(
            c, v[0]
        )),
        f!("tanh", "r = tanh(a);", 1, All, (2, 5), (1, 5), |v| v[0].tanh(), |c, v| r::tanh(
            c, v[0]
        )),
        f!("asinh", "r = asinh(a);", 1, All, (3, 4), (2, 4), |v| libm::asinh(v[0]), |c, v| {
            r::asinh(c, v[0])
        }),
        f!(
            "acosh",
            "r = acosh(a);",
            1,
            All,
            (4, 4),
            (2, 4),
            |v| if v[0] < 1.0 { f64::NAN } else { libm::acosh(v[0]) },
            |c, v| { r::acosh(c, v[0]) }
        ),
        f!("atanh", "r = atanh(a);", 1, All, (3, 5), (2, 5), |v| libm::atanh(v[0]), |c, v| {
            r::atanh(c, v[0])
        }),
        f!("pow", "r = pow(a, b);", 2, All, (8, 16), (2, 16), |v| v[0].powf(v[1]), |c, v| r::pow(
            c, v[0], v[1]
        )),
        f!("powr", "r = powr(a, b);", 2, All, (8, 16), (2, 16), |v| powr(v[0], v[1]), |c, v| {
            r::pow(c, v[0], v[1])
        }),
        f!(
            "pown",
            "r = pown(a, (int)b);",
            2,
            Integer,
            (8, 16),
            (2, 16),
            |v| v[0].powf(v[1]),
            |c, v| r::pow(c, v[0], v[1])
        ),
        f!(
            "rootn",
            "r = rootn(a, (int)b);",
            2,
            Integer,
            (-1, 16),
            (-1, 16),
            |v| rootn(v[0], v[1]),
            |c, v| r::rootn(c, v[0], v[1])
        ),
        f!("erf", "r = erf(a);", 1, All, (3, 16), (2, 16), |v| libm::erf(v[0]), |c, v| r::erf(
            c, v[0]
        )),
        f!("erfc", "r = erfc(a);", 1, All, (8, 16), (7, 16), |v| libm::erfc(v[0]), |c, v| r::erfc(
            c, v[0]
        )),
        f!(
            "lgamma",
            "r = lgamma(a);",
            1,
            OutsideZeros,
            (6, -1),
            (4, -1),
            |v| libm::lgamma(v[0]),
            |c, v| r::lgamma(c, v[0]).0
        ),
        f!(
            "lgamma_r",
            "int s; r = lgamma_r(a, &s);",
            1,
            OutsideZeros,
            (6, -1),
            (4, -1),
            |v| libm::lgamma(v[0]),
            |c, v| r::lgamma(c, v[0]).0
        ),
        f!(
            "tgamma",
            "r = tgamma(a);",
            1,
            All,
            (11, 16),
            (8, 16),
            |v| libm::tgamma(v[0]),
            |c, v| r::tgamma(c, v[0])
        ),
        f!("sinpi", "r = sinpi(a);", 1, All, (-1, 4), (-1, 4), |v| sinpi(v[0]), |c, v| r::sinpi(
            c, v[0]
        )),
        f!("cospi", "r = cospi(a);", 1, All, (-1, 4), (-1, 4), |v| cospi(v[0]), |c, v| r::cospi(
            c, v[0]
        )),
        f!(
            "tanpi",
            "r = tanpi(a);",
            1,
            All,
            (-1, 6),
            (-1, 6),
            |v| sinpi(v[0]) / cospi(v[0]),
            |c, v| r::tanpi(c, v[0])
        ),
        f!(
            "asinpi",
            "r = asinpi(a);",
            1,
            All,
            (-1, 5),
            (-1, 5),
            |v| v[0].asin() / std::f64::consts::PI,
            |c, v| {
                let t = r::asin(c, v[0]);
                r::over_pi(c, t)
            }
        ),
        f!(
            "acospi",
            "r = acospi(a);",
            1,
            All,
            (-1, 5),
            (-1, 5),
            |v| v[0].acos() / std::f64::consts::PI,
            |c, v| {
                let t = r::acos(c, v[0]);
                r::over_pi(c, t)
            }
        ),
        f!(
            "atanpi",
            "r = atanpi(a);",
            1,
            All,
            (-1, 5),
            (-1, 5),
            |v| v[0].atan() / std::f64::consts::PI,
            |c, v| {
                let t = r::atan(c, v[0]);
                r::over_pi(c, t)
            }
        ),
        f!(
            "atan2pi",
            "r = atan2pi(a, b);",
            2,
            All,
            (-1, 6),
            (-1, 6),
            |v| v[0].atan2(v[1]) / std::f64::consts::PI,
            |c, v| {
                let t = r::atan2(c, v[0], v[1]);
                r::over_pi(c, t)
            }
        ),
        f!("fmod", "r = fmod(a, b);", 2, All, (0, 0), (0, 0), |v| v[0] % v[1], |_, v| r::big(
            v[0] % v[1]
        )),
        f!(
            "remainder",
            "r = remainder(a, b);",
            2,
            All,
            (0, 0),
            (0, 0),
            |v| remainder(v[0], v[1]),
            |_, v| r::big(remainder(v[0], v[1]))
        ),
        f!(
            "remquo",
            "int q; r = remquo(a, b, &q);",
            2,
            All,
            (0, 0),
            (0, 0),
            |v| remainder(v[0], v[1]),
            |_, v| r::big(remainder(v[0], v[1]))
        ),
        f!(
            "remquo.q",
            "int q; remquo(a, b, &q); r = (T)(q & 127);",
            2,
            All,
            (0, 0),
            (0, 0),
            |v| quotient_bits(v[0], v[1]),
            |_, v| r::big(quotient_bits(v[0], v[1]))
        ),
        f!("fdim", "r = fdim(a, b);", 2, All, (0, 0), (0, 0), |v| fdim(v[0], v[1]), |_, v| r::big(
            fdim(v[0], v[1])
        )),
        f!("fmax", "r = fmax(a, b);", 2, All, (0, 0), (0, 0), |v| v[0].max(v[1]), |_, v| r::big(
            v[0].max(v[1])
        )),
        f!("fmin", "r = fmin(a, b);", 2, All, (0, 0), (0, 0), |v| v[0].min(v[1]), |_, v| r::big(
            v[0].min(v[1])
        )),
        f!(
            "maxmag",
            "r = maxmag(a, b);",
            2,
            All,
            (0, 0),
            (0, 0),
            |v| maxmag(v[0], v[1]),
            |_, v| r::big(maxmag(v[0], v[1]))
        ),
        f!(
            "minmag",
            "r = minmag(a, b);",
            2,
            All,
            (0, 0),
            (0, 0),
            |v| minmag(v[0], v[1]),
            |_, v| r::big(minmag(v[0], v[1]))
        ),
        f!(
            "copysign",
            "r = copysign(a, b);",
            2,
            All,
            (0, 0),
            (0, 0),
            |v| v[0].copysign(v[1]),
            |_, v| r::big(v[0].copysign(v[1]))
        ),
        f!("floor", "r = floor(a);", 1, All, (0, 0), (0, 0), |v| v[0].floor(), |_, v| r::big(
            v[0].floor()
        )),
        f!("ceil", "r = ceil(a);", 1, All, (0, 0), (0, 0), |v| v[0].ceil(), |_, v| r::big(
            v[0].ceil()
        )),
        f!("trunc", "r = trunc(a);", 1, All, (0, 0), (0, 0), |v| v[0].trunc(), |_, v| r::big(
            v[0].trunc()
        )),
        f!("rint", "r = rint(a);", 1, All, (0, 0), (0, 0), |v| rint(v[0]), |_, v| r::big(rint(
            v[0]
        ))),
        f!("round", "r = round(a);", 1, All, (0, 0), (0, 0), |v| v[0].round(), |_, v| r::big(
            v[0].round()
        )),
        f!("logb", "r = logb(a);", 1, All, (0, 0), (0, 0), |v| logb(v[0]), |_, v| r::big(logb(
            v[0]
        ))),
        f!(
            "fract",
            "T w; r = fract(a, &w);",
            1,
            All,
            (0, 0),
            (0, 0),
            |v| fraction(v[0]),
            |_, v| r::fraction(v[0])
        ),
        f!(
            "fract.whole",
            "fract(a, &r);",
            1,
            All,
            (0, 0),
            (0, 0),
            |v| v[0].floor(),
            |_, v| r::big(v[0].floor())
        ),
        f!(
            "modf",
            "T w; r = modf(a, &w);",
            1,
            All,
            (0, 0),
            (0, 0),
            |v| whole_part(v[0]),
            |_, v| r::big(whole_part(v[0]))
        ),
        f!("modf.whole", "modf(a, &r);", 1, All, (0, 0), (0, 0), |v| v[0].trunc(), |_, v| r::big(
            v[0].trunc()
        )),
        f!(
            "frexp",
            "int e; r = frexp(a, &e);",
            1,
            All,
            (0, 0),
            (0, 0),
            |v| libm::frexp(v[0]).0,
            |_, v| r::big(libm::frexp(v[0]).0)
        ),
        f!(
            "ldexp",
            "r = ldexp(a, (int)b);",
            2,
            Integer,
            (0, -1),
            (0, -1),
            |v| libm::ldexp(v[0], v[1] as i32),
            |_, v| r::scaled(v[0], v[1] as i32)
        ),
        f!(
            "fma",
            "r = fma(a, b, c);",
            3,
            All,
            (0, -1),
            (0, -1),
            |v| v[0].mul_add(v[1], v[2]),
            |_, v| r::fma(v[0], v[1], v[2])
        ),
        f!("half_sin", "r = half_sin(a);", 1, Half, (-1, 8192), |v| v[0].sin()),
        f!("half_cos", "r = half_cos(a);", 1, Half, (-1, 8192), |v| v[0].cos()),
        f!("half_tan", "r = half_tan(a);", 1, Half, (-1, 8192), |v| v[0].tan()),
        f!("half_exp", "r = half_exp(a);", 1, All, (-1, 8192), |v| v[0].exp()),
        f!("half_exp2", "r = half_exp2(a);", 1, All, (-1, 8192), |v| v[0].exp2()),
        f!("half_exp10", "r = half_exp10(a);", 1, All, (-1, 8192), |v| libm::exp10(v[0])),
        f!("half_log", "r = half_log(a);", 1, All, (-1, 8192), |v| v[0].ln()),
        f!("half_log2", "r = half_log2(a);", 1, All, (-1, 8192), |v| v[0].log2()),
        f!("half_log10", "r = half_log10(a);", 1, All, (-1, 8192), |v| v[0].log10()),
        f!("half_powr", "r = half_powr(a, b);", 2, All, (-1, 8192), |v| powr(v[0], v[1])),
        f!("half_recip", "r = half_recip(a);", 1, All, (-1, 8192), |v| 1.0 / v[0]),
        f!("half_divide", "r = half_divide(a, b);", 2, All, (-1, 8192), |v| v[0] / v[1]),
        f!("half_sqrt", "r = half_sqrt(a);", 1, All, (-1, 8192), |v| v[0].sqrt()),
        f!("half_rsqrt", "r = half_rsqrt(a);", 1, All, (-1, 8192), |v| if v[0] == 0.0 {
            (1.0 / v[0]).copysign(v[0])
        } else {
            1.0 / v[0].sqrt()
        }),
    ]
}

/// The low seven bits of the quotient that `remainder` subtracts, as a two's complement number.
fn quotient_bits(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return 0.0;
    }
    if y.is_infinite() {
        return 0.0;
    }
    // |x| - |r| = q |y| with an exact quotient; modulo 128 y it is exact in the remainder of x by 128 y.
    let (a, b) = (x.abs(), y.abs());
    let r = remainder(a, b);
    let q = if b < f64::MAX / 256.0 {
        let m = a % (128.0 * b);
        ((m - r) / b).round()
    } else {
        ((a - r) / b).round()
    };
    let bits = q as i64 & 127;
    let signed = if (x < 0.0) != (y < 0.0) { -bits } else { bits };
    (signed & 127) as f64
}
