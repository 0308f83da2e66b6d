//! What calls do, where an H200 with driver 580.159.04 was asked first.

mod common;

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { ret; }
\0";

const VARIABLE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b32 table[16];
.visible .entry k() { ret; }
\0";

const STORES: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry stores(.param .u64 out, .param .u32 first) {
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [first];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    add.u32 %r1, %r1, %r2;
    mad.lo.u32 %r3, %r3, 4, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
\0";

/// A stream that captures forbids calls in the whole process, so tests take turns.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn a_capture_ends_with_its_stream() {
    let _alone = alone();
    context();
    let kernel = function(module(PTX), "k\0");
    let (mut a, mut b, mut e, mut f, mut graph) = (0u64, 0u64, 0u64, 0u64, 0u64);
    ok("cuStreamCreate", &[at(&mut a), 1]);
    ok("cuStreamCreate", &[at(&mut b), 1]);
    ok("cuEventCreate", &[at(&mut e), 0]);
    ok("cuEventCreate", &[at(&mut f), 0]);
    let memory = alloc(64);
    ok("cuStreamBeginCapture_v2", &[a, 0]);
    ok("cuEventRecord", &[e, a]);
    ok("cuStreamWaitEvent", &[b, e, 0]);
    assert_eq!(launch(kernel, [1; 3], [1; 3], b, &[]), 0);
    ok("cuEventRecord", &[f, b]);
    ok("cuStreamWaitEvent", &[a, f, 0]);
    assert_eq!(launch(kernel, [1; 3], [1; 3], a, &[]), 0);
    ok("cuStreamEndCapture", &[a, at(&mut graph)]);
    // Events of the capture live on; nothing captures any more.
    ok("cuMemFree_v2", &[memory]);
    assert_eq!(call("cuEventQuery", &[e]), 1);
    assert_eq!(call("cuEventSynchronize", &[e]), 1);
    assert_eq!(call("cuStreamWaitEvent", &[b, e, 0]), 1);
    let mut status = 9u32;
    ok("cuStreamIsCapturing", &[b, at(&mut status)]);
    assert_eq!(status, 0);
    assert_eq!(launch(kernel, [1; 3], [1; 3], b, &[]), 0);
    ok("cuEventRecord", &[e, b]);
    ok("cuEventSynchronize", &[e]);
    ok("cuEventQuery", &[e]);
}

#[test]
fn large_allocations_are_aligned() {
    let _alone = alone();
    context();
    for bytes in [1u64 << 20, (1 << 20) + 1, 3 << 20] {
        let all: Vec<u64> = (0..3).map(|_| alloc(bytes)).collect();
        assert!(all.iter().all(|at| at.is_multiple_of(1 << 20)), "{bytes}: {all:x?}");
        if own() || bytes > 1 << 20 {
            assert!(all.iter().all(|at| at.is_multiple_of(2 << 20)), "{bytes}: {all:x?}");
        }
    }
    assert!(alloc(1).is_multiple_of(512));
}

/// XLA asks so, from threads that have no context, of memory and of a module's variables (not asked of the H200).
#[test]
fn pointers_are_known_without_a_current_context() {
    let _alone = alone();
    let mine = context();
    let memory = alloc(64);
    let (mut variable, mut bytes, mut other) = (0u64, 0u64, 0u64);
    ok(
        "cuModuleGetGlobal_v2",
        &[at(&mut variable), at(&mut bytes), module(VARIABLE), text("table\0")],
    );
    assert_eq!(bytes, 64);
    ok("cuCtxCreate_v2", &[at(&mut other), 0, 0]);
    let asked = || {
        let mut device = 9u32;
        for start in [memory, variable] {
            let (mut owner, mut range, mut size) = (0u64, 0u64, 0u64);
            ok("cuPointerGetAttribute", &[at(&mut device), 9, start + 60]);
            ok("cuPointerGetAttribute", &[at(&mut owner), 1, start + 60]);
            ok("cuPointerGetAttribute", &[at(&mut range), 11, start + 60]);
            ok("cuPointerGetAttribute", &[at(&mut size), 12, start + 60]);
            assert_eq!((device, owner), (0, mine));
            assert!(
                range <= start && range + size >= start + 64,
                "{start:x}: {range:x}, {size} bytes"
            );
        }
        assert_eq!(call("cuPointerGetAttribute", &[at(&mut device), 9, memory + (1 << 40)]), 1);
    };
    // With another context, and with none.
    asked();
    std::thread::scope(|scope| {
        scope.spawn(asked);
    });
    ok("cuCtxDestroy_v2", &[other]);
    ok("cuMemFree_v2", &[memory]);
}

