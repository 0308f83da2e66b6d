//! `ptxrun run`: one kernel of a PTX or OpenCL C file, or a launch file.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once};

use ptx_runtime::check::render;
use ptx_runtime::opencl::info::KernelInfo;
use ptx_runtime::parse::module::Module;
use ptx_runtime::{Backend, LaunchError, Verified};
use serde_json::{Value, json};

use crate::cli::{Common, RunArgs};
use crate::launch_file::{self, LaunchFile};
use crate::plan::{Arg, Plan};
use crate::run::{RunError, RunOptions, execute};
use crate::source_file::{build_options, load, load_source};
use crate::terminal::{
    Failed, INVALID, Outcome, USAGE, display_name, dumb_terminal, print, print_json, read_text,
};
use crate::{from_args, list, report, timing, toml_error};

/// What else a launch's result may depend on.
const RACES: &str = "where threads race for memory, results depend on the engine and on the run; --check race finds that";

fn load_launch_file(path: &Path, common: &Common) -> Result<LaunchFile, Failed> {
    let text = read_text(path, common)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    launch_file::parse(&text, folder).map_err(|error| {
        if common.json {
            let (line, column) = toml_error::position(&text, error.span.start);
            print_json(&json!({"ok": false, "error": {
                "kind": "launch file", "message": error.to_string(),
                "file": path.display().to_string(), "line": line, "column": column,
            }}));
        } else {
            environment::say!(
                "{}",
                toml_error::render(&path.display().to_string(), &text, &error, common.color())
            );
        }
        Failed(USAGE)
    })
}

/// The PTX file and the launch file that the arguments name; at least one of them.
pub(crate) fn files(args: &RunArgs) -> Result<(Option<&PathBuf>, Option<&PathBuf>), Failed> {
    let common = &args.common;
    let is_toml = |p: &Path| p.extension().is_some_and(|e| e == "toml");
    match (&args.file, &args.launch) {
        (Some(file), None) if is_toml(file) => {
            if args.entry.is_some() || args.grid.is_some() || !args.arg.is_empty() {
                let message = "a launch file says what to launch; --entry, --grid and --arg go with a PTX or OpenCL C file";
                return Err(common.fail(USAGE, "usage", message));
            }
            Ok((None, Some(file)))
        }
        (None, None) => Err(common.fail(
            USAGE,
            "usage",
            "name a PTX or OpenCL C file, or a launch file with --launch",
        )),
        (file, launch) => Ok((file.as_ref(), launch.as_ref())),
    }
}

/// Refuses `--check` where launches are watched by something else.
pub(crate) fn without_checks(args: &RunArgs) -> Outcome {
    match args.check {
        None => Ok(()),
        Some(_) => {
            let message = "--check is for `run`, `exec` and `debug`; leave it out here, and run the launch under it apart";
            Err(args.common.fail(USAGE, "usage", message))
        }
    }
}

/// The launch file, and the modules to run it on: those that it names, or the given one.
pub(crate) fn with_modules(
    args: &RunArgs,
    file: Option<&PathBuf>,
    launch: &Path,
) -> Result<(LaunchFile, Vec<PathBuf>), Failed> {
    let common = &args.common;
    let mut loaded = load_launch_file(launch, common)?;
    if args.input.build.build.is_some() {
        loaded.build = build_options(&args.input.build, common)?;
    }
    let modules = file.map_or_else(|| loaded.modules.clone(), |file| vec![file.clone()]);
    if modules.is_empty() {
        let message =
            "the launch file names no module; name a PTX file: ptxrun FILE.ptx --launch ...";
        return Err(common.fail(USAGE, "usage", message));
    }
    Ok((loaded, modules))
}

/// Runs what the arguments say.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    match files(args)? {
        (file, Some(launch)) => run_launch_file(args, file, launch),
        (Some(file), None) => run_file(args, file),
        (None, None) => Ok(()),
    }
}

