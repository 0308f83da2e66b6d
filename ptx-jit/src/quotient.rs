//! Quotients and remainders of 32-bit integers: by numbers of 64 bits, which processors divide in vectors.
//!
//! By a divisor that is known while compiling: by the upper half of a product with its inverse, as compilers do.
//!
//! Integers of 32 bits are such numbers exactly. Their quotient, if it is no integer, is at least one part in 2^32 away
//! from the next one, and rounding moves it by one part in 2^53: so cutting what is rounded is cutting the quotient.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Opcode, Value, ValueDef};
use ptx_isa::uop::Op;

use crate::ops::{Emit, Halves};

/// The bits of 2^52: numbers in whose low bits integers without a sign lie.
const UNSIGNED: u64 = 0x4330_0000_0000_0000;
/// The bits of 2^52 + 2^51: numbers in whose low bits integers with a sign lie.
const SIGNED: u64 = 0x4338_0000_0000_0000;
/// The bits of 1 + 2^-49.
const ABOVE_ONE: u64 = 0x3ff0_0000_0000_0008;

/// A factor and a shift: the upper half of a product with that, moved right, is the quotient of any number of so many
/// bits by `d`, if 32 bits hold the factor.
///
/// The factor is `(2^p + e) / d`, so that the product is too large by `x e / (d 2^p)`, which is below the `1 / d` that
/// the quotient may be too large by where `e` is at most `2^(p - bits)`.
fn unsigned_inverse(d: u32, bits: u32) -> Option<(u32, u32)> {
    (32..64).find_map(|p| {
        let (all, d) = (1u128 << p, u128::from(d));
        let factor = all.div_ceil(d);
        let fits = factor * d - all <= 1 << (p - bits);
        fits.then(|| u32::try_from(factor).ok()).flatten().map(|factor| (factor, p - 32))
    })
}

/// The same for numbers with a sign, of 31 bits without it; quotients of those below 0 are one too small.
fn signed_inverse(d: u32) -> (u32, u32) {
    let found = (32..63).find_map(|p| {
        let (all, d) = (1u64 << p, u64::from(d));
        let factor = all / d + 1;
        (factor * d - all <= 1 << (p - 31)).then_some((factor as u32, p - 32))
    });
    found.expect("a power of two from 2^31 d on is close enough")
}

impl Emit<'_, '_> {
    /// `a / b` or the remainder, as `op` says; `divisor`: `b`, if it is known now.
    pub(crate) fn divided(&mut self, op: Op, a: Value, b: Value, divisor: Option<u64>) -> Value {
        if let Some(d) = divisor.map(|d| d as u32).filter(|d| *d != 0) {
            return self.divided_by(op, a, b, d);
        }
        let signed = matches!(op, Op::DivSW | Op::RemSW);
        let x = self.number_of(a, signed);
        let inverse = self.inverse(b, signed);
        let y = match inverse {
            Some(inverse) => [inverse; 2],
            None => self.number_of(b, signed),
        };
        let whole = self.d(SIGNED);
        let q = self.both(x, y, |e, x, y| {
            let (x, y, whole) = (e.as_f64(x), e.as_f64(y), e.as_f64(whole));
            let q = if inverse.is_some() { e.b.ins().fmul(x, y) } else { e.b.ins().fdiv(x, y) };
            let q = e.b.ins().trunc(q);
            let q = e.b.ins().fadd(q, whole);
            e.bits(q)
        });
        // -2^31 / -1 wraps, as its low bits say.
        let mut r = self.words_of(q, false);
        if matches!(op, Op::RemUW | Op::RemSW) {
            let m = self.b.ins().imul(r, b);
            r = self.b.ins().isub(a, m);
        }
        let (zero, ones) = (self.w(0), self.w(u32::MAX));
        let none = self.cmp_w(IntCC::Equal, b, zero);
        self.sel(none, ones, r)
    }

    /// The same by a divisor `d` that is not 0; `b`: the divisor in all lanes.
    fn divided_by(&mut self, op: Op, a: Value, b: Value, d: u32) -> Value {
        let q = match op {
            Op::RemUW if d.is_power_of_two() => {
                let low = self.w(d - 1);
                return self.and(a, low);
            }
            Op::DivUW | Op::RemUW => self.unsigned_quotient(a, d),
            _ => {
                let q = self.signed_quotient(a, d.cast_signed().unsigned_abs());
                if d.cast_signed() < 0 { self.b.ins().ineg(q) } else { q }
            }
        };
        if matches!(op, Op::DivUW | Op::DivSW) {
            return q;
        }
        let whole = self.product(q, b, &[None, Some(d.into())]);
        self.b.ins().isub(a, whole)
    }