/// As on an H200: a context ends when it was detached as often as it was made and attached. The primary one stays.
#[test]
fn contexts_are_attached_and_detached() {
    let _alone = alone();
    let mut primary = 0u64;
    ok("cuInit", &[0]);
    ok("cuDevicePrimaryCtxRetain", &[at(&mut primary), 0]);
    ok("cuCtxPushCurrent_v2", &[primary]);
    let current = || {
        let mut handle = 0u64;
        ok("cuCtxGetCurrent", &[at(&mut handle)]);
        handle
    };
    let version = |handle: u64| call("cuCtxGetApiVersion", &[handle, at(&mut 0u32)]);
    let make = || {
        let mut handle = 0u64;
        ok("cuCtxCreate_v2", &[at(&mut handle), 0, 0]);
        handle
    };
    let a = make();
    let mut attached = 0u64;
    ok("cuCtxAttach", &[at(&mut attached), 0]);
    assert_eq!(attached, a);
    ok("cuCtxDetach", &[a]);
    assert_eq!((version(a), current()), (0, a));
    ok("cuCtxDetach", &[a]);
    assert_eq!((version(a), current(), call("cuCtxDetach", &[a])), (201, primary, 201));
    let (below, top) = (make(), make());
    assert_eq!(call("cuCtxDetach", &[below]), 201, "not the current one");
    assert_eq!((version(below), version(top)), (0, 0));
    ok("cuCtxDetach", &[top]);
    assert_eq!((version(top), current()), (201, below));
    ok("cuCtxDetach", &[below]);
    ok("cuCtxAttach", &[at(&mut attached), 0]);
    ok("cuCtxDetach", &[primary]);
    ok("cuCtxDetach", &[primary]);
    assert_eq!((version(primary), current()), (0, primary));
    for bad in [[at(&mut attached), 1], [0, 0]] {
        assert_eq!(call("cuCtxAttach", &bad), 1);
    }
    assert_eq!(call("cuCtxDetach", &[0]), 201);
    ok("cuCtxPopCurrent_v2", &[0]);
    ok("cuDevicePrimaryCtxRelease_v2", &[0]);
}

