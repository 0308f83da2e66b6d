//! The subcommands: read files, call the library, print, choose the exit status.

use std::fmt::Display;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{ColorChoice, Parser};
use ptx_report::text::Paint;
use ptx_runtime::opencl::Options;
use ptx_runtime::parse::container;
use ptx_runtime::{Diagnostics, Dump, Verified};
use serde_json::{Value, json};

use crate::cc::{self, Source, SourceError};
use crate::cli::{
    Build, CacheAction, CacheArgs, CheckArgs, Cli, Command, Common, DumpArg, ExplainArgs, FmtArgs,
    IsaArgs, JitArgs,
};
use crate::run_command::run;
use crate::{assemble, exec, isa, list, timing};

/// The program is invalid, faulted, or missed an expected result.
pub(crate) const INVALID: u8 = 1;
/// The command was used wrongly.
pub(crate) const USAGE: u8 = 2;

/// Why a command ends without success, with everything that was to be said about it already said.
pub(crate) struct Failed(pub(crate) u8);

pub(crate) type Outcome = Result<(), Failed>;

/// Runs what the command line says; the result is the exit status.
pub fn start() -> ExitCode {
    let outcome = match cc_words() {
        Some(words) => cc::command(words),
        None => run_subcommand(Cli::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(status)) => ExitCode::from(status),
    }
}

/// The words of `ptxrun cc`, which reads them itself: to describe all subcommands first would take as long as a small
/// kernel. Help, and what needs care, is left to the description.
fn cc_words() -> Option<Vec<String>> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "cc" {
        return None;
    }
    let words: Vec<String> = words.map(|w| w.into_string().ok()).collect::<Option<_>>()?;
    let special = words.iter().any(|w| ["-h", "--help", "--"].contains(&w.as_str()));
    (!words.is_empty() && !special).then_some(words)
}

fn run_subcommand(cli: Cli) -> Outcome {
    match cli.command {
        None => run(&cli.run),
        Some(Command::Run(args)) => run(&args),
        Some(Command::Cc(args)) => cc::command(args.words),
        Some(Command::Check(args)) => check(&args),
        Some(Command::Profile(args)) => timing::profile::profile(&args),
        Some(Command::Compare(args)) => timing::compare::compare(&args),
        Some(Command::Occupancy(args)) => timing::occupancy::occupancy(&args),
        Some(Command::Devices(args)) => timing::devices::devices(&args),
        Some(Command::Isa(args)) => show_isa(&args),
        Some(Command::Explain(args)) => explain(&args),
        Some(Command::Fmt(args)) => fmt(&args),
        Some(Command::Asm(args)) => assemble::asm(&args),
        Some(Command::Dis(args)) => assemble::dis(&args),
        Some(Command::Jit(args)) => jit(&args),
        Some(Command::Cache(args)) => cache(&args),
        Some(Command::Exec(args)) => exec::exec(&args),
        Some(Command::Env(args)) => exec::env(&args),
        Some(Command::InstallIcd(args)) => exec::install_icd(&args),
    }
}

impl Common {
    /// Whether to colour what goes to standard error.
    pub(crate) fn color(&self) -> bool {
        self.color_on(std::io::stderr().is_terminal())
    }

    /// How to colour what goes to standard output.
    pub(crate) fn paint(&self) -> Paint {
        Paint(self.color_on(std::io::stdout().is_terminal()))
    }

    fn color_on(&self, terminal: bool) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        }
    }

    /// Reports an error in the form that was asked for.
    pub(crate) fn fail(&self, status: u8, kind: &str, message: impl Display) -> Failed {
        if self.json {
            print_json(
                &json!({"ok": false, "error": {"kind": kind, "message": message.to_string()}}),
            );
        } else {
            eprintln!("error: {message}");
        }
        Failed(status)
    }

    /// Reports errors in PTX.
    pub(crate) fn invalid(&self, diagnostics: &Diagnostics) -> Failed {
        if self.json {
            print_json(&json!({"ok": false, "diagnostics": diagnostics.to_json()}));
        } else {
            eprint!("{}", diagnostics.render(self.color()));
        }
        Failed(INVALID)
    }
}

/// Writes to standard output; a reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text).and_then(|()| out.flush());
}

pub(crate) fn print_json(value: &Value) {
    print(format!("{value:#}\n").as_bytes());
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".into() } else { path.display().to_string() }
}

