//! `.f64` arithmetic (PTX ISA 9.7.3, "Floating Point Instructions").

use super::Rnd;
use super::soft::{F64, Value};

/// The NaN of an invalid operation; a NaN operand is passed on instead.
pub const NAN: u64 = 0xfff8_0000_0000_0000;
const SIGN: u64 = 1 << 63;
const ABS: u64 = SIGN - 1;
const INF: u64 = 0x7ff0_0000_0000_0000;
const QUIET: u64 = 1 << 51;

#[inline(always)]
fn f(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn v(bits: u64) -> Value {
    Value::unpack(F64, bits)
}

/// Whether the bits are a NaN.
#[inline(always)]
#[must_use]
pub fn is_nan(a: u64) -> bool {
    a & ABS > INF
}

/// NaN result of an operation whose operands, in order of precedence, are `first`, `second`.
#[inline(always)]
fn nan2(first: u64, second: u64) -> u64 {
    let n = if is_nan(second) { second | QUIET } else { NAN };
    if is_nan(first) { first | QUIET } else { n }
}

#[inline(always)]
fn nan3(first: u64, second: u64, third: u64) -> u64 {
    let n = nan2(second, third);
    if is_nan(first) { first | QUIET } else { n }
}

#[inline(always)]
fn canonical(r: f64, nan: u64) -> u64 {
    if r.is_nan() { nan } else { r.to_bits() }
}

/// `add{.rnd}.f64`.
#[inline(always)]
#[must_use]
pub fn add(rnd: Rnd, a: u64, b: u64) -> u64 {
    let nan = nan2(b, a);
    if rnd == Rnd::Rn {
        canonical(f(a) + f(b), nan)
    } else {
        v(a).plus(v(b), rnd).pack(F64, rnd, nan)
    }
}

/// `sub{.rnd}.f64`.
#[inline(always)]
#[must_use]
pub fn sub(rnd: Rnd, a: u64, b: u64) -> u64 {
    let nan = nan2(b, a);
    if rnd == Rnd::Rn {
        canonical(f(a) - f(b), nan)
    } else {
        v(a).plus(v(b).negate(), rnd).pack(F64, rnd, nan)
    }
}

/// `mul{.rnd}.f64`.
#[inline(always)]
#[must_use]
pub fn mul(rnd: Rnd, a: u64, b: u64) -> u64 {
    let nan = nan2(b, a);
    if rnd == Rnd::Rn { canonical(f(a) * f(b), nan) } else { v(a).times(v(b)).pack(F64, rnd, nan) }
}

/// `fma.rnd.f64`, and `mad` from `sm_13` on.
#[inline(always)]
#[must_use]
pub fn fma<const HW: bool>(rnd: Rnd, a: u64, b: u64, c: u64) -> u64 {
    let nan = nan3(b, c, a);
    if HW && rnd == Rnd::Rn {
        canonical(f(a).mul_add(f(b), f(c)), nan)
    } else {
        v(a).times(v(b)).plus(v(c), rnd).pack(F64, rnd, nan)
    }
}

/// `div.rnd.f64`.
#[inline(always)]
#[must_use]
pub fn div(rnd: Rnd, a: u64, b: u64) -> u64 {
    let nan = nan2(a, b);
    if rnd == Rnd::Rn { canonical(f(a) / f(b), nan) } else { v(a).over(v(b)).pack(F64, rnd, nan) }
}

/// `rcp.rnd.f64`.
#[inline(always)]
#[must_use]
pub fn rcp(rnd: Rnd, a: u64) -> u64 {
    div(rnd, 1f64.to_bits(), a)
}

/// `sqrt.rnd.f64`.
#[inline(always)]
#[must_use]
pub fn sqrt(rnd: Rnd, a: u64) -> u64 {
    let nan = nan2(a, a);
    if rnd == Rnd::Rn { canonical(f(a).sqrt(), nan) } else { v(a).sqrt().pack(F64, rnd, nan) }
}

/// `abs.f64`; a NaN is quieted and keeps its sign.
#[inline(always)]
#[must_use]
pub fn abs(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a & ABS }
}

/// `neg.f64`; a NaN is quieted and keeps its sign.
#[inline(always)]
#[must_use]
pub fn neg(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a ^ SIGN }
}

/// `atom.add.f64`, `red.add.f64`: memory `a` plus operand `b`.
///
/// In global memory a NaN operand is stored as it is, signalling or not, else a NaN in memory
/// stays; in shared memory the sum is an ordinary one in which the memory's NaN wins.
#[inline(always)]
#[must_use]
pub fn atomic_add(shared: bool, a: u64, b: u64) -> u64 {
    if shared {
        add(Rnd::Rn, b, a)
    } else {
        let sum = canonical(f(a) + f(b), NAN);
        let sum = if is_nan(a) { a } else { sum };
        if is_nan(b) { b } else { sum }
    }
}

/// `copysign.f64 d, a, b`: the magnitude of `b` with the sign of `a`.
#[inline(always)]
#[must_use]
pub fn copysign(a: u64, b: u64) -> u64 {
    (a & SIGN) | (b & ABS)
}

#[inline(always)]
fn key(a: u64) -> i64 {
    a as i64 ^ ((a as i64 >> 63) & i64::MAX)
}

/// `min.f64` (`max.f64` when `max`): one NaN loses against a number, of two the second is quieted.
#[inline(always)]
#[must_use]
pub fn min_max(max: bool, a: u64, b: u64) -> u64 {
    let r = if (key(a) < key(b)) != max { a } else { b };
    let (an, bn) = (is_nan(a), is_nan(b));
    let r = if bn { a } else { r };
    let r = if an { b } else { r };
    if an && bn { b | QUIET } else { r }
}