/// PyCUDA launches so (not asked of the H200).
#[test]
fn launches_of_before_cuda_4() {
    let _alone = alone();
    context();
    let kernel = function(module(STORES), "stores\0");
    let mut out = alloc(64);
    ok("cuMemsetD8_v2", &[out, 0, 64]);
    assert_ne!(call("cuLaunch", &[kernel]), 0, "it has no shape yet");
    ok("cuFuncSetBlockShape", &[kernel, 4, 1, 1]);
    ok("cuFuncSetSharedSize", &[kernel, 16]);
    ok("cuParamSetv", &[kernel, 0, at(&mut out), 8]);
    ok("cuParamSeti", &[kernel, 8, 7]);
    ok("cuParamSetSize", &[kernel, 12]);
    ok("cuLaunchGrid", &[kernel, 2, 1]);
    assert_eq!(words::<8>(out), [7, 8, 9, 10, 7, 8, 9, 10]);
    ok("cuParamSeti", &[kernel, 8, 1]);
    ok("cuLaunchGridAsync", &[kernel, 1, 1, 0]);
    assert_eq!(words::<8>(out), [1, 2, 3, 4, 7, 8, 9, 10]);
    type SetFloat = unsafe extern "C" fn(u64, i32, f32) -> u32;
    // SAFETY: the function has this type.
    let set_float: SetFloat = unsafe { std::mem::transmute(address("cuParamSetf")) };
    // SAFETY: it keeps nothing.
    let set_float = |offset, value| unsafe { set_float(kernel, offset, value) };
    assert_eq!((set_float(8, f32::from_bits(40)), set_float(-4, 1.0)), (0, 1));
    ok("cuLaunchGridAsync", &[kernel, 1, 1, 0]);
    assert_eq!(words::<8>(out), [40, 41, 42, 43, 7, 8, 9, 10]);
    assert_eq!(call("cuParamSeti", &[kernel, u32::MAX as u64, 1]), 1);
    assert_eq!(call("cuParamSetv", &[kernel, 32_760, at(&mut out), 8]), 1);
    assert_eq!(call("cuFuncSetBlockShape", &[kernel, 0, 1, 1]), 1);
    ok("cuParamSetSize", &[kernel, 64]);
    assert_eq!(call("cuLaunch", &[kernel]), 701, "more arguments than the kernel has");
    ok("cuMemFree_v2", &[out]);
}

#[test]
fn flags_of_instantiation() {
    let _alone = alone();
    context();
    let mut graph = 0u64;
    ok("cuGraphCreate", &[at(&mut graph), 0]);
    let accepts = |flags: u64| {
        let mut made = 0u64;
        call("cuGraphInstantiateWithFlags", &[at(&mut made), graph, flags]) == 0
    };
    let accepted: Vec<u64> = (0..34).filter(|flags| accepts(*flags)).collect();
    assert_eq!(accepted, [0, 1, 4, 8, 9, 12]);
}

#[test]
fn memory_info_may_be_asked_for_in_part() {
    let _alone = alone();
    context();
    let (mut free, mut total) = (0u64, 0u64);
    ok("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]);
    assert!(free <= total && total > 0);
    ok("cuMemGetInfo_v2", &[0, at(&mut total)]);
    ok("cuMemGetInfo_v2", &[at(&mut free), 0]);
    ok("cuMemGetInfo_v2", &[0, 0]);
}

/// Messages that the log told.
static TOLD: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());

extern "C" fn hear(data: u64, level: u32, text: *const u8, length: usize) {
    assert_eq!((data, level), (77, 0));
    // SAFETY: the driver passes `length` bytes.
    let text = unsafe { std::slice::from_raw_parts(text, length) };
    TOLD.lock().unwrap().push(String::from_utf8_lossy(text).into_owned());
}

#[test]
fn the_log_tells_of_errors() {
    let _alone = alone();
    context();
    let (mut handle, mut iterator) = (0u64, 0u32);
    ok("cuLogsRegisterCallback", &[hear as *const () as u64, 77, at(&mut handle)]);
    ok("cuLogsCurrent", &[at(&mut iterator), 0]);
    let start = iterator;
    let mut module = 0u64;
    assert_eq!(call("cuModuleLoadData", &[at(&mut module), text("garbage\0")]), 200);
    let last = "Returning 200 (CUDA_ERROR_INVALID_IMAGE) from cuModuleLoadData";
    assert!(TOLD.lock().unwrap().iter().any(|t| t == last), "{:?}", TOLD.lock().unwrap());
    let mut buffer = [1u8; 4096];
    let mut size = buffer.len() as u64;
    ok("cuLogsDumpToMemory", &[at(&mut iterator), at(&mut buffer[..]), at(&mut size), 0]);
    let dumped = std::str::from_utf8(&buffer[..size as usize]).unwrap();
    assert!(dumped.contains(last) && dumped.ends_with('\n'), "{dumped}");
    assert_eq!(buffer[size as usize], 0);
    assert!(iterator > start);
    // Too small for any of them.
    let (mut again, mut size) = (start, 10u64);
    let args = [at(&mut again), at(&mut buffer[..]), at(&mut size), 0];
    assert_eq!((call("cuLogsDumpToMemory", &args), size), (1, 0));
    ok("cuLogsUnregisterCallback", &[handle]);
    if own() {
        assert_eq!(call("cuLogsUnregisterCallback", &[handle]), 1);
    }
    assert_eq!(call("cuLogsRegisterCallback", &[0, 0, at(&mut handle)]), 1);
    assert_eq!(call("cuLogsCurrent", &[0, 0]), 1);
    assert_eq!(call("cuLogsCurrent", &[at(&mut iterator), 1]), 1);
}

