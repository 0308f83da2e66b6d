//! The comments of a file.

use std::path::{Path, PathBuf};

use ptx_runtime::check::Checks;
use ptxrun::arg::{self, ArgSpec};
use ptxrun::values::ElementType;

use crate::eval::{Eval, Target};
use crate::expect::{self, Expected};

/// What is wrong, and on which line of the file (from 1; 0: the whole file).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line.
    pub line: usize,
    /// For a reader of the test's output.
    pub what: String,
}

/// A file and what its comments say.
#[derive(Clone, Debug)]
pub struct FileTest {
    /// Path inside the folder of tests.
    pub name: String,
    /// Path on disk.
    pub path: PathBuf,
    /// Contents.
    pub text: String,
    pub(crate) runs: Vec<Run>,
    pub(crate) programs: Vec<Program>,
    pub(crate) evals: Vec<Eval>,
    pub(crate) marks: Vec<Mark>,
    /// The text is right as it stands: no finding at all.
    pub(crate) verifies: bool,
    /// Empty: the file's own.
    pub(crate) targets: Vec<String>,
    /// Options of the OpenCL C compiler, a run of the file for each.
    pub(crate) flags: Vec<String>,
    /// Why compiled code refuses the kernels.
    pub(crate) jit_refuses: Option<String>,
    /// The whole report of findings.
    pub(crate) report: Option<String>,
}

/// A launch and what must come of it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub line: usize,
    pub entry: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub cluster: [u32; 3],
    /// Most warp instructions.
    pub steps: Option<u64>,
    pub args: Vec<ArgSpec>,
    pub checks: Vec<Check>,
    pub prints: Vec<(usize, String)>,
    /// What the checkers must find, and nothing else; missing where the run is not checked.
    pub finds: Option<Vec<Find>>,
    /// What is checked.
    pub checks_on: Checks,
    pub end: End,
}

/// What a host program does through the driver API, and what the checkers find.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub line: usize,
    pub name: String,
    pub steps: Vec<Step>,
    pub finds: Vec<Find>,
    pub checks_on: Checks,
}

/// A statement of a host program.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub line: usize,
    pub text: String,
    /// Only in the faulty twin (`false`) or in the sound one (`true`).
    pub only: Option<bool>,
}

/// How a launch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Well,
    /// In this fault, with a report that holds these texts.
    Fault {
        line: usize,
        kind: String,
        texts: Vec<String>,
    },
    /// It is not possible, for a reason that holds this text.
    Refused {
        line: usize,
        text: String,
    },
}

/// What an argument's buffer holds after a run.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub line: usize,
    pub argument: usize,
    pub ty: ElementType,
    /// Element at which the expected ones begin.
    pub from: usize,
    pub expected: Expected,
}

/// A finding of a checker.
#[derive(Clone, Debug)]
pub(crate) struct Find {
    pub line: usize,
    /// `race/read-write`
    pub rule: String,
    /// What its report holds.
    pub texts: Vec<String>,
}

/// A finding that a line must have.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub line: usize,
    pub severity: &'static str,
    pub text: String,
}

impl FileTest {
    /// Reads the comments of a file.
    ///
    /// # Errors
    /// The first comment that is not in the notation, or a file that tests nothing.
    pub fn read(name: &str, path: &Path, text: String) -> Result<FileTest, Problem> {
        let report = std::fs::read_to_string(path.with_extension("txt")).ok();
        let mut test = FileTest {
            name: name.into(),
            path: path.into(),
            text: String::new(),
            runs: Vec::new(),
            programs: Vec::new(),
            evals: Vec::new(),
            marks: Vec::new(),
            verifies: false,
            targets: Vec::new(),
            flags: Vec::new(),
            jit_refuses: None,
            report,
        };
        let mut target = Target::default();
        for (line, content) in (1..).zip(text.lines()) {
            test.line(line, content, &mut target).map_err(|what| Problem { line, what })?;
        }
        test.resolve(&text)?;
        if !test.launches() && !test.has_verdict() {
            return Err(Problem {
                line: 0,
                what: "nothing is tested: no run, eval or error".into(),
            });
        }
        if let Some(run) = test.runs.iter().find(|r| {
            r.end == End::Well && r.checks.is_empty() && r.prints.is_empty() && r.finds.is_none()
        }) {
            return Err(Problem { line: run.line, what: "this run checks nothing".into() });
        }
        test.text = text;
        Ok(test)
    }

