//! What the assembler makes of a function's PTX, as far as costs depend on it.
//!
//! Rules found by reading what ptxas 13.0 makes of the recorded H200 kernels; each only changes
//! which instructions are issued and what for, never what the interpreter computes. Which apply is
//! data of a profile (`[assembler]`).

use std::collections::{HashMap, HashSet};

use ptx_isa::types::Space as IsaSpace;
use ptx_isa::{Class, Operation};
use ptx_parse::code::{Flow, Function};

use crate::addresses;
use crate::bytes;
use crate::event::{AccessKind, Arrives, Register};
use crate::facts::{AccessPlace, Facts};
use crate::fragments;
use crate::fuse;
use crate::layout;
use crate::predicate;
use crate::profile::Assembler;
use crate::reciprocals::{self, Constants};
use crate::rotate;
use crate::selections;
use crate::uniform;
use crate::uses::{block_at, dominators, loops};

/// Applies the rules of an assembler to one function.
pub(crate) fn assemble(
    rules: &Assembler,
    function: &Function,
    is_kernel: bool,
    words: &mut Vec<u8>,
    facts: &mut [Facts<'_>],
) -> Vec<Constants> {
    let aligned = if rules.merge_shared { alignments(facts, &[]) } else { HashMap::new() };
    if rules.fuse {
        reduce(facts);
        rotate::find(function, facts);
        if rules.uniform_registers {
            addresses::places(facts);
        }
        addresses::displacements(function, facts);
        fuse::both_halves(function, facts);
        plain_powers(facts);
        fuse::funnels(function, facts);
        if rules.uniform_registers {
            wide_constants(function, facts);
        }
        fragments::place(function, facts);
        selections::round(function, facts);
        selections::move_back(function, facts);
        let sums = selections::sums_of_sums(function, facts);
        if rules.convergence_barriers {
            fuse::both_hold(function, facts);
        }
        fuse::fuse(rules, function, facts);
        selections::predicate(function, sums, facts);
        bytes::convert(facts);
        if rules.uniform_registers {
            addresses::shared_addresses(function, facts);
            addresses::constant_addresses(facts);
            uniform::arguments_ahead_of_loops(function, facts);
        }
    }
    let constants = match rules.shares_reciprocals {
        true => reciprocals::share(function, words, facts),
        false => Vec::new(),
    };
    if rules.merge_shared {
        merge_shared(function, &aligned, facts);
    }
    if rules.merge_uniform_atomics {
        uniform::merge_atomics(function, facts);
    }
    addresses::shared_bases(rules.shared_base_instructions, function, facts);
    if rules.predicated_instructions > 0 {
        predicate::predicate(rules, function, facts);
    }
    if rules.fuse {
        layout::arrange(function, facts);
    }
    if rules.convergence_barriers {
        converge(function, facts);
        uniform::mark_parted(function, facts);
    }
    if is_kernel && let Some(first) = facts.iter_mut().find(|f| !f.folded) {
        first.instruction.extra_slots += rules.prologue_instructions;
    }
    constants
}

/// Atomics whose results nobody reads are reductions, but for those that acquire, exchange or compare.
fn reduce(facts: &mut [Facts<'_>]) {
    let left = facts.iter().filter(|f| !f.folded).map(|f| &f.instruction);
    let read: HashSet<Register> =
        left.flat_map(|i| i.reads.iter().chain(&i.guard)).copied().collect();
    for f in facts.iter_mut() {
        let atomic = matches!(f.instruction.class, Class::AtomicGlobal | Class::AtomicShared);
        let kept = [".acquire", ".acq_rel", ".exch", ".cas"].iter().any(|t| f.opcode.has(t));
        if atomic && !kept && !f.instruction.writes.iter().any(|w| read.contains(w)) {
            f.instruction.writes.clear();
            f.instruction.kind = AccessKind::Reduction;
        }
    }
}

/// Constants of 64 bits that arithmetic on doubles takes: an operand has room for their upper halves; others are moved
/// to two uniform registers in each block where they are used, in loops, too.
fn wide_constants(function: &Function, facts: &mut [Facts<'_>]) {
    let constants = fuse::constants(facts);
    for block in &function.blocks {
        let mut there = HashSet::new();
        for f in &mut facts[block.start as usize..block.end as usize] {
            if f.instruction.splits {
                there.clear();
            }
            if !matches!(f.instruction.class, Class::F64Add | Class::F64Fma) {
                continue;
            }
            let value = |a: &(Option<Register>, Option<u64>)| {
                a.1.or_else(|| constants.get(&a.0?).copied().flatten())
            };
            let wide = f.arguments.iter().filter_map(value).filter(|v| *v as u32 != 0);
            f.instruction.extra_slots += 2 * wide.filter(|v| there.insert(*v)).count() as u32;
        }
    }
}

/// Powers of two whose exponents ptxas knows to be no less than -1 need no scaling: other powers, sines, hyperbolic
/// tangents, absolute values and what is saturated. It does not know it of roots.
fn plain_powers(facts: &mut [Facts<'_>]) {
    let power = |f: &Facts<'_>| f.op == Operation::PowerOfTwo;
    let bounded = |f: &Facts<'_>| {
        let functions = matches!(f.instruction.class, Class::F32SinCos | Class::F32Ex2);
        let known = functions || power(f) || f.op == Operation::Abs || f.opcode.has(".sat");
        f.instruction.guard.is_none() && known
    };
    let found: HashSet<Register> = facts
        .iter()
        .filter(|f| bounded(f))
        .flat_map(|f| f.instruction.writes.iter().copied())
        .filter(|w| facts.iter().filter(|f| f.instruction.writes.contains(w)).all(bounded))
        .collect();
    for f in facts.iter_mut() {
        let scaled = f.instruction.class == Class::F32Scaled && power(f);
        if scaled && f.instruction.reads.iter().any(|r| found.contains(r)) {
            f.instruction.class = Class::F32Ex2;
        }
    }
}

/// Trailing zero bits that every value of a register has, but for what some instructions make.
pub(crate) fn alignments(facts: &[Facts<'_>], but: &[usize]) -> HashMap<Register, u32> {
    let mut known: HashMap<Register, u32> = HashMap::new();
    for f in facts {
        known.extend(f.instruction.writes.iter().map(|w| (*w, 32)));
    }
    // From the greatest values down until nothing changes.
    loop {
        let mut changed = false;
        for (_, f) in facts.iter().enumerate().filter(|(i, _)| !but.contains(i)) {
            let &[register] = &f.instruction.writes[..] else {
                for w in &f.instruction.writes {
                    changed |= known.insert(*w, 0) != Some(0);
                }
                continue;
            };
            let of = |i: usize| match f.arguments.get(i) {
                Some((Some(r), _)) => known.get(r).copied().unwrap_or(0),
                Some((None, Some(c))) => (c | 1 << 32).trailing_zeros(),
                _ => 0,
            };
            let constant = |i: usize| f.arguments.get(i).and_then(|a| a.1).unwrap_or(0);
            let high = f.opcode.has(".hi");
            let now = match f.op {
                Operation::Shl => of(0) + constant(1).min(32) as u32,
                Operation::Mul if !high => of(0) + of(1),
                Operation::Mad if !high => (of(0) + of(1)).min(of(2)),
                Operation::Add | Operation::Sub | Operation::Or | Operation::Xor => {
                    of(0).min(of(1))
                }
                Operation::And => of(0).max(of(1)),
                // Arrays start at multiples of 16.
                Operation::Move if f.variable.is_some() => 4,
                Operation::Move | Operation::Convert | Operation::ConvertAddress => of(0),
                _ => 0,
            };
            let old = known.get(&register).copied().unwrap_or(0);
            if now.min(32) < old {
                known.insert(register, now.min(32));
                changed = true;
            }
        }
        if !changed {
            return known;
        }
    }
}

/// Neighbouring words of 32 or 64 bits of shared memory are loaded and stored by one instruction where
/// the address is known to be aligned.
fn merge_shared(function: &Function, aligned: &HashMap<Register, u32>, facts: &mut [Facts<'_>]) {
    for block in &function.blocks {
        let (start, end) = (block.start as usize, block.end as usize);
        for first in start..end {
            if facts[first].folded || facts[first].merged > 1 {
                continue;
            }
            let Some(group) = group(facts, aligned, first, end) else { continue };
            let count = group.len() as u32;
            let load = facts[first].instruction.class == Class::LoadShared;
            // A load comes where its first part was, a store where its last.
            let lead = if load { group[0] } else { group[group.len() - 1] };
            let (mut writes, mut reads) = (Vec::new(), Vec::new());
            for &member in &group {
                writes.extend(facts[member].instruction.writes.iter().copied());
                reads.extend(facts[member].instruction.reads.iter().copied());
                facts[member].folded = member != lead;
                facts[member].merged = count;
            }
            let lowest =
                group.iter().filter_map(|m| facts[*m].place).map(|p| p.offset).min().unwrap_or(0);
            reads.dedup();
            let own = facts[lead].place.map_or(0, |p| p.offset);
            let leader = &mut facts[lead];
            leader.instruction.writes = writes.into();
            leader.instruction.reads = reads.into();
            leader.instruction.merged = count;
            leader.instruction.merged_from = own - lowest;
        }
    }
}

/// Accesses from `first` on that one instruction of 4 or 2 words, or 2 long ones, can do.
fn group(
    facts: &[Facts<'_>],
    aligned: &HashMap<Register, u32>,
    first: usize,
    end: usize,
) -> Option<Vec<usize>> {
    let class = facts[first].instruction.class;
    let load = class == Class::LoadShared;
    if !load && class != Class::StoreShared {
        return None;
    }
    let size = facts[first].place.map_or(0, |p| p.bytes);
    let fits = |p: &AccessPlace| p.space == IsaSpace::Shared && p.bytes == size;
    let place = facts[first].place.filter(|p| fits(p) && matches!(size, 4 | 8))?;
    let base = place.base;
    let align = base.map_or(32, |b| aligned.get(&b).copied().unwrap_or(0));
    // Candidates until something stands in the way.
    let mut candidates = vec![first];
    for i in first + 1..end {
        let f = &facts[i];
        if f.folded {
            continue;
        }
        let same = f.instruction.class == class
            && f.merged <= 1
            && f.instruction.guard == facts[first].instruction.guard
            && f.place.is_some_and(|p| fits(&p) && p.base == base);
        let memory = f.instruction.class.is_memory()
            && !matches!(f.instruction.class, Class::LoadConst | Class::LoadGlobal);
        let barrier =
            matches!(f.instruction.class, Class::Barrier | Class::WarpSync | Class::Shuffle);
        if same {
            candidates.push(i);
        } else if barrier || memory && !(load && f.instruction.class == Class::LoadShared) {
            break;
        }
        if base.is_some_and(|b| f.instruction.writes.contains(&b)) {
            break;
        }
    }
    let offset = |i: &usize| facts[*i].place.map_or(0, |p| p.offset);
    let size = i64::from(size);
    for words in [16 / size, 2].into_iter().filter(|words| words * size <= 16) {
        let bytes = words * size;
        let lowest = offset(&first).div_euclid(bytes) * bytes;
        if align < bytes.trailing_zeros() {
            continue;
        }
        let members: Option<Vec<usize>> = (0..words)
            .map(|w| candidates.iter().copied().find(|i| offset(i) == lowest + size * w))
            .collect();
        if let Some(mut members) = members {
            members.sort_unstable();
            return Some(members);
        }
    }
    None
}

/// Branches that may diverge stand between two instructions that keep track of it. Branches inside
/// that lead to the same end need none of their own, and those that leave a loop have theirs around it.
fn converge(function: &Function, facts: &mut [Facts<'_>]) {
    let same = uniform::same_in_lanes(function, facts);
    // Text that leads back without a loop has blocks of a loop ahead of where that is entered.
    let dominators = dominators(function);
    let turns = |(start, end): &(u32, u32)| {
        dominators.dominates(block_at(function, *start), block_at(function, *end - 1))
    };
    let loops: Vec<(u32, u32)> = loops(function).into_iter().filter(turns).collect();
    // The blocks, in the text's order, in which a region ends.
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut left: HashSet<(u32, u32)> = HashSet::new();
    for block in &function.blocks {
        let Some(branch) = (block.end as usize).checked_sub(1) else { continue };
        let Flow::Bra(target) = function.insts[branch].flow else { continue };
        let f = &facts[branch];
        if f.folded || f.instruction.guard.is_none() {
            continue;
        }
        let first = function.blocks[target as usize].start as usize;
        let leaves = |at: usize| {
            function.insts.get(at).is_none_or(|i| matches!(i.flow, Flow::Ret | Flow::Exit))
        };
        // What a loop's last branch leaves it for comes behind it.
        let out = if first > branch { first } else { branch + 1 };
        let agrees = f.instruction.guard.is_some_and(|g| same.get(&g).copied().unwrap_or(false));
        if leaves(out) || agrees {
            continue;
        }
        let end = block.meet.as_ref().map(|m| function.blocks[m.block as usize].start);
        facts[branch].instruction.arrives = match end {
            Some(end) if end as usize == first && !falls_into(function, end) => Arrives::Taken,
            Some(_) => Arrives::Apart,
            None => Arrives::Nowhere,
        };
        let inside = |(first, last): &(u32, u32)| {
            Some(*last) == end && (*first..*last).contains(&block.start)
        };
        if open.iter().any(inside) {
            continue;
        }
        let around = |(start, last): &&(u32, u32)| {
            let holds = |i: u32| (*start..*last).contains(&i);
            holds(branch as u32) && end.is_some_and(|end| !holds(end))
        };
        let Some(&(start, _)) = loops.iter().filter(around).min_by_key(|l| l.0) else {
            facts[branch].instruction.extra_slots += 2;
            open.extend(end.map(|end| (block.start, end)));
            continue;
        };
        if end.is_some_and(|end| left.insert((start, end))) {
            ahead_of_loop(function, start, facts);
        }
    }
}

/// Whether what stands ahead of an instruction in the text goes on to it.
fn falls_into(function: &Function, at: u32) -> bool {
    let before = (at as usize).checked_sub(1).map(|i| &function.insts[i]);
    before.is_some_and(|i| i.guard.is_some() || matches!(i.flow, Flow::Next | Flow::Call(_)))
}

/// What keeps track of lanes that leave a loop stands at the ends of the blocks that lead into it.
fn ahead_of_loop(function: &Function, start: u32, facts: &mut [Facts<'_>]) {
    let blocks = &function.blocks;
    let leads = |b: &usize| {
        blocks[*b].start < start
            && blocks[*b].succs.iter().any(|s| blocks[*s as usize].start == start)
    };
    for b in (0..blocks.len()).filter(leads) {
        let mut own = (blocks[b].start as usize..blocks[b].end as usize).rev();
        if let Some(last) = own.find(|i| !facts[*i].folded) {
            facts[last].instruction.extra_slots += 2;
        }
    }
}
