//! Checked launches of compiled code: what is sound stays compiled, and what is not is found as the interpreter finds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_runtime::check::{Checks, render};
use ptx_runtime::{
    Backend, Context, DeviceOptions, Engine, KernelArg, LaunchConfig, LaunchError, Module,
};

/// What came of a launch.
struct Came {
    compiled: bool,
    report: String,
    out: Vec<u32>,
}

const WORDS: usize = 256;

/// Runs kernel `k` of a body on two blocks of 64 threads and a buffer of [`WORDS`] words, of which the first `written`
/// hold their number and the others were never written.
fn run(body: &str, checks: &str, backend: Backend, written: usize) -> Came {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b32 c[64];
        .visible .entry k(.param .u64 to)\n{{
        .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<4>;
        .shared .align 4 .b32 a[64]; .shared .align 4 .b32 b[64];
        ld.param.u64 %rd1, [to]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
        mad.lo.u32 %r3, %r2, 64, %r1; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;
        mul.wide.u32 %rd4, %r1, 4; mov.u64 %rd5, a; add.s64 %rd6, %rd5, %rd4;
        {body} ret;\n}}\n"
    );
    let checks = Checks::parse(checks).expect("checks");
    let context = Context::new(&DeviceOptions { checks, ..DeviceOptions::default() }).unwrap();
    let module = Module::load(&context, &text, "k.ptx").unwrap();
    let buffer = context.alloc_named(4 * WORDS as u64, "buffer").unwrap();
    let first: Vec<u8> = (0..written as u32).flat_map(u32::to_le_bytes).collect();
    context.copy_to_device(buffer, &first).unwrap();
    let config = LaunchConfig {
        grid: [2, 1, 1],
        block: [64, 1, 1],
        args: vec![KernelArg::Pointer(buffer)],
        backend,
        threads: Some(2),
        ..LaunchConfig::default()
    };
    let compiled = match context.launch(&module, "k", config) {
        Ok(stats) => matches!(stats.engine, Engine::Compiled(_)),
        Err(LaunchError::Fault(_)) => false,
        Err(error) => panic!("{error}"),
    };
    let mut bytes = vec![0; 4 * WORDS];
    context.copy_from_device(buffer, &mut bytes).unwrap();
    let out = bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    let (found, notes) = context.findings();
    Came { compiled, report: render::text(&found, &notes), out }
}

const ADD: &str = "ld.global.u32 %r4, [%rd3]; add.u32 %r4, %r4, 1; st.global.u32 [%rd3], %r4;";
/// Each thread hands its word to the one at the other end of the block.
const TURN: &str = "ld.global.u32 %r4, [%rd3]; st.shared.u32 [%rd6], %r4; bar.sync 0;
    sub.u32 %r5, 63, %r1; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd5, %rd7; ld.shared.u32 %r6, [%rd8];
    st.global.u32 [%rd3], %r6;";
/// Loads behind one address, which plain code checks together.
const TILE: &str = "ld.global.u32 %r4, [%rd3]; st.shared.u32 [%rd6], %r4; bar.sync 0;
    ld.shared.u32 %r5, [%rd5]; ld.shared.u32 %r6, [%rd5+128]; ld.shared.u32 %r7, [%rd5+252];
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; st.global.u32 [%rd3], %r5;";
/// Threads 32 to 63 take what another one of theirs has, twice; the others, which touch everything first, their own.
/// All addresses follow from the thread's number.
const SWAP: &str = "ld.global.u32 %r4, [%rd3]; st.shared.u32 [%rd6], %r4; shr.u32 %r5, %r1, 5; shl.b32 %r5, %r5, 4;
    xor.b32 %r5, %r5, %r1; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd5, %rd7; bar.sync 0;
    ld.shared.u32 %r6, [%rd8]; bar.sync 0; st.shared.u32 [%rd6], %r6; bar.sync 0;
    ld.shared.u32 %r7, [%rd8]; add.u32 %r6, %r6, %r7; st.global.u32 [%rd3], %r6;";
const COUNT: &str = "atom.global.add.u32 %r4, [%rd1], 1; red.global.add.u32 [%rd1+4], %r4;";

