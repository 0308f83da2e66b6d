//! Launches of a file's kernels, and the findings about it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptx_runtime::check::{self, Checks, render};
use ptx_runtime::opencl::Options;
use ptx_runtime::{
    Backend, Context, DeviceOptions, DevicePtr, Engine, KernelArg, LaunchConfig, LaunchError,
    LaunchStats, Module,
};
use ptxrun::arg::ArgSpec;
use ptxrun::cc::{self, Source};

use crate::engine::On;
use crate::notation::{End, FileTest, Find, Problem, Run};
use crate::program;

/// Longest time of a launch.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Most warp instructions of a checked launch: one that never ends is found soon.
const CHECKED_STEPS: u64 = 4_000_000;

/// A file's text for one target and one set of flags.
pub(crate) struct Variant {
    text: String,
    options: Options,
    /// What of it is not the file's own, for messages.
    label: String,
    /// The twin without mistakes.
    fixed: bool,
    /// Where PTX lies that another compiler made of the file.
    ptx: Option<PathBuf>,
}

pub(crate) fn variants(test: &FileTest) -> Result<Vec<Variant>, String> {
    if test.has_twins() {
        return [false, true].into_iter().map(|fixed| twin(test, fixed)).collect();
    }
    let mut texts = vec![(test.text.clone(), String::new())];
    if !test.targets.is_empty() {
        let own = test
            .text
            .lines()
            .find(|l| l.starts_with(".target "))
            .ok_or("no `.target` to replace")?;
        let with = |sm: &String| {
            (test.text.replacen(own, &format!(".target {sm}"), 1), format!(" ({sm})"))
        };
        texts = test.targets.iter().map(with).collect();
    }
    let flags = if test.flags.is_empty() { &[String::new()][..] } else { &test.flags };
    let mut variants = Vec::new();
    for (text, label) in texts {
        for flags in flags {
            let options =
                Options::parse(flags).map_err(|d| format!("{flags}: {}", cc::one_line(&d)))?;
            let label = if flags.is_empty() { label.clone() } else { format!("{label} ({flags})") };
            let debug = Options { debug: true, ..options.clone() };
            let debug_label = format!("{label} (-g)");
            variants.push(Variant { text: text.clone(), options, label, fixed: false, ptx: None });
            // Code for debuggers is other code with the same results. What it leaves undefined is in memory.
            let checked = test.runs.iter().any(|r| r.finds.is_some());
            if cc::is_opencl(&test.path) && !checked && test.jit_refuses.is_none() {
                let (text, label) = (text.clone(), debug_label);
                variants.push(Variant { text, options: debug, label, fixed: false, ptx: None });
            }
        }
    }
    Ok(variants)
}

/// The file with its mistakes or without them.
fn twin(test: &FileTest, fixed: bool) -> Result<Variant, String> {
    let label = if fixed { " (FIXED)" } else { "" }.to_owned();
    let options = Options::parse(&format!("-DFIXED={}", u8::from(fixed)));
    let options = options.map_err(|d| cc::one_line(&d))?;
    let cuda = test.path.extension().is_some_and(|e| e == "cu");
    let ptx = cuda.then(|| test.twin(fixed));
    let text = match &ptx {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?
        }
        None => test.text.clone(),
    };
    Ok(Variant { text, options, label, fixed, ptx })
}

fn source(test: &FileTest, variant: &Variant) -> Result<Source, cc::SourceError> {
    let path = variant.ptx.as_ref().unwrap_or(&test.path);
    cc::verify(path, &variant.text, &test.name, &variant.options)
}

/// What is wrong with the launches of a file.
pub(crate) fn runs(test: &FileTest, on: On) -> Vec<Problem> {
    if test.runs.is_empty() && test.programs.is_empty() {
        return Vec::new();
    }
    let variants = match variants(test) {
        Ok(variants) => variants,
        Err(what) => return vec![Problem { line: 0, what }],
    };
    let mut problems = Vec::new();
    for variant in variants {
        match source(test, &variant) {
            Ok(source) => {
                let label = |mut p: Problem| {
                    p.what += &variant.label;
                    p
                };
                for run in &test.runs {
                    let found = problems_of(test, &source, run, variant.fixed, on);
                    problems.extend(found.into_iter().map(label));
                }
                if on == On::Interp {
                    for program in &test.programs {
                        let found = program::checked(test, program, variant.fixed);
                        problems.extend(found.into_iter().map(label));
                    }
                }
            }
            Err(e) => {
                problems.push(Problem { line: 0, what: format!("refused{}:\n{e}", variant.label) })
            }
        }
    }
    problems
}

