//! The parts of the `ptxrun` command, usable on their own: launch files, arguments, `.npy` files, comparison.

pub mod arg;
mod assemble;
pub mod cc;
pub mod cli;
pub mod commands;
pub mod compare;
mod exec;
pub mod from_args;
pub mod isa;
pub mod launch_file;
pub mod list;
pub mod npy;
pub mod output;
pub mod plan;
pub mod progress;
mod ptxas;
pub mod report;
pub mod run;
mod run_command;
mod sanitize;
mod source_file;
mod terminal;
pub mod texture;
mod timing;
pub mod toml_error;
pub mod values;
