//! What a stopped launch says: the fault as data, and its text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::allocation::Allocation;

/// Why a launch stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub enum FaultKind {
    /// Access outside every allocation.
    OutOfBounds,
    /// Access near address zero.
    NullPointer,
    /// Write to constant memory or kernel parameters.
    ReadOnly,
    /// Access at a multiple of less than its size.
    Misaligned,
    /// An operand value that the instruction does not allow.
    Operand,
    /// Every live warp waits and nothing can release one.
    Deadlock,
    /// As `Deadlock`, and lanes of one warp wait at different places.
    DivergentBarrier,
    /// The thread's local stack is full.
    StackOverflow,
    /// `trap`.
    Trap,
    /// `brkpt`.
    Breakpoint,
    /// `__assertfail`.
    Assertion,
    /// Indirect call of an address that is no function's entry.
    CallTarget,
    /// Index of `brx.idx` outside its table.
    BranchIndex,
    /// `free` of something that `malloc` did not return.
    BadFree,
    /// The time limit passed.
    Timeout,
    /// The step limit passed.
    StepLimit,
    /// The caller cancelled the launch.
    Cancelled,
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Position {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An instruction of the text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CodePlace {
    /// Function.
    pub function: String,
    /// In the PTX text.
    pub ptx: Position,
    /// In the source that `.loc` names.
    pub source: Option<Position>,
    /// The instruction's text.
    pub text: String,
}

/// The access that faulted.
#[derive(Clone, Debug, Serialize)]
pub struct AccessInfo {
    /// State space.
    pub space: String,
    /// Address in that space.
    pub address: u64,
    /// Bytes (required alignment of a misaligned access).
    pub bytes: u32,
    /// Whether it was a write.
    pub write: bool,
    /// The nearest allocation and the distance: negative below its start, positive past its end,
    /// 0 inside.
    pub nearest: Option<(Allocation, i64)>,
}

/// A register of the instruction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RegisterValue {
    /// Name.
    pub name: String,
    /// 1, 32 or 64.
    pub bits: u8,
    /// Value in the faulting thread.
    pub value: u64,
}

/// Where some lanes of a warp are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WarpPlace {
    /// Block.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Lanes.
    pub lanes: u32,
    /// What they wait for.
    pub state: String,
    /// Where.
    pub place: CodePlace,
}

/// A fault with everything that is known about it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What.
    pub kind: FaultKind,
    /// One sentence.
    pub message: String,
    /// Kernel.
    pub kernel: String,
    /// Where, when it is one instruction's.
    pub place: Option<CodePlace>,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Lanes that executed the instruction.
    pub lanes: u32,
    /// The access.
    pub access: Option<AccessInfo>,
    /// Registers of the instruction.
    pub registers: Vec<RegisterValue>,
    /// Callers, innermost first.
    pub calls: Vec<CodePlace>,
    /// Warps that wait.
    pub warps: Vec<WarpPlace>,
}

fn triple(v: [u32; 3]) -> String {
    format!("({}, {}, {})", v[0], v[1], v[2])
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source} ({})", self.ptx)?,
            None => write!(f, "{}", self.ptx)?,
        }
        write!(f, " in {}", self.function)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if let Some(place) = &self.place {
            writeln!(f, "  --> {place}")?;
            writeln!(f, "      {}", place.text)?;
        }
        write!(f, "  kernel {}, block {}", self.kernel, triple(self.block))?;
        if self.place.is_some() {
            write!(f, ", thread {}, lanes {:#010x}", triple(self.thread), self.lanes)?;
        }
        writeln!(f)?;
        if let Some(a) = &self.access {
            match &a.nearest {
                Some((n, 0)) => writeln!(
                    f,
                    "  inside {} ({:#x}, {} bytes), {} bytes from its start",
                    n.name,
                    n.start,
                    n.size,
                    a.address - n.start
                )?,
                Some((n, d)) => {
                    write!(
                        f,
                        "  nearest allocation: {} ({:#x}, {} bytes), ",
                        n.name, n.start, n.size
                    )?;
                    match d {
                        1 => writeln!(f, "right past its end")?,
                        d if *d < 0 => writeln!(f, "{} bytes below its start", d.unsigned_abs())?,
                        d => writeln!(f, "{} bytes past its end", d - 1)?,
                    }
                }
                None => {}
            }
        }
        for r in &self.registers {
            match r.bits {
                1 => writeln!(f, "  {} = {}", r.name, r.value != 0)?,
                32 => writeln!(f, "  {} = {:#010x} ({})", r.name, r.value, r.value as i32)?,
                _ => writeln!(f, "  {} = {:#018x} ({})", r.name, r.value, r.value as i64)?,
            }
        }
        // Deep recursion repeats the same place.
        for same in self.calls.chunk_by(|a, b| a == b) {
            write!(f, "  called from {}", same[0])?;
            match same.len() {
                1 => writeln!(f)?,
                n => writeln!(f, " ({n} times)")?,
            }
        }
        for w in &self.warps {
            writeln!(
                f,
                "  block {} warp {} lanes {:#010x} {}: {}",
                triple(w.block),
                w.warp,
                w.lanes,
                w.state,
                w.place
            )?;
        }
        Ok(())
    }
}
