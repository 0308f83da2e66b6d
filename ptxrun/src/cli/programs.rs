//! The options of what runs whole programs: on an emulated device, under checks, counting lines.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use ptx_runtime::check::Checks;

use super::{Common, checks, seed};

/// Which device and engine programs find.
#[derive(Args, Debug, Default)]
pub struct Emulation {
    /// Device that the program finds, such as sm_90 or h200 (PTXRUN_DEVICE)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Engine that runs its kernels (PTXRUN_BACKEND)
    #[arg(long, value_name = "ENGINE", value_parser = ["interp", "jit"])]
    pub backend: Option<String>,
    /// Say of each kernel which engine runs it, and which of its instructions are not exact (PTXRUN_VERBOSE)
    #[arg(long, short)]
    pub verbose: bool,
}

/// `ptxrun sanitize`.
#[derive(Args, Debug)]
#[command(after_help = "\
The options are those of compute-sanitizer, where it has them. A file of suppressions has a line for each: the rule of
the report (race/read-write, or memory), then, if one likes, `kernel NAME` and `at FILE` or `at FILE:LINE`.")]
pub struct SanitizeArgs {
    /// What to look for: memcheck, racecheck, initcheck, synccheck, several with commas between, or all
    #[arg(long, value_name = "TOOL", default_value = "memcheck", value_parser = tools)]
    pub tool: Checks,
    /// Exit status when something is found
    #[arg(long, value_name = "STATUS", default_value = "1")]
    pub error_exitcode: u8,
    /// Report memory of kernels' malloc that is left at the end (full), or do not (no)
    #[arg(long, value_name = "WHICH", default_value = "no", value_parser = ["full", "no"])]
    pub leak_check: String,
    /// Most findings that are printed; 0: all
    #[arg(long, value_name = "N", default_value = "100")]
    pub print_limit: usize,
    /// A file of findings that are not reported
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    pub format: ReportForm,
    /// Write the report to a file in place of standard error
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Run blocks and warps in another order, the same for the same number
    #[arg(long, value_name = "seed=N", value_parser = seed)]
    pub schedule: Option<u64>,
    /// Device that the program finds, such as sm_90 or h200 (PTXRUN_DEVICE)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Report as one JSON object: `--format json`
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub program: Vec<OsString>,
}

/// `ptxrun coverage`.
#[derive(Args, Debug)]
pub struct CoverageArgs {
    /// Write the counts for lcov and genhtml, by lines of PTX and of the source that it names
    #[arg(long, value_name = "FILE")]
    pub lcov: Option<PathBuf>,
    /// Device that the program finds, such as sm_90 or h200 (PTXRUN_DEVICE)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub program: Vec<OsString>,
}

/// Forms of a report.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportForm {
    /// For people
    Text,
    /// The text of NVIDIA's compute-sanitizer
    ComputeSanitizer,
    /// One JSON object
    Json,
    /// SARIF 2.1.0
    Sarif,
}

/// `ptxrun exec`.
#[derive(Args, Debug)]
pub struct ExecArgs {
    /// What the program finds.
    #[command(flatten)]
    pub emulation: Emulation,
    /// Check its kernels while they run: memory, race, init, sync, several with commas between, or all (PTXRUN_CHECK).
    /// The exit status is 1 when something is found
    #[arg(long, value_name = "CHECKS", value_parser = checks)]
    pub check: Option<Checks>,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub program: Vec<OsString>,
}

/// `ptxrun env`.
#[derive(Args, Debug)]
#[command(after_help = format!("Variables that ptxrun and its libraries read:\n{}", environment::table()))]
pub struct EnvArgs {
    /// What programs find.
    #[command(flatten)]
    pub emulation: Emulation,
    /// Print NAME=VALUE lines for the file that $GITHUB_ENV names, not `export` lines for a shell
    #[arg(long)]
    pub github: bool,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// `ptxrun install-icd`.
#[derive(Args, Debug)]
pub struct InstallIcdArgs {
    /// Write into a folder of this user, which needs a variable, instead of /etc/OpenCL/vendors
    #[arg(long)]
    pub user: bool,
    /// Options of every subcommand.
    #[command(flatten)]
    pub common: Common,
}

/// The tools of compute-sanitizer.
fn tools(text: &str) -> Result<Checks, String> {
    let word = |tool: &str| match tool.trim() {
        "memcheck" => "memory".to_owned(),
        "racecheck" => "race".to_owned(),
        "initcheck" => "init".to_owned(),
        "synccheck" => "sync".to_owned(),
        other => other.to_owned(),
    };
    let words: Vec<String> = text.split(',').map(word).collect();
    checks(&words.join(","))
}
