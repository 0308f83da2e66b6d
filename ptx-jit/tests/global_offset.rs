//! The global offset of an OpenCL launch: right wherever it lies, and free.

mod common;

use common::{Case, module};
use ptx_jit::{Options, dump};

/// What each thread makes of its global number (`%r5`), and its row's (`%r9`), at a place of its own.
const VALUES: &str = ".reg .b32 %r<24>; .reg .b64 %rd<20>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [a]; ld.param.u32 %r20, [n];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.u32 %r6, %envreg3; add.s32 %r5, %r4, %r6;
    mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.s32 %r8, %r1, %r2, %r3;
    mov.u32 %r7, %envreg4; add.s32 %r9, %r8, %r7;
    mov.u32 %r10, %nctaid.x; mov.u32 %r11, %ntid.x; mul.lo.u32 %r12, %r10, %r11; mad.lo.u32 %r13, %r8, %r12, %r4;
    mul.wide.u32 %rd2, %r13, 80; add.s64 %rd3, %rd1, %rd2;
    cvt.u64.u32 %rd4, %r5; st.global.u64 [%rd3], %rd4;
    cvt.s64.s32 %rd5, %r5; st.global.u64 [%rd3+8], %rd5;
    mul.wide.u32 %rd6, %r5, 12; st.global.u64 [%rd3+16], %rd6;
    mad.wide.s32 %rd7, %r5, 4, %rd1; st.global.u64 [%rd3+24], %rd7;
    shr.u32 %r14, %r5, 3; cvt.u64.u32 %rd8, %r14; st.global.u64 [%rd3+32], %rd8;
    and.b32 %r15, %r5, 31; or.b32 %r16, %r5, 16; st.global.v2.u32 [%rd3+40], {%r15, %r16};
    mad.lo.s32 %r17, %r9, %r20, %r5; cvt.s64.s32 %rd9, %r17; st.global.u64 [%rd3+48], %rd9;
    setp.lt.u32 %p1, %r5, %r20; selp.u32 %r18, 1, 2, %p1; setp.lt.s32 %p2, %r5, 96; selp.u32 %r19, 4, 8, %p2;
    st.global.v2.u32 [%rd3+56], {%r18, %r19};
    shl.b32 %r21, %r5, 1; mul.wide.u32 %rd10, %r21, 4; st.global.u64 [%rd3+64], %rd10;
    shr.s32 %r22, %r5, 2; cvt.s64.s32 %rd11, %r22; st.global.u64 [%rd3+72], %rd11; ret;";

fn values(grid: [u32; 3], block: [u32; 3], offset: [u32; 3]) -> Case {
    let text = module("sm_70", ".param .u64 a, .param .u32 n", VALUES);
    let mut case = Case::new(&text, "k", grid, block).unwrap();
    let threads = (0..3).map(|d| grid[d] * block[d]).product::<u32>();
    case.words((0..threads * 20).map(|n| n ^ 0xdead_beef));
    case.arg(&100u32.to_le_bytes()).offset(offset);
    case
}

/// Offsets of every class, aligned and not, and those with which numbers of threads wrap as signed and unsigned ones.
const OFFSETS: [u32; 16] = [
    0,
    1,
    32,
    100,
    4096,
    65_535,
    1 << 20,
    (1 << 24) + 3,
    (1 << 28) - 32,
    (1 << 28) + 32,
    (1 << 31) - 128,
    (1 << 31) - 33,
    1 << 31,
    3_000_000_000,
    u32::MAX - 95,
    u32::MAX,
];

#[test]
fn same_bits_with_every_offset() {
    for (grid, block) in [([3, 1, 1], [64, 1, 1]), ([2, 3, 1], [16, 4, 1]), ([2, 2, 1], [8, 8, 1])]
    {
        for x in OFFSETS {
            for y in [0, 7, 1 << 27, u32::MAX - 1] {
                let case = values(grid, block, [x, y, 0]);
                case.compare().unwrap_or_else(|e| panic!("{block:?}, offset {x}, {y}: {e}"));
                // Code for launches of all kinds.
                let any = ptx_jit::compile(&case.program, block, None, Options::default()).unwrap();
                let case = values(grid, block, [x, y, 0]);
                case.compare_with(&any).unwrap_or_else(|e| panic!("{block:?}, any, {x}, {y}: {e}"));
            }
        }
    }
}