#[test]
fn what_is_sound_stays_compiled() {
    for body in [ADD, TURN, TILE, SWAP, COUNT] {
        for checks in ["memory", "race", "init", "sync", "all"] {
            let came = run(body, checks, Backend::Jit, WORDS);
            assert!(came.compiled, "{checks}: {body}");
            assert_eq!(came.report, run("", checks, Backend::Jit, 0).report, "{checks}: {body}");
            let plain = run(body, "", Backend::Interp, WORDS);
            if body != COUNT {
                assert_eq!(came.out, plain.out, "{checks}: {body}");
            }
        }
    }
}

#[test]
fn each_barrier_of_a_swap_counts() {
    for n in 0..3 {
        let (at, _) = SWAP.match_indices("bar.sync 0;").nth(n).expect("it has three");
        let body = format!("{}{}", &SWAP[..at], &SWAP[at + 11..]);
        let close = run(&body, "race", Backend::Interp, WORDS);
        assert!(close.report.contains("race"), "{n}: {}", close.report);
        let came = run(&body, "race", Backend::Jit, WORDS);
        assert!(!came.compiled, "{n}");
        assert_eq!(came.report, close.report, "{n}");
    }
}

#[test]
fn what_is_not_is_found_as_the_interpreter_finds_it() {
    let faulty = [
        // Behind one shared variable, before the next.
        ("memory", "st.shared.u32 [%rd6+4], %r1; ld.global.u32 %r4, [%rd3]; add.u32 %r4, %r4, 1; st.global.u32 [%rd3], %r4;"),
        ("memory", "ld.global.u32 %r4, [%rd3]; st.global.u32 [%rd3+768], %r4;"),
        ("memory", "ld.global.u32 %r4, [%rd3+2];"),
        ("memory", "ld.shared.u32 %r4, [%rd6]; ld.shared.u32 %r5, [%rd6+4]; add.u32 %r4, %r4, %r5;
            st.global.u32 [%rd3], %r4;"),
        // A device writes constant variables.
        ("memory", "mov.u64 %rd7, c; cvta.const.u64 %rd7, %rd7; add.s64 %rd7, %rd7, %rd4;
            st.u32 [%rd7], %r1; st.global.u32 [%rd3], %r1;"),
        // Without a barrier.
        ("race", "ld.global.u32 %r4, [%rd3]; st.shared.u32 [%rd6], %r4; xor.b32 %r5, %r1, 32;
            mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd5, %rd7; ld.shared.u32 %r6, [%rd8]; st.global.u32 [%rd3], %r6;"),
        ("race", "st.shared.u32 [%rd6], %r1; ld.shared.u32 %r4, [%rd5]; ld.shared.u32 %r5, [%rd5+252];
            add.u32 %r4, %r4, %r5; st.global.u32 [%rd3], %r4;"),
        // Blocks that meet, on one host thread or on two.
        ("race", "st.global.u32 [%rd1], %r2; ld.global.u32 %r4, [%rd3]; st.global.u32 [%rd3], %r4;"),
        ("race", "ld.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r3, 64; @%p1 st.global.u32 [%rd1], %r3;"),
        ("race", "ld.global.u32 %r4, [%rd1+8]; atom.global.add.u32 %r5, [%rd1+8], 1;"),
        ("race", "setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u32 [%rd1+8], %r2; bar.sync 0;
            atom.global.add.u32 %r5, [%rd1+8], 1;"),
        ("race", "atom.global.cta.add.u32 %r5, [%rd1+8], 1;"),
        // Lanes of a warp.
        ("race", "xor.b32 %r5, %r1, 1; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd5, %rd7;
            st.shared.u32 [%rd6], %r1; ld.shared.u32 %r6, [%rd8]; st.global.u32 [%rd3], %r6;"),
        ("init", "ld.shared.u32 %r4, [%rd6]; setp.eq.u32 %p1, %r4, 7; @%p1 st.global.u32 [%rd3], %r4;"),
        ("init", "ld.global.u32 %r4, [%rd3+512]; setp.eq.u32 %p1, %r4, 7; @%p1 st.global.u32 [%rd3], %r4;"),
        ("init", "setp.eq.u32 %p1, %r9, 7; @%p1 st.global.u32 [%rd3], %r4;"),
        ("sync", "setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0; st.global.u32 [%rd3], %r1;"),
        ("sync", "shfl.sync.idx.b32 %r4, %r1, 0, 31, 1; st.global.u32 [%rd3], %r4;"),
    ];
    for (checks, body) in faulty {
        let written = if checks == "init" { 64 } else { WORDS };
        let close = run(body, checks, Backend::Interp, written);
        assert!(close.report.contains(&format!("{checks}[")), "{body}: {}", close.report);
        let came = run(body, checks, Backend::Jit, written);
        assert!(!came.compiled, "{body}");
        assert_eq!(came.report, close.report, "{body}");
        assert_eq!(came.out, close.out, "memory was put back: {body}");
    }
}

#[test]
fn bytes_that_a_launch_has_written_are_known_afterwards() {
    // The second half is written by the kernel, then read by it.
    let body =
        "st.global.u32 [%rd3+512], %r3; ld.global.u32 %r4, [%rd3+512]; setp.eq.u32 %p1, %r4, 7;
        @%p1 st.global.u32 [%rd3], %r4;";
    let came = run(body, "init", Backend::Jit, 128);
    assert!(
        came.compiled && came.report.is_empty() || came.report.contains("0 findings"),
        "{}",
        came.report
    );
}

/// However often the engines have tried it; and its blocks are counted once, too.
#[test]
fn a_launch_that_is_put_back_is_counted_once() {
    let text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry counted(.param .u64 to)\n{
        .reg .b32 %r<2>; .reg .b64 %rd<2>; .shared .b32 s;
        ld.param.u64 %rd1, [to]; mov.u32 %r1, %tid.x;
        st.shared.u32 [s], %r1; st.global.u32 [%rd1], %r1; ret;\n}\n";
    let checks = Checks::parse("race").expect("checks");
    let context = Context::new(&DeviceOptions { checks, ..DeviceOptions::default() }).unwrap();
    let module = Module::load(&context, text, "k.ptx").unwrap();
    let progress = Arc::new(AtomicU64::new(0));
    let config = LaunchConfig {
        grid: [3, 1, 1],
        block: [64, 1, 1],
        args: vec![KernelArg::Pointer(context.alloc(4).unwrap())],
        backend: Backend::Jit,
        progress: Some(Arc::clone(&progress)),
        ..LaunchConfig::default()
    };
    ptx_runtime::launches();
    let engine = context.launch(&module, "counted", config).unwrap().engine;
    assert_eq!(engine, Engine::Fallback("a checker looks closely at it".into()));
    assert_eq!(ptx_runtime::launches().get("counted"), Some(&1));
    assert_eq!(progress.load(Ordering::Relaxed), 3);
}

/// A launch of many blocks that no look from outside tells to last: code without a screen would take it over.
#[test]
fn code_without_a_screen_takes_nothing_over() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to)\n{
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>; .shared .b32 s;
        ld.param.u64 %rd1, [to]; mov.u32 %r1, %ctaid.x; st.shared.u32 [s], 2000; bar.sync 0;
        ld.shared.u32 %r2, [s]; mov.u32 %r3, 0; mov.u32 %r4, %r1;
    L:  mad.lo.u32 %r4, %r4, 5, %r3; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L;
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret;\n}\n";
    for checks in ["memory", "race", "init", "sync", "all"] {
        let checks = Checks::parse(checks).expect("checks");
        let context = Context::new(&DeviceOptions { checks, ..DeviceOptions::default() }).unwrap();
        let module = Module::load(&context, text, "k.ptx").unwrap();
        let config = LaunchConfig {
            grid: [256, 1, 1],
            args: vec![KernelArg::Pointer(context.alloc(1024).unwrap())],
            ..LaunchConfig::default()
        };
        match context.launch(&module, "k", config).unwrap().engine {
            Engine::Compiled(compiled) => assert_eq!(compiled.interpreted, 0, "{checks:?}"),
            Engine::Fallback(_) => {}
            Engine::Interpreter => panic!("{checks:?}: it was not checked"),
        }
    }
}

/// A generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % most
    }
    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A few accesses to shared and global memory with and without barriers between them.
fn accesses(numbers: &mut Numbers) -> String {
    let mut body = String::from("mov.u32 %r9, 1; mov.u32 %r10, 2; mov.u32 %r11, 3;");
    // Often all of it is written first.
    if numbers.below(3) > 0 {
        body += "st.shared.u32 [%rd6], %r1; mov.u64 %rd9, b; add.s64 %rd9, %rd9, %rd4;
            st.shared.u32 [%rd9], %r1; bar.sync 0;";
    }
    for n in 0..2 + numbers.below(4) {
        let lane = [
            "mov.u32 %r5, %r1;",
            "xor.b32 %r5, %r1, 1;",
            "xor.b32 %r5, %r1, 32;",
            "sub.u32 %r5, 63, %r1;",
            "shr.u32 %r5, %r1, 1;",
            "shr.u32 %r5, %r1, 4;",
            "and.b32 %r5, %r1, 15;",
            "mov.u32 %r5, 5;",
            "mul.lo.u32 %r5, %r1, 7; and.b32 %r5, %r5, 63;",
            "mul.lo.u32 %r5, %r1, %r1; and.b32 %r5, %r5, 63;",
        ];
        body += numbers.of(&lane);
        let shared = numbers.below(2) == 0;
        // Elements of 4, 8 or 16 bytes, at a multiple of them.
        let wide = numbers.below(6);
        let (suffix, words, operand) = match wide {
            0 => ("v2.u32", 2, "{%r9, %r10}"),
            1 => ("v4.u32", 4, "{%r9, %r10, %r11, %r12}"),
            2 => ("u64", 2, "%rd10"),
            _ => ("u32", 1, "%r9"),
        };
        if words > 1 {
            body += &format!("and.b32 %r5, %r5, {};", 64 / words - 1);
        }
        if shared {
            body += &format!("mul.wide.u32 %rd7, %r5, {}; add.s64 %rd8, %rd5, %rd7;", 4 * words);
        } else {
            // The block's own words, or those of all blocks.
            if numbers.below(3) > 0 {
                body += &format!("mad.lo.u32 %r5, %r2, {}, %r5;", 64 / words);
            }
            body += &format!("mul.wide.u32 %rd7, %r5, {}; add.s64 %rd8, %rd1, %rd7;", 4 * words);
        }
        let space = if shared { "shared" } else { "global" };
        let guard = [
            "",
            "",
            "setp.lt.u32 %p1, %r1, 20; @%p1 ",
            "setp.eq.u32 %p1, %r1, 37; @%p1 ",
            "setp.eq.u32 %p1, %r3, 70; @%p1 ",
            "and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 0; @%p1 ",
        ];
        body += numbers.of(&guard);
        body += &match numbers.below(7) {
            0 if words == 1 => format!("atom.{space}.add.u32 %r13, [%rd8], 1;"),
            0..3 => format!("st.{space}.{suffix} [%rd8], {operand};"),
            _ => format!("ld.{space}.{suffix} {operand}, [%rd8];"),
        };
        // Whoever reads it cares.
        body += &format!("setp.eq.u32 %p2, %r9, {n}; @%p2 add.u32 %r14, %r14, 1;");
        if numbers.below(5) < 3 {
            body += "bar.sync 0;";
        }
    }
    body
}

/// Whatever kernels do, the screen passes nothing that the checkers report, and reports are those of the interpreter.
#[test]
fn nothing_passes_that_the_interpreter_reports() {
    let (mut sound, mut passed) = (0, 0);
    for n in 0..150_u64 {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (n << 20 | 1));
        let body = format!(
            "mov.u32 %r14, 0; mov.u64 %rd10, 0; mov.u32 %r12, 4; {}",
            accesses(&mut numbers)
        );
        for checks in ["race", "init", "all"] {
            let written = if numbers.below(2) == 0 { WORDS } else { 64 };
            let close = run(&body, checks, Backend::Interp, written);
            let came = run(&body, checks, Backend::Jit, written);
            assert_eq!(came.report, close.report, "kernel {n}, {checks}: {body}");
            if close.report.contains("0 findings") || close.report.is_empty() {
                // Reads of what nobody wrote are no finding as long as nobody cares.
                let race = u32::from(checks == "race");
                sound += race;
                passed += race * u32::from(came.compiled);
            } else {
                assert!(!came.compiled, "kernel {n}, {checks}: {body}");
            }
        }
    }
    // What is sound in ways that the screen does not follow is interpreted: writes of equal values.
    assert!(2 * passed > sound, "{passed} of {sound} passed");
}
