//! The middle form: one function per kernel, calls inlined, micro-ops in SSA form.

use std::collections::HashSet;

use flow::{Dominators, Graph, Loop};
use ptx_isa::Kind;
use ptx_isa::effect::Effect;
use ptx_isa::special::Sreg;
use ptx_isa::uop;

use crate::native::{approximated, native};
use crate::options::Watched;

/// A value: index in [`Func::insts`].
pub(crate) type Val = u32;
/// A block: index in [`Func::blocks`].
pub(crate) type BlockId = u32;

/// Where a PTX instruction stands: function of the program and text span.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    pub function: u32,
    pub span: std::ops::Range<u32>,
}

/// What makes a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Const(u64),
    Special(Sreg),
    /// Address of a module symbol in its own space; `true`: its low half.
    Symbol(u32, i64, bool),
    /// Kernel parameter bytes: offset, bytes, sign-extended.
    Param(u32, u8, bool),
    Pure(uop::Op, u32),
    Phi,
    /// Index in [`Func::effects`]; results are separate [`Op::Result`] values.
    Effect(u32),
    Result,
    /// Makes the one NaN of PTX from a result of arithmetic of the host (`.f32`, `.f64` by kind).
    Canon,
}

#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub op: Op,
    pub kind: Kind,
    pub args: Vec<Val>,
}

#[derive(Clone, Debug)]
pub(crate) struct EffectInst {
    pub effect: Effect,
    /// Predicate and whether it is negated.
    pub guard: Option<(Val, bool)>,
    pub src: Vec<Val>,
    pub dst: Vec<Val>,
    pub origin: Origin,
    /// Indices of the instruction and of the micro-op in the function that `origin` names.
    pub inst: u32,
    pub uop: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Term {
    Jump(BlockId),
    /// Condition, negated, taken, otherwise.
    Br(Val, bool, BlockId, BlockId),
    Brx(Val, Vec<BlockId>, Origin),
    /// Waits at the barrier of this effect, then goes on.
    Bar(u32, BlockId),
    Exit,
}

impl Term {
    pub(crate) fn map(&mut self, to: impl Fn(BlockId) -> BlockId) {
        match self {
            Term::Jump(b) | Term::Bar(_, b) => *b = to(*b),
            Term::Br(_, _, a, b) => (*a, *b) = (to(*a), to(*b)),
            Term::Brx(_, t, _) => t.iter_mut().for_each(|b| *b = to(*b)),
            Term::Exit => {}
        }
    }
    pub(crate) fn succs(&self) -> Vec<BlockId> {
        match self {
            Term::Jump(b) | Term::Bar(_, b) => vec![*b],
            Term::Br(_, _, a, b) if a == b => vec![*a],
            Term::Br(_, _, a, b) => vec![*a, *b],
            Term::Brx(_, t, _) => {
                let mut out: Vec<BlockId> = Vec::new();
                for b in t {
                    if !out.contains(b) {
                        out.push(*b);
                    }
                }
                out
            }
            Term::Exit => Vec::new(),
        }
    }
    pub(crate) fn value(&self) -> Option<Val> {
        match self {
            Term::Br(v, ..) | Term::Brx(v, ..) => Some(*v),
            _ => None,
        }
    }
    pub(crate) fn value_mut(&mut self) -> Option<&mut Val> {
        match self {
            Term::Br(v, ..) | Term::Brx(v, ..) => Some(v),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct BasicBlock {
    /// Phis first; effects in program order.
    pub insts: Vec<Val>,
    pub term: Term,
    /// Distinct predecessors; phi arguments are in this order.
    pub preds: Vec<BlockId>,
}

/// A kernel in middle form. Blocks are in reverse post-order; block 0 is the entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Func {
    pub insts: Vec<Inst>,
    pub blocks: Vec<BasicBlock>,
    pub effects: Vec<EffectInst>,
    /// Bytes of local memory per thread.
    pub frame_bytes: u32,
    /// Those at its end that need not be zero when a block begins.
    pub stack_bytes: u32,
    /// Whether NaNs may have any payload ([`crate::Options::fast_nan`]).
    pub fast_nan: bool,
    /// Whether approximate functions have code of their own ([`crate::Options::fast_approx`]).
    pub fast_approx: bool,
    /// What a watcher is asked about.
    pub watched: Watched,
    /// Heads of loops that may wait for another thread ([`crate::waiting`]).
    pub waits: Vec<BlockId>,
    /// Whether threads run one by one and meet ([`crate::meet`]); then the effects at which they stop, and those whose
    /// results they take behind that.
    pub alone: bool,
    pub gives: Vec<u32>,
    pub takes: HashSet<u32>,
    /// Start of the PTX instruction of each value in the text, where there is one.
    pub at: Vec<u32>,
}

impl Func {
    /// Values that an instruction reads, guards included.
    pub(crate) fn reads(&self, v: Val) -> Vec<Val> {
        let i = &self.insts[v as usize];
        match i.op {
            // What they read was given before.
            Op::Effect(e) if self.takes.contains(&e) => Vec::new(),
            Op::Effect(e) => {
                let e = &self.effects[e as usize];
                e.src.iter().copied().chain(e.guard.map(|g| g.0)).collect()
            }
            Op::Result => Vec::new(),
            _ => i.args.clone(),
        }
    }
    /// Whether a value is made again at every use instead of being kept.
    pub(crate) fn leaf(&self, v: Val) -> bool {
        matches!(
            self.insts[v as usize].op,
            Op::Const(_) | Op::Special(_) | Op::Symbol(..) | Op::Param(..)
        )
    }
    pub(crate) fn as_const(&self, v: Val) -> Option<u64> {
        match self.insts[v as usize].op {
            Op::Const(c) => Some(c),
            _ => None,
        }
    }
    /// Whether `op` with the number `k` has code of its own, whatever its operands.
    pub(crate) fn has_code(&self, op: uop::Op, k: u32) -> bool {
        native(op, k) || self.fast_approx && approximated(op)
    }
    /// Rows that a warp has for operands and for results where its lanes meet.
    pub(crate) fn meeting_rows(&self) -> [usize; 2] {
        let effects = || self.gives.iter().map(|e| &self.effects[*e as usize]);
        let most = |counts: &mut dyn Iterator<Item = usize>| counts.max().unwrap_or(0);
        [most(&mut effects().map(|e| e.src.len())), most(&mut effects().map(|e| e.dst.len()))]
    }
    /// The ways between the blocks.
    pub(crate) fn graph(&self) -> Graph {
        Graph::new(self.blocks.len(), |b| self.blocks[b as usize].term.succs())
    }
    pub(crate) fn dominators(&self) -> Dominators {
        Dominators::new(&self.graph(), 0)
    }
    pub(crate) fn loops(&self) -> Vec<Loop> {
        let graph = self.graph();
        flow::loops(&graph, &Dominators::new(&graph, 0))
    }
}
