//! `run --check`, `sanitize` and `coverage`. The checked program is `ptxrun run`, which obeys `PTXRUN_CHECK` as every
//! program does that uses the runtime.

mod common;

use common::{Folder, Outcome, command};

const RACE: &str = include_str!("../../tests/ptx/check/race/missing_barrier.ptx");

/// The command, with libraries that hold nothing.
fn ptxrun(folder: &Folder, args: &[&str]) -> Outcome {
    std::fs::write(folder.file("libcuda.so.1"), "").unwrap();
    std::fs::write(folder.file("race.ptx"), RACE).unwrap();
    let mut line = command(args);
    line.current_dir(&folder.0)
        .env("PTXRUN_LIBDIR", &folder.0)
        .env("XDG_CACHE_HOME", folder.file("cache"));
    Outcome::of(&mut line, "")
}

fn kernel(entry: &str) -> Vec<&str> {
    vec!["run", "race.ptx", "--entry", entry, "--block", "64", "--arg", "buf:256"]
}

#[test]
fn a_run_names_both_lines() {
    let folder = Folder::new("check-run");
    let with = |entry, more: &[&str]| ptxrun(&folder, &[kernel(entry), more.to_vec()].concat());
    let faulty = with("faulty", &["--check", "race"]);
    assert_eq!(faulty.status, 1, "{}", faulty.stderr);
    for part in ["race[read-write]", "race.ptx:15:5", "race.ptx:19:5", "`tile`", "1 finding"] {
        assert!(faulty.stderr.contains(part), "{part} is not in\n{}", faulty.stderr);
    }
    let sound = with("sound", &["--check", "all"]);
    assert_eq!(sound.status, 0, "{}", sound.stderr);
    assert!(sound.stderr.starts_with("0 findings\n"), "{}", sound.stderr);
    let json = with("faulty", &["--check", "race", "--json"]);
    assert_eq!(json.status, 1);
    let report = &json.json()["report"];
    assert_eq!(report["version"], 1);
    assert_eq!(report["findings"][0]["class"], "read-write");
    assert_eq!(report["findings"][0]["sites"].as_array().unwrap().len(), 2);
    // Another order, the same in every run.
    let seeds: Vec<String> = (0..2)
        .map(|_| with("faulty", &["--check", "race", "--schedule", "seed=5"]).stderr)
        .collect();
    assert!(seeds[0].contains("race[read-write]"), "{}", seeds[0]);
    assert_eq!(seeds[0], seeds[1]);
    assert_eq!(with("faulty", &["--check", "rase"]).status, 2);
}

#[test]
#[cfg(unix)]
fn sanitize_decides_the_exit_status() {
    let folder = Folder::new("check-sanitize");
    let own = env!("CARGO_BIN_EXE_ptxrun");
    let with = |options: &[&str], entry| {
        let words = [&["sanitize"][..], options, &["--", own], &kernel(entry)].concat();
        ptxrun(&folder, &words)
    };
    let text = with(&["--tool", "racecheck"], "faulty");
    assert_eq!(text.status, 1, "{}", text.stderr);
    assert!(text.stderr.contains("race[read-write]"), "{}", text.stderr);
    assert_eq!(with(&["--tool", "racecheck", "--error-exitcode", "9"], "faulty").status, 9);
    assert_eq!(with(&["--tool", "memcheck,synccheck"], "faulty").status, 0);
    assert_eq!(with(&["--tool", "all"], "sound").status, 0);
    let other = with(&["--tool", "racecheck", "--format", "compute-sanitizer"], "faulty");
    assert!(other.stderr.contains("========= ERROR SUMMARY: 1 error"), "{}", other.stderr);
    let sarif = with(&["--tool", "racecheck", "--format", "sarif"], "faulty").json();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "race/read-write");
    let json = with(&["--tool", "racecheck", "--json"], "faulty").json();
    assert_eq!(json["findings"][0]["kernel"], "faulty");
    std::fs::write(folder.file("known"), "# known\nrace/read-write kernel faulty at race.ptx:19\n")
        .unwrap();
    assert_eq!(with(&["--tool", "all", "--suppressions", "known"], "sound").status, 0);
    let known = with(&["--tool", "racecheck", "--suppressions", "known"], "faulty");
    assert_eq!(known.status, 0, "{}", known.stderr);
    // Without findings the status is the program's: here that of a wrong argument.
    let wrong = ptxrun(&folder, &["sanitize", "--", own, "run", "race.ptx", "--entry", "none"]);
    assert_eq!(wrong.status, 2, "{}", wrong.stderr);
}

