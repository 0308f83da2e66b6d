//! Masks that are vectors, and words that take several instructions with 256 bits.

use super::*;
use crate::clif::vector;

const FORM: Form = Form::AVX2;

/// Both vectors of the first three rows, as `ty`, to the rows from 40 on that `body` gives.
fn on_rows(m: &mut Rows, ty: Type, body: impl Fn(&mut B, [Value; 3]) -> Vec<Value>) {
    run_as(FORM, m, |b, p| {
        for part in 0..2 {
            let args = [0, 1, 2].map(|n| load_part(b, ty, p, n, part));
            for (n, x) in body(b, args).into_iter().enumerate() {
                store_part(b, x, p, 40 + n, part);
            }
        }
        zero(b)
    });
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn comparisons_and_choices() {
    for cc in ORDERS {
        for constant in [false, true] {
            let mut m = Rows::new();
            // Some are equal.
            (0..16).filter(|n| n % 3 == 0).for_each(|n| m.0[1][n] = m.0[0][n]);
            let same = m.0[1][5];
            let body = |b: &mut B, [x, y, z]: [Value; 3]| {
                let ty = b.func.dfg.value_type(x);
                let y = match (constant, ty.lane_bits()) {
                    (false, _) => y,
                    (true, 32) => vconst32(b, &[same; 8]),
                    _ => vconst64(b, &[u64::from(same) << 32; 4]),
                };
                let k = b.ins().icmp(cc, x, y);
                let chosen = b.ins().blendv(k, y, z);
                let none = b.ins().bnot(k);
                vec![k, chosen, none]
            };
            let mut longs = m.clone();
            on_rows(&mut m, FORM.w(), body);
            on_rows(&mut longs, FORM.d(), body);
            for n in 0..16 {
                let [x, y, z] = [0, 1, 2].map(|r| m.0[r][n]);
                let y = if constant { same } else { y };
                let signed = !cc_is_unsigned(cc);
                let [a, c] = [x, y].map(|v| if signed { v as i32 as i64 } else { v.into() });
                let on = ordered(cc, a, c);
                let want =
                    [if on { !0 } else { 0 }, if on { y } else { z }, if on { 0 } else { !0 }];
                assert_eq!([40, 41, 42].map(|r| m.0[r][n]), want, "{x:#x} {cc} {y:#x}");
            }
            for n in 0..8 {
                let [x, y, z] = [0, 1, 2].map(|r| longs.longs(r)[n]);
                let y = if constant { u64::from(same) << 32 } else { y };
                let on = ordered(cc, x as i64, y as i64);
                let want =
                    [if on { !0 } else { 0 }, if on { y } else { z }, if on { 0 } else { !0 }];
                assert_eq!([40, 41, 42].map(|r| longs.longs(r)[n]), want, "{x:#x} {cc} {y:#x}");
            }
        }
    }
}

fn cc_is_unsigned(cc: IntCC) -> bool {
    !matches!(cc, IntCC::Equal | IntCC::NotEqual) && cc.unsigned() == cc
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn comparisons_of_numbers_give_vectors() {
    type Relation = fn(f32, f32) -> bool;
    let table: [(FloatCC, Relation); 9] = [
        (FloatCC::Equal, |x, y| x == y),
        (FloatCC::NotEqual, |x, y| x != y),
        (FloatCC::OrderedNotEqual, |x, y| x.partial_cmp(&y).is_some_and(|o| o.is_ne())),
        (FloatCC::LessThan, |x, y| x < y),
        (FloatCC::LessThanOrEqual, |x, y| x <= y),
        (FloatCC::GreaterThan, |x, y| x > y),
        (FloatCC::GreaterThanOrEqual, |x, y| x >= y),
        (FloatCC::Ordered, |x, y| !x.is_nan() && !y.is_nan()),
        (FloatCC::Unordered, |x, y| x.is_nan() || y.is_nan()),
    ];
    let values = [1.0f32, f32::NAN, -0.0, 0.0, f32::INFINITY, 2.5, -1.0, 1e-40];
    for (cc, expect) in table {
        for shift in 0..values.len() {
            let mut m = Rows::new();
            let pair = |lane: usize| (values[lane % 8], values[(lane + shift) % 8]);
            for lane in 0..16 {
                (m.0[0][lane], m.0[1][lane]) = (pair(lane).0.to_bits(), pair(lane).1.to_bits());
            }
            let scalar = run_as(FORM, &mut m, |b, p| {
                for part in 0..2 {
                    let [x, y] = [0, 1].map(|n| load_part(b, FORM.f32(), p, n, part));
                    let k = b.ins().fcmp(cc, x, y);
                    store_part(b, k, p, 40, part);
                }
                let [x, y] = [0, 1].map(|n| load(b, F32, p, n));
                let c = b.ins().fcmp(cc, x, y);
                // As a number, and as a condition of a vector and of a number in lane 0.
                let [x, y] = [0, 1].map(|n| load(b, F32, p, n));
                let again = b.ins().fcmp(cc, x, y);
                let chosen = b.ins().select(again, x, y);
                store(b, chosen, p, 41);
                let [v, w] = [2, 3].map(|n| load_part(b, FORM.w(), p, n, 0));
                let chosen = b.ins().select(again, v, w);
                store(b, chosen, p, 42);
                b.ins().uextend(I64, c)
            });
            for lane in 0..16 {
                let on = expect(pair(lane).0, pair(lane).1);
                assert_eq!(m.0[40][lane], if on { !0 } else { 0 }, "{:?} {cc}", pair(lane));
            }
            let on = expect(pair(0).0, pair(0).1);
            assert_eq!(scalar, u64::from(on), "scalars {cc}");
            assert_eq!(m.0[41][0], m.0[if on { 0 } else { 1 }][0]);
            assert_eq!(m.0[42][..8], m.0[if on { 2 } else { 3 }][..8]);
        }
    }
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn whether_lanes_are_on() {
    for bits in [0u32, 1, 0x80, 0x7f, 0xfe, 0xff, 0x5a] {
        let mut m = Rows::new();
        (0..8).for_each(|n| m.0[0][n] = if bits >> n & 1 != 0 { !0 } else { 0 });
        let said = run_as(FORM, &mut m, |b, p| {
            let x = load_part(b, FORM.w(), p, 0, 0);
            let mut sum = word(b, Word::SignBits, 0, &[x], I32);
            let mut add = |b: &mut B, c: Value, place: i64| {
                let c = b.ins().uextend(I32, c);
                let c = b.ins().ishl_imm_u(c, place);
                sum = b.ins().bor(sum, c);
            };
            let any = b.ins().vany_true(x);
            add(b, any, 8);
            let bytes = cast(b, vector(I8, 32), x);
            let any = b.ins().vany_true(bytes);
            let none = b.ins().icmp_imm_u(IntCC::Equal, any, 0);
            add(b, none, 9);
            let off = b.ins().bnot(x);
            let some_off = b.ins().vany_true(off);
            add(b, some_off, 10);
            let off = b.ins().bnot(x);
            let some_off = b.ins().vany_true(off);
            let all = b.ins().icmp_imm_u(IntCC::Equal, some_off, 0);
            // In a branch.
            let [yes, end] = [(); 2].map(|()| b.create_block());
            let flag = b.append_block_param(end, I32);
            let no = b.ins().iconst(I32, 0);
            b.ins().brif(all, yes, &[], end, &[BlockArg::Value(no)]);
            b.switch_to_block(yes);
            let on = b.ins().iconst(I32, 1 << 11);
            b.ins().jump(end, &[BlockArg::Value(on)]);
            b.switch_to_block(end);
            let sum = b.ins().bor(sum, flag);
            b.ins().uextend(I64, sum)
        });
        let (any, all) = (bits != 0, bits == 0xff);
        let want = [any, !any, !all, all].iter().rev().fold(0, |n, c| n << 1 | u64::from(*c)) << 8;
        assert_eq!(said, want | u64::from(bits), "{bits:#x}");
    }
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn words_in_other_places() {
    let orders: [[u32; 8]; 7] = [
        [0, 8, 1, 9, 2, 10, 3, 11],
        [4, 12, 5, 13, 6, 14, 7, 15],
        [0, 2, 4, 6, 8, 10, 12, 14],
        [7, 6, 5, 4, 3, 2, 1, 0],
        [0, 1, 2, 3, 12, 13, 14, 15],
        [8, 9, 10, 11, 12, 13, 14, 15],
        [3, 3, 15, 0, 9, 8, 1, 3],
    ];
    for order in orders {
        let mut m = Rows::new();
        on_rows(&mut m, FORM.w(), |b, [x, y, _]| {
            let index = vconst32(b, &order);
            let other = word(b, Word::Permute, 0, &[x, y, index], FORM.w());
            let alone = word(b, Word::Permute, 0, &[x, x, index], FORM.w());
            vec![other, alone]
        });
        for part in [0, 8] {
            for (n, w) in order.iter().enumerate() {
                let (row, w) = (*w as usize / 8, *w as usize % 8);
                assert_eq!(m.0[40][part + n], m.0[row][part + w], "{order:?}");
                assert_eq!(m.0[41][part + n], m.0[0][part + w], "{order:?} of one");
            }
        }
    }
    let mut m = Rows::new();
    on_rows(&mut m, FORM.d(), |b, [x, y, _]| {
        let halves = [0, 1].map(|n| word(b, Word::Halves, n, &[x, y], FORM.w()));
        let w = cast(b, FORM.w(), x);
        let wide = [0, 1, 2, 3].map(|n| word(b, Word::Widen, n, &[w], FORM.d()));
        [&halves[..], &wide[..]].concat()
    });
    for n in 0..16 {
        let (part, lane) = (n / 8 * 8, n % 8);
        let from = |upper| m.0[lane / 4][part + lane % 4 * 2 + upper];
        assert_eq!([m.0[40][n], m.0[41][n]], [from(0), from(1)], "halves");
    }
    for n in 0..8 {
        let (part, lane) = (n / 4 * 8, n % 4);
        for k in 0..4 {
            let x = m.0[0][part + lane + if k & 2 != 0 { 4 } else { 0 }];
            let want = if k & 1 != 0 { x as i32 as i64 as u64 } else { x.into() };
            assert_eq!(m.longs(42 + k)[n], want, "widened {k}");
        }
    }
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn memory_of_lanes() {
    for bits in [0u32, 0x81, 0x3c, 0xff] {
        let mut m = Rows::new();
        (0..8).for_each(|n| m.0[8][n] = if bits >> n & 1 != 0 { !0 } else { 0 });
        let before = m.clone();
        run_as(FORM, &mut m, |b, p| {
            let k = load_part(b, FORM.w(), p, 8, 0);
            let at = b.ins().iadd_imm_u(p, 4);
            let x = word(b, Word::LoadMasked, 4, &[k, at], FORM.w());
            store_part(b, x, p, 40, 0);
            let x = load_part(b, FORM.w(), p, 1, 0);
            let to = b.ins().iadd_imm_u(p, 50 * 64 + 4);
            words::call(b, Word::StoreMasked, 4, &[k, x, to], None);
            for half in 0..2 {
                let k = word(b, Word::Widen, 1 | half << 1, &[k], FORM.d());
                let x = load_part(b, FORM.d(), p, 2, half as i32);
                let to = b.ins().iadd_imm_u(p, 52 * 64 + i64::from(half) * 32);
                words::call(b, Word::StoreMasked, 8, &[k, x, to], None);
            }
            zero(b)
        });
        for n in 0..8 {
            let on = bits >> n & 1 != 0;
            let want = if on { before.0[0][n + 1] } else { 0 };
            assert_eq!(m.0[40][n], want, "load under {bits:#x}");
            assert_eq!(
                m.0[50][n + 1],
                if on { before.0[1][n] } else { 0 },
                "store under {bits:#x}"
            );
            assert_eq!(m.longs(52)[n], if on { before.longs(2)[n] } else { 0 }, "of longs");
        }
    }
    let mut m = Rows::new();
    let before = m.clone();
    run_as(FORM, &mut m, |b, p| {
        for (n, bytes) in [1u32, 2].into_iter().enumerate() {
            for signed in [0u32, 1] {
                let number = bytes | signed << 8;
                let x = word(b, Word::LoadNarrow, number, &[p], FORM.w());
                store_part(b, x, p, 40 + 2 * n + signed as usize, 0);
            }
            let x = load_part(b, FORM.w(), p, 1, 0);
            let to = b.ins().iadd_imm_u(p, 50 * 64 + 64 * n as i64);
            words::call(b, Word::StoreNarrow, bytes, &[x, to], None);
        }
        zero(b)
    });
    for n in 0..8 {
        let byte = (before.0[0][n / 4] >> (n % 4 * 8)) as u8;
        let half = (before.0[0][n / 2] >> (n % 2 * 16)) as u16;
        let want = [byte.into(), byte as i8 as u32, half.into(), half as i16 as u32];
        assert_eq!([40, 41, 42, 43].map(|r| m.0[r][n]), want, "narrow loads");
        let x = before.0[1][n];
        assert_eq!((m.0[50][n / 4] >> (n % 4 * 8)) as u8, x as u8, "bytes");
        assert_eq!((m.0[51][n / 2] >> (n % 2 * 16)) as u16, x as u16, "halves");
    }
    assert_eq!((m.0[50][2], m.0[51][4]), (0, 0), "nothing behind them");
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn lanes_at_places_of_their_own() {
    let mut m = Rows::new();
    let index = [5i32, 0, -3, 100, 7, 7, 64, 33];
    (0..8).for_each(|n| m.0[80][n] = index[n] as u32);
    let before = m.clone();
    run_as(FORM, &mut m, |b, p| {
        let ones = FORM.mask(b, true);
        let base = b.ins().iadd_imm_u(p, 256);
        let index = load_part(b, FORM.w(), p, 80, 0);
        let x = word(b, Word::Gather, 4 | 2 << 8, &[ones, base, index], FORM.w());
        store_part(b, x, p, 40, 0);
        let bases = b.ins().splat(FORM.d(), base);
        let places = [1, 3].map(|half| {
            let far = word(b, Word::Widen, half, &[index], FORM.d());
            let far = b.ins().ishl_imm_u(far, 2);
            b.ins().iadd(bases, far)
        });
        let x = word(b, Word::GatherWords, 0, &[ones, places[0], places[1]], FORM.w());
        store_part(b, x, p, 41, 0);
        for half in 0..2u32 {
            let on = word(b, Word::Widen, 1 | half << 1, &[ones], FORM.d());
            let number = 8 | 2 << 8 | half << 16;
            let x = word(b, Word::Gather, number, &[on, base, index], FORM.d());
            store_part(b, x, p, 42, half as i32);
            let x = word(b, Word::GatherLong, 0, &[on, places[half as usize]], FORM.d());
            store_part(b, x, p, 43, half as i32);
        }
        let x = load_part(b, FORM.w(), p, 1, 0);
        let to = b.ins().iadd_imm_u(p, 50 * 64);
        words::call(b, Word::Scatter, 4 | 2 << 8, &[ones, to, index, x], None);
        zero(b)
    });
    let from = |n: usize| (64 + index[n]) as usize;
    let flat = before.0.as_flattened();
    for n in 0..8 {
        assert_eq!([m.0[40][n], m.0[41][n]], [flat[from(n)]; 2], "words");
        let long = u64::from(flat[from(n)]) | u64::from(flat[from(n) + 1]) << 32;
        assert_eq!([m.longs(42)[n], m.longs(43)[n]], [long; 2], "long words");
        let last = (n..8).rev().find(|k| index[*k] == index[n]).unwrap();
        let to = (50 * 16 + index[n]) as usize;
        assert_eq!(m.0.as_flattened()[to], before.0[1][last], "scattered");
    }
}
