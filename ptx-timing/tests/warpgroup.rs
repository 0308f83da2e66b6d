//! Groups of products of a warpgroup, as an H200 timed them: a loop of a fence, some products to the same sums, a
//! commit and a wait for all. Recorded are clocks a turn (the difference of 48 and 16 turns, on 28 November 2026).

mod common;

use std::fmt::Write as _;
use std::sync::Arc;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_timing::Config;
use ptx_timing::replay::replay;

/// Columns of B, and the clocks of a turn with 0, 1, 2, 4 and 8 products: of one warpgroup, and of two.
const RECORDED: [(u32, [f64; 5], [f64; 5]); 4] = [
    (8, [66.0, 77.0, 90.0, 121.0, 193.0], [66.0, 77.2, 88.2, 144.2, 288.2]),
    (64, [64.0, 104.9, 132.0, 191.0, 319.0], [64.0, 103.0, 140.0, 256.0, 512.0]),
    (128, [64.0, 137.0, 190.9, 319.0, 575.0], [63.8, 143.0, 256.0, 512.0, 1008.3]),
    (256, [63.9, 200.9, 318.9, 574.9, 1086.9], [64.0, 256.0, 512.0, 1024.0, 2048.0]),
];
const PRODUCTS: [usize; 5] = [0, 1, 2, 4, 8];

/// What a turn may be off by, as a share; with 8 columns, where two warpgroups take turns at shared memory, more.
const BOUND: f64 = 0.11;
const BOUND_OF_FEW: f64 = 0.33;

fn text(columns: u32, products: usize) -> String {
    let sums = columns / 2;
    let list: Vec<String> = (0..sums).map(|i| format!("%f{i}")).collect();
    let list = list.join(", ");
    let mut text = format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry turns(.param .u64 out, .param .u32 turns) {{\n\
         .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<5>; .reg .f32 %f<{sums}>;\n\
         .shared .align 1024 .b8 s[49152];\n\
         ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [turns];\n\
         mov.u32 %r1, s; shr.u32 %r2, %r1, 4; cvt.u64.u32 %rd1, %r2;\n\
         or.b64 %rd2, %rd1, 0x4000004000080000; add.s64 %rd3, %rd2, 512;\n"
    );
    for i in 0..sums {
        writeln!(text, "mov.f32 %f{i}, 0f00000000;").unwrap();
    }
    text.push_str("loop:\nwgmma.fence.sync.aligned;\n");
    for _ in 0..products {
        writeln!(
            text,
            "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{list}}}, %rd2, %rd3, 1, 1, 1, 0, 0;"
        )
        .unwrap();
    }
    text.push_str(
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
         add.s32 %r0, %r0, -1; setp.ne.s32 %p, %r0, 0;\n@%p bra loop;\n",
    );
    for i in 1..sums {
        writeln!(text, "add.f32 %f0, %f0, %f{i};").unwrap();
    }
    text.push_str("st.global.f32 [%rd0], %f0;\nret;\n}\n");
    text
}

/// Clocks of a launch of one block.
fn clocks(text: &str, turns: u32, threads: u32) -> u64 {
    let (module, diags) = ptx_parse::parse_and_verify(text, "turns.ptx");
    assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
    let program = ptx_parse::lower::lower(&module.unwrap(), 0).unwrap();
    let kernel = Kernel::decode(Arc::new(program));
    let memory = Memory::new(1 << 24).unwrap();
    let out = memory.alloc(4096, 256, "out", Access::ReadWrite).unwrap();
    let mut params = LaunchParams { grid: [1, 1, 1], block: [threads, 1, 1], ..Default::default() };
    params.params.extend(out.to_le_bytes());
    params.params.extend(turns.to_le_bytes());
    params.symbols = vec![0; 8];
    let profile = common::profile("H200");
    let (registers, _) =
        ptx_timing::registers::of_launch(&profile, kernel.program(), params.block, None);
    let result = replay(&profile, &kernel, &memory, &params, registers, Config::default());
    result.unwrap().outcome.elapsed_cycles
}

#[test]
fn products_take_what_their_shape_takes() {
    let mut wrong = String::new();
    for (columns, one, two) in RECORDED {
        for (warpgroups, recorded) in [(1, one), (2, two)] {
            for (products, recorded) in PRODUCTS.into_iter().zip(recorded) {
                let text = text(columns, products);
                let [few, many] = [16, 48].map(|turns| clocks(&text, turns, 128 * warpgroups));
                let turn = (many - few) as f64 / 32.0;
                let share = turn / recorded;
                println!(
                    "n{columns}, {warpgroups} warpgroups, {products} products: {turn:.1} / {recorded} = {share:.2}"
                );
                let bound = if columns == 8 { BOUND_OF_FEW } else { BOUND };
                if (share - 1.0).abs() > bound {
                    writeln!(wrong, "n{columns} x {products}, {warpgroups}: {share:.2}").unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
