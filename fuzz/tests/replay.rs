//! The inputs that are kept run as they should: each was found by a fuzzer to reach code of its own, or has once found
//! a mistake.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;

use fuzz::{TARGETS, any};

/// Set where this test runs itself at another vector width.
const INSIDE: &str = "FUZZ_REPLAY_TARGET";

fn kept(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = files.map(|f| f.expect("a file").path()).collect();
    all.sort();
    all
}

/// Inputs of a target on which it fails, and how many there are.
fn replay(target: &str) -> (Vec<String>, usize) {
    let all = kept(target);
    let fails = |path: &&PathBuf| {
        let data = fs::read(path).expect("the input");
        catch_unwind(|| any(target, &data)).is_err()
    };
    (all.iter().filter(fails).map(|p| p.display().to_string()).collect(), all.len())
}

fn check(target: &str) {
    let (failed, all) = replay(target);
    assert!(all >= 5, "{target}: {all} inputs are kept");
    assert!(failed.is_empty(), "{target} fails on {}", failed.join(", "));
}

#[test]
fn kept_inputs() {
    if let Ok(target) = std::env::var(INSIDE) {
        return check(&target);
    }
    let known: Vec<&str> = TARGETS.iter().map(|t| t.0).collect();
    for target in &known {
        check(target);
    }
    // Compiled code has one width in a process.
    let own = std::env::current_exe().expect("this test");
    for bits in ["128", "256", "512"] {
        for target in ["differential", "kernels"] {
            let out = Command::new(&own)
                .args(["kept_inputs", "--exact", "--nocapture"])
                .env("PTXRUN_JIT_BITS", bits)
                .env(INSIDE, target)
                .output()
                .expect("this test runs");
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{target} with {bits} bits: {said}");
        }
    }
}
