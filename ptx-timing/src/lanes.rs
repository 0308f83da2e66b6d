//! What the lanes of a warp reach and hold, as far as costs depend on it.

use ptx_interp::Moment;
use ptx_interp::observer::{Action, MemoryAccess};
use ptx_isa::Kind;
use ptx_isa::effect::{Accessor, window};
use ptx_isa::types::Space as IsaSpace;

use crate::event::Space;

/// Where the arrays of textures and surfaces lie, each in its part.
const ARRAY_BASE: u64 = 1 << 61;
const PER_ARRAY: u64 = 1 << 40;
/// Where device `printf` writes.
pub(crate) const PRINT_BASE: u64 = 1 << 62;

/// The space that an access of a warp reaches, and the lanes' addresses as the hardware lays them
/// out; `None` where it costs nothing.
pub(crate) fn place(access: &MemoryAccess<'_>) -> Option<(Space, [u64; 32])> {
    let (space, moved) = shift(access)?;
    let mut addresses = access.addresses.map(|a| a.wrapping_add(moved));
    if space == Space::Local {
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = interleaved(lane, *address);
        }
    }
    Some((space, addresses))
}

/// The same for an access of the first of its lanes only.
pub(crate) fn place_of_lane(access: &MemoryAccess<'_>) -> Option<(Space, u32, u64)> {
    let (space, moved) = shift(access)?;
    let lane = access.lanes.trailing_zeros() & 31;
    let address = access.addresses[lane as usize].wrapping_add(moved);
    let local = space == Space::Local;
    Some((space, lane, if local { interleaved(lane as usize, address) } else { address }))
}

/// Where a lane's local address lies: the hardware interleaves local memory by lane, word by word. The SM adds
/// where its warp's part begins.
fn interleaved(lane: usize, address: u64) -> u64 {
    let word = (address / 4).wrapping_mul(32).wrapping_add(lane as u64);
    word.wrapping_mul(4).wrapping_add(address % 4)
}

/// The space that an access reaches, and what there is to add to its addresses.
fn shift(access: &MemoryAccess<'_>) -> Option<(Space, u64)> {
    let mut moved = 0;
    let mut space = match access.space {
        IsaSpace::Tex => {
            moved = ARRAY_BASE + access.texture.wrapping_mul(PER_ARRAY) % ARRAY_BASE;
            Space::Global
        }
        space => Space::of(space)?,
    };
    if access.space == IsaSpace::Generic {
        let first = access.addresses[access.lanes.trailing_zeros() as usize % 32];
        let (reached, at) = window::locate(access.space, first);
        space = Space::of(reached)?;
        moved = at.wrapping_sub(first);
    }
    // Fetches, and reads of surfaces, go through the texture cache.
    if space == Space::Global
        && access.action == Action::Read
        && matches!(access.by, Accessor::Texture | Accessor::Surface)
    {
        space = Space::Texture;
    }
    Some((space, moved))
}

/// How many different values a register has in some lanes.
pub(crate) fn distinct(moment: &Moment<'_>, (kind, number): (Kind, u32), lanes: u32) -> u8 {
    let Some(values) = moment.register(kind, number) else { return 32 };
    let mut seen: Vec<u64> =
        (0..32).filter(|l| lanes >> l & 1 != 0).map(|l| values[l as usize]).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() as u8
}
