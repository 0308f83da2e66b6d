//! Which registers an assembler gives the values of a block.
//!
//! More registers are in use than words live, as read off the machine code of ptxas 13.5:
//! - R1 is the stack pointer.
//! - Values of 64 bits take pairs that start with an even number: what a load brings lies in one half of the pair that
//!   its address was in, and the other half has room for single words only. A chain of 4, 8, 12 and 16 loads whose sum
//!   comes behind them takes 16, 22, 30 and 32 registers. Longer tuples are in [`crate::tuples`].
//! - What one instruction takes lies in different banks, those of even and of odd numbers: 5,127 of 5,238 multiply-adds
//!   of three registers and 3,911 of 4,391 products do, and of 1,122 words that are stored at an address of 64 bits 813
//!   are in odd registers. Where two banks are as good, the lowest free register is taken.
//! - A sum that takes loaded values one by one, as the text has them, keeps an even register; these lie in odd ones.
//! - A load may read its address late, so nothing takes its place until the load's result is read; nor does anything
//!   take what a store has read before the ninth instruction behind it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::event::{AccessKind, Instruction, Register};
use crate::pressure::{Piece, Sizes, operands};
use crate::routines::Kind;
use crate::tuples::Tuples;
use ptx_isa::Class;

/// Instructions from a store to the first one that may take its operands' registers.
const STORE_READS: usize = 9;

/// Instructions ahead among which another one is that a routine is mixed with.
const NEAR: usize = 16;

/// Words that the other code of an operation over the warp takes where lanes are absent: the lanes, and two operands
/// that are constants here.
const PARTED: u32 = 3;

/// Registers that follow each other: the first one and how many.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    first: usize,
    words: usize,
}

const STACK_POINTER: Place = Place { first: 1, words: 1 };

/// The registers of a thread.
#[derive(Debug, Default)]
struct File {
    used: Vec<bool>,
    /// Where each value lies.
    places: Vec<Option<Place>>,
}

impl File {
    fn place(&self, value: Register) -> Option<Place> {
        self.places.get(value as usize).copied().flatten()
    }

    fn put(&mut self, value: Register, place: Place) {
        let index = value as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, None);
        }
        self.places[index] = Some(place);
        self.mark(place, true);
    }

    /// The lowest of so many free registers in a row, of those that start at `from` or multiples of `step` behind it.
    fn free(&self, words: usize, from: usize, step: usize) -> usize {
        let is_used = |i: usize| self.used.get(i).copied().unwrap_or(false);
        let mut first = from;
        while (first..first + words).any(is_used) {
            first += step;
        }
        first
    }

    /// Gives values registers that follow each other.
    fn give(&mut self, values: &[Register], sizes: &Sizes) {
        let words: usize = values.iter().map(|v| sizes.of(*v) as usize).sum();
        let mut first = self.free(words, 0, words.next_power_of_two());
        for v in values {
            let words = sizes.of(*v) as usize;
            self.put(*v, Place { first, words });
            first += words;
        }
    }

    fn take(&mut self, value: Register) -> Option<Place> {
        let place = self.places.get_mut(value as usize)?.take()?;
        self.mark(place, false);
        Some(place)
    }

    fn mark(&mut self, Place { first, words }: Place, used: bool) {
        let end = first + words;
        if end > self.used.len() {
            self.used.resize(end, false);
        }
        self.used[first..end].fill(used);
    }

    /// The number behind the last register in use, if so many words more are, as pairs.
    fn end_with(&self, words: u32) -> u32 {
        let end = self.end();
        let pairs =
            self.used[..end as usize].chunks_exact(2).filter(|p| !p.contains(&true)).count();
        match words.saturating_sub(2 * pairs as u32) {
            0 => end,
            more => (end + more).next_multiple_of(2),
        }
    }

    /// The number behind the last register in use.
    fn end(&self) -> u32 {
        self.used.iter().rposition(|u| *u).map_or(0, |last| last as u32 + 1)
    }
}

/// Until when nothing may take a register that is read late.
#[derive(Debug, PartialEq)]
enum Until {
    /// The result of the load that had its address there is read.
    Read(Register),
    /// This place in the order comes.
    Place(usize),
}

/// Operands that are read late.
#[derive(Debug, Default)]
struct Late {
    /// What each load under way brings, and the registers that it may still read.
    loads: Vec<(Register, Vec<Register>)>,
    /// Places that nothing may take yet.
    kept: Vec<(Until, Place)>,
}

impl Late {
    /// Whatever was kept until then is free.
    fn release(&mut self, then: &Until, file: &mut File) {
        if let Until::Read(result) = then {
            self.loads.retain(|l| l.0 != *result);
        }
        self.kept.retain(|(until, place)| {
            if until == then {
                file.mark(*place, false);
            }
            until != then
        });
    }

    fn keep(&mut self, until: Until, place: Place, file: &mut File) {
        file.mark(place, true);
        self.kept.push((until, place));
    }

    /// The load that may still read a register.
    fn load(&self, value: Register) -> Option<Register> {
        self.loads.iter().find(|l| l.1.contains(&value)).map(|l| l.0)
    }
}

