//! The approximate functions by divisions, roots and polynomials, for [`crate::Options::fast_approx`]: within the bounds
//! that the PTX manual states, where the hardware's tables are followed bit for bit otherwise.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::F32;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::uop::Op;

use crate::ops::{Emit, NAN32};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// `(2^f - 1) / f` for `f` from -1/2 to 1/2, within 2^-28.9 of `2^f`; the highest power first, as all of these.
const EXP2: [u32; 6] =
    [0x3920_fdde, 0x3aaf_9f2a, 0x3c1d_96a6, 0x3d63_5774, 0x3e75_fdee, 0x3f31_7218];
/// `log2(1 + t) / t` for `1 + t` from the root of 1/2 to that of 2, within 2^-25.1 of it.
const LOG2: [u32; 9] = [
    0x3e00_db6a,
    0xbe54_3e85,
    0x3e5c_e48e,
    0xbe74_adf4,
    0x3e93_69c2,
    0xbeb8_ae27,
    0x3ef6_39eb,
    0xbf38_aa38,
    0x3fb8_aa3b,
];
/// `sin(2 pi t) / t` by the square of `t`, for `t` up to 1/4: within 2^-28 when it is times `t`.
const SINE: [u32; 5] = [0x421e_2596, 0xc299_197d, 0x42a3_33b7, 0xc225_5ddb, 0x40c9_0fda];

impl Emit<'_, '_> {
    /// What stands for the approximate function `op` of `a` (and `b`); `k` is not 0 where subnormal numbers count as 0.
    /// The processor must have fused multiplication and addition.
    pub(crate) fn approximate(&mut self, op: Op, k: u32, a: Value, b: Value) -> Option<Value> {
        let ftz = k != 0 && op != Op::TanhApproxF32;
        let [x, y] = [a, b].map(|v| if ftz { self.flush(v) } else { v });
        let r = match op {
            Op::RcpApproxF32 => {
                let one = self.w(1f32.to_bits());
                self.quotient(one, x)
            }
            Op::DivApproxF32 | Op::DivFullF32 => self.quotient(x, y),
            Op::SqrtApproxF32 => self.root(x),
            Op::RsqrtApproxF32 => {
                let (one, root) = (self.w(1f32.to_bits()), self.root(x));
                self.quotient(one, root)
            }
            Op::SinApproxF32 => self.sine(x),
            Op::CosApproxF32 => self.cosine(x),
            Op::Lg2ApproxF32 => self.log2(x, ftz),
            Op::Ex2ApproxF32 => {
                let (least, most) = (self.w((-151f32).to_bits()), self.w(129f32.to_bits()));
                let above = self.cmp_f32(FloatCC::LessThan, most, x);
                let x = self.sel(above, most, x);
                let below = self.cmp_f32(FloatCC::LessThan, x, least);
                let x = self.sel(below, least, x);
                self.exp2(x)
            }
            Op::TanhApproxF32 => self.tanh(x),
            _ => return None,
        };
        let r = self.canon32(r);
        Some(if ftz { self.flush(r) } else { r })
    }

    fn number(&mut self, args: &[Value], f: impl Fn(&mut Self, &[Value]) -> Value) -> Value {
        let args: Vec<Value> = args.iter().map(|v| self.as_f32(*v)).collect();
        let r = f(self, &args);
        self.bits(r)
    }
    fn quotient(&mut self, a: Value, b: Value) -> Value {
        self.number(&[a, b], |e, v| e.b.ins().fdiv(v[0], v[1]))
    }
    fn root(&mut self, a: Value) -> Value {
        self.number(&[a], |e, v| e.b.ins().sqrt(v[0]))
    }
    fn plus(&mut self, a: Value, b: Value) -> Value {
        self.number(&[a, b], |e, v| e.b.ins().fadd(v[0], v[1]))
    }
    fn less(&mut self, a: Value, b: Value) -> Value {
        self.number(&[a, b], |e, v| e.b.ins().fsub(v[0], v[1]))
    }
    fn times(&mut self, a: Value, b: Value) -> Value {
        self.number(&[a, b], |e, v| e.b.ins().fmul(v[0], v[1]))
    }
    fn fused(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.number(&[a, b, c], |e, v| e.b.ins().fma(v[0], v[1], v[2]))
    }
    /// A polynomial of `x`.
    fn polynomial(&mut self, x: Value, factors: &[u32]) -> Value {
        let mut sum = self.w(factors[0]);
        for factor in &factors[1..] {
            let factor = self.w(*factor);
            sum = self.fused(sum, x, factor);
        }
        sum
    }

    /// `2^x` for `x` from -151 to 129, or a NaN.
    fn exp2(&mut self, x: Value) -> Value {
        // What is added leaves whole numbers, as the low bits of the sum.
        const WHOLE: f32 = 12_582_912.0;
        let whole = self.w(WHOLE.to_bits());
        let shifted = self.plus(x, whole);
        let near = self.less(shifted, whole);
        let rest = self.less(x, near);
        let n = self.b.ins().isub(shifted, whole);
        let tail = self.polynomial(rest, &EXP2);
        let one = self.w(1f32.to_bits());
        let r = self.fused(tail, rest, one);
        // In two factors: the result may be subnormal, or overflow only in the end.
        let half = self.sar(n, 1);
        let other = self.b.ins().isub(n, half);
        [half, other].into_iter().fold(r, |r, n| {
            let exponent = self.shl(n, 23);
            let power = self.b.ins().iadd(exponent, one);
            self.times(r, power)
        })
    }

