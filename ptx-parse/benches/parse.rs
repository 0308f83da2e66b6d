//! Speed and memory of parser and verifier on real PTX: texts of 10 KB, 1 MB and 50 MB.
//!
//! `cargo bench -p ptx-parse [-- MB]` prints MB/s (10^6 bytes, median of
//! several runs), heap bytes per byte and allocations per KB. Larger texts
//! repeat the functions of the recorded modules under new names.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

mod texts;

use texts::{corpus, module};

/// Counts allocations and the peak of live bytes.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator with the caller's arguments unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn measure(name: &str, text: &str, runs: usize, work: impl Fn(&str)) {
    let mut times = Vec::new();
    let base = LIVE.load(Relaxed);
    PEAK.store(base, Relaxed);
    COUNT.store(0, Relaxed);
    work(text);
    let heap = (PEAK.load(Relaxed) - base) as f64 / text.len() as f64;
    let count = COUNT.load(Relaxed) as f64 / (text.len() as f64 / 1000.0);
    for _ in 0..runs {
        let start = Instant::now();
        work(text);
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let mbs = |t: f64| text.len() as f64 / t / 1e6;
    println!(
        "{name:22} {:9} bytes: {:6.1} MB/s (best {:6.1}), {heap:5.2} heap bytes per byte, {count:5.2} allocations per KB",
        text.len(),
        mbs(times[times.len() / 2]),
        mbs(times[0]),
    );
}

fn main() {
    let largest: usize = std::env::args().filter_map(|a| a.parse().ok()).next_back().unwrap_or(50);
    let texts = corpus();
    assert!(!texts.is_empty(), "no PTX found");
    let parse = |text: &str| {
        let (ast, diags) = ptx_parse::parse(text);
        assert!(diags.is_empty(), "{}", ptx_parse::Reporter::new("bench", text).plain(&diags[0]));
        std::hint::black_box(ast.instr_count());
    };
    let verify = |text: &str| {
        let (module, diags) = ptx_parse::parse_and_verify(text, "bench");
        let first = || diags.first().map(|d| ptx_parse::Reporter::new("bench", text).plain(d));
        assert!(module.is_some(), "{}", first().unwrap_or_default());
    };
    for (size, runs) in [(10_000, 201), (1_000_000, 31), (largest * 1_000_000, 5)] {
        let text = module(&texts, size);
        measure("parse", &text, runs, parse);
        measure("parse + verify", &text, runs, verify);
    }
    let debug: String = texts
        .iter()
        .filter(|t| t.contains(".section"))
        .max_by_key(|t| t.len())
        .cloned()
        .unwrap_or_default();
    if !debug.is_empty() {
        measure("parse, debug sections", &debug, 51, parse);
        measure("same + verify", &debug, 51, verify);
    }
}
