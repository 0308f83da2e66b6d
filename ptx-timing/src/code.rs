//! From a lowered program to what the timing model replays.
//!
//! PTX is not what the hardware executes. Besides reordering (the simulator's business), the
//! assembler makes some PTX instructions disappear; a model that issued them would count too much:
//! - `ld.param` and reads of launch sizes (`%ntid`, `%nctaid`) become constant operands,
//! - `cvta` of global addresses, and conversions that only widen an address, become nothing,
//! - `mul.wide` whose results only go into 64-bit additions becomes a multiply-add,
//! - in functions that end here, `bra` to the next block becomes nothing.
//!
//! What depends on the assembler's generation is in `assemble`.
//!
//! Such instructions get no number ([`KernelCode::pc`] is `None`), and what read their result reads
//! their operands.

use std::collections::{HashMap, HashSet};

use ptx_isa::effect::{BarKind, Cache, Effect};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::types::Space as IsaSpace;
use ptx_isa::{Class, Kind, Match, Operation, Ty};
use ptx_parse::code::{CallArg, Callee, Flow, Function, Inst, Program};

use crate::assemble::assemble;
use crate::chains;
use crate::event::{AccessKind, Code, Detail, Event, Instruction, Register};
use crate::moves;
use crate::profile::Assembler;
use crate::sim::PcCounts;
use crate::spill::{self, Spills};
use crate::unroll::{self, Loops};

/// A kernel as the simulator needs it, and how to find an instruction in it.
#[derive(Debug, Clone, Default)]
pub struct KernelCode {
    /// Instructions and basic blocks.
    pub code: Code,
    /// Per function and instruction.
    steps: Vec<Vec<Step>>,
    /// Per index: the function and instruction it stands for.
    pub origin: Vec<(u32, u32)>,
    /// PTX instructions that were folded away.
    pub folded: u32,
    /// 32-bit words of each register.
    words: Vec<u8>,
    /// Per index: the instruction whose counts it adds to. Another one for the turns of repeated loops,
    /// and for loads and stores of values that have no register.
    stands_for: Vec<u32>,
    /// Loops that are repeated.
    loops: Loops,
    /// Per index: words of local memory that it loads or stores, and the first of them.
    spilled: Vec<Option<(u32, u32)>>,
}

/// What a warp that comes to an instruction does for the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Index into [`KernelCode::code`]; nothing if the assembler folds it away.
    pub pc: Option<u32>,
    pub does: Does,
}

/// What of an instruction depends on how it is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    /// Nothing.
    Plain,
    /// Its lanes end here.
    Exit,
    /// It arrives at a barrier. One whose number is in a register counts as barrier 0 of all warps.
    Barrier(Detail),
    /// It compares the values of a register between lanes.
    Values(Kind, u32),
    /// It may branch; under a guard, lanes may part.
    Branch { guarded: bool },
    /// The assembler removed the branch.
    Predicated(Predicated),
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
    /// The end of the first side.
    EndOfFirst,
}

impl KernelCode {
    /// Translates a program.
    pub fn new(program: &Program, assembler: &Assembler) -> Self {
        Self::translate(program, assembler, assembler.unrolled_instructions)
    }

    /// The same with values in local memory, so that so many registers are enough.
    pub fn spilled(program: &Program, assembler: &Assembler, registers: u32) -> Self {
        let mut out = Self::translate(program, assembler, 0);
        if program.functions.len() == 1 {
            out.spill(&program.functions[0], registers);
        }
        out
    }

    fn translate(program: &Program, assembler: &Assembler, unrolled: u32) -> Self {
        let mut out = Self::default();
        let mut registers = 0;
        let mut offsets = Vec::new();
        for function in &program.functions {
            offsets.push(std::array::from_fn(|kind| {
                let first = registers;
                registers += function.regs[kind];
                out.words.resize(registers as usize, [0, 1, 2][kind]);
                first
            }));
        }
        for (index, function) in program.functions.iter().enumerate() {
            out.add_function(program, assembler, unrolled, index as u32, function, offsets[index]);
        }
        out.code.words = out.words.clone();
        let frames: u32 = program.functions.iter().map(|f| f.frame_bytes).sum();
        // Functions may call themselves.
        out.code.local_bytes = if program.functions.len() > 1 { frames * 8 } else { frames };
        out
    }

