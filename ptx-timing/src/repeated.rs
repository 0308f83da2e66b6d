//! The machine code of loops that the assembler repeats, and which events of a trace it stands for.
//!
//! A trace has the turns of a loop one after the other; here those that make one block of machine code become the
//! events of that block.

use std::collections::{HashMap, HashSet};

use crate::event::{Arrives, Detail, Event, Instruction, Register, WarpTrace};
use crate::loop_body::{Folds, SharedLoad};
use crate::pattern::Patterns;
use crate::rungs::{Rung, rungs};
use crate::unroll::{Apart, Candidate};

/// The machine code of several turns.
#[derive(Debug, Clone)]
struct Version {
    turns: usize,
    /// For each instruction: the event among those of the turns, and its own number.
    events: Vec<(u32, u32)>,
    /// Instructions that load what several turns did, by their places among these, ascending: the bytes of a lane, and
    /// how far the first one is ahead of the event's own.
    wide: Vec<(usize, (u32, i64))>,
}

impl Version {
    /// The events that it makes of those of its turns.
    fn apply(
        &self,
        events: &[Event],
        trace: &mut WarpTrace,
        patterns: &mut Patterns,
        out: &mut Vec<Event>,
    ) {
        let start = out.len();
        out.extend(self.events.iter().map(|&(index, pc)| Event { pc, ..events[index as usize] }));
        self.widen(trace, patterns, &mut out[start..]);
    }

    /// Makes wide loads of those among its events.
    fn widen(&self, trace: &mut WarpTrace, patterns: &mut Patterns, events: &mut [Event]) {
        for (place, more) in &self.wide {
            events[*place] = trace.widen(patterns, events[*place], *more);
        }
    }

    /// The events that it makes of those of all turns, for lanes that begin with different ones. Of these, some go
    /// through such a block again.
    fn apply_apart(
        &self,
        own: &Loop,
        (events, rung, again): (&[Event], &Rung, u32),
        trace: &mut WarpTrace,
        patterns: &mut Patterns,
        out: &mut Vec<Event>,
    ) {
        let start = out.len();
        for &(index, pc) in &self.events {
            let at = |turns: usize| turns * own.len + index as usize;
            let parts = rung.groups.iter().map(|&(lanes, turns)| (lanes, events[at(turns)]));
            let event = trace.gather(patterns, pc, parts);
            out.push(event);
        }
        self.widen(trace, patterns, &mut out[start..]);
        if let Some(last) = out[start..].last_mut() {
            last.active = rung.lanes();
            last.detail = own.parts(again, rung.lanes());
        }
    }
}

/// An instruction of a version before it is numbered.
struct Copied {
    /// The event among those of the turns.
    event: u32,
    /// What it is a copy of.
    pc: u32,
    own: Instruction,
    /// A load from shared memory: how far its bytes are from its address register in the first turn.
    load: Option<(SharedLoad, i64)>,
    /// What it loads besides its own bytes.
    wide: Option<(u32, i64)>,
}

#[derive(Debug, Clone)]
struct Loop {
    first: u32,
    /// Instructions of a turn.
    len: usize,
    /// What comes from the entry on, if that is not the start: the instructions ahead of it, and its code with the
    /// turns that go along.
    entered: Option<(usize, Version)>,
    /// A turn that is under a predicate which no lane has.
    apart: Option<Version>,
    versions: Vec<Version>,
    /// One turn, as the text has it: those that are left over.
    single: Version,
    /// What asks whether there are turns of each kind: behind it turns of that kind, or none.
    asks: Vec<[u32; 2]>,
    /// How lanes come to where they meet again that part at its branch.
    arrives: Arrives,
}

impl Loop {
    /// What a branch has that only some of its lanes take.
    fn parts(&self, taken: u32, lanes: u32) -> Detail {
        let others = lanes & !taken;
        if taken == 0 || others == 0 {
            return Detail::None;
        }
        Detail::Diverges { alone: self.arrives.alone(taken.count_ones(), others.count_ones()) }
    }

