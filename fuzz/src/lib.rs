//! What is fuzzed: a function of bytes for each target.
//!
//! A target returns, whatever the bytes are. A panic, a hang, an access outside of its memory, or a result that breaks
//! what the target promises, is a finding. `fuzz/run` mutates inputs with libFuzzer; `tests/replay.rs` runs the inputs
//! that are kept in `corpus/`, among them every one that ever found something.
//!
//! | target | bytes are |
//! | --- | --- |
//! | `parse`, `verify`, `execute`, `link` | PTX text: read and printed; verified and lowered; run; several, linked |
//! | `opencl` | a byte of options and OpenCL C: preprocessed, compiled, verified |
//! | `container`, `cache`, `fatbin`, `elf` | files that are loaded: as they are, and with their checksums put right |
//! | `launch`, `npy` | a launch file, an array |
//! | `differential` | PTX text: the interpreter and compiled code do the same |
//! | `kernels` | choices from which a kernel of the instructions of `tests/ptx/eval` is made: likewise |
//! | `cuda`, `opencl_calls` | a sequence of calls of the CUDA driver, of the OpenCL driver |

mod bytes;
mod calls;
mod cuda;
mod engines;
mod files;
pub mod hostile;
mod kernels;
mod opencl_calls;
mod texts;

pub use calls::steps;

/// What a target does with an input.
pub type Target = fn(&[u8]);

/// The targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("parse", texts::parse),
    ("verify", texts::verify),
    ("execute", texts::execute),
    ("link", texts::link),
    ("opencl", texts::opencl),
    ("container", files::container),
    ("cache", files::cache),
    ("fatbin", files::fatbin),
    ("elf", files::elf),
    ("launch", files::launch),
    ("npy", files::npy),
    ("differential", engines::differential),
    ("kernels", kernels::kernels),
    ("cuda", cuda::cuda),
    ("opencl_calls", opencl_calls::opencl_calls),
];

/// Runs the target of that name.
///
/// # Panics
/// When the target finds something, or there is no such target.
pub fn any(name: &str, data: &[u8]) {
    let (_, target) =
        TARGETS.iter().find(|(known, _)| *known == name).expect("the name of a target");
    target(data);
}