    /// Index of an instruction in [`KernelCode::code`]; `None` = it was folded away.
    pub fn pc(&self, function: u32, instruction: u32) -> Option<u32> {
        self.step(function, instruction)?.pc
    }

    /// What a warp does at an instruction; `None` = there is none, as at the end of a function.
    pub(crate) fn step(&self, function: u32, instruction: u32) -> Option<Step> {
        self.steps.get(function as usize)?.get(instruction as usize).copied()
    }

    /// 32-bit registers that a value takes; predicates have their own.
    pub fn words(&self, register: Register) -> u32 {
        self.words.get(register as usize).map_or(1, |w| u32::from(*w))
    }

    fn add_function(
        &mut self,
        program: &Program,
        assembler: &Assembler,
        unrolled: u32,
        index: u32,
        function: &Function,
        offsets: [Register; 3],
    ) {
        let number = |v: &V| match v.src {
            Src::Reg(n) => Some(offsets[v.kind as usize] + n),
            _ => None,
        };
        let mut facts: Vec<Facts<'_>> = function
            .insts
            .iter()
            .map(|inst| Facts::new(program, assembler, function, inst, &number))
            .collect();
        if assembler.fuse {
            chains::rename(function, &mut self.words, &mut facts);
        }
        fold(function, &mut facts);
        assemble(assembler, function, index == 0, &mut facts);
        if assembler.fuse {
            let words = |r: Register| self.words.get(r as usize).map_or(1, |w| u32::from(*w));
            moves::join(function, self.words.len(), &words, &mut facts);
        }
        let repeated = unroll::candidates(unrolled, &program.source, function, &facts);
        let mut steps = Vec::with_capacity(function.insts.len());
        let mut leaders: Vec<u32> = function.blocks.iter().map(|b| b.start).collect();
        leaders.sort_unstable();
        for (i, facts) in facts.into_iter().enumerate() {
            let pc = self.code.instructions.len() as u32;
            let starts_block = leaders.binary_search(&(i as u32)).is_ok();
            let starts_block = starts_block && !facts.continues;
            if starts_block && self.code.leaders.last() != Some(&pc) {
                self.code.leaders.push(pc);
            }
            let does = does(index, function, &function.insts[i], &facts);
            if facts.folded {
                self.folded += 1;
                steps.push(Step { pc: None, does });
                continue;
            }
            steps.push(Step { pc: Some(pc), does });
            self.origin.push((index, i as u32));
            self.stands_for.push(pc);
            self.code.instructions.push(facts.instruction);
        }
        for candidate in &repeated {
            let Code { instructions, leaders, .. } = &mut self.code;
            let pc = |i: u32| steps.get(i as usize).and_then(|s: &Step| s.pc);
            let added = self.loops.add(candidate, instructions, leaders, &mut self.words, &pc);
            self.origin
                .extend(added.iter().map(|pc| self.origin[*pc as usize]).collect::<Vec<_>>());
            self.stands_for.extend(added);
        }
        self.steps.push(steps);
    }

    /// Keeps values in local memory so that so many registers are enough.
    fn spill(&mut self, function: &Function, registers: u32) {
        let pcs: Vec<Vec<u32>> = function
            .blocks
            .iter()
            .map(|b| (b.start..b.end).filter_map(|i| self.pc(0, i)).collect())
            .collect();
        let arguments = self.arguments();
        let words = |r: Register| if arguments.contains(&r) { 0 } else { self.words(r) };
        let room = registers.saturating_sub(crate::registers::OWN).max(4);
        let count = self.words.len();
        let found = spill::spills(function, &pcs, &self.code.instructions, count, room, &words);
        // Behind the variables of the text.
        let first = self.code.local_bytes.div_ceil(4);
        self.code.local_bytes = (first + found.words) * 4;
        let old = std::mem::take(&mut self.code.instructions);
        let (origin, stands_for) =
            (std::mem::take(&mut self.origin), std::mem::take(&mut self.stands_for));
        let mut moved = vec![0; old.len()];
        let mut starts = vec![0; old.len()];
        for (pc, instruction) in old.into_iter().enumerate() {
            starts[pc] = self.code.instructions.len() as u32;
            self.add_spills(&found, first, pc as u32, false);
            moved[pc] = self.code.instructions.len() as u32;
            self.code.instructions.push(instruction);
            self.spilled.push(None);
            self.add_spills(&found, first, pc as u32, true);
            let added = self.code.instructions.len() - self.origin.len();
            self.origin.extend(std::iter::repeat_n(origin[pc], added));
            self.stands_for.extend(std::iter::repeat_n(stands_for[pc], added));
        }
        self.stands_for.iter_mut().for_each(|pc| *pc = moved[*pc as usize]);
        self.code.leaders.iter_mut().for_each(|pc| {
            *pc = starts.get(*pc as usize).copied().unwrap_or(*pc);
        });
        for step in self.steps.iter_mut().flatten() {
            step.pc = step.pc.map(|pc| moved[pc as usize]);
        }
    }