#[test]
fn code_serves_only_launches_that_it_was_made_for() {
    let kernels: Vec<_> = OFFSETS
        .iter()
        .map(|x| values([3, 1, 1], [64, 1, 1], [*x, 0, 0]).compile().unwrap())
        .collect();
    for (kernel, made_for) in kernels.iter().zip(OFFSETS) {
        for x in OFFSETS {
            let case = values([3, 1, 1], [64, 1, 1], [x, 0, 0]);
            if kernel.fits(case.seen()) {
                case.compare_with(kernel).unwrap_or_else(|e| panic!("{made_for} for {x}: {e}"));
            }
            assert!(x != made_for || kernel.fits(case.seen()), "{x}");
            let zero = made_for == 0 && x != 0;
            assert!(!(zero && kernel.fits(case.seen())), "code without an offset for {x}");
        }
    }
}

/// `b[i] = a[i] + a[i + 1]` with `i` as OpenCL C has it, 64 bits wide, and the row of a picture as an `int`.
const SUM: &str = ".reg .b32 %r<16>; .reg .b64 %rd<10>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r12, [width];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.u32 %r5, ENVREG3; add.s32 %r6, %r4, %r5;
    mov.u32 %r7, %ctaid.y; mov.u32 %r8, %ntid.y; mov.u32 %r9, %tid.y; mad.lo.s32 %r10, %r7, %r8, %r9;
    mov.u32 %r5, ENVREG4; add.s32 %r11, %r10, %r5;
    cvt.u64.u32 %rd3, %r6; shl.b64 %rd4, %rd3, 2; add.s64 %rd5, %rd1, %rd4;
    ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd5+4]; add.f32 %f3, %f1, %f2;
    mad.lo.s32 %r13, %r11, %r12, %r6; mul.wide.s32 %rd6, %r13, 4; add.s64 %rd7, %rd2, %rd6;
    st.global.f32 [%rd7], %f3; ret;";

/// Accesses of global memory in the middle form: those whose addresses are linear or the same in all lanes, and others.
fn accesses(form: &str) -> (usize, usize) {
    let shape = |value: &str| {
        let line = form.lines().find(|l| l.trim_start().starts_with(&format!("%{value} = ")));
        line.and_then(|l| l.split("; ").last()).unwrap_or_else(|| panic!("%{value} in\n{form}"))
    };
    let (mut together, mut apart) = (0, 0);
    for line in form.lines().filter(|l| l.contains("space: Global")) {
        // `[dst] = Ld(Mem { ... }) [address, ...] if ...`
        let operands = line.rsplit_once("}) [").expect("operands").1;
        let address = operands.split([',', ']']).next().expect("an address");
        if shape(address) == "vector" { apart += 1 } else { together += 1 }
    }
    (together, apart)
}

#[test]
fn an_offset_keeps_accesses_linear() {
    let params = ".param .u64 a, .param .u64 b, .param .u32 width";
    let with = module("sm_70", params, &SUM.replace("ENV", "%env").replace("REG", "reg"));
    let without = module("sm_70", params, &SUM.replace("ENVREG3", "0").replace("ENVREG4", "0"));
    let form = |text: &str, block: [u32; 3], offset: [u32; 3]| {
        let mut case = Case::new(text, "k", [64, 64, 1], block).unwrap();
        case.words([0; 4]);
        case.words([0; 4]);
        case.arg(&2048u32.to_le_bytes()).offset(offset);
        dump(&case.program, block, Some(case.seen()), Options::default()).unwrap()
    };
    for block in [[256, 1, 1], [16, 8, 1], [32, 2, 1]] {
        for offset in [[0, 0, 0], [32, 0, 0], [17, 3, 0], [4096, 1000, 0], [100_000, 20, 0]] {
            let form = form(&with, block, offset);
            assert_eq!(accesses(&form), (3, 0), "{block:?} {offset:?}\n{form}");
        }
        // Nothing is left of an offset that is zero.
        let strip = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|l| !l.starts_with("  ;"));
            lines
                .filter_map(|l| l.split_once(" = ").map(|(_, of)| of.split(' ').next()))
                .flatten()
                .map(str::to_owned)
                .collect()
        };
        let (zero, none) = (form(&with, block, [0; 3]), form(&without, block, [0; 3]));
        assert_eq!(strip(&zero), strip(&none), "{block:?}\n{zero}\n{none}");
        assert!(!zero.contains("Envreg"), "{zero}");
    }
    // What nobody promises to be small is not taken to be so.
    let case = Case::new(&with, "k", [1; 3], [256, 1, 1]).unwrap();
    let any = dump(&case.program, [256, 1, 1], None, Options::default()).unwrap();
    assert_eq!(accesses(&any), (0, 3), "{any}");
}

#[test]
fn again_with_short_vectors() {
    common::again_with_short_vectors("again_with_short_vectors", &[]);
}
