//! Operations on words and long words of either width, one by one and in chains.

use super::*;

/// An operation of sixteen words, and what it makes of one.
type OnWords = (&'static str, Build, fn([u32; 3]) -> u32);

const WORDS: &[OnWords] = &[
    ("iadd", |b, [x, y, _]| b.ins().iadd(x, y), |[x, y, _]| x.wrapping_add(y)),
    ("isub", |b, [x, y, _]| b.ins().isub(x, y), |[x, y, _]| x.wrapping_sub(y)),
    ("imul", |b, [x, y, _]| b.ins().imul(x, y), |[x, y, _]| x.wrapping_mul(y)),
    ("band", |b, [x, y, _]| b.ins().band(x, y), |[x, y, _]| x & y),
    ("bor", |b, [x, y, _]| b.ins().bor(x, y), |[x, y, _]| x | y),
    ("bxor", |b, [x, y, _]| b.ins().bxor(x, y), |[x, y, _]| x ^ y),
    ("bnot", |b, [x, ..]| b.ins().bnot(x), |[x, ..]| !x),
    ("ineg", |b, [x, ..]| b.ins().ineg(x), |[x, ..]| x.wrapping_neg()),
    ("iabs", |b, [x, ..]| b.ins().iabs(x), |[x, ..]| (x as i32).unsigned_abs()),
    ("umin", |b, [x, y, _]| b.ins().umin(x, y), |[x, y, _]| x.min(y)),
    ("umax", |b, [x, y, _]| b.ins().umax(x, y), |[x, y, _]| x.max(y)),
    ("smin", |b, [x, y, _]| b.ins().smin(x, y), |[x, y, _]| (x as i32).min(y as i32) as u32),
    ("smax", |b, [x, y, _]| b.ins().smax(x, y), |[x, y, _]| (x as i32).max(y as i32) as u32),
    ("popcnt", |b, [x, ..]| b.ins().popcnt(x), |[x, ..]| x.count_ones()),
    (
        "x & !y",
        |b, [x, y, _]| {
            let y = b.ins().bnot(y);
            b.ins().band(x, y)
        },
        |[x, y, _]| x & !y,
    ),
    (
        "!x & y",
        |b, [x, y, _]| {
            let x = b.ins().bnot(x);
            b.ins().band(x, y)
        },
        |[x, y, _]| !x & y,
    ),
    (
        "shifts that rotate",
        |b, [x, y, z]| {
            let parts = [shifted(b, x, 11, 0), shifted(b, x, 21, 1)];
            let others = [shifted(b, y, 11, 0), shifted(b, y, 20, 1)];
            let r = b.ins().bor(parts[1], parts[0]);
            let s = b.ins().bor(others[0], others[1]);
            let r = b.ins().bxor(r, z);
            b.ins().bxor(r, s)
        },
        |[x, y, z]| x.rotate_left(11) ^ z ^ (y << 11 | y >> 20),
    ),
    (
        "!(x ^ y)",
        |b, [x, y, _]| {
            let r = b.ins().bxor(x, y);
            b.ins().bnot(r)
        },
        |[x, y, _]| !(x ^ y),
    ),
    (
        "parity",
        |b, [x, y, z]| {
            let r = b.ins().bxor(x, y);
            b.ins().bxor(r, z)
        },
        |[x, y, z]| x ^ y ^ z,
    ),
    (
        "majority",
        |b, [x, y, z]| {
            let all = [b.ins().band(x, y), b.ins().band(x, z), b.ins().band(y, z)];
            let r = b.ins().bor(all[0], all[1]);
            b.ins().bor(r, all[2])
        },
        |[x, y, z]| x & y | x & z | y & z,
    ),
    (
        "z ^ x & (y ^ z)",
        |b, [x, y, z]| {
            let r = b.ins().bxor(y, z);
            let r = b.ins().band(x, r);
            b.ins().bxor(z, r)
        },
        |[x, y, z]| z ^ x & (y ^ z),
    ),
    (
        "y ^ (x | !z), and the complement",
        |b, [x, y, z]| {
            let not = b.ins().bnot(z);
            let r = b.ins().bor(x, not);
            let r = b.ins().bxor(y, r);
            let sum = b.ins().iadd(r, not);
            b.ins().bxor(sum, z)
        },
        |[x, y, z]| (y ^ (x | !z)).wrapping_add(!z) ^ z,
    ),
    ("ishl 5", |b, [x, ..]| shifted(b, x, 5, 0), |[x, ..]| x << 5),
    ("ushr 7", |b, [x, ..]| shifted(b, x, 7, 1), |[x, ..]| x >> 7),
    ("sshr 31", |b, [x, ..]| shifted(b, x, 31, 2), |[x, ..]| (x as i32 >> 31) as u32),
    ("rotate 9", |b, [x, ..]| like(b, Word::Rotate, 9, &[x]), |[x, ..]| x.rotate_left(9)),
    (
        "shl each",
        |b, [x, y, _]| like(b, Word::ShiftEach, 0, &[x, y]),
        |[x, y, _]| x.checked_shl(y).unwrap_or(0),
    ),
    (
        "shr each",
        |b, [x, y, _]| like(b, Word::ShiftEach, 1, &[x, y]),
        |[x, y, _]| x.checked_shr(y).unwrap_or(0),
    ),
    (
        "sar each",
        |b, [x, y, _]| like(b, Word::ShiftEach, 2, &[x, y]),
        |[x, y, _]| (x as i32 >> y.min(31)) as u32,
    ),
    (
        "leading zeros",
        |b, [x, ..]| like(b, Word::LeadingZeros, 0, &[x]),
        |[x, ..]| x.leading_zeros(),
    ),
];

/// What only 512 bits have: masks in registers of their own.
const WITH_MASKS: &[OnWords] = &[
    (
        "choice of bits",
        |b, [x, y, z]| word(b, Word::Ternary, 0xca, &[x, y, z], I32X16),
        |[x, y, z]| x & y | !x & z,
    ),
    (
        "blend",
        |b, [x, y, z]| {
            let m = word(b, Word::Compare, words::condition(IntCC::SignedLessThan), &[x, y], MASK);
            word(b, Word::Blend, 0, &[m, y, z], I32X16)
        },
        |[x, y, z]| if (x as i32) < y as i32 { y } else { z },
    ),
    (
        "blend with 0",
        |b, [x, y, z]| {
            let m = word(b, Word::Test, 0, &[x, y], MASK);
            let none = vconst32(b, &[0; 16]);
            word(b, Word::Blend, 0, &[m, z, none], I32X16)
        },
        |[x, y, z]| if x & y != 0 { z } else { 0 },
    ),
    (
        "masks",
        |b, [x, y, z]| {
            let above = words::condition(IntCC::UnsignedGreaterThan);
            let p = word(b, Word::Compare, above, &[x, y], MASK);
            let q = word(b, Word::Signs, 0, &[z], MASK);
            let r = word(b, Word::Test, 0, &[y, z], MASK);
            let not = b.ins().bnot(q);
            let pq = b.ins().band(p, not);
            let m = b.ins().bxor(pq, r);
            let all = mask(b, 0x5a5a);
            let low = b.ins().bor(m, all);
            let m = b.ins().band(low, m);
            word(b, Word::Ones, 0, &[m], I32X16)
        },
        |[x, y, z]| {
            let pq = x > y && (z as i32) >= 0;
            if pq ^ (y & z != 0) { u32::MAX } else { 0 }
        },
    ),
];

fn shifted(b: &mut B, x: Value, n: i64, way: u32) -> Value {
    let n = b.ins().iconst(I32, n);
    match way {
        0 => b.ins().ishl(x, n),
        1 => b.ins().ushr(x, n),
        _ => b.ins().sshr(x, n),
    }
}

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn operations_on_words() {
    for form in forms() {
        operations_on_words_of(form, WORDS);
    }
}

#[test]
#[cfg_attr(not(runs_512_bit_code), ignore = "the processor has no AVX-512")]
fn operations_with_masks_of_bits() {
    operations_on_words_of(Form::AVX512, WITH_MASKS);
}

fn operations_on_words_of(form: Form, table: &[OnWords]) {
    const C: u32 = 0x8000_0013;
    let ty = form.w();
    for (name, build, expect) in table {
        let mut m = Rows::new();
        run_as(form, &mut m, |b, at| {
            for part in 0..parts(form) {
                // Operands that somebody else reads too, from memory, and constants.
                let kept = [0, 1, 2].map(|n| load_part(b, ty, at, n, part));
                let r = build(b, kept);
                store_part(b, r, at, 40, part);
                (0..3).for_each(|n| store_part(b, kept[n], at, 50 + n, part));
                let once = [0, 1, 2].map(|n| load_part(b, ty, at, n, part));
                let r = build(b, once);
                store_part(b, r, at, 41, part);
                let [x, z] = [0, 2].map(|n| load_part(b, ty, at, n, part));
                let y = vconst32(b, &vec![C; form.lanes()]);
                let r = build(b, [x, y, z]);
                store_part(b, r, at, 42, part);
                let n = b.ins().load(I32, plain(), at, 68);
                let y = b.ins().splat(ty, n);
                let r = build(b, [x, y, z]);
                store_part(b, r, at, 43, part);
            }
            zero(b)
        });
        for lane in 0..16 {
            let [x, y, z] = [0, 1, 2].map(|n| m.0[n][lane]);
            assert_eq!([50, 51, 52].map(|n| m.0[n][lane]), [x, y, z], "{name} changed an operand");
            let others = [y, y, C, m.0[1][1]];
            for (n, y) in others.into_iter().enumerate() {
                let (got, want) = (m.0[40 + n][lane], expect([x, y, z]));
                assert_eq!(got, want, "{name} of {x:#x}, {y:#x}, {z:#x}, way {n}, {form:?}");
            }
        }
    }
}

/// Chains of these operations with many results that live on: registers are spilled.
#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn random_chains() {
    for form in forms() {
        let with_masks = if form == Form::AVX512 { WITH_MASKS } else { &[] };
        let table = [WORDS, with_masks].concat();
        (1..=12).for_each(|seed| random_chain(form, &table, seed));
    }
}

