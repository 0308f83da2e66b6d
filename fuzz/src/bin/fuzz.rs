//! libFuzzer over one of the targets: `FUZZ_TARGET` names it. `FUZZ_STEPS` names a file that gets the number of calls
//! which the targets `cuda` and `opencl_calls` have made.
#![no_main]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Inputs after which the number of calls is written.
const OFTEN: u64 = 64;

struct Wanted {
    target: String,
    steps: Option<String>,
}

static WANTED: OnceLock<Wanted> = OnceLock::new();
static INPUTS: AtomicU64 = AtomicU64::new(0);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let wanted = WANTED.get_or_init(|| Wanted {
        target: std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target"),
        steps: std::env::var("FUZZ_STEPS").ok(),
    });
    fuzz::any(&wanted.target, data);
    if let Some(file) = &wanted.steps
        && INPUTS.fetch_add(1, Ordering::Relaxed) % OFTEN == 0
    {
        let _ = std::fs::write(file, fuzz::steps().to_string());
    }
});
