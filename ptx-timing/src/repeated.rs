//! The machine code of loops that the assembler repeats, and which events of a trace it stands for.
//!
//! A trace has the turns of a loop one after the other; here those that make one block of machine code become the
//! events of that block.

use std::collections::{HashMap, HashSet};

use crate::event::{Detail, Event, Instruction, Register};
use crate::unroll::{Candidate, Folds};

/// The machine code of several turns.
#[derive(Debug, Clone)]
struct Version {
    turns: usize,
    /// For each instruction: the event among those of the turns, and its own number.
    events: Vec<(u32, u32)>,
}

#[derive(Debug, Clone)]
struct Loop {
    first: u32,
    /// Instructions of a turn.
    len: usize,
    /// What comes from the entry on, if that is not the start: the instructions ahead of it, and its code with the
    /// turns that go along.
    entered: Option<(usize, Version)>,
    /// The first turn, where it is apart.
    apart: Option<Version>,
    versions: Vec<Version>,
    /// What asks whether there are turns of each kind: behind it turns of that kind, or none.
    asks: Vec<[u32; 2]>,
}

/// The repeated loops of a kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loops {
    list: Vec<Loop>,
}

impl Loops {
    /// Adds a loop: its code for several turns goes behind `code`, and for each such instruction the one
    /// that it stands for is returned. `pc` gives the number of an instruction of the function.
    pub fn add(
        &mut self,
        candidate: &Candidate,
        code: &mut Vec<Instruction>,
        leaders: &mut Vec<u32>,
        words: &mut Vec<u8>,
        pc: &dyn Fn(u32) -> Option<u32>,
    ) -> Vec<u32> {
        let pcs: Vec<u32> = (candidate.start..candidate.end).filter_map(pc).collect();
        let numbers = |list: &[u32]| -> Vec<u32> { list.iter().filter_map(|i| pc(*i)).collect() };
        let once = numbers(&candidate.once);
        let Folds { known, first } = &candidate.folds;
        let (known, in_first) = (numbers(known), numbers(first));
        let steps: Vec<(u32, i64)> =
            candidate.steps.iter().filter_map(|(i, by)| Some((pc(*i)?, *by))).collect();
        let contiguous = pcs.windows(2).all(|w| w[1] == w[0] + 1);
        let Some(&first) = pcs.first().filter(|_| contiguous) else { return Vec::new() };
        let renaming =
            Renaming::new(&code[first as usize..first as usize + pcs.len()], first, &steps);
        let mut stands_for = Vec::new();
        let mut versions = Vec::new();
        let apart = candidate.apart.then_some(1);
        // Instructions that the first turn does not have.
        let ahead = candidate
            .entry
            .filter(|_| candidate.behind_entry.is_some())
            .map_or(0, |e| (candidate.start..e).filter(|i| pc(*i).is_some()).count());
        let entered = candidate.behind_entry.map(|turns| (turns + 1, ahead));
        let whole = apart.into_iter().chain(candidate.turns.iter().copied());
        for (turns, skipped) in entered.into_iter().chain(whole.map(|turns| (turns, 0))) {
            leaders.push(code.len() as u32);
            let mut now: HashMap<Register, Register> = HashMap::new();
            let mut events = Vec::new();
            for turn in 0..turns {
                let last = turn + 1 == turns;
                for (at, pc) in pcs.iter().enumerate() {
                    let first_turn = usize::from(at < skipped);
                    let needless =
                        !last && once.contains(pc) || turn > first_turn && in_first.contains(pc);
                    if needless || known.contains(pc) || turn < first_turn {
                        continue;
                    }
                    let own =
                        renaming.copy(&code[*pc as usize], *pc, (turn, last), &mut now, words);
                    events.push(((turn * pcs.len() + at - skipped) as u32, code.len() as u32));
                    stands_for.push(*pc);
                    code.push(own);
                }
            }
            versions.push(Version { turns, events });
        }
        let entered = entered.map(|(_, ahead)| (ahead, versions.remove(0)));
        let apart = apart.map(|_| versions.remove(0));
        let mut asks = Vec::new();
        if let (Some(compare), Some(&branch)) = (candidate.asks.and_then(pc), pcs.last()) {
            // Ahead of four turns, of two, and of those that are left.
            for _ in 0..3 {
                leaders.push(code.len() as u32);
                let mut compare_them = code[compare as usize].clone();
                // What is left is a difference.
                compare_them.extra_slots += 1;
                asks.push([code.len() as u32, code.len() as u32 + 1]);
                code.extend([compare_them, code[branch as usize].clone()]);
                stands_for.extend([compare, branch]);
            }
        }
        self.list.push(Loop { first, len: pcs.len(), entered, apart, versions, asks });
        stands_for
    }

