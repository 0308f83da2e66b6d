//! Kernels on their way to machine code, as text.

use ptx_jit::Options;

use crate::backend::bundled_sizes;
use crate::verified::Verified;

/// A form of a kernel on its way to machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// The middle form after all passes.
    Ir,
    /// What Cranelift is given.
    Clif,
    /// Machine code.
    Asm,
}

impl Verified {
    /// A kernel on its way to machine code for blocks of one shape, as text; `None` when there is no
    /// such kernel. Then `fast_nan` and `fast_approx` of [`crate::LaunchConfig`].
    ///
    /// # Errors
    /// Why it is not compiled.
    pub fn dump(
        &self,
        entry: &str,
        block: [u32; 3],
        [fast_nan, fast_approx]: [bool; 2],
        what: Dump,
    ) -> Option<Result<String, String>> {
        let kernel = match self.kernel(entry)? {
            Ok(kernel) => kernel,
            Err(refusal) => return Some(Err(refusal.to_string())),
        };
        let dump = match what {
            Dump::Ir => ptx_jit::dump,
            Dump::Clif => ptx_jit::dump_clif,
            Dump::Asm => ptx_jit::dump_asm,
        };
        // As for a launch of a few blocks with small parameters, which is what most code is made for.
        let options = Options { fast_nan, fast_approx, ..Options::default() };
        let text = bundled_sizes(kernel.program(), |[small, _]| {
            dump(kernel.program(), block, Some(small), options)
        });
        Some(text.map_err(|why| why.to_string()))
    }
}
