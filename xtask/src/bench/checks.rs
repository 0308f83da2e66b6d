//! How much longer kernels take under each check.

use anyhow::Result;
use clap::Args;
use ptx_runtime::Backend;
use ptx_runtime::check::Checks;

use super::cases::{self, Case};
use super::ours::{self, Ready};
use super::spread::{cpu, spread};
use super::time;

/// `cargo xtask bench checks`.
#[derive(Args)]
pub struct Options {
    /// Only kernels whose name contains this
    #[arg(default_value = "")]
    only: String,
    /// Timed launches of each, after one that is not timed
    #[arg(long, default_value_t = 3)]
    launches: usize,
}

const CHECKS: [&str; 4] = ["memory", "init", "race", "sync"];

/// The least time of a launch, in microseconds.
fn measure(
    case: &Case,
    ptx: &str,
    backend: Backend,
    checks: Checks,
    launches: usize,
) -> Result<f64> {
    let ready = Ready::under(case, ptx, checks)?;
    let mut all = Vec::new();
    for _ in 0..=launches {
        ready.fill(case)?;
        let (done, took) = time(|| ready.launch(case, backend, false, 1));
        done?;
        all.push(took);
    }
    Ok(spread(&all[1..])[0])
}

/// Prints a line of a table for each kernel, and geometric means.
pub fn run(options: &Options) -> Result<()> {
    println!("{}, one host thread; least of {} launches\n", cpu(), options.launches);
    println!("| kernel | compiled | interpreted | {} |", CHECKS.join(" | "));
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let samples = cases::cases().into_iter().map(|case| {
        let ptx = ours::ptx(&case);
        (case, ptx)
    });
    let peers = cases::checked().into_iter().map(|case| (case, Ok(cases::CHECKED.to_owned())));
    let mut logs = [(0.0, 0.0); CHECKS.len()];
    let mut count = 0.0;
    for (case, ptx) in samples.chain(peers).filter(|(case, _)| case.name.contains(&options.only)) {
        let ptx = ptx?;
        let plain =
            |backend| measure(&case, &ptx, backend, Checks::default(), options.launches.max(3));
        let (compiled, interpreted) = (plain(Backend::Jit)?, plain(Backend::Interp)?);
        print!("| {} | {compiled:.0} us | {interpreted:.0} us |", case.name);
        count += 1.0;
        for (check, sums) in CHECKS.iter().zip(&mut logs) {
            let checks = Checks::parse(check)?;
            let took = measure(&case, &ptx, Backend::Interp, checks, options.launches)?;
            sums.0 += (took / interpreted).ln();
            sums.1 += (took / compiled).ln();
            print!(" {:.1} |", took / interpreted);
        }
        println!();
    }
    let row = |name: &str, of: &dyn Fn(&(f64, f64)) -> f64| {
        let all: Vec<String> =
            logs.iter().map(|sums| format!("{:.1}", (of(sums) / count).exp())).collect();
        println!("| {name} | | | {} |", all.join(" | "));
    };
    row("geometric mean, to interpreted", &|sums| sums.0);
    row("geometric mean, to compiled", &|sums| sums.1);
    Ok(())
}
