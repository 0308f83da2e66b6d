//! Micro-ops on numbers of 16 bits, by single precision: the steps of `ptx_isa::num::half`, on all lanes at once.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::num::half::{self, Half};
use ptx_isa::num::mode::Mode;
use ptx_isa::uop::Op;

use crate::ops::Emit;

const SIGN: u32 = 0x8000;
const ABS: u32 = 0x7fff;
const ABS32: u32 = 0x7fff_ffff;
const INFINITY32: u32 = 0x7f80_0000;
/// What the exponents of `.f32` have more, in their place.
const BIAS: u32 = (127 - 15) << 23;
/// Least normal `.f16` as `.f32`: 2^-14.
const NORMAL: u32 = (127 - 14) << 23;

impl Emit<'_, '_> {
    /// As [`Self::pure`], for micro-ops on numbers of 16 bits: those of `.f16` without modifiers, and conversions.
    pub(crate) fn half(&mut self, op: Op, k: u32, args: [Value; 3]) -> Option<Value> {
        let [a, b, c] = args;
        let plain = k == Mode::NONE.0;
        match op {
            Op::AddHalf | Op::MulHalf | Op::FmaHalf if plain => Some(self.half_of(op, args)),
            Op::AddF16x2 | Op::MulF16x2 | Op::FmaF16x2 => {
                let low = self.half_of(op, args);
                let upper = [a, b, c].map(|x| self.shr(x, 16));
                let high = self.half_of(op, upper);
                let high = self.shl(high, 16);
                Some(self.b.ins().bor(high, low))
            }
            Op::AbsHalf | Op::NegHalf if plain => {
                let (abs, sign, most) = (self.w(ABS), self.w(SIGN), self.w(0x7c00));
                let m = self.and(a, abs);
                let r = if op == Op::AbsHalf { m } else { self.b.ins().bxor(a, sign) };
                let nan = self.cmp_w(IntCC::UnsignedGreaterThan, m, most);
                let one = self.w(half::NAN);
                Some(self.sel(nan, one, r))
            }
            Op::CvtF32F16 => {
                let x = self.widen_f16(a);
                Some(self.canon32(x))
            }
            Op::WidenHalf if plain => Some(self.widen_f16(a)),
            Op::WidenHalf if k == Mode::NONE.bf16(true).0 => Some(self.shl(a, 16)),
            Op::CvtF16F32 => Some(self.round_half(Half::F16, a)),
            Op::CvtBf16F32 => Some(self.round_half(Half::Bf16, a)),
            _ => None,
        }
    }

