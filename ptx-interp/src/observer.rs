//! Events for timing models, checkers and tracers.
//!
//! The interpreter is compiled once per observer type; with [`Nobody`] nothing is left of the
//! hooks.

use ptx_isa::effect::Effect;
use ptx_parse::code::Inst;

/// A warp issues a PTX instruction.
#[derive(Copy, Clone)]
pub struct Issue<'a> {
    /// Block index.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Index in [`Program::functions`](ptx_parse::code::Program).
    pub function: u32,
    /// Index in its `insts`.
    pub index: u32,
    /// The instruction: its row gives the timing class, its micro-ops the registers.
    pub inst: &'a Inst,
    /// Lanes of the split.
    pub lanes: u32,
    /// Lanes whose guard holds.
    pub active: u32,
}

/// A warp's access to memory, before it happens.
#[derive(Copy, Clone)]
pub struct MemoryAccess<'a> {
    /// The load, store or atomic.
    pub effect: &'a Effect,
    /// Executing lanes.
    pub lanes: u32,
    /// Address per lane in the effect's space; lanes that do not execute hold anything.
    pub addresses: &'a [u64; 32],
}

/// Receives the events of one host thread, block after block.
pub trait Observer: Send {
    /// Whether there is anything to call; `false` removes the hooks.
    const ENABLED: bool = true;
    /// Whether blocks after `block` in launch order are still interesting (sampling).
    fn block_starts(&mut self, block: [u32; 3]) {
        let _ = block;
    }
    /// A warp issues an instruction.
    fn issue(&mut self, issue: &Issue<'_>);
    /// The instruction issued last accesses memory.
    fn access(&mut self, access: &MemoryAccess<'_>) {
        let _ = access;
    }
    /// A block has ended.
    fn block_ends(&mut self, block: [u32; 3]) {
        let _ = block;
    }
}

/// Observes nothing.
pub struct Nobody;

impl Observer for Nobody {
    const ENABLED: bool = false;
    fn issue(&mut self, _: &Issue<'_>) {}
}
