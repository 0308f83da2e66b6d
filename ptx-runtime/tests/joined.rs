//! Blocks of one thread that are put together do what they do one by one, and say so.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ptx_runtime::{
    Backend, Context, DeviceOptions, Engine, FaultKind, KernelArg, LaunchConfig, LaunchError,
    LaunchStats, Module,
};

const WORDS: usize = 1 << 14;

struct Kernel {
    context: Context,
    module: Module,
}

impl Kernel {
    fn new(body: &str) -> Kernel {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n
            .extern .shared .align 16 .b8 dynamic[];
            .visible .entry k(.param .u64 to, .param .u32 n)\n{{
            .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<8>;
            .shared .align 16 .b32 table[24]; .shared .b32 other[3]; .local .align 8 .b32 mine[8];
            ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [n];
            mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %nctaid.x;
            mov.u32 %r5, %ntid.x; mov.u32 %r6, %tid.x;
            mad.lo.u32 %r7, %r3, %r4, %r2; mad.lo.u32 %r7, %r7, %r5, %r6;
            mul.wide.u32 %rd2, %r7, 4; add.s64 %rd3, %rd1, %rd2;
            {body}\nret;\n}}\n"
        );
        let context = Context::new(&DeviceOptions::default()).unwrap();
        let module = Module::load(&context, &text, "k.ptx").unwrap();
        Kernel { context, module }
    }

    /// The memory after a launch. A launch whose progress somebody follows is one of single blocks.
    fn run(
        &self,
        grid: [u32; 3],
        n: u32,
        backend: Backend,
        single: bool,
    ) -> (Result<LaunchStats, LaunchError>, Vec<u32>) {
        let buffer = self.context.alloc(4 * WORDS as u64).unwrap();
        let start: Vec<u8> =
            (0..WORDS as u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        self.context.copy_to_device(buffer, &start).unwrap();
        let config = LaunchConfig {
            grid,
            args: vec![KernelArg::Pointer(buffer), KernelArg::Bytes(n.to_le_bytes().to_vec())],
            shared: 80,
            backend,
            progress: single.then(|| Arc::new(AtomicU64::new(0))),
            ..LaunchConfig::default()
        };
        let ran = self.context.launch(&self.module, "k", config);
        let mut bytes = vec![0; 4 * WORDS];
        self.context.copy_from_device(buffer, &mut bytes).unwrap();
        self.context.free(buffer).unwrap();
        (ran, bytes.as_chunks().0.iter().map(|w| u32::from_le_bytes(*w)).collect())
    }

    /// Runs it in all ways; all leave the same memory.
    fn check(&self, what: &str) {
        for (grid, n) in [
            ([256, 1, 1], 7),
            ([1000, 3, 1], 11),
            ([16, 2, 2], 24),
            ([68, 1, 1], 1),
            ([13, 1, 1], 3),
            ([512, 1, 1], 0),
        ] {
            let (ran, want) = self.run(grid, n, Backend::Interp, true);
            let blocks = ran.unwrap().blocks;
            for backend in [Backend::Interp, Backend::Jit, Backend::Auto] {
                let (ran, got) = self.run(grid, n, backend, false);
                let ran = ran.unwrap();
                if let (Some(threads), Some(warps)) =
                    (ran.thread_instructions, ran.warp_instructions)
                    && backend == Backend::Interp
                {
                    // Several lanes of each warp had something to do, where the row is no prime number or goes to one
                    // host thread as a whole.
                    let one = std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
                    assert_eq!(warps < threads, grid[0] != 13 || one, "{what} {grid:?}");
                }
                assert_eq!(ran.blocks, blocks, "{what} {grid:?} {backend:?}");
                assert!(got == want, "{what} {grid:?} {n} {backend:?} {}", ran.engine);
                if backend == Backend::Jit {
                    assert!(matches!(ran.engine, Engine::Compiled(_)), "{what}: {}", ran.engine);
                }
            }
        }
    }
}

