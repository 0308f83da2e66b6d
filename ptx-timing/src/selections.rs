//! Selections between two values.
//!
//! Read off the code of ptxas 13.5 for sm_90: where nothing else reads a value that a selection takes, and the other
//! one is not read behind it, the instruction that makes the first is under the predicate and writes into the register
//! of the second: `@P LOP3` instead of `LOP3` and `SEL`. Of two such the later one is. That holds for words, not for
//! halves in arithmetic of their own, nor for 64 bits. If it reads what the result's register holds until then, both
//! write into another register, and a move takes the place of the selection.
//!
//! Where 1 or 0 is added to a number, the sum with 1 is made first, and a guarded move takes it back: `VIADD` and
//! `@P IMAD.MOV` instead of `SEL` and `IADD3`. Other selections stay what they are.

use std::collections::HashSet;

use ptx_isa::{Class, Operation, Reach, Ty};
use ptx_parse::code::Function;

use crate::chains::unchanged;
use crate::event::{Code, Instruction, Register};
use crate::facts::Facts;
use crate::live;
use crate::uses::{Uses, blocks_of};

/// Where values of a function are read last.
struct Last {
    uses: Uses,
    blocks: Vec<usize>,
    ends: Vec<live::Set>,
    /// What is not guarded though it could be.
    plain: HashSet<usize>,
}