    /// Whether something of the file is launched.
    pub fn launches(&self) -> bool {
        !self.runs.is_empty() || !self.evals.is_empty() || !self.programs.is_empty()
    }

    /// Whether the file is compiled twice, with its mistakes and without them.
    pub fn has_twins(&self) -> bool {
        self.text.contains("FIXED") || !self.programs.is_empty()
    }

    /// Whether launches are checked, all of them: checks run in the interpreter alone.
    pub fn only_checks(&self) -> bool {
        self.evals.is_empty() && self.runs.iter().all(|r| r.finds.is_some())
    }

    /// Where the PTX of a CUDA file lies, with its mistakes or without them.
    pub fn twin(&self, fixed: bool) -> PathBuf {
        self.path.with_extension(if fixed { "fixed.ptx" } else { "ptx" })
    }

    /// Texts of findings that are `@NAME` mean the line that ends in `// @NAME`, the nearest one above.
    fn resolve(&mut self, text: &str) -> Result<(), Problem> {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let finds = self.runs.iter_mut().filter_map(|r| r.finds.as_mut()).flatten();
        for find in finds.chain(self.programs.iter_mut().flat_map(|p| &mut p.finds)) {
            for text in &mut find.texts {
                let Some(name) = text.strip_prefix('@') else { continue };
                let marked = |l: &&str| l.trim_end().ends_with(&format!("// @{name}"));
                let above = lines[..find.line].iter().rposition(marked);
                let line = above.ok_or_else(|| {
                    let what = format!("no line above ends in `// @{name}`");
                    Problem { line: find.line, what }
                })?;
                *text = format!("{file}:{}:", line + 1);
            }
        }
        Ok(())
    }

    /// Whether the file says what verification finds.
    pub fn has_verdict(&self) -> bool {
        self.verifies || !self.marks.is_empty()
    }

    fn line(&mut self, line: usize, content: &str, target: &mut Target) -> Result<(), String> {
        for severity in ["error", "warning"] {
            if let Some((_, text)) = content.split_once(&format!("// {severity}")) {
                let text = match text.strip_prefix(':') {
                    Some(text) => text,
                    None if text.trim().is_empty() => text,
                    None => continue,
                };
                self.marks.push(Mark { line, severity, text: text.trim().into() });
                return Ok(());
            }
        }
        let Some((word, rest)) = content.trim().strip_prefix("// ").and_then(|c| c.split_once(':'))
        else {
            return Ok(());
        };
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            return Ok(());
        }
        let rest = rest.trim();
        match word {
            "eval" => self.evals.push(Eval::read(line, rest, target.clone())?),
            "target" => *target = Target::read(rest)?,
            "targets" => self.targets = rest.split_whitespace().map(Into::into).collect(),
            "flags" => self.flags.push(rest.into()),
            "verifies" => self.verifies = true,
            "jit" => self.jit_refuses = Some(rest.into()),
            "run" => self.runs.push(run(line, rest)?),
            "check" => self.last()?.checks.push(check(line, rest)?),
            "prints" => {
                // The line as it is printed: blanks at its ends count, but for the one after the colon.
                let printed = content.split_once("// prints:").map_or("", |(_, text)| text);
                let printed = printed.strip_prefix(' ').unwrap_or(printed);
                self.last()?.prints.push((line, printed.into()));
            }
            "fault" => {
                let (kind, texts) = rest.split_once(':').unwrap_or((rest, ""));
                let texts = texts.split(';').map(|t| t.trim().to_owned()).filter(|t| !t.is_empty());
                self.last()?.end = End::Fault { line, kind: kind.into(), texts: texts.collect() };
            }
            "program" => {
                let (name, options) = rest.split_once(' ').unwrap_or((rest, ""));
                let checks_on = match options.strip_prefix("check=") {
                    Some(list) => Checks::parse(list).map_err(|e| e.to_string())?,
                    None => Checks::ALL,
                };
                let (steps, finds) = (Vec::new(), Vec::new());
                self.programs.push(Program { line, name: name.into(), steps, finds, checks_on });
            }
            "do" | "faulty" | "fixed" => {
                let only = (word != "do").then_some(word == "fixed");
                let program = self.programs.last_mut().ok_or("no `// program:` stands above")?;
                program.steps.push(Step { line, text: rest.into(), only });
            }
            "finds" => {
                let run = self.runs.last_mut().filter(|run| {
                    self.programs.last().is_none_or(|program| program.line < run.line)
                });
                let finds = match (run, self.programs.last_mut()) {
                    (Some(run), _) => run.finds.get_or_insert_default(),
                    (None, Some(program)) => &mut program.finds,
                    (None, None) => return Err("no `// run:` stands above".into()),
                };
                if rest == "nothing" {
                    return Ok(());
                }
                let (rule, texts) = rest.split_once(':').unwrap_or((rest, ""));
                let texts = texts.split(';').map(|t| t.trim().to_owned()).filter(|t| !t.is_empty());
                let (rule, texts) = (rule.trim().to_owned(), texts.collect());
                finds.push(Find { line, rule, texts });
            }
            "refused" => self.last()?.end = End::Refused { line, text: rest.into() },
            _ => return Err(format!("`// {word}:` is no comment of a test")),
        }
        Ok(())
    }

    fn last(&mut self) -> Result<&mut Run, String> {
        self.runs.last_mut().ok_or_else(|| "no `// run:` stands above".into())
    }
}

