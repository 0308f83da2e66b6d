//! `libcudart.so.13`: the CUDA runtime API for programs that nvcc builds with `-cudart shared`. With `cfg(cuda12)` it
//! is `libcudart.so.12` (crate `cuda-runtime-12`).
//!
//! A layer over the driver API of `libcuda.so.1`, which it loads like any other program: a process that uses both APIs
//! sees one device, one primary context and the same handles. What the layer itself holds is small: what the program's
//! start-up code registered (`registry`), and per host thread the device, the last error and the configurations of
//! launches in flight (`state`).
//!
//! Functions have the names, arguments and results of the CUDA Runtime API manual; a comment stands only where the
//! manual leaves something open. The registration functions are those that the toolkit's `crt/host_runtime.h` declares.

mod api;
mod driver;
mod error;
mod registry;
mod state;
mod types;
