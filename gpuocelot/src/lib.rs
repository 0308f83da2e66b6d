//! `libgpuocelot.so`: one function that runs the only kernel of a PTX text on host memory.
//!
//! ```c
//! void ptx_run(const char *ptx, int n_args, void **args,
//!              int bx, int by, int bz, int gx, int gy, int gz, int shared);
//! ```
//!
//! `args[i]` is the value of parameter `i` itself, an integer or a host address, not a pointer to it. Kernels read and
//! write host memory directly. Texts are verified once and kept. The forms outside PTX that this interface's
//! callers write are taken ([`ptx_runtime::Verified::lenient`]). Whatever goes wrong ends the process with a report on
//! standard error: the interface has no other way to say it, and a wrong answer would be worse.

mod abi;
mod run;

pub use abi::ptx_run;
