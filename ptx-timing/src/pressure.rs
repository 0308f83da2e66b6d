//! How many words of registers an order of a block's instructions keeps alive.

use std::collections::HashSet;

use crate::arguments;
use crate::event::{Code, Instruction, Register};
use crate::flights::loads;
use crate::live;
use crate::routines::{KNOWN_QUOTIENT, Routine};
use ptx_isa::Class;

/// The size of each register in 32-bit words. Predicates have registers of their own and count as nothing.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    words: Vec<u8>,
    /// Registers whose value the assembler fetches anew in each block: from where a block reads it first to
    /// where it does last, they are in use. Special registers are such, and the arguments that a
    /// multiply-add takes besides another constant; other arguments are operands as they are.
    fetched: Vec<bool>,
    /// Registers that only ever hold an argument of the kernel.
    arguments: HashSet<Register>,
    /// Whether what is done by a routine needs more registers meanwhile.
    routines: bool,
    /// Whether arguments are fetched from constant memory while what their readers wait for is loaded.
    early: bool,
}

impl Sizes {
    pub fn new(code: &Code, routines: bool) -> Self {
        let mut words = code.words.clone();
        let count = words.len();
        let mut made = vec![false; count];
        let mut argument = vec![false; count];
        let mut special = vec![false; count];
        let mut added = vec![false; count];
        let mark = |list: &mut [bool], r: Register| {
            if let Some(flag) = list.get_mut(r as usize) {
                *flag = true;
            }
        };
        for i in &code.instructions {
            let plain = i.guard.is_none() && i.reads.is_empty();
            let list = match i.class {
                Class::LoadParam => &mut argument,
                Class::SpecialRegister if plain => &mut special,
                _ => &mut made,
            };
            i.writes.iter().for_each(|w| mark(list, *w));
            if arguments::adds_wide(i) {
                i.reads.iter().for_each(|r| mark(&mut added, *r));
            }
        }
        let fetched = (0..count)
            .map(|r| {
                let (argument, special) = (argument[r] && !special[r], special[r] && !argument[r]);
                if argument && !made[r] && !added[r] {
                    words[r] = 0;
                }
                !made[r] && (argument || special) && words[r] > 0
            })
            .collect();
        let fetched = derived(code, &words, fetched);
        Self {
            words,
            fetched,
            arguments: arguments::of(&code.instructions),
            routines,
            early: false,
        }
    }

    /// The same where special registers and what is made of them stay in registers, and arguments come early.
    pub fn keeping(&self) -> Self {
        let kept = |r: usize| self.fetched[r] && self.arguments.contains(&(r as Register));
        Self { fetched: (0..self.fetched.len()).map(kept).collect(), early: true, ..self.clone() }
    }

    /// Instructions that make each register of special registers and constants alone, if those are few.
    pub fn costs(&self, code: &Code) -> Vec<Option<u32>> {
        let made = makers(code, self.fetched.len());
        let mut costs: Vec<Option<u32>> = self.fetched.iter().map(|f| f.then_some(0)).collect();
        for i in &code.instructions {
            let &[w] = &i.writes[..] else { continue };
            let cheap = computes(i.class) || matches!(i.class, Class::IntMul | Class::IntMinMax);
            let own = operands(i).into_iter().filter(|r| self.of(*r) > 0);
            let own = own.map(|r| costs.get(r as usize).copied().flatten());
            let cost = own.sum::<Option<u32>>().map(|own| own + 1).filter(|c| *c <= ANEW);
            let w = w as usize;
            if cheap && i.guard.is_none() && made.get(w) == Some(&1) && costs[w].is_none() {
                costs[w] = cost;
            }
        }
        costs
    }

    /// The same where those of some registers that few instructions make are made anew in each block.
    pub fn anew(&self, some: impl Iterator<Item = Register>, costs: &[Option<u32>]) -> Self {
        let mut fetched = self.fetched.clone();
        for r in some.map(|r| r as usize) {
            if let (Some(Some(_)), Some(fetched)) = (costs.get(r), fetched.get_mut(r)) {
                *fetched = true;
            }
        }
        Self { fetched, ..self.clone() }
    }

