//! Pure micro-ops: one line each, from which everything derives.
//!
//! [`pure_ops!`](crate::pure_ops) hands the whole list to a callback macro. This crate makes from
//! it the enum [`Op`], its signatures and the scalar evaluation (constant folding, tests); the
//! interpreter makes its 32-lane loops, the compiler its fallback calls.
//!
//! Adding one: write `Name(a: W, b: D) -> W = expression;` in its family below. Lane values are
//! `u32` for `W`, `u64` for `D` and `bool` for `P`; an operand list that ends in `; k` also sees a
//! constant `k: u32` of the instruction. Values of 8 and 16 bits come and go zero-extended. The
//! expression must be total (it is also evaluated on lanes that are switched off) and, where
//! speed matters, free of branches so that a loop over lanes vectorises.

use crate::types::Kind;

/// Calls `$cb!` with the list of pure micro-ops.
#[macro_export]
macro_rules! pure_ops {
    ($cb:ident) => {
        $cb! {
            // Predicates, written on whole 32-lane masks.
            { MovP(a) = a;
            NotP(a) = !a;
            AndP(a, b) = a & b;
            OrP(a, b) = a | b;
            XorP(a, b) = a ^ b;
            AndNotP(a, b) = a & !b;
            SelP(a, b, c) = a & c | b & !c; }

            // Moves and width changes.
            MovW(a: W) -> W = a;
            MovD(a: D) -> D = a;
            ZextWD(a: W) -> D = a as u64;
            SextWD(a: W) -> D = a as i32 as u64;
            TruncDW(a: D) -> W = a as u32;
            HighDW(a: D) -> W = (a >> 32) as u32;
            PackWD(a: W, b: W) -> D = a as u64 | (b as u64) << 32;
            Zext8(a: W) -> W = a & 0xff;
            Zext16(a: W) -> W = a & 0xffff;
            Sext8(a: W) -> W = a as i8 as u32;
            Sext16(a: W) -> W = a as i16 as u32;
            Pack16(a: W, b: W) -> W = a & 0xffff | b << 16;
            High16(a: W) -> W = a >> 16;
            SelW(a: W, b: W, p: P) -> W = if p { a } else { b };
            SelD(a: D, b: D, p: P) -> D = if p { a } else { b };
            // 1 where the predicate holds, else 0.
            BoolW(p: P) -> W = p as u32;

            // 32-bit integers.
            AddW(a: W, b: W) -> W = a.wrapping_add(b);
            SubW(a: W, b: W) -> W = a.wrapping_sub(b);
            MulW(a: W, b: W) -> W = a.wrapping_mul(b);
            MadW(a: W, b: W, c: W) -> W = a.wrapping_mul(b).wrapping_add(c);
            MulHiUW(a: W, b: W) -> W = ((a as u64 * b as u64) >> 32) as u32;
            MulHiSW(a: W, b: W) -> W = ((a as i32 as i64 * b as i32 as i64) >> 32) as u32;
            MulWideU(a: W, b: W) -> D = a as u64 * b as u64;
            MulWideS(a: W, b: W) -> D = (a as i32 as i64 * b as i32 as i64) as u64;
            MadWideU(a: W, b: W, c: D) -> D = (a as u64 * b as u64).wrapping_add(c);
            MadWideS(a: W, b: W, c: D) -> D = ((a as i32 as i64 * b as i32 as i64) as u64).wrapping_add(c);
            AndW(a: W, b: W) -> W = a & b;
            OrW(a: W, b: W) -> W = a | b;
            XorW(a: W, b: W) -> W = a ^ b;
            NotW(a: W) -> W = !a;
            // Shift amounts of the width or more give 0 (or the sign).
            ShlW(a: W, b: W) -> W = if b < 32 { a << (b & 31) } else { 0 };
            ShrW(a: W, b: W) -> W = if b < 32 { a >> (b & 31) } else { 0 };
            SarW(a: W, b: W) -> W = ((a as i32) >> if b < 32 { b } else { 31 }) as u32;
            MinUW(a: W, b: W) -> W = a.min(b);
            MaxUW(a: W, b: W) -> W = a.max(b);
            MinSW(a: W, b: W) -> W = (a as i32).min(b as i32) as u32;
            MaxSW(a: W, b: W) -> W = (a as i32).max(b as i32) as u32;
            AbsW(a: W) -> W = (a as i32).wrapping_abs() as u32;
            DivUW(a: W, b: W) -> W = $crate::uop::int::div_u32(a, b);
            DivSW(a: W, b: W) -> W = $crate::uop::int::div_s32(a, b);
            RemUW(a: W, b: W) -> W = $crate::uop::int::rem_u32(a, b);
            RemSW(a: W, b: W) -> W = $crate::uop::int::rem_s32(a, b);
            PopcW(a: W) -> W = a.count_ones();
            ClzW(a: W) -> W = a.leading_zeros();
            BrevW(a: W) -> W = a.reverse_bits();
            // Bitwise function of three operands; k is the truth table.
            Lop3(a: W, b: W, c: W; k) -> W = $crate::uop::int::lop3(a, b, c, k);
            // Carries and borrows of a + b + p and a - b - p.
            CarryW(a: W, b: W, p: P) -> P = (a as u64 + b as u64 + p as u64) >> 32 != 0;
            BorrowW(a: W, b: W, p: P) -> P = (a as u64) < b as u64 + p as u64;
            AdcW(a: W, b: W, p: P) -> W = a.wrapping_add(b).wrapping_add(p as u32);
            SbbW(a: W, b: W, p: P) -> W = a.wrapping_sub(b).wrapping_sub(p as u32);
            // Saturating signed 32-bit.
            AddSatSW(a: W, b: W) -> W = (a as i32).saturating_add(b as i32) as u32;
            SubSatSW(a: W, b: W) -> W = (a as i32).saturating_sub(b as i32) as u32;

            // 64-bit integers.
            AddD(a: D, b: D) -> D = a.wrapping_add(b);
            SubD(a: D, b: D) -> D = a.wrapping_sub(b);
            MulD(a: D, b: D) -> D = a.wrapping_mul(b);
            MulHiUD(a: D, b: D) -> D = ((a as u128 * b as u128) >> 64) as u64;
            MulHiSD(a: D, b: D) -> D = ((a as i64 as i128 * b as i64 as i128) >> 64) as u64;
            AndD(a: D, b: D) -> D = a & b;
            OrD(a: D, b: D) -> D = a | b;
            XorD(a: D, b: D) -> D = a ^ b;
            NotD(a: D) -> D = !a;
            ShlD(a: D, b: W) -> D = if b < 64 { a << (b & 63) } else { 0 };
            ShrD(a: D, b: W) -> D = if b < 64 { a >> (b & 63) } else { 0 };
            SarD(a: D, b: W) -> D = ((a as i64) >> if b < 64 { b } else { 63 }) as u64;
            MinUD(a: D, b: D) -> D = a.min(b);
            MaxUD(a: D, b: D) -> D = a.max(b);
            MinSD(a: D, b: D) -> D = (a as i64).min(b as i64) as u64;
            MaxSD(a: D, b: D) -> D = (a as i64).max(b as i64) as u64;
            AbsD(a: D) -> D = (a as i64).wrapping_abs() as u64;
            DivUD(a: D, b: D) -> D = $crate::uop::int::div_u64(a, b);
            DivSD(a: D, b: D) -> D = $crate::uop::int::div_s64(a, b);
            RemUD(a: D, b: D) -> D = $crate::uop::int::rem_u64(a, b);
            RemSD(a: D, b: D) -> D = $crate::uop::int::rem_s64(a, b);
            PopcD(a: D) -> W = a.count_ones();
            ClzD(a: D) -> W = a.leading_zeros();
            BrevD(a: D) -> D = a.reverse_bits();
            CarryD(a: D, b: D, p: P) -> P = (a as u128 + b as u128 + p as u128) >> 64 != 0;
            BorrowD(a: D, b: D, p: P) -> P = (a as u128) < b as u128 + p as u128;
            AdcD(a: D, b: D, p: P) -> D = a.wrapping_add(b).wrapping_add(p as u64);
            SbbD(a: D, b: D, p: P) -> D = a.wrapping_sub(b).wrapping_sub(p as u64);

            // Bit fields. The 32-bit forms take position and length modulo 256.
            BfindUW(a: W) -> W = if a == 0 { u32::MAX } else { 31 - a.leading_zeros() };
            BfindUD(a: D) -> W = if a == 0 { u32::MAX } else { 63 - a.leading_zeros() };
            BfeUW(a: W, b: W, c: W) -> W = $crate::uop::int::bfe_u32(a, b & 255, c & 255);
            BfeSW(a: W, b: W, c: W) -> W = $crate::uop::int::bfe_s32(a, b & 255, c & 255);
            BfeUD(a: D, b: W, c: W) -> D = $crate::uop::int::bfe_u64(a, b, c);
            BfeSD(a: D, b: W, c: W) -> D = $crate::uop::int::bfe_s64(a, b, c);
            // Ones at positions a .. a + b.
            FieldW(a: W, b: W) -> W = $crate::uop::int::field32(a, b);
            FieldD(a: W, b: W) -> D = $crate::uop::int::field64(a, b);
            Fns(a: W, b: W, c: W) -> W = $crate::uop::int::fns(a, b, c);
            Szext(a: W, b: W; k) -> W = $crate::uop::int::szext(a, b, k);
            // Byte permutation; k is the mode (0 generic, 1.. f4e b4e rc8 ecl ecr rc16).
            // Video instructions and dot products of bytes; `k` packs a `video` description.
            VideoScalar(a: W, b: W, c: W; k) -> W = $crate::video::scalar(a, b, c, k);
            VideoMad(a: W, b: W, c: W; k) -> W = $crate::video::mad(a, b, c, k);
            VideoSimd(a: W, b: W, c: W; k) -> W = $crate::video::simd(a, b, c, k);
            Dot(a: W, b: W, c: W; k) -> W = $crate::video::dot(a, b, c, k);
            Prmt(a: W, b: W, c: W; k) -> W = $crate::uop::int::prmt(a, b, c, k);
            // Funnel shifts of the 64-bit value b:a by c (already clamped or wrapped).
            FunnelL(a: W, b: W, c: W) -> W = ((((b as u64) << 32 | a as u64) << (c & 63)) >> 32) as u32;
            FunnelR(a: W, b: W, c: W) -> W = (((b as u64) << 32 | a as u64) >> (c & 63)) as u32;
            AbsDiffSD(a: D, b: D) -> D = (a as i64).abs_diff(b as i64);
            // Product without carries; the upper half where k is 1.
            ClmulD(a: D, b: D; k) -> D = $crate::uop::int::clmul(a, b, k);

            // Integer comparisons; the others by swapping operands.
            EqW(a: W, b: W) -> P = a == b;
            NeW(a: W, b: W) -> P = a != b;
            LtUW(a: W, b: W) -> P = a < b;
            LeUW(a: W, b: W) -> P = a <= b;
            LtSW(a: W, b: W) -> P = (a as i32) < b as i32;
            LeSW(a: W, b: W) -> P = a as i32 <= b as i32;
            EqD(a: D, b: D) -> P = a == b;
            NeD(a: D, b: D) -> P = a != b;
            LtUD(a: D, b: D) -> P = a < b;
            LeUD(a: D, b: D) -> P = a <= b;
            LtSD(a: D, b: D) -> P = (a as i64) < b as i64;
            LeSD(a: D, b: D) -> P = a as i64 <= b as i64;

            // .f32; `Soft` stands in where the processor has no fused multiply-add, `k` is a
            // `num::mode::Mode`.
            AddF32(a: W, b: W) -> W = $crate::num::fp32::add($crate::num::Rnd::Rn, false, false, a, b);
            SubF32(a: W, b: W) -> W = $crate::num::fp32::sub($crate::num::Rnd::Rn, false, false, a, b);
            MulF32(a: W, b: W) -> W = $crate::num::fp32::mul($crate::num::Rnd::Rn, false, false, a, b);
            FmaF32(a: W, b: W, c: W) -> W = $crate::num::fp32::fma::<true>($crate::num::Rnd::Rn, false, false, a, b, c);
            FmaSoftF32(a: W, b: W, c: W) -> W = $crate::num::fp32::fma::<false>($crate::num::Rnd::Rn, false, false, a, b, c);
            AddFtzF32(a: W, b: W) -> W = $crate::num::fp32::add($crate::num::Rnd::Rn, true, false, a, b);
            SubFtzF32(a: W, b: W) -> W = $crate::num::fp32::sub($crate::num::Rnd::Rn, true, false, a, b);
            MulFtzF32(a: W, b: W) -> W = $crate::num::fp32::mul($crate::num::Rnd::Rn, true, false, a, b);
            FmaFtzF32(a: W, b: W, c: W) -> W = $crate::num::fp32::fma::<true>($crate::num::Rnd::Rn, true, false, a, b, c);
            FmaFtzSoftF32(a: W, b: W, c: W) -> W = $crate::num::fp32::fma::<false>($crate::num::Rnd::Rn, true, false, a, b, c);
            AddModeF32(a: W, b: W; k) -> W = $crate::num::mode::add_f32(a, b, k);
            MulModeF32(a: W, b: W; k) -> W = $crate::num::mode::mul_f32(a, b, k);
            FmaModeF32(a: W, b: W, c: W; k) -> W = $crate::num::mode::fma_f32(a, b, c, k);
            // Multiply-add of compute capability 1.x.
            Mad1xF32(a: W, b: W, c: W) -> W = $crate::num::fp32::mad_1x(a, b, c);
            DivF32(a: W, b: W; k) -> W = $crate::num::mode::div_f32(a, b, k);
            SqrtF32(a: W; k) -> W = $crate::num::mode::sqrt_f32(a, k);
            SatF32(a: W) -> W = $crate::num::fp32::saturate(a);
            FlushF32(a: W) -> W = $crate::num::fp32::flush(a);
            AbsF32(a: W) -> W = $crate::num::fp32::abs(false, a);
            NegF32(a: W) -> W = $crate::num::fp32::neg(false, a);
            CopysignF32(a: W, b: W) -> W = $crate::num::fp32::copysign(a, b);
            MinF32(a: W, b: W) -> W = $crate::num::fp32::min_max(false, false, false, false, a, b);
            MaxF32(a: W, b: W) -> W = $crate::num::fp32::min_max(true, false, false, false, a, b);
            MinMaxF32(a: W, b: W; k) -> W = $crate::num::mode::min_max_f32(a, b, k);
            MinMax3F32(a: W, b: W, c: W; k) -> W = $crate::num::mode::min_max3_f32(a, b, c, k);
            // Ordered comparisons (false for NaN); the others by swapping and negating.
            EqF32(a: W, b: W) -> P = $crate::num::cmp::f32($crate::num::cmp::Rel::Eq, false, a, b);
            NeF32(a: W, b: W) -> P = $crate::num::cmp::f32($crate::num::cmp::Rel::Ne, false, a, b);
            LtF32(a: W, b: W) -> P = $crate::num::cmp::f32($crate::num::cmp::Rel::Lt, false, a, b);
            LeF32(a: W, b: W) -> P = $crate::num::cmp::f32($crate::num::cmp::Rel::Le, false, a, b);
            NumF32(a: W, b: W) -> P = $crate::num::cmp::f32($crate::num::cmp::Rel::Num, false, a, b);
            TestpF32(a: W; k) -> P = $crate::num::mode::test_f32(a, k);
            // Approximate functions; k is 1 for .ftz.
            RcpApproxF32(a: W; k) -> W = $crate::mufu::rcp_approx(a, k != 0);
            RsqrtApproxF32(a: W; k) -> W = $crate::mufu::rsqrt_approx(a, k != 0);
            SqrtApproxF32(a: W; k) -> W = $crate::mufu::sqrt_approx(a, k != 0);
            SinApproxF32(a: W; k) -> W = $crate::mufu::sin_approx(a, k != 0);
            CosApproxF32(a: W; k) -> W = $crate::mufu::cos_approx(a, k != 0);
            Lg2ApproxF32(a: W; k) -> W = $crate::mufu::lg2_approx(a, k != 0);
            Ex2ApproxF32(a: W; k) -> W = $crate::mufu::ex2_approx(a, k != 0);
            TanhApproxF32(a: W) -> W = $crate::mufu::tanh_approx(a);
            DivApproxF32(a: W, b: W; k) -> W = $crate::mufu::div_approx(a, b, k != 0);
            DivFullF32(a: W, b: W; k) -> W = $crate::mufu::div_full(a, b, k != 0);
            // The scaled operands of both; k is 1 for .ftz, plus 2 for .full.
            DividendF32(a: W, b: W; k) -> W = $crate::mufu::dividend(a, b, k);
            DivisorF32(b: W; k) -> W = $crate::mufu::divisor(b, k);
            RcpApproxF64(a: D) -> D = $crate::mufu::rcp_approx_f64(a);
            RsqrtApproxF64(a: D) -> D = $crate::mufu::rsqrt_approx_f64(a);
            RsqrtApproxFtzF64(a: D) -> D = $crate::mufu::rsqrt_approx_ftz_f64(a);
            // Forms outside PTX; k is the function.
            LenientF64(a: D; k) -> D = $crate::mufu::lenient_f64(a, k);
            Ex2ApproxF16x2(a: W) -> W = $crate::mufu::ex2_approx_f16x2(a);
            Ex2ApproxBf16x2(a: W) -> W = $crate::mufu::ex2_approx_bf16x2(a);
            TanhApproxF16x2(a: W) -> W = $crate::mufu::tanh_approx_f16x2(a);
            TanhApproxBf16x2(a: W) -> W = $crate::mufu::tanh_approx_bf16x2(a);

            // .f64
            AddF64(a: D, b: D) -> D = $crate::num::fp64::add($crate::num::Rnd::Rn, a, b);
            SubF64(a: D, b: D) -> D = $crate::num::fp64::sub($crate::num::Rnd::Rn, a, b);
            MulF64(a: D, b: D) -> D = $crate::num::fp64::mul($crate::num::Rnd::Rn, a, b);
            FmaF64(a: D, b: D, c: D) -> D = $crate::num::fp64::fma::<true>($crate::num::Rnd::Rn, a, b, c);
            FmaSoftF64(a: D, b: D, c: D) -> D = $crate::num::fp64::fma::<false>($crate::num::Rnd::Rn, a, b, c);
            DivF64(a: D, b: D) -> D = $crate::num::fp64::div($crate::num::Rnd::Rn, a, b);
            SqrtF64(a: D) -> D = $crate::num::fp64::sqrt($crate::num::Rnd::Rn, a);
            AddModeF64(a: D, b: D; k) -> D = $crate::num::mode::add_f64(a, b, k);
            SubModeF64(a: D, b: D; k) -> D = $crate::num::mode::sub_f64(a, b, k);
            MulModeF64(a: D, b: D; k) -> D = $crate::num::mode::mul_f64(a, b, k);
            FmaModeF64(a: D, b: D, c: D; k) -> D = $crate::num::mode::fma_f64(a, b, c, k);
            DivModeF64(a: D, b: D; k) -> D = $crate::num::mode::div_f64(a, b, k);
            SqrtModeF64(a: D; k) -> D = $crate::num::mode::sqrt_f64(a, k);
            AbsF64(a: D) -> D = $crate::num::fp64::abs(a);
            NegF64(a: D) -> D = $crate::num::fp64::neg(a);
            CopysignF64(a: D, b: D) -> D = $crate::num::fp64::copysign(a, b);
            MinF64(a: D, b: D) -> D = $crate::num::fp64::min_max(false, a, b);
            MaxF64(a: D, b: D) -> D = $crate::num::fp64::min_max(true, a, b);
            EqF64(a: D, b: D) -> P = $crate::num::cmp::f64($crate::num::cmp::Rel::Eq, a, b);
            NeF64(a: D, b: D) -> P = $crate::num::cmp::f64($crate::num::cmp::Rel::Ne, a, b);
            LtF64(a: D, b: D) -> P = $crate::num::cmp::f64($crate::num::cmp::Rel::Lt, a, b);
            LeF64(a: D, b: D) -> P = $crate::num::cmp::f64($crate::num::cmp::Rel::Le, a, b);
            NumF64(a: D, b: D) -> P = $crate::num::cmp::f64($crate::num::cmp::Rel::Num, a, b);
            TestpF64(a: D; k) -> P = $crate::num::mode::test_f64(a, k);

            // .f16 and .bf16, one or two in a register, as `k` says.
            AddHalf(a: W, b: W; k) -> W = $crate::num::mode::add_half(a, b, k);
            MulHalf(a: W, b: W; k) -> W = $crate::num::mode::mul_half(a, b, k);
            FmaHalf(a: W, b: W, c: W; k) -> W = $crate::num::mode::fma_half(a, b, c, k);
            FmaOobHalf(a: W, b: W, c: W; k) -> W = $crate::num::mode::fma_oob_half(a, b, c, k);
            MinMaxHalf(a: W, b: W; k) -> W = $crate::num::mode::min_max_half(a, b, k);
            AbsHalf(a: W; k) -> W = $crate::num::mode::abs_half(a, k);
            NegHalf(a: W; k) -> W = $crate::num::mode::neg_half(a, k);
            FlushHalf(a: W; k) -> W = $crate::num::mode::flush_half(a, k);
            WidenHalf(a: W; k) -> W = $crate::num::mode::widen_half(a, k);
            // Plain .f16x2 and .bf16x2.
            AddF16x2(a: W, b: W) -> W = $crate::both_halves!(a, b => $crate::num::half::add($crate::num::half::Half::F16, false, $crate::num::half::Clamp::None, a, b));
            MulF16x2(a: W, b: W) -> W = $crate::both_halves!(a, b => $crate::num::half::mul($crate::num::half::Half::F16, false, $crate::num::half::Clamp::None, a, b));
            FmaF16x2(a: W, b: W, c: W) -> W = $crate::both_halves!(a, b, c => $crate::num::half::fma($crate::num::half::Half::F16, false, $crate::num::half::Clamp::None, a, b, c));
            AddBf16x2(a: W, b: W) -> W = $crate::both_halves!(a, b => $crate::num::half::add($crate::num::half::Half::Bf16, false, $crate::num::half::Clamp::None, a, b));
            MulBf16x2(a: W, b: W) -> W = $crate::both_halves!(a, b => $crate::num::half::mul($crate::num::half::Half::Bf16, false, $crate::num::half::Clamp::None, a, b));
            FmaBf16x2(a: W, b: W, c: W) -> W = $crate::both_halves!(a, b, c => $crate::num::half::fma($crate::num::half::Half::Bf16, false, $crate::num::half::Clamp::None, a, b, c));

            // Conversions: the common ones, then all others as `k` says.
            CvtF32S32(a: W) -> W = $crate::num::cvt::int_to_float($crate::num::cvt::Ty::F32, $crate::num::cvt::Ty::S32, $crate::num::Rnd::Rn, false, a as u64) as u32;
            CvtF32U32(a: W) -> W = $crate::num::cvt::int_to_float($crate::num::cvt::Ty::F32, $crate::num::cvt::Ty::U32, $crate::num::Rnd::Rn, false, a as u64) as u32;
            CvtF64S32(a: W) -> D = $crate::num::cvt::int_to_float($crate::num::cvt::Ty::F64, $crate::num::cvt::Ty::S32, $crate::num::Rnd::Rn, false, a as u64);
            CvtF64U32(a: W) -> D = $crate::num::cvt::int_to_float($crate::num::cvt::Ty::F64, $crate::num::cvt::Ty::U32, $crate::num::Rnd::Rn, false, a as u64);
            CvtRzS32F32(a: W) -> W = $crate::num::cvt::float_to_int($crate::num::cvt::Ty::S32, $crate::num::cvt::Ty::F32, $crate::num::Rnd::Rz, false, a as u64) as u32;
            CvtRzU32F32(a: W) -> W = $crate::num::cvt::float_to_int($crate::num::cvt::Ty::U32, $crate::num::cvt::Ty::F32, $crate::num::Rnd::Rz, false, a as u64) as u32;
            CvtRzS32F64(a: D) -> W = $crate::num::cvt::float_to_int($crate::num::cvt::Ty::S32, $crate::num::cvt::Ty::F64, $crate::num::Rnd::Rz, false, a) as u32;
            CvtF32F64(a: D) -> W = $crate::num::cvt::float_to_float($crate::num::cvt::Ty::F32, $crate::num::cvt::Ty::F64, $crate::num::Rnd::Rn, false, false, a) as u32;
            CvtF64F32(a: W) -> D = $crate::num::cvt::float_to_float($crate::num::cvt::Ty::F64, $crate::num::cvt::Ty::F32, $crate::num::Rnd::Rn, false, false, a as u64);
            CvtF16F32(a: W) -> W = $crate::num::half::round($crate::num::half::Half::F16, $crate::num::Rnd::Rn, a);
            CvtBf16F32(a: W) -> W = $crate::num::half::round($crate::num::half::Half::Bf16, $crate::num::Rnd::Rn, a);
            CvtF32F16(a: W) -> W = $crate::num::cvt::float_to_float($crate::num::cvt::Ty::F32, $crate::num::cvt::Ty::F16, $crate::num::Rnd::Rn, false, false, a as u64) as u32;
            // To an integral value of the same type.
            RintF32(a: W) -> W = $crate::num::cvt::integral_f32($crate::num::Rnd::Rn, a);
            TruncF32(a: W) -> W = $crate::num::cvt::integral_f32($crate::num::Rnd::Rz, a);
            FloorF32(a: W) -> W = $crate::num::cvt::integral_f32($crate::num::Rnd::Rm, a);
            CeilF32(a: W) -> W = $crate::num::cvt::integral_f32($crate::num::Rnd::Rp, a);
            RintF64(a: D) -> D = $crate::num::cvt::integral_f64($crate::num::Rnd::Rn, a);
            TruncF64(a: D) -> D = $crate::num::cvt::integral_f64($crate::num::Rnd::Rz, a);
            FloorF64(a: D) -> D = $crate::num::cvt::integral_f64($crate::num::Rnd::Rm, a);
            CeilF64(a: D) -> D = $crate::num::cvt::integral_f64($crate::num::Rnd::Rp, a);
            CvtWW(a: W; k) -> W = $crate::num::mode::convert(a as u64, k) as u32;
            CvtWD(a: W; k) -> D = $crate::num::mode::convert(a as u64, k);
            CvtDW(a: D; k) -> W = $crate::num::mode::convert(a, k) as u32;
            CvtDD(a: D; k) -> D = $crate::num::mode::convert(a, k);
            CvtHalfF32(a: W; k) -> W = $crate::num::mode::f32_to_half(a, k);
            CvtTf32F32(a: W; k) -> W = $crate::num::mode::f32_to_tf32(a, k);
            CvtPack(a: W, b: W, c: W; k) -> W = $crate::num::mode::pack(a, b, c, k);
            // Elements of 4- to 8-bit formats; b is the scale factor.
            CvtNarrowF32(a: W, b: W; k) -> W = $crate::num::mode::to_narrow(a, b, k);
            CvtHalfNarrow(a: W, b: W; k) -> W = $crate::num::mode::from_narrow(a, b, k);
            // Stochastic rounding by the random bits b.
            CvtStochasticHalf(a: W, b: W; k) -> W = $crate::num::mode::half_stochastic(a, b, k);
            CvtStochasticNarrow(a: W, b: W; k) -> W = $crate::num::mode::narrow_stochastic(a, b, k);
        }
    };
}

