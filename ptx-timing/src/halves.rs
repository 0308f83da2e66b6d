//! 64-bit values whose upper half is known to be zero, and the halves of others.
//!
//! Machine registers have 32 bits: such a value takes one, what takes a half of a value is no instruction,
//! and the product of two such values is one wide multiplication (IMAD.WIDE.U32).

use std::collections::{HashMap, HashSet};

use ptx_isa::types::Space;
use ptx_isa::{Class, Operation, Ty};

use crate::event::Register;
use crate::facts::Facts;

const LOW: u64 = u32::MAX as u64;

/// Finds values without an upper half; their `words` become one.
pub(crate) fn narrow(words: &mut [u8], facts: &mut [Facts<'_>]) {
    lower_halves(words, facts);
    let narrow = narrow_registers(words, facts);
    let is_narrow = |r: &Register| narrow.get(r).copied().unwrap_or(false);
    for f in facts.iter_mut().filter(|f| !f.folded && f.instruction.guard.is_none()) {
        let integer = f.opcode.types().last().is_some_and(|t| t.bits() == 64 && !t.is_float());
        if !integer {
            continue;
        }
        let constant = |i: usize| f.arguments.get(i).and_then(|a| a.1);
        let half = match f.op {
            Operation::And => [0, 1].iter().any(|i| constant(*i) == Some(LOW)),
            Operation::Shr => f.opcode.types().last() == Some(Ty::U64) && constant(1) == Some(32),
            _ => false,
        };
        let small = |a: &(Option<Register>, Option<u64>)| match a {
            (Some(r), _) => is_narrow(r),
            (None, c) => c.is_some_and(|c| c <= LOW),
        };
        let product = matches!(f.op, Operation::Mul | Operation::Mad) && f.opcode.has(".lo");
        // Nothing is done for an upper half that is zero.
        if f.instruction.class == Class::Logic && f.instruction.writes.iter().all(is_narrow) {
            f.instruction.extra_slots = 0;
        }
        if half {
            f.transparent = true;
        } else if product
            && f.instruction.class == Class::IntMul64
            && f.arguments.len() >= 2
            && f.arguments[..2].iter().all(small)
        {
            f.instruction.class = Class::IntMulWide;
            // ptxas adds what the upper halves come to, though that is nothing.
            f.instruction.extra_slots += 1;
        }
    }
    for registers in facts.iter().filter_map(idle) {
        for r in registers {
            if let Some(size) = words.get_mut(*r as usize) {
                *size = 0;
            }
        }
    }
    for (r, _) in narrow.iter().filter(|n| *n.1) {
        if let Some(size) = words.get_mut(*r as usize) {
            *size = 1;
        }
    }
}

/// Values of which nobody reads the upper half are computed without one.
fn lower_halves(words: &mut [u8], facts: &mut [Facts<'_>]) {
    let lower = lower_registers(words, facts);
    if lower.is_empty() {
        return;
    }
    for f in facts.iter_mut() {
        let own = &mut f.instruction;
        if !matches!(own.writes[..], [w] if lower.contains(&w)) {
            continue;
        }
        match own.class {
            Class::IntMul64 | Class::IntMulWide => own.class = Class::IntMul,
            Class::IntAdd64 => own.class = Class::IntAdd,
            Class::Shift64 => own.class = Class::Shift,
            Class::Logic | Class::Select => own.extra_slots = 0,
            _ => {}
        }
    }
    for r in lower {
        words[r as usize] = 1;
    }
}

/// 64-bit registers of which nobody reads the upper half, but to make the upper half of another one.
fn lower_registers(words: &[u8], facts: &[Facts<'_>]) -> HashSet<Register> {
    let wide = |r: &&Register| words.get(**r as usize) == Some(&2);
    let integer = |f: &Facts<'_>| f.opcode.types().all(|t| !t.is_float());
    let mut lower: HashSet<Register> = HashSet::new();
    for f in facts.iter().filter(|f| f.instruction.writes.len() == 1) {
        lower.extend(f.instruction.writes.iter().filter(wide));
    }
    // From the most that there could be until nothing changes.
    loop {
        let before = lower.len();
        for f in facts {
            let own = &f.instruction;
            let alone = matches!(own.writes[..], [w] if lower.contains(&w));
            let kept = match f.op {
                _ if !integer(f) => false,
                Operation::And if f.arguments.iter().any(|a| a.1.is_some_and(|c| c <= LOW)) => true,
                Operation::Convert => {
                    alone || f.opcode.types().next().is_some_and(|t| t.bits() <= 32)
                }
                Operation::Mul | Operation::Mad => alone && !f.opcode.has(".hi"),
                Operation::Add
                | Operation::Sub
                | Operation::And
                | Operation::Or
                | Operation::Xor
                | Operation::Not
                | Operation::Neg
                | Operation::Shl => alone,
                _ if own.class == Class::Select => alone,
                Operation::Move => alone && f.arguments.len() == 1,
                // Addresses in local memory have 32 bits.
                Operation::ConvertAddress => f.opcode.has(".local"),
                _ => false,
            };
            if !kept {
                let base = f.place.filter(|p| p.space == Space::Local).and_then(|p| p.base);
                for r in own.reads.iter().filter(|r| Some(**r) != base) {
                    lower.remove(r);
                }
            }
            if own.writes.len() > 1 {
                for r in &own.writes {
                    lower.remove(r);
                }
            }
        }
        if lower.len() == before {
            return lower;
        }
    }
}

/// Registers of a fragment of 16-bit floats that hold nothing new: PTX gives each eight, as the first tensor cores
/// needed, machine code as many as its elements fill.
fn idle<'a>(f: &'a Facts<'_>) -> Option<&'a [Register]> {
    let shape = f.opcode.shape().filter(|_| f.instruction.fragment)?;
    let lines = match () {
        () if f.opcode.has(".a") => shape.m,
        () if f.opcode.has(".b") => shape.n,
        () => return None,
    };
    let halves = f.opcode.types().any(|t| t == Ty::F16);
    // Of a warp's 32 lanes each has a share of the elements, two in a word.
    halves.then(|| f.instruction.writes.get(lines * shape.k / 64..)).flatten()
}

/// Which 64-bit registers never hold more than 32 bits.
fn narrow_registers(words: &[u8], facts: &[Facts<'_>]) -> HashMap<Register, bool> {
    let wide = |r: &Register| words.get(*r as usize) == Some(&2);
    let mut known: HashMap<Register, bool> = HashMap::new();
    for f in facts {
        known.extend(f.instruction.writes.iter().filter(|r| wide(r)).map(|w| (*w, true)));
    }
    // From the least that there could be until nothing changes.
    loop {
        let mut changed = false;
        for f in facts {
            let fits = f.instruction.writes.len() == 1 && is_small(f, &known);
            for w in f.instruction.writes.iter().filter(|r| wide(r)) {
                changed |= !fits && known.insert(*w, false) == Some(true);
            }
        }
        if !changed {
            return known;
        }
    }
}

/// Whether an instruction makes no more than 32 bits, if its operands are as `known` says.
fn is_small(f: &Facts<'_>, known: &HashMap<Register, bool>) -> bool {
    let small = |i: usize| match f.arguments.get(i) {
        Some((Some(r), _)) => known.get(r).copied().unwrap_or(false),
        Some((None, Some(c))) => *c <= LOW,
        _ => false,
    };
    let unsigned = |t: Option<Ty>| t.is_some_and(|t| matches!(t, Ty::U64 | Ty::B64));
    match f.op {
        Operation::And => small(0) || small(1),
        Operation::Or | Operation::Xor => small(0) && small(1),
        Operation::Move => f.arguments.len() == 1 && small(0),
        Operation::Shr => {
            let by = f.arguments.get(1).and_then(|a| a.1);
            unsigned(f.opcode.types().last()) && (by.is_some_and(|n| n >= 32) || small(0))
        }
        Operation::Convert => [Ty::U32, Ty::U16, Ty::U8]
            .iter()
            .any(|from| f.converts(Ty::U64, *from) || f.converts(Ty::S64, *from)),
        Operation::Load => {
            matches!(f.opcode.types().last(), Some(Ty::U32 | Ty::U16 | Ty::U8 | Ty::B32))
        }
        _ => false,
    }
}
