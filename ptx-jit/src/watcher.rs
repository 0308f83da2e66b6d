//! Who watches compiled code, and what is told: accesses before they are done, blocks and barriers.
//!
//! A watcher that says no ends the launch with [`Stop::Watched`](crate::Stop::Watched); whoever launched then looks at it
//! by other means. So a watcher may know less than it would need to for a report, as long as it says no when it is in
//! doubt. Where [`Tracked`](crate::Tracked) says so, code looks at the watcher's cells itself and tells only what
//! they do not settle.

use std::ops::Range;

use ptx_isa::Space;
use ptx_isa::watch::{CellsAt, Now, Touch};

/// Watches what the blocks of a host thread do. Where it says no (`false`, `None`), the launch ends.
pub trait Watcher {
    /// A block begins, and `more` behind it that one call runs, whose codes follow; the one before has ended.
    fn block(&mut self, more: u32) -> Now;
    /// All threads of the block have come to a barrier; `whole`: all to the same one, and none has ended.
    fn barrier(&mut self, whole: bool) -> Option<Now>;
    /// Threads of the block are about to do this.
    fn access(&mut self, touch: &Touch<'_>) -> bool;
    /// A lane is about to do this, which may be told by [`Watcher::access`] as well, and after which its instruction
    /// may do the same in the same allocation or variable without asking. In shared memory, `address` is an offset.
    fn lane(&mut self, space: Space, address: u64, bytes: u32, write: bool) -> bool;
    /// Lanes execute an operation whose member masks are these, of all lanes of the warp.
    fn members(&mut self, lanes: u32, masks: &[u32; 32]) -> bool;
    /// The shared variable that holds an offset.
    fn variable(&self, offset: u64) -> Option<Range<u64>>;
    /// Host address of the cells of shared memory. They stay there; `wanted`: 0 until the next block or barrier where
    /// nobody need look at them, as all of it was written.
    fn shared_cells(&mut self, wanted: bool) -> u64;
    /// The cells of `bytes` bytes of global memory from `address` on, which instruction `site` has touched and will
    /// touch without asking; `None`: it must go on asking. They hold until a block begins with another `launch`.
    fn cells(&mut self, site: usize, address: u64, bytes: u64) -> Option<CellsAt>;
}
