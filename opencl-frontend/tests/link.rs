//! What hosts get besides PTX: kernel information, and programs linked from several sources.

use opencl_frontend::info::ArgKind;
use opencl_frontend::{Options, compile, compile_object, link};

#[test]
fn kernel_information() {
    let source = "typedef struct { int a; double b; } S;\n\
        __kernel __attribute__((reqd_work_group_size(8, 4, 1))) __attribute__((vec_type_hint(float4)))\n\
        void first(__global const float4 *restrict in, volatile __global uint *out, __local double *tmp,\n\
                   __constant uchar *table, S s, int3 v, size_t n) { __local int a[5]; __local long b; a[0] = 1; b = 2; out[0] = a[0] + b; }\n\
        __kernel void second(__read_only image2d_t i, __write_only image3d_t o, sampler_t s, ulong x) {}\n\
        void helper(int x) {}";
    let kernels = compile("k.cl", source, &Options::default())
        .unwrap_or_else(|f| panic!("{}", f.rendered))
        .kernels;
    let names: Vec<&str> = kernels.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    let k = &kernels[0];
    assert_eq!(k.attributes(), "reqd_work_group_size(8,4,1) vec_type_hint(float4)");
    assert_eq!(k.local_bytes, 32);
    let shown: Vec<(&str, &str, ArgKind)> =
        k.args.iter().map(|a| (a.name.as_str(), a.type_name.as_str(), a.kind)).collect();
    assert_eq!(
        shown,
        [
            ("in", "float4*", ArgKind::Global),
            ("out", "uint*", ArgKind::Global),
            ("tmp", "double*", ArgKind::Local { align: 8 }),
            ("table", "uchar*", ArgKind::Constant),
            ("s", "S", ArgKind::Value { size: 16, align: 8 }),
            ("v", "int3", ArgKind::Value { size: 16, align: 16 }),
            ("n", "ulong", ArgKind::Value { size: 8, align: 8 }),
        ]
    );
    let qualifiers: Vec<[bool; 3]> =
        k.args[..4].iter().map(|a| [a.is_const, a.is_volatile, a.is_restrict]).collect();
    assert_eq!(
        qualifiers,
        [[true, false, true], [false, true, false], [false; 3], [true, false, false]]
    );
    let shown: Vec<(&str, ArgKind)> =
        kernels[1].args.iter().map(|a| (a.type_name.as_str(), a.kind)).collect();
    assert_eq!(
        shown,
        [
            ("image2d_t", ArgKind::ReadImage),
            ("image3d_t", ArgKind::WriteImage),
            ("sampler_t", ArgKind::Sampler),
            ("ulong", ArgKind::Value { size: 8, align: 8 }),
        ]
    );
}

const HEADER: &str = "struct Pair { int a, b; }; typedef struct { struct Pair p; float f; } Both; int sum(Both b); extern __constant int table[2];\n";

#[test]
fn sources_link() {
    let mut options = Options::default();
    options.headers.push(("both.h".into(), HEADER.into()));
    let library = "#include \"both.h\"\nstatic int helper(int x) { return x * N; }\n\
        int sum(Both b) { return helper(b.p.a + b.p.b) + table[1]; }\n\
        __constant int table[2] = {1, 7};";
    let user = "#include \"both.h\"\nstatic int helper(int x) { return x + 1; }\n\
        __kernel void k(__global int *o) { Both b = {{1, 2}, 3.0f}; o[0] = sum(b) + helper(table[0]); }";
    let with_macro = Options { defines: vec![("N".into(), Some("10".into()))], ..options.clone() };
    let object = |name: &str, text: &str, options: &Options| {
        compile_object(name, text, options).unwrap_or_else(|f| panic!("{}", f.rendered)).0
    };
    let (a, b) = (object("a.cl", library, &with_macro), object("b.cl", user, &options));
    for order in [[a.clone(), b.clone()], [b.clone(), a.clone()]] {
        let out = link(&order, &Options::default()).unwrap_or_else(|f| panic!("{}", f.rendered));
        // (1 + 2) * 10 + 7 + 2, all known to the compiler but for the table.
        assert!(out.ptx.contains(".entry k("), "{}", out.ptx);
        assert_eq!(out.kernels.len(), 1);
    }
    let alone = link(std::slice::from_ref(&b), &Options::default()).unwrap_err();
    assert!(alone.rendered.contains("is declared but not defined"), "{}", alone.rendered);
    let twice = link(&[a.clone(), a, b], &Options::default()).unwrap_err();
    assert!(twice.rendered.contains("twice"), "{}", twice.rendered);
    // A function of one source does not hide the library's in another.
    let own = object("own.cl", "float dot(float4 a, float4 b) { return 0; }", &Options::default());
    let plain = object(
        "plain.cl",
        "__kernel void k(__global float4 *p) { p[0].x = dot(p[0], p[1]); }",
        &Options::default(),
    );
    let out = link(&[own, plain], &Options::default()).unwrap_or_else(|f| panic!("{}", f.rendered));
    assert!(out.ptx.contains("fma.rn.f32") || out.ptx.contains("mul.rn.f32"), "{}", out.ptx);
}

