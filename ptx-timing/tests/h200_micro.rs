//! Every recorded micro-operation of an H200, replayed through the whole simulator.
//!
//! A micro-benchmark is a loop around some groups of PTX instructions. Each was recorded with two
//! unroll factors, in two versions: a dependent chain in one warp, and independent chains in all
//! warps of an SM. The difference of the two unroll factors is what a group costs; loop, launch and
//! clock reads cancel. The simulator gets the same four kernels and the same subtraction, so that a
//! wrong rule is seen where it stands.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_parse::module::Module;
use ptx_timing::replay::replay;
use ptx_timing::{Config, Profile};

/// What an operation may be off by, as a share, where [`LISTED`] says nothing.
const BOUND: f64 = 0.10;

/// Operations that are further off: name, what was measured, bound, and why.
const LISTED: &[(&str, Measure, f64, &str)] = &[
    (
        "ffma_then_lop3",
        Measure::Throughput,
        0.16,
        "the chain's switches between pipes overlap on the device",
    ),
    ("fma_rn_f16", Measure::Throughput, 0.52, "the assembler packs two chains into one"),
    ("add_f16", Measure::Throughput, 0.73, "the assembler packs two chains into one"),
    ("bar_warp_sync", Measure::Latency, 1.30, "the assembler removes some of them"),
    (
        "red_shared_add_same",
        Measure::Latency,
        0.26,
        "the loop's comparison goes ahead here, on the device its predicate is in use",
    ),
    (
        "red_global_add_same",
        Measure::Latency,
        0.13,
        "the loop's comparison goes ahead here, on the device its predicate is in use",
    ),
    (
        "red_global_add_diff",
        Measure::Latency,
        0.13,
        "the loop's comparison goes ahead of slow reductions here",
    ),
    ("stg_thr_w32", Measure::Throughput, 0.17, "stores of one SM that hit the same lines merge"),
    (
        "ldg_l2_thr_w32",
        Measure::Throughput,
        0.13,
        "loads of eight warps and more wait for one another",
    ),
    (
        "ldg_l2_thr_w64",
        Measure::Throughput,
        0.15,
        "loads of eight warps and more wait for one another",
    ),
    (
        "diverge_lt1",
        Measure::Throughput,
        0.21,
        "multiply-adds of warps that parted share operands on the device",
    ),
    (
        "diverge_lt16",
        Measure::Throughput,
        0.20,
        "multiply-adds of warps that parted share operands on the device",
    ),
    (
        "diverge_lt31",
        Measure::Throughput,
        0.20,
        "multiply-adds of warps that parted share operands on the device",
    ),
    ("diverge_lt32", Measure::Latency, 0.22, "the assembler puts this side first and jumps"),
    ("diverge_lt32", Measure::Throughput, 0.12, "the comparison is made once on the device"),
    (
        "ldc_distinct1",
        Measure::Latency,
        0.18,
        "the sum of the constant's address is an instruction here",
    ),
    ("sqrt_rn_f32", Measure::Throughput, 0.13, "roots of one warp follow one another here"),
    ("s2r_laneid_clock", Measure::Latency, 0.12, "every second read goes to the warp's registers"),
];

/// Benchmarks whose loads all name the same register.
const REUSED: &[&str] = &["lds_thr_w32", "ldg_l2_thr_w32"];

/// Turns of the measured loop.
const TURNS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Clocks per group in a dependent chain.
    Latency,
    /// Groups per clock and SM, in lanes.
    Throughput,
}

/// A launch of a benchmark: the entry's name without its unroll factor, and warps.
struct Case {
    file: String,
    name: String,
    measure: Measure,
    warps: u32,
    recorded: f64,
}

struct Benchmarks {
    profile: Profile,
    modules: BTreeMap<String, Module>,
    texts: BTreeMap<String, String>,
}

impl Benchmarks {
    fn open() -> Self {
        let archive = common::facts().join("h200/micro_ptx.tar.xz");
        let texts = golden::texts_of(&archive).unwrap();
        let verify = |(file, text): (&String, &String)| {
            let (module, diags) = ptx_parse::parse_and_verify(text, file);
            assert!(diags.iter().all(|d| !d.is_error()), "{file}: {diags:?}");
            (file.clone(), module.unwrap())
        };
        let modules = texts.iter().map(verify).collect();
        Self { profile: common::profile("H200"), modules, texts }
    }

