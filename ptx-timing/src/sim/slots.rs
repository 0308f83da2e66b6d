//! What the schedulers of an SM look at when they choose a warp: a few numbers of each, which lie together.

use std::ops::Range;

use super::pipes::Takes;
use super::warp::NEVER;
use crate::profile::Policy;

/// The warp slots of an SM, those of one scheduler next to each other.
#[derive(Debug)]
pub(super) struct Slots {
    policy: Policy,
    per_scheduler: usize,
    /// The scheduler of each.
    scheduler: Vec<u16>,
    /// When each slot's warp can issue as far as known; `NEVER` = empty, at a barrier.
    ready_at: Vec<u64>,
    /// What its next instruction wants of the pipes, a number of [`super::plan::Pipes::wants`].
    wants: Vec<u8>,
    /// Under [`Policy::GreedyThenOldestBlock`] the least goes first: the age of its block, 0 where it goes to global
    /// memory, and since when it could issue if it had its operands.
    turn: Vec<(u64, u64)>,
    /// Behind the last slot of each scheduler that had a warp.
    used: Vec<usize>,
    /// By scheduler: the slot that could issue first when all were looked at, and a clock before which no other can.
    first: Vec<(usize, u64)>,
}

impl Slots {
    pub fn new(policy: Policy, schedulers: usize, per_scheduler: usize) -> Self {
        let slots = schedulers * per_scheduler;
        Self {
            policy,
            per_scheduler,
            scheduler: (0..slots).map(|slot| (slot / per_scheduler) as u16).collect(),
            ready_at: vec![NEVER; slots],
            wants: vec![0; slots],
            turn: vec![(0, 0); slots],
            used: (0..schedulers).map(|scheduler| scheduler * per_scheduler).collect(),
            first: vec![(0, 0); schedulers],
        }
    }

    /// All slots.
    pub fn len(&self) -> usize {
        self.ready_at.len()
    }

    /// The slot of a hardware warp: warp w belongs to scheduler w mod schedulers.
    pub fn of_hardware(&self, warp: usize) -> usize {
        let schedulers = self.len() / self.per_scheduler;
        warp % schedulers * self.per_scheduler + warp / schedulers
    }

    /// When a slot's warp can issue as far as known.
    pub fn ready_at(&self, slot: usize) -> u64 {
        self.ready_at[slot]
    }

    /// Returns the scheduler of the slot.
    pub fn set_ready(&mut self, slot: usize, time: u64) -> usize {
        self.ready_at[slot] = time;
        let scheduler = usize::from(self.scheduler[slot]);
        let (first, others) = &mut self.first[scheduler];
        if *first != slot {
            *others = time.min(*others);
        }
        scheduler
    }

    /// A warp has come to its next instruction. Returns its scheduler.
    pub fn set(&mut self, slot: usize, ready_at: u64, wants: u8, turn: (u64, u64)) -> usize {
        self.wants[slot] = wants;
        self.turn[slot] = turn;
        let scheduler = self.set_ready(slot, ready_at);
        let used = &mut self.used[scheduler];
        *used = (*used).max(slot + 1);
        scheduler
    }

    /// The slots of a scheduler that have had warps.
    fn range(&self, scheduler: usize) -> Range<usize> {
        scheduler * self.per_scheduler..self.used[scheduler]
    }

    /// When a slot's warp can issue.
    fn can_at(&self, slot: usize, takes: &Takes) -> u64 {
        self.ready_at[slot].max(takes[usize::from(self.wants[slot])])
    }

    /// Whether a slot's warp can issue.
    pub fn can(&self, slot: usize, now: u64, takes: &Takes) -> bool {
        self.can_at(slot, takes) <= now
    }

    /// When a scheduler issues next, not before a clock; `NEVER` if it does not. The slot is the one that it issues
    /// then, if its warp still can.
    #[inline]
    pub fn next(
        &mut self,
        scheduler: usize,
        last: usize,
        from: u64,
        takes: &Takes,
    ) -> (u64, usize) {
        // Mostly the warp that issued goes on while the others wait. Pipes only take them later than before.
        let (first, others) = self.first[scheduler];
        let at = self.can_at(first, takes).max(from);
        if at < others {
            return (at, first);
        }
        self.look(scheduler, last, from, takes)
    }

