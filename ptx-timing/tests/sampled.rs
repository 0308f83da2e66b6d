//! Launches of which only a part is simulated.

use std::sync::Arc;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_timing::{Catalog, Config, Options, simulate};

const BLOCKS: u32 = 4000;

/// Each thread adds one to its word; blocks at odd places copy it through shared memory by `cp.async`.
const TEXT: &str = ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %q;
    .shared .align 16 .b8 s[256];
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 64, %r2; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;
    and.b32 %r4, %r1, 1; setp.eq.u32 %q, %r4, 0;
    shl.b32 %r5, %r2, 2; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
    @%q bra PLAIN;
    cp.async.ca.shared.global [%r6], [%rd3], 4; cp.async.wait_all; bar.sync 0; ld.shared.u32 %r7, [%r6];
    bra JOIN;
PLAIN: ld.global.u32 %r7, [%rd3];
JOIN: add.u32 %r7, %r7, 1; st.global.u32 [%rd3], %r7; ret;
}\n";

/// What a launch left behind.
struct Ran {
    words: Vec<u8>,
    /// Thread instructions that were executed.
    instructions: u64,
    /// Blocks that were simulated.
    simulated: u64,
    /// GB/s that device memory moved.
    moved: f64,
}

fn run(config: Config) -> Ran {
    let (module, diags) = ptx_parse::parse_and_verify(TEXT, "k.ptx");
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let kernel = Kernel::decode(Arc::new(ptx_parse::lower::lower(&module, 0).unwrap()));
    let memory = Memory::new(1 << 24).unwrap();
    let mut words: Vec<u8> = (0..BLOCKS * 64).flat_map(u32::to_le_bytes).collect();
    let at = memory.alloc(words.len() as u64, 256, "p", Access::ReadWrite).unwrap();
    memory.write(at, &words).unwrap();
    let launch = LaunchParams {
        grid: [BLOCKS, 1, 1],
        block: [64, 1, 1],
        params: at.to_le_bytes().to_vec(),
        ..LaunchParams::default()
    };
    let device = Catalog::embedded().unwrap().get("T4").unwrap();
    let options = Options { config, ..Options::default() };
    let (report, stats) = simulate(&device, &kernel, &memory, &launch, &options).unwrap();
    memory.read(at, &mut words).unwrap();
    let simulated = report.sampling.map_or(u64::from(BLOCKS), |s| s.simulated);
    let instructions = stats.thread_instructions;
    Ran { words, instructions, simulated, moved: report.memory.dram_gbps }
}

/// Blocks that nobody simulates run all the same.
#[test]
fn the_whole_grid_runs() {
    let part = run(Config { max_instructions: Some(1), ..Config::default() });
    let whole = run(Config::default());
    assert_eq!(whole.simulated, u64::from(BLOCKS));
    assert!(part.simulated < whole.simulated / 2, "{}", part.simulated);
    assert_eq!(part.instructions, whole.instructions);
    let expected: Vec<u8> = (1..=BLOCKS * 64).flat_map(u32::to_le_bytes).collect();
    assert!(part.words == expected && whole.words == expected);
    // The bytes of the whole grid in the time of the whole grid.
    let ratio = part.moved / whole.moved;
    assert!((0.7..1.4).contains(&ratio), "{} and {} GB/s", part.moved, whole.moved);
}
