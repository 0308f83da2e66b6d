//! What a report says of a launch as a whole (schedulers, units, memory by operation, activity, tensor cores) and of a
//! chosen warp.

use std::sync::Arc;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_timing::report::{Begins, MemorySpace};
use ptx_timing::{Catalog, Config, Options, Report, WarpChoice, simulate};

/// A kernel of this body: `%rd1` is the address of a megabyte, `%r1` the thread's number in the grid.
fn run(body: &str, device: &str, [grid, block]: [u32; 2], options: &Options) -> Report {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.const .align 4 .b8 table[1024];
.visible .entry k(.param .u64 p) {{
.reg .b32 %r<32>; .reg .b64 %rd<8>; .reg .f32 %f<32>; .reg .pred %q<4>; .shared .align 16 .b8 s[4096];
ld.param.u64 %rd1, [p]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
mad.lo.u32 %r1, %r2, %r3, %r4;
{body}
ret; }}"
    );
    let (module, diags) = ptx_parse::parse_and_verify(&text, "k.ptx");
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let kernel = Kernel::decode(Arc::new(ptx_parse::lower::lower(&module, 0).unwrap()));
    let memory = Memory::new(1 << 24).unwrap();
    let at = memory.alloc(1 << 20, 256, "p", Access::ReadWrite).unwrap();
    let table = memory.alloc(1024, 256, "table", Access::ReadOnly).unwrap();
    let params = LaunchParams {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        params: at.to_le_bytes().to_vec(),
        symbols: vec![table],
        ..LaunchParams::default()
    };
    let device = Catalog::embedded().unwrap().get(device).unwrap();
    simulate(&device, &kernel, &memory, &params, options).unwrap().0
}

/// A loop of 200 turns around this text.
fn turns(text: &str) -> String {
    format!(
        "mov.u32 %r9, 0;\nL: {text}
add.u32 %r9, %r9, 1; setp.lt.u32 %q1, %r9, 200; .pragma \"nounroll\"; @%q1 bra L;"
    )
}

/// Eight independent chains of multiply-adds.
fn chains() -> String {
    let step = |n: u32| format!("fma.rn.f32 %f{n}, %f{n}, %f30, %f31;\n");
    let end = |n: u32| format!("add.f32 %f29, %f29, %f{n};\n");
    let start = |n: u32| format!("cvt.rn.f32.u32 %f{n}, %r1;\n");
    let all = |of: &dyn Fn(u32) -> String| (0..8).map(of).collect::<String>();
    let ends = "mov.f32 %f29, 0f00000000;\n".to_owned() + &all(&end);
    let address =
        "mul.wide.u32 %rd2, %r4, 4; add.s64 %rd2, %rd1, %rd2; st.global.f32 [%rd2], %f29;";
    let constants = "mov.f32 %f30, %f1; mov.f32 %f31, %f2;";
    format!("{}{constants}\n{}\n{ends}{address}", all(&start), turns(&all(&step)))
}

#[test]
fn schedulers_are_between_idle_and_full() {
    let lone = run(&chains(), "H200", [1, 32], &Options::default());
    let full = run(&chains(), "H200", [132 * 4, 256], &Options::default());
    for report in [&lone, &full] {
        let s = &report.scheduler;
        let schedulers = f64::from(report.device.schedulers);
        let warps = report.summary.achieved_occupancy * f64::from(report.occupancy.max_warps);
        assert!((s.active_warps * schedulers - warps).abs() < 1e-9);
        assert_eq!(s.theoretical_warps * schedulers, f64::from(report.occupancy.warps));
        assert!(s.active_warps <= s.theoretical_warps, "{s:?}");
        assert!(s.eligible_warps <= s.active_warps && s.issued <= s.eligible_warps + 1e-9, "{s:?}");
        assert!(s.issued <= 1.0 - s.no_eligible + 1e-9, "{s:?}");
    }
    // One warp has three schedulers of four idle; eight warps each keep them busy.
    assert!(lone.scheduler.no_eligible > 0.75, "{:?}", lone.scheduler);
    assert!(full.scheduler.no_eligible < 0.2, "{:?}", full.scheduler);
    assert!(full.scheduler.eligible_warps > 1.0, "{:?}", full.scheduler);
    // What is used most comes first, and the pipes are among it.
    assert!(full.units.is_sorted_by(|a, b| a.share >= b.share), "{:?}", full.units);
    let share = |name: &str| full.units.iter().find(|u| u.name == name).map(|u| u.share);
    for pipe in &full.pipes {
        assert_eq!(share(&format!("{} pipe", pipe.name)), Some(pipe.busy));
    }
    assert!(share("issue slots").is_some() && share("device memory").is_some());
}

