//! Time from source to PTX, process to process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::{compilers, samples};

const SM: u32 = 75;

fn median(runs: usize, mut command: Command) -> Result<Duration> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        if !command.status()?.success() {
            bail!("{command:?} fails");
        }
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// Prints the table; true when every source compiles at least ten times as fast as with clang.
pub fn time(clang: &Path, ptxrun: &Path, runs: usize) -> Result<bool> {
    println!("{:<18}{:>8}{:>12}{:>12}{:>8}", "source", "lines", "ours", "clang", "ratio");
    let (mut logs, mut least, mut sources) = (0.0, f64::INFINITY, 0);
    for sample in samples()? {
        let lines = std::fs::read_to_string(&sample.source)?.lines().count();
        let mut ours = Command::new(ptxrun);
        ours.arg("cc").arg(&sample.source).args([
            "--target",
            &format!("sm_{SM}"),
            "-o",
            "/dev/null",
        ]);
        let ours = median(runs, ours)?;
        let theirs =
            median(runs, compilers::clang(clang, &sample.source, SM, Path::new("/dev/null")))?;
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        println!("{:<18}{lines:>8}{ours:>12.1?}{theirs:>12.1?}{ratio:>8.1}", sample.name);
        logs += ratio.ln();
        least = least.min(ratio);
        sources += 1;
    }
    let mean = (logs / f64::from(sources.max(1))).exp();
    println!("geometric mean of {sources}: {mean:.1}, least {least:.1}");
    Ok(least >= 10.0)
}
