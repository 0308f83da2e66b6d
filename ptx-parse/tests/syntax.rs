//! Forms of the language, each as text with the tree's canonical text.

use ptx_parse::{Reporter, parse, print::print};

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// Reads `text`, checks that printing keeps the tree, gives the canonical text.
#[track_caller]
fn canonical(text: &str) -> String {
    let (ast, diags) = parse(text);
    assert!(diags.is_empty(), "{text}\n{}", Reporter::new("text", text).plain(&diags[0]));
    let printed = print(&ast);
    let (again, diags) = parse(&printed);
    assert!(diags.is_empty(), "{printed}\n{}", Reporter::new("again", &printed).plain(&diags[0]));
    assert_eq!(ast.difference(&again), None, "{printed}");
    printed
}

#[track_caller]
fn statement(text: &str) -> String {
    let whole = canonical(&format!("{HEAD}.entry k() {{ {text} }}"));
    let body = whole.split_once("{\n").map_or("", |(_, body)| body);
    let body = body.trim_end().trim_end_matches('}').trim();
    body.replace('\t', "")
}

/// A list of parameters that is left out is an empty one, wherever it would begin.
#[test]
fn a_declaration_without_parameters() {
    let printed = canonical(&format!("{HEAD}.global .u32 x;\n.extern .func f;\n"));
    assert!(printed.ends_with(".extern .func f();\n"), "{printed}");
}

/// Statements that are taken, with their canonical text (accepted by ptxas 13.5 as well).
#[test]
fn statements() {
    for (text, want) in [
        ("add.u32 %r1,%r2,%r3;", "add.u32 %r1, %r2, %r3;"),
        ("add .u32 %r1,%r2,%r3;", "add.u32 %r1, %r2, %r3;"),
        ("add/*c*/.sat // x\n .s32 %r1,%r2,%r3;", "add.sat.s32 %r1, %r2, %r3;"),
        ("ld .global .u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];"),
        ("mov .b64 {%r1,%r2}, %rd1;", "mov.b64 {%r1, %r2}, %rd1;"),
        (".loc 1 1 1 mov .b64 {%r1,%r2}, %rd1;", ".loc 1 1 1\nmov.b64 {%r1, %r2}, %rd1;"),
        ("@%p1 bra L; L:", "@%p1 bra L;\nL:"),
        ("@ ! %p1 bra L; L:", "@!%p1 bra L;\nL:"),
        ("mov.u32 %r1, 3+4*2;", "mov.u32 %r1, 11;"),
        ("mov.u32 %r1, (1<2)&&(3>=4);", "mov.u32 %r1, 0;"),
        ("mov.u32 %r1, 1?2:3;", "mov.u32 %r1, 2;"),
        ("mov.u32 %r1, 10-4-3;", "mov.u32 %r1, 3;"),
        ("mov.u32 %r1, -7/2;", "mov.u32 %r1, -3;"),
        ("mov.u32 %r1, -1>>60;", "mov.u32 %r1, -1;"),
        ("mov.u32 %r1, (.u64)-1>>60;", "mov.u32 %r1, 15U;"),
        ("mov.u32 %r1, -1 % 10;", "mov.u32 %r1, 5;"),
        ("mov.u32 %r1, 5 & 12 | 1 ^ 3;", "mov.u32 %r1, 6;"),
        ("mov.u32 %r1, ~1;", "mov.u32 %r1, 18446744073709551614;"),
        ("mov.u32 %r1, !5;", "mov.u32 %r1, 0;"),
        ("mov.u32 %r1, 1.0 < 2.0;", "mov.u32 %r1, 1;"),
        ("mov.u32 %r1, --3;", "mov.u32 %r1, 3;"),
        (
            "mov.u32 %r1, 0x10U; mov.u32 %r1, 0b101; mov.u32 %r1, 017;",
            "mov.u32 %r1, 16U;\nmov.u32 %r1, 5;\nmov.u32 %r1, 15;",
        ),
        ("mov.f32 %f1, 0f3F800000;", "mov.f32 %f1, 0f3F800000;"),
        ("mov.f64 %f1, 0d3ff0000000000000;", "mov.f64 %f1, 0d3FF0000000000000;"),
        (
            "mov.f32 %f1, .5; mov.f32 %f1, 1.e5; mov.f32 %f1, 1e-5;",
            "mov.f32 %f1, 5e-1;\nmov.f32 %f1, 1e5;\nmov.f32 %f1, 1e-5;",
        ),
        ("mov.f32 %f1, 1.0*2.5;", "mov.f32 %f1, 2.5e0;"),
        (
            "mov.u32 %r1, WARP_SZ; mov.u32 %r1, WARP_SZ*2;",
            "mov.u32 %r1, WARP_SZ;\nmov.u32 %r1, 64;",
        ),
        ("ld.shared.u32 %r1,[sh+4*2];", "ld.shared.u32 %r1, [sh+8];"),
        ("ld.shared.u32 %r1,[sh+-4+4];", "ld.shared.u32 %r1, [sh];"),
        ("ld.shared.u32 %r1,[sh+99999999999];", "ld.shared.u32 %r1, [sh+99999999999];"),
        ("ld.local.u32 %r1,[16+4];", "ld.local.u32 %r1, [20];"),
        ("ld.shared.u32 %r1,sh[2+1];", "ld.shared.u32 %r1, sh[3];"),
        ("mov.u32 %r1, sh + 4 + 2;", "mov.u32 %r1, sh+6;"),
        ("mov.u32 %r1, v.x; mov.u32 %r1, v.g;", "mov.u32 %r1, v.x;\nmov.u32 %r1, v.y;"),
        ("mov.u32 %r1, %tid .x;", "mov.u32 %r1, %tid.x;"),
        (
            "vadd.u32.u32.u32 %r1, %r2.b0, -%r3.h1, %r1;",
            "vadd.u32.u32.u32 %r1, %r2.b0, -%r3.h1, %r1;",
        ),
        ("vadd2.u32.u32.u32 %r1, %r2, %r3.h32, %r1;", "vadd2.u32.u32.u32 %r1, %r2, %r3.h32, %r1;"),
        ("setp.eq.and.u32 %p1 | %p2, %r1, %r2, ! %p3;", "setp.eq.and.u32 %p1|%p2, %r1, %r2, !%p3;"),
        ("setp.eq.u32 %p1|_, %r1, %r2;", "setp.eq.u32 %p1|_, %r1, %r2;"),
        (
            "tex.2d.v4.f32.f32 {a,b,c,d}, [t, s, {x,y}];",
            "tex.2d.v4.f32.f32 {a, b, c, d}, [t, s, {x, y}];",
        ),
        ("ld.global.u32 %r1, [%rd1].unified, %rd2;", "ld.global.u32 %r1, [%rd1].unified, %rd2;"),
        ("call.uni (r), f, (a, 1), P;", "call.uni (r), f, (a, 1), P;"),
        ("call f; call f, (); ret.uni;", "call f;\ncall f, ();\nret.uni;"),
        ("X: .branchtargets a, b, c<2>;", "X:\n.branchtargets a, b, c<2>;"),
        ("X: .calltargets f, g;", "X:\n.calltargets f, g;"),
        (
            "X: .callprototype (.param .u32 _) _ (.param .align 4 .b8 _[4]) .abi_preserve 3;",
            "X:\n.callprototype (.param .u32 _) _(.param .align 4 .b8 _[4]) .abi_preserve 3;",
        ),
        ("X: .callprototype _ .noreturn;", "X:\n.callprototype _() .noreturn;"),
        (".extern .func f(.param .b32 a);", ".extern .func f(.param .b32 a);"),
        (
            ".reg .b32 a, b<3>; .align 4 .reg .v2.b32 q;",
            ".reg .b32 a;\n.reg .b32 b<3>;\n.reg .align 4 .v2 .b32 q;",
        ),
        (".pragma \"a\", \"b\";", ".pragma \"a\", \"b\";"),
        (
            ".loc 1 2 3, function_name .debug_str+16, inlined_at 1 4 5\nret;",
            ".loc 1 2 3, function_name .debug_str+16, inlined_at 1 4 5\nret;",
        ),
        (".loc 1 2 3\n.loc_intermediate 2 3 4\nret;", ".loc 1 2 3\n.loc_intermediate 2 3 4\nret;"),
        ("{ L: } { .reg .b32 x; }", "{\nL:\n}\n{\n.reg .b32 x;\n}"),
    ] {
        assert_eq!(statement(text), want, "{text}");
    }
}

