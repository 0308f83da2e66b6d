//! What must hold between two simulations whatever the numbers of a profile are: a change of the
//! device or the kernel whose effect is known in direction or size.

#[path = "common/kernel.rs"]
mod kernel;

use std::sync::LazyLock;

use kernel::{Emit, run_kernel};
use ptx_timing::occupancy::BlockNeeds;
use ptx_timing::sim::Outcome;
use ptx_timing::{Catalog, Class, Config, Profile};

static LABELS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| (0..512).map(|i| &*Box::leak(format!("step {i}").into_boxed_str())).collect());

fn h200() -> Profile {
    Catalog::embedded().unwrap().get("H200").unwrap()
}

fn needs(threads: u32, registers: u32) -> BlockNeeds {
    BlockNeeds { threads, registers, shared: 0, arguments: 0 }
}

/// Multiply-adds in some chains.
fn multiply_adds(p: &Profile, blocks: u64, threads: u32, chains: u32, steps: usize) -> Outcome {
    run_kernel(p, &needs(threads, 32), blocks, Config::default(), |_, _, e| {
        for (i, label) in LABELS.iter().take(steps).enumerate() {
            let r = i as u32 % chains;
            e.op(label, Class::F32Fma, &[r], &[r]);
        }
    })
}

const IN: u64 = 1 << 32;
const OUT: u64 = 2 << 32;

/// Every lane copies a word, `stride` words from its neighbour's.
fn copy(p: &Profile, blocks: u64, stride: u64, config: Config) -> Outcome {
    run_kernel(p, &needs(256, 32), blocks, config, |b, w, e| {
        let at = |l: u64| (b * 256 + w * 32 + l) * 4 * stride;
        e.op("index", Class::IntMul, &[0], &[]);
        e.load("load", 1, 0, |l| IN + at(l));
        e.store("store", 1, 0, |l| OUT + at(l));
    })
}

/// Loads of shared memory whose lanes lie `stride` words apart.
fn shared(p: &Profile, stride: u64) -> Outcome {
    run_kernel(p, &needs(256, 32), 132, Config::default(), |_, _, e| {
        for (i, label) in LABELS.iter().take(32).enumerate() {
            e.load_shared(label, i as u32 + 1, 0, |l| l * 4 * stride);
        }
        e.op("use", Class::F32Add, &[2], &[1]);
    })
}

fn near(a: f64, b: f64, share: f64) -> bool {
    (a / b - 1.0).abs() <= share
}

#[test]
fn arithmetic_takes_the_same_clocks_at_any_clock_rate() {
    let slow = multiply_adds(&h200(), 264, 256, 4, 256);
    let mut fast = h200();
    fast.clock.sm_mhz *= 2.0;
    let fast = multiply_adds(&fast, 264, 256, 4, 256);
    assert_eq!(slow.cycles, fast.cycles);
    assert!(near(slow.microseconds, 2.0 * fast.microseconds, 0.01));
}

#[test]
fn a_copy_takes_the_same_time_at_a_higher_clock() {
    let slow = copy(&h200(), 16384, 1, Config::default());
    let mut fast = h200();
    fast.clock.sm_mhz *= 1.5;
    let fast = copy(&fast, 16384, 1, Config::default());
    assert!(fast.microseconds <= slow.microseconds * 1.02);
    assert!(fast.microseconds >= slow.microseconds / 1.45);
}

#[test]
fn half_the_bandwidth_nearly_doubles_a_copy() {
    let whole = copy(&h200(), 16384, 4, Config::default());
    let mut half = h200();
    half.dram.bandwidth_gbps /= 2.0;
    let half = copy(&half, 16384, 4, Config::default());
    let ratio = half.cycles as f64 / whole.cycles as f64;
    assert!((1.3..=2.2).contains(&ratio), "{ratio}");
}

#[test]
fn bandwidth_means_nothing_to_arithmetic() {
    let mut wide = h200();
    wide.dram.bandwidth_gbps *= 4.0;
    let (a, b) = (multiply_adds(&h200(), 264, 256, 4, 256), multiply_adds(&wide, 264, 256, 4, 256));
    assert_eq!(a.cycles, b.cycles);
}

#[test]
fn twice_the_multiprocessors_halve_a_large_grid() {
    let mut many = h200();
    many.device.multiprocessors *= 2;
    let one = multiply_adds(&h200(), 132 * 64, 256, 4, 128).cycles as f64;
    let two = multiply_adds(&many, 132 * 64, 256, 4, 128).cycles as f64;
    assert!(near(one / two, 2.0, 0.15), "{one} {two}");
}

#[test]
fn one_block_needs_one_multiprocessor() {
    let mut many = h200();
    many.device.multiprocessors *= 2;
    let (a, b) = (multiply_adds(&h200(), 1, 256, 4, 256), multiply_adds(&many, 1, 256, 4, 256));
    assert_eq!(a.cycles, b.cycles);
}

