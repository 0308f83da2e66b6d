//! Arrays of a thread that are indexed, beside what ptxas 13.5 makes of the same text for sm_90.

#[path = "common/small.rs"]
mod small;

use ptx_timing::code::KernelCode;

/// Accesses of a kernel to an array of its own.
#[derive(Clone, Copy)]
struct Accesses {
    /// Whether they are made in a loop.
    turns: bool,
    loads: u32,
    stores: u32,
    /// Sums and products around them, in pairs.
    around: u32,
}

/// A kernel with an array of so many words, of which the first is stored ahead.
fn array(words: u32, what: Accesses) -> KernelCode {
    let around: String = (0..what.around)
        .map(|i| {
            let f = 2 + i % 3;
            format!("fma.rn.f32 %f1, %f1, %f{f}, %f3; add.f32 %f{f}, %f1, %f4;\n")
        })
        .collect();
    let index = |from: u32, to: u32| {
        format!(
            "ld.global.u32 %r{to}, [%rd5+{from}]; mul.wide.u32 %rd{to}, %r{to}, 4; \
             add.s64 %rd{to}, %rd1, %rd{to};"
        )
    };
    let load = |l: u32| {
        let (own, value) = (20 + l, 40 + l);
        let index = index(65_536 + 64 * l, own);
        format!("{index} ld.local.u32 %r{value}, [%rd{own}]; xor.b32 %r3, %r3, %r{value};\n")
    };
    let store = |s: u32| {
        let own = 60 + s;
        format!("{} st.local.u32 [%rd{own}], %r3;\n", index(131_072 + 64 * s, own))
    };
    let loads: String = (0..what.loads).map(load).collect();
    let stores: String = (0..what.stores).map(store).collect();
    let (start, end) = match what.turns {
        true => (
            "L:",
            "add.u32 %r4, %r4, 1; add.s64 %rd5, %rd5, %rd4; setp.lt.u32 %p1, %r4, %r1;\n\
             .pragma \"nounroll\"; @%p1 bra L;",
        ),
        false => ("", ""),
    };
    let bytes = 4 * words;
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 p, .param .u32 n) {{\n.local .align 16 .b8 own[{bytes}];\n\
         .reg .b64 %rd<90>; .reg .b32 %r<90>; .reg .pred %p<9>; .reg .f32 %f<9>;\n\
         mov.u64 %rd1, own; ld.param.u64 %rd2, [p]; cvta.to.global.u64 %rd3, %rd2;\n\
         ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 4;\n\
         add.s64 %rd5, %rd3, %rd4; ld.global.u32 %r10, [%rd5+4096]; st.local.u32 [%rd1], %r10;\n\
         ld.global.f32 %f1, [%rd5+8]; ld.global.f32 %f4, [%rd5+12]; mov.f32 %f2, %f4;\n\
         mov.f32 %f3, %f4;\n{around}st.global.f32 [%rd5+16], %f1;\n\
         mov.u32 %r3, %r2; mov.u32 %r4, 0;\n{start}\n{loads}{stores}{end}\n\
         st.global.u32 [%rd3], %r3; ret; }}\n"
    );
    small::translate(&text).1
}

/// Whether the array is in registers.
fn kept(words: u32, what: Accesses) -> bool {
    array(words, what).code.instructions.iter().any(|i| i.chooses > 0)
}

#[test]
fn arrays_are_kept_in_registers_up_to_a_size() {
    for (turns, loads, stores, most) in [
        (true, 1, 0, [11, 13, 20]),
        (true, 2, 0, [8, 9, 12]),
        (true, 4, 0, [6, 6, 8]),
        (true, 8, 0, [5, 5, 6]),
        (true, 1, 1, [7, 8, 12]),
        (true, 1, 2, [6, 7, 9]),
        (true, 2, 2, [5, 6, 8]),
        (true, 4, 4, [5, 5, 6]),
        (false, 1, 0, [17, 41, 33]),
        (false, 4, 0, [7, 17, 37]),
        (false, 8, 0, [6, 10, 24]),
        (false, 1, 1, [10, 28, 37]),
        (false, 2, 2, [7, 16, 37]),
        (false, 4, 4, [5, 10, 24]),
    ] {
        let found = [0, 20, 80].map(|around| {
            let what = Accesses { turns, loads, stores, around };
            (2..60).take_while(|n| kept(*n, what)).last().unwrap_or(0)
        });
        for (found, most) in found.iter().zip(most) {
            // A word, or a quarter.
            let off = found.abs_diff(most);
            assert!(off <= 1.max(most / 4), "{turns} {loads} {stores}: {found}, {most}");
        }
    }
}

