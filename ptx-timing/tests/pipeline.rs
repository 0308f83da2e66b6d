//! The pipeline on synthetic event streams: latencies, throughputs, barriers, memory, scheduling,
//! errors; and the recorded throughput curves of an H200.

mod common;

use std::sync::LazyLock;

use ptx_timing::event::{BlockTrace, Code, Detail, Event, FnSource, Instruction, Space, WarpTrace};
use ptx_timing::occupancy::BlockNeeds;
use ptx_timing::sim::{self, Bound, Outcome, Stall};
use ptx_timing::{Catalog, Class, Config, Profile, SimulateError, WarpAccess};

fn device(name: &str) -> Profile {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());
    CATALOG.get(name).unwrap_or_else(|e| panic!("{e}"))
}

fn needs(warps: u32) -> BlockNeeds {
    BlockNeeds { threads: warps * 32, registers: 16, shared: 0, arguments: 0 }
}

/// Runs `blocks` blocks of `warps` warps that all do the same.
fn run(p: &Profile, code: &Code, warps: u32, blocks: u64, warp: &WarpTrace) -> Outcome {
    let mut source = FnSource::new(blocks, |_| BlockTrace::new(vec![warp.clone(); warps as usize]));
    sim::run(p, code, &needs(warps), &mut source, Config::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// `chains` dependent chains of one instruction, `length` steps each.
fn chains(class: Class, chains: u32, length: u32) -> (Code, WarpTrace) {
    let instructions = (0..chains).map(|c| Instruction::new(class, &[c], &[c])).collect();
    let mut warp = WarpTrace::default();
    for _ in 0..length {
        for c in 0..chains {
            if class.is_memory() {
                let access = WarpAccess::from_lanes(4, (0..32).map(|l| Some(l * 4)));
                warp.push_access(c, Space::Shared, access);
            } else {
                warp.push(c);
            }
        }
    }
    (Code { instructions, leaders: vec![], ..Default::default() }, warp)
}

/// Clocks per instruction of one warp, or of all warps of a block together, from the difference
/// between two lengths, so that start-up cancels.
fn slope(p: &Profile, class: Class, ilp: u32, warps: u32) -> f64 {
    let time = |length| {
        let (code, warp) = chains(class, ilp, length);
        run(p, &code, warps, 1, &warp).cycles as f64
    };
    (time(400) - time(200)) / f64::from(200 * ilp * warps)
}

fn latency_of_a_chain_and_throughput_of_many() {
    let h200 = device("H200");
    for (class, latency, clocks) in [
        (Class::F32Fma, 4.0, 0.25),
        (Class::IntMul, 4.0, 0.5),
        (Class::F32Ex2, 17.0, 2.0),
        (Class::F64Add, 8.0, 0.5),
        (Class::F32Div, 57.0, 32.0 / 7.44),
        (Class::Shuffle, 26.0, 1.0),
        (Class::MmaSmall, 17.0, 1.0),
    ] {
        assert_eq!(slope(&h200, class, 1, 1), latency, "{class:?}");
        let got = slope(&h200, class, 4, 32);
        assert!((got / clocks - 1.0).abs() < 0.02, "{class:?}: {got}, {clocks}");
    }
}

/// 1.x: a result after 24 clocks, an instruction per 4 clocks, so six warps (192 threads) hide the
/// latency, five do not.
fn six_warps_hide_the_latency_of_1x() {
    let g80 = device("8800 GTX");
    assert_eq!(slope(&g80, Class::F32Fma, 1, 1), 24.0);
    assert_eq!(slope(&g80, Class::F32Fma, 1, 6), 4.0);
    assert!(slope(&g80, Class::F32Fma, 1, 5) > 4.5);
    // Special functions: 16 clocks per warp.
    assert_eq!(slope(&g80, Class::F32Rsqrt, 4, 4), 16.0);
    // A 32-bit multiply is four instructions.
    assert_eq!(slope(&g80, Class::IntMul, 4, 8), 16.0);
}

/// 2.0: one instruction per scheduler and two clocks; doubles keep the other scheduler idle.
fn fermi_schedulers() {
    let m2090 = device("M2090");
    assert_eq!(slope(&m2090, Class::F32Fma, 1, 24), 1.0);
    assert!(slope(&m2090, Class::F32Fma, 1, 12) > 1.9, "half the warps show half the latency");
    assert_eq!(slope(&m2090, Class::F64Add, 4, 24), 2.0);
}

/// 2.1 needs two independent instructions per warp to fill its 48 cores.
fn dual_issue_needs_independent_instructions() {
    let gtx460 = device("GTX 460");
    let dependent = slope(&gtx460, Class::F32Fma, 1, 32);
    let independent = slope(&gtx460, Class::F32Fma, 4, 32);
    assert!((dependent - 1.0).abs() < 0.02, "{dependent}");
    assert!((independent - 32.0 / 48.0).abs() < 0.02, "{independent}");
}

fn switching_pipes_and_guards_costs_extra_on_9_0() {
    let h200 = device("H200");
    let pair = |a: Instruction, b: Instruction| {
        let code = Code { instructions: vec![a, b], leaders: vec![], ..Default::default() };
        let time = |n: u32| {
            let mut warp = WarpTrace::default();
            for _ in 0..n {
                warp.push(0);
                warp.push(1);
            }
            run(&h200, &code, 1, 1, &warp).cycles
        };
        (time(200) - time(100)) as f64 / 100.0
    };
    let chain = |class| Instruction::new(class, &[0], &[0]);
    // imad_then_lop3: 10 clocks; setp and a guarded add: 18.
    assert_eq!(pair(chain(Class::IntMul), chain(Class::Logic)), 10.0);
    assert_eq!(pair(chain(Class::IntMul), chain(Class::F32Fma)), 8.0);
    let compare = Instruction::new(Class::Compare, &[1], &[0]);
    let guarded = Instruction::new(Class::IntAdd, &[0], &[0]).guarded(1);
    assert_eq!(pair(compare, guarded), 18.0);
}

fn barrier_cost_by_warps() {
    let h200 = device("H200");
    let code = Code {
        instructions: vec![Instruction::new(Class::Barrier, &[], &[])],
        leaders: vec![],
        ..Default::default()
    };
    let time = |warps: u32, n: u32| {
        let mut warp = WarpTrace::default();
        (0..n).for_each(|_| warp.push_barrier(0));
        run(&h200, &code, warps, 1, &warp).cycles
    };
    for (warps, clocks) in [(1, 14), (2, 16), (4, 20), (8, 28), (16, 44), (32, 76)] {
        assert_eq!((time(warps, 30) - time(warps, 10)) / 20, clocks, "{warps} warps");
    }
}

fn early_exit_and_producer_consumer_barriers() {
    let h200 = device("H200");
    let code = Code {
        instructions: vec![
            Instruction::new(Class::Barrier, &[], &[]),
            Instruction::new(Class::IntAdd, &[0], &[0]),
        ],
        leaders: vec![],
        ..Default::default()
    };
    let mut waits = WarpTrace::default();
    waits.push_barrier(0);
    waits.push(1);
    let mut leaves = WarpTrace::default();
    leaves.push(1);
    let mut source = FnSource::new(1, |_| BlockTrace::new(vec![waits.clone(), leaves.clone()]));
    sim::run(&h200, &code, &needs(2), &mut source, Config::default()).unwrap();

    let barrier =
        |wait| Event { pc: 0, active: u32::MAX, detail: Detail::Barrier { id: 3, wait, warps: 2 } };
    let one = |event| {
        let mut warp = WarpTrace::default();
        warp.events.push(event);
        warp
    };
    let (arrive, sync) = (one(barrier(false)), one(barrier(true)));
    let mut source = FnSource::new(1, |_| BlockTrace::new(vec![arrive.clone(), sync.clone()]));
    sim::run(&h200, &code, &needs(2), &mut source, Config::default()).unwrap();

    let mut source = FnSource::new(1, |_| BlockTrace::new(vec![sync.clone(); 1]));
    let error = sim::run(&h200, &code, &needs(1), &mut source, Config::default()).unwrap_err();
    assert_eq!(error.to_string(), "deadlock on SM 0: 1 warps wait at barrier 3, which expects 2");
}

/// A dependent chase through memory shows the latency of each level.
fn memory_latencies() {
    let h200 = device("H200");
    let code = Code {
        instructions: vec![Instruction::new(Class::LoadGlobal, &[0], &[0])],
        leaders: vec![],
        ..Default::default()
    };
    let chase = |code: &Code, laps: u64, stride: u64| {
        let mut warp = WarpTrace::default();
        for _ in 0..laps {
            for i in 0..64 {
                let one = WarpAccess::from_lanes(4, [Some(i * stride)]);
                warp.push_access(0, Space::Global, one);
            }
        }
        let warm = run(&h200, code, 1, 1, &warp).cycles - u64::from(h200.launch.cold_cycles);
        warm as f64 / 64.0
    };
    // Nobody waits for the last load.
    let first = chase(&code, 1, 4096);
    let cold = first * 64.0 / 63.0;
    assert!((cold - 685.0).abs() < 5.0, "cold: {cold}");
    let l1 = chase(&code, 3, 4096) - chase(&code, 2, 4096);
    assert!((l1 - 32.0).abs() < 1.0, "L1: {l1}");
    let mut bypass = code.clone();
    bypass.instructions[0].bypass_l1 = true;
    let l2 = chase(&bypass, 3, 4096) - chase(&bypass, 2, 4096);
    assert!((l2 - 281.0).abs() < 1.0, "L2: {l2}");
}

/// A stream over a large buffer runs at the reachable bandwidth of each device, and the report says
/// that this is what limits it.
fn copies_are_limited_by_device_memory() {
    for name in ["8800 GTX", "GTX 280", "M2090", "K20X", "H200"] {
        let p = device(name);
        let code = Code {
            instructions: vec![
                Instruction::new(Class::LoadGlobal, &[0], &[1]),
                Instruction::new(Class::StoreGlobal, &[], &[0, 1]),
            ],
            leaders: vec![],
            ..Default::default()
        };
        let (warps, blocks) = (8, u64::from(p.device.multiprocessors) * 40);
        let half = blocks * 8 * 128;
        let mut source = FnSource::new(blocks, |b| {
            BlockTrace::new(
                (0..u64::from(warps))
                    .map(|w| {
                        let base = (b * 8 + w) * 128;
                        let lanes = |from: u64| {
                            WarpAccess::from_lanes(4, (0..32).map(|l| Some(from + base + l * 4)))
                        };
                        let mut warp = WarpTrace::default();
                        warp.push_access(0, Space::Global, lanes(0));
                        warp.push_access(1, Space::Global, lanes(half.next_multiple_of(1 << 20)));
                        warp
                    })
                    .collect(),
            )
        });
        let r = sim::run(&p, &code, &needs(warps), &mut source, Config::default()).unwrap();
        assert_eq!(r.dram_read, half, "{name}");
        if p.l2.is_some() {
            // As counted on an H200: every sector misses once, though it came with its neighbour.
            assert_eq!(r.caches.l2.read_misses * 32, half, "{name}");
        }
        if p.l2.is_none() {
            assert_eq!(r.dram_written, half, "{name}");
            assert!(matches!(r.bound, Bound::Dram(_)), "{name}: {}", r.bound);
            let gbps = 2.0 * half as f64 / (r.cycles as f64 / p.clock.sm_mhz * 1e3);
            let reachable = p.dram.bandwidth_gbps * p.dram.efficiency;
            assert!(gbps > 0.85 * reachable && gbps <= reachable, "{name}: {gbps}, {reachable}");
        }
    }
}

/// Bank conflicts multiply the time of shared-memory traffic and show up per instruction.
fn bank_conflicts_cost_their_ways() {
    let h200 = device("H200");
    let load = |register| Instruction::new(Class::LoadShared, &[register], &[9]);
    let code =
        Code { instructions: (0..4).map(load).collect(), leaders: vec![], ..Default::default() };
    let time = |stride: u64, n: u32| {
        let mut warp = WarpTrace::default();
        for i in 0..n {
            let access = WarpAccess::from_lanes(4, (0..32).map(|l| Some(l * stride * 4)));
            warp.push_access(i % 4, Space::Shared, access);
        }
        let r = run(&h200, &code, 16, 1, &warp);
        assert_eq!(r.total.shared_steps, r.total.requests * stride);
        assert_eq!(r.total.shared_conflicts, r.total.requests * (stride - 1));
        r.cycles
    };
    for ways in [1, 2, 8, 32] {
        assert_eq!(time(ways, 200) - time(ways, 100), 100 * 16 * ways, "{ways}-way");
    }
}

fn stall_reasons() {
    let g80 = device("8800 GTX");
    let (code, warp) = chains(Class::F32Fma, 1, 100);
    let r = run(&g80, &code, 1, 1, &warp);
    assert_eq!(r.bound, Bound::Latency(Stall::Execution, 1.0));
    assert_eq!(r.total.stalls[Stall::Execution as usize], 99 * 20);
    let r = run(&g80, &code, 8, 48, &warp);
    assert!(matches!(r.bound, Bound::Issue(x) | Bound::Pipe(_, x) if x > 0.9), "{}", r.bound);
}

fn waves_occupancy_and_sampling() {
    let h200 = device("H200");
    let (code, warp) = chains(Class::F32Ex2, 1, 50);
    let all = run(&h200, &code, 8, 132 * 8 * 5, &warp);
    assert_eq!(all.waves, 5.0);
    assert_eq!(all.occupancy.blocks, 8);
    assert!(all.achieved_occupancy > 0.8, "{}", all.achieved_occupancy);
    assert!(all.sampling.is_none());
    let mut source = FnSource::new(132 * 8 * 5, |_| BlockTrace::new(vec![warp.clone(); 8]));
    let config = Config { max_blocks: Some(132 * 8 * 2), ..Default::default() };
    let part = sim::run(&h200, &code, &needs(8), &mut source, config).unwrap();
    let sampling = part.sampling.unwrap();
    assert_eq!((sampling.simulated, sampling.blocks), (132 * 24, 132 * 40));
    let ratio = part.cycles as f64 / all.cycles as f64;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

fn the_same_input_gives_the_same_report() {
    let h200 = device("H200");
    let (code, warp) = chains(Class::LoadShared, 3, 50);
    let once = run(&h200, &code, 7, 300, &warp);
    assert_eq!(once, run(&h200, &code, 7, 300, &warp));
}

fn errors() {
    let h200 = device("H200");
    let g80 = device("8800 GTX");
    let (code, warp) = chains(Class::Redux, 1, 1);
    let mut source = FnSource::new(1, |_| BlockTrace::new(vec![warp.clone()]));
    let error = sim::run(&g80, &code, &needs(1), &mut source, Config::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "GeForce 8800 GTX has no instructions of class 'redux' (instruction 0)"
    );
    let error = sim::run(&g80, &code, &needs(32), &mut source, Config::default()).unwrap_err();
    assert!(matches!(error, SimulateError::DoesNotFit(_)));
    let error = sim::run(&h200, &code, &needs(2), &mut source, Config::default()).unwrap_err();
    assert_eq!(error, SimulateError::WrongWarpCount { block: 0, found: 1, expected: 2 });
    let mut bad = WarpTrace::default();
    bad.push(1);
    let mut source = FnSource::new(1, |_| BlockTrace::new(vec![bad.clone()]));
    let error = sim::run(&h200, &code, &needs(1), &mut source, Config::default()).unwrap_err();
    assert_eq!(error, SimulateError::BadEvent { block: 0, warp: 0, pc: 1 });
    // Nothing to do is no error.
    let mut source = FnSource::new(1, |_| BlockTrace::new(vec![WarpTrace::default()]));
    assert!(sim::run(&h200, &code, &needs(1), &mut source, Config::default()).is_ok());
    let mut source = FnSource::new(0, |_| BlockTrace::default());
    assert!(sim::run(&h200, &code, &needs(1), &mut source, Config::default()).is_ok());
}

/// Clocks per instruction against the number of warps, as recorded on an H200.
fn recorded_throughput_curves() {
    let micro = common::json_file("h200/micro.json");
    let h200 = device("H200");
    let mut worst = (0.0_f64, String::new());
    let mut points = 0;
    for (name, class) in [
        ("mul_lo_s32", Class::IntMul),
        ("lop3_b32", Class::Logic),
        ("ex2_approx_ftz_f32", Class::F32Ex2),
        ("popc_b32", Class::BitCount),
        ("mma_m16n8k16_f32_f16", Class::MmaLarge),
        ("lds32_chase_stride1", Class::LoadShared),
    ] {
        for (point, recorded) in micro["curves"][name].as_object().unwrap() {
            let (ilp, warps) = point.strip_prefix("ilp").unwrap().split_once("_w").unwrap();
            let recorded = recorded.as_f64().unwrap();
            let got = slope(&h200, class, ilp.parse().unwrap(), warps.parse().unwrap());
            let error = got / recorded - 1.0;
            if std::env::var_os("SHOW").is_some() {
                println!("{name} {point}: {got:.4} {recorded:.4} {:+.1}%", error * 100.0);
            }
            points += 1;
            if error.abs() > worst.0.abs() {
                worst = (error, format!("{name} {point}: {got}, recorded {recorded}"));
            }
        }
    }
    println!("{points} points, worst {:+.1} %: {}", worst.0 * 100.0, worst.1);
    assert!(worst.0.abs() < 0.1, "{}", worst.1);
}

golden::tests! {
    latency_of_a_chain_and_throughput_of_many,
    six_warps_hide_the_latency_of_1x,
    fermi_schedulers,
    dual_issue_needs_independent_instructions,
    switching_pipes_and_guards_costs_extra_on_9_0,
    barrier_cost_by_warps,
    early_exit_and_producer_consumer_barriers,
    memory_latencies,
    copies_are_limited_by_device_memory,
    bank_conflicts_cost_their_ways,
    stall_reasons,
    waves_occupancy_and_sampling,
    the_same_input_gives_the_same_report,
    errors,
    recorded_throughput_curves: shared("facts"),
}