/// Maps a kind letter of the tables to a [`Kind`] or to its lane type.
macro_rules! lane {
    (W) => {
        u32
    };
    (D) => {
        u64
    };
    (P) => {
        bool
    };
}

macro_rules! define_ops {
    ({ $($pname:ident($($parg:ident),*) = $pbody:expr;)* }
     $($name:ident($($arg:ident: $kind:ident),* $(; $k:ident)?) -> $ret:ident = $body:expr;)*) => {
        /// A pure micro-op: registers in, one register out, no other effect.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Op { $($pname,)* $($name,)* }

        impl Op {
            /// Every micro-op in declaration order.
            pub const ALL: &'static [Op] = &[$(Op::$pname,)* $(Op::$name,)*];
            /// Kinds of the operands.
            pub const fn args(self) -> &'static [Kind] {
                match self {
                    $(Op::$pname => &[$({ stringify!($parg); Kind::P }),*],)*
                    $(Op::$name => &[$(Kind::$kind),*],)*
                }
            }
            /// Kind of the result.
            pub const fn ret(self) -> Kind {
                match self { $(Op::$pname => Kind::P,)* $(Op::$name => Kind::$ret,)* }
            }
            /// The micro-op's name, as dumps show it.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$pname => stringify!($pname),)* $(Op::$name => stringify!($name),)* }
            }
        }

        /// The scalar function behind each micro-op, for inlining into lane loops.
        #[allow(non_snake_case, missing_docs, unused_variables)]
        pub mod lane_fn {
            $(#[inline(always)] pub fn $pname($($parg: u32),*) -> u32 { $pbody })*
            $(#[inline(always)] pub fn $name($($arg: lane!($kind),)* k: u32) -> lane!($ret) {
                $(let $k = k;)?
                $body
            })*
        }

        /// Evaluates `op` on one lane. Values are zero-extended; a predicate is 0 or 1.
        ///
        /// Operands that `op` does not have are ignored.
        pub fn eval(op: Op, args: [u64; 3], k: u32) -> u64 {
            match op {
                $(Op::$pname => {
                    let mut it = args.into_iter();
                    $(let $parg = (it.next().unwrap_or(0) & 1) as u32;)*
                    let _ = it;
                    (lane_fn::$pname($($parg),*) & 1) as u64
                })*
                $(Op::$name => {
                    let mut it = args.into_iter();
                    $(let $arg = <lane!($kind) as Lane>::from_bits(it.next().unwrap_or(0));)*
                    let _ = it;
                    Lane::to_bits(lane_fn::$name($($arg,)* k))
                })*
            }
        }
    };
}

