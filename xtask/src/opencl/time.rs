//! Time from source to PTX against clang and against what an OpenCL runtime's build takes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use ptx_runtime::opencl::{self, Options};

use super::compilers;
use super::runtimes::builds;
use super::samples::samples;

const SM: u32 = 75;

/// Samples that make one program of 200 lines.
const LONG: [&str; 7] =
    ["sha256", "nbody", "black_scholes", "fft", "scan", "bitonic", "convolution"];

/// The shortest of some runs, in seconds: what else the machine does only ever adds.
fn shortest(runs: usize, mut command: Command) -> Result<f64> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut shortest = f64::INFINITY;
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        if !command.status()?.success() {
            bail!("{command:?} fails");
        }
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    Ok(shortest)
}

/// Ratios in one number, and the smallest of them.
fn summary(ratios: &[f64]) -> String {
    let logs: f64 = ratios.iter().map(|r| r.ln()).sum();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    format!(
        "geometric mean of {}: {:.1}, least {least:.1}",
        ratios.len(),
        (logs / ratios.len() as f64).exp()
    )
}

/// Prints the table; true when every source compiles at least ten times as fast as with the others, process to
/// process, and 200 lines take at most 10 ms.
pub fn time(clang: &Path, ptxrun: &Path, platform: &str, runs: usize) -> Result<bool> {
    let mut sources: Vec<(String, PathBuf)> =
        samples()?.into_iter().filter(|s| s.plain).map(|s| (s.name, s.source)).collect();
    let mut text = String::new();
    for name in LONG {
        let source = sources.iter().find(|s| s.0 == name).context("a sample")?;
        text += &std::fs::read_to_string(&source.1)?;
    }
    let long = std::env::temp_dir().join(format!("ptxrun-long-{}.cl", std::process::id()));
    std::fs::write(&long, text)?;
    sources.push(("seven of them".into(), long.clone()));
    let texts: Vec<String> =
        sources.iter().map(|s| std::fs::read_to_string(&s.1)).collect::<Result<_, _>>()?;
    // Within one process: what is started once does not count.
    let runtime = match builds(platform, &texts, runs) {
        Ok((name, times)) => {
            println!("runtime: {name}");
            Some(times)
        }
        Err(error) => {
            println!("no OpenCL runtime to compare with: {error:#}");
            None
        }
    };
    println!("{:24}{:^30}{:^20}", "", "process to process (ms)", "one process (ms)");
    println!(
        "{:<18}{:>6}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "source", "lines", "ours", "clang", "runtime", "ours", "runtime"
    );
    let (mut to_clang, mut to_runtime, mut within) = (Vec::new(), Vec::new(), Vec::new());
    let mut fast = false;
    for (i, (name, path)) in sources.iter().enumerate() {
        let mut command = Command::new(ptxrun);
        command.arg("cc").arg(path).args(["--target", &format!("sm_{SM}"), "-o", "/dev/null"]);
        let ours = shortest(runs, command)?;
        let theirs = shortest(runs, compilers::clang(clang, path, SM, Path::new("/dev/null")))?;
        let here = compiled(runs, path, &texts[i])?;
        print!(
            "{name:<18}{:>6}{:>10.2}{:>10.1}",
            texts[i].lines().count(),
            ours * 1e3,
            theirs * 1e3
        );
        if let Some(runtime) = &runtime {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["opencl", "build", "--opencl", platform]).arg(path);
            let process = shortest(runs, command)?;
            println!("{:>10.1}{:>10.2}{:>10.1}", process * 1e3, here * 1e3, runtime[i] * 1e3);
            to_runtime.push(process / ours);
            within.push(runtime[i] / here);
        } else {
            println!("{:>10}{:>10.2}{:>10}", "-", here * 1e3, "-");
        }
        to_clang.push(theirs / ours);
        fast = ours < 0.010;
    }
    std::fs::remove_file(&long)?;
    println!("clang / ours: {}", summary(&to_clang));
    if runtime.is_some() {
        println!("runtime / ours: {}", summary(&to_runtime));
        println!("runtime / ours, in one process: {}", summary(&within));
    }
    Ok(fast && to_clang.iter().chain(&to_runtime).all(|ratio| *ratio >= 10.0))
}

/// The shortest of some compilations here, in seconds.
fn compiled(runs: usize, path: &Path, text: &str) -> Result<f64> {
    let options = Options { sm: SM, no_warnings: true, ..Options::default() };
    let mut shortest = f64::INFINITY;
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        if let Err(failure) = opencl::compile(&path.display().to_string(), text, &options) {
            bail!("{}", failure.rendered);
        }
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    Ok(shortest)
}
