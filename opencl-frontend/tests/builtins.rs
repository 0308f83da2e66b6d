//! Every built-in function of OpenCL C 1.2 (6.12) and its extensions, for every type and width: it compiles, and
//! the PTX verifies. `PTXRUN_KEEP=FOLDER` leaves the programs there, for `cargo xtask opencl ptxas --folder FOLDER`.

use opencl_frontend::{Options, compile};
use ptx_runtime::Verified;

const FLOATS: &[&str] = &["half", "float", "double"];
const INTS: &[&str] = &["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"];
const WIDTHS: &[u32] = &[1, 2, 3, 4, 8, 16];

fn vector(scalar: &str, n: u32) -> String {
    if n == 1 { scalar.into() } else { format!("{scalar}{n}") }
}

fn size(scalar: &str) -> u32 {
    match scalar.trim_start_matches('u') {
        "char" => 1,
        "short" | "half" => 2,
        "int" | "float" => 4,
        _ => 8,
    }
}

fn signed(scalar: &str) -> &'static str {
    ["char", "short", "int", "long"][size(scalar).trailing_zeros() as usize]
}

fn unsigned(scalar: &str) -> &'static str {
    ["uchar", "ushort", "uint", "ulong"][size(scalar).trailing_zeros() as usize]
}

/// The type that a letter of a signature stands for: `g` the type itself, `s` its component, `i` int of the same
/// width, `j` scalar int, `k` what a comparison gives, `U` and `S` the integer of the same size, `v` void.
fn letter(c: char, scalar: &str, n: u32) -> String {
    match c {
        'g' => vector(scalar, n),
        's' => scalar.into(),
        'i' => vector("int", n),
        'j' => "int".into(),
        'k' if n == 1 => "int".into(),
        'k' | 'S' => vector(signed(scalar), n),
        'U' => vector(unsigned(scalar), n),
        other => panic!("signature letter {other}"),
    }
}

/// A kernel that calls `name`. Capital `P`, `G`, `L` before a letter: a pointer to it, private, global or local.
fn kernel(name: &str, signature: &str, scalar: &str, n: u32, number: usize) -> String {
    let (result, params) = signature.split_once(':').expect("a signature");
    let (mut list, mut args, mut locals) = (String::new(), Vec::new(), String::new());
    let mut letters = params.chars();
    let mut i = 0;
    while let Some(c) = letters.next() {
        match c {
            'P' => {
                let ty = letter(letters.next().unwrap_or('g'), scalar, n);
                locals += &format!("{ty} l{i}; ");
                args.push(format!("&l{i}"));
            }
            'G' | 'L' => {
                let ty = letter(letters.next().unwrap_or('g'), scalar, n);
                let space = if c == 'G' { "__global" } else { "__local" };
                list += &format!(", {space} {ty} *p{i}");
                args.push(format!("p{i}"));
            }
            c => {
                list += &format!(", __global const {} *a{i}", letter(c, scalar, n));
                args.push(format!("*a{i}"));
            }
        }
        i += 1;
    }
    let ty = result.chars().next().map_or("int".into(), |c| letter(c, scalar, n));
    format!(
        "__kernel void k{number}(__global {ty} *out{list}) {{ {locals}*out = {name}({}); }}\n",
        args.join(", ")
    )
}

fn check(what: &str, source: &str) {
    check_for(what, source, "-arch=sm_75");
}

fn check_for(what: &str, source: &str, flags: &str) {
    let source = format!("#pragma OPENCL EXTENSION all : enable\n{source}");
    if let Ok(folder) = std::env::var("PTXRUN_KEEP") {
        let file = format!("{folder}/{}.cl", what.replace(' ', "_"));
        std::fs::write(file, &source).expect("a folder for the programs");
    }
    match compile("builtin.cl", &source, &Options::parse(flags).expect("options")) {
        Ok(out) => {
            if let Err(error) = Verified::new(&out.ptx, "builtin.ptx") {
                panic!("{what}: {}\n{source}", error.render(false));
            }
        }
        Err(failure) => panic!("{what}: {}", failure.rendered),
    }
}

