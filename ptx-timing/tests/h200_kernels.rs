//! Kernels recorded on an H200, against the simulation of their event streams: memory-bound copies,
//! transposes, matrix multiplication, a reduction, atomics. The streams follow the kernels' PTX;
//! what ptxas folds away (parameter loads, `cvta`, an address addition behind a wide multiply) is
//! left out.

mod common;
#[path = "common/kernel.rs"]
mod kernel;

use std::sync::LazyLock;

use kernel::{Emit, run_kernel};
use ptx_timing::event::Space;
use ptx_timing::occupancy::BlockNeeds;
use ptx_timing::sim::Outcome;
use ptx_timing::{Catalog, Class, Config, Profile, WarpAccess};

fn h200() -> Profile {
    Catalog::embedded().unwrap().get("H200").unwrap()
}

fn needs(threads: u32, registers: u32, shared: u32) -> BlockNeeds {
    BlockNeeds { threads, registers, shared, arguments: 0 }
}

const A: u64 = 1 << 32;
const B: u64 = 2 << 32;
const C: u64 = 3 << 32;

static LABELS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| (0..256).map(|i| &*Box::leak(format!("step {i}").into_boxed_str())).collect());

fn index(e: &mut Emit) {
    e.op("mov ctaid", Class::SpecialRegister, &[0], &[]);
    e.op("mov tid", Class::SpecialRegister, &[2], &[]);
    e.op("mad index", Class::IntMul, &[3], &[0, 2]);
}

fn vecadd(p: &Profile, n: u64, block: u32) -> Outcome {
    let per_block = u64::from(block);
    run_kernel(p, &needs(block, 16, 0), n / per_block, Config::default(), |b, w, e| {
        index(e);
        e.op("setp", Class::Compare, &[4], &[3]);
        e.op("bra", Class::Branch, &[], &[4]);
        e.op("mul.wide a", Class::IntMulWide, &[5], &[3]);
        e.op("mul.wide b", Class::IntMulWide, &[6], &[3]);
        let at = |l: u64| (b * per_block + w * 32 + l) * 4;
        e.load("ld b", 7, 6, |l| B + at(l));
        e.load("ld a", 8, 5, |l| A + at(l));
        e.op("mul.wide c", Class::IntMulWide, &[9], &[3]);
        e.op("add", Class::F32Add, &[10], &[7, 8]);
        e.store("st", 10, 9, |l| C + at(l));
        e.op("ret", Class::Branch, &[], &[]);
    })
}

fn stride_copy(p: &Profile, stride: u64) -> Outcome {
    run_kernel(p, &needs(256, 16, 0), 4096, Config::default(), |b, w, e| {
        index(e);
        e.op("mul", Class::IntMul, &[4], &[3]);
        e.op("mul.wide in", Class::IntMulWide, &[5], &[4]);
        let at = |l: u64| (b * 256 + w * 32 + l) * stride * 4;
        e.load("ld", 7, 5, |l| A + at(l));
        e.op("mul.wide out", Class::IntMulWide, &[6], &[4]);
        e.store("st", 7, 6, |l| B + at(l));
        e.op("ret", Class::Branch, &[], &[]);
    })
}

fn transpose(p: &Profile, n: u64, padded: bool) -> Outcome {
    let side = n / 32;
    let shared = if padded { 4224 } else { 0 };
    run_kernel(p, &needs(256, 24, shared), side * side, Config::default(), |b, w, e| {
        let (bx, by) = (b % side, b / side);
        index(e);
        e.op("shl x", Class::Shift, &[11], &[0]);
        e.op("add x", Class::IntAdd, &[12], &[11]);
        e.op("mad out", Class::IntMul, &[13], &[12]);
        for j in 0..4_u64 {
            let i = j as usize * 8;
            let r = 20 + 4 * j as u32;
            let (x, y) = (|l: u64| bx * 32 + l, by * 32 + w + 8 * j);
            e.op(LABELS[i], Class::IntMulWide, &[r], &[13]);
            e.load(LABELS[i + 1], r + 1, r, |l| A + (y * n + x(l)) * 4);
            if padded {
                e.store_shared(LABELS[i + 2], r + 1, 12, |l| ((w + 8 * j) * 33 + l) * 4);
            } else {
                e.op(LABELS[i + 2], Class::IntMulWide, &[r + 2], &[13]);
                e.store(LABELS[i + 3], r + 1, r + 2, |l| B + (x(l) * n + y) * 4);
            }
        }
        if padded {
            e.barrier("bar");
            for j in 0..4_u64 {
                let i = j as usize * 8 + 4;
                let r = 40 + 4 * j as u32;
                let y = by * 32;
                e.load_shared(LABELS[i], r, 12, |l| (l * 33 + w + 8 * j) * 4);
                e.op(LABELS[i + 1], Class::IntMulWide, &[r + 1], &[13]);
                let out = |l: u64| (bx * 32 + w + 8 * j) * n + y + l;
                e.store(LABELS[i + 2], r, r + 1, |l| B + out(l) * 4);
            }
        }
        e.op("ret", Class::Branch, &[], &[]);
    })
}

