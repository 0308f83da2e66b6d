//! What is known of an instruction while the rules of the assembler are applied.

use ptx_isa::effect::{Access, AsyncGroupOp, AsyncWork, Cache, Effect, Order};
use ptx_isa::matrix::Shape;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::types::Space as IsaSpace;
use ptx_isa::{Class, Match, Operation, Reach, Ty};
use ptx_parse::code::{CallArg, Callee, Flow, Function, Inst, Program};

use crate::event::{AccessKind, Instruction, Register};
use crate::profile::Assembler;

/// Moves of halves that the machine code needs none for, if the readers take operands as they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halves {
    /// The two halves of a word.
    Split,
    /// One of them, twice.
    Same,
}

/// What a branch that the assembler removed leaves to issue without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Predicated {
    /// Around instructions: if all lanes take it, they issue nevertheless.
    Around(u32, u32),
    /// To instructions out of line: if no lane takes it, they issue nevertheless.
    To(u32, u32),
    /// To the second side of an if with two: as `Around` for the first side; where all lanes go
    /// through the first, the second issues behind it.
    Else {
        /// The first side.
        first: (u32, u32),
        /// The second side.
        second: (u32, u32),
    },
    /// To the first side of an if whose second one is jumped to: as `Else`, with the ways changed over.
    Then {
        /// The first side.
        first: (u32, u32),
        /// The second side.
        second: (u32, u32),
    },
    /// The end of the first side.
    EndOfFirst,
}

/// What folding needs to know of an instruction.
pub(crate) struct Facts<'a> {
    /// The opcode.
    pub opcode: &'a Match,
    /// What it computes; [`Operation::Other`] once it has taken in another instruction.
    pub op: Operation,
    pub instruction: Instruction,
    pub folded: bool,
    /// Operands of a single micro-op: registers or constants.
    pub arguments: Vec<(Option<Register>, Option<u64>)>,
    /// Constants among them.
    pub constants: u32,
    /// Moves a constant.
    pub constant_move: bool,
    /// The variable whose address it moves.
    pub variable: Option<String>,
    /// The value differs between lanes whatever the operands.
    pub varies: bool,
    /// An address in the function's frame that it takes.
    pub frame: Option<u32>,
    /// Where it accesses memory.
    pub place: Option<AccessPlace>,
    /// It makes the next value of a variable; what reads the last one comes before it, though behind it in the text.
    pub late: bool,
    /// Accesses merged into one.
    pub merged: u32,
    /// A branch that the assembler removed, and what it leaves.
    pub skips: Option<Predicated>,
    /// Begins a block that the assembler joins to the one before.
    pub continues: bool,
    /// May be folded whatever uses it: its operands take its place.
    pub transparent: bool,
    /// Extends the sign of 32 bits to 64.
    pub extends_sign: bool,
}

/// Where an instruction accesses memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccessPlace {
    pub space: IsaSpace,
    pub base: Option<Register>,
    pub offset: i64,
    /// Bytes per lane.
    pub bytes: u32,
}

/// Whether nothing moves across an instruction. Products are not joined with sums across a signed remainder, but loads
/// pass it: ptxas makes no branch of it in the end (`life` of the recorded kernels).
fn splits(opcode: &Match, class: Class) -> bool {
    let straight = matches!(class, Class::IntDiv | Class::IntDivSigned);
    (opcode.row.splits)(opcode) && !straight
}

impl<'a> Facts<'a> {
    /// The type of an instruction that has no modifier besides it and perhaps `allowed`.
    pub fn plain(&self, allowed: &str) -> Option<Ty> {
        let mut types = self.opcode.types();
        let ty = types.next().filter(|_| types.next().is_none())?;
        let mut others = self.opcode.picked.iter().flatten();
        others.all(|t| *t == allowed || Ty::from_token(t).is_some()).then_some(ty)
    }

    /// Whether one type follows the other and nothing else is said, as in a conversion without rounding.
    pub fn converts(&self, to: Ty, from: Ty) -> bool {
        let only = self.opcode.picked.iter().flatten().count() == 2;
        only && self.opcode.types().eq([to, from])
    }

    /// A sum of integers of 64 bits.
    pub fn adds_wide(&self) -> bool {
        self.op == Operation::Add && matches!(self.plain(""), Some(Ty::S64 | Ty::U64))
    }

    /// A conversion of 32 bits to 64 with the sign.
    fn sign_extends(&self) -> bool {
        self.op == Operation::Convert && self.converts(Ty::S64, Ty::S32)
    }

    /// A conversion that takes the lower half of 64 bits.
    pub fn narrows(&self) -> bool {
        [Ty::U32, Ty::S32]
            .iter()
            .any(|to| [Ty::U64, Ty::S64].iter().any(|from| self.converts(*to, *from)))
    }

