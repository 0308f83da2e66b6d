//! The functions, their bounds and their references.
//!
//! Bounds: appendix B of NVIDIA's OpenCL programming guide counts ulps from the correctly rounded result;
//! OpenCL C 1.2 (7.4) counts them from the exact one. Both are checked where both exist.

use std::f64::consts::PI;

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
    /// Squares neither overflow nor vanish.
    Moderate,
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
    /// Largest absolute error for some arguments and their exact result, where it is no fixed number of ulps.
    pub allowance: Option<fn(&[f64], f64) -> f64>,
    pub reference: fn(&[f64]) -> f64,
    pub precise: fn(&mut Context, &[f64]) -> Big,
}

const fn bound(guide: i32, opencl: f64) -> Bound {
    Bound {
        guide: if guide < 0 { None } else { Some(guide as u32) },
        opencl: if opencl < 0.0 { None } else { Some(opencl) },
    }
}

/// The last place of a single-precision number.
fn ulp(x: f64) -> f64 {
    f64::exp2(f64::from((libm::frexp(x).1 - 24).max(-149)))
}

fn none(_: &mut Context, _: &[f64]) -> Big {
    Big::nan(None)
}

/// A row of the table.
macro_rules! row {
    ($name:expr, $code:expr, $arity:literal, $domain:ident, $single:tt, $double:expr, $reference:expr, $precise:expr) => {
        Function {
            name: $name,
            code: $code,
            arity: $arity,
            domain: Domain::$domain,
            single: bound!($single),
            double: $double,
            allowance: None,
            reference: $reference,
            precise: $precise,
        }
    };
}

macro_rules! bound {
    (($guide:expr, $opencl:expr)) => {
        bound($guide, $opencl as f64)
    };
}

/// Functions of one or two arguments, `name(a)` or `name(a, b)`, with both bounds for both types and references
/// in double precision and in 128 bits.
macro_rules! one {
    ($name:literal, $single:tt, $double:tt, $reference:path, $precise:path) => {
        one!($name, concat!("r = ", $name, "(a);"), $single, $double, $reference, $precise)
    };
    ($name:literal, $code:expr, $single:tt, $double:tt, $reference:path, $precise:path) => {
        one!($name, $code, All, $single, $double, $reference, $precise)
    };
    ($name:literal, $code:expr, $domain:ident, $single:tt, $double:tt, $reference:path, $precise:path) => {
        row!(
            $name,
            $code,
            1,
            $domain,
            $single,
            Some(bound!($double)),
            |v| $reference(v[0]),
            |c, v| $precise(c, v[0])
        )
    };
}

macro_rules! two {
    ($name:literal, $single:tt, $double:tt, $reference:path, $precise:path) => {
        two!($name, concat!("r = ", $name, "(a, b);"), All, $single, $double, $reference, $precise)
    };
    ($name:literal, $code:expr, $domain:ident, $single:tt, $double:tt, $reference:path, $precise:path) => {
        row!(
            $name,
            $code,
            2,
            $domain,
            $single,
            Some(bound!($double)),
            |v| $reference(v[0], v[1]),
            |c, v| $precise(c, v[0], v[1])
        )
    };
}

/// Functions whose results are exact.
macro_rules! exact {
    (1, $name:literal, $reference:path) => {
        exact!(1, $name, concat!("r = ", $name, "(a);"), $reference)
    };
    (2, $name:literal, $reference:path) => {
        exact!(2, $name, concat!("r = ", $name, "(a, b);"), $reference)
    };
    (1, $name:literal, $code:expr, $reference:path) => {
        row!($name, $code, 1, All, (0, 0), Some(bound!((0, 0))), |v| $reference(v[0]), |_, v| {
            r::big($reference(v[0]))
        })
    };
    (2, $name:literal, $code:expr, $reference:path) => {
        row!(
            $name,
            $code,
            2,
            All,
            (0, 0),
            Some(bound!((0, 0))),
            |v| $reference(v[0], v[1]),
            |_, v| r::big($reference(v[0], v[1]))
        )
    };
}

/// `half_` functions: 8192 ulp.
macro_rules! half {
    (1, $name:literal, $domain:ident, $reference:path) => {
        row!(
            $name,
            concat!("r = ", $name, "(a);"),
            1,
            $domain,
            (-1, 8192),
            None,
            |v| $reference(v[0]),
            none
        )
    };
    (2, $name:literal, $domain:ident, $reference:path) => {
        row!(
            $name,
            concat!("r = ", $name, "(a, b);"),
            2,
            $domain,
            (-1, 8192),
            None,
            |v| $reference(v[0], v[1]),
            none
        )
    };
}