    /// The loads before an instruction, or the stores behind it.
    fn add_spills(&mut self, spills: &Spills, first: u32, pc: u32, behind: bool) {
        let list = if behind { &spills.stores } else { &spills.loads };
        for r in list.get(&pc).into_iter().flatten() {
            let mut own = match behind {
                true => Instruction::new(Class::StoreGlobal, &[], &[*r]),
                false => Instruction::new(Class::LoadGlobal, &[*r], &[]),
            };
            own.spill = true;
            self.code.instructions.push(own);
            let slot = spills.slots.get(r).copied().unwrap_or(0);
            self.spilled.push(Some((self.words(*r).max(1), first + slot)));
        }
    }

    /// Registers that only ever hold an argument of the kernel, which is read from constant memory where
    /// it is needed.
    pub(crate) fn arguments(&self) -> HashSet<Register> {
        let mut argument = HashSet::new();
        let mut other = HashSet::new();
        for i in &self.code.instructions {
            let set = if i.class == Class::LoadParam { &mut argument } else { &mut other };
            set.extend(i.writes.iter().copied());
        }
        argument.retain(|r| !other.contains(r));
        argument
    }

    /// The spills right before or behind an instruction: their numbers, with the words that each moves.
    pub(crate) fn spills_of(
        &self,
        pc: u32,
        behind: bool,
    ) -> impl Iterator<Item = (u32, (u32, u32))> + '_ {
        let spilled = |pc: u32| self.spilled.get(pc as usize).copied().flatten();
        let kind = if behind { AccessKind::Store } else { AccessKind::Load };
        let own = move |p: &u32| {
            spilled(*p).is_some() && self.code.instructions[*p as usize].kind == kind
        };
        let first = match behind {
            true => pc + 1,
            false => (0..pc).rev().take_while(own).last().unwrap_or(pc),
        };
        let end = if behind { u32::MAX } else { pc };
        (first..end).take_while(own).filter_map(move |p| Some((p, spilled(p)?)))
    }

    /// Whether values lie in local memory.
    pub(crate) fn spills(&self) -> bool {
        !self.spilled.is_empty()
    }

    /// Puts repeated loops into the place of their turns.
    pub(crate) fn repeat(&self, events: &mut Vec<Event>) {
        self.loops.apply(events);
    }

    /// Adds the counts of instructions that stand for others to theirs.
    pub(crate) fn gather(&self, counts: &mut [PcCounts]) {
        for (pc, &to) in self.stands_for.iter().enumerate().filter(|(pc, to)| *pc != **to as usize)
        {
            let Some(own) = counts.get_mut(pc).map(std::mem::take) else { continue };
            if let Some(sum) = counts.get_mut(to as usize) {
                sum.add(&own);
            }
        }
    }
}

