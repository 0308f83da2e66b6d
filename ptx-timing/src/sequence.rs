//! Instructions that the assembler places behind others that the text has behind them, and the events of traces, which
//! come in the text's order.
//!
//! The next value of a variable takes the variable's register, so it is made behind all that still read the last one.

use std::collections::HashMap;

use crate::event::{Event, WarpTrace};

/// Pieces of the text whose instructions have another order in machine code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences {
    /// By the number of the instruction that is first in the text: the numbers of all, as the text has them.
    pieces: HashMap<u32, Vec<u32>>,
}

impl Sequences {
    /// Adds a block whose instructions have these numbers, in the order of the text.
    pub fn add(&mut self, block: &[u32]) {
        let mut sorted = block.to_vec();
        sorted.sort_unstable();
        let moved: Vec<bool> = block.iter().zip(&sorted).map(|(a, b)| a != b).collect();
        let Some(first) = moved.iter().position(|m| *m) else { return };
        let last = moved.iter().rposition(|m| *m).unwrap_or(first);
        self.pieces.insert(block[first], block[first..=last].to_vec());
    }

    /// Brings the events of a warp into the order of machine code.
    pub fn apply(&self, trace: &mut WarpTrace) {
        if self.pieces.is_empty() {
            return;
        }
        let mut at = 0;
        while at < trace.events.len() {
            let piece = self.pieces.get(&trace.events[at].pc);
            let events = piece.and_then(|p| Some((p, trace.events.get_mut(at..at + p.len())?)));
            let whole = |(p, events): &(&Vec<u32>, &mut [Event])| {
                events.iter().zip(*p).all(|(e, pc)| e.pc == *pc)
            };
            match events.filter(whole) {
                Some((piece, events)) => {
                    events.sort_by_key(|e| e.pc);
                    at += piece.len();
                }
                None => at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Detail;

    fn trace(pcs: &[u32]) -> WarpTrace {
        let event = |pc: &u32| Event { pc: *pc, active: 1 << pc, detail: Detail::None };
        let mut trace = WarpTrace::default();
        trace.events.extend(pcs.iter().map(event));
        trace
    }

    /// Only what went through a piece as a whole changes its order.
    #[test]
    fn events_follow_machine_code() {
        let mut sequences = Sequences::default();
        sequences.add(&[7, 8]);
        sequences.add(&[0, 3, 1, 2, 4]);
        let mut warp = trace(&[0, 3, 1, 2, 4, 7, 8, 3, 1, 4]);
        sequences.apply(&mut warp);
        let pcs: Vec<u32> = warp.events.iter().map(|e| e.pc).collect();
        assert_eq!(pcs, [0, 1, 2, 3, 4, 7, 8, 3, 1, 4]);
        assert!(warp.events.iter().all(|e| e.active == 1 << e.pc));
    }
}
