//! A kernel with its calls inlined: blocks of micro-ops over variables.

use ptx_isa::Kind;
use ptx_isa::effect::Effect;
use ptx_isa::uop::Op as Pure;

use crate::ir::{BlockId, Op, Origin};

/// What a micro-op reads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    Var(u32),
    Leaf(Kind, Op),
    /// Address in the thread's local memory; `true`: its low half.
    Frame(u32, bool),
}

/// A micro-op of a function: indices of the instruction and of itself.
#[derive(Copy, Clone)]
pub(super) struct UopIndex {
    pub inst: u32,
    pub uop: u32,
}

/// What a micro-op does.
pub(super) enum Item {
    /// `keep`: where the guard does not hold, the variable keeps its value.
    Pure { op: Pure, k: u32, dst: u32, args: Vec<Operand>, keep: bool },
    /// Destinations with the same flag.
    Effect {
        effect: Effect,
        dst: Vec<(u32, bool)>,
        src: Vec<Operand>,
        origin: Origin,
        from: UopIndex,
    },
}

/// A micro-op, perhaps under a guard.
pub(super) struct RawInst {
    pub item: Item,
    /// Predicate and whether it is negated.
    pub guard: Option<(Operand, bool)>,
    /// Start of the instruction in the text.
    pub at: u32,
}

/// How a block ends.
pub(super) enum RawTerm {
    Jump(BlockId),
    /// Condition, negated, taken, otherwise.
    Br(Operand, bool, BlockId, BlockId),
    Brx(Operand, Vec<BlockId>, Origin),
    Exit,
}

/// A block.
pub(super) struct RawBlock {
    pub insts: Vec<RawInst>,
    pub term: RawTerm,
}

/// A kernel over variables.
pub(super) struct Raw {
    pub blocks: Vec<RawBlock>,
    /// Kind of each variable.
    pub kinds: Vec<Kind>,
    pub entry: BlockId,
    /// Bytes of local memory per thread: frames, and the stacks behind them.
    pub frame: u32,
    pub stack: u32,
}

impl Raw {
    pub(super) fn kind(&self, var: u32) -> Kind {
        self.kinds[var as usize]
    }
}

impl RawTerm {
    /// Distinct successors.
    pub(super) fn succs(&self) -> Vec<BlockId> {
        match self {
            RawTerm::Jump(t) => vec![*t],
            RawTerm::Br(_, _, a, c) if a == c => vec![*a],
            RawTerm::Br(_, _, a, c) => vec![*a, *c],
            RawTerm::Brx(_, t, _) => {
                let mut t = t.clone();
                t.sort_unstable();
                t.dedup();
                t
            }
            RawTerm::Exit => Vec::new(),
        }
    }
}
