//! The barriers on which machine code counts results that take unknown time.
//!
//! A warp has few of them, so results share: who needs one of them waits for all that are on their way then. Which
//! results do was read off the control words that ptxas 13.5 writes for sm_75 to sm_100.

use smallvec::SmallVec;

use crate::event::{AccessKind, Instruction, Register};
use ptx_isa::Class;

/// The first barrier that loads from memory beyond the SM take.
const LONG: usize = 2;

/// What an instruction waits for besides its operands.
pub(crate) type Waits = SmallVec<[Register; 4]>;

/// Results on their way that one barrier counts.
#[derive(Default)]
struct Counter {
    /// The place of the first instruction that waits for them.
    first: usize,
    results: Waits,
}

/// The first barrier that counts an instruction's results; nothing where they come at a known time.
pub(crate) fn counted(i: &Instruction) -> Option<usize> {
    let short = matches!(
        i.class,
        Class::LoadShared
            | Class::LoadMatrix
            | Class::AtomicShared
            | Class::LoadConst
            | Class::SpecialRegister
            | Class::Shuffle
            | Class::Match
            | Class::Redux
            | Class::BitCount
            | Class::LeadingZeros
            | Class::F32RcpApprox
            | Class::F32Rsqrt
            | Class::F32Ex2
            | Class::F32Lg2
            | Class::F16Mufu
            | Class::Convert
            | Class::ConvertFromInt
    );
    let long = matches!(i.class, Class::LoadGlobal | Class::AtomicGlobal | Class::Texture);
    (i.kind != AccessKind::Store && !i.writes.is_empty() && (short || long)).then_some(if long {
        LONG
    } else {
        0
    })
}

/// Whether the assembler knows when an instruction's result is there.
pub(crate) fn comes_at_a_known_time(i: &Instruction) -> bool {
    counted(i).is_none() && !i.class.is_memory() && i.class != Class::Barrier
}

/// By instruction of a block, in the order that it has: what waits for more than its operands.
pub(crate) fn waits(list: &[Instruction], order: &[u32], barriers: usize) -> Vec<(u32, Waits)> {
    let mut out = Vec::new();
    let mut counters: Vec<Option<Counter>> = (0..barriers).map(|_| None).collect();
    let at = |place: usize| &list[order[place] as usize];
    for place in 0..order.len() {
        for counter in &mut counters {
            if let Some(ended) = counter.take_if(|c| c.first == place) {
                let i = at(place);
                let own = |r: &Register| i.reads.contains(r) || i.writes.contains(r);
                let more: Waits = ended.results.into_iter().filter(|r| !own(r)).collect();
                if !more.is_empty() {
                    out.push((order[place], more));
                }
            }
        }
        let i = at(place);
        let Some(lowest) = counted(i) else { continue };
        let takes = |later: &usize| {
            let l = at(*later);
            let takes = |w| l.reads.contains(w) || l.writes.contains(w) || l.guard == Some(*w);
            i.writes.iter().any(takes)
        };
        let first = (place + 1..order.len()).find(takes).unwrap_or(usize::MAX);
        let found = counters
            .iter()
            .position(|c| c.as_ref().is_some_and(|c| c.first == first && first != usize::MAX));
        let free = || (lowest..barriers).find(|b| counters[*b].is_none());
        let latest = || {
            (lowest..barriers).rev().max_by_key(|b| counters[*b].as_ref().map_or(0, |c| c.first))
        };
        let Some(barrier) = found.or_else(free).or_else(latest) else { continue };
        let counter = counters[barrier].get_or_insert(Counter { first, ..Counter::default() });
        counter.first = counter.first.min(first);
        counter.results.extend(i.writes.iter().copied());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen loads whose results are added one after the other, as ptxas 13.5 numbers their barriers: the first three
    /// have one each, all others the fourth, so that the fourth addition waits for all of them.
    #[test]
    fn loads_share_barriers() {
        let (address, sum): (Register, Register) = (0, 1);
        let load = |i: Register| Instruction::new(Class::LoadGlobal, &[2 + i], &[address]);
        let add = |i: Register| Instruction::new(Class::F32Add, &[sum], &[sum, 2 + i]);
        let list: Vec<Instruction> = (0..16).map(load).chain((0..16).map(add)).collect();
        let order: Vec<u32> = (0..32).collect();
        let found = waits(&list, &order, 6);
        assert_eq!(found, [(16 + 3, Waits::from_iter(6..18))]);
        // Two that one instruction takes are one group.
        let pairs = [
            Instruction::new(Class::LoadGlobal, &[2], &[address]),
            Instruction::new(Class::LoadShared, &[3], &[address]),
            Instruction::new(Class::F32Fma, &[sum], &[sum, 2, 3]),
        ];
        assert!(waits(&pairs, &[0, 1, 2], 1 + LONG).is_empty());
        // A barrier is free when the first instruction has waited for it.
        let again: Vec<Instruction> = (0..6).flat_map(|i| [load(i), add(i)]).collect();
        assert!(waits(&again, &(0..12).collect::<Vec<u32>>(), 1 + LONG).is_empty());
    }
}
