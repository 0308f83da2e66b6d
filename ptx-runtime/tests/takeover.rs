//! Launches that last although their estimate was small: compiled code takes over blocks that have not started.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ptx_runtime::{
    Backend, Context, DeviceOptions, Engine, FaultKind, KernelArg, LaunchConfig, LaunchError,
    LaunchStats, Module,
};

const BLOCKS: u32 = 512;
const TURNS: u32 = 20_000;

/// Every block turns as often as its first thread finds in shared memory, which no look from outside tells. `end` is
/// what the first thread does before it stores the result; `%r1` is the block.
fn text(end: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 to, .param .u32 n)\n{{
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>; .shared .b32 s;
    ld.param.u64 %rd1, [to]; ld.param.u32 %r7, [n]; mov.u32 %r1, %ctaid.x; mov.u32 %r6, %tid.x;
    st.shared.u32 [s], %r7; bar.sync 0; ld.shared.u32 %r2, [s]; mov.u32 %r3, 0; mov.u32 %r4, %r1;
L:  mad.lo.u32 %r4, %r4, 5, %r3; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L;
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; setp.ne.u32 %p2, %r6, 0; @%p2 bra E;
    {end}
    atom.global.add.u32 %r5, [%rd3], %r4;
E:  ret;\n}}\n"
    )
}

struct Run {
    result: Result<LaunchStats, LaunchError>,
    words: Vec<u32>,
    progress: u64,
}

fn run(end: &str, change: impl FnOnce(&mut LaunchConfig)) -> Run {
    let context = Context::new(&DeviceOptions::default()).unwrap();
    let module = Module::load(&context, &text(end), "k.ptx").unwrap();
    let buffer = context.alloc(4 * BLOCKS as u64).unwrap();
    let progress = Arc::new(AtomicU64::new(0));
    let mut config = LaunchConfig {
        grid: [BLOCKS, 1, 1],
        block: [2, 1, 1],
        args: vec![KernelArg::Pointer(buffer), KernelArg::Bytes(TURNS.to_le_bytes().to_vec())],
        progress: Some(Arc::clone(&progress)),
        ..LaunchConfig::default()
    };
    change(&mut config);
    let result = context.launch(&module, "k", config);
    let mut bytes = vec![0; 4 * BLOCKS as usize];
    context.copy_from_device(buffer, &mut bytes).unwrap();
    let words = bytes.as_chunks().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
    Run { result, words, progress: progress.load(Ordering::Relaxed) }
}

fn wanted(block: u32) -> u32 {
    (0..TURNS).fold(block, |x, i| x.wrapping_mul(5).wrapping_add(i))
}

#[test]
fn the_rest_of_a_long_launch_runs_compiled() {
    let run = run("", |_| ());
    let stats = run.result.unwrap();
    let Engine::Compiled(compiled) = stats.engine else { panic!("{}", stats.engine) };
    assert!((1..u64::from(BLOCKS)).contains(&compiled.interpreted), "{compiled:?}");
    assert_eq!((stats.blocks, run.progress), (u64::from(BLOCKS), u64::from(BLOCKS)));
    // Each block ran once: it adds its sum to zero.
    assert!(
        (0..BLOCKS).eq(run
            .words
            .iter()
            .zip(0..)
            .filter(|(w, b)| **w == wanted(*b))
            .map(|(_, b)| b))
    );
}

#[test]
fn the_interpreter_alone_gives_the_same() {
    let interpreted = run("", |c| c.backend = Backend::Interp);
    assert_eq!(interpreted.result.unwrap().engine, Engine::Interpreter);
    assert_eq!(interpreted.words, run("", |_| ()).words);
}

#[test]
fn blocks_that_all_wait_for_one_another_stay_in_one_engine() {
    let stats = run("", |c| c.cooperative = true).result.unwrap();
    assert_eq!(stats.engine, Engine::Interpreter);
}

#[test]
fn the_first_fault_is_told_whichever_engine_finds_it() {
    for faulting in [3, BLOCKS - 5] {
        let end = format!(
            "setp.ge.u32 %p3, %r1, {faulting}; mov.u64 %rd2, 16; @%p3 st.global.u32 [%rd2], %r1;"
        );
        let run = run(&end, |_| ());
        let Err(LaunchError::Fault(report)) = run.result else { panic!("no fault") };
        assert_eq!(report.block, [faulting, 0, 0]);
        assert!((0..faulting).all(|b| run.words[b as usize] == wanted(b)), "blocks before it ran");
    }
}

/// The last block sets a flag for which the first one waits: both engines run at the same time.
#[test]
fn blocks_may_wait_for_one_another_across_engines() {
    let last = BLOCKS - 1;
    let end = format!(
        "setp.eq.u32 %p3, %r1, {last}; @%p3 st.global.u32 [%rd1], 1;
    setp.ne.u32 %p3, %r1, 0; @%p3 bra D;
W:  ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W;
    st.global.u32 [%rd1], 0;
D:"
    );
    let run = run(&end, |c| c.timeout = Some(Duration::from_secs(60)));
    assert!(run.result.is_ok(), "{:?}", run.result);
    assert_eq!(run.words[0], wanted(0));
}

#[test]
fn a_limit_ends_both_engines() {
    let endless = "W: bra W;";
    let late = format!("setp.lt.u32 %p3, %r1, {}; @%p3 bra D; {endless} D:", BLOCKS - 2);
    for end in [endless, &late] {
        let run = run(end, |c| c.timeout = Some(Duration::from_secs(1)));
        let Err(LaunchError::Fault(report)) = run.result else { panic!("it ended") };
        assert_eq!(report.kind, FaultKind::Timeout);
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&cancel);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        set.store(true, Ordering::Relaxed);
    });
    let run = run(endless, |c| c.cancel = Some(cancel));
    let Err(LaunchError::Fault(report)) = run.result else { panic!("it ended") };
    assert_eq!(report.kind, FaultKind::Cancelled);
    thread.join().unwrap();
}
