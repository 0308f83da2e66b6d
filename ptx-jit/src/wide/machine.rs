//! Instructions of the processor before registers are assigned, in the shape that `regalloc2` reads.

use iced_x86::{Code, Register};
use regalloc2::{
    Block, Function, Inst as Index, InstRange, MachineEnv, Operand, PReg, PRegSet, RegClass, VReg,
};

/// How much of a register an instruction names.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    B,
    H,
    W,
    D,
    X,
    Y,
    Z,
    K,
}

impl View {
    /// The register's name.
    pub(super) fn of(self, reg: PReg) -> Register {
        let n = reg.hw_enc() as u32;
        match self {
            // `spl` to `dil` stand behind `ah` to `bh`.
            View::B => match n {
                0..4 => Register::AL + n,
                4..8 => Register::SPL + (n - 4),
                _ => Register::R8L + (n - 8),
            },
            View::H => Register::AX + n,
            View::W => Register::EAX + n,
            View::D => Register::RAX + n,
            View::X => Register::XMM0 + n,
            View::Y => Register::YMM0 + n,
            View::Z => Register::ZMM0 + n,
            View::K => Register::K0 + n,
        }
    }
}

/// Memory: `base + index * scale + disp`, or a constant of the pool.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Address {
    pub base: Option<VReg>,
    pub index: Option<(VReg, u32)>,
    /// The index is a vector.
    pub lanes: Option<View>,
    pub disp: i32,
    pub constant: Option<u32>,
    /// From the context on, instead of a base.
    pub context: bool,
}

/// An operand of an instruction, in the order of the manual.
#[derive(Copy, Clone, Debug)]
pub(super) enum Part {
    Def(VReg, View),
    Use(VReg, View),
    /// Written and read: the new value and the old one.
    Both(VReg, VReg, View),
    Mem(Address),
    /// One element of memory for all lanes.
    Each(Address),
    Imm(i64),
    /// The mask under which the instruction works; lanes that are off keep what they have.
    Under(VReg),
    /// The same, and lanes that are off become 0.
    Only(VReg),
    /// A mask that the instruction clears.
    Spent(VReg, VReg),
    /// The register that the first part names, whatever is in it.
    Again(View),
}

/// An operand whose register is the allocator's operand of this number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    None,
    Reg(u8, View),
    Mem,
    Imm,
}

const NO: u8 = u8::MAX;

/// One instruction of the processor.
#[derive(Copy, Clone, Debug)]
pub(super) struct Plain {
    pub code: Code,
    pub args: [Arg; 5],
    pub mask: u8,
    pub zeroing: bool,
    pub each: bool,
    pub base: u8,
    pub index: u8,
    pub lanes: Option<View>,
    pub scale: u32,
    pub disp: i32,
    pub constant: Option<u32>,
    pub context: bool,
    pub imm: i64,
    pub lock: bool,
}

impl Plain {
    pub(super) fn register(n: u8) -> Option<usize> {
        (n != NO).then_some(n as usize)
    }
}

/// What an entry of the list stands for.
#[derive(Clone, Debug)]
pub(super) enum What {
    Plain(Plain),
    /// Keeps the function's argument, the context.
    Start,
    /// The context in a register.
    Context,
    /// On to the only successor, with values for its parameters.
    Jump,
    /// A conditional jump (its code) to the first successor, else the second.
    Branch(u8),
    /// To the successor of an index, else to the last: index, two temporaries.
    Table,
    /// Back to the caller.
    Return,
    /// A call through a register that keeps every register (`false`), or only those of the convention.
    Call(bool),
    /// Loads `[operand 1]` into `rax`, makes the new value of it and operand 2 in operand 3, and tries to put it there until
    /// nobody came between.
    Exchange(ExchangeOp, View),
    /// Puts operand 2 at `[operand 1]` where `rax` is, and loads into `rax` what was there.
    CompareAndSwap(View),
}

/// What an atomic update makes of the old value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ExchangeOp {
    /// An instruction of two registers.
    Binary(Code),
    /// Compares, and takes the other one under the condition of this conditional move.
    Choose(Code, Code),
}

/// An entry of the list.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    pub what: What,
    pub operands: (u32, u32),
    /// Place in the module text; `u32::MAX`: none.
    pub place: u32,
}

/// A block.
#[derive(Default)]
pub(super) struct Piece {
    pub insts: (u32, u32),
    pub succs: Vec<Block>,
    pub preds: Vec<Block>,
    pub params: Vec<VReg>,
    /// Values for the parameters of the only successor.
    pub passed: Vec<VReg>,
}

/// A function.
#[derive(Default)]
pub(super) struct Listing {
    pub insts: Vec<Inst>,
    pub operands: Vec<Operand>,
    pub blocks: Vec<Piece>,
    pub vregs: usize,
}

/// Always holds the context, which nearly every access needs.
pub(super) const CONTEXT: PReg = PReg::new(15, RegClass::Int);
pub(super) const RAX: PReg = PReg::new(0, RegClass::Int);
pub(super) const ARGS: [PReg; 6] = [
    PReg::new(7, RegClass::Int),
    PReg::new(6, RegClass::Int),
    PReg::new(2, RegClass::Int),
    PReg::new(1, RegClass::Int),
    PReg::new(8, RegClass::Int),
    PReg::new(9, RegClass::Int),
];
/// Registers that a function must give back as they were, `rbp` apart.
pub(super) const KEPT: [u8; 5] = [3, 12, 13, 14, 15];

fn set(class: RegClass, regs: impl Iterator<Item = usize>) -> PRegSet {
    regs.fold(PRegSet::empty(), |s, n| s.with(PReg::new(n, class)))
}

