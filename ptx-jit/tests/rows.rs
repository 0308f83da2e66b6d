//! Blocks that one call of the code runs, elements at constant distances, and rounding to whole numbers.

mod common;

use common::{Case, module};
use ptx_jit::Stop;

/// `%r5`: the thread's number in the whole grid, of two dimensions; `%r6`: of how many.
const NUMBER: &str = ".reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %d<8>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
    mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
    mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r5, %r1, %r2, %r3;";

fn case(body: &str, grid: [u32; 3], block: u32, from: &[u32], to: usize) -> Case {
    let text = module("sm_80", ".param .u64 a, .param .u64 b", &format!("{NUMBER}{body} ret;"));
    let mut case = Case::new(&text, "k", grid, [block, 1, 1]).unwrap();
    case.words(from.iter().copied());
    case.words((0..to as u32).map(|n| n ^ 0x5a5a_5a5a));
    case
}

/// Numbers without a pattern.
fn mixed(count: usize) -> Vec<u32> {
    (0..count as u32).map(|n| n.wrapping_mul(0x9e37_79b9).rotate_left(n % 31) ^ n).collect()
}

#[test]
fn every_block_of_a_row_runs_once() {
    // Also grids whose rows are longer than what runs at once, and blocks that are no whole groups.
    let add = "mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
        ld.global.u32 %r7, [%rd4]; ld.global.u32 %r8, [%rd5]; mad.lo.u32 %r9, %r1, 64, %r7; add.u32 %r8, %r8, %r9;
        st.global.u32 [%rd5], %r8;";
    for (grid, block) in [([1, 7, 1], 64), ([5, 3, 1], 32), ([150, 2, 1], 20), ([64, 2, 1], 16)] {
        let threads = (grid[0] * grid[1] * block) as usize;
        case(add, grid, block, &mixed(threads), threads).compare().unwrap();
    }
}

#[test]
fn a_fault_has_the_block_in_which_it_happens() {
    let body = "mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r7, [%rd4];
        add.s64 %rd5, %rd2, %rd3; st.global.u32 [%rd5], %r7;";
    // Block 11 of the second row reads beyond the end.
    let case = case(body, [20, 2, 1], 32, &mixed(31 * 32 + 5), 20 * 2 * 32);
    let kernel = case.compile().unwrap();
    let Err(Stop::Fault { block, thread, .. }) = case.run_compiled(&kernel) else {
        panic!("no fault");
    };
    assert_eq!((block, thread), ([11, 1, 0], [5, 0, 0]));
    // All blocks before it have run.
    let bytes = case.copies.bytes(case.buffers[1]);
    let want: Vec<u8> = mixed(31 * 32).iter().flat_map(|w| w.to_le_bytes()).collect();
    assert!(bytes[..want.len()] == want);
}

#[test]
fn elements_at_constant_distances() {
    const THREADS: usize = 3 * 64;
    for distance in [2usize, 3, 4, 5, 7, 8, 12, 13, 16, 31, 32, 33, 64, 100] {
        // Two fields of each record, a vector of two words where they are aligned, and stores to others.
        let pair = if distance % 2 == 0 {
            "ld.global.v2.u32 {%r9, %r10}, [%rd4]; add.u32 %r8, %r8, %r9; xor.b32 %r7, %r7, %r10;"
        } else {
            ""
        };
        let body = format!(
            "mul.wide.u32 %rd3, %r5, {bytes}; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
            ld.global.u32 %r7, [%rd4]; ld.global.u32 %r8, [%rd4+{last}]; {pair}
            add.u32 %r11, %r7, %r8; xor.b32 %r12, %r7, %r8;
            st.global.u32 [%rd5], %r11; st.global.u32 [%rd5+{last}], %r12;",
            bytes = 4 * distance,
            last = 4 * (distance - 1),
        );
        for block in [16, 32, 64] {
            let grid = [THREADS as u32 / block, 1, 1];
            let words = THREADS * distance;
            let case = case(&body, grid, block, &mixed(words), words);
            case.compare().unwrap_or_else(|e| panic!("{distance} words apart, {block}: {e}"));
        }
        // Numbers of 64 bits.
        let body = format!(
            "mul.wide.u32 %rd3, %r5, {bytes}; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
            ld.global.u64 %rd6, [%rd4]; mul.lo.u64 %rd6, %rd6, 3; st.global.u64 [%rd5], %rd6;",
            bytes = 8 * distance,
        );
        let words = 2 * THREADS * distance;
        let case = case(&body, [6, 1, 1], 32, &mixed(words), words);
        case.compare().unwrap_or_else(|e| panic!("{distance} longs apart: {e}"));
    }
}

