//! Times of the samples' kernels: compiled code, the interpreter, and other OpenCL runtimes on the
//! same data. Each engine runs in a process of its own, in several turns.

mod builds;
mod cases;
mod checks;
mod drivers;
pub mod opencl;
mod ours;
mod spread;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

pub use cases::{Arg, Case, Type};
use spread::{cpu, spread};

/// `cargo xtask bench`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    what: Option<What>,
    /// Only kernels whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Engines: jit, jit-fast-nan, interp, or part of the name of an OpenCL platform
    #[arg(long, value_delimiter = ',', default_values_t = ["jit".to_string(), "interp".into(), "Portable".into()])]
    engine: Vec<String>,
    /// Host threads of every engine
    #[arg(long, default_value_t = 1)]
    threads: u32,
    /// Timed launches of each turn
    #[arg(long, default_value_t = 30)]
    launches: usize,
    /// Turns of each engine, interleaved
    #[arg(long, default_value_t = 2)]
    turns: usize,
    /// Where to leave the measurements
    #[arg(long)]
    json: Option<PathBuf>,
    /// Run one engine in this process and print its measurements
    #[arg(long, hide = true)]
    inside: bool,
}

/// What else to measure.
#[derive(Subcommand)]
enum What {
    /// Host programs in C through the OpenCL loader, with our driver and with others
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

/// Times in microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Kernel.
    pub kernel: String,
    /// Source to something that can be launched: OpenCL C to PTX, or `clBuildProgram`.
    pub build: f64,
    /// The first launch, and for PTX everything from its text on.
    pub first: f64,
    /// Every warm launch.
    pub warm: Vec<f64>,
    /// What ran it.
    pub engine: String,
    /// Time to compile, of compiled code.
    pub compile: Option<f64>,
}

/// Milliseconds of a call, in microseconds.
fn time<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = f();
    (result, start.elapsed().as_secs_f64() * 1e6)
}

/// Runs the benchmark.
pub fn run(options: &Options) -> Result<ExitCode> {
    match &options.what {
        Some(What::Drivers(options)) => return drivers::run(options),
        Some(What::Builds(options)) => return builds::run(options),
        Some(What::Checks(options)) => {
            checks::run(options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(What::Debugger { folder, only }) => return figures(folder, only),
        None => {}
    }
    if options.inside {
        let engine = options.engine.first().context("an engine")?;
        for case in chosen(options) {
            let row = match engine.as_str() {
                "jit" | "jit-fast-nan" | "interp" => {
                    ours::run(&case, engine, options.threads, options.launches)
                }
                platform => opencl::run(&case, platform, options.launches),
            };
            match row {
                Ok(row) => println!("{}", serde_json::to_string(&row)?),
                Err(error) => eprintln!("{} on {engine}: {error:#}", case.name),
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut all: BTreeMap<(String, String), Measurement> = BTreeMap::new();
    for turn in 0..options.turns {
        for engine in &options.engine {
            eprintln!("turn {} of {}: {engine}", turn + 1, options.turns);
            for row in child(options, engine)? {
                let key = (row.kernel.clone(), engine.clone());
                match all.get_mut(&key) {
                    Some(old) => {
                        old.build = old.build.min(row.build);
                        old.first = old.first.min(row.first);
                        old.warm.extend(row.warm);
                    }
                    None => {
                        all.insert(key, row);
                    }
                }
            }
        }
    }
    table(options, &all);
    if let Some(path) = &options.json {
        let rows: Vec<_> = all
            .iter()
            .map(|((_, asked), row)| {
                let [min, median, max] = spread(&row.warm);
                serde_json::json!({
                    "kernel": row.kernel, "asked": asked, "engine": row.engine, "build_us": row.build,
                    "first_us": row.first, "compile_us": row.compile,
                    "warm_us": {"min": min, "median": median, "max": max, "launches": row.warm.len()},
                })
            })
            .collect();
        let json = serde_json::json!({"cpu": cpu(), "threads": options.threads, "rows": rows});
        std::fs::write(path, serde_json::to_string_pretty(&json)?)
            .with_context(|| path.display().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the debugger's figures, which are an example of its crate: they are compiled as what is shipped.
fn figures(folder: &std::path::Path, only: &str) -> Result<ExitCode> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--release", "-p", "ptx-debug", "--example", "figures", "--"]);
    let status = cargo.arg(folder).arg(only).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(options: &Options) -> Vec<Case> {
    let mut all = cases::cases();
    all.retain(|c| options.only.as_ref().is_none_or(|o| c.name.contains(o.as_str())));
    all
}

/// Measures one engine in a process of its own, whose threads its environment limits.
fn child(options: &Options, engine: &str) -> Result<Vec<Measurement>> {
    let threads = options.threads.to_string();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "--inside", "--engine", engine, "--threads", &threads]);
    command.args(["--launches", &options.launches.to_string()]);
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    // PoCL up to 3 and from 4 on; Intel's runtime.
    command.env("POCL_MAX_PTHREAD_COUNT", &threads).env("POCL_CPU_MAX_CU_COUNT", &threads);
    command.env("POCL_KERNEL_CACHE", "0").env("DPCPP_CPU_NUM_CUS", &threads);
    command.env("CL_CONFIG_CPU_TBB_NUM_WORKERS", &threads);
    command.stderr(std::process::Stdio::inherit());
    let out = command.output()?;
    if !out.status.success() {
        bail!("the process of {engine} ended with {}", out.status);
    }
    let text = String::from_utf8(out.stdout)?;
    text.lines().filter(|l| l.starts_with('{')).map(|l| Ok(serde_json::from_str(l)?)).collect()
}

/// One line per kernel: warm launches, and how many times as long the others take as the first engine.
fn table(options: &Options, all: &BTreeMap<(String, String), Measurement>) {
    println!(
        "{}, {} thread(s); microseconds: least of the warm launches (median), the first launch, the build",
        cpu(),
        options.threads
    );
    print!("{:<16}", "");
    for engine in &options.engine {
        print!("{engine:>18} {:>9} {:>9}", "first", "build");
    }
    println!();
    let mut logs: Vec<Vec<f64>> = vec![Vec::new(); options.engine.len()];
    for case in chosen(options) {
        print!("{:<16}", case.name);
        let mut own = None;
        for (n, engine) in options.engine.iter().enumerate() {
            let Some(row) = all.get(&(case.name.to_string(), engine.clone())) else {
                print!("{:>18} {:>9} {:>9}", "-", "", "");
                continue;
            };
            let [min, median, _] = spread(&row.warm);
            let ratio = match own {
                Some(own) => {
                    logs[n].push(f64::ln(min / own));
                    format!(" x{:.2}", min / own)
                }
                None => {
                    own = Some(min);
                    String::new()
                }
            };
            print!(
                "{:>18} {:>9.0} {:>9.0}",
                format!("{min:.1} ({median:.1}){ratio}"),
                row.first,
                row.build
            );
        }
        println!();
    }
    for (engine, logs) in options.engine.iter().zip(&logs).skip(1) {
        if !logs.is_empty() {
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            println!(
                "{engine}: {mean:.2} times the time of {}, geometric mean of {}",
                options.engine[0],
                logs.len()
            );
        }
    }
}
