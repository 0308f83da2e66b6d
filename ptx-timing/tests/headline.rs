//! Performance results printed in NVIDIA's guides and in lecture slides, against the simulation of
//! the same kernels' event streams.

mod common {
    pub mod kernel;
}

use std::sync::LazyLock;

use common::kernel::{Emit, run_kernel};
use ptx_timing::occupancy::BlockNeeds;
use ptx_timing::sim::Outcome;
use ptx_timing::{Catalog, Class, Config, Profile};

fn device(name: &str) -> Profile {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());
    CATALOG.get(name).unwrap_or_else(|e| panic!("{e}"))
}

fn needs(threads: u32, registers: u32, shared: u32) -> BlockNeeds {
    BlockNeeds { threads, registers, shared, arguments: 0 }
}

const A: u64 = 1 << 28;
const B: u64 = 2 << 28;
const C: u64 = 3 << 28;

/// Global index of a thread and the two addresses made from it.
fn index(e: &mut Emit) {
    e.op("mov ctaid", Class::SpecialRegister, &[0], &[]);
    e.op("mov ntid", Class::SpecialRegister, &[1], &[]);
    e.op("mov tid", Class::SpecialRegister, &[2], &[]);
    e.op("mad index", Class::IntMul24, &[3], &[0, 1, 2]);
    e.op("add offset or mul stride", Class::IntAdd, &[3], &[3]);
    e.op("shl", Class::Shift, &[4], &[3]);
    e.op("add in", Class::IntAdd, &[5], &[4]);
    e.op("add out", Class::IntAdd, &[6], &[4]);
}

/// `out[i] = in[i]` with i = thread * stride + offset, in words of `word` bytes handled as 4-byte
/// accesses. Returns useful GB/s, read and write together.
fn copy_gbps(p: &Profile, offset: u64, stride: u64) -> f64 {
    let blocks = u64::from(p.device.multiprocessors) * 300;
    let r = run_kernel(p, &needs(256, 10, 0), blocks, Config::default(), |block, warp, e| {
        index(e);
        let at = |l: u64| ((block * 256 + warp * 32 + l) * stride + offset) * 4;
        e.load("ld", 7, 5, |l| A + at(l));
        e.store("st", 7, 6, |l| B + at(l));
        e.op("exit", Class::Branch, &[], &[]);
    });
    useful_gbps(p, &r, blocks * 256 * 8)
}

fn useful_gbps(p: &Profile, r: &Outcome, bytes: u64) -> f64 {
    bytes as f64 / (r.cycles as f64 / p.clock.sm_mhz * 1e3)
}

/// CUDA C Best Practices Guide, effects of misaligned accesses: about 130 GB/s at offsets that are
/// multiples of 32 words, about 4/5 of that elsewhere.
#[test]
fn m2090_offset_copy() {
    let p = device("M2090");
    let aligned = copy_gbps(&p, 0, 1);
    println!("M2090 offsetCopy: offset 0: {aligned:.1} GB/s (printed 130)");
    assert!((aligned / 130.0 - 1.0).abs() < 0.1);
    assert!((copy_gbps(&p, 32, 1) / aligned - 1.0).abs() < 0.03);
    for offset in [1, 7, 8, 13, 16, 31] {
        let share = copy_gbps(&p, offset, 1) / aligned;
        println!("M2090 offsetCopy: offset {offset}: {share:.2} of that (printed 0.8)");
        assert!((share - 0.8).abs() <= 0.07, "offset {offset}: {share}");
    }
}

/// The same guide, strided accesses: half at stride 2, falling further with the stride.
#[test]
fn m2090_stride_copy() {
    let p = device("M2090");
    let one = copy_gbps(&p, 0, 1);
    let mut last = one;
    for stride in [2, 3, 4, 6, 8, 16, 32] {
        let gbps = copy_gbps(&p, 0, stride);
        println!("M2090 strideCopy: stride {stride}: {:.2}", gbps / one);
        if stride == 2 {
            assert!((gbps / one - 0.5).abs() <= 0.1, "{}", gbps / one);
        }
        assert!(gbps <= last * 1.001, "stride {stride}: {gbps} after {last}");
        last = gbps;
    }
}