/// Runs the modules of a launch file, or the given one, each on its own.
fn run_launch_file(args: &RunArgs, file: Option<&PathBuf>, launch: &Path) -> Outcome {
    let common = &args.common;
    let (loaded, modules) = with_modules(args, file, launch)?;
    if let (Some(title), false) = (&loaded.title, common.json) {
        print(format!("{title}\n").as_bytes());
    }
    let mut outcome = Ok(());
    let mut results = Vec::new();
    for module in &modules {
        let verified = load(module, &loaded.build, args.input.lenient, common)?;
        if !common.json && modules.len() > 1 {
            print(format!("{}\n", display_name(module)).as_bytes());
        }
        match run_plan(args, &loaded.plan, &verified) {
            Ok((passed, mut json)) => {
                json["module"] = display_name(module).into();
                results.push(json);
                if !passed {
                    outcome = Err(Failed(INVALID));
                }
            }
            Err(failed) => return Err(failed),
        }
    }
    if common.json {
        print_json(&json!({"ok": outcome.is_ok(), "modules": results}));
    }
    outcome
}

/// Runs one kernel of a PTX file, or lists what it holds.
fn run_file(args: &RunArgs, file: &Path) -> Outcome {
    let common = &args.common;
    let build = build_options(&args.input.build, common)?;
    let source = load_source(file, &build, args.input.lenient, common)?;
    let module = source.verified.module();
    let asked = args.entry.is_some()
        || args.grid.is_some()
        || args.block.is_some()
        || !args.arg.is_empty()
        || !args.out.is_empty()
        || !args.print.is_empty();
    if !asked {
        let name = args.file.as_ref().map_or_else(String::new, |f| f.display().to_string());
        let build = args.input.build.build.as_deref();
        let listing = list::Listing { module, file: &name, build, kernels: &source.kernels };
        if common.json {
            print_json(&list::json(&listing));
        } else {
            print(list::text(&listing).as_bytes());
        }
        return Ok(());
    }
    let mut plan = plan_of_file(args, module)?;
    name_buffers(&mut plan, &source.kernels);
    let (passed, json) = run_plan(args, &plan, &source.verified)?;
    if !common.json && args.out.is_empty() && args.print.is_empty() {
        environment::say!("{}", report::nothing_shown(&plan));
    }
    if common.json {
        print_json(&json);
    }
    if passed { Ok(()) } else { Err(Failed(INVALID)) }
}

/// Calls buffers by the names of their arguments in OpenCL C.
fn name_buffers(plan: &mut Plan, kernels: &[KernelInfo]) {
    for launch in &plan.launches {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.name == launch.entry) else {
            continue;
        };
        for (arg, info) in launch.args.iter().zip(&kernel.args) {
            if let Arg::Buffer { index, .. } = arg {
                plan.buffers[*index].name.clone_from(&info.name);
            }
        }
    }
}

/// One launch as the options say it.
pub(crate) fn plan_of_file(args: &RunArgs, module: &Module) -> Result<Plan, Failed> {
    let common = &args.common;
    let entry = choose_entry(module, args.entry.as_deref(), common)?;
    let grid = args.grid.unwrap_or([1; 3]);
    let required = list::entries(module).find(|f| f.name == entry).and_then(|f| f.tuning.req_ntid);
    let Some(block) = args.block.or(required) else {
        let message = "say the threads per block with --block: 256, 16,16 or 8,8,4";
        return Err(common.fail(USAGE, "usage", message));
    };
    from_args::plan(entry, grid, block, args.shared.unwrap_or(0), &args.arg)
        .map_err(|error| common.fail(USAGE, "argument", error))
}

/// The entry that was asked for, or the only one.
pub(crate) fn choose_entry(
    module: &Module,
    asked: Option<&str>,
    common: &Common,
) -> Result<String, Failed> {
    let entries: Vec<&str> = list::entries(module).map(|f| f.name.as_str()).collect();
    match (asked, &entries[..]) {
        (Some(entry), _) => Ok(entry.to_owned()),
        (None, [one]) => Ok((*one).to_owned()),
        (None, []) => Err(common.fail(INVALID, "entry", "the file defines no .entry")),
        (None, many) => {
            let message = format!(
                "the file has {} entries; choose one with --entry: {}",
                many.len(),
                many.join(", ")
            );
            Err(common.fail(USAGE, "usage", message))
        }
    }
}

