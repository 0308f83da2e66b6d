//! A host program's own signal handler: a fault in a kernel is reported without it, and it works on.

mod common;

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use common::{Case, module};

static CAUGHT: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The host's handler: makes the page readable, so that the access goes on.
extern "C" fn handler(_: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the page was mapped by the test and stays mapped.
    unsafe { libc::mprotect(PAGE.load(Ordering::SeqCst), 4096, libc::PROT_READ) };
}

#[test]
fn own_handler_survives() {
    // SAFETY: an anonymous mapping; the handler only touches it and atomics.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        PAGE.store(page, Ordering::SeqCst);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()), 0);
    }
    let text = module(
        "sm_70",
        ".param .u64 a",
        ".reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4096;
        add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd1], %r2; ret;",
    );
    let mut case = Case::new(&text, "k", [1; 3], [64, 1, 1]).unwrap();
    case.words([7; 16]);
    let kernel = case.compile().unwrap();
    let stop = case.run_compiled(&kernel).unwrap_err();
    assert!(matches!(stop, ptx_jit::Stop::Fault { .. }), "{stop:?}");
    assert_eq!(CAUGHT.load(Ordering::SeqCst), 0, "the kernel's fault is no signal");
    // SAFETY: the handler makes the page readable.
    let value = unsafe { PAGE.load(Ordering::SeqCst).cast::<u32>().read_volatile() };
    assert_eq!((value, CAUGHT.load(Ordering::SeqCst)), (0, 1), "the handler is still there");
}
