//! `ptxrun ptxas`, also under the name `ptxas`: an assembler with the options, the lines and the exit status of NVIDIA's.
//! What it writes is [`ptx_runtime::cubin`]: our driver loads it.

mod figures;
mod options;

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use ptx_runtime::isa::types::{Suffix, Target};
use ptx_runtime::parse::diag::{Reporter, Severity};
use ptx_runtime::parse::link;
use ptx_runtime::parse::verify::header::{current_targets, target_named, versions};
use ptx_runtime::{CUDA_VERSION, Diagnostics, Verified, VerifyOptions, cubin};

use crate::list;
use crate::terminal::{Failed, MOST_READ, Outcome, print};
use options::{Asked, Request, Source};

/// The status of NVIDIA's assembler when it gives up.
const GAVE_UP: u8 = 255;
/// Fewest registers that the calling convention of a device leaves a thread (ptxas 13.5 says so when it is asked for
/// fewer).
const FEWEST_REGISTERS: u32 = 24;
/// A line as NVIDIA's assembler writes it, to standard error.
fn say(kind: &str, message: impl std::fmt::Display) {
    environment::sayln!("ptxas {kind:8}: {message}");
}

/// Ends with what went wrong.
fn give_up(message: impl std::fmt::Display) -> Failed {
    say("fatal", message);
    Failed(GAVE_UP)
}

/// Runs with the words after the name.
pub(crate) fn command(words: Vec<String>) -> Outcome {
    if words.is_empty() {
        print(options::help().as_bytes());
        return Ok(());
    }
    match options::read(words).map_err(give_up)? {
        Asked::Assemble(request) => assemble(&request),
        Asked::Help => {
            print(options::help().as_bytes());
            Ok(())
        }
        Asked::Version => {
            print(version().as_bytes());
            Ok(())
        }
        Asked::ListArchitectures => {
            let all: String = current_targets().map(|t| format!("{t}\n")).collect();
            print(all.as_bytes());
            Ok(())
        }
        Asked::ListVersions => {
            let all: String = versions().map(|v| format!("{v}\n")).collect();
            print(all.as_bytes());
            Ok(())
        }
    }
}

/// Programs look for `release` and a number, by which they choose a PTX version.
fn version() -> String {
    let release = format!("{}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    format!(
        "ptxas: assembler of ptxrun {}, for its own driver\n\
         Takes the place of: Cuda compilation tools, release {release}, V{release}.0\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// A text and its name in messages.
fn text(source: &Source) -> Result<(String, String), Failed> {
    let (name, bytes) = match source {
        Source::Text(text) => return Ok(("<string>".into(), text.clone())),
        Source::File(path) if path == Path::new("-") => {
            let mut bytes = Vec::new();
            ("<stdin>".into(), std::io::stdin().read_to_end(&mut bytes).map(|_| bytes))
        }
        Source::File(path) => {
            (path.display().to_string(), environment::files::read(path, MOST_READ))
        }
    };
    let mut bytes =
        bytes.map_err(|e| give_up(format_args!("Input file '{name}' could not be opened: {e}")))?;
    // A text may end with a zero, as one in memory does.
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        give_up(format_args!("Input file '{name}' is not PTX: it is not UTF-8 text"))
    })?;
    Ok((name, text))
}

/// Every finding: a line as NVIDIA's assembler writes it, then the place.
fn report(findings: &Diagnostics, name: &str, source: &str, request: &Request) -> usize {
    let reporter = Reporter::new(name, source);
    let mut errors = 0;
    for diag in findings.diags() {
        let at = reporter.locate(diag);
        let kind = match at.severity {
            Severity::Error => "error",
            Severity::Warning if request.warnings_are_errors => "error",
            Severity::Warning if request.no_warnings => continue,
            Severity::Warning => "warning",
        };
        errors += usize::from(kind == "error");
        environment::sayln!("ptxas {name}, line {}; {kind:8}: {}", at.start.line, at.message);
        environment::say!("{}", reporter.plain(diag));
    }
    errors
}

const ABORTED: &str = "Ptx assembly aborted due to errors";

/// The device, and whether it is one or only a set of features to check against.
fn device(request: &Request) -> Result<(Target, bool), Failed> {
    let name = &request.device;
    let checked_only = name.starts_with("compute_");
    let target = target_named(name).filter(|t| current_targets().any(|c| c == *t));
    let target = target.ok_or_else(|| {
        give_up(format_args!("Value '{name}' is not defined for option 'gpu-name'"))
    })?;
    Ok((target, checked_only))
}

