//! Prints what a run left behind, as text and as JSON.

use std::fmt::Write;

use ptx_runtime::{Decided, Fidelity};
use serde_json::{Value, json};

use crate::npy;
use crate::output::{OutSpec, PrintSpec, Which};
use crate::plan::{Arg, Plan};
use crate::run::{CheckFailure, CheckReport, LaunchReport, RunReport};
use crate::values::ElementType;

/// Why a buffer cannot be printed or written.
#[derive(Debug, thiserror::Error)]
pub enum OutputFailure {
    /// `--out` or `--print` names something that is no buffer.
    #[error("`{which}` is no buffer argument; buffers are {}", list(.known))]
    NoBuffer {
        /// What was written.
        which: String,
        /// What would be one.
        known: Vec<String>,
    },
    /// A `.npy` file needs an element type that nothing tells.
    #[error("say the element type: --out {which}={file}:f32")]
    NoType {
        /// The buffer.
        which: String,
        /// The file.
        file: String,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// Its path.
        path: std::path::PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

fn list(known: &[String]) -> String {
    if known.is_empty() { "none".into() } else { known.join(", ") }
}

/// Index of the buffer that `which` names: its position among the arguments of the first launch, or its name.
pub fn find_buffer(plan: &Plan, which: &Which) -> Result<usize, OutputFailure> {
    let args = plan.launches.first().map_or(&[][..], |l| &l.args);
    let found = match which {
        Which::Index(position) => match args.get(*position) {
            Some(Arg::Buffer { index, .. }) => Some(*index),
            _ => None,
        },
        Which::Name(name) => plan.buffers.iter().position(|b| b.name == *name),
    };
    found.ok_or_else(|| {
        let positions = args.iter().enumerate().filter(|(_, a)| matches!(a, Arg::Buffer { .. }));
        let known = match which {
            Which::Index(_) => positions.map(|(i, _)| i.to_string()).collect(),
            Which::Name(_) => plan.buffers.iter().map(|b| b.name.clone()).collect(),
        };
        OutputFailure::NoBuffer { which: which.to_string(), known }
    })
}

/// Checks that every output can be served before anything runs.
pub fn resolve(plan: &Plan, outs: &[OutSpec], prints: &[PrintSpec]) -> Result<(), OutputFailure> {
    for print in prints {
        find_buffer(plan, &print.which)?;
    }
    for out in outs {
        let index = find_buffer(plan, &out.which)?;
        if out.is_npy() && out.ty.or(plan.buffers[index].ty).is_none() {
            let (which, file) = (out.which.to_string(), out.file.display().to_string());
            return Err(OutputFailure::NoType { which, file });
        }
    }
    Ok(())
}

/// Writes the files that `--out` asks for.
pub fn write_files(plan: &Plan, report: &RunReport, outs: &[OutSpec]) -> Result<(), OutputFailure> {
    for out in outs {
        let index = find_buffer(plan, &out.which)?;
        let (buffer, bytes) = (&plan.buffers[index], &report.buffers[index]);
        let contents = match out.ty.or(buffer.ty) {
            Some(ty) if out.is_npy() => {
                let whole = bytes.len() / ty.size();
                let shape = match &buffer.shape {
                    Some(shape) if buffer.ty == Some(ty) => shape.clone(),
                    _ => vec![whole],
                };
                npy::write(&npy::Array { ty, shape, bytes: bytes[..whole * ty.size()].to_vec() })
            }
            _ => bytes.clone(),
        };
        std::fs::write(&out.file, contents)
            .map_err(|error| OutputFailure::Write { path: out.file.clone(), error })?;
    }
    Ok(())
}

/// The elements that `--print` asks for.
fn printed<'a>(plan: &Plan, report: &'a RunReport, print: &PrintSpec) -> Vec<&'a [u8]> {
    let Ok(index) = find_buffer(plan, &print.which) else { return Vec::new() };
    let elements = report.buffers[index].chunks_exact(print.ty.size());
    elements.take(print.count.unwrap_or(usize::MAX)).collect()
}