/// Registers to assign: all but the stack's, the context's and `k0`, which means no mask.
pub(super) fn environment() -> MachineEnv {
    let context = CONTEXT.hw_enc();
    let free = |n: &usize| ![4usize, 5].contains(n) && !KEPT.contains(&(*n as u8));
    MachineEnv {
        preferred_regs_by_class: [
            set(RegClass::Int, (0..16).filter(free)),
            set(RegClass::Float, 0..32),
            set(RegClass::Vector, 1..8),
        ],
        non_preferred_regs_by_class: [
            set(RegClass::Int, KEPT.iter().map(|n| *n as usize).filter(|n| *n != context)),
            PRegSet::empty(),
            PRegSet::empty(),
        ],
        scratch_by_class: [None; 3],
        fixed_stack_slots: Vec::new(),
    }
}

impl Listing {
    pub(super) fn vreg(&mut self, class: RegClass) -> VReg {
        self.vregs += 1;
        VReg::new(self.vregs - 1, class)
    }

    /// Adds operands to the pool.
    pub(super) fn operands(&mut self, list: &[Operand]) -> (u32, u32) {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(list);
        (start, self.operands.len() as u32)
    }

    /// An instruction of its parts.
    pub(super) fn plain(&mut self, code: Code, parts: &[Part], place: u32) -> Inst {
        let start = self.operands.len() as u32;
        let mut p = Plain {
            code,
            args: [Arg::None; 5],
            mask: NO,
            zeroing: false,
            each: false,
            base: NO,
            index: NO,
            lanes: None,
            scale: 1,
            disp: 0,
            constant: None,
            context: false,
            imm: 0,
            lock: false,
        };
        let mut count = 0;
        let mut n = 0u8;
        for part in parts {
            let mut arg = |a: Arg| {
                p.args[count] = a;
                count += 1;
            };
            match *part {
                Part::Def(v, view) => {
                    self.operands.push(Operand::reg_def(v));
                    arg(Arg::Reg(n, view));
                    n += 1;
                }
                Part::Use(v, view) => {
                    self.operands.push(Operand::reg_use(v));
                    arg(Arg::Reg(n, view));
                    n += 1;
                }
                Part::Both(new, old, view) => {
                    self.operands.push(Operand::reg_use(old));
                    self.operands.push(Operand::reg_reuse_def(new, n as usize));
                    arg(Arg::Reg(n, view));
                    n += 2;
                }
                Part::Mem(a) | Part::Each(a) => {
                    p.each = matches!(part, Part::Each(_));
                    p.disp = a.disp;
                    p.constant = a.constant;
                    p.context = a.context;
                    p.lanes = a.lanes;
                    if let Some(b) = a.base {
                        self.operands.push(Operand::reg_use(b));
                        p.base = n;
                        n += 1;
                    }
                    if let Some((i, scale)) = a.index {
                        self.operands.push(Operand::reg_use(i));
                        p.index = n;
                        p.scale = scale;
                        n += 1;
                    }
                    arg(Arg::Mem);
                }
                Part::Imm(i) => {
                    p.imm = i;
                    arg(Arg::Imm);
                }
                Part::Under(k) | Part::Only(k) => {
                    self.operands.push(Operand::reg_use(k));
                    p.mask = n;
                    p.zeroing = matches!(part, Part::Only(_));
                    n += 1;
                }
                Part::Again(view) => arg(Arg::Reg(0, view)),
                Part::Spent(new, old) => {
                    self.operands.push(Operand::reg_use(old));
                    self.operands.push(Operand::reg_reuse_def(new, n as usize));
                    p.mask = n;
                    n += 2;
                }
            }
        }
        let operands = (start, self.operands.len() as u32);
        Inst { what: What::Plain(p), operands, place }
    }
}

impl Function for Listing {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }
    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }
    fn entry_block(&self) -> Block {
        Block::new(0)
    }
    fn block_insns(&self, block: Block) -> InstRange {
        let (a, b) = self.blocks[block.index()].insts;
        InstRange::new(Index::new(a as usize), Index::new(b as usize))
    }
    fn block_succs(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].succs
    }
    fn block_preds(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].preds
    }
    fn block_params(&self, block: Block) -> &[VReg] {
        &self.blocks[block.index()].params
    }
    fn is_ret(&self, inst: Index) -> bool {
        matches!(self.insts[inst.index()].what, What::Return)
    }
    fn is_branch(&self, inst: Index) -> bool {
        matches!(self.insts[inst.index()].what, What::Jump | What::Branch(_) | What::Table)
    }
    fn branch_blockparams(&self, block: Block, _: Index, _: usize) -> &[VReg] {
        &self.blocks[block.index()].passed
    }
    fn inst_operands(&self, inst: Index) -> &[Operand] {
        let (a, b) = self.insts[inst.index()].operands;
        &self.operands[a as usize..b as usize]
    }
    fn inst_clobbers(&self, inst: Index) -> PRegSet {
        match self.insts[inst.index()].what {
            What::Call(true) => {
                let kept = |n: &usize| !KEPT.contains(&(*n as u8)) && ![4, 5].contains(n);
                let mut all = set(RegClass::Int, (0..16).filter(kept));
                all.union_from(set(RegClass::Float, 0..32));
                all.union_from(set(RegClass::Vector, 1..8));
                all
            }
            _ => PRegSet::empty(),
        }
    }
    fn num_vregs(&self) -> usize {
        self.vregs
    }
    fn spillslot_size(&self, class: RegClass) -> usize {
        // Of eight bytes.
        if class == RegClass::Float { 8 } else { 1 }
    }
}