#[test]
fn loads_pass_only_stores_of_other_bytes() {
    const THREADS: usize = 3 * 32;
    let start = "mul.wide.u32 %rd3, %r5, 32; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
        mov.u32 %r8, 0; mov.u64 %rd8, 0; setp.gt.u32 %p1, %r5, 40;";
    let add = "mad.lo.u32 %r8, %r8, 5, %r7;";
    let cases = [
        // Other bytes, and what was just stored.
        "st.global.u32 [%rd4], %r5; ld.global.u32 %r7, [%rd4+4]; ADD st.global.u32 [%rd4+4], %r8;
        ld.global.u32 %r7, [%rd4]; ADD ld.global.u32 %r7, [%rd4+4]; ADD ld.global.u32 %r7, [%rd4+8]; ADD",
        // Bytes in common.
        "st.global.u32 [%rd4+4], %r5; ld.global.u64 %rd8, [%rd4]; st.global.u8 [%rd4+13], %r5;
        ld.global.u32 %r7, [%rd4+12]; ADD st.global.v2.u32 [%rd4+16], {%r5, %r8}; ld.global.u32 %r7, [%rd4+20]; ADD",
        // Fewer bytes than were stored, and as another type.
        "st.global.u32 [%rd4], %r7; st.global.u32 [%rd4+4], %r5; ld.global.u16 %r7, [%rd4+4]; ADD
        ld.global.s8 %r7, [%rd4+5]; ADD ld.global.u64 %rd8, [%rd4];",
        // Only some threads store.
        "@%p1 st.global.u32 [%rd4], %r5; ld.global.u32 %r7, [%rd4]; ADD @%p1 st.global.u32 [%rd4+8], %r5;
        @!%p1 ld.global.u32 %r7, [%rd4+12]; ADD",
        // The address is another one, or is loaded.
        "st.global.u32 [%rd4], %r5; xor.b64 %rd6, %rd3, 4; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r7, [%rd7+-4]; ADD
        ld.global.u32 %r7, [%rd7]; ADD",
        "st.global.u64 [%rd4], %rd4; ld.global.u64 %rd6, [%rd4]; st.global.u32 [%rd6+8], %r5; ld.global.u32 %r7, [%rd6+12];
        ADD ld.global.u32 %r7, [%rd4+8]; ADD and.b64 %rd8, %rd6, 31; st.global.u64 [%rd4], %rd8;",
        // Ordered ones stay.
        "st.volatile.global.u32 [%rd4], %r5; ld.global.u32 %r7, [%rd4+4]; ADD st.global.u32 [%rd4+4], %r5;
        ld.volatile.global.u32 %r7, [%rd4+8]; ADD ld.volatile.global.u32 %r7, [%rd4+4]; ADD",
    ];
    for body in cases {
        let end = "st.global.u32 [%rd5], %r8; st.global.u64 [%rd5+8], %rd8;";
        let body = format!("mov.u32 %r7, 77; {start} {} {end}", body.replace("ADD", add));
        for block in [16, 32] {
            let grid = [THREADS as u32 / block, 1, 1];
            let case = case(&body, grid, block, &mixed(8 * THREADS), 8 * THREADS);
            case.compare().unwrap_or_else(|e| panic!("{body}: {e}"));
        }
    }
}

