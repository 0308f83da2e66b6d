//! Reads that some SMs have sent to L2 together: what another of them reads of the same line meanwhile does not go there
//! again.

use super::memory::LINE;

/// What each group of SMs that go to L2 together has asked for last.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// SMs of a group; 0 if each goes alone.
    together: usize,
    /// By group, and there by a hash of the line.
    reads: Vec<[Read; LINES]>,
}

/// Lines of which a group of SMs knows that they are under way.
const LINES: usize = 256;

/// Clocks after which a read of a line that is under way goes to L2 all the same.
const MERGED: u64 = 128;

/// A read that a group of SMs has sent to L2.
#[derive(Debug, Clone, Copy, Default)]
struct Read {
    line: u64,
    done: u64,
    at: u64,
    by: u32,
    sectors: u8,
}

/// Where a group of SMs looks for a line.
fn slot(address: u64) -> usize {
    let line = address / LINE;
    ((line ^ line >> 9) % LINES as u64) as usize
}

impl Asked {
    /// `together`: SMs that go to L2 together, of all; 0 if none do.
    pub fn new(sms: u32, together: u32) -> Self {
        let groups = if together == 0 { 0 } else { sms.div_ceil(together) };
        Self { together: together as usize, reads: vec![[Read::default(); LINES]; groups as usize] }
    }

    /// Where the group of an SM begins with a line, if it is in one.
    fn place(&self, sm: usize, address: u64) -> Option<(usize, usize)> {
        Some((sm.checked_div(self.together)?, slot(address)))
    }

    /// An SM has sent a read of sectors of a line to L2, which is done at a clock.
    pub fn note(&mut self, sm: usize, at: u64, (line, sectors): (u64, u8), done: u64) {
        if let Some((group, slot)) = self.place(sm, line) {
            self.reads[group][slot] = Read { line, done, at, by: sm as u32, sectors };
        }
    }

    /// When a read is answered that another SM of the same group has sent.
    pub fn under_way(&self, sm: usize, now: u64, (line, sectors): (u64, u8)) -> Option<u64> {
        let (group, slot) = self.place(sm, line)?;
        let asked = self.reads[group][slot];
        let same = asked.line == line && sectors & !asked.sectors == 0;
        (same && asked.by != sm as u32 && asked.done > now && now < asked.at + MERGED)
            .then_some(asked.done)
    }
}
