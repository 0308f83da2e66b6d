//! Launches that were recorded on devices, and how near the model comes to them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptx_interp::{Access, LaunchParams, Memory};
use ptx_parse::module::Module;
use ptx_timing::code::KernelCode;
use ptx_timing::replay::{Replay, replay};
use ptx_timing::sim::Outcome;
use ptx_timing::{Config, Profile};
use serde_json::Value;

use crate::common;

/// Devices that kernels were recorded on: the name in the recordings, and the profile's.
pub const H200: (&str, &str) = ("h200", "H200");
pub const H100: (&str, &str) = ("h100", "NVIDIA H100 80GB HBM3");

/// The generator of the recorded inputs.
fn hash(i: u32) -> u32 {
    let mut h = i.wrapping_mul(2_654_435_761);
    h ^= h >> 15;
    h = h.wrapping_mul(2_246_822_519);
    h ^ h >> 13
}

/// (n - 1024) / 1024 as a 16-bit float, which holds it exactly.
fn half(n: u32) -> u16 {
    let (sign, magnitude) = if n < 1024 { (0x8000, 1024 - n) } else { (0, n - 1024) };
    if magnitude == 0 {
        return 0;
    }
    let top = magnitude.ilog2();
    let fraction = (magnitude << (10 - top)) & 0x3ff;
    sign | ((top + 5) << 10 | fraction) as u16
}

fn buffer(kind: &str, n: u32) -> Vec<u8> {
    let (word, argument) = kind.split_once(':').unwrap_or((kind, ""));
    let argument = || argument.parse::<u32>().unwrap();
    let number = |i: u32| (hash(i) >> 8) as f32;
    let words: Vec<u32> = match word {
        "zero" => vec![0; n as usize],
        "u32" => (0..n).map(hash).collect(),
        "f32_01" => (0..n).map(|i| (number(i) * 2.0_f32.powi(-24)).to_bits()).collect(),
        "f32_pm1" => (0..n).map(|i| (number(i) * 2.0_f32.powi(-23) - 1.0).to_bits()).collect(),
        "f64_01" => {
            let bits = |i| (f64::from(hash(i) >> 8) * 2.0_f64.powi(-24)).to_bits();
            return (0..n).flat_map(|i| bits(i).to_le_bytes()).collect();
        }
        "f16_pm1" => return (0..n).flat_map(|i| half(hash(i) % 2049).to_le_bytes()).collect(),
        "mod" => (0..n).map(|i| hash(i) % argument()).collect(),
        "ramp" => (0..n).map(|i| i.wrapping_mul(argument())).collect(),
        "rowptr" => (0..n)
            .scan(0, |sum, i| {
                let start = *sum;
                *sum += 4 + hash(i) % 24;
                Some(start)
            })
            .collect(),
        other => panic!("unknown buffer kind {other}"),
    };
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Which registers a launch is timed with.
#[derive(Clone, Copy, PartialEq)]
pub enum Registers {
    Recorded,
    Estimated,
}

/// Which launches of a set are held back from tuning.
#[derive(Clone, Copy)]
enum Held {
    None,
    /// Every second one by name, or every third.
    Every(usize),
}

/// Launches that were recorded, with the text of their kernels.
pub struct Recorded {
    pub module: Module,
    pub text: String,
    pub cases: Vec<Value>,
    /// Whether outputs are known bit for bit. Atomics on floats add in no fixed order.
    exact: bool,
    /// What they were recorded on.
    device: (&'static str, &'static str),
    held: Held,
}

impl Recorded {
    fn open(folder: PathBuf, name: &str, exact: bool) -> Self {
        let (module, text, cases) = common::recordings(&folder, name);
        Self { module, text, cases, exact, device: H200, held: Held::None }
    }

    /// The first recordings, beside the repository.
    pub fn first() -> Self {
        Self::open(common::facts().join("h200"), "kernels", true)
    }

    /// Those in the repository: kernels of many kinds.
    pub fn second() -> Self {
        Self::open(common::timing_folder(), "kernels", false)
    }

    /// Those of another device that have been open for tuning longest.
    pub fn fresh() -> Self {
        Self::open(common::timing_folder(), "fresh", false).on(H100)
    }

    pub fn third() -> Self {
        Self::open(common::timing_folder(), "third", false).on(H100)
    }

    pub fn fourth() -> Self {
        Self::open(common::timing_folder(), "fourth", false).on(H100)
    }

    /// Timed once as a whole; every second one by name was looked at since, the others are held back.
    pub fn fifth() -> Self {
        Self { held: Held::Every(2), ..Self::open(common::timing_folder(), "fifth", false) }
    }

    /// Atomics by where lanes and warps point.
    pub fn atomics() -> Self {
        Self::open(common::timing_folder(), "atomics", false)
    }

    /// Reads of what other SMs read, too.
    pub fn reads() -> Self {
        Self::open(common::timing_folder(), "reads", false)
    }

    /// Stores by where lanes and warps point.
    pub fn writes() -> Self {
        Self::open(common::timing_folder(), "writes", false)
    }

    /// Streams that are read and stored, by number, width and size.
    pub fn mixed() -> Self {
        Self::open(common::timing_folder(), "mixed", false)
    }

    /// Written by somebody who never saw the model; held back as a whole until `seventh` was there.
    pub fn sixth() -> Self {
        Self::open(common::timing_folder(), "sixth", false)
    }

    /// By another author, who never saw the model either; held back as a whole until `tenth` was there.
    pub fn seventh() -> Self {
        Self::open(common::timing_folder(), "seventh", false)
    }

    /// By a third author; every third one by name is held back.
    pub fn eighth() -> Self {
        Self { held: Held::Every(3), ..Self::open(common::timing_folder(), "eighth", false) }
    }

    /// By a fourth author, who never saw the model. Timed once as a whole; every third one by name is held back.
    pub fn ninth() -> Self {
        Self { held: Held::Every(3), ..Self::open(common::timing_folder(), "ninth", false) }
    }

    /// By a fifth author, who never saw the model. Timed once as a whole; every third one by name is held back.
    pub fn tenth() -> Self {
        Self { held: Held::Every(3), ..Self::open(common::timing_folder(), "tenth", false) }
    }

    /// Whether a launch is held back from tuning.
    pub fn is_held_back(&self, id: &str) -> bool {
        match self.held {
            Held::None => false,
            Held::Every(n) => self.place(id) % n == n - 1,
        }
    }

    /// How many launches come before one by name.
    fn place(&self, id: &str) -> usize {
        self.cases.iter().filter(|c| c["id"].as_str().is_some_and(|other| other < id)).count()
    }

    /// The same launches on another device.
    pub fn on(self, device: (&'static str, &'static str)) -> Self {
        Self { device, ..self }
    }

    /// What a device returned for a launch.
    pub fn returned<'a>(&self, case: &'a Value) -> &'a Value {
        &case[self.device.0]
    }
}