/// Executes a plan and prints its result; says whether every check holds, and the result as JSON.
fn run_plan(args: &RunArgs, plan: &Plan, verified: &Verified) -> Result<(bool, Value), Failed> {
    let common = &args.common;
    report::resolve(plan, &args.out, &args.print)
        .map_err(|error| common.fail(USAGE, "usage", error))?;
    let options = RunOptions {
        threads: args.threads,
        timeout: args.timeout,
        backend: match args.backend {
            Some(backend) => backend.into(),
            None => Backend::from_environment()
                .map_err(|error| common.fail(USAGE, "usage", error.to_string()))?,
        },
        fast_nan: args.fast_nan,
        fast_approx: args.fast_approx,
        progress: !common.json && std::io::stderr().is_terminal() && !dumb_terminal(),
        device: timing::device(&args.input.device, common)?,
        checks: args.check.unwrap_or_default(),
        schedule: args.schedule,
        ..RunOptions::default()
    };
    if args.verbose || common.json {
        verified.count_inexact();
    }
    let printed = Arc::new(Mutex::new(Vec::new()));
    let result = execute(plan, verified, &options, &printed);
    let stdout = printed.lock().map(|p| p.clone()).unwrap_or_default();
    if !common.json {
        print(&stdout);
    }
    let (found, notes) = options.found.lock().map(|f| f.clone()).unwrap_or_default();
    if !common.json {
        environment::say!("{}", render::text(&found, &notes));
    }
    let done = result.map_err(|error| {
        if common.json && !found.is_empty() {
            let mut json = render::json(&found, &notes);
            json["ok"] = false.into();
            json["error"] = error.to_string().into();
            print_json(&json);
            return Failed(INVALID);
        }
        run_failed(common, verified, &error, &stdout)
    })?;
    if args.verbose {
        for l in &done.launches {
            environment::sayln!(
                "{}: {} ({:.1} ms)",
                l.entry,
                l.stats.engine,
                l.elapsed.as_secs_f64() * 1e3
            );
            environment::sayln!("{}: {}", l.entry, l.fidelity);
        }
        if args.check.is_none() {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| environment::sayln!("note: {RACES}"));
        }
    }
    report::write_files(plan, &done, &args.out)
        .map_err(|error| common.fail(USAGE, "file", error))?;
    if !common.json {
        print(report::text(plan, &done, &args.print).as_bytes());
    }
    let mut json = report::json(plan, &done, &args.print);
    if args.check.is_some() {
        if !common.json {
            let n = found.len();
            environment::sayln!("{n} finding{}", if n == 1 { "" } else { "s" });
        }
        json["report"] = render::json(&found, &notes);
        json["ok"] = (done.passed() && found.is_empty()).into();
    }
    Ok((done.passed() && found.is_empty(), json))
}

/// Reports why a run ended early.
pub(crate) fn run_failed(
    common: &Common,
    verified: &Verified,
    error: &RunError,
    stdout: &[u8],
) -> Failed {
    let status = match error {
        RunError::UnknownEntry { .. } | RunError::NumberKind { .. } | RunError::Write(_) => USAGE,
        RunError::Launch(LaunchError::Arguments(_) | LaunchError::Configuration(_)) => USAGE,
        RunError::Launch(_) | RunError::Setup { .. } => INVALID,
        RunError::Quit | RunError::Watched(_) => INVALID,
        RunError::Device { .. } | RunError::DoesNotFit { .. } => INVALID,
    };
    let launch = match error {
        RunError::Launch(launch) => launch,
        RunError::DoesNotFit { .. } => return common.fail(status, "does not fit", error),
        RunError::Device { .. } => return common.fail(status, "device", error),
        _ => return common.fail(status, "run", error),
    };
    if common.json {
        let mut json = launch.to_json(verified);
        json["message"] = launch.to_string().into();
        print_json(&json!({"ok": false, "stdout": String::from_utf8_lossy(stdout), "error": json}));
    } else {
        environment::say!("{}", launch.render(verified, common.color()));
    }
    Failed(status)
}