fn matmul_naive(p: &Profile, n: u64) -> Outcome {
    let side = n / 16;
    run_kernel(p, &needs(256, 32, 0), side * side, Config::default(), |b, w, e| {
        let (bx, by) = (b % side, b / side);
        index(e);
        for k in 0..n {
            if k == 0 {
                e.loop_head();
            }
            let u = k % 4;
            let i = u as usize * 8;
            let r = 20 + 4 * u as u32;
            let row = |l: u64| by * 16 + (w * 32 + l) / 16;
            let col = |l: u64| bx * 16 + l % 16;
            e.op(LABELS[i], Class::IntMulWide, &[r], &[14]);
            e.op(LABELS[i + 1], Class::IntMulWide, &[r + 1], &[15]);
            e.load(LABELS[i + 2], r + 2, r + 1, |l| B + (k * n + col(l)) * 4);
            e.load(LABELS[i + 3], r + 3, r, |l| A + (row(l) * n + k) * 4);
            e.op(LABELS[i + 4], Class::F32Fma, &[12], &[r + 2, r + 3, 12]);
            if u == 3 {
                for (j, r) in (13..19).enumerate() {
                    e.op(LABELS[64 + j], Class::IntAdd, &[r], &[r]);
                }
                e.op("setp", Class::Compare, &[19], &[13]);
                e.op("bra", Class::Branch, &[], &[19]);
            }
        }
        e.op("mul.wide", Class::IntMulWide, &[9], &[3]);
        let at = |l: u64| (by * 16 + (w * 32 + l) / 16) * n + bx * 16 + l % 16;
        e.store("st", 12, 9, |l| C + at(l) * 4);
        e.op("ret", Class::Branch, &[], &[]);
    })
}

fn matmul_tiled(p: &Profile, n: u64, tile: u64) -> Outcome {
    let side = n / tile;
    let shared = (tile * tile * 8) as u32;
    let threads = (tile * tile) as u32;
    run_kernel(p, &needs(threads, 32, shared), side * side, Config::default(), |b, w, e| {
        let (bx, by) = (b % side, b / side);
        let ty = |l: u64| (w * 32 + l) / tile;
        let tx = |l: u64| l % tile;
        let half = tile * tile * 4;
        index(e);
        for t in 0..side {
            if t == 0 {
                e.loop_head();
            }
            e.op("mul.wide a", Class::IntMulWide, &[5], &[14]);
            e.op("mul.wide b", Class::IntMulWide, &[6], &[15]);
            e.load("ld a", 10, 5, |l| A + ((by * tile + ty(l)) * n + t * tile + tx(l)) * 4);
            e.load("ld b", 11, 6, |l| B + ((t * tile + ty(l)) * n + bx * tile + tx(l)) * 4);
            e.store_shared("st a", 10, 4, |l| (ty(l) * tile + tx(l)) * 4);
            e.store_shared("st b", 11, 4, |l| half + (ty(l) * tile + tx(l)) * 4);
            e.barrier("bar 1");
            // ptxas loads four consecutive words of the A row at once.
            for k in 0..tile {
                let i = k as usize * 3;
                let (a, b) = (20 + k as u32 / 4 * 4, 60 + k as u32);
                if k % 4 == 0 {
                    let lanes = (0..32).map(|l| Some((ty(l) * tile + k) * 4));
                    let access = WarpAccess::from_lanes(16, lanes);
                    e.access_wide(LABELS[i], &[a], &[4], Space::Shared, access);
                }
                e.load_shared(LABELS[i + 1], b, 4, |l| half + (k * tile + tx(l)) * 4);
                e.op(LABELS[i + 2], Class::F32Fma, &[12], &[a, b, 12]);
            }
            e.barrier("bar 2");
            for (j, r) in (13..16).enumerate() {
                e.op(LABELS[200 + j], Class::IntAdd, &[r], &[r]);
            }
            e.op("setp", Class::Compare, &[19], &[13]);
            e.op("bra", Class::Branch, &[], &[19]);
        }
        e.op("mul.wide", Class::IntMulWide, &[9], &[3]);
        let at = |l: u64| (by * tile + ty(l)) * n + bx * tile + tx(l);
        e.store("st", 12, 9, |l| C + at(l) * 4);
        e.op("ret", Class::Branch, &[], &[]);
    })
}

