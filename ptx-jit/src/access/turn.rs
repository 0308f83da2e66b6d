//! Rows and columns exchanged: words of records as they lie in memory, and a vector of each word of the records.
//!
//! Rows are the vectors in memory, one after the other; a column has one word of every record. Between them stand
//! vectors with some columns of some rows' words. Both are halved and doubled together, so that each vector is full.

use std::collections::HashMap;

use cranelift_codegen::ir::Value;

use super::rows::{by_halves, eight_by_eight};
use crate::generator::Gen;

/// How many of each, in powers of two, and which: the rows or columns `number << log` up to the next one's.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Span {
    log: u32,
    number: u32,
}

impl Span {
    fn has(self, n: u32) -> bool {
        n >> self.log == self.number
    }
    fn halves(self) -> [Span; 2] {
        [0, 1].map(|n| Span { log: self.log - 1, number: 2 * self.number + n })
    }
    fn double(self) -> Span {
        Span { log: self.log + 1, number: self.number / 2 }
    }
}

/// A vector, and which word of the rows each lane has.
#[derive(Clone)]
struct Held(Value, Vec<Option<u32>>);

type Made = HashMap<(Span, Span), Held>;

/// How the words of one vector's records are turned.
pub(super) struct Turn {
    lanes: u32,
    /// Words of a record, which is as many rows as there are.
    words: u32,
    /// The column of each value, and of each word of a record; how many there are.
    values: Vec<u32>,
    columns: Vec<Option<u32>>,
    count: usize,
}

impl Turn {
    pub(super) fn new(lanes: u32, words: u32, fields: &[u32]) -> Turn {
        let (mut columns, mut count) = (vec![None; words as usize], 0);
        for (w, column) in columns.iter_mut().enumerate() {
            if fields.contains(&(w as u32)) {
                *column = Some(count);
                count += 1;
            }
        }
        let values = fields.iter().filter_map(|w| columns[*w as usize]).collect();
        Turn { lanes, words, values, columns, count: count as usize }
    }

    /// All rows, and all columns.
    fn all(n: usize) -> Span {
        Span { log: n.next_power_of_two().trailing_zeros(), number: 0 }
    }

    /// The words of some rows that some columns have, in order.
    fn wanted(&self, rows: Span, columns: Span) -> Vec<u32> {
        let is = |w: &u32| self.columns[(w % self.words) as usize].is_some_and(|c| columns.has(c));
        let (first, end) = (rows.number << rows.log, (rows.number + 1) << rows.log);
        (self.lanes * first..self.lanes * end.min(self.words)).filter(is).collect()
    }

    fn fits(&self, rows: Span, columns: Span) -> bool {
        self.wanted(rows, columns).len() <= self.lanes as usize
    }

    /// Words of one or two vectors: `to` says which ones, and in which lanes.
    fn join(&self, g: &mut Gen<'_, '_>, parts: &[Held], to: Vec<Option<u32>>) -> Held {
        let (a, b) = (&parts[0], &parts[parts.len() - 1]);
        if to.iter().zip(&a.1).all(|(to, a)| to.is_none() || to == a) {
            return Held(a.0, to);
        }
        let lane = |h: &Held, w: u32| h.1.iter().position(|x| *x == Some(w)).map(|l| l as u32);
        let place = |w: u32| {
            let place = lane(a, w).or_else(|| lane(b, w).map(|l| l + self.lanes));
            place.expect("the parts have what is wanted of them")
        };
        // What is in other lanes does not matter.
        let which: Vec<u32> = to.iter().map(|w| w.map_or(0, place)).collect();
        Held(g.emitter(true).permute(a.0, b.0, &which), to)
    }

    /// Whether records have as many words as vectors, and most of these are asked for.
    fn by_halves(&self, g: &Gen<'_, '_>) -> bool {
        by_halves(g.form) && self.words == 8 && self.count >= 4
    }

    /// Eight rows or columns as the others.
    fn exchanged(&self, g: &mut Gen<'_, '_>, vectors: &[Value]) -> [Value; 8] {
        let vectors = vectors.try_into().expect("there are as many as words");
        eight_by_eight(g, vectors)
    }

    /// Words side by side in the first lanes.
    fn dense(&self, words: Vec<u32>) -> Vec<Option<u32>> {
        let mut out: Vec<Option<u32>> = words.into_iter().map(Some).collect();
        out.resize(self.lanes as usize, None);
        out
    }

