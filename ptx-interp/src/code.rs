//! A kernel ready to execute: one dense stream of instructions with operands resolved to rows.

use std::sync::Arc;

use ptx_isa::Kind;
use ptx_isa::effect::Effect;
use ptx_isa::special::Sreg;
use ptx_parse::code::Program;

use crate::ctx::Ctx;
use crate::rows::{Base, Operand};

/// A handler: context, instruction, executing lanes, lanes to write in register rows (all 32 when
/// every live lane executes). `false` asks for the slow path.
pub(crate) type Run = unsafe fn(&Ctx, &Inst, u32, u32) -> bool;

/// No program counter, no reconvergence point.
pub(crate) const NONE: u32 = u32::MAX;
/// Reconvergence where the executing function returns.
pub(crate) const AT_RETURN: u32 = u32::MAX - 1;

/// A decoded instruction. What the fields hold depends on `step`.
#[repr(C)]
pub(crate) struct Inst {
    /// Handler of `Pure` and `Mem`.
    pub run: Run,
    /// What to do.
    pub step: Step,
    /// Guard and branch: whether the predicate is negated. Load: whether it extends by sign.
    pub flag: bool,
    /// Whether a PTX instruction starts here (for observers).
    pub first: bool,
    /// Branch: whether its sides are short and straight up to where they meet ([`crate::parted`]).
    pub short: bool,
    /// Destination row.
    pub dst: Operand,
    /// Operand rows; control steps keep their numbers here, see [`Step`].
    pub args: [Operand; 3],
    /// Constant, target or side-table index.
    pub k: u32,
}

/// What the main loop does with an [`Inst`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Step {
    /// Call the handler.
    Pure,
    /// Call the handler; where it gives up, do effect `k` lane by lane.
    Mem,
    /// Effect `k`.
    Effect,
    /// Narrow the executing lanes to predicate `args[0]`; to `k` when none is left.
    Guard,
    /// Back to all lanes of the split.
    EndGuard,
    /// To `k`, after `args[2]` PTX instructions.
    Jump,
    /// Lanes whose predicate `args[0]` holds to `dst`, the others to `k`; they meet at `args[1]`.
    /// `args[2]` PTX instructions.
    Branch,
    /// Table `k`, index `args[0]`, meet at `args[1]`, `args[2]` PTX instructions.
    Brx,
    /// Call `k`, `args[2]` PTX instructions. Execution goes on behind.
    Call,
    /// Return, after `args[2]` PTX instructions.
    Ret,
    /// End the lanes, after `args[2]` PTX instructions.
    Exit,
    /// End the lanes whose predicate `args[0]` holds; the others go on behind.
    ExitIf,
    /// Read the changing special register `k` into `dst`.
    Special,
}

/// Effect with its operands.
pub(crate) struct EffectInfo {
    pub effect: Effect,
    pub dst: Box<[(Operand, Kind)]>,
    pub src: Box<[(Operand, Kind)]>,
}

/// A turn of a loop that lanes may leave on their way from a branch to where they meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// Program counters of the loop.
    pub within: std::ops::Range<u32>,
    /// Where lanes that leave it meet; [`NONE`] or [`AT_RETURN`] without such a place.
    pub out: u32,
}

/// An indirect branch.
pub(crate) struct Table {
    pub targets: Box<[u32]>,
}

/// A call.
pub(crate) struct CallInfo {
    pub callee: CalleeInfo,
    pub args: Box<[Argument]>,
    pub rets: Box<[Argument]>,
}

/// Whom a call calls.
pub(crate) enum CalleeInfo {
    /// Function index.
    Direct(u32),
    /// Row of entry addresses.
    Indirect(Operand, Kind),
}

/// An argument or result of a call: where it is in the frame of its own function.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Argument {
    /// A row.
    Row(Operand, Kind),
    /// Bytes of the local frame.
    Frame { offset: u32, bytes: u32 },
    /// Dropped.
    Dropped,
}