    /// A sum, a product or both of the `.f16` in the low bits.
    fn half_of(&mut self, op: Op, args: [Value; 3]) -> Value {
        let [a, b] = [args[0], args[1]].map(|x| self.widen_f16(x));
        let r = match op {
            // Rounded to 24 bits, which changes nothing in 11.
            Op::AddHalf | Op::AddF16x2 => self.add32(a, b),
            // Exact.
            Op::MulHalf | Op::MulF16x2 => self.mul32(a, b),
            _ => {
                let c = self.widen_f16(args[2]);
                let product = self.mul32(a, b);
                self.add_odd32(product, c)
            }
        };
        self.round_half(Half::F16, r)
    }
    fn add32(&mut self, a: Value, b: Value) -> Value {
        let (x, y) = (self.as_f32(a), self.as_f32(b));
        let r = self.b.ins().fadd(x, y);
        self.bits(r)
    }
    fn sub32(&mut self, a: Value, b: Value) -> Value {
        let (x, y) = (self.as_f32(a), self.as_f32(b));
        let r = self.b.ins().fsub(x, y);
        self.bits(r)
    }
    fn mul32(&mut self, a: Value, b: Value) -> Value {
        let (x, y) = (self.as_f32(a), self.as_f32(b));
        let r = self.b.ins().fmul(x, y);
        self.bits(r)
    }
    /// The sum rounded to odd: exact sums stay, of others the neighbour whose last bit is 1.
    fn add_odd32(&mut self, a: Value, b: Value) -> Value {
        let s = self.add32(a, b);
        let of_b = self.sub32(s, a);
        let of_a = self.sub32(s, of_b);
        let (rest_a, rest_b) = (self.sub32(a, of_a), self.sub32(b, of_b));
        let error = self.add32(rest_a, rest_b);
        let unit = self.w(1);
        // 1 where the error has the sum's sign, else -1; 0 where the last bit is 1.
        let sign = self.b.ins().bxor(error, s);
        let sign = self.sar(sign, 31);
        let toward = self.b.ins().bor(sign, unit);
        let last = self.and(s, unit);
        let even = self.b.ins().isub(last, unit);
        let step = self.and(toward, even);
        // Not so for infinite sums and NaN, whose error is NaN.
        let zero = self.w(0);
        let (below, above) = (
            self.cmp_f32(FloatCC::LessThan, error, zero),
            self.cmp_f32(FloatCC::LessThan, zero, error),
        );
        let inexact = self.b.ins().bor(below, above);
        let step = self.sel(inexact, step, zero);
        self.b.ins().iadd(s, step)
    }
    /// The `.f32` of the `.f16` in the low bits; a NaN keeps its payload.
    fn widen_f16(&mut self, a: Value) -> Value {
        let (abs, sign) = (self.w(ABS), self.w(SIGN));
        let m = self.and(a, abs);
        let moved = self.shl(m, 13);
        let (bias, least) = (self.w(BIAS), self.w(NORMAL));
        let normal = self.b.ins().iadd(moved, bias);
        let above = self.b.ins().iadd(moved, least);
        let small = self.sub32(above, least);
        let top = self.b.ins().iadd(normal, bias);
        let (infinity, first) = (self.w(0x7c00), self.w(0x0400));
        let is_top = self.cmp_w(IntCC::UnsignedGreaterThanOrEqual, m, infinity);
        let r = self.sel(is_top, top, normal);
        let is_small = self.cmp_w(IntCC::UnsignedLessThan, m, first);
        let r = self.sel(is_small, small, r);
        let s = self.and(a, sign);
        let s = self.shl(s, 16);
        self.b.ins().bor(r, s)
    }
    /// Rounds `.f32` to nearest.
    fn round_half(&mut self, format: Half, a: Value) -> Value {
        let abs = self.w(ABS32);
        let m = self.and(a, abs);
        let (to, less) = match format {
            Half::F16 => (13, 0xfff),
            Half::Bf16 => (16, 0x7fff),
        };
        let (unit, less) = (self.w(1), self.w(less));
        let last = self.shr(m, to);
        let last = self.and(last, unit);
        let up = self.b.ins().iadd(last, less);
        let r = self.b.ins().iadd(m, up);
        let r = if format == Half::F16 {
            let bias = self.w(BIAS);
            let r = self.b.ins().isub(r, bias);
            let normal = self.shr(r, to);
            // Adding 0.5 moves a subnormal result into the last bits, rounded by the processor.
            let (middle, least) = (self.w(0.5f32.to_bits()), self.w(NORMAL));
            let small = self.add32(m, middle);
            let small = self.b.ins().isub(small, middle);
            let is_small = self.cmp_w(IntCC::UnsignedLessThan, m, least);
            self.sel(is_small, small, normal)
        } else {
            self.shr(r, to)
        };
        let (infinity, sign) = (self.w(half::infinity(format)), self.w(SIGN));
        let r = self.b.ins().umin(r, infinity);
        let s = self.shr(a, 16);
        let s = self.and(s, sign);
        let r = self.b.ins().bor(r, s);
        let (most, nan) = (self.w(INFINITY32), self.w(half::NAN));
        let is_nan = self.cmp_w(IntCC::UnsignedGreaterThan, m, most);
        self.sel(is_nan, nan, r)
    }
}
