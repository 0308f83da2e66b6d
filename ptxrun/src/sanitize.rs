//! `ptxrun sanitize`, `ptxrun exec --check` and `ptxrun coverage`: runs a program and reports what its kernels do
//! wrong, or which of their lines run.
//!
//! The libraries that the program loads write their findings to a file (`PTXRUN_CHECK_REPORT`); it is read when the
//! program has ended. Whether something was found does not depend on what the program makes of errors.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use ptx_runtime::check::coverage::{self, Covered};
use ptx_runtime::check::{Checks, Class, Finding, render};
use serde_json::Value;

use crate::cli::{Common, CoverageArgs, Emulation, ReportForm, SanitizeArgs};
use crate::exec::variables;
use crate::terminal::{Failed, INVALID, Outcome, USAGE, print, print_json, write_file};

/// How a program is checked.
pub(crate) struct How {
    checks: Checks,
    status: u8,
    leaks: bool,
    /// Those of the program too.
    full_leaks: bool,
    limit: usize,
    form: ReportForm,
    log: Option<PathBuf>,
    schedule: Option<u64>,
    suppressions: Vec<Suppression>,
}

impl How {
    /// Everything on standard error, for people.
    pub(crate) fn plain(checks: Checks) -> How {
        How {
            checks,
            status: INVALID,
            leaks: true,
            full_leaks: false,
            limit: usize::MAX,
            form: ReportForm::Text,
            log: None,
            schedule: None,
            suppressions: Vec::new(),
        }
    }
}

/// Findings that are not wanted.
#[derive(Debug, PartialEq, Eq)]
struct Suppression {
    rule: String,
    kernel: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

impl Suppression {
    /// `race/read-write kernel k at k.cu:10`
    fn read(text: &str) -> Result<Suppression, String> {
        let mut words = text.split_whitespace();
        let rule = words.next().unwrap_or_default().to_owned();
        let mut new = Suppression { rule, kernel: None, file: None, line: None };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("nothing follows `{word}`"))?;
            match word {
                "kernel" => new.kernel = Some(value.to_owned()),
                "at" => match value.rsplit_once(':') {
                    Some((file, line)) if line.parse::<u32>().is_ok() => {
                        (new.file, new.line) = (Some(file.to_owned()), line.parse().ok());
                    }
                    _ => new.file = Some(value.to_owned()),
                },
                other => return Err(format!("`{other}` is neither `kernel` nor `at`")),
            }
        }
        Ok(new)
    }

    fn fits(&self, f: &Finding) -> bool {
        let rule = format!("{}/{}", f.check.name(), f.class.name());
        let here = || {
            f.sites
                .iter()
                .flat_map(|s| [Some(&s.place.ptx), s.place.source.as_ref()])
                .flatten()
                .any(|p| {
                    self.file.as_ref().is_none_or(|file| p.file.ends_with(file.as_str()))
                        && self.line.is_none_or(|line| line == p.line)
                })
        };
        (self.rule == rule || self.rule == f.check.name())
            && self.kernel.as_ref().is_none_or(|k| *k == f.kernel)
            && (self.file.is_none() || here())
    }
}

fn suppressions(path: &Path, common: &Common) -> Result<Vec<Suppression>, Failed> {
    let text = crate::terminal::read_text(path, common)?;
    let lines = (1..).zip(text.lines().map(str::trim));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            Suppression::read(line).map_err(|why| {
                common.fail(USAGE, "usage", format!("{}:{number}: {why}", path.display()))
            })
        })
        .collect()
}

/// The command line of `ptxrun sanitize`.
pub(crate) fn sanitize(args: &SanitizeArgs) -> Outcome {
    let common = Common { json: false, color: clap::ColorChoice::Auto };
    let all = args.suppressions.as_ref().map(|file| suppressions(file, &common)).transpose()?;
    let how = How {
        checks: args.tool,
        status: args.error_exitcode,
        leaks: args.leak_check == "full",
        full_leaks: true,
        limit: if args.print_limit == 0 { usize::MAX } else { args.print_limit },
        form: if args.json { ReportForm::Json } else { args.format },
        log: args.log_file.clone(),
        schedule: args.schedule,
        suppressions: all.unwrap_or_default(),
    };
    let emulation = Emulation { device: args.device.clone(), backend: None, verbose: false };
    program(&emulation, &args.program, &how)
}

