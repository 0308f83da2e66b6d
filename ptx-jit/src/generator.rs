//! What is known while the code of a kernel is written.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cranelift_codegen::ir::{Block as Clif, SigRef, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use flow::BitSet;
use ptx_isa::Kind;

use crate::counted::Counted;
use crate::divergence::Divergence;
use crate::form::Form;
use crate::geometry::Geometry;
use crate::ir::{BlockId, Func, Val};
use crate::layout::SiteInfo;
use crate::records::Records;
use crate::saved::Saved;
use crate::tiles::Tile;
use crate::variance::Variance;

/// A value as code has it.
#[derive(Clone, Debug)]
pub(crate) enum Rep {
    /// Lane 0 of a linear value.
    Scalar(Value),
    /// Slices: one value each for `P` and `W`, two for `D`.
    Slices(Vec<Value>),
}

/// Where values that live across blocks are kept.
pub(crate) struct Home {
    pub(crate) vars: Vec<Variable>,
    /// Offset in a group's spill area.
    pub(crate) spill: Option<i32>,
}

pub(crate) struct Gen<'a, 'b> {
    pub(crate) f: &'a Func,
    pub(crate) g: Geometry,
    pub(crate) divergence: &'a Divergence,
    pub(crate) b: FunctionBuilder<'b>,
    pub(crate) ctx: Value,
    pub(crate) homes: HashMap<Val, Home>,
    /// Values of the block being emitted.
    pub(crate) now: HashMap<Val, Rep>,
    pub(crate) vectors: HashMap<Val, Vec<Value>>,
    /// The blocks under masks, and where all lanes of the group are on; the same where no masks are needed.
    pub(crate) heads: Vec<Clif>,
    pub(crate) full_heads: Vec<Clif>,
    /// Whether blocks have two versions, and whether the one without masks is being emitted.
    pub(crate) two: bool,
    pub(crate) full: bool,
    pub(crate) masks: HashMap<BlockId, Vec<Variable>>,
    /// Where the turns of loops under masks begin but the first one.
    pub(crate) turns: HashMap<BlockId, Clif>,
    /// Phis that only their own block reads.
    pub(crate) inner: HashSet<Val>,
    pub(crate) live: Vec<Variable>,
    pub(crate) thread0: Variable,
    pub(crate) group: Variable,
    pub(crate) next_group: Clif,
    pub(crate) fail: Clif,
    pub(crate) helper_effect: SigRef,
    pub(crate) helper_lanes: SigRef,
    pub(crate) lane_function: SigRef,
    pub(crate) helper_refuel: SigRef,
    /// Executing lanes of the block being emitted; `None`: all.
    pub(crate) mask: Option<Vec<Value>>,
    /// Where groups go on: behind barriers, then at the heads of loops that may wait.
    pub(crate) resumes: Vec<BlockId>,
    /// The effects of those barriers.
    pub(crate) stops: Vec<u32>,
    /// Blocks whose condition only their branch reads.
    pub(crate) lone: Vec<bool>,
    /// Loops that count, the heads of their versions without checks (for each of the two versions of the block), and
    /// where the host has the memory of their accesses, less the first address.
    pub(crate) counted: HashMap<BlockId, Rc<Counted>>,
    pub(crate) sure_heads: HashMap<(BlockId, bool), Clif>,
    pub(crate) moving: HashMap<u32, Variable>,
    /// Whether the version without checks is being emitted.
    pub(crate) sure: bool,
    /// Effects that touch words of records with others.
    pub(crate) records: HashMap<u32, Rc<Records>>,
    /// Loads from shared memory that are checked together, and the host address of those whose check is done: by the
    /// first of them and the version of the block.
    pub(crate) tiles: HashMap<u32, Rc<Tile>>,
    pub(crate) checked_tiles: HashMap<(u32, bool, bool), Value>,
    /// Reads of shared memory that no write of another thread can meet between two barriers.
    pub(crate) unraced: HashSet<u32>,
    /// Effects whose vectors stay interleaved where all lanes are on.
    pub(crate) interleaved: HashSet<u32>,
    /// Blocks inside small loops.
    pub(crate) in_small_loop: Vec<bool>,
    /// The block being emitted.
    pub(crate) here: BlockId,
    /// Values that live at the start of each block.
    pub(crate) live_in: Vec<BitSet>,
    pub(crate) spill_bytes: i32,
    /// What barriers need not save.
    pub(crate) saved: Saved,
    /// Scalars whose variable has a floating-point type.
    pub(crate) numbers: HashSet<Val>,
    pub(crate) sites: Vec<SiteInfo>,
    pub(crate) fma: bool,
    pub(crate) form: Form,
}

impl Gen<'_, '_> {
    pub(crate) fn kind(&self, v: Val) -> Kind {
        self.f.insts[v as usize].kind
    }
    pub(crate) fn linear(&self, v: Val) -> bool {
        matches!(self.divergence.of[v as usize], Variance::Linear(_))
    }
    pub(crate) fn offsets(&self, v: Val) -> Option<&[i64]> {
        match &self.divergence.of[v as usize] {
            Variance::Linear(o) => Some(o),
            _ => None,
        }
    }
}