/// A table that is the same for all blocks, filled in a loop as by threads of a block.
const SAME_TABLE: &str = "
    mov.u32 %r10, %tid.x; mov.u64 %rd4, table;
F:  mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd4, %rd5; mad.lo.u32 %r11, %r10, %r1, 77;
    st.shared.u32 [%rd6], %r11; add.u32 %r10, %r10, %r5; setp.lt.u32 %p1, %r10, 24; @%p1 bra F;
    bar.sync 0;
    mov.u32 %r12, 0; mov.u32 %r13, %r7;
L:  rem.u32 %r14, %r12, 24; mul.wide.u32 %rd5, %r14, 4; add.s64 %rd6, %rd4, %rd5;
    ld.shared.u32 %r15, [%rd6]; mad.lo.u32 %r13, %r13, 5, %r15; add.u32 %r12, %r12, 1;
    setp.le.u32 %p1, %r12, %r1; @%p1 bra L;
    st.global.u32 [%rd3], %r13;";

#[test]
fn tables_of_all_blocks_alike() {
    Kernel::new(SAME_TABLE).check("same");
}

#[test]
fn memory_of_each_block() {
    // Values, places and turns differ by block; dynamic shared memory; 32-bit addresses; local arrays beside.
    Kernel::new(
        "mov.u32 %r10, 0; mov.u64 %rd4, table; mov.u64 %rd7, mine; mov.u64 %rd8, dynamic; mov.u32 %r20, dynamic;
        F: mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd4, %rd5; mad.lo.u32 %r11, %r10, %r2, 77;
        st.shared.u32 [%rd6], %r11; and.b32 %r12, %r11, 7; mul.wide.u32 %rd9, %r12, 4; add.s64 %rd10, %rd7, %rd9;
        st.local.u32 [%rd10], %r10; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 24; @%p1 bra F;
        bar.sync 0; st.shared.u32 [other+4], %r7; st.shared.v2.u32 [dynamic+8], {%r7, %r2};
        and.b32 %r13, %r7, 15; mov.u32 %r16, 1;
        L: mul.wide.u32 %rd5, %r13, 4; add.s64 %rd6, %rd4, %rd5; ld.shared.u32 %r14, [%rd6+16];
        shl.b32 %r21, %r13, 2; add.u32 %r21, %r21, %r20; st.shared.u32 [%r21+16], %r14; ld.shared.u32 %r22, [%r21+16];
        ld.shared.u8 %r23, [%r21+17]; add.u32 %r22, %r22, %r23;
        ld.local.u32 %r15, [mine+12]; mad.lo.u32 %r16, %r16, 3, %r22; add.u32 %r16, %r16, %r15; bar.sync 0;
        setp.eq.u32 %p1, %r13, 0; sub.u32 %r13, %r13, 1; @!%p1 bra L;
        ld.shared.u32 %r17, [other+4]; ld.shared.v2.u32 {%r18, %r19}, [dynamic+8]; add.u32 %r16, %r16, %r17;
        add.u32 %r16, %r16, %r18; sub.u32 %r16, %r16, %r19;
        setp.gt.u32 %p2, %r2, 5; @%p2 atom.global.add.u32 %r30, [%rd1+65532], %r16;
        st.global.u32 [%rd3], %r16;",
    )
    .check("own");
}

#[test]
fn stores_under_a_condition() {
    // Only some blocks store, so that tables differ; memory that nobody wrote is zero.
    Kernel::new(
        "mov.u64 %rd4, table; mov.u32 %r10, 0; and.b32 %r11, %r2, 3; setp.ne.u32 %p1, %r11, 0; @%p1 bra N;
        F: mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd4, %rd5; st.shared.u32 [%rd6], 9;
        add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, %r1; @%p2 bra F;
        N: mov.u32 %r10, 0; mov.u32 %r12, 1;
        L: mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd4, %rd5; ld.shared.u32 %r13, [%rd6];
        mad.lo.u32 %r12, %r12, 7, %r13; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 24; @%p2 bra L;
        st.global.u32 [%rd3], %r12;",
    )
    .check("some");
}

