//! Code with 512-bit vectors (AVX-512), which Cranelift cannot make: its form is lowered here, registers are assigned by
//! `regalloc2`, as in Cranelift itself, and the instructions are encoded by `iced-x86`.
//!
//! `words` extends the form, `lower` (with `scalars` and `vectors`) selects instructions, `machine` is what the allocator
//! reads, `encode` writes the code.

pub(crate) mod encode;
mod lower;
mod machine;
mod scalars;
mod vectors;
pub(crate) mod words;

use cranelift_codegen::Context;
use cranelift_codegen::isa::TargetIsa;
use regalloc2::RegallocOptions;

pub(crate) use encode::Machine;

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