#[test]
fn twice_the_blocks_take_twice_the_time() {
    let one = multiply_adds(&h200(), 132 * 64, 256, 4, 128).cycles as f64;
    let two = multiply_adds(&h200(), 132 * 128, 256, 4, 128).cycles as f64;
    assert!(near(two / one, 2.0, 0.1), "{one} {two}");
}

#[test]
fn a_chain_of_twice_the_length_takes_twice_as_long() {
    let start = multiply_adds(&h200(), 1, 32, 1, 1).cycles;
    let one = multiply_adds(&h200(), 1, 32, 1, 128).cycles - start;
    let two = multiply_adds(&h200(), 1, 32, 1, 255).cycles - start;
    assert!(near(two as f64 / one as f64, 2.0, 0.02), "{one} {two}");
}

#[test]
fn independent_instructions_never_cost_more() {
    let cycles = [1, 2, 4, 8].map(|chains| multiply_adds(&h200(), 132, 128, chains, 256).cycles);
    assert!(cycles.windows(2).all(|w| w[1] <= w[0]), "{cycles:?}");
    assert!(cycles[3] < cycles[0] / 2, "{cycles:?}");
}

#[test]
fn a_second_warp_hides_in_the_first_ones_latency() {
    let one = multiply_adds(&h200(), 1, 32, 1, 256).cycles;
    let two = multiply_adds(&h200(), 1, 64, 1, 256).cycles;
    assert!(two <= one + 64, "{one} {two}");
}

#[test]
fn more_warps_never_do_less_per_clock() {
    let rate = |threads: u32| {
        let o = multiply_adds(&h200(), 132, threads, 4, 256);
        o.total.issues as f64 / o.cycles as f64
    };
    let rates = [32, 64, 128, 256, 512, 1024].map(rate);
    assert!(rates.windows(2).all(|w| w[1] >= w[0] * 0.98), "{rates:?}");
}

#[test]
fn bank_conflicts_cost_by_their_ways() {
    let cycles = [1, 2, 4, 8, 16, 32].map(|stride| shared(&h200(), stride).cycles);
    assert!(cycles.windows(2).all(|w| w[1] > w[0]), "{cycles:?}");
    // Where the conflicts decide, twice the ways take twice the time.
    let (half, whole) = (cycles[4] - cycles[3], cycles[5] - cycles[4]);
    assert!(near(whole as f64, 2.0 * half as f64, 0.1), "{cycles:?}");
}

#[test]
fn odd_strides_have_no_conflicts() {
    let one = shared(&h200(), 1);
    for stride in [3, 5, 17, 33] {
        let other = shared(&h200(), stride);
        assert_eq!((one.cycles, other.total.shared_conflicts), (other.cycles, 0));
    }
}

#[test]
fn wider_strides_never_copy_faster() {
    let cycles = [1, 2, 4, 8].map(|stride| copy(&h200(), 4096, stride, Config::default()).cycles);
    assert!(cycles.windows(2).all(|w| w[1] >= w[0]), "{cycles:?}");
}

#[test]
fn traffic_does_not_depend_on_the_clock() {
    let mut fast = h200();
    fast.clock.sm_mhz *= 2.0;
    let a = copy(&h200(), 2048, 2, Config::default());
    let b = copy(&fast, 2048, 2, Config::default());
    assert_eq!((a.total.sectors, a.total.bytes), (b.total.sectors, b.total.bytes));
    assert_eq!(a.dram_read, b.dram_read);
}

/// Every block reads the same words.
fn same_words(p: &Profile, own: bool) -> Outcome {
    run_kernel(p, &needs(256, 32), 2048, Config::default(), |b, w, e| {
        let block = if own { b } else { 0 };
        e.load("load", 1, 0, |l| IN + (block * 256 + w * 32 + l) * 4);
        e.op("use", Class::F32Add, &[2], &[1]);
    })
}

#[test]
fn what_is_cached_is_not_read_again() {
    let (own, same) = (same_words(&h200(), true), same_words(&h200(), false));
    assert!(same.dram_read * 100 < own.dram_read);
    assert!(same.cycles < own.cycles);
}

#[test]
fn a_larger_cache_never_reads_more() {
    let mut small = h200();
    if let Some(l2) = &mut small.l2 {
        l2.bytes /= 64;
    }
    let twice = |p: &Profile| {
        run_kernel(p, &needs(256, 32), 4096, Config::default(), |b, w, e| {
            let at = |l: u64| IN + (b % 2048 * 256 + w * 32 + l) * 64;
            e.load("load", 1, 0, at);
            e.op("use", Class::F32Add, &[2], &[1]);
        })
    };
    assert!(twice(&h200()).dram_read < twice(&small).dram_read);
}

#[test]
fn fewer_registers_never_lower_the_occupancy() {
    let warps = [32, 64, 128, 255].map(|registers| {
        let run = |_: u64, _: u64, e: &mut Emit| e.op("one", Class::F32Add, &[0], &[0]);
        run_kernel(&h200(), &needs(256, registers), 1, Config::default(), run).occupancy.warps
    });
    assert!(warps.windows(2).all(|w| w[1] <= w[0]), "{warps:?}");
}

