//! Executes PTX kernels warp by warp.
//!
//! [`Kernel::decode`] turns a lowered [`Program`](ptx_parse::code::Program) into a dense stream of
//! instructions; [`launch`](fn@launch) runs it over a grid on host threads, against a [`Memory`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`memory`], `allocation`, `region` | global and constant memory: reserved region, allocations |
//! | `decode`, `code`, `liveness` | lowered code to the executed stream |
//! | `rows`, `lanes` | register rows; pure micro-ops |
//! | `access`, `word`, `shape` | loads and stores of a warp; how the addresses of its lanes lie to one another |
//! | `control`, `parted`, `calls` | diverged lanes and where they meet; functions |
//! | `worker`, `exec`, `effects` | one host thread; the main loop; effects |
//! | `ctx`, `view` | what handlers, and meanings over the warp, see of the executing warp |
//! | `atomic`, `clock`, `system`, `printf` | what effects are made of |
//! | `cta`, `geometry`, `grid` | blocks; sizes of a launch; what its host threads share |
//! | `params`, [`mod@launch`] | what a launch is given; launching |
//! | `block_queue`, `threads` | blocks over host threads |
//! | [`observer`], `moment` | events, and what can be seen of a warp meanwhile |
//! | `unified` | memory of the host that kernels see at its own address |
//! | `inspect` | any lane of the cluster under way: where it stands, registers, memory |
//! | `trouble`, `fault`, [`report`] | what a stopped launch says |

mod access;
mod allocation;
mod atomic;
mod block_queue;
mod calls;
mod clock;
mod code;
mod control;
mod cta;
mod ctx;
mod decode;
mod effects;
mod exec;
mod fault;
mod freed;
mod geometry;
mod grid;
mod inspect;
mod lanes;
pub mod launch;
mod liveness;
pub mod memory;
mod moment;
pub mod observer;
mod output;
mod params;
mod parted;
mod printf;
mod region;
pub mod report;
mod rows;
mod shape;
pub mod system;
mod threads;
mod trouble;
mod unified;
mod view;
mod word;
mod worker;

pub use allocation::{Access, Allocation, MemoryError, MemoryEvent, MemoryWatcher};
pub use block_queue::{BlockQueue, Relief};
pub use code::Kernel;
pub use geometry::MAX_SHARED;
pub use inspect::{Lane, Reconvergence, Split, Waits};
pub use lanes::Isa;
pub use launch::{Checked, launch, launch_block, launch_observed, launch_relieved};
pub use memory::{HostSpan, Memory, Saved};
pub use moment::{Moment, RegisterRow, place_of};
pub use output::Output;
pub use params::{LaunchError, LaunchParams, Stats, Textures};
pub use report::{FaultKind, Report};
pub use rows::LANE_BIT;
pub use unified::Unified;
