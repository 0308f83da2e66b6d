//! Runs every module of every sample with all checks: there is nothing to find but what a sample means.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use ptx_runtime::check::{Checks, Class, render};
use ptxrun::cc;
use ptxrun::launch_file;
use ptxrun::run::{RunOptions, execute};

#[test]
fn samples_have_no_findings() {
    let files = samples::launch_files();
    assert!(files.len() >= 29, "{} launch files", files.len());
    let mut wrong = String::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = launch_file::parse(&text, path.parent().unwrap())
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for module in &file.modules {
            let name = module.display().to_string();
            let text = std::fs::read_to_string(module).unwrap();
            let source = cc::verify(module, &text, &name, &file.build)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            let options = RunOptions { checks: Checks::ALL, ..RunOptions::default() };
            let start = Instant::now();
            let printed = Arc::new(Mutex::new(Vec::new()));
            let report = execute(&file.plan, &source.verified, &options, &printed)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            println!("{name}: {:.2} s", start.elapsed().as_secs_f64());
            assert!(report.passed(), "{name}: other results under checks");
            let (found, notes) = options.found.lock().unwrap().clone();
            // The search reads levels that other threads of the launch write, and takes either value.
            let meant = name.ends_with("bfs.cl");
            let found: Vec<_> =
                found.into_iter().filter(|f| !(meant && f.class == Class::ReadWrite)).collect();
            if !found.is_empty() || !notes.is_empty() {
                wrong += &format!("{name}:\n{}", render::text(&found, &notes));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
