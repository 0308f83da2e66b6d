//! The same kernels on five generations: `cargo run --release -p ptx-timing --example devices`.

use std::sync::Arc;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_timing::report::Report;
use ptx_timing::{Catalog, Config, Options, Profile, simulate};

const TEXT: &str = include_str!("kernels.ptx");

fn run(profile: &Profile, entry: &str, n: u32) -> Report {
    let (module, diags) = ptx_parse::parse_and_verify(TEXT, "kernels.ptx");
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let index = ptx_parse::lower::entry_index(&module, entry).expect("the entry is there");
    let program = ptx_parse::lower::lower(&module, index).expect("all instructions can run");
    let buffers = program.params.len() - 1;
    let kernel = Kernel::decode(Arc::new(program));
    let memory = Memory::new(1 << 30).expect("address space");
    let mut params = LaunchParams {
        grid: [n / 16, n / 16, 1],
        block: [16, 16, 1],
        threads: 1,
        ..Default::default()
    };
    for _ in 0..buffers {
        let bytes = u64::from(n) * u64::from(n) * 4;
        let at = memory.alloc(bytes, 256, "matrix", Access::ReadWrite).expect("memory");
        params.params.extend(at.to_le_bytes());
    }
    params.params.extend(n.to_le_bytes());
    let config = Config { max_instructions: Some(1_000_000), ..Default::default() };
    let options = Options { config, ..Default::default() };
    let result = simulate(profile, &kernel, &memory, &params, &options);
    result.unwrap_or_else(|e| panic!("{}, {entry}: {e}", profile.name)).0
}

fn main() {
    let catalog = Catalog::embedded().expect("the embedded profiles are consistent");
    println!(
        "{:12} {:>16} {:>16} {:>7} {:>18} {:>18} {:>7}",
        "", "matmul naive", "tiled", "", "transpose naive", "padded", ""
    );
    for name in ["8800 GTX", "GTX 280", "M2090", "K20X", "H200"] {
        let profile = catalog.get(name).expect("a known device");
        let (matrix, transpose) = (512, 1024);
        let gflops = |entry| run(&profile, entry, matrix).summary.f32_gflops;
        let gbps = |entry| {
            let report = run(&profile, entry, transpose);
            let nanoseconds = report.summary.cycles as f64 / profile.clock.sm_mhz * 1e3;
            f64::from(transpose * transpose) * 8.0 / nanoseconds
        };
        let (naive, tiled) = (gflops("matmul_naive"), gflops("matmul_tiled"));
        let (plain, padded) = (gbps("transpose_naive"), gbps("transpose_padded"));
        println!(
            "{name:12} {naive:9.1} GFLOP/s {tiled:9.1} GFLOP/s {:6.1}x {plain:13.1} GB/s {padded:13.1} GB/s {:6.1}x",
            tiled / naive,
            padded / plain
        );
    }
}
