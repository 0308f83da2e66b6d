//! Divisions, reciprocals and roots whose operands send machine code another way, beside an H200.

mod common;

use ptx_interp::{Access, LaunchParams, Memory};
use ptx_parse::module::Module;
use ptx_timing::replay::replay;
use ptx_timing::{Config, Profile};
use serde_json::Value;

/// Turns of the chains.
const TURNS: f64 = 64.0;

/// The operands that the recordings choose from, as bytes.
fn operands(entry: &str) -> Vec<u8> {
    let floats = [1.000_000_1, 1.5, 0.0, 1e-40, 1e-37, 1e30, f32::INFINITY, f32::NAN, 3.0];
    let doubles = [1.000_000_1, 1.5, 0.0, 1e-310, 1e-300, 1e200, f64::INFINITY, f64::NAN, 3.0];
    let whole = [1, 1_000_003, 1 << 40, (1 << 63) + 12345, 5, 1 << 33, 0xffff_ffff, 1 << 32, 7_u64];
    match () {
        () if entry.contains("f32") => floats.iter().flat_map(|v| v.to_le_bytes()).collect(),
        () if entry.contains("f64") => doubles.iter().flat_map(|v| v.to_le_bytes()).collect(),
        () => whole.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

/// Clocks of a launch of one block.
fn clocks(profile: &Profile, module: &Module, entry: &str, case: (u32, u32, u32)) -> f64 {
    let (lanes, operand, threads) = case;
    let kernel = common::kernel(module, entry);
    let memory = Memory::new(1 << 24).unwrap();
    let buffer = |name| memory.alloc(1 << 16, 256, name, Access::ReadWrite).unwrap();
    let (values, out, sink) = (buffer("values"), buffer("out"), buffer("sink"));
    memory.write(values, &operands(entry)).unwrap();
    let params = [values, out, sink].map(u64::to_le_bytes).as_flattened().to_vec();
    let params = [params, lanes.to_le_bytes().to_vec(), operand.to_le_bytes().to_vec()].concat();
    let launch = LaunchParams { block: [threads, 1, 1], params, ..LaunchParams::default() };
    let result = replay(profile, &kernel, &memory, &launch, 32, Config::default());
    result.unwrap_or_else(|e| panic!("{entry}: {e}")).outcome.simulated_cycles as f64
}

/// What the other path, and both, cost more than the usual one, by operand and number of lanes.
#[test]
fn the_other_path_takes_as_long_as_on_the_device() {
    let (module, _, cases) = common::recordings(&common::timing_folder(), "paths");
    let profile = common::profile("H200");
    let number = |case: &Value, key: &str| case[key].as_u64().unwrap() as u32;
    let (mut usual, mut near, mut all) = ((0.0, 0.0), 0, 0);
    for case in &cases {
        let entry = case["entry"].as_str().unwrap();
        let [lanes, operand, threads] = ["lanes", "operand", "threads"].map(|k| number(case, k));
        let recorded = case["clocks"].as_f64().unwrap();
        let model = clocks(&profile, &module, entry, (lanes, operand, threads));
        if lanes == 0 {
            usual = (recorded, model);
            continue;
        }
        let more = [(recorded - usual.0) / TURNS, (model - usual.1) / TURNS];
        // Within a tenth of the whole, or of what it is more than the usual.
        let allowed = 0.1 * (recorded / TURNS).max(more[0].abs());
        let fits = (more[0] - more[1]).abs() <= allowed;
        println!(
            "{entry:10} {lanes:2} {operand} {threads:4} {:8.1} {:8.1} {fits} of {:.1} {:.1}",
            more[0],
            more[1],
            usual.0 / TURNS,
            usual.1 / TURNS
        );
        near += usize::from(fits);
        all += 1;
    }
    println!("{near} of {all}");
    assert!(near * 100 >= all * 85, "{near} of {all}");
}
