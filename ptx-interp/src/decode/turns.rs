//! Which turns of loops lanes may leave behind each branch.

use ptx_parse::code::Function;

use super::{Decoder, function_end};
use crate::code::{Step, Turn};

impl Decoder<'_> {
    /// Turns that lanes may leave behind the branches of a function.
    pub(super) fn turns(&mut self, id: u32, f: &Function, block_pc: &[u32]) {
        let end = self.code.len() as u32;
        let pc = |b: u32| block_pc.get(b as usize).copied().unwrap_or(end);
        for (b, block) in f.blocks.iter().enumerate() {
            let Some(meet) = block.meet.as_ref().filter(|m| !m.turns.is_empty()) else { continue };
            let turn = |t: &ptx_parse::code::Turn| Turn {
                within: pc(t.blocks.start)..pc(t.blocks.end),
                out: t.out.map_or(function_end(id), pc),
            };
            let turns: Vec<Turn> = meet.turns.iter().map(turn).collect();
            let parts = |at: &u32| {
                let i = &self.code[*at as usize];
                matches!(i.step, Step::Branch | Step::Brx) && i.args[1].0 == pc(meet.block)
            };
            let branches = (pc(b as u32)..pc(b as u32 + 1)).filter(parts);
            self.turns.extend(branches.map(|at| (at, turns.clone())));
        }
    }
}
