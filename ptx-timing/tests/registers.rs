//! Registers estimated from PTX against those that ptxas 13.5 gives the same text (`ptxas -v -arch=sm_90`).

#[path = "common/small.rs"]
mod small;

use std::collections::BTreeMap;
use std::path::Path;

use ptx_timing::Catalog;
use ptx_timing::code::KernelCode;
use small::{POINTERS, estimate, estimate_on};

/// Whether a kernel is held back: nothing was tuned on it. A hash of its name (FNV-1a) says so, as of the
/// recorded ones.
fn held_back(name: &str) -> bool {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    hash % 3 == 0
}

/// The table with names: `cargo test -p ptx-timing --test registers -- --nocapture`.
#[test]
fn estimates_are_near_the_assemblers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/data/timing");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let text = read("registers.ptx");
    let (module, diags) = ptx_parse::parse_and_verify(&text, "registers.ptx");
    assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
    let module = module.unwrap();
    let known: BTreeMap<String, u32> = serde_json::from_str(&read("registers.json")).unwrap();
    let profile = Catalog::embedded().unwrap().get("H200").unwrap();
    // Tuned on, held back: kernels, those within 4, the sum of the logarithms' errors.
    let mut groups = [(0, 0, 0.0); 2];
    for (name, &real) in &known {
        let index = ptx_parse::lower::entry_index(&module, name).unwrap();
        let program = ptx_parse::lower::lower(&module, index).unwrap();
        let code = KernelCode::new(&program, &profile.assembler);
        let estimate = ptx_timing::registers::estimate(&profile, &program, &code);
        let held = held_back(name);
        let near = estimate.abs_diff(real) <= 4;
        let mark = if near { ' ' } else { '*' };
        println!(
            "{name:20} {estimate:3} ptxas {real:3} {mark}{}",
            if held { " held back" } else { "" }
        );
        let group = &mut groups[usize::from(held)];
        group.0 += 1;
        group.1 += usize::from(near);
        group.2 += (f64::from(estimate) / f64::from(real)).ln().abs();
    }
    let [tuned, held] = groups.map(|(all, near, sum)| {
        let mean = (sum / f64::from(all)).exp();
        println!("{near} of {all} within 4, mean factor {mean:.2}");
        near
    });
    // What was reached.
    assert!(tuned >= 38 && held >= 25, "{tuned}, {held}");
}

/// The index of the block is in a register of the warp, what a thread's index gives is not.
#[test]
fn values_of_a_warp_take_no_register() {
    let body = |special: &str| {
        let sums: String = (3..20).map(|i| format!("mul.lo.s32 %r{i}, %r1, {i};\n")).collect();
        let joins: String = (3..20).map(|i| format!("xor.b32 %r2, %r2, %r{i};\n")).collect();
        let store = "ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], %r2;";
        format!("mov.u32 %r1, %{special}; mov.u32 %r2, %tid.x;\n{sums}bar.sync 0;\n{joins}{store}")
    };
    let (warp, thread) = (estimate(&body("ctaid.x")).0, estimate(&body("laneid")).0);
    assert!(warp + 4 <= thread, "{warp} {thread}");
}

