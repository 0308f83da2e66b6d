//! Lowered code: micro-ops in basic blocks, ready for an engine.
//!
//! One [`Program`] per kernel holds the kernel and every function that it can reach.

use std::sync::Arc;

use ptx_isa::Match;
use ptx_isa::meaning::{ModuleInfo, Uop, V};

use crate::module::{Loc, Param, SpanRange, Tuning};

/// A kernel with everything that it can reach.
#[derive(Clone)]
pub struct Program {
    /// Module name for reports.
    pub module: Arc<str>,
    /// Module text, for lines of reports.
    pub source: Arc<str>,
    /// `.version`, `.target`, `.address_size`.
    pub info: ModuleInfo,
    /// Function 0 is the kernel. [`Src::Function`](ptx_isa::meaning::Src) indexes this.
    pub functions: Vec<Function>,
    /// Kernel parameters with their byte offsets in the parameter block.
    pub params: Vec<(Param, u32)>,
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// Bytes of static shared memory; dynamic shared memory starts at the next multiple of
    /// `dynamic_shared_align`.
    pub shared_bytes: u32,
    /// Alignment of dynamic shared memory.
    pub dynamic_shared_align: u32,
    /// Shared variables: name, offset, size (0: dynamic), for reports.
    pub shared_vars: Vec<(String, u32, u32)>,
    /// Module symbols (global and constant) that the code refers to: `Src::Symbol` indexes
    /// `Module::symbols` of the module it was lowered from.
    pub tuning: Tuning,
    /// Whether multiplications and additions were fused ([`crate::module::Module::contraction`]).
    pub contraction: bool,
    /// Whether counters were written into it, so that compiled code is not that of the text alone.
    pub counted: bool,
    /// Whether blocks of one thread with so many bytes of shared memory were put together, which is local memory now.
    pub joined: Option<u32>,
    /// `.file` table.
    pub files: Vec<(u32, String)>,
    /// Distinct opcodes of the code: those of the module, and the return that ends every function.
    pub matches: Vec<Match>,
}

/// Most local memory of a thread in bytes (CUDA C++ Programming Guide, technical specifications). Lowering only counts
/// what a kernel has; launches refuse more.
pub const MOST_LOCAL: u32 = 512 << 10;

/// Bytes of local memory that a thread's calls may have, unless a launch says otherwise.
pub const STACK: u32 = 64 << 10;

/// A lowered function.
#[derive(Clone)]
pub struct Function {
    /// Name.
    pub name: String,
    /// `Module::functions` index.
    pub id: u32,
    /// Basic blocks; block 0 is the entry.
    pub blocks: Vec<BasicBlock>,
    /// PTX instructions in text order.
    pub insts: Vec<Inst>,
    /// Micro-ops of all instructions.
    pub uops: Vec<Uop>,
    /// Registers per kind (`Kind as usize`).
    pub regs: [u32; 3],
    /// Temporaries per kind (the most that one instruction needs).
    pub temps: [u32; 3],
    /// Names of the registers by kind and number, for reports.
    pub reg_names: [Vec<RegName>; 3],
    /// Bytes of the local frame: `.local` variables, call parameter blocks and own parameters.
    pub frame_bytes: u32,
    /// Those at the end of the frame that a stack takes: 0 as lowered, for engines that make loops of recursion.
    pub stack_bytes: u32,
    /// Local arrays: name, offset in the frame, size, for reports.
    pub local_vars: Vec<(String, u32, u32)>,
    /// Own parameters: where the caller puts them.
    pub params: Vec<ArgumentLocation>,
    /// Own results: where the caller finds them.
    pub rets: Vec<ArgumentLocation>,
    /// `.loc` positions.
    pub locs: Vec<Loc>,
}

/// The name of a register, spelled out only where a report shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegName {
    /// Name, or prefix of a numbered register.
    pub base: Arc<str>,
    /// Number after the prefix.
    pub number: Option<u32>,
    /// What follows: `.hi` for the upper half of a 128-bit register.
    pub suffix: &'static str,
}

impl std::fmt::Display for RegName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.base)?;
        if let Some(number) = self.number {
            write!(f, "{number}")?;
        }
        f.write_str(self.suffix)
    }
}