#[test]
fn activity_adds_up() {
    let body = "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2; ld.global.u32 %r5, [%rd2];
bar.sync 0; add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5;";
    let report = run(body, "H200", [1024, 256], &Options::default());
    assert!(report.activity.len() > 100, "{}", report.activity.len());
    let (mut from, mut slots, mut bytes) = (0, 0.0, 0.0);
    for span in &report.activity {
        let clocks = (span.until - from) as f64;
        slots += span.ipc * clocks * f64::from(report.device.multiprocessors);
        bytes += span.dram_gbps * clocks / report.device.sm_mhz * 1e3;
        from = span.until;
    }
    assert_eq!(from, report.summary.cycles);
    let close = |a: f64, b: u64| (a - b as f64).abs() < 0.01 * b as f64 + 1.0;
    assert!(close(slots, report.summary.issue_slots), "{slots}");
    let moved = report.memory.dram_read + report.memory.dram_written;
    assert!(close(bytes, moved), "{bytes} of {moved}");
    // Eight blocks on each SM, of 7.8 that there are: the first SM is idle before the end.
    let tail = report.summary.tail.unwrap();
    assert!(tail > 0.0 && tail < 0.6, "{tail}");
    assert_eq!(report.activity.last().unwrap().blocks, 0);
    assert!(report.activity.iter().any(|span| span.blocks == 1024));
}

#[test]
fn memory_is_told_by_operation() {
    let body = "mul.wide.u32 %rd2, %r4, 4; add.s64 %rd2, %rd1, %rd2;
ld.global.u32 %r5, [%rd2]; and.b32 %r6, %r4, 7; mul.wide.u32 %rd3, %r6, 4; mov.u64 %rd4, table;
add.s64 %rd4, %rd4, %rd3;
ld.const.u32 %r8, [%rd4]; add.u32 %r5, %r5, %r8; shl.b32 %r10, %r4, 7; and.b32 %r10, %r10, 4095;
mov.u32 %r11, s; add.u32 %r11, %r11, %r10;
st.shared.u32 [%r11], %r5; bar.sync 0; ld.global.u32 %r12, [%rd2]; ld.shared.u32 %r13, [%r11];
add.u32 %r12, %r12, %r13; st.global.u32 [%rd2+8192], %r12; red.global.add.u32 [%rd1+65536], %r12;";
    let report = run(body, "H200", [1, 64], &Options::default());
    let of = |space, kind: &str| {
        let found = report.operations.iter().find(|o| o.space == space && o.kind == kind);
        found.unwrap_or_else(|| panic!("{kind}: {:?}", report.operations))
    };
    let loads = of(MemorySpace::Global, "load");
    // The second load of a line has its sectors in L1.
    assert_eq!((loads.requests, loads.transactions, loads.hits), (4, 16, 8));
    assert_eq!((loads.bytes_used, loads.bytes_moved), (512, 512));
    let stores = of(MemorySpace::Global, "store");
    assert_eq!((stores.requests, stores.transactions, stores.hits), (2, 8, 0));
    assert_eq!(of(MemorySpace::Global, "reduction").requests, 2);
    // 32 lanes on one bank.
    let shared = of(MemorySpace::Shared, "store");
    assert_eq!((shared.requests, shared.wavefronts, shared.conflicts), (2, 64, 62));
    let constants = of(MemorySpace::Constant, "load");
    assert_eq!((constants.requests, constants.transactions), (2, 16));
    let cache = report.memory.constant;
    // The second warp finds the line that the first one brought.
    assert_eq!((cache.read_hits, cache.read_misses), (1, 1));
    assert_eq!(report.memory.l1.read_hits, 8);
}

#[test]
fn tensor_cores_are_counted() {
    let product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, \
{%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f0, %f1, %f2, %f3};";
    let registers = (10..16).map(|n| format!("mov.u32 %r{n}, %r4;\n")).collect::<String>();
    let sums = (0..4).map(|n| format!("mov.f32 %f{n}, 0f00000000;\n")).collect::<String>();
    let stores = (0..4).map(|n| format!("st.global.f32 [%rd1+{}], %f{n};\n", 4 * n));
    let body = format!("{registers}{sums}{}{}", turns(product), stores.collect::<String>());
    let report = run(&body, "H200", [2, 64], &Options::default());
    let s = &report.summary;
    assert_eq!(s.tensor_operations, 4 * 200 * 2 * 16 * 8 * 16);
    let seconds = s.cycles as f64 / report.device.sm_mhz / 1e6;
    let rate = s.tensor_operations as f64 / seconds / 1e9;
    assert!((s.tensor_gflops / rate - 1.0).abs() < 1e-6);
    assert!(report.pipes.iter().any(|pipe| pipe.name == "tensor" && pipe.busy > 0.0));
}

/// A warp whose lanes leave a loop after one to eight turns; in turn n they load words n apart.
const LEAVING: &str = "and.b32 %r5, %r4, 7; mov.u32 %r6, 0; mov.u32 %r8, 0;
LOOP: add.u32 %r6, %r6, 1; mul.lo.u32 %r7, %r4, %r6;
mul.wide.u32 %rd2, %r7, 4; add.s64 %rd2, %rd1, %rd2;
ld.global.u32 %r10, [%rd2];
add.u32 %r8, %r8, %r10;
setp.le.u32 %q1, %r6, %r5; .pragma \"nounroll\";
@%q1 bra LOOP;
mul.wide.u32 %rd3, %r4, 4; add.s64 %rd3, %rd1, %rd3;
st.global.u32 [%rd3+4096], %r8;";