    /// The events of turns that lanes take different numbers of.
    fn apply_apart(
        &self,
        events: &[Event],
        rungs: &[Rung],
        trace: &mut WarpTrace,
        patterns: &mut Patterns,
        out: &mut Vec<Event>,
    ) {
        let lanes = events[0].active;
        for (at, rung) in rungs.iter().enumerate() {
            let again = rungs.get(at + 1).filter(|next| next.kind == rung.kind);
            let again = again.map_or(0, Rung::lanes);
            let version = self.versions.get(rung.kind).unwrap_or(&self.single);
            version.apply_apart(self, (events, rung, again), trace, patterns, out);
        }
        for (kind, [compare, branch]) in self.asks.iter().enumerate() {
            let first = rungs.iter().find(|rung| rung.kind == kind);
            let detail = self.parts(first.map_or(0, Rung::lanes), lanes);
            out.push(Event { pc: *compare, active: lanes, detail: Detail::None });
            out.push(Event { pc: *branch, active: lanes, detail });
        }
    }
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
        let mut pcs: Vec<u32> = (candidate.start..candidate.end).filter_map(pc).collect();
        pcs.sort_unstable();
        let numbers = |list: &[u32]| -> Vec<u32> { list.iter().filter_map(|i| pc(*i)).collect() };
        let once = numbers(&candidate.once);
        let Folds { known, first, differences } = &candidate.folds;
        let (known, in_first) = (numbers(known), numbers(first));
        let loads: Vec<(u32, SharedLoad)> =
            candidate.loads.iter().filter_map(|load| Some((pc(load.at)?, *load))).collect();
        let steps: Vec<(u32, i64)> =
            candidate.steps.iter().filter_map(|(i, by)| Some((pc(*i)?, *by))).collect();
        let contiguous = pcs.windows(2).all(|w| w[1] == w[0] + 1);
        let Some(&first) = pcs.first().filter(|_| contiguous) else { return Vec::new() };
        let mut renaming =
            Renaming::new(&code[first as usize..first as usize + pcs.len()], first, &steps);
        let made = in_first.iter().flat_map(|pc| code[*pc as usize].writes.iter());
        renaming.differences = made.filter_map(|w| Some((*w, *differences.get(w)?))).collect();
        let mut stands_for = Vec::new();
        let mut versions = Vec::new();
        let apart = (candidate.apart == Apart::Predicated).then_some(1);
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
            let mut copies = Vec::new();
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
                    let load = loads.iter().find(|load| load.0 == *pc).and_then(|(_, load)| {
                        Some((*load, load.offset + renaming.moved(load.base, *pc, turn)?))
                    });
                    let event = (turn * pcs.len() + at - skipped) as u32;
                    copies.push(Copied { event, pc: *pc, own, load, wide: None });
                }
            }
            merge(&mut copies, candidate.ahead, &renaming);
            let mut version = Version { turns, events: Vec::new(), wide: Vec::new() };
            for copied in copies {
                let place = version.events.len();
                version.wide.extend(copied.wide.map(|more| (place, more)));
                version.events.push((copied.event, code.len() as u32));
                stands_for.push(copied.pc);
                code.push(copied.own);
            }
            versions.push(version);
        }
        let entered = entered.map(|(_, ahead)| (ahead, versions.remove(0)));
        let apart = apart.map(|_| versions.remove(0));
        let events = (0..).zip(pcs.iter().copied()).collect();
        let single = Version { turns: 1, events, wide: Vec::new() };
        let arrives = pcs.last().map_or(Arrives::Nowhere, |pc| code[*pc as usize].arrives);
        let mut asks = Vec::new();
        if let (Some(compare), Some(&branch)) = (candidate.asks.and_then(pc), pcs.last()) {
            // Ahead of four turns, of two, of those that are left, and of one that is apart.
            for n in 0..3 + usize::from(candidate.apart == Apart::Branch) {
                leaders.push(code.len() as u32);
                let mut compare_them = code[compare as usize].clone();
                // What is left is a difference.
                compare_them.extra_slots += 1 + if n < 2 { candidate.asks_more } else { 0 };
                asks.push([code.len() as u32, code.len() as u32 + 1]);
                code.extend([compare_them, code[branch as usize].clone()]);
                stands_for.extend([compare, branch]);
            }
        }
        self.list.push(Loop {
            first,
            len: pcs.len(),
            entered,
            apart,
            versions,
            single,
            asks,
            arrives,
        });
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
    pub fn apply(&self, trace: &mut WarpTrace, patterns: &mut Patterns) {
        if self.list.is_empty() {
            return;
        }
        let events = std::mem::take(&mut trace.events);
        let mut out = Vec::new();
        // What of `events` is in `out`.
        let mut done = 0;
        let mut at = 0;
        while at < events.len() {
            if let Some((version, len)) = self.entered(&events[at..]) {
                out.extend_from_slice(&events[done..at]);
                version.apply(&events[at..], trace, patterns, &mut out);
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
            if let Some(first) = own.apart.as_ref().filter(|_| turns > 0) {
                out.extend_from_slice(&events[done..at]);
                done = at;
                let idle =
                    |(_, pc): &(u32, u32)| Event { pc: *pc, active: 0, detail: Detail::None };
                out.extend(first.events.iter().map(idle));
            }
            let masks: Vec<u32> = (0..turns).map(|t| events[at + t * own.len].active).collect();
            let kinds = own.versions.iter().chain([&own.single]).map(|v| v.turns);
            if let Some(rungs) = rungs(&masks, kinds) {
                out.extend_from_slice(&events[done..at]);
                own.apply_apart(&events[at..], &rungs, trace, patterns, &mut out);
                at += turns * own.len;
                done = at;
                continue;
            }
            for version in &own.versions {
                while turns >= version.turns {
                    out.extend_from_slice(&events[done..at]);
                    version.apply(&events[at..], trace, patterns, &mut out);
                    at += version.turns * own.len;
                    turns -= version.turns;
                    done = at;
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
        }
        trace.events = if done > 0 { out } else { events };
    }
}

/// Neighbouring words of shared memory that several turns load are loaded by one instruction, at the place of the
/// first, where the address is known to be aligned. Ahead of these turns are a multiple of `turns`.
fn merge(copies: &mut Vec<Copied>, turns: usize, renaming: &Renaming) {
    let mut gone = vec![false; copies.len()];
    for first in 0..copies.len() {
        let Some((load, own)) = copies[first].load.filter(|_| !gone[first]) else { continue };
        // What turns ahead of these add to the address.
        let step = renaming.moved(load.base, 0, turns).unwrap_or(0);
        let aligned = load.aligned.min((step | 1 << 32).trailing_zeros());
        for (bytes, _) in [(16_i64, 4), (8, 3)].into_iter().filter(|b| b.1 <= aligned) {
            let lowest = own.div_euclid(bytes) * bytes;
            let inside = |other: usize| {
                let (l, at) = copies[other].load.filter(|_| !gone[other])?;
                let within = l.base == load.base && (lowest..lowest + bytes).contains(&at);
                within.then_some((at, i64::from(l.bytes), other))
            };
            let mut members: Vec<(i64, i64, usize)> =
                (first..copies.len()).filter_map(inside).collect();
            members.sort_unstable();
            members.dedup_by_key(|m| m.0);
            let end = members.iter().try_fold(lowest, |at, m| (m.0 == at).then_some(at + m.1));
            if members.len() < 2 || end != Some(lowest + bytes) {
                continue;
            }
            let all = members.iter().flat_map(|m| copies[m.2].own.writes.to_vec()).collect();
            members.iter().for_each(|m| gone[m.2] = m.2 != first);
            copies[first].own.writes = all;
            copies[first].own.place = Some((load.base, lowest, bytes as u32));
            copies[first].wide = Some((bytes as u32, own - lowest));
            break;
        }
    }
    let mut gone = gone.into_iter();
    copies.retain(|_| gone.next() != Some(true));
}

/// What happens to the registers of a loop in a turn.
struct Renaming {
    /// What a register that is stepped gets added in a turn, and the number of the instruction.
    steps: HashMap<Register, (u32, i64)>,
    /// Registers that the loop writes.
    written: HashSet<Register>,
    /// By how much registers would differ from turn to turn that only the first turn writes.
    differences: HashMap<Register, i64>,
}

impl Renaming {
    /// The loop of these instructions, from a number on, with its steps.
    fn new(instructions: &[Instruction], first: u32, steps: &[(u32, i64)]) -> Self {
        let step = |(pc, by): &(u32, i64)| {
            let w = instructions.get((pc - first) as usize)?.writes.first()?;
            Some((*w, (*pc, *by)))
        };
        let written = instructions.iter().flat_map(|i| i.writes.iter().copied()).collect();
        let steps = steps.iter().filter_map(step).collect();
        Self { steps, written, differences: HashMap::new() }
    }

    /// How far from the first turn's bytes an access lies, where that is known: its address register stays, or is
    /// stepped behind or before it.
    fn moved(&self, base: Register, pc: u32, turn: usize) -> Option<i64> {
        match self.steps.get(&base) {
            Some((at, by)) => Some(by * (turn as i64 + i64::from(*at < pc))),
            None if self.differences.contains_key(&base) => {
                Some(self.differences[&base] * turn as i64)
            }
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
            if !instruction.replaces() {
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
