//! What would this kernel cost on that GPU, and why.
//!
//! The static part, independent of how a kernel is executed:
//! - [`profile`]: devices as TOML data with a source for every number,
//! - [`occupancy`]: how many blocks an SM holds, and which limit says so,
//! - [`coalesce`], [`banks`], [`constant`], [`atomic`]: what one memory instruction of one warp
//!   costs, per generation, as pure functions of the lane addresses,
//! - [`cache`], [`dram`]: caches and device memory with queueing.
//!
//! And the dynamic part, which replays what a kernel executed ([`event`]) on a device's SMs
//! ([`sim`]). [`simulate`] runs a kernel in the interpreter, does so at the same time, and gives a
//! [`Report`].

pub mod access;
mod addresses;
mod allocate;
mod arguments;
mod assemble;
pub mod atomic;
pub mod banks;
mod bits;
pub mod budget;
mod bytes;
pub mod cache;
mod chains;
pub mod coalesce;
pub mod code;
mod common_subexpressions;
pub mod constant;
mod constants;
pub mod dram;
mod effects;
pub mod event;
mod facts;
mod flights;
mod fold;
mod fragments;
mod fuse;
mod half_pairs;
mod halves;
mod handover;
mod host;
mod lanes;
mod layout;
mod live;
mod loop_body;
mod moves;
pub mod occupancy;
mod order;
mod paths;
mod pattern;
mod predicate;
mod pressure;
pub mod profile;
mod reciprocals;
mod register_arrays;
pub mod registers;
mod repeated;
pub mod replay;
pub mod report;
mod rotate;
mod routines;
mod rungs;
mod schedule;
mod scoreboard;
mod selections;
mod sequence;
mod signs;
pub mod sim;
mod spill;
mod transfer;
mod trips;
mod tuples;
mod uniform;
mod unroll;
mod uses;
mod words;
pub mod work;

pub use access::WarpAccess;
pub use profile::{Catalog, Profile, ProfileError};
pub use ptx_isa as isa;
pub use ptx_isa::Class;
pub use replay::{Options, ReplayError, simulate};
pub use report::Report;
pub use sim::{Config, SimulateError, WarpChoice};