    fn unsigned_quotient(&mut self, x: Value, d: u32) -> Value {
        let even = d.trailing_zeros();
        if d.is_power_of_two() {
            return self.shr(x, even);
        }
        if let Some((factor, shift)) = unsigned_inverse(d, 32) {
            let q = self.upper(Op::MulHiUW, x, factor);
            return self.shr(q, shift);
        }
        // Numbers of fewer bits need a factor of fewer.
        if let Some((factor, shift)) = unsigned_inverse(d >> even, 32 - even) {
            let x = self.shr(x, even);
            let q = self.upper(Op::MulHiUW, x, factor);
            return self.shr(q, shift);
        }
        // A factor of 33 bits, without its highest one: `x` is added, and nothing may wrap.
        let bits = 32 - d.leading_zeros();
        let factor = (((1u64 << bits) - u64::from(d) << 32) / u64::from(d) + 1) as u32;
        let t = self.upper(Op::MulHiUW, x, factor);
        let rest = self.b.ins().isub(x, t);
        let rest = self.shr(rest, 1);
        let q = self.b.ins().iadd(rest, t);
        self.shr(q, bits - 1)
    }

    /// A quotient of a number with a sign by a positive one.
    fn signed_quotient(&mut self, x: Value, d: u32) -> Value {
        if d == 1 {
            return x;
        }
        let sign = self.sar(x, 31);
        if d.is_power_of_two() {
            // What is cut is cut towards 0.
            let n = d.trailing_zeros();
            let most = self.shr(sign, 32 - n);
            let q = self.b.ins().iadd(x, most);
            return self.sar(q, n);
        }
        let (factor, shift) = signed_inverse(d);
        let mut q = self.upper(Op::MulHiSW, x, factor);
        if factor.cast_signed() < 0 {
            // The factor is 2^32 more.
            q = self.b.ins().iadd(q, x);
        }
        let q = self.sar(q, shift);
        self.b.ins().isub(q, sign)
    }

    /// The upper 32 bits of `x * factor`.
    fn upper(&mut self, op: Op, x: Value, factor: u32) -> Value {
        let y = self.w(factor);
        let consts = [None, Some(factor.into())];
        let r = self.pure(op, 0, &[[x, x], [y, y]], &consts);
        r.expect("products have code")[0]
    }

    /// `1 / b`, one part in 2^49 too large, if all lanes have the same `b`: one division in place of as many as there
    /// are lanes. Products by it are too large by about that, and never too small, so that quotients without a rest
    /// stay whole, and others below the next integer.
    fn inverse(&mut self, b: Value, signed: bool) -> Option<Value> {
        if !self.vector {
            return None;
        }
        let ValueDef::Result(inst, _) = self.b.func.dfg.value_def(b) else { return None };
        if self.b.func.dfg.insts[inst].opcode() != Opcode::Splat {
            return None;
        }
        let scalar = self.b.func.dfg.inst_args(inst)[0];
        let mut e = Emit { b: &mut *self.b, vector: false, form: self.form };
        let [y, _] = e.number_of(scalar, signed);
        let (y, unit) = (e.as_f64(y), e.d(ABOVE_ONE));
        let unit = e.as_f64(unit);
        let r = e.b.ins().fdiv(unit, y);
        let r = e.bits(r);
        Some(self.b.ins().splat(self.form.d(), r))
    }

    /// The bits of an integer as a number of 64 bits.
    pub(crate) fn number_of(&mut self, w: Value, signed: bool) -> Halves {
        if signed {
            return self.doubles_of_ints(w);
        }
        let (d, whole) = (self.zext(w), self.d(UNSIGNED));
        self.both(d, d, |e, x, _| {
            let x = e.b.ins().bor(x, whole);
            let (x, whole) = (e.as_f64(x), e.as_f64(whole));
            let x = e.b.ins().fsub(x, whole);
            e.bits(x)
        })
    }
}
