//! Instructions that one machine instruction does together.

use std::collections::HashMap;

use ptx_isa::{Class, Operation, Ty};
use ptx_parse::code::Function;

use crate::bits::Bits;
use crate::chains::unchanged;
use crate::event::Register;
use crate::facts::Facts;
use crate::profile::Assembler;
use crate::uses::{Uses, blocks_of, replace};

/// Constants that registers hold all the time.
pub(crate) fn constants(facts: &[Facts<'_>]) -> HashMap<Register, Option<u64>> {
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

/// What one instruction becomes when it takes in the one that makes its operand.
fn fused(
    rules: &Assembler,
    bits: &Bits,
    producer: &Facts<'_>,
    consumer: &Facts<'_>,
) -> Option<Class> {
    let (p, c) = (producer, consumer);
    let adds = |f: &Facts<'_>| matches!(f.op, Operation::Add | Operation::Sub);
    let add32 = |f: &Facts<'_>| adds(f) && matches!(f.plain(""), Some(Ty::S32 | Ty::U32));
    // A sum that has taken in a wide product already is IMAD.WIDE, and has room for nothing else.
    let add64 = |f: &Facts<'_>| {
        let own = adds(f) && f.instruction.class == Class::IntAdd64;
        own && matches!(f.plain(""), Some(Ty::S64 | Ty::U64))
    };
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
        // LEA.HI, but for a number less the shifted one.
        (Operation::Shr, _) if shifts_right(p) && add32(c) && !subtracts(p, c) => {
            Some(Class::IntAdd3)
        }
        // Words whose bits are apart are added.
        (Operation::Shl | Operation::Shr, _)
            if bits.joins(c) && (p.plain("") == Some(Ty::B32) || shifts_right(p)) =>
        {
            Some(Class::IntAdd3)
        }
        (Operation::Mul, _) if low_half(p) && add32(c) => Some(Class::IntMul),
        // LEA.HI.
        (Operation::Funnel, Operation::Add) if by_constant(p) && add32(c) => Some(Class::IntAdd3),
        _ if add32(p) && add32(c) => Some(Class::IntAdd3),
        // LEA and LEA.HI.X, IADD3 and IADD3.X.
        (Operation::Shl, Operation::Add)
            if p.plain("") == Some(Ty::B64) && p.constants == 1 && add64(c) =>
        {
            Some(Class::IntAdd64)
        }
        _ if add64(p) && add64(c) => Some(Class::IntAdd64),
        // The addend of IMAD.WIDE.
        (Operation::Mul, Operation::Add) if sums(c) && product_64(p) && add64(c) => {
            Some(Class::IntMul64)
        }
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

/// A shift of a word to the right by a constant.
fn shifts_right(f: &Facts<'_>) -> bool {
    let word = matches!(f.plain(""), Some(Ty::U32 | Ty::S32));
    f.op == Operation::Shr && word && f.arguments.get(1).is_some_and(|a| a.1.is_some())
}

/// Whether one instruction's result is what the other one takes from a number.
fn subtracts(p: &Facts<'_>, c: &Facts<'_>) -> bool {
    let second = c.arguments.get(1).and_then(|a| a.0);
    c.op == Operation::Sub && second.is_some() && second == p.instruction.writes.first().copied()
}

/// Whether a funnel shift's distance is known. If the text gives a register, a micro-operation ahead makes it less than
/// 32: then that register's value may have become known since.
fn by_constant(f: &Facts<'_>) -> bool {
    let made = f.arguments.contains(&(None, None));
    let given = f.arguments.first().and_then(|a| a.0);
    let known = given.is_none_or(|r| !f.instruction.reads.contains(&r));
    f.instruction.class == Class::Shift && (!made || known)
}

/// The lower half of a 32-bit integer product.
fn low_half(f: &Facts<'_>) -> bool {
    f.opcode.has(".lo") && f.opcode.types().last().is_some_and(|t| t.bits() == 32)
}

/// The lower half of a 64-bit integer product.
fn product_64(f: &Facts<'_>) -> bool {
    f.instruction.class == Class::IntMul64 && f.opcode.has(".lo")
}

/// Logic on bits, not on predicates.
fn logic(f: &Facts<'_>) -> bool {
    matches!(f.op, Operation::And | Operation::Or | Operation::Xor | Operation::Not)
        && f.opcode.types().last() != Some(Ty::Pred)
}

/// A branch that is taken where two predicates hold takes both: `@P0 BRA P1`. Read off ptxas 13.5 for sm_75 to sm_120;
/// what is taken where one of two holds, or where not both do, has its predicate made first.
pub(crate) fn both_hold(function: &Function, facts: &mut [Facts<'_>]) {
    let block = blocks_of(function);
    let uses = Uses::new(facts);
    for i in 0..facts.len() {
        let f = &facts[i];
        let joins = f.op == Operation::And && f.opcode.types().last() == Some(Ty::Pred);
        let (&[both], [(Some(a), _), (Some(b), _)]) = (&f.instruction.writes[..], &f.arguments[..])
        else {
            continue;
        };
        let Some(&[user]) = uses.uses.get(&both).map(|u| &u[..]) else { continue };
        let branch = &facts[user].instruction;
        let taken = function.insts[user].guard.as_ref().is_some_and(|(_, negated)| !negated);
        let fits = joins
            && !f.folded
            && f.instruction.guard.is_none()
            && uses.written_once(both)
            && block[user] == block[i]
            && branch.class == Class::Branch
            && branch.guard == Some(both)
            && taken
            && [a, b].iter().all(|r| unchanged(function, facts, **r, i, user));
        if fits {
            let (a, b) = (*a, *b);
            facts[i].folded = true;
            let branch = &mut facts[user].instruction;
            branch.guard = Some(b);
            branch.reads.push(a);
        }
    }
}

/// Pairs of instructions that one machine instruction does, operand modifiers, and constants.
pub(crate) fn fuse(rules: &Assembler, function: &Function, facts: &mut [Facts<'_>]) {
    let block = blocks_of(function);
    let uses = Uses::new(facts);
    let bits = Bits::new(facts);
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
        // What the address of a variable takes, and who waits for it, is found later.
        let constant = facts[i].constant_move && facts[i].variable.is_none();
        if modifier || constant && !users.is_empty() {
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
        if let Some(class) = fused(rules, &bits, &facts[i], &facts[user]).filter(|_| fits) {
            // Logic takes in more as long as there are three operands: LOP3.
            let goes_on = logic(&facts[i]) && logic(&facts[user]);
            taken[user] = !goes_on;
            let constants = facts[i].constants;
            // Of a comparison of 64 bits the lower half stays.
            let halves = facts[i].op == Operation::Compare && class == Class::Compare;
            let more = if halves { facts[i].instruction.extra_slots } else { 0 };
            replace(facts, i, register, users);
            facts[user].instruction.class = class;
            facts[user].instruction.extra_slots += more;
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

/// Whether each of the sums that read a product or a shift, all in its block, makes it by itself: LEA, IMAD.
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
    let right = shifts_right(&facts[i]);
    let fits = |u: &usize| {
        let f = &facts[*u];
        let first = f.arguments.first().is_some_and(|a| a.0 == Some(register));
        let sum = f.op == Operation::Add || f.op == Operation::Sub && (shift || right) && first;
        let kept = |r: &Register| uses.written_once(*r) || unchanged(function, facts, *r, i, *u);
        sum && word(f)
            && f.arguments.len() == 2
            && !f.folded
            && !taken[*u]
            && f.instruction.guard.is_none()
            && facts[i].instruction.reads.iter().all(kept)
            && inputs(&facts[i], f, register) <= 3
    };
    (shift || product || right)
        && uses.uses.get(&register).is_some_and(|users| users.iter().all(fits))
}

/// Two shifts whose results are put together are one that takes bits of both operands: SHF.L.
pub(crate) fn funnels(function: &Function, facts: &mut [Facts<'_>]) {
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
        facts[i].op = Operation::Funnel;
    }
}

/// Both halves of one product are one instruction: IMAD.WIDE.
pub(crate) fn both_halves(function: &Function, facts: &mut [Facts<'_>]) {
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
    // A funnel shift has a place of its own for its distance.
    let shifts = producer.op == Operation::Funnel;
    let own = if shifts { 0 } else { producer.constants };
    registers.len() + (own + if compares { 0 } else { consumer.constants }) as usize
}