#[test]
fn some_blocks_end_early() {
    Kernel::new(&format!("setp.gt.u32 %p3, %r2, 37; @%p3 ret;{SAME_TABLE}")).check("early");
}

#[test]
fn faults_name_the_block() {
    // Block 21 leaves its shared memory, by a little, by much, and below its start.
    for index in ["41", "100000", "-30", "-1000000"] {
        let kernel = Kernel::new(&format!(
            "setp.eq.u32 %p1, %r2, 21; selp.b32 %r10, {index}, 3, %p1; mul.wide.s32 %rd5, %r10, 4;
            mov.u64 %rd4, table; add.s64 %rd6, %rd4, %rd5; st.shared.u32 [%rd6+96], %r2;
            ld.shared.u32 %r11, [%rd6+96]; st.global.u32 [%rd3], %r11;"
        ));
        let (ran, _) = kernel.run([64, 1, 1], 0, Backend::Interp, true);
        let Err(LaunchError::Fault(want)) = ran else { panic!("{index}: {ran:?}") };
        assert_eq!((want.kind.clone(), want.block), (FaultKind::OutOfBounds, [21, 0, 0]));
        for backend in [Backend::Interp, Backend::Jit] {
            let (ran, _) = kernel.run([64, 1, 1], 0, backend, false);
            let Err(LaunchError::Fault(got)) = ran else { panic!("{index}: {ran:?}") };
            assert_eq!(got.to_string(), want.to_string());
        }
    }
}

#[test]
fn kernels_that_can_tell_run_alone() {
    // What names lanes and generic addresses of shared memory stay as they are.
    for body in [
        "activemask.b32 %r10; st.global.u32 [%rd3], %r10;",
        "shfl.sync.idx.b32 %r10, %r2, 0, 31, 1; st.global.u32 [%rd3], %r10;",
        "mov.u64 %rd4, table; cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], %r2; ld.shared.u32 %r10, [table];
        st.global.u32 [%rd3], %r10;",
        "st.shared.u32 [table], %r2; atom.shared.add.u32 %r10, [table], 3; ld.shared.u32 %r11, [table];
        add.u32 %r11, %r11, %r10; st.global.u32 [%rd3], %r11;",
        "setp.gt.u32 %p1, %r2, 4; bar.red.popc.u32 %r10, 0, %p1; st.global.u32 [%rd3], %r10;",
    ] {
        let kernel = Kernel::new(body);
        let (_, want) = kernel.run([256, 1, 1], 0, Backend::Interp, true);
        for backend in [Backend::Interp, Backend::Auto, Backend::Jit] {
            let (ran, got) = kernel.run([256, 1, 1], 0, backend, false);
            let ran = ran.unwrap();
            assert!(got == want, "{body} {backend:?} {}", ran.engine);
            assert_eq!(ran.thread_instructions, ran.warp_instructions, "{body}");
        }
    }
}

