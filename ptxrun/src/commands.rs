//! The subcommands: which function serves each, and those that are short.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use ptx_runtime::Dump;
use ptx_runtime::parse::container;
use serde_json::{Value, json};

use crate::cc;
use crate::cli::{
    CacheAction, CacheArgs, CheckArgs, Cli, Command, DumpArg, ExplainArgs, FmtArgs, IsaArgs,
    JitArgs,
};
use crate::run_command::run;
use crate::source_file::{build_options, load, open};
use crate::terminal::{
    Failed, INVALID, Outcome, USAGE, display_name, is_stdin, print, print_json, printed,
    read_bytes, text_of,
};
use crate::{
    assemble, dap, debug, diff, exec, isa, list, observe, ptxas, reduce, sanitize, timing, trace,
};

/// Runs what the command line says; the result is the exit status.
pub fn start() -> ExitCode {
    ExitCode::from(run_words(std::env::args_os().collect()))
}

/// Runs the words of a command line, the first of which is the program's name; the result is the exit status. Help and
/// wrong usage end the process.
pub fn run_words(words: Vec<OsString>) -> u8 {
    if let Err(wrong) = exec::judge_variables() {
        environment::sayln!("error: {wrong}");
        return USAGE;
    }
    let outcome = match (ptxas_words(&words), cc_words(&words)) {
        (Some(words), _) => ptxas::command(words),
        (None, Some(words)) => cc::command(words),
        (None, None) => run_subcommand(Cli::parse_from(words)),
    };
    printed(match outcome {
        Ok(()) => 0,
        Err(Failed(status)) => status,
    })
}

/// The words of `ptxas`, whose options are NVIDIA's: where the command has that name, or as `ptxrun ptxas`.
fn ptxas_words(words: &[OsString]) -> Option<Vec<String>> {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let command = words.next()?;
    if std::path::Path::new(&command).file_stem().is_some_and(|name| name == "ptxas") {
        return Some(words.collect());
    }
    (words.next()? == "ptxas").then(|| words.collect())
}

/// Says where the libraries are, for programs that know: `exec` and `env` look there first.
pub fn installed_in(folder: PathBuf) {
    exec::installed_in(folder);
}

/// The words of `ptxrun cc`, which reads them itself: to describe all subcommands first would take as long as a small
/// kernel. Help, and what needs care, is left to the description.
fn cc_words(words: &[OsString]) -> Option<Vec<String>> {
    if words.get(1)? != "cc" {
        return None;
    }
    let words: Vec<String> =
        words[2..].iter().map(|w| w.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    let special = words.iter().any(|w| ["-h", "--help", "--"].contains(&w.as_str()));
    (!words.is_empty() && !special).then_some(words)
}

/// Where a file may not grow any more (`ulimit -f`), writing fails, and does not end the process.
fn outlive_full_files() {
    #[cfg(unix)]
    // SAFETY: to ignore a signal needs no function of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

fn run_subcommand(cli: Cli) -> Outcome {
    // A program that is started inherits what is ignored.
    if !matches!(cli.command, Some(Command::Exec(_))) {
        outlive_full_files();
    }
    match cli.command {
        None => run(&cli.run),
        Some(Command::Run(args)) => run(&args),
        Some(Command::Cc(args)) => cc::command(args.words),
        Some(Command::Ptxas(args)) => ptxas::command(args.words),
        Some(Command::Check(args)) => check(&args),
        Some(Command::Profile(args)) => timing::profile::profile(&args),
        Some(Command::Debug(args)) => debug::debug(&args),
        Some(Command::Dap(args)) => dap::dap(&args),
        Some(Command::Trace(args)) => trace::trace(&args),
        Some(Command::Observe(args)) => observe::observe(&args),
        Some(Command::Diff(args)) => diff::diff(&args),
        Some(Command::Reduce(args)) => reduce::reduce(&args),
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
        Some(Command::Sanitize(args)) => sanitize::sanitize(&args),
        Some(Command::Coverage(args)) => sanitize::coverage(&args),
        Some(Command::Env(args)) => exec::env(&args),
        Some(Command::InstallIcd(args)) => exec::install_icd(&args),
    }
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
            environment::say!("{rendered}");
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
    let text = match verified.dump(entry, args.block, [args.fast_nan, args.fast_approx], form) {
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
