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

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use ptx_isa::effect::{BarKind, Effect};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::{Class, Kind, Operation};
use ptx_parse::code::{BasicBlock, Flow, Function, Inst, Program};

use crate::arguments;
use crate::assemble::{alignments, assemble};
use crate::budget::Budget;
use crate::chains;
use crate::common_subexpressions;
use crate::constants;
use crate::event::{AccessKind, BlockTrace, Code, Detail, Instruction, Register};
use crate::facts::{Facts, Predicated};
use crate::fold::fold;
use crate::half_pairs;
use crate::halves;
use crate::live;
use crate::moves;
use crate::paths::Looks;
use crate::profile::Assembler;
use crate::reciprocals::Constants;
use crate::register_arrays;
use crate::repeated::Loops;
use crate::sequence::Sequences;
use crate::signs;
use crate::sim::PcCounts;
use crate::spill::{self, Spills};
use crate::trips;
use crate::uniform;
use crate::unroll;
use crate::uses::loops;

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
    /// Where the order of machine code is not the text's.
    sequences: Sequences,
    /// Loops that are repeated.
    loops: Loops,
    /// What divisions of loops keep in registers, by function.
    loop_constants: Vec<(u32, Constants)>,
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
    /// It looks at its operands first.
    Looks(Looks),
    /// It may branch; under a guard, lanes may part.
    Branch { guarded: bool },
    /// The assembler removed the branch.
    Predicated(Predicated),
}

impl KernelCode {
    /// Translates a program.
    pub fn new(program: &Program, assembler: &Assembler) -> Self {
        Self::translate(program, assembler, assembler.unrolled_instructions)
    }