/// A decoded function.
pub(crate) struct FunctionInfo {
    /// Where it starts.
    pub entry: u32,
    /// Bytes of its register frame.
    pub frame_bytes: u32,
    /// Rows that must be zero when it starts: offset and bytes.
    pub zero: Vec<(u32, u32)>,
    /// Rows that hold local addresses: offset of the row, its kind, offset in the local frame.
    pub local_rows: Vec<(u32, Kind, u32)>,
    /// Bytes of its local frame.
    pub local_bytes: u32,
    /// Parameters and results.
    pub params: Box<[Argument]>,
    pub rets: Box<[Argument]>,
}

/// What a row of the constant area holds.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fill {
    /// A value.
    Value(u64),
    /// Address of a symbol plus an offset.
    Symbol(u32, i64),
    /// Bytes of the parameter block: offset, size, sign extension.
    Param(u32, u8, bool),
    /// A special register that is the same in the whole launch.
    Special(Sreg),
}

/// A value that a warp has from its start.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WarpValue {
    /// A special register.
    Special(Sreg),
    /// The address of an offset in the block's shared memory.
    Shared(u32),
}

/// A kernel with everything it can reach, decoded for this processor.
pub struct Kernel {
    pub(crate) program: Arc<Program>,
    pub(crate) code: Vec<Inst>,
    /// Function and PTX instruction of each decoded instruction.
    pub(crate) origin: Vec<(u32, u32)>,
    pub(crate) functions: Vec<FunctionInfo>,
    pub(crate) effects: Vec<EffectInfo>,
    pub(crate) tables: Vec<Table>,
    /// By program counter, the turns that lanes may leave behind a branch, the innermost first.
    pub(crate) turns: Vec<(u32, Vec<Turn>)>,
    pub(crate) calls: Vec<CallInfo>,
    /// Constant area: what to put where.
    pub(crate) fills: Vec<(Fill, Kind, u32)>,
    pub(crate) const_bytes: u32,
    /// Warp area: values and where their rows are.
    pub(crate) warp_rows: Vec<(WarpValue, Kind, u32)>,
    pub(crate) warp_bytes: u32,
    /// Registers by function and number to their rows, for reports.
    pub(crate) registers: Vec<[Vec<Operand>; 3]>,
    pub(crate) prints: bool,
    pub(crate) exposes: bool,
}

impl Kernel {
    /// Whether it has text to print: `vprintf`, or assertions that fail.
    pub fn prints(&self) -> bool {
        self.prints
    }

    /// Whether some path reads a register before it writes it.
    pub fn exposes(&self) -> bool {
        self.exposes
    }

    /// The program it was decoded from.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
    /// The turns that lanes may leave behind the branch at `pc` before they meet, the innermost first.
    pub(crate) fn turns_behind(&self, pc: u32) -> &[Turn] {
        let found = self.turns.binary_search_by_key(&pc, |t| t.0);
        found.map_or(&[], |at| &self.turns[at].1)
    }

    /// Name of the kernel.
    pub fn name(&self) -> &str {
        self.program.functions.first().map_or("", |f| &f.name)
    }
    /// Function and PTX instruction ([`Function::insts`](ptx_parse::code::Function)) of a position in
    /// the decoded stream; the end of a function has one instruction more.
    pub fn origin(&self, pc: u32) -> Option<(u32, u32)> {
        self.origin.get(pc as usize).copied()
    }
    /// Whether the code keeps this register of a function: it may be declared and never used, or be a constant.
    pub fn keeps(&self, function: u32, kind: Kind, number: u32) -> bool {
        let rows = self.registers.get(function as usize).map(|kinds| &kinds[kind as usize]);
        let row = rows.and_then(|rows| rows.get(number as usize)).filter(|o| !o.is_none());
        row.is_some_and(|o| o.0 & 3 == Base::Frame as u32)
    }
    /// Instructions in the decoded stream.
    pub fn decoded_len(&self) -> usize {
        self.code.len()
    }
}
