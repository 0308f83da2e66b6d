//! `cargo xtask verdicts`: what the verifier and ptxas say about the same texts.

mod statements;

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use ptx_runtime::Verified;

/// `cargo xtask verdicts`.
#[derive(Args)]
pub struct Options {
    /// Folders with .ptx files; a folder inside one is a source of its own in the table
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The assembler
    #[arg(long, default_value = "ptxas")]
    ptxas: PathBuf,
    /// First write so many random statements below the first folder
    #[arg(long)]
    random: Option<usize>,
    /// What the random statements depend on
    #[arg(long, default_value_t = 1, requires = "random")]
    seed: u64,
    /// Say nothing of single texts
    #[arg(long)]
    quiet: bool,
    /// The exit status is 1 below so many per cent
    #[arg(long, default_value_t = 100.0)]
    least: f64,
}

/// A text with where it comes from and whom it is for.
struct Text {
    path: PathBuf,
    source: String,
    target: String,
    text: String,
}

/// What one side says: `None` accepts, else its first words.
type Verdict = Option<String>;

/// A text's verdicts: ptxas's, unless it gave none, and ours.
struct Judged {
    theirs: Option<Verdict>,
    ours: Verdict,
}

/// Texts of one source and target.
#[derive(Copy, Clone, Default)]
struct Counts {
    texts: usize,
    agree: usize,
    /// Accepted here, refused by ptxas.
    accepted: usize,
    /// Refused here, accepted by ptxas.
    refused: usize,
    /// ptxas gave no verdict: it failed itself, or builds for no such target.
    silent: usize,
}

/// The target that a text names, as in `sm_90a`.
fn target(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"));
    line.and_then(|rest| rest.split([' ', '\t', ',']).find(|word| !word.is_empty()))
        .unwrap_or("none")
}

/// The texts below a folder.
fn texts(folder: &Path, below: &Path, all: &mut Vec<Text>) -> Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(below)
        .with_context(|| below.display().to_string())?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            texts(folder, &path, all)?;
        } else if path.extension().is_some_and(|e| e == "ptx") {
            let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
            // A text that is no UTF-8 is for other tests.
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let inside = below.strip_prefix(folder).unwrap_or(below);
            let name = if inside.as_os_str().is_empty() { below } else { inside };
            let source = name.display().to_string();
            all.push(Text { target: target(&text).into(), path, source, text });
        }
    }
    Ok(())
}

/// ptxas's verdict. A target that it builds no code for is checked under one that it does.
fn ask_ptxas(ptxas: &Path, text: &Text) -> Result<Option<Verdict>> {
    for arch in [text.target.as_str(), "sm_75"] {
        let out = Command::new(ptxas)
            .arg(format!("-arch={arch}"))
            .args(["-o", "/dev/null"])
            .arg(&text.path)
            .output()
            .with_context(|| ptxas.display().to_string())?;
        let words = String::from_utf8_lossy(&out.stderr).into_owned()
            + &String::from_utf8_lossy(&out.stdout);
        if words.contains("is not defined for option 'gpu-name'") {
            continue;
        }
        // Its own faults say nothing about the text.
        if words.contains("Internal compiler error") || words.contains("(C7308)") {
            return Ok(None);
        }
        let complaint = || {
            let line = words.lines().find(|l| l.contains("error") || l.contains("fatal"));
            line.unwrap_or_else(|| words.trim()).to_owned()
        };
        // Without a status it ended by a signal.
        return Ok(out.status.code().map(|code| (code != 0).then(complaint)));
    }
    Ok(None)
}

/// Our verdict: that of `ptxrun check`.
fn ask_ourselves(text: &Text) -> Verdict {
    let found = catch_unwind(|| Verified::new(&text.text, "text").map(drop));
    match found {
        Ok(Ok(())) => None,
        Ok(Err(findings)) => {
            let words = findings.render(false);
            Some(words.lines().next().unwrap_or("").to_owned())
        }
        Err(_) => Some("panicked".into()),
    }
}

fn judge(ptxas: &Path, all: &[Text]) -> Result<Vec<Judged>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, text)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    all.get(at).map(|text| (at, text))
                } {
                    let theirs = ask_ptxas(ptxas, text);
                    let judged = theirs.map(|theirs| Judged { theirs, ours: ask_ourselves(text) });
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(at, judged);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Compares the verdicts on every text and prints where they differ, and a table.
///
/// # Errors
/// A folder or file that cannot be read, no text at all, or ptxas missing.
pub fn run(options: &Options) -> Result<ExitCode> {
    if let (Some(count), Some(folder)) = (options.random, options.folders.first()) {
        statements::write(folder, count, options.seed)?;
    }
    let mut all = Vec::new();
    for folder in &options.folders {
        texts(folder, folder, &mut all)?;
    }
    if all.is_empty() {
        bail!("these folders hold no .ptx files");
    }
    let mut table: BTreeMap<(&str, &str), Counts> = BTreeMap::new();
    let mut total = Counts::default();
    for (text, judged) in all.iter().zip(judge(&options.ptxas, &all)?) {
        let row = table.entry((&text.source, &text.target)).or_default();
        let differ = |what: &str, words: &str| {
            if !options.quiet {
                println!("{}: {what}: {words}", text.path.display());
            }
        };
        for counts in [row, &mut total] {
            counts.texts += 1;
            match (&judged.theirs, &judged.ours) {
                (None, _) => counts.silent += 1,
                (Some(None), None) | (Some(Some(_)), Some(_)) => counts.agree += 1,
                (Some(Some(_)), None) => counts.accepted += 1,
                (Some(None), Some(_)) => counts.refused += 1,
            }
        }
        match (&judged.theirs, &judged.ours) {
            (Some(Some(words)), None) => differ("accepted, ptxas refuses", words),
            (Some(None), Some(words)) => differ("refused, ptxas accepts", words),
            _ => {}
        }
    }
    println!("source | target | texts | agree | accepted wrongly | refused wrongly | no verdict");
    println!("--- | --- | ---: | ---: | ---: | ---: | ---:");
    let line = |source: &str, target: &str, c: &Counts| {
        let Counts { texts, agree, accepted, refused, silent } = c;
        println!("{source} | {target} | {texts} | {agree} | {accepted} | {refused} | {silent}");
    };
    for ((source, target), counts) in &table {
        line(source, target, counts);
    }
    line("all", "", &total);
    let judged = (total.texts - total.silent).max(1);
    let share = 100.0 * total.agree as f64 / judged as f64;
    println!("{share:.2} % of {judged} texts agree");
    Ok(if share < options.least { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