/// `k<<<2, 64, 128>>>(args) cluster=2`
pub(crate) fn run(line: usize, text: &str) -> Result<Run, String> {
    let form = || format!("`{text}` is not of the form NAME<<<GRID, BLOCK>>>(ARGUMENTS)");
    let (entry, rest) = text.split_once("<<<").ok_or_else(form)?;
    let (sizes, rest) = rest.split_once(">>>(").ok_or_else(form)?;
    let (args, options) = rest.rsplit_once(')').ok_or_else(form)?;
    let sizes: Vec<&str> = sizes.split(',').map(str::trim).collect();
    let (grid, block, shared) = match sizes[..] {
        [grid, block] => (grid, block, "0"),
        [grid, block, shared] => (grid, block, shared),
        _ => return Err(form()),
    };
    let args = args.split(", ").filter(|a| !a.is_empty());
    let args = args.map(|a| arg::parse(a.trim()).map_err(|e| e.to_string()));
    let mut run = Run {
        line,
        entry: entry.trim().into(),
        grid: dimensions(grid)?,
        block: dimensions(block)?,
        shared: number(shared)? as u32,
        cluster: [0; 3],
        steps: None,
        args: args.collect::<Result<_, _>>()?,
        checks: Vec::new(),
        prints: Vec::new(),
        finds: None,
        checks_on: Checks::ALL,
        end: End::Well,
    };
    for option in options.split_whitespace() {
        match option.split_once('=') {
            Some(("cluster", n)) => run.cluster = dimensions(n)?,
            Some(("steps", n)) => run.steps = Some(number(n)? as u64),
            Some(("check", list)) => {
                run.checks_on = Checks::parse(list).map_err(|e| e.to_string())?
            }
            _ => return Err(format!("`{option}` is none of cluster=, steps=, check=")),
        }
    }
    Ok(run)
}

fn number(text: &str) -> Result<usize, String> {
    arg::number(text).ok_or_else(|| format!("`{text}` is not a number"))
}

/// `4x2x1`; missing dimensions are 1.
fn dimensions(text: &str) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split('x').collect();
    if parts.len() > 3 {
        return Err(format!("`{text}` has more than three dimensions"));
    }
    for (dimension, part) in out.iter_mut().zip(parts) {
        *dimension = number(part)? as u32;
    }
    Ok(out)
}

/// `1 u32[8] @4: values`
fn check(line: usize, text: &str) -> Result<Check, String> {
    let form = || format!("`{text}` is not of the form ARGUMENT TYPE: VALUES");
    let (head, values) = text.split_once(": ").ok_or_else(form)?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let (argument, ty, from) = match words[..] {
        [argument, ty] => (argument, ty, "@0"),
        [argument, ty, from] => (argument, ty, from),
        _ => return Err(form()),
    };
    let (ty, count) = match ty.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((ty, count)) => (ty, Some(number(count)?)),
        None => (ty, None),
    };
    let ty: ElementType = ty.parse().map_err(|_| form())?;
    Ok(Check {
        line,
        argument: number(argument)?,
        ty,
        from: number(from.strip_prefix('@').ok_or_else(form)?)?,
        expected: expect::read(ty, count, values)?,
    })
}
