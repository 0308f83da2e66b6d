//! How long the operand ports of a scheduler are busy with an instruction.

use super::plan::Plan;
use crate::event::Register;

/// Operands of an instruction that stay at hand.
const KEPT: usize = 3;

/// No instruction.
pub(super) const NOTHING: u32 = u32::MAX;

/// Clocks that instructions keep the ports busy. They depend on what the warp issued before, which is mostly the same.
#[derive(Debug)]
pub(super) struct OperandPorts {
    /// Words that they deliver in a clock; 0 = any number.
    words: u32,
    /// Per instruction: the clocks where nothing is at hand.
    alone: Vec<u64>,
    /// Per instruction: the two before it the last time, the latest first, and the clocks then.
    known: Vec<([u32; 2], u64)>,
}

impl OperandPorts {
    pub fn new(words: u32, plans: &[Plan]) -> Self {
        let alone: Vec<u64> = plans.iter().map(|plan| clocks(words, plan, [None; 2])).collect();
        let known = alone.iter().map(|clocks| ([NOTHING; 2], *clocks)).collect();
        Self { words, alone, known }
    }

    /// Clocks for an instruction behind two others of its warp, [`NOTHING`] being none.
    pub fn clocks(&mut self, plans: &[Plan], pc: u32, before: [u32; 2]) -> u64 {
        if before == [NOTHING; 2] {
            return self.alone[pc as usize];
        }
        let known = &mut self.known[pc as usize];
        if known.0 != before {
            let earlier = before.map(|pc| plans.get(pc as usize));
            *known = (before, clocks(self.words, &plans[pc as usize], earlier));
        }
        known.1
    }
}

/// Words over what the ports deliver. An operand that the warp's instruction just before fetched is still there, and
/// those of the one before that for which there was room (`before`, the latest first).
fn clocks(ports: u32, plan: &Plan, before: [Option<&Plan>; 2]) -> u64 {
    if ports == 0 || plan.operands.is_empty() {
        return 0;
    }
    let [last, earlier] = before.map(|b| b.map_or(&[][..], |b| &b.operands[..]));
    let mut room = KEPT.saturating_sub(last.len());
    let mut words = 0;
    for &(register, size) in &plan.operands {
        let is = |o: &(Register, u8)| o.0 == register;
        if last.iter().any(is) {
            continue;
        }
        if room > 0 && earlier.iter().any(is) {
            room -= 1;
            continue;
        }
        words += u32::from(size);
    }
    words.div_ceil(ports).into()
}
