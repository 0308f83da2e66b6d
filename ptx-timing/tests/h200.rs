//! Against a real H200: sectors, requests, wavefronts of recorded access patterns, occupancy of
//! recorded launches, micro-benchmarks.

mod common;

use ptx_timing::banks::{Direction, bank_cost};
use ptx_timing::coalesce::sector_counts;
use ptx_timing::occupancy::{BlockNeeds, Limiter, occupancy, shared_per_block};
use ptx_timing::{Catalog, Class, Profile, WarpAccess, atomic, constant};

const COPY: &str = include_str!("data/h200_patterns.txt");

fn h200() -> Profile {
    Catalog::embedded().unwrap().get("H200").unwrap_or_else(|e| panic!("{e}"))
}

/// One memory instruction of one warp and what the counters said about it. For `global`: L1
/// requests, L1 sectors, L2 requests, L2 sectors. For `shared`: wavefronts, conflicts. For `const`:
/// requests to the constant cache.
#[derive(Debug)]
struct Pattern {
    id: String,
    space: String,
    op: String,
    width: u32,
    lanes: Vec<Option<u64>>,
    counters: Vec<u32>,
}

/// Requests that reading the 32 different words of the offset table makes in every recorded launch.
const OFFSET_TABLE_REQUESTS: u32 = 33;