/// Where a parameter or result of a function lives in its own frame.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ArgumentLocation {
    /// Byte offset and size in the frame.
    Frame {
        /// Offset.
        offset: u32,
        /// Bytes.
        bytes: u32,
    },
    /// A `.reg` parameter.
    Reg(V),
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct BasicBlock {
    /// First instruction.
    pub start: u32,
    /// One past the last instruction. Control instructions only come last.
    pub end: u32,
    /// Successor blocks (the fall-through last).
    pub succs: Vec<u32>,
    /// Where lanes that part at its end meet again; `None` when that is the function's end.
    pub meet: Option<Meet>,
}

/// Where lanes that part meet again.
#[derive(Clone, Debug)]
pub struct Meet {
    /// The block.
    pub block: u32,
    /// Turns of loops that lanes may leave on their way to it, the innermost first. Empty where all lanes that do not
    /// end come to it.
    pub turns: Vec<Turn>,
}

/// A turn of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The blocks of the loop.
    pub blocks: std::ops::Range<u32>,
    /// Where lanes that leave it meet; `None` when that is the function's end.
    pub out: Option<u32>,
}

/// A PTX instruction.
#[derive(Clone)]
pub struct Inst {
    /// Its micro-ops in [`Function::uops`] (empty for control flow, except what computes operands).
    pub uops: std::ops::Range<u32>,
    /// Guard: a register of kind `P` (or a temporary that the first micro-op sets), and whether it
    /// is negated. Every micro-op of the instruction and its flow obey it.
    pub guard: Option<(V, bool)>,
    /// Where control goes.
    pub flow: Flow,
    /// [`Program::matches`] index: the row of the table, and the modifiers.
    pub opcode: u32,
    /// Text of the instruction.
    pub span: SpanRange,
    /// [`Function::locs`] index.
    pub loc: Option<u32>,
}

/// Control flow of an instruction, for lanes whose guard holds.
#[derive(Clone, Debug)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To a block.
    Bra(u32),
    /// To `targets[index]`; an index out of range faults.
    Brx {
        /// A `W` value.
        index: V,
        /// Blocks.
        targets: Box<[u32]>,
    },
    /// Call, then the next instruction.
    Call(Box<Call>),
    /// Return (from a kernel: exit).
    Ret,
    /// End the thread.
    Exit,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whom.
    pub callee: Callee,
    /// Arguments in the order of the callee's parameters.
    pub args: Box<[CallArg]>,
    /// Results in the order of the callee's.
    pub rets: Box<[CallArg]>,
}

/// Whom a call calls.
#[derive(Clone, Debug)]
pub enum Callee {
    /// [`Program::functions`] index.
    Direct(u32),
    /// A `D` value that holds a function's entry address ([`function_address`]).
    Indirect(V),
}

/// An argument or result on the caller's side.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CallArg {
    /// Bytes of the caller's frame.
    Frame {
        /// Offset.
        offset: u32,
        /// Bytes.
        bytes: u32,
    },
    /// A value (argument) or register (result).
    Value(V),
    /// A result that nobody wants.
    Sink,
}

/// Entry address of function `id` of a module: what `mov.u64 %rd, f` gives, and function pointers
/// in memory hold.
pub const fn function_address(id: u32) -> u64 {
    FUNCTION_BASE + id as u64 * 128
}

/// The function id of an entry address.
pub const fn function_of_address(address: u64) -> Option<u32> {
    if address < FUNCTION_BASE || !address.is_multiple_of(128) {
        return None;
    }
    let id = (address - FUNCTION_BASE) / 128;
    if id > u32::MAX as u64 { None } else { Some(id as u32) }
}

/// Lowest function entry address (outside every data window).
pub const FUNCTION_BASE: u64 = 0x0080_0000;

/// Why a kernel cannot be lowered: it reaches an instruction without a meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{opcode}` cannot run: {why}")]
pub struct Refusal {
    /// The instruction's opcode text.
    pub opcode: String,
    /// The reason.
    pub why: String,
    /// Function it stands in.
    pub function: String,
    /// Where.
    pub span: SpanRange,
}
