//! The commands of README.md and of the pages, run as they stand there, in a copy of what the repository has; and the
//! links between pages.
//!
//! Blocks marked `sh` are run, line by line in their order, by a shell that finds the command. A line that begins with
//! `!` must end with status 1.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// README.md and all of docs/.
fn pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/clients"].map(|folder| std::fs::read_dir(root().join(folder)));
    let mut all: Vec<PathBuf> = folders
        .into_iter()
        .flat_map(|entries| entries.unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    all.push(root().join("README.md"));
    all.sort();
    all
}

/// The lines of a page's blocks marked `sh`; a line that ends with a backslash goes on in the next one.
fn lines(page: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut inside = false;
    let mut open = false;
    for line in page.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(mark) => inside = !inside && mark == "sh",
            None if inside && open => {
                let last = all.last_mut().unwrap();
                *last = format!("{last}\n{line}");
            }
            None if inside && !line.trim().is_empty() => all.push(line.to_owned()),
            None => continue,
        }
        open = inside && line.ends_with('\\');
    }
    all
}

/// Whether the library that programs load was built beside this test.
fn libraries() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    folders.map(Path::to_owned).find(|f| f.join("libptxrun_core.so").is_file())
}

#[cfg(unix)]
#[test]
fn every_command_runs_as_it_stands() {
    let mut ran = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let folder = Folder::new("pages");
        for name in ["samples", "clients"] {
            let link = folder.0.join(name);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(root().canonicalize().unwrap().join(name), link).unwrap();
        }
        let bin = Path::new(env!("CARGO_BIN_EXE_ptxrun")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        for line in lines(&text) {
            // Without the library there is nothing to find; `.ci/run` has it, as its build is of the whole workspace.
            if line.contains("ptxrun exec") && libraries().is_none() {
                assert!(std::env::var_os("CI").is_none(), "libptxrun_core.so is not built");
                continue;
            }
            let (line, status) = match line.strip_prefix("! ") {
                Some(line) => (line.to_owned(), 1),
                None => (line, 0),
            };
            let mut shell = Command::new("sh");
            shell.arg("-ec").arg(&line).current_dir(&folder.0).env("PATH", &path);
            shell.env("PTXRUN_LIBDIR", libraries().unwrap_or_default());
            shell.env("XDG_CACHE_HOME", folder.file("cache"));
            let out = shell.output().unwrap();
            let told = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(status), "{}: {line}\n{told}", page.display());
            ran += 1;
        }
    }
    assert!(ran >= 30, "{ran}");
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        // What stands between fences is code.
        let prose: String = text.split("```").step_by(2).collect();
        let prose: String = prose.split('`').step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") {
                let target = page.parent().unwrap().join(file);
                assert!(target.exists(), "{}: {link}", page.display());
            }
        }
    }
}

#[test]
fn the_book_has_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for page in pages() {
        // README.md is not in the folder of the book.
        let Ok(name) = page.strip_prefix(root().join("docs")) else { continue };
        let name = name.to_str().unwrap();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name}");
    }
}

#[test]
fn every_sample_is_in_the_list() {
    let list = std::fs::read_to_string(root().join("docs/samples.md")).unwrap();
    for folder in std::fs::read_dir(root().join("samples")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(files) = std::fs::read_dir(&folder) else { continue };
        for file in files.map(|file| file.unwrap().path()) {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".toml") {
                let link = format!("samples/{}/{name})", folder.file_name().unwrap().display());
                assert!(list.contains(&link), "{link}");
            }
        }
    }
}

/// The lines of all blocks of commands that no test can run as they stand: those that need what the repository lacks.
fn shown(page: &str) -> impl Iterator<Item = &str> {
    let mut mark: Option<&str> = None;
    page.lines().filter(move |line| {
        match (line.trim_start().strip_prefix("```"), mark) {
            (Some(begun), None) => mark = Some(begun),
            (Some(_), Some(_)) => mark = None,
            (None, _) => return mark == Some(""),
        }
        false
    })
}

/// The subcommand of a line that calls this command, and the options that stand before `--`.
fn called(line: &str) -> Option<(Option<&str>, Vec<&str>)> {
    let (_, rest) = line.split(" # ").next()?.split_once("ptxrun ")?;
    let words = rest.split_whitespace().take_while(|w| !["--", "|", "&&", ">", ";"].contains(w));
    let words: Vec<&str> = words.collect();
    let options = words.iter().filter(|w| w.starts_with("--"));
    let options = options.map(|w| w.split('=').next().unwrap_or(w).trim_end_matches([')', '"']));
    let options = options.collect();
    let subcommand = words
        .first()
        .copied()
        .filter(|w| !w.starts_with('-') && w.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    Some((subcommand, options))
}

/// Commands that need a GPU's toolkit, a network or a user's files are not run. What they ask of this repository is
/// there: subcommands and their options, packages that cargo builds, files.
#[test]
fn what_cannot_be_run_names_what_there_is() {
    let cli = <ptxrun::cli::Cli as clap::CommandFactory>::command();
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in shown(&text) {
            let place = || format!("{}: {line}", page.display());
            let command = line.trim_start();
            if command.starts_with("cargo ") {
                let packages = command.split(" -p ").skip(1);
                for package in packages.filter_map(|rest| rest.split_whitespace().next()) {
                    assert!(manifest.contains(&format!("\"{package}\"")), "{}", place());
                }
            }
            for word in command.split_whitespace() {
                let ours = ["clients/", "samples/"].iter().any(|folder| word.starts_with(folder));
                assert!(!ours || word.contains('*') || root().join(word).exists(), "{}", place());
            }
            let ours = command.starts_with("ptxrun ") || command.starts_with("target/");
            let Some((name, options)) = called(command).filter(|_| ours) else { continue };
            // The Python package has this one.
            if name == Some("sweep") {
                continue;
            }
            let found = match name {
                Some(name) => cli.find_subcommand(name).unwrap_or_else(|| panic!("{}", place())),
                None => &cli,
            };
            // Some, `cc`, tell of options only in their help: they take words as they come.
            let help = found.clone().render_long_help().to_string();
            let end = |c: char| !c.is_alphanumeric() && c != '-';
            for option in options {
                let known = help.split(end).any(|word| word == option);
                assert!(known, "{option}: {}", place());
            }
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}