    pub fn of(&self, register: Register) -> u32 {
        self.words.get(register as usize).map_or(1, |w| u32::from(*w))
    }

    /// Whether a register only ever holds an argument of the kernel and is one of the file.
    pub fn argument(&self, register: Register) -> bool {
        self.arguments.contains(&register) && self.of(register) > 0
    }

    pub fn fetched(&self, register: Register) -> bool {
        self.fetched.get(register as usize).copied().unwrap_or(false)
    }

    /// Words that an instruction takes while it runs, besides operands and results.
    pub fn scratch(&self, i: &Instruction) -> u32 {
        match i.class {
            _ if !self.routines => 0,
            Class::LoadGlobal if i.fragment && i.reads.len() > 1 => STRIDED_FRAGMENT,
            Class::IntDivKnown => KNOWN_QUOTIENT,
            _ => 0,
        }
    }

    /// The routine that does an instruction, if there is one.
    pub fn routine(&self, i: &Instruction) -> Option<Routine> {
        let registers = i.reads.iter().filter(|r| self.of(**r) > 0).count();
        Routine::of(i, registers).filter(|_| self.routines)
    }

    fn sum(&self, live: &live::Set) -> u32 {
        live.iter().map(|r| self.of(r)).sum()
    }
}

/// How many instructions make each register.
fn makers(code: &Code, registers: usize) -> Vec<u32> {
    let mut made = vec![0_u32; registers];
    for w in code.instructions.iter().flat_map(|i| &i.writes) {
        if let Some(count) = made.get_mut(*w as usize) {
            *count += 1;
        }
    }
    made
}

/// Whether an instruction of this class costs little.
fn computes(class: Class) -> bool {
    use Class::{IntAdd, IntAdd3, Logic, Shift, ShiftLeft};
    matches!(class, IntAdd | IntAdd3 | Logic | Shift | ShiftLeft)
}

/// Adds what one cheap instruction makes of a special register: it is computed again where it is needed.
fn derived(code: &Code, words: &[u8], fetched: Vec<bool>) -> Vec<bool> {
    let made = makers(code, fetched.len());
    let mut out = fetched.clone();
    for i in &code.instructions {
        let &[w] = &i.writes[..] else { continue };
        let of = |r: &Register| words.get(*r as usize).is_none_or(|w| *w > 0);
        let mut reads = i.reads.iter().filter(|r| of(r));
        let first = reads.next().is_some_and(|r| fetched.get(*r as usize) == Some(&true));
        if computes(i.class) && i.guard.is_none() && first && reads.next().is_none() {
            let w = w as usize;
            out[w] = made[w] == 1 && words[w] > 0;
        }
    }
    out
}

/// Instructions that are done again in another block where that saves a register, at most.
const ANEW: u32 = 6;

/// Words that a load of a `wmma` fragment from global memory needs while it runs, where the distance of rows is not
/// known: addresses of its lanes in two rows, and how far these are from the first lane's. By ptxas 13.5, with 16 to 40
/// values besides.
const STRIDED_FRAGMENT: u32 = 8;

/// What an instruction reads, each once.
pub(crate) fn operands(i: &Instruction) -> Vec<Register> {
    let mut operands = i.reads.to_vec();
    operands.sort_unstable();
    operands.dedup();
    operands
}

/// What lives at a point of a block, going backwards.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub live: live::Set,
    words: u32,
    /// What is fetched anew in a block, and how often what is left of the block reads it.
    left: Vec<(Register, u32)>,
}