/// Pieces of one, two or four words of records of so many words, each of them a register per word.
fn pieces(words: usize, random: &mut impl FnMut(usize) -> usize) -> Vec<(usize, usize)> {
    let mut free = vec![true; words];
    let mut out = Vec::new();
    for _ in 0..1 + random(words + 2) {
        let count = [1, 1, 1, 2, 4][random(5)];
        let at = random(words) / count * count;
        if words.is_multiple_of(count) && free[at..].iter().take(count).all(|f| *f) {
            free[at..at + count].fill(false);
            out.push((at, count));
        }
    }
    out
}

/// Loads or stores of the pieces; word `n` in register `%r(20 + n)`.
fn accesses(pieces: &[(usize, usize)], store: bool) -> String {
    let mut text = String::new();
    for (at, count) in pieces {
        let registers: Vec<String> = (0..*count).map(|n| format!("%r{}", 20 + at + n)).collect();
        let registers = match &registers[..] {
            [one] => one.clone(),
            more => format!("{{{}}}", more.join(", ")),
        };
        let vector = if *count > 1 { format!(".v{count}") } else { String::new() };
        let step = 4 * at;
        text += &if store {
            format!("st.global{vector}.u32 [%rd5+{step}], {registers};")
        } else {
            format!("ld.global{vector}.u32 {registers}, [%rd4+{step}];")
        };
    }
    text
}

#[test]
fn words_of_records() {
    const THREADS: usize = 3 * 64;
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % n
    };
    for turn in 0..120 {
        let words = 2 + random(16);
        let (loads, stores) = (pieces(words, &mut random), pieces(words, &mut random));
        let reach = |p: &[(usize, usize)]| p.iter().map(|(at, n)| at + n).max().unwrap_or(0);
        let start: String = (0..words).map(|n| format!("mov.u32 %r{}, {n};", 20 + n)).collect();
        let change: String =
            (0..words).map(|n| format!("mad.lo.u32 %r{0}, %r{0}, 3, %r5;", 20 + n)).collect();
        // Some threads only; the same records; stores between loads.
        let (apart, some) = ([true, true, false][turn % 3], turn % 4 == 3);
        let part = if some { "setp.eq.u32 %p1, %r5, 37; @%p1 bra $end;" } else { "" };
        let body = format!(
            "mul.wide.u32 %rd3, %r5, {bytes}; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, {to}, %rd3;
            {start} {part} {} {change} {} {} {change} {} $end:",
            accesses(&loads, false),
            accesses(&stores, true),
            accesses(&loads, false),
            accesses(&stores, true),
            bytes = 4 * words,
            to = if apart { "%rd2" } else { "%rd1" },
        );
        let all = (THREADS - 1) * words;
        // The last record ends with the last word that is touched.
        let end = if apart { reach(&loads) } else { reach(&loads).max(reach(&stores)) };
        for block in [16, 32, 64] {
            let grid = [THREADS as u32 / block, 1, 1];
            let case = case(&body, grid, block, &mixed(all + end), all + reach(&stores));
            case.compare().unwrap_or_else(|e| panic!("turn {turn}, block {block}: {e}: {body}"));
        }
    }
}

