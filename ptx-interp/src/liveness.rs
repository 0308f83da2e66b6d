//! Which rows a function's registers take.

use ptx_isa::Kind;
use ptx_parse::code::Function;

use crate::decode::AreaLayout;

/// Rows of a function's registers and temporaries.
#[derive(Default)]
pub(crate) struct Rows {
    /// Rows handed out so far.
    pub layout: AreaLayout,
    registers: [Vec<Option<u32>>; 3],
}

impl Rows {
    /// The row of register `n`.
    pub(crate) fn get(&mut self, kind: Kind, n: u32) -> u32 {
        let registers = &mut self.registers[kind as usize];
        if registers.len() <= n as usize {
            registers.resize(n as usize + 1, None);
        }
        *registers[n as usize].get_or_insert_with(|| self.layout.take(kind))
    }
    /// The row of register `n` if the code names it.
    pub(crate) fn find(&self, kind: Kind, n: u32) -> Option<u32> {
        self.registers[kind as usize].get(n as usize).copied().flatten()
    }
    /// Ranges of the frame that must be zero at the start, so that reading a register before
    /// writing it gives the same on every run.
    pub(crate) fn zero(&self) -> Vec<(u32, u32)> {
        vec![(0, self.layout.bytes())]
    }
}

/// Gives every register of `f` its row.
pub(crate) fn assign(_f: &Function) -> Rows {
    Rows::default()
}