/// Module-level forms, all kept by printing.
#[test]
fn directives() {
    for text in [
        ".visible .global .align 8 .v4 .f32 x;",
        ".common .global .u32 x;",
        ".weak .const .b8 x[4] = {1, 2, 3};",
        ".global .u32 x[][2] = {{1, 2}, {3}};",
        ".global .u32 x[4] = {};",
        ".global .u32 x = 1, y = 2, z<3>;",
        ".global .u64 x = generic(y)+4;",
        ".global .u8 x[4] = {0xff(y), 0xff00(y), 0xff0000(generic(y)), 1};",
        ".global .samplerref s = {addr_mode_0 = clamp_to_border, filter_mode = nearest};",
        ".const[2] .u32 x;",
        ".extern .const[2] .b32 x[];",
        ".global .attribute(.managed, .unified(1, 2)) .u32 x;",
        ".attribute(.managed) .global .u32 x;",
        ".alias a, b;",
        ".func (.reg .u32 r) f(.reg .u32 a) { ret; }",
        ".extern .func f;",
        ".func .attribute(.unified(1,2)) f(.param .b8 a[]) .noreturn .abi_preserve 3 { trap; }",
        ".entry e .maxntid 1,1,1 .minnctapersm 2 .pragma \"nounroll\"; .language \"ptx\", 3 { ret; }",
        ".entry e() .reqntid 32 .reqnctapercluster 1,1,1 .explicitcluster .blocksareclusters { ret; }",
        ".entry e(.param .u64 .ptr.global.align 8 a, .param .b8 .align 8 b[4], .param .texref t) { ret; }",
        ".pragma \"foo\";",
        ".file 1 \"foo\", 3, 4",
        ".section .debug_x { .b8 1,2 .b8 -3 L: .b32 L .b64 L+4 .b32 M-L .b64 .debug_info+8 .b32 .debug_abbrev }",
        "@@DWARF .section .debug_x, \"\", @progbits",
        ".nv_intermediate_source_section { .code_block { .ir_name: \"TileIR\" .sourceFileName: 2 .source_begin { ; \" .source_end } }",
        ".tex .u64 t;",
        "# 1 \"foo.cu\"",
    ] {
        canonical(&format!("{HEAD}{text}\n"));
    }
}
