//! Code with 512-bit vectors (AVX-512), which Cranelift cannot make: its form is lowered here, registers are assigned by
//! `regalloc2`, as in Cranelift itself, and the instructions are encoded by `iced-x86`.
//!
//! `words` extends the form, `lower` (with `scalars` and `vectors`) selects instructions, `machine` is what the allocator
//! reads, `encode` writes the code.

pub(crate) mod encode;
mod lower;
mod machine;
mod memory;
mod scalars;
#[cfg(test)]
mod tests;
mod thunk;
mod vectors;
pub(crate) mod words;

use cranelift_codegen::Context;
use cranelift_codegen::isa::TargetIsa;
use regalloc2::RegallocOptions;

pub(crate) use encode::Machine;
pub(crate) use thunk::thunks;

/// Whether such code is made here: the processor has AVX-512 as of Ice Lake and Zen 4, and `PTXRUN_JIT_BITS` is not 128.
pub(crate) fn here() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static HAS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *HAS.get_or_init(|| {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && crate::lanes::has_fma()
                && environment::jit_bits().ok().flatten() != Some(128)
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Compiles a function with 512-bit vectors.
///
/// # Errors
/// The operation that has no form here.
pub(crate) fn compile(cx: &mut Context, isa: &dyn TargetIsa) -> Result<Machine, String> {
    let fail = |e: cranelift_codegen::CodegenError| format!("{e:?}");
    cx.compute_cfg();
    cx.compute_domtree();
    cx.eliminate_unreachable_code(isa).map_err(fail)?;
    cx.remove_constant_phis(isa).map_err(fail)?;
    cx.func.dfg.resolve_all_aliases();
    let lowered = lower::lower(&cx.func)?;
    let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..Default::default() };
    let out = regalloc2::run(&lowered.code, &machine::environment(), &options)
        .map_err(|e| format!("{e:?}"))?;
    encode::encode(&lowered.code, &out, &lowered.pool)
}