#[test]
#[cfg(unix)]
fn exec_checks_too() {
    let folder = Folder::new("check-exec");
    let own = env!("CARGO_BIN_EXE_ptxrun");
    let words = [&["exec", "--check", "race", "--", own][..], &kernel("faulty")].concat();
    let found = ptxrun(&folder, &words);
    assert_eq!(found.status, 1, "{}", found.stderr);
    assert!(found.stderr.contains("1 finding"), "{}", found.stderr);
}

#[test]
#[cfg(unix)]
fn coverage_counts_lines() {
    let folder = Folder::new("check-coverage");
    let own = env!("CARGO_BIN_EXE_ptxrun");
    let head = ["coverage", "--lcov", "out.info", "--", own];
    let ran = ptxrun(&folder, &[&head[..], &kernel("sound")].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("race.ptx: 15 of 15 instructions"), "{}", ran.stderr);
    let lcov = std::fs::read_to_string(folder.file("out.info")).unwrap();
    assert!(lcov.contains("SF:race.ptx") && lcov.contains("DA:36,64"), "{lcov}");
}

/// Every word is read by several lanes and at several places, and written byte by byte: nothing orders any of it.
#[cfg(target_os = "linux")]
const CROWDED: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry crowded(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 256, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    xor.b64 %rd5, %rd3, 4;
    add.s64 %rd5, %rd1, %rd5;
    ld.global.u32 %r5, [%rd5];
    xor.b64 %rd6, %rd3, 4096;
    add.s64 %rd6, %rd1, %rd6;
    ld.global.u32 %r6, [%rd6];
    cvt.u64.u32 %rd7, %r3;
    add.s64 %rd7, %rd2, %rd7;
    st.global.u8 [%rd7], %r4;
    ret;
}
";

/// The command that runs `CROWDED` under a check and prints the first 60,000 of its 256 words a block.
#[cfg(target_os = "linux")]
fn crowded(folder: &Folder, check: &str, blocks: usize) -> std::process::Command {
    let words = 256 * blocks;
    let (input, output) = (format!("buf:{}", 4 * words), format!("buf:{words}"));
    let blocks = blocks.to_string();
    let args = ["run", "crowded.ptx", "--block", "256", "--grid", &blocks, "--backend", "interp"];
    let rest = ["--threads", "1", "--check", check, "--print", "0:b32:60000"];
    let mut line = command(&[&args[..], &["--arg", &input, "--arg", &output], &rest].concat());
    line.current_dir(&folder.0).env("XDG_CACHE_HOME", folder.file("cache"));
    line
}

/// The blocks of a launch whose printed words, two bytes each at least, are too many for a pipe of 64 KiB.
#[cfg(target_os = "linux")]
const MANY: usize = 4096;

/// What a process with `MANY` blocks needed at most, asked while it waits for its words to be read: of one that has
/// ended, the system no longer says it.
#[cfg(target_os = "linux")]
fn peak(folder: &Folder, check: &str) -> (usize, String) {
    use std::io::Read;
    let mut line = crowded(folder, check, MANY);
    line.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = line.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0];
    out.read_exact(&mut first).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    let said = child.wait_with_output().unwrap().stderr;
    (kilobytes << 10, String::from_utf8_lossy(&said).into_owned())
}

#[test]
#[cfg(target_os = "linux")]
fn the_race_check_takes_eight_bytes_a_byte() {
    let folder = Folder::new("check-memory");
    folder.write("crowded.ptx", CROWDED);
    let touched = 5 * 256 * MANY;
    let (without, _) = peak(&folder, "sync");
    let (with, said) = peak(&folder, "race");
    // Whose pages the allocator keeps, and its own tables, differ by less than a megabyte.
    let most = 8 * touched + (2 << 20);
    assert!(with - without <= most, "{} bytes, at most {most}", with - without);
    assert!(with - without > 6 * touched, "{} bytes are too few to be a shadow", with - without);
    assert!(said.contains("races of `crowded` were looked for in a sample"), "{said}");
    let few = crowded(&folder, "race", 16).output().unwrap();
    let said = String::from_utf8_lossy(&few.stderr);
    assert!(few.status.success() && said.contains("0 findings"), "{said}");
    assert!(!said.contains("in a sample"), "{said}");
}