/// What came of a launch.
pub(crate) struct Came {
    pub result: Result<LaunchStats, LaunchError>,
    pub printed: String,
    context: Context,
    /// Addresses of the arguments that are buffers, with their bytes.
    buffers: Vec<Option<(DevicePtr, usize)>>,
}

impl Came {
    /// Bytes of an argument's buffer.
    pub fn bytes(&self, argument: usize, from: usize, count: usize) -> Result<Vec<u8>, String> {
        let buffer = self.buffers.get(argument).copied().flatten();
        let (at, len) = buffer.ok_or(format!("argument {argument} is no buffer"))?;
        if from + count > len {
            return Err(format!("argument {argument} has {len} bytes"));
        }
        let mut bytes = vec![0; count];
        let at = at.offset(from as u64);
        self.context.copy_from_device(at, &mut bytes).map_err(|e| e.to_string())?;
        Ok(bytes)
    }
}

/// A launch as all tests make it: of two host threads, ended after [`TIMEOUT`].
pub(crate) fn config(
    on: On,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<KernelArg>,
) -> LaunchConfig {
    let backend = if on == On::Jit { Backend::Jit } else { Backend::Interp };
    LaunchConfig {
        grid,
        block,
        args,
        threads: Some(2),
        timeout: Some(TIMEOUT),
        backend,
        ..LaunchConfig::default()
    }
}

pub(crate) fn launch(source: &Source, run: &Run, on: On) -> Result<Came, String> {
    let checks = if run.finds.is_some() { run.checks_on } else { Checks::default() };
    let device = DeviceOptions { checks, ..DeviceOptions::default() };
    let context = Context::new(&device).map_err(|e| e.to_string())?;
    let module = Module::from_verified(&context, &source.verified).map_err(|e| e.to_string())?;
    let (mut args, mut buffers) = (Vec::new(), Vec::new());
    for arg in &run.args {
        let bytes = match arg {
            ArgSpec::Scalar { bytes, .. } | ArgSpec::Bytes(bytes) => {
                args.push(KernelArg::Bytes(bytes.clone()));
                buffers.push(None);
                continue;
            }
            ArgSpec::Buffer { len } => vec![0; *len],
            ArgSpec::Typed { ty, count: Some(count), init } => {
                let bytes = init.bytes(*ty, *count).map_err(|e| e.to_string())?;
                bytes.ok_or("buffers come from no file here")?
            }
            ArgSpec::Typed { count: None, .. }
            | ArgSpec::BufferFile(_)
            | ArgSpec::Named { .. }
            | ArgSpec::Texture(_) => return Err("buffers come from no file here".into()),
        };
        let name = format!("argument {}", args.len());
        let at = context.alloc_named(bytes.len() as u64, &name).map_err(|e| e.to_string())?;
        if run.finds.is_none() || !matches!(arg, ArgSpec::Buffer { .. }) {
            context.copy_to_device(at, &bytes).map_err(|e| e.to_string())?;
        }
        args.push(at.into());
        buffers.push(Some((at, bytes.len())));
    }
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&printed);
    let config = LaunchConfig {
        shared: run.shared,
        cluster: run.cluster,
        step_limit: run.steps,
        print: Some(Box::new(move |bytes| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        })),
        ..config(on, run.grid, run.block, args)
    };
    let result = context.launch(&module, &run.entry, config);
    let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
    let printed = String::from_utf8_lossy(&printed).into_owned();
    Ok(Came { result, printed, context, buffers })
}

/// Why compiled code was asked for and the interpreter ran.
pub(crate) fn fell_back(stats: &LaunchStats) -> Option<String> {
    match &stats.engine {
        Engine::Compiled(_) => None,
        Engine::Fallback(why) => Some(why.to_string()),
        Engine::Interpreter => Some("the interpreter was chosen".into()),
    }
}

