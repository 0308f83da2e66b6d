//! What every kind of bad call returns. The codes are those of a real driver (580.159.04, H200), recorded call by call;
//! `CUDA_LIB=libcuda.so.1 cargo test -p cuda-driver --test bad_calls` asks a driver again. Where this driver means to
//! answer otherwise, the line says so.

mod common;

use common::*;

/// A kernel in clusters of four blocks at most.
const RANKED: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry four() .maxclusterrank 4 { ret; }\n\0";
const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 g[4];
.visible .entry st(.param .u64 p) { .reg .u64 %rd<3>; .reg .u32 %r<3>; ld.param.u64 %rd1, [p]; mov.u32 %r1, 7; st.global.u32 [%rd1], %r1; ret; }
.visible .entry two(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20]) { ret; }
.visible .entry mx() .maxntid 64 { ret; }
.visible .entry rq() .reqntid 64 { ret; }
.visible .entry tr() { trap; }
.visible .entry br() { brkpt; ret; }
.visible .entry un() { .shared .align 8 .b8 s[1000]; .reg .u64 %rd<3>; .reg .u32 %r<3>; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; ld.u32 %r1, [%rd1+2]; st.u32 [%rd1], %r1; ret; }
.func (.param .b32 r) hf(.param .b32 a) { ret; }
\0";

/// Compares codes and keeps what differs, so that one run shows everything.
struct Table(Vec<String>);

impl Table {
    fn row(&mut self, what: &str, symbol: &str, args: &[u64], code: u32) {
        let got = call(symbol, args);
        if got != code {
            self.0.push(format!("{what} ({symbol}): {got}, not {code}"));
        }
    }
    /// A call that this driver answers otherwise than the recorded one, on purpose.
    fn own(&mut self, what: &str, symbol: &str, args: &[u64], code: u32) {
        if own() {
            self.row(what, symbol, args, code);
        }
    }
    fn end(self) {
        assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
    }
}

fn with(extra: &str) -> String {
    format!("{}{extra}\0", PTX.trim_end_matches('\0'))
}

fn bad_calls() {
    let mut t = Table(Vec::new());
    let (mut i, mut p, mut q, mut f, mut s) = (0i32, 0u64, 0u64, 0f32, 0u64);
    let (i, p, q, f, s) = (at(&mut i), at(&mut p), at(&mut q), at(&mut f), at(&mut s));
    t.row("before cuInit", "cuDeviceGetCount", &[i], 3);
    t.row("before cuInit", "cuCtxGetCurrent", &[p], 3);
    t.row("before cuInit", "cuMemAlloc_v2", &[p, 4], 3);
    t.row("flags", "cuInit", &[5], 1);
    ok("cuInit", &[0]);

    t.row("null", "cuDeviceGet", &[0, 0], 1);
    t.row("-1", "cuDeviceGet", &[i, u64::MAX], 101);
    t.row("99", "cuDeviceGet", &[i, 99], 101);
    t.row("bad device", "cuDeviceGetAttribute", &[i, 1, 99], 101);
    t.row("null", "cuDeviceGetAttribute", &[0, 1, 0], 1);
    t.row("bad attribute", "cuDeviceGetAttribute", &[i, 9999, 0], 1);
    t.row("no context", "cuCtxGetDevice", &[i], 201);
    t.row("no context", "cuCtxSynchronize", &[], 201);
    t.row("no context", "cuMemAlloc_v2", &[p, 4], 201);
    t.row("no context", "cuCtxPopCurrent_v2", &[p], 201);
    t.row("no context", "cuCtxGetLimit", &[s, 0], 201);
    t.row("no context, null", "cuMemFree_v2", &[0], 0);
    t.row("no context, foreign", "cuMemFree_v2", &[16], 1);
    t.row("no context", "cuModuleLoadData", &[p, text(PTX)], 201);
    t.row("no context", "cuStreamCreate", &[p, 0], 201);
    t.row("no context", "cuPointerGetAttribute", &[p, 1, 4096], 1);
    t.row("never retained", "cuDevicePrimaryCtxRelease_v2", &[0], 201);
    t.row("bad device", "cuDevicePrimaryCtxRetain", &[p, 9], 101);

    let mut primary = 0u64;
    ok("cuDevicePrimaryCtxRetain", &[at(&mut primary), 0]);
    t.row("the primary one", "cuCtxDestroy_v2", &[primary], 201);
    ok("cuCtxSetCurrent", &[primary]);
    t.own("foreign", "cuCtxSetCurrent", &[0x1234], 201);
    t.own("foreign", "cuCtxPushCurrent_v2", &[0x1234], 201);
    t.own("null", "cuCtxDestroy_v2", &[0], 201);
    t.row("too much", "cuCtxSetLimit", &[0, 1 << 40], 1);
    t.row("device-side synchronisation", "cuCtxGetLimit", &[s, 3], 215);
    t.row("unknown", "cuCtxGetLimit", &[s, 12], 1);

    memory(&mut t, p, q, s);
    modules(&mut t, p, q, s);
    streams(&mut t, i, p, f);
    others(&mut t, i, p, q, s);
    graphs(&mut t, p);
    mipmaps(&mut t, p);
    t.end();
}

