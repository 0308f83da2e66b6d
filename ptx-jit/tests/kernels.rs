//! Kernels in the interpreter and compiled: equal memory afterwards.

mod common;

use common::{Case, module};

const GUARDED: &str = include_str!("../../ptx-interp/tests/kernels/vector_add.ptx");

/// Lanes gather through loops of their own length: threads run one by one.
#[test]
fn sparse_rows() {
    let text = module(
        "sm_70",
        ".param .u64 start, .param .u64 column, .param .u64 x, .param .u64 y, .param .u32 rows",
        "
        .reg .pred %p<3>; .reg .b32 %r<8>; .reg .f64 %fd<4>; .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [start]; ld.param.u64 %rd2, [column]; ld.param.u64 %rd3, [x];
        ld.param.u64 %rd4, [y]; ld.param.u32 %r1, [rows];
        mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r2, %r2, %r3, %r4;
        setp.ge.s32 %p1, %r2, %r1; @%p1 bra $end;
        mul.wide.s32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5;
        ld.global.u32 %r5, [%rd6]; ld.global.u32 %r6, [%rd6+4];
        mov.f64 %fd1, 0d0000000000000000;
        setp.ge.s32 %p2, %r5, %r6; @%p2 bra $store;
        $loop: mul.wide.s32 %rd7, %r5, 4; add.s64 %rd8, %rd2, %rd7; ld.global.s32 %r7, [%rd8];
        mul.wide.s32 %rd9, %r7, 8; add.s64 %rd10, %rd3, %rd9; ld.global.f64 %fd2, [%rd10];
        fma.rn.f64 %fd1, %fd2, %fd2, %fd1;
        add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r6; @%p2 bra $loop;
        $store: mul.wide.s32 %rd11, %r2, 8; add.s64 %rd11, %rd4, %rd11; st.global.f64 [%rd11], %fd1;
        $end: ret;",
    );
    let rows = 100u32;
    let starts: Vec<u32> = (0..=rows).map(|r| r * r % 7 + 7 * r).collect();
    let entries = *starts.last().unwrap();
    let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
    case.words(starts);
    case.words((0..entries).map(|i| i * 31 % 64));
    // Numbers, infinities and NaNs of all kinds.
    case.words((0..128u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
    case.words(vec![0; 2 * rows as usize]);
    case.arg(&rows.to_le_bytes());
    let kernel = case.compile().unwrap();
    assert_eq!(kernel.stats.lanes, 1);
    case.compare().unwrap();
}

#[test]
fn faults_are_found() {
    let text =
        module("sm_70", ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n", GUARDED);
    let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
    case.words(vec![1; 128]);
    case.words(vec![1; 100]);
    case.words(vec![1; 128]);
    case.arg(&128u32.to_le_bytes());
    let kernel = case.compile().unwrap();
    let stop = case.run_compiled(&kernel).unwrap_err();
    let ptx_jit::Stop::Fault { fault, block, thread, span, .. } = stop else { panic!("{stop:?}") };
    assert!(
        matches!(fault, ptx_isa::effect::Fault::OutOfBounds { write: false, bytes: 4, .. }),
        "{fault:?}"
    );
    assert_eq!((block, thread), ([1, 0, 0], [36, 0, 0]));
    assert!(text[span.start as usize..span.end as usize].starts_with("ld.global.f32 %f1"));
}

#[test]
fn an_endless_loop_ends() {
    let text = module("sm_70", ".param .u64 a", "$l: bra $l;");
    let mut case = Case::new(&text, "k", [1; 3], [32, 1, 1]).unwrap();
    case.words([0]);
    let kernel = case.compile().unwrap();
    assert_eq!(case.run_compiled(&kernel), Err(ptx_jit::Stop::Device));
}

/// The same once more with the shorter vectors that the processor has.
#[test]
fn with_short_vectors() {
    common::again_with_short_vectors("with_short_vectors", &[]);
}
