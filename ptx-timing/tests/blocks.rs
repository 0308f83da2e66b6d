//! Launches of many blocks that do little, as an H200 timed them (`golden/data/timing/blocks.cu`).

mod common;

use ptx_interp::{Access, LaunchParams, Memory};
use ptx_timing::Config;
use ptx_timing::replay::replay;

/// A hundred multiply-adds that wait for each other.
const KERNEL: &str = ".version 8.3\n.target sm_90\n.address_size 64\n\
    .visible .entry k(.param .u64 out, .param .u32 turns) {\n\
    .reg .u64 %rd<9>; .reg .u32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<3>;\n\
    ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [turns]; mov.u32 %r2, %tid.x; cvt.rn.f32.u32 %f1, %r2;\n\
    mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;\n\
    L: fma.rn.f32 %f1, %f1, 0f3F800347, 0f3F000000; add.s32 %r1, %r1, -1; setp.ne.s32 %p1, %r1, 0; @%p1 bra L;\n\
    st.global.f32 [%rd3], %f1; ret; }\n";

/// Every block more than others keeps the launch for 1.2 clocks, however little it does.
#[test]
fn ends_of_blocks_are_noticed_one_after_the_other() {
    let text = std::fs::read_to_string(common::timing_folder().join("blocks.json")).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (module, _) = ptx_parse::parse_and_verify(KERNEL, "k.ptx");
    let kernel = common::kernel(&module.unwrap(), "k");
    let profile = common::profile("H200");
    let modelled = |blocks: u32, threads: u32| {
        let memory = Memory::new(1 << 20).unwrap();
        let out = memory.alloc(4096, 256, "out", Access::ReadWrite).unwrap();
        let params = [out.to_le_bytes().to_vec(), 100_u32.to_le_bytes().to_vec()].concat();
        let grid = [blocks, 1, 1];
        let launch =
            LaunchParams { grid, block: [threads, 1, 1], params, ..LaunchParams::default() };
        let result = replay(&profile, &kernel, &memory, &launch, 64, Config::default()).unwrap();
        result.outcome.elapsed_cycles as f64
    };
    let of = |blocks: u32, threads: u32| {
        let launches = recorded["launches"].as_array().unwrap().iter();
        let mut found = launches
            .filter(|l| l["blocks"] == blocks && l["threads"] == threads && l["turns"] == 100);
        found.next().unwrap()["elapsed"].as_f64().unwrap()
    };
    for threads in [32, 64] {
        for blocks in [1056, 2048] {
            let device = of(blocks, threads) - of(264, threads);
            let model = modelled(blocks, threads) - modelled(264, threads);
            println!("{blocks} blocks of {threads}: {model} clocks more, {device} on the device");
            assert!(
                (model / device - 1.0).abs() < 0.15,
                "{blocks} of {threads}: {model}, {device}"
            );
        }
    }
}