    /// The value of each field; `row` loads one.
    pub(super) fn columns(
        &self,
        g: &mut Gen<'_, '_>,
        mut row: impl FnMut(&mut Gen<'_, '_>, u32) -> Value,
    ) -> Vec<Value> {
        if self.by_halves(g) {
            let rows: Vec<Value> = (0..self.words).map(|n| row(g, n)).collect();
            let all = self.exchanged(g, &rows);
            let word = |c: &u32| self.columns.iter().position(|x| x == &Some(*c));
            return self.values.iter().filter_map(word).map(|w| all[w]).collect();
        }
        let mut made = Made::new();
        let rows = Turn::all(self.words as usize);
        let spans = self.values.iter().map(|c| Span { log: 0, number: *c });
        spans.map(|c| self.loaded(g, &mut made, &mut row, rows, c).0).collect()
    }

    fn loaded(
        &self,
        g: &mut Gen<'_, '_>,
        made: &mut Made,
        row: &mut impl FnMut(&mut Gen<'_, '_>, u32) -> Value,
        rows: Span,
        columns: Span,
    ) -> Held {
        // A row has all columns.
        let all = Turn::all(self.count);
        let key = (rows, if rows.log == 0 { all } else { columns });
        if let Some(held) = made.get(&key) {
            return held.clone();
        }
        let held = if rows.log == 0 {
            let first = self.lanes * rows.number;
            Held(row(g, rows.number), (first..first + self.lanes).map(Some).collect())
        } else {
            let mut parts = Vec::new();
            for half in rows.halves() {
                if self.wanted(half, columns).is_empty() {
                    continue;
                }
                let mut more = columns;
                while more.log < all.log && self.fits(half, more.double()) {
                    more = more.double();
                }
                parts.push(self.loaded(g, made, row, half, more));
            }
            let to = self.dense(self.wanted(rows, columns));
            self.join(g, &parts, to)
        };
        made.insert(key, held.clone());
        held
    }

    /// Each row that gets a value, made of a value of each field, and which of its words do.
    pub(super) fn rows(
        &self,
        g: &mut Gen<'_, '_>,
        values: &[Value],
    ) -> Vec<(u32, Value, Vec<bool>)> {
        if self.by_halves(g) && self.count as u32 == self.words {
            let mut columns = values.to_vec();
            for (c, x) in self.values.iter().zip(values) {
                columns[*c as usize] = *x;
            }
            let all = self.exchanged(g, &columns);
            let on = vec![true; self.lanes as usize];
            return (0..).zip(all).map(|(n, x)| (n, x, on.clone())).collect();
        }
        let mut made = Made::new();
        let word = |c: u32| self.columns.iter().position(|x| *x == Some(c)).unwrap_or(0) as u32;
        for (c, x) in self.values.iter().zip(values) {
            let words = (0..self.lanes).map(|l| Some(l * self.words + word(*c))).collect();
            let key = (Turn::all(self.words as usize), Span { log: 0, number: *c });
            made.insert(key, Held(*x, words));
        }
        let columns = Turn::all(self.count);
        let mut out = Vec::new();
        for n in 0..self.words {
            let row = Span { log: 0, number: n };
            let wanted = self.wanted(row, columns);
            if wanted.is_empty() {
                continue;
            }
            // In the order of memory.
            let place = |l| Some(self.lanes * n + l).filter(|w| wanted.contains(w));
            let to: Vec<Option<u32>> = (0..self.lanes).map(place).collect();
            let on = to.iter().map(Option::is_some).collect();
            let parts = self.parts(g, &mut made, row, columns);
            out.push((n, self.join(g, &parts, to).0, on));
        }
        out
    }

    /// Vectors that have what the columns have of the rows.
    fn parts(&self, g: &mut Gen<'_, '_>, made: &mut Made, rows: Span, columns: Span) -> Vec<Held> {
        let all = Turn::all(self.words as usize);
        if columns.log == 0 {
            // A column has all rows.
            return made.get(&(all, columns)).cloned().into_iter().collect();
        }
        let mut parts = Vec::new();
        for half in columns.halves() {
            if self.wanted(rows, half).is_empty() {
                continue;
            }
            let mut more = rows;
            while half.log > 0 && more.log < all.log && self.fits(more.double(), half) {
                more = more.double();
            }
            let key = (if half.log == 0 { all } else { more }, half);
            let held = match made.get(&key) {
                Some(held) => held.clone(),
                None => {
                    let of = self.parts(g, made, more, half);
                    let to = self.dense(self.wanted(more, half));
                    self.join(g, &of, to)
                }
            };
            made.insert(key, held.clone());
            parts.push(held);
        }
        parts
    }
}