#[test]
fn kernels_that_cannot_tell_their_groups() {
    let any = |text: &str| {
        let text = format!("kernel void k(global int *o, local int *l, int n) {{ {text} }}");
        let text = if text.contains("l[") { text } else { text.replace("local int *l, ", "") };
        let out = compile("k.cl", &text, &Options::default()).unwrap();
        out.kernels[0].any_group
    };
    for same in [
        "o[get_global_id(0)] = n;",
        "for (int i = get_global_id(0); i < n; i += get_global_size(0)) o[i] = i;",
        "o[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_work_dim();",
        "size_t unused = get_local_id(0); atomic_inc(o + get_global_id(0));",
        "for (int i = 0; i < n; i++) { for (int r = 0; r < 4; r++) o[r] += i; if (n == 7) o[get_global_id(0)] = i; }",
        "o[get_global_linear_id()] = get_global_offset(0);",
    ] {
        assert!(any(same), "{same}");
    }
    for own in [
        "o[get_global_id(0)] = get_local_id(0);",
        "o[get_global_id(0)] = get_local_size(0);",
        "o[get_global_id(0)] = get_group_id(0);",
        "o[get_global_id(0)] = get_num_groups(0);",
        "o[get_global_id(0)] = get_group_id(0) * get_local_size(0);",
        "if (get_local_id(0)) o[get_global_id(0)] = 1;",
        "o[get_global_id(0)] = n; barrier(CLK_GLOBAL_MEM_FENCE); o[0] = 1;",
        "l[0] = n; o[get_global_id(0)] = l[0];",
        "local int s; s = n; o[get_global_id(0)] = s;",
        "int x; asm(\"mov.u32 %0, %%tid.x;\" : \"=r\"(x)); o[get_global_id(0)] = x;",
    ] {
        assert!(!any(own), "{own}");
    }
}

#[test]
fn smaller_groups_are_told_of_where_they_may_be() {
    let text = "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void k(global int *o) {\n\
        o[get_global_id(0)] = get_global_size(0) + get_local_size(0); }";
    for (words, rest) in [
        ("-arch=sm_90 -cl-std=CL3.0", true),
        ("-arch=sm_70 -cl-std=CL2.0", true),
        ("-arch=sm_90 -cl-std=CL3.0 -cl-uniform-work-group-size", false),
        ("-arch=sm_90 -cl-std=CL1.2", false),
        ("-arch=sm_90", false),
        ("-arch=sm_61 -cl-std=CL3.0", false),
    ] {
        let driver = Options { global_offset: true, ..Options::default() };
        let out = compile("k.cl", text, &driver.with_text(words).unwrap()).unwrap();
        assert_eq!(out.kernels[0].rest_groups, rest, "{words}");
        assert_eq!(out.ptx.contains("%envreg10"), rest, "{words}");
        assert_eq!(out.ptx.contains(".reqntid 4, 1, 1"), !rest, "{words}");
    }
    // Without a driver nothing sets the registers.
    let out = compile("k.cl", text, &Options::parse("-arch=sm_90 -cl-std=CL3.0").unwrap()).unwrap();
    assert!(!out.kernels[0].rest_groups && !out.ptx.contains("%envreg"), "{}", out.ptx);
}
