//! Every instruction has a timing class that the device profiles know.

use ptx_isa::{Match, table};
use ptx_timing::Catalog;
use ptx_timing::code::KernelCode;

#[test]
fn every_row_has_a_cost_on_9_0() {
    let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
    for (row, notation) in table().rows() {
        let first = notation.elems.iter().map(|e| e.choices.first().copied()).collect();
        let class = Match::new(row, notation, first).class();
        assert!(h200.class.contains_key(&class), "{}: {}", row.syntax, class.name());
    }
}

/// The assembler ends a block with what it makes branches of, as the row says: a quotient of doubles, not the start
/// of one.
#[test]
fn blocks_end_where_the_row_says() {
    let text = ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o) {\n\
        .reg .b64 %rd<2>; .reg .f64 %d<4>;\n\
        ld.param.u64 %rd0, [o]; ld.global.f64 %d0, [%rd0];\n\
        div.rn.f64 %d1, %d0, %d0;\nrcp.approx.ftz.f64 %d2, %d1;\nadd.f64 %d3, %d2, %d1;\n\
        st.global.f64 [%rd0], %d3;\nret;\n}\n";
    let (module, diags) = ptx_parse::parse_and_verify(text, "k.ptx");
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let program = ptx_parse::lower::lower(&module, 0).unwrap();
    let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
    let code = KernelCode::new(&program, &h200.assembler).code;
    let ends = code.instructions.iter().filter(|i| i.splits).map(|i| i.class.name());
    assert_eq!(ends.collect::<Vec<_>>(), ["f64-div"]);
}

/// The classes of the divisions in a body.
fn divisions(body: &str) -> Vec<&'static str> {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o) {{\n\
         .reg .b64 %rd<2>; .reg .b32 %r<9>; .reg .pred %p; .reg .f32 %f<2>;\n\
         ld.param.u64 %rd0, [o]; ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%rd0];\n{body}\n\
         st.global.u32 [%rd0], %r4;\nret;\n}}\n"
    );
    let (module, diags) = ptx_parse::parse_and_verify(&text, "k.ptx");
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let program = ptx_parse::lower::lower(&module, 0).unwrap();
    let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
    let code = KernelCode::new(&program, &h200.assembler).code;
    let names = code.instructions.iter().map(|i| i.class.name());
    names.filter(|name| name.starts_with("int-div")).collect()
}

/// The assembler computes the reciprocal of a divisor once in a block, and ahead of a loop in which the divisor stays.
#[test]
fn divisions_by_one_number_share_its_reciprocal() {
    let two = divisions("div.u32 %r4, %r0, %r1;\nrem.u32 %r5, %r2, %r1;\nadd.u32 %r4, %r4, %r5;");
    assert_eq!(two, ["int-div", "int-div-known"]);
    let apart = divisions("div.u32 %r4, %r0, %r1;\nrem.u32 %r5, %r2, %r3;\nadd.u32 %r4, %r4, %r5;");
    assert_eq!(apart, ["int-div", "int-div"]);
    let turns = |divisor: &str| {
        divisions(&format!(
            "mov.u32 %r4, 0;\n$turn: mad.lo.u32 %r0, %r0, %r0, 7;\nrem.s32 %r0, %r0, {divisor};\n\
             xor.b32 %r4, %r4, %r0;\nadd.u32 %r3, %r3, 3;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra $turn;"
        ))
    };
    assert!(turns("%r1").iter().all(|name| *name == "int-div-known"));
    assert!(turns("10").iter().all(|name| *name == "int-div-known"));
    assert!(turns("%r3").iter().all(|name| *name == "int-div-signed"));
    // Past what may call a routine it is computed again.
    let root = "div.u32 %r4, %r0, %r1;\ncvt.rn.f32.u32 %f0, %r4;\nsqrt.rn.f32 %f0, %f0;\ncvt.rzi.u32.f32 %r4, %f0;\n\
                rem.u32 %r5, %r2, %r1;\nadd.u32 %r4, %r4, %r5;";
    assert_eq!(divisions(root), ["int-div", "int-div"]);
}