#[test]
fn vectors_that_stay_as_they_lie_in_memory() {
    const THREADS: usize = 3 * 64;
    let registers = |first: u32, count: u32| {
        let all: Vec<String> = (first..first + count).map(|n| format!("%f{n}")).collect();
        format!("{{{}}}", all.join(", "))
    };
    for count in [2u32, 4] {
        let each = |op: &str| -> String {
            (0..count)
                .map(|n| {
                    op.replace("D", &(12 + n).to_string())
                        .replace("A", &(4 + n).to_string())
                        .replace("B", &(8 + n).to_string())
                })
                .collect()
        };
        let (a, b, d) = (registers(4, count), registers(8, count), registers(12, count));
        let store = format!("st.global.v{count}.f32 [%rd5], {d};");
        // The same of every element, by turns and element by element; a shared value; two stores.
        let same = "mul.f32 %fD, %fA, %fB; fma.rn.f32 %fD, %fD, %f1, %fA;";
        let apart = each("mul.f32 %fD, %fA, %fB;")
            + &each("sub.f32 %fD, %fD, %f1;")
            + &each("max.f32 %fD, %fD, %fB;");
        let cases = [
            each(same) + &store,
            apart.clone() + &store,
            each(same) + &store + &each("add.f32 %fD, %fD, %fA;") + &store,
            // What one element does apart; elements in another order; one that is not a vector's; what a branch reads.
            each(same) + "add.f32 %f12, %f13, %f4;" + &store,
            each(same)
                + &format!(
                    "st.global.v{count}.f32 [%rd5], {};",
                    d.replace("%f12, %f13", "%f13, %f12")
                ),
            each(same) + "cvt.rn.f32.u32 %f13, %r5;" + &store,
            each(same) + "setp.lt.f32 %p1, %f12, %f5; @%p1 bra $end;" + &store + "$end:",
            // Some threads only.
            each(same) + "setp.gt.u32 %p1, %r5, 40; @%p1 " + &store,
            "setp.gt.u32 %p1, %r5, 40; @%p1 bra $end;".to_owned()
                + &format!("ld.global.v{count}.f32 {b}, [%rd4];")
                + &each(same)
                + &store
                + "$end:",
            // Nothing but copied; through shared memory, whose addresses have 32 bits.
            format!("st.global.v{count}.f32 [%rd5], {a};"),
            format!(
                ".shared .align 16 .b8 s[1024]; mov.u32 %r7, s; mad.lo.u32 %r8, %r3, {}, %r7;
                st.shared.v{count}.f32 [%r8], {a}; ld.shared.v{count}.f32 {d}, [%r8]; {store}",
                4 * count
            ),
        ];
        for body in cases {
            let body = format!(
                "mov.b32 %f1, 0f40400000; mul.wide.u32 %rd3, %r5, {bytes}; add.s64 %rd4, %rd1, %rd3;
                add.s64 %rd5, %rd2, %rd3; ld.global.v{count}.f32 {a}, [%rd4]; ld.global.v{count}.f32 {b}, [%rd5];
                {body}",
                bytes = 4 * count,
            );
            for block in [16, 32, 64] {
                let words = THREADS * count as usize;
                let grid = [THREADS as u32 / block, 1, 1];
                let case = case(&body, grid, block, &mixed(words), words);
                case.compare().unwrap_or_else(|e| panic!("{count}, {block}: {e}: {body}"));
                // The last vector is not there.
                let case = self::case(&body, grid, block, &mixed(words - 1), words);
                let kernel = case.compile().unwrap();
                assert!(
                    matches!(case.run_compiled(&kernel), Err(Stop::Fault { .. }))
                        && !case.copies.stray()
                );
            }
        }
    }
}

