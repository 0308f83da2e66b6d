//! A kernel: values, blocks, edges, parameters.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::debug::DebugInfo;
use super::op::{BlockId, MemTy, Op, Space, Ty, Val};

/// The multiplication feeds only this addition and may be fused with it.
pub const CONTRACT: u8 = 1;
/// Signed overflow does not occur.
pub const NO_WRAP: u8 = 2;

/// A value's definition.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Operation.
    pub op: Op,
    /// Type.
    pub ty: Ty,
    /// `CONTRACT`, `NO_WRAP`.
    pub flags: u8,
    /// Index into the table of locations; 0 for none.
    pub loc: u32,
}

/// A transfer of control with arguments for the target's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Target.
    pub block: BlockId,
    /// One per parameter.
    pub args: SmallVec<[Val; 4]>,
}

impl Edge {
    /// Without arguments.
    pub fn to(block: BlockId) -> Edge {
        Edge { block, args: SmallVec::new() }
    }
}

/// How a block ends.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Term {
    /// Under construction.
    Open,
    Jump(Edge),
    Branch(Val, Edge, Edge),
    Return,
}

impl Term {
    /// Its edges.
    pub fn edges(&self) -> SmallVec<[&Edge; 2]> {
        match self {
            Term::Open | Term::Return => SmallVec::new(),
            Term::Jump(e) => SmallVec::from_slice(&[e]),
            Term::Branch(_, a, b) => SmallVec::from_slice(&[a, b]),
        }
    }

    /// Where its edges lead.
    pub fn targets(&self) -> impl DoubleEndedIterator<Item = BlockId> + use<> {
        let (first, second) = match self {
            Term::Open | Term::Return => (None, None),
            Term::Jump(e) => (Some(e.block), None),
            Term::Branch(_, a, b) => (Some(a.block), Some(b.block)),
        };
        first.into_iter().chain(second)
    }

    /// Its edges, mutable.
    pub fn edges_mut(&mut self) -> SmallVec<[&mut Edge; 2]> {
        let mut out = SmallVec::new();
        match self {
            Term::Open | Term::Return => {}
            Term::Jump(e) => out.push(e),
            Term::Branch(_, a, b) => {
                out.push(a);
                out.push(b);
            }
        }
        out
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct BasicBlock {
    /// Parameters.
    pub params: Vec<Val>,
    /// Instructions in order.
    pub insts: Vec<Val>,
    /// End.
    pub term: Term,
    /// For loop headers: the pragma's unroll count.
    pub unroll: Option<u32>,
    /// Its number in the text, whichever blocks go.
    pub label: u32,
}

/// A private variable in memory.
#[derive(Clone, Debug)]
pub struct PrivateVarData {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Name for readers.
    pub name: String,
    /// A variable that debuggers are told of: it stays in memory.
    pub pinned: bool,
}

/// A piece of assembly.
#[derive(Clone, Debug)]
pub struct Asm {
    /// Its text, with an operand behind each part but the last.
    pub text: Vec<(String, Option<AsmOperand>)>,
    /// Types of what it writes; with the number of the input that the register holds before, if it is read.
    pub outputs: Vec<(Ty, Option<usize>)>,
}

/// An operand of assembly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AsmOperand {
    /// An output by number.
    Output(usize),
    /// An input by number.
    Input(usize),
    /// A number in the text.
    Literal(i64),
}

/// A parameter of the function.
#[derive(Clone, Debug)]
pub struct ParamData {
    /// Name in PTX.
    pub name: String,
    /// How it is declared and loaded.
    pub kind: ParamKind,
}

/// Kinds of kernel parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ParamKind {
    Scalar(MemTy),
    /// Space and alignment of what it points to.
    Pointer(Space, u64),
    Bytes {
        size: u64,
        align: u64,
    },
}

/// A kernel, or a function that is called and not inlined.
#[derive(Clone, Debug)]
pub struct Func {
    /// Name.
    pub name: String,
    /// Started by hosts.
    pub is_kernel: bool,
    /// Parameters.
    pub params: Vec<ParamData>,
    /// Blocks; the first is the entry.
    pub blocks: Vec<BasicBlock>,
    /// Values.
    pub values: Vec<ValueData>,
    /// Private variables.
    pub privates: Vec<PrivateVarData>,
    /// Names of the functions that it calls.
    pub callees: Vec<String>,
    /// Assembly of the program.
    pub asm: Vec<Asm>,
    /// `.reqntid`
    pub required_size: Option<[u32; 3]>,
    /// Source line of each location: (unit, token).
    pub locations: Vec<(u32, u32)>,
    /// Bytes of the program's constants, by number; shared by its kernels.
    pub constant_data: Arc<[Option<Vec<u8>>]>,
    /// What debuggers are told, if they are.
    pub debug: Option<Box<DebugInfo>>,
    consts: FxHashMap<(Ty, u64), Val>,
    /// Labels that are taken.
    labels: u32,
}

impl Func {
    /// An empty kernel with an entry block.
    pub fn new(name: String) -> Func {
        let mut f = Func {
            name,
            is_kernel: true,
            params: Vec::new(),
            blocks: Vec::new(),
            values: Vec::new(),
            privates: Vec::new(),
            callees: Vec::new(),
            asm: Vec::new(),
            required_size: None,
            locations: vec![(0, 0)],
            constant_data: Arc::new([]),
            debug: None,
            consts: FxHashMap::default(),
            labels: 0,
        };
        f.new_block();
        f
    }

    /// A new, open block.
    pub fn new_block(&mut self) -> BlockId {
        self.blocks.push(BasicBlock {
            params: Vec::new(),
            insts: Vec::new(),
            term: Term::Open,
            unroll: None,
            label: self.labels,
        });
        self.labels += 1;
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// A value that is in no block yet.
    pub fn new_value(&mut self, op: Op, ty: Ty, flags: u8, loc: u32) -> Val {
        self.values.push(ValueData { op, ty, flags, loc });
        Val(self.values.len() as u32 - 1)
    }

    /// A constant: shared, and in no block.
    pub fn constant(&mut self, ty: Ty, bits: u64) -> Val {
        let bits = bits & ty.mask();
        if let Some(&v) = self.consts.get(&(ty, bits)) {
            return v;
        }
        let v = self.new_value(Op::Const(bits), ty, 0, 0);
        self.consts.insert((ty, bits), v);
        v
    }

    /// Forgets constants, or gives them other numbers.
    pub fn retain_consts(&mut self, mut keep: impl FnMut(&mut Val) -> bool) {
        self.consts.retain(|_, v| keep(v));
    }

    /// A new parameter of a block.
    pub fn add_param(&mut self, block: BlockId, ty: Ty) -> Val {
        let v = self.new_value(Op::BlockParam, ty, 0, 0);
        self.blocks[block.0 as usize].params.push(v);
        v
    }

    /// A value's definition.
    pub fn op(&self, v: Val) -> &Op {
        &self.values[v.0 as usize].op
    }

    /// A value's type.
    pub fn ty(&self, v: Val) -> Ty {
        self.values[v.0 as usize].ty
    }

    /// The bits of a constant.
    pub fn as_const(&self, v: Val) -> Option<u64> {
        match self.op(v) {
            Op::Const(bits) => Some(*bits),
            _ => None,
        }
    }

    /// A block.
    pub fn block(&self, b: BlockId) -> &BasicBlock {
        &self.blocks[b.0 as usize]
    }

    /// A block, mutable.
    pub fn block_mut(&mut self, b: BlockId) -> &mut BasicBlock {
        &mut self.blocks[b.0 as usize]
    }
}
