//! What calls do, where an H200 with driver 580.159.04 was asked first.

mod common;

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { ret; }
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
