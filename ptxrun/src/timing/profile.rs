//! `ptxrun profile`.

use std::collections::HashMap;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ptx_report::choice::unmet;
use ptx_report::profile::{Document, ProfiledLaunch, Shown, devices_text, text};
use ptx_report::{advise, html, source, trace};
use ptx_runtime::Verified;
use ptx_runtime::timing::{Config, Options, Profile, WarpChoice};
use serde_json::json;

use crate::cli::{Common, ProfileArgs};
use crate::plan::Plan;
use crate::report;
use crate::run::{RunError, RunOptions, execute};
use crate::run_command::{files, plan_of_file, run_failed, with_modules, without_checks};
use crate::source_file::{build_options, load};
use crate::terminal::{
    Failed, INVALID, Outcome, USAGE, display_name, dumb_terminal, print, print_json, write_file,
};
use crate::timing::{devices_or_default, limits};

/// Times what the arguments launch.
pub(crate) fn profile(args: &ProfileArgs) -> Outcome {
    without_checks(&args.run)?;
    let common = &args.run.common;
    let mut session = Session {
        args,
        devices: devices_or_default(&args.run.input.device, common)?,
        document: Document { ok: true, launches: Vec::new() },
        refused: Vec::new(),
    };
    match files(&args.run)? {
        (file, Some(launch)) => {
            let (loaded, modules) = with_modules(&args.run, file, launch)?;
            for module in &modules {
                let verified = load(module, &loaded.build, args.run.input.lenient, common)?;
                session.module(module, &verified, &loaded.plan)?;
            }
        }
        (Some(file), None) => {
            let build = build_options(&args.run.input.build, common)?;
            let verified = load(file, &build, args.run.input.lenient, common)?;
            let plan = plan_of_file(&args.run, verified.module())?;
            session.module(file, &verified, &plan)?;
        }
        (None, None) => {}
    }
    session.write()
}

/// What a call of `profile` has done so far.
struct Session<'a> {
    args: &'a ProfileArgs,
    devices: Vec<Profile>,
    document: Document,
    /// Module, GPU and why it cannot run what others can.
    refused: Vec<(String, String, String)>,
}

impl Session<'_> {
    /// Profiles a plan's launches on one module, on every GPU.
    fn module(&mut self, module: &Path, verified: &Verified, plan: &Plan) -> Outcome {
        let many = self.devices.len() > 1;
        for device in &self.devices {
            match launches(self.args, device, many, module, verified, plan)? {
                Ok((passed, launches)) => {
                    self.document.ok &= passed;
                    self.document.launches.extend(launches);
                }
                Err(error) => {
                    let refused = (display_name(module), device.name.clone(), error.to_string());
                    self.refused.push(refused);
                }
            }
        }
        Ok(())
    }

    /// Writes everything that was asked for.
    fn write(&self) -> Outcome {
        let (args, document) = (self.args, &self.document);
        let common = &args.run.common;
        if let Some(warp) = chosen(args)
            && let Some(message) = unmet(&document.launches, warp, &args.access)
        {
            return Err(common.fail(USAGE, "choice", message));
        }
        let shown = Shown { all: args.all, warp: chosen(args).is_some() };
        if let Some(path) = &args.html {
            write_file(path, html::page(&document.launches).as_bytes(), common)?;
        }
        if let Some(path) = &args.trace {
            write_traces(path, &document.launches, common)?;
        }
        if common.json {
            let mut json = serde_json::to_value(document).unwrap_or_default();
            if !self.refused.is_empty() {
                let refused = self.refused.iter().map(
                    |(module, device, error)| json!({"module": module, "device": device, "error": error}),
                );
                json["refused"] = refused.collect();
            }
            print_json(&json);
        } else if self.devices.len() > 1 {
            print(devices_text(&document.launches, &self.refused, common.paint()).as_bytes());
        } else {
            for (i, launch) in document.launches.iter().enumerate() {
                let gap = if i == 0 { "" } else { "\n" };
                print(format!("{gap}{}", text(launch, shown, common.paint())).as_bytes());
            }
        }
        if !common.json {
            for path in args.html.iter().chain(&args.trace) {
                print(format!("\nwritten: {}\n", path.display()).as_bytes());
            }
        }
        if document.ok { Ok(()) } else { Err(Failed(INVALID)) }
    }
}