/// What is wrong with the findings of a checked run.
fn checked(source: &Source, run: &Run, finds: &[Find], on: On) -> Vec<Problem> {
    // Compiled code counts no instructions.
    let steps = (on != On::Jit).then(|| run.steps.unwrap_or(CHECKED_STEPS));
    let run = &Run { steps, ..run.clone() };
    let came = match launch(source, run, on) {
        Ok(came) => came,
        Err(what) => return vec![Problem { line: run.line, what }],
    };
    let mut problems = Vec::new();
    let mut say = |line: usize, what: String| problems.push(Problem { line, what });
    match &came.result {
        Ok(_) | Err(LaunchError::Fault(_)) => {}
        Err(error) => say(run.line, error.render(&source.verified, false)),
    }
    // The host reads everything, as a program would.
    for (argument, buffer) in came.buffers.iter().enumerate() {
        if let Some((_, len)) = buffer
            && let Err(what) = came.bytes(argument, 0, *len)
        {
            say(run.line, what);
        }
    }
    came.context.check_leaks();
    let (found, notes) = came.context.findings();
    // A launch that ends early must have been found at fault.
    let told = |f: &check::Finding| matches!(f.check, check::Check::Memory | check::Check::Sync);
    if let Err(LaunchError::Fault(report)) = &came.result
        && !found.iter().any(told)
    {
        let what = format!("ended early, and no finding says so: {}", report.message);
        problems.push(Problem { line: run.line, what });
    }
    problems.extend(compared(&found, &notes, finds, run.line));
    problems
}

/// What is wrong with findings.
pub(crate) fn compared(
    found: &[check::Finding],
    notes: &[String],
    finds: &[Find],
    line: usize,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut say = |line: usize, what: String| problems.push(Problem { line, what });
    let one = |f: &check::Finding| render::text(std::slice::from_ref(f), &[]);
    let rule = |f: &check::Finding| format!("{}/{}", f.check.name(), f.class.name());
    let mut left: Vec<&check::Finding> = found.iter().collect();
    for find in finds {
        let fits = |f: &&check::Finding| {
            let text = one(f);
            rule(f) == find.rule && find.texts.iter().all(|t| text.contains(t))
        };
        match left.iter().position(fits) {
            Some(at) => {
                left.remove(at);
            }
            None => {
                let all: String = found.iter().map(one).collect();
                say(
                    find.line,
                    format!("{} {:?} is not found; found:\n{all}", find.rule, find.texts),
                );
            }
        }
    }
    for finding in left {
        say(line, format!("found, and no comment expects it:\n{}", one(finding)));
    }
    for note in notes {
        say(line, format!("note: {note}"));
    }
    problems
}

fn problems_of(test: &FileTest, source: &Source, run: &Run, fixed: bool, on: On) -> Vec<Problem> {
    if let Some(finds) = &run.finds {
        let finds = if fixed { &[][..] } else { finds };
        // Who waits for ever is found by a number of instructions.
        let ends = finds.iter().all(|find| !find.rule.starts_with("sync/"));
        return if on == On::Jit && !ends { Vec::new() } else { checked(source, run, finds, on) };
    }
    let came = match launch(source, run, on) {
        Ok(came) => came,
        Err(what) => return vec![Problem { line: run.line, what }],
    };
    let mut problems = Vec::new();
    let mut say = |line: usize, what: String| problems.push(Problem { line, what });
    match (&run.end, &came.result) {
        (End::Well, Ok(stats)) => {
            if on == On::Jit {
                match (fell_back(stats), &test.jit_refuses) {
                    (Some(why), Some(text)) if why.contains(text) => {}
                    (None, None) => {}
                    (Some(why), Some(text)) => {
                        say(run.line, format!("compiled code refuses this: {why}, not: {text}"));
                    }
                    (Some(why), None) => {
                        say(run.line, format!("compiled code refuses this: {why}"))
                    }
                    (None, Some(_)) => {
                        say(run.line, "compiled code takes this: remove `// jit:`".into())
                    }
                }
            }
        }
        (End::Fault { line, kind, texts }, Err(error @ LaunchError::Fault(report))) => {
            let found = format!("{:?}", report.kind);
            let rendered = error.render(&source.verified, false);
            if found != *kind {
                say(*line, format!("expected {kind}, got {found}:\n{rendered}"));
            }
            for text in texts.iter().filter(|text| !rendered.contains(*text)) {
                say(*line, format!("`{text}` is not in the report:\n{rendered}"));
            }
        }
        (
            End::Refused { line, text },
            Err(
                error @ (LaunchError::Unsupported(_)
                | LaunchError::Arguments(_)
                | LaunchError::Configuration(_)
                | LaunchError::UnknownEntry(_)),
            ),
        ) => {
            let rendered = error.render(&source.verified, false);
            if !rendered.contains(text) {
                say(*line, format!("`{text}` is not in the reason:\n{rendered}"));
            }
        }
        (End::Fault { line, kind, .. }, Ok(_)) => {
            say(*line, format!("expected {kind}, ran to its end"))
        }
        (End::Refused { line, .. }, Ok(_)) => say(*line, "was not refused".into()),
        (_, Err(error)) => say(run.line, error.render(&source.verified, false)),
    }
    if came.result.is_err() && run.end == End::Well {
        return problems;
    }
    for check in &run.checks {
        let size = check.ty.size();
        let count = check.expected.count(check.ty);
        match came.bytes(check.argument, check.from * size, count * size) {
            Ok(found) => {
                if let Some(what) = check.expected.difference(check.ty, check.from, &found) {
                    say(check.line, what);
                }
            }
            Err(what) => say(check.line, what),
        }
    }
    let wanted: String = run.prints.iter().map(|(_, line)| format!("{line}\n")).collect();
    if came.printed != wanted {
        say(
            run.prints.first().map_or(run.line, |p| p.0),
            format!("expected\n{wanted}printed\n{}", came.printed),
        );
    }
    problems
}

