//! Numbers of 8 and 16 bits that become floats.
//!
//! Read off the code of ptxas 13.5 for sm_90. What a load has filled up with zeros or signs is a number of 32 bits,
//! which `I2FP` converts; a byte of a loaded vector is taken out of its word by `PRMT` before. The lowest byte of a
//! register, for which PTX has a mask, is one that `I2F.U8` takes, and numbers that computing made go the same way.

use std::collections::HashMap;

use ptx_isa::{Class, Operation, Ty};

use crate::event::{AccessKind, Register};
use crate::facts::Facts;
use crate::uses::{Uses, replace};

/// What makes a number that is converted.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    /// A load of it alone, or of a vector.
    Loaded,
    LoadedWithOthers,
    /// A mask of the lowest byte.
    Masked(usize),
}

/// Gives conversions to 32-bit floats the class of what they are for the machine.
pub(crate) fn convert(facts: &mut [Facts<'_>]) {
    let uses = Uses::new(facts);
    // What has taken in another instruction may be a shift, too.
    let shifted = |r: Register| {
        uses.definitions.get(&r).is_some_and(|made| {
            made.iter().any(|m| matches!(facts[*m].op, Operation::Shr | Operation::Other))
        })
    };
    let made: HashMap<Register, Made> = uses
        .definitions
        .iter()
        .filter_map(|(register, list)| {
            let &[i] = &list[..] else { return None };
            let f = &facts[i];
            let bytes = f.place.map_or(0, |p| p.bytes);
            let load = f.op == Operation::Load && f.instruction.kind == AccessKind::Load;
            let masks = f.op == Operation::And && f.instruction.guard.is_none();
            match (load, f.instruction.writes.len()) {
                (true, 1) if bytes <= 2 => Some((*register, Made::Loaded)),
                (true, many @ 2..) if bytes <= 2 * many as u32 => {
                    Some((*register, Made::LoadedWithOthers))
                }
                _ if masks && f.arguments.iter().any(|a| a.1 == Some(255)) => {
                    let from = f.arguments.iter().find_map(|a| a.0)?;
                    (!shifted(from)).then_some((*register, Made::Masked(i)))
                }
                _ => None,
            }
        })
        .collect();
    let converts = |f: &Facts<'_>| {
        let float = f.op == Operation::Convert && f.opcode.types().next() == Some(Ty::F32);
        float && !f.folded && matches!(f.instruction.class, Class::Convert | Class::ConvertFromInt)
    };
    for i in 0..facts.len() {
        let f = &facts[i];
        let &[source] = &f.instruction.reads[..] else { continue };
        let (true, Some(how)) = (converts(f), made.get(&source)) else { continue };
        let narrow = f.instruction.class == Class::Convert;
        match *how {
            Made::Loaded if narrow => facts[i].instruction.class = Class::ConvertFromInt,
            Made::LoadedWithOthers if narrow => {
                facts[i].instruction.class = Class::ConvertFromInt;
                facts[i].instruction.extra_slots += 1;
            }
            Made::Masked(mask) if !narrow => {
                facts[i].instruction.class = Class::Convert;
                let users = uses.uses.get(&source).map_or(&[][..], |u| &u[..]);
                if users.iter().all(|u| converts(&facts[*u])) && !facts[mask].folded {
                    replace(facts, mask, source, users);
                }
            }
            _ => {}
        }
    }
}
