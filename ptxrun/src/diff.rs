//! `ptxrun diff`: two versions of a kernel on the same data, or one and what was recorded elsewhere. Where their
//! results part, it says which thread wrote what, by which instruction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ptx_debug::code::CodeMap;
use ptx_debug::trace::code_of;
use ptx_debug::writers::{Write, writers};
use ptx_runtime::opencl::Options;
use ptx_runtime::{
    Backend, Context, Engine, LaunchConfig, LaunchError, LaunchStats, Module, Verified,
};
use serde_json::json;

use crate::cli::DiffArgs;
use crate::debug::{each_module, folders};
use crate::plan::{Plan, PlannedLaunch};
use crate::run::{RunError, RunOptions, execute, execute_by};
use crate::run_command::{run_failed, without_checks};
use crate::source_file::{build_options, load};
use crate::terminal::{Failed, INVALID, Outcome, USAGE, print, print_json};

/// Bytes whose writers are looked for at most: the first that differ.
const MOST: usize = 4096;

/// A write, with what people want to know of it.
struct Written {
    launch: usize,
    time: u64,
    text: String,
}

/// Compares what the arguments launch with another version.
pub(crate) fn diff(args: &DiffArgs) -> Outcome {
    without_checks(&args.run)?;
    each_module(&args.run, false, &mut |path, verified, plan| one(args, path, verified, plan))
}

fn one(args: &DiffArgs, path: &Path, verified: &Verified, plan: &Plan) -> Outcome {
    let common = &args.run.common;
    let interp = RunOptions { backend: Backend::Interp, ..RunOptions::default() };
    let run = |verified: &Verified, options: &RunOptions| {
        let printed = Arc::new(Mutex::new(Vec::new()));
        execute(plan, verified, options, &printed)
            .map_err(|error| run_failed(common, verified, &error, &[]))
    };
    let (name, other_path, other) = match args.with.as_deref() {
        None => ("the recording".to_owned(), path.to_owned(), None),
        Some("jit") => ("compiled code".to_owned(), path.to_owned(), None),
        Some(file) => {
            let build = Options { lines: true, ..build_options(&args.run.input.build, common)? };
            let file = PathBuf::from(file);
            let other = load(&file, &build, args.run.input.lenient, common)?;
            (file.display().to_string(), file, Some(other))
        }
    };
    let a = run(verified, &interp)?.buffers;
    let b = match &other {
        Some(other) => run(other, &interp)?.buffers,
        None if args.with.is_none() => recorded(args, plan, &a)?,
        None => {
            let compiled = RunOptions { backend: Backend::Jit, ..RunOptions::default() };
            run(verified, &compiled)?.buffers
        }
    };
    let Some((buffer, bytes)) = different(plan, &a, &b) else {
        if common.json {
            print_json(&json!({"ok": true, "differ": false}));
        } else {
            print(format!("{} and {name}: the same results\n", path.display()).as_bytes());
        }
        return Ok(());
    };
    let wrote_a = who(plan, path, verified, buffer, &bytes)
        .map_err(|error| run_failed(common, verified, &error, &[]))?;
    let wrote_b = match &other {
        Some(other) => who(plan, &other_path, other, buffer, &bytes)
            .map_err(|error| run_failed(common, other, &error, &[]))?,
        None => BTreeMap::new(),
    };
    // The first of them in the order of execution.
    let first = bytes
        .iter()
        .min_by_key(|byte| wrote_a.get(byte).map_or((usize::MAX, 0), |w| (w.launch, w.time)));
    let Some(&byte) = first else { return Ok(()) };
    let b_of = &plan.buffers[buffer];
    let ty = b_of.ty.unwrap_or(crate::values::ElementType::B8);
    let element = byte / ty.size();
    let range = element * ty.size()..(element + 1) * ty.size();
    let value = |buffers: &[Vec<u8>]| {
        buffers[buffer].get(range.clone()).map(|b| ty.format(b)).unwrap_or_default()
    };
    let by = |w: &BTreeMap<usize, Written>| {
        w.get(&byte).map_or_else(|| "not written".to_owned(), |w| w.text.clone())
    };
    if common.json {
        print_json(&json!({
            "ok": false, "differ": true, "buffer": b_of.name, "element": element,
            "values": [value(&a), value(&b)], "writers": [by(&wrote_a), by(&wrote_b)],
        }));
    } else {
        let mut text = format!("{}[{element}] is the first that differs\n", b_of.name);
        text.push_str(&format!("  {}: {}\n    {}\n", path.display(), value(&a), by(&wrote_a)));
        text.push_str(&format!("  {name}: {}\n", value(&b)));
        if other.is_some() {
            text.push_str(&format!("    {}\n", by(&wrote_b)));
        }
        print(text.as_bytes());
    }
    Err(Failed(INVALID))
}

