//! Arguments in loops, and values of which one side of an if or the other writes, against what ptxas 13.5 makes of the
//! same kernels.

#[path = "common/small.rs"]
mod small;

use ptx_isa::Class;
use small::translate;

/// A loop that loads a word and, at places which that says, one from each of so many arguments; besides, multiply-adds,
/// and values that live through the loop.
fn gathers(arguments: usize, multiplies: usize, values: usize) -> String {
    let list = |count: usize, of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<String>();
    let names = list(arguments + 1, &|i| format!(".param .u64 p{i}, "));
    let loads = list(arguments, &|i| {
        format!(
            "ld.param.u64 %rd{0}, [p{1}]; cvta.to.global.u64 %rd{2}, %rd{0};\n",
            20 + i,
            i + 1,
            40 + i
        )
    });
    let kept =
        list(values, &|i| format!("ld.global.u32 %r{}, [%rd5+{}];\n", 200 + i, 4096 * i + 512));
    let uses = list(arguments, &|i| {
        format!(
            "mul.wide.s32 %rd{0}, %r10, 4; add.s64 %rd{1}, %rd{2}, %rd{0}; ld.global.u32 %r{3}, [%rd{1}];\n\
             xor.b32 %r3, %r3, %r{3};\n",
            60 + i,
            80 + i,
            40 + i,
            20 + i
        )
    });
    let work = "mad.lo.s32 %r3, %r3, %r10, %r3;\n".repeat(multiplies);
    let stores =
        list(values, &|i| format!("st.global.u32 [%rd5+{}], %r{};\n", 4096 * i + 4, 200 + i));
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k({names}.param .u32 n) {{\n\
         .reg .u64 %rd<99>; .reg .u32 %r<300>; .reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [p0]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n\
         mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd2, %rd4; mov.u32 %r3, %r2; mov.u32 %r4, 0;\n{loads}{kept}\
         L: ld.global.u32 %r10, [%rd5];\n{uses}{work}add.u32 %r4, %r4, 1; add.s64 %rd5, %rd5, %rd4;\n\
         setp.lt.u32 %p1, %r4, %r1; .pragma \"nounroll\"; @%p1 bra L;\n{stores}st.global.u32 [%rd2], %r3; ret; }}\n"
    )
}

/// Arguments that a turn loads itself, those of 64 bits.
#[test]
fn loops_that_wait_for_memory_load_their_arguments() {
    let loads = |arguments, multiplies| {
        let (_, code) = translate(&gathers(arguments, multiplies, 0));
        let slots = |i: &&ptx_timing::event::Instruction| i.class == Class::IntMulWide;
        code.code.instructions.iter().filter(slots).map(|i| i.extra_slots).sum::<u32>()
    };
    // Arguments, multiply-adds with which ptxas loads all of them in each turn, and some with which it loads none
    // there. It changes in between.
    for (arguments, inside, ahead) in [(4, 0, 4), (5, 2, 5), (6, 4, 8), (8, 6, 12), (10, 10, 16)] {
        assert_eq!(loads(arguments, inside), arguments as u32, "{arguments}");
        assert_eq!(loads(arguments, ahead), 0, "{arguments}");
    }
    assert_eq!([1, 2, 3].map(|arguments| loads(arguments, 1)), [0, 0, 0]);
}

/// Up to sm_89 a wide multiply-add takes arguments from constant memory.
#[test]
fn arguments_are_operands_before_sm_90() {
    let (module, _) = ptx_parse::parse_and_verify(&gathers(6, 4, 0), "k.ptx");
    let program = ptx_parse::lower::lower(&module.unwrap(), 0).unwrap();
    let loads = |device| {
        let profile = ptx_timing::Catalog::embedded().unwrap().get(device).unwrap();
        let code = ptx_timing::code::KernelCode::new(&program, &profile.assembler).code;
        let wide = code.instructions.iter().filter(|i| i.class == Class::IntMulWide);
        wide.map(|i| i.extra_slots).sum::<u32>()
    };
    let devices = ["V100", "T4", "A100", "RTX 3090", "RTX 4090", "H100 SXM", "B200", "RTX 5090"];
    assert_eq!(devices.map(loads), [0, 0, 0, 0, 0, 6, 6, 6]);
}

/// Values that live through the loop, and the registers of ptxas: two arguments take some as far as there are.
#[test]
fn arguments_take_no_registers_where_these_are_short() {
    let values = [0, 4, 8, 12, 16, 20, 24, 32, 40];
    let estimates = values.map(|values| translate(&gathers(2, 12, values)).0);
    assert_eq!(estimates, [20, 28, 32, 32, 32, 32, 40, 48, 56]);
}

/// Words that are loaded where an index is small and 0 elsewhere: before the if nothing of them lives.
#[test]
fn ifs_leave_nothing_of_what_was_before() {
    let one = |i: usize| {
        format!(
            "add.s32 %r{2}, %r3, {3}; setp.gt.u32 %p1, %r{2}, 63; @%p1 bra E{i};\n\
             ld.global.u32 %r{0}, [%rd5+{1}]; bra.uni D{i};\nE{i}: mov.u32 %r{0}, 0;\nD{i}:\n",
            200 + i,
            64 * i,
            100 + i,
            8 * i
        )
    };
    let ifs: String = (0..24).map(one).collect();
    let sums: String =
        (0..24).map(|i| format!("mad.lo.s32 %r6, %r6, %r4, %r{};\n", 200 + i)).collect();
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) {{\n\
         .reg .u64 %rd<99>; .reg .u32 %r<300>; .reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n\
         mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd2, %rd4; mov.u32 %r3, %r2; mov.u32 %r4, 1; mov.u32 %r5, 0;\n\
         L: mad.lo.s32 %r4, %r4, %r3, %r1; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r1; .pragma \"nounroll\";\n\
         @%p2 bra L;\nmov.u32 %r6, %r4;\n{ifs}{sums}st.global.u32 [%rd2], %r6; ret; }}\n"
    );
    let (_, code) = translate(&text);
    // Behind the loop's block.
    let lives = &code.code.lives[1];
    assert!(lives.len() <= 8, "{} live behind the loop", lives.len());
}

/// A side under a predicate loads the argument that it adds to by itself, unless something without a predicate needs it
/// there, too: by ptxas 13.5 one LDC for each of three sides, of which the first takes what the model has at the start.
#[test]
fn sides_under_predicates_load_their_arguments() {
    let side = |i: usize| {
        format!(
            "setp.gt.u32 %p{i}, %r2, {}; @%p{i} bra J{i}; mul.wide.u32 %rd1{i}, %r2, {};\n\
             add.s64 %rd2{i}, %rd3, %rd1{i}; ld.global.f32 %f{i}, [%rd2{i}]; add.f32 %f1, %f1, %f{i};\nJ{i}:\n",
            10 * i,
            4 + 8 * i
        )
    };
    let sides: String = (3..6).map(side).collect();
    let loads = |first: &str| -> u32 {
        let text = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) {{\n\
             .reg .u64 %rd<99>; .reg .u32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<9>;\n\
             ld.param.u64 %rd1, [a]; ld.param.u64 %rd3, [b]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 4;\n\
             add.s64 %rd5, %rd1, %rd4; ld.global.f32 %f1, [%rd5];\n{first}{sides}st.global.f32 [%rd5], %f1; ret; }}\n"
        );
        let (_, code) = translate(&text);
        let wide = code.code.instructions.iter().filter(|i| i.class == Class::IntMulWide);
        wide.filter(|i| i.guard.is_some()).map(|i| i.extra_slots).sum()
    };
    assert_eq!(loads(""), 2);
    let plain = "add.s64 %rd6, %rd3, %rd4; ld.global.f32 %f2, [%rd6]; add.f32 %f1, %f1, %f2;\n";
    assert_eq!(loads(plain), 0);
}