/// What of an instruction depends on how it is executed. `index` is the number of its function.
fn does(index: u32, function: &Function, inst: &Inst, facts: &Facts<'_>) -> Does {
    let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
    match inst.flow {
        Flow::Exit => return Does::Exit,
        Flow::Ret if index == 0 => return Does::Exit,
        Flow::Bra(_) => {
            let kept = Does::Branch { guarded: inst.guard.is_some() };
            return facts.skips.map_or(kept, Does::Predicated);
        }
        _ => {}
    }
    if let Some(barrier) = uops.iter().find_map(barrier_of) {
        return Does::Barrier(barrier);
    }
    let value = uops.iter().find_map(compared).filter(|_| facts.instruction.class == Class::Match);
    value.map_or(Does::Plain, |(kind, register)| Does::Values(kind, register))
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
    /// Where it accesses memory.
    pub place: Option<AccessPlace>,
    /// Accesses merged into one.
    pub merged: u32,
    /// A branch that the assembler removed, and what it leaves.
    pub skips: Option<Predicated>,
    /// Begins a block that the assembler joins to the one before.
    pub continues: bool,
    /// May be folded whatever uses it: its operands take its place.
    transparent: bool,
    /// Extends the sign of 32 bits to 64.
    extends_sign: bool,
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

impl<'a> Facts<'a> {
    /// The type of an instruction that has no modifier besides it and perhaps `allowed`.
    pub fn plain(&self, allowed: &str) -> Option<Ty> {
        let mut types = self.opcode.types();
        let ty = types.next().filter(|_| types.next().is_none())?;
        let mut others = self.opcode.picked.iter().flatten();
        others.all(|t| *t == allowed || Ty::from_token(t).is_some()).then_some(ty)
    }

    /// Whether one type follows the other and nothing else is said, as in a conversion without rounding.
    fn converts(&self, to: Ty, from: Ty) -> bool {
        let only = self.opcode.picked.iter().flatten().count() == 2;
        only && self.opcode.types().eq([to, from])
    }

    /// A conversion that takes the lower half of 64 bits.
    fn narrows(&self) -> bool {
        [Ty::U32, Ty::S32]
            .iter()
            .any(|to| [Ty::U64, Ty::S64].iter().any(|from| self.converts(*to, *from)))
    }

    /// A comparison with 0 for equality.
    pub fn compares_zero(&self) -> bool {
        let equality = self.opcode.has(".eq") || self.opcode.has(".ne");
        equality && self.arguments.iter().any(|a| a.1 == Some(0))
    }

    fn new(
        program: &'a Program,
        assembler: &Assembler,
        function: &Function,
        inst: &Inst,
        number: &dyn Fn(&V) -> Option<Register>,
    ) -> Self {
        let opcode = &program.matches[inst.opcode as usize];
        let op = opcode.row.op;
        let mut instruction = Instruction::new(opcode.class(), &[], &[]);
        instruction.guard = inst.guard.as_ref().and_then(|g| number(&g.0));
        let mut special = None;
        let mut place = None;
        let mut arguments = Vec::new();
        for uop in &function.uops[inst.uops.start as usize..inst.uops.end as usize] {
            let (writes, reads): (&[V], &[V]) = match uop {
                Uop::Pure { op, dst, args, .. } => {
                    (std::slice::from_ref(dst), &args[..op.args().len()])
                }
                Uop::Effect { effect, dst, src } => {
                    describe(effect, dst.len(), &mut instruction);
                    place = place_of(effect, src.first().and_then(&number), src.first());
                    (dst, src)
                }
            };
            for v in reads {
                arguments.push((number(v), v.fixed()));
                if let Src::Special(s) = v.src {
                    special = Some(s);
                }
                let new = number(v).filter(|r| !instruction.reads.contains(r));
                instruction.reads.extend(new);
            }
            let new = writes.iter().filter_map(number);
            for register in new {
                if !instruction.writes.contains(&register) {
                    instruction.writes.push(register);
                }
            }
        }
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
        instruction.compares = instruction.class == Class::AtomicShared && opcode.has(".cas");
        let launch_size = special.is_some_and(launch_size);
        let varies = special.is_some_and(|s| !launch_size && varies(s));
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
        let text = program.source.get(inst.span.start as usize..inst.span.end as usize);
        let text = text.unwrap_or(opcode.row.syntax);
        let operand = text.split(',').nth(1).unwrap_or("").trim().trim_end_matches(';').trim();
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
            place,
            arguments,
            merged: 1,
            skips: None,
            continues: false,
            transparent: false,
            extends_sign: false,
        };
        let widening = op == Operation::Convert
            && [(Ty::U64, Ty::U32), (Ty::U32, Ty::U64), (Ty::S32, Ty::S64)]
                .iter()
                .any(|(to, from)| facts.converts(*to, *from));
        // Numbers of 16 bits live in the lower half of a register.
        let halves = op == Operation::Convert
            && assembler.fuse
            && [(Ty::U16, Ty::U32), (Ty::S16, Ty::S32)]
                .iter()
                .any(|(to, from)| facts.converts(*to, *from));
        facts.extends_sign = op == Operation::Convert
            && assembler.fuse
            && unguarded
            && facts.converts(Ty::S64, Ty::S32);
        // The halves of a pair of registers are registers.
        let splits = op == Operation::Move
            && assembler.fuse
            && opcode.class() == Class::Move
            && special.is_none()
            && opcode.types().next().is_some_and(|t| t.bits() == 64)
            && (facts.instruction.writes.len() == 2 || facts.instruction.reads.len() == 2);
        let vanishes =
            is_parameter || op == Operation::ConvertAddress || widening || halves || splits;
        facts.transparent = unguarded && vanishes && !loaded;
        facts
    }
}

