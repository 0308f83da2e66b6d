//! Memory that compiled code and the host share: one block per worker.

/// Fixed part, at the start; access sites follow ([`SITE`] bytes each).
#[repr(C, align(64))]
pub(crate) struct Ctx {
    /// Staged operands of helpers, 256 bytes each: up to 16 sources.
    pub src: [[u64; 32]; 24],
    /// Staged results.
    pub dst: [[u64; 32]; 24],
    /// Executing lanes: all ones or zeros.
    pub mask: [u32; 32],
    /// Where stores of lanes that are off go.
    pub scratch: [u64; 8],
    /// `%ctaid`, by dimension, then other block-uniform special registers by number.
    pub special: [u64; 128],
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
    /// First thread of the executing group.
    pub thread0: u64,
    /// Helper functions.
    pub effect: usize,
    pub refuel: usize,
    /// Lane functions by micro-op.
    pub lanes: *const usize,
    /// The worker, for helpers.
    pub worker: *mut std::ffi::c_void,
}

/// An access site: allocation start, size, host pointer minus device address.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub(crate) struct Site {
    pub start: u64,
    pub size: u64,
    pub delta: u64,
}

pub(crate) const SITE: usize = std::mem::size_of::<Site>();
pub(crate) const DONE: u32 = u32::MAX;