/// A finding: line, severity, text.
struct Finding {
    line: usize,
    severity: String,
    message: String,
}

/// The findings about a file, and all of them as text.
fn found(test: &FileTest, variant: &Variant) -> (Vec<Finding>, String) {
    let (data, text) = match source(test, variant) {
        Ok(source) if source.warnings.to_json().as_array().is_some_and(|w| !w.is_empty()) => {
            (source.warnings.to_json(), source.warnings.render(false))
        }
        Ok(source) => {
            (source.verified.warnings().to_json(), source.verified.warnings().render(false))
        }
        Err(error) => (error.to_json(), error.render(false)),
    };
    let one = |finding: &serde_json::Value| Finding {
        line: finding["start"]["line"].as_u64().unwrap_or(0) as usize,
        severity: finding["severity"].as_str().unwrap_or("").to_owned(),
        message: finding.to_string(),
    };
    (data.as_array().into_iter().flatten().map(one).collect(), text)
}

/// What is wrong with the findings about a file.
pub(crate) fn findings(test: &FileTest) -> Vec<Problem> {
    let variants = match variants(test) {
        Ok(variants) => variants,
        Err(what) => return vec![Problem { line: 0, what }],
    };
    let mut problems = Vec::new();
    for variant in variants {
        let (found, text) = found(test, &variant);
        for mark in &test.marks {
            let mut here =
                found.iter().filter(|f| f.line == mark.line && f.severity == mark.severity);
            if !here.any(|f| f.message.contains(&mark.text)) {
                let what =
                    format!("no {} here that says `{}`{}", mark.severity, mark.text, variant.label);
                problems.push(Problem { line: mark.line, what });
            }
        }
        let marked =
            |f: &&Finding| test.marks.iter().any(|m| m.line == f.line && m.severity == f.severity);
        for finding in found.iter().filter(|f| !marked(f)) {
            let what =
                format!("an {} that no comment expects: {}", finding.severity, finding.message);
            problems.push(Problem { line: finding.line, what });
        }
        if test.report.as_ref().is_some_and(|report| *report != text) {
            problems.push(Problem {
                line: 0,
                what: format!("the report is not that of the .txt file:\n{text}"),
            });
        }
    }
    problems
}

/// All findings about a file as text.
pub(crate) fn report(test: &FileTest) -> Result<String, String> {
    let variants = variants(test)?;
    Ok(found(test, &variants[0]).1)
}

/// What comes of a run on the interpreter, for the first target and flags.
pub(crate) fn first(test: &FileTest, run: &Run) -> Result<Came, String> {
    let variants = variants(test)?;
    let source = source(test, &variants[0]).map_err(|e| e.to_string())?;
    launch(&source, run, On::Interp)
}
