//! The OpenCL C compiler against clang and ptxas. Both are oracles: nothing else in the workspace needs them.

pub(crate) mod compilers;
mod counts;
mod ptxas;
mod random;
mod runtimes;
mod samples;
mod time;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use runtimes::builds;

/// `cargo xtask opencl`.
#[derive(Subcommand)]
pub enum Task {
    /// Executed instructions of the samples, compiled here and by clang; the exit status is 1 above the limits
    Counts {
        /// The other compiler
        #[arg(long, default_value = "clang-19")]
        clang: PathBuf,
        /// Only samples whose path contains this
        #[arg(long)]
        only: Option<String>,
        /// Where to leave both compilers' PTX
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    /// Time from source to PTX against clang and an OpenCL runtime, process to process and within one process
    Time {
        /// The other compiler
        #[arg(long, default_value = "clang-19")]
        clang: PathBuf,
        /// The `ptxrun` to measure
        #[arg(long, default_value = "target/release/ptxrun")]
        ptxrun: PathBuf,
        /// The OpenCL platform whose name contains this
        #[arg(long, default_value = "Portable Computing Language")]
        opencl: String,
        /// Runs of each; the shortest counts
        #[arg(long, default_value_t = 11)]
        runs: usize,
    },
    /// Build one source with an OpenCL runtime, for `time`
    #[command(hide = true)]
    Build {
        /// The platform whose name contains this
        #[arg(long)]
        opencl: String,
        /// OpenCL C
        source: PathBuf,
    },
    /// Random programs: our results, with and without optimisation, clang's and the host's must agree
    Random {
        /// How many kernels
        #[arg(long, default_value_t = 1000)]
        count: usize,
        /// The first one's seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Compile with clang too
        #[arg(long)]
        clang: Option<PathBuf>,
        /// Where failing programs are left
        #[arg(long, default_value = "target/random")]
        keep: PathBuf,
    },
    /// Assemble the PTX of every sample and test program with ptxas, with optimisation, without, and with line numbers
    Ptxas {
        /// The assembler
        #[arg(long, default_value = "ptxas")]
        ptxas: PathBuf,
        /// Architectures
        #[arg(long, value_delimiter = ',', default_values_t = [75, 80, 86, 87, 89, 90])]
        sm: Vec<u32>,
        /// Further folders with .cl files, assembled with optimisation only
        #[arg(long)]
        folder: Vec<PathBuf>,
    },
}

/// Runs one of them.
pub fn run(task: Task) -> Result<ExitCode> {
    let passed = match task {
        Task::Counts { clang, only, keep } => {
            counts::counts(&clang, only.as_deref(), keep.as_deref())?
        }
        Task::Random { count, seed, clang, keep } => {
            random::random(count, seed, clang.as_deref(), &keep)?
        }
        Task::Time { clang, ptxrun, opencl, runs } => time::time(&clang, &ptxrun, &opencl, runs)?,
        Task::Build { opencl, source } => {
            builds(&opencl, &[std::fs::read_to_string(source)?], 1)?;
            true
        }
        Task::Ptxas { ptxas, sm, folder } => ptxas::assemble(&ptxas, &sm, &folder)?,
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
