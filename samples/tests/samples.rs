//! Runs every module of every sample with one host thread, and from its container with two: the checks of the launch
//! file hold, and all buffers and all output are the same bytes.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ptx_runtime::{Backend, Engine, Verified};
use ptxrun::cc;
use ptxrun::launch_file::{self, LaunchFile};
use ptxrun::plan::Check;
use ptxrun::run::{CheckFailure, RunOptions, RunReport, execute};

fn load(path: &Path) -> LaunchFile {
    let text = std::fs::read_to_string(path).unwrap();
    launch_file::parse(&text, path.parent().unwrap())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn verified(file: &LaunchFile, module: &Path) -> Verified {
    let text = std::fs::read_to_string(module).unwrap();
    cc::verify(module, &text, &module.display().to_string(), &file.build)
        .unwrap_or_else(|e| panic!("{}: {e}", module.display()))
        .verified
}

/// The module as it comes back from a container.
fn assembled(file: &LaunchFile, module: &Path) -> Verified {
    let verified = verified(file, module);
    let name = module.display().to_string();
    let again = Verified::from_bytes(verified.assemble(&[]).unwrap(), &name).unwrap();
    assert_eq!(again.container().unwrap().text().unwrap(), &*verified.module().source);
    again
}

fn run(file: &LaunchFile, module: &Path, threads: u32, backend: Backend) -> RunReport {
    run_verified(file, module, &verified(file, module), threads, backend)
}

fn run_verified(
    file: &LaunchFile,
    module: &Path,
    verified: &Verified,
    threads: u32,
    backend: Backend,
) -> RunReport {
    let options = RunOptions { threads: Some(threads), backend, ..RunOptions::default() };
    execute(&file.plan, verified, &options, &Arc::new(Mutex::new(Vec::new())))
        .unwrap_or_else(|e| panic!("{} with {threads} threads, {backend:?}: {e}", module.display()))
}

#[test]
fn every_sample_gives_its_expected_result_with_any_number_of_threads() {
    let files = samples::launch_files();
    assert!(files.len() >= 29, "{} launch files", files.len());
    for path in files {
        let file = load(&path);
        assert!(!file.modules.is_empty() && !file.plan.checks.is_empty(), "{}", path.display());
        for module in &file.modules {
            let one = run(&file, module, 1, Backend::Interp);
            for check in &one.checks {
                assert!(
                    check.outcome.is_ok(),
                    "{}: {}: {:?}",
                    module.display(),
                    check.what,
                    check.outcome
                );
            }
            let two = run_verified(&file, module, &assembled(&file, module), 2, Backend::Interp);
            assert!(
                one.buffers == two.buffers,
                "{}: two threads give other bytes",
                module.display()
            );
            assert_eq!(
                one.stdout,
                two.stdout,
                "{}: two threads print other text",
                module.display()
            );
        }
    }
}

/// Compiled code leaves the same bytes as the interpreter, with any number of threads.
#[test]
fn compiled_samples_give_the_bytes_of_the_interpreter() {
    let (mut compiled, mut not) = (0, Vec::new());
    for path in samples::launch_files() {
        let file = load(&path);
        for module in &file.modules {
            let name = module.display();
            let want = run(&file, module, 1, Backend::Interp);
            for threads in [1, 2] {
                let got = run(&file, module, threads, Backend::Jit);
                assert!(got.buffers == want.buffers, "{name}: compiled code gives other bytes");
                assert_eq!(got.stdout, want.stdout, "{name}: compiled code prints other text");
                for launch in got.launches {
                    match launch.stats.engine {
                        Engine::Compiled(_) => compiled += 1,
                        engine => not.push(format!("{name}: {}: {engine}", launch.entry)),
                    }
                }
            }
        }
    }
    not.sort();
    not.dedup();
    println!("{compiled} compiled launches; {}", not.join("\n"));
    assert!(compiled > 2 * not.len(), "most launches must run compiled code");
}

/// The checks see a wrong result: with one bit of the expectation changed, they fail.
#[test]
fn the_checks_can_fail() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vecadd/vecadd.toml");
    let mut file = load(&path);
    let Check::Buffer { expected, .. } = &mut file.plan.checks[0] else { panic!("a buffer check") };
    expected[4 * 37] ^= 1;
    let report = run(&file, &file.modules[0], 1, Backend::Interp);
    let Err(CheckFailure::Buffer(mismatch)) = &report.checks[0].outcome else {
        panic!("a mismatch")
    };
    assert_eq!((mismatch.differing, mismatch.first[0].index), (1, 37));
}
