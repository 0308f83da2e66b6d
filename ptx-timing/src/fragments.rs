//! What loads of `wmma` fragments take besides the loads themselves.
//!
//! Counted in code of ptxas 13.5 for sm_90 with one to five loads of each kind: addresses of a lane's elements, once for
//! each base that a loop changes, and with them a second one where the distance of rows is in a register; what turns
//! words of two halves (`MOVM`) or of four bytes (`PRMT`) whose rows and columns are the other way round. Shared memory
//! is read by `LDSM`, which turns halves itself.

use std::collections::HashSet;

use ptx_isa::Class;
use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::Facts;
use crate::uses::{blocks_of, loops};

/// Adds these instructions to the loads.
pub(crate) fn place(function: &Function, facts: &mut [Facts<'_>]) {
    let (blocks, loops) = (blocks_of(function), loops(function));
    let mut seen: HashSet<(usize, Option<Register>)> = HashSet::new();
    for i in (0..facts.len()).filter(|i| !facts[*i].folded).collect::<Vec<_>>() {
        let Some(mut load) = Load::of(&facts[i]) else { continue };
        let base = facts[i].arguments.first().and_then(|a| a.0);
        let inside = |(start, end): &&(u32, u32)| (*start..*end).contains(&(i as u32));
        let around = loops.iter().filter(inside).min_by_key(|(start, end)| end - start);
        // Ahead of a loop that does not change its base.
        let ahead = around.is_some_and(|(start, end)| {
            let list = &facts[*start as usize..*end as usize];
            let mut written = list.iter().flat_map(|f| &f.instruction.writes);
            !written.any(|w| Some(*w) == base)
        });
        load.first = seen.insert((blocks[i], base)) && !ahead;
        facts[i].instruction.extra_slots += load.more();
    }
}

/// The load of a factor's fragment.
struct Load {
    /// Bits of an element.
    bits: u32,
    global: bool,
    /// Rows and columns are the other way round from what the product takes.
    turned: bool,
    /// Rows are apart by what a register says.
    strided: bool,
    /// No other one in the block has its base.
    first: bool,
}

impl Load {
    fn of(f: &Facts<'_>) -> Option<Self> {
        let own = &f.instruction;
        let global = own.class == Class::LoadGlobal;
        let (a, b) = (f.opcode.has(".a"), f.opcode.has(".b"));
        let loads = own.fragment && (global || own.class == Class::LoadShared) && (a || b);
        let bits = f.opcode.types().last().map(|t| t.bits()).filter(|_| loads)?;
        let turned = a && f.opcode.has(".col") || b && f.opcode.has(".row");
        Some(Self { bits, global, turned, strided: own.reads.len() > 1, first: false })
    }

    fn more(&self) -> u32 {
        let strided = u32::from(self.strided);
        let address = match (self.global, self.first) {
            (_, false) => 0,
            (true, true) => 2 + strided,
            (false, true) => 1,
        };
        match (self.bits, self.turned, self.global) {
            (16, true, true) => 4 + address,
            // Each element has a load of its own.
            (8, true, true) => 2 + 6 + 6 * strided,
            (8, true, false) => 2 + 4 + 4 * strided,
            (8 | 16, _, _) => address,
            (32, _, _) => 4,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Load;

    /// Instructions of a further load with a base of its own, less loads and products.
    #[test]
    fn counted_in_machine_code() {
        for (bits, turned, global, strided, most, least) in [
            (16, false, true, true, 3, 3),
            (16, false, true, false, 2, 2),
            (16, true, true, true, 7, 7),
            (16, true, true, false, 6, 6),
            (16, true, false, true, 1, 1),
            (32, true, true, true, 4, 4),
            (32, false, false, false, 4, 4),
            (8, false, true, true, 4, 3),
            (8, false, false, false, 1, 1),
            (8, true, true, true, 14, 13),
            (8, true, true, false, 9, 8),
            (8, true, false, true, 11, 10),
            (8, true, false, false, 6, 6),
        ] {
            let more = Load { bits, global, turned, strided, first: true }.more();
            assert!((least..=most).contains(&more), "{bits} {turned} {global} {strided}: {more}");
        }
    }
}