    /// Machine instructions besides those of the class where both operands have 64 bits, by counts of ptxas 13.5.
    fn more_for_halves(&self) -> u32 {
        match (self.instruction.class, self.op) {
            (Class::Logic, op) if self.one_half(op) => 0,
            (Class::Logic | Class::Compare | Class::Select, _)
            | (Class::IntMinMax, Operation::Neg) => 1,
            // Comparisons and selections of both halves.
            (Class::IntMinMax, Operation::Abs) => 4,
            (Class::IntMinMax, _) => 3,
            (Class::BitCount, _) => 2,
            (Class::LeadingZeros, _) => 4,
            (Class::IntMulHi64, _) if self.opcode.has(".s64") => 10,
            _ => 0,
        }
    }

    /// Whether logic with a constant leaves the upper half as it is, or makes a constant of it.
    fn one_half(&self, op: Operation) -> bool {
        let constants = self.arguments.iter().filter_map(|a| a.1);
        constants.map(|c| (c >> 32) as u32).any(|upper| match op {
            Operation::And | Operation::Or => upper == 0 || upper == u32::MAX,
            Operation::Xor => upper == 0,
            _ => false,
        })
    }

    /// Machine instructions besides those of the class. Machine registers have 32 bits.
    fn more(&self, assembler: &Assembler) -> u32 {
        let wide = self.opcode.types().last().is_some_and(|t| t.bits() == 64);
        let halves = if wide { self.more_for_halves() } else { 0 };
        // Those of a division are counted for its remainder.
        let quotient = match self.instruction.class {
            _ if !assembler.fuse || self.op != Operation::Div => 0,
            Class::IntDiv => 1,
            Class::IntDivSigned => 2,
            _ => 0,
        };
        halves + quotient
    }

    /// A move between 64 bits and two registers: the halves of a pair of registers are registers.
    pub fn splits_pair(&self) -> bool {
        let i = &self.instruction;
        self.op == Operation::Move
            && self.opcode.class() == Class::Move
            && self.opcode.types().next().is_some_and(|t| t.bits() == 64)
            && (i.writes.len() == 2 || i.reads.len() == 2)
    }

    /// Puts a word above another one: both are registers of a pair.
    fn joins_pair(&self) -> bool {
        let long = self.opcode.types().next().is_some_and(|t| t.bits() == 64);
        let inserts = self.op == Operation::Insert && long;
        let given = |n: u64| self.arguments.iter().any(|a| a.1 == Some(n));
        // Lowered: shifted by 32, and what is kept of both.
        inserts && given(32) && given(u64::MAX << 32) && given(u32::MAX.into())
    }

    /// What a move does with the halves of a word.
    pub fn halves(&self) -> Option<Halves> {
        let i = &self.instruction;
        let moves = self.op == Operation::Move && i.class == Class::Move && i.guard.is_none();
        let word = self.opcode.types().next().is_some_and(|t| t.bits() == 32);
        if !moves || !word {
            return None;
        }
        match (i.writes.len(), i.reads.len()) {
            (2, 1) => Some(Halves::Split),
            (1, 1) if self.arguments.len() > 1 => Some(Halves::Same),
            _ => None,
        }
    }

    /// Arithmetic on halves: each operand takes one half of a register, or both, in any order.
    pub fn selects_halves(&self) -> bool {
        matches!(self.instruction.class, Class::F16 | Class::F16Single)
    }

    /// Puts two halves together: PRMT takes them from any place in two registers.
    pub fn packs(&self) -> bool {
        let word = self.opcode.types().next().is_some_and(|t| t.bits() == 32);
        self.op == Operation::Move
            && word
            && self.instruction.writes.len() == 1
            && self.arguments.len() > 1
    }

    /// A comparison with 0 for equality.
    pub fn compares_zero(&self) -> bool {
        let equality = self.opcode.has(".eq") || self.opcode.has(".ne");
        equality && self.arguments.iter().any(|a| a.1 == Some(0))
    }