/// Counters of a warp stay with the threads where what reads them has no room for a register of the warp: beside a
/// constant, and where they are only added once. Eight counters in a loop; numbers of ptxas
/// 13.5.
#[test]
fn readers_decide_about_counters_of_a_warp() {
    let body = |read: &str| {
        let all = |text: &str| -> String {
            (0..8)
                .map(|i| text.replace('C', &format!("%r{}", 20 + i)).replace('I', &i.to_string()))
                .collect()
        };
        let (init, step) = (all("mov.u32 C, I;\n"), all("add.s32 C, C, I + 1;\n"));
        let sums = all(&format!("{read} cvt.rn.f32.s32 %f5, %r8; add.f32 %f1, %f1, %f5;\n"));
        format!(
            "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r4, [n]; mov.u32 %r2, %tid.x;\n\
             mov.f32 %f1, 0f00000000;\n{init}L:\nadd.s32 %r5, %r2, %r4; mul.wide.s32 %rd3, %r5, 4;\n\
             add.s64 %rd4, %rd1, %rd3;\n{sums}ld.global.f32 %f2, [%rd4];\n\
             shfl.sync.bfly.b32 %f3, %f2, 1, 31, -1; fma.rn.f32 %f1, %f2, %f3, %f1;\n{step}\
             add.s32 %r4, %r4, -4; setp.ne.s32 %p1, %r4, 0; @%p1 bra L;\n\
             mul.wide.u32 %rd3, %r2, 4; add.s64 %rd5, %rd2, %rd3; st.global.f32 [%rd5], %f1;"
        )
    };
    for (read, registers) in [
        ("or.b32 %r8, C, %r2;", 23),
        ("mul.lo.s32 %r8, C, %r2;", 23),
        ("and.b32 %r8, C, 12; add.s32 %r8, %r8, %r2;", 23),
        ("add.s32 %r8, C, %r2;", 32),
        ("shl.b32 %r8, C, 5; add.s32 %r8, %r8, %r2;", 32),
        ("mad.lo.s32 %r8, C, 48, %r2;", 32),
        ("mad.lo.s32 %r8, %r2, 48, C;", 32),
        ("and.b32 %r8, C, 12; or.b32 %r8, %r8, %r2;", 32),
    ] {
        let found = estimate(&body(read)).0;
        assert!(found.abs_diff(registers) <= 4, "{read} {found}, ptxas {registers}");
    }
}

/// Registers that a directive allows beyond those that cost no block are for loads that go ahead, not for values made
/// early nor for wide loads from shared memory. ptxas 13.5 gives 128 and 96 to the product, 95 and 150 to the loops.
#[test]
fn registers_by_directive_are_for_loads() {
    let product = include_str!("../../golden/data/timing/sgemm.ptx");
    for (device, most) in [("A6000", 128), ("H200", 96)] {
        let found = estimate_on(product, "squares", device).0;
        assert!(found <= most && found + 16 >= most, "{device} {found}");
    }
    for (live, loads, known) in [(20, 80, 95), (64, 64, 150)] {
        let list = |n: usize, f: &dyn Fn(usize) -> String| -> String { (0..n).map(f).collect() };
        let sums = |i: usize| {
            let sum = |k: usize| {
                let (a, b) = (1000 + k % loads, 1000 + (k * 7 + 3) % loads);
                format!("fma.rn.f32 %f{i}, %f{a}, %f{b}, %f{i};\n")
            };
            sum(2 * i) + &sum(2 * i + 1)
        };
        let text = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(\
             .param .u64 p, .param .u64 q, .param .u32 n)\n.maxntid 256, 1, 1\n.minnctapersm 1\n{{\n\
             .reg .pred %p1; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<2000>;\n\
             ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n\
             mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd6, %rd2, %rd3; mov.u32 %r3, 0;\n\
             {}L:\n{}{}add.s64 %rd6, %rd6, 4; add.s32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n{}ret; }}",
            list(live, &|i| format!("ld.global.f32 %f{i}, [%rd4+{}];\n", 4096 * i)),
            list(loads, &|i| format!("ld.global.f32 %f{}, [%rd6+{}];\n", 1000 + i, 4096 * i)),
            list(live, &sums),
            list(live, &|i| format!("st.global.f32 [%rd4+{}], %f{i};\n", 4096 * i)),
        );
        let found = estimate_on(&text, "k", "H200").0;
        assert!(found.abs_diff(known) <= 16, "{live} {loads}: {found}, ptxas {known}");
    }
}

