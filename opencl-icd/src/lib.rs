//! An OpenCL 1.2 driver without a GPU (`cl_khr_icd`), over [`ptx_runtime`]. Program binaries are PTX.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the API functions |
//! | [`dispatch`] | the table that the loader calls through, and the exported symbols |
//! | [`ffi`] | the border to C: pointers, callbacks; the only unsafe code |
//! | [`cl`] | constants of the API |
//! | [`registry`] | handles and their reference counts |
//! | [`platform`], [`device`], [`context`], [`queue`], [`event`], [`memory`], [`image`], [`sampler`], [`program`], [`kernel`] | one kind of object each |
//! | [`schedule`] | runs commands when what they wait for is done |
//! | [`binary`] | programs as text: PTX with what hosts need to know about its kernels, and compiled objects |
//! | [`region`] | rectangles in buffers and images |
//! | [`answer`] | what the `clGet…Info` functions write |

#[cfg(not(target_pointer_width = "64"))]
compile_error!("device pointers have 64 bits");

pub mod answer;
pub mod api;
pub mod binary;
pub mod cl;
pub mod context;
pub mod device;
pub mod dispatch;
pub mod event;
pub mod ffi;
pub mod image;
pub mod kernel;
pub mod memory;
pub mod platform;
pub mod program;
pub mod queue;
pub mod region;
pub mod registry;
pub mod sampler;
pub mod schedule;
