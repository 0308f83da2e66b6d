//! The intermediate representation: one function per kernel, in SSA form with block parameters.
//!
//! Values are scalars; vectors and aggregates were split by `lower`. Integers of 8 and 16 bits live in
//! 32-bit values, sign- or zero-extended as their type says; only loads and stores know the narrow widths.

pub mod debug;
pub mod fold;
pub mod func;
pub mod graph;
pub mod groups;
mod known;
pub mod op;
pub mod print;
mod rules;
pub mod simplify;
pub mod verify;

pub use debug::DebugInfo;
pub use func::{
    Asm, AsmOperand, BasicBlock, CONTRACT, Edge, Func, NO_WRAP, ParamData, ParamKind,
    PrivateVarData, Term, ValueData,
};
pub use op::{
    ASM_INPUTS, AsmInputs, Atomic, BinOp, BlockId, Cmp, List, Mem, MemTy, Op, Parts, PrivateVar,
    Round, Space, Sreg, TernOp, Ty, UnOp, Val, Warp,
};
