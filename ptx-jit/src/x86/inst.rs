//! Instructions of the processor before registers are assigned, in the shape that `regalloc2` reads.

use iced_x86::{Code, OpKind};
use regalloc2::{
    Block, Function, Inst as Index, InstRange, Operand as RegOperand, PRegSet, RegClass, VReg,
};

use super::registers::RegView;
use super::shapes::{Shape, Shapes};
use super::target::Target;

/// Memory: `base + index * scale + disp`, or a constant of the pool.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Address {
    pub base: Option<VReg>,
    pub index: Option<(VReg, u32)>,
    /// The index is a vector.
    pub lanes: Option<RegView>,
    pub disp: i32,
    pub constant: Option<u32>,
    /// From the context on, instead of a base.
    pub context: bool,
}

/// An operand of an instruction, in the order of the manual.
#[derive(Copy, Clone, Debug)]
pub(super) enum Operand {
    Def(VReg, RegView),
    Use(VReg, RegView),
    /// Written and read: the new value and the old one.
    Both(VReg, VReg, RegView),
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
    /// The register that the first operand names, whatever is in it.
    Again(RegView),
}

/// An operand whose register is the allocator's operand of this number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    None,
    Reg(u8, RegView),
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
    pub lanes: Option<RegView>,
    pub scale: u32,
    pub disp: i32,
    pub constant: Option<u32>,
    pub context: bool,
    pub imm: i64,
    /// How the number is written; `None`: the instruction has no place for one.
    pub number: Option<OpKind>,
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
    /// Loads `[operand 1]` into `rax`, makes the new value of it and operand 2 in operand 3, and tries to put it there
    /// until nobody came between.
    Exchange(ExchangeOp, RegView),
    /// Puts operand 2 at `[operand 1]` where `rax` is, and loads into `rax` what was there.
    CompareAndSwap(RegView),
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
    /// Start of the PTX instruction in the module text; `u32::MAX`: none.
    pub place: u32,
}

/// A block.
#[derive(Default)]
pub(super) struct ListedBlock {
    pub insts: (u32, u32),
    pub succs: Vec<Block>,
    pub preds: Vec<Block>,
    pub params: Vec<VReg>,
    /// Values for the parameters of the only successor.
    pub passed: Vec<VReg>,
}

/// A function.
pub(super) struct Listing {
    pub target: &'static Target,
    pub insts: Vec<Inst>,
    pub operands: Vec<RegOperand>,
    pub blocks: Vec<ListedBlock>,
    pub vregs: usize,
    pub shapes: Shapes,
}

impl Listing {
    pub(super) fn new(target: &'static Target) -> Listing {
        Listing {
            target,
            insts: Vec::new(),
            operands: Vec::new(),
            blocks: Vec::new(),
            vregs: 0,
            shapes: Shapes::default(),
        }
    }

    pub(super) fn vreg(&mut self, class: RegClass) -> VReg {
        self.vregs += 1;
        VReg::new(self.vregs - 1, class)
    }

    /// Adds operands to the pool.
    pub(super) fn operands(&mut self, list: &[RegOperand]) -> (u32, u32) {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(list);
        (start, self.operands.len() as u32)
    }

    /// An instruction of its operands.
    pub(super) fn plain(&mut self, code: Code, list: &[Operand], place: u32) -> Inst {
        let start = self.operands.len() as u32;
        let shape = self.shapes.of(code);
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
            number: shape.immediate,
            lock: false,
        };
        let mut count = 0;
        let mut n = 0u8;
        for operand in list {
            let mut arg = |a: Arg| {
                p.args[count] = a;
                count += 1;
            };
            match *operand {
                Operand::Def(v, view) => {
                    self.operands.push(RegOperand::reg_def(v));
                    arg(Arg::Reg(n, view));
                    n += 1;
                }
                Operand::Use(v, view) => {
                    self.operands.push(RegOperand::reg_use(v));
                    arg(Arg::Reg(n, view));
                    n += 1;
                }
                Operand::Both(new, old, view) => {
                    self.operands.push(RegOperand::reg_use(old));
                    self.operands.push(RegOperand::reg_reuse_def(new, n as usize));
                    arg(Arg::Reg(n, view));
                    n += 2;
                }
                Operand::Mem(a) | Operand::Each(a) => {
                    p.each = matches!(operand, Operand::Each(_));
                    p.disp = a.disp;
                    p.constant = a.constant;
                    p.context = a.context;
                    p.lanes = a.lanes;
                    if let Some(b) = a.base {
                        self.operands.push(RegOperand::reg_use(b));
                        p.base = n;
                        n += 1;
                    }
                    if let Some((i, scale)) = a.index {
                        self.operands.push(RegOperand::reg_use(i));
                        p.index = n;
                        p.scale = scale;
                        n += 1;
                    }
                    arg(Arg::Mem);
                }
                Operand::Imm(i) => {
                    p.imm = i;
                    arg(Arg::Imm);
                }
                Operand::Under(k) | Operand::Only(k) => {
                    self.operands.push(RegOperand::reg_use(k));
                    p.mask = n;
                    p.zeroing = matches!(operand, Operand::Only(_));
                    n += 1;
                }
                Operand::Again(view) => arg(Arg::Reg(0, view)),
                Operand::Spent(new, old) => {
                    self.operands.push(RegOperand::reg_use(old));
                    self.operands.push(RegOperand::reg_reuse_def(new, n as usize));
                    p.mask = n;
                    n += 2;
                }
            }
        }
        self.may_stay_in_memory(&p, shape, start as usize);
        let operands = (start, self.operands.len() as u32);
        Inst { what: What::Plain(p), operands, place }
    }

    /// Lets the allocator leave an operand in memory that the instruction can read there. `start`: of its operands.
    fn may_stay_in_memory(&mut self, p: &Plain, shape: Shape, start: usize) {
        // With a bit string in memory these count from its start, in any direction.
        let strings = matches!(p.code, Code::Bt_rm32_r32 | Code::Bt_rm64_r64);
        if strings || p.args.contains(&Arg::Mem) {
            return;
        }
        let Some(n) = shape.in_memory else { return };
        let Arg::Reg(r, _) = p.args[n as usize] else { return };
        let operand = self.operands[start + r as usize];
        let all = &self.operands[start..];
        let alone = all.iter().filter(|o| o.vreg() == operand.vreg()).count() == 1;
        if alone && operand == RegOperand::reg_use(operand.vreg()) {
            self.operands[start + r as usize] = RegOperand::any_use(operand.vreg());
        }
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
    fn inst_operands(&self, inst: Index) -> &[RegOperand] {
        let (a, b) = self.insts[inst.index()].operands;
        &self.operands[a as usize..b as usize]
    }
    fn inst_clobbers(&self, inst: Index) -> PRegSet {
        match self.insts[inst.index()].what {
            What::Call(true) => self.target.clobbers(),
            _ => PRegSet::empty(),
        }
    }
    fn num_vregs(&self) -> usize {
        self.vregs
    }
    fn spillslot_size(&self, class: RegClass) -> usize {
        // Of eight bytes.
        if class == RegClass::Float { self.target.bytes as usize / 8 } else { 1 }
    }
}
