//! Values that have no register: where a directive allows fewer than a kernel needs, the assembler
//! keeps some in local memory.
//!
//! Within a block, the value that is needed last gives up its register, and is loaded again where it is
//! read; a value that will be loaded is stored once, right where it is made.

use std::collections::{HashMap, HashSet};

use ptx_parse::code::Function;

use crate::event::{Instruction, Register};
use crate::live;

/// Loads before and stores behind each instruction, by its number.
#[derive(Debug, Default)]
pub(crate) struct Spills {
    pub loads: HashMap<u32, Vec<Register>>,
    pub stores: HashMap<u32, Vec<Register>>,
    /// Where each value lies in a thread's local memory, in words.
    pub slots: HashMap<Register, u32>,
    /// Words of all.
    pub words: u32,
}

/// Needed after the block's end.
const BEHIND: usize = usize::MAX - 1;
/// Not needed any more.
const DEAD: usize = usize::MAX;

/// Finds the spills of a function in whose blocks `pcs` are left. `room` is the number of words that
/// registers hold, `words` gives the size of a value; values without words need no register.
pub(crate) fn spills(
    function: &Function,
    pcs: &[Vec<u32>],
    instructions: &[Instruction],
    registers: usize,
    room: u32,
    words: &dyn Fn(Register) -> u32,
) -> Spills {
    let of = |pc: &u32| &instructions[*pc as usize];
    let ends = live::at_block_ends(function, registers, |b: usize| pcs[b].iter().map(of));
    let mut out = Spills::default();
    // What comes from another block and has to lie in memory, and values made here that do.
    let mut outside: HashSet<Register> = HashSet::new();
    let mut made: HashSet<(u32, Register)> = HashSet::new();
    for (b, (list, end)) in pcs.iter().zip(&ends).enumerate() {
        let mut block = Block::new(list, instructions, end, room, words);
        block.enter(&mut outside);
        let first: Vec<Register> = block.held.keys().copied().collect();
        for at in 0..list.len() {
            block.step(at, &mut outside, &mut made, &mut out.loads);
        }
        // The next turn of a loop expects what this one had.
        let again = function.blocks[b].succs.contains(&(b as u32));
        if let Some(last) = list.last().filter(|_| again) {
            let mut back: Vec<Register> =
                first.into_iter().filter(|r| block.away.contains_key(r)).collect();
            back.sort_unstable();
            outside.extend(&back);
            out.loads.entry(*last).or_default().extend(back);
        }
    }
    let stores = |r: &Register, pc: &u32, last: bool| {
        made.contains(&(*pc, *r)) || last && outside.contains(r)
    };
    for (list, end) in pcs.iter().zip(&ends) {
        for (at, pc) in list.iter().enumerate() {
            for r in &of(pc).writes {
                let again = list[at + 1..].iter().any(|p| of(p).writes.contains(r));
                if stores(r, pc, !again && end.contains(*r)) {
                    out.stores.entry(*pc).or_default().push(*r);
                }
            }
        }
    }
    let mut all: Vec<Register> = out.stores.values().flatten().copied().collect();
    all.extend(out.loads.values().flatten());
    all.sort_unstable();
    all.dedup();
    for r in all {
        out.slots.insert(r, out.words);
        out.words += words(r);
    }
    out
}

/// The registers of one block, instruction by instruction.
struct Block<'a> {
    list: &'a [u32],
    instructions: &'a [Instruction],
    end: &'a live::Set,
    room: u32,
    words: &'a dyn Fn(Register) -> u32,
    /// Where each register is read.
    uses: HashMap<Register, Vec<usize>>,
    /// What registers hold, and the instruction that made it, if it is one of this block.
    held: HashMap<Register, Option<u32>>,
    /// Those that lie in memory only, likewise.
    away: HashMap<Register, Option<u32>>,
}

impl<'a> Block<'a> {
    fn new(
        list: &'a [u32],
        instructions: &'a [Instruction],
        end: &'a live::Set,
        room: u32,
        words: &'a dyn Fn(Register) -> u32,
    ) -> Self {
        let mut uses: HashMap<Register, Vec<usize>> = HashMap::new();
        for (at, pc) in list.iter().enumerate() {
            let i = &instructions[*pc as usize];
            for r in i.reads.iter().chain(&i.guard) {
                uses.entry(*r).or_default().push(at);
            }
        }
        let (held, away) = (HashMap::new(), HashMap::new());
        Self { list, instructions, end, room, words, uses, held, away }
    }

    /// When a value is needed next, from an instruction on.
    fn next(&self, r: Register, from: usize) -> usize {
        let list = self.uses.get(&r).map_or(&[][..], |u| &u[..]);
        let behind = if self.end.contains(r) { BEHIND } else { DEAD };
        list.get(list.partition_point(|at| *at < from)).copied().unwrap_or(behind)
    }

    /// Takes in what is needed first of the values that live at the block's start.
    fn enter(&mut self, outside: &mut HashSet<Register>) {
        let mut live = self.end.clone();
        for pc in self.list.iter().rev() {
            live::step(&self.instructions[*pc as usize], &mut live);
        }
        let mut all: Vec<Register> = live.iter().filter(|r| (self.words)(*r) > 0).collect();
        all.sort_by_key(|r| (self.next(*r, 0), *r));
        let mut used = 0;
        for r in all {
            used += (self.words)(r);
            if used <= self.room {
                self.held.insert(r, None);
            } else {
                self.away.insert(r, None);
                outside.insert(r);
            }
        }
    }

    fn step(
        &mut self,
        at: usize,
        outside: &mut HashSet<Register>,
        made: &mut HashSet<(u32, Register)>,
        loads: &mut HashMap<u32, Vec<Register>>,
    ) {
        let pc = self.list[at];
        let i = &self.instructions[pc as usize];
        for r in &i.reads {
            if let Some(from) = self.away.remove(r) {
                loads.entry(pc).or_default().push(*r);
                self.held.insert(*r, from);
            }
        }
        self.make_room(at, &i.reads, outside, made);
        let dead: Vec<Register> =
            self.held.keys().copied().filter(|r| self.next(*r, at + 1) == DEAD).collect();
        for r in dead {
            self.held.remove(&r);
        }
        for w in i.writes.iter().filter(|w| (self.words)(**w) > 0) {
            self.away.remove(w);
            self.held.insert(*w, Some(pc));
        }
        self.make_room(at + 1, &i.writes, outside, made);
    }

    /// Gives up registers until the rest fits.
    fn make_room(
        &mut self,
        from: usize,
        kept: &[Register],
        outside: &mut HashSet<Register>,
        made: &mut HashSet<(u32, Register)>,
    ) {
        loop {
            let used: u32 = self.held.keys().map(|r| (self.words)(*r)).sum();
            if used <= self.room {
                return;
            }
            let others = self.held.keys().copied().filter(|r| !kept.contains(r));
            let Some(last) = others.max_by_key(|r| (self.next(*r, from), *r)) else { return };
            let next = self.next(last, from);
            let Some(origin) = self.held.remove(&last) else { return };
            if next == DEAD {
                continue;
            }
            match origin {
                Some(pc) => {
                    made.insert((pc, last));
                }
                None => {
                    outside.insert(last);
                }
            }
            self.away.insert(last, origin);
        }
    }
}
