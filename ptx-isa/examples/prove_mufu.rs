//! Proves the approximate functions on all 2^32 inputs against checksums recorded on the hardware.
//!
//! ```text
//! cargo run --release -p ptx-isa --example prove_mufu -- [--every N] [--dir DIR] [FORM ...]
//! ```
//!
//! `--every N` checks every N-th block of 2^20 inputs, `FORM` restricts to instructions whose name contains it. The
//! folder holds `index.json` (the forms, in order) and `hashes.bin`: per form 4096 sums, little endian, of `(2i + 1) *
//! output(i)` modulo 2^64 over block b's inputs `b << 20 | i`. `PTXRUN_ISA` (`baseline`, `avx2`) chooses the code that
//! runs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use ptx_isa::mufu::{LANES, Warp};
use ptx_isa::rows::approx::{F32_FORMS, UnaryLanes};

const BLOCKS: usize = 4096;
const BLOCK_BITS: u32 = 20;

/// Results per second on one core, over values around one that stay in the cache.
fn rate(form: UnaryLanes, ftz: bool) -> f64 {
    const GROUPS: usize = 64;
    let inputs: [Warp; GROUPS] = std::array::from_fn(|group| {
        std::array::from_fn(|lane| {
            0x3f00_0000 + ((group * LANES + lane) as u32).wrapping_mul(0x1357) % 0x0180_0000
        })
    });
    let mut out = [0; LANES];
    // The best of many, since others use the machine too.
    let best = (0..400).map(|_| {
        let start = Instant::now();
        for input in inputs.iter().cycle().take(8 * GROUPS) {
            form(std::hint::black_box(input), &mut out, ftz);
            std::hint::black_box(&out);
        }
        start.elapsed().as_secs_f64()
    });
    (8 * GROUPS * LANES) as f64 / best.fold(f64::INFINITY, f64::min)
}

/// The recorded sum of every block of the form `name`.
fn recorded(index: &str, sums: &[u8], name: &str) -> Option<Vec<u64>> {
    let list = index.split_once("\"hash_ops\"")?.1.split_once('[')?.1.split_once(']')?.0;
    let position = list.split(',').position(|entry| entry.trim().trim_matches('"') == name)?;
    let bytes = sums.get(position * BLOCKS * 8..(position + 1) * BLOCKS * 8)?;
    Some(
        bytes
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect(),
    )
}

fn block_sum(form: UnaryLanes, ftz: bool, block: usize) -> u64 {
    let mut sum = 0u64;
    let mut out = [0; LANES];
    for first in (0..1u32 << BLOCK_BITS).step_by(LANES) {
        let input = std::array::from_fn(|lane| (block as u32) << BLOCK_BITS | first | lane as u32);
        form(&input, &mut out, ftz);
        for (lane, &value) in out.iter().enumerate() {
            let weight = u64::from(2 * (first | lane as u32) + 1);
            sum = sum.wrapping_add(weight.wrapping_mul(u64::from(value)));
        }
    }
    sum
}

fn main() -> ExitCode {
    let mut every = 1;
    let mut dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/mufu"));
    let mut wanted = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--every" => match arguments.next().and_then(|n| n.parse().ok()) {
                Some(n) if n > 0 => every = n,
                _ => return usage("--every needs a number above zero"),
            },
            "--dir" => match arguments.next() {
                Some(path) => dir = path.into(),
                None => return usage("--dir needs a folder"),
            },
            other if other.starts_with('-') => return usage(&format!("unknown option {other}")),
            other => wanted.push(other.to_owned()),
        }
    }
    let read = |name: &str| {
        std::fs::read(dir.join(name)).map_err(|e| format!("{}: {e}", dir.join(name).display()))
    };
    let (index, sums) = match (read("index.json"), read("hashes.bin")) {
        (Ok(index), Ok(sums)) => (String::from_utf8_lossy(&index).into_owned(), sums),
        (Err(e), _) | (_, Err(e)) => return usage(&e),
    };

    println!("{:22} {:>8} {:>8} {:>12}", "form", "passed", "failed", "results/s");
    let (mut passed_all, mut failed_all) = (0, 0);
    for (name, form, ftz) in F32_FORMS {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let Some(expected) = recorded(&index, &sums, name) else {
            return usage(&format!("no checksums for {name}"));
        };
        let blocks = (0..BLOCKS).step_by(every);
        let failed: Vec<usize> =
            blocks.clone().filter(|&b| block_sum(form, ftz, b) != expected[b]).collect();
        let passed = blocks.len() - failed.len();
        println!("{name:22} {passed:8} {:8} {:12.3e}", failed.len(), rate(form, ftz));
        for block in failed.iter().take(8) {
            println!("    differs in {:#010x}..", block << BLOCK_BITS);
        }
        passed_all += passed;
        failed_all += failed.len();
    }
    println!("{passed_all} passed, {failed_all} failed");
    if failed_all == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("prove_mufu: {problem}\nusage: prove_mufu [--every N] [--dir DIR] [FORM ...]");
    ExitCode::FAILURE
}
