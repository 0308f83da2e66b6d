//! `PTXRUN_TIMING=1`: events read the modelled device's clock, in a process of its own.

mod common;

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to, .param .u32 turns)
{
    .reg .b64 %rd1; .reg .b32 %r<4>; .reg .pred %p;
    ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [turns]; mov.u32 %r2, 0; mov.u32 %r3, 1;
L:  mad.lo.u32 %r3, %r3, 5, %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra L;
    st.global.u32 [%rd1], %r3;
    ret;
}
\0";

/// Microseconds of `work` by two events.
fn microseconds(work: impl FnOnce()) -> f32 {
    let (mut from, mut to, mut ms) = (0u64, 0u64, 0f32);
    ok("cuEventCreate", &[at(&mut from), 0]);
    ok("cuEventCreate", &[at(&mut to), 0]);
    ok("cuEventRecord", &[from, 0]);
    work();
    ok("cuEventRecord", &[to, 0]);
    ok("cuEventSynchronize", &[to]);
    ok("cuEventElapsedTime", &[at(&mut ms), from, to]);
    ms * 1e3
}

#[test]
fn events_read_the_modelled_clock() {
    // SAFETY: the only test of this process, before the driver is asked for the first time.
    unsafe { std::env::set_var("PTXRUN_TIMING", "1") };
    context();
    let kernel = function(module(PTX), "k\0");
    let to = alloc(1 << 20);
    let run = |turns: u64| {
        microseconds(|| {
            assert_eq!(launch(kernel, [4, 1, 1], [128, 1, 1], 0, &[to, turns]), 0);
        })
    };
    run(1000);
    let (short, long) = (run(1000), run(4000));
    // The same work takes the same time, whatever the host does meanwhile.
    assert_eq!(run(1000), short);
    assert!(short > 1.0 && long > 2.0 * short && long < 1000.0, "{short} and {long} us");
    let pause = || std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(microseconds(pause), 0.0);
    let mut host = vec![1u8; 1 << 20];
    let copy = microseconds(|| ok("cuMemcpyHtoD_v2", &[to, at(&mut host[..]), 1 << 20]));
    let fill = microseconds(|| ok("cuMemsetD8_v2", &[to, 0, 1 << 20]));
    // A link is slower than memory.
    assert!(copy > fill && fill > 0.1 && copy < 10_000.0, "{copy} and {fill} us");
}