#[test]
fn loads_of_tiles_are_checked_together() {
    const THREADS: u32 = 64;
    let body = |loads: &str| {
        format!(
            ".shared .align 8 .b8 s[512]; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
            ld.global.u32 %r7, [%rd4]; mov.u64 %rd6, s; mul.wide.u32 %rd7, %r3, 4; add.s64 %rd8, %rd6, %rd7;
            st.shared.u32 [%rd8], %r7; st.shared.u32 [%rd8+256], %r5; bar.sync 0; mov.u32 %r9, 1; {} st.global.u32 [%rd5], %r9;",
            loads.replace("LOAD", "ld.shared.u32 %r8, ").replace("ADD", "mad.lo.u32 %r9, %r9, 31, %r8;")
        )
    };
    let run = |loads: &str, block: u32| {
        case(&body(loads), [2, THREADS / block, 1], block, &mixed(128), 128)
    };
    // Side by side, for all lanes the same, of several bytes; some threads only; stores and a loop between.
    let right = [
        "LOAD [%rd8]; ADD LOAD [%rd8+4]; ADD LOAD [%rd8+64]; ADD LOAD [%rd8+256]; ADD",
        "LOAD [%rd6+4]; ADD LOAD [%rd8+252]; ADD LOAD [%rd6+508]; ADD LOAD [%rd8+8]; ADD LOAD [%rd6]; ADD",
        "ld.shared.v2.u32 {%r8, %r10}, [%rd6+8]; ADD ld.shared.v2.u32 {%r10, %r8}, [%rd6+24]; ADD
        ld.shared.u8 %r8, [%rd8+3]; ADD ld.shared.u8 %r8, [%rd8+9]; ADD ld.shared.s16 %r8, [%rd8+6]; ADD",
        "setp.gt.u32 %p1, %r3, 37; @%p1 bra $end; LOAD [%rd8+4]; ADD LOAD [%rd8+64]; ADD $end:",
        "LOAD [%rd8]; ADD st.shared.u32 [%rd8], %r9; LOAD [%rd8]; ADD st.shared.u32 [%rd8+256], 7; LOAD [%rd8+256]; ADD
        LOAD [%rd8]; ADD",
        "mov.u32 %r10, 0; $loop: LOAD [%rd8]; ADD LOAD [%rd8+128]; ADD LOAD [%rd6+16]; ADD LOAD [%rd6+20]; ADD
        add.s64 %rd8, %rd8, 4; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 9; @%p1 bra $loop;",
    ];
    for loads in right {
        for block in [1, 16, 32, 64] {
            run(loads, block).compare().unwrap_or_else(|e| panic!("{block}: {e}: {loads}"));
        }
    }
    // Behind the end, before the start, between two units; the last load and the first.
    let wrong = [
        ("LOAD [%rd8]; ADD LOAD [%rd8+260]; ADD", 63),
        ("LOAD [%rd8+260]; ADD LOAD [%rd8]; ADD LOAD [%rd8+4]; ADD", 63),
        ("LOAD [%rd8+8]; ADD LOAD [%rd8+-4]; ADD LOAD [%rd8]; ADD", 0),
        ("LOAD [%rd6+4]; ADD LOAD [%rd6+512]; ADD", 0),
        ("LOAD [%rd8+2]; ADD LOAD [%rd8+6]; ADD", 0),
    ];
    for (loads, which) in wrong {
        for block in [16, 64] {
            if which >= block {
                continue;
            }
            let case = run(loads, block);
            let kernel = case.compile().unwrap();
            let Err(Stop::Fault { thread, .. }) = case.run_compiled(&kernel) else {
                panic!("no fault: {loads}");
            };
            assert_eq!(thread, [which, 0, 0], "{loads}");
        }
    }
}

#[test]
fn a_record_that_is_not_there_is_a_fault() {
    // The last thread's second word.
    let body = "mul.wide.u32 %rd3, %r5, 16; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
        ld.global.u32 %r7, [%rd4]; ld.global.u32 %r8, [%rd4+4]; ld.global.u32 %r9, [%rd4+8];
        st.global.u32 [%rd5], %r9; st.global.u32 [%rd5+4], %r8; st.global.u32 [%rd5+8], %r7;";
    const WORDS: usize = 4 * 64;
    for (from, to) in [(WORDS - 3, WORDS), (WORDS, WORDS - 3)] {
        let case = case(body, [2, 1, 1], 32, &mixed(from), to);
        let kernel = case.compile().unwrap();
        let Err(Stop::Fault { block, thread, .. }) = case.run_compiled(&kernel) else {
            panic!("no fault");
        };
        assert_eq!((block, thread), ([1, 0, 0], [31, 0, 0]));
        assert!(!case.copies.stray());
    }
}

