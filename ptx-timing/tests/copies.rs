//! Bytes that instructions beside loads and stores move: copies, matrix loads, textures, printing.

use std::sync::Arc;

use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_isa::texture::{Channel, Texture};
use ptx_timing::report::{MemorySpace, Report};
use ptx_timing::{Catalog, Options, simulate};

/// Times a kernel of one block on an H200; `p` is a buffer of 64 KiB.
fn report(target: &str, block: u32, declarations: &str, body: &str) -> Report {
    let text = format!(
        ".version 8.4\n.target {target}\n.address_size 64\n{declarations}
         .visible .entry k(.param .u64 p) {{
           .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .pred %p<2>;
           .shared .align 1024 .b8 s[8192];
           ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16;
           add.u64 %rd3, %rd1, %rd2; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;
           {body}
         }}"
    );
    let (module, diags) = ptx_parse::parse_and_verify(&text, "copies.ptx");
    assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
    let module = module.unwrap();
    let entry = ptx_parse::lower::entry_index(&module, "k").unwrap();
    let program = ptx_parse::lower::lower(&module, entry).unwrap_or_else(|r| panic!("{r}"));
    let kernel = Kernel::decode(Arc::new(program));
    let memory = Memory::new(1 << 24).unwrap();
    let at = memory.alloc(1 << 16, 256, "p", Access::ReadWrite).unwrap();
    let texture = Arc::new(Texture::array(&[64], Channel::F32, 1, &[0; 256]));
    let params = LaunchParams {
        block: [block, 1, 1],
        params: at.to_le_bytes().to_vec(),
        symbols: vec![5; 4],
        textures: Arc::new([(5, texture)].into()),
        output: Some(Arc::new(std::sync::Mutex::new(Vec::new()))),
        ..LaunchParams::default()
    };
    let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
    simulate(&h200, &kernel, &memory, &params, &Options::default()).unwrap().0
}

/// Space, requests, bytes used, bytes moved and steps in shared memory of the line with `text`.
fn line(report: &Report, text: &str) -> (MemorySpace, u64, u64, u64, u64) {
    let line = report.lines.iter().find(|l| l.text.contains(text)).unwrap();
    let m = line.memory.as_ref().unwrap_or_else(|| panic!("{text} accesses no memory"));
    assert_eq!(line.issues, report.launch_warps(), "{text}");
    (m.space, m.requests, m.bytes_used, m.bytes_moved, m.wavefronts)
}

trait Warps {
    fn launch_warps(&self) -> u64;
}

impl Warps for Report {
    fn launch_warps(&self) -> u64 {
        let threads: u32 = self.launch.block.iter().product();
        u64::from(threads.div_ceil(32))
    }
}

#[test]
fn an_asynchronous_copy_moves_what_a_load_and_a_store_move() {
    let use_it = "bar.sync 0; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd3], %r5; ret;";
    let plain = report(
        "sm_90",
        32,
        "",
        &format!(
            "ld.global.v4.u32 {{%r5,%r6,%r7,%r8}}, [%rd3]; st.shared.v4.u32 [%r4], {{%r5,%r6,%r7,%r8}}; {use_it}"
        ),
    );
    let copy = report(
        "sm_90",
        32,
        "",
        &format!("cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.wait_all; {use_it}"),
    );
    let (load, store) = (line(&plain, "ld.global.v4"), line(&plain, "st.shared.v4"));
    let both = line(&copy, "cp.async.cg");
    assert_eq!((load.1, load.2, load.3), (1, 512, 512));
    assert_eq!((both.0, both.1, both.2, both.3), (MemorySpace::Global, load.1, load.2, load.3));
    assert_eq!(both.4, store.4);
    assert_eq!(copy.memory.dram_read, plain.memory.dram_read);
    // The wait holds the copy's latency; without the register between them it is a bit shorter.
    let (a, b) = (plain.summary.cycles as f64, copy.summary.cycles as f64);
    assert!((0.8..=1.0).contains(&(b / a)), "{b} cycles for {a}");
}

#[test]
fn groups_of_copies_are_waited_for_apart() {
    let body = |wait: u32| {
        format!(
            "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.commit_group;
             cp.async.wait_group {wait}; ret;"
        )
    };
    let (none, one) = (report("sm_90", 32, "", &body(0)), report("sm_90", 32, "", &body(1)));
    assert!(none.summary.cycles > one.summary.cycles + 300);
}

