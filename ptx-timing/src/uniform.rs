//! Values that all lanes of a warp share.
//!
//! From Turing on a warp has registers of its own for them: indices of the block, bases of shared arrays,
//! counters of loops. What lies there takes no register of a thread.

use std::collections::{HashMap, HashSet};

use ptx_isa::{Class, Operation, Ty};
use ptx_parse::code::{BasicBlock, Flow, Function};

use crate::chains::unchanged;
use crate::event::Register;
use crate::facts::Facts;
use crate::uses::{Uses, blocks_of, loops, replace};

/// Registers whose value is the same in all lanes of a warp as far as the text shows.
pub(crate) fn same_in_lanes(function: &Function, facts: &[Facts<'_>]) -> HashMap<Register, bool> {
    let mut known: HashMap<Register, bool> = HashMap::new();
    for f in facts {
        known.extend(f.instruction.writes.iter().map(|w| (*w, true)));
    }
    let uses = Uses::new(facts);
    loop {
        by_operands(facts, &mut known);
        if !by_branches(function, facts, &uses, &mut known) {
            return known;
        }
    }
}

/// What is made of a value that differs between lanes does, too.
fn by_operands(facts: &[Facts<'_>], known: &mut HashMap<Register, bool>) {
    loop {
        let mut changed = false;
        for f in facts {
            let same = |r: &Register| known.get(r).copied().unwrap_or(true);
            let operands = f.instruction.reads.iter().chain(&f.instruction.guard).all(same);
            let c = f.instruction.class;
            let varies = f.varies
                || matches!(c, Class::Shuffle | Class::AtomicGlobal | Class::AtomicShared)
                || c == Class::LoadGlobal;
            // Nothing is left of a value whose bits are all switched off.
            let nothing = f.op == Operation::And && f.arguments.iter().any(|a| a.1 == Some(0));
            if (!operands || varies) && !nothing {
                for w in &f.instruction.writes {
                    changed |= known.insert(*w, false) == Some(true);
                }
            }
        }
        if !changed {
            return;
        }
    }
}

/// A variable to which only some lanes gave their value differs where they have met. Whether there was one more.
fn by_branches(
    function: &Function,
    facts: &[Facts<'_>],
    uses: &Uses,
    known: &mut HashMap<Register, bool>,
) -> bool {
    let mut found = HashSet::new();
    for block in &function.blocks {
        let Some((first, last)) = parted_side(function, block, known, facts) else { continue };
        let inside = |i: &usize| (first as usize..last as usize).contains(i);
        let range = first as usize..(last as usize).max(first as usize);
        let written = facts[range].iter().filter(|f| !f.folded).flat_map(|f| &f.instruction.writes);
        found.extend(written.copied().filter(|w| {
            let several = uses.definitions.get(w).is_some_and(|d| d.len() > 1);
            let readers = uses.uses.get(w).map_or(&[][..], |u| &u[..]);
            known.get(w) == Some(&true) && several && !readers.iter().all(inside)
        }));
    }
    found.iter().for_each(|r| {
        known.insert(*r, false);
    });
    !found.is_empty()
}

/// From behind a branch ahead that lanes may take without the others to where they meet; if they meet at the end only,
/// the others have left.
fn parted_side(
    function: &Function,
    block: &BasicBlock,
    same: &HashMap<Register, bool>,
    facts: &[Facts<'_>],
) -> Option<(u32, u32)> {
    let branch = (block.end as usize).checked_sub(1)?;
    let Flow::Bra(target) = function.insts[branch].flow else { return None };
    let guard = facts[branch].instruction.guard?;
    let differs = same.get(&guard) == Some(&false);
    let ahead = function.blocks[target as usize].start > block.start;
    let meet = block.meet.as_ref().filter(|_| differs && ahead)?;
    Some((block.end, function.blocks[meet.block as usize].start))
}

/// Registers that the assembler keeps once for a warp: 32-bit integers that are the same in all lanes and
/// are made where no lane can be absent. A counter that is compared stays with the threads.
pub(crate) fn of_warps(
    function: &Function,
    words: &dyn Fn(Register) -> u32,
    facts: &[Facts<'_>],
) -> HashSet<Register> {
    let same = same_in_lanes(function, facts);
    let parted = parted(function, &same, facts);
    let block = blocks_of(function);
    let mut made: HashMap<Register, Vec<usize>> = HashMap::new();
    let mut compared: HashSet<Register> = HashSet::new();
    for (i, f) in facts.iter().enumerate().filter(|(_, f)| !f.folded) {
        for &w in &f.instruction.writes {
            made.entry(w).or_default().push(i);
        }
        if f.op == Operation::Compare {
            compared.extend(&f.instruction.reads);
        }
    }
    let fits = |i: &usize| {
        let f = &facts[*i];
        let integer = matches!(
            f.instruction.class,
            Class::IntAdd
                | Class::IntAdd3
                | Class::IntMul
                | Class::Logic
                | Class::Shift
                | Class::ShiftLeft
                | Class::Move
        );
        let special = f.instruction.class == Class::SpecialRegister && !f.varies;
        let float = f.opcode.types().last().is_some_and(|t| t.is_float());
        (integer && !float || special)
            && f.instruction.guard.is_none()
            && block.get(*i).is_some_and(|b| !parted.contains(b))
    };
    let mut out: HashSet<Register> = made
        .iter()
        .filter(|(r, by)| {
            words(**r) == 1
                && same.get(*r).copied().unwrap_or(false)
                && by.iter().all(fits)
                && (by.len() == 1 || !compared.contains(*r))
        })
        .map(|(r, _)| *r)
        .collect();
    // What is made of a thread's register needs one too; arguments are constants.
    let argument =
        |r: &Register| made[r].iter().all(|i| facts[*i].instruction.class == Class::LoadParam);
    let uses = Uses::new(facts);
    let taken_in = taken_in(facts);
    loop {
        let known = |o: &Register| !made.contains_key(o) || out.contains(o) || argument(o);
        let of_thread = |i: usize| {
            let instruction = &facts[i].instruction;
            instruction.class == Class::IntMulWide || !instruction.reads.iter().all(known)
        };
        let lost: Vec<Register> = out
            .iter()
            .filter(|r| {
                let reads = |i: &usize| facts[*i].instruction.reads.iter();
                let own = &made[*r];
                let readers = uses.uses.get(*r).map_or(&[][..], |u| &u[..]);
                let takes = |i: &usize| takes(facts, &taken_in, *i, **r);
                !own.iter().flat_map(reads).all(known)
                    || readers.iter().any(|i| of_thread(*i) && !takes(i))
                    || only_added(facts, own, readers, &of_thread)
            })
            .copied()
            .collect();
        if lost.is_empty() {
            return out;
        }
        lost.iter().for_each(|r| {
            out.remove(r);
        });
    }
}

/// Instructions that others have taken in, by what they write.
fn taken_in(facts: &[Facts<'_>]) -> HashMap<Register, usize> {
    let folded = facts.iter().enumerate().filter(|(_, f)| f.folded);
    folded.flat_map(|(i, f)| f.instruction.writes.iter().map(move |w| (*w, i))).collect()
}

/// Whether an instruction of threads has room for a register of the warp: one operand at most is no register of the
/// thread, and what is shifted or multiplied by a constant is none either. ptxas 13.5, loops made for it.
fn takes(
    facts: &[Facts<'_>],
    taken_in: &HashMap<Register, usize>,
    reader: usize,
    register: Register,
) -> bool {
    let f = &facts[reader];
    let operands = || f.arguments.iter().filter_map(|a| a.0);
    let inside = || operands().filter(|o| !f.instruction.reads.contains(o));
    let scales = |o: &Facts<'_>| {
        let power = |a: &(Option<Register>, Option<u64>)| a.1.is_some_and(u64::is_power_of_two);
        o.op == Operation::Shl
            || o.instruction.class == Class::IntMul && o.arguments.iter().any(power)
    };
    match f.instruction.class {
        Class::IntMulWide => f.constants == 0,
        // LEA adds such a register to what it shifts.
        Class::IntMul => {
            let addend = f.arguments.get(2).is_some_and(|a| a.0 == Some(register));
            f.constants == 0 || addend && scales(f)
        }
        Class::IntAdd3 if f.constants > 0 => {
            let mut inside = inside().filter_map(|o| taken_in.get(&o));
            operands().any(|o| o == register) && inside.any(|i| scales(&facts[*i]))
        }
        Class::IntAdd | Class::IntMinMax | Class::Logic => f.constants == 0,
        _ => true,
    }
}

/// Whether a counter by constants is only added to something of a thread or bounds it, once: then it stays with the
/// threads.
fn only_added(
    facts: &[Facts<'_>],
    made: &[usize],
    readers: &[usize],
    of_thread: &dyn Fn(usize) -> bool,
) -> bool {
    let counts = |i: &usize| {
        let f = &facts[*i];
        matches!(f.instruction.class, Class::Move | Class::SpecialRegister)
            || f.instruction.class == Class::IntAdd && f.constants == 1
    };
    let mut others = readers.iter().copied().filter(|i| !made.contains(i));
    let (Some(reader), None) = (others.next(), others.next()) else { return false };
    let class = facts[reader].instruction.class;
    let adds = matches!(class, Class::IntAdd | Class::IntAdd3 | Class::IntMinMax)
        && facts[reader].constants == 0;
    made.len() > 1 && made.iter().all(counts) && adds && of_thread(reader)
}

/// Blocks that some lanes of a warp may be in without the others.
pub(crate) fn parted(
    function: &Function,
    same: &HashMap<Register, bool>,
    facts: &[Facts<'_>],
) -> HashSet<usize> {
    let mut out = HashSet::new();
    for (b, block) in function.blocks.iter().enumerate() {
        let Some(branch) = (block.end as usize).checked_sub(1) else { continue };
        let Flow::Bra(target) = function.insts[branch].flow else { continue };
        let guard = facts[branch].instruction.guard;
        if guard.is_none_or(|g| same.get(&g).copied().unwrap_or(false)) {
            continue;
        }
        let target = target as usize;
        // A way back: the loop's blocks. A way ahead: those up to where the lanes meet.
        let ahead = function.blocks[target].start > block.start;
        let side = match ahead {
            false => Some((function.blocks[target].start, block.end)),
            true => parted_side(function, block, same, facts),
        };
        let Some((first, last)) = side else { continue };
        let inside = |o: &&(usize, u32)| (first..last).contains(&o.1);
        let starts: Vec<(usize, u32)> =
            function.blocks.iter().map(|o| o.start).enumerate().collect();
        out.extend(starts.iter().filter(inside).map(|o| o.0));
        if !ahead {
            out.insert(b);
        }
    }
    out
}

/// Marks operations over the warp where lanes may be absent.
pub(crate) fn mark_parted(function: &Function, facts: &mut [Facts<'_>]) {
    let same = same_in_lanes(function, facts);
    for b in parted(function, &same, facts) {
        let block = &function.blocks[b];
        let range = block.start as usize..block.end as usize;
        for f in &mut facts[range] {
            let class = f.instruction.class;
            f.instruction.parted =
                matches!(class, Class::Shuffle | Class::Vote | Class::Match | Class::Redux);
        }
    }
}

/// Lanes that add to one address known to be uniform are summed first; one lane goes to memory.
pub(crate) fn merge_atomics(function: &Function, facts: &mut [Facts<'_>]) {
    let known = same_in_lanes(function, facts);
    let block = blocks_of(function);
    // Those without a result: the value that was summed last in the block.
    let mut summed: Option<(usize, Register)> = None;
    for i in 0..facts.len() {
        let f = &facts[i];
        let atomic = matches!(f.instruction.class, Class::AtomicGlobal | Class::AtomicShared);
        let integer = matches!(f.opcode.types().last(), Some(Ty::S32 | Ty::U32))
            && [".add", ".min", ".max"].iter().any(|o| f.opcode.has(o));
        let base = f.place.and_then(|p| p.base);
        let same = base.is_none_or(|b| known.get(&b).copied().unwrap_or(true));
        if atomic && integer && same && f.place.is_some() {
            // With a result: a scan over the warp. Without one: sum the lanes, find the first; who that is
            // holds for the block, and the sum as long as the value does.
            let value = f.arguments.last().and_then(|a| a.0);
            let more = if !f.instruction.writes.is_empty() {
                18
            } else {
                let here = summed.filter(|(at, _)| block[*at] == block[i]);
                let again = here.is_some_and(|(at, old)| {
                    value == Some(old) && unchanged(function, facts, old, at, i)
                });
                summed = value.map(|value| (i, value)).or(summed);
                if again {
                    0
                } else if here.is_some() {
                    2
                } else {
                    4
                }
            };
            let instruction = &mut facts[i].instruction;
            instruction.one_lane = true;
            instruction.extra_slots += more;
        }
    }
}

/// Arguments that the text loads within a loop are in uniform registers ahead of it, unless a wide multiply-add takes
/// them: that has no room for such a register.
pub(crate) fn arguments_ahead_of_loops(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let loops = loops(function);
    for i in 0..facts.len() {
        let f = &facts[i];
        let [argument] = f.instruction.writes[..] else { continue };
        let inside = loops.iter().any(|(start, end)| (*start..*end).contains(&(i as u32)));
        let loads = f.instruction.class == Class::LoadParam && !f.folded;
        let users = uses.uses.get(&argument).cloned().unwrap_or_default();
        let takes = |u: &usize| facts[*u].instruction.class != Class::IntMulWide;
        if loads && inside && uses.written_once(argument) && users.iter().all(takes) {
            replace(facts, i, argument, &users);
        }
    }
}
