//! The rules for codes of cells, as code applies them: those of the watcher ([`ptx_isa::watch`] has the numbers).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::watch::{ATOMIC, BEFORE, FIELD, MANY, SEGMENT, WRITTEN};

use crate::generator::Gen;
use crate::options::Tracked;

/// What an access does to cells.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    Writes,
    Updates,
}

/// Rules for the codes of cells, with what they need: numbers of one lane, or of all as vectors.
pub(super) struct Rules {
    pub tracked: Tracked,
    /// Whether it is known that nothing races with the access.
    pub unraced: bool,
    pub does: Does,
    /// Whether other blocks may have touched the memory.
    pub others: bool,
    pub vector: bool,
    pub launch: Value,
    pub block: Value,
    pub segment: Value,
    /// Smaller codes are of something that nobody has written.
    pub first: Value,
}

impl Rules {
    pub(super) fn number(&self, g: &mut Gen<'_, '_>, c: u32) -> Value {
        g.emitter(self.vector).w(c)
    }
    fn has(&self, g: &mut Gen<'_, '_>, c: Value, bits: u32) -> Value {
        let bits = self.number(g, bits);
        let mut e = g.emitter(self.vector);
        if e.bit_masks() {
            return e.test(c, bits);
        }
        let zero = e.w(0);
        let both = e.and(c, bits);
        e.cmp_w(IntCC::NotEqual, both, zero)
    }
    pub(super) fn compare(&self, g: &mut Gen<'_, '_>, cc: IntCC, a: Value, b: Value) -> Value {
        g.emitter(self.vector).cmp_w(cc, a, b)
    }
    pub(super) fn select(&self, g: &mut Gen<'_, '_>, p: Value, a: Value, b: Value) -> Value {
        g.emitter(self.vector).sel(p, a, b)
    }
    pub(super) fn or(&self, g: &mut Gen<'_, '_>, x: Value, bits: u32) -> Value {
        let bits = self.number(g, bits);
        g.b.ins().bor(x, bits)
    }

    pub(super) fn looks_for_races(&self) -> bool {
        self.tracked.races && !self.unraced
    }

    /// Whether codes must be read at all.
    pub(super) fn reads(&self) -> bool {
        self.looks_for_races() || self.does != Does::Writes
    }

    /// The code of a cell that thread `me` writes, which is not read. Who it was counts where others look for races.
    pub(super) fn written(&self, g: &mut Gen<'_, '_>, me: Value) -> Value {
        let who = if self.tracked.races { me } else { self.segment };
        self.or(g, who, WRITTEN)
    }

    /// What is left to the watcher, and the new code, of a cell with code `c` that thread `me` touches.
    pub(super) fn apply(&self, g: &mut Gen<'_, '_>, c: Value, me: Value) -> (Value, Option<Value>) {
        let unwritten = (self.tracked.unwritten && self.does != Does::Writes)
            .then(|| self.compare(g, IntCC::UnsignedLessThan, c, self.first));
        if !self.looks_for_races() {
            let bad = unwritten.expect("one of both is looked for");
            return (bad, (self.does == Does::Updates).then(|| self.or(g, self.segment, WRITTEN)));
        }
        let (bad, new) = self.races(g, c, me);
        let bad = match unwritten {
            Some(unwritten) => g.b.ins().bor(bad, unwritten),
            None => bad,
        };
        (bad, Some(new))
    }

    fn races(&self, g: &mut Gen<'_, '_>, c: Value, me: Value) -> (Value, Value) {
        let current = self.compare(g, IntCC::UnsignedGreaterThanOrEqual, c, self.segment);
        // Another block of this launch.
        let foreign = self.others.then(|| {
            let age = g.b.ins().isub(c, self.launch);
            let reach = g.b.ins().isub(self.block, self.launch);
            self.compare(g, IntCC::UnsignedLessThan, age, reach)
        });
        let x = g.b.ins().bxor(c, me);
        match self.does {
            Does::Writes => {
                let differs = self.has(g, x, FIELD);
                let mut bad = g.b.ins().band(current, differs);
                if let Some(foreign) = foreign {
                    bad = g.b.ins().bor(bad, foreign);
                }
                (bad, self.or(g, me, WRITTEN))
            }
            Does::Reads => {
                let differs = self.has(g, x, FIELD);
                let written = self.has(g, c, WRITTEN);
                let other = g.b.ins().band(current, differs);
                let mut bad = g.b.ins().band(other, written);
                let mut many = self.or(g, self.segment, MANY);
                let mut mine = me;
                let mut kept = None;
                if let Some(foreign) = foreign {
                    let before = self.has(g, c, WRITTEN | BEFORE);
                    let theirs = g.b.ins().band(foreign, before);
                    bad = g.b.ins().bor(bad, theirs);
                    let recent = self.compare(g, IntCC::UnsignedGreaterThanOrEqual, c, self.launch);
                    let before = g.b.ins().band(before, recent);
                    let marked = self.or(g, me, BEFORE);
                    mine = self.select(g, before, marked, me);
                    let mark = self.number(g, BEFORE);
                    let mark = g.b.ins().band(c, mark);
                    many = g.b.ins().bor(many, mark);
                    kept = Some(foreign);
                }
                let now = self.select(g, differs, many, c);
                let mut new = self.select(g, current, now, mine);
                if let Some(kept) = kept {
                    new = self.select(g, kept, c, new);
                }
                (bad, new)
            }
            Does::Updates => {
                let atomic = self.or(g, self.segment, ATOMIC | WRITTEN);
                let (with, either) = (self.or(g, c, BEFORE), self.or(g, atomic, BEFORE));
                let differs = self.compare(g, IntCC::NotEqual, with, either);
                let mut bad = g.b.ins().band(current, differs);
                let Some(foreign) = foreign else { return (bad, atomic) };
                let low = self.number(g, (1 << SEGMENT) - 1);
                let low = g.b.ins().band(c, low);
                let only = self.number(g, ATOMIC | WRITTEN);
                let plain = self.compare(g, IntCC::NotEqual, low, only);
                let theirs = g.b.ins().band(foreign, plain);
                bad = g.b.ins().bor(bad, theirs);
                let recent = self.compare(g, IntCC::UnsignedGreaterThanOrEqual, c, self.launch);
                let before = g.b.ins().band(plain, recent);
                let mine = self.select(g, before, either, atomic);
                (bad, self.select(g, foreign, c, mine))
            }
        }
    }
}
