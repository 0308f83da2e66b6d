//! Pure micro-ops that take several instructions on bit patterns.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::ops::Emit;

impl Emit<'_, '_> {
    /// The lower 32 bits of `a * b`. A product of vectors takes as long as five or ten of their sums: where a factor is
    /// a power of two, or beside one, it is a shift and a sum.
    pub(crate) fn product(&mut self, a: Value, b: Value, consts: &[Option<u64>]) -> Value {
        let (x, factor) = match consts {
            [Some(c), None, ..] => (b, *c as u32),
            [None, Some(c), ..] => (a, *c as u32),
            _ => return self.b.ins().imul(a, b),
        };
        let power =
            |c: u32| Some(c.trailing_zeros()).filter(|_| self.vector && c.is_power_of_two());
        if let Some(n) = power(factor) {
            self.shl(x, n)
        } else if let Some(n) = power(factor.wrapping_sub(1)) {
            let y = self.shl(x, n);
            self.b.ins().iadd(y, x)
        } else if let Some(n) = power(factor.wrapping_add(1)) {
            let y = self.shl(x, n);
            self.b.ins().isub(y, x)
        } else {
            self.b.ins().imul(a, b)
        }
    }

    /// Bitwise function of three operands by its truth table.
    pub(crate) fn lop3(&mut self, table: u8, a: Value, b: Value, c: Value) -> Value {
        // Bit `4a + 2b + c` of the table; with `c` fixed, a function of two.
        let part = |c: u8| (0..4).fold(0, |t, n| t | (table >> (2 * n + c) & 1) << n);
        let (zero, one) = (part(0), part(1));
        if zero == one {
            return self.lop2(zero, a, b);
        }
        let (x, y) = (self.lop2(zero, a, b), self.lop2(one, a, b));
        if zero == !one & 15 {
            return self.b.ins().bxor(x, c);
        }
        let yes = self.and(y, c);
        let no = self.b.ins().band_not(x, c);
        self.b.ins().bor(yes, no)
    }

    /// Bitwise function of two operands; bit `2a + b` of the table.
    fn lop2(&mut self, table: u8, a: Value, b: Value) -> Value {
        match table {
            0 => self.w(0),
            15 => self.w(u32::MAX),
            0b1100 => a,
            0b1010 => b,
            0b1000 => self.and(a, b),
            0b1110 => self.b.ins().bor(a, b),
            0b0110 => self.b.ins().bxor(a, b),
            0b0100 => self.b.ins().band_not(a, b),
            0b0010 => self.b.ins().band_not(b, a),
            t => {
                let r = self.lop2(!t & 15, a, b);
                self.b.ins().bnot(r)
            }
        }
    }

    /// The smaller or the greater number, -0 below 0; a NaN is no number.
    pub(crate) fn min_max32(&mut self, max: bool, a: Value, b: Value) -> Value {
        let low = self.w(0x7fff_ffff);
        let key = |e: &mut Self, v: Value| {
            let s = e.sar(v, 31);
            let s = e.and(s, low);
            e.b.ins().bxor(v, s)
        };
        let (ka, kb) = (key(self, a), key(self, b));
        let less = if max {
            self.cmp_w(IntCC::SignedGreaterThan, ka, kb)
        } else {
            self.cmp_w(IntCC::SignedGreaterThan, kb, ka)
        };
        // Equal keys are equal bits.
        let r = self.sel(less, a, b);
        let an = self.cmp_f32(FloatCC::Unordered, a, a);
        let bn = self.cmp_f32(FloatCC::Unordered, b, b);
        let r = self.sel(bn, a, r);
        self.sel(an, b, r)
    }

    /// The greater or smaller number where one is known now: it stands where the other is none.
    pub(crate) fn limited(
        &mut self,
        max: bool,
        args: [Value; 2],
        consts: &[Option<u64>],
    ) -> Option<Value> {
        // Of two zeros the comparison takes the known one, so that must be the right one.
        let wrong_zero = if max { 0x8000_0000 } else { 0 };
        let usable = |n: &usize| {
            let bits = consts.get(*n).copied().flatten().map(|c| c as u32);
            bits.is_some_and(|c| !f32::from_bits(c).is_nan() && c != wrong_zero)
        };
        let known = [1, 0].into_iter().find(usable)?;
        let (limit, x) = (args[known], args[1 - known]);
        let (low, high) = if max { (limit, x) } else { (x, limit) };
        let inside = self.cmp_f32(FloatCC::LessThan, low, high);
        Some(self.sel(inside, x, limit))
    }

    /// 0 for subnormal numbers, with their sign.
    pub(crate) fn flush(&mut self, v: Value) -> Value {
        if self.bit_masks() {
            return self.flushed(v);
        }
        let (inf, sign, zero) = (self.w(0x7f80_0000), self.w(0x8000_0000), self.w(0));
        let e = self.and(v, inf);
        let s = self.and(v, sign);
        let small = self.cmp_w(IntCC::Equal, e, zero);
        self.sel(small, s, v)
    }
}
