//! The lane loops of every instruction set of the host; what kernels do is tested in `tests/ptx`.

mod common;

use common::*;
use ptx_interp::Isa;

fn adds_vectors(isa: Isa) {
    let text = module(
        "sm_70",
        ".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n",
        include_str!("kernels/vector_add.ptx"),
    );
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
        assert_eq!(b.words(c, n), expected);
    }
}

fn baseline_adds_vectors() {
    adds_vectors(Isa::Baseline);
}

fn avx2_adds_vectors() {
    adds_vectors(Isa::Avx2);
}

fn avx512_adds_vectors() {
    adds_vectors(Isa::Avx512);
}

golden::tests! {
    baseline_adds_vectors,
    avx2_adds_vectors: condition("AVX2", Isa::detect() >= Isa::Avx2),
    avx512_adds_vectors: condition("AVX-512", Isa::detect() >= Isa::Avx512),
}
