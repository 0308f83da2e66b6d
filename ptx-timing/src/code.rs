//! From a lowered program to what the timing model replays.
//!
//! PTX is not what the hardware executes. Besides reordering (the simulator's business), the
//! assembler makes some PTX instructions disappear; a model that issued them would count too much:
//! - `ld.param` and reads of launch sizes (`%ntid`, `%nctaid`) become constant operands,
//! - `cvta` of global addresses, and conversions that only widen an address, become nothing,
//! - `mul.wide` whose results only go into 64-bit additions becomes a multiply-add,
//! - in functions that end here, `bra` to the next block becomes nothing.
//!
//! Such instructions get no number ([`KernelCode::pc`] is `None`), and what read their result reads
//! their operands.

use std::collections::HashMap;

use ptx_isa::effect::{BarKind, Cache, Effect};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::types::Space as IsaSpace;
use ptx_parse::code::{CallArg, Callee, Flow, Function, Inst, Program};

use crate::class::Class;
use crate::classify::classify;
use crate::event::{AccessKind, Code, Detail, Instruction, Register};

/// A kernel as the simulator needs it, and how to find an instruction in it.
#[derive(Debug, Clone, Default)]
pub struct KernelCode {
    /// Instructions and basic blocks.
    pub code: Code,
    /// Per function and instruction: index into `code`, or nothing if the assembler folds it away.
    pcs: Vec<Vec<Option<u32>>>,
    /// Per index: the function and instruction it stands for.
    pub origin: Vec<(u32, u32)>,
    /// PTX instructions that were folded away.
    pub folded: u32,
    /// The barrier that an instruction arrives at.
    barriers: HashMap<u32, Detail>,
}

impl KernelCode {
    /// Translates a program.
    pub fn new(program: &Program) -> Self {
        let mut out = Self::default();
        let mut registers = 0;
        for (index, function) in program.functions.iter().enumerate() {
            let offsets = std::array::from_fn(|kind| {
                let first = registers;
                registers += function.regs[kind];
                first
            });
            out.add_function(program, index as u32, function, offsets);
        }
        out
    }

    /// Index of an instruction in [`KernelCode::code`]; `None` = it was folded away.
    pub fn pc(&self, function: u32, instruction: u32) -> Option<u32> {
        *self.pcs.get(function as usize)?.get(instruction as usize)?
    }

    /// The barrier that the instruction at `pc` arrives at. One whose number is in a register counts
    /// as barrier 0 of all warps.
    pub(crate) fn barrier(&self, pc: u32) -> Option<Detail> {
        self.barriers.get(&pc).copied()
    }

    fn add_function(
        &mut self,
        program: &Program,
        index: u32,
        function: &Function,
        offsets: [Register; 3],
    ) {
        let number = |v: &V| match v.src {
            Src::Reg(n) => Some(offsets[v.kind as usize] + n),
            _ => None,
        };
        let mut facts: Vec<Facts> = function
            .insts
            .iter()
            .map(|inst| Facts::new(program, function, inst, &number))
            .collect();
        fold(function, &mut facts);
        let mut pcs = vec![None; function.insts.len()];
        let mut leaders: Vec<u32> = function.blocks.iter().map(|b| b.start).collect();
        leaders.sort_unstable();
        for (i, facts) in facts.into_iter().enumerate() {
            let pc = self.code.instructions.len() as u32;
            let starts_block = leaders.binary_search(&(i as u32)).is_ok();
            if starts_block && self.code.leaders.last() != Some(&pc) {
                self.code.leaders.push(pc);
            }
            if facts.folded {
                self.folded += 1;
                continue;
            }
            pcs[i] = Some(pc);
            let uops = function.insts[i].uops.clone();
            let uops = &function.uops[uops.start as usize..uops.end as usize];
            if let Some(barrier) = uops.iter().find_map(barrier_of) {
                self.barriers.insert(pc, barrier);
            }
            self.origin.push((index, i as u32));
            self.code.instructions.push(facts.instruction);
        }
        self.pcs.push(pcs);
    }
}

