//! Who watches compiled code, and what is told: accesses before they are done, blocks and barriers.
//!
//! A watcher that says no ends the launch with [`Stop::Watched`](crate::Stop::Watched); whoever launched then looks at it
//! by other means. So a watcher may know less than it would need to for a report, as long as it says no when it is in
//! doubt.

use std::ops::Range;

use ptx_isa::Space;
use ptx_isa::effect::Scope;

/// What an access does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Touches {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It is atomic.
    Atomic(Scope),
}

/// An access by threads of a block.
#[derive(Debug)]
pub struct Touch<'a> {
    /// Which instruction it is: the same number for the same one.
    pub effect: usize,
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
}

/// Watches what the blocks of a host thread do. Where it says no (`false`), the launch ends.
pub trait Watcher {
    /// A block begins, by number (x fastest); the one before has ended.
    fn block(&mut self, block: u64);
    /// All threads of the block have come to a barrier; `whole`: all to the same one, and none has ended.
    fn barrier(&mut self, whole: bool) -> bool;
    /// Threads of the block are about to do this.
    fn access(&mut self, touch: &Touch<'_>) -> bool;
    /// A lane is about to do this, which may be told by [`Watcher::access`] as well, and after which its instruction
    /// may do the same in the same allocation or variable without asking. In shared memory, `address` is an offset.
    fn lane(&mut self, space: Space, address: u64, bytes: u32, write: bool) -> bool;
    /// Lanes execute an operation whose member masks are these, of all lanes of the warp.
    fn members(&mut self, lanes: u32, masks: &[u32; 32]) -> bool;
    /// The shared variable that holds an offset.
    fn variable(&self, offset: u64) -> Option<Range<u64>>;
}