    fn log2(&mut self, x: Value, ftz: bool) -> Value {
        let zero = self.w(0);
        // Subnormal numbers are made normal ones.
        let (normal, less) = if ftz {
            (x, None)
        } else {
            let (exponent, up, down) =
                (self.w(INFINITY), self.w(16_777_216f32.to_bits()), self.w(24f32.to_bits()));
            let exponent = self.and(x, exponent);
            let small = self.cmp_w(IntCC::Equal, exponent, zero);
            let larger = self.times(x, up);
            (self.sel(small, larger, x), Some(self.sel(small, down, zero)))
        };
        // From the root of 1/2 to that of 2.
        let first = self.w(std::f32::consts::FRAC_1_SQRT_2.to_bits());
        let from = self.b.ins().isub(normal, first);
        let n = self.sar(from, 23);
        let fraction = self.w(0x007f_ffff);
        let fraction = self.and(from, fraction);
        let near = self.b.ins().iadd(fraction, first);
        let one = self.w(1f32.to_bits());
        let t = self.less(near, one);
        let ty = if self.vector { self.form.f32() } else { F32 };
        let n = self.b.ins().fcvt_from_sint(ty, n);
        let n = self.bits(n);
        let n = match less {
            Some(less) => self.less(n, less),
            None => n,
        };
        let factor = self.polynomial(t, &LOG2);
        let r = self.fused(factor, t, n);
        // Zeros, then what is below them or no number, then infinity.
        let (none, infinite, lowest) = (self.w(NAN32), self.w(INFINITY), self.w(INFINITY | SIGN));
        let above = self.cmp_f32(FloatCC::LessThan, zero, x);
        let zeros = self.cmp_f32(FloatCC::Equal, x, zero);
        let edge = self.sel(zeros, lowest, none);
        let r = self.sel(above, r, edge);
        let last = self.cmp_f32(FloatCC::Equal, x, infinite);
        self.sel(last, infinite, r)
    }

    /// `x` in turns, from -1/2 to 1/2; a NaN for what is infinite.
    fn turns(&mut self, x: Value) -> Value {
        const INVERSE: f64 = 1.0 / std::f64::consts::TAU;
        const HIGH: f32 = INVERSE as f32;
        const LOW: f32 = (INVERSE - HIGH as f64) as f32;
        const WHOLE: f32 = 12_582_912.0;
        let (high, low, whole) =
            (self.w(HIGH.to_bits()), self.w(LOW.to_bits()), self.w(WHOLE.to_bits()));
        let shifted = self.fused(x, high, whole);
        let near = self.less(shifted, whole);
        let sign = self.w(SIGN);
        let less = self.b.ins().bxor(near, sign);
        let rest = self.fused(x, high, less);
        let rest = self.fused(x, low, rest);
        // The hardware has no fraction of a turn left either where there are so many.
        let (bits, most) = (self.w(!SIGN), self.w(16_777_216f32.to_bits()));
        let magnitude = self.and(x, bits);
        let far = self.cmp_f32(FloatCC::LessThanOrEqual, most, magnitude);
        let unordered = self.cmp_f32(FloatCC::Unordered, x, x);
        let zero = self.w(0);
        let none = self.times(x, zero);
        let far = self.b.ins().bor(far, unordered);
        self.sel(far, none, rest)
    }

    /// `sin(2 pi t)` for `t` from -1/4 to 1/4.
    fn quarter_sine(&mut self, t: Value) -> Value {
        let square = self.times(t, t);
        let factor = self.polynomial(square, &SINE);
        self.times(factor, t)
    }

    fn sine(&mut self, x: Value) -> Value {
        let t = self.turns(x);
        let (sign, half) = (self.w(SIGN), self.w(0.5f32.to_bits()));
        let sign = self.and(t, sign);
        let magnitude = self.b.ins().bxor(t, sign);
        // Backwards behind a quarter. Numbers that are not negative are ordered as their bits are.
        let back = self.less(half, magnitude);
        let bits = self.w(!SIGN);
        let back = self.and(back, bits);
        let near = self.b.ins().umin(magnitude, back);
        let r = self.quarter_sine(near);
        self.b.ins().bxor(r, sign)
    }

    fn cosine(&mut self, x: Value) -> Value {
        let t = self.turns(x);
        let (bits, quarter) = (self.w(!SIGN), self.w(0.25f32.to_bits()));
        let magnitude = self.and(t, bits);
        let t = self.less(quarter, magnitude);
        self.quarter_sine(t)
    }

    fn tanh(&mut self, x: Value) -> Value {
        let (sign, one) = (self.w(SIGN), self.w(1f32.to_bits()));
        let sign = self.and(x, sign);
        let magnitude = self.b.ins().bxor(x, sign);
        // It is 1 from there on.
        let most = self.w(10f32.to_bits());
        let above = self.cmp_f32(FloatCC::LessThan, most, magnitude);
        let near = self.sel(above, most, magnitude);
        let factor = self.w((2.0 * std::f32::consts::LOG2_E).to_bits());
        let power = self.times(near, factor);
        let power = self.exp2(power);
        let (up, down) = (self.plus(power, one), self.less(power, one));
        let large = self.quotient(down, up);
        // Where the difference has few bits left: x - x^3 / 3.
        let (third, limit) = (self.w((-1.0f32 / 3.0).to_bits()), self.w(0.0625f32.to_bits()));
        let square = self.times(magnitude, magnitude);
        let factor = self.times(square, third);
        let small = self.fused(factor, magnitude, magnitude);
        let is_small = self.cmp_f32(FloatCC::LessThan, magnitude, limit);
        let r = self.sel(is_small, small, large);
        self.b.ins().bxor(r, sign)
    }
}
