//! The parts of the `ptxrun` command, usable on their own: launch files, arguments, `.npy` files, comparison.

pub mod arg;
pub mod cli;
pub mod commands;
pub mod compare;
pub mod from_args;
pub mod isa;
pub mod launch_file;
pub mod list;
pub mod npy;
pub mod output;
pub mod plan;
mod run_command;
pub mod toml_error;
pub mod values;
