//! `ptxrun trace`.

use std::io::{BufReader, BufWriter, ErrorKind, Write, stdout};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ptx_debug::trace::{TraceFormat, TraceOptions, code_of, convert, trace as trace_launch};
use ptx_runtime::{Context, Engine, LaunchConfig, LaunchError, LaunchStats, Module, Verified};

use crate::cli::{TraceArgs, TraceFormatArg};
use crate::debug::{each_module, folders};
use crate::plan::{Plan, PlannedLaunch};
use crate::run::{RunError, RunOptions, execute_by};
use crate::run_command::{run_failed, without_checks};
use crate::terminal::{Failed, INVALID, Outcome, USAGE, is_stdout};

/// Writes the trace of what the arguments launch.
pub(crate) fn trace(args: &TraceArgs) -> Outcome {
    without_checks(&args.run)?;
    let common = &args.run.common;
    let file = args.output.as_ref().filter(|path| !is_stdout(path));
    let mut out: Box<dyn Write + Send> = match file {
        None => Box::new(BufWriter::new(stdout())),
        Some(path) => {
            let file = std::fs::File::create(path).map_err(|error| {
                common.fail(USAGE, "file", format!("cannot write {}: {error}", path.display()))
            })?;
            Box::new(BufWriter::new(file))
        }
    };
    let format = match args.format {
        TraceFormatArg::Text => TraceFormat::Text,
        TraceFormatArg::Jsonl => TraceFormat::Json,
        TraceFormatArg::Perfetto => TraceFormat::Perfetto,
        TraceFormatArg::Binary => TraceFormat::Binary,
    };
    if let Some(path) = &args.read {
        let file = std::fs::File::open(path).map_err(|error| {
            common.fail(USAGE, "file", format!("cannot read {}: {error}", path.display()))
        })?;
        return convert(&mut BufReader::new(file), format, &mut *out)
            .map_err(|error| common.fail(INVALID, "trace", error));
    }
    let options = TraceOptions {
        format,
        instructions: !args.only_memory,
        accesses: args.memory || args.only_memory,
        values: !args.no_values,
        block: args.only_block,
        warp: args.only_warp,
        lines: args.lines,
        opcode: args.opcode.clone(),
    };
    let perfetto = options.format == TraceFormat::Perfetto;
    let mut launches = 0;
    each_module(&args.run, false, &mut |path, verified, plan| {
        let mut launcher =
            |context: &Context, module: &Module, launch: &PlannedLaunch, config: LaunchConfig| {
                if args.kernel.as_ref().is_some_and(|k| *k != launch.entry) {
                    return context
                        .launch(module, &launch.entry, config)
                        .map(|stats| (stats, None))
                        .map_err(RunError::Launch);
                }
                launches += 1;
                if perfetto && launches > 1 {
                    let text = "a Perfetto file holds one launch; choose it with --kernel";
                    return Err(RunError::Watched(text.into()));
                }
                one(path, &options, &mut *out, context, module, launch, config)
            };
        run(args, verified, plan, &mut launcher)
    })?;
    match out.flush() {
        // Whoever read it has seen enough.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(common.fail(USAGE, "file", error))
        }
        _ => Ok(()),
    }
}

fn one(
    path: &Path,
    options: &TraceOptions,
    out: &mut (dyn Write + Send),
    context: &Context,
    module: &Module,
    launch: &PlannedLaunch,
    config: LaunchConfig,
) -> Result<crate::run::Launched, RunError> {
    let (kernel, params) = context.prepare(module, &launch.entry, config)?;
    let code = code_of(&kernel, module.verified().module(), &params, &folders(path));
    let (result, written) = trace_launch(&code, context.memory(), &params, options, out);
    written.map_err(RunError::Write)?;
    match result {
        Ok(stats) => Ok((LaunchStats::interpreted(stats, Engine::Interpreter), None)),
        Err(ptx_runtime::interp::LaunchError::Fault(report)) => {
            Err(RunError::Launch(LaunchError::Fault(report)))
        }
        Err(other) => Err(RunError::Launch(LaunchError::Configuration(other))),
    }
}

fn run(
    args: &TraceArgs,
    verified: &Verified,
    plan: &Plan,
    launcher: &mut crate::run::Launcher<'_>,
) -> Outcome {
    let printed = Arc::new(Mutex::new(Vec::new()));
    match execute_by(plan, verified, &RunOptions::default(), &printed, launcher) {
        Ok(done) if done.passed() => Ok(()),
        Ok(_) => Err(Failed(INVALID)),
        // As above.
        Err(RunError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(run_failed(&args.run.common, verified, &error, &[])),
    }
}
