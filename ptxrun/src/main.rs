//! The `ptxrun` command.

use std::process::ExitCode;

use clap::Parser;
use ptxrun::cli::Cli;
use ptxrun::commands;

fn main() -> ExitCode {
    commands::main(Cli::parse())
}