    /// The same when all warps have to be looked at.
    #[inline(never)]
    fn look(&mut self, scheduler: usize, last: usize, from: u64, takes: &Takes) -> (u64, usize) {
        let range = self.range(scheduler);
        let start = range.start;
        let (ready, wants) = (&self.ready_at[range.clone()], &self.wants[range]);
        let (mut least, mut first, mut others) = (NEVER, 0, NEVER);
        for (slot, (&ready, &wants)) in ready.iter().zip(wants).enumerate() {
            let time = ready.max(takes[usize::from(wants)]);
            let less = time < least;
            others = if less { least } else { others.min(time) };
            first = if less { slot } else { first };
            least = least.min(time);
        }
        self.first[scheduler] = (start + first, others);
        let at = least.max(from);
        let chosen = if at < others { None } else { self.pick(scheduler, last, at, takes) };
        (at, chosen.unwrap_or(start + first))
    }

    /// The slot whose warp a scheduler issues at `now`, after the one that it issued last.
    pub fn pick(&self, scheduler: usize, last: usize, now: u64, takes: &Takes) -> Option<usize> {
        let slots = self.range(scheduler);
        let greedy = self.policy != Policy::LooseRoundRobin;
        if greedy && slots.contains(&last) && self.can(last, now, takes) {
            return Some(last);
        }
        if self.policy == Policy::GreedyThenOldestBlock {
            return self.oldest(slots, now, takes);
        }
        let after = (last + 1).clamp(slots.start, slots.end);
        let mut others = (after..slots.end).chain(slots.start..after);
        others.find(|slot| self.can(*slot, now, takes))
    }

    /// The slot of those that can issue whose turn is first.
    fn oldest(&self, slots: Range<usize>, now: u64, takes: &Takes) -> Option<usize> {
        let first = slots.start;
        let (ready, wants) = (&self.ready_at[slots.clone()], &self.wants[slots.clone()]);
        let turns = &self.turn[slots];
        let mut best: Option<(usize, (u64, u64))> = None;
        for slot in 0..ready.len().min(wants.len()).min(turns.len()) {
            if ready[slot] <= now
                && takes[usize::from(wants[slot])] <= now
                && best.is_none_or(|(_, least)| turns[slot] < least)
            {
                best = Some((first + slot, turns[slot]));
            }
        }
        best.map(|(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::pipes::MOST_WANTS;
    use crate::sim::random::numbers;

    /// What is found by the bound on the other warps is what looking at all of them finds, whatever becomes ready and
    /// however long pipes are busy.
    #[test]
    fn a_bound_finds_what_a_look_finds() {
        let mut any = numbers();
        let mut quick = 0;
        for policy in
            [Policy::GreedyThenRoundRobin, Policy::GreedyThenOldestBlock, Policy::LooseRoundRobin]
        {
            let mut slots = Slots::new(policy, 2, 8);
            let mut takes = [0; MOST_WANTS];
            let (mut now, mut last) = (0, [0, 8]);
            for slot in 0..slots.len() {
                slots.set(slot, any(30), 0, (any(3), 0));
            }
            for step in 0..20_000 {
                let slot = any(slots.len() as u64) as usize;
                match any(12) {
                    0 => _ = slots.set_ready(slot, NEVER),
                    1 => _ = slots.set_ready(slot, now + any(20)),
                    2 => _ = slots.set(slot, now + any(60), any(3) as u8, (any(3), now + any(9))),
                    _ => {}
                }
                if any(8) == 0 {
                    let pipe = 1 + any(2) as usize;
                    takes[pipe] = takes[pipe].max(now + any(12));
                }
                let scheduler = any(2) as usize;
                let last = &mut last[scheduler];
                let from = now + any(3);
                let earliest = slots.range(scheduler).map(|slot| slots.can_at(slot, &takes)).min();
                let before = slots.first[scheduler].1;
                let (at, chosen) = slots.next(scheduler, *last, from, &takes);
                assert_eq!(at, earliest.unwrap_or(NEVER).max(from), "step {step}");
                if at == NEVER {
                    continue;
                }
                quick += u32::from(at < before);
                assert_eq!(slots.pick(scheduler, *last, at, &takes), Some(chosen), "step {step}");
                *last = chosen;
                // It issues, and its warp goes on later.
                slots.set(chosen, at + [1, any(200)][any(2) as usize], any(3) as u8, (any(3), at));
                now = at;
            }
        }
        assert!(quick > 5_000, "{quick}");
    }
}