/// Buffers as they were recorded; those that were not, as they are here.
fn recorded(args: &DiffArgs, plan: &Plan, here: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Failed> {
    let common = &args.run.common;
    let mut all = here.to_vec();
    for (name, file) in &args.recorded {
        let called =
            |b: &crate::plan::Buffer| b.name == *name || b.name == format!("argument {name}");
        let Some(n) = plan.buffers.iter().position(called) else {
            let names: Vec<&str> = plan.buffers.iter().map(|b| b.name.as_str()).collect();
            let text = format!("there is no buffer `{name}`; there are: {}", names.join(", "));
            return Err(common.fail(USAGE, "recorded", text));
        };
        let bytes = std::fs::read(file).map_err(|error| {
            common.fail(USAGE, "file", format!("cannot read {}: {error}", file.display()))
        })?;
        if bytes.len() != all[n].len() {
            let (file, held) = (file.display(), bytes.len());
            let text =
                format!("{file} holds {held} bytes, {} has {}", plan.buffers[n].name, all[n].len());
            return Err(common.fail(USAGE, "recorded", text));
        }
        all[n] = bytes;
    }
    Ok(all)
}

/// The first buffer that differs, and its first different bytes.
fn different(plan: &Plan, a: &[Vec<u8>], b: &[Vec<u8>]) -> Option<(usize, Vec<usize>)> {
    (0..plan.buffers.len()).find_map(|n| {
        let pairs = a[n].iter().zip(&b[n]).enumerate();
        let bytes: Vec<usize> =
            pairs.filter(|(_, (a, b))| a != b).map(|(at, _)| at).take(MOST).collect();
        (!bytes.is_empty()).then_some((n, bytes))
    })
}

/// Who wrote these bytes of a buffer last.
fn who(
    plan: &Plan,
    path: &Path,
    verified: &Verified,
    buffer: usize,
    bytes: &[usize],
) -> Result<BTreeMap<usize, Written>, RunError> {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let mut all = BTreeMap::new();
    let mut launches = 0;
    let folders = folders(path);
    let name = plan.buffers[buffer].name.clone();
    let mut launcher =
        |context: &Context, module: &Module, launch: &PlannedLaunch, config: LaunchConfig| {
            let (kernel, params) = context.prepare(module, &launch.entry, config)?;
            let code = code_of(&kernel, module.verified().module(), &params, &folders);
            let start =
                context.memory().allocations().iter().find(|a| *a.name == *name).map(|a| a.start);
            let start = start.unwrap_or(0);
            let wanted: Vec<u64> = bytes.iter().map(|b| start + *b as u64).collect();
            let (result, found) = writers(&code, context.memory(), &params, &wanted);
            for (address, w) in found {
                let text = written(&code, &w);
                all.insert(
                    (address - start) as usize,
                    Written { launch: launches, time: w.time, text },
                );
            }
            launches += 1;
            match result {
                Ok(stats) => Ok((LaunchStats::interpreted(stats, Engine::Interpreter), None)),
                Err(ptx_runtime::interp::LaunchError::Fault(report)) => {
                    Err(RunError::Launch(LaunchError::Fault(report)))
                }
                Err(other) => Err(RunError::Launch(LaunchError::Configuration(other))),
            }
        };
    execute_by(plan, verified, &RunOptions::default(), &printed, &mut launcher)?;
    Ok(all)
}

fn written(code: &CodeMap, w: &Write) -> String {
    let ([bx, by, bz], [tx, ty, tz]) = (w.by.block, w.thread);
    format!(
        "block ({bx},{by},{bz}) thread ({tx},{ty},{tz}) at time {}: {}",
        w.time,
        code.describe_in_full(w.at)
    )
}
