//! OpenCL C files: `ptxrun cc`, and files ending in `.cl` wherever PTX is taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ColorChoice, ValueEnum};
use ptx_runtime::opencl::diag::{self, Diag, Severity};
use ptx_runtime::opencl::info::KernelInfo;
use ptx_runtime::opencl::source::SourceMap;
use ptx_runtime::opencl::{self, Options};
use ptx_runtime::parse::container;
use ptx_runtime::{Diagnostics, Verified};
use serde_json::{Value, json};

use crate::cli::Common;
use crate::terminal::{
    Failed, INVALID, Outcome, USAGE, display_name, is_stdout, print, print_json, read_text,
    write_file,
};

/// True for files that hold OpenCL C.
pub fn is_opencl(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("cl"))
}

/// What the PTX of an OpenCL C file is called in messages.
pub fn ptx_name(name: &str) -> String {
    format!("{name} (as PTX)")
}

/// A diagnostic about the command line.
pub fn one_line(diag: &Diag) -> String {
    match &diag.help {
        Some(help) => format!("{}; {help}", diag.message),
        None => diag.message.clone(),
    }
}

/// What the OpenCL C compiler found, with the sources to show it.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    diags: Vec<Diag>,
    sources: Arc<SourceMap>,
}

impl Findings {
    /// All findings as text for people.
    pub fn render(&self, color: bool) -> String {
        diag::render(&self.diags, &self.sources, color)
    }

    /// How many of them are errors.
    pub fn errors(&self) -> usize {
        self.diags.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// All findings as data, in the form that PTX diagnostics have.
    pub fn to_json(&self) -> Value {
        let place = |pos| {
            let at = self.sources.location(pos);
            json!({"line": at.line, "column": at.column})
        };
        let one = |d: &Diag| {
            json!({
                "file": d.span.map(|s| self.sources.location(s.lo).file),
                "start": d.span.map(|s| place(s.lo)),
                "end": d.span.map(|s| place(s.hi)),
                "code": d.code.name(),
                "severity": match d.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                },
                "message": d.message,
                "notes": d.notes.iter().map(|n| &n.message).collect::<Vec<_>>(),
                "help": d.help,
            })
        };
        self.diags.iter().map(one).collect()
    }
}

/// A PTX or OpenCL C file that is fit to run.
pub struct Source {
    /// The verified PTX.
    pub verified: Verified,
    /// Warnings of the OpenCL C compiler.
    pub warnings: Findings,
    /// What OpenCL C says about its kernels: names and types of arguments. Empty for PTX.
    pub kernels: Vec<KernelInfo>,
}

/// Why a PTX or OpenCL C file is refused.
#[derive(Debug)]
pub enum SourceError {
    /// Errors in OpenCL C.
    OpenCl(Findings),
    /// Errors in PTX.
    Ptx(Diagnostics),
    /// A container that is not taken.
    Container(container::Error),
}

impl SourceError {
    /// The errors as text for people.
    pub fn render(&self, color: bool) -> String {
        match self {
            SourceError::OpenCl(findings) => findings.render(color),
            SourceError::Ptx(diagnostics) => diagnostics.render(color),
            SourceError::Container(error) => format!("error: {error}\n"),
        }
    }

    /// The errors as data.
    pub fn to_json(&self) -> Value {
        match self {
            SourceError::OpenCl(findings) => findings.to_json(),
            SourceError::Ptx(diagnostics) => diagnostics.to_json(),
            SourceError::Container(error) => json!([{
                "file": &*error.file, "offset": error.offset, "code": "container",
                "severity": "error", "message": error.rule.to_string(), "help": error.rule.help(),
            }]),
        }
    }