/// OpenCL Programming Guide 2.3, 3.1.2.1: non-coalesced accesses are about ten, four and two times
/// slower for words of 4, 8 and 16 bytes.
#[test]
fn uncoalesced_on_1x() {
    let p = device("8800 GTX");
    let coalesced = copy_gbps(&p, 0, 1);
    let scattered = copy_gbps(&p, 0, 16);
    let ratio = coalesced / scattered;
    println!("8800 GTX: uncoalesced 4-byte accesses {ratio:.1} times slower (printed: about 10)");
    assert!((6.0..=14.0).contains(&ratio), "{ratio}");
}

/// Naive matrix multiplication of n x n, 16 x 16 threads, as GFLOP/s.
fn naive_gflops(p: &Profile, n: u64, config: Config) -> (f64, Outcome) {
    let per_row = n / 16;
    let r = run_kernel(p, &needs(256, 10, 0), per_row * per_row, config, |block, warp, e| {
        let (bx, by) = (block % per_row, block / per_row);
        index(e);
        for k in 0..n {
            if k == 0 {
                e.loop_head();
            }
            let row = |l: u64| by * 16 + (warp * 32 + l) / 16;
            let col = |l: u64| bx * 16 + l % 16;
            e.load("ld a", 10, 5, |l| A + (row(l) * n + k) * 4);
            e.load("ld b", 11, 6, |l| B + (k * n + col(l)) * 4);
            e.op("mad", Class::F32Fma, &[12], &[10, 11, 12]);
            e.op("add a", Class::IntAdd, &[5], &[5]);
            e.op("add b", Class::IntAdd, &[6], &[6]);
            e.op("add k", Class::IntAdd, &[13], &[13]);
            e.op("setp", Class::Compare, &[14], &[13]);
            e.op("bra", Class::Branch, &[], &[14]);
        }
        let at = |l: u64| (by * 16 + (warp * 32 + l) / 16) * n + bx * 16 + l % 16;
        e.store("st", 12, 6, |l| C + at(l) * 4);
        e.op("exit", Class::Branch, &[], &[]);
    });
    (2.0 * (n as f64).powi(3) / (r.cycles as f64 / p.clock.sm_mhz * 1e3), r)
}

/// Tiled matrix multiplication with 16 x 16 tiles in shared memory.
fn tiled_gflops(p: &Profile, n: u64, config: Config) -> (f64, Outcome) {
    let per_row = n / 16;
    let r = run_kernel(p, &needs(256, 10, 2048), per_row * per_row, config, |block, warp, e| {
        let (bx, by) = (block % per_row, block / per_row);
        index(e);
        let ty = |l: u64| (warp * 32 + l) / 16;
        let tx = |l: u64| l % 16;
        for tile in 0..per_row {
            if tile == 0 {
                e.loop_head();
            }
            e.load("ld a", 10, 5, |l| A + ((by * 16 + ty(l)) * n + tile * 16 + tx(l)) * 4);
            e.load("ld b", 11, 6, |l| B + ((tile * 16 + ty(l)) * n + bx * 16 + tx(l)) * 4);
            e.store_shared("st a", 10, 4, |l| (ty(l) * 16 + tx(l)) * 4);
            e.store_shared("st b", 11, 4, |l| 1024 + (ty(l) * 16 + tx(l)) * 4);
            e.barrier("bar 1");
            for k in 0..16 {
                // Unrolled: every step has its own registers.
                let (a, b) = (20 + 2 * k as u32, 21 + 2 * k as u32);
                e.load_shared(LABELS[3 * k], a, 4, |l| (ty(l) * 16 + k as u64) * 4);
                e.load_shared(LABELS[3 * k + 1], b, 4, |l| 1024 + (k as u64 * 16 + tx(l)) * 4);
                e.op(LABELS[3 * k + 2], Class::F32Fma, &[12], &[a, b, 12]);
            }
            e.barrier("bar 2");
            e.op("add a", Class::IntAdd, &[5], &[5]);
            e.op("add b", Class::IntAdd, &[6], &[6]);
            e.op("setp", Class::Compare, &[14], &[5]);
            e.op("bra", Class::Branch, &[], &[14]);
        }
        let at = |l: u64| (by * 16 + ty(l)) * n + bx * 16 + tx(l);
        e.store("st", 12, 6, |l| C + at(l) * 4);
        e.op("exit", Class::Branch, &[], &[]);
    });
    (2.0 * (n as f64).powi(3) / (r.cycles as f64 / p.clock.sm_mhz * 1e3), r)
}