#[test]
fn a_bulk_copy_moves_its_bytes_once() {
    let copy = report(
        "sm_90",
        1,
        "",
        ".shared .align 8 .b64 bar; mov.u32 %r5, bar; mbarrier.init.shared.b64 [bar], 1;
         mbarrier.arrive.expect_tx.shared.b64 %rd4, [bar], 4096;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 4096, [%r5];
         cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 2048; ret;",
    );
    let (space, _, used, moved, steps) = line(&copy, "complete_tx::bytes [%r2]");
    assert_eq!((space, used, moved), (MemorySpace::Global, 4096, 4096));
    // 128 bytes a step, and the mbarrier.
    assert_eq!(steps, 4096 / 128 + 1);
    let (space, _, used, moved, _) = line(&copy, "bulk_group");
    assert_eq!((space, used, moved), (MemorySpace::Global, 2048, 2048));
}

#[test]
fn matrix_loads_take_steps_in_shared_memory() {
    let body = |stride: &str| {
        format!(
            "and.b32 %r5, %r1, 31; mul.lo.u32 %r5, %r5, {stride}; add.u32 %r5, %r2, %r5;
             ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r6,%r7,%r8,%r9}}, [%r5]; ret;"
        )
    };
    let good = report("sm_90", 32, "", &body("16"));
    let (space, requests, used, _, steps) = line(&good, "ldmatrix");
    assert_eq!((space, requests, used, steps), (MemorySpace::Shared, 1, 512, 4));
    // Rows 128 bytes apart lie in the same banks.
    let bad = report("sm_90", 32, "", &body("128"));
    assert_eq!(line(&bad, "ldmatrix").4, 32);
}

#[test]
fn textures_go_through_their_cache() {
    let fetch = report(
        "sm_90",
        32,
        ".global .texref t;",
        "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1}]; ret;",
    );
    let (space, requests, used, moved, _) = line(&fetch, "tex.1d");
    assert_eq!((space, requests, used, moved), (MemorySpace::Texture, 1, 128, 128));
}

#[test]
fn printing_reads_arguments_and_writes_a_buffer() {
    let print = report(
        "sm_90",
        32,
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);",
        ".local .align 8 .b8 a[8]; .local .align 1 .b8 f[8];
         st.local.u8 [f], 105; st.local.u8 [f+1], 61; st.local.u8 [f+2], 37;
         st.local.u8 [f+3], 100; st.local.u8 [f+4], 0; st.local.u32 [a], 7;
         mov.u64 %rd4, f; cvta.local.u64 %rd4, %rd4; mov.u64 %rd5, a; cvta.local.u64 %rd5, %rd5;
         { .param .b64 x; .param .b64 y; .param .b32 r; st.param.b64 [x], %rd4;
           st.param.b64 [y], %rd5; call.uni (r), vprintf, (x, y); } ret;",
    );
    // Each lane reads 4 bytes and writes `i=7`; the format is the host's to read.
    assert_eq!(line(&print, "vprintf").2, 32 * (4 + 3));
}

/// The words of a lane's local memory lie a line apart: four of each lane are four lines, whatever the instruction.
#[test]
fn vectors_in_local_memory_are_lines() {
    let moved = |store: &str| {
        let body = format!(
            ".local .align 16 .b8 l[4096]; mov.u64 %rd4, l; and.b32 %r5, %r1, 3; ld.global.u32 %r6, [%rd3];
             shl.b32 %r7, %r6, 4; and.b32 %r7, %r7, 2032; cvt.u64.u32 %rd5, %r7; add.u64 %rd4, %rd4, %rd5;
             {store} ld.local.u32 %r8, [%rd4+4]; st.global.u32 [%rd3], %r8; ret;"
        );
        let report = report("sm_90", 32, "", &body);
        let (space, _, used, moved, _) = line(&report, "st.local");
        assert_eq!(space, MemorySpace::Local);
        (used, moved)
    };
    assert_eq!(moved("st.local.u32 [%rd4], %r1;"), (128, 128));
    assert_eq!(moved("st.local.v2.u32 [%rd4], {%r1, %r2};"), (256, 256));
    assert_eq!(moved("st.local.v4.u32 [%rd4], {%r1, %r2, %r3, %r4};"), (512, 512));
}
