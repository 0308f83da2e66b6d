//! Memory that compiled code and the host share: one block per worker.

use ptx_isa::watch::Now;

/// Fixed part, at the start; access sites follow ([`SITE`] bytes each).
#[repr(C, align(64))]
pub(crate) struct Ctx {
    /// Staged operands of helpers, 256 bytes each.
    pub src: [[u64; 32]; STAGED],
    /// Staged results.
    pub dst: [[u64; 32]; STAGED],
    /// Executing lanes: all ones or zeros.
    pub mask: [u32; 32],
    /// Where stores of lanes that are off go.
    pub scratch: [u64; 8],
    /// `%ctaid`, by dimension, then other block-uniform special registers by number.
    pub special: [u64; 128],
    /// The first bytes of the kernel parameters, to be read without a pointer.
    pub first_params: [u64; FIRST_PARAMS / 8],
    /// Kernel parameters.
    pub params: *const u8,
    /// Addresses of module symbols.
    pub symbols: *const u64,
    /// Shared memory of the block.
    pub shared: *mut u8,
    pub shared_bytes: u64,
    /// Local memory of the block's threads, one behind the other.
    pub local: *mut u8,
    /// Values that live across barriers, per group.
    pub spill: *mut u8,
    /// Where each group goes on: 0 at the start, `u32::MAX` when finished.
    pub resume: *mut u32,
    /// Loop turns left.
    pub fuel: i64,
    /// Turns left of loops that may wait, until another group has its turn.
    pub patience: i64,
    /// Blocks that follow in the row of the grid and that the same call runs; never where groups stop at barriers.
    pub more: u64,
    /// First thread of the executing group.
    pub thread0: u64,
    /// Thunks to the helpers, which keep all registers; see `thunk`.
    pub effect: usize,
    pub refuel: usize,
    pub lane_thunk: usize,
    /// The helpers.
    pub run_effect: usize,
    pub run_refuel: usize,
    /// Not 0 when a helper wants the block to stop.
    pub failed: u64,
    /// Lane functions by micro-op.
    pub lanes: *const usize,
    /// The rows of all warps for what their lanes do together ([`crate::meet`]).
    pub meet: *mut u64,
    /// The worker, for helpers.
    pub worker: *mut std::ffi::c_void,
    /// What is added to a host address of shared memory to get that of its cell; 0: no cells.
    pub shared_cells: u64,
    /// Codes of the cells of what happens now.
    pub now: Now,
}

/// Most operands, and most results, of a helper: `wmma` has at most 8 + 8 + 8, `crate::entry::Operands` a bit for each.
pub(crate) const STAGED: usize = 32;

/// Bytes of parameters in the context itself.
pub(crate) const FIRST_PARAMS: usize = 256;

/// An access site: the allocation that an instruction touched last.
#[repr(C)]
#[derive(Copy, Clone)]
pub(crate) struct Site {
    /// First address, a multiple of the site's unit.
    pub start: u64,
    /// Units from `start` on at which everything that the site touches lies inside; 0: not known.
    pub room: u64,
    /// Host memory of `start`, always readable for one access.
    pub host: u64,
    /// What is added to a host address to get that of its cell; 0: no cells.
    pub cells: u64,
    /// A smaller code in a cell is of something that nobody has written.
    pub first: u64,
}

impl Site {
    /// Where nothing is known yet. Lanes that are off may read where it points to.
    pub(crate) fn unknown(shared: *mut u8) -> Site {
        Site { start: 0, room: 0, host: shared as u64, cells: 0, first: 0 }
    }
}

pub(crate) const SITE: usize = std::mem::size_of::<Site>();
pub(crate) const DONE: u32 = u32::MAX;
/// Added to the number of an effect that is only told.
pub(crate) const WATCH: i64 = 1 << 32;
/// Turns of loops that may wait, before another group has its turn.
pub(crate) const PATIENCE: i64 = 100;
