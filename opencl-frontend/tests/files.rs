//! Every program in `accept` compiles to the recorded PTX, every program in `reject` to the recorded
//! diagnostics. `INSTA_UPDATE=always cargo test -p opencl-frontend` records anew.

use opencl_frontend::{Options, compile};

fn programs(folder: &str) -> Vec<(String, String, Options)> {
    let folder = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut out: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let source = std::fs::read_to_string(&path).unwrap();
            let words =
                source.lines().next().and_then(|l| l.strip_prefix("// options: ")).unwrap_or("");
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            (name, source.clone(), Options::parse(words).unwrap())
        })
        .collect();
    out.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!out.is_empty());
    out
}

#[test]
fn accepted() {
    for (name, source, options) in programs("accept") {
        match compile(&name, &source, &options) {
            Ok(out) => insta::assert_snapshot!(format!("accept_{name}"), out.ptx + &out.rendered),
            Err(failure) => panic!("{name} does not compile:\n{}", failure.rendered),
        }
    }
}

#[test]
fn rejected() {
    for (name, source, options) in programs("reject") {
        match compile(&name, &source, &options) {
            Ok(_) => panic!("{name} compiles"),
            Err(failure) => insta::assert_snapshot!(format!("reject_{name}"), failure.rendered),
        }
    }
}

/// Count of a PTX instruction in one kernel.
fn count(ptx: &str, kernel: &str, instruction: &str) -> usize {
    let start = ptx.find(&format!(".entry {kernel}(")).unwrap();
    let body = &ptx[start..];
    let end = body.find("\n}\n").unwrap();
    body[..end].matches(instruction).count()
}

#[test]
fn volatile_decides_how_often_memory_is_read() {
    let source =
        std::fs::read_to_string(format!("{}/tests/accept/reduce.cl", env!("CARGO_MANIFEST_DIR")))
            .unwrap();
    let ptx = compile("reduce.cl", &source, &Options::parse("-D GROUP=64").unwrap()).unwrap().ptx;
    assert_eq!(count(&ptx, "once", "ld.global"), 1);
    assert_eq!(count(&ptx, "twice", "ld.volatile.global"), 2);
}

/// The whole library compiles without a diagnostic for old and new targets.
#[test]
fn library_is_clean() {
    let calls = "
        __kernel void f(__global float *f, __global int *n, __global float4 *v) {
            f[0] = sin(f[0]) + exp(f[1]) + log(f[2]) + native_sin(f[3]) + ldexp(f[4], 2) + degrees(f[5]) + length(v[0]) + fmod(f[6], f[7]);
            n[0] = add_sat(n[0], n[1]) + isnan(f[0]) + rotate(n[3], 3);
            f[1] = bitselect(f[0], f[1], f[2]) + (float)get_work_dim() + fract(f[3], f);
        }";
    for sm in ["sm_20", "sm_75", "sm_90"] {
        let options = Options::parse(&format!("-arch={sm}")).unwrap();
        let result = compile("calls.cl", calls, &options);
        assert_eq!(result.map_err(|f| f.rendered).map(|o| o.rendered), Ok(String::new()), "{sm}");
    }
}

/// What does not fit inline is called.
#[test]
fn towers_of_calls_are_called() {
    let source = (1..40).fold(String::from("int f0(int x) { return x + 1; }\n"), |s, i| {
        s + &format!("int f{i}(int x) {{ return f{}(x) + f{}(x + 1); }}\n", i - 1, i - 1)
    }) + "__kernel void k(__global int *p) { p[0] = f39(p[1]); }";
    let start = std::time::Instant::now();
    let output = compile("tower.cl", &source, &Options::default()).expect("it compiles");
    assert!(start.elapsed().as_secs() < 20, "it took {:?}", start.elapsed());
    assert!(output.ptx.contains("\n    call f"), "{}", output.ptx);
    assert!(output.ptx.len() < 4 << 20, "{} bytes", output.ptx.len());
    // Before `sm_20` there are no calls.
    let old = Options { sm: 13, ..Options::default() };
    let failure = compile("tower.cl", &source, &old).expect_err("it is refused");
    assert!(failure.rendered.contains("grows too large"), "{}", failure.rendered);
}

/// Hostile input ends in an error soon.
#[test]
fn bounded() {
    let deep = |open: &str, middle: &str, close: &str| {
        format!(
            "__kernel void k(__global int *p) {{ p[0] = {}{middle}{}; }}",
            open.repeat(20_000),
            close.repeat(20_000)
        )
    };
    let doubling = |times: u32, token: &str, rest: &str| {
        let mut text = format!("#define M0 {token}\n");
        for i in 1..=times {
            text += &format!("#define M{i} M{} M{}\n", i - 1, i - 1);
        }
        text + &format!("#define M M{times}\n{rest}\n")
    };
    let mut bomb = String::from("#define M0 x x x x\n");
    for i in 1..20 {
        bomb += &format!("#define M{i} M{} M{} M{} M{}\n", i - 1, i - 1, i - 1, i - 1);
    }
    bomb += "M19\n";
    let cases = [
        deep("(", "1", ")"),
        deep("-", "1", ""),
        deep("1+(", "1", ")"),
        deep("!", "1", ""),
        format!("__kernel void k(__global int *p) {{ {} ; }}", "if (p[0]) ".repeat(20_000)),
        format!("int {}x;", "*".repeat(50_000)),
        bomb,
        "#include \"self.h\"\n".to_string(),
        "__constant int a[1 << 30] = {[1000000000] = 1};".to_string(),
        "#define F(x) F(F(x))\n#define G(x) F(x F(x) F(x))\nint y = G(G(G(G(G(G(G(G(1))))))));"
            .to_string(),
        deep("f(", "1", ")"),
        deep("p[", "1", "]"),
        deep("(int)", "1", ""),
        deep("sizeof(", "1", ")"),
        deep("1 ? 1 : ", "1", ""),
        deep("(float4)(", "1", ")"),
        format!("__kernel void k(__global int *p) {}", "{".repeat(50_000)),
        format!("struct s {{ {} }} ", "struct { int a; ".repeat(20_000)),
        format!("int a{};", "[2]".repeat(20_000)),
        format!("int {}a{};", "(*".repeat(20_000), ")()".repeat(20_000)),
        // A megabyte of tokens from a small text, and then a mistake.
        doubling(18, "1 +", "int x = M 1; int y = z;"),
        doubling(18, "(", "int x = M 1;"),
        format!("#if {}1\n#endif\nint x = y;", "(".repeat(50_000)),
        "#include \"a.h\"\n".to_string(),
        "/* unterminated".to_string(),
        "\"unterminated".to_string(),
        "__kernel void k() { for (;;".to_string(),
    ];
    let mut options = Options::default();
    options.headers.push(("self.h".into(), "#include \"self.h\"\n".into()));
    // Two of each: without a bound on the depth, as many as there are atoms.
    options.headers.push(("a.h".into(), "#include \"b.h\"\n#include \"b.h\"\n".into()));
    options.headers.push(("b.h".into(), "#include \"a.h\"\n#include \"a.h\"\n".into()));
    for (i, source) in cases.iter().enumerate() {
        let start = std::time::Instant::now();
        let result = compile("hostile.cl", source, &options);
        assert!(result.is_err(), "case {i} compiles");
        assert!(start.elapsed().as_secs() < 20, "case {i} took {:?}", start.elapsed());
        let failure = result.unwrap_err();
        assert!(
            failure.diags.iter().all(|d| d.code.name() != "internal"),
            "case {i}: {}",
            failure.rendered
        );
    }
}
