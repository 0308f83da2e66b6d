//! What the assembler makes of a function's PTX, as far as costs depend on it.
//!
//! Rules found by reading what ptxas 13.0 makes of the recorded H200 kernels; each only changes
//! which instructions are issued and what for, never what the interpreter computes. Which apply is
//! data of a profile (`[assembler]`).

use std::collections::{HashMap, HashSet};

use ptx_isa::types::Space as IsaSpace;
use ptx_isa::{Class, Operation, Ty};
use ptx_parse::code::{Flow, Function};

use crate::chains::unchanged;
use crate::event::Register;
use crate::facts::{AccessPlace, Facts};
use crate::layout;
use crate::predicate;
use crate::profile::Assembler;
use crate::reciprocals;
use crate::rotate;
use crate::uniform;
use crate::uses::{Uses, blocks_of, replace};

/// Applies the rules of an assembler to one function.
pub(crate) fn assemble(
    rules: &Assembler,
    function: &Function,
    is_kernel: bool,
    facts: &mut [Facts<'_>],
) {
    let aligned = if rules.merge_shared { alignments(facts) } else { HashMap::new() };
    if rules.fuse {
        rotate::find(function, facts);
        both_halves(function, facts);
        plain_powers(facts);
        funnels(function, facts);
        if rules.uniform_registers {
            wide_constants(function, facts);
        }
        fuse(rules, function, facts);
        if rules.uniform_registers {
            shared_addresses(function, facts);
            constant_addresses(facts);
        }
    }
    if rules.shares_reciprocals {
        reciprocals::share(function, facts);
    }
    if rules.merge_shared {
        merge_shared(function, &aligned, facts);
    }
    if rules.merge_uniform_atomics {
        uniform::merge_atomics(function, facts);
    }
    if rules.predicated_instructions > 0 {
        predicate::predicate(rules, function, facts);
    }
    if rules.fuse {
        layout::arrange(function, facts);
    }
    if rules.convergence_barriers {
        converge(function, facts);
        uniform::look_for_lanes(function, facts);
    }
    if rules.shared_base_instructions > 1 {
        shared_bases(rules.shared_base_instructions, facts);
    }
    if is_kernel && let Some(first) = facts.iter_mut().find(|f| !f.folded) {
        first.instruction.extra_slots += rules.prologue_instructions;
    }
}

/// Constants that registers hold all the time.
fn constants(facts: &[Facts<'_>]) -> HashMap<Register, Option<u64>> {
    let mut out: HashMap<Register, Option<u64>> = HashMap::new();
    for f in facts {
        let value = f.arguments.first().filter(|_| f.constant_move).and_then(|a| a.1);
        for w in &f.instruction.writes {
            // One that is written twice holds none.
            out.entry(*w).and_modify(|c| *c = None).or_insert(value);
        }
    }
    out
}

/// Constants of 64 bits that arithmetic on doubles takes: an operand has room for their upper halves; others are moved
/// to two uniform registers in each block where they are used, in loops, too.
fn wide_constants(function: &Function, facts: &mut [Facts<'_>]) {
    let constants = constants(facts);
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

/// What one instruction becomes when it takes in the one that makes its operand.
fn fused(rules: &Assembler, producer: &Facts<'_>, consumer: &Facts<'_>) -> Option<Class> {
    let (p, c) = (producer, consumer);
    let adds = |f: &Facts<'_>| matches!(f.op, Operation::Add | Operation::Sub);
    let add32 = |f: &Facts<'_>| adds(f) && matches!(f.plain(""), Some(Ty::S32 | Ty::U32));
    // VIADDMNMX, VIMNMX3.
    let bounds = |f: &Facts<'_>| {
        let plain = matches!(f.plain(""), Some(Ty::S32 | Ty::U32));
        plain && f.instruction.class == Class::IntMinMax && f.arguments.len() == 2
    };
    let both = bounds(p) && bounds(c) && p.opcode.row.syntax == c.opcode.row.syntax;
    let same = both && p.opcode.types().eq(c.opcode.types());
    if rules.three_operand_bounds && (same || add32(p) && bounds(c)) {
        return Some(Class::IntMinMax);
    }
    // FADD and FMUL say how they round or do not; those that do stay apart.
    let float = |f: &Facts<'_>, ty: Ty| f.plain(".ftz") == Some(ty);
    // A sum that lowering gave a product has no room for another.
    let sums = |f: &Facts<'_>| adds(f) && f.arguments.len() == 2;
    match (p.op, c.op) {
        // LEA, IMAD, IADD3, LOP3.
        (Operation::Shl, _) if p.plain("") == Some(Ty::B32) && add32(c) => Some(Class::IntAdd3),
        (Operation::Mul, _) if low_half(p) && add32(c) => Some(Class::IntMul),
        _ if add32(p) && add32(c) => Some(Class::IntAdd3),
        _ if logic(p) && logic(c) => Some(Class::Logic),
        // SHF.W takes its distance modulo 32.
        (Operation::And, Operation::Shl | Operation::Shr) if modulo_32(p, c) => Some(Class::Shift),
        (_, Operation::Compare) if logic(p) && c.compares_zero() => Some(Class::Compare),
        // Logic on predicates: not votes, which have the same type.
        (Operation::Compare, _)
            if c.instruction.class == Class::Logic && c.opcode.types().last() == Some(Ty::Pred) =>
        {
            Some(Class::Compare)
        }
        // FFMA, where neither says how to round.
        (Operation::Mul, _) if sums(c) && float(p, Ty::F32) && float(c, Ty::F32) => {
            Some(Class::F32Fma)
        }
        (Operation::Mul, _) if sums(c) && float(p, Ty::F64) && float(c, Ty::F64) => {
            Some(Class::F64Fma)
        }
        _ => None,
    }
}

/// Whether one instruction makes the other's distance of it, which is less than 32.
fn modulo_32(p: &Facts<'_>, c: &Facts<'_>) -> bool {
    let by = |f: &Facts<'_>, i: usize| f.arguments.get(i).copied().unwrap_or_default();
    let own = p.instruction.writes.first().copied();
    let masked = [0, 1].iter().any(|i| by(p, *i).1 == Some(31));
    let word = c.opcode.types().last().is_some_and(|t| t.bits() == 32);
    masked && word && by(c, 1).0 == own && by(c, 0).0 != own
}

/// Accesses to shared memory add the base of an array to an index, [R+UR], where the base was made with all lanes there.
fn shared_addresses(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let parted = uniform::parted(function, &uniform::same_in_lanes(facts), facts);
    let block = blocks_of(function);
    let mut made: HashMap<Register, u32> = HashMap::new();
    for w in facts.iter().flat_map(|f| &f.instruction.writes) {
        *made.entry(*w).or_default() += 1;
    }
    let bases: HashSet<Register> = facts
        .iter()
        .zip(&block)
        .filter(|(f, b)| f.variable.is_some() && !parted.contains(*b))
        .flat_map(|(f, _)| f.instruction.writes.iter().copied())
        .filter(|w| made[w] == 1)
        .collect();
    for i in 0..facts.len() {
        let f = &facts[i];
        let [sum] = f.instruction.writes[..] else { continue };
        let base = |a: &(Option<Register>, Option<u64>)| a.0.is_some_and(|r| bases.contains(&r));
        let adds = f.op == Operation::Add && f.instruction.class == Class::IntAdd;
        let plain = adds && !f.folded && f.instruction.guard.is_none() && made[&sum] == 1;
        if !plain || f.arguments.len() != 2 || f.arguments.iter().filter(|a| base(a)).count() != 1 {
            continue;
        }
        let users = uses.uses.get(&sum).cloned().unwrap_or_default();
        let address = |u: &usize| {
            let f = &facts[*u];
            let here = |p: &AccessPlace| p.space == IsaSpace::Shared && p.base == Some(sum);
            let times = f.arguments.iter().filter(|a| a.0 == Some(sum)).count();
            f.place.as_ref().is_some_and(here) && times == 1
        };
        let kept = f.instruction.reads.iter().all(|r| made.get(r).is_none_or(|n| *n == 1));
        if kept && !users.is_empty() && users.iter().all(address) {
            replace(facts, i, sum, &users);
        }
    }
}

/// Accesses to constant memory have room for the address of a variable; what is left of the sum is its index, scaled.
fn constant_addresses(facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let mut bases: HashMap<Register, usize> = HashMap::new();
    for (i, f) in facts.iter().enumerate().filter(|(_, f)| f.variable.is_some()) {
        bases.extend(f.instruction.writes.iter().map(|w| (*w, i)));
    }
    for i in 0..facts.len() {
        let f = &facts[i];
        let [sum] = f.instruction.writes[..] else { continue };
        let base = f.arguments.iter().find_map(|a| a.0.filter(|r| bases.contains_key(r)));
        let adds = f.op == Operation::Add || f.instruction.class == Class::IntMulWide;
        let plain = adds && !f.folded && f.instruction.guard.is_none() && uses.written_once(sum);
        let Some(base) = base.filter(|b| plain && uses.written_once(*b)) else { continue };
        let users = uses.uses.get(&sum).cloned().unwrap_or_default();
        let here = |u: &usize| {
            facts[*u]
                .place
                .as_ref()
                .is_some_and(|p| p.space == IsaSpace::Const && p.base == Some(sum))
        };
        if users.is_empty() || !users.iter().all(here) {
            continue;
        }
        facts[bases[&base]].folded = true;
        facts[bases[&base]].variable = None;
        facts[i].instruction.reads.retain(|r| *r != base);
        if facts[i].instruction.class == Class::IntMulWide {
            facts[i].instruction.class = Class::ShiftLeft;
        } else {
            replace(facts, i, sum, &users);
        }
    }
}

/// The lower half of a 32-bit integer product.
fn low_half(f: &Facts<'_>) -> bool {
    f.opcode.has(".lo") && f.opcode.types().last().is_some_and(|t| t.bits() == 32)
}

/// Logic on bits, not on predicates.
fn logic(f: &Facts<'_>) -> bool {
    matches!(f.op, Operation::And | Operation::Or | Operation::Xor | Operation::Not)
        && f.opcode.types().last() != Some(Ty::Pred)
}

/// Pairs of instructions that one machine instruction does, operand modifiers, and constants.
fn fuse(rules: &Assembler, function: &Function, facts: &mut [Facts<'_>]) {
    let block = blocks_of(function);
    let uses = Uses::new(facts);
    let mut taken = vec![false; facts.len()];
    for i in 0..facts.len() {
        let [register] = facts[i].instruction.writes[..] else { continue };
        let plain = !facts[i].folded && facts[i].instruction.guard.is_none();
        if !plain || !uses.written_once(register) {
            continue;
        }
        let users = uses.uses.get(&register).map_or(&[][..], |u| &u[..]);
        let once = facts[i].instruction.reads.iter().all(|r| uses.written_once(*r));
        // Signs and absolute values are modifiers of the reader's operand; constants are immediate.
        let modifier = matches!(facts[i].op, Operation::Abs | Operation::Neg)
            && matches!(facts[i].plain(""), Some(Ty::F32 | Ty::F64))
            && once;
        let constant = facts[i].constant_move;
        if (modifier || constant) && !users.is_empty() {
            replace(facts, i, register, users);
            continue;
        }
        if users.len() > 1 && shared_out(function, facts, &uses, &taken, i) {
            replace(facts, i, register, users);
            for &user in users {
                taken[user] = true;
                let low = low_half(&facts[i]);
                facts[user].instruction.class = if low { Class::IntMul } else { Class::IntAdd3 };
                facts[user].constants += facts[i].constants;
                facts[user].op = Operation::Other;
            }
            continue;
        }
        // Logic is done again by each that reads it as long as there are three operands: LOP3.
        let again = |u: &usize| {
            let room = inputs(&facts[i], &facts[*u], register) <= 3;
            let kept = |r: &Register| unchanged(function, facts, *r, i, *u);
            let plain = !facts[*u].folded && !taken[*u] && facts[*u].instruction.guard.is_none();
            plain && logic(&facts[*u]) && room && facts[i].instruction.reads.iter().all(kept)
        };
        if users.len() > 1 && logic(&facts[i]) && users.iter().all(again) {
            let constants = facts[i].constants;
            replace(facts, i, register, users);
            users.iter().for_each(|u| facts[*u].constants += constants);
            continue;
        }
        let &[user] = users else { continue };
        if user <= i || block[user] != block[i] || taken[user] || facts[user].folded {
            continue;
        }
        let kept = |r: &Register| uses.written_once(*r) || unchanged(function, facts, *r, i, user);
        let fits = facts[user].instruction.guard.is_none()
            && facts[i].instruction.reads.iter().all(kept)
            && inputs(&facts[i], &facts[user], register) <= 3;
        if let Some(class) = fused(rules, &facts[i], &facts[user]).filter(|_| fits) {
            // Logic takes in more as long as there are three operands: LOP3.
            let goes_on = logic(&facts[i]) && logic(&facts[user]);
            taken[user] = !goes_on;
            let constants = facts[i].constants;
            replace(facts, i, register, users);
            facts[user].instruction.class = class;
            facts[user].constants += constants;
            if !goes_on {
                facts[user].op = Operation::Other;
            }
        }
    }
    // A multiply-add has room for one immediate only. The others are moved into registers once, ahead
    // of all loops. Zero is a register.
    let moved: std::collections::HashSet<u64> = facts
        .iter()
        .filter(|f| !f.folded && f.op == Operation::Fma)
        .flat_map(|f| f.arguments.iter().filter_map(|a| a.1).filter(|c| *c != 0).skip(1))
        .collect();
    if let Some(first) = facts.iter_mut().find(|f| !f.folded) {
        first.instruction.extra_slots += moved.len() as u32;
    }
}

/// Whether each of the sums that read a product or a shift makes it by itself: LEA, IMAD.
fn shared_out(
    function: &Function,
    facts: &[Facts<'_>],
    uses: &Uses,
    taken: &[bool],
    i: usize,
) -> bool {
    let [register] = facts[i].instruction.writes[..] else { return false };
    let word = |f: &Facts<'_>| matches!(f.plain(""), Some(Ty::S32 | Ty::U32));
    let shift = facts[i].op == Operation::Shl
        && facts[i].plain("") == Some(Ty::B32)
        && facts[i].arguments.get(1).is_some_and(|a| a.1.is_some());
    let product = facts[i].op == Operation::Mul && low_half(&facts[i]);
    let fits = |u: &usize| {
        let f = &facts[*u];
        let sum = f.op == Operation::Add || f.op == Operation::Sub && shift;
        let kept = |r: &Register| uses.written_once(*r) || unchanged(function, facts, *r, i, *u);
        sum && word(f)
            && f.arguments.len() == 2
            && !f.folded
            && !taken[*u]
            && f.instruction.guard.is_none()
            && facts[i].instruction.reads.iter().all(kept)
            && inputs(&facts[i], f, register) <= 3
    };
    (shift || product) && uses.uses.get(&register).is_some_and(|users| users.iter().all(fits))
}

/// Two shifts whose results are put together are one that takes bits of both operands: SHF.L.
fn funnels(function: &Function, facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    // The only instruction that makes a register, and whether nobody else reads that.
    let made = |r: &Register| -> Option<(usize, bool)> {
        let [made] = uses.definitions.get(r)?[..] else { return None };
        Some((made, uses.uses.get(r)?.len() == 1))
    };
    // A shift of a word by a constant: to the left?
    let shift = |f: &Facts<'_>| {
        let left = f.op == Operation::Shl && f.plain("") == Some(Ty::B32);
        let right = f.op == Operation::Shr && f.plain("") == Some(Ty::U32);
        let by = f.arguments.get(1)?.1?;
        (left || right).then_some((left, by)).filter(|_| f.instruction.guard.is_none() && !f.folded)
    };
    for i in 0..facts.len() {
        let f = &facts[i];
        let joins = matches!(f.op, Operation::Or | Operation::Xor | Operation::Add);
        let word = f.opcode.types().last().is_some_and(|t| t.bits() == 32);
        let [(Some(a), _), (Some(b), _)] = f.arguments[..] else { continue };
        if !joins || !word || f.folded || f.instruction.guard.is_some() || a == b {
            continue;
        }
        let (Some((one, gone)), Some((other, other_gone))) = (made(&a), made(&b)) else { continue };
        let (Some(first), Some(second)) = (shift(&facts[one]), shift(&facts[other])) else {
            continue;
        };
        let kept = |from: usize| {
            let reads = &facts[from].instruction.reads;
            reads.iter().all(|r| unchanged(function, facts, *r, from, i))
        };
        let fit = first.0 != second.0 && first.1 + second.1 == 32;
        if !fit || !kept(one) || !kept(other) || !gone && !other_gone {
            continue;
        }
        replace(facts, one, a, &[i]);
        replace(facts, other, b, &[i]);
        (facts[one].folded, facts[other].folded) = (gone, other_gone);
        facts[i].instruction.class = Class::Shift;
        facts[i].op = Operation::Other;
    }
}

/// Both halves of one product are one instruction: IMAD.WIDE.
fn both_halves(function: &Function, facts: &mut [Facts<'_>]) {
    let constants = constants(facts);
    // The lower half is the same with and without signs, and so are factors in another order.
    let factors = |f: &Facts<'_>| {
        let value = |a: &(Option<Register>, Option<u64>)| {
            let known = a.1.or_else(|| constants.get(&a.0?).copied().flatten());
            (a.0.filter(|_| known.is_none()), known.map(|c| c as u32))
        };
        let mut list: Vec<_> = f.arguments.iter().map(value).collect();
        list.sort_unstable();
        list
    };
    for block in &function.blocks {
        let products: Vec<usize> = (block.start as usize..block.end as usize)
            .filter(|i| {
                let f = &facts[*i];
                let narrow = f.opcode.types().last().is_some_and(|t| t.bits() == 32);
                f.op == Operation::Mul && narrow && !f.folded && f.instruction.guard.is_none()
            })
            .collect();
        for (at, &first) in products.iter().enumerate() {
            let high = facts[first].opcode.has(".hi");
            let other = products[at + 1..].iter().copied().find(|second| {
                let (f, s) = (&facts[first], &facts[*second]);
                !f.folded
                    && !s.folded
                    && s.opcode.has(".hi") != high
                    && s.opcode.has(".lo") == high
                    && factors(f) == factors(s)
                    && f.instruction
                        .reads
                        .iter()
                        .all(|r| unchanged(function, facts, *r, first, *second))
            });
            let Some(second) = other else { continue };
            facts[second].folded = true;
            let more = facts[second].instruction.writes.clone();
            let f = &mut facts[first];
            f.instruction.writes.extend(more);
            f.instruction.class = Class::IntMulWide;
            f.op = Operation::Other;
        }
    }
}

/// Operands of what a reader of `register` becomes when it takes in the instruction that makes it.
fn inputs(producer: &Facts<'_>, consumer: &Facts<'_>, register: Register) -> usize {
    let mut registers: Vec<Register> = producer.instruction.reads.to_vec();
    registers.extend(consumer.instruction.reads.iter().filter(|r| **r != register));
    registers.sort_unstable();
    registers.dedup();
    // A comparison's zero is no operand.
    let compares = consumer.op == Operation::Compare;
    registers.len() + (producer.constants + if compares { 0 } else { consumer.constants }) as usize
}

/// Trailing zero bits that every value of a register has.
fn alignments(facts: &[Facts<'_>]) -> HashMap<Register, u32> {
    let mut known: HashMap<Register, u32> = HashMap::new();
    for f in facts {
        known.extend(f.instruction.writes.iter().map(|w| (*w, 32)));
    }
    // From the greatest values down until nothing changes.
    loop {
        let mut changed = false;
        for f in facts {
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

/// Neighbouring 32-bit words of shared memory are loaded and stored by one instruction where the
/// address is known to be aligned.
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

/// Accesses from `first` on that one instruction of 4 or 2 words can do.
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
    let place = facts[first].place.filter(|p| p.space == IsaSpace::Shared && p.bytes == 4)?;
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
            && f.place
                .is_some_and(|p| p.space == IsaSpace::Shared && p.bytes == 4 && p.base == base);
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
    for words in [4_i64, 2] {
        let bytes = words * 4;
        let lowest = offset(&first).div_euclid(bytes) * bytes;
        if align < bytes.trailing_zeros() {
            continue;
        }
        let members: Option<Vec<usize>> = (0..words)
            .map(|w| candidates.iter().copied().find(|i| offset(i) == lowest + 4 * w))
            .collect();
        if let Some(mut members) = members {
            members.sort_unstable();
            return Some(members);
        }
    }
    None
}

/// Branches that may diverge stand between two instructions that keep track of it. Branches inside
/// that lead to the same end need none of their own.
fn converge(function: &Function, facts: &mut [Facts<'_>]) {
    let same = uniform::same_in_lanes(facts);
    // The blocks, in the text's order, in which a region ends.
    let mut open: Vec<(u32, u32)> = Vec::new();
    for block in &function.blocks {
        let Some(branch) = (block.end as usize).checked_sub(1) else { continue };
        let Flow::Bra(target) = function.insts[branch].flow else { continue };
        let f = &mut facts[branch];
        if f.folded || f.instruction.guard.is_none() {
            continue;
        }
        let first = function.blocks[target as usize].start as usize;
        let forward = first > branch;
        let leaves =
            function.insts.get(first).is_none_or(|i| matches!(i.flow, Flow::Ret | Flow::Exit));
        let agrees = f.instruction.guard.is_some_and(|g| same.get(&g).copied().unwrap_or(false));
        if !forward || leaves || agrees {
            continue;
        }
        let end = block.ipdom.map(|b| function.blocks[b as usize].start);
        let inside = |(first, last): &(u32, u32)| {
            Some(*last) == end && (*first..*last).contains(&block.start)
        };
        if !open.iter().any(inside) {
            f.instruction.extra_slots += 2;
            open.extend(end.map(|end| (block.start, end)));
        }
    }
}

/// The address of a shared variable is computed: the block's window within the cluster's, shifted.
fn shared_bases(instructions: u32, facts: &mut [Facts<'_>]) {
    let mut seen: Vec<String> = Vec::new();
    for f in facts.iter_mut().filter(|f| !f.folded || f.constant_move) {
        let Some(variable) = &f.variable else { continue };
        if seen.contains(variable) {
            f.folded = true;
            continue;
        }
        seen.push(variable.clone());
        f.folded = false;
        f.instruction.class = Class::SpecialRegister;
        f.instruction.extra_slots += instructions - 1;
    }
}
