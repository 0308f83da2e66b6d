//! Times: through the drivers beside others, of builds, checks and the debugger.

mod builds;
mod cases;
mod checks;
mod drivers;
mod ours;
mod spread;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::Subcommand;

/// `cargo xtask bench`.
#[derive(Subcommand)]
pub enum Task {
    /// Host programs in C through the OpenCL loader, with our driver and with others, and through `libcuda.so.1`
    Drivers(drivers::Options),
    /// Two builds of `ptxrun`: processor time of parser, interpreter, JIT and timing model, in pairs
    Builds(builds::Options),
    /// The checkers: how much longer kernels take under each
    Checks(checks::Options),
    /// The debugger: forward speed, steps back, conditions, traces, a plugin that counts
    Debugger {
        /// Where traces are written: a folder on the disk that is meant
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Only kernels whose name contains this
        #[arg(default_value = "")]
        only: String,
    },
}

/// Runs a benchmark.
pub fn run(task: &Task) -> Result<ExitCode> {
    match task {
        Task::Drivers(options) => drivers::run(options),
        Task::Builds(options) => builds::run(options),
        Task::Checks(options) => {
            checks::run(options)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Debugger { folder, only } => figures(folder, only),
    }
}

/// Runs the debugger's figures, which are an example of its crate: they are compiled as what is shipped.
fn figures(folder: &Path, only: &str) -> Result<ExitCode> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--release", "-p", "ptx-debug", "--example", "figures", "--"]);
    let status = cargo.arg(folder).arg(only).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
