//! Words of records: accesses of several words behind one address, whose lanes are a record apart.

use std::collections::HashMap;
use std::rc::Rc;

use ptx_isa::Kind;
use ptx_isa::effect::{Effect, Mem, MemoryPlace, Order};

use crate::access::which::{own, quick};
use crate::divergence::Divergence;
use crate::form::Form;
use crate::ir::{Func, Op, Val};
use crate::variance::Variance;

/// Most words of a record.
const MOST_WORDS: i64 = 16;

/// Loads or stores of words of the lanes' records, with nothing between them that could tell their order.
pub(crate) struct Records {
    /// In their order; all touch the same number of bytes.
    pub(crate) effects: Vec<u32>,
    pub(crate) base: Val,
    pub(crate) place: MemoryPlace,
    /// Bytes that each effect touches.
    pub(crate) unit: u64,
    /// From `base` to the first word.
    pub(crate) first: i64,
    /// Words from one lane's record to the next one's.
    pub(crate) words: u32,
    /// The word of each value, from the first on.
    pub(crate) fields: Vec<u32>,
}

impl Records {
    /// Words from the first to the last.
    pub(crate) fn reach(&self) -> u32 {
        self.fields.iter().max().map_or(0, |w| w + 1)
    }
}

/// Effects that are collected.
struct Open {
    effects: Vec<u32>,
    base: Val,
    mem: Mem,
    distance: i64,
    offsets: Vec<i64>,
}

impl Open {
    fn of(f: &Func, divergence: &Divergence, e: u32) -> Option<Open> {
        let info = &f.effects[e as usize];
        let (mem, values) = match &info.effect {
            Effect::Ld(m) => (*m, &info.dst[..]),
            Effect::St(m) => (*m, info.src.get(1..)?),
            _ => return None,
        };
        let base = *info.src.first()?;
        let kind = |v: Val| f.insts[v as usize].kind;
        let words = values.len() == usize::from(mem.count)
            && values.iter().all(|v| kind(*v) == Kind::W)
            && (matches!(info.effect, Effect::St(_))
                || values.iter().all(|v| divergence.of[*v as usize] == Variance::Varying));
        let plain = mem.order == Order::Weak && mem.bytes == 4 && quick(&mem) && !own(&mem);
        if info.guard.is_some() || !words || !plain || kind(base) != Kind::D {
            return None;
        }
        let Variance::Linear(o) = &divergence.of[base as usize] else { return None };
        let distance = o.get(1)? - o[0];
        let even = o.windows(2).all(|w| w[1] - w[0] == distance);
        let near = (8..=4 * MOST_WORDS).contains(&distance) && distance % 4 == 0;
        let offsets = vec![mem.place.offset];
        (even && near).then_some(Open { effects: vec![e], base, mem, distance, offsets })
    }

    fn takes(&self, other: &Open) -> bool {
        let all = || self.offsets.iter().chain(&other.offsets);
        let (Some(least), Some(most)) = (all().min(), all().max()) else { return false };
        let bytes = 4 * i64::from(self.mem.count);
        let reach = most.saturating_sub(*least).saturating_add(bytes);
        (self.base, self.mem.count) == (other.base, other.mem.count)
            && self.mem.place.space == other.mem.place.space
            && reach <= self.distance
            && all().all(|o| (o - least) % bytes == 0)
    }

    /// What they are, where it pays to take them together.
    fn close(self, form: Form, store: bool) -> Option<Records> {
        let first = *self.offsets.iter().min()?;
        let count = i64::from(self.mem.count);
        let field = |o: i64| (0..count).map(move |n| ((o - first) / 4 + n) as u32);
        let fields: Vec<u32> = self.offsets.iter().copied().flat_map(field).collect();
        let mut distinct = fields.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let words = (self.distance / 4) as u32;
        let some = distinct.len() as u32;
        let pays = if store {
            // Which of two stores comes last is not forgotten; masks that are vectors make slow stores.
            distinct.len() == fields.len()
                && (some == words || (form.bit_masks() && 2 * some >= words))
        } else {
            some >= 2 && 4 * some >= words
        };
        // Vectors side by side are turned as they are.
        let alone = self.effects.len() == 1 && i64::from(words) == count;
        (pays && !alone && self.distance % (4 * count) == 0).then_some(Records {
            effects: self.effects,
            base: self.base,
            place: self.mem.place,
            unit: 4 * count as u64,
            first,
            words,
            fields,
        })
    }
}

/// The records of each effect that touches one.
pub(crate) fn records(f: &Func, divergence: &Divergence, form: Form) -> HashMap<u32, Rc<Records>> {
    let mut out = HashMap::new();
    if !form.words() {
        return out;
    }
    let mut close = |open: Open, store: bool| {
        if let Some(records) = open.close(form, store) {
            let records = Rc::new(records);
            out.extend(records.effects.iter().map(|e| (*e, records.clone())));
        }
    };
    for block in &f.blocks {
        let (mut loads, mut stores): (Vec<Open>, Option<Open>) = (Vec::new(), None);
        for v in &block.insts {
            let Op::Effect(e) = f.insts[*v as usize].op else { continue };
            let one = Open::of(f, divergence, e);
            match &f.effects[e as usize].effect {
                Effect::Ld(m) if m.order == Order::Weak => {
                    stores.take().into_iter().for_each(|s| close(s, true));
                    let Some(one) = one else { continue };
                    match loads.iter_mut().find(|l| l.takes(&one)) {
                        Some(all) => {
                            all.effects.push(e);
                            all.offsets.extend(one.offsets);
                        }
                        None => loads.push(one),
                    }
                }
                Effect::St(m) if m.order == Order::Weak => {
                    loads.drain(..).for_each(|l| close(l, false));
                    match (&mut stores, one) {
                        (Some(all), Some(one)) if all.takes(&one) => {
                            all.effects.push(e);
                            all.offsets.extend(one.offsets);
                        }
                        (_, one) => {
                            let before = std::mem::replace(&mut stores, one);
                            before.into_iter().for_each(|s| close(s, true));
                        }
                    }
                }
                _ => {
                    loads.drain(..).for_each(|l| close(l, false));
                    stores.take().into_iter().for_each(|s| close(s, true));
                }
            }
        }
        loads.into_iter().for_each(|l| close(l, false));
        stores.into_iter().for_each(|s| close(s, true));
    }
    out
}
