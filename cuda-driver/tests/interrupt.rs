//! Ctrl-C while a kernel runs without an end, in a process of its own: a program with a handler hears of every signal,
//! and the second one ends the launch.
#![cfg(unix)]

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry endless() { L: bra L; }
.visible .entry k() { ret; }
\0";

static HEARD: AtomicU32 = AtomicU32::new(0);

extern "C" fn hear(_: libc::c_int) {
    HEARD.fetch_add(1, Ordering::Relaxed);
}

/// What is set for the signal now.
fn handler() -> libc::sighandler_t {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a place for the answer, of which all zeros are a valid one.
    unsafe {
        libc::sigaction(libc::SIGINT, std::ptr::null(), now.as_mut_ptr());
        now.assume_init().sa_sigaction
    }
}

#[test]
fn the_second_signal_ends_a_launch() {
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGINT, hear as *const () as libc::sighandler_t) };
    let raise = || {
        std::thread::sleep(Duration::from_millis(300));
        // SAFETY: a signal for which there is a handler.
        unsafe { libc::raise(libc::SIGINT) };
    };
    context();
    let kernel = function(module(PTX), "endless\0");
    assert_eq!(launch(kernel, [1; 3], [32, 1, 1], 0, &[]), 0);
    let signals = std::thread::spawn(move || {
        raise();
        let once = HEARD.load(Ordering::Relaxed);
        raise();
        once
    });
    // What a kernel that was killed leaves: CUDA_ERROR_LAUNCH_FAILED.
    assert_eq!(call("cuCtxSynchronize", &[]), 719);
    assert_eq!(signals.join().unwrap(), 1);
    assert_eq!(HEARD.load(Ordering::Relaxed), 2);

    // Nothing of it is left for the next context, and the program's handler is its own again.
    context();
    assert_eq!(launch(function(module(PTX), "k\0"), [1; 3], [1; 3], 0, &[]), 0);
    ok("cuCtxSynchronize", &[]);
    assert_eq!(handler(), hear as *const () as libc::sighandler_t);
    // Nor of several in a row, of which the driver looks at the program's handler once.
    let kernel = function(module(PTX), "k\0");
    for _ in 0..100 {
        assert_eq!(launch(kernel, [1; 3], [1; 3], 0, &[]), 0);
    }
    ok("cuCtxSynchronize", &[]);
    assert_eq!(handler(), hear as *const () as libc::sighandler_t);
    raise();
    assert_eq!(HEARD.load(Ordering::Relaxed), 3);
}
