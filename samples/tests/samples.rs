//! Runs every module of every sample with one and with two host threads: the checks of the launch file hold, and all
//! buffers and all output are the same bytes.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ptxrun::cc;
use ptxrun::launch_file::{self, LaunchFile};
use ptxrun::plan::Check;
use ptxrun::run::{CheckFailure, RunOptions, RunReport, execute};

fn load(path: &Path) -> LaunchFile {
    let text = std::fs::read_to_string(path).unwrap();
    launch_file::parse(&text, path.parent().unwrap())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn run(file: &LaunchFile, module: &Path, threads: u32) -> RunReport {
    let text = std::fs::read_to_string(module).unwrap();
    let verified = cc::verify(module, &text, &module.display().to_string(), &file.build)
        .unwrap_or_else(|e| panic!("{}: {e}", module.display()))
        .verified;
    let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
    execute(&file.plan, &verified, &options, &Arc::new(Mutex::new(Vec::new())))
        .unwrap_or_else(|e| panic!("{} with {threads} threads: {e}", module.display()))
}

#[test]
fn every_sample_gives_its_expected_result_with_any_number_of_threads() {
    let files = samples::launch_files();
    assert!(files.len() >= 29, "{} launch files", files.len());
    for path in files {
        let file = load(&path);
        assert!(!file.modules.is_empty() && !file.plan.checks.is_empty(), "{}", path.display());
        for module in &file.modules {
            let one = run(&file, module, 1);
            for check in &one.checks {
                assert!(
                    check.outcome.is_ok(),
                    "{}: {}: {:?}",
                    module.display(),
                    check.what,
                    check.outcome
                );
            }
            let two = run(&file, module, 2);
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

/// The checks see a wrong result: with one bit of the expectation changed, they fail.
#[test]
fn the_checks_can_fail() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vecadd/vecadd.toml");
    let mut file = load(&path);
    let Check::Buffer { expected, .. } = &mut file.plan.checks[0] else { panic!("a buffer check") };
    expected[4 * 37] ^= 1;
    let report = run(&file, &file.modules[0], 1);
    let Err(CheckFailure::Buffer(mismatch)) = &report.checks[0].outcome else {
        panic!("a mismatch")
    };
    assert_eq!((mismatch.differing, mismatch.first[0].index), (1, 37));
}
