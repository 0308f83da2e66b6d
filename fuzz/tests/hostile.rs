//! Two thousand hostile inputs: what is made to take long, in many sizes, and inputs of the corpora, cut, doubled and
//! with bytes changed. None takes ten seconds, and the process stays below 2 GB.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fuzz::hostile::HOSTILE;
use fuzz::{TARGETS, any};

const INPUTS: usize = 2000;
const LONGEST: Duration = Duration::from_secs(10);
/// In KiB.
const MEMORY: u64 = 2_000_000;

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("what the kernel knows");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("the peak");
    line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
}

/// An input of a corpus, changed.
fn changed(data: &[u8], turn: usize) -> Vec<u8> {
    let mut data = data.to_vec();
    let place = turn.wrapping_mul(0x9e37_79b9) >> 7;
    match turn % 4 {
        0 => data.truncate(place % (data.len() + 1)),
        1 => data.extend_from_within(..),
        2 if !data.is_empty() => {
            let at = place % data.len();
            data[at] ^= 1 << (turn % 8);
        }
        _ => data = data.repeat(1 + turn % 7),
    }
    data
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_hangs_and_nothing_grows() {
    let (mut ran, mut slowest) = (0, (Duration::ZERO, String::new()));
    let mut run = |what: String, target: &str, data: &[u8]| {
        let start = Instant::now();
        any(target, data);
        let took = start.elapsed();
        assert!(took < LONGEST, "{what}: {took:?}");
        ran += 1;
        if took > slowest.0 {
            slowest = (took, what);
        }
        ran
    };
    for kind in HOSTILE {
        for times in [0, 1, 2, 4, 8, 16] {
            run(
                format!("{} times {}", kind.name, kind.n * times),
                kind.target,
                &(kind.make)(kind.n * times),
            );
        }
    }
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut all = Vec::new();
    for (target, _) in TARGETS {
        for file in fs::read_dir(corpora.join(target)).expect("a corpus") {
            let path = file.expect("a file").path();
            all.push((*target, path.display().to_string(), fs::read(path).expect("the input")));
        }
    }
    all.sort();
    for turn in 0.. {
        let (target, name, data) = &all[turn % all.len()];
        if run(format!("{name}, changed the {turn}. time"), target, &changed(data, turn)) >= INPUTS
        {
            break;
        }
    }
    println!("{ran} inputs, the slowest {:?}: {}; at most {} KiB", slowest.0, slowest.1, peak());
    assert!(peak() < MEMORY, "{} KiB", peak());
}
