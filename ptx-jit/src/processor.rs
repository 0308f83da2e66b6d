//! What the processor has. The build script reads this file too: tests of code with vectors of 256 and 512 bits are
//! ignored where they cannot run.

/// Whether the processor has AVX2 and fused multiply-add.
pub(crate) fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the processor has the AVX-512 subsets of servers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// Whether the processor has what code with 256-bit vectors uses: AVX2 as of Haswell and Zen.
pub(crate) fn runs_256_bit_code() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        has_fma() && is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the processor has what code with 512-bit vectors uses: AVX-512 as of Ice Lake and Zen 4.
pub(crate) fn runs_512_bit_code() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        runs_256_bit_code()
            && has_avx512()
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512vpopcntdq")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