/// One compilation per name and type, all widths in it.
fn check_all(names: &str, signatures: &[&str], types: &[&str], widths: &[u32]) {
    for name in names.split_whitespace() {
        for ty in types {
            let mut source = String::new();
            let mut number = 0;
            for n in widths {
                for signature in signatures {
                    // Forms with a scalar operand are the plain ones for scalars.
                    let mixed = signature.contains('s')
                        || signature.contains('j') && !signature.starts_with('j');
                    if *n == 1 && signatures.len() > 1 && mixed && *signature != signatures[0] {
                        continue;
                    }
                    source += &kernel(name, signature, ty, *n, number);
                    number += 1;
                }
            }
            check(&format!("{name} for {ty}"), &source);
        }
    }
}

#[test]
fn math_of_one_argument() {
    check_all(
        "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi exp exp2 exp10 expm1 fabs floor \
         log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi trunc",
        &["g:g"],
        FLOATS,
        WIDTHS,
    );
    check_all(
        "half_cos half_exp half_exp2 half_exp10 half_log half_log2 half_log10 half_recip half_rsqrt half_sin half_sqrt \
         half_tan native_cos native_exp native_exp2 native_exp10 native_log native_log2 native_log10 native_recip \
         native_rsqrt native_sin native_sqrt native_tan",
        &["g:g"],
        &["float"],
        WIDTHS,
    );
}

#[test]
fn gamma_and_error_functions() {
    check_all("erfc erf tgamma lgamma", &["g:g"], FLOATS, &[1, 2, 3, 4]);
    check_all("erfc erf tgamma lgamma", &["g:g"], &["float"], &[8, 16]);
}

#[test]
fn math_of_several_arguments() {
    check_all(
        "atan2 atan2pi copysign fdim fmod hypot maxmag minmag nextafter pow powr remainder",
        &["g:gg"],
        FLOATS,
        WIDTHS,
    );
    check_all("fmax fmin", &["g:gg", "g:gs"], FLOATS, WIDTHS);
    check_all("fma mad", &["g:ggg"], FLOATS, WIDTHS);
    check_all("half_divide half_powr native_divide native_powr", &["g:gg"], &["float"], WIDTHS);
    check_all("ldexp", &["g:gi", "g:gj"], FLOATS, WIDTHS);
    check_all("pown rootn", &["g:gi"], FLOATS, WIDTHS);
    check_all("ilogb", &["i:g"], FLOATS, WIDTHS);
    check_all("nan", &["g:U"], FLOATS, WIDTHS);
}

#[test]
fn math_with_pointers() {
    check_all("fract modf sincos", &["g:gPg", "g:gGg", "g:gLg"], FLOATS, WIDTHS);
    check_all("frexp", &["g:gPi", "g:gGi", "g:gLi"], FLOATS, WIDTHS);
    check_all("lgamma_r", &["g:gPi", "g:gGi", "g:gLi"], FLOATS, &[1, 2, 3]);
    check_all("remquo", &["g:ggPi", "g:ggGi", "g:ggLi"], FLOATS, WIDTHS);
}

#[test]
fn integers() {
    check_all("abs", &["U:g"], INTS, WIDTHS);
    check_all("abs_diff", &["U:gg"], INTS, WIDTHS);
    check_all("clz popcount", &["g:g"], INTS, WIDTHS);
    check_all("add_sat sub_sat hadd rhadd mul_hi rotate", &["g:gg"], INTS, WIDTHS);
    check_all("mad_hi mad_sat", &["g:ggg"], INTS, WIDTHS);
    check_all("max min", &["g:gg", "g:gs"], INTS, WIDTHS);
    check_all("clamp", &["g:ggg", "g:gss"], INTS, WIDTHS);
    check_all("mul24", &["g:gg"], &["int", "uint"], WIDTHS);
    check_all("mad24", &["g:ggg"], &["int", "uint"], WIDTHS);
    let mut source = String::new();
    for (i, (to, high, low)) in [
        ("short", "char", "uchar"),
        ("ushort", "uchar", "uchar"),
        ("int", "short", "ushort"),
        ("uint", "ushort", "ushort"),
        ("long", "int", "uint"),
        ("ulong", "uint", "uint"),
    ]
    .iter()
    .enumerate()
    {
        for n in WIDTHS {
            let (to, high, low) = (vector(to, *n), vector(high, *n), vector(low, *n));
            source += &format!(
                "__kernel void k{i}_{n}(__global {to} *o, __global {high} *a, __global {low} *b) {{ *o = upsample(*a, *b); }}\n"
            );
        }
    }
    check("upsample", &source);
}

