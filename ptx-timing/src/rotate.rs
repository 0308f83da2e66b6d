//! Rotations: two shifts of one value whose results are joined.
//!
//! The machine has a shift over a pair of registers (SHF), so that 32 bits rotate in one instruction and
//! 64 bits in two. By 32 bits the two registers of a 64-bit value only change places.

use ptx_isa::{Class, Operation};
use ptx_parse::code::Function;

use crate::chains::unchanged;
use crate::facts::Facts;
use crate::uses::{Uses, blocks_of, replace};

/// Makes one instruction of each rotation.
pub(crate) fn find(function: &Function, facts: &mut [Facts<'_>]) {
    let block = blocks_of(function);
    let uses = Uses::new(facts);
    for i in 0..facts.len() {
        let Some((left, right)) = shifts(facts, &uses, i) else { continue };
        if block[left] != block[i] || block[right] != block[i] {
            continue;
        }
        let bits = facts[i].opcode.types().last().map_or(0, |t| t.bits());
        let by = |s: usize| facts[s].arguments.get(1).and_then(|a| a.1).unwrap_or(0);
        let (Some((Some(source), _)), from) = (facts[left].arguments.first(), by(left)) else {
            continue;
        };
        let source = *source;
        let same = facts[right].arguments.first().is_some_and(|a| a.0 == Some(source));
        let sum = from.checked_add(by(right)) == Some(u64::from(bits));
        let kept = [left, right].iter().all(|s| unchanged(function, facts, source, *s, i));
        if !(same && sum && kept) {
            continue;
        }
        facts[left].folded = true;
        facts[right].folded = true;
        let f = &mut facts[i];
        f.instruction.reads = std::iter::once(source).collect();
        f.instruction.class = if bits == 64 { Class::Shift64 } else { Class::Shift };
        f.op = if bits == 64 { Operation::Other } else { Operation::Funnel };
        f.arguments.clear();
        if bits == 64 && from == 32 {
            swap(function, facts, &uses, i);
        }
    }
}

/// The shifts to the left and to the right whose results an instruction joins, and nothing else reads.
fn shifts(facts: &[Facts<'_>], uses: &Uses, i: usize) -> Option<(usize, usize)> {
    let f = &facts[i];
    let joins = matches!(f.op, Operation::Add | Operation::Or | Operation::Xor);
    let bits = f.opcode.types().last().filter(|t| !t.is_float()).map(|t| t.bits());
    if !joins || f.folded || f.instruction.guard.is_some() || !matches!(bits, Some(32 | 64)) {
        return None;
    }
    let maker = |argument: usize| {
        let register = f.arguments.get(argument)?.0?;
        let [made] = uses.definitions.get(&register)?[..] else { return None };
        let [_] = uses.uses.get(&register)?[..] else { return None };
        let own = &facts[made];
        let ty = own.opcode.types().last()?;
        let fits = made < i
            && !own.folded
            && own.instruction.guard.is_none()
            && Some(ty.bits()) == bits
            && (own.op == Operation::Shl || own.op == Operation::Shr && !ty.signed());
        fits.then_some(made)
    };
    let (a, b) = (maker(0)?, maker(1)?);
    match (facts[a].op, facts[b].op) {
        (Operation::Shl, Operation::Shr) => Some((a, b)),
        (Operation::Shr, Operation::Shl) => Some((b, a)),
        _ => None,
    }
}

/// The halves of a value change places: its readers take them so.
fn swap(function: &Function, facts: &mut [Facts<'_>], uses: &Uses, i: usize) {
    let [register] = facts[i].instruction.writes[..] else { return };
    let [source] = facts[i].instruction.reads[..] else { return };
    let users = uses.uses.get(&register).cloned().unwrap_or_default();
    let reach = |u: &usize| {
        uses.written_once(source) || *u > i && unchanged(function, facts, source, i, *u)
    };
    if uses.written_once(register) && !users.is_empty() && users.iter().all(reach) {
        replace(facts, i, register, &users);
    }
}
