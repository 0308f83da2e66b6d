//! An OpenCL 3.0 driver without a GPU (`cl_khr_icd`), over [`ptx_runtime`]. Program binaries are PTX.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the API functions |
//! | [`dispatch`] | the table that the loader calls through, and the exported symbols |
//! | [`entry`] | what the functions return; [`c_border`] is the border to C |
//! | [`cl`] | constants of the API |
//! | [`registry`] | handles and their reference counts; it knows none of the objects |
//! | [`platform`], [`device`], [`context`], [`queue`], [`event`], [`memory`], [`sampler`], [`program`], [`kernel`] | one kind of object each |
//! | [`range`] | ranges of work-items, and the launches that they take |
//! | [`features`] | what OpenCL 2.0 to 3.0 ask devices |
//! | [`svm`] | memory that host and kernels see at one address |
//! | [`image`], [`image_format`] | what makes a memory object an image |
//! | [`schedule`] | runs commands when what they wait for is done |
//! | [`callbacks`] | calls of the host program's functions |
//! | [`binary`] | programs as text: PTX with what hosts need to know about its kernels, and compiled objects |
//! | [`region`] | rectangles in buffers and images |

#[cfg(not(target_pointer_width = "64"))]
compile_error!("device pointers have 64 bits");

pub mod api;
pub mod binary;
pub mod callbacks;
pub mod cl;
pub mod context;
pub mod device;
pub mod dispatch;
pub mod entry;
pub mod event;
pub mod features;

pub mod image;
pub mod image_format;
pub mod kernel;
mod left;
pub mod memory;
mod moves;
pub mod partition;
pub mod platform;
pub mod program;
pub mod queue;
pub mod range;
pub mod region;
pub mod registry;
pub mod sampler;
pub mod schedule;
pub mod svm;