#[test]
fn common_and_geometric() {
    check_all("degrees radians sign", &["g:g"], FLOATS, WIDTHS);
    check_all("max min", &["g:gg", "g:gs"], FLOATS, WIDTHS);
    check_all("clamp", &["g:ggg", "g:gss"], FLOATS, WIDTHS);
    check_all("mix", &["g:ggg", "g:ggs"], FLOATS, WIDTHS);
    check_all("step", &["g:gg", "g:sg"], FLOATS, WIDTHS);
    check_all("smoothstep", &["g:ggg", "g:ssg"], FLOATS, WIDTHS);
    check_all("dot distance", &["s:gg"], FLOATS, &[1, 2, 3, 4]);
    check_all("length", &["s:g"], FLOATS, &[1, 2, 3, 4]);
    check_all("normalize", &["g:g"], FLOATS, &[1, 2, 3, 4]);
    check_all("cross", &["g:gg"], FLOATS, &[3, 4]);
    check_all("fast_distance", &["s:gg"], &["float"], &[1, 2, 3, 4]);
    check_all("fast_length", &["s:g"], &["float"], &[1, 2, 3, 4]);
    check_all("fast_normalize", &["g:g"], &["float"], &[1, 2, 3, 4]);
}

#[test]
fn relations() {
    check_all(
        "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered",
        &["k:gg"],
        FLOATS,
        WIDTHS,
    );
    check_all("isfinite isinf isnan isnormal signbit", &["k:g"], FLOATS, WIDTHS);
    check_all("any all", &["j:g"], &["char", "short", "int", "long"], WIDTHS);
    let all: Vec<&str> = INTS.iter().chain(FLOATS).copied().collect();
    check_all("bitselect", &["g:ggg"], &all, WIDTHS);
    check_all("select", &["g:ggS"], &all, WIDTHS);
    check_all("select", &["g:ggU"], &all, WIDTHS);
}

#[test]
fn conversions_and_reinterpretation() {
    let all: Vec<&str> = INTS.iter().chain(FLOATS).copied().collect();
    for to in &all {
        let mut source = String::new();
        let mut number = 0;
        for from in &all {
            for n in WIDTHS {
                for rounding in ["", "_rte", "_rtz", "_rtp", "_rtn"] {
                    for saturation in ["", "_sat"] {
                        if saturation == "_sat" && FLOATS.contains(to)
                            || *n > 3 && rounding != "_rtp"
                        {
                            continue;
                        }
                        let (t, f) = (vector(to, *n), vector(from, *n));
                        source += &format!(
                            "__kernel void k{number}(__global {t} *o, __global {f} *a) {{ *o = convert_{t}{saturation}{rounding}(*a); }}\n"
                        );
                        number += 1;
                    }
                }
                // Every type of the same size.
                for m in WIDTHS {
                    let bytes = |s: &str, n: u32| size(s) * if n == 3 { 4 } else { n };
                    if bytes(to, *n) == bytes(from, *m) {
                        let (t, f) = (vector(to, *n), vector(from, *m));
                        source += &format!(
                            "__kernel void k{number}(__global {t} *o, __global {f} *a) {{ *o = as_{t}(*a); }}\n"
                        );
                        number += 1;
                    }
                }
            }
        }
        check(&format!("conversions to {to}"), &source);
    }
}

