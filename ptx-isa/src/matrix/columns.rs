//! The fused sum of [`super::dot`] for eight columns at once, vectorised over the columns.
//!
//! The only `unsafe` here calls a version whose CPU features were just detected.

/// Columns of B that are summed together.
pub(super) const WIDTH: usize = 8;

/// Terms of a group at most: more could overflow the 32-bit partial sums.
pub(super) const TERMS: usize = 16;

/// One lane per column.
pub(super) type Lanes = [i32; WIDTH];

/// For each of the rows of A given as (significands, exponents): the greatest exponent and the sum
/// of the cut products of every column. `top` comes in with the accumulators' exponents; `up` is
/// the shift that gives a product of significands its fraction bits.
pub(super) fn sums(
    am: &[i32],
    ae: &[i32],
    bm: &[Lanes],
    be: &[Lanes],
    up: u32,
    top: &mut Lanes,
) -> Lanes {
    debug_assert!(am.len() <= TERMS);
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn avx2(
            am: &[i32],
            ae: &[i32],
            bm: &[Lanes],
            be: &[Lanes],
            up: u32,
            top: &mut Lanes,
        ) -> Lanes {
            body(am, ae, bm, be, up, top)
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2") {
            // SAFETY: the features were detected on this CPU.
            return unsafe { avx2(am, ae, bm, be, up, top) };
        }
    }
    body(am, ae, bm, be, up, top)
}

#[inline(always)]
fn body(am: &[i32], ae: &[i32], bm: &[Lanes], be: &[Lanes], up: u32, top: &mut Lanes) -> Lanes {
    for (ea, eb) in ae.iter().zip(be) {
        for j in 0..WIDTH {
            top[j] = top[j].max(ea + eb[j]);
        }
    }
    let mut sum = [0i32; WIDTH];
    for ((ma, ea), (mb, eb)) in am.iter().zip(ae).zip(bm.iter().zip(be)) {
        for j in 0..WIDTH {
            let p = ma * mb[j];
            let sign = p >> 31;
            let mag = ((p ^ sign) - sign).cast_unsigned() << up;
            let shift = (top[j] - (ea + eb[j])).min(31);
            let cut = (mag >> shift.cast_unsigned()).cast_signed();
            sum[j] += (cut ^ sign) - sign;
        }
    }
    sum
}
