//! Straight code, memory, control flow, barriers and calls.

mod common;

use common::*;
use ptx_interp::Isa;

const ISAS: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

#[test]
fn vector_addition_with_a_ragged_end() {
    let text = module(
        "sm_70",
        ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n",
        include_str!("kernels/vector_add.ptx"),
    );
    for isa in ISAS {
        let k = kernel_named(&text, "k", isa);
        let n = 1000;
        let f = |v: f32| v.to_bits();
        let mut b = Bench::new(8, 128);
        b.buffer(&(0..n).map(|i| f(i as f32)).collect::<Vec<_>>());
        b.buffer(&(0..n).map(|i| f(0.5 * i as f32)).collect::<Vec<_>>());
        let c = b.buffer(&vec![0; n]);
        b.arg(&(n as u32).to_le_bytes());
        for threads in [1, 2] {
            b.params.threads = threads;
            let stats = b.run(&k);
            assert_eq!(stats.blocks, 8);
            let expected: Vec<_> = (0..n).map(|i| f(1.5 * i as f32)).collect();
            assert_eq!(b.words(c, n), expected, "{isa:?}");
        }
    }
}

#[test]
fn divergent_loop_and_reconvergence() {
    // Collatz lengths: every lane loops its own number of times.
    let body = "
        .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; mov.u32 %r3, 0;
        $loop: setp.le.u32 %p1, %r2, 1; @%p1 bra $done;
        and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra $even;
        mad.lo.u32 %r2, %r2, 3, 1; bra $next;
        $even: shr.u32 %r2, %r2, 1;
        $next: add.u32 %r3, %r3, 1; bra $loop;
        $done: activemask.b32 %r6;
        mul.wide.u32 %rd2, %r1, 8; add.u64 %rd3, %rd1, %rd2;
        st.global.v2.u32 [%rd3], {%r3, %r6};
        ret;";
    let steps = |mut v: u32| {
        let mut n = 0;
        while v > 1 {
            v = if v & 1 == 0 { v / 2 } else { 3 * v + 1 };
            n += 1;
        }
        n
    };
    for target in ["sm_60", "sm_70"] {
        let k = kernel(&module(target, ".param .u64 out", body));
        let mut b = Bench::new(1, 70);
        let out = b.buffer(&[0; 140]);
        b.run(&k);
        let got = b.words(out, 140);
        for t in 0..70 {
            assert_eq!(got[2 * t], steps(t as u32 + 1), "{target} thread {t}");
            let all = if t < 64 { u32::MAX } else { 0x3f };
            assert_eq!(got[2 * t + 1], all, "lanes of thread {t} met again");
        }
    }
}

#[test]
fn reduction_in_shared_memory() {
    let text = module(
        "sm_50",
        ".param .u64 in, .param .u64 out",
        include_str!("kernels/reduce_shared.ptx"),
    );
    let k = kernel(&text);
    let mut b = Bench::new(3, 256);
    let input: Vec<u32> = (0..768).map(|i| i * i + 7).collect();
    b.buffer(&input);
    let out = b.buffer(&[0; 3]);
    b.run(&k);
    let sums: Vec<u32> = input.chunks(256).map(|c| c.iter().sum()).collect();
    assert_eq!(b.words(out, 3), sums);
}

#[test]
fn shuffle_vote_and_guards() {
    let text = module(
        "sm_80",
        ".param .u64 out",
        "
        .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<8>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %laneid; mov.u32 %r2, %r1;
        shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1; add.u32 %r2, %r2, %r3;
        shfl.sync.bfly.b32 %r3, %r2, 8, 31, -1; add.u32 %r2, %r2, %r3;
        shfl.sync.bfly.b32 %r3, %r2, 4, 31, -1; add.u32 %r2, %r2, %r3;
        shfl.sync.bfly.b32 %r3, %r2, 2, 31, -1; add.u32 %r2, %r2, %r3;
        shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; add.u32 %r2, %r2, %r3;
        and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 1;
        vote.sync.ballot.b32 %r5, %p1, -1;
        mov.u32 %r6, 5;
        @%p1 mov.u32 %r6, 6;
        @%p1 add.u32 %r6, %r6, %r1;
        @!%p1 add.u32 %r6, %r6, 100;
        mul.wide.u32 %rd2, %r1, 16; add.u64 %rd3, %rd1, %rd2;
        st.global.v4.u32 [%rd3], {%r2, %r5, %r6, %r4};
        ret;",
    );
    let k = kernel(&text);
    let mut b = Bench::new(1, 32);
    let out = b.buffer(&[0; 128]);
    b.run(&k);
    let got = b.words(out, 128);
    for l in 0..32 {
        let odd = l % 2 == 1;
        let expected = [496, 0xaaaa_aaaa, if odd { 6 + l } else { 105 }, odd as u32];
        assert_eq!(got[4 * l as usize..][..4], expected);
    }
}

