//! What calls cost: an empty kernel with its synchronisation, loading a module again, a copy to the device and back.
//!
//! `cargo run --release -p cuda-driver --example overhead`

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry empty() { ret; }
\0";

/// The best and the middle of `n` timings in microseconds.
fn timed(n: usize, mut f: impl FnMut()) -> (f64, f64) {
    let mut all: Vec<f64> = (0..n)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    all.sort_by(f64::total_cmp);
    (all[0], all[n / 2])
}

fn main() {
    let context = context();
    let m = module(PTX);
    let empty = function(m, "empty\0");
    let (best, middle) = timed(20_000, || {
        assert_eq!(launch(empty, [1; 3], [32, 1, 1], 0, &[]), 0);
        ok("cuCtxSynchronize", &[]);
    });
    println!("empty kernel, launch and synchronise: {middle:.2} us (best {best:.2})");
    let mut text = PTX.trim_end_matches('\0').to_owned();
    for i in 0..200 {
        text += &format!(
            ".visible .entry k{i}(.param .u64 p) {{ .reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; \
             ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, {i}; st.global.u32 [%rd1], %r2; ret; }}\n"
        );
    }
    text.push('\0');
    let start = Instant::now();
    let large = module(&text);
    let first = start.elapsed().as_secs_f64() * 1e6;
    let mut loaded = Vec::new();
    let (best, middle) = timed(500, || loaded.push(module(&text)));
    println!(
        "module of {} kB: {first:.0} us at first, {middle:.1} us again (best {best:.1})",
        text.len() / 1000
    );
    loaded.push(large);
    loaded.iter().for_each(|m| ok("cuModuleUnload", &[*m]));

    const BYTES: u64 = 256 << 20;
    let mut host = vec![1u8; BYTES as usize];
    let mut back = vec![2u8; BYTES as usize];
    let mut other = vec![3u8; BYTES as usize];
    let device = alloc(BYTES);
    let (from, to) = (at(&mut host[..]), at(&mut back[..]));
    // Memory is touched once before, on both sides alike.
    let copy = || {
        ok("cuMemcpyHtoD_v2", &[device, from, BYTES]);
        ok("cuMemcpyDtoH_v2", &[to, device, BYTES]);
    };
    copy();
    let (ours, _) = timed(7, copy);
    let (theirs, _) = timed(7, || {
        other.copy_from_slice(std::hint::black_box(&host));
        back.copy_from_slice(std::hint::black_box(&other));
    });
    let rate = |us: f64| 2.0 * BYTES as f64 / us / 1e3;
    println!(
        "256 MB to the device and back: {:.2} GB/s, memcpy {:.2} GB/s, ratio {:.2}",
        rate(ours),
        rate(theirs),
        theirs / ours
    );
    ok("cuMemFree_v2", &[device]);
    ok("cuCtxDestroy_v2", &[context]);
}