fn memory(t: &mut Table, p: u64, q: u64, s: u64) {
    t.row("0 bytes", "cuMemAlloc_v2", &[q, 0], 1);
    t.row("null", "cuMemAlloc_v2", &[0, 4], 1);
    t.row("more than there is", "cuMemAlloc_v2", &[q, 1 << 45], 2);
    t.row("more than there is", "cuMemAlloc_v2", &[q, u64::MAX], 2);
    let d = alloc(1000);
    let e = alloc(1000);
    let mut host = vec![0u8; 4096];
    let h = at(&mut host[..]);
    t.row("null destination", "cuMemcpyHtoD_v2", &[0, h, 16], 1);
    t.row("null source", "cuMemcpyHtoD_v2", &[d, 0, 16], 1);
    t.row("nothing", "cuMemcpyHtoD_v2", &[0, 0, 0], 0);
    t.row("foreign destination", "cuMemcpyHtoD_v2", &[0x1234, h, 16], 1);
    t.row("1 byte too many", "cuMemcpyHtoD_v2", &[d, h, 1001], 1);
    t.row("foreign source", "cuMemcpyDtoH_v2", &[h, 0x1234, 16], 1);
    t.row("null destination", "cuMemcpyDtoH_v2", &[0, d, 16], 1);
    t.row("foreign source", "cuMemcpyDtoD_v2", &[d, 0x1234, 16], 1);
    // A real driver reads the address in the caller's process, which ends it.
    t.own("unmapped source", "cuMemcpyHtoD_v2", &[d, 0x1000, 16], 1);
    t.row("foreign", "cuMemsetD8_v2", &[0x1234, 0, 16], 1);
    t.row("misaligned", "cuMemsetD32_v2", &[d + 2, 0, 4], 1);
    t.row("too many", "cuMemsetD8_v2", &[d, 0, 1 << 30], 1);
    t.row("null", "cuMemFree_v2", &[0], 0);
    t.row("inside", "cuMemFree_v2", &[d + 4], 1);
    t.row("foreign", "cuMemFree_v2", &[0x1234000], 1);
    t.row("once", "cuMemFree_v2", &[e], 0);
    t.row("twice", "cuMemFree_v2", &[e], 1);
    t.row("freed", "cuMemcpyHtoD_v2", &[e, h, 16], 1);
    t.row("foreign", "cuMemFreeHost", &[h], 1);
    t.row("null", "cuMemFreeHost", &[0], 0);
    t.row("foreign", "cuMemHostUnregister", &[h], 713);
    t.row("foreign", "cuMemHostGetDevicePointer_v2", &[q, h, 0], 1);
    t.row("null", "cuMemHostRegister_v2", &[0, 16, 0], 1);
    t.row("nothing", "cuMemHostRegister_v2", &[h, 0, 0], 1);
    t.row("once", "cuMemHostRegister_v2", &[h, 4096, 0], 0);
    t.row("twice", "cuMemHostRegister_v2", &[h, 4096, 0], 712);
    t.row("once", "cuMemHostUnregister", &[h], 0);
    t.row("twice", "cuMemHostUnregister", &[h], 713);
    t.row("flags", "cuMemHostAlloc", &[p, 64, 0x100], 1);
    t.row("nothing", "cuMemHostAlloc", &[p, 0, 0], 0);
    t.row("nothing", "cuMemAllocManaged", &[q, 0, 1], 1);
    t.row("flags", "cuMemAllocManaged", &[q, 64, 9], 1);
    t.row("foreign", "cuMemGetAddressRange_v2", &[q, s, 0x1234], 500);
    t.row("foreign", "cuPointerGetAttribute", &[p, 2, 0x1234], 1);
    t.row("null", "cuPointerGetAttribute", &[0, 2, d], 1);
    t.row("unknown", "cuPointerGetAttribute", &[p, 999, d], 1);
    t.row("element of 3", "cuMemAllocPitch_v2", &[q, s, 100, 4, 3], 1);
    t.row("no width", "cuMemAllocPitch_v2", &[q, s, 0, 4, 4], 1);
    let mut pool = 0u64;
    ok("cuDeviceGetMemPool", &[at(&mut pool), 0]);
    ok("cuMemAllocAsync", &[q, 1000, 0]);
    // SAFETY: a variable of the caller.
    let a = unsafe { *(q as *const u64) };
    t.row(
        "beside another, more than can be counted",
        "cuMemAllocAsync",
        &[q, u64::MAX - 100, 0],
        2,
    );
    t.row("once", "cuMemFreeAsync", &[a, 0], 0);
    t.row("twice", "cuMemFreeAsync", &[a, 0], 1);
    t.row("null", "cuMemFreeAsync", &[0, 0], 0);
    t.row("nothing", "cuMemAllocAsync", &[q, 0, 0], 0);
    t.row("more than there is", "cuMemAllocAsync", &[q, 1 << 45, 0], 2);
    t.row("the default one", "cuMemPoolDestroy", &[pool], 1);
    // Another context's pointer.
    if own() {
        let mut other = 0u64;
        ok("cuCtxCreate_v2", &[at(&mut other), 0, 0]);
        t.own("another context's", "cuMemcpyDtoH_v2", &[h, d, 16], 1);
        t.own("another context's", "cuMemFree_v2", &[d], 1);
        ok("cuCtxDestroy_v2", &[other]);
    }
    t.row("still there", "cuMemcpyDtoH_v2", &[h, d, 16], 0);
}

