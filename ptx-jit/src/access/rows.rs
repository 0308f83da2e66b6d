//! Vectors of two or four words per lane, as they lie in memory and turned: rows and columns.

use cranelift_codegen::ir::types::{I8X16, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::effect::Mem;

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

/// Two or four vectors that lie side by side, from `at` on.
pub(super) fn load_rows(g: &mut Gen<'_, '_>, m: &Mem, host: Value, at: i32) -> Vec<Value> {
    let (ty, bytes) = (g.form.w(), g.form.bytes());
    (0..i32::from(m.count)).map(|n| g.b.ins().load(ty, plain(), host, at + bytes * n)).collect()
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
    let mut e = g.emitter(true);
    if let [a, b] = rows[..] {
        return vec![e.permute(a, b, &second(form, 0)), e.permute(a, b, &second(form, 1))];
    }
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