pure_ops!(define_ops);

impl Op {
    /// The micro-op to run where the processor has no fused multiply-add: the same bits by other
    /// means. (The fused ones are right everywhere, but slow without the instruction.)
    pub const fn without_fma(self) -> Op {
        match self {
            Op::FmaF32 => Op::FmaSoftF32,
            Op::FmaFtzF32 => Op::FmaFtzSoftF32,
            Op::FmaF64 => Op::FmaSoftF64,
            op => op,
        }
    }
}

/// Conversion between a lane value and its 64-bit carrier.
pub trait Lane: Copy {
    /// From the zero-extended carrier.
    fn from_bits(bits: u64) -> Self;
    /// To the zero-extended carrier.
    fn to_bits(self) -> u64;
}
impl Lane for u32 {
    fn from_bits(bits: u64) -> u32 {
        bits as u32
    }
    fn to_bits(self) -> u64 {
        self as u64
    }
}
impl Lane for u64 {
    fn from_bits(bits: u64) -> u64 {
        bits
    }
    fn to_bits(self) -> u64 {
        self
    }
}
impl Lane for bool {
    fn from_bits(bits: u64) -> bool {
        bits & 1 != 0
    }
    fn to_bits(self) -> u64 {
        self as u64
    }
}

/// Integer helpers whose definition does not fit a line.
pub mod int {
    macro_rules! division {
        ($($u:ident $s:ident $div_u:ident $rem_u:ident $div_s:ident $rem_s:ident;)*) => {$(
            /// Unsigned quotient; all ones when the divisor is 0 (as recorded on hardware).
            #[inline(always)]
            pub fn $div_u(a: $u, b: $u) -> $u {
                if b == 0 { $u::MAX } else { a / b }
            }
            /// Unsigned remainder; all ones when the divisor is 0.
            #[inline(always)]
            pub fn $rem_u(a: $u, b: $u) -> $u {
                if b == 0 { $u::MAX } else { a % b }
            }
            /// Signed quotient; all ones when the divisor is 0, and MIN / -1 wraps.
            #[inline(always)]
            pub fn $div_s(a: $u, b: $u) -> $u {
                if b == 0 { $u::MAX } else { (a as $s).wrapping_div(b as $s) as $u }
            }
            /// Signed remainder; all ones when the divisor is 0.
            #[inline(always)]
            pub fn $rem_s(a: $u, b: $u) -> $u {
                if b == 0 { $u::MAX } else { (a as $s).wrapping_rem(b as $s) as $u }
            }
        )*};
    }
    division! {
        u32 i32 div_u32 rem_u32 div_s32 rem_s32;
        u64 i64 div_u64 rem_u64 div_s64 rem_s64;
    }

