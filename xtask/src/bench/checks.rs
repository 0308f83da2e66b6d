//! How much longer kernels take under each check.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use ptx_runtime::check::Checks;
use ptx_runtime::{Backend, Engine};

use super::cases::{self, Case};
use super::ours::{self, Ready};
use super::spread::{cpu, spread};

/// `cargo xtask bench checks`.
#[derive(Args)]
pub struct Options {
    /// Only kernels whose name contains this
    #[arg(default_value = "")]
    only: String,
    /// Timed launches of each, after one that is not timed
    #[arg(long, default_value_t = 3)]
    launches: usize,
    /// Host threads
    #[arg(long, default_value_t = 1)]
    threads: u32,
    /// Wall time in place of the process's time on processors
    #[arg(long)]
    wall: bool,
}

const CHECKS: [&str; 4] = ["memory", "init", "race", "sync"];

/// Processor time of this process, in microseconds.
fn processor_time() -> f64 {
    // SAFETY: all zeros are a `timespec`.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes a `timespec` to where it points.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

/// What launches took.
struct Took {
    /// The least time of one, in microseconds.
    least: f64,
    /// Whether compiled code ran the last one.
    compiled: bool,
}

fn measure(
    case: &Case,
    ptx: &str,
    backend: Backend,
    checks: Checks,
    options: &Options,
) -> Result<Took> {
    let ready = Ready::under(case, ptx, checks)?;
    let (mut all, mut compiled) = (Vec::new(), false);
    for _ in 0..=options.launches {
        ready.fill(case)?;
        let before = processor_time();
        let start = Instant::now();
        let done = ready.launch(case, backend, options.threads);
        let wall = start.elapsed().as_secs_f64() * 1e6;
        let processor = processor_time() - before;
        compiled = matches!(done?, Engine::Compiled(_));
        all.push(if options.wall { wall } else { processor });
    }
    Ok(Took { least: spread(&all[1..])[0], compiled })
}

/// Prints a line of a table for each kernel, and geometric means.
pub fn run(options: &Options) -> Result<()> {
    let kind = if options.wall { "wall" } else { "processor" };
    println!(
        "{}, {} host thread(s); {kind} time, least of {} launches\n",
        cpu(),
        options.threads,
        options.launches
    );
    let mut head: Vec<String> = vec!["kernel".into(), "compiled".into()];
    head.extend(CHECKS.map(str::to_owned));
    head.push("interpreted".into());
    head.extend(CHECKS.map(str::to_owned));
    println!("| {} |", head.join(" | "));
    println!("|{}", " --- |".repeat(head.len()));
    let samples = cases::cases().into_iter().map(|case| {
        let ptx = ours::ptx(&case);
        (case, ptx)
    });
    let peers = cases::checked().into_iter().map(|case| (case, Ok(cases::CHECKED.to_owned())));
    let mut logs = [[0.0; CHECKS.len()]; 2];
    let (mut count, mut fell_back) = (0.0, 0);
    for (case, ptx) in samples.chain(peers).filter(|(case, _)| case.name.contains(&options.only)) {
        let ptx = ptx?;
        print!("| {} |", case.name);
        count += 1.0;
        for (backend, sums) in [Backend::Jit, Backend::Interp].into_iter().zip(&mut logs) {
            let plain = measure(&case, &ptx, backend, Checks::default(), options)?;
            print!(" {:.0} us |", plain.least);
            for (check, sum) in CHECKS.iter().zip(sums) {
                let took = measure(&case, &ptx, backend, Checks::parse(check)?, options)?;
                *sum += (took.least / plain.least).ln();
                // What compiled code could not serve is marked.
                let mark = if backend == Backend::Jit && !took.compiled { "*" } else { "" };
                fell_back += usize::from(!mark.is_empty());
                print!(" {:.1}{mark} |", took.least / plain.least);
            }
        }
        println!();
    }
    let means = |sums: &[f64; CHECKS.len()]| sums.map(|sum| format!("{:.1}", (sum / count).exp()));
    let [jit, interp] = &logs;
    println!(
        "| geometric mean of {count} | | {} | | {} |",
        means(jit).join(" | "),
        means(interp).join(" | ")
    );
    println!("\n{fell_back} checks marked * ran in the interpreter.");
    Ok(())
}
