//! Which bits of words can be set: where those of two words are apart, one operation joins them as another would.

use std::collections::HashMap;

use ptx_isa::{Operation, Ty};

use crate::event::Register;
use crate::facts::Facts;
use crate::uses::times_written;

/// Bits of words that masks, shifts and smaller types leave; others may have any. Ranges of special registers are not
/// known to ptxas 13.5.
pub(crate) struct Bits(HashMap<Register, u32>);

impl Bits {
    pub fn new(facts: &[Facts<'_>]) -> Self {
        let made = times_written(facts);
        let mut bits = Self(HashMap::new());
        for f in facts {
            let &[w] = &f.instruction.writes[..] else { continue };
            let once = made.get(&w) == Some(&1) && f.instruction.guard.is_none();
            if let Some(found) = bits.result(f).filter(|_| once) {
                bits.0.insert(w, found);
            }
        }
        bits
    }

    fn of(&self, argument: Option<&(Option<Register>, Option<u64>)>) -> u32 {
        match argument {
            Some((Some(r), _)) => self.0.get(r).copied().unwrap_or(u32::MAX),
            Some((None, Some(constant))) => *constant as u32,
            _ => u32::MAX,
        }
    }

    /// Bits that an instruction's result can have, where that is known.
    pub fn result(&self, f: &Facts<'_>) -> Option<u32> {
        let argument = |i: usize| self.of(f.arguments.get(i));
        let distance = f.arguments.get(1).and_then(|a| a.1).filter(|n| *n < 32);
        let word = |f: &Facts<'_>| matches!(f.plain(""), Some(Ty::B32 | Ty::U32));
        match f.op {
            Operation::And if word(f) => Some(argument(0) & argument(1)),
            Operation::Or | Operation::Xor if word(f) => Some(argument(0) | argument(1)),
            Operation::Shl if word(f) => Some(argument(0) << distance?),
            Operation::Shr if word(f) => Some(argument(0) >> distance?),
            Operation::Move if f.arguments.len() == 1 && !f.varies => Some(argument(0)),
            Operation::Convert if f.converts(Ty::U32, Ty::U8) => Some(0xff),
            Operation::Convert if f.converts(Ty::U32, Ty::U16) => Some(0xffff),
            Operation::Load => match f.opcode.types().last() {
                Some(Ty::U8) => Some(0xff),
                Some(Ty::U16) => Some(0xffff),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether an instruction joins two words of which no bit can be set in both: then it adds.
    pub fn joins(&self, f: &Facts<'_>) -> bool {
        let word = f.plain("") == Some(Ty::B32) && f.arguments.len() == 2;
        let joins = matches!(f.op, Operation::Or | Operation::Xor);
        word && joins && self.of(f.arguments.first()) & self.of(f.arguments.get(1)) == 0
    }
}