/// Whether code for the module's target runs on the device.
fn suits(target: Target, device: Target, name: &str) -> Result<(), Failed> {
    if target.runs_on(device) {
        return Ok(());
    }
    let plain = target.suffix == Suffix::None;
    Err(if plain {
        give_up(format_args!(
            "SM version specified by .target is higher than default SM version assumed: {name} is for {target}, \
             the device is {device}; --gpu-name={target} assembles it"
        ))
    } else {
        give_up(format_args!(
            "PTX with .target '{target}' cannot be compiled for architecture '{device}': {name} uses features of \
             that architecture; --gpu-name={target} assembles it"
        ))
    })
}

/// One text of all inputs.
fn linked(request: &Request) -> Result<(String, String), Failed> {
    let texts: Vec<(String, String)> = request.inputs.iter().map(text).collect::<Result<_, _>>()?;
    match <[_; 1]>::try_from(texts) {
        Ok([one]) => Ok(one),
        Err(texts) => {
            let inputs: Vec<link::Input<'_>> =
                texts.iter().map(|(name, text)| link::Input { name, text }).collect();
            let text = link::link(&inputs).map_err(|errors| {
                for error in errors {
                    say("error", error);
                }
                give_up(ABORTED)
            })?;
            let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
            Ok((names.join("+"), text))
        }
    }
}

fn assemble(request: &Request) -> Outcome {
    let started = Instant::now();
    if request.inputs.is_empty() {
        return Err(give_up("No input files specified"));
    }
    let (device, checked_only) = device(request)?;
    let (name, mut text) = linked(request)?;
    if let Some(asked) = request.registers {
        let registers = asked.max(FEWEST_REGISTERS);
        if registers != asked {
            let message = format!(
                "For profile {device} adjusting per thread register count of {asked} to lower bound of {registers}"
            );
            if request.warnings_are_errors {
                say("error", message);
                return Err(give_up(ABORTED));
            }
            if !request.no_warnings {
                say("warning", message);
            }
        }
        text = link::limit_registers(&text, registers);
    }
    let options =
        VerifyOptions { no_contraction: !request.contraction, ..VerifyOptions::default() };
    let verified = Verified::with(&text, &name, options).map_err(|findings| {
        report(&findings, &name, &text, request);
        give_up(ABORTED)
    })?;
    if report(verified.warnings(), &name, &text, request) > 0 {
        return Err(give_up(ABORTED));
    }
    suits(verified.module().info.target, device, &name)?;
    if !request.relocatable
        && let Some(missing) = verified.undefined()
    {
        say(
            "error",
            format_args!(
                "the function `{missing}` is called and defined nowhere; -c leaves it to a linker"
            ),
        );
        return Err(give_up(ABORTED));
    }
    let all: Vec<&str> = list::entries(verified.module()).map(|f| f.name.as_str()).collect();
    if let Some(unknown) = request.entries.iter().find(|e| !all.contains(&e.as_str())) {
        return Err(give_up(format_args!("Entry function '{unknown}' is not defined in '{name}'")));
    }
    let wanted = |n: &&str| request.entries.is_empty() || request.entries.iter().any(|e| e == n);
    let kernels: Vec<&str> = all.into_iter().filter(wanted).collect();
    // What calls functions of other objects has figures only once it is linked.
    let whole: &[&str] = if verified.undefined().is_some() { &[] } else { &kernels };
    let figures = figures::of(&verified, whole).map_err(|refusal| {
        say("error", refusal);
        give_up(ABORTED)
    })?;
    if request.warn_local && !request.no_warnings {
        for kernel in figures.kernels.iter().filter(|k| k.local > 0) {
            let kind = if request.warnings_are_errors { "error" } else { "warning" };
            say(kind, format_args!("Local memory used for function '{}'", kernel.name));
            if request.warnings_are_errors {
                return Err(give_up(ABORTED));
            }
        }
    }
    if !checked_only {
        let wanted = cubin::Wanted { target: device, relocatable: request.relocatable };
        let bytes = cubin::write(&verified, &kernels, wanted).map_err(give_up)?;
        std::fs::write(&request.output, bytes).map_err(|error| {
            give_up(format_args!(
                "Output file '{}' could not be written: {error}",
                request.output.display()
            ))
        })?;
    }
    if request.verbose {
        environment::say!("{}", figures.render(device, started.elapsed()));
    }
    Ok(())
}