#[test]
fn lanes_that_equal_a_number_they_share() {
    // Numbers from before zero on, and shared ones before, among and behind them. What lanes do leaves traces in order.
    let firsts = [0u32, 5, 0xffff_fff0, 0xffff_ffff, 0x7fff_fff8, 0x8000_0000];
    let shared = [0u32, 1, 15, 16, 31, 32, 47, 63, 64, 0xffff_ffff, 0x7fff_ffff, 0x8000_0001];
    let numbers: Vec<u32> = firsts
        .iter()
        .flat_map(|f| shared.iter().flat_map(move |s| [*f, f.wrapping_add(*s)]))
        .collect();
    let blocks = numbers.len() as u32 / 2;
    for how in ["eq", "ne"] {
        for factor in [1, 3] {
            for block in [16, 32, 64] {
                let body = format!(
                    "mov.u32 %r10, %ctaid.x; mul.wide.u32 %rd3, %r10, 8; add.s64 %rd4, %rd1, %rd3;
                    ld.global.u32 %r7, [%rd4]; ld.global.u32 %r8, [%rd4+4]; mov.u32 %r9, %tid.x;
                    mad.lo.u32 %r9, %r9, {factor}, %r7; mul.wide.u32 %rd5, %r5, 4; add.s64 %rd5, %rd2, %rd5;
                    setp.{how}.s32 %p1, %r9, %r8; @%p1 bra $yes; st.global.u32 [%rd5], %r9; bra $end;
                    $yes: mov.u32 %r11, 77; st.global.u32 [%rd5], %r11; $end:"
                );
                let case = case(&body, [blocks, 1, 1], block, &numbers, (blocks * block) as usize);
                case.compare().unwrap_or_else(|e| panic!("{how}, {factor}, {block}: {e}"));
            }
        }
    }
}

#[test]
fn whole_numbers_near_others() {
    // Halves, numbers around 2^23, 2^31 and 2^32, infinite ones, NaNs of all kinds, both zeros, subnormal ones.
    let special = [
        0.0f32,
        0.5,
        1.5,
        2.5,
        0.49999997,
        8388607.5,
        8388608.0,
        16777217.0,
        2147483520.0,
        2147483648.0,
        4294967040.0,
        4294967296.0,
        1e20,
        1e-40,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::INFINITY,
        f32::NAN,
    ];
    let mut from: Vec<u32> = special.iter().flat_map(|x| [x.to_bits(), (-x).to_bits()]).collect();
    from.extend([0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_ffff, 0x7ff0_0001, 0xfff0_0001]);
    from.extend(mixed(512).iter().map(|x| x & 0x8fff_ffff | 0x4000_0000));
    from.extend(mixed(512));
    from.resize(1088, 0x4b7f_ffff);
    let cut = ["rni", "rzi", "rmi", "rpi"].map(|how| {
        format!(
            "cvt.{how}.f32.f32 %f2, %f1; mov.b32 %r8, %f2; mad.lo.u32 %r9, %r9, 31, %r8;
            cvt.{how}.f64.f64 %d2, %d1; mov.b64 %rd8, %d2; mad.lo.u64 %rd9, %rd9, 31, %rd8;"
        )
    });
    let body = format!(
        "mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r7, [%rd4]; mov.b32 %f1, %r7;
        mul.wide.u32 %rd3, %r5, 16; add.s64 %rd5, %rd2, %rd3;
        mov.u32 %r9, 0; mov.u64 %rd9, 0; mov.b64 %rd7, {{%r5, %r7}}; mov.b64 %d1, %rd7; {}
        cvt.rzi.u32.f32 %r10, %f1; st.global.v2.u32 [%rd5], {{%r9, %r10}}; st.global.u64 [%rd5+8], %rd9;",
        cut.concat()
    );
    for block in [16, 64] {
        let case = case(&body, [1088 / block, 1, 1], block, &from, 4 * 1088);
        case.compare().unwrap();
    }
}

#[test]
fn again_with_short_vectors() {
    common::again_with_short_vectors("again_with_short_vectors", &[]);
}
