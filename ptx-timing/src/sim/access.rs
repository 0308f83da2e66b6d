//! The accesses of an issued instruction, one after the other through the memory pipe of its SM.

use super::chip::Chip;
use super::time::FRACTION;
use super::warp::{Block, Copies, Warp, local_base};
use crate::event::{Detail, Event, Space, TracedAccess};

/// Does the accesses of one instruction, one after the other. The clock at which the last one that the warp waits for
/// is done, the time that they take in the pipe, and how much of it they wait for room. `place` is the SM and the slot
/// of the warp on the device.
#[inline(never)]
pub(super) fn access(
    chip: &mut Chip<'_>,
    (sm, place): (usize, usize),
    start: u64,
    event: Event,
    (warp, block, copies): (&Warp, &Block, &mut Copies),
    counted: usize,
) -> (u64, u64, u64) {
    let Detail::Memory { first, count } = event.detail else { return (0, 0, 0) };
    let list = warp.accesses.get(first as usize..first as usize + usize::from(count));
    let accesses = list.unwrap_or_default();
    let instruction = &chip.code.instructions[event.pc as usize];
    let beyond = accesses.iter().any(|a| a.space != Space::Shared);
    let local = local_base(place, chip.code.local_bytes);
    let (mut done, mut work, mut room, mut read) = (0, 0, 0, 0);
    let mut shapes = block.shapes.borrow_mut();
    for &traced in accesses {
        let traced = match traced.space {
            Space::Local => TracedAccess { base: local.wrapping_add(traced.base), ..traced },
            _ => traced,
        };
        let cost = shapes.get(chip.profile, instruction, traced);
        let side = beyond && traced.space == Space::Shared;
        // One follows the other through the pipe.
        let at = start + work / FRACTION;
        // What a copy reads goes on to shared memory: that takes a clock, and what its banks conflict.
        let own = cost.0.busy;
        let passes = if side { FRACTION + own.saturating_sub(read) } else { own };
        read = if side { 0 } else { own };
        work += passes;
        let counts = &mut chip.per_pc[counted];
        let (at, held) = chip.memory.access(sm, at, instruction, traced, side, cost, counts);
        work += held;
        room += held;
        match traced.differs.copy {
            true => copies.pending = copies.pending.max(at),
            false => done = done.max(at),
        }
    }
    (done, work, room)
}