/// Runs a plan's launches on one module, and says whether every check of the plan holds. With many
/// GPUs, one that cannot run it does not keep the others from doing so.
fn launches(
    args: &ProfileArgs,
    device: &Profile,
    many: bool,
    module: &Path,
    verified: &Verified,
    plan: &Plan,
) -> Result<Result<(bool, Vec<ProfiledLaunch>), RunError>, Failed> {
    let common = &args.run.common;
    report::resolve(plan, &args.run.out, &args.run.print)
        .map_err(|error| common.fail(USAGE, "usage", error))?;
    if let (Err(error), false) = (limits::target(verified.module(), device), common.json || many) {
        environment::sayln!("note: {error}; the times are those of the same instructions there");
    }
    let options = RunOptions {
        backend: ptx_runtime::Backend::Interp,
        fast_nan: false,
        fast_approx: false,
        threads: args.run.threads,
        timeout: args.run.timeout,
        progress: !common.json && std::io::stderr().is_terminal() && !dumb_terminal(),
        device: Some(device.clone()),
        timing: Some(options(args)),
        ..RunOptions::default()
    };
    let printed = Arc::new(Mutex::new(Vec::new()));
    let result = execute(plan, verified, &options, &printed);
    let stdout = printed.lock().map(|p| p.clone()).unwrap_or_default();
    let done = match result {
        Ok(done) => done,
        Err(error @ (RunError::Device { .. } | RunError::DoesNotFit { .. })) if many => {
            return Ok(Err(error));
        }
        Err(error) => return Err(run_failed(common, verified, &error, &stdout)),
    };
    report::write_files(plan, &done, &args.run.out)
        .map_err(|error| common.fail(USAGE, "file", error))?;
    if !common.json && !many {
        print(&stdout);
        print(report::text(plan, &done, &args.run.print).as_bytes());
    }
    let texts = SourceTexts::new(module);
    let passed = done.passed();
    let reports = done.launches.into_iter().filter_map(|launch| launch.timing);
    let launches = reports
        .map(|report| ProfiledLaunch {
            module: display_name(module),
            advice: advise(&report),
            source: source::lines(&report, &|file, line| texts.line(file, line)),
            report: *report,
        })
        .collect();
    Ok(Ok((passed, launches)))
}

/// The part of the launch that pictures show: one SM's first clocks.
const TIMELINE: (u32, u64) = (0, 20_000);

fn options(args: &ProfileArgs) -> Options {
    let pictures = args.html.is_some() || args.trace.is_some();
    Options {
        registers: args.regs,
        config: Config {
            max_blocks: args.sample,
            max_instructions: args.sample.is_none().then_some(Config::SOME_SECONDS),
            timeline: pictures.then_some(TIMELINE),
            warp: chosen(args).or_else(|| args.html.is_some().then(WarpChoice::default)),
        },
        accesses: args.access.clone(),
    }
}

/// The warp that the user wants to see.
fn chosen(args: &ProfileArgs) -> Option<WarpChoice> {
    args.warp.or_else(|| (!args.access.is_empty()).then(WarpChoice::default))
}

fn cannot_write(path: &Path, error: &std::io::Error, common: &Common) -> Failed {
    common.fail(USAGE, "file", format!("cannot write {}: {error}", path.display()))
}

/// One trace per file: the first launch in `out.json`, the next ones in `out.2.json`, ...
fn write_traces(path: &Path, launches: &[ProfiledLaunch], common: &Common) -> Result<(), Failed> {
    for (i, launch) in launches.iter().enumerate() {
        if launch.report.timeline.is_none() {
            let message = format!("{} has no timeline to trace", launch.report.kernel);
            return Err(common.fail(INVALID, "trace", message));
        }
        let mut name = path.to_path_buf();
        if i > 0 {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            name.set_extension(format!("{}.{extension}", i + 1));
        }
        std::fs::File::create(&name)
            .and_then(|file| trace::write(&launch.report, &mut BufWriter::new(file)))
            .map_err(|error| cannot_write(&name, &error, common))?;
    }
    Ok(())
}

/// Texts of source files, looked for where `.file` says and beside the PTX.
struct SourceTexts {
    folder: PathBuf,
    files: Mutex<HashMap<String, Option<Vec<String>>>>,
}

impl SourceTexts {
    fn new(module: &Path) -> Self {
        let folder = module.parent().unwrap_or(Path::new("")).to_path_buf();
        Self { folder, files: Mutex::default() }
    }

    fn line(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.files.lock().ok()?;
        let lines = files.entry(file.to_owned()).or_insert_with(|| {
            let base = Path::new(file).file_name().map(|name| self.folder.join(name));
            let candidates = [Some(PathBuf::from(file)), base];
            let text = candidates.iter().flatten().find_map(|p| std::fs::read_to_string(p).ok())?;
            Some(text.lines().map(str::to_owned).collect())
        });
        lines.as_ref()?.get(line.checked_sub(1)? as usize).cloned()
    }
}
