//! Vectors of two or four words per lane, as they lie in memory and turned: rows and columns.

use cranelift_codegen::ir::types::{I8X16, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::effect::Mem;

use super::found::unit;
use crate::clif::{as_type, cast, plain};
use crate::form::Form;
use crate::generator::Gen;

/// Words of `a` and `b`: those numbered 0 to 3 are `a`'s.
fn words(g: &mut Gen<'_, '_>, a: Value, b: Value, which: [u8; 4]) -> Value {
    let bytes: Vec<u8> = which.iter().flat_map(|w| (0..4).map(move |i| 4 * w + i)).collect();
    let mask = g.b.func.dfg.immediates.push(bytes.as_slice().into());
    let (a, b) = (as_type(&mut g.b, a, I8X16), as_type(&mut g.b, b, I8X16));
    let r = g.b.ins().shuffle(a, b, mask);
    g.b.ins().bitcast(I32X4, cast(), r)
}

/// Four vectors of four words with rows and columns exchanged.
fn transposed(g: &mut Gen<'_, '_>, r: [Value; 4]) -> [Value; 4] {
    let low = [[0, 1], [2, 3]].map(|[a, b]| words(g, r[a], r[b], [0, 4, 1, 5]));
    let high = [[0, 1], [2, 3]].map(|[a, b]| words(g, r[a], r[b], [2, 6, 3, 7]));
    let half = |g: &mut Gen<'_, '_>, x: [Value; 2], upper: bool| {
        words(g, x[0], x[1], if upper { [2, 3, 6, 7] } else { [0, 1, 4, 5] })
    };
    [half(g, low, false), half(g, low, true), half(g, high, false), half(g, high, true)]
}

/// Whether the vectors of effect `e` stay interleaved in the version that is being emitted.
pub(super) fn stays(g: &Gen<'_, '_>, e: u32) -> bool {
    g.mask.is_none() && g.interleaved.contains(&e)
}

/// Whether every lane's vector of 2 or 4 words lies behind that of the lane before.
pub(super) fn rows(g: &Gen<'_, '_>, m: &Mem, o: &[i64]) -> bool {
    let bytes = i64::from(m.bytes) * i64::from(m.count);
    m.bytes == 4 && matches!(m.count, 2 | 4) && o.chunks(g.per()).all(|c| unit(c, bytes))
}

/// Two or four vectors that lie side by side, from `at` on.
pub(super) fn load_rows(g: &mut Gen<'_, '_>, m: &Mem, host: Value, at: i32) -> Vec<Value> {
    let (ty, bytes) = (g.form.w(), g.form.bytes());
    (0..i32::from(m.count)).map(|n| g.b.ins().load(ty, plain(), host, at + bytes * n)).collect()
}

/// The slices of each element of vectors that lie side by side, the lanes at `o`, or with `turned` off of each of their
/// rows.
pub(super) fn load_columns(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    (host, o): (Value, &[i64]),
    turned: bool,
) -> Vec<Vec<Value>> {
    let mut columns = vec![Vec::new(); m.count.into()];
    for c in o.chunks(g.per()) {
        let rows = load_rows(g, m, host, c[0] as i32);
        let parts = if turned { columns_of(g, &rows) } else { rows };
        for (all, x) in columns.iter_mut().zip(parts) {
            all.push(x);
        }
    }
    columns
}

/// As [`load_rows`], the other way.
pub(super) fn store_rows(g: &mut Gen<'_, '_>, rows: &[Value], host: Value, at: i32) {
    let bytes = g.form.bytes();
    for (n, r) in rows.iter().enumerate() {
        g.b.ins().store(plain(), *r, host, at + bytes * n as i32);
    }
}

/// A slice of each element of vectors of two or four words, of the rows as they lie in memory.
pub(super) fn columns_of(g: &mut Gen<'_, '_>, rows: &[Value]) -> Vec<Value> {
    if g.form.words() {
        return columns_by_words(g, rows);
    }
    match *rows {
        [a, b] => vec![words(g, a, b, [0, 2, 4, 6]), words(g, a, b, [1, 3, 5, 7])],
        [x, y, z, w] => transposed(g, [x, y, z, w]).to_vec(),
        _ => unreachable!("`rows` allows vectors of 2 and 4"),
    }
}

/// As [`columns_of`], the other way.
pub(super) fn rows_of(g: &mut Gen<'_, '_>, x: &[Value]) -> Vec<Value> {
    if g.form.words() {
        return rows_by_words(g, x);
    }
    match *x {
        [x, y] => vec![words(g, x, y, [0, 4, 1, 5]), words(g, x, y, [2, 6, 3, 7])],
        [x, y, z, w] => transposed(g, [x, y, z, w]).to_vec(),
        _ => unreachable!("`rows` allows vectors of 2 and 4"),
    }
}

/// Slices of each element turned by `turn`, in each slice.
pub(super) fn turned(
    g: &mut Gen<'_, '_>,
    values: &[Vec<Value>],
    turn: impl Fn(&mut Gen<'_, '_>, &[Value]) -> Vec<Value>,
) -> Vec<Vec<Value>> {
    let mut out = vec![Vec::new(); values.len()];
    for s in 0..values[0].len() {
        let parts: Vec<Value> = values.iter().map(|v| v[s]).collect();
        for (all, x) in out.iter_mut().zip(turn(g, &parts)) {
            all.push(x);
        }
    }
    out
}

/// Every second word from `first` on.
fn second(form: Form, first: u32) -> Vec<u32> {
    (0..u32::from(form.lanes)).map(|n| 2 * n + first).collect()
}

/// Words of two vectors in turn, from `first` of each on, `run` of one at a time.
pub(super) fn in_turn(form: Form, first: u32, run: u32) -> Vec<u32> {
    let (lanes, pair) = (u32::from(form.lanes), 2 * run);
    let word = |n| first + n / pair * run + n % run + if n % pair < run { 0 } else { lanes };
    (0..lanes).map(word).collect()
}

/// The elements of a slice of vectors of two or four words, of the rows as they lie in memory.
fn columns_by_words(g: &mut Gen<'_, '_>, rows: &[Value]) -> Vec<Value> {
    let form = g.form;
    let (lanes, half) = (u32::from(form.lanes), u32::from(form.lanes / 2));
    if let [a, b] = rows[..] {
        let mut e = g.emitter(true);
        return vec![e.permute(a, b, &second(form, 0)), e.permute(a, b, &second(form, 1))];
    }
    if let (true, [a, b, c, d]) = (by_halves(form), rows) {
        let [[p, r], [q, s]] = [halves(g, *a, *c), halves(g, *b, *d)];
        return four_by_four(g, [p, r, q, s]).to_vec();
    }
    let mut e = g.emitter(true);
    // Elements 0 and 1 of half the lanes each, then 2 and 3.
    let mut out = Vec::new();
    for first in [0, 2] {
        let which: Vec<u32> = (0..lanes).map(|n| 4 * (n % half) + n / half + first).collect();
        let low = e.permute(rows[0], rows[1], &which);
        let high = e.permute(rows[2], rows[3], &which);
        for first in [0, half] {
            out.push(e.permute(low, high, &in_turn(form, first, half)));
        }
    }
    out
}

/// As [`columns_by_words`], the other way.
fn rows_by_words(g: &mut Gen<'_, '_>, x: &[Value]) -> Vec<Value> {
    let form = g.form;
    let starts = [0, u32::from(form.lanes / 2)];
    if let (true, [x, y, z, w]) = (by_halves(form), x) {
        let [a, b, c, d] = four_by_four(g, [*x, *y, *z, *w]);
        let [[p, r], [q, s]] = [halves(g, a, b), halves(g, c, d)];
        return vec![p, q, r, s];
    }
    let mut e = g.emitter(true);
    let mut rows = Vec::new();
    for first in starts {
        let pair = e.permute(x[0], x[1], &in_turn(form, first, 1));
        if let [_, _, z, w] = *x {
            let other = e.permute(z, w, &in_turn(form, first, 1));
            rows.extend(starts.map(|first| e.permute(pair, other, &in_turn(form, first, 2))));
        } else {
            rows.push(pair);
        }
    }
    rows
}

/// Whether vectors are turned in halves of four words, in which instructions of 256 bits exchange words at once.
pub(super) fn by_halves(form: Form) -> bool {
    form.lanes == 8
}

/// The lower halves of two vectors of eight words, and the upper ones.
fn halves(g: &mut Gen<'_, '_>, x: Value, y: Value) -> [Value; 2] {
    let mut e = g.emitter(true);
    let lower = e.permute(x, y, &[0, 1, 2, 3, 8, 9, 10, 11]);
    [lower, e.permute(x, y, &[4, 5, 6, 7, 12, 13, 14, 15])]
}

/// Four vectors of eight words with rows and columns exchanged, in each half by itself.
fn four_by_four(g: &mut Gen<'_, '_>, [a, b, c, d]: [Value; 4]) -> [Value; 4] {
    let mut e = g.emitter(true);
    let words = [[0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]];
    let [front, back] = [(a, b), (c, d)].map(|(x, y)| words.map(|which| e.permute(x, y, &which)));
    let mut longs = |n: usize, which: [u32; 8]| e.permute(front[n], back[n], &which);
    let [low, high] = [[0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]];
    [longs(0, low), longs(0, high), longs(1, low), longs(1, high)]
}

/// Eight vectors of eight words with rows and columns exchanged.
pub(super) fn eight_by_eight(g: &mut Gen<'_, '_>, rows: [Value; 8]) -> [Value; 8] {
    let [a, b, c, d, e, f, h, i] = rows;
    let [[a, e], [b, f], [c, h], [d, i]] =
        [(a, e), (b, f), (c, h), (d, i)].map(|(x, y)| halves(g, x, y));
    let [lower, upper] = [four_by_four(g, [a, b, c, d]), four_by_four(g, [e, f, h, i])];
    let [[a, b, c, d], [e, f, h, i]] = [lower, upper];
    [a, b, c, d, e, f, h, i]
}
