//! Loading an assembled container beside parsing and verifying the same text, and both with the first kernel made
//! ready.
//!
//! `cargo bench -p ptx-interp --bench container`

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_interp::Kernel;
use ptx_parse::container::{About, Container, write};
use ptx_parse::lower::lower;
use ptx_parse::module::Module;
use ptx_parse::parse_and_verify;

#[path = "../../ptx-parse/benches/texts/mod.rs"]
mod texts;

/// The median time of `runs` runs.
fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    work();
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn verified(text: &str) -> Module {
    let (module, diags) = parse_and_verify(text, "bench");
    module.unwrap_or_else(|| panic!("{:?}", diags.first()))
}

fn mapped(path: &Path) -> Module {
    Container::open(path).and_then(|c| c.module()).unwrap_or_else(|e| panic!("{e}"))
}

/// Lowers and decodes the first kernel.
fn first(module: &Module) -> Kernel {
    let entry = module.functions.iter().position(|f| f.entry && f.body.is_some());
    let program = lower(module, entry.expect("a kernel") as u32);
    Kernel::decode(Arc::new(program.unwrap_or_else(|e| panic!("{e}"))))
}

/// Reads every body.
fn all(module: &Module) -> usize {
    module.functions.iter().filter_map(|f| f.body.as_ref()).map(|b| b.insts.len()).sum()
}

fn main() {
    let corpus = texts::corpus();
    assert!(!corpus.is_empty(), "no PTX found");
    let path = std::env::temp_dir().join(format!("ptxrun-bench-{}.ptxb", std::process::id()));
    for size in [50_000, 1_000_000] {
        let text = texts::module(&corpus, size);
        let bytes = write(&verified(&text), About::default(), &[]);
        std::fs::write(&path, &bytes).expect("a temporary file");
        println!("{} bytes of PTX, container {} bytes", text.len(), bytes.len());
        let row = |what: &str, text: Duration, container: Duration| {
            let ratio = text.as_secs_f64() / container.as_secs_f64();
            println!("  {what:32} text {text:9.1?}   container {container:9.1?}   {ratio:6.1} x");
        };
        let runs = 101;
        row(
            "load",
            median(runs, || drop(black_box(verified(&text)))),
            median(runs, || drop(black_box(mapped(&path)))),
        );
        row(
            "load, first kernel ready",
            median(runs, || drop(black_box(first(&verified(&text))))),
            median(runs, || drop(black_box(first(&mapped(&path))))),
        );
        row(
            "load, every body read",
            median(runs, || assert!(black_box(all(&verified(&text))) > 0)),
            median(runs, || assert!(black_box(all(&mapped(&path))) > 0)),
        );
    }
    std::fs::remove_file(&path).expect("the file is there");
}