    /// How many there are.
    pub fn errors(&self) -> usize {
        match self {
            SourceError::OpenCl(findings) => findings.errors(),
            SourceError::Ptx(diagnostics) => diagnostics.errors(),
            SourceError::Container(_) => 1,
        }
    }
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for SourceError {}

/// Verifies PTX, or compiles OpenCL C and verifies the result; the file's name decides.
///
/// OpenCL C is compiled with lines of the source, so that faults can name them.
///
/// # Errors
/// What is wrong with the text.
pub fn verify(
    path: &Path,
    text: &str,
    name: &str,
    options: &Options,
) -> Result<Source, SourceError> {
    verify_with(path, text, name, options, false)
}

/// [`verify`]; `lenient` takes forms of PTX that ptxas refuses and some generators write.
///
/// # Errors
/// What is wrong with the text.
pub fn verify_with(
    path: &Path,
    text: &str,
    name: &str,
    options: &Options,
    lenient: bool,
) -> Result<Source, SourceError> {
    if !is_opencl(path) {
        let read = if lenient { Verified::lenient } else { Verified::new };
        let verified = read(text, name).map_err(SourceError::Ptx)?;
        return Ok(Source { verified, warnings: Findings::default(), kernels: Vec::new() });
    }
    let options = Options { lines: true, ..options.clone() };
    let out = opencl::compile(name, text, &options)
        .map_err(|f| SourceError::OpenCl(Findings { diags: f.diags, sources: f.sources }))?;
    let warnings = Findings { diags: out.warnings, sources: out.sources };
    let verified = Verified::new(&out.ptx, &ptx_name(name)).map_err(SourceError::Ptx)?;
    Ok(Source { verified, warnings, kernels: out.kernels })
}

/// Compiles OpenCL C and says what there is to say about it.
pub(crate) fn compile(
    text: &str,
    name: &str,
    options: &Options,
    common: &Common,
) -> Result<String, Failed> {
    let (ptx, findings) = match opencl::compile(name, text, options) {
        Ok(out) => (Some(out.ptx), Findings { diags: out.warnings, sources: out.sources }),
        Err(f) => (None, Findings { diags: f.diags, sources: f.sources }),
    };
    if !common.json {
        environment::say!("{}", findings.render(common.color()));
    } else if ptx.is_none() {
        print_json(&json!({"ok": false, "diagnostics": findings.to_json()}));
    }
    ptx.ok_or(Failed(INVALID))
}

/// What the words after `ptxrun cc` say.
#[derive(Debug, PartialEq)]
struct Line {
    input: PathBuf,
    output: Option<PathBuf>,
    options: Options,
    json: bool,
    color: ColorChoice,
}

fn read_line(words: Vec<String>) -> Result<Line, String> {
    let (mut input, mut output) = (None, None);
    let (mut json, mut color) = (false, ColorChoice::Auto);
    let mut rest = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = |joined: &str| match joined.strip_prefix('=').unwrap_or(joined) {
            "" => words.next().ok_or_else(|| format!("option `{word}` needs a value")),
            joined => Ok(joined.to_string()),
        };
        if let Some(joined) = word.strip_prefix("--color") {
            let when = value(joined)?;
            color = ColorChoice::from_str(&when, true)
                .map_err(|_| format!("`{when}` is not always, auto or never"))?;
        } else if word == "--json" {
            json = true;
        } else if let Some(joined) = word.strip_prefix("-o") {
            output = Some(PathBuf::from(value(joined)?));
        } else if word == "-" || !word.starts_with('-') {
            if let Some(first) = input.replace(PathBuf::from(&word)) {
                return Err(format!("one file at a time: {} or {word}", first.display()));
            }
        } else {
            // Options that take their value from the next word.
            let separate = ["-D", "-U", "-I", "--target", "-cl-nv-arch"].contains(&&*word);
            let next = if separate { words.next() } else { None };
            rest.push(word);
            rest.extend(next);
        }
    }
    let options = Options::default().with_args(&rest).map_err(|diag| one_line(&diag))?;
    let input = input.ok_or("name an OpenCL C file, or `-` for standard input")?;
    Ok(Line { input, output, options, json, color })
}

/// `ptxrun cc`.
pub(crate) fn command(words: Vec<String>) -> Outcome {
    let json = words.iter().any(|w| w == "--json");
    let line = read_line(words).map_err(|message| {
        Common { json, color: ColorChoice::Auto }.fail(USAGE, "usage", message)
    })?;
    let common = Common { json: line.json, color: line.color };
    let text = read_text(&line.input, &common)?;
    let ptx = compile(&text, &display_name(&line.input), &line.options, &common)?;
    if let Some(path) = line.output.as_ref().filter(|path| !is_stdout(path)) {
        write_file(path, ptx.as_bytes(), &common)?;
        if common.json {
            print_json(&json!({"ok": true, "file": path.display().to_string()}));
        }
    } else if common.json {
        print_json(&json!({"ok": true, "text": ptx}));
    } else {
        print(ptx.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, String> {
        read_line(text.split(' ').map(str::to_string).collect())
    }

    #[test]
    fn words() {
        let line = line("-D N=4 a.cl -cl-std=CL1.1 -o a.ptx --target sm_13 -I x --json").unwrap();
        assert_eq!((line.input, line.output), ("a.cl".into(), Some("a.ptx".into())));
        assert_eq!((line.options.sm, line.options.cl_std, line.json), (13, 110, true));
        assert_eq!(line.options.include_dirs, ["x"]);
        assert_eq!(line.options.defines[0], ("N".into(), Some("4".into())));
    }

    #[test]
    fn wrong_words() {
        assert_eq!(line("a.cl b.cl").unwrap_err(), "one file at a time: a.cl or b.cl");
        assert_eq!(line("a.cl -o").unwrap_err(), "option `-o` needs a value");
        assert_eq!(line("a.cl --color blue").unwrap_err(), "`blue` is not always, auto or never");
        assert!(
            line("a.cl --target sm_14").unwrap_err().starts_with("unknown target `sm_14`; known")
        );
        assert_eq!(line("-g").unwrap_err(), "name an OpenCL C file, or `-` for standard input");
    }
}