    pub fn new(
        program: &'a Program,
        assembler: &Assembler,
        function: &Function,
        inst: &Inst,
        number: &dyn Fn(&V) -> Option<Register>,
    ) -> Self {
        let opcode = &program.matches[inst.opcode as usize];
        let op = opcode.row.op;
        let mut instruction = Instruction::new(opcode.class(), &[], &[]);
        instruction.splits = splits(opcode, instruction.class);
        instruction.local = opcode.has(".local");
        instruction.guard = inst.guard.as_ref().and_then(|g| number(&g.0));
        let mut special = None;
        let mut frame = None;
        let mut place = None;
        let mut arguments = Vec::new();
        for uop in &function.uops[inst.uops.start as usize..inst.uops.end as usize] {
            let (writes, reads): (&[V], &[V]) = match uop {
                Uop::Pure { op, dst, args, .. } => {
                    (std::slice::from_ref(dst), &args[..op.args().len()])
                }
                Uop::Effect { effect, dst, src } => {
                    describe(opcode, effect, dst.len(), &mut instruction);
                    place = place_of(effect, src.first().and_then(&number), src.first());
                    (dst, src)
                }
            };
            for v in reads {
                arguments.push((number(v), v.fixed()));
                match v.src {
                    Src::Special(s) => special = Some(s),
                    Src::Frame(byte) | Src::FrameLow(byte) => frame = Some(byte),
                    _ => {}
                }
                // What an earlier micro-op of the same instruction made is no operand.
                let own = |r: &Register| instruction.writes.contains(r);
                let new = number(v).filter(|r| !instruction.reads.contains(r) && !own(r));
                instruction.reads.extend(new);
            }
            let new = writes.iter().filter_map(number);
            for register in new {
                if !instruction.writes.contains(&register) {
                    instruction.writes.push(register);
                }
            }
        }
        of_control(inst, number, &mut instruction);
        instruction.fragment = opcode.row.reach == Reach::Warp
            && matches!(
                instruction.class,
                Class::LoadGlobal | Class::LoadShared | Class::StoreGlobal | Class::StoreShared
            );
        several(opcode, &mut instruction);
        instruction.compares =
            matches!(instruction.class, Class::AtomicShared | Class::AtomicGlobal)
                && opcode.has(".cas");
        let launch_size = special.is_some_and(launch_size);
        let varies = special.is_some_and(|s| !launch_size && varies(s));
        instruction.clock = special.is_some_and(clock);
        if special.is_some() {
            instruction.class = instruction.class.of_special();
        }
        let is_parameter = match op {
            Operation::Load => opcode.get("space").is_some_and(|s| s.starts_with(".param")),
            Operation::Move => launch_size,
            _ => false,
        };
        let unguarded = inst.guard.is_none();
        // Constants at a fixed address are operands, as arguments are.
        let fixed = |p: &AccessPlace| p.space == IsaSpace::Const && p.base.is_none();
        let is_parameter = is_parameter
            || op == Operation::Load && assembler.fuse && place.as_ref().is_some_and(fixed);
        let loaded = assembler.load_parameters && is_parameter && unguarded;
        if loaded {
            instruction.class = Class::LoadParam;
        }
        let operand = second_operand(program, opcode, inst);
        let is_move = op == Operation::Move && instruction.reads.is_empty() && special.is_none();
        let names = operand.starts_with(|c: char| c.is_ascii_alphabetic() || "_$".contains(c));
        let variable = (is_move && names).then(|| operand.to_owned());
        let mut facts = Self {
            opcode,
            op,
            instruction,
            folded: false,
            constants: arguments.iter().filter(|a| a.1.is_some()).count() as u32,
            constant_move: is_move && unguarded,
            variable,
            varies,
            frame,
            place,
            arguments,
            late: false,
            merged: 1,
            skips: None,
            continues: false,
            transparent: false,
            extends_sign: false,
        };
        let converts = |pairs: &[(Ty, Ty)]| {
            op == Operation::Convert && pairs.iter().any(|(to, from)| facts.converts(*to, *from))
        };
        let widening = converts(&[(Ty::U64, Ty::U32), (Ty::U32, Ty::U64), (Ty::S32, Ty::S64)]);
        // Numbers of 16 bits live in the lower half of a register.
        let halves = assembler.fuse && converts(&[(Ty::U16, Ty::U32), (Ty::S16, Ty::S32)]);
        facts.extends_sign = assembler.fuse && unguarded && facts.sign_extends();
        facts.instruction.extra_slots += facts.more(assembler);
        let pair = facts.splits_pair() || facts.joins_pair();
        let splits = assembler.fuse && special.is_none() && pair;
        let vanishes =
            is_parameter || op == Operation::ConvertAddress || widening || halves || splits;
        facts.transparent = unguarded && vanishes && !loaded;
        // Lowering took a product into the sums that read it: nothing is left of it.
        facts.folded = inst.uops.is_empty()
            && matches!(inst.flow, Flow::Next)
            && matches!(op, Operation::Mul | Operation::Move | Operation::Neg);
        facts
    }
}

/// What a branch by table or a call reads and writes.
fn of_control(inst: &Inst, number: &dyn Fn(&V) -> Option<Register>, instruction: &mut Instruction) {
    match &inst.flow {
        Flow::Brx { index, .. } => instruction.reads.extend(number(index)),
        Flow::Call(call) => {
            if let Callee::Indirect(v) = &call.callee {
                instruction.reads.extend(number(v));
            }
            let value = |a: &CallArg| match a {
                CallArg::Value(v) => number(v),
                _ => None,
            };
            instruction.reads.extend(call.args.iter().filter_map(value));
            instruction.writes.extend(call.rets.iter().filter_map(value));
        }
        _ => {}
    }
}

