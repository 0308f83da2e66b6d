//! Executed instructions of every sample, ours against clang's.

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail};
use ptx_runtime::{Backend, Verified};
use ptxrun::run::{RunOptions, execute};

use super::compilers;
use super::samples::{Sample, samples};

/// The greatest accepted geometric mean of the ratios, and the greatest single one.
const LIMITS: (f64, f64) = (1.10, 1.5);
const SM: u32 = 75;

/// Instructions of one run: summed over threads, and over warps.
fn count(sample: &Sample, ptx: &str, whose: &str) -> Result<(u64, u64)> {
    let name = format!("{} by {whose}", sample.name);
    let verified = Verified::new(ptx, &name)?;
    let options =
        RunOptions { threads: Some(1), backend: Backend::Interp, ..RunOptions::default() };
    let report = execute(&sample.file.plan, &verified, &options, &Arc::new(Mutex::new(Vec::new())))
        .with_context(|| name.clone())?;
    if !report.passed() {
        bail!("{name}: {:?}", report.checks);
    }
    let sum = |of: fn(&ptx_runtime::LaunchStats) -> Option<u64>| {
        report.launches.iter().filter_map(|l| of(&l.stats)).sum()
    };
    Ok((sum(|s| s.thread_instructions), sum(|s| s.warp_instructions)))
}

/// Prints the table; true within the limits.
pub fn counts(clang: &Path, only: Option<&str>, keep: Option<&Path>) -> Result<bool> {
    println!("{:<18}{:>12}{:>12}{:>8}   static", "kernel", "ours", "clang", "ratio");
    let (mut logs, mut worst, mut kernels) = (0.0, 0.0f64, 0);
    for sample in samples()? {
        if !sample.plain || only.is_some_and(|o| !sample.name.contains(o)) {
            continue;
        }
        let mut options = sample.file.build.clone();
        options.sm = SM;
        let ours = compilers::with_ours(&sample.source, &options)?;
        let theirs = compilers::with_clang(clang, &sample.source, SM)?;
        if let Some(folder) = keep {
            std::fs::create_dir_all(folder)?;
            std::fs::write(folder.join(format!("{}.ours.ptx", sample.name)), &ours)?;
            std::fs::write(folder.join(format!("{}.clang.ptx", sample.name)), &theirs)?;
        }
        let (a, b) = (count(&sample, &ours, "ptxrun")?.0, count(&sample, &theirs, "clang")?.0);
        let ratio = a as f64 / b as f64;
        let lines = |ptx: &str| ptx.lines().filter(|l| l.trim_end().ends_with(';')).count();
        println!(
            "{:<18}{a:>12}{b:>12}{ratio:>8.3}   {} / {}",
            sample.name,
            lines(&ours),
            lines(&theirs)
        );
        logs += ratio.ln();
        worst = worst.max(ratio);
        kernels += 1;
    }
    let mean = (logs / f64::from(kernels.max(1))).exp();
    println!("geometric mean of {kernels}: {mean:.3}, worst {worst:.3}");
    Ok(mean <= LIMITS.0 && worst <= LIMITS.1)
}