/// Places of buffers as cuMemAlloc gives them: small ones one after the other in steps of 512 bytes, large ones at
/// multiples of 2 MiB. Which units for atomics share the work of small tables depends on it (`group_stats`).
#[derive(Default)]
struct Slabs {
    next: u64,
    left: u64,
}

impl Slabs {
    const SLAB: u64 = 2 << 20;

    fn alloc(&mut self, memory: &Memory, bytes: u64, name: &str) -> u64 {
        let bytes = bytes.next_multiple_of(512);
        let new = |size| memory.alloc(size, Self::SLAB, name, Access::ReadWrite).unwrap();
        if bytes >= Self::SLAB / 2 {
            return new(bytes);
        }
        if bytes > self.left {
            (self.next, self.left) = (new(Self::SLAB), Self::SLAB);
        }
        let at = self.next;
        (self.next, self.left) = (at + bytes, self.left - bytes);
        at
    }
}

/// Runs one recorded launch; checks the first and last words of its outputs. Also the seconds of processor time
/// that the interpreter and the simulator took.
fn run(recorded: &Recorded, case: &Value, registers: Registers, config: Config) -> (Replay, f64) {
    let id = case["id"].as_str().unwrap();
    let module = &recorded.module;
    let kernel = common::kernel(module, case["entry"].as_str().unwrap());
    let memory = Memory::new(1 << 30).unwrap();
    let dim = |k: &str| {
        let list: Vec<u32> =
            case[k].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect();
        std::array::from_fn(|i| list.get(i).copied().unwrap_or(1))
    };
    let mut params = LaunchParams { grid: dim("grid"), block: dim("block"), ..Default::default() };
    params.shared_bytes = case["dynamic_smem"].as_u64().unwrap_or(0) as u32;
    let mut outputs = Vec::new();
    let mut slabs = Slabs::default();
    for arg in case["args"].as_array().unwrap() {
        let bytes: Vec<u8> = if let Some(kind) = arg.get("buf") {
            let data = buffer(kind.as_str().unwrap(), arg["n"].as_u64().unwrap() as u32);
            let at = slabs.alloc(&memory, data.len() as u64, id);
            memory.write(at, &data).unwrap();
            if arg.get("out").is_some() {
                outputs.push((at, data.len() as u64));
            }
            at.to_le_bytes().to_vec()
        } else if let Some(v) = arg.get("u32") {
            (v.as_u64().unwrap() as u32).to_le_bytes().to_vec()
        } else {
            (arg["f32"].as_f64().unwrap() as f32).to_le_bytes().to_vec()
        };
        let p = &mut params.params;
        p.resize(p.len().next_multiple_of(bytes.len()), 0);
        p.extend(bytes);
    }
    // Variables of the module lie one after the other.
    let variables = memory.alloc(1 << 20, 256, "variables", Access::ReadWrite).unwrap();
    let count = module.symbols.len() as u64;
    params.symbols = (0..count).map(|i| variables + i * 65536).collect();
    let launch = &recorded.returned(case)["launch"];
    let given = launch["registers_per_thread"].as_u64().unwrap() as u32;
    let given = (registers == Registers::Recorded).then_some(given);
    let profile = tuned(common::profile(recorded.device.1));
    let (count, _) =
        ptx_timing::registers::of_launch(&profile, kernel.program(), params.block, given);
    let begin = cpu_seconds();
    let result = replay(&profile, &kernel, &memory, &params, count, config)
        .unwrap_or_else(|e| panic!("{id}: {e}"));
    let seconds = cpu_seconds() - begin;
    if !recorded.exact {
        return (result, seconds);
    }
    for ((at, bytes), recorded) in outputs.iter().zip(case["outputs"].as_array().unwrap()) {
        let words = |from: u64, n: usize| -> Vec<u32> {
            let mut raw = vec![0; n * 4];
            memory.read(from, &mut raw).unwrap();
            raw.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
        };
        let list = |k: &str| -> Vec<u32> {
            recorded[k].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect()
        };
        let (first, last) = (list("first8_u32"), list("last4_u32"));
        assert_eq!(words(*at, first.len()), first, "{id}: first words");
        assert_eq!(words(at + bytes - 4 * last.len() as u64, last.len()), last, "{id}: last words");
    }
    (result, seconds)
}

