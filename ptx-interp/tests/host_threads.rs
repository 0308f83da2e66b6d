//! One host thread or several: the same results, the same output.

mod common;

use common::*;

const REGS: &str = "
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid;
    mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
";

#[test]
fn printf_comes_in_block_order_and_malloc_gives_memory() {
    let text = "
.version 8.4
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.global .align 1 .b8 text[16] = {98, 108, 111, 99, 107, 32, 37, 100, 32, 37, 46, 49, 102, 10, 0, 0};
.visible .entry k()
{
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f64 %fd<4>;
    .local .align 8 .b8 args[16];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    { .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n); ld.param.b64 %rd4, [r]; }
    st.u32 [%rd4+60], %r1; ld.u32 %r1, [%rd4+60];
    { .param .b64 p; st.param.b64 [p], %rd4; call.uni free, (p); }
    mov.u64 %rd1, args; cvta.local.u64 %rd2, %rd1;
    cvt.rn.f64.u32 %fd1, %r2; st.local.u32 [%rd1], %r1; st.local.f64 [%rd1+8], %fd1;
    mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3;
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;
      call.uni (r), vprintf, (f, a); ld.param.b32 %r3, [r]; }
    setp.ne.u32 %p1, %r3, 2; @%p1 trap;
    ret;
}";
    let k = kernel(text);
    for threads in [1, 3] {
        let mut b = Bench::new(50, 2);
        b.params.threads = threads;
        let at = b.memory.alloc(16, 1, "text", ptx_interp::Access::ReadOnly).unwrap();
        b.memory.write(at, b"block %d %.1f\n\0\0").unwrap();
        b.params.symbols = vec![at];
        b.run(&k);
        let expected: String = (0..50).map(|n| format!("block {n} 0.0\nblock {n} 1.0\n")).collect();
        assert_eq!(b.printed(), expected);
        assert_eq!(b.memory.used(), 16);
    }
}

/// Blocks print more than is held for them: the first goes on, the other waits for it and loses the rest.
#[test]
fn printf_holds_so_much_text() {
    let text = "
.version 8.4
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[16];
.visible .entry k(.param .u32 first, .param .u32 other)
{
    .reg .pred %p<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    .local .align 8 .b8 args[8];
    mov.u32 %r1, %ctaid.x; ld.param.u32 %r2, [first]; ld.param.u32 %r3, [other];
    setp.eq.u32 %p1, %r1, 0; selp.u32 %r4, %r2, %r3, %p1;
    mov.u64 %rd1, args; cvta.local.u64 %rd2, %rd1; mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3;
    st.local.u32 [%rd1], %r1;
$L: { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;
      call.uni (r), vprintf, (f, a); ld.param.b32 %r5, [r]; }
    sub.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra $L;
    ret;
}";
    let k = kernel(text);
    // 4 KiB for each lane of a warp.
    let printed = |first: u32, other: u32| {
        let mut b = Bench::new(2, 32);
        let at = b.memory.alloc(16, 1, "text", ptx_interp::Access::ReadOnly).unwrap();
        b.memory.write(at, b"%4096d\0").unwrap();
        b.params.symbols = vec![at];
        b.arg(&first.to_le_bytes()).arg(&other.to_le_bytes());
        b.params.threads = 2;
        b.run(&k);
        b.printed()
    };
    let few = printed(2, 3);
    assert_eq!(few.len(), 5 * 32 * 4096);
    assert!(few[..2 * 32 * 4096].ends_with('0') && few.ends_with('1'));
    // 80 MiB of the first block: all of it comes out.
    let many = printed(640, 1);
    assert_eq!(many.len(), 641 * 32 * 4096);
    assert!(many.ends_with('1'));
}

#[test]
fn results_do_not_depend_on_host_threads() {
    let body = "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r1;
        mul.lo.u32 %r6, %r5, 2654435761; shr.u32 %r6, %r6, 22; mul.wide.u32 %rd4, %r6, 4;
        add.u64 %rd5, %rd1, %rd4; red.global.add.u32 [%rd5], %r5; red.global.max.u32 [%rd5+4096], %r5; ret;";
    let k = kernel(&module("sm_80", ".param .u64 out", &format!("{REGS} {body}")));
    let results: Vec<_> = [1, 2, 5]
        .iter()
        .map(|threads| {
            let mut b = Bench::new(100, 128);
            b.params.threads = *threads;
            // Sums, then maxima: the two do not commute on one word.
            let out = b.buffer(&[0; 2048]);
            b.run(&k);
            b.words(out, 2048)
        })
        .collect();
    assert!(results[0].iter().any(|v| *v > 12800));
    assert!(results.iter().all(|r| *r == results[0]));
}