    /// Bitwise function of three operands by its truth table `k` (PTX ISA `lop3`).
    #[inline(always)]
    pub fn lop3(a: u32, b: u32, c: u32, k: u32) -> u32 {
        let mut r = 0;
        for i in 0..8 {
            // All ones where the table has a one at this combination.
            let on = 0u32.wrapping_sub(k >> i & 1);
            let x = if i & 4 != 0 { a } else { !a };
            let y = if i & 2 != 0 { b } else { !b };
            let z = if i & 1 != 0 { c } else { !c };
            r |= on & x & y & z;
        }
        r
    }

    macro_rules! fields {
        ($($u:ident $s:ident $bits:literal $field:ident $bfe_u:ident $bfe_s:ident;)*) => {$(
            /// Ones at positions `pos .. pos + len`, cut at the width.
            #[inline(always)]
            pub fn $field(pos: u32, len: u32) -> $u {
                let ones = if len >= $bits { $u::MAX } else { (1 << (len & ($bits - 1))) - 1 };
                if pos >= $bits { 0 } else { ones << (pos & ($bits - 1)) }
            }
            /// Unsigned bit field of `a`: `len` bits from `pos`.
            #[inline(always)]
            pub fn $bfe_u(a: $u, pos: u32, len: u32) -> $u {
                let down = if pos >= $bits { 0 } else { a >> (pos & ($bits - 1)) };
                down & $field(0, len)
            }
            /// Signed bit field; bits beyond the width repeat the field's (or the value's) top bit.
            #[inline(always)]
            pub fn $bfe_s(a: $u, pos: u32, len: u32) -> $u {
                let top = pos.saturating_add(len).saturating_sub(1).min($bits - 1);
                let sign = if len == 0 { 0 } else { (0 as $u).wrapping_sub(a >> top & 1) };
                let held = len.min(($bits as u32).saturating_sub(pos));
                let mask = $field(0, held);
                $bfe_u(a, pos, len) & mask | sign & !mask
            }
        )*};
    }
    fields! {
        u32 i32 32 field32 bfe_u32 bfe_s32;
        u64 i64 64 field64 bfe_u64 bfe_s64;
    }

