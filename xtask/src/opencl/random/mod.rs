//! Random programs: our compiler's PTX, with and without optimisation, and clang's must all do in the interpreter
//! what the host computes.

mod ast;
mod evaluate;
mod generate;

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail};
use ptx_runtime::Verified;
use ptx_runtime::opencl::Options;
use ptxrun::plan::{Arg, Buffer, Plan, PlannedLaunch};
use ptxrun::run::{RunOptions, execute};

use super::compilers;
use crate::rng::Rng;
use evaluate::{GROUP, GROUPS, Inputs};

/// Kernels in one source: clang's start is expensive.
const BATCH: usize = 20;
const SM: u32 = 75;

/// Tests `count` kernels from `seed` on; failures are left in `keep`. True when there is none.
pub fn random(count: usize, seed: u64, clang: Option<&Path>, keep: &Path) -> Result<bool> {
    let mut wrong = 0;
    for first in (0..count).step_by(BATCH) {
        let size = BATCH.min(count - first);
        let start = seed.wrapping_add(first as u64);
        let problems = batch(size, start, clang, keep)?;
        for problem in &problems {
            println!("{problem}");
        }
        wrong += problems.len();
        if (first / BATCH) % 10 == 9 {
            eprintln!("{} kernels, {wrong} wrong", first + size);
        }
    }
    println!("{count} kernels from seed {seed}: {wrong} results differ");
    Ok(wrong == 0)
}

fn inputs(seed: u64) -> Inputs {
    let mut rng = Rng(seed);
    // A work-item reads up to three elements further on.
    let n = GROUP * GROUPS + 3;
    let floats = [0.0, -0.0, 1.0, -2.5, 1e-40, 3e38, f32::INFINITY, f32::NAN];
    Inputs {
        int: (0..n).map(|i| if i % 3 == 0 { i as i32 } else { rng.next() as i32 }).collect(),
        ulong: (0..n).map(|_| rng.next()).collect(),
        float: (0..n)
            .map(|i| {
                if i % 4 == 0 {
                    floats[rng.below(8)]
                } else {
                    rng.below(20000) as f32 / 64.0 - 100.0
                }
            })
            .collect(),
    }
}

fn batch(size: usize, seed: u64, clang: Option<&Path>, keep: &Path) -> Result<Vec<String>> {
    let kernels: Vec<_> =
        (0..size).map(|i| generate::kernel(i, seed.wrapping_add(i as u64))).collect();
    let mut source = ast::head() + ast::HELPERS;
    for k in &kernels {
        source += &k.source();
    }
    std::fs::create_dir_all(keep)?;
    let path = keep.join(format!("seed-{seed}.cl"));
    std::fs::write(&path, &source)?;
    let inputs = inputs(seed);
    let expected: Vec<Vec<u64>> = kernels.iter().map(|k| evaluate::run(k, &inputs)).collect();
    let optimized = Options { sm: SM, ..Options::default() };
    let plain = Options { opt_disable: true, ..optimized.clone() };
    let mut compiled = vec![
        ("optimised", compilers::with_ours(&path, &optimized)),
        ("-cl-opt-disable", compilers::with_ours(&path, &plain)),
    ];
    if let Some(clang) = clang {
        compiled.push(("clang", compilers::with_clang(clang, &path, SM)));
    }
    let mut problems = Vec::new();
    for (what, ptx) in compiled {
        let verified = ptx.and_then(|ptx| {
            Verified::new(&ptx, what).with_context(|| format!("{what}: verification"))
        });
        let verified = match verified {
            Ok(verified) => verified,
            Err(error) => {
                problems.push(format!("{}: {what}: {error:#}", path.display()));
                continue;
            }
        };
        for (k, expected) in kernels.iter().zip(&expected) {
            let outcome = launch(&verified, k.number, &inputs, expected.len())
                .and_then(|found| compare(&found, expected, k.results.len()));
            if let Err(error) = outcome {
                problems.push(format!("{}: {what}: k{}: {error:#}", path.display(), k.number));
            }
        }
    }
    if problems.is_empty() {
        std::fs::remove_file(&path)?;
    }
    Ok(problems)
}

fn launch(verified: &Verified, number: usize, inputs: &Inputs, len: usize) -> Result<Vec<u64>> {
    let buffer =
        |name: &str, bytes: Vec<u8>| Buffer { name: name.into(), ty: None, shape: None, bytes };
    let plan = Plan {
        buffers: vec![
            buffer("in_int", inputs.int.iter().flat_map(|v| v.to_le_bytes()).collect()),
            buffer("in_ulong", inputs.ulong.iter().flat_map(|v| v.to_le_bytes()).collect()),
            buffer("in_float", inputs.float.iter().flat_map(|v| v.to_le_bytes()).collect()),
            buffer("out", vec![0; 8 * len]),
        ],
        launches: vec![PlannedLaunch {
            entry: format!("k{number}"),
            grid: [GROUPS as u32, 1, 1],
            block: [GROUP as u32, 1, 1],
            shared: 0,
            args: (0..4).map(|index| Arg::Buffer { index, offset: 0 }).collect(),
        }],
        ..Plan::default()
    };
    let options = RunOptions {
        threads: Some(1),
        timeout: Some(std::time::Duration::from_secs(20)),
        backend: ptx_runtime::Backend::from_environment()?,
        ..RunOptions::default()
    };
    let report = execute(&plan, verified, &options, &Arc::new(Mutex::new(Vec::new())))?;
    let words = report.buffers[3].chunks_exact(8);
    Ok(words.map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default())).collect())
}

fn compare(found: &[u64], expected: &[u64], results: usize) -> Result<()> {
    if let Some(i) = (0..expected.len()).find(|i| found.get(*i) != expected.get(*i)) {
        bail!(
            "work-item {}, result {}: {:#x}, expected {:#x}",
            i / results,
            i % results,
            found.get(i).copied().unwrap_or_default(),
            expected[i]
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// A few programs, without clang. `cargo xtask opencl random --count 5000 --clang clang-19` runs many.
    #[test]
    fn both_levels_of_optimisation_do_what_the_host_does() {
        let keep = std::env::temp_dir().join(format!("ptxrun-random-{}", std::process::id()));
        let passed = super::random(100, 1, None, &keep).unwrap();
        assert!(passed, "failing programs are in {}", keep.display());
        let _ = std::fs::remove_dir_all(&keep);
    }

    /// A wrong result is seen.
    #[test]
    fn the_comparison_can_fail() {
        assert!(super::compare(&[1, 2], &[1, 2], 1).is_ok());
        let error = super::compare(&[1, 2, 3, 5], &[1, 2, 3, 4], 2).unwrap_err();
        assert_eq!(error.to_string(), "work-item 1, result 1: 0x5, expected 0x4");
    }
}
