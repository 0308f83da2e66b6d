//! Recorded kernels run in the interpreter and replayed on the H200 profile: results equal to the
//! device's, cycles near the recorded ones.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_parse::module::Module;
use ptx_timing::replay::{Replay, replay};
use ptx_timing::{Config, Profile};
use serde_json::Value;

fn h200() -> Profile {
    common::profile("H200")
}

/// Devices that kernels were recorded on: the name in the recordings, and the profile's.
const H200: (&str, &str) = ("h200", "H200");
const H100: (&str, &str) = ("h100", "NVIDIA H100 80GB HBM3");

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
enum Registers {
    Recorded,
    Estimated,
}

/// The recordings in the repository.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/data/timing")
}

/// Launches that were recorded, with the text of their kernels.
struct Recorded {
    module: Module,
    text: String,
    cases: Vec<Value>,
    /// Whether outputs are known bit for bit. Atomics on floats add in no fixed order.
    exact: bool,
    /// What they were recorded on.
    device: (&'static str, &'static str),
}

impl Recorded {
    fn open(folder: PathBuf, name: &str, exact: bool) -> Self {
        let file = format!("{name}.ptx");
        let text = std::fs::read_to_string(folder.join(&file)).unwrap();
        let (module, diags) = ptx_parse::parse_and_verify(&text, &file);
        assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
        let cases = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let cases: Value = serde_json::from_str(&cases).unwrap();
        let cases = cases.as_array().unwrap().clone();
        Self { module: module.unwrap(), text, cases, exact, device: H200 }
    }

    /// The first recordings, beside the repository.
    fn first() -> Self {
        Self::open(common::facts().join("h200"), "kernels", true)
    }

    /// Those in the repository: kernels of many kinds.
    fn second() -> Self {
        Self::open(folder(), "kernels", false)
    }

    /// Those of another device that have been open for tuning longest.
    fn fresh() -> Self {
        Self::open(folder(), "fresh", false).on(H100)
    }

    fn third() -> Self {
        Self::open(folder(), "third", false).on(H100)
    }

    fn fourth() -> Self {
        Self::open(folder(), "fourth", false).on(H100)
    }

    /// Timed once as a whole; every second one by name was looked at since, the others are held back.
    fn fifth() -> Self {
        Self::open(folder(), "fifth", false)
    }

    /// Atomics by where lanes and warps point.
    fn atomics() -> Self {
        Self::open(folder(), "atomics", false)
    }

    /// Reads of what other SMs read, too.
    fn reads() -> Self {
        Self::open(folder(), "reads", false)
    }

    /// Stores by where lanes and warps point.
    fn writes() -> Self {
        Self::open(folder(), "writes", false)
    }

    /// Streams that are read and stored, by number, width and size.
    fn mixed() -> Self {
        Self::open(folder(), "mixed", false)
    }

    /// Written by somebody who never saw the model; held back as a whole until `seventh` was there.
    fn sixth() -> Self {
        Self::open(folder(), "sixth", false)
    }

    /// By another author, who never saw the model either, and held back as a whole.
    fn seventh() -> Self {
        Self::open(folder(), "seventh", false)
    }

    /// Whether a launch comes second, fourth and so on by name.
    fn is_even(&self, id: &str) -> bool {
        self.cases.iter().filter(|c| c["id"].as_str().is_some_and(|other| other < id)).count() % 2
            == 1
    }

    /// The same launches on another device.
    fn on(self, device: (&'static str, &'static str)) -> Self {
        Self { device, ..self }
    }

    /// What a device returned for a launch.
    fn returned<'a>(&self, case: &'a Value) -> &'a Value {
        &case[self.device.0]
    }
}

/// Runs one recorded launch; checks the first and last words of its outputs. Also the seconds of processor time
/// that the interpreter and the simulator took.
fn run(recorded: &Recorded, case: &Value, registers: Registers, config: Config) -> (Replay, f64) {
    let id = case["id"].as_str().unwrap();
    let module = &recorded.module;
    let entry = ptx_parse::lower::entry_index(module, case["entry"].as_str().unwrap()).unwrap();
    let program = ptx_parse::lower::lower(module, entry).unwrap();
    let kernel = Kernel::decode(Arc::new(program));
    let memory = Memory::new(1 << 30).unwrap();
    let dim = |k: &str| {
        let list: Vec<u32> =
            case[k].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect();
        std::array::from_fn(|i| list.get(i).copied().unwrap_or(1))
    };
    let mut params = LaunchParams { grid: dim("grid"), block: dim("block"), ..Default::default() };
    params.shared_bytes = case["dynamic_smem"].as_u64().unwrap_or(0) as u32;
    let mut outputs = Vec::new();
    for arg in case["args"].as_array().unwrap() {
        let bytes: Vec<u8> = if let Some(kind) = arg.get("buf") {
            let data = buffer(kind.as_str().unwrap(), arg["n"].as_u64().unwrap() as u32);
            // As cuMemAlloc does.
            let at = memory.alloc(data.len() as u64, 512, id, Access::ReadWrite).unwrap();
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
            "l2rate" => p.l2.as_mut().unwrap().bytes_per_clock = n,
            other => panic!("{other}"),
        }
    }
    p
}