/// Whether an instruction may read its address late.
fn loads(i: &Instruction) -> bool {
    matches!(i.class, Class::LoadGlobal | Class::LoadShared) && i.kind == AccessKind::Load
}

/// Whether an instruction may read all its operands late.
fn stores(i: &Instruction) -> bool {
    i.class.is_memory() && matches!(i.kind, AccessKind::Store | AccessKind::Reduction)
}

/// Pairs of a loaded value and the sum of those before it, which an instruction takes together. The text makes the sum
/// ahead of the load, where it takes loaded values one by one.
fn chained(list: &[Instruction]) -> HashSet<(Register, Register)> {
    // Where each was made last, and of what.
    let mut made = HashMap::<Register, (usize, Made)>::new();
    let mut found = HashSet::new();
    for (at, i) in list.iter().enumerate() {
        let reads = i.reads.iter().filter_map(|r| Some((*r, *made.get(r)?)));
        let loaded = reads.clone().filter(|(_, (_, of))| *of == Made::Loaded);
        let pairs: Vec<_> = loaded
            .flat_map(|(value, (at, _))| {
                let ahead =
                    reads.clone().filter(move |(_, (sum, of))| *sum < at && *of != Made::Loaded);
                ahead.map(move |(partner, (_, of))| ((value, partner), of))
            })
            .collect();
        let of = match pairs.is_empty() {
            _ if loads(i) => Made::Loaded,
            true => Made::Otherwise,
            false => Made::Summed,
        };
        found.extend(pairs.into_iter().filter(|(_, of)| *of == Made::Summed).map(|(pair, _)| pair));
        made.extend(i.writes.iter().map(|w| (*w, (at, of))));
    }
    found
}

/// What a value is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// A load brings it.
    Loaded,
    /// A loaded value and one that is made ahead of the load.
    Summed,
    Otherwise,
}

/// What is known of a block's values before they have registers.
pub(crate) struct Allocator<'a> {
    piece: &'a Piece<'a>,
    sizes: &'a Sizes,
    tuples: Tuples,
    partners: &'a Partners,
    /// Loaded values, and what is taken with them that the text makes ahead of the load.
    chained: HashSet<(Register, Register)>,
}

/// For each single word what else the instructions that take it take.
#[derive(Debug, Default)]
pub(crate) struct Partners(HashMap<Register, Vec<Vec<Register>>>);

impl Partners {
    pub fn new(list: &[Instruction], sizes: &Sizes) -> Self {
        let mut partners = HashMap::<Register, Vec<Vec<Register>>>::new();
        for i in list {
            let mut reads = operands(i);
            reads.retain(|r| sizes.of(*r) > 0);
            if reads.len() < 2 {
                continue;
            }
            for &r in reads.iter().filter(|r| sizes.of(**r) == 1) {
                let others = reads.iter().copied().filter(|o| *o != r).collect();
                partners.entry(r).or_default().push(others);
            }
        }
        Self(partners)
    }
}

impl<'a> Allocator<'a> {
    pub fn new(piece: &'a Piece<'a>, sizes: &'a Sizes, partners: &'a Partners) -> Self {
        let (tuples, chained) = (Tuples::new(piece.list, sizes), chained(piece.list));
        Self { piece, sizes, tuples, partners, chained }
    }

    /// Registers that values take in an order of the instructions, the stack pointer not counted.
    pub fn registers(&self, order: &[u32]) -> u32 {
        let (begin, last) = self.last_readers(order);
        let mut file = File::default();
        file.mark(STACK_POINTER, true);
        let mut late = Late::default();
        begin.iter().for_each(|r| self.give(*r, &mut file));
        let mut most = file.end();
        for (place, i) in order.iter().map(|i| &self.piece.list[*i as usize]).enumerate() {
            late.release(&Until::Place(place), &mut file);
            for r in &i.reads {
                // What is fetched anew in each block.
                self.give(*r, &mut file);
                late.release(&Until::Read(*r), &mut file);
            }
            let mut free = Vec::new();
            for r in last[place].iter().filter(|r| !i.writes.contains(r)) {
                let load = late.load(*r);
                let Some(left) = file.take(*r) else { continue };
                match load {
                    _ if stores(i) => late.keep(Until::Place(place + STORE_READS), left, &mut file),
                    Some(result) => late.keep(Until::Read(result), left, &mut file),
                    None => free.push(left),
                }
            }
            if let (true, &[result]) = (loads(i), &i.writes[..]) {
                let words = self.sizes.of(result) as usize;
                let own = free.iter().find(|p| p.words >= words && words > 0);
                if let (None, Some(&Place { first, words: all })) = (file.place(result), own) {
                    let rest = all - words;
                    file.put(result, Place { first: first + rest, words });
                    late.keep(Until::Read(result), Place { first, words: rest }, &mut file);
                }
                late.loads.push((result, i.reads.to_vec()));
            }
            i.writes.iter().for_each(|w| self.give(*w, &mut file));
            let scratch = self.sizes.scratch(i) + if i.parted { PARTED } else { 0 };
            most = most.max(file.end_with(scratch));
            most = most.max(self.with_routine(&order[place..], &file, &late));
            // Results that nobody reads.
            for r in last[place].iter().filter(|r| i.writes.contains(r)) {
                file.take(*r);
            }
        }
        most - STACK_POINTER.words as u32
    }

