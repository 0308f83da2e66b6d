//! `trace`, `diff` and `reduce`.

mod common;

use std::process::Command;

use common::{Folder, Outcome, command};

const WALK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/debug/walk.ptx");
const LAUNCH: &[&str] = &["--entry", "walk", "--block", "8", "--arg", "buf:32"];

fn ptxrun(words: &[&str]) -> Outcome {
    Outcome::of(&mut command(words), "")
}

fn traced(options: &[&str]) -> String {
    let words: Vec<&str> = ["trace", WALK].iter().chain(LAUNCH).chain(options).copied().collect();
    let out = ptxrun(&words);
    assert_eq!(out.status, 0, "{}", out.stderr);
    out.stdout
}

fn a_trace_has_values_and_accesses() {
    let all = traced(&["--memory"]);
    let lines: Vec<&str> = all.lines().collect();
    let first = lines.iter().find(|l| l.contains("ld.param")).unwrap();
    assert!(first.starts_with("0 block 0,0,0 warp 0 lanes 000000ff line 22: ld.param.u64"));
    let sum = lines.iter().find(|l| l.contains("add.u32 %r3, %r3, 1;")).unwrap();
    assert!(sum.ends_with("%r3 = 1"), "{sum}");
    let tid = lines.iter().find(|l| l.contains("%tid.x")).unwrap();
    assert!(tid.ends_with("%r1 = 0 1 2 3 4 5 6 7"), "{tid}");
    assert!(all.contains("write shared 4 bytes at 0x0 0x4 0x8"), "{all}");
    assert!(all.contains("write global 4 bytes at"));
    let few = traced(&["--opcode", "bar", "--no-values"]);
    assert_eq!(few.lines().count(), 1, "{few}");
    let few = traced(&["--lines", "23-24", "--only-warp", "0", "--only-block", "0"]);
    assert_eq!(few.lines().count(), 2, "{few}");
    assert_eq!(traced(&["--only-block", "1"]), "");
    assert_eq!(traced(&["--kernel", "other"]), "");
    let memory = traced(&["--only-memory"]);
    let of = |space: &str| memory.lines().filter(|l| l.contains(space)).count();
    assert_eq!((of("shared"), of("global")), (2, 1), "{memory}");
}

fn traces_for_programs() {
    for line in traced(&["--format", "jsonl", "--memory"]).lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["time"].is_u64() && event["warp"] == 0, "{line}");
    }
    let text = traced(&["--format", "perfetto", "--memory"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    assert!(events.iter().all(|e| e["ph"] == "X" || e["ph"] == "i"));
    assert!(events.len() > 50);
}

fn records_hold_what_the_text_says() {
    let folder = Folder::new("records");
    let file = folder.file("walk.trace");
    for more in [&["--memory"][..], &["--no-values"], &["--only-memory"], &["--opcode", "ld"]] {
        let binary: Vec<&str> =
            ["--format", "binary", "-o", &file].iter().chain(more).copied().collect();
        assert_eq!(traced(&binary), "");
        for format in ["text", "jsonl", "perfetto"] {
            let direct: Vec<&str> = ["--format", format].iter().chain(more).copied().collect();
            let out = ptxrun(&["trace", "--read", &file, "--format", format]);
            assert_eq!((out.status, out.stdout), (0, traced(&direct)), "{format} {more:?}");
        }
    }
    folder.write("no.trace", "what is this");
    let out = ptxrun(&["trace", "--read", &folder.file("no.trace")]);
    assert_eq!(out.status, 1);
    assert!(out.stderr.contains("it does not begin as"), "{}", out.stderr);
}

fn the_first_difference_is_found() {
    let folder = Folder::new("diff");
    let other = std::fs::read_to_string(WALK).unwrap();
    let other = other.replace("0f3F000000", "0f3F400000");
    folder.write("other.ptx", &other);
    let file = folder.file("other.ptx");
    let words: Vec<&str> =
        ["diff", WALK, "--with", file.as_str()].iter().chain(LAUNCH).copied().collect();
    let out = ptxrun(&words);
    assert_eq!(out.status, 1);
    assert!(out.stdout.starts_with("argument 0[10] is the first that differs"), "{}", out.stdout);
    assert!(out.stdout.contains("thread (2,0,0)"), "{}", out.stdout);
    assert_eq!(out.stdout.matches("st.global.f32 [%rd3], %f2;").count(), 2, "{}", out.stdout);
    let words: Vec<&str> = ["diff", WALK, "--with", "jit"].iter().chain(LAUNCH).copied().collect();
    let out = ptxrun(&words);
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert!(out.stdout.ends_with("the same results\n"));
}

fn a_recording_is_compared() {
    let folder = Folder::new("recorded");
    let sums = [0f32, 0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0];
    let bytes = |sums: &[f32]| sums.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let file = folder.file("sums.bin");
    let diff = |name: &str| {
        let recorded = format!("{name}={file}");
        let words = [&["diff", WALK, "--recorded", &recorded], LAUNCH].concat();
        ptxrun(&words)
    };
    std::fs::write(&file, bytes(&sums)).unwrap();
    let out = diff("0");
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert!(
        out.stdout.ends_with("walk.ptx and the recording: the same results\n"),
        "{}",
        out.stdout
    );
    let other = sums.map(|v| if v == 6.0 { 7.0 } else { v });
    std::fs::write(&file, bytes(&other)).unwrap();
    let out = diff("argument 0");
    assert_eq!(out.status, 1);
    // The third byte of the fifth number.
    assert!(out.stdout.starts_with("argument 0[18] is the first that differs"), "{}", out.stdout);
    assert!(out.stdout.contains("thread (4,0,0)"), "{}", out.stdout);
    assert!(out.stdout.contains("  the recording: "), "{}", out.stdout);
    let out = diff("sums");
    assert_eq!(out.status, 2);
    assert!(
        out.stderr.contains("there is no buffer `sums`; there are: argument 0"),
        "{}",
        out.stderr
    );
    std::fs::write(&file, bytes(&sums[..7])).unwrap();
    let out = diff("0");
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("sums.bin holds 28 bytes, argument 0 has 32"), "{}", out.stderr);
}

