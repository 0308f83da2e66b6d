//! The `ptxrun` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ptxrun::commands::start()
}