/// What folding needs to know of an instruction.
struct Facts {
    name: String,
    instruction: Instruction,
    folded: bool,
    /// May be folded whatever uses it: its operands take its place.
    transparent: bool,
}

impl Facts {
    fn new(
        program: &Program,
        function: &Function,
        inst: &Inst,
        number: &dyn Fn(&V) -> Option<Register>,
    ) -> Self {
        let text = program
            .source
            .get(inst.span.start as usize..inst.span.end as usize)
            .unwrap_or(inst.row.syntax);
        let class = classify(inst.row.class, text);
        let mut words = text.split_whitespace().skip_while(|w| w.starts_with('@'));
        let name = words.next().unwrap_or("").trim_end_matches(';').to_owned();
        let mut instruction = Instruction::new(class, &[], &[]);
        instruction.guard = inst.guard.as_ref().and_then(|g| number(&g.0));
        let mut special = None;
        for uop in &function.uops[inst.uops.start as usize..inst.uops.end as usize] {
            let (writes, reads): (&[V], &[V]) = match uop {
                Uop::Pure { dst, args, .. } => (std::slice::from_ref(dst), args),
                Uop::Effect { effect, dst, src } => {
                    describe(effect, &mut instruction);
                    (dst, src)
                }
            };
            for v in reads {
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
        let launch_size = special.is_some_and(|s| {
            use Sreg::*;
            matches!(s, NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ)
        });
        let widening = matches!(name.as_str(), "cvt.u64.u32" | "cvt.u32.u64" | "cvt.s32.s64");
        let transparent = inst.guard.is_none()
            && (name.starts_with("ld.param")
                || name.starts_with("cvta")
                || widening
                || (name.starts_with("mov") && launch_size));
        Self { name, instruction, folded: false, transparent }
    }
}

/// Kind and cache use of a memory access.
fn describe(effect: &Effect, instruction: &mut Instruction) {
    match effect {
        Effect::Ld(m) => {
            instruction.kind = AccessKind::Load;
            instruction.bypass_l1 =
                matches!(m.cache, Cache::Cg | Cache::Cv) || m.order != ptx_isa::effect::Order::Weak;
        }
        Effect::St(_) => instruction.kind = AccessKind::Store,
        Effect::Atom(_) => instruction.kind = AccessKind::Atomic,
        _ => {}
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
        _ => true,
    };
    let constant = |i: usize| src.get(i).and_then(|v| v.as_const());
    let id = constant(0).unwrap_or(0) as u8;
    let warps = if bar.counted { constant(1).unwrap_or(0).div_ceil(32) as u16 } else { 0 };
    Some(Detail::Barrier { id, wait, warps })
}

/// Marks what the assembler folds away and rewires its readers.
fn fold(function: &Function, facts: &mut [Facts]) {
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
        let [register] = facts[i].instruction.writes[..] else { continue };
        if definitions[&register].len() != 1 {
            continue;
        }
        let users = uses.get(&register).unwrap_or(&no_uses).clone();
        let wide = facts[i].name.starts_with("mul.wide.")
            && facts[i].instruction.guard.is_none()
            && !users.is_empty()
            && users.iter().all(|&u| {
                facts[u].name.starts_with("add.s64") || facts[u].name.starts_with("add.u64")
            });
        if !facts[i].transparent && !wide {
            continue;
        }
        // An operand that is written again could have another value by then.
        let operands = facts[i].instruction.reads.clone();
        let stable = |r: &Register| definitions.get(r).is_none_or(|d| d.len() == 1);
        if !wide && !operands.iter().all(stable) {
            continue;
        }
        facts[i].folded = true;
        for u in users {
            let reads = &mut facts[u].instruction.reads;
            reads.retain(|r| *r != register);
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
