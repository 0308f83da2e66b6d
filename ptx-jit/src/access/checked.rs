//! The check of an access, with its slow way.

use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ptx_isa::effect::MemoryPlace;

use super::address::Address;
use super::check::check;
use super::found::Found;
use super::results::{jump_with, result_types};
use super::slow::slow;
use crate::generator::Gen;

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
    let (bad, site) = check(g, e, address, mask, place, bytes);
    let Some(bad) = bad else { return (None, site.found(g)) };
    let join = g.b.create_block();
    for d in g.f.effects[e as usize].dst.clone() {
        for ty in result_types(g, d) {
            g.b.append_block_param(join, ty);
        }
    }
    let (cold, quick) = (g.b.create_block(), g.b.create_block());
    g.b.set_cold_block(cold);
    g.b.ins().brif(bad, cold, &[], quick, &[]);
    g.b.switch_to_block(cold);
    let out = slow(g, e, mask, Some((address, place.offset)));
    jump_with(g, join, &out);
    g.b.switch_to_block(quick);
    (Some(join), site.found(g))
}
