//! Local memory whose lanes lie side by side: where all that touches it are elements of one size, the elements of a
//! group's lanes at one place follow each other, as a vector has them.
//!
//! Lanes that are at the same place, as in a loop over an array of each thread, load and store whole vectors then; and
//! what lanes at places of their own touch is near to each other. Addresses are what they were: only where the host has
//! them is another place.

use ptx_isa::Space;
use ptx_isa::effect::{Effect, Mem, Order};

use crate::access::which::{local_bytes, own, quick};
use crate::geometry::Geometry;
use crate::ir::Func;
use crate::options::Watched;

/// More bytes of a group's local memory than 32-bit places tell apart well.
const MOST: usize = 1 << 24;

/// Whether all that touches local memory are loads and stores for which `plain` holds, of which one is a load.
pub(crate) fn all_own(f: &Func, plain: impl Fn(&Mem, bool) -> bool) -> bool {
    let local = |space| matches!(space, Space::Local | Space::ParamFunc | Space::Generic);
    f.frame_bytes > 0
        && f.stack_bytes == 0
        && f.watched == Watched::Nothing
        && f.effects.iter().any(|e| matches!(&e.effect, Effect::Ld(m) if own(m)))
        && f.effects.iter().all(|e| match &e.effect {
            Effect::Ld(m) | Effect::St(m) if own(m) => {
                quick(m) && m.order == Order::Weak && plain(m, e.guard.is_some())
            }
            Effect::Ld(m) | Effect::St(m) => !local(m.place.space),
            Effect::Atom(a) => !local(a.place.space),
            Effect::Sys(_) | Effect::Warp(_) => false,
            Effect::Bar(_)
            | Effect::Fence(_)
            | Effect::AsyncGroup(_)
            | Effect::Trap
            | Effect::Brkpt
            | Effect::Yield => true,
        })
}

/// Bytes of the elements, if lanes lie side by side.
pub(crate) fn element(f: &Func, g: Geometry) -> Option<u32> {
    if g.scalar() || local_bytes(f).saturating_mul(g.width as usize) > MOST {
        return None;
    }
    let mut sizes = f.effects.iter().filter_map(|e| match &e.effect {
        Effect::Ld(m) | Effect::St(m) if own(m) => Some(m.bytes),
        _ => None,
    });
    let bytes = sizes.next()?;
    all_own(f, |m, _| m.bytes == bytes && m.count == 1).then_some(bytes.into())
}

/// Where byte `at` of lane `l`'s own memory is in that of its group, of `width` lanes with elements of so many bytes.
pub(crate) fn place(element: usize, width: usize, l: usize, at: usize) -> usize {
    (at / element * width + l) * element + at % element
}