fn a_text_is_made_smaller() {
    let folder = Folder::new("reduce");
    let name = folder.file("small.ptx");
    let name = name.as_str();
    // It fails as long as the shared store is there.
    let out =
        ptxrun(&["reduce", WALK, "-o", name, "--", "sh", "-c", "! grep -q st.shared \"$0\"", "{}"]);
    assert_eq!(out.status, 0, "{}", out.stderr);
    let small = std::fs::read_to_string(name).unwrap();
    assert!(small.contains("st.shared.u32"));
    // Functions stay, without what stood in them.
    assert!(!small.contains("bar.sync") && !small.contains("call"), "{small}");
    assert!(ptxrun(&["check", name]).status == 0);
    let out = ptxrun(&["reduce", WALK, "-o", name, "--", "true"]);
    assert_eq!(out.status, 1);
}

fn checks_are_for_other_subcommands() {
    let tools: [&[&str]; 4] =
        [&["trace"], &["diff", "--with", "jit"], &["observe", "--plugin", "x.so"], &["profile"]];
    for tool in tools {
        let words: Vec<&str> =
            tool.iter().chain(&[WALK, "--check", "race"]).chain(LAUNCH).copied().collect();
        let out = ptxrun(&words);
        assert_eq!(out.status, 2, "{words:?}: {}", out.stderr);
        assert!(out.stderr.contains("--check is for"), "{words:?}: {}", out.stderr);
    }
}

/// Nothing waits for a thread that the host does not give: what can be done in one is done, the rest says so.
fn without_threads() {
    let folder = Folder::new("threads");
    let faults = folder.file("faults.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptxrun-core/tests/injected/faults.c");
    let made =
        Command::new("cc").args(["-shared", "-fPIC", source, "-o", &faults, "-ldl"]).status();
    assert!(made.expect("a compiler").success());
    let both = |words: &[&str]| {
        let words: Vec<&str> = words.iter().chain(LAUNCH).copied().collect();
        let with = Outcome::of(&mut command(&words), "");
        let mut alone = command(&words);
        alone.env("LD_PRELOAD", &faults).env("FAULT", "thread").env("FAULT_AT", "0");
        alone.env("FAULT_NOW", "1").env("FAULT_EVER", "1");
        (with, Outcome::of(&mut alone, ""))
    };
    for words in [&["run", WALK][..], &["profile", WALK], &["profile", WALK, "--json"]] {
        let (with, alone) = both(words);
        assert_eq!(with.status, 0, "{words:?}: {}", with.stderr);
        assert_eq!(alone.status, 0, "{words:?}: {}", alone.stderr);
        assert_eq!(with.stdout, alone.stdout, "{words:?}");
    }
    let (_, alone) = both(&["trace", WALK]);
    assert_eq!(alone.status, 2, "{}", alone.stderr);
    assert!(alone.stderr.contains("the trace cannot be written"), "{}", alone.stderr);
}

golden::tests! {
    without_threads: program(&["cc", "--version"]),
    checks_are_for_other_subcommands: nothing(),
    a_trace_has_values_and_accesses: nothing(),
    traces_for_programs: nothing(),
    records_hold_what_the_text_says: nothing(),
    the_first_difference_is_found: nothing(),
    a_recording_is_compared: nothing(),
    a_text_is_made_smaller: nothing(),
}
