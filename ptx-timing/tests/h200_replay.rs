//! Recorded kernels run in the interpreter and replayed on the H200 profile: results equal to the
//! device's, cycles near the recorded ones.

mod common;

use std::sync::Arc;
use std::time::Instant;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_timing::replay::{Replay, replay};
use ptx_timing::{Catalog, Config, Profile};
use serde_json::Value;

fn h200() -> Profile {
    Catalog::embedded().unwrap().get("H200").unwrap()
}

/// The generator of the recorded inputs.
fn hash(i: u32) -> u32 {
    let mut h = i.wrapping_mul(2_654_435_761);
    h ^= h >> 15;
    h = h.wrapping_mul(2_246_822_519);
    h ^ h >> 13
}

fn buffer(kind: &str, n: u32) -> Vec<u8> {
    let number = |i: u32| (hash(i) >> 8) as f32;
    let words: Vec<u32> = match kind.split_once(':') {
        None => match kind {
            "zero" => vec![0; n as usize],
            "u32" => (0..n).map(hash).collect(),
            "f32_01" => (0..n).map(|i| (number(i) * 2.0_f32.powi(-24)).to_bits()).collect(),
            "f32_pm1" => (0..n).map(|i| (number(i) * 2.0_f32.powi(-23) - 1.0).to_bits()).collect(),
            "f64_01" => {
                let bits = |i| (f64::from(hash(i) >> 8) * 2.0_f64.powi(-24)).to_bits();
                return (0..n).flat_map(|i| bits(i).to_le_bytes()).collect();
            }
            other => panic!("unknown buffer kind {other}"),
        },
        Some(("mod", m)) => {
            let m: u32 = m.parse().unwrap();
            (0..n).map(|i| hash(i) % m).collect()
        }
        Some(("rowptr", _)) => (0..n)
            .scan(0, |sum, i| {
                let start = *sum;
                *sum += 4 + hash(i) % 24;
                Some(start)
            })
            .collect(),
        other => panic!("unknown buffer kind {other:?}"),
    };
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Runs one recorded launch; checks the first and last words of its outputs.
fn run(case: &Value, text: &str, config: Config) -> Replay {
    let id = case["id"].as_str().unwrap();
    let (module, diags) = ptx_parse::parse_and_verify(text, "kernels.ptx");
    assert!(diags.iter().all(|d| !d.is_error()), "{id}: {diags:?}");
    let module = module.unwrap();
    let entry = ptx_parse::lower::entry_index(&module, case["entry"].as_str().unwrap()).unwrap();
    let program = ptx_parse::lower::lower(&module, entry).unwrap();
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
            let at = memory.alloc(data.len() as u64, 256, id, Access::ReadWrite).unwrap();
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
    let registers = case["h200"]["launch"]["registers_per_thread"].as_u64().unwrap() as u32;
    let result = replay(&h200(), &kernel, &memory, &params, registers, config)
        .unwrap_or_else(|e| panic!("{id}: {e}"));
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
    result
}

struct Row {
    id: String,
    ratio: f64,
    real: f64,
    simulated: f64,
}

fn table(ids: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let Some(kernels) = common::json_file("h200/kernels.json") else { return Vec::new() };
    let text = std::fs::read_to_string(common::facts().unwrap().join("h200/kernels.ptx")).unwrap();
    let mut rows = Vec::new();
    for case in kernels.as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        if !ids(id) {
            continue;
        }
        let begin = Instant::now();
        let Replay { outcome: report, stats, .. } =
            run(case, &text, Config { max_blocks: Some(1) });
        let seconds = begin.elapsed().as_secs_f64();
        let cold = &case["h200"]["ncu_cold"];
        let counter = |k: &str| cold[k].as_f64().unwrap_or(0.0);
        let real = counter("sm__cycles_active.avg");
        let share = report.sampling.map_or(1.0, |s| s.blocks as f64 / s.simulated as f64);
        let simulated = report.cycles as f64;
        println!(
            "{id:22} {simulated:9.0} recorded {real:9.0} ratio {:.2}  insts {:.2}  occ {:.2}/{:.2}  {:.1} s, {:.1e}/s; {}",
            simulated / real,
            report.total.issue_slots as f64 * share / counter("smsp__inst_executed.sum"),
            report.achieved_occupancy,
            counter("sm__warps_active.avg.pct_of_peak_sustained_active") / 100.0,
            seconds,
            stats.thread_instructions as f64 / seconds,
            report.bound,
        );
        rows.push(Row { id: id.to_owned(), ratio: simulated / real, real, simulated });
    }
    rows
}

fn mean_error(rows: &[Row]) -> f64 {
    rows.iter().map(|r| (r.ratio - 1.0).abs()).sum::<f64>() / rows.len().max(1) as f64
}

#[test]
fn small_recorded_kernels() {
    let rows = table(&|id| {
        ["vecadd_64k_b64", "stride_copy_1", "atomic_spread", "gather_small"].contains(&id)
    });
    for row in &rows {
        assert!((0.5..2.0).contains(&row.ratio), "{}: {}", row.id, row.ratio);
    }
}

/// The whole table: `cargo test --release -p ptx-timing --test h200_replay -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn every_recorded_kernel() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let rows = table(&|id| id.contains(&only));
    let log: Vec<(f64, f64)> = rows.iter().map(|r| (r.real.ln(), r.simulated.ln())).collect();
    let n = log.len().max(1) as f64;
    let mean = log.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / n, m.1 + p.1 / n));
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| log.iter().map(f).sum::<f64>();
    let correlation = sum(&|p| (p.0 - mean.0) * (p.1 - mean.1))
        / (sum(&|p| (p.0 - mean.0).powi(2)) * sum(&|p| (p.1 - mean.1).powi(2))).sqrt();
    println!(
        "{} kernels, mean absolute error {:.1} %, correlation of logarithms {correlation:.3}",
        rows.len(),
        mean_error(&rows) * 100.0
    );
}
