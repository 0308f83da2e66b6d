//! Small texts beside ptxas 13.5's verdicts: parameters, names, directives, calls.

fn accepted(text: &str) -> Result<(), String> {
    let (module, diags) = ptx_parse::parse_and_verify(text, "text");
    match diags.iter().find(|d| d.is_error()) {
        Some(d) => Err(d.message.clone()),
        None => module.map(|_| ()).ok_or_else(|| "no module and no finding".into()),
    }
}

/// Fails with every text whose verdict differs.
fn judge(cases: &[(&str, bool)], module: impl Fn(&str) -> String) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|&(text, accepts)| {
            let got = accepted(&module(text));
            (got.is_ok() != accepts)
                .then(|| format!("{text}\n  ptxas accepts: {accepts}, ours: {got:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const HEAD: &str = ".version 9.0\n.target sm_80\n.address_size 64\n";

#[test]
fn parameters_are_read_and_results_written() {
    judge(
        &[
            (".func f(.param .b32 a) { ld.param.b32 %r1, [a]; ret; }", true),
            (".func f(.param .b32 a) { st.param.b32 [a], 1; ret; }", false),
            (".func (.param .b32 o) f(.param .b32 a) { st.param.b32 [o], 1; ret; }", true),
            (".func (.param .b32 o) f(.param .b32 a) { ld.param.b32 %r1, [o]; ret; }", false),
            (".entry f(.param .b32 a) { ld.param.b32 %r1, [a]; ret; }", true),
            (".entry f(.param .b32 a) { st.param.b32 [a], 1; ret; }", false),
        ],
        |text| format!("{HEAD}{}\n", text.replacen("{ ", "{ .reg .b32 %r<3>; ", 1)),
    );
}

#[test]
fn names_are_declared_once() {
    judge(
        &[
            (".reg .b32 x; .reg .b32 x;", false),
            (".reg .b32 %r<5>; .reg .b32 %r4;", false),
            (".reg .b32 %r<5>; .reg .b32 %r5;", true),
            (".reg .b32 %r4; .reg .b32 %r<5>;", false),
            (".reg .b32 %r1<3>; .reg .b32 %r<15>;", true),
            (".reg .b32 %r<15>; mov.b32 %r10, 0; .reg .b32 %r1<3>;", true),
            (".reg .b32 %r<5>; { .reg .b32 %r3; mov.b32 %r3, 1; }", true),
            (".reg .b32 %q<5>; %q3: ret;", true),
            (".reg .b32 q<5>; .shared .b32 q3;", false),
            (".reg .b32 WARP_SZ;", false),
            ("WARP_SZ: ret;", false),
        ],
        |text| format!("{HEAD}.entry k() {{ {text} ret; }}\n"),
    );
}

#[test]
fn directives_of_a_head() {
    judge(
        &[
            (".maxntid 0", false),
            (".maxntid 1, 0", false),
            (".reqntid 0", false),
            (".maxnreg 0", false),
            (".maxntid 32 .minnctapersm 0", false),
            (".maxntid 64 .maxnctapersm 4", false),
            (".maxntid 64 .minnctapersm 4", true),
            (".reqntid 32 .reqntid 64", true),
            (".maxntid 32 .maxntid 64", true),
            (".maxnreg 32 .maxnreg 64", true),
        ],
        |text| format!("{HEAD}.entry k() {text} {{ ret; }}\n"),
    );
    judge(
        &[
            (".version 2.0\n.target sm_20\n.entry k() .maxntid 32 .maxnctapersm 2 { ret; }", true),
            (
                ".version 9.0\n.target sm_80\n.target sm_80\n.address_size 64\n.entry k() { ret; }",
                true,
            ),
            (
                ".version 9.0\n.target sm_80\n.address_size 64\n.target sm_90\n.entry k() { ret; }",
                false,
            ),
            (".version 9.0\n.target sm_80\n.extern .entry k(.param .u64 p);", true),
            (".version 9.0\n.target sm_80\n.pragma \"nounroll\";\n.entry k() { ret; }", true),
            (".version 9.0\n.target sm_80\n.pragma \"unroll 4\";\n.entry k() { ret; }", false),
        ],
        |text| format!("{text}\n"),
    );
}

#[test]
fn arguments_are_aligned_as_declared() {
    judge(
        &[
            (".align 8 .b8 a[16] = .align 8 .b8 x[16]", true),
            (".align 16 .b8 a[16] = .align 8 .b8 x[16]", false),
            (".align 8 .b8 a[16] = .align 16 .b8 x[16]", false),
            (".b32 a = .align 8 .b32 x", false),
            (".b8 a[16] = .align 1 .b8 x[16]", true),
            (".align 4 .b32 a = .b32 x", true),
        ],
        |text| {
            let (formal, actual) = text.split_once(" = ").expect("both sides");
            format!(
                "{HEAD}.func f(.param {formal}) {{ ret; }}\n\
                 .entry k() {{ {{ .param {actual}; call f, (x); }} ret; }}\n"
            )
        },
    );
}

#[test]
fn lists_and_prototypes_stand_before_their_use() {
    judge(
        &[
            ("T: .branchtargets L;\nbrx.idx %r1, T;\nL: ret;", true),
            ("brx.idx %r1, T;\nL: ret;\nT: .branchtargets L;", false),
            ("P: .callprototype _ ();\nmov.u64 %rd1, f; call %rd1, P;", true),
            ("mov.u64 %rd1, f; call %rd1, P;\nP: .callprototype _ ();", false),
            ("mov.u64 %rd1, f; call %rd1, P;\nP: .calltargets f;", false),
        ],
        |text| {
            format!(
                "{HEAD}.func f() {{ ret; }}\n.entry k() {{ .reg .b32 %r<3>; .reg .b64 %rd<3>; \
                 mov.u32 %r1, 0;\n{text}\nret; }}\n"
            )
        },
    );
}
