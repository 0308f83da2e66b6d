//! Prints the accuracy of the math functions: `accuracy [--inputs N] [--exhaustive] [-cl-…] [-arch=sm_…] [NAME…]`.
//!
//! `--single`, `--double`: only that type. `--exhaustive`: single-precision functions of one argument on all 2^32
//! inputs. All cores work. `--eval "r = sin(a);" X…` prints what a statement gives in double precision for each X.

#[path = "../tests/accuracy/mod.rs"]
mod accuracy;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use accuracy::functions::{Bound, Function, table};

fn main() -> ExitCode {
    let mut inputs = 1usize << 20;
    let (mut exhaustive, mut single_only, mut double_only) = (false, false, false);
    let (mut flags, mut names) = (Vec::new(), Vec::new());
    let mut args = std::env::args().skip(1);
    if std::env::args().nth(1).as_deref() == Some("--eval") {
        let words: Vec<String> = args.skip(1).collect();
        for (x, y) in accuracy::evaluate(&words[0], &words[1..]) {
            println!("{x:?} gives {y:?}");
        }
        return ExitCode::SUCCESS;
    }
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--inputs" => inputs = args.next().and_then(|n| n.parse().ok()).unwrap_or(inputs),
            "--exhaustive" => exhaustive = true,
            "--single" => single_only = true,
            "--double" => double_only = true,
            _ if arg.starts_with("-cl") || arg.starts_with("-arch") => flags.push(arg),
            _ => names.push(arg),
        }
    }
    let flags = flags.join(" ");
    let mut tasks: Vec<(Function, bool, Bound)> = Vec::new();
    for double in [false, true] {
        let chosen =
            table().into_iter().filter(|f| names.is_empty() || names.iter().any(|n| n == f.name));
        for function in chosen {
            let wanted = if double { !single_only && !exhaustive } else { !double_only };
            let bound = if double { function.double } else { Some(function.single) };
            if let Some(bound) = bound.filter(|_| wanted && (!exhaustive || function.arity == 1)) {
                tasks.push((function, double, bound));
            }
        }
    }
    println!("{}", accuracy::HEAD);
    let mut good = true;
    if exhaustive {
        for (function, _, bound) in &tasks {
            let m = accuracy::exhaust(function, &flags, |n| {
                eprint!("\r{}: {n} of {}", function.name, 1u64 << 32)
            });
            eprintln!();
            println!("{}", accuracy::line(function.name, "float", bound, &m));
            good &= m.within(bound);
        }
    } else {
        let lines = Mutex::new(vec![None; tasks.len()]);
        let next = AtomicUsize::new(0);
        let work = || loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some((function, double, bound)) = tasks.get(i) else { return };
            let m = accuracy::measure(function, *double, inputs, &flags);
            let ty = if *double { "double" } else { "float" };
            let line = accuracy::line(function.name, ty, bound, &m);
            eprintln!("{line}");
            lines.lock().expect("lines")[i] = Some((line, m.within(bound)));
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        for (line, within) in lines.into_inner().expect("lines").into_iter().flatten() {
            println!("{line}");
            good &= within;
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
