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
    // A body is read even where its function has no place in the module.
    judge(
        &[
            ("n(.param .u64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p]; ret; }", true),
            ("k(.param .u64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p]; ret; }", false),
        ],
        |text| format!("{HEAD}.global .b32 k;\n.visible .entry {text}\n"),
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

#[test]
fn modifiers_and_operands_of_single_instructions() {
    judge(
        &[
            ("ld.shared.L1::evict_last.u32 %r1, [sm];", false),
            ("ld.const.L2::128B.u32 %r1, [c];", false),
            ("ld.local.L1::no_allocate.u32 %r1, [lo];", false),
            ("ld.param.L1::evict_normal.u32 %r1, [p];", false),
            ("ld.global.L1::no_allocate.u32 %r1, [%rd1];", true),
            ("ld.L2::128B.u32 %r1, [%rd1];", true),
            ("ld.shared.cg.u32 %r1, [sm];", true),
            ("st.shared.L1::evict_last.u32 [sm], %r1;", false),
            ("st.L1::no_allocate.u32 [%rd1], %r1;", true),
            ("ld.volatile.const.u32 %r1, [c];", false),
            ("ld.volatile.param.u32 %r1, [p];", false),
            ("ld.volatile.shared.u32 %r1, [sm];", true),
            ("ld.volatile.local.u32 %r1, [lo];", false),
            ("ld.global.u32 %r1, [%rd1], %rd2;", false),
            ("ld.global.L2::cache_hint.u32 %r1, [%rd1];", false),
            ("ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;", true),
            ("atom.global.add.u32 %r1, [%rd1], %r2, %rd2;", false),
            ("atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2;", false),
            ("red.global.add.u32 [%rd1], %r2, %rd2;", false),
            ("cvta.shared.u64 %rd2, sm;", true),
            ("cvta.shared.u64 %rd2, sm+8;", true),
            ("cvta.shared.u64 %rd2, g;", false),
            ("cvta.global.u64 %rd2, sm;", false),
            ("cvta.global.u64 %rd2, lo;", false),
            ("cvta.to.shared.u64 %rd2, sm;", false),
            ("mapa.shared::cluster.u32 %r1, sm, %r2;", true),
            ("mapa.shared::cluster.u32 %r1, sm+4, %r2;", true),
            ("mapa.shared::cluster.u32 %r1, g, 0;", false),
            ("mapa.u64 %rd2, sm, %r2;", true),
            ("getctarank.shared::cluster.u32 %r1, sm;", true),
            ("mbarrier.try_wait.parity.shared.b64 %p1, [sm], 1;", true),
            ("mbarrier.try_wait.parity.shared.b64 %p1, [sm], 2;", false),
            ("mbarrier.test_wait.parity.shared.b64 %p1, [sm], -1;", false),
            ("elect.sync _|%p1, 0xffffffff;", true),
            ("elect.sync %r1|%p1, 0xffffffff;", true),
            ("mov.u32 %r1, %gridid;", true),
            ("mov.u16 %h1, %gridid;", true),
            ("mov.u64 %rd2, %gridid;", true),
            ("mov.u16 %h1, %tid.x;", true),
            ("mov.u16 %h1, %smid;", false),
            ("mov.u32 %r1, %clock64;", false),
            ("bar.warp.sync -1;", true),
            ("bar.sync.warp -1;", false),
            ("barrier.arrive.cluster;", false),
            ("sust.b.b32.1d.trap [%rd1, {%r1}], {%r1};", true),
            ("sust.1d.b.b32.trap [%rd1, {%r1}], {%r1};", false),
            ("suld.1d.b.b32.trap {%r1}, [%rd1, {%r1}];", false),
            ("tex.2d.level.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], %f1;", false),
            ("tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], %f1;", true),
        ],
        |text| {
            format!(
                ".version 9.0\n.target sm_90a\n.address_size 64\n.global .align 16 .b8 g[64]; .const .u32 c;\n\
                 .entry k(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .f32 %f<5>; .reg .b16 %h<2>;\n\
                 .reg .pred %p<2>; .shared .align 16 .b8 sm[64]; .local .u32 lo;\n{text}\nret; }}\n"
            )
        },
    );
}

/// The kernel around each statement of `data/statements.txt`.
fn around(statement: &str, target: &str, version: &str) -> String {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let number = |text: &str| digits(text).parse::<u32>().unwrap_or(0);
    let wide = if number(version) >= 83 && number(target) >= 70 { ".reg .b128 %q<4>;" } else { "" };
    let sampler = if target.ends_with("independent") { ".global .samplerref smp;" } else { "" };
    include_str!("data/around.ptx")
        .replace("VERSION", version)
        .replace("TARGET", target)
        .replace("SAMPLER", sampler)
        .replace("WIDE", wide)
        .replace("STATEMENT", statement)
}

#[test]
fn statements_one_by_one() {
    let (mut target, mut version) = ("", "");
    let (mut count, mut wrong) = (0, Vec::new());
    for line in include_str!("data/statements.txt").lines().filter(|l| !l.starts_with('#')) {
        let (mark, rest) = line.split_once(' ').expect("a mark and a text");
        if mark == "@" {
            (target, version) = rest.split_once(' ').expect("target and version");
            continue;
        }
        let got = accepted(&around(rest, target, version));
        count += 1;
        if got.is_ok() != (mark == "+") {
            wrong.push(format!("{rest} [{target} {version}]\n  ptxas: {mark}, ours: {got:?}"));
        }
    }
    assert!(count > 5000, "{count} statements");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
