//! Prints the accuracy of the math functions: `accuracy [--inputs N] [--exhaustive] [-cl-…] [-arch=sm_…] [NAME…]`.
//!
//! `--eval "r = sin(a);" X…` prints what a statement gives in double precision for each X.
//! `--exhaustive` runs single-precision functions of one argument on all 2^32 inputs (long).

#[path = "../tests/accuracy/mod.rs"]
mod accuracy;

use std::process::ExitCode;

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
    println!("{}", accuracy::HEAD);
    let mut good = true;
    for function in accuracy::functions::table() {
        if !names.is_empty() && !names.iter().any(|n| n == function.name) {
            continue;
        }
        if exhaustive {
            if function.arity == 1 {
                let m = accuracy::exhaust(&function, &flags, |n| {
                    eprint!("\r{}: {n} of {}", function.name, 1u64 << 32)
                });
                eprintln!();
                println!("{}", accuracy::line(function.name, "float", &function.single, &m));
                good &= m.within(&function.single);
            }
            continue;
        }
        if !double_only {
            let m = accuracy::measure(&function, false, inputs, &flags);
            println!("{}", accuracy::line(function.name, "float", &function.single, &m));
            good &= m.within(&function.single);
        }
        if let Some(bound) = function.double.filter(|_| !single_only) {
            let m = accuracy::measure(&function, true, inputs, &flags);
            println!("{}", accuracy::line(function.name, "double", &bound, &m));
            good &= m.within(&bound);
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
