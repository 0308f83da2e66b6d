//! Which registers an assembler gives the values of a block.
//!
//! More registers are in use than words live. Values of 64 bits take them in pairs: what a load brings lies in one
//! half of the pair that its address was in, and the other half has room for single words only. ptxas 13.5 gives a
//! chain of 4, 8, 12 and 16 loads whose sum comes behind them 16, 22, 30 and 32 registers. A load may read an address
//! that is used again late, so nothing takes its place until the load's result is read. And what a store takes besides
//! an address of 64 bits is in a register with an odd number (813 of 1,122 stores in the machine code of the recorded
//! kernels; the others where registers are short).

use std::cmp::Reverse;

use crate::event::{AccessKind, Instruction, Register};
use crate::pressure::{Piece, Sizes};
use ptx_isa::Class;

/// Registers that follow each other: the first one and how many.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    first: usize,
    words: usize,
}

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

    /// Gives a value that has no place the lowest registers that are free; a single word one with an odd number if it
    /// should.
    fn give(&mut self, value: Register, words: u32, odd: bool) {
        let words = words as usize;
        if words == 0 || self.place(value).is_some() {
            return;
        }
        let odd = odd && words == 1;
        let step = if odd { 2 } else { words.next_power_of_two() };
        let is_used = |i: usize| self.used.get(i).copied().unwrap_or(false);
        let mut first = usize::from(odd);
        while (first..first + words).any(is_used) {
            first += step;
        }
        self.put(value, Place { first, words });
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

    /// The number behind the last register in use.
    fn end(&self) -> u32 {
        self.used.iter().rposition(|u| *u).map_or(0, |last| last as u32 + 1)
    }

    fn in_use(&self) -> u32 {
        self.used.iter().filter(|u| **u).count() as u32
    }
}

/// Addresses of loads under way.
#[derive(Debug, Default)]
struct Addresses {
    /// What each load brings, and the registers that it may still read.
    read: Vec<(Register, Vec<Register>)>,
    /// Places that nothing may take before a result is read.
    kept: Vec<(Register, Place)>,
}

impl Addresses {
    /// A result is taken: whatever waited for it is free.
    fn release(&mut self, result: Register, file: &mut File) {
        self.read.retain(|f| f.0 != result);
        self.kept.retain(|&(of, place)| {
            if of == result {
                file.mark(place, false);
            }
            of != result
        });
    }

    fn keep(&mut self, result: Register, place: Place, file: &mut File) {
        file.mark(place, true);
        self.kept.push((result, place));
    }

    /// The load that may still read a register.
    fn of_address(&self, value: Register) -> Option<Register> {
        self.read.iter().find(|f| f.1.contains(&value)).map(|f| f.0)
    }
}

/// Whether an instruction may read its address late.
fn reads_late(i: &Instruction) -> bool {
    matches!(i.class, Class::LoadGlobal | Class::LoadShared) && i.kind == AccessKind::Load
}

impl Piece<'_> {
    /// Registers that values take in an order of the instructions.
    pub fn registers(&self, order: &[u32], sizes: &Sizes) -> u32 {
        let list = |place: usize| &self.list[order[place] as usize];
        let (begin, last) = self.last_readers(order, sizes);
        let odd = self.stored(sizes);
        let give = |file: &mut File, r: Register| file.give(r, sizes.of(r), odd.contains(&r));
        let mut file = File::default();
        let mut addresses = Addresses::default();
        begin.iter().for_each(|r| give(&mut file, *r));
        let mut most = file.end();
        for place in 0..order.len() {
            let i = list(place);
            for r in &i.reads {
                // What is fetched anew in each block.
                give(&mut file, *r);
                addresses.release(*r, &mut file);
            }
            let mut free = Vec::new();
            for r in last[place].iter().filter(|r| !i.writes.contains(r)) {
                let load = addresses.of_address(*r);
                let Some(left) = file.take(*r) else { continue };
                match load {
                    Some(result) => addresses.keep(result, left, &mut file),
                    None => free.push(left),
                }
            }
            if let (true, &[result]) = (reads_late(i), &i.writes[..]) {
                let words = sizes.of(result) as usize;
                let own = free.iter().find(|p| p.words >= words && words > 0);
                if let (None, Some(&Place { first, .. })) = (file.place(result), own) {
                    file.put(result, Place { first, words });
                }
                addresses.read.push((result, i.reads.to_vec()));
            }
            i.writes.iter().for_each(|w| give(&mut file, *w));
            most = most.max(file.end()).max(file.in_use() + sizes.scratch(i.class));
            // Results that nobody reads.
            for r in last[place].iter().filter(|r| i.writes.contains(r)) {
                file.take(*r);
            }
        }
        most
    }

    /// What lives ahead of an order, the longest first, and behind each place what of its operands and results
    /// nobody reads any more.
    fn last_readers(&self, order: &[u32], sizes: &Sizes) -> (Vec<Register>, Vec<Vec<Register>>) {
        let mut at = self.behind(sizes);
        let mut last = vec![Vec::new(); order.len()];
        for place in (0..order.len()).rev() {
            let i = &self.list[order[place] as usize];
            let touched = i.reads.iter().chain(&i.guard).chain(&i.writes);
            let mut gone: Vec<Register> =
                touched.copied().filter(|r| !at.live.contains(*r)).collect();
            gone.sort_unstable();
            gone.dedup();
            last[place] = gone;
            at.back(i, sizes);
        }
        let mut begin: Vec<Register> = at.live.iter().collect();
        begin.sort_by_key(|r| Reverse(sizes.of(*r)));
        (begin, last)
    }

    /// Single words that are stored at addresses of 64 bits.
    fn stored(&self, sizes: &Sizes) -> Vec<Register> {
        let stores = self.list.iter().filter(|i| i.class == Class::StoreGlobal);
        let wide = stores.filter(|i| i.reads.iter().any(|r| sizes.of(*r) == 2));
        let data = wide.flat_map(|i| i.reads.iter().filter(|r| sizes.of(**r) == 1));
        data.copied().collect()
    }
}
