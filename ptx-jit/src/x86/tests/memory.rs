//! Loads, stores, gathers, scatters, atomics, and words that move lanes.

use super::*;

/// Masks of sixteen lanes; the first one is known when code is made.
const MASKS: [u16; 5] = [0xffff, 0xffff, 0xa5c3, 0x00f0, 0];

fn masks(b: &mut B, at: Value, n: usize) -> Value {
    // In row 90, a mask every other word.
    if n == 0 { mask(b, MASKS[0]) } else { b.ins().load(MASK, plain(), at, 90 * 64 + n as i32 * 4) }
}

fn with_masks() -> Rows {
    let mut m = Rows::new();
    MASKS.iter().enumerate().for_each(|(n, k)| m.0[90][n] = u32::from(*k));
    m
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn masked_loads_and_stores() {
    for (n, k) in MASKS.into_iter().enumerate() {
        let mut m = with_masks();
        let before = m.clone();
        run(&mut m, |b, p| {
            let k = masks(b, p, n);
            let at = b.ins().iadd_imm_s(p, 4 * 64);
            let x = word(b, Word::LoadMasked, 4, &[k, at], I32X16);
            store(b, x, p, 40);
            let d = word(b, Word::LoadMasked, 8, &[k, at], I64X8);
            store(b, d, p, 41);
            let whole = load(b, I32X16, p, 5);
            let to = b.ins().iadd_imm_s(p, 6 * 64);
            words::call(b, Word::StoreMasked, 0, &[k, whole, to], None);
            let whole = load(b, I64X8, p, 5);
            let to = b.ins().iadd_imm_s(p, 7 * 64);
            words::call(b, Word::StoreMasked, 0, &[k, whole, to], None);
            zero(b)
        });
        for lane in 0..16 {
            let on = k >> lane & 1 != 0;
            let pick = |yes: u32, no: u32| if on { yes } else { no };
            assert_eq!(m.0[40][lane], pick(before.0[4][lane], 0), "load under {k:#x}");
            assert_eq!(m.0[6][lane], pick(before.0[5][lane], before.0[6][lane]), "store, {k:#x}");
        }
        for lane in 0..8 {
            let on = k >> lane & 1 != 0;
            let pick = |yes: usize, no: u64| if on { before.longs(yes)[lane] } else { no };
            assert_eq!(m.longs(41)[lane], pick(4, 0), "long load under {k:#x}");
            assert_eq!(m.longs(7)[lane], pick(5, before.longs(7)[lane]), "long store, {k:#x}");
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn narrow_loads_and_stores() {
    let mut m = Rows::new();
    let before = m.clone();
    run(&mut m, |b, p| {
        let at = b.ins().iadd_imm_s(p, 3);
        for (n, number) in [1, 0x101, 2, 0x102].into_iter().enumerate() {
            let x = word(b, Word::LoadNarrow, number, &[at], I32X16);
            store(b, x, p, 40 + n);
        }
        let x = load(b, I32X16, p, 0);
        for n in [1, 2] {
            let to = b.ins().iadd_imm_s(p, (43 + i64::from(n)) * 64 + 1);
            words::call(b, Word::StoreNarrow, n, &[x, to], None);
        }
        zero(b)
    });
    let bytes =
        |m: &Rows| m.0.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let (from, to) = (bytes(&before), bytes(&m));
    for n in 0..16 {
        let byte = from[3 + n];
        let half = u16::from_le_bytes([from[3 + 2 * n], from[4 + 2 * n]]);
        let got = [0, 1, 2, 3].map(|r| m.0[40 + r][n]);
        let want = [byte.into(), byte as i8 as u32, half.into(), half as i16 as u32];
        assert_eq!(got, want, "lane {n}");
        let x = before.0[0][n].to_le_bytes();
        assert_eq!(to[44 * 64 + 1 + n], x[0]);
        assert_eq!(to[45 * 64 + 1 + 2 * n..][..2], x[..2]);
    }
    // Nothing before or behind.
    assert_eq!([to[44 * 64], to[44 * 64 + 17], to[45 * 64], to[45 * 64 + 33]], [0; 4]);
}

/// Indices around row 20, twice the same ones among them; those of lanes that are off lead nowhere.
fn indices(m: &mut Rows, row: usize, k: u16) -> [i32; 16] {
    let all: [i32; 16] = std::array::from_fn(|n| ((n as i32 * 37) % 13 - 6) * 3);
    for n in 0..16 {
        m.0[row][n] = if k >> n & 1 != 0 { all[n] as u32 } else { 0x7fff_fff0 };
    }
    all
}

/// The rows from 20 on as words.
fn word_at(m: &mut Rows, index: i32) -> &mut u32 {
    let n = 20 * 16 + index;
    &mut m.0[n as usize / 16][n as usize % 16]
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn gathers() {
    for (n, k) in MASKS.into_iter().enumerate() {
        let mut m = with_masks();
        let at = indices(&mut m, 80, k);
        run(&mut m, |b, p| {
            let k = masks(b, p, n);
            let base = b.ins().iadd_imm_s(p, 20 * 64);
            let index = load(b, I32X16, p, 80);
            let x = word(b, Word::Gather, 4 | 2 << 8, &[k, base, index], I32X16);
            store(b, x, p, 40);
            let eight = b.ins().iconst(I32, 8);
            let high = b.ins().ushr(k, eight);
            for (half, k) in [(0, k), (1, high)] {
                let number = 8 | 2 << 8 | half << 16;
                let d = word(b, Word::Gather, number, &[k, base, index], I64X8);
                store(b, d, p, 41 + half as usize);
            }
            // The same by addresses.
            let two = b.ins().iconst(I32, 2);
            let bases = b.ins().splat(I64X8, base);
            let places = [1, 3].map(|half| {
                let far = word(b, Word::Widen, half, &[index], I64X8);
                let bytes = b.ins().ishl(far, two);
                b.ins().iadd(bytes, bases)
            });
            let x = word(b, Word::GatherWords, 0, &[k, places[0], places[1]], I32X16);
            store(b, x, p, 43);
            for (half, k) in [(0, k), (1, high)] {
                let d = word(b, Word::GatherLong, 0, &[k, places[half]], I64X8);
                store(b, d, p, 44 + half);
            }
            zero(b)
        });
        for lane in 0..16 {
            let on = k >> lane & 1 != 0;
            let low = if on { *word_at(&mut m, at[lane]) } else { 0 };
            let high = if on { *word_at(&mut m, at[lane] + 1) } else { 0 };
            let long = u64::from(low) | u64::from(high) << 32;
            assert_eq!([m.0[40][lane], m.0[43][lane]], [low; 2], "lane {lane} under {k:#x}");
            let got = [41, 44].map(|row| m.longs(row + lane / 8)[lane % 8]);
            assert_eq!(got, [long; 2], "long lane {lane} under {k:#x}");
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn scatters() {
    for (n, k) in MASKS.into_iter().enumerate() {
        for way in 0..4 {
            let mut m = with_masks();
            let at = indices(&mut m, 80, k);
            let mut want = m.clone();
            run(&mut m, |b, p| {
                let k = masks(b, p, n);
                let base = b.ins().iadd_imm_s(p, 20 * 64);
                let index = load(b, I32X16, p, 80);
                let two = b.ins().iconst(I32, 2);
                let bases = b.ins().splat(I64X8, base);
                let places = [1, 3].map(|half| {
                    let far = word(b, Word::Widen, half, &[index], I64X8);
                    let bytes = b.ins().ishl(far, two);
                    b.ins().iadd(bytes, bases)
                });
                let (w, d) = (load(b, I32X16, p, 0), load(b, I64X8, p, 0));
                let (word, number, args): (_, _, &[Value]) = match way {
                    0 => (Word::Scatter, 4 | 2 << 8, &[k, base, index, w]),
                    1 => (Word::ScatterWords, 0, &[k, places[0], places[1], w]),
                    2 => (Word::Scatter, 8 | 2 << 8, &[k, base, index, d]),
                    _ => (Word::ScatterLong, 0, &[k, places[0], d]),
                };
                words::call(b, word, number, args, None);
                zero(b)
            });
            let long = way >= 2;
            for lane in (0..if long { 8 } else { 16 }).filter(|lane| k >> lane & 1 != 0) {
                if long {
                    *word_at(&mut want, at[lane]) = want.0[0][2 * lane];
                    *word_at(&mut want, at[lane] + 1) = want.0[0][2 * lane + 1];
                } else {
                    *word_at(&mut want, at[lane]) = want.0[0][lane];
                }
            }
            assert!(m.0 == want.0, "way {way} under {k:#x}: {:x?}", &m.0[18..23]);
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn lanes_that_move() {
    let mut m = Rows::new();
    run(&mut m, |b, p| {
        let [x, y, i] = [0, 1, 8].map(|n| load(b, I32X16, p, n));
        let r = word(b, Word::Permute, 0, &[x, y, i], I32X16);
        store(b, r, p, 40);
        // With the constant as a table, and as indices.
        let c: [u32; 16] = std::array::from_fn(|n| 31 - 2 * n as u32);
        let c = vconst32(b, &c);
        let r = word(b, Word::Permute, 0, &[x, c, i], I32X16);
        store(b, r, p, 41);
        let r = word(b, Word::Permute, 0, &[x, y, c], I32X16);
        store(b, r, p, 42);
        let [d, e] = [0, 1].map(|n| load(b, I64X8, p, n));
        for n in [0, 1] {
            let r = word(b, Word::Halves, n, &[d, e], I32X16);
            store(b, r, p, 43 + n as usize);
        }
        for n in 0..4 {
            let r = word(b, Word::Widen, n, &[x], I64X8);
            store(b, r, p, 45 + n as usize);
        }
        // Scalars from all lanes, in the other order.
        let lanes: Vec<Value> = (0..16).rev().map(|n| b.ins().extractlane(x, n)).collect();
        let r = word(b, Word::Pack, 0, &lanes, I32X16);
        store(b, r, p, 49);
        let lanes: Vec<Value> = (0..8).rev().map(|n| b.ins().extractlane(d, n)).collect();
        let r = word(b, Word::Pack, 0, &lanes, I64X8);
        store(b, r, p, 50);
        zero(b)
    });
    for n in 0..16 {
        let table = |second: &[u32; 16], i: u32| {
            let i = i as usize % 32;
            if i < 16 { m.0[0][i] } else { second[i - 16] }
        };
        let c: [u32; 16] = std::array::from_fn(|n| 31 - 2 * n as u32);
        let got = [40, 41, 42].map(|row| m.0[row][n]);
        let i = m.0[8][n];
        assert_eq!(got, [table(&m.0[1], i), table(&c, i), table(&m.0[1], c[n])], "lane {n}");
        let long = m.longs(n / 8)[n % 8];
        assert_eq!([43, 44].map(|row| m.0[row][n]), [long as u32, (long >> 32) as u32]);
        let x = m.0[0][n];
        let got = [0, 1].map(|sign| m.longs(45 + n / 8 * 2 + sign)[n % 8]);
        assert_eq!(got, [u64::from(x), x as i32 as u64], "{x:#x} extended");
        assert_eq!(m.0[49][15 - n], x);
        if n < 8 {
            assert_eq!(m.longs(50)[7 - n], m.longs(0)[n]);
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn atomics() {
    use AtomicRmwOp::*;
    type Update = fn(i64, i64) -> i64;
    // Numbers are extended by their sign, which keeps both orders.
    let table: [(AtomicRmwOp, Update); 9] = [
        (Add, |old, x| old.wrapping_add(x)),
        (Xchg, |_, x| x),
        (And, |old, x| old & x),
        (Or, |old, x| old | x),
        (Xor, |old, x| old ^ x),
        (Umin, |old, x| (old as u64).min(x as u64) as i64),
        (Umax, |old, x| (old as u64).max(x as u64) as i64),
        (Smin, |old, x| old.min(x)),
        (Smax, |old, x| old.max(x)),
    ];
    for (op, update) in table {
        for ty in [I32, I64] {
            let mut m = Rows::new();
            let before = m.clone();
            run(&mut m, |b, p| {
                for n in 0..8 {
                    let place = b.ins().iadd_imm_s(p, n * 8);
                    let x = b.ins().load(ty, plain(), p, 64 + n as i32 * 8);
                    let old = b.ins().atomic_rmw(ty, plain(), op, place, x);
                    let old = if ty == I32 { b.ins().sextend(I64, old) } else { old };
                    b.ins().store(plain(), old, p, 40 * 64 + n as i32 * 8);
                    // The operand is still what it was.
                    b.ins().store(plain(), x, p, 41 * 64 + n as i32 * 8);
                }
                zero(b)
            });
            let number = |m: &Rows, row: usize, n: usize| {
                let cut = 64 - ty.bits();
                (m.longs(row)[n] as i64) << cut >> cut
            };
            for n in 0..8 {
                let (old, x) = (number(&before, 0, n), number(&before, 1, n));
                let cut = 64 - ty.bits();
                let want = update(old, x) << cut >> cut;
                assert_eq!(number(&m, 0, n), want, "{op} of {old:#x} and {x:#x}, {ty}");
                assert_eq!(m.longs(40)[n] as i64, old, "the old value of {op}, {ty}");
                assert_eq!(number(&m, 41, n), x, "the operand of {op}, {ty}");
            }
        }
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn compare_and_swap() {
    for ty in [I32, I64] {
        let mut m = Rows::new();
        let before = m.clone();
        run(&mut m, |b, p| {
            for n in 0..8 {
                let place = b.ins().iadd_imm_s(p, n * 8);
                // Every second one finds what it compares with.
                let row = if n % 2 == 0 { 0 } else { 64 };
                let expected = b.ins().load(ty, plain(), p, row + n as i32 * 8);
                let new = b.ins().load(ty, plain(), p, 128 + n as i32 * 8);
                let old = b.ins().atomic_cas(plain(), place, expected, new);
                for (row, x) in [(40, old), (41, expected), (42, new)] {
                    let x = if ty == I32 { b.ins().sextend(I64, x) } else { x };
                    b.ins().store(plain(), x, p, row * 64 + n as i32 * 8);
                }
            }
            zero(b)
        });
        let number = |m: &Rows, row: usize, n: usize| {
            let cut = 64 - ty.bits();
            (m.longs(row)[n] as i64) << cut >> cut
        };
        for n in 0..8 {
            let (old, new) = (number(&before, 0, n), number(&before, 2, n));
            let expected = number(&before, if n % 2 == 0 { 0 } else { 1 }, n);
            let want = if old == expected { new } else { old };
            assert_eq!(number(&m, 0, n), want, "{n}, {ty}");
            assert_eq!(
                [40, 41, 42].map(|row| m.longs(row)[n] as i64),
                [old, expected, new],
                "{n}, {ty}"
            );
        }
    }
}