/// Prints one row per kernel and holds the mean absolute error of the cycles to a bound.
fn compare(kernels: &serde_json::Value, simulated: Vec<(String, Outcome)>, bound: f64) {
    let mut ratios = Vec::new();
    for (id, r) in simulated {
        let kernel = kernels.as_array().unwrap().iter().find(|k| k["id"] == *id).unwrap();
        let cold = &kernel["h200"]["ncu_cold"];
        let counter = |k: &str| cold[k].as_f64().unwrap();
        let real = counter("sm__cycles_active.avg");
        let ratio = r.cycles as f64 / real;
        println!(
            "{id:22} {:7} cycles, recorded {real:7.0}, ratio {ratio:.2}; {}",
            r.cycles, r.bound
        );
        let accesses = r.caches.l2.read_hits
            + r.caches.l2.read_misses
            + r.caches.l2.write_hits
            + r.caches.l2.write_misses;
        if id.starts_with("vecadd") || id.starts_with("stride") || id.starts_with("transpose") {
            assert_eq!(accesses as f64, counter("lts__t_sectors_srcunit_tex.sum"), "{id}: sectors");
        }
        ratios.push(ratio);
    }
    let mean = ratios.iter().map(|r| (r - 1.0).abs()).sum::<f64>() / ratios.len() as f64;
    println!("mean absolute error {:.1} %", mean * 100.0);
    assert!(mean <= bound, "{mean}");
    assert!(ratios.iter().all(|r| (0.5..2.0).contains(r)), "{ratios:?}");
}

/// Cycles of recorded launches, and L2 sectors equal to the counters.
fn recorded_copies_and_transposes() {
    let kernels = common::json_file("h200/kernels.json");
    let p = h200();
    let mut runs = vec![
        ("vecadd_4M".to_owned(), vecadd(&p, 1 << 22, 256)),
        ("vecadd_64k_b64".to_owned(), vecadd(&p, 1 << 16, 64)),
        ("transpose_naive_2048".to_owned(), transpose(&p, 2048, false)),
    ];
    for stride in [1, 2, 3, 8, 32] {
        runs.push((format!("stride_copy_{stride}"), stride_copy(&p, stride)));
    }
    compare(&kernels, runs, 0.15);
}

/// The longer ones: `cargo test --release -p ptx-timing --test h200_kernels -- --ignored --nocapture`.
fn recorded_matrix_multiplications() {
    let kernels = common::json_file("h200/kernels.json");
    let p = h200();
    let mut runs = vec![("transpose_padded_2048".to_owned(), transpose(&p, 2048, true))];
    for tile in [16, 32] {
        let begin = std::time::Instant::now();
        let r = matmul_tiled(&p, 512, tile);
        let rate = r.total.thread_instructions as f64 / begin.elapsed().as_secs_f64();
        println!("{rate:.2e} thread instructions per second, traces included");
        runs.push((format!("matmul_tiled{tile}_512"), r));
    }
    runs.push(("matmul_naive_512".to_owned(), matmul_naive(&p, 512)));
    // The padded transpose is too fast: its scattered 128-byte reads do not cost row changes.
    compare(&kernels, runs, 0.20);
}

/// Time per block and SM of a 4-byte copy against the number of resident blocks, limited by dynamic
/// shared memory.
fn copy_against_resident_blocks() {
    let micro = common::json_file("h200/micro.json");
    let p = h200();
    for threads in [256_u32, 64] {
        let rows = micro["occupancy_by_dynamic_smem"][format!("copy256MB_b{threads}")].as_object();
        for (blocks, row) in rows.unwrap() {
            let shared = row["dyn_smem"].as_u64().unwrap() as u32;
            let needs = needs(threads, 16, shared);
            let run = |per_sm: u64| {
                run_kernel(&p, &needs, 132 * per_sm, Config::default(), |b, w, e| {
                    index(e);
                    e.op("setp", Class::Compare, &[4], &[3]);
                    e.op("bra", Class::Branch, &[], &[4]);
                    e.op("mul.wide in", Class::IntMulWide, &[5], &[3]);
                    let at = |l: u64| (b * u64::from(threads) + w * 32 + l) * 4;
                    e.load("ld", 7, 5, |l| A + at(l));
                    e.op("mul.wide out", Class::IntMulWide, &[6], &[3]);
                    e.store("st", 7, 6, |l| B + at(l));
                    e.op("ret", Class::Branch, &[], &[]);
                })
            };
            let (short, long) = (run(64), run(128));
            assert_eq!(long.occupancy.blocks.to_string(), *blocks);
            let simulated = (long.cycles - short.cycles) as f64 / 64.0;
            let total = f64::from(1 << 26) / f64::from(threads) / 132.0;
            let recorded = row["ms"].as_f64().unwrap() * 1.98e6 / total;
            let ratio = simulated / recorded;
            println!(
                "{threads} threads, {blocks:>2} blocks: {simulated:6.0} clocks per block, \
                 recorded {recorded:6.0}, ratio {ratio:.2}"
            );
            assert!((ratio - 1.0).abs() <= 0.25, "{threads} threads, {blocks} blocks: {ratio}");
        }
    }
}

golden::tests! {
    recorded_copies_and_transposes: shared("facts"),
    recorded_matrix_multiplications: shared("facts").on_request("takes a minute"),
    copy_against_resident_blocks: shared("facts"),
}