impl Last {
    fn new(function: &Function, plain: HashSet<usize>, facts: &[Facts<'_>]) -> Self {
        let left = || facts.iter().filter(|f| !f.folded).map(|f| &f.instruction);
        let registers = left().flat_map(|i| i.reads.iter().chain(&i.writes).chain(&i.guard));
        let count = registers.max().map_or(0, |r| *r as usize + 1);
        let ends = live::at_block_ends(function, count, |b| {
            let block = &function.blocks[b];
            let list = &facts[block.start as usize..block.end as usize];
            list.iter().filter(|f| !f.folded).map(|f| &f.instruction)
        });
        Self { uses: Uses::new(facts), blocks: blocks_of(function), ends, plain }
    }

    /// Whether an instruction is the last one that reads what a register holds there.
    fn ends(&self, register: Register, i: usize) -> bool {
        let users = self.uses.uses.get(&register).map_or(&[][..], |u| &u[..]);
        let later = users.iter().any(|u| *u > i && self.blocks[*u] == self.blocks[i]);
        let Some(ends) = self.ends.get(self.blocks[i]) else { return false };
        !later && !ends.contains(register)
    }

    /// The instruction that makes a value for a selection alone, where that can be under its predicate.
    fn made_for(&self, facts: &[Facts<'_>], register: Register, i: usize) -> Option<usize> {
        let &[made] = &self.uses.definitions.get(&register)?[..] else { return None };
        let &[_] = &self.uses.uses.get(&register)?[..] else { return None };
        let f = &facts[made];
        let own = &f.instruction;
        let plain = guarded(own.class) && f.opcode.row.reach == Reach::Lane;
        let alone = own.guard.is_none() && own.writes.len() == 1 && !f.varies;
        let here = made < i && self.blocks[made] == self.blocks[i] && !self.plain.contains(&made);
        (plain && alone && here && self.ends(register, i)).then_some(made)
    }

    /// Of the instructions that make the two values of a selection the one that can be under its predicate, the other
    /// value, and whether a move is left.
    fn under(
        &self,
        function: &Function,
        facts: &[Facts<'_>],
        i: usize,
        (a, b): (Register, Register),
    ) -> Option<(usize, Register, bool)> {
        let result = &facts[i].instruction.writes;
        // Arguments and constants are in no register of the thread's own.
        let own = |r: Register| {
            let made = self.uses.definitions.get(&r).map_or(&[][..], |d| &d[..]);
            made.iter().all(|d| facts[*d].instruction.class != Class::LoadParam)
                && !made.is_empty()
                && (result.contains(&r) || self.ends(r, i))
        };
        let one = |from: Register, other: Register| {
            let made = self.made_for(facts, from, i).filter(|_| from != other && own(other))?;
            let reads = &facts[made].instruction.reads;
            let old = !result.contains(&other) && reads.iter().any(|r| result.contains(r));
            let kept = reads.iter().all(|r| unchanged(function, facts, *r, made, i));
            kept.then_some((made, other, old))
        };
        // The later one.
        one(a, b).max(one(b, a))
    }

    /// What an instruction read is read by another one.
    fn moved(&mut self, reads: &[Register], to: usize) {
        for r in reads {
            self.uses.uses.entry(*r).or_default().push(to);
        }
    }
}

/// Whether a predicate that an instruction reads is its guard: a selection has become a guarded instruction.
pub(crate) fn under_predicate(code: &Code, instruction: &Instruction) -> bool {
    let predicate = |r: &Register| code.words.get(*r as usize) == Some(&0);
    let class = instruction.class;
    let plain = guarded(class) && class != Class::Select || class == Class::Move;
    plain && instruction.reads.iter().any(predicate) && !instruction.writes.iter().any(predicate)
}

/// Arithmetic on words that one instruction does.
fn guarded(class: Class) -> bool {
    use Class::*;
    match class {
        IntAdd | IntAdd3 | IntAddSat | IntMul24 | IntMul | IntMulHi | IntMinMax | Logic | Shift
        | ShiftLeft | Bitfield | BitCount | LeadingZeros | Dot | F32Add | F32Mul | F32Fma
        | F32MinMax | F32RcpApprox | F32SqrtApprox | F32Rsqrt | F32Scaled | F32Ex2 | F32Lg2
        | F32SinCos | F32DivApprox | F32DivFull | Select | ConvertInt | ConvertFromInt
        | Convert | ConvertSaturating => true,
        // 64 bits, halves, predicates, routines, and what is no arithmetic.
        IntAdd64 | IntMulWide | IntMul64 | IntMulHi64 | IntDiv | IntDivSigned | IntDivKnown
        | IntDiv64 | IntDivSigned64 | Shift64 | F32Div | F32Rcp | F32Sqrt | F64Add | F64Fma
        | F64MinMax | F64Div | F64Rcp | F64Sqrt | F64Rsqrt | F16 | F16Single | F16Mufu
        | Compare | Compare64 | CompareSelect | Move | SpecialRegister | Convert64 | ConvertF16
        | ConvertTf32 | Branch | Barrier | WarpSync | FenceBlock | FenceDevice | FenceSystem
        | Shuffle | Vote | Match | Redux | LoadGlobal | StoreGlobal | AtomicGlobal | LoadShared
        | StoreShared | AtomicShared | LoadConst | LoadParam | Texture | LoadMatrix | MmaSmall
        | MmaLarge | MmaF64 | MmaWarpgroup | WarpgroupWait => false,
    }
}

/// A selection between two words.
fn selects(f: &Facts<'_>) -> bool {
    let ty = f.opcode.types().next();
    let word = ty.is_some_and(|t| t.bits() == 32 || t.bits() == 16 && !t.is_float());
    f.instruction.class == Class::Select
        && word
        && !f.folded
        && f.instruction.guard.is_none()
        && f.instruction.writes.len() == 1
}

/// Sums that take in another one: `IADD3` is not guarded.
pub(crate) fn sums_of_sums(function: &Function, facts: &[Facts<'_>]) -> HashSet<usize> {
    let (uses, blocks) = (Uses::new(facts), blocks_of(function));
    let adds = |i: usize| {
        let f = &facts[i];
        let word = matches!(f.plain(""), Some(Ty::S32 | Ty::U32));
        let plain = !f.folded && f.instruction.guard.is_none();
        plain && word && matches!(f.op, Operation::Add | Operation::Sub)
    };
    let taken = |i: usize, r: &Register| {
        let made = uses.definitions.get(r).map_or(&[][..], |d| &d[..]);
        let once = uses.uses.get(r).is_some_and(|u| u.len() == 1);
        matches!(made, [m] if once && adds(*m) && blocks[*m] == blocks[i])
    };
    let takes = |i: &usize| adds(*i) && facts[*i].instruction.reads.iter().any(|r| taken(*i, r));
    (0..facts.len()).filter(takes).collect()
}

/// Makes these selections guarded instructions, but for those of `sums`.
pub(crate) fn predicate(function: &Function, sums: HashSet<usize>, facts: &mut [Facts<'_>]) {
    let mut last = Last::new(function, sums, facts);
    for i in 0..facts.len() {
        let arms = [0, 1].map(|arm| facts[i].arguments.get(arm).copied());
        let [Some((Some(a), None)), Some((Some(b), None))] = arms else { continue };
        if !selects(&facts[i]) {
            continue;
        }
        let Some((made, other, old)) = last.under(function, facts, i, (a, b)) else { continue };
        let mut now = facts[made].instruction.clone();
        last.moved(&now.reads, i);
        let own = &facts[i].instruction;
        let decides = own.reads.iter().filter(|r| **r != a && **r != b).copied();
        let more = decides.chain([other]).filter(|r| !now.reads.contains(r));
        let more: Vec<Register> = more.collect();
        now.reads.extend(more);
        now.writes = own.writes.clone();
        now.extra_slots += u32::from(old);
        facts[made].folded = true;
        let f = &mut facts[i];
        f.op = Operation::Other;
        f.constants = 0;
        f.arguments.clear();
        f.instruction = now;
    }
}

/// Rounding to tf32 adds under a predicate, in the register of the operand: a selection is left where something reads
/// that behind it. Matrix products do not look at the bits that are cut; for others a `LOP3` cuts them.
pub(crate) fn round(function: &Function, facts: &mut [Facts<'_>]) {
    let last = Last::new(function, HashSet::new(), facts);
    for i in 0..facts.len() {
        let own = &facts[i].instruction;
        let rounds = own.class == Class::ConvertTf32 && !facts[i].folded && own.guard.is_none();
        let (&[from], &[result]) = (&own.reads[..], &own.writes[..]) else { continue };
        if !rounds {
            continue;
        }
        let users = last.uses.uses.get(&result).map_or(&[][..], |u| &u[..]);
        let product = |u: &usize| {
            let class = facts[*u].instruction.class;
            matches!(class, Class::MmaSmall | Class::MmaLarge)
        };
        let more = [!last.ends(from, i), !users.iter().all(product)];
        facts[i].instruction.extra_slots += more.iter().filter(|m| **m).count() as u32;
    }
}

/// Sums of a number and a selection of 1 or 0 become sums with 1, and guarded moves.
pub(crate) fn move_back(function: &Function, facts: &mut [Facts<'_>]) {
    let (uses, blocks) = (Uses::new(facts), blocks_of(function));
    for i in 0..facts.len() {
        let f = &facts[i];
        let word = matches!(f.plain(""), Some(Ty::B32 | Ty::S32 | Ty::U32));
        if !word || !selects(f) {
            continue;
        }
        let result = f.instruction.writes[0];
        let arms = [0, 1].map(|a| facts[i].arguments.get(a).copied().unwrap_or_default());
        let counts =
            matches!(arms, [(None, Some(1)), (None, Some(0))] | [(None, Some(0)), (None, Some(1))]);
        if counts
            && let Some((sum, other)) = counted(facts, &uses, &blocks, i, result)
            && unchanged(function, facts, other, i, sum)
        {
            swap(facts, i, sum, other);
        }
    }
}

/// The sum behind a selection of 1 or 0 that alone reads it, in its block, and what it adds that to.
fn counted(
    facts: &[Facts<'_>],
    uses: &Uses,
    blocks: &[usize],
    i: usize,
    result: Register,
) -> Option<(usize, Register)> {
    let &[sum] = &uses.uses.get(&result)?[..] else { return None };
    let f = facts.get(sum)?;
    let plain = f.op == Operation::Add && f.instruction.class == Class::IntAdd;
    if !plain || f.instruction.guard.is_some() || sum <= i || blocks[sum] != blocks[i] {
        return None;
    }
    let [(Some(a), _), (Some(b), _)] = f.arguments[..] else { return None };
    let other = if a == result { b } else { a };
    (other != result && uses.written_once(result)).then_some((sum, other))
}

/// The selection becomes the sum with 1, and the sum a move that takes it back.
fn swap(facts: &mut [Facts<'_>], selection: usize, sum: usize, other: Register) {
    let decides = facts[selection].instruction.reads.clone();
    let made = facts[selection].instruction.writes.clone();
    (facts[selection].op, facts[sum].op) = (Operation::Other, Operation::Other);
    let first = &mut facts[selection].instruction;
    first.class = Class::IntAdd;
    first.reads = [other].into_iter().collect();
    let second = &mut facts[sum].instruction;
    second.class = Class::Move;
    second.reads = made.into_iter().collect();
    second.reads.push(other);
    second.reads.extend(decides);
}
