//! What compiled code and who watches it agree on: accesses that are told, and codes of cells.
//!
//! A cell stands for a few bytes of memory. Its code has the number of a *segment* (from one barrier of a block to the
//! next) above [`SEGMENT`] bits that say who touched it last in that segment, and how.

use crate::Space;
use crate::effect::Touches;

/// Bits of a code below the number of its segment.
pub const SEGMENT: u32 = 13;
/// In place of a thread of the block: several threads have read.
pub const MANY: u32 = 1 << 10;
/// In place of a thread: by atomics.
pub const ATOMIC: u32 = MANY + 1;
/// It was written in this segment.
pub const WRITTEN: u32 = 1 << 11;
/// The block had written it before this segment, or touched it otherwise than by atomics as they do now.
pub const BEFORE: u32 = 1 << 12;
/// The segment and the thread.
pub const FIELD: u32 = !(WRITTEN | BEFORE);

/// First codes of the launch, of the block, and since the block's last barrier.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub struct Now {
    /// Of the launch.
    pub launch: u32,
    /// Of the block.
    pub block: u32,
    /// Since the block's last barrier.
    pub segment: u32,
}

/// An access by threads of a block.
#[derive(Debug)]
pub struct Touch<'a> {
    /// Which instruction it is: the same number for the same one.
    pub site: usize,
    /// What it does.
    pub touches: Touches,
    /// Global, shared or generic.
    pub space: Space,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The first lane's thread in the block.
    pub thread: u32,
    /// Lanes that do it, a bit each.
    pub lanes: u32,
    /// By lane.
    pub addresses: &'a [u64; 32],
    /// When.
    pub now: Now,
}

/// The cells of a range of memory.
#[derive(Copy, Clone, Debug)]
pub struct CellsAt {
    /// Host address of the first one, of 4 bytes for each 4 bytes of memory; 0: nobody wants to know of accesses by
    /// this instruction.
    pub host: u64,
    /// A smaller code is of something that nobody has written; 0: all was written.
    pub first: u32,
}
