//! Performance results printed in NVIDIA's guides and in lecture slides, against the simulation of
//! the same kernels' PTX. The printed figures are read from the fact file; where that is missing,
//! the tests are ignored, and fail in CI.

mod common;

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_timing::report::Report;
use ptx_timing::{Catalog, Config, Options, Profile, simulate};

fn device(name: &str) -> Profile {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());
    CATALOG.get(name).unwrap_or_else(|e| panic!("{e}"))
}

/// Figure `key` of result `id` in `headline.toml`.
fn printed(id: &str, key: &str) -> f64 {
    let text = std::fs::read_to_string(common::facts().join("headline.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let results = table["result"].as_array().unwrap();
    let result = results.iter().find(|r| r["id"].as_str() == Some(id)).expect(id);
    let value = &result[key];
    value.as_float().or(value.as_integer().map(|i| i as f64)).expect(key)
}

/// Simulates `entry` of `text` with buffers of so many bytes, then 32-bit numbers.
fn run(
    profile: &Profile,
    text: &str,
    entry: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    buffers: &[u64],
    numbers: &[u32],
    config: Config,
) -> Report {
    let (module, diags) = ptx_parse::parse_and_verify(text, entry);
    let module = module.unwrap_or_else(|| panic!("{diags:?}"));
    let index = ptx_parse::lower::entry_index(&module, entry).expect(entry);
    let kernel = Kernel::decode(Arc::new(ptx_parse::lower::lower(&module, index).unwrap()));
    let memory = Memory::new(2 << 30).unwrap();
    let mut params = LaunchParams { grid, block, threads: 1, ..Default::default() };
    for bytes in buffers {
        let at = memory.alloc(*bytes, 256, "buffer", Access::ReadWrite).unwrap();
        let pointer = module.info.address_bits as usize / 8;
        params.params.extend(&at.to_le_bytes()[..pointer]);
    }
    for n in numbers {
        params.params.extend(n.to_le_bytes());
    }
    let options = Options { config, ..Default::default() };
    let result = simulate(profile, &kernel, &memory, &params, &options);
    result.unwrap_or_else(|e| panic!("{}, {entry}: {e}", profile.name)).0
}

const HEAD: &str = ".version 6.0\n.target sm_70\n.address_size 64\n";

/// `out[i * stride + offset] = in[the same]` by words of `bytes` bytes; GB/s, read and write. Devices
/// of 1.x have 32-bit addresses.
fn copy_gbps(p: &Profile, bytes: u32, offset: u32, stride: u32) -> f64 {
    let (ty, list) = match bytes {
        4 => ("f32", "%v0"),
        8 => ("v2.f32", "{%v0, %v1}"),
        _ => ("v4.f32", "{%v0, %v1, %v2, %v3}"),
    };
    let (head, bits) = match p.device.compute_capability.major {
        1 => (".version 3.0\n.target sm_11\n.address_size 32\n", 32),
        _ => (HEAD, 64),
    };
    // As nvcc does for 1.x, whose multiplier has 24 bits.
    let mad = if bits == 64 { "mad.lo.u32" } else { "mad24.lo.u32" };
    let scale = if bits == 64 { "mul.wide.u32" } else { "mul24.lo.u32" };
    let text = format!(
        "{head}.visible .entry copy(.param .u{bits} pin, .param .u{bits} pout, .param .u32 po, .param .u32 ps)
{{
	.reg .b32 %i, %t<3>, %o, %s;
	.reg .b{bits} %in, %out, %a;
	.reg .f32 %v<4>;
	ld.param.u{bits} %in, [pin];
	ld.param.u{bits} %out, [pout];
	ld.param.u32 %o, [po];
	ld.param.u32 %s, [ps];
	mov.u32 %t0, %ctaid.x;
	mov.u32 %t1, %ntid.x;
	mov.u32 %t2, %tid.x;
	{mad} %i, %t0, %t1, %t2;
	{mad} %i, %i, %s, %o;
	{scale} %a, %i, {bytes};
	add.u{bits} %in, %in, %a;
	add.u{bits} %out, %out, %a;
	ld.global.{ty} {list}, [%in];
	st.global.{ty} [%out], {list};
	ret;
}}
"
    );
    // Waves enough that their first does not count; with 1.x's small differences more of them.
    let blocks = p.device.multiprocessors * if bits == 32 { 100 } else { 50 };
    let words = u64::from(blocks * 256) * u64::from(stride) + u64::from(offset);
    let size = words * u64::from(bytes);
    let shape = ([blocks, 1, 1], [256, 1, 1]);
    let report = run(p, &text, "copy", shape, &[size, size], &[offset, stride], Config::default());
    let useful = f64::from(blocks * 256) * f64::from(bytes) * 2.0;
    useful / (report.summary.cycles as f64 / p.clock.sm_mhz * 1e3)
}

/// CUDA C Best Practices Guide, effects of misaligned accesses.
fn m2090_offset_copy() {
    let gbps = printed("m2090-offsetCopy", "offset_multiple_of_32_gbps");
    let fraction = printed("m2090-offsetCopy", "other_offsets_fraction");
    let p = device("M2090");
    let aligned = copy_gbps(&p, 4, 0, 1);
    println!("M2090 offsetCopy, offset 0: {aligned:.1} GB/s, printed {gbps}");
    assert!((aligned / gbps - 1.0).abs() < 0.1, "{aligned}");
    assert!((copy_gbps(&p, 4, 32, 1) / aligned - 1.0).abs() < 0.03);
    for offset in [1, 7, 8, 13, 16, 31] {
        let share = copy_gbps(&p, 4, offset, 1) / aligned;
        println!("M2090 offsetCopy, offset {offset}: {share:.2} of that, printed {fraction}");
        assert!((share - fraction).abs() <= 0.07, "offset {offset}: {share}");
    }
}

/// The same guide, strided accesses: half at stride 2, falling further with the stride.
fn m2090_stride_copy() {
    let half = printed("m2090-strideCopy", "stride2_efficiency");
    let p = device("M2090");
    let one = copy_gbps(&p, 4, 0, 1);
    let mut last = one;
    for stride in [2, 3, 4, 6, 8, 16, 32] {
        let gbps = copy_gbps(&p, 4, 0, stride);
        println!("M2090 strideCopy, stride {stride}: {:.2} of stride 1", gbps / one);
        if stride == 2 {
            assert!((gbps / one - half).abs() <= 0.1, "{}", gbps / one);
        }
        assert!(gbps <= last * 1.001, "stride {stride}: {gbps} after {last}");
        last = gbps;
    }
}

/// OpenCL Programming Guide 2.3, 3.1.2.1: "an order of magnitude", "four times", "twice".
fn uncoalesced_on_1x() {
    let p = device("8800 GTX");
    let mut coalesced = Vec::new();
    for (bytes, about, range) in [(4, 10, 6.0..=14.0), (8, 4, 2.8..=5.5), (16, 2, 1.4..=2.8)] {
        let together = copy_gbps(&p, bytes, 0, 1);
        let ratio = together / copy_gbps(&p, bytes, 0, 16);
        println!(
            "8800 GTX, uncoalesced {bytes}-byte accesses: {ratio:.1} times slower, printed about {about}"
        );
        assert!(range.contains(&ratio), "{bytes} bytes: {ratio}");
        coalesced.push(together);
    }
    // The same section: 8-byte accesses have a little less bandwidth than 4-byte ones, 16-byte noticeably.
    println!("8800 GTX, coalesced 4, 8, 16 bytes: {coalesced:.1?} GB/s");
    assert!(coalesced[1] <= coalesced[0] * 1.01 && coalesced[2] <= coalesced[1] * 1.01);
}

/// Lecture slides 33 to 37 and 56 to 58: memory no longer limits the tiled multiplication.
fn g80_matrix_multiplication() {
    let measured = printed("g80-matmul-naive", "measured_gflops");
    let bound = printed("g80-matmul-naive", "bound_gflops");
    let p = device("8800 GTX");
    let gflops = |entry| {
        let config = Config { max_blocks: Some(48), ..Default::default() };
        let text = include_str!("../examples/kernels.ptx");
        let shape = ([64, 64, 1], [16, 16, 1]);
        run(&p, text, entry, shape, &[4 << 20; 3], &[1024], config).summary.f32_gflops
    };
    let (naive, tiled) = std::thread::scope(|scope| {
        let naive = scope.spawn(|| gflops("matmul_naive"));
        let tiled = gflops("matmul_tiled");
        (naive.join().expect("it is simulated"), tiled)
    });
    println!("G80 naive matmul 1024: {naive:.1} GFLOP/s, printed {measured}, bound {bound}");
    println!("G80 tiled matmul 1024: {tiled:.1} GFLOP/s, {:.1} times naive", tiled / naive);
    assert!((naive / measured - 1.0).abs() <= 0.15 && naive < bound, "{naive}");
    assert!(tiled >= 5.0 * naive, "{tiled}");
}

/// C = A (m x 32) * B (32 x n) by blocks of 32 x 32 threads, the loop unrolled as nvcc does; which of
/// A and B go through shared memory.
fn outer_product(shared_a: bool, shared_b: bool) -> String {
    let mut text = format!(
        "{HEAD}.visible .entry outer(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{{
	.reg .b32 %n, %x, %y, %col, %row, %i, %t<4>, %sa, %sb, %at;
	.reg .b64 %a, %b, %c, %o, %line;
	.reg .f32 %va<32>, %vb<32>, %sum, %t;
	.shared .align 16 .b8 as[4096];
	.shared .align 16 .b8 bs[4096];
	ld.param.u64 %a, [pa];
	ld.param.u64 %b, [pb];
	ld.param.u64 %c, [pc];
	ld.param.u32 %n, [pn];
	mov.u32 %t0, %ctaid.x;
	mov.u32 %x, %tid.x;
	mov.u32 %t2, %ctaid.y;
	mov.u32 %y, %tid.y;
	shl.b32 %t0, %t0, 5;
	shl.b32 %t2, %t2, 5;
	add.u32 %col, %t0, %x;
	add.u32 %row, %t2, %y;
	mul.wide.u32 %o, %row, 128;
	add.u64 %a, %a, %o;
	mul.wide.u32 %o, %col, 4;
	add.u64 %b, %b, %o;
	mul.wide.u32 %line, %n, 4;
	mad.lo.u32 %i, %row, %n, %col;
	mul.wide.u32 %o, %i, 4;
	add.u64 %c, %c, %o;
	mov.f32 %sum, 0f00000000;
"
    );
    let mut line = |s: &str| writeln!(text, "\t{s}").unwrap();
    if shared_a {
        for s in [
            "mul.wide.u32 %o, %x, 4;",
            "add.u64 %a, %a, %o;",
            "ld.global.f32 %t, [%a];",
            "shl.b32 %t1, %y, 7;",
            "mov.u32 %sa, as;",
            "add.u32 %sa, %sa, %t1;",
            "shl.b32 %t3, %x, 2;",
            "add.u32 %at, %sa, %t3;",
            "st.shared.f32 [%at], %t;",
        ] {
            line(s);
        }
    }
    if shared_b {
        for s in [
            "mul.wide.u32 %o, %y, 4;",
            "mad.lo.u32 %i, %y, %n, %col;",
            "mul.wide.u32 %o, %i, 4;",
            "ld.param.u64 %b, [pb];",
            "add.u64 %b, %b, %o;",
            "ld.global.f32 %t, [%b];",
            "mov.u32 %sb, bs;",
            "add.u32 %sb, %sb, %t3;",
            "add.u32 %at, %sb, %t1;",
            "st.shared.f32 [%at], %t;",
            "bar.sync 0;",
        ] {
            line(s);
        }
    }
    for k in 0..32 {
        if shared_a {
            line(&format!("ld.shared.f32 %va{k}, [%sa+{}];", 4 * k));
        } else {
            line(&format!("ld.global.f32 %va{k}, [%a+{}];", 4 * k));
        }
        if shared_b {
            line(&format!("ld.shared.f32 %vb{k}, [%sb+{}];", 128 * k));
        } else {
            line(&format!("ld.global.f32 %vb{k}, [%b];"));
            line("add.u64 %b, %b, %line;");
        }
        line(&format!("fma.rn.f32 %sum, %va{k}, %vb{k}, %sum;"));
    }
    line("st.global.f32 [%c], %sum;");
    line("ret;");
    text.push_str("}\n");
    text
}

/// CUDA C Best Practices Guide, shared memory in matrix multiplication, on a K20X.
fn k20x_shared_memory_steps() {
    let simple = printed("k20x-simpleMultiply", "effective_gbps");
    let p = device("K20X");
    let cycles = |a, b| {
        let config = Config { max_blocks: Some(14 * 8), ..Default::default() };
        let shape = ([32, 32, 1], [32, 32, 1]);
        let sizes = [128 << 10, 128 << 10, 4 << 20];
        let report = run(&p, &outer_product(a, b), "outer", shape, &sizes, &[1024], config);
        println!("  {} cycles: {}", report.summary.cycles, report.limiter.sentence);
        report.summary.cycles as f64
    };
    let base = cycles(false, false);
    for (id, b) in [("k20x-coalescedMultiply", false), ("k20x-sharedABMultiply", true)] {
        let printed = printed(id, "effective_gbps") / simple;
        let ratio = base / cycles(true, b);
        println!("{id}: {ratio:.2} times simpleMultiply, printed {printed:.2}");
        assert!((ratio / printed - 1.0).abs() <= 0.15, "{id}: {ratio}, printed {printed}");
    }
}

golden::tests! {
    m2090_offset_copy: shared("facts"),
    m2090_stride_copy: shared("facts"),
    uncoalesced_on_1x,
    g80_matrix_multiplication: shared("facts"),
    k20x_shared_memory_steps: shared("facts"),
}
