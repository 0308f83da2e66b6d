//! `host-program FILE NAME-OR-LINE [fixed]`: runs a host program of a test file, or the launch on that line, through
//! the CUDA driver API: that of this repository, or of the library that `CUDA_LIB` names.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (file, name, fixed) = match &words[..] {
        [file, name] => (file, name, false),
        [file, name, fixed] if fixed == "fixed" => (file, name, true),
        _ => {
            eprintln!("host-program FILE NAME-OR-LINE [fixed]");
            return ExitCode::from(2);
        }
    };
    match filetests::host_program(file.as_ref(), name, fixed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(3)
        }
    }
}
