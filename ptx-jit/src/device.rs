//! What compiled code runs on: the memory of a device, and one launch.

use std::sync::Arc;

use ptx_isa::effect::{Fault, Machine, Sys};
use ptx_isa::special::Sreg;
use ptx_isa::texture::Texture;

use crate::watcher::Watcher;

/// Addresses of one allocation and where they lie on the host.
#[derive(Copy, Clone, Debug)]
pub struct Span {
    /// First device address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Whether kernels may write.
    pub writable: bool,
    /// Host memory of `start`.
    pub host: *mut u8,
}

/// A system call of one lane.
#[derive(Clone, Debug)]
pub struct SystemCall {
    /// Which one.
    pub sys: Sys,
    /// Its first arguments, zeros behind them.
    pub args: [u64; 4],
    /// The block, x fastest.
    pub block: u64,
    /// The lane of its group of threads.
    pub lane: u8,
}

/// The device that a launch runs on.
///
/// # Safety
/// Memory of a [`Span`] stays valid for reads (and writes, where it is writable) of all its bytes
/// while [`crate::run_blocks`] runs blocks of the launch, and the host holds no references to it.
pub unsafe trait Device: Sync {
    /// The allocation of global or constant memory that holds `address`.
    fn span(&self, address: u64) -> Option<Span>;
    /// Whether a constant variable is at `address`.
    fn is_constant(&self, address: u64) -> bool {
        let _ = address;
        false
    }
    /// A number that stays while every [`Span`] that was given holds, and that no other device has; `None`: spans hold
    /// for one launch.
    fn spans_hold_while(&self) -> Option<u64> {
        None
    }
    /// A special register that is neither the thread's place in its block nor the block's in the
    /// grid.
    fn special(&self, block: [u32; 3], reg: Sreg) -> u64;
    /// The texture, sampler or surface object behind a handle.
    fn texture(&self, handle: u64) -> Option<Arc<Texture>>;
    /// Carries out a system call of one lane and gives its result. `memory` is what the lane can read.
    ///
    /// # Errors
    /// A fault of the lane, also where the device has no such call.
    fn system(&self, call: &SystemCall, memory: &mut dyn Machine) -> Result<u64, Fault> {
        let _ = memory;
        Err(Fault::Operand { lane: call.lane, message: format!("no system has {:?}", call.sys) })
    }
    /// Who watches the blocks of a host thread, where code is made for that ([`crate::Options::watched`]).
    fn watcher(&self) -> Option<Box<dyn Watcher + '_>> {
        None
    }
    /// Asked now and then in loops: whether the launch goes on (not cancelled, not too long).
    fn go_on(&self) -> bool;
}

/// One launch of a kernel.
pub struct Launch<'a> {
    /// Memory and limits.
    pub device: &'a dyn Device,
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
    /// Addresses of the module's symbols, each in its own space.
    pub symbols: &'a [u64],
    /// Shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
}

/// Why a block did not run to its end. Memory may have changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A thread faulted.
    #[error("{fault}")]
    Fault {
        /// What happened.
        fault: Fault,
        /// Function of the program.
        function: u32,
        /// Text of the instruction.
        span: std::ops::Range<u32>,
        /// Block.
        block: [u32; 3],
        /// Thread.
        thread: [u32; 3],
    },
    /// An index of `brx.idx` is beyond its table.
    #[error("an index of `brx.idx` is beyond its table")]
    BranchIndex,
    /// The [`Watcher`] said no.
    #[error("what the launch does must be looked at closely")]
    Watched,
    /// All threads wait for others, and none can go on.
    #[error("all threads of the block wait for others")]
    Stuck,
    /// [`Device::go_on`] said no.
    #[error("the launch was stopped")]
    Device,
}
