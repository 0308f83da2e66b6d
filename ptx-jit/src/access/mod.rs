//! Loads, stores and the other effects.
//!
//! Every effect has a slow way: operands and mask are staged, a helper does it lane by lane with
//! all checks. Weak loads and stores also have a fast way: one check that everything lies in the
//! allocation that this instruction touched last, and is aligned; then plain host accesses.

mod address;
mod atomics;
mod cells;
pub(crate) mod check;
mod checked;
mod choices;
mod fields;
mod found;
mod gather;
mod one;
mod results;
mod rows;
mod rules;
mod slow;
mod spaced;
mod transfer;
mod turn;
pub(crate) mod which;
mod whole_words;

use cranelift_codegen::ir::InstBuilder;
use ptx_isa::effect::Effect;

use self::atomics::atom;
use self::fields::{joint, load_records, store_records};
use self::results::finish;
use self::slow::{executing, skip_if_none, slow};
use self::transfer::{load, store};
use self::which::{quick, quick_atom};
use crate::generator::Gen;

/// Writes the code of effect `e`.
pub(crate) fn effect(g: &mut Gen<'_, '_>, e: u32) {
    let f = g.f;
    let info = &f.effects[e as usize];
    match &info.effect {
        Effect::Fence(..) => {
            g.b.ins().fence();
        }
        Effect::Yield => g.lose_patience(),
        Effect::Ld(m) if quick(m) => match joint(g, e) {
            Some(records) => load_records(g, e, &records),
            None => load(g, e, *m),
        },
        Effect::St(m) if quick(m) => match joint(g, e) {
            Some(records) => store_records(g, e, &records),
            None => store(g, e, *m),
        },
        Effect::Atom(a) if quick_atom(a) => atom(g, e, *a),
        _ => {
            let mask = executing(g, e);
            // What the effect reads must be known whether any lane executes it or not.
            for v in g.f.effects[e as usize].src.clone() {
                if g.g.scalar() {
                    g.scalar(v);
                } else {
                    g.vector(v);
                }
            }
            let stop = skip_if_none(g, e, mask.as_deref());
            let out = slow(g, e, mask.as_deref(), None);
            finish(g, e, out, stop);
        }
    }
}
