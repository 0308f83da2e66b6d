//! Pure micro-ops by the words of our own back end, where these do more than Cranelift's form.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::F64;
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use ptx_isa::uop::Op;

use crate::clif::{as_type, vconst32};
use crate::form::word;
use crate::ops::{Emit, Halves};
use crate::x86::words::{MASK, Word, condition, float_condition};

/// 2^64, and the least normal number so many times as large: a result of that size is not rounded as a subnormal one.
const SCALE: u32 = 0x5f80_0000;
const LEAST: u32 = 0x2080_0000;

impl Emit<'_, '_> {
    /// Whether predicates are masks of one bit a lane.
    pub(crate) fn bit_masks(&self) -> bool {
        self.vector && self.form.bit_masks()
    }
    /// Whether there are words for these values.
    pub(crate) fn words(&self) -> bool {
        self.vector && self.form.words()
    }
    fn word(&mut self, w: Word, number: u32, args: &[Value], ty: Type) -> Value {
        word(self.b, w, number, args, ty)
    }
    /// A word whose result has the type of its last operand.
    fn like(&mut self, w: Word, number: u32, args: &[Value]) -> Value {
        let ty = self.b.func.dfg.value_type(args[args.len() - 1]);
        self.word(w, number, args, ty)
    }
    pub(crate) fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.like(Word::Blend, 0, &[mask, a, b])
    }
    pub(crate) fn compare(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.word(Word::Compare, condition(cc), &[a, b], MASK)
    }
    pub(crate) fn compare_float(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        let number = float_condition(cc).expect("micro-ops compare in ways that have a number");
        self.word(Word::CompareFloat, number, &[a, b], MASK)
    }
    /// Low (`high`: upper) 32 bits of the lanes of a `D`.
    pub(crate) fn words_of_d(&mut self, d: Halves, high: bool) -> Value {
        let ty = self.form.w();
        self.word(Word::Halves, high.into(), &d, ty)
    }
    /// The mask of a slice of those of its halves.
    pub(crate) fn join(&mut self, m: Halves) -> Value {
        self.word(Word::Join, 0, &m, MASK)
    }
    pub(crate) fn widen(&mut self, w: Value, signed: bool) -> Halves {
        let ty = self.form.d();
        [0, 2].map(|half| self.word(Word::Widen, half | u32::from(signed), &[w], ty))
    }
    /// Lanes in which `a & b` is not 0.
    pub(crate) fn test(&mut self, a: Value, b: Value) -> Value {
        self.word(Word::Test, 0, &[a, b], MASK)
    }
    /// A shift of one vector by an amount for each lane, of its width.
    pub(crate) fn shift(&mut self, op: Op, x: Value, n: Value) -> Value {
        let number = match op {
            Op::ShlW | Op::ShlD => 0,
            Op::ShrW | Op::ShrD => 1,
            _ => 2,
        };
        self.like(Word::ShiftEach, number, &[x, n])
    }
    pub(crate) fn permute(&mut self, a: Value, b: Value, which: &[u32]) -> Value {
        let which = vconst32(self.b, which);
        self.like(Word::Permute, 0, &[a, b, which])
    }
    fn ternary(&mut self, table: u8, a: Value, b: Value, c: Value) -> Value {
        self.like(Word::Ternary, table.into(), &[a, b, c])
    }
    fn any_of_three(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.form.ternary() {
            return self.ternary(0xfe, a, b, c);
        }
        let both = self.b.ins().bor(a, b);
        self.b.ins().bor(both, c)
    }
    /// Upper halves of products: those of even lanes, and of odd ones in their place.
    fn upper_product(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let (w, d) = (self.form.w(), self.form.d());
        let (a, b) = (as_type(self.b, a, d), as_type(self.b, b, d));
        let even = self.like(Word::Product, signed.into(), &[a, b]);
        let even = self.shr(even, 32);
        let (a, b) = (self.shr(a, 32), self.shr(b, 32));
        let odd = self.like(Word::Product, signed.into(), &[a, b]);
        let (even, odd) = (as_type(self.b, even, w), as_type(self.b, odd, w));
        let which = if self.bit_masks() {
            self.b.ins().iconst(MASK, self.form.all_bits() & 0xaaaa)
        } else {
            let odd = |n| if n % 2 == 1 { u32::MAX } else { 0 };
            vconst32(self.b, &(0..u32::from(self.form.lanes)).map(odd).collect::<Vec<_>>())
        };
        self.sel(which, odd, even)
    }
    /// The greater or smaller number; -0 is below 0, and a NaN is no number.
    fn min_max(&mut self, max: bool, a: Value, b: Value) -> Value {
        // One instruction; the first number also where one is none.
        let (x, y) = if max { (a, b) } else { (b, a) };
        let second = self.cmp_f32(FloatCC::LessThan, x, y);
        let r = self.sel(second, b, a);
        let none = self.cmp_f32(FloatCC::Unordered, a, a);
        let r = self.sel(none, b, r);
        // Equal numbers are equal bits, or zeros of both signs.
        let equal = self.cmp_f32(FloatCC::Equal, a, b);
        match (self.bit_masks(), max) {
            (false, true) => {
                let off = self.b.ins().band_not(equal, b);
                self.b.ins().band_not(r, off)
            }
            (false, false) => {
                let on = self.and(equal, b);
                self.b.ins().bor(r, on)
            }
            (true, _) => {
                let same = if max { self.and(a, b) } else { self.b.ins().bor(a, b) };
                self.sel(equal, same, r)
            }
        }
    }
    /// As [`Self::min_max`], of 64 bits: a NaN keeps its payload, and that of the second operand wins.
    fn min_max64(&mut self, max: bool, a: Halves, b: Halves) -> Halves {
        self.both(a, b, |e, a, b| {
            let (f, g) = (e.as_f64(a), e.as_f64(b));
            let (x, y) = if max { (g, f) } else { (f, g) };
            let first = e.cmp_f(FloatCC::LessThan, x, y);
            let only = e.cmp_f(FloatCC::Unordered, g, g);
            let first = e.b.ins().bor(first, only);
            let r = e.sel(first, a, b);
            let equal = e.cmp_f(FloatCC::Equal, f, g);
            let same = if max { e.and(a, b) } else { e.b.ins().bor(a, b) };
            let r = e.sel(equal, same, r);
            let (none, quiet) = (e.cmp_f(FloatCC::Unordered, f, f), e.d(1 << 51));
            let neither = e.and(none, only);
            let b = e.b.ins().bor(b, quiet);
            e.sel(neither, b, r)
        })
    }
    /// `r`, or where `x` is no number that one, quieted; of one vector of 64-bit lanes.
    fn unless_nan(&mut self, x: Value, r: Value) -> Value {
        let (f, quiet) = (self.as_f64(x), self.d(1 << 51));
        let none = self.cmp_f(FloatCC::Unordered, f, f);
        let x = self.b.ins().bor(x, quiet);
        self.sel(none, x, r)
    }
    /// The magnitude of `b` with the sign of `a`.
    fn signed_as(&mut self, sign: Value, a: Value, b: Value) -> Value {
        let s = self.and(a, sign);
        let m = self.b.ins().band_not(b, sign);
        self.b.ins().bor(s, m)
    }
    /// Integers with their sign as bits of numbers of 64; vectors by words.
    pub(crate) fn doubles_of_ints(&mut self, w: Value) -> Halves {
        if !self.vector {
            let r = self.b.ins().fcvt_from_sint(F64, w);
            return [self.bits(r); 2];
        }
        let ty = self.form.d();
        [0, 1].map(|half| self.word(Word::DoubleOfInt, half, &[w], ty))
    }
    /// The result `r`, 0 where it is subnormal before it is rounded, as the result [`SCALE`] times as large says.
    fn flush_by(&mut self, scaled: Value, r: Value) -> Value {
        let r = self.canon32(r);
        let (ones, sign, least) = (self.w(0x7fff_ffff), self.w(0x8000_0000), self.w(LEAST));
        let size = self.and(scaled, ones);
        let small = self.cmp_f32(FloatCC::LessThan, size, least);
        let zero = self.and(r, sign);
        self.sel(small, zero, r)
    }
    /// 0 for subnormal numbers, with their sign.
    pub(crate) fn flushed(&mut self, v: Value) -> Value {
        let (exponent, sign) = (self.w(0x7f80_0000), self.w(0x8000_0000));
        let normal = self.test(v, exponent);
        let zero = self.and(v, sign);
        self.blend(normal, v, zero)
    }

    /// As [`Self::pure`]; `None` for what it does with and without words.
    pub(crate) fn pure_by_words(
        &mut self,
        op: Op,
        k: u32,
        args: &[Halves],
        consts: &[Option<u64>],
    ) -> Option<Halves> {
        use IntCC as C;
        let at = |n: usize| args.get(n).map_or(args[0][0], |p| p[0]);
        let (a, b, c) = (at(0), at(1), at(2));
        let amount = consts.get(1).copied().flatten();
        let one = |v: Value| Some([v, v]);
        match op {
            Op::AndNotP => one(self.b.ins().band_not(a, b)),
            Op::BoolW if self.bit_masks() => {
                let (yes, no) = (self.w(1), self.w(0));
                one(self.blend(a, yes, no))
            }
            Op::PackWD => {
                let ty = self.form.d();
                let lanes = u32::from(self.form.lanes);
                Some([0, lanes / 2].map(|first| {
                    let which: Vec<u32> =
                        (0..lanes).map(|n| first + n / 2 + lanes * (n % 2)).collect();
                    let d = self.permute(a, b, &which);
                    as_type(self.b, d, ty)
                }))
            }
            Op::Lop3 if self.form.ternary() => one(self.ternary(k as u8, a, b, c)),
            Op::ShlW | Op::ShrW | Op::SarW if amount.is_none() => one(self.shift(op, a, b)),
            Op::ShlD | Op::ShrD | Op::SarD if amount.is_none() => {
                let n = self.widen(b, false);
                Some(self.both(args[0], n, |e, x, n| e.shift(op, x, n)))
            }
            Op::FunnelL | Op::FunnelR => match consts[2].map(|n| n as u32 & 63) {
                Some(n @ 1..32) if a == b => {
                    let n = if op == Op::FunnelL { n } else { 32 - n };
                    one(self.like(Word::Rotate, n, &[a]))
                }
                Some(_) => None,
                None => {
                    // The 64 bits `b:a`; amounts beyond the width, also negative ones, leave nothing.
                    let (low, whole) = (self.w(63), self.w(32));
                    let n = self.and(c, low);
                    let rest = self.b.ins().isub(whole, n);
                    let over = self.b.ins().isub(n, whole);
                    let left = op == Op::FunnelL;
                    let (near, far) = if left { (b, a) } else { (a, b) };
                    let (on, back) = if left { (Op::ShlW, Op::ShrW) } else { (Op::ShrW, Op::ShlW) };
                    let x = self.shift(on, near, n);
                    let y = self.shift(back, far, rest);
                    let z = self.shift(on, far, over);
                    one(self.any_of_three(x, y, z))
                }
            },
            Op::MulWideU | Op::MulWideS | Op::MadWideU | Op::MadWideS => {
                if consts[1].is_some_and(|c| c.is_power_of_two() && c < 1 << 31) {
                    return None;
                }
                let signed = matches!(op, Op::MulWideS | Op::MadWideS);
                let side = |e: &mut Self, n: usize, v| match consts[n] {
                    Some(c) => [e.d(c & 0xffff_ffff); 2],
                    None => e.widen(v, false),
                };
                let (x, y) = (side(self, 0, a), side(self, 1, b));
                let m =
                    self.both(x, y, |e, x, y| e.like(Word::Product, u32::from(signed), &[x, y]));
                match args.get(2) {
                    Some(c) => Some(self.both(m, *c, |e, x, y| e.b.ins().iadd(x, y))),
                    None => Some(m),
                }
            }
            Op::MulHiUW | Op::MulHiSW => one(self.upper_product(a, b, op == Op::MulHiSW)),
            Op::PopcW => one(self.b.ins().popcnt(a)),
            Op::ClzW => one(self.like(Word::LeadingZeros, 0, &[a])),
            Op::PopcD => {
                let n = self.both(args[0], args[0], |e, x, _| e.b.ins().popcnt(x));
                one(self.words_of_d(n, false))
            }
            Op::ClzD => {
                let n = self.both(args[0], args[0], |e, x, _| e.like(Word::LeadingZeros, 0, &[x]));
                one(self.words_of_d(n, false))
            }
            // No bit is at -1.
            Op::BfindUW => {
                let (most, n) = (self.w(31), self.like(Word::LeadingZeros, 0, &[a]));
                one(self.b.ins().isub(most, n))
            }
            Op::AdcW | Op::SbbW => {
                let unit = self.w(1);
                let r = self.sum(op == Op::SbbW, a, b);
                let more = self.sum(op == Op::SbbW, r, unit);
                one(self.sel(c, more, r))
            }
            Op::AdcD | Op::SbbD => {
                let (unit, m) = (self.d(1), self.masks_of_d(c));
                let less = op == Op::SbbD;
                let r = self.both(args[0], args[1], |e, x, y| e.sum(less, x, y));
                let more = self.both(r, r, |e, x, _| e.sum(less, x, unit));
                Some([0, 1].map(|h| self.sel(m[h], more[h], r[h])))
            }
            Op::CarryW | Op::CarryD => {
                let all = if op == Op::CarryW { self.w(u32::MAX) } else { self.d(u64::MAX) };
                let (x, y) = (args[0], args[1]);
                let r = self.both(x, y, |e, x, y| e.sum(false, x, y));
                let over = self.lanes_in(op == Op::CarryD, C::UnsignedLessThan, r, x);
                let full = self.lanes_in(op == Op::CarryD, C::Equal, r, [all; 2]);
                let more = self.and(full, c);
                one(self.b.ins().bor(over, more))
            }
            Op::BorrowW | Op::BorrowD => {
                let (x, y) = (args[0], args[1]);
                let less = self.lanes_in(op == Op::BorrowD, C::UnsignedLessThan, x, y);
                let same = self.lanes_in(op == Op::BorrowD, C::Equal, x, y);
                let more = self.and(same, c);
                one(self.b.ins().bor(less, more))
            }
            Op::MinUD => Some(self.both(args[0], args[1], |e, x, y| e.b.ins().umin(x, y))),
            Op::MaxUD => Some(self.both(args[0], args[1], |e, x, y| e.b.ins().umax(x, y))),
            Op::MinSD => Some(self.both(args[0], args[1], |e, x, y| e.b.ins().smin(x, y))),
            Op::MaxSD => Some(self.both(args[0], args[1], |e, x, y| e.b.ins().smax(x, y))),
            Op::AbsD => Some(self.both(args[0], args[0], |e, x, _| e.b.ins().iabs(x))),
            Op::LtUD => one(self.cmp_d(C::UnsignedLessThan, args[0], args[1])),
            Op::LeUD => one(self.cmp_d(C::UnsignedLessThanOrEqual, args[0], args[1])),
            Op::NeF32 => one(self.cmp_f32(FloatCC::OrderedNotEqual, a, b)),
            Op::MinF32 | Op::MaxF32 => {
                let max = op == Op::MaxF32;
                let limited = self.limited(max, [a, b], consts);
                one(limited.unwrap_or_else(|| self.min_max(max, a, b)))
            }
            Op::RintF32 | Op::TruncF32 | Op::FloorF32 | Op::CeilF32 => {
                one(self.whole_number(op, a))
            }
            // A NaN keeps its payload.
            Op::RintF64 | Op::TruncF64 | Op::FloorF64 | Op::CeilF64 => {
                Some(self.both(args[0], args[0], |e, x, _| e.whole_number(op, x)))
            }
            Op::CvtRzU32F32 => {
                let (f, ty) = (self.as_f32(a), self.form.w());
                one(self.b.ins().fcvt_to_uint_sat(ty, f))
            }
            Op::CvtF64F32 => {
                let ty = self.form.d();
                Some([0, 1].map(|half| self.word(Word::DoubleOfSingle, half, &[a], ty)))
            }
            Op::CvtF32F64 => {
                let ty = self.form.w();
                one(self.word(Word::SingleOfDoubles, 0, &args[0], ty))
            }
            Op::CvtRzS32F64 => {
                let (ty, most) = (self.form.w(), self.d(f64::from(i32::MAX).to_bits()));
                // What is too small, or no number, becomes the least integer by itself.
                let x = self.both(args[0], args[0], |e, x, _| {
                    let (number, limit) = (e.as_f64(x), e.as_f64(most));
                    let over = e.cmp_f(FloatCC::GreaterThan, number, limit);
                    e.sel(over, most, x)
                });
                one(self.word(Word::IntOfDoubles, 0, &x, ty))
            }
            Op::MinF64 => Some(self.min_max64(false, args[0], args[1])),
            Op::MaxF64 => Some(self.min_max64(true, args[0], args[1])),
            Op::AbsF64 | Op::NegF64 => Some(self.both(args[0], args[0], |e, x, _| {
                let sign = e.d(1 << 63);
                let r = if op == Op::AbsF64 {
                    e.b.ins().band_not(x, sign)
                } else {
                    e.b.ins().bxor(x, sign)
                };
                e.unless_nan(x, r)
            })),
            Op::CopysignF32 => {
                let sign = self.w(1 << 31);
                one(self.signed_as(sign, a, b))
            }
            Op::CopysignF64 => {
                let sign = self.d(1 << 63);
                Some(self.both(args[0], args[1], |e, x, y| e.signed_as(sign, x, y)))
            }
            Op::MulFtzF32 => {
                let [x, y] = [a, b].map(|v| self.flush(v));
                let r = self.f32_op(&[x, y], |e, v| e.b.ins().fmul(v[0], v[1]));
                let up = self.w(SCALE);
                let scaled = self.f32_op(&[x, y, up], |e, v| {
                    let x = e.b.ins().fmul(v[0], v[2]);
                    e.b.ins().fmul(x, v[1])
                });
                one(self.flush_by(scaled, r))
            }
            Op::FmaFtzF32 => {
                let [x, y, z] = [a, b, c].map(|v| self.flush(v));
                let r = self.f32_op(&[x, y, z], |e, v| e.b.ins().fma(v[0], v[1], v[2]));
                let up = self.w(SCALE);
                let scaled = self.f32_op(&[x, y, z, up], |e, v| {
                    let x = e.b.ins().fmul(v[0], v[3]);
                    let z = e.b.ins().fmul(v[2], v[3]);
                    e.b.ins().fma(x, v[1], z)
                });
                one(self.flush_by(scaled, r))
            }
            _ => None,
        }
    }

    /// The whole number near each lane that `op` says.
    fn whole_number(&mut self, op: Op, x: Value) -> Value {
        use Op::*;
        let long = self.b.func.dfg.value_type(x).lane_bits() == 64;
        let x = if long { self.as_f64(x) } else { self.as_f32(x) };
        let r = match op {
            RintF32 | RintF64 => self.b.ins().nearest(x),
            TruncF32 | TruncF64 => self.b.ins().trunc(x),
            FloorF32 | FloorF64 => self.b.ins().floor(x),
            _ => self.b.ins().ceil(x),
        };
        self.bits(r)
    }
    fn sum(&mut self, less: bool, x: Value, y: Value) -> Value {
        if less { self.b.ins().isub(x, y) } else { self.b.ins().iadd(x, y) }
    }
    /// Compares `W` or `D`.
    fn lanes_in(&mut self, d: bool, cc: IntCC, x: Halves, y: Halves) -> Value {
        if d { self.cmp_d(cc, x, y) } else { self.cmp_w(cc, x[0], y[0]) }
    }
}
