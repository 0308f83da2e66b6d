//! The order in which the assembler would issue the instructions of a basic block.
//!
//! PTX is not what the hardware runs: `ptxas` reorders each basic block so that loads start early
//! and their latencies overlap. A trace in PTX order would wait for every load where its result is
//! first used, several times too long in an unrolled loop. This pass does list scheduling by
//! critical path, as an assembler does, under the dependences of registers and memory.

use super::plan::Plan;
use crate::event::{AccessKind, Code, Event};
use crate::profile::Profile;
use ptx_isa::Class;

/// Issue order of every basic block that is worth reordering, by its first instruction.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    /// (first instruction, order relative to it), ascending.
    blocks: Vec<(u32, Vec<u32>)>,
}

/// Blocks longer than this are scheduled in pieces of this size; the search is quadratic.
const WINDOW: usize = 512;

impl Schedule {
    /// Schedules all basic blocks of a kernel. Without `Code::leaders` nothing is reordered.
    pub fn new(profile: &Profile, code: &Code, plans: &[Plan]) -> Self {
        let mut blocks = Vec::new();
        let end = plans.len() as u32;
        for (i, &first) in code.leaders.iter().enumerate() {
            let last = code.leaders.get(i + 1).copied().unwrap_or(end).min(end);
            let mut start = first;
            while start < last {
                let stop = last.min(start + WINDOW as u32);
                let order = order_block(profile, code, plans, start as usize, stop as usize);
                if order.iter().enumerate().any(|(i, &o)| i as u32 != o) {
                    blocks.push((start, order));
                }
                start = stop;
            }
        }
        Self { blocks }
    }

    /// Reorders a warp's events block by block.
    pub fn apply(&self, events: &mut [Event]) {
        if self.blocks.is_empty() {
            return;
        }
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < events.len() {
            let first = events[at].pc;
            let Ok(index) = self.blocks.binary_search_by_key(&first, |b| b.0) else {
                at += 1;
                continue;
            };
            let order = &self.blocks[index].1;
            let Some(block) = events.get_mut(at..at + order.len()) else {
                at += 1;
                continue;
            };
            // Only what ran through as one piece is one piece.
            let whole = block.iter().enumerate().all(|(i, e)| e.pc == first + i as u32);
            if whole {
                buffer.clear();
                buffer.extend(order.iter().map(|&o| block[o as usize]));
                block.copy_from_slice(&buffer);
            }
            at += order.len();
        }
    }
}

/// What an instruction does to memory, as far as the assembler may reorder it.
#[derive(PartialEq, Clone, Copy)]
enum MemoryEffect {
    None,
    Load(bool),
    Store(bool),
    /// Barriers, fences, atomics, control: nothing that touches memory moves across.
    Fence,
}

fn effect(code: &Code, pc: usize) -> MemoryEffect {
    let instruction = &code.instructions[pc];
    let shared = matches!(
        instruction.class,
        Class::LoadShared | Class::StoreShared | Class::AtomicShared | Class::LoadMatrix
    );
    match instruction.class {
        _ if instruction.orders => MemoryEffect::Fence,
        _ if instruction.spill => MemoryEffect::None,
        Class::Barrier
        | Class::WarpSync
        | Class::FenceBlock
        | Class::FenceDevice
        | Class::Shuffle
        | Class::Vote
        | Class::Match
        | Class::Redux => MemoryEffect::Fence,
        Class::LoadConst | Class::Texture => MemoryEffect::None,
        c if c.is_memory() => match instruction.kind {
            AccessKind::Load => MemoryEffect::Load(shared),
            AccessKind::Store => MemoryEffect::Store(shared),
            AccessKind::Atomic | AccessKind::Reduction => MemoryEffect::Fence,
        },
        _ => MemoryEffect::None,
    }
}

fn ordered(before: MemoryEffect, after: MemoryEffect) -> bool {
    use MemoryEffect::{Fence, Load, None, Store};
    match (before, after) {
        (None, _) | (_, None) => false,
        (Fence, _) | (_, Fence) => true,
        (Load(_), Load(_)) => false,
        (Load(a), Store(b)) | (Store(a), Load(b)) | (Store(a), Store(b)) => a == b,
    }
}

fn latency(profile: &Profile, code: &Code, plan: &Plan, pc: usize) -> u64 {
    let of_memory = match code.instructions[pc].class {
        Class::LoadShared | Class::LoadMatrix => profile.shared.latency,
        Class::LoadConst => profile.constant.latency,
        // The assembler does not know where a load will hit.
        Class::LoadGlobal | Class::Texture => {
            profile.l2.as_ref().map_or(profile.dram.latency, |l2| l2.hit_latency)
        }
        _ => 0,
    };
    plan.latency.max(of_memory.into()).max(1)
}

/// The issue order of the instructions `start..stop`, as offsets from `start`.
fn order_block(
    profile: &Profile,
    code: &Code,
    plans: &[Plan],
    start: usize,
    stop: usize,
) -> Vec<u32> {
    let n = stop - start;
    // Successors with the clocks that lie between.
    let mut successors: Vec<Vec<(usize, u64)>> = vec![Vec::new(); n];
    let mut predecessors = vec![0_u32; n];
    for late in 0..n {
        let l = &plans[start + late];
        let late_effect = effect(code, start + late);
        for early in 0..late {
            let e = &plans[start + early];
            let reads = |r: &u32| l.reads.contains(r) || l.guard.as_ref() == Some(r);
            let raw = e.writes.iter().any(reads);
            let war = l.writes.iter().any(|w| e.reads.contains(w) || e.guard == Some(*w));
            let waw = l.writes.iter().any(|w| e.writes.contains(w));
            let memory = ordered(effect(code, start + early), late_effect);
            let distance = match () {
                () if raw => latency(profile, code, e, start + early),
                // Control stays where it is, at the end.
                () if war || waw || memory || l.control || e.control => 1,
                () => continue,
            };
            successors[early].push((late, distance));
            predecessors[late] += 1;
        }
    }
    // Clocks from an instruction to the end of the block along the longest path.
    let mut height = vec![0_u64; n];
    for i in (0..n).rev() {
        height[i] = successors[i].iter().map(|&(s, d)| height[s] + d).max().unwrap_or(0);
    }
    let mut earliest = vec![0_u64; n];
    let mut ready: Vec<usize> = (0..n).filter(|&i| predecessors[i] == 0).collect();
    let mut order = Vec::with_capacity(n);
    let mut now = 0;
    while !ready.is_empty() {
        let first = ready.iter().map(|&i| earliest[i]).min().unwrap_or(now);
        now = first.max(now);
        let chosen = (0..ready.len())
            .filter(|&r| earliest[ready[r]] <= now)
            .max_by_key(|&r| (height[ready[r]], std::cmp::Reverse(ready[r])));
        let Some(chosen) = chosen else { break };
        let instruction = ready.swap_remove(chosen);
        order.push(instruction as u32);
        for &(s, d) in &successors[instruction] {
            earliest[s] = earliest[s].max(now + d);
            predecessors[s] -= 1;
            if predecessors[s] == 0 {
                ready.push(s);
            }
        }
        now += 1;
    }
    order
}