#[test]
fn a_barrier_takes_time() {
    let with = |barrier: bool| {
        run_kernel(&h200(), &needs(512, 32), 132, Config::default(), |_, _, e| {
            for (i, label) in LABELS.iter().take(64).enumerate() {
                if barrier && i % 2 == 1 {
                    e.barrier(label);
                } else {
                    e.op(label, Class::F32Fma, &[0], &[0]);
                }
            }
        })
        .cycles
    };
    assert!(with(true) > with(false));
}

#[test]
fn the_same_input_gives_the_same_result() {
    let run = || copy(&h200(), 1024, 3, Config::default());
    assert_eq!(run(), run());
}

#[test]
fn a_sample_of_equal_blocks_counts_the_whole_grid() {
    let all = copy(&h200(), 132 * 64, 1, Config::default());
    let config = Config { max_blocks: Some(132 * 16), ..Config::default() };
    let part = copy(&h200(), 132 * 64, 1, config);
    let sampling = part.sampling.unwrap();
    assert!(sampling.simulated < sampling.blocks / 2);
    assert_eq!(all.total.issues, part.total.issues);
    assert_eq!(all.total.sectors, part.total.sectors);
    let error = (part.cycles as f64 / all.cycles as f64 - 1.0).abs();
    assert!(error <= 0.1 && error <= sampling.relative_error, "{error}, {sampling:?}");
    assert!(sampling.relative_error < 0.5, "{sampling:?}");
}

/// Work that grows with the block's number: the sample is right within the error that it states.
#[test]
fn a_sample_of_a_triangle_states_its_error() {
    let triangle = |config: Config| {
        run_kernel(&h200(), &needs(256, 32), 132 * 64, config, |b, _, e| {
            e.op("first", Class::F32Fma, &[0], &[0]);
            // The blocks of the other end of the grid have a hundred times the work; block 0 names
            // every instruction.
            let steps = if b == 0 { 128 } else { 1 + b as usize * 127 / (132 * 64) };
            for label in LABELS.iter().take(steps) {
                e.op(label, Class::F32Fma, &[0], &[0]);
            }
        })
    };
    let all = triangle(Config::default());
    let part = triangle(Config { max_blocks: Some(132 * 20), ..Config::default() });
    let stated = part.sampling.unwrap().relative_error;
    let error = (part.cycles as f64 / all.cycles as f64 - 1.0).abs();
    assert!(error <= stated && error < 0.25 && stated < 0.62, "{error} but stated {stated}");
    assert!(near(part.total.issues as f64, all.total.issues as f64, 0.05));
}

/// A warp that waits for many lines waits for the slowest: the more lines, the longer. Where all lines take
/// the same time, the number of lines costs next to nothing.
#[test]
fn many_lines_take_as_long_as_the_slowest() {
    let clocks = |p: &Profile, lines: u64| {
        // One after the other, each far from the others.
        let outcome = run_kernel(p, &needs(32, 32), 1, Config::default(), |_, _, e| {
            for (i, label) in LABELS.iter().take(64).enumerate() {
                e.load(label, 1, 1, |l| IN + (i as u64 * 32 + l % lines) * 4096);
            }
        });
        outcome.cycles as f64 / 64.0
    };
    let spread = h200();
    let mut even = h200();
    even.dram.spread.clear();
    let more = |p: &Profile| clocks(p, 32) - clocks(p, 1);
    // An H100: 350 clocks more for 32 lines of device memory than for one, besides what L2 takes for them.
    assert!(
        (200.0..450.0).contains(&(more(&spread) - more(&even))),
        "{} {}",
        more(&spread),
        more(&even)
    );
    assert!(near(clocks(&spread, 1), clocks(&even, 1), 0.05));
}

/// Stores of more than L2 keeps dirty take what device memory takes: twice the lines, twice the time.
#[test]
fn stores_wait_for_device_memory_where_l2_is_full() {
    let fill = |p: &Profile, blocks: u64| {
        run_kernel(p, &needs(256, 32), blocks, Config::default(), |b, w, e| {
            e.op("index", Class::IntMul, &[0], &[]);
            e.store("store", 0, 0, |l| OUT + (b * 256 + w * 32 + l) * 128);
        })
    };
    let (p, blocks) = (h200(), 8192);
    let outcome = fill(&p, blocks);
    let written = (outcome.dram_read + outcome.dram_written) as f64;
    assert!(written > 100e6, "{written}");
    let least = written / (p.dram_bytes_per_cycle() * p.dram.efficiency);
    assert!(outcome.cycles as f64 > 0.95 * least, "{} {least}", outcome.cycles);
    assert!(near(fill(&p, 2 * blocks).cycles as f64, 2.0 * outcome.cycles as f64, 0.15));
    // What L2 keeps never waits.
    let few = fill(&p, 512);
    assert_eq!(few.dram_written, 0);
}
