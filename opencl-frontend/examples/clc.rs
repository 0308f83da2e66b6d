//! Compiles an OpenCL C file to PTX: `clc FILE.cl [options] [-o FILE.ptx]`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut output = None;
    if let Some(i) = args.iter().position(|a| a == "-o") {
        output = args.get(i + 1).cloned();
        args.drain(i..(i + 2).min(args.len()));
    }
    let Some(i) = args.iter().position(|a| a.ends_with(".cl")) else {
        eprintln!("usage: clc FILE.cl [-D… -I… -cl-… -g -arch=sm_NN] [-o FILE.ptx]");
        return ExitCode::from(2);
    };
    let path = args.remove(i);
    let options = match opencl_frontend::Options::default().with_args(&args) {
        Ok(options) => options,
        Err(diag) => {
            eprintln!("error: {}", diag.message);
            return ExitCode::from(2);
        }
    };
    let source = match std::fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    match opencl_frontend::compile(&path, &source, &options) {
        Ok(out) => {
            eprint!("{}", out.rendered);
            match output {
                Some(to) => {
                    if let Err(error) = std::fs::write(&to, out.ptx) {
                        eprintln!("{to}: {error}");
                        return ExitCode::FAILURE;
                    }
                }
                None => print!("{}", out.ptx),
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprint!("{}", failure.rendered);
            ExitCode::FAILURE
        }
    }
}