/// The result of a run as text: printed buffers, then checks.
pub fn text(plan: &Plan, report: &RunReport, prints: &[PrintSpec]) -> String {
    let mut out = String::new();
    for print in prints {
        let values: Vec<String> =
            printed(plan, report, print).into_iter().map(|e| print.ty.format(e)).collect();
        let _ = writeln!(out, "{}: {}", print.which, values.join(" "));
    }
    for check in &report.checks {
        out.push_str(&check_text(check));
    }
    out
}

/// What to say of a run that ended well and of which nothing was to be shown.
pub fn nothing_shown(plan: &Plan) -> String {
    let mut out = String::new();
    for launch in &plan.launches {
        let number = |[x, y, z]: [u32; 3]| u64::from(x) * u64::from(y) * u64::from(z);
        let (blocks, threads) = (number(launch.grid), number(launch.block));
        let s = |n: u64| if n == 1 { "" } else { "s" };
        let _ = writeln!(
            out,
            "{} ran to its end: {blocks} block{} of {threads} thread{}",
            launch.entry,
            s(blocks),
            s(threads)
        );
    }
    let args = plan.launches.first().map_or(&[][..], |launch| &launch.args);
    let buffer = args.iter().enumerate().rev().find_map(|(position, arg)| match arg {
        Arg::Buffer { index, .. } => Some((position, &plan.buffers[*index])),
        _ => None,
    });
    if let Some((position, buffer)) = buffer {
        let ty = buffer.ty.unwrap_or(ElementType::B32);
        let _ = writeln!(out, "  --print {position}:{ty}:8 shows the first elements of a buffer");
    }
    out
}

fn check_text(check: &CheckReport) -> String {
    let what = &check.what;
    let mut out = String::new();
    match (&check.outcome, check.elements) {
        (Ok(()), Some((count, ty))) if check.exact => {
            let _ = writeln!(out, "ok      {what}: {count} x {ty}, every bit as expected");
        }
        (Ok(()), Some((count, ty))) => {
            let _ = writeln!(out, "ok      {what}: {count} x {ty}, within the tolerance");
        }
        (Ok(()), None) => {
            let _ = writeln!(out, "ok      {what}: as expected");
        }
        (Err(CheckFailure::Buffer(mismatch)), _) => {
            let _ = writeln!(
                out,
                "FAILED  {what}: {} of {} elements differ",
                mismatch.differing, mismatch.total
            );
            for d in &mismatch.first {
                let _ = writeln!(
                    out,
                    "          [{}] is {}, expected {}",
                    d.index, d.found, d.expected
                );
            }
            if mismatch.differing > mismatch.first.len() {
                out.push_str("          ...\n");
            }
        }
        (Err(CheckFailure::Length { found, expected }), _) => {
            let _ = writeln!(out, "FAILED  {what}: {found} bytes, expected {expected}");
        }
        (Err(CheckFailure::Stdout { line, found, expected }), _) => {
            let _ =
                writeln!(out, "FAILED  {what}: line {line} is {found:?}, expected {expected:?}");
        }
    }
    out
}

/// An element as a JSON number; text where JSON has none (`NaN`, infinities, untyped bits).
fn value(ty: ElementType, bytes: &[u8]) -> Value {
    let text = ty.format(bytes);
    match text.parse::<serde_json::Number>() {
        Ok(number) => Value::Number(number),
        Err(_) => Value::String(text),
    }
}

fn launch_json(launch: &LaunchReport) -> Value {
    json!({
        "entry": launch.entry,
        "engine": launch.stats.engine.to_string(),
        "seconds": launch.elapsed.as_secs_f64(),
        "warp_instructions": launch.stats.warp_instructions,
        "thread_instructions": launch.stats.thread_instructions,
        "fidelity": fidelity(&launch.fidelity),
    })
}

fn fidelity(found: &Fidelity) -> Value {
    let executed = found.executed.map(|e| {
        json!({
            "all": e.all,
            "manual": e.manual,
            "bounded": e.bounded,
            "implementation": e.implementation,
        })
    });
    let branch = |d: &Decided| json!({"function": d.function, "line": d.line, "through_memory": d.through_memory});
    json!({
        "exact": found.exact,
        "recorded": found.recorded,
        "manual": found.manual,
        "bounded": found.bounded,
        "implementation": found.implementation,
        "inexact": found.inexact,
        "executed": executed,
        "branches": found.decides.iter().map(branch).collect::<Vec<_>>(),
    })
}

