//! Machine code of vectors that Cranelift does not have: its form is the input, registers are assigned by `regalloc2`,
//! as in Cranelift itself, and the instructions are encoded by `iced-x86`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `words` | extends the form by what it has no word for |
//! | `target` | a description of vectors and registers, which the rest is given |
//! | `encodings` | instructions on vectors by operation, element and width |
//! | `select`, `blocks` | what instructions can take from where; blocks |
//! | `scalars`, `integers`, `scalar_memory`, `compare`, `conditions`, `casts` | instructions on scalars and masks |
//! | `vectors`, `lanes`, `word_select`, `word_memory` | instructions on vectors |
//! | `halves` | the halves of 64-bit values one after the other, where registers do not hold both |
//! | `bitwise` | bitwise operations that are one instruction |
//! | `sequences`, `vector_masks` | what takes several instructions with 256 bits; masks that are vectors |
//! | `inst`, `registers` | what the allocator of registers reads |
//! | `assemble` | machine code |
//! | `thunk` | calls that keep all registers |

mod assemble;
mod bitwise;
mod blocks;
mod casts;
mod compare;
mod conditions;
mod copies;
mod encodings;
mod halves;
mod inst;
mod integers;
mod lanes;
mod registers;
mod scalar_memory;
mod scalars;
mod select;
mod sequences;
mod shapes;
mod target;
#[cfg(test)]
mod tests;
mod thunk;
mod vector_masks;
mod vectors;
mod word_memory;
mod word_select;
pub(crate) mod words;

use cranelift_codegen::Context;
use cranelift_codegen::isa::TargetIsa;
use regalloc2::RegallocOptions;

use self::target::Target;
use crate::blob::MachineCode;
use crate::form::Form;
use crate::processor;
use crate::thunk::Thunks;
use crate::unsupported::Unsupported;

/// The widest vectors that such code is made with here: those that the processor has and `PTXRUN_JIT_BITS` allows.
pub(crate) fn widest() -> Option<Form> {
    static WIDEST: std::sync::OnceLock<Option<Form>> = std::sync::OnceLock::new();
    *WIDEST.get_or_init(|| {
        let most = environment::jit_bits().ok().flatten();
        let allowed = |bits: u32| most.is_none_or(|most| most >= bits);
        if processor::runs_512_bit_code() && allowed(512) {
            Some(Form::AVX512)
        } else if processor::runs_256_bit_code() && allowed(256) {
            Some(Form::AVX2)
        } else {
            None
        }
    })
}

/// Code of the calls to helpers for a form of vectors, as [`crate::thunk::thunks`].
pub(crate) fn thunks(form: Form) -> Result<&'static (Vec<u8>, Thunks), Unsupported> {
    thunk::thunks(Target::of(form).ok_or_else(|| Unsupported::new(NO_TARGET))?)
}

const NO_TARGET: &str = "there are no such vectors";

/// Compiles a function with vectors of a form.
///
/// # Errors
/// The operation that has no instruction here.
pub(crate) fn compile(
    cx: &mut Context,
    isa: &dyn TargetIsa,
    form: Form,
) -> Result<MachineCode, String> {
    let target = Target::of(form).ok_or(NO_TARGET)?;
    let fail = |e: cranelift_codegen::CodegenError| format!("{e:?}");
    cx.compute_cfg();
    cx.compute_domtree();
    cx.eliminate_unreachable_code(isa).map_err(fail)?;
    cx.remove_constant_phis(isa).map_err(fail)?;
    cx.func.dfg.resolve_all_aliases();
    halves::part(&mut cx.func);
    let selected = blocks::select(&cx.func, target)?;
    let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..Default::default() };
    let out = regalloc2::run(&selected.code, &target.environment(), &options)
        .map_err(|e| format!("{e:?}"))?;
    assemble::assemble(&selected.code, &out, &selected.pool)
}
