//! Pure micro-ops as Cranelift instructions.
//!
//! A slice is four lanes: `W` one `i32x4`, `D` two `i64x2`, `P` one `i32x4` of all ones or zeros; or eight or sixteen,
//! see `form`. A uniform value is a scalar: `i32`, `i64`, and `i8` of 0 or 1. Both go through the same code. What is not
//! here calls the micro-op's own function over the lanes (see `helpers`).

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8X16, I32, I32X4, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use cranelift_frontend::FunctionBuilder;
use ptx_isa::num::Rnd;
use ptx_isa::num::mode::Mode;
use ptx_isa::uop::Op;

use crate::clif::{as_type, cast};
use crate::form::Form;

/// One slice or scalar: the lower and the upper half of a `D` slice; of anything else the same value twice.
pub(crate) type Halves = [Value; 2];

pub(crate) const NAN32: u32 = ptx_isa::num::fp32::NAN;

pub(crate) struct Emit<'a, 'b> {
    pub b: &'a mut FunctionBuilder<'b>,
    /// Slices, not scalars.
    pub vector: bool,
    /// How lanes lie in slices.
    pub form: Form,
}

impl Emit<'_, '_> {
    pub(crate) fn w_type(&self) -> Type {
        if self.vector { self.form.w() } else { I32 }
    }
    /// A constant in every lane.
    pub(crate) fn w(&mut self, c: u32) -> Value {
        if self.vector { self.form.same32(self.b, c) } else { self.b.ins().iconst(I32, c as i64) }
    }
    pub(crate) fn d(&mut self, c: u64) -> Value {
        if self.vector { self.form.same64(self.b, c) } else { self.b.ins().iconst(I64, c as i64) }
    }
    pub(crate) fn as_f32(&mut self, v: Value) -> Value {
        as_type(self.b, v, if self.vector { self.form.f32() } else { F32 })
    }
    pub(crate) fn as_f64(&mut self, v: Value) -> Value {
        as_type(self.b, v, if self.vector { self.form.f64() } else { F64 })
    }
    pub(crate) fn bits(&mut self, v: Value) -> Value {
        let from = self.b.func.dfg.value_type(v);
        let ty = match (self.vector, from.lane_bits()) {
            (true, 32) => self.form.w(),
            (true, _) => self.form.d(),
            (false, 32) => I32,
            (false, _) => I64,
        };
        self.b.ins().bitcast(ty, cast(), v)
    }
    /// `mask ? a : b`; the mask has the lanes of the values (scalars: 0 or 1).
    pub(crate) fn sel(&mut self, mask: Value, a: Value, b: Value) -> Value {
        if self.bit_masks() {
            self.blend(mask, a, b)
        } else if self.vector && cfg!(target_arch = "x86_64") {
            // `blendv` exists for integer lanes of 8, 32 and 64 bits.
            self.b.ins().blendv(mask, a, b)
        } else if self.vector {
            self.b.ins().bitselect(mask, a, b)
        } else {
            self.b.ins().select(mask, a, b)
        }
    }
    /// `mask ? a : b` of predicates.
    pub(crate) fn sel_p(&mut self, mask: Value, a: Value, b: Value) -> Value {
        if self.bit_masks() {
            let yes = self.and(mask, a);
            let no = self.b.ins().band_not(b, mask);
            self.b.ins().bor(yes, no)
        } else {
            self.sel(mask, a, b)
        }
    }
    fn not(&mut self, p: Value) -> Value {
        if self.vector { self.b.ins().bnot(p) } else { self.b.ins().bxor_imm_u(p, 1) }
    }
    /// Mask of a predicate for the halves of `D` values.
    pub(crate) fn masks_of_d(&mut self, p: Value) -> Halves {
        if self.bit_masks() {
            let half = i64::from(self.form.lanes / 2);
            [p, self.b.ins().ushr_imm_u(p, half)]
        } else if self.words() {
            self.widen(p, true)
        } else if self.vector {
            [self.b.ins().swiden_low(p), self.b.ins().swiden_high(p)]
        } else {
            [p, p]
        }
    }
    /// Low (`high`: upper) 32 bits of the lanes of a `D`.
    pub(crate) fn words_of(&mut self, d: Halves, high: bool) -> Value {
        if self.words() {
            self.words_of_d(d, high)
        } else if self.vector {
            let x = self.b.ins().bitcast(I8X16, cast(), d[0]);
            let y = self.b.ins().bitcast(I8X16, cast(), d[1]);
            let first = if high { 4u8 } else { 0 };
            let mut mask = [0u8; 16];
            for (i, m) in mask.iter_mut().enumerate() {
                *m = (i / 4) as u8 * 8 + (i % 4) as u8 + first;
            }
            let mask = self.b.func.dfg.immediates.push(mask.as_slice().into());
            let r = self.b.ins().shuffle(x, y, mask);
            self.b.ins().bitcast(I32X4, cast(), r)
        } else {
            let v = if high { self.b.ins().ushr_imm_u(d[0], 32) } else { d[0] };
            self.b.ins().ireduce(I32, v)
        }
    }
    /// Predicate of masks of 64-bit lanes.
    fn narrow_mask(&mut self, m: Halves) -> Value {
        if self.bit_masks() {
            self.join(m)
        } else if self.vector {
            self.words_of(m, false)
        } else {
            m[0]
        }
    }
    pub(crate) fn sext(&mut self, w: Value) -> Halves {
        if self.words() {
            self.widen(w, true)
        } else if self.vector {
            [self.b.ins().swiden_low(w), self.b.ins().swiden_high(w)]
        } else {
            let v = self.b.ins().sextend(I64, w);
            [v, v]
        }
    }
    pub(crate) fn zext(&mut self, w: Value) -> Halves {
        if self.words() {
            self.widen(w, false)
        } else if self.vector {
            [self.b.ins().uwiden_low(w), self.b.ins().uwiden_high(w)]
        } else {
            let v = self.b.ins().uextend(I64, w);
            [v, v]
        }
    }
    pub(crate) fn both(
        &mut self,
        a: Halves,
        b: Halves,
        f: impl Fn(&mut Self, Value, Value) -> Value,
    ) -> Halves {
        let lo = f(self, a[0], b[0]);
        let hi = if self.vector { f(self, a[1], b[1]) } else { lo };
        [lo, hi]
    }
    pub(crate) fn shl(&mut self, v: Value, n: u32) -> Value {
        self.b.ins().ishl_imm_u(v, n as i64)
    }
    pub(crate) fn shr(&mut self, v: Value, n: u32) -> Value {
        self.b.ins().ushr_imm_u(v, n as i64)
    }
    pub(crate) fn sar(&mut self, v: Value, n: u32) -> Value {
        self.b.ins().sshr_imm_u(v, n as i64)
    }
    /// Compares one vector, of lanes of 32 or 64 bits.
    pub(crate) fn cmp_w(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        if self.bit_masks() { self.compare(cc, a, b) } else { self.b.ins().icmp(cc, a, b) }
    }
    pub(crate) fn cmp_d(&mut self, cc: IntCC, a: Halves, b: Halves) -> Value {
        let m = self.both(a, b, |e, x, y| e.cmp_w(cc, x, y));
        self.narrow_mask(m)
    }
    pub(crate) fn cmp_f(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        if self.bit_masks() { self.compare_float(cc, a, b) } else { self.b.ins().fcmp(cc, a, b) }
    }
    pub(crate) fn cmp_f32(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        let (a, b) = (self.as_f32(a), self.as_f32(b));
        self.cmp_f(cc, a, b)
    }
    fn cmp_f64(&mut self, cc: FloatCC, a: Halves, b: Halves) -> Value {
        let m = self.both(a, b, |e, x, y| {
            let (x, y) = (e.as_f64(x), e.as_f64(y));
            e.cmp_f(cc, x, y)
        });
        self.narrow_mask(m)
    }
    pub(crate) fn and(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().band(a, b)
    }
    /// The one NaN of `.f32` for every NaN.
    pub(crate) fn canon32(&mut self, v: Value) -> Value {
        let nan = self.cmp_f32(FloatCC::Unordered, v, v);
        let one = self.w(NAN32);
        self.sel(nan, one, v)
    }
    pub(crate) fn f32_op(
        &mut self,
        args: &[Value],
        f: impl Fn(&mut Self, &[Value]) -> Value,
    ) -> Value {
        let a: Vec<Value> = args.iter().map(|v| self.as_f32(*v)).collect();
        let r = f(self, &a);
        self.bits(r)
    }
    fn f64_op(&mut self, args: &[Halves], f: impl Fn(&mut Self, &[Value]) -> Value) -> Halves {
        let mut out = [args[0][0]; 2];
        for (h, o) in out.iter_mut().enumerate().take(if self.vector { 2 } else { 1 }) {
            let a: Vec<Value> = args.iter().map(|v| self.as_f64(v[h])).collect();
            let r = f(self, &a);
            *o = self.bits(r);
        }
        if !self.vector {
            out[1] = out[0];
        }
        out
    }