#[test]
fn spin_lock_between_lanes_of_a_warp_ends_from_sm70_on() {
    let body = "
        .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<8>;
        ld.param.u64 %rd1, [lock];
        $try: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $try;
        ld.global.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1+4], %r2;
        membar.gl;
        atom.global.exch.b32 %r3, [%rd1], 0;
        ret;";
    let k = kernel(&module("sm_70", ".param .u64 lock", body));
    let mut b = Bench::new(4, 96);
    let lock = b.buffer(&[0, 0]);
    b.params.threads = 2;
    b.run(&k);
    assert_eq!(b.words(lock, 2), [0, 4 * 96]);

    let k = kernel(&module("sm_60", ".param .u64 lock", body));
    let mut b = Bench::new(1, 32);
    b.buffer(&[0, 0]);
    b.params.step_limit = Some(1 << 20);
    let report = b.fault(&k, ptx_interp::FaultKind::StepLimit);
    assert!(report.message.contains("never ends"), "{report}");
}

#[test]
fn recursion_function_pointers_and_local_memory() {
    let text = "
.version 8.4
.target sm_75
.address_size 64
.func (.param .b32 r) fib(.param .b32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<8>;
    ld.param.u32 %r1, [n];
    setp.lt.u32 %p1, %r1, 2; @%p1 bra $leaf;
    sub.u32 %r2, %r1, 1; sub.u32 %r3, %r1, 2;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), fib, (a); ld.param.b32 %r5, [b]; }
    add.u32 %r6, %r4, %r5; st.param.b32 [r], %r6; ret;
    $leaf: st.param.b32 [r], %r1; ret;
}
.func (.reg .b32 r) twice(.reg .b32 n) { add.u32 r, n, n; ret; }
.func (.reg .b32 r) square(.reg .b32 n) { mul.lo.u32 r, n, n; ret; }
.global .u64 table[2] = { twice, square };
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
    .local .align 4 .b8 box[64];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 7;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }
    and.b32 %r4, %r1, 1; mul.wide.u32 %rd2, %r4, 8; mov.u64 %rd3, table; add.u64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
    call (%r5), %rd4, (%r1), proto;
    // box[tid % 16] = r5, read back through a generic address
    mov.u64 %rd5, box; and.b32 %r6, %r1, 15; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd7, %rd5, %rd6;
    st.local.u32 [%rd7], %r5;
    cvta.local.u64 %rd8, %rd7; ld.u32 %r7, [%rd8];
    mul.wide.u32 %rd9, %r1, 8; add.u64 %rd10, %rd1, %rd9;
    st.global.v2.u32 [%rd10], {%r3, %r7};
    ret;
}
";
    let k = kernel(text);
    let (module, _) = ptx_parse::parse_and_verify(text, "test.ptx");
    let module = module.unwrap();
    let mut b = Bench::new(1, 64);
    let out = b.buffer(&[0; 128]);
    let symbol = module.symbols.iter().position(|s| s.name == "table").unwrap();
    let names = ["twice", "square"];
    let id = |n: &str| module.functions.iter().position(|f| f.name == n).unwrap() as u32;
    let table: Vec<u8> =
        names.iter().flat_map(|n| ptx_parse::code::function_address(id(n)).to_le_bytes()).collect();
    let at = b.memory.alloc(16, 8, "table", ptx_interp::Access::ReadWrite).unwrap();
    b.memory.write(at, &table).unwrap();
    b.params.symbols = vec![0; module.symbols.len()];
    b.params.symbols[symbol] = at;
    b.run(&k);
    let got = b.words(out, 128);
    let fib = [0, 1, 1, 2, 3, 5, 8, 13];
    for t in 0..64u32 {
        let second = if t % 2 == 0 { 2 * t } else { t * t };
        assert_eq!(got[2 * t as usize..][..2], [fib[t as usize % 8], second], "thread {t}");
    }
}
