//! Loops of a few instructions, as an H200 timed them: clocks of a turn, the difference of 48 and 16 turns
//! (`golden/data/timing/turns.py`).

mod common;

use std::fmt::Write as _;

use ptx_interp::{Access, LaunchParams, Memory};
use ptx_parse::module::Module;
use ptx_timing::replay::replay;
use ptx_timing::{Config, Profile};
use serde_json::Value;

/// Clocks of a launch of one block.
fn clocks(profile: &Profile, module: &Module, entry: &str, threads: u32, turns: u32) -> f64 {
    let kernel = common::kernel(module, entry);
    let memory = Memory::new(1 << 24).unwrap();
    let buffer = |name, bytes| memory.alloc(bytes, 256, name, Access::ReadWrite).unwrap();
    let (out, data) = (buffer("out", 1 << 20), buffer("data", 1 << 22));
    let params = [out, data].map(u64::to_le_bytes).as_flattened().to_vec();
    let params = [params, turns.to_le_bytes().to_vec()].concat();
    let launch = LaunchParams { block: [threads, 1, 1], params, ..LaunchParams::default() };
    let result = replay(profile, &kernel, &memory, &launch, 64, Config::default());
    result.unwrap_or_else(|e| panic!("{entry}: {e}")).outcome.simulated_cycles as f64
}

/// Kinds of loops that are farther off, by how their names begin: the least and the largest factor. What is not known:
/// tags that copies look up, how one warp's copies wait for each other, reads of one SM from L2 at more than 96 bytes a
/// clock, sets of L1 that accesses share, 16-bit numbers that need no instruction, and with one warp on each scheduler
/// the turns of loads from shared memory.
const FARTHER: [(&str, f64, f64); 17] = [
    ("copy_ca", 0.58, 2.0),
    ("copy_cg", 0.9, 2.2),
    ("cvt_bf16", 0.66, 1.14),
    ("cvt_f16", 0.66, 1.14),
    ("cvt_f32", 0.8, 1.46),
    ("cvt_s8", 0.84, 1.2),
    ("cvt_sat_f32", 0.84, 1.4),
    ("cvt_tf32", 0.82, 1.25),
    ("cvt_u8", 0.9, 1.28),
    ("ldg_2", 0.78, 1.1),
    ("ldg_4", 0.35, 1.2),
    ("ldg_cg", 0.52, 1.33),
    ("ldg", 0.82, 1.15),
    ("ldmatrix", 0.74, 1.3),
    ("lds", 0.9, 1.26),
    ("nothing", 0.73, 1.22),
    ("shfl", 0.68, 1.12),
];

/// All others.
const BOUND: f64 = 1.23;

/// How many of the 638 are within a tenth.
const NEAR: usize = 512;

#[test]
fn turns_take_as_long_as_on_the_device() {
    let (module, _, cases) = common::recordings(&common::timing_folder(), "turns");
    assert_eq!(cases.len(), 638);
    let profile = common::profile("H200");
    // The model repeats itself after a few turns.
    let [few, many] = [8, 20];
    let turn = |case: &Value| {
        let entry = case["entry"].as_str().unwrap();
        let threads = case["threads"].as_u64().unwrap() as u32;
        let of = |turns| clocks(&profile, &module, entry, threads, turns);
        (of(many) - of(few)) / f64::from(many - few)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let modelled: Vec<f64> = std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(threads));
        let workers: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(&turn).collect::<Vec<f64>>()))
            .collect();
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    let (mut near, mut wrong) = (0, String::new());
    for (case, model) in cases.iter().zip(modelled) {
        let entry = case["entry"].as_str().unwrap();
        let (threads, recorded) = (&case["threads"], case["clocks"].as_f64().unwrap());
        let ratio = model / recorded;
        println!("{entry:22} {threads:4} {model:8.1} / {recorded:8.1} = {ratio:.2}");
        near += usize::from((ratio - 1.0).abs() < 0.1);
        let farther = FARTHER.iter().find(|f| entry.starts_with(f.0));
        let (least, most) = farther.map_or((1.0 / BOUND, BOUND), |f| (f.1, f.2));
        if !(least..=most).contains(&ratio) {
            writeln!(wrong, "{entry} {threads}: {ratio:.2}").unwrap();
        }
    }
    println!("{near} of {} within 10 %", cases.len());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(near >= NEAR, "{near} within 10 %");
}