/// Labels of an unrolled loop of 32 steps of 3 instructions.
static LABELS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    (0..96).map(|i| &*Box::leak(format!("unrolled {i}").into_boxed_str())).collect()
});

/// Lecture slides 33 to 37 and 56 to 58: about 15 GFLOP/s for the naive multiplication, under the
/// bound of 21.6; memory no longer limits the tiled one.
#[test]
fn g80_matrix_multiplication() {
    let p = device("8800 GTX");
    let config = Config { max_blocks: Some(48), ..Default::default() };
    let (naive, report) = naive_gflops(&p, 1024, config);
    println!("G80 naive matmul 1024: {naive:.1} GFLOP/s (printed 15), {}", report.bound);
    let (tiled, report) = tiled_gflops(&p, 1024, config);
    println!("G80 tiled matmul 1024: {tiled:.1} GFLOP/s, {}", report.bound);
    assert!((naive / 15.0 - 1.0).abs() <= 0.15 && naive < 21.6, "{naive}");
    assert!(tiled >= 5.0 * naive, "{tiled}");
    let reads = |r: &Outcome| r.per_pc.iter().map(|c| c.dram_bytes).sum::<u64>();
    assert!(reads(&report) > 0);
}

/// C = A (m x 32) * B (32 x n) with 32 x 32 threads; how much of it goes through shared memory.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Simple,
    SharedA,
    SharedAB,
}

fn outer_cycles(p: &Profile, n: u64, variant: Variant) -> u64 {
    let shared = match variant {
        Variant::Simple => 0,
        Variant::SharedA => 4096,
        Variant::SharedAB => 8192,
    };
    let per_row = n / 32;
    let config = Config { max_blocks: Some(14 * 8), ..Default::default() };
    let r = run_kernel(p, &needs(1024, 20, shared), per_row * per_row, config, |block, warp, e| {
        let (bx, by) = (block % per_row, block / per_row);
        index(e);
        let (row, col) = (by * 32 + warp, |l: u64| bx * 32 + l);
        if variant != Variant::Simple {
            e.load("ld tile a", 10, 5, |l| A + (row * 32 + l) * 4);
            e.store_shared("st tile a", 10, 4, |l| (warp * 32 + l) * 4);
        }
        if variant == Variant::SharedAB {
            e.load("ld tile b", 11, 6, |l| B + (warp * n + col(l)) * 4);
            e.store_shared("st tile b", 11, 4, |l| 4096 + (warp * 32 + l) * 4);
            e.barrier("bar");
        }
        for k in 0..32_u64 {
            let i = k as usize;
            let (a, b) = (20 + 2 * k as u32, 21 + 2 * k as u32);
            if variant == Variant::Simple {
                e.load(LABELS[3 * i], a, 5, |_| A + (row * 32 + k) * 4);
            } else {
                e.load_shared(LABELS[3 * i], a, 4, |_| (warp * 32 + k) * 4);
            }
            if variant == Variant::SharedAB {
                e.load_shared(LABELS[3 * i + 1], b, 4, |l| 4096 + (k * 32 + l) * 4);
            } else {
                e.load(LABELS[3 * i + 1], b, 6, |l| B + (k * n + col(l)) * 4);
            }
            e.op(LABELS[3 * i + 2], Class::F32Fma, &[12], &[a, b, 12]);
        }
        e.store("st", 12, 6, |l| C + (row * n + col(l)) * 4);
        e.op("exit", Class::Branch, &[], &[]);
    });
    println!("  {} cycles, {}", r.cycles, r.bound);
    r.cycles
}

/// CUDA C Best Practices Guide, shared memory in matrix multiplication: 6.6, 7.8, 14.9 GB/s on a
/// K20X, that is 1 : 1.18 : 2.26.
#[test]
fn k20x_shared_memory_steps() {
    let p = device("K20X");
    let simple = outer_cycles(&p, 1024, Variant::Simple) as f64;
    for (variant, name, printed) in [
        (Variant::SharedA, "coalescedMultiply", 1.18),
        (Variant::SharedAB, "sharedABMultiply", 2.26),
    ] {
        let ratio = simple / outer_cycles(&p, 1024, variant) as f64;
        println!("K20X {name}: {ratio:.2} times simpleMultiply (printed {printed})");
        assert!((ratio / printed - 1.0).abs() <= 0.15, "{name}: {ratio}, printed {printed}");
    }
}
