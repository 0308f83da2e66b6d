//! What a trace holds, whatever its format.

use ptx_interp::observer::Action;
use ptx_isa::{Space, Ty};

/// How a trace is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// A line for people per event.
    Text,
    /// A JSON object per line.
    Json,
    /// One JSON document for ui.perfetto.dev: a process per block, a thread per warp.
    Perfetto,
    /// Records of a few bytes, the quickest to write; [`convert`](super::convert) makes the others of it.
    Binary,
}

/// An instruction as a trace shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Instruction {
    pub function: String,
    /// In the PTX text.
    pub line: u32,
    pub opcode: String,
    pub text: String,
    /// Registers that it writes.
    pub writes: Vec<(String, Ty)>,
}

/// A warp of the grid.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    pub block: [u32; 3],
    pub warp: u32,
}

/// What every event says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub time: u64,
    pub place: Place,
    /// Number of the [`Instruction`].
    pub pc: u32,
    /// Lanes that execute it.
    pub lanes: u32,
}

/// An instruction that a warp has issued.
pub(super) struct Issue<'e> {
    pub head: Head,
    /// Values of the executing lanes, by number in [`Instruction::writes`].
    pub values: &'e [(usize, Row<'e>)],
}

/// The lanes of a register.
#[derive(Copy, Clone)]
pub(super) enum Row<'e> {
    /// A predicate: a bit of each lane.
    Bits(u32),
    /// 32 bits a lane.
    Words(&'e [u32; 32]),
    /// 64 bits a lane.
    Longs(&'e [u64; 32]),
    /// The same in halves, the low one first.
    Halves(&'e [u32; 64]),
}

impl Row<'_> {
    pub(super) fn lane(&self, l: usize) -> u64 {
        match self {
            Row::Bits(bits) => u64::from(bits >> l & 1),
            Row::Words(row) => row[l].into(),
            Row::Longs(row) => row[l],
            Row::Halves(row) => u64::from(row[2 * l]) | u64::from(row[2 * l + 1]) << 32,
        }
    }
}

/// A warp's access to memory.
pub(super) struct Touch<'e> {
    pub head: Head,
    pub action: Action,
    pub space: Space,
    /// Of a lane.
    pub bytes: u32,
    pub addresses: &'e [u64; 32],
}