/// Statements of random kernels: `%r10` to `%r17` are numbers, `%r20` to `%r22` count turns.
struct Writer {
    state: u64,
    text: String,
    labels: u32,
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32 % n
    }
    fn number(&mut self) -> String {
        match self.below(8) {
            0 => "%r2".into(),
            1 => "%r7".into(),
            2 => "%r1".into(),
            3 => self.below(100).to_string(),
            n => format!("%r{}", 6 + n),
        }
    }
    fn register(&mut self) -> String {
        format!("%r{}", 10 + self.below(4))
    }
    /// The place of a word of shared (`%rd6`) or local memory (`%rd7`) into a register.
    fn place(&mut self) -> (&'static str, String) {
        let (space, words, start) =
            [("shared", 24, "table"), ("local", 8, "mine")][self.below(2) as usize];
        let of = self.number();
        let code = format!(
            "mov.b32 %r30, {of}; rem.u32 %r30, %r30, {words}; mul.wide.u32 %rd5, %r30, 4; mov.u64 %rd4, {start};
            add.s64 %rd6, %rd4, %rd5;\n"
        );
        (space, code)
    }
    fn statements(&mut self, depth: u32) {
        for _ in 0..2 + self.below(4) {
            match self.below(if depth < 3 { 8 } else { 5 }) {
                0 => {
                    let (space, place) = self.place();
                    let value = self.number();
                    self.text +=
                        &format!("{place}mov.b32 %r31, {value}; st.{space}.u32 [%rd6], %r31;\n");
                }
                1 | 2 => {
                    let (space, place) = self.place();
                    let to = self.register();
                    self.text += &format!("{place}ld.{space}.u32 {to}, [%rd6];\n");
                }
                3 => self.text += "bar.sync 0;\n",
                4 => {
                    let (to, a, b) = (self.register(), self.number(), self.number());
                    self.text += &format!("mov.b32 %r30, {a}; mad.lo.u32 {to}, {to}, %r30, {b};\n");
                }
                5 | 6 => {
                    let (label, a, b) = (self.labels, self.number(), self.below(3));
                    self.labels += 1;
                    self.text += &format!(
                        "mov.b32 %r30, {a}; and.b32 %r30, %r30, 3; setp.eq.u32 %p1, %r30, {b}; @%p1 bra I{label};\n"
                    );
                    self.statements(depth + 1);
                    self.text += &format!("I{label}:\n");
                }
                _ => {
                    let (label, n) = (self.labels, self.number());
                    self.labels += 1;
                    let turn = 20 + depth;
                    self.text += &format!(
                        "mov.b32 %r{turn}, {n}; and.b32 %r{turn}, %r{turn}, 7;\nL{label}:\n"
                    );
                    self.statements(depth + 1);
                    self.text += &format!(
                        "sub.u32 %r{turn}, %r{turn}, 1; setp.gt.s32 %p2, %r{turn}, 0; @%p2 bra L{label};\n"
                    );
                }
            }
        }
    }
}

#[test]
fn random_kernels() {
    for seed in 0..150u64 {
        let state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut w = Writer { state, text: String::new(), labels: 0 };
        w.text += "mov.u32 %r10, 1; mov.u32 %r11, 2; mov.u32 %r12, %r1; mov.u32 %r13, %r2;\n";
        w.statements(0);
        w.text +=
            "xor.b32 %r10, %r10, %r11; mad.lo.u32 %r12, %r12, 3, %r13; xor.b32 %r10, %r10, %r12;
            st.global.u32 [%rd3], %r10;";
        let kernel = Kernel::new(&w.text);
        for (grid, n) in [([64, 2, 1], 5), ([36, 1, 1], 2)] {
            let (ran, want) = kernel.run(grid, n, Backend::Interp, true);
            ran.unwrap();
            for backend in [Backend::Interp, Backend::Jit] {
                let (ran, got) = kernel.run(grid, n, backend, false);
                let engine = ran.unwrap().engine;
                assert!(got == want, "seed {seed} {grid:?} {backend:?} {engine}\n{}", w.text);
            }
        }
    }
}

/// Once more with the shorter vectors that the processor has.
#[test]
fn short_vectors() {
    const TESTS: [&str; 4] = [
        "random_kernels",
        "tables_of_all_blocks_alike",
        "memory_of_each_block",
        "stores_under_a_condition",
    ];
    let own = ptx_runtime::vector_bits();
    for bits in [128u32, 256].into_iter().filter(|bits| *bits < own) {
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .arg("--exact")
            .args(TESTS)
            .env("PTXRUN_JIT_BITS", bits.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{bits} bits: {text}");
        assert!(text.contains("4 passed"), "the tests have run: {text}");
    }
}