fn tuned(mut p: Profile) -> Profile {
    for set in std::env::var("TUNE").unwrap_or_default().split(',').filter(|s| !s.is_empty()) {
        let (key, value) = set.split_once('=').unwrap();
        let n: f64 = value.parse().unwrap();
        match key {
            "policy" => {
                p.issue.policy = match value {
                    "0" => ptx_timing::profile::Policy::LooseRoundRobin,
                    "1" => ptx_timing::profile::Policy::GreedyThenRoundRobin,
                    _ => ptx_timing::profile::Policy::GreedyThenOldestBlock,
                }
            }
            "stores" => p.global.merged_store_lines = n as u32,
            "unroll" => p.assembler.unrolled_instructions = n as u32,
            "pending" => p.atomics.sm_pending_sectors = n as u32,
            "whole" => p.l2.as_mut().unwrap().write_cost = n,
            "turn" => p.dram.turn_bursts = n,
            "pipequeue" => p.issue.pipe_queue_cycles = n as u32,
            "queue" => p.issue.memory_queue_cycles = n as u32,
            "partial" => p.l2.as_mut().unwrap().partial_write_cost = n,
            "atomic" => p.atomics.global_same_address_cycles = n,
            "cold" => p.launch.cold_cycles = n as u32,
            "dramqueue" => p.dram.queue_cycles = n as u32,
            "div" => p.issue.divergence_cycles = n as u32,
            "groups" => p.l2.as_mut().unwrap().groups = n as u32,
            "grouprate" => p.l2.as_mut().unwrap().group_bytes_per_clock = n,
            "minimum" => p.l2.as_mut().unwrap().request_min_bytes = n as u32,
            "l2rate" => p.l2.as_mut().unwrap().bytes_per_clock = n,
            other => panic!("{other}"),
        }
    }
    p
}