    /// Position of the `n`-th set bit of `mask` from bit `base` on; all ones when there is none.
    /// Positive `n` counts upwards starting with 1 at `base`, negative downwards, 0 asks for bit
    /// `base` itself (PTX ISA `fns`).
    #[inline(always)]
    pub fn fns(mask: u32, base: u32, n: u32) -> u32 {
        let n = n as i32;
        let mut left = if n == 0 { 1 } else { n.unsigned_abs() };
        let mut found = u32::MAX;
        for i in 0..32u32 {
            let at = if n < 0 { base.wrapping_sub(i) } else { base.wrapping_add(i) };
            // A base outside the word finds nothing (recorded on hardware).
            let hit = base < 32 && at < 32 && mask >> (at & 31) & 1 != 0 && (n != 0 || i == 0);
            left = left.wrapping_sub(hit as u32);
            found = if hit && left == 0 { at } else { found };
        }
        found
    }

    /// Extends the low `b` bits of `a`; bit 0 of `k`: by sign, bit 1: `b` is clamped, not wrapped.
    #[inline(always)]
    pub fn szext(a: u32, b: u32, k: u32) -> u32 {
        let n = if k & 2 != 0 { b.min(32) } else { b & 31 };
        let mask = field32(0, n);
        let sign = if k & 1 != 0 && n > 0 {
            0u32.wrapping_sub(a >> ((n.wrapping_sub(1)) & 31) & 1)
        } else {
            0
        };
        a & mask | sign & !mask
    }

