//! What observers are told of, what they see meanwhile, and how they stop a launch.

mod common;

use std::ops::ControlFlow;

use common::*;
use ptx_interp::observer::{
    Action, BarrierName, BlockEvent, EventSet, MemoryAccess, Observer, WarpEvent,
};
use ptx_interp::{FaultKind, LaunchError, Moment, launch, launch_observed};
use ptx_isa::effect::{Accessor, AsyncGroupOp, AsyncWork, MbarrierOp, Order, Proxy, Scope, window};
use ptx_isa::{Kind, Space};

/// Every event as a line, but for issues.
#[derive(Default)]
struct Log(Vec<String>);

fn access(a: &MemoryAccess<'_>) -> String {
    let lane = a.lanes.trailing_zeros() as usize & 31;
    format!(
        "{:?} {:?} {:?} {} {:#x} {:#x}",
        a.by, a.action, a.space, a.bytes, a.lanes, a.addresses[lane]
    )
}

impl Observer for Log {
    fn block(&mut self, event: BlockEvent<'_>) {
        self.0.push(match event {
            BlockEvent::LaunchStarts { .. } => "launch starts".into(),
            BlockEvent::Starts { block } => format!("block {block:?}"),
            BlockEvent::Ends { block, .. } => format!("end of {block:?}"),
            BlockEvent::Faults { report } => format!("fault {:?}", report.kind),
            BlockEvent::LaunchEnds => "launch ends".into(),
        });
    }
    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        self.0.push(match event {
            WarpEvent::Issue { .. } => return ControlFlow::Continue(()),
            WarpEvent::Access(a) => access(a),
            WarpEvent::BarrierArrive { barrier, lanes, threads, .. } => {
                format!("warp {} arrives {barrier:?} {lanes:#x} {threads:?}", moment.warp())
            }
            WarpEvent::BarrierComplete { barrier } => format!("complete {barrier:?}"),
            WarpEvent::Fence(f) => format!("fence {:?} {:?} {:?}", f.order, f.scope, f.proxy),
            WarpEvent::WarpSync { lanes, members, orders } => {
                format!("sync {lanes:#x} of {:#x} {orders}", members[0])
            }
            WarpEvent::Mbarrier(m) => {
                format!("mbarrier {} {:#x} {:?} {}", m.lane, m.address, m.what, m.completes)
            }
            WarpEvent::AsyncGroup(g) => format!("group {:?} {:?}", g.of, g.what),
            WarpEvent::Malloc { bytes, .. } => format!("malloc {bytes}"),
            WarpEvent::Free { .. } => "free".into(),
            WarpEvent::Print { lane, text } => {
                format!("print {lane} {}", String::from_utf8_lossy(text))
            }
            WarpEvent::Exit { lanes } => format!("exit {lanes:#x}"),
        });
        ControlFlow::Continue(())
    }
}

const HEAD: &str = "
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
";

/// The log of a kernel over one block, without its frame and the load of its parameter.
fn log(target: &str, block: u32, body: &str) -> (Vec<String>, u64) {
    let k = kernel(&module(target, ".param .u64 out", &format!("{HEAD} {body}")));
    let mut b = Bench::new(1, block);
    let out = b.buffer(&vec![0; 1024]);
    let (result, logs) = launch_observed(&k, &b.memory, &b.params, &Log::default);
    result.unwrap_or_else(|e| panic!("{e}"));
    let lines = logs.into_iter().flat_map(|l| l.0);
    (lines.filter(|l| !l.contains("ParamEntry")).collect(), out)
}

