//! Tools of the repository. `cargo xtask golden --help` lists them.
//!
//! `golden compare` and `golden record` run the recorded kernels through any library with the CUDA
//! driver API; `golden pack` makes the archives that the repository keeps. `opencl` compares the OpenCL C
//! compiler with clang and feeds its output to ptxas. `verdicts` compares the verifier with ptxas. `bench` measures speed, `structure` the sources. `dist` makes what is
//! shipped.

mod bench;
mod device;
mod driver;
mod opencl;
mod pack;
mod packages;
mod rng;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};
use golden::Golden;

#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Recorded results of instructions
    #[command(subcommand)]
    Golden(GoldenTask),
    /// The OpenCL C compiler against clang and ptxas
    #[command(subcommand)]
    Opencl(opencl::Task),
    /// The verifier's verdicts beside those of ptxas, by source and target
    Verdicts(verdicts::Options),
    /// Times: through the drivers beside others, of builds, checks and the debugger
    #[command(subcommand)]
    Bench(bench::Task),
    /// Manual pages and shell completions of the command
    Pages {
        /// The folder that gets man/, bash/, zsh/ and fish/
        out: PathBuf,
    },
    /// The wheel, the tarball, the Debian package and their checksums
    Dist {
        /// Where they go
        #[arg(long, default_value = "target/packages")]
        out: PathBuf,
        /// Install each in a bare Debian, and time the way to the first result (as root, with debootstrap)
        #[arg(long)]
        install: bool,
        /// The processor that they are for: x86_64 or aarch64; this machine's without it
        #[arg(long, conflicts_with = "install")]
        machine: Option<String>,
    },
    /// Circles between files, long functions and long files, for each crate
    Structure {
        /// Only these crates
        crates: Vec<String>,
    },
}

#[derive(Subcommand)]
enum GoldenTask {
    /// Run every recorded form and compare bit for bit; the exit status is 1 if any differs
    Compare(On),
    /// Run every form on the recorded operands and write a folder that `PTXRUN_GOLDEN` can name
    Record {
        #[command(flatten)]
        on: On,
        /// The new folder
        #[arg(long)]
        out: PathBuf,
        /// Runs of each form; one that differs between runs is left out
        #[arg(long, default_value_t = 3)]
        repeat: u32,
    },
    /// Make golden/data from the full recordings
    Pack {
        /// Folder that holds isa-golden and kernel-golden
        #[arg(long, default_value = "../shared")]
        from: PathBuf,
    },
}

/// What runs where.
#[derive(Args)]
struct On {
    /// Library with the CUDA driver API
    #[arg(long, default_value = "libcuda.so.1", env = "CUDA_LIB")]
    lib: PathBuf,
    /// Recordings, a folder or an archive [default: beside the repository, else its own]
    #[arg(long)]
    from: Option<PathBuf>,
    /// Another operand set for these forms: a folder with tables.json, inputs.bin.gz, …
    #[arg(long)]
    set: Option<PathBuf>,
    /// Only these groups, separated by commas
    #[arg(long, value_delimiter = ',')]
    group: Vec<String>,
    /// Only these forms, separated by commas
    #[arg(long, value_delimiter = ',')]
    form: Vec<String>,
    /// Load every form as a module of its own
    #[arg(long)]
    per_form: bool,
}

impl On {
    fn golden(&self) -> Result<Golden> {
        match (&self.from, &self.set) {
            (Some(from), Some(set)) => Golden::load_set(from, set),
            (Some(from), None) => Golden::load(from),
            (None, Some(set)) => Golden::load_set(&golden::packed("isa-golden"), set),
            (None, None) => {
                return Golden::shared().context("no recordings; name them with --from");
            }
        }
        .context("recordings")
    }

    fn wants(&self, form: &golden::Form) -> bool {
        (self.group.is_empty() || self.group.iter().any(|g| g == form.group()))
            && (self.form.is_empty() || self.form.iter().any(|f| f == form.name()))
    }
}

fn main() -> Result<ExitCode> {
    let task = match Task::parse() {
        Task::Golden(task) => task,
        Task::Opencl(task) => return opencl::run(task),
        Task::Verdicts(options) => return verdicts::run(&options),
        Task::Bench(options) => return bench::run(&options),
        Task::Pages { out } => {
            packages::pages(&out)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Dist { out, install, machine } => {
            return packages::dist(&out, install, machine.as_deref());
        }
        Task::Structure { crates } => {
            structure::print(
                Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")),
                &crates,
            )?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    match task {
        GoldenTask::Compare(on) => device::compare(&on),
        GoldenTask::Record { on, out, repeat } => device::record(&on, &out, repeat),
        GoldenTask::Pack { from } => pack::pack(&from),
    }
}
