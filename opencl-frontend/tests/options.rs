//! Options and warnings.

use opencl_frontend::diag::Code;
use opencl_frontend::{Options, Output, compile};

fn compiled(source: &str, flags: &str) -> Output {
    let options = Options::parse(flags).expect("options");
    compile("t.cl", source, &options).unwrap_or_else(|f| panic!("{flags}: {}", f.rendered))
}

#[test]
fn loads_stay_where_nobody_optimises() {
    let source =
        "__kernel void k(__global int *p, __local int *l) { int x = p[1]; int y = l[2]; p[3]; }";
    let count = |flags: &str| compiled(source, flags).ptx.matches("ld.").count();
    let loads = |flags: &str, space: &str| compiled(source, flags).ptx.matches(space).count();
    assert_eq!(loads("", "ld.global") + loads("", "ld.shared"), 0);
    assert_eq!(loads("-cl-opt-disable", "ld.global"), 2);
    assert_eq!(loads("-cl-opt-disable", "ld.shared"), 1);
    assert!(count("-cl-opt-disable") > 3);
}

#[test]
fn every_version_of_the_language_is_taken_and_says_what_it_has() {
    let source = "__kernel void k(__global int *p) {
        p[0] = __OPENCL_C_VERSION__ * 10;
        #ifdef __opencl_c_images
        p[0] += 1;
        #endif
        #ifdef __opencl_c_generic_address_space
        p[0] += 1;
        #endif
        #if defined __opencl_c_device_enqueue || defined __opencl_c_pipes
        #error not here
        #endif
    }";
    let versions =
        [("CL1.0", 1000), ("CL1.1", 1100), ("CL1.2", 1200), ("CL2.0", 2000), ("CL3.0", 3002)];
    for (name, value) in versions {
        let ptx = compiled(source, &format!("-cl-std={name}")).ptx;
        assert!(ptx.contains(&format!(", {value};")), "{name}: {ptx}");
    }
    let old = compiled(source, "-cl-std=CL3.0 -arch=sm_61").ptx;
    assert!(old.contains(", 3001;"), "{old}");
    assert_eq!(Options::parse("-cl-std=CL9.9").expect_err("unknown").code, Code::Option);
}

#[test]
fn half_arguments_need_the_extension() {
    let kernel = "__kernel void k(__global float *p, half h) { p[0] = h; }";
    let enabled = format!("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n{kernel}");
    let ptx = compiled(&enabled, "").ptx;
    assert!(ptx.contains(".param .b16 k_param_1"), "{ptx}");
    let failure = compile("t.cl", kernel, &Options::default()).expect_err("it is refused");
    assert_eq!(failure.diags[0].code, Code::Kernel, "{}", failure.rendered);
}

#[test]
fn warnings_name_what_is_wrong() {
    let warnings = |body: &str, flags: &str| -> Vec<Code> {
        let source = format!(
            "struct s {{ int n; int tail[1]; }};
             __kernel void k(__global int *p, __global struct s *q) {{ {body} }}"
        );
        compiled(&source, flags).warnings.iter().map(|w| w.code).collect()
    };
    assert_eq!(warnings("int a[4]; a[0] = 1; p[0] = a[4];", ""), [Code::ArrayBounds]);
    assert_eq!(warnings("int a[4]; a[0] = 1; p[0] = a[-1];", ""), [Code::ArrayBounds]);
    assert_eq!(warnings("int a[4]; a[0] = 1; int *end = &a[4]; p[0] = end - a;", ""), []);
    assert_eq!(warnings("p[0] = q->tail[5];", ""), []);
    assert_eq!(warnings("int x; p[0] = x + x;", ""), [Code::Uninitialized]);
    assert_eq!(warnings("int x; if (p[0]) x = 1; p[0] = x;", ""), []);
    assert_eq!(warnings("int4 v; v.x = 1; p[0] = v.x;", ""), []);
    assert_eq!(warnings("int x = 1;", ""), []);
    assert_eq!(warnings("int x = 1;", "-Wall"), [Code::UnusedVariable]);
    assert_eq!(warnings("int x = 1;", "-Wall -Wno-unused-variable"), []);
}

#[test]
fn a_first_error_makes_no_noise() {
    let source = "int broken(int a { return a; }
        struct pair { int a b; };
        __constant int table[2] = {1, 2;
        __kernel void k(__global int *p) { p[0] = broken(1) + table[0]; struct pair q; }";
    let failure = compile("t.cl", source, &Options::default()).expect_err("it is wrong");
    assert!(failure.diags.iter().all(|d| d.code == Code::Syntax), "{}", failure.rendered);
    let source = "int helper(int a) { return a + ; }
        struct pair { int a b; };
        __kernel void k(__global int *p) { p[0] = helper(1) + helper(2); struct pair q; q.a = 1; }";
    let failure = compile("t.cl", source, &Options::default()).expect_err("it is wrong");
    assert_eq!(failure.diags.len(), 2, "{}", failure.rendered);
}

#[test]
fn assembly_says_what_does_not_fit() {
    let error = |body: &str| {
        let source =
            format!("__kernel void k(__global int *p) {{ int x = 1; float f = 1; {body} }}");
        let failure = compile("t.cl", &source, &Options::default()).expect_err("it is wrong");
        failure.diags[0].message.clone()
    };
    assert!(error("asm(\"add.s32 %0, %1, 1;\" : \"=r\"(x));").contains("no operand %1"));
    assert!(
        error("asm(\"mov.b32 %0, 1;\" : \"=f\"(x));").contains("does not fit the constraint `f`")
    );
    assert!(error("asm(\"mov.b32 %0, 1;\" : \"r\"(x));").contains("must start with"));
    assert!(
        error("asm(\"mov.b32 %0, %1;\" : \"=r\"(x) : \"n\"(x));").contains("must be a constant")
    );
    assert!(error("asm(\"mov.b32 %0, 1;\" : \"=q\"(x));").contains("unknown constraint"));
}
