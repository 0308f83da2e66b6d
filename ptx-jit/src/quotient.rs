//! Quotients and remainders of 32-bit integers: by numbers of 64 bits, which processors divide in vectors.
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

impl Emit<'_, '_> {
    /// `a / b` or the remainder, as `op` says; `divisor`: `b`, if it is known now.
    pub(crate) fn divided(&mut self, op: Op, a: Value, b: Value, divisor: Option<u64>) -> Value {
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
        if divisor.is_some_and(|d| d as u32 != 0) {
            return r;
        }
        let (zero, ones) = (self.w(0), self.w(u32::MAX));
        let none = self.cmp_w(IntCC::Equal, b, zero);
        self.sel(none, ones, r)
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
