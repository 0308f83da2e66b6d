//! The functions of CUDA's device runtime that kernels call, in place of the library `libcudadevrt.a`, which is
//! machine code: `cudaCGGetIntrinsicHandle` and `cudaCGSynchronize`, for kernels that synchronise their grid. Whoever
//! links adds the text where it is called for.

use ptx_parse::link::Input;

/// What the names of the functions begin with.
const PREFIX: &str = "cudaCG";

/// The functions.
const FUNCTIONS: &str = include_str!("device_runtime.ptx");

/// The functions as a further input of a link, if a text of it names them.
pub fn needed_by<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<Input<'static>> {
    texts
        .any(|text| text.contains(PREFIX))
        .then_some(Input { name: "device runtime", text: FUNCTIONS })
}

/// Whether a file that a linker is given is a library or an object of machine code. What programs need of the device
/// runtime is built in, so such a file is left out; a function that is missing without it is an error of the link.
#[must_use]
pub fn left_out(file: &[u8]) -> bool {
    file.starts_with(b"!<arch>\n") || file.starts_with(b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verified;

    #[test]
    fn the_functions_are_valid() {
        Verified::new(FUNCTIONS, "device_runtime.ptx").unwrap_or_else(|e| panic!("{e}"));
        assert!(needed_by([".extern .func cudaCGSynchronize;"].into_iter()).is_some());
        assert!(needed_by([".version 8.0"].into_iter()).is_none());
    }
}
