//! Lowered program to middle form: inlines calls, turns registers into SSA values.
//!
//! `inline` makes one list of blocks over variables (`raw`) of the kernel and all that it calls, `promote` turns cells
//! of local memory into variables, and `ssa` variables into values.

mod address;
mod inline;
mod promote;
mod raw;
mod ssa;

use ptx_parse::code::Program;

use crate::ir::Func;
use crate::unsupported::Unsupported;

/// The middle form of a program, before any pass.
pub(crate) fn build(program: &Program) -> Result<Func, Unsupported> {
    let (mut raw, taken) = inline::inline(program)?;
    promote::promote(&mut raw, &taken);
    Ok(ssa::ssa(&raw, program.param_bytes))
}
