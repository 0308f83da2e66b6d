//! What the assembler computes by itself.

use std::collections::HashSet;

use ptx_isa::{Class, Operation, Reach};

use crate::event::Register;
use crate::facts::Facts;
use crate::uses::times_written;

/// Instructions whose operands are constants become moves of a constant, as `__float2half2_rn(0.5f)` does, which is a
/// conversion and two halves put together in PTX.
pub(crate) fn propagate(facts: &mut [Facts<'_>]) {
    let made = times_written(facts);
    let mut known: HashSet<Register> = HashSet::new();
    loop {
        let before = known.len();
        for f in facts.iter_mut() {
            let own = &f.instruction;
            let once = own.guard.is_none() && own.writes.iter().all(|w| made[w] == 1);
            if !once || f.folded {
                continue;
            }
            let plain = own.class.is_arithmetic()
                && !matches!(own.class, Class::Shuffle | Class::SpecialRegister)
                && f.opcode.row.reach == Reach::Lane;
            let computed =
                plain && !own.reads.is_empty() && own.reads.iter().all(|r| known.contains(r));
            if f.constant_move && f.variable.is_none() || computed {
                known.extend(&own.writes);
            }
            if computed {
                f.constant_move = true;
                f.op = Operation::Move;
                f.transparent = false;
                f.arguments.clear();
                f.constants = 1;
                f.instruction.class = Class::Move;
                f.instruction.extra_slots = 0;
                f.instruction.reads.clear();
            }
        }
        if known.len() == before {
            break;
        }
    }
    // Of those that only went into others nothing is left.
    let left = facts.iter().filter(|f| !f.folded).map(|f| &f.instruction);
    let read: HashSet<Register> =
        left.flat_map(|i| i.reads.iter().chain(&i.guard)).copied().collect();
    for f in facts.iter_mut().filter(|f| f.constant_move && f.variable.is_none()) {
        let left = f.instruction.writes.iter().any(|w| read.contains(w) || !known.contains(w));
        f.folded |= !left;
    }
}