    /// The same with values in local memory, so that registers hold no more than so many words.
    pub fn spilled(program: &Program, assembler: &Assembler, room: u32) -> Self {
        let mut out = Self::translate(program, assembler, 0);
        if program.functions.len() == 1 {
            out.spill(&program.functions[0], room);
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
        out.look_for_lanes();
        out.code.words = out.words.clone();
        out.code.budget = Budget::new(program);
        out.code.calls = program.functions.len() > 1;
        out.find_lives(program);
        out.find_looped(program, assembler.loads_addends);
        let frames: u32 = program.functions.iter().map(|f| f.frame_bytes).sum();
        // Functions may call themselves.
        out.code.local_bytes = if out.code.calls { frames * 8 } else { frames };
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
        let trips = trips::trips(function, &facts);
        // Of addresses in the first turn of a loop.
        let aligned = match assembler.merge_shared && unrolled > 0 {
            true => alignments(&facts, &trips::steps(function, &facts, &trips)),
            false => HashMap::new(),
        };
        if unrolled > 0 {
            unroll::bounded(function, &mut facts);
        }
        drop_temporaries(function, &number, &mut facts);
        if assembler.uniform_registers && program.functions.len() == 1 {
            register_arrays::keep(function, &mut self.words, &mut facts);
        }
        if assembler.fuse {
            chains::rename(function, &mut self.words, &mut facts);
            constants::propagate(&mut facts);
            common_subexpressions::share(function, &mut facts);
            half_pairs::join(function, &mut facts);
            halves::narrow(&mut self.words, &mut facts);
            signs::halves(function, &mut self.words, &mut facts);
        }
        fold(assembler.fuse, function, &mut facts);
        let constants = assemble(assembler, function, index == 0, &mut self.words, &mut facts);
        self.loop_constants.extend(constants.into_iter().map(|c| (index, c)));
        let mut sequence: Vec<usize> = (0..facts.len()).collect();
        if assembler.fuse {
            let words = |r: Register| self.words.get(r as usize).map_or(1, |w| u32::from(*w));
            let meant = moves::join(function, self.words.len(), &words, &mut facts);
            // Loads and stores of values without a register stay beside what reads and makes them.
            sequence = if unrolled > 0 { meant } else { sequence };
            for f in facts.iter_mut().filter(|f| f.op == Operation::Shl && f.constants == 1) {
                if f.instruction.class == Class::Shift {
                    f.instruction.class = Class::ShiftLeft;
                }
            }
        }
        if assembler.uniform_registers && index == 0 {
            let words = |r: Register| self.words.get(r as usize).map_or(1, |w| u32::from(*w));
            // Addresses of shared variables are the block's.
            let bases = facts.iter().filter(|f| f.variable.is_some() && !f.folded);
            let bases: Vec<Register> =
                bases.flat_map(|f| f.instruction.writes.iter().copied()).collect();
            for r in uniform::of_warps(function, &words, &facts).into_iter().chain(bases) {
                self.words[r as usize] = 0;
            }
        }
        let rules = unroll::Rules {
            most: unrolled,
            inner: assembler.unrolls_inner_loops,
            predicated: (assembler.predicated_instructions, assembler.predicated_load_instructions),
            aligned: &aligned,
        };
        let repeated = unroll::candidates(rules, &program.source, function, &trips, &facts);
        let start = self.code.instructions.len();
        let mut steps: Vec<Step> = vec![Step { pc: None, does: Does::Plain }; facts.len()];
        let mut leaders: Vec<u32> = function.blocks.iter().map(|b| b.start).collect();
        leaders.sort_unstable();
        let continues: Vec<bool> = facts.iter().map(|f| f.continues).collect();
        let mut facts: Vec<Option<Facts<'_>>> = facts.into_iter().map(Some).collect();
        for (place, i) in sequence.into_iter().enumerate() {
            let Some(facts) = facts[i].take() else { continue };
            let pc = self.code.instructions.len() as u32;
            let starts_block = leaders.binary_search(&(place as u32)).is_ok();
            let starts_block = starts_block && !continues[place];
            if starts_block && self.code.leaders.last() != Some(&pc) {
                self.code.leaders.push(pc);
            }
            let does = does(index, function, &function.insts[i], &facts);
            steps[i] = Step { pc: (!facts.folded).then_some(pc), does };
            if facts.folded {
                self.folded += 1;
                continue;
            }
            self.origin.push((index, i as u32));
            self.stands_for.push(pc);
            let place = facts.place.filter(|_| facts.merged == 1);
            let place = place.and_then(|p| Some((p.base?, p.offset, p.bytes)));
            self.code.instructions.push(Instruction { place, ..facts.instruction });
        }
        self.find_only(start);
        for block in &function.blocks {
            let of = |i: u32| steps.get(i as usize)?.pc;
            self.sequences.add(&(block.start..block.end).filter_map(of).collect::<Vec<_>>());
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

    /// Marks guarded instructions from a number on behind which nothing is left of what their results held before:
    /// those whose results nothing else writes, and the first of two of which one or the other writes.
    fn find_only(&mut self, start: usize) {
        let Code { instructions, leaders, .. } = &mut self.code;
        let mut made: HashMap<Register, u32> = HashMap::new();
        for w in instructions[start..].iter().flat_map(|i| &i.writes) {
            *made.entry(*w).or_default() += 1;
        }
        for i in &mut instructions[start..] {
            i.only = i.writes.iter().all(|w| made[w] == 1);
        }
        let own = leaders.iter().map(|l| *l as usize).filter(|l| *l >= start);
        let ends = own.clone().skip(1).chain([instructions.len()]);
        for (first, end) in own.zip(ends) {
            let block = &mut instructions[first..end];
            for at in 0..block.len() {
                block[at].only |= live::replaced(block, at);
            }
        }
    }

    /// Where lanes may be absent, a block's operations over the warp begin with a branch that looks for them (BRA.DIV).
    /// It leads to other code for all of them, which comes back behind the last one: nothing moves across either end. A
    /// single operation waits for the others (WARPSYNC). Read off ptxas 13.5.
    fn look_for_lanes(&mut self) {
        for block in self.blocks() {
            let list = &mut self.code.instructions[block.start as usize..block.end as usize];
            let Some(last) = list.iter().rposition(|i| i.parted) else { continue };
            let first = list.iter().position(|i| i.parted).unwrap_or(last);
            list[first].extra_slots += 1;
            list[first].splits = true;
            list[last].splits = true;
            list[last].parted = first < last;
        }
    }

    /// The machine instructions of a block of the text as they were if all branches of the text were branches: where it
    /// has no guard, there is none, and both sides of an if write what they write in the text.
    fn of_text(&self, f: u32, function: &Function, block: Range<u32>) -> Vec<Instruction> {
        let mut list: Vec<(u32, u32)> = block.filter_map(|i| Some((self.pc(f, i)?, i))).collect();
        list.sort_unstable();
        let of = |(pc, i): (u32, u32)| {
            let mut own = self.code.instructions[pc as usize].clone();
            own.writes.extend(std::mem::take(&mut own.yields));
            if function.insts[i as usize].guard.is_none() && own.guard.is_some() {
                own.reads.extend(own.guard.take());
            }
            own
        };
        list.into_iter().map(of).collect()
    }

    /// The machine code's basic blocks.
    fn blocks(&self) -> Vec<Range<u32>> {
        let leaders = &self.code.leaders;
        let stops = leaders.iter().skip(1).copied().chain([self.code.instructions.len() as u32]);
        leaders.iter().zip(stops).map(|(first, stop)| *first..stop).collect()
    }

    /// The function, and the place in its text, of a basic block's last instruction.
    fn last_of(&self, block: &Range<u32>) -> Option<(u32, u32)> {
        let last = block.end.checked_sub(1).filter(|last| *last >= block.start)?;
        self.origin.get(last as usize).copied()
    }

    /// Finds what lives behind each basic block: behind the last of the text's blocks in it.
    fn find_lives(&mut self, program: &Program) {
        let registers = self.words.len();
        let ends = (0..).zip(&program.functions).map(|(f, function)| {
            let text = |b: &BasicBlock| self.of_text(f, function, b.start..b.end);
            let text: Vec<Vec<Instruction>> = function.blocks.iter().map(text).collect();
            live::at_block_ends(function, registers, |b: usize| text[b].iter())
        });
        let ends: Vec<Vec<live::Set>> = ends.collect();
        let lives = |block: Range<u32>| {
            let (f, at) = self.last_of(&block)?;
            let mut blocks = program.functions[f as usize].blocks.iter();
            let b = blocks.position(|b| (b.start..b.end).contains(&at))?;
            // What a loop keeps is made right ahead of it.
            let outside = |r: &Register| {
                let own = |(of, (own, _)): &&(u32, Constants)| (*of, own) == (f, r);
                let kept = self.loop_constants.iter().find(own);
                kept.is_some_and(|(_, (_, within))| !within.contains(&(at as usize)))
            };
            Some(ends[f as usize][b].iter().filter(|r| !outside(r)).collect())
        };
        let lives = self.blocks().into_iter().map(|b| lives(b).unwrap_or_default()).collect();
        self.code.lives = lives;
    }

    /// Finds what the innermost loop around each basic block keeps in registers: what it reads, of arguments those that
    /// are loaded ahead of it. The others are loaded in each block, which is added.
    fn find_looped(&mut self, program: &Program, loads_addends: bool) {
        let instructions = &self.code.instructions;
        let loops: Vec<Vec<(u32, u32)>> = program.functions.iter().map(loops).collect();
        // A wide multiply-add's addends; its factors are loaded once.
        let mut addends = arguments::of(instructions);
        addends.retain(|r| loads_addends && self.words(*r) == 2);
        let mut loads = Vec::new();
        let around = |block: &Range<u32>| {
            let (f, at) = self.last_of(block)?;
            let around =
                loops[f as usize].iter().filter(|(start, end)| (*start..*end).contains(&at));
            Some((f, around.map(|(start, end)| (end - start, *start..*end)).collect::<Vec<_>>()))
        };
        let looped = |block: Range<u32>| {
            let (f, around) = around(&block)?;
            let (_, inner) = around.into_iter().min_by_key(|(length, _)| *length)?;
            let of = |pcs: &[u32]| pcs.iter().map(|pc| &instructions[*pc as usize]).collect();
            let turn: Vec<u32> = inner.clone().filter_map(|i| self.pc(f, i)).collect();
            let turn: Vec<&Instruction> = of(&turn);
            let own: Vec<&Instruction> = of(&block.clone().collect::<Vec<u32>>());
            // Several turns are in one block.
            let whole = if own.len() > turn.len() { &own } else { &turn };
            let inside = |l: &(u32, u32)| *l != (inner.start, inner.end) && inner.contains(&l.0);
            let ahead =
                !loops[f as usize].iter().any(inside) && arguments::go_ahead(whole.iter().copied());
            if !ahead {
                loads.extend(arguments::first_users(block, instructions, &addends));
            }
            let reads = turn.iter().flat_map(|i| i.reads.iter().copied());
            let reads: BTreeSet<Register> =
                reads.filter(|r| ahead || !addends.contains(r)).collect();
            Some(reads.into_iter().collect())
        };
        let blocks = self.blocks();
        let outer = |block: &Range<u32>| {
            let (f, around) = around(block)?;
            let (_, outer) = around.into_iter().max_by_key(|(length, _)| *length)?;
            let turn = outer.filter_map(|i| self.pc(f, i));
            let reads = turn.flat_map(|pc| instructions[pc as usize].reads.iter().copied());
            Some(reads.collect::<BTreeSet<Register>>().into_iter().collect())
        };
        let around = blocks.iter().map(outer).map(Option::unwrap_or_default).collect();
        let looped = blocks.iter().cloned().map(looped).map(Option::unwrap_or_default).collect();
        let ends: Vec<Option<(u32, u32)>> = blocks.iter().map(|b| self.last_of(b)).collect();
        let sides =
            arguments::guarded_users(program, &loops, &blocks, &ends, instructions, &addends);
        loads.extend(sides);
        self.code.looped = looped;
        self.code.around = around;
        for pc in loads {
            self.code.instructions[pc as usize].extra_slots += 1;
        }
    }

    /// Keeps values in local memory so that registers hold no more than so many words.
    fn spill(&mut self, function: &Function, room: u32) {
        let pcs: Vec<Vec<u32>> = function
            .blocks
            .iter()
            .map(|b| (b.start..b.end).filter_map(|i| self.pc(0, i)).collect())
            .collect();
        let arguments = arguments::of(&self.code.instructions);
        let words = |r: Register| if arguments.contains(&r) { 0 } else { self.words(r) };
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
        self.code.lives.clear();
        self.code.looped.clear();
        self.code.around.clear();
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
    pub(crate) fn repeat(&self, trace: &mut BlockTrace) {
        let BlockTrace { warps, patterns } = trace;
        for warp in warps {
            self.sequences.apply(warp);
            self.loops.apply(warp, patterns);
        }
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

/// Takes registers off an instruction's results that one of its micro-ops makes for another and nobody else
/// reads.
fn drop_temporaries(
    function: &Function,
    number: &dyn Fn(&V) -> Option<Register>,
    facts: &mut [Facts<'_>],
) {
    let mut read: HashSet<Register> = HashSet::new();
    for f in facts.iter() {
        read.extend(f.instruction.reads.iter().chain(&f.instruction.guard));
    }
    for (inst, f) in function.insts.iter().zip(facts) {
        let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
        if uops.len() < 2 {
            continue;
        }
        let inside: HashSet<Register> = uops
            .iter()
            .flat_map(|uop| match uop {
                Uop::Pure { op, args, .. } => &args[..op.args().len()],
                Uop::Effect { src, .. } => src,
            })
            .filter_map(number)
            .collect();
        f.instruction.writes.retain(|w| read.contains(w) || !inside.contains(w));
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
    let class = facts.instruction.class;
    let value = uops.iter().find_map(compared).filter(|_| class == Class::Match);
    match (value, Looks::of(class, uops)) {
        (Some((kind, register)), _) => Does::Values(kind, register),
        (None, Some(looks)) => Does::Looks(looks),
        (None, None) => Does::Plain,
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
