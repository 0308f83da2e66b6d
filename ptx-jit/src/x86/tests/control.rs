//! Constants, branches, calls, and more values than there are registers.

use super::*;

fn extended(b: &mut B, c: i32, signed: bool) -> Value {
    let c = b.ins().iconst(I32, i64::from(c as u32));
    if signed { b.ins().sextend(I64, c) } else { b.ins().uextend(I64, c) }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn extended_constants() {
    for (c, signed, want) in [
        (-7, false, 0xffff_fff9u64),
        (-7, true, -7i64 as u64),
        (i32::MIN, false, 0x8000_0000),
        (i32::MIN, true, i64::from(i32::MIN) as u64),
        (5, false, 5),
        (5, true, 5),
    ] {
        let mut m = Rows::new();
        let x = m.longs(0)[0];
        let got = run(&mut m, |b, p| {
            let x = b.ins().load(I64, plain(), p, 0);
            let new = |b: &mut B| extended(b, c, signed);
            let k = [new(b), new(b), new(b), new(b), new(b)];
            // As an addend, a factor, what is compared, stored, of all lanes.
            let sum = b.ins().iadd(x, k[0]);
            let product = b.ins().imul(x, k[1]);
            let less = b.ins().icmp(IntCC::UnsignedLessThan, x, k[2]);
            let less = b.ins().uextend(I64, less);
            let all = b.ins().splat(I64X8, k[3]);
            store(b, all, p, 40);
            for (n, v) in [sum, product, less, k[4]].into_iter().enumerate() {
                b.ins().store(plain(), v, p, 41 * 64 + n as i32 * 8);
            }
            new(b)
        });
        let name = format!("{c} {}", if signed { "with its sign" } else { "with zeros" });
        assert_eq!(got, want, "{name}");
        assert_eq!(m.longs(40), [want; 8], "{name} in all lanes");
        let results = [x.wrapping_add(want), x.wrapping_mul(want), u64::from(x < want), want];
        assert_eq!(m.longs(41)[..4], results, "{name}");
    }
}

/// A branch on `c`: 1, or 2 where it is 0.
fn branch(b: &mut B, c: Value) -> Value {
    let [yes, no, join] = [(); 3].map(|()| b.create_block());
    let result = b.append_block_param(join, I64);
    b.ins().brif(c, yes, &[], no, &[]);
    for (block, n) in [(yes, 1), (no, 2)] {
        b.switch_to_block(block);
        let n = b.ins().iconst(I64, n);
        b.ins().jump(join, &[BlockArg::Value(n)]);
    }
    b.switch_to_block(join);
    result
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn branches() {
    let cases = [(0u64, I32), (0x100, I32), (0x1_0000_0000, I32), (0x100, I8), (1, I8)];
    for (x, ty) in cases.into_iter().chain([(0x1_0000_0000, I64), (0, I64)]) {
        let mut m = Rows::new();
        m.0[0][..2].copy_from_slice(&[x as u32, (x >> 32) as u32]);
        let cut = x << (64 - ty.bits());
        let got = run(&mut m, |b, p| {
            let x = b.ins().load(I64, plain(), p, 0);
            let c = if ty == I64 { x } else { b.ins().ireduce(ty, x) };
            branch(b, c)
        });
        assert_eq!(got, if cut != 0 { 1 } else { 2 }, "a branch on {x:#x} of {ty}");
        let got = run(&mut m, |b, p| {
            let c = b.ins().load(ty, plain(), p, 0);
            let [yes, no] = [1, 2].map(|n| vconst32(b, &[n; 16]));
            let v = b.ins().select(c, yes, no);
            let lane = b.ins().extractlane(v, 15);
            b.ins().uextend(I64, lane)
        });
        assert_eq!(got, if cut != 0 { 1 } else { 2 }, "a choice of vectors by {x:#x} of {ty}");
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn branches_on_masks() {
    for k in [0u16, 1, 0x8000, 0xfffe, 0xffff] {
        for (cc, all) in [
            (IntCC::NotEqual, 0),
            (IntCC::Equal, 0),
            (IntCC::NotEqual, 0xffff),
            (IntCC::Equal, 0xffff),
        ] {
            let mut m = Rows::new();
            m.0[0][0] = k.into();
            let got = run(&mut m, |b, p| {
                let k = mask_at(b, p, 0);
                let all = mask(b, all);
                let c = b.ins().icmp(cc, k, all);
                branch(b, c)
            });
            assert_eq!(got == 1, ordered(cc, k.into(), i64::from(all)), "{k:#x} {cc} {all:#x}");
        }
        let mut m = Rows::new();
        m.0[0][0] = k.into();
        let got = run(&mut m, |b, p| {
            let k = mask_at(b, p, 0);
            b.ins().uextend(I64, k)
        });
        assert_eq!(got, u64::from(k), "a mask as a number");
        // Lanes of a scalar, and halves joined.
        run(&mut m, |b, p| {
            let c = b.ins().load(I8, plain(), p, 0);
            let full = word(b, Word::Full, 0, &[c], MASK);
            store(b, full, p, 40);
            let k = mask_at(b, p, 0);
            let not = b.ins().bnot(k);
            let both = word(b, Word::Join, 0, &[k, not], MASK);
            store(b, both, p, 41);
            zero(b)
        });
        assert_eq!(m.0[40][0], if k & 255 != 0 { 0xffff } else { 0 }, "lanes of {k:#x}");
        assert_eq!(m.0[41][0], u32::from(k & 255 | !k << 8), "halves of {k:#x}");
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn tables() {
    let blob = compile(Form::AVX512, |b, p| {
        let index = b.ins().load(I32, plain(), p, 0);
        let join = b.create_block();
        let result = b.append_block_param(join, I64);
        let blocks: Vec<Block> = (0..4).map(|_| b.create_block()).collect();
        let calls: Vec<_> = blocks.iter().map(|to| b.func.dfg.block_call(*to, &[])).collect();
        let table = b.create_jump_table(JumpTableData::new(calls[3], &calls[..3]));
        b.ins().br_table(index, table);
        for (n, block) in blocks.iter().enumerate() {
            b.switch_to_block(*block);
            let n = b.ins().iconst(I64, 10 + n as i64);
            b.ins().jump(join, &[BlockArg::Value(n)]);
        }
        b.switch_to_block(join);
        result
    })
    .unwrap();
    // SAFETY: the function was compiled with this signature and calling convention.
    let f = unsafe { std::mem::transmute::<usize, extern "C" fn(*mut Rows) -> u64>(blob.at(0)) };
    for (index, want) in [(0, 10), (1, 11), (2, 12), (3, 13), (4, 13), (u32::MAX, 13)] {
        let mut m = Rows::new();
        m.0[0][0] = index;
        assert_eq!(f(&mut m), want, "index {index}");
    }
}

/// Values of all kinds go round a loop and change places in each turn.
#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn loops_with_parameters() {
    let mut m = Rows::new();
    let turns = 7;
    run(&mut m, |b, p| {
        let [x, y] = [0, 1].map(|n| load(b, I32X16, p, n));
        let [k, l] = [2, 3].map(|n| mask_at(b, p, n));
        let n = b.ins().iconst(I64, turns);
        let f = b.ins().load(F32, plain(), p, 8 * 64);
        let (head, end) = (b.create_block(), b.create_block());
        let start = [x, y, k, l, n, f];
        let params = [I32X16, I32X16, MASK, MASK, I64, F32].map(|t| b.append_block_param(head, t));
        b.ins().jump(head, &start.map(BlockArg::Value));
        b.switch_to_block(head);
        let [x, y, k, l, n, f] = params;
        let sum = b.ins().iadd(x, y);
        let either = b.ins().bxor(k, l);
        let less = b.ins().iadd_imm_s(n, -1);
        let more = b.ins().icmp_imm_s(IntCC::NotEqual, less, 0);
        let next = [y, sum, l, either, less, f].map(BlockArg::Value);
        b.ins().brif(more, head, &next, end, &[]);
        b.switch_to_block(end);
        for (row, v) in [(40, x), (41, sum), (42, k), (43, either), (44, n), (45, f)] {
            store(b, v, p, row);
        }
        zero(b)
    });
    let (mut x, mut y) = (m.0[0], m.0[1]);
    let (mut k, mut l) = (m.0[2][0] as u16, m.0[3][0] as u16);
    for turn in 0..turns {
        let sum: [u32; 16] = std::array::from_fn(|n| x[n].wrapping_add(y[n]));
        let either = k ^ l;
        if turn == turns - 1 {
            assert_eq!([m.0[40], m.0[41]], [x, sum]);
            assert_eq!([m.0[42][0], m.0[43][0]], [u32::from(k), u32::from(either)]);
        }
        (x, y, k, l) = (y, sum, l, either);
    }
    assert_eq!([m.0[44][0], m.0[45][0]], [1, m.0[8][0]]);
}

/// A function for [`registers_are_spilled`].
extern "C" fn count(place: *mut u64, by: u64) {
    // SAFETY: the test passes the address of eight bytes of its rows, and nobody else uses them.
    unsafe { *place += by };
}

/// Forty vectors, twenty masks and thirty scalars live across a branch and a call.
#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn registers_are_spilled() {
    let mut m = Rows::new();
    m.0[94] = [0; 16];
    let got = run(&mut m, |b, p| {
        let vectors: Vec<Value> = (0..40)
            .map(|n| {
                let [x, y] = [n % 32, (n + 7) % 32].map(|r| load(b, I32X16, p, r));
                b.ins().iadd(x, y)
            })
            .collect();
        let masks: Vec<Value> = (0..20)
            .map(|n| {
                let [x, y] = [n, n + 1].map(|r| load(b, I32X16, p, r));
                word(b, Word::Test, 0, &[x, y], MASK)
            })
            .collect();
        let scalars: Vec<Value> = (0..30)
            .map(|n| {
                let x = b.ins().load(I64, plain(), p, n * 8);
                b.ins().iadd(x, p)
            })
            .collect();
        let c = b.ins().load(I32, plain(), p, 0);
        let taken = branch(b, c);
        let mut sig = Signature::new(CallConv::SystemV);
        sig.params.extend([AbiParam::new(I64); 2]);
        let sig = b.import_signature(sig);
        let f = b.ins().iconst(I64, count as *const () as i64);
        let place = b.ins().iadd_imm_s(p, 94 * 64);
        let by = b.ins().iconst(I64, 5);
        b.ins().call_indirect(sig, f, &[place, by]);
        for (n, v) in vectors.into_iter().enumerate() {
            store(b, v, p, 32 + n);
        }
        for (n, k) in masks.into_iter().enumerate() {
            b.ins().store(plain(), k, p, 80 * 64 + n as i32 * 4);
        }
        for (n, s) in scalars.into_iter().enumerate() {
            let s = b.ins().isub(s, p);
            b.ins().store(plain(), s, p, 84 * 64 + n as i32 * 8);
        }
        taken
    });
    assert_eq!(got, if m.0[0][0] != 0 { 1 } else { 2 });
    assert_eq!(m.longs(94)[0], 5);
    for n in 0..40 {
        let want: [u32; 16] =
            std::array::from_fn(|l| m.0[n % 32][l].wrapping_add(m.0[(n + 7) % 32][l]));
        assert_eq!(m.0[32 + n], want, "vector {n}");
    }
    for n in 0..20 {
        let want = (0..16).fold(0, |k, l| k | u32::from(m.0[n][l] & m.0[n + 1][l] != 0) << l);
        assert_eq!(m.0.as_flattened()[80 * 16 + n], want, "mask {n}");
    }
    for n in 0..30 {
        assert_eq!(m.longs(84 + n / 8)[n % 8], m.longs(n / 8)[n % 8], "scalar {n}");
    }
}

/// What has no form is refused, and never made wrongly.
#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn refusals() {
    let table: [(&str, Build); 3] = [
        ("udiv", |b, [_, x, y]| b.ins().udiv(x, y)),
        ("rotl", |b, [_, x, y]| b.ins().rotl(x, y)),
        ("sum of masks", |b, [p, ..]| {
            let k = mask_at(b, p, 0);
            let k = b.ins().iadd(k, k);
            b.ins().uextend(I64, k)
        }),
    ];
    for (name, build) in table {
        let made = compile(Form::AVX512, |b, p| {
            let [x, y] = [0, 8].map(|n| b.ins().load(I64, plain(), p, n));
            build(b, [p, x, y])
        });
        assert!(made.is_err(), "{name}");
    }
}
