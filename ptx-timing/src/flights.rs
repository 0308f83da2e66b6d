//! Loads under way while a block is put into order.

use std::collections::HashSet;

use crate::event::{AccessKind, Instruction, Register};
use crate::pressure::Piece;
use ptx_isa::Class;

/// Whether an instruction loads words that others wait for.
pub(crate) fn loads(i: &Instruction) -> bool {
    matches!(i.class, Class::LoadGlobal | Class::LoadShared | Class::LoadMatrix)
}

/// How registers are shared out between loads and what is computed.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    /// Words that loads leave to others.
    pub reserve: u32,
    /// Whether values are made before they are needed, where nothing else can go.
    pub fills: bool,
    /// Loads whose results nobody has read yet, at most.
    pub flights: usize,
    /// Words of them from shared memory behind which none goes ahead.
    pub words: usize,
    /// Whether the first reader of a load ends its way; else the last does.
    pub until_first: bool,
}

/// Loads take all.
pub(crate) const USUAL: Choice =
    Choice { reserve: 0, fills: false, flights: usize::MAX, words: usize::MAX, until_first: false };

/// Words from shared memory under way behind which an assembler takes no registers for another load. ptxas 13.5 has 8
/// to 16 under way, 2 to 4 loads, in products of matrices whose tiles of 2 x 4 to 8 x 8 lie in registers.
pub(crate) const SHARED_WORDS: usize = 6;

/// Loads under way while an order is made.
pub(crate) struct Flights<'a> {
    list: &'a [Instruction],
    most: usize,
    words: usize,
    until_first: bool,
    /// Of loads that are only copied those count that have an address of their own.
    addresses: bool,
    /// Loads, and how many instructions that read their results are left.
    pending: Vec<(u32, usize)>,
}

impl<'a> Flights<'a> {
    /// Of the loads of a piece as many at most as the choice says.
    pub fn new(piece: &Piece<'a>, choice: &Choice) -> Self {
        let &Choice { flights: most, words, until_first, .. } = choice;
        let addresses = most < usize::MAX && until_first && kind(piece) == Kind::Copies;
        Self { list: piece.list, most, words, until_first, addresses, pending: Vec::new() }
    }

    /// Whether no load may go ahead now.
    pub fn full(&self) -> bool {
        let loads = self.pending.iter().map(|(load, _)| &self.list[*load as usize]);
        let shared = loads.clone().filter(|l| l.class == Class::LoadShared);
        let words: usize = shared.map(|l| l.writes.len()).sum();
        let count = if self.addresses {
            let known: HashSet<Register> = loads.clone().filter_map(|l| Some(l.place?.0)).collect();
            known.len() + loads.filter(|l| l.place.is_none()).count()
        } else {
            self.pending.len()
        };
        count >= self.most || words > self.words
    }

    fn reads(&self, reader: &Instruction, load: u32) -> bool {
        let writes = &self.list[load as usize].writes;
        writes.iter().any(|w| reader.reads.contains(w))
    }

    /// An instruction issues.
    pub fn issue(&mut self, i: u32) {
        let instruction = &self.list[i as usize];
        let mut pending = std::mem::take(&mut self.pending);
        for (load, left) in &mut pending {
            if self.reads(instruction, *load) {
                *left = if self.until_first { 0 } else { *left - 1 };
            }
        }
        pending.retain(|p| p.1 > 0);
        if loads(instruction) {
            let readers = self.list.iter().filter(|r| self.reads(r, i)).count();
            pending.extend((readers > 0).then_some((i, readers)));
        }
        self.pending = pending;
    }
}

/// What becomes of a piece's loaded words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Operands of matrix products, which are loaded when they are needed.
    Products,
    /// Some instructions take the results of several loads.
    Pairs,
    /// All are stored.
    Copies,
    /// They are taken one by one.
    Single,
}

fn kind(piece: &Piece<'_>) -> Kind {
    let from = |r: &Register| piece.list.iter().position(|l| loads(l) && l.writes.contains(r));
    let (mut pairs, mut copies) = (false, true);
    for i in piece.list {
        let mut sources: Vec<usize> = i.reads.iter().filter_map(from).collect();
        sources.sort_unstable();
        sources.dedup();
        pairs |= sources.len() > 1;
        copies &= sources.is_empty() || i.kind == AccessKind::Store && i.class.is_memory();
    }
    match () {
        () if piece.list.iter().any(|i| i.fragment || i.class == Class::LoadMatrix) => {
            Kind::Products
        }
        () if pairs => Kind::Pairs,
        () if copies => Kind::Copies,
        () => Kind::Single,
    }
}

/// Loads that an assembler keeps under way though that costs registers, and how many it has at most where it does; 0 =
/// it takes them as they come. ptxas 13.5 has 3 to 10 under way in sums of loaded words and of products of them besides
/// 12 to 40 values, in copies 2 to 4 with addresses of their own and 8 at constant distances.
pub(crate) fn flights(piece: &Piece<'_>) -> (usize, usize) {
    match kind(piece) {
        Kind::Products => (0, 0),
        Kind::Pairs => (5, 6),
        Kind::Copies => (3, 3),
        Kind::Single => (3, 7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live;

    /// Loads that are only stored, with addresses of their own or at constant distances from one.
    #[test]
    fn copies_count_by_addresses() {
        let under_way = |address: &dyn Fn(Register) -> Register| {
            let load = |i: Register| {
                let load = Instruction::new(Class::LoadGlobal, &[i], &[address(i)]);
                Instruction { place: Some((address(i), 256 * i64::from(i), 4)), ..load }
            };
            let store = |i: Register| Instruction::new(Class::StoreShared, &[], &[20, i]);
            let list: Vec<Instruction> = (0..8).map(load).chain((0..8).map(store)).collect();
            let piece = Piece { list: &list, end: live::Set::new(40), looped: &[] };
            let few = Choice { flights: flights(&piece).1, until_first: true, ..USUAL };
            let mut flights = Flights::new(&piece, &few);
            (0..8)
                .take_while(|i| {
                    !flights.full() && {
                        flights.issue(*i);
                        true
                    }
                })
                .count()
        };
        assert_eq!(under_way(&|_| 21), 8);
        assert_eq!(under_way(&|i| 22 + i), 3);
    }

    /// Of wide loads from shared memory as many go ahead as bring a few words.
    #[test]
    fn wide_loads_count_by_words() {
        let load = |i: Register| {
            let words: Vec<Register> = (4 * i..4 * i + 4).collect();
            Instruction::new(Class::LoadShared, &words, &[40])
        };
        let product = |i: Register| Instruction::new(Class::F32Fma, &[41], &[4 * i, 4 * i + 4, 41]);
        let list: Vec<Instruction> = (0..6).map(load).chain((0..5).map(product)).collect();
        let piece = Piece { list: &list, end: live::Set::new(50), looped: &[] };
        let few = Choice { flights: flights(&piece).0, words: SHARED_WORDS, ..USUAL };
        let mut flights = Flights::new(&piece, &few);
        flights.issue(0);
        assert!(!flights.full());
        flights.issue(1);
        assert!(flights.full());
    }
}