struct Row {
    id: String,
    /// Clocks of the whole launch: recorded and simulated.
    elapsed: (f64, f64),
    /// Clocks that an SM is active, on average.
    active: (f64, f64),
    /// Achieved occupancy.
    occupancy: (f64, f64),
}

fn ratio(pair: (f64, f64)) -> f64 {
    pair.1 / pair.0
}

/// Processor time of this process so far, in seconds, where the system tells.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn table(
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
        let (Replay { outcome, stats, .. }, seconds) = run(recorded, case, registers, config);
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
        };
        rows.push(row);
        let Some(row) = rows.last().filter(|_| shown(id)) else { continue };
        println!(
            "{id:22} {:8.0} / {:8.0} = {:.2}  active {:8.0} / {:8.0} = {:.2}  insts {:.2}  occ {:.2}/{:.2}  dram r {:.2} w {:.2} l2 {:.2}  {:.1e}/s; {}",
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
            (outcome.l2.read_hits
                + outcome.l2.read_misses
                + outcome.l2.write_hits
                + outcome.l2.write_misses) as f64
                / counter("lts__t_sectors_srcunit_tex.sum"),
            stats.thread_instructions as f64 / seconds,
            outcome.bound,
        );
    }
    rows
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
fn summary<'a>(title: &str, rows: impl Iterator<Item = &'a Row>) -> (f64, f64, f64) {
    let pairs: Vec<(f64, f64)> = rows.map(|r| r.elapsed).collect();
    let (error, worst, correlation) = quality(&pairs);
    let mut errors: Vec<f64> = pairs.iter().map(|p| (ratio(*p) - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    println!(
        "= {title}: {} kernels, mean absolute error {:.1} %, median {:.1} %, {} within 10 %, worst {worst:.2} times \
         off, correlation of logarithms {correlation:.4}",
        pairs.len(),
        error * 100.0,
        errors.get(errors.len() / 2).unwrap_or(&0.0) * 100.0,
        errors.iter().filter(|e| **e <= 0.1).count()
    );
    (error, worst, correlation)
}

fn small_recorded_kernels() {
    let small = ["vecadd_64k_b64", "stride_copy_1", "atomic_spread", "gather_small"];
    let first = Recorded::first();
    let rows = table(&first, Registers::Recorded, &|id| small.contains(&id), &|_| true);
    for row in &rows {
        assert!((0.5..2.0).contains(&ratio(row.elapsed)), "{}: {:?}", row.id, row.elapsed);
    }
}

/// Atomics by address and reads of what other SMs read: L2's units, halves and merged requests.
fn atomics_and_shared_reads() {
    let atomics = [
        "same_word_2_64",
        "same_word_2_128",
        "same_word_8_256",
        "line_u32_8",
        "random_u32_1024",
        "strided_1_8",
    ];
    let spread = ["random_cas_1048576", "random_u64_65536"];
    let reads =
        ["chase_2048_1_0", "chase_2048_132_0", "chase_65536_66_77", "read_all_64k_264x1024"];
    let named = |set: Recorded, names: &[&str], most: f64| {
        let rows = table(&set, Registers::Estimated, &|id| names.contains(&id), &|_| true);
        assert_eq!(rows.len(), names.len());
        for row in &rows {
            let r = ratio(row.elapsed);
            assert!(r.max(1.0 / r) < most, "{}: {:?}", row.id, row.elapsed);
        }
    };
    named(Recorded::atomics(), &atomics, 1.06);
    named(Recorded::atomics(), &spread, 1.20);
    named(Recorded::reads(), &reads, 1.08);
}

/// Stores by pattern: what L2 takes, and what of it keeps the SMs.
fn stores_of_grids() {
    let stores = [
        "strided_u32_4",
        "strided_u64_2",
        "strided_v4_1",
        "near_u32_1",
        "near_u32_8",
        "strided_u32_8_b1",
        "strided_v4_1_b1",
        "record_8_b1",
        "line_u32_262144",
        "copy_strided_3",
        "columns_1024",
    ];
    let rows = table(
        &Recorded::writes(),
        Registers::Estimated,
        &|id| stores.contains(&id) || id == "random_u32_262144",
        &|_| true,
    );
    assert_eq!(rows.len(), stores.len() + 1);
    for row in &rows {
        let (all, active) = (ratio(row.elapsed), ratio(row.active));
        assert!(all.max(1.0 / all) < 1.06, "{}: {:?}", row.id, row.elapsed);
        assert!(active.max(1.0 / active) < 1.16, "{}: {:?} active", row.id, row.active);
    }
}

/// Streams of cold data: blocks start at the pace of all SMs, what comes from device memory and stores share the way
/// into L2, and who waits for its turn at device memory waits for nothing else.
fn streams_of_grids() {
    let streams = [
        "w4_r1w0_8",
        "w4_r1w1_8",
        "w4_r2w1_8",
        "w4_turns_16",
        "w16_r1w0_8",
        "w16_r1w0_16",
        "w16_r1w1_8",
        "w16_r1w1_16",
        "w16_r2w0_8",
        "w16_r2w1_8",
        "w16_place_8",
        "w16_reads_16",
    ];
    let rows =
        table(&Recorded::mixed(), Registers::Estimated, &|id| streams.contains(&id), &|_| true);
    assert_eq!(rows.len(), streams.len());
    for row in &rows {
        let r = ratio(row.elapsed);
        assert!(r.max(1.0 / r) < 1.05, "{}: {:?}", row.id, row.elapsed);
    }
}

/// Stores to lines that L1 holds wait for others to the same lines: three are one request.
fn stores_to_what_was_read() {
    let rows = table(&Recorded::fresh(), Registers::Estimated, &|id| id == "aos_update", &|_| true);
    let [row] = &rows[..] else { panic!("{} rows", rows.len()) };
    let r = ratio(row.elapsed);
    assert!(r.max(1.0 / r) < 1.15, "{}: {:?}", row.id, row.elapsed);
}

/// Four blocks an SM that only compute: the oldest goes first, and products with both halves keep the scheduler.
fn blocks_in_turn() {
    let kernels = ["sha_rounds", "xorshift_pi", "mul64_chain", "poly_f64"];
    let rows =
        table(&Recorded::second(), Registers::Estimated, &|id| kernels.contains(&id), &|_| true);
    assert_eq!(rows.len(), kernels.len());
    for row in &rows {
        let r = ratio(row.elapsed);
        assert!(r.max(1.0 / r) < 1.08, "{}: {:?}", row.id, row.elapsed);
        // Round robin would be 0.10 to 0.13 above.
        let apart = row.occupancy.1 - row.occupancy.0;
        assert!(apart.abs() < 0.07, "{}: occupancy {:?}", row.id, row.occupancy);
    }
}

/// What groups may be off by at most with estimated registers: in mean, and the worst factor. What was
/// reached, and a little.
const BOUNDS: [(&str, f64, f64, f64); 13] = [
    ("first recordings", 0.085, 1.40, 0.99),
    ("second set", 0.067, 1.42, 0.98),
    ("second set, H100", 0.07, 1.42, 0.98),
    ("fresh, H100", 0.068, 1.47, 0.98),
    ("third set, H100", 0.062, 1.65, 0.98),
    ("fourth set, H100", 0.07, 1.30, 0.98),
    ("fifth set", 0.114, 1.92, 0.96),
    ("sixth set", 0.072, 1.32, 0.98),
    ("seventh set", 0.092, 1.65, 0.98),
    ("atomics", 0.075, 1.40, 0.99),
    ("reads", 0.06, 1.25, 0.99),
    ("writes", 0.10, 2.35, 0.97),
    ("mixed", 0.043, 1.18, 0.99),
];

/// The whole table: `cargo test --release -p ptx-timing --test h200_replay -- --ignored --nocapture
/// every_recorded_kernel`. `ONLY=a,b` takes the kernels whose names contain `a` or `b`; `REGISTERS=recorded` and
/// `REGISTERS=estimated` show one half, `GROUP=NAME` a group; `H100=1` adds that device. Of kernels that are held back
/// from tuning only the figures of their group are printed, unless `SEEN=1` says that they no longer are.
fn every_recorded_kernel() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let others = std::env::var_os("H100").is_some();
    let seen = std::env::var_os("SEEN").is_some();
    let which = std::env::var("REGISTERS").unwrap_or_default();
    let wanted = |id: &str| only.split(',').any(|o| id.contains(o));
    /// Whether a kernel is held back.
    type Apart<'a> = &'a dyn Fn(&Recorded, &str) -> bool;
    let groups: [(&str, Recorded, Apart<'_>); 13] = [
        ("first recordings", Recorded::first(), &|_, _| false),
        ("second set", Recorded::second(), &|_, _| false),
        ("second set, H100", Recorded::second().on(H100), &|_, _| false),
        ("fresh, H100", Recorded::fresh(), &|_, _| false),
        ("third set, H100", Recorded::third(), &|_, _| false),
        ("fourth set, H100", Recorded::fourth(), &|_, _| false),
        ("fifth set", Recorded::fifth(), &Recorded::is_even),
        ("sixth set", Recorded::sixth(), &|_, _| false),
        ("seventh set", Recorded::seventh(), &|_, _| true),
        ("atomics", Recorded::atomics(), &|_, _| false),
        ("reads", Recorded::reads(), &|_, _| false),
        ("writes", Recorded::writes(), &|_, _| false),
        ("mixed", Recorded::mixed(), &|_, _| false),
    ];
    let group_of = std::env::var("GROUP").unwrap_or_default();
    for (registers, title) in
        [(Registers::Recorded, "recorded registers"), (Registers::Estimated, "estimated registers")]
    {
        if !title.starts_with(&which) {
            continue;
        }
        for (group, recorded, apart) in &groups {
            if !group.contains(&group_of) || group.contains("H100") && !others {
                continue;
            }
            println!("{group}, {title}");
            let shown = |id: &str| !apart(recorded, id) || seen;
            let rows = table(recorded, registers, &wanted, &shown);
            let (error, worst, correlation) = summary(&format!("{group}, {title}"), rows.iter());
            let mut held = rows.iter().filter(|row| apart(recorded, &row.id)).peekable();
            if held.peek().is_some() {
                summary(&format!("{group}, {title}, held back"), held);
            }
            let bound = BOUNDS.iter().find(|b| b.0 == *group);
            let bound = bound.filter(|_| only.is_empty() && registers == Registers::Estimated);
            if let Some((_, mean, most, least)) = bound {
                assert!(
                    error <= *mean && worst <= *most && correlation >= *least,
                    "{group}, {title}"
                );
            }
        }
    }
}

/// What the assembler rules make of the kernels that `ONLY` names.
fn listing() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let recorded = [
        Recorded::first(),
        Recorded::second(),
        Recorded::fresh(),
        Recorded::third(),
        Recorded::fourth(),
        Recorded::sixth(),
    ];
    let functions =
        recorded.iter().flat_map(|r| r.module.functions.iter().enumerate().map(move |f| (r, f)));
    for (Recorded { module, text, .. }, (index, f)) in functions {
        if !f.entry || !only.split(',').any(|o| f.name == o) {
            continue;
        }
        let program = ptx_parse::lower::lower(module, index as u32).unwrap();
        let code = ptx_timing::code::KernelCode::new(&program, &h200().assembler);
        println!("{}", f.name);
        for (pc, i) in code.code.instructions.iter().enumerate() {
            let (function, at) = code.origin[pc];
            let inst = &program.functions[function as usize].insts[at as usize];
            let lead = if code.code.leaders.contains(&(pc as u32)) { "-" } else { " " };
            println!(
                "{lead}{pc:4} {:14} +{} x{} {:?} {}",
                i.class.name(),
                i.extra_slots,
                i.merged,
                i.guard,
                &text[inst.span.start as usize..inst.span.end as usize]
            );
        }
    }
}

/// Registers of the recorded kernels, estimated and as ptxas allocated them.
fn register_estimates() {
    let profile = h200();
    let (mut errors, mut near) = (Vec::new(), 0);
    for recorded in [Recorded::first(), Recorded::second(), Recorded::fresh(), Recorded::third()] {
        for case in &recorded.cases {
            let id = case["id"].as_str().unwrap();
            let entry = case["entry"].as_str().unwrap();
            let index = ptx_parse::lower::entry_index(&recorded.module, entry).unwrap();
            let program = ptx_parse::lower::lower(&recorded.module, index).unwrap();
            let block: Vec<u32> = case["block"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap() as u32)
                .collect();
            let block = std::array::from_fn(|i| block.get(i).copied().unwrap_or(1));
            // The device reports 16 where a kernel needs fewer.
            let estimate =
                ptx_timing::registers::of_launch(&profile, &program, block, None).0.max(16);
            let launch = &recorded.returned(case)["launch"];
            let real = launch["registers_per_thread"].as_u64().unwrap() as u32;
            println!("{id:24} {estimate:3} recorded {real:3}");
            near += usize::from(estimate.abs_diff(real) <= 4);
            errors.push((f64::from(estimate) / f64::from(real)).ln().abs());
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    println!("mean factor {:.2}; {near} of {} within 4", mean.exp(), errors.len());
    assert!(mean.exp() < 1.15, "estimates are off by a factor of {:.2} on average", mean.exp());
}

golden::tests! {
    small_recorded_kernels: shared("facts"),
    atomics_and_shared_reads,
    stores_of_grids,
    streams_of_grids,
    stores_to_what_was_read,
    blocks_in_turn,
    every_recorded_kernel: shared("facts").on_request("takes minutes"),
    listing: shared("facts").on_request("prints for reading"),
    register_estimates: shared("facts"),
}
