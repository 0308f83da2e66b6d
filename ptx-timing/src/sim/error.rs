//! Why a launch cannot be simulated.

use ptx_isa::Class;
use thiserror::Error;

use crate::occupancy::DoesNotFit;

/// Why a kernel cannot be simulated.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// The block cannot be launched on the device.
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    /// The device has no instruction of this class, or its cost is unknown.
    #[error("{device} has no instructions of class '{}' (instruction {pc})", .class.name())]
    UnsupportedClass {
        /// Device.
        device: String,
        /// Class.
        class: Class,
        /// Index of the instruction.
        pc: u32,
    },
    /// A trace does not have the number of warps that the block has.
    #[error("the trace of block {block} has {found} warps, a block has {expected}")]
    WrongWarpCount {
        /// Block.
        block: u64,
        /// Warps in the trace.
        found: usize,
        /// Warps of a block.
        expected: u32,
    },
    /// An event names an instruction or an access that does not exist.
    #[error(
        "the trace of block {block}, warp {warp} names instruction {pc} or an access that does not exist"
    )]
    BadEvent {
        /// Block.
        block: u64,
        /// Warp within the block.
        warp: usize,
        /// Instruction index of the event.
        pc: u32,
    },
    /// All warps wait at barriers that nobody will complete.
    #[error("deadlock on SM {sm}: {arrived} warps wait at barrier {barrier}, which expects {}", expected_text(.expected))]
    Deadlock {
        /// SM.
        sm: usize,
        /// Barrier number.
        barrier: u8,
        /// Warps that arrived.
        arrived: u32,
        /// Warps expected; 0 = all of the block.
        expected: u32,
    },
    /// The source could not give a trace.
    #[error("no trace of block {block}: {message}")]
    Source {
        /// Block.
        block: u64,
        /// The source's message.
        message: String,
    },
}

fn expected_text(expected: &u32) -> String {
    match expected {
        0 => "all warps of the block".to_owned(),
        n => n.to_string(),
    }
}