fn recorded() -> Vec<Pattern> {
    let file = common::json_file("h200/patterns.json");
    let patterns = file.as_array().unwrap().iter().map(|p| {
        let text = |k: &str| p[k].as_str().unwrap().to_owned();
        let ncu = |k: String| p["ncu"].get(k).map_or(0, |v| v.as_u64().unwrap() as u32);
        let (space, op) = (text("space"), text("op"));
        let counters = match space.as_str() {
            "global" => vec![
                ncu(format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum")),
                ncu(format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum")),
                ncu("lts__t_requests_srcunit_tex.sum".to_owned()),
                ncu("lts__t_sectors_srcunit_tex.sum".to_owned()),
            ],
            "shared" => vec![
                ncu(format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum")),
                ncu(format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum")),
            ],
            "const" => vec![ncu("idc__requests.sum".to_owned()) - OFFSET_TABLE_REQUESTS],
            other => panic!("unknown space {other}"),
        };
        let lanes: Vec<_> = p["offsets"].as_array().unwrap().iter().map(|o| o.as_u64()).collect();
        assert_eq!(lanes.iter().flatten().count() as u64, p["active"].as_u64().unwrap());
        let width = p["width"].as_u64().unwrap() as u32;
        Pattern { id: text("id"), space, op, width, lanes, counters }
    });
    patterns.collect()
}

fn write_copy(patterns: &[Pattern]) -> String {
    let mut out = String::from(
        "# H200 counters: id space op width lanes counters (global: L1 requests, L1 sectors, L2\n\
         # requests, L2 sectors; shared: wavefronts, conflicts; const: requests).\n",
    );
    for p in patterns {
        let counters: Vec<_> = p.counters.iter().map(u32::to_string).collect();
        let lanes = common::write_lanes(&p.lanes);
        out +=
            &format!("{} {} {} {} {lanes} {}\n", p.id, p.space, p.op, p.width, counters.join(","));
    }
    out
}

fn read_copy(text: &str) -> Vec<Pattern> {
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let f: Vec<&str> = line.split(' ').collect();
            Pattern {
                id: f[0].to_owned(),
                space: f[1].to_owned(),
                op: f[2].to_owned(),
                width: f[3].parse().unwrap(),
                lanes: common::read_lanes(f[4]),
                counters: f[5].split(',').map(|c| c.parse().unwrap()).collect(),
            }
        })
        .collect()
}

fn model(p: &Profile, pattern: &Pattern) -> Vec<u32> {
    let access = WarpAccess::from_lanes(pattern.width, pattern.lanes.iter().copied());
    let (line, sector) = (p.global.line_bytes, p.global.sector_bytes);
    match (pattern.space.as_str(), pattern.op.as_str()) {
        ("global", "ld" | "st") => {
            let c = sector_counts(line, sector, &access);
            vec![c.requests, c.sectors, c.lines, c.sectors]
        }
        ("global", _) => {
            let c = atomic::global_counts(line, sector, &access);
            vec![c.requests, c.sectors, c.lines, c.sectors]
        }
        ("shared", "ld" | "st") => {
            let load = pattern.op == "ld";
            let direction = if load { Direction::Load } else { Direction::Store };
            let c = bank_cost(&p.shared, direction, &access);
            vec![c.steps, c.conflicts]
        }
        ("shared", _) => {
            let steps = atomic::shared_steps(p.shared.banks, &access);
            vec![steps, steps - 1]
        }
        ("const", _) => vec![constant::distinct_addresses(p.constant.scope, &access)],
        other => panic!("{}: {other:?}", pattern.id),
    }
}

fn check(patterns: &[Pattern]) {
    let p = h200();
    let wrong: Vec<_> = patterns
        .iter()
        .filter_map(|pattern| {
            let got = model(&p, pattern);
            (got != pattern.counters).then(|| format!("{pattern:?}: {got:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), patterns.len(), wrong.join("\n"));
}

fn fact_file_patterns_equal_the_counters() {
    let patterns = recorded();
    assert_eq!(patterns.len(), 334);
    check(&patterns);
    common::check_copy("h200_patterns.txt", COPY, &write_copy(&patterns));
}

fn embedded_patterns_equal_the_counters() {
    let patterns = read_copy(COPY);
    assert_eq!(patterns.len(), 334);
    check(&patterns);
}

/// Occupancy limits, allocated registers and shared memory, and waves of every recorded launch.
fn launch_records() {
    let kernels = common::json_file("h200/kernels.json");
    let p = h200();
    for kernel in kernels.as_array().unwrap() {
        let id = kernel["id"].as_str().unwrap();
        let launch = &kernel["h200"]["launch"];
        let int = |k: &str| launch[k].as_u64().unwrap() as u32;
        let product = |k: &str| -> u32 {
            kernel[k].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).product()
        };
        let needs = BlockNeeds {
            threads: product("block"),
            registers: int("registers_per_thread"),
            shared: int("shared_mem_per_block_static")
                + kernel["dynamic_smem"].as_u64().unwrap_or(0) as u32,
            arguments: 0,
        };
        let o = occupancy(&p, &needs).unwrap_or_else(|e| panic!("{id}: {e}"));
        let by = |wanted: Limiter| o.blocks_by.iter().find(|b| b.0 == wanted).unwrap().1.unwrap();
        assert_eq!(by(Limiter::Blocks), int("occupancy_limit_blocks"), "{id}");
        assert_eq!(by(Limiter::Warps), int("occupancy_limit_warps"), "{id}");
        assert_eq!(by(Limiter::Registers), int("occupancy_limit_registers"), "{id}");
        let per_thread = o.registers_per_block / u64::from(o.warps_per_block) / 32;
        assert_eq!(per_thread, u64::from(int("registers_per_thread_allocated")), "{id}");
        let shared = shared_per_block(&p, &needs);
        assert_eq!(shared, u64::from(int("shared_mem_per_block_allocated")), "{id}");
        // The driver carves out less than the most, but never so little that it would limit.
        let carved = u64::from(int("shared_mem_config_size")) / shared;
        assert_eq!(carved, u64::from(int("occupancy_limit_shared_mem")), "{id}");
        assert!(u64::from(o.blocks) <= carved.min(by(Limiter::Shared).into()), "{id}");
        let waves = f64::from(product("grid")) / f64::from(o.blocks * p.device.multiprocessors);
        let recorded = launch["waves_per_multiprocessor"].as_f64().unwrap();
        assert!((waves - recorded).abs() <= 0.0051, "{id}: {waves} waves, recorded {recorded}");
    }
}

/// The profile's latencies and throughputs are the recorded ones.
fn profile_holds_the_micro_benchmarks() {
    let micro = common::json_file("h200/micro.json");
    let p = h200();
    let op = |name: &str| {
        let ops = micro["ops"].as_array().unwrap();
        ops.iter().find(|o| o["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
    };
    let latency = |name: &str| op(name)["latency_cycles_per_group"].as_f64().unwrap();
    let rate = |name: &str| op(name)["groups_per_clk_per_sm"].as_f64().unwrap();
    use Class::*;
    for (name, class) in [
        ("mul_lo_s32", IntMul),
        ("mul_hi_s32", IntMulHi),
        ("mul24_lo_s32", IntMul24),
        ("mul_lo_s64", IntMul64),
        ("mul_hi_u64", IntMulHi64),
        ("add_s64", IntAdd64),
        ("min_s32", IntMinMax),
        ("lop3_b32", Logic),
        ("shl_b32", Shift),
        ("shl_b64", Shift64),
        ("bfe_u32", Bitfield),
        ("popc_b32", BitCount),
        ("dp4a_s32", Dot),
        ("add_f32", F32Add),
        ("mul_f32", F32Mul),
        ("fma_rn_f32", F32Fma),
        ("min_f32", F32MinMax),
        ("ex2_approx_ftz_f32", F32Ex2),
        ("lg2_approx_ftz_f32", F32Lg2),
        ("rsqrt_approx_ftz_f32", F32Rsqrt),
        ("sqrt_approx_ftz_f32", F32SqrtApprox),
        ("sin_approx_f32", F32SinCos),
        ("add_f64", F64Add),
        ("min_f64", F64MinMax),
        ("tanh_approx_f16x2", F16Mufu),
        ("shfl_idx", Shuffle),
        ("match_any_b32", Match),
        ("redux_add_s32", Redux),
        ("membar_cta", FenceBlock),
        ("membar_gl", FenceDevice),
        ("mma_m16n8k8_f32_f16", MmaSmall),
        ("mma_m16n8k16_f32_f16", MmaLarge),
        ("mma_m8n8k4_f64", MmaF64),
    ] {
        let timing = &p.class[&class];
        let (l, r) = (latency(name), rate(name));
        // What goes value by value was recorded with 32 different ones.
        let values = if timing.value_latency > 0.0 { 32.0 } else { 1.0 };
        let whole = f64::from(timing.latency) + (values - 1.0) * timing.value_latency;
        assert!((whole - l).abs() <= 0.51, "{name}: latency {l}, {timing:?}");
        // Loops with less around the products say more exactly how long these take (`turns`).
        let apart = if class == MmaLarge { 0.03 } else { 0.02 };
        assert!(
            (timing.per_clock / values / r - 1.0).abs() < apart,
            "{name}: rate {r}, {timing:?}"
        );
    }
    // Groups of two instructions: the recorded chain is the class and one more instruction.
    for (name, class, other) in [
        ("div_rn_f32", F32Div, 4),
        ("rcp_rn_f32", F32Rcp, 4),
        ("sqrt_rn_f32", F32Sqrt, 4),
        ("div_u32", IntDiv, 5),
        ("div_u64", IntDiv64, 5),
        ("div_rn_f64", F64Div, 8),
        ("sqrt_rn_f64", F64Sqrt, 8),
        ("rcp_rn_f64", F64Rcp, 8),
        ("rsqrt_approx_f64", F64Rsqrt, 8),
        ("div_full_ftz_f32", F32DivFull, 4),
        ("vote_ballot", Vote, 4),
        ("setp_selp_s32", Compare, 4),
    ] {
        let timing = &p.class[&class];
        let l = latency(name);
        // With and without `.ftz` a full division takes 45 and 42.5 clocks.
        let apart = if class == F32DivFull { 2.01 } else { 0.76 };
        assert!((f64::from(timing.latency + other) - l).abs() <= apart, "{name}: {l}, {timing:?}");
        let r = if name == "setp_selp_s32" { 2.0 * rate(name) } else { rate(name) };
        let r = if name == "vote_ballot" { timing.per_clock } else { r };
        // The addition goes through the pipe of doubles as well.
        let same = timing.pipes == p.class[&F64Add].pipes;
        let whole =
            1.0 / timing.per_clock + if same { 1.0 / p.class[&F64Add].per_clock } else { 0.0 };
        let near = if class == F32DivFull { 0.06 } else { 0.02 };
        assert!((1.0 / whole / r - 1.0).abs() < near, "{name}: {r}, {timing:?}");
    }
    for ways in [1_u32, 2, 4, 8, 16, 32] {
        let l = latency(&format!("lds32_chase_stride{ways}"));
        let shared = p.shared.latency + (ways - 1) * p.shared.extra_step_latency;
        assert_eq!(f64::from(shared), l, "{ways}-way");
        let r = rate(&format!("lds32_thr_stride{ways}"));
        assert!((32.0 / (p.shared.step_cycles * f64::from(ways)) / r - 1.0).abs() < 0.01);
        let distinct = WarpAccess::from_lanes(4, (0..32).map(|i| Some(i % u64::from(ways) * 4)));
        let (model, busy) = constant::hit_cost(&p.constant, &distinct);
        // Rows of more than one address hold an address computation of 5 more cycles.
        let recorded = latency(&format!("ldc_distinct{ways}")) - if ways > 1 { 5.0 } else { 0.0 };
        assert!((f64::from(model) - recorded).abs() < 1.2, "{ways} addresses: {model}, {recorded}");
        let recorded = rate(&format!("ldc_distinct{ways}"));
        assert!((32.0 / busy / recorded - 1.0).abs() < 0.02, "{ways} addresses: {busy}");
        let warps = f64::from(ways);
        let l = latency(&format!("bar_sync_b{}", 32 * ways));
        let barrier = f64::from(p.barrier.latency) + p.barrier.cycles_per_warp * warps;
        assert_eq!(barrier, l, "barrier of {ways} warps");
    }
    let device = &micro["device"];
    let int = |k: &str| device[k].as_u64().unwrap() as u32;
    assert_eq!(p.device.multiprocessors, int("sm_count"));
    assert_eq!(p.limits.shared_bytes_per_sm, int("smem_per_sm"));
    assert_eq!(p.limits.max_shared_bytes_per_block, int("smem_optin"));
    assert_eq!(p.limits.registers_per_sm, int("regs_per_sm"));
    assert_eq!(p.limits.max_blocks_per_sm, int("max_blocks_sm"));
    assert_eq!(p.allocation.shared_reserved_per_block, int("reserved_smem"));
    assert_eq!(p.l2.as_ref().map(|l2| l2.bytes), device["l2_bytes"].as_u64());
    let gbps = f64::from(int("mem_clock_khz")) * f64::from(int("bus_bits")) / 4e6;
    assert!((p.dram.bandwidth_gbps / gbps - 1.0).abs() < 0.001, "{gbps}");
    let peak = p.peak_f32_gflops() / 1e3;
    let recorded = micro["fma_peak_TFLOPs"].as_f64().unwrap();
    assert!(peak >= recorded && peak < recorded * 1.05, "{peak} against {recorded}");
}

golden::tests! {
    fact_file_patterns_equal_the_counters: shared("facts"),
    embedded_patterns_equal_the_counters,
    launch_records: shared("facts"),
    profile_holds_the_micro_benchmarks: shared("facts"),
}
