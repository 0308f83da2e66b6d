//! The check of an access, with its slow way.

use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ptx_isa::effect::MemoryPlace;

use super::address::Address;
use super::cells::{Looks, guard, if_wanted, looks};
use super::check::{check, check_records};
use super::found::Found;
use super::results::{jump_with, result_types};
use super::rows::{rows_of, stays, turned};
use super::slow::{slow, watch};
use crate::generator::{Gen, Rep};

/// The check of an access and its slow way. Goes on where the access is quick: the block behind both ways, with a
/// parameter for each part of the results, and where the lanes are. Without a check there is one way only and no such
/// block, so that what comes next can read memory itself.
pub(super) fn checked(
    g: &mut Gen<'_, '_>,
    e: u32,
    address: &Address,
    mask: Option<&[Value]>,
    place: &MemoryPlace,
    bytes: u64,
) -> (Option<Block>, Found) {
    if let Some(found) = tile(g, e, address, place, bytes) {
        return (None, found);
    }
    let looks = looks(g, e, place, bytes);
    let (bad, site) = check(g, e, address, mask, place, bytes);
    let bad = match (bad, looks) {
        (Some(bad), _) => Some(bad),
        (None, Looks::Nobody) => return (None, site.found(g)),
        (None, Looks::Watcher | Looks::Code(_)) => None,
    };
    let join = g.b.create_block();
    for d in g.f.effects[e as usize].dst.clone() {
        for ty in result_types(g, d) {
            g.b.append_block_param(join, ty);
        }
    }
    let (cold, quick) = (g.b.create_block(), g.b.create_block());
    g.b.set_cold_block(cold);
    match bad {
        Some(bad) => g.b.ins().brif(bad, cold, &[], quick, &[]),
        None => g.b.ins().jump(quick, &[]),
    };
    g.b.switch_to_block(cold);
    let mut out = slow(g, e, mask, Some((address, place.offset)));
    if stays(g, e) {
        let columns: Vec<Vec<Value>> = out
            .iter()
            .filter_map(|r| match r {
                Rep::Slices(x) => Some(x.clone()),
                Rep::Scalar(_) => None,
            })
            .collect();
        if !columns.is_empty() {
            out = turned(g, &columns, rows_of).into_iter().map(Rep::Slices).collect();
        }
    }
    jump_with(g, join, &out);
    g.b.switch_to_block(quick);
    let found = site.found(g);
    match looks {
        Looks::Nobody => {}
        Looks::Watcher => {
            let (_, done) = if_wanted(g, e, place);
            watch(g, e, address, mask, place.offset);
            g.b.ins().jump(done, &[]);
            g.b.switch_to_block(done);
        }
        Looks::Code(tracked) => guard(g, e, &found, mask, place, (bytes, tracked), cold),
    }
    (Some(join), found)
}

/// Where the lanes of a load are that is checked with others, by now: the code goes on only where all of them lie inside.
fn tile(
    g: &mut Gen<'_, '_>,
    e: u32,
    address: &Address,
    place: &MemoryPlace,
    bytes: u64,
) -> Option<Found> {
    if g.mask.is_some() || g.sure && g.moving.contains_key(&e) {
        return None;
    }
    let tile = g.tiles.get(&e).cloned()?;
    let Address::Linear(x, o) = address else { return None };
    let lo = o.iter().copied().min().unwrap_or(0);
    let key = (tile.effects[0], g.full, g.sure);
    if tile.effects[0] == e {
        let first = g.b.ins().iadd_imm_s(*x, tile.first - place.offset);
        let (bad, site) = check_records(g, e, (first, o), place, bytes, tile.span);
        let (cold, quick) = (g.b.create_block(), g.b.create_block());
        g.b.set_cold_block(cold);
        g.b.ins().brif(bad, cold, &[], quick, &[]);
        g.b.switch_to_block(cold);
        // One of them is the fault.
        for e in &tile.effects {
            slow(g, *e, None, None);
        }
        g.b.ins().jump(g.fail, &[]);
        g.b.switch_to_block(quick);
        let Found::Linear(host, _) = site.found(g) else {
            unreachable!("lanes at constant distances are found so")
        };
        g.checked_tiles.insert(key, host);
    }
    let host = *g.checked_tiles.get(&key)?;
    let step = place.offset - tile.first - lo;
    Some(Found::Linear(host, o.iter().map(|o| o + step).collect()))
}