#[test]
fn vector_loads_and_stores() {
    let all: Vec<&str> = INTS.iter().chain(FLOATS).copied().collect();
    let mut source = String::new();
    let mut number = 0;
    let mut add = |params: &str, body: &str| {
        source += &format!("__kernel void k{number}({params}, size_t i) {{ {body} }}\n");
        number += 1;
    };
    for ty in &all {
        for n in &WIDTHS[1..] {
            let v = vector(ty, *n);
            for space in ["__global", "__local", "__constant"] {
                add(&format!("__global {v} *o, {space} {ty} *p"), &format!("*o = vload{n}(i, p);"));
            }
            add(
                &format!("__global {v} *o"),
                &format!(
                    "{ty} p[32]; for (int k = 0; k < 32; k++) p[k] = ({ty})k; *o = vload{n}(i & 1, p);"
                ),
            );
            for space in ["__global", "__local"] {
                add(&format!("__global {v} *o, {space} {ty} *p"), &format!("vstore{n}(*o, i, p);"));
            }
        }
    }
    for n in WIDTHS {
        let suffix = if *n == 1 { String::new() } else { n.to_string() };
        for aligned in ["", "a"] {
            if *n == 1 && aligned == "a" {
                continue;
            }
            for space in ["__global", "__local", "__constant"] {
                let f = vector("float", *n);
                add(
                    &format!("__global {f} *o, {space} half *p"),
                    &format!("*o = vload{aligned}_half{suffix}(i, p);"),
                );
            }
            for rounding in ["", "_rte", "_rtz", "_rtp", "_rtn"] {
                for ty in ["float", "double"] {
                    for space in ["__global", "__local"] {
                        let f = vector(ty, *n);
                        add(
                            &format!("__global {f} *o, {space} half *p"),
                            &format!("vstore{aligned}_half{suffix}{rounding}(*o, i, p);"),
                        );
                    }
                }
            }
        }
    }
    check("vload and vstore", &source);
}

#[test]
fn shuffles() {
    let all: Vec<&str> = INTS.iter().chain(FLOATS).copied().collect();
    for ty in all {
        let mut source = String::new();
        for n in [2, 4, 8, 16] {
            for m in [2, 4, 8, 16] {
                let (to, from, mask) = (vector(ty, n), vector(ty, m), vector(unsigned(ty), n));
                source += &format!(
                    "__kernel void a{n}_{m}(__global {to} *o, __global {from} *x, __global {mask} *m) {{ *o = shuffle(*x, *m); }}\n\
                     __kernel void b{n}_{m}(__global {to} *o, __global {from} *x, __global {mask} *m) {{ *o = shuffle2(*x, x[1], *m); }}\n"
                );
            }
        }
        check(&format!("shuffle of {ty}"), &source);
    }
}

#[test]
fn atomics_and_copies() {
    let mut source = String::new();
    let mut number = 0;
    for (prefix, types) in
        [("atomic_", &["int", "uint"][..]), ("atom_", &["int", "uint", "long", "ulong"][..])]
    {
        for ty in types {
            for space in ["__global", "__local"] {
                for (op, args) in [
                    ("add", ", v"),
                    ("sub", ", v"),
                    ("xchg", ", v"),
                    ("inc", ""),
                    ("dec", ""),
                    ("cmpxchg", ", v, w"),
                    ("min", ", v"),
                    ("max", ", v"),
                    ("and", ", v"),
                    ("or", ", v"),
                    ("xor", ", v"),
                ] {
                    source += &format!(
                        "__kernel void k{number}(volatile {space} {ty} *p, {ty} v, {ty} w, __global {ty} *o) {{ *o = {prefix}{op}(p{args}); {prefix}{op}(p{args}); }}\n"
                    );
                    number += 1;
                }
            }
        }
    }
    source += "__kernel void x(volatile __global float *p, __local float *q, float v, __global float *o) { *o = atomic_xchg(p, v) + atomic_xchg(q, v); }\n";
    check("atomics", &source);
    let all: Vec<&str> = INTS.iter().chain(FLOATS).copied().collect();
    let mut source = String::new();
    for ty in all {
        for n in WIDTHS {
            let v = vector(ty, *n);
            source += &format!(
                "__kernel void k_{v}(__global {v} *g, __local {v} *l, size_t n, size_t s) {{\n\
                 event_t e = async_work_group_copy(l, (const __global {v} *)g, n, 0);\n\
                 e = async_work_group_strided_copy(l, (const __global {v} *)g, n, s, e);\n\
                 wait_group_events(1, &e);\n\
                 e = async_work_group_copy(g, (const __local {v} *)l, n, 0);\n\
                 e = async_work_group_strided_copy(g, (const __local {v} *)l, n, s, e);\n\
                 prefetch((const __global {v} *)g, n); wait_group_events(1, &e); }}\n"
            );
        }
    }
    check("copies", &source);
}