    /// Half of the product of two polynomials over the bits: the upper one where `k` is 1.
    #[inline(always)]
    pub fn clmul(a: u64, b: u64, k: u32) -> u64 {
        let product = (0..64).fold(0u128, |sum, i| {
            // All ones where the bit is set.
            sum ^ u128::from(b) << i & 0u128.wrapping_sub(u128::from(a >> i & 1))
        });
        (product >> (64 * (k & 1))) as u64
    }

    /// Byte permutation of `b:a` (PTX ISA `prmt`).
    #[inline(always)]
    pub fn prmt(a: u32, b: u32, c: u32, k: u32) -> u32 {
        let bytes = (b as u64) << 32 | a as u64;
        let i = c & 3;
        let mut r = 0;
        for n in 0..4u32 {
            let (pick, sign) = match k {
                0 => (c >> (4 * n) & 7, c >> (4 * n + 3) & 1),
                1 => (i + n, 0),
                2 => (i.wrapping_sub(n) & 7, 0),
                3 => (i, 0),
                4 => (i.max(n), 0),
                5 => (i.min(n), 0),
                _ => ((i & 1) * 2 + (n & 1), 0),
            };
            let byte = (bytes >> (8 * pick)) as u8;
            let byte = if sign != 0 { (byte as i8 >> 7) as u8 } else { byte };
            r |= (byte as u32) << (8 * n);
        }
        r
    }
}
