//! Scripted sessions of the debugger: `debug/*.dbg` hold command lines and commands, `.out` beside them what comes out.
//!
//! A session begins with `## name`; the next line, `$ ...`, is the command line of `ptxrun debug`; the rest are
//! commands. `UPDATE_EXPECT=1` writes what comes out; read it before you believe it.
//!
//! Sessions of `docs.dbg` stand in docs/debugger.md, in blocks that begin with "```session NAME".

use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_debug::command::HELP;

struct Session {
    name: String,
    arguments: Vec<String>,
    commands: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug")
}

fn sessions(text: &str) -> Vec<Session> {
    let mut all: Vec<Session> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            let name = name.to_owned();
            all.push(Session { name, arguments: Vec::new(), commands: Vec::new() });
        } else if let (Some(session), Some(line)) = (all.last_mut(), line.strip_prefix("$ ")) {
            session.arguments = line.split_whitespace().map(str::to_owned).collect();
        } else if let (Some(session), false) = (all.last_mut(), line.is_empty()) {
            session.commands.push(line.to_owned());
        }
    }
    all
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "dbg"))
        .collect();
    files.sort();
    files
}

fn run(session: &Session) -> String {
    let (text, status) = run_in(&folder(), session);
    format!("## {}\n{text}exit {status}\n\n", session.name)
}

/// What comes out of a session, and the exit status.
fn run_in(folder: &Path, session: &Session) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxrun"));
    command.current_dir(folder).arg("debug").args(&session.arguments).arg("--batch");
    for line in &session.commands {
        command.args(["--eval", line]);
    }
    let output = command.output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    (text, output.status.code().unwrap())
}

#[test]
fn sessions_come_out_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut count = 0;
    for path in files() {
        let all = sessions(&std::fs::read_to_string(&path).unwrap());
        count += all.len();
        let found: String = all.iter().map(run).collect();
        let expected = path.with_extension("out");
        if update {
            std::fs::write(&expected, &found).unwrap();
            continue;
        }
        let wanted = std::fs::read_to_string(&expected).unwrap();
        for (n, (f, w)) in found.lines().zip(wanted.lines()).enumerate() {
            assert_eq!(f, w, "{}:{}", expected.display(), n + 1);
        }
        assert_eq!(found.lines().count(), wanted.lines().count(), "{}", expected.display());
    }
    assert!(count >= 80, "{count} sessions");
}

/// What a session of the page shows: the command line, and all that comes out.
fn on_the_page(session: &Session) -> String {
    let (text, _) = run_in(&folder(), session);
    let words: Vec<&str> = session.arguments.iter().map(String::as_str).collect();
    format!("$ ptxrun debug {}\n{text}", words.join(" "))
}

#[test]
fn sessions_of_the_page_are_what_the_debugger_prints() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/debugger.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let all = sessions(&std::fs::read_to_string(folder().join("docs.dbg")).unwrap());
    let (mut now, mut shown, mut inside) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("```session ") {
            let session = all.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("{name}"));
            now.push_str(&format!("{line}\n{}", on_the_page(session)));
            shown.push(name.to_owned());
            inside = true;
        }
        inside &= line != "```";
        if !inside {
            now.push_str(&format!("{line}\n"));
        }
    }
    let names: Vec<String> = all.iter().map(|s| s.name.clone()).collect();
    assert_eq!(shown, names, "the sessions of docs.dbg, each once");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&page, now).unwrap();
        return;
    }
    for (n, (is, should)) in text.lines().zip(now.lines()).enumerate() {
        assert_eq!(is, should, "docs/debugger.md:{}", n + 1);
    }
    assert_eq!(text.lines().count(), now.lines().count());
}

#[test]
fn every_command_of_the_help_is_in_a_session() {
    let mut used = std::collections::BTreeSet::new();
    for path in files() {
        for session in sessions(&std::fs::read_to_string(&path).unwrap()) {
            for line in &session.commands {
                let end = line.find([' ', '/']).unwrap_or(line.len());
                if let Ok(entry) = ptx_debug::command::find(&line[..end]) {
                    used.insert(entry.names[0]);
                }
            }
        }
    }
    let missing: Vec<_> = HELP.iter().map(|e| e.names[0]).filter(|n| !used.contains(n)).collect();
    assert!(missing.is_empty(), "in no session: {missing:?}");
}

/// What `info` lists, by its line of the help.
fn subjects() -> Vec<String> {
    let entry = HELP.iter().find(|e| e.names[0] == "info").unwrap();
    let list = entry.does.strip_prefix("list ").unwrap();
    list.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_subject_of_info_is_in_a_session() {
    let all: Vec<Session> =
        files().iter().flat_map(|path| sessions(&std::fs::read_to_string(path).unwrap())).collect();
    let lines: Vec<&str> = all.iter().flat_map(|s| &s.commands).map(String::as_str).collect();
    let missing: Vec<_> =
        subjects().into_iter().filter(|s| !lines.contains(&format!("info {s}").as_str())).collect();
    assert!(missing.is_empty(), "in no session: {missing:?}");
}

/// Where a program comes from: its file, by what it has of its source.
const ORIGINS: &[(&str, &[&str])] = &[
    ("PTX", &["walk.ptx", "clock.ptx"]),
    ("OpenCL C", &["vector.cl", "shade.cl", "../../../samples/vecadd/vecadd.toml"]),
    ("nvcc -lineinfo", &["saxpy.ptx", "shift.ptx", "tile.ptx", "norm.ptx"]),
    ("nvcc -G", &["saxpy_g.ptx", "particles_g.ptx", "histogram_g.ptx"]),
    ("numba, lineinfo", &["smooth.ptx"]),
    ("numba, debug", &["smooth_g.ptx"]),
];

#[test]
fn every_origin_is_debugged_forward_and_backward() {
    let all: Vec<Session> =
        files().iter().flat_map(|path| sessions(&std::fs::read_to_string(path).unwrap())).collect();
    let is = |s: &Session, commands: &[&str]| {
        let names = s.commands.iter().filter_map(|line| {
            let end = line.find([' ', '/']).unwrap_or(line.len());
            ptx_debug::command::find(&line[..end]).ok().map(|entry| entry.names[0])
        });
        names.into_iter().any(|name| commands.contains(&name))
    };
    let forward = ["run", "continue", "stepi", "nexti", "step", "next", "finish", "until"];
    let back: Vec<&str> =
        HELP.iter().map(|e| e.names[0]).filter(|n| n.starts_with("reverse-")).collect();
    for (origin, names) in ORIGINS {
        let of: Vec<&Session> =
            all.iter().filter(|s| names.contains(&s.arguments[0].as_str())).collect();
        let goes = of.iter().filter(|s| is(s, &forward)).count();
        let returns = of.iter().filter(|s| is(s, &back)).count();
        println!("{origin}: {} sessions, {goes} forward, {returns} back", of.len());
        assert!(goes > 0 && returns > 0, "{origin}: {goes} forward, {returns} back");
    }
}