#[test]
fn work_items_and_fences() {
    check(
        "work items",
        "__kernel void k(__global size_t *o, uint d) {\n\
         o[0] = get_global_id(0) + get_global_id(d) + get_local_id(1) + get_local_id(d) + get_group_id(2) + get_group_id(d);\n\
         o[1] = get_global_size(d) + get_local_size(d) + get_num_groups(d) + get_global_offset(d) + get_work_dim()\n\
             + get_enqueued_local_size(d) + get_local_linear_id() + get_global_linear_id();\n\
         barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); mem_fence(CLK_LOCAL_MEM_FENCE);\n\
         read_mem_fence(CLK_GLOBAL_MEM_FENCE); write_mem_fence(CLK_GLOBAL_MEM_FENCE); }",
    );
}

#[test]
fn images() {
    let kinds = [
        ("image1d_t", 1, "int", "float"),
        ("image1d_array_t", 2, "int2", "float2"),
        ("image2d_t", 2, "int2", "float2"),
        ("image2d_array_t", 4, "int4", "float4"),
        ("image3d_t", 4, "int4", "float4"),
    ];
    for (image, _, int, float) in kinds {
        let mut source = String::new();
        for (suffix, v) in [("f", "float4"), ("i", "int4"), ("ui", "uint4"), ("h", "half4")] {
            source += &format!(
                "__kernel void r{suffix}(__read_only {image} i, sampler_t s, __global {v} *o, {int} c, {float} d) {{\n\
                 const sampler_t t = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_LINEAR;\n\
                 o[0] = read_image{suffix}(i, s, c); o[1] = read_image{suffix}(i, s, d); o[2] = read_image{suffix}(i, c);\n\
                 o[3] = read_image{suffix}(i, t, d); }}\n\
                 __kernel void w{suffix}(__write_only {image} i, __global {v} *o, {int} c) {{ write_image{suffix}(i, c, *o); }}\n"
            );
        }
        let more = match image {
            "image2d_t" => "n += get_image_height(i); int2 d = get_image_dim(i); n += d.x;",
            "image2d_array_t" => {
                "n += get_image_height(i); int2 d = get_image_dim(i); n += d.x + (int)get_image_array_size(i);"
            }
            "image1d_array_t" => "n += (int)get_image_array_size(i);",
            "image3d_t" => {
                "n += get_image_height(i) + get_image_depth(i); int4 d = get_image_dim(i); n += d.z;"
            }
            _ => "",
        };
        for access in ["__read_only", "__write_only"] {
            source += &format!(
                "__kernel void q{access}({access} {image} i, __global int *o) {{ int n = get_image_width(i) + get_image_channel_data_type(i) + get_image_channel_order(i); {more} *o = n; }}\n"
            );
        }
        check(image, &source);
    }
    let source = "__kernel void k(read_write image2d_t i, __read_write image3d_t j, int2 c) {
        write_imagef(i, c, read_imagef(i, c) + (float)get_image_width(i));
        write_imageui(j, (int4)(c, 0, 0), read_imageui(j, (int4)(c, 1, 0))); }";
    check_for("read_write images", source, "-cl-std=CL3.0 -arch=sm_30");
    let mut source = String::new();
    for (suffix, v) in [("f", "float4"), ("i", "int4"), ("ui", "uint4")] {
        source += &format!(
            "__kernel void r{suffix}(__read_only image1d_buffer_t i, __write_only image1d_buffer_t j, __global {v} *o, int c) {{ o[0] = read_image{suffix}(i, c); write_image{suffix}(j, c, o[1]); }}\n"
        );
    }
    check("image1d_buffer_t", &source);
}

/// Types of sub-group functions.
const SCALARS: &[&str] = &[
    "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double",
];

fn check_3_0(what: &str, body: &str) {
    let source = format!("__kernel void k(__global int *o, __local int *l) {{ {body} }}");
    check_for(what, &source, "-cl-std=CL3.0 -arch=sm_90");
}

/// Calls each function with `arguments`, for each type as `T`.
fn for_types(names: &str, types: &[&str], arguments: &str) {
    for name in names.split_whitespace() {
        let mut body = String::new();
        for ty in types {
            let arguments = arguments.replace("T", ty);
            body += &format!("{{ {ty} x = ({ty})o[0]; o[1] += (int){name}({arguments}); }}\n");
        }
        check_3_0(name, &body);
    }
}