/// Work that lasts: turns until so many nanoseconds are over, then stores 7. And what constants hold.
const LONG: &str = "\
.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry spin(.param .u64 ns, .param .u64 to)
{
    .reg .b64 %rd<6>; .reg .pred %p;
    ld.param.u64 %rd1, [ns]; ld.param.u64 %rd5, [to]; mov.u64 %rd2, %globaltimer;
L:  mov.u64 %rd3, %globaltimer; sub.u64 %rd4, %rd3, %rd2; setp.lt.u64 %p, %rd4, %rd1; @%p bra L;
    st.global.u32 [%rd5], 7;
    ret;
}
.visible .entry write(.param .u64 at)
{
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [at]; st.global.u32 [%rd1], 99; st.global.u32 [%rd1+8], 77;
    ret;
}
.visible .entry read(.param .u64 to)
{
    .reg .b64 %rd1; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [to];
    ld.const.u32 %r0, [table]; ld.const.u32 %r1, [table+4]; ld.const.u32 %r2, [table+8];
    st.global.u32 [%rd1], %r0; st.global.u32 [%rd1+4], %r1; st.global.u32 [%rd1+8], %r2;
    ret;
}
\0";

fn words<const N: usize>(from: u64) -> [u32; N] {
    let mut words = [0u32; N];
    ok("cuMemcpyDtoH_v2", &[at(&mut words), from, 4 * N as u64]);
    words
}

/// A kernel of 200 ms in a stream with these flags, which is destroyed at once; where its 7 will be.
fn left_running(flags: u64) -> u64 {
    let spin = function(module(LONG), "spin\0");
    let to = alloc(64);
    ok("cuMemsetD8_v2", &[to, 0, 64]);
    ok("cuCtxSynchronize", &[]);
    let mut stream = 0u64;
    ok("cuStreamCreate", &[at(&mut stream), flags]);
    assert_eq!(launch(spin, [1; 3], [1; 3], stream, &[200_000_000, to]), 0);
    ok("cuStreamDestroy_v2", &[stream]);
    to
}

/// An H100: the call returns at once, and the work goes on.
#[test]
fn work_of_destroyed_streams_is_waited_for() {
    let _alone = alone();
    context();
    let to = left_running(1);
    ok("cuCtxSynchronize", &[]);
    assert_eq!(words(to), [7]);
    // A copy is work of the legacy stream, which waits for blocking streams.
    assert_eq!(words(left_running(0)), [7]);
}

/// An H100: `cuModuleGetGlobal` gives an address that kernels write, and later launches read what they wrote.
#[test]
fn constants_are_written_through_their_address() {
    let _alone = alone();
    context();
    let module = module(LONG);
    let (mut table, mut bytes, to) = (0u64, 0u64, alloc(64));
    ok("cuModuleGetGlobal_v2", &[at(&mut table), at(&mut bytes), module, text("table\0")]);
    let start = |name, argument: u64| {
        assert_eq!(launch(function(module, name), [1; 3], [1; 3], 0, &[argument]), 0);
    };
    for wanted in [[1, 2, 3], [99, 2, 77]] {
        start("read\0", to);
        assert_eq!((bytes, words(to)), (16, wanted));
        start("write\0", table);
    }
    ok("cuCtxSynchronize", &[]);
}
