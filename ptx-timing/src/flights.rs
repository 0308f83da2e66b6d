//! Loads under way while a block is put into order.

use crate::event::{AccessKind, Instruction, Register};
use crate::pressure::Piece;
use ptx_isa::Class;

/// Whether an instruction loads words that others wait for.
pub(crate) fn loads(i: &Instruction) -> bool {
    matches!(i.class, Class::LoadGlobal | Class::LoadShared | Class::LoadMatrix)
}

/// Words from shared memory under way behind which no load goes ahead. ptxas 13.5 has 8 to 16 under way, 2 to 4 loads,
/// in products of matrices whose tiles of 2 x 4 to 8 x 8 lie in registers.
const SHARED_WORDS: usize = 6;

/// Loads under way while an order is made.
pub(crate) struct Flights<'a> {
    list: &'a [Instruction],
    most: usize,
    until_first: bool,
    /// Loads, and how many instructions that read their results are left.
    pending: Vec<(u32, usize)>,
}

impl<'a> Flights<'a> {
    /// Of the loads of a piece so many at most; the first reader ends a load's way, or else the last one does.
    pub fn new(piece: &Piece<'a>, most: usize, until_first: bool) -> Self {
        Self { list: piece.list, most, until_first, pending: Vec::new() }
    }

    /// Whether no load may go ahead now.
    pub fn full(&self) -> bool {
        let words = self.pending.iter().map(|(load, _)| &self.list[*load as usize]);
        let words = words.filter(|l| l.class == Class::LoadShared).map(|l| l.writes.len());
        let limited = self.most < usize::MAX;
        self.pending.len() >= self.most || limited && words.sum::<usize>() > SHARED_WORDS
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

/// Loads that an assembler keeps under way though that costs registers, and how many it has at most where it does; 0 =
/// it takes them as they come. Of results that are taken one by one, in pairs or to be stored: ptxas 13.5 has 3 to 10
/// under way in sums of loaded words and of products of them besides 12 to 40 values, 2 to 8 in copies.
pub(crate) fn flights(piece: &Piece<'_>) -> (usize, usize) {
    let from = |r: &Register| piece.list.iter().position(|l| loads(l) && l.writes.contains(r));
    let (mut pairs, mut copies) = (false, true);
    for i in piece.list {
        let mut sources: Vec<usize> = i.reads.iter().filter_map(from).collect();
        sources.sort_unstable();
        sources.dedup();
        pairs |= sources.len() > 1;
        copies &= sources.is_empty() || i.kind == AccessKind::Store && i.class.is_memory();
    }
    // Operands of matrix products are loaded when they are needed.
    let products = piece.list.iter().any(|i| i.fragment || i.class == Class::LoadMatrix);
    match () {
        () if products => (0, 0),
        () if pairs => (5, 6),
        () if copies => (3, 3),
        () => (3, 7),
    }
}