    /// The file that defines a benchmark.
    fn file_of(&self, name: &str, kind: char) -> Option<&str> {
        let entry = format!(" {name}_{kind}0(");
        self.texts.iter().find(|(_, text)| text.contains(&entry)).map(|(file, _)| &**file)
    }

    /// Groups in the loop of an entry: its lines, but for those that belong to one group.
    fn groups(&self, file: &str, entry: &str) -> f64 {
        let text = &self.texts[file];
        let start = text.find(&format!(" {entry}(")).unwrap();
        let body = &text[start..];
        let body = &body[body.find("nounroll").unwrap()..];
        let body = &body[..body.find("add.u32 %i,%i,1").unwrap()];
        let lines = body.lines().skip(1).filter(|line| !line.trim().is_empty()).count();
        // An if with both sides takes four lines.
        lines as f64 / if entry.starts_with("diverge") { 4.0 } else { 1.0 }
    }

    /// Clocks of one launch with one block.
    fn clocks(&self, file: &str, entry: &str, warps: u32) -> f64 {
        let module = &self.modules[file];
        let index = ptx_parse::lower::entry_index(module, entry).unwrap();
        let program = ptx_parse::lower::lower(module, index).unwrap();
        let kernel = Kernel::decode(Arc::new(program));
        let memory = Memory::new(1 << 24).unwrap();
        let buffer = |name| memory.alloc(1 << 20, 256, name, Access::ReadWrite).unwrap();
        let (out, data, constants) = (buffer("out"), buffer("data"), buffer("constants"));
        // A chain of pointers that ends in itself.
        memory.write(data, &data.to_le_bytes()).unwrap();
        // Lanes of a divergent branch that take it; elsewhere what keeps addresses where they are.
        let lanes = entry.strip_prefix("diverge_lt").and_then(|n| n.split('_').next());
        // Dividends of more than 32 bits, as the device's clocks say that they were.
        let long =
            ["div_u64", "rem_u64", "div_s64", "rem_s64"].iter().any(|d| entry.starts_with(d));
        let first = lanes.map_or(if long { 0xf000_0000 } else { 0 }, |n| n.parse().unwrap());
        let mut params = LaunchParams { block: [warps * 32, 1, 1], ..Default::default() };
        params.params.extend(out.to_le_bytes());
        params.params.extend(TURNS.to_le_bytes());
        params.params.extend([0; 4]);
        params.params.extend(data.to_le_bytes());
        params.params.extend(u32::to_le_bytes(first));
        params.params.extend(u32::to_le_bytes(3));
        params.symbols = vec![constants; module.symbols.len()];
        let result = replay(&self.profile, &kernel, &memory, &params, 32, Config::default());
        result.unwrap_or_else(|e| panic!("{entry}: {e}")).outcome.simulated_cycles as f64
    }

    /// Clocks per group and warp instruction of one SM.
    fn slope(&self, case: &Case) -> f64 {
        let kind = if case.measure == Measure::Latency { 'L' } else { 'T' };
        let [few, many] = [0, 1].map(|i| {
            let entry = format!("{}_{kind}{i}", case.name);
            (self.clocks(&case.file, &entry, case.warps), self.groups(&case.file, &entry))
        });
        (many.0 - few.0) / (f64::from(TURNS) * (many.1 - few.1))
    }

    fn modelled(&self, case: &Case) -> f64 {
        let slope = self.slope(case);
        match case.measure {
            Measure::Latency => slope,
            Measure::Throughput => f64::from(case.warps) * 32.0 / slope,
        }
    }
}

/// Every recorded latency and throughput.
fn cases(benchmarks: &Benchmarks) -> Vec<Case> {
    let file = common::json_file("h200/micro.json");
    let mut cases = Vec::new();
    for op in file["ops"].as_array().unwrap() {
        let name = op["name"].as_str().unwrap();
        for (key, measure, kind) in [
            ("latency_cycles_per_group", Measure::Latency, 'L'),
            ("groups_per_clk_per_sm", Measure::Throughput, 'T'),
        ] {
            let Some(recorded) = op[key].as_f64() else { continue };
            let Some(file) = benchmarks.file_of(name, kind) else {
                panic!("{name}: recorded, but no benchmark {kind}");
            };
            // Barriers were recorded by block size.
            let threads = name.strip_prefix("bar_sync_b").map(|n| n.parse::<u32>().unwrap());
            let all = op["warps"].as_u64().unwrap_or(32) as u32;
            let warps = match measure {
                Measure::Latency => threads.unwrap_or(32) / 32,
                Measure::Throughput => all,
            };
            cases.push(Case { file: file.into(), name: name.into(), measure, warps, recorded });
        }
    }
    cases
}

