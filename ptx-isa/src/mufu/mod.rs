//! The hardware's approximate functions, bit for bit.
//!
//! `rcp rsqrt sqrt ex2 lg2 sin cos tanh` with `.approx` are piecewise quadratic interpolation in fixed point: a
//! table indexed by the leading argument bits gives three coefficients, the rest of the argument and its truncated
//! square multiply them, and the sum is cut. That is known exactly for compute capability 9.0 and equals the
//! hardware on all 2^32 inputs of each form. Older and newer targets have the same unit, but their tables are not
//! recorded: they get these.
//!
//! All functions work on bits. The plain ones take one value, the single-precision ones without branches; `*_lanes`
//! run a warp at once.

#[cfg(target_arch = "x86_64")]
pub mod avx512;
mod datapath;
mod division;
mod double;
mod functions;
mod lanes;
mod lenient;
mod narrow;
mod tables;

pub use division::{div_approx, div_full, scaled_dividend as dividend, scaled_divisor as divisor};
pub use double::{rcp_approx_f64, rsqrt_approx_f64, rsqrt_approx_ftz_f64};
pub use functions::{
    cos_approx, ex2_approx, lg2_approx, rcp_approx, rsqrt_approx, sin_approx, sqrt_approx,
    tanh_approx,
};
pub use lanes::{
    LANES, Warp, cos_approx_lanes, div_approx_lanes, div_full_lanes, ex2_approx_lanes,
    lg2_approx_lanes, rcp_approx_lanes, rsqrt_approx_lanes, sin_approx_lanes, sqrt_approx_lanes,
    tanh_approx_lanes,
};
pub use lenient::{Lenient, lenient_f64};
pub use narrow::{
    ex2_approx_bf16, ex2_approx_bf16x2, ex2_approx_f16, ex2_approx_f16x2, tanh_approx_bf16,
    tanh_approx_bf16x2, tanh_approx_f16, tanh_approx_f16x2,
};