/// Whether a special register tells how the kernel was launched: the machine code reads it as a constant.
fn launch_size(register: Sreg) -> bool {
    use Sreg::*;
    matches!(
        register,
        NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ | Envreg3 | Envreg4 | Envreg5 | Envreg6
    )
}

/// Whether a special register differs between lanes of a warp.
fn varies(register: Sreg) -> bool {
    use Sreg::*;
    !matches!(register, CtaidX | CtaidY | CtaidZ)
}

/// Where a memory access goes; `base` is its address register.
fn place_of(effect: &Effect, base: Option<Register>, source: Option<&V>) -> Option<AccessPlace> {
    let (place, bytes) = match effect {
        Effect::Ld(m) | Effect::St(m) => (m.place, u32::from(m.bytes) * u32::from(m.count)),
        Effect::Atom(a) => (a.place, u32::from(a.bytes) * u32::from(a.count)),
        Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::AsyncGroup(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield
        | Effect::Sys(_)
        | Effect::Warp(_) => return None,
    };
    let fixed = source.and_then(|v| v.fixed()).unwrap_or(0) as i64;
    Some(AccessPlace { space: place.space, base, offset: place.offset.wrapping_add(fixed), bytes })
}

/// Kind and cache use of a memory access.
fn describe(effect: &Effect, results: usize, instruction: &mut Instruction) {
    match effect {
        Effect::Ld(m) => {
            instruction.kind = AccessKind::Load;
            instruction.bypass_l1 =
                matches!(m.cache, Cache::Cg | Cache::Cv) || m.order != ptx_isa::effect::Order::Weak;
        }
        Effect::St(m) => {
            instruction.kind = AccessKind::Store;
            instruction.bypass_l1 = m.order != ptx_isa::effect::Order::Weak;
        }
        Effect::Atom(_) => instruction.kind = AccessKind::Atomic,
        // Copies, and what signals that they are complete.
        Effect::Warp(_) => {
            let reads = matches!(instruction.class, Class::LoadMatrix | Class::Texture)
                || matches!(instruction.class, Class::LoadGlobal | Class::LoadShared)
                    && results > 1;
            instruction.orders = instruction.class.is_memory() && !reads;
        }
        Effect::AsyncGroup(_) => instruction.orders = true,
        Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield
        | Effect::Sys(_) => {}
    }
    if instruction.kind == AccessKind::Atomic && instruction.writes.is_empty() {
        instruction.kind = AccessKind::Reduction;
    }
}

fn barrier_of(uop: &Uop) -> Option<Detail> {
    let Uop::Effect { effect: Effect::Bar(bar), src, .. } = uop else { return None };
    let wait = match bar.kind {
        BarKind::ClusterArrive | BarKind::ClusterWait => return None,
        BarKind::Arrive => false,
        BarKind::Sync | BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr => true,
    };
    let constant = |i: usize| src.get(i).and_then(|v| v.fixed());
    let id = constant(0).unwrap_or(0) as u8;
    let warps = if bar.counted { constant(1).unwrap_or(0).div_ceil(32) as u16 } else { 0 };
    Some(Detail::Barrier { id, wait, warps })
}

/// The first register that an instruction across lanes reads.
fn compared(uop: &Uop) -> Option<(Kind, u32)> {
    let Uop::Effect { src, .. } = uop else { return None };
    src.iter().find_map(|v| match v.src {
        Src::Reg(n) if v.kind != Kind::P => Some((v.kind, n)),
        _ => None,
    })
}

/// Marks what the assembler folds away and rewires its readers.
fn fold(function: &Function, facts: &mut [Facts<'_>]) {
    let mut definitions: HashMap<Register, Vec<usize>> = HashMap::new();
    let mut uses: HashMap<Register, Vec<usize>> = HashMap::new();
    for (i, f) in facts.iter().enumerate() {
        for &w in &f.instruction.writes {
            definitions.entry(w).or_default().push(i);
        }
        for &r in f.instruction.reads.iter().chain(&f.instruction.guard) {
            uses.entry(r).or_default().push(i);
        }
    }
    let no_uses = Vec::new();
    for i in 0..facts.len() {
        let written = facts[i].instruction.writes.clone();
        if written.is_empty() || written.iter().any(|r| definitions[r].len() != 1) {
            continue;
        }
        let mut users: Vec<usize> =
            written.iter().flat_map(|r| uses.get(r).unwrap_or(&no_uses)).copied().collect();
        users.sort_unstable();
        users.dedup();
        let adds = |f: &Facts<'_>| {
            f.op == Operation::Add && matches!(f.plain(""), Some(Ty::S64 | Ty::U64))
        };
        let wide = written.len() == 1
            && facts[i].op == Operation::Mul
            && facts[i].opcode.has(".wide")
            && facts[i].instruction.guard.is_none()
            && !users.is_empty()
            && users.iter().all(|&u| adds(&facts[u]));
        // The sign goes along with an addition or a shift: LEA.HI.X.SX32.
        let shifts = |f: &Facts<'_>| {
            f.op == Operation::Shl && f.opcode.types().last().is_some_and(|t| t.bits() == 64)
        };
        let signs = facts[i].extends_sign
            && !users.is_empty()
            && users.iter().all(|&u| adds(&facts[u]) || shifts(&facts[u]));
        // Of a product only the lower half is read.
        if written.len() == 1
            && facts[i].instruction.class == Class::IntMulWide
            && matches!(facts[i].op, Operation::Mul | Operation::Mad)
            && !users.is_empty()
            && users.iter().all(|&u| facts[u].op == Operation::Convert && facts[u].narrows())
        {
            facts[i].instruction.class = Class::IntMul;
        }
        // So is it behind a shift by 32 and more.
        if written.len() == 1
            && facts[i].instruction.class == Class::Shift64
            && facts[i].arguments.get(1).is_some_and(|a| a.1.is_some_and(|n| n >= 32))
            && !users.is_empty()
            && users.iter().all(|&u| facts[u].op == Operation::Convert && facts[u].narrows())
        {
            facts[i].instruction.class = Class::Shift;
        }
        if !facts[i].transparent && !wide && !signs {
            continue;
        }
        // An operand that is written again could have another value by then.
        let operands = facts[i].instruction.reads.clone();
        let once = |r: &Register| definitions.get(r).is_none_or(|d| d.len() == 1);
        let kept =
            |r: &Register| users.iter().all(|u| chains::unchanged(function, facts, *r, i, *u));
        if !wide && !operands.iter().all(|r| once(r) || kept(r)) {
            continue;
        }
        facts[i].folded = true;
        for u in users {
            let reads = &mut facts[u].instruction.reads;
            reads.retain(|r| !written.contains(r));
            for &operand in &operands {
                if !reads.contains(&operand) {
                    reads.push(operand);
                }
            }
            if wide {
                facts[u].instruction.class = Class::IntMulWide;
            }
            // Later folding has to see the new readers.
            for &operand in &operands {
                uses.entry(operand).or_default().push(u);
            }
        }
    }
    for (i, inst) in function.insts.iter().enumerate() {
        if let Flow::Bra(block) = inst.flow
            && inst.guard.is_none()
            && function.blocks.get(block as usize).is_some_and(|b| b.start == i as u32 + 1)
        {
            facts[i].folded = true;
        }
    }
}

/// The state space of an access for the timing model; `None` = it costs nothing there.
pub(crate) fn space_of(space: IsaSpace) -> Option<crate::event::Space> {
    use crate::event::Space;
    Some(match space {
        IsaSpace::Generic | IsaSpace::Global => Space::Global,
        IsaSpace::Shared | IsaSpace::SharedCluster => Space::Shared,
        IsaSpace::Local => Space::Local,
        IsaSpace::Const | IsaSpace::ParamEntry => Space::Const,
        _ => return None,
    })
}