#[test]
fn sub_groups() {
    for_types(
        "sub_group_broadcast sub_group_non_uniform_broadcast sub_group_shuffle sub_group_shuffle_xor \
         sub_group_shuffle_up sub_group_shuffle_down sub_group_rotate",
        SCALARS,
        "x, 3",
    );
    for_types("sub_group_clustered_rotate", SCALARS, "x, 1, 4u");
    for_types("sub_group_broadcast_first sub_group_non_uniform_all_equal", SCALARS, "x");
    for_types(
        "sub_group_reduce_add sub_group_reduce_max sub_group_reduce_min sub_group_scan_exclusive_add \
         sub_group_scan_exclusive_max sub_group_scan_exclusive_min sub_group_scan_inclusive_add \
         sub_group_scan_inclusive_max sub_group_scan_inclusive_min \
         sub_group_non_uniform_reduce_add sub_group_non_uniform_reduce_mul sub_group_non_uniform_reduce_max \
         sub_group_non_uniform_reduce_min sub_group_non_uniform_scan_exclusive_add \
         sub_group_non_uniform_scan_exclusive_mul sub_group_non_uniform_scan_exclusive_max \
         sub_group_non_uniform_scan_exclusive_min sub_group_non_uniform_scan_inclusive_add \
         sub_group_non_uniform_scan_inclusive_mul sub_group_non_uniform_scan_inclusive_max \
         sub_group_non_uniform_scan_inclusive_min",
        SCALARS,
        "x",
    );
    for_types(
        "sub_group_non_uniform_reduce_and sub_group_non_uniform_reduce_or sub_group_non_uniform_reduce_xor \
         sub_group_non_uniform_scan_exclusive_and sub_group_non_uniform_scan_exclusive_or \
         sub_group_non_uniform_scan_exclusive_xor sub_group_non_uniform_scan_inclusive_and \
         sub_group_non_uniform_scan_inclusive_or sub_group_non_uniform_scan_inclusive_xor",
        INTS,
        "x",
    );
    for_types(
        "sub_group_clustered_reduce_add sub_group_clustered_reduce_mul sub_group_clustered_reduce_min \
         sub_group_clustered_reduce_max",
        SCALARS,
        "x, 8",
    );
    for_types(
        "sub_group_clustered_reduce_and sub_group_clustered_reduce_or sub_group_clustered_reduce_xor",
        INTS,
        "x, 8",
    );
    for_types(
        "sub_group_clustered_reduce_logical_and sub_group_clustered_reduce_logical_or \
         sub_group_clustered_reduce_logical_xor",
        &["int"],
        "x, 8",
    );
    for_types(
        "sub_group_non_uniform_reduce_logical_and sub_group_non_uniform_reduce_logical_or \
         sub_group_non_uniform_reduce_logical_xor sub_group_non_uniform_scan_exclusive_logical_and \
         sub_group_non_uniform_scan_exclusive_logical_or sub_group_non_uniform_scan_exclusive_logical_xor \
         sub_group_non_uniform_scan_inclusive_logical_and sub_group_non_uniform_scan_inclusive_logical_or \
         sub_group_non_uniform_scan_inclusive_logical_xor sub_group_all sub_group_any sub_group_non_uniform_all \
         sub_group_non_uniform_any work_group_all work_group_any",
        &["int"],
        "x",
    );
    check_3_0(
        "ballots",
        "uint4 m = sub_group_ballot(o[0]); o[0] = sub_group_inverse_ballot(m) + sub_group_ballot_bit_extract(m, 3)
         + sub_group_ballot_bit_count(m) + sub_group_ballot_inclusive_scan(m) + sub_group_ballot_exclusive_scan(m)
         + sub_group_ballot_find_lsb(m) + sub_group_ballot_find_msb(m) + sub_group_elect()
         + get_sub_group_eq_mask().x + get_sub_group_ge_mask().x + get_sub_group_gt_mask().x
         + get_sub_group_le_mask().x + get_sub_group_lt_mask().x;
         o[1] = get_sub_group_size() + get_max_sub_group_size() + get_num_sub_groups() + get_sub_group_id()
         + get_enqueued_num_sub_groups() + get_sub_group_local_id();
         sub_group_barrier(CLK_LOCAL_MEM_FENCE); sub_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);",
    );
}