fn modules(t: &mut Table, p: u64, q: u64, s: u64) {
    let load = "cuModuleLoadData";
    t.row("null out", load, &[0, text(PTX)], 1);
    t.row("null image", load, &[p, 0], 1);
    t.row("empty", load, &[p, text("\0")], 200);
    t.row("no PTX", load, &[p, text("hello world\0")], 200);
    let syntax = with("\n.visible .entry z() { foo.u32 a; }");
    t.row("errors", load, &[p, text(&syntax)], 218);
    let newer = PTX.replace("sm_90", "sm_100").replace("8.0", "8.7");
    t.row("a newer target", load, &[p, text(&newer)], 218);
    let unknown = PTX.replace("8.0", "99.0");
    t.row("an unknown version", load, &[p, text(&unknown)], 222);
    let open = with("\n.extern .func ff();\n.visible .entry z() { call ff; ret; }");
    t.row("an undefined function", load, &[p, text(&open)], 218);
    let mut elf = b"\x7fELF".to_vec();
    elf.resize(64, 0);
    // A real driver says 200 of this one, which is cut; 209 is what it says of code for another device.
    t.own("machine code", load, &[p, at(&mut elf[..])], 209);
    let mut empty = vec![0x50u8, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    t.row("an empty fat binary", load, &[p, at(&mut empty[..])], 209);
    empty[4] = 9;
    t.row("a fat binary of an unknown version", load, &[p, at(&mut empty[..])], 200);
    empty[4] = 1;
    empty[8] = 200;
    let mut cut = empty.clone();
    cut.resize(216, 0xff);
    t.own("a fat binary with entries past its end", load, &[p, at(&mut cut[..])], 200);
    t.row("no such file", "cuModuleLoad", &[p, text("/nonexistent.ptx\0")], 301);
    t.row("null", "cuModuleLoad", &[p, 0], 1);

    // The log holds the findings.
    let mut log = vec![0u8; 4096];
    let mut options = [5u32, 6];
    let mut values = [at(&mut log[..]), 4096];
    let ex = [p, text(&syntax), 2, at(&mut options), at(&mut values)];
    t.row("errors", "cuModuleLoadDataEx", &ex, 218);
    let written = String::from_utf8_lossy(&log).into_owned();
    assert!(written.contains("foo"), "{written}");
    if own() {
        assert!(written.contains("error") && written.contains("foo.u32 a"), "{written}");
        assert_eq!(values[1] as usize, written.find('\0').unwrap() + 1);
    }
    let mut small = [at(&mut log[..]), 20];
    let ex = [p, text(&syntax), 2, at(&mut options), at(&mut small)];
    t.row("a log of 20 bytes", "cuModuleLoadDataEx", &ex, 218);
    assert_eq!((small[1], log[19]), (20, 0));
    let mut bad = [999u32];
    t.row("option", "cuModuleLoadDataEx", &[p, text(PTX), 1, at(&mut bad), at(&mut values)], 1);
    t.row("null options", "cuModuleLoadDataEx", &[p, text(PTX), 2, 0, 0], 1);

    let m = module(PTX);
    let get = "cuModuleGetFunction";
    t.row("unknown", get, &[p, m, text("nope\0")], 500);
    t.row("no kernel", get, &[p, m, text("hf\0")], 500);
    t.row("null module", get, &[p, 0, text("st\0")], 400);
    t.row("null name", get, &[p, m, 0], 1);
    t.row("null out", get, &[0, m, text("st\0")], 1);
    t.row("no name", get, &[p, m, text("\0")], 1);
    t.own("foreign module", get, &[p, 0x1234, text("st\0")], 400);
    t.row("unknown", "cuModuleGetGlobal_v2", &[q, s, m, text("nope\0")], 500);
    t.row("both null", "cuModuleGetGlobal_v2", &[0, 0, m, text("g\0")], 1);
    ok("cuModuleGetGlobal_v2", &[q, s, m, text("g\0")]);
    // SAFETY: a variable of the caller.
    t.row("a variable", "cuMemFree_v2", &[unsafe { *(q as *const u64) }], 1);

    let st = function(m, "st\0");
    t.row("null", "cuFuncGetAttribute", &[p, 0, 0], 400);
    t.row("too much shared memory", "cuFuncSetAttribute", &[st, 8, 300_000], 1);
    t.row("negative", "cuFuncSetAttribute", &[st, 8, (-5i32) as u32 as u64], 1);
    t.row("read-only", "cuFuncSetAttribute", &[st, 0, 5], 1);
    t.row("carve-out of 200 %", "cuFuncSetAttribute", &[st, 9, 200], 1);
    let two = function(m, "two\0");
    t.row("past the end", "cuFuncGetParamInfo", &[two, 3, q, s], 1);

    let d = alloc(64);
    let mut args = [d];
    let mut params = [at(&mut args)];
    let params = at(&mut params);
    let go = |t: &mut Table,
              what: &str,
              f: u64,
              g: [u64; 3],
              b: [u64; 3],
              shared: u64,
              params: u64,
              code| {
        let args = [f, g[0], g[1], g[2], b[0], b[1], b[2], shared, 0, params, 0];
        t.row(what, "cuLaunchKernel", &args, code);
    };
    let one = [1; 3];
    go(t, "null", 0, one, one, 0, params, 400);
    go(t, "grid of 0", st, [0, 1, 1], one, 0, params, 1);
    go(t, "block of 0", st, one, [0, 1, 1], 0, params, 1);
    go(t, "2000 threads", st, one, [2000, 1, 1], 0, params, 1);
    go(t, "65 in z", st, one, [1, 1, 65], 0, params, 1);
    go(t, "70000 in y", st, [1, 70000, 1], one, 0, params, 1);
    go(t, "1 MiB of shared memory", st, one, one, 1 << 20, params, 1);
    go(t, "no arguments", st, one, one, 0, 0, 1);
    go(t, "above .maxntid", function(m, "mx\0"), one, [128, 1, 1], 0, 0, 1);
    go(t, "not .reqntid", function(m, "rq\0"), one, [32, 1, 1], 0, 0, 1);
    go(t, "60000 bytes of shared memory", function(m, "rq\0"), one, [64, 1, 1], 60_000, 0, 1);
    let ranked = module(RANKED);
    let mut cluster = [4u64, 8 | 1 << 32, 1, 0, 0, 0, 0, 0, 0];
    let mut config = [8 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, 0, at(&mut cluster), 1];
    let config = at(&mut config);
    let launch = [config, function(ranked, "four\0"), 0, 0];
    t.row("8 blocks above .maxclusterrank 4", "cuLaunchKernelEx", &launch, 912);
    let mut size = 16u64;
    let mut extra = [1, at(&mut args), 2, at(&mut size), 0];
    let call = [st, 1, 1, 1, 1, 1, 1, 0, 0, 0, at(&mut extra)];
    t.row("16 bytes of 8", "cuLaunchKernel", &call, 701);
    std::hint::black_box(&mut extra)[0] = 7;
    t.row("unknown key", "cuLaunchKernel", &call, 1);
    let coop = [st, 1_000_000, 1, 1, 1024, 1, 1, 0, 0, params];
    t.row("too many blocks", "cuLaunchCooperativeKernel", &coop, 720);
    t.row("0 threads", "cuOccupancyMaxActiveBlocksPerMultiprocessor", &[q, st, 0, 0], 1);
    t.row("5000 threads", "cuOccupancyMaxActiveBlocksPerMultiprocessor", &[q, st, 5000, 0], 0);
    t.row("null", "cuOccupancyMaxActiveBlocksPerMultiprocessor", &[q, 0, 128, 0], 400);
    t.row("null", "cuModuleUnload", &[0], 400);
    t.row("once", "cuModuleUnload", &[m], 0);
    t.own("twice", "cuModuleUnload", &[m], 400);
    t.own("of an unloaded module", "cuLaunchKernel", &[st, 1, 1, 1, 1, 1, 1, 0, 0, params, 0], 400);
}

fn streams(t: &mut Table, i: u64, p: u64, f: u64) {
    t.row("null", "cuStreamCreate", &[0, 0], 1);
    t.row("flags", "cuStreamCreate", &[p, 77], 1);
    let mut s = 0u64;
    ok("cuStreamCreate", &[at(&mut s), 1]);
    t.row("null", "cuStreamDestroy_v2", &[0], 400);
    t.row("the legacy one", "cuStreamDestroy_v2", &[1], 400);
    t.row("null event", "cuStreamWaitEvent", &[s, 0, 0], 400);
    t.own("foreign", "cuStreamSynchronize", &[0x1234], 400);
    t.own("foreign", "cuStreamQuery", &[0x1234], 400);
    t.row("flags", "cuEventCreate", &[p, 99], 1);
    t.row("interprocess with timing", "cuEventCreate", &[p, 4], 1);
    let (mut e, mut quiet) = (0u64, 0u64);
    ok("cuEventCreate", &[at(&mut e), 0]);
    ok("cuEventCreate", &[at(&mut quiet), 2]);
    t.row("never recorded", "cuEventQuery", &[e], 0);
    t.row("never recorded", "cuEventSynchronize", &[e], 0);
    t.row("never recorded", "cuEventElapsedTime", &[f, e, e], 400);
    t.row("null", "cuEventRecord", &[0, s], 400);
    ok("cuEventRecord", &[e, s]);
    ok("cuEventRecord", &[quiet, s]);
    ok("cuStreamSynchronize", &[s]);
    t.row("without timing", "cuEventElapsedTime", &[f, e, quiet], 400);
    t.row("both", "cuEventElapsedTime", &[f, e, e], 0);
    t.row("null", "cuEventElapsedTime", &[f, 0, e], 400);
    t.row("null", "cuEventDestroy_v2", &[0], 400);
    ok("cuEventDestroy_v2", &[quiet]);
    t.own("destroyed", "cuEventRecord", &[quiet, s], 400);
    t.row("null", "cuLaunchHostFunc", &[s, 0, 0], 1);

    t.row("not capturing", "cuStreamEndCapture", &[s, p], 401);
    t.row("the legacy stream", "cuStreamBeginCapture_v2", &[0, 0], 900);
    ok("cuStreamBeginCapture_v2", &[s, 0]);
    t.row("twice", "cuStreamBeginCapture_v2", &[s, 0], 401);
    t.row("while capturing", "cuStreamSynchronize", &[s], 900);
    t.row("invalidated", "cuStreamEndCapture", &[s, p], 901);
    ok("cuStreamBeginCapture_v2", &[s, 0]);
    t.row("while capturing", "cuStreamQuery", &[s], 900);
    t.row("invalidated", "cuStreamEndCapture", &[s, p], 901);
    ok("cuStreamBeginCapture_v2", &[s, 0]);
    t.row("while capturing", "cuMemAlloc_v2", &[p, 16], 900);
    t.row("invalidated", "cuStreamEndCapture", &[s, p], 901);
    t.row("once", "cuStreamDestroy_v2", &[s], 0);
    t.own("twice", "cuStreamDestroy_v2", &[s], 400);
    let _ = i;
}

fn others(t: &mut Table, i: u64, p: u64, q: u64, s: u64) {
    #[repr(C)]
    struct Array(u64, u64, u32, u32);
    let array = |d: &mut Array| at(d);
    t.row("null", "cuArrayCreate_v2", &[0, array(&mut Array(4, 4, 0x20, 1))], 1);
    t.row("no width", "cuArrayCreate_v2", &[p, array(&mut Array(0, 4, 0x20, 1))], 1);
    t.row("3 channels", "cuArrayCreate_v2", &[p, array(&mut Array(4, 4, 0x20, 3))], 1);
    t.row("format", "cuArrayCreate_v2", &[p, array(&mut Array(4, 4, 0x77, 1))], 1);
    t.row("too wide", "cuArrayCreate_v2", &[p, array(&mut Array(1 << 20, 4, 0x20, 1))], 1);
    #[repr(C)]
    struct Array3(u64, u64, u64, u32, u32, u32);
    let gathered = at(&mut Array3(8, 8, 2, 0x20, 1, 1 | 8));
    t.row("gather from layers", "cuArray3DCreate_v2", &[p, gathered], 1);
    t.row("null", "cuArrayDestroy", &[0], 400);
    let (mut resource, mut texture) = ([0u64; 18], [0u64; 13]);
    let (resource, texture) = (at(&mut resource), at(&mut texture));
    t.row("null array", "cuTexObjectCreate", &[q, resource, texture, 0], 1);
    t.row("null", "cuTexObjectCreate", &[q, 0, texture, 0], 1);
    t.row("null", "cuTexObjectDestroy", &[0], 0);
    t.row("foreign", "cuTexObjectDestroy", &[123_456], 0);
    t.row("null array", "cuSurfObjectCreate", &[q, resource], 1);

    let mut link = 0u64;
    ok("cuLinkCreate_v2", &[0, 0, 0, at(&mut link)]);
    let add = |data: &str, kind: u64| {
        [link, kind, data.as_ptr() as u64, data.len() as u64, text("x\0"), 0, 0, 0]
    };
    t.row("no PTX", "cuLinkAddData_v2", &add("hello\0", 1), 200);
    t.row("kind", "cuLinkAddData_v2", &add("x\0", 77), 1);
    ok("cuLinkAddData_v2", &add(PTX, 1));
    // A real driver notices at once, this one when everything is there.
    t.own("a second definition", "cuLinkAddData_v2", &add(PTX, 1), 0);
    t.own("a second definition", "cuLinkComplete", &[link, q, s], 999);
    ok("cuLinkDestroy", &[link]);
    ok("cuLinkCreate_v2", &[0, 0, 0, at(&mut link)]);
    let open = with("\n.extern .func ff();\n.visible .entry z() { call ff; ret; }");
    ok("cuLinkAddData_v2", &[link, 1, text(&open), open.len() as u64, text("x\0"), 0, 0, 0]);
    t.row("an undefined function", "cuLinkComplete", &[link, q, s], 999);
    ok("cuLinkDestroy", &[link]);
    t.own("destroyed", "cuLinkComplete", &[link, q, s], 400);

    // A real driver loads libraries lazily and finds out later.
    t.own("no PTX", "cuLibraryLoadData", &[p, text("hello\0"), 0, 0, 0, 0, 0, 0], 200);
    t.row("null image", "cuLibraryLoadData", &[p, 0, 0, 0, 0, 0, 0, 0], 1);
    let (mut library, mut kernel) = (0u64, 0u64);
    ok("cuLibraryLoadData", &[at(&mut library), text(PTX), 0, 0, 0, 0, 0, 0]);
    t.row("unknown", "cuLibraryGetKernel", &[p, library, text("nope\0")], 500);
    ok("cuLibraryGetKernel", &[at(&mut kernel), library, text("st\0")]);
    t.row("unknown", "cuLibraryGetGlobal", &[q, s, library, text("nope\0")], 500);
    t.row("not managed", "cuLibraryGetManaged", &[q, s, library, text("g\0")], 500);
    t.row("past the end", "cuKernelGetParamInfo", &[kernel, 1, s, s], 1);
    ok("cuLibraryUnload", &[library]);
    t.own("unloaded", "cuLibraryGetKernel", &[p, library, text("st\0")], 400);
    t.own("unloaded", "cuKernelGetAttribute", &[i, 0, kernel, 0], 400);

    let mut status = 7u32;
    let status = at(&mut status);
    t.row("unknown name", "cuGetProcAddress_v2", &[text("cuNope\0"), p, 12000, 0, status], 0);
    t.row("flags", "cuGetProcAddress_v2", &[text("cuInit\0"), p, 12000, 8, status], 1);
    t.own("null", "cuGetProcAddress_v2", &[0, p, 12000, 0, status], 1);
    // Internal tables do not exist here.
    let mut id = [0u64; 2];
    t.own("any", "cuGetExportTable", &[p, at(&mut id)], 500);

    t.row("flags", "cuGraphCreate", &[p, 5], 1);
    t.row("null", "cuGraphLaunch", &[0, 0], 1);
    t.row("null", "cuGraphDestroy", &[0], 1);
    let mut own = 0u64;
    ok("cuCtxGetCurrent", &[at(&mut own)]);
    t.row("itself", "cuCtxEnablePeerAccess", &[own, 0], 217);
    t.row("not managed", "cuMemPrefetchAsync", &[alloc(16), 10, 0, 0], 1);
}

fn graphs(t: &mut Table, p: u64) {
    extern "C" fn gone(count: &mut u32) {
        *count += 1;
    }
    let mut destroyed = 0u32;
    let (data, f) = (at(&mut destroyed), gone as *const () as u64);
    let create = "cuUserObjectCreate";
    t.row("null", create, &[0, data, f, 1, 1], 1);
    t.row("no function", create, &[p, data, 0, 1, 1], 1);
    t.row("count 0", create, &[p, data, f, 0, 1], 1);
    t.row("flags", create, &[p, data, f, 1, 0], 1);
    t.row("flags", create, &[p, data, f, 1, 2], 1);
    t.row("null", "cuUserObjectRetain", &[0, 1], 1);
    t.row("null", "cuUserObjectRelease", &[0, 1], 1);
    let (mut object, mut graph, mut clone, mut node) = (0u64, 0u64, 0u64, 0u64);
    ok(create, &[at(&mut object), data, f, 2, 1]);
    t.row("count 0", "cuUserObjectRetain", &[object, 0], 1);
    t.row("count 0", "cuUserObjectRelease", &[object, 0], 1);
    ok("cuGraphCreate", &[at(&mut graph), 0]);
    let retain = "cuGraphRetainUserObject";
    t.row("null object", retain, &[graph, 0, 1, 0], 1);
    t.row("null graph", retain, &[0, object, 1, 0], 1);
    t.row("count 0", retain, &[graph, object, 0, 0], 1);
    t.row("flags", retain, &[graph, object, 1, 8], 1);
    t.row("moved", retain, &[graph, object, 1, 1], 0);
    t.row("null", "cuGraphReleaseUserObject", &[graph, 0, 1], 1);
    t.row("more than is held", "cuGraphReleaseUserObject", &[graph, object, 2], 0);
    if own() {
        assert_eq!(destroyed, 0);
        ok("cuUserObjectRelease", &[object, 1]);
        assert_eq!(destroyed, 1);
        t.own("destroyed", "cuUserObjectRelease", &[object, 1], 1);
    }

    ok("cuGraphAddEmptyNode", &[at(&mut node), graph, 0, 0]);
    ok("cuGraphClone", &[at(&mut clone), graph]);
    t.row("null", "cuGraphNodeFindInClone", &[0, node, clone], 1);
    t.row("null node", "cuGraphNodeFindInClone", &[p, 0, clone], 1);
    t.row("not the clone", "cuGraphNodeFindInClone", &[p, node, graph], 1);
    t.row("the clone", "cuGraphNodeFindInClone", &[p, node, clone], 0);
    let mut params = [0u64; 32];
    let to = at(&mut params);
    t.row("an empty node", "cuGraphChildGraphNodeGetGraph", &[node, p], 1);
    t.row("null", "cuGraphChildGraphNodeGetGraph", &[0, p], 1);
    t.row("an empty node", "cuGraphKernelNodeGetParams_v2", &[node, to], 1);
    t.row("null", "cuGraphKernelNodeGetParams_v2", &[0, to], 1);
    t.row("an empty node", "cuGraphMemsetNodeGetParams", &[node, to], 1);
    t.row("an empty node", "cuGraphHostNodeGetParams", &[node, to], 1);
    t.row("an empty node", "cuGraphEventRecordNodeGetEvent", &[node, p], 1);
    let add = "cuGraphAddNode";
    let mut kind = |n: u64| {
        std::hint::black_box(&mut params)[0] = n;
        to
    };
    t.row("unknown kind", add, &[p, graph, 0, 0, kind(99)], 1);
    t.row("null", add, &[p, graph, 0, 0, 0], 1);
    t.row("null out", add, &[0, graph, 0, 0, kind(5)], 1);
    t.row("null graph", add, &[p, 0, 0, 0, kind(5)], 1);
    t.row("empty", add, &[p, graph, 0, 0, kind(5)], 0);
    t.row("no function", add, &[p, graph, 0, 0, kind(3)], 1);
    t.row("null child", add, &[p, graph, 0, 0, kind(4)], 1);
    t.row("null event", add, &[p, graph, 0, 0, kind(7)], 1);
    t.row("null child", "cuGraphAddChildGraphNode", &[p, graph, 0, 0, 0], 1);
    t.row("null event", "cuGraphAddEventRecordNode", &[p, graph, 0, 0, 0], 1);
    t.row("null graph", "cuGraphInstantiateWithParams", &[p, 0, to], 1);
    ok("cuGraphDestroy", &[clone]);
    ok("cuGraphDestroy", &[graph]);
    // Not implemented here: it says so.
    t.row("no memory", "cuIpcGetMemHandle", &[p, 0], 1);
    t.own("any", "cuMemMapArrayAsync", &[p, 1, 0], 801);
    let (mut option, mut value, mut link) = ([0u32], [0u64], 0u64);
    let call = [1, at(&mut option), at(&mut value), at(&mut link)];
    t.row("0 registers", "cuLinkCreate_v2", &call, 1);
}

fn mipmaps(t: &mut Table, p: u64) {
    #[repr(C)]
    struct Array(u64, u64, u64, u32, u32, u32);
    let mut m = 0u64;
    let to = at(&mut m);
    let create = "cuMipmappedArrayCreate";
    let destroy = "cuMipmappedArrayDestroy";
    let mut good = Array(8, 8, 0, 0x20, 1, 0);
    let good = at(&mut good);
    for levels in [0, 99, 4] {
        t.row("clamped", create, &[to, good, levels], 0);
        // SAFETY: a variable of the caller.
        ok(destroy, &[unsafe { *(to as *const u64) }]);
    }
    t.row("null", create, &[0, good, 2], 1);
    t.row("no width", create, &[to, at(&mut Array(0, 8, 0, 0x20, 1, 0)), 2], 1);
    t.row("3 channels", create, &[to, at(&mut Array(8, 8, 0, 0x20, 3, 0)), 2], 1);
    ok(create, &[to, good, 4]);
    // SAFETY: as above.
    let made = unsafe { *(to as *const u64) };
    t.row("past the end", "cuMipmappedArrayGetLevel", &[p, made, 4], 1);
    t.row("null", "cuMipmappedArrayGetLevel", &[p, 0, 0], 400);
    t.row("null out", "cuMipmappedArrayGetLevel", &[0, made, 0], 1);
    t.row("null", destroy, &[0], 400);
    t.row("once", destroy, &[made], 0);
    t.own("twice", destroy, &[made], 400);
}

/// A kernel's fault: the error stays until the context ends, and a new context works.
fn faults_stay_until_the_context_ends() {
    let faults: [(&str, Option<u64>, u32); 6] = [
        ("st\0", Some(0x1234_5670_0000), 700),
        ("st\0", Some(0), 700),
        ("st\0", None, 716),
        ("un\0", None, 716),
        ("tr\0", None, 719),
        ("br\0", None, 719),
    ];
    for (kernel, pointer, code) in faults {
        let context = context();
        let m = module(PTX);
        let d = alloc(64);
        let f = function(m, kernel);
        let argument = pointer.unwrap_or(d + 2);
        assert_eq!(launch(f, [1; 3], [1; 3], 0, &[argument]), 0);
        assert_eq!(call("cuCtxSynchronize", &[]), code, "{kernel}");
        let mut p = 0u64;
        let p = at(&mut p);
        assert_eq!(call("cuMemAlloc_v2", &[p, 16]), code);
        assert_eq!(call("cuMemFree_v2", &[0]), code);
        assert_eq!(call("cuStreamSynchronize", &[0]), code);
        assert_eq!(call("cuModuleUnload", &[m]), code);
        assert_eq!(launch(f, [1; 3], [1; 3], 0, &[argument]), code);
        ok("cuCtxDestroy_v2", &[context]);
        assert_eq!(call("cuCtxSynchronize", &[]), 201);
    }
}

/// One behind the other: the table begins before `cuInit`, and a stream of it that captures forbids loading modules in
/// the whole process. Faults have a thread of their own, in which no context is current.
fn bad_calls_return_the_recorded_codes() {
    bad_calls();
    if own() {
        std::thread::spawn(faults_stay_until_the_context_ends).join().expect("no fault differs");
    }
}

golden::tests! { bad_calls_return_the_recorded_codes }