    /// Code of `op`; `None` if it has none for these operands. `consts` are operands known now.
    pub(crate) fn pure(
        &mut self,
        op: Op,
        k: u32,
        args: &[Halves],
        consts: &[Option<u64>],
    ) -> Option<Halves> {
        use IntCC as C;
        let a = args.first().map_or(Value::from_u32(0), |p| p[0]);
        let b = args.get(1).map_or(a, |p| p[0]);
        let c = args.get(2).map_or(a, |p| p[0]);
        let pair = |n: usize| args[n];
        let one = |v: Value| Some([v, v]);
        let amount = consts.get(1).copied().flatten();
        if self.words()
            && let Some(r) = self.pure_by_words(op, k, args, consts)
        {
            return Some(r);
        }
        if let Some(r) = self.half(op, k, [a, b, c]) {
            return Some([r, r]);
        }
        match op {
            Op::MovP | Op::MovW | Op::MovD => Some(args[0]),
            Op::NotP => one(self.not(a)),
            Op::AndP => one(self.and(a, b)),
            Op::OrP => one(self.b.ins().bor(a, b)),
            Op::XorP => one(self.b.ins().bxor(a, b)),
            Op::AndNotP => {
                let n = self.not(b);
                one(self.and(a, n))
            }
            Op::SelP => one(self.sel_p(c, a, b)),
            Op::ZextWD => Some(self.zext(a)),
            Op::SextWD => Some(self.sext(a)),
            Op::TruncDW => one(self.words_of(pair(0), false)),
            Op::HighDW => one(self.words_of(pair(0), true)),
            Op::PackWD => {
                let (lo, hi) = (self.zext(a), self.zext(b));
                Some(self.both(lo, hi, |e, l, h| {
                    let h = e.shl(h, 32);
                    e.b.ins().bor(l, h)
                }))
            }
            Op::Zext8 => {
                let m = self.w(0xff);
                one(self.and(a, m))
            }
            Op::Zext16 => {
                let m = self.w(0xffff);
                one(self.and(a, m))
            }
            Op::Sext8 => {
                let v = self.shl(a, 24);
                one(self.sar(v, 24))
            }
            Op::Sext16 => {
                let v = self.shl(a, 16);
                one(self.sar(v, 16))
            }
            Op::Pack16 => {
                let m = self.w(0xffff);
                let lo = self.and(a, m);
                let hi = self.shl(b, 16);
                one(self.b.ins().bor(lo, hi))
            }
            Op::High16 => one(self.shr(a, 16)),
            Op::SelW => one(self.sel(c, a, b)),
            Op::SelD => {
                let m = self.masks_of_d(c);
                let lo = self.sel(m[0], args[0][0], args[1][0]);
                let hi = if self.vector { self.sel(m[1], args[0][1], args[1][1]) } else { lo };
                Some([lo, hi])
            }
            Op::BoolW => {
                if self.vector {
                    one(self.shr(a, 31))
                } else {
                    one(self.b.ins().uextend(I32, a))
                }
            }
            Op::AddW => one(self.b.ins().iadd(a, b)),
            Op::SubW => one(self.b.ins().isub(a, b)),
            Op::MulW => one(self.product(a, b, consts)),
            Op::MadW => {
                let m = self.product(a, b, consts);
                one(self.b.ins().iadd(m, c))
            }
            Op::MulWideU | Op::MulWideS | Op::MadWideU | Op::MadWideS => {
                let signed = matches!(op, Op::MulWideS | Op::MadWideS);
                let wide = |e: &mut Self, v| if signed { e.sext(v) } else { e.zext(v) };
                let x = wide(self, a);
                let factor = consts
                    .iter()
                    .take(2)
                    .flatten()
                    .next()
                    .copied()
                    .filter(|c| c.is_power_of_two() && *c < 1 << 31 && consts[0].is_none());
                let m = match factor {
                    Some(f) => self.both(x, x, |e, v, _| e.shl(v, f.trailing_zeros())),
                    None => {
                        let y = wide(self, b);
                        self.both(x, y, |e, p, q| e.b.ins().imul(p, q))
                    }
                };
                if args.len() == 3 {
                    Some(self.both(m, pair(2), |e, p, q| e.b.ins().iadd(p, q)))
                } else {
                    Some(m)
                }
            }
            Op::AndW => one(self.and(a, b)),
            Op::OrW => one(self.b.ins().bor(a, b)),
            Op::XorW => one(self.b.ins().bxor(a, b)),
            Op::NotW => one(self.b.ins().bnot(a)),
            Op::FunnelL | Op::FunnelR => {
                let n = consts[2]? as u32 & 63;
                // The 64 bits `b:a`, cut at bit `n`.
                let (up, n) = if op == Op::FunnelL { (true, n) } else { (false, n) };
                one(match (up, n) {
                    (true, 0) => b,
                    (false, 0) | (true, 32) => a,
                    (false, 32) => b,
                    (true, 33..) => self.shl(a, n - 32),
                    (false, 33..) => self.shr(b, n - 32),
                    (_, n) => {
                        let n = if up { n } else { 32 - n };
                        if a == b && !self.vector {
                            self.b.ins().rotl_imm_u(a, i64::from(n))
                        } else {
                            let high = self.shl(b, n);
                            let low = self.shr(a, 32 - n);
                            self.b.ins().bor(high, low)
                        }
                    }
                })
            }
            Op::BfeUW => {
                let (at, len) = (consts[1]? as u32 & 255, consts[2]? as u32 & 255);
                if at >= 32 || len == 0 {
                    return one(self.w(0));
                }
                let x = self.shr(a, at);
                let m = self.w(u32::MAX >> (32 - len.min(32)));
                one(self.and(x, m))
            }
            Op::Lop3 => one(self.lop3(k as u8, a, b, c)),
            Op::MulHiUW | Op::MulHiSW => {
                let wide = |e: &mut Self, v| if op == Op::MulHiSW { e.sext(v) } else { e.zext(v) };
                let (x, y) = (wide(self, a), wide(self, b));
                let m = self.both(x, y, |e, p, q| e.b.ins().imul(p, q));
                one(self.words_of(m, true))
            }
            Op::DivUW | Op::DivSW | Op::RemUW | Op::RemSW if !self.vector || self.words() => {
                one(self.divided(op, a, b, consts[1]))
            }
            Op::CvtF64U32 if !self.vector || self.words() => Some(self.number_of(a, false)),
            Op::BrevW if !self.vector => one(self.b.ins().bitrev(a)),
            Op::PopcW if !self.vector => one(self.b.ins().popcnt(a)),
            Op::ClzW if !self.vector => one(self.b.ins().clz(a)),
            Op::ShlW | Op::ShrW if amount.is_some_and(|n| n as u32 >= 32) => one(self.w(0)),
            // Amounts of the width or more give 0, or the sign.
            Op::ShlW | Op::ShrW | Op::ShlD | Op::ShrD if amount.is_none() && !self.vector => {
                let left = matches!(op, Op::ShlW | Op::ShlD);
                let r = if left { self.b.ins().ishl(a, b) } else { self.b.ins().ushr(a, b) };
                let wide = matches!(op, Op::ShlD | Op::ShrD);
                let zero = if wide { self.d(0) } else { self.w(0) };
                let inside =
                    self.b.ins().icmp_imm_u(C::UnsignedLessThan, b, if wide { 64 } else { 32 });
                one(self.b.ins().select(inside, r, zero))
            }
            Op::SarW | Op::SarD if amount.is_none() && !self.vector => {
                let most = self.w(if op == Op::SarD { 63 } else { 31 });
                let n = self.b.ins().umin(b, most);
                one(self.b.ins().sshr(a, n))
            }
            Op::ShlW => {
                let n = amount? as u32;
                one(self.shl(a, n))
            }
            Op::ShrW => {
                let n = amount? as u32;
                one(self.shr(a, n))
            }
            Op::SarW => {
                let n = (amount? as u32).min(31);
                one(self.sar(a, n))
            }
            Op::ShlD | Op::ShrD if amount.is_some_and(|n| n as u32 >= 64) => {
                let z = self.d(0);
                Some([z, z])
            }
            Op::ShlD | Op::ShrD => {
                let n = amount? as u32;
                Some(self.both(pair(0), pair(0), |e, v, _| {
                    if op == Op::ShlD { e.shl(v, n) } else { e.shr(v, n) }
                }))
            }
            Op::SarD => {
                let n = (amount? as u32).min(63);
                Some(self.both(pair(0), pair(0), |e, v, _| e.sar(v, n)))
            }
            Op::MinUW => one(self.b.ins().umin(a, b)),
            Op::MaxUW => one(self.b.ins().umax(a, b)),
            Op::MinSW => one(self.b.ins().smin(a, b)),
            Op::MaxSW => one(self.b.ins().smax(a, b)),
            Op::AbsW => one(self.b.ins().iabs(a)),
            Op::AddD => Some(self.both(pair(0), pair(1), |e, x, y| e.b.ins().iadd(x, y))),
            Op::SubD => Some(self.both(pair(0), pair(1), |e, x, y| e.b.ins().isub(x, y))),
            Op::MulD => {
                let factor = consts[1].filter(|c| c.is_power_of_two());
                Some(self.both(pair(0), pair(1), |e, x, y| match factor {
                    Some(f) => e.shl(x, f.trailing_zeros()),
                    None => e.b.ins().imul(x, y),
                }))
            }
            Op::AndD => Some(self.both(pair(0), pair(1), |e, x, y| e.b.ins().band(x, y))),
            Op::OrD => Some(self.both(pair(0), pair(1), |e, x, y| e.b.ins().bor(x, y))),
            Op::XorD => Some(self.both(pair(0), pair(1), |e, x, y| e.b.ins().bxor(x, y))),
            Op::NotD => Some(self.both(pair(0), pair(0), |e, x, _| e.b.ins().bnot(x))),
            Op::EqW => one(self.cmp_w(C::Equal, a, b)),
            Op::NeW => one(self.cmp_w(C::NotEqual, a, b)),
            Op::LtUW => one(self.cmp_w(C::UnsignedLessThan, a, b)),
            Op::LeUW => one(self.cmp_w(C::UnsignedLessThanOrEqual, a, b)),
            Op::LtSW => one(self.cmp_w(C::SignedLessThan, a, b)),
            Op::LeSW => one(self.cmp_w(C::SignedLessThanOrEqual, a, b)),
            Op::EqD => one(self.cmp_d(C::Equal, pair(0), pair(1))),
            Op::NeD => one(self.cmp_d(C::NotEqual, pair(0), pair(1))),
            Op::LtSD => one(self.cmp_d(C::SignedLessThan, pair(0), pair(1))),
            Op::LeSD => one(self.cmp_d(C::SignedLessThanOrEqual, pair(0), pair(1))),
            Op::LtUD if !self.vector => one(self.cmp_d(C::UnsignedLessThan, pair(0), pair(1))),
            Op::LeUD if !self.vector => {
                one(self.cmp_d(C::UnsignedLessThanOrEqual, pair(0), pair(1)))
            }
            // Results of these stay raw; `Op::Canon` of the middle form follows where it matters.
            Op::AddF32 => one(self.f32_op(&[a, b], |e, v| e.b.ins().fadd(v[0], v[1]))),
            Op::SubF32 => one(self.f32_op(&[a, b], |e, v| e.b.ins().fsub(v[0], v[1]))),
            Op::MulF32 => one(self.f32_op(&[a, b], |e, v| e.b.ins().fmul(v[0], v[1]))),
            Op::FmaF32 => one(self.f32_op(&[a, b, c], |e, v| e.b.ins().fma(v[0], v[1], v[2]))),
            Op::AddFtzF32 | Op::SubFtzF32 => {
                let (x, y) = (self.flush(a), self.flush(b));
                let r = self.f32_op(&[x, y], |e, v| {
                    if op == Op::AddFtzF32 {
                        e.b.ins().fadd(v[0], v[1])
                    } else {
                        e.b.ins().fsub(v[0], v[1])
                    }
                });
                let r = self.canon32(r);
                one(self.flush(r))
            }
            Op::FlushF32 => one(self.flush(a)),
            Op::DivF32 if k == Mode::NONE.rnd(Rnd::Rn).0 => {
                let r = self.f32_op(&[a, b], |e, v| e.b.ins().fdiv(v[0], v[1]));
                one(self.canon32(r))
            }
            Op::SqrtF32 if k == Mode::NONE.rnd(Rnd::Rn).0 => {
                let r = self.f32_op(&[a], |e, v| e.b.ins().sqrt(v[0]));
                one(self.canon32(r))
            }
            Op::AbsF32 => {
                let m = self.w(0x7fff_ffff);
                one(self.and(a, m))
            }
            Op::NegF32 => {
                let m = self.w(0x8000_0000);
                one(self.b.ins().bxor(a, m))
            }
            Op::SatF32 => {
                // As the definition: comparisons that a NaN fails.
                let (zero, unit) = (self.w(0), self.w(0x3f80_0000));
                let up = self.cmp_f32(FloatCC::LessThan, zero, a);
                let x = self.sel(up, a, zero);
                let down = self.cmp_f32(FloatCC::LessThan, x, unit);
                one(self.sel(down, x, unit))
            }
            Op::MinF32 | Op::MaxF32 => {
                let max = op == Op::MaxF32;
                let limited = self.limited(max, [a, b], consts);
                one(limited.unwrap_or_else(|| self.min_max32(max, a, b)))
            }
            Op::EqF32 => one(self.cmp_f32(FloatCC::Equal, a, b)),
            Op::NeF32 => {
                let ne = self.cmp_f32(FloatCC::NotEqual, a, b);
                let ord = self.cmp_f32(FloatCC::Ordered, a, b);
                one(self.and(ne, ord))
            }
            Op::LtF32 => one(self.cmp_f32(FloatCC::LessThan, a, b)),
            Op::LeF32 => one(self.cmp_f32(FloatCC::LessThanOrEqual, a, b)),
            Op::NumF32 => one(self.cmp_f32(FloatCC::Ordered, a, b)),
            Op::EqF64 => one(self.cmp_f64(FloatCC::Equal, pair(0), pair(1))),
            Op::NeF64 => {
                let ne = self.cmp_f64(FloatCC::NotEqual, pair(0), pair(1));
                let ord = self.cmp_f64(FloatCC::Ordered, pair(0), pair(1));
                one(self.and(ne, ord))
            }
            Op::LtF64 => one(self.cmp_f64(FloatCC::LessThan, pair(0), pair(1))),
            Op::LeF64 => one(self.cmp_f64(FloatCC::LessThanOrEqual, pair(0), pair(1))),
            Op::NumF64 => one(self.cmp_f64(FloatCC::Ordered, pair(0), pair(1))),
            Op::AddF64 => Some(self.f64_op(args, |e, v| e.b.ins().fadd(v[0], v[1]))),
            Op::SubF64 => Some(self.f64_op(args, |e, v| e.b.ins().fsub(v[0], v[1]))),
            Op::MulF64 => Some(self.f64_op(args, |e, v| e.b.ins().fmul(v[0], v[1]))),
            Op::DivF64 => Some(self.f64_op(args, |e, v| e.b.ins().fdiv(v[0], v[1]))),
            Op::FmaF64 => Some(self.f64_op(args, |e, v| e.b.ins().fma(v[0], v[1], v[2]))),
            Op::SqrtF64 => Some(self.f64_op(args, |e, v| e.b.ins().sqrt(v[0]))),
            Op::CvtF32S32 => {
                let ty = if self.vector { self.form.f32() } else { F32 };
                let r = self.b.ins().fcvt_from_sint(ty, a);
                one(self.bits(r))
            }
            Op::CvtF32U32 => {
                let ty = if self.vector { self.form.f32() } else { F32 };
                let r = self.b.ins().fcvt_from_uint(ty, a);
                one(self.bits(r))
            }
            Op::CvtRzS32F32 => {
                let f = self.as_f32(a);
                let ty = self.w_type();
                one(self.b.ins().fcvt_to_sint_sat(ty, f))
            }
            Op::CvtF64S32 if !self.vector || self.words() => Some(self.doubles_of_ints(a)),
            Op::CvtF64F32 if !self.vector => {
                let f = self.as_f32(a);
                let r = self.b.ins().fpromote(F64, f);
                one(self.bits(r))
            }
            Op::CvtF32F64 if !self.vector => {
                let f = self.as_f64(a);
                let r = self.b.ins().fdemote(F32, f);
                one(self.bits(r))
            }
            _ => None,
        }
    }

    /// Mask of the lanes of a `D` result that are NaN.
    pub(crate) fn nan64(&mut self, v: Halves) -> Value {
        let m = self.both(v, v, |e, x, _| {
            let f = e.as_f64(x);
            e.cmp_f(FloatCC::Unordered, f, f)
        });
        if self.vector { self.b.ins().bor(m[0], m[1]) } else { m[0] }
    }
}