#[test]
fn work_groups() {
    const TYPES: &[&str] = &["int", "uint", "long", "ulong", "half", "float", "double"];
    for_types(
        "work_group_reduce_add work_group_reduce_max work_group_reduce_min work_group_scan_exclusive_add \
         work_group_scan_exclusive_max work_group_scan_exclusive_min work_group_scan_inclusive_add \
         work_group_scan_inclusive_max work_group_scan_inclusive_min",
        TYPES,
        "x",
    );
    for_types("work_group_broadcast", TYPES, "x, 1");
    for_types("work_group_broadcast", TYPES, "x, 1, 0");
    for_types("work_group_broadcast", TYPES, "x, 1, 0, 0");
    check_3_0(
        "work_group_barrier",
        "work_group_barrier(3); work_group_barrier(3, memory_scope_device);",
    );
}

#[test]
fn atomics_with_orders() {
    const INTEGERS: &[&str] = &["int", "uint", "long", "ulong"];
    const ALL: &[&str] = &["int", "uint", "long", "ulong", "float", "double"];
    let pointer = "(volatile __global atomic_T *)o";
    let order = "memory_order_acq_rel, memory_scope_device";
    let fetches = "atomic_fetch_add atomic_fetch_sub atomic_fetch_or atomic_fetch_xor atomic_fetch_and \
                   atomic_fetch_min atomic_fetch_max";
    for_types(fetches, INTEGERS, &format!("{pointer}, x"));
    let explicit = "atomic_fetch_add_explicit atomic_fetch_sub_explicit atomic_fetch_or_explicit \
                    atomic_fetch_xor_explicit atomic_fetch_and_explicit atomic_fetch_min_explicit \
                    atomic_fetch_max_explicit";
    for_types(explicit, INTEGERS, &format!("{pointer}, x, memory_order_release"));
    for_types(explicit, INTEGERS, &format!("{pointer}, x, {order}"));
    for_types("atomic_exchange", ALL, &format!("{pointer}, x"));
    for_types("atomic_exchange_explicit", ALL, &format!("{pointer}, x, {order}"));
    for_types("atomic_load", ALL, pointer);
    for_types("atomic_load_explicit", ALL, &format!("{pointer}, memory_order_acquire"));
    let compares = "atomic_compare_exchange_strong atomic_compare_exchange_weak";
    for_types(compares, ALL, &format!("{pointer}, &x, (T)1"));
    let explicit = "atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak_explicit";
    for_types(explicit, ALL, &format!("{pointer}, &x, (T)1, memory_order_acquire, {order}"));
    for ty in ALL {
        let p = pointer.replace('T', ty);
        check_3_0(
            "atomic_store",
            &format!(
                "{ty} v = 1; atomic_init({p}, v); atomic_store({p}, v); atomic_store_explicit({p}, v, {order});"
            ),
        );
    }
    check_3_0(
        "flags",
        "local atomic_flag shared; atomic_flag f; atomic_flag_clear(&f);
         o[0] = atomic_flag_test_and_set(&shared)
         + atomic_flag_test_and_set_explicit(&f, memory_order_acquire); atomic_flag_clear(&f);
         atomic_flag_clear_explicit(&shared, memory_order_release, memory_scope_work_group);
         atomic_work_item_fence(CLK_LOCAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);",
    );
}

#[test]
fn integer_dot_products() {
    check_3_0(
        "dot products",
        "uint a = o[0], b = o[1]; uchar4 u = as_uchar4(a); char4 s = as_char4(b);
         o[0] = dot(u, u) + dot(s, s) + dot(u, s) + dot(s, u) + dot_acc_sat(u, u, a) + dot_acc_sat(s, u, 1)
         + dot_4x8packed_uu_uint(a, b) + dot_4x8packed_ss_int(a, b) + dot_4x8packed_us_int(a, b)
         + dot_4x8packed_su_int(a, b) + dot_acc_sat_4x8packed_uu_uint(a, b, a) + dot_acc_sat_4x8packed_ss_int(a, b, 1)
         + dot_acc_sat_4x8packed_us_int(a, b, 1) + dot_acc_sat_4x8packed_su_int(a, b, 1);",
    );
    check_all("ctz", &["g:g"], INTS, WIDTHS);
}

/// The names above are all names that the library offers.
#[test]
fn nothing_is_left_out() {
    let here = include_str!("builtins.rs");
    let missing: Vec<&str> = opencl_frontend::builtin_names()
        .filter(|name| !here.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == *name))
        .filter(|name| !name.starts_with("read_image") && !name.starts_with("write_image"))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
