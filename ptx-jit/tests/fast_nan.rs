//! `Options::fast_nan`: NaNs where the interpreter has them, of any payload; everything else the same.

mod common;

use common::{Case, module};
use ptx_jit::{Options, compile};

const BODY: &str = ".reg .b32 %r<4>; .reg .f32 %f<8>; .reg .f64 %d<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd7, [c]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd5]; sub.f32 %f3, %f1, %f2; mul.f32 %f4, %f3, %f2;
    cvt.f64.f32 %d1, %f3; mul.f64 %d2, %d1, %d1; st.global.f32 [%rd4], %f4;
    mul.wide.u32 %rd3, %r1, 8; add.s64 %rd6, %rd7, %rd3; st.global.f64 [%rd6], %d2; ret;";

#[test]
fn only_payloads_differ() {
    let text = module("sm_70", ".param .u64 a, .param .u64 b, .param .u64 c", BODY);
    let fast = Options { fast_nan: true, ..Options::default() };
    for block in [1, 8, 64] {
        let new = || {
            let mut case = Case::new(&text, "k", [1; 3], [block, 1, 1]).unwrap();
            let values = [1.0, f32::INFINITY, -0.0, f32::NAN, 3.5, 1e30, f32::NEG_INFINITY];
            case.words((0..64).map(|n| values[n % 7].to_bits()));
            case.words((0..64).map(|n| values[n / 7 % 7].to_bits()));
            case.words([0; 128]);
            case
        };
        let case = new();
        let code = |options| compile(&case.program, [block, 1, 1], None, options).unwrap();
        let (exact, loose) = (code(Options::default()), code(fast));
        assert!(loose.stats.values < exact.stats.values, "nothing makes the GPU's NaN");
        case.interpret().unwrap();
        case.run_compiled(&loose).unwrap();
        let mut numbers = 0;
        for (buffer, bytes) in [(0, 4), (2, 8)] {
            let got = case.copies.bytes(case.buffers[buffer]);
            let mut want = vec![0; got.len()];
            case.memory.read(case.buffers[buffer], &mut want).unwrap();
            let number = |b: &[u8]| match b.len() {
                4 => f64::from(f32::from_le_bytes(b.try_into().unwrap())),
                _ => f64::from_le_bytes(b.try_into().unwrap()),
            };
            for (n, (a, b)) in got.chunks(bytes).zip(want.chunks(bytes)).enumerate() {
                assert!(a == b || number(a).is_nan() && number(b).is_nan(), "{buffer}, {n}");
                numbers += usize::from(!number(a).is_nan());
            }
        }
        assert!(numbers >= 64);
    }
}
