//! Loops that the assembler repeats: four turns of a short loop become one block of machine code.
//!
//! That saves three of four comparisons and branches, and loads of several turns are under way at
//! once. A trace has the turns one after the other; here four in a row become the events of the
//! block that stands for them.

use std::collections::HashMap;

use ptx_isa::{Class, Operation};
use ptx_parse::code::{Flow, Function};

use crate::event::{AccessKind, Event, Instruction, Register};
use crate::facts::Facts;

/// Turns that one block stands for, the most first.
const TURNS: [usize; 2] = [4, 2];

/// A loop that is repeated, by the numbers of its function's instructions.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub start: u32,
    pub end: u32,
    /// What only the last of several turns needs.
    once: Vec<u32>,
    /// Additions of a constant to a register: all turns start from its first value.
    steps: Vec<u32>,
    /// Whether less than four turns are repeated too: the assembler does not know how many there are.
    halves: bool,
}

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
    versions: Vec<Version>,
}

/// The repeated loops of a kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loops {
    list: Vec<Loop>,
}

/// The loops of a function that the assembler repeats. `most` is for the instructions of four turns.
pub(crate) fn candidates(
    most: u32,
    source: &str,
    function: &Function,
    facts: &[Facts<'_>],
) -> Vec<Candidate> {
    let found = function.blocks.iter().filter_map(|b| {
        let turns_back = (b.end as usize).checked_sub(1).filter(|last| {
            matches!(function.insts[*last].flow,
                Flow::Bra(t) if function.blocks[t as usize].start == b.start)
        });
        candidate(most, source, function, facts, (b.start, b.end), turns_back?)
    });
    found.collect()
}

fn candidate(
    most: u32,
    source: &str,
    function: &Function,
    facts: &[Facts<'_>],
    (start, end): (u32, u32),
    branch: usize,
) -> Option<Candidate> {
    let guard = facts[branch].instruction.guard.filter(|_| !facts[branch].folded)?;
    let before = start.checked_sub(1).map_or(0, |i| function.insts[i as usize].span.end);
    let text = source.get(before as usize..function.insts[branch].span.end as usize)?;
    if text.contains("nounroll") {
        return None;
    }
    let body: Vec<usize> = (start as usize..branch).filter(|i| !facts[*i].folded).collect();
    let plain = |i: &usize| {
        let f = &facts[*i];
        matches!(function.insts[*i].flow, Flow::Next)
            && !f.instruction.orders
            && repeats(&f.instruction)
    };
    if !body.iter().all(plain) {
        return None;
    }
    let writers = |r: Register| {
        body.iter().copied().filter(move |i| facts[*i].instruction.writes.contains(&r))
    };
    let step = |i: usize| {
        let f = &facts[i];
        let i = &f.instruction;
        matches!(f.op, Operation::Add | Operation::Sub)
            && f.constants == 1
            && i.guard.is_none()
            && i.reads[..] == i.writes[..]
            && i.writes.len() == 1
            && writers(i.writes[0]).count() == 1
    };
    let compare = writers(guard).next_back().filter(|i| facts[*i].op == Operation::Compare)?;
    let counts = |r: &Register| writers(*r).next().is_some_and(step);
    let fixed = |r: &Register| writers(*r).next().is_none();
    let reads = &facts[compare].instruction.reads;
    if !(reads.iter().any(counts) && reads.iter().all(|r| counts(r) || fixed(r))) {
        return None;
    }
    let size: u32 = body.iter().map(|i| size(&facts[*i].instruction)).sum();
    let equality = facts[compare].opcode.has(".ne") || facts[compare].opcode.has(".eq");
    let stores = body.iter().any(|i| {
        let i = &facts[*i].instruction;
        i.class.is_memory() && i.kind != AccessKind::Load
    });
    // Loops that only load are worth more, where the bound is no multiple of turns counted before.
    let most = if equality || stores { most } else { most * 7 / 5 };
    if (size + 1) * TURNS[0] as u32 > most {
        return None;
    }
    let steps: Vec<usize> = body.iter().copied().filter(|i| step(*i)).collect();
    // Counters that nobody else reads, and addresses whose steps fit into the accesses.
    let only_counts = |i: &usize| {
        let r = facts[*i].instruction.writes[0];
        body.iter().filter(|j| **j != *i && **j != compare).all(|j| {
            let f = &facts[*j];
            let reads = f.instruction.reads.contains(&r) || f.instruction.guard == Some(r);
            !reads || f.instruction.class.is_memory() && f.place.is_some_and(|p| p.base == Some(r))
        })
    };
    let mut once: Vec<u32> = steps.iter().filter(|i| only_counts(i)).map(|i| *i as u32).collect();
    once.extend([compare as u32, branch as u32]);
    let steps = steps.into_iter().map(|i| i as u32).collect();
    Some(Candidate { start, end, once, steps, halves: !equality })
}

/// Whether the assembler repeats a loop with this instruction.
fn repeats(i: &Instruction) -> bool {
    let across = matches!(
        i.class,
        Class::Barrier
            | Class::WarpSync
            | Class::Shuffle
            | Class::Vote
            | Class::Match
            | Class::Redux
            | Class::AtomicGlobal
            | Class::AtomicShared
            | Class::Branch
    );
    !across && !i.class.has_branches()
}

/// Machine instructions, roughly.
fn size(i: &Instruction) -> u32 {
    let own = match i.class {
        Class::IntAdd64 | Class::Shift64 | Class::CompareSelect => 2,
        Class::IntMul64 | Class::F32Scaled => 4,
        _ => 1,
    };
    own + i.extra_slots
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
        let (once, steps) = (numbers(&candidate.once), numbers(&candidate.steps));
        let contiguous = pcs.windows(2).all(|w| w[1] == w[0] + 1);
        let Some(&first) = pcs.first().filter(|_| contiguous) else { return Vec::new() };
        let mut stands_for = Vec::new();
        let mut versions = Vec::new();
        for &turns in &TURNS[..if candidate.halves { 2 } else { 1 }] {
            leaders.push(code.len() as u32);
            let mut now: HashMap<Register, Register> = HashMap::new();
            let mut events = Vec::new();
            for turn in 0..turns {
                let last = turn + 1 == turns;
                for (at, pc) in pcs.iter().enumerate() {
                    if !last && once.contains(pc) {
                        continue;
                    }
                    let own = copy(&code[*pc as usize], steps.contains(pc), last, &mut now, words);
                    events.push(((turn * pcs.len() + at) as u32, code.len() as u32));
                    stands_for.push(*pc);
                    code.push(own);
                }
            }
            versions.push(Version { turns, events });
        }
        self.list.push(Loop { first, len: pcs.len(), versions });
        stands_for
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
            for version in &own.versions {
                while turns >= version.turns {
                    out.extend_from_slice(&events[done..at]);
                    let turn =
                        |&(index, pc): &(u32, u32)| Event { pc, ..events[at + index as usize] };
                    out.extend(version.events.iter().map(turn));
                    at += version.turns * own.len;
                    turns -= version.turns;
                    done = at;
                }
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

/// An instruction in one of several turns. Values of all but the last turn get registers of their own.
fn copy(
    instruction: &Instruction,
    step: bool,
    last: bool,
    now: &mut HashMap<Register, Register>,
    words: &mut Vec<u8>,
) -> Instruction {
    let mut own = instruction.clone();
    // Another turn's address may be another one.
    own.place = None;
    let name = |r: &Register| now.get(r).copied().unwrap_or(*r);
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
