//! Twice as long an input takes at most two and a half times the work, whatever is repeated.
//!
//! Work is counted in instructions, by valgrind's callgrind: the same on a busy machine, and a limit close to 2 is
//! possible. (Hardware counters are not to be had in most virtual machines and containers.) Where valgrind is missing,
//! the processor time of the process stands in, with a limit that noise does not reach. `--nocapture` shows the table.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use fuzz::any;
use fuzz::hostile::HOSTILE;

/// Set in the processes that callgrind counts: which of the [`parts`] it is, from 0 on.
const COUNTED: &str = "FUZZ_GROWTH_COUNTED";
/// Lengths of inputs, in multiples of the least.
const TIMES: [usize; 3] = [1, 2, 4];
/// Most growth from one length to the next, in instructions, and in time.
const INSTRUCTIONS: f64 = 2.5;
const TIME: f64 = 3.5;

/// What is counted; callgrind knows it by this name.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn fuzz_growth_work(kind: usize, data: *const Vec<u8>) {
    // SAFETY: of the only caller.
    let data = unsafe { &*data };
    any(HOSTILE[kind].target, data);
}

/// Processes that are counted, one for each processor.
fn parts() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(HOSTILE.len())
}

/// The kinds that a process of so many counts: neighbours, which take different times, go to different ones.
fn kinds(part: usize, parts: usize) -> impl Iterator<Item = usize> {
    (part..HOSTILE.len()).step_by(parts)
}

fn each(kinds: impl Iterator<Item = usize>, mut work: impl FnMut(usize, usize)) {
    for kind in kinds {
        for times in TIMES {
            work(kind, times);
        }
    }
}

/// Calls the work once for every kind of a part and every length.
fn work(part: usize) {
    // Tables that are made on first use.
    for kind in kinds(part, parts()) {
        any(HOSTILE[kind].target, &(HOSTILE[kind].make)(2));
    }
    each(kinds(part, parts()), |kind, times| {
        let data = (HOSTILE[kind].make)(HOSTILE[kind].n * times);
        fuzz_growth_work(kind, &raw const data);
    });
}

/// Instructions of every kind and length; `None` where there is no valgrind.
fn instructions() -> Option<Vec<f64>> {
    Command::new("valgrind").arg("--version").output().ok()?;
    let counted: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..parts()).map(|part| scope.spawn(move || counted(part))).collect();
        running.into_iter().map(|part| part.join().expect("it is counted")).collect()
    });
    let mut all = vec![0.0; HOSTILE.len() * TIMES.len()];
    for (part, counted) in counted.iter().enumerate() {
        for (kind, row) in kinds(part, parts()).zip(counted.chunks(TIMES.len())) {
            all[kind * TIMES.len()..][..TIMES.len()].copy_from_slice(row);
        }
    }
    Some(all)
}

/// Instructions of the kinds of a part.
fn counted(part: usize) -> Vec<f64> {
    let folder = std::env::temp_dir().join(format!("ptxrun-growth-{}-{part}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let out = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--dump-before=fuzz_growth_work",
            "--dump-after=fuzz_growth_work",
        ])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "work_grows_with_the_length", "--nocapture"])
        .env(COUNTED, part.to_string())
        .output()
        .expect("valgrind runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    // A file before the work and one behind it, from 1 on.
    let total = |path: &Path| -> f64 {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let line =
            text.lines().find_map(|l| l.strip_prefix("totals: ").or(l.strip_prefix("summary: ")));
        line.and_then(|n| n.trim().parse().ok()).expect("a number of instructions")
    };
    let count = kinds(part, parts()).count() * TIMES.len();
    let all = (1..=count).map(|n| total(&folder.join(format!("out.{}", 2 * n)))).collect();
    let _ = fs::remove_dir_all(&folder);
    all
}

/// Nanoseconds that this process has run.
fn ran() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a place for it.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) }, 0);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn nanoseconds() -> Vec<f64> {
    let mut all = Vec::new();
    each(kinds(0, 1), |kind, times| {
        let hostile = &HOSTILE[kind];
        // Longer inputs than for counting: noise is less of them.
        let data = (hostile.make)(hostile.n * times * 8);
        let once = || {
            let start = ran();
            any(hostile.target, &data);
            ran() - start
        };
        // What takes less than five milliseconds is noise.
        all.push((0..4).map(|_| once()).fold(f64::MAX, f64::min).max(5e6));
    });
    all
}

#[test]
fn work_grows_with_the_length() {
    if let Ok(part) = std::env::var(COUNTED) {
        return work(part.parse().expect("the number of a part"));
    }
    let (all, what, limit) = match instructions() {
        Some(all) => (all, "instructions", INSTRUCTIONS),
        None => (nanoseconds(), "ns", TIME),
    };
    let mut over = Vec::new();
    println!(
        "| repeated | target | n | {what} | of 2n | of 4n | growth |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    for (hostile, row) in HOSTILE.iter().zip(all.chunks(TIMES.len())) {
        let growth = [row[1] / row[0], row[2] / row[1]];
        println!(
            "| {} | `{}` | {} | {:.0} | {:.0} | {:.0} | {:.2}, {:.2} |",
            hostile.name, hostile.target, hostile.n, row[0], row[1], row[2], growth[0], growth[1]
        );
        if growth.iter().any(|g| *g > limit) {
            over.push(format!("{}: {:.2}, {:.2}", hostile.name, growth[0], growth[1]));
        }
    }
    assert!(
        over.is_empty(),
        "a doubled input takes more than {limit} times the {what}:\n{}",
        over.join("\n")
    );
}
