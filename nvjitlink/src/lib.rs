//! nvJitLink without NVIDIA's: links PTX, fat binaries and what our `ptxas` wrote, and gives out a file that our driver
//! loads. Programs that link in their own process (numba-cuda, cuda.core) then run as they are. The functions are in
//! `libptxrun_core.so`; `nvjitlink-loader` is the `libnvJitLink.so.13` that hands calls on to them.
//!
//! The interface is that of CUDA 13.5; functions of a version are all the same one. Machine code and LTO-IR are refused
//! with what to hand over instead.

pub mod api;
mod link;
mod options;

pub use link::Status;
