//! Runs every file of `tests/ptx`, `tests/cl` and `tests/truth` on every engine; `src/lib.rs` explains the notation.
//!
//! Compiled code has one vector width a process, so the narrower ones run in processes of this executable of their own,
//! which hand their findings over as JSON. A width that the processor lacks is reported as ignored.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Arc, OnceLock};

use filetests::{FileTest, On, Problem, bless, files, problems};
use libtest_mimic::{Arguments, Failed, Trial};

/// Asks compiled code for narrower vectors than the processor has.
const BITS: &str = "PTXRUN_JIT_BITS";
/// Asks this executable to print its findings about the files whose names stand in it.
const REPORT: &str = "PTXRUN_FILETESTS_REPORT";
/// Widths of vectors that compiled code may have.
const WIDTHS: [u32; 3] = [128, 256, 512];

/// Findings by file.
type Findings = BTreeMap<String, Vec<(usize, String)>>;

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet, so nobody reads the environment meanwhile.
    unsafe { std::env::set_var("PTXRUN_CACHE_DIR", "") };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = match files(folder) {
        Ok(tests) => tests,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    if std::env::var_os(REPORT).is_some() {
        println!("{}", serde_json::to_string(&report(&tests)).expect("text"));
        return ExitCode::SUCCESS;
    }
    let tests = if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v != "0") {
        for test in &tests {
            if let Err(what) = bless(test) {
                eprintln!("{}: {what}", test.name);
            }
        }
        files(folder).expect("the files that were read before")
    } else {
        tests
    };
    assert!(tests.len() >= 60, "{} files, some are missing", tests.len());
    let own = ptx_runtime::vector_bits();
    let narrow: [Arc<OnceLock<Result<Findings, String>>>; WIDTHS.len()] = Default::default();
    let mut trials = Vec::new();
    for test in tests {
        let test = Arc::new(test);
        if test.has_verdict() {
            let test = Arc::clone(&test);
            trials.push(Trial::test(format!("{} check", test.name), move || {
                passed(&test, problems(&test, On::Check))
            }));
        }
        if !test.launches() {
            continue;
        }
        {
            let test = Arc::clone(&test);
            trials.push(Trial::test(format!("{} interp", test.name), move || {
                passed(&test, problems(&test, On::Interp))
            }));
        }
        if test.only_checks() {
            // What a checker looks closely at does not depend on the width.
            trials.push(Trial::test(format!("{} jit", test.name), move || {
                passed(&test, problems(&test, On::Jit))
            }));
            continue;
        }
        for (width, narrow) in WIDTHS.into_iter().zip(&narrow) {
            let (test, narrow) = (Arc::clone(&test), Arc::clone(narrow));
            let name = format!("{} jit{width}", test.name);
            let trial = Trial::test(name, move || {
                if width == own {
                    return passed(&test, problems(&test, On::Jit));
                }
                let all = narrow.get_or_init(|| elsewhere(width)).as_ref()?;
                let found = all.get(&test.name).ok_or("the other process did not run this file")?;
                let found =
                    found.iter().map(|(line, what)| Problem { line: *line, what: what.clone() });
                passed(&test, found.collect())
            });
            trials.push(trial.with_ignored_flag(width > own));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn passed(test: &FileTest, problems: Vec<Problem>) -> Result<(), Failed> {
    if problems.is_empty() {
        return Ok(());
    }
    let lines = problems.iter().map(|p| format!("tests/{}:{}: {}", test.name, p.line, p.what));
    Err(lines.collect::<Vec<_>>().join("\n").into())
}

/// Findings of compiled code about every file.
fn report(tests: &[FileTest]) -> Findings {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut found = Findings::new();
        while let Some(test) = tests.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            if test.launches() {
                let all = problems(test, On::Jit).into_iter().map(|p| (p.line, p.what));
                found.insert(test.name.clone(), all.collect());
            }
        }
        found
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().flat_map(|thread| thread.join().expect("findings")).collect()
    })
}

/// Findings of a process whose vectors have `width` bits.
fn elsewhere(width: u32) -> Result<Findings, String> {
    let executable = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(executable)
        .env(BITS, width.to_string())
        .env(REPORT, "1")
        .output()
        .map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}