/// Runs a program with checks and reports what they find. Without findings the exit status is the program's.
pub(crate) fn program(emulation: &Emulation, words: &[OsString], how: &How) -> Outcome {
    let common = Common { json: false, color: clap::ColorChoice::Auto };
    let full = how.leaks && how.full_leaks;
    let (ended, lines) = watched(emulation, words, (how.checks, full), how.schedule, &common)?;
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    for line in &lines {
        let (more, said) = render::from_json(line).map_err(|why| {
            common.fail(INVALID, "report", format!("the report is damaged: {why}"))
        })?;
        findings.extend(more);
        notes.extend(said);
    }
    notes.sort();
    notes.dedup();
    findings.retain(|f| how.leaks || f.class != Class::Leak);
    findings.retain(|f| !how.suppressions.iter().any(|s| s.fits(f)));
    let text = rendered(&findings, &notes, how);
    match (&how.log, how.form) {
        (Some(path), _) => write_file(path, text.as_bytes(), &common)?,
        (None, ReportForm::Json | ReportForm::Sarif) => print(text.as_bytes()),
        (None, ReportForm::Text | ReportForm::ComputeSanitizer) => environment::say!("{text}"),
    }
    if !findings.is_empty() {
        return if how.status == 0 { Ok(()) } else { Err(Failed(how.status)) };
    }
    as_program(ended)
}

/// `ptxrun coverage`
pub(crate) fn coverage(args: &CoverageArgs) -> Outcome {
    let common = &args.common;
    let emulation = Emulation { device: args.device.clone(), backend: None, verbose: false };
    let checks = Checks { coverage: true, ..Checks::default() };
    let (ended, lines) = watched(&emulation, &args.program, (checks, false), None, common)?;
    let read = |line: &Value| serde_json::from_value::<Vec<Covered>>(line["coverage"].clone());
    let counts = lines.iter().filter(|line| line.get("coverage").is_some()).map(read);
    let counts = counts
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| common.fail(INVALID, "report", format!("the report is damaged: {why}")))?;
    let all = coverage::merge(counts.into_iter().flatten());
    if let Some(path) = &args.lcov {
        write_file(path, coverage::lcov(&all).as_bytes(), common)?;
    }
    if common.json {
        let all = serde_json::to_value(&all).unwrap_or_default();
        print_json(&serde_json::json!({"version": render::VERSION, "coverage": all}));
    } else {
        environment::say!("{}", coverage::summary(&all));
    }
    as_program(ended)
}

/// Runs a program with checks; how it ended, and what the libraries wrote, a value for each launch that had something
/// to say.
fn watched(
    emulation: &Emulation,
    words: &[OsString],
    (checks, full_leaks): (Checks, bool),
    schedule: Option<u64>,
    common: &Common,
) -> Result<(ExitStatus, Vec<Value>), Failed> {
    let variables = variables(emulation, common)?;
    let Some((name, rest)) = words.split_first() else { return Err(Failed(USAGE)) };
    let report = std::env::temp_dir().join(format!("ptxrun-report-{}", std::process::id()));
    let _ = std::fs::remove_file(&report);
    let mut command = Command::new(name);
    command.args(rest).envs(variables);
    command.env(environment::CHECK.name, checks.to_string());
    command.env(environment::CHECK_REPORT.name, &report);
    if full_leaks {
        command.env(environment::CHECK_LEAKS.name, "full");
    }
    if let Some(seed) = schedule {
        command.env(environment::SCHEDULE.name, seed.to_string());
    }
    let ended = command.status().map_err(|error| {
        // The statuses of shells: 127 not found, 126 not runnable.
        let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        common.fail(status, "program", format!("cannot run {}: {error}", name.display()))
    })?;
    let text = match std::fs::read_to_string(&report) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let message = format!("cannot read {}: {error}", report.display());
            return Err(common.fail(INVALID, "report", message));
        }
    };
    let _ = std::fs::remove_file(&report);
    let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    let lines = lines
        .map_err(|why| common.fail(INVALID, "report", format!("the report is damaged: {why}")))?;
    Ok((ended, lines))
}

/// Ends as the program did.
fn as_program(ended: ExitStatus) -> Outcome {
    match status(ended) {
        0 => Ok(()),
        status => Err(Failed(status)),
    }
}

fn rendered(findings: &[Finding], notes: &[String], how: &How) -> String {
    match how.form {
        ReportForm::Text => {
            let (n, shown) = (findings.len(), findings.len().min(how.limit));
            let mut text = render::text(&findings[..shown], notes);
            if shown < n {
                text.push_str(&format!("{} more are not shown (--print-limit)\n", n - shown));
            }
            text.push_str(&format!("{n} finding{}\n", if n == 1 { "" } else { "s" }));
            text
        }
        ReportForm::ComputeSanitizer => render::sanitizer(findings, how.limit),
        ReportForm::Json => format!("{:#}\n", render::json(findings, notes)),
        ReportForm::Sarif => format!("{:#}\n", render::sarif(findings)),
    }
}

/// The exit status as shells say it.
fn status(ended: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&ended) {
        return 128u8.saturating_add(signal as u8);
    }
    ended.code().map_or(INVALID, |code| code as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suppressions_are_read() {
        let read = Suppression::read("race/read-write kernel k at a/k.cu:10").unwrap();
        assert_eq!((read.file.as_deref(), read.line), (Some("a/k.cu"), Some(10)));
        assert_eq!(Suppression::read("memory").unwrap().kernel, None);
        assert!(Suppression::read("race at").is_err());
        assert!(Suppression::read("race in x").is_err());
    }
}