fn random_chain(form: Form, table: &[OnWords], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let plan: Vec<(usize, [usize; 3])> =
        (0..52).map(|n| (below(table.len()), std::array::from_fn(|_| below(n + 4)))).collect();
    let mut m = Rows::new();
    run_as(form, &mut m, |b, at| {
        for part in 0..parts(form) {
            let mut values: Vec<Value> =
                (0..4).map(|n| load_part(b, form.w(), at, n, part)).collect();
            for (op, args) in &plan {
                let r = table[*op].1(b, args.map(|a| values[a]));
                values.push(r);
            }
            values.iter().enumerate().for_each(|(n, v)| store_part(b, *v, at, 40 + n, part));
        }
        zero(b)
    });
    for lane in 0..16 {
        let mut values: Vec<u32> = (0..4).map(|n| m.0[n][lane]).collect();
        for (op, args) in &plan {
            values.push(table[*op].2(args.map(|a| values[a])));
        }
        let got: Vec<u32> = (0..values.len()).map(|n| m.0[40 + n][lane]).collect();
        assert_eq!(got, values, "chain {seed}, lane {lane}, {form:?}");
    }
}

/// An operation of eight long words.
type OnLongs = (&'static str, Build, fn([u64; 3]) -> u64);

const LONGS: &[OnLongs] = &[
    ("iadd", |b, [x, y, _]| b.ins().iadd(x, y), |[x, y, _]| x.wrapping_add(y)),
    ("isub", |b, [x, y, _]| b.ins().isub(x, y), |[x, y, _]| x.wrapping_sub(y)),
    ("imul", |b, [x, y, _]| b.ins().imul(x, y), |[x, y, _]| x.wrapping_mul(y)),
    ("bnot", |b, [x, ..]| b.ins().bnot(x), |[x, ..]| !x),
    ("ineg", |b, [x, ..]| b.ins().ineg(x), |[x, ..]| x.wrapping_neg()),
    (
        "shifts that rotate",
        |b, [x, _, z]| {
            let (left, right) = (shifted(b, x, 50, 0), shifted(b, x, 14, 1));
            let (up, down) = (shifted(b, x, 1, 0), shifted(b, x, 63, 1));
            let r = b.ins().bor(left, right);
            let s = b.ins().bxor(down, up);
            let r = b.ins().bxor(r, z);
            b.ins().bxor(r, s)
        },
        |[x, _, z]| x.rotate_left(50) ^ z ^ x.rotate_left(1),
    ),
    (
        "!x & y ^ z",
        |b, [x, y, z]| {
            let not = b.ins().bnot(x);
            let r = b.ins().band(not, y);
            b.ins().bxor(r, z)
        },
        |[x, y, z]| !x & y ^ z,
    ),
    ("umax", |b, [x, y, _]| b.ins().umax(x, y), |[x, y, _]| x.max(y)),
    ("smin", |b, [x, y, _]| b.ins().smin(x, y), |[x, y, _]| (x as i64).min(y as i64) as u64),
    ("umin", |b, [x, y, _]| b.ins().umin(x, y), |[x, y, _]| x.min(y)),
    ("smax", |b, [x, y, _]| b.ins().smax(x, y), |[x, y, _]| (x as i64).max(y as i64) as u64),
    ("iabs", |b, [x, ..]| b.ins().iabs(x), |[x, ..]| (x as i64).unsigned_abs()),
    ("popcnt", |b, [x, ..]| b.ins().popcnt(x), |[x, ..]| u64::from(x.count_ones())),
    (
        "leading zeros",
        |b, [x, ..]| like(b, Word::LeadingZeros, 0, &[x]),
        |[x, ..]| u64::from(x.leading_zeros()),
    ),
    (
        "sar each",
        |b, [x, y, _]| like(b, Word::ShiftEach, 2, &[x, y]),
        |[x, y, _]| (x as i64 >> y.min(63)) as u64,
    ),
    ("ishl 40", |b, [x, ..]| shifted(b, x, 40, 0), |[x, ..]| x << 40),
    ("sshr 33", |b, [x, ..]| shifted(b, x, 33, 2), |[x, ..]| (x as i64 >> 33) as u64),
    ("rotate 33", |b, [x, ..]| like(b, Word::Rotate, 33, &[x]), |[x, ..]| x.rotate_left(33)),
    (
        "shr each",
        |b, [x, y, _]| like(b, Word::ShiftEach, 1, &[x, y]),
        |[x, y, _]| if y < 64 { x >> y } else { 0 },
    ),
    (
        "product",
        |b, [x, y, _]| like(b, Word::Product, 0, &[x, y]),
        |[x, y, _]| u64::from(x as u32) * u64::from(y as u32),
    ),
    (
        "signed product",
        |b, [x, y, _]| like(b, Word::Product, 1, &[x, y]),
        |[x, y, _]| (i64::from(x as i32) * i64::from(y as i32)) as u64,
    ),
];

/// What only 512 bits have.
const LONGS_WITH_MASKS: &[OnLongs] = &[(
    "blend",
    |b, [x, y, z]| {
        let cc = words::condition(IntCC::UnsignedLessThanOrEqual);
        let m = word(b, Word::Compare, cc, &[x, y], MASK);
        like(b, Word::Blend, 0, &[m, y, z])
    },
    |[x, y, z]| if x <= y { y } else { z },
)];

#[test]
#[cfg_attr(not(runs_256_bit_code), ignore = "the processor has no AVX2")]
fn operations_on_long_words() {
    for form in forms() {
        let with_masks = if form == Form::AVX512 { LONGS_WITH_MASKS } else { &[] };
        for (name, build, expect) in [LONGS, with_masks].concat() {
            operation_on_long_words(form, name, build, expect);
        }
    }
}

fn operation_on_long_words(form: Form, name: &str, build: Build, expect: fn([u64; 3]) -> u64) {
    // Its halves differ, and its upper half alone is a sign.
    const C: u64 = 0x8000_0000_0000_0025;
    let ty = form.d();
    let mut m = Rows::new();
    run_as(form, &mut m, |b, at| {
        for part in 0..parts(form) {
            let kept = [0, 1, 2].map(|n| load_part(b, ty, at, n, part));
            let r = build(b, kept);
            store_part(b, r, at, 40, part);
            let once = [0, 1, 2].map(|n| load_part(b, ty, at, n, part));
            let r = build(b, once);
            store_part(b, r, at, 41, part);
            let [x, z] = [0, 2].map(|n| load_part(b, ty, at, n, part));
            let y = vconst64(b, &vec![C; form.lanes() / 2]);
            let r = build(b, [x, y, z]);
            store_part(b, r, at, 42, part);
        }
        zero(b)
    });
    for lane in 0..8 {
        let [x, y, z] = [0, 1, 2].map(|n| m.longs(n)[lane]);
        for (n, y) in [y, y, C].into_iter().enumerate() {
            let (got, want) = (m.longs(40 + n)[lane], expect([x, y, z]));
            assert_eq!(got, want, "{name} of {x:#x}, {y:#x}, {z:#x}, way {n}, {form:?}");
        }
    }
}