/// What the simulator says of each case, in their order.
fn simulate_all(benchmarks: &Benchmarks, cases: &[Case]) -> Vec<f64> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return done };
            done.push((at, benchmarks.modelled(case)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut all: Vec<(usize, f64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    all.sort_unstable_by_key(|a| a.0);
    all.into_iter().map(|a| a.1).collect()
}

fn every_micro_operation() {
    let benchmarks = Benchmarks::open();
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut cases = cases(&benchmarks);
    cases.retain(|c| only.split(',').any(|o| c.name.contains(o)));
    let modelled = simulate_all(&benchmarks, &cases);
    let mut near = 0;
    let mut wrong = Vec::new();
    for (case, model) in cases.iter().zip(modelled) {
        let error = model / case.recorded - 1.0;
        near += usize::from(error.abs() <= BOUND);
        let listed =
            LISTED.iter().find(|l| l.0 == case.name && l.1 == case.measure).map(|l| (l.2, l.3));
        let (bound, why) = listed.unwrap_or((BOUND, ""));
        let line = format!(
            "{:28} {:10} {:8.2} {model:8.2} {:+7.1} % {why}",
            case.name,
            format!("{:?}", case.measure),
            case.recorded,
            error * 100.0
        );
        println!("{line}");
        if error.abs() > bound {
            wrong.push(line);
        }
    }
    println!("{near} of {} within {:.0} %", cases.len(), BOUND * 100.0);
    let least = if only.is_empty() { cases.len() * 95 / 100 } else { 0 };
    assert!(near >= least, "{near} of {}", cases.len());
    assert!(wrong.is_empty(), "beyond their bounds:\n{}", wrong.join("\n"));
}

/// Cost of a group against the number of warps: where latency gives way to throughput.
fn curves() {
    let benchmarks = Benchmarks::open();
    let file = common::json_file("h200/micro.json");
    let mut cases = Vec::new();
    let mut labels = Vec::new();
    for (name, curve) in file["curves"].as_object().unwrap() {
        for (at, recorded) in curve.as_object().unwrap() {
            let (chains, warps) = at.split_once("_w").unwrap();
            let measure = if chains == "ilp1" { Measure::Latency } else { Measure::Throughput };
            let kind = if chains == "ilp1" { 'L' } else { 'T' };
            let Some(file) = benchmarks.file_of(name, kind) else { continue };
            let warps = warps.parse().unwrap();
            let recorded = recorded.as_f64().unwrap();
            cases.push(Case { file: file.into(), name: name.clone(), measure, warps, recorded });
            labels.push(at.clone());
        }
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    let keep: Vec<bool> =
        cases.iter().map(|c| only.split(',').any(|o| c.name.contains(o))).collect();
    let mut flags = keep.iter();
    cases.retain(|_| *flags.next().unwrap());
    let mut flags = keep.iter();
    labels.retain(|_| *flags.next().unwrap());
    let (mut errors, mut of_loads) = (Vec::new(), Vec::new());
    for ((case, label), model) in
        cases.iter().zip(&labels).zip(simulate_slopes(&benchmarks, &cases))
    {
        // Recorded is the clocks per group of all warps together.
        let model = model / f64::from(case.warps);
        println!("{:24} {label:9} {:8.3} {model:8.3}", case.name, case.recorded);
        let error = (model / case.recorded - 1.0).abs();
        // Their loads stay in the text's order, see `LISTED`.
        if REUSED.contains(&&*case.name) { of_loads.push(error) } else { errors.push(error) }
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let (others, loads) = (mean(&errors), mean(&of_loads));
    println!("{} points, mean error {:.1} %", errors.len(), others * 100.0);
    println!("{} points of loads by reused names, {:.1} %", of_loads.len(), loads * 100.0);
    assert!(others < 0.02, "mean error {:.1} %", others * 100.0);
    assert!(loads < 1.3, "mean error of loads {:.1} %", loads * 100.0);
}

fn simulate_slopes(benchmarks: &Benchmarks, cases: &[Case]) -> Vec<f64> {
    cases.iter().map(|case| benchmarks.slope(case)).collect()
}

golden::tests! {
    every_micro_operation: shared("facts/h200/micro_ptx.tar.xz"),
    curves: shared("facts/h200/micro_ptx.tar.xz"),
}