impl Point {
    /// Goes over an instruction; the most words that live around it.
    pub fn back(&mut self, i: &Instruction, sizes: &Sizes) -> u32 {
        // Results need a place even if nobody reads them.
        let dead: u32 =
            i.writes.iter().filter(|w| !self.live.contains(**w)).map(|w| sizes.of(*w)).sum();
        let most = self.words + dead;
        if i.replaces() {
            for &w in &i.writes {
                if self.live.contains(w) {
                    self.words -= sizes.of(w);
                    self.live.remove(w);
                }
            }
        }
        // What a routine takes beyond others, and what its operands are.
        let routine = sizes.routine(i).map(|routine| {
            let operands = operands(i);
            let words = |later: bool| -> u32 {
                let some = operands.iter().filter(|r| !later || self.live.contains(**r));
                some.map(|r| sizes.of(*r)).sum()
            };
            (words(false), routine.least + routine.copied(words(true)))
        });
        for &r in i.reads.iter().chain(&i.guard) {
            if !self.live.contains(r) {
                self.words += sizes.of(r);
                self.live.insert(r);
            }
        }
        let routine = routine.map_or(0, |(own, least)| self.words - own + least);
        let most = most.max(self.words).max(routine) + sizes.scratch(i);
        for &r in i.reads.iter().chain(&i.guard).filter(|r| sizes.fetched(**r)) {
            let Some((_, left)) = self.left.iter_mut().find(|l| l.0 == r) else { continue };
            *left -= 1;
            if *left == 0 {
                self.words -= sizes.of(r);
                self.live.remove(r);
            }
        }
        most
    }

    /// What going over an instruction would free.
    fn gain(&self, i: &Instruction, sizes: &Sizes) -> i64 {
        let sum = |all: i64, r: &Register, there: bool| {
            if self.live.contains(*r) == there { all + i64::from(sizes.of(*r)) } else { all }
        };
        let freed =
            if i.replaces() { i.writes.iter().fold(0, |all, w| sum(all, w, true)) } else { 0 };
        freed - i.reads.iter().chain(&i.guard).fold(0, |all, r| sum(all, r, false))
    }
}

/// Instructions of a block, or of a piece of it, and what lives behind them.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub list: &'a [Instruction],
    pub end: live::Set,
    /// What the loop around them reads.
    pub looped: &'a [Register],
}

impl Piece<'_> {
    /// The most words that live in an order.
    pub fn peak(&self, order: &[u32], sizes: &Sizes) -> u32 {
        let mut at = self.behind(sizes);
        let most = at.words;
        order.iter().rev().fold(most, |most, i| most.max(at.back(&self.list[*i as usize], sizes)))
    }

    /// What lives behind all of them.
    pub fn behind(&self, sizes: &Sizes) -> Point {
        let mut live = self.end.clone();
        let gone: Vec<Register> = live.iter().filter(|r| sizes.fetched(*r)).collect();
        gone.into_iter().for_each(|r| live.remove(r));
        let words = sizes.sum(&live);
        let mut left: Vec<(Register, u32)> = Vec::new();
        let reads = self.list.iter().flat_map(|i| i.reads.iter().chain(&i.guard));
        for &r in reads.filter(|r| sizes.fetched(**r)) {
            match left.iter_mut().find(|l| l.0 == r) {
                Some((_, count)) => *count += 1,
                None => left.push((r, 1)),
            }
        }
        if sizes.early {
            let early = self.beside_loaded(sizes);
            left.retain(|left| !early.contains(&left.0));
        }
        let mut at = Point { live, words, left };
        for &r in self.looped.iter().filter(|r| sizes.fetched(**r)) {
            at.left.retain(|left| left.0 != r);
            if !at.live.contains(r) {
                at.live.insert(r);
                at.words += sizes.of(r);
            }
        }
        at
    }

    /// What is fetched and goes together with what is made of a load of this piece.
    fn beside_loaded(&self, sizes: &Sizes) -> HashSet<Register> {
        let mut found = HashSet::new();
        let mut loaded: HashSet<Register> = HashSet::new();
        for i in self.list {
            let depends = i.reads.iter().any(|r| loaded.contains(r));
            if depends {
                found.extend(i.reads.iter().copied().filter(|r| sizes.fetched(*r)));
            }
            if depends || loads(i) {
                loaded.extend(&i.writes);
            } else {
                i.writes.iter().for_each(|w| {
                    loaded.remove(w);
                });
            }
        }
        found
    }

    /// An order that keeps few words alive: the text's, or one made from the end, which always takes the
    /// instruction that frees most, of several the one that the text has last. Also says how many live at
    /// most. `before` gives the instructions that each has to come behind.
    pub fn lean(&self, before: &[Vec<u32>], sizes: &Sizes) -> (Vec<u32>, u32) {
        let n = self.list.len();
        let mut behind = vec![0_u32; n];
        before.iter().flatten().for_each(|b| behind[*b as usize] += 1);
        let mut ready: Vec<usize> = (0..n).filter(|i| behind[*i] == 0).collect();
        let mut at = self.behind(sizes);
        let mut most = at.words;
        let mut order = Vec::with_capacity(n);
        while !ready.is_empty() {
            let best = (0..ready.len())
                .max_by_key(|&r| (at.gain(&self.list[ready[r]], sizes), ready[r]))
                .unwrap_or(0);
            let chosen = ready.swap_remove(best);
            most = most.max(at.back(&self.list[chosen], sizes));
            order.push(chosen as u32);
            for &b in &before[chosen] {
                behind[b as usize] -= 1;
                if behind[b as usize] == 0 {
                    ready.push(b as usize);
                }
            }
        }
        order.reverse();
        let text: Vec<u32> = (0..n as u32).collect();
        let own = self.peak(&text, sizes);
        if own <= most { (text, own) } else { (order, most) }
    }
}