/// `native_` functions, with what table C-3 of the guide allows.
macro_rules! native {
    (1, $name:literal, $reference:path, $allowance:expr) => {
        Function {
            allowance: Some($allowance),
            ..row!(
                $name,
                concat!("r = ", $name, "(a);"),
                1,
                All,
                (-1, -1),
                None,
                |v| $reference(v[0]),
                none
            )
        }
    };
    (2, $name:literal, $reference:path, $allowance:expr) => {
        Function {
            allowance: Some($allowance),
            ..row!(
                $name,
                concat!("r = ", $name, "(a, b);"),
                2,
                All,
                (-1, -1),
                None,
                |v| $reference(v[0], v[1]),
                none
            )
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
    let y = (folded * PI).sin();
    if y == 0.0 { 0f64.copysign(x) } else { y }
}

fn cospi(x: f64) -> f64 {
    let y = ((0.5 - turns(x).abs()) * PI).sin();
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

fn quotient(x: f64, y: f64) -> f64 {
    x / y
}

fn recip(x: f64) -> f64 {
    1.0 / x
}

fn rsqrt(x: f64) -> f64 {
    if x == 0.0 { (1.0 / x).copysign(x) } else { 1.0 / x.sqrt() }
}

fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

fn tanpi(x: f64) -> f64 {
    sinpi(x) / cospi(x)
}

fn asinpi(x: f64) -> f64 {
    x.asin() / PI
}

fn acospi(x: f64) -> f64 {
    x.acos() / PI
}

fn atanpi(x: f64) -> f64 {
    x.atan() / PI
}

fn atan2pi(y: f64, x: f64) -> f64 {
    y.atan2(x) / PI
}

fn frexp(x: f64) -> f64 {
    libm::frexp(x).0
}

fn ilogb(x: f64) -> f64 {
    if x == 0.0 {
        f64::from(i32::MIN)
    } else if x.is_finite() {
        logb(x)
    } else {
        f64::from(i32::MAX)
    }
}

fn sign(x: f64) -> f64 {
    if x.is_nan() {
        0.0
    } else if x == 0.0 {
        x
    } else {
        x.signum()
    }
}

fn step(edge: f64, x: f64) -> f64 {
    if x < edge { 0.0 } else { 1.0 }
}

/// Every function of the tables.
pub fn table() -> Vec<Function> {
    let mut all = rounded();
    all.extend(exact());
    all.extend(half());
    all.extend(native());
    all
}

/// Functions with bounds in ulp.
fn rounded() -> Vec<Function> {
    vec![
        row!(
            "a / b",
            "r = a / b;",
            2,
            All,
            (2, 2.5),
            Some(bound!((0, -1))),
            |v| v[0] / v[1],
            |_, v| { r::quotient(v[0], v[1]) }
        ),
        row!(
            "1 / a",
            "r = 1 / a;",
            1,
            All,
            (1, 2.5),
            Some(bound!((0, -1))),
            |v| 1.0 / v[0],
            |_, v| { r::quotient(1.0, v[0]) }
        ),
        one!("rsqrt", (2, 2), (1, 2), rsqrt, r::rsqrt),
        one!("sqrt", (3, 3), (0, -1), f64::sqrt, r::sqrt),
        one!("cbrt", (1, 2), (1, 2), f64::cbrt, r::cbrt),
        two!("hypot", (3, 4), (2, 4), f64::hypot, r::hypot),
        one!("exp", (2, 3), (1, 3), f64::exp, r::exp),
        one!("exp2", (2, 3), (1, 3), f64::exp2, r::exp2),
        one!("exp10", (2, 3), (1, 3), libm::exp10, r::exp10),
        one!("expm1", (1, 3), (1, 3), f64::exp_m1, r::expm1),
        one!("log", (1, 3), (1, 3), f64::ln, r::ln),
        one!("log2", (3, 3), (1, 3), f64::log2, r::log2),
        one!("log10", (3, 3), (1, 3), f64::log10, r::log10),
        one!("log1p", (2, 2), (1, 2), f64::ln_1p, r::log1p),
        one!("sin", (2, 4), (2, 4), f64::sin, r::sin),
        one!("cos", (2, 4), (2, 4), f64::cos, r::cos),
        one!("tan", (4, 5), (2, 5), f64::tan, r::tan),
        one!("sincos.sin", "T t; r = sincos(a, &t);", (2, 4), (2, 4), f64::sin, r::sin),
        one!("sincos.cos", "sincos(a, &r);", (2, 4), (2, 4), f64::cos, r::cos),
        one!("asin", (4, 4), (2, 4), f64::asin, r::asin),
        one!("acos", (3, 4), (2, 4), f64::acos, r::acos),
        one!("atan", (2, 5), (2, 5), f64::atan, r::atan),
        two!("atan2", (3, 6), (2, 6), f64::atan2, r::atan2),
        one!("sinh", (3, 4), (1, 4), f64::sinh, r::sinh),
        one!("cosh", (2, 4), (1, 4), f64::cosh, r::cosh),
        one!("tanh", (2, 5), (1, 5), f64::tanh, r::tanh),
        one!("asinh", (3, 4), (2, 4), libm::asinh, r::asinh),
        one!("acosh", (4, 4), (2, 4), acosh, r::acosh),
        one!("atanh", (3, 5), (2, 5), libm::atanh, r::atanh),
        two!("pow", (8, 16), (2, 16), f64::powf, r::pow),
        two!("powr", (8, 16), (2, 16), powr, r::pow),
        two!("pown", "r = pown(a, (int)b);", Integer, (8, 16), (2, 16), f64::powf, r::pow),
        two!("rootn", "r = rootn(a, (int)b);", Integer, (-1, 16), (-1, 16), rootn, r::rootn),
        one!("erf", (3, 16), (2, 16), libm::erf, r::erf),
        one!("erfc", (8, 16), (7, 16), libm::erfc, r::erfc),
        one!(
            "lgamma",
            "r = lgamma(a);",
            OutsideZeros,
            (6, -1),
            (4, -1),
            libm::lgamma,
            r::log_gamma
        ),
        one!(
            "lgamma_r",
            "int s; r = lgamma_r(a, &s);",
            OutsideZeros,
            (6, -1),
            (4, -1),
            libm::lgamma,
            r::log_gamma
        ),
        one!("tgamma", (11, 16), (8, 16), libm::tgamma, r::tgamma),
        one!("sinpi", (-1, 4), (-1, 4), sinpi, r::sinpi),
        one!("cospi", (-1, 4), (-1, 4), cospi, r::cospi),
        one!("tanpi", (-1, 6), (-1, 6), tanpi, r::tanpi),
        one!("asinpi", (-1, 5), (-1, 5), asinpi, r::asinpi),
        one!("acospi", (-1, 5), (-1, 5), acospi, r::acospi),
        one!("atanpi", (-1, 5), (-1, 5), atanpi, r::atanpi),
        two!("atan2pi", (-1, 6), (-1, 6), atan2pi, r::atan2pi),
        // OpenCL 1.2 gives these no bound; later versions do.
        one!("degrees", (-1, 2), (-1, 2), f64::to_degrees, r::degrees),
        one!("radians", (-1, 2), (-1, 2), f64::to_radians, r::radians),
        two!("length", "r = length((T2)(a, b));", All, (-1, -1), (-1, -1), f64::hypot, r::hypot),
    ]
}

/// Functions whose results are exact.
fn exact() -> Vec<Function> {
    vec![
        exact!(2, "fmod", std::ops::Rem::rem),
        exact!(2, "remainder", remainder),
        exact!(2, "remquo", "int q; r = remquo(a, b, &q);", remainder),
        exact!(2, "remquo.q", "int q; remquo(a, b, &q); r = (T)(q & 127);", quotient_bits),
        exact!(2, "fdim", fdim),
        exact!(2, "fmax", f64::max),
        exact!(2, "fmin", f64::min),
        exact!(2, "maxmag", maxmag),
        exact!(2, "minmag", minmag),
        exact!(2, "copysign", f64::copysign),
        exact!(2, "nextafter", libm::nextafter),
        exact!(2, "step", step),
        exact!(1, "sign", sign),
        exact!(1, "fabs", f64::abs),
        exact!(1, "floor", f64::floor),
        exact!(1, "ceil", f64::ceil),
        exact!(1, "trunc", f64::trunc),
        exact!(1, "rint", f64::round_ties_even),
        exact!(1, "round", f64::round),
        exact!(1, "logb", logb),
        exact!(1, "ilogb", "r = (T)ilogb(a);", ilogb),
        row!(
            "fract",
            "T w; r = fract(a, &w);",
            1,
            All,
            (0, 0),
            Some(bound!((0, 0))),
            |v| fraction(v[0]),
            |_, v| r::fraction(v[0])
        ),
        exact!(1, "fract.whole", "fract(a, &r);", f64::floor),
        exact!(1, "modf", "T w; r = modf(a, &w);", whole_part),
        exact!(1, "modf.whole", "modf(a, &r);", f64::trunc),
        exact!(1, "frexp", "int e; r = frexp(a, &e);", frexp),
        row!(
            "ldexp",
            "r = ldexp(a, (int)b);",
            2,
            Integer,
            (0, -1),
            Some(bound!((0, -1))),
            |v| libm::ldexp(v[0], v[1] as i32),
            |_, v| r::scaled(v[0], v[1] as i32)
        ),
        row!(
            "fma",
            "r = fma(a, b, c);",
            3,
            All,
            (0, -1),
            Some(bound!((0, -1))),
            |v| v[0].mul_add(v[1], v[2]),
            |_, v| r::fma(v[0], v[1], v[2])
        ),
    ]
}

fn half() -> Vec<Function> {
    vec![
        half!(1, "half_sin", Half, f64::sin),
        half!(1, "half_cos", Half, f64::cos),
        half!(1, "half_tan", Half, f64::tan),
        half!(1, "half_exp", All, f64::exp),
        half!(1, "half_exp2", All, f64::exp2),
        half!(1, "half_exp10", All, libm::exp10),
        half!(1, "half_log", All, f64::ln),
        half!(1, "half_log2", All, f64::log2),
        half!(1, "half_log10", All, f64::log10),
        half!(2, "half_powr", All, powr),
        half!(1, "half_recip", All, recip),
        half!(2, "half_divide", All, quotient),
        half!(1, "half_sqrt", All, f64::sqrt),
        half!(1, "half_rsqrt", All, rsqrt),
        row!(
            "fast_length",
            "r = fast_length((T2)(a, b));",
            2,
            Moderate,
            (-1, 8192),
            None,
            |v| v[0].hypot(v[1]),
            none
        ),
    ]
}

/// The native functions: OpenCL leaves their accuracy open, the guide's table C-3 does not. It calls `native_recip`
/// and `native_sqrt` correctly rounded, against its own text (A.2); they are taken as approximations of 1 and 3 ulp.
fn native() -> Vec<Function> {
    const ANY: f64 = f64::INFINITY;
    // Of the logarithms: absolute around 1, else in ulp.
    fn logarithm(x: f64, exact: f64, absolute: f64, ulps: f64) -> f64 {
        if (0.5..=2.0).contains(&x) { absolute.exp2() } else { ulps * ulp(exact) }
    }
    // Where neither operand nor result is subnormal: the approximations flush.
    fn normal(x: f64) -> bool {
        x.abs() >= f64::from(f32::MIN_POSITIVE) && x.abs() <= f64::from(f32::MAX)
    }
    vec![
        native!(1, "native_recip", recip, |v, y| if normal(v[0]) && normal(y) {
            ulp(y)
        } else {
            ANY
        }),
        native!(1, "native_sqrt", f64::sqrt, |v, y| if normal(v[0]) { 3.0 * ulp(y) } else { ANY }),
        native!(1, "native_rsqrt", rsqrt, |v, y| if normal(v[0]) { 2.0 * ulp(y) } else { ANY }),
        native!(2, "native_divide", quotient, |v, y| {
            let given = (f64::exp2(-126.0)..=f64::exp2(126.0)).contains(&v[1].abs());
            if given && normal(v[0]) && normal(y) { 2.0 * ulp(y) } else { ANY }
        }),
        native!(1, "native_exp", f64::exp, |v, y| (2.0 + (1.16 * v[0]).abs().floor()) * ulp(y)),
        native!(1, "native_exp2", f64::exp2, |v, y| (2.0 + v[0].abs().floor()) * ulp(y)),
        native!(1, "native_exp10", libm::exp10, |v, y| (2.0 + (2.95 * v[0]).abs().floor())
            * ulp(y)),
        native!(1, "native_log", f64::ln, |v, y| logarithm(v[0], y, -21.41, 3.0)),
        native!(1, "native_log2", f64::log2, |v, y| logarithm(v[0], y, -22.0, 2.0)),
        native!(1, "native_log10", f64::log10, |v, y| logarithm(v[0], y, -24.0, 3.0)),
        native!(1, "native_sin", f64::sin, |v, _| if v[0].abs() <= PI {
            f64::exp2(-21.41)
        } else {
            ANY
        }),
        native!(1, "native_cos", f64::cos, |v, _| if v[0].abs() <= PI {
            f64::exp2(-21.19)
        } else {
            ANY
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