pub struct Row {
    pub id: String,
    /// Clocks of the whole launch: recorded and simulated.
    pub elapsed: (f64, f64),
    /// Clocks that an SM is active, on average.
    pub active: (f64, f64),
    /// Achieved occupancy.
    pub occupancy: (f64, f64),
    /// Thread instructions simulated, and the processor time that took in seconds, told in steps of 10 ms.
    pub simulated: (f64, f64),
}

pub fn ratio(pair: (f64, f64)) -> f64 {
    pair.1 / pair.0
}

/// Processor time of this process so far, in seconds, where the system tells.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

pub fn table(
    recorded: &Recorded,
    registers: Registers,
    ids: &dyn Fn(&str) -> bool,
    shown: &dyn Fn(&str) -> bool,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in &recorded.cases {
        let id = case["id"].as_str().unwrap();
        if !ids(id) {
            continue;
        }
        let config = Config { max_instructions: Some(4_000_000), ..Default::default() };
        let (Replay { outcome, stats, code, .. }, seconds) = run(recorded, case, registers, config);
        let cold = &recorded.returned(case)["ncu_cold"];
        let counter = |k: &str| cold[k].as_f64().unwrap_or(0.0);
        let row = Row {
            id: id.to_owned(),
            elapsed: (counter("gpc__cycles_elapsed.max"), outcome.elapsed_cycles as f64),
            active: (counter("sm__cycles_active.avg"), outcome.sm_active_cycles),
            occupancy: (
                counter("sm__warps_active.avg.pct_of_peak_sustained_active") / 100.0,
                outcome.achieved_occupancy,
            ),
            simulated: (stats.thread_instructions as f64, seconds),
        };
        rows.push(row);
        let Some(row) = rows.last().filter(|_| shown(id)) else { continue };
        println!(
            "{id:22} {:8.0} / {:8.0} = {:.2}  active {:8.0} / {:8.0} = {:.2}  insts {:.2}  occ {:.2}/{:.2}  dram r {:.2} w {:.2} l2 {:.2}  {:.1e}/s {seconds:.2}s; {}",
            row.elapsed.1,
            row.elapsed.0,
            ratio(row.elapsed),
            row.active.1,
            row.active.0,
            ratio(row.active),
            outcome.total.issue_slots as f64 / counter("smsp__inst_executed.sum"),
            row.occupancy.1,
            row.occupancy.0,
            outcome.dram_read as f64 / counter("dram__bytes_read.sum"),
            outcome.dram_written as f64 / counter("dram__bytes_write.sum").max(1.0),
            (outcome.caches.l2.read_hits
                + outcome.caches.l2.read_misses
                + outcome.caches.l2.write_hits
                + outcome.caches.l2.write_misses) as f64
                / counter("lts__t_sectors_srcunit_tex.sum"),
            row.simulated.0 / seconds,
            outcome.bound,
        );
        if std::env::var_os("PIPES").is_some() {
            print_pipes(&common::profile(recorded.device.1), &code, &outcome, &counter);
        }
    }
    rows
}

/// Warp instructions by pipe as a share of all that the device executed, simulated and recorded; then the simulated
/// ones by class. An instruction that has a choice counts half for each of its pipes.
fn print_pipes(
    profile: &Profile,
    code: &KernelCode,
    outcome: &Outcome,
    counter: &dyn Fn(&str) -> f64,
) {
    let all = counter("smsp__inst_executed.sum").max(1.0);
    let (mut pipes, mut classes) = (BTreeMap::new(), BTreeMap::new());
    for (counts, i) in outcome.per_pc.iter().zip(&code.code.instructions) {
        let share = counts.issue_slots as f64 / all;
        *classes.entry(i.class.name()).or_insert(0.0) += share;
        let of = profile.timing_of(i.class).map_or(&[][..], |t| &t.pipes);
        for pipe in of {
            *pipes.entry(pipe.as_str()).or_insert(0.0) += share / of.len() as f64;
        }
    }
    let recorded = ["alu", "fma", "fp64", "xu", "lsu", "tensor", "uniform"].map(|pipe| {
        let n = counter(&format!("sm__inst_executed_pipe_{pipe}.sum"));
        format!("{pipe} {:.3}", n / all)
    });
    let branches = counter("smsp__inst_executed_op_branch.sum") / all;
    println!("  device: {} branch {branches:.3}", recorded.join(" "));
    for (title, shares) in [("model", pipes), ("by class", classes)] {
        let mut list: Vec<(&str, f64)> = shares.into_iter().filter(|s| s.1 >= 0.0005).collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        let list: Vec<String> = list.iter().map(|(name, n)| format!("{name} {n:.3}")).collect();
        println!("  {title}: {}", list.join(" "));
    }
    // A wavefront keeps the memory pipe for a clock.
    let busy = outcome.pipe_use.iter().find(|(name, _)| name == "memory").map_or(0.0, |p| p.1);
    let busy = busy * outcome.cycles as f64 * f64::from(profile.device.multiprocessors);
    let waves = counter("l1tex__data_pipe_lsu_wavefronts.sum");
    println!("  clocks of the memory pipes {busy:.0}, wavefronts of the device {waves:.0}");
}