    /// The code of a loop that is entered in its middle by these events, and how many it stands for.
    fn entered(&self, events: &[Event]) -> Option<(&Version, usize)> {
        let first = events.first()?.pc;
        let (own, ahead, version) = self.list.iter().find_map(|own| {
            let (ahead, version) = own.entered.as_ref()?;
            (own.first + *ahead as u32 == first).then_some((own, *ahead, version))
        })?;
        let len = version.turns * own.len - ahead;
        let through = (ahead..).zip(events.get(..len)?);
        let whole = through.into_iter().all(|(i, e)| e.pc == own.first + (i % own.len) as u32);
        whole.then_some((version, len))
    }

    /// Puts the code for several turns into the place of turns that follow each other.
    pub fn apply(&self, events: &mut Vec<Event>) {
        if self.list.is_empty() {
            return;
        }
        let mut out = Vec::new();
        // What of `events` is in `out`.
        let mut done = 0;
        let mut at = 0;
        while at < events.len() {
            if let Some((version, len)) = self.entered(&events[at..]) {
                out.extend_from_slice(&events[done..at]);
                let turn = |&(index, pc): &(u32, u32)| Event { pc, ..events[at + index as usize] };
                out.extend(version.events.iter().map(turn));
                at += len;
                done = at;
                continue;
            }
            let Some(own) = self.list.iter().find(|l| l.first == events[at].pc) else {
                at += 1;
                continue;
            };
            let whole = |from: usize| {
                let turn = events.get(from..from + own.len);
                turn.is_some_and(|t| t.iter().zip(own.first..).all(|(e, pc)| e.pc == pc))
            };
            let begin = at;
            let mut turns = 0;
            while whole(at + turns * own.len) {
                turns += 1;
            }
            let (from, active) = (turns, events[at].active);
            let mut take = |version: &Version, turns: &mut usize| {
                out.extend_from_slice(&events[done..at]);
                let turn = |&(index, pc): &(u32, u32)| Event { pc, ..events[at + index as usize] };
                out.extend(version.events.iter().map(turn));
                at += version.turns * own.len;
                *turns -= version.turns;
                done = at;
            };
            if let Some(first) = own.apart.as_ref().filter(|_| turns > 0) {
                take(first, &mut turns);
            }
            for version in &own.versions {
                while turns >= version.turns {
                    take(version, &mut turns);
                }
            }
            if from > 0 && !own.asks.is_empty() {
                out.extend_from_slice(&events[done..at]);
                done = at;
                let ask = |pc: &u32| Event { pc: *pc, active, detail: Detail::None };
                out.extend(own.asks.iter().flatten().map(ask));
            }
            at += turns * own.len;
            at += usize::from(at == begin);
        }
        if done > 0 {
            out.extend_from_slice(&events[done..]);
            *events = out;
        }
    }
}

/// What happens to the registers of a loop in a turn.
struct Renaming {
    /// What a register that is stepped gets added in a turn, and the number of the instruction.
    steps: HashMap<Register, (u32, i64)>,
    /// Registers that the loop writes.
    written: HashSet<Register>,
}

impl Renaming {
    /// The loop of these instructions, from a number on, with its steps.
    fn new(instructions: &[Instruction], first: u32, steps: &[(u32, i64)]) -> Self {
        let step = |(pc, by): &(u32, i64)| {
            let w = instructions.get((pc - first) as usize)?.writes.first()?;
            Some((*w, (*pc, *by)))
        };
        let written = instructions.iter().flat_map(|i| i.writes.iter().copied()).collect();
        Self { steps: steps.iter().filter_map(step).collect(), written }
    }

    /// How far from the first turn's bytes an access lies, where that is known: its address register stays, or is
    /// stepped behind or before it.
    fn moved(&self, base: Register, pc: u32, turn: usize) -> Option<i64> {
        match self.steps.get(&base) {
            Some((at, by)) => Some(by * (turn as i64 + i64::from(*at < pc))),
            None => (!self.written.contains(&base)).then_some(0),
        }
    }

    /// An instruction in one of several turns. Values of all but the last turn get registers of their own.
    fn copy(
        &self,
        instruction: &Instruction,
        pc: u32,
        (turn, last): (usize, bool),
        now: &mut HashMap<Register, Register>,
        words: &mut Vec<u8>,
    ) -> Instruction {
        let mut own = instruction.clone();
        own.place = instruction.place.and_then(|(base, offset, bytes)| {
            Some((base, offset + self.moved(base, pc, turn)?, bytes))
        });
        let name = |r: &Register| now.get(r).copied().unwrap_or(*r);
        let step = own.writes.first().and_then(|w| self.steps.get(w)).is_some_and(|s| s.0 == pc);
        if !step {
            own.reads.iter_mut().for_each(|r| *r = name(r));
        }
        own.guard = own.guard.as_ref().map(name);
        for w in &mut own.writes {
            if instruction.guard.is_some() {
                *w = now.get(w).copied().unwrap_or(*w);
            } else if last {
                now.remove(w);
            } else {
                let fresh = words.len() as Register;
                words.push(words.get(*w as usize).copied().unwrap_or(1));
                now.insert(*w, fresh);
                *w = fresh;
            }
        }
        own
    }
}