#[test]
fn loads_stores_and_atomics_of_a_warp() {
    let (lines, out) = log(
        "sm_80",
        32,
        "ld.global.v2.u32 {%r2, %r3}, [%rd1]; setp.lt.u32 %p1, %r1, 4; @%p1 st.global.u16 [%rd3+8], %r2;
         atom.acq_rel.gpu.global.add.u32 %r4, [%rd1], 1; ret;",
    );
    let expected = [
        "launch starts".to_string(),
        "block [0, 0, 0]".into(),
        format!("Load Read Global 8 0xffffffff {out:#x}"),
        format!("Store Write Global 2 0xf {:#x}", out + 8),
        format!("Atomic Update Global 4 0xffffffff {out:#x}"),
        "exit 0xffffffff".into(),
        "end of [0, 0, 0]".into(),
        "launch ends".into(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn copies_matrix_loads_and_their_groups() {
    let (lines, out) = log(
        "sm_80",
        32,
        ".shared .align 128 .b8 s[1024];
         mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; setp.eq.u32 %p1, %r1, 3;
         @%p1 cp.async.cg.shared.global [%r4], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 0;
         bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r2]; ret;",
    );
    let lines = &lines[2..lines.len() - 3];
    let groups = [
        format!("{:?}", (AsyncWork::Copies, AsyncGroupOp::Commit)),
        format!("{:?}", (AsyncWork::Copies, AsyncGroupOp::Wait { pending: 0, read: false })),
    ];
    assert_eq!(lines[0], format!("AsyncCopy Read Global 16 0x8 {out:#x}"));
    assert_eq!(lines[1], "AsyncCopy Write Shared 16 0x8 0x30");
    for (line, group) in lines[2..4].iter().zip(groups) {
        let (of, what) = group.trim_matches(['(', ')']).split_once(", ").unwrap();
        assert_eq!(*line, format!("group {of} {what}"));
    }
    assert_eq!(lines[4], "sync 0xffffffff of 0xffffffff true");
    assert_eq!(lines[5], "sync 0xffffffff of 0xffffffff false");
    let rows = &lines[6..];
    assert_eq!(rows.len(), 8, "{rows:?}");
    assert!(rows.iter().all(|l| l.starts_with("Matrix Read Shared 16 0x")), "{rows:?}");
}

#[test]
fn barriers_fences_and_exits() {
    let (lines, _) = log(
        "sm_80",
        64,
        "membar.cta; bar.sync 1; setp.gt.u32 %p1, %r1, 31; @%p1 exit; fence.acq_rel.gpu; ret;",
    );
    let expected = [
        "fence SeqCst Cta Generic",
        "warp 0 arrives Cta(1) 0xffffffff None",
        "fence SeqCst Cta Generic",
        "warp 1 arrives Cta(1) 0xffffffff None",
        "complete Cta(1)",
        "exit 0xffffffff",
        "fence AcqRel Gpu Generic",
        "exit 0xffffffff",
    ];
    assert_eq!(lines[2..lines.len() - 2], expected);
    assert_eq!(BarrierName::Cta(1), BarrierName::Cta(1));
}

#[test]
fn proxy_fences_name_their_proxy() {
    let (lines, _) = log("sm_90", 1, "fence.proxy.async; fence.proxy.alias; ret;");
    let sys = |p: Proxy| format!("fence {:?} {:?} {p:?}", Order::SeqCst, Scope::Sys);
    assert_eq!(lines[2..4], [sys(Proxy::Async), sys(Proxy::Alias)]);
    assert_eq!(Accessor::BulkCopy.proxy(Space::Global), Proxy::Async);
}

#[test]
fn mbarriers_and_bulk_copies() {
    let (lines, out) = log(
        "sm_90",
        1,
        ".shared .align 128 .b8 s[64]; .shared .align 8 .b64 bar; .reg .b64 %state;
         mbarrier.init.shared.b64 [bar], 1;
         mbarrier.arrive.expect_tx.shared.b64 %state, [bar], 32;
         mov.u32 %r2, s; mov.u32 %r3, bar;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 32, [%r3];
         mbarrier.test_wait.shared.b64 %p1, [bar], %state; ret;",
    );
    let about = |word: &str| -> Vec<_> {
        lines.iter().filter(|l| l.starts_with(word)).map(String::as_str).collect()
    };
    let of = |what: MbarrierOp, completes: bool| format!("mbarrier 0 0x40 {what:?} {completes}");
    assert_eq!(
        about("mbarrier"),
        [
            of(MbarrierOp::Init(1), false),
            of(MbarrierOp::Expect(32), false),
            of(MbarrierOp::Arrive { count: 1, drop: false }, false),
            of(MbarrierOp::Complete(32), true),
            of(MbarrierOp::Test { odd: false }, true),
        ]
    );
    assert_eq!(
        about("BulkCopy"),
        [
            format!("BulkCopy Read Global 32 0x1 {out:#x}"),
            "BulkCopy Write SharedCluster 32 0x1 0x0".into(),
        ]
    );
    assert_eq!(about("Mbarrier").len(), 4);
}

#[test]
fn heap_and_printing() {
    let text = ".version 8.4\n.target sm_80\n.address_size 64
        .extern .func (.param .b64 r) malloc(.param .b64 n);
        .extern .func free(.param .b64 p);
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .visible .entry k() {
        .reg .b64 %rd<8>; .reg .b32 %r<4>; .local .align 8 .b8 a[8];
        .local .align 1 .b8 f[8];
        st.local.u8 [f], 105; st.local.u8 [f+1], 61; st.local.u8 [f+2], 37; st.local.u8 [f+3], 100;
        st.local.u8 [f+4], 0; st.local.u32 [a], 7;
        mov.u64 %rd1, f; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, a; cvta.local.u64 %rd2, %rd2;
        { .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %rd1; st.param.b64 [q], %rd2;
          call.uni (r), vprintf, (p, q); }
        { .param .b64 p; .param .b64 r; st.param.b64 [p], 24; call.uni (r), malloc, (p);
          ld.param.b64 %rd3, [r]; }
        { .param .b64 p; st.param.b64 [p], %rd3; call.uni free, (p); }
        ret; }";
    let k = kernel(text);
    let b = Bench::new(1, 1);
    let (result, logs) = launch_observed(&k, &b.memory, &b.params, &Log::default);
    result.unwrap_or_else(|e| panic!("{e}"));
    let lines = &logs[0].0;
    let at =
        |word: &str| lines.iter().position(|l| l == word).unwrap_or_else(|| panic!("{lines:?}"));
    assert!(at("print 0 i=7") < at("malloc 24") && at("malloc 24") < at("free"));
    assert_eq!(lines.iter().filter(|l| l.starts_with("Host Read Generic 1 ")).count(), 5);
    assert_eq!(lines.iter().filter(|l| l.starts_with("System Read Generic 4 ")).count(), 1);
    assert_eq!(b.printed(), "i=7");
}

/// Counts accesses until a lane would write `at`.
struct Watchpoint {
    at: u64,
    accesses: u32,
    registers: Vec<u64>,
}

impl Observer for Watchpoint {
    const EVENTS: EventSet = EventSet::ACCESS;
    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        let WarpEvent::Access(a) = event else { panic!("{event:?} was not asked for") };
        self.accesses += 1;
        let hit = (0..32).find(|l| {
            a.action == Action::Write && a.lanes >> l & 1 != 0 && a.addresses[*l] == self.at
        });
        let Some(lane) = hit else { return ControlFlow::Continue(()) };
        let shown = moment.registers(lane as u8);
        assert_eq!(shown.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["%rd3", "%r2"]);
        self.registers = shown.iter().map(|r| r.value).collect();
        let mut old = [0; 4];
        moment.read(lane as u8, a.space, self.at, &mut old).unwrap();
        assert_eq!(old, [0; 4]);
        assert_eq!(moment.thread(lane as u8), [lane as u32, 0, 0]);
        assert!(moment.place().text.starts_with("st.global"));
        assert_eq!(moment.register(Kind::P, 99), None);
        ControlFlow::Break(format!("thread {lane} writes it"))
    }
}

#[test]
fn an_observer_looks_at_registers_and_stops_the_launch() {
    let body = format!("{HEAD} add.u32 %r2, %r1, 100; st.global.u32 [%rd3], %r2; trap;");
    let k = kernel(&module("sm_80", ".param .u64 out", &body));
    let mut b = Bench::new(1, 32);
    let out = b.buffer(&[0; 32]);
    let make = || Watchpoint { at: out + 28, accesses: 0, registers: Vec::new() };
    let (result, mut seen) = launch_observed(&k, &b.memory, &b.params, &make);
    let Err(LaunchError::Fault(report)) = result else { panic!("{result:?}") };
    assert_eq!(
        (report.kind, report.message.as_str()),
        (FaultKind::Cancelled, "thread 7 writes it")
    );
    let seen = seen.remove(0);
    assert_eq!(seen.registers, [out + 28, 107]);
    // The event came before the access.
    assert_eq!(b.words(out, 32), [0; 32]);
}

/// Counts instructions.
#[derive(Default)]
struct Count(u64);

impl Observer for Count {
    const EVENTS: EventSet = EventSet::ISSUE;
    fn warp(&mut self, _: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        assert!(matches!(event, WarpEvent::Issue { .. }));
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn observers_combine_and_survive_faults() {
    let body = format!(
        "{HEAD} st.global.u32 [%rd3], %r1; mov.u64 %rd4, 0; ld.global.u32 %r2, [%rd4]; ret;"
    );
    let k = kernel(&module("sm_80", ".param .u64 out", &body));
    let mut b = Bench::new(1, 32);
    b.buffer(&[0; 32]);
    let make = || (Count::default(), Log::default());
    let (result, seen) = launch_observed(&k, &b.memory, &b.params, &make);
    let Err(LaunchError::Fault(report)) = result else { panic!("{result:?}") };
    assert_eq!(report.kind, FaultKind::NullPointer);
    let (count, log) = &seen[0];
    assert_eq!(count.0, 7);
    let lines = &log.0;
    assert!(lines[lines.len() - 3].starts_with("Load Read Global 4 0xffffffff 0x0"), "{lines:?}");
    assert_eq!(lines[lines.len() - 2..], ["fault NullPointer", "launch ends"]);
    // A launch that is not possible has no observers.
    b.params.grid[0] = 0;
    assert!(launch_observed(&k, &b.memory, &b.params, &make).1.is_empty());
}

/// A branch with `sides` that its lanes part at by the bits of a number that changes in each of 40 turns. What it does
/// goes to `[%rd3]`: a word for each of 64 threads, of which 20 have ended before.
fn parting(sides: &str) -> String {
    let body = format!(
        "{HEAD} .shared .b8 s[1024]; setp.lt.u32 %p3, %r1, 20; @%p3 exit;
         mov.u32 %r2, 0; mad.lo.u32 %r3, %r1, 77777, 99; mov.u32 %r6, s; shl.b32 %r7, %r1, 2; xor.b32 %r8, %r7, 8;
         add.u32 %r7, %r7, %r6; add.u32 %r8, %r8, %r6; st.shared.u32 [%r7], %r1;
         $L: mad.lo.u32 %r3, %r3, 1664525, 1013904223; shr.u32 %r4, %r3, 28; setp.lt.u32 %p1, %r4, 9;
         setp.eq.u32 %p2, %r4, 9; {sides}
         $M: mad.lo.u32 %r3, %r5, 3, %r3; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 40; @%p1 bra $L;
         st.global.u32 [%rd3], %r3; ret;"
    );
    module("sm_80", ".param .u64 out", &body)
}

/// Lanes part with splits where somebody looks, else without: memory, counts and faults must be the same.
#[test]
fn lanes_part_alike_whether_somebody_looks() {
    let side = |r: &str| {
        format!(
            "ld.shared.u32 %r5, [{r}]; add.u32 %r5, %r5, %r3; @%p2 xor.b32 %r5, %r5, 5; st.shared.u32 [%r7], %r5;"
        )
    };
    let (a, b) = (side("%r7"), side("%r8"));
    let bad = "mov.u64 %rd4, 4096; @%p2 st.global.u32 [%rd4], %r3;";
    let kernels = [
        format!("@%p1 bra $M; {a}"),
        format!("@!%p1 bra $M; {b}"),
        format!("@%p1 bra $T; {a} bra $M; $T: {b}"),
        format!("@%p1 bra $T; {a} bra.uni $M; $T: @%p2 bra $M; {b}"),
        format!("@%p1 bra $T; {a} @%p2 exit; bra $M; $T: {b}"),
        format!("@%p1 bra $M; {a} {bad}"),
        format!("@!%p1 bra $M; {a} setp.eq.u32 %p2, %r4, 7; {bad}"),
        format!("@%p1 bra $T; {a} bra $M; $T: setp.eq.u32 %p2, %r4, 7; {bad} {b}"),
        format!("@%p1 bra $T; {a} {bad} bra $M; $T: {b}"),
    ];
    let mut faults = 0;
    for sides in &kernels {
        let k = kernel(&parting(sides));
        let mut run = |observed: bool| {
            let mut b = Bench::new(1, 64);
            let out = b.buffer(&[0; 64]);
            let result = if observed {
                launch_observed(&k, &b.memory, &b.params, &Log::default).0
            } else {
                launch(&k, &b.memory, &b.params)
            };
            faults += usize::from(result.is_err());
            (format!("{result:?}"), b.words(out, 64))
        };
        assert_eq!(run(false), run(true), "{sides}");
    }
    assert_eq!(faults, 8, "four kernels fault either way");
}

#[test]
fn generic_addresses_by_space() {
    for (space, address, found) in [
        (Space::Generic, window::SHARED + 8, (Space::SharedCluster, 8)),
        (Space::Generic, window::LOCAL, (Space::Local, 0)),
        (Space::Generic, window::PARAM + 4, (Space::ParamEntry, 4)),
        (Space::Generic, window::GLOBAL, (Space::Global, window::GLOBAL)),
        (Space::Generic, 0, (Space::Global, 0)),
        (Space::Shared, window::LOCAL, (Space::Shared, window::LOCAL)),
    ] {
        assert_eq!(window::locate(space, address), found);
    }
}