/// Machine instructions of the accesses to an array of so many words at places that two registers say.
fn instructions(words: u32, accesses: &str) -> u32 {
    let init: String = (0..words)
        .map(|i| {
            let (own, byte) = (20 + i, 4 * i);
            format!("ld.global.u32 %r{own}, [%rd5+{byte}]; st.local.u32 [%rd1+{byte}], %r{own};\n")
        })
        .collect();
    let end: String = (0..words)
        .map(|i| {
            let byte = 4 * i;
            format!("ld.local.u32 %r6, [%rd1+{byte}]; st.global.u32 [%rd5+{byte}], %r6;\n")
        })
        .collect();
    let bytes = 4 * words;
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .local .align 16 .b8 own[{bytes}]; .reg .b64 %rd<90>; .reg .b32 %r<90>; .reg .pred %p<9>;\n\
         mov.u64 %rd1, own; ld.param.u64 %rd2, [p]; cvta.to.global.u64 %rd3, %rd2; mov.u32 %r2, %tid.x;\n\
         mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd3, %rd4;\n{init}\
         ld.global.u32 %r7, [%rd5+1024]; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd7, %rd1, %rd6;\n\
         ld.global.u32 %r8, [%rd5+2048]; mul.wide.u32 %rd8, %r8, 4; add.s64 %rd9, %rd1, %rd8;\n\
         {accesses}\n{end}st.global.u32 [%rd3], %r10; ret; }}\n"
    );
    let (_, code) = small::translate(&text);
    let chosen = code.code.instructions.iter().filter(|i| i.chooses > 1);
    chosen.map(|i| 1 + i.extra_slots).sum()
}

const LOAD: &str = "ld.local.u32 %r10, [%rd7];";
const CHANGE: &str = "ld.local.u32 %r10, [%rd7]; add.u32 %r11, %r10, 5; st.local.u32 [%rd7], %r11;";

/// Two for each word; less the comparisons where an index is compared already and its predicates are still there.
#[test]
fn accesses_compare_and_move() {
    let elsewhere = CHANGE.replace("st.local.u32 [%rd7]", "st.local.u32 [%rd9]");
    let neighbours =
        "ld.local.u32 %r10, [%rd7]; ld.local.u32 %r11, [%rd7+4]; add.u32 %r10, %r10, %r11;";
    let behind = "ld.local.u32 %r10, [%rd7]; setp.gt.u32 %p1, %r10, 7; @%p1 bra X; bar.sync 0;\n\
                  add.u32 %r11, %r10, 5; st.local.u32 [%rd7], %r11;\nX:";
    for (words, load, change, other, next, branch) in [
        (4, 8, 12, 16, 12, 12),
        (6, 12, 18, 24, 18, 18),
        (7, 14, 21, 28, 21, 24),
        (12, 24, 48, 48, 36, 54),
        (16, 32, 64, 64, 48, 74),
    ] {
        let found = [LOAD, CHANGE, &elsewhere, neighbours, behind].map(|a| instructions(words, a));
        let exact = [load, change, other, next];
        assert_eq!(found[..4], exact, "{words}");
        assert!(found[4].abs_diff(branch) <= 10, "{words}: {}, {branch}", found[4]);
    }
}

/// Bytes, long words, and what has no index but an address that goes elsewhere.
#[test]
fn arrays_of_bytes_stay_in_memory() {
    for access in [
        "ld.local.u8 %r10, [%rd7];",
        "ld.local.u32 %r10, [%rd7]; ld.local.u8 %r11, [%rd1+8]; add.u32 %r10, %r10, %r11;",
        "ld.local.u64 %rd20, [%rd7]; cvt.u32.u64 %r10, %rd20;",
        "cvta.local.u64 %rd20, %rd7; ld.u32 %r10, [%rd20];",
    ] {
        assert_eq!(instructions(8, access), 0, "{access}");
    }
}