/// The text of an instruction's second operand.
fn second_operand<'a>(program: &'a Program, opcode: &Match, inst: &Inst) -> &'a str {
    let text = program.source.get(inst.span.start as usize..inst.span.end as usize);
    let text = text.unwrap_or(opcode.row.syntax);
    text.split(',').nth(1).unwrap_or("").trim().trim_end_matches(';').trim()
}

/// Whether a special register tells how the kernel was launched: the machine code reads it as a constant.
fn launch_size(register: Sreg) -> bool {
    use Sreg::*;
    matches!(register, NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ)
        || register.of_environment().is_some()
}

/// Whether a special register tells the time.
fn clock(register: Sreg) -> bool {
    use Sreg::*;
    matches!(register, Clock | ClockHi | Clock64 | GlobalTimer | GlobalTimerLo | GlobalTimerHi)
}

/// Whether a special register differs between lanes of a warp.
fn varies(register: Sreg) -> bool {
    use Sreg::*;
    !matches!(register, CtaidX | CtaidY | CtaidZ)
}

/// Where a memory access goes; `base` is its address register.
fn place_of(effect: &Effect, base: Option<Register>, source: Option<&V>) -> Option<AccessPlace> {
    let Access { place, bytes, .. } = effect.access()?;
    let fixed = source.and_then(|v| v.fixed()).unwrap_or(0) as i64;
    Some(AccessPlace { space: place.space, base, offset: place.offset.wrapping_add(fixed), bytes })
}

/// A product of a warp is made of several machine instructions where it has more than 128 results: `wmma` has 256,
/// and of tf32 each does half of the depth. Counted in code of ptxas 13.5 for sm_86 and sm_90.
fn several(opcode: &Match, instruction: &mut Instruction) {
    let whole = matches!(instruction.class, Class::MmaSmall | Class::MmaLarge);
    let shape = opcode.shape().filter(|s| whole && s.m * s.n > 128);
    let Some(Shape { m, n, .. }) = shape else { return };
    let depth = if opcode.types().any(|t| t == Ty::Tf32) { 2 } else { 1 };
    let products = (m * n / 128) as u32 * depth;
    instruction.units *= products;
    instruction.extra_slots += products - 1;
}

/// How many clocks a product of a warpgroup of this shape keeps the tensor cores: one for two columns, and at least
/// what A (2 KB) and B (32 bytes a column) take from shared memory at 128 bytes a clock. Measured on an H200 with 8, 64,
/// 128 and 256 columns, both in shared memory.
fn units(shape: Shape) -> u32 {
    let columns = shape.n as u32;
    (columns / 2).max(16 + columns / 4)
}

/// Loads from shared memory that ptxas puts ahead of the first asynchronous copy of a group, under a predicate that is
/// never true, as version 13.5 does for sm_90.
const EMPTY_LOADS: u32 = 3;

/// Kind and cache use of a memory access.
fn describe(opcode: &Match, effect: &Effect, results: usize, instruction: &mut Instruction) {
    match effect {
        Effect::Ld(m) => {
            instruction.kind = AccessKind::Load;
            instruction.read_only = opcode.has(".nc");
            instruction.strong = m.order != Order::Weak;
            instruction.bypass_l1 = matches!(m.cache, Cache::Cg | Cache::Cv) || instruction.strong;
        }
        Effect::St(m) => {
            instruction.kind = AccessKind::Store;
            instruction.strong = m.order != Order::Weak;
            instruction.bypass_l1 = instruction.strong;
        }
        Effect::Atom(_) if results == 0 => instruction.kind = AccessKind::Reduction,
        Effect::Atom(_) => instruction.kind = AccessKind::Atomic,
        // Products of a warpgroup, copies, and what signals that they are complete.
        Effect::Warp(_) if instruction.class == Class::MmaWarpgroup => {
            instruction.orders = true;
            instruction.units = opcode.shape().map_or(1, units);
        }
        Effect::Warp(_) => {
            let reads = matches!(instruction.class, Class::LoadMatrix | Class::Texture)
                || matches!(instruction.class, Class::LoadGlobal | Class::LoadShared)
                    && results > 1;
            instruction.orders = instruction.class.is_memory() && !reads;
            instruction.bypass_l1 = opcode.has(".cg");
            instruction.copies = instruction.orders && (opcode.has(".ca") || opcode.has(".cg"));
        }
        Effect::AsyncGroup(group) => {
            instruction.orders = true;
            // Ahead of a group's first copy machine code has three loads that load nothing.
            if group.of == AsyncWork::Copies && group.what == AsyncGroupOp::Commit {
                instruction.units = 1 + EMPTY_LOADS;
                instruction.extra_slots += EMPTY_LOADS;
            }
        }
        Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield
        | Effect::Sys(_) => {}
    }
}
