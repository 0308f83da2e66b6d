//! Two builds of `ptxrun` beside each other: processor time of whole processes, in pairs.
//!
//! Each pair runs one build and then the other, the next pair the other way round, so that a machine whose speed drifts
//! or which others use as well slows both alike. The table gives the median of the ratios.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use super::spread::{cpu, spread};

/// `cargo xtask bench builds`.
#[derive(Args)]
pub struct Options {
    /// `ptxrun` as it was
    before: PathBuf,
    /// `ptxrun` as it is
    after: PathBuf,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Pairs of each case
    #[arg(long, default_value_t = 11)]
    pairs: usize,
}

/// A case: its name, and the arguments of `ptxrun` with spaces between, files relative to the samples.
type Case = (&'static str, &'static str);

/// The module that [`module`] writes.
const MODULE: &str = "{module}";

const CASES: &[Case] = &[
    ("parse and verify, 20 MB", "check {module}"),
    (
        "interpreter, mandelbrot",
        "run --backend interp --threads 1 --grid 128,256 --block 16,8 mandelbrot/mandelbrot.nvcc13.sm_75.ptx \
         --arg buf:8388608 --arg s32:2048 --arg s32:2048 --arg s32:200",
    ),
    (
        "interpreter, matmul",
        "run --backend interp --threads 1 --grid 16,16 --block 16,16 matmul_naive/matmul.clang.sm_50.ptx \
         --arg s32:256 --arg s32:256 --arg f32[65536]:iota --arg s32:256 --arg s32:256 --arg f32[65536]:iota \
         --arg s32:256 --arg s32:256 --arg f32[65536]:iota",
    ),
    (
        "interpreter, histogram",
        "run --backend interp --threads 1 --grid 500 --block 192 histogram/histogram.nvcc13.sm_90.ptx --arg \
         u8[4000000]:random:6:0:255 --arg buf:1024 --arg s32:4000000",
    ),
    ("interpreter, sha256", "run --backend interp --threads 1 --launch sha256/sha256.toml"),
    ("JIT, compile sha256", "run --backend jit --threads 1 --launch sha256/sha256.toml"),
    ("JIT, compile fft", "run --backend jit --threads 1 --launch fft/fft.toml"),
    (
        "JIT, mandelbrot",
        "run --backend jit --threads 1 --grid 256,512 --block 16,8 mandelbrot/mandelbrot.nvcc13.sm_75.ptx \
         --arg buf:33554432 --arg s32:4096 --arg s32:4096 --arg s32:400",
    ),
    (
        "JIT, matmul",
        "run --backend jit --threads 1 --grid 64,64 --block 16,16 matmul_naive/matmul.clang.sm_50.ptx --arg \
         s32:1024 --arg s32:1024 --arg f32[1048576]:iota --arg s32:1024 --arg s32:1024 --arg \
         f32[1048576]:iota --arg s32:1024 --arg s32:1024 --arg f32[1048576]:iota",
    ),
    (
        "timing, mandelbrot",
        "profile --grid 32,64 --block 16,8 mandelbrot/mandelbrot.nvcc13.sm_75.ptx --arg buf:524288 --arg \
         s32:512 --arg s32:512 --arg s32:200",
    ),
    (
        "timing, matmul",
        "profile --grid 8,8 --block 16,16 matmul_naive/matmul.clang.sm_50.ptx --arg s32:128 --arg s32:128 \
         --arg f32[16384]:iota --arg s32:128 --arg s32:128 --arg f32[16384]:iota --arg s32:128 --arg s32:128 \
         --arg f32[16384]:iota",
    ),
];

/// Runs every case with both builds and prints the table.
pub fn run(options: &Options) -> Result<ExitCode> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let module = module(&samples)?;
    println!("{}; seconds of processor time, medians of {} pairs", cpu(), options.pairs);
    println!("{:<28} {:>9} {:>9} {:>9}   {:>15}", "", "before", "after", "ratio", "middle half");
    let chosen = |name: &str| options.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for (name, words) in CASES.iter().filter(|(name, _)| chosen(name)) {
        let once = |build: &Path| seconds(build, words, &samples, &module);
        // The first run of each warms the caches of the file system.
        let (_, _) = (once(&options.before)?, once(&options.after)?);
        let (mut before, mut after, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..options.pairs {
            let (b, a) = if pair % 2 == 0 {
                let b = once(&options.before)?;
                (b, once(&options.after)?)
            } else {
                let a = once(&options.after)?;
                (once(&options.before)?, a)
            };
            before.push(b);
            after.push(a);
            ratios.push(a / b);
        }
        ratios.sort_by(f64::total_cmp);
        let quarter = ratios.len() / 4;
        println!(
            "{name:<28} {:>9.3} {:>9.3} {:>9.3}   {:.3} to {:.3}",
            spread(&before)[1],
            spread(&after)[1],
            spread(&ratios)[1],
            ratios[quarter],
            ratios[ratios.len() - 1 - quarter],
        );
    }
    std::fs::remove_file(module)?;
    Ok(ExitCode::SUCCESS)
}

/// User and system time of one process.
fn seconds(build: &Path, words: &str, samples: &Path, module: &Path) -> Result<f64> {
    let mut command =
        Command::new(build.canonicalize().with_context(|| build.display().to_string())?);
    for word in words.split(' ') {
        if word == MODULE {
            command.arg(module)
        } else {
            command.arg(word)
        };
    }
    // Code that is kept would not be compiled.
    command.current_dir(samples).env("PTXRUN_CACHE_DIR", "");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let start = of_children();
    let out = command.output()?;
    let end = of_children();
    let said = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "{} {}: {said}", build.display(), words);
    Ok(end - start)
}

/// Processor time of all children that have ended.
fn of_children() -> f64 {
    // SAFETY: `rusage` is plain numbers, and the call only writes them.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A module of 20 MB: kernels of two samples under new names.
fn module(samples: &Path) -> Result<PathBuf> {
    let mut kernels = Vec::new();
    let mut text = String::new();
    for file in ["saxpy/saxpy.nvcc13.sm_90.ptx", "mandelbrot/mandelbrot.nvcc13.sm_75.ptx"] {
        let sample = std::fs::read_to_string(samples.join(file))?;
        let at = sample.find(".visible .entry ").context("a kernel")?;
        let (head, kernel) = sample.split_at(at);
        let (name, rest) =
            kernel[".visible .entry ".len()..].split_once('(').context("parameters")?;
        if text.is_empty() {
            text.push_str(head);
        }
        kernels.push((name.to_string(), rest.to_string()));
    }
    for n in 0.. {
        let (name, rest) = &kernels[n % kernels.len()];
        let _ = writeln!(text, ".visible .entry {name}_{n}({rest}");
        if text.len() > 20_000_000 {
            break;
        }
    }
    let path = std::env::temp_dir().join(format!("ptxrun-bench-{}.ptx", std::process::id()));
    std::fs::write(&path, text)?;
    Ok(path)
}
