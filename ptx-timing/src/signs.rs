//! Upper halves of numbers whose sign is extended to 64 bits.

use ptx_isa::{Class, Operation};
use ptx_parse::code::Function;

use crate::chains::unchanged;
use crate::facts::Facts;
use crate::uses::Uses;

/// A number of 32 bits that sums and shifts of 64 bits read: its lower half is the number itself, the upper one an
/// instruction of its own (SHF.R.S32.HI), done again rather than kept where registers are short. One sum alone makes it
/// itself (LEA.HI.X.SX32), of one of its operands. ptxas 13.5, fourteen kernels made for it.
pub(crate) fn halves(function: &Function, words: &mut [u8], facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    let wide = |f: &Facts<'_>| f.opcode.types().last().is_some_and(|t| t.bits() == 64);
    let mut takes_one = vec![false; facts.len()];
    for i in 0..facts.len() {
        let f = &facts[i];
        let (&[own], &[number]) = (&f.instruction.writes[..], &f.instruction.reads[..]) else {
            continue;
        };
        if !f.extends_sign || f.folded || !uses.written_once(own) {
            continue;
        }
        let users = uses.uses.get(&own).cloned().unwrap_or_default();
        let reads = |u: &usize| {
            let f = &facts[*u];
            let kept = uses.written_once(number) || unchanged(function, facts, number, i, *u);
            kept && !f.folded && (f.adds_wide() || f.op == Operation::Shl && wide(f))
        };
        if users.is_empty() || !users.iter().all(reads) {
            continue;
        }
        if let [user] = users[..]
            && facts[user].adds_wide()
            && !std::mem::replace(&mut takes_one[user], true)
        {
            continue;
        }
        for user in users {
            let reads = &mut facts[user].instruction.reads;
            if !reads.contains(&number) {
                reads.push(number);
            }
        }
        let f = &mut facts[i];
        (f.extends_sign, f.op) = (false, Operation::Other);
        (f.instruction.class, f.instruction.extra_slots) = (Class::Shift, 0);
        if let Some(words) = words.get_mut(own as usize) {
            *words = 0;
        }
    }
}