fn following(block: u64, warp: u32, accesses: Vec<(u32, u64)>) -> Options {
    let config = Config { warp: Some(WarpChoice { block, warp }), ..Config::default() };
    Options { config, accesses, ..Options::default() }
}

#[test]
fn a_warp_is_followed() {
    let report = run(LEAVING, "H200", [4, 64], &following(3, 1, vec![]));
    let warp = report.warp.as_ref().unwrap();
    assert_eq!((warp.block, warp.warp, warp.truncated), (3, 1, false));
    // Four lanes fewer in each turn, then all of them.
    let lanes: Vec<(u32, u32)> =
        warp.parts.iter().map(|p| (p.depth, p.lanes.count_ones())).collect();
    let mut expected: Vec<(u32, u32)> = (0..8).map(|n| (n, 32 - 4 * n)).collect();
    expected.push((0, 32));
    assert_eq!(lanes, expected);
    assert!(warp.parts[1..8].iter().all(|p| p.begins == Begins::Split));
    assert_eq!(warp.parts[8].begins, Begins::Rejoin);
    assert_eq!((warp.branches, warp.divergent), (8, 7));
    // Lines say where, and clocks go on.
    let text = |line: u32| report.lines[line as usize].text.as_str();
    for part in &warp.parts[1..8] {
        assert!(text(part.branch.unwrap()).contains("bra LOOP"));
        assert!(text(part.first).starts_with("add.u32 %r6"), "{}", text(part.first));
    }
    let clocks: Vec<[u64; 2]> = warp.parts.iter().map(|p| p.clocks.unwrap()).collect();
    assert!(clocks.windows(2).all(|w| w[0][1] <= w[1][0] + 64), "{clocks:?}");
    assert!(clocks[8][1] > clocks[0][0] && clocks[8][1] <= report.summary.cycles);
    assert_eq!(warp.parts.iter().map(|p| p.instructions).sum::<u64>(), warp.instructions);
    let whole: u64 =
        warp.parts.iter().map(|p| p.instructions * u64::from(p.lanes.count_ones())).sum();
    let mean = whole as f64 / warp.instructions as f64;
    assert!((warp.lanes_per_instruction - mean).abs() < 1e-9);
    // The first access of each line.
    let loads = report.lines.iter().position(|l| l.text.starts_with("ld.global")).unwrap() as u32;
    assert_eq!(warp.executions.first(), Some(&(loads, 8)));
    assert_eq!(warp.accesses.len(), 2);
    assert!(warp.accesses.iter().all(|a| a.execution == 1));
    // No grid has a warp that it does not have.
    let none = run(LEAVING, "H200", [4, 64], &following(4, 0, vec![]));
    assert_eq!(none.warp, None);
}

#[test]
fn any_access_can_be_chosen() {
    let first = run(LEAVING, "H200", [1, 32], &following(0, 0, vec![]));
    let line = first.lines.iter().find(|l| l.text.starts_with("ld.global")).unwrap().ptx_line;
    for turn in 1..=8 {
        let report = run(LEAVING, "H200", [1, 32], &following(0, 0, vec![(line, turn)]));
        let accesses = &report.warp.as_ref().unwrap().accesses;
        assert_eq!(accesses.len(), 1);
        let access = &accesses[0];
        assert_eq!((access.execution, access.space), (turn, MemorySpace::Global));
        // What the lanes that are left want, and the sectors that this takes.
        let base = access.pattern.lanes.iter().flatten().next().unwrap() / 4096 * 4096;
        let mut sectors = std::collections::BTreeSet::new();
        for lane in 0..32_u64 {
            let address = (lane % 8 + 1 >= turn).then_some(base + lane * turn * 4);
            assert_eq!(access.pattern.lanes[lane as usize], address, "turn {turn}, lane {lane}");
            sectors.extend(address.map(|a| a / 32));
        }
        assert_eq!(access.pattern.cost as usize, sectors.len());
    }
    let none = run(LEAVING, "H200", [1, 32], &following(0, 0, vec![(line, 9), (line + 1, 1)]));
    assert!(none.warp.unwrap().accesses.is_empty());
}

/// A block that nobody simulates can be followed too; only clocks are not known.
#[test]
fn a_warp_of_a_block_that_is_not_simulated_is_followed() {
    let mut options = following(60_000, 0, vec![]);
    options.config.max_instructions = Some(1);
    let report = run(LEAVING, "T4", [64_000, 32], &options);
    assert!(report.sampling.is_some());
    let warp = report.warp.unwrap();
    assert_eq!((warp.block, warp.parts.len(), warp.accesses.len()), (60_000, 9, 2));
    assert!(warp.parts.iter().all(|part| part.clocks.is_none()));
    // Following one changes no time.
    options.config.warp = None;
    let other = run(LEAVING, "T4", [64_000, 32], &options);
    assert_eq!(report.summary, other.summary);
}