/// The result of a run as JSON.
pub fn json(plan: &Plan, report: &RunReport, prints: &[PrintSpec]) -> Value {
    let prints: Vec<Value> = prints
        .iter()
        .map(|print| {
            let values: Vec<Value> =
                printed(plan, report, print).into_iter().map(|e| value(print.ty, e)).collect();
            json!({"buffer": print.which.to_string(), "type": print.ty.to_string(), "values": values})
        })
        .collect();
    let checks: Vec<Value> = report
        .checks
        .iter()
        .map(|check| {
            let mut entry =
                json!({"what": check.what, "ok": check.outcome.is_ok(), "exact": check.exact});
            match &check.outcome {
                Ok(()) => {}
                Err(CheckFailure::Buffer(m)) => {
                    entry["differing"] = m.differing.into();
                    entry["total"] = m.total.into();
                    let first = m.first.iter();
                    entry["first"] = first
                        .map(
                            |d| json!({"index": d.index, "found": d.found, "expected": d.expected}),
                        )
                        .collect();
                }
                Err(CheckFailure::Length { found, expected }) => {
                    entry["bytes"] = (*found).into();
                    entry["expected_bytes"] = (*expected).into();
                }
                Err(CheckFailure::Stdout { line, found, expected }) => {
                    entry["line"] = (*line).into();
                    entry["found"] = found.as_str().into();
                    entry["expected"] = expected.as_str().into();
                }
            }
            entry
        })
        .collect();
    json!({
        "ok": report.passed(),
        "launches": report.launches.iter().map(launch_json).collect::<Vec<_>>(),
        "stdout": String::from_utf8_lossy(&report.stdout),
        "print": prints,
        "checks": checks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Difference, Mismatch};
    use crate::plan::{Buffer, PlannedLaunch};

    fn plan() -> Plan {
        let args = vec![Arg::Bytes(vec![0; 4]), Arg::Buffer { index: 0, offset: 0 }];
        let launch =
            PlannedLaunch { entry: "k".into(), grid: [1; 3], block: [1; 3], shared: 0, args };
        let buffer = Buffer { name: "sums".into(), ty: None, shape: None, bytes: vec![0; 8] };
        Plan { buffers: vec![buffer], launches: vec![launch], ..Plan::default() }
    }

    fn report() -> RunReport {
        let bytes = [f32::NAN.to_le_bytes(), 1.5f32.to_le_bytes()].concat();
        RunReport {
            launches: vec![],
            buffers: vec![bytes],
            stdout: b"hi\n".to_vec(),
            checks: vec![],
        }
    }

    #[test]
    fn buffers_are_found_by_position_and_name() {
        assert_eq!(find_buffer(&plan(), &Which::Index(1)).unwrap(), 0);
        assert_eq!(find_buffer(&plan(), &Which::Name("sums".into())).unwrap(), 0);
        let error = find_buffer(&plan(), &Which::Index(0)).unwrap_err();
        assert_eq!(error.to_string(), "`0` is no buffer argument; buffers are 1");
        let out = crate::output::parse_out("1=x.npy").unwrap();
        assert!(matches!(resolve(&plan(), &[out], &[]), Err(OutputFailure::NoType { .. })));
    }

    #[test]
    fn values_are_printed_and_made_json() {
        let print = crate::output::parse_print("1:f32").unwrap();
        assert_eq!(text(&plan(), &report(), std::slice::from_ref(&print)), "1: NaN 1.5\n");
        let json = json(&plan(), &report(), &[print]);
        assert_eq!(json["print"][0]["values"], json!(["NaN", 1.5]));
        assert_eq!(json["stdout"], "hi\n");
    }

    #[test]
    fn failed_checks_show_the_first_differences() {
        let first = vec![Difference { index: 3, found: "1".into(), expected: "2".into() }];
        let mismatch = Mismatch { differing: 2, total: 9, first };
        let check = CheckReport {
            what: "c".into(),
            elements: Some((9, ElementType::U32)),
            exact: true,
            outcome: Err(CheckFailure::Buffer(mismatch)),
        };
        let text = check_text(&check);
        assert!(
            text.starts_with("FAILED  c: 2 of 9 elements differ\n          [3] is 1, expected 2\n")
        );
    }
}