pub(crate) fn read_bytes(path: &Path, common: &Common) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    let result = if is_stdin(path) {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|contents| bytes = contents)
    };
    if let Err(error) = result {
        return Err(common.fail(
            USAGE,
            "file",
            format!("cannot read {}: {error}", display_name(path)),
        ));
    }
    Ok(bytes)
}

pub(crate) fn read_text(path: &Path, common: &Common) -> Result<String, Failed> {
    read_bytes(path, common).map(text_of)
}

fn text_of(mut bytes: Vec<u8>) -> String {
    // Drivers take PTX with a final NUL; comments may hold any bytes.
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Whether a file is a container; one that cannot be read is none.
fn is_container(path: &Path) -> bool {
    let mut head = [0; container::MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    !is_stdin(path) && read.is_ok() && container::is_container(&head)
}

/// A PTX or OpenCL C file, verified, or a container, which was.
fn open(
    path: &Path,
    options: &Options,
    lenient: bool,
    common: &Common,
) -> Result<Result<Source, SourceError>, Failed> {
    let name = display_name(path);
    let assembled = if is_container(path) {
        Verified::open(path)
    } else {
        let bytes = read_bytes(path, common)?;
        if !container::is_container(&bytes) {
            return Ok(cc::verify_with(path, &text_of(bytes), &name, options, lenient));
        }
        Verified::from_bytes(bytes, &name)
    };
    let source = |verified| Source { verified, warnings: cc::Findings::default() };
    Ok(assembled.map(source).map_err(SourceError::Container))
}

/// The options that `--build` holds.
pub(crate) fn build_options(build: &Build, common: &Common) -> Result<Options, Failed> {
    Options::parse(build.build.as_deref().unwrap_or(""))
        .map_err(|diag| common.fail(USAGE, "option", cc::one_line(&diag)))
}

pub(crate) fn load(
    path: &Path,
    options: &Options,
    lenient: bool,
    common: &Common,
) -> Result<Verified, Failed> {
    let source = open(path, options, lenient, common)?.map_err(|e| {
        if common.json {
            print_json(&json!({"ok": false, "diagnostics": e.to_json()}));
        } else {
            eprint!("{}", e.render(common.color()));
        }
        Failed(INVALID)
    })?;
    if !common.json {
        eprint!("{}", source.warnings.render(common.color()));
        eprint!("{}", source.verified.warnings().render(common.color()));
    }
    Ok(source.verified)
}

fn check(args: &CheckArgs) -> Outcome {
    let common = &args.common;
    let options = build_options(&args.input.build, common)?;
    let device = timing::device(&args.input.device, common)?;
    let mut outcome = Ok(());
    let mut results = Vec::new();
    for path in &args.files {
        let name = display_name(path);
        let mut too_new = None;
        let (errors, rendered, json) = match open(path, &options, args.input.lenient, common)? {
            Ok(source) => {
                too_new = device.as_ref().and_then(|profile| {
                    timing::limits::target(source.verified.module(), profile).err()
                });
                let warnings = source.verified.warnings();
                let rendered =
                    source.warnings.render(common.color()) + &warnings.render(common.color());
                let mut json = source.warnings.to_json();
                if let (Value::Array(all), Value::Array(more)) = (&mut json, warnings.to_json()) {
                    all.extend(more);
                }
                (None, rendered, json)
            }
            Err(e) => (Some(e.errors()), e.render(common.color()), e.to_json()),
        };
        let valid = errors.is_none() && too_new.is_none();
        if !valid {
            outcome = Err(Failed(INVALID));
        }
        if common.json {
            let mut result = json!({"file": name, "valid": valid, "diagnostics": json});
            if let Some(error) = too_new {
                result["device"] = error.to_string().into();
            }
            results.push(result);
        } else {
            eprint!("{rendered}");
            let verdict = match (errors, too_new) {
                (None, None) => format!("{name}: valid\n"),
                (None, Some(error)) => format!("{name}: {error}\n"),
                (Some(1), _) => format!("{name}: 1 error\n"),
                (Some(n), _) => format!("{name}: {n} errors\n"),
            };
            print(verdict.as_bytes());
        }
    }
    if common.json {
        print_json(&json!({"ok": outcome.is_ok(), "files": results}));
    }
    outcome
}

fn show_isa(args: &IsaArgs) -> Outcome {
    let filter = args.filter.as_deref();
    match (args.common.json, args.coverage) {
        (false, false) => print(isa::list(filter).as_bytes()),
        (false, true) => print(isa::coverage(filter).as_bytes()),
        (true, false) => print_json(&isa::list_json(filter)),
        (true, true) => print_json(&isa::coverage_json(filter)),
    }
    Ok(())
}

fn explain(args: &ExplainArgs) -> Outcome {
    let unknown = |error| args.common.fail(INVALID, "instruction", error);
    if args.common.json {
        print_json(&isa::explain_json(&args.instruction).map_err(unknown)?);
    } else {
        print(isa::explain(&args.instruction).map_err(unknown)?.as_bytes());
    }
    Ok(())
}

fn fmt(args: &FmtArgs) -> Outcome {
    let common = &args.common;
    let bytes = read_bytes(&args.file, common)?;
    let mut name = display_name(&args.file);
    if container::is_container(&bytes) {
        let message = "this is a container; `ptxrun dis` prints its PTX";
        return Err(common.fail(USAGE, "usage", message));
    }
    let mut text = text_of(bytes);
    if cc::is_opencl(&args.file) {
        if args.in_place {
            let message = "--in-place is for PTX files; `ptxrun cc` writes the PTX of OpenCL C";
            return Err(common.fail(USAGE, "usage", message));
        }
        let options = build_options(&args.build, common)?;
        text = cc::compile(&text, &name, &options, common)?;
        name = cc::ptx_name(&name);
    }
    let formatted = ptx_runtime::format(&text, &name).map_err(|e| common.invalid(&e))?;
    if common.json {
        print_json(&json!({"ok": true, "changed": formatted != text, "text": formatted}));
    } else if args.in_place && !is_stdin(&args.file) {
        std::fs::write(&args.file, formatted)
            .map_err(|error| common.fail(USAGE, "file", format!("cannot write {name}: {error}")))?;
    } else {
        print(formatted.as_bytes());
    }
    Ok(())
}

fn jit(args: &JitArgs) -> Outcome {
    let common = &args.common;
    let options = build_options(&args.build, common)?;
    let verified = load(&args.file, &options, false, common)?;
    let entries: Vec<&str> = list::entries(verified.module()).map(|f| &*f.name).collect();
    let entry = match (&args.entry, &entries[..]) {
        (Some(name), _) => name.as_str(),
        (None, [one]) => one,
        (None, many) => {
            let message = format!("choose one of its entries with --entry: {}", many.join(", "));
            return Err(common.fail(USAGE, "usage", message));
        }
    };
    let form = match args.dump {
        DumpArg::Ir => Dump::Ir,
        DumpArg::Clif => Dump::Clif,
        DumpArg::Asm => Dump::Asm,
    };
    let text = match verified.dump(entry, args.block, args.fast_nan, form) {
        Some(Ok(text)) => text,
        Some(Err(why)) => {
            return Err(common.fail(INVALID, "jit", format!("{entry} is not compiled: {why}")));
        }
        None => {
            return Err(common.fail(USAGE, "entry", format!("no entry is named `{entry}`")));
        }
    };
    if common.json {
        print_json(&json!({"ok": true, "entry": entry, "text": text}));
    } else {
        print(text.as_bytes());
    }
    Ok(())
}

fn cache(args: &CacheArgs) -> Outcome {
    let common = &args.common;
    let Some(cache) = ptx_runtime::Cache::from_environment() else {
        let message = "there is no cache: PTXRUN_CACHE_DIR is empty, or there is no home folder";
        return Err(common.fail(USAGE, "cache", message));
    };
    let folder = cache.folder().display();
    let done = match args.action {
        CacheAction::Show => cache.usage(),
        CacheAction::Clear => cache.clear(),
    };
    let usage =
        done.map_err(|error| common.fail(USAGE, "file", format!("cannot use {folder}: {error}")))?;
    let clear = args.action == CacheAction::Clear;
    if common.json {
        print_json(&json!({
            "ok": true, "folder": folder.to_string(), "cleared": clear,
            "entries": usage.entries, "bytes": usage.bytes,
        }));
    } else {
        let verb = if clear { "removed: " } else { "" };
        let kib = usage.bytes.div_ceil(1024);
        print(
            format!("{folder}: {verb}{} compiled kernels, {kib} KiB\n", usage.entries).as_bytes(),
        );
    }
    Ok(())
}