/// Fragments from global memory whose rows lie at a distance that is not known need addresses of their own.
#[test]
fn fragments_at_unknown_distances_need_addresses() {
    let with = |values: usize, stride: &str| {
        let all = |line: &dyn Fn(usize) -> String| (0..values).map(line).collect::<String>();
        let load = |i| format!("ld.global.f32 %f{i}, [%rd1+{}];\n", 512 * i);
        let product = |i| {
            let next = (i + 1) % values;
            format!("fma.rn.f32 %f{i}, %f{i}, %f{}, %f{next};\n", 60 + i % 8)
        };
        let store = |i| format!("st.global.f32 [%rd2+{}], %f{i};\n", 65536 + 512 * i);
        let list = |kind: &str, from: usize| {
            let names: Vec<String> = (from..from + 8).map(|i| format!("%{kind}{i}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let (a, b, sum) = (list("r", 10), list("r", 20), list("f", 60));
        let zeros: String = (60..68).map(|i| format!("mov.f32 %f{i}, 0f00000000;\n")).collect();
        let results: String = (0..8)
            .map(|i| format!("st.global.f32 [%rd2+{}], %f{};\n", 4096 + 512 * i, 60 + i))
            .collect();
        estimate(&format!(
            "ld.param.u64 %rd6, [p]; ld.param.u64 %rd5, [q]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd6, %rd3; add.u64 %rd2, %rd5, %rd3; mov.u32 %r3, 64;\n\
             {}{zeros}mov.u32 %r4, 0; mov.u64 %rd4, %rd6;\nL:\n\
             wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a}, [%rd4], {stride};\n\
             wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {b}, [%rd4+4096], {stride};\n\
             wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {sum}, {a}, {b}, {sum};\n\
             {}add.u64 %rd4, %rd4, 8192; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r2;\n@%p1 bra L;\n{results}{}",
            all(&load), all(&product), all(&store)
        ))
        .0
    };
    for (values, known, unknown) in [(16, 38, 46), (24, 46, 54), (40, 62, 70)] {
        for (stride, ptxas) in [("%r3", known), ("%r2", unknown)] {
            let found = with(values, stride);
            assert!(found.abs_diff(ptxas) <= 2, "{values} {stride}: {found}, {ptxas}");
        }
    }
}

/// A half of a 64-bit value is no instruction.
#[test]
fn halves_are_registers() {
    let with = |low: &str| {
        estimate(&format!(
            "ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [%rd1];\n{low}\nst.global.u64 [%rd1], %rd3;"
        ))
        .1
    };
    let low = with("and.b64 %rd3, %rd2, 4294967295;");
    let other = with("and.b64 %rd3, %rd2, 4294967294;");
    assert_eq!(low + 1, other);
    assert_eq!(with("shr.u64 %rd3, %rd2, 32;") + 1, with("shr.u64 %rd3, %rd2, 31;"));
}

/// A difference of products needs no more than a sum of them, and results under a guard are not there
/// before it.
#[test]
fn nothing_lives_before_it_is_made() {
    let body = |guard: &str, op: &str| {
        let steps: String = (2..40)
            .map(|i| {
                format!(
                    "{guard}ld.global.f32 %f{i}, [%rd1+{}]; {guard}mul.f32 %f{}, %f{i}, %f{i};\n\
                     {guard}{op}.f32 %f1, %f1, %f{};\n{guard}st.global.f32 [%rd1], %f1; bar.sync 0;\n",
                    i * 4,
                    i + 40,
                    i + 40
                )
            })
            .collect();
        format!(
            "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 5; mov.f32 %f1, 0f00000000;\n{steps}"
        )
    };
    let plain = estimate(&body("", "add")).0;
    assert_eq!(estimate(&body("", "sub")).0, plain);
    assert!(estimate(&body("@%p1 ", "add")).0 <= plain + 2);
}

/// A load keeps the register of its address, and what a loop reads stays at hand, as long as there is room.
#[test]
fn registers_below_the_share_are_spent() {
    // Two words of an address for each load, of which its result takes one.
    let loads = |count: u32| {
        let load = |i| {
            format!(
                "mul.lo.s32 %r{i}, %r1, {i}; mul.wide.u32 %rd{i}, %r{i}, 4; add.s64 %rd{i}, %rd{i}, %rd1; \
                 ld.global.f32 %f{i}, [%rd{i}];\n"
            )
        };
        let all: String = (3..3 + count).map(load).collect();
        let sums: String = (3..3 + count).map(|i| format!("add.f32 %f1, %f1, %f{i};\n")).collect();
        estimate(&format!(
            "ld.param.u64 %rd1, [p]; mov.u32 %r1, %laneid; mov.f32 %f1, 0f00000000;\n\
             {all}{sums}st.global.f32 [%rd1], %f1;"
        ))
        .0
    };
    assert!(loads(8) >= loads(4) + 8, "{} {}", loads(8), loads(4));
    assert_eq!(loads(24), 32);
}

/// Loads of which each needs the one before, and what becomes of them behind: results lie in halves of the pairs that
/// their addresses were in, which are all in use then. Numbers of ptxas 13.5.
#[test]
fn chains_of_loads_take_pairs() {
    for (count, real) in [(4, 16_u32), (8, 22), (12, 30), (16, 32), (20, 32)] {
        let step = "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; ld.global.u32 %r1, [%rd4];\n\
                    xor.b32 %r3, %r1, 55; add.u32 %r2, %r2, %r3;\n";
        let own = estimate(&format!(
            "ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; mov.u32 %r2, 0;\n{}st.global.u32 [%rd1], %r2;",
            step.repeat(count)
        ))
        .0;
        assert!(own.max(16).abs_diff(real) <= 2, "{count}: {own}, ptxas {real}");
    }
}

/// What is stored has registers with odd numbers. Numbers of ptxas 13.5.
#[test]
fn stored_words_are_in_odd_registers() {
    for (count, real) in [(4, 16_u32), (6, 18), (8, 22), (10, 26), (12, 30)] {
        let of = |step: &dyn Fn(usize) -> String| (0..count).map(step).collect::<String>();
        let loads = of(&|i| format!("ld.global.f32 %f{i}, [%rd1+{}];\n", 256 * i));
        let sums = of(&|i| format!("add.f32 %f80, %f80, %f{i};\n"));
        let products = of(&|i| format!("mul.f32 %f{}, %f{i}, %f80;\n", 30 + i));
        let stores = of(&|i| format!("st.global.f32 [%rd3+{}], %f{};\n", 256 * i, 30 + i));
        let own = estimate(&format!(
            "ld.param.u64 %rd1, [p]; ld.param.u32 %r9, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n\
             add.u64 %rd1, %rd1, %rd2; mad.wide.u32 %rd3, %r9, 4, %rd1; mov.f32 %f80, 0f00000000;\n\
             {loads}{sums}{products}{stores}"
        ))
        .0;
        assert!(own.max(16).abs_diff(real) <= 2, "{count}: {own}, ptxas {real}");
    }
}

/// What an instruction takes lies in both banks of registers: words that are stored at addresses of 64 bits leave the
/// even ones free, which products of 64 bits cannot take as pairs. Numbers of ptxas 13.5; beside a product it fetches the
/// pointer to store to ahead of the loads, into registers of its own, which is not known here.
#[test]
fn operands_lie_in_both_banks() {
    let sum = "add.u64 %rd20, %rd10, %rd11;";
    let product = "mul.hi.u64 %rd20, %rd10, %rd11; mul.lo.u64 %rd21, %rd10, %rd11; xor.b64 %rd20, %rd20, %rd21;";
    for (op, count, real) in
        [(sum, 0, 14_u32), (sum, 4, 22), (sum, 8, 30), (product, 0, 20), (product, 4, 28)]
    {
        let of = |step: &dyn Fn(usize) -> String| (0..count).map(step).collect::<String>();
        let loads = of(&|i| format!("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 4096 + 1024 * i));
        let stores = of(&|i| format!("st.global.u32 [%rd2+{}], %r{};\n", 4096 + 1024 * i, 10 + i));
        let own = estimate(&format!(
            "{POINTERS}{loads}ld.global.u64 %rd10, [%rd1]; ld.global.u64 %rd11, [%rd1+1024]; bar.sync 0;\n\
             {op}\nst.global.u64 [%rd2], %rd20;\n{stores}"
        ))
        .0;
        let most = if op == sum { 2 } else { 4 };
        assert!(own.abs_diff(real) <= most, "{op} beside {count} words: {own}, ptxas {real}");
    }
}

/// A factor of all loaded values is no sum of them: they lie side by side. Numbers of ptxas 13.5.
#[test]
fn values_with_one_factor_lie_side_by_side() {
    for (count, real) in [(4, 16_u32), (8, 21), (12, 23), (16, 25)] {
        let step = |i: u32| {
            format!(
                "ld.global.f32 %f10, [%rd5+{}]; mul.f32 %f11, %f3, %f10; mul.f32 %f12, %f4, %f11;\n\
                 fma.rn.f32 %f1, %f12, %f2, %f1;\n",
                8192 + 256 * i
            )
        };
        let own = estimate(&format!(
            "ld.param.u64 %rd2, [p]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd2, %rd4;\n\
             ld.global.f32 %f5, [%rd5]; ld.global.f32 %f2, [%rd5+4096];\n\
             add.f32 %f3, %f5, 0f3F800000; add.f32 %f4, %f2, 0f3F800000; mov.f32 %f1, 0f00000000;\n\
             {}st.global.f32 [%rd5+900000], %f1;",
            (0..count).map(step).collect::<String>()
        ))
        .0;
        assert!(own.abs_diff(real) <= 3, "{count} values: {own}, ptxas {real}");
    }
}

/// Values that are loaded and taken one by one in the text have every second register: the sum that takes them
/// keeps an even one. Where the text loads all first they lie side by side. Numbers of ptxas 13.5.
#[test]
fn values_taken_one_by_one_are_in_odd_registers() {
    for (count, one_by_one, all_first) in
        [(2, 8, 8), (4, 12, 10), (6, 16, 12), (8, 20, 14), (10, 24, 16), (12, 28, 18)]
    {
        let load = |i: u32| format!("ld.global.f32 %f{}, [%rd1+{}];\n", 20 + i, 4 * i);
        let sum = |i: u32| format!("add.f32 %f1, %f1, %f{};\n", 20 + i);
        let of = |text: String| {
            estimate(&format!(
                "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 64;\n\
                 add.s64 %rd1, %rd1, %rd2; mov.f32 %f1, 0f00000000; bar.sync 0;\n\
                 {text}st.global.f32 [%rd1], %f1;"
            ))
            .0
        };
        let found = of((0..count).map(|i| load(i) + &sum(i)).collect());
        assert_eq!(found, one_by_one, "{count} one by one");
        let found = of((0..count).map(load).chain((0..count).map(sum)).collect());
        assert_eq!(found, all_first, "{count} after all");
    }
}

/// Special registers stay in registers from block to block where that costs no resident block. Numbers of ptxas 13.5.
#[test]
fn special_registers_are_kept_where_there_is_room() {
    let names = ["tid.x", "tid.y", "tid.z"];
    for (values, count, ptxas) in [(2, 2, 20_u32), (2, 3, 22), (4, 2, 30), (4, 3, 30)] {
        let of = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
        let special = |i: usize| format!("mov.u32 %r{}, %{};\n", i + 1, names[i]);
        let turn = |i: usize| {
            let (from, next) = (60 + i, (i + 1) % values);
            format!(
                "ld.volatile.shared.f32 %f{from}, [%r10+{}];\n\
                 fma.rn.f32 %f{i}, %f{i}, %f{from}, %f{next};\n",
                4 * i
            )
        };
        let behind = |i: usize| {
            let (own, address) = (i + 1, 10 + i);
            format!(
                "mul.wide.u32 %rd{address}, %r{own}, 4; add.s64 %rd{address}, %rd4, %rd{address};\n\
                 st.global.u32 [%rd{address}], %r{own};\n"
            )
        };
        let found = estimate(&format!(
            "{}ld.param.u64 %rd1, [p]; ld.param.u32 %r11, [n]; mov.u32 %r20, 0; mov.u32 %r10, 0;\n\
             {}shl.b32 %r21, %r20, 2; cvt.u64.u32 %rd2, %r21; add.s64 %rd1, %rd1, %rd2;\n{}L:\n\
             {}add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, %r11; @%p1 bra L;\n\
             {}ld.param.u64 %rd4, [q];\n{}",
            of(count, &special),
            of(count, &|i| format!("xor.b32 %r20, %r20, %r{};\n", i + 1)),
            of(values, &|i| format!("ld.volatile.global.f32 %f{i}, [%rd1+{}];\n", 4 * i)),
            of(values, &turn),
            of(values, &|i| format!("st.global.f32 [%rd1+{}], %f{i};\n", 4 * i)),
            of(count, &behind),
        ))
        .0;
        assert!(found.abs_diff(ptxas) <= 2, "{values} {count}: {found}, ptxas {ptxas}");
    }
}

/// Arguments that are added to what a loaded value makes are fetched while it is loaded, all of them. Numbers of ptxas
/// 13.5.
#[test]
fn arguments_are_fetched_while_others_are_loaded() {
    for (count, ptxas) in
        [(1, 12_u32), (2, 14), (3, 16), (4, 18), (5, 20), (6, 22), (7, 22), (8, 24)]
    {
        let of = |line: &dyn Fn(u32) -> String| (0..count).map(line).collect::<String>();
        let sum = |i: u32| {
            let (argument, own) = (40 + i, 60 + i);
            format!("add.s64 %rd{own}, %rd{argument}, %rd2; red.global.add.u32 [%rd{own}], %r1;\n")
        };
        let text = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p[8]) {{\n\
             .reg .b64 %rd<90>; .reg .b32 %r<9>;\n{}mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4;\n\
             ld.global.u32 %r2, [%rd1]; and.b32 %r3, %r2, 255; mul.wide.u32 %rd2, %r3, 4;\n{}ret; }}\n",
            of(&|i| format!("ld.param.u64 %rd{}, [p+{}];\n", 40 + i, 8 * i)),
            of(&sum)
        );
        let found = estimate_on(&text, "k", "H200").0;
        assert!(found.abs_diff(ptxas) <= 2, "{count}: {found}, ptxas {ptxas}");
    }
}

/// Addresses in local memory have 32 bits, whatever the text says. Numbers of ptxas 13.5.
#[test]
fn local_addresses_take_one_word() {
    for (count, ptxas) in [(2, 10_u32), (4, 15), (6, 19), (8, 20), (10, 24)] {
        let of = |line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
        let index = |i: usize| {
            let own = 20 + i;
            format!(
                "ld.global.u32 %r{own}, [%rd1+{}]; and.b32 %r{own}, %r{own}, 63;\n\
                 cvt.u64.u32 %rd{own}, %r{own}; add.s64 %rd{own}, %rd5, %rd{own};\n",
                4 * i
            )
        };
        let turn = |i: usize| {
            let (address, value) = (20 + i, 40 + i);
            format!(
                "ld.local.u8 %r{value}, [%rd{address}]; add.u32 %r{value}, %r{value}, %r10;\n\
                 st.local.u8 [%rd{address}], %r{value};\n"
            )
        };
        let text = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 p, .param .u32 n) {{\n.local .align 16 .b8 own[64];\n\
             .reg .u64 %rd<90>; .reg .b32 %r<90>; .reg .pred %p<9>;\n\
             mov.u64 %rd5, own; ld.param.u64 %rd1, [p]; ld.param.u32 %r11, [n]; mov.u32 %r10, 0;\n\
             mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;\n{}L:\n{}\
             add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r11; .pragma \"nounroll\"; @%p1 bra L;\n\
             ld.local.u32 %r12, [own]; st.global.u32 [%rd1], %r12; ret; }}\n",
            of(&index),
            of(&turn)
        );
        // nvcc makes generic addresses of them and local ones of these.
        let mut converted =
            text.replace("mov.u64 %rd5, own;", "mov.u64 %rd5, own; cvta.local.u64 %rd7, %rd5;");
        for own in 20..20 + count {
            converted = converted.replace(
                &format!("add.s64 %rd{own}, %rd5, %rd{own};"),
                &format!(
                    "add.s64 %rd{0}, %rd7, %rd{own}; cvta.to.local.u64 %rd{own}, %rd{0};",
                    own + 20
                ),
            );
        }
        for text in [text, converted] {
            let found = estimate_on(&text, "k", "H200").0;
            assert!(found.abs_diff(ptxas) <= 2, "{count}: {found}, ptxas {ptxas}");
        }
    }
}

/// The opposite of a value that nobody reads is no instruction, and keeps nothing alive.
#[test]
fn signs_that_nobody_reads_are_nothing() {
    let body = |sign: &str| {
        format!("{POINTERS}ld.global.f32 %f1, [%rd1]; {sign}\nst.global.f32 [%rd2], %f1;")
    };
    assert_eq!(estimate(&body("neg.f32 %f2, %f1;")), estimate(&body("")));
}

/// What is loaded or multiplied as one lies in registers that follow each other. Numbers of ptxas 13.5.
#[test]
fn tuples_follow_each_other() {
    let of =
        |count: usize, step: &dyn Fn(usize) -> String| (0..count).map(step).collect::<String>();
    let four = |first: usize| {
        let list: Vec<String> = (first..first + 4).map(|f| format!("%f{f}")).collect();
        format!("{{{}}}", list.join(","))
    };
    for (count, real) in [(1, 14), (2, 18), (3, 22), (4, 26), (5, 30)] {
        let loads =
            of(count, &|i| format!("ld.global.v4.f32 {}, [%rd1+{}];\n", four(4 * i), 4096 * i));
        let stores =
            of(count, &|i| format!("st.global.v4.f32 [%rd2+{}], {};\n", 4096 * i, four(4 * i)));
        let own = estimate(&format!("{POINTERS}{loads}bar.sync 0;\n{stores}")).0;
        assert_eq!(own, real, "copy of {count}");
    }
    for (count, real) in [(1, 20), (2, 24), (3, 28)] {
        let loads = |register: &str, first: usize, count: usize, at: usize| {
            of(count, &|i| {
                format!("ld.global.b32 %{register}{}, [%rd1+{}];\n", first + i, at + 1024 * i)
            })
        };
        let (left, right) = (loads("r", 10, 4, 0), loads("r", 20, 2, 8192));
        let sums = loads("f", 0, 4 * count, 16384);
        let products = of(count, &|i| {
            format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {}, {{%r10,%r11,%r12,%r13}}, {{%r20,%r21}}, {};\n",
                four(40 + 4 * i),
                four(4 * i)
            )
        });
        let stores =
            of(4 * count, &|i| format!("st.global.f32 [%rd2+{}], %f{};\n", 1024 * i, 40 + i));
        let own = estimate(&format!("{POINTERS}{left}{right}{sums}{products}{stores}")).0;
        assert_eq!(own, real, "{count} products");
    }
}

/// Nothing takes the registers of what a store reads right behind it. Numbers of ptxas 13.5.
#[test]
fn stores_keep_their_operands() {
    for (words, turns, real) in [(1, 2, 14_u32), (1, 3, 16), (2, 2, 20), (4, 2, 26)] {
        let of = |step: &dyn Fn(usize) -> String| (0..words).map(step).collect::<String>();
        let turn = |turn: usize| {
            let at = |i: usize| 1024 * (i + words * turn);
            let loads = of(&|i| format!("ld.global.f32 %f{i}, [%rd1+{}];\n", at(i)));
            let stores = of(&|i| format!("st.shared.f32 [%r2+{}], %f{i};\n", 1024 * i));
            let others = of(&|i| format!("ld.shared.f32 %f{}, [%r2+{}];\n", 20 + i, 1024 * i + 4));
            let last = of(&|i| format!("st.global.f32 [%rd2+{}], %f{};\n", at(i), 20 + i));
            format!("{loads}{stores}bar.sync 0;\n{others}{last}bar.sync 0;\n")
        };
        let turns: String = (0..turns).map(turn).collect();
        let own = estimate(&format!(
            ".shared .align 16 .b8 s[16384]; {POINTERS}mov.u32 %r2, s; shl.b32 %r3, %r1, 2;\n\
             add.u32 %r2, %r2, %r3;\n{turns}"
        ))
        .0;
        assert!(own.abs_diff(real) <= 4, "{words} words: {own}, ptxas {real}");
    }
}

/// What is computed beside loads waits until it is wanted, and with it the registers that it would take: an order from
/// the end says which these are. Numbers of ptxas 13.5.
#[test]
fn what_is_computed_beside_loads_waits() {
    for (words, real) in [(4, 16_u32), (8, 18), (12, 20)] {
        let of = |step: &dyn Fn(usize) -> String| (0..words).map(step).collect::<String>();
        let factors = of(&|i| {
            let (register, more) = (11 + i, 3 * i + 1);
            format!(
                "add.u32 %r{register}, %r1, {more}; cvt.rn.f32.u32 %f{}, %r{register};\n",
                20 + i
            )
        });
        let loads = of(&|i| format!("ld.shared.f32 %f{i}, [%r6+{}];\n", 4 * i));
        let sums = of(&|i| format!("fma.rn.f32 %f40, %f{i}, %f{}, %f40;\n", 20 + i));
        let own = estimate(&format!(
            ".shared .align 4 .b8 s[33792]; ld.param.u64 %rd2, [p]; mov.u32 %r1, %tid.x; mov.u32 %r10, s;\n\
             mad.lo.u32 %r6, %r1, 68, %r10; mov.f32 %f40, 0f00000000;\n{factors}{loads}{sums}\
             mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd2, %rd4; st.global.f32 [%rd5], %f40;"
        ))
        .0;
        assert!(own.abs_diff(real) <= 2, "{words} words: {own}, ptxas {real}");
    }
}
