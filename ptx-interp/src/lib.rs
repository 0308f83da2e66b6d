//! Executes PTX kernels warp by warp.
//!
//! [`Kernel::decode`] turns a lowered [`Program`](ptx_parse::code::Program) into a dense stream of
//! instructions; [`launch`] runs it over a grid on host threads, against a [`Memory`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`memory`] | global and constant memory: reserved region, allocations |
//! | `decode`, `code`, `liveness` | lowered code to the executed stream |
//! | `rows`, `lanes`, `access` | register rows; pure micro-ops; loads and stores of a warp |
//! | `control`, `calls` | diverged lanes and where they meet; functions |
//! | `exec`, `effects`, `machine`, `barrier`, `atomic`, `system`, `printf` | the main loop and effects |
//! | `cta`, [`mod@launch`], [`observer`] | blocks, grids, host threads; events |
//! | `fault`, [`report`] | what a stopped launch says |

mod access;
mod atomic;
mod barrier;
mod calls;
mod code;
mod control;
mod cta;
mod decode;
mod effects;
mod exec;
mod fault;
mod lanes;
pub mod launch;
mod liveness;
mod machine;
pub mod memory;
pub mod observer;
mod printf;
mod region;
pub mod report;
mod rows;
mod system;
mod worker;

pub use code::Kernel;
pub use lanes::Isa;
pub use launch::{
    Checked, LaunchError, LaunchParams, Stats, Textures, launch, launch_block, launch_observed,
};
pub use memory::{Access, Allocation, HostSpan, Memory, MemoryError};
pub use report::{FaultKind, Report};