/// The rest of a piece while an order is made from its start: instructions go ahead of others as far as
/// registers last.
pub(crate) struct Rest<'a> {
    piece: &'a Piece<'a>,
    sizes: &'a Sizes,
    most: u32,
    /// What is left, and what lives behind each.
    left: Vec<u32>,
    behind: Vec<Point>,
}

impl<'a> Rest<'a> {
    pub fn new(piece: &'a Piece<'a>, order: Vec<u32>, sizes: &'a Sizes, most: u32) -> Self {
        let mut at = piece.behind(sizes);
        let mut behind = Vec::with_capacity(order.len());
        for i in order.iter().rev() {
            behind.push(at.clone());
            at.back(&piece.list[*i as usize], sizes);
        }
        behind.reverse();
        Self { piece, sizes, most, left: order, behind }
    }

    /// The instruction that comes next if none goes ahead.
    pub fn next(&self) -> Option<u32> {
        self.left.first().copied()
    }

    /// Takes instructions as the next ones, in the order that they have, if registers last for that and some words
    /// are left.
    pub fn take(&mut self, group: &[u32], reserve: u32) -> bool {
        let most = self.most.saturating_sub(reserve);
        let Some(last) = self.left.iter().rposition(|i| group.contains(i)) else { return false };
        let mut at = self.behind[last].clone();
        let (first, others): (Vec<u32>, Vec<u32>) =
            self.left[..=last].iter().partition(|i| group.contains(i));
        let mut points = Vec::with_capacity(others.len());
        let moves = !others.is_empty();
        for i in others.iter().rev() {
            points.push(at.clone());
            if at.back(&self.piece.list[*i as usize], self.sizes) > most {
                return false;
            }
        }
        for i in first.iter().rev() {
            if at.back(&self.piece.list[*i as usize], self.sizes) > most && moves {
                return false;
            }
        }
        self.left.splice(..=last, others);
        points.reverse();
        self.behind.splice(..=last, points);
        true
    }

    /// Whether an instruction frees as much as it takes, as the next one.
    pub fn frees(&self, instruction: u32) -> bool {
        let Some(place) = self.left.iter().position(|i| *i == instruction) else { return false };
        let last = |r: &Register| {
            let later = self.left.iter().filter(|i| **i != instruction);
            !self.piece.end.contains(*r)
                && !later.into_iter().any(|i| self.piece.list[*i as usize].reads.contains(r))
        };
        let i = &self.piece.list[self.left[place] as usize];
        let freed: u32 = i.reads.iter().filter(|r| last(r)).map(|r| self.sizes.of(*r)).sum();
        // What it changes stays where it is.
        let new = i.writes.iter().filter(|w| !i.reads.contains(w));
        freed >= new.map(|w| self.sizes.of(*w)).sum()
    }
}
