//! Whole warps: each function over 32 lanes, compiled for the baseline, AVX2 and AVX-512 from one body and chosen
//! at run time. The only `unsafe` here calls a version whose CPU features were just detected.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::{division, functions};

/// The lanes of a warp.
pub const LANES: usize = 32;

/// Register values of a warp, one per lane.
pub type Warp = [u32; LANES];

/// Defines `$name(inputs.., out, ftz)` over lanes from the scalar function `$scalar(inputs.., ftz)`; where AVX-512 has
/// a `$wide` form, from that.
macro_rules! lanes {
    ($(#[$doc:meta])* $name:ident, $scalar:path, $($x:ident),+ $(; $wide:ident)?) => {
        $(#[$doc])*
        pub fn $name($($x: &Warp,)+ out: &mut Warp, ftz: bool) {
            #[inline(always)]
            fn body($($x: &Warp,)+ out: &mut Warp, ftz: bool) {
                // Two loops, so that the form is no select inside the lanes.
                if ftz {
                    for i in 0..LANES {
                        out[i] = $scalar($($x[i],)+ true);
                    }
                } else {
                    for i in 0..LANES {
                        out[i] = $scalar($($x[i],)+ false);
                    }
                }
            }
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
                #[allow(unreachable_code)]
                fn avx512($($x: &Warp,)+ out: &mut Warp, ftz: bool) {
                    lanes!(@wide [$($wide)?] [$($x)+] out, ftz);
                    body($($x,)+ out, ftz);
                }
                #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
                fn avx2($($x: &Warp,)+ out: &mut Warp, ftz: bool) {
                    body($($x,)+ out, ftz);
                }
                match level() {
                    // SAFETY: level() has detected every feature that this version enables.
                    Level::Avx512 => return unsafe { avx512($($x,)+ out, ftz) },
                    // SAFETY: as above.
                    Level::Avx2 => return unsafe { avx2($($x,)+ out, ftz) },
                    Level::Baseline => {}
                }
            }
            body($($x,)+ out, ftz);
        }
    };
    (@wide [] [$($x:ident)+] $out:ident, $ftz:ident) => {};
    (@wide [$wide:ident] [$($x:ident)+] $out:ident, $ftz:ident) => {
        for g in 0..LANES / avx512::GROUP {
            $out.as_chunks_mut().0[g] = avx512::$wide($(&$x.as_chunks().0[g],)+ $ftz);
        }
        return;
    };
}

#[cfg(target_arch = "x86_64")]
#[derive(Copy, Clone)]
enum Level {
    Baseline,
    Avx2,
    Avx512,
}

/// The widest version this CPU can run, or what `PTXRUN_ISA` (`baseline`, `avx2`) asks for below that.
#[cfg(target_arch = "x86_64")]
#[inline]
fn level() -> Level {
    static LEVEL: std::sync::LazyLock<Level> = std::sync::LazyLock::new(|| {
        use environment::Isa;
        use std::arch::is_x86_feature_detected as has;
        // What is none of them is refused where a program starts.
        let most = environment::isa().ok().flatten();
        if most == Some(Isa::Baseline)
            || !(has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2"))
        {
            Level::Baseline
        } else if most == Some(Isa::Avx2)
            || !(has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl"))
        {
            Level::Avx2
        } else {
            Level::Avx512
        }
    });
    *LEVEL
}

#[inline(always)]
fn tanh(x: u32, _ftz: bool) -> u32 {
    functions::tanh_approx(x)
}

lanes!(
    /// [`rcp_approx`](functions::rcp_approx) over a warp.
    rcp_approx_lanes, functions::rcp_approx, x; rcp_approx
);
lanes!(
    /// [`rsqrt_approx`](functions::rsqrt_approx) over a warp.
    rsqrt_approx_lanes, functions::rsqrt_approx, x; rsqrt_approx
);
lanes!(
    /// [`sqrt_approx`](functions::sqrt_approx) over a warp.
    sqrt_approx_lanes, functions::sqrt_approx, x; sqrt_approx
);
lanes!(
    /// [`ex2_approx`](functions::ex2_approx) over a warp.
    ex2_approx_lanes, functions::ex2_approx, x; ex2_approx
);
lanes!(
    /// [`lg2_approx`](functions::lg2_approx) over a warp.
    lg2_approx_lanes, functions::lg2_approx, x; lg2_approx
);
lanes!(
    /// [`sin_approx`](functions::sin_approx) over a warp.
    sin_approx_lanes, functions::sin_approx, x; sin_approx
);
lanes!(
    /// [`cos_approx`](functions::cos_approx) over a warp.
    cos_approx_lanes, functions::cos_approx, x; cos_approx
);
lanes!(
    /// [`tanh_approx`](functions::tanh_approx) over a warp; `ftz` makes no difference.
    tanh_approx_lanes, tanh, x
);
lanes!(
    /// [`div_approx`](division::div_approx) over a warp.
    div_approx_lanes, division::div_approx, a, b; div_approx
);
lanes!(
    /// [`div_full`](division::div_full) over a warp.
    div_full_lanes, division::div_full, a, b; div_full
);