/// A launch that was simulated in part and as a whole.
#[derive(Debug)]
pub struct Part {
    pub id: String,
    /// How far its clocks are from those of the whole, as a share of these, and what it says that this is at most.
    pub off: f64,
    pub stated: f64,
}

/// Launches of a set of which `config` simulates only a part.
pub fn parts(recorded: &Recorded, config: Config, ids: &dyn Fn(&str) -> bool) -> Vec<Part> {
    let clocks =
        |case: &Value, config: Config| run(recorded, case, Registers::Estimated, config).0.outcome;
    let of = |case: &Value| {
        let id = case["id"].as_str().unwrap();
        if !ids(id) {
            return None;
        }
        let part = clocks(case, config);
        let sampling = part.sampling?;
        let whole = clocks(case, Config::default()).cycles as f64;
        let off = part.cycles as f64 / whole - 1.0;
        let stated = sampling.relative_error;
        println!(
            "{id:24} {:6} of {:6} blocks, {:5.2} waves: {:6.2} % off {whole:9.0} clocks, stated {:6.2} %",
            sampling.simulated,
            sampling.blocks,
            part.waves,
            off * 100.0,
            stated * 100.0
        );
        Some(Part { id: id.to_owned(), off, stated })
    };
    recorded.cases.iter().filter_map(of).collect()
}

/// Mean absolute error, worst factor and correlation of logarithms.
fn quality(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = pairs.len().max(1) as f64;
    let error = pairs.iter().map(|p| (ratio(*p) - 1.0).abs()).sum::<f64>() / n;
    let worst = pairs.iter().map(|p| ratio(*p).max(1.0 / ratio(*p))).fold(1.0, f64::max);
    let log: Vec<(f64, f64)> = pairs.iter().map(|p| (p.0.ln(), p.1.ln())).collect();
    let mean = log.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / n, m.1 + p.1 / n));
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| log.iter().map(f).sum::<f64>();
    let correlation = sum(&|p| (p.0 - mean.0) * (p.1 - mean.1))
        / (sum(&|p| (p.0 - mean.0).powi(2)) * sum(&|p| (p.1 - mean.1).powi(2))).sqrt();
    (error, worst, correlation)
}

/// Prints what some launches are off by; see [`quality`].
pub fn summary<'a>(title: &str, rows: impl Iterator<Item = &'a Row>) -> (f64, f64, f64) {
    let (pairs, simulated): (Vec<_>, Vec<_>) = rows.map(|r| (r.elapsed, r.simulated)).unzip();
    let (error, worst, correlation) = quality(&pairs);
    // Of launches that take long enough to tell.
    let speeds: Vec<f64> = simulated.iter().filter(|s| s.1 >= 0.1).map(|s| s.0 / s.1).collect();
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = speeds.iter().map(|s| s.ln()).sum::<f64>() / speeds.len().max(1) as f64;
    let mut errors: Vec<f64> = pairs.iter().map(|p| (ratio(*p) - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    println!(
        "= {title}: {} kernels, mean absolute error {:.1} %, median {:.1} %, {} within 10 %, worst {worst:.2} times \
         off, correlation of logarithms {correlation:.4}; slowest {slowest:.1e} thread instructions a second, in the \
         geometric mean {:.1e}",
        pairs.len(),
        error * 100.0,
        errors.get(errors.len() / 2).unwrap_or(&0.0) * 100.0,
        errors.iter().filter(|e| **e <= 0.1).count(),
        mean.exp()
    );
    (error, worst, correlation)
}