    /// The number behind the last register in use while a routine does the first of the instructions that are left,
    /// whose results have their places, and whose operands those that are read later.
    fn with_routine(&self, left: &[u32], file: &File, late: &Late) -> u32 {
        let instruction = |at: &u32| &self.piece.list[*at as usize];
        let Some((i, left)) = left.split_first().map(|(i, left)| (instruction(i), left)) else {
            return 0;
        };
        let Some(routine) = self.sizes.routine(i) else { return 0 };
        let words = |r: &Register| file.place(*r).map(|place| place.words);
        let later: usize =
            operands(i).iter().filter(|r| !i.writes.contains(r)).filter_map(words).sum();
        let own = later + i.writes.iter().filter_map(words).sum::<usize>();
        let usual = routine.usual + if later > 0 { routine.later } else { 0 };
        let more = usual.saturating_sub(own as u32);
        match routine.kind {
            Kind::Mixed { others, .. } => {
                let beside: u32 = self.mixed(i, left).take(others).sum();
                file.end_with(more + beside)
            }
            Kind::Alone { .. } => file.end_with(more),
            Kind::Called { behind, .. } => {
                let kept: usize = late.kept.iter().map(|(_, place)| place.words).sum();
                let live = file.used.iter().filter(|used| **used).count() - kept;
                (live as u32 + more).max(file.end() + behind)
            }
        }
    }

    /// What routines near by that are mixed with that of an instruction take besides: those that wait neither for it
    /// nor for a load nor for one of these.
    fn mixed<'b>(&'b self, i: &'b Instruction, left: &'b [u32]) -> impl Iterator<Item = u32> + 'b {
        let mut waiting = i.writes.to_vec();
        let near = left.iter().take(NEAR).map(|at| &self.piece.list[*at as usize]);
        near.filter_map(move |other| {
            if loads(other) || other.reads.iter().any(|r| waiting.contains(r)) {
                waiting.extend(&other.writes);
                return None;
            }
            let Kind::Mixed { beside, .. } = self.sizes.routine(other)?.kind else { return None };
            waiting.extend(&other.writes);
            (other.reads != i.reads).then_some(beside)
        })
    }

    /// Gives a value that has no place registers, with the others of its tuple if these have none either.
    fn give(&self, value: Register, file: &mut File) {
        let words = self.sizes.of(value) as usize;
        if words == 0 || file.place(value).is_some() {
            return;
        }
        let tuple = self.tuples.of(value).filter(|t| t.iter().all(|v| file.place(*v).is_none()));
        match (tuple, self.bank(value, file)) {
            (Some(tuple), _) => file.give(tuple, self.sizes),
            (None, Some(bank)) if words == 1 => {
                let first = file.free(words, bank, 2);
                file.put(value, Place { first, words });
            }
            (None, _) => file.give(&[value], self.sizes),
        }
    }

    /// The bank, 0 or 1, in which a single word meets fewer of its partners.
    fn bank(&self, value: Register, file: &File) -> Option<usize> {
        let mut better = [0, 0];
        for others in self.partners.0.get(&value).into_iter().flatten() {
            // Pairs start with an even number, wherever they will lie.
            let bank = |r: &Register| match self.sizes.of(*r) {
                1 => file.place(*r).map(|p| p.first % 2).or_else(|| self.even(value, *r)),
                _ => Some(0),
            };
            let mut banks = others.iter().filter_map(bank);
            let Some(first) = banks.next() else { continue };
            // If the others lie in both banks, it is no matter.
            if banks.all(|bank| bank == first) {
                better[1 - first] += 1;
            }
        }
        (better[0] != better[1]).then_some(usize::from(better[1] > better[0]))
    }

    /// The bank of a partner that has no place yet, where it sums loaded values one by one: such a sum keeps an even
    /// register.
    fn even(&self, loaded: Register, partner: Register) -> Option<usize> {
        self.chained.contains(&(loaded, partner)).then_some(0)
    }

    /// What lives ahead of an order, the longest first, and behind each place what of its operands and results
    /// nobody reads any more.
    fn last_readers(&self, order: &[u32]) -> (Vec<Register>, Vec<Vec<Register>>) {
        let mut at = self.piece.behind(self.sizes);
        let mut last = vec![Vec::new(); order.len()];
        for place in (0..order.len()).rev() {
            let i = &self.piece.list[order[place] as usize];
            let touched = i.reads.iter().chain(&i.guard).chain(&i.writes);
            let mut gone: Vec<Register> =
                touched.copied().filter(|r| !at.live.contains(*r)).collect();
            gone.sort_unstable();
            gone.dedup();
            last[place] = gone;
            at.back(i, self.sizes);
        }
        let mut begin: Vec<Register> = at.live.iter().collect();
        begin.sort_by_key(|r| Reverse(self.sizes.of(*r)));
        (begin, last)
    }
}
